//! Dependency files in the syntax of Make, which Ninja and CMake also read.

/// Returns a rule that makes `target` depend on `inputs`, and an empty rule for each input, so that a deleted input is no error.
pub fn depfile(target: &str, inputs: &[&str]) -> String {
    let mut text = format!("{}:", escape(target));
    for input in inputs {
        text.push_str(" \\\n  ");
        text.push_str(&escape(input));
    }
    text.push('\n');
    for input in inputs {
        text.push_str(&format!("\n{}:\n", escape(input)));
    }
    text
}

/// Recognizes a dependency file of [`depfile`].
pub fn is_own(text: &str) -> bool {
    let Some((rule, rest)) = text.split_once("\n\n") else { return false };
    let mut lines = rule.split(" \\\n  ");
    let has_target = lines.next().is_some_and(|target| target.ends_with(':'));
    let empty_rules: String = lines.map(|input| format!("\n{input}:\n")).collect();
    has_target && !empty_rules.is_empty() && empty_rules == format!("\n{rest}")
}

fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            ' ' | '#' | ':' | '%' => escaped.extend(['\\', c]),
            '$' => escaped.push_str("$$"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::depfile;

    #[test]
    fn lists_every_input() {
        let text = depfile("out/my net.o", &["a$b.tflite", "w.ptd"]);
        assert_eq!(text, "out/my\\ net.o: \\\n  a$$b.tflite \\\n  w.ptd\n\na$$b.tflite:\n\nw.ptd:\n");
    }
}
