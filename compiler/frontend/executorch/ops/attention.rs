//! The operators that ExecuTorch's decoders are exported with: attention over caches, and what rotates their keys.

use super::super::fault::Fault;
use super::call::{Call, Translate, Whole, float_type};
use crate::ir::{ElementType, Extent, Value};
use crate::operators::attention::{Attention, attention, cached_attention, written_at};
use crate::operators::hadamard;
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use ElementType::F32;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("llama::update_cache.out", update_cache),
    ("llama::update_cache_with_indices.out", update_cache_at),
    ("llama::custom_sdpa.out", custom_attention),
    ("llama::custom_quantized_sdpa.out", quantized_attention),
    ("llama::sdpa_with_kv_cache.out", attention_and_caches),
    ("llama::fast_hadamard_transform.out", hadamard_transform),
];

fn start(c: &mut Call<'_, '_, '_>, index: usize) -> Result<Value, Fault> {
    let start = c.whole(index)?;
    c.index(start)
}

/// Rows written to a cache, which is an argument, from a position on; gives what the cache then holds.
fn write(c: &mut Call<'_, '_, '_>, rows: usize, cache: usize, start: Value) -> Result<Value, Fault> {
    let (rows, old) = (c.tensor(rows)?, c.tensor(cache)?);
    let rows = c.cast(rows, c.element(old))?;
    let (new, all) = (c.extents(rows), c.extents(old));
    for (_, (&new, &all)) in new.iter().zip(&all).enumerate().filter(|(d, _)| *d != 1) {
        c.translator.equate(new, all)?;
    }
    let written = written_at(c.graph(), old, rows, start)?;
    c.define(cache, written)?;
    Ok(written)
}

/// The result of an operator that writes to its argument says nothing.
fn without_result(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.register(c.out())?;
    c.translator.withdraw(out, Fault::unsupported("the result of an update of a cache is read, which has no content"));
    Ok(())
}

/// (value, cache, start_pos): rows `[B, S, H, D]` into a cache `[B, T, H, D]`.
fn update_cache(c: &mut Call<'_, '_, '_>) -> Outcome {
    let start = start(c, 2)?;
    write(c, 0, 1, start)?;
    without_result(c)
}

/// (value, cache, start_pos, indices): the same where a tensor `[B, S]` names the positions.
fn update_cache_at(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (rows, cache, places) = (c.tensor(0)?, c.tensor(1)?, c.tensor(3)?);
    let scatter = crate::ir::Scatter { axis: 1, batch: 1, combination: crate::ir::Combination::Set, skips_negative: false };
    let rows = c.cast(rows, c.element(cache))?;
    let written = c.builder().scatter([cache, places, rows], scatter)?;
    c.define(1, written)?;
    without_result(c)
}

/// What follows a position in the arguments of attention: mask, dropout, is_causal, scale.
struct Rest {
    mask: Option<Value>,
    is_causal: bool,
    scale: Option<f64>,
}

fn rest(c: &mut Call<'_, '_, '_>, first: usize) -> Result<Rest, Fault> {
    let mask = c.optional_tensor(first)?;
    if c.double(first + 1)? != 0.0 {
        return Err(Fault::unsupported("dropout draws random numbers").help("export the module in evaluation mode: `module.eval()`"));
    }
    if mask.is_some_and(|mask| !c.element(mask).is_float()) {
        return Err(Fault::unsupported("a mask of truth values is not supported").expected("floats", "truth values"));
    }
    let scale = c.optional_number(first + 3)?.map(|n| n.as_f64());
    Ok(Rest { mask, is_causal: c.flag(first + 2)?, scale })
}

/// The first rows of a cache along its positions, up to those that the queries come after: all of it where a mask tells.
fn filled(c: &mut Call<'_, '_, '_>, cache: Value, axis: usize, end: Option<Extent>) -> Result<Value, Fault> {
    match end {
        Some(end) => Ok(c.graph().slice_along(cache, axis, Extent::Static(0), end)?),
        None => Ok(cache),
    }
}

/// As many positions as are filled: those before the queries, and theirs.
fn filled_positions(c: &mut Call<'_, '_, '_>, start: Value, count: Extent, capacity: Extent) -> Result<Extent, Fault> {
    let before = c.extent(Whole::Index(start))?;
    let end = c.graph().add(before, count)?;
    Ok(c.graph().min(end, capacity)?)
}

