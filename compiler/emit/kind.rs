//! Kinds of outputs: their names, suffixes and descriptions.

use crate::diagnostic::{Diagnostic, codes};
use std::path::Path;

/// Kind of an output's contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputKind {
    /// An object file.
    Object,
    /// A static library of one object.
    Archive,
    /// A shared library.
    Shared,
    /// External weights.
    Weights,
    /// The C header.
    Header,
    /// The interface as a module of Rust.
    Rust,
    /// The interface as classes of C++.
    Cpp,
    /// The report as JSON.
    Json,
    /// The report as a page.
    Html,
    /// The graphs of the file, for Model Explorer.
    Graph,
    /// The times of a graph's operators, for Model Explorer.
    NodeData,
    /// The trace of each operator.
    Trace,
    /// The tensor language.
    Ir,
    /// The kernel language.
    Kernels,
    /// The driver's language.
    Driver,
    /// Cranelift's language.
    Clif,
    /// Machine code as text.
    Asm,
    /// Memory plans.
    Plan,
    /// Dependencies in Make syntax.
    Depfile,
    /// A file of a package that a build system or a framework reads.
    Build,
    /// A test of the object in C.
    Test,
    /// A benchmark of the object in C.
    Bench,
    /// Arrays in an `.npz` archive.
    Arrays,
    /// A table of measurements.
    Csv,
    /// Addresses of functions, for Linux's perf.
    PerfMap,
}

/// The properties of a kind.
struct Row {
    kind: OutputKind,
    /// Name for `--emit`.
    name: &'static str,
    what: &'static str,
    /// Suffixes; the default comes first.
    suffixes: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row { kind: OutputKind::Object, name: "object", what: "an object file", suffixes: &["o", "obj"] },
    Row { kind: OutputKind::Archive, name: "archive", what: "a static library", suffixes: &["a", "lib"] },
    Row { kind: OutputKind::Shared, name: "shared", what: "a shared library", suffixes: &["so"] },
    Row { kind: OutputKind::Weights, name: "weights", what: "a file of weights", suffixes: &["bin"] },
    Row { kind: OutputKind::Header, name: "header", what: "a C header", suffixes: &["h", "hh", "hxx"] },
    Row { kind: OutputKind::Rust, name: "rust", what: "a module of Rust", suffixes: &["rs"] },
    Row { kind: OutputKind::Cpp, name: "hpp", what: "a header of C++", suffixes: &["hpp"] },
    Row { kind: OutputKind::Json, name: "json", what: "a report in JSON", suffixes: &["json"] },
    Row { kind: OutputKind::Html, name: "html", what: "a page", suffixes: &["html", "htm"] },
    Row { kind: OutputKind::Graph, name: "graph", what: "a graph in JSON", suffixes: &["graph.json"] },
    Row { kind: OutputKind::NodeData, name: "node data", what: "node data in JSON", suffixes: &["nodes.json"] },
    Row { kind: OutputKind::Trace, name: "trace", what: "a trace in JSON", suffixes: &["trace.json"] },
    Row { kind: OutputKind::Ir, name: "ir", what: "a text of the tensor language", suffixes: &["ir"] },
    Row { kind: OutputKind::Kernels, name: "kernels", what: "a text of the kernel language", suffixes: &["kernels"] },
    Row { kind: OutputKind::Driver, name: "driver", what: "a text of the driver's language", suffixes: &["driver"] },
    Row { kind: OutputKind::Clif, name: "clif", what: "a text of Cranelift's language", suffixes: &["clif"] },
    Row { kind: OutputKind::Asm, name: "asm", what: "a listing of machine code", suffixes: &["s", "asm"] },
    Row { kind: OutputKind::Plan, name: "plan", what: "a summary of memory plans", suffixes: &["plan"] },
    Row { kind: OutputKind::Depfile, name: "depfile", what: "a dependency file", suffixes: &["d"] },
    Row { kind: OutputKind::Build, name: "build", what: "a file of a package", suffixes: &["pdsc"] },
    Row { kind: OutputKind::Test, name: "test", what: "the source code of a test", suffixes: &["c"] },
    Row { kind: OutputKind::Bench, name: "bench", what: "the source code of a benchmark", suffixes: &["bench.c"] },
    Row { kind: OutputKind::Arrays, name: "npz", what: "an archive of arrays", suffixes: &["npz"] },
    Row { kind: OutputKind::Csv, name: "csv", what: "a table", suffixes: &["csv"] },
    Row { kind: OutputKind::PerfMap, name: "perf map", what: "a map for perf", suffixes: &["map"] },
];

