//! Moving elements: slices, transposes, broadcasts, concatenations and padding are all boxes copied with strides.

use super::index;
use super::map::row;
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::{Extent, Inst, InstData, Interval, Op, Scalar, Value as Tensor};
use crate::kernel::{Buffer, BufferKind, KernelBuilder, Lane, Type, Value};

/// A box copied from an operand to the output; offsets and strides in elements.
#[derive(Clone, Debug)]
struct Copy {
    operand: usize,
    from: i64,
    to: i64,
    dimensions: Vec<Dimension>,
}

/// One dimension of a box.
#[derive(Clone, Copy, Debug)]
struct Dimension {
    extent: u64,
    from_stride: i64,
    to_stride: i64,
}

/// A position of a slice along one dimension that is known when the kernel runs.
#[derive(Clone, Copy, Debug)]
struct Start {
    index: Tensor,
    /// Lanes from one position to the next.
    stride: i64,
    /// The positions from which the slice stays inside.
    inside: Interval,
}

/// See the module.
pub struct MovementSchedule<'a> {
    cx: Context<'a>,
    operands: Vec<Tensor>,
    copies: Vec<Copy>,
    /// Positions of a slice that are no numbers.
    starts: Vec<Start>,
    /// What is copied at a time: an element, or a part of one. Copies count in these.
    lane: Lane,
    /// Written to the whole output first.
    fill: Option<Scalar>,
    name: &'static str,
}

impl<'a> MovementSchedule<'a> {
    /// The schedule of an operator that moves elements.
    ///
    /// # Errors
    /// For dynamic shapes and elements narrower than a byte.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let output = data.results[0];
        if cx.element(output).bits() < 8 {
            return Err(Unsupported::new(format!("{} of {}", data.op.row().name, cx.element(output))));
        }
        let lane = lane(&cx, &[data.operands[0], output])?;
        let to = strides(&cx.shape(output)?);
        let mut copies = match data.op {
            Op::Bitcast => vec![run(cx.shape(output)?.iter().product())],
            Op::Concat => concat(&cx, data, &to)?,
            op => vec![single(&cx, data, op, &to)?],
        };
        copies.iter_mut().for_each(|copy| copy.split(parts(cx.element(output), lane)));
        let starts = if data.op == Op::Slice { starts(&cx, data, parts(cx.element(output), lane))? } else { vec![] };
        let fill = (data.op == Op::Pad).then(|| data.scalar("value"));
        Ok(Self { cx, operands: data.operands.clone(), copies, starts, lane, fill, name: data.op.row().name })
    }

    /// The copy of a whole tensor.
    ///
    /// # Errors
    /// For dynamic shapes.
    pub fn whole(cx: Context<'a>, from: Tensor) -> Result<Self, Unsupported> {
        let lane = lane(&cx, &[from])?;
        let copies = vec![run(lanes_of(&cx, from, lane)?)];
        Ok(Self { cx, operands: vec![from], copies, starts: vec![], lane, fill: None, name: "copy" })
    }
}

/// How many lanes a tensor is.
fn lanes_of(cx: &Context<'_>, tensor: Tensor, lane: Lane) -> Result<u64, Unsupported> {
    let bytes = cx.element(tensor).bytes_for(cx.shape(tensor)?.iter().product());
    Ok(bytes.ok_or_else(|| Unsupported::new("a tensor beyond all memory"))? / u64::from(lane.bytes()))
}

/// The widest lane that the elements of all these tensors are made of; bytes of those that share them.
fn lane(cx: &Context<'_>, tensors: &[Tensor]) -> Result<Lane, Unsupported> {
    let narrowest = tensors.iter().map(|&v| cx.element(v)).min_by_key(|e| e.bits());
    match narrowest.map_or(0, crate::ir::ElementType::bits) {
        4 | 8 => Ok(Lane::I8),
        16 => Ok(Lane::I16),
        32 => Ok(Lane::I32),
        64.. => Ok(Lane::I64),
        bits => Err(Unsupported::new(format!("moving elements of {bits} bits"))),
    }
}

/// How many lanes an element of whole bytes is.
fn parts(element: crate::ir::ElementType, lane: Lane) -> i64 {
    i64::from(element.bits() / 8 / lane.bytes())
}

/// A copy of contiguous elements.
fn run(elements: u64) -> Copy {
    Copy { operand: 0, from: 0, to: 0, dimensions: vec![Dimension { extent: elements, from_stride: 1, to_stride: 1 }] }
}

