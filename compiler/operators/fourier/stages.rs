//! A transform of complex numbers, factor by factor of its length.
//!
//! Numbers lie as `[radix, rest]`. The operands of one butterfly are thus as far apart as can be: they are runs of the tensor and need no copies. The
//! first factor is taken from the input as it is. Each factor's results add the next lower digits of the output. Between two factors the next digit
//! of the input is brought to the front.

use super::butterfly::{Butterfly, RADICES};
use super::format::Format;
use crate::ir::Value;
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph, extents};
use std::f64::consts::PI;

/// A transform.
pub(super) struct Transform {
    format: Format,
    /// Complex numbers of a transform.
    length: u64,
    /// Transforms side by side: the last dimension.
    rows: u64,
    inverse: bool,
    /// The factors in kissfft's order; the last is taken first.
    factors: Vec<u64>,
}

/// The factors of a length as kissfft finds them: fours, twos, then odd numbers.
fn factors(length: u64) -> Vec<u64> {
    let (mut rest, mut radix) = (length, 4);
    let mut factors = Vec::new();
    loop {
        while !rest.is_multiple_of(radix) {
            radix = match radix {
                4 => 2,
                2 => 3,
                odd => odd + 2,
            };
            if radix * radix > length {
                radix = rest;
            }
        }
        rest /= radix;
        factors.push(radix);
        if rest <= 1 {
            return factors;
        }
    }
}

/// e^(−2πi · index ÷ length), or its inverse.
fn root(index: u64, length: u64, inverse: bool) -> [f64; 2] {
    let phase = -2.0 * PI * index as f64 / length as f64;
    let phase = if inverse { -phase } else { phase };
    [libm::cos(phase), libm::sin(phase)]
}

/// One factor's step: `known` digits of the output, the radix, and the remaining digits of the input.
struct Stage {
    radix: u64,
    known: u64,
    rest: u64,
}

impl Transform {
    /// A transform of `[length, rows]` complex numbers along the first dimension.
    ///
    /// # Errors
    /// [`Error::Radix`] for a length with a prime factor that the runtime does not support.
    pub fn new(format: Format, length: u64, rows: u64, inverse: bool) -> Result<Self, Error> {
        let factors = factors(length);
        match factors.iter().find(|radix| !RADICES.contains(radix)) {
            Some(&radix) => Err(Error::Radix { radix }),
            None => Ok(Self { format, length, rows, inverse, factors }),
        }
    }

    /// Transforms numbers, given as one tensor for each part.
    pub fn apply(&self, g: &mut Graph<'_>, mut parts: Vec<Value>) -> Result<Vec<Value>, Error> {
        let mut known = 1;
        for &radix in self.factors.iter().rev() {
            let rest = self.length / known / radix;
            let stage = Stage { radix, known, rest };
            for part in &mut parts {
                *part = stage.brought_forward(g, *part, self.rows)?;
            }
            parts = self.butterflies(g, &stage, &parts)?;
            known *= radix;
        }
        parts.iter().map(|&part| g.reshape(part, &extents(&[self.length, self.rows]))).collect()
    }

    /// The shape of one operand of a butterfly: one run for a single transform, so that stages of one radix are one kernel.
    fn run(&self, stage: &Stage) -> Vec<u64> {
        let count = stage.known * stage.rest;
        if self.rows == 1 { vec![count] } else { vec![count, self.rows] }
    }

    /// The factors of operand number `digit`, as that shape or with one column.
    fn twiddles(&self, g: &mut Graph<'_>, stage: &Stage, digit: u64) -> Result<Vec<Value>, Error> {
        let mut numbers = Vec::new();
        for known in 0..stage.known {
            let number = root(digit * known * stage.rest % self.length, self.length, self.inverse);
            numbers.extend(std::iter::repeat_n(number, stage.rest as usize));
        }
        let mut shape = self.run(stage);
        if let Some(rows) = shape.get_mut(1) {
            *rows = 1;
        }
        self.format.constants(g, &shape, &numbers)
    }

    /// All butterflies of a stage, for operands `[radix, …]`.
    fn butterflies(&self, g: &mut Graph<'_>, stage: &Stage, parts: &[Value]) -> Result<Vec<Value>, Error> {
        let (radix, width) = (stage.radix, self.format.parts());
        let run = self.run(stage);
        let mut operands = Vec::new();
        for digit in 0..radix {
            for &part in parts {
                let one = first_dimension(g, part, digit, 1)?;
                operands.push(g.reshape(one, &extents(&run))?);
            }
        }
        for digit in 1..radix {
            operands.extend(self.twiddles(g, stage, digit)?);
        }
        let mut terms = Terms::new(&vec![self.format.packed(); operands.len()]);
        let mut numbers = Vec::new();
        for position in 0..2 * radix as usize - 1 {
            numbers.push(self.format.unpack(&mut terms, position * width)?);
        }
        let (x, factors) = numbers.split_at(radix as usize);
        let mut butterfly = Butterfly { terms: &mut terms, format: self.format, inverse: self.inverse };
        let digit = self.length / radix;
        let results = butterfly.results(x, factors, |power| root(power * digit, self.length, self.inverse))?;
        let mut nodes = Vec::new();
        for &result in &results {
            nodes.extend(self.format.pack(&mut terms, result)?);
        }
        let values = g.builder.map_many(&operands, terms.finish_many(nodes))?;
        let one = [&[1], &run[..]].concat();
        let mut joined = Vec::new();
        for part in 0..width {
            let mut list = Vec::new();
            for &value in values.iter().skip(part).step_by(width) {
                list.push(g.reshape(value, &extents(&one))?);
            }
            joined.push(g.builder.concat(&list, 0)?);
        }
        Ok(joined)
    }
}

impl Stage {
    /// Numbers `[known, radix, rest]` with the radix in front.
    fn brought_forward(&self, g: &mut Graph<'_>, value: Value, rows: u64) -> Result<Value, Error> {
        let mut value = value;
        if self.known > 1 {
            value = g.reshape(value, &extents(&[self.known, self.radix, self.rest * rows]))?;
            value = g.builder.transpose(value, vec![1, 0, 2])?;
        }
        g.reshape(value, &extents(&[self.radix, self.known * self.rest * rows]))
    }
}

/// Some elements along the first dimension.
pub(super) fn first_dimension(g: &mut Graph<'_>, value: Value, start: u64, count: u64) -> Result<Value, Error> {
    let mut shape = g.shape(value)?;
    let mut starts = vec![0; shape.len()];
    (starts[0], shape[0]) = (start, count);
    let strides = vec![1; shape.len()];
    Ok(g.builder.slice(value, extents(&starts), extents(&shape), strides)?)
}

#[cfg(test)]
mod tests {
    use super::{factors, root};

    #[test]
    fn factors_come_in_the_order_of_the_reference() {
        for (length, expected) in [
            (1, vec![1]),
            (2, vec![2]),
            (256, vec![4, 4, 4, 4]),
            (128, vec![4, 4, 4, 2]),
            (240, vec![4, 4, 3, 5]),
            (6, vec![2, 3]),
            (14, vec![2, 7]),
            (15, vec![3, 5]),
            (98, vec![2, 7, 7]),
        ] {
            assert_eq!(factors(length), expected, "{length}");
        }
    }

    #[test]
    fn roots_of_inverse_transforms_turn_the_other_way() {
        let [forward, inverse] = [false, true].map(|inverse| root(1, 8, inverse));
        assert_eq!(forward[0], inverse[0]);
        assert_eq!(forward[1], -inverse[1]);
    }
}
