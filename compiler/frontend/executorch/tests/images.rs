//! Operators on images with run-time extents. Each size gives the same results as a program of this size.

use super::{Program, run, varying};
use crate::frontend::executorch::program::EValue;
use crate::ir::{ElementType::F32, Tensor};

/// The largest image.
const LARGEST: [u64; 4] = [2, 4, 9, 8];

fn floats(shape: &[u64], seed: u64) -> Tensor {
    let count: u64 = shape.iter().product();
    let number = |i: u64| ((i * 37 + seed * 11) % 23) as f32 / 4.0 - 2.0;
    Tensor { element: F32, shape: shape.to_vec(), bytes: (0..count).flat_map(|i| number(i).to_le_bytes()).collect() }
}

/// A program of one operator on an image. It returns the operands besides the image.
type Build = fn(&mut Program, x: usize, y: usize) -> Vec<Tensor>;

fn pair(p: &mut Program, a: i64, b: i64) -> usize {
    let items = [p.int(a), p.int(b)];
    p.ints(&items)
}

fn flag(p: &mut Program, flag: bool) -> usize {
    p.value(EValue::Bool(flag))
}

fn convolve(p: &mut Program, [x, y]: [usize; 2], weight: [u64; 4], numbers: [[i64; 2]; 4], transposed: bool) -> Vec<Tensor> {
    let w = p.input(F32, &weight, false);
    let bias = p.value(EValue::None);
    let [stride, padding, dilation, more] = numbers.map(|[a, b]| pair(p, a, b));
    let (transposed, groups) = (flag(p, transposed), p.int(2));
    p.call("aten::convolution.out", &[x, w, bias, stride, padding, dilation, transposed, more, groups, y, y]);
    vec![floats(&weight, 5)]
}

fn convolution(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    convolve(p, [x, y], [6, 2, 3, 2], [[2, 1], [1, 0], [1, 2], [0, 0]], false)
}

fn transposed(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    convolve(p, [x, y], [4, 3, 3, 2], [[2, 1], [1, 0], [1, 2], [1, 0]], true)
}

fn max_pool(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    let [size, stride, padding, dilation] = [[3, 2], [2, 2], [1, 1], [1, 1]].map(|[a, b]| pair(p, a, b));
    let (partial, indices) = (flag(p, true), p.tensor(crate::ir::ElementType::I64, &LARGEST, true));
    p.call("aten::max_pool2d_with_indices.out", &[x, size, stride, padding, dilation, partial, y, indices, y]);
    vec![]
}

fn average(p: &mut Program, [x, y]: [usize; 2], padded: bool) -> Vec<Tensor> {
    let [size, stride, padding] = [[3, 2], [2, 1], [1, 1]].map(|[a, b]| pair(p, a, b));
    let (partial, padded, divisor) = (flag(p, true), flag(p, padded), p.value(EValue::None));
    p.call("aten::avg_pool2d.out", &[x, size, stride, padding, partial, padded, divisor, y, y]);
    vec![]
}

fn average_inside(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    average(p, [x, y], false)
}

fn average_padded(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    average(p, [x, y], true)
}

fn nearest(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    let (none, factors) = (p.value(EValue::None), p.value(EValue::Doubles(vec![2.0, 3.0])));
    p.call("aten::upsample_nearest2d.vec_out", &[x, none, factors, y, y]);
    vec![]
}

fn nearest_fractions(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    let (none, factors) = (p.value(EValue::None), p.value(EValue::Doubles(vec![1.5, 1.7])));
    p.call("aten::upsample_nearest2d.vec_out", &[x, none, factors, y, y]);
    vec![]
}

fn parts(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    let counts = pair(p, 2, 3);
    p.call("aten::_adaptive_avg_pool2d.out", &[x, counts, y, y]);
    vec![]
}

fn bilinear(p: &mut Program, [x, y]: [usize; 2], aligned: bool) -> Vec<Tensor> {
    let (none, aligned, factors) = (p.value(EValue::None), flag(p, aligned), p.value(EValue::Doubles(vec![3.0, 2.0])));
    p.call("aten::upsample_bilinear2d.vec_out", &[x, none, aligned, factors, y, y]);
    vec![]
}

