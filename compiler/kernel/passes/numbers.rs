//! Merges kernels that differ only in numbers. The merged kernel reads these numbers from memory. A number that is equal in all kernels stays a
//! constant.

mod number;
mod reader;

use crate::*;
use cranelift_entity::EntityRef;
use number::Store;
pub use number::{Number, Reading};
use reader::NumbersReader;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Lane types of numbers. Wide types come first, so that all buffers are aligned.
const LANES: [Lane; 6] = [Lane::I64, Lane::F64, Lane::I32, Lane::F32, Lane::I16, Lane::I8];

/// Returns the kernel without its name and numbers, and the numbers in the order of the statements. Buffer sizes are left out, too, unless a gather
/// clamps its indices: the statements alone determine which elements are needed. If indices are numbers, a buffer that is only read equals one that
/// is written. A merged kernel may overwrite its input for some members.
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
            inst => {
                if let Some((_, offset)) = inst.place_mut() {
                    *offset = 0;
                }
            }
        }
    });
    outline.name.clear();
    for buffer in &mut outline.buffers {
        if !clamps {
            buffer.elements = 0;
        }
        if reading.indices && buffer.kind == BufferKind::Input {
            buffer.kind = BufferKind::Output;
        }
    }
    (outline, numbers)
}

/// Returns the number of a statement, if it can be loaded instead. Indices can if the merged kernel is proven for each member. A loaded shift count
/// needs an instruction that only some machines have.
fn number_of(kernel: &Kernel, statement: &Statement, reading: Reading) -> Option<Number> {
    let index = |number: i64| {
        let fits = reading.indices && i32::try_from(number).is_ok();
        fits.then_some(Number { lane: Lane::I32, bits: u64::from(number as u32), is_index: true })
    };
    if let Inst::Load { offset, .. } | Inst::LoadSplat { offset, .. } | Inst::LoadSplatGroup { offset, .. } | Inst::Store { offset, .. } =
        statement.inst
    {
        return index(offset);
    }
    let [result] = statement.results[..] else { return None };
    let ty = kernel.ty(result);
    if let Inst::Constant { bits } = statement.inst
        && ty == Type::INDEX
    {
        return index(bits.cast_signed());
    }
    match statement.inst {
        Inst::Constant { bits } if ty.lane != Lane::Mask => Some(Number { lane: ty.lane, bits, is_index: false }),
        Inst::ShiftConstant { count, .. } if ty.lane == Lane::I32 && reading.shifts_by_lane => {
            Some(Number { lane: Lane::I32, bits: count.into(), is_index: false })
        }
        _ => None,
    }
}

/// Places of the numbers that a merged kernel reads. Numbers that are equal to each other in every kernel share a place.
pub struct Slots {
    /// Place of each number of the outline, in the buffer of its lane type. `None` if it stays a constant.
    of_numbers: Vec<Option<usize>>,
    /// Buffers of numbers, each with one number of the outline for every place.
    places: Vec<(Store, Vec<usize>)>,
    reading: Reading,
}

impl Slots {
    /// Assigns places for kernels with equal outlines. `members` are these kernels with their numbers.
    pub fn new(members: &[(&Kernel, &[Number])], reading: Reading) -> Self {
        let column = |i: usize| members.iter().map(|(_, numbers)| numbers[i]).collect::<Vec<_>>();
        let mut stores: Vec<Store> = LANES.iter().map(|&lane| reading.store(lane, false)).collect();
        if !stores.contains(&reading.store(Lane::I32, true)) {
            stores.push(reading.store(Lane::I32, true));
        }
        let mut places: Vec<(Store, Vec<usize>)> = stores.into_iter().map(|store| (store, vec![])).collect();
        let mut known: FxHashMap<(Store, Vec<u64>), usize> = FxHashMap::default();
        let of_numbers = (0..members[0].1.len()).map(|i| {
            let column = column(i);
            if column.iter().all(|number| *number == column[0]) {
                return None;
            }
            let wanted = reading.store(column[0].lane, column[0].is_index);
            let (_, list) = places.iter_mut().find(|(store, _)| *store == wanted)?;
            let next = list.len();
            let place = *known.entry((wanted, column.iter().map(|number| number.bits).collect())).or_insert(next);
            if place == next {
                list.push(i);
            }
            Some(place)
        });
        let of_numbers = of_numbers.collect();
        let places = places.into_iter().filter(|(_, list)| !list.is_empty()).collect();
        Self { of_numbers, places, reading }
    }

    /// Returns the bytes of all numbers of a member.
    pub fn bytes(&self) -> usize {
        self.places.iter().map(|(store, list)| list.len() * store.bytes as usize).sum()
    }

