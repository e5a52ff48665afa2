//! Parameters that the driver's functions are written from.

use super::language::{Callee, KernelConvention, Signature};
use crate::codegen::constants::ConstantLayout;
use crate::codegen::vulkan::{GpuOptions, Own};
use crate::codegen::weights::WeightsHeader;
use crate::interface::Interface;
use crate::program::{Device, Level, Program};

/// The source of a model's weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightsFrom {
    /// Data of the object.
    #[default]
    Object,
    /// A file that the caller passes to `init`. Its header names the models that its weights fit.
    File,
    /// Memory with the layout of such a file, made by this process. Its header has no hash of the topology.
    Memory,
}

/// Options of the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverOptions {
    /// Prefix of every symbol; it is made an identifier.
    pub name: String,
    /// `true` if `on_kernel` is called around every kernel. Otherwise the code does not contain these calls.
    pub profile_hooks: bool,
    /// `true` if code must be small. Calls then become rows, if the back end has tables of functions.
    pub small: bool,
    /// Source of the weights.
    pub weights: WeightsFrom,
    /// Options of the program's GPU part, if it has one.
    pub gpu: GpuOptions,
}

/// Numbers of functions and data that relocations refer to.
pub(in crate::codegen) struct Numbers {
    /// The function that asks the CPU for its features. `None` if no instruction can ask.
    pub(in crate::codegen) cpu: Option<u32>,
}

impl Numbers {
    /// The section of the weights.
    pub(in crate::codegen) const WEIGHTS: u32 = 0;
}

/// A CPU level, its calling convention, and the number of its first kernel.
pub(in crate::codegen) struct LevelKernels<'a> {
    pub(in crate::codegen) level: Level<'a>,
    pub(in crate::codegen) convention: KernelConvention,
    pub(in crate::codegen) first: u32,
}

/// The definer of an imported function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportKind {
    /// The application: the function is a custom operator.
    Custom,
    /// The system: the function loads libraries.
    System,
    /// The object of the GPU runtime.
    Runtime,
}

/// A function that the object's code calls and another object defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Symbol of the function.
    pub symbol: String,
    /// Definer of the function.
    pub kind: ImportKind,
    /// Signature of the function.
    pub signature: Signature,
}

/// The program's GPU part, with the numbers that the driver needs.
pub(in crate::codegen) struct Gpu<'a> {
    /// The device of the program.
    pub(in crate::codegen) device: &'a Device,
    /// `true` if `init` fails without a device.
    pub(in crate::codegen) required: bool,
    /// Bytes of the SPIR-V of each kernel.
    pub(in crate::codegen) module_bytes: Vec<u64>,
    /// Number of the data section with the table.
    pub(in crate::codegen) table: u32,
    /// Offset of each region's row in the table.
    pub(in crate::codegen) rows: Vec<u64>,
    /// The runtime's function for each entry.
    pub(in crate::codegen) entries: [(Own, Callee); 4],
}

/// Parameters of the functions that write the driver.
pub(in crate::codegen) struct Context<'a> {
    /// The program of the preferred level. It stands for all levels where they agree.
    pub(in crate::codegen) program: &'a Program,
    /// CPU levels, the preferred level first.
    pub(in crate::codegen) levels: &'a [LevelKernels<'a>],
    pub(in crate::codegen) interface: &'a Interface,
    pub(in crate::codegen) constants: &'a ConstantLayout,
    pub(in crate::codegen) options: &'a DriverOptions,
    /// A hash in the state, so that a model rejects the state of another.
    pub(in crate::codegen) model_hash: u64,
    /// Header of a separate file of weights.
    pub(in crate::codegen) weights_file: Option<WeightsHeader>,
    pub(in crate::codegen) numbers: Numbers,
    /// Imported functions, in the order of their numbers.
    pub(in crate::codegen) imports: &'a [Import],
    /// The program's GPU part.
    pub(in crate::codegen) gpu: Option<Gpu<'a>>,
}
