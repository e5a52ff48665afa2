//! Movement of elements as boxes that are copied with strides: slices, transposes, broadcasts, concatenations and padding.

use super::matrix::write_transposed;
use super::reversed::write_reversed;
use super::turn::{Matrix, Sides, Turn};
use crate::ir::{Extent, Inst, InstData, Interval, Operation, Scalar, Value as Tensor, operators};
use crate::kernel::{BinaryOp, Buffer, CompareOp, KernelBuilder, Lane, Type, UnaryOp, Value};
use crate::machine::Machine;
use crate::program::E_INDEX;
use crate::schedule::arguments::{Arguments, Buffers, Elements};
use crate::schedule::context::Context;
use crate::schedule::indexed::index;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, RowVectors, product, strides};
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// A box that is copied from an operand to the output. Offsets and strides are in elements.
#[derive(Clone, Debug)]
struct Copy {
    operand: usize,
    from: Quantity,
    to: Quantity,
    dimensions: Vec<Dimension>,
}

/// One dimension of a box.
#[derive(Clone, Debug)]
struct Dimension {
    extent: Quantity,
    from_stride: Quantity,
    to_stride: Quantity,
}

/// The start of a slice along one dimension, known only at run time.
#[derive(Clone, Debug)]
struct Start {
    index: Tensor,
    /// Lanes from one position to the next.
    stride: Quantity,
    /// Starts with which the slice stays inside, if extents are known. Otherwise a [`Cut`] checks it.
    inside: Option<Interval>,
}

/// A dimension of a slice whose elements are checked at run time to be inside the operand.
#[derive(Clone, Debug)]
struct Cut {
    start: Quantity,
    size: Quantity,
    stride: i64,
    extent: Quantity,
}

/// Schedule of an operator that moves elements.
pub struct MovementSchedule<'a> {
    cx: Context<'a>,
    operands: Vec<Tensor>,
    copies: Vec<Copy>,
    /// Starts of a slice that are known only at run time.
    starts: Vec<Start>,
    /// Dimensions of a slice that are checked at run time.
    cuts: Vec<Cut>,
    /// Pairs of extents that must be equal and are compared at run time.
    equal: Vec<[Quantity; 2]>,
    /// Type of a copied lane: an element or a part of one. Copies are in units of it.
    lane: Lane,
    /// Value that fills the whole output first.
    fill: Option<Scalar>,
    name: &'static str,
}

impl<'a> MovementSchedule<'a> {
    /// Makes the schedule of an operator that moves elements.
    ///
    /// # Errors
    /// [`Unsupported`] for dynamic shapes and elements narrower than a byte.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let output = data.results[0];
        if cx.element(output).bits() < 8 {
            return Err(Unsupported::OperatorOf { op: data.op(), element: cx.element(output) });
        }
        let lane = lane(&cx, &[data.operands[0], output])?;
        let to = strides(&cx.quantities(output));
        let mut copies = match &data.operation {
            Operation::Bitcast(_) | Operation::Reshape(_) => vec![run(product(&cx.quantities(output)))],
            Operation::Concat(join) => concat(&cx, data, join.axis, &to)?,
            _ => vec![single(&cx, data, &to)?],
        };
        copies.iter_mut().for_each(|copy| copy.split(parts(cx.element(output), lane)));
        let equal = match &data.operation {
            Operation::Concat(join) => joined(&cx, data, join.axis),
            Operation::Pad(pad) => padded(&cx, data, &pad.low, &pad.high),
            // A reshape with equal numbers of elements at compile time needs no copy, so these are compared at run time.
            Operation::Reshape(_) => vec![[product(&cx.quantities(output)), product(&cx.quantities(data.operands[0]))]],
            _ => vec![],
        };
        let (cuts, starts) = match &data.operation {
            Operation::Slice(slice) => (cuts(&cx, data, slice), starts(&cx, data, slice, parts(cx.element(output), lane))),
            _ => (vec![], vec![]),
        };
        let fill = if let Operation::Pad(pad) = &data.operation { Some(pad.value) } else { None };
        Ok(Self { cx, operands: data.operands.clone(), copies, starts, cuts, equal, lane, fill, name: data.op().name() })
    }

    /// Makes the schedule that copies a whole tensor.
    ///
    /// # Errors
    /// [`Unsupported`] for dynamic shapes.
    pub fn whole(cx: Context<'a>, from: Tensor) -> Result<Self, Unsupported> {
        let lane = lane(&cx, &[from])?;
        let mut elements = product(&cx.quantities(from));
        let bits = i64::from(cx.element(from).bits());
        elements = match elements.as_known() {
            Some(_) => Quantity::known(i64::try_from(lanes_of(&cx, from, lane)?).unwrap_or(i64::MAX)),
            None if bits >= 8 => elements.scaled(parts(cx.element(from), lane)),
            None => return Err(Unsupported::PackedCopy),
        };
        let copies = vec![run(elements)];
        Ok(Self { cx, operands: vec![from], copies, starts: vec![], cuts: vec![], equal: vec![], lane, fill: None, name: "copy" })
    }
}

