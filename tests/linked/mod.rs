//! Objects of models in one C program, which runs them here or under an emulator.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod alignment;
pub mod tools;

use modelc::emit::{Image, ObjectFiles};
use modelc::interface::{has_shape, identifier};
use modelc::ir::Tensor;
use modelc::program::{Method, Port};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A C compiler, and a way to run its programs.
#[derive(Clone, Copy)]
pub struct Tools {
    /// Target of the models.
    pub target: &'static str,
    /// The C compiler.
    pub compiler: &'static str,
    /// Emulator of the program, if this computer cannot run it.
    pub emulator: Option<&'static str>,
    /// CPU level, if it is not the default.
    pub level: Option<&'static str>,
    /// Name of the processor in the emulator, if it is not the default.
    pub processor: Option<&'static str>,
    /// `true` for shared libraries.
    pub is_shared: bool,
    /// `true` for small code.
    pub is_small: bool,
    /// Bytes of a `size_t`.
    pub word: usize,
    /// `true` if code must access memory at multiples of the bytes of an access, which a plugin of the emulator checks.
    pub is_aligned: bool,
    /// Parts of a program where the compiler's C library knows no system.
    pub bare: Option<Bare>,
    /// Board of the emulator, if this runs a whole computer. Files and arguments of its programs are those of this one (semihosting).
    pub board: Option<&'static str>,
}

/// Parts of a program that stand for a system.
#[derive(Clone, Copy)]
pub struct Bare {
    /// Arguments of the compiler.
    pub arguments: &'static [&'static str],
    /// Folder of `tests/link` with headers.
    pub folder: &'static str,
    /// Linker script in this folder.
    pub script: &'static str,
    /// Start-up code and system calls in this folder.
    pub source: &'static str,
}

impl Tools {
    /// Tests whether compiler and emulator are installed.
    pub fn present(self) -> bool {
        let runs = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
        runs(self.compiler) && self.emulator.is_none_or(runs)
    }
}

/// A call of a method.
pub struct Call {
    /// Number of the method.
    pub method: usize,
    /// Its inputs, as they are in memory.
    pub inputs: Vec<Tensor>,
}

/// Outputs of each call.
pub type Outputs = Vec<Vec<Tensor>>;

/// A model of the program.
pub struct Linked<'a> {
    /// Prefix of the object's symbols: lower-case letters and digits.
    pub name: String,
    /// Object and header.
    pub files: &'a ObjectFiles,
    /// The methods of the model.
    pub methods: &'a [Method],
    /// The shared library to link instead of the object.
    pub library: Option<Vec<u8>>,
    /// External weights.
    pub weights: Option<Vec<u8>>,
    /// The calls, in order.
    pub calls: &'a [Call],
}

impl Linked<'_> {
    /// Returns each call with its method.
    fn calls(&self) -> impl Iterator<Item = (&Call, &Method)> {
        self.calls.iter().map(|call| (call, &self.methods[call.method]))
    }

    /// Returns the name of the linked file.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, if self.library.is_some() { "so" } else { "o" })
    }
}

/// Configuration that the program passes to `init` of every model.
#[derive(Clone, Copy, Default)]
pub struct Way {
    /// Features of the CPU; 0 for those that `init` detects.
    pub features: u64,
    /// Number of threads for kernels; 0 runs tasks one after the other, the last first.
    pub threads: Option<u32>,
}

