//! Closing a device: everything that exists is freed, wherever opening stopped. The failed call and the device's name stay readable.

use super::functions::Vk;
use super::run::call_lock;
use super::runtime::{Own, Runtime};
use super::tables::Head;
use super::write::function_place;
use crate::driver::language::{BinaryOp, Builder, Function, Value, Width, function};
use modelc_interface::device::Field;

/// Handles to free in this order, after pipelines and layouts. Vulkan ignores a handle of 0.
const HANDLES: [(Vk, Field); 10] = [
    (Vk::DestroyShaderModule, Field::Shader),
    (Vk::DestroyFence, Field::Fence),
    (Vk::DestroyCommandPool, Field::Commands),
    (Vk::DestroyDescriptorPool, Field::Sets),
    (Vk::DestroyBuffer, Field::Area),
    (Vk::DestroyBuffer, Field::Constants),
    (Vk::DestroyBuffer, Field::Staging),
    (Vk::FreeMemory, Field::AreaMemory),
    (Vk::FreeMemory, Field::ConstantsMemory),
    (Vk::FreeMemory, Field::StagingMemory),
];

/// Writes `void close(part, table)`.
pub fn close(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Close.signature(), |e, arguments| {
        let &[part, table] = arguments else { unreachable!("close has two parameters") };
        e.set_field(0, part, Field::Runs);
        let is_loaded = e.field(part, Field::IsLoaded);
        e.when(is_loaded, |e| free(e, part, table, runtime.measures));
        let owns = e.field(part, Field::Owns);
        e.when(owns, |e| {
            for (function, place) in [(Vk::DestroyDevice, Field::Device), (Vk::DestroyInstance, Field::Instance)] {
                let [handle, allocator] = [place, Field::Allocator].map(|field| e.field(part, field));
                let known = e.load(Width::Word, part, function_place(function));
                e.when(known, |e| {
                    e.when(handle, |e| e.vulkan_only(part, function, vec![handle.into(), allocator.into()]));
                });
            }
        });
        e.set_field(0, part, Field::IsLoaded);
        let bytes = e.head(table, Head::PartBytes);
        let bytes = e.binary(BinaryOp::Sub, bytes, Field::Instance.offset() as u64);
        let first = e.field_address(part, Field::Instance);
        e.each(bytes, 8, |e, offset| {
            let word = e.add(first, offset);
            e.store(Width::Word, 0, word, 0);
        });
    })
}

/// Frees all objects of the device, after the queue is idle.
fn free(e: &mut Builder, part: Value, table: Value, measures: bool) {
    let queue = e.field(part, Field::Queue);
    e.when(queue, |e| {
        call_lock(e, part, Field::Lock);
        // This call also fails if the device is lost, and then nothing runs.
        e.vulkan_call(part, Vk::QueueWaitIdle, vec![queue.into()]);
        call_lock(e, part, Field::Unlock);
    });
    let [device, allocator] = [Field::Device, Field::Allocator].map(|field| e.field(part, field));
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
    let timestamps = measures.then_some((Vk::DestroyQueryPool, Field::Queries));
    for (function, place) in HANDLES.into_iter().chain(timestamps) {
        destroy(e, function, part, place.offset());
    }
}
