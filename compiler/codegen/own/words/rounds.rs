//! Innermost loops of one block, and changes of their counters.

use super::inst::{Arg, Inst, Op, Operations};
use super::set::WordSet;
use crate::own::{Address, Block, Function};
use regalloc2::{RegClass, VReg};
use rustc_hash::FxHashMap;

/// Result of an instruction on which addresses may depend, as a term of its registers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Made {
    /// A sum of two registers.
    Sum(VReg, VReg),
    /// A sum of a register and a constant.
    SumWith(VReg, i32),
    /// A register, shifted left.
    Shifted(VReg, u8),
    /// A register plus another one, which is shifted left.
    SumShifted(VReg, VReg, u8),
    /// A product of two registers.
    Product(VReg, VReg),
    /// A product of two registers, plus a third one.
    SumOfProduct(VReg, VReg, VReg),
}

/// Term that a row of a set computes from its operands, in their order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Term {
    /// A sum of two registers.
    Sum,
    /// A sum of a register and a constant.
    SumWith,
    /// A register minus a constant.
    DifferenceWith,
    /// A register, shifted left by a constant.
    Shifted,
    /// A register plus another one, which is shifted left by a constant.
    SumShifted,
    /// A product of two registers.
    Product,
    /// A product of two registers, plus a third one.
    SumOfProduct,
}

/// Returns the result of a row's instruction and what it computes, if addresses may depend on it.
pub fn made<S: Stepped>(inst: &Inst<S::Own>) -> Option<(VReg, Made)> {
    let Op::Row(row) = inst.op else { return None };
    let (_, term) = S::TERMS.iter().find(|(of, _)| *of == row)?;
    let (to, made) = match (term, &inst.args[..]) {
        (Term::Sum, &[Arg::Def(to), Arg::Use(a), Arg::Use(b)]) => (to, Made::Sum(a, b)),
        (Term::SumWith, &[Arg::Def(to), Arg::Use(a), Arg::Number(number)]) => (to, Made::SumWith(a, number)),
        (Term::DifferenceWith, &[Arg::Def(to), Arg::Use(a), Arg::Number(number)]) => (to, Made::SumWith(a, number.wrapping_neg())),
        (Term::Shifted, &[Arg::Def(to), Arg::Use(a), Arg::Number(count)]) => (to, Made::Shifted(a, count as u8)),
        (Term::SumShifted, &[Arg::Def(to), Arg::Use(a), Arg::Use(b), Arg::Number(count)]) => (to, Made::SumShifted(a, b, count as u8)),
        (Term::Product, &[Arg::Def(to), Arg::Use(a), Arg::Use(b)]) => (to, Made::Product(a, b)),
        (Term::SumOfProduct, &[Arg::Def(to), Arg::Use(a), Arg::Use(b), Arg::Use(sum)]) => (to, Made::SumOfProduct(a, b, sum)),
        _ => return None,
    };
    Some((to, made))
}

/// A set whose loops step pointers: what strength reduction reads of instructions.
pub trait Stepped: WordSet {
    /// The relation of a word and a greater one, as unsigned numbers.
    const BELOW: <Self::Own as Operations>::Relation;
    /// `true` if accesses have negative displacements, too.
    const NEGATIVE: bool;
    /// The rows on whose results addresses may depend.
    const TERMS: &'static [(<Self::Own as Operations>::Row, Term)];

    /// Tests whether a pointer pays for this access alone.
    fn steps(inst: &Inst<Self::Own>) -> bool;
    /// Tests whether an access can have a displacement from a register.
    fn can_be_at(inst: &Inst<Self::Own>, displacement: i32) -> bool;
    /// Tests whether accesses like this one have short displacements, so that several pointers serve those of one base.
    fn reaches_few(_: &Inst<Self::Own>) -> bool {
        false
    }
    /// Tests whether [`WordSet::address`] computes an address with an index.
    fn computes(address: Address) -> bool;
}

/// An innermost loop of one block that counts to a bound.
pub struct Round {
    /// The block of the loop.
    pub head: Block,
    /// The block that enters it.
    pub before: Block,
    /// The block that jumps back.
    pub latch: Block,
    /// The counter.
    pub counter: VReg,
    /// The counter of the next round.
    pub next: VReg,
    /// The initial counter.
    pub start: VReg,
    /// The constant that each round adds to the counter.
    pub step: i32,
}

/// Returns the result, operand and constant of a sum of a register and a constant.
pub fn sum_of<S: Stepped>(inst: &Inst<S::Own>) -> Option<(VReg, VReg, i32)> {
    match made::<S>(inst)? {
        (to, Made::SumWith(from, number)) => Some((to, from, number)),
        _ => None,
    }
}

/// Makes the sum of a register and a constant. `None` if no instruction adds the constant.
pub fn sum<S: Stepped>(to: VReg, from: VReg, number: i32) -> Option<Inst<S::Own>> {
    let (row, number) = S::sum_row(number)?;
    Some(Inst::row(row, &[Arg::Def(to), Arg::Use(from), Arg::Number(number)]))
}

