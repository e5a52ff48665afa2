//! Transposed convolutions of images whose extents are known only at run time.
//!
//! Element i of the input reaches elements i·stride + tap·dilation of the result. The results that are equal modulo the stride form a *phase*. A
//! phase is a plain convolution with the taps that reach it. The phases are computed one by one, and their elements are interleaved.

use super::{Convolution, Numerics, Transposed};
use crate::ir::{Extent, Value, WindowGeometry};
use crate::operators::{Error, Graph, extents};

/// Phases are kernels of their own.
const MOST_PHASES: u64 = 64;

/// The phases of a transposed convolution.
pub(super) struct Phases<'t> {
    whole: &'t Transposed,
    strides: Vec<u64>,
    /// Shape of the filter.
    filter: Vec<u64>,
    /// Results of a phase along each dimension.
    positions: Vec<Extent>,
}

/// The taps of a phase along one dimension: `first`, `first` + `step`, …
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Taps {
    first: u64,
    count: u64,
    step: u64,
    /// Steps of the input between neighbouring taps.
    dilation: u64,
    /// The distance in the input from a result's position back to the element that its first tap reads.
    back: u64,
}

impl Taps {
    /// Returns the taps of the results that are `phase` modulo the stride; `None` if no tap reaches them.
    fn of(phase: u64, stride: u64, dilation: u64, size: u64) -> Option<Self> {
        let first = (0..size.min(stride)).find(|tap| tap * dilation % stride == phase)?;
        let common = gcd(stride, dilation);
        let step = stride / common;
        let count = (size - first).div_ceil(step);
        Some(Self { first, count, step, dilation: dilation / common, back: first * dilation / stride })
    }

    fn last(self) -> u64 {
        self.first + (self.count - 1) * self.step
    }

