//! Lengths of sentences in pages and comments.

/// Limit of the words of a sentence.
const MOST_WORDS: usize = 25;
/// Characters that end a sentence.
const ENDS: &[char] = &['.', '?', '!'];

/// Returns the prose of a document, without code and table rows. Items of lists and paragraphs start sentences.
fn prose(text: &str) -> String {
    let mut code = false;
    let line = |line: &&str| {
        if line.starts_with("```") {
            code = !code;
            return false;
        }
        !code && !line.starts_with('|') && !line.starts_with('#')
    };
    let starts = |line: &str| {
        let line = line.trim_start();
        let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        line.is_empty() || line.starts_with("- ") || (after_number.len() < line.len() && after_number.starts_with(". "))
    };
    text.lines().filter(line).map(|line| if starts(line) { ".\n" } else { " " }.to_owned() + line).collect::<String>() + "."
}

/// Returns the sentences with more than `most` words.
fn too_long(prose: &str, most: usize) -> Vec<&str> {
    let (mut long, mut first, mut end) = (vec![], 0, 0);
    for piece in prose.split_inclusive(ENDS) {
        end += piece.len();
        // A dot inside a name or a number does not end a sentence.
        if prose[end..].starts_with(|c: char| !c.is_whitespace() && !"*)".contains(c)) {
            continue;
        }
        if prose[first..end].split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count() > most {
            long.push(prose[first..end].trim());
        }
        first = end;
    }
    long
}

/// Collects the long sentences of several texts, each with the place of its text.
#[derive(Default)]
pub struct LongSentences(Vec<String>);

impl LongSentences {
    /// Looks at a text.
    pub fn look(&mut self, place: &str, text: &str) {
        self.0.extend(too_long(&prose(text), MOST_WORDS).into_iter().map(|sentence| format!("{place}: {sentence}")));
    }

    /// Fails if there are any.
    pub fn assert_none(self) {
        assert!(self.0.is_empty(), "{} sentences of more than {MOST_WORDS} words:\n{}", self.0.len(), self.0.join("\n"));
    }
}

#[test]
fn long_sentences_are_found() {
    let long = format!("Short one. {}end. A `file.rs` here.", "word ".repeat(MOST_WORDS));
    let found = too_long(&long, MOST_WORDS);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("word"));
    let list = format!("A list:\n\n- {0}\n  - {0}\n1. {0}\n\n| {0} | {0} |\n", "word ".repeat(MOST_WORDS));
    assert_eq!(too_long(&prose(&list), MOST_WORDS), Vec::<&str>::new());
    assert_eq!(too_long(&prose(&list), MOST_WORDS - 1).len(), 3);
}
