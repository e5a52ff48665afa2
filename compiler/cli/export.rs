//! `modelc export MODEL --as FRAMEWORK -o FOLDER`

use super::console::{message, note};
use super::files::Files;
use super::io::map;
use super::messages::MessageFormat;
use super::options::{Common, ObjectArguments};
use super::outcome::Outcome;
use super::output::{grouped, usage};
use super::progress;
use super::require::{self, Limits, Subject};
use crate::compile::{self, Excess};
use crate::diagnostic::Diagnostics;
use crate::emit::{Built, Framework, ModelRecord, Output, Variant, package, variant_name, variants};
use crate::interface::identifier;
use crate::target::Board;
use crate::{Compiled, Settings};
use clap::Args;
use serde_json::json;
use std::path::Path;

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct Arguments {
    /// A .tflite, .pte or .bpte file; `-` is standard input
    #[arg(help_heading = "Arguments")]
    model: String,
    /// cmake, zephyr, esp-idf, cmsis-pack or arduino
    #[arg(long = "as", value_name = "FRAMEWORK")]
    framework: String,
    /// Folder to write
    #[arg(short, long, value_name = "FOLDER")]
    output: String,
    /// Triple, core or board; repeat it for several [default: this computer]
    #[arg(long = "target", value_name = "TARGET", help_heading = "Target")]
    targets: Vec<String>,
    #[command(flatten)]
    object: ObjectArguments,
    /// Fail above limits: arena<=64K,stack<=2K,flash<=300K
    #[arg(long, value_name = "LIMITS", help_heading = "Memory")]
    require: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

/// Compiles a model for each target, and writes a package for a framework.
///
/// # Errors
/// Any diagnostic about the model, the options or the files.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let framework = Framework::from_name(&arguments.framework)?;
    if arguments.output == "-" {
        return Err(usage("a package is a folder, which standard output cannot take").help("name a folder: -o FOLDER").into());
    }
    let mut settings = Vec::new();
    for target in arguments.targets() {
        settings.push(arguments.object.settings(&arguments.common, target, &arguments.model, &arguments.model)?);
    }
    let mut levels = Vec::new();
    for settings in &settings {
        let (target, machines) = settings.machines()?;
        levels.push((target, machines[0].level));
    }
    let variants = variants(levels.iter().copied());
    let name = identifier(settings[0].name.as_deref().unwrap_or("net"));
    framework.check(&name, &variants)?;
    let files = Files::new(arguments.common.inputs().chain([arguments.model.as_str()]));
    let mut compiled = Vec::new();
    for variant in &variants {
        let is_of = |number: &usize| variant_name(levels[*number].0, levels[*number].1) == variant.name;
        let numbers: Vec<usize> = (0..levels.len()).filter(is_of).collect();
        let boards: Vec<Board> = numbers.iter().filter_map(|&number| settings[number].board()).collect();
        compiled.push(arguments.compiled(&settings[numbers.first().copied().unwrap_or(0)], variant, &boards)?);
    }
    let build =
        |(variant, compiled): (&Variant, &Compiled)| Built::new(variant, &compiled.lowered.program, &compiled.options, &compiled.files);
    let built: Vec<Built> = variants.iter().zip(&compiled).map(build).collect();
    let outputs = package(framework, &name, Path::new(&arguments.output), &built);
    progress::during("writing", || files.write_folder(&outputs))?;
    arguments.tell(&outputs, &variants, &compiled);
    Ok(Outcome::Done)
}

impl Arguments {
    /// Returns the spellings of the targets; `None` is this computer.
    fn targets(&self) -> Vec<Option<&str>> {
        if self.targets.is_empty() { vec![None] } else { self.targets.iter().map(|target| Some(target.as_str())).collect() }
    }

    /// Compiles the model for a variant. `boards` are the boards with its core.
    fn compiled(&self, settings: &Settings, variant: &Variant, boards: &[Board]) -> Result<Compiled, Diagnostics> {
        let model = &self.model;
        let bytes = map(model)?;
        let during = format!("compiling {model} for {}", variant.name);
        let compiled = progress::during(&during, || compile::compile(settings, bytes.clone(), model))?;
        let target = settings.target.as_ref().map_or(String::new(), |target| format!(" --target {target}"));
        let page = format!("modelc inspect {model}{target} --html");
        let limits = self.require.as_deref().map(|text| Limits { text, page: &page });
        let (footprint, lowered) = (&compiled.files.record.footprint, Some(&compiled.lowered));
        let excesses: Vec<Excess> = boards.iter().flat_map(|board| compiled.excesses_of(board)).collect();
        require::check(limits, &Subject { file: model, footprint, lowered, excesses: &excesses })?;
        Ok(compiled)
    }

    /// Reports the package that was written.
    fn tell(&self, outputs: &[Output], variants: &[Variant], compiled: &[Compiled]) {
        let pairs = || variants.iter().zip(compiled.iter().map(|compiled| &compiled.files.record));
        if self.common.messages.quiet {
            return;
        }
        if self.common.messages.format == MessageFormat::Json {
            let variant = |(variant, record): (&Variant, &ModelRecord)| {
                let footprint = &record.footprint;
                json!({
                    "name": variant.name,
                    "target": record.target,
                    "cpu_levels": record.levels.split(',').collect::<Vec<_>>(),
                    "arena_bytes": footprint.arena_bytes(),
                    "stack_bytes": footprint.stack_bytes,
                    "flash_bytes": footprint.flash_bytes(),
                })
            };
            let files: Vec<String> = outputs.iter().map(|output| output.path.display().to_string()).collect();
            let json = json!({
                "schema": "modelc.export/1",
                "framework": self.framework,
                "path": self.output,
                "files": files,
                "variants": pairs().map(variant).collect::<Vec<_>>(),
            });
            return message(&json.to_string());
        }
        note(&format!("{} for {}", self.output, self.framework));
        for (variant, record) in pairs() {
            let bytes = [record.footprint.arena_bytes(), record.footprint.stack_bytes, record.footprint.flash_bytes()].map(grouped);
            note(&format!("  {}: arena {} B; stack {} B; flash {} B", variant.name, bytes[0], bytes[1], bytes[2]));
        }
    }
}
