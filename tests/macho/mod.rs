//! Mach-O objects without Apple's systems. LLVM's linker makes a library of one. Its code needs no imports and uses only relative addresses, so
//! its bytes run at the start of any page. They become an array in a program of this system, with the library's symbols.

use object::{Object, ObjectSegment, ObjectSymbol};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns LLVM's linker for Mach-O, under one of its names in distributions.
pub fn linker() -> Option<String> {
    let names = std::iter::once("ld64.lld".to_string()).chain((13..30).map(|version| format!("ld64.lld-{version}")));
    names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// Links an object to a library. `platform` has a name and the versions that the linker requires.
///
/// # Errors
/// The message of the linker.
pub fn library(linker: &str, architecture: &str, platform: [&str; 3], object: &Path) -> Result<Vec<u8>, String> {
    let library = object.with_extension("dylib");
    let mut command = Command::new(linker);
    command.args(["-dylib", "-dead_strip", "-fatal_warnings", "-arch", architecture, "-platform_version"]).args(platform);
    let output = command.arg(object).arg("-o").arg(&library).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    fs::read(&library).map_err(|error| error.to_string())
}

/// Writes a library's code and data with its symbols to an assembler file in `folder`.
///
/// # Errors
/// A message if the library is not a single segment that is loaded as it is in the file, beside the linker's own data.
pub fn as_assembler(library: &[u8], folder: &Path) -> Result<PathBuf, String> {
    let file = object::File::parse(library).map_err(|error| error.to_string())?;
    let own = |name: &str| name != "__LINKEDIT";
    let segments: Vec<_> = file.segments().filter(|segment| segment.name().ok().flatten().is_some_and(own)).collect();
    let [text] = &segments[..] else { return Err(format!("{} segments", segments.len())) };
    let bytes = text.data().map_err(|error| error.to_string())?;
    if bytes.len() as u64 != text.size() {
        return Err("part of the segment is not in the file".into());
    }
    fs::write(folder.join("image"), bytes).map_err(|error| error.to_string())?;
    let mut source = String::from(".section .text.image,\"ax\"\n.balign 16384\nimage:\n.incbin \"image\"\n");
    for symbol in file.symbols().filter(|symbol| symbol.is_global() && symbol.is_definition()) {
        let name = symbol.name().map_err(|error| error.to_string())?;
        let name = name.strip_prefix('_').ok_or_else(|| format!("{name} has no underscore"))?;
        let offset = symbol.address().wrapping_sub(text.address());
        let _ = write!(source, ".globl {name}\n.type {name}, %function\n.set {name}, image + {offset}\n");
    }
    source.push_str(".section .note.GNU-stack,\"\",%progbits\n");
    let path = folder.join("image.s");
    fs::write(&path, source).map_err(|error| error.to_string())?;
    Ok(path)
}
