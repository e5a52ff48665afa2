//! Merges kernels that differ only in numbers. The merged kernel reads these numbers from memory. A number that is equal in all kernels stays a
//! constant.

use crate::kernel::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// The way in which a machine reads numbers.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Bytes of a number in memory. The number fills a vector, so that an instruction can read it as an operand, without a register.
    pub stored: u32,
    /// `true` if a shift by a loaded count is one instruction.
    pub shifts_by_lane: bool,
}

/// A number of a kernel, which may differ between kernels that are merged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Number {
    lane: Lane,
    bits: u64,
}

/// Lane types of numbers. Each has its own buffer. Wide types come first, so that all buffers are aligned.
const LANES: [Lane; 6] = [Lane::I64, Lane::F64, Lane::I32, Lane::F32, Lane::I16, Lane::I8];

/// Returns the kernel without its name and numbers, and the numbers in the order of the statements. Buffer sizes are left out, too, unless a gather
/// clamps its indices: the statements alone determine which elements are needed.
pub fn outline(kernel: &Kernel, reading: Reading) -> (Kernel, Vec<Number>) {
    let mut outline = kernel.clone();
    let mut numbers = Vec::new();
    let mut clamps = false;
    outline.body.for_each_statement_mut(&mut |statement| {
        clamps |= matches!(statement.inst, Inst::Gather { bounds: Bounds::Clamp, .. });
        let Some(number) = number_of(kernel, statement, reading) else { return };
        numbers.push(number);
        match &mut statement.inst {
            Inst::Constant { bits } => *bits = 0,
            Inst::ShiftConstant { count, .. } => *count = 0,
            _ => {}
        }
    });
    outline.name.clear();
    if !clamps {
        outline.buffers.iter_mut().for_each(|buffer| buffer.elements = 0);
    }
    (outline, numbers)
}

/// Returns the number of a statement, if it can be loaded instead. Index constants cannot: bounds are proven with them. A loaded shift count needs an
/// instruction that only some machines have.
fn number_of(kernel: &Kernel, statement: &Statement, reading: Reading) -> Option<Number> {
    let [result] = statement.results[..] else { return None };
    let ty = kernel.ty(result);
    match statement.inst {
        Inst::Constant { bits } if ty != Type::INDEX && ty.lane != Lane::Mask => Some(Number { lane: ty.lane, bits }),
        Inst::ShiftConstant { count, .. } if ty.lane == Lane::I32 && reading.shifts_by_lane => {
            Some(Number { lane: Lane::I32, bits: count.into() })
        }
        _ => None,
    }
}

/// Places of the numbers that a merged kernel reads. Numbers that are equal to each other in every kernel share a place.
pub struct Slots {
    /// Place of each number of the outline, in the buffer of its lane type. `None` if it stays a constant.
    of_numbers: Vec<Option<usize>>,
    /// Lane types in use, each with one number of the outline for every place.
    places: Vec<(Lane, Vec<usize>)>,
    reading: Reading,
}

impl Slots {
    /// Assigns places for kernels with equal outlines. `members` are these kernels with their numbers.
    pub fn new(members: &[(&Kernel, &[Number])], reading: Reading) -> Self {
        let column = |i: usize| members.iter().map(|(_, numbers)| numbers[i]).collect::<Vec<_>>();
        let mut places = LANES.map(|lane| (lane, Vec::new()));
        let mut known: FxHashMap<Vec<Number>, usize> = FxHashMap::default();
        let of_numbers = (0..members[0].1.len()).map(|i| {
            let column = column(i);
            if column.iter().all(|number| *number == column[0]) {
                return None;
            }
            let (_, list) = places.iter_mut().find(|(lane, _)| *lane == column[0].lane)?;
            let next = list.len();
            let place = *known.entry(column).or_insert(next);
            if place == next {
                list.push(i);
            }
            Some(place)
        });
        let of_numbers = of_numbers.collect();
        let places = places.into_iter().filter(|(_, list)| !list.is_empty()).collect();
        Self { of_numbers, places, reading }
    }

    /// Returns how many numbers are read.
    pub fn len(&self) -> usize {
        self.places.iter().map(|(_, list)| list.len()).sum()
    }

    /// Tests whether all numbers are equal in all kernels.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the byte offset of each buffer in [`Slots::contents`]. These buffers are the last parameters of [`Slots::kernel`].
    pub fn starts(&self) -> Vec<u64> {
        let starts = self.places.iter().scan(0, |offset, (_, list)| {
            let start = *offset;
            *offset += list.len() as u64 * u64::from(self.reading.stored);
            Some(start)
        });
        starts.collect()
    }

    /// Returns the numbers of one kernel as bytes, buffer after buffer.
    pub fn contents(&self, numbers: &[Number]) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        for (lane, list) in &self.places {
            let (size, repeated) = (lane.bytes() as usize, (self.reading.stored / lane.bytes()) as usize);
            bytes.extend(list.iter().flat_map(|&i| numbers[i].bits.to_le_bytes()[..size].repeat(repeated)));
        }
        bytes
    }

    /// Returns the merged kernel, which replaces all members.
    pub fn kernel(&self, members: &[(&Kernel, &[Number])]) -> Kernel {
        let mut kernel = members[0].0.clone();
        // Each buffer gets its smallest size among the members, so that accesses are proven for all. Calls for larger tensors reach further in their
        // own tensors.
        for (i, buffer) in kernel.buffers.iter_mut().enumerate() {
            buffer.elements = members.iter().map(|(member, _)| member.buffers[i].elements).min().unwrap_or(0);
        }
        let mut buffers = FxHashMap::default();
        for (lane, list) in &self.places {
            buffers.insert(*lane, Buffer::new(kernel.buffers.len()));
            let elements = list.len() as u64 * u64::from(self.reading.stored / lane.bytes());
            let (name, kind, alignment) = (format!("numbers_{}", Type::scalar(*lane)), BufferKind::Input, self.reading.stored);
            kernel.buffers.push(BufferData::new(name, kind, *lane, elements, alignment));
        }
        let start = Value::new(kernel.types.len());
        kernel.types.push(Type::INDEX);
        let mut body = std::mem::take(&mut kernel.body);
        let numbers = members[0].1.iter().zip(&self.of_numbers);
        let mut reader = Reader { types: &mut kernel.types, buffers: &buffers, start, stored: self.reading.stored, numbers };
        reader.region(&mut body, &|statement| number_of(members[0].0, statement, self.reading).is_some());
        body.statements.insert(0, Statement { results: smallvec![start], inst: Inst::Constant { bits: 0 } });
        kernel.body = body;
        kernel
    }
}

