//! Operators in exports of decoders for ExecuTorch: attention over caches, and the rotation of keys.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::whole::Whole;
use crate::ir::{ElementType, Extent, Value};
use crate::operators::attention::{Attention, Cache, Order, cached_attention, written_at};
use crate::operators::hadamard;
use crate::operators::promotion::float_type;
use crate::operators::quantize::{Parameter, Rounding, Scale, dequantize};
use crate::operators::recurrent::{DeltaRule, delta_rule};
use ElementType::F32;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("llama::update_cache.out", update_cache),
    ("llama::update_cache_with_indices.out", update_cache_at),
    ("llama::custom_sdpa.out", custom_attention),
    ("llama::custom_quantized_sdpa.out", quantized_attention),
    ("llama::sdpa_with_kv_cache.out", attention_and_caches),
    ("llama::fast_hadamard_transform.out", hadamard_transform),
    ("llama::gated_delta_rule.out", gated_delta_rule),
    ("llama::channelwise_gated_delta_rule.out", gated_delta_rule),
];

fn start(c: &mut Call<'_, '_, '_>, index: usize) -> Result<Value, Fault> {
    let start = c.whole(index)?;
    c.index(start)
}

/// Writes rows to a cache, which is an argument, from a position on. Returns the cache's new contents.
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

/// The arguments of attention that follow the position: mask, dropout, is_causal, scale.
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

/// The number of filled positions: the ones before the queries, and the queries' own.
fn filled_positions(c: &mut Call<'_, '_, '_>, start: Value, count: Extent, capacity: Extent) -> Result<Extent, Fault> {
    let before = c.extent(Whole::Index(start))?;
    let end = c.graph().add(before, count)?;
    Ok(c.graph().min(end, capacity)?)
}

/// Attention to the filled keys of caches: the keys up to the queries, or all if there is a mask.
fn attend(c: &mut Call<'_, '_, '_>, query: Value, caches: [Cache; 2], start: Value, (rest, order): (&Rest, Order)) -> Result<Value, Fault> {
    for tensor in [query, caches[0].elements, caches[1].elements] {
        if c.rank(tensor) != 4 {
            let found = c.rank(tensor).to_string();
            return Err(Fault::invalid("attention needs batch, positions, heads and depth").expected("4 dimensions", found));
        }
    }
    let ty = float_type(c.element(query));
    let query = c.cast(query, ty)?;
    let (positions, heads) = if order == Order::HeadsFirst { (2, 1) } else { (1, 2) };
    // Heads and depth equal the caches', which are static.
    c.settle(query, [0, heads, 3])?;
    let depth = c.extents(query)[3].as_static().ok_or_else(|| Fault::unsupported("the depth of attention is not known"))?;
    let (count, capacity) = (c.extents(query)[positions], c.extents(caches[0].elements)[positions]);
    let keys = if rest.mask.is_some() { capacity } else { filled_positions(c, start, count, capacity)? };
    let scale = rest.scale.unwrap_or(1.0 / (depth as f64).sqrt());
    let causal_from = (rest.is_causal && rest.mask.is_none()).then_some(start);
    let how = Attention { scale, mask: rest.mask, causal_from };
    Ok(cached_attention(c.graph(), query, caches, keys, (&how, order))?)
}

/// (query, key, value, start_pos, attn_mask, dropout, is_causal, scale), keys and values as long as the caches.
fn custom_attention(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (query, start, rest) = (c.tensor(0)?, start(c, 3)?, rest(c, 4)?);
    let (key, value) = (c.tensor(1)?, c.tensor(2)?);
    let y = attend(c, query, [key.into(), value.into()], start, (&rest, Order::PositionsFirst))?;
    c.finish(y)
}

/// (query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask, dropout, is_causal, scale): both caches are written first.
fn attention_and_caches(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (query, start) = (c.tensor(0)?, start(c, 5)?);
    let (key, value) = (write(c, 1, 3, start)?, write(c, 2, 4, start)?);
    let rest = rest(c, 7)?;
    let y = attend(c, query, [key.into(), value.into()], start, (&rest, Order::PositionsFirst))?;
    c.finish(y)
}

/// (query, key, value, start_pos, attn_mask, dropout, is_causal, scale, then zero points and scales of query, key and value, is_seq_at_dim_2).
/// Operands are int8, with a scale for each row of a head.
fn quantized_attention(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (start, rest) = (start(c, 3)?, rest(c, 4)?);
    let order = if c.flag(14)? { Order::HeadsFirst } else { Order::PositionsFirst };
    let mut caches = Vec::with_capacity(3);
    for i in 0..3 {
        let (zero_point, scale) = (c.optional_tensor(8 + 2 * i)?, c.optional_tensor(9 + 2 * i)?);
        let scaled = match (scale, zero_point) {
            (Some(scale), Some(zero_point)) => Some([scale, zero_point]),
            (None, None) => None,
            _ => return Err(Fault::invalid("attention has a scale without a zero point, or a zero point without a scale")),
        };
        caches.push(Cache { elements: c.tensor(i)?, scaled });
    }
    let query = match caches[0].scaled.map(|parameters| parameters.map(Parameter::Tensor)) {
        Some([scale, zero_point]) => dequantize(c.graph(), caches[0].elements, &Scale { scale, zero_point }, Rounding::Even, F32)?,
        None => caches[0].elements,
    };
    let y = attend(c, query, [caches[1], caches[2]], start, (&rest, order))?;
    c.finish(y)
}

/// (query, key, value, decay, beta, initial_state, out, final_state_out): linear attention, heads before steps.
fn gated_delta_rule(c: &mut Call<'_, '_, '_>) -> Outcome {
    let operands = (0..6).map(|i| c.tensor(i)).collect::<Result<Vec<_>, _>>()?;
    if let Some(other) = operands.iter().map(|&operand| c.element(operand)).find(|&element| element != F32) {
        return Err(Fault::unsupported("linear attention of another type than f32").expected("f32", other.to_string()));
    }
    let [query, key, value, decay, correction, state] = operands[..] else { return Err(Fault::Consequence) };
    let rule = DeltaRule { query, key, value, decay, correction, state };
    let (shared, graph) = (&mut *c.translator.shared, &mut c.translator.graph);
    let [answer, state] = delta_rule((graph, &mut |name| shared.function_name(name)), &rule)?;
    c.define(6, answer)?;
    c.define(7, state)
}

fn hadamard_transform(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let ty = float_type(c.element(x));
    let x = c.cast(x, ty)?;
    let y = hadamard::transform(c.graph(), x)?;
    c.finish(y)
}
