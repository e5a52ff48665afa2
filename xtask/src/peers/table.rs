//! The results as text.

use super::{CONTENDERS, Class, Row, geometric_mean};

/// One row as a line: microseconds of each contender, then how many times as long as ours the others take.
pub fn line(row: &Row) -> String {
    let times = row.latency.iter().map(|latency| latency.as_ref().map_or_else(|_| "-".to_owned(), |time| format!("{:.1}", time / 1e3)));
    let ratios = (1..CONTENDERS.len()).map(|contender| row.ratio(contender).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")));
    let spread = row.spread.iter().copied().fold(1.0, f64::max);
    let cells: String = times.chain(ratios).map(|cell| format!("{cell:>14}")).collect();
    let mark = if row.counts() { ' ' } else { '*' };
    format!("{:<52.52}{mark} {:<8}{cells}{spread:>9.2}", row.name, row.class.name())
}

/// The whole table with means and notes.
pub fn table(rows: &[Row], conditions: &str) -> String {
    let mut text = format!("{conditions}\n\n");
    let heads = CONTENDERS.iter().map(|name| format!("{name} µs")).chain(CONTENDERS[1..].iter().map(|name| format!("{name}/ours")));
    let heads: String = heads.map(|head| format!("{head:>14}")).collect();
    text.push_str(&format!("{:<53} {:<8}{heads}{:>9}\n", "model", "class", "spread"));
    for row in rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text.push('\n');
    for class in Class::ALL.map(Some).into_iter().chain([None]) {
        let of_class = || rows.iter().filter(|row| class.is_none_or(|class| row.class == class));
        let means = (1..CONTENDERS.len()).filter_map(|contender| geometric_mean(of_class(), contender));
        let means: Vec<_> = means.collect();
        if let Some((_, count)) = means.first() {
            let cells: String = means.iter().map(|(mean, _)| format!("{mean:>14.2}")).collect();
            let name = format!("geometric mean of {count}, {}", class.map_or("all", Class::name));
            text.push_str(&format!("{name:<104}{cells}\n"));
        }
    }
    text.push_str("\nAbove 1, modelc is faster. * is in no mean: too short to be measured from Python, or not run by all.\n");
    text.push_str("Spread is the slowest round over the fastest: above 1.1, measure again on a quieter computer.\n");
    for row in rows {
        for (contender, latency) in CONTENDERS.iter().zip(&row.latency) {
            if let Err(reason) = latency {
                text.push_str(&format!("{} does not run {}: {reason}\n", contender, row.name));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn rows_means_and_reasons_are_there() {
        let rows = [row("fast", Class::Integer, [Some(1e6), Some(2e6), Some(8e6)]), row("odd", Class::Float, [None, Some(1e6), Some(1e6)])];
        let text = table(&rows, "here");
        assert!(text.contains("1000.0        2000.0        8000.0          2.00          8.00"), "{text}");
        assert!(text.contains("geometric mean of 1, integer") && !text.contains("geometric mean of 1, float"), "{text}");
        assert!(text.contains("modelc does not run odd: unsupported: SIGN"), "{text}");
    }
}
