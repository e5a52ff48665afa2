//! The choice of a device: it must have every limit and feature of the profile. A discrete GPU is preferred to an integrated one.

use super::functions::Vk;
use super::layout::{
    DEVICE_PROPERTIES, FEATURES_2, FLOAT_16_INT_8, INTEGER_DOT_PRODUCT, LIMITS, QUEUE_FAMILY_PROPERTIES, STORAGE_8, STORAGE_16,
};
use super::runtime::{Own, Runtime};
use super::tables::Head;
use super::write::{FEATURE_NOT_PRESENT, INCOMPLETE};
use crate::driver::language::{BinaryOp, Builder, CompareOp, Function, Operand, Value, Width, function};
use modelc_interface::device::Field;

/// Maximum number of devices that are considered.
pub const MOST_DEVICES: u64 = 16;
/// Maximum number of queue families that are considered.
pub const MOST_FAMILIES: u64 = 16;
/// `VK_QUEUE_COMPUTE_BIT`
const COMPUTE: u64 = 2;

/// `VK_PHYSICAL_DEVICE_TYPE_CPU`
const CPU: u64 = 4;
/// Score of a CPU, the lowest; devices of unknown type have one more.
const CPU_SCORE: u64 = 1;
/// Device types and their scores: discrete, integrated and virtual GPUs.
const SCORES: [(u64, u64); 3] = [(2, 5), (1, 4), (3, 3)];

/// A chain of feature structures with the features that the profile asks for.
pub struct Features {
    /// Address of the first structure, or 0 if the profile asks for no feature.
    pub first: Value,
    /// The three structures that elements of 8 and 16 bits need, each with the offset of its feature.
    narrow: [(Value, i32); 3],
    /// The structure of dot products, with the offset of its feature.
    dots: (Value, i32),
}

impl Features {
    /// Writes the chain of structures, with `value` for each feature that the profile asks for.
    pub fn new(e: &mut Builder, table: Value, value: u64) -> Self {
        let [has_narrow, has_dots] = [Head::Narrow, Head::Dots].map(|field| e.head(table, field));
        let value = Operand::Number(value);
        let dots = e.structure(&INTEGER_DOT_PRODUCT, &[("shaderIntegerDotProduct", value)]);
        let next = e.select(has_dots, dots, 0);
        let bytes = e.structure(&FLOAT_16_INT_8, &[("pNext", next.into()), ("shaderInt8", value)]);
        let eight = e.structure(&STORAGE_8, &[("pNext", bytes.into()), ("storageBuffer8BitAccess", value)]);
        let sixteen = e.structure(&STORAGE_16, &[("pNext", eight.into()), ("storageBuffer16BitAccess", value)]);
        let first = e.select(has_narrow, sixteen, 0);
        let narrow = [
            (bytes, FLOAT_16_INT_8.offset("shaderInt8")),
            (eight, STORAGE_8.offset("storageBuffer8BitAccess")),
            (sixteen, STORAGE_16.offset("storageBuffer16BitAccess")),
        ];
        Self { first, narrow, dots: (dots, INTEGER_DOT_PRODUCT.offset("shaderIntegerDotProduct")) }
    }

    /// Makes the written function return 0 if a feature that the profile asks for is absent.
    fn leave_unless_present(&self, e: &mut Builder, table: Value) {
        let [narrow, dots] = [Head::Narrow, Head::Dots].map(|field| e.head(table, field));
        let wanted = self.narrow.iter().map(|&feature| (narrow, feature)).chain([(dots, self.dots)]);
        for (asks, (structure, offset)) in wanted {
            e.when(asks, |e| {
                let present = e.load(Width::Single, structure, offset);
                leave_unless(e, present);
            });
        }
    }
}

/// Makes the written function return 0 unless `truth` holds.
fn leave_unless(e: &mut Builder, truth: Value) {
    let is_false = e.compare(CompareOp::Equal, truth, 0);
    e.leave_if(is_false, 0);
}

/// Writes `int suits(part, table, VkPhysicalDevice, uint32_t *family)`. It returns a score of the device, 0 if it is unsuitable, and stores the index
/// of a compute queue family.
pub fn suits(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Suits.signature(), |e, arguments| {
        let &[part, table, physical, family] = arguments else { unreachable!("suits has four parameters") };
        let properties = e.room(&DEVICE_PROPERTIES);
        e.vulkan_only(part, Vk::GetPhysicalDeviceProperties, vec![physical.into(), properties.into()]);
        leave_unless_limits(e, table, properties);
        let features = Features::new(e, table, 0);
        let all = e.room(&FEATURES_2);
        e.store(Width::Word, features.first, all, FEATURES_2.offset("pNext"));
        e.vulkan_only(part, Vk::GetPhysicalDeviceFeatures2, vec![physical.into(), all.into()]);
        features.leave_unless_present(e, table);
        let number = compute_family(e, part, physical);
        let none = e.compare(CompareOp::Equal, number, MOST_FAMILIES);
        e.leave_if(none, 0);
        e.store(Width::Single, number, family, 0);
        let kind = e.load(Width::Single, properties, DEVICE_PROPERTIES.offset("deviceType"));
        let is_gpu = e.compare(CompareOp::NotEqual, kind, CPU);
        let is_gpu = e.extend(Width::Single, is_gpu);
        let mut score = e.add(is_gpu, CPU_SCORE);
        for (number, rank) in SCORES {
            let is = e.compare(CompareOp::Equal, kind, number);
            score = e.select(is, rank, score);
        }
        e.leave_always(score);
    })
}