/// Replaces constants by loads.
struct Reader<'a, N> {
    types: &'a mut Vec<Type>,
    buffers: &'a FxHashMap<Lane, Buffer>,
    /// The index 0.
    start: Value,
    /// Bytes of a place.
    stored: u32,
    /// The remaining numbers, each with its place if it is read.
    numbers: N,
}

impl<'a, N: Iterator<Item = (&'a Number, &'a Option<usize>)>> Reader<'_, N> {
    fn region(&mut self, region: &mut Region, is_number: &impl Fn(&Statement) -> bool) {
        let mut statements = Vec::with_capacity(region.statements.len());
        for mut statement in std::mem::take(&mut region.statements) {
            let number = if is_number(&statement) { self.numbers.next() } else { None };
            if let Some((number, Some(place))) = number {
                let lanes = self.types[statement.results[0].index()].lanes;
                let read = self.read(&mut statements, number.lane, *place, lanes);
                statement.inst = match statement.inst {
                    Inst::ShiftConstant { op, a, .. } => {
                        let b = self.add(&mut statements, Type::vector(number.lane, lanes), read);
                        Inst::Binary { op, a, b }
                    }
                    _ => read,
                };
            }
            for region in statement.inst.regions_mut() {
                self.region(region, is_number);
            }
            statements.push(statement);
        }
        region.statements = statements;
    }

    /// Returns the instruction that yields a number in all lanes. A vector with more lanes than a place is joined from halves.
    fn read(&mut self, statements: &mut Vec<Statement>, lane: Lane, place: usize, lanes: u16) -> Inst {
        let per_place = (self.stored / lane.bytes()) as u16;
        let mut held = lanes.min(per_place);
        let offset = place as i64 * i64::from(per_place);
        let mut inst = Inst::Load { buffer: self.buffers[&lane], index: self.start, offset, active: held, mask: None };
        while held < lanes {
            let half = self.add(statements, Type::vector(lane, held), inst);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelBuilder;
    use crate::kernel::interpret::interpret;
    use crate::kernel::verify::verify;

    /// Builds a kernel: a sum, a product and a shift of eight numbers, with the given constants.
    fn scaled(name: &str, plus: i64, times: i64, shift: u8) -> Kernel {
        let mut b = KernelBuilder::new(name);
        let x = b.buffer("x", BufferKind::Input, Lane::I32, 8, 4);
        let y = b.buffer("y", BufferKind::Output, Lane::I32, 8, 4);
        let ty = Type::vector(Lane::I32, 8);
        let (zero, plus, times, three) = (b.index(0), b.int(ty, plus), b.int(ty, times), b.int(ty, 3));
        let loaded = b.load(x, zero, 0, 8);
        let sum = b.add(loaded, plus);
        let product = b.mul(sum, times);
        let shifted = b.shift(BinaryOp::ShiftRightSigned, product, shift);
        let more = b.add(shifted, three);
        b.store(y, zero, 0, more);
        b.finish()
    }

    fn run(kernel: &Kernel, numbers: &[Vec<u8>]) -> Vec<u8> {
        let x = (1..9).flat_map(|n: i32| (n * 1000 - 4500).to_le_bytes()).collect();
        let mut buffers = vec![x, vec![0; 32]];
        buffers.extend(numbers.iter().cloned());
        assert_eq!(interpret(kernel, &mut buffers, &[]), Ok(0));
        buffers.remove(1)
    }

    #[test]
    fn one_kernel_does_for_all_with_the_numbers_of_each() {
        let reading = Reading { stored: 16, shifts_by_lane: true };
        let kernels = [scaled("a", 5, 7, 2), scaled("b", -9, 7, 4), scaled("c", 100, 7, 0)];
        let outlines: Vec<_> = kernels.iter().map(|kernel| outline(kernel, reading)).collect();
        assert!(outlines.iter().all(|(outline, _)| *outline == outlines[0].0));
        let members: Vec<_> = kernels.iter().zip(&outlines).map(|(kernel, (_, numbers))| (kernel, &numbers[..])).collect();
        let slots = Slots::new(&members, reading);
        assert_eq!((slots.len(), slots.starts()), (2, vec![0]), "the factor and what is added last are constants");
        let one = slots.kernel(&members);
        assert_eq!(verify(&one), Ok(()));
        for (kernel, numbers) in &members {
            assert_eq!(run(&one, &[slots.contents(numbers)]), run(kernel, &[]), "{}", kernel.name);
        }
        // If shift counts cannot be read, kernels with different counts differ.
        let fixed = Reading { shifts_by_lane: false, ..reading };
        assert_ne!(outline(&kernels[0], fixed).0, outline(&kernels[1], fixed).0);
    }
}
