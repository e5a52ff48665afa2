//! `modelc_config`, the configuration of an instance.

use super::layout::Member::{Long, Single, Word};
use super::table::{Row, Struct};

/// Members of `modelc_config`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Config {
    /// Size of the struct.
    StructSize,
    /// Flags; none exists yet.
    Flags,
    /// Contents of the weights file.
    Weights,
    /// Size of the weights file.
    WeightsBytes,
    /// Addresses of memory areas.
    Areas,
    /// Number of memory areas.
    AreaCount,
    /// Function that runs ranges of a kernel on several threads.
    ParallelFor,
    /// Number of its threads.
    Threads,
    /// Callback around kernels.
    OnKernel,
    /// Argument of every callback.
    User,
    /// Features of the CPU.
    CpuFeatures,
    /// Vulkan device of the application.
    Vk,
}

/// `modelc_config` of ABI 1.
pub static CONFIG: Struct<Config> = Struct {
    name: "modelc_config",
    rows: &[
        Row::new(Single, &[Config::StructSize, Config::Flags])
            .c("uint32_t struct_size, flags")
            .comment("sizeof(modelc_config); flags and unknown tails are zero")
            .rust(&["pub struct_size: u32,", "pub flags: u32,"]),
        Row::new(Word, &[Config::Weights])
            .c("const void *weights")
            .comment("with --weights external")
            .rust(&["/// Contents of the file of weights.", "pub weights: *const core::ffi::c_void,"]),
        Row::new(Word, &[Config::WeightsBytes]).c("size_t weights_bytes").rust(&["pub weights_bytes: usize,"]),
        Row::new(Word, &[Config::Areas])
            .c("void *const *areas")
            .comment("further memory areas, where the header defines their sizes")
            .rust(&["/// Further memory areas.", "pub areas: *const *mut core::ffi::c_void,"]),
        Row::new(Word, &[Config::AreaCount]).c("size_t n_areas").rust(&["pub n_areas: usize,"]),
        Row::new(Word, &[Config::ParallelFor]).c("modelc_parallel_for_fn parallel_for").rust(&[
            "/// Runs `body(ctx, i)` for each i below n, on any threads, and returns after the last one.",
            "pub parallel_for: Option<ParallelFor>,",
        ]),
        Row::new(Single, &[Config::Threads]).c("uint32_t threads").rust(&["pub threads: u32,"]),
        Row::new(Word, &[Config::OnKernel]).c("modelc_on_kernel_fn on_kernel").rust(&[
            "/// Called before (phase 0) and after (phase 1) each kernel of an object made with `--profile-hooks`.",
            "pub on_kernel: Option<OnKernel>,",
        ]),
        Row::new(Word, &[Config::User])
            .c("void *user")
            .comment("handed to every callback")
            .rust(&["/// Handed to all callbacks.", "pub user: *mut core::ffi::c_void,"]),
        Row::new(Long, &[Config::CpuFeatures])
            .c("uint64_t cpu_features")
            .comment("0: detect where the machine allows; else MODELC_CPU_ bits")
            .rust(&["/// 0, or `MODELC_CPU_` bits of the C header.", "pub cpu_features: u64,"]),
        Row::new(Word, &[Config::Vk])
            .c("const struct modelc_vk_host *vk")
            .comment("the application's own Vulkan device; NULL: the runtime finds one")
            .rust(&["/// `struct modelc_vk_host`: the Vulkan device of the application.", "pub vk: *const core::ffi::c_void,"]),
    ],
};
