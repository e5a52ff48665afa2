//! Products of signed bytes that are added in 16 bits before sums of 32 bits take them ([`Form::In16Bits`]). 16 bits hold two of them if no weight is the
//! smallest byte.

use super::direct::Part;
use super::form::Form;
use super::geometry::Contraction;
use super::loops::Lowering;
use super::register_tile::Tile;
use super::tile::SegmentPlace;
use crate::kernel::{ConvertOp, DotOp, KernelBuilder, Lane, Type, Value};
use crate::machine::Machine;

/// Vectors whose sums a tile has, in two registers each. The rest of 32 is for operands, weights, and products that are under way.
const VECTORS: u64 = 8;

/// Vectors of output channels for which a pixel's operands are repeated once.
const MOST_OF_PIXELS: u64 = 4;

impl Contraction {
    /// A form, or the one that adds products of its bytes in 16 bits where the machine does that.
    pub(super) fn in_16_bits(&self, machine: &Machine, form: Form) -> Form {
        if form != Form::Signed8 || !machine.adds_in_16_bits || machine.byte_fours {
            return form;
        }
        Form::In16Bits { fours: if self.weights.leave_out_smallest_byte(self.open) { 2 } else { 1 } }
    }
}

/// The register tile. `in_blocks` says that rows of one pixel have as many vectors as others.
pub(super) fn tile(outputs: u64, width: u64, in_blocks: bool) -> Tile {
    let most = if width == 1 && !in_blocks { VECTORS } else { MOST_OF_PIXELS };
    let vectors = [8, 4, 2].into_iter().find(|&v| v <= most && 4 * v <= outputs).unwrap_or(1);
    Tile { pixels: width.div_ceil(width.div_ceil(VECTORS / vectors)), vectors }
}

impl Lowering<'_> {
    /// One round of the innermost loop: so many groups of k, of which `fours` together are added in 16 bits.
    pub(super) fn round_in_16_bits(
        &self,
        b: &mut KernelBuilder,
        part: &Part,
        at: SegmentPlace,
        (pixels, groups): (u64, u64),
        fours: u64,
        mut sums: Vec<Value>,
    ) -> Vec<Value> {
        let (vectors, lanes) = at.width.vectors(self.schedule.lanes);
        for first in (0..groups).step_by(fours as usize) {
            let us = first..groups.min(first + fours);
            let pixel = |b: &mut KernelBuilder, p: u64| -> Vec<Value> {
                let xs: Vec<Value> = us.clone().map(|u| self.pixel_operand(b, part, at, (u, 0), p)).collect();
                xs.into_iter().map(|x| widened(b, x)).collect()
            };
            let weights = |b: &mut KernelBuilder, v: u64| -> Vec<Value> {
                let ws: Vec<Value> = us.clone().map(|u| self.weights_of(b, part, at, (u, 0), v * lanes)).collect();
                ws.into_iter().map(|w| widened(b, w)).collect()
            };
            let mut add = |b: &mut KernelBuilder, number: u64, xs: &[Value], ws: &[Value]| {
                let sum = &mut sums[number as usize];
                *sum = with_products(b, *sum, xs, ws);
            };
            // Of operands and weights, those stay in registers that are fewer.
            if pixels <= vectors {
                let xs: Vec<Vec<Value>> = (0..pixels).map(|p| pixel(b, p)).collect();
                for v in 0..vectors {
                    let ws = weights(b, v);
                    (0..pixels).zip(&xs).for_each(|(p, xs)| add(b, p * vectors + v, xs, &ws));
                }
            } else {
                let ws: Vec<Vec<Value>> = (0..vectors).map(|v| weights(b, v)).collect();
                for p in 0..pixels {
                    let xs = pixel(b, p);
                    (0..vectors).zip(&ws).for_each(|(v, ws)| add(b, p * vectors + v, &xs, ws));
                }
            }
        }
        sums
    }
}

pub(super) fn widened(b: &mut KernelBuilder, bytes: Value) -> Value {
    b.convert(ConvertOp::SignExtend, bytes, Lane::I16)
}

/// Sums with products that are added in 16 bits. Each sum takes two neighbours.
pub(super) fn with_products(b: &mut KernelBuilder, sums: Value, xs: &[Value], ws: &[Value]) -> Value {
    let mut products: Option<Value> = None;
    for (&x, &w) in xs.iter().zip(ws) {
        let product = b.mul(x, w);
        products = Some(products.map_or(product, |before| b.add(before, product)));
    }
    let Some(products) = products else { return sums };
    let ones = b.int(Type::vector(Lane::I16, b.ty(products).lanes), 1);
    b.dot(DotOp::Signed16, sums, products, ones)
}

#[cfg(test)]
mod tests {
    use super::{Tile, tile};

    #[test]
    fn tiles_fill_registers() {
        let of = |outputs, width| {
            let Tile { pixels, vectors } = tile(outputs, width, false);
            (pixels, vectors)
        };
        assert_eq!([of(96, 49), of(24, 56), of(8, 56), of(2, 9)], [(2, 4), (2, 4), (4, 2), (5, 1)]);
        assert_eq!([of(96, 1), of(10, 1)], [(1, 8), (1, 2)], "a row of one pixel");
    }
}
