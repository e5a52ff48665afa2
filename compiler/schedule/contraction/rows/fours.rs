//! Groups of four bytes that the products of a depthwise convolution take, from rows in pairs ([`RowPairs`](super::row_pairs::RowPairs)). Two
//! pairs of a column are four rows. The last pair of an odd number is combined with the same pair in the next column of the window.

/// Rows of two pairs in the order of the weights: the even rows are one pair, the odd rows the other.
const OF_TWO_PAIRS: [(u64, u64); 4] = [(0, 0), (2, 0), (1, 0), (3, 0)];

/// Rows and columns of a pair and of the same pair in the next column, in that order.
const OF_TWO_COLUMNS: [(u64, u64); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];

/// The groups of a window. An operand is from one column: the rows of two pairs, or a pair and its neighbour.
#[derive(Clone, Copy, Debug)]
pub(in crate::schedule::contraction) struct Fours {
    /// Pairs of rows.
    pub pairs: u64,
    /// Columns of the window.
    pub columns: u64,
}

impl Fours {
    /// Returns the number of operands that consist of two pairs of a column.
    fn whole(self) -> u64 {
        self.pairs / 2
    }

    /// Returns the number of operands of a column.
    pub fn operands(self) -> u64 {
        self.pairs.div_ceil(2)
    }

    /// Tests whether an operand is a pair in two adjacent columns.
    pub fn joins_columns(self, operand: u64) -> bool {
        operand == self.whole()
    }

    /// Returns the pairs of an operand. If it joins columns, both are the same pair.
    pub fn pairs_of(self, operand: u64) -> [u64; 2] {
        let first = 2 * operand;
        if self.joins_columns(operand) { [first; 2] } else { [first, first + 1] }
    }

    /// Returns the number of products of an output row.
    pub fn products(self) -> u64 {
        self.whole() * self.columns + self.pairs % 2 * self.columns.div_ceil(2)
    }

    /// Returns the number of an operand's product in a column of the window. Joined columns have one product, in the first of them.
    pub fn product(self, operand: u64, tap: u64) -> Option<u64> {
        match self.joins_columns(operand) {
            false => Some(operand * self.columns + tap),
            true => tap.is_multiple_of(2).then_some(operand * self.columns + tap / 2),
        }
    }

    /// Returns the product that contains a pair in a column of the window, and the half. The half is 0 for the even bytes, 1 for the odd ones.
    pub fn half(self, pair: u64, tap: u64) -> (u64, u64) {
        let operand = pair / 2;
        match self.joins_columns(operand) {
            false => (operand * self.columns + tap, pair % 2),
            true => (operand * self.columns + tap / 2, tap % 2),
        }
    }

    /// Returns the rows of the pairs and the columns of the window that a product takes, in the order of the weights. The column may be one
    /// after the window's last.
    pub fn places(self, product: u64) -> [(u64, u64); 4] {
        let operand = (product / self.columns).min(self.whole());
        let nth = product - operand * self.columns;
        let (order, column) = if self.joins_columns(operand) { (OF_TWO_COLUMNS, 2 * nth) } else { (OF_TWO_PAIRS, nth) };
        order.map(|(row, after)| (4 * operand + row, column + after))
    }
}

#[cfg(test)]
mod tests {
    use super::Fours;

    #[test]
    fn every_row_and_column_has_one_place() {
        for (pairs, columns) in [(1, 3), (2, 3), (3, 5), (3, 1), (4, 7), (5, 2)] {
            let fours = Fours { pairs, columns };
            let places: Vec<_> = (0..fours.products()).flat_map(|product| fours.places(product)).collect();
            let mut inside: Vec<_> = places.iter().copied().filter(|(_, column)| *column < columns).collect();
            inside.sort_unstable();
            let all: Vec<_> = (0..2 * pairs).flat_map(|row| (0..columns).map(move |column| (row, column))).collect();
            assert_eq!(inside, all, "{pairs} pairs of {columns} columns");
        }
    }

    #[test]
    fn halves_of_products_are_pairs() {
        let fours = Fours { pairs: 3, columns: 5 };
        assert_eq!(fours.products(), 8);
        for (pair, tap) in (0..3).flat_map(|pair| (0..5).map(move |tap| (pair, tap))) {
            let (product, half) = fours.half(pair, tap);
            let places = fours.places(product);
            let rows = [0, 2].map(|first| places[first + half as usize]);
            assert_eq!(rows, [(2 * pair, tap), (2 * pair + 1, tap)]);
            let operand = pair / 2;
            let begins = fours.product(operand, tap).is_none_or(|found| found == product);
            assert!(begins && fours.pairs_of(operand).contains(&pair));
        }
    }
}
