//! Conversion of characters to tokens. Comments, documentation comments included, are dropped.

use std::fmt;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use crate::error::{Error, Position};

/// One word of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name or a keyword.
    Identifier(String),
    /// A number as written, without its sign; its field determines whether it is valid.
    Number(String),
    /// A string, without its quotes.
    Text(String),
    /// One of the punctuation characters in [`SYMBOLS`].
    Symbol(char),
    /// The end of the file.
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Identifier(name) => write!(formatter, "`{name}`"),
            Token::Number(text) => write!(formatter, "the number `{text}`"),
            Token::Text(text) => write!(formatter, "the string {text:?}"),
            Token::Symbol(symbol) => write!(formatter, "`{symbol}`"),
            Token::End => write!(formatter, "the end of the file"),
        }
    }
}

/// A token, with the position of its first character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) token: Token,
    pub(crate) position: Position,
}

/// The punctuation of the language.
const SYMBOLS: &str = "{}[]():;,=.+-";

/// Returns all tokens of `source`, with [`Token::End`] at the end. `file` is only for errors.
pub(crate) fn tokens(file: &Path, source: &str) -> Result<Vec<Located>, Error> {
    let mut lexer = Lexer { file, rest: source.chars().peekable(), position: Position::START };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks_and_comments()?;
        let position = lexer.position;
        let token = lexer.token()?;
        let end = token == Token::End;
        tokens.push(Located { token, position });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    file: &'a Path,
    rest: Peekable<Chars<'a>>,
    /// The position of the next character of `rest`.
    position: Position,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let character = self.rest.next()?;
        if character == '\n' {
            self.position = Position { line: self.position.line + 1, column: 1 };
        } else {
            self.position.column += 1;
        }
        Some(character)
    }

    fn error<T>(&self, position: Position, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::new(self.file, position, message))
    }

    fn skip_blanks_and_comments(&mut self) -> Result<(), Error> {
        while let Some(&character) = self.rest.peek() {
            if character.is_whitespace() || character == '\u{feff}' {
                self.next();
            } else if character == '/' {
                self.skip_comment()?;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn skip_comment(&mut self) -> Result<(), Error> {
        let start = self.position;
        self.next();
        match self.next() {
            Some('/') => {
                while self.rest.peek().is_some_and(|&character| character != '\n') {
                    self.next();
                }
                Ok(())
            }
            Some('*') => {
                let mut previous = ' ';
                while let Some(character) = self.next() {
                    if previous == '*' && character == '/' {
                        return Ok(());
                    }
                    previous = character;
                }
                self.error(start, "this comment is not closed: expected `*/`")
            }
            _ => self.error(start, "expected a comment (`//` or `/*`) after `/`"),
        }
    }

    fn token(&mut self) -> Result<Token, Error> {
        let start = self.position;
        let Some(&first) = self.rest.peek() else {
            return Ok(Token::End);
        };
        if first.is_ascii_alphabetic() || first == '_' {
            Ok(Token::Identifier(self.word()))
        } else if first.is_ascii_digit() {
            Ok(Token::Number(self.number()))
        } else if first == '"' {
            self.string(start)
        } else if SYMBOLS.contains(first) {
            self.next();
            Ok(Token::Symbol(first))
        } else {
            self.error(start, format!("unexpected character {first:?}"))
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(&character) = self.rest.peek() {
            if !character.is_ascii_alphanumeric() && character != '_' {
                break;
            }
            word.push(character);
            self.next();
        }
        word
    }

    /// Takes digits, letters and points; a sign only as part of a decimal exponent.
    fn number(&mut self) -> String {
        let mut text = String::new();
        while let Some(&character) = self.rest.peek() {
            let decimal = !text.starts_with("0x") && !text.starts_with("0X");
            let exponent = decimal && text.ends_with(['e', 'E']);
            let sign = exponent && (character == '+' || character == '-');
            if !character.is_ascii_alphanumeric() && character != '.' && character != '_' && !sign {
                break;
            }
            text.push(character);
            self.next();
        }
        text
    }

    /// Takes a string on one line. Schemas contain only file names and identifiers, so there are no escapes.
    fn string(&mut self, start: Position) -> Result<Token, Error> {
        self.next();
        let mut text = String::new();
        loop {
            let position = self.position;
            match self.next() {
                Some('"') => return Ok(Token::Text(text)),
                Some('\n') | None => {
                    return self.error(start, "this string is not closed: expected `\"`");
                }
                Some('\\') => {
                    return self.error(position, "escapes in strings are not supported");
                }
                Some(character) => text.push(character),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Token> {
        let tokens = tokens(Path::new("t.fbs"), source).unwrap();
        tokens.into_iter().map(|located| located.token).collect()
    }

    fn refusal(source: &str) -> String {
        tokens(Path::new("t.fbs"), source).unwrap_err().to_string()
    }

    #[test]
    fn tells_words_numbers_strings_and_symbols_apart() {
        let identifier = |name: &str| Token::Identifier(name.to_string());
        let number = |text: &str| Token::Number(text.to_string());
        assert_eq!(
            kinds("a_1: -0x1F 2.5e-3 // note\n/* more\n */ \"T.3\""),
            [
                identifier("a_1"),
                Token::Symbol(':'),
                Token::Symbol('-'),
                number("0x1F"),
                number("2.5e-3"),
                Token::Text("T.3".to_string()),
                Token::End,
            ]
        );
    }

    #[test]
    fn counts_lines_and_columns_from_one() {
        let tokens = tokens(Path::new("t.fbs"), "a\n  bb c").unwrap();
        let places: Vec<_> = tokens.iter().map(|token| (token.position.line, token.position.column)).collect();
        assert_eq!(places, [(1, 1), (2, 3), (2, 6), (2, 7)]);
    }

    #[test]
    fn refuses_what_it_cannot_read() {
        assert_eq!(refusal("a\n /* b"), "t.fbs:2:2: this comment is not closed: expected `*/`");
        assert_eq!(refusal("\"ab\nc\""), "t.fbs:1:1: this string is not closed: expected `\"`");
        assert_eq!(refusal("\"a\\n\""), "t.fbs:1:3: escapes in strings are not supported");
        assert_eq!(refusal("a / b"), "t.fbs:1:3: expected a comment (`//` or `/*`) after `/`");
        assert_eq!(refusal("a $"), "t.fbs:1:3: unexpected character '$'");
    }
}
