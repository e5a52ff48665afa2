//! Text of machine code, decoded by an independent decoder, so that it shows the actual bytes.

use crate::own::Emitted;
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

/// Prints one instruction a line; jump targets are labelled with their offsets.
pub(super) fn text(emitted: &Emitted) -> String {
    let mut decoder = Decoder::with_ip(64, emitted.instructions(), 0, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    emitted.listing(decoder.iter().map(|instruction| {
        let mut line = String::new();
        formatter.format(&instruction, &mut line);
        (instruction.ip() as usize, line)
    }))
}
