//! Memory: copies on the host, buffers on the device, and the upload of constants.

use super::flags::{access, stage};
use super::functions::Vk;
use super::layout::{
    BUFFER_COPY, BUFFER_CREATE_INFO, MAPPED_MEMORY_RANGE, MEMORY_ALLOCATE_INFO, MEMORY_PROPERTIES, MEMORY_REQUIREMENTS, MEMORY_TYPE,
};
use super::record::{self, Side};
use super::runtime::{Own, Runtime};
use super::tables::{Head, constant_row};
use super::write::FEATURE_NOT_PRESENT;
use crate::driver::language::{BinaryOp, Builder, CompareOp, Function, Operand, Value, Width, function};
use modelc_interface::device::{Field, MEMORY};

/// `VkMemoryPropertyFlagBits`
pub mod memory_property {
    /// Memory of the device itself.
    pub const DEVICE_LOCAL: u64 = 1;
    /// Memory that the host can map.
    pub const HOST_VISIBLE: u64 = 2;
    /// Memory in which each side sees the other's writes without a flush.
    pub const HOST_COHERENT: u64 = 4;
    /// Memory that the host reads fast.
    pub const HOST_CACHED: u64 = 8;
}

/// Writes `void copy(void *to, const void *from, size_t bytes)`. It copies words if both addresses are aligned to words, then 32-bit units, then
/// bytes.
pub fn copy(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Copy.signature(), |e, arguments| {
        let &[to, from, bytes] = arguments else { unreachable!("copy has three parameters") };
        let both = e.binary(BinaryOp::Or, to, from);
        let mut start = e.binary(BinaryOp::And, bytes, 0);
        for (width, size) in [(Width::Word, 8u64), (Width::Single, 4), (Width::Byte, 1)] {
            let low = e.binary(BinaryOp::And, both, size - 1);
            let whole = e.binary(BinaryOp::And, bytes, size.wrapping_neg());
            let end = e.select(low, start, whole);
            e.records(start, end, size, |e, offset| {
                let [to, from] = [to, from].map(|base| e.add(base, offset));
                let value = e.load(width, from, 0);
                e.store(width, value, to, 0);
            });
            start = end;
        }
    })
}

/// Writes `int buffer(part, void *slots, size_t bytes, usage, wished, next, least)`. It makes a buffer and its memory, and stores both handles in
/// `slots`, one after the other. The memory has the properties `wished` if possible, else `next`, else `least`.
pub fn buffer(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Buffer.signature(), |e, arguments| {
        let &[part, slots, bytes, usage, wished, next, least] = arguments else { unreachable!("buffer has seven parameters") };
        let information = e.structure(&BUFFER_CREATE_INFO, &[("size", bytes.into()), ("usage", usage.into())]);
        e.vulkan_make_on_device(part, Vk::CreateBuffer, information, (slots, 0));
        let [device, physical] = [Field::Device, Field::Physical].map(|field| e.field(part, field));
        let buffer = e.load(Width::Word, slots, 0);
        let requirements = e.room(&MEMORY_REQUIREMENTS);
        e.vulkan_only(part, Vk::GetBufferMemoryRequirements, vec![device.into(), buffer.into(), requirements.into()]);
        let properties = e.room(&MEMORY_PROPERTIES);
        e.vulkan_only(part, Vk::GetPhysicalDeviceMemoryProperties, vec![physical.into(), properties.into()]);
        let allowed = e.load(Width::Single, requirements, MEMORY_REQUIREMENTS.offset("memoryTypeBits"));
        let (kind, flags) = best_type(e, properties, allowed, [wished, next, least]);
        let none = e.compare(CompareOp::Equal, kind, NO_TYPE);
        e.vulkan_fail_if(part, none, Vk::AllocateMemory, FEATURE_NOT_PRESENT);
        e.set_field(flags, part, Field::StagingFlags);
        let size = e.load(Width::Word, requirements, MEMORY_REQUIREMENTS.offset("size"));
        let information = e.structure(&MEMORY_ALLOCATE_INFO, &[("allocationSize", size.into()), ("memoryTypeIndex", kind.into())]);
        e.vulkan_make_on_device(part, Vk::AllocateMemory, information, (slots, MEMORY));
        let memory = e.load(Width::Word, slots, MEMORY);
        e.vulkan(part, Vk::BindBufferMemory, vec![device.into(), buffer.into(), memory.into(), 0.into()]);
    })
}

/// The number of a memory type if none suits.
const NO_TYPE: u64 = u32::MAX as u64;