fn bilinear_centres(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    bilinear(p, [x, y], false)
}

fn bilinear_corners(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    bilinear(p, [x, y], true)
}

fn groups(p: &mut Program, x: usize, y: usize) -> Vec<Tensor> {
    let weights = [p.input(F32, &[4], false), p.input(F32, &[4], false)];
    let (n, channels, pixels, groups, epsilon) = (p.int(2), p.int(4), p.int(72), p.int(2), p.value(EValue::Double(1e-5)));
    let [mean, deviation] = [(); 2].map(|()| p.tensor(F32, &[2, 2], true));
    p.call("aten::native_group_norm.out", &[x, weights[0], weights[1], n, channels, pixels, groups, epsilon, y, mean, deviation, y]);
    vec![floats(&[4], 1), floats(&[4], 2)]
}

/// The result for an image, of a program whose image has these extents or, if they vary, at most these.
fn result(build: Build, extents: &[u64], varies: bool, image: &Tensor) -> Tensor {
    let mut p = Program::default();
    let x = p.input(F32, extents, varies);
    let y = p.output(F32, &[4, 64, 64, 64]);
    let mut inputs = build(&mut p, x, y);
    let module = p.module();
    if varies {
        let dimensions: Vec<usize> = varying(&module).iter().map(|&(_, dimension, _)| dimension).collect();
        assert!(dimensions.ends_with(&[2, 3]), "rows and columns vary: {dimensions:?}");
    }
    inputs.insert(0, image.clone());
    run(&module, &inputs).unwrap()
}

#[test]
fn every_size_of_an_image_gives_what_a_program_of_that_size_gives() {
    let operators: [(&str, Build); 11] = [
        ("convolution", convolution),
        ("transposed convolution", transposed),
        ("largest of windows", max_pool),
        ("mean inside", average_inside),
        ("mean with the padding", average_padded),
        ("mean of parts", parts),
        ("nearest", nearest),
        ("nearest by fractions", nearest_fractions),
        ("bilinear between centres", bilinear_centres),
        ("bilinear between corners", bilinear_corners),
        ("groups of channels", groups),
    ];
    for (name, build) in operators {
        for [rows, columns] in [[9, 8], [3, 4], [4, 3], [6, 7]] {
            let image = floats(&[2, 4, rows, columns], rows);
            let open = result(build, &LARGEST, true, &image);
            let fixed = result(build, &image.shape, false, &image);
            assert_eq!(open.shape, fixed.shape, "{name} of {rows} by {columns}");
            let floats = |tensor: &Tensor| -> Vec<f32> {
                tensor.bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
            };
            for (a, b) in floats(&open).into_iter().zip(floats(&fixed)) {
                assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{name} of {rows} by {columns}: {a} for {b}");
            }
        }
    }
}

#[test]
fn images_are_resized_to_sizes_that_are_given() {
    let mut p = Program::default();
    let x = p.input(F32, &[1, 1, 4, 4], true);
    let (none, size) = (p.value(EValue::None), pair(&mut p, 2, 8));
    let y = p.output(F32, &[1, 1, 2, 8]);
    p.call("aten::upsample_nearest2d.vec_out", &[x, size, none, y, y]);
    let module = p.module();
    let found = run(&module, &[floats(&[1, 1, 4, 4], 0)]).unwrap();
    assert_eq!(found.shape, [1, 1, 2, 8]);
    let row = |tensor: &Tensor, at: usize, count: usize| tensor.bytes[4 * at..4 * (at + count)].to_vec();
    let image = floats(&[1, 1, 4, 4], 0);
    let doubled: Vec<u8> = (0..4).flat_map(|i| [row(&image, 8 + i, 1), row(&image, 8 + i, 1)].concat()).collect();
    assert_eq!(row(&found, 8, 8), doubled, "the second row is the third of four");
}
