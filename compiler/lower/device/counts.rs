//! Workgroups that run-time extents tell: each region that has dispatches with such counts begins with one of a single position, which computes them.

use super::joined::Operand;
use super::mirror::Mirror;
use crate::kernel::intervals::{Assumed, Interval};
use crate::kernel::passes::grid::Stage;
use crate::kernel::passes::{COMMON, DEAD, narrow};
use crate::kernel::{Buffer, BufferData, BufferKind, Grid, Inst, Kernel, Lane, Region, Type, Value};
use crate::program::{Address, DeviceMemory, Dispatch};
use cranelift_entity::EntityRef;

/// Bytes of the words of a count.
const BYTES: u64 = Dispatch::COUNT_BYTES;

/// A kernel that computes a count from arguments of a call that are extents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    /// A kernel of a single position. It loads extents and stores the count, its last operand.
    kernel: Kernel,
    /// The arguments that are the extents.
    arguments: Vec<usize>,
}

impl Count {
    /// That of a stage of a call, some of whose arguments are extents between two numbers. None where it does not follow from these.
    pub fn new(stage: &Stage, extents: &[(usize, [i64; 2])]) -> Option<Self> {
        let (mut kernel, arguments) = stage.counts.as_ref()?.kernel(stage.kernel.grid.as_ref()?);
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

/// The distinct counts of a program, one after another in the area.
#[derive(Clone, Debug)]
pub struct Counts {
    /// The place of the first.
    start: u64,
    /// The kernel that computes each, and the places of the extents.
    list: Vec<(Kernel, Vec<u64>)>,
}

impl Counts {
    /// None yet; the first is to be at a byte of the area.
    pub fn from(start: u64) -> Self {
        Self { start, list: vec![] }
    }

    /// The end of the last.
    pub fn end(&self) -> u64 {
        self.start + BYTES * self.list.len() as u64
    }

    /// The place of the words of a count. None if an argument is not in the area.
    pub fn place(&mut self, count: &Count, arguments: &[Address], mirror: &Mirror) -> Option<u64> {
        let places = count.arguments.iter().map(|&argument| mirror.place(arguments[argument])).collect::<Option<Vec<u64>>>()?;
        let is_same = |(kernel, at): &(Kernel, Vec<u64>)| *kernel == count.kernel && *at == places;
        let number = self.list.iter().position(is_same).unwrap_or_else(|| {
            self.list.push((count.kernel.clone(), places));
            self.list.len() - 1
        });
        Some(self.start + BYTES * number as u64)
    }

    /// The kernel that computes all counts at some places, which are in order, and its operands. None where there are no places.
    pub fn kernel(&self, places: &[u64]) -> Option<(Kernel, Vec<Operand>)> {
        let (&first, &last) = (places.first()?, places.last()?);
        let grid = Some(Grid { positions: 1, workgroup: 1 });
        let mut all = Kernel { name: "counts".into(), integers: 1, grid, types: vec![POSITION], ..Kernel::default() };
        all.body.params = vec![Value::new(0)];
        let mut extents: Vec<u64> = places.iter().flat_map(|&place| &self.of(place).1).copied().collect();
        extents.sort_unstable();
        extents.dedup();
        let buffer = |name: &str, kind, elements| BufferData { name: name.into(), kind, lane: Lane::I32, elements, alignment: 4 };
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

/// The type of the one position.
const POSITION: Type = Type::scalar(Lane::I32);

/// Adds what a kernel of one position does to another one, on these buffers. What it stores is as many words further on.
fn append(all: &mut Kernel, kernel: &Kernel, buffers: &[Buffer], words: u64) {
    let first = all.types.len();
    let position = kernel.body.params[0];
    // Both have the same position.
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
