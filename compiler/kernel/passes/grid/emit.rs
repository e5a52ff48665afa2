//! Writes the code of one position. Divisions of its number give its rounds.

use super::chain::{Chain, Digit};
use super::limits::WORKGROUP;
use super::tree::{Item, Tree, needed};
use super::writes::Writes;
use crate::dependence::Loops;
use crate::*;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Writes the body of a kernel with a grid.
pub struct Writer<'k> {
    loops: &'k Loops<'k>,
    types: Vec<Type>,
    /// New name of each value of the kernel.
    names: FxHashMap<Value, Value>,
    /// Round numbers of a chain's remaining loops, outermost last.
    rounds: Vec<Value>,
}

impl<'k> Writer<'k> {
    /// Makes a writer for the kernel of these loops.
    pub fn new(loops: &'k Loops<'k>) -> Self {
        Self { loops, types: vec![], names: FxHashMap::default(), rounds: vec![] }
    }

    /// Returns a body that computes items of the kernel's body, and the types of its values.
    pub fn body(mut self, items: &[Item]) -> (Region, Vec<Type>) {
        let position = self.value(Type::INDEX);
        let mut statements = Vec::new();
        self.items(&self.loops.kernel.body, items, position, &mut statements);
        (Region { params: vec![position], statements, yields: vec![] }, self.types)
    }

    /// Returns a body that computes chains of loops, each with its own workgroups, and the types of its values.
    pub fn chains(mut self, chains: &[Chain]) -> (Region, Vec<Type>) {
        let position = self.value(Type::INDEX);
        let mut statements = Vec::new();
        let [group, lane] = self.divided(position, WORKGROUP.into(), &mut statements);
        self.one_of(chains, group, &mut statements, &|chain| chain.groups(), &|writer, chain, group, out| {
            writer.chain(chain, [group, lane], out)
        });
        (Region { params: vec![position], statements, yields: vec![] }, self.types)
    }

    /// Writes the part of a chain that one lane of a workgroup computes.
    fn chain(&mut self, chain: &Chain, [group, lane]: [Value; 2], out: &mut Vec<Statement>) {
        let [uniform, group] = if chain.is_uniform_low() {
            let [high, low] = self.divided(group, chain.uniform(), out);
            [low, high]
        } else {
            self.divided(group, chain.groups_of_round(), out)
        };
        let before = self.binary(BinaryOp::Mul, group, WORKGROUP.into(), out);
        let own = self.binary_of(BinaryOp::Add, before, lane, out);
        let mut of_kind = [own, uniform];
        let mut rounds = Vec::with_capacity(chain.digits.len());
        for number in chain.low_first() {
            let Digit { rounds: count, is_uniform, .. } = chain.digits[number];
            let [rest, round] = self.divided(of_kind[usize::from(is_uniform)], count, out);
            of_kind[usize::from(is_uniform)] = rest;
            rounds.push((number, round));
        }
        rounds.sort_unstable_by_key(|&(number, _)| std::cmp::Reverse(number));
        self.rounds = rounds.into_iter().map(|(_, round)| round).collect();
        let body = &self.loops.kernel.body;
        if chain.lanes().is_multiple_of(WORKGROUP.into()) {
            return self.item(body, &chain.item, own, out);
        }
        let condition = self.compare(CompareOp::Less, own, chain.lanes() as i64, out);
        let mut then = Region::default();
        self.item(body, &chain.item, own, &mut then.statements);
        out.push(Statement { results: smallvec![], inst: Inst::If { condition, then, otherwise: Region::default() } });
    }

    /// Writes the item that a position belongs to.
    fn items(&mut self, region: &Region, items: &[Item], position: Value, out: &mut Vec<Statement>) {
        self.one_of(items, position, out, &Item::positions, &|writer, item, position, out| writer.item(region, item, position, out));
    }

    /// Writes the element of a list that a number belongs to, with the offset inside it. Each element takes `count` numbers.
    fn one_of<T, C, W>(&mut self, list: &[T], number: Value, out: &mut Vec<Statement>, count: &C, write: &W)
    where
        C: Fn(&T) -> u64,
        W: Fn(&mut Self, &T, Value, &mut Vec<Statement>),
    {
        let Some((first, rest)) = list.split_first() else { return };
        if rest.is_empty() {
            return write(self, first, number, out);
        }
        let numbers = count(first) as i64;
        let condition = self.compare(CompareOp::Less, number, numbers, out);
        let known = self.names.clone();
        let mut then = Vec::new();
        write(self, first, number, &mut then);
        self.names.clone_from(&known);
        let mut otherwise = Vec::new();
        let left = self.binary(BinaryOp::Sub, number, numbers, &mut otherwise);
        // The difference is not negative in this branch. The maximum states this for the interval analysis, which ignores conditions.
        let left = self.binary(BinaryOp::SignedMax, left, 0, &mut otherwise);
        self.one_of(rest, left, &mut otherwise, count, write);
        self.names = known;
        let [then, otherwise] = [then, otherwise].map(|statements| Region { statements, ..Region::default() });
        out.push(Statement { results: smallvec![], inst: Inst::If { condition, then, otherwise } });
    }

