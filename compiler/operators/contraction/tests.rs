//! Convolutions and products against sums written out; transposed convolutions of known and of run-time extents against each other.

use super::blockwise;
use super::dynamic_range::{self, RowRule};
use super::products::{linear, matmul, swapped, wide_matmul};
use super::reduced::{self, Patches};
use super::rows::Rows;
use super::{Convolution, Crop, IntegerOutput, Numerics, Scaling, Transposed, depthwise_filter, transposed_filter};
use crate::ir::{ElementType, Extent, Interval, Module, TensorType, Type, WindowGeometry, ZeroPoints};
use crate::operators::activation::Activation;
use crate::operators::quantization::Affine;
use crate::operators::testing::{Floats, run, run_with};
use crate::operators::{Error, Graph, extents};

fn plain() -> Numerics {
    Numerics::plain(ElementType::F32, Activation::NONE)
}

/// A transposed convolution as its definition has it: each element of `[N, h, w, C]` adds its products with `[O, kh, kw, C ÷ groups]`.
fn scattered(input: &Floats, filter: &Floats, g: &Case) -> Floats {
    let ([n, h, w, c], [o, kh, kw, cg]) = (dims(input), dims(filter));
    let (rows, columns) = (g.wanted[0] as i64, g.wanted[1] as i64);
    let mut result = vec![0.0; (n * g.wanted[0] * g.wanted[1] * o) as usize];
    for (b, y, x) in product3(n, h, w) {
        for (out, ky, kx) in product3(o, kh, kw) {
            let row = (y * g.stride + ky * g.dilation) as i64 - g.cut as i64;
            let column = (x * g.stride + kx * g.dilation) as i64 - g.cut as i64;
            if !(0..rows).contains(&row) || !(0..columns).contains(&column) {
                continue;
            }
            let first = out / (o / g.groups) * cg;
            for channel in 0..cg {
                let from = input.numbers[(((b * h + y) * w + x) * c + first + channel) as usize];
                let by = filter.numbers[(((out * kh + ky) * kw + kx) * cg + channel) as usize];
                result[(((b as i64 * rows + row) * columns + column) * o as i64 + out as i64) as usize] += from * by;
            }
        }
    }
    Floats::new(&[n, g.wanted[0], g.wanted[1], o], result)
}

fn dims(tensor: &Floats) -> [u64; 4] {
    tensor.shape[..].try_into().expect("four dimensions")
}

fn product3(a: u64, b: u64, c: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}

#[derive(Debug)]
struct Case {
    stride: u64,
    dilation: u64,
    cut: u64,
    groups: u64,
    wanted: [u64; 2],
}

impl Case {
    fn build(&self, g: &mut Graph<'_>, v: &[crate::ir::Value], run_time: bool) -> Result<crate::ir::Value, Error> {
        let shape = g.extents(v[0]);
        let mut wanted = extents(&self.wanted);
        if run_time {
            // As many fewer or more than the input's as the known ones.
            for (d, wanted) in wanted.iter_mut().enumerate() {
                let more = Extent::Static(self.wanted[d]);
                let none = g.sub(shape[d + 1], shape[d + 1])?;
                *wanted = g.add(none, more)?;
            }
        }
        let transposed = Transposed {
            input: v[0],
            filter: v[1],
            groups: self.groups,
            strides: vec![self.stride as i64; 2],
            dilation: vec![self.dilation as i64; 2],
            cut: extents(&[self.cut; 2]),
            wanted,
        };
        transposed.build(g, None, &plain())
    }
}

#[test]
fn transposed_convolutions_scatter_their_products() {
    for (stride, dilation, cut, groups) in [(1, 1, 0, 1), (2, 1, 1, 1), (2, 1, 0, 2), (3, 1, 2, 1), (2, 3, 1, 1), (3, 2, 0, 1)] {
        let (input, filter) = (Floats::varied(&[2, 4, 3, 4]), Floats::varied(&[2, 3, 3, 4 / groups]));
        let full = |n: u64| (n - 1) * stride + 2 * dilation + 1;
        for wanted in [[full(4) - cut, full(3) - cut], [full(4) - cut - 1, full(3) - cut - 2], [full(4) + 1, full(3)]] {
            let case = Case { stride, dilation, cut, groups, wanted };
            let expected = scattered(&input, &filter, &case);
            assert_eq!(run(&[&input, &filter], &|g, v| case.build(g, v, false)), expected, "{case:?}");
            let open = run_with(&[&input, &filter], &[[0, 1], [0, 2]], &|g, v| case.build(g, v, true));
            assert_eq!(open, expected, "at run time, {case:?}");
        }
    }
}

