//! The sums of a contraction: what is known of them, and the form of the products that they add.

use super::form::Form;
use super::geometry::Contraction;
use crate::ir::ElementType;
use crate::machine::Machine;
use crate::schedule::elementwise::sums::SumRanges;

impl Contraction {
    /// The largest magnitude of an integer input minus its zero point.
    fn input_magnitude(&self) -> Option<i64> {
        let (low, high) = self.element.integer_range()?;
        if self.open {
            return Some((high - low) as i64);
        }
        Some((low as i64 - self.input_zero_point).abs().max((high as i64 - self.input_zero_point).abs()))
    }

    /// The interval of the sums, from the weights and the type of the input; `None` when it is not known.
    pub fn range(&self) -> Option<(i64, i64)> {
        if self.open {
            return None;
        }
        let weights = self.weights.magnitudes(self.per_output())?.largest_sum;
        let bias = self.bias.iter().flatten().map(|&b| i64::from(b).abs()).max().unwrap_or(0);
        let bound = weights.checked_mul(self.input_magnitude()?)?.checked_add(bias)?;
        Some((-bound, bound))
    }

    /// The intervals of the sums of all output channels, for constant weights whose sums stay within 32 bits; else none. That of one channel lies
    /// around its bias, which may be far from 0 and from those of others.
    fn channel_ranges(&self) -> Option<Vec<(i64, i64)>> {
        let magnitudes = self.weights.magnitudes(self.per_output()).filter(|_| !self.open)?;
        let input = self.input_magnitude()?;
        let range = |(channel, &weights): (usize, &i64)| {
            let bias = self.bias.as_ref().map_or(Some(0), |bias| bias.get(channel).copied())?;
            let bound = weights.checked_mul(input)?;
            let (low, high) = (i64::from(bias) - bound, i64::from(bias) + bound);
            (i32::try_from(low).is_ok() && i32::try_from(high).is_ok()).then_some((low, high))
        };
        let ranges: Vec<(i64, i64)> = magnitudes.sums.iter().enumerate().map(range).collect::<Option<_>>()?;
        (ranges.len() as u64 == self.outputs).then_some(ranges)
    }

    /// What is known of the sums.
    pub fn sum_ranges(&self) -> SumRanges {
        SumRanges { all: self.range(), channels: self.channel_ranges().unwrap_or_default() }
    }

    /// How many products a 32-bit sum holds before it must be added to a 64-bit one; `None` where it holds all of them, or where
    /// the result is modulo 2³² anyway.
    pub fn products_in_32_bits(&self) -> Option<u64> {
        if self.accumulator != ElementType::I64 || self.range().is_some_and(|(_, high)| high <= i64::from(i32::MAX)) {
            return None;
        }
        let weight = self.weights.magnitudes(self.per_output())?.largest;
        let weight = if self.open { i64::from(u8::MAX) } else { weight };
        let product = weight.checked_mul(self.input_magnitude()?)?.max(1);
        Some((i64::from(i32::MAX) / product) as u64)
    }

    /// The value of a padded tap in a form.
    pub fn border(&self, form: Form) -> i64 {
        form.border(self.element, self.input_zero_point)
    }

    /// The form of the operands on a machine that reads the same panels as those of all levels.
    pub fn form(&self, machine: &Machine, levels: &[&Machine]) -> Form {
        let own = self.form_of_level(machine, levels);
        let bytes = levels.iter().map(|level| self.form_of_level(level, levels)).find(|form| form.is_of_bytes());
        let Some(bytes) = bytes.filter(|_| own == Form::Signed16) else { return own };
        let signed = bytes.is_signed();
        // Where vectors are short and shifts overwrite their operand, or no other pixel shares the weights, taking bytes apart costs more
        // than two sums.
        let apart = machine.splits_bytes && self.pixels() > 1 && self.reads_whole_fours();
        if apart { Form::EvenAndOdd { signed } } else { Form::Neighbours { signed } }
    }

    /// Whether every tap of every pixel begins at a multiple of four elements, and products read the weights as they are stored.
    fn reads_whole_fours(&self) -> bool {
        (self.channels / self.groups).is_multiple_of(4) && self.weights.are_whole_bytes()
    }

    /// The form of the operands on one of some levels, if it shared no panels with others. Panels of moved weights are not for GPUs.
    fn form_of_level(&self, machine: &Machine, levels: &[&Machine]) -> Form {
        let form = self.form_alone(machine);
        let moves = form == Form::Signed16 && levels.iter().all(|level| !level.at_once) && self.moved(machine).is_some();
        let form = if moves { Form::of_bytes(machine).unwrap_or(form) } else { form };
        self.in_16_bits(machine, form)
    }

    /// The form of the operands on a machine alone, of weights as they are.
    fn form_alone(&self, machine: &Machine) -> Form {
        if self.weights.are_floats() {
            return Form::Float;
        }
        let are_bytes = self.weights.fit_signed_byte(self.open) && self.element.bits() == 8 && self.products_in_32_bits().is_none();
        // GPUs flip no signs: what that gains there is not measured.
        let takes = |form: &Form| are_bytes && (!machine.at_once || form.is_signed() == self.element.is_signed_integer());
        Form::of_bytes(machine).filter(takes).unwrap_or(Form::Signed16)
    }
}
