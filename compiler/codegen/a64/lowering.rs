//! The state of lowering a kernel, and instructions with new registers for their results.

use super::held::{Held, Made, Vector, is_general};
use super::inst::{Arg, Inst, Op};
use super::registers::{GENERAL, PARAMETERS, VECTOR};
use super::rows::{self, Row, Size};
use crate::codegen::CodegenError;
use crate::codegen::fold::{Narrowed, narrowed_sums, subtracted_masks};
use crate::codegen::own::{self, Address, Base, Block};
use crate::kernel::{BufferKind, Kernel, Lane, Type, Value};
use crate::machine::Machine;
use regalloc2::{PReg, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// The state of lowering one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Neon>;

/// What is known beside what every lowering knows.
pub(super) struct Neon {
    /// Whether one instruction adds products of four bytes.
    pub dot_product: bool,
    /// Masks whose integers are subtracted and used for nothing else.
    pub subtracted_masks: FxHashMap<Value, Value>,
    /// Sums with a number, and the larger ones of them and another, that are only narrowed to bytes.
    pub narrowed_sums: FxHashMap<Value, Narrowed>,
    /// Registers of a block that hold numbers.
    pub numbers: FxHashMap<(Block, Vec<u8>), VReg>,
    /// Registers that repeat a lane of another.
    pub elements: FxHashMap<VReg, (VReg, Size, i64)>,
    /// What registers hold that an instruction on lanes of a size may take apart.
    pub made: FxHashMap<(VReg, Size), Made>,
    /// Doubling high products, which are never the smallest number.
    pub doubled: FxHashSet<VReg>,
}

impl Neon {
    /// For a kernel on a machine.
    pub fn new(kernel: &Kernel, machine: &Machine) -> Self {
        Self {
            dot_product: machine.byte_fours,
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
    /// Parameters and stack arrays.
    pub fn enter(&mut self) -> Result<(), CodegenError> {
        let count = self.kernel.pointer_params().count() + self.kernel.integers;
        let registers: Vec<VReg> = (0..count).map(|_| self.scalar()).collect();
        let fixed = registers.iter().zip(0..PARAMETERS).map(|(&v, p)| Arg::FixedDef(v, PReg::new(p, GENERAL))).collect();
        self.emit(Op::Parameters, fixed);
        for (i, &register) in registers.iter().enumerate().skip(PARAMETERS) {
            let address = Address { base: Base::Arguments, index: None, displacement: 8 * (i - PARAMETERS) as i32 };
            self.emit(Op::Load(8, false), vec![Arg::Def(register), Arg::Memory(address)]);
        }
        let mut registers = registers.into_iter();
        let mut local_bytes: u64 = 0;
        for buffer in &self.kernel.buffers {
            let register = if buffer.kind == BufferKind::Local {
                let address = Address { base: Base::Locals, index: None, displacement: local_bytes as i32 };
                local_bytes = (local_bytes + buffer.bytes()).next_multiple_of(16);
                if local_bytes > 1 << 20 {
                    return self.bug("stack arrays of more than 1 MiB");
                }
                Some(self.register_of(address))
            } else {
                registers.next()
            };
            match register {
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
    pub fn row(&mut self, row: &'static Row, size: Size, args: &[Arg]) -> VReg {
        let result = self.register(VECTOR);
        self.emit(Op::Row(row, size), [&[Arg::Def(result)], args].concat());
        result
    }

    /// A row's instruction with a new general-purpose register before the given operands.
    pub fn general_row(&mut self, row: &'static Row, size: Size, args: &[Arg]) -> VReg {
        let result = self.scalar();
        self.emit(Op::Row(row, size), [&[Arg::Def(result)], args].concat());
        result
    }

    /// Of two registers.
    pub fn two(&mut self, row: &'static Row, size: Size, a: VReg, b: VReg) -> VReg {
        self.row(row, size, &[Arg::Use(a), Arg::Use(b)])
    }

    /// Of one register.
    pub fn one(&mut self, row: &'static Row, size: Size, a: VReg) -> VReg {
        self.row(row, size, &[Arg::Use(a)])
    }

    /// Of one register and a number.
    pub fn one_with(&mut self, row: &'static Row, size: Size, a: VReg, number: i64) -> VReg {
        self.row(row, size, &[Arg::Use(a), Arg::Number(number)])
    }

    /// The first operand's register becomes the result's.
    pub fn tied(&mut self, row: &'static Row, size: Size, c: VReg, a: VReg, b: VReg) -> VReg {
        self.row(row, size, &[Arg::Tied(c), Arg::Use(a), Arg::Use(b)])
    }

    /// The same with one operand more.
    pub fn tied_one(&mut self, row: &'static Row, size: Size, c: VReg, a: VReg) -> VReg {
        self.row(row, size, &[Arg::Tied(c), Arg::Use(a)])
    }

    /// A value that is in vector registers; 64-bit scalars are moved there.
    pub fn vector(&mut self, value: Value) -> Result<Vector, CodegenError> {
        match self.get(value)? {
            Held::Vector(vector) => Ok(vector),
            Held::General(register) if self.ty(value).lane == Lane::I64 => Ok(self.vector_of_general(register)),
            Held::General(_) => self.bug(format_args!("{value} is no vector")),
        }
    }

    /// A 64-bit scalar as a vector of one lane.
    pub fn vector_of_general(&mut self, register: VReg) -> Vector {
        let part = self.one(&rows::FMOV_TO_D, Size::D, register);
        Vector { bytes: 8, lanes: 1, parts: vec![part] }
    }

    /// The lowest 64 bits of a vector register in a general-purpose one.
    pub fn general_of_vector(&mut self, part: VReg) -> VReg {
        self.general_row(&rows::FMOV_FROM_D, Size::D, &[Arg::Use(part)])
    }

    /// A result as values of its type are held: a 64-bit scalar leaves the vector registers.
    pub fn settle(&mut self, ty: Type, vector: Vector) -> Held {
        if is_general(ty) && ty.lane == Lane::I64 {
            return Held::General(self.general_of_vector(vector.parts[0]));
        }
        Held::Vector(vector)
    }

    /// An instruction on the parts of a vector.
    pub fn map(&mut self, a: &Vector, mut f: impl FnMut(&mut Self, VReg) -> VReg) -> Vector {
        // Registers that repeat have one result.
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

    /// An instruction on the parts of two vectors of one shape.
    pub fn map2(&mut self, a: &Vector, b: &Vector, mut f: impl FnMut(&mut Self, VReg, VReg) -> VReg) -> Vector {
        let parts = a.parts.iter().zip(&b.parts).map(|(&x, &y)| f(self, x, y)).collect();
        a.with(parts)
    }
}
