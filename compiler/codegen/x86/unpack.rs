//! Interleaving of two vectors within each 16 bytes. A sequence of these transposes square blocks of elements.

use super::held::Vector;
use super::lowering::Lowering;
use super::rows::{self, Row};
use modelc_kernel::orders;

impl Lowering<'_> {
    /// Interleaves the lower or the upper halves of each 16 bytes of a and b, which fill at most one register. `None` if `lanes` has another order.
    pub(super) fn unpack(&mut self, a: &Vector, b: &Vector, lanes: &[u16]) -> Option<Vector> {
        if a.parts.len() != 1 || b.lanes != a.lanes || lanes.len() != usize::from(a.lanes) || a.total() < 16 {
            return None;
        }
        let upper = [false, true].into_iter().find(|&upper| lanes == orders::unpacked(a.lanes, (16 / a.bytes) as u16, upper))?;
        let [x, y] = [a, b].map(|vector| vector.parts[0]);
        Some(a.with(vec![self.two(row(a.bytes, upper), a.length(), x, y)]))
    }
}

/// Returns the unpacking instruction of a lane width.
fn row(bytes: u32, upper: bool) -> &'static Row {
    match (bytes, upper) {
        (1, false) => &rows::VPUNPCKLBW,
        (1, true) => &rows::VPUNPCKHBW,
        (2, false) => &rows::VPUNPCKLWD,
        (2, true) => &rows::VPUNPCKHWD,
        (4, false) => &rows::VPUNPCKLDQ,
        (4, true) => &rows::VPUNPCKHDQ,
        (_, false) => &rows::VPUNPCKLQDQ,
        (_, true) => &rows::VPUNPCKHQDQ,
    }
}
