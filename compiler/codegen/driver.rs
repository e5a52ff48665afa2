//! The driver: the functions that a C program calls. They check their arguments, keep the state, and call kernels in order.

mod emitter;
pub mod external;
mod lifecycle;
mod method;
mod parts;

pub use emitter::{config, record};
pub use method::{AFTER, BEFORE, calls, externals};

use super::back_end::KernelConvention;
use super::constants::ConstantLayout;
use super::weights::WeightsHeader;
use crate::interface::Interface;
use crate::program::{Call, Level, Parts, Program};
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
    /// The function that asks the CPU for its features, if there is one.
    pub(super) cpu: Option<u32>,
}

impl Numbers {
    /// The weights.
    pub(super) const WEIGHTS: u32 = 0;
}

/// A CPU level, and the number of the first of its kernels.
pub(super) struct LevelKernels<'a> {
    pub(super) level: Level<'a>,
    pub(super) convention: KernelConvention,
    pub(super) first: u32,
}

/// What writing the driver needs to know.
pub(super) struct Context<'a> {
    /// The program of the preferred level, for what all have in common.
    pub(super) program: &'a Program,
    /// The preferred level first.
    pub(super) levels: &'a [LevelKernels<'a>],
    pub(super) interface: &'a Interface,
    pub(super) constants: &'a ConstantLayout,
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

    /// The method of a number on state and scratch memory, on the level of a number. `first_call` numbers its first kernel call in
    /// profiles.
    /// `parts` are the functions that do a part of the calls that may be cut, in their order.
    pub(super) fn split(&self, level: usize, method: usize, first_call: u32, parts: &[u32]) -> Function {
        method::split(self, &self.levels[level], method, first_call, parts)
    }

    /// A part of a kernel call.
    pub(super) fn part(&self, level: usize, call: &Call, parts: &Parts) -> Function {
        parts::part(self, &self.levels[level], call, parts)
    }

    /// A method on state and scratch memory that calls the function of the state's level, the first of them numbered `first`.
    pub(super) fn by_level(&self, first: u32) -> Function {
        method::by_level(self, first)
    }

    /// A method on an arena, which calls the function numbered `split`.
    pub(super) fn whole(&self, split: u32) -> Function {
        method::whole(self, split)
    }
}
