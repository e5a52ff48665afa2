//! An interpreter of driver functions for tests, with pointers of 4 or 8 bytes.

use super::types::{BinaryOp, Callee, CompareOp, End, Function, Inst, Operand, Region, Statement, Value, Width};
use cranelift_entity::SecondaryMap;
use modelc_interface::Layout;

/// Address of the first byte of memory.
pub const START: u64 = 0x1000;
/// Address of function 0.
pub const FUNCTIONS: u64 = 0xf000_0000;

/// The effect of a call on memory, and its result.
pub type Answer = dyn Fn(&mut Vec<u8>, Callee, &[u64]) -> u64;

/// A machine with memory, data, and callees.
pub struct Machine<'a> {
    /// Layout of data on the machine.
    pub layout: Layout,
    /// Memory from address [`START`] on. Stack memory of functions is appended to it.
    pub memory: Vec<u8>,
    /// Addresses of data.
    pub data: Vec<u64>,
    /// Calls so far, with their arguments.
    pub calls: Vec<(Callee, Vec<u64>)>,
    /// The handler of every call.
    pub answer: &'a Answer,
}

/// The end of a region: it goes on with values, or the function returns.
enum Flow {
    On(Vec<u64>),
    Left(Option<u64>),
}

struct Frame<'f> {
    function: &'f Function,
    values: SecondaryMap<Value, u64>,
}

