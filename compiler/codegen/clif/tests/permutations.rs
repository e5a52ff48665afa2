//! Tests of moved lanes, and of horizontal reductions.

use super::engines::check;
use super::{Case, Random, bytes, reference};
use modelc_kernel::{BinaryOp, BufferKind, CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Value, orders};

const LANES: [u16; 6] = [1, 2, 4, 8, 16, 32];
const ALL: [Lane; 6] = [Lane::I8, Lane::I16, Lane::I32, Lane::I64, Lane::F32, Lane::F64];

/// A kernel on two vectors of each length, whose results are stored one after the other.
struct Results {
    builder: KernelBuilder,
    zero: Value,
    out: modelc_kernel::Buffer,
    wanted: Vec<u64>,
}

impl Results {
    fn store(&mut self, value: Value, wanted: impl IntoIterator<Item = u64>) {
        self.builder.store(self.out, self.zero, self.wanted.len() as i64, value);
        let before = self.wanted.len();
        self.wanted.extend(wanted);
        assert_eq!(self.wanted.len() - before, usize::from(self.builder.ty(value).lanes));
    }
}

const OUTPUT: usize = 6000;

/// Builds a case; `test` gets vectors a and b of each length, with their elements.
fn results(
    name: String,
    lane: Lane,
    random: &mut Random,
    mut test: impl FnMut(&mut Results, &mut Random, [Value; 2], [&[u64]; 2]),
) -> Case {
    let data = random.elements(lane, 128);
    let mut b = KernelBuilder::new(name);
    let input = b.buffer("in", BufferKind::Input, lane, 128, lane.bytes());
    let out = b.buffer("out", BufferKind::Output, lane, OUTPUT as u64, lane.bytes());
    let zero = b.index(0);
    let mut results = Results { builder: b, zero, out, wanted: vec![] };
    for lanes in LANES {
        let (from, n) = (2 * usize::from(lanes) - 2, usize::from(lanes));
        let x = results.builder.load(input, zero, from as i64, lanes);
        let y = results.builder.load(input, zero, (from + n) as i64, lanes);
        test(&mut results, random, [x, y], [&data[from..from + n], &data[from + n..from + 2 * n]]);
    }
    results.wanted.resize(OUTPUT, 0);
    let mut case = Case::new(results.builder.finish(), vec![bytes(lane, &data)], bytes(lane, &results.wanted));
    case.before[1].fill(0);
    case
}

#[test]
fn parts_and_joins() {
    let mut random = Random(21);
    let cases: Vec<_> = ALL
        .iter()
        .map(|&lane| {
            results(format!("parts_{lane:?}"), lane, &mut random, |r, _, [x, y], [a, b]| {
                let joined = r.builder.join(x, y);
                r.store(joined, a.iter().chain(b).copied());
                for lanes in LANES.into_iter().filter(|&l| usize::from(l) <= a.len()) {
                    for first in (0..a.len() as u16).step_by(usize::from(lanes)) {
                        let part = r.builder.part(x, first, lanes);
                        r.store(part, a[usize::from(first)..][..usize::from(lanes)].iter().copied());
                    }
                }
                for (lane, &element) in b.iter().enumerate() {
                    let scalar = r.builder.extract(y, lane as u16);
                    r.store(scalar, [element]);
                }
            })
        })
        .collect();
    check(&cases);
}

