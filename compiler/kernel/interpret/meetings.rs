//! Who reads and who writes each element of the buffers that positions share.

use crate::kernel::*;
use cranelift_entity::EntityRef;
use std::ops::Range;

/// What is done to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
}

/// A position, and how many barriers its workgroup has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Visitor {
    position: u32,
    workgroup: u32,
    barriers: u32,
}

impl Visitor {
    /// Whether another position was there at the same time, as far as order between the two is kept.
    fn meets(self, other: Self) -> bool {
        self.position != other.position && (self.workgroup != other.workgroup || self.barriers == other.barriers)
    }
}

/// The positions that have come to an element.
#[derive(Clone, Copy, Default)]
struct Visitors {
    /// The one that wrote it last.
    writer: Option<Visitor>,
    /// Two that read it; a third one tells no more.
    readers: [Option<Visitor>; 2],
}

impl Visitors {
    /// A position comes. Gives the one that it must not meet.
    fn visit(&mut self, visitor: Visitor, access: Access) -> Option<u32> {
        let met = |other: &Visitor| visitor.meets(*other);
        let writer = self.writer.filter(met);
        let found = match access {
            Access::Read => {
                // One before a barrier of the same workgroup is met by nobody any more.
                let is_past =
                    |reader: Option<Visitor>| reader.is_none_or(|reader| reader.workgroup == visitor.workgroup && !visitor.meets(reader));
                if let Some(place) = self.readers.iter_mut().find(|reader| is_past(**reader)) {
                    *place = Some(visitor);
                }
                writer
            }
            Access::Write => {
                let reader = self.readers.iter().flatten().copied().find(met);
                self.writer = Some(visitor);
                writer.or(reader)
            }
        };
        found.map(|other| other.position)
    }
}

/// The visitors of all elements.
pub struct Meetings {
    /// The position that runs.
    visitor: Visitor,
    /// Positions of a workgroup.
    workgroup: u32,
    /// By number of the buffer; empty for those that nothing writes and those that are a position's own.
    visitors: Vec<Vec<Visitors>>,
    /// Buffers of a workgroup.
    shared: Vec<usize>,
}

impl Meetings {
    /// Nobody has come yet. The buffers are known to fit memory.
    pub fn new(kernel: &Kernel) -> Self {
        let is_met = |data: &BufferData| !matches!(data.kind, BufferKind::Input | BufferKind::Local);
        let of_buffer = |data| if is_met(data) { vec![Visitors::default(); data.elements as usize] } else { vec![] };
        let shared = kernel.buffers.iter().enumerate().filter(|(_, data)| data.kind == BufferKind::Shared).map(|(i, _)| i).collect();
        Self {
            visitor: Visitor { position: 0, workgroup: 0, barriers: 0 },
            workgroup: kernel.grid.map_or(1, |grid| grid.workgroup.max(1)),
            visitors: kernel.buffers.iter().map(of_buffer).collect(),
            shared,
        }
    }

    /// Positions of one workgroup begin.
    pub fn begin_group(&mut self) {
        self.visitor.barriers = 0;
        for &buffer in &self.shared {
            self.visitors[buffer].fill(Visitors::default());
        }
    }

    /// A position runs.
    pub fn go_on(&mut self, position: u32) {
        self.visitor.position = position;
        self.visitor.workgroup = position / self.workgroup;
    }

    /// The positions of the workgroup have waited for each other.
    pub fn barrier(&mut self) {
        self.visitor.barriers += 1;
    }

    /// The position comes to some elements. An error is two that meet, and where.
    pub fn meet(&mut self, buffer: Buffer, elements: Range<usize>, access: Access) -> Result<(), ([u32; 2], usize)> {
        let visitors = &mut self.visitors[buffer.index()];
        if visitors.is_empty() {
            return Ok(());
        }
        for element in elements {
            if let Some(other) = visitors[element].visit(self.visitor, access) {
                return Err(([other, self.visitor.position], element));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Access::{Read, Write};
    use super::*;

    /// Visits of positions, two of which are a workgroup, after some barriers.
    fn met(visits: &[(u32, u32, Access)]) -> Option<u32> {
        let mut visitors = Visitors::default();
        let visit = |&(position, barriers, access)| visitors.visit(Visitor { position, workgroup: position / 2, barriers }, access);
        visits.iter().find_map(visit)
    }

    #[test]
    fn one_that_writes_meets_nobody_else() {
        assert_eq!(met(&[(1, 0, Read), (2, 0, Read), (3, 0, Read)]), None);
        assert_eq!(met(&[(1, 0, Read), (1, 0, Write), (1, 0, Read), (1, 0, Write)]), None);
        assert_eq!(met(&[(1, 0, Write), (2, 0, Read)]), Some(1));
        assert_eq!(met(&[(1, 0, Write), (2, 0, Write)]), Some(1));
        assert_eq!(met(&[(1, 0, Read), (2, 0, Write)]), Some(1));
        assert_eq!(met(&[(2, 0, Read), (1, 0, Read), (2, 0, Write)]), Some(1));
    }

    #[test]
    fn a_barrier_is_between_positions_of_a_workgroup() {
        assert_eq!(met(&[(0, 0, Write), (1, 1, Read), (1, 1, Write), (0, 2, Read)]), None);
        assert_eq!(met(&[(0, 0, Write), (1, 0, Read)]), Some(0));
        assert_eq!(met(&[(0, 0, Write), (2, 1, Read)]), Some(0));
        assert_eq!(met(&[(0, 0, Read), (1, 0, Read), (0, 1, Read), (1, 1, Read), (0, 1, Write)]), Some(1));
    }
}
