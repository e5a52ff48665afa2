//! Direct convolution and matrix products, with register tiles of pixels × output channels. The right operand is in panels. Input rows are
//! staged if they need padding or conversion.
//!
//! A convolution of a dilated input is computed phase by phase. The k of an output is divided into segments. A segment is a window row if the
//! taps of a row are contiguous in the staged row: one group, no horizontal dilation. Otherwise it is a tap. Panels that the kernel fills are
//! the outermost loop, so that each is filled once for all pixels. Panels that the model holds are the innermost loop, so that the input is
//! staged once.

use crate::machine::Machine;
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::needs::{keeps_rows, overwritten_by_rows};
use crate::schedule::contraction::geometry::phases::Phase;
use crate::schedule::contraction::geometry::windows::Geometry;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::panels::cuts::{Cuts, Width};
use crate::schedule::contraction::operands::panels::strips::{NARROWEST, Strips};
use crate::schedule::contraction::operands::panels::{Extents, Panels};
use crate::schedule::contraction::operands::weights::Weights;
use crate::schedule::contraction::rows::preparation::Preparation;
use crate::schedule::contraction::rows::staging::Staging;
use crate::schedule::contraction::rows::windows::Windows;
use crate::schedule::contraction::table::rounds::{LONGEST_ROUND, MOST_WITHOUT_LOOP, MOST_WORDS_WITHOUT_LOOP, ONE_ROUND_OF_FLOATS, rounds};
use crate::schedule::contraction::table::rows::{FEWEST_STAGED, LONGEST_STAGED, MOST_FILLED, RANGES, SHORT_IMAGE, staged};
use crate::schedule::contraction::table::tiles::{Tile, names_elements, words};
use crate::schedule::contraction::tiles::register_tile::{choose_tile, joins_rests, lanes_of, loads_part, most_pixels};
use crate::schedule::contraction::tiles::squares;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::pair::Pair;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// Maximum number of window rows, in all planes. No real model has more.
const MAX_WINDOW_ROWS: u64 = 4096;

/// Schedule of a `conv` or `matmul` by register tiles.
pub struct DirectSchedule<'a> {
    pub(super) cx: Context<'a>,
    pub(super) work: Contraction,
    /// Element-wise work on the sums.
    pub(super) element_wise: ElementWise<'a>,
    pub(super) form: Form,
    /// The time at which rows are staged and panels are filled.
    pub(super) preparation: Preparation,
    pub(super) staging: Option<Staging>,
    /// Windows that are copied from staged rows.
    pub(super) windows: Option<Windows>,
    /// Input and output, if staging the rows would only serve to let the output overwrite the input.
    pub(super) if_staged: Option<Pair>,
    /// See [`Requirements::shorter`](crate::schedule::Requirements::shorter).
    pub(super) shorter: Option<u64>,
    pub(super) tile: Tile,
    /// Output channels of an accumulator vector.
    pub(super) lanes: u64,
    pub(super) phases: Vec<PhasePanels>,
    /// Maximum number of products in a 32-bit sum before it is added to a 64-bit one.
    pub(super) in_32_bits: Option<u64>,
}

/// The dimension along which a kernel is divided into ranges for threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ranges {
    /// A number of rows of windows.
    Rows(u64),
    /// A number of panels.
    Panels(u64),
    /// A number of matrices, along one of the dimensions outside of products.
    Matrices { dimension: usize, count: u64 },
}

impl Ranges {
    /// Returns the number of rows, panels or matrices.
    pub(super) fn extent(self) -> u64 {
        let (Self::Rows(extent) | Self::Panels(extent) | Self::Matrices { count: extent, .. }) = self;
        extent
    }
}

