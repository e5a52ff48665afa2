//! Staged rows: a contraction's input rows are copied to scratch memory once, padded and converted. They are a ring of as many rows as the
//! window spans. So windows read whole taps without tests for the border. Every input row is staged before the output row that needs it is
//! written, so the output may overwrite the input. A window over several planes has a ring for each of its planes. If an image has its channels
//! in planes, staging puts the channels of a pixel side by side. A long row of a single pixel is staged in chunks, each just before the
//! products that read it.

use super::preparation::Preparation;
use crate::fuse::ChannelPlanes;
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, KernelBuilder, Lane, Type, Value, orders};
use crate::machine::Machine;
use crate::schedule::arguments::Arguments;
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::image_sizes::less;
use crate::schedule::contraction::geometry::places::{Image, Plane};
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::elementwise::lanes::widen;
use crate::schedule::movement::interleave::interleave;
use crate::schedule::movement::matrix::write_transposed;
use crate::schedule::movement::turn::{Matrix, Sides, Turn};
use crate::schedule::quantity::{Number, RowVectors};
use crate::schedule::route::Route;
use crate::schedule::unsupported::Unsupported;
use std::ops::Range;

/// Elements of a chunk: little memory, and enough products to make up for a loop around them.
pub(in crate::schedule::contraction) const CHUNK: u64 = 256;

/// Maximum elements of the rings. No model needs more, but windows and padding may exceed the input by far.
const MOST_ELEMENTS: u128 = 1 << 32;

/// The ring of staged rows.
#[derive(Clone, Debug)]
pub struct Staging {
    /// Form of the elements.
    pub form: Form,
    /// Planes that a window reads, relative to its first one; each has a ring.
    pub planes: Vec<u64>,
    /// The time at which rows are staged. If it is ahead, every padded row of every plane of every image has its own place, and each padded plane
    /// has a ring.
    pub preparation: Preparation,
    /// Number of rings.
    rings: u64,
    /// Rows of a ring.
    pub rows: u64,
    /// Elements of a staged row: padding, input, padding.
    pub row_elements: u64,
    /// Channels of a staged pixel: the input's, each repeated `repeat` times.
    pub channels: u64,
    /// Repetitions of each channel.
    pub repeat: u64,
    /// Elements of a row that are staged at a time; `None` for whole rows.
    pub chunk: Option<u64>,
    /// Number of 16-bit elements in a block that is staged in the order of [`orders::spread`]. The remaining elements of a pixel keep their
    /// order.
    pub spread: Option<u16>,
    /// Elements after the last row that reads of whole vectors may touch.
    pub slack: u64,
    /// Bytes of a vector.
    vector_bytes: u16,
    /// Lanes of the vectors that are transposed if channels are in planes.
    turned: u16,
}

/// Buffers of a kernel that stages: the rows, or the input itself if nothing is staged.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Buffer that windows read.
    pub rows: Buffer,
    /// Border and zero point, if they are known only at run time.
    numbers: Option<Buffer>,
}

/// Positions in this buffer.
const BORDER: i64 = 0;
const ZERO_POINT: i64 = 1;

fn splat(b: &mut KernelBuilder, numbers: Buffer, which: i64, lanes: u16) -> Value {
    let zero = b.index(0);
    b.load_splat(numbers, zero, which, lanes)
}

impl Ring {
    /// Returns the input as a ring, which windows read in place.
    pub fn unstaged(input: Buffer) -> Self {
        Self { rows: input, numbers: None }
    }
}