    /// The padding before the image: the distance that the last tap reads back.
    fn low(self) -> u64 {
        self.back + (self.count - 1) * self.dilation
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl<'t> Phases<'t> {
    pub fn new(g: &mut Graph<'_>, whole: &'t Transposed) -> Result<Self, Error> {
        let numbers =
            |list: &[i64]| list.iter().map(|&n| u64::try_from(n).ok().filter(|n| (1..1 << 31).contains(n))).collect::<Option<Vec<_>>>();
        let step = |list: &[i64]| Error::WindowStep { step: list.iter().copied().min().unwrap_or(0) };
        let strides = numbers(&whole.strides).ok_or_else(|| step(&whole.strides))?;
        numbers(&whole.dilation).ok_or_else(|| step(&whole.dilation))?;
        let phases = strides.iter().fold(1u64, |product, &stride| product.saturating_mul(stride));
        if phases > MOST_PHASES {
            return Err(Error::TooManyPhases { phases, most: MOST_PHASES });
        }
        let filter = g.shape(whole.filter)?;
        let mut positions = Vec::new();
        for (d, &stride) in strides.iter().enumerate() {
            if filter[d + 1] >= 1 << 31 {
                return Err(Error::ImageTooLarge);
            }
            let end = g.add(whole.wanted[d], whole.cut[d])?;
            positions.push(g.ceil_div(end, Extent::Static(stride))?);
        }
        Ok(Self { whole, strides, filter, positions })
    }

    /// Interleaves all phases and crops the result.
    pub fn build(&self, g: &mut Graph<'_>, bias: Option<Value>, numerics: &Numerics) -> Result<Value, Error> {
        let count: u64 = self.strides.iter().product();
        let mut phases = Vec::new();
        for number in 0..count {
            let mut rest = number;
            let mut taps = Vec::new();
            for d in (0..self.strides.len()).rev() {
                taps.insert(0, self.taps(d, rest % self.strides[d])?);
                rest /= self.strides[d];
            }
            phases.push(self.phase(g, &taps)?.build(g, bias, numerics)?);
        }
        let value = self.in_turns(g, &phases)?;
        let mut wanted = g.extents(value);
        let mut start = extents(&vec![0; wanted.len()]);
        for d in 0..self.strides.len() {
            (start[d + 1], wanted[d + 1]) = (self.whole.cut[d], self.whole.wanted[d]);
        }
        let stride = vec![1; wanted.len()];
        g.slice(value, &start, &wanted, &stride)
    }

    fn taps(&self, d: usize, phase: u64) -> Result<Taps, Error> {
        let (stride, size) = (self.strides[d], self.filter[d + 1]);
        Taps::of(phase, stride, self.whole.dilation[d].unsigned_abs(), size).ok_or(Error::PhaseWithoutTaps { stride, size })
    }

    /// The convolution of one phase.
    fn phase(&self, g: &mut Graph<'_>, taps: &[Taps]) -> Result<Convolution, Error> {
        // The filter is turned around: the last tap meets the first element.
        let (mut start, mut size, mut stride) = (vec![0], vec![self.filter[0]], vec![1]);
        for taps in taps {
            start.push(taps.last());
            size.push(taps.count);
            stride.push(-(taps.step as i64));
        }
        start.push(0);
        size.push(self.filter[taps.len() + 1]);
        stride.push(1);
        let filter = g.slice(self.whole.filter, &extents(&start), &extents(&size), &stride)?;
        let geometry = WindowGeometry {
            strides: vec![1; taps.len()],
            dilation: taps.iter().map(|taps| taps.dilation as i64).collect(),
            padding_low: taps.iter().map(|taps| taps.low() as i64).collect(),
            padding_high: vec![0; taps.len()],
            positions: self.positions.clone(),
            shift: extents(&vec![0; taps.len()]),
        };
        Ok(Convolution::new(self.whole.input, filter, self.whole.groups, geometry))
    }

    /// Elements of the phases in turns.
    fn in_turns(&self, g: &mut Graph<'_>, phases: &[Value]) -> Result<Value, Error> {
        if let [whole] = phases {
            return Ok(*whole);
        }
        let spatial = self.strides.len();
        let side_by_side = g.concat(phases, spatial + 1)?;
        let (batch, channels) = (g.extents(self.whole.input)[0], Extent::Static(self.filter[0]));
        let turns: Vec<Extent> = self.strides.iter().map(|&n| Extent::Static(n)).collect();
        let apart = [&[batch], &self.positions[..], &turns, &[channels]].concat();
        let apart = g.reshape(side_by_side, &apart)?;
        let mut permutation = vec![0];
        permutation.extend((1..=spatial).flat_map(|d| [d, d + spatial]));
        permutation.push(2 * spatial + 1);
        let value = g.transpose(apart, &permutation)?;
        let mut joined = vec![batch];
        for (&positions, &turns) in self.positions.iter().zip(&turns) {
            joined.push(g.product(&[positions, turns])?);
        }
        joined.push(channels);
        g.reshape(value, &joined)
    }
}

#[cfg(test)]
mod tests {
    use super::Taps;

    /// Every tap reaches the phase that it is listed in, at the input element that the phase's convolution reads.
    #[test]
    fn every_tap_belongs_to_the_phase_that_it_reaches() {
        for stride in 1..5 {
            for dilation in 1..5 {
                for size in 1..7 {
                    let mut seen = vec![false; size as usize];
                    for (phase, taps) in (0..stride).filter_map(|phase| Some((phase, Taps::of(phase, stride, dilation, size)?))) {
                        for j in 0..taps.count {
                            let (tap, back) = (taps.first + j * taps.step, taps.back + j * taps.dilation);
                            // Result position·stride + phase is reached from element position − back.
                            assert_eq!(tap * dilation, back * stride + phase, "{stride} {dilation} {size} {phase}");
                            seen[tap as usize] = true;
                        }
                        assert!(taps.last() < size);
                    }
                    assert!(seen.iter().all(|&seen| seen), "{stride} {dilation} {size}");
                }
            }
        }
    }
}
