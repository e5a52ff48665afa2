//! WHERE and UNIQUE: results as long as the values of their operand say. They are computed at their largest size, and cut.

use super::error::{invalid, unsupported};
use super::operator::{Lowered, Operator};
use crate::diagnostic::codes;
use crate::ir::{Comparison, ElementType, Extent, Search, Value};
use crate::operators::selection;
use crate::operators::terms::Terms;
use ElementType::{Bool, F32, I8, I16, I32, I64, U8, U32};

/// The maximum number of elements of a tensor that UNIQUE compares in pairs.
const MOST_COMPARED: u64 = 1 << 12;

/// WHERE: the coordinates of all elements that are not zero, in row-major order.
pub(super) fn where_not_zero(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    if !matches!(input.element(), Bool | F32 | I8 | I32 | I64 | U8 | U32) || output.element != I64 || input.rank() == 0 {
        return Err(operator.type_error(&[input.element(), output.element]));
    }
    let count = input.elements();
    if count > i32::MAX as u64 {
        return Err(unsupported("positions beyond 31 bits are not supported"));
    }
    let rank = input.rank() as u64;
    if count == 0 {
        let nothing = operator.constant(I64, &[0, rank], vec![])?;
        return operator.bind(0, nothing);
    }
    let value = selection::coordinates(operator.graph(), input.value)?;
    operator.bind(0, value)
}

/// UNIQUE: each element once, in the order of first occurrence, and for each element of the operand its position in this list.
pub(super) fn unique(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    let (input, output) = (operator.any_input(0)?, operator.output(1)?);
    let element = input.element();
    if !matches!(element, F32 | I8 | I16 | I32 | I64 | U8) || !matches!(output.element, I32 | I64) {
        return Err(operator.type_error(&[element, output.element]));
    }
    let [count] = input.shape[..] else {
        return Err(invalid(codes::RANK, "the input must have one dimension").expected("rank 1", format!("{:?}", input.shape)));
    };
    if count > MOST_COMPARED {
        return Err(unsupported(format!("distinct elements of more than {MOST_COMPARED} are not supported")));
    }
    if count == 0 {
        let nothing = operator.constant(output.element, &[0], vec![])?;
        operator.bind(0, input.value)?;
        return operator.bind(1, nothing);
    }
    let (count, one) = (input.extents[0], Extent::Static(1));
    let (column, row) = (operator.reshape_to(input.value, &[count, one])?, operator.reshape_to(input.value, &[one, count])?);
    let mut terms = Terms::new(&[element, element]);
    let (x, y) = (terms.input(0), terms.input(1));
    let equal = terms.compare(Comparison::Equal, x, y)?;
    let equal = terms.convert(equal, I8);
    let table = operator.map(&[column, row], terms.finish(equal))?;
    let first = operator.builder().arg_reduce(table, Search::Max, 1, I32)?;
    let first = operator.reshape_to(first, &[count])?;
    // NaN, which is not equal to itself, is its own first.
    let all = operator.graph().positions(&[count], 0, I32)?;
    let mut terms = Terms::new(&[element, I32, I32]);
    let (x, first_term, position) = (terms.input(0), terms.input(1), terms.input(2));
    let known = terms.compare(Comparison::Equal, x, x)?;
    let own = terms.select(known, first_term, position)?;
    let first = operator.map(&[input.value, first, all], terms.finish(own))?;
    let mut terms = Terms::new(&[I32, I32]);
    let (first_term, position) = (terms.input(0), terms.input(1));
    let is_new = terms.compare(Comparison::Equal, first_term, position)?;
    let is_new = terms.convert(is_new, I32);
    let choice = operator.map(&[first, all], terms.finish(is_new))?;
    let chosen = selection::chosen(operator.graph(), choice)?;
    let by_position = |operator: &mut Operator<'_, '_, '_>, source: Value, indices: Value| operator.builder().gather(source, indices, 0, 0);
    let values = by_position(operator, input.value, chosen.list)?;
    let values = operator.builder().slice(values, vec![Extent::Static(0)], vec![Extent::Value(chosen.count)], vec![1])?;
    operator.bind(0, values)?;
    let ranks = by_position(operator, chosen.ranks, first)?;
    let mut terms = Terms::new(&[I32]);
    let (rank, one) = (terms.input(0), terms.i32(1));
    let place = terms.sub(rank, one)?;
    let place = terms.convert(place, output.element);
    let places = operator.map(&[ranks], terms.finish(place))?;
    operator.bind(1, places)
}
