//! SEGMENT_SUM and UNSORTED_SEGMENT_SUM, _PROD, _MAX, _MIN: rows combined by the number of their segment.

use super::error::invalid;
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::codes;
use crate::ir::{Combination, ElementType, Extent, Scalar};
use crate::operators::indexing::placed;
use ElementType::{F32, I32};

/// The number in an empty segment.
fn neutral(combination: Combination, element: ElementType) -> Scalar {
    match (combination, element) {
        (Combination::Product, _) => Scalar::int(element, 1),
        (Combination::Max, F32) => Scalar::f32(f32::MIN),
        (Combination::Min, F32) => Scalar::f32(f32::MAX),
        (Combination::Max, _) => Scalar::i32(i32::MIN),
        (Combination::Min, _) => Scalar::i32(i32::MAX),
        _ => Scalar::int(element, 0),
    }
}

/// Combines slices of `data`, after the dimensions of `ids`, into `count` segments.
fn combined(
    operator: &mut Operator<'_, '_, '_>,
    data: Operand,
    mut ids: Operand,
    count: Extent,
    combination: Combination,
    skips_negative: bool,
) -> Lowered {
    if !matches!(data.element(), F32 | I32) || ids.element() != I32 {
        return Err(operator.type_error(&[data.element(), ids.element()]));
    }
    let first = data.extents.get(..ids.rank()).map(<[Extent]>::to_vec);
    let fits = first.map_or(Ok(false), |first| operator.require_first(&mut ids, &first))?;
    if !fits {
        let expected = format!("{:?} and more dimensions", ids.shape);
        return Err(
            invalid(codes::SHAPES_DIFFER, "the segment numbers do not fit the data").expected(expected, format!("{:?}", data.shape))
        );
    }
    let most = operator.graph().bound(count);
    super::tensor::checked_bytes(data.element(), &[&[most], &data.shape[ids.rank()..]].concat())?;
    let neutral = operator.graph().scalar(neutral(combination, data.element()))?;
    let operands = [data.value, ids.value, neutral];
    let value = placed::segments(operator.graph(), operands, count, combination, skips_negative)?;
    operator.bind(0, value)
}

/// UNSORTED_SEGMENT_*: the third operand is the number of segments. Rows of negative segments are left out.
pub(super) fn unsorted(operator: &mut Operator<'_, '_, '_>, combination: Combination) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (data, ids, count) = (operator.any_input(0)?, operator.any_input(1)?, operator.input(2)?);
    let bounds = super::shape::output_bounds(operator);
    let count = match operator.extent_list(&count, "numbers of segments", &bounds[..1])?[..] {
        [count] => {
            count.extent().ok_or_else(|| invalid(codes::OPTION_RANGE, "the number of segments is negative").expected("0 or more", "fewer"))
        }
        ref list => Err(invalid(codes::SHAPES_DIFFER, "there must be one number of segments").expected("1", list.len().to_string())),
    }?;
    combined(operator, data, ids, count, combination, true)
}

/// SEGMENT_SUM: numbers that do not fall; the last is the number of segments less one, so they must be known.
pub(super) fn segment_sum(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (data, ids) = (operator.any_input(0)?, operator.input(1)?);
    if ids.rank() != 1 {
        return Err(invalid(codes::RANK, "the segment numbers must be a list").expected("rank 1", format!("{:?}", ids.shape)));
    }
    let numbers = operator.integers(&ids, "segment numbers")?;
    let rises = numbers.first().is_none_or(|&first| first >= 0) && numbers.windows(2).all(|pair| pair[0] <= pair[1]);
    if !rises {
        return Err(invalid(codes::OPTION_RANGE, "segment numbers must not be negative, nor fall").about_tensor(&ids.info.name));
    }
    let count = numbers.last().map_or(0, |&last| last as u64 + 1);
    combined(operator, data, ids, Extent::Static(count), Combination::Sum, false)
}
