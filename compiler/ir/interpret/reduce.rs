//! `reduce`, `window` and `arg_reduce`.
//!
//! f32 is summed and multiplied in f32, in order; other floats in binary64 and rounded once. Integers wrap. A maximum starts at the lowest value (−∞)
//! and takes elements that compare greater. NaN is thus left out, unless the reduction's name says that NaN stays. A minimum works alike. Sums and
//! products of truth values are `any` and `all`, with result 1 or 0 in the operand's type.

use super::array::{Array, elements, strides, walk};
use super::column::Column;
use super::contract::{RunTime, Slid, Tap, Windows, floats};
use super::error::{Step, fail};
use crate::operators::{Reduction, Search, WindowGeometry, Word};
use crate::scalar::row::Complex;
use crate::scalar::{Comparison, Scalar, float, integer};
use crate::types::ElementType;

/// The accumulators.
enum Sums {
    Int(Vec<i64>),
    Float(Vec<f64>),
    Complex(Vec<(f64, f64)>),
}

/// A reduction over one element type.
pub(crate) struct Reducer {
    pub reduction: Reduction,
    pub element: ElementType,
}

impl Reducer {
    /// The initial value of an integer accumulator.
    pub(crate) fn start_int(&self) -> i64 {
        let (low, high) = self.element.integer_range().unwrap_or((0, 1));
        match self.reduction {
            Reduction::Max | Reduction::MaxOrNan => low as i64,
            Reduction::Min | Reduction::MinOrNan => high as i64,
            Reduction::Product | Reduction::All => 1,
            _ => 0,
        }
    }

    /// The initial value of a float accumulator.
    pub(crate) fn start_float(&self) -> f64 {
        match self.reduction {
            Reduction::Max | Reduction::MaxOrNan => f64::NEG_INFINITY,
            Reduction::Min | Reduction::MinOrNan => f64::INFINITY,
            Reduction::Product | Reduction::All => 1.0,
            _ => 0.0,
        }
    }

    /// Combines two integers or truth values. Sums and products are not wrapped to the type yet.
    pub(crate) fn int(&self, a: i64, x: i64) -> i64 {
        let truth = self.element == ElementType::Bool;
        match self.reduction {
            Reduction::Sum if !truth => a.wrapping_add(x),
            Reduction::Product if !truth => a.wrapping_mul(x),
            Reduction::Sum | Reduction::Any => i64::from(a != 0 || x != 0),
            Reduction::Product | Reduction::All => i64::from(a != 0 && x != 0),
            Reduction::Max | Reduction::MaxOrNan if integer::compare(Comparison::Greater, self.element, x, a) => x,
            Reduction::Min | Reduction::MinOrNan if integer::compare(Comparison::Less, self.element, x, a) => x,
            _ => a,
        }
    }

    /// Two floats combined, not rounded to the type.
    pub(crate) fn float(&self, a: f64, x: f64) -> f64 {
        match self.reduction {
            Reduction::Sum => a + x,
            Reduction::Product => a * x,
            Reduction::Max if x > a => x,
            Reduction::Min if x < a => x,
            Reduction::MaxOrNan => float::max_propagate(a, x),
            Reduction::MinOrNan => float::min_propagate(a, x),
            Reduction::Any => f64::from(a != 0.0 || x != 0.0),
            Reduction::All => f64::from(a != 0.0 && x != 0.0),
            _ => a,
        }
    }

    /// A partial result in f32 is an f32; narrower types round once at the end.
    pub(crate) fn narrow(&self, partial: f64) -> f64 {
        if self.element == ElementType::F32 { f64::from(partial as f32) } else { partial }
    }

    /// Reduces elements into results: `pairs` calls its argument with (result, element) for each of them.
    fn run<'m>(&self, input: &Array<'m>, shape: Vec<usize>, pairs: impl FnOnce(&mut dyn FnMut(usize, usize))) -> Step<Array<'m>> {
        let total = elements(self.element, &shape)?;
        let column = Column::decode(input.element, &input.bytes, 0..input.len());
        let sums = match &column {
            Column::Int(values) => {
                let mut sums = vec![self.start_int(); total];
                pairs(&mut |result, i| sums[result] = self.int(sums[result], values[i]));
                Sums::Int(sums)
            }
            Column::F32(values) => {
                let mut sums = vec![self.start_float(); total];
                pairs(&mut |result, i| sums[result] = self.narrow(self.float(sums[result], f64::from(values[i]))));
                Sums::Float(sums)
            }
            Column::F64(values) => {
                let mut sums = vec![self.start_float(); total];
                pairs(&mut |result, i| sums[result] = self.float(sums[result], values[i]));
                Sums::Float(sums)
            }
            Column::C64(values) => Sums::Complex(self.complex(values, total, pairs)?),
        };
        Ok(self.finish(sums, shape))
    }

    fn complex(&self, values: &[Complex], total: usize, pairs: impl FnOnce(&mut dyn FnMut(usize, usize))) -> Step<Vec<(f64, f64)>> {
        if !matches!(self.reduction, Reduction::Sum | Reduction::Product) {
            return fail(format!("complex numbers have no {}", self.reduction.word()));
        }
        let mut sums = vec![(self.start_float(), 0.0); total];
        pairs(&mut |result, i| {
            let ((a, b), (c, d)) = (sums[result], (f64::from(values[i].0), f64::from(values[i].1)));
            sums[result] = if self.reduction == Reduction::Sum { (a + c, b + d) } else { (a * c - b * d, a * d + b * c) };
        });
        Ok(sums)
    }

    fn finish<'m>(&self, sums: Sums, shape: Vec<usize>) -> Array<'m> {
        match sums {
            Sums::Float(sums) => floats(self.element, shape, sums),
            Sums::Int(sums) => {
                let mut bytes = Vec::new();
                Column::Int(sums).store(self.element, shape.iter().product(), &mut bytes);
                Array::new(self.element, shape, bytes)
            }
            Sums::Complex(sums) => {
                let mut bytes = Vec::new();
                let column = Column::C64(sums.into_iter().map(|(re, im)| (re as f32, im as f32)).collect());
                column.store(self.element, shape.iter().product(), &mut bytes);
                Array::new(self.element, shape, bytes)
            }
        }
    }
}

