//! Files made of every program: the object, its header, its report, and the external weights, if any.
//!
//! Equal programs give equal bytes: everything is written in the program's order, without paths and times.

use super::header::header;
use super::image::Image;
use super::info::ModelRecord;
use super::options::{ModelInfo, ObjectOptions, WeightsPlace};
use super::report::report;
use super::topology::TopologyRecord;
use super::writer::{Writer, constants};
use crate::codegen::driver::{DriverOptions, WeightsFrom};
use crate::codegen::{CompiledModel, WrittenDriver, compile};
use crate::diagnostic::Diagnostics;
use crate::interface::ABI;
use crate::program::{Level, Program};

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
        small: options.small,
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
        reference: options.reference.clone(),
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
    use crate::codegen::section::Section;
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
        compiled.data.push(Section::of_bytes("table", 16, vec![1, 2, 3]));
        let bytes = write_files(&levels, &model, &options, compiled).unwrap().object.to_vec();
        let file = object::File::parse(&*bytes).unwrap();
        let section = file.section_by_name(".rodata.net_table").unwrap();
        assert_eq!((section.data().unwrap(), section.align()), (&[1, 2, 3][..], 16));
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok("net_table")).unwrap();
        assert_eq!((symbol.section_index(), symbol.size()), (Some(section.index()), 3));
    }
}