impl MovementSchedule<'_> {
    /// Returns the lanes that are copied at a time. Long registers need long rows, whose rest they do not copy.
    fn lanes(&self) -> u16 {
        let [short, long] = [Machine::lanes, Machine::copied_lanes].map(|lanes| lanes(self.cx.machine, self.lane.bytes()));
        let is_long = |copy: &Copy| match collapse(&copy.dimensions).last() {
            Some(Dimension { extent, from_stride, to_stride }) => {
                from_stride.is(1) && to_stride.is(1) && extent.as_known().is_some_and(|extent| extent >= i64::from(long))
            }
            None => false,
        };
        if self.copies.iter().all(is_long) { long } else { short }
    }
}

/// Returns the number of lanes in a tensor.
fn lanes_of(cx: &Context<'_>, tensor: Tensor, lane: Lane) -> Result<u64, Unsupported> {
    let bytes = cx.element(tensor).bytes_for(cx.most_elements(tensor)?);
    Ok(bytes.ok_or(Unsupported::BeyondMemory)? / u64::from(lane.bytes()))
}

/// Returns the widest lane that divides the elements of all tensors. Packed elements have byte lanes.
fn lane(cx: &Context<'_>, tensors: &[Tensor]) -> Result<Lane, Unsupported> {
    let narrowest = tensors.iter().map(|&v| cx.element(v)).min_by_key(|e| e.bits());
    match narrowest.map_or(0, crate::ir::ElementType::bits) {
        4 | 8 => Ok(Lane::I8),
        16 => Ok(Lane::I16),
        32 => Ok(Lane::I32),
        64.. => Ok(Lane::I64),
        bits => Err(Unsupported::MoveBits(bits)),
    }
}

/// Returns the number of lanes in an element of whole bytes.
fn parts(element: crate::ir::ElementType, lane: Lane) -> i64 {
    i64::from(element.bits() / 8 / lane.bytes())
}

/// Makes a copy of contiguous elements.
fn run(elements: Quantity) -> Copy {
    let dimension = Dimension { extent: elements, from_stride: Quantity::known(1), to_stride: Quantity::known(1) };
    Copy { operand: 0, from: Quantity::known(0), to: Quantity::known(0), dimensions: vec![dimension] }
}

impl Copy {
    /// Tests whether it is known to have no elements.
    fn is_empty(&self) -> bool {
        self.dimensions.iter().any(|dimension| dimension.extent.is(0))
    }

    /// Changes the units of a copy from elements to parts of elements.
    fn split(&mut self, parts: i64) {
        if parts == 1 {
            return;
        }
        self.from = self.from.scaled(parts);
        self.to = self.to.scaled(parts);
        for dimension in &mut self.dimensions {
            dimension.from_stride = dimension.from_stride.scaled(parts);
            dimension.to_stride = dimension.to_stride.scaled(parts);
        }
        self.dimensions.push(Dimension { extent: Quantity::known(parts), from_stride: Quantity::known(1), to_stride: Quantity::known(1) });
    }
}

/// Returns the dimensions of a slice that are not known to stay inside the operand.
fn cuts(cx: &Context<'_>, data: &InstData, slice: &operators::Slice) -> Vec<Cut> {
    let (shape, size) = (cx.quantities(data.operands[0]), cx.quantities(data.results[0]));
    let cut = |d: usize| {
        let start = Quantity::of(cx.function.resolved(slice.start[d]));
        Cut { start, size: size[d].clone(), stride: slice.stride[d], extent: shape[d].clone() }
    };
    let known = |cut: &Cut| {
        let whole = cut.start.is(0) && cut.stride == 1 && cut.size == cut.extent;
        whole || cut.size.as_known().is_some() && cut.extent.as_known().is_some()
    };
    (0..shape.len()).map(cut).filter(|cut| !known(cut)).collect()
}

