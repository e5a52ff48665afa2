//! WHERE and UNIQUE: results as long as the values of their operand say. They are computed at their largest size, and cut.

use super::error::{invalid, unsupported};
use super::indexing::{filled, positions, scatter};
use super::operator::{Lowered, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Combination, Comparison, ElementType, Extent, Interval, Reduction, Scalar, Scan, Search, Value};
use crate::operators::terms::Terms;
use ElementType::{Bool, F32, I8, I16, I32, I64, U8, U32};

/// Elements of a tensor all pairs of which UNIQUE compares.
const MOST_COMPARED: u64 = 1 << 12;

/// Where the chosen elements of a list lie, in order.
struct Chosen {
    /// Positions, those of the chosen elements first; as many as the list has elements.
    list: Value,
    /// For each element of the list how many are chosen up to it, itself included.
    ranks: Value,
    /// How many are chosen.
    count: Value,
}

/// Picks the elements of `choice`, ones and zeros in i32 of shape `[extent]`.
fn chosen(operator: &mut Operator<'_, '_, '_>, choice: Value, extent: u64) -> Result<Chosen, Diagnostic> {
    let scan = Scan { reduction: Reduction::Sum, axis: 0, exclusive: false, reverse: false };
    let ranks = operator.builder().scan(choice, scan)?;
    let mut terms = Terms::new(&[I32, I32]);
    let (chosen, rank, zero, one, nowhere) = (terms.input(0), terms.input(1), terms.i32(0), terms.i32(1), terms.i32(-1));
    let is_chosen = terms.compare(Comparison::NotEqual, chosen, zero)?;
    let place = terms.sub(rank, one)?;
    let place = terms.select(is_chosen, place, nowhere)?;
    let places = operator.map(&[choice, ranks], terms.finish(place))?;
    let zeros = filled(operator, &[extent], Scalar::i32(0))?;
    let all = positions(operator, &[extent], 0, I32)?;
    let list = scatter(operator, [zeros, places, all], Combination::Set, true)?;
    let sum = operator.builder().reduce(choice, Reduction::Sum, vec![0])?;
    let count = operator.builder().index_load(sum, Interval { low: 0, high: extent as i64 })?;
    Ok(Chosen { list, ranks, count })
}

/// WHERE: the coordinates of all elements that are not zero, in row-major order.
pub(super) fn where_not_zero(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.input(0)?, operator.output(0)?);
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
    let flat = operator.reshape(input.value, &[count])?;
    let mut terms = Terms::new(&[input.element()]);
    let mut some = terms.input(0);
    if input.element() != Bool {
        let zero = terms.constant(Scalar::from_bits(input.element(), 0));
        some = terms.compare(Comparison::NotEqual, some, zero)?;
    }
    let some = terms.convert(some, I32);
    let choice = operator.map(&[flat], terms.finish(some))?;
    let chosen = chosen(operator, choice, count)?;
    let mut columns = Vec::new();
    let mut step = count;
    for &extent in &input.shape {
        step /= extent;
        let mut terms = Terms::new(&[I32]);
        let (position, step, extent) = (terms.input(0), terms.i32(step as i32), terms.i32(extent as i32));
        let line = terms.div(position, step)?;
        let whole = terms.div(line, extent)?;
        let whole = terms.mul(whole, extent)?;
        let coordinate = terms.sub(line, whole)?;
        let coordinate = terms.convert(coordinate, I64);
        let column = operator.map(&[chosen.list], terms.finish(coordinate))?;
        columns.push(operator.reshape(column, &[count, 1])?);
    }
    let table = operator.builder().concat(&columns, 1)?;
    let size = vec![Extent::Value(chosen.count), Extent::Static(rank)];
    let value = operator.builder().slice(table, vec![Extent::Static(0); 2], size, vec![1, 1])?;
    operator.bind(0, value)
}

/// UNIQUE: each element once, in the order in which they first come, and for each element where it then stands.
pub(super) fn unique(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    let (input, output) = (operator.input(0)?, operator.output(1)?);
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
    let (column, row) = (operator.reshape(input.value, &[count, 1])?, operator.reshape(input.value, &[1, count])?);
    let mut terms = Terms::new(&[element, element]);
    let (x, y) = (terms.input(0), terms.input(1));
    let equal = terms.compare(Comparison::Equal, x, y)?;
    let equal = terms.convert(equal, I8);
    let table = operator.map(&[column, row], terms.finish(equal))?;
    let first = operator.builder().arg_reduce(table, Search::Max, 1, I32)?;
    let first = operator.reshape(first, &[count])?;
    // What is not equal to itself, NaN, is its own first.
    let all = positions(operator, &[count], 0, I32)?;
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
    let chosen = chosen(operator, choice, count)?;
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