/// Returns the outputs of each call of each model.
///
/// # Errors
/// The errors of [`run_each_way`].
pub fn run(models: &[Linked<'_>], tools: Tools) -> Result<Vec<Outputs>, String> {
    Ok(run_each_way(models, tools, &[Way::default()])?.remove(0))
}

/// Returns the outputs of each call of each model, for each configuration.
///
/// # Errors
/// A message if a tool is missing, or if the program does not compile or fails. The last model in its output is the cause.
pub fn run_each_way(models: &[Linked<'_>], tools: Tools, ways: &[Way]) -> Result<Vec<Vec<Outputs>>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).map_err(|error| error.to_string());
    let (mut text, mut inputs) = (String::new(), Vec::new());
    for model in models {
        write(&model.file(), &model.library.clone().unwrap_or_else(|| model.files.object.to_vec()))?;
        write(&format!("{}.h", model.name), model.files.header.as_bytes())?;
        text.push_str(&program_of(model));
        inputs.extend(model.weights.iter().flatten());
        for (tensor, port) in model.calls().flat_map(|(call, method)| call.inputs.iter().zip(&method.inputs)) {
            let extents: &[u64] = if has_shape(port) { &tensor.shape } else { &[] };
            extents.iter().for_each(|extent| inputs.extend(&extent.to_le_bytes()[..tools.word]));
            inputs.extend(&tensor.bytes);
            // The program always reads the bytes of the largest shape.
            inputs.resize(inputs.len() + (port.bytes as usize).saturating_sub(tensor.bytes.len()), 0);
        }
    }
    text.push_str("#define RUN_ALL(inputs, outputs) \\\n");
    for Linked { name, .. } in models {
        let _ = writeln!(text, "  fputs(\"{name}\\n\", stderr); {name}_run(inputs, outputs); \\");
    }
    text.push('\n');
    write("models.h", text.as_bytes())?;
    write("inputs", &inputs)?;
    let objects: Vec<PathBuf> = models.iter().map(|model| folder.path().join(model.file())).collect();
    let program = compile(folder.path(), "runner.c", &objects, tools)?;
    let checks = match tools.emulator.filter(|_| tools.is_aligned) {
        Some(emulator) => alignment::arguments(&program, &objects, emulator)?.to_vec(),
        None => vec![],
    };
    let files = ["inputs", "outputs"].map(|name| folder.path().join(name));
    let run = |way: &Way| {
        let numbers = [way.features.to_string(), way.threads.map_or_else(|| "alone".into(), |threads| threads.to_string())];
        execute_with(&checks, &program, &[&files[0], &files[1], numbers[0].as_ref(), numbers[1].as_ref()], tools)?;
        let outputs = fs::read(&files[1]).map_err(|error| error.to_string())?;
        all_calls(models, &outputs, tools.word).ok_or_else(|| "the program wrote more or less than the outputs".into())
    };
    ways.iter().map(run).collect()
}

/// Parses the outputs of each call of each model from the output of the program.
fn all_calls(models: &[Linked<'_>], mut outputs: &[u8], word: usize) -> Option<Vec<Outputs>> {
    let all = models.iter().map(|model| model.calls().map(|(_, method)| take(&mut outputs, &method.outputs, word)).collect());
    let all: Option<Vec<Outputs>> = all.collect();
    all.filter(|_| outputs.is_empty())
}

/// Parses the outputs of one call: the shape, if it is dynamic, and the whole buffer.
fn take(bytes: &mut &[u8], ports: &[Port], word: usize) -> Option<Vec<Tensor>> {
    let mut outputs = Vec::new();
    for port in ports {
        let mut shape = port.shape.clone();
        for extent in shape.iter_mut().filter(|_| has_shape(port)) {
            let (low, rest) = bytes.split_at_checked(word)?;
            let mut whole = [0; 8];
            whole[..word].copy_from_slice(low);
            (*extent, *bytes) = (u64::from_le_bytes(whole), rest);
        }
        let (buffer, rest) = bytes.split_at_checked(port.bytes as usize)?;
        *bytes = rest;
        let written = port.element.bytes_for(shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent))?)?;
        outputs.push(Tensor { element: port.element, shape, bytes: buffer.get(..written as usize)?.to_vec() });
    }
    Some(outputs)
}

/// Writes the part of the program that runs one model: `model.h` for the model, and `method.h` for each method that is called.
fn program_of(model: &Linked<'_>) -> String {
    let name = &model.name;
    let mut text = format!("#include \"{name}.h\"\n#define NAMED(rest) {name}##rest\n#define SIZED(rest) {}##rest\n", name.to_uppercase());
    if model.weights.is_some() {
        let _ = writeln!(text, "#define WEIGHTS SIZED(_WEIGHTS_BYTES)");
    }
    text.push_str("#include \"model.h\"\n");
    let called: BTreeSet<usize> = model.calls.iter().map(|call| call.method).collect();
    let prefix = |method: usize| format!("{name}_{}", identifier(&model.methods[method].name));
    for &method in &called {
        text.push_str(&buffers(&prefix(method), &model.methods[method]));
    }
    let _ = writeln!(text, "static void {name}_run(FILE *inputs, FILE *outputs)\n{{\n  unsigned char *arena = {name}_start(inputs);");
    for &method in &called {
        let _ = writeln!(text, "  {}_allocate();", prefix(method));
    }
    for call in model.calls {
        let _ = writeln!(text, "  {}_step(arena, inputs, outputs);", prefix(call.method));
    }
    text.push_str("}\n#undef NAMED\n#undef SIZED\n#undef WEIGHTS\n");
    text
}

/// Writes the definitions that `method.h` needs for one method, and includes `method.h`.
fn buffers(method_name: &str, method: &Method) -> String {
    let mut text = format!("#define METHOD(rest) {method_name}##rest\n");
    let mut allocated = String::new();
    for (direction, ports) in [("in", &method.inputs), ("out", &method.outputs)] {
        for (index, port) in ports.iter().enumerate().filter(|(_, port)| !port.scalar) {
            let alignment = (port.element.bits() / 8).max(1);
            let _ = writeln!(text, "static unsigned char *{method_name}_{direction}{index};");
            let _ = writeln!(allocated, "  {method_name}_{direction}{index} = guarded({}, {alignment});", port.bytes);
        }
    }
    let _ = writeln!(text, "static void {method_name}_allocate(void)\n{{\n{allocated}}}");
    let _ = writeln!(text, "static void {method_name}_read(FILE *file, {method_name}_inputs *in)\n{{\n  (void)file; (void)in;");
    for (index, port) in method.inputs.iter().enumerate() {
        if has_shape(port) {
            let _ = writeln!(text, "  CHECK(fread(in->in{index}_shape, sizeof(size_t), {0}, file) == {0});", port.shape.len());
        }
        let memory = if port.scalar { format!("&in->in{index}") } else { format!("{method_name}_in{index}") };
        let _ = writeln!(text, "  CHECK(fread({memory}, 1, {0}, file) == {0});", port.bytes);
        if !port.scalar {
            let _ = writeln!(text, "  in->in{index} = (void *){memory};");
        }
    }
    let _ = writeln!(text, "}}\nstatic void {method_name}_prepare({method_name}_outputs *out)\n{{\n  (void)out;");
    for (index, _) in method.outputs.iter().enumerate().filter(|(_, port)| !port.scalar) {
        let _ = writeln!(text, "  out->out{index} = (void *){method_name}_out{index};");
    }
    let _ =
        writeln!(text, "}}\nstatic void {method_name}_write(FILE *file, const {method_name}_outputs *out)\n{{\n  (void)file; (void)out;");
    for (index, port) in method.outputs.iter().enumerate() {
        if has_shape(port) {
            let _ = writeln!(text, "  CHECK(fwrite(out->out{index}_shape, sizeof(size_t), {0}, file) == {0});", port.shape.len());
        }
        let memory = if port.scalar { format!("&out->out{index}") } else { format!("{method_name}_out{index}") };
        let _ = writeln!(text, "  CHECK(fwrite({memory}, 1, {0}, file) == {0});", port.bytes);
    }
    text.push_str("}\n#include \"method.h\"\n#undef METHOD\n");
    text
}

/// Compiles a program of a file of `tests/link` with objects, whose headers are in `folder`.
///
/// # Errors
/// A message if the compiler is missing or fails.
pub fn compile(folder: &Path, source: &str, objects: &[PathBuf], tools: Tools) -> Result<PathBuf, String> {
    compile_with(&[], folder, source, objects, tools)
}

/// Compiles a program with options of the compiler. The source is a file of `tests/link`, or has an absolute path.
///
/// # Errors
/// The errors of [`compile`].
pub fn compile_with(options: &[&str], folder: &Path, source: &str, objects: &[PathBuf], tools: Tools) -> Result<PathBuf, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link");
    // Windows requires an extension; it has no effect elsewhere.
    let program = folder.join("program.exe");
    let mut command = Command::new(tools.compiler);
    command.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-I"]).arg(folder).arg("-I").arg(&sources);
    if let Some(bare) = tools.bare {
        let system = sources.join(bare.folder);
        command.args(bare.arguments).args(["-nostartfiles", "-Wl,--fatal-warnings"]);
        command.arg("-I").arg(&system).arg("-T").arg(system.join(bare.script)).arg(system.join(bare.source));
    } else {
        command.arg("-pthread");
    }
    let is_library = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "so");
    command.arg(if objects.iter().any(is_library) { "-Wl,-rpath,$ORIGIN" } else { "-static" });
    // Cores of the M profile share instructions with others, but linkers accept objects of only one profile.
    command.args((tools.word == 4 && tools.bare.is_none()).then_some("-Wl,--no-warn-mismatch"));
    finish(command.args(options).arg(sources.join(source)).args(objects).arg("-o").arg(&program))?;
    Ok(program)
}

