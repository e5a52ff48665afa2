//! The commands of a region, recorded once.

use super::common::STORAGE_BUFFER;
use super::flags::{access, stage};
use super::functions::Vk;
use super::layout::{
    COMMAND_BUFFER_BEGIN_INFO, DESCRIPTOR_BUFFER_INFO, DESCRIPTOR_SET_ALLOCATE_INFO, MEMORY_BARRIER, WRITE_DESCRIPTOR_SET,
};
use super::measure::Measure;
use super::modules::MOST_BINDINGS;
use super::pipelines::commands;
use super::runtime::{Own, Runtime};
use super::tables::{Head, region_row, step};
use crate::driver::language::{Builder, CompareOp, Function, Operand, Value, Width, function};
use modelc_interface::device::Field;

/// `VK_PIPELINE_BIND_POINT_COMPUTE`
const COMPUTE_POINT: u64 = 1;

/// Begins a command buffer.
pub fn begin(e: &mut Builder, part: Value, commands: Value) {
    let information = e.structure(&COMMAND_BUFFER_BEGIN_INFO, &[]);
    e.vulkan(part, Vk::BeginCommandBuffer, vec![commands.into(), information.into()]);
}

/// One side of a barrier.
pub struct Side<T = u64> {
    stages: T,
    accesses: T,
}

impl<T> Side<T> {
    /// Makes a side of stages and their accesses.
    pub fn new(stages: T, accesses: T) -> Self {
        Self { stages, accesses }
    }
}

/// The values with which the commands of a region are recorded.
#[derive(Clone, Copy)]
struct Recording {
    part: Value,
    table: Value,
    commands: Value,
}

/// Records a barrier: accesses after it see the writes before it.
pub fn barrier(e: &mut Builder, part: Value, commands: Value, before: Side, after: Side<impl Into<Operand>>) {
    let memory = e.structure(&MEMORY_BARRIER, &[("srcAccessMask", before.accesses.into()), ("dstAccessMask", after.accesses.into())]);
    let mut arguments = vec![commands.into(), before.stages.into(), after.stages.into(), 0.into(), 1.into(), memory.into()];
    arguments.extend([0; 4].map(Operand::Number));
    e.vulkan_only(part, Vk::CmdPipelineBarrier, arguments);
}

/// Writes `int record(part, table, const void *row)`. It records the commands of a region's row.
pub fn record(runtime: &Runtime) -> Function {
    use access::{HOST_READ, SHADER_READ, SHADER_WRITE, TRANSFER_READ, TRANSFER_WRITE};
    use stage::{COMPUTE, HOST, TRANSFER};
    function(runtime.layout, Own::Record.signature(), |e, arguments| {
        let &[part, table, row] = arguments else { unreachable!("record has three parameters") };
        let slot = e.load(Width::Word, row, region_row::COMMANDS);
        let slot = e.add(part, slot);
        commands(e, part, (slot, 0));
        let commands = e.load(Width::Word, slot, 0);
        let recording = Recording { part, table, commands };
        begin(e, part, commands);
        let measure = runtime.measures.then(|| Measure::begin(e, part, commands, row));
        let [area, staging] = [Field::Area, Field::Staging].map(|field| e.field(part, field));
        // Status 0: no failure yet.
        e.vulkan_only(part, Vk::CmdFillBuffer, vec![commands.into(), area.into(), 0.into(), 4.into(), 0.into()]);
        let entering = e.load(Width::Single, row, region_row::COPIES_IN_COUNT);
        e.when(entering, |e| copy(e, recording, &Copies { from: staging, to: area, count: entering, row, field: region_row::COPIES_IN }));
        let written = || Side::new(TRANSFER | COMPUTE, TRANSFER_WRITE | SHADER_WRITE);
        barrier(e, part, commands, written(), Side::new(COMPUTE, SHADER_READ | SHADER_WRITE));
        steps(e, recording, row, measure.as_ref());
        barrier(e, part, commands, written(), Side::new(TRANSFER, TRANSFER_READ | TRANSFER_WRITE));
        let leaving = e.load(Width::Single, row, region_row::COPIES_OUT_COUNT);
        copy(e, recording, &Copies { from: area, to: staging, count: leaving, row, field: region_row::COPIES_OUT });
        if let Some(measure) = measure {
            measure.end(e, staging, row);
        }
        barrier(e, part, commands, Side::new(TRANSFER, TRANSFER_WRITE), Side::new(HOST, HOST_READ));
        e.vulkan(part, Vk::EndCommandBuffer, vec![commands.into()]);
    })
}

/// Copies between buffers.
struct Copies {
    from: Value,
    to: Value,
    count: Value,
    row: Value,
    /// The field of the row that has the offset of the ranges in the table.
    field: i32,
}

/// Records copies between buffers.
fn copy(e: &mut Builder, Recording { part, table, commands }: Recording, copies: &Copies) {
    let &Copies { from, to, count, row, field } = copies;
    let ranges = e.load(Width::Word, row, field);
    let ranges = e.add(table, ranges);
    e.vulkan_only(part, Vk::CmdCopyBuffer, [commands, from, to, count, ranges].map(Operand::Value).to_vec());
}

