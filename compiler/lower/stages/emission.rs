//! Emission of a method's steps, in the order of the plan.

use super::apart;
use super::calls;
use super::chosen::{Item, Scheduled};
use super::work::Work;
use crate::fuse::Group;
use crate::fuse::band::Bands;
use crate::ir::{self, Definition, Module, Op, Operation, Value};
use crate::lower::division::lists::Stream;
use crate::lower::memory::addresses::Addresses;
use crate::lower::pool::Pool;
use crate::machine::{Alignment, OFFSET_ALIGNMENT};
use crate::parallel;
use crate::program::{self, Address, Call, External, ExternalTensor, MemoryMap, Origin, Parallel, Private, Ranges, Step, Tasks};
use crate::schedule::piece::{Piece, PieceSlices};
use crate::schedule::{Argument, Unsupported};
use rustc_hash::FxHashMap;

/// Maximum number of ranges of a call.
const MOST_RANGES: u64 = 64;

/// Input of the emission of one level's steps.
pub(super) struct Emission<'a> {
    /// The number of the level.
    pub level: usize,
    pub module: &'a Module,
    pub addresses: &'a Addresses<'a>,
    /// Bytes of a `size_t`, the type of extents that a custom operator receives.
    pub size_bytes: usize,
    /// Alignment of the arena.
    pub alignment: Alignment,
    /// The map of the scratch memory.
    pub map: &'a MemoryMap,
    /// Values that are bands of others.
    pub bands: &'a Bands,
    /// The stream of each item, if it runs in one.
    pub streams: &'a [Option<Stream>],
}

/// Steps of one level.
pub(super) struct Written {
    pub steps: Vec<Step>,
    /// The kernel calls, in order: the position of each call's item, and `true` if it is the last call of this item.
    pub calls: Vec<(usize, bool)>,
}

impl Emission<'_> {
    /// Writes the steps of items in the order of the plan.
    ///
    /// # Errors
    /// The first group with an operation that has no lowering, and the reason.
    pub fn write<'s>(&self, items: &'s [Item<'s>], pool: &mut Pool) -> Result<Written, (Unsupported, &'s Group)> {
        let kernels =
            parallel::map(&items.iter().collect::<Vec<_>>(), |item| self.kernels(item)).into_iter().collect::<Result<Vec<_>, _>>()?;
        let items = items.iter().map(|item| item.work).zip(kernels).collect::<Vec<_>>().into_iter().enumerate();
        let unwritten = self.addresses.resolver.grouped.subtensors.counts();
        let mut writer = Writer { from: self, pool, unwritten, items, calls: vec![] };
        let steps = writer.steps()?;
        Ok(Written { steps, calls: writer.calls })
    }

    /// Writes the kernels of an item. The schedule learns which of its tensors share memory.
    fn kernels<'s>(&self, item: &'s Item<'s>) -> Result<Kernels, (Unsupported, &'s Group)> {
        let (Work::Group(group), Some(Scheduled { choice, needs, scratch_ranges, is_on_device })) =
            (item.work, item.schedules.get(self.level))
        else {
            return Ok(Kernels::default());
        };
        let pairs = needs.may_share.iter().chain(&needs.may_slide).copied();
        let shared: Vec<_> = pairs.filter(|&pair| self.addresses.shares(pair)).collect();
        let mut pieces = choice.pieces(&shared).map_err(|error| (error, group))?;
        let common_from = item.needs.scratch.len();
        let mut scratch = Scratch { bytes: needs.scratch.clone(), common_from, ranges: *scratch_ranges, is_on_device: *is_on_device };
        if scratch.is_on_device {
            let function = self.addresses.resolver.function();
            pieces.iter_mut().for_each(|piece| apart::copy_private(function, piece, &mut scratch.bytes));
        }
        Ok(Kernels { pieces, scratch })
    }
}

/// Kernels of a group. Empty for other work.
#[derive(Default)]
struct Kernels {
    pieces: Vec<Piece>,
    scratch: Scratch,
}

/// A scratch argument of a call.
struct Working {
    /// The position among the call's arguments.
    argument: usize,
    /// The number of its buffer.
    number: usize,
}

