//! Convolutions of images with channels in planes: rows are staged from the planes, and no kernel transposes the image.

use super::super::{check_everywhere, check_level};
use super::{at_v4, elements, marked, schedules, sums_of};
use modelc::ir::{ElementType, Extent, FunctionBuilder, Module, Tensor, TensorType, Type, WindowGeometry};
use modelc::machine::{GPUS, MACHINES};
use modelc::{lower, pipeline};

/// A convolution of transposed planes.
#[derive(Clone, Copy, Debug)]
struct Case {
    element: ElementType,
    images: u64,
    channels: u64,
    columns: u64,
    window: u64,
    stride: i64,
    padding: i64,
    /// The rows of the image in the convolution.
    rows: (u64, u64),
    /// `true` if the transpose is also an output.
    is_read: bool,
}

/// Rows of the planes.
const ROWS: u64 = 9;

const PLAIN: Case = Case {
    element: ElementType::F32,
    images: 1,
    channels: 3,
    columns: 21,
    window: 3,
    stride: 1,
    padding: 1,
    rows: (0, ROWS),
    is_read: false,
};

impl Case {
    fn module(&self) -> (Module, Tensor) {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let shape = [self.images, self.channels, ROWS, self.columns];
        let planes = builder.param(Type::Tensor(TensorType::of(self.element, &shape)), None);
        let pixels = builder.transpose(planes, vec![0, 2, 3, 1]).expect("four dimensions");
        let (first, end) = self.rows;
        let mut image = pixels;
        if (first, end) != (0, ROWS) {
            let known = |list: [u64; 4]| list.map(Extent::Static).to_vec();
            let size = known([self.images, end - first, self.columns, self.channels]);
            image = builder.slice(pixels, known([0, first, 0, 0]), size, vec![1; 4]).expect("rows of the image");
        }
        let filter = [18, self.window, self.window, self.channels];
        let weights = elements(self.element, filter.iter().product(), 1);
        let filter = builder.literal(TensorType::of(self.element, &filter), weights).expect("a filter");
        let geometry = WindowGeometry {
            strides: vec![self.stride; 2],
            dilation: vec![1; 2],
            padding_low: vec![self.padding; 2],
            padding_high: vec![self.padding; 2],
            ..WindowGeometry::default()
        };
        let (zero_points, accumulator) = sums_of(self.element);
        let sums = builder.conv(image, filter, geometry, 1, zero_points, accumulator).expect("a convolution");
        let mut outputs = vec![sums];
        outputs.extend(self.is_read.then_some(pixels));
        builder.finish_method("forward", outputs);
        let bytes = elements(self.element, shape.iter().product(), 2);
        (module, Tensor { element: self.element, bytes, shape: shape.to_vec() })
    }

    /// Returns the schedules of its kernels at a level.
    fn schedules(&self) -> Vec<String> {
        schedules(&at_v4(&self.module().0))
    }
}

fn cases() -> Vec<Case> {
    let elements = [ElementType::F32, ElementType::I8, ElementType::U8];
    let mut cases: Vec<Case> = elements.into_iter().map(|element| Case { element, ..PLAIN }).collect();
    for element in elements {
        cases.extend([2, 4].map(|channels| Case { element, channels, columns: 8, images: 2, ..PLAIN }));
        cases.push(Case { element, window: 2, stride: 2, padding: 0, columns: 70, ..PLAIN });
        cases.push(Case { element, window: 5, padding: 2, rows: (2, 7), ..PLAIN });
        cases.push(Case { element, is_read: true, ..PLAIN });
    }
    cases
}

#[test]
fn planes_match_on_every_machine() {
    for case in cases() {
        let (module, planes) = case.module();
        check_everywhere(&module, &planes, &format!("{case:?}"));
    }
}

#[test]
fn planes_match_on_every_device() {
    for case in cases() {
        let (module, planes) = case.module();
        let module = marked(module);
        for gpu in GPUS {
            let options = lower::Options { gpu: Some(gpu), ..lower::Options::new(&MACHINES[0]) };
            let lowered = pipeline::lower(&module, "module", options).unwrap_or_else(|error| panic!("{case:?}: {error}"));
            let outcome = check_level(&module, std::slice::from_ref(&planes), &lowered.program);
            outcome.unwrap_or_else(|error| panic!("{case:?} on {}: {error}", gpu.level));
        }
    }
}

#[test]
fn no_kernel_transposes_what_convolutions_alone_read() {
    for case in cases() {
        let schedules = case.schedules();
        assert_eq!(schedules.len(), 1 + usize::from(case.is_read), "{case:?}: {schedules:?}");
        assert!(schedules.iter().any(|schedule| schedule.ends_with("staged rows of planes")), "{case:?}: {schedules:?}");
    }
}

/// More planes are transposed once, in square blocks. A window of one pixel needs no staging.
#[test]
fn other_images_are_transposed() {
    for case in [Case { channels: 5, ..PLAIN }, Case { window: 1, padding: 0, ..PLAIN }] {
        let schedules = case.schedules();
        assert!(schedules.iter().any(|schedule| schedule.starts_with("transpose")), "{case:?}: {schedules:?}");
    }
}
