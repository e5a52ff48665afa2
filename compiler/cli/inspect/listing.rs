//! The part of `modelc inspect` for every model, even one that cannot be compiled: format, methods, operators.

use super::contents::{self, Detail};
use super::labels;
use crate::cli::output::{grouped, table};
use crate::diagnostic::Diagnostics;
use crate::frontend::Format;
use crate::frontend::survey::{MethodNames, OperatorCount, Survey};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The listing of a file.
pub struct Listing {
    file: String,
    format: &'static str,
    bytes: u64,
    survey: Survey,
    /// `true` if the model cannot be compiled.
    is_refused: bool,
    /// Number of uses of each operator that failed to compile, as far as compilation went.
    failing: BTreeMap<String, usize>,
}

impl Listing {
    /// Makes the listing of a file, with its errors of compilation.
    pub fn new(file: &str, bytes: &[u8], survey: Survey, errors: &Diagnostics) -> Self {
        let mut failing = BTreeMap::new();
        for error in &errors.0 {
            if let Some((_, name)) = &error.location.operator {
                *failing.entry(name.clone()).or_insert(0) += error.places as usize;
            }
        }
        let format = Format::detect(bytes).map_or("", Format::name);
        Self { file: file.to_owned(), format, bytes: bytes.len() as u64, survey, is_refused: !errors.0.is_empty(), failing }
    }

    /// Returns the number of uses of an operator that failed to compile.
    fn failing(&self, operator: &OperatorCount) -> usize {
        let found = self.failing.get(&operator.name).copied().unwrap_or(0).min(operator.count);
        if operator.is_known { found } else { operator.count }
    }

    fn operators(&self) -> impl Iterator<Item = (&OperatorCount, usize)> {
        self.survey.operators.iter().map(|operator| (operator, self.failing(operator)))
    }

    /// Formats the listing as text.
    pub fn text(&self, detail: Detail) -> String {
        let mut text = format!("{}: {}, {} B\n", self.file, self.format, grouped(self.bytes));
        let about: Vec<_> = self.survey.about.lines().map(|(name, said)| vec![name.to_owned(), said.to_owned()]).collect();
        if !about.is_empty() {
            text.push_str(&format!("\n{}", table(&about, &[])));
        }
        let mut rows = vec![["operator", "uses", "compiles"].map(String::from).to_vec()];
        for (operator, failing) in self.operators() {
            let compiles = match failing {
                0 => "yes".into(),
                n if n == operator.count => "no".into(),
                n => format!("not at {}", grouped(n as u64)),
            };
            rows.push(vec![operator.name.clone(), grouped(operator.count as u64), compiles]);
        }
        text.push_str(&format!("\n{}", table(&rows, &[1])));
        text.push_str(&labels::text(&self.survey.labels));
        if self.is_refused {
            text.push_str(&self.methods_text(detail));
        }
        text
    }

    /// Lists methods with the names of their inputs and outputs, for models that cannot be compiled.
    fn methods_text(&self, detail: Detail) -> String {
        let mut text = String::new();
        for (number, method) in self.survey.methods.iter().enumerate() {
            text.push_str(&format!("\n{}\n", method.name));
            for (kind, names) in [("in", &method.inputs), ("out", &method.outputs)] {
                text.extend(names.iter().enumerate().map(|(number, name)| format!("  {kind}{number}  {name:?}\n")));
            }
            text.push_str(&self.contents_text(number, detail));
        }
        text
    }

    /// Formats a method's contents beside its operators.
    pub fn contents_text(&self, method: usize, detail: Detail) -> String {
        self.survey.contents.get(method).map_or_else(String::new, |contents| contents::text(contents, detail))
    }

    /// Returns the bytes of each memory area that the file plans for a method.
    pub fn area_bytes(&self, method: usize) -> &[u64] {
        self.survey.contents.get(method).map_or(&[], |contents| &contents.area_bytes)
    }

    /// Adds a method's contents in the file to its JSON.
    pub fn add_contents(&self, method: usize, json: &mut Value) {
        if let Some(contents) = self.survey.contents.get(method) {
            contents::add_json(json, contents);
        }
    }

    /// Returns the listing as JSON of schema `modelc.inspect/1`.
    pub fn to_json(&self) -> Value {
        let operator = |(operator, failing): (&OperatorCount, usize)| json!({ "name": operator.name, "count": operator.count, "compiles": failing == 0, "failing": failing });
        let port = |name: &String| json!({ "name": name });
        let ports = |names: &[String]| names.iter().map(port).collect::<Vec<_>>();
        let method = |(number, method): (usize, &MethodNames)| {
            let mut json = json!({ "name": method.name, "inputs": ports(&method.inputs), "outputs": ports(&method.outputs) });
            self.add_contents(number, &mut json);
            json
        };
        let methods = self.survey.methods.iter().enumerate().map(method);
        json!({
            "labels": labels::json(&self.survey.labels),
            "about": self.survey.about.lines().collect::<BTreeMap<_, _>>(),
            "schema": "modelc.inspect/1",
            "file": self.file,
            "format": self.format,
            "bytes": self.bytes,
            "operators": self.operators().map(operator).collect::<Vec<_>>(),
            "methods": methods.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Diagnostic, codes};

    #[test]
    fn every_operator_is_listed_with_whether_it_compiles() {
        let operator = |name: &str, count, is_known| OperatorCount { name: name.into(), count, is_known };
        let method = MethodNames { name: "forward".into(), inputs: vec!["x".into()], outputs: vec![] };
        let operators = vec![operator("CONV_2D", 3, true), operator("CUSTOM:Odd", 2, false), operator("ADD", 1, true)];
        let mut error = Diagnostic::new(codes::VARIABLE_EXTENT, "not so").at_operator(1, "CONV_2D");
        error.places = 2;
        let listing = Listing::new("m", b"\x1C\0\0\0TFL3", Survey { methods: vec![method], operators, ..Survey::default() }, &error.into());
        let text = "m: tflite, 8 B\n\noperator    uses  compiles\nCONV_2D        3  not at 2\nCUSTOM:Odd     2  no\nADD            1  yes\n\nforward\n  in0  \"x\"\n";
        assert_eq!(listing.text(Detail::default()), text);
        let json = listing.to_json();
        assert_eq!((&json["operators"][0]["compiles"], &json["operators"][2]["compiles"]), (&json!(false), &json!(true)));
        assert_eq!(json["methods"][0]["inputs"][0]["name"], "x");
    }
}
