//! Functions that signal operators share: checks of their operands, integer arithmetic, columns of samples.

use super::super::error::invalid;
use super::super::operator::{Operand, Operator, extents};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Reduction, Scalar, Scan, Value};
use crate::operators::terms::Terms;
pub(super) use crate::operators::terms::{number, shifted_left, shifted_right};

/// Samples that a state may hold.
pub(super) const MOST_SAMPLES: i64 = 1 << 24;

/// Checks the element types of all operands and results.
pub(super) fn check_types(operator: &mut Operator<'_, '_, '_>, inputs: &[ElementType], outputs: &[ElementType]) -> Result<(), Diagnostic> {
    let mut found = Vec::new();
    for index in 0..inputs.len() {
        found.push(operator.input(index)?.element());
    }
    for index in 0..outputs.len() {
        found.push(operator.output(index)?.element);
    }
    if found == [inputs, outputs].concat() { Ok(()) } else { Err(operator.type_error(&found)) }
}

/// Operand number `index`, which must have one dimension.
pub(super) fn vector(operator: &mut Operator<'_, '_, '_>, index: usize) -> Result<Operand, Diagnostic> {
    let input = operator.input(index)?;
    if input.rank() != 1 {
        let found = format!("{:?}", input.shape);
        return Err(invalid(codes::RANK, format!("input {index} must have one dimension"))
            .about_tensor(&input.info.name)
            .expected("[N]", found));
    }
    Ok(input)
}

/// The number of lines of an operand, and the extent of its last dimension.
pub(super) fn lines(input: &Operand) -> Result<(u64, u64), Diagnostic> {
    match input.shape.split_last() {
        Some((&last, outer)) if last > 0 => Ok((outer.iter().product(), last)),
        _ => {
            let found = format!("{:?}", input.shape);
            Err(invalid(codes::RANK, "the input has no samples").about_tensor(&input.info.name).expected("a last dimension", found))
        }
    }
}

/// The error for a number that does not fit the shapes.
pub(super) fn misfit(message: &str, expected: impl std::fmt::Display, found: impl std::fmt::Display) -> Diagnostic {
    invalid(codes::SHAPES_DIFFER, message).expected(expected.to_string(), found.to_string())
}

/// Columns `start..start + count` of a matrix.
pub(super) fn columns(operator: &mut Operator<'_, '_, '_>, matrix: Value, start: u64, count: u64) -> Result<Value, Diagnostic> {
    let rows = operator.shape(matrix)?[0];
    Ok(operator.builder().slice(matrix, extents(&[0, start]), extents(&[rows, count]), vec![1; 2])?)
}

/// The sums of all elements of a list before each.
pub(super) fn sums_before(operator: &mut Operator<'_, '_, '_>, list: Value) -> Result<Value, Diagnostic> {
    Ok(operator.builder().scan(list, Scan { reduction: Reduction::Sum, axis: 0, exclusive: true, reverse: false })?)
}

/// A constant of one integer type.
pub(super) fn integers(
    operator: &mut Operator<'_, '_, '_>,
    element: ElementType,
    shape: &[u64],
    numbers: &[i64],
) -> Result<Value, Diagnostic> {
    let bytes = numbers.iter().flat_map(|&n| Scalar::int(element, n).to_bytes()).collect();
    operator.constant(element, shape, bytes)
}

/// The samples where `valid` holds, and else zeros.
pub(super) fn valid_or_zero(operator: &mut Operator<'_, '_, '_>, valid: Value, samples: Value) -> Result<Value, Diagnostic> {
    let element = operator.builder().tensor(samples).element;
    let mut terms = Terms::new(&[ElementType::Bool, element]);
    let (valid_node, sample, zero) = (terms.input(0), terms.input(1), number(&mut terms, element, 0));
    let result = terms.select(valid_node, sample, zero)?;
    operator.map(&[valid, samples], terms.finish(result))
}
