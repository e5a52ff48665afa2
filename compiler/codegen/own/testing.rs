//! Parts of the tests of encodings.

use std::io::Write;
use std::process::{Command, Stdio};

/// Returns all lists that have one of the choices at each place.
pub fn each_choice<T: Copy>(choices: impl IntoIterator<Item = Vec<T>>) -> Vec<Vec<T>> {
    choices.into_iter().fold(vec![vec![]], |lists: Vec<Vec<T>>, choices| {
        lists.iter().flat_map(|list| choices.iter().map(|&choice| [&list[..], &[choice]].concat())).collect()
    })
}

/// Decodes code with a decoder of GNU binutils. `text` makes the text of an instruction of its name and its operands. `None` if the decoder is not
/// installed.
pub fn decode(tool: &str, options: &[&str], code: &[u8], text: impl Fn(&str, &str) -> String) -> Option<Vec<String>> {
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(code).unwrap();
    let output = Command::new(tool).args(["-D", "-b", "binary"]).args(options).arg(file.path()).output().unwrap();
    let line = |line: &str| {
        let mut columns = line.split('\t').skip(2);
        Some(text(columns.next()?.trim(), columns.next().unwrap_or_default()).trim().to_string())
    };
    Some(String::from_utf8(output.stdout).unwrap().lines().filter_map(line).collect())
}
