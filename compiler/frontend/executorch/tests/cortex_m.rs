//! Calls of the Cortex-M back end whose numbers do not fit: each is an error that names the argument.

use super::Program;
use crate::diagnostic::{Diagnostic, Kind};
use crate::frontend::LoadOptions;
use crate::frontend::executorch::program::EValue;
use crate::ir::ElementType::{self, I8, I32, I64};
use crate::ir::Module;
use crate::ir::text::{Constants, print_module};

/// Output channels of the convolution.
const CHANNELS: usize = 3;

/// The numbers of a convolution of `[1, 2, 4, 4]` by three filters of one pixel.
#[derive(Clone)]
struct Convolution {
    input: Vec<u64>,
    filter: Vec<u64>,
    offsets: [i64; 2],
    multipliers: Vec<i32>,
    shifts: Vec<i32>,
    bounds: [i64; 2],
    /// Bytes of the memory for CMSIS-NN.
    scratch: u64,
}

impl Default for Convolution {
    fn default() -> Self {
        Self {
            input: vec![1, 2, 4, 4],
            filter: vec![CHANNELS as u64, 1, 1, 2],
            offsets: [-3, 5],
            multipliers: vec![1 << 30; CHANNELS],
            shifts: vec![-1; CHANNELS],
            bounds: [-128, 127],
            scratch: 64,
        }
    }
}

impl Convolution {
    fn load(self) -> Result<Module, Vec<Diagnostic>> {
        self.load_with(|p, numbers| p.constant(I32, &[numbers.len() as u64], words(numbers)))
    }

    /// Translates the program, whose multipliers and shifts are the registers that `place` makes.
    fn load_with(self, place: impl Fn(&mut Program, &[i32]) -> usize) -> Result<Module, Vec<Diagnostic>> {
        let mut p = Program::default();
        let input = p.input(I8, &self.input, false);
        let filter_bytes = self.filter.iter().product::<u64>();
        let filter = p.constant(I8, &self.filter, (0..filter_bytes).map(|i| i as u8).collect());
        let (none, one, zero) = (p.value(EValue::None), p.int(1), p.int(0));
        let (ones, zeros) = (p.ints(&[one, one]), p.ints(&[zero, zero]));
        let [offset, zero_point] = self.offsets.map(|number| p.int(number));
        let (multipliers, shifts) = (place(&mut p, &self.multipliers), place(&mut p, &self.shifts));
        let [least, most] = self.bounds.map(|number| p.int(number));
        let scratch = p.tensor(ElementType::U8, &[self.scratch], false);
        let y = p.output(I8, &[1, CHANNELS as u64, 4, 4]);
        let arguments = [input, filter, none, ones, zeros, ones, offset, zero_point, multipliers, shifts, least, most, scratch, y, y];
        p.call("cortex_m::quantized_conv2d.out", &arguments);
        p.module_with(&LoadOptions::default())
    }
}

