//! Division of strips into panels, which are computed together. A machine with long vectors takes several strips for one panel. A machine with
//! short vectors takes several panels for one strip. So both read the same packed weights.

use super::strips::{NARROWEST, Strips};
use crate::kernel::{BinaryOp, CompareOp, KernelBuilder, Value};
use crate::schedule::loops::{self, Outcome, for_values, if_then};
use std::ops::Range;

/// The panels of some output channels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cuts {
    outputs: u64,
    /// Panels of full width in strips of full width: their width, and the channel after the last of them in `end`.
    whole: Width,
    end: u64,
    /// Panels after those, each with the lane of its strip at which it begins.
    rest: Vec<(Width, u64)>,
    /// Narrow panel that is computed together with the last one.
    beside: Option<Width>,
}

/// The width of a panel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width {
    /// Number of lanes: a power of two.
    pub lanes: u64,
    /// Lanes of the strip, or of each strip that the panel takes. It is a power of two, except in a panel that takes a whole strip with fewer
    /// lanes than its own.
    pub strip: u64,
}

/// A panel after the loop; see [`Cut`].
struct Rest {
    first: u64,
    within: u64,
    width: Width,
    active: u64,
    beside: Option<Width>,
}

impl Rest {
    fn cut(self, b: &mut KernelBuilder) -> Cut {
        let Self { first, within, width, active, beside } = self;
        Cut { first: b.index(first as i64), within: Some(within), width, active, beside }
    }
}

/// A panel in a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// First output channel, which is also the first lane.
    pub first: Value,
    /// Lane of its strip at which the panel begins, if that is known.
    within: Option<u64>,
    /// Width of the panel.
    pub width: Width,
    /// Number of output channels in the panel.
    pub active: u64,
    /// Width of the next panel, if it is computed together with this one.
    pub beside: Option<Width>,
}

impl Cut {
    /// Returns the panel beside this one.
    pub fn beside(&self, b: &mut KernelBuilder) -> Option<Self> {
        let width = self.beside?;
        let first = b.scale_index(self.first, 1, self.width.lanes as i64);
        Some(Self { first, within: Some(0), width, active: width.lanes, beside: None })
    }

    /// Returns the first lane of the panel's strips, and the panel's first lane relative to it.
    pub fn start(&self, b: &mut KernelBuilder) -> (Value, Value) {
        let Width { lanes, strip } = self.width;
        if lanes >= strip {
            return (self.first, b.index(0));
        }
        if let Some(within) = self.within {
            let lane = b.index(within as i64);
            return (b.sub(self.first, lane), lane);
        }
        let mask = b.index(strip as i64 - 1);
        let lane = b.binary(BinaryOp::And, self.first, mask);
        (b.sub(self.first, lane), lane)
    }
}

impl Width {
    /// Returns the number of vectors in a panel and the lanes of each, for vectors of at most `most` lanes.
    pub fn vectors(self, most: u64) -> (u64, u64) {
        let vector = most.min(self.lanes);
        (self.lanes / vector, vector)
    }

    /// Returns the number of a vector's lanes that are in memory.
    pub fn active(self, vector: u64) -> u64 {
        if self.strip < vector && !self.strip.is_power_of_two() { self.strip } else { vector }
    }
}

impl Cuts {
    /// Divides strips into panels whose full width is `lanes`, a power of two. If machines load part of a vector, a strip with another number
    /// of lanes is one panel.
    pub fn new(strips: &Strips, lanes: u64, loads_part: bool) -> Self {
        let (outputs, strip, lanes) = (strips.outputs, strips.lanes, lanes.max(NARROWEST));
        let parts = |strip: u64| parts(strip, lanes, loads_part);
        let end = outputs - outputs % lanes.max(strip);
        let (full, narrow): (Vec<u64>, Vec<u64>) = strips.after(end).partition(|&width| width == strip);
        let mut rest = Vec::new();
        if lanes > strip {
            let mut left = full.len() as u64;
            while left > 0 {
                let together = (1 << left.ilog2()).min(lanes / strip);
                rest.push((Width { lanes: together * strip, strip }, 0));
                left -= together;
            }
        } else {
            rest.extend(full.iter().flat_map(|_| parts(strip)));
        }
        rest.extend(narrow.into_iter().flat_map(parts));
        Self { outputs, whole: Width { lanes, strip }, end, rest, beside: None }
    }

