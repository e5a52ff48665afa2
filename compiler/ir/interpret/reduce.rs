//! `reduce`, `window` and `arg_reduce`.
//!
//! f32 is summed and multiplied in f32, in order; other floats in binary64 and rounded once. Integers wrap. A maximum starts at the lowest value (−∞) and
//! takes an element that compares greater, so NaN is left out; a minimum likewise. Sums and products of truth values are
//! `any` and `all`, which give 1 or 0 in the operand's type.

use super::array::{Array, elements, strides, walk};
use super::column::Column;
use super::contract::{RunTime, Slid, floats};
use super::error::{Step, fail};
use super::integer;
use crate::ir::builder::WindowGeometry;
use crate::ir::scalar::{Comparison, Scalar};
use crate::ir::types::ElementType;

/// What is accumulated.
enum Sums {
    Int(Vec<i64>),
    Float(Vec<f64>),
    Complex(Vec<(f64, f64)>),
}

/// A reduction over one element type.
pub(super) struct Reduction<'a> {
    pub word: &'a str,
    pub element: ElementType,
}

impl Reduction<'_> {
    /// What an integer result starts at.
    pub(super) fn start_int(&self) -> i64 {
        let (low, high) = self.element.integer_range().unwrap_or((0, 1));
        match self.word {
            "max" => low as i64,
            "min" => high as i64,
            "product" | "all" => 1,
            _ => 0,
        }
    }

    /// What a float result starts at.
    pub(super) fn start_float(&self) -> f64 {
        match self.word {
            "max" => f64::NEG_INFINITY,
            "min" => f64::INFINITY,
            "product" | "all" => 1.0,
            _ => 0.0,
        }
    }

    /// Two integers or truth values combined; sums and products are not cut to the type.
    pub(super) fn int(&self, a: i64, x: i64) -> i64 {
        let truth = self.element == ElementType::Bool;
        match self.word {
            "sum" if !truth => a.wrapping_add(x),
            "product" if !truth => a.wrapping_mul(x),
            "sum" | "any" => i64::from(a != 0 || x != 0),
            "product" | "all" => i64::from(a != 0 && x != 0),
            "max" if integer::compare(Comparison::Greater, self.element, x, a) => x,
            "min" if integer::compare(Comparison::Less, self.element, x, a) => x,
            _ => a,
        }
    }

    /// Two floats combined, not rounded to the type.
    pub(super) fn float(&self, a: f64, x: f64) -> f64 {
        match self.word {
            "sum" => a + x,
            "product" => a * x,
            "max" if x > a => x,
            "min" if x < a => x,
            "any" => f64::from(a != 0.0 || x != 0.0),
            "all" => f64::from(a != 0.0 && x != 0.0),
            _ => a,
        }
    }

    /// A partial result in f32 is an f32; narrower types round once at the end.
    pub(super) fn narrow(&self, partial: f64) -> f64 {
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

    fn complex(&self, values: &[(f32, f32)], total: usize, pairs: impl FnOnce(&mut dyn FnMut(usize, usize))) -> Step<Vec<(f64, f64)>> {
        if !matches!(self.word, "sum" | "product") {
            return fail(format!("complex numbers have no {}", self.word));
        }
        let mut sums = vec![(self.start_float(), 0.0); total];
        pairs(&mut |result, i| {
            let ((a, b), (c, d)) = (sums[result], (f64::from(values[i].0), f64::from(values[i].1)));
            sums[result] = if self.word == "sum" { (a + c, b + d) } else { (a * c - b * d, a * d + b * c) };
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
pub(super) fn reduce<'m>(input: &Array<'m>, word: &str, axes: &[i64]) -> Step<Array<'m>> {
    let mut shape = input.shape.clone();
    axes.iter().for_each(|&axis| shape[axis as usize] = 1);
    let mut steps = strides(&shape);
    axes.iter().for_each(|&axis| steps[axis as usize] = 0);
    let reduction = Reduction { word, element: input.element };
    reduction.run(input, shape, |visit| {
        let mut element = 0;
        walk(&input.shape, &steps, 0, |result| {
            visit(result as usize, element);
            element += 1;
        });
    })
}

/// `window`
pub(super) fn window<'m>(input: &Array<'m>, word: &str, size: &[i64], geometry: &WindowGeometry, run_time: &RunTime) -> Step<Array<'m>> {
    let last = input.rank() - 1;
    let size: Vec<usize> = size.iter().map(|&n| n as usize).collect();
    let steps = vec![1; last - 1];
    let slid = Slid { extents: &input.shape[1..last], steps: &steps, size: &size, geometry, run_time };
    let (batches, channels) = (input.shape[0], input.shape[last]);
    let spatial: usize = input.shape[1..last].iter().product();
    let mut shape = vec![batches];
    shape.extend(slid.positions());
    shape.push(channels);
    if shape.contains(&0) {
        return Ok(Array::new(input.element, shape, vec![]));
    }
    let windows = slid.windows(&shape[1..last])?;
    let reduction = Reduction { word, element: input.element };
    reduction.run(input, shape, |visit| {
        for batch in 0..batches {
            for (position, taps) in windows.iter().enumerate() {
                let result = (batch * windows.len() + position) * channels;
                for &(_, element) in taps {
                    let first = (batch * spatial + element) * channels;
                    (0..channels).for_each(|c| visit(result + c, first + c));
                }
            }
        }
    })
}

/// `arg_reduce`: the first position whose element none before it equals or exceeds; position 0 for NaN in front.
pub(super) fn arg_reduce<'m>(input: &Array<'m>, word: &str, axis: usize, element: ElementType) -> Step<Array<'m>> {
    let mut shape = input.shape.clone();
    shape[axis] = 1;
    let total = elements(element, &shape)?;
    let (extent, inner) = (input.shape[axis], input.shape[axis + 1..].iter().product::<usize>());
    let comparison = if word == "max" { Comparison::Greater } else { Comparison::Less };
    let column = Column::decode(input.element, &input.bytes, 0..input.len());
    let better = |x: usize, y: usize| match &column {
        Column::Int(v) => integer::compare(comparison, input.element, v[x], v[y]),
        Column::F32(v) => {
            if word == "max" {
                v[x] > v[y]
            } else {
                v[x] < v[y]
            }
        }
        Column::F64(v) => {
            if word == "max" {
                v[x] > v[y]
            } else {
                v[x] < v[y]
            }
        }
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