/// Scratch memory of a group's kernels.
#[derive(Default)]
struct Scratch {
    /// The bytes of each buffer for one range.
    bytes: Vec<u64>,
    /// The number of the first buffer that ranges share. The buffers that each range has come first.
    common_from: usize,
    /// The number of ranges with planned scratch memory.
    ranges: u64,
    /// `true` if it lies after the host's memory, on the device.
    is_on_device: bool,
}

/// Writer of the steps of one level.
struct Writer<'a, 's> {
    from: &'a Emission<'a>,
    pool: &'a mut Pool,
    /// The number of subtensors of each concatenation that are not written yet.
    unwritten: FxHashMap<Value, usize>,
    /// Work with its kernels, in the order of the plan.
    items: std::iter::Enumerate<std::vec::IntoIter<(Work<'s>, Kernels)>>,
    calls: Vec<(usize, bool)>,
}

impl<'s> Writer<'_, 's> {
    /// Writes steps up to the end of the current body or of the method.
    pub fn steps(&mut self) -> Result<Vec<Step>, (Unsupported, &'s Group)> {
        self.body().map(|(steps, _)| steps)
    }

    /// Writes the steps of a body. Returns them with the entry that ended it.
    fn body(&mut self) -> Result<(Vec<Step>, Work<'s>), (Unsupported, &'s Group)> {
        let mut steps = Vec::new();
        while let Some((position, (work, Kernels { pieces, scratch }))) = self.items.next() {
            match work {
                Work::Group(group) => {
                    self.calls.extend((1..=pieces.len()).map(|n| (position, n == pieces.len())));
                    for piece in pieces {
                        let call = self.call(group, piece, &scratch, position);
                        match self.from.streams[position] {
                            None => steps.push(Step::Call(call)),
                            Some(_) => {
                                let division = call.division.undivided();
                                self.in_stream(Call { division, ..call }, position, &mut steps);
                            }
                        }
                    }
                }
                Work::External(group) => steps.push(Step::External(self.external(group).map_err(|error| (error, group))?)),
                Work::Test(condition) => {
                    let condition = self.from.addresses.of(self.pool, condition);
                    let (then, otherwise) = (self.steps()?, self.steps()?);
                    steps.push(Step::If { condition, then, otherwise });
                }
                Work::Loop => {
                    let (head, end) = self.body()?;
                    let Work::Check(condition) = end else { unreachable!("the head of a loop ends with its check") };
                    let condition = self.from.addresses.of(self.pool, condition);
                    steps.push(Step::While { head, condition, body: self.steps()? });
                }
                Work::Enter | Work::Moves(_) => {}
                Work::Else(_) | Work::End | Work::Check(_) | Work::Repeat(_) | Work::Leave => return Ok((steps, work)),
            }
        }
        Ok((steps, Work::Leave))
    }

    /// Adds a call to the streams at the end of the steps. Starts new streams if the last step is of another cut.
    fn in_stream(&self, call: Call, position: usize, steps: &mut Vec<Step>) {
        let stream = self.from.streams[position];
        let before = position.checked_sub(1).and_then(|before| self.from.streams[before]);
        let is_same_cut = before.map(|before| before.cut) == stream.map(|stream| stream.cut);
        if !is_same_cut || !matches!(steps.last(), Some(Step::Parallel(_))) {
            steps.push(Step::Parallel(Parallel::of_lists()));
        }
        if let Some(Step::Parallel(Parallel { calls, tasks: Tasks::Lists { starts } })) = steps.last_mut() {
            if before != stream || calls.is_empty() {
                starts.push(calls.len());
            }
            calls.push(Step::Call(call));
        }
    }

