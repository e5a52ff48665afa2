//! Tests of hot loops: they hold the expected instructions only, without moves and without spills.

use crate::a64::KERNELS;
use modelc_kernel::{BinaryOp, BufferKind, ConvertOp, DotOp, Kernel, KernelBuilder, Lane, Type, Value};
use modelc_machine::{CpuMachine, machine};

/// Makes a matrix product in the form that schedules write for element operands: sums of `rows` × `vectors`. A step loads each row's operands, then
/// each vector of weights, and multiplies them.
fn tile(dot: bool, rows: u16, vectors: u16, unroll: i64) -> Kernel {
    const DEPTH: i64 = 240;
    let (lane, sum, group) = if dot { (Lane::I8, Lane::I32, 4) } else { (Lane::F32, Lane::F32, 1) };
    let panel = 4 * i64::from(vectors);
    let mut b = KernelBuilder::new("tile");
    let x = b.buffer("x", BufferKind::Input, lane, (i64::from(rows) * DEPTH * group) as u64, 4);
    let w = b.buffer("w", BufferKind::Input, lane, (DEPTH * panel * group) as u64, 64);
    let out = b.buffer("out", BufferKind::Output, sum, u64::from(rows) * panel as u64, 4);
    let ty = Type::vector(sum, 4);
    let zero = if dot { b.int(ty, 0) } else { b.float(ty, 0.0) };
    let (first, last) = (b.index(0), b.index(DEPTH * group));
    let sums = b.for_carry(first, last, unroll * group, &vec![zero; usize::from(rows * vectors)], |b, k, sums| {
        let mut sums = sums.to_vec();
        let w_index = b.scale_index(k, panel, 0);
        for step in (0..unroll).map(|u| u * group) {
            let offset = |row: u16| i64::from(row) * DEPTH * group + step;
            let operand = |b: &mut KernelBuilder, row| match dot {
                true => b.load_splat_group(x, k, offset(row), 4, 16),
                false => b.load_splat(x, k, offset(row), 4),
            };
            let xs: Vec<Value> = (0..rows).map(|row| operand(b, row)).collect();
            for v in 0..vectors {
                let lanes = 4 * group as u16;
                let weights = b.load(w, w_index, step * panel + i64::from(v * lanes), lanes);
                for (row, &x) in xs.iter().enumerate() {
                    let sum = &mut sums[row * usize::from(vectors) + usize::from(v)];
                    *sum = if dot { b.dot(DotOp::Signed8, *sum, x, weights) } else { b.fma(x, weights, *sum) };
                }
            }
        }
        sums
    });
    let start = b.index(0);
    for (i, &sum) in sums.iter().enumerate() {
        b.store(out, start, 4 * i as i64, sum);
    }
    b.finish()
}

/// Makes a matrix product in squares, in the form that schedules write: six rows × sixteen columns, sixteen elements of k in a step.
fn tile_of_squares() -> Kernel {
    const DEPTH: i64 = 240;
    let mut b = KernelBuilder::new("tile");
    let x = b.buffer("x", BufferKind::Input, Lane::I8, 6 * DEPTH as u64, 4);
    let w = b.buffer("w", BufferKind::Input, Lane::I8, 16 * DEPTH as u64, 64);
    let out = b.buffer("out", BufferKind::Output, Lane::I32, 6 * 16, 4);
    let zero = b.int(Type::vector(Lane::I32, 4), 0);
    let (first, last) = (b.index(0), b.index(DEPTH));
    let sums = b.for_carry(first, last, 16, &[zero; 24], |b, k, sums| {
        let mut sums = sums.to_vec();
        let w_index = b.scale_index(k, 16, 0);
        let mut operands = [vec![], vec![]];
        for row in (0..6).step_by(2) {
            let [upper, lower] = [row, row + 1].map(|row| b.load(x, k, row * DEPTH, 16));
            for (list, start) in operands.iter_mut().zip([0, 8]) {
                let lanes = (start..start + 8).chain(start + 16..start + 24).collect();
                list.push(b.shuffle(upper, lower, lanes));
            }
        }
        for (half, pairs) in operands.iter().enumerate() {
            for columns in 0..8 {
                let weights = b.load(w, w_index, 128 * half as i64 + 16 * columns, 16);
                for (pair, &x) in pairs.iter().enumerate() {
                    let sum = &mut sums[8 * pair + columns as usize];
                    *sum = b.dot(DotOp::SignedSquares, *sum, x, weights);
                }
            }
        }
        sums
    });
    let start = b.index(0);
    for (i, &sum) in sums.iter().enumerate() {
        b.store(out, start, 4 * i as i64, sum);
    }
    b.finish()
}

