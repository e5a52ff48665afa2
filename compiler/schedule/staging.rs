//! Staged rows: a contraction's input rows are brought into scratch memory once, padded and converted, in a ring of as many
//! rows as the window reaches over. Windows then read whole taps without tests for the border, and since every input row is
//! staged before the output row that needs it is written, the output may overwrite the input.

use super::contraction::{Contraction, Form};
use super::map::row;
use super::operands::ElementWise;
use super::{Argument, Context, Requirements, Unsupported};
use crate::ir::{ElementType, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, BufferKind, CompareOp, ConvertOp, KernelBuilder, Lane, Type, Value};

/// The ring of staged rows.
#[derive(Clone, Debug)]
pub struct Staging {
    /// How elements are held.
    pub form: Form,
    /// Rows of the ring.
    pub rows: u64,
    /// Elements of a staged row: padding, input, padding.
    pub row_elements: u64,
    /// Channels of a staged pixel: the input's, each repeated `repeat` times.
    pub channels: u64,
    /// Repetitions of each channel.
    pub repeat: u64,
    /// Elements behind the last row that reads of whole groups may touch.
    pub slack: u64,
}

/// Buffers of a kernel that stages: the rows, or the input itself where nothing is staged.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// What windows read.
    pub rows: Buffer,
    /// The border and the zero point where they are not known until the program runs.
    numbers: Option<Buffer>,
}

/// Positions among the numbers.
const BORDER: i64 = 0;
const ZERO_POINT: i64 = 1;

fn splat(b: &mut KernelBuilder, numbers: Buffer, which: i64, lanes: u16) -> Value {
    let zero = b.index(0);
    b.load_splat(numbers, zero, which, lanes)
}

impl Ring {
    /// The input, which windows read as it is.
    pub fn unstaged(input: Buffer) -> Self {
        Self { rows: input, numbers: None }
    }
}

impl Staging {
    /// The ring for a contraction, each channel repeated.
    pub fn new(contraction: &Contraction, form: Form, repeat: u64) -> Self {
        let channels = contraction.channels * repeat;
        let width = contraction.padding_low[1] + contraction.input_size[1] + contraction.padding_high[1];
        let reach = (contraction.window[0] - 1) * contraction.dilation[0] + 1;
        Self { form, rows: reach, row_elements: width * channels, channels, repeat, slack: 16 }
    }

    /// The lane type of staged elements.
    pub fn lane(&self) -> Lane {
        match self.form {
            Form::Signed16 => Lane::I16,
            Form::Unsigned8 | Form::Signed8 => Lane::I8,
            Form::Float => Lane::F32,
        }
    }

    /// Elements of the ring.
    pub fn elements(&self) -> u64 {
        self.rows * self.row_elements + self.slack
    }

    /// Bytes of the ring.
    pub fn bytes(&self) -> u64 {
        self.elements() * u64::from(self.lane().bytes())
    }

