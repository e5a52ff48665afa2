//! Listings of code: one instruction a line.

use super::layout::Emitted;
use std::fmt::Write;

impl Emitted {
    /// Returns the bytes of the instructions.
    pub fn instructions(&self) -> &[u8] {
        &self.code.bytes[..self.instruction_bytes]
    }

    /// Returns instructions of one or two halfwords, each with its offset. `is_long` tells from the first halfword if there is a second one.
    pub fn halves(&self, is_long: impl Fn(u16) -> bool) -> impl Iterator<Item = (usize, u16, Option<u16>)> {
        let mut halves = self.instructions().as_chunks::<2>().0.iter().map(|half| u16::from_le_bytes(*half)).enumerate();
        std::iter::from_fn(move || {
            let (i, first) = halves.next()?;
            let second = if is_long(first) { halves.next() } else { None };
            Some((2 * i, first, second.map(|(_, second)| second)))
        })
    }

    /// Lists instructions, each with its offset and its text. Targets of jumps are labelled with their offsets.
    pub fn listing(&self, instructions: impl Iterator<Item = (usize, String)>) -> String {
        let mut text = String::new();
        for (offset, line) in instructions {
            if self.labels.contains(&offset) {
                let _ = writeln!(text, "block_{offset:x}:");
            }
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}
