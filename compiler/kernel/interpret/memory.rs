//! Memory of a running kernel: its buffers.

use super::visits::{Access, OfBuffer, Visits};
use super::{ArgumentFault, InterpretError};
use crate::*;
use cranelift_entity::EntityRef;

/// Byte that fills local arrays at first: a NaN as a float, −1 as an integer.
const UNDEFINED: u8 = 0xff;

pub struct Memory<'k, 'b> {
    kernel: &'k Kernel,
    params: &'b mut [Vec<u8>],
    /// The local arrays of each position that runs at the same time.
    locals: Vec<Vec<Vec<u8>>>,
    /// The number of the current position among these.
    slot: usize,
    /// The arrays that a workgroup shares.
    shared: Vec<Vec<u8>>,
    /// The backing of each buffer, by its number.
    places: Vec<Backing>,
    /// Accesses of independent rounds and positions.
    visits: Visits,
}

enum Backing {
    Param(usize),
    Local(usize),
    Shared(usize),
}

impl<'k, 'b> Memory<'k, 'b> {
    /// Checks that the parameters are large enough, and makes the local arrays.
    pub fn new(kernel: &'k Kernel, params: &'b mut [Vec<u8>]) -> Result<Self, InterpretError> {
        let (mut places, mut locals, mut shared, mut count) = (vec![], vec![], vec![], 0);
        for data in &kernel.buffers {
            let bytes = bytes_of(data).ok_or_else(|| wrong(kernel, ArgumentFault::TooLarge(data.name.clone())))?;
            let arrays = match data.kind {
                BufferKind::Local => Some((&mut locals, Backing::Local as fn(usize) -> Backing)),
                BufferKind::Shared => Some((&mut shared, Backing::Shared as fn(usize) -> Backing)),
                _ => None,
            };
            if let Some((arrays, backing)) = arrays {
                places.push(backing(arrays.len()));
                arrays.push(vec![UNDEFINED; bytes]);
                continue;
            }
            match params.get(count) {
                None => return Err(wrong(kernel, ArgumentFault::NoBuffer(data.name.clone()))),
                Some(param) if param.len() < bytes => {
                    let (buffer, given) = (data.name.clone(), param.len());
                    return Err(wrong(kernel, ArgumentFault::Bytes { buffer, given, needed: bytes }));
                }
                Some(_) => places.push(Backing::Param(count)),
            }
            count += 1;
        }
        if params.len() != count {
            return Err(wrong(kernel, ArgumentFault::Buffers { given: params.len(), parameters: count }));
        }
        Ok(Self { kernel, params, locals: vec![locals], slot: 0, shared, places, visits: Visits::new(kernel) })
    }

    /// Starts positions that run at the same time: a workgroup, or a single one. Each has its own local arrays.
    pub fn begin(&mut self, positions: usize) {
        let of_one = self.locals.first().cloned().unwrap_or_default();
        self.locals.resize(positions, of_one);
        let arrays = self.locals.iter_mut().flatten().chain(&mut self.shared);
        arrays.for_each(|array| array.fill(UNDEFINED));
        self.visits.begin_group(positions);
    }

    /// Makes a position the current one. `slot` is its number among those that were started.
    pub fn go_on(&mut self, position: u32, slot: usize) {
        self.slot = slot;
        self.visits.go_on(position, slot);
    }

    /// Starts a loop of independent rounds, of which each has its own copy of some scratch buffers. Returns the visits of these buffers.
    pub fn enter(&mut self, private: &[Buffer]) -> Vec<OfBuffer> {
        self.visits.enter();
        private.iter().map(|&buffer| self.visits.renew(buffer)).collect()
    }

    /// Starts an independent round with its own copy of some buffers.
    pub fn round(&mut self, counter: i64, own: &[Buffer]) {
        self.visits.round(counter);
        for &buffer in own {
            self.visits.renew(buffer);
            self.fill(buffer);
        }
    }

    /// Ends the innermost loop of independent rounds. Its private buffers are undefined from here on, as if the round around had written them.
    pub fn leave(&mut self, private: &[Buffer], shared: Vec<OfBuffer>) -> Result<(), InterpretError> {
        self.visits.leave();
        for (&buffer, visits) in private.iter().zip(shared) {
            self.fill(buffer);
            self.visits.restore(buffer, visits);
            self.meet(buffer, 0, self.kernel.buffer(buffer).elements as usize, Access::Write)?;
        }
        Ok(())
    }

