//! Pointer parameters of a kernel: its buffers, and the memory that each is bound to.

use super::pair::Pair;
use crate::ir::{Data, Value};
use crate::kernel::{Buffer, BufferKind, KernelBuilder, Lane};
use crate::machine::Alignment;

/// Memory that a kernel's pointer parameter is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A tensor.
    Tensor(Value),
    /// Read-only data made at compile time.
    Data(Data),
    /// A scratch buffer of the requirements, by its number.
    Scratch(usize),
    /// A common buffer of the requirements, by its number.
    Common(usize),
}

/// The pointer parameters of a kernel, in the order of their declaration.
#[derive(Default)]
pub struct Arguments {
    list: Vec<Argument>,
}

/// The elements of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    lane: Lane,
    count: u64,
    /// Alignment in bytes.
    alignment: u32,
}

impl Elements {
    /// Describes elements that are aligned to their own size.
    pub fn new(lane: Lane, count: u64) -> Self {
        Self { lane, count, alignment: lane.bytes() }
    }

    /// Sets the alignment, in bytes.
    #[must_use]
    pub fn aligned(self, alignment: u32) -> Self {
        Self { alignment, ..self }
    }
}

impl Arguments {
    /// Declares a tensor that is read, and that nothing writes while the kernel runs.
    pub fn input(&mut self, b: &mut KernelBuilder, name: impl Into<String>, tensor: Value, elements: Elements) -> Buffer {
        self.declare(b, name.into(), BufferKind::Input, elements, Argument::Tensor(tensor))
    }

    /// Declares a tensor that is written.
    pub fn output(&mut self, b: &mut KernelBuilder, name: impl Into<String>, tensor: Value, elements: Elements) -> Buffer {
        self.declare(b, name.into(), BufferKind::Output, elements, Argument::Tensor(tensor))
    }

    /// Declares a tensor that is read. It is not read-only if it shares memory with a written tensor. `shared` are the pairs that do.
    pub fn operand(
        &mut self,
        b: &mut KernelBuilder,
        name: impl Into<String>,
        tensor: Value,
        elements: Elements,
        shared: &[Pair],
    ) -> Buffer {
        let is_shared = shared.iter().any(|pair| pair.read == tensor);
        if is_shared { self.output(b, name, tensor, elements) } else { self.input(b, name, tensor, elements) }
    }

    /// Declares read-only data, aligned to a number of bytes.
    pub fn data(&mut self, b: &mut KernelBuilder, name: impl Into<String>, data: Data, lane: Lane, alignment: u32) -> Buffer {
        let elements = Elements { lane, count: data.bytes().len() as u64 / u64::from(lane.bytes()), alignment };
        self.declare(b, name.into(), BufferKind::Input, elements, Argument::Data(data))
    }

    /// Declares a scratch buffer of the requirements, by its number, with the planner's alignment.
    pub fn scratch(&mut self, b: &mut KernelBuilder, name: impl Into<String>, number: usize, lane: Lane, count: u64) -> Buffer {
        let elements = Elements { lane, count, alignment: Alignment::LINE.bytes() as u32 };
        self.declare(b, name.into(), BufferKind::Scratch, elements, Argument::Scratch(number))
    }

    /// Declares a common buffer of the requirements, by its number. The kernel either writes it or reads it.
    pub fn common(&mut self, b: &mut KernelBuilder, name: &str, number: usize, kind: BufferKind, lane: Lane, count: u64) -> Buffer {
        let elements = Elements { lane, count, alignment: Alignment::LINE.bytes() as u32 };
        self.declare(b, name.into(), kind, elements, Argument::Common(number))
    }

    fn declare(&mut self, b: &mut KernelBuilder, name: String, kind: BufferKind, elements: Elements, argument: Argument) -> Buffer {
        self.list.push(argument);
        b.buffer(name, kind, elements.lane, elements.count, elements.alignment)
    }

    /// Returns all arguments, in the order of the kernel's buffers.
    pub fn finish(self) -> Vec<Argument> {
        self.list
    }
}

/// A buffer that a copy or a search reads, and the one that it writes.
#[derive(Clone, Copy)]
pub struct Buffers {
    /// The buffer that is read.
    pub input: Buffer,
    /// The buffer that is written.
    pub output: Buffer,
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;

    #[test]
    fn buffers_stand_in_the_order_of_their_arguments() {
        let (mut b, mut arguments) = (KernelBuilder::new("declared"), Arguments::default());
        let [x, y, z] = [1, 2, 3].map(Value::new);
        let shared = [Pair { read: y, written: z }];
        let elements = Elements::new(Lane::I16, 8);
        arguments.operand(&mut b, "x", x, elements, &shared);
        arguments.operand(&mut b, "y", y, elements.aligned(16), &shared);
        arguments.data(&mut b, "numbers", vec![0; 12].into(), Lane::I32, 4);
        arguments.scratch(&mut b, "row", 1, Lane::F32, 5);
        arguments.output(&mut b, "z", z, elements);
        let kernel = b.finish();
        let buffers: Vec<_> = kernel.buffers.iter().map(|each| (&*each.name, each.kind, each.elements, each.alignment)).collect();
        let expected = [
            ("x", BufferKind::Input, 8, 2),
            ("y", BufferKind::Output, 8, 16),
            ("numbers", BufferKind::Input, 3, 4),
            ("row", BufferKind::Scratch, 5, 64),
            ("z", BufferKind::Output, 8, 2),
        ];
        assert_eq!(buffers, expected);
        let tensor = Argument::Tensor;
        assert_eq!(arguments.finish(), [tensor(x), tensor(y), Argument::Data(vec![0; 12].into()), Argument::Scratch(1), tensor(z)]);
    }
}
