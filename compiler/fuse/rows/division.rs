//! Division of the rows of a result into bands.

use std::ops::Range;

/// Consecutive bands with an equal number of rows. The first may have fewer; the last has the remainder.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// All rows.
    pub all: u64,
    /// Rows of the first band.
    pub first: u64,
    /// Rows of each band after the first.
    pub rows: u64,
}

impl Division {
    /// The rows of each band, in order.
    pub fn bands(self) -> impl Iterator<Item = Range<u64>> {
        let starts = std::iter::once(0).chain((self.first..self.all).step_by(self.rows as usize));
        starts.map(move |start| start..if start == 0 { self.first } else { start + self.rows }.min(self.all))
    }

    /// Returns the number of bands.
    pub fn count(self) -> u64 {
        1 + self.all.saturating_sub(self.first).div_ceil(self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::Division;

    #[test]
    fn bands_cover_all_rows() {
        for (all, first, rows) in [(1, 1, 1), (7, 3, 3), (7, 2, 3), (8, 3, 3), (8, 9, 9), (9, 1, 4)] {
            let division = Division { all, first, rows };
            let bands: Vec<_> = division.bands().collect();
            assert_eq!(bands.len() as u64, division.count());
            assert!(bands.windows(2).all(|pair| pair[0].end == pair[1].start), "{bands:?}");
            assert_eq!((bands[0].start, bands[bands.len() - 1].end), (0, all));
        }
    }
}
