//! Names of results from the lines of Python that computed them, if a program has its debug data.
//!
//! A line that assigns gives its variable's name to the result of its last instruction: `waves (net.py:51)`. Other results of a line have the line's
//! name alone: `net.py:52`.

use crate::schema::program as schema;

/// A line of the source, and its text.
#[derive(PartialEq, Eq)]
struct Line {
    place: String,
    text: String,
}

/// Names of registers of a method. `result_of` returns the register that an instruction writes.
pub(super) fn names(result_of: impl Fn(usize) -> Option<usize>, table: schema::ExecutionPlan<'_>) -> Vec<(usize, String)> {
    let mut lines: Vec<Option<Line>> = Vec::new();
    for chain in table.chains().into_iter().flatten() {
        let first = lines.len();
        let count = chain.instructions().map_or(0, |list| list.len());
        lines.extend(chain.stacktrace().into_iter().flatten().take(count).map(line));
        lines.resize_with(first + count, || None);
    }
    let named = lines.iter().enumerate().filter_map(|(pc, line)| {
        let line = line.as_ref()?;
        let is_last = lines.get(pc + 1).is_none_or(|next| next.as_ref() != Some(line));
        let name = match assigned(&line.text).filter(|_| is_last) {
            Some(variable) => format!("{variable} ({})", line.place),
            None => line.place.clone(),
        };
        Some((result_of(pc)?, name))
    });
    named.collect()
}

/// The innermost line, which is the last.
fn line(list: schema::FrameList<'_>) -> Option<Line> {
    let frame = list.items()?.iter().next_back()?;
    let file = frame.filename().unwrap_or_default();
    let file = file.rsplit(['/', '\\']).next().filter(|file| !file.is_empty())?;
    Some(Line { place: format!("{file}:{}", frame.lineno()), text: frame.context().unwrap_or_default().trim().to_owned() })
}

/// The variable that a line of Python gives a value: `y` of `y: Tensor = f(x)`.
fn assigned(text: &str) -> Option<&str> {
    let (left, right) = text.split_once('=')?;
    let variable = left.split(':').next().unwrap_or_default().trim();
    let is_name = variable.split('.').all(|part| {
        part.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_') && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    });
    (is_name && !right.starts_with('=')).then_some(variable)
}

#[cfg(test)]
mod tests {
    use super::assigned;

    #[test]
    fn assignments_name_variables() {
        let cases = [
            ("waves = torch.erf(x)", Some("waves")),
            ("self.cache = x", Some("self.cache")),
            ("y: Tensor = f(x, n=3)", Some("y")),
            ("return f(x, n=3)", None),
            ("f(x, n=3)", None),
            ("x == y", None),
            ("a, b = f(x)", None),
            ("x += y", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(assigned(text), expected, "{text}");
        }
    }
}
