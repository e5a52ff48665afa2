//! Pools, layouts and pipelines.

use super::common::{self, COMPUTE_STAGE, STORAGE_BUFFER};
use super::functions::Vk;
use super::layout::{
    COMMAND_BUFFER_ALLOCATE_INFO, COMMAND_POOL_CREATE_INFO, COMPUTE_PIPELINE_CREATE_INFO, DESCRIPTOR_POOL_CREATE_INFO,
    DESCRIPTOR_POOL_SIZE, DESCRIPTOR_SET_LAYOUT_CREATE_INFO, FENCE_CREATE_INFO, PIPELINE_LAYOUT_CREATE_INFO, SHADER_MODULE_CREATE_INFO,
    SHADER_STAGE_KIND,
};
use super::runtime::{Own, Runtime};
use super::tables::{Head, kernel_row, layout_row};
use crate::driver::language::{BinaryOp, Builder, Function, Value, Width, function};
use modelc_interface::device::Field;

/// `VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT`
const RESETTABLE: u64 = 2;

/// Writes `int pipelines(part, table)`. It makes everything that commands need.
pub fn pipelines(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Pipelines.signature(), |e, arguments| {
        let &[part, table] = arguments else { unreachable!("pipelines has two parameters") };
        pools(e, part, table);
        let bindings = e.data(runtime.data, common::BINDINGS);
        let [sets, layouts, pipelines] = [Head::SetLayoutArray, Head::PipelineLayoutArray, Head::PipelineArray].map(|field| {
            let offset = e.head(table, field);
            e.add(part, offset)
        });
        // Each handle has the position in its array that the row has among the rows.
        let first = e.head(table, Head::Layouts);
        let first = e.add(table, first);
        e.rows(table, [Head::Layouts, Head::LayoutsEnd], layout_row::BYTES, |e, row| {
            let offset = e.binary(BinaryOp::Sub, row, first);
            let [set, layout] = [sets, layouts].map(|array| e.add(array, offset));
            let count = e.load(Width::Single, row, 0);
            let information =
                e.structure(&DESCRIPTOR_SET_LAYOUT_CREATE_INFO, &[("bindingCount", count.into()), ("pBindings", bindings.into())]);
            e.vulkan_make_on_device(part, Vk::CreateDescriptorSetLayout, information, (set, 0));
            let information = e.structure(&PIPELINE_LAYOUT_CREATE_INFO, &[("setLayoutCount", 1.into()), ("pSetLayouts", set.into())]);
            e.vulkan_make_on_device(part, Vk::CreatePipelineLayout, information, (layout, 0));
        });
        let name = e.data(runtime.data, common::ENTRY);
        let first = e.head(table, Head::Kernels);
        let first = e.add(table, first);
        e.rows(table, [Head::Kernels, Head::KernelsEnd], kernel_row::BYTES, |e, row| {
            let offset = e.binary(BinaryOp::Sub, row, first);
            let number = e.binary(BinaryOp::Div, offset, kernel_row::BYTES / 8);
            let place = e.add(pipelines, number);
            pipeline(e, KernelRow { part, table, row }, layouts, name, place);
        });
    })
}

/// Makes the pools of descriptor sets and command buffers, the fence, and the command buffer that copies constants.
fn pools(e: &mut Builder, part: Value, table: Value) {
    let [sets, descriptors] = [Head::Sets, Head::Descriptors].map(|field| {
        let count = e.head_single(table, field);
        e.larger(count, 1)
    });
    let size = e.structure(&DESCRIPTOR_POOL_SIZE, &[("type", u64::from(STORAGE_BUFFER).into()), ("descriptorCount", descriptors.into())]);
    let members = [("maxSets", sets.into()), ("poolSizeCount", 1.into()), ("pPoolSizes", size.into())];
    let information = e.structure(&DESCRIPTOR_POOL_CREATE_INFO, &members);
    e.vulkan_make_on_device(part, Vk::CreateDescriptorPool, information, (part, Field::Sets.offset()));
    let family = e.field(part, Field::Family);
    let information = e.structure(&COMMAND_POOL_CREATE_INFO, &[("flags", RESETTABLE.into()), ("queueFamilyIndex", family.into())]);
    e.vulkan_make_on_device(part, Vk::CreateCommandPool, information, (part, Field::Commands.offset()));
    let information = e.structure(&FENCE_CREATE_INFO, &[]);
    e.vulkan_make_on_device(part, Vk::CreateFence, information, (part, Field::Fence.offset()));
    commands(e, part, (part, Field::Upload.offset()));
}

/// Allocates a command buffer, which the pool frees.
pub fn commands(e: &mut Builder, part: Value, to: (Value, i32)) {
    let [device, pool] = [Field::Device, Field::Commands].map(|field| e.field(part, field));
    let information = e.structure(&COMMAND_BUFFER_ALLOCATE_INFO, &[("commandPool", pool.into()), ("commandBufferCount", 1.into())]);
    e.vulkan_make(part, Vk::AllocateCommandBuffers, vec![device.into(), information.into()], to);
}

/// A kernel's row of a table.
struct KernelRow {
    part: Value,
    table: Value,
    row: Value,
}

/// Makes the pipeline of a kernel's row.
fn pipeline(e: &mut Builder, KernelRow { part, table, row }: KernelRow, layouts: Value, name: Value, to: Value) {
    let [layout, code, bytes] = [kernel_row::LAYOUT, kernel_row::CODE, kernel_row::CODE_BYTES].map(|field| e.load(Width::Word, row, field));
    let code = e.add(table, code);
    let information = e.structure(&SHADER_MODULE_CREATE_INFO, &[("codeSize", bytes.into()), ("pCode", code.into())]);
    e.vulkan_make_on_device(part, Vk::CreateShaderModule, information, (part, Field::Shader.offset()));
    let shader = e.field(part, Field::Shader);
    let layout = e.add(layouts, layout);
    let layout = e.load(Width::Word, layout, 0);
    let members = [
        ("stage.sType", SHADER_STAGE_KIND.into()),
        ("stage.stage", u64::from(COMPUTE_STAGE).into()),
        ("stage.module", shader.into()),
        ("stage.pName", name.into()),
        ("layout", layout.into()),
    ];
    let information = e.structure(&COMPUTE_PIPELINE_CREATE_INFO, &members);
    let [device, allocator] = [Field::Device, Field::Allocator].map(|field| e.field(part, field));
    let arguments = vec![device.into(), 0.into(), 1.into(), information.into(), allocator.into()];
    e.vulkan_make(part, Vk::CreateComputePipelines, arguments, (to, 0));
    e.vulkan_only(part, Vk::DestroyShaderModule, vec![device.into(), shader.into(), allocator.into()]);
    e.set_field(0, part, Field::Shader);
}