    /// Tests whether accesses of the merged kernel are proven for all members. With indices that it reads, they are proven for each member. Without
    /// them, all members must write the same buffers.
    pub fn are_proven(&self, members: &[(&Kernel, &[Number])]) -> bool {
        let kinds = |kernel: &Kernel| kernel.buffers.iter().map(|data| data.kind).collect::<Vec<_>>();
        self.has_indices() || members.iter().all(|(member, _)| kinds(member) == kinds(members[0].0))
    }

    /// Tests whether the merged kernel reads indices.
    fn has_indices(&self) -> bool {
        self.reading.indices && self.places.iter().any(|(store, _)| *store == self.reading.store(Lane::I32, true))
    }

    /// Tests whether all numbers are equal in all kernels.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the byte offset of each buffer in [`Slots::contents`]. These buffers are the last parameters of [`Slots::kernel`].
    pub fn starts(&self) -> Vec<u64> {
        let starts = self.places.iter().scan(0, |offset, (store, list)| {
            let start = *offset;
            *offset += list.len() as u64 * u64::from(store.bytes);
            Some(start)
        });
        starts.collect()
    }

    /// Returns the numbers of one kernel as bytes, buffer after buffer.
    pub fn contents(&self, numbers: &[Number]) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        for (store, list) in &self.places {
            let size = store.lane.bytes() as usize;
            bytes.extend(list.iter().flat_map(|&i| numbers[i].bits.to_le_bytes()[..size].repeat(store.elements() as usize)));
        }
        bytes
    }

    /// Returns the merged kernel, which replaces all members.
    pub fn kernel(&self, members: &[(&Kernel, &[Number])]) -> Kernel {
        let mut kernel = members[0].0.clone();
        let own = kernel.buffers.len();
        // Without read indices, all members access the same elements. They are proven for the smallest size of a buffer, and calls for larger tensors
        // reach further in their own tensors.
        for (i, buffer) in kernel.buffers.iter_mut().enumerate() {
            let all = || members.iter().map(|(member, _)| &member.buffers[i]);
            buffer.elements = if self.reading.indices { common_length(all()) } else { all().map(|data| data.elements).min().unwrap_or(0) };
            if all().any(|data| data.kind == BufferKind::Output) {
                buffer.kind = BufferKind::Output;
            }
        }
        let mut buffers = FxHashMap::default();
        for (store, list) in &self.places {
            buffers.insert(*store, Buffer::new(kernel.buffers.len()));
            let elements = list.len() as u64 * u64::from(store.elements());
            let (name, kind) = (format!("numbers_{}", Type::scalar(store.lane)), BufferKind::Input);
            kernel.buffers.push(BufferData::new(name, kind, store.lane, elements, store.bytes));
        }
        let start = Value::new(kernel.types.len());
        kernel.types.push(Type::INDEX);
        let mut body = std::mem::take(&mut kernel.body);
        let numbers = members[0].1.iter().zip(&self.of_numbers);
        let mut reader = NumbersReader { types: &mut kernel.types, buffers: &buffers, start, reading: self.reading, numbers };
        reader.region(&mut body, &|statement| number_of(members[0].0, statement, self.reading).is_some());
        body.statements.insert(0, Statement { results: smallvec![start], inst: Inst::Constant { bits: 0 } });
        kernel.body = body;
        let store = self.reading.store(Lane::I32, true);
        if let Some(&buffer) = buffers.get(&store).filter(|_| self.reading.indices) {
            let list = members.iter().map(|(member, numbers)| self.member(store, member.buffers[..own].to_vec(), numbers)).collect();
            kernel.proof = Proof::Members(Members { buffer, list });
        }
        kernel
    }

    /// Returns a member of a merged kernel that reads indices from a store.
    fn member(&self, store: Store, buffers: Vec<BufferData>, numbers: &[Number]) -> Member {
        let list = self.places.iter().filter(|(known, _)| *known == store).flat_map(|(_, list)| list);
        Member { numbers: list.map(|&i| numbers[i].bits as i32).collect(), buffers }
    }
}

