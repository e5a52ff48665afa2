//! Packages of a compiled model: a folder with libraries, headers, and the files that a build system or a framework reads.
//!
//! The texts are files in `templates/`. This module chooses places and names.

mod framework;
mod machines;
mod template;
mod variant;

pub use framework::Framework;
pub use machines::variant_name;
use variant::Needs;
pub use variant::{Variant, variants};

use super::arm::has_floats;
use super::object::ObjectFiles;
use super::options::ObjectOptions;
use super::{Image, Output, OutputKind, archive};
use crate::program::Program;
use crate::target::ObjectFormat;
use std::path::Path;
use template::{Words, fill};

/// Version of every package: a model has none.
const VERSION: &str = "1.0.0";

/// A variant with its files.
#[derive(Clone, Debug)]
pub struct Built {
    variant: Variant,
    library_name: String,
    library: Image,
    header: String,
    weights: Option<Image>,
    uses_floats: bool,
}

impl Built {
    /// Takes the files of a compiled program.
    pub fn new(variant: &Variant, program: &Program, options: &ObjectOptions, files: &ObjectFiles) -> Self {
        let (name, format) = (&files.record.name, options.target.format);
        Self {
            variant: Variant { abi: options.riscv_abi, ..variant.clone() },
            library_name: if format == ObjectFormat::Coff { format!("{name}.lib") } else { format!("lib{name}.a") },
            library: archive(format, &format!("{name}.o"), &files.object, &files.symbols),
            header: files.header.clone(),
            weights: files.weights.clone(),
            uses_floats: has_floats(program),
        }
    }

    /// Returns what the variant needs of a core.
    fn needs(&self) -> Needs {
        self.variant.needs(self.uses_floats)
    }

    /// Returns places of the variant's files in the package, without the template's.
    fn outputs(&self, framework: Framework, name: &str) -> Vec<(String, OutputKind, Image)> {
        let header = || self.header.clone().into_bytes().into();
        let folders: Vec<[String; 2]> = match framework {
            Framework::Arduino => self.variant.machine.arduino.iter().map(|mcu| [format!("src/{mcu}"), format!("src/{mcu}")]).collect(),
            _ => vec![[format!("include/{}", self.variant.name), format!("lib/{}", self.variant.name)]],
        };
        let mut outputs = Vec::new();
        for [headers, libraries] in folders {
            outputs.push((format!("{headers}/{name}.h"), OutputKind::Header, header()));
            outputs.push((format!("{libraries}/{}", self.library_name), OutputKind::Archive, self.library.clone()));
            let weights = self.weights.clone().map(|weights| (format!("{libraries}/{name}.bin"), OutputKind::Weights, weights));
            outputs.extend(weights);
        }
        outputs
    }

    fn words(&self, framework: Framework, upper: &str) -> Words {
        let folder = self.variant.machine.arduino.first().copied().unwrap_or_default();
        vec![
            ("VARIANT", self.variant.name.clone()),
            ("LIBRARY", self.library_name.clone()),
            ("FOLDER", folder.to_owned()),
            ("CONDITION", framework.condition(&self.variant, self.needs(), upper)),
        ]
    }
}

/// Returns the files of a package. `folder` is its place, and `name` the model's name.
pub fn package(framework: Framework, name: &str, folder: &Path, built: &[Built]) -> Vec<Output> {
    let upper = name.to_ascii_uppercase();
    let items: Vec<Words> = built.iter().map(|built| built.words(framework, &upper)).collect();
    let variants: Vec<&str> = built.iter().map(|built| built.variant.name.as_str()).collect();
    let chips: Vec<&str> = built.iter().flat_map(|built| built.variant.machine.chips).copied().collect();
    let depends: Vec<String> = built
        .iter()
        .map(|built| framework::kconfig(&built.variant, built.needs(), framework::Words { not: "!", and: " && ", prefix: "" }))
        .collect();
    let words = vec![
        ("NAME", name.to_owned()),
        ("UPPER", upper),
        ("MODELC", env!("CARGO_PKG_VERSION").to_owned()),
        ("VERSION", VERSION.to_owned()),
        ("VARIANTS", variants.join(if framework == Framework::CMake { " " } else { ", " })),
        ("CHIPS", chips.join(", ")),
        ("DEPENDS", depends.join(" || \\\n\t\t   ")),
    ];
    let text = |&(place, template): &(&str, &str)| {
        let kind = if place.ends_with(".h") { OutputKind::Header } else { OutputKind::Build };
        (fill(place, &words, &[]), kind, fill(template, &words, &items).into_bytes().into())
    };
    let of_variants = built.iter().flat_map(|built| built.outputs(framework, name));
    let outputs = framework.templates().iter().map(text).chain(of_variants);
    outputs.map(|(place, kind, contents)| Output { path: folder.join(place), kind, contents }).collect()
}

#[cfg(test)]
mod tests;
