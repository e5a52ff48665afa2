//! The state of lowering a kernel, and instructions with new registers for their results.

use super::held::{Bits, Held, Vector, is_general};
use super::inst::{Arg, Inst, Op, Width};
use super::length::Length;
use super::registers::{GENERAL, MASK, PARAMETERS, VECTOR};
use super::rows::{self, Row};
use crate::codegen::CodegenError;
use crate::codegen::fold::{Narrowed, narrowed_sums, subtracted_masks, widened_loads};
use crate::codegen::own::{self, Address, Base};
use crate::kernel::{BufferKind, Inst as KernelInst, Kernel, Lane, Type, Value};
use crate::machine::Machine;
use regalloc2::{PReg, RegClass, VReg};
use rustc_hash::FxHashMap;

/// The state of lowering one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Vectors>;

/// What is known beside what every lowering knows.
pub(super) struct Vectors {
    /// Bytes of a vector register.
    pub width: u32,
    /// Whether there are mask registers and the other things of AVX-512.
    pub avx512: bool,
    /// Loads that the conversions which use them do.
    pub widened_loads: FxHashMap<Value, KernelInst>,
    /// Masks whose integers are subtracted and used for nothing else.
    pub subtracted_masks: FxHashMap<Value, Value>,
    /// Sums with a number, and the larger ones of them and another, that are only narrowed to bytes.
    pub narrowed_sums: FxHashMap<Value, Narrowed>,
    /// The operands of bitwise conjunctions.
    pub conjunctions: FxHashMap<VReg, (VReg, VReg)>,
    /// Where registers were loaded from that hold a vector of memory that nothing writes.
    pub constant_loads: FxHashMap<VReg, Address>,
}

impl Vectors {
    /// For a kernel on a machine.
    pub fn new(kernel: &Kernel, machine: &Machine) -> Self {
        Self {
            width: machine.vector_bytes().into(),
            avx512: machine.vector_bytes() == 64,
            widened_loads: widened_loads(kernel),
            subtracted_masks: subtracted_masks(kernel),
            narrowed_sums: narrowed_sums(kernel),
            conjunctions: FxHashMap::default(),
            constant_loads: FxHashMap::default(),
        }
    }
}

impl Lowering<'_> {
    /// Parameters and stack arrays.
    pub fn enter(&mut self) -> Result<(), CodegenError> {
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
                local_bytes = (local_bytes + buffer.bytes()).next_multiple_of(64);
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

    /// An instruction at the end of the block.
    pub fn emit(&mut self, op: Op, args: Vec<Arg>) {
        self.push(Inst { op, args });
    }

    /// A row's instruction with a new vector register before the given operands.
    pub fn row(&mut self, row: &'static Row, length: Length, args: &[Arg]) -> VReg {
        self.row_of(VECTOR, row, length, args)
    }

    /// The same with a new register of some class.
    pub fn row_of(&mut self, class: RegClass, row: &'static Row, length: Length, args: &[Arg]) -> VReg {
        let result = self.register(class);
        let mut all = Vec::with_capacity(1 + args.len());
        all.push(Arg::Def(result));
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

    /// A constant of a type, in registers.
    pub fn constant_of(&mut self, ty: Type, bits: u64) -> Held {
        if is_general(ty) {
            let register = self.scalar();
            self.emit(Op::Constant(bits as i64), vec![Arg::Def(register)]);
            return Held::General(register);
        }
        if ty.lane == Lane::Mask && self.set.avx512 {
            let ones = if bits != 0 { -1 } else { 0 };
            let register = self.scalar();
            self.emit(Op::Constant(ones), vec![Arg::Def(register)]);
            let mask = self.row_of(MASK, &rows::KMOVQ_LOAD, Length::X, &[Arg::Use(register)]);
            let parts = vec![mask; usize::from(ty.lanes.div_ceil(64))];
            return Held::Bits(Bits { lanes: ty.lanes, per: ty.lanes.min(64), parts });
        }
        let (bytes, bits) = if ty.lane == Lane::Mask { (4, if bits != 0 { u64::MAX } else { 0 }) } else { (ty.lane.bytes(), bits) };
        let total = bytes * u32::from(ty.lanes);
        let register = self.number(bytes, Length::of(total.min(self.set.width)), bits);
        Held::Vector(Vector { bytes, lanes: ty.lanes, parts: vec![register; total.div_ceil(self.set.width) as usize] })
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
}