/// The panels of a phase of the convolution.
#[derive(Clone)]
pub(super) struct PhasePanels {
    /// Phases along planes, rows and columns.
    pub axes: [Phase; 3],
    /// Panels of the right operand that the phase reads.
    pub panels: Panels,
    /// Start of its panels among the packed ones.
    pub base: u64,
    /// Start of its initial sums among those of all phases.
    pub initial: u64,
    /// Start of its panels in the buffer of all filled ones.
    pub filled: u64,
    /// Groups of k in a round of the innermost loop.
    pub unroll: u64,
    /// Elements of k before 32-bit sums are added to 64-bit ones.
    pub chunk: Option<u64>,
}

impl PhasePanels {
    /// Returns the number of elements of k in a segment of a panel.
    pub(super) fn run(&self) -> u64 {
        self.panels.padded()
    }
}

impl<'a> DirectSchedule<'a> {
    /// Makes the schedule of a contraction.
    ///
    /// # Errors
    /// [`Unsupported`] if the epilogue has no lowering, or a window is too large.
    pub fn new(cx: Context<'a>, mut work: Contraction) -> Result<Self, Unsupported> {
        let form = form(&cx, &work);
        let by_pixel = form == Form::PixelPairs && work.geometry.is_pointwise();
        let converts = !form.is_of_floats() && !by_pixel && !reads_bytes_in_place(&cx, &work, form);
        let must_stage = converts || work.reads_halves() || work.geometry.is_padded() || work.geometry.channel_planes.is_some();
        let if_staged = if must_stage || by_pixel { None } else { overwritten_if_staged(cx, &work) };
        let staged = must_stage || cx.stages && if_staged.is_some();
        let preparation = Preparation::on(cx.machine);
        let may_be_cut = staged && preparation == Preparation::InRounds;
        let shorter = match work.geometry.is_pointwise() && work.geometry.groups == 1 {
            true => fold_pixels(&cx, &mut work, staged.then_some(form), may_be_cut && cx.in_short_sections).filter(|_| may_be_cut),
            false if may_be_cut && work.joins_rows(&cx, form) => {
                let read_again = work.weights_read_again();
                if !cx.in_short_sections {
                    work.geometry.join_rows();
                }
                (!cx.in_short_sections).then_some(read_again)
            }
            false if may_be_cut => work.cut_row(&cx, 1),
            false => None,
        };
        let window_rows = work.geometry.planes.window * work.geometry.window[0];
        if window_rows > MAX_WINDOW_ROWS {
            return Err(Unsupported::WindowRows(window_rows));
        }
        let staging = staged.then(|| Staging::new(cx.machine, &work, form, 1)).transpose()?;
        let windows = if form == Form::Sixteens && staged { work.geometry.copied_windows(&cx) } else { None };
        let lanes = lanes_of(cx.machine, form);
        let tile = choose_tile(&cx, &work, form);
        let in_32_bits = work.products_in_32_bits();
        let element_wise = ElementWise::with_epilogue(cx, &work.epilogue, &work.sum_ranges())?;
        let mut schedule = Self {
            cx,
            work,
            element_wise,
            form,
            preparation,
            staging,
            windows,
            if_staged,
            shorter,
            tile,
            lanes,
            phases: vec![],
            in_32_bits,
        };
        schedule.phases = schedule.all_phases();
        if schedule.form.has_excess() {
            // Phases use different taps, which have different excesses.
            let lanes = schedule.initial_lanes();
            schedule.phases.iter_mut().zip(0..).for_each(|(phase, number)| phase.initial = number * lanes);
        }
        let mut filled = 0;
        for phase in &mut schedule.phases {
            phase.filled = filled;
            filled += phase.panels.all_elements();
        }
        Ok(schedule)
    }

    /// Returns the elements of the buffer for filled panels: the largest panel, or all panels of a matrix product if they are filled ahead.
    pub(super) fn filled_elements(&self) -> u64 {
        if self.preparation == Preparation::Ahead {
            return self.phases.iter().map(|phase| phase.panels.all_elements()).sum();
        }
        let widths = self.widths();
        self.phases.iter().map(|phase| phase.panels.filled_elements(&widths)).max().unwrap_or(0)
    }

