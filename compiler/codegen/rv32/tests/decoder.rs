//! The decoder of GNU binutils, where it is installed.

use crate::own::testing;

/// The instructions of some code as text: name and operands, without other names for them. `None` where there is no decoder.
pub(super) fn decode(code: &[u8]) -> Option<Vec<String>> {
    let options = ["-mriscv:rv32", "-Mno-aliases,numeric"];
    testing::decode("riscv64-unknown-elf-objdump", &options, code, |name, operands| {
        format!("{name} {}", operands.split(['#', '<']).next().unwrap_or_default().trim())
    })
}
