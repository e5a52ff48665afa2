//! Closing a device: everything that exists is freed, wherever opening stopped. The failed call and the device's name stay readable.

use super::functions::Vk;
use super::run::call_lock;
use super::runtime::{Own, Runtime};
use super::tables::Head;
use crate::driver::language::{BinaryOp, Builder, Function, Value, Width, function};
use modelc_interface::device as part;

/// Handles to free in this order, after pipelines and layouts. Vulkan ignores a handle of 0.
const HANDLES: [(Vk, i32); 10] = [
    (Vk::DestroyShaderModule, part::SHADER),
    (Vk::DestroyFence, part::FENCE),
    (Vk::DestroyCommandPool, part::COMMANDS),
    (Vk::DestroyDescriptorPool, part::SETS),
    (Vk::DestroyBuffer, part::AREA),
    (Vk::DestroyBuffer, part::CONSTANTS),
    (Vk::DestroyBuffer, part::STAGING),
    (Vk::FreeMemory, part::AREA + part::MEMORY),
    (Vk::FreeMemory, part::CONSTANTS + part::MEMORY),
    (Vk::FreeMemory, part::STAGING + part::MEMORY),
];

/// Writes `void close(part, table)`.
pub fn close(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Close.signature(), |e, arguments| {
        let &[part, table] = arguments else { unreachable!("close has two parameters") };
        e.store(Width::Single, 0, part, part::RUNS);
        let is_loaded = e.load(Width::Single, part, part::IS_LOADED);
        e.when(is_loaded, |e| free(e, part, table, runtime.measures));
        let owns = e.load(Width::Single, part, part::OWNS);
        e.when(owns, |e| {
            for (function, place) in [(Vk::DestroyDevice, part::DEVICE), (Vk::DestroyInstance, part::INSTANCE)] {
                let [handle, allocator] = [place, part::ALLOCATOR].map(|offset| e.load(Width::Word, part, offset));
                let known = e.load(Width::Word, part, part::FUNCTION_ADDRESSES + 8 * function as i32);
                e.when(known, |e| {
                    e.when(handle, |e| e.vulkan_only(part, function, vec![handle.into(), allocator.into()]));
                });
            }
        });
        e.store(Width::Single, 0, part, part::IS_LOADED);
        let bytes = e.head(table, Head::PartBytes);
        let bytes = e.binary(BinaryOp::Sub, bytes, part::INSTANCE as u64);
        let first = e.at(part, part::INSTANCE as u64);
        e.each(bytes, 8, |e, offset| {
            let word = e.add(first, offset);
            e.store(Width::Word, 0, word, 0);
        });
    })
}

/// Frees all objects of the device, after the queue is idle.
fn free(e: &mut Builder, part: Value, table: Value, measures: bool) {
    let queue = e.load(Width::Word, part, part::QUEUE);
    e.when(queue, |e| {
        call_lock(e, part, part::LOCK);
        // This call also fails if the device is lost, and then nothing runs.
        e.vulkan_call(part, Vk::QueueWaitIdle, vec![queue.into()]);
        call_lock(e, part, part::UNLOCK);
    });
    let [device, allocator] = [part::DEVICE, part::ALLOCATOR].map(|offset| e.load(Width::Word, part, offset));
    let destroy = |e: &mut Builder, function: Vk, base: Value, offset: i32| {
        let handle = e.load(Width::Word, base, offset);
        e.vulkan_only(part, function, vec![device.into(), handle.into(), allocator.into()]);
    };
    let arrays = [
        (Vk::DestroyPipeline, Head::PipelineArray, Head::CommandArray),
        (Vk::DestroyPipelineLayout, Head::PipelineLayoutArray, Head::PipelineArray),
        (Vk::DestroyDescriptorSetLayout, Head::SetLayoutArray, Head::PipelineLayoutArray),
    ];
    for (function, first, end) in arrays {
        let [first, end] = [first, end].map(|field| {
            let offset = e.head(table, field);
            e.add(part, offset)
        });
        e.records(first, end, 8, |e, place| destroy(e, function, place, 0));
    }
    let timestamps = measures.then_some((Vk::DestroyQueryPool, part::QUERIES));
    for (function, place) in HANDLES.into_iter().chain(timestamps) {
        destroy(e, function, part, place);
    }
}
