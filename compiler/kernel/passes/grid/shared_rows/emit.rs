//! Writes the code of a workgroup: it copies a chunk of rows, and then runs the rounds of this chunk.

use super::super::writes::{Writes, barrier};
use super::rows::{Rows, SharedRows};
use crate::*;
use cranelift_entity::EntityRef;
use smallvec::smallvec;

/// A condition that ends the positions beyond a limit: an index is below a number.
#[derive(Clone, Copy)]
pub struct Guard {
    /// The condition.
    pub condition: Value,
    /// The index that is compared.
    pub own: Value,
    /// The upper limit, excluded.
    pub count: i64,
}

/// Row starts that lanes have already stored: affine sums of values, each in units of a number of elements.
pub type Said = Vec<(Vec<(Value, i64)>, i64)>;

/// Adds statements and buffers to a kernel.
pub struct Emitter {
    kernel: Kernel,
    lanes: i64,
    /// Number of the position in its workgroup; `head` computes it.
    lane: Value,
    head: Vec<Statement>,
    /// Shared arrays, by number: row starts in `places`, copies of rows in `copies`.
    places: Vec<Buffer>,
    copies: Vec<Buffer>,
}

impl Emitter {
    /// Makes an emitter for a kernel with `lanes` positions in a workgroup.
    pub fn new(kernel: &Kernel, lanes: u32) -> Self {
        let mut emitter =
            Self { kernel: kernel.clone(), lanes: lanes.into(), lane: Value::new(0), head: vec![], places: vec![], copies: vec![] };
        let mut head = vec![];
        emitter.lane = emitter.binary(BinaryOp::UnsignedRem, kernel.body.params[0], lanes.into(), &mut head);
        Self { head, ..emitter }
    }

    /// Returns the kernel with these statements, and the bytes that a workgroup shares.
    pub fn finish(mut self, statements: Vec<Statement>) -> (Kernel, u64) {
        self.kernel.body.statements = [self.head, statements].concat();
        let shared = self.kernel.buffers.iter().filter(|data| data.kind == BufferKind::Shared);
        let bytes = shared.map(|data| data.bytes()).sum();
        (self.kernel, bytes)
    }

    /// Writes the statements before a guard. The guard's index is clamped to the last one that meets the condition; the condition uses the original
    /// index.
    pub fn clamped(&mut self, before: &[Statement], guard: Guard, out: &mut Vec<Statement>) {
        let beyond = self.value(self.kernel.ty(guard.own));
        for statement in before {
            let mut statement = statement.clone();
            if statement.results[..] == [guard.condition] {
                statement.inst.operands_mut().into_iter().filter(|operand| **operand == guard.own).for_each(|operand| *operand = beyond);
            }
            let is_own = statement.results[..] == [guard.own];
            if is_own {
                statement.results = smallvec![beyond];
            }
            out.push(statement);
            if is_own {
                let last = self.number(guard.count - 1, out);
                let inst = Inst::Binary { op: BinaryOp::SignedMin, a: beyond, b: last };
                out.push(Statement { results: smallvec![guard.own], inst });
            }
        }
    }

    /// Writes a loop that first copies each chunk of its rows.
    pub fn with_shared_rows(&mut self, statement: &Statement, shared: &SharedRows, said: &mut Said, out: &mut Vec<Statement>) {
        let Inst::For { carried, body, .. } = &statement.inst else { return };
        let places = self.say(shared, said, out);
        let copies: Vec<Buffer> =
            (0..).zip(&shared.rows).map(|(number, rows)| self.copy_of(number, rows, rows.pitch(shared.length))).collect();
        if shared.length == shared.end - shared.start {
            let first = self.number(shared.start, out);
            self.copy(shared, [&places, &copies], first, out);
            barrier(out);
            let products = self.products(body, shared, &copies, first, carried.clone(), out);
            out.push(Statement { results: statement.results.clone(), inst: products });
            return barrier(out);
        }
        let [start, end] = [shared.start, shared.end].map(|number| self.number(number, out));
        let chunk = self.value(Type::INDEX);
        let [sums, next] = [(); 2].map(|()| carried.iter().map(|&value| self.value(self.kernel.ty(value))).collect::<Vec<_>>());
        let mut inside = vec![];
        self.copy(shared, [&places, &copies], chunk, &mut inside);
        barrier(&mut inside);
        let products = self.products(body, shared, &copies, chunk, sums.clone(), &mut inside);
        inside.push(Statement { results: next.clone().into(), inst: products });
        barrier(&mut inside);
        let body = Region { params: [vec![chunk], sums].concat(), statements: inside, yields: next };
        let inst = Inst::For { start, end, step: shared.length, each: false, private: vec![], carried: carried.clone(), body };
        out.push(Statement { results: statement.results.clone(), inst });
    }

    /// Stores the start of each lane's rows, unless it is already stored. Returns the arrays of starts.
    fn say(&mut self, shared: &SharedRows, said: &mut Said, out: &mut Vec<Statement>) -> Vec<Buffer> {
        let before = said.len();
        let mut numbers = vec![];
        for rows in &shared.rows {
            let known = said.iter().position(|(base, unit)| *base == rows.base && *unit == rows.unit);
            numbers.push(known.unwrap_or(said.len()));
            if known.is_none() {
                self.say_rows(rows, said.len(), out);
                said.push((rows.base.clone(), rows.unit));
            }
        }
        if said.len() > before {
            barrier(out);
        }
        numbers.into_iter().map(|number| self.places[number]).collect()
    }

