//! The Rust API: a [`Compiler`] takes settings and turns models into [`Compiled`] ones. The command line and `build.rs` scripts use it.
//!
//! ```no_run
//! # fn main() -> Result<(), modelc::diagnostic::Diagnostics> {
//! let compiled = modelc::Compiler::new().target("aarch64-linux-gnu").name("net").compile_file("model.tflite")?;
//! compiled.write("net.o")?;
//! # Ok(())
//! # }
//! ```

mod gpu;

pub use gpu::{GpuMode, GpuSettings};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::emit::{self, Image, ModelInfo, ObjectFiles, ObjectOptions, Output, OutputKind, RiscvAbi, WeightsPlace};
use crate::frontend::given::Number;
use crate::frontend::{self, Bound, GpuOperators, LoadOptions};
use crate::ir::data::Bytes;
use crate::ir::{Data, Module};
use crate::lower::{self, Goal, Lowered, PlanSource, Threads};
use crate::machine::Machine;
use crate::plan::Effort;
use crate::target::{self, Target};
use crate::{input, pipeline};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a model is compiled for and how. Spellings are those of the command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Target triple; this computer's when absent.
    pub target: Option<String>,
    /// CPU levels with commas between; the target's default when absent.
    pub cpu: Option<String>,
    /// `lp64`, `lp64f` or `lp64d`, for riscv64.
    pub abi: Option<String>,
    /// Prefix of every symbol; the model's stem when absent.
    pub name: Option<String>,
    /// Whether weights are a file of their own.
    pub external_weights: bool,
    /// Section of embedded weights.
    pub weights_section: Option<String>,
    /// Whether the memory plan of the file is kept.
    pub keep_plan: bool,
    /// Whether the planner searches further.
    pub search_longer: bool,
    /// Whether the code is to be small rather than fast.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub small: bool,
    /// For how many threads scratch memory is planned; 0 and 1 are the caller's own alone.
    #[serde(skip_serializing_if = "is_alone")]
    pub threads: u32,
    /// Shapes that replace the file's, by input number.
    pub shapes: Vec<(usize, Vec<u64>)>,
    /// Extents that are known only when the model runs.
    pub bounds: Vec<Bound>,
    /// Values that inputs have in every call, by input number: what the file computes shapes, axes and the like from is then known.
    pub values: Vec<(usize, Vec<Number>)>,
    /// Custom operators left to functions of the application: their names in the file, and those of the functions.
    pub customs: Vec<(String, String)>,
    /// Files of tensors beside an ExecuTorch program (`.ptd`). Paths are kept nowhere.
    #[serde(skip)]
    pub data: Vec<String>,
    /// Whether `on_kernel` is called around every kernel.
    pub profile_hooks: bool,
    /// Rounds after which a loop ends the call with `MODELC_E_ABORTED`; no limit when absent.
    pub max_iterations: Option<u64>,
    /// What is said of GPUs.
    #[serde(skip_serializing_if = "GpuSettings::is_default")]
    pub gpu: GpuSettings,
}

/// Whether threads are the caller's own alone.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_alone(threads: &u32) -> bool {
    *threads < 2
}

/// Compiles models.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    /// What for and how.
    pub settings: Settings,
}

impl Compiler {
    /// A compiler for this computer.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to compile for: a triple as GCC, Rust or the Android NDK spell it.
    #[must_use]
    pub fn target(mut self, triple: &str) -> Self {
        self.settings.target = Some(triple.into());
        self
    }

    /// The CPU level, or several with commas between, among which `init` chooses.
    #[must_use]
    pub fn cpu(mut self, level: &str) -> Self {
        self.settings.cpu = Some(level.into());
        self
    }

    /// The prefix of every symbol; it is made an identifier.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// Weights in a file of their own, which the program loads and hands to `init`.
    #[must_use]
    pub fn external_weights(mut self) -> Self {
        self.settings.external_weights = true;
        self
    }

    /// Small code, which takes longer.
    #[must_use]
    pub fn small(mut self) -> Self {
        self.settings.small = true;
        self
    }