    /// Returns the number of matrix products that have their own panels, because they are filled ahead.
    pub(super) fn matrices_apart(&self) -> u64 {
        if self.preparation == Preparation::InRounds {
            1
        } else {
            self.work.geometry.matrices.iter().map(|matrices| matrices.count).product()
        }
    }

    fn all_phases(&self) -> Vec<PhasePanels> {
        let mut phases: Vec<PhasePanels> = Vec::new();
        let [planes, rows, columns] = &self.work.geometry.phases;
        for plane in &planes.list {
            for row in &rows.list {
                for column in &columns.list {
                    let base = phases.last().map_or(0, |phase| phase.base + phase.panels.stored_extent());
                    phases.push(self.phase_panels([plane, row, column], base));
                }
            }
        }
        phases
    }

    fn phase_panels(&self, axes: [&Phase; 3], base: u64) -> PhasePanels {
        let work = &self.work;
        let geometry = &work.geometry;
        let [planes, rows, columns] = axes;
        let [height, width] = geometry.window;
        let taps = planes.taps.iter().flat_map(|z| rows.taps.iter().map(move |y| (z * height + y) * width));
        let taps: Vec<u64> = taps.flat_map(|row| columns.taps.iter().map(move |x| row + x)).collect();
        let step = self.form.group();
        let extents = Extents {
            strips: self.strips(),
            groups: geometry.groups,
            per_tap: geometry.channels / geometry.groups,
            filter_taps: geometry.planes.window * height * width,
            segment_taps: match self.windows {
                Some(_) => taps.len() as u64,
                None if self.by_tap() => 1,
                None => columns.taps.len() as u64,
            },
            taps,
            step,
        };
        let mut panels = Panels::new(&work.weights, self.form, extents, self.cx.machine, work.open);
        if self.cx.uses(Technique::Sparse) {
            panels = panels.without_zeros(&work.weights, work.open);
        }
        // Filling a panel that is read only once takes as long as its products. Halves are widened as fast as panels beyond the first-level
        // cache are read.
        let is_large = panels.hold_halves() && panels.filled_elements(&self.widths()) * u64::from(panels.lane().bytes()) > MOST_FILLED;
        let widens = self.is_one_tile() || is_large && self.preparation == Preparation::InRounds;
        if widens && self.cx.uses(Technique::Widening) {
            panels = panels.widened_by_products(self.cx.machine);
        }
        let chunk = self.staging.as_ref().and_then(|staging| staging.chunk);
        let groups = chunk.unwrap_or(panels.padded()) / step;
        // Groups of four have enough products for the end of a round.
        let alone = words(self.cx.machine, self.form).filter(|_| self.tile.pixels == 1 && self.form.group() < 4);
        let alone = alone.map_or(1, |words| words.unroll_alone);
        let unroll =
            if let Form::Squares { group, .. } = self.form { squares::unroll(groups, group) } else { unroll(&self.cx, groups, self.form) };
        let unroll = if unroll > 1 && groups.is_multiple_of(alone) { unroll.max(alone) } else { unroll };
        let round = (step * unroll).max(1);
        let chunk = self.in_32_bits.map(|products| (products / round).max(1) * round);
        PhasePanels { axes: axes.map(Clone::clone), panels, base, initial: 0, filled: 0, unroll, chunk }
    }

    /// Tests whether the output pixels are one tile, the largest that the machine has.
    fn is_one_tile(&self) -> bool {
        let geometry = &self.work.geometry;
        geometry.pixels() <= most_pixels(self.cx.machine, self.tile)
            && geometry.matrices.is_empty()
            && geometry.sizes.is_none()
            && self.cx.sharing.is_whole()
    }

    /// Tests whether a segment is a tap. Otherwise it is a row of taps that are contiguous in the staged row and in the filter.
    pub(super) fn by_tap(&self) -> bool {
        let geometry = &self.work.geometry;
        let computed = matches!(self.work.weights, Weights::Computed { .. });
        geometry.groups != 1 || geometry.phases[2].dilation != 1 || computed && !geometry.is_one_phase()
    }

