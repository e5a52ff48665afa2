//! Division of output channels into strips, the units of packed weights. There are as many strips of full width as possible, then narrower ones
//! for the rest, so that little storage and work is padding.

/// Minimum lanes of a strip. Up to four are equally fast on every machine, but would be padding in a model with a single output.
pub const NARROWEST: u64 = 2;

/// Lanes of a strip that all CPU levels of an object read. It has the sums of a 512-bit vector, and shorter vectors divide it.
pub const COMMON: u64 = 16;

/// The strips of some output channels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Strips {
    /// Number of output channels.
    pub outputs: u64,
    /// Lanes of a strip of full width: a power of two.
    pub lanes: u64,
    /// Lanes of the narrower strips at the end.
    rest: Vec<u64>,
}

impl Strips {
    /// Divides `outputs` channels into strips with a full width of `lanes`, a power of two.
    pub fn new(outputs: u64, lanes: u64) -> Self {
        Self { outputs, lanes, rest: narrower(outputs % lanes) }
    }

    /// Divides `outputs` channels into strips of `lanes`, the last of which may have padding. Machines that load and store the first lanes of a
    /// vector take it as any other.
    pub fn padded(outputs: u64, lanes: u64) -> Self {
        Self { outputs, lanes, rest: if outputs.is_multiple_of(lanes) { vec![] } else { vec![lanes] } }
    }

    /// Joins the last strips to one, if together they are narrower than a strip that all levels read. A machine that loads any number of lanes
    /// takes them together; others take them one after another.
    pub fn joined(mut self) -> Self {
        let mut joined = 0;
        while let Some(lanes) = self.rest.pop_if(|lanes| joined + *lanes < COMMON) {
            joined += lanes;
        }
        self.rest.extend((joined > 0).then_some(joined));
        self
    }

    /// Returns the lanes of every strip, in order.
    pub fn all(&self) -> impl Iterator<Item = u64> + '_ {
        self.after(0)
    }

    /// Returns the lanes of the strips after this many channels, which are whole strips of full width.
    pub fn after(&self, channels: u64) -> impl Iterator<Item = u64> + '_ {
        (channels / self.lanes..self.outputs / self.lanes).map(|_| self.lanes).chain(self.rest.iter().copied())
    }

    /// Returns the lanes of all strips together.
    pub fn total(&self) -> u64 {
        self.outputs / self.lanes * self.lanes + self.rest.iter().sum::<u64>()
    }
}

/// Returns the lanes of the strips for a rest below the full width. It is one strip, unless more than an eighth of it would be padding and two
/// narrower ones have less.
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
    fn padded_rests_are_whole() {
        for (outputs, widths) in [(8, &[4, 4][..]), (9, &[4, 4, 4]), (30, &[4; 8]), (3, &[4])] {
            assert_eq!(Strips::padded(outputs, 4).all().collect::<Vec<_>>(), widths, "{outputs}");
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
