//! Where the windows of a contraction stand, and the planes of the input under them.

use super::geometry::Contraction;
use super::image_sizes::Numbers;
use crate::kernel::{CompareOp, KernelBuilder, Value};

/// A contraction and its sizes in a kernel.
#[derive(Clone, Copy)]
pub struct Image<'a> {
    /// The contraction.
    pub work: &'a Contraction,
    /// Its sizes.
    pub numbers: &'a Numbers,
}

/// A plane of the input under a window.
pub struct Plane {
    /// Its ring, counted from a first one where all rows are staged.
    pub ring: u64,
    /// That first one.
    pub first_ring: Value,
    /// The first element of the input's plane.
    pub first: Value,
    /// Whether it is inside the input, where it may be outside.
    pub inside: Option<Value>,
}

/// The plane this many after the one that the window of an output row is at.
pub fn plane_of(b: &mut KernelBuilder, Image { work, numbers }: Image<'_>, at: &RowPlace, ring: u64, offset: u64) -> Plane {
    let first_ring = at.ring;
    let plane = b.scale_index(at.plane, work.planes.stride as i64, offset as i64 - work.phases[0].padding_low as i64);
    plane_at(b, Image { work, numbers }, plane, at.image, (ring, first_ring))
}

/// The plane of this number, where all of the padding before the first one is there, of an image that begins at an element of the input.
pub fn plane_at(
    b: &mut KernelBuilder,
    Image { work, numbers }: Image<'_>,
    plane: Value,
    image: Value,
    (ring, first_ring): (u64, Value),
) -> Plane {
    let plane = numbers.shift[0].plus(b, plane);
    let inside = work.pads_planes().then(|| {
        let limit = numbers.input[0].value(b);
        b.compare(CompareOp::UnsignedLess, plane, limit)
    });
    let first = numbers.plane_elements.scale(b, plane);
    Plane { ring, first_ring, first: b.add(first, image), inside }
}

/// Where windows stand.
#[derive(Clone, Copy)]
pub struct RowPlace {
    /// The image's first element in the input.
    pub image: Value,
    /// The number of the window along the planes.
    pub plane: Value,
    /// The number of the window along the rows.
    pub y: Value,
    /// The first padded row that is not staged yet.
    pub staged: Value,
    /// The image's first ring, where all rows are staged.
    pub ring: Value,
}
