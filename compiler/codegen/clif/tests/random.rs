//! Random kernels: loops, branches and memory around operations on vectors of every length. Every back end computes what the interpreter computes.
//!
//! `MODELC_KERNELS` is the number of kernels, and `MODELC_FIRST_SEED` selects the first one.

use super::engines::check;
use super::{
    Case, FLOATS, INTEGERS, OF_A_FLOAT, OF_AN_INTEGER, OF_FLOATS, OF_INTEGERS, OF_SHORT_INTEGERS, Random, SHIFTS, SUMS_AND_PRODUCTS, bytes,
};
use modelc_kernel::interpret::interpret;
use modelc_kernel::verify::verify;
use modelc_kernel::{
    BinaryOp, Bounds, Buffer, BufferKind, CompareOp, ConvertOp, DotOp, HorizontalOp, Inst, KernelBuilder, Lane, Type, UnaryOp, Value,
};

/// Kernels of a test run.
const KERNELS: u64 = 150;
/// Kernels that one process of an emulator runs.
const KERNELS_A_PROCESS: u64 = 250;
/// Elements of each buffer: a multiple of 16, so that its end and its beginning have the same alignment.
const ELEMENTS: i64 = 96;
const LANES: [u16; 12] = [1, 1, 1, 2, 4, 4, 4, 8, 8, 16, 16, 32];

/// Returns a number from the environment.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_kernels() {
    let first = variable("MODELC_FIRST_SEED").unwrap_or(0);
    let end = first + variable("MODELC_KERNELS").unwrap_or(KERNELS);
    for start in (first..end).step_by(KERNELS_A_PROCESS as usize) {
        let cases: Vec<Case> = (start..end.min(start + KERNELS_A_PROCESS)).map(random_case).collect();
        check(&cases);
    }
}

/// Makes the kernel of a seed, with its operands and what the interpreter computes of them.
fn random_case(seed: u64) -> Case {
    // The generator starts at a number with many ones, whatever the seed.
    let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    random.elements(Lane::I8, 4);
    let integers: Vec<i64> = (0..random.below(3)).map(|_| random.below(12) as i64).collect();
    let kernel = Writer::write(format!("random_{seed}"), random, &integers);
    let (kernel, mut random) = kernel;
    verify(&kernel).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{kernel}"));
    let filled = |buffer: Buffer| bytes(kernel.buffer(buffer).lane, &random.elements(kernel.buffer(buffer).lane, ELEMENTS as usize));
    let before: Vec<Vec<u8>> = kernel.pointer_params().map(|(buffer, _)| buffer).map(filled).collect();
    let mut after = before.clone();
    let status = interpret(&kernel, &mut after, &integers).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{kernel}"));
    let fma = kernel.statements().any(|statement| matches!(statement.inst, Inst::Fma { .. }));
    Case { kernel, before, after: after.into_iter().map(Some).collect(), integers, status, fma, long_vectors: false, is_random: true }
}

/// A scalar index and the largest number that it takes; the smallest one is not negative.
#[derive(Clone, Copy)]
struct Place {
    index: Value,
    most: i64,
}

/// Parts of a random kernel that is being written.
struct Writer {
    random: Random,
    /// Values in sight.
    values: Vec<Value>,
    /// Indices in sight.
    places: Vec<Place>,
    inputs: Vec<Buffer>,
    /// The output of integers, that of floats, and perhaps a local array.
    written: Vec<Buffer>,
    /// Statements that may still be added.
    left: usize,
}

impl Writer {
    fn write(name: String, random: Random, integers: &[i64]) -> (modelc_kernel::Kernel, Random) {
        let mut b = KernelBuilder::new(name);
        let parameters: Vec<Value> = integers.iter().map(|_| b.integer()).collect();
        let places = parameters.iter().zip(integers).map(|(&index, &most)| Place { index, most }).collect();
        let mut writer = Self { random, values: parameters, places, inputs: vec![], written: vec![], left: 0 };
        writer.buffers(&mut b);
        writer.left = 4 + writer.random.below(36) as usize;
        writer.statements(&mut b, 0);
        for value in writer.values.clone() {
            writer.keep(&mut b, value);
        }
        (b.finish(), writer.random)
    }

