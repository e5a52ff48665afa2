//! The driver's calls of the GPU runtime. `init` opens the device at its end, and `deinit` closes it. A region is one call of the runtime, or the
//! equivalent steps on the CPU.

use super::addresses::Addresses;
use super::context::{Context, Gpu};
use super::hooks::{AFTER, BEFORE};
use super::language::{BinaryOp, Builder, Callee, CompareOp, Function, Operand, Signature, Value, Width, function};
use crate::vulkan::{Own, clear, passed};
use modelc_interface::device::Field;
use modelc_interface::{E_ABI, E_GPU, E_STATE, GPU_INFO, GpuInfo, HOST, Host, RECORD, Record};
use modelc_program::{Address, Crossing, Estimate, PortExtent, Residents};

impl Gpu<'_> {
    /// Calls an entry of the runtime that returns a status.
    fn status(&self, e: &mut Builder, entry: Own, arguments: Vec<Operand>) -> Value {
        e.call(self.callee(entry), entry.signature(), arguments)
    }

    fn callee(&self, entry: Own) -> Callee {
        let found = self.entries.iter().find(|(own, _)| *own == entry);
        found.map(|(_, callee)| *callee).unwrap_or_else(|| unreachable!("{entry:?} is no entry"))
    }

    fn close(&self, e: &mut Builder, part: Value) {
        let table = e.data(self.table, 0);
        e.call_only(self.callee(Own::Close), Own::Close.signature(), vec![part.into(), table.into()]);
    }

    /// Returns the bytes of crossing records for the region with the most crossings.
    pub(super) fn crossing_bytes(&self) -> u64 {
        let count = self.device.regions.iter().map(|region| region.enter.len() + region.leave.len()).max();
        passed::BYTES * count.unwrap_or(0).max(1) as u64
    }
}

/// Computes the address of the device's part of the state.
fn part(e: &mut Builder, context: &Context<'_>, state: Value) -> Value {
    e.at(state, context.interface.state.device.offset)
}

/// Returns `MODELC_E_ABI` if the struct of the application's device is too small.
pub(super) fn check_host(e: &mut Builder, host: Value) {
    let layout = e.layout;
    e.when(host, |e| {
        let size = e.member(&HOST, host, Host::StructSize);
        let small = e.compare(CompareOp::Less, size, HOST.bytes(layout));
        e.leave_if(small, E_ABI);
    });
}

/// Opens the device at the end of `init`, unless it is estimated to be slower than the CPU of the chosen level.
pub(super) fn open_if_faster(e: &mut Builder, context: &Context<'_>, gpu: &Gpu<'_>, level: Operand, arguments: Opened) {
    let faster: Vec<bool> = gpu.device.estimate.iter().filter(|_| !gpu.required).flat_map(Estimate::device_is_faster).collect();
    if faster.iter().all(|faster| *faster) {
        return open(e, context, gpu, arguments);
    }
    let part = part(e, context, arguments.0);
    let table = e.data(gpu.table, 0);
    clear(e, part, table);
    for (number, _) in (0u64..).zip(&faster).filter(|(_, faster)| **faster) {
        let is_level = e.compare(CompareOp::Equal, level, number);
        e.when(is_level, |e| open(e, context, gpu, arguments));
    }
}

/// State, weights, and the struct of the application's device.
type Opened = (Value, Option<Value>, Value);

/// Opens the device. After a failure, everything opened so far is closed. Then the CPU does the device's work, or the function returns
/// `MODELC_E_GPU`.
fn open(e: &mut Builder, context: &Context<'_>, gpu: &Gpu<'_>, (state, weights, host): Opened) {
    let part = part(e, context, state);
    let table = e.data(gpu.table, 0);
    let weights = if context.constants.bytes > 0 { e.constant(weights, 0).into() } else { Operand::Number(0) };
    let mut status = gpu.status(e, Own::Open, vec![part.into(), table.into(), weights, host.into()]);
    if let Some(residents) = &gpu.device.residents {
        let failed = e.region(|_| vec![status.into()]);
        let opened = e.region(|e| vec![first_contents(e, gpu, part, residents).into()]);
        status = e.branch(status, &[Width::Single], failed, opened)[0];
    }
    e.when(status, |e| {
        gpu.close(e, part);
        if gpu.required {
            e.store_long(Record::REFUSED, state, Record::Magic.offset());
            e.leave_always(status);
        }
    });
}

/// Runs the region that initializes the device's variables; returns its status. No data crosses.
fn first_contents(e: &mut Builder, gpu: &Gpu<'_>, part: Value, residents: &Residents) -> Value {
    let [table, row] = [0, gpu.rows[residents.region]].map(|offset| e.data(gpu.table, offset));
    gpu.status(e, Own::Run, vec![part.into(), table.into(), row.into(), Operand::Number(0)])
}

