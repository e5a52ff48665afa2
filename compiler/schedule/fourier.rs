//! Fourier transforms whose length is a power of two. Stockham's radix-2 passes read halves and write pairs in order, so that every access is a
//! contiguous vector. Between passes, real and imaginary parts are in separate planes of scratch memory. A real transform is a complex one of
//! half the length, whose result is separated at the end.

use super::arguments::{Arguments, Elements};
use super::context::Context;
use super::interface::{Lowered, Requirements, Schedule};
use super::pair::Pair;
use super::quantity::{Cells, Quantity, product as product_of};
use super::unsupported::Unsupported;
use crate::ir::{ElementType, Inst, Op, Value as Tensor};
use crate::kernel::{Buffer, KernelBuilder, Lane, Type, Value};

/// Schedule of an `fft` or `rfft`.
pub struct FourierSchedule<'a> {
    cx: Context<'a>,
    input: Tensor,
    output: Tensor,
    /// Number of transforms.
    rows: Quantity,
    /// Numbers that one transform reads and writes.
    row: [u64; 2],
    /// Number of complex numbers in the passes.
    length: u64,
    /// `true` if the input is real. Then `length` is half of the input's length.
    real: bool,
    lanes: u16,
}

/// Complex numbers in lanes.
#[derive(Clone, Copy)]
struct Complex {
    real: Value,
    imaginary: Value,
}

impl<'a> FourierSchedule<'a> {
    /// Makes the schedule of an `fft` or `rfft`.
    ///
    /// # Errors
    /// [`Unsupported`] if the length is known only at run time, or elements are not binary32.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let (input, output) = (data.operands[0], data.results[0]);
        if cx.element(input) != ElementType::F32 {
            return Err(Unsupported::OperatorOf { op: data.op(), element: cx.element(input) });
        }
        let real = data.op() == Op::RealFourier;
        let shape = cx.quantities(input);
        let (rows, each) = shape.split_at(shape.len().saturating_sub(if real { 1 } else { 2 }));
        let each = each.iter().map(Quantity::as_known).collect::<Option<Vec<i64>>>();
        let each = each.ok_or(Unsupported::TransformLength)?;
        let numbers = each.iter().product::<i64>() as u64;
        // A real transform of one number cannot be halved.
        let length = if real { (numbers / 2).max(1) } else { numbers / 2 };
        let row = [numbers, if real { 2 * (numbers / 2 + 1) } else { numbers }];
        let half = u16::try_from(length / 2).unwrap_or(u16::MAX).max(1);
        Ok(Self { cx, input, output, rows: product_of(rows), row, length, real, lanes: cx.machine.lanes(4).min(half) })
    }

    /// Tests whether the transform is of one real number, which is its own transform.
    fn is_single(&self) -> bool {
        self.real && self.row[0] == 1
    }

    /// Returns the number of elements of a plane. A real transform reads one more than its length: the first element again.
    fn plane(&self) -> u64 {
        (self.length + 1).next_multiple_of(16)
    }

    fn passes(&self) -> u32 {
        self.length.trailing_zeros()
    }

    /// Tests whether numbers are kept in planes from one pass to the next. Otherwise each goes from the input to the output.
    fn uses_planes(&self) -> bool {
        !self.is_single() && (self.real || self.passes() > 1)
    }
}

/// Computes e^(−2πi · numerator ÷ denominator) in binary64, rounded once to binary32.
fn root_of_unity(numerator: u64, denominator: u64) -> [f32; 2] {
    let angle = -2.0 * std::f64::consts::PI * numerator as f64 / denominator as f64;
    [libm::cos(angle) as f32, libm::sin(angle) as f32]
}

/// Constant factors in planes.
#[derive(Default)]
struct Factors {
    numbers: Vec<f32>,
}

impl Factors {
    /// Adds a list of complex numbers. Returns the positions of its planes.
    fn add(&mut self, list: &[[f32; 2]]) -> [i64; 2] {
        let start = self.numbers.len() as i64;
        for part in 0..2 {
            self.numbers.extend(list.iter().map(|number| number[part]));
        }
        [start, start + list.len() as i64]
    }
}

