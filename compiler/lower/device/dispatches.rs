//! Conversion of kernel calls to dispatches, with grids, narrow indices, and operands in ranges that the device can bind.

use super::counts::{Count, Counts};
use super::hazards::{Access, Touch, Work, shares};
use super::joined::{self, Joined, Operand};
use super::mirror::Mirror;
use super::operands::{begin_before, load_as};
use super::{slices, words};
use crate::kernel::dependence::{Places, apart};
use crate::kernel::intervals::{Assumed, Interval};
use crate::kernel::passes::grid::{self, Launch};
use crate::kernel::passes::narrow;
use crate::kernel::{Buffer, BufferKind, ConvertOp, Inst, Kernel, Lane, Rounding, Statement, Type, Value};
use crate::machine::{Gpu, GpuMachine};
use crate::program::{
    Address, Blob, Blocks, Bound, Call, DeviceConstant, DeviceKernel, DeviceMemory, Dispatch, Division, HostReason, Origin,
};
use cranelift_entity::EntityRef;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Collects the kernels and constants of the device.
pub struct Dispatches<'a> {
    /// The device.
    pub gpu: Gpu,
    mirror: &'a Mirror,
    constants: &'a [Blob],
    /// The launches of calls so far, or the reason why a call stays on the host.
    launches: FxHashMap<Key, Result<Vec<Counted>, HostReason>>,
    numbers: FxHashMap<DeviceKernel, usize>,
    /// Distinct kernels.
    pub kernels: Vec<DeviceKernel>,
    /// The constants that the kernels read, with their offsets.
    pub placed: Vec<DeviceConstant>,
    /// Bytes of all constants.
    pub constant_bytes: u64,
    /// Counts of workgroups, at the end of the area.
    pub counts: Counts,
}

/// A launch, with the computation of its number of workgroups if it depends on run-time extents.
type Counted = (Launch, Option<Count>);

/// Key of calls with equal launches: the number of the kernel, the integers, extents and slices of the call, and the places of overlapping operands.
type Key = (usize, Vec<(usize, [i64; 2])>, Division, Places);

impl<'a> Dispatches<'a> {
    /// Makes an empty collection.
    pub fn new(machine: &GpuMachine, mirror: &'a Mirror, constants: &'a [Blob]) -> Self {
        Self {
            gpu: machine.limits,
            mirror,
            constants,
            launches: FxHashMap::default(),
            numbers: FxHashMap::default(),
            kernels: vec![],
            placed: vec![],
            constant_bytes: 0,
            counts: Counts::from(mirror.bytes),
        }
    }

    /// Drops all kernels, constants and counts, and keeps the known launches. Only calls that are converted again add their kernels and constants.
    pub fn again(self) -> Self {
        let counts = Counts::from(self.mirror.bytes);
        Self { numbers: FxHashMap::default(), kernels: vec![], placed: vec![], constant_bytes: 0, counts, ..self }
    }

    /// Converts a call to dispatches, or returns the reason why the device cannot run it.
    pub fn of_call(&mut self, kernel: &Kernel, call: &Call) -> Result<Vec<Work>, HostReason> {
        let places = self.mirror.together(kernel, call);
        let key = (call.kernel, call.bounds.clone(), call.division.clone(), places.clone());
        let launches = self.launches.entry(key).or_insert_with(|| launches(kernel, call, places, &self.gpu)).clone()?;
        let arguments = slices::arguments(call);
        launches.into_iter().map(|launch| self.dispatch(launch, &arguments, call)).collect()
    }

