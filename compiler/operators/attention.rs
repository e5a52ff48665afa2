//! Attention of queries to keys and values, and the caches that hold these.

use super::activation::Activation;
use super::contraction::Numerics;
use super::contraction::products::{matmul, swapped};
use super::quantize::{Parameter, Rounding, Scale, dequantize};
use super::softmax::softmax;
use super::{Error, Graph};
use crate::ir::operators;
use crate::ir::{Combination, Comparison, ElementType, Extent, Scalar, ScalarOp, Scatter, Value};
use ElementType::{Bf16, F16, F32, I8, I64};

const ONE: Extent = Extent::Static(1);

/// The permutation that exchanges heads and positions, which lie between the batch and the depth. In [`attention`] heads are first.
const HEADS_FIRST: [usize; 4] = [0, 2, 1, 3];

/// The parameters of an attention.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// Factor of the products of queries and keys.
    pub scale: f64,
    /// A tensor added to the products; it broadcasts to `[queries, keys]`.
    pub mask: Option<Value>,
    /// The position of the first query, an index, if attention is causal: a query then attends to no key after its own position.
    pub causal_from: Option<Value>,
}

/// Attention of floats. Queries are `[B, H, S, D]`, keys and values `[B, G, T, D]`. G divides H, so that H ÷ G heads of queries share one head of
/// keys. The result is `[B, H, S, D]`.
///
/// # Errors
/// [`Error::DynamicExtent`] of heads and depth, and mistakes of operands that do not fit each other.
pub fn attention(g: &mut Graph<'_>, [query, key, value]: [Value; 3], how: &Attention) -> Result<Value, Error> {
    let (shape, other) = (g.extents(query), g.extents(key));
    let (&[batch, heads, count, depth], &[_, groups, _, _]) = (&shape[..], &other[..]) else {
        return Err(Error::NoImage { rank: shape.len() });
    };
    let (known, groups) = (heads.as_static().ok_or(Error::DynamicExtent)?, groups.as_static().ok_or(Error::DynamicExtent)?);
    if groups == 0 || !known.is_multiple_of(groups) {
        return Err(Error::Groups { channels: known, groups });
    }
    let together = known / groups;
    let (mut rows, mut columns, mut values) = (query, key, swapped(g, value)?);
    if together > 1 {
        rows = g.reshape(query, &[batch, Extent::Static(groups), Extent::Static(together), count, depth])?;
        for side in [&mut columns, &mut values] {
            let mut shape = g.extents(*side);
            shape.insert(2, Extent::Static(1));
            *side = g.reshape(*side, &shape)?;
        }
    }
    let element = g.element(query);
    let numerics = Numerics::plain(element, Activation::NONE);
    let products = matmul(g, rows, columns, None, &numerics)?;
    let scores = scored(g, products, how)?;
    let last = g.rank(scores) - 1;
    let weights = softmax(g, scores, &[last], 1.0, element)?;
    let result = matmul(g, weights, values, None, &numerics)?;
    g.reshape(result, &shape)
}

/// Keys or values that are kept from call to call, `[B, T, G, D]`.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// The numbers, or the quantized bytes.
    pub elements: Value,
    /// The scales and zero points of quantized bytes, `[B, T, G, 1]`, in binary32 and bytes.
    pub scaled: Option<[Value; 2]>,
}

impl From<Value> for Cache {
    fn from(elements: Value) -> Self {
        Self { elements, scaled: None }
    }
}

/// The order of the dimensions of queries, caches and results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Batch, positions, heads, depth.
    PositionsFirst,
    /// Batch, heads, positions, depth, the order of [`attention`].
    HeadsFirst,
}

