//! Code that loads, computes and stores at one position of element-wise work.

use super::access::{Access, Starts, is_same_in_channels};
use super::division::Quotients;
use super::expression::Evaluator;
use super::lanes::{narrow, widen};
use super::operands::{ElementWise, NO_INPUT};
use super::specialise::Source;
use crate::ir::{self, Value as Tensor};
use crate::kernel::{Active, BinaryOp, KernelBuilder, Lane, Value};
use crate::schedule::context::arithmetic;
use crate::schedule::quantity::{Number, Quantity};
use crate::schedule::unsupported::Unsupported;

/// A position in the output: pixel × channels + channel. Each part is a value plus a constant offset.
#[derive(Clone, Copy, Debug)]
pub struct OutputPosition {
    /// Number of the pixel, over all dimensions but the last, in row-major order.
    pub pixel: Value,
    /// Constant to add to the pixel's number.
    pub pixel_offset: i64,
    /// Number of the channel.
    pub channel: Value,
    /// Constant to add to the channel's number.
    pub channel_offset: i64,
    /// `pixel × channels + channel`, without the constant offsets.
    pub flat: Value,
}

/// Part of an operand that is computed before a loop.
#[derive(Clone, Copy, Debug)]
pub enum Hoisted {
    /// Value that is the same in the whole loop.
    Value(Value),
    /// Index of the element in channel 0.
    Row(Value),
}

