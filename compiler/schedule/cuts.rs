//! How output channels are cut into panels: as many of the full width as there are, then narrower ones for the rest, so that little of
//! what is stored and computed is padding.

use crate::kernel::{KernelBuilder, Value};

/// The fewest lanes of a panel: up to four are as fast on every machine, but these are padding in a model that ends in one number.
const NARROWEST: u64 = 2;

/// The panels of so many output channels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cuts {
    outputs: u64,
    /// Lanes of a panel of full width.
    lanes: u64,
    /// Lanes of those behind them.
    rest: Vec<u64>,
}

/// A panel in a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Its first output channel, which is its first lane too.
    pub first: Value,
    /// Its lanes: a power of two.
    pub lanes: u64,
    /// Output channels that it has.
    pub active: u64,
}

impl Cuts {
    /// The panels of `outputs` channels, `lanes` of which are the full width: a power of two.
    pub fn new(outputs: u64, lanes: u64) -> Self {
        Self { outputs, lanes, rest: narrower(outputs % lanes) }
    }

    /// Panels of full width.
    fn whole(&self) -> u64 {
        self.outputs / self.lanes
    }

    /// The lanes of every panel, in order.
    pub fn all(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.whole()).map(|_| self.lanes).chain(self.rest.iter().copied())
    }

    /// Lanes of all panels.
    pub fn total(&self) -> u64 {
        self.all().sum()
    }

    /// The widths that there are, the widest first.
    pub fn widths(&self) -> Vec<u64> {
        let mut widths: Vec<u64> = (self.whole() > 0).then_some(self.lanes).into_iter().chain(self.rest.iter().copied()).collect();
        widths.dedup();
        widths
    }

    /// Lanes of the widest panel.
    pub fn widest(&self) -> u64 {
        self.widths().first().copied().unwrap_or(0)
    }

    /// Every panel: those of full width in a loop, the others behind it.
    pub fn for_each(&self, b: &mut KernelBuilder, mut body: impl FnMut(&mut KernelBuilder, Cut)) {
        let lanes = self.lanes;
        let end = self.whole() * lanes;
        b.for_range(0, end as i64, lanes as i64, |b, first| body(b, Cut { first, lanes, active: lanes }));
        let mut start = end;
        for &lanes in &self.rest {
            let first = b.index(start as i64);
            body(b, Cut { first, lanes, active: lanes.min(self.outputs - start) });
            start += lanes;
        }
    }
}

/// The widths, for reports: `32`, or `32+8`.
impl std::fmt::Display for Cuts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.widths().iter().map(u64::to_string).collect::<Vec<_>>().join("+"))
    }
}

/// Lanes of the panels of what is less than one of full width: one, or half of it and what the rest needs where one would be padding by
/// more than an eighth and these are less.
fn narrower(outputs: u64) -> Vec<u64> {
    if outputs == 0 {
        return vec![];
    }
    let one = outputs.next_power_of_two().max(NARROWEST);
    let first = one / 2;
    if (one - outputs) * 8 <= outputs || first < NARROWEST || first >= outputs {
        return vec![one];
    }
    let rest = narrower(outputs - first);
    if first + rest.iter().sum::<u64>() < one { [vec![first], rest].concat() } else { vec![one] }
}

#[cfg(test)]
mod tests {
    use super::Cuts;

    #[test]
    fn rests_are_narrow() {
        let cases: [(u64, u64, &[u64]); 11] = [
            (64, 32, &[32, 32]),
            (24, 32, &[16, 8]),
            (40, 32, &[32, 8]),
            (52, 32, &[32, 16, 4]),
            (62, 64, &[64]),
            (28, 32, &[16, 8, 4]),
            (1, 64, &[2]),
            (5, 32, &[8]),
            (12, 16, &[8, 4]),
            (13, 16, &[16]),
            (0, 16, &[]),
        ];
        for (outputs, lanes, panels) in cases {
            let cuts = Cuts::new(outputs, lanes);
            assert_eq!(cuts.all().collect::<Vec<_>>(), panels, "{outputs} by {lanes}");
            assert_eq!(cuts.total(), panels.iter().sum::<u64>());
        }
    }
}
