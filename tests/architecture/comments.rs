//! Openings of doc comments: a noun or a verb, so that a reader knows from the first word what an item is or does.

use super::repository::files_ending_with;

/// Words that begin a clause whose noun comes late or never.
const CLAUSES: &[&str] = &["Whether", "What", "Where", "Which", "Those", "Of", "The same"];

/// The text of a line of a doc comment.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

/// The numbers of the lines at which a doc comment begins with one of these words.
fn clauses(text: &str) -> Vec<usize> {
    let mut found = vec![];
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        let comment = documentation(line);
        let begins =
            |comment: &str| CLAUSES.iter().any(|word| comment.trim_start().strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')));
        if !inside && comment.is_some_and(begins) {
            found.push(number + 1);
        }
        inside = comment.is_some();
    }
    found
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let mut wrong = vec![];
    for path in files_ending_with(".rs") {
        let text = std::fs::read_to_string(&path).expect("a source file can be read");
        wrong.extend(clauses(&text).into_iter().map(|line| format!("{}:{line}", path.display())));
    }
    assert!(wrong.is_empty(), "{} doc comments begin with one of {CLAUSES:?}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn openings_are_found_and_other_lines_are_not() {
    let text = "/// Whether it is.\nfn a() {}\n    //! What it is.\n/// A noun.\n/// Whether is its second line.\n// What is no documentation.\n/// Offers.\n";
    assert_eq!(clauses(text), [1, 3]);
    assert_eq!(clauses("/// The same.\n"), Vec::<usize>::new());
    assert_eq!(clauses("/// The same of b.\n"), [1]);
}
