//! Detection of races between positions: the accesses to each element of the buffers that positions share.

use crate::*;
use cranelift_entity::EntityRef;
use std::ops::Range;

/// Access to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
}

/// A position with the number of barriers that its workgroup has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Visitor {
    position: u32,
    workgroup: u32,
    barriers: u32,
}

impl Visitor {
    /// Tests whether accesses of two positions are not ordered: no barrier of a common workgroup is between them.
    fn meets(self, other: Self) -> bool {
        self.position != other.position && (self.workgroup != other.workgroup || self.barriers == other.barriers)
    }
}

/// The positions that have accessed an element.
#[derive(Clone, Copy, Default)]
struct Visitors {
    /// The position that wrote it last.
    writer: Option<Visitor>,
    /// Two positions that read it. More are not needed to find a race.
    readers: [Option<Visitor>; 2],
}

impl Visitors {
    /// Notes an access of a position. Returns another position if the two accesses are a race.
    fn visit(&mut self, visitor: Visitor, access: Access) -> Option<u32> {
        let met = |other: &Visitor| visitor.meets(*other);
        let writer = self.writer.filter(met);
        let found = match access {
            Access::Read => {
                // A reader before a barrier of the same workgroup can be replaced: it cannot race any more.
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
    /// The current position.
    visitor: Visitor,
    /// The number of positions of a workgroup.
    workgroup: u32,
    /// The visitors of each element, by buffer. Empty for buffers that are only read or belong to one position.
    visitors: Vec<Vec<Visitors>>,
    /// The buffers that a workgroup shares.
    shared: Vec<usize>,
}

impl Meetings {
    /// Makes a state without accesses. The buffers must fit memory.
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

    /// Starts the positions of a workgroup.
    pub fn begin_group(&mut self) {
        self.visitor.barriers = 0;
        for &buffer in &self.shared {
            self.visitors[buffer].fill(Visitors::default());
        }
    }

    /// Makes a position the current one.
    pub fn go_on(&mut self, position: u32) {
        self.visitor.position = position;
        self.visitor.workgroup = position / self.workgroup;
    }

    /// Notes a barrier of the current workgroup.
    pub fn barrier(&mut self) {
        self.visitor.barriers += 1;
    }

    /// Notes accesses of the current position. The error has the two positions of a race and the element.
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

    /// Notes visits (position, barriers, access) in workgroups of two positions, and returns the position of the first race.
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
