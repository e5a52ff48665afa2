//! Products in squares, on the machines that have them; others refuse them.

use super::engines::check;
use super::{Case, Random, bytes};
use crate::unsupported::Lack;
use crate::{CodegenError, Operation, a64, x86};
use modelc_kernel::{BufferKind, DotOp, Kernel, KernelBuilder, Lane, Type};
use modelc_machine::machine;

/// Numbers of sums in a vector.
const LANES: [u16; 3] = [4, 8, 16];

/// Sums of all vectors.
const COUNT: usize = 28;

/// Makes a kernel that adds products to sums, in vectors of several lengths.
fn kernel(op: DotOp) -> Kernel {
    let mut k = KernelBuilder::new(format!("{op:?}"));
    let [a, b] = ["a", "b"].map(|name| k.buffer(name, BufferKind::Input, Lane::I8, 4 * COUNT as u64, 1));
    let c = k.buffer("c", BufferKind::Input, Lane::I32, COUNT as u64, 4);
    let out = k.buffer("out", BufferKind::Output, Lane::I32, COUNT as u64, 4);
    let (zero, mut first) = (k.index(0), 0);
    for lanes in LANES {
        let x = k.load(a, zero, 4 * first, 4 * lanes);
        let y = k.load(b, zero, 4 * first, 4 * lanes);
        let sums = k.load(c, zero, first, lanes);
        let sums = k.dot(op, sums, x, y);
        k.store(out, zero, first, sums);
        first += i64::from(lanes);
    }
    k.finish()
}

#[test]
fn products_in_squares() {
    let mut random = Random(11);
    let case = |op: DotOp| {
        let [a, b] = [0, 1].map(|_| random.elements(Lane::I8, 4 * COUNT));
        let c = random.elements(Lane::I32, COUNT);
        let factor = |byte: u64| if op == DotOp::SignedSquares { i32::from(byte as i8) } else { byte as i32 };
        let sum = |i: usize| {
            let [x, y] = [i / 2 % 2, i % 2].map(|row| i / 4 * 16 + 8 * row);
            let products = (0..8).map(|k| factor(a[x + k]) * i32::from(b[y + k] as i8));
            u64::from((c[i] as i32).wrapping_add(products.sum()) as u32)
        };
        let wanted: Vec<u64> = (0..COUNT).map(sum).collect();
        Case::new(kernel(op), vec![bytes(Lane::I8, &a), bytes(Lane::I8, &b), bytes(Lane::I32, &c)], bytes(Lane::I32, &wanted))
    };
    check(&[DotOp::SignedSquares, DotOp::UnsignedSignedSquares].map(case));
}

#[test]
fn other_levels_refuse_squares() {
    let kernel = kernel(DotOp::SignedSquares);
    let level = |name: &str| machine(name).unwrap();
    let errors = [a64::KERNELS.code(&kernel, level("aarch64+dotprod")).err(), x86::KERNELS.code(&kernel, level("x86-64-v4")).err()];
    let lack = Lack::Operation { operation: Operation::Dot(DotOp::SignedSquares), of: Type::vector(Lane::I32, LANES[0]) };
    let wanted = ["aarch64+dotprod", "x86-64-v4"].map(|machine| Some(CodegenError::lack(&kernel, machine, lack)));
    assert_eq!(errors, wanted);
}