#[test]
fn more_is_cut_than_the_filter_reaches() {
    let (input, filter) = (Floats::varied(&[1, 4, 4, 1]), Floats::varied(&[1, 1, 1, 1]));
    let case = Case { stride: 1, dilation: 1, cut: 1, groups: 1, wanted: [2, 2] };
    assert_eq!(run(&[&input, &filter], &|g, v| case.build(g, v, false)), scattered(&input, &filter, &case));
}

#[test]
fn phases_that_no_tap_reaches_and_too_many_phases_are_refused() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let input = g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[1, 8, 8, 1])), None);
    g.measure(input, 1, Interval { low: 1, high: 8 });
    let filter = g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[1, 2, 2, 1])), None);
    let wanted = [g.extents(input)[1], Extent::Static(8)].to_vec();
    let mut transposed = Transposed { input, filter, groups: 1, strides: vec![3; 2], dilation: vec![1; 2], cut: extents(&[0; 2]), wanted };
    assert_eq!(transposed.build(&mut g, None, &plain()), Err(Error::PhaseWithoutTaps { stride: 3, size: 2 }));
    transposed.strides = vec![9; 2];
    assert_eq!(transposed.build(&mut g, None, &plain()), Err(Error::TooManyPhases { phases: 81, most: 64 }));
}

#[test]
fn filters_of_programs_with_channels_first_are_put_in_order() {
    // [C, O ÷ groups, window]: of two groups of two channels, with three outputs each.
    let filter = Floats::varied(&[4, 3, 2]);
    let found = run(&[&filter], &|g, v| transposed_filter(g, v[0], 2));
    let mut expected = Vec::new();
    for (out, tap, channel) in product3(6, 2, 2) {
        let from = (out / 3 * 2 + channel) * 6 + out % 3 * 2 + tap;
        expected.push(filter.numbers[from as usize]);
    }
    assert_eq!(found, Floats::new(&[6, 2, 2], expected));
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let odd = g.constant_f32(&[3, 1, 1], &[1.0; 3]).unwrap();
    assert_eq!(transposed_filter(&mut g, odd, 2), Err(Error::Groups { channels: 3, groups: 2 }));
}

#[test]
fn depthwise_filters_have_their_channels_first() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let filter = g.constant_i32(&[1, 1, 2, 3], &[0, 1, 2, 3, 4, 5]).unwrap();
    let turned = depthwise_filter(&mut g, filter).unwrap();
    assert_eq!(g.shape(turned).unwrap(), [3, 1, 2, 1]);
    let expected: Vec<u8> = [0i32, 3, 1, 4, 2, 5].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(g.known(turned), Some(&expected[..]));
}

#[test]
fn a_crop_is_a_box_of_the_windows() {
    let (input, filter) = (Floats::varied(&[1, 5, 1, 1]), Floats::new(&[1, 1, 1, 1], vec![2.0]));
    let geometry = WindowGeometry {
        strides: vec![1; 2],
        dilation: vec![1; 2],
        padding_low: vec![0; 2],
        padding_high: vec![0; 2],
        ..WindowGeometry::default()
    };
    let found = run(&[&input, &filter], &|g, v| {
        let crop = Some(Crop { start: extents(&[1, 0]), size: extents(&[3, 1]) });
        Convolution { crop, ..Convolution::new(v[0], v[1], 1, geometry.clone()) }.build(g, None, &plain())
    });
    let expected = input.numbers[1..4].iter().map(|n| n * 2.0).collect();
    assert_eq!(found, Floats::new(&[1, 3, 1, 1], expected));
}

#[test]
fn products_add_a_bias_and_clamp() {
    let (rows, columns) = (Floats::varied(&[2, 3]), Floats::varied(&[4, 3]));
    let bias = Floats::varied(&[4]);
    let found = run_with(&[&rows, &columns, &bias], &[[0, 0]], &|g, v| {
        matmul(g, v[0], v[1], Some(v[2]), &Numerics::plain(ElementType::F32, Activation::RELU))
    });
    let mut expected = Vec::new();
    for (row, column) in (0..2).flat_map(|i| (0..4).map(move |j| (i, j))) {
        let sum: f32 = (0..3).map(|k| rows.numbers[row * 3 + k] * columns.numbers[column * 3 + k]).sum();
        expected.push((sum + bias.numbers[column]).max(0.0));
    }
    assert_eq!(found, Floats::new(&[2, 4], expected));
}

#[test]
fn rows_of_any_rank_are_one_matrix() {
    let (input, weights) = (Floats::varied(&[2, 2, 3]), Floats::varied(&[4, 3]));
    let flat = Floats::new(&[4, 3], input.numbers.clone());
    let found = run_with(&[&input, &weights], &[[0, 1]], &|g, v| linear(g, v[0], v[1], None, &plain()));
    let expected = run(&[&flat, &weights], &|g, v| matmul(g, v[0], v[1], None, &plain()));
    assert_eq!((found.shape, found.numbers), (vec![2, 2, 4], expected.numbers));
}

