//! CUMSUM, TOPK_V2, BUCKETIZE, NON_MAX_SUPPRESSION_V4 and _V5.

use super::error::{invalid, missing_options};
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Comparison, ElementType, Extent, Order, Reduction, ScalarOp, Scan, Value};
use crate::operators::terms::Terms;
use ElementType::{Bool, C64, F32, F64, I16, I32, I64};

/// The one number of an operand that must be a constant.
fn one_number(operator: &mut Operator<'_, '_, '_>, operand: &Operand, what: &str) -> Result<i64, Diagnostic> {
    match operator.integers(operand, what)?[..] {
        [number] => Ok(number),
        ref list => Err(invalid(codes::SHAPES_DIFFER, format!("{what} must be one number each")).expected("1", list.len().to_string())),
    }
}

/// A number of results, which is not negative; one that is known only when the model runs has a bound.
fn asked(operator: &mut Operator<'_, '_, '_>, operand: &Operand, bound: Option<u64>) -> Result<Extent, Diagnostic> {
    let count = match operator.extent_list(operand, "counts", &[bound])?[..] {
        [count] => count.extent(),
        _ => None,
    };
    let small = |count: &Extent| operator.interval(*count).high <= i64::from(i32::MAX);
    count.filter(small).ok_or_else(|| {
        invalid(codes::OPTION_RANGE, "there must be one count, neither negative nor too large")
            .about_tensor(&operand.info.name)
            .expected("0 to 2147483647", "others")
    })
}

/// CUMSUM
pub(super) fn cumsum(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_cumsum_options();
    let (exclusive, reverse) = options.map_or((false, false), |o| (o.exclusive(), o.reverse()));
    let (input, axis) = (operator.any_input(0)?, operator.input(1)?);
    if !matches!(input.element(), F32 | I32 | I64) {
        return Err(operator.type_error(&[input.element()]));
    }
    let axis = one_number(operator, &axis, "axes")?;
    let axis = operator.axis(axis, input.rank())?;
    let value = operator.builder().scan(input.value, Scan { reduction: Reduction::Sum, axis, exclusive, reverse })?;
    operator.bind(0, value)
}

/// TOPK_V2: the largest elements of the last dimension.
pub(super) fn top_k(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 2..=2)?;
    let (input, count, output) = (operator.any_input(0)?, operator.input(1)?, operator.output(1)?);
    if matches!(input.element(), Bool | C64) || input.element().is_packed() || !matches!(output.element, I16 | I32) {
        return Err(operator.type_error(&[input.element(), output.element]));
    }
    let Some(last) = input.rank().checked_sub(1) else { return Err(invalid(codes::RANK, "the input must have a dimension")) };
    let bounds = super::shape::output_bounds(operator);
    let count = asked(operator, &count, bounds.get(last).copied().flatten())?;
    let (fewest, most) = (operator.interval(count).low, operator.interval(input.extents[last]).high);
    if fewest > most {
        return Err(invalid(codes::SHAPES_DIFFER, "more elements are asked for than there are")
            .expected(format!("at most {most}"), fewest.to_string()));
    }
    let results = operator.builder().top_k(input.value, Order::Largest, count)?;
    let positions = match output.element {
        I16 => converted(operator, results[1], I16)?,
        _ => results[1],
    };
    operator.bind(0, results[0])?;
    operator.bind(1, positions)
}

fn converted(operator: &mut Operator<'_, '_, '_>, value: Value, element: ElementType) -> Result<Value, Diagnostic> {
    let from = operator.builder().tensor(value).element;
    let mut terms = Terms::new(&[from]);
    let x = terms.input_as(0, element);
    operator.map(&[value], terms.finish(x))
}