    /// Scratch memory for kernels that run in parts on this number of threads.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.settings.threads = threads;
        self
    }

    /// Another shape for an input.
    #[must_use]
    pub fn shape(mut self, input: usize, shape: &[u64]) -> Self {
        self.settings.shapes.push((input, shape.to_vec()));
        self
    }

    /// Makes an extent of an input one that is known only when the program runs, and at most so large.
    #[must_use]
    pub fn bound(mut self, input: usize, dimension: usize, most: u64) -> Self {
        self.settings.bounds.push(Bound { is_output: false, port: input, dimension, most });
        self
    }

    /// The value that an input has in every call, row by row; a call with another one ends with `MODELC_E_SHAPE`.
    #[must_use]
    pub fn value(mut self, input: usize, numbers: &[Number]) -> Self {
        self.settings.values.push((input, numbers.to_vec()));
        self
    }

    /// Adds a file of tensors beside an ExecuTorch program.
    #[must_use]
    pub fn data(mut self, path: &str) -> Self {
        self.settings.data.push(path.into());
        self
    }

    /// Leaves a custom operator to a function of the application.
    #[must_use]
    pub fn custom(mut self, operator: &str, symbol: &str) -> Self {
        self.settings.customs.push((operator.into(), symbol.into()));
        self
    }

    /// Compiles a model file.
    ///
    /// # Errors
    /// When the file cannot be read; else as [`Compiler::compile`].
    pub fn compile_file(&self, path: impl AsRef<Path>) -> Result<Compiled, Diagnostics> {
        let path = path.as_ref();
        self.compile(input::map(path)?, &path.to_string_lossy())
    }

    /// Compiles a model in memory; `file` is its name in messages and in the header.
    ///
    /// # Errors
    /// Whatever is wrong with the settings or the model.
    pub fn compile(&self, bytes: Arc<dyn Bytes>, file: &str) -> Result<Compiled, Diagnostics> {
        let (target, machines) = self.settings.machines()?;
        let abi = self.settings.riscv_abi(target)?;
        let (module, lowered) = self.lower(bytes.clone(), file)?;
        let stem = || Path::new(file).file_stem().map_or_else(|| "net".into(), |stem| stem.to_string_lossy().into_owned());
        let options = ObjectOptions {
            profile_hooks: self.settings.profile_hooks,
            weights_section: self.settings.weights_section.clone(),
            riscv_abi: abi,
            gpu: self.settings.gpu.options(),
            weights: if self.settings.external_weights { WeightsPlace::External } else { WeightsPlace::Embedded },
            settings: serde_json::to_value(self.settings.of_module(&module)).unwrap_or_default(),
            ..ObjectOptions::new(self.settings.name.clone().unwrap_or_else(stem), target, machines[0])
        };
        let named = if file == input::STANDARD { "standard input" } else { file };
        let info = ModelInfo { sha256: digest(&*bytes), file: named.to_owned(), labels: labels((*bytes).as_ref()) };
        let mut files = emit::object_of_levels(&lowered.levels(), &info, &options)?;
        emit::report::add_plans(&mut files.report, &lowered.program, &module, &files.record);
        let inputs = std::iter::once(file).chain(self.settings.data.iter().map(String::as_str)).map(PathBuf::from).collect();
        Ok(Compiled { module, lowered, options, files, inputs })
    }

    /// The tensor language of a model and the programs it is lowered to: all but machine code.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn lower(&self, bytes: Arc<dyn Bytes>, file: &str) -> Result<(Module, Lowered), Diagnostics> {
        let (target, machines) = self.settings.machines()?;
        let module = pipeline::read(bytes, file, &self.settings.load_options()?)?;
        let options = self.settings.gpu.lowering(target, self.settings.lower_options(machines[0]))?;
        let mut lowered = pipeline::lower_levels(&module, file, options, &machines[1..])?;
        self.settings.gpu.check(&module, &lowered)?;
        lowered.set_max_iterations(self.settings.max_iterations);
        Ok((module, lowered))
    }
}

/// The first list of labels of a model file.
fn labels(bytes: &[u8]) -> Option<(String, Vec<String>)> {
    frontend::labels(bytes).into_iter().next().map(|list| (list.file, list.labels)).filter(|(_, labels)| !labels.is_empty())
}

/// Bytes that are hashed before the memory of their pages is given back.
const HASHED: usize = 16 << 20;

/// The SHA-256 of a model, of which no more than a piece is in memory for it.
fn digest(bytes: &dyn Bytes) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (number, piece) in bytes.as_ref().chunks(HASHED).enumerate() {
        hash.update(piece);
        bytes.release(number * HASHED..number * HASHED + piece.len());
    }
    hash.finalize().into()
}

impl Settings {
    /// The target and the machines of its CPU levels, at least one, the preferred one first.
    ///
    /// # Errors
    /// A usage diagnostic when there is no such target or level.
    pub fn machines(&self) -> Result<(&'static Target, Vec<&'static Machine>), Diagnostic> {
        let target = match &self.target {
            Some(spelling) => target::target(spelling)?,
            None => target::host()?,
        };
        Ok((target, target::levels(target, self.cpu.as_deref())?))
    }

