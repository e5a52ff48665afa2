//! The walk over a kernel: one instruction after the other, values to registers.

use super::held::{Bits, Held, Vector, is_general};
use super::inst::{Address, Arg, Base, Function, Inst as MachineInst, Op, Width};
use super::length::Length;
use super::linear::{Linear, Scope};
use super::registers::{GENERAL, MASK, PARAMETERS, VECTOR};
use super::rows::{self, Row};
use crate::codegen::CodegenError;
use crate::codegen::own::{Block, Edge};
use crate::kernel::verify::is_toward_zero;
use crate::kernel::{BufferKind, Inst, Kernel, Lane, Region, Type, Value};
use crate::machine::Machine;
use cranelift_entity::{EntityRef, EntitySet};
use regalloc2::{PReg, RegClass, VReg};
use std::collections::{BTreeMap, HashMap};

/// The state of lowering one kernel.
pub(super) struct Lowering<'a> {
    pub kernel: &'a Kernel,
    /// Bytes of a vector register.
    pub width: u32,
    /// Whether there are mask registers and the other things of AVX-512.
    pub avx512: bool,
    pub function: Function,
    /// The block that is written.
    pub block: Block,
    values: Vec<Option<Held>>,
    /// Scalar 64-bit integers as sums; their register is made when it is wanted.
    pub linear: HashMap<Value, Linear>,
    /// How deep the region is in which a general-purpose register is defined.
    pub depths: HashMap<VReg, usize>,
    /// Bits of values that are constants.
    pub constants: HashMap<Value, u64>,
    /// Where each buffer begins.
    pub bases: Vec<(Base, i32)>,
    pub scopes: Vec<Scope>,
    /// Blocks that return a status other than 0.
    failures: BTreeMap<i32, Block>,
    /// Loads that the conversions which use them do.
    pub widened_loads: HashMap<Value, Inst>,
    /// Masks whose integers are subtracted and used for nothing else.
    pub subtracted_masks: HashMap<Value, Value>,
    /// Sums with a number that are only narrowed to bytes.
    pub narrowed_sums: HashMap<Value, (Value, i16)>,
    /// Values that are used once.
    pub used_once: EntitySet<Value>,
    /// The operands of bitwise conjunctions.
    pub conjunctions: HashMap<VReg, (VReg, VReg)>,
    /// Where registers were loaded from that hold a vector of memory that nothing writes.
    pub constant_loads: HashMap<VReg, Address>,
    /// Whether the innermost loop so far holds another.
    pub inner_loops: usize,
}

/// Lowers a verified kernel.
///
/// # Errors
/// [`CodegenError::Bug`] when the kernel breaks a rule of its language.
pub(super) fn lower(kernel: &Kernel, machine: &Machine) -> Result<Function, CodegenError> {
    let mut function = Function { toward_zero: is_toward_zero(kernel), ..Function::default() };
    let entry = function.block();
    function.order.push(entry);
    let mut lowering = Lowering {
        kernel,
        width: machine.vector_bytes().into(),
        avx512: machine.vector_bits == 512,
        function,
        block: entry,
        values: vec![None; kernel.types.len()],
        linear: HashMap::new(),
        depths: HashMap::new(),
        constants: HashMap::new(),
        bases: vec![],
        scopes: vec![Scope::default()],
        failures: BTreeMap::new(),
        widened_loads: crate::codegen::fold::widened_loads(kernel),
        subtracted_masks: crate::codegen::fold::subtracted_masks(kernel),
        narrowed_sums: crate::codegen::fold::narrowed_sums(kernel),
        used_once: crate::codegen::fold::used_once(kernel),
        conjunctions: HashMap::new(),
        constant_loads: HashMap::new(),
        inner_loops: 0,
    };
    lowering.enter()?;
    lowering.statements(&kernel.body)?;
    lowering.end(Op::Return(0), vec![], vec![]);
    for (status, block) in std::mem::take(&mut lowering.failures) {
        lowering.start(block);
        lowering.end(Op::Return(status), vec![], vec![]);
    }
    Ok(lowering.function)
}

