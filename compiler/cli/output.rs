//! Formats for printing: numbers with thousands separators, aligned tables, diagnostics as JSON.

use super::console;
use crate::diagnostic::{Diagnostic, codes};
pub use crate::plan::thousands as grouped;
use clap::builder::styling::{AnsiColor, Effects, Styles};
use serde_json::json;

/// Colours of messages and of `--help`.
pub const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().effects(Effects::BOLD))
    .valid(AnsiColor::Green.on_default())
    .invalid(AnsiColor::Yellow.on_default());

/// Formats a diagnostic for people, with colours.
pub fn diagnostic_text(diagnostic: &Diagnostic) -> String {
    let text = diagnostic.to_string();
    let (error, label) = (STYLES.get_error(), STYLES.get_literal());
    let paint = |(number, line): (usize, &str)| match line.split_once(": ") {
        Some((head, rest)) if number == 0 => format!("{error}{head}:{error:#} {rest}"),
        Some((head, rest)) if LABELS.contains(&head.trim_start()) => format!("{label}{head}:{label:#} {rest}"),
        _ => line.to_owned(),
    };
    text.lines().enumerate().map(paint).collect::<Vec<_>>().join("\n")
}

/// Labels at the start of a diagnostic's lines.
const LABELS: [&str; 3] = ["expected", "found", "help"];

/// Formats rows in aligned columns, with two spaces between them. Columns in `right` are aligned to the right. On a terminal, the last column
/// is broken into lines that fit.
pub fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    aligned(rows, right, console::terminal_columns())
}

fn aligned(rows: &[Vec<String>], right: &[usize], most: Option<usize>) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            if c > 0 {
                line.push_str("  ");
            }
            let pad = " ".repeat(widths[c] - cell.chars().count());
            if right.contains(&c) {
                line.push_str(&pad);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&pad);
            }
        }
        let indent = widths[..columns.saturating_sub(1)].iter().map(|width| width + 2).sum();
        let fitting = if row.len() == columns { most } else { None };
        text.push_str(&cut(line.trim_end(), indent, fitting));
        text.push('\n');
    }
    text
}

/// Breaks a line of text into lines that fit the terminal.
pub fn fitted(line: &str) -> String {
    cut(line, 0, console::terminal_columns())
}

/// Breaks a line of more than `most` columns between words. Continuation lines are indented by `indent`.
fn cut(line: &str, indent: usize, most: Option<usize>) -> String {
    /// Least width of a text; a narrower one is not broken.
    const LEAST: usize = 20;
    let Some(most) = most.filter(|&most| line.chars().count() > most && most >= indent + LEAST) else { return line.to_owned() };
    let start = line.char_indices().nth(indent).map_or(line.len(), |(at, _)| at);
    let (mut text, mut column) = (line[..start].to_owned(), indent);
    for (number, word) in line[start..].split(' ').enumerate() {
        let width = word.chars().count();
        if number > 0 && column + 1 + width > most {
            text.truncate(text.trim_end().len());
            text.push_str(&format!("\n{}", " ".repeat(indent)));
            column = indent;
        } else if number > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text
}

/// Formats operators of a model by number and name.
pub fn numbered(operators: &[(u32, String)]) -> Vec<String> {
    operators.iter().map(|(index, name)| format!("{index}:{name}")).collect()
}

/// Makes a diagnostic about a mistake on the command line.
pub fn usage(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::OPTION, message)
}

/// Formats a diagnostic as one line of JSON, schema `modelc.diagnostic/1`.
pub fn diagnostic_json(diagnostic: &Diagnostic) -> String {
    let location = &diagnostic.location;
    json!({
        "schema": "modelc.diagnostic/1",
        "severity": "error",
        "code": diagnostic.code.to_string(),
        "kind": diagnostic.kind().name(),
        "message": diagnostic.message,
        "file": location.file,
        "function": location.function,
        "operator_index": location.operator.as_ref().map(|(index, _)| index),
        "operator": location.operator.as_ref().map(|(_, name)| name),
        "tensor": location.tensor,
        "expected": diagnostic.expected,
        "found": diagnostic.found,
        "help": diagnostic.help,
        "places": diagnostic.places,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "1".into()], vec!["long".into(), "1,000".into()]];
        assert_eq!(aligned(&rows, &[1], None), "a         1\nlong  1,000\n");
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn the_last_column_fits_the_terminal() {
        let rows = vec![vec!["name".into(), "one two three four five six".into()], vec!["b".into(), "short".into()]];
        assert_eq!(aligned(&rows, &[], Some(26)), "name  one two three four\n      five six\nb     short\n");
        assert_eq!(aligned(&rows, &[], None).lines().count(), 2);
        assert_eq!(aligned(&rows, &[], Some(10)).lines().count(), 2, "too narrow to read");
    }

    #[test]
    fn colours_change_no_word() {
        let error = Diagnostic::new(codes::OPTION, "a: b").expected("c", "d").help("e");
        let painted = diagnostic_text(&error);
        let plain = anstream::adapter::strip_str(&painted).to_string();
        assert_eq!(plain, error.to_string());
        assert!(painted.contains("\x1b["), "{painted:?}");
    }
}
