//! Programs for machines, and the emulators that count what they execute.

use super::machines::{MACHINES, Machine, System};
use super::table::Counts;
use crate::process::{output, root, shown, target};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of counters that this process has made: tests count at the same time, each in a folder of its own.
static COUNTERS: AtomicUsize = AtomicUsize::new(0);

/// A folder for what is built, and the plugins in it.
pub struct Counter {
    pub folder: PathBuf,
}

impl Counter {
    /// Builds the plugins for the emulators that are here.
    ///
    /// # Errors
    /// When an emulator tells no version, or the compiler refuses.
    pub fn new() -> Result<Self, String> {
        let number = COUNTERS.fetch_add(1, Ordering::Relaxed);
        let folder = target().join(format!("count/{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for machine in &MACHINES {
            let emulator = machine.emulator;
            let version = output(Command::new(emulator).arg("--version"))?;
            let version = plugin_version(&version).ok_or_else(|| format!("`{emulator} --version` tells no number"))?;
            let mut command = Command::new("gcc");
            command.args(["-std=c11", "-Wall", "-Wextra", "-O2", "-shared", "-fPIC"]).arg(format!("-DPLUGIN_VERSION={version}"));
            output(command.args(machine.plugin).arg(source("plugin.c")).arg("-o").arg(plugin(&folder, machine)))?;
        }
        Ok(Self { folder })
    }

    /// Builds a program that calls a model twice, the second time between marks. `goal` is what `--optimize` names.
    ///
    /// # Errors
    /// When the model is not compiled, or its call cannot be written without knowing more.
    pub fn build(&self, modelc: &Path, model: &Path, (machine, level): (&Machine, &str), goal: &str) -> Result<PathBuf, String> {
        let file = |name: &str| self.folder.join(name);
        let mut command = Command::new(modelc);
        command.arg(model).args(["--quiet", "--name", "net", "--optimize", goal, "-o"]).arg(file("net.o"));
        match machine.target {
            Some(target) => command.args(["--target", target, "--cpu", level]),
            None => command.args(["--target", level]),
        };
        let tensors = model.with_extension("ptd");
        if tensors.is_file() {
            command.arg("--data").arg(tensors);
        }
        output(&mut command)?;
        if let Some(objcopy) = machine.without_profile {
            output(Command::new(objcopy).args(["-R", ".ARM.attributes"]).arg(file("net.o")))?;
        }
        let read = |path: PathBuf| std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()));
        let text = call(&read(file("net.h"))?).ok_or("extents that are known only when the program runs")?;
        std::fs::write(file("call.c"), text).map_err(|error| format!("call.c: {error}"))?;
        let mut command = Command::new(machine.compiler);
        command.args(machine.flags).args(machine.system.iter().flat_map(system));
        command.args(["-std=c11", "-O1", "-static", "-I"]).arg(source("")).args([file("call.c"), file("net.o")]);
        // A program without a C library has what the compiler itself calls.
        command.args((!machine.board.is_empty()).then_some("-lgcc"));
        output(command.arg("-o").arg(file("call")))?;
        Ok(file("call"))
    }

    /// Counts the instructions that a program executes between its marks, on one of the emulator's processors. `arguments` are further
    /// arguments of the emulator.
    ///
    /// # Errors
    /// When it ends with an error, or without having come to two marks.
    pub fn run(&self, (machine, processor): (&Machine, &str), arguments: &[&OsStr]) -> Result<Counts, String> {
        let mut command = Command::new(machine.emulator);
        command.args(["-cpu", processor, "-plugin"]).arg(plugin(&self.folder, machine)).args(machine.board).args(arguments);
        let ended = command.output().map_err(|error| format!("cannot run `{}`: {error}", shown(&command)))?;
        let said = String::from_utf8_lossy(&ended.stderr);
        if !ended.status.success() {
            return Err(format!("{}: {}", ended.status, said.lines().last().unwrap_or_default()));
        }
        let counted = said.lines().find_map(|line| line.strip_prefix("counted "));
        counted.and_then(|line| Counts::parse(line.split_whitespace())).ok_or_else(|| "the program has come to no marks".into())
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        // Leftover files can be built again.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The plugin of a machine in a folder.
fn plugin(folder: &Path, machine: &Machine) -> PathBuf {
    folder.join(format!("{}.so", machine.emulator))
}

/// Arguments of a compiler that link a program with a system.
fn system(system: &System) -> Vec<String> {
    let folder = root().join(system.folder).display().to_string();
    let sources = system.sources.iter().map(|source| root().join(source).display().to_string());
    [format!("-I{folder}"), format!("-T{folder}/program.ld")].into_iter().chain(sources).collect()
}

/// A file beside this one.
pub fn source(name: &str) -> PathBuf {
    root().join("xtask/src/count").join(name)
}

/// Returns the version of the plugin interface in an emulator, from its printed version.
fn plugin_version(said: &str) -> Option<u32> {
    let (_, rest) = said.split_once("version ")?;
    let major: u32 = rest.split('.').next()?.parse().ok()?;
    Some(if major < 9 { 1 } else { 4 })
}

/// Returns a C program that calls the first method of a header's model, with artificial inputs. `None` if extents are arguments.
fn call(header: &str) -> Option<String> {
    let (_, rest) = header.split_once("/* Method ")?;
    let method = rest.split('.').next()?;
    let [inputs, outputs] = ["inputs", "outputs"].map(|what| {
        let (_, rest) = header.split_once(&format!("typedef struct net_{method}_{what} {{"))?;
        rest.split('}').next()
    });
    let (inputs, outputs) = (inputs?, outputs?);
    if inputs.contains("_shape") || outputs.contains("_shape") {
        return None;
    }
    let (mut buffers, mut body) = (String::new(), String::new());
    for (direction, fields) in [("in", inputs), ("out", outputs)] {
        for index in 0.. {
            let field = format!("*{direction}{index};");
            let Some(line) = fields.lines().find(|line| line.contains(&field)) else { break };
            let bytes = format!("NET_{}_{}{index}_BYTES", method.to_uppercase(), direction.to_uppercase());
            let _ = writeln!(buffers, "static _Alignas(64) unsigned char {direction}{index}[{bytes} + 1];");
            let _ = writeln!(body, "  {direction}.{direction}{index} = (void *){direction}{index};");
            if direction == "in" {
                let _ = writeln!(body, "  fill(in{index}, {bytes}, {});", u8::from(line.contains("float")));
            }
        }
    }
    let call = format!("  CHECK(net_{method}(arena, &in, &out));\n");
    Some(format!(
        "#include \"counted.h\"\n#include \"net.h\"\n\nstatic _Alignas(NET_ARENA_ALIGN) unsigned char arena[NET_ARENA_BYTES];\n{buffers}\n\
         int main(void)\n{{\n  net_{method}_inputs in;\n  net_{method}_outputs out;\n{body}  CHECK(net_init(arena, sizeof arena, NULL));\n\
         {call}  MARK();\n{call}  MARK();\n  return 0;\n}}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::{call, plugin_version};

    #[test]
    fn a_call_follows_the_header() {
        let header = |fields: &str| {
            format!(
                "/* Method run. */\ntypedef struct net_run_inputs {{\n{fields}}} net_run_inputs;\ntypedef struct net_run_outputs {{\n  int8_t *out0;\n}} x;\n"
            )
        };
        let text = call(&header("  const float *in0; /* x */\n  const int8_t *in1; /* y */\n")).expect("a call");
        for part in ["fill(in0, NET_RUN_IN0_BYTES, 1);", "fill(in1, NET_RUN_IN1_BYTES, 0);", "out.out0 = ", "net_run(arena, &in, &out)"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(call(&header("  const float *in0;\n  size_t in0_shape[2];\n")), None);
        assert_eq!(call("nothing"), None);
    }

    #[test]
    fn versions_of_emulators_have_versions_of_plugins() {
        assert_eq!(plugin_version("qemu-aarch64 version 7.2.22 (Debian 1:7.2)"), Some(1));
        assert_eq!(plugin_version("qemu-aarch64 version 10.0.2"), Some(4));
        assert_eq!(plugin_version("no number"), None);
    }
}