/// Makes the written function return 0 unless a device has the version and the limits of the profile.
fn leave_unless_limits(e: &mut Builder, table: Value, properties: Value) {
    let limits = e.at(properties, DEVICE_PROPERTIES.offset("limits") as u64);
    let version = e.load(Width::Single, properties, DEVICE_PROPERTIES.offset("apiVersion"));
    let least = e.head_single(table, Head::DeviceVersion);
    let old = e.compare(CompareOp::Less, version, least);
    e.leave_if(old, 0);
    let wanted = [
        ("maxComputeWorkGroupInvocations", Head::Invocations),
        ("maxComputeWorkGroupSize", Head::Invocations),
        ("maxComputeSharedMemorySize", Head::SharedBytes),
        ("maxPerStageDescriptorStorageBuffers", Head::Bindings),
        ("maxStorageBufferRange", Head::RangeBytes),
    ];
    for (limit, field) in wanted {
        let has = e.load(Width::Single, limits, LIMITS.offset(limit));
        let needs = e.head_single(table, field);
        let short = e.compare(CompareOp::Less, has, needs);
        e.leave_if(short, 0);
    }
    let coarse = e.load(Width::Word, limits, LIMITS.offset("minStorageBufferOffsetAlignment"));
    let fine = e.head(table, Head::OffsetAlignment);
    let short = e.compare(CompareOp::Greater, coarse, fine);
    e.leave_if(short, 0);
}

/// Finds the index of the first queue family that computes, or [`MOST_FAMILIES`].
fn compute_family(e: &mut Builder, part: Value, physical: Value) -> Value {
    let bytes = QUEUE_FAMILY_PROPERTIES.bytes();
    let families = e.memory((bytes * MOST_FAMILIES) as u32);
    let count = e.memory(8);
    e.store(Width::Single, MOST_FAMILIES, count, 0);
    e.vulkan_only(part, Vk::GetPhysicalDeviceQueueFamilyProperties, vec![physical.into(), count.into(), families.into()]);
    let count = e.load(Width::Single, count, 0);
    let [number, found] = [(); 2].map(|()| e.value(Width::Single));
    let at = e.value(Width::Word);
    let head = e.region(|e| vec![e.compare(CompareOp::Less, number, count).into()]);
    let body = e.region(|e| {
        let flags = e.load(Width::Single, at, QUEUE_FAMILY_PROPERTIES.offset("queueFlags"));
        let computes = e.binary(BinaryOp::And, flags, COMPUTE);
        let own = e.select(computes, number, found);
        let earlier = e.compare(CompareOp::Less, found, own);
        let found = e.select(earlier, found, own);
        vec![e.add(number, 1).into(), found.into(), e.add(at, bytes).into()]
    });
    e.repeat(&[(number, 0.into()), (found, MOST_FAMILIES.into()), (at, families.into())], head, body);
    found
}

/// Enumerates the devices; returns the address of at most [`MOST_DEVICES`] handles, and their number.
pub fn enumerate(e: &mut Builder, part: Value) -> (Value, Value) {
    let instance = e.field(part, Field::Instance);
    let (devices, count) = (e.memory(8 * MOST_DEVICES as u32), e.memory(8));
    e.store(Width::Single, MOST_DEVICES, count, 0);
    e.vulkan_next(part, Vk::EnumeratePhysicalDevices);
    let arguments = vec![instance.into(), count.into(), devices.into()];
    let result = e.vulkan_call(part, Vk::EnumeratePhysicalDevices, arguments);
    // More devices may exist than there is room for.
    let some = e.compare(CompareOp::Equal, result, INCOMPLETE);
    let result = e.select(some, 0, result);
    e.vulkan_check(part, result);
    (devices, e.load(Width::Single, count, 0))
}

/// Chooses the device and its queue family, and stores both in the state.
pub fn choose(runtime: &Runtime, e: &mut Builder, part: Value, table: Value) {
    let (devices, count) = enumerate(e, part);
    let family = e.memory(8);
    // A CPU is only accepted if the table asks for that.
    let takes_cpus = e.head_single(table, Head::TakesCpus);
    let least = e.binary(BinaryOp::Xor, takes_cpus, CPU_SCORE);
    let [number, score, best_family] = [(); 3].map(|()| e.value(Width::Single));
    let [at, best] = [(); 2].map(|()| e.value(Width::Word));
    let head = e.region(|e| vec![e.compare(CompareOp::Less, number, count).into()]);
    let body = e.region(|e| {
        let physical = e.load(Width::Word, at, 0);
        e.store(Width::Single, 0, family, 0);
        let arguments = vec![part.into(), table.into(), physical.into(), family.into()];
        let own = e.call(runtime.callee(Own::Suits), Own::Suits.signature(), arguments);
        let own_family = e.load(Width::Single, family, 0);
        let better = e.compare(CompareOp::Greater, own, score);
        let score = e.select(better, own, score);
        let best_family = e.select(better, own_family, best_family);
        let best = e.select(better, physical, best);
        vec![e.add(number, 1).into(), score.into(), best_family.into(), e.add(at, 8).into(), best.into()]
    });
    let zero = Operand::Number(0);
    e.repeat(&[(number, zero), (score, least.into()), (best_family, zero), (at, devices.into()), (best, zero)], head, body);
    e.vulkan_fail_unless(part, best, Vk::EnumeratePhysicalDevices, FEATURE_NOT_PRESENT);
    e.set_field(best, part, Field::Physical);
    e.set_field(best_family, part, Field::Family);
}
