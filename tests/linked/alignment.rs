//! A check that the code of objects accesses memory only at multiples of the bytes of an access, by a plugin of the emulator.

use object::{Object, ObjectSymbol, SymbolKind};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the emulator's arguments that check the functions of objects in a program.
///
/// # Errors
/// A message if a file cannot be read, or if the plugin is not compiled.
pub fn arguments(program: &Path, objects: &[PathBuf], emulator: &str) -> Result<[String; 2], String> {
    let mut names = vec![];
    for object in objects {
        names.extend(functions(object)?.into_iter().map(|(name, _)| name));
    }
    checking(&limits(program, &names)?, emulator)
}

/// Returns the emulator's arguments that check code between two addresses.
///
/// # Errors
/// A message if the plugin is not compiled.
pub fn checking(code: &Range<u64>, emulator: &str) -> Result<[String; 2], String> {
    let plugin = plugin(emulator)?;
    Ok(["-plugin".into(), format!("file={},from={:#x},to={:#x}", plugin.display(), code.start, code.end)])
}

/// Returns the addresses of a program between which the functions with some names are. Objects stand one after another, without other code in between.
///
/// # Errors
/// A message if the program cannot be read, or has none of the functions.
pub fn limits(program: &Path, names: &[String]) -> Result<Range<u64>, String> {
    let found = functions(program)?;
    let mut found = found.iter().filter(|(name, _)| names.contains(name)).map(|(_, range)| range.clone());
    let first = found.next().ok_or_else(|| format!("{}: no function of an object", program.display()))?;
    Ok(found.fold(first, |all, range| all.start.min(range.start)..all.end.max(range.end)))
}

/// Lists the functions of a file, with their addresses.
fn functions(path: &Path) -> Result<Vec<(String, Range<u64>)>, String> {
    let said = |error: String| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(|error| said(error.to_string()))?;
    let file = object::File::parse(&bytes[..]).map_err(|error| said(error.to_string()))?;
    let defined = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let ranged = |address: u64, size: u64| (address & !1)..(address & !1) + size;
    Ok(defined.filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), ranged(symbol.address(), symbol.size())))).collect())
}

/// Compiles the plugin for an emulator, once for a test program.
fn plugin(emulator: &str) -> Result<PathBuf, String> {
    static ONCE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONCE.lock();
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let plugin = here.with_extension(format!("{emulator}-alignment.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link/alignment.c");
    let written = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    if written(&plugin) > written(&source) {
        return Ok(plugin);
    }
    let output = Command::new(emulator).arg("--version").output().map_err(|error| format!("{emulator}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = interface(&said).ok_or_else(|| format!("`{emulator} --version` tells no number"))?;
    // The rename ensures that no other process sees a half-written file.
    let fresh = plugin.with_extension(std::process::id().to_string());
    let mut command = Command::new("gcc");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]).arg(format!("-DPLUGIN_VERSION={version}"));
    super::finish(command.arg(&source).arg("-o").arg(&fresh))?;
    fs::rename(&fresh, &plugin).map_err(|error| format!("{}: {error}", plugin.display()))?;
    Ok(plugin)
}

/// Returns the version of the emulator's interface for plugins, from its printed version.
fn interface(said: &str) -> Option<u32> {
    let (_, rest) = said.split_once("version ")?;
    let major: u32 = rest.split('.').next()?.parse().ok()?;
    Some(if major < 9 { 1 } else { 4 })
}
