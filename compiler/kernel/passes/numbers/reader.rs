//! The statements of a merged kernel that read its numbers from memory.

use super::number::{Number, Reading, Store};
use crate::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Replaces the numbers of a kernel by loads, in the order of the statements.
pub(super) struct NumbersReader<'a, N> {
    pub types: &'a mut Vec<Type>,
    pub buffers: &'a FxHashMap<Store, Buffer>,
    /// The index 0.
    pub start: Value,
    pub reading: Reading,
    /// The remaining numbers, each with its place if it is read.
    pub numbers: N,
}

/// The statements of a region so far, and the words that they have read: places and values.
#[derive(Default)]
struct Written {
    statements: Vec<Statement>,
    words: Vec<(usize, Value)>,
}

impl<'a, N: Iterator<Item = (&'a Number, &'a Option<usize>)>> NumbersReader<'_, N> {
    /// Replaces the numbers of a region and of all inner ones.
    pub fn region(&mut self, region: &mut Region, is_number: &impl Fn(&Statement) -> bool) {
        let mut written = Written::default();
        for mut statement in std::mem::take(&mut region.statements) {
            match self.next(&statement, is_number) {
                Some((number, place)) if number.is_index => self.read_index(&mut statement, place, &mut written),
                Some((number, place)) => self.read_number(&mut statement, (number.lane, place), &mut written.statements),
                None => {}
            }
            let is_innermost = is_innermost(&statement.inst);
            for inner in statement.inst.regions_mut() {
                if is_innermost { self.innermost(inner, is_number, &mut written) } else { self.region(inner, is_number) }
            }
            written.statements.push(statement);
        }
        region.statements = written.statements;
    }

    /// Reads the indices of an innermost loop before it.
    fn innermost(&mut self, region: &mut Region, is_number: &impl Fn(&Statement) -> bool, before: &mut Written) {
        let mut statements = Vec::with_capacity(region.statements.len());
        for mut statement in std::mem::take(&mut region.statements) {
            match self.next(&statement, is_number) {
                Some((number, place)) if number.is_index => {
                    let is_access = statement.inst.place_mut().is_some();
                    if !is_access {
                        self.read_index(&mut statement, place, before);
                        before.statements.push(statement);
                        continue;
                    }
                    let offset = self.index(place, before);
                    self.shift_place(&mut statement, offset, &mut statements);
                }
                Some((number, place)) => self.read_number(&mut statement, (number.lane, place), &mut statements),
                None => {}
            }
            statements.push(statement);
        }
        region.statements = statements;
    }

    /// Returns the next number and its place, if a statement has a number that is read.
    fn next(&mut self, statement: &Statement, is_number: &impl Fn(&Statement) -> bool) -> Option<(&'a Number, usize)> {
        let (number, place) = if is_number(statement) { self.numbers.next()? } else { return None };
        place.map(|place| (number, place))
    }

    /// Returns the word at a place, which is read once in a region.
    fn word(&mut self, place: usize, written: &mut Written) -> Value {
        if let Some(&(_, word)) = written.words.iter().find(|(known, _)| *known == place) {
            return word;
        }
        let inst = self.read(&mut written.statements, self.reading.store(Lane::I32, true), place, 1);
        let word = self.add(&mut written.statements, Type::scalar(Lane::I32), inst);
        written.words.push((place, word));
        word
    }

    /// Returns the index at a place.
    fn index(&mut self, place: usize, written: &mut Written) -> Value {
        let a = self.word(place, written);
        self.add(&mut written.statements, Type::INDEX, Inst::Convert { op: ConvertOp::SignExtend, a })
    }

    /// Makes a statement read its index or its offset.
    fn read_index(&mut self, statement: &mut Statement, place: usize, written: &mut Written) {
        if statement.inst.place_mut().is_some() {
            let offset = self.index(place, written);
            self.shift_place(statement, offset, &mut written.statements);
        } else {
            statement.inst = Inst::Convert { op: ConvertOp::SignExtend, a: self.word(place, written) };
        }
    }

    /// Adds an index to the place of an access, instead of its offset.
    fn shift_place(&mut self, statement: &mut Statement, by: Value, statements: &mut Vec<Statement>) {
        if let Some((index, offset)) = statement.inst.place_mut() {
            *offset = 0;
            *index = self.add(statements, Type::INDEX, Inst::Binary { op: BinaryOp::Add, a: *index, b: by });
        }
    }

    /// Makes a statement read its number.
    fn read_number(&mut self, statement: &mut Statement, (lane, place): (Lane, usize), statements: &mut Vec<Statement>) {
        let lanes = self.types[statement.results[0].index()].lanes;
        let read = self.read(statements, self.reading.store(lane, false), place, lanes);
        statement.inst = match statement.inst {
            Inst::ShiftConstant { op, a, .. } => {
                let b = self.add(statements, Type::vector(lane, lanes), read);
                Inst::Binary { op, a, b }
            }
            _ => read,
        };
    }

    /// Returns the instruction that yields a number in all lanes. A vector with more lanes than a place is joined from halves.
    fn read(&mut self, statements: &mut Vec<Statement>, store: Store, place: usize, lanes: u16) -> Inst {
        let per_place = store.elements() as u16;
        let mut held = lanes.min(per_place);
        let offset = place as i64 * i64::from(per_place);
        let mut inst = Inst::Load { buffer: self.buffers[&store], index: self.start, offset, active: held, mask: None };
        while held < lanes {
            let half = self.add(statements, Type::vector(store.lane, held), inst);
            inst = Inst::Join { a: half, b: half };
            held *= 2;
        }
        inst
    }

    fn add(&mut self, statements: &mut Vec<Statement>, ty: Type, inst: Inst) -> Value {
        let value = Value::new(self.types.len());
        self.types.push(ty);
        statements.push(Statement { results: smallvec![value], inst });
        value
    }
}

/// Tests whether an instruction is a loop without loops or branches inside.
fn is_innermost(inst: &Inst) -> bool {
    let (Inst::For { body, .. } | Inst::Loop { body, .. }) = inst else { return false };
    body.statements.iter().all(|inner| inner.inst.regions().is_empty())
}
