//! `modelc_gpu_info`, the side that runs a model with a GPU part.

use super::layout::Member::{Bytes, Long, Single, Word};
use super::table::{Row, Struct};

/// Members of `modelc_gpu_info`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GpuInfo {
    /// Size of the struct.
    StructSize,
    /// 1 if the GPU runs its part.
    Runs,
    /// `VkResult` of the call that failed.
    Result,
    /// Always 0.
    Reserved,
    /// Name of the call that failed.
    Failed,
    /// First member of `VkPhysicalDeviceProperties`; the others follow up to the name.
    ApiVersion,
    /// Version of the driver.
    DriverVersion,
    /// Vendor of the device.
    VendorId,
    /// Number of the device among the vendor's.
    DeviceId,
    /// `VkPhysicalDeviceType`
    DeviceType,
    /// Name of the device, a C string.
    DeviceName,
    /// Estimated nanoseconds of a call on the CPU. The first version of the struct ends before it.
    CpuNs,
    /// Estimated nanoseconds of a call on the GPU.
    GpuNs,
}

/// `modelc_gpu_info` of ABI 1.
pub static GPU_INFO: Struct<GpuInfo> = Struct {
    name: "modelc_gpu_info",
    rows: &[
        Row::new(Single, &[GpuInfo::StructSize])
            .c("uint32_t struct_size")
            .comment("set it: sizeof(modelc_gpu_info)")
            .rust(&["struct_size: u32,"]),
        Row::new(Single, &[GpuInfo::Runs])
            .c("uint32_t runs")
            .comment("1: the GPU runs its part; 0: the CPU runs everything")
            .rust(&["/// 1 if the GPU runs its part, 0 if the CPU runs everything.", "pub runs: u32,"]),
        Row::new(Single, &[GpuInfo::Result])
            .c("int32_t result")
            .comment("VkResult of the call that failed")
            .rust(&["/// `VkResult` of the call that failed.", "pub result: i32,"]),
        Row::new(Single, &[GpuInfo::Reserved]).c("uint32_t reserved").rust(&["reserved: u32,"]),
        Row::new(Word, &[GpuInfo::Failed])
            .c("const char *failed")
            .comment("the call that failed, or NULL")
            .rust(&["failed: *const core::ffi::c_char,"]),
        Row::new(Single, &[GpuInfo::ApiVersion, GpuInfo::DriverVersion, GpuInfo::VendorId, GpuInfo::DeviceId, GpuInfo::DeviceType])
            .c("uint32_t api_version, driver_version, vendor_id, device_id, device_type")
            .comment("of VkPhysicalDeviceProperties; 0 if no device was chosen")
            .rust(&[
                "pub api_version: u32,",
                "pub driver_version: u32,",
                "pub vendor_id: u32,",
                "pub device_id: u32,",
                "pub device_type: u32,",
            ]),
        Row::new(Bytes(256), &[GpuInfo::DeviceName]).c("char device_name[256]").rust(&["device_name: [u8; 256],"]),
        Row::new(Long, &[GpuInfo::CpuNs, GpuInfo::GpuNs])
            .c("uint64_t cpu_ns, gpu_ns")
            .comment("a call on either side, estimated; the GPU is not opened if it would be slower. 0: no estimate")
            .rust(&[
                "/// A call on the CPU, estimated; 0 without an estimate.",
                "pub cpu_ns: u64,",
                "/// A call on the GPU.",
                "pub gpu_ns: u64,",
            ]),
    ],
};
