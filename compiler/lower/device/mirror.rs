//! The area of the device: every byte of the host that a kernel may touch, but constants, has one there. Scratch memory lies as on the host, so
//! that one plan holds for both.

use crate::kernel::passes::grid::{self, Places};
use crate::kernel::{Buffer, BufferData, BufferKind, Kernel};
use crate::machine::OFFSET_ALIGNMENT;
use crate::program::{Address, Call, Method, calls, most_of_each};
use std::ops::Range;

/// Bytes at the start of the device's area for the status of a region.
const STATUS_BYTES: u64 = OFFSET_ALIGNMENT;

/// Bytes between two memories of the host. Ranges of two never touch each other.
const BETWEEN: u64 = OFFSET_ALIGNMENT;

/// Places of the host's memory in the area of the device.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// The first byte of each, where it is in the area, and how long it is.
    memories: Vec<(Address, u64, u64)>,
    /// Bytes of the area.
    pub bytes: u64,
}

impl Mirror {
    /// That of a program of some methods, which run one after another, and of this many bytes of variables. The methods are as the device's machine
    /// does them, by kernels whose working memory comes after the scratch memory of the host.
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

    /// The place of an address of the host; none for addresses of constants, and of what the host does not have.
    pub fn place(&self, address: Address) -> Option<u64> {
        let (kind, offset) = split(address);
        self.memories.iter().find(|memory| split(memory.0).0 == kind).map(|memory| memory.1 + offset)
    }

    /// The address of the host whose place is a byte of the area.
    pub fn host(&self, place: u64) -> Option<Address> {
        let memory = self.memories.iter().rev().find(|memory| memory.1 <= place)?;
        Some(memory.0.plus(place - memory.1))
    }

    /// The bytes of the area that are the outputs of methods, and those that are variables.
    pub fn lasting(&self) -> Vec<Range<u64>> {
        self.memories_of(|address| matches!(address, Address::Output(..) | Address::Variable(_)))
    }

    /// The bytes of the area that are the outputs of methods.
    pub fn outputs(&self) -> Vec<Range<u64>> {
        self.memories_of(|address| matches!(address, Address::Output(..)))
    }

    fn memories_of(&self, is_one: impl Fn(Address) -> bool) -> Vec<Range<u64>> {
        self.memories.iter().filter(|memory| is_one(memory.0)).map(|memory| memory.1..memory.1 + memory.2).collect()
    }

    /// The bytes that a kernel call touches: a range a pointer parameter that is no constant, and one an extent whose slices it counts.
    pub fn touched(&self, kernel: &Kernel, call: &Call) -> Vec<Touched> {
        let is_extent = |argument: usize| call.extents.iter().any(|extent| extent.0 == argument);
        let mut list = Vec::new();
        for (argument, ((buffer, data), address)) in kernel.pointer_params().zip(&call.arguments).enumerate() {
            let Some(place) = self.place(*address).filter(|_| data.kind != BufferKind::Scratch) else { continue };
            let bytes = data.bytes() + call.last_block(argument);
            let (reads, writes) = (kernel.reads(buffer), kernel.writes(buffer));
            list.push(Touched { bytes: place..place + bytes, reads, writes, is_extent: is_extent(argument) });
        }
        let extents = call.slices.iter().flat_map(|slices| &slices.extents).filter_map(|extent| self.place(extent.0));
        list.extend(extents.map(|place| Touched { bytes: place..place + 8, reads: true, writes: false, is_extent: true }));
        list
    }

    /// Operands of a call that overlap, of those that its kernel may write or that lie where it writes. Working memory is where nothing else is.
    pub fn together(&self, kernel: &Kernel, call: &Call) -> Places {
        let mut places = grid::apart(call.arguments.len());
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

/// The end of a call's working memory.
fn working(kernels: &[Kernel], call: &Call) -> u64 {
    let Some(kernel) = kernels.get(call.kernel) else { return 0 };
    let end = |((_, data), address): ((Buffer, &BufferData), &Address)| match address {
        Address::Scratch(offset) if data.kind == BufferKind::Scratch => offset + data.bytes(),
        _ => 0,
    };
    kernel.pointer_params().zip(&call.arguments).map(end).max().unwrap_or(0)
}

/// Bytes of the area that a kernel call touches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    /// From where to where.
    pub bytes: Range<u64>,
    /// True if it reads some of them.
    pub reads: bool,
    /// True if it writes some of them.
    pub writes: bool,
    /// True if they are a run-time extent.
    pub is_extent: bool,
}

/// Whose memory an address is of, with the number of the port, and the offset.
fn split(address: Address) -> ((u8, u32), u64) {
    match address {
        // Nothing moves where a device works.
        Address::Scratch(offset) | Address::Moving(_, offset) => ((0, 0), offset),
        Address::Variable(offset) => ((1, 0), offset),
        Address::Input(number, offset) => ((2, number), offset),
        Address::Output(number, offset) => ((3, number), offset),
        Address::Constant(number, offset) => ((4, number), offset),
        Address::Resident(offset) => ((5, 0), offset),
        Address::Area(number, offset) => ((6, number), offset),
    }
}