#[test]
fn shuffles() {
    let mut random = Random(22);
    let mut cases = vec![];
    for lane in ALL {
        cases.push(results(format!("shuffles_{lane:?}"), lane, &mut random, |r, random, [x, y], [a, b]| {
            let n = a.len() as u16;
            let both: Vec<u64> = a.iter().chain(b).copied().collect();
            let mut patterns: Vec<Vec<u16>> = vec![
                (0..n).map(|i| i / 2 + n * (i % 2)).collect(),
                (0..n).map(|i| 2 * i).collect(),
                (0..n).map(|i| 2 * i + 1).collect(),
                (0..n).rev().collect(),
                (0..n).map(|i| (i + 1) % (2 * n)).collect(),
            ];
            if n >= 8 {
                patterns.extend([orders::interleaved(n), orders::spread(n), orders::interleaved_of_spread(n)]);
            }
            if n >= 16 {
                patterns.extend([orders::spread_bytes(n), orders::interleaved_of_spread_bytes(n)]);
            }
            let block = (16 / lane.bytes()) as u16;
            if n >= block {
                patterns.extend([false, true].map(|upper| orders::unpacked(n, block, upper)));
            }
            for lanes in LANES {
                patterns.push((0..lanes).map(|_| random.below(2 * u64::from(n)) as u16).collect());
            }
            for pattern in patterns {
                let wanted: Vec<u64> = pattern.iter().map(|&p| both[usize::from(p)]).collect();
                let value = r.builder.shuffle(x, y, pattern);
                r.store(value, wanted);
            }
        }));
    }
    check(&cases);
}

/// Tests that masks can be moved like values.
#[test]
fn masks() {
    let mut random = Random(23);
    let mut cases = vec![];
    for lane in ALL.into_iter().filter(|l| l.is_integer()) {
        cases.push(results(format!("masks_{lane:?}"), lane, &mut random, |r, random, [x, y], [a, b]| {
            let n = a.len() as u16;
            let less = r.builder.compare(CompareOp::UnsignedLess, x, y);
            let truth: Vec<u64> = a.iter().zip(b).map(|(a, b)| u64::from(a < b)).collect();
            let put = |r: &mut Results, mask: Value, wanted: Vec<u64>| {
                let value = r.builder.convert(ConvertOp::MaskToInteger, mask, lane);
                r.store(value, wanted);
            };
            let pattern: Vec<u16> = (0..n).map(|_| random.below(2 * u64::from(n)) as u16).collect();
            let wanted = pattern.iter().map(|&p| truth[usize::from(p % n)]).collect();
            let mixed = r.builder.shuffle(less, less, pattern);
            put(r, mixed, wanted);
            let joined = r.builder.join(less, less);
            put(r, joined, [&truth[..], &truth].concat());
            let first = r.builder.extract(less, n - 1);
            put(r, first, vec![truth[usize::from(n) - 1]]);
            let all = r.builder.splat(first, n);
            put(r, all, vec![truth[usize::from(n) - 1]; usize::from(n)]);
            if n > 1 {
                let half = r.builder.part(less, n / 2, n / 2);
                put(r, half, truth[usize::from(n) / 2..].to_vec());
            }
            let yes = r.builder.mask(n, true);
            let no = r.builder.mask(n, false);
            let picked = r.builder.select(less, no, yes);
            put(r, picked, truth.iter().map(|t| 1 - t).collect());
        }));
    }
    check(&cases);
}

/// Reduces elements: element i with element i + n/2, until one is left.
fn horizontally(op: BinaryOp, lane: Lane, a: &[u64]) -> u64 {
    let mut a = a.to_vec();
    while a.len() > 1 {
        let half = a.len() / 2;
        a = (0..half).map(|i| reference::binary(op, lane, a[i], a[i + half])).collect();
    }
    a[0]
}

#[test]
fn horizontal() {
    let mut random = Random(24);
    let mut cases = vec![];
    for lane in ALL {
        cases.push(results(format!("horizontal_{lane:?}"), lane, &mut random, |r, _, [x, _], [a, _]| {
            let ops = match lane.is_float() {
                true => [BinaryOp::Add, BinaryOp::FloatMaxFirst, BinaryOp::FloatMinFirst],
                false => [BinaryOp::Add, BinaryOp::SignedMax, BinaryOp::SignedMin],
            };
            for (op, reference) in [HorizontalOp::Add, HorizontalOp::Max, HorizontalOp::Min].into_iter().zip(ops) {
                let value = r.builder.horizontal(op, x);
                r.store(value, [horizontally(reference, lane, a)]);
            }
        }));
    }
    check(&cases);
}