/// Returns the starts of a slice that are known only at run time.
fn starts(cx: &Context<'_>, data: &InstData, slice: &operators::Slice, parts: i64) -> Vec<Start> {
    let (shape, size) = (cx.quantities(data.operands[0]), cx.quantities(data.results[0]));
    let steps = strides(&shape);
    let mut starts = Vec::new();
    for (d, extent) in slice.start.iter().enumerate() {
        let Extent::Value(index) = *extent else { continue };
        let inside = |(size, extent): (i64, i64)| {
            // Distance from the first element to the last; negative if the stride is.
            let reach = (size - 1).saturating_mul(slice.stride[d]);
            Interval { low: reach.saturating_neg().max(0), high: (extent - 1).saturating_sub(reach.max(0)) }
        };
        let inside = size[d].as_known().zip(shape[d].as_known()).map(inside);
        starts.push(Start { index, stride: steps[d].scaled(parts), inside });
    }
    starts
}

fn single(cx: &Context<'_>, data: &InstData, to: &[Quantity]) -> Result<Copy, Unsupported> {
    let shape = cx.quantities(data.operands[0]);
    let output = cx.quantities(data.results[0]);
    let from = strides(&shape);
    let dimension = |extent: &Quantity, from_stride: Quantity, to_stride: &Quantity| Dimension {
        extent: extent.clone(),
        from_stride,
        to_stride: to_stride.clone(),
    };
    let zero = Quantity::known(0);
    let mut copy = Copy { operand: 0, from: zero.clone(), to: zero.clone(), dimensions: vec![] };
    match &data.operation {
        Operation::Slice(slice) => {
            for d in 0..shape.len() {
                let start = slice.start[d].as_static().unwrap_or(0) as i64;
                copy.from = copy.from.plus(&from[d].scaled(start));
                copy.dimensions.push(dimension(&output[d], from[d].scaled(slice.stride[d]), &to[d]));
            }
        }
        Operation::Transpose(transpose) => {
            for (d, &p) in transpose.permutation.iter().enumerate() {
                copy.dimensions.push(dimension(&output[d], from[p].clone(), &to[d]));
            }
        }
        Operation::Broadcast(_) => {
            let new = output.len() - shape.len();
            for d in 0..output.len() {
                let repeats = d < new || shape[d - new].is(1);
                if !repeats && shape[d - new] != output[d] {
                    return Err(Unsupported::ExtentsMayDiffer);
                }
                let stride = if repeats { zero.clone() } else { from[d - new].clone() };
                copy.dimensions.push(dimension(&output[d], stride, &to[d]));
            }
        }
        Operation::Pad(pad) => {
            for d in 0..shape.len() {
                let (low, high) = (pad.low[d], pad.high[d]);
                copy.from = copy.from.plus(&from[d].scaled((-low).max(0)));
                copy.to = copy.to.plus(&to[d].scaled(low.max(0)));
                let extent = match shape[d].as_known() {
                    Some(extent) => Quantity::known((extent + low.min(0) + high.min(0)).max(0)),
                    None => shape[d].clone(),
                };
                copy.dimensions.push(dimension(&extent, from[d].clone(), &to[d]));
            }
        }
        _ => return Err(Unsupported::Operator(data.op())),
    }
    Ok(copy)
}

fn concat(cx: &Context<'_>, data: &InstData, axis: usize, to: &[Quantity]) -> Result<Vec<Copy>, Unsupported> {
    let output = cx.quantities(data.results[0]);
    let mut position = Quantity::known(0);
    let mut copies = Vec::new();
    for (operand, &value) in data.operands.iter().enumerate() {
        let shape = cx.quantities(value);
        if (0..shape.len()).any(|d| d != axis && shape[d] != output[d]) {
            return Err(Unsupported::ExtentsMayDiffer);
        }
        let from = strides(&shape);
        let dimension = |d: usize| Dimension { extent: shape[d].clone(), from_stride: from[d].clone(), to_stride: to[d].clone() };
        let dimensions = (0..shape.len()).map(dimension).collect();
        copies.push(Copy { operand, from: Quantity::known(0), to: position.times(&to[axis]), dimensions });
        position = position.plus(&shape[axis]);
    }
    Ok(copies)
}

