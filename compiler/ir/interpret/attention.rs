//! `attention`, one query after the other, in binary32.

use super::array::Array;
use super::column::Column;
use super::error::{Step, fail};
use crate::ir::types::ElementType;

/// Which keys a query sees.
pub(in crate::ir) struct Seen<'a, 'm> {
    /// How many keys there are.
    pub keys: i64,
    /// The position of the first query, where it matters.
    pub start: Option<i64>,
    /// Added to the scores, `[queries or 1, keys]`.
    pub mask: Option<&'a Array<'m>>,
}

fn numbers(array: &Array<'_>) -> Step<Vec<f32>> {
    match Column::decode(array.element, &array.bytes, 0..array.len()) {
        Column::F32(numbers) => Ok(numbers),
        _ => fail("attention is of f32"),
    }
}

/// `attention`
pub(in crate::ir) fn attention<'m>(operands: [&Array<'_>; 3], scale: f32, seen: &Seen<'_, '_>) -> Step<Array<'m>> {
    let [query, key, value] = [numbers(operands[0])?, numbers(operands[1])?, numbers(operands[2])?];
    let mask = seen.mask.map(numbers).transpose()?;
    let (shape, other) = (&operands[0].shape, &operands[1].shape);
    let ([_, queries, heads, depth], [_, room, groups, _]) = (to_four(shape)?, to_four(other)?);
    if seen.keys < 0 || seen.keys as usize > room {
        return fail(format!("attention to {} keys of {room}", seen.keys));
    }
    let keys = seen.keys as usize;
    let mask_rows = mask.as_ref().map_or(1, |mask| mask.len() / keys.max(1));
    let mut bytes = Vec::with_capacity(query.len() * 4);
    for (row, q) in query.chunks_exact(depth.max(1)).enumerate() {
        let (head, at) = (row % heads, row / heads % queries);
        let batch = row / (heads * queries);
        let of_key = |j: usize| ((batch * room + j) * groups + head / (heads / groups)) * depth;
        let last = seen.start.map_or(keys, |start| keys.min(usize::try_from(start + at as i64 + 1).unwrap_or(0)));
        let score = |j: usize| {
            let product = q.iter().zip(&key[of_key(j)..]).fold(0.0f32, |sum, (a, b)| sum + a * b) * scale;
            mask.as_ref().map_or(product, |mask| product + mask[at % mask_rows * keys + j])
        };
        let scores: Vec<f32> = (0..last).map(score).collect();
        let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weights: Vec<f32> = scores.iter().map(|score| libm::expf(score - largest)).collect();
        let sum = weights.iter().fold(0.0f32, |sum, weight| sum + weight);
        for d in 0..depth {
            let total = weights.iter().enumerate().fold(0.0f32, |total, (j, weight)| total + weight * value[of_key(j) + d]);
            bytes.extend((total / sum).to_le_bytes());
        }
    }
    Ok(Array::new(ElementType::F32, shape.clone(), bytes))
}

fn to_four(shape: &[usize]) -> Step<[usize; 4]> {
    shape.try_into().or_else(|_| fail("attention is of tensors of four dimensions"))
}