/// Returns the length of a buffer of a merged kernel that reads indices. A parameter gets the length of a member, so that accesses at places that all
/// members have are proven. It is the smallest of those that are no whole words, if there are such: code reads words where all of a buffer is words.
/// An array of the kernel gets its largest length.
fn common_length<'b>(all: impl Iterator<Item = &'b BufferData>) -> u64 {
    let shortest = |data: &&BufferData| (data.bytes().is_multiple_of(4), data.elements);
    let mut all = all.peekable();
    let found = match all.peek().is_some_and(|data| data.kind.is_parameter()) {
        true => all.min_by_key(shortest),
        false => all.max_by_key(|data| data.elements),
    };
    found.map_or(0, |data| data.elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelBuilder;
    use crate::interpret::interpret;
    use crate::verify::verify;

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
        let reading = Reading { stored: 16, shifts_by_lane: true, indices: false };
        let kernels = [scaled("a", 5, 7, 2), scaled("b", -9, 7, 4), scaled("c", 100, 7, 0)];
        let outlines: Vec<_> = kernels.iter().map(|kernel| outline(kernel, reading)).collect();
        assert!(outlines.iter().all(|(outline, _)| *outline == outlines[0].0));
        let members: Vec<_> = kernels.iter().zip(&outlines).map(|(kernel, (_, numbers))| (kernel, &numbers[..])).collect();
        let slots = Slots::new(&members, reading);
        assert_eq!((slots.bytes(), slots.starts()), (32, vec![0]), "the factor and what is added last are constants");
        let one = slots.kernel(&members);
        assert_eq!(verify(&one), Ok(()));
        for (kernel, numbers) in &members {
            assert_eq!(run(&one, &[slots.contents(numbers)]), run(kernel, &[]), "{}", kernel.name);
        }
        // If shift counts cannot be read, kernels with different counts differ.
        let fixed = Reading { shifts_by_lane: false, ..reading };
        assert_ne!(outline(&kernels[0], fixed).0, outline(&kernels[1], fixed).0);
    }

    /// Builds a kernel that copies every second row of `columns` words, from a word on. If it is in place, its input is written.
    fn rows(name: &str, [rows, columns, from]: [u64; 3], in_place: bool) -> Kernel {
        let mut b = KernelBuilder::new(name);
        let kind = if in_place { BufferKind::Output } else { BufferKind::Input };
        let x = b.buffer("x", kind, Lane::I32, 2 * rows * columns + from, 4);
        let y = b.buffer("y", BufferKind::Output, Lane::I32, rows * columns, 4);
        b.for_range(0, rows as i64, 1, |b, row| {
            let (begin, to) = (b.scale_index(row, 2 * columns as i64, 0), b.scale_index(row, columns as i64, 0));
            b.for_range(0, columns as i64, 1, |b, column| {
                let (place, to) = (b.add(begin, column), b.add(to, column));
                let loaded = b.load(x, place, from as i64, 1);
                b.store(y, to, 0, loaded);
            });
        });
        b.finish()
    }

    #[test]
    fn bounds_strides_and_offsets_are_numbers_and_every_member_is_proven() {
        for stored in [4, 16] {
            let reading = Reading { stored, shifts_by_lane: true, indices: true };
            let shapes = [[3, 5, 1], [2, 7, 3], [4, 2, 0]];
            let kernels: Vec<Kernel> = shapes.iter().enumerate().map(|(i, &shape)| rows(&format!("k{i}"), shape, i == 1)).collect();
            let outlines: Vec<_> = kernels.iter().map(|kernel| outline(kernel, reading)).collect();
            assert!(outlines.iter().all(|(outline, _)| *outline == outlines[0].0));
            let members: Vec<_> = kernels.iter().zip(&outlines).map(|(kernel, (_, numbers))| (kernel, &numbers[..])).collect();
            let slots = Slots::new(&members, reading);
            let one = slots.kernel(&members);
            assert_eq!(verify(&one), Ok(()));
            assert_eq!(one.buffers[0].kind, BufferKind::Output);
            for (kernel, numbers) in &members {
                let x: Vec<u8> = (0..kernel.buffers[0].elements as i32).flat_map(|n| (n * 77).to_le_bytes()).collect();
                let run = |kernel: &Kernel, numbers: Option<Vec<u8>>| {
                    let mut buffers = vec![x.clone(), vec![0; kernel.buffers[1].bytes() as usize]];
                    buffers.extend(numbers);
                    assert_eq!(interpret(kernel, &mut buffers, &[]), Ok(0));
                    buffers.remove(1)
                };
                let mut of_member = Kernel { buffers: kernel.buffers.clone(), ..one.clone() };
                of_member.buffers.push(one.buffers[2].clone());
                assert_eq!(run(&of_member, Some(slots.contents(numbers))), run(kernel, None), "{}", kernel.name);
            }
            // The proof holds for the members only: a longer row leaves the second kernel's buffer.
            let mut wrong = one;
            if let Proof::Members(members) = &mut wrong.proof {
                members.list[1].numbers.iter_mut().filter(|number| **number == 7).for_each(|number| *number = 8);
            }
            assert!(verify(&wrong).is_err());
        }
    }
}
