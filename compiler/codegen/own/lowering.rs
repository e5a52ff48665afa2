//! The walk over a kernel: one instruction after the other, values to registers; and what it asks of an instruction set.

use super::address::{Access, Address, Base, Bound};
use super::function::{Block, Edge, Function};
use super::instruction::Instruction;
use super::places::places;
use super::scope::{MOST_TERMS, Scope};
use crate::codegen::CodegenError;
use crate::codegen::fold::used_once;
use crate::kernel::indices::Indices;
use crate::kernel::verify::is_toward_zero;
use crate::kernel::{Buffer, Inst, Kernel, Region, Type, Value};
use cranelift_entity::{EntityRef, EntitySet};
use regalloc2::{RegClass, VReg};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How the instructions of kernels become those of an instruction set. The walk itself, loops and branches, sums of indices and constants
/// are done; an instruction set says in what it holds values, and does one instruction after the other.
///
/// Indices, and conditions as 0 or 1, are scalars in registers of one class.
pub trait Select: Sized {
    /// Instructions over virtual registers.
    type Inst: Instruction;
    /// What a value is held in.
    type Held: Clone;

    /// The class of the registers of scalars.
    const SCALARS: RegClass;
    /// The type of an index, as wide as a register of scalars.
    const INDEX: Type;

    /// to = number.
    fn number(to: VReg, number: i64) -> Self::Inst;
    /// to = a + b.
    fn sum(to: VReg, a: VReg, b: VReg) -> Self::Inst;
    /// to = a + number, of those that [`Select::adds`] says.
    fn sum_with(to: VReg, a: VReg, number: i64) -> Self::Inst;
    /// Whether one instruction adds the number.
    fn adds(number: i64) -> bool;
    /// to = a + number where `a` is a counter that its loop hands on as `to`, where one instruction does it.
    fn advance(to: VReg, a: VReg, number: i64) -> Option<Self::Inst>;
    /// to = a · b.
    fn product(to: VReg, a: VReg, b: VReg) -> Self::Inst;
    /// to = a · factor, where one instruction does it.
    fn multiple(to: VReg, a: VReg, factor: i64) -> Option<Self::Inst>;
    /// to = the address.
    fn load_address(to: VReg, address: Address) -> Self::Inst;
    /// Whether instructions that access memory, or [`Select::load_address`], take the whole address.
    fn legal(address: Address, access: Access) -> bool;

    /// To the block of its edge.
    fn jump() -> Self::Inst;
    /// To the first block if the register is not 0.
    fn branch_if(register: VReg) -> Self::Inst;
    /// To the first block if a condition holds.
    ///
    /// # Errors
    /// As for [`Select::enter`].
    fn branch_on(lowering: &mut Lowering<'_, Self>, condition: Value) -> Result<Self::Inst, CodegenError> {
        Ok(Self::branch_if(lowering.general(condition)?))
    }
    /// To the first block if the register, with its sign, is less than the bound.
    fn branch_if_less(register: VReg, bound: Bound) -> Self::Inst;
    /// Whether [`Select::branch_if_less`] takes the number.
    fn compares_with(number: i64) -> bool;
    /// Returns a status.
    fn leave(status: i32) -> Self::Inst;

