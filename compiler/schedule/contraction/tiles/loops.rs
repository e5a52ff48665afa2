//! Loops of a direct convolution: matrix products, rows of windows, phases, panels. The buffers of its kernel are here, too.

use crate::kernel::{BinaryOp, Buffer, BufferKind, CompareOp, KernelBuilder, Lane, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::contraction::direct::{DirectSchedule, Part, Ranges, unrolled_segments};
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::image_sizes::Numbers;
use crate::schedule::contraction::geometry::needs;
use crate::schedule::contraction::geometry::places::{Image, RowPlace};
use crate::schedule::contraction::operands::cuts::{Cut, Cuts, Width};
use crate::schedule::contraction::operands::filling::{Filled, Stored};
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::moved::Lacking;
use crate::schedule::contraction::operands::packing;
use crate::schedule::contraction::rows::staged_rows;
use crate::schedule::contraction::rows::staging::Ring;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::Hoisted;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::loops::{self, if_then};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::Number;
use crate::schedule::unsupported::Unsupported;

impl Schedule for DirectSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let mut needs = needs::requirements(self.cx, (&self.work, &self.element_wise), self.staging.as_ref(), !self.are_filled());
        needs.if_staged.extend(self.if_staged);
        needs.shorter = self.shorter;
        needs.scratch.extend(self.column_words().map(|words| words * u64::from(Lane::I32.bytes())));
        needs.may_share.extend(self.overwritten_by_tiles());
        if self.are_filled() {
            let lane = self.parts.iter().map(|part| u64::from(part.panels.lane().bytes())).max().unwrap_or(0);
            needs.scratch.push(self.matrices_at_once() * self.filled_elements() * lane);
        }
        needs.dividing(|shared| self.ranges(shared).map(Ranges::extent))
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        Ok(vec![lower(self, shared)?])
    }
}

/// State of the kernel that is being written.
pub(in crate::schedule::contraction) struct Lowering<'a> {
    pub schedule: &'a DirectSchedule<'a>,
    /// The dimension that is divided, with the first and the end of the range, if these are parameters.
    range: Option<(Ranges, Value, Value)>,
    numbers: Numbers,
    arguments: Arguments,
    /// Ring or input from which the pixels are read.
    pub pixels: Ring,
    pub input: Buffer,
    /// Stored right operand, and the panels that products read: the stored ones, or one that the kernel fills.
    stored: Stored,
    pub weights: Buffer,
    pub initial: Option<Buffer>,
    /// Corrections of the pixels' sums.
    pub(in crate::schedule::contraction) lacking: Option<Lacking>,
    /// Words of a tile's pixels, for [`Form::PixelPairs`].
    pub(super) columns: Option<Buffer>,
    /// Starts of a window's segments, if the segments are not unrolled.
    starts: Option<Buffer>,
    pub element_wise: ElementWise<'a>,
    /// Panels of a group.
    cuts: Cuts,
    /// Values loaded before the loops, for each number of lanes in a panel.
    hoisted: Vec<(u64, Vec<Option<Hoisted>>)>,
}

/// Result of writing a part of the kernel.
pub(super) type Built = Result<(), Unsupported>;

/// Place of a matrix product: first elements of the left and right operand, and the first output pixel.
#[derive(Clone, Copy)]
struct Bases {
    left: Value,
    right: Value,
    pixel: Value,
    /// Number of the product.
    number: Value,
}

/// The segments of a window, for the first pixel of a row.
pub(in crate::schedule::contraction) enum Segments {
    /// First element of each window row.
    Rows(Vec<Value>),
    /// Table with the first element of each segment.
    Table(Buffer),
}

/// A row of windows.
struct WindowRow {
    place: RowPlace,
    /// Number of the matrix product.
    product: Value,
    /// First pixel of the image in the output.
    pixel: Value,
}

/// An output row of a phase.
pub(in crate::schedule::contraction) struct OutputRow {
    pub segments: Segments,
    /// Number of the matrix product.
    product: Value,
    /// First pixel in the output.
    pixel: Value,
    /// Number of pixels.
    pub width: Number,
}

/// Start of a tile in a row.
#[derive(Clone, Copy)]
pub(super) struct TileStart {
    /// Number of its first output pixel.
    pub x: Value,
    /// Element of the row of the input at which the window of that pixel starts.
    pub offset: Value,
}

