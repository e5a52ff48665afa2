//! State of an instance's device.

use std::ffi::{CStr, c_char};
use std::fmt;

/// The C struct `modelc_gpu_info`.
#[repr(C)]
pub(super) struct RawInfo {
    pub struct_size: u32,
    pub runs: u32,
    pub result: i32,
    pub reserved: u32,
    pub failed: *const c_char,
    pub api_version: u32,
    pub driver_version: u32,
    pub vendor_id: u32,
    pub device_id: u32,
    pub device_type: u32,
    pub device_name: [u8; 256],
    pub cpu_ns: u64,
    pub gpu_ns: u64,
}

impl RawInfo {
    pub fn new() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            runs: 0,
            result: 0,
            reserved: 0,
            failed: std::ptr::null(),
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

    /// Converts the struct to owned data.
    pub fn read(&self) -> GpuInfo {
        // SAFETY: the pointer is null or leads to a name in the model's data, which ends with a NUL and outlives the instance.
        let failed = (!self.failed.is_null()).then(|| unsafe { CStr::from_ptr(self.failed) }.to_string_lossy().into_owned());
        let name = CStr::from_bytes_until_nul(&self.device_name).unwrap_or_default();
        GpuInfo {
            runs: self.runs != 0,
            failed: failed.map(|call| (call, self.result)),
            device: name.to_string_lossy().into_owned(),
            device_type: self.device_type,
            estimate: (self.gpu_ns > 0).then_some([self.cpu_ns, self.gpu_ns]),
        }
    }
}

/// The side on which the GPU part runs, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInfo {
    /// `true` if the device runs its part.
    pub runs: bool,
    /// The call that failed, with its `VkResult`.
    pub failed: Option<(String, i32)>,
    /// The device's name; empty if none was chosen.
    pub device: String,
    /// `VkPhysicalDeviceType` of the device.
    pub device_type: u32,
    /// Estimated nanoseconds of a call on the CPU and on the device.
    pub estimate: Option<[u64; 2]>,
}

impl fmt::Display for GpuInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failed {
            _ if self.runs => write!(f, "{} runs what is for a GPU", self.device),
            Some((call, result)) => write!(f, "the CPU runs what is for a GPU: {call} gave {result}"),
            None => match self.estimate {
                Some([cpu, gpu]) if cpu <= gpu => write!(
                    f,
                    "the CPU runs what is for a GPU: about {} µs, where a GPU needs about {} µs (estimated)",
                    cpu.div_ceil(1000),
                    gpu.div_ceil(1000)
                ),
                _ => write!(f, "the CPU runs what is for a GPU"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{GPU_INFO, Layout};
    use std::mem::offset_of;

    #[test]
    fn either_side_is_told() {
        let failed = Some(("vkCreateInstance".to_owned(), -9));
        let cpu = GpuInfo { runs: false, failed, device: String::new(), device_type: 0, estimate: None };
        assert_eq!(cpu.to_string(), "the CPU runs what is for a GPU: vkCreateInstance gave -9");
        let gpu = GpuInfo { runs: true, failed: None, device: "Mali".into(), device_type: 1, estimate: None };
        assert!(gpu.to_string().starts_with("Mali runs what is for a GPU"));
        let slower = GpuInfo { runs: false, estimate: Some([330_000, 720_500]), ..gpu };
        assert_eq!(slower.to_string(), "the CPU runs what is for a GPU: about 330 µs, where a GPU needs about 721 µs (estimated)");
    }

    #[test]
    fn the_struct_is_laid_out_as_the_runtime_writes_it() {
        let here = Layout { pointer: size_of::<usize>() as u64 };
        let offsets = [
            offset_of!(RawInfo, struct_size),
            offset_of!(RawInfo, runs),
            offset_of!(RawInfo, result),
            offset_of!(RawInfo, reserved),
            offset_of!(RawInfo, failed),
            offset_of!(RawInfo, api_version),
            offset_of!(RawInfo, driver_version),
            offset_of!(RawInfo, vendor_id),
            offset_of!(RawInfo, device_id),
            offset_of!(RawInfo, device_type),
            offset_of!(RawInfo, device_name),
            offset_of!(RawInfo, cpu_ns),
            offset_of!(RawInfo, gpu_ns),
        ];
        assert!(GPU_INFO.members(here).map(|place| place.2 as usize).eq(offsets));
        assert_eq!(size_of::<RawInfo>() as u64, GPU_INFO.bytes(here));
        let none = GpuInfo { runs: false, failed: None, device: String::new(), device_type: 0, estimate: None };
        assert_eq!(RawInfo::new().read(), none);
    }
}