    /// Returns the distance of neighbouring pixels' operands.
    pub(super) fn pixel_step(&self) -> u64 {
        self.windows.map_or(self.work.geometry.strides[1] * self.work.geometry.channels, |windows| windows.window())
    }

    /// Returns the input and the output of a product of pixels, if each tile reads its pixels before its results may overwrite them.
    pub(super) fn overwritten_by_tiles(&self) -> Option<Pair> {
        if self.form != Form::PixelPairs || self.staging.is_some() || self.column_words().is_none() {
            return None;
        }
        let mut work = self.work.clone();
        work.geometry.fold_pixels(1);
        overwritten_by_rows(self.cx, &work)
    }

    pub(super) fn are_filled(&self) -> bool {
        self.phases.iter().any(|phase| phase.panels.are_filled())
    }

    /// Tests whether rows are staged in chunks, which take each other's place.
    pub(super) fn has_chunks(&self) -> bool {
        self.staging.as_ref().is_some_and(|staging| staging.chunk.is_some())
    }

    /// Tests whether no rows or panels stay in scratch memory from round to round.
    pub(super) fn keeps_nothing(&self) -> bool {
        self.preparation == Preparation::Ahead || self.staging.is_none() && !self.are_filled() && self.column_words().is_none()
    }

    /// Tests whether the panels of a row are independent: they take neither each other's place nor that of chunks.
    pub(super) fn has_panels_apart(&self) -> bool {
        self.preparation == Preparation::Ahead || !self.are_filled() && !self.has_chunks()
    }

    /// Returns the strips of a group.
    fn strips(&self) -> Strips {
        let panel = self.tile.vectors * self.lanes;
        let strips = Strips::new(self.outputs_per_group(), self.cx.strip(panel, &self.work.weights));
        if joins_rests(&self.cx, &self.work, self.form) { strips.joined() } else { strips }
    }

    /// Returns the panels of a group.
    pub(super) fn cuts(&self) -> Cuts {
        let cuts = Cuts::new(&self.strips(), self.tile.vectors * self.lanes, loads_part(self.cx.machine, self.form));
        if self.pairs_pixels() { cuts.paired(self.lanes) } else { cuts }
    }

    /// Tests whether two pixels share a vector for output channels that fill only half of one. There must also be whole vectors, whose products
    /// have the operands of the pixels in registers already.
    fn pairs_pixels(&self) -> bool {
        let machine = self.cx.machine;
        let is_plain = self.form.sums() == 1 && self.form.products() == 1 && self.in_32_bits.is_none();
        let Tile { pixels, vectors } = self.tile;
        // Operands that are elements of other registers cannot be combined.
        let is_plain = is_plain && !names_elements(machine, self.form) && self.cx.uses(Technique::Pairs);
        machine.sums_in_place && machine.registers.count() >= 32 && is_plain && pixels > 1 && vectors <= 2 && !self.are_filled()
    }

    /// Returns the widths of panels.
    pub(super) fn widths(&self) -> Vec<Width> {
        self.cuts().widths()
    }

    pub(super) fn outputs_per_group(&self) -> u64 {
        self.work.geometry.outputs / self.work.geometry.groups
    }

    /// Returns the initial sums of every phase: bias and offset, minus the excess that the staged form adds at the phase's taps.
    pub(super) fn initial_sums(&self, offsets: &[i32]) -> Vec<u8> {
        let per_group = self.outputs_per_group();
        let lanes = self.initial_lanes() / self.work.geometry.groups;
        let channels =
            || (0..self.work.geometry.groups).flat_map(move |g| (0..lanes).map(move |l| (l < per_group).then_some(g * per_group + l)));
        let sums =
            |phase: &PhasePanels| self.work.initial_sums(self.work.border(self.form), offsets, &phase.panels.extents.taps, channels());
        if self.form.has_excess() { self.phases.iter().flat_map(sums).collect() } else { self.phases.first().map_or(vec![], sums) }
    }

