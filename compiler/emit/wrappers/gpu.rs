//! The side on which a model with a GPU part runs, in the words of each language.

use super::wrapped::Wrapped;

/// Returns a method of the C++ classes; empty for a model without a GPU part.
pub(super) fn cpp(wrapped: &Wrapped<'_>) -> String {
    if wrapped.program.device.is_none() {
        return String::new();
    }
    let name = &wrapped.interface.name;
    format!(
        "  /* Tells which side runs, and why. */
  [[nodiscard]] modelc::status gpu(modelc_gpu_info &info) noexcept {{
    info.struct_size = sizeof(modelc_gpu_info);
    return static_cast<modelc::status>({name}_gpu(memory_, &info));
  }}\n"
    )
}

/// Returns the Rust type of the GPU information.
pub(super) fn rust_type(wrapped: &Wrapped<'_>) -> String {
    if wrapped.program.device.is_none() { String::new() } else { INFO.into() }
}

/// Returns the Rust declaration of the C function.
pub(super) fn rust_declaration(wrapped: &Wrapped<'_>) -> String {
    if wrapped.program.device.is_none() {
        return String::new();
    }
    format!(
        "    #[link_name = \"{}\"]\n    fn gpu(arena: *mut core::ffi::c_void, info: *mut GpuInfo) -> i32;\n",
        wrapped.interface.versioned("gpu")
    )
}

/// Returns a method of Rust's instances.
pub(super) fn rust(wrapped: &Wrapped<'_>) -> String {
    if wrapped.program.device.is_none() { String::new() } else { METHOD.into() }
}

const METHOD: &str = "
    /// Tells which side runs, and why.
    ///
    /// # Errors
    /// If the instance has ended.
    pub fn gpu(&mut self) -> Result<GpuInfo, Error> {
        let mut info = GpuInfo::NOTHING;
        // SAFETY: the memory is initialised, and the information has its size.
        Error::check(unsafe { gpu((&raw mut self.0.0).cast(), &raw mut info) })?;
        Ok(info)
    }
";

const INFO: &str = "
/// `modelc_gpu_info`: which side runs, and why.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(dead_code)]
pub struct GpuInfo {
    struct_size: u32,
    /// 1 if the GPU runs its part, 0 if the CPU runs everything.
    pub runs: u32,
    /// `VkResult` of the call that failed.
    pub result: i32,
    reserved: u32,
    failed: *const core::ffi::c_char,
    pub api_version: u32,
    pub driver_version: u32,
    pub vendor_id: u32,
    pub device_id: u32,
    pub device_type: u32,
    device_name: [u8; 256],
    /// A call on the CPU, estimated; 0 without an estimate.
    pub cpu_ns: u64,
    /// A call on the GPU.
    pub gpu_ns: u64,
}

#[allow(dead_code)]
impl GpuInfo {
    const NOTHING: Self = Self {
        struct_size: core::mem::size_of::<Self>() as u32,
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
    };

    /// The call that failed.
    pub fn failed(&self) -> Option<&'static core::ffi::CStr> {
        // SAFETY: the name is a string of the object.
        (!self.failed.is_null()).then(|| unsafe { core::ffi::CStr::from_ptr(self.failed) })
    }

    /// The name of the device; empty if none was chosen.
    pub fn device_name(&self) -> &str {
        let name = core::ffi::CStr::from_bytes_until_nul(&self.device_name);
        name.ok().and_then(|name| name.to_str().ok()).unwrap_or_default()
    }
}
";