/// A panel of a group.
#[derive(Clone, Copy)]
pub(super) struct PanelPlace {
    group: Value,
    cut: Cut,
}

/// First output channel of a panel, its first element in the packed weights, and its first lane in the initial sums.
#[derive(Clone, Copy)]
struct PanelOperands {
    channel: Value,
    weights: Value,
    initial: Value,
}

/// Place of a tile.
pub(in crate::schedule::contraction) struct TilePlace<'a> {
    pub part: &'a Part,
    /// Width of the panel.
    pub width: Width,
    /// Number of output channels in the panel.
    pub active: u64,
    pub segments: &'a Segments,
    /// Distance from the first elements of the segments.
    pub offset: Value,
    /// Number of the first pixel, if the pixels of a tile may be in several rows of the image.
    pub first: u64,
    /// Number of the first pixel in its row. `pixel` is its number in the output.
    pub x: Value,
    pub pixel: Value,
    /// First output channel of the panel. `weights` is the panel's first element in the packed weights.
    pub channel: Value,
    pub weights: Value,
    /// First lane of the panel in the initial sums.
    pub initial: Value,
    /// Panel that is computed together with this one.
    pub beside: Option<Box<TilePlace<'a>>>,
}

/// Lowers a schedule.
pub(in crate::schedule::contraction) fn lower(schedule: &DirectSchedule<'_>, shared: &[Pair]) -> Result<Lowered, Unsupported> {
    let mut b = KernelBuilder::new(schedule.name());
    let range = schedule.ranges(shared).map(|ranges| {
        let (first, end) = b.divide_all(ranges.extent());
        (ranges, first, end)
    });
    let lowering = Lowering { range, ..Lowering::new(schedule, &mut b, shared)? };
    if let Some(staging) = &schedule.staging {
        b.rounds(true, |b| staging.prepare(b, &schedule.work, lowering.pixels));
    }
    b.independent(schedule.keeps_nothing());
    lowering.matrices(&mut b)?;
    let staged = match schedule.staging.as_ref().map(|staging| staging.chunk) {
        Some(Some(_)) => ", staged chunks",
        Some(None) if schedule.work.joined.is_some() => ", staged images",
        Some(None) if schedule.work.sections.is_some() => ", staged sections",
        Some(None) if schedule.work.channel_planes.is_some() => ", staged rows of planes",
        Some(None) => ", staged rows",
        None => "",
    };
    let panels = match (lowering.stored.places, schedule.are_filled()) {
        (Some(_), _) => ", sparse panels",
        (None, true) => ", filled panels",
        (None, false) => "",
    };
    let description = format!(
        "products of {}, {} pixels x {} channels at a time, unrolled {} times{staged}{panels}",
        schedule.form,
        schedule.tile.pixels,
        lowering.cuts,
        schedule.parts.first().map_or(0, |part| part.unroll),
    );
    let multiply_accumulates = schedule.work.multiply_accumulates();
    Ok(Lowered { kernel: b.finish(), arguments: lowering.arguments.finish(), description, multiply_accumulates })
}

