//! The sums of a contraction: their bounds, and the form of their products.

use super::form::Form;
use crate::ir::{ElementType, Interval};
use crate::machine::Machine;
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::rows::staging::CHUNK;
use crate::schedule::elementwise::sums::SumRanges;
use crate::schedule::technique::Technique;

/// Output channels from which on the elements of a single pixel are staged for them.
const FEWEST_OUTPUTS: u64 = 32;

/// Limits of the length of padded weights, as multiples of the weights: for small code, and for fast code. A step of sixteen with four products takes
/// fewer instructions than these four take without it.
const LONGEST_SMALL: u64 = 2;
const LONGEST: u64 = 4;

impl Contraction {
    /// Returns the largest magnitude of an integer input minus its zero point.
    fn input_magnitude(&self) -> Option<i64> {
        let (low, high) = self.element.integer_range()?;
        if self.open {
            return Some((high - low) as i64);
        }
        Some((low as i64 - self.input_zero_point).abs().max((high as i64 - self.input_zero_point).abs()))
    }

    /// Returns the interval of the sums, from the weights and the type of the input. `None` if it is unknown.
    pub fn range(&self) -> Option<Interval> {
        if self.open {
            return None;
        }
        let weights = self.weights.magnitudes(self.geometry.per_output())?.largest_sum;
        let bias = self.bias.iter().flatten().map(|&b| i64::from(b).abs()).max().unwrap_or(0);
        let bound = weights.checked_mul(self.input_magnitude()?)?.checked_add(bias)?;
        Some(Interval::new(-bound, bound))
    }

    /// Returns the interval of each output channel's sums, if weights are constant and all sums stay within 32 bits. The interval of a channel
    /// is around its bias, which may be far from 0 and from other channels' biases.
    fn channel_ranges(&self) -> Option<Vec<Interval>> {
        let magnitudes = self.weights.magnitudes(self.geometry.per_output()).filter(|_| !self.open)?;
        let input = self.input_magnitude()?;
        let range = |(channel, &weights): (usize, &i64)| {
            let bias = self.bias.as_ref().map_or(Some(0), |bias| bias.get(channel).copied())?;
            let bound = weights.checked_mul(input)?;
            let (low, high) = (i64::from(bias) - bound, i64::from(bias) + bound);
            (i32::try_from(low).is_ok() && i32::try_from(high).is_ok()).then_some(Interval::new(low, high))
        };
        let ranges: Vec<Interval> = magnitudes.sums.iter().enumerate().map(range).collect::<Option<_>>()?;
        (ranges.len() as u64 == self.geometry.outputs).then_some(ranges)
    }

    /// Returns the bounds of the sums.
    pub fn sum_ranges(&self) -> SumRanges {
        SumRanges { all: self.range(), channels: self.channel_ranges().unwrap_or_default() }
    }

    /// Returns the maximum number of products in a 32-bit sum before it must be added to a 64-bit one. `None` if it holds all of them, or if
    /// the result is modulo 2³² anyway.
    pub fn products_in_32_bits(&self) -> Option<u64> {
        if self.accumulator != ElementType::I64 || self.range().is_some_and(|range| range.high <= i64::from(i32::MAX)) {
            return None;
        }
        let weight = self.weights.magnitudes(self.geometry.per_output())?.largest;
        let weight = if self.open { i64::from(u8::MAX) } else { weight };
        let product = weight.checked_mul(self.input_magnitude()?)?.max(1);
        Some((i64::from(i32::MAX) / product) as u64)
    }

    /// Returns the value of a padded tap in a form.
    pub fn border(&self, form: Form) -> i64 {
        form.border(self.element, self.input_zero_point)
    }

