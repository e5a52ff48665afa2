//! Conversion of a call for slices to one kernel that contains the loop over slices. On the host, the driver has this loop.
//!
//! The kernel takes the arguments of the call, then the extents. Their product is the number of slices.

use crate::kernel::dependence::Places;
use crate::kernel::{BinaryOp, Buffer, BufferData, BufferKind, ConvertOp, Inst, Kernel, Lane, Region, Statement, Type, Value};
use crate::program::{Address, Blocks, Call};
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Returns the arguments of the kernel that computes all slices of a call.
pub fn arguments(call: &Call) -> Vec<Address> {
    call.arguments.iter().copied().chain(extents(call).map(|(address, _)| address)).collect()
}

/// Returns the positions of the arguments that are run-time extents, with their bounds.
pub fn extent_arguments(call: &Call) -> Vec<(usize, [i64; 2])> {
    let of_slices = extents(call).enumerate().map(|(number, (_, interval))| (call.arguments.len() + number, interval));
    call.bounds.iter().copied().chain(of_slices).collect()
}

fn extents(call: &Call) -> impl Iterator<Item = (Address, [i64; 2])> + '_ {
    call.division.blocks().into_iter().flat_map(|blocks| blocks.extents.iter().copied())
}

/// Makes a kernel for all slices from a kernel for one block. `places` says where its pointer parameters are. `None` if the kernel clamps indices to
/// its slice, or if a stride is not a multiple of the element size.
pub fn in_one(kernel: &Kernel, blocks: &Blocks, places: &Places) -> Option<Kernel> {
    let each = are_apart(kernel, blocks, places);
    let mut kernel = kernel.clone();
    let mut strides = FxHashMap::default();
    let params: Vec<Buffer> = kernel.pointer_params().map(|(buffer, _)| buffer).collect();
    for (argument, &buffer) in params.iter().enumerate().filter(|(argument, _)| blocks.strides[*argument] > 0) {
        let (lane, stride) = (u64::from(kernel.buffer(buffer).lane.bytes()), blocks.strides[argument]);
        if !stride.is_multiple_of(lane) || kernel.clamps(buffer) {
            return None;
        }
        kernel.buffers[buffer.index()].elements += blocks.last_block(argument) / lane;
        strides.insert(buffer, (stride / lane) as i64);
    }
    let body = std::mem::take(&mut kernel.body.statements);
    let mut writer = Writer { types: std::mem::take(&mut kernel.types), statements: vec![] };
    let (mut count, zero) = (writer.number(1), writer.number(0));
    for number in 0..blocks.extents.len() {
        let buffer = Buffer::new(kernel.buffers.len());
        let name = format!("extent{number}");
        kernel.buffers.push(BufferData::new(name, BufferKind::Input, Lane::I64, 1, 8));
        let extent = writer.push(Type::INDEX, Inst::Load { buffer, index: zero, offset: 0, active: 1, mask: None });
        count = writer.binary(BinaryOp::Mul, count, extent);
    }
    let (first, left) = match blocks.after {
        Some(size) => {
            let left = writer.binary_with(BinaryOp::UnsignedRem, count, size);
            (Some(writer.binary(BinaryOp::Sub, count, left)), left)
        }
        None => (None, count),
    };
    let end = if blocks.block == 1 { left } else { writer.binary_with(BinaryOp::UnsignedDiv, left, blocks.block) };
    let before = std::mem::take(&mut writer.statements);
    let round = writer.round(body, blocks.block, first, &strides);
    writer.statements = before;
    writer.statements.push(Statement {
        results: smallvec![],
        inst: Inst::For { start: zero, end, step: 1, each, private: vec![], carried: vec![], body: round },
    });
    kernel.body.statements = writer.statements;
    kernel.types = writer.types;
    Some(kernel)
}