    /// Returns the number of initial sums of a phase: one for each lane of every panel.
    fn initial_lanes(&self) -> u64 {
        self.work.geometry.groups * self.strips().total()
    }
}

/// Chooses the form of products. With few output channels, floats take several elements of k at a time. Together these fill at most half of the
/// longest vector of the architecture. So the order of sums is the same for every CPU level, whatever other levels are in the object.
fn form(cx: &Context<'_>, work: &Contraction) -> Form {
    let geometry = &work.geometry;
    let form = work.form(cx);
    if let Some(squares) = work.in_squares(cx, form) {
        return squares;
    }
    let serves = |level: &&Machine| level.combines_lanes();
    let are_constant = !matches!(work.weights, Weights::Computed { .. }) && work.weights.sparse_elements().is_none();
    let is_image = geometry.pixels() > 1 && geometry.groups == 1 && geometry.matrices.is_empty() && cx.sharing.is_whole();
    if !cx.uses(Technique::Neighbours)
        || form != Form::Float
        || cx.goal == Goal::Size
        || !are_constant
        || !is_image
        || !cx.levels.iter().all(serves)
    {
        return form;
    }
    let lanes = cx.levels_of_isa().map(|level| u64::from(level.lanes(4))).max().unwrap_or(0);
    let outputs = geometry.outputs.max(NARROWEST).next_power_of_two();
    // A single last element of a segment is possible if there is only one round.
    let is_one_round = matches!(work.weights, Weights::Floats(_))
        && geometry.is_one_phase()
        && geometry.window[1] * geometry.channels <= ONE_ROUND_OF_FLOATS;
    let cuts = |count: &u64| geometry.channels.is_multiple_of(*count) || *count == 2 && is_one_round && geometry.phases[2].dilation == 1;
    [4, 2].into_iter().filter(|count| count * outputs <= lanes).find(cuts).map_or(form, Form::Floats)
}

/// Returns the share of the largest range of equal units, in thousandths.
fn equal_share(extent: u64, threads: u64) -> u64 {
    extent.div_ceil(threads).saturating_mul(1000) / extent.max(1)
}

/// Returns the share of the largest range of weighted units, in thousandths. Ranges have equal numbers of units.
fn largest_share(weights: &[u64], threads: u64) -> u64 {
    let bound = |number: u64| (number * weights.len() as u64 / threads) as usize;
    let range = |number: u64| weights[bound(number)..bound(number + 1)].iter().sum::<u64>();
    let largest = (0..threads).map(range).max().unwrap_or(0);
    1000 * largest / weights.iter().sum::<u64>().max(1)
}

/// Tests whether products read the bytes of pixels in place, all of them in groups of four. If a product takes an element of a register as
/// operand, rows need no copy.
fn reads_bytes_in_place(cx: &Context<'_>, work: &Contraction, form: Form) -> bool {
    let geometry = &work.geometry;
    let are_alike = form.is_of_bytes() && work.element.is_signed_integer() == form.is_signed();
    let are_whole = geometry.is_pointwise() && (geometry.channels / geometry.groups).is_multiple_of(form.group());
    // A single pixel's operands are shared by its output channels alone: taking them apart again costs less than a copy.
    let is_alone = cx.machine.takes_words_apart() && geometry.pixels() == 1 && geometry.matrices.is_empty();
    let takes = cx.machine.by_element || form == Form::Sixteens || is_alone;
    cx.uses(Technique::Direct) && takes && are_alike && are_whole && !work.open
}

/// Returns the input and the output of a product of pixels, if staging its rows lets the output overwrite the input.
fn overwritten_if_staged(cx: Context<'_>, work: &Contraction) -> Option<Pair> {
    let reads_rows = work.geometry.is_pointwise() && work.geometry.groups == 1 && !matches!(work.weights, Weights::Computed { .. });
    if reads_rows && cx.uses(Technique::Staging) { overwritten_by_rows(cx, work) } else { None }
}

