//! Building kernels. Schedules are plain Rust that calls this; types are checked as the kernel grows.

use super::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// The lanes of a vector that are loaded or stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Active {
    /// A number of lanes from the first one on, at least one.
    First(u16),
    /// The lanes where a mask is true.
    Where(Value),
}

impl From<u16> for Active {
    fn from(lanes: u16) -> Self {
        Self::First(lanes)
    }
}

impl Active {
    /// Returns the number of active lanes and the mask of an instruction with `lanes` lanes.
    fn of(self, lanes: u16) -> (u16, Option<Value>) {
        match self {
            Self::First(active) => {
                debug_assert!(active >= 1 && active <= lanes);
                (active, None)
            }
            Self::Where(mask) => (lanes, Some(mask)),
        }
    }
}

/// Builds one kernel.
pub struct KernelBuilder {
    kernel: Kernel,
    /// Open regions, innermost last.
    open: Vec<Region>,
    /// Indices that are constants.
    numbers: FxHashMap<Value, i64>,
    /// The scratch buffers of which each round has its own copy, if the rounds of loops that carry nothing are independent.
    independent: Option<Vec<Buffer>>,
    /// The number of rounds that the kernel divides, the first round of a range and the end of the range.
    divided: Option<(u64, [Value; 2])>,
}

/// The rounds of a counted loop.
struct Rounds {
    start: Value,
    end: Value,
    step: i64,
    /// The private buffers of each round, if they are independent.
    private: Option<Vec<Buffer>>,
}

