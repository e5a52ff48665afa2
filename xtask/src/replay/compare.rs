//! Comparison of two compilations, and the report about all of them.

use super::compile::Made;
use super::matrix::Configuration;
use super::object::{self, Contents};
use std::fmt::Write;
use std::path::Path;

/// Limit of the kernels that are named for one difference.
const NAMED: usize = 6;

/// One model in one configuration.
pub struct Row {
    /// Name of the model's file.
    pub model: String,
    /// Options as one line.
    pub options: String,
    /// Differences; empty if all bytes are equal.
    pub differences: Vec<String>,
    sizes: Option<[Sizes; 2]>,
}

/// Sizes of a model.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Sizes {
    arena: u64,
    code: u64,
    constants: u64,
}

/// All compilations, in order.
#[derive(Default)]
pub struct Comparison {
    /// Compilations, one for each model and configuration.
    pub rows: Vec<Row>,
}

/// Compares the results of two compilers for a model.
///
/// # Errors
/// A message if a file is no object.
pub fn row(model: &Path, configuration: &Configuration, base: &Made, head: &Made) -> Result<Row, String> {
    let mut row = Row {
        model: model.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        options: configuration.text(),
        differences: vec![],
        sizes: None,
    };
    match (base, head) {
        (Made::Files { object: before, header: old }, Made::Files { object: now, header: new }) => {
            let contents = [object::contents(before)?, object::contents(now)?];
            row.sizes = Some([Sizes::of(&contents[0], old), Sizes::of(&contents[1], new)]);
            row.differences = pieces(&contents);
            if before != now && row.differences.is_empty() {
                row.differences.push("the order or the tables of the object".into());
            }
            if old != new {
                row.differences.push("the header".into());
            }
        }
        (Made::Refused(before), Made::Refused(now)) if before == now => {}
        (before, now) => row.differences.push(format!("base {}, head {}", before.text(), now.text())),
    }
    Ok(row)
}

/// Returns the names of functions, tables and modules that differ.
fn pieces([base, head]: &[Contents; 2]) -> Vec<String> {
    let changed = base.pieces.iter().filter(|(name, piece)| head.pieces.get(*name).is_some_and(|other| other != *piece));
    let gone = base.pieces.keys().filter(|name| !head.pieces.contains_key(*name));
    let new = head.pieces.keys().filter(|name| !base.pieces.contains_key(*name));
    let changed = changed.map(|(name, _)| name.clone());
    changed.chain(gone.map(|name| format!("{name} (gone)"))).chain(new.map(|name| format!("{name} (new)"))).collect()
}

impl Made {
    fn text(&self) -> &str {
        match self {
            Self::Files { .. } => "compiles",
            Self::Refused(status) => status,
        }
    }
}

impl Sizes {
    fn of(contents: &Contents, header: &[u8]) -> Self {
        let header = String::from_utf8_lossy(header);
        let arena = header.lines().find_map(|line| line.strip_prefix("#define NET_ARENA_BYTES ")?.trim().parse().ok());
        Self { arena: arena.unwrap_or(0), code: contents.code, constants: contents.constants }
    }

    fn list(self) -> [u64; 3] {
        [self.arena, self.code, self.constants]
    }
}

impl Comparison {
    /// Returns the number of compilations that differ.
    pub fn differences(&self) -> usize {
        self.rows.iter().filter(|row| !row.differences.is_empty()).count()
    }

    /// Formats the differences, the changed sizes, and the sums.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in self.rows.iter().filter(|row| !row.differences.is_empty()) {
            let more = row.differences.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let named = row.differences[..row.differences.len().min(NAMED)].join(", ");
            let _ = writeln!(text, "{} {}\n    differs: {named}{more}", row.model, row.options);
        }
        let sized: Vec<(&Row, [Sizes; 2])> = self.rows.iter().filter_map(|row| Some((row, row.sizes?))).collect();
        let _ = writeln!(text, "\n| model | options | arena | code | constants |\n|---|---|--:|--:|--:|");
        for (row, [base, head]) in sized.iter().filter(|(_, [base, head])| base != head) {
            let _ = writeln!(text, "| {} | {} | {} |", row.model, row.options, cells(base.list(), head.list()));
        }
        let sum = |side: usize| sized.iter().fold([0; 3], |sum, (_, sizes)| std::array::from_fn(|n| sum[n] + sizes[side].list()[n]));
        let _ = writeln!(text, "| all that compile | | {} |", cells(sum(0), sum(1)));
        let refused = self.rows.len() - sized.len();
        let _ = writeln!(text, "\n{} compilations, {refused} refused, {} differ", self.rows.len(), self.differences());
        text
    }
}

/// Formats sizes before and now; one number if both are equal.
fn cells(base: [u64; 3], head: [u64; 3]) -> String {
    let cell = |(before, now): (u64, u64)| if before == now { now.to_string() } else { format!("{before} → {now}") };
    base.into_iter().zip(head).map(cell).collect::<Vec<_>>().join(" | ")
}