/// Finds the first allowed memory type with the earliest satisfiable set of three sets of properties. Returns its number and its properties.
fn best_type(e: &mut Builder, properties: Value, allowed: Value, sets: [Value; 3]) -> (Value, Value) {
    let count = e.load(Width::Single, properties, MEMORY_PROPERTIES.offset("memoryTypeCount"));
    let first = e.at(properties, MEMORY_PROPERTIES.offset("memoryTypes") as u64);
    let [number, bit, best, score, found] = [(); 5].map(|()| e.value(Width::Single));
    let at = e.value(Width::Word);
    let head = e.region(|e| vec![e.compare(CompareOp::Less, number, count).into()]);
    let body = e.region(|e| {
        let flags = e.load(Width::Single, at, MEMORY_TYPE.offset("propertyFlags"));
        let mut own = e.binary(BinaryOp::And, flags, 0);
        for (rank, wanted) in (1u64..).zip(sets.into_iter().rev()) {
            let present = e.binary(BinaryOp::And, flags, wanted);
            let has = e.compare(CompareOp::Equal, present, wanted);
            own = e.select(has, rank, own);
        }
        let may = e.binary(BinaryOp::And, allowed, bit);
        let own = e.select(may, own, 0);
        let better = e.compare(CompareOp::Greater, own, score);
        let best = e.select(better, number, best);
        let score = e.select(better, own, score);
        let found = e.select(better, flags, found);
        let [number, bit] = [e.add(number, 1), e.add(bit, bit)];
        vec![number.into(), bit.into(), best.into(), score.into(), found.into(), e.add(at, MEMORY_TYPE.bytes()).into()]
    });
    let zero = Operand::Number(0);
    let carried = [(number, zero), (bit, 1.into()), (best, NO_TYPE.into()), (score, zero), (found, zero), (at, first.into())];
    e.repeat(&carried, head, body);
    (best, found)
}

/// Makes writes of one side to staging memory visible to the other, unless the memory is coherent.
pub fn make_seen(e: &mut Builder, part: Value, function: Vk) {
    let flags = e.field(part, Field::StagingFlags);
    let coherent = e.binary(BinaryOp::And, flags, memory_property::HOST_COHERENT);
    let is_apart = e.compare(CompareOp::Equal, coherent, 0);
    e.when(is_apart, |e| {
        let [device, memory] = [Field::Device, Field::StagingMemory].map(|field| e.field(part, field));
        let range = e.structure(&MAPPED_MEMORY_RANGE, &[("memory", memory.into()), ("size", u64::MAX.into())]);
        e.vulkan(part, function, vec![device.into(), 1.into(), range.into()]);
    });
}

/// Writes `int upload(part, table, const void *weights)`. It copies the constants to the device, one window of staging memory at a time.
pub fn upload(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Upload.signature(), |e, arguments| {
        let &[part, table, weights] = arguments else { unreachable!("upload has three parameters") };
        let [bytes, most] = [Head::ConstantBytes, Head::WindowBytes].map(|field| e.head(table, field));
        let commands = e.field(part, Field::Upload);
        let start = e.value(Width::Word);
        let head = e.region(|e| vec![e.compare(CompareOp::Less, start, bytes).into()]);
        let body = e.region(|e| {
            let rest = e.binary(BinaryOp::Sub, bytes, start);
            let length = e.smaller(rest, most);
            let end = e.add(start, length);
            window(runtime, e, Upload { part, table, weights }, start, end);
            make_seen(e, part, Vk::FlushMappedMemoryRanges);
            record::begin(e, part, commands);
            let [staging, constants] = [Field::Staging, Field::Constants].map(|field| e.field(part, field));
            let region = e.structure(&BUFFER_COPY, &[("dstOffset", start.into()), ("size", length.into())]);
            let arguments = vec![commands.into(), staging.into(), constants.into(), 1.into(), region.into()];
            e.vulkan_only(part, Vk::CmdCopyBuffer, arguments);
            let (before, after) = (Side::new(stage::TRANSFER, access::TRANSFER_WRITE), Side::new(stage::COMPUTE, access::SHADER_READ));
            record::barrier(e, part, commands, before, after);
            e.vulkan(part, Vk::EndCommandBuffer, vec![commands.into()]);
            let status = e.call(runtime.callee(Own::Submit), Own::Submit.signature(), vec![part.into(), commands.into()]);
            e.leave_with(status);
            vec![end.into()]
        });
        e.repeat(&[(start, 0.into())], head, body);
    })
}

/// The parameters of the upload of constants.
struct Upload {
    part: Value,
    table: Value,
    weights: Value,
}

/// Copies the overlap of each constant with a window to staging memory.
fn window(runtime: &Runtime, e: &mut Builder, Upload { part, table, weights }: Upload, start: Value, end: Value) {
    let staging = e.field(part, Field::Mapped);
    e.rows(table, [Head::Constants, Head::ConstantsEnd], constant_row::BYTES, |e, row| {
        let [to, to_end, from] = [constant_row::TO, constant_row::END, constant_row::FROM].map(|field| e.load(Width::Word, row, field));
        let [first, last] = [e.larger(to, start), e.smaller(to_end, end)];
        let meets = e.compare(CompareOp::Less, first, last);
        e.when(meets, |e| {
            let [skipped, place, bytes] = [(first, to), (first, start), (last, first)].map(|(a, b)| e.binary(BinaryOp::Sub, a, b));
            let source = e.add(weights, from);
            let source = e.add(source, skipped);
            let place = e.add(staging, place);
            e.call_only(runtime.callee(Own::Copy), Own::Copy.signature(), vec![place.into(), source.into(), bytes.into()]);
        });
    });
}
