//! What is made of every program: the object, its header, its report, and the weights where they are a file of their own.
//!
//! Equal programs give equal bytes: everything is written in the program's order, and no path or time is known here.

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

/// The model that an object is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelInfo {
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// The file's name; directories in it are dropped, for outputs hold no paths.
    pub file: String,
    /// The file's list of labels, where it has one: its name, and the labels.
    pub labels: Option<(String, Vec<String>)>,
    /// What the file says of the model as a whole: its description, author and licence, with their names.
    pub about: Vec<(&'static str, String)>,
}

impl ModelInfo {
    /// The name without directories.
    pub fn file_name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

/// How floating-point numbers are passed on riscv64. Entries pass none, so the code is the same; linkers compare the mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RiscvAbi {
    /// In integer registers.
    Lp64,
    /// Binary32 in floating-point registers.
    Lp64f,
    /// Binary64 too.
    #[default]
    Lp64d,
}

impl RiscvAbi {
    /// The ABI of a name of `--abi`.
    ///
    /// # Errors
    /// A usage diagnostic when there is no such ABI.
    pub fn from_name(name: &str) -> Result<Self, Diagnostic> {
        match name {
            "lp64" => Ok(Self::Lp64),
            "lp64f" => Ok(Self::Lp64f),
            "lp64d" => Ok(Self::Lp64d),
            _ => Err(Diagnostic::new(codes::ABI, format!("unknown ABI {name}")).expected("lp64, lp64f or lp64d", name)),
        }
    }

    /// [`Self::from_name`] for a target, of which only riscv64 has a choice.
    ///
    /// # Errors
    /// As there, and for every other target.
    pub fn for_target(name: &str, target: &Target) -> Result<Self, Diagnostic> {
        let abi = Self::from_name(name)?;
        if target.isa == Isa::Riscv64 {
            return Ok(abi);
        }
        Err(Diagnostic::new(codes::ABI, format!("--abi {name} is for riscv64, and {} is not", target.name)))
    }

    /// The mark in `e_flags`.
    pub(super) fn flags(self) -> u32 {
        match self {
            Self::Lp64 => elf::EF_RISCV_FLOAT_ABI_SOFT,
            Self::Lp64f => elf::EF_RISCV_FLOAT_ABI_SINGLE,
            Self::Lp64d => elf::EF_RISCV_FLOAT_ABI_DOUBLE,
        }
    }
}

/// Where the weights are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WeightsPlace {
    /// In the object.
    #[default]
    Embedded,
    /// In a file of their own, which `init` is given.
    External,
}

impl WeightsPlace {
    /// The place of a name of `--weights`.
    ///
    /// # Errors
    /// A usage diagnostic when there is no such place.
    pub fn from_name(name: &str) -> Result<Self, Diagnostic> {
        match name {
            "embed" => Ok(Self::Embedded),
            "external" => Ok(Self::External),
            _ => Err(Diagnostic::new(codes::WEIGHTS_PLACE, format!("unknown place of weights {name}")).expected("embed or external", name)),
        }
    }
}

/// What the object is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectOptions {
    /// Prefix of every name; it is made an identifier.
    pub name: String,
    /// The target.
    pub target: &'static Target,
    /// The preferred CPU level.
    pub machine: &'static Machine,
    /// Whether `on_kernel` is called around every kernel.
    pub profile_hooks: bool,
    /// Section of the weights in place of `.rodata.net_weights`.
    pub weights_section: Option<String>,
    /// The mark in riscv64 objects.
    pub riscv_abi: RiscvAbi,
    /// How the part of the program that is for a GPU runs.
    pub gpu: GpuOptions,
    /// Where the weights are. The program must come from a module with open constants for them to be replaceable.
    pub weights: WeightsPlace,
    /// How the program was made, for whoever makes other weights for it; kept in objects without weights.
    pub settings: serde_json::Value,
}

impl ObjectOptions {
    /// The object of a name for a target, nothing about it unusual.
    pub fn new(name: impl Into<String>, target: &'static Target, machine: &'static Machine) -> Self {
        Self {
            name: name.into(),
            target,
            machine,
            profile_hooks: false,
            weights_section: None,
            riscv_abi: RiscvAbi::default(),
            gpu: GpuOptions::default(),
            weights: WeightsPlace::default(),
            settings: serde_json::Value::Null,
        }
    }
}

/// What is made of a program.
#[derive(Clone, Debug)]
pub struct ObjectFiles {
    /// The object file.
    pub object: Image,
    /// The file of weights, where they are not in the object.
    pub weights: Option<Image>,
    /// The header.
    pub header: String,
    /// The report, schema `modelc.report/1`.
    pub report: serde_json::Value,
    /// Global symbols of the object.
    pub symbols: Vec<String>,
    /// What the object's record says.
    pub record: ModelRecord,
    /// What all this is made of, for what is written only where somebody asks for it.
    pub compiled: CompiledModel,
}

impl ObjectFiles {
    /// The functions of the driver; printed, in the driver's language.
    pub fn driver(&self) -> WrittenDriver {
        (&self.compiled).into()
    }
}

/// Makes an object file, its header and its report, for the machine of the options.
///
/// # Errors
/// As [`object_of_levels`].
pub fn object(program: &Program, model: &ModelInfo, options: &ObjectOptions) -> Result<ObjectFiles, Diagnostics> {
    object_of_levels(&[Level { machine: options.machine, program }], model, options)
}

/// Makes an object file, its header and its report. `levels` are the CPU levels of the object, the preferred one first.
///
/// # Errors
/// As [`compile`]; and a bug's diagnostic when the object cannot be written.
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

/// The files of a compiled program.
pub(crate) fn write_files(
    levels: &[Level<'_>],
    model: &ModelInfo,
    options: &ObjectOptions,
    compiled: CompiledModel,
) -> Result<ObjectFiles, Diagnostics> {
    let interface = &compiled.interface;
    let program = levels[0].program;
    // The least first, as they are listed everywhere.
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
        header: header(program, model, &compiled, &record),
        report: report(levels, model, &compiled, &record, object.len()),
        object,
        weights,
        symbols,
        record,
        compiled,
    })
}

/// What the weights of another model must fit, if they are a file of their own.
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
