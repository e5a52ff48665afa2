//! Mixtures of experts, whose weights `torchao` has packed.

use super::super::fault::Fault;
use super::super::tensors::shape_text;
use super::call::{Call, Translate};
use crate::ir::{ElementType, Extent, Value};
use crate::operators::experts::{Expert, Gates, Grouped, Router, mixture};
use ElementType::F32;

pub(super) const OPERATORS: &[(&str, Translate)] = &[("llama::quantized_moe_ffn.out", experts)];

/// Bytes before the weights of an expert.
const HEADER: usize = 64;

/// Rows that are packed together.
const ROWS: usize = 8;

/// Neighbours of a row that are packed together.
const RUN: usize = 16;

/// (x, gate weight, expert bias, packed W₁ and W₃, packed W₂, experts of a row, experts, hidden, depth, group, bits, scores, scale).
fn experts(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let (x, weights, bias) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let [count, experts, hidden, depth] = [5, 6, 7, 8].map(|index| size(c, index));
    let (count, experts, hidden, depth) = (count?, experts?, hidden?, depth?);
    if count > experts {
        return Err(Fault::invalid("a row goes to more experts than there are").expected(format!("at most {experts}"), count.to_string()));
    }
    let has_bias = c.shape(bias)?.iter().product::<u64>() > 0;
    fits(c, x, &[None, Some(depth)])?;
    fits(c, weights, &[Some(experts), Some(depth)])?;
    if has_bias {
        fits(c, bias, &[Some(experts)])?;
    }
    let form = Form { group: size(c, 9)?, bits: bits(c)? };
    let inner = matrices(c, 3, experts, [2 * hidden, depth], &form)?;
    let outer = matrices(c, 4, experts, [depth, hidden], &form)?;
    let experts: Vec<Expert> = inner.into_iter().zip(outer).map(|(inner, outer)| Expert { inner, outer }).collect();
    let gates = match c.text(11)?.as_deref() {
        Some("sigmoid") => Gates::Logistic { added: has_bias.then_some(bias), total: c.double(12)? as f32 },
        Some("softmax") if !has_bias => Gates::Softmax,
        other => return Err(Fault::unsupported(format!("scores by {} are not supported", other.unwrap_or("no function")))),
    };
    let names: Vec<String> = (0..=experts.len()).map(|number| c.translator.shared.function_name(&format!("expert{number}"))).collect();
    let router = Router { weights, count: count as u64, gates };
    let y = mixture(c.graph(), x, &router, &experts, &names)?;
    c.finish(y)
}

/// A size that no real model's exceeds.
fn size(c: &Call<'_, '_, '_>, index: usize) -> Result<usize, Fault> {
    let n = c.int(index)?;
    let fits = usize::try_from(n).ok().filter(|n| (1..1 << 24).contains(n));
    fits.ok_or_else(|| Fault::invalid(format!("argument {index} is out of range")).expected("1 to 2^24", n.to_string()))
}

/// Checks that an operand is of f32, and has a shape if one is given.
fn fits(c: &mut Call<'_, '_, '_>, operand: Value, shape: &[Option<usize>]) -> Result<(), Fault> {
    let (element, found) = (c.element(operand), c.extents(operand));
    if element != F32 || found.len() != shape.len() {
        let found = format!("{element}{}", shape_text(&found));
        return Err(Fault::invalid("an operand does not fit the experts").expected(format!("f32 of {} dimensions", shape.len()), found));
    }
    for (extent, expected) in found.into_iter().zip(shape) {
        if let Some(expected) = expected {
            c.translator.equate(extent, Extent::Static(*expected as u64))?;
        }
    }
    Ok(())
}

fn bits(c: &Call<'_, '_, '_>) -> Result<usize, Fault> {
    match c.int(10)? {
        4 => Ok(4),
        8 => Ok(8),
        other => Err(Fault::unsupported(format!("weights of {other} bits are not supported"))),
    }
}

/// The packing of integers.
struct Form {
    /// The number of consecutive integers of a row with one scale.
    group: usize,
    bits: usize,
}

