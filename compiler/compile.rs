//! Compilation of a model's bytes with settings to an object, its header and its report.

mod board;
mod gpu;
mod memory;
mod settings;

pub use board::Excess;
pub use gpu::{GpuMode, GpuSettings};
pub use memory::bytes;
pub use settings::Settings;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::emit::{self, Image, ModelInfo, ObjectFiles, ObjectOptions, Output, OutputKind, WeightsPlace};
use crate::frontend::{self, Reference};
use crate::input;
use crate::ir::Module;
use crate::ir::data::Bytes;
use crate::lower::Lowered;
use crate::pipeline;
use crate::target::Board;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compiles a model in memory; `file` is its name in messages and in the header.
///
/// # Errors
/// Any diagnostic about the settings or the model.
pub fn compile(settings: &Settings, bytes: Arc<dyn Bytes>, file: &str) -> Result<Compiled, Diagnostics> {
    let (target, machines) = settings.machines()?;
    let abi = settings.riscv_abi(target)?;
    let (module, lowered) = lower(settings, bytes.clone(), file)?;
    let stem = || Path::new(file).file_stem().map_or_else(|| "net".into(), |stem| stem.to_string_lossy().into_owned());
    let options = ObjectOptions {
        profile_hooks: settings.profile_hooks,
        small: settings.small,
        weights_section: settings.weights_section.clone(),
        riscv_abi: abi,
        gpu: settings.gpu.options(),
        weights: if settings.external_weights { WeightsPlace::External } else { WeightsPlace::Embedded },
        settings: serde_json::to_value(settings.of_module(&module)).unwrap_or_default(),
        reference: (settings.reference != Reference::default()).then(|| settings.reference.name().to_owned()),
        ..ObjectOptions::new(settings.name.clone().unwrap_or_else(stem), target, machines[0])
    };
    let info = model_info(&*bytes, file);
    let files = object_files(&lowered, &module, &info, &options)?;
    let inputs = std::iter::once(file).chain(settings.data.iter().map(String::as_str)).map(PathBuf::from).collect();
    let board = settings.board();
    Ok(Compiled { module, lowered, info, options, files, inputs, board })
}

/// Returns the facts about a model's file for outputs.
pub fn model_info(bytes: &dyn Bytes, file: &str) -> ModelInfo {
    let named = if file == input::STANDARD { "standard input" } else { file };
    ModelInfo { sha256: digest(bytes), file: named.to_owned(), labels: labels(bytes.as_ref()), about: about(bytes.as_ref()) }
}

/// Makes the object of a lowered model, with a complete report.
///
/// # Errors
/// The errors of [`emit::object_of_levels`].
pub fn object_files(lowered: &Lowered, module: &Module, info: &ModelInfo, options: &ObjectOptions) -> Result<ObjectFiles, Diagnostics> {
    let mut files = emit::object_of_levels(&lowered.levels(), info, options)?;
    emit::report::add_model(&mut files.report, &lowered.program, module, &files.record);
    Ok(files)
}

/// Returns a model in the tensor language, and its lowered programs: the whole compilation before machine code.
///
/// # Errors
/// The errors of [`compile`].
pub fn lower(settings: &Settings, bytes: Arc<dyn Bytes>, file: &str) -> Result<(Module, Lowered), Diagnostics> {
    let (target, machines) = settings.machines()?;
    let module = pipeline::read(bytes, file, &settings.load_options()?)?;
    let options = settings.gpu.lowering(target, settings.lower_options(machines[0])?)?;
    let mut lowered = pipeline::lower_levels(&module, file, options, &machines[1..])?;
    settings.gpu.check(&module, &lowered)?;
    lowered.set_max_iterations(settings.max_iterations);
    Ok((module, lowered))
}

/// Returns the metadata of a whole model, with names.
fn about(bytes: &[u8]) -> Vec<(&'static str, String)> {
    frontend::about(bytes).lines().map(|(name, text)| (name, text.to_owned())).collect()
}

/// Returns the first list of labels of a model file.
fn labels(bytes: &[u8]) -> Option<(String, Vec<String>)> {
    frontend::labels(bytes).into_iter().next().map(|list| (list.file, list.labels)).filter(|(_, labels)| !labels.is_empty())
}

/// Bytes to hash before the memory of their pages is released.
const HASHED: usize = 16 << 20;

/// Returns the SHA-256 of a model. It keeps at most one piece of the file in memory.
fn digest(bytes: &dyn Bytes) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (number, piece) in bytes.as_ref().chunks(HASHED).enumerate() {
        hash.update(piece);
        bytes.release(number * HASHED..number * HASHED + piece.len());
    }
    hash.finalize().into()
}