/// Tests whether blocks are independent: a buffer that the kernel writes has slices, and all buffers in its memory have the same slices.
fn are_apart(kernel: &Kernel, blocks: &Blocks, places: &Places) -> bool {
    let slices = || places.iter().zip(&blocks.strides);
    kernel.pointer_params().zip(slices()).filter(|((buffer, _), _)| kernel.writes(*buffer)).all(|(_, (place, &stride))| {
        let mut beside = slices().filter(|(other, _)| other.0 == place.0);
        stride > 0 && beside.all(|(other, &of_other)| other == place && of_other == stride)
    })
}

struct Writer {
    types: Vec<Type>,
    statements: Vec<Statement>,
}

impl Writer {
    /// Makes the body of the loop, which computes one block. `first` is the first slice of the loop, 0 if absent.
    fn round(&mut self, body: Vec<Statement>, block: u64, first: Option<Value>, strides: &FxHashMap<Buffer, i64>) -> Region {
        let counter = self.value(Type::INDEX);
        let blocks = if block == 1 { counter } else { self.binary_with(BinaryOp::Mul, counter, block) };
        let slice = first.map_or(blocks, |first| self.binary(BinaryOp::Add, blocks, first));
        let mut buffers: Vec<(Buffer, i64)> = strides.iter().map(|(&buffer, &stride)| (buffer, stride)).collect();
        buffers.sort_unstable();
        let offsets = buffers.into_iter().map(|(buffer, stride)| (buffer, self.binary_with(BinaryOp::Mul, slice, stride as u64))).collect();
        let mut statements = std::mem::take(&mut self.statements);
        statements.extend(self.moved(body, &offsets));
        Region { params: vec![counter], statements, yields: vec![] }
    }

    /// Adds an offset to the indices of all accesses to a buffer, for each buffer in `offsets`.
    fn moved(&mut self, statements: Vec<Statement>, offsets: &FxHashMap<Buffer, Value>) -> Vec<Statement> {
        let mut list = Vec::with_capacity(statements.len());
        for mut statement in statements {
            for inner in statement.inst.regions_mut() {
                inner.statements = self.moved(std::mem::take(&mut inner.statements), offsets);
            }
            let offset = statement.inst.buffer().and_then(|buffer| offsets.get(&buffer));
            if let (Some(&offset), Some((index, _))) = (offset, statement.inst.place_mut()) {
                *index = self.sum(*index, offset);
            }
            list.append(&mut self.statements);
            list.push(statement);
        }
        list
    }

    /// Adds an offset to an index, or to each lane of a vector of indices.
    fn sum(&mut self, index: Value, mut offset: Value) -> Value {
        let ty = self.types[index.index()];
        if ty.lane != Lane::I64 {
            offset = self.push(Type::scalar(ty.lane), Inst::Convert { op: ConvertOp::Wrap, a: offset });
        }
        if ty.lanes > 1 {
            offset = self.push(ty, Inst::Splat { a: offset });
        }
        self.push(ty, Inst::Binary { op: BinaryOp::Add, a: index, b: offset })
    }

    fn value(&mut self, ty: Type) -> Value {
        self.types.push(ty);
        Value::new(self.types.len() - 1)
    }

    fn push(&mut self, ty: Type, inst: Inst) -> Value {
        let result = self.value(ty);
        self.statements.push(Statement { results: smallvec![result], inst });
        result
    }

    fn number(&mut self, number: u64) -> Value {
        self.push(Type::INDEX, Inst::Constant { bits: number })
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.push(Type::INDEX, Inst::Binary { op, a, b })
    }

    fn binary_with(&mut self, op: BinaryOp, a: Value, number: u64) -> Value {
        let b = self.number(number);
        self.binary(op, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::dependence::apart;
    use crate::kernel::interpret::interpret;
    use crate::kernel::text::parse_kernel;
    use crate::kernel::verify::verify;

    /// Runs a kernel that adds 1 to each slice of x, in blocks, and returns its six elements of output.
    fn done(block: u64, after: Option<u64>, extents: [i64; 2]) -> Vec<u8> {
        let text = format!(
            "kernel @k(x: input i8[{block}] align 1, y: output i8[{block}] align 1) {{
              for %0 in 0..{block} step 1 {{ %1: i8 = load x[%0] %2: i8 = add %1, 1 store y[%0], %2 }}
            }}"
        );
        let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let address = |offset| (Address::Scratch(offset), [0, 6]);
        let extents_of = vec![address(0), address(8)];
        let blocks = Blocks { extents: extents_of, most: 6, block, after, strides: vec![1, 1], ranges: None };
        let whole = in_one(&kernel, &blocks, &apart(2)).expect("a kernel");
        assert_eq!(verify(&whole), Ok(()), "{whole}");
        let mut buffers = vec![vec![10, 20, 30, 40, 50, 60], vec![0; 6]];
        buffers.extend(extents.map(|extent| extent.to_le_bytes().to_vec()));
        assert_eq!(interpret(&whole, &mut buffers, &[]), Ok(0), "{whole}");
        buffers.swap_remove(1)
    }