fn words(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn text(module: Result<Module, Vec<Diagnostic>>) -> String {
    print_module(&module.unwrap_or_else(|faults| panic!("{faults:#?}")), Constants::Whole)
}

/// Checks for one error of the model with these words.
fn refused(module: Result<Module, Vec<Diagnostic>>, says: &str) {
    let faults = module.expect_err(says);
    let [fault] = &faults[..] else { panic!("{says}: {faults:#?}") };
    assert!(fault.message.contains(says), "{says}: {fault}");
    assert_ne!(fault.kind(), Kind::Bug, "{fault}");
}

#[test]
fn multipliers_and_shifts_are_one_a_channel() {
    for count in [0, 1, CHANNELS - 1, CHANNELS + 1] {
        refused(Convolution { multipliers: vec![1 << 30; count], ..Convolution::default() }.load(), "argument 8 has a wrong length");
        refused(Convolution { shifts: vec![-1; count], ..Convolution::default() }.load(), "argument 9 has a wrong length");
    }
    let wide = |p: &mut Program, numbers: &[i32]| {
        let bytes = numbers.iter().flat_map(|&number| i64::from(number).to_le_bytes()).collect();
        p.constant(I64, &[numbers.len() as u64], bytes)
    };
    refused(Convolution::default().load_with(wide), "argument 8 is of a wrong type");
    let of_the_caller = |p: &mut Program, numbers: &[i32]| p.input(I32, &[numbers.len() as u64], false);
    refused(Convolution::default().load_with(of_the_caller), "argument 8 must be known at compile time");
}

#[test]
fn shifts_have_a_range() {
    let shifted = |shift| Convolution { shifts: vec![0, shift, 0], ..Convolution::default() };
    for shift in [-31, 30] {
        text(shifted(shift).load());
    }
    for shift in [i32::MIN, -32, 31, i32::MAX] {
        refused(shifted(shift).load(), "the shift of a multiplier is out of range");
    }
}

#[test]
fn offsets_and_bounds_have_a_range() {
    for wide in [i64::MIN, i64::from(i32::MIN) - 1, 1 << 31] {
        refused(Convolution { offsets: [wide, 5], ..Convolution::default() }.load(), "argument 6 is out of range");
        refused(Convolution { offsets: [-3, wide], ..Convolution::default() }.load(), "argument 7 is out of range");
    }
    refused(Convolution { offsets: [-3, 1 << 21], ..Convolution::default() }.load(), "the zero point of the result is out of range");
    for bounds in [[-129, 127], [-128, 128], [5, 4]] {
        refused(Convolution { bounds, ..Convolution::default() }.load(), "the bounds of the result are out of range");
    }
}

#[test]
fn images_and_filters_have_four_dimensions() {
    refused(Convolution { input: vec![2, 4, 4], ..Convolution::default() }.load(), "argument 0 has a wrong number of dimensions");
    refused(Convolution { filter: vec![3, 2], ..Convolution::default() }.load(), "argument 1 has a wrong number of dimensions");
    // No group has three channels of two, and none has no channel.
    for of_group in [0, 3] {
        assert!(Convolution { filter: vec![3, 1, 1, of_group], ..Convolution::default() }.load().is_err(), "{of_group} channels");
    }
}

/// The scratch memory is CMSIS-NN's, which no code of ours uses: its size is ignored, also if it is wrong.
#[test]
fn scratch_memory_of_any_size_is_ignored() {
    let usual = text(Convolution::default().load());
    for scratch in [0, 1, 1 << 40] {
        assert_eq!(text(Convolution { scratch, ..Convolution::default() }.load()), usual, "{scratch} B");
    }
}

/// Translates a product of `[2, 4]` by three rows of weights, whose multipliers and shifts are lists.
fn linear(multipliers: &[i64], shifts: &[i64]) -> Result<Module, Vec<Diagnostic>> {
    let mut p = Program::default();
    let (input, weights) = (p.input(I8, &[2, 4], false), p.constant(I8, &[3, 4], (0..12).collect()));
    let (none, zero) = (p.value(EValue::None), p.int(0));
    let [multipliers, shifts] = [multipliers, shifts].map(|numbers| {
        let items: Vec<usize> = numbers.iter().map(|&number| p.int(number)).collect();
        p.ints(&items)
    });
    let (most, least, y) = (p.int(127), p.int(-128), p.output(I8, &[2, 3]));
    let arguments = [input, weights, none, none, zero, zero, zero, multipliers, shifts, most, least, y, y];
    p.call("cortex_m::quantized_linear.out", &arguments);
    p.module_with(&LoadOptions::default())
}

#[test]
fn a_product_of_rows_has_one_multiplier() {
    text(linear(&[1 << 30], &[-1]));
    for wrong in [&[][..], &[1 << 30; 2]] {
        refused(linear(wrong, &[-1]), "argument 7 has a wrong length");
        refused(linear(&[1 << 30], wrong), "argument 8 has a wrong length");
    }
    refused(linear(&[1 << 31], &[-1]), "argument 7 is out of range");
    refused(linear(&[1 << 30], &[31]), "the shift of a multiplier is out of range");
}

#[test]
fn tables_have_an_entry_for_each_byte() {
    for entries in [0, 255, 257] {
        let mut p = Program::default();
        let (input, table) = (p.input(I8, &[7], false), p.constant(I8, &[entries], vec![1; entries as usize]));
        let y = p.output(I8, &[7]);
        p.call("cortex_m::quantized_activation.out", &[input, table, y, y]);
        refused(p.module_with(&LoadOptions::default()), "the table has a wrong length");
    }
}
