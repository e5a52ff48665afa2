//! How strips are cut into panels, which are computed together: a machine with long vectors takes several strips for one panel, one
//! with short vectors several panels for one strip, so that both read the same packed weights.

use super::strips::{NARROWEST, Strips};
use crate::kernel::{BinaryOp, CompareOp, KernelBuilder, Value};
use crate::schedule::loops::{self, Outcome, for_values, if_then};

/// The panels of some output channels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cuts {
    outputs: u64,
    /// The panels of full width that lie in strips of full width: their lanes, and after which channel they end.
    whole: Width,
    end: u64,
    /// Those after them.
    rest: Vec<Width>,
}

/// The width of a panel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Width {
    /// Its lanes: a power of two.
    pub lanes: u64,
    /// Lanes of the strip that it lies in, or of each of the strips that it takes: a power of two.
    pub strip: u64,
}

/// A panel in a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Its first output channel, which is its first lane too.
    pub first: Value,
    /// Its width.
    pub width: Width,
    /// Output channels that it has.
    pub active: u64,
}

impl Cut {
    /// The first lane of the panel's strips, and the panel's first lane from there.
    pub fn start(&self, b: &mut KernelBuilder) -> (Value, Value) {
        let Width { lanes, strip } = self.width;
        if lanes >= strip {
            return (self.first, b.index(0));
        }
        let mask = b.index(strip as i64 - 1);
        let lane = b.binary(BinaryOp::And, self.first, mask);
        (b.sub(self.first, lane), lane)
    }
}

impl Width {
    /// The vectors of a panel on a machine whose vectors have at most this many lanes: their number, and the lanes of each.
    pub fn vectors(self, most: u64) -> (u64, u64) {
        let vector = most.min(self.lanes);
        (self.lanes / vector, vector)
    }
}

impl Cuts {
    /// The panels of strips, `lanes` of which are the full width: a power of two.
    pub fn new(strips: &Strips, lanes: u64) -> Self {
        let (outputs, strip, lanes) = (strips.outputs, strips.lanes, lanes.max(NARROWEST));
        let end = outputs - outputs % lanes.max(strip);
        let (full, narrow): (Vec<u64>, Vec<u64>) = strips.behind(end).partition(|&width| width == strip);
        let mut rest = Vec::new();
        if lanes > strip {
            let mut left = full.len() as u64;
            while left > 0 {
                let together = (1 << left.ilog2()).min(lanes / strip);
                rest.push(Width { lanes: together * strip, strip });
                left -= together;
            }
        } else {
            rest.extend(full.iter().flat_map(|_| parts(strip, lanes)));
        }
        rest.extend(narrow.into_iter().flat_map(|strip| parts(strip, lanes)));
        Self { outputs, whole: Width { lanes, strip }, end, rest }
    }

    /// The widths that there are.
    pub fn widths(&self) -> Vec<Width> {
        let mut widths: Vec<Width> = (self.end > 0).then_some(self.whole).into_iter().chain(self.rest.iter().copied()).collect();
        widths.dedup();
        widths
    }

    /// How many panels there are.
    pub fn count(&self) -> u64 {
        self.end / self.whole.lanes + self.rest.len() as u64
    }

    /// The panels of a range of their numbers: from the first to the one before the end.
    pub fn for_range<R: Outcome>(
        &self,
        b: &mut KernelBuilder,
        (first, end): (Value, Value),
        mut body: impl FnMut(&mut KernelBuilder, Cut) -> R,
    ) -> R {
        let (width, mut outcome) = (self.whole, R::done());
        let whole = (self.end / width.lanes) as i64;
        if whole > 0 {
            let last = b.index(whole);
            let last = b.binary(BinaryOp::SignedMin, end, last);
            let [start, stop] = [first, last].map(|number| b.scale_index(number, width.lanes as i64, 0));
            outcome = for_values(b, (start, stop), width.lanes as i64, |b, first| body(b, Cut { first, width, active: width.lanes }));
        }
        let mut start = self.end;
        for (&width, number) in self.rest.iter().zip(whole..) {
            let number = b.index(number);
            let reached = b.compare(CompareOp::LessEqual, first, number);
            let before_end = b.compare(CompareOp::Less, number, end);
            let inside = b.binary(BinaryOp::And, reached, before_end);
            let active = width.lanes.min(self.outputs - start);
            let panel = |b: &mut KernelBuilder| {
                let first = b.index(start as i64);
                body(b, Cut { first, width, active })
            };
            outcome = outcome.then(|| if_then(b, inside, panel));
            start += width.lanes;
        }
        outcome
    }

    /// Every panel: those of full width in a loop, the others after it.
    pub fn for_each<R: Outcome>(&self, b: &mut KernelBuilder, mut body: impl FnMut(&mut KernelBuilder, Cut) -> R) -> R {
        let width = self.whole;
        let whole = (0, self.end as i64);
        let mut outcome = loops::for_range(b, whole, width.lanes as i64, |b, first| body(b, Cut { first, width, active: width.lanes }));
        let mut start = self.end;
        for &width in self.rest.iter() {
            let active = width.lanes.min(self.outputs - start);
            outcome = outcome.then(|| {
                let first = b.index(start as i64);
                body(b, Cut { first, width, active })
            });
            start += width.lanes;
        }
        outcome
    }
}

/// The panels of a strip, of this many lanes at most. Each has a channel, for a strip is less than half empty.
fn parts(strip: u64, lanes: u64) -> impl Iterator<Item = Width> {
    let lanes = lanes.min(strip);
    (0..strip / lanes).map(move |_| Width { lanes, strip })
}

/// The lanes, for reports: `32`, or `32+8`.
impl std::fmt::Display for Cuts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lanes: Vec<String> = self.widths().iter().map(|width| width.lanes.to_string()).collect();
        lanes.dedup();
        f.write_str(&lanes.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cuts, Strips, Width};

    /// The lanes of all panels, with those of their strips.
    fn panels(outputs: u64, strip: u64, lanes: u64) -> Vec<(u64, u64)> {
        let cuts = Cuts::new(&Strips::new(outputs, strip), lanes);
        let whole = (0..cuts.end / lanes).map(|_| cuts.whole);
        whole.chain(cuts.rest).map(|Width { lanes, strip }| (lanes, strip)).collect()
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
