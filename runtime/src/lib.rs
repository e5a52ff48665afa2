//! The core ABI of compiled models, for Rust programs without std and alloc. The generated C header declares the same, once for all models.
//! This is ABI number 1; numbers never change their meaning.

#![no_std]

use core::ffi::{c_char, c_int, c_void};

/// The ABI number of these declarations.
pub const ABI: u32 = 1;

/// A function that runs `body(ctx, i)` for every i below n, in any order, on any threads, and returns when all have ended.
pub type ParallelFor =
    unsafe extern "C" fn(user: *mut c_void, n: u32, body: unsafe extern "C" fn(ctx: *mut c_void, i: u32), ctx: *mut c_void);

/// A callback around kernels of objects made with `--profile-hooks`: phase 0 before, 1 after; non-zero aborts the call.
pub type OnKernel = unsafe extern "C" fn(user: *mut c_void, kernel: u32, phase: u32) -> c_int;

/// Configuration for `NAME_init`, `modelc_config` in C. All zeros (with `struct_size` set) are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// `size_of::<Config>()`.
    pub struct_size: u32,
    /// No flags exist yet.
    pub flags: u32,
    /// Contents of the weights file, for models with external weights.
    pub weights: *const c_void,
    /// Size of the weights file.
    pub weights_bytes: usize,
    /// Additional memory areas, if the header defines them.
    pub areas: *const *mut c_void,
    /// Number of memory areas.
    pub n_areas: usize,
    /// Function that runs kernels on several threads.
    pub parallel_for: Option<ParallelFor>,
    /// Number of its threads.
    pub threads: u32,
    /// Callback for profiling and watchdogs.
    pub on_kernel: Option<OnKernel>,
    /// Argument of every callback.
    pub user: *mut c_void,
    /// Features of the CPU; 0 lets `init` detect them where it can.
    pub cpu_features: u64,
    /// The application's Vulkan device, or access to the library; null if the runtime finds one.
    pub vk: *const VkHost,
}

/// A Vulkan device of the application, or access to the library: `struct modelc_vk_host` in C. Handles are Vulkan's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct VkHost {
    /// `size_of::<VkHost>()`.
    pub struct_size: u32,
    /// Family of the queue.
    pub queue_family: u32,
    /// `vkGetInstanceProcAddr`; null if the object finds the library itself.
    pub get_instance_proc_addr: *const c_void,
    /// `VkInstance`
    pub instance: *const c_void,
    /// `VkPhysicalDevice`
    pub physical_device: *const c_void,
    /// `VkDevice`, with the profile's features enabled; null if the object makes instance and device.
    pub device: *const c_void,
    /// `VkQueue` with support for compute.
    pub queue: *const c_void,
    /// Callback before each use of the queue.
    pub lock: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// Callback after each use of the queue.
    pub unlock: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// Argument of both callbacks.
    pub user: *mut c_void,
    /// `const VkAllocationCallbacks *`, or null.
    pub allocation_callbacks: *const c_void,
}

impl Default for VkHost {
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            queue_family: 0,
            get_instance_proc_addr: core::ptr::null(),
            instance: core::ptr::null(),
            physical_device: core::ptr::null(),
            device: core::ptr::null(),
            queue: core::ptr::null(),
            lock: None,
            unlock: None,
            user: core::ptr::null_mut(),
            allocation_callbacks: core::ptr::null(),
        }
    }
}

/// The side that runs a model with a GPU part, and the reason: `modelc_gpu_info` in C, which `NAME_gpu` fills.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuInfo {
    /// `size_of::<GpuInfo>()`.
    pub struct_size: u32,
    /// 1 if the GPU runs its part, 0 if the CPU runs everything.
    pub runs: u32,
    /// `VkResult` of the call that failed.
    pub result: i32,
    /// Always 0.
    pub reserved: u32,
    /// Name of the call that failed, or null.
    pub failed: *const c_char,
    /// Field of `VkPhysicalDeviceProperties`, as the following ones; 0 if no device was chosen.
    pub api_version: u32,
    /// Version of the driver.
    pub driver_version: u32,
    /// Vendor of the device.
    pub vendor_id: u32,
    /// Number of the device among the vendor's.
    pub device_id: u32,
    /// `VkPhysicalDeviceType`
    pub device_type: u32,
    /// C string.
    pub device_name: [u8; 256],
    /// Estimated time of a call on the CPU, in nanoseconds; 0 without an estimate.
    pub cpu_ns: u64,
    /// Estimated time of a call on the GPU, in nanoseconds; 0 without an estimate.
    pub gpu_ns: u64,
}

impl Default for GpuInfo {
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            runs: 0,
            result: 0,
            reserved: 0,
            failed: core::ptr::null(),
            api_version: 0,
            driver_version: 0,
            vendor_id: 0,
            device_id: 0,
            device_type: 0,
            device_name: [0; 256],
            cpu_ns: 0,
            gpu_ns: 0,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            flags: 0,
            weights: core::ptr::null(),
            weights_bytes: 0,
            areas: core::ptr::null(),
            n_areas: 0,
            parallel_for: None,
            threads: 0,
            on_kernel: None,
            user: core::ptr::null_mut(),
            cpu_features: 0,
            vk: core::ptr::null(),
        }
    }
}

/// Reason why a call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Error {
    /// A required pointer is null.
    Null = -1,
    /// The arena is not aligned.
    Align = -2,
    /// The arena is too small.
    Arena = -3,
    /// A shape is beyond its bound or contradicts another.
    Shape = -4,
    /// The CPU lacks features that the code needs.
    Cpu = -5,
    /// The weights file is missing or belongs to another model.
    Weights = -6,
    /// The state is not initialized, or belongs to another model.
    State = -7,
    /// The configuration belongs to another ABI.
    Abi = -8,
    /// The GPU failed.
    Gpu = -9,
    /// A custom operator failed.
    Custom = -10,
    /// A callback asked to stop.
    Aborted = -11,
    /// A data-dependent index or count is out of range.
    Index = -12,
}

/// Converts the status of an entry to a result.
///
/// # Errors
/// The status as an [`Error`]; an unknown number becomes [`Error::Abi`].
pub fn check(status: c_int) -> Result<(), Error> {
    use Error::*;
    const ALL: [Error; 12] = [Null, Align, Arena, Shape, Cpu, Weights, State, Abi, Gpu, Custom, Aborted, Index];
    match status {
        0 => Ok(()),
        -12..=-1 => Err(ALL[(-status - 1) as usize]),
        _ => Err(Error::Abi),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_errors_of_the_same_number() {
        assert_eq!(check(0), Ok(()));
        for status in -12..=-1 {
            assert_eq!(check(status).map_err(|e| e as c_int), Err(status));
        }
        assert_eq!(check(-99), Err(Error::Abi));
    }

    #[test]
    fn the_configuration_has_the_size_of_the_c_struct_on_64_bit_machines() {
        #[cfg(target_pointer_width = "64")]
        assert_eq!(size_of::<Config>(), 88);
        assert_eq!(Config::default().struct_size as usize, size_of::<Config>());
    }

    #[test]
    fn structures_of_gpus_have_the_sizes_of_the_c_structs_on_64_bit_machines() {
        #[cfg(target_pointer_width = "64")]
        assert_eq!((size_of::<VkHost>(), size_of::<GpuInfo>(), core::mem::offset_of!(GpuInfo, device_name)), (80, 320, 44));
        assert_eq!(GpuInfo::default().struct_size as usize, size_of::<GpuInfo>());
        assert_eq!(VkHost::default().struct_size as usize, size_of::<VkHost>());
    }
}