/// BUCKETIZE: the number of boundaries that are not above each element. Boundaries rise and are binary32.
pub(super) fn bucketize(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let options = operator.record.builtin_options_as_bucketize_options().ok_or_else(missing_options)?;
    let boundaries: Vec<f32> = options.boundaries().into_iter().flatten().collect();
    let input = operator.any_input(0)?;
    // C++ compares integers with binary32 in binary32, and binary64 with it in binary64.
    let compared = match input.element() {
        F32 | I32 | I64 => F32,
        F64 => F64,
        other => return Err(operator.type_error(&[other])),
    };
    if boundaries.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(invalid(codes::OPTION_RANGE, "the boundaries of the buckets fall"));
    }
    let list = operator.constant_f32(&[boundaries.len() as u64], &boundaries)?;
    let count = operator.graph().product(&input.extents)?;
    let column = operator.reshape_to(input.value, &[count, Extent::Static(1)])?;
    let mut terms = Terms::new(&[input.element(), F32]);
    let (x, boundary) = (terms.input_as(0, compared), terms.input_as(1, compared));
    let below = terms.compare(Comparison::Less, x, boundary)?;
    let reached = terms.op(ScalarOp::Not, &[below])?;
    let reached = terms.convert(reached, I32);
    let table = operator.map(&[column, list], terms.finish(reached))?;
    let counts = operator.builder().reduce(table, Reduction::Sum, vec![1])?;
    let counts = operator.reshape_to(counts, &input.extents)?;
    operator.bind(0, counts)
}

/// NON_MAX_SUPPRESSION_V4 and, with a sigma and scores, _V5; as many results as the third operand says, zeros after the last.
pub(super) fn non_max_suppression(operator: &mut Operator<'_, '_, '_>, is_soft: bool) -> Lowered {
    let (inputs, outputs) = if is_soft { (6, 3) } else { (5, 2) };
    operator.arity(inputs..=inputs, outputs..=outputs)?;
    let (mut boxes, scores, count) = (operator.any_input(0)?, operator.any_input(1)?, operator.input(2)?);
    let bounds = super::shape::output_bounds(operator);
    let asked = asked(operator, &count, bounds[0])?;
    let count = operator.interval(asked).high;
    if boxes.element() != F32 || scores.element() != F32 {
        return Err(operator.type_error(&[boxes.element(), scores.element()]));
    }
    let fits = scores.rank() == 1 && boxes.rank() == 2 && boxes.extents[1] == Extent::Static(4);
    if !fits || !operator.require_first(&mut boxes, &scores.extents)? {
        let found = format!("boxes {:?}, scores {:?}", boxes.shape, scores.shape);
        return Err(invalid(codes::SHAPES_DIFFER, "boxes and scores do not fit").expected("four numbers and one score for each box", found));
    }
    let extent = operator.extents_of(scores.value)[0];
    let rows = operator.reshape_to(scores.value, &[Extent::Static(1), extent])?;
    // An overlap and a score; a sigma of 0 where there is none.
    let mut thresholds = Vec::new();
    for index in 3..inputs {
        let number = operator.input(index)?;
        if number.element() != F32 || number.elements() != 1 {
            let found = format!("{}{:?}", number.element(), number.shape);
            return Err(invalid(codes::SHAPES_DIFFER, "a threshold must be one number")
                .about_tensor(&number.info.name)
                .expected("f32[]", found));
        }
        thresholds.push(operator.reshape(number.value, &[])?);
    }
    let sigma = if is_soft { thresholds[2] } else { operator.constant_f32(&[], &[0.0])? };
    let results = operator.builder().non_max_suppression([boxes.value, rows, thresholds[0], thresholds[1], sigma], count)?;
    for (index, &list) in results.iter().take(outputs - 1).enumerate() {
        let list = operator.reshape(list, &[count as u64])?;
        let list = match asked {
            Extent::Static(_) => list,
            Extent::Value(_) => operator.builder().slice(list, vec![Extent::Static(0)], vec![asked], vec![1])?,
        };
        operator.bind(index, list)?;
    }
    let mut found = operator.reshape(results[2], &[])?;
    if let Extent::Value(asked) = asked {
        let asked = operator.builder().index_tensor(asked, I32)?;
        let mut terms = Terms::new(&[I32, I32]);
        let (some, most) = (terms.input(0), terms.input(1));
        let least = terms.min(some, most)?;
        found = operator.map(&[found, asked], terms.finish(least))?;
    }
    operator.bind(outputs - 1, found)
}
