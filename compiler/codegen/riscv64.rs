//! Fixes around Cranelift on riscv64. The calling convention has a callee keep `fs1` (f9), but Cranelift (0.135) treats it as changed by a call.
//! Calls among Cranelift's own functions are consistent. A function that C calls must keep the register, so [`keep_fs1`] wraps entries that run
//! kernels. [`round_half_up`] sets a rounding mode.

use super::{Code, Relocation, RelocationKind, RelocationTarget};

/// Offset of the call in [`KEEP_FS1`].
const CALL: u32 = 12;

#[rustfmt::skip]
const KEEP_FS1: [u32; 9] = [
    0xff01_0113, // addi  sp, sp, -16
    0x0011_3423, // sd    ra, 8(sp)
    0x0091_3027, // fsd   fs1, 0(sp)
    0x0000_0097, // auipc ra, 0          ; the call: its address is filled in
    0x0000_80e7, // jalr  ra, 0(ra)
    0x0001_3487, // fld   fs1, 0(sp)
    0x0081_3083, // ld    ra, 8(sp)
    0x0101_0113, // addi  sp, sp, 16
    0x0000_8067, // ret
];

/// Makes code that calls the function numbered `body` with its own arguments, none of them on the stack, and returns the result.
pub fn keep_fs1(body: u32) -> Code {
    let target = RelocationTarget::Function(body);
    Code {
        bytes: KEEP_FS1.iter().flat_map(|instruction| instruction.to_le_bytes()).collect(),
        alignment: 4,
        relocations: vec![Relocation { offset: CALL, kind: RelocationKind::RiscvCall, target, addend: 0 }],
        stack_bytes: 16,
    }
}

/// `csrwi vxrm, 0`: fixed-point instructions round to nearest, ties up.
const ROUND_HALF_UP: u32 = 0x00a0_5073;
const NOP: u32 = 0x0000_0013;

/// Prepends an instruction that sets the rounding mode of fixed-point instructions. The calling convention promises no mode to a function. NOPs keep
/// the alignment of the code.
///
/// # Panics
/// Panics if the code has relocations, which would have to move.
pub fn round_half_up(code: Code) -> Code {
    assert!(code.relocations.is_empty(), "kernels refer to nothing");
    let words = (code.alignment / 4).max(1);
    let prefix = std::iter::once(ROUND_HALF_UP).chain(std::iter::repeat_n(NOP, words as usize - 1));
    let bytes = prefix.flat_map(u32::to_le_bytes).chain(code.bytes).collect();
    Code { bytes, ..code }
}
