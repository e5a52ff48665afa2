//! RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.

use super::error::{invalid, missing_options};
use super::operator::{Lowered, Operand, Operator};
use super::shape::output_bounds;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent};
use crate::operators::resize::{self, Along, Blend, Grid};
use ElementType::{F32, I8, I16, U8};

/// Images larger than this are no real model's.
const MAX_EXTENT: u64 = 1 << 16;

/// The image and its two dimensions.
fn image_and_sides(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, [Along; 2]), Diagnostic> {
    operator.arity(2..=2, 1..=1)?;
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    // The list is of dimensions 1 and 2 of the result.
    let bounds = output_bounds(operator);
    let sizes = operator.extent_list(&list, "sizes", &bounds[1..3])?;
    let [height, width] = sizes[..] else {
        return Err(invalid(codes::SHAPES_DIFFER, "there must be a height and a width").expected("2 sizes", sizes.len().to_string()));
    };
    if input.rank() != 4 {
        return Err(invalid(codes::RANK, "the input must have four dimensions")
            .about_tensor(&input.info.name)
            .expected("rank 4", format!("{:?}", input.shape)));
    }
    let wanted = [height, width].map(|size| size.extent().unwrap_or(Extent::Static(0)));
    let extents = [wanted[0], wanted[1], input.extents[1], input.extents[2]];
    let largest = extents.map(|extent| operator.graph().bound(extent));
    if largest.iter().any(|n| !(1..=MAX_EXTENT).contains(n)) {
        return Err(invalid(codes::OPTION_RANGE, "a height or width is out of range")
            .expected(format!("1 to {MAX_EXTENT}"), format!("{largest:?}")));
    }
    let sides = [0, 1].map(|d| Along { dimension: d + 1, from: input.extents[d + 1], to: wanted[d] });
    Ok((input, sides))
}

/// RESIZE_NEAREST_NEIGHBOR
pub(super) fn nearest(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_resize_nearest_neighbor_options().ok_or_else(missing_options)?;
    let grid = Grid { align_corners: options.align_corners(), half_pixel_centers: options.half_pixel_centers() };
    let (input, sides) = image_and_sides(operator)?;
    let value = resize::nearest(operator.graph(), input.value, &sides, grid)?;
    operator.bind(0, value)
}

/// RESIZE_BILINEAR: f32 and uint8 in binary32, int8 and int16 in integers.
pub(super) fn bilinear(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_resize_bilinear_options().ok_or_else(missing_options)?;
    let grid = Grid { align_corners: options.align_corners(), half_pixel_centers: options.half_pixel_centers() };
    if grid.align_corners && grid.half_pixel_centers {
        return Err(invalid(codes::OPTION_CHOICE, "align_corners and half_pixel_centers exclude each other"));
    }
    let (input, sides) = image_and_sides(operator)?;
    let blend = match input.element() {
        F32 | U8 => Blend::Floats,
        I8 | I16 => Blend::Integers,
        element => return Err(operator.type_error(&[element])),
    };
    let value = resize::bilinear(operator.graph(), input.value, sides, grid, blend)?;
    operator.bind(0, value)
}
