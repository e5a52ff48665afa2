//! The file's lists of labels for its inputs and outputs.

use crate::cli::output::{grouped, table};
use crate::frontend::survey::LabelFile;
use serde_json::{Value, json};

/// Limit of the labels shown of a list.
const SHOWN: usize = 5;

fn port(list: &LabelFile) -> String {
    format!("{}{}", if list.is_output { "out" } else { "in" }, list.port)
}

/// Formats the lists as text; empty if there are none.
pub fn text(lists: &[LabelFile]) -> String {
    let row = |list: &LabelFile| {
        let first: Vec<&str> = list.labels.iter().take(SHOWN).map(String::as_str).collect();
        let more = if list.labels.len() > SHOWN { ", …" } else { "" };
        let file = if list.locale.is_empty() { list.file.clone() } else { format!("{} ({})", list.file, list.locale) };
        vec![format!("  {}", port(list)), file, grouped(list.labels.len() as u64), format!("{}{more}", first.join(", "))]
    };
    if lists.is_empty() { String::new() } else { format!("\nlabels\n{}", table(&lists.iter().map(row).collect::<Vec<_>>(), &[2])) }
}

/// Returns the lists as JSON.
pub fn json(lists: &[LabelFile]) -> Vec<Value> {
    lists.iter().map(|list| json!({ "port": port(list), "file": list.file, "locale": list.locale, "labels": list.labels })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_shown_with_their_first_labels() {
        let labels = ["cat", "dog", "cow", "hen", "pig", "ant"].map(String::from).to_vec();
        let list = LabelFile { is_output: true, port: 1, file: "labels.txt".into(), locale: "en".into(), labels };
        assert_eq!(text(std::slice::from_ref(&list)), "\nlabels\n  out1  labels.txt (en)  6  cat, dog, cow, hen, pig, …\n");
        assert_eq!((text(&[]), json(&[list])[0]["labels"][5].clone()), (String::new(), json!("ant")));
    }
}
