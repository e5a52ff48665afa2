//! Text to tokens.

use modelc_cursor::{Cursor, ParseError, Position};

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
    /// The token as errors show it.
    pub fn shown(&self) -> String {
        match self {
            Self::Word(s) | Self::Number(s) => format!("`{s}`"),
            Self::Text(s) => format!("{s:?}"),
            Self::Mark(s) => format!("`{s}`"),
            Self::End => "the end".into(),
        }
    }
}

const MARKS: &[&str] = &["..=", "..", "(", ")", "[", "]", "{", "}", ",", ":", "=", "@"];

/// Splits a text; the last token is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Position)>, ParseError> {
    let mut lexer = Lexer(Cursor::new(text));
    let mut tokens = Vec::new();
    loop {
        lexer.0.skip_blanks();
        let place = lexer.0.place;
        let token = lexer.next()?;
        let end = token == Token::End;
        tokens.push((token, place));
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t>(Cursor<'t>);

impl<'t> Lexer<'t> {
    fn next(&mut self) -> Result<Token, ParseError> {
        let Some(first) = self.0.first() else { return Ok(Token::End) };
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token::Word(self.0.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.').to_owned()));
        }
        if first.is_ascii_digit() || first == '-' {
            return Ok(Token::Number(self.number().to_owned()));
        }
        if first == '"' {
            return self.text();
        }
        match self.0.take_mark(MARKS) {
            Some(mark) => Ok(Token::Mark(mark)),
            None => Err(self.0.place.error(format!("unexpected character {first:?}"))),
        }
    }

    /// A sign, then letters and digits (hexadecimal, exponents, `inf`); a point only in front of a digit, and a sign after `e`.
    fn number(&mut self) -> &'t str {
        let bytes = self.0.rest.as_bytes();
        let at = |i: usize| bytes.get(i).copied().unwrap_or(b' ');
        let hexadecimal = self.0.rest.starts_with("0x");
        let mut length = 1;
        loop {
            let c = at(length);
            let exponent_sign = matches!(c, b'-' | b'+') && !hexadecimal && matches!(at(length - 1), b'e' | b'E');
            let point = c == b'.' && at(length + 1).is_ascii_digit();
            if !(c.is_ascii_alphanumeric() || exponent_sign || point) {
                return self.0.take(length);
            }
            length += 1;
        }
    }

    fn text(&mut self) -> Result<Token, ParseError> {
        let start = self.0.place;
        self.0.take(1);
        let mut value = String::new();
        loop {
            value.push_str(self.0.take_while(|c| c != '"' && c != '\\' && c != '\n'));
            match self.0.first() {
                Some('"') => {
                    self.0.take(1);
                    return Ok(Token::Text(value));
                }
                Some('\\') => value.push(self.escape()?),
                _ => return Err(start.error("the string does not end on its line")),
            }
        }
    }

    /// One of the escapes that Rust's `{:?}` writes.
    fn escape(&mut self) -> Result<char, ParseError> {
        let place = self.0.place;
        self.0.take(1);
        let Some(kind) = self.0.first() else { return Err(place.error("the string does not end")) };
        self.0.take(kind.len_utf8());
        let plain = [('n', '\n'), ('r', '\r'), ('t', '\t'), ('0', '\0'), ('\\', '\\'), ('"', '"'), ('\'', '\'')];
        if let Some((_, c)) = plain.iter().find(|(k, _)| *k == kind) {
            return Ok(*c);
        }
        let code = self.0.rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(code, _)| code.to_owned());
        let Some(code) = code.filter(|_| kind == 'u') else { return Err(place.error("unknown escape")) };
        self.0.take(code.len() + 2);
        let c = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
        c.ok_or_else(|| place.error("no such character"))
    }
}
