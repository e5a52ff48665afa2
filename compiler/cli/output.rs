//! How things are printed: numbers with thousands separators, aligned tables, diagnostics as JSON.

use crate::diagnostic::{Diagnostic, codes};
pub use crate::plan::thousands as grouped;
use serde_json::json;

/// Rows in aligned columns, two spaces between them. Columns of `right` are aligned to the right.
pub fn table(rows: &[Vec<String>], right: &[usize]) -> String {
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
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Operators of a model by number and name.
pub fn numbered(operators: &[(u32, String)]) -> Vec<String> {
    operators.iter().map(|(index, name)| format!("{index}:{name}")).collect()
}

/// A mistake on the command line.
pub fn usage(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::OPTION, message)
}

/// A diagnostic as one line of JSON, schema `modelc.diagnostic/1`.
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
        assert_eq!(table(&rows, &[1]), "a         1\nlong  1,000\n");
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
