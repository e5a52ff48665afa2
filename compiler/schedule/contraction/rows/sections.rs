//! Long rows in sections. An image that is a single row is computed some pixels at a time: each section is a row of windows. The ring holds the
//! pixels that the windows of one section read. Pixels that the next section needs, too, move to its start, and only new pixels are staged
//! behind them. So every input pixel is read once, before the output that may overwrite it is written.

use super::staging::{Ring, Staging};
use crate::kernel::{BinaryOp, Buffer, CompareOp, KernelBuilder, Value};
use crate::schedule::context::Context;
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::long_row::LongRow;
use crate::schedule::contraction::geometry::places::{Image, RowPlace};
use crate::schedule::contraction::geometry::windows::{Geometry, pointwise};
use crate::schedule::contraction::operands::weights::Weights;
use crate::schedule::contraction::table::rows::{SECTIONS, Sections};
use crate::schedule::loops::if_then;
use crate::schedule::quantity::Number;
use crate::schedule::route::Route;
use crate::schedule::technique::Technique;

impl Contraction {
    /// Divides a long row into sections, if the image is one and its rows are staged. Short sections, if they are asked for, have whole tiles of a
    /// number of pixels. Otherwise returns the additional elements that short sections would move, if the row can have short ones.
    pub fn cut_row(&mut self, cx: &Context<'_>, tile: u64) -> Option<u64> {
        let short = cx.in_short_sections;
        if !cx.uses(Technique::Sections) || !self.is_long_row() {
            return None;
        }
        let shorter = self.short_section(tile);
        let geometry = &mut self.geometry;
        let pixels = geometry.windows(2);
        let weights = geometry.outputs * geometry.window[1] * (geometry.channels / geometry.groups);
        let long = section(pixels, geometry.channels * geometry.strides[1], weights);
        let shorter = shorter.filter(|&length| length < long.unwrap_or(pixels));
        let more =
            shorter.map(|length| geometry.moved_by_sections(length).saturating_sub(geometry.moved_by_sections(long.unwrap_or(pixels))));
        let length = if short { shorter.or(long) } else { long };
        if let Some(length) = length {
            geometry.cut_into(length);
        }
        more.filter(|_| !short)
    }

    /// Tests whether the image is a single row that may be divided.
    fn is_long_row(&self) -> bool {
        let geometry = &self.geometry;
        let is_row = geometry.sizes.is_none()
            && geometry.is_one_plane()
            && geometry.input_size[0] == 1
            && geometry.window[0] == 1
            && geometry.output_size[0] == 1;
        let is_plain = geometry.channel_planes.is_none() && geometry.matrices.is_empty() && geometry.phases[1] == pointwise(1);
        is_row && is_plain && !matches!(self.weights, Weights::Computed { .. })
    }

    /// Returns the number of output pixels of a short section, if the row has several of them. It has whole tiles of a number of pixels.
    pub fn short_section(&self, tile: u64) -> Option<u64> {
        let [of_windows, of_pixels] = SECTIONS.short;
        let wanted = if self.geometry.is_pointwise() { of_pixels } else { of_windows };
        self.is_long_row().then(|| short_section(self.geometry.windows(2), wanted, tile)).flatten()
    }
}

impl Geometry {
    /// Returns the number of the ring's elements that sections of a length move to its start.
    fn moved_by_sections(&self, length: u64) -> u64 {
        let sections = self.windows(2).div_ceil(length.max(1));
        let both = self.phases[2].reach().saturating_sub(self.strides[1]);
        sections.saturating_sub(1).saturating_mul(both.saturating_mul(self.channels))
    }

    /// Divides the row into sections of `length` output pixels.
    fn cut_into(&mut self, length: u64) {
        let sections = self.windows(2).div_ceil(length);
        let columns = &mut self.phases[2];
        self.sections = Some(LongRow { input: self.input_size[1], output: self.output_size[1], sections, length });
        let step = length * self.strides[1];
        let span = (length - 1) * self.strides[1] + columns.reach();
        columns.padding_high = span.saturating_sub(columns.padding_low + step);
        columns.list.iter_mut().for_each(|phase| phase.count = length);
        self.output_size = [sections, length * columns.step];
        self.input_size = [sections, step];
        self.phases[1] = pointwise(sections);
    }
}

/// Returns the number of pixels in the sections of a row, if it is divided: all sections are equal, or the row has many. `elements` is the
/// distance between the windows of neighbouring pixels.
fn section(pixels: u64, elements: u64, weights: u64) -> Option<u64> {
    let Sections { many_weights, shortest_of_many, longest, many, whole_tiles, .. } = SECTIONS;
    let shortest = if weights > many_weights { shortest_of_many } else { SECTIONS.shortest };
    let wanted = (SECTIONS.elements / elements.max(1)).clamp(shortest, longest);
    if pixels < 2 * wanted {
        return None;
    }
    let even = (wanted / 2..=2 * wanted).filter(|length| pixels.is_multiple_of(*length));
    let nearest = even.min_by_key(|&length| (length.trailing_zeros() < 3, length.abs_diff(wanted)));
    let whole = wanted.next_multiple_of(whole_tiles);
    nearest.or_else(|| (pixels >= many * whole).then_some(whole))
}

