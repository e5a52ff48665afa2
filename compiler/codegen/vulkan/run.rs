//! Execution of a region: copies in, submission, waiting, the status, copies out.

use super::functions::Vk;
use super::layout::SUBMIT_INFO;
use super::memory::make_seen;
use super::runtime::{Own, Runtime};
use super::tables::{crossing_row, region_row};
use crate::driver::language::{Builder, Callee, CompareOp, Function, Signature, Value, Width, function};
use modelc_interface::device::Field;

/// Calls the application's function that locks or unlocks its queue, if it has one.
pub fn call_lock(e: &mut Builder, part: Value, field: Field) {
    let lock = e.field(part, field);
    e.when(lock, |e| {
        let user = e.field(part, Field::User);
        e.call_only(Callee::Pointer(lock.into()), Signature::new(&[Width::Word], None), vec![user.into()]);
    });
}

/// Writes `int submit(part, VkCommandBuffer)`. It runs commands and waits for their end.
pub fn submit(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Submit.signature(), |e, arguments| {
        let &[part, commands] = arguments else { unreachable!("submit has two parameters") };
        let [device, queue, fence] = [Field::Device, Field::Queue, Field::Fence].map(|field| e.field(part, field));
        let fences = e.field_address(part, Field::Fence);
        e.vulkan(part, Vk::ResetFences, vec![device.into(), 1.into(), fences.into()]);
        let list = e.memory(8);
        e.store(Width::Word, commands, list, 0);
        let information = e.structure(&SUBMIT_INFO, &[("commandBufferCount", 1.into()), ("pCommandBuffers", list.into())]);
        call_lock(e, part, Field::Lock);
        e.vulkan_next(part, Vk::QueueSubmit);
        let result = e.vulkan_call(part, Vk::QueueSubmit, vec![queue.into(), 1.into(), information.into(), fence.into()]);
        call_lock(e, part, Field::Unlock);
        e.vulkan_check(part, result);
        e.vulkan(part, Vk::WaitForFences, vec![device.into(), 1.into(), fences.into(), 1.into(), u64::MAX.into()]);
    })
}

/// Record of a crossing that the caller of [`run`] passes: offsets of its fields.
pub mod passed {
    /// Address on the host, a word.
    pub const ADDRESS: i32 = 0;
    /// Number of bytes, a word; ignored for an extent.
    pub const COUNT: i32 = 8;
    /// Bytes of a record.
    pub const BYTES: u64 = 16;
}

/// Writes `int run(part, table, const void *row, const void *crossings)`. It runs a region. `crossings` has the records of inputs, then of outputs.
/// After a kernel's failure or `MODELC_E_GPU`, nothing on the host has changed.
pub fn run(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Run.signature(), |e, arguments| {
        let &[part, table, row, records] = arguments else { unreachable!("run has four parameters") };
        let staging = e.field(part, Field::Mapped);
        let place = RegionRow { table, row, staging };
        let leaving = crossings(runtime, e, place, [region_row::ENTER, region_row::ENTER_END], records, true);
        make_seen(e, part, Vk::FlushMappedMemoryRanges);
        let slot = e.load(Width::Word, row, region_row::COMMANDS);
        let slot = e.add(part, slot);
        let commands = e.load(Width::Word, slot, 0);
        let status = e.call(runtime.callee(Own::Submit), Own::Submit.signature(), vec![part.into(), commands.into()]);
        e.leave_with(status);
        make_seen(e, part, Vk::InvalidateMappedMemoryRanges);
        e.set_field(0, part, Field::Call);
        let status = e.load(Width::Single, staging, 0);
        e.leave_with(status);
        crossings(runtime, e, place, [region_row::LEAVE, region_row::LEAVE_END], leaving, false);
    })
}

/// A region's row of a table, with its staging memory.
#[derive(Clone, Copy)]
struct RegionRow {
    table: Value,
    row: Value,
    staging: Value,
}

/// Copies inputs to staging memory, or outputs from it. Returns the address after the last record.
fn crossings(
    runtime: &Runtime,
    e: &mut Builder,
    RegionRow { table, row, staging }: RegionRow,
    fields: [i32; 2],
    records: Value,
    enters: bool,
) -> Value {
    let [first, end] = fields.map(|field| {
        let offset = e.load(Width::Word, row, field);
        e.add(table, offset)
    });
    let [at, record] = [(); 2].map(|()| e.value(Width::Word));
    let head = e.region(|e| vec![e.compare(CompareOp::Less, at, end).into()]);
    let body = e.region(|e| {
        let host = e.load(Width::Word, record, passed::ADDRESS);
        let offset = e.load(Width::Word, at, crossing_row::STAGING);
        let inside = e.add(staging, offset);
        let is_tensor = e.load(Width::Word, at, crossing_row::HOST_BYTES);
        let (to, from) = if enters { (inside, host) } else { (host, inside) };
        let whole = e.region(|e| {
            let bytes = e.load(Width::Word, record, passed::COUNT);
            e.call_only(runtime.callee(Own::Copy), Own::Copy.signature(), vec![to.into(), from.into(), bytes.into()]);
            vec![]
        });
        // Extents are small: the low half of an i64 on the host is the i32 of the device, and the high half is 0.
        let extent = e.region(|e| {
            let value = e.load(Width::Single, from, 0);
            e.store(Width::Single, value, to, 0);
            if !enters {
                e.store(Width::Single, 0, to, 4);
            }
            vec![]
        });
        e.branch(is_tensor, &[], whole, extent);
        vec![e.add(at, crossing_row::BYTES).into(), e.add(record, passed::BYTES).into()]
    });
    e.repeat(&[(at, first.into()), (record, records.into())], head, body);
    record
}
