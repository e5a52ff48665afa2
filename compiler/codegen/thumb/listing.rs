//! Listing of code for the GNU assembler: one instruction a line, as halfwords.

use crate::own::Emitted;
use std::fmt::Write;

/// Lists one instruction a line. Targets of jumps have a label with their offset.
pub(super) fn text(emitted: &Emitted) -> String {
    let mut text = String::new();
    let halves = emitted.code.bytes[..emitted.instruction_bytes].as_chunks::<2>().0;
    let mut halves = halves.iter().map(|half| u16::from_le_bytes(*half)).enumerate();
    while let Some((i, first)) = halves.next() {
        if emitted.labels.contains(&(2 * i)) {
            let _ = writeln!(text, "block_{:x}:", 2 * i);
        }
        // The value of the first halfword decides if there is a second one.
        let second = if first < 0xE800 { None } else { halves.next() };
        let _ = match second {
            None => writeln!(text, "  .inst.n 0x{first:04x}"),
            Some((_, second)) => writeln!(text, "  .inst.w 0x{first:04x}{second:04x}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn instructions_have_one_or_two_halfwords() {
        let bytes = [0xF800_1000u32, 0x4770_BF00].iter().flat_map(|word| [(word >> 16) as u16, *word as u16]).flat_map(u16::to_le_bytes);
        let code = Code { bytes: bytes.collect(), alignment: 4, relocations: vec![], stack_bytes: 0 };
        let emitted = Emitted { code, instruction_bytes: 8, labels: vec![4] };
        assert_eq!(text(&emitted), "  .inst.w 0xf8001000\nblock_4:\n  .inst.n 0x4770\n  .inst.n 0xbf00\n");
    }
}
