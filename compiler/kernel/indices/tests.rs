use super::*;
use crate::KernelBuilder;
use crate::interpret::interpret;

const ALL: usize = usize::MAX;

#[test]
fn sums_of_counters_are_followed() {
    let mut b = KernelBuilder::new("k");
    let n = b.integer();
    let mut found = vec![];
    b.for_range(3, 20, 4, |b, i| {
        let (zero, sixteen) = (b.index(0), b.index(16));
        b.for_values(zero, n, 8, |b, j| {
            // 4·i + j + 7, then without j.
            let scaled = b.shift(BinaryOp::ShiftLeft, i, 2);
            let sum = b.add(scaled, j);
            let moved = b.scale_index(sum, 1, 7);
            let back = b.sub(moved, j);
            let product = b.mul(sixteen, i);
            let twice = b.add(product, moved);
            found.extend([i, j, moved, back, twice]);
        });
    });
    let kernel = b.finish();
    let indices = Indices::of(&kernel, ALL);
    let &[i, j, moved, back, twice] = &found[..] else { panic!("five values") };
    assert_eq!(indices.sum(i), Sum::term(i));
    assert_eq!(indices.interval(i), Interval { low: 3, high: 19 });
    assert_eq!(indices.sum(moved), Sum { terms: vec![(i, 4), (j, 1)], constant: 7 });
    assert_eq!(indices.sum(back), Sum { terms: vec![(i, 4)], constant: 7 });
    assert_eq!(indices.interval(back), Interval { low: 19, high: 83 });
    assert_eq!(indices.sum(twice), Sum { terms: vec![(i, 20), (j, 1)], constant: 7 });
    assert!(indices.takes_ends(back) && !indices.takes_ends(moved));
    assert_eq!(indices.interval(j), Interval { low: 0, high: i64::MAX - 1 });
    assert_eq!((indices.multiple(i), indices.multiple(j), indices.multiple_of_terms(back), indices.multiple(back)), (0, 3, 2, 0));
    // With a limit of one term, the sum of two counters is a term.
    let short = Indices::of(&kernel, 1);
    assert!(short.composed(moved).is_none_or(|sum| sum.terms.len() == 1));
    assert_eq!(short.sum(i), Sum::term(i));
}

#[test]
fn numbers_beyond_64_bits_end_a_sum() {
    let mut b = KernelBuilder::new("k");
    let n = b.integer();
    let far = b.index(i64::MAX);
    let beyond = b.add(far, far);
    let huge = b.mul(n, far);
    let more = b.add(huge, huge);
    let indices = Indices::of(&b.finish(), ALL);
    assert_eq!(indices.sum(beyond), Sum::term(beyond));
    assert_eq!(indices.sum(huge), Sum { terms: vec![(n, i64::MAX)], constant: 0 });
    assert_eq!(indices.sum(more), Sum::term(more));
    assert_eq!(indices.interval(huge), Interval::of_type(Type::INDEX));
}

#[test]
fn parameters_have_intervals() {
    let mut b = KernelBuilder::new("k");
    let n = b.integer();
    let seven = b.index(7);
    let rest = b.binary(BinaryOp::UnsignedRem, n, seven);
    let sum = b.scale_index(rest, 2, 1);
    let kernel = b.finish();
    let indices = Indices::assuming(&kernel, &Assumed { parameters: vec![Interval { low: 1, high: 1000 }], ..Assumed::default() }, ALL);
    assert_eq!(indices.interval(sum), Interval { low: 1, high: 13 });
    assert_eq!(indices.sum(sum), Sum { terms: vec![(rest, 2)], constant: 1 });
    assert!(!indices.takes_ends(n));
}

#[test]
fn loads_lie_where_callers_keep_them() {
    let mut b = KernelBuilder::new("k");
    let extent = b.buffer("extent", BufferKind::Input, Lane::I64, 1, 8);
    let zero = b.index(0);
    let loaded = b.load(extent, zero, 0, 1);
    let sum = b.scale_index(loaded, 3, -1);
    let kernel = b.finish();
    let assumed = Assumed { elements: [(0, Interval { low: 1, high: 64 })].into(), ..Assumed::default() };
    assert_eq!(Indices::assuming(&kernel, &assumed, ALL).interval(sum), Interval { low: 2, high: 191 });
    assert_eq!(Indices::of(&kernel, ALL).interval(sum), Interval::of_type(Type::INDEX));
}

/// A generator of numbers for random kernels.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// Adds random scalar 64-bit integers that are computed from the existing ones.
fn grow(b: &mut KernelBuilder, random: &mut Random, values: &mut Vec<Value>) {
    for _ in 0..6 {
        let numbers = [0, 1, -1, 3, 4, 12, -7, 1 << 40, i64::MAX, i64::MIN];
        let number = random.pick(&numbers);
        let (x, y) = (random.pick(values), random.pick(values));
        let number = b.index(number);
        let result = match random.below(8) {
            0 => b.add(x, y),
            1 => b.sub(x, y),
            2 => b.mul(x, number),
            3 => b.add(number, x),
            4 => b.sub(number, x),
            5 => b.shift(BinaryOp::ShiftLeft, x, random.pick(&[0, 1, 5, 62, 63])),
            6 => b.binary(random.pick(&[BinaryOp::SignedMin, BinaryOp::And, BinaryOp::UnsignedRem, BinaryOp::SignedDiv]), x, number),
            _ => b.mul(x, y),
        };
        values.push(result);
    }
}

