//! Tests of loops, branches, failures and local arrays.

use super::engines::check;
use super::{Case, bytes};
use modelc_kernel::{BinaryOp, BufferKind, CompareOp, ConvertOp, KernelBuilder, Lane, Type, Value};

/// Tests counted loops with run-time bounds that carry vectors, masks and scalars; some do not run.
#[test]
fn counted_loops() {
    let mut cases = vec![];
    for (start, end, step) in [(0, 10, 1), (0, 10, 3), (5, 5, 1), (7, 3, 1), (-4, 9, 4)] {
        let mut b = KernelBuilder::new(format!("for_{start}_{end}_{step}"));
        let out = b.buffer("out", BufferKind::Output, Lane::I32, 18, 4);
        let (first, last) = (b.integer(), b.integer());
        let ty = Type::vector(Lane::I32, 8);
        let (zero, one) = (b.int(ty, 0), b.int(ty, 1));
        let count = b.index(0);
        let odd = b.mask(8, false);
        let results = b.for_carry(first, last, step, &[zero, count, odd], |b, i, carried| {
            let narrow = b.convert(ConvertOp::Wrap, i, Lane::I32);
            let splat = b.splat(narrow, 8);
            let sum = b.add(carried[0], splat);
            let plus = b.scale_index(carried[1], 1, 1);
            let bit = b.binary(BinaryOp::And, sum, one);
            let odd = b.compare(CompareOp::Equal, bit, one);
            let odd = b.binary(BinaryOp::Xor, odd, carried[2]);
            vec![sum, plus, odd]
        });
        let place = b.index(0);
        b.store(out, place, 0, results[0]);
        let count = b.convert(ConvertOp::Wrap, results[1], Lane::I32);
        b.store(out, place, 8, count);
        let truth = b.convert(ConvertOp::MaskToInteger, results[2], Lane::I32);
        b.store(out, place, 9, truth);
        b.store(out, place, 17, count);
        let (mut sum, mut rounds, mut odd) = (0i64, 0, false);
        for i in (start..end).step_by(step as usize) {
            sum += i;
            rounds += 1;
            odd ^= sum & 1 == 1;
        }
        let mut wanted = vec![sum as u64; 8];
        wanted.push(rounds);
        wanted.extend([u64::from(odd); 8]);
        wanted.push(rounds);
        let mut case = Case::new(b.finish(), vec![], bytes(Lane::I32, &wanted));
        case.integers = vec![start, end];
        cases.push(case);
    }
    check(&cases);
}

/// Tests loops with a condition at the end and branches with results, nested in each other: the steps of Collatz's problem.
#[test]
fn loops_and_branches() {
    let mut cases = vec![];
    for n in [1i64, 2, 7, 27] {
        let mut b = KernelBuilder::new(format!("collatz_{n}"));
        let out = b.buffer("out", BufferKind::Output, Lane::I64, 2, 8);
        let n_value = b.integer();
        let steps = b.index(0);
        let one = b.index(1);
        let results = b.loop_while(&[n_value, steps], |b, v| {
            let bit = b.binary(BinaryOp::And, v[0], one);
            let odd = b.compare(CompareOp::Equal, bit, one);
            let next = b.if_else(odd, |b| vec![b.scale_index(v[0], 3, 1)], |b| vec![b.shift(BinaryOp::ShiftRightSigned, v[0], 1)]);
            let steps = b.scale_index(v[1], 1, 1);
            let more = b.compare(CompareOp::Greater, next[0], one);
            (more, vec![next[0], steps])
        });
        let zero = b.index(0);
        b.store(out, zero, 0, results[1]);
        b.store(out, zero, 1, results[0]);
        let (mut value, mut steps) = (n, 0);
        loop {
            value = if value & 1 == 1 { 3 * value + 1 } else { value >> 1 };
            steps += 1;
            if value <= 1 {
                break;
            }
        }
        let mut case = Case::new(b.finish(), vec![], bytes(Lane::I64, &[steps, value as u64]));
        case.integers = vec![n];
        cases.push(case);
    }
    check(&cases);
}

/// Tests that a failure leaves at once with its status; earlier stores stay.
#[test]
fn failures() {
    let mut cases = vec![];
    for limit in [0i64, 3, 8] {
        let mut b = KernelBuilder::new(format!("fail_{limit}"));
        let out = b.buffer("out", BufferKind::Output, Lane::I64, 5, 8);
        let limit_value = b.integer();
        b.for_range(0, 5, 1, |b, i| {
            let beyond = b.compare(CompareOp::GreaterEqual, i, limit_value);
            b.fail_if(beyond, -7);
            b.store(out, i, 0, i);
            let four = b.index(40);
            let never = b.compare(CompareOp::Greater, i, four);
            b.fail_if(never, -8);
        });
        let wanted: Vec<u64> = (0..5).map(|i| if (i as i64) < limit { i } else { 99 }).collect();
        let mut case = Case::new(b.finish(), vec![], bytes(Lane::I64, &wanted));
        case.before[0] = bytes(Lane::I64, &[99; 5]);
        case.integers = vec![limit];
        case.status = if limit < 5 { -7 } else { 0 };
        cases.push(case);
    }
    check(&cases);
}