impl Round {
    /// Returns the loop of a block, if it has this form.
    pub fn of<S: Stepped>(function: &Function<Inst<S::Own>>, head: Block) -> Option<Self> {
        let data = |block: Block| &function.blocks[block.0 as usize];
        let (Inst { op: Op::CompareBranch(relation), args }, edges) = data(head).end.as_ref()? else { return None };
        let (&counter, &Arg::Use(next)) = (data(head).params.first()?, args.first()?) else { return None };
        let latch = edges.first()?.to;
        let [back] = data(latch).edges() else { return None };
        if *relation != S::Own::LESS
            || !data(head).hot
            || !data(latch).insts.is_empty()
            || back.to != head
            || back.arguments.first() != Some(&next)
        {
            return None;
        }
        let (_, _, step) = data(head).insts.iter().filter_map(sum_of::<S>).find(|sum| (sum.0, sum.1) == (next, counter))?;
        let enters = |block: &&Block| **block != latch && data(**block).edges().iter().any(|edge| edge.to == head);
        let mut entries = function.order.iter().filter(enters);
        let (&before, None) = (entries.next()?, entries.next()) else { return None };
        let [entry] = data(before).edges() else { return None };
        let &start = entry.arguments.first()?;
        (step > 0).then_some(Self { head, before, latch, counter, next, start, step })
    }

    /// Adds a carried register to the loop, with its initial and its next value.
    pub fn carry<O: Operations>(&self, function: &mut Function<Inst<O>>, register: VReg, [first, next]: [VReg; 2]) {
        function.at(self.head).params.push(register);
        for (block, argument) in [(self.before, first), (self.latch, next)] {
            if let Some((_, edges)) = &mut function.at(block).end {
                edges.iter_mut().for_each(|edge| edge.arguments.push(argument));
            }
        }
    }

    /// Computes `base + number × factor` in the block before the loop. The number is a constant or in a register.
    pub fn before<S: Stepped>(
        &self,
        function: &mut Function<Inst<S::Own>>,
        base: Address,
        factor: i32,
        number: Result<i32, VReg>,
    ) -> Option<VReg> {
        let address = match number {
            Ok(number) => base.far(i64::from(number) * i64::from(factor))?,
            Err(register) => match base.indexed(register, factor.into()) {
                Some(address) if S::computes(address) => address,
                _ => base.indexed(self.product_before::<S>(function, register, factor), 1)?,
            },
        };
        let to = function.register(RegClass::Int);
        function.at(self.before).insts.push(S::address(to, address));
        Some(to)
    }

    /// Computes the product of a register and a constant in the block before the loop.
    fn product_before<S: Stepped>(&self, function: &mut Function<Inst<S::Own>>, register: VReg, factor: i32) -> VReg {
        let product = function.register(RegClass::Int);
        if let Some(inst) = S::scaled(product, register, factor.into()) {
            function.at(self.before).insts.push(inst);
            return product;
        }
        let number = function.register(RegClass::Int);
        let insts = &mut function.at(self.before).insts;
        insts.push(Inst::new(Op::Constant(factor), &[Arg::Def(number)]));
        insts.push(Inst::row(S::ROWS.product, &[Arg::Def(product), Arg::Use(register), Arg::Use(number)]));
        product
    }

    /// Returns the bound of the counter: a constant, or the register that holds it. `numbers` are registers that hold constants.
    pub fn bound<O: Operations>(&self, function: &Function<Inst<O>>, numbers: &FxHashMap<VReg, i32>) -> Option<Result<i32, VReg>> {
        let (Inst { args, .. }, _) = function.blocks[self.head.0 as usize].end.as_ref()?;
        match args[..] {
            [_, Arg::Number(number)] => Some(Ok(number)),
            [_, Arg::Use(register)] => Some(numbers.get(&register).copied().ok_or(register)),
            _ => None,
        }
    }

    /// Ends the loop by a comparison of a pointer, and removes the counter. `pointer` is the next value of the pointer, its base address, and the factor
    /// of the counter that is added. Only the counter's own sum and its comparison may use the counter.
    pub fn end_by<S: Stepped>(
        &self,
        function: &mut Function<Inst<S::Own>>,
        (next, base, factor): (VReg, Address, i32),
        numbers: &FxHashMap<VReg, i32>,
    ) {
        let Some(bound) = self.bound(function, numbers) else { return };
        let Some(end) = self.before::<S>(function, base, factor, bound) else { return };
        if let Some((inst, _)) = &mut function.at(self.head).end {
            *inst = Inst::new(Op::CompareBranch(S::BELOW), &[Arg::Use(next), Arg::Use(end)]);
        }
        self.drop_counter::<S>(function);
    }

    /// Removes the counter, which only its own sum uses.
    pub fn drop_counter<S: Stepped>(&self, function: &mut Function<Inst<S::Own>>) {
        let head = function.at(self.head);
        head.params.remove(0);
        head.insts.retain(|inst| sum_of::<S>(inst).is_none_or(|sum| sum.0 != self.next));
        for block in [self.before, self.latch] {
            if let Some((_, edges)) = &mut function.at(block).end {
                edges.iter_mut().for_each(|edge| _ = edge.arguments.remove(0));
            }
        }
    }
}
