//! Transforms of real numbers from complex ones of half their length, forwards and back: numbers `k` and `n − k` belong together.

use super::format::{Complex, Format};
use super::stages::first_dimension;
use crate::ir::scalar::ExpressionError;
use crate::ir::{Extent, Value};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph, extents};
use std::f64::consts::PI;

/// The step between a complex transform of `half` numbers and a real one of twice as many.
pub(super) struct Apart {
    format: Format,
    half: u64,
    inverse: bool,
}

/// Two complex numbers, or the mistake of combining types that do not fit.
type Pair = Result<[Complex; 2], ExpressionError>;

impl Apart {
    /// Creates the step for `[half, …]` complex numbers.
    pub fn new(format: Format, half: u64, inverse: bool) -> Self {
        Self { format, half, inverse }
    }

    /// The number of pairs (k, n − k), with k counted from 1.
    fn pairs(&self) -> u64 {
        self.half / 2
    }

    /// The factors of the pairs.
    fn factors(&self, g: &mut Graph<'_>) -> Result<Vec<Value>, Error> {
        let factor = |index: u64| {
            let phase = -PI * ((index + 1) as f64 / self.half as f64 + 0.5);
            let phase = if self.inverse { -phase } else { phase };
            [libm::cos(phase), libm::sin(phase)]
        };
        let numbers: Vec<[f64; 2]> = (0..self.pairs()).map(factor).collect();
        self.format.constants(g, &[self.pairs(), 1], &numbers)
    }

    /// Evaluates an expression over the pairs and their factors. Returns the lower numbers, and the upper ones in reverse order.
    fn over_pairs(
        &self,
        g: &mut Graph<'_>,
        parts: &[Value],
        expression: impl Fn(&mut Terms, [Complex; 2], Complex) -> Pair,
    ) -> Result<[Vec<Value>; 2], Error> {
        let (format, width) = (self.format, self.format.parts());
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for &part in parts {
            lower.push(first_dimension(g, part, 1, self.pairs())?);
            upper.push(backwards(g, part, self.half - 1, self.pairs())?);
        }
        let operands = [lower, upper, self.factors(g)?].concat();
        let mut terms = Terms::new(&vec![format.packed(); operands.len()]);
        let x = [format.unpack(&mut terms, 0)?, format.unpack(&mut terms, width)?];
        let factor = format.unpack(&mut terms, 2 * width)?;
        let mut nodes = Vec::new();
        for result in expression(&mut terms, x, factor)? {
            nodes.extend(format.pack(&mut terms, result)?);
        }
        let values = g.builder.map_many(&operands, terms.finish_many(nodes))?;
        let (lower, upper) = values.split_at(width);
        Ok([lower.to_vec(), upper.to_vec()])
    }

    /// The first numbers, the lower and upper ones of all pairs, and the last numbers, in one. A number that is its own partner is an upper one.
    fn joined(
        &self,
        g: &mut Graph<'_>,
        firsts: Vec<Value>,
        pairs: Option<[Vec<Value>; 2]>,
        lasts: Option<Vec<Value>>,
    ) -> Result<Vec<Value>, Error> {
        let mut parts = Vec::new();
        for (part, first) in firsts.into_iter().enumerate() {
            let mut list = vec![first];
            if let Some([lower, upper]) = &pairs {
                let own = u64::from(self.half.is_multiple_of(2));
                if self.pairs() > own {
                    list.push(first_dimension(g, lower[part], 0, self.pairs() - own)?);
                }
                list.push(backwards(g, upper[part], self.pairs() - 1, self.pairs())?);
            }
            list.extend(lasts.as_ref().map(|lasts| lasts[part]));
            parts.push(if list.len() == 1 { list[0] } else { g.builder.concat(&list, 0)? });
        }
        Ok(parts)
    }
}