impl<'a> Lowering<'a> {
    fn new(schedule: &'a DirectSchedule<'a>, b: &mut KernelBuilder, shared: &[Pair]) -> Result<Self, Unsupported> {
        let work = &schedule.work;
        let mut arguments = Arguments::default();
        let input = needs::declare_input(&schedule.cx, b, &mut arguments, work, shared)?;
        let stored = packing::declare(schedule.cx.packed, b, schedule.parts.iter().map(|part| &part.panels), &work.weights, &mut arguments);
        let mut element_wise = schedule.element_wise.clone();
        let biased = work.bias.is_some() || !element_wise.offsets().is_empty() || schedule.form.has_excess();
        let initial = biased.then(|| {
            let sums = schedule.initial_sums(element_wise.offsets());
            arguments.data(b, "initial", sums.into(), Lane::I32, 64)
        });
        let pixels = match &schedule.staging {
            Some(staging) => staging.declare(b, work, &mut arguments),
            None => Ring::unstaged(input),
        };
        let widths = schedule.widths();
        let filled = schedule.parts.iter().map(|part| &part.panels).filter(|panels| panels.are_filled());
        let weights = match filled.max_by_key(|panels| panels.filled_elements(&widths)) {
            Some(panels) => {
                let number = usize::from(schedule.staging.is_some());
                let elements = schedule.matrices_at_once() * schedule.filled_elements();
                arguments.scratch(b, "panel", number, panels.lane(), elements)
            }
            None => stored.elements,
        };
        let segments = schedule.parts.iter().map(|part| part.panels.extents.segments()).max().unwrap_or(0);
        let starts = (segments > unrolled_segments(&schedule.cx)).then(|| b.buffer("starts", BufferKind::Local, Lane::I64, segments, 8));
        let lacking = schedule.parts.first().and_then(|part| Lacking::declare(b, (work, schedule.form), &part.panels));
        let columns = schedule.declare_columns(b, &mut arguments);
        element_wise.declare(b, &mut arguments, shared)?;
        let cuts = schedule.cuts();
        let lanes = widths.iter().flat_map(|width| {
            let most = neighbours(schedule, &element_wise, width.lanes);
            (0..=most.ilog2()).map(|doubled| width.lanes << doubled)
        });
        let hoisted = hoisted_for(b, &element_wise, lanes);
        let range = None;
        let numbers = work.numbers(b, &mut arguments);
        Ok(Self {
            schedule,
            range,
            numbers,
            arguments,
            pixels,
            input,
            stored,
            weights,
            initial,
            lacking,
            columns,
            starts,
            element_wise,
            cuts,
            hoisted,
        })
    }

