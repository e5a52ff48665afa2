//! Files that tests compare with what they find: generated pages, models, and texts of kernels and messages. With `MODELC_BLESS=1` they are written.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fmt::Write;
use std::path::Path;

/// Tests whether files are to be written: `MODELC_BLESS` is set, and not to 0.
pub fn is_wanted() -> bool {
    std::env::var_os("MODELC_BLESS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Compares a file of the repository with a text, or writes it.
///
/// # Panics
/// If they differ, or if the file cannot be written.
pub fn text(path: &str, found: &str) {
    let mut blessing = Blessing::default();
    blessing.text(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), found);
    blessing.finish();
}

/// Files that a test compares or writes, one after the other.
#[derive(Default)]
pub struct Blessing {
    /// Description of each file that differs.
    failures: String,
}

impl Blessing {
    /// Compares a file with a text, or writes it.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn text(&mut self, path: &Path, found: &str) {
        if let Some(expected) = differing(path, found.as_bytes()) {
            let _ = writeln!(self.failures, "{}:\n{}", path.display(), difference(&String::from_utf8_lossy(&expected), found));
        }
    }

    /// Compares a file with bytes, or writes it.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn bytes(&mut self, path: &Path, found: &[u8]) {
        if differing(path, found).is_some() {
            let _ = writeln!(self.failures, "{}: other bytes", path.display());
        }
    }

    /// Adds a failure that no blessing accepts.
    pub fn fail(&mut self, path: &Path, reason: &str) {
        let _ = writeln!(self.failures, "{}: {reason}", path.display());
    }

    /// Ends the comparison.
    ///
    /// # Panics
    /// If a file differs.
    pub fn finish(self) {
        assert!(self.failures.is_empty(), "read what changed, then accept it by MODELC_BLESS=1:\n{}", self.failures);
    }
}

/// Returns the contents of a file that differ from what was found. Writes the file instead, if that is wanted.
fn differing(path: &Path, found: &[u8]) -> Option<Vec<u8>> {
    let expected = std::fs::read(path).unwrap_or_default();
    if expected == found {
        return None;
    }
    if !is_wanted() {
        return Some(expected);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    std::fs::write(path, found).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    None
}

/// Number of lines that a difference shows.
const SHOWN: usize = 12;

/// Formats the lines of two texts between what they have in common at the start and at the end.
fn difference(expected: &str, found: &str) -> String {
    let lists = [expected, found].map(|text| text.lines().collect::<Vec<_>>());
    let [a, b] = &lists;
    let equal = |(a, b): &(&&str, &&str)| a == b;
    let start = a.iter().zip(b).take_while(equal).count();
    let end = a[start..].iter().rev().zip(b[start..].iter().rev()).take_while(equal).count();
    let mut text = format!("  from line {}\n", start + 1);
    for (sign, list) in [('-', a), ('+', b)] {
        let differing = &list[start..list.len() - end];
        differing.iter().take(SHOWN).for_each(|line| text += &format!("  {sign} {line}\n"));
        if differing.len() > SHOWN {
            text += &format!("  {sign} and {} lines more\n", differing.len() - SHOWN);
        }
    }
    text
}
