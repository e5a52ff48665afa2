//! The difference of two reports, as JSON and as Markdown for a pull request.

use serde_json::{Value, json};
use std::collections::HashMap;

/// Sizes to compare: names, and their fields in a report.
const SIZES: [(&str, &str); 5] = [
    ("arena", "/memory/arena_bytes"),
    ("stack", "/memory/stack_bytes"),
    ("weights", "/memory/weights_bytes"),
    ("code", "/memory/code_bytes"),
    ("flash", "/memory/flash_bytes"),
];

/// The field with the median time of a run.
const TIME: &str = "/time/steady/median_ns";

/// Relative difference of an operator's time that is not reported, because it can be noise.
const NOISE: f64 = 0.05;

/// Returns the differences between two reports, schema `modelc.compare/1`. It has all sizes, but only operators that differ.
pub fn difference(old: &Value, new: &Value) -> Value {
    let size = |(name, field): &(&str, &str)| changed(name, old.pointer(field), new.pointer(field));
    let time = [old, new].map(|report| report.pointer(TIME));
    json!({
        "schema": "modelc.compare/1",
        "before": side(old),
        "now": side(new),
        "sizes": SIZES.iter().map(size).collect::<Vec<_>>(),
        "median_ns": if let [Some(old), Some(new)] = time { json!({ "before": old, "now": new }) } else { Value::Null },
        "operators": operators(old, new),
    })
}

fn side(report: &Value) -> Value {
    json!({ "model": report["model"], "name": report["name"], "target": report["target"], "cpu_levels": report["cpu_levels"], "modelc": report["modelc"] })
}

fn changed(name: &str, before: Option<&Value>, now: Option<&Value>) -> Value {
    json!({ "name": name, "before": before, "now": now })
}

/// An operator's row in one report.
struct Row<'a> {
    name: String,
    bytes: [(&'static str, u64); 2],
    schedule: &'a str,
    nanoseconds: Option<f64>,
}

/// Returns the rows of a report, keyed by method and operators, and by a number among equal keys.
fn rows(report: &Value) -> Vec<((String, usize), Row<'_>)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let times = times(report);
    let row = |row: &'_ Value| {
        let operator = |operator: &Value| format!("{}:{}", operator["index"], operator["name"].as_str().unwrap_or_default());
        let names: Vec<String> = row["operators"].as_array().into_iter().flatten().map(operator).collect();
        let kernels = || row["kernels"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_u64);
        // The row shows the schedule of the kernel with the most products.
        let products = |number: &u64| report["kernels"][*number as usize]["multiply_accumulates"].as_u64();
        let first = kernels().rev().max_by_key(products).map_or(&Value::Null, |first| &report["kernels"][first as usize]);
        let name = if names.is_empty() { first["schedule"].as_str().unwrap_or_default().to_owned() } else { names.join(" ") };
        let bytes = ["code_bytes", "weights_bytes"].map(|field| (field, row[field].as_u64().unwrap_or(0)));
        let of_row: Option<Vec<f64>> = kernels().map(|kernel| times.get(&kernel).copied()).collect();
        let nanoseconds = of_row.filter(|times| !times.is_empty()).map(|times| times.iter().sum());
        let schedule = first["schedule"].as_str().unwrap_or_default();
        (format!("{} {name}", row["method"].as_str().unwrap_or_default()), name, bytes, schedule, nanoseconds)
    };
    let mut all = Vec::new();
    for found in report["operators"].as_array().into_iter().flatten() {
        let (key, name, bytes, schedule, nanoseconds) = row(found);
        let number = seen.entry(key.clone()).or_default();
        all.push(((key, *number), Row { name, bytes, schedule, nanoseconds }));
        *number += 1;
    }
    all
}

/// Returns the median times of kernel calls by number, if a report has them.
fn times(report: &Value) -> HashMap<u64, f64> {
    let kernels = report.pointer("/time/kernels").and_then(Value::as_array).into_iter().flatten();
    kernels.filter_map(|kernel| Some((kernel["number"].as_u64()?, kernel["median_ns"].as_f64()?))).collect()
}

