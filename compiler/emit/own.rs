//! Recognises files that modelc made, by their contents: no output replaces another file.

use super::info;
use super::kind::OutputKind;
use super::{depfile, explorer, header, wrappers};
use crate::codegen::weights;
use crate::npz;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The mark by which a kind of file is recognized.
enum Sign {
    /// Bytes at the beginning.
    Beginning(&'static [u8]),
    /// Any of these byte strings, anywhere in the file.
    Holds(&'static [&'static [u8]]),
    /// A predicate of the whole text.
    Text(fn(&str) -> bool),
    /// No mark: files of the kind are always replaced. Their name contains the id of this process.
    Any,
}

/// A symbol of the GPU runtime, whose object has no model record.
const RUNTIME: &[u8] = b"modelc_vulkan_open";

/// The comment of an archive of arrays.
const ARCHIVE: &[u8] = npz::COMMENT.as_bytes();

/// The schema of a report, with the quotation mark of JSON.
const REPORT: &[u8] = b"\"modelc.report/";

/// The schema of a file of graphs.
const GRAPH: &[u8] = b"\"modelc.graph/";

/// The schema of a trace.
const TRACE: &[u8] = b"\"modelc.trace/";

/// The name of node data.
const NODE_DATA: &[u8] = explorer::TIME.as_bytes();

fn sign(kind: OutputKind) -> Sign {
    match kind {
        OutputKind::Object | OutputKind::Archive | OutputKind::Shared => Sign::Holds(&[info::MAGIC, RUNTIME]),
        OutputKind::Weights => Sign::Beginning(&weights::MAGIC),
        OutputKind::Header | OutputKind::Cpp | OutputKind::Test | OutputKind::Bench => Sign::Beginning(header::BEGINNING.as_bytes()),
        OutputKind::Rust => Sign::Beginning(wrappers::RUST_BEGINNING.as_bytes()),
        OutputKind::Json | OutputKind::Html => Sign::Holds(&[REPORT]),
        OutputKind::Graph => Sign::Holds(&[GRAPH]),
        OutputKind::NodeData => Sign::Holds(&[NODE_DATA]),
        OutputKind::Trace => Sign::Holds(&[TRACE]),
        OutputKind::Ir => Sign::Text(is_module),
        OutputKind::Kernels => Sign::Beginning(b"kernel @"),
        OutputKind::Driver => Sign::Beginning(b"function "),
        OutputKind::Clif | OutputKind::Asm => Sign::Text(is_listing),
        OutputKind::Plan => Sign::Text(|text| text.lines().next().is_some_and(|line| line.contains(": scratch ") && line.contains(" B"))),
        OutputKind::Depfile => Sign::Text(depfile::is_own),
        OutputKind::Build => Sign::Text(is_of_package),
        OutputKind::Arrays => Sign::Holds(&[ARCHIVE]),
        OutputKind::Csv => Sign::Beginning(CSV_BEGINNING.as_bytes()),
        OutputKind::PerfMap => Sign::Any,
    }
}

/// The first line of a table of measurements.
pub const CSV_BEGINNING: &str = "run,latency_ns\n";

/// Recognizes a text of the tensor language by its first constant, state, source or function.
fn is_module(text: &str) -> bool {
    ["const0: ", "state0 ", "src0 = ", "func @"].iter().any(|start| text.starts_with(start))
}

/// Recognizes a file of a package by its first comment, which XML has in its second line.
fn is_of_package(text: &str) -> bool {
    text.lines().take(2).any(|line| ["# ", "<!-- "].iter().any(|start| line.starts_with(&format!("{start}Made by modelc "))))
}

/// Recognizes a listing by its first line, which names a function and its CPU level.
fn is_listing(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("; ") && line.contains(" for "))
}

/// Tests whether a file exists, is not empty, and was not made by modelc as this kind of output.
pub fn is_foreign(path: &Path, kind: OutputKind) -> bool {
    if !std::fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() > 0) {
        return false;
    }
    !is_own(path, kind).unwrap_or(false)
}

fn is_own(path: &Path, kind: OutputKind) -> io::Result<bool> {
    /// Limit of the bytes that are read of a text.
    const LONGEST: u64 = 1 << 20;
    let file = File::open(path)?;
    match sign(kind) {
        Sign::Any => Ok(true),
        Sign::Beginning(beginning) => Ok(start(file, beginning.len() as u64)? == beginning),
        Sign::Text(is_own) => Ok(is_own(&String::from_utf8_lossy(&start(file, LONGEST)?))),
        Sign::Holds(signs) => holds(file, signs),
    }
}

fn start(file: File, bytes: u64) -> io::Result<Vec<u8>> {
    let mut found = Vec::new();
    file.take(bytes).read_to_end(&mut found).map(|_| found)
}

/// Searches a reader for any of some byte strings, piece by piece.
fn holds(mut reader: impl Read, signs: &[&[u8]]) -> io::Result<bool> {
    const PIECE: usize = 1 << 20;
    let longest = signs.iter().map(|sign| sign.len()).max().unwrap_or(0);
    let mut window = Vec::new();
    loop {
        let read = reader.by_ref().take(PIECE as u64).read_to_end(&mut window)?;
        if signs.iter().any(|sign| contains(&window, sign)) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        // A mark may cross the boundary between two pieces.
        window.drain(..window.len().saturating_sub(longest.saturating_sub(1)));
    }
}

fn contains(bytes: &[u8], sign: &[u8]) -> bool {
    let Some(&first) = sign.first() else { return false };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte == first) {
        rest = &rest[at..];
        if rest.starts_with(sign) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_found_wherever_they_lie() {
        let mut bytes = vec![b'm'; (1 << 20) - 3];
        assert!(!holds(&*bytes, &[b"modelc net"]).unwrap());
        bytes.extend(b"modelc net and more");
        assert!(holds(&*bytes, &[b"absent", b"modelc net"]).unwrap());
        assert!(!holds(&*bytes, &[b"more and more"]).unwrap());
    }

    #[test]
    fn texts_of_others_are_told_apart() {
        assert!(is_module("const0: i8[1] = [1]\n\nfunc @main(v0: i8[1]) {\n") && !is_module("void func() {}\n"));
        assert!(is_listing("; op000_conv for x86-64-v3\n  push rbp\n") && !is_listing("\t.text\n"));
        assert!(depfile::is_own(&depfile::depfile("a b.o", &["m.tflite", "w.ptd"])));
        for other in ["main.o: main.c a.h\n\na.h:\n", "all:\n\tcc main.c\n", "net.o: \\\n  m.tflite\n\nother:\n", ""] {
            assert!(!depfile::is_own(other), "{other}");
        }
    }
}