/// Returns the result's extent along the axis and the sum of the operands' extents, unless they are the same quantity.
fn joined(cx: &Context<'_>, data: &InstData, axis: usize) -> Vec<[Quantity; 2]> {
    let given = cx.quantities(data.results[0])[axis].clone();
    let sum = data.operands.iter().fold(Quantity::known(0), |sum, &operand| sum.plus(&cx.quantities(operand)[axis]));
    if given == sum { vec![] } else { vec![[given, sum]] }
}

/// Returns pairs of a result's extent and the operand's padded extent, unless they are the same quantity.
pub fn padded(cx: &Context<'_>, data: &InstData, low: &[i64], high: &[i64]) -> Vec<[Quantity; 2]> {
    let (shape, output) = (cx.quantities(data.operands[0]), cx.quantities(data.results[0]));
    let border = |d: usize| Quantity::known(low[d].saturating_add(high[d]));
    (0..shape.len()).map(|d| [output[d].clone(), shape[d].plus(&border(d))]).filter(|[given, sum]| given != sum).collect()
}

/// Leaves the kernel with [`E_INDEX`] if extents that must be equal differ.
pub fn check_equal(b: &mut KernelBuilder, extents: &Cells, equal: &[[Quantity; 2]]) {
    for pair in equal {
        let [one, other] = pair.each_ref().map(|quantity| extents.number(b, quantity).value(b));
        let differ = b.compare(CompareOp::NotEqual, one, other);
        b.fail_if(differ, E_INDEX);
    }
}

/// Merges dimensions that are contiguous on both sides, and drops dimensions of one element.
fn collapse(dimensions: &[Dimension]) -> Vec<Dimension> {
    let mut result: Vec<Dimension> = Vec::new();
    for inner in dimensions.iter().filter(|d| !d.extent.is(1)) {
        if let Some(outer) = result.last_mut() {
            let runs_on = |outer: &Quantity, inner_stride: &Quantity| *outer == inner_stride.times(&inner.extent);
            if runs_on(&outer.from_stride, &inner.from_stride) && runs_on(&outer.to_stride, &inner.to_stride) {
                *outer = Dimension { extent: outer.extent.times(&inner.extent), ..inner.clone() };
                continue;
            }
        }
        result.push(inner.clone());
    }
    result
}

impl Schedule for MovementSchedule<'_> {
    fn requirements(&self) -> Requirements {
        // An operand may be overwritten from its start on if it is copied first, from front to back, and only once.
        let is_read_once = self.operands.iter().skip(1).all(|other| *other != self.operands[0]);
        let first = self.copies.first().filter(|copy| self.fill.is_none() && copy.operand == 0 && is_read_once && copy.to.is(0));
        let is_run = |copy: &Copy| match &collapse(&copy.dimensions)[..] {
            [run] => run.extent.as_known().is_some() && run.from_stride.is(1) && run.to_stride.is(1),
            _ => false,
        };
        let may_slide = first.filter(|copy| is_run(copy)).map(|_| Pair { read: self.operands[0], written: self.cx.group.outputs[0] });
        Requirements { may_slide: may_slide.into_iter().collect(), ..Requirements::default() }
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let (mut b, mut arguments) = (KernelBuilder::new(self.name), Arguments::default());
        b.independent(true);
        let declared = self.declare(&mut b, &mut arguments, shared)?;
        self.check_cuts(&mut b, &declared.extents);
        let lanes = declared.vectors.lanes;
        // Shorter rows are copied several at a time.
        let rows = self.rows_with_border(&declared.total).filter(|rows| rows.copied >= i64::from(lanes));
        if let Some(value) = self.fill {
            self.write_fill(&mut b, &mut arguments, &declared, value, rows.as_ref());
        }
        for copy in self.copies.iter().filter(|copy| rows.is_none() && !copy.is_empty()) {
            let is_shared = shared.iter().any(|pair| pair.read == self.operands[copy.operand]);
            self.write_copy(&mut b, &declared, copy, is_shared);
        }
        let description = format!("{}, {lanes} at a time", self.name);
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}