/// State of the kernel that is being written.
struct Writer<'s> {
    schedule: &'s FourierSchedule<'s>,
    input: Buffer,
    output: Buffer,
    planes: Buffer,
    factors: Buffer,
    /// Position of each pass's factors.
    passes: Vec<[i64; 2]>,
    /// Position of the factors that separate a real transform.
    apart: [i64; 2],
}

impl Writer<'_> {
    fn lanes(&self) -> u16 {
        self.schedule.lanes
    }

    /// Returns the start of the planes that a pass writes. The next pass reads them.
    fn planes_of(&self, pass: u32) -> [i64; 2] {
        let plane = self.schedule.plane() as i64;
        let first = 2 * plane * i64::from(pass % 2);
        [first, first + plane]
    }

    fn load(&self, b: &mut KernelBuilder, buffer: Buffer, starts: [i64; 2], index: Value, offset: i64) -> Complex {
        let [real, imaginary] = starts.map(|start| b.load(buffer, index, start + offset, self.lanes()));
        Complex { real, imaginary }
    }

    /// Loads consecutive pairs as two vectors.
    fn load_pairs(&self, b: &mut KernelBuilder, index: Value, offset: i64) -> Complex {
        let pairs = b.load(self.input, index, offset, 2 * self.lanes());
        let mut every_other = |first: u16| b.shuffle(pairs, pairs, (0..self.lanes()).map(|lane| 2 * lane + first).collect());
        Complex { real: every_other(0), imaginary: every_other(1) }
    }

    fn store_pairs(&self, b: &mut KernelBuilder, number: Complex, index: Value, offset: i64) {
        let lanes = self.lanes();
        let order = (0..2 * lanes).map(|place| place / 2 + place % 2 * lanes).collect();
        let pairs = b.shuffle(number.real, number.imaginary, order);
        b.store(self.output, index, offset, pairs);
    }

    /// Writes one pass: numbers half the length apart become neighbours `stride` apart. `row` is the position of the row's first float in the
    /// input, `target` that in the output.
    fn pass(&self, b: &mut KernelBuilder, pass: u32, row: Value, target: Value) {
        let (half, stride, lanes) = ((self.schedule.length / 2) as i64, 1i64 << pass, i64::from(self.lanes()));
        if stride < lanes {
            b.for_range(0, half, lanes, |b, index| {
                let factor = (half > stride).then(|| self.load(b, self.factors, self.passes[pass as usize], index, 0));
                let (sum, difference) = self.butterfly(b, pass, row, index, factor);
                let place = b.scale_index(index, 2, 0);
                self.store_woven(b, pass, sum, difference, place, target);
            });
            return;
        }
        b.for_range(0, half, stride, |b, block| {
            let factor = (half > stride).then(|| {
                let parts = self.passes[0].map(|start| b.load_splat(self.factors, block, start, self.lanes()));
                Complex { real: parts[0], imaginary: parts[1] }
            });
            let place = b.scale_index(block, 2, 0);
            b.for_range(0, stride, lanes, |b, inner| {
                let index = b.add(block, inner);
                let (sum, difference) = self.butterfly(b, pass, row, index, factor);
                let place = b.add(place, inner);
                self.store(b, pass, sum, place, 0, target);
                self.store(b, pass, difference, place, stride, target);
            });
        });
    }

    /// Computes a + b and (a − b) × factor, where a is at `index` and b half the length after it.
    fn butterfly(&self, b: &mut KernelBuilder, pass: u32, row: Value, index: Value, factor: Option<Complex>) -> (Complex, Complex) {
        let half = (self.schedule.length / 2) as i64;
        let (first, second) = if pass == 0 {
            let pair = b.scale_index(index, 2, 0);
            let pair = b.add(pair, row);
            (self.load_pairs(b, pair, 0), self.load_pairs(b, pair, 2 * half))
        } else {
            let planes = self.planes_of(pass - 1);
            (self.load(b, self.planes, planes, index, 0), self.load(b, self.planes, planes, index, half))
        };
        let sum = Complex { real: b.add(first.real, second.real), imaginary: b.add(first.imaginary, second.imaginary) };
        let difference = Complex { real: b.sub(first.real, second.real), imaginary: b.sub(first.imaginary, second.imaginary) };
        let difference = factor.map_or(difference, |factor| product(b, difference, factor));
        (sum, difference)
    }

    /// Tests whether a pass writes the output itself.
    fn is_last(&self, pass: u32) -> bool {
        !self.schedule.real && pass + 1 == self.schedule.passes()
    }

    fn store(&self, b: &mut KernelBuilder, pass: u32, number: Complex, place: Value, offset: i64, target: Value) {
        if self.is_last(pass) {
            let pair = b.scale_index(place, 2, 0);
            let pair = b.add(pair, target);
            return self.store_pairs(b, number, pair, 2 * offset);
        }
        let [real, imaginary] = self.planes_of(pass);
        b.store(self.planes, place, real + offset, number.real);
        b.store(self.planes, place, imaginary + offset, number.imaginary);
    }

    /// Stores sums and differences alternately, in pieces of the pass's stride, which is less than a vector.
    fn store_woven(&self, b: &mut KernelBuilder, pass: u32, sum: Complex, difference: Complex, place: Value, target: Value) {
        let (stride, lanes) = (1u16 << pass, self.lanes());
        let from = |place: u16| {
            let (turn, within) = (place / stride, place % stride);
            turn / 2 * stride + within + turn % 2 * lanes
        };
        let mut woven = |order: Vec<u16>| {
            let real = b.shuffle(sum.real, difference.real, order.clone());
            Complex { real, imaginary: b.shuffle(sum.imaginary, difference.imaginary, order) }
        };
        let halves = [woven((0..lanes).map(from).collect()), woven((lanes..2 * lanes).map(from).collect())];
        for (half, number) in halves.into_iter().enumerate() {
            self.store(b, pass, number, place, half as i64 * i64::from(lanes), target);
        }
    }

    /// Returns the planes of the complex transform of half the length.
    fn result_planes(&self) -> [i64; 2] {
        self.planes_of(self.schedule.passes().wrapping_sub(1))
    }

    /// Separates the transform of real numbers, whose even and odd elements were the real and imaginary parts. With Z[k], and with Y as the
    /// conjugate of Z[n − k], it is (Z + Y) ÷ 2 − i · factor · (Z − Y) ÷ 2.
    fn take_apart(&self, b: &mut KernelBuilder, target: Value) {
        let (length, lanes) = (self.schedule.length as i64, self.lanes());
        let planes = self.result_planes();
        let zero = b.index(0);
        for plane in planes {
            let first = b.load(self.planes, zero, plane, 1);
            b.store(self.planes, zero, plane + length, first);
        }
        let half = b.float(Type::vector(Lane::F32, lanes), 0.5);
        b.for_range(0, length, i64::from(lanes), |b, k| {
            let z = self.load(b, self.planes, planes, k, 0);
            let last = b.index(length - i64::from(lanes) + 1);
            let mirrored = b.sub(last, k);
            let y = self.load(b, self.planes, planes, mirrored, 0);
            let mut reverse = |x: Value| b.shuffle(x, x, (0..lanes).rev().collect());
            let y = Complex { real: reverse(y.real), imaginary: reverse(y.imaginary) };
            let (even_real, even_imaginary) = (b.add(z.real, y.real), b.sub(z.imaginary, y.imaginary));
            let (odd_real, odd_imaginary) = (b.add(z.imaginary, y.imaginary), b.sub(y.real, z.real));
            let [even_real, even_imaginary, odd_real, odd_imaginary] =
                [even_real, even_imaginary, odd_real, odd_imaginary].map(|sum| b.mul(sum, half));
            let factor = self.load(b, self.factors, self.apart, k, 0);
            let odd = product(b, Complex { real: odd_real, imaginary: odd_imaginary }, factor);
            let result = Complex { real: b.add(even_real, odd.real), imaginary: b.add(even_imaginary, odd.imaginary) };
            let pair = b.scale_index(k, 2, 0);
            let pair = b.add(pair, target);
            self.store_pairs(b, result, pair, 0);
        });
        let first = planes.map(|plane| b.load(self.planes, zero, plane, 1));
        let middle = b.sub(first[0], first[1]);
        b.store(self.output, target, 2 * length, middle);
        let none = b.float(Type::vector(Lane::F32, 1), 0.0);
        b.store(self.output, target, 2 * length + 1, none);
    }

    /// Writes a transform of one number, which is the number itself.
    fn copy(&self, b: &mut KernelBuilder, single: bool, row: Value, target: Value) {
        let real = b.load(self.input, row, 0, 1);
        let imaginary = if single { b.float(Type::vector(Lane::F32, 1), 0.0) } else { b.load(self.input, row, 1, 1) };
        let zero = b.index(0);
        for (part, value) in [real, imaginary].into_iter().enumerate() {
            if self.schedule.real && !single {
                b.store(self.planes, zero, self.result_planes()[part], value);
            } else {
                b.store(self.output, target, part as i64, value);
            }
        }
    }
}

