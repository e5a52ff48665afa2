//! State of the lowering of a kernel, and emission of instructions with new result registers.

use super::held::{Held, Made, Vector, is_general};
use super::inst::{Arg, Op};
use super::registers::VECTOR;
use super::rows::{self, Row, Size};
use crate::CodegenError;
use crate::bug::Form;
use crate::fold::{Narrowed, narrowed_sums, subtracted_masks};
use crate::own::{self, Block};
use modelc_kernel::{Kernel, Lane, Type, Value};
use modelc_machine::CpuMachine;
use regalloc2::VReg;
use rustc_hash::{FxHashMap, FxHashSet};

/// The state of the lowering of one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Neon>;

/// State of this instruction set, in addition to the common state.
pub(super) struct Neon {
    /// `true` if the machine has dot products of four bytes.
    pub dot_product: bool,
    /// `true` if it has products of matrices of bytes.
    pub matrix: bool,
    /// Masks whose integer form is only subtracted, by the value of the integer form.
    pub subtracted_masks: FxHashMap<Value, Value>,
    /// Patterns of a sum and limits that end in a narrowing to bytes, by the narrowed value.
    pub narrowed_sums: FxHashMap<Value, Narrowed>,
    /// Registers of constants, by block and contents.
    pub numbers: FxHashMap<(Block, Vec<u8>), VReg>,
    /// Registers that repeat a lane of another: that register, the lane's size and number.
    pub elements: FxHashMap<VReg, (VReg, Size, i64)>,
    /// Origins of registers, by register and lane size, for instructions that can include the earlier operation.
    pub made: FxHashMap<(VReg, Size), Made>,
    /// Doubling high products, which are never the smallest number.
    pub doubled: FxHashSet<VReg>,
}

impl Neon {
    /// Analyzes a kernel for a machine.
    pub fn new(kernel: &Kernel, machine: &CpuMachine) -> Self {
        Self {
            dot_product: machine.byte_fours,
            matrix: machine.byte_squares,
            subtracted_masks: subtracted_masks(kernel),
            narrowed_sums: narrowed_sums(kernel),
            numbers: FxHashMap::default(),
            elements: FxHashMap::default(),
            made: FxHashMap::default(),
            doubled: FxHashSet::default(),
        }
    }
}

impl Lowering<'_> {
    /// Adds a row's instruction with a new vector register as its result.
    pub fn row(&mut self, row: &'static Row, size: Size, args: &[Arg]) -> VReg {
        self.defined_in(VECTOR, Op::Row(row, size), args)
    }

    /// Adds a row's instruction with a new general-purpose register as its result.
    pub fn general_row(&mut self, row: &'static Row, size: Size, args: &[Arg]) -> VReg {
        self.defined(Op::Row(row, size), args)
    }

    /// Adds an instruction on two registers.
    pub fn two(&mut self, row: &'static Row, size: Size, a: VReg, b: VReg) -> VReg {
        self.row(row, size, &[Arg::Use(a), Arg::Use(b)])
    }

    /// Adds an instruction on one register.
    pub fn one(&mut self, row: &'static Row, size: Size, a: VReg) -> VReg {
        self.row(row, size, &[Arg::Use(a)])
    }

    /// Adds an instruction on one register and an immediate.
    pub fn one_with(&mut self, row: &'static Row, size: Size, a: VReg, number: i64) -> VReg {
        self.row(row, size, &[Arg::Use(a), Arg::Number(number)])
    }

    /// Adds an instruction on two registers whose result overwrites a third.
    pub fn tied(&mut self, row: &'static Row, size: Size, c: VReg, a: VReg, b: VReg) -> VReg {
        self.row(row, size, &[Arg::Tied(c), Arg::Use(a), Arg::Use(b)])
    }

    /// Adds an instruction on one register whose result overwrites another.
    pub fn tied_one(&mut self, row: &'static Row, size: Size, c: VReg, a: VReg) -> VReg {
        self.row(row, size, &[Arg::Tied(c), Arg::Use(a)])
    }

    /// Returns the vector registers of a value. A 64-bit scalar is moved there.
    pub fn vector(&mut self, value: Value) -> Result<Vector, CodegenError> {
        match self.get(value)? {
            Held::Vector(vector) => Ok(vector),
            Held::General(register) if self.ty(value).lane == Lane::I64 => Ok(self.vector_of_general(register)),
            Held::General(_) => self.is_not(value, Form::Vector),
        }
    }

    /// Moves a 64-bit scalar to a vector of one lane.
    pub fn vector_of_general(&mut self, register: VReg) -> Vector {
        let part = self.one(&rows::FMOV_TO_D, Size::D, register);
        Vector { bytes: 8, lanes: 1, parts: vec![part] }
    }

    /// Moves the lowest 64 bits of a vector register to a general-purpose register.
    pub fn general_of_vector(&mut self, part: VReg) -> VReg {
        self.general_row(&rows::FMOV_FROM_D, Size::D, &[Arg::Use(part)])
    }

    /// Moves a result to the registers of its type: a 64-bit scalar leaves the vector registers.
    pub fn settle(&mut self, ty: Type, vector: Vector) -> Held {
        if is_general(ty) && ty.lane == Lane::I64 {
            return Held::General(self.general_of_vector(vector.parts[0]));
        }
        Held::Vector(vector)
    }

    /// Applies an instruction to the registers of a vector.
    pub fn map(&mut self, a: &Vector, mut f: impl FnMut(&mut Self, VReg) -> VReg) -> Vector {
        // Equal consecutive registers share one result.
        let mut done: Option<(VReg, VReg)> = None;
        let parts = a.parts.iter().map(|&x| {
            if let Some((from, to)) = done.filter(|(from, _)| *from == x) {
                done = Some((from, to));
                return to;
            }
            let result = f(self, x);
            done = Some((x, result));
            result
        });
        let parts = parts.collect();
        a.with(parts)
    }

    /// Applies an instruction to the registers of two vectors of one shape.
    pub fn map2(&mut self, a: &Vector, b: &Vector, mut f: impl FnMut(&mut Self, VReg, VReg) -> VReg) -> Vector {
        let parts = a.parts.iter().zip(&b.parts).map(|(&x, &y)| f(self, x, y)).collect();
        a.with(parts)
    }
}