/// Attention to the first `keys` positions of caches. Queries have S positions and H heads, keys and values T and G. The result has the shape and the
/// type of the queries. The mask broadcasts to `[S, keys]`. With positions first, binary32, its two halves, and bytes are read in place.
///
/// # Errors
/// The errors of [`attention`].
pub fn cached_attention(
    g: &mut Graph<'_>,
    query: Value,
    caches: [Cache; 2],
    keys: Extent,
    (how, order): (&Attention, Order),
) -> Result<Value, Error> {
    let element = g.element(query);
    if order == Order::PositionsFirst && reads_in_place(g, query, caches, keys, how) {
        let causal_from = how.causal_from.map(Extent::Value).into_iter().collect();
        let operator = operators::Attention { scale: Scalar::float(F32, how.scale), keys: vec![keys], causal_from };
        let mut operands = vec![g.convert(query, F32)?];
        operands.extend(caches.map(|cache| cache.elements));
        operands.extend(caches.into_iter().filter_map(|cache| cache.scaled).flatten());
        if let Some(mask) = how.mask {
            operands.push(g.convert(mask, F32)?);
        }
        let result = g.builder.attention(&operands, operator)?;
        return g.convert(result, element);
    }
    let axis = if order == Order::HeadsFirst { 2 } else { 1 };
    let turned = |g: &mut Graph<'_>, tensor: Value| match order {
        Order::HeadsFirst => Ok(tensor),
        Order::PositionsFirst => g.transpose(tensor, &HEADS_FIRST),
    };
    let query = turned(g, query)?;
    let [key, value] = caches.map(|cache| {
        let filled = cache.filled(g, axis, keys, element)?;
        turned(g, filled)
    });
    let result = attention(g, [query, key?, value?], how)?;
    turned(g, result)
}

impl Cache {
    /// The numbers of the first positions.
    fn filled(self, g: &mut Graph<'_>, axis: usize, keys: Extent, element: ElementType) -> Result<Value, Error> {
        let first = |g: &mut Graph<'_>, tensor| g.slice_along(tensor, axis, Extent::Static(0), keys);
        let elements = first(g, self.elements)?;
        let Some([scale, zero_point]) = self.scaled else { return g.convert(elements, element) };
        let [scale, zero_point] = [first(g, scale)?, first(g, zero_point)?].map(Parameter::Tensor);
        dequantize(g, elements, &Scale { scale, zero_point }, Rounding::Even, element)
    }
}

/// Tests whether a kernel can read the caches in place: both have the same type, which it can read, and the mask covers all scores.
fn reads_in_place(g: &Graph<'_>, query: Value, [key, value]: [Cache; 2], keys: Extent, how: &Attention) -> bool {
    let queries = g.extents(query)[1];
    let takes_mask =
        how.mask.is_none_or(|mask| matches!(g.extents(mask)[..], [rows, all] if all == keys && (rows == queries || rows == ONE)));
    let is_read = |cache: &Cache| match cache.scaled {
        Some([scale, zero_point]) => [cache.elements, zero_point, scale].map(|tensor| g.element(tensor)) == [I8, I8, F32],
        None => matches!(g.element(cache.elements), F32 | F16 | Bf16),
    };
    let alike = g.element(key.elements) == g.element(value.elements);
    takes_mask && alike && matches!(g.element(query), F32 | F16 | Bf16) && is_read(&key) && is_read(&value)
}

/// Scales the products, adds the mask, and sets the scores of keys after their query to −∞.
fn scored(g: &mut Graph<'_>, products: Value, how: &Attention) -> Result<Value, Error> {
    let (element, shape) = (g.element(products), g.extents(products));
    let mut operands = vec![products];
    operands.extend(how.mask);
    if let Some(start) = how.causal_from {
        let [.., queries, keys] = shape[..] else { return Err(Error::NoMatrix { rank: shape.len() }) };
        let one = Extent::Static(1);
        operands.push(g.builder.iota(vec![queries, one], 0, I64)?);
        operands.push(g.builder.iota(vec![one, keys], 1, I64)?);
        operands.push(g.extent_tensor(Extent::Value(start), I64)?);
    }
    g.compute(&operands, |terms, x| {
        let scale = terms.constant(Scalar::float(element, how.scale));
        let mut score = terms.mul(x[0], scale)?;
        let mut rest = &x[1..];
        if let (Some(_), [mask, others @ ..]) = (how.mask, rest) {
            let mask = terms.convert(*mask, element);
            score = terms.add(score, mask)?;
            rest = others;
        }
        if let [query, key, start] = *rest {
            let last = terms.add(query, start)?;
            let seen = terms.compare(Comparison::LessEqual, key, last)?;
            let none = terms.constant(Scalar::float(element, f64::NEG_INFINITY));
            score = terms.op(ScalarOp::Select, &[seen, score, none])?;
        }
        Ok(score)
    })
}

