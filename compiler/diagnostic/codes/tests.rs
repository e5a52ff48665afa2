//! The registry: numbers, sentences, the page made from it, and a check that all its codes are used.

use super::examples::examples;
use super::{CODES, Code};
use crate::bless;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn page() -> String {
    let mut text = String::from(
        "# Diagnostics\n\nEvery error message of modelc has one of these codes. The message itself has more details, and often a more precise remedy. \
         This page is generated from `compiler/diagnostic/codes.rs`.\n\n\
         | code | kind | meaning | what to do |\n|---|---|---|---|\n",
    );
    for (_, code) in CODES {
        let anchor = code.to_string().to_lowercase();
        let _ = writeln!(text, "| [{code}](#{anchor}) | {} | {} | {} |", code.kind().name(), code.meaning(), code.remedy());
    }
    text += "\n## Examples\n\nWhat modelc prints, for one case of each code. Other cases have other words.\n";
    for (code, example) in examples() {
        let _ = write!(text, "\n### {code}\n\n```\n{example}\n```\n");
    }
    text
}

/// Folder of the repository.
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn the_page_is_what_the_registry_says() {
    bless::text("../../docs/DIAGNOSTICS.md", &page());
}

#[test]
fn numbers_rise_and_sentences_end() {
    assert!(CODES.windows(2).all(|pair| pair[0].1.number() < pair[1].1.number()));
    let is_sentence = |text: &str| text.ends_with('.') && !text.contains('|') && text.len() < 130;
    let wrong: Vec<&Code> = CODES.iter().map(|(_, code)| code).filter(|c| !is_sentence(c.meaning()) || !is_sentence(c.remedy())).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn every_meaning_is_of_one_code() {
    for (position, (name, code)) in CODES.iter().enumerate() {
        let same = CODES[..position].iter().find(|(_, other)| other.meaning() == code.meaning());
        assert!(same.is_none(), "{name} means what {same:?} means");
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        match path.extension() {
            None if path.is_dir() => sources(&path, found),
            Some(extension) if extension == "rs" => found.push(path),
            _ => {}
        }
    }
}

/// The text of each source of the compiler.
pub fn compiler() -> Vec<String> {
    let mut paths = Vec::new();
    sources(&Path::new(REPOSITORY).join("compiler"), &mut paths);
    paths.iter().map(|path| std::fs::read_to_string(path).expect("the file can be read")).collect()
}

#[test]
fn every_code_is_used() {
    let text = compiler().concat();
    let is_used = |name: &str| {
        text.match_indices(&format!("codes::{name}"))
            .any(|(at, found)| !text[at + found.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    };
    let unused: Vec<&str> = CODES.iter().map(|(name, _)| *name).filter(|name| !is_used(name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}
