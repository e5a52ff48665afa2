//! The operands of element-wise work: how each one's elements follow the position in the output, the buffers they come from,
//! and the code that loads, computes and stores at one position.

use super::epilogue::{epilogue_of, identity};
use super::expression::Evaluator;
use super::lanes::{memory_lane, narrow, widen};
use super::specialise::{Accumulator, Source, Specialised, specialise};
use super::sums::SumRanges;
use crate::fuse::gathered::{gathered, integers};
use crate::ir::{self, ElementType, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, KernelBuilder, Lane, Value};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::quantity::{Cells, Number, Quantity, product};
use crate::schedule::unsupported::Unsupported;
use cranelift_entity::EntityRef;

/// How an operand's element index follows from the output position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// The same element for every position.
    Single,
    /// Element by element as the output.
    Same,
    /// One element a channel (the last dimension).
    Channel,
    /// One element a pixel (all dimensions but the last).
    Pixel,
    /// Strides in elements a dimension, 0 where the operand repeats.
    Strided(Vec<Quantity>),
    /// Picked along some dimensions from another tensor; the last is as the output's.
    Picked(Picked),
}

/// An operand that is read where its elements lie in the tensor that they are picked from: see [`crate::fuse::gathered`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    source: Tensor,
    /// For each dimension but the last, in elements of the source.
    starts: Vec<Starts>,
}

/// Where the slices of a dimension begin, in what is around it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Starts {
    /// One after the other.
    Each(i64),
    /// Slices that are picked.
    At(Vec<i64>),
}

impl Picked {
    fn new(cx: &Context<'_>, value: Tensor) -> Option<Self> {
        let gathered = gathered(cx.function, &cx.group.insts, value)?;
        let shape = cx.shape(gathered.source).ok()?;
        let starts = |d: usize| {
            let stride = shape[d + 1..].iter().product::<u64>() as i64;
            Some(match gathered.positions.iter().find(|(axis, _)| *axis == d) {
                Some(&(_, constant)) => Starts::At(integers(cx.module, constant)?.into_iter().map(|position| position * stride).collect()),
                None => Starts::Each(stride),
            })
        };
        let starts = (0..shape.len() - 1).map(starts).collect::<Option<_>>()?;
        Some(Self { source: gathered.source, starts })
    }
}

/// The access of an operand of one shape in an output of another, the operand's broadcasting to the output's.
pub fn access(operand: &[Quantity], output: &[Quantity]) -> Access {
    let offset = output.len() - operand.len();
    let one = Quantity::known(1);
    let extent = |d: usize| if d < offset { &one } else { &operand[d - offset] };
    let rank = output.len();
    if operand.iter().all(|n| n.is(1)) {
        return Access::Single;
    }
    if (0..rank).all(|d| *extent(d) == output[d]) {
        return Access::Same;
    }
    let last = rank - 1;
    if *extent(last) == output[last] && (0..last).all(|d| extent(d).is(1)) {
        return Access::Channel;
    }
    if extent(last).is(1) && (0..last).all(|d| *extent(d) == output[d]) {
        return Access::Pixel;
    }
    let mut strides = vec![Quantity::known(0); rank];
    let mut step = Quantity::known(1);
    for d in (0..rank).rev() {
        if !extent(d).is(1) {
            strides[d] = step.clone();
        }
        step = step.times(extent(d));
    }
    Access::Strided(strides)
}

/// Whether an operand broadcasts to an output: extents that are not known must be the same ones.
fn fits(operand: &[Quantity], output: &[Quantity]) -> bool {
    let Some(offset) = output.len().checked_sub(operand.len()) else { return false };
    operand.iter().zip(&output[offset..]).all(|(have, want)| have.is(1) || have == want)
}

/// Whether an operand with these strides is the same in all channels of a pixel.
fn is_same_in_channels(strides: &[Quantity]) -> bool {
    strides.last().is_some_and(|stride| stride.is(0))
}

