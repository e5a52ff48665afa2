//! A builder for functions of the driver language.

use super::types::{BinaryOp, Callee, CompareOp, End, Function, Inst, Operand, Region, Signature, Statement, Value, Width};
use cranelift_entity::PrimaryMap;
use modelc_interface::Layout;

/// A builder of one function. Instructions go into the innermost open region.
pub struct Builder {
    /// Layout of data on the target.
    pub layout: Layout,
    result: Option<Width>,
    widths: PrimaryMap<Value, Width>,
    /// Regions being written, the innermost last.
    open: Vec<OpenRegion>,
}

#[derive(Default)]
struct OpenRegion {
    statements: Vec<Statement>,
    /// The return that ends the region, if it ends with one.
    leave: Option<End>,
}

/// Writes a function with the given signature; `body` gets its parameters. If the body ends without a return, the function returns 0, or nothing.
pub fn function(layout: Layout, signature: Signature, body: impl FnOnce(&mut Builder, &[Value])) -> Function {
    let mut builder = Builder { layout, result: signature.result, widths: PrimaryMap::new(), open: vec![] };
    let parameters: Vec<Value> = signature.parameters.iter().map(|&width| builder.value(width)).collect();
    let body = builder.region(|builder| {
        body(builder, &parameters);
        if builder.open.last().is_some_and(|region| region.leave.is_none()) {
            builder.leave(0);
        }
        vec![]
    });
    Function { signature, parameters, widths: builder.widths, body }
}

impl Builder {
    /// Makes a value for a loop to carry.
    pub fn value(&mut self, width: Width) -> Value {
        self.widths.push(width)
    }

    /// Returns the width of a value.
    pub fn width(&self, value: Value) -> Width {
        self.widths[value]
    }

    /// Writes a region; `write` returns the operands that it yields.
    pub fn region(&mut self, write: impl FnOnce(&mut Self) -> Vec<Operand>) -> Region {
        self.open.push(OpenRegion::default());
        let yields = write(self);
        let OpenRegion { statements, leave } = self.open.pop().expect("the region was opened above");
        Region { statements, end: leave.unwrap_or(End::Yield(yields)) }
    }

    fn push(&mut self, results: &[Value], inst: Inst) {
        let region = self.open.last_mut().expect("a region is open until the function is finished");
        debug_assert!(region.leave.is_none(), "nothing comes after the end of a region");
        region.statements.push(Statement { results: results.to_vec(), inst });
    }

    fn define(&mut self, width: Width, inst: Inst) -> Value {
        let value = self.value(width);
        self.push(&[value], inst);
        value
    }

    /// Computes the address of a byte of a numbered data section.
    pub fn data(&mut self, data: u32, offset: u64) -> Value {
        self.define(Width::Word, Inst::Data { data, offset })
    }

    /// Computes the address of a numbered function.
    pub fn function_address(&mut self, number: u32) -> Value {
        self.define(Width::Word, Inst::Function(number))
    }

    /// Reserves memory on the function's stack; returns its address.
    pub fn memory(&mut self, bytes: u32) -> Value {
        self.define(Width::Word, Inst::Memory { bytes })
    }

    /// Loads from memory.
    pub fn load(&mut self, width: Width, base: Value, offset: i32) -> Value {
        self.define(width.of_value(), Inst::Load { width, base, offset })
    }

    /// Stores to memory.
    pub fn store(&mut self, width: Width, value: impl Into<Operand>, base: Value, offset: i32) {
        self.push(&[], Inst::Store { width, value: value.into(), base, offset });
    }

    /// Returns the width of two operands; a number takes the width of a value.
    fn common(&self, a: Operand, b: Operand) -> Width {
        match (a, b) {
            (Operand::Value(value), _) | (_, Operand::Value(value)) => self.width(value),
            (Operand::Number(_), Operand::Number(_)) => Width::Word,
        }
    }

    /// Computes a binary operation.
    pub fn binary(&mut self, op: BinaryOp, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        let (a, b) = (a.into(), b.into());
        self.define(self.common(a, b), Inst::Binary { op, a, b })
    }

    /// Computes a sum.
    pub fn add(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        self.binary(BinaryOp::Add, a, b)
    }