    /// Makes the call of a kernel, and adds the kernel and its constants to the pool.
    fn call(&mut self, group: &Group, piece: Piece, scratch: &Scratch, position: usize) -> Call {
        let Piece { lowered, extent, most_ranges, slices } = piece;
        let mut origin = self.origin(group);
        origin.schedule = lowered.description;
        let blocks = slices.as_ref().map_or(1, PieceSlices::most_blocks);
        origin.multiply_accumulates = lowered.multiply_accumulates.saturating_mul(blocks);
        if let Some(slices) = &slices {
            origin.bytes = origin.bytes.saturating_mul(blocks * slices.block) / slices.most.max(1);
        }
        let complete: Vec<Value> = group.outputs.iter().flat_map(|&value| self.complete(value)).collect();
        origin.results = complete.into_iter().filter_map(|value| self.written(value)).collect();
        let stem = lowered.kernel.name.clone();
        let symbol = match origin.operators.first() {
            Some((operator, _)) => format!("op{operator:03}_{stem}"),
            None => stem,
        };
        let mut arguments = Vec::new();
        for argument in &lowered.arguments {
            arguments.push(match argument {
                Argument::Tensor(value) => self.from.addresses.of(self.pool, *value),
                Argument::Data(data) => Address::Constant(self.pool.constant(data, || symbol.clone()), 0),
                Argument::Scratch(i) if scratch.is_on_device => self.on_device(scratch, *i),
                Argument::Scratch(i) => self.from.addresses.of_scratch(position, *i),
                Argument::Common(i) => self.from.addresses.of_scratch(position, scratch.common_from + *i),
            });
        }
        let bytes = lowered.kernel.pointer_params().map(|(_, data)| data.bytes()).collect();
        let kernel = self.pool.kernel(self.from.level, lowered.kernel, symbol);
        let working = |(argument, what): (usize, &Argument)| match what {
            Argument::Scratch(number) => Some(Working { argument, number: *number }),
            _ => None,
        };
        let working: Vec<_> = lowered.arguments.iter().enumerate().filter_map(working).collect();
        let ranges = extent.map(|rounds| {
            let most = if scratch.is_on_device { 1 } else { rounds.min(most_ranges) };
            let (most, private) = self.ranges(most, &working, scratch, position);
            Ranges { rounds, most, private, bytes }
        });
        let function = self.from.addresses.resolver.function();
        let division = calls::division(function, slices, ranges, |extent| self.from.addresses.of(self.pool, extent));
        let bounds = calls::bounds(function, &lowered.arguments);
        Call { kernel, arguments, bounds, division, origin }
    }

    /// Returns the address of working memory on a device: after the host's scratch memory, at an offset that can be bound.
    fn on_device(&self, scratch: &Scratch, number: usize) -> Address {
        let start = self.from.addresses.plan.arena_bytes.next_multiple_of(OFFSET_ALIGNMENT);
        let before = scratch.bytes[..number].iter().map(|bytes| bytes.next_multiple_of(OFFSET_ALIGNMENT));
        Address::Scratch(start + before.sum::<u64>())
    }

    /// Computes the number of ranges of a call, at most `most`, and as many as have scratch memory. Returns it with their memory. `working` has the
    /// scratch arguments.
    fn ranges(&self, most: u64, working: &[Working], scratch: &Scratch, position: usize) -> (u32, Vec<Private>) {
        let (room, private) = match scratch.ranges {
            0 | 1 => self.in_gap(working, scratch, position),
            planned => {
                let of_argument = |&Working { argument, number }: &Working| {
                    let step = self.from.alignment.up(scratch.bytes[number]);
                    Private { argument, second: self.from.addresses.of_scratch(position, number).plus(step), step }
                };
                let planned = if working.is_empty() { MOST_RANGES } else { planned };
                (planned, working.iter().map(of_argument).collect())
            }
        };
        match room.min(MOST_RANGES).min(most) as u32 {
            0 | 1 => (1, vec![]),
            most => (most, private),
        }
    }

    /// Finds scratch memory for ranges in the largest gap of the scratch memory while the call runs, so that ranges cost no memory. Returns the number of
    /// ranges and the places. Moving places leave no gaps.
    fn in_gap(&self, working: &[Working], scratch: &Scratch, position: usize) -> (u64, Vec<Private>) {
        let moves = !self.from.addresses.moving.moving.is_empty();
        let gap = if moves { 0..0 } else { self.from.map.largest_gap(position, self.from.alignment) };
        let step = working.iter().map(|of: &Working| self.from.alignment.up(scratch.bytes[of.number])).sum();
        let room = (gap.end - gap.start).checked_div(step).map_or(MOST_RANGES, |more| more + 1);
        let mut second = gap.start;
        let mut places = Vec::new();
        for &Working { argument, number } in working {
            places.push(Private { argument, second: Address::Scratch(second), step });
            second += self.from.alignment.up(scratch.bytes[number]);
        }
        (room, places)
    }

