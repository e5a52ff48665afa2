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
    let phases = &work.phases[0];
    let plane = b.scale_index(at.plane, work.planes.stride as i64, offset as i64 - phases.padding_low as i64);
    let inside = (phases.padding_low + phases.padding_high > 0).then(|| {
        let limit = b.index(work.planes.input as i64);
        b.compare(CompareOp::UnsignedLess, plane, limit)
    });
    let first = numbers.plane_elements.scale(b, plane);
    Plane { ring, first_ring, first: b.add(first, at.image), inside }
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