/// Buffers and extents of a kernel.
struct Declared {
    inputs: Vec<Buffer>,
    /// Buffers of the starts that are known only at run time.
    starts: Vec<Buffer>,
    output: Buffer,
    extents: Cells,
    /// Lanes of the output.
    total: Quantity,
    vectors: RowVectors,
}

impl MovementSchedule<'_> {
    /// Declares the buffers of a kernel, and loads its extents.
    fn declare(&self, b: &mut KernelBuilder, arguments: &mut Arguments, shared: &[Pair]) -> Result<Declared, Unsupported> {
        let (output, lane) = (self.cx.group.outputs[0], self.lane);
        let alignment = |value| self.cx.element(value).alignment() as u32;
        let mut inputs = Vec::new();
        for (i, &value) in self.operands.iter().enumerate() {
            let elements = Elements::new(lane, lanes_of(&self.cx, value, lane)?).aligned(alignment(value));
            inputs.push(arguments.operand(b, format!("input{i}"), value, elements, shared));
        }
        let mut starts = Vec::new();
        for (i, start) in self.starts.iter().enumerate() {
            starts.push(arguments.input(b, format!("start{i}"), start.index, Elements::new(Lane::I64, 1)));
        }
        let elements = Elements::new(lane, lanes_of(&self.cx, output, lane)?).aligned(alignment(output));
        let target = arguments.output(b, "output", output, elements);
        let total = product(&self.cx.quantities(output)).scaled(parts(self.cx.element(output), lane));
        let mut extents = Cells::default();
        extents.load(b, arguments, self.quantities().chain([&total]).flat_map(Quantity::extents));
        let vectors = RowVectors { lanes: self.lanes(), masked: self.cx.machine.masked_lanes };
        Ok(Declared { inputs, starts, output: target, extents, total, vectors })
    }

    /// Fills the output with a value. With `rows`, it copies them, and fills the border of each.
    fn write_fill(
        &self,
        b: &mut KernelBuilder,
        arguments: &mut Arguments,
        declared: &Declared,
        value: Scalar,
        rows: Option<&RowsWithBorder>,
    ) {
        let RowVectors { lanes, masked } = declared.vectors;
        // A border may be a zero point, which differs in another set of weights.
        let open = self.cx.module.open_constants;
        let alignment = self.cx.element(self.cx.group.outputs[0]).alignment() as u32;
        let open = open.then(|| arguments.data(b, "border", value.to_bytes().into(), self.lane, alignment));
        let fill = |b: &mut KernelBuilder, first: Value, elements: Number| {
            elements.row(b, lanes, masked, |b, i, active| {
                let zero = b.index(0);
                let value = match open {
                    Some(border) => b.load_splat(border, zero, 0, lanes),
                    None => b.int(Type::vector(self.lane, lanes), value.bits() as i64),
                };
                let index = b.add(first, i);
                b.store_active(declared.output, index, 0, value, active);
            });
        };
        match rows {
            Some(rows) => rows.lower(b, Buffers { input: declared.inputs[0], output: declared.output }, declared.vectors, fill),
            None => {
                let (first, elements) = (b.index(0), declared.extents.number(b, &declared.total));
                fill(b, first, elements);
            }
        }
    }

    /// Copies a box. `is_shared` tells if its operand starts inside the output.
    fn write_copy(&self, b: &mut KernelBuilder, declared: &Declared, copy: &Copy, is_shared: bool) {
        let (extents, RowVectors { lanes, masked }) = (&declared.extents, declared.vectors);
        let from = extents.number(b, &copy.from);
        let (mut from, to) = (from.value(b), extents.number(b, &copy.to));
        let to = to.value(b);
        let zero = b.index(0);
        for (start, &cell) in self.starts.iter().zip(&declared.starts) {
            let position = b.load(cell, zero, 0, 1);
            if let Some(inside) = start.inside {
                index::check(b, position, inside);
            }
            let stride = extents.number(b, &start.stride);
            let offset = stride.scale(b, position);
            from = b.add(from, offset);
        }
        let dimensions = collapse(&copy.dimensions);
        let dimensions: Vec<Counted> = dimensions.iter().map(|d| Counted::new(b, extents, d)).collect();
        let machine = self.cx.machine;
        let most = machine.turned_lanes(self.lane.bytes());
        let squares = if self.cx.uses(Technique::TurnedBlocks) { machine.squares(self.lane.bytes()) } else { 1 };
        let turns = self.cx.uses(Technique::Turns);
        let turn = turns.then_some(Turn { lane: self.lane, most, squares });
        let reversed = if turns && machine.has_vectors() { most.min(lanes) } else { 1 };
        let mover = Mover { input: declared.inputs[copy.operand], output: declared.output, turn, lanes, masked, reversed };
        // An operand that starts inside the output is read from front to back before it is overwritten.
        b.rounds(!is_shared, |b| mover.copy(b, &turned_last(dimensions), from, to));
    }
}

