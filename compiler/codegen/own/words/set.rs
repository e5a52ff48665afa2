//! Selection of instructions for sums of indices, addresses, branches and calls, by what a set of words says about its instructions. The other files
//! lower everything else.

use super::held::{Held, Shape};
use super::inst::{Arg, Inst, Op, Operations, word};
use super::ops::{Test, Words};
use super::vector_ops::Filled;
use crate::own::{Access, Address, Base, Lowering, Select};
use crate::support::Support;
use crate::{CodegenError, RelocationTarget};
use modelc_kernel::{Inst as KernelInst, Lane, Type, Value};
use regalloc2::{PReg, RegClass, VReg};
use std::ops::Range;

/// An instruction set of words: rows and limits of its instructions.
pub trait WordSet: Sized {
    /// Operations of its own.
    type Own: Operations;

    /// The row of a sum, of a sum with a constant, and of a product.
    const ROWS: Rows<<Self::Own as Operations>::Row>;
    /// Registers of arguments and results in the C convention, by their numbers. Other arguments are on the stack.
    const ARGUMENTS: Range<usize>;

    /// Tests whether a format of floats has registers.
    fn has_format(&self, lane: Lane) -> bool;
    /// Returns the way in which vector registers hold a value. `None` for a value in other registers.
    fn in_vectors(&self, _value: Value) -> Option<Filled> {
        None
    }

    /// Returns the row of a sum with a constant, and the constant in it. `None` if no instruction has the constant.
    fn sum_row(number: i32) -> Option<(<Self::Own as Operations>::Row, i32)>;
    /// Makes `to = a · factor`. `None` if this takes more than one instruction.
    fn scaled(to: VReg, a: VReg, factor: i64) -> Option<Inst<Self::Own>>;
    /// Makes `to = address`.
    fn address(to: VReg, address: Address) -> Inst<Self::Own> {
        Inst::new(Op::LoadAddress, &[Arg::Def(to), Arg::Memory(address)])
    }
    /// Tests whether the instructions of an access can have the whole address as operand.
    fn reaches(address: Address, access: Access) -> bool;
    /// Tests whether a comparison can have a constant.
    fn compares(number: i32) -> bool;
}

/// Rows that every set has.
pub struct Rows<R> {
    /// A sum of two registers.
    pub sum: R,
    /// A sum of a register and a constant.
    pub sum_with: R,
    /// A product of two registers.
    pub product: R,
}

/// Target of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Called {
    /// A function that a relocation names.
    Named(RelocationTarget),
    /// The function at an address.
    At(VReg),
}

/// Returns the exponent of a power of two.
pub fn exponent(factor: i64) -> Option<i32> {
    (factor > 0 && factor & (factor - 1) == 0 && factor < 1 << 32).then(|| factor.trailing_zeros() as i32)
}

impl<S: WordSet> Select for S
where
    for<'a> Lowering<'a, S>: Words<Relation = <S::Own as Operations>::Relation>,
{
    type Op = Op<S::Own>;
    type Held = Held;

    const SCALARS: RegClass = RegClass::Int;
    const INDEX: Type = Type::scalar(Lane::I32);

    fn sum(to: VReg, a: VReg, b: VReg) -> Inst<S::Own> {
        Inst::row(S::ROWS.sum, &[Arg::Def(to), Arg::Use(a), Arg::Use(b)])
    }

    fn sum_with(to: VReg, a: VReg, number: i64) -> Inst<S::Own> {
        let (row, number) = S::sum_row(word(number)).unwrap_or((S::ROWS.sum_with, word(number)));
        Inst::row(row, &[Arg::Def(to), Arg::Use(a), Arg::Number(number)])
    }

    fn adds(number: i64) -> bool {
        S::sum_row(word(number)).is_some()
    }

    fn advance(to: VReg, a: VReg, number: i64) -> Option<Inst<S::Own>> {
        Self::adds(number).then(|| Self::sum_with(to, a, number))
    }

    fn product(to: VReg, a: VReg, b: VReg) -> Inst<S::Own> {
        Inst::row(S::ROWS.product, &[Arg::Def(to), Arg::Use(a), Arg::Use(b)])
    }

    fn multiple(to: VReg, a: VReg, factor: i64) -> Option<Inst<S::Own>> {
        S::scaled(to, a, factor)
    }

    fn load_address(to: VReg, address: Address) -> Inst<S::Own> {
        S::address(to, address)
    }

    fn legal(address: Address, access: Access) -> bool {
        S::reaches(address, access)
    }

    fn branch_if(register: VReg) -> Inst<S::Own> {
        Inst::new(Op::CompareBranch(S::Own::NOT_EQUAL), &[Arg::Use(register), Arg::Number(0)])
    }

    fn branch_on(lowering: &mut Lowering<'_, Self>, condition: Value) -> Result<Inst<S::Own>, CodegenError> {
        let test = lowering.condition(condition)?;
        let (relation, operands) = lowering.compared(test);
        Ok(Inst::new(Op::CompareBranch(relation), &operands))
    }

    fn compares_with(number: i64) -> bool {
        i32::try_from(number).is_ok_and(S::compares)
    }

    fn scalar_of(held: &Held) -> Option<VReg> {
        held.single()
    }

    fn held_scalar(register: VReg) -> Held {
        Held::word(register)
    }

    fn classes(&self, value: Value, ty: Type) -> Vec<RegClass> {
        match self.in_vectors(value) {
            Some(filled) => vec![RegClass::Vector; (ty.lanes / filled.lanes()).into()],
            None => Shape::of(ty, self.has_format(ty.lane)).classes(ty.lanes),
        }
    }

    fn held(&self, value: Value, ty: Type, registers: Vec<VReg>) -> Held {
        match self.in_vectors(value) {
            Some(_) => Held::Vectors(registers),
            None => Shape::of(ty, self.has_format(ty.lane)).held(registers),
        }
    }

    fn registers(lowering: &mut Lowering<'_, Self>, becomes: Value, held: Held) -> Result<Vec<VReg>, CodegenError> {
        let ty = lowering.ty(becomes);
        match lowering.set.in_vectors(becomes) {
            Some(Filled::Lanes) => lowering.as_lanes(ty, held),
            Some(Filled::Bytes) => lowering.as_bytes(becomes, held),
            None => Ok(lowering.handed_on(ty, held)),
        }
    }

    fn enter(lowering: &mut Lowering<'_, Self>) -> Result<(), CodegenError> {
        lowering.enter_words()
    }

    fn constant(lowering: &mut Lowering<'_, Self>, ty: Type, bits: u64) -> Result<Held, CodegenError> {
        lowering.constant_words(ty, bits)
    }

    fn is_folded(&self, _: Value) -> bool {
        false
    }

    fn value(lowering: &mut Lowering<'_, Self>, inst: &KernelInst, result: Value) -> Result<Held, CodegenError> {
        lowering.word_value(inst, result)
    }

    fn store(lowering: &mut Lowering<'_, Self>, inst: &KernelInst) -> Result<(), CodegenError> {
        lowering.word_store(inst)
    }
}

