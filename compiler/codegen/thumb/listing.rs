//! Listing of code for the GNU assembler: one instruction a line, as halfwords.

use crate::own::Emitted;

/// Lists one instruction a line. Targets of jumps have a label with their offset.
pub(super) fn text(emitted: &Emitted) -> String {
    emitted.listing(emitted.halves(|first| first >= 0xE800).map(|(offset, first, second)| match second {
        None => (offset, format!(".inst.n 0x{first:04x}")),
        Some(second) => (offset, format!(".inst.w 0x{first:04x}{second:04x}")),
    }))
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