/// Turns the pixels of a pointwise contraction into rows of equal length, so that a staged row stays in the first-level cache. Rows that are
/// not staged are one row, or enough rows for ranges. With `in_short`, all pixels are one row in short sections. Otherwise returns the
/// additional elements that short sections would move, if they are shorter than rows.
fn fold_pixels(cx: &Context<'_>, work: &mut Contraction, staged: Option<Form>, in_short: bool) -> Option<u64> {
    let threads = cx.sharing.ranges();
    // The rest of a section takes a third of a tile's work for each pixel.
    let of_words = words(cx.machine, staged.unwrap_or(Form::Signed16)).filter(|_| cx.machine.takes_words_apart());
    let tile = of_words.map_or(1, |words| words.tile.pixels);
    let pixels = work.geometry.batch * work.geometry.planes.input * work.geometry.input_size[0] * work.geometry.input_size[1];
    let width = match (staged, threads > 1) {
        (Some(form), _) => staged_row(pixels, &work.geometry, form, threads),
        (None, true) => row_of_even_ranges(pixels, work.geometry.input_size[1], threads),
        // Rows that are not staged may have any length.
        (None, false) => pixels,
    };
    work.geometry.fold_pixels(pixels);
    let is_shorter = cx.uses(Technique::Sections) && work.short_section(tile).is_some_and(|length| length < width);
    if in_short && is_shorter {
        work.cut_row(cx, tile);
        return None;
    }
    work.geometry.fold_pixels(width);
    is_shorter.then_some(0)
}

/// Returns the length of a staged row.
fn staged_row(pixels: u64, geometry: &Geometry, form: Form, threads: u64) -> u64 {
    let limits = staged(form);
    if limits.whole.is_some_and(|[most, elements]| pixels <= most && pixels * geometry.channels <= elements) {
        return pixels;
    }
    let [shortest, longest] = limits.pixels;
    let limit = (limits.elements / geometry.channels.max(1)).clamp(shortest, longest);
    let best = (1..=limit.min(pixels)).rev().find(|n| pixels.is_multiple_of(*n)).unwrap_or(1);
    let longer = (best < FEWEST_STAGED && pixels > SHORT_IMAGE).then(|| longer_row(pixels, limit, geometry.channels)).flatten();
    let best = longer.unwrap_or(best);
    let best = if threads > 1 { row_for_ranges(pixels, geometry.input_size[1], best, limit, threads) } else { best };
    if best < FEWEST_STAGED && pixels <= SHORT_IMAGE { pixels } else { best }
}

/// Returns the length of a row that is not staged, for equal ranges. It prefers many long rows, which suit any number of threads. Next come rows
/// that divide the image's rows evenly, so that ranges have the same image rows in every layer.
fn row_of_even_ranges(pixels: u64, image_row: u64, threads: u64) -> u64 {
    let largest_range = |n: u64| (pixels / n).div_ceil(threads) * n;
    let are_many = |n: u64| pixels / n >= RANGES.many_rows && n >= RANGES.long_row;
    let follows = |n: u64| image_row.is_multiple_of(n) || n.is_multiple_of(image_row.max(1));
    // Divisors come in pairs, and one of each pair is at most the root.
    let divisors = (1..=pixels.isqrt()).filter(|n| pixels.is_multiple_of(*n)).flat_map(|n| [n, pixels / n]);
    let lengths = divisors.filter(|n| *n >= RANGES.short_row.min(pixels));
    lengths.min_by_key(|&n| (largest_range(n), !are_many(n), !follows(n), std::cmp::Reverse(n))).unwrap_or(pixels)
}

/// Returns the shortest row above a limit that divides the pixels evenly, if it is not much longer. Images with prime sides have no shorter
/// one.
fn longer_row(pixels: u64, limit: u64, channels: u64) -> Option<u64> {
    (limit + 1..=pixels.min(LONGEST_STAGED / channels.max(1))).find(|n| pixels.is_multiple_of(*n))
}

