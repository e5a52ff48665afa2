//! Promises of the documents about themselves: short sentences, and valid links.

use super::repository::{files_ending_with, root};
use super::sentences::LongSentences;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::docs::page;
use xtask::docs::site::{self, Site};

/// Limit of the lines of `docs/ARCHITECTURE.md`.
const MOST_LINES: usize = 120;
/// Commands whose `--help` is checked; the first is the compiler itself.
const COMMANDS: &[&[&str]] =
    &[&[], &["run"], &["bench"], &["verify"], &["inspect"], &["ops"], &["targets"], &["weights"], &["runtime"], &["completions"], &["man"]];

/// Returns every document of the repository.
fn documents() -> Vec<PathBuf> {
    files_ending_with(".md")
}

/// Returns the READMEs of all folders, CONTRIBUTING.md and the pages of `docs/`.
fn pages() -> Vec<PathBuf> {
    let is_page = |path: &PathBuf| {
        let folder = path.parent().expect("a document is in a folder");
        folder == root().join("docs") || folder == root() || path.ends_with("README.md")
    };
    documents().into_iter().filter(is_page).collect()
}

/// Returns the output of a command for `--help`, with each paragraph in one line.
fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_modelc")).args(command).arg("--help").output().expect("the compiler runs");
    assert!(output.status.success(), "{command:?} --help");
    String::from_utf8(output.stdout).expect("help is text")
}

#[test]
fn the_architecture_is_one_page() {
    let text = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the page is there");
    assert!(text.lines().count() <= MOST_LINES, "{} lines are more than one page", text.lines().count());
}

/// Each file that the page names for a larger change must be there. A name without a folder is beside the one before it.
#[test]
fn files_of_larger_changes_are_there() {
    let text = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the page is there");
    let (_, section) = text.split_once("## Four larger changes").expect("the page has the section");
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 4, "{section}");
    let compiler = root().join("compiler");
    let mut named = 0;
    for row in rows {
        let files = row.split('|').nth(2).expect("a row has files");
        let mut folder = compiler.clone();
        for name in files.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs") || name.ends_with('/')) {
            let place = [folder.join(name), compiler.join(name), root().join(name)].into_iter().find(|path| path.exists());
            folder = place.unwrap_or_else(|| panic!("no {name} for: {row}")).parent().expect("a file is in a folder").to_owned();
            named += 1;
        }
    }
    assert!(named > 20, "{named} files");
}

/// Some readers know English as their third language.
#[test]
fn sentences_that_strangers_meet_are_short() {
    let mut long = LongSentences::default();
    for page in pages() {
        long.look(&page.display().to_string(), &std::fs::read_to_string(&page).expect("a page is text"));
    }
    for command in COMMANDS {
        for line in help(command).lines() {
            long.look(&format!("modelc {} --help", command.join(" ")), line);
        }
    }
    long.assert_none();
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = vec![];
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document is text");
        for link in page::targets(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") || file.contains(char::is_whitespace) {
                continue;
            }
            let leads_to =
                if file.is_empty() { document.clone() } else { document.parent().expect("documents are in a folder").join(file) };
            let is_there = |anchor: &str| {
                let text = std::fs::read_to_string(&leads_to).unwrap_or_default();
                leads_to.extension().is_none_or(|suffix| suffix != "md") || page::anchors(&text).iter().any(|name| name == anchor)
            };
            if !leads_to.exists() || (!anchor.is_empty() && !is_there(anchor)) {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// A page that nobody finds from the contents is not read.
#[test]
fn the_site_has_every_page_of_docs() {
    let parts = Site::new(root(), None).parts().expect("the contents are read");
    let listed: Vec<PathBuf> = parts.iter().flat_map(|part| &part.pages).map(|(_, path)| root().join(path)).collect();
    let is_page = |path: &PathBuf| path.starts_with(root().join("docs")) && !path.ends_with(site::SUMMARY);
    let forgotten: Vec<PathBuf> = documents().into_iter().filter(|path| is_page(path) && !listed.contains(path)).collect();
    assert_eq!(forgotten, Vec::<PathBuf>::new());
    let twice: Vec<&PathBuf> = listed.iter().enumerate().filter(|(at, path)| listed[..*at].contains(path)).map(|(_, path)| path).collect();
    assert!(twice.is_empty() && listed.iter().all(|path| path.exists()), "{listed:?}");
}

/// Readers of the site need neither the repository nor the web.
#[test]
fn links_of_the_site_stay_in_the_site() {
    let files: BTreeMap<PathBuf, Vec<u8>> = Site::new(root(), None).files().expect("the pages are read").into_iter().collect();
    let mut broken = vec![];
    for (path, bytes) in files.iter().filter(|(path, _)| path.extension().is_some_and(|suffix| suffix == "md" || suffix == "txt")) {
        let text = String::from_utf8_lossy(bytes);
        for link in page::targets(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let file = site::resolved(path, link.split('#').next().unwrap_or_default());
            if !files.contains_key(&file) {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// A list as llmstxt.org has it: a title, a summary, and links with a summary each.
#[test]
fn language_models_get_a_list_of_pages() {
    let files = Site::new(root(), None).files().expect("the pages are read");
    let (_, text) = files.iter().find(|(path, _)| path == Path::new("llms.txt")).expect("the list is there");
    let text = String::from_utf8_lossy(text);
    assert!(text.starts_with("# modelc\n\n> modelc compiles "), "{text}");
    assert!(
        text.contains("\n- [C firmware](firmware.md): This page leads ") && text.contains("\n## Optional\n\n- [Architecture]"),
        "{text}"
    );
    let without: Vec<&str> = text.lines().filter(|line| line.starts_with("- ") && !line.contains("): ")).collect();
    assert_eq!(without, Vec::<&str>::new());
}
