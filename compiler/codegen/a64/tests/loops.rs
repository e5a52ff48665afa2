//! Hot loops: the instructions that they should hold and no others, nothing moved and nothing on the stack.

use crate::codegen::a64::listing;
use crate::kernel::{BufferKind, DotOp, Kernel, KernelBuilder, Lane, Type, Value};
use crate::machine::{Machine, machine};

/// A product of matrices as schedules write it for products that name elements: sums of `rows` × `vectors`, each row's operands of a step first, then each
/// vector of weights and its products.
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

fn level(name: &str) -> &'static Machine {
    machine(name).expect("a level")
}

/// The loop with most of an instruction: from a block to the first jump that goes back.
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
        let text = listing(&tile(dot, rows, vectors, 4), level(name)).unwrap();
        let instruction = if dot { "sdot" } else { "fmla" };
        let hot = hottest(&text, instruction);
        let count = |start: &str| hot.iter().filter(|line| line.starts_with(start)).count();
        let products = 4 * usize::from(rows * vectors);
        assert_eq!(count(instruction), products, "{name} {rows}x{vectors}:\n{}", hot.join("\n"));
        assert_eq!(count("mov") + hot.iter().filter(|line| line.contains("sp")).count(), 0, "{name} {rows}x{vectors}:\n{}", hot.join("\n"));
        // One load for the four operands of a row, one for two vectors of weights.
        assert_eq!(count("ld"), usize::from(rows + 2 * vectors), "{name} {rows}x{vectors}:\n{}", hot.join("\n"));
        assert!(4 * hot.len() <= 6 * products, "{name} {rows}x{vectors} has {} instructions:\n{}", hot.len(), hot.join("\n"));
    }
}

/// A 6×16 tile has at most 1.25 instructions a product, loads of weights included.
#[test]
fn large_tiles_are_mostly_products() {
    for (name, dot) in [("aarch64", false), ("aarch64+dotprod", true)] {
        let text = listing(&tile(dot, 6, 4, 4), level(name)).unwrap();
        let hot = hottest(&text, if dot { "sdot" } else { "fmla" });
        assert!(4 * hot.len() <= 5 * 96, "{name} has {} instructions:\n{}", hot.len(), hot.join("\n"));
    }
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
    let text = listing(&b.finish(), level("aarch64")).unwrap();
    let hot = hottest(&text, "fmul");
    let names: Vec<&str> = hot.iter().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(names, ["add", "ldr", "fmul", "fadd", "add", "str", "add", "cmp", "b.lt"], "{}", hot.join("\n"));
}

/// Sums of several rows that begin with the same biases: two loads are one instruction, and no bias is copied.
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
    let text = listing(&b.finish(), level("aarch64")).unwrap();
    let before = text.split("block_").next().unwrap_or_default();
    assert_eq!(before.matches("ldp q").count(), 3, "{text}");
    assert!(!before.contains(".16b"), "{text}");
}