/// Pairs words with the registers of arguments or results.
fn in_arguments<S: WordSet>(words: &[VReg]) -> impl Iterator<Item = (VReg, PReg)> + '_ {
    words.iter().zip(S::ARGUMENTS).map(|(&word, number)| (word, PReg::new(number, RegClass::Int)))
}

/// Makes a call with arguments in registers. It defines the result in any case.
pub(super) fn call<S: WordSet>(result: VReg, callee: Called, arguments: &[VReg]) -> Inst<S::Own> {
    let mut args = vec![Arg::FixedDef(result, PReg::new(S::ARGUMENTS.start, RegClass::Int))];
    let target = match callee {
        Called::Named(target) => Some(target),
        Called::At(register) => {
            args.push(Arg::Use(register));
            None
        }
    };
    args.extend(in_arguments::<S>(arguments).map(|(argument, register)| Arg::FixedUse(argument, register)));
    Inst { op: Op::Call(target), args }
}

/// Makes a return of words.
pub(super) fn leave_with<S: WordSet>(words: &[VReg]) -> Inst<S::Own> {
    Inst { op: Op::ReturnWith, args: in_arguments::<S>(words).map(|(word, register)| Arg::FixedUse(word, register)).collect() }
}

impl<S: WordSet + Select<Op = Op<<S as WordSet>::Own>, Held = Held>> Lowering<'_, S> {
    /// Adds a row's instruction with a new general-purpose register before the given operands.
    pub fn row(&mut self, row: <S::Own as Operations>::Row, args: &[Arg]) -> VReg {
        self.defined(Op::Row(row), args)
    }

    /// Adds a row's instruction with a new register of binary32 before the given operands.
    pub fn float_row(&mut self, row: <S::Own as Operations>::Row, args: &[Arg]) -> VReg {
        self.defined_in(RegClass::Float, Op::Row(row), args)
    }

    /// Adds a row's instruction with a new vector register before the given operands.
    pub fn vector_row(&mut self, row: <S::Own as Operations>::Row, args: &[Arg]) -> VReg {
        self.defined_in(RegClass::Vector, Op::Row(row), args)
    }

    /// Returns a register of the block with a constant.
    pub fn constant_word(&mut self, number: i32) -> VReg {
        let key = (self.block, number);
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        let result = self.defined(Op::Constant(number), &[]);
        self.numbers.insert(key, result);
        result
    }

    /// Calls a function of the object. Returns its results.
    pub fn call_support(&mut self, what: Support, arguments: &[VReg]) -> Vec<VReg> {
        let results: Vec<VReg> = (0..what.result()).map(|_| self.scalar()).collect();
        let defined = in_arguments::<S>(&results).map(|(result, register)| Arg::FixedDef(result, register));
        let used = in_arguments::<S>(arguments).map(|(argument, register)| Arg::FixedUse(argument, register));
        self.emit(Op::Call(Some(RelocationTarget::Support(what))), defined.chain(used).collect());
        results
    }
}

impl<S: WordSet + Select<Op = Op<<S as WordSet>::Own>, Held = Held>> Lowering<'_, S>
where
    Self: Words<Relation = <S::Own as Operations>::Relation>,
{
    /// Chooses one of two registers of a class, by a test.
    pub fn chosen(&mut self, result: VReg, test: Test<VReg>, yes: VReg, no: VReg) -> VReg {
        if yes == no {
            return yes;
        }
        let (relation, [a, b]) = self.compared(test);
        self.emit(Op::Choose(relation), vec![Arg::Def(result), Arg::Tied(no), Arg::Use(yes), a, b]);
        result
    }

    /// Defines registers for a number of word parameters of the C convention.
    pub fn parameters(&mut self, count: usize) -> Vec<VReg> {
        let mut registers: Vec<VReg> = (0..count.min(S::ARGUMENTS.len())).map(|_| self.scalar()).collect();
        let fixed = in_arguments::<S>(&registers).map(|(word, register)| Arg::FixedDef(word, register)).collect();
        self.emit(Op::Parameters, fixed);
        for i in 0..count.saturating_sub(S::ARGUMENTS.len()) {
            let address = Address { base: Base::Arguments, index: None, displacement: 4 * i as i32 };
            registers.push(self.load_word(address, 4, false));
        }
        registers
    }
}