/// Tests for 48 products of 16 multiply-adds each, six loads of pixels that six instructions pair, and two weights in a load.
#[test]
fn products_in_squares_stay_in_registers() {
    let text = KERNELS.text(&tile_of_squares(), level("aarch64+i8mm")).unwrap();
    let hot = hottest(&text, "smmla");
    let count = |start: &str| hot.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!([count("smmla"), count("zip"), count("mov"), count("ldp")], [48, 6, 0, 8], "{}", hot.join("\n"));
    assert!(hot.iter().all(|line| !line.contains("sp")), "{}", hot.join("\n"));
    assert!(hot.len() <= 76, "{} instructions:\n{}", hot.len(), hot.join("\n"));
}

fn level(name: &str) -> &'static CpuMachine {
    machine(name).expect("a level")
}

/// Returns the loop with the most occurrences of an instruction, from a block to its first backward jump.
fn hottest<'a>(text: &'a str, instruction: &str) -> Vec<&'a str> {
    let block = text.split("block_").max_by_key(|block| block.matches(instruction).count()).unwrap_or_default();
    let lines = block.lines().skip(1).map(str::trim);
    let mut inside: Vec<&str> = vec![];
    for line in lines {
        inside.push(line);
        if line.starts_with("b.") {
            break;
        }
    }
    inside
}

#[test]
fn tiles_stay_in_registers() {
    for (name, dot, rows, vectors) in [
        ("aarch64", false, 6, 4),
        ("aarch64", false, 8, 2),
        ("aarch64+dotprod", true, 6, 4),
        ("aarch64+dotprod", true, 8, 2),
        ("aarch64+dotprod", true, 4, 4),
    ] {
        let text = KERNELS.text(&tile(dot, rows, vectors, 4), level(name)).unwrap();
        let instruction = if dot { "sdot" } else { "fmla" };
        let hot = hottest(&text, instruction);
        let count = |start: &str| hot.iter().filter(|line| line.starts_with(start)).count();
        let products = 4 * usize::from(rows * vectors);
        assert_eq!(count(instruction), products, "{name} {rows}x{vectors}:\n{}", hot.join("\n"));
        assert_eq!(count("mov") + hot.iter().filter(|line| line.contains("sp")).count(), 0, "{name} {rows}x{vectors}:\n{}", hot.join("\n"));
        // One load for the four operands of a row, and one for two vectors of weights.
        assert_eq!(count("ld"), usize::from(rows + 2 * vectors), "{name} {rows}x{vectors}:\n{}", hot.join("\n"));
        assert!(4 * hot.len() <= 6 * products, "{name} {rows}x{vectors} has {} instructions:\n{}", hot.len(), hot.join("\n"));
    }
}

/// Tests that a 6×16 tile has at most 1.25 instructions a product, with the loads of weights.
#[test]
fn large_tiles_are_mostly_products() {
    for (name, dot) in [("aarch64", false), ("aarch64+dotprod", true)] {
        let text = KERNELS.text(&tile(dot, 6, 4, 4), level(name)).unwrap();
        let hot = hottest(&text, if dot { "sdot" } else { "fmla" });
        assert!(4 * hot.len() <= 5 * 96, "{name} has {} instructions:\n{}", hot.len(), hot.join("\n"));
    }
}

