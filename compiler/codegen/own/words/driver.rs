//! Lowering of the driver's functions on machines with 32-bit registers.
//!
//! A value is in one register. Narrow values are zero-extended.

use super::held::Held;
use super::inst::{Arg, Inst as MachineInst, Op, Operations};
use super::ops::{Operand as WordOperand, Ops, Test, WordOp, Words};
use super::set::{Called, WordSet, call, leave_with};
use crate::driver::language::{
    self as driver, BinaryOp, Callee, CompareOp, End, Inst, Operand, Region, Rule, Signature, Statement, Value, Width,
};
use crate::own::{Access, Address, Base, Block, Function, Lowering, Select};
use crate::{CodegenError, RelocationTarget};
use cranelift_entity::SecondaryMap;
use modelc_kernel::{CompareOp as KernelCompareOp, Kernel};
use modelc_machine::CpuMachine;
use regalloc2::VReg;

/// Lowers a verified function of the driver.
///
/// # Errors
/// [`CodegenError::Bug`] if the function breaks a rule of its language.
pub fn lower_driver<S: WordSet>(
    function: &driver::Function,
    machine: &CpuMachine,
    set: S,
) -> Result<Function<MachineInst<S::Own>>, CodegenError>
where
    for<'a> Lowering<'a, S>: Words<Relation = <S::Own as Operations>::Relation>,
{
    // The lowering of words needs a kernel, so it gets an empty one.
    let nothing = Kernel::default();
    let mut words = Lowering::new(&nothing, machine, set);
    let parameters = words.parameters(function.parameters.len());
    let exit = words.function.block();
    let status = function.signature.result.map(|_| words.scalar());
    words.function.at(exit).params.extend(status);
    let mut lowering = Driver { words, function, values: SecondaryMap::new(), exit, passed: None };
    for (&value, register) in function.parameters.iter().zip(parameters) {
        lowering.values[value] = Some(register);
    }
    lowering.arm(&function.body, &[], None)?;
    let Driver { mut words, passed, .. } = lowering;
    words.start(exit);
    words.end(leave_with::<S>(status.as_slice()), vec![]);
    words.function.outgoing = passed.map(|count| 4 * count as u32);
    Ok(words.function)
}

struct Driver<'a, 'f, S: Select> {
    words: Lowering<'a, S>,
    function: &'f driver::Function,
    values: SecondaryMap<Value, Option<VReg>>,
    /// The block that returns. Its parameter is the function's result, if it has one.
    exit: Block,
    /// The largest number of stack arguments of a call. `None` without calls.
    passed: Option<usize>,
}