/// The spectrum of real numbers, `[half + 1, rows]`, from the transform of their pairs.
pub(super) fn take_apart(g: &mut Graph<'_>, apart: &Apart, parts: &[Value]) -> Result<Vec<Value>, Error> {
    let format = apart.format;
    let mut firsts = Vec::new();
    for &part in parts {
        firsts.push(first_dimension(g, part, 0, 1)?);
    }
    let mut terms = Terms::new(&vec![format.packed(); format.parts()]);
    let x = format.unpack(&mut terms, 0)?;
    let x = format.divided_complex(&mut terms, x, 2)?;
    let (sum, difference, zero) = (terms.add(x.re, x.im)?, terms.sub(x.re, x.im)?, format.node(&mut terms, 0.0));
    let mut nodes = format.pack(&mut terms, Complex { re: sum, im: zero })?;
    nodes.extend(format.pack(&mut terms, Complex { re: difference, im: zero })?);
    let ends = g.builder.map_many(&firsts, terms.finish_many(nodes))?;
    let (first, last) = ends.split_at(format.parts());
    let pairs = if apart.pairs() == 0 {
        None
    } else {
        Some(apart.over_pairs(g, parts, |terms, [x, y], factor| {
            let y = Complex { re: y.re, im: format.negated(terms, y.im)? };
            let (x, y) = (format.divided_complex(terms, x, 2)?, format.divided_complex(terms, y, 2)?);
            let (sum, difference) = (format.add(terms, x, y)?, format.sub(terms, x, y)?);
            let turned = format.mul_complex(terms, difference, factor)?;
            let lower = [terms.add(sum.re, turned.re)?, terms.add(sum.im, turned.im)?];
            let upper = [terms.sub(sum.re, turned.re)?, terms.sub(turned.im, sum.im)?];
            let [lower, upper] = [lower, upper].map(|[re, im]| Ok(Complex { re: format.half(terms, re)?, im: format.half(terms, im)? }));
            Ok([lower?, upper?])
        })?)
    };
    apart.joined(g, first.to_vec(), pairs, Some(last.to_vec()))
}

/// The numbers `[half, rows]` whose inverse transform is the pairs of real numbers of a spectrum.
pub(super) fn combine(g: &mut Graph<'_>, apart: &Apart, parts: &[Value]) -> Result<Vec<Value>, Error> {
    let format = apart.format;
    let mut ends = Vec::new();
    for position in [0, apart.half] {
        for &part in parts {
            ends.push(first_dimension(g, part, position, 1)?);
        }
    }
    let mut terms = Terms::new(&vec![format.packed(); ends.len()]);
    let (first, last) = (format.unpack(&mut terms, 0)?, format.unpack(&mut terms, format.parts())?);
    let (sum, difference) = (terms.add(first.re, last.re)?, terms.sub(first.re, last.re)?);
    let number = Complex { re: format.kept(&mut terms, sum), im: format.kept(&mut terms, difference) };
    let number = format.divided_complex(&mut terms, number, 2)?;
    let nodes = format.pack(&mut terms, number)?;
    let firsts = g.builder.map_many(&ends, terms.finish_many(nodes))?;
    let pairs = if apart.pairs() == 0 {
        None
    } else {
        Some(apart.over_pairs(g, parts, |terms, [x, y], factor| {
            let y = Complex { re: y.re, im: format.negated(terms, y.im)? };
            let (x, y) = (format.divided_complex(terms, x, 2)?, format.divided_complex(terms, y, 2)?);
            let (even, difference) = (format.add(terms, x, y)?, format.sub(terms, x, y)?);
            let odd = format.mul_complex(terms, difference, factor)?;
            let (lower, upper) = (format.add(terms, even, odd)?, format.sub(terms, even, odd)?);
            Ok([lower, Complex { re: upper.re, im: format.negated(terms, upper.im)? }])
        })?)
    };
    apart.joined(g, firsts, pairs, None)
}

/// Some elements along the first dimension from `start` on backwards.
fn backwards(g: &mut Graph<'_>, value: Value, start: u64, count: u64) -> Result<Value, Error> {
    let mut shape = g.shape(value)?;
    let mut starts = vec![Extent::Static(0); shape.len()];
    let mut strides = vec![1; shape.len()];
    (starts[0], shape[0], strides[0]) = (Extent::Static(start), count, -1);
    Ok(g.builder.slice(value, starts, extents(&shape), strides)?)
}