/// Makes a matrix product of bytes with sums in 16 bits, two products at a time. Neighbouring sums are added at the end.
fn tile_in_16_bits(rows: u16, vectors: u16) -> Kernel {
    const DEPTH: i64 = 240;
    let panel = 4 * i64::from(vectors);
    let mut b = KernelBuilder::new("tile");
    let x = b.buffer("x", BufferKind::Input, Lane::I8, u64::from(rows) * DEPTH as u64, 4);
    let w = b.buffer("w", BufferKind::Input, Lane::I8, (DEPTH * panel) as u64, 64);
    let out = b.buffer("out", BufferKind::Output, Lane::I32, u64::from(rows) * panel as u64, 4);
    let zero = b.int(Type::vector(Lane::I32, 8), 0);
    let ones = b.int(Type::vector(Lane::I16, 16), 1);
    let (first, last) = (b.index(0), b.index(DEPTH));
    let sums = b.for_carry(first, last, 16, &vec![zero; usize::from(rows * vectors)], |b, k, sums| {
        let mut sums = sums.to_vec();
        let w_index = b.scale_index(k, panel, 0);
        let wide = |b: &mut KernelBuilder, bytes| b.convert(ConvertOp::SignExtend, bytes, Lane::I16);
        for fours in [[0, 4], [8, 12]] {
            let operand = |b: &mut KernelBuilder, row: u16, step: i64| {
                let bytes = b.load_splat_group(x, k, i64::from(row) * DEPTH + step, 4, 16);
                wide(b, bytes)
            };
            let xs: Vec<[Value; 2]> = (0..rows).map(|row| fours.map(|step| operand(&mut *b, row, step))).collect();
            for v in 0..vectors {
                let ws = fours.map(|step| {
                    let bytes = b.load(w, w_index, step * panel + i64::from(16 * v), 16);
                    wide(b, bytes)
                });
                for (row, xs) in xs.iter().enumerate() {
                    let [first, second] = [0, 1].map(|i| b.mul(xs[i], ws[i]));
                    let products = b.add(first, second);
                    let sum = &mut sums[row * usize::from(vectors) + usize::from(v)];
                    *sum = b.dot(DotOp::Signed16, *sum, products, ones);
                }
            }
        }
        sums
    });
    for (i, &sum) in sums.iter().enumerate() {
        let [even, odd] = [0, 1].map(|first| b.shuffle(sum, sum, (0..4).map(|lane| 2 * lane + first).collect()));
        let sum = b.add(even, odd);
        b.store(out, first, 4 * i as i64, sum);
    }
    b.finish()
}

/// Tests for three instructions per 16 products, plus at most one per five of them. Operands are repeated, and two weights are one load.
#[test]
fn products_are_added_in_16_bits() {
    let text = KERNELS.text(&tile_in_16_bits(2, 4), level("aarch64")).unwrap();
    let hot = hottest(&text, "sadalp");
    let count = |start: &str| hot.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!([count("smull"), count("smlal"), count("sadalp"), count("dup")], [32, 32, 32, 8], "{}", hot.join("\n"));
    assert_eq!(count("mov") + hot.iter().filter(|line| line.contains("sp")).count(), 0, "{}", hot.join("\n"));
    assert!(hot.len() <= 120, "{} instructions:\n{}", hot.len(), hot.join("\n"));
    assert_eq!([text.matches("addp ").count(), text.matches("uzp").count()], [8, 0], "{text}");
}

/// Tests stores of interleaved rows: two registers are one store. A displacement that no access reaches is added before the loop.
#[test]
fn neighbours_are_stored_together() {
    let mut b = KernelBuilder::new("interleaved");
    let x = b.buffer("x", BufferKind::Input, Lane::I8, 1 << 16, 4);
    let out = b.buffer("out", BufferKind::Output, Lane::I8, 1 << 16, 4);
    b.for_range(2, 4, 1, |b, row| {
        let start = b.scale_index(row, 5376, 0);
        b.for_range(0, 4096, 16, |b, i| {
            let place = b.add(start, i);
            let rows = [-5376, 0].map(|offset| b.load(x, place, offset, 16));
            let both = b.shuffle(rows[0], rows[1], (0..16).flat_map(|lane| [lane, lane + 16]).collect());
            let to = b.scale_index(i, 2, 0);
            b.store(out, to, 0, both);
        });
    });
    let text = KERNELS.text(&b.finish(), level("aarch64")).unwrap();
    let hot = hottest(&text, "zip");
    let names: Vec<&str> = hot.iter().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(names, ["ldr", "ldr", "zip1", "zip2", "add", "stp", "add", "cmp", "b.lt"], "{}", hot.join("\n"));
}

