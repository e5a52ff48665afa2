//! Weights and images of extreme bytes: sums of two products fill 16 bits, or overflow if both weights are the smallest byte.

use super::super::{check_everywhere, hot_loops};
use modelc::ir::{ElementType, FunctionBuilder, Module, Tensor, TensorType, Type, ZeroPoints};

/// Makes a convolution, in groups of `groups` channels, of an image of one byte with two alternating weights.
fn convolution(window: u64, groups: u64, image: i8, weights: [i8; 2]) -> (Module, Tensor) {
    let (channels, outputs) = (44, 44);
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let shape = [1, 6, 7, channels];
    let input = builder.param(Type::Tensor(TensorType::of(ElementType::I8, &shape)), None);
    let filter = [outputs, window, window, channels / groups];
    let bytes = (0..filter.iter().product::<u64>()).map(|i| weights[(i / 3 % 2) as usize] as u8).collect();
    let filter = builder.literal(TensorType::of(ElementType::I8, &filter), bytes).expect("a filter");
    let sums =
        builder.conv(input, filter, hot_loops::same_size(window), groups, ZeroPoints::NONE, ElementType::I32).expect("a convolution");
    builder.finish_method("forward", vec![sums]);
    let bytes = vec![image as u8; shape.iter().product::<u64>() as usize];
    (module, Tensor { element: ElementType::I8, shape: shape.to_vec(), bytes })
}

#[test]
fn products_of_the_largest_bytes_match_on_every_machine() {
    for (window, groups) in [(1, 1), (3, 1), (3, 44), (5, 44)] {
        for image in [-128, 127] {
            for weights in [[-127, -127], [-128, -128], [-128, 127], [127, 127]] {
                let (mut module, input) = convolution(window, groups, image, weights);
                modelc::passes::run_all(&mut module);
                check_everywhere(&module, &input, &format!("{window}x{window} in {groups} groups, {image} by {weights:?}"));
            }
        }
    }
}