/// Returns the number of pixels in the short sections of a row: about `wanted`, whole tiles, and a divisor of the row if possible.
fn short_section(pixels: u64, wanted: u64, tile: u64) -> Option<u64> {
    let even = (wanted / 2 + 1..=wanted + wanted / 2).filter(|length| pixels.is_multiple_of(*length) && length.is_multiple_of(tile));
    let length = even.min_by_key(|length| length.abs_diff(wanted)).unwrap_or((wanted / tile).max(1) * tile);
    (length < pixels).then_some(length)
}

/// Stages the pixels that the windows of a section need. Returns the first padded pixel that is not staged yet.
pub fn copy_section(
    b: &mut KernelBuilder,
    (image, row): (Image<'_>, LongRow),
    staging: &Staging,
    (input, ring): (Buffer, Ring),
    at: &RowPlace,
) -> Value {
    let work = image.work;
    let geometry = &work.geometry;
    let columns = &geometry.phases[2];
    let step = geometry.input_size[1];
    let span = columns.padded(step);
    let top = b.scale_index(at.y, step as i64, 0);
    let end = b.scale_index(top, 1, span as i64);
    if span > step {
        let is_next = b.compare(CompareOp::Less, top, at.staged);
        if_then(b, is_next, |b| staging.move_to_start(b, ring, step * staging.channels, (span - step) * staging.channels));
    }
    let first = b.binary(BinaryOp::SignedMax, at.staged, top);
    // These are the limits of padded pixels inside the image.
    let (low, high) = (columns.padding_low as i64, columns.padding_low + row.input);
    let (low_value, high_value) = (b.index(low), b.index(high as i64));
    let inside = |b: &mut KernelBuilder, pixel: Value| {
        let pixel = b.binary(BinaryOp::SignedMax, pixel, low_value);
        b.binary(BinaryOp::SignedMin, pixel, high_value)
    };
    let (begin, finish) = (inside(b, first), inside(b, end));
    // A section may be completely in the padding.
    let before = b.binary(BinaryOp::SignedMin, begin, end);
    let after = b.binary(BinaryOp::SignedMax, finish, first);
    let place = |b: &mut KernelBuilder, pixel: Value| {
        let pixel = b.sub(pixel, top);
        b.scale_index(pixel, staging.channels as i64, 0)
    };
    for (from, to) in [(first, before), (after, end)] {
        let start = place(b, from);
        let pixels = b.sub(to, from);
        let is_some = b.compare(CompareOp::Less, from, to);
        if_then(b, is_some, |b| {
            let elements = b.scale_index(pixels, staging.channels as i64, 0);
            staging.fill(b, work, ring, start, Number::Computed(elements));
        });
    }
    let pixels = b.sub(finish, begin);
    let elements = b.scale_index(pixels, geometry.channels as i64, 0);
    let source = b.scale_index(begin, geometry.channels as i64, -(low * geometry.channels as i64));
    let source = b.add(source, at.image);
    let target = place(b, begin);
    staging.copy(b, work, (input, ring), Route { from: source, to: target }, Number::Computed(elements));
    end
}

#[cfg(test)]
mod tests {
    use super::{SECTIONS, section, short_section};

    #[test]
    fn sections_are_as_long_as_each_other_or_many() {
        assert_eq!(section(192, 16, 1 << 10), None, "one and a half");
        assert_eq!(section(320, 16, 1 << 10), Some(160));
        assert_eq!(section(4000, 32, 1 << 10), Some(80), "whole tiles before the length");
        assert_eq!(section(199, 512, 1 << 10), None, "a prime number of pixels");
        assert_eq!(section(1999, 512, 1 << 10), Some(48), "one section is cut short");
        assert_eq!(section(200, 512, 1 << 20), None, "weights are loaded for each section");
    }

    #[test]
    fn short_sections_are_some_tiles() {
        let of = |pixels| short_section(pixels, SECTIONS.short[0], 1);
        assert_eq!([of(24), of(15), of(18), of(25)], [Some(4), Some(3), Some(3), Some(5)]);
        assert_eq!(of(29), Some(4), "the last one is cut short");
        assert_eq!([of(0), of(1), of(4)], [None; 3], "one section");
        let of_three = |pixels| short_section(pixels, SECTIONS.short[1], 3);
        assert_eq!([of_three(90), of_three(125), of_three(5)], [Some(9), Some(6), None], "tiles of three pixels");
    }
}
