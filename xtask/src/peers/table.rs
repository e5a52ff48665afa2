//! The results as text.

use super::suites::Suite;
use super::{Group, Row, geometric_mean};
use std::collections::BTreeSet;

/// Width of columns of figures: the longest heading and a space.
const CELL: usize = 17;

/// Formats one row as a line: microseconds of each contender, then the others' times relative to ours.
pub fn line(suite: &Suite, row: &Row) -> String {
    let times = row.latency.iter().map(|latency| latency.as_ref().map_or_else(|_| "-".to_owned(), |time| format!("{:.1}", time / 1e3)));
    let ratios =
        (1..suite.contenders.len()).map(|contender| row.ratio(contender).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")));
    let spread = row.spread.iter().copied().fold(1.0, f64::max);
    let cells: String = times.chain(ratios).map(|cell| format!("{cell:>CELL$}")).collect();
    let mark = if row.counts(suite) { ' ' } else { '*' };
    format!("{:<52.52}{mark} {:<19}{cells}{spread:>9.2}", row.name, row.group.name())
}

/// Formats the whole table with means and notes.
pub fn table(suite: &Suite, rows: &[Row], conditions: &str) -> String {
    let mut text = format!("{conditions}\n\n");
    let (contenders, peers) = (suite.contenders.iter(), suite.contenders[1..].iter());
    let heads = contenders.map(|who| format!("{} µs", who.name())).chain(peers.map(|who| format!("{}/ours", who.name())));
    let heads: String = heads.map(|head| format!("{head:>CELL$}")).collect();
    text.push_str(&format!("{:<53} {:<19}{heads}{:>9}\n", "model", "class", "spread"));
    for row in rows {
        text.push_str(&line(suite, row));
        text.push('\n');
    }
    text.push('\n');
    let groups: BTreeSet<Group> = rows.iter().map(|row| row.group).collect();
    for group in groups.into_iter().map(Some).chain([None]) {
        let of_group = || rows.iter().filter(|row| group.is_none_or(|group| row.group == group));
        let means = (1..suite.contenders.len()).filter_map(|contender| geometric_mean(suite, of_group(), contender));
        let means: Vec<_> = means.collect();
        if let Some((_, count)) = means.first() {
            let cells: String = means.iter().map(|(mean, _)| format!("{mean:>CELL$.2}")).collect();
            let name = format!("geometric mean of {count}, {}", group.map_or("all".to_owned(), Group::name));
            let width = 73 + CELL * suite.contenders.len();
            text.push_str(&format!("{name:<width$}{cells}\n"));
        }
    }
    text.push_str("\nAbove 1, modelc is faster. * is in no mean: too short to be measured, or not run by all.\n");
    text.push_str("Spread is the slowest round over the fastest: above 1.1, measure again on a quieter computer.\n");
    for row in rows {
        for (contender, latency) in suite.contenders.iter().zip(&row.latency) {
            if let Err(reason) = latency {
                text.push_str(&format!("{} does not run {}: {reason}\n", contender.name(), row.name));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Class;
    use super::super::suites::SUITES;
    use super::super::tests::row;
    use super::*;

    #[test]
    fn heads_stand_apart() {
        for suite in SUITES {
            let text = table(suite, &[], "here");
            let heads = text.lines().find(|line| line.starts_with("model ")).expect("a line of heads");
            // "model", "class" and "spread", two words for each contender and one for each ratio.
            assert_eq!(heads.split_whitespace().count(), 3 * suite.contenders.len() + 2, "{heads}");
        }
    }

    #[test]
    fn rows_means_and_reasons_are_there() {
        let rows = [row("fast", Class::Integer, [Some(1e6), Some(2e6), Some(8e6)]), row("odd", Class::Float, [None, Some(1e6), Some(1e6)])];
        let text = table(&SUITES[0], &rows, "here");
        let cells: String = ["1000.0", "2000.0", "8000.0", "2.00", "8.00"].map(|cell| format!("{cell:>CELL$}")).concat();
        assert!(text.contains(&cells), "{text}");
        assert!(text.contains("geometric mean of 1, integer") && !text.contains("geometric mean of 1, float"), "{text}");
        assert!(text.contains("modelc does not run odd: unsupported: SIGN"), "{text}");
    }
}