impl Lowering<'_> {
    /// Parameters and stack arrays.
    fn enter(&mut self) -> Result<(), CodegenError> {
        let pointers = self.kernel.pointer_params().count();
        let count = pointers + self.kernel.integers;
        let registers: Vec<VReg> = (0..count).map(|_| self.scalar()).collect();
        let fixed = registers.iter().zip(PARAMETERS).map(|(&v, p)| Arg::FixedDef(v, PReg::new(p, GENERAL))).collect();
        self.emit(Op::Parameters, fixed);
        for (i, &register) in registers.iter().enumerate().skip(PARAMETERS.len()) {
            let address = Address { base: Base::Arguments, index: None, displacement: 8 * (i - PARAMETERS.len()) as i32 };
            self.emit(Op::Load(Width::Quad, false), vec![Arg::Def(register), Arg::Memory(address)]);
        }
        let mut registers = registers.into_iter();
        let mut local_bytes: u64 = 0;
        for buffer in &self.kernel.buffers {
            if buffer.kind == BufferKind::Local {
                self.bases.push((Base::Locals, local_bytes as i32));
                local_bytes = (local_bytes + buffer.elements * u64::from(buffer.lane.bytes())).next_multiple_of(64);
                if local_bytes > 1 << 20 {
                    return self.bug("stack arrays of more than 1 MiB");
                }
                continue;
            }
            match registers.next() {
                Some(register) => self.bases.push((Base::Register(register), 0)),
                None => return self.bug("a pointer without a parameter"),
            }
        }
        self.function.local_bytes = local_bytes as u32;
        for (&value, register) in self.kernel.body.params.iter().zip(registers) {
            self.define(value, Held::General(register));
        }
        Ok(())
    }

    /// An error about this kernel that is our mistake.
    pub fn bug<T>(&self, what: impl std::fmt::Display) -> Result<T, CodegenError> {
        Err(CodegenError::Bug(format!("kernel {}: {what}", self.kernel.name)))
    }

    /// The block that returns `status`.
    pub fn failure(&mut self, status: i32) -> Block {
        let function = &mut self.function;
        *self.failures.entry(status).or_insert_with(|| function.block())
    }

    /// Goes on in a block, which comes next in the code.
    pub fn start(&mut self, block: Block) {
        self.function.order.push(block);
        self.block = block;
    }

    /// Ends the block.
    pub fn end(&mut self, op: Op, args: Vec<Arg>, edges: Vec<Edge>) {
        let block = self.block;
        self.function.at(block).end = Some((MachineInst { op, args }, edges));
    }

    /// An instruction at the end of the block.
    pub fn emit(&mut self, op: Op, args: Vec<Arg>) {
        let block = self.block;
        self.function.at(block).insts.push(MachineInst { op, args });
    }

    /// A new general-purpose register.
    pub fn scalar(&mut self) -> VReg {
        let register = self.function.register(GENERAL);
        self.depths.insert(register, self.depth());
        register
    }

    /// A new register of a class.
    pub fn register(&mut self, class: RegClass) -> VReg {
        if class == GENERAL { self.scalar() } else { self.function.register(class) }
    }

    /// The depth of the region that is written.
    pub fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// A row's instruction with a new vector register before the given operands.
    pub fn row(&mut self, row: &'static Row, length: Length, args: &[Arg]) -> VReg {
        self.row_of(VECTOR, row, length, args)
    }

    /// The same with a new register of some class.
    pub fn row_of(&mut self, class: RegClass, row: &'static Row, length: Length, args: &[Arg]) -> VReg {
        let result = self.register(class);
        let mut all = vec![Arg::Def(result)];
        all.extend(args);
        self.emit(Op::Vector { row, length, zeroing: false, broadcast: false }, all);
        result
    }

    /// reg, vvvv, rm.
    pub fn two(&mut self, row: &'static Row, length: Length, a: VReg, b: VReg) -> VReg {
        self.row(row, length, &[Arg::Use(a), Arg::Use(b)])
    }

    /// reg, rm.
    pub fn one(&mut self, row: &'static Row, length: Length, a: VReg) -> VReg {
        self.row(row, length, &[Arg::Use(a)])
    }

    /// With a number.
    pub fn one_with(&mut self, row: &'static Row, length: Length, a: VReg, number: i32) -> VReg {
        self.row(row, length, &[Arg::Use(a), Arg::Immediate(number)])
    }

    /// With a number.
    pub fn two_with(&mut self, row: &'static Row, length: Length, a: VReg, b: VReg, number: i32) -> VReg {
        self.row(row, length, &[Arg::Use(a), Arg::Use(b), Arg::Immediate(number)])
    }

    /// The first operand's register becomes the result's.
    pub fn tied(&mut self, row: &'static Row, length: Length, c: VReg, a: VReg, b: VReg) -> VReg {
        self.row(row, length, &[Arg::Tied(c), Arg::Use(a), Arg::Use(b)])
    }

    /// Whether an accumulator gives its register to the sum: it is one of those that a loop carries, which then keep their registers, and
    /// nothing else uses it. Elsewhere the allocator is free to choose.
    pub fn adds_in_place(&self, accumulator: Value) -> bool {
        self.scopes.last().is_some_and(|scope| scope.carries) && self.used_once.contains(accumulator)
    }

    /// The sum of 32-bit lanes, perhaps in the register of the first operand.
    pub fn add_to(&mut self, length: Length, sum: VReg, x: VReg, in_place: bool) -> VReg {
        let sum = if in_place { Arg::Tied(sum) } else { Arg::Use(sum) };
        self.row(&rows::VPADDD, length, &[sum, Arg::Use(x)])
    }

    /// A number in every lane of a register.
    pub fn number(&mut self, bytes: u32, length: Length, bits: u64) -> VReg {
        let lane = &bits.to_le_bytes()[..bytes as usize];
        if lane.iter().all(|&b| b == 0) {
            return self.row(&rows::VPXOR, Length::X, &[]);
        }
        let contents = lane.repeat((length.bytes() / bytes) as usize);
        self.pool(length, &contents)
    }

    /// A register full of given bytes.
    pub fn pool(&mut self, length: Length, contents: &[u8]) -> VReg {
        let at = self.function.constant(contents);
        self.row(&rows::VMOVUPS, length, &[Arg::Memory(Address::pool(at))])
    }

    /// The type of a kernel value.
    pub fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// What a value is held in.
    pub fn get(&mut self, value: Value) -> Result<Held, CodegenError> {
        if let Some(held) = self.values.get(value.index()).cloned().flatten() {
            return Ok(held);
        }
        if let Some(linear) = self.linear.get(&value).cloned() {
            return Ok(Held::General(self.sum(&linear)));
        }
        if let Some(&bits) = self.constants.get(&value) {
            return Ok(self.constant(self.ty(value), bits));
        }
        self.bug(format_args!("{value} is used before it is defined"))
    }

    /// A constant of a type, in registers.
    fn constant(&mut self, ty: Type, bits: u64) -> Held {
        if is_general(ty) {
            let register = self.scalar();
            self.emit(Op::Constant(bits as i64), vec![Arg::Def(register)]);
            return Held::General(register);
        }
        if ty.lane == Lane::Mask && self.avx512 {
            let ones = if bits != 0 { -1 } else { 0 };
            let register = self.scalar();
            self.emit(Op::Constant(ones), vec![Arg::Def(register)]);
            let mask = self.row_of(MASK, &rows::KMOVQ_LOAD, Length::X, &[Arg::Use(register)]);
            let parts = vec![mask; usize::from(ty.lanes.div_ceil(64))];
            return Held::Bits(Bits { lanes: ty.lanes, per: ty.lanes.min(64), parts });
        }
        let (bytes, bits) = if ty.lane == Lane::Mask { (4, if bits != 0 { u64::MAX } else { 0 }) } else { (ty.lane.bytes(), bits) };
        let total = bytes * u32::from(ty.lanes);
        let register = self.number(bytes, Length::of(total.min(self.width)), bits);
        Held::Vector(Vector { bytes, lanes: ty.lanes, parts: vec![register; total.div_ceil(self.width) as usize] })
    }

    /// A value that is in vector registers; 64-bit scalars are moved there.
    pub fn vector(&mut self, value: Value) -> Result<Vector, CodegenError> {
        match self.get(value)? {
            Held::Vector(vector) => Ok(vector),
            Held::General(register) if self.ty(value).lane == Lane::I64 => Ok(self.vector_of_general(register)),
            _ => self.bug(format_args!("{value} is no vector")),
        }
    }

    /// A 64-bit scalar as a vector of one lane.
    pub fn vector_of_general(&mut self, register: VReg) -> Vector {
        let part = self.one(&rows::VMOVQ, Length::X, register);
        Vector { bytes: 8, lanes: 1, parts: vec![part] }
    }

    /// The lowest 64 bits of a vector register in a general-purpose one.
    pub fn general_of_vector(&mut self, part: VReg) -> VReg {
        let result = self.scalar();
        self.emit(
            Op::Vector { row: &rows::VMOVQ_STORE, length: Length::X, zeroing: false, broadcast: false },
            vec![Arg::Def(result), Arg::Use(part)],
        );
        result
    }

    /// A result as values of its type are held: a 64-bit scalar leaves the vector registers.
    pub fn settle(&mut self, ty: Type, vector: Vector) -> Held {
        if is_general(ty) && ty.lane == Lane::I64 {
            let register = self.general_of_vector(vector.parts[0]);
            return Held::General(register);
        }
        Held::Vector(vector)
    }

    /// The register of a scalar.
    pub fn general(&mut self, value: Value) -> Result<VReg, CodegenError> {
        match self.get(value)? {
            Held::General(register) => Ok(register),
            _ => self.bug(format_args!("{value} is not in a general-purpose register")),
        }
    }

    /// Sets what a value is held in.
    pub fn define(&mut self, value: Value, held: Held) {
        self.values[value.index()] = Some(held);
    }

    /// The statements of a region, whose scope is open.
    pub fn statements(&mut self, region: &Region) -> Result<(), CodegenError> {
        for statement in &region.statements {
            match &statement.inst {
                Inst::For { .. } | Inst::Loop { .. } | Inst::If { .. } | Inst::FailIf { .. } => {
                    self.control(&statement.inst, &statement.results)?;
                }
                Inst::Store { buffer, index, offset, active, value } => self.store(*buffer, (*index, *offset), *active, *value)?,
                inst => {
                    let [result] = statement.results[..] else {
                        return self.bug(format_args!("{} results of one instruction", statement.results.len()));
                    };
                    let folded = self.widened_loads.contains_key(&result)
                        || self.subtracted_masks.contains_key(&result)
                        || self.narrowed_sums.contains_key(&result);
                    if folded || self.note(inst, result) {
                        continue;
                    }
                    let held = self.value(inst, self.ty(result))?;
                    self.define(result, held);
                }
            }
        }
        Ok(())
    }

    /// An instruction with one result.
    fn value(&mut self, inst: &Inst, ty: Type) -> Result<Held, CodegenError> {
        match inst {
            Inst::Binary { op, a, b } => self.binary(*op, *a, *b),
            Inst::Unary { op, a } => self.unary(*op, *a),
            Inst::ShiftConstant { op, a, count } => self.shift_constant(*op, *a, u32::from(*count)),
            Inst::Fma { a, b, c, .. } => self.fused(*a, *b, *c),
            Inst::Compare { op, a, b } => self.compare(*op, *a, *b),
            Inst::Select { mask, a, b } => self.select(*mask, *a, *b),
            Inst::Convert { op, a } => self.convert(*op, *a, ty),
            Inst::Splat { a } => self.splat(*a, ty),
            Inst::Extract { a, lane } => self.extract(*a, *lane, ty),
            Inst::Join { a, b } => self.join(*a, *b, ty),
            Inst::Part { a, first } => self.part(*a, *first, ty),
            Inst::Shuffle { a, b, lanes } => self.shuffle(*a, *b, lanes, ty),
            Inst::MulHighUnsigned { a, b } => self.multiply_high(*a, *b),
            Inst::SaturatingRoundingDoublingHighMul { a, b, saturates } => self.doubling_high_multiply(*a, *b, *saturates),
            Inst::RoundingDivideByPowerOfTwo { a, b } => self.rounding_divide(*a, *b),
            Inst::Dot { op, accumulator, a, b } => self.dot(*op, *accumulator, *a, *b),
            Inst::Horizontal { op, a } => self.horizontal(*op, *a),
            Inst::Load { buffer, index, offset, active } => self.load(*buffer, (*index, *offset), *active, ty),
            Inst::LoadSplat { buffer, index, offset } => self.load_splat(*buffer, (*index, *offset), 1, ty),
            Inst::LoadSplatGroup { buffer, index, offset, group } => self.load_splat(*buffer, (*index, *offset), *group, ty),
            Inst::Gather { buffer, indices, offset, bounds } => self.gather(*buffer, (*indices, *offset), *bounds, ty),
            _ => self.bug("an instruction without one result"),
        }
    }
}
