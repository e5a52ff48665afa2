//! Counts of instructions, as text: printed for a person, and recorded.

use std::fmt::Write;

/// Classes of `plugin.c`, in its order: dot products, multiply-adds of floats, loads and stores of any register. Other instructions on vectors or
/// floats, and all others, follow.
pub const CLASSES: [&str; 6] = ["dot", "fmla", "loads", "stores", "vector", "scalar"];

/// Heading of the lines of [`line`].
pub const HEAD: &str =
    "millions of instructions                         CPU                  all       dot      fmla     loads    stores    vector    scalar";

/// First lines of the record.
const BEGINNING: &str = "\
# Instructions that one call of a model executes, by class. `MODELC_BLESS=1 cargo xtask count` writes this; models that it names are added.
# model level dot fmla loads stores vector scalar
";

/// Instructions of each class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts(pub [u64; CLASSES.len()]);

impl Counts {
    /// Returns the instructions of all classes.
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Parses counts from numbers in the order of the classes.
    pub fn parse<'a>(words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self(numbers.try_into().ok()?))
    }
}

/// The counts of a model at a CPU level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Name of the model's file without extension.
    pub model: String,
    /// Name of the level.
    pub level: String,
    /// Counts of the model.
    pub counts: Counts,
}

/// Formats a line for people, in millions; for a peer, with its instructions relative to ours.
pub fn line(name: &str, level: &str, counts: &Counts, ours: Option<&Counts>) -> String {
    let millions = |count: u64| count as f64 / 1e6;
    let mut text = format!("{name:<48} {level:<16} {:>9.3}", millions(counts.all()));
    for count in counts.0 {
        let _ = write!(text, " {:>9.3}", millions(count));
    }
    if let Some(ours) = ours {
        let _ = write!(text, "  {:.2} of ours", counts.all() as f64 / ours.all().max(1) as f64);
    }
    text
}

/// Parses the rows of a record.
///
/// # Errors
/// The first malformed line.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.map(|line| row(line).ok_or_else(|| format!("`{line}` is no row of counts"))).collect()
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let (model, level) = (words.next()?.into(), words.next()?.into());
    Some(Row { model, level, counts: Counts::parse(words)? })
}

/// Returns the text of a record, with rows that are new or have new counts.
pub fn written(mut record: Vec<Row>, new: Vec<Row>) -> String {
    for row in new {
        match record.iter_mut().find(|old| old.model == row.model && old.level == row.level) {
            Some(old) => old.counts = row.counts,
            None => record.push(row),
        }
    }
    record.sort_by(|a, b| (&a.model, &a.level).cmp(&(&b.model, &b.level)));
    let mut text = BEGINNING.to_owned();
    for Row { model, level, counts } in record {
        let numbers = counts.0.map(|count| count.to_string()).join(" ");
        let _ = writeln!(text, "{model} {level} {numbers}");
    }
    text
}

/// Returns the rows whose instructions differ from the record by more than `tolerance` thousandths.
pub fn differences(record: &[Row], rows: &[Row], tolerance: u64) -> Vec<String> {
    let differs = |row: &Row| {
        let old = record.iter().find(|old| old.model == row.model && old.level == row.level)?.counts.all();
        let new = row.counts.all();
        let is_far = new.abs_diff(old).saturating_mul(1000) > old.saturating_mul(tolerance);
        let percent = 100.0 * (new as f64 - old as f64) / old.max(1) as f64;
        is_far.then(|| format!("{} at {}: {new} instructions, {old} are recorded ({percent:+.1} %)", row.model, row.level))
    };
    rows.iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: &str, dot: u64) -> Row {
        Row { model: model.into(), level: "aarch64".into(), counts: Counts([dot, 0, 0, 0, 0, 0]) }
    }

    #[test]
    fn rows_are_replaced_and_added_in_order() {
        let text = written(vec![of("b", 1), of("c", 1)], vec![of("c", 2), of("a", 3)]);
        assert_eq!(parse(&text), Ok(vec![of("a", 3), of("b", 1), of("c", 2)]));
        assert!(parse("a aarch64 1 2 3 4 5\n").is_err() && parse("a aarch64 1 2 3 4 5 x\n").is_err());
    }

    #[test]
    fn small_differences_and_new_models_are_let_by() {
        let record = [of("a", 1000), of("b", 1000), of("c", 1000)];
        let found = differences(&record, &[of("a", 1020), of("b", 1021), of("c", 979), of("d", 5)], 20);
        let names: Vec<&str> = found.iter().map(|line| &line[..1]).collect();
        assert_eq!(names, ["b", "c"], "{found:?}");
        assert!(found[0].contains("+2.1 %"), "{}", found[0]);
    }
}