    fn say_rows(&mut self, rows: &Rows, number: usize, out: &mut Vec<Statement>) {
        let mut place = self.number(0, out);
        for &(term, factor) in &rows.base {
            let scaled = self.scaled(term, factor / rows.unit, out);
            place = self.binary_of(BinaryOp::Add, place, scaled, out);
        }
        let value = self.push(Type::scalar(Lane::I32), Inst::Convert { op: ConvertOp::Wrap, a: place }, out);
        if number == self.places.len() {
            let buffer = self.shared("places", number, Lane::I32, self.lanes);
            self.places.push(buffer);
        }
        let inst = Inst::Store { buffer: self.places[number], index: self.lane, offset: 0, active: 1, value, mask: None };
        out.push(Statement { results: smallvec![], inst });
    }

    /// Returns shared memory for a copy: the first rows of all lanes, then the second rows, and so on.
    fn copy_of(&mut self, number: usize, rows: &Rows, pitch: i64) -> Buffer {
        let lane = self.kernel.buffer(rows.buffer).lane;
        let elements = self.lanes * pitch * rows.starts.len() as i64;
        let known = self.copies.iter().copied().filter(|&buffer| self.kernel.buffer(buffer).lane == lane).nth(number);
        let buffer = known.unwrap_or_else(|| {
            let buffer = self.shared("rows", self.copies.len(), lane, elements);
            self.copies.push(buffer);
            buffer
        });
        let data = &mut self.kernel.buffers[buffer.index()];
        data.elements = data.elements.max(elements as u64);
        buffer
    }

    fn shared(&mut self, name: &str, number: usize, lane: Lane, elements: i64) -> Buffer {
        let data = BufferData::new(format!("{name}{number}"), BufferKind::Shared, lane, elements as u64, 16);
        self.kernel.buffers.push(data);
        Buffer::new(self.kernel.buffers.len() - 1)
    }

    /// Copies a chunk of each row, from the counter's value `first` on.
    fn copy(&mut self, shared: &SharedRows, [places, copies]: [&[Buffer]; 2], first: Value, out: &mut Vec<Statement>) {
        for ((rows, &places), &copy) in shared.rows.iter().zip(places).zip(copies) {
            let of_row = shared.length / rows.unit;
            for number in 0..of_row {
                let (row, further, part) = self.task(number, of_row, out);
                let load = Inst::Load { buffer: places, index: row, offset: further, active: 1, mask: None };
                let place = self.push(Type::scalar(Lane::I32), load, out);
                let place = self.push(Type::INDEX, Inst::Convert { op: ConvertOp::SignExtend, a: place }, out);
                let place = self.scaled(place, rows.unit, out);
                let part = self.scaled(part, rows.unit, out);
                let from = self.binary_of(BinaryOp::Add, place, first, out);
                let from = self.binary_of(BinaryOp::Add, from, part, out);
                let to = self.scaled(row, rows.pitch(shared.length), out);
                let to = self.binary_of(BinaryOp::Add, to, part, out);
                for (r, &start) in (0..).zip(&rows.starts) {
                    let ty = Type::vector(self.kernel.buffer(rows.buffer).lane, rows.unit as u16);
                    let active = rows.unit as u16;
                    let load = Inst::Load { buffer: rows.buffer, index: from, offset: start, active, mask: None };
                    let value = self.push(ty, load, out);
                    let offset = (r * self.lanes + further) * rows.pitch(shared.length);
                    let store = Inst::Store { buffer: copy, index: to, offset, active, value, mask: None };
                    out.push(Statement { results: smallvec![], inst: store });
                }
            }
        }
    }

    /// Returns the n-th copy of a lane: the lane whose row it copies, as an index and a constant, and the piece of the row. A row has `of_row`
    /// pieces.
    fn task(&mut self, number: i64, of_row: i64, out: &mut Vec<Statement>) -> (Value, i64, Value) {
        let is_whole = self.lanes % of_row == 0;
        let (task, further) =
            if is_whole { (self.lane, number * self.lanes / of_row) } else { (self.moved(self.lane, number * self.lanes, out), 0) };
        let [row, part] = [BinaryOp::UnsignedDiv, BinaryOp::UnsignedRem].map(|op| self.binary(op, task, of_row, out));
        (row, further, part)
    }

    /// Writes the rounds of a chunk, which load from the copies.
    fn products(
        &mut self,
        body: &Region,
        shared: &SharedRows,
        copies: &[Buffer],
        first: Value,
        carried: Vec<Value>,
        out: &mut Vec<Statement>,
    ) -> Inst {
        let [start, end] = [0, shared.length].map(|number| self.number(number, out));
        let counter = self.value(Type::INDEX);
        let mut inner = body.clone();
        // The loop's counter keeps its name for all other uses.
        let sum = |result, a| Statement { results: smallvec![result], inst: Inst::Binary { op: BinaryOp::Add, a, b: counter } };
        let mut sums = vec![sum(inner.params[0], first)];
        for (rows, &copy) in shared.rows.iter().zip(copies) {
            let pitch = rows.pitch(shared.length);
            let (own, at) = (self.scaled(self.lane, pitch, out), self.value(Type::INDEX));
            sums.push(sum(at, own));
            for (statement, row, further) in rows.loads() {
                let inst = &mut inner.statements[statement].inst;
                if let Some((index, offset)) = inst.place_mut() {
                    (*index, *offset) = (at, row as i64 * self.lanes * pitch + further);
                }
                inst.buffer_mut().into_iter().for_each(|buffer| *buffer = copy);
            }
        }
        inner.statements.splice(0..0, sums);
        inner.params[0] = counter;
        Inst::For { start, end, step: shared.step, each: false, private: vec![], carried, body: inner }
    }
}

impl Writes for Emitter {
    fn types(&mut self) -> &mut Vec<Type> {
        &mut self.kernel.types
    }
}
