//! An example of each message, in `examples.txt`: a line with the code, then what modelc prints. A test holds the messages to the sources.

use super::CODES;
use super::tests::compiler;
use proc_macro2::{TokenStream, TokenTree};

/// Codes whose messages come from a library: clap words those of the command line.
const WORDED_ELSEWHERE: &[&str] = &["MC0800"];
/// A text of fewer letters says too little: it would fit any message.
const LEAST_LETTERS: usize = 8;

/// The examples by their codes, in the order of the file.
pub fn examples() -> Vec<(&'static str, String)> {
    let mut found: Vec<(&str, String)> = vec![];
    for line in include_str!("examples.txt").lines() {
        if line.len() == 6 && line.starts_with("MC") {
            found.push((line, String::new()));
        } else if let Some((_, text)) = found.last_mut() {
            text.extend([line, "\n"]);
        }
    }
    found.into_iter().map(|(code, text)| (code, text.trim_end().to_owned())).collect()
}

/// A text with gaps, as `format!` has it: what stands between its gaps.
struct Pattern(Vec<String>);

impl Pattern {
    /// The pattern of a string literal; none of other literals, and of those that say too little.
    fn of(literal: &str) -> Option<Self> {
        let text = literal.strip_prefix('"')?.strip_suffix('"')?;
        let (mut pieces, mut characters) = (vec![String::new()], text.chars().peekable());
        while let Some(c) = characters.next() {
            let piece = pieces.last_mut()?;
            match c {
                '\\' => match characters.next()? {
                    '\n' => while characters.next_if(|c| c.is_whitespace()).is_some() {},
                    'n' => piece.push('\n'),
                    other => piece.push(other),
                },
                '{' | '}' if characters.next_if_eq(&c).is_some() => piece.push(c),
                '{' => {
                    let _ = characters.by_ref().find(|&c| c == '}');
                    pieces.push(String::new());
                }
                _ => piece.push(c),
            }
        }
        let letters = pieces.iter().flat_map(|piece| piece.chars()).filter(|c| c.is_alphabetic()).count();
        (letters >= LEAST_LETTERS).then_some(Self(pieces))
    }

    fn fits(&self, message: &str) -> bool {
        let Some((first, rest)) = self.0.split_first() else { return false };
        let Some(mut left) = message.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
        for piece in middle {
            let Some(at) = left.find(piece.as_str()) else { return false };
            left = &left[at + piece.len()..];
        }
        left.ends_with(last.as_str())
    }
}

fn patterns(tokens: TokenStream, found: &mut Vec<Pattern>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => patterns(group.stream(), found),
            TokenTree::Literal(literal) => found.extend(Pattern::of(&literal.to_string())),
            _ => {}
        }
    }
}

#[test]
fn every_code_has_an_example() {
    let with_examples: Vec<String> = examples().into_iter().filter(|(_, text)| !text.is_empty()).map(|(code, _)| code.to_owned()).collect();
    let codes: Vec<String> = CODES.iter().map(|(_, code)| code.to_string()).collect();
    assert_eq!(with_examples, codes, "compiler/diagnostic/codes/examples.txt has another list of codes");
}

/// A message that is worded anew is worded anew in its example, too.
#[test]
fn examples_say_what_sources_say() {
    let mut known = vec![];
    for text in compiler() {
        patterns(text.parse().expect("sources are Rust"), &mut known);
    }
    let is_known = |message: &str| known.iter().any(|pattern| pattern.fits(message));
    for (code, text) in examples().iter().filter(|(code, _)| !WORDED_ELSEWHERE.contains(code)) {
        let first = text.lines().next().unwrap_or_default();
        let message = first.strip_prefix(&format!("error[{code}]: ")).unwrap_or_else(|| panic!("{code}: {first}"));
        assert!(is_known(message), "no source says: {first}");
    }
    // In pieces, for this file is a source, too.
    assert!(!is_known(&["a sentence in", "two pieces"].join(" ")));
}
