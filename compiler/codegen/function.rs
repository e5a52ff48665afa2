//! Functions of an object.

use super::Code;
use super::driver::language::Function;

/// A function with its name.
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    /// Without the model's prefix: `op012_conv2d_1x1_i8`, `init`.
    pub name: String,
    /// Whether C programs call it.
    pub entry: bool,
    /// The CPU level that it is for; none for what all levels share.
    pub level: Option<usize>,
    /// What it does.
    pub code: Code,
    /// How it was written, if it is one of the driver's.
    pub written: Option<Function>,
}

/// The most stack of what entries call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Below {
    /// What those call that keep the state.
    pub init: u64,
    /// What regions of a device call.
    pub steps: u64,
}

/// Code that has no name yet, and how it was written.
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