/// Tests a local array that an innermost loop writes and reads at one place: the read stays behind the write.
#[test]
fn local_arrays_that_loops_rewrite() {
    let mut cases = vec![];
    for lane in [Lane::I8, Lane::I16, Lane::I32, Lane::F32] {
        let mut b = KernelBuilder::new(format!("rewritten_{lane:?}"));
        let input = b.buffer("in", BufferKind::Input, lane, 16, lane.bytes());
        let array = b.buffer("array", BufferKind::Local, lane, 4, 16);
        let out = b.buffer("out", BufferKind::Output, lane, 16, lane.bytes());
        b.for_range(0, 16, 4, |b, i| {
            let zero = b.index(0);
            for half in [0, 2] {
                let value = b.load(input, i, half, 2);
                b.store(array, zero, 2 - half, value);
            }
            let turned = b.load(array, zero, 0, 4);
            let single = b.load_splat(array, zero, 3, 4);
            let sum = b.add(turned, single);
            b.store(out, i, 0, sum);
        });
        let number = |n: u64| if lane == Lane::F32 { u64::from((n as f32).to_bits()) } else { n };
        let data: Vec<u64> = (0..16).map(number).collect();
        let wanted: Vec<u64> = (0..16).map(|i| number((i ^ 2) + (i / 4 * 4 + 1))).collect();
        cases.push(Case::new(b.finish(), vec![bytes(lane, &data)], bytes(lane, &wanted)));
    }
    check(&cases);
}

/// Tests more floats than registers, with spill slots near the stack pointer, far from it, and beyond the reach of loads of words.
#[test]
fn floats_beside_arrays() {
    let mut cases = vec![];
    for (lane, elements) in [Lane::F32, Lane::F64].into_iter().flat_map(|lane| [8u64, 200, 1200].map(|elements| (lane, elements))) {
        let mut b = KernelBuilder::new(format!("beside_{elements}_{lane:?}"));
        let input = b.buffer("in", BufferKind::Input, lane, 40, lane.bytes());
        let array = b.buffer("array", BufferKind::Local, lane, elements, 16);
        let out = b.buffer("out", BufferKind::Output, lane, 40, lane.bytes());
        let zero = b.index(0);
        let values: Vec<Value> = (0..40).map(|i| b.load(input, zero, i, 1)).collect();
        b.store(array, zero, elements as i64 - 1, values[39]);
        for (i, (&one, &other)) in values.iter().zip(values.iter().rev()).enumerate().take(39) {
            let sum = b.add(one, other);
            b.store(out, zero, i as i64, sum);
        }
        let last = b.load(array, zero, elements as i64 - 1, 1);
        b.store(out, zero, 39, last);
        let number = |n: u64| if lane == Lane::F32 { u64::from((n as f32).to_bits()) } else { (n as f64).to_bits() };
        let data: Vec<u64> = (0..40).map(|i| number(i * i)).collect();
        let wanted: Vec<u64> = (0..39).map(|i| number(i * i + (39 - i) * (39 - i))).chain([number(39 * 39)]).collect();
        cases.push(Case::new(b.finish(), vec![bytes(lane, &data)], bytes(lane, &wanted)));
    }
    check(&cases);
}

/// Tests local arrays of every lane type: written backwards, read forwards, with vectors that overlap several stores.
#[test]
fn local_arrays() {
    let mut cases = vec![];
    for lane in [Lane::I8, Lane::I16, Lane::I32, Lane::I64] {
        let mut b = KernelBuilder::new(format!("local_{lane:?}"));
        let first = b.buffer("first", BufferKind::Local, lane, 3, lane.bytes());
        let array = b.buffer("array", BufferKind::Local, lane, 40, 16);
        let out = b.buffer("out", BufferKind::Output, lane, 40, lane.bytes());
        let zero = b.index(0);
        let guard = b.int(Type::scalar(lane), 5);
        b.store(first, zero, 2, guard);
        b.for_range(0, 40, 1, |b, i| {
            let last = b.index(39);
            let place = b.sub(last, i);
            let value = if lane == Lane::I64 { i } else { b.convert(ConvertOp::Wrap, i, lane) };
            b.store(array, place, 0, value);
        });
        b.for_range(0, 40, 8, |b, i| {
            let value = b.load(array, i, 0, 8);
            let five = b.load_splat(first, zero, 2, 8);
            let sum = b.add(value, five);
            b.store(out, i, 0, sum);
        });
        let wanted: Vec<u64> = (0..40).map(|i| 39 - i + 5).collect();
        cases.push(Case::new(b.finish(), vec![], bytes(lane, &wanted)));
    }
    check(&cases);
}
