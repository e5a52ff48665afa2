//! The decoder of GNU binutils, where it is installed.

use std::io::Write;
use std::process::{Command, Stdio};

/// The instructions of some code as text: name and operands, without other names for them. `None` where there is no decoder.
pub(super) fn decode(code: &[u8]) -> Option<Vec<String>> {
    let tool = "riscv64-unknown-elf-objdump";
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(code).unwrap();
    let output = Command::new(tool).args(["-D", "-b", "binary", "-mriscv:rv32", "-Mno-aliases,numeric"]).arg(file.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let mut columns = line.split('\t').skip(2);
        let name = columns.next()?.trim();
        let operands = columns.next().unwrap_or_default().split(['#', '<']).next()?.trim();
        Some(format!("{name} {operands}").trim().to_string())
    };
    Some(text.lines().filter_map(line).collect())
}