    /// Returns the quotient and the remainder of a division by a constant.
    fn divided(&mut self, number: Value, by: u64, out: &mut Vec<Statement>) -> [Value; 2] {
        if by == 1 {
            return [number, self.number(0, out)];
        }
        [BinaryOp::UnsignedDiv, BinaryOp::UnsignedRem].map(|op| self.binary(op, number, by as i64, out))
    }

    fn item(&mut self, region: &Region, item: &Item, position: Value, out: &mut Vec<Statement>) {
        for number in needed(region, &item.statements) {
            let statement = &region.statements[number];
            match (&item.nest, &statement.inst) {
                (Some(nest), Inst::For { start, end, step, body, .. }) if item.statements.contains(&number) => {
                    let counter = body.params[0];
                    if nest.rounds == 1 {
                        self.repeated(statement, &nest.body, position, out);
                        continue;
                    }
                    let [round, position] = match self.rounds.pop() {
                        Some(round) => [round, position],
                        None => self.divided(position, nest.body.positions(), out),
                    };
                    let Some(counted) = self.loops.counted(counter) else { continue };
                    let is_known = counted.end.is_none();
                    let scaled = if *step == 1 { round } else { self.binary(BinaryOp::Mul, round, *step, out) };
                    let first = self.name(*start);
                    let name =
                        if counted.first.as_number() == Some(0) { scaled } else { self.binary_of(BinaryOp::Add, scaled, first, out) };
                    self.names.insert(counter, name);
                    if is_known {
                        self.tree(body, &nest.body, position, out);
                        continue;
                    }
                    let end = self.name(*end);
                    let condition = self.mask(CompareOp::Less, name, end, out);
                    let mut then = Region::default();
                    self.tree(body, &nest.body, position, &mut then.statements);
                    out.push(Statement { results: smallvec![], inst: Inst::If { condition, then, otherwise: Region::default() } });
                }
                _ => self.copy(statement, out),
            }
        }
    }

    /// Writes a loop that every position runs, with only the position's own rounds inside.
    fn repeated(&mut self, statement: &Statement, tree: &Tree, position: Value, out: &mut Vec<Statement>) {
        let Inst::For { start, end, step, body, .. } = &statement.inst else { return };
        let (start, end) = (self.name(*start), self.name(*end));
        let counter = self.copy_of(body.params[0]);
        let mut inner = Region { params: vec![counter], ..Region::default() };
        self.tree(body, tree, position, &mut inner.statements);
        out.push(Statement {
            results: smallvec![],
            inst: Inst::For { start, end, step: *step, each: false, private: vec![], carried: vec![], body: inner },
        });
    }

    fn tree(&mut self, region: &Region, tree: &Tree, position: Value, out: &mut Vec<Statement>) {
        match tree {
            Tree::Whole => region.statements.iter().for_each(|statement| self.copy(statement, out)),
            Tree::Items(items) => self.items(region, items, position, out),
        }
    }

    fn copy(&mut self, statement: &Statement, out: &mut Vec<Statement>) {
        let mut inst = statement.inst.clone();
        inst.operands_mut().into_iter().for_each(|operand| *operand = self.name(*operand));
        for region in inst.regions_mut() {
            let Region { params, statements, yields } = std::mem::take(region);
            let params = params.into_iter().map(|param| self.copy_of(param)).collect();
            let mut copied = Vec::with_capacity(statements.len());
            statements.iter().for_each(|inner| self.copy(inner, &mut copied));
            *region = Region { params, statements: copied, yields: yields.into_iter().map(|value| self.name(value)).collect() };
        }
        let results = statement.results.iter().map(|&result| self.copy_of(result)).collect();
        out.push(Statement { results, inst });
    }

    fn name(&self, value: Value) -> Value {
        self.names[&value]
    }

    /// Makes a new value for a value of the kernel.
    fn copy_of(&mut self, value: Value) -> Value {
        let copy = self.value(self.loops.kernel.ty(value));
        self.names.insert(value, copy);
        copy
    }

    fn compare(&mut self, op: CompareOp, a: Value, b: i64, out: &mut Vec<Statement>) -> Value {
        let b = self.number(b, out);
        self.mask(op, a, b, out)
    }

    fn mask(&mut self, op: CompareOp, a: Value, b: Value, out: &mut Vec<Statement>) -> Value {
        self.push(Type::scalar(Lane::Mask), Inst::Compare { op, a, b }, out)
    }
}

impl Writes for Writer<'_> {
    fn types(&mut self) -> &mut Vec<Type> {
        &mut self.types
    }
}