    /// Returns the form of the operands on a machine that reads the same panels as all CPU levels.
    pub fn form(&self, cx: &Context<'_>) -> Form {
        let (machine, levels) = (cx.machine, cx.levels);
        let own = self.form_of_level(machine, cx);
        if own == Form::Signed8 && machine.byte_sixteens && cx.uses(Technique::Sixteens) && self.fills_sixteens(cx) {
            return Form::Sixteens;
        }
        if machine.pixel_pairs && cx.uses(Technique::PixelPairs) && own == Form::Signed16 && self.takes_pixel_pairs(levels) {
            return Form::PixelPairs;
        }
        if own == Form::Signed8 && cx.uses(Technique::Halves) && self.holds_halves(machine) {
            return Form::Apart { signed: true };
        }
        let bytes = levels.iter().map(|level| self.form_of_level(level, cx)).find(|form| form.is_of_bytes());
        let Some(bytes) = bytes.filter(|_| own == Form::Signed16) else { return own };
        let signed = bytes.is_signed();
        // Separating bytes may cost more than two sums: if vectors are short and shifts overwrite their operand, or if no other pixel shares
        // the weights.
        let splits = machine.splits_bytes && cx.uses(Technique::EvenAndOdd);
        let apart = splits && self.geometry.pixels() > 1 && self.reads_whole_fours();
        if apart { Form::EvenAndOdd { signed } } else { Form::Neighbours { signed } }
    }

    /// Tests whether weights may be padded with zeros to sixteens, which a row of taps, or a copied window, fills well enough. Moved weights have other numbers in their
    /// padding.
    fn fills_sixteens(&self, cx: &Context<'_>) -> bool {
        let geometry = &self.geometry;
        let taps = if geometry.groups == 1 && geometry.phases[2].dilation == 1 { geometry.window[1] } else { 1 };
        let run = geometry.copied_windows(cx).map_or(taps * (geometry.channels / geometry.groups), |windows| windows.window());
        let most = if cx.goal == Goal::Size { LONGEST_SMALL } else { LONGEST };
        let are_plain = self.weights.are_whole_bytes() && self.weights.fit_signed_byte(self.open);
        are_plain && run.next_multiple_of(Form::Sixteens.group()) <= most * run
    }

    /// Tests whether products are of bytes, and of constants that fit signed bytes.
    pub fn multiplies_constant_bytes(&self) -> bool {
        self.element.bits() == 8 && self.weights.are_whole_bytes() && self.weights.fit_signed_byte(self.open) && !self.open
    }

    /// Tests whether the bytes of two pixels can share a word. Their sums take all 32 bits.
    fn takes_pixel_pairs(&self, levels: &[&Machine]) -> bool {
        let geometry = &self.geometry;
        let is_plain = geometry.groups == 1
            && geometry.sizes.is_none()
            && geometry.matrices.is_empty()
            && geometry.is_one_phase()
            && geometry.channel_planes.is_none();
        self.multiplies_constant_bytes() && is_plain && levels.len() == 1 && self.products_in_32_bits().is_none()
    }

    /// True if rows are staged as halves where products take bytes of words apart: enough products share each of them. A long row that is a single
    /// pixel stays in its place.
    fn holds_halves(&self, machine: &Machine) -> bool {
        let geometry = &self.geometry;
        let is_shared = geometry.pixels() > 1 || geometry.outputs >= FEWEST_OUTPUTS && geometry.channels <= CHUNK;
        machine.takes_words_apart() && is_shared && self.reads_whole_fours()
    }

    /// Tests whether every tap of every pixel begins at a multiple of four elements, and products read the weights as stored.
    fn reads_whole_fours(&self) -> bool {
        (self.geometry.channels / self.geometry.groups).is_multiple_of(4) && self.weights.are_whole_bytes()
    }

    /// Returns the form of the operands on one CPU level, if it shared no panels with others.
    fn form_of_level(&self, machine: &Machine, cx: &Context<'_>) -> Form {
        let form = self.form_alone(machine);
        let may_move = cx.uses(Technique::Moved) && cx.levels.iter().all(|level| level.converts_operands());
        let moves = form == Form::Signed16 && may_move && self.moved(machine).is_some();
        let form = if moves { Form::of_bytes(machine).unwrap_or(form) } else { form };
        self.in_16_bits(cx, machine, form)
    }

    /// Returns the form of the operands on a single machine, for weights that are not moved.
    fn form_alone(&self, machine: &Machine) -> Form {
        if self.weights.are_floats() {
            return Form::Float;
        }
        let are_bytes = self.weights.fit_signed_byte(self.open) && self.element.bits() == 8 && self.products_in_32_bits().is_none();
        let takes = |form: &Form| are_bytes && (machine.converts_operands() || form.is_signed() == self.element.is_signed_integer());
        Form::of_bytes(machine).filter(takes).unwrap_or(Form::Signed16)
    }
}