/// Returns the length of a row such that each thread gets the same image rows in every layer, so layers need not wait. It
/// divides the image's rows evenly, is hardly shorter than the best length, and keeps ranges as equal. Too few rows do not count as ranges.
fn row_for_ranges(pixels: u64, image_row: u64, best: u64, limit: u64, threads: u64) -> u64 {
    let rows = |n: u64| pixels / n.max(1);
    let largest_range = |n: u64| rows(n).div_ceil(threads) * n;
    let follows = |n: &u64| pixels.is_multiple_of(*n) && (image_row.is_multiple_of(*n) || n.is_multiple_of(image_row));
    let serves = |n: &u64| follows(n) && rows(*n) >= RANGES.many_rows && largest_range(*n) <= largest_range(best);
    let is_long = |n: &u64| 8 * n >= 7 * best || rows(best) < RANGES.many_rows && 2 * n >= RANGES.short_row;
    (1..=limit.min(pixels)).rev().find(serves).filter(is_long).unwrap_or(best)
}

/// Returns the groups of k in a round of the innermost loop over `groups`.
pub(super) fn unroll(cx: &Context<'_>, groups: u64, form: Form) -> u64 {
    let products = form.products();
    if !cx.writes_out() {
        let Some(words) = words(cx.machine, form).filter(|_| cx.goal == Goal::Speed && !form.is_of_floats()) else { return 1 };
        // The end of a round takes as long as a pair's products. A few groups are a round without a loop.
        let are_few = cx.machine.takes_words_apart() && groups <= MOST_WORDS_WITHOUT_LOOP;
        return match groups.is_multiple_of(words.unroll) {
            true => words.unroll,
            false if are_few => groups.max(1),
            false => 1,
        };
    }
    let fits = |u: &u64| groups.is_multiple_of(*u) && u * products <= LONGEST_ROUND;
    if groups * products <= MOST_WITHOUT_LOOP { groups } else { rounds(form).iter().copied().find(fits).unwrap_or(1) }
}

impl DirectSchedule<'_> {
    /// Returns the dimension along which the kernel may be divided, if this is worth it. No range may read what another one writes.
    pub(super) fn ranges(&self, shared: &[Pair]) -> Option<Ranges> {
        let work = &self.work;
        let geometry = &work.geometry;
        let is_one_image = geometry.sizes.is_none() && geometry.matrices.is_empty() && geometry.batch * geometry.planes.output == 1;
        if !self.cx.sharing.is_worth_memory_of_ranges(geometry.multiply_accumulates()) || !is_one_image && !self.cx.sharing.is_for_threads()
        {
            return None;
        }
        if self.cx.sharing.is_for_threads() {
            return self.ranges_for_threads(shared);
        }
        let overwrites = shared.iter().any(|pair| pair.read == work.input);
        let rows = geometry.windows(1);
        // Filled panels are the outermost loop.
        let rows = if self.are_filled() || overwrites && !keeps_rows(self.cx, work) { 1 } else { rows };
        let panels = if geometry.groups > 1 || overwrites { 1 } else { self.cuts().count() };
        match (rows, panels) {
            (2.., _) if rows >= panels || rows >= RANGES.many_rows => Some(Ranges::Rows(rows)),
            (_, 2..) => Some(Ranges::Panels(panels)),
            _ => None,
        }
    }

    /// Returns the dimension that makes the shortest ranges, if ranges have their own working memory.
    fn ranges_for_threads(&self, shared: &[Pair]) -> Option<Ranges> {
        let work = &self.work;
        let geometry = &work.geometry;
        let overwrites = shared.iter().any(|pair| pair.read == work.input);
        if geometry.sizes.is_some() || overwrites && (geometry.batch > 1 || !keeps_rows(self.cx, work)) {
            return None;
        }
        let rows = geometry.windows(1);
        let rows = Ranges::Rows(rows);
        let panels = Ranges::Panels(if geometry.groups > 1 || overwrites { 1 } else { self.cuts().count() });
        let dimension = geometry.matrices.iter().position(|matrices| matrices.count > 1);
        let matrices = dimension.map(|dimension| Ranges::Matrices { dimension, count: geometry.matrices[dimension].count });
        let all = matrices.into_iter().chain([rows, panels]).filter(|ranges| ranges.extent() > 1);
        all.min_by_key(|&ranges| self.longest_range(ranges))
    }

    /// Returns the time of the longest range of a division, in thousandths of the whole.
    fn longest_range(&self, ranges: Ranges) -> u64 {
        let threads = self.cx.sharing.ranges();
        match ranges {
            Ranges::Matrices { count, .. } => equal_share(count, threads),
            Ranges::Rows(rows) => {
                let pixels = self.work.geometry.output_size.iter().product::<u64>().max(1);
                let filling = if self.are_filled() { 1000 * RANGES.pixels_of_filling / pixels } else { 0 };
                equal_share(rows, threads) + filling
            }
            Ranges::Panels(_) => {
                let outputs = self.outputs_per_group().max(1);
                let staging = if self.staging.is_some() { 1000 * RANGES.outputs_of_staging / outputs } else { 0 };
                largest_share(&self.cuts().lanes(), threads) + staging + RANGES.read_from_others
            }
        }
    }

    pub(super) fn name(&self) -> String {
        let element = self.work.element.name();
        let [rows, columns] = self.work.geometry.window;
        let is_conv = self.cx.group.root().is_some_and(|r| self.cx.function.insts[r].op() == crate::ir::Op::Conv);
        if is_conv { format!("conv_{rows}x{columns}_{element}") } else { format!("matmul_{element}") }
    }
}

