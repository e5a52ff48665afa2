//! `attention`, one query after the other, in binary32.

use super::array::Array;
use super::column::Column;
use super::error::{Step, fail};
use crate::types::ElementType;

/// The keys that a query sees.
pub(crate) struct Seen<'a, 'm> {
    /// The number of keys.
    pub keys: i64,
    /// The position of the first query if attention is causal.
    pub start: Option<i64>,
    /// The addend of the scores, `[queries or 1, keys]`.
    pub mask: Option<&'a Array<'m>>,
}

/// Keys or values.
pub(crate) struct Cache<'a, 'm> {
    /// The numbers, or the quantized bytes.
    pub elements: &'a Array<'m>,
    /// The scales and zero points of quantized bytes, one of each for a position and head.
    pub scaled: Option<[&'a Array<'m>; 2]>,
}

impl Cache<'_, '_> {
    fn numbers(&self, depth: usize) -> Step<Vec<f32>> {
        let Some([scales, zeros]) = self.scaled else { return numbers(self.elements) };
        let scales = numbers(scales)?;
        let rows = self.elements.bytes.chunks_exact(depth.max(1)).zip(scales.iter().zip(zeros.bytes.iter()));
        let distance = |byte: u8, zero: u8| (i32::from(byte as i8) - i32::from(zero as i8)) as f32;
        Ok(rows.flat_map(|(row, (scale, &zero))| row.iter().map(move |&byte| distance(byte, zero) * scale)).collect())
    }
}

fn numbers(array: &Array<'_>) -> Step<Vec<f32>> {
    match Column::decode(array.element, &array.bytes, 0..array.len()) {
        Column::F32(numbers) => Ok(numbers),
        _ => fail("attention is of floats"),
    }
}

/// `attention`
pub(crate) fn attention<'m>(queried: &Array<'_>, [keys, values]: [Cache<'_, '_>; 2], scale: f32, seen: &Seen<'_, '_>) -> Step<Array<'m>> {
    let (shape, other) = (&queried.shape, &keys.elements.shape);
    let ([_, queries, heads, depth], [_, room, groups, _]) = (to_four(shape)?, to_four(other)?);
    let [query, key, value] = [numbers(queried)?, keys.numbers(depth)?, values.numbers(depth)?];
    let mask = seen.mask.map(numbers).transpose()?;
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