    /// Puts the last panel beside the one before it, if it has half of a vector's lanes and the other panel has whole vectors.
    pub fn paired(mut self, vector: u64) -> Self {
        let [.., (last, 0)] = self.rest[..] else { return self };
        let half = Width { lanes: vector / 2, strip: vector / 2 };
        if last != half || self.count() < 2 || self.outputs % vector != half.lanes {
            return self;
        }
        self.rest.pop();
        self.beside = Some(half);
        if self.rest.is_empty() {
            self.end -= self.whole.lanes;
            self.rest.push((self.whole, 0));
        }
        self
    }

    /// Returns the panels after the loop, each with its number.
    fn rests(&self) -> impl Iterator<Item = (Rest, i64)> + '_ {
        let number = (self.end / self.whole.lanes) as i64;
        let mut start = self.end;
        self.rest.iter().zip(1..).zip(number..).map(move |((&(width, within), nth), number)| {
            let rest = Rest {
                first: start,
                within,
                width,
                active: width.lanes.min(self.outputs - start),
                beside: self.beside.filter(|_| nth == self.rest.len()),
            };
            start += width.lanes;
            (rest, number)
        })
    }

    /// Returns the different widths of the panels.
    pub fn widths(&self) -> Vec<Width> {
        let mut widths: Vec<Width> =
            (self.end > 0).then_some(self.whole).into_iter().chain(self.rest.iter().map(|(width, _)| *width)).chain(self.beside).collect();
        widths.dedup();
        widths
    }

    /// Returns the number of panels.
    pub fn count(&self) -> u64 {
        self.end / self.whole.lanes + self.rest.len() as u64
    }

    /// Returns the number of lanes with sums in each panel.
    pub fn lanes(&self) -> Vec<u64> {
        let whole = (0..self.end / self.whole.lanes).map(|_| self.whole.lanes);
        let rest = self.rests().map(|(rest, _)| rest.width.lanes + rest.beside.map_or(0, |beside| beside.lanes));
        whole.chain(rest).collect()
    }

    /// Repeats a body for the panels of a range of numbers; the end is excluded.
    pub fn for_range<R: Outcome>(
        &self,
        b: &mut KernelBuilder,
        Range { start: first, end }: Range<Value>,
        mut body: impl FnMut(&mut KernelBuilder, Cut) -> R,
    ) -> R {
        let (width, mut outcome) = (self.whole, R::done());
        let whole = (self.end / width.lanes) as i64;
        if whole > 0 {
            let last = b.index(whole);
            let last = b.binary(BinaryOp::SignedMin, end, last);
            let [start, stop] = [first, last].map(|number| b.scale_index(number, width.lanes as i64, 0));
            outcome = for_values(b, start..stop, width.lanes as i64, |b, first| {
                body(b, Cut { first, within: None, width, active: width.lanes, beside: None })
            });
        }
        for (rest, number) in self.rests() {
            let number = b.index(number);
            let reached = b.compare(CompareOp::LessEqual, first, number);
            let before_end = b.compare(CompareOp::Less, number, end);
            let inside = b.binary(BinaryOp::And, reached, before_end);
            outcome = outcome.then(|| {
                if_then(b, inside, |b| {
                    let cut = rest.cut(b);
                    body(b, cut)
                })
            });
        }
        outcome
    }

    /// Returns the number of times that [`Self::for_each`] writes its body.
    pub fn bodies(&self) -> usize {
        usize::from(self.end > 0) + self.rests().count()
    }

    /// Repeats a body for every panel: those of full width in a loop, the others after it.
    pub fn for_each<R: Outcome>(&self, b: &mut KernelBuilder, mut body: impl FnMut(&mut KernelBuilder, Cut) -> R) -> R {
        let width = self.whole;
        let whole = 0..self.end as i64;
        let mut outcome = loops::for_range(b, whole, width.lanes as i64, |b, first| {
            body(b, Cut { first, within: None, width, active: width.lanes, beside: None })
        });
        for (rest, _) in self.rests() {
            outcome = outcome.then(|| {
                let cut = rest.cut(b);
                body(b, cut)
            });
        }
        outcome
    }
}

/// Divides a strip into panels of at most `lanes` lanes, each with the lane at which it begins. Each has a channel, because a strip is less
/// than half empty.
fn parts(strip: u64, lanes: u64, loads_part: bool) -> Vec<(Width, u64)> {
    let whole = strip.next_power_of_two();
    if loads_part && whole <= lanes {
        return vec![(Width { lanes: whole, strip }, 0)];
    }
    let (mut parts, mut within) = (vec![], 0);
    while within < strip {
        let lanes = lanes.min(1 << (strip - within).ilog2());
        parts.push((Width { lanes, strip }, within));
        within += lanes;
    }
    parts
}