/// `reduce`
pub(crate) fn reduce<'m>(input: &Array<'m>, reduction: Reduction, axes: &[usize]) -> Step<Array<'m>> {
    let mut shape = input.shape.clone();
    axes.iter().for_each(|&axis| shape[axis] = 1);
    let mut steps = strides(&shape);
    axes.iter().for_each(|&axis| steps[axis] = 0);
    Reducer { reduction, element: input.element }.run(input, shape, |visit| {
        let mut element = 0;
        walk(&input.shape, &steps, 0, |result| {
            visit(result as usize, element);
            element += 1;
        });
    })
}

/// The shape of a window's result, and the taps of each position if there is one.
pub(super) fn placed(input: &Array<'_>, size: &[usize], geometry: &WindowGeometry, run_time: &RunTime) -> Step<(Vec<usize>, Windows)> {
    let last = input.rank() - 1;
    let steps = vec![1; last - 1];
    let slid = Slid { extents: &input.shape[1..last], steps: &steps, size, geometry, run_time };
    let mut shape = vec![input.shape[0]];
    shape.extend(slid.positions());
    shape.push(input.shape[last]);
    let windows = if shape.contains(&0) { vec![] } else { slid.windows(&shape[1..last])? };
    Ok((shape, windows))
}

/// `window`
pub(crate) fn window<'m>(
    input: &Array<'m>,
    reduction: Reduction,
    size: &[usize],
    geometry: &WindowGeometry,
    run_time: &RunTime,
) -> Step<Array<'m>> {
    let (shape, windows) = placed(input, size, geometry, run_time)?;
    if shape.contains(&0) {
        return Ok(Array::new(input.element, shape, vec![]));
    }
    let last = input.rank() - 1;
    let (batches, channels) = (input.shape[0], input.shape[last]);
    let spatial: usize = input.shape[1..last].iter().product();
    Reducer { reduction, element: input.element }.run(input, shape, |visit| {
        for batch in 0..batches {
            for (position, taps) in windows.iter().enumerate() {
                let result = (batch * windows.len() + position) * channels;
                for &Tap { element, .. } in taps {
                    let first = (batch * spatial + element) * channels;
                    (0..channels).for_each(|c| visit(result + c, first + c));
                }
            }
        }
    })
}

/// `arg_reduce`: the first position whose element none before it equals or exceeds. NaN in front stays there; elsewhere it is taken, and stays, where
/// the search finds it.
pub(crate) fn arg_reduce<'m>(input: &Array<'m>, search: Search, axis: usize, element: ElementType) -> Step<Array<'m>> {
    let mut shape = input.shape.clone();
    shape[axis] = 1;
    let total = elements(element, &shape)?;
    let (extent, inner) = (input.shape[axis], input.shape[axis + 1..].iter().product::<usize>());
    let comparison = if search.finds_largest() { Comparison::Greater } else { Comparison::Less };
    let column = Column::decode(input.element, &input.bytes, 0..input.len());
    let better = |x: usize, y: usize| match &column {
        Column::Int(v) => integer::compare(comparison, input.element, v[x], v[y]),
        Column::F32(v) => is_better(search, v[x].into(), v[y].into()),
        Column::F64(v) => is_better(search, v[x], v[y]),
        Column::C64(_) => false,
    };
    let mut bytes = Vec::new();
    for result in 0..total {
        let first = result / inner.max(1) * extent * inner + result % inner.max(1);
        let best = (1..extent).fold(0, |best, i| if better(first + i * inner, first + best * inner) { i } else { best });
        bytes.extend(Scalar::int(element, best as i64).to_bytes());
    }
    Ok(Array::new(element, shape, bytes))
}

/// Tests whether a float replaces the best one so far.
fn is_better(search: Search, x: f64, best: f64) -> bool {
    let by_kind = if search.finds_nan() { x.is_nan() && !best.is_nan() } else { best.is_nan() && !x.is_nan() };
    by_kind || if search.finds_largest() { x > best } else { x < best }
}
