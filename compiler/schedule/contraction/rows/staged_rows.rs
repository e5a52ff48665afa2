//! Loops over rows of windows, which stage the rows that the windows read.

use super::preparation::Preparation;
use super::sections;
use super::staging::{Ring, Staging};
use crate::kernel::{BinaryOp, Buffer, KernelBuilder, Value};
use crate::schedule::contraction::geometry::phases::Phase;
use crate::schedule::contraction::geometry::places::{Image, RowPlace, plane_at, plane_of};
use std::ops::Range;

/// An image in the input.
#[derive(Clone, Copy)]
pub struct ImagePlace {
    /// First element.
    pub first: Value,
    /// Number among the images of all matrix products.
    pub number: Value,
}

/// Stages all rows of an image ahead of its products.
pub fn stage_image(b: &mut KernelBuilder, image: Image<'_>, staging: &Staging, buffers: (Buffer, Ring), at: ImagePlace) {
    let geometry = &image.work.geometry;
    let phases = &geometry.phases[0];
    let planes = phases.padded(geometry.planes.input);
    let ring = b.scale_index(at.number, planes as i64, 0);
    b.for_range(0, planes as i64, 1, |b, padded| {
        let zero = b.index(0);
        let ring = b.add(ring, padded);
        let plane = b.scale_index(padded, 1, -(phases.padding_low as i64));
        let plane = plane_at(b, image, plane, at.first, (0, ring));
        let end = b.index(staging.rows as i64);
        staging.copy_rows(b, image, buffers, &plane, zero..end);
    });
}

/// Calls `body` for each row of windows in a range. Rows that a round's windows read are staged in the round, if they are not staged ahead.
pub fn for_rows(
    b: &mut KernelBuilder,
    image: Image<'_>,
    preparation: Preparation,
    staging: Option<&Staging>,
    buffers: (Buffer, Ring),
    (place, rows): (RowPlace, Range<Value>),
    mut body: impl FnMut(&mut KernelBuilder, &RowPlace),
) {
    if preparation == Preparation::Ahead {
        return b.for_values(rows.start, rows.end, 1, |b, y| body(b, &RowPlace { y, ..place }));
    }
    b.for_carry(rows.start, rows.end, 1, &[place.staged], |b, y, staged| {
        let place = RowPlace { y, staged: staged[0], ..place };
        let staged = copy_rows(b, image, staging, buffers, &place);
        body(b, &place);
        vec![staged]
    });
}

/// Stages the rows that the windows at a place need. Returns the first padded row that is not staged yet.
fn copy_rows(b: &mut KernelBuilder, image: Image<'_>, staging: Option<&Staging>, buffers: (Buffer, Ring), at: &RowPlace) -> Value {
    let work = image.work;
    let geometry = &work.geometry;
    if let (Some(row), Some(staging)) = (geometry.sections, staging) {
        return sections::copy_section(b, (image, row), staging, buffers, at);
    }
    let top = b.scale_index(at.y, geometry.strides[0] as i64, 0);
    let phases = &geometry.phases[1];
    let mut end = b.scale_index(top, 1, geometry.rows_reached() as i64);
    let Some(staging) = staging.filter(|staging| staging.chunk.is_none()) else { return end };
    if !geometry.is_one_phase() {
        // The phase that reaches furthest may have no window at the last rows of other phases.
        let rows = b.index(phases.padded(geometry.input_size[0]) as i64);
        end = b.binary(BinaryOp::SignedMin, end, rows);
    }
    let first = b.binary(BinaryOp::SignedMax, at.staged, top);
    for (ring, &offset) in staging.planes.iter().enumerate() {
        let plane = plane_of(b, image, at, ring as u64, offset);
        staging.copy_rows(b, image, buffers, &plane, first..end);
    }
    end
}

/// The phases of an output row along planes and rows.
#[derive(Clone, Copy)]
pub struct RowPhases<'a> {
    /// Phase along planes.
    pub planes: &'a Phase,
    /// Phase along rows.
    pub rows: &'a Phase,
}

/// Returns the first element of each window row of some phases. Planes are outermost.
pub fn window_rows(b: &mut KernelBuilder, image: Image<'_>, staging: Option<&Staging>, at: &RowPlace, phases: RowPhases<'_>) -> Vec<Value> {
    let (geometry, RowPhases { planes, rows }) = (&image.work.geometry, phases);
    let top = b.scale_index(at.y, geometry.strides[0] as i64, 0);
    let mut starts = Vec::new();
    for j in 0..planes.taps.len() as u64 {
        let offset = planes.lead + j * geometry.phases[0].dilation;
        for k in 0..rows.taps.len() as u64 {
            let row = b.scale_index(top, 1, (rows.lead + k * geometry.phases[1].dilation) as i64);
            starts.push(match staging {
                Some(staging) if staging.preparation == Preparation::Ahead => {
                    let plane = b.scale_index(at.plane, geometry.planes.stride as i64, 0);
                    let first = b.add(at.ring, plane);
                    staging.slot(b, first, offset, row)
                }
                Some(staging) => {
                    let ring = staging.planes.binary_search(&offset).unwrap_or(0);
                    staging.slot(b, at.ring, ring as u64, row)
                }
                None => {
                    let plane = plane_of(b, image, at, 0, offset).first;
                    let start = image.numbers.row_elements.scale(b, row);
                    b.add(start, plane)
                }
            });
        }
    }
    starts
}
