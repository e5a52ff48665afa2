//! Calls of imported functions: jumps through the slots that the loader fills.

use crate::codegen::RelocationKind;
use crate::machine::Isa;
use object::elf;

/// Bytes of a stub.
pub const STUB: usize = 16;
/// Bytes of a slot.
pub const SLOT: u64 = 8;

/// A stub: its code, and the fields for the distance to its slot. `from` is the offset of the instruction relative to which the distance
/// counts.
pub struct Stub {
    pub code: [u8; STUB],
    pub fields: &'static [Field],
}

/// A field of a stub that holds a part of the distance.
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

/// Properties of an instruction set that a library depends on.
pub struct Linked {
    /// `e_machine`.
    pub machine: u16,
    /// The relocation type that writes a function's address into a slot.
    pub slot: u32,
    /// The byte between functions, which is never run.
    pub filler: u8,
    /// The stub that calls an imported function.
    pub stub: Stub,
}

/// Returns the properties of an instruction set; `None` if it has no shared libraries. Stubs change only registers that the calling convention
/// reserves for stubs.
pub fn linked(isa: Isa) -> Option<Linked> {
    Some(match isa {
        // jmp *slot(%rip)
        Isa::X86_64 => {
            let mut code = [0xcc; STUB];
            code[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
            Linked { machine: elf::EM_X86_64, slot: elf::R_X86_64_GLOB_DAT, filler: 0xcc, stub: Stub { code, fields: X86_64 } }
        }
        // adrp x16, slot; add x16, x16, :lo12:slot; ldr x16, [x16]; br x16
        Isa::Aarch64 => Linked {
            machine: elf::EM_AARCH64,
            slot: elf::R_AARCH64_GLOB_DAT,
            filler: 0,
            stub: Stub { code: words([0x9000_0010, 0x9100_0210, 0xf940_0210, 0xd61f_0200]), fields: AARCH64 },
        },
        // auipc t3, slot; ld t3, slot(t3); jr t3; nop
        Isa::Riscv64 => Linked {
            machine: elf::EM_RISCV,
            slot: elf::R_RISCV_64,
            filler: 0,
            stub: Stub { code: words([0x0000_0e17, 0x000e_3e03, 0x000e_0067, 0x0000_0013]), fields: RISCV64 },
        },
        Isa::Thumb | Isa::Riscv32 => return None,
    })
}

fn words(words: [u32; 4]) -> [u8; STUB] {
    let mut bytes = [0; STUB];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