impl Machine<'_> {
    /// Runs a function; returns its result, if it has one.
    pub fn run(&mut self, function: &Function, arguments: &[u64]) -> Option<u64> {
        let mut frame = Frame { function, values: SecondaryMap::new() };
        self.set(&mut frame, &function.parameters, arguments);
        match self.region(&mut frame, &function.body) {
            Flow::Left(result) => result,
            Flow::On(_) => panic!("a function ends by leaving"),
        }
    }

    /// Runs a function that returns a status.
    pub fn status(&mut self, function: &Function, arguments: &[u64]) -> i32 {
        self.run(function, arguments).expect("the function has a status") as u32 as i32
    }

    /// Reads bytes of memory as a little-endian number.
    pub fn read(&self, address: u64, bytes: u64) -> u64 {
        let start = (address - START) as usize;
        self.memory[start..start + bytes as usize].iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte))
    }

    /// Writes a number into bytes of memory, little-endian.
    pub fn write(&mut self, address: u64, bytes: u64, number: u64) {
        let start = (address - START) as usize;
        self.memory[start..start + bytes as usize].copy_from_slice(&number.to_le_bytes()[..bytes as usize]);
    }

    fn bytes(&self, width: Width) -> u64 {
        match width {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Single => 4,
            Width::Word | Width::Cell => self.layout.pointer,
        }
    }

    fn cut(&self, number: u64, width: Width) -> u64 {
        number & (u64::MAX >> (64 - 8 * self.bytes(width)))
    }

    fn set(&self, frame: &mut Frame<'_>, values: &[Value], numbers: &[u64]) {
        assert_eq!(values.len(), numbers.len());
        for (&value, &number) in values.iter().zip(numbers) {
            frame.values[value] = self.cut(number, frame.function.widths[value]);
        }
    }

    fn operand(&self, frame: &Frame<'_>, operand: Operand) -> u64 {
        match operand {
            Operand::Value(value) => frame.values[value],
            Operand::Number(number) => number,
        }
    }

    fn operands(&self, frame: &Frame<'_>, operands: &[Operand]) -> Vec<u64> {
        operands.iter().map(|&operand| self.operand(frame, operand)).collect()
    }

    /// Evaluates two operands, cut to their common width.
    fn pair(&self, frame: &Frame<'_>, a: Operand, b: Operand) -> (u64, u64) {
        let width = match (a, b) {
            (Operand::Value(value), _) | (_, Operand::Value(value)) => frame.function.widths[value],
            _ => Width::Word,
        };
        let cut = |operand| self.cut(self.operand(frame, operand), width);
        (cut(a), cut(b))
    }

    fn region(&mut self, frame: &mut Frame<'_>, region: &Region) -> Flow {
        for statement in &region.statements {
            if let Some(result) = self.statement(frame, statement) {
                return Flow::Left(result);
            }
        }
        match &region.end {
            End::Yield(operands) => Flow::On(self.operands(frame, operands)),
            End::Leave(status) => Flow::Left(status.map(|status| self.operand(frame, status))),
        }
    }

    /// Runs a statement; returns the function's result if the function ends here.
    fn statement(&mut self, frame: &mut Frame<'_>, Statement { results, inst }: &Statement) -> Option<Option<u64>> {
        let numbers = match inst {
            Inst::If { truth, then, otherwise } => {
                let taken = if frame.values[*truth] != 0 { then } else { otherwise };
                match self.region(frame, taken) {
                    Flow::On(numbers) => numbers,
                    Flow::Left(result) => return Some(result),
                }
            }
            Inst::Repeat { carried, initial, head, body } => {
                let initial = self.operands(frame, initial);
                self.set(frame, carried, &initial);
                while let Flow::On(truth) = self.region(frame, head)
                    && truth[0] != 0
                {
                    match self.region(frame, body) {
                        Flow::On(next) => self.set(frame, carried, &next),
                        Flow::Left(result) => return Some(result),
                    }
                }
                vec![]
            }
            Inst::LeaveIf { truth, status } if frame.values[*truth] != 0 => {
                return Some(frame.function.signature.result.map(|_| *status as u64));
            }
            Inst::LeaveWith { status } if frame.values[*status] != 0 => return Some(Some(frame.values[*status])),
            Inst::LeaveIf { .. } | Inst::LeaveWith { .. } => vec![],
            Inst::Store { width, value, base, offset } => {
                let bytes = if *width == Width::Cell { 8 } else { self.bytes(*width) };
                let number = self.cut(self.operand(frame, *value), *width);
                self.write(frame.values[*base].wrapping_add_signed((*offset).into()), bytes, number);
                vec![]
            }
            Inst::Call { callee, arguments, signature } => {
                let arguments = self.operands(frame, arguments);
                let callee = match callee {
                    Callee::Pointer(address) => Callee::Pointer(Operand::Number(self.operand(frame, *address))),
                    Callee::KernelAt(address, convention) => Callee::KernelAt(Operand::Number(self.operand(frame, *address)), *convention),
                    known => *known,
                };
                self.calls.push((callee, arguments.clone()));
                let result = (self.answer)(&mut self.memory, callee, &arguments);
                signature.result.iter().map(|_| result).take(results.len()).collect()
            }
            inst => vec![self.compute(frame, inst)],
        };
        self.set(frame, results, &numbers);
        None
    }

    fn compute(&mut self, frame: &Frame<'_>, inst: &Inst) -> u64 {
        match inst {
            Inst::Data { data, offset } => self.data[*data as usize] + offset,
            Inst::Function(number) => FUNCTIONS + u64::from(*number),
            Inst::Memory { bytes } => {
                let start = self.memory.len().next_multiple_of(8);
                // Memory that is not initialized is not 0.
                self.memory.resize(start + *bytes as usize, 0xa5);
                START + start as u64
            }
            Inst::Load { width, base, offset } => self.read(frame.values[*base].wrapping_add_signed((*offset).into()), self.bytes(*width)),
            Inst::Binary { op, a, b } => {
                let (a, b) = self.pair(frame, *a, *b);
                match op {
                    BinaryOp::Add => a.wrapping_add(b),
                    BinaryOp::Sub => a.wrapping_sub(b),
                    BinaryOp::Mul => a.wrapping_mul(b),
                    BinaryOp::Div => a / b,
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                }
            }
            Inst::Compare { op, a, b } => {
                let (a, b) = self.pair(frame, *a, *b);
                u64::from(match op {
                    CompareOp::Equal => a == b,
                    CompareOp::NotEqual => a != b,
                    CompareOp::Less => a < b,
                    CompareOp::Greater => a > b,
                    CompareOp::GreaterOrEqual => a >= b,
                })
            }
            Inst::Select { truth, a, b } => self.operand(frame, if frame.values[*truth] != 0 { *a } else { *b }),
            Inst::Extend { value, .. } => frame.values[*value],
            Inst::Differs { base, offset, bits } => {
                u64::from(self.read(frame.values[*base].wrapping_add_signed((*offset).into()), 8) != *bits)
            }
            other => panic!("{other:?} is no computation"),
        }
    }
}
