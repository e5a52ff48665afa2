//! Notes in a header beside the interface: authors, normalization of inputs, other names of ports.

use super::c_text::{comment, string};
use crate::program::Port;
use serde_json::{Value, json};
use std::fmt::Write;

/// Limit of a text's bytes; compilers must accept string literals of 4095 bytes.
const MOST: usize = 1000;

/// Writes macros with the metadata of the whole model.
pub(super) fn about(text: &mut String, upper: &str, about: &[(&'static str, String)]) {
    for (name, said) in about {
        let end = (0..=MOST.min(said.len())).rev().find(|&end| said.is_char_boundary(end)).unwrap_or(0);
        let _ = writeln!(text, "#define {upper}_{} {}", name.to_ascii_uppercase(), string(&said[..end]));
    }
    if !about.is_empty() {
        text.push('\n');
    }
}

/// Writes the mean and the standard deviation of a port; `upper` is `NET_FORWARD_IN0`. Single values are macros, several are an array.
pub(super) fn normalization(text: &mut String, port: &Port, upper: &str) {
    let Some(normalization) = &port.notes.normalization else { return };
    let _ = writeln!(text, "/* {}: (x - MEAN) / STD is what the model knows, before it is quantized. */", comment(&port.name));
    for (name, numbers) in [("MEAN", &normalization.mean), ("STD", &normalization.std)] {
        let list: Vec<String> = numbers.iter().map(|number| format!("{number:?}f")).collect();
        let _ = match &list[..] {
            [one] => writeln!(text, "#define {upper}_{name} ({one})"),
            several => writeln!(text, "static const float {upper}_{name}[{}] = {{ {} }};", several.len(), several.join(", ")),
        };
    }
}

/// Adds the mean and the standard deviation to a port in JSON, if it has them.
pub fn add_normalization(json: &mut Value, port: &Port) {
    if let Some(normalization) = &port.notes.normalization {
        json["mean"] = json!(normalization.mean);
        json["std"] = json!(normalization.std);
    }
}

/// Writes fields with two names, if the language has anonymous unions.
pub(super) fn aliased(text: &mut String, own: &str, other: &str) {
    text.push_str("#if defined(__cplusplus) || defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L\n");
    for (line, again) in own.lines().zip(other.lines()) {
        let _ = writeln!(text, "  union {{\n  {line}\n  {again}\n  }};");
    }
    let _ = write!(text, "#else\n{own}#endif\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_letters() {
        let mut text = String::new();
        about(&mut text, "NET", &[("license", "é".repeat(MOST)), ("author", "a\"b".into())]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0].matches("\\303\\251").count(), lines[1]), (MOST / 2, "#define NET_AUTHOR \"a\\\"b\""));
    }
}
