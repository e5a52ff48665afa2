//! State of the lowering of a kernel, and emission of instructions with new result registers.

use super::held::{Bits, Held, Vector, is_general};
use super::inst::{Arg, Op};
use super::length::Length;
use super::registers::{GENERAL, MASK, VECTOR};
use super::rows::{self, Row};
use crate::CodegenError;
use crate::bug::Form;
use crate::fold::{Narrowed, narrowed_sums, subtracted_masks, widened_loads};
use crate::own::{self, Address};
use modelc_kernel::{Inst as KernelInst, Kernel, Lane, Type, Value};
use modelc_machine::CpuMachine;
use regalloc2::{RegClass, VReg};
use rustc_hash::FxHashMap;

/// The state of the lowering of one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Vectors>;

/// State of this instruction set, in addition to the common state.
pub(super) struct Vectors {
    /// Bytes of a vector register.
    pub width: u32,
    /// `true` if the machine has AVX-512, with mask registers.
    pub avx512: bool,
    /// Loads that are folded into a widening conversion.
    pub widened_loads: FxHashMap<Value, KernelInst>,
    /// Masks whose integer form is only subtracted, by the value of the integer form.
    pub subtracted_masks: FxHashMap<Value, Value>,
    /// Patterns of a sum and limits that end in a narrowing to bytes, by the narrowed value.
    pub narrowed_sums: FxHashMap<Value, Narrowed>,
    /// Operands of bitwise conjunctions, by the result.
    pub conjunctions: FxHashMap<VReg, (VReg, VReg)>,
    /// Addresses of registers that hold a whole vector loaded from read-only memory.
    pub constant_loads: FxHashMap<VReg, Address>,
}

impl Vectors {
    /// Analyzes a kernel for a machine.
    pub fn new(kernel: &Kernel, machine: &CpuMachine) -> Self {
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
    /// Adds a row's instruction with a new vector register as its result.
    pub fn row(&mut self, row: &'static Row, length: Length, args: &[Arg]) -> VReg {
        self.row_of(VECTOR, row, length, args)
    }

    /// Adds a row's instruction with a new register of a given class as its result.
    pub fn row_of(&mut self, class: RegClass, row: &'static Row, length: Length, args: &[Arg]) -> VReg {
        self.defined_in(class, Op::Vector { row, length, zeroing: false, broadcast: false }, args)
    }

    /// Adds an instruction with the operands reg, vvvv, rm.
    pub fn two(&mut self, row: &'static Row, length: Length, a: VReg, b: VReg) -> VReg {
        self.row(row, length, &[Arg::Use(a), Arg::Use(b)])
    }

    /// Adds an instruction with the operands reg, rm.
    pub fn one(&mut self, row: &'static Row, length: Length, a: VReg) -> VReg {
        self.row(row, length, &[Arg::Use(a)])
    }

    /// Adds an instruction with one source and an immediate.
    pub fn one_with(&mut self, row: &'static Row, length: Length, a: VReg, number: i32) -> VReg {
        self.row(row, length, &[Arg::Use(a), Arg::Number(number)])
    }

    /// Adds an instruction with two sources and an immediate.
    pub fn two_with(&mut self, row: &'static Row, length: Length, a: VReg, b: VReg, number: i32) -> VReg {
        self.row(row, length, &[Arg::Use(a), Arg::Use(b), Arg::Number(number)])
    }

    /// Adds an instruction whose result overwrites its first operand.
    pub fn tied(&mut self, row: &'static Row, length: Length, c: VReg, a: VReg, b: VReg) -> VReg {
        self.row(row, length, &[Arg::Tied(c), Arg::Use(a), Arg::Use(b)])
    }

    /// Adds 32-bit lanes; `in_place` lets the result overwrite the first operand.
    pub fn add_to(&mut self, length: Length, sum: VReg, x: VReg, in_place: bool) -> VReg {
        let sum = if in_place { Arg::Tied(sum) } else { Arg::Use(sum) };
        self.row(&rows::VPADDD, length, &[sum, Arg::Use(x)])
    }

    /// Makes a register with a constant in every lane.
    pub fn number(&mut self, bytes: u32, length: Length, bits: u64) -> VReg {
        let lane = &bits.to_le_bytes()[..bytes as usize];
        if lane.iter().all(|&b| b == 0) {
            return self.row(&rows::VPXOR, Length::X, &[]);
        }
        let contents = lane.repeat((length.bytes() / bytes) as usize);
        self.pool(length, &contents)
    }

    /// Loads a register with the given bytes from the constant pool.
    pub fn pool(&mut self, length: Length, contents: &[u8]) -> VReg {
        let at = self.function.constant(contents);
        self.row(&rows::VMOVUPS, length, &[Arg::Memory(Address::pool(at))])
    }

    /// Makes a constant of a type.
    pub fn constant_of(&mut self, ty: Type, bits: u64) -> Held {
        if is_general(ty) {
            return Held::General(self.general_number(bits as i64));
        }
        if ty.lane == Lane::Mask && self.set.avx512 {
            let register = self.general_number(if bits != 0 { -1 } else { 0 });
            let mask = self.row_of(MASK, &rows::KMOVQ_LOAD, Length::X, &[Arg::Use(register)]);
            let parts = vec![mask; usize::from(ty.lanes.div_ceil(64))];
            return Held::Bits(Bits { lanes: ty.lanes, per: ty.lanes.min(64), parts });
        }
        let (bytes, bits) = if ty.lane == Lane::Mask { (4, if bits != 0 { u64::MAX } else { 0 }) } else { (ty.lane.bytes(), bits) };
        let register = self.number(bytes, self.length_of(bytes, ty.lanes), bits);
        Held::Vector(self.repeated(bytes, ty.lanes, register))
    }

    /// Returns the vector length of the registers of lanes.
    pub fn length_of(&self, bytes: u32, lanes: u16) -> Length {
        Length::of((bytes * u32::from(lanes)).min(self.set.width))
    }

    /// Returns a vector whose registers are all the same one.
    pub fn repeated(&self, bytes: u32, lanes: u16, register: VReg) -> Vector {
        let count = (bytes * u32::from(lanes)).div_ceil(self.set.width);
        Vector { bytes, lanes, parts: vec![register; count as usize] }
    }

    /// Returns the vector registers of a value. A 64-bit scalar is moved there.
    pub fn vector(&mut self, value: Value) -> Result<Vector, CodegenError> {
        match self.get(value)? {
            Held::Vector(vector) => Ok(vector),
            Held::General(register) if self.ty(value).lane == Lane::I64 => Ok(self.vector_of_general(register)),
            _ => self.is_not(value, Form::Vector),
        }
    }

    /// Moves a 64-bit scalar to a vector of one lane.
    pub fn vector_of_general(&mut self, register: VReg) -> Vector {
        let part = self.one(&rows::VMOVQ, Length::X, register);
        Vector { bytes: 8, lanes: 1, parts: vec![part] }
    }

    /// Moves the lowest 64 bits of a vector register to a general-purpose register.
    pub fn general_of_vector(&mut self, part: VReg) -> VReg {
        self.row_of(GENERAL, &rows::VMOVQ_STORE, Length::X, &[Arg::Use(part)])
    }

    /// Moves a result to the registers of its type: a 64-bit scalar leaves the vector registers.
    pub fn settle(&mut self, ty: Type, vector: Vector) -> Held {
        if is_general(ty) && ty.lane == Lane::I64 {
            let register = self.general_of_vector(vector.parts[0]);
            return Held::General(register);
        }
        Held::Vector(vector)
    }
}
