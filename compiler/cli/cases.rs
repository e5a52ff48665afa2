//! Calls with expected outputs: recorded ones, and the cases of a bundle.

use super::arrays;
use super::io::Inputs;
use super::methods::Methods;
use crate::api::inputs::Input;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::frontend::bundled::{self, TestCase};
use crate::ir::data::Bytes;
use crate::ir::{Method, Module, Tensor};
use crate::npz::Archive;
use std::sync::Arc;

/// One call with its expected outputs.
pub struct Case {
    /// The method.
    pub method: usize,
    /// Number among the calls of an archive, or among the method's cases in a bundle.
    pub number: usize,
    /// Inputs in the types of the method.
    pub inputs: Vec<Tensor>,
    /// Outputs by their position in the source, in its types. `None` if nothing is expected.
    pub expected: Vec<Option<Tensor>>,
}

/// Returns the outputs that an archive expects of a call of a method.
pub fn expected_outputs(method: &Method, number: usize, expected: &Archive) -> Vec<Option<Tensor>> {
    (0..positions(method)).map(|position| expected.output(number, position).cloned()).collect()
}

/// Counts the outputs of the source's method, including those that are None.
pub fn positions(method: &Method) -> usize {
    method.outputs.iter().enumerate().map(|(index, port)| port.position(index) + 1).max().unwrap_or(0)
}

/// Returns the recorded calls of a module that can run all of them, without expected outputs.
///
/// # Errors
/// Diagnostics if inputs are missing or do not fit.
pub fn recorded(module: &Module, methods: &Methods, inputs: &Inputs) -> Result<Vec<Case>, Diagnostics> {
    let names = methods.names(inputs)?;
    let case = |(number, name): (usize, &Option<String>)| {
        let method = Methods::find(module, name.as_deref())?;
        Ok(Case { method, number, inputs: inputs.of_call(module, method, number)?, expected: vec![] })
    };
    names.iter().enumerate().map(case).collect()
}

/// Adds the expected outputs of an archive to recorded calls.
///
/// # Errors
/// A diagnostic if the archive has none of their outputs.
pub fn expecting(module: &Module, mut cases: Vec<Case>, expected: &Archive) -> Result<Vec<Case>, Diagnostic> {
    for case in &mut cases {
        case.expected = expected_outputs(&module.methods[case.method], case.number, expected);
    }
    if cases.iter().flat_map(|case| &case.expected).all(Option::is_none) {
        return Err(arrays::nothing_to_compare(expected));
    }
    Ok(cases)
}

/// Returns the cases of a bundle in order; with `--method`, only the cases of that method.
///
/// # Errors
/// Diagnostics if the bundle is damaged, or if its cases do not fit the program. They name method, case and input.
pub fn of_bundle(module: &Module, bytes: &Arc<dyn Bytes>, methods: &Methods) -> Result<Vec<Case>, Diagnostics> {
    let (_, suites) = bundled::load(bytes)?;
    let wanted = methods.only(module)?;
    let mut cases = Vec::new();
    for suite in suites {
        let Some(method) = module.methods.iter().position(|m| m.name == suite.method) else {
            let known: Vec<&str> = module.methods.iter().map(|m| m.name.as_str()).collect();
            let message = format!("the bundle tests a method {:?} that the program does not have", suite.method);
            return Err(Diagnostic::new(codes::BUNDLED_METHOD, message).expected(known.join(", "), suite.method).into());
        };
        for (number, case) in suite.cases.into_iter().enumerate().filter(|_| wanted.is_none_or(|wanted| wanted == method)) {
            let case = bundled_case(module, method, number, case);
            cases.push(case.map_err(|error| error.in_function(&suite.method))?);
        }
    }
    Ok(cases)
}

