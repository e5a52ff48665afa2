//! Text to tokens.

use super::ParseError;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A value, by its number.
    Value(u32),
    /// The name of a kernel.
    Kernel(String),
    /// A name, or a number: letters, digits, `_`, `.`, and a sign where a number may have one.
    Word(String),
    /// `..`, `->` or a character.
    Mark(&'static str),
    /// The end of the text.
    End,
}

impl Token {
    /// As errors show it.
    pub fn shown(&self) -> String {
        match self {
            Self::Value(number) => format!("`%{number}`"),
            Self::Kernel(name) => format!("`@{name}`"),
            Self::Word(word) => format!("`{word}`"),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::End => "the end".into(),
        }
    }
}

/// Where a token starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    line: usize,
    column: usize,
}

impl Position {
    /// An error here.
    pub fn error(self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, column: self.column, message: message.into() }
    }
}

const MARKS: [&str; 12] = ["..", "(", ")", "[", "]", "{", "}", ",", ":", "=", "+", "-"];

/// Values with larger numbers are not read: a table of all values is made.
const MOST_VALUES: u32 = 1 << 22;

/// Splits a text; the last token is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Position)>, ParseError> {
    let mut lexer = Lexer { rest: text, place: Position { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let place = lexer.place;
        let token = lexer.token()?;
        tokens.push((token, place));
        if tokens.last().is_some_and(|(token, _)| *token == Token::End) {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    rest: &'t str,
    place: Position,
}

impl<'t> Lexer<'t> {
    /// Takes what has a length in bytes, which is at the start of a character.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        for letter in taken.chars() {
            if letter == '\n' {
                self.place = Position { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    /// Takes letters while they are of a kind.
    fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|letter| !is(letter)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn skip_blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with(';') {
                return;
            }
            self.take_while(|letter| letter != '\n');
        }
    }

    fn token(&mut self) -> Result<Token, ParseError> {
        let place = self.place;
        let mut letters = self.rest.chars();
        let Some(first) = letters.next() else { return Ok(Token::End) };
        let signed = first == '-' && letters.next().is_some_and(|next| next.is_ascii_digit() || next == 'i');
        match first {
            '%' => {
                self.take(1);
                let digits = self.take_while(|letter| letter.is_ascii_digit());
                let number = digits.parse().ok().filter(|&number| number < MOST_VALUES);
                number.map(Token::Value).ok_or_else(|| place.error(format!("`%{digits}` is no value below %{MOST_VALUES}")))
            }
            '@' => {
                self.take(1);
                Ok(Token::Kernel(self.take_while(|letter| letter != '(' && !letter.is_whitespace()).into()))
            }
            '0'..='9' => Ok(Token::Word(self.number())),
            '-' if signed => {
                let sign = self.take(1);
                Ok(Token::Word(format!("{sign}{}", self.number())))
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                Ok(Token::Word(self.take_while(|letter| letter.is_ascii_alphanumeric() || "_.".contains(letter)).into()))
            }
            _ => match MARKS.into_iter().find(|mark| self.rest.starts_with(mark)) {
                Some(mark) => {
                    self.take(mark.len());
                    Ok(Token::Mark(mark))
                }
                None => Err(place.error(format!("{first:?} begins nothing"))),
            },
        }
    }

    /// A number without its sign, digits and letters; a point is part of it unless another follows, a sign after an exponent.
    fn number(&mut self) -> String {
        let mut number = String::new();
        loop {
            number.push_str(self.take_while(|letter| letter.is_ascii_alphanumeric()));
            let point = self.rest.starts_with('.') && !self.rest.starts_with("..") && !number.contains('.');
            let exponent = number.ends_with('e') && !number.starts_with("0x") && self.rest.starts_with('-');
            if !point && !exponent {
                return number;
            }
            number.push_str(self.take(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let tokens = tokens(text).map_err(|error| error.to_string());
        tokens.map_or_else(|error| error, |list| list.iter().map(|(token, _)| token.shown()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn numbers_end_before_ranges_and_signs() {
        assert_eq!(shown("0..-8 step"), "`0` `..` `-8` `step` the end");
        assert_eq!(shown("[%5 - 3]"), "`[` `%5` `-` `3` `]` the end");
        assert_eq!(shown("1.5e-7, -inf, 0x7fc0"), "`1.5e-7` `,` `-inf` `,` `0x7fc0` the end");
        assert_eq!(shown("@a.b-c(x ; what\n}"), "`@a.b-c` `(` `x` `}` the end");
    }

    #[test]
    fn what_is_no_token_is_an_error_with_its_place() {
        assert_eq!(shown("a\n  ?"), "line 2, column 3: '?' begins nothing");
        assert_eq!(shown("%99999999999"), "line 1, column 1: `%99999999999` is no value below %4194304");
        assert_eq!(shown("%"), "line 1, column 1: `%` is no value below %4194304");
    }
}