/// Initializes the device's variables again, for `reset`. If this fails, it returns `MODELC_E_GPU` before the host's state changes.
pub(super) fn reset(e: &mut Builder, context: &Context<'_>, gpu: &Gpu<'_>, state: Value) {
    let Some(residents) = &gpu.device.residents else { return };
    let part = part(e, context, state);
    leave_unless_it_runs(e, part);
    let status = first_contents(e, gpu, part, residents);
    stop_where_it_failed(e, part, status);
    e.leave_with(status);
}

/// Returns `MODELC_E_GPU` if the device is absent or has failed: the contents of its variables are then unknown.
fn leave_unless_it_runs(e: &mut Builder, part: Value) {
    let runs = e.device_runs(part);
    let stands_still = e.compare(CompareOp::Equal, runs, 0);
    e.leave_if(stands_still, E_GPU);
}

/// Marks the device as failed if a status is `MODELC_E_GPU`; returns that condition, 8 bits.
fn stop_where_it_failed(e: &mut Builder, part: Value, status: Value) -> Value {
    let failed = e.compare(CompareOp::Equal, status, E_GPU);
    e.when(failed, |e| e.set_field(0, part, Field::Runs));
    failed
}

/// Closes the device, for `deinit`. In a copy of a state, the device belongs to the original and stays open.
pub(super) fn close(e: &mut Builder, context: &Context<'_>, gpu: &Gpu<'_>, state: Value) {
    let part = part(e, context, state);
    let own = e.has_own_device(part);
    e.when(own, |e| gpu.close(e, part));
}

/// Closes the device of an earlier state of this model in the same memory. `init` calls it before it writes.
pub(super) fn release(e: &mut Builder, context: &Context<'_>, gpu: &Gpu<'_>, state: Value) {
    let wanted = [(Record::Magic, Record::INITIALISED), (Record::Hash, context.model_hash)];
    let [no_state, of_another] = wanted.map(|(field, bits)| e.differs(state, field.offset(), bits));
    let other = e.binary(BinaryOp::Or, no_state, of_another);
    let same = e.compare(CompareOp::Equal, other, 0);
    e.when(same, |e| close(e, context, gpu, state));
}

/// Writes `int gpu(void *arena, modelc_gpu_info *info)`. It also answers for a state that `init` refused because no device was found.
pub(crate) fn gpu(context: &Context<'_>, gpu: &Gpu<'_>) -> Function {
    function(context.interface.layout, Signature::status(2), |e, arguments| {
        let &[arena, info] = arguments else { unreachable!("gpu has two parameters") };
        e.leave_if_null(arena);
        e.leave_if_misaligned(arena, context.program.alignment.bytes());
        let [lives, refused] = [Record::INITIALISED, Record::REFUSED].map(|magic| e.differs(arena, Record::Magic.offset(), magic));
        let neither = e.binary(BinaryOp::And, lives, refused);
        let other = e.differs(arena, Record::Hash.offset(), context.model_hash);
        for wrong in [neither, other] {
            e.leave_if(wrong, E_STATE);
        }
        e.leave_if_null(info);
        let part = part(e, context, arena);
        let status = gpu.status(e, Own::Report, vec![part.into(), info.into()]);
        e.leave_with(status);
        store_estimate(e, gpu, arena, info);
    })
}

/// Stores the estimated times of the device and of the running CPU level, if the caller's struct has these fields. Missing estimates are 0.
fn store_estimate(e: &mut Builder, gpu: &Gpu<'_>, state: Value, info: Value) {
    let size = e.member(&GPU_INFO, info, GpuInfo::StructSize);
    let has_them = e.compare(CompareOp::GreaterOrEqual, size, GPU_INFO.bytes(e.layout));
    e.when(has_them, |e| {
        let level = e.member(&RECORD, state, Record::Level);
        let device_ns = gpu.device.estimate.as_ref().map_or(0, |estimate| estimate.device_ns);
        e.set_member(device_ns, &GPU_INFO, info, GpuInfo::GpuNs);
        e.set_member(0, &GPU_INFO, info, GpuInfo::CpuNs);
        for (number, &host_ns) in (0u64..).zip(gpu.device.estimate.iter().flat_map(|estimate| &estimate.host_ns)) {
            let is_level = e.compare(CompareOp::Equal, level, number);
            e.when(is_level, |e| e.set_member(host_ns, &GPU_INFO, info, GpuInfo::CpuNs));
        }
    });
}