    fn external(&mut self, group: &Group) -> Result<External, Unsupported> {
        let function = self.from.addresses.resolver.function();
        let data = group.root().map(|root| &function.insts[root]).ok_or(Unsupported::CustomWithoutFunction)?;
        let Operation::External(external) = &data.operation else { return Err(Unsupported::CustomWithoutFunction) };
        let (scales, zero_points) = (self.module_constant(external.scales), self.module_constant(external.zero_points));
        let mut tensors = Vec::new();
        for (value, number) in data.operands.iter().chain(&data.results).zip(0u64..) {
            let ty = function.tensor(*value);
            let shape = ty.static_shape().ok_or(Unsupported::CustomDynamicShape)?;
            let extents: Vec<u8> = shape.iter().flat_map(|extent| extent.to_le_bytes().into_iter().take(self.from.size_bytes)).collect();
            tensors.push(ExternalTensor {
                address: self.from.addresses.of(self.pool, *value),
                bytes: ty.static_bytes().unwrap_or(0),
                element: ty.element,
                rank: shape.len() as u32,
                shape: (!shape.is_empty()).then(|| self.pool.constant(&extents.into(), || "extents".into())),
                scale: Address::Constant(scales, 4 * number),
                zero_point: Address::Constant(zero_points, 4 * number),
            });
        }
        let outputs = tensors.split_off(data.operands.len());
        let has_options = !self.from.module.constants[external.options].data.is_empty();
        let options = has_options.then(|| self.module_constant(external.options));
        Ok(External { symbol: external.symbol.to_owned(), inputs: tensors, outputs, options, origin: self.origin(group) })
    }

    fn module_constant(&mut self, constant: ir::Constant) -> u32 {
        self.pool.constant(&self.from.module.constants[constant].data, || constant.to_string())
    }

    /// Returns an output, and the concatenations that are complete with it.
    fn complete(&mut self, output: Value) -> Vec<Value> {
        let mut complete = vec![output];
        let resolver = self.from.addresses.resolver;
        let mut subtensor = resolver.root(output);
        while let Some((host, _)) = resolver.host(subtensor) {
            match self.unwritten.get_mut(&host) {
                Some(left) if *left > 1 => {
                    *left -= 1;
                    break;
                }
                _ => complete.push(host),
            }
            subtensor = host;
        }
        complete
    }

    /// Describes an output that a group has written. `None` for dynamic extents, for a layout that is not row-major, and for results of branches and loops.
    /// The place of such a result holds several values, such as the initial and the current value of a loop.
    fn written(&mut self, value: Value) -> Option<program::Written> {
        let function = self.from.addresses.resolver.function();
        let data = &function.values[value];
        let ty = data.ty.as_tensor()?;
        let definition = match data.definition {
            Definition::Result(inst, _) if matches!(function.insts[inst].op(), Op::If | Op::While) => return None,
            // A band is only a part of its operator's result in the file.
            Definition::Result(inst, number) if !self.from.bands.contains_key(&value) => {
                function.insts[inst].source.map(|source| (source, number))
            }
            Definition::Result(..) | Definition::Param(_) => None,
        };
        let (shape, bytes) = (ty.static_shape()?, ty.static_bytes()?);
        let address = self.from.addresses.of(self.pool, value);
        let row_major = ty.layout.order().is_none();
        row_major.then(|| program::Written { name: data.name.clone(), definition, element: ty.element, shape, bytes, address })
    }

    fn origin(&self, group: &Group) -> Origin {
        let (module, function) = (self.from.module, self.from.addresses.resolver.function());
        let mut origin = Origin::default();
        for &inst in &group.insts {
            let Some(place) = function.insts[inst].source else { continue };
            let source = &module.sources[place];
            if !origin.sources.iter().any(|&other| other == place || module.sources[other] == *source) {
                origin.sources.push(place);
            }
            let operator = (source.operator, source.operator_name.clone());
            if !origin.operators.contains(&operator) {
                origin.operators.push(operator);
                origin.tensors.push(source.tensor.clone());
            }
        }
        // A convolution of channel planes reads only the image's own rows, so the image counts instead of the planes.
        let planes = group.channel_planes();
        let read = |value: Value| planes.filter(|(planes, _)| planes.source == value).map_or(value, |(_, image)| image);
        let values = group.inputs(function).into_iter().map(read).chain(group.outputs.iter().copied());
        origin.bytes = values.filter_map(|v| function.bound_bytes(function.stored_type(v))).sum();
        origin
    }
}