const INCLUDED: &str = "write an object, -o NET.o; its header, NET.h, is what C and C++ include";

/// Suffixes of kinds that modelc does not write: what users expect, and advice.
const FOREIGN: &[(&[&str], &str, Option<&str>)] = &[
    (&["dylib", "dll"], "a shared library", Some("write an object, -o NET.o, and link it with the linker of the target")),
    (&["exe", "out", "elf", "axf"], "a program", Some("write an object, -o NET.o, and link it with your own code")),
    (&["cc", "cpp", "cxx", "c++", "m", "mm", "inc"], "source code", Some(INCLUDED)),
    (
        &["py", "java", "kt", "swift", "go", "zig", "js", "ts"],
        "source code",
        Some("write an object, -o NET.o, and call it through its C interface"),
    ),
    (&["hex", "uf2", "srec", "img", "dfu"], "a firmware image", Some("write an object, -o NET.o, and link it into the firmware")),
    (&["ll", "bc", "mlir", "wasm"], "code for another compiler", Some("write an object: -o NET.o")),
    (&["tflite", "pte", "bpte", "ptd", "onnx", "pt", "pt2", "pth", "keras", "h5", "gguf", "safetensors", "mlmodel"], "a model", None),
    (&["npy"], "one array", Some("arrays are written to an archive: OUT.npz")),
    (&["zip", "gz", "tar", "tgz", "xz", "zst"], "a packed file", None),
    (&["txt", "md", "pdf", "png", "svg", "xml", "yaml", "yml", "toml", "cmake", "ld"], "a document", None),
];

impl OutputKind {
    /// Returns the kind with this name for `--emit`.
    pub fn from_name(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.kind).filter(|kind| Self::emitted().any(|emitted| emitted == *kind))
    }

    /// Returns the kinds of `--emit`.
    pub fn emitted() -> impl Iterator<Item = Self> {
        let of_commands = [Self::Arrays, Self::Csv, Self::PerfMap, Self::NodeData, Self::Build];
        ROWS.iter().map(|row| row.kind).filter(move |kind| !of_commands.contains(kind))
    }

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.kind == self).unwrap_or(&ROWS[0])
    }

    /// Returns the name for `--emit`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the default suffix.
    pub fn suffix(self) -> &'static str {
        self.row().suffixes[0]
    }

    /// Returns a description: `a C header`.
    pub fn description(self) -> &'static str {
        self.row().what
    }

    /// Tests whether a path names a shared library: `libnet.so`, `libnet.so.1.2`.
    pub fn is_shared(path: &Path) -> bool {
        suffix(path).is_some_and(|suffix| suffix == "so")
    }

    /// Tests whether an equal file is left alone. Its modification time then stays, so that what includes it is not built again.
    pub fn is_kept_if_equal(self) -> bool {
        matches!(self, Self::Header | Self::Rust | Self::Cpp | Self::Build)
    }

    /// Checks that a file's suffix does not belong to another kind.
    ///
    /// # Errors
    /// A usage diagnostic that names the other kind. Unknown suffixes are accepted.
    pub fn check_suffix(self, path: &Path) -> Result<(), Diagnostic> {
        let Some(suffix) = suffix(path) else { return Ok(()) };
        // C++ includes the C header under either name, and programs that read JSON know it by its suffix.
        let is_other = match self {
            Self::Header => suffix == "hpp",
            Self::Bench => suffix == "c",
            Self::Graph | Self::NodeData | Self::Trace => suffix == "json",
            _ => false,
        };
        if is_other || self.row().suffixes.contains(&suffix.as_str()) {
            return Ok(());
        }
        let help = |row: &Row| (row.kind == Self::Test).then_some(INCLUDED);
        let own = ROWS.iter().find(|row| row.suffixes.contains(&suffix.as_str())).map(|row| (row.what, help(row)));
        let foreign = || FOREIGN.iter().find(|(suffixes, ..)| suffixes.contains(&suffix.as_str())).map(|(_, what, help)| (*what, *help));
        // Measurements and texts may have any name that is not a suffix of another kind of modelc.
        let Some((promised, help)) = own.or_else(|| foreign().filter(|(what, _)| self.is_binary() || *what != "a document")) else {
            return Ok(());
        };
        let message = format!("the suffix of {} is for {promised}, but the output is {}", path.display(), self.row().what);
        let error = Diagnostic::new(codes::SUFFIX, message).expected(format!(".{}", self.suffix()), format!(".{suffix}"));
        Err(match help {
            Some(help) => error.help(help),
            None => error,
        })
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Object | Self::Archive | Self::Shared | Self::Weights | Self::Arrays)
    }
}

