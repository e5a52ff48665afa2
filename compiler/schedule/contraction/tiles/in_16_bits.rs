//! Products of signed bytes that are added in 16 bits before 32-bit sums take them ([`Form::In16Bits`]). 16 bits hold two products if no weight
//! is the smallest byte.

use super::loops::lowering::Lowering;
use super::tile::{InRound, Round, SegmentPlace};
use crate::kernel::{ConvertOp, DotOp, KernelBuilder, Lane, Type, Value};
use crate::machine::Machine;
use crate::schedule::context::Context;
use crate::schedule::contraction::direct::PhasePanels;
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::technique::Technique;

impl Contraction {
    /// Returns the form, or [`Form::In16Bits`] if a level's machine adds products of its bytes in 16 bits.
    pub(in crate::schedule::contraction) fn in_16_bits(&self, cx: &Context<'_>, machine: &Machine, form: Form) -> Form {
        if !cx.uses(Technique::In16Bits) || form != Form::Signed8 || !machine.adds_in_16_bits || machine.byte_fours {
            return form;
        }
        Form::In16Bits { fours: if self.weights.leave_out_smallest_byte(self.open) { 2 } else { 1 } }
    }
}

impl Lowering<'_> {
    /// Writes one round of the innermost loop. The products of `fours` groups of k together are added in 16 bits.
    pub(in crate::schedule::contraction) fn round_in_16_bits(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: SegmentPlace,
        Round { pixels, groups }: Round,
        fours: u64,
        mut sums: Vec<Value>,
    ) -> Vec<Value> {
        let (vectors, lanes) = at.width.vectors(self.schedule.lanes);
        for first in (0..groups).step_by(fours as usize) {
            let us = first..groups.min(first + fours);
            let pixel = |b: &mut KernelBuilder, p: u64| -> Vec<Value> {
                let xs: Vec<Value> = us.clone().map(|u| self.pixel_operand(b, phase, at, InRound::first(u), p)).collect();
                xs.into_iter().map(|x| widened(b, x)).collect()
            };
            let weights = |b: &mut KernelBuilder, v: u64| -> Vec<Value> {
                let ws: Vec<Value> = us.clone().map(|u| self.weights_of(b, phase, at, InRound::first(u), v * lanes)).collect();
                ws.into_iter().map(|w| widened(b, w)).collect()
            };
            let mut add = |b: &mut KernelBuilder, number: u64, xs: &[Value], ws: &[Value]| {
                let sum = &mut sums[number as usize];
                *sum = with_products(b, *sum, xs, ws);
            };
            // The smaller set stays in registers: operands or weights.
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

pub(in crate::schedule::contraction) fn widened(b: &mut KernelBuilder, bytes: Value) -> Value {
    b.convert(ConvertOp::SignExtend, bytes, Lane::I16)
}

/// Adds products to sums, after they are added in 16 bits. Each sum takes two neighbours.
pub(in crate::schedule::contraction) fn with_products(b: &mut KernelBuilder, sums: Value, xs: &[Value], ws: &[Value]) -> Value {
    let mut products: Option<Value> = None;
    for (&x, &w) in xs.iter().zip(ws) {
        let product = b.mul(x, w);
        products = Some(products.map_or(product, |before| b.add(before, product)));
    }
    let Some(products) = products else { return sums };
    let ones = b.int(Type::vector(Lane::I16, b.ty(products).lanes), 1);
    b.dot(DotOp::Signed16, sums, products, ones)
}