#[test]
fn what_is_no_matrix_is_refused() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let vector = g.constant_f32(&[3], &[0.0; 3]).unwrap();
    assert_eq!(swapped(&mut g, vector), Err(Error::NoMatrix { rank: 1 }));
    let (a, b) = (g.constant_f32(&[1, 3], &[0.0; 3]).unwrap(), g.constant_f32(&[1, 2], &[0.0; 2]).unwrap());
    assert!(matches!(matmul(&mut g, a, b, None, &plain()), Err(Error::Type(_))));
}

#[test]
fn integers_are_brought_to_the_scale_of_the_result() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let bytes = |numbers: &[i8]| numbers.iter().map(|&n| n as u8).collect::<Vec<u8>>();
    let rows = g.constant(ElementType::I8, &[1, 2], bytes(&[3, -4])).unwrap();
    let columns = g.constant(ElementType::I8, &[2, 2], bytes(&[5, 6, -7, 8])).unwrap();
    let numerics = Numerics::Integer {
        zero_points: ZeroPoints::of_left(1),
        accumulator: ElementType::I32,
        scaling: Scaling::fixed_point(0.5, &[0.5, 1.0], 1.0).unwrap(),
        output: IntegerOutput::new(ElementType::I8, Affine { scale: 1.0, zero_point: 2 }, Activation::NONE).unwrap(),
    };
    let result = matmul(&mut g, rows, columns, None, &numerics).unwrap();
    // (2·5 − 5·6) ÷ 4 + 2 = −3, (2·−7 − 5·8) ÷ 2 + 2 = −25.
    assert_eq!(g.evaluated(result), Some(&bytes(&[-3, -25])[..]), "numbers that are asked for may be products");
    let function = g.finish(vec![result]);
    let results = crate::ir::interpret::Interpreter::new(&module).run_function(function, &[], None).unwrap();
    assert_eq!(results[0].bytes, bytes(&[-3, -25]));
}

#[test]
fn wide_products_are_exact() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let words = |numbers: &[i16]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let rows = g.constant(ElementType::I16, &[1, 2], words(&[300, -2])).unwrap();
    let columns = g.constant(ElementType::I16, &[1, 2], words(&[-1000, 513])).unwrap();
    let numerics = Numerics::plain(ElementType::I64, Activation::NONE);
    let result = wide_matmul(&mut g, rows, columns, &numerics).unwrap();
    let function = g.finish(vec![result]);
    let results = crate::ir::interpret::Interpreter::new(&module).run_function(function, &[], None).unwrap();
    assert_eq!(results[0].bytes, (300i64 * -1000 - 2 * 513).to_le_bytes());
}

#[test]
fn ratios_that_are_no_numbers_are_refused() {
    assert_eq!(Scaling::fixed_point(1.0, &[1.0], 0.0), Err(Error::ScaleRatio { ratio: f64::INFINITY }));
}

#[test]
fn sums_without_tiles_are_those_of_tiles() {
    let (input, filter) = (Floats::varied(&[2, 5, 4, 4]), Floats::varied(&[6, 2, 3, 2]));
    for (strides, steps) in [(vec![2, 1], vec![1, 1]), (vec![1, 1], vec![2, 3])] {
        let (low, high) = (vec![1, 2], vec![0, 1]);
        let geometry = WindowGeometry { strides, dilation: vec![1, 2], padding_low: low, padding_high: high, ..WindowGeometry::default() };
        let tiles = run(&[&input, &filter], &|g, v| {
            let convolution = Convolution { input_dilation: steps.clone(), ..Convolution::new(v[0], v[1], 2, geometry.clone()) };
            convolution.sums(g, ZeroPoints::NONE, ElementType::F32)
        });
        let found = run(&[&input, &filter], &|g, v| {
            let patches = Patches { input: v[0], filter: v[1], groups: 2, geometry: &geometry, input_dilation: &steps };
            reduced::convolution(g, &patches, ElementType::F32)
        });
        assert_eq!(found, tiles);
    }
}

#[test]
fn quantized_rows_are_as_deep_as_their_weights() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "test");
    let rows = g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[4, 8])), None);
    g.measure(rows, 1, Interval { low: 1, high: 8 });
    let weights = g.constant(ElementType::I8, &[2, 8], vec![1; 16]).expect("a constant");
    let rule = RowRule { scales: &[0.5], asymmetric: true, activation: Activation::NONE };
    let found = dynamic_range::linear(&mut g, rows, weights, None, &rule);
    assert!(matches!(found, Err(Error::FixedExtent { must_be: 8, .. })), "{found:?}");
}

