//! What the functions of the driver are written from.

use super::language::{Callee, KernelConvention, Signature};
use crate::codegen::constants::ConstantLayout;
use crate::codegen::vulkan::{GpuOptions, Own};
use crate::codegen::weights::WeightsHeader;
use crate::interface::Interface;
use crate::program::{Device, Level, Program};

/// Where a model's weights are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightsFrom {
    /// They are data of the object.
    #[default]
    Object,
    /// `init` is given a file, whose header says what models its weights fit.
    File,
    /// `init` is given what this process has put together: the same, and the header says nothing but how long it is.
    Memory,
}

/// What the driver is to be like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverOptions {
    /// Prefix of every name; it is made an identifier.
    pub name: String,
    /// Whether `on_kernel` is called around every kernel. Without it the code has no trace of it.
    pub profile_hooks: bool,
    /// Where the weights are.
    pub weights: WeightsFrom,
    /// How the part of the program that is for a GPU runs, if it has one.
    pub gpu: GpuOptions,
}

/// Numbers of functions and data in names inside code.
pub(in crate::codegen) struct Numbers {
    /// The function that asks the CPU for its features, if there is one.
    pub(in crate::codegen) cpu: Option<u32>,
}

impl Numbers {
    /// The weights.
    pub(in crate::codegen) const WEIGHTS: u32 = 0;
}

/// A CPU level, and the number of the first of its kernels.
pub(in crate::codegen) struct LevelKernels<'a> {
    pub(in crate::codegen) level: Level<'a>,
    pub(in crate::codegen) convention: KernelConvention,
    pub(in crate::codegen) first: u32,
}

/// Who defines an imported function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportKind {
    /// The application: it is a custom operator.
    Custom,
    /// The system: it opens libraries.
    System,
    /// The object of the runtime.
    Runtime,
}

/// A function that the object's code calls and another one defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its symbol.
    pub symbol: String,
    /// Who defines it.
    pub kind: ImportKind,
    /// How it is called.
    pub signature: Signature,
}

/// What the driver needs to know of the part of a program that is for a GPU.
pub(in crate::codegen) struct Gpu<'a> {
    /// The part itself.
    pub(in crate::codegen) device: &'a Device,
    /// Whether `init` fails where there is no device.
    pub(in crate::codegen) required: bool,
    /// Bytes of the SPIR-V of each kernel.
    pub(in crate::codegen) module_bytes: Vec<u64>,
    /// The number of the table among the data.
    pub(in crate::codegen) table: u32,
    /// Where in it each region's row is.
    pub(in crate::codegen) rows: Vec<u64>,
    /// The runtime's function of each entry.
    pub(in crate::codegen) entries: [(Own, Callee); 4],
}

/// What writing the driver needs to know.
pub(in crate::codegen) struct Context<'a> {
    /// The program of the preferred level, for what all have in common.
    pub(in crate::codegen) program: &'a Program,
    /// The preferred level first.
    pub(in crate::codegen) levels: &'a [LevelKernels<'a>],
    pub(in crate::codegen) interface: &'a Interface,
    pub(in crate::codegen) constants: &'a ConstantLayout,
    pub(in crate::codegen) options: &'a DriverOptions,
    /// What the state carries, so that one model's state is refused by another.
    pub(in crate::codegen) model_hash: u64,
    /// The header of the weights, where they are a file of their own.
    pub(in crate::codegen) weights_file: Option<WeightsHeader>,
    pub(in crate::codegen) numbers: Numbers,
    /// The imported functions, by number.
    pub(in crate::codegen) imports: &'a [Import],
    /// The part of the program that is for a GPU.
    pub(in crate::codegen) gpu: Option<Gpu<'a>>,
}
