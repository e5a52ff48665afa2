//! Code as text that GNU's assembler takes: an instruction a line, by its bits.

use crate::own::Emitted;

/// One instruction a line, blocks that are jumped to by their offsets.
pub(super) fn text(emitted: &Emitted) -> String {
    emitted.listing(emitted.halves(|first| first & 3 == 3).map(|(offset, first, second)| match second {
        None => (offset, format!(".2byte 0x{first:04x}")),
        Some(second) => (offset, format!(".4byte 0x{second:04x}{first:04x}")),
    }))
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
