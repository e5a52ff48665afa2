//! Options of an object: the model, the ABI, the place of the weights.

use crate::codegen::vulkan::GpuOptions;
use crate::diagnostic::{Diagnostic, codes};
use crate::machine::{CpuMachine, Extension, Isa};
use crate::target::Target;
use object::elf;

/// The model from which an object is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// File name. Directories are dropped, because outputs contain no paths.
    pub file: String,
    /// Name and labels of the file's list of labels, if it has one.
    pub labels: Option<(String, Vec<String>)>,
    /// Metadata of the whole model: description, author and licence, with their names.
    pub about: Vec<(&'static str, String)>,
}

impl ModelInfo {
    /// Returns the file name without directories.
    pub fn file_name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

/// ABI of floating-point arguments on RISC-V. Entry functions have no such arguments, so the code is the same; linkers compare the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RiscvAbi {
    /// Floats in integer registers.
    Lp64,
    /// Binary32 in floating-point registers.
    Lp64f,
    /// Binary32 and binary64 in floating-point registers.
    #[default]
    Lp64d,
    /// 32 bits: floats in integer registers.
    Ilp32,
    /// 32 bits: binary32 in floating-point registers.
    Ilp32f,
}

impl RiscvAbi {
    /// Returns the ABI of a name of `--abi`.
    ///
    /// # Errors
    /// A usage diagnostic if there is no such ABI.
    pub fn from_name(name: &str) -> Result<Self, Diagnostic> {
        match name {
            "lp64" => Ok(Self::Lp64),
            "lp64f" => Ok(Self::Lp64f),
            "lp64d" => Ok(Self::Lp64d),
            "ilp32" => Ok(Self::Ilp32),
            "ilp32f" => Ok(Self::Ilp32f),
            _ => Err(Diagnostic::new(codes::ABI, format!("unknown ABI {name}")).expected("lp64, lp64f, lp64d, ilp32 or ilp32f", name)),
        }
    }

    /// Returns [`Self::from_name`] for RISC-V; other targets have no choice.
    ///
    /// # Errors
    /// The errors of [`Self::from_name`], and a usage diagnostic for every other target.
    pub fn for_target(name: &str, target: &Target) -> Result<Self, Diagnostic> {
        let abi = Self::from_name(name)?;
        let (isa, family) = match abi {
            Self::Ilp32 | Self::Ilp32f => (Isa::Riscv32, "riscv32"),
            _ => (Isa::Riscv64, "riscv64"),
        };
        if target.isa != isa {
            return Err(Diagnostic::new(codes::ABI, format!("--abi {name} is for {family}, and {} is not", target.name)));
        }
        if abi == Self::Ilp32f && Self::of(target) != abi {
            let message = format!("--abi {name} passes floats in registers that {} does not have", target.name);
            return Err(Diagnostic::new(codes::ABI, message).expected("ilp32", name));
        }
        Ok(abi)
    }

    /// Returns the default ABI of compilers for a target.
    pub fn of(target: &Target) -> Self {
        match target.isa {
            Isa::Riscv32 if target.default_machine().has(Extension::Fpu) => Self::Ilp32f,
            Isa::Riscv32 => Self::Ilp32,
            _ => Self::default(),
        }
    }

    /// Returns the flags for `e_flags`.
    pub(super) fn flags(self) -> u32 {
        match self {
            Self::Lp64 | Self::Ilp32 => elf::EF_RISCV_FLOAT_ABI_SOFT,
            Self::Lp64f | Self::Ilp32f => elf::EF_RISCV_FLOAT_ABI_SINGLE,
            Self::Lp64d => elf::EF_RISCV_FLOAT_ABI_DOUBLE,
        }
    }
}

/// Place of the weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WeightsPlace {
    /// The object.
    #[default]
    Embedded,
    /// A separate file, whose contents `init` receives.
    External,
}

impl WeightsPlace {
    /// Returns the place of a name of `--weights`.
    ///
    /// # Errors
    /// A usage diagnostic if there is no such place.
    pub fn from_name(name: &str) -> Result<Self, Diagnostic> {
        match name {
            "embed" => Ok(Self::Embedded),
            "external" => Ok(Self::External),
            _ => Err(Diagnostic::new(codes::WEIGHTS_PLACE, format!("unknown place of weights {name}")).expected("embed or external", name)),
        }
    }
}

/// Options of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectOptions {
    /// Prefix of every name; it is converted to an identifier.
    pub name: String,
    /// The target.
    pub target: &'static Target,
    /// The preferred CPU level.
    pub machine: &'static CpuMachine,
    /// `true` to call `on_kernel` around every kernel.
    pub profile_hooks: bool,
    /// `true` if the driver's code must be small.
    pub small: bool,
    /// Section of the weights, instead of `.rodata.net_weights`.
    pub weights_section: Option<String>,
    /// ABI flags of RISC-V objects.
    pub riscv_abi: RiscvAbi,
    /// Options of the GPU part.
    pub gpu: GpuOptions,
    /// Place of the weights. They can be replaced only if the program comes from a module with open constants.
    pub weights: WeightsPlace,
    /// Settings of the compilation, kept in objects with external weights. `modelc weights` uses them.
    pub settings: serde_json::Value,
    /// The runtime whose results the model gives, for the record; `None` for LiteRT.
    pub reference: Option<String>,
}

impl ObjectOptions {
    /// Makes the default options for a name and a target.
    pub fn new(name: impl Into<String>, target: &'static Target, machine: &'static CpuMachine) -> Self {
        Self {
            name: name.into(),
            target,
            machine,
            profile_hooks: false,
            small: false,
            weights_section: None,
            riscv_abi: RiscvAbi::of(target),
            gpu: GpuOptions::default(),
            weights: WeightsPlace::default(),
            settings: serde_json::Value::Null,
            reference: None,
        }
    }
}