fn bundled_case(module: &Module, method: usize, number: usize, case: TestCase) -> Result<Case, Diagnostic> {
    let description = &module.methods[method];
    // Strings and None have no port. A bundle cannot hold strings, and passes None as such.
    let taken: Vec<usize> = description.inputs.iter().enumerate().map(|(index, port)| port.position(index)).collect();
    let is_extra = |(position, value): &(usize, &Option<Tensor>)| value.is_some() && !taken.contains(position);
    if let Some((position, _)) = case.inputs.iter().enumerate().find(is_extra) {
        let error = Diagnostic::new(
            codes::INPUT_COUNT,
            format!("case {number} of the bundle has an input {position}, which the method does not take"),
        );
        return Err(error.expected(counted(taken.len(), "input"), counted(case.inputs.iter().flatten().count(), "input")));
    }
    let mut inputs = Vec::new();
    for (input, position) in Input::of_method(module, method).iter().zip(taken) {
        let name = format!("input {position} of case {number}");
        let given = case.inputs.get(position).and_then(Option::as_ref);
        let given = given.ok_or_else(|| Diagnostic::new(codes::ARRAY_MISSING, format!("the bundle has no {name}")))?;
        inputs.push(input.buffer(given, false, &name)?);
    }
    if case.outputs.len() > positions(description) {
        let error =
            Diagnostic::new(codes::BUNDLED_OUTPUTS, format!("case {number} of the bundle expects more outputs than the method has"));
        return Err(error.expected(counted(positions(description), "output"), counted(case.outputs.len(), "output")));
    }
    Ok(Case { method, number, inputs, expected: case.outputs })
}

/// Formats a count of things: `1 output`, `2 outputs`.
pub fn counted(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", super::output::grouped(number as u64), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse_module;
    use crate::ir::{ElementType, Port, TensorType};

    /// Makes a method that takes floats and a number, and returns the floats.
    fn module() -> Module {
        let mut module = parse_module("func @f(v0: f32[2, 3], v1: i64[]) {\n  return v0\n}\n").unwrap_or_else(|error| panic!("{error}"));
        let port = |source_index| Port { source_index, ..Port::default() };
        let function = module.functions.keys().next().expect("there is a function");
        // The source's second input is None.
        let inputs = vec![port(None), port(Some(2))];
        module.methods = vec![Method { name: "forward".into(), function, inputs, outputs: vec![port(None)] }];
        module
    }

    fn zeros(element: ElementType, shape: &[u64]) -> Option<Tensor> {
        assert!(TensorType::of(element, shape).static_bytes().is_some());
        Tensor::zeros(element, shape)
    }

    fn floats() -> Option<Tensor> {
        zeros(ElementType::F32, &[2, 3])
    }

    fn number() -> Option<Tensor> {
        zeros(ElementType::I64, &[])
    }

    fn case(inputs: Vec<Option<Tensor>>, outputs: Vec<Option<Tensor>>) -> Result<Case, Diagnostic> {
        bundled_case(&module(), 0, 4, TestCase { inputs, outputs })
    }

    #[test]
    fn cases_of_bundles_are_the_method_s() {
        let case = case(vec![floats(), None, number()], vec![floats()]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((case.inputs.len(), case.expected.len(), case.number), (2, 1, 4));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refused = [
            (case(vec![zeros(ElementType::I8, &[2, 3]), None, number()], vec![]), codes::ARRAY_TYPE, "input 0 of case 4"),
            (case(vec![zeros(ElementType::F32, &[3, 2]), None, number()], vec![]), codes::ARRAY_SHAPE, "input 0 of case 4"),
            (case(vec![zeros(ElementType::F32, &[6]), None, number()], vec![]), codes::ARRAY_SHAPE, "[2, 3]"),
            (case(vec![floats(), None, zeros(ElementType::F64, &[])], vec![]), codes::ARRAY_TYPE, "input 2 of case 4"),
            (case(vec![floats()], vec![]), codes::ARRAY_MISSING, "input 2 of case 4"),
            (case(vec![floats(), None, number(), floats()], vec![]), codes::INPUT_COUNT, "input 3"),
            (case(vec![floats(), floats(), number()], vec![]), codes::INPUT_COUNT, "input 1"),
            (case(vec![floats(), None, number()], vec![floats(), floats()]), codes::BUNDLED_OUTPUTS, "2 outputs"),
        ];
        for (result, code, part) in refused {
            let Err(error) = result else { panic!("{part} is taken") };
            assert!(error.code == code && error.to_string().contains(part), "{error}");
        }
    }
}