    /// Computes a product.
    pub fn mul(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// Computes an address `offset` bytes after `base`.
    pub fn at(&mut self, base: Value, offset: u64) -> Value {
        if offset == 0 { base } else { self.add(base, offset) }
    }

    /// Compares two operands; the result is a byte.
    pub fn compare(&mut self, op: CompareOp, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        self.define(Width::Byte, Inst::Compare { op, a: a.into(), b: b.into() })
    }

    /// Selects `a` if `truth` is not 0, else `b`.
    pub fn select(&mut self, truth: Value, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        let (a, b) = (a.into(), b.into());
        self.define(self.common(a, b), Inst::Select { truth, a, b })
    }

    /// Extends a value with zeros to a wider one.
    pub fn extend(&mut self, width: Width, value: Value) -> Value {
        self.define(width, Inst::Extend { width, value })
    }

    /// Tests whether 64 bits of memory differ from `bits`.
    pub fn differs(&mut self, base: Value, offset: i32, bits: u64) -> Value {
        self.define(Width::Byte, Inst::Differs { base, offset, bits })
    }

    /// Calls a function with a result.
    pub fn call(&mut self, callee: Callee, signature: Signature, arguments: Vec<Operand>) -> Value {
        let width = signature.result.unwrap_or(Width::Single);
        self.define(width, Inst::Call { callee, signature, arguments })
    }

    /// Calls a function, and ignores a result.
    pub fn call_only(&mut self, callee: Callee, signature: Signature, arguments: Vec<Operand>) {
        self.push(&[], Inst::Call { callee, signature, arguments });
    }

    /// Writes a branch: one of two regions runs. The values that they yield have these widths.
    pub fn branch(&mut self, truth: Value, widths: &[Width], then: Region, otherwise: Region) -> Vec<Value> {
        let results: Vec<Value> = widths.iter().map(|&width| self.value(width)).collect();
        self.push(&results, Inst::If { truth, then, otherwise });
        results
    }

    /// Writes a branch that runs a region if a value is not 0.
    pub fn when(&mut self, truth: Value, then: impl FnOnce(&mut Self)) {
        let then = self.region(|e| {
            then(e);
            vec![]
        });
        let otherwise = self.region(|_| vec![]);
        self.branch(truth, &[], then, otherwise);
    }

    /// Writes a loop. `carried` are values from [`Builder::value`] with their initial operands.
    pub fn repeat(&mut self, carried: &[(Value, Operand)], head: Region, body: Region) {
        let (carried, initial) = carried.iter().copied().unzip();
        self.push(&[], Inst::Repeat { carried, initial, head, body });
    }

    /// Writes a loop over records of `bytes` bytes: `offset` goes from 0 up, while it is below `end`.
    pub fn each(&mut self, end: impl Into<Operand>, bytes: u64, body: impl FnOnce(&mut Self, Value)) {
        let (offset, end) = (self.value(Width::Word), end.into());
        let head = self.region(|e| vec![e.compare(CompareOp::Less, offset, end).into()]);
        let body = self.region(|e| {
            body(e, offset);
            vec![e.add(offset, bytes).into()]
        });
        self.repeat(&[(offset, Operand::Number(0))], head, body);
    }

    /// Returns `status` if a value is not 0.
    pub fn leave_if(&mut self, truth: Value, status: i32) {
        self.push(&[], Inst::LeaveIf { truth, status });
    }

    /// Returns a status if it is not 0.
    pub fn leave_with(&mut self, status: Value) {
        self.push(&[], Inst::LeaveWith { status });
    }

    /// Ends the region with a return of a constant status. The status is dropped in functions without a result.
    pub fn leave(&mut self, status: i32) {
        self.end(Operand::Number(u64::from(status as u32)));
    }

    /// Ends the region with a return of a computed status.
    pub fn leave_always(&mut self, status: Value) {
        self.end(Operand::Value(status));
    }

    fn end(&mut self, status: Operand) {
        let leave = End::Leave(self.result.map(|_| status));
        let region = self.open.last_mut().expect("a region is open until the function is finished");
        region.leave = Some(leave);
    }
}