/// Blocks that are whole for kernels and blocks that are filled up with zeros give the same sums.
#[test]
fn blocks_of_any_size_are_scaled_and_added() {
    let rows = Floats::varied(&[3, 16]);
    for size in [2u64, 4, 8, 16] {
        let blocks = 16 / size;
        let weight = |unit: u64, k: u64| ((unit * 5 + k * 3) % 15) as i64 - 7;
        let scale = |unit: u64, block: u64| 0.5 + (unit + block) as f32;
        let packed: Vec<u8> =
            product3(1, 5, 8).map(|(_, unit, k)| (weight(unit, 2 * k) & 15 | (weight(unit, 2 * k + 1) & 15) << 4) as u8).collect();
        let found = run(&[&rows], &|g, v| {
            let integers = g.compute::<Error>(&[v[0]], |terms, x| Ok(terms.convert(x[0], ElementType::I8)))?;
            let weights = g.constant(ElementType::I4, &[5, 16], packed.clone())?;
            let scales: Vec<f32> = (0..5).flat_map(|unit| (0..blocks).map(move |block| scale(unit, block))).collect();
            let scales = g.constant_f32(&[5, blocks], &scales)?;
            let filter = blockwise::Filter::new(g, weights.into(), scales, size).expect("a constant");
            let scales = g.constant_f32(&[3, 1], &[2.0; 3])?;
            blockwise::products(g, Rows { integers, scales, offsets: None }, filter)
        });
        let expected = product3(1, 3, 5).map(|(_, row, unit)| {
            let product = |k: u64| rows.numbers[(row * 16 + k) as usize] * weight(unit, k) as f32;
            (0..blocks).map(|block| (block * size..(block + 1) * size).map(product).sum::<f32>() * scale(unit, block)).sum::<f32>() * 2.0
        });
        assert_eq!(found, Floats::new(&[3, 5], expected.collect()), "blocks of {size}");
    }
}

/// Weights that the program computes give the same results as constants.
#[test]
fn blocks_of_computed_weights_are_scaled_and_added() {
    let rows = Floats::varied(&[3, 16]);
    let weight = |i: u64| ((i * 5) % 15) as i64 - 7;
    let weights = Floats::new(&[5, 16], (0..80).map(|i| weight(i) as f32).collect());
    let packed: Vec<u8> = (0..40).map(|i| (weight(2 * i) & 15 | (weight(2 * i + 1) & 15) << 4) as u8).collect();
    let products = |is_constant: bool, has_offsets: bool| {
        run(&[&rows, &weights], &|g, v| {
            let [integers, weights] = [v[0], v[1]].map(|x| g.convert(x, ElementType::I8));
            let scales = g.constant_f32(&[5, 4], &(0..20).map(|i| 0.5 + i as f32).collect::<Vec<_>>())?;
            let offsets = has_offsets.then(|| g.constant_i32(&[3, 1], &[3, -2, 100])).transpose()?;
            let rows = Rows { integers: integers?, scales: g.constant_f32(&[3, 1], &[2.0, 0.5, 1.0])?, offsets };
            if !is_constant {
                return blockwise::products_of_computed(g, rows, weights?, scales);
            }
            let weights = g.constant(ElementType::I4, &[5, 16], packed.clone())?;
            let filter = blockwise::Filter::new(g, weights.into(), scales, 4).expect("a constant");
            blockwise::products(g, rows, filter)
        })
    };
    for has_offsets in [false, true] {
        assert_eq!(products(false, has_offsets), products(true, has_offsets));
    }
}

/// Rows of four bits with one scale are a block each, whether or not they are short enough; offsets and biases count as with bytes.
#[test]
fn rows_of_four_bits_equal_rows_of_bytes() {
    let rows = Floats::varied(&[3, 24]);
    for depth in [24usize, 20] {
        let weight = |i: usize| ((i * 5) % 15) as i8 - 7;
        let bytes: Vec<u8> = (0..5 * depth).map(|i| weight(i) as u8).collect();
        let packed: Vec<u8> = bytes.chunks(2).map(|pair| pair[0] & 15 | pair[1] << 4).collect();
        let product = |element: ElementType, bytes: &[u8]| {
            run(&[&rows], &|g, v| {
                let shorter = g.slice_along(v[0], 1, Extent::Static(0), Extent::Static(depth as u64))?;
                let weights = g.constant(element, &[5, depth as u64], bytes.to_vec())?;
                let bias = g.constant_f32(&[5], &[0.25, -1.5, 3.0, 0.0, 7.0])?;
                let rule = RowRule { scales: &[0.3, 0.7, 1.1, 0.01, 3.3], asymmetric: true, activation: Activation::NONE };
                dynamic_range::linear(g, shorter, weights, Some(bias), &rule)
            })
        };
        assert_eq!(product(ElementType::I4, &packed), product(ElementType::I8, &bytes), "{depth}");
    }
}
