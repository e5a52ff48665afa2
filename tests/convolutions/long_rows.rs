//! Convolutions of a long row of pixels, which are computed in sections, and of images with one column.

use super::super::check_everywhere;
use super::{at_v4, elements, schedules, sums_of};
use modelc::ir::{ElementType, FunctionBuilder, Module, Tensor, TensorType, Type, Value, WindowGeometry};
use modelc::program::Program;

/// A convolution of a row, and another one of its result, if it has the same number of channels and the sums are floats.
#[derive(Clone, Copy, Debug)]
struct Case {
    element: ElementType,
    images: u64,
    pixels: u64,
    channels: u64,
    outputs: u64,
    groups: u64,
    window: u64,
    stride: i64,
    dilation: i64,
    input_dilation: i64,
    padding: (i64, i64),
    /// `true` if the image has one column.
    is_column: bool,
}

const PLAIN: Case = Case {
    element: ElementType::F32,
    images: 1,
    pixels: 96,
    channels: 128,
    outputs: 4,
    groups: 1,
    window: 5,
    stride: 1,
    dilation: 1,
    input_dilation: 1,
    padding: (2, 2),
    is_column: false,
};

impl Case {
    fn module(&self) -> (Module, Tensor) {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let shape = self.spatial(self.images, self.pixels, self.channels);
        let row = builder.param(Type::Tensor(TensorType::of(self.element, &shape)), None);
        let mut result = self.convolution(&mut builder, row, 1);
        if self.element == ElementType::F32 && self.channels == self.outputs {
            result = self.convolution(&mut builder, result, 3);
        }
        builder.finish_method("forward", vec![result]);
        let bytes = elements(self.element, shape.iter().product(), 2);
        (module, Tensor { element: self.element, bytes, shape })
    }

    fn convolution(&self, builder: &mut FunctionBuilder<'_>, row: Value, salt: u64) -> Value {
        let filter = self.spatial(self.outputs, self.window, self.channels / self.groups);
        let weights = elements(self.element, filter.iter().product(), salt);
        let filter = builder.literal(TensorType::of(self.element, &filter), weights).expect("a filter");
        let with_column = |n: i64, one: i64| if self.is_column { vec![n, one] } else { vec![n] };
        let geometry = WindowGeometry {
            strides: with_column(self.stride, 1),
            dilation: with_column(self.dilation, 1),
            padding_low: with_column(self.padding.0, 0),
            padding_high: with_column(self.padding.1, 0),
            ..WindowGeometry::default()
        };
        let geometry = (geometry, with_column(self.input_dilation, 1));
        let (zero_points, accumulator) = sums_of(self.element);
        builder.dilated_conv(row, filter, geometry, self.groups, zero_points, accumulator).expect("a convolution")
    }

    fn spatial(&self, outer: u64, pixels: u64, inner: u64) -> Vec<u64> {
        if self.is_column { vec![outer, pixels, 1, inner] } else { vec![outer, pixels, inner] }
    }

    fn program(&self) -> Program {
        at_v4(&self.module().0)
    }

    /// Returns the schedules of its kernels at a level.
    fn schedules(&self) -> Vec<String> {
        schedules(&self.program())
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for element in [ElementType::F32, ElementType::I8, ElementType::U8] {
        let plain = Case { element, ..PLAIN };
        let depthwise = Case { groups: 128, outputs: 128, ..plain };
        cases.extend([
            plain,
            Case { is_column: true, images: 2, ..plain },
            // No padding, much padding, and padding on one side.
            Case { padding: (0, 0), pixels: 100, ..plain },
            Case { padding: (300, 7), window: 9, ..plain },
            Case { padding: (0, 4), ..plain },
            // Whole sections of padding, before the row and after it.
            Case { padding: (200, 200), window: 9, pixels: 96, channels: 24, ..plain },
            // Windows with gaps, wide windows, and windows without common pixels.
            Case { stride: 2, outputs: 24, pixels: 192, ..plain },
            Case { stride: 3, window: 2, padding: (1, 0), pixels: 286, ..plain },
            Case { dilation: 7, padding: (14, 14), ..plain },
            // The last section is shorter.
            Case { pixels: 389, outputs: 3, window: 3, padding: (1, 1), ..plain },
            // Phases with an equal number of pixels, and with fewer in some.
            Case { input_dilation: 2, padding: (3, 5), window: 8, ..plain },
            Case { input_dilation: 2, padding: (3, 4), window: 8, ..plain },
            Case { input_dilation: 4, padding: (5, 3), outputs: 2, pixels: 401, window: 7, ..plain },
            // Grouped and depthwise convolutions.
            Case { groups: 2, images: 2, ..plain },
            Case { groups: 16, outputs: 16, ..plain },
            depthwise,
            Case { outputs: 256, stride: 2, pixels: 192, is_column: true, ..depthwise },
            Case { pixels: 389, images: 2, ..depthwise },
        ]);
    }
    cases.push(IN_PLACE);
    cases
}

/// Two convolutions, of which the second overwrites its operand.
const IN_PLACE: Case = Case { pixels: 640, channels: 16, outputs: 16, ..PLAIN };

#[test]
fn long_rows_match_on_every_machine() {
    for case in cases() {
        let (module, row) = case.module();
        check_everywhere(&module, &row, &format!("{case:?}"));
    }
}

#[test]
fn rows_and_columns_are_staged_in_sections() {
    let is_staged = |case: &Case| case.element == ElementType::F32 && case.padding != (0, 0);
    for case in cases().into_iter().filter(is_staged) {
        let schedules = case.schedules();
        assert!(schedules.iter().all(|schedule| schedule.ends_with("staged sections")), "{case:?}: {schedules:?}");
    }
}

#[test]
fn the_result_of_a_long_row_takes_its_place() {
    for is_column in [false, true] {
        let program = Case { is_column, pixels: 6400, ..IN_PLACE }.program();
        let row = 6400 * 16 * 4;
        let bytes = program.methods[0].scratch_bytes;
        assert!(bytes < row + row / 8, "{bytes} B for a row of {row} B");
    }
}

/// A row of few pixels is not cut. Neither is a row of a prime number of sections, if another step needs more memory.
#[test]
fn other_rows_are_staged_as_they_are() {
    for pixels in [60, 331] {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let larger = Case { pixels: 6400, ..IN_PLACE };
        let mut input = |case: Case| {
            let shape = case.spatial(case.images, case.pixels, case.channels);
            builder.param(Type::Tensor(TensorType::of(case.element, &shape)), None)
        };
        let case = Case { pixels, ..PLAIN };
        let (row, other) = (input(case), input(larger));
        let first = larger.convolution(&mut builder, other, 1);
        let results = vec![case.convolution(&mut builder, row, 1), larger.convolution(&mut builder, first, 3)];
        builder.finish_method("forward", results);
        let schedules = schedules(&at_v4(&module));
        let whole = schedules.iter().filter(|schedule| schedule.ends_with("staged rows")).count();
        assert_eq!(whole, 1, "{pixels}: {schedules:?}");
    }
}

/// Such rows are cut if they need the most memory.
#[test]
fn rows_that_need_most_are_cut_into_short_sections() {
    for pixels in [60, 331] {
        let program = Case { pixels, ..PLAIN }.program();
        let row = pixels * 128 * 4;
        assert!(schedules(&program).iter().all(|schedule| schedule.ends_with("staged sections")), "{:?}", schedules(&program));
        let bytes = program.methods[0].scratch_bytes;
        assert!(bytes < row / 4, "{bytes} B for a row of {row} B");
    }
}
