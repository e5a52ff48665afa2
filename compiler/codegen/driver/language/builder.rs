//! Writing functions in the driver's language.

use super::types::{BinaryOp, Callee, CompareOp, End, Function, Inst, Operand, Region, Signature, Statement, Value, Width};
use crate::interface::Layout;
use cranelift_entity::PrimaryMap;

/// One function being written. What is open is where instructions go.
pub struct Builder {
    /// How the target lays out data.
    pub layout: Layout,
    result: Option<Width>,
    widths: PrimaryMap<Value, Width>,
    /// Regions being written, the innermost last.
    open: Vec<OpenRegion>,
}

#[derive(Default)]
struct OpenRegion {
    statements: Vec<Statement>,
    /// How it leaves the function, if it does.
    leave: Option<End>,
}

/// Writes a function of a signature; `body` gets its parameters. Where the body ends without leaving, the function
/// returns 0 or nothing.
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
    /// A value that a loop will carry.
    pub fn value(&mut self, width: Width) -> Value {
        self.widths.push(width)
    }

    /// The width of a value.
    pub fn width(&self, value: Value) -> Width {
        self.widths[value]
    }

    /// A region of its own; `write` gives what it yields.
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

    /// The address of a byte of the data of a number.
    pub fn data(&mut self, data: u32, offset: u64) -> Value {
        self.define(Width::Word, Inst::Data { data, offset })
    }

    /// The address of the function of a number.
    pub fn function_address(&mut self, number: u32) -> Value {
        self.define(Width::Word, Inst::Function(number))
    }

    /// The address of memory of the function's own.
    pub fn memory(&mut self, bytes: u32) -> Value {
        self.define(Width::Word, Inst::Memory { bytes })
    }

    /// What is in memory.
    pub fn load(&mut self, width: Width, base: Value, offset: i32) -> Value {
        self.define(width.of_value(), Inst::Load { width, base, offset })
    }

    /// Writes to memory.
    pub fn store(&mut self, width: Width, value: impl Into<Operand>, base: Value, offset: i32) {
        self.push(&[], Inst::Store { width, value: value.into(), base, offset });
    }

    /// The width of two operands, one of which is a value.
    fn common(&self, a: Operand, b: Operand) -> Width {
        match (a, b) {
            (Operand::Value(value), _) | (_, Operand::Value(value)) => self.width(value),
            (Operand::Number(_), Operand::Number(_)) => Width::Word,
        }
    }

    /// Arithmetic.
    pub fn binary(&mut self, op: BinaryOp, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        let (a, b) = (a.into(), b.into());
        self.define(self.common(a, b), Inst::Binary { op, a, b })
    }

    /// Sum.
    pub fn add(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        self.binary(BinaryOp::Add, a, b)
    }

    /// Product.
    pub fn mul(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// An address this many bytes further on.
    pub fn at(&mut self, base: Value, offset: u64) -> Value {
        if offset == 0 { base } else { self.add(base, offset) }
    }

    /// A comparison.
    pub fn compare(&mut self, op: CompareOp, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        self.define(Width::Byte, Inst::Compare { op, a: a.into(), b: b.into() })
    }

    /// One of two operands.
    pub fn select(&mut self, truth: Value, a: impl Into<Operand>, b: impl Into<Operand>) -> Value {
        let (a, b) = (a.into(), b.into());
        self.define(self.common(a, b), Inst::Select { truth, a, b })
    }

    /// The same number, wider.
    pub fn extend(&mut self, width: Width, value: Value) -> Value {
        self.define(width, Inst::Extend { width, value })
    }

    /// Whether 64 bits of memory are others than these.
    pub fn differs(&mut self, base: Value, offset: i32, bits: u64) -> Value {
        self.define(Width::Byte, Inst::Differs { base, offset, bits })
    }

    /// A call of a function that returns something.
    pub fn call(&mut self, callee: Callee, signature: Signature, arguments: Vec<Operand>) -> Value {
        let width = signature.result.unwrap_or(Width::Single);
        self.define(width, Inst::Call { callee, signature, arguments })
    }

    /// A call of a function that returns nothing.
    pub fn call_only(&mut self, callee: Callee, signature: Signature, arguments: Vec<Operand>) {
        self.push(&[], Inst::Call { callee, signature, arguments });
    }

    /// Runs one of two regions; the values that they yield have these widths.
    pub fn branch(&mut self, truth: Value, widths: &[Width], then: Region, otherwise: Region) -> Vec<Value> {
        let results: Vec<Value> = widths.iter().map(|&width| self.value(width)).collect();
        self.push(&results, Inst::If { truth, then, otherwise });
        results
    }

    /// Runs a region if a value is not 0.
    pub fn when(&mut self, truth: Value, then: impl FnOnce(&mut Self)) {
        let then = self.region(|e| {
            then(e);
            vec![]
        });
        let otherwise = self.region(|_| vec![]);
        self.branch(truth, &[], then, otherwise);
    }

    /// A loop. `carried` are values from [`Builder::value`], each with what it is at first.
    pub fn repeat(&mut self, carried: &[(Value, Operand)], head: Region, body: Region) {
        let (carried, initial) = carried.iter().copied().unzip();
        self.push(&[], Inst::Repeat { carried, initial, head, body });
    }

    /// A loop over records: `offset` runs from 0 while below `end`, from one record of `bytes` bytes to the next.
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

    /// Ends the region: the function returns the status, where it returns something.
    pub fn leave(&mut self, status: i32) {
        self.end(Operand::Number(u64::from(status as u32)));
    }

    /// The same with a status that is not known.
    pub fn leave_always(&mut self, status: Value) {
        self.end(Operand::Value(status));
    }

    fn end(&mut self, status: Operand) {
        let leave = End::Leave(self.result.map(|_| status));
        let region = self.open.last_mut().expect("a region is open until the function is finished");
        region.leave = Some(leave);
    }
}
