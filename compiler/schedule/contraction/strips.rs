//! How output channels are cut into strips, the pieces in which packed weights lie: as many of the full width as there are, then
//! narrower ones for the rest, so that little of what is stored and computed is padding.

/// The fewest lanes of a strip: up to four are as fast on every machine, but these are padding in a model that ends in one number.
pub const NARROWEST: u64 = 2;

/// Lanes of a strip that all CPU levels of an object read: a vector of 512 bits has as many sums, and shorter vectors fill it.
pub const COMMON: u64 = 16;

/// The strips of this many output channels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Strips {
    /// Output channels.
    pub outputs: u64,
    /// Lanes of a strip of full width: a power of two.
    pub lanes: u64,
    /// Lanes of those after them.
    rest: Vec<u64>,
}

impl Strips {
    /// The strips of `outputs` channels, `lanes` of which are the full width: a power of two.
    pub fn new(outputs: u64, lanes: u64) -> Self {
        Self { outputs, lanes, rest: narrower(outputs % lanes) }
    }

    /// The same with the last ones side by side as one, where they are less than a strip that all levels read: a machine that loads any number of lanes
    /// takes them together, and others one after the other.
    pub fn joined(mut self) -> Self {
        let mut joined = 0;
        while let Some(lanes) = self.rest.pop_if(|lanes| joined + *lanes < COMMON) {
            joined += lanes;
        }
        self.rest.extend((joined > 0).then_some(joined));
        self
    }

    /// The lanes of every strip, in order.
    pub fn all(&self) -> impl Iterator<Item = u64> + '_ {
        self.after(0)
    }

    /// The lanes of the strips after this many channels, which are whole strips of full width.
    pub fn after(&self, channels: u64) -> impl Iterator<Item = u64> + '_ {
        (channels / self.lanes..self.outputs / self.lanes).map(|_| self.lanes).chain(self.rest.iter().copied())
    }

    /// Lanes of all strips.
    pub fn total(&self) -> u64 {
        self.outputs / self.lanes * self.lanes + self.rest.iter().sum::<u64>()
    }
}

/// Lanes of the strips of what is less than one of full width: one, or half of it and what the rest needs where one would be padding by
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
    use super::Strips;

    #[test]
    fn rests_are_narrow() {
        let cases: [(u64, u64, &[u64]); 12] = [
            (64, 32, &[32, 32]),
            (24, 32, &[16, 8]),
            (40, 32, &[32, 8]),
            (52, 32, &[32, 16, 4]),
            (62, 64, &[64]),
            (28, 32, &[16, 8, 4]),
            (1, 64, &[2]),
            (5, 32, &[4, 2]),
            (7, 32, &[8]),
            (12, 16, &[8, 4]),
            (13, 16, &[8, 4, 2]),
            (0, 16, &[]),
        ];
        for (outputs, lanes, widths) in cases {
            let strips = Strips::new(outputs, lanes);
            assert_eq!(strips.all().collect::<Vec<_>>(), widths, "{outputs} by {lanes}");
            assert_eq!(strips.total(), widths.iter().sum::<u64>());
        }
    }

    #[test]
    fn narrow_rests_lie_side_by_side() {
        let cases: [(u64, u64, &[u64]); 7] = [
            (40, 32, &[32, 8]),
            (42, 32, &[32, 10]),
            (28, 32, &[16, 12]),
            (13, 16, &[14]),
            (62, 64, &[64]),
            (7, 32, &[8]),
            (32, 32, &[32]),
        ];
        for (outputs, lanes, widths) in cases {
            let strips = Strips::new(outputs, lanes).joined();
            assert_eq!(strips.all().collect::<Vec<_>>(), widths, "{outputs} by {lanes}");
            assert_eq!(strips.total(), Strips::new(outputs, lanes).total());
        }
    }
}