    #[test]
    fn blocks_and_what_is_left_are_done() {
        assert_eq!(done(1, None, [5, 1]), [11, 21, 31, 41, 51, 0]);
        assert_eq!(done(2, None, [5, 1]), [11, 21, 31, 41, 0, 0]);
        assert_eq!(done(1, Some(2), [1, 5]), [0, 0, 0, 0, 51, 0]);
        assert_eq!(done(1, Some(4), [2, 3]), [0, 0, 0, 0, 51, 61]);
        assert_eq!(done(2, None, [0, 4]), [0; 6]);
    }

    #[test]
    fn several_indices_move_together_and_what_clamps_is_refused() {
        let text = |clamp: &str| {
            format!(
                "kernel @k(x: input i32[4] align 4, y: output i32[4] align 4) {{
                   %1: i32x4 = gather x[3: i32x4]{clamp}
                   store y[0], %1
                 }}"
            )
        };
        let extents = vec![(Address::Scratch(0), [0, 3])];
        let blocks = Blocks { extents, most: 3, block: 1, after: None, strides: vec![16, 16], ranges: None };
        let kernel = parse_kernel(&text(" proven")).unwrap_or_else(|error| panic!("{error}"));
        let whole = in_one(&kernel, &blocks, &apart(2)).expect("a kernel");
        let numbers: Vec<u8> = (0..12i32).flat_map(i32::to_le_bytes).collect();
        let mut buffers = vec![numbers, vec![0; 48], 3i64.to_le_bytes().to_vec()];
        assert_eq!(interpret(&whole, &mut buffers, &[]), Ok(0), "{whole}");
        let last: Vec<u8> = buffers[1].chunks(16).map(|row| row[0]).collect();
        assert_eq!(last, [3, 7, 11]);
        let kernel = parse_kernel(&text(" clamp")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(in_one(&kernel, &blocks, &apart(2)), None);
    }

    #[test]
    fn blocks_are_independent_if_what_they_write_has_slices_of_its_own() {
        let kernel = parse_kernel(
            "kernel @k(x: output i32[4] align 4, y: output i32[4] align 4, t: scratch i32[4] align 4) {
               %1: i32x4 = load x[0]
               store y[0], %1
             }",
        )
        .expect("a kernel");
        let blocks = |strides: [u64; 3]| Blocks {
            extents: vec![(Address::Scratch(0), [0, 3])],
            most: 3,
            block: 1,
            after: None,
            strides: strides.to_vec(),
            ranges: None,
        };
        let of = |strides: [u64; 3], places: Places| {
            let whole = in_one(&kernel, &blocks(strides), &places).expect("a kernel");
            assert_eq!(verify(&whole), Ok(()), "{whole}");
            whole.to_string().contains("for each")
        };
        let memories = |x: (usize, u64), y: (usize, u64)| vec![x, y, (2, 0)];
        assert!(of([16, 16, 0], apart(3)), "the scratch memory is not written");
        assert!(of([0, 16, 0], apart(3)) && !of([16, 0, 0], apart(3)));
        assert!(of([16, 16, 0], memories((0, 0), (0, 0))), "each slice takes the place of its operand");
        assert!(!of([16, 16, 0], memories((0, 0), (0, 16))) && !of([0, 16, 0], memories((0, 0), (0, 0))));
    }
}