/// A function that writes a call of the profiler hook before or after a measured region.
pub(super) type Notify<'a> = &'a dyn Fn(&mut Builder, u32);

/// Runs a region if a device is open. Returns, as 32 bits, 1 if the CPU must do the work; `None` if a device is required. `room` is memory for
/// crossing records. A failed device is not used again. After a failure, the CPU takes over only if `is_first`: no earlier result exists on the
/// device alone.
pub(super) fn region(
    addresses: &Addresses<'_>,
    e: &mut Builder,
    gpu: &Gpu<'_>,
    number: usize,
    (room, notify): (Value, Notify<'_>),
    is_first: bool,
) -> Option<Value> {
    let part = part(e, addresses.context, addresses.state);
    if gpu.required {
        leave_unless_it_runs(e, part);
        let status = run(addresses, e, gpu, Submission { number, part, room }, notify);
        stop_where_it_failed(e, part, status);
        e.leave_with(status);
        return None;
    }
    let runs = e.device_runs(part);
    let on_device = e.region(|e| {
        let status = run(addresses, e, gpu, Submission { number, part, room }, notify);
        let is_lost = stop_where_it_failed(e, part, status);
        if !is_first {
            e.leave_with(status);
            return vec![0.into()];
        }
        let status = e.select(is_lost, 0, status);
        e.leave_with(status);
        vec![e.extend(Width::Single, is_lost).into()]
    });
    let on_host = e.region(|_| vec![1.into()]);
    Some(e.branch(runs, &[Width::Single], on_device, on_host)[0])
}

/// Computes the bytes of a crossing in the caller's memory. A port with dynamic dimensions has the bytes of its actual shape, if the caller gives all
/// its extents. Otherwise the buffer has room for the bound, and all bytes cross.
pub(super) fn bytes_there(addresses: &Addresses<'_>, e: &mut Builder, crossing: &Crossing) -> Operand {
    let method = addresses.method;
    let (port, number, extents, offset) = match crossing.host {
        Address::Input(number, offset) => (&method.inputs[number as usize], number, &method.input_extents, offset),
        Address::Output(number, offset) => (&method.outputs[number as usize], number, &method.output_extents, offset),
        _ => return crossing.bytes.into(),
    };
    let of_port: Vec<&PortExtent> = extents.iter().filter(|extent| extent.port == number).collect();
    let is_given = |extent: &&PortExtent| method.input_extents.iter().any(|given| given.cell == extent.cell);
    if of_port.is_empty() || !of_port.iter().all(is_given) {
        return crossing.bytes.into();
    }
    let is_static = |dimension: &usize| of_port.iter().all(|extent| extent.dimension as usize != *dimension);
    let fixed: u64 = (0..port.shape.len()).filter(is_static).map(|dimension| port.shape[dimension]).product();
    let mut bits: Operand = (fixed * u64::from(port.element.bits())).into();
    for extent in of_port {
        let cell = addresses.address(e, extent.cell);
        let extent = e.load(Width::Cell, cell, 0);
        bits = e.mul(extent, bits).into();
    }
    let bits = e.binary(BinaryOp::Add, bits, 7);
    let end = e.binary(BinaryOp::Div, bits, 8);
    let is_before = e.compare(CompareOp::Less, offset, end);
    let after = e.binary(BinaryOp::Sub, end, offset);
    let there = e.select(is_before, after, 0);
    let is_more = e.compare(CompareOp::Less, crossing.bytes, there);
    e.select(is_more, crossing.bytes, there).into()
}

/// A region that is run, by its number, with its part and the memory of its crossing records.
struct Submission {
    number: usize,
    part: Value,
    room: Value,
}

/// Stores the crossing records, and runs a region on the device; returns its status.
fn run(
    addresses: &Addresses<'_>,
    e: &mut Builder,
    gpu: &Gpu<'_>,
    Submission { number, part, room }: Submission,
    notify: Notify<'_>,
) -> Value {
    notify(e, BEFORE);
    let region = &gpu.device.regions[number];
    for (number, crossing) in (0..).zip(region.enter.iter().chain(&region.leave)) {
        let record = number * passed::BYTES as i32;
        let address = addresses.address(e, crossing.host);
        e.store(Width::Word, address, room, record + passed::ADDRESS);
        let bytes = bytes_there(addresses, e, crossing);
        e.store(Width::Word, bytes, room, record + passed::COUNT);
    }
    let [table, row] = [0, gpu.rows[number]].map(|offset| e.data(gpu.table, offset));
    let status = gpu.status(e, Own::Run, [part, table, row, room].map(Operand::Value).to_vec());
    notify(e, AFTER);
    status
}