impl Copy {
    /// Counts in parts of elements instead.
    fn split(&mut self, parts: i64) {
        if parts == 1 {
            return;
        }
        self.from *= parts;
        self.to *= parts;
        for dimension in &mut self.dimensions {
            dimension.from_stride *= parts;
            dimension.to_stride *= parts;
        }
        self.dimensions.push(Dimension { extent: parts as u64, from_stride: 1, to_stride: 1 });
    }
}

fn strides(shape: &[u64]) -> Vec<i64> {
    let mut strides = vec![0; shape.len()];
    let mut step = 1i64;
    for d in (0..shape.len()).rev() {
        strides[d] = step;
        step *= shape[d] as i64;
    }
    strides
}

/// The positions of a slice that are known only when the kernel runs.
fn starts(cx: &Context<'_>, data: &InstData, parts: i64) -> Result<Vec<Start>, Unsupported> {
    let (shape, size) = (cx.shape(data.operands[0])?, cx.shape(data.results[0])?);
    let steps = strides(&shape);
    let mut starts = Vec::new();
    for (d, extent) in data.extents("start").iter().enumerate() {
        let Extent::Value(index) = *extent else { continue };
        // The last element is that far behind the first, or before it.
        let reach = (size[d] as i64 - 1).saturating_mul(data.ints("stride")[d]);
        let last = shape[d] as i64 - 1;
        let inside = Interval { low: reach.saturating_neg().max(0), high: last.saturating_sub(reach.max(0)) };
        starts.push(Start { index, stride: steps[d] * parts, inside });
    }
    Ok(starts)
}

fn single(cx: &Context<'_>, data: &InstData, op: Op, to: &[i64]) -> Result<Copy, Unsupported> {
    let shape = cx.shape(data.operands[0])?;
    let output = cx.shape(data.results[0])?;
    let from = strides(&shape);
    let dimension = |extent: u64, from_stride: i64, to_stride: i64| Dimension { extent, from_stride, to_stride };
    let mut copy = Copy { operand: 0, from: 0, to: 0, dimensions: vec![] };
    match op {
        Op::Slice => {
            for d in 0..shape.len() {
                copy.from += data.extents("start")[d].as_static().unwrap_or(0) as i64 * from[d];
                copy.dimensions.push(dimension(output[d], from[d] * data.ints("stride")[d], to[d]));
            }
        }
        Op::Transpose => {
            for (d, &p) in data.ints("permutation").iter().enumerate() {
                copy.dimensions.push(dimension(output[d], from[p as usize], to[d]));
            }
        }
        Op::Broadcast => {
            let new = output.len() - shape.len();
            for d in 0..output.len() {
                let stride = if d < new || shape[d - new] == 1 { 0 } else { from[d - new] };
                copy.dimensions.push(dimension(output[d], stride, to[d]));
            }
        }
        Op::Pad => {
            for d in 0..shape.len() {
                let (low, high) = (data.ints("low")[d], data.ints("high")[d]);
                copy.from += (-low).max(0) * from[d];
                copy.to += low.max(0) * to[d];
                let extent = shape[d] as i64 + low.min(0) + high.min(0);
                copy.dimensions.push(dimension(extent.max(0) as u64, from[d], to[d]));
            }
        }
        _ => return Err(Unsupported::new(format!("operator {}", op.row().name))),
    }
    Ok(copy)
}

fn concat(cx: &Context<'_>, data: &InstData, to: &[i64]) -> Result<Vec<Copy>, Unsupported> {
    let axis = data.int("axis") as usize;
    let mut position = 0;
    let mut copies = Vec::new();
    for (operand, &value) in data.operands.iter().enumerate() {
        let shape = cx.shape(value)?;
        let from = strides(&shape);
        let dimensions = (0..shape.len()).map(|d| Dimension { extent: shape[d], from_stride: from[d], to_stride: to[d] }).collect();
        copies.push(Copy { operand, from: 0, to: position * to[axis], dimensions });
        position += shape[axis] as i64;
    }
    Ok(copies)
}

/// Dimensions joined where both sides run on, those of one element dropped.
fn collapse(dimensions: &[Dimension]) -> Vec<Dimension> {
    let mut result: Vec<Dimension> = Vec::new();
    for &inner in dimensions.iter().filter(|d| d.extent != 1) {
        if let Some(outer) = result.last_mut() {
            let runs_on = |outer: i64, inner_stride: i64| outer == inner_stride * inner.extent as i64;
            if runs_on(outer.from_stride, inner.from_stride) && runs_on(outer.to_stride, inner.to_stride) {
                *outer = Dimension { extent: outer.extent * inner.extent, ..inner };
                continue;
            }
        }
        result.push(inner);
    }
    result
}

