//! The area of the device, a mirror of the host's memory without constants. Scratch memory has the same offsets as on the host, so one plan is valid for
//! both.

use crate::kernel::dependence::{Places, apart};
use crate::kernel::{Buffer, BufferData, BufferKind, Kernel};
use crate::machine::OFFSET_ALIGNMENT;
use crate::program::{Address, Call, Method, calls, most_of_each};
use std::ops::Range;

/// Bytes at the start of the device's area for the status of a region.
const STATUS_BYTES: u64 = OFFSET_ALIGNMENT;

/// Gap between two memories of the host, so that ranges of different memories never overlap.
const BETWEEN: u64 = OFFSET_ALIGNMENT;

/// Map from the host's memories to the area of the device.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// The first address of each memory, its offset in the area, and its bytes.
    memories: Vec<(Address, u64, u64)>,
    /// Bytes of the area so far.
    pub bytes: u64,
}

impl Mirror {
    /// Makes the mirror of a program. `methods` and `kernels` are the device's level; its working memory comes after the host's scratch memory. Methods run
    /// one after the other, so they share the area.
    pub fn new(methods: &[&Method], kernels: &[Kernel], variable_bytes: u64) -> Self {
        let mut mirror = Self { memories: vec![], bytes: STATUS_BYTES };
        let working = methods.iter().flat_map(|method| calls(&method.steps)).map(|call| working(kernels, call));
        let scratch = methods.iter().map(|method| method.scratch_bytes);
        mirror.add(Address::Scratch(0), working.chain(scratch).max().unwrap_or(0));
        mirror.add(Address::Variable(0), variable_bytes);
        let most = |sizes: fn(&Method) -> Vec<u64>| most_of_each(methods.iter().map(|method| sizes(method)));
        for (number, bytes) in (0..).zip(most(|method| method.area_bytes.clone())) {
            mirror.add(Address::Area(number, 0), bytes);
        }
        for (number, bytes) in (0..).zip(most(|method| method.inputs.iter().map(|port| port.bytes).collect())) {
            mirror.add(Address::Input(number, 0), bytes);
        }
        for (number, bytes) in (0..).zip(most(|method| method.outputs.iter().map(|port| port.bytes).collect())) {
            mirror.add(Address::Output(number, 0), bytes);
        }
        mirror
    }

    fn add(&mut self, first: Address, bytes: u64) {
        self.memories.push((first, self.bytes, bytes));
        self.bytes = (self.bytes + bytes).next_multiple_of(OFFSET_ALIGNMENT) + BETWEEN;
    }

    /// Returns the offset in the area of a host address. `None` for constants and for addresses that exist only on the device.
    pub fn place(&self, address: Address) -> Option<u64> {
        let (kind, offset) = split(address);
        self.memories.iter().find(|memory| split(memory.0).0 == kind).map(|memory| memory.1 + offset)
    }

    /// Returns the host address of a byte of the area.
    pub fn host(&self, place: u64) -> Option<Address> {
        let memory = self.memories.iter().rev().find(|memory| memory.1 <= place)?;
        Some(memory.0.plus(place - memory.1))
    }

    /// Returns the bytes of the area that are outputs or variables.
    pub fn lasting(&self) -> Vec<Range<u64>> {
        self.memories_of(|address| matches!(address, Address::Output(..) | Address::Variable(_)))
    }

    /// Returns the bytes of the area that are outputs.
    pub fn outputs(&self) -> Vec<Range<u64>> {
        self.memories_of(|address| matches!(address, Address::Output(..)))
    }

    fn memories_of(&self, is_one: impl Fn(Address) -> bool) -> Vec<Range<u64>> {
        self.memories.iter().filter(|memory| is_one(memory.0)).map(|memory| memory.1..memory.1 + memory.2).collect()
    }

    /// Returns the bytes that a kernel call accesses. There is a range for each operand that is not a constant or working memory, and one for each
    /// extent that counts slices.
    pub fn touched(&self, kernel: &Kernel, call: &Call) -> Vec<Touched> {
        let is_extent = |argument: usize| call.bounds.iter().any(|extent| extent.0 == argument);
        let mut list = Vec::new();
        for (argument, ((buffer, data), address)) in kernel.pointer_params().zip(&call.arguments).enumerate() {
            let Some(place) = self.place(*address).filter(|_| data.kind != BufferKind::Scratch) else { continue };
            let bytes = data.bytes() + call.last_block(argument);
            let (reads, writes) = (kernel.reads(buffer), kernel.writes(buffer));
            list.push(Touched { bytes: place..place + bytes, reads, writes, is_extent: is_extent(argument) });
        }
        let extents = call.division.blocks().into_iter().flat_map(|blocks| &blocks.extents).filter_map(|extent| self.place(extent.0));
        list.extend(extents.map(|place| Touched { bytes: place..place + 8, reads: true, writes: false, is_extent: true }));
        list
    }

    /// Returns the places of a call's operands, with a common origin for outputs that overlap. Other operands have separate places: the kernel does not
    /// write inputs, and working memory overlaps nothing.
    pub fn together(&self, kernel: &Kernel, call: &Call) -> Places {
        let mut places = apart(call.arguments.len());
        let mut ranges: Vec<(u64, usize, u64)> = Vec::new();
        for (number, ((_, data), address)) in kernel.pointer_params().zip(&call.arguments).enumerate() {
            if let (BufferKind::Output, Some(start)) = (data.kind, self.place(*address)) {
                ranges.push((start, number, start + data.bytes() + call.last_block(number)));
            }
        }
        ranges.sort_unstable();
        let mut memory = (0, 0, 0);
        for (start, number, end) in ranges {
            let (first, from, to) = memory;
            if start < to {
                places[number] = (first, start - from);
                memory.2 = to.max(end);
            } else {
                memory = (number, start, end);
            }
        }
        places
    }
}

/// Returns the end of a call's working memory; 0 if it has none.
fn working(kernels: &[Kernel], call: &Call) -> u64 {
    let Some(kernel) = kernels.get(call.kernel) else { return 0 };
    let end = |((_, data), address): ((Buffer, &BufferData), &Address)| match address {
        Address::Scratch(offset) if data.kind == BufferKind::Scratch => offset + data.bytes(),
        _ => 0,
    };
    kernel.pointer_params().zip(&call.arguments).map(end).max().unwrap_or(0)
}

/// Bytes of the area that a kernel call accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The range of the bytes.
    pub bytes: Range<u64>,
    /// `true` if the call reads some of them.
    pub reads: bool,
    /// `true` if the call writes some of them.
    pub writes: bool,
    /// `true` if they are a run-time extent.
    pub is_extent: bool,
}

/// Splits an address into its memory (a kind and a number) and the offset there.
fn split(address: Address) -> ((u8, u32), u64) {
    match address {
        // Places do not move if there is a device.
        Address::Scratch(offset) | Address::Moving(_, offset) => ((0, 0), offset),
        Address::Variable(offset) => ((1, 0), offset),
        Address::Input(number, offset) => ((2, number), offset),
        Address::Output(number, offset) => ((3, number), offset),
        Address::Constant(number, offset) => ((4, number), offset),
        Address::Resident(offset) => ((5, 0), offset),
        Address::Area(number, offset) => ((6, number), offset),
    }
}
