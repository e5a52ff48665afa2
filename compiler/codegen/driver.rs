//! The driver: the functions that a C program calls. They check their arguments, keep the state, and call kernels in order.

mod emitter;
pub mod external;
mod lifecycle;
mod method;

pub use emitter::{config, record};
pub use method::{AFTER, BEFORE, calls, externals};

use super::compile::ConstantLayout;
use super::weights::WeightsHeader;
use crate::interface::{Interface, MethodInterface};
use crate::machine::Machine;
use crate::program::{Method, Program};
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::TargetIsa;

/// What the driver is to be like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverOptions {
    /// Prefix of every name; it is made an identifier.
    pub name: String,
    /// Whether `on_kernel` is called around every kernel. Without it the code has no trace of it.
    pub profile_hooks: bool,
    /// Whether `init` is given the weights, which are then no data of the object.
    pub external_weights: bool,
}

/// Numbers of functions and data in names inside code.
pub(super) struct Numbers {
    /// The function that looks at the CPU, on x86-64.
    pub(super) cpu: u32,
}

impl Numbers {
    /// The weights.
    pub(super) const WEIGHTS: u32 = 0;

    /// A kernel of the program.
    fn kernel(kernel: usize) -> u32 {
        kernel as u32
    }
}

/// What writing the driver needs to know.
pub(super) struct Context<'a> {
    pub(super) program: &'a Program,
    pub(super) interface: &'a Interface,
    pub(super) constants: &'a ConstantLayout,
    pub(super) machine: &'a Machine,
    pub(super) isa: &'a dyn TargetIsa,
    pub(super) options: &'a DriverOptions,
    /// What the state carries, so that one model's state is refused by another.
    pub(super) model_hash: u64,
    /// The header of the weights, where they are a file of their own.
    pub(super) weights_file: Option<WeightsHeader>,
    pub(super) numbers: Numbers,
    /// The functions of the application, by number.
    pub(super) externals: &'a [String],
}

impl Context<'_> {
    /// The functions that keep the state, with their names.
    pub(super) fn lifecycle(&self) -> [(&'static str, Function); 3] {
        [("init", lifecycle::init(self)), ("reset", lifecycle::reset(self)), ("deinit", lifecycle::deinit(self))]
    }

    /// A method on state and scratch memory. `first_call` numbers its first kernel call in profiles.
    pub(super) fn split(&self, method: &Method, interface: &MethodInterface, first_call: u32) -> Function {
        method::split(self, method, interface, first_call)
    }

    /// A method on an arena, which calls the function numbered `split`.
    pub(super) fn whole(&self, split: u32) -> Function {
        method::whole(self, split)
    }
}