    fn riscv_abi(&self, target: &Target) -> Result<RiscvAbi, Diagnostic> {
        self.abi.as_deref().map_or(Ok(RiscvAbi::default()), |name| RiscvAbi::for_target(name, target))
    }

    /// Those that matter for a module: what is said of GPUs only where something is for one, so that other objects do not depend on it.
    fn of_module(&self, module: &Module) -> Self {
        let gpu = if module.is_for_gpu() { self.gpu.clone() } else { GpuSettings::default() };
        Self { gpu, ..self.clone() }
    }

    /// What the front end is told.
    ///
    /// # Errors
    /// When a file of tensors cannot be read.
    pub fn load_options(&self) -> Result<LoadOptions, Diagnostic> {
        let data = |path: &String| Ok((path.clone(), Data::all_of(input::map(Path::new(path))?)));
        Ok(LoadOptions {
            shapes: self.shapes.clone(),
            bounds: self.bounds.clone(),
            values: self.values.clone(),
            samples: vec![],
            open_constants: self.external_weights,
            customs: self.customs.clone(),
            data: self.data.iter().map(data).collect::<Result<_, Diagnostic>>()?,
            gpu_operators: self.gpu.operators.as_deref().map(GpuOperators::parse).transpose()?,
            most_steps: None,
        })
    }

    /// What lowering is told.
    pub fn lower_options(&self, machine: &'static Machine) -> lower::Options {
        let plan = if self.keep_plan { PlanSource::Program } else { PlanSource::Own };
        let effort = if self.search_longer { Effort::Max } else { Effort::Normal };
        let goal = if self.small { Goal::Size } else { Goal::Speed };
        lower::Options { effort, plan, goal, threads: Threads::new(self.threads), ..lower::Options::new(machine) }
    }
}

/// A compiled model.
#[derive(Debug)]
pub struct Compiled {
    /// In the tensor language.
    pub module: Module,
    /// Its program and memory plans.
    pub lowered: Lowered,
    /// How it was compiled.
    pub options: ObjectOptions,
    /// Object, header, report, weights.
    pub files: ObjectFiles,
    /// The files it was made of, which no output replaces.
    pub inputs: Vec<PathBuf>,
}

impl Compiled {
    /// The object as a static library.
    pub fn archive(&self) -> Image {
        emit::archive(self.options.target.format, &format!("{}.o", self.files.record.name), &self.files.object, &self.files.symbols)
    }

    /// Writes an object, or a static library if the name ends in `.a` or `.lib`; beside it the header, and the weights (`.bin`) where
    /// they are a file of their own. All files are written or none; a header that did not change is left alone.
    ///
    /// # Errors
    /// When a file cannot be written, or would replace the model, or a header that modelc did not make.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Diagnostic> {
        let path = path.as_ref();
        let output = |path: PathBuf, kind: OutputKind, contents: Image| Output { path, kind, contents };
        let object = match is_library(path) {
            true => output(path.to_owned(), OutputKind::Archive, self.archive()),
            false => output(path.to_owned(), OutputKind::Object, self.files.object.clone()),
        };
        let header = output(path.with_extension("h"), OutputKind::Header, self.files.header.clone().into_bytes().into());
        let mut outputs = vec![object, header];
        outputs.extend(self.files.weights.iter().map(|weights| output(path.with_extension("bin"), OutputKind::Weights, weights.clone())));
        let inputs: Vec<&Path> = self.inputs.iter().map(PathBuf::as_path).collect();
        emit::write_all(&outputs, &inputs)
    }
}

/// Whether a file of this name is to be a static library.
pub fn is_library(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "a" || extension == "lib")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The driver of one of the repository's models.
    fn driver(compiler: Compiler, model: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(model);
        compiler.name("net").compile_file(path).unwrap().files.driver.to_string()
    }

    #[test]
    fn drivers_are_printed() {
        let bare = || Compiler::new().target("aarch64-none-elf");
        insta::assert_snapshot!("driver_of_a_branch", driver(bare(), "tests/models/if_plain.tflite"));
        insta::assert_snapshot!("driver_of_a_dynamic_batch", driver(bare().bound(0, 0, 4), "tests/models/composite.tflite"));
        let levels = Compiler::new().target("x86_64-unknown-linux-gnu").cpu("x86-64-v3,x86-64-v2");
        insta::assert_snapshot!("driver_of_levels_and_a_state", driver(levels, "tests/models/if_var.tflite"));
    }
}