#[test]
fn numbers_are_made_before_a_loop() {
    let mut b = KernelBuilder::new("scaled");
    let x = b.buffer("x", BufferKind::Input, Lane::F32, 64, 4);
    let out = b.buffer("out", BufferKind::Output, Lane::F32, 64, 4);
    b.for_range(0, 64, 4, |b, i| {
        let x = b.load(x, i, 0, 4);
        let ty = b.ty(x);
        let (scale, half) = (b.float(ty, 0.1), b.float(ty, 0.5));
        let scaled = b.mul(x, scale);
        let sum = b.add(scaled, half);
        b.store(out, i, 0, sum);
    });
    let text = KERNELS.text(&b.finish(), level("aarch64")).unwrap();
    let hot = hottest(&text, "fmul");
    let names: Vec<&str> = hot.iter().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(names, ["add", "ldr", "fmul", "fadd", "add", "str", "add", "cmp", "b.lt"], "{}", hot.join("\n"));
}

/// Tests sums of several rows that begin with the same biases: two loads are one instruction, and no bias is copied.
#[test]
fn sums_load_what_they_begin_with() {
    let mut b = KernelBuilder::new("biased");
    let x = b.buffer("x", BufferKind::Input, Lane::F32, 3 * 64, 4);
    let biases = b.buffer("biases", BufferKind::Input, Lane::F32, 8, 4);
    let out = b.buffer("out", BufferKind::Output, Lane::F32, 3 * 8, 4);
    let (start, end) = (b.index(0), b.index(64));
    let begin: Vec<Value> = [0, 4].map(|at| b.load(biases, start, at, 4)).repeat(3);
    let sums = b.for_carry(start, end, 8, &begin, |b, k, sums| {
        let xs: Vec<Value> = (0..6).map(|i| b.load(x, k, i / 2 * 64 + i % 2 * 4, 4)).collect();
        sums.iter().zip(&xs).map(|(&sum, &x)| b.add(sum, x)).collect()
    });
    for (i, &sum) in sums.iter().enumerate() {
        b.store(out, start, 4 * i as i64, sum);
    }
    let text = KERNELS.text(&b.finish(), level("aarch64")).unwrap();
    let before = text.split("block_").next().unwrap_or_default();
    assert_eq!(before.matches("ldp q").count(), 3, "{text}");
    assert!(!before.contains(".16b"), "{text}");
}

/// Tests addends that products overwrite, between stores: two are reloaded by one instruction, and none is copied.
#[test]
fn addends_are_loaded_again() {
    let mut b = KernelBuilder::new("scaled");
    let x = b.buffer("x", BufferKind::Input, Lane::F32, 64, 4);
    let scales = b.buffer("scales", BufferKind::Input, Lane::F32, 16, 4);
    let out = b.buffer("out", BufferKind::Output, Lane::F32, 64, 4);
    let start = b.index(0);
    let [scale, other, addend, second] = [0, 4, 8, 12].map(|at| b.load(scales, start, at, 4));
    for at in (0..64).step_by(8) {
        for (at, scale, addend) in [(at, scale, addend), (at + 4, other, second)] {
            let x = b.load(x, start, at, 4);
            let scaled = b.fma(x, scale, addend);
            b.store(out, start, at, scaled);
        }
    }
    let text = KERNELS.text(&b.finish(), level("aarch64")).unwrap();
    assert_eq!([text.matches("fmla").count(), text.matches(".16b").count()], [16, 0], "{text}");
    assert!(text.matches("ldp q").count() + text.matches("ldr q").count() <= 2 + 7 + 16, "{text}");
}

/// Tests weights that no pair reaches: the pointer moves before the loop, so that two vectors are one load.
#[test]
fn far_weights_are_loaded_in_pairs() {
    let mut b = KernelBuilder::new("far");
    let w = b.buffer("w", BufferKind::Input, Lane::F32, 1 << 14, 64);
    let out = b.buffer("out", BufferKind::Output, Lane::F32, 32, 4);
    let (start, end) = (b.index(0), b.index(4096));
    let zero = b.float(Type::vector(Lane::F32, 4), 0.0);
    let sums = b.for_carry(start, end, 16, &[zero; 8], |b, k, sums| {
        let place = b.scale_index(k, 2, 0);
        let add = |(sum, i): (&Value, i64)| {
            let x = b.load(w, place, 1536 + 4 * i, 4);
            b.add(*sum, x)
        };
        sums.iter().zip(0..).map(add).collect()
    });
    for (i, &sum) in sums.iter().enumerate() {
        b.store(out, start, 4 * i as i64, sum);
    }
    let text = KERNELS.text(&b.finish(), level("aarch64")).unwrap();
    let hot = hottest(&text, "fadd");
    let count = |start: &str| hot.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!([count("ldp q"), count("ldr q"), count("add"), hot.len()], [4, 0, 2, 8 + 4 + 2 + 2], "{}", hot.join("\n"));
}