/// Records dispatches and barriers. If they are measured, each dispatch waits for the previous one.
fn steps(e: &mut Builder, recording: Recording, row: Value, measure: Option<&Measure>) {
    let Recording { part, table, commands } = recording;
    if let Some(measure) = measure {
        measure.stamp(e);
    }
    let [first, end] = [region_row::STEPS, region_row::STEPS_END].map(|field| {
        let offset = e.load(Width::Word, row, field);
        e.add(table, offset)
    });
    let at = e.value(Width::Word);
    let head = e.region(|e| vec![e.compare(CompareOp::Less, at, end).into()]);
    let body = e.region(|e| {
        let pipeline = e.load(Width::Word, at, step::PIPELINE);
        let count = e.load(Width::Single, at, step::BINDINGS);
        let is_barrier = e.compare(CompareOp::Equal, pipeline, step::BARRIER);
        let waits = e.region(|e| {
            let [stages, accesses] = [0, 4].map(|offset| e.load(Width::Single, at, step::WAITING + offset));
            barrier(e, part, commands, Side::new(stage::COMPUTE, access::SHADER_WRITE), Side::new(stages, accesses));
            vec![]
        });
        let runs = e.region(|e| {
            dispatch(e, recording, at, pipeline, count);
            if let Some(measure) = measure {
                let (before, after) = (access::SHADER_WRITE, access::SHADER_READ | access::SHADER_WRITE);
                barrier(e, part, commands, Side::new(stage::COMPUTE, before), Side::new(stage::COMPUTE, after));
                measure.stamp(e);
            }
            vec![]
        });
        e.branch(is_barrier, &[], waits, runs);
        let count = e.extend(Width::Word, count);
        let bytes = e.mul(count, DESCRIPTOR_BUFFER_INFO.bytes());
        let next = e.add(at, bytes);
        vec![e.add(next, step::BYTES).into()]
    });
    e.repeat(&[(at, first.into())], head, body);
}

/// Records a dispatch with its own descriptor set.
fn dispatch(e: &mut Builder, recording: Recording, at: Value, pipeline: Value, count: Value) {
    let Recording { part, table, commands } = recording;
    let layout = e.load(Width::Word, at, step::LAYOUT);
    let [set_layout, pipeline_layout, pipeline] =
        [(Head::SetLayoutArray, layout), (Head::PipelineLayoutArray, layout), (Head::PipelineArray, pipeline)].map(|(field, offset)| {
            let array = e.head(table, field);
            let place = e.add(array, offset);
            e.add(part, place)
        });
    let [device, pool] = [Field::Device, Field::Sets].map(|field| e.field(part, field));
    let members = [("descriptorPool", pool.into()), ("descriptorSetCount", 1.into()), ("pSetLayouts", set_layout.into())];
    let information = e.structure(&DESCRIPTOR_SET_ALLOCATE_INFO, &members);
    let set = e.memory(8);
    e.vulkan_make(part, Vk::AllocateDescriptorSets, vec![device.into(), information.into()], (set, 0));
    let bound = bindings(e, part, at, count);
    let handle = e.load(Width::Word, set, 0);
    let members = [
        ("dstSet", handle.into()),
        ("descriptorCount", count.into()),
        ("descriptorType", u64::from(STORAGE_BUFFER).into()),
        ("pBufferInfo", bound.into()),
    ];
    let write = e.structure(&WRITE_DESCRIPTOR_SET, &members);
    // One write continues from binding to binding. A kernel without operands needs none.
    e.when(count, |e| e.vulkan_only(part, Vk::UpdateDescriptorSets, vec![device.into(), 1.into(), write.into(), 0.into(), 0.into()]));
    let [pipeline, pipeline_layout] = [pipeline, pipeline_layout].map(|place| e.load(Width::Word, place, 0));
    e.vulkan_only(part, Vk::CmdBindPipeline, vec![commands.into(), COMPUTE_POINT.into(), pipeline.into()]);
    let arguments = vec![commands.into(), COMPUTE_POINT.into(), pipeline_layout.into(), 0.into(), 1.into(), set.into(), 0.into(), 0.into()];
    e.vulkan_only(part, Vk::CmdBindDescriptorSets, arguments);
    workgroups(e, recording, at);
}

/// Dispatches the bound kernel. The step holds the number of workgroups, or its offset in the area if it is known only at run time.
fn workgroups(e: &mut Builder, Recording { part, commands, .. }: Recording, at: Value) {
    let last = e.load(Width::Single, at, step::GROUPS + 8);
    let known = e.region(|e| {
        let [x, y] = [0, 4].map(|offset| e.load(Width::Single, at, step::GROUPS + offset));
        e.vulkan_only(part, Vk::CmdDispatch, [commands, x, y, last].map(Operand::Value).to_vec());
        vec![]
    });
    let counted = e.region(|e| {
        let area = e.field(part, Field::Area);
        let place = e.load(Width::Word, at, step::GROUPS);
        e.vulkan_only(part, Vk::CmdDispatchIndirect, [commands, area, place].map(Operand::Value).to_vec());
        vec![]
    });
    e.branch(last, &[], known, counted);
}

/// Copies the bindings of a step to the stack, and fills in the handles of buffers. Returns their address.
fn bindings(e: &mut Builder, part: Value, at: Value, count: Value) -> Value {
    let bytes = DESCRIPTOR_BUFFER_INFO.bytes();
    let bound = e.memory((bytes * MOST_BINDINGS as u64) as u32);
    let count = e.extend(Width::Word, count);
    let end = e.mul(count, bytes);
    let first = e.at(at, step::BYTES);
    e.each(end, bytes, |e, offset| {
        let [from, to] = [first, bound].map(|base| e.add(base, offset));
        let place = e.load(Width::Word, from, DESCRIPTOR_BUFFER_INFO.offset("buffer"));
        let place = e.add(part, place);
        let handle = e.load(Width::Word, place, 0);
        e.store(Width::Word, handle, to, DESCRIPTOR_BUFFER_INFO.offset("buffer"));
        for field in ["offset", "range"].map(|name| DESCRIPTOR_BUFFER_INFO.offset(name)) {
            let value = e.load(Width::Word, from, field);
            e.store(Width::Word, value, to, field);
        }
    });
    bound
}
