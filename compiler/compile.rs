//! Compiling: settings and a model's bytes to an object, its header and its report.

mod gpu;
mod settings;

pub use gpu::{GpuMode, GpuSettings};
pub use settings::Settings;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::emit::{self, Image, ModelInfo, ObjectFiles, ObjectOptions, Output, OutputKind, WeightsPlace};
use crate::frontend;
use crate::input;
use crate::ir::Module;
use crate::ir::data::Bytes;
use crate::lower::Lowered;
use crate::pipeline;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compiles a model in memory; `file` is its name in messages and in the header.
///
/// # Errors
/// Whatever is wrong with the settings or the model.
pub fn compile(settings: &Settings, bytes: Arc<dyn Bytes>, file: &str) -> Result<Compiled, Diagnostics> {
    let (target, machines) = settings.machines()?;
    let abi = settings.riscv_abi(target)?;
    let (module, lowered) = lower(settings, bytes.clone(), file)?;
    let stem = || Path::new(file).file_stem().map_or_else(|| "net".into(), |stem| stem.to_string_lossy().into_owned());
    let options = ObjectOptions {
        profile_hooks: settings.profile_hooks,
        weights_section: settings.weights_section.clone(),
        riscv_abi: abi,
        gpu: settings.gpu.options(),
        weights: if settings.external_weights { WeightsPlace::External } else { WeightsPlace::Embedded },
        settings: serde_json::to_value(settings.of_module(&module)).unwrap_or_default(),
        ..ObjectOptions::new(settings.name.clone().unwrap_or_else(stem), target, machines[0])
    };
    let info = model_info(&*bytes, file);
    let files = object_files(&lowered, &module, &info, &options)?;
    let inputs = std::iter::once(file).chain(settings.data.iter().map(String::as_str)).map(PathBuf::from).collect();
    Ok(Compiled { module, lowered, info, options, files, inputs })
}

/// What is told of a model's file.
pub fn model_info(bytes: &dyn Bytes, file: &str) -> ModelInfo {
    let named = if file == input::STANDARD { "standard input" } else { file };
    ModelInfo { sha256: digest(bytes), file: named.to_owned(), labels: labels(bytes.as_ref()), about: about(bytes.as_ref()) }
}

/// The object of a lowered model, with the report of all that is known of it.
///
/// # Errors
/// As [`emit::object_of_levels`].
pub fn object_files(lowered: &Lowered, module: &Module, info: &ModelInfo, options: &ObjectOptions) -> Result<ObjectFiles, Diagnostics> {
    let mut files = emit::object_of_levels(&lowered.levels(), info, options)?;
    emit::report::add_model(&mut files.report, &lowered.program, module, &files.record);
    Ok(files)
}

/// The tensor language of a model and the programs it is lowered to: all but machine code.
///
/// # Errors
/// As [`compile`].
pub fn lower(settings: &Settings, bytes: Arc<dyn Bytes>, file: &str) -> Result<(Module, Lowered), Diagnostics> {
    let (target, machines) = settings.machines()?;
    let module = pipeline::read(bytes, file, &settings.load_options()?)?;
    let options = settings.gpu.lowering(target, settings.lower_options(machines[0]))?;
    let mut lowered = pipeline::lower_levels(&module, file, options, &machines[1..])?;
    settings.gpu.check(&module, &lowered)?;
    lowered.set_max_iterations(settings.max_iterations);
    Ok((module, lowered))
}

/// What a model file says of the model as a whole, with the names of what is said.
fn about(bytes: &[u8]) -> Vec<(&'static str, String)> {
    frontend::about(bytes).lines().map(|(name, text)| (name, text.to_owned())).collect()
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
    /// In the tensor language.
    #[doc(hidden)]
    pub module: Module,
    /// Its program and memory plans.
    #[doc(hidden)]
    pub lowered: Lowered,
    /// Its file.
    #[doc(hidden)]
    pub info: ModelInfo,
    /// How it was compiled.
    #[doc(hidden)]
    pub options: ObjectOptions,
    /// Object, header, report, weights.
    #[doc(hidden)]
    pub files: ObjectFiles,
    /// The files it was made of, which no output replaces.
    #[doc(hidden)]
    pub inputs: Vec<PathBuf>,
}

impl Compiled {
    /// The object as a static library.
    #[doc(hidden)]
    pub fn archive(&self) -> Image {
        emit::archive(self.options.target.format, &format!("{}.o", self.files.record.name), &self.files.object, &self.files.symbols)
    }

    /// The shared library that programs ask for by a name.
    ///
    /// # Errors
    /// When none is written for the target.
    #[doc(hidden)]
    pub fn shared(&self, soname: &str) -> Result<Image, Diagnostic> {
        emit::shared_library((&self.lowered.program, &self.module), &self.info, &self.options, &self.files, soname)
    }

    /// Writes an object, a static library if the name ends in `.a` or `.lib`, or a shared one if it ends in `.so`; beside it the header, and the
    /// weights (`.bin`) where they are a file of their own. All files are written or none; a header that did not change is left alone.
    ///
    /// # Errors
    /// When a file cannot be written, or would replace the model, or a header that modelc did not make.
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

/// What a file of this name is to be: a library, or an object.
pub fn main_kind(path: &Path) -> OutputKind {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("a" | "lib") => OutputKind::Archive,
        _ if OutputKind::is_shared(path) => OutputKind::Shared,
        _ => OutputKind::Object,
    }
}

/// The name of a file without its folder, by which programs ask for a shared library.
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The driver of one of the repository's models.
    fn driver(settings: Settings, model: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(model);
        compile(&settings.name("net"), input::map(&path).unwrap(), model).unwrap().files.driver().to_string()
    }

    #[test]
    fn drivers_are_printed() {
        let bare = || Settings::new().target("aarch64-none-elf");
        insta::assert_snapshot!("driver_of_a_branch", driver(bare(), "tests/models/if_plain.tflite"));
        insta::assert_snapshot!("driver_of_a_dynamic_batch", driver(bare().bound(0, 0, 4), "tests/models/composite.tflite"));
        let levels = Settings::new().target("x86_64-unknown-linux-gnu").cpu("x86-64-v3,x86-64-v2");
        insta::assert_snapshot!("driver_of_levels_and_a_state", driver(levels, "tests/models/if_var.tflite"));
    }
}