    fn dispatch(&mut self, (launch, count): Counted, arguments: &[Address], call: &Call) -> Result<Work, HostReason> {
        let Launch { kernel, pointers, .. } = launch;
        let params: Vec<Buffer> = kernel.pointer_params().map(|(buffer, _)| buffer).collect();
        let operand = |(&buffer, pointer): (&Buffer, &Option<usize>)| {
            let (memory, start) = match pointer.map(|pointer| arguments[pointer]) {
                None => (DeviceMemory::Area, 0),
                Some(Address::Constant(number, offset)) => (DeviceMemory::Constants, self.constant(number as usize) + offset),
                Some(address) => (DeviceMemory::Area, self.mirror.place(address)?),
            };
            let data = kernel.buffer(buffer);
            let end = start + data.bytes();
            Some(Operand { memory, start, end, is_written: kernel.writes(buffer), begins: kernel.clamps(buffer) })
        };
        let operands: Vec<Operand> = params.iter().zip(&pointers).map(operand).collect::<Option<_>>().ok_or(HostReason::Range)?;
        let touches =
            operands.iter().zip(&pointers).map(|(operand, &pointer)| touch(operand, call.division.blocks().zip(pointer))).collect();
        let (kernel, bindings) = self.bound(kernel, &operands)?;
        let counts = count.and_then(|count| self.counts.place(&count, arguments, self.mirror));
        let dispatch = Dispatch { kernel, bindings, counts, origin: call.origin.clone() };
        Ok(Work::new(dispatch, self.accesses(kernel), touches, Some(call)))
    }

    /// Makes the dispatch that computes the counts at given offsets of the area. The offsets must be sorted. `None` if there are none, or if the
    /// operands cannot be bound.
    pub fn counting(&mut self, places: &[u64]) -> Option<Work> {
        let (kernel, operands) = self.counts.kernel(places)?;
        self.of_no_call(kernel, &operands)
    }

    /// Makes the dispatch of a kernel that does not belong to a call. `None` if its operands cannot be bound.
    pub fn of_no_call(&mut self, kernel: Kernel, operands: &[Operand]) -> Option<Work> {
        let (kernel, bindings) = self.bound(kernel, operands).ok()?;
        let dispatch = Dispatch { kernel, bindings, counts: None, origin: Origin::default() };
        let touches = operands.iter().map(|operand| touch(operand, None)).collect();
        Some(Work::new(dispatch, self.accesses(kernel), touches, None))
    }

    /// Binds the operands of a kernel. Returns the number of the device's kernel, whose operands may begin inside a range, and the ranges.
    fn bound(&mut self, mut kernel: Kernel, operands: &[Operand]) -> Result<(usize, Vec<Bound>), HostReason> {
        let most = self.gpu.bindings as usize;
        let joined = joined::join(operands, &self.gpu).map_err(|operands| HostReason::Operands { operands, most })?;
        let Joined { bindings, bounds } = joined.ok_or(HostReason::Range)?;
        let params: Vec<Buffer> = kernel.pointer_params().map(|(buffer, _)| buffer).collect();
        for ((&buffer, operand), &binding) in params.iter().zip(operands).zip(&bindings) {
            let (before, lane) = (operand.start - bounds[binding].offset, u64::from(kernel.buffer(buffer).lane.bytes()));
            if !before.is_multiple_of(lane) {
                return Err(HostReason::Range);
            }
            begin_before(&mut kernel, buffer, before / lane, self.gpu.offset_alignment as u32);
        }
        let touches: Vec<Touch> = operands.iter().map(|operand| touch(operand, None)).collect();
        let kernel = DeviceKernel { kernel, bindings, shares: shares(&touches) };
        let next = self.kernels.len();
        let unnamed = Kernel { name: String::new(), ..kernel.kernel.clone() };
        let number = *self.numbers.entry(DeviceKernel { kernel: unnamed, ..kernel.clone() }).or_insert(next);
        if number == next {
            self.kernels.push(kernel);
        }
        Ok((number, bounds))
    }

    /// Returns how a kernel of the device accesses each of its ranges.
    fn accesses(&self, kernel: usize) -> Vec<Access> {
        let known = &self.kernels[kernel];
        let (kernel, mut accesses) = (&known.kernel, vec![Access::Reads; known.binding_count()]);
        for ((buffer, data), &binding) in kernel.pointer_params().zip(&known.bindings) {
            if kernel.writes(buffer) {
                let is_narrow = !self.gpu.narrow_storage && data.lane.bytes() < 4;
                let is_changed = is_narrow || accesses[binding] == Access::Changes;
                accesses[binding] = if is_changed { Access::Changes } else { Access::Writes };
            }
        }
        accesses
    }

