//! Counts of workgroups that depend on run-time extents. A region with such dispatches begins with a dispatch of one position that computes the counts.

use super::joined::Operand;
use super::mirror::Mirror;
use crate::kernel::intervals::{Assumed, Interval};
use crate::kernel::passes::grid::Launch;
use crate::kernel::passes::{COMMON, DEAD, narrow};
use crate::kernel::{Buffer, BufferData, BufferKind, Grid, Inst, Kernel, Lane, Region, Type, Value};
use crate::program::{Address, DeviceMemory, Dispatch};
use cranelift_entity::EntityRef;

/// Bytes of a count.
const BYTES: u64 = Dispatch::COUNT_BYTES;

/// Computation of a count from run-time extents that are arguments of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    /// A kernel of one position. It loads the extents and stores the count to its last operand.
    kernel: Kernel,
    /// The positions of the extents among the call's arguments.
    arguments: Vec<usize>,
}

impl Count {
    /// Makes the count of a launch of a call. `extents` are the arguments that are run-time extents, with their bounds. `None` if the launch has no count, if
    /// it depends on other arguments, or if its computation needs 64 bits.
    pub fn new(launch: &Launch, extents: &[(usize, [i64; 2])]) -> Option<Self> {
        let (mut kernel, arguments) = launch.counts.as_ref()?.kernel(launch.kernel.grid.as_ref()?);
        let mut elements = std::collections::BTreeMap::new();
        for (number, argument) in arguments.iter().enumerate() {
            let &(_, [low, high]) = extents.iter().find(|extent| extent.0 == *argument)?;
            elements.insert(number, Interval { low, high });
            kernel.buffers[number].name = "extent".into();
        }
        let kernel = narrow(&kernel, &Assumed { parameters: vec![Interval::number(0)], elements });
        let is_wide = |ty: &Type| ty.lane == Lane::I64;
        let defined = kernel.statements().flat_map(|statement| &statement.results);
        let fits = !defined.into_iter().any(|&value| is_wide(&kernel.ty(value)));
        fits.then_some(Self { kernel, arguments })
    }
}

/// The distinct counts of a program, one after the other in the area.
#[derive(Clone, Debug)]
pub struct Counts {
    /// The offset of the first count.
    start: u64,
    /// The kernel of each count, and the offsets of its extents.
    list: Vec<(Kernel, Vec<u64>)>,
}

impl Counts {
    /// Makes an empty list. `start` is the offset of the first count in the area.
    pub fn from(start: u64) -> Self {
        Self { start, list: vec![] }
    }

    /// Returns the end of the last count.
    pub fn end(&self) -> u64 {
        self.start + BYTES * self.list.len() as u64
    }

    /// Returns the offset of a count, and adds it if it is new. `None` if an extent is not in the area.
    pub fn place(&mut self, count: &Count, arguments: &[Address], mirror: &Mirror) -> Option<u64> {
        let places = count.arguments.iter().map(|&argument| mirror.place(arguments[argument])).collect::<Option<Vec<u64>>>()?;
        let is_same = |(kernel, at): &(Kernel, Vec<u64>)| *kernel == count.kernel && *at == places;
        let number = self.list.iter().position(is_same).unwrap_or_else(|| {
            self.list.push((count.kernel.clone(), places));
            self.list.len() - 1
        });
        Some(self.start + BYTES * number as u64)
    }

    /// Makes a kernel that computes all counts at given offsets, and its operands. The offsets must be sorted. `None` if there are none.
    pub fn kernel(&self, places: &[u64]) -> Option<(Kernel, Vec<Operand>)> {
        let (&first, &last) = (places.first()?, places.last()?);
        let grid = Some(Grid { positions: 1, workgroup: 1 });
        let mut all = Kernel { name: "counts".into(), integers: 1, grid, types: vec![POSITION], ..Kernel::default() };
        all.body.params = vec![Value::new(0)];
        let mut extents: Vec<u64> = places.iter().flat_map(|&place| &self.of(place).1).copied().collect();
        extents.sort_unstable();
        extents.dedup();
        let buffer = |name: &str, kind, elements| BufferData::new(name, kind, Lane::I32, elements, 4);
        all.buffers = extents.iter().map(|_| buffer("extent", BufferKind::Input, 1)).collect();
        all.buffers.push(buffer("counts", BufferKind::Output, (last + BYTES - first) / 4));
        for &place in places {
            let (kernel, at) = self.of(place);
            let extent = |place: &u64| Buffer::new(extents.partition_point(|known| known < place));
            let buffers: Vec<Buffer> = at.iter().map(extent).chain([Buffer::new(extents.len())]).collect();
            append(&mut all, kernel, &buffers, (place - first) / 4);
        }
        for pass in [COMMON, DEAD] {
            (pass.run)(&mut all);
        }
        let operand =
            |start, bytes, is_written| Operand { memory: DeviceMemory::Area, start, end: start + bytes, is_written, begins: false };
        let mut operands: Vec<Operand> = extents.iter().map(|&place| operand(place, 4, false)).collect();
        operands.push(operand(first, last + BYTES - first, true));
        Some((all, operands))
    }

    fn of(&self, place: u64) -> &(Kernel, Vec<u64>) {
        &self.list[((place - self.start) / BYTES) as usize]
    }
}

/// The type of a position.
const POSITION: Type = Type::scalar(Lane::I32);

/// Appends the statements of a kernel of one position to another one. `buffers` replace its buffers, and its stores move by `words`.
fn append(all: &mut Kernel, kernel: &Kernel, buffers: &[Buffer], words: u64) {
    let first = all.types.len();
    let position = kernel.body.params[0];
    // Both kernels have one parameter, the position.
    let name = |value: Value| if value == position { Value::new(0) } else { Value::new(first + value.index()) };
    all.types.extend(&kernel.types);
    let Region { statements, .. } = kernel.body.clone();
    for mut statement in statements {
        statement.results.iter_mut().for_each(|result| *result = name(*result));
        statement.inst.operands_mut().into_iter().for_each(|operand| *operand = name(*operand));
        if let Some(buffer) = statement.inst.buffer_mut() {
            *buffer = buffers[buffer.index()];
        }
        if let Inst::Store { offset, .. } = &mut statement.inst {
            *offset += words as i64;
        }
        all.body.statements.push(statement);
    }
}
