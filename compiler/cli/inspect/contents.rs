//! Contents of a file beside its operators: planned memory, graphs of delegates, source lines.

use crate::cli::output::{grouped, table};
use crate::frontend::survey::{DelegateContents, Frame, InstructionSource, MethodContents};
use serde_json::{Value, json};

/// Amount of detail.
#[derive(Clone, Copy, Default)]
pub struct Detail {
    /// `true` to show every node of a delegate, and not only counts by kind.
    pub nodes: bool,
    /// `true` to show every source line of an instruction, and not only the innermost.
    pub frames: bool,
}

/// Formats a method's contents as text, indented below its name. Empty if there are none.
pub fn text(contents: &MethodContents, detail: Detail) -> String {
    let mut text = String::new();
    if let Some(areas) = areas(&contents.area_bytes) {
        text.push_str(&format!("  planned by the file: {areas}\n"));
    }
    for (number, delegate) in contents.delegates.iter().enumerate() {
        text.push_str(&delegate_text(number, delegate, detail));
    }
    if !contents.sources.is_empty() {
        text.push_str("  instructions come from\n");
        text.push_str(&sources_text(&contents.sources, detail));
    }
    text
}

/// Formats `194,080 B`; for several areas, the sum and each. `None` if no memory is planned.
pub fn areas(bytes: &[u64]) -> Option<String> {
    // Area 0 is unused.
    let planned: Vec<(usize, &u64)> = bytes.iter().enumerate().skip(1).collect();
    let sum = planned.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(**bytes));
    let each = planned.iter().map(|(id, bytes)| format!("area {id} {} B", grouped(**bytes))).collect::<Vec<_>>().join(", ");
    match planned.len() {
        _ if sum == 0 => None,
        1 => Some(format!("{} B", grouped(sum))),
        _ => Some(format!("{} B ({each})", grouped(sum))),
    }
}

/// Counts the nodes of each kind in a graph, in the order of first nodes.
fn kinds(delegate: &DelegateContents) -> Vec<(&str, usize)> {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for node in &delegate.nodes {
        match kinds.iter_mut().find(|(name, _)| *name == node.name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((&node.name, 1)),
        }
    }
    kinds
}

fn delegate_text(number: usize, delegate: &DelegateContents, detail: Detail) -> String {
    if delegate.nodes.is_empty() {
        return format!("  delegate {number}: {}\n", delegate.name);
    }
    let kinds = kinds(delegate).into_iter().map(|(name, count)| format!("{} {name}", grouped(count as u64))).collect::<Vec<_>>();
    let count = crate::cli::cases::counted(delegate.nodes.len(), "node");
    let mut text = format!("  delegate {number}: {}, {count}: {}\n", delegate.name, kinds.join(", "));
    if detail.nodes {
        let row = |(number, node): (usize, &_)| node_row(number, node);
        text.push_str(&table(&delegate.nodes.iter().enumerate().map(row).collect::<Vec<_>>(), &[0]));
    }
    text
}

fn node_row(number: usize, node: &crate::frontend::survey::NodeContents) -> Vec<String> {
    vec![format!("    {number}"), node.name.clone(), node.result.clone()]
}

fn sources_text(sources: &[InstructionSource], detail: Detail) -> String {
    let shown = if detail.frames { usize::MAX } else { 1 };
    let place = |frame: &Frame| format!("{}:{} {}", frame.file, frame.line, frame.function);
    let mut rows = Vec::new();
    for source in sources {
        for (depth, frame) in source.frames.iter().take(shown).enumerate() {
            let (index, name) = if depth == 0 { (format!("    {}", source.index), source.name.clone()) } else { Default::default() };
            rows.push(vec![index, name, place(frame), frame.text.trim().to_owned()]);
        }
    }
    table(&rows, &[])
}

/// Adds the fields of a method in JSON.
pub fn add_json(method: &mut Value, contents: &MethodContents) {
    let delegate = |delegate: &DelegateContents| {
        let kinds: Vec<Value> = kinds(delegate).into_iter().map(|(name, count)| json!({ "name": name, "count": count })).collect();
        let nodes: Vec<Value> = delegate.nodes.iter().map(|node| json!({ "name": node.name, "result": node.result })).collect();
        json!({ "name": delegate.name, "node_kinds": kinds, "nodes": nodes })
    };
    let frame = |frame: &Frame| json!({ "file": frame.file, "line": frame.line, "function": frame.function, "text": frame.text });
    let source = |source: &InstructionSource| json!({ "index": source.index, "name": source.name, "frames": source.frames.iter().map(frame).collect::<Vec<_>>() });
    method["planned_area_bytes"] = json!(contents.area_bytes);
    method["delegates"] = contents.delegates.iter().map(delegate).collect();
    method["instruction_sources"] = contents.sources.iter().map(source).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::survey::NodeContents;

    fn contents() -> MethodContents {
        let node = |name: &str| NodeContents { name: name.into(), result: "f32[2]".into() };
        let frame = |line| Frame { file: "m.py".into(), line, function: "forward".into(), text: " x + 1 ".into() };
        MethodContents {
            area_bytes: vec![0, 1000, 24],
            delegates: vec![
                DelegateContents { name: "X".into(), nodes: vec![node("Add"), node("Mul"), node("Add")] },
                DelegateContents { name: "Y".into(), nodes: vec![] },
            ],
            sources: vec![InstructionSource { index: 3, name: "aten::add.out".into(), frames: vec![frame(5), frame(9)] }],
        }
    }

    #[test]
    fn a_method_is_shown_with_all_that_the_file_says() {
        let short = "  planned by the file: 1,024 B (area 1 1,000 B, area 2 24 B)\n  delegate 0: X, 3 nodes: 2 Add, 1 Mul\n  delegate 1: Y\n  \
                     instructions come from\n    3  aten::add.out  m.py:5 forward  x + 1\n";
        assert_eq!(text(&contents(), Detail::default()), short);
        let long = text(&contents(), Detail { nodes: true, frames: true });
        assert!(long.contains("    1  Mul  f32[2]\n") && long.contains("m.py:9 forward"), "{long}");
        assert_eq!(text(&MethodContents::default(), Detail::default()), "");
    }

    #[test]
    fn json_has_everything() {
        let mut method = json!({ "name": "forward" });
        add_json(&mut method, &contents());
        assert_eq!(method["planned_area_bytes"], json!([0, 1000, 24]));
        assert_eq!(method["delegates"][0]["node_kinds"][0], json!({ "name": "Add", "count": 2 }));
        assert_eq!(method["instruction_sources"][0]["frames"][1]["line"], 9);
    }

    #[test]
    fn areas_are_summed_without_the_first() {
        assert_eq!(areas(&[0, 194_080]).as_deref(), Some("194,080 B"));
        assert_eq!((areas(&[]), areas(&[7]), areas(&[0, 0])), (None, None, None));
    }
}
