//! Parameters that the driver's functions are written from.

use super::language::{Callee, KernelConvention, Signature};
use crate::constants::ConstantLayout;
use crate::vulkan::{GpuOptions, Own};
use crate::weights::WeightsHeader;
use modelc_interface::Interface;
use modelc_program::{Device, Level, Program};

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
pub(crate) struct Numbers {
    /// The function that asks the CPU for its features. `None` if no instruction can ask.
    pub(crate) cpu: Option<u32>,
}

impl Numbers {
    /// The section of the weights.
    pub(crate) const WEIGHTS: u32 = 0;
}

/// A CPU level, its calling convention, and the number of its first kernel.
pub(crate) struct LevelKernels<'a> {
    pub(crate) level: Level<'a>,
    pub(crate) convention: KernelConvention,
    pub(crate) first: u32,
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
pub(crate) struct Gpu<'a> {
    /// The device of the program.
    pub(crate) device: &'a Device,
    /// `true` if `init` fails without a device.
    pub(crate) required: bool,
    /// Bytes of the SPIR-V of each kernel.
    pub(crate) module_bytes: Vec<u64>,
    /// Number of the data section with the table.
    pub(crate) table: u32,
    /// Offset of each region's row in the table.
    pub(crate) rows: Vec<u64>,
    /// The runtime's function for each entry.
    pub(crate) entries: [(Own, Callee); 4],
}

/// Parameters of the functions that write the driver.
pub(crate) struct Context<'a> {
    /// The program of the preferred level. It stands for all levels where they agree.
    pub(crate) program: &'a Program,
    /// CPU levels, the preferred level first.
    pub(crate) levels: &'a [LevelKernels<'a>],
    pub(crate) interface: &'a Interface,
    pub(crate) constants: &'a ConstantLayout,
    pub(crate) options: &'a DriverOptions,
    /// A hash in the state, so that a model rejects the state of another.
    pub(crate) model_hash: u64,
    /// Header of a separate file of weights.
    pub(crate) weights_file: Option<WeightsHeader>,
    pub(crate) numbers: Numbers,
    /// Imported functions, in the order of their numbers.
    pub(crate) imports: &'a [Import],
    /// The program's GPU part.
    pub(crate) gpu: Option<Gpu<'a>>,
}