impl ElementWise<'_> {
    /// Loads operands that are the same at every position, before the loops. Callers pass the result to [`Self::emit`].
    pub fn hoist(&self, b: &mut KernelBuilder, lanes: u16) -> Vec<Option<Hoisted>> {
        let zero = b.index(0);
        self.hoist_operands(&vec![None; self.operands.len()], &Access::Single, |i| {
            let operand = &self.operands[i];
            let raw = b.load_splat(operand.buffer.expect("declared"), zero, 0, lanes);
            self.held(b, i, raw)
        })
    }

    /// Loads operands that are the same in all channels of a pixel, before a loop over channels. For other operands with strides it computes the
    /// first index. Keeps the entries of `hoisted`. `digits` are the pixel's position in each dimension but the last.
    pub fn hoist_pixel(
        &self,
        b: &mut KernelBuilder,
        pixel: Value,
        digits: &[Value],
        hoisted: &[Option<Hoisted>],
        lanes: u16,
    ) -> Vec<Option<Hoisted>> {
        let mut all = hoisted.to_vec();
        for i in self.used() {
            let operand = &self.operands[i];
            let index = match &operand.access {
                Access::Pixel => pixel,
                Access::Strided(strides) => {
                    let mut first = b.index(0);
                    for (&digit, stride) in digits.iter().zip(&self.strides[i]) {
                        let part = stride.scale(b, digit);
                        first = b.add(first, part);
                    }
                    if !is_same_in_channels(strides) {
                        all[i] = Some(Hoisted::Row(first));
                        continue;
                    }
                    first
                }
                Access::Picked(picked) => {
                    let mut first = b.index(0);
                    for ((&digit, buffer), starts) in digits.iter().zip(&operand.starts).zip(&picked.starts) {
                        let start = match (starts, buffer) {
                            (Starts::Each(stride), _) => b.scale_index(digit, *stride, 0),
                            (Starts::At(_), buffer) => b.load(buffer.expect("declared"), digit, 0, 1),
                        };
                        first = b.add(first, start);
                    }
                    all[i] = Some(Hoisted::Row(first));
                    continue;
                }
                Access::Single | Access::Same | Access::Channel => continue,
            };
            let raw = b.load_splat(operand.buffer.expect("declared"), index, 0, lanes);
            all[i] = Some(Hoisted::Value(self.held(b, i, raw)));
        }
        all
    }

    /// Loads operands that are the same at all pixels, from a channel on. Keeps the entries of `hoisted`.
    pub fn hoist_channels(
        &self,
        b: &mut KernelBuilder,
        channel: Value,
        hoisted: &[Option<Hoisted>],
        (lanes, active): (u16, Active),
    ) -> Vec<Option<Hoisted>> {
        self.hoist_operands(hoisted, &Access::Channel, |i| self.load_channels(b, i, channel, (lanes, active)))
    }

    /// Loads an operand's elements from a channel on, which are the same at all pixels.
    pub(super) fn load_channels(&self, b: &mut KernelBuilder, i: usize, channel: Value, (lanes, active): (u16, Active)) -> Value {
        let operand = &self.operands[i];
        let raw = b.load_active(operand.buffer.expect("declared"), channel, 0, lanes, active);
        self.held(b, i, raw)
    }

    /// Converts a loaded value of an operand to the form that expressions take: register form, or unchanged if only the stored form is needed.
    fn held(&self, b: &mut KernelBuilder, i: usize, raw: Value) -> Value {
        let operand = &self.operands[i];
        if operand.is_stored { raw } else { widen(b, raw, operand.element) }
    }

    /// Loads each operand with the access `access`. Keeps the entries of `hoisted`.
    pub(super) fn hoist_operands(
        &self,
        hoisted: &[Option<Hoisted>],
        access: &Access,
        mut load: impl FnMut(usize) -> Value,
    ) -> Vec<Option<Hoisted>> {
        let mut all = hoisted.to_vec();
        for i in self.used().filter(|&i| self.operands[i].access == *access) {
            all[i] = Some(Hoisted::Value(load(i)));
        }
        all
    }

    /// Computes the active ones of `lanes` channels at a place and stores them.
    ///
    /// # Errors
    /// [`Unsupported`] for operations without lowering.
    pub fn emit(
        &self,
        b: &mut KernelBuilder,
        place: &OutputPosition,
        accumulator: Option<Value>,
        hoisted: &[Option<Hoisted>],
        lanes: u16,
        active: impl Into<Active>,
    ) -> Result<(), Unsupported> {
        let active = active.into();
        let results = self.results(b, place, accumulator.as_slice(), hoisted, lanes, active)?;
        for ((tensor, buffer), computed) in self.outputs.iter().zip(results) {
            let stored = narrow(b, computed, self.cx.element(*tensor));
            b.store_active(buffer.expect("declared"), place.flat, self.flat_offset(place), stored, active);
        }
        Ok(())
    }

    pub(super) fn flat_offset(&self, place: &OutputPosition) -> i64 {
        // Tiles of pixels have a known number of channels.
        let channels = self.shape.last().map_or(Some(1), Quantity::as_known).unwrap_or(0);
        place.pixel_offset * channels + place.channel_offset
    }

    /// Computes the active ones of `lanes` channels at a place, in register form. `given` are the inputs that are not read from memory.
    ///
    /// # Errors
    /// [`Unsupported`] for operations without lowering.
    pub fn values(
        &self,
        b: &mut KernelBuilder,
        place: &OutputPosition,
        given: &[Value],
        hoisted: &[Option<Hoisted>],
        lanes: u16,
        active: impl Into<Active>,
    ) -> Result<Vec<Value>, Unsupported> {
        let results = self.results(b, place, given, hoisted, lanes, active.into())?;
        let expression = &self.special.expression;
        let registers = expression.results.iter().zip(results).map(|(&node, value)| match b.ty(value).lane {
            Lane::I8 | Lane::I16 => widen(b, value, expression.nodes[node].ty),
            _ => value,
        });
        Ok(registers.collect())
    }

    /// Computes all lanes of vectors from given inputs alone: see [`Self::values`].
    ///
    /// # Errors
    /// [`Unsupported`] for operations without lowering.
    pub fn values_of(&self, b: &mut KernelBuilder, given: &[Value], lanes: u16) -> Result<Vec<Value>, Unsupported> {
        let zero = b.index(0);
        let place = OutputPosition { pixel: zero, pixel_offset: 0, channel: zero, channel_offset: 0, flat: zero };
        self.values(b, &place, given, &vec![None; self.operands.len()], lanes, lanes)
    }

    /// Tests whether a given tensor is used as bytes in their memory form.
    pub fn takes_bytes(&self, tensor: Tensor) -> bool {
        self.operands.iter().any(|operand| operand.is_stored && matches!(operand.source, Source::Tensor(value) if value == tensor))
    }

    /// Computes the results of [`Self::values`], but keeps narrow integers in stored form if they were computed or kept in it.
    ///
    /// # Errors
    /// [`Unsupported`] for operations without lowering.
    pub fn results(
        &self,
        b: &mut KernelBuilder,
        place: &OutputPosition,
        given: &[Value],
        hoisted: &[Option<Hoisted>],
        lanes: u16,
        active: Active,
    ) -> Result<Vec<Value>, Unsupported> {
        let mut inputs = vec![place.flat; self.operands.len()];
        for i in self.used() {
            inputs[i] = match hoisted[i] {
                Some(Hoisted::Value(value)) => value,
                Some(Hoisted::Row(first)) => {
                    let raw = self.load_strided(b, i, first, place, (lanes, active));
                    self.held(b, i, raw)
                }
                None => self.load(b, i, place, lanes, active),
            };
        }
        for (&i, &value) in self.given.iter().zip(given).filter(|(i, _)| **i != NO_INPUT) {
            inputs[i] = value;
        }
        self.compute(b, &inputs, lanes)
    }

    /// Loads an operand's elements at a place, if they need no value from before the loops.
    pub(super) fn load(&self, b: &mut KernelBuilder, i: usize, place: &OutputPosition, lanes: u16, active: Active) -> Value {
        let (operand, flat_offset) = (&self.operands[i], self.flat_offset(place));
        let buffer = operand.buffer.expect("declared");
        let raw = match &operand.access {
            Access::Single | Access::Picked(_) => unreachable!("hoisted"),
            Access::Same => b.load_active(buffer, place.flat, flat_offset, lanes, active),
            Access::Channel => b.load_active(buffer, place.channel, place.channel_offset, lanes, active),
            Access::Pixel => b.load_splat(buffer, place.pixel, place.pixel_offset, lanes),
            Access::Strided(_) => {
                let first = self.first_of_row(b, &self.strides[i], place);
                self.load_strided(b, i, first, place, (lanes, active))
            }
        };
        self.held(b, i, raw)
    }

    /// Loads elements of an operand from the index of its element in channel 0.
    fn load_strided(&self, b: &mut KernelBuilder, i: usize, first: Value, place: &OutputPosition, (lanes, active): (u16, Active)) -> Value {
        let operand = &self.operands[i];
        let buffer = operand.buffer.expect("declared");
        if let Access::Strided(strides) = &operand.access
            && is_same_in_channels(strides)
        {
            return b.load_splat(buffer, first, 0, lanes);
        }
        let index = b.add(first, place.channel);
        b.load_active(buffer, index, place.channel_offset, lanes, active)
    }

    /// Computes the index of the element in channel 0 of a pixel, by divisions of the pixel's number.
    fn first_of_row(&self, b: &mut KernelBuilder, strides: &[Number], place: &OutputPosition) -> Value {
        let offset = b.index(place.pixel_offset);
        let mut rest = b.add(place.pixel, offset);
        let mut first = b.index(0);
        // Dimensions before the first one with a stride have no effect.
        let outermost = strides.iter().position(|stride| !matches!(stride, Number::Known(0))).unwrap_or(0);
        for d in (outermost..strides.len() - 1).rev() {
            let mut digit = rest;
            if d > 0 {
                let extent = self.extents[d].value(b);
                rest = b.binary(BinaryOp::SignedDiv, digit, extent);
                let whole = self.extents[d].scale(b, rest);
                digit = b.sub(digit, whole);
            }
            if !matches!(strides[d], Number::Known(0)) {
                let part = strides[d].scale(b, digit);
                first = b.add(first, part);
            }
        }
        first
    }

    fn compute(&self, b: &mut KernelBuilder, inputs: &[Value], lanes: u16) -> Result<Vec<Value>, Unsupported> {
        let table = |constant: ir::Constant| {
            let (_, buffer) = self.tables.iter().find(|(t, _)| *t == constant).expect("every table was declared");
            let length = self.cx.module.constants[constant].ty.static_elements().unwrap_or(0);
            (buffer.expect("declared"), length)
        };
        let evaluator = Evaluator {
            expression: &self.special.expression,
            lanes,
            input_ranges: &self.special.ranges,
            requantizers: &self.special.requantizers,
            tables: &table,
            as_stored: &self.as_stored,
            fma: self.cx.machine.fma,
            quotients: Quotients::of(&self.cx),
            arithmetic: arithmetic(self.cx.machine),
        };
        evaluator.run(b, inputs)
    }
}