    /// Declares the ring, and the numbers of open constants that staging reads.
    pub fn declare(&self, b: &mut KernelBuilder, contraction: &Contraction, arguments: &mut Vec<Argument>) -> Ring {
        let lane = self.lane();
        arguments.push(Argument::Scratch(0));
        let rows = b.buffer("ring", BufferKind::Scratch, lane, self.elements(), 64);
        if !contraction.open || self.form == Form::Float {
            return Ring { rows, numbers: None };
        }
        let numbers = [self.border(contraction), contraction.input_zero_point];
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()[..lane.bytes() as usize].to_vec()).collect::<Vec<u8>>();
        arguments.push(Argument::Data(bytes.into()));
        let numbers = Some(b.buffer("numbers", BufferKind::Input, lane, 2, lane.bytes()));
        Ring { rows, numbers }
    }

    /// What a padded tap holds: the input's zero point in the staged form.
    fn border(&self, contraction: &Contraction) -> i64 {
        match (self.form, contraction.element) {
            (Form::Unsigned8, ElementType::I8) => contraction.input_zero_point + 128,
            (Form::Unsigned8 | Form::Signed8, _) => contraction.input_zero_point,
            _ => 0,
        }
    }

    /// The number that the staged form adds to `input − zero point`; sums start at its product with the weights, negated.
    pub fn excess(&self, contraction: &Contraction) -> i64 {
        self.border(contraction)
    }

    fn fill(&self, b: &mut KernelBuilder, contraction: &Contraction, ring: Ring, first: Value, elements: u64) {
        let lanes = (16 / self.lane().bytes()) as u16;
        let border = self.border(contraction);
        row(b, elements, lanes, |b, i, active| {
            let index = b.add(first, i);
            let ty = Type::vector(self.lane(), lanes);
            let value = match ring.numbers {
                Some(numbers) => splat(b, numbers, BORDER, lanes),
                None if self.form == Form::Float => b.float(ty, 0.0),
                None => b.int(ty, border),
            };
            b.store_active(ring.rows, index, 0, value, active);
        });
    }

    /// Fills the whole ring with the border, once before the first row.
    pub fn prepare(&self, b: &mut KernelBuilder, contraction: &Contraction, ring: Ring) {
        let zero = b.index(0);
        self.fill(b, contraction, ring, zero, self.elements());
    }

    /// The first element of the ring's slot for a padded row.
    pub fn slot(&self, b: &mut KernelBuilder, padded_row: Value) -> Value {
        if self.rows == 1 {
            return b.index(0);
        }
        let rows = b.index(self.rows as i64);
        let slot = b.binary(BinaryOp::SignedRem, padded_row, rows);
        b.scale_index(slot, self.row_elements as i64, 0)
    }

    /// Stages the padded rows `first..end` of an image that starts at element `image` of the input.
    pub fn stage(&self, b: &mut KernelBuilder, contraction: &Contraction, buffers: (Buffer, Ring), image: Value, first: Value, end: Value) {
        let (input, ring) = buffers;
        let (low, rows) = (contraction.padding_low[0] as i64, contraction.input_size[0] as i64);
        let width = contraction.input_size[1] * contraction.channels;
        let left = (contraction.padding_low[1] * self.channels) as i64;
        b.for_values(first, end, 1, |b, padded_row| {
            let slot = self.slot(b, padded_row);
            let interior = b.scale_index(slot, 1, left);
            let row = b.scale_index(padded_row, 1, -low);
            let copy = |b: &mut KernelBuilder| {
                let start = b.scale_index(row, width as i64, 0);
                let start = b.add(start, image);
                self.copy_row(b, contraction, (input, ring), start, interior);
            };
            if contraction.padding_low[0] == 0 && contraction.padding_high[0] == 0 {
                copy(b);
                return;
            }
            let limit = b.index(rows);
            let inside = b.compare(CompareOp::UnsignedLess, row, limit);
            b.if_else(
                inside,
                |b| {
                    copy(b);
                    vec![]
                },
                |b| {
                    self.fill(b, contraction, ring, interior, contraction.input_size[1] * self.channels);
                    vec![]
                },
            );
        });
    }

    fn copy_row(&self, b: &mut KernelBuilder, contraction: &Contraction, buffers: (Buffer, Ring), from: Value, to: Value) {
        let (input, ring) = buffers;
        if self.repeat > 1 {
            let elements = (contraction.input_size[1] * contraction.channels) as i64;
            b.for_range(0, elements, 1, |b, i| {
                let source = b.add(from, i);
                let raw = b.load(input, source, 0, 1);
                let value = self.convert(b, contraction, ring, raw);
                let target = b.scale_index(i, self.repeat as i64, 0);
                let target = b.add(target, to);
                for r in 0..self.repeat {
                    b.store(ring.rows, target, r as i64, value);
                }
            });
            return;
        }
        let elements = contraction.input_size[1] * contraction.channels;
        let lanes = if self.form == Form::Float { 8 } else { 16 };
        let lanes = lanes.min(u16::try_from(elements.next_power_of_two()).unwrap_or(lanes));
        row(b, elements, lanes, |b, i, active| {
            let source = b.add(from, i);
            let raw = b.load_active(input, source, 0, lanes, active);
            let value = self.convert(b, contraction, ring, raw);
            let target = b.add(to, i);
            b.store_active(ring.rows, target, 0, value, active);
        });
    }

    /// An input element in the staged form.
    fn convert(&self, b: &mut KernelBuilder, contraction: &Contraction, ring: Ring, raw: Value) -> Value {
        let ty = b.ty(raw);
        match self.form {
            Form::Float => raw,
            Form::Signed16 => {
                let op = if contraction.element == ElementType::I8 { ConvertOp::SignExtend } else { ConvertOp::ZeroExtend };
                let wide = b.convert(op, raw, Lane::I16);
                let ty = b.ty(wide);
                let zero_point = match ring.numbers {
                    Some(numbers) => splat(b, numbers, ZERO_POINT, ty.lanes),
                    None if contraction.input_zero_point == 0 => return wide,
                    None => b.int(ty, contraction.input_zero_point),
                };
                b.sub(wide, zero_point)
            }
            // An unsigned byte is the signed one plus 128, which flips the top bit.
            Form::Unsigned8 if contraction.element == ElementType::I8 => {
                let top = b.int(ty, -128);
                b.binary(BinaryOp::Xor, raw, top)
            }
            Form::Unsigned8 | Form::Signed8 => raw,
        }
    }
}