    fn image(&self) -> Image<'_> {
        Image { work: &self.schedule.work, numbers: &self.numbers }
    }

    /// Returns the values loaded before the loops for panels of this many lanes.
    pub fn hoisted(&self, lanes: u64) -> &[Option<Hoisted>] {
        self.hoisted.iter().find(|(width, _)| *width == lanes).map_or(&[], |(_, hoisted)| hoisted)
    }

    /// Returns the number of neighbouring pixels that an epilogue takes together.
    pub fn neighbours(&self, lanes: u64) -> u64 {
        neighbours(self.schedule, &self.element_wise, lanes)
    }

    /// Writes all matrix products: one loop for each broadcast dimension.
    fn matrices(&self, b: &mut KernelBuilder) -> Built {
        let zero = b.index(0);
        let bases = Bases { left: zero, right: zero, pixel: zero, number: zero };
        if !self.schedule.cx.machine.at_once {
            return self.matrix_loop(b, 0, bases, &Self::product_of_matrices);
        }
        // Everything is staged and filled before the first product.
        if self.schedule.staging.is_some() {
            self.matrix_loop(b, 0, bases, &Self::stage)?;
        }
        if self.schedule.are_filled() {
            self.matrix_loop(b, 0, bases, &Self::fill)?;
        }
        self.matrix_loop(b, 0, bases, &Self::all_products)
    }

    /// Stages all rows of a matrix product.
    fn stage(&self, b: &mut KernelBuilder, bases: Bases) -> Built {
        let numbers = &self.numbers;
        let Some(staging) = &self.schedule.staging else { return Ok(()) };
        numbers.batch.repeat(b, |b, image| {
            let first = numbers.image_elements.scale(b, image);
            let first = b.add(first, bases.left);
            let number = self.image_number(b, bases, image);
            staged_rows::stage_image(b, self.image(), staging, (self.input, self.pixels), (first, number));
        });
        Ok(())
    }

    /// Fills all panels of a matrix product.
    fn fill(&self, b: &mut KernelBuilder, bases: Bases) -> Built {
        for part in &self.schedule.parts {
            let first = b.scale_index(bases.number, self.schedule.filled_elements() as i64, part.filled as i64);
            if part.panels.fill_all(b, self.stored, self.weights, (part.base, first)) {
                continue;
            }
            self.all_panels(b, |b, panel| {
                let at = self.filled_at(b, part, panel, bases.number);
                self.fill_panel(b, part, panel, bases, Some(at));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Computes a matrix product whose rows are staged and whose panels are filled.
    fn all_products(&self, b: &mut KernelBuilder, bases: Bases) -> Built {
        self.rows(b, bases, 0, |b, at| {
            for part in &self.schedule.parts {
                self.output_row(b, part, at, |b, row| {
                    if self.schedule.form == Form::PixelPairs {
                        return self.row_of_pairs(b, part, row);
                    }
                    self.find_lacking(b, part, row);
                    self.all_panels(b, |b, panel| self.panel(b, part, row, panel))
                })?;
            }
            Ok(())
        })
    }

    /// Returns the start of a panel in the buffer of all filled ones, for a matrix product.
    fn filled_at(&self, b: &mut KernelBuilder, part: &Part, at: PanelPlace, number: Value) -> Value {
        let (lane, _) = self.panel_start(b, part, at);
        let product = b.scale_index(number, self.schedule.filled_elements() as i64, part.filled as i64);
        let panel = b.scale_index(lane, part.panels.lane_elements() as i64, 0);
        b.add(product, panel)
    }

    fn fill_panel(&self, b: &mut KernelBuilder, part: &Part, panel: PanelPlace, bases: Bases, at: Option<Value>) {
        let channel = self.first_channel(b, panel);
        let first = b.scale_index(channel, part.panels.per_output() as i64, 0);
        let first = b.add(first, bases.right);
        let (lane, _) = self.panel_start(b, part, panel);
        let Cut { width, active, .. } = panel.cut;
        let filled = Filled { lane, base: part.base, first, width, active, at };
        part.panels.fill(b, self.stored, self.weights, &filled);
    }

    fn matrix_loop(
        &self,
        b: &mut KernelBuilder,
        depth: usize,
        bases: Bases,
        body: &dyn Fn(&Self, &mut KernelBuilder, Bases) -> Built,
    ) -> Built {
        let work = &self.schedule.work;
        let Some(matrices) = work.matrices.get(depth) else { return body(self, b, bases) };
        let inner: u64 = work.matrices[depth + 1..].iter().map(|m| m.count).product();
        let pixels = inner * work.output_size[0] * work.output_size[1];
        let of_one = |b: &mut KernelBuilder, i: Value| {
            let number = if self.schedule.cx.machine.at_once {
                let outer = b.scale_index(bases.number, matrices.count as i64, 0);
                b.add(outer, i)
            } else {
                bases.number
            };
            let mut at = |base: Value, step: u64| {
                let offset = b.scale_index(i, step as i64, 0);
                b.add(base, offset)
            };
            let (left, right) = (at(bases.left, matrices.left), at(bases.right, matrices.right));
            let bases = Bases { left, right, pixel: at(bases.pixel, pixels), number };
            self.matrix_loop(b, depth + 1, bases, body)
        };
        match self.range {
            Some((Ranges::Matrices { dimension, .. }, first, end)) if dimension == depth => loops::for_values(b, (first, end), 1, of_one),
            _ => loops::for_range(b, (0, matrices.count as i64), 1, of_one),
        }
    }

    fn product_of_matrices(&self, b: &mut KernelBuilder, bases: Bases) -> Built {
        let parts = &self.schedule.parts;
        if !self.schedule.are_filled() {
            return self.all_products(b, bases);
        }
        let staged = self.rows_of_all();
        if staged > 0 {
            self.rows(b, bases, 0, |_, _| Ok(()))?;
        }
        // Rows share a filled panel, which they only read. A table of starts is of one loop over rows.
        let is_one_loop = parts.len() * self.cuts.bodies() == 1;
        let apart = self.schedule.staging.is_none() && (self.starts.is_none() || is_one_loop);
        for part in parts {
            self.all_panels(b, |b, panel| {
                self.fill_panel(b, part, panel, bases, None);
                let row = |b: &mut KernelBuilder, at: &WindowRow| self.output_row(b, part, at, |b, row| self.panel(b, part, row, panel));
                b.rounds(apart, |b| self.rows(b, bases, staged, row))
            })?;
        }
        Ok(())
    }

    /// Returns the number of rows to stage before all panels, if all windows are in one row of windows, or else 0. These rows are then staged
    /// once instead of for each panel.
    fn rows_of_all(&self) -> u64 {
        let work = &self.schedule.work;
        let is_one = work.batch == 1
            && matches!(self.window_planes(), Number::Known(1))
            && matches!(self.window_rows(), Number::Known(1))
            && work.matrices.is_empty();
        let whole = self.schedule.staging.as_ref().filter(|staging| is_one && staging.chunk.is_none());
        whole.map_or(0, |_| work.rows_reached())
    }

    /// Repeats a body for every row of windows, and stages what it reads. The first `staged` rows are staged already.
    fn rows(
        &self,
        b: &mut KernelBuilder,
        bases: Bases,
        staged: u64,
        mut body: impl FnMut(&mut KernelBuilder, &WindowRow) -> Built,
    ) -> Built {
        let numbers = &self.numbers;
        numbers.batch.repeat(b, |b, image| {
            let first = numbers.image_elements.scale(b, image);
            let first = b.add(first, bases.left);
            let pixel = numbers.output_pixels.scale(b, image);
            let pixel = b.add(pixel, bases.pixel);
            self.window_planes().repeat(b, |b, plane| {
                let zero = b.index(0);
                let (start, end) = match self.range {
                    Some((Ranges::Rows(_), first, end)) => (first, end),
                    _ => (zero, self.window_rows().value(b)),
                };
                let staged = b.index(staged as i64);
                let mut outcome = Ok(());
                let ring = self.first_ring(b, bases, image);
                let place = RowPlace { image: first, plane, y: zero, staged, ring };
                let buffers = (self.input, self.pixels);
                let image = (self.image(), self.schedule.cx.machine.at_once);
                staged_rows::for_rows(b, image, self.schedule.staging.as_ref(), buffers, (place, start, end), |b, place| {
                    outcome = body(b, &WindowRow { place: *place, pixel, product: bases.number });
                });
                outcome
            })
        })
    }

    /// Returns the first ring of an image, if all rows are staged.
    fn first_ring(&self, b: &mut KernelBuilder, bases: Bases, image: Value) -> Value {
        let work = &self.schedule.work;
        if !self.schedule.cx.machine.at_once {
            return bases.number;
        }
        let number = self.image_number(b, bases, image);
        b.scale_index(number, work.phases[0].padded(work.planes.input) as i64, 0)
    }

    /// Returns the number of an image among those of all matrix products.
    fn image_number(&self, b: &mut KernelBuilder, bases: Bases, image: Value) -> Value {
        let number = b.scale_index(bases.number, self.schedule.work.batch as i64, 0);
        b.add(number, image)
    }

    /// Returns the number of planes of windows, of the phase that has most.
    fn window_planes(&self) -> Number {
        self.windows(0)
    }

    /// Returns the number of rows of windows, of the phase that has most.
    fn window_rows(&self) -> Number {
        self.windows(1)
    }

    fn windows(&self, dimension: usize) -> Number {
        let work = &self.schedule.work;
        if work.sizes.is_some() { self.numbers.output[dimension] } else { Number::Known(positions(work, dimension) as i64) }
    }

    /// Runs `body` for the output row of a phase at a row of windows, if it has one.
    fn output_row(
        &self,
        b: &mut KernelBuilder,
        part: &Part,
        at: &WindowRow,
        body: impl FnOnce(&mut KernelBuilder, &OutputRow) -> Built,
    ) -> Built {
        let work = &self.schedule.work;
        let [planes, rows, columns] = &part.axes;
        let mut inside = None;
        for (phase, d, number) in [(planes, 0, at.place.plane), (rows, 1, at.place.y)] {
            if phase.count < positions(work, d) {
                let count = b.index(phase.count as i64);
                let within = b.compare(CompareOp::Less, number, count);
                inside = Some(inside.map_or(within, |other| b.binary(BinaryOp::And, other, within)));
            }
        }
        let row = |b: &mut KernelBuilder| {
            let starts = staged_rows::window_rows(b, self.image(), self.schedule.staging.as_ref(), &at.place, (planes, rows));
            let segments = self.segments(b, part, starts);
            let plane = b.scale_index(at.place.plane, work.phases[0].step as i64, planes.first as i64);
            let row = self.numbers.output[1].scale(b, plane);
            let row = b.scale_index(row, 1, rows.first as i64);
            let y = b.scale_index(at.place.y, work.phases[1].step as i64, 0);
            let row = b.add(row, y);
            let pixel = self.numbers.output[2].scale(b, row);
            let pixel = b.scale_index(pixel, 1, columns.first as i64);
            let pixel = b.add(pixel, at.pixel);
            let width = match work.sections {
                Some(row) => row.width(b, at.place.y, columns, work.phases[2].step),
                None if work.sizes.is_some() => self.numbers.output[2],
                None => Number::Known(columns.count as i64),
            };
            body(b, &OutputRow { segments, product: at.product, pixel, width })
        };
        match inside {
            None => row(b),
            Some(inside) => if_then(b, inside, row),
        }
    }

    /// Returns the elements from one tap of a row to the next.
    pub fn tap_step(&self) -> i64 {
        (self.schedule.work.phases[2].dilation * self.schedule.work.channels) as i64
    }

    fn segments(&self, b: &mut KernelBuilder, part: &Part, rows: Vec<Value>) -> Segments {
        let Some(table) = self.starts else { return Segments::Rows(rows) };
        let taps = if self.schedule.by_tap() { part.axes[2].taps.len() as i64 } else { 1 };
        for (number, row) in rows.into_iter().enumerate() {
            // An array that rounds fill in order belongs to what is around their loop.
            b.rounds(false, |b| {
                b.for_range(0, taps, 1, |b, tap| {
                    let start = b.scale_index(tap, self.tap_step(), 0);
                    let start = b.add(start, row);
                    let in_fours = self.schedule.form.starts_in_fours();
                    let start = if in_fours { b.shift(BinaryOp::ShiftRightUnsigned, start, 2) } else { start };
                    b.store(table, tap, number as i64 * taps, start);
                });
            });
        }
        Segments::Table(table)
    }

    /// Repeats a body for every panel of every group, or for the panels of the range.
    pub(super) fn all_panels(&self, b: &mut KernelBuilder, mut body: impl FnMut(&mut KernelBuilder, PanelPlace) -> Built) -> Built {
        b.rounds(self.schedule.has_panels_apart(), |b| {
            if let Some((Ranges::Panels(_), first, end)) = self.range {
                let group = b.index(0);
                return self.cuts.for_range(b, (first, end), |b, cut| body(b, PanelPlace { group, cut }));
            }
            loops::for_range(b, (0, self.schedule.work.groups as i64), 1, |b, group| {
                self.cuts.for_each(b, |b, cut| body(b, PanelPlace { group, cut }))
            })
        })
    }

    /// Returns the first output channel of a panel.
    fn first_channel(&self, b: &mut KernelBuilder, at: PanelPlace) -> Value {
        let first = b.scale_index(at.group, self.schedule.outputs_per_group() as i64, 0);
        b.add(first, at.cut.first)
    }

    /// Returns the first lane of a panel's strips among those of a phase. The second value is the panel's start in the buffer, relative to its
    /// strips.
    fn panel_start(&self, b: &mut KernelBuilder, part: &Part, at: PanelPlace) -> (Value, Value) {
        let group = b.scale_index(at.group, part.panels.extents.strips.total() as i64, 0);
        let (strip, element) = part.panels.start(b, at.cut);
        (b.add(group, strip), element)
    }

    /// Computes one panel of a group, for all pixels of a row.
    fn panel(&self, b: &mut KernelBuilder, part: &Part, row: &OutputRow, at: PanelPlace) -> Built {
        let schedule = self.schedule;
        let work = &schedule.work;
        let own = self.panel_operands(b, part, row, at);
        let beside = at.cut.beside(b).map(|cut| {
            let at = PanelPlace { cut, ..at };
            (self.panel_operands(b, part, row, at), cut)
        });
        let input_channel = b.scale_index(at.group, (work.channels / work.groups) as i64, (part.axes[2].lead * work.channels) as i64);
        let body = |b: &mut KernelBuilder, (x, first): (Value, u64), count: u64| {
            let offset = match work.joined {
                Some(_) => b.index(work.window_offset(first) as i64),
                None => b.scale_index(x, (work.strides[1] * work.channels) as i64, 0),
            };
            let offset = b.add(offset, input_channel);
            let step = b.scale_index(x, work.phases[2].step as i64, 0);
            let pixel = b.add(row.pixel, step);
            let place = |PanelOperands { channel, weights, initial }, Cut { width, active, .. }: Cut, beside| TilePlace {
                part,
                width,
                active,
                segments: &row.segments,
                offset,
                first,
                x,
                pixel,
                channel,
                weights,
                initial,
                beside,
            };
            let beside = beside.map(|(operands, cut)| Box::new(place(operands, cut, None)));
            self.tile(b, &place(own, at.cut, beside), count)
        };
        if work.joined.is_none() {
            return b.rounds(!schedule.has_chunks(), |b| row.width.tiles(b, schedule.tile.pixels, |b, x, count| body(b, (x, 0), count)));
        }
        let (all, step) = (positions(work, 2), schedule.tile.pixels);
        (0..all).step_by(step as usize).try_for_each(|first| {
            let x = b.index(first as i64);
            body(b, (x, first), step.min(all - first))
        })
    }

    /// Returns the place of the tile at a pixel of a row, alone in its panel.
    pub(super) fn tile_place<'p>(
        &self,
        b: &mut KernelBuilder,
        (part, row): (&'p Part, &'p OutputRow),
        TileStart { x, offset }: TileStart,
        at: PanelPlace,
    ) -> TilePlace<'p> {
        let PanelOperands { channel, weights, initial } = self.panel_operands(b, part, row, at);
        let step = b.scale_index(x, self.schedule.work.phases[2].step as i64, 0);
        let pixel = b.add(row.pixel, step);
        let Cut { width, active, .. } = at.cut;
        TilePlace { part, width, active, segments: &row.segments, offset, first: 0, x, pixel, channel, weights, initial, beside: None }
    }

    /// Returns the places of a panel's channels, weights and initial sums.
    fn panel_operands(&self, b: &mut KernelBuilder, part: &Part, row: &OutputRow, at: PanelPlace) -> PanelOperands {
        let channel = self.first_channel(b, at);
        let (lane, element) = self.panel_start(b, part, at);
        let at_once = self.schedule.cx.machine.at_once;
        let weights = if part.panels.are_filled() && at_once {
            let panel = self.filled_at(b, part, at, row.product);
            b.add(panel, element)
        } else if part.panels.are_filled() {
            element
        } else {
            let strips = b.scale_index(lane, part.panels.in_buffer(part.panels.lane_elements()), part.panels.in_buffer(part.base));
            b.add(strips, element)
        };
        let initial = b.scale_index(at.group, part.panels.extents.strips.total() as i64, part.initial as i64);
        PanelOperands { channel, weights, initial: b.add(initial, at.cut.first) }
    }
}

/// Returns the number of windows along a dimension, of the phase that has most.
fn positions(work: &Contraction, dimension: usize) -> u64 {
    work.phases[dimension].list.iter().map(|phase| phase.count).max().unwrap_or(0)
}

/// Returns the number of neighbouring pixels that an epilogue takes together. It is above 1 if all channels are one panel, so that pixels are
/// contiguous.
fn neighbours(schedule: &DirectSchedule<'_>, element_wise: &ElementWise<'_>, lanes: u64) -> u64 {
    let (work, machine) = (&schedule.work, schedule.cx.machine);
    let are_whole = work.groups == 1 && work.outputs == lanes && work.phases[2].step == 1 && machine.combines_lanes();
    let most = 1 << schedule.tile.pixels.max(1).ilog2();
    if are_whole { element_wise.neighbours(machine, lanes).min(most) } else { 1 }
}

/// Loads the values that an epilogue needs before the loops, for the lanes of each width of panels.
pub(in crate::schedule::contraction) fn hoisted(
    b: &mut KernelBuilder,
    element_wise: &ElementWise<'_>,
    widths: &[Width],
) -> Vec<(u64, Vec<Option<Hoisted>>)> {
    hoisted_for(b, element_wise, widths.iter().map(|width| width.lanes))
}

/// Loads the values of [`hoisted`] for some numbers of lanes.
pub(in crate::schedule::contraction) fn hoisted_for(
    b: &mut KernelBuilder,
    element_wise: &ElementWise<'_>,
    lanes: impl Iterator<Item = u64>,
) -> Vec<(u64, Vec<Option<Hoisted>>)> {
    let mut lanes: Vec<u64> = lanes.collect();
    lanes.dedup();
    lanes.into_iter().map(|lanes| (lanes, element_wise.hoist(b, lanes as u16))).collect()
}
