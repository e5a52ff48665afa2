//! Lexer: splits text into tokens.

use modelc_cursor::{Cursor, ParseError, Position};

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
    /// Returns the token's text for errors.
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

const MARKS: [&str; 12] = ["..", "(", ")", "[", "]", "{", "}", ",", ":", "=", "+", "-"];

/// Limit of value numbers, because the parser makes a table of all values.
const MOST_VALUES: u32 = 1 << 22;

/// Splits a text; the last token is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Position)>, ParseError> {
    let mut lexer = Lexer(Cursor::new(text));
    let mut tokens = Vec::new();
    loop {
        lexer.0.skip_blanks();
        let place = lexer.0.place;
        let token = lexer.token()?;
        tokens.push((token, place));
        if tokens.last().is_some_and(|(token, _)| *token == Token::End) {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t>(Cursor<'t>);

impl<'t> Lexer<'t> {
    fn token(&mut self) -> Result<Token, ParseError> {
        let place = self.0.place;
        let mut letters = self.0.rest.chars();
        let Some(first) = letters.next() else { return Ok(Token::End) };
        let signed = first == '-' && letters.next().is_some_and(|next| next.is_ascii_digit() || next == 'i');
        match first {
            '%' => {
                self.0.take(1);
                let digits = self.0.take_while(|letter| letter.is_ascii_digit());
                let number = digits.parse().ok().filter(|&number| number < MOST_VALUES);
                number.map(Token::Value).ok_or_else(|| place.error(format!("`%{digits}` is no value below %{MOST_VALUES}")))
            }
            '@' => {
                self.0.take(1);
                Ok(Token::Kernel(self.0.take_while(|letter| letter != '(' && !letter.is_whitespace()).into()))
            }
            '0'..='9' => Ok(Token::Word(self.number())),
            '-' if signed => {
                let sign = self.0.take(1);
                Ok(Token::Word(format!("{sign}{}", self.number())))
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                Ok(Token::Word(self.0.take_while(|letter| letter.is_ascii_alphanumeric() || "_.".contains(letter)).into()))
            }
            _ => match self.0.take_mark(&MARKS) {
                Some(mark) => Ok(Token::Mark(mark)),
                None => Err(place.error(format!("{first:?} begins nothing"))),
            },
        }
    }

    /// Reads a number without its sign: digits and letters, a point unless another point follows, and the sign of an exponent.
    fn number(&mut self) -> String {
        let mut number = String::new();
        loop {
            number.push_str(self.0.take_while(|letter| letter.is_ascii_alphanumeric()));
            let point = self.0.rest.starts_with('.') && !self.0.rest.starts_with("..") && !number.contains('.');
            let exponent = number.ends_with('e') && !number.starts_with("0x") && self.0.rest.starts_with('-');
            if !point && !exponent {
                return number;
            }
            number.push_str(self.0.take(1));
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
        assert_eq!(shown("a\n  ?"), "2:3: '?' begins nothing");
        assert_eq!(shown("%99999999999"), "1:1: `%99999999999` is no value below %4194304");
        assert_eq!(shown("%"), "1:1: `%` is no value below %4194304");
    }
}
