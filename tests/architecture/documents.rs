//! What the documents promise of themselves: short sentences, and links that lead somewhere.

use std::path::{Path, PathBuf};

/// The most words of a sentence in `docs/ARCHITECTURE.md`.
const MOST_WORDS: usize = 25;
/// The most lines of that page.
const MOST_LINES: usize = 120;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every document of the repository.
fn documents() -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository can be read").flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap_or_default());
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The prose of a document: neither code nor the rows of tables.
fn prose(text: &str) -> String {
    let mut code = false;
    let line = |line: &&str| {
        if line.starts_with("```") {
            code = !code;
            return false;
        }
        !code && !line.starts_with('|') && !line.starts_with('#')
    };
    // An item of a list starts a sentence.
    text.lines().filter(line).map(|line| if line.is_empty() || line.starts_with("- ") { ". " } else { " " }.to_owned() + line).collect()
}

/// The sentences of prose that have more words than they may.
fn too_long(prose: &str) -> Vec<&str> {
    let ends = |c: char| matches!(c, '.' | ';' | ':' | '?');
    let (mut long, mut first, mut end) = (vec![], 0, 0);
    for piece in prose.split_inclusive(ends) {
        end += piece.len();
        // A dot inside a name or a number ends nothing.
        if prose[end..].starts_with(|c: char| !c.is_whitespace() && c != '*') {
            continue;
        }
        if prose[first..end].split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count() > MOST_WORDS {
            long.push(prose[first..end].trim());
        }
        first = end;
    }
    long
}

#[test]
fn the_architecture_is_one_page_of_short_sentences() {
    let text = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the page is there");
    let long = prose(&text);
    assert_eq!(too_long(&long), Vec::<&str>::new(), "sentences of more than {MOST_WORDS} words");
    assert!(text.lines().count() <= MOST_LINES, "{} lines are more than one page", text.lines().count());
}

#[test]
fn long_sentences_are_found() {
    let long = format!("Short one. {}end. A `file.rs` here.", "word ".repeat(MOST_WORDS));
    assert_eq!(too_long(&long).len(), 1);
    assert!(too_long(&long)[0].starts_with("word"));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = vec![];
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document is text");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let file = link.split('#').next().unwrap_or_default();
            let elsewhere = file.is_empty() || file.contains("://") || file.contains(char::is_whitespace);
            if !elsewhere && !document.parent().expect("documents are in a folder").join(file).exists() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}
