//! Copies in reverse order. Vectors are loaded from the end, and their lanes are reversed in registers.

use crate::kernel::{Active, Buffer, KernelBuilder, Value};
use crate::schedule::quantity::Number;

/// Writes `extent` elements, by vectors of `lanes` lanes. Elements are read backwards, from an element of the input on.
pub(super) fn write_reversed(b: &mut KernelBuilder, from: (Buffer, Value), to: (Buffer, Value), extent: Number, lanes: u16) {
    // A mask would leave lanes at the wrong end of a vector, so no vector is masked.
    extent.row(b, lanes, 0, |b, i, active| {
        let Active::First(count) = active else { unreachable!("no vector is masked") };
        let first = b.sub(from.1, i);
        let vector = b.load_active(from.0, first, 1 - i64::from(count), lanes, count);
        let order = (0..lanes).map(|lane| if lane < count { count - 1 - lane } else { lane });
        let reversed = b.shuffle(vector, vector, order.collect());
        let place = b.add(to.1, i);
        b.store_active(to.0, place, 0, reversed, count);
    });
}
