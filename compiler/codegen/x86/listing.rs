//! Code as text, by another's decoder: what is printed is what the bytes say.

use crate::codegen::own::Emitted;
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
use std::fmt::Write;

/// One instruction a line, blocks that are jumped to by their offsets.
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
