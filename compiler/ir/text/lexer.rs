//! Text to tokens.

use super::ParseError;

/// The kind of a token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A name: letters, digits, `_` and `.`, not starting with a digit.
    Word(String),
    /// A number as it is written, sign included.
    Number(String),
    /// A string without its quotes, escapes undone.
    Text(String),
    /// A single character, `..=` or `..`.
    Mark(&'static str),
    /// The end.
    End,
}

impl Token {
    /// As errors show it.
    pub fn shown(&self) -> String {
        match self {
            Self::Word(s) | Self::Number(s) => format!("`{s}`"),
            Self::Text(s) => format!("{s:?}"),
            Self::Mark(s) => format!("`{s}`"),
            Self::End => "the end".into(),
        }
    }
}

/// Where a token starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// An error here.
    pub fn error(self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, column: self.column, message: message.into() }
    }
}

const MARKS: &[&str] = &["..=", "..", "(", ")", "[", "]", "{", "}", ",", ":", "=", "@"];

/// Splits a text; the last token is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Position)>, ParseError> {
    let mut lexer = Lexer { rest: text, place: Position { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let place = lexer.place;
        let token = lexer.next()?;
        let end = token == Token::End;
        tokens.push((token, place));
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    rest: &'t str,
    place: Position,
}

impl<'t> Lexer<'t> {
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        for c in taken.chars() {
            if c == '\n' {
                self.place = Position { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let bytes = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        self.take(bytes)
    }

    fn skip_blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with(';') {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn next(&mut self) -> Result<Token, ParseError> {
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token::Word(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.').to_owned()));
        }
        if first.is_ascii_digit() || first == '-' {
            return Ok(Token::Number(self.number().to_owned()));
        }
        if first == '"' {
            return self.text();
        }
        match MARKS.iter().find(|mark| self.rest.starts_with(**mark)) {
            Some(mark) => {
                self.take(mark.len());
                Ok(Token::Mark(mark))
            }
            None => Err(self.place.error(format!("unexpected character {first:?}"))),
        }
    }

    /// A sign, then letters and digits (hexadecimal, exponents, `inf`); a point only in front of a digit, and a sign after `e`.
    fn number(&mut self) -> &'t str {
        let bytes = self.rest.as_bytes();
        let at = |i: usize| bytes.get(i).copied().unwrap_or(b' ');
        let hexadecimal = self.rest.starts_with("0x");
        let mut length = 1;
        loop {
            let c = at(length);
            let exponent_sign = matches!(c, b'-' | b'+') && !hexadecimal && matches!(at(length - 1), b'e' | b'E');
            let point = c == b'.' && at(length + 1).is_ascii_digit();
            if !(c.is_ascii_alphanumeric() || exponent_sign || point) {
                return self.take(length);
            }
            length += 1;
        }
    }

    fn text(&mut self) -> Result<Token, ParseError> {
        let start = self.place;
        self.take(1);
        let mut value = String::new();
        loop {
            value.push_str(self.take_while(|c| c != '"' && c != '\\' && c != '\n'));
            match self.rest.chars().next() {
                Some('"') => {
                    self.take(1);
                    return Ok(Token::Text(value));
                }
                Some('\\') => value.push(self.escape()?),
                _ => return Err(start.error("the string does not end on its line")),
            }
        }
    }

    /// One of the escapes that Rust's `{:?}` writes.
    fn escape(&mut self) -> Result<char, ParseError> {
        let place = self.place;
        self.take(1);
        let Some(kind) = self.rest.chars().next() else { return Err(place.error("the string does not end")) };
        self.take(kind.len_utf8());
        let plain = [('n', '\n'), ('r', '\r'), ('t', '\t'), ('0', '\0'), ('\\', '\\'), ('"', '"'), ('\'', '\'')];
        if let Some((_, c)) = plain.iter().find(|(k, _)| *k == kind) {
            return Ok(*c);
        }
        let code = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(code, _)| code.to_owned());
        let Some(code) = code.filter(|_| kind == 'u') else { return Err(place.error("unknown escape")) };
        self.take(code.len() + 2);
        let c = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
        c.ok_or_else(|| place.error("no such character"))
    }
}
