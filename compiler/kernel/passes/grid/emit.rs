//! Writes what one position does: which rounds it is follows from its number by divisions.

use super::accesses::Loops;
use super::tree::{Item, Tree, needed};
use crate::kernel::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// Writes the body of a kernel with a grid.
pub struct Writer<'k> {
    loops: &'k Loops<'k>,
    types: Vec<Type>,
    /// What values of the kernel are here.
    names: FxHashMap<Value, Value>,
}

impl<'k> Writer<'k> {
    /// For the kernel of some loops.
    pub fn new(loops: &'k Loops<'k>) -> Self {
        Self { loops, types: vec![], names: FxHashMap::default() }
    }

    /// The body that does items of the kernel's body, and the types of its values.
    pub fn body(mut self, items: &[Item]) -> (Region, Vec<Type>) {
        let position = self.value(Type::INDEX);
        let mut statements = Vec::new();
        self.items(&self.loops.kernel.body, items, position, &mut statements);
        (Region { params: vec![position], statements, yields: vec![] }, self.types)
    }

    /// The items that a position is in.
    fn items(&mut self, region: &Region, items: &[Item], position: Value, out: &mut Vec<Statement>) {
        let Some((item, rest)) = items.split_first() else { return };
        if rest.is_empty() {
            return self.item(region, item, position, out);
        }
        let positions = item.positions() as i64;
        let condition = self.compare(CompareOp::Less, position, positions, out);
        let known = self.names.clone();
        let mut then = Vec::new();
        self.item(region, item, position, &mut then);
        self.names.clone_from(&known);
        let mut otherwise = Vec::new();
        let left = self.binary(BinaryOp::Sub, position, positions, &mut otherwise);
        // It is no less than 0 here, which intervals do not tell: they know no conditions.
        let left = self.binary(BinaryOp::SignedMax, left, 0, &mut otherwise);
        self.items(region, rest, left, &mut otherwise);
        self.names = known;
        let [then, otherwise] = [then, otherwise].map(|statements| Region { statements, ..Region::default() });
        out.push(Statement { results: vec![], inst: Inst::If { condition, then, otherwise } });
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
                    let inner = nest.body.positions() as i64;
                    let (round, position) = if inner == 1 {
                        (position, self.number(0, out))
                    } else {
                        let round = self.binary(BinaryOp::UnsignedDiv, position, inner, out);
                        (round, self.binary(BinaryOp::UnsignedRem, position, inner, out))
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
                    out.push(Statement { results: vec![], inst: Inst::If { condition, then, otherwise: Region::default() } });
                }
                _ => self.copy(statement, out),
            }
        }
    }

    /// A loop that every position runs, with the rounds inside that are its own.
    fn repeated(&mut self, statement: &Statement, tree: &Tree, position: Value, out: &mut Vec<Statement>) {
        let Inst::For { start, end, step, body, .. } = &statement.inst else { return };
        let (start, end) = (self.name(*start), self.name(*end));
        let counter = self.copy_of(body.params[0]);
        let mut inner = Region { params: vec![counter], ..Region::default() };
        self.tree(body, tree, position, &mut inner.statements);
        out.push(Statement { results: vec![], inst: Inst::For { start, end, step: *step, carried: vec![], body: inner } });
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

    /// A new value for one of the kernel.
    fn copy_of(&mut self, value: Value) -> Value {
        let copy = self.value(self.loops.kernel.ty(value));
        self.names.insert(value, copy);
        copy
    }

    fn value(&mut self, ty: Type) -> Value {
        self.types.push(ty);
        Value::new(self.types.len() - 1)
    }

    fn push(&mut self, ty: Type, inst: Inst, out: &mut Vec<Statement>) -> Value {
        let result = self.value(ty);
        out.push(Statement { results: vec![result], inst });
        result
    }

    fn number(&mut self, number: i64, out: &mut Vec<Statement>) -> Value {
        self.push(Type::INDEX, Inst::Constant { bits: number as u64 }, out)
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: i64, out: &mut Vec<Statement>) -> Value {
        let b = self.number(b, out);
        self.binary_of(op, a, b, out)
    }

    fn binary_of(&mut self, op: BinaryOp, a: Value, b: Value, out: &mut Vec<Statement>) -> Value {
        self.push(Type::INDEX, Inst::Binary { op, a, b }, out)
    }

    fn compare(&mut self, op: CompareOp, a: Value, b: i64, out: &mut Vec<Statement>) -> Value {
        let b = self.number(b, out);
        self.mask(op, a, b, out)
    }

    fn mask(&mut self, op: CompareOp, a: Value, b: Value, out: &mut Vec<Statement>) -> Value {
        self.push(Type::scalar(Lane::Mask), Inst::Compare { op, a, b }, out)
    }
}