/// Declares a contraction's input; it is not read-only where it shares memory with the output.
///
/// # Errors
/// For element types without arithmetic.
pub fn declare_input(b: &mut KernelBuilder, work: &Contraction, shared: &[(Tensor, Tensor)]) -> Result<Buffer, Unsupported> {
    let lane = super::expression::memory_lane(work.element)?;
    let kind = if shared.iter().any(|(read, _)| *read == work.input) { BufferKind::Output } else { BufferKind::Input };
    let elements = work.batch * work.input_size[0] * work.input_size[1] * work.channels;
    Ok(b.buffer("input", kind, lane, elements, lane.bytes()))
}

/// Stages what output row `y` needs. `at` is the image's first element, the row, and the first padded row not staged yet; gives
/// the first element of each window row, and the first padded row not staged then.
pub fn window_rows(
    b: &mut KernelBuilder,
    work: &Contraction,
    staging: Option<&Staging>,
    buffers: (Buffer, Ring),
    at: (Value, Value, Value),
) -> (Vec<Value>, Value) {
    let (image, y, staged) = at;
    let top = b.scale_index(y, work.strides[0] as i64, 0);
    let Some(staging) = staging else {
        let row_elements = (work.input_size[1] * work.channels) as i64;
        let rows = (0..work.window[0]).map(|ky| {
            let row = b.scale_index(top, 1, (ky * work.dilation[0]) as i64);
            let start = b.scale_index(row, row_elements, 0);
            b.add(start, image)
        });
        return (rows.collect(), staged);
    };
    let reach = (work.window[0] - 1) * work.dilation[0] + 1;
    let end = b.scale_index(top, 1, reach as i64);
    let first = b.binary(BinaryOp::SignedMax, staged, top);
    staging.stage(b, work, buffers, image, first, end);
    let rows = (0..work.window[0]).map(|ky| {
        let row = b.scale_index(top, 1, (ky * work.dilation[0]) as i64);
        staging.slot(b, row)
    });
    (rows.collect(), end)
}

/// What a contraction needs: the ring, and the pairs that may share memory.
pub fn requirements(cx: Context<'_>, work: &Contraction, staging: Option<&Staging>) -> Requirements {
    let mut may_share = ElementWise::with_epilogue(cx, &work.epilogue, work.range()).map(|w| w.shareable()).unwrap_or_default();
    // An operand of the epilogue that is also the input is read out of step with the output.
    may_share.retain(|(read, _)| *read != work.input);
    let epilogue_reads_input = cx.group.epilogue.as_ref().is_some_and(|e| e.operands.contains(&work.input));
    if staging.is_some() && cx.group.outputs.len() == 1 && !epilogue_reads_input && may_overwrite_input(cx, work) {
        may_share.push((work.input, cx.group.outputs[0]));
    }
    Requirements { scratch: staging.iter().map(|s| s.bytes()).collect(), may_share }
}

/// Whether the output may start where the input starts: every output row ends before the first input row that is not staged
/// yet, or everything is staged.
fn may_overwrite_input(cx: Context<'_>, work: &Contraction) -> bool {
    let out_bytes = u64::from(cx.element(cx.group.outputs[0]).bits() / 8);
    let in_bytes = u64::from(work.element.bits() / 8);
    let in_row = work.input_size[1] * work.channels * in_bytes;
    let out_row = work.output_size[1] * work.outputs * out_bytes;
    let reach = (work.window[0] - 1) * work.dilation[0] + 1;
    (0..work.batch).all(|n| {
        (0..work.output_size[0]).all(|y| {
            let staged = (y * work.strides[0] + reach).saturating_sub(work.padding_low[0]).min(work.input_size[0]);
            let unread = (n * work.input_size[0] + staged) * in_row;
            let everything = n + 1 == work.batch && staged == work.input_size[0];
            everything || (n * work.output_size[0] + y + 1) * out_row <= unread
        })
    })
}
