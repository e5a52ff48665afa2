//! Comments of source files: short sentences, and doc comments that begin with a noun or a verb. A reader then knows from the first word what an
//! item is or does.

use super::repository::files_ending_with;
use super::sentences::LongSentences;

/// Words that begin a clause whose noun comes late or never.
const CLAUSES: &[&str] = &["Whether", "What", "Where", "Which", "Those", "Of", "The same"];

/// Consecutive lines of one comment.
#[derive(PartialEq, Debug)]
struct Comment {
    /// Number of the first line.
    line: usize,
    /// `///`, `//!` or `//`.
    marker: &'static str,
    /// The lines without markers and indentation.
    text: String,
}

impl Comment {
    /// Tests whether it is documentation that begins with a clause.
    fn begins_with_clause(&self) -> bool {
        let begins = |word: &&str| self.text.strip_prefix(*word).is_some_and(|rest| rest.starts_with(' '));
        self.marker != "//" && CLAUSES.iter().any(begins)
    }
}

/// Returns the comments that stand on lines of their own.
fn comments(text: &str) -> Vec<Comment> {
    let mut found: Vec<Comment> = vec![];
    let mut before = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let marker = ["///", "//!", "//"].into_iter().find(|marker| line.starts_with(marker));
        if let Some(marker) = marker {
            let text = line[marker.len()..].trim();
            match found.last_mut().filter(|_| before == Some(marker)) {
                Some(comment) => comment.text += &format!("\n{text}"),
                None => found.push(Comment { line: number + 1, marker, text: text.to_owned() }),
            }
        }
        before = marker;
    }
    found
}

/// Returns the comments of all source files, each with its place.
fn all() -> impl Iterator<Item = (String, Comment)> {
    files_ending_with(".rs").into_iter().flat_map(|path| {
        let text = std::fs::read_to_string(&path).expect("a source file can be read");
        comments(&text).into_iter().map(move |comment| (format!("{}:{}", path.display(), comment.line), comment))
    })
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let wrong: Vec<String> = all().filter(|(_, comment)| comment.begins_with_clause()).map(|(place, _)| place).collect();
    assert!(wrong.is_empty(), "{} doc comments begin with one of {CLAUSES:?}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn comments_are_short_sentences() {
    let mut long = LongSentences::default();
    all().for_each(|(place, comment)| long.look(&place, &comment.text));
    long.assert_none();
}

#[test]
fn comments_are_found() {
    let text =
        "/// Whether it is.\n/// Always.\nfn a() {} // Behind code.\n    //! What it is.\n// What is no documentation.\n/// Offers.\n";
    let comment = |line, marker, text: &str| Comment { line, marker, text: text.to_owned() };
    let expected = [
        comment(1, "///", "Whether it is.\nAlways."),
        comment(4, "//!", "What it is."),
        comment(5, "//", "What is no documentation."),
        comment(6, "///", "Offers."),
    ];
    assert_eq!(comments(text), expected);
    assert_eq!(expected.iter().map(Comment::begins_with_clause).collect::<Vec<_>>(), [true, true, false, false]);
    assert!(!comment(1, "///", "The same.").begins_with_clause());
    assert!(comment(1, "///", "The same of b.").begins_with_clause());
}