    fn buffers(&mut self, b: &mut KernelBuilder) {
        for _ in 0..=self.random.below(2) {
            let lane = self.lane();
            let alignment = self.alignment(lane);
            self.inputs.push(b.buffer("in", BufferKind::Input, lane, ELEMENTS as u64, alignment));
        }
        for lane in [self.pick(&INTEGERS), self.pick(&FLOATS)] {
            let alignment = self.alignment(lane);
            self.written.push(b.buffer("out", BufferKind::Output, lane, ELEMENTS as u64, alignment));
        }
        if self.one_in(3) {
            let lane = self.lane();
            let local = b.buffer("local", BufferKind::Local, lane, ELEMENTS as u64, 16);
            let element = self.constant(b, Type::vector(lane, 16));
            let zero = b.index(0);
            (0..ELEMENTS).step_by(16).for_each(|offset| b.store(local, zero, offset, element));
            self.written.push(local);
        }
        let zero = b.index(0);
        self.places.push(Place { index: zero, most: 0 });
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len() as u64) as usize]
    }

    fn lane(&mut self) -> Lane {
        if self.one_in(3) { self.pick(&FLOATS) } else { self.pick(&INTEGERS) }
    }

    fn alignment(&mut self, lane: Lane) -> u32 {
        self.pick(&[1, lane.bytes(), lane.bytes(), 16])
    }

    /// Returns a buffer of a lane type that may be read.
    fn readable(&mut self, b: &KernelBuilder, lane: Lane) -> Option<Buffer> {
        let buffers: Vec<Buffer> = self.inputs.iter().chain(&self.written).copied().filter(|&buffer| b.lane_of(buffer) == lane).collect();
        (!buffers.is_empty()).then(|| self.pick(&buffers))
    }

    /// Returns an index and an offset such that a number of elements from there lie inside a buffer.
    fn place(&mut self, elements: u16) -> (Value, i64) {
        let room = ELEMENTS - i64::from(elements);
        let places: Vec<Place> = self.places.iter().copied().filter(|place| place.most <= room).collect();
        let place = self.pick(&places);
        (place.index, self.random.below((room - place.most + 1) as u64) as i64)
    }

    fn constant(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let bits = self.random.lane(ty.lane);
        if ty.lane.is_float() {
            return b.float_bits(ty, bits);
        }
        let unused = 64 - 8 * ty.lane.bytes();
        b.int(ty, (bits << unused) as i64 >> unused)
    }

    /// Returns a value of a type: one in sight, loaded or constant.
    fn operand(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let known: Vec<Value> = self.values.iter().copied().filter(|&value| b.ty(value) == ty).collect();
        if !known.is_empty() && !self.one_in(4) {
            return self.pick(&known);
        }
        if ty.lane == Lane::Mask {
            return self.comparison(b, ty.lanes);
        }
        match self.readable(b, ty.lane) {
            Some(buffer) if !self.one_in(4) => self.load(b, buffer, ty.lanes),
            _ => self.constant(b, ty),
        }
    }

    fn load(&mut self, b: &mut KernelBuilder, buffer: Buffer, lanes: u16) -> Value {
        if self.one_in(4) {
            let (index, offset) = self.place(1);
            return b.load_splat(buffer, index, offset, lanes);
        }
        let active = if self.one_in(4) { 1 + self.random.below(lanes.into()) as u16 } else { lanes };
        let (index, offset) = self.place(active);
        b.load_active(buffer, index, offset, lanes, active)
    }

    fn comparison(&mut self, b: &mut KernelBuilder, lanes: u16) -> Value {
        use CompareOp::*;
        let ty = Type::vector(self.lane(), lanes);
        let [x, y] = [(); 2].map(|()| self.constant_or_load(b, ty));
        let both = [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual];
        let op = if ty.lane.is_float() { self.pick(&both) } else { self.pick(&[&both[..], &[UnsignedLess, UnsignedLessEqual]].concat()) };
        b.compare(op, x, y)
    }

    /// Returns a value whose bits every machine agrees about: no computed NaN.
    fn constant_or_load(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let inputs: Vec<Buffer> = self.inputs.iter().copied().filter(|&buffer| b.lane_of(buffer) == ty.lane).collect();
        if inputs.is_empty() {
            return self.constant(b, ty);
        }
        let buffer = self.pick(&inputs);
        self.load(b, buffer, ty.lanes)
    }

    /// Stores a value to the output for its kind of lanes.
    fn keep(&mut self, b: &mut KernelBuilder, value: Value) {
        let ty = b.ty(value);
        let exact: Vec<Buffer> = self.written.iter().copied().filter(|&buffer| b.lane_of(buffer) == ty.lane).collect();
        let buffer = if exact.is_empty() { self.written[usize::from(ty.lane.is_float())] } else { self.pick(&exact) };
        let stored = converted(b, value, b.lane_of(buffer));
        let active = if self.one_in(4) { 1 + self.random.below(ty.lanes.into()) as u16 } else { ty.lanes };
        let (index, offset) = self.place(active);
        b.store_active(buffer, index, offset, stored, active);
    }

    /// Adds statements, with loops and branches up to a depth.
    fn statements(&mut self, b: &mut KernelBuilder, depth: usize) {
        let count = if depth == 0 { self.left } else { 1 + self.random.below(8) as usize };
        for _ in 0..count {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            match self.random.below(16) {
                0 if depth < 3 => self.counted_loop(b, depth),
                1 if depth < 3 => self.branch(b, depth),
                2 if depth < 3 && self.one_in(2) => self.repeated(b, depth),
                3 if self.one_in(4) => {
                    let condition = self.comparison(b, 1);
                    b.fail_if(condition, 1 + self.left as i32);
                }
                4 | 5 => {
                    let value = self.pick(&self.values.clone().into_iter().chain([self.places[0].index]).collect::<Vec<_>>());
                    self.keep(b, value);
                }
                _ => {
                    let value = self.computed(b);
                    self.values.push(value);
                }
            }
        }
    }

    /// Runs a piece whose values are out of sight after it.
    fn inside<R>(&mut self, build: impl FnOnce(&mut Self) -> R) -> R {
        let (values, places) = (self.values.len(), self.places.len());
        let built = build(self);
        self.values.truncate(values);
        self.places.truncate(places);
        built
    }

    fn some_types(&mut self, most: u64) -> Vec<Type> {
        (0..self.random.below(most + 1)).map(|_| Type::vector(self.lane(), self.pick(&LANES[..10]))).collect()
    }

    fn some_operands(&mut self, b: &mut KernelBuilder, types: &[Type]) -> Vec<Value> {
        types.iter().map(|&ty| self.operand(b, ty)).collect()
    }

    fn counted_loop(&mut self, b: &mut KernelBuilder, depth: usize) {
        let types = self.some_types(3);
        let carried = self.some_operands(b, &types);
        let first = self.random.below(4) as i64;
        let end = if self.one_in(2) { self.pick(&self.places.clone()) } else { self.number(b) };
        let step = self.pick(&[1, 1, 2, 3]);
        let start = b.index(first);
        let results = b.for_carry(start, end.index, step, &carried, |b, counter, carried| {
            self.inside(|writer| {
                writer.values.extend(carried);
                writer.values.push(counter);
                // A loop whose end lies before its start has no rounds.
                let most = (end.most - 1).max(0);
                writer.places.push(Place { index: counter, most });
                let (factor, plus) = (1 + writer.random.below(4) as i64, writer.random.below(5) as i64);
                if most * factor + plus < ELEMENTS - 32 {
                    let index = b.scale_index(counter, factor, plus);
                    writer.places.push(Place { index, most: most * factor + plus });
                }
                writer.statements(b, depth + 1);
                writer.some_operands(b, &types)
            })
        });
        self.values.extend(results);
    }

    fn number(&mut self, b: &mut KernelBuilder) -> Place {
        let most = self.random.below(10) as i64;
        Place { index: b.index(most), most }
    }

    fn branch(&mut self, b: &mut KernelBuilder, depth: usize) {
        let types = self.some_types(2);
        let condition = self.operand(b, Type::scalar(Lane::Mask));
        let side = std::cell::RefCell::new(&mut *self);
        let build = |b: &mut KernelBuilder| {
            side.borrow_mut().inside(|writer| {
                writer.statements(b, depth + 1);
                writer.some_operands(b, &types)
            })
        };
        let results = b.if_else(condition, build, build);
        self.values.extend(results);
    }

    fn repeated(&mut self, b: &mut KernelBuilder, depth: usize) {
        let types = self.some_types(2);
        let mut carried = self.some_operands(b, &types);
        let rounds = 1 + self.random.below(5) as i64;
        carried.push(b.index(0));
        let results = b.loop_while(&carried, |b, carried| {
            self.inside(|writer| {
                let (&counter, others) = carried.split_last().expect("a counter");
                writer.values.extend(others);
                // Machines of 32 bits know how far an index goes from its own operation.
                let below = b.index(7);
                let index = b.binary(BinaryOp::And, counter, below);
                writer.places.push(Place { index, most: rounds - 1 });
                writer.statements(b, depth + 1);
                let mut next = writer.some_operands(b, &types);
                let counted = b.scale_index(counter, 1, 1);
                next.push(counted);
                let end = b.index(rounds);
                let mut goes_on = b.compare(CompareOp::Less, counted, end);
                if writer.one_in(3) {
                    let other = writer.operand(b, Type::scalar(Lane::Mask));
                    goes_on = b.binary(BinaryOp::And, goes_on, other);
                }
                (goes_on, next)
            })
        });
        self.values.extend(&results[..types.len()]);
    }

    /// Returns the result of a random operation.
    fn computed(&mut self, b: &mut KernelBuilder) -> Value {
        let ty = Type::vector(self.lane(), self.pick(&LANES));
        match self.random.below(16) {
            0..=3 => self.binary(b, ty),
            4 => self.unary(b, ty),
            5 => self.shift(b, ty.with_lane(if ty.lane.is_float() { Lane::I32 } else { ty.lane })),
            6 => {
                let mask = self.operand(b, ty.with_lane(Lane::Mask));
                let [x, y] = [(); 2].map(|()| self.operand(b, ty));
                b.select(mask, x, y)
            }
            7 | 8 => self.conversion(b, ty.lanes),
            9 => self.moved(b, ty),
            10 => self.fixed_point(b, ty.with_lane(Lane::I32)),
            11 => self.dot(b, ty.lanes.min(16)),
            12 => self.across(b, ty),
            13 => self.gather(b, ty),
            14 => self.masks(b, ty.lanes),
            _ => self.fused(b, ty),
        }
    }

    fn binary(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let [x, y] = [(); 2].map(|()| self.operand(b, ty));
        let of_kind = match ty.lane.is_float() {
            true => OF_FLOATS.to_vec(),
            false if ty.lane.bytes() <= 2 => [&OF_INTEGERS[..], &OF_SHORT_INTEGERS].concat(),
            false => OF_INTEGERS.to_vec(),
        };
        let op = if self.one_in(2) { self.pick(&SUMS_AND_PRODUCTS) } else { self.pick(&of_kind) };
        b.binary(op, x, y)
    }

    fn unary(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let x = self.operand(b, ty);
        let of_kind = if ty.lane.is_float() { &OF_A_FLOAT[..] } else { &OF_AN_INTEGER };
        b.unary(self.pick(of_kind), x)
    }

    fn shift(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let x = self.operand(b, ty);
        let op = self.pick(&SHIFTS);
        let width = 8 * ty.lane.bytes();
        if self.one_in(2) {
            return b.shift(op, x, self.random.below(width.into()) as u8);
        }
        let counts = self.operand(b, ty);
        let below = b.int(ty, i64::from(width) - 1);
        let counts = b.binary(BinaryOp::And, counts, below);
        b.binary(op, x, counts)
    }

    fn conversion(&mut self, b: &mut KernelBuilder, lanes: u16) -> Value {
        use ConvertOp::*;
        let (from, to) = (self.lane(), self.lane());
        let ops: &[ConvertOp] = match (from.is_float(), to.is_float()) {
            (false, false) if from.bytes() < to.bytes() => &[SignExtend, ZeroExtend],
            (false, false) if from.bytes() > to.bytes() => &[Wrap, NarrowSigned, NarrowUnsigned],
            (false, true) if from == Lane::I16 && to == Lane::F32 => &[SignedToFloat, UnsignedToFloat, HalfToFloat],
            (false, true) => &[SignedToFloat, UnsignedToFloat],
            (true, false) if from == Lane::F32 && to == Lane::I16 => &[FloatToSigned, FloatToUnsigned, FloatToHalf],
            (true, false) => &[FloatToSigned, FloatToUnsigned],
            _ if from == Lane::F32 && to == Lane::F64 => &[Promote],
            _ if from == Lane::F64 && to == Lane::F32 => &[Demote],
            _ => &[Bitcast],
        };
        let op = if from.bytes() == to.bytes() && self.one_in(2) { Bitcast } else { self.pick(ops) };
        let ty = Type::vector(from, lanes);
        let keeps_bits = matches!(op, Bitcast | FloatToHalf);
        let x = if keeps_bits && from.is_float() { self.constant_or_load(b, ty) } else { self.operand(b, ty) };
        b.convert(op, x, to)
    }

    /// Moves lanes, also those of masks.
    fn moved(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let ty = if self.one_in(4) { ty.with_lane(Lane::Mask) } else { ty };
        let ty = Type::vector(ty.lane, ty.lanes.clamp(2, 16));
        let [x, y] = [(); 2].map(|()| self.operand(b, ty));
        match self.random.below(5) {
            0 => b.extract(x, self.random.below(ty.lanes.into()) as u16),
            1 => b.join(x, y),
            2 => {
                let lanes = ty.lanes >> self.random.below(u64::from(ty.lanes.ilog2()) + 1);
                b.part(x, lanes * self.random.below(u64::from(ty.lanes / lanes)) as u16, lanes)
            }
            3 => {
                let scalar = self.operand(b, Type::scalar(ty.lane));
                b.splat(scalar, ty.lanes)
            }
            _ => {
                let lanes = self.pick(&[2, 4, ty.lanes, 2 * ty.lanes]);
                let order = (0..lanes).map(|_| self.random.below(2 * u64::from(ty.lanes)) as u16).collect();
                b.shuffle(x, y, order)
            }
        }
    }

    fn fixed_point(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let [x, y] = [(); 2].map(|()| self.operand(b, ty));
        match self.random.below(4) {
            0 => b.mul_high(true, x, y),
            1 => b.mul_high(false, x, y),
            2 => b.saturating_rounding_doubling_high_mul(x, y, true),
            _ => {
                let below = b.int(ty, 31);
                let counts = b.binary(BinaryOp::And, y, below);
                b.rounding_divide_by_power_of_two(x, counts)
            }
        }
    }

    fn dot(&mut self, b: &mut KernelBuilder, lanes: u16) -> Value {
        let op = self.pick(&[DotOp::UnsignedSigned8, DotOp::Signed8, DotOp::Signed16, DotOp::UnsignedSigned8To16]);
        let sums = self.operand(b, Type::vector(op.sum_lane(), lanes));
        let [x, y] = [(); 2].map(|()| self.operand(b, op.operand_type(lanes)));
        b.dot(op, sums, x, y)
    }

    /// Adds the lanes of a vector, or finds an extreme of them.
    fn across(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let x = self.operand(b, ty);
        b.horizontal(self.pick(&[HorizontalOp::Add, HorizontalOp::Max, HorizontalOp::Min]), x)
    }

    /// Loads each lane from a place of its own, or a repeated group.
    fn gather(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        let Some(buffer) = self.readable(b, ty.lane) else { return self.constant(b, ty) };
        let indices = ty.with_lane(self.pick(&[Lane::I32, Lane::I64]));
        match self.random.below(3) {
            0 => {
                let indices = self.operand(b, indices);
                b.gather(buffer, indices, 0, Bounds::Clamp)
            }
            1 => {
                let (values, below) = (self.operand(b, indices), b.int(indices, 63));
                let inside = b.binary(BinaryOp::And, values, below);
                b.gather(buffer, inside, self.random.below(ELEMENTS as u64 - 63) as i64, Bounds::Proven)
            }
            _ => {
                let most = (16 / ty.lane.bytes() as u16).min(ty.lanes);
                let group = 1 << self.random.below(u64::from(most.ilog2()) + 1);
                let (index, offset) = self.place(group);
                b.load_splat_group(buffer, index, offset, group, ty.lanes)
            }
        }
    }

    fn masks(&mut self, b: &mut KernelBuilder, lanes: u16) -> Value {
        let ty = Type::vector(Lane::Mask, lanes);
        let [x, y] = [(); 2].map(|()| self.operand(b, ty));
        match self.random.below(4) {
            0 => b.unary(UnaryOp::Not, x),
            1 => b.binary(self.pick(&[BinaryOp::And, BinaryOp::Or, BinaryOp::Xor]), x, y),
            2 => b.convert(ConvertOp::MaskToInteger, x, self.pick(&INTEGERS)),
            _ => self.comparison(b, lanes),
        }
    }

    /// Multiplies and adds with one rounding, where the kernel may: machines without such an instruction leave the kernel out.
    fn fused(&mut self, b: &mut KernelBuilder, ty: Type) -> Value {
        if !self.one_in(4) {
            return self.binary(b, ty);
        }
        let ty = ty.with_lane(self.pick(&FLOATS));
        let [x, y, z] = [(); 3].map(|()| self.operand(b, ty));
        b.fma(x, y, z)
    }
}

/// Converts a value to another lane type of its kind; a mask to integers.
fn converted(b: &mut KernelBuilder, value: Value, to: Lane) -> Value {
    let from = b.ty(value).lane;
    let op = match (from, to) {
        (Lane::Mask, _) => ConvertOp::MaskToInteger,
        (Lane::F32, Lane::F64) => ConvertOp::Promote,
        (Lane::F64, Lane::F32) => ConvertOp::Demote,
        _ if from.bytes() < to.bytes() => ConvertOp::SignExtend,
        _ if from.bytes() > to.bytes() => ConvertOp::Wrap,
        _ => return value,
    };
    b.convert(op, value, to)
}
