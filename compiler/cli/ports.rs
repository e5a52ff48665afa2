//! Inputs and outputs on the command line: by number, `in0`, or by the name in the file.

use super::output::usage;
use crate::diagnostic::{Diagnostics, did_you_mean};
use crate::frontend::survey::MethodNames;
use crate::frontend::{self, PortName};
use crate::input;
use crate::ir::data::Bytes;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// An input or output of a model, with the same number in all methods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PortNumber {
    /// `true` for an output.
    pub is_output: bool,
    /// Number among the inputs or outputs.
    pub number: usize,
}

impl fmt::Display for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_output { "out" } else { "in" }, self.number)
    }
}

/// The ports of a model file, which is read only if one is given by name.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    /// The path of the file.
    pub model: &'a str,
    /// Bytes of the file, if they are in memory.
    pub bytes: Option<&'a Arc<dyn Bytes>>,
    /// Names that the user gives to ports.
    pub given: &'a [PortName],
}

impl<'a> Ports<'a> {
    /// Makes the ports of a file.
    pub fn of(model: &'a str) -> Self {
        Self { model, bytes: None, given: &[] }
    }
}

impl Ports<'_> {
    /// Returns the input that a text names.
    ///
    /// # Errors
    /// The errors of [`Self::port`].
    pub fn input(&self, text: &str) -> Result<usize, Diagnostics> {
        match numbered(text).or_else(|| self.renamed(text, &[false])) {
            Some(PortNumber { is_output: false, number }) => Ok(number),
            _ => Ok(find(&self.methods()?, text, &[false])?.number),
        }
    }

    /// Returns the input or output that a text names.
    ///
    /// # Errors
    /// A diagnostic if no port has the name, or if several have it.
    pub fn port(&self, text: &str) -> Result<PortNumber, Diagnostics> {
        match numbered(text).or_else(|| self.renamed(text, &[false, true])) {
            Some(port) => Ok(port),
            None => find(&self.methods()?, text, &[false, true]),
        }
    }

    /// Returns the first port that the user gave this name.
    fn renamed(&self, text: &str, sides: &[bool]) -> Option<PortNumber> {
        let found = self.given.iter().find(|given| given.name == text && sides.contains(&given.is_output))?;
        Some(PortNumber { is_output: found.is_output, number: found.port })
    }

    /// Returns the methods of the model, with the names of their inputs and outputs.
    ///
    /// # Errors
    /// Diagnostics if the file cannot be read, or if the model is corrupt.
    pub fn methods(&self) -> Result<Vec<MethodNames>, Diagnostics> {
        let bytes = self.bytes.map_or_else(|| input::map(Path::new(self.model)), |bytes| Ok(bytes.clone()))?;
        Ok(frontend::survey(&bytes, self.model, &[])?.methods)
    }
}

/// Parses `in0` or `out0`.
fn numbered(text: &str) -> Option<PortNumber> {
    let (is_output, digits) = match text.strip_prefix("in") {
        Some(digits) => (false, digits),
        None => (true, text.strip_prefix("out")?),
    };
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(PortNumber { is_output, number: digits.parse().ok()? })
}

fn names(method: &MethodNames, is_output: bool) -> &[String] {
    if is_output { &method.outputs } else { &method.inputs }
}

fn find(methods: &[MethodNames], text: &str, sides: &[bool]) -> Result<PortNumber, Diagnostics> {
    let mut found = BTreeSet::new();
    let mut known = BTreeSet::new();
    for (method, &is_output) in methods.iter().flat_map(|method| sides.iter().map(move |side| (method, side))) {
        for (number, name) in names(method, is_output).iter().enumerate() {
            let port = PortNumber { is_output, number };
            known.insert(port.to_string());
            if !name.is_empty() {
                known.insert(name.clone());
            }
            if name == text && !text.is_empty() {
                found.insert(port);
            }
        }
    }
    match (found.len(), found.first()) {
        (1, Some(port)) => Ok(*port),
        (0, _) => {
            let what = if sides.len() > 1 { "input or output" } else { "input" };
            let list: Vec<&str> = known.iter().map(String::as_str).collect();
            let error = usage(format!("the model has no {what} {text:?}")).expected(list.join(", "), text);
            Err(did_you_mean(error, text, list).into())
        }
        _ => {
            let numbers: Vec<String> = found.iter().map(PortNumber::to_string).collect();
            Err(usage(format!("several inputs or outputs are called {text:?}")).expected(numbers.join(" or "), text).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(inputs: &[&str], outputs: &[&str]) -> MethodNames {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        MethodNames { name: "forward".into(), inputs: list(inputs), outputs: list(outputs) }
    }

    #[test]
    fn ports_are_found_by_name() {
        let methods = [method(&["image", "mask:0"], &["image", "a.b"]), method(&["image"], &[])];
        let port = |is_output, number| PortNumber { is_output, number };
        assert_eq!(find(&methods, "mask:0", &[false]), Ok(port(false, 1)));
        assert_eq!(find(&methods, "image", &[false]), Ok(port(false, 0)));
        assert_eq!(find(&methods, "a.b", &[false, true]), Ok(port(true, 1)));
        assert!(find(&methods, "image", &[false, true]).unwrap_err().to_string().contains("in0 or out0"));
        let unknown = find(&methods, "maks:0", &[false]).unwrap_err().to_string();
        assert!(unknown.contains("mask:0?") && unknown.contains("in1"), "{unknown}");
        assert!(find(&[method(&[""], &[])], "", &[false]).is_err());
    }

    #[test]
    fn numbers_need_no_file() {
        let ports = Ports::of("there is no such file");
        assert_eq!(ports.input("in2"), Ok(2));
        assert_eq!(ports.port("out0"), Ok(PortNumber { is_output: true, number: 0 }));
        assert!(ports.input("out0").is_err() && ports.port("in").is_err() && ports.port("in-1").is_err() && ports.port("in+1").is_err());
    }
}
