//! The device record in the state: properties, every handle, the address of every function. All fields are 0 before a device is opened. So the
//! handles that exist are known if opening fails.
//!
//! Four arrays follow the fixed fields; the model's table has their lengths. They hold layouts of descriptor sets, layouts of pipelines,
//! pipelines, and command buffers.

use modelc_program::{Device, DeviceKernel, DeviceRegion};

/// 1 while the device runs its part, 32 bits.
pub const RUNS: i32 = 0;
/// Number of the call that failed, plus one, 32 bits.
pub const CALL: i32 = 4;
/// The result of that call, a `VkResult`.
pub const RESULT: i32 = 8;
/// 1 when instance and device are the runtime's own, 32 bits.
pub const OWNS: i32 = 12;
/// The family of the queue, 32 bits.
pub const FAMILY: i32 = 16;
/// Properties of the staging memory, 32 bits.
pub const STAGING_FLAGS: i32 = 20;
/// 1 when the device's functions are known, 32 bits.
pub const IS_LOADED: i32 = 24;
/// The first fields of `VkPhysicalDeviceProperties`: five 32-bit numbers, and a name of 256 bytes.
pub const PROPERTIES: i32 = 28;
/// Bytes of these properties.
pub const PROPERTIES_BYTES: u64 = 5 * 4 + 256;
/// `VkInstance`
pub const INSTANCE: i32 = 304;
/// `VkPhysicalDevice`
pub const PHYSICAL: i32 = 312;
/// `VkDevice`
pub const DEVICE: i32 = 320;
/// `VkQueue`
pub const QUEUE: i32 = 328;
/// `const VkAllocationCallbacks *` of the application.
pub const ALLOCATOR: i32 = 336;
/// The application's function that locks its queue.
pub const LOCK: i32 = 344;
/// The application's function that unlocks its queue.
pub const UNLOCK: i32 = 352;
/// The argument of both functions.
pub const USER: i32 = 360;
/// The buffer of the area; its memory follows.
pub const AREA: i32 = 368;
/// The buffer of constants; its memory follows.
pub const CONSTANTS: i32 = 384;
/// The staging buffer; its memory follows.
pub const STAGING: i32 = 400;
/// Host address of the staging memory.
pub const MAPPED: i32 = 416;
/// The pool of descriptor sets.
pub const SETS: i32 = 424;
/// The pool of command buffers.
pub const COMMANDS: i32 = 432;
/// The fence that every submission signals.
pub const FENCE: i32 = 440;
/// The command buffer that copies constants.
pub const UPLOAD: i32 = 448;
/// The shader of the pipeline that is being made.
pub const SHADER: i32 = 456;
/// Address of this record when the device was opened. A copy of the state at another address has no device.
pub const PLACE: i32 = 464;
/// The pool of timestamps, if regions are measured.
pub const QUERIES: i32 = 472;
/// Nanoseconds of a tick of the timestamps, a float of 32 bits.
pub const PERIOD: i32 = 480;
/// Addresses of the functions, by number.
pub const FUNCTION_ADDRESSES: i32 = 488;
/// Number of function addresses.
pub const FUNCTIONS: usize = 57;
/// Offset of the arrays.
pub const ARRAYS: u64 = FUNCTION_ADDRESSES as u64 + 8 * FUNCTIONS as u64;

/// Distance from a buffer's field to its memory's.
pub const MEMORY: i32 = 8;

/// Offsets of a model's arrays, and the size of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrays {
    /// Layouts of descriptor sets.
    pub set_layouts: u64,
    /// Layouts of pipelines, one for each layout of descriptor sets.
    pub pipeline_layouts: u64,
    /// Pipelines, one for each kernel.
    pub pipelines: u64,
    /// Command buffers, one for each region.
    pub commands: u64,
    /// Bytes of the whole record.
    pub bytes: u64,
}

impl Arrays {
    /// Computes the arrays of a device.
    pub fn new(device: &Device) -> Self {
        Self::of_counts(binding_counts(device).len(), device.kernels.len(), device.regions.len())
    }

    fn of_counts(layouts: usize, kernels: usize, regions: usize) -> Self {
        let [layouts, kernels, regions] = [layouts, kernels, regions].map(|count| 8 * count as u64);
        let pipeline_layouts = ARRAYS + layouts;
        let pipelines = pipeline_layouts + layouts;
        let commands = pipelines + kernels;
        Self { set_layouts: ARRAYS, pipeline_layouts, pipelines, commands, bytes: commands + regions }
    }
}

/// Returns the number of timestamps of a measured region: at the start, after inputs arrived, after each dispatch, and at the end.
pub fn timestamps(region: &DeviceRegion) -> u64 {
    region.dispatches().count() as u64 + 3
}

/// Returns the offset of each region's timestamps in staging memory, and the end of the last ones.
pub fn timestamp_places(device: &Device) -> (Vec<u64>, u64) {
    let mut end = device.staging_bytes.next_multiple_of(8);
    let place = |region: &DeviceRegion| {
        let start = end;
        end += 8 * timestamps(region);
        start
    };
    let places = device.regions.iter().map(place).collect();
    (places, end)
}

/// Returns the distinct numbers of ranges that kernels bind. Each has a layout.
pub fn binding_counts(device: &Device) -> Vec<usize> {
    let mut counts: Vec<usize> = device.kernels.iter().map(DeviceKernel::binding_count).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other_and_words_are_aligned() {
        assert!(PROPERTIES as u64 + PROPERTIES_BYTES <= INSTANCE as u64);
        assert!([INSTANCE, AREA, CONSTANTS, STAGING, MAPPED, FUNCTION_ADDRESSES].iter().all(|offset| offset % 8 == 0));
        assert_eq!([SHADER, PLACE, QUERIES, PERIOD].map(|offset| offset + 8), [PLACE, QUERIES, PERIOD, FUNCTION_ADDRESSES]);
        let arrays = Arrays::of_counts(2, 3, 1);
        assert_eq!([arrays.pipeline_layouts, arrays.pipelines, arrays.commands].map(|at| at - ARRAYS), [16, 32, 56]);
        assert_eq!(arrays.bytes, ARRAYS + 64);
    }
}
