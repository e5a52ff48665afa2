//! The decoder of GNU binutils, if it is installed.

use std::io::Write;
use std::process::{Command, Stdio};

/// Decodes code to text: names and operands, without width suffixes. `None` if there is no decoder.
pub fn decode(code: &[u8]) -> Option<Vec<String>> {
    decode_for("arm", code)
}

/// Decodes code of an architecture: see [`decode`].
pub fn decode_for(architecture: &str, code: &[u8]) -> Option<Vec<String>> {
    let tool = "arm-none-eabi-objdump";
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(code).unwrap();
    let output = Command::new(tool).args(["-D", "-b", "binary", "-m", architecture, "-Mforce-thumb"]).arg(file.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let mut columns = line.split('\t').skip(2);
        let name = columns.next()?.trim().trim_end_matches(".w").trim_end_matches(".n");
        let operands = columns.next().unwrap_or_default().split([';', '@']).next()?.trim();
        Some(format!("{name} {operands}").trim().to_string())
    };
    Some(text.lines().filter_map(line).collect())
}
