//! The decoder of GNU binutils, if it is installed.

use crate::own::testing;
use crate::thumb::encode::Assembler;

/// Decodes code to text: names and operands, without width suffixes. `None` if there is no decoder.
pub fn decode(code: &[u8]) -> Option<Vec<String>> {
    decode_for("arm", code)
}

/// Decodes code of an architecture: see [`decode`].
pub fn decode_for(architecture: &str, code: &[u8]) -> Option<Vec<String>> {
    let options = ["-m", architecture, "-Mforce-thumb"];
    testing::decode("arm-none-eabi-objdump", &options, code, |name, operands| {
        let name = name.trim_end_matches(".w").trim_end_matches(".n");
        format!("{name} {}", operands.split([';', '@']).next().unwrap_or_default().trim())
    })
}

/// Decodes what a function writes. `None` if there is no decoder.
pub fn lines(write: impl Fn(&mut Assembler)) -> Option<Vec<String>> {
    let mut code = Assembler::default();
    write(&mut code);
    decode(&code.bytes)
}
