//! Lowering of a kernel to instructions over virtual registers, one kernel instruction after the other. The trait [`Select`] selects an instruction set's
//! instructions.

use super::address::{Access, Address, Base};
use super::arg::Arg;
use super::function::{Block, Edge, Function};
use super::inst::{Inst, Opcode};
use super::places::places;
use super::scope::{MOST_TERMS, Scope};
use crate::bug::{Form, Mistake};
use crate::fold::used_once;
use crate::unsupported::Lack;
use crate::{CodegenError, Operation};
use cranelift_entity::{EntityRef, EntitySet};
use modelc_kernel::indices::Indices;
use modelc_kernel::verify::is_toward_zero;
use modelc_kernel::{Buffer, Inst as KernelInst, Kernel, Region, Type, Value};
use modelc_machine::CpuMachine;
use regalloc2::{RegClass, VReg};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Instruction selection of an instruction set. The common lowering does the walk over the kernel, loops and branches, sums of indices, and constants.
/// An instruction set defines how it holds values, and lowers single instructions.
///
/// Indices, and conditions as 0 or 1, are scalars in registers of the class [`Self::SCALARS`].
pub trait Select: Sized {
    /// Operations of instructions over virtual registers.
    type Op: Opcode;
    /// The registers that hold a value.
    type Held: Clone;

    /// The register class of scalars.
    const SCALARS: RegClass;
    /// The type of an index, as wide as a scalar register.
    const INDEX: Type;

    /// Makes `to = number`.
    fn number(to: VReg, number: i64) -> Inst<Self::Op> {
        Inst::new(Self::Op::CONSTANT(number), &[Arg::Def(to)])
    }
    /// Makes `to = a + b`.
    fn sum(to: VReg, a: VReg, b: VReg) -> Inst<Self::Op>;
    /// Makes `to = a + number`, for a number that [`Select::adds`] accepts.
    fn sum_with(to: VReg, a: VReg, number: i64) -> Inst<Self::Op>;
    /// Tests whether one instruction adds a constant.
    fn adds(number: i64) -> bool;
    /// Makes `to = a + number` for a loop counter `a`, whose next value is `to`. `None` if this takes more than one instruction.
    fn advance(to: VReg, a: VReg, number: i64) -> Option<Inst<Self::Op>>;
    /// Makes `to = a · b`.
    fn product(to: VReg, a: VReg, b: VReg) -> Inst<Self::Op>;
    /// Makes `to = a · factor`. `None` if this takes more than one instruction.
    fn multiple(to: VReg, a: VReg, factor: i64) -> Option<Inst<Self::Op>>;
    /// Makes `to = address`.
    fn load_address(to: VReg, address: Address) -> Inst<Self::Op> {
        Inst::new(Self::Op::LOAD_ADDRESS, &[Arg::Def(to), Arg::Memory(address)])
    }
    /// Tests whether the instructions of an access, or [`Select::load_address`], can have the whole address as operand.
    fn legal(address: Address, access: Access) -> bool;

    /// Makes a branch to the first block if a register is not 0.
    fn branch_if(register: VReg) -> Inst<Self::Op>;
    /// Makes a branch to the first block if a condition holds.
    ///
    /// # Errors
    /// The errors of [`Select::enter`].
    fn branch_on(lowering: &mut Lowering<'_, Self>, condition: Value) -> Result<Inst<Self::Op>, CodegenError> {
        Ok(Self::branch_if(lowering.general(condition)?))
    }
    /// Tests whether [`Opcode::BRANCH_IF_LESS`] can have a constant as bound.
    fn compares_with(number: i64) -> bool;