impl Staging {
    /// Makes the ring of a contraction, with each channel repeated.
    ///
    /// # Errors
    /// [`Unsupported`] if it has more elements than any model needs.
    pub fn new(machine: &Machine, contraction: &Contraction, form: Form, repeat: u64) -> Result<Self, Unsupported> {
        let geometry = &contraction.geometry;
        let channels = geometry.channels * repeat;
        let [planes, rows, columns] = &geometry.phases;
        let width = columns.padded(geometry.input_size[1]);
        let mut reached: Vec<u64> =
            planes.list.iter().flat_map(|p| (0..p.taps.len() as u64).map(|j| p.lead + j * planes.dilation)).collect();
        reached.sort_unstable();
        reached.dedup();
        let preparation = Preparation::on(machine);
        // Chunks are staged again for each panel.
        let is_one_row = geometry.is_pointwise() && geometry.groups == 1 && geometry.matrices.is_empty() && geometry.pixels() == 1;
        let in_chunks = geometry.sizes.is_none()
            && is_one_row
            && !form.is_of_floats()
            && repeat == 1
            && preparation == Preparation::InRounds
            && channels > CHUNK
            && contraction.products_in_32_bits().is_none();
        let chunk = in_chunks.then_some(CHUNK);
        let row = u128::from(width) * u128::from(channels);
        let matrices: u64 = geometry.matrices.iter().map(|matrix| matrix.count).product();
        let (rings, ring_rows) = if preparation == Preparation::Ahead {
            let planes = planes.padded(geometry.planes.input);
            (matrices * geometry.batch * planes, rows.padded(geometry.input_size[0]).max(rows.reach()))
        } else {
            (reached.len() as u64, geometry.rows_reached())
        };
        let ring = [rings, ring_rows].iter().fold(row, |product, &n| product.saturating_mul(n.into()));
        if ring > MOST_ELEMENTS {
            return Err(Unsupported::StagedElements(ring));
        }
        Ok(Self {
            form,
            planes: reached,
            preparation,
            rings,
            rows: ring_rows,
            row_elements: chunk.unwrap_or(row as u64),
            channels,
            repeat,
            chunk,
            spread: None,
            // Words that are taken apart are whole.
            slack: if matches!(form, Form::Apart { .. } | Form::PixelPairs) { 0 } else { 16 },
            vector_bytes: machine.vector_bytes(),
            turned: machine.turned_lanes(contraction.element.bits() / 8),
        })
    }

    /// Returns the lane type of staged elements.
    pub fn lane(&self) -> Lane {
        match self.form {
            Form::Signed16 | Form::Neighbours { .. } | Form::EvenAndOdd { .. } | Form::Apart { .. } => Lane::I16,
            Form::Unsigned8 | Form::Signed8 | Form::Sixteens | Form::In16Bits { .. } | Form::Squares { .. } | Form::PixelPairs => Lane::I8,
            Form::Float | Form::Floats(_) => Lane::F32,
        }
    }

    /// Returns the elements of one plane's ring.
    fn ring_elements(&self) -> u64 {
        self.rows * self.row_elements
    }

    /// Returns the elements of all rings.
    pub fn elements(&self) -> u64 {
        self.rings * self.ring_elements() + self.slack
    }

    /// Returns the bytes of all rings.
    pub fn bytes(&self) -> u64 {
        self.elements() * u64::from(self.lane().bytes())
    }