/// A position in the output: pixel × channels + channel, in values plus constant offsets.
#[derive(Clone, Copy, Debug)]
pub struct OutputPosition {
    /// Number of the pixel: all dimensions but the last, row major.
    pub pixel: Value,
    /// Added to it.
    pub pixel_offset: i64,
    /// Number of the channel.
    pub channel: Value,
    /// Added to it.
    pub channel_offset: i64,
    /// `pixel × channels + channel`, without the constant offsets.
    pub flat: Value,
}

/// What is known of an operand before a loop.
#[derive(Clone, Copy, Debug)]
pub enum Hoisted {
    /// Its value, which is the same in the whole loop.
    Value(Value),
    /// The index of its element in channel 0.
    Row(Value),
}

/// An input of the expression that is read from memory.
struct Operand {
    source: Source,
    element: ElementType,
    access: Access,
    buffer: Option<Buffer>,
    /// What is picked: where the slices of each dimension begin that is picked along.
    starts: Vec<Option<Buffer>>,
}

/// The position of what is given although nothing reads it.
const NO_INPUT: usize = usize::MAX;

/// Element-wise work on the positions of one output shape.
pub struct ElementWise<'a> {
    cx: Context<'a>,
    shape: Vec<Quantity>,
    /// The extents, when they are not all known; and for each operand its strides.
    extents: Vec<Number>,
    strides: Vec<Vec<Number>>,
    /// Positions of the inputs that are not read from memory: a root's result, or what a kernel has in registers.
    given: Vec<usize>,
    special: Specialised,
    operands: Vec<Operand>,
    tables: Vec<(ir::Constant, Option<Buffer>)>,
    outputs: Vec<(Tensor, Option<Buffer>)>,
}

impl<'a> ElementWise<'a> {
    /// The element-wise work of a group. `range` bounds the accumulator, if there is one.
    ///
    /// # Errors
    /// When a shape is dynamic or an element type has no arithmetic.
    pub fn new(cx: Context<'a>, range: Option<(i64, i64)>) -> Result<Self, Unsupported> {
        let result = cx.group.root.map(|r| cx.function.insts[r].results[0]);
        let accumulator = result.map(|value| Accumulator { value, range, channels: &[], takes_offsets: false });
        let shape = cx.quantities(cx.group.outputs[0]);
        Self::of(cx, &epilogue_of(&cx), accumulator, result.as_slice(), cx.group.outputs.clone(), shape)
    }

    /// The element-wise work of a contraction that does some of its epilogue otherwise. Its sums begin with [`Self::offsets`].
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_epilogue(cx: Context<'a>, epilogue: &crate::fuse::Epilogue, ranges: &SumRanges) -> Result<Self, Unsupported> {
        let result = cx.group.root.map(|r| cx.function.insts[r].results[0]);
        let accumulator = result.map(|value| Accumulator {
            value,
            range: ranges.all,
            channels: &ranges.channels,
            takes_offsets: cx.element(value) == ElementType::I32,
        });
        let shape = cx.quantities(cx.group.outputs[0]);
        Self::of(cx, epilogue, accumulator, result.as_slice(), cx.group.outputs.clone(), shape)
    }