/// Tests squares of sums: four begin with one load, and no bias is repeated by another instruction.
#[test]
fn squares_begin_four_at_a_time() {
    for rows in [4, 6] {
        let mut b = KernelBuilder::new("begun");
        let lanes = 16 * rows;
        let x = b.buffer("x", BufferKind::Input, Lane::I32, 64 * lanes as u64, 4);
        let biases = b.buffer("biases", BufferKind::Input, Lane::I32, 16, 4);
        let out = b.buffer("out", BufferKind::Output, Lane::I32, lanes as u64, 4);
        let (start, end) = (b.index(0), b.index(64));
        let biases: Vec<Value> = (0..4).map(|i| b.load(biases, start, 4 * i, 4)).collect();
        let halves = biases.iter().flat_map(|&bias| [[0, 1, 0, 1], [2, 3, 2, 3]].map(|lanes| (bias, lanes))).collect::<Vec<_>>();
        let halves = halves.repeat(rows as usize / 2);
        let begin: Vec<Value> = halves.into_iter().map(|(bias, lanes)| b.shuffle(bias, bias, lanes.into())).collect();
        let sums = b.for_carry(start, end, 1, &begin, |b, k, sums| {
            let place = b.scale_index(k, lanes, 0);
            let add = |(sum, i): (&Value, i64)| {
                let x = b.load(x, place, 4 * i, 4);
                b.add(*sum, x)
            };
            sums.iter().zip(0..).map(add).collect()
        });
        for (i, &sum) in sums.iter().enumerate() {
            b.store(out, start, 4 * i as i64, sum);
        }
        let text = KERNELS.text(&b.finish(), level("aarch64")).unwrap();
        let before = text.split("block_").next().unwrap_or_default();
        let count = |what: &str| before.matches(what).count();
        assert_eq!([count("ld4r"), count("ld"), count("dup")], [rows as usize, rows as usize, 0], "{text}");
        let hot = hottest(&text, "ldp");
        assert!(hot.iter().all(|line| !line.starts_with("mov") && !line.contains("sp")), "{}", hot.join("\n"));
    }
}

/// Tests TFLite's double rounding: three instructions for four sums, and two if ties of negative numbers do not matter.
#[test]
fn steps_of_requantization_are_single_instructions() {
    for signed in [false, true] {
        let mut b = KernelBuilder::new("scaled");
        let names = ["sums", "multipliers", "counts"];
        let tables = names.map(|name| b.buffer(name, BufferKind::Input, Lane::I32, 16, 4));
        let out = b.buffer("out", BufferKind::Output, Lane::I8, 16, 4);
        let start = b.index(0);
        let [sums, multipliers, counts] = tables.map(|table| b.load(table, start, 0, 16));
        let mut product = b.saturating_rounding_doubling_high_mul(sums, multipliers, true);
        if signed {
            let signs = b.shift(BinaryOp::ShiftRightSigned, product, 31);
            product = b.add(product, signs);
        }
        let scaled = b.binary(BinaryOp::ShiftNearest, product, counts);
        let bytes = b.convert(ConvertOp::NarrowSigned, scaled, Lane::I8);
        b.store(out, start, 0, bytes);
        let text = KERNELS.text(&b.finish(), level("aarch64")).unwrap();
        let count = |what: &str| text.matches(what).count();
        let steps = [count("sqrdmulh"), count("ssra"), count("srshl"), count("sqxtn")];
        assert_eq!(steps, [4, if signed { 4 } else { 0 }, 4, 6], "{text}");
        assert_eq!([count("sshr"), count("neg"), count("and ")], [0; 3], "{text}");
    }
}