impl KernelBuilder {
    /// Starts an empty kernel.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            kernel: Kernel { name: name.into(), ..Kernel::default() },
            open: vec![Region::default()],
            numbers: FxHashMap::default(),
            independent: None,
            divided: None,
        }
    }

    /// Marks the rounds of the loops that follow as independent, or leaves them in order. A loop that carries values is always in order.
    pub fn independent(&mut self, independent: bool) {
        self.independent = independent.then(Vec::new);
    }

    /// Marks the rounds of the loops that follow as independent if each has its own copy of some scratch buffers. A round writes what it reads there.
    pub fn independent_with(&mut self, private: Vec<Buffer>) {
        self.independent = Some(private);
    }

    /// Builds a piece of the kernel with [`Self::independent`] set for it alone.
    pub fn rounds<R>(&mut self, independent: bool, build: impl FnOnce(&mut Self) -> R) -> R {
        let around = std::mem::replace(&mut self.independent, independent.then(Vec::new));
        let built = build(self);
        self.independent = around;
        built
    }

    /// Adds a buffer; pointer parameters are passed in the order of these calls.
    pub fn buffer(&mut self, name: impl Into<String>, kind: BufferKind, lane: Lane, elements: u64, alignment: u32) -> Buffer {
        self.kernel.buffers.push(BufferData::new(name, kind, lane, elements, alignment));
        Buffer::new(self.kernel.buffers.len() - 1)
    }

    /// Marks a buffer as [`BufferData::streamed`].
    pub fn stream(&mut self, buffer: Buffer) {
        self.kernel.buffers[buffer.index()].streamed = true;
    }

    /// Adds a 64-bit integer parameter. All of them come before the first instruction.
    pub fn integer(&mut self) -> Value {
        debug_assert!(self.open.len() == 1 && self.open[0].statements.is_empty());
        let value = self.value(Type::INDEX);
        self.kernel.integers += 1;
        self.open[0].params.push(value);
        value
    }

    /// Makes the kernel one with a grid, and returns the position. Such a kernel has no other integer parameters.
    pub fn grid(&mut self, grid: Grid) -> Value {
        debug_assert!(self.kernel.grid.is_none() && self.kernel.integers == 0);
        self.kernel.grid = Some(grid);
        self.integer()
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// The lane type of a buffer.
    pub fn lane_of(&self, buffer: Buffer) -> Lane {
        self.kernel.buffer(buffer).lane
    }

    /// Returns the number of elements of a buffer.
    pub fn elements_of(&self, buffer: Buffer) -> u64 {
        self.kernel.buffer(buffer).elements
    }

    fn value(&mut self, ty: Type) -> Value {
        self.kernel.types.push(ty);
        Value::new(self.kernel.types.len() - 1)
    }

    fn push(&mut self, inst: Inst, types: &[Type]) -> Values {
        let results: Values = types.iter().map(|&ty| self.value(ty)).collect();
        let region = self.open.last_mut().expect("a region is open until the kernel is finished");
        region.statements.push(Statement { results: results.clone(), inst });
        results
    }

    fn one(&mut self, inst: Inst, ty: Type) -> Value {
        self.push(inst, &[ty])[0]
    }

    /// An index number.
    pub fn index(&mut self, value: i64) -> Value {
        let index = self.one(Inst::Constant { bits: value as u64 }, Type::INDEX);
        self.numbers.insert(index, value);
        index
    }

    /// An integer in every lane.
    pub fn int(&mut self, ty: Type, value: i64) -> Value {
        debug_assert!(ty.lane.is_integer());
        let mask = if ty.lane == Lane::I64 { u64::MAX } else { (1 << (8 * ty.lane.bytes())) - 1 };
        self.one(Inst::Constant { bits: value as u64 & mask }, ty)
    }

    /// A float in every lane.
    pub fn float(&mut self, ty: Type, value: f64) -> Value {
        let bits = match ty.lane {
            Lane::F32 => u64::from((value as f32).to_bits()),
            Lane::F64 => value.to_bits(),
            other => unreachable!("a float constant of lane {other:?}"),
        };
        self.one(Inst::Constant { bits }, ty)
    }

    /// Zero in every lane, of integers or floats.
    pub fn zero(&mut self, ty: Type) -> Value {
        self.one(Inst::Constant { bits: 0 }, ty)
    }

    /// A float in every lane, by its bits.
    pub fn float_bits(&mut self, ty: Type, bits: u64) -> Value {
        self.one(Inst::Constant { bits }, ty)
    }

    /// A truth value in every lane.
    pub fn mask(&mut self, lanes: u16, value: bool) -> Value {
        self.one(Inst::Constant { bits: u64::from(value) }, Type::vector(Lane::Mask, lanes))
    }

    /// Applies an operation to two values of one type, lane by lane.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        debug_assert_eq!(self.ty(a), self.ty(b), "{op:?} in {}", self.kernel.name);
        let ty = self.ty(a);
        self.one(Inst::Binary { op, a, b }, ty)
    }

    /// Adds two values. A sum of constant indices is a constant, so that equal kernels have equal text.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        let numbers = [a, b].map(|index| self.numbers.get(&index).copied());
        let sum = |[a, b]: [Option<i64>; 2]| a?.checked_add(b?);
        match (numbers, sum(numbers)) {
            ([Some(0), _], _) => b,
            ([_, Some(0)], _) => a,
            (_, Some(sum)) => self.index(sum),
            _ => self.binary(BinaryOp::Add, a, b),
        }
    }

    /// Subtracts two values.
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Sub, a, b)
    }

    /// Multiplies two values.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// Computes `index * factor + plus`.
    pub fn scale_index(&mut self, index: Value, factor: i64, plus: i64) -> Value {
        if factor == 1 && plus == 0 {
            return index;
        }
        if let Some(number) = self.numbers.get(&index).and_then(|number| number.checked_mul(factor)?.checked_add(plus)) {
            return self.index(number);
        }
        let mut result = index;
        if factor != 1 {
            let factor = self.index(factor);
            result = self.mul(result, factor);
        }
        if plus != 0 {
            let plus = self.index(plus);
            result = self.add(result, plus);
        }
        result
    }

    /// Applies an operation to one value, lane by lane.
    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        let ty = self.ty(a);
        self.one(Inst::Unary { op, a }, ty)
    }

    /// Shifts by a constant.
    pub fn shift(&mut self, op: BinaryOp, a: Value, count: u8) -> Value {
        let ty = self.ty(a);
        debug_assert!(u32::from(count) < 8 * ty.lane.bytes());
        self.one(Inst::ShiftConstant { op, a, count }, ty)
    }

    /// a × b + c with one rounding, to nearest.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.fma_rounded(a, b, c, Rounding::Nearest)
    }

    /// a × b + c with one rounding of a kind.
    pub fn fma_rounded(&mut self, a: Value, b: Value, c: Value, rounding: Rounding) -> Value {
        debug_assert!(self.ty(a) == self.ty(b) && self.ty(b) == self.ty(c));
        let ty = self.ty(c);
        self.one(Inst::Fma { a, b, c, rounding }, ty)
    }

    /// Compares two values to a mask.
    pub fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Value {
        debug_assert_eq!(self.ty(a), self.ty(b));
        let ty = self.ty(a).with_lane(Lane::Mask);
        self.one(Inst::Compare { op, a, b }, ty)
    }

    /// mask ? a : b.
    pub fn select(&mut self, mask: Value, a: Value, b: Value) -> Value {
        debug_assert_eq!(self.ty(a), self.ty(b));
        debug_assert_eq!(self.ty(mask), self.ty(a).with_lane(Lane::Mask));
        let ty = self.ty(a);
        self.one(Inst::Select { mask, a, b }, ty)
    }

    /// Converts to another lane type.
    pub fn convert(&mut self, op: ConvertOp, a: Value, lane: Lane) -> Value {
        let ty = self.ty(a).with_lane(lane);
        self.one(Inst::Convert { op, a }, ty)
    }

    /// The instruction of the innermost open region that has computed a value.
    pub fn definition(&self, value: Value) -> Option<&Inst> {
        let mut statements = self.open.last()?.statements.iter().rev();
        statements.find(|statement| statement.results[..] == [value]).map(|statement| &statement.inst)
    }

    /// A scalar in every lane; a scalar itself for one lane.
    pub fn splat(&mut self, a: Value, lanes: u16) -> Value {
        debug_assert_eq!(self.ty(a).lanes, 1);
        if lanes == 1 {
            return a;
        }
        let ty = Type::vector(self.ty(a).lane, lanes);
        self.one(Inst::Splat { a }, ty)
    }

    /// A mask whose first `count` lanes are true, all if there are fewer.
    pub fn first_lanes(&mut self, count: Value, lanes: u16) -> Value {
        self.one(Inst::FirstLanes { count }, Type::vector(Lane::Mask, lanes))
    }

    /// Extracts one lane.
    pub fn extract(&mut self, a: Value, lane: u16) -> Value {
        debug_assert!(lane < self.ty(a).lanes);
        let ty = Type::scalar(self.ty(a).lane);
        self.one(Inst::Extract { a, lane }, ty)
    }

    /// The lanes of a, then those of b.
    pub fn join(&mut self, a: Value, b: Value) -> Value {
        debug_assert_eq!(self.ty(a), self.ty(b));
        let ty = Type::vector(self.ty(a).lane, 2 * self.ty(a).lanes);
        self.one(Inst::Join { a, b }, ty)
    }

    /// `lanes` lanes from `first` on.
    pub fn part(&mut self, a: Value, first: u16, lanes: u16) -> Value {
        debug_assert!(first + lanes <= self.ty(a).lanes && first.is_multiple_of(lanes));
        let ty = Type::vector(self.ty(a).lane, lanes);
        if ty == self.ty(a) {
            return a;
        }
        self.one(Inst::Part { a, first }, ty)
    }

    /// Lanes picked from those of a followed by those of b.
    pub fn shuffle(&mut self, a: Value, b: Value, lanes: Vec<u16>) -> Value {
        debug_assert_eq!(self.ty(a), self.ty(b));
        let ty = Type::vector(self.ty(a).lane, lanes.len() as u16);
        self.one(Inst::Shuffle { a, b, lanes }, ty)
    }

    /// The high half of the 64-bit product of i32 lanes, signed or unsigned.
    pub fn mul_high(&mut self, signed: bool, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.one(Inst::MulHigh { signed, a, b }, ty)
    }

    /// gemmlowp's saturating rounding doubling high multiplication of i32 lanes; see the instruction.
    pub fn saturating_rounding_doubling_high_mul(&mut self, a: Value, b: Value, saturates: bool) -> Value {
        let ty = self.ty(a);
        self.one(Inst::SaturatingRoundingDoublingHighMul { a, b, saturates }, ty)
    }

    /// gemmlowp's rounding division of i32 lanes by 2ᵇ, b per lane.
    pub fn rounding_divide_by_power_of_two(&mut self, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.one(Inst::RoundingDivideByPowerOfTwo { a, b }, ty)
    }

    /// acc plus widening dot products of groups of lanes.
    pub fn dot(&mut self, op: DotOp, accumulator: Value, a: Value, b: Value) -> Value {
        let ty = self.ty(accumulator);
        debug_assert_eq!(self.ty(a), self.ty(b));
        debug_assert_eq!(self.ty(a), op.operand_type(ty.lanes));
        self.one(Inst::Dot { op, accumulator, a, b }, ty)
    }

    /// Reduces the lanes of a vector to a scalar.
    pub fn horizontal(&mut self, op: HorizontalOp, a: Value) -> Value {
        let ty = Type::scalar(self.ty(a).lane);
        if self.ty(a) == ty {
            return a;
        }
        self.one(Inst::Horizontal { op, a }, ty)
    }

    /// `lanes` elements from `buffer[index + offset …]`.
    pub fn load(&mut self, buffer: Buffer, index: Value, offset: i64, lanes: u16) -> Value {
        self.load_active(buffer, index, offset, lanes, lanes)
    }

    /// Elements for the active lanes, the remaining lanes zero.
    pub fn load_active(&mut self, buffer: Buffer, index: Value, offset: i64, lanes: u16, active: impl Into<Active>) -> Value {
        let (active, mask) = active.into().of(lanes);
        let ty = Type::vector(self.lane_of(buffer), lanes);
        self.one(Inst::Load { buffer, index, offset, active, mask }, ty)
    }

    /// One element in every lane.
    pub fn load_splat(&mut self, buffer: Buffer, index: Value, offset: i64, lanes: u16) -> Value {
        if lanes == 1 {
            return self.load(buffer, index, offset, 1);
        }
        let ty = Type::vector(self.lane_of(buffer), lanes);
        self.one(Inst::LoadSplat { buffer, index, offset }, ty)
    }

    /// `group` consecutive elements repeated to fill `lanes`.
    pub fn load_splat_group(&mut self, buffer: Buffer, index: Value, offset: i64, group: u16, lanes: u16) -> Value {
        let ty = Type::vector(self.lane_of(buffer), lanes);
        self.one(Inst::LoadSplatGroup { buffer, index, offset, group }, ty)
    }

    /// Each lane from its own place.
    pub fn gather(&mut self, buffer: Buffer, indices: Value, offset: i64, bounds: Bounds) -> Value {
        let ty = self.ty(indices).with_lane(self.lane_of(buffer));
        self.one(Inst::Gather { buffer, indices, offset, bounds }, ty)
    }

    /// All lanes to `buffer[index + offset …]`.
    pub fn store(&mut self, buffer: Buffer, index: Value, offset: i64, value: Value) {
        let active = self.ty(value).lanes;
        self.store_active(buffer, index, offset, value, active);
    }

    /// The active lanes to `buffer[index + offset …]`.
    pub fn store_active(&mut self, buffer: Buffer, index: Value, offset: i64, value: Value, active: impl Into<Active>) {
        debug_assert_eq!(self.lane_of(buffer), self.ty(value).lane, "store to {}", self.kernel.buffer(buffer).name);
        let (active, mask) = active.into().of(self.ty(value).lanes);
        self.push(Inst::Store { buffer, index, offset, active, value, mask }, &[]);
    }

    fn region(&mut self, params: Vec<Value>, build: impl FnOnce(&mut Self) -> Vec<Value>) -> Region {
        self.open.push(Region { params, ..Region::default() });
        let yields = build(self);
        let mut region = self.open.pop().expect("the region just opened");
        region.yields = yields;
        region
    }

    /// A counted loop over `start..end` by `step`, carrying values; `body` gets the counter and the carried values and returns
    /// their next values.
    pub fn for_carry(
        &mut self,
        start: Value,
        end: Value,
        step: i64,
        carried: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        self.counted(Rounds { start, end, step, private: None }, carried, body)
    }

    /// Adds a counted loop.
    fn counted(
        &mut self,
        Rounds { start, end, step, private }: Rounds,
        carried: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        debug_assert!(step >= 1);
        let private = private.or_else(|| self.independent.clone().filter(|_| carried.is_empty()));
        let types: Vec<Type> = carried.iter().map(|&v| self.ty(v)).collect();
        let mut params = vec![self.value(Type::INDEX)];
        params.extend(types.iter().map(|&ty| self.value(ty)));
        let inner = params.clone();
        let region = self.region(params, |b| body(b, inner[0], &inner[1..]));
        debug_assert_eq!(region.yields.iter().map(|&v| self.ty(v)).collect::<Vec<_>>(), types);
        let (each, private) = (private.is_some(), private.unwrap_or_default());
        self.push(Inst::For { start, end, step, each, private, carried: carried.to_vec(), body: region }, &types).into_vec()
    }

    /// A counted loop over constant bounds without carried values. No loop is made for one step or none.
    pub fn for_range(&mut self, start: i64, end: i64, step: i64, body: impl FnOnce(&mut Self, Value)) {
        self.range([start, end], step, None, body);
    }

    /// [`KernelBuilder::for_range`] of independent rounds.
    pub fn for_each(&mut self, start: i64, end: i64, step: i64, body: impl FnOnce(&mut Self, Value)) {
        self.range([start, end], step, Some(vec![]), body);
    }

    fn range(&mut self, [start, end]: [i64; 2], step: i64, private: Option<Vec<Buffer>>, body: impl FnOnce(&mut Self, Value)) {
        if start >= end {
            return;
        }
        let first = self.index(start);
        if start + step >= end {
            body(self, first);
            return;
        }
        let end = self.index(end);
        self.values(Rounds { start: first, end, step, private }, body);
    }

    /// A counted loop over value bounds without carried values.
    pub fn for_values(&mut self, start: Value, end: Value, step: i64, body: impl FnOnce(&mut Self, Value)) {
        self.values(Rounds { start, end, step, private: None }, body);
    }

    /// [`KernelBuilder::for_values`] of independent rounds.
    pub fn for_each_value(&mut self, start: Value, end: Value, step: i64, body: impl FnOnce(&mut Self, Value)) {
        self.values(Rounds { start, end, step, private: Some(vec![]) }, body);
    }

    fn values(&mut self, rounds: Rounds, body: impl FnOnce(&mut Self, Value)) {
        self.counted(rounds, &[], |b, i, _| {
            body(b, i);
            vec![]
        });
    }

    /// Divides the rounds below an extent into ranges. `body` gets the first round of a range and the end of the range.
    pub fn divide(&mut self, extent: Value, private: &[Buffer], body: impl FnOnce(&mut Self, Value, Value)) {
        let [first, end] = [(); 2].map(|()| self.value(Type::INDEX));
        let body = self.region(vec![first, end], |b| {
            body(b, first, end);
            vec![]
        });
        self.push(Inst::Divide { extent, private: private.to_vec(), body }, &[]);
    }

    /// Divides the kernel's rounds, before its first instruction. Returns the first round of a range and the end of the range. Each range has its own
    /// scratch memory.
    pub fn divide_all(&mut self, extent: u64) -> (Value, Value) {
        debug_assert!(self.divided.is_none() && self.kernel.integers == 0 && self.open[0].statements.is_empty());
        let range = [(); 2].map(|()| self.value(Type::INDEX));
        self.divided = Some((extent, range));
        (range[0], range[1])
    }

    /// do … while: `body` gets the carried values and returns the scalar mask to go on and their next values.
    pub fn loop_while(&mut self, carried: &[Value], body: impl FnOnce(&mut Self, &[Value]) -> (Value, Vec<Value>)) -> Vec<Value> {
        let types: Vec<Type> = carried.iter().map(|&v| self.ty(v)).collect();
        let params: Vec<Value> = types.iter().map(|&ty| self.value(ty)).collect();
        let inner = params.clone();
        let region = self.region(params, |b| {
            let (go_on, next) = body(b, &inner);
            std::iter::once(go_on).chain(next).collect()
        });
        self.push(Inst::Loop { carried: carried.to_vec(), body: region }, &types).into_vec()
    }

    /// Adds a branch with two regions, which yield values of the same types.
    pub fn if_else(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Vec<Value>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let then = self.region(vec![], then);
        let otherwise = self.region(vec![], otherwise);
        let types: Vec<Type> = then.yields.iter().map(|&v| self.ty(v)).collect();
        debug_assert_eq!(types, otherwise.yields.iter().map(|&v| self.ty(v)).collect::<Vec<_>>());
        self.push(Inst::If { condition, then, otherwise }, &types).into_vec()
    }

    /// Leaves the kernel with a status if the scalar mask is true.
    pub fn fail_if(&mut self, condition: Value, status: i32) {
        self.push(Inst::FailIf { condition, status }, &[]);
    }

    /// Adds a barrier: the positions of a workgroup wait for each other.
    pub fn barrier(&mut self) {
        self.push(Inst::Barrier, &[]);
    }

    /// Returns the finished kernel.
    pub fn finish(mut self) -> Kernel {
        let body = self.open.pop().expect("the kernel's own region");
        debug_assert!(self.open.is_empty());
        self.kernel.body = match self.divided {
            Some((extent, range)) => self.divided(extent, range, body),
            None => body,
        };
        self.kernel
    }

    /// Returns the kernel's region with a `divide` around the region of a range.
    fn divided(&mut self, extent: u64, range: [Value; 2], body: Region) -> Region {
        let rounds = self.value(Type::INDEX);
        let buffers = (0..).map(Buffer::new).zip(&self.kernel.buffers);
        let private = buffers.filter(|(_, data)| data.kind == BufferKind::Scratch).map(|(buffer, _)| buffer).collect();
        let divide = Inst::Divide { extent: rounds, private, body: Region { params: range.to_vec(), ..body } };
        let constant = Statement { results: smallvec![rounds], inst: Inst::Constant { bits: extent } };
        Region { statements: vec![constant, Statement { results: smallvec![], inst: divide }], ..Region::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_whose_indices_are_the_same_numbers_are_the_same() {
        let kernel = |row: i64| {
            let mut b = KernelBuilder::new("k");
            let y = b.buffer("y", BufferKind::Output, Lane::I8, 64, 1);
            let zero = b.index(0);
            let first = b.scale_index(zero, row, 0);
            b.for_range(0, 8, 1, |b, i| {
                let at = b.scale_index(i, 4, 3);
                let at = b.add(at, first);
                let (two, three) = (b.index(2), b.index(3));
                let five = b.add(two, three);
                let at = b.add(at, five);
                let value = b.int(Type::scalar(Lane::I8), 1);
                b.store(y, at, 0, value);
            });
            b.finish()
        };
        assert_eq!(kernel(100), kernel(200));
        let text = kernel(100).to_string();
        assert!(!text.contains("mul 0") && text.contains(", 5"), "{text}");
    }
}
