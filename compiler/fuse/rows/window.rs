//! Images that are cut into rows, and the operand rows that an operator needs.

use crate::fuse::row_major;
use crate::ir::{Function, Value};
use std::ops::Range;

/// The cut dimension of `[1, rows, columns, channels]`.
pub const ROWS: usize = 1;

/// The operand rows that an operator needs, as an affine window.
#[derive(Clone, Copy, Debug)]
pub struct RowWindow {
    /// Number of taps.
    pub size: u64,
    /// Operand rows between consecutive window positions.
    pub stride: u64,
    /// Operand rows between consecutive taps.
    pub dilation: u64,
    /// Rows of padding above the operand.
    pub low: i64,
    /// Rows of the operand.
    pub rows: u64,
    /// Rows of the result at each position.
    pub results: u64,
}

/// Rows of padding that a window reads.
#[derive(Clone, Copy)]
pub struct Border {
    /// Rows above the operand.
    pub above: i64,
    /// Rows below it.
    pub below: i64,
}

/// The operand rows and padding for some rows of the result.
pub struct Needs {
    /// The operand's rows.
    pub rows: Range<u64>,
    /// Rows of padding that the window reads.
    pub border: Border,
    /// The rows of the result that are computed: at least the requested rows.
    pub computed: Range<u64>,
}

impl RowWindow {
    /// Makes a window of one row at the same position.
    pub fn same(rows: u64) -> Self {
        Self { size: 1, stride: 1, dilation: 1, low: 0, rows, results: 1 }
    }

    /// Makes a window of groups: each group of `of` operand rows gives `results` result rows.
    pub fn of_groups(rows: u64, of: u64, results: u64) -> Self {
        Self { size: of, stride: of, results, ..Self::same(rows) }
    }

    /// Returns the operand rows and padding for some rows of the result. `None` if the window reads only padding.
    pub fn needs(&self, result: &Range<u64>) -> Option<Needs> {
        let positions = result.start / self.results..result.end.div_ceil(self.results);
        let first = i64::try_from(positions.start.checked_mul(self.stride)?).ok()? - self.low;
        let last = i64::try_from((positions.end - 1).checked_mul(self.stride)?).ok()? - self.low;
        let end = last + i64::try_from((self.size - 1).checked_mul(self.dilation)?).ok()? + 1;
        let rows = self.rows as i64;
        let seen = first.clamp(0, rows)..end.clamp(0, rows);
        (seen.start < seen.end).then(|| Needs {
            rows: seen.start as u64..seen.end as u64,
            border: Border { above: (-first).max(0), below: (end - rows).max(0) },
            computed: positions.start * self.results..positions.end * self.results,
        })
    }
}

/// Returns the rows, columns and channels of a row-major image with batch 1; `None` for other tensors.
pub fn image(function: &Function, value: Value) -> Option<[u64; 3]> {
    match row_major(function, value)?[..] {
        [1, rows, columns, channels] if rows > 0 => Some([rows, columns, channels]),
        _ => None,
    }
}