    /// Returns the offset of a constant on the device, and adds it if it is new.
    pub fn constant(&mut self, constant: usize) -> u64 {
        if let Some(known) = self.placed.iter().find(|known| known.constant == constant) {
            return known.offset;
        }
        let offset = self.constant_bytes.next_multiple_of(self.gpu.offset_alignment);
        self.placed.push(DeviceConstant { constant, offset });
        self.constant_bytes = offset + self.constants.get(constant).map_or(0, |blob| blob.data.len() as u64).next_multiple_of(4);
        offset
    }
}

/// Makes the kernels of a call's dispatches, if its operands are apart from each other. The error is the reason why the device cannot run them.
pub fn grids(kernel: &Kernel, call: &Call, gpu: &Gpu) -> Result<Vec<Kernel>, HostReason> {
    let places = apart(kernel.pointer_params().count());
    Ok(launches(kernel, call, places, gpu)?.into_iter().map(|(launch, _)| launch.kernel).collect())
}

/// Returns the bytes that an operand accesses. `blocks` are the blocks of its call and the position of the argument.
fn touch(operand: &Operand, blocks: Option<(&Blocks, usize)>) -> Touch {
    let &Operand { memory, start, end, is_written, .. } = operand;
    let stride = blocks.and_then(|(blocks, argument)| {
        let stride = blocks.strides.get(argument).copied().filter(|&stride| stride > 0)?;
        (end - start <= blocks.most * stride).then_some(stride)
    });
    // Elements narrower than a word are written as whole words.
    Touch { memory, bytes: start - start % 4..end.next_multiple_of(4), stride, writes: is_written }
}

/// Makes the launches of a call: kernels with grids. The error is the reason why the device cannot run them.
fn launches(kernel: &Kernel, call: &Call, mut places: Places, gpu: &Gpu) -> Result<Vec<Counted>, HostReason> {
    let mut kernel = match call.division.blocks() {
        Some(blocks) => slices::in_one(kernel, blocks, &places).ok_or(HostReason::Slices)?,
        None => kernel.clone(),
    };
    let extents = slices::extent_arguments(call);
    let mut elements = BTreeMap::new();
    for &(argument, [low, high]) in &extents {
        let buffer = kernel.pointer_params().nth(argument).ok_or(HostReason::Extent)?.0;
        if !is_only_loaded(&kernel, buffer) {
            return Err(HostReason::Extent);
        }
        // On the device, an extent is an i32 in the first bytes of its cell.
        load_as(&mut kernel, buffer, Lane::I32, ConvertOp::SignExtend);
        elements.insert(buffer.index(), Interval { low, high });
    }
    let assumed = Assumed { elements, ..Assumed::default() };
    let params: Vec<Buffer> = kernel.pointer_params().filter(|(_, data)| data.lane == Lane::I64).map(|(buffer, _)| buffer).collect();
    for buffer in params {
        if !kernel.writes(buffer) {
            words::as_words(&mut kernel, buffer, &assumed);
        }
    }
    // The extents that count slices are only read, so they overlap no written operand.
    places.extend((places.len()..kernel.pointer_params().count()).map(|number| (number, 0)));
    let integers = call.division.integers();
    debug_assert!(unmarked(&kernel, &integers, &assumed, &places).is_empty(), "independent rounds that are not marked in\n{kernel}");
    let mut launches = grid::launches(&kernel, &integers, &assumed, &places).ok_or(HostReason::Positions)?;
    for Launch { kernel, pointers, counts } in &mut launches {
        let of_operand = |(number, pointer): (usize, &Option<usize>)| pointer.map_or((places.len() + number, 0), |pointer| places[pointer]);
        let own: Places = pointers.iter().enumerate().map(of_operand).collect();
        if let Some(team) = grid::team(kernel, &own) {
            *kernel = team;
            debug_assert!(counts.is_none(), "what is beyond an end known at run time is left out under a condition, and lanes share none");
        } else if gpu.shares_tiles
            && let Some(shared) = grid::with_shared_rows(kernel, &own, gpu.shared_bytes.into())
        {
            *kernel = shared;
        }
        let last = kernel.grid.map_or(0, |grid| grid.positions.saturating_sub(1)) as i64;
        let of_launch = |&(argument, [low, high]): &(usize, [i64; 2])| {
            let parameter = pointers.iter().position(|&pointer| pointer == Some(argument))?;
            Some((kernel.pointer_params().nth(parameter)?.0.index(), Interval { low, high }))
        };
        let elements = extents.iter().filter_map(of_launch).collect();
        *kernel = narrow(kernel, &Assumed { parameters: vec![Interval { low: 0, high: last }], elements });
    }
    launches.iter().try_for_each(|launch| check(&launch.kernel))?;
    let counted = |launch: Launch| (Count::new(&launch, &extents), launch);
    Ok(launches.into_iter().map(counted).map(|(count, launch)| (launch, count)).collect())
}