impl Schedule for MovementSchedule<'_> {
    fn requirements(&self) -> Requirements {
        // What is copied first, and from front to back, may be overwritten from its start on.
        let first = self.copies.first().filter(|copy| self.fill.is_none() && copy.operand == 0 && copy.to == 0);
        let is_run = |copy: &Copy| matches!(collapse(&copy.dimensions)[..], [Dimension { from_stride: 1, to_stride: 1, .. }]);
        let may_slide = first.filter(|copy| is_run(copy)).map(|_| (self.operands[0], self.cx.group.outputs[0]));
        Requirements { may_slide: may_slide.into_iter().collect(), ..Requirements::default() }
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let output = self.cx.group.outputs[0];
        let lane = self.lane;
        let alignment = |value| self.cx.element(value).alignment() as u32;
        let mut b = KernelBuilder::new(self.name);
        let mut arguments = Vec::new();
        let mut inputs = Vec::new();
        for (i, &value) in self.operands.iter().enumerate() {
            // What shares memory with the output is not read-only while the kernel runs.
            let kind = if shared.iter().any(|&(read, _)| read == value) { BufferKind::Output } else { BufferKind::Input };
            inputs.push(b.buffer(format!("input{i}"), kind, lane, lanes_of(&self.cx, value, lane)?, alignment(value)));
            arguments.push(Argument::Tensor(value));
        }
        let mut cells = Vec::new();
        for (i, start) in self.starts.iter().enumerate() {
            cells.push(b.buffer(format!("start{i}"), BufferKind::Input, Lane::I64, 1, 8));
            arguments.push(Argument::Tensor(start.index));
        }
        let elements = lanes_of(&self.cx, output, lane)?;
        let target = b.buffer("output", BufferKind::Output, lane, elements, alignment(output));
        arguments.push(Argument::Tensor(output));
        let lanes = (16 / lane.bytes()) as u16;
        if let Some(value) = self.fill {
            // A border may be a zero point, which another set of weights has differently.
            let open = self.cx.module.open_constants.then(|| {
                arguments.push(Argument::Data(value.to_bytes().into()));
                b.buffer("border", BufferKind::Input, lane, 1, alignment(output))
            });
            row(&mut b, elements, lanes, |b, i, active| {
                let zero = b.index(0);
                let value = match open {
                    Some(border) => b.load_splat(border, zero, 0, lanes),
                    None => b.int(Type::vector(lane, lanes), value.bits() as i64),
                };
                b.store_active(target, i, 0, value, active);
            });
        }
        for copy in &self.copies {
            if copy.dimensions.iter().any(|d| d.extent == 0) {
                continue;
            }
            let (mut from, to) = (b.index(copy.from), b.index(copy.to));
            let zero = b.index(0);
            for (start, &cell) in self.starts.iter().zip(&cells) {
                let position = b.load(cell, zero, 0, 1);
                index::check(&mut b, position, start.inside);
                let offset = b.scale_index(position, start.stride, 0);
                from = b.add(from, offset);
            }
            copy_box(&mut b, &collapse(&copy.dimensions), (inputs[copy.operand], target), from, to, lanes);
        }
        let description = format!("{} by {lanes}", self.name);
        Ok(Lowered { kernel: b.finish(), arguments, description, multiply_accumulates: 0 })
    }
}

fn copy_box(b: &mut KernelBuilder, dimensions: &[Dimension], buffers: (Buffer, Buffer), from: Value, to: Value, lanes: u16) {
    let contiguous = |d: &Dimension| d.to_stride == 1 && (d.from_stride == 1 || d.from_stride == 0);
    match dimensions {
        [] => {
            let value = b.load(buffers.0, from, 0, 1);
            b.store(buffers.1, to, 0, value);
        }
        [inner] if contiguous(inner) => row(b, inner.extent, lanes, |b, i, active| {
            let value = if inner.from_stride == 1 {
                let from = b.add(from, i);
                b.load_active(buffers.0, from, 0, lanes, active)
            } else {
                b.load_splat(buffers.0, from, 0, lanes)
            };
            let to = b.add(to, i);
            b.store_active(buffers.1, to, 0, value, active);
        }),
        [outer, rest @ ..] => b.for_range(0, outer.extent as i64, 1, |b, i| {
            let step = b.scale_index(i, outer.from_stride, 0);
            let from = b.add(from, step);
            let step = b.scale_index(i, outer.to_stride, 0);
            let to = b.add(to, step);
            copy_box(b, rest, buffers, from, to, lanes);
        }),
    }
}
