//! Text of machine code, decoded by an independent decoder, so that it shows the actual bytes.

use crate::own::Emitted;
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
use std::fmt::Write;

/// Prints one instruction a line; jump targets are labelled with their offsets.
pub(super) fn text(emitted: &Emitted) -> String {
    let mut decoder = Decoder::with_ip(64, &emitted.code.bytes[..emitted.instruction_bytes], 0, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    let mut text = String::new();
    for instruction in &mut decoder {
        if emitted.labels.contains(&(instruction.ip() as usize)) {
            let _ = writeln!(text, "block_{:x}:", instruction.ip());
        }
        let mut line = String::new();
        formatter.format(&instruction, &mut line);
        let _ = writeln!(text, "  {line}");
    }
    text
}