    /// Makes the contents of a buffer undefined.
    fn fill(&mut self, buffer: Buffer) {
        match self.places[buffer.index()] {
            Backing::Param(i) => self.params[i].fill(UNDEFINED),
            Backing::Local(i) => self.locals[self.slot][i].fill(UNDEFINED),
            Backing::Shared(_) => {}
        }
    }

    /// Notes a barrier of the started positions.
    pub fn barrier(&mut self) {
        self.visits.barrier();
    }

    /// Stores the status of a position that fails. Several positions may fail.
    pub fn fail(&mut self, status: i32) {
        if let Some(Backing::Param(i)) = self.kernel.status().map(|status| &self.places[status.index()]) {
            self.params[*i][..4].copy_from_slice(&status.to_le_bytes());
        }
    }

    /// Loads `count` elements from `first` on.
    pub fn load(&mut self, buffer: Buffer, first: i64, count: usize) -> Result<Vec<u64>, InterpretError> {
        let range = self.range(buffer, first, count, "a load")?;
        self.meet(buffer, first, count, Access::Read)?;
        let bytes = match self.places[buffer.index()] {
            Backing::Param(i) => &self.params[i],
            Backing::Local(i) => &self.locals[self.slot][i],
            Backing::Shared(i) => &self.shared[i],
        };
        let width = self.kernel.buffer(buffer).lane.bytes() as usize;
        let element = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        Ok(bytes[range].chunks_exact(width).map(element).collect())
    }

    /// Stores elements from `first` on.
    pub fn store(&mut self, buffer: Buffer, first: i64, lanes: &[u64]) -> Result<(), InterpretError> {
        let data = self.kernel.buffer(buffer);
        if data.kind == BufferKind::Input {
            return Err(InterpretError::ReadOnly { kernel: self.kernel.name.clone(), buffer: data.name.clone() });
        }
        let range = self.range(buffer, first, lanes.len(), "a store")?;
        self.meet(buffer, first, lanes.len(), Access::Write)?;
        let bytes = match self.places[buffer.index()] {
            Backing::Param(i) => &mut self.params[i],
            Backing::Local(i) => &mut self.locals[self.slot][i],
            Backing::Shared(i) => &mut self.shared[i],
        };
        let width = data.lane.bytes() as usize;
        for (chunk, bits) in bytes[range].chunks_exact_mut(width).zip(lanes) {
            chunk.copy_from_slice(&bits.to_le_bytes()[..width]);
        }
        Ok(())
    }

    /// Notes an access inside a buffer.
    fn meet(&mut self, buffer: Buffer, first: i64, count: usize, access: Access) -> Result<(), InterpretError> {
        let elements = first as usize..first as usize + count;
        self.visits.visit(buffer, elements, access).map_err(|race| InterpretError::Race {
            kernel: self.kernel.name.clone(),
            buffer: self.kernel.buffer(buffer).name.clone(),
            race,
        })
    }

    /// Returns the bytes of some elements. An error if an element is outside the buffer.
    fn range(&self, buffer: Buffer, first: i64, count: usize, access: &'static str) -> Result<std::ops::Range<usize>, InterpretError> {
        let data = self.kernel.buffer(buffer);
        let outside = |index| InterpretError::OutOfBounds {
            kernel: self.kernel.name.clone(),
            access,
            buffer: data.name.clone(),
            index,
            elements: data.elements,
        };
        let start = u64::try_from(first).ok().filter(|&start| start < data.elements).ok_or_else(|| outside(first))?;
        if data.elements - start < count as u64 {
            return Err(outside(data.elements as i64));
        }
        let width = data.lane.bytes() as usize;
        let start = start as usize * width;
        Ok(start..start + count * width)
    }
}

fn bytes_of(data: &BufferData) -> Option<usize> {
    usize::try_from(data.elements).ok()?.checked_mul(data.lane.bytes() as usize)
}

fn wrong(kernel: &Kernel, fault: ArgumentFault) -> InterpretError {
    InterpretError::Arguments { kernel: kernel.name.clone(), fault }
}
