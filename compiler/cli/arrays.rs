//! Archives of arrays from the user. Names of a model's inputs and outputs are replaced by numbers.

use super::ports::Ports;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::frontend::survey::MethodNames;
use crate::npz::{Archive, ONLY};
use std::path::Path;

/// Arrays of inputs, or of outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// `in0`
    Inputs,
    /// `out0`
    Outputs,
}

impl Side {
    fn prefix(self) -> &'static str {
        if self == Self::Inputs { "in" } else { "out" }
    }

    fn names(self, method: &MethodNames) -> &[String] {
        if self == Self::Inputs { &method.inputs } else { &method.outputs }
    }
}

/// Reads an archive (`.npz`), or one array (`.npy`) for a method with one port on that side. In an archive of one call, arrays may have names
/// of ports. They are the ports of `method`, or of the first method. A single port may also be `arr_0`.
///
/// # Errors
/// Diagnostics if the file cannot be read, or if it has another format.
pub fn read(path: &str, side: Side, ports: Ports<'_>, method: Option<&str>) -> Result<Archive, Diagnostics> {
    let mut archive = Archive::read(Path::new(path))?;
    let method = method.or(archive.texts.get("method0").map(String::as_str)).map(str::to_owned);
    let is_number =
        |name: &String| name.strip_prefix(side.prefix()).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_'));
    if !archive.is_of_one_call() || archive.tensors.keys().all(is_number) {
        return Ok(archive);
    }
    // Errors of a model are reported when the model is read.
    let Ok(methods) = ports.methods() else { return Ok(archive) };
    if let Some(found) = methods.iter().find(|other| method.as_ref() == Some(&other.name)).or(methods.first()) {
        number(&mut archive, side, found);
    }
    Ok(archive)
}

/// Renames arrays from the names of ports to their numbers. Ambiguous names stay.
fn number(archive: &mut Archive, side: Side, method: &MethodNames) {
    let (names, prefix) = (side.names(method), side.prefix());
    for (number, name) in names.iter().enumerate() {
        let numbered = format!("{prefix}0_{number}");
        if archive.tensors.contains_key(&numbered) || archive.tensors.contains_key(&format!("{prefix}{number}")) {
            continue;
        }
        let is_unique = !name.is_empty() && names.iter().filter(|other| *other == name).count() == 1;
        let spellings = [is_unique.then_some(name.as_str()), (names.len() == 1).then_some(ONLY)];
        let found = spellings.into_iter().flatten().find_map(|spelling| archive.tensors.remove(spelling));
        if let Some(tensor) = found {
            archive.tensors.insert(numbered, tensor);
        }
    }
}

/// Makes the error for an input without an array. It lists the arrays of the archive, and the accepted names.
pub fn missing(archive: &Archive, number: usize, call: usize, (name, wanted): (&str, String)) -> Diagnostic {
    let error = Diagnostic::new(codes::ARRAY_MISSING, format!("the inputs hold no in{call}_{number}")).expected(wanted, archive.contents());
    if !archive.is_of_one_call() {
        return error.help(format!("call the array in{call}_{number}: in, the number of the call, the number of the input"));
    }
    let named = if name.is_empty() { String::new() } else { format!(", or {name:?}") };
    error.help(format!("call the array in{number}{named}"))
}

/// Makes the error for an archive without any output of a model.
pub fn nothing_to_compare(archive: &Archive) -> Diagnostic {
    let error = Diagnostic::new(codes::NOTHING_TO_COMPARE, "the file of expected outputs contains none of the model's outputs");
    error.expected("out0, out1, … for one call, or the outputs' names; out{call}_{number} for several calls", archive.contents())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Tensor};

    fn archive(names: &[&str]) -> Archive {
        let tensor = |n: usize| Tensor { element: ElementType::U8, shape: vec![], bytes: vec![n as u8] };
        Archive { tensors: names.iter().enumerate().map(|(n, name)| ((*name).to_owned(), tensor(n))).collect(), ..Archive::default() }
    }

    fn numbered(names: &[&str], ports: &[&str]) -> Vec<String> {
        let mut archive = archive(names);
        let inputs = ports.iter().map(|name| (*name).to_owned()).collect();
        number(&mut archive, Side::Inputs, &MethodNames { name: "forward".into(), inputs, outputs: vec![] });
        archive.tensors.into_keys().collect()
    }

    #[test]
    fn names_of_ports_become_numbers() {
        assert_eq!(numbered(&["mask:0", "image"], &["image", "mask:0"]), ["in0_0", "in0_1"]);
        assert_eq!(numbered(&["arr_0"], &["image"]), ["in0_0"]);
        assert_eq!(numbered(&["arr_0"], &[""]), ["in0_0"]);
        // A number takes precedence over a name, and ambiguous names stay.
        assert_eq!(numbered(&["in0", "image"], &["image"]), ["image", "in0"]);
        assert_eq!(numbered(&["arr_0"], &["a", "b"]), ["arr_0"]);
        assert_eq!(numbered(&["a"], &["a", "a"]), ["a"]);
    }

    #[test]
    fn errors_list_what_is_there() {
        let error = missing(&archive(&["picture"]), 1, 0, ("image", "int8[1]".into())).to_string();
        assert!(error.contains("picture uint8[]") && error.contains("call the array in1, or \"image\""), "{error}");
        assert!(missing(&archive(&["in0_0", "in1_0"]), 1, 1, ("image", String::new())).to_string().contains("in1_1"));
        assert!(nothing_to_compare(&archive(&["label"])).to_string().contains("label uint8[]"));
    }
}