    /// Returns the register of a scalar.
    fn scalar_of(held: &Self::Held) -> Option<VReg>;
    /// Makes a held value of a scalar's register.
    fn held_scalar(register: VReg) -> Self::Held;
    /// Returns the classes of the registers in which edges pass what becomes a value of a type.
    fn classes(&self, value: Value, ty: Type) -> Vec<RegClass>;
    /// Makes a held value of the registers in which edges pass it.
    fn held(&self, value: Value, ty: Type, registers: Vec<VReg>) -> Self::Held;
    /// Moves a held value to registers in which an edge can pass it. `becomes` is the value that it becomes there.
    ///
    /// # Errors
    /// The errors of [`Select::enter`].
    fn registers(lowering: &mut Lowering<'_, Self>, becomes: Value, held: Self::Held) -> Result<Vec<VReg>, CodegenError>;

    /// Defines the function's parameters: bases of buffers, and integers.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] if the kernel breaks a rule of its language.
    fn enter(lowering: &mut Lowering<'_, Self>) -> Result<(), CodegenError>;
    /// Lowers a constant that is not an index.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] if the machine has no registers for it.
    fn constant(lowering: &mut Lowering<'_, Self>, ty: Type, bits: u64) -> Result<Self::Held, CodegenError>;
    /// Tests whether a value needs no instruction, because the instruction that uses it includes its computation.
    fn is_folded(&self, value: Value) -> bool;
    /// Lowers an instruction with one result.
    ///
    /// # Errors
    /// The errors of [`Select::enter`].
    fn value(lowering: &mut Lowering<'_, Self>, inst: &KernelInst, result: Value) -> Result<Self::Held, CodegenError>;
    /// Lowers a store.
    ///
    /// # Errors
    /// The errors of [`Select::enter`].
    fn store(lowering: &mut Lowering<'_, Self>, inst: &KernelInst) -> Result<(), CodegenError>;
}

/// An operand of a set's instructions.
type ArgOf<S> = Arg<<<S as Select>::Op as Opcode>::Number>;

/// Way in which a set of words holds loaded lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Holding {
    /// Lanes in registers of their own, with zeros above if so wanted.
    Lanes { zeros: bool },
    /// Several lanes in each word.
    Packed { zeros: bool },
    /// Bytes in vector registers.
    Vectors,
}

/// Key of a load: block, buffer, index and offset, lanes, type, and form in registers.
pub(super) type LoadKey = (Block, Buffer, (Value, i64), u16, Type, Holding);

/// State of the lowering of one kernel.
pub struct Lowering<'a, S: Select> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Name of the CPU level.
    level: &'static str,
    /// State of the instruction set.
    pub set: S,
    /// The function written so far.
    pub function: Function<Inst<S::Op>>,
    /// The current block.
    pub block: Block,
    /// Bits of values that are constants.
    pub constants: FxHashMap<Value, u64>,
    /// The base and displacement of each buffer.
    pub bases: Vec<(Base, i32)>,
    /// Results of loads that no later store can have changed, by key.
    pub(super) loads: FxHashMap<LoadKey, S::Held>,
    /// Registers of a block that hold numbers, in sets of words.
    pub(crate) numbers: FxHashMap<(Block, i32), VReg>,
    /// Loads whose elements are wanted with zeros above them, in sets of words.
    pub(super) zeros: EntitySet<Value>,
    /// Values with a single use.
    used_once: EntitySet<Value>,
    values: Vec<Option<S::Held>>,
    /// Indices as sums. A sum is computed in a register only when it is needed.
    pub(super) indices: Indices,
    /// Values that are indices because of their uses, if the index type has other uses, too.
    pub(super) places: EntitySet<Value>,
    /// The depth of the region that defines each scalar register.
    pub(super) depths: FxHashMap<VReg, usize>,
    pub(super) scopes: Vec<Scope>,
    /// Blocks that return a status other than 0.
    failures: BTreeMap<i32, Block>,
    /// Number of loops inside the current loop so far.
    pub(super) inner_loops: usize,
}

/// Lowers a verified kernel for a machine.
///
/// # Errors
/// [`CodegenError::Bug`] if the kernel breaks a rule of its language.
pub fn lower<S: Select>(kernel: &Kernel, machine: &CpuMachine, set: S) -> Result<Function<Inst<S::Op>>, CodegenError> {
    let mut lowering = Lowering::new(kernel, machine, set);
    lowering.function.toward_zero = is_toward_zero(kernel);
    S::enter(&mut lowering)?;
    lowering.statements(&kernel.body)?;
    lowering.end(Inst::new(S::Op::RETURN(0), &[]), vec![]);
    for (status, block) in std::mem::take(&mut lowering.failures) {
        lowering.start(block);
        lowering.end(Inst::new(S::Op::RETURN(status), &[]), vec![]);
    }
    Ok(lowering.function)
}

impl<'a, S: Select> Lowering<'a, S> {
    /// Starts a lowering with an empty entry block.
    pub(super) fn new(kernel: &'a Kernel, machine: &CpuMachine, set: S) -> Self {
        let mut function = Function::default();
        let entry = function.block();
        function.order.push(entry);
        Self {
            kernel,
            level: machine.level,
            set,
            function,
            block: entry,
            constants: FxHashMap::default(),
            bases: vec![],
            loads: FxHashMap::default(),
            numbers: FxHashMap::default(),
            zeros: EntitySet::new(),
            used_once: used_once(kernel),
            values: vec![None; kernel.types.len()],
            indices: Indices::of(kernel, MOST_TERMS),
            places: if S::INDEX == Type::INDEX { EntitySet::new() } else { places(kernel, S::INDEX) },
            depths: FxHashMap::default(),
            scopes: vec![Scope::default()],
            failures: BTreeMap::new(),
            inner_loops: 0,
        }
    }

    /// Makes an error about a bug of the compiler.
    ///
    /// # Errors
    /// Always.
    pub fn bug<T>(&self, mistake: Mistake) -> Result<T, CodegenError> {
        Err(CodegenError::lowering(self.kernel, mistake))
    }

    /// Makes the error of a use in another form than a value has.
    ///
    /// # Errors
    /// Always.
    pub fn is_not<T>(&self, value: Value, wanted: Form) -> Result<T, CodegenError> {
        self.bug(Mistake::Form { value, wanted })
    }

    /// Makes an error about an operation that this CPU level does not have.
    ///
    /// # Errors
    /// Always.
    pub fn unsupported<T>(&self, operation: Operation, of: Type) -> Result<T, CodegenError> {
        Err(self.lack(Lack::Operation { operation, of }))
    }

    /// Returns the error of a kernel that uses what this CPU level does not have.
    pub fn lack(&self, lack: Lack) -> CodegenError {
        CodegenError::lack(self.kernel, self.level, lack)
    }

    /// Returns the block that returns `status`.
    pub(super) fn failure(&mut self, status: i32) -> Block {
        let function = &mut self.function;
        *self.failures.entry(status).or_insert_with(|| function.block())
    }

    /// Makes a block the current one, and the next one in the code.
    pub(super) fn start(&mut self, block: Block) {
        self.function.order.push(block);
        self.block = block;
    }

    /// Ends the current block.
    pub(super) fn end(&mut self, inst: Inst<S::Op>, edges: Vec<Edge>) {
        let block = self.block;
        self.function.at(block).end = Some((inst, edges));
    }

    /// Adds an instruction at the end of the current block.
    pub fn push(&mut self, inst: Inst<S::Op>) {
        let block = self.block;
        self.function.at(block).insts.push(inst);
    }

    /// Adds an instruction at the end of the block.
    pub fn emit(&mut self, op: S::Op, args: Vec<ArgOf<S>>) {
        self.push(Inst { op, args });
    }

    /// Adds an operation with a new register of a class before the given operands.
    pub fn defined_in(&mut self, class: RegClass, op: S::Op, args: &[ArgOf<S>]) -> VReg {
        let result = self.register(class);
        self.emit(op, [&[Arg::Def(result)], args].concat());
        result
    }

    /// Adds an operation with a new scalar register before the given operands.
    pub fn defined(&mut self, op: S::Op, args: &[ArgOf<S>]) -> VReg {
        self.defined_in(S::SCALARS, op, args)
    }

    /// Makes a new register for a scalar.
    pub fn scalar(&mut self) -> VReg {
        let register = self.function.register(S::SCALARS);
        self.depths.insert(register, self.depth());
        register
    }

    /// Makes a new register of a class.
    pub fn register(&mut self, class: RegClass) -> VReg {
        if class == S::SCALARS { self.scalar() } else { self.function.register(class) }
    }

    /// Returns the depth of the current region.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// Tests whether a sum should take its accumulator's register: in a loop that carries values, for an accumulator with a single use. So carried
    /// accumulators keep their registers. Elsewhere the allocator chooses.
    pub fn adds_in_place(&self, accumulator: Value) -> bool {
        self.scopes.last().is_some_and(|scope| scope.carries) && self.used_once.contains(accumulator)
    }

    /// Returns the type of a kernel value.
    pub fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// Returns the registers of a value. An index sum or a constant is computed here.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] if the value is not defined.
    pub fn get(&mut self, value: Value) -> Result<S::Held, CodegenError> {
        if let Some(held) = self.values.get(value.index()).cloned().flatten() {
            return Ok(held);
        }
        if self.is_composed(value) {
            let Some(linear) = self.linear(value) else { return self.is_not(value, Form::Index) };
            return Ok(S::held_scalar(self.sum(&linear)));
        }
        if let Some(&bits) = self.constants.get(&value) {
            return S::constant(self, self.ty(value), bits);
        }
        self.bug(Mistake::Undefined(value))
    }

    /// Returns the register of a scalar.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] if the value is not a scalar.
    pub fn general(&mut self, value: Value) -> Result<VReg, CodegenError> {
        match S::scalar_of(&self.get(value)?) {
            Some(register) => Ok(register),
            None => self.is_not(value, Form::Scalar),
        }
    }

    /// Sets the registers of a value.
    pub fn define(&mut self, value: Value, held: S::Held) {
        self.values[value.index()] = Some(held);
    }

    /// Lowers the statements of a region. Its scope must be open.
    pub(super) fn statements(&mut self, region: &Region) -> Result<(), CodegenError> {
        for statement in &region.statements {
            match &statement.inst {
                KernelInst::For { .. } | KernelInst::Loop { .. } | KernelInst::If { .. } | KernelInst::FailIf { .. } => {
                    self.control(&statement.inst, &statement.results)?;
                }
                KernelInst::Store { .. } => S::store(self, &statement.inst)?,
                inst => {
                    let [result] = statement.results[..] else {
                        return self.bug(Mistake::Results(statement.results.len()));
                    };
                    if self.set.is_folded(result) || self.note(inst, result) {
                        continue;
                    }
                    let held = S::value(self, inst, result)?;
                    self.define(result, held);
                }
            }
        }
        Ok(())
    }
}
