//! Code as text that GNU's assembler takes: an instruction a line, by its bits.

use crate::own::Emitted;
use std::fmt::Write;

/// One instruction a line, blocks that are jumped to by their offsets.
pub(super) fn text(emitted: &Emitted) -> String {
    let mut text = String::new();
    let halves = emitted.code.bytes[..emitted.instruction_bytes].as_chunks::<2>().0;
    let mut halves = halves.iter().map(|half| u16::from_le_bytes(*half)).enumerate();
    while let Some((i, first)) = halves.next() {
        if emitted.labels.contains(&(2 * i)) {
            let _ = writeln!(text, "block_{:x}:", 2 * i);
        }
        // The lowest bits say whether there is a second half.
        let second = if first & 3 == 3 { halves.next() } else { None };
        let _ = match second {
            None => writeln!(text, "  .2byte 0x{first:04x}"),
            Some((_, second)) => writeln!(text, "  .4byte 0x{second:04x}{first:04x}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn instructions_have_16_or_32_bits() {
        let code = Code { bytes: vec![0x13, 0x05, 0x40, 0x06, 0x82, 0x80], alignment: 4, relocations: vec![], stack_bytes: 0 };
        let emitted = Emitted { code, instruction_bytes: 6, labels: vec![4] };
        assert_eq!(text(&emitted), "  .4byte 0x06400513\nblock_4:\n  .2byte 0x8082\n");
    }
}