/// Rows of a source, each followed by a border. Rows and borders are written in turn, so no element is written twice.
struct RowsWithBorder {
    from: i64,
    rows: i64,
    /// Elements from one row of the source to the next.
    stride: i64,
    /// Number of copied elements in a row, and their number with the border.
    copied: i64,
    whole: i64,
}

impl RowsWithBorder {
    fn lower(
        &self,
        b: &mut KernelBuilder,
        Buffers { input, output }: Buffers,
        RowVectors { lanes, masked }: RowVectors,
        fill: impl Fn(&mut KernelBuilder, Value, Number),
    ) {
        b.for_range(0, self.rows, 1, |b, row| {
            let from = b.scale_index(row, self.stride, self.from);
            let to = b.scale_index(row, self.whole, 0);
            Number::Known(self.copied).row(b, lanes, masked, |b, i, active| {
                let [source, place] = [from, to].map(|first| b.add(first, i));
                let elements = b.load_active(input, source, 0, lanes, active);
                b.store_active(output, place, 0, elements, active);
            });
            let border = b.scale_index(to, 1, self.copied);
            fill(b, border, Number::Known(self.whole - self.copied));
        });
    }
}

/// A dimension in a kernel.
#[derive(Clone, Copy)]
struct Counted {
    extent: Number,
    from_stride: Number,
    to_stride: Number,
}

impl Counted {
    fn new(b: &mut KernelBuilder, extents: &Cells, dimension: &Dimension) -> Self {
        let [extent, from_stride, to_stride] =
            [&dimension.extent, &dimension.from_stride, &dimension.to_stride].map(|quantity| extents.number(b, quantity));
        Self { extent, from_stride, to_stride }
    }
}

impl MovementSchedule<'_> {
    /// Returns the rows of the only copy, if the rest of the output, of `total` elements, is a border after each row.
    fn rows_with_border(&self, total: &Quantity) -> Option<RowsWithBorder> {
        let [copy] = &self.copies[..] else { return None };
        let dimensions = collapse(&copy.dimensions);
        let [rows, row] = &dimensions[..] else { return None };
        let is_run = row.from_stride.is(1) && row.to_stride.is(1) && copy.to.is(0);
        let numbers = [&copy.from, &rows.extent, &rows.from_stride, &row.extent, &rows.to_stride].map(Quantity::as_known);
        let [Some(from), Some(count), Some(stride), Some(copied), Some(whole)] = numbers else { return None };
        let is_border = self.fill.is_some() && is_run && copied > 0 && copied < whole && total.is(count.checked_mul(whole)?);
        is_border.then_some(RowsWithBorder { from, rows: count, stride, copied, whole })
    }

    /// Returns all quantities that the kernel uses.
    fn quantities(&self) -> impl Iterator<Item = &Quantity> {
        let dimensions = self.copies.iter().flat_map(|copy| &copy.dimensions).flat_map(|d| [&d.extent, &d.from_stride, &d.to_stride]);
        let offsets = self.copies.iter().flat_map(|copy| [&copy.from, &copy.to]);
        let cuts = self.cuts.iter().flat_map(|cut| [&cut.start, &cut.size, &cut.extent]);
        let equal = self.equal.iter().flatten();
        dimensions.chain(offsets).chain(cuts).chain(equal).chain(self.starts.iter().map(|start| &start.stride))
    }

    /// Leaves the kernel with [`E_INDEX`] if a non-empty slice leaves its dimension, or if extents that must be equal differ.
    fn check_cuts(&self, b: &mut KernelBuilder, extents: &Cells) {
        check_equal(b, extents, &self.equal);
        for cut in &self.cuts {
            let [start, size, extent] = [&cut.start, &cut.size, &cut.extent].map(|quantity| extents.number(b, quantity).value(b));
            let (zero, one) = (b.index(0), b.index(1));
            let steps = b.sub(size, one);
            let reach = b.scale_index(steps, cut.stride, 0);
            let last = b.add(start, reach);
            let some = b.compare(CompareOp::Greater, size, zero);
            for position in [start, last] {
                let inside = b.compare(CompareOp::UnsignedLess, position, extent);
                let outside = b.unary(UnaryOp::Not, inside);
                let wrong = b.binary(BinaryOp::And, some, outside);
                b.fail_if(wrong, E_INDEX);
            }
        }
    }
}

