//! Files made of every program: the object, its header, its report, and the external weights, if any.
//!
//! Equal programs give equal bytes: everything is written in the program's order, without paths and times.

use super::header::header;
use super::image::Image;
use super::info::ModelRecord;
use super::report::report;
use super::topology::TopologyRecord;
use super::writer::{Writer, constants};
use crate::codegen::driver::{DriverOptions, WeightsFrom};
use crate::codegen::vulkan::GpuOptions;
use crate::codegen::{CompiledModel, WrittenDriver, compile};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::interface::ABI;
use crate::machine::{Isa, Machine};
use crate::program::{Level, Program};
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
            Isa::Riscv32 if target.default_machine().fma => Self::Ilp32f,
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
    pub machine: &'static Machine,
    /// `true` to call `on_kernel` around every kernel.
    pub profile_hooks: bool,
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
}

impl ObjectOptions {
    /// Makes the default options for a name and a target.
    pub fn new(name: impl Into<String>, target: &'static Target, machine: &'static Machine) -> Self {
        Self {
            name: name.into(),
            target,
            machine,
            profile_hooks: false,
            weights_section: None,
            riscv_abi: RiscvAbi::of(target),
            gpu: GpuOptions::default(),
            weights: WeightsPlace::default(),
            settings: serde_json::Value::Null,
        }
    }
}

/// Files made of a program.
#[derive(Clone, Debug)]
pub struct ObjectFiles {
    /// The object file.
    pub object: Image,
    /// The file of external weights, if any.
    pub weights: Option<Image>,
    /// The header.
    pub header: String,
    /// The report, schema `modelc.report/1`.
    pub report: serde_json::Value,
    /// Global symbols of the object.
    pub symbols: Vec<String>,
    /// The record in the object.
    pub record: ModelRecord,
    /// The compiled model, for outputs that are written only on request.
    pub compiled: CompiledModel,
}

impl ObjectFiles {
    /// Returns the functions of the driver, in the driver language.
    pub fn driver(&self) -> WrittenDriver {
        (&self.compiled).into()
    }
}

/// Makes an object file, its header and its report, for the machine in the options.
///
/// # Errors
/// The errors of [`object_of_levels`].
pub fn object(program: &Program, model: &ModelInfo, options: &ObjectOptions) -> Result<ObjectFiles, Diagnostics> {
    object_of_levels(&[Level { machine: options.machine, program }], model, options)
}

/// Makes an object file, its header and its report. `levels` are the CPU levels of the object, the preferred one first.
///
/// # Errors
/// The errors of [`compile`]; and a bug's diagnostic if the object cannot be written.
pub fn object_of_levels(levels: &[Level<'_>], model: &ModelInfo, options: &ObjectOptions) -> Result<ObjectFiles, Diagnostics> {
    let driver = DriverOptions {
        name: options.name.clone(),
        profile_hooks: options.profile_hooks,
        weights: if options.weights == WeightsPlace::External { WeightsFrom::File } else { WeightsFrom::Object },
        gpu: options.gpu.clone(),
    };
    let compiled = compile(levels, &model.sha256, options.target, &driver)?;
    write_files(levels, model, options, compiled)
}

/// Writes the files of a compiled program.
pub(crate) fn write_files(
    levels: &[Level<'_>],
    model: &ModelInfo,
    options: &ObjectOptions,
    compiled: CompiledModel,
) -> Result<ObjectFiles, Diagnostics> {
    let interface = &compiled.interface;
    let program = levels[0].program;
    // The lowest level comes first, as in every list of levels.
    let names: Vec<&str> = compiled.levels.iter().rev().copied().collect();
    let record = ModelRecord {
        abi: ABI,
        model_sha256: model.sha256,
        abi_hash: interface.abi_hash,
        footprint: compiled.footprint(),
        version: env!("CARGO_PKG_VERSION").into(),
        target: options.target.name.into(),
        levels: names.join(","),
        name: interface.name.clone(),
    };
    let note = topology(program, options, &record, &compiled);
    let (object, symbols) = Writer::new(&compiled, options).write(program, Some(&record), note)?;
    let weights = compiled.external.as_ref().map(|(header, _)| {
        let mut file = Image::from(header.to_bytes().to_vec());
        file.append(&constants(&compiled.constants, program));
        file
    });
    Ok(ObjectFiles {
        header: header(program, model, &compiled, &record, options.profile_hooks),
        report: report(levels, model, &compiled, &record, object.len()),
        object,
        weights,
        symbols,
        record,
        compiled,
    })
}

/// Returns the topology record, if the weights are external: the requirements for other weights.
pub(super) fn topology(program: &Program, options: &ObjectOptions, record: &ModelRecord, compiled: &CompiledModel) -> Option<Vec<u8>> {
    let external = compiled.external.as_ref()?;
    Some(TopologyRecord::new(program, options, record.levels.clone(), external).to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::section::{Contents, Section};
    use crate::target::target;
    use object::{Object, ObjectSection, ObjectSymbol};

    #[test]
    fn every_section_of_data_has_its_place_and_its_symbol() {
        let (target, program) = (target("aarch64-none-elf").unwrap(), Program::default());
        let options = ObjectOptions::new("net", target, crate::target::level(target, None).unwrap());
        let levels = [Level { machine: options.machine, program: &program }];
        let model = ModelInfo { sha256: [0; 32], file: String::new(), ..ModelInfo::default() };
        let mut compiled = compile(&levels, &model.sha256, target, &DriverOptions { name: "net".into(), ..Default::default() }).unwrap();
        assert_eq!(compiled.data, [], "a model without constants has no weights");
        compiled.data.push(Section { name: "table", alignment: 16, contents: Contents::Bytes(vec![1, 2, 3]) });
        let bytes = write_files(&levels, &model, &options, compiled).unwrap().object.to_vec();
        let file = object::File::parse(&*bytes).unwrap();
        let section = file.section_by_name(".rodata.net_table").unwrap();
        assert_eq!((section.data().unwrap(), section.align()), (&[1, 2, 3][..], 16));
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok("net_table")).unwrap();
        assert_eq!((symbol.section_index(), symbol.size()), (Some(section.index()), 3));
    }
}
