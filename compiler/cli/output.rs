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

/// Formats rows in aligned columns, with two spaces between them. Columns in `right` are aligned to the right: numbers, which stay whole. On a
/// terminal, other columns are broken into lines that fit. If that is not enough, the last column goes below the others.
pub fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    aligned(rows, right, console::terminal_columns())
}

fn aligned(rows: &[Vec<String>], right: &[usize], most: Option<usize>) -> String {
    let Layout { widths, is_below } = Layout::new(rows, right, most);
    let mut text = String::new();
    for row in rows {
        let beside = row.len().min(widths.len());
        let cells: Vec<Vec<String>> = row[..beside].iter().zip(&widths).map(|(cell, &width)| lines(cell, width)).collect();
        for number in 0..cells.iter().map(Vec::len).max().unwrap_or(1) {
            let mut line = String::new();
            for (c, (lines, &width)) in cells.iter().zip(&widths).enumerate() {
                let cell = lines.get(number).map_or("", String::as_str);
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                let (before, after) = if right.contains(&c) { (pad.as_str(), "") } else { ("", pad.as_str()) };
                line.push_str(&format!("{}{before}{cell}{after}", if c > 0 { "  " } else { "" }));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for cell in row[beside..].iter().filter(|cell| is_below && !cell.is_empty()) {
            let most = most.filter(|&most| most >= BELOW + LEAST);
            text.push_str(&format!("{}\n", cut(&format!("{}{cell}", " ".repeat(BELOW)), BELOW, most)));
        }
    }
    text
}

/// The arrangement of a table.
struct Layout {
    /// Widths of the columns beside each other.
    widths: Vec<usize>,
    /// `true` if the last column is below the others.
    is_below: bool,
}

/// Indentation of the column below the others.
const BELOW: usize = 4;
/// The least width of a text; a narrower one is not broken.
const LEAST: usize = 12;

impl Layout {
    /// Finds the least change that makes a table fit: texts broken between words, then heads of numbers, then the last column below, then words
    /// broken. If nothing helps, columns are as wide as their cells.
    fn new(rows: &[Vec<String>], right: &[usize], most: Option<usize>) -> Self {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let of = |c: usize| rows.iter().filter_map(move |row| row.get(c));
        let natural: Vec<usize> = (0..columns).map(|c| of(c).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
        let Some(most) = most else { return Self { widths: natural, is_below: false } };
        let is_text = |c: usize| !right.contains(&c);
        // The least widths of columns. The first row is the head.
        let words = |c: usize| if is_text(c) { of(c).map(|cell| longest_word(cell)).max().unwrap_or(0).max(LEAST) } else { natural[c] };
        let heads = |c: usize| if is_text(c) { words(c) } else { least_of_numbers(&mut of(c)) };
        let pieces = |c: usize| if is_text(c) { LEAST } else { heads(c) };
        let can_go_below = columns > 2 && is_text(columns - 1);
        let steps: [(&dyn Fn(usize) -> usize, bool); 5] =
            [(&words, false), (&heads, false), (&heads, true), (&pieces, false), (&pieces, true)];
        let mut layouts = steps.into_iter().filter(|&(_, is_below)| can_go_below || !is_below).filter_map(|(least, is_below)| {
            let beside = columns - usize::from(is_below);
            Some(Self { widths: narrowed(&natural[..beside], least, most)?, is_below })
        });
        layouts.next().unwrap_or(Self { widths: natural.clone(), is_below: false })
    }
}

/// Narrows the widest columns until all of them fit `most` together. `None` if their least widths do not.
fn narrowed(natural: &[usize], least: &dyn Fn(usize) -> usize, most: usize) -> Option<Vec<usize>> {
    let mut widths = natural.to_vec();
    loop {
        let total = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let over = total.saturating_sub(most);
        if over == 0 {
            return Some(widths);
        }
        let widest = (0..widths.len()).filter(|&c| widths[c] > least(c)).max_by_key(|&c| widths[c])?;
        widths[widest] = widths[widest].saturating_sub(over).max(least(widest));
    }
}

/// Returns the least width of a column of numbers: only its head may be broken.
fn least_of_numbers(cells: &mut dyn Iterator<Item = &String>) -> usize {
    let head = cells.next().map_or(0, |head| longest_word(head));
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(head)
}

/// Returns the number of spaces before a text.
fn indent_of(text: &str) -> usize {
    text.chars().take_while(|&c| c == ' ').count()
}

/// Returns the length of the longest word of a text, with the text's indentation.
fn longest_word(text: &str) -> usize {
    indent_of(text) + text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0)
}

/// Breaks a cell into lines of at most `width`. Words that are longer are broken after punctuation, or anywhere.
fn lines(cell: &str, width: usize) -> Vec<String> {
    let indent = indent_of(cell);
    let words: Vec<String> = cell.split(' ').map(|word| pieces(word, width.saturating_sub(indent)).join(" ")).collect();
    cut(&words.join(" "), indent, Some(width)).split('\n').map(String::from).collect()
}

/// Breaks a word into pieces of at most `most` characters, after punctuation in the second half if there is any.
fn pieces(word: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut rest: Vec<char> = word.chars().collect();
    let mut pieces = Vec::new();
    while rest.len() > most {
        let end = rest[..most].iter().rposition(|c| "_.:/,-".contains(*c)).map_or(most, |at| at + 1);
        pieces.push(rest.drain(..if 2 * end > most { end } else { most }).collect());
    }
    pieces.push(rest.into_iter().collect());
    pieces
}

/// Formats a count with three digits: `160`, `9.22 k`, `301 M`.
pub fn scaled(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["", " k", " M", " G", " T"] {
        if value < 999.5 {
            let digits = if unit.is_empty() || value >= 99.95 { 0 } else { 2 - usize::from(value >= 9.995) };
            return format!("{value:.digits$}{unit}");
        }
        value /= 1e3;
    }
    format!("{value:.0} P")
}

/// Breaks a line of text into lines that fit the terminal.
pub fn fitted(line: &str) -> String {
    cut(line, 0, console::terminal_columns().filter(|&most| most >= LEAST))
}

/// Breaks a line of more than `most` columns between words. Continuation lines are indented by `indent`.
fn cut(line: &str, indent: usize, most: Option<usize>) -> String {
    let Some(most) = most.filter(|&most| line.chars().count() > most) else { return line.to_owned() };
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

/// Formats nanoseconds as microseconds, with as many digits as the longest of its column leaves space for.
pub fn microseconds(nanoseconds: f64, longest: f64) -> String {
    let digits = [1e7, 1e8].into_iter().filter(|limit| longest < *limit).count();
    format!("{:.digits$}", nanoseconds / 1e3)
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

    /// Heads of numbers are broken before the last column goes below, and words only if that is not enough.
    #[test]
    fn tables_that_are_too_wide_change_as_little_as_possible() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let rows = [row(["operators", "% of peak", "schedule"]), row(["12:DEPTHWISE_CONV_2D", "7", "products of bytes"])];
        let heads = "operators             % of  schedule\n\
                     \u{20}                     peak\n\
                     12:DEPTHWISE_CONV_2D     7  products of\n\
                     \u{20}                           bytes\n";
        assert_eq!(aligned(&rows, &[1], Some(40)), heads);
        let below = "operators             % of\n\
                     \u{20}                     peak\n\
                     \u{20}   schedule\n\
                     12:DEPTHWISE_CONV_2D     7\n\
                     \u{20}   products of bytes\n";
        assert_eq!(aligned(&rows, &[1], Some(26)), below);
        let pieces = "operators     % of\n\
                      \u{20}             peak\n\
                      \u{20}   schedule\n\
                      12:DEPTHWISE     7\n\
                      _CONV_2D\n\
                      \u{20}   products of\n\
                      \u{20}   bytes\n";
        assert_eq!(aligned(&rows, &[1], Some(18)), pieces);
    }

    #[test]
    fn counts_have_three_digits() {
        let found = [0, 160, 999, 1000, 9216, 9999, 73472, 99_960, 999_499, 999_500, 300_774_272, u64::MAX].map(scaled);
        let expected = ["0", "160", "999", "1.00 k", "9.22 k", "10.0 k", "73.5 k", "100 k", "999 k", "1.00 M", "301 M", "18447 P"];
        assert_eq!(found, expected);
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