/// Returns the operators that differ, first those of the new report.
fn operators(old: &Value, new: &Value) -> Vec<Value> {
    let mut before: HashMap<_, _> = rows(old).into_iter().collect();
    let mut found: Vec<Value> = rows(new).into_iter().filter_map(|(key, now)| differs(before.remove(&key).as_ref(), Some(&now))).collect();
    let gone = rows(old).into_iter().filter(|(key, _)| before.contains_key(key));
    found.extend(gone.filter_map(|(_, row)| differs(Some(&row), None)));
    found
}

fn differs(before: Option<&Row<'_>>, now: Option<&Row<'_>>) -> Option<Value> {
    let is_same = before.zip(now).is_some_and(|(before, now)| {
        let slower = |(before, now): (f64, f64)| (now - before).abs() > NOISE * before.max(now);
        before.bytes == now.bytes && before.schedule == now.schedule && !before.nanoseconds.zip(now.nanoseconds).is_some_and(slower)
    });
    if is_same {
        return None;
    }
    let json = |row: Option<&Row<'_>>| {
        row.map(|row| {
            let mut json = json!({ "schedule": row.schedule, "median_ns": row.nanoseconds });
            row.bytes.iter().for_each(|(name, bytes)| json[*name] = json!(bytes));
            json
        })
    };
    let name = now.or(before).map(|row| &row.name)?;
    Some(json!({ "operators": name, "before": json(before), "now": json(now) }))
}