fn product(b: &mut KernelBuilder, x: Complex, y: Complex) -> Complex {
    let (rr, ii) = (b.mul(x.real, y.real), b.mul(x.imaginary, y.imaginary));
    let (ri, ir) = (b.mul(x.real, y.imaginary), b.mul(x.imaginary, y.real));
    Complex { real: b.sub(rr, ii), imaginary: b.add(ri, ir) }
}

impl Schedule for FourierSchedule<'_> {
    fn requirements(&self) -> Requirements {
        // The first pass reads the input, and each later pass reads the output of the pass before it.
        Requirements { scratch: vec![4 * self.plane() * 4], private_rounds: self.uses_planes(), ..Requirements::default() }
    }

    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let single = self.is_single();
        let mut factors = Factors::default();
        let (length, half) = (self.length, self.length / 2);
        let mut passes = Vec::new();
        for pass in 0..self.passes().min(u32::from(self.lanes).trailing_zeros().max(1)) {
            let stride = 1u64 << pass;
            let list: Vec<[f32; 2]> = (0..half).map(|index| root_of_unity(index / stride * stride, length)).collect();
            passes.push(factors.add(&list));
        }
        let apart: Vec<[f32; 2]> = if self.real { (0..length).map(|k| root_of_unity(k, 2 * length)).collect() } else { vec![] };
        let apart = factors.add(&apart);
        let rows = self.rows.most(self.cx.function)?;
        let [into, out] = self.row.map(|numbers| rows.saturating_mul(numbers));
        let numbers = factors.numbers;
        let mut b = KernelBuilder::new(if self.real { "rfft" } else { "fft" });
        let mut arguments = Arguments::default();
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        let writer = Writer {
            schedule: self,
            input: arguments.input(&mut b, "input", self.input, Elements::new(Lane::F32, into)),
            output: arguments.output(&mut b, "output", self.output, Elements::new(Lane::F32, out)),
            planes: arguments.scratch(&mut b, "planes", 0, Lane::F32, 4 * self.plane()),
            factors: arguments.data(&mut b, "factors", bytes.into(), Lane::F32, 4),
            passes,
            apart,
        };
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.rows.extents());
        b.independent_with(vec![writer.planes]);
        cells.number(&mut b, &self.rows).repeat(&mut b, |b, row| {
            b.independent(true);
            let [source, target] = self.row.map(|numbers| b.scale_index(row, numbers as i64, 0));
            if length == 1 {
                writer.copy(b, single, source, target);
            }
            for pass in 0..self.passes() {
                writer.pass(b, pass, source, target);
            }
            if self.real && !single {
                writer.take_apart(b, target);
            }
        });
        let description =
            format!("{} of {length}, {} at a time", if self.real { "half a real transform" } else { "transform" }, self.lanes);
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}