/// The files that a model is compiled to.
///
/// ```
/// # fn main() -> Result<(), modelc::Error> {
/// let model = modelc::Model::open("tests/models/softmax_untrained_i8.tflite")?;
/// let compiled = model.compile(&modelc::Settings::new().name("net"))?;
/// assert!(compiled.header().contains("NET_ARENA_BYTES") && !compiled.object().is_empty());
/// assert!(compiled.arena_bytes() > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Compiled {
    /// The model in the tensor language.
    #[doc(hidden)]
    pub module: Module,
    /// The program and its memory plans.
    #[doc(hidden)]
    pub lowered: Lowered,
    /// Facts about the model's file.
    #[doc(hidden)]
    pub info: ModelInfo,
    /// Options of the compilation.
    #[doc(hidden)]
    pub options: ObjectOptions,
    /// Object, header, report, weights.
    #[doc(hidden)]
    pub files: ObjectFiles,
    /// The files that were read, which no output may replace.
    #[doc(hidden)]
    pub inputs: Vec<PathBuf>,
    /// The board of `--target`, if its memory is known.
    #[doc(hidden)]
    pub board: Option<Board>,
}

impl Compiled {
    /// Returns the memories of the chosen board that are too small; none if `--target` names no board with known memory.
    #[doc(hidden)]
    pub fn excesses(&self) -> Vec<Excess> {
        self.board.as_ref().map_or(vec![], |board| self.excesses_of(board))
    }

    /// Returns the memories of a board that are too small.
    #[doc(hidden)]
    pub fn excesses_of(&self, board: &Board) -> Vec<Excess> {
        let (footprint, program) = (&self.files.record.footprint, &self.lowered.program);
        board::Needs { footprint, program, options: &self.options }.excesses(board)
    }

    /// Returns the object as a static library.
    #[doc(hidden)]
    pub fn archive(&self) -> Image {
        emit::archive(self.options.target.format, &format!("{}.o", self.files.record.name), &self.files.object, &self.files.symbols)
    }

    /// Returns the shared library that programs load by a name.
    ///
    /// # Errors
    /// A diagnostic if shared libraries of the target cannot be written.
    #[doc(hidden)]
    pub fn shared(&self, soname: &str) -> Result<Image, Diagnostic> {
        emit::shared_library((&self.lowered.program, &self.module), &self.info, &self.options, &self.files, soname)
    }

    /// Writes an object, a static library for `.a` or `.lib`, or a shared library for `.so`. The header and external weights (`.bin`) are
    /// written beside it. All files are written, or none. An unchanged header is left alone.
    ///
    /// # Errors
    /// A diagnostic if a file cannot be written, or if it would replace the model or a header that modelc did not make.
    #[doc(hidden)]
    pub fn write_files(&self, path: &Path) -> Result<(), Diagnostic> {
        let output = |path: PathBuf, kind: OutputKind, contents: Image| Output { path, kind, contents };
        let kind = main_kind(path);
        let contents = match kind {
            OutputKind::Archive => self.archive(),
            OutputKind::Shared => self.shared(&file_name(path))?,
            _ => self.files.object.clone(),
        };
        let object = output(path.to_owned(), kind, contents);
        let header = output(path.with_extension("h"), OutputKind::Header, self.files.header.clone().into_bytes().into());
        let mut outputs = vec![object, header];
        outputs.extend(self.files.weights.iter().map(|weights| output(path.with_extension("bin"), OutputKind::Weights, weights.clone())));
        let inputs: Vec<&Path> = self.inputs.iter().map(PathBuf::as_path).collect();
        emit::write_all(&outputs, &inputs)
    }
}

/// Returns the kind of an output by its file name: a library, or an object.
pub fn main_kind(path: &Path) -> OutputKind {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("a" | "lib") => OutputKind::Archive,
        _ if OutputKind::is_shared(path) => OutputKind::Shared,
        _ => OutputKind::Object,
    }
}

/// Returns the name of a file without its folder, by which programs load a shared library.
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints the driver of one of the repository's models.
    fn driver(settings: Settings, model: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(model);
        compile(&settings.name("net"), input::map(&path).unwrap(), model).unwrap().files.driver().to_string()
    }

    fn snapshot(name: &str, text: &str) {
        crate::bless::text(&format!("compiler/snapshots/{name}.txt"), text);
    }

    #[test]
    fn drivers_are_printed() {
        let bare = || Settings::new().target("aarch64-none-elf");
        snapshot("driver_of_a_branch", &driver(bare(), "tests/models/if_plain.tflite"));
        snapshot("driver_of_a_dynamic_batch", &driver(bare().bound(0, 0, 4), "tests/models/composite.tflite"));
        let levels = Settings::new().target("x86_64-unknown-linux-gnu").cpu("x86-64-v3,x86-64-v2");
        snapshot("driver_of_levels_and_a_state", &driver(levels, "tests/models/if_var.tflite"));
    }
}