#[cfg(test)]
mod tests {
    use super::{equal_share, largest_share, longer_row, row_for_ranges, row_of_even_ranges};

    #[test]
    fn rows_for_ranges_follow_those_of_the_image() {
        assert_eq!(row_for_ranges(28 * 28, 28, 8, 10, 2), 7);
        assert_eq!(row_for_ranges(14 * 14, 14, 28, 32, 2), 14, "7 rows are few");
        assert_eq!(row_for_ranges(9 * 56, 56, 63, 64, 2), 63, "9 rows are uneven, and 28 pixels few");
        assert_eq!(row_for_ranges(56 * 56, 56, 64, 64, 2), 56);
        assert_eq!(row_for_ranges(7 * 7, 7, 7, 8, 2), 7);
    }

    #[test]
    fn rows_of_prime_images_are_as_long_as_these() {
        assert_eq!(longer_row(257 * 257, 64, 32), Some(257));
        assert_eq!(longer_row(257 * 257, 64, 64), None, "a row of 16 KiB");
        assert_eq!(longer_row(6, 8, 1), None);
    }

    #[test]
    fn few_rows_make_uneven_ranges() {
        assert_eq!([largest_share(&[1; 7], 2), largest_share(&[1; 10], 2)], [571, 500]);
        assert_eq!([largest_share(&[1], 2), largest_share(&[1; 3], 4), largest_share(&[], 2)], [1000, 333, 0]);
        assert_eq!(largest_share(&[64, 64, 32], 2), 600, "the second range has 64 and 32");
        for (extent, threads) in [(1, 2), (3, 4), (7, 2), (9, 8), (100, 3)] {
            assert_eq!(equal_share(extent, threads), largest_share(&vec![1; extent as usize], threads));
        }
    }

    #[test]
    fn rows_without_staging_make_even_ranges() {
        let rows = |pixels: u64, image_row: u64, threads: u64| pixels / row_of_even_ranges(pixels, image_row, threads);
        assert_eq!([rows(12 * 12, 12, 2), rows(14 * 14, 14, 2), rows(24 * 24, 24, 2)], [2, 2, 8]);
        assert_eq!([rows(12 * 12, 12, 8), rows(14 * 14, 14, 4)], [8, 4]);
        assert_eq!([rows(7 * 7, 7, 2), rows(5, 5, 2), rows(1, 1, 4)], [1; 3], "shorter rows leave tiles empty");
        assert_eq!(rows(112 * 112, 112, 2), 8, "for any number of threads");
    }
}