/// A cache `[B, T, …]` with new rows `[B, S, …]` from a position on.
///
/// # Errors
/// When the rows do not fit the cache.
pub fn written_at(g: &mut Graph<'_>, cache: Value, rows: Value, start: Value) -> Result<Value, Error> {
    let (shape, added) = (g.extents(cache), g.extents(rows));
    let (Some(&batch), Some(&count)) = (shape.first(), added.get(1)) else { return Err(Error::NoMatrix { rank: shape.len() }) };
    let (start, places) = (g.extent_tensor(Extent::Value(start), I64)?, g.iota(count, I64)?);
    let places = g.compute::<Error>(&[places, start], |terms, x| Ok(terms.add(x[0], x[1])?))?;
    let mut scatter = Scatter { axis: 1, batch: 0, combination: Combination::Set, skips_negative: false };
    if batch != Extent::Static(1) {
        return Ok(g.builder.scatter([cache, places, rows], scatter)?);
    }
    // Of one batch the rows follow each other.
    scatter.axis = 0;
    let (flat, rows) = (g.reshape(cache, &shape[1..])?, g.reshape(rows, &added[1..])?);
    let written = g.builder.scatter([flat, places, rows], scatter)?;
    g.reshape(written, &shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};

    fn open() -> Attention {
        Attention { scale: 1.0, mask: None, causal_from: None }
    }

    #[test]
    fn equal_keys_give_the_mean_of_values() {
        let (query, key) = (Floats::new(&[1, 2, 1, 1], vec![1.0, 2.0]), Floats::new(&[1, 1, 2, 1], vec![3.0, 3.0]));
        let value = Floats::new(&[1, 1, 2, 1], vec![1.0, 5.0]);
        for dims in [&[][..], &[[1, 2], [2, 2]]] {
            let found = run_with(&[&query, &key, &value], dims, &|g, v| {
                let (a, b) = (g.extents(v[1])[2], g.extents(v[2])[2]);
                g.equate(a, b)?;
                attention(g, [v[0], v[1], v[2]], &open())
            });
            assert_eq!((found.shape, found.numbers), (vec![1, 2, 1, 1], vec![3.0, 3.0]));
        }
    }

    #[test]
    fn later_keys_are_not_seen() {
        let (query, key) = (Floats::new(&[1, 1, 2, 1], vec![1.0, 1.0]), Floats::new(&[1, 1, 3, 1], vec![0.0; 3]));
        let value = Floats::new(&[1, 1, 3, 1], vec![2.0, 4.0, 9.0]);
        let found = run(&[&query, &key, &value], &|g, v| {
            let start = g.integer(0)?;
            attention(g, [v[0], v[1], v[2]], &Attention { causal_from: Some(start), ..open() })
        });
        assert_eq!(found.numbers, [2.0, 3.0]);
    }

    #[test]
    fn caches_are_read_where_they_lie() {
        // Four heads of queries share two heads of keys, two each. Five of seven keys are in use.
        let query = Floats::varied(&[1, 3, 4, 5]);
        let (key, value) = (Floats::varied(&[1, 7, 2, 5]), Floats::varied(&[1, 7, 2, 5]));
        let mask = Floats::varied(&[3, 5]);
        let turned = |g: &mut Graph<'_>, v: Value| -> Result<Value, Error> { Ok(g.builder.transpose(v, HEADS_FIRST.to_vec())?) };
        for (is_causal, is_masked) in [(false, false), (true, false), (false, true)] {
            let how = |g: &mut Graph<'_>, mask| -> Result<Attention, Error> {
                let causal_from = if is_causal { Some(g.integer(2)?) } else { None };
                Ok(Attention { scale: 0.5, mask: is_masked.then_some(mask), causal_from })
            };
            let keys = Extent::Static(5);
            let found = run(&[&query, &key, &value, &mask], &|g, v| {
                let how = how(g, v[3])?;
                cached_attention(g, v[0], [v[1].into(), v[2].into()], keys, (&how, Order::PositionsFirst))
            });
            let expected = run(&[&query, &key, &value, &mask], &|g, v| {
                let how = how(g, v[3])?;
                let query = turned(g, v[0])?;
                let [key, value] = [v[1], v[2]].map(|cache| g.slice_along(cache, 1, Extent::Static(0), keys));
                let (key, value) = (turned(g, key?)?, turned(g, value?)?);
                let result = attention(g, [query, key, value], &how)?;
                turned(g, result)
            });
            assert_eq!(found.shape, expected.shape);
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
            assert!(found.numbers.iter().zip(&expected.numbers).all(close), "{is_causal} {is_masked}: {found:?} {expected:?}");
        }
    }

    #[test]
    fn narrow_caches_equal_wide_ones() {
        let (query, key, value) = (Floats::varied(&[1, 3, 4, 5]), Floats::varied(&[1, 7, 2, 5]), Floats::varied(&[1, 7, 2, 5]));
        let (scale, zero_point) = (Floats::new(&[1, 7, 2, 1], (1..15).map(|i| i as f32 / 8.0).collect()), Floats::varied(&[1, 7, 2, 1]));
        let keys = Extent::Static(6);
        let inputs = [&query, &key, &value, &scale, &zero_point];
        for (element, order) in
            [(F16, Order::PositionsFirst), (Bf16, Order::PositionsFirst), (I8, Order::PositionsFirst), (I8, Order::HeadsFirst)]
        {
            let turn = |g: &mut Graph<'_>, v: Value| match order {
                Order::PositionsFirst => Ok(v),
                Order::HeadsFirst => g.transpose(v, &HEADS_FIRST),
            };
            let attend = |is_narrow: bool| {
                run(&inputs, &|g, v| {
                    let all = v.iter().map(|&v| turn(g, v)).collect::<Result<Vec<_>, Error>>()?;
                    let scaled = element == I8;
                    let caches = [all[1], all[2]].map(|elements| -> Result<Cache, Error> {
                        if is_narrow {
                            let zero_point = g.convert(all[4], I8)?;
                            return Ok(Cache { elements: g.convert(elements, element)?, scaled: scaled.then_some([all[3], zero_point]) });
                        }
                        let scale = Scale { scale: Parameter::Tensor(all[3]), zero_point: Parameter::Tensor(all[4]) };
                        Ok(if scaled { dequantize(g, elements, &scale, Rounding::Even, F32)? } else { elements }.into())
                    });
                    let [key, value] = caches;
                    let result = cached_attention(g, all[0], [key?, value?], keys, (&Attention { scale: 0.05, ..open() }, order))?;
                    turn(g, result)
                })
            };
            assert_eq!(attend(true), attend(false), "{element} {order:?}");
        }
    }

    #[test]
    fn rows_are_written_where_they_belong() {
        for batch in [1, 2] {
            let (cache, rows) = (Floats::new(&[batch, 3, 1], vec![0.0; 3 * batch as usize]), Floats::varied(&[batch, 2, 1]));
            let found = run(&[&cache, &rows], &|g, v| {
                let start = g.integer(1)?;
                written_at(g, v[0], v[1], start)
            });
            let expected: Vec<f32> = rows.numbers.chunks(2).flat_map(|rows| [0.0, rows[0], rows[1]]).collect();
            assert_eq!(found.numbers, expected);
        }
    }
}