/// Runs a program.
///
/// # Errors
/// A message if the emulator is missing, or if the program does not exit with status 0.
pub fn execute(program: &Path, arguments: &[&Path], tools: Tools) -> Result<(), String> {
    execute_with(&[], program, arguments, tools)
}

/// Runs a program, with arguments of the emulator.
///
/// # Errors
/// The errors of [`execute`].
pub fn execute_with(checks: &[String], program: &Path, arguments: &[&Path], tools: Tools) -> Result<(), String> {
    finish(&mut running(checks, program, arguments, tools))
}

/// Returns the command that runs a program, with arguments of the emulator.
pub fn running(checks: &[String], program: &Path, arguments: &[&Path], tools: Tools) -> Command {
    let mut command = match tools.emulator {
        Some(emulator) if tools.board.is_some() => {
            let mut command = Command::new(emulator);
            let words = [program].into_iter().chain(arguments.iter().copied()).map(|word| format!(",arg={}", word.display()));
            command.args(["-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config"]);
            command.arg(words.fold("enable=on,target=native".into(), |all: String, word| all + &word));
            command.arg("-M").args(tools.board).arg("-kernel").arg(program);
            return command;
        }
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.envs(tools.processor.map(|name| ("QEMU_CPU", name))).args(checks).arg(program);
            // The C library for dynamically linked programs.
            command.env("QEMU_LD_PREFIX", format!("/usr/{}", tools.target));
            command
        }
        None => Command::new(program),
    };
    command.args(arguments);
    command
}

fn finish(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}; `cargo xtask setup` installs what the tests use"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{name}: {}: {}", output.status, said.trim_end())) }
}

/// Returns the weights file of an object, if it has one.
pub fn weights_of(files: &ObjectFiles) -> Option<Vec<u8>> {
    files.weights.as_ref().map(Image::to_vec)
}