/// The matrices of all experts, stored in one tensor of bytes.
fn matrices(c: &mut Call<'_, '_, '_>, index: usize, experts: usize, shape: [usize; 2], form: &Form) -> Result<Vec<Grouped>, Fault> {
    let packed = c.tensor(index)?;
    let found = c.shape(packed)?;
    let [rows, columns] = shape;
    if !form.group.is_multiple_of(RUN) || !columns.is_multiple_of(form.group) {
        return Err(Fault::invalid("groups do not fill a row").expected(format!("multiples of {RUN}"), form.group.to_string()));
    }
    let groups = columns / form.group;
    let needed = HEADER + rows.next_multiple_of(ROWS) * (columns / 8 * form.bits + groups * 8);
    let &[_, bytes] = &found[..] else { return Err(Fault::invalid("the packed weights are not a matrix")) };
    if found[0] != experts as u64 || bytes < needed as u64 {
        return Err(Fault::invalid("the packed weights are too few").expected(format!("{experts} of {needed} bytes"), format!("{found:?}")));
    }
    let all = c.graph().known(packed);
    let all = all.ok_or_else(|| Fault::unsupported("packed weights must be constants"))?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    Ok(all.chunks_exact(bytes).map(|blob| unpacked(&blob[HEADER..needed], shape, form)).collect())
}

/// A matrix out of blocks of eight rows. A block has its groups one after another. A group has its integers, sixteen of each row at a time, and then
/// eight scales and eight sums of integers.
fn unpacked(mut bytes: &[u8], [rows, columns]: [usize; 2], form: &Form) -> Grouped {
    let groups = columns / form.group;
    let (mut integers, mut scales) = (vec![0u8; rows * columns], vec![0f32; rows * groups]);
    let mut take = |count: usize| {
        let (taken, rest) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
        bytes = rest;
        taken
    };
    for first in (0..rows).step_by(ROWS) {
        for group in 0..groups {
            for start in (0..form.group).step_by(RUN) {
                let run = spread(take(ROWS * RUN * form.bits / 8), form.bits);
                // Halves of the runs of all rows come before the other halves.
                for (place, integer) in run.into_iter().enumerate() {
                    let (half, row, at) = (place / (ROWS * RUN / 2), place / (RUN / 2) % ROWS, place % (RUN / 2));
                    if first + row < rows {
                        integers[(first + row) * columns + group * form.group + start + half * (RUN / 2) + at] = integer;
                    }
                }
            }
            for (row, scale) in take(4 * ROWS).chunks_exact(4).enumerate().filter(|(row, _)| first + row < rows) {
                scales[(first + row) * groups + group] = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
            }
            take(4 * ROWS);
        }
    }
    let bytes = if form.bits == 4 { integers.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect() } else { integers };
    Grouped { shape: [rows as u64, columns as u64], group: form.group as u64, bits: form.bits as u32, bytes, scales }
}

/// The integers in packed bytes: of four bits sixteen in the lower halves of sixteen bytes, and the next sixteen in their higher halves.
fn spread(bytes: &[u8], bits: usize) -> Vec<u8> {
    if bits == 8 {
        return bytes.to_vec();
    }
    bytes.chunks(16).flat_map(|run| run.iter().map(|byte| byte & 15).chain(run.iter().map(|byte| byte >> 4))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten rows of 32: two blocks with two groups each. The second block lacks six rows.
    #[test]
    fn integers_and_scales_are_found_where_they_were_packed() {
        let number = |row: usize, column: usize| if row < 10 { ((row * 7 + column * 3) % 16) as u8 } else { 8 };
        let scale = |row: usize, group: usize| if row < 10 { (row * 2 + group) as f32 } else { 0.0 };
        let mut bytes = Vec::new();
        for (first, group) in [(0, 0), (0, 1), (8, 0), (8, 1)] {
            let packed = |place: usize| number(first + place / 8 % 8, group * 16 + place / 64 * 8 + place % 8);
            bytes.extend((0..64).map(|at| packed(at / 16 * 32 + at % 16) | packed(at / 16 * 32 + at % 16 + 16) << 4));
            bytes.extend((0..8).flat_map(|row| scale(first + row, group).to_le_bytes()));
            bytes.extend([0; 32]);
        }
        let matrix = unpacked(&bytes, [10, 32], &Form { group: 16, bits: 4 });
        let pairs = (0..10).flat_map(|row| (0..32).step_by(2).map(move |column| number(row, column) << 4 | number(row, column + 1)));
        assert_eq!(matrix.bytes, pairs.collect::<Vec<_>>());
        assert_eq!(matrix.scales, (0..20).map(|n| n as f32).collect::<Vec<_>>());
    }
}