/// Formats the lanes for reports: `32`, or `32+8`; `64+40` if 32 and 8 are computed together.
impl std::fmt::Display for Cuts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whole = (self.end > 0).then_some(self.whole.lanes);
        let rest = self.rests().map(|(rest, _)| rest.width.lanes + rest.beside.map_or(0, |width| width.lanes));
        let mut lanes: Vec<String> = whole.into_iter().chain(rest).map(|lanes| lanes.to_string()).collect();
        lanes.dedup();
        f.write_str(&lanes.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cuts, Strips, Width};

    /// Returns the lanes of all panels, with those of their strips.
    fn panels(outputs: u64, strip: u64, lanes: u64) -> Vec<(u64, u64)> {
        let cuts = Cuts::new(&Strips::new(outputs, strip), lanes, false);
        let whole = (0..cuts.end / lanes).map(|_| cuts.whole);
        whole.chain(cuts.rest.into_iter().map(|(width, _)| width)).map(|Width { lanes, strip }| (lanes, strip)).collect()
    }

    #[test]
    fn panels_take_all_strips() {
        assert_eq!(panels(52, 32, 32), [(32, 32), (16, 16), (4, 4)]);
        assert_eq!(panels(52, 16, 32), [(32, 16), (16, 16), (4, 4)]);
        assert_eq!(panels(44, 16, 64), [(32, 16), (8, 8), (4, 4)]);
        assert_eq!(panels(63, 16, 64), [(64, 16)]);
        assert_eq!(panels(28, 16, 8), [(8, 16), (8, 16), (8, 8), (4, 4)]);
        assert_eq!(panels(31, 16, 8), [(8, 16); 4]);
        assert_eq!(panels(0, 16, 8), []);
    }

    #[test]
    fn strips_of_any_width_are_taken_whole_or_in_parts() {
        let of = |outputs: u64, lanes: u64, loads_part: bool| {
            let cuts = Cuts::new(&Strips::new(outputs, 16).joined(), lanes, loads_part);
            cuts.rest.iter().map(|(width, within)| (width.lanes, width.strip, *within)).collect::<Vec<_>>()
        };
        assert_eq!(of(26, 16, true), [(16, 10, 0)]);
        assert_eq!(of(26, 8, false), [(8, 10, 0), (2, 10, 8)]);
        assert_eq!(of(13, 4, false), [(4, 14, 0), (4, 14, 4), (4, 14, 8), (2, 14, 12)]);
        let Width { lanes, .. } = Width { lanes: 16, strip: 10 };
        assert_eq!((Width { lanes, strip: 10 }.active(lanes), Width { lanes, strip: 4 }.active(lanes)), (10, 16));
    }

    #[test]
    fn half_a_vector_is_beside_whole_ones() {
        let of = |outputs: u64, strip: u64, lanes: u64| Cuts::new(&Strips::new(outputs, strip).joined(), lanes, true).paired(16);
        let shown: Vec<String> =
            [(40, 32), (24, 16), (56, 32), (104, 32)].map(|(outputs, lanes)| of(outputs, 16, lanes).to_string()).into();
        assert_eq!(shown, ["40", "24", "32+24", "32+40"]);
        let alone: Vec<String> = [(8, 16), (32, 32), (42, 32), (39, 32)].map(|(outputs, lanes)| of(outputs, 16, lanes).to_string()).into();
        assert_eq!(alone, ["8", "32", "32+16", "32+8"], "one panel, no rest, a rest that is loaded in part, an empty lane");
        assert_eq!(of(104, 32, 32).count(), 3);
        assert_eq!(of(40, 32, 32).widths(), [(32, 32), (8, 8)].map(|(lanes, strip)| Width { lanes, strip }));
    }

    #[test]
    fn panels_cover_every_channel_once() {
        for outputs in 0..200 {
            for (strip, lanes) in [(16, 2), (16, 4), (16, 8), (16, 16), (16, 32), (16, 64), (8, 8), (64, 64)] {
                let (strips, panels) = (Strips::new(outputs, strip), panels(outputs, strip, lanes));
                assert_eq!(panels.iter().map(|(lanes, _)| lanes).sum::<u64>(), strips.total());
                let before_last: u64 = panels.iter().rev().skip(1).map(|(lanes, _)| lanes).sum();
                assert!(before_last < outputs.max(1), "an empty panel of {outputs}");
            }
        }
    }
}