    /// What a window or reduction reads: its operand, or the group's prologue.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn reader(cx: Context<'a>, operand: Tensor) -> Result<Self, Unsupported> {
        let whole = identity(&cx, operand);
        let work = cx.group.prologue.as_ref().unwrap_or(&whole);
        Self::of(cx, work, None, &[], vec![], cx.quantities(operand))
    }

    /// A step of a kernel that has some of the operands in registers, and stores the results itself. The positions are those of a shape.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn step(cx: Context<'a>, work: &crate::fuse::Epilogue, given: &[Tensor], shape: Vec<Quantity>) -> Result<Self, Unsupported> {
        Self::of(cx, work, None, given, vec![], shape)
    }

    fn of(
        cx: Context<'a>,
        work: &crate::fuse::Epilogue,
        accumulator: Option<Accumulator<'_>>,
        given: &[Tensor],
        outputs: Vec<Tensor>,
        shape: Vec<Quantity>,
    ) -> Result<Self, Unsupported> {
        let special = specialise(&cx, work, accumulator);
        let mut operands = Vec::new();
        for source in &special.sources {
            let (element, access) = match source {
                Source::Tensor(value) => {
                    let operand = cx.quantities(*value);
                    if !fits(&operand, &shape) {
                        return Err(Unsupported::new("extents that are known only when the program runs, and may differ"));
                    }
                    let picked = Picked::new(&cx, *value);
                    (cx.element(*value), picked.map_or_else(|| access(&operand, &shape), Access::Picked))
                }
                Source::Channels(element, _) => (*element, Access::Channel),
            };
            memory_lane(element)?;
            operands.push(Operand { source: source.clone(), element, access, buffer: None, starts: vec![] });
        }
        let input = |value: &Tensor| special.sources.iter().position(|s| matches!(s, Source::Tensor(v) if v == value));
        let given = given.iter().map(|value| input(value).unwrap_or(NO_INPUT)).collect();
        let mut tables = Vec::new();
        for node in special.expression.nodes.values() {
            if let ir::ScalarOp::Lut(table) = node.op
                && !tables.iter().any(|(t, _)| *t == table)
            {
                tables.push((table, None));
            }
        }
        for &output in &outputs {
            memory_lane(cx.element(output))?;
        }
        let outputs = outputs.into_iter().map(|v| (v, None)).collect();
        Ok(Self { cx, shape, extents: vec![], strides: vec![], given, special, operands, tables, outputs })
    }

    /// What is added to the first sum of each output channel: nothing where it is empty, one number for all channels, or one a channel.
    pub fn offsets(&self) -> &[i32] {
        &self.special.offsets
    }

    /// The output's shape.
    pub fn shape(&self) -> &[Quantity] {
        &self.shape
    }

    /// The accesses of the inputs that are read from memory.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.used().map(|i| &self.operands[i].access)
    }

    /// Whether some operand follows some of the dimensions, or is picked along them, and takes a loop for each.
    pub fn follows_dimensions(&self) -> bool {
        self.accesses().any(|access| matches!(access, Access::Strided(_) | Access::Picked(_)))
    }

    /// Whether a result of [`Self::values`] may lie outside its narrow type until it is stored: see [`Evaluator::run`].
    pub fn saturates(&self, result: usize) -> bool {
        let expression = &self.special.expression;
        let data = &expression.nodes[expression.results[result]];
        matches!(data.op, ir::ScalarOp::Convert | ir::ScalarOp::ConvertSaturating)
    }

    /// Operations for each element.
    pub fn operations(&self) -> u64 {
        self.special.expression.nodes.len() as u64
    }

    /// The smallest element in bytes among what is read and written.
    pub fn smallest_element(&self) -> u32 {
        let is_tensor = |i: &usize| matches!(self.operands[*i].source, Source::Tensor(_)) && self.operands[*i].access != Access::Single;
        let read = self.used().filter(is_tensor).map(|i| self.operands[i].element);
        let written = self.outputs.iter().map(|(v, _)| self.cx.element(*v));
        read.chain(written).map(|e| e.bits().div_ceil(8)).min().unwrap_or(4)
    }

    /// Operands that may share memory with an output: read element by element where all outputs are written.
    pub fn shareable(&self) -> Vec<(Tensor, Tensor)> {
        let single = self.shape.iter().all(|n| n.is(1));
        let mut pairs = Vec::new();
        for &(output, _) in &self.outputs {
            let bits = self.cx.element(output).bits();
            for operand in self.used().map(|i| &self.operands[i]) {
                let aligned = operand.access == Access::Same || (single && operand.access == Access::Single);
                if let (Source::Tensor(value), true) = (&operand.source, aligned && operand.element.bits() == bits) {
                    pairs.push((*value, output));
                }
            }
        }
        pairs
    }

    /// Inputs that the specialised expression still reads, those that are given left out.
    fn used(&self) -> impl Iterator<Item = usize> + '_ {
        let expression = &self.special.expression;
        let mut needed = vec![false; expression.nodes.len()];
        let mut used = vec![false; self.operands.len()];
        for result in &expression.results {
            needed[result.index()] = true;
        }
        for (node, data) in expression.nodes.iter().rev() {
            if needed[node.index()] {
                if let ir::ScalarOp::Input(i) = data.op {
                    used[i as usize] = true;
                }
                for operand in &data.operands {
                    needed[operand.index()] = true;
                }
            }
        }
        (0..self.operands.len()).filter(move |&i| used[i] && !self.given.contains(&i))
    }

    /// Declares the buffers of operands, tables and outputs, in this order, and adds their arguments.
    ///
    /// # Errors
    /// For element types without arithmetic.
    pub fn declare(&mut self, b: &mut KernelBuilder, arguments: &mut Arguments, shared: &[(Tensor, Tensor)]) -> Result<(), Unsupported> {
        let used: Vec<usize> = self.used().collect();
        for i in used {
            let operand = &self.operands[i];
            let lane = memory_lane(operand.element)?;
            let name = format!("operand{i}");
            self.operands[i].buffer = Some(match &operand.source {
                Source::Tensor(_) if matches!(operand.access, Access::Picked(_)) => {
                    self.declare_picked(b, arguments, i)?;
                    continue;
                }
                Source::Tensor(value) => arguments.operand(b, name, *value, Elements::new(lane, self.cx.most_elements(*value)?), shared),
                Source::Channels(_, data) => arguments.data(b, name, data.clone(), lane, lane.bytes()),
            });
        }
        for (i, (table, buffer)) in self.tables.iter_mut().enumerate() {
            let data = &self.cx.module.constants[*table];
            let lane = memory_lane(data.ty.element)?;
            *buffer = Some(arguments.data(b, format!("table{i}"), data.data.clone(), lane, lane.bytes()));
        }
        for (i, (value, buffer)) in self.outputs.iter_mut().enumerate() {
            let lane = memory_lane(self.cx.element(*value))?;
            let elements = product(&self.shape).most(self.cx.function)?;
            *buffer = Some(arguments.output(b, format!("output{i}"), *value, Elements::new(lane, elements)));
        }
        self.load_extents(b, arguments);
        Ok(())
    }

    /// Declares what an operand is picked from, and where slices begin; what another operand has declared is not declared again.
    fn declare_picked(&mut self, b: &mut KernelBuilder, arguments: &mut Arguments, i: usize) -> Result<(), Unsupported> {
        let Access::Picked(picked) = self.operands[i].access.clone() else { return Ok(()) };
        let lane = memory_lane(self.operands[i].element)?;
        let before = self.operands[..i].iter().filter_map(|operand| match &operand.access {
            Access::Picked(other) if operand.buffer.is_some() => Some((other, operand)),
            _ => None,
        });
        let (mut buffer, mut starts) = (None, vec![None; picked.starts.len()]);
        for (other, operand) in before {
            if other.source == picked.source {
                buffer = operand.buffer;
            }
            for (d, _) in picked.starts.iter().enumerate().filter(|(d, known)| other.starts.get(*d) == Some(known)) {
                starts[d] = operand.starts[d];
            }
        }
        self.operands[i].buffer = Some(match buffer {
            Some(buffer) => buffer,
            None => {
                let elements = Elements::new(lane, self.cx.most_elements(picked.source)?);
                arguments.input(b, format!("operand{i}"), picked.source, elements)
            }
        });
        for (d, known) in picked.starts.iter().enumerate() {
            if let (Starts::At(list), None) = (known, starts[d]) {
                let bytes: Vec<u8> = list.iter().flat_map(|start| start.to_le_bytes()).collect();
                starts[d] = Some(arguments.data(b, format!("starts{i}_{d}"), bytes.into(), Lane::I64, 8));
            }
        }
        self.operands[i].starts = starts;
        Ok(())
    }

    /// What positions are found with, computed before the loops.
    fn load_extents(&mut self, b: &mut KernelBuilder, arguments: &mut Arguments) {
        let mut cells = Cells::default();
        let strided = |operand: &Operand| if let Access::Strided(strides) = &operand.access { strides.clone() } else { vec![] };
        let strides: Vec<Vec<Quantity>> = self.operands.iter().map(strided).collect();
        if strides.iter().all(Vec::is_empty) {
            self.strides = vec![vec![]; strides.len()];
            return;
        }
        cells.load(b, arguments, strides.iter().flatten().chain(&self.shape).flat_map(Quantity::extents));
        self.extents = self.shape.iter().map(|extent| cells.number(b, extent)).collect();
        self.strides = strides.iter().map(|strides| strides.iter().map(|stride| cells.number(b, stride)).collect()).collect();
    }

    /// Loads of operands that are the same at every position, to stand before the loops. Pass the result to [`Self::emit`].
    pub fn hoist(&self, b: &mut KernelBuilder, lanes: u16) -> Vec<Option<Hoisted>> {
        let zero = b.index(0);
        let mut hoisted = vec![None; self.operands.len()];
        for i in self.used() {
            let operand = &self.operands[i];
            if operand.access == Access::Single {
                let buffer = operand.buffer.expect("declared");
                let raw = b.load_splat(buffer, zero, 0, lanes);
                hoisted[i] = Some(Hoisted::Value(widen(b, raw, operand.element)));
            }
        }
        hoisted
    }

    /// Loads of operands that are the same in all channels of a pixel, and where others begin that follow some of the dimensions, to stand before
    /// a loop over channels, beside what `hoisted` has already. `digits` are the pixel's position in each dimension but the last.
    pub fn hoist_pixel(
        &self,
        b: &mut KernelBuilder,
        pixel: Value,
        digits: &[Value],
        hoisted: &[Option<Hoisted>],
        lanes: u16,
    ) -> Vec<Option<Hoisted>> {
        let mut all = hoisted.to_vec();
        for i in self.used() {
            let operand = &self.operands[i];
            let index = match &operand.access {
                Access::Pixel => pixel,
                Access::Strided(strides) => {
                    let mut first = b.index(0);
                    for (&digit, stride) in digits.iter().zip(&self.strides[i]) {
                        let part = stride.scale(b, digit);
                        first = b.add(first, part);
                    }
                    if !is_same_in_channels(strides) {
                        all[i] = Some(Hoisted::Row(first));
                        continue;
                    }
                    first
                }
                Access::Picked(picked) => {
                    let mut first = b.index(0);
                    for ((&digit, buffer), starts) in digits.iter().zip(&operand.starts).zip(&picked.starts) {
                        let start = match (starts, buffer) {
                            (Starts::Each(stride), _) => b.scale_index(digit, *stride, 0),
                            (Starts::At(_), buffer) => b.load(buffer.expect("declared"), digit, 0, 1),
                        };
                        first = b.add(first, start);
                    }
                    all[i] = Some(Hoisted::Row(first));
                    continue;
                }
                Access::Single | Access::Same | Access::Channel => continue,
            };
            let raw = b.load_splat(operand.buffer.expect("declared"), index, 0, lanes);
            all[i] = Some(Hoisted::Value(widen(b, raw, operand.element)));
        }
        all
    }

    /// Computes `active` of `lanes` channels at a place and stores them.
    ///
    /// # Errors
    /// For operations without lowering.
    pub fn emit(
        &self,
        b: &mut KernelBuilder,
        place: &OutputPosition,
        accumulator: Option<Value>,
        hoisted: &[Option<Hoisted>],
        lanes: u16,
        active: u16,
    ) -> Result<(), Unsupported> {
        let results = self.values(b, place, accumulator.as_slice(), hoisted, lanes, active)?;
        for ((tensor, buffer), computed) in self.outputs.iter().zip(results) {
            let stored = narrow(b, computed, self.cx.element(*tensor));
            b.store_active(buffer.expect("declared"), place.flat, self.flat_offset(place), stored, active);
        }
        Ok(())
    }

    fn flat_offset(&self, place: &OutputPosition) -> i64 {
        // Tiles of pixels are of known channels.
        let channels = self.shape.last().map_or(Some(1), Quantity::as_known).unwrap_or(0);
        place.pixel_offset * channels + place.channel_offset
    }

    /// Computes `active` of `lanes` channels at a place, in their register form. `given` are the inputs that are not read from memory.
    ///
    /// # Errors
    /// For operations without lowering.
    pub fn values(
        &self,
        b: &mut KernelBuilder,
        place: &OutputPosition,
        given: &[Value],
        hoisted: &[Option<Hoisted>],
        lanes: u16,
        active: u16,
    ) -> Result<Vec<Value>, Unsupported> {
        let mut inputs = vec![place.flat; self.operands.len()];
        for i in self.used() {
            inputs[i] = match hoisted[i] {
                Some(Hoisted::Value(value)) => value,
                Some(Hoisted::Row(first)) => {
                    let raw = self.load_strided(b, i, first, place, (lanes, active));
                    widen(b, raw, self.operands[i].element)
                }
                None => self.load(b, i, place, self.flat_offset(place), lanes, active),
            };
        }
        for (&i, &value) in self.given.iter().zip(given).filter(|(i, _)| **i != NO_INPUT) {
            inputs[i] = value;
        }
        self.compute(b, &inputs, lanes)
    }

    fn load(&self, b: &mut KernelBuilder, i: usize, place: &OutputPosition, flat_offset: i64, lanes: u16, active: u16) -> Value {
        let operand = &self.operands[i];
        let buffer = operand.buffer.expect("declared");
        let raw = match &operand.access {
            Access::Single | Access::Picked(_) => unreachable!("hoisted"),
            Access::Same => b.load_active(buffer, place.flat, flat_offset, lanes, active),
            Access::Channel => b.load_active(buffer, place.channel, place.channel_offset, lanes, active),
            Access::Pixel => b.load_splat(buffer, place.pixel, place.pixel_offset, lanes),
            Access::Strided(_) => {
                let first = self.first_of_row(b, &self.strides[i], place);
                self.load_strided(b, i, first, place, (lanes, active))
            }
        };
        widen(b, raw, operand.element)
    }

    /// Elements of an operand whose element in channel 0 has an index.
    fn load_strided(&self, b: &mut KernelBuilder, i: usize, first: Value, place: &OutputPosition, (lanes, active): (u16, u16)) -> Value {
        let operand = &self.operands[i];
        let buffer = operand.buffer.expect("declared");
        if let Access::Strided(strides) = &operand.access
            && is_same_in_channels(strides)
        {
            return b.load_splat(buffer, first, 0, lanes);
        }
        let index = b.add(first, place.channel);
        b.load_active(buffer, index, place.channel_offset, lanes, active)
    }

    /// The index of the element in channel 0 of a pixel, from the pixel's number by division.
    fn first_of_row(&self, b: &mut KernelBuilder, strides: &[Number], place: &OutputPosition) -> Value {
        let offset = b.index(place.pixel_offset);
        let mut rest = b.add(place.pixel, offset);
        let mut first = b.index(0);
        // Dimensions in front of the outermost that the operand follows tell nothing of it.
        let outermost = strides.iter().position(|stride| !matches!(stride, Number::Known(0))).unwrap_or(0);
        for d in (outermost..strides.len() - 1).rev() {
            let mut digit = rest;
            if d > 0 {
                let extent = self.extents[d].value(b);
                rest = b.binary(BinaryOp::SignedDiv, digit, extent);
                let whole = self.extents[d].scale(b, rest);
                digit = b.sub(digit, whole);
            }
            if !matches!(strides[d], Number::Known(0)) {
                let part = strides[d].scale(b, digit);
                first = b.add(first, part);
            }
        }
        first
    }

    fn compute(&self, b: &mut KernelBuilder, inputs: &[Value], lanes: u16) -> Result<Vec<Value>, Unsupported> {
        let table = |constant: ir::Constant| {
            let (_, buffer) = self.tables.iter().find(|(t, _)| *t == constant).expect("every table was declared");
            let length = self.cx.module.constants[constant].ty.static_elements().unwrap_or(0);
            (buffer.expect("declared"), length)
        };
        let evaluator = Evaluator {
            expression: &self.special.expression,
            lanes,
            input_ranges: &self.special.ranges,
            requantizers: &self.special.requantizers,
            tables: &table,
            fma: self.cx.machine.fma,
        };
        evaluator.run(b, inputs)
    }
}