    /// The register of a scalar.
    fn scalar_of(held: &Self::Held) -> Option<VReg>;
    /// A scalar's register as what it is held in.
    fn held_scalar(register: VReg) -> Self::Held;
    /// The classes of the registers in which an edge hands on a value of a type.
    fn classes(&self, ty: Type) -> Vec<RegClass>;
    /// What these registers hold.
    fn held(&self, ty: Type, registers: Vec<VReg>) -> Self::Held;
    /// A value in such registers.
    fn registers(lowering: &mut Lowering<'_, Self>, ty: Type, held: Self::Held) -> Vec<VReg>;

    /// The parameters of the function: where buffers begin, and integers.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] when the kernel breaks a rule of its language.
    fn enter(lowering: &mut Lowering<'_, Self>) -> Result<(), CodegenError>;
    /// A constant that is no index.
    fn constant(lowering: &mut Lowering<'_, Self>, ty: Type, bits: u64) -> Self::Held;
    /// Whether the instruction that uses a value does what defines it.
    fn is_folded(&self, value: Value) -> bool;
    /// An instruction and its one result.
    ///
    /// # Errors
    /// As for [`Select::enter`].
    fn value(lowering: &mut Lowering<'_, Self>, inst: &Inst, result: Value) -> Result<Self::Held, CodegenError>;
    /// A store.
    ///
    /// # Errors
    /// As for [`Select::enter`].
    fn store(lowering: &mut Lowering<'_, Self>, inst: &Inst) -> Result<(), CodegenError>;
}

/// A load: its block, the buffer, index and offset, lanes, type, and how it is held.
pub(super) type LoadKey = (Block, Buffer, (Value, i64), u16, Type, [bool; 2]);

/// The state of lowering one kernel.
pub struct Lowering<'a, S: Select> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// What the instruction set keeps.
    pub set: S,
    /// What has been written.
    pub function: Function<S::Inst>,
    /// The block that is written.
    pub block: Block,
    /// Bits of values that are constants.
    pub constants: FxHashMap<Value, u64>,
    /// Where each buffer begins.
    pub bases: Vec<(Base, i32)>,
    /// Results of loads, by what is loaded, where nothing has been stored since that they may see.
    pub(super) loads: FxHashMap<LoadKey, S::Held>,
    /// Values that are used once.
    used_once: EntitySet<Value>,
    values: Vec<Option<S::Held>>,
    /// What indices are sums of. The register of such a sum is made when it is wanted.
    pub(super) indices: Indices,
    /// Values that are indices because of what uses them, where others have their type, too.
    pub(super) places: EntitySet<Value>,
    /// How deep the region is in which the register of a scalar is defined.
    pub(super) depths: FxHashMap<VReg, usize>,
    pub(super) scopes: Vec<Scope>,
    /// Blocks that return a status other than 0.
    failures: BTreeMap<i32, Block>,
    /// Loops in the innermost loop so far.
    pub(super) inner_loops: usize,
}

/// Lowers a verified kernel.
///
/// # Errors
/// [`CodegenError::Bug`] when the kernel breaks a rule of its language.
pub fn lower<S: Select>(kernel: &Kernel, set: S) -> Result<Function<S::Inst>, CodegenError> {
    let mut lowering = Lowering::new(kernel, set);
    lowering.function.toward_zero = is_toward_zero(kernel);
    S::enter(&mut lowering)?;
    lowering.statements(&kernel.body)?;
    lowering.end(S::leave(0), vec![]);
    for (status, block) in std::mem::take(&mut lowering.failures) {
        lowering.start(block);
        lowering.end(S::leave(status), vec![]);
    }
    Ok(lowering.function)
}

impl<'a, S: Select> Lowering<'a, S> {
    /// A lowering that has written an empty entry block.
    pub(super) fn new(kernel: &'a Kernel, set: S) -> Self {
        let mut function = Function::default();
        let entry = function.block();
        function.order.push(entry);
        Self {
            kernel,
            set,
            function,
            block: entry,
            constants: FxHashMap::default(),
            bases: vec![],
            loads: FxHashMap::default(),
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

    /// An error about this kernel that is our mistake.
    ///
    /// # Errors
    /// Always.
    pub fn bug<T>(&self, what: impl std::fmt::Display) -> Result<T, CodegenError> {
        Err(CodegenError::Bug(format!("kernel {}: {what}", self.kernel.name)))
    }

    /// What this CPU level does not have.
    pub fn unsupported<T>(&self, what: impl std::fmt::Display) -> Result<T, CodegenError> {
        Err(CodegenError::Unsupported(format!("kernel {}: {what}", self.kernel.name)))
    }

    /// The block that returns `status`.
    pub(super) fn failure(&mut self, status: i32) -> Block {
        let function = &mut self.function;
        *self.failures.entry(status).or_insert_with(|| function.block())
    }

    /// Goes on in a block, which comes next in the code.
    pub(super) fn start(&mut self, block: Block) {
        self.function.order.push(block);
        self.block = block;
    }

    /// Ends the block.
    pub(super) fn end(&mut self, inst: S::Inst, edges: Vec<Edge>) {
        let block = self.block;
        self.function.at(block).end = Some((inst, edges));
    }

    /// An instruction at the end of the block.
    pub fn push(&mut self, inst: S::Inst) {
        let block = self.block;
        self.function.at(block).insts.push(inst);
    }

    /// A new register for a scalar.
    pub fn scalar(&mut self) -> VReg {
        let register = self.function.register(S::SCALARS);
        self.depths.insert(register, self.depth());
        register
    }

    /// A new register of a class.
    pub fn register(&mut self, class: RegClass) -> VReg {
        if class == S::SCALARS { self.scalar() } else { self.function.register(class) }
    }

    /// The depth of the region that is written.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// Whether an accumulator gives its register to the sum: it is one of those that a loop carries, which then keep their registers, and
    /// nothing else uses it. Elsewhere the allocator is free to choose.
    pub fn adds_in_place(&self, accumulator: Value) -> bool {
        self.scopes.last().is_some_and(|scope| scope.carries) && self.used_once.contains(accumulator)
    }

    /// The type of a kernel value.
    pub fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// What a value is held in.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] when nothing has defined it.
    pub fn get(&mut self, value: Value) -> Result<S::Held, CodegenError> {
        if let Some(held) = self.values.get(value.index()).cloned().flatten() {
            return Ok(held);
        }
        if self.is_composed(value) {
            let Some(linear) = self.linear(value) else { return self.bug(format_args!("{value} is no sum of registers")) };
            return Ok(S::held_scalar(self.sum(&linear)));
        }
        if let Some(&bits) = self.constants.get(&value) {
            return Ok(S::constant(self, self.ty(value), bits));
        }
        self.bug(format_args!("{value} is used before it is defined"))
    }

    /// The register of a scalar.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] when it is none.
    pub fn general(&mut self, value: Value) -> Result<VReg, CodegenError> {
        match S::scalar_of(&self.get(value)?) {
            Some(register) => Ok(register),
            None => self.bug(format_args!("{value} is not in a general-purpose register")),
        }
    }

    /// Sets what a value is held in.
    pub fn define(&mut self, value: Value, held: S::Held) {
        self.values[value.index()] = Some(held);
    }

    /// The statements of a region, whose scope is open.
    pub(super) fn statements(&mut self, region: &Region) -> Result<(), CodegenError> {
        for statement in &region.statements {
            match &statement.inst {
                Inst::For { .. } | Inst::Loop { .. } | Inst::If { .. } | Inst::FailIf { .. } => {
                    self.control(&statement.inst, &statement.results)?;
                }
                Inst::Store { .. } => S::store(self, &statement.inst)?,
                inst => {
                    let [result] = statement.results[..] else {
                        return self.bug(format_args!("{} results of one instruction", statement.results.len()));
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
