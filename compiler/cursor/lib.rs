//! Position in a text, for the lexers of both languages. Comments extend from `;` to the end of their line.

/// Line and column, from 1, in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// Makes an error at this position.
    pub fn error(self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, column: self.column, message: message.into() }
    }
}

/// An error of a text, with its position.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Text of the error.
    pub message: String,
}

/// The rest of a text, with its position.
#[derive(Clone, Debug)]
pub struct Cursor<'t> {
    /// The unread text.
    pub rest: &'t str,
    /// Position of its first character.
    pub place: Position,
}

impl<'t> Cursor<'t> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'t str) -> Self {
        Self { rest: text, place: Position { line: 1, column: 1 } }
    }

    /// Returns the next character.
    pub fn first(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Takes the next `bytes` bytes, which must end between characters.
    pub fn take(&mut self, bytes: usize) -> &'t str {
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

    /// Takes characters as long as they satisfy a condition.
    pub fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'t str {
        let bytes = self.rest.find(|letter| !is(letter)).unwrap_or(self.rest.len());
        self.take(bytes)
    }

    /// Takes the first of some marks with which the rest begins.
    pub fn take_mark(&mut self, marks: &[&'static str]) -> Option<&'static str> {
        let mark = marks.iter().find(|mark| self.rest.starts_with(**mark))?;
        self.take(mark.len());
        Some(mark)
    }

    /// Skips white space and comments.
    pub fn skip_blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with(';') {
                return;
            }
            self.take_while(|letter| letter != '\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_in_characters() {
        let mut cursor = Cursor::new("é ; what\n  x = 1");
        assert_eq!(cursor.take_while(char::is_alphabetic), "é");
        assert_eq!(cursor.place, Position { line: 1, column: 2 });
        cursor.skip_blanks();
        assert_eq!((cursor.place, cursor.first()), (Position { line: 2, column: 3 }, Some('x')));
        cursor.take(1);
        cursor.skip_blanks();
        assert_eq!(cursor.take_mark(&["==", "="]), Some("="));
        assert_eq!(cursor.take_mark(&["="]), None);
        assert_eq!(cursor.rest, " 1");
    }
}
