//! The products of bytes that a depthwise convolution takes four at a time, of rows in pairs ([`RowPairs`](super::row_pairs::RowPairs)). Two pairs of a
//! column are four rows. The pair that is left of an odd number is taken together with the one of the next column of the window.

/// The rows of two pairs in the order in which weights lie: the even ones of four are a pair, and so are the odd ones.
const OF_TWO_PAIRS: [(u64, u64); 4] = [(0, 0), (2, 0), (1, 0), (3, 0)];

/// Rows and columns of a pair and of the one of the next column, in that order.
const OF_TWO_COLUMNS: [(u64, u64); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];

/// See the module. An operand is what lies in a column: the rows of two pairs, or a pair and its neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fours {
    /// Pairs of rows.
    pub pairs: u64,
    /// Columns of the window.
    pub columns: u64,
}

impl Fours {
    /// Operands that consist of two pairs of a column.
    fn whole(self) -> u64 {
        self.pairs / 2
    }

    /// Operands of a column.
    pub fn operands(self) -> u64 {
        self.pairs.div_ceil(2)
    }

    /// Tells if an operand is a pair and the one of the next column.
    pub fn joins_columns(self, operand: u64) -> bool {
        operand == self.whole()
    }

    /// The pairs of an operand: the second is the first one of the next column where columns are joined.
    pub fn pairs_of(self, operand: u64) -> [u64; 2] {
        let first = 2 * operand;
        if self.joins_columns(operand) { [first; 2] } else { [first, first + 1] }
    }

    /// Products of an output row.
    pub fn products(self) -> u64 {
        self.whole() * self.columns + self.pairs % 2 * self.columns.div_ceil(2)
    }

    /// The number of the product of an operand in a column of the window. Joined columns are one product, in the first of them.
    pub fn product(self, operand: u64, tap: u64) -> Option<u64> {
        match self.joins_columns(operand) {
            false => Some(operand * self.columns + tap),
            true => tap.is_multiple_of(2).then_some(operand * self.columns + tap / 2),
        }
    }

    /// The product that has a pair in a column of the window, and which half of it that is: the even bytes or the odd ones.
    pub fn half(self, pair: u64, tap: u64) -> (u64, u64) {
        let operand = pair / 2;
        match self.joins_columns(operand) {
            false => (operand * self.columns + tap, pair % 2),
            true => (operand * self.columns + tap / 2, tap % 2),
        }
    }

    /// The rows of the pairs and the columns of the window that a product takes, in the order in which weights lie. The column may be one after the
    /// window's.
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
