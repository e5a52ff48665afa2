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

/// Formats rows in aligned columns, with two spaces between them. Columns in `right` are aligned to the right. On a terminal, the widest of the
/// other columns are broken into lines that fit.
pub fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    aligned(rows, right, console::terminal_columns())
}

fn aligned(rows: &[Vec<String>], right: &[usize], most: Option<usize>) -> String {
    let widths = fitting(rows, right, most);
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| cut(cell, 0, Some(width))).collect();
        let lines: Vec<Vec<&str>> = cells.iter().map(|cell| cell.split('\n').collect()).collect();
        for number in 0..lines.iter().map(Vec::len).max().unwrap_or(1) {
            let mut line = String::new();
            for (c, (lines, &width)) in lines.iter().zip(&widths).enumerate() {
                let cell = lines.get(number).copied().unwrap_or_default();
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                let (before, after) = if right.contains(&c) { (pad.as_str(), "") } else { ("", pad.as_str()) };
                line.push_str(&format!("{}{before}{cell}{after}", if c > 0 { "  " } else { "" }));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// Returns the widths of columns that fit `most` together. Where words are too long for this, columns are as wide as their cells.
fn fitting(rows: &[Vec<String>], right: &[usize], most: Option<usize>) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |text: &str| text.chars().count();
    let of = |c: usize| rows.iter().filter_map(move |row| row.get(c));
    let natural: Vec<usize> = (0..columns).map(|c| of(c).map(|cell| length(cell)).max().unwrap_or(0)).collect();
    let words = |c: usize| of(c).flat_map(|cell| cell.split(' ')).map(length).max().unwrap_or(0).max(LEAST);
    let mut widths = natural.clone();
    loop {
        let total = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
        let over = total.saturating_sub(most.unwrap_or(total));
        if over == 0 {
            return widths;
        }
        let open = (0..columns).filter(|&c| !right.contains(&c) && widths[c] > words(c));
        let Some(widest) = open.max_by_key(|&c| widths[c]) else { return natural };
        widths[widest] = widths[widest].saturating_sub(over).max(words(widest));
    }
}

/// The least width of a text; a narrower one is not broken.
const LEAST: usize = 12;

/// Breaks a line of text into lines that fit the terminal.
pub fn fitted(line: &str) -> String {
    cut(line, 0, console::terminal_columns())
}

/// Breaks a line of more than `most` columns between words. Continuation lines are indented by `indent`.
fn cut(line: &str, indent: usize, most: Option<usize>) -> String {
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

/// Formats nanoseconds as microseconds.
pub fn microseconds(nanoseconds: f64) -> String {
    format!("{:.2}", nanoseconds / 1e3)
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

    /// The widest column is broken, wherever it stands; numbers and names stay whole.
    #[test]
    fn any_column_fits_the_terminal() {
        let row = |cells: [&str; 4]| cells.map(String::from).to_vec();
        let rows =
            vec![row(["kernel", "MAC", "schedule", "operators"]), row(["op0_conv", "320,000", "products of bytes in fours", "0:CONV_2D"])];
        let text = aligned(&rows, &[1], Some(45));
        let expected = "kernel        MAC  schedule         operators\n\
                        op0_conv  320,000  products of      0:CONV_2D\n\
                        \u{20}                  bytes in fours\n";
        assert_eq!(text, expected);
        assert_eq!(aligned(&rows, &[1], None).lines().count(), 2);
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
