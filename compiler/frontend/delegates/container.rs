//! The common format of delegates' bytes.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | zero |
//! | 4 | 4 | `XH00` of XNNPACK, `VH00` of Vulkan |
//! | 8 | 2 | length of this header, 30 |
//! | 10 | 4 | position of the FlatBuffer |
//! | 14 | 4 | its bytes |
//! | 18 | 4 | position of the constants |
//! | 22 | 8 | their bytes |
//!
//! Without the identifier, all bytes are the FlatBuffer.

use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Data;
use std::ops::Range;

/// The parts of a delegate's bytes.
pub struct Container {
    /// The FlatBuffer.
    pub graph: Range<usize>,
    /// The constants.
    pub constants: Range<usize>,
}

/// The place of a constant's bytes.
#[derive(Clone, Debug)]
pub enum Source {
    /// Bytes of the delegate.
    Bytes(Data),
    /// A name in the program, or in a file of tensors.
    Named(String),
}

/// A delegate's bytes are damaged.
pub fn damaged(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::DAMAGED_MODEL, message)
}

impl Container {
    /// Finds the parts of a delegate of a back end.
    ///
    /// # Errors
    /// A part that reaches past the end.
    pub fn parse(bytes: &[u8], identifier: &[u8; 4], back_end: &str) -> Result<Self, Diagnostic> {
        if bytes.get(4..8) != Some(identifier) {
            return Ok(Self { graph: 0..bytes.len(), constants: bytes.len()..bytes.len() });
        }
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as u64);
        let (graph, graph_bytes, constants) = (number(10), number(14), number(18));
        let constant_bytes = bytes.get(22..30).and_then(|size| size.try_into().ok()).map(u64::from_le_bytes);
        let (Some(graph), Some(graph_bytes), Some(constants), Some(constant_bytes)) = (graph, graph_bytes, constants, constant_bytes)
        else {
            return Err(damaged(format!("the {back_end} graph ends inside its header")));
        };
        let inside = |start: u64, length: u64, what: &str| {
            let end = start.checked_add(length).filter(|&end| end <= bytes.len() as u64);
            let end = end.ok_or_else(|| {
                damaged(format!("the {what} of the {back_end} graph reach past its end"))
                    .expected(format!("at most {} bytes", bytes.len()), format!("{length} bytes from {start}"))
            })?;
            Ok::<_, Diagnostic>(start as usize..end as usize)
        };
        Ok(Self { graph: inside(graph, graph_bytes, "tables")?, constants: inside(constants, constant_bytes, "constants")? })
    }

    /// Bytes of the constants, as far from their start as the tables say; `None` when they reach past the end.
    pub fn constant(&self, delegate: &Data, offset: u64, length: u64) -> Option<Source> {
        let room = (self.constants.end - self.constants.start) as u64;
        let end = offset.checked_add(length).filter(|&end| end <= room)?;
        let start = self.constants.start;
        delegate.slice(start + offset as usize..start + end as usize).map(Source::Bytes)
    }
}
