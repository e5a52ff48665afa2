//! Who reads and who writes each element of the buffers that positions share.

use crate::kernel::types::*;
use cranelift_entity::EntityRef;
use std::ops::Range;

/// What is done to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
}

/// The positions that have come to an element.
#[derive(Clone, Copy, Default)]
struct Visitors {
    /// The one that wrote it.
    writer: Option<u32>,
    /// The first that read it.
    reader: Option<u32>,
    /// Another that read it.
    other_reader: Option<u32>,
}

impl Visitors {
    /// A position comes. Gives the one that it must not meet.
    fn visit(&mut self, position: u32, access: Access) -> Option<u32> {
        let other = |visitor: Option<u32>| visitor.filter(|&visitor| visitor != position);
        match access {
            Access::Read => {
                if self.reader.is_none() {
                    self.reader = Some(position);
                } else if other(self.reader).is_some() {
                    self.other_reader = Some(position);
                }
                other(self.writer)
            }
            Access::Write => {
                let met = other(self.writer).or(other(self.reader)).or(other(self.other_reader));
                self.writer = Some(position);
                met
            }
        }
    }
}

/// The visitors of all elements.
pub struct Meetings {
    /// The position that runs.
    position: u32,
    /// By number of the buffer; empty for those that nothing writes and those that are a position's own.
    visitors: Vec<Vec<Visitors>>,
}

impl Meetings {
    /// Nobody has come yet. The buffers are known to fit memory.
    pub fn new(kernel: &Kernel) -> Self {
        let is_shared = |data: &BufferData| matches!(data.kind, BufferKind::Output | BufferKind::Scratch);
        let of_buffer = |data| if is_shared(data) { vec![Visitors::default(); data.elements as usize] } else { vec![] };
        Self { position: 0, visitors: kernel.buffers.iter().map(of_buffer).collect() }
    }

    /// A position begins to run.
    pub fn begin(&mut self, position: u32) {
        self.position = position;
    }

    /// The position comes to some elements. An error is two that meet, and where.
    pub fn meet(&mut self, buffer: Buffer, elements: Range<usize>, access: Access) -> Result<(), ([u32; 2], usize)> {
        let visitors = &mut self.visitors[buffer.index()];
        if visitors.is_empty() {
            return Ok(());
        }
        for element in elements {
            if let Some(other) = visitors[element].visit(self.position, access) {
                return Err(([other, self.position], element));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_writes_meets_nobody_else() {
        use Access::{Read, Write};
        let met = |visits: &[(u32, Access)]| {
            let mut visitors = Visitors::default();
            visits.iter().find_map(|&(position, access)| visitors.visit(position, access))
        };
        assert_eq!(met(&[(1, Read), (2, Read), (3, Read)]), None);
        assert_eq!(met(&[(1, Read), (1, Write), (1, Read), (1, Write)]), None);
        assert_eq!(met(&[(1, Write), (2, Read)]), Some(1));
        assert_eq!(met(&[(1, Write), (2, Write)]), Some(1));
        assert_eq!(met(&[(1, Read), (2, Write)]), Some(1));
        assert_eq!(met(&[(2, Read), (1, Read), (2, Write)]), Some(1));
    }
}