/// Returns the suffix in lower case; `so` for `libnet.so.1`.
fn suffix(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let numbers = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts: Vec<&str> = name.split('.').skip(1).collect();
    while parts.len() > 1 && parts.contains(&"so") && parts.last().is_some_and(|part| numbers(part)) {
        parts.pop();
    }
    parts.last().map(|part| (*part).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_promise_kinds() {
        let check = |kind: OutputKind, path: &str| kind.check_suffix(Path::new(path)).err().map(|error| error.code);
        for path in ["net.o", "net.obj", "dir.c/net", "net.o.tmp", "net.tflite.o", "NET.O", "/tmp/tmp.Xy7", "net"] {
            assert_eq!(check(OutputKind::Object, path), None, "{path}");
        }
        for path in
            ["net.c", "net.so", "libnet.so.1.2", "net.DLL", "net.exe", "net.h", "net.a", "net.json", "net.s", "net.tflite", "net.txt"]
        {
            assert_eq!(check(OutputKind::Object, path), Some(codes::SUFFIX), "{path}");
        }
        for path in ["net.so", "libnet.so.1", "libnet.so.1.2", "net"] {
            assert_eq!(check(OutputKind::Shared, path), None, "{path}");
        }
        assert_eq!(check(OutputKind::Shared, "net.o").and(check(OutputKind::Shared, "net.dylib")), Some(codes::SUFFIX));
        assert_eq!(check(OutputKind::Html, "page.html").or(check(OutputKind::Plan, "plan.txt")).or(check(OutputKind::Asm, "net.S")), None);
        assert_eq!(check(OutputKind::Header, "net.c").and(check(OutputKind::Arrays, "out.npy")), Some(codes::SUFFIX));
    }

    #[test]
    fn every_kind_has_a_row_and_suffixes_are_of_one() {
        let mut seen = std::collections::BTreeSet::new();
        for row in ROWS {
            assert_eq!(row.kind.name(), row.name);
            assert!(row.suffixes.iter().all(|suffix| seen.insert(*suffix)), "{}", row.name);
        }
        for (suffixes, ..) in FOREIGN {
            assert!(suffixes.iter().all(|suffix| seen.insert(*suffix)), "{suffixes:?}");
        }
        assert_eq!(OutputKind::from_name("asm"), Some(OutputKind::Asm));
        assert_eq!(OutputKind::from_name("npz"), None);
    }
}
