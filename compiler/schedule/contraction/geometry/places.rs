//! Places of a contraction's windows, and the planes of the input under them.

use super::contraction::Contraction;
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
    /// Number of its ring, relative to `first_ring`.
    pub ring: u64,
    /// First ring of the image, if all rows are staged.
    pub first_ring: Value,
    /// First element of the plane in the input.
    pub first: Value,
    /// Mask that is true if the plane is inside the input; `None` if all planes are.
    pub inside: Option<Value>,
}

/// Returns the plane at an offset from the first plane of an output row's window.
pub fn plane_of(b: &mut KernelBuilder, Image { work, numbers }: Image<'_>, at: &RowPlace, ring: u64, offset: u64) -> Plane {
    let first_ring = at.ring;
    let plane = b.scale_index(at.plane, work.geometry.planes.stride as i64, offset as i64 - work.geometry.phases[0].padding_low as i64);
    plane_at(b, Image { work, numbers }, plane, at.image, (ring, first_ring))
}

/// Returns the plane of this number, counted with the whole padding before the first plane. `image` is the first element of its image.
pub fn plane_at(
    b: &mut KernelBuilder,
    Image { work, numbers }: Image<'_>,
    plane: Value,
    image: Value,
    (ring, first_ring): (u64, Value),
) -> Plane {
    let plane = numbers.shift[0].plus(b, plane);
    let inside = work.geometry.pads_planes().then(|| {
        let limit = numbers.input[0].value(b);
        b.compare(CompareOp::UnsignedLess, plane, limit)
    });
    let first = numbers.plane_elements.scale(b, plane);
    Plane { ring, first_ring, first: b.add(first, image), inside }
}

/// The place of windows.
#[derive(Clone, Copy)]
pub struct RowPlace {
    /// First element of the image in the input.
    pub image: Value,
    /// Number of the window along the planes.
    pub plane: Value,
    /// Number of the window along the rows.
    pub y: Value,
    /// First padded row that is not staged yet.
    pub staged: Value,
    /// First ring of the image, if all rows are staged.
    pub ring: Value,
}