/// Makes a kernel of loops that computes random indices. It stores them together with the terms of their sums. Returns the values of the innermost
/// loop.
fn random_kernel(random: &mut Random) -> (Kernel, Vec<Value>) {
    let mut b = KernelBuilder::new("random");
    let n = b.integer();
    let output = b.buffer("output", BufferKind::Output, Lane::I64, 64, 8);
    let mut values = vec![n];
    grow(&mut b, random, &mut values);
    let (start, end) = (random.pick(&[0, 2, -3]), random.pick(&[5, 9]));
    let (start, end) = (b.index(start), b.index(end));
    let step = random.pick(&[1, 4]);
    b.for_carry(start, end, step, &[n], |b, i, carried| {
        values.extend([i, carried[0]]);
        grow(b, random, &mut values);
        b.for_range(0, 2, 1, |b, j| {
            values.push(j);
            grow(b, random, &mut values);
            for (place, &value) in values.iter().enumerate() {
                let zero = b.index(0);
                b.store(output, zero, place as i64, value);
            }
            // An early exit leaves the stores of earlier rounds, so these are checked, too.
            let (first, second) = (b.index(1), b.index(random.pick(&[0, 1])));
            let leaves = b.compare(CompareOp::Equal, i, second);
            b.fail_if(leaves, 1);
            let leaves = b.compare(CompareOp::Greater, j, first);
            b.fail_if(leaves, 2);
        });
        vec![random.pick(&values)]
    });
    (b.finish(), values)
}

/// The interpreter computes the values that the analysis states.
#[test]
fn sums_and_intervals_are_what_is_computed() {
    let mut random = Random(7);
    let mut sums = 0;
    for round in 0..400 {
        let (kernel, values) = random_kernel(&mut random);
        let integer = random.pick(&[0, 5, -1000, i64::MAX - 3]);
        let parameters = vec![Interval { low: integer, high: integer.saturating_add(round) }];
        let indices = Indices::assuming(&kernel, &Assumed { parameters, ..Assumed::default() }, ALL);
        let mut buffers = [vec![0; 64 * 8]];
        interpret(&kernel, &mut buffers, &[integer]).expect("no access is outside");
        let stored = |place: usize| i64::from_le_bytes(std::array::from_fn(|i| buffers[0][8 * place + i]));
        let number = |value: Value| values.iter().position(|&other| other == value).map(stored);
        for (place, &value) in values.iter().enumerate() {
            let (found, interval) = (stored(place), indices.interval(value));
            assert!((interval.low..=interval.high).contains(&found), "{value} is {found}, not in {interval:?}\n{kernel}");
            let multiple = indices.multiple(value).min(63);
            assert!(found.trailing_zeros() >= multiple, "{value} is {found}, no multiple of 2^{multiple}\n{kernel}");
            let sum = indices.sum(value);
            let terms = sum.terms.iter().map(|&(term, factor)| Some(number(term)?.wrapping_mul(factor)));
            let Some(computed) = terms.sum_wrapping(sum.constant) else { continue };
            assert_eq!(computed, found, "{value} is no {sum:?}\n{kernel}");
            sums += usize::from(indices.composed(value).is_some());
        }
    }
    assert!(sums > 1000, "{sums} sums");
}

trait SumWrapping {
    fn sum_wrapping(self, start: i64) -> Option<i64>;
}

impl<I: Iterator<Item = Option<i64>>> SumWrapping for I {
    fn sum_wrapping(mut self, start: i64) -> Option<i64> {
        self.try_fold(start, |sum, term| Some(sum.wrapping_add(term?)))
    }
}

#[test]
fn what_loops_carry_lies_between_its_start_and_its_yields() {
    let text = "kernel @k(x: input i8[84] align 4, y: output i8[84] align 4) {
      %1: i64, %2: i64 = for %3 in 0..25 step 1 carry %4 = 0, %5 = 7 {
        %6: i64 = add %3, 3
        %7: i64 = signed_max %4, %3
        for %8 in %7..%6 step 1 {
          %9: i8 = load x[%8]
          store y[%8], %9
        }
        %10: i64 = add %5, 1
        yield %6, %10
      }
    }";
    let kernel = crate::text::parse_kernel(text).unwrap();
    let indices = Indices::of(&kernel, ALL);
    let outer = kernel.body.statements.iter().find(|s| matches!(s.inst, Inst::For { .. })).unwrap();
    let Inst::For { body, .. } = &outer.inst else { panic!("a loop") };
    let inner = body.statements.iter().find_map(|s| if let Inst::For { body, .. } = &s.inst { Some(body) } else { None }).unwrap();
    assert_eq!(indices.interval(body.params[1]), Interval { low: 0, high: 27 });
    assert_eq!(indices.interval(outer.results[0]), Interval { low: 0, high: 27 });
    assert_eq!(indices.interval(inner.params[0]), Interval { low: 0, high: 26 });
    // This value grows from round to round.
    assert_eq!(indices.interval(body.params[2]), Interval::of_type(Type::INDEX));
}