    /// Declares the rings, and the numbers of open constants that staging reads.
    pub fn declare(&self, b: &mut KernelBuilder, contraction: &Contraction, arguments: &mut Arguments) -> Ring {
        let lane = self.lane();
        let rows = arguments.scratch(b, "ring", 0, lane, self.elements());
        if !contraction.open || self.form.is_of_floats() {
            return Ring { rows, numbers: None };
        }
        let numbers = [contraction.border(self.form), contraction.input_zero_point];
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()[..lane.bytes() as usize].to_vec()).collect::<Vec<u8>>();
        let numbers = Some(arguments.data(b, "numbers", bytes.into(), lane, lane.bytes()));
        Ring { rows, numbers }
    }

    /// Fills some elements with the border.
    pub fn fill(&self, b: &mut KernelBuilder, contraction: &Contraction, ring: Ring, first: Value, elements: Number) {
        let lanes = self.vector_bytes / self.lane().bytes() as u16;
        let border = contraction.border(self.form);
        elements.row(b, lanes, 0, |b, i, active| {
            let index = b.add(first, i);
            let ty = Type::vector(self.lane(), lanes);
            let value = match ring.numbers {
                Some(numbers) => splat(b, numbers, BORDER, lanes),
                None if self.form.is_of_floats() => b.float(ty, 0.0),
                None => b.int(ty, border),
            };
            b.store_active(ring.rows, index, 0, value, active);
        });
    }

    /// Fills the whole ring with the border, once before the first row, if anything of it is read.
    pub fn prepare(&self, b: &mut KernelBuilder, contraction: &Contraction, ring: Ring) {
        // Products of what is read beyond rows are with weights of zero.
        if matches!(self.form, Form::Apart { .. } | Form::Sixteens | Form::PixelPairs) && !contraction.geometry.is_padded() {
            return;
        }
        let zero = b.index(0);
        self.fill(b, contraction, ring, zero, Number::Known(self.elements() as i64));
    }

    /// Moves elements of the ring, from `first` on, to its start.
    pub fn move_to_start(&self, b: &mut KernelBuilder, ring: Ring, first: u64, elements: u64) {
        let lanes = self.vector_bytes / self.lane().bytes() as u16;
        // A vector is loaded before its place may be overwritten.
        Number::Known(elements as i64).row(b, lanes, 0, |b, i, active| {
            let value = b.load_active(ring.rows, i, first as i64, lanes, active);
            b.store_active(ring.rows, i, 0, value, active);
        });
    }

    /// Returns the first element of the slot for a padded row in a ring. If all rows have slots, rings are counted from `first`.
    pub fn slot(&self, b: &mut KernelBuilder, first: Value, ring: u64, padded_row: Value) -> Value {
        let ring = (ring * self.ring_elements()) as i64;
        if self.preparation == Preparation::Ahead {
            let row = b.scale_index(padded_row, self.row_elements as i64, ring);
            let first = b.scale_index(first, self.ring_elements() as i64, 0);
            return b.add(first, row);
        }
        if self.rows == 1 {
            return b.index(ring);
        }
        let rows = b.index(self.rows as i64);
        let slot = b.binary(BinaryOp::SignedRem, padded_row, rows);
        b.scale_index(slot, self.row_elements as i64, ring)
    }

    /// Stages some padded rows of one plane of the window.
    pub fn copy_rows(&self, b: &mut KernelBuilder, image: Image<'_>, buffers: (Buffer, Ring), plane: &Plane, rows: Range<Value>) {
        let ((input, ring), Image { work, numbers }) = (buffers, image);
        let [_, row_phases, column_phases] = &work.geometry.phases;
        let left = (column_phases.padding_low * self.channels) as i64;
        let [_, rows_off, columns_off] = numbers.shift;
        b.for_values(rows.start, rows.end, 1, |b, padded_row| {
            let slot = self.slot(b, plane.first_ring, plane.ring, padded_row);
            let interior = b.scale_index(slot, 1, left);
            let skipped = columns_off.times(b, self.channels);
            let interior = less(b, interior, skipped);
            let row = b.scale_index(padded_row, 1, -(row_phases.padding_low as i64));
            let row = rows_off.plus(b, row);
            let copy = |b: &mut KernelBuilder| match &work.geometry.channel_planes {
                Some(planes) => {
                    let start = b.scale_index(row, work.geometry.input_size[1] as i64, planes.first as i64);
                    let start = b.add(start, plane.first);
                    self.copy_planes(b, work, planes, (input, start), (ring, interior));
                }
                None => {
                    let start = numbers.row_elements.scale(b, row);
                    let start = b.add(start, plane.first);
                    self.copy(b, work, (input, ring), Route { from: start, to: interior }, numbers.row_elements);
                }
            };
            let padded_rows = work.geometry.sizes.is_some() || row_phases.padding_low != 0 || row_phases.padding_high != 0;
            let row_inside = padded_rows.then(|| {
                let limit = numbers.input[1].value(b);
                b.compare(CompareOp::UnsignedLess, row, limit)
            });
            let inside = match (row_inside, plane.inside) {
                (Some(row), Some(plane)) => b.binary(BinaryOp::And, row, plane),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => return copy(b),
            };
            b.if_else(
                inside,
                |b| {
                    copy(b);
                    vec![]
                },
                |b| {
                    let elements = numbers.row_elements.times(b, self.repeat);
                    self.fill(b, work, ring, interior, elements);
                    vec![]
                },
            );
        });
    }

    /// Stages a row whose channels are in planes.
    fn copy_planes(
        &self,
        b: &mut KernelBuilder,
        contraction: &Contraction,
        planes: &ChannelPlanes,
        (input, from): (Buffer, Value),
        (ring, to): (Ring, Value),
    ) {
        let stride = |elements: u64| Number::Known(elements as i64);
        let from = Matrix { buffer: input, first: from, stride: stride(planes.stride) };
        let to = Matrix { buffer: ring.rows, first: to, stride: stride(self.channels) };
        let sides = Sides { rows: self.channels, columns: contraction.geometry.input_size[1] };
        if self.form.is_of_floats() && !contraction.reads_halves() {
            return write_transposed(b, Turn { lane: Lane::F32, most: self.turned, squares: 1 }, sides, from, to);
        }
        interleave(b, self.turned, sides, from, to, |b, raw| self.convert(b, contraction, ring, raw));
    }

    /// Stages this many consecutive elements.
    pub fn copy(
        &self,
        b: &mut KernelBuilder,
        contraction: &Contraction,
        (input, ring): (Buffer, Ring),
        route: Route<Value>,
        elements: Number,
    ) {
        let Route { from, to } = route;
        if self.repeat > 1 {
            let lanes = u64::from(self.vector_bytes / self.lane().bytes() as u16).min(self.repeat.next_power_of_two());
            elements.repeat(b, |b, i| {
                let source = b.add(from, i);
                let raw = b.load_splat(input, source, 0, lanes as u16);
                let value = self.convert(b, contraction, ring, raw);
                let target = b.scale_index(i, self.repeat as i64, 0);
                let target = b.add(target, to);
                for r in (0..self.repeat).step_by(lanes as usize) {
                    b.store_active(ring.rows, target, r as i64, value, lanes.min(self.repeat - r) as u16);
                }
            });
            return;
        }
        // Vectors are whole for bytes, and half as many floats keep two vectors in flight. Bytes are reordered within 16 of them.
        let lanes = match (self.form, self.spread) {
            (_, Some(lanes)) => lanes,
            (Form::Float | Form::Floats(_), _) => self.vector_bytes / 2,
            (Form::EvenAndOdd { .. }, _) => 16,
            // Bytes that change their sign are words.
            (Form::Sixteens, _) if contraction.element.is_signed_integer() => 16,
            _ => self.vector_bytes,
        };
        let most = match elements {
            Number::Known(n) => u64::try_from(n).unwrap_or(0),
            Number::Computed(_) => contraction.geometry.input_size[1] * contraction.geometry.channels,
        };
        let lanes = lanes.min(u16::try_from(most.next_power_of_two()).unwrap_or(lanes));
        if let Some((lanes, Number::Known(elements))) = self.spread.map(|lanes| (lanes, elements))
            && !self.channels.is_multiple_of(lanes.into())
        {
            return self.spread_pixels(b, contraction, (input, ring), route, elements as u64 / self.channels);
        }
        // Bytes that are reordered in groups of four come in groups of four.
        let unit = self.spread.unwrap_or(if matches!(self.form, Form::EvenAndOdd { .. } | Form::Apart { .. }) { 4 } else { 1 });
        elements.row_of(b, RowVectors { lanes, masked: 0 }, unit, |b, i, active| {
            let source = b.add(from, i);
            let raw = b.load_active(input, source, 0, lanes, active);
            let mut value = self.convert(b, contraction, ring, raw);
            if let Some(lanes) = self.spread {
                value = b.shuffle(value, value, orders::spread(lanes));
            }
            let target = b.add(to, i);
            b.store_active(ring.rows, target, 0, value, active);
        });
    }

    /// Stages some pixels whose channels are whole blocks in spread order, and a rest.
    fn spread_pixels(
        &self,
        b: &mut KernelBuilder,
        contraction: &Contraction,
        (input, ring): (Buffer, Ring),
        route: Route<Value>,
        pixels: u64,
    ) {
        let block = self.spread.unwrap_or(1);
        let whole = self.channels / u64::from(block) * u64::from(block);
        let rest = (self.channels - whole) as u16;
        b.for_range(0, pixels as i64, 1, |b, pixel| {
            let first = b.scale_index(pixel, self.channels as i64, 0);
            let Route { from, to } = route.map(|start| b.add(start, first));
            b.for_range(0, whole as i64, block.into(), |b, channel| {
                let [source, target] = [from, to].map(|start| b.add(start, channel));
                let raw = b.load(input, source, 0, block);
                let value = self.convert(b, contraction, ring, raw);
                let value = b.shuffle(value, value, orders::spread(block));
                b.store(ring.rows, target, 0, value);
            });
            let lanes = rest.next_power_of_two();
            let raw = b.load_active(input, from, whole as i64, lanes, rest);
            let value = self.convert(b, contraction, ring, raw);
            b.store_active(ring.rows, to, whole as i64, value, rest);
        });
    }

    /// Converts an input element to the staged form.
    fn convert(&self, b: &mut KernelBuilder, contraction: &Contraction, ring: Ring, raw: Value) -> Value {
        match self.form {
            Form::Float | Form::Floats(_) => widen(b, raw, contraction.element),
            Form::Signed16 if contraction.element == ElementType::I16 => raw,
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
            Form::PixelPairs => with_sign(b, contraction.element, self.form, raw),
            Form::Unsigned8 | Form::Signed8 | Form::Sixteens | Form::In16Bits { .. } | Form::Squares { .. } | Form::Neighbours { .. } => {
                held(b, contraction.element, self.form, raw)
            }
            Form::EvenAndOdd { .. } => {
                let fours = even_and_odd(b, raw);
                held(b, contraction.element, self.form, fours)
            }
            Form::Apart { .. } => {
                let wide = held(b, contraction.element, self.form, raw);
                even_and_odd(b, wide)
            }
        }
    }
}