impl<'a, S: WordSet + Select<Op = Op<<S as WordSet>::Own>, Held = Held>> Driver<'a, '_, S>
where
    Lowering<'a, S>: Words<Relation = <S::Own as Operations>::Relation>,
{
    fn value(&self, value: Value) -> Result<VReg, CodegenError> {
        self.values[value].ok_or(CodegenError::Driver(Rule::NotDefined(value)))
    }

    fn number(&self, number: u64, width: Width) -> i32 {
        match width {
            Width::Byte => i32::from(number as u8),
            Width::Half => i32::from(number as u16),
            _ => number as i32,
        }
    }

    /// Returns an operand for an operation on words.
    fn operand(&self, operand: Operand, width: Width) -> Result<WordOperand<VReg>, CodegenError> {
        Ok(match operand {
            Operand::Value(value) => WordOperand::Word(self.value(value)?),
            Operand::Number(number) => WordOperand::Number(self.number(number, width)),
        })
    }

    /// Puts an operand into a register.
    fn register(&mut self, operand: Operand, width: Width) -> Result<VReg, CodegenError> {
        Ok(match self.operand(operand, width)? {
            WordOperand::Word(register) => register,
            WordOperand::Number(number) => self.words.word(number),
        })
    }

    /// Returns the common width of two operands: a word if both are constants.
    fn common(&self, a: Operand, b: Operand) -> Width {
        match (a, b) {
            (Operand::Value(value), _) | (_, Operand::Value(value)) => self.function.widths[value],
            _ => Width::Word,
        }
    }

    fn arguments(&mut self, operands: &[Operand], values: &[Value]) -> Result<Vec<VReg>, CodegenError> {
        operands.iter().zip(values).map(|(&operand, &value)| self.register(operand, self.function.widths[value])).collect()
    }

    /// Adds block parameters for values.
    fn params(&mut self, block: Block, values: &[Value]) {
        for &value in values {
            let register = self.words.scalar();
            self.words.function.at(block).params.push(register);
            self.values[value] = Some(register);
        }
    }

    /// Lowers a region. It ends with a jump to `after` with its yields for `results`, or to the exit.
    fn arm(&mut self, region: &Region, results: &[Value], after: Option<Block>) -> Result<(), CodegenError> {
        region.statements.iter().try_for_each(|statement| self.statement(statement))?;
        match (&region.end, after) {
            (End::Yield(yields), Some(after)) => {
                let arguments = self.arguments(yields, results)?;
                self.words.jump(after, arguments);
            }
            (End::Yield(_), None) => return Err(CodegenError::Driver(Rule::NoLeave)),
            (End::Leave(status), _) => {
                let status = status.map(|status| self.register(status, Width::Single)).transpose()?;
                self.leave(status);
            }
        }
        Ok(())
    }

    fn leave(&mut self, status: Option<VReg>) {
        let wanted = self.function.signature.result.is_some();
        self.words.jump(self.exit, status.into_iter().filter(|_| wanted).collect());
    }

    fn statement(&mut self, Statement { results, inst }: &Statement) -> Result<(), CodegenError> {
        match inst {
            Inst::If { truth, then, otherwise } => self.either(*truth, [then, otherwise], results),
            Inst::Repeat { carried, initial, head, body } => self.repeat(carried, initial, head, body),
            Inst::LeaveIf { truth, status } => {
                let truth = self.value(*truth)?;
                self.leave_if(truth, Operand::Number(u64::from(*status as u32)))
            }
            Inst::LeaveWith { status } => {
                let truth = self.value(*status)?;
                self.leave_if(truth, Operand::Value(*status))
            }
            Inst::Store { width, value, base, offset } => self.store(*width, *value, *base, *offset),
            Inst::Call { callee, signature, arguments } => {
                let result = self.call(*callee, signature, arguments)?;
                results.iter().for_each(|&value| self.values[value] = Some(result));
                Ok(())
            }
            inst => {
                let register = self.compute(inst, results)?;
                results.iter().for_each(|&value| self.values[value] = Some(register));
                Ok(())
            }
        }
    }

    fn either(&mut self, truth: Value, regions: [&Region; 2], results: &[Value]) -> Result<(), CodegenError> {
        let truth = self.value(truth)?;
        let [then, otherwise, after] = [(); 3].map(|()| self.words.function.block());
        self.words.branch(S::branch_if(truth), [then, otherwise]);
        for (block, region) in [then, otherwise].into_iter().zip(regions) {
            self.words.start(block);
            self.arm(region, results, Some(after))?;
        }
        self.params(after, results);
        self.words.start(after);
        Ok(())
    }

    fn repeat(&mut self, carried: &[Value], initial: &[Operand], head: &Region, body: &Region) -> Result<(), CodegenError> {
        let [start, inside, after] = [(); 3].map(|()| self.words.function.block());
        let initial = self.arguments(initial, carried)?;
        self.params(start, carried);
        self.words.jump(start, initial);
        self.words.start(start);
        head.statements.iter().try_for_each(|statement| self.statement(statement))?;
        let End::Yield(truth) = &head.end else { return Err(CodegenError::Driver(Rule::HeadLeaves)) };
        let Some(&truth) = truth.first() else { return Err(CodegenError::Driver(Rule::HeadYields)) };
        let truth = self.register(truth, Width::Byte)?;
        self.words.branch(S::branch_if(truth), [inside, after]);
        self.words.start(inside);
        self.arm(body, carried, Some(start))?;
        self.words.start(after);
        Ok(())
    }

    /// Leaves the function with a status if a word is not 0.
    fn leave_if(&mut self, truth: VReg, status: Operand) -> Result<(), CodegenError> {
        let [fail, next] = [(); 2].map(|()| self.words.function.block());
        self.words.branch(S::branch_if(truth), [fail, next]);
        self.words.start(fail);
        let status = self.register(status, Width::Single)?;
        self.leave(Some(status));
        self.words.start(next);
        Ok(())
    }

    /// Makes the address at an offset from a pointer that is legal for an access.
    fn address(&mut self, base: VReg, offset: i32, bytes: u32) -> Address {
        let near = Address { base: Base::Register(base), index: None, displacement: offset };
        if S::legal(near, Access::one(bytes)) {
            return near;
        }
        Address::at(self.words.two(WordOp::Add, base, WordOperand::Number(offset)))
    }

    fn load(&mut self, width: Width, base: VReg, offset: i32) -> VReg {
        let bytes = bytes(width);
        let address = self.address(base, offset, bytes);
        self.words.load_word(address, bytes, false)
    }

    fn store(&mut self, width: Width, value: Operand, base: Value, offset: i32) -> Result<(), CodegenError> {
        let base = self.value(base)?;
        let word = self.register(value, width.of_value())?;
        let address = self.address(base, offset, bytes(width));
        self.words.store_word(address, bytes(width), word);
        if width == Width::Cell {
            let zero = self.words.word(0);
            let address = self.address(base, offset + 4, 4);
            self.words.store_word(address, 4, zero);
        }
        Ok(())
    }

    /// Lowers an instruction with one value and no other effect.
    fn compute(&mut self, inst: &Inst, results: &[Value]) -> Result<VReg, CodegenError> {
        Ok(match inst {
            Inst::Data { data, offset } => self.refer(RelocationTarget::Data(*data), *offset),
            Inst::Function(number) => self.refer(RelocationTarget::Function(*number), 0),
            Inst::Memory { bytes } => {
                let place = self.words.function.local_bytes.next_multiple_of(8);
                self.words.function.local_bytes = place + bytes;
                self.words.register_of(Address { base: Base::Locals, index: None, displacement: place as i32 })
            }
            Inst::Load { width, base, offset } => {
                let base = self.value(*base)?;
                self.load(*width, base, *offset)
            }
            Inst::Binary { op, a, b } => self.binary(*op, *a, *b)?,
            Inst::Compare { op, a, b } => {
                let test = self.test(*op, *a, *b)?;
                self.words.truth(test)
            }
            Inst::Select { truth, a, b } => {
                let width = self.common(*a, *b);
                let test = Test::not_zero(self.value(*truth)?);
                let (yes, no) = (self.register(*a, width)?, self.register(*b, width)?);
                self.words.choose(test, yes, no)
            }
            Inst::Extend { value, .. } => self.value(*value)?,
            Inst::Differs { base, offset, bits } => {
                let base = self.value(*base)?;
                let halves = [(*offset, *bits as i32), (*offset + 4, (*bits >> 32) as i32)];
                let [low, high] = halves.map(|(at, bits)| {
                    let found = self.load(Width::Word, base, at);
                    self.words.two(WordOp::Xor, found, WordOperand::Number(bits))
                });
                let any = self.words.two(WordOp::Or, low, WordOperand::Word(high));
                self.words.truth(Test::not_zero(any))
            }
            _ => return Err(CodegenError::Driver(Rule::Results(results.to_vec()))),
        })
    }

    fn refer(&mut self, target: RelocationTarget, offset: u64) -> VReg {
        self.words.defined(Op::Refer(target, offset), &[])
    }

    fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand) -> Result<VReg, CodegenError> {
        let width = self.common(a, b);
        let a = self.register(a, width)?;
        let b = self.operand(b, width)?;
        let op = match op {
            BinaryOp::Add => WordOp::Add,
            BinaryOp::Sub => WordOp::Sub,
            BinaryOp::Mul => WordOp::Mul,
            BinaryOp::Div => WordOp::Divide,
            BinaryOp::And => WordOp::And,
            BinaryOp::Or => WordOp::Or,
            BinaryOp::Xor => WordOp::Xor,
        };
        let result = self.words.two(op, a, b);
        Ok(match width {
            Width::Byte | Width::Half => self.words.extend(result, 8 * bytes(width), false),
            _ => result,
        })
    }

    fn test(&mut self, op: CompareOp, a: Operand, b: Operand) -> Result<Test<VReg>, CodegenError> {
        let width = self.common(a, b);
        // The larger operand comes second.
        let (op, a, b) = match op {
            CompareOp::Equal => (KernelCompareOp::Equal, a, b),
            CompareOp::NotEqual => (KernelCompareOp::NotEqual, a, b),
            CompareOp::Less => (KernelCompareOp::UnsignedLess, a, b),
            CompareOp::Greater => (KernelCompareOp::UnsignedLess, b, a),
            CompareOp::GreaterOrEqual => (KernelCompareOp::UnsignedLessEqual, b, a),
        };
        let a = self.register(a, width)?;
        Ok(Test::words(op, a, self.operand(b, width)?))
    }

    fn call(&mut self, callee: Callee, called: &Signature, arguments: &[Operand]) -> Result<VReg, CodegenError> {
        let callee = match callee {
            Callee::Kernel(number, _) | Callee::Function(number) => Called::Named(RelocationTarget::Function(number)),
            Callee::Import(number) => Called::Named(RelocationTarget::External(number)),
            Callee::Pointer(address) | Callee::KernelAt(address, _) => Called::At(self.register(address, Width::Word)?),
        };
        let arguments: Vec<VReg> =
            arguments.iter().zip(&called.parameters).map(|(&argument, &width)| self.register(argument, width)).collect::<Result<_, _>>()?;
        let (registers, stack) = arguments.split_at(arguments.len().min(S::ARGUMENTS.len()));
        for (number, &word) in stack.iter().enumerate() {
            self.words.emit(Op::Pass(number as u32), vec![Arg::Use(word)]);
        }
        self.passed = self.passed.max(Some(stack.len()));
        let result = self.words.scalar();
        self.words.push(call::<S>(result, callee, registers));
        Ok(result)
    }
}

/// Returns the bytes in memory that loads and stores of a width access.
fn bytes(width: Width) -> u32 {
    match width {
        Width::Byte => 1,
        Width::Half => 2,
        Width::Single | Width::Word | Width::Cell => 4,
    }
}