/// Formats a difference as Markdown.
pub fn markdown(difference: &Value) -> String {
    let (before, now) = (&difference["before"], &difference["now"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let levels = |side: &Value| side["cpu_levels"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ");
    let place = |side: &Value| format!("{} ({})", text(&side["target"]), levels(side));
    let mut lines = vec![format!("**{}** for {}", escaped(&text(&now["model"]["file"])), place(now))];
    for (what, found) in [("target", [place(before), place(now)]), ("modelc", [before, now].map(|side| text(&side["modelc"])))] {
        if found[0] != found[1] {
            lines.push(format!("\nThe {what} differs: {}, then {}.", found[0], found[1]));
        }
    }
    lines.push("\n| | before | now | change |\n|---|---:|---:|---:|".into());
    for size in difference["sizes"].as_array().into_iter().flatten() {
        lines.push(line(&text(&size["name"]), &size["before"], &size["now"], bytes));
    }
    let time = &difference["median_ns"];
    if !time.is_null() {
        lines.push(line("median", &time["before"], &time["now"], microseconds));
    }
    lines.push(operators_text(difference));
    lines.join("\n") + "\n"
}

/// A formatting function for a number.
type Unit = fn(f64) -> String;

/// Compared fields of a row: word, field, format.
const FIELDS: [(&str, &str, Unit); 3] =
    [("time", "median_ns", microseconds), ("code", "code_bytes", bytes), ("weights", "weights_bytes", bytes)];

fn operators_text(difference: &Value) -> String {
    let rows = difference["operators"].as_array().map_or(&[][..], Vec::as_slice);
    if rows.is_empty() {
        return "\nNo operator differs.".into();
    }
    let mut lines = vec!["\n| operators | | before | now | change |\n|---|---|---:|---:|---:|".to_owned()];
    for row in rows {
        let mut name = escaped(row["operators"].as_str().unwrap_or_default());
        let (before, now) = (&row["before"], &row["now"]);
        if before.is_null() || now.is_null() {
            lines.push(format!("| {name} | {} | | | |", if now.is_null() { "gone" } else { "new" }));
            continue;
        }
        for (what, field, unit) in FIELDS {
            if before[field] != now[field] && !before[field].is_null() && !now[field].is_null() {
                lines.push(format!("| {name} {}", line(what, &before[field], &now[field], unit)));
                name = String::new();
            }
        }
        if before["schedule"] != now["schedule"] {
            let schedule = |side: &Value| escaped(side["schedule"].as_str().unwrap_or_default());
            lines.push(format!("| {name} | schedule | {} | {} | |", schedule(before), schedule(now)));
        }
    }
    lines.join("\n")
}

fn line(name: &str, before: &Value, now: &Value, unit: fn(f64) -> String) -> String {
    let cell = |value: &Value| value.as_f64().map_or_else(|| "-".to_owned(), unit);
    let change = match (before.as_f64(), now.as_f64()) {
        (Some(before), Some(now)) if before != now && before > 0.0 => format!("{:+.1} %", 100.0 * (now - before) / before),
        _ => String::new(),
    };
    format!("| {name} | {} | {} | {change} |", cell(before), cell(now))
}

fn bytes(count: f64) -> String {
    let digits = (count as u64).to_string();
    let separated = |(at, digit): (usize, char)| {
        let separator = if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
        format!("{separator}{digit}")
    };
    format!("{} B", digits.chars().enumerate().map(separated).collect::<String>())
}

fn microseconds(nanoseconds: f64) -> String {
    format!("{:.2} µs", nanoseconds / 1e3)
}

/// Escapes a name of the model for a Markdown table.
fn escaped(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " _:/.-,()+'".contains(c);
    name.chars().map(|c| if is_plain(c) { c.to_string() } else { format!("&#{};", c as u32) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(code: u64, schedule: &str, time: Option<f64>) -> Value {
        let operator = |index: u32, name: &str, code: u64, kernel: u64| json!({ "method": "main", "operators": [{ "index": index, "name": name }], "kernels": [kernel], "code_bytes": code, "weights_bytes": 0 });
        let mut report = json!({
            "model": { "file": "m.tflite" }, "name": "m", "target": "t", "cpu_levels": ["a", "b"], "modelc": "1",
            "memory": { "arena_bytes": 1000, "stack_bytes": 10, "weights_bytes": 0, "code_bytes": code, "flash_bytes": code },
            "kernels": [{ "schedule": schedule }, { "schedule": "same" }],
            "operators": [operator(0, "CONV|2D", code, 0), operator(1, "RELU", 7, 1)],
        });
        if let Some(time) = time {
            let kernel = |number: u64, time: f64| json!({ "number": number, "median_ns": time });
            report["time"] = json!({ "steady": { "median_ns": time }, "kernels": [kernel(0, time), kernel(1, 10.0 + time / 1e6)] });
        }
        report
    }

    #[test]
    fn operators_that_differ_are_named() {
        let found = difference(&report(200, "old", None), &report(150, "new", None));
        assert_eq!(found["operators"].as_array().map(Vec::len), Some(1), "{found:#}");
        assert_eq!((&found["operators"][0]["before"]["code_bytes"], &found["median_ns"]), (&json!(200), &Value::Null));
        let text = markdown(&found);
        assert!(text.contains("| code | 200 B | 150 B | -25.0 % |") && text.contains("| arena | 1,000 B | 1,000 B |  |"), "{text}");
        assert!(text.contains("| 0:CONV&#124;2D | code | 200 B") && text.contains("|  | schedule | old | new | |"), "{text}");
    }

    #[test]
    fn times_differ_beyond_noise() {
        let found = difference(&report(1, "s", Some(1000.0)), &report(1, "s", Some(1500.0)));
        assert_eq!(found["operators"].as_array().map(Vec::len), Some(1));
        assert!(markdown(&found).contains("| median | 1.00 µs | 1.50 µs | +50.0 % |"));
        let same = difference(&report(1, "s", Some(1000.0)), &report(1, "s", Some(1010.0)));
        assert!(markdown(&same).ends_with("No operator differs.\n"), "{}", markdown(&same));
    }

    #[test]
    fn operators_come_and_go() {
        let (mut old, new) = (report(1, "s", None), report(1, "s", None));
        old["operators"][1]["operators"][0]["name"] = json!("TANH");
        let text = markdown(&difference(&old, &new));
        assert!(text.contains("| 1:RELU | new |") && text.contains("| 1:TANH | gone |"), "{text}");
    }
}
