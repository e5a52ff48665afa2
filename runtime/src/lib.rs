//! The core ABI of compiled models, for Rust programs without std and without alloc: what the generated C header declares once for
//! all models. ABI number 1; numbers never change their meaning.

#![no_std]

use core::ffi::{c_int, c_void};

/// The ABI number of these declarations.
pub const ABI: u32 = 1;

/// Runs `body(ctx, i)` for every i below n, in any order, on any threads, and returns when all are done.
pub type ParallelFor =
    unsafe extern "C" fn(user: *mut c_void, n: u32, body: unsafe extern "C" fn(ctx: *mut c_void, i: u32), ctx: *mut c_void);

/// Called around kernels of objects made with `--profile-hooks`: phase 0 before, 1 after; non-zero aborts the call.
pub type OnKernel = unsafe extern "C" fn(user: *mut c_void, kernel: u32, phase: u32) -> c_int;

/// What `NAME_init` is told, `modelc_config` in C; all zeros (with `struct_size` set) are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// `size_of::<Config>()`.
    pub struct_size: u32,
    /// None yet.
    pub flags: u32,
    /// The weights file, for models that keep their weights outside.
    pub weights: *const c_void,
    /// Its size.
    pub weights_bytes: usize,
    /// Further memory areas, where the header defines them.
    pub areas: *const *mut c_void,
    /// How many.
    pub n_areas: usize,
    /// For models that run on several threads.
    pub parallel_for: Option<ParallelFor>,
    /// Threads that it uses.
    pub threads: u32,
    /// Profiling and watchdogs.
    pub on_kernel: Option<OnKernel>,
    /// Handed to every callback.
    pub user: *mut c_void,
    /// What the CPU has; 0 asks the machine where it can tell.
    pub cpu_features: u64,
    /// The application's own Vulkan device.
    pub vk: *const c_void,
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

/// Why a call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Error {
    /// A pointer is null that must not be.
    Null = -1,
    /// The arena is not aligned.
    Align = -2,
    /// The arena is too small.
    Arena = -3,
    /// A shape is beyond its bound or contradicts another.
    Shape = -4,
    /// The CPU lacks what the code needs.
    Cpu = -5,
    /// The weights file is missing or another model's.
    Weights = -6,
    /// Not initialised, or another model's arena.
    State = -7,
    /// The configuration is of another ABI.
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

/// The result of a status that an entry returned.
///
/// # Errors
/// The status as an [`Error`]; a number that is none of them counts as [`Error::Abi`].
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
}