/// Orders the dimensions of a box for its loops. If the target's innermost dimension is not the source's, the source's innermost one comes just
/// before it.
fn turned_last(mut dimensions: Vec<Counted>) -> Vec<Counted> {
    let is_one = |stride: Number| matches!(stride, Number::Known(1));
    let Some(last) = dimensions.last() else { return dimensions };
    if is_one(last.to_stride)
        && !matches!(last.from_stride, Number::Known(0 | 1))
        && let Some(position) = dimensions.iter().position(|d| is_one(d.from_stride))
    {
        let end = dimensions.len() - 1;
        dimensions[position..end].rotate_left(1);
    }
    dimensions
}

/// Returns the source matrix whose transpose a box is: its rows, its columns, and their numbers. `None` for other boxes and run-time extents.
fn transposition(dimensions: &[Counted]) -> Option<(Counted, Counted, Sides)> {
    let [columns, rows] = *dimensions else { return None };
    match (columns.from_stride, rows.to_stride, rows.extent, columns.extent) {
        (Number::Known(1), Number::Known(1), Number::Known(height), Number::Known(width)) => {
            Some((rows, columns, Sides { rows: u64::try_from(height).ok()?, columns: u64::try_from(width).ok()? }))
        }
        _ => None,
    }
}

/// Copier of boxes.
struct Mover {
    input: Buffer,
    output: Buffer,
    /// The machine's way to transpose matrices. `None` if elements are copied one by one.
    turn: Option<Turn>,
    /// Lanes of a copy whose elements are adjacent on both sides.
    lanes: u16,
    /// Maximum lanes of a vector that the machine can mask.
    masked: u16,
    /// Lanes of a copy in reverse order; 1 on machines without vector registers.
    reversed: u16,
}

impl Mover {
    /// Copies a box from an element of the input to an element of the output.
    fn copy(&self, b: &mut KernelBuilder, dimensions: &[Counted], from: Value, to: Value) {
        if let (Some(turn), Some((rows, columns, extents))) = (self.turn, transposition(dimensions)) {
            let from = Matrix { buffer: self.input, first: from, stride: rows.from_stride };
            let to = Matrix { buffer: self.output, first: to, stride: columns.to_stride };
            return write_transposed(b, turn, extents, from, to);
        }
        let contiguous = |d: &Counted| matches!((d.to_stride, d.from_stride), (Number::Known(1), Number::Known(0 | 1)));
        match dimensions {
            [] => {
                let value = b.load(self.input, from, 0, 1);
                b.store(self.output, to, 0, value);
            }
            [inner] if contiguous(inner) => inner.extent.row(b, self.lanes, self.masked, |b, i, active| {
                let value = if matches!(inner.from_stride, Number::Known(1)) {
                    let from = b.add(from, i);
                    b.load_active(self.input, from, 0, self.lanes, active)
                } else {
                    b.load_splat(self.input, from, 0, self.lanes)
                };
                let to = b.add(to, i);
                b.store_active(self.output, to, 0, value, active);
            }),
            [inner] if self.reversed > 1 && matches!((inner.to_stride, inner.from_stride), (Number::Known(1), Number::Known(-1))) => {
                write_reversed(b, (self.input, from), (self.output, to), inner.extent, self.reversed);
            }
            [outer, rest @ ..] => outer.extent.repeat(b, |b, i| {
                let step = outer.from_stride.scale(b, i);
                let from = b.add(from, step);
                let step = outer.to_stride.scale(b, i);
                let to = b.add(to, step);
                self.copy(b, rest, from, to);
            }),
        }
    }
}
