//! Calls of functions that others define: jumps through the slots that the loader fills.

use crate::codegen::RelocationKind;
use crate::machine::Isa;

/// Bytes of a stub.
pub const STUB: usize = 16;
/// Bytes of a slot.
pub const SLOT: u64 = 8;

/// A stub: its instructions, and where the distance to its slot goes. `from` is the offset of the instruction that the distance counts from.
pub struct Stub {
    pub code: [u8; STUB],
    pub fields: &'static [Field],
}

/// A field of a stub.
pub struct Field {
    pub kind: RelocationKind,
    pub at: usize,
    pub from: usize,
}

const X86_64: &[Field] = &[Field { kind: RelocationKind::X86Relative, at: 2, from: 6 }];
const AARCH64: &[Field] =
    &[Field { kind: RelocationKind::Aarch64Page, at: 0, from: 0 }, Field { kind: RelocationKind::Aarch64PageOffset, at: 4, from: 4 }];
const RISCV64: &[Field] =
    &[Field { kind: RelocationKind::RiscvHigh, at: 0, from: 0 }, Field { kind: RelocationKind::RiscvLow, at: 4, from: 0 }];

/// The stub of an instruction set. Registers that it changes are those that the calling convention leaves to stubs.
pub fn stub(isa: Isa) -> Stub {
    match isa {
        // jmp *slot(%rip)
        Isa::X86_64 => {
            let mut code = [0xcc; STUB];
            code[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
            Stub { code, fields: X86_64 }
        }
        // adrp x16, slot; add x16, x16, :lo12:slot; ldr x16, [x16]; br x16
        Isa::Aarch64 => Stub { code: words([0x9000_0010, 0x9100_0210, 0xf940_0210, 0xd61f_0200]), fields: AARCH64 },
        // auipc t3, slot; ld t3, slot(t3); jr t3; nop
        Isa::Riscv64 => Stub { code: words([0x0000_0e17, 0x000e_3e03, 0x000e_0067, 0x0000_0013]), fields: RISCV64 },
    }
}

fn words(words: [u32; 4]) -> [u8; STUB] {
    let mut bytes = [0; STUB];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
