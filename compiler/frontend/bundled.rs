//! Bundled ExecuTorch programs (`.bpte`): a whole `.pte` file, with inputs of its methods and the outputs they should give.

use super::executorch::program::{element_type, form};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::ir::data::Bytes;
use crate::ir::{Data, ElementType, Scalar, Tensor};
use crate::schema::{bundled_program as schema, flatbuffer_part, range_in, verifier_options};
use std::sync::Arc;

/// The test cases of one method.
#[derive(Clone, Debug, PartialEq)]
pub struct TestSuite {
    /// The method's name.
    pub method: String,
    /// The cases in order.
    pub cases: Vec<TestCase>,
}

/// One call. Positions are the source's; None is `None`. Tensors have their logical shape; numbers are tensors of shape `[]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestCase {
    /// The inputs.
    pub inputs: Vec<Option<Tensor>>,
    /// The expected outputs.
    pub outputs: Vec<Option<Tensor>>,
}

fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::DAMAGED_BUNDLE, message)
}

/// Reads a bundle: the program's bytes, which `executorch` loads, and the test cases.
///
/// # Errors
/// A damaged bundle.
pub fn load(bytes: &Arc<dyn Bytes>) -> Result<(Data, Vec<TestSuite>), Diagnostics> {
    let file = (**bytes).as_ref();
    let bundle = verified(file)?;
    let program = bundle.program().map_or(&[][..], |program| program.bytes());
    if program.is_empty() {
        return Err(invalid("the bundle holds no program").into());
    }
    let data = Data::range_of(bytes.clone(), range_in(file, program));
    let data = data.ok_or_else(|| invalid("the program extends beyond the end of the file"))?;
    let mut suites = Vec::new();
    for suite in bundle.method_test_suites().into_iter().flatten() {
        let method = suite.method_name().unwrap_or_default().to_owned();
        let mut cases = Vec::new();
        for (number, case) in suite.test_cases().into_iter().flatten().enumerate() {
            let place = |fault: Diagnostic, what: &str, i: usize| {
                fault.in_function(&method).about_tensor(format!("{what} {i} of test case {number}"))
            };
            let values = |list: Option<Values<'_>>, what: &str| {
                let tensors = list.into_iter().flatten().enumerate().map(|(i, v)| tensor(v).map_err(|fault| place(fault, what, i)));
                tensors.collect::<Result<Vec<_>, _>>()
            };
            let (inputs, outputs) = (values(case.inputs(), "input")?, values(case.expected_outputs(), "output")?);
            cases.push(TestCase { inputs, outputs });
        }
        suites.push(TestSuite { method, cases });
    }
    Ok((data, suites))
}

type Values<'a> = flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<schema::Value<'a>>>;

fn verified(file: &[u8]) -> Result<schema::BundledProgram<'_>, Diagnostic> {
    if !schema::bundled_program_buffer_has_identifier(file) {
        let found = file.get(4..8).map_or_else(|| format!("{} bytes", file.len()), |id| format!("\"{}\"", id.escape_ascii()));
        return Err(invalid("not a bundled program").expected("identifier BP08 at byte 4", found));
    }
    let buffer = flatbuffer_part(file);
    schema::root_as_bundled_program_with_opts(&verifier_options(buffer.len()), buffer)
        .map_err(|error| invalid(format!("the bundle is damaged: {}", error.to_string().lines().next().unwrap_or_default())))
}

fn number(value: Scalar) -> Option<Tensor> {
    Some(Tensor { element: value.element(), shape: Vec::new(), bytes: value.to_bytes() })
}

fn tensor(value: schema::Value<'_>) -> Result<Option<Tensor>, Diagnostic> {
    use schema::ValueUnion as V;
    let missing = || invalid("the value has a type but no contents");
    match value.val_type() {
        V::NONE => Ok(None),
        V::Int => Ok(number(Scalar::int(ElementType::I64, value.val_as_int().ok_or_else(missing)?.int_val()))),
        V::Bool => Ok(number(Scalar::bool(value.val_as_bool().ok_or_else(missing)?.bool_val()))),
        V::Double => Ok(number(Scalar::float(ElementType::F64, value.val_as_double().ok_or_else(missing)?.double_val()))),
        V::Tensor => dense(value.val_as_tensor().ok_or_else(missing)?).map(Some),
        other => Err(invalid(format!("unknown value type {}", other.0))),
    }
}

/// A tensor in logical order.
fn dense(tensor: schema::Tensor<'_>) -> Result<Tensor, Diagnostic> {
    let sizes: Vec<i32> = tensor.sizes().into_iter().flatten().collect();
    let order = tensor.dim_order().map_or(&[][..], |order| order.bytes());
    let form = form(element_type(tensor.scalar_type())?, &sizes, order)?;
    let data = tensor.data().map_or(&[][..], |data| data.bytes());
    let bytes = usize::try_from(form.bytes()).ok().and_then(|length| data.get(..length)).ok_or_else(|| {
        invalid("the data is shorter than the tensor").expected(format!("{} bytes", form.bytes()), data.len().to_string())
    })?;
    let port = crate::ir::Port { dim_order: form.layout.clone(), ..Default::default() };
    let buffer = Tensor { element: form.element, shape: form.physical_shape(), bytes: bytes.to_vec() };
    port.from_buffer(&buffer).ok_or_else(|| invalid("the dimension order does not fit the tensor"))
}
