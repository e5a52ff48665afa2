//! The side on which a model with a GPU part runs, in the words of each language.

use super::wrapped::Wrapped;
use crate::interface::GPU_INFO;

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
    if wrapped.program.device.is_none() { String::new() } else { info() }
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

/// Returns the struct that the C function fills.
fn info() -> String {
    let (members, zeros) = (GPU_INFO.rust_members(), GPU_INFO.rust_zeros("        ", "core::mem::size_of::<Self>() as u32"));
    format!(
        "\n/// `modelc_gpu_info`: which side runs, and why.\n#[repr(C)]\n#[derive(Clone, Copy)]\n#[allow(dead_code)]\npub struct GpuInfo {{\n{members}}}\n\n\
         #[allow(dead_code)]\nimpl GpuInfo {{\n    const NOTHING: Self = Self {{\n{zeros}    }};\n{READERS}"
    )
}

const READERS: &str = "
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