/// Fours with their even elements before their odd ones.
pub(in crate::schedule::contraction) fn even_and_odd(b: &mut KernelBuilder, fours: Value) -> Value {
    let exchanged = (0..b.ty(fours).lanes).map(|lane| lane & !3 | [0, 2, 1, 3][usize::from(lane & 3)]).collect();
    b.shuffle(fours, fours, exchanged)
}

/// Returns a byte with the sign of a form. An unsigned byte is the signed one plus 128, which flips the top bit.
pub(in crate::schedule::contraction) fn with_sign(b: &mut KernelBuilder, element: ElementType, form: Form, raw: Value) -> Value {
    if element.is_signed_integer() == form.is_signed() {
        return raw;
    }
    let ty = b.ty(raw);
    let top = b.int(ty, -128);
    b.binary(BinaryOp::Xor, raw, top)
}

/// Returns a byte with the sign of a form, widened to 16 bits if products are of 16 bits.
pub(in crate::schedule::contraction) fn held(b: &mut KernelBuilder, element: ElementType, form: Form, raw: Value) -> Value {
    let byte = with_sign(b, element, form, raw);
    match form.is_signed() {
        _ if form.is_of_bytes() => byte,
        true => b.convert(ConvertOp::SignExtend, byte, Lane::I16),
        false => b.convert(ConvertOp::ZeroExtend, byte, Lane::I16),
    }
}
