//! Functions of an object, with and without names.

use super::Code;
use super::driver::language::Function;

/// A function with its name.
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    /// Name without the model's prefix: `op012_conv2d_1x1_i8`, `init`.
    pub name: String,
    /// `true` if C programs call it.
    pub entry: bool,
    /// The CPU level that it is for; `None` if all levels share it.
    pub level: Option<usize>,
    /// The machine code.
    pub code: Code,
    /// The source in the driver language, if it is a function of the driver.
    pub written: Option<Function>,
}

/// Maximum stack of the functions that entries call, apart from the driver's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Below {
    /// Stack below the lifecycle entries, such as `init`.
    pub init: u64,
    /// Stack below the calls of a device's regions.
    pub steps: u64,
}

/// Code without a name, and its source if it is a function of the driver.
pub struct Body {
    pub code: Code,
    pub written: Option<Function>,
}

impl From<Code> for Body {
    fn from(code: Code) -> Self {
        Self { code, written: None }
    }
}

impl Body {
    pub fn into_function(self, name: String, entry: bool, level: Option<usize>) -> CompiledFunction {
        CompiledFunction { name, entry, level, code: self.code, written: self.written }
    }
}