/// Returns the counters of independent loops that a schedule has not marked. If tensors share memory, a schedule does not know how far apart they are,
/// and none are returned.
fn unmarked(kernel: &Kernel, integers: &[i64], assumed: &Assumed, places: &Places) -> Vec<Value> {
    let memories: FxHashSet<usize> = places.iter().map(|place| place.0).collect();
    if memories.len() < places.len() { vec![] } else { grid::unmarked(kernel, integers, assumed, places) }
}

/// Checks that a device can run a kernel: no 64-bit numbers, little local memory, and no rounding towards zero.
fn check(kernel: &Kernel) -> Result<(), HostReason> {
    let is_wide = |lane: Lane| matches!(lane, Lane::I64 | Lane::F64);
    let rounds_to_zero = |statement: &Statement| matches!(statement.inst, Inst::Fma { rounding: Rounding::TowardZero, .. });
    // Positions are narrowed later. All other 64-bit values are data.
    let is_position = |value: usize| kernel.body.params.iter().any(|param| param.index() == value);
    let defined = kernel
        .regions()
        .flat_map(|region| region.params.iter().chain(region.statements.iter().flat_map(|statement| &statement.results)).copied());
    let mut values = defined.filter(|value| !is_position(value.index())).map(|value| kernel.ty(value).lane);
    // An element of a local array takes a whole register.
    let local =
        kernel.buffers.iter().filter(|data| data.kind == BufferKind::Local).fold(0, |sum: u64, data| sum.saturating_add(4 * data.elements));
    if let Some(data) = kernel.buffers.iter().find(|data| is_wide(data.lane)) {
        Err(HostReason::WideTensor(data.lane))
    } else if let Some(lane) = values.find(|lane| is_wide(*lane)) {
        Err(HostReason::WideNumber(lane))
    } else if local > Gpu::LOCAL_BYTES {
        Err(HostReason::Local)
    } else if kernel.statements().any(rounds_to_zero) {
        Err(HostReason::Rounding)
    } else {
        Ok(())
    }
}

/// Tests whether a kernel only loads single numbers from a buffer. A kernel that computes an extent stays on the host.
fn is_only_loaded(kernel: &Kernel, buffer: Buffer) -> bool {
    let mut statements = kernel.statements();
    statements.all(|Statement { results, inst }| {
        let loads = matches!(inst, Inst::Load { .. }) && results.iter().all(|&result| kernel.ty(result) == Type::INDEX);
        inst.buffer() != Some(buffer) || loads
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::text::parse_kernel;

    #[test]
    fn extents_are_loaded_alone() {
        let of = |body: &str| {
            let kernel = parse_kernel(&format!("kernel @k(n: input i64[2] align 8, m: output i64[1] align 8) {{ {body} }}"))?;
            Ok::<_, crate::kernel::text::ParseError>([0, 1].map(|buffer| is_only_loaded(&kernel, Buffer::new(buffer))))
        };
        assert_eq!(of("%0: i64 = load n[0] store m[0], %0"), Ok([true, false]));
        assert_eq!(of("%0: i64x2 = load n[0]"), Ok([false, true]));
        assert_eq!(of("%0: i64x2 = load_splat n[1]"), Ok([false, true]));
    }
}