/// Attention to the first keys of tensors that have positions before heads, or heads before positions: to all of them where a mask tells.
fn attend(
    c: &mut Call<'_, '_, '_>,
    operands: [Value; 3],
    start: Value,
    keys: Option<Extent>,
    rest: &Rest,
    heads_first: bool,
) -> Result<Value, Fault> {
    let ty = float_type(c.element(operands[0]));
    let mut operands = operands;
    for tensor in &mut operands {
        if c.rank(*tensor) != 4 {
            return Err(
                Fault::invalid("attention needs batch, positions, heads and depth").expected("4 dimensions", c.rank(*tensor).to_string())
            );
        }
        *tensor = c.cast(*tensor, ty)?;
    }
    // Heads and depth are those of the caches, which do not vary.
    c.settle(operands[0], [0, if heads_first { 1 } else { 2 }, 3])?;
    let depth = c.extents(operands[0])[3].as_static().ok_or_else(|| Fault::unsupported("the depth of attention is not known"))?;
    let scale = rest.scale.unwrap_or(1.0 / (depth as f64).sqrt());
    let causal_from = (rest.is_causal && rest.mask.is_none()).then_some(start);
    let how = Attention { scale, mask: rest.mask, causal_from };
    let axis = if heads_first { 2 } else { 1 };
    let keys = keys.unwrap_or(c.extents(operands[1])[axis]);
    if !heads_first {
        return Ok(cached_attention(c.graph(), operands, keys, &how)?);
    }
    let [query, key, value] = operands;
    let (key, value) = (filled(c, key, axis, Some(keys))?, filled(c, value, axis, Some(keys))?);
    Ok(attention(c.graph(), [query, key, value], &how)?)
}

/// (query, key, value, start_pos, attn_mask, dropout, is_causal, scale), keys and values as long as the caches.
fn custom_attention(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (query, start, rest) = (c.tensor(0)?, start(c, 3)?, rest(c, 4)?);
    let (key, value) = (c.tensor(1)?, c.tensor(2)?);
    let y = over_caches(c, [query, key, value], start, &rest)?;
    c.finish(y)
}

fn over_caches(c: &mut Call<'_, '_, '_>, [query, key, value]: [Value; 3], start: Value, rest: &Rest) -> Result<Value, Fault> {
    let (count, capacity) = (c.extents(query).get(1).copied(), c.extents(key).get(1).copied());
    let (Some(count), Some(capacity)) = (count, capacity) else { return Err(Fault::invalid("attention needs positions")) };
    let end = if rest.mask.is_some() { None } else { Some(filled_positions(c, start, count, capacity)?) };
    attend(c, [query, key, value], start, end, rest, false)
}

/// (query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask, dropout, is_causal, scale): both caches are written first.
fn attention_and_caches(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (query, start) = (c.tensor(0)?, start(c, 5)?);
    let (key, value) = (write(c, 1, 3, start)?, write(c, 2, 4, start)?);
    let rest = rest(c, 7)?;
    let y = over_caches(c, [query, key, value], start, &rest)?;
    c.finish(y)
}

/// (query, key, value, start_pos, attn_mask, dropout, is_causal, scale, then zero points and scales of query, key and value, is_seq_at_dim_2): operands in
/// int8, with a scale for each row of a head.
fn quantized_attention(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (start, rest, heads_first) = (start(c, 3)?, rest(c, 4)?, c.flag(14)?);
    let axis = if heads_first { 2 } else { 1 };
    let (query, key) = (c.tensor(0)?, c.tensor(1)?);
    let (count, capacity) = (c.extents(query).get(axis).copied(), c.extents(key).get(axis).copied());
    let (Some(count), Some(capacity)) = (count, capacity) else { return Err(Fault::invalid("attention needs positions")) };
    let end = if rest.mask.is_some() { None } else { Some(filled_positions(c, start, count, capacity)?) };
    let mut operands = Vec::new();
    for i in 0..3 {
        let end = end.filter(|_| i > 0);
        let tensor = c.tensor(i)?;
        let tensor = filled(c, tensor, axis, end)?;
        let mut parameters = [Parameter::Number(0.0); 2];
        let mut is_quantized = false;
        for (parameter, argument) in parameters.iter_mut().zip([9 + 2 * i, 8 + 2 * i]) {
            if let Some(value) = c.optional_tensor(argument)? {
                is_quantized = true;
                *parameter = Parameter::Tensor(filled(c, value, axis, end)?);
            }
        }
        let scale = Scale { scale: parameters[0], zero_point: parameters[1] };
        operands.push(if is_quantized { quantize::dequantize(c.graph(), tensor, &scale, Rounding::Even, F32)? } else { tensor });
    }
    let y = attend(c, [operands[0], operands[1], operands[2]], start, end, &rest, heads_first)?;
    c.finish(y)
}

fn hadamard_transform(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let ty = float_type(c.element(x));
    let x = c.cast(x, ty)?;
    let y = hadamard::transform(c.graph(), x)?;
    c.finish(y)
}
