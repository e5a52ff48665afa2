//! Text of machine code, decoded by an independent decoder, so that it shows the actual bytes.

use crate::own::Emitted;
use fARM64::format::{FmtFormatter, format_to_string};
use fARM64::{Decoder, DecoderOptions};

/// Decodes an instruction to text; `None` if the bytes are no instruction.
pub(super) fn instruction(word: [u8; 4]) -> Option<String> {
    let decoded = Decoder::new(&word, 0, DecoderOptions::default()).decode();
    let text = (!decoded.is_invalid()).then(|| format_to_string(&FmtFormatter::new(), &decoded))?;
    // The decoder pads its columns.
    Some(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

/// Prints one instruction a line; jump targets are labelled with their offsets.
pub(super) fn text(emitted: &Emitted) -> String {
    let words = emitted.instructions().as_chunks::<4>().0;
    emitted.listing(words.iter().enumerate().map(|(i, word)| {
        let line = instruction(*word).unwrap_or_else(|| format!(".word {:#x}", u32::from_le_bytes(*word)));
        (4 * i, line)
    }))
}
