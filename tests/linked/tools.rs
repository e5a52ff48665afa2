//! Compilers and emulators of the machines.

use super::{Bare, Tools};

/// This computer.
pub const HERE: Tools = Tools {
    target: "x86_64-linux-gnu",
    compiler: "cc",
    emulator: None,
    level: None,
    processor: None,
    is_shared: false,
    is_small: false,
    is_aligned: false,
    word: 8,
    bare: None,
    board: None,
};
/// The oldest processor that has the level, so that later instructions fail there.
pub const AARCH64: Tools = Tools {
    target: "aarch64-linux-gnu",
    compiler: "aarch64-linux-gnu-gcc",
    emulator: Some("qemu-aarch64"),
    level: Some("aarch64"),
    processor: Some("cortex-a53"),
    ..HERE
};
pub const AARCH64_DOTPROD: Tools = Tools { level: Some("aarch64+dotprod"), processor: Some("cortex-a76"), ..AARCH64 };
/// No processor of the emulator has these products and no later extensions, which are switched off.
pub const AARCH64_I8MM: Tools = Tools { level: Some("aarch64+i8mm"), processor: Some("max,sve=off,sme=off"), ..AARCH64 };
/// All levels in an object; the header finds the processor's features.
pub const AARCH64_LEVELS: Tools = Tools { level: None, ..AARCH64 };
pub const RISCV64: Tools = Tools { target: "riscv64-linux-gnu", compiler: "riscv64-linux-gnu-gcc", emulator: Some("qemu-riscv64"), ..HERE };
/// Vector registers with twice the length that the level requires.
pub const RISCV64_VECTORS: Tools = Tools { level: Some("rv64gcv"), processor: Some("rv64,v=true,vlen=256"), ..RISCV64 };

/// Code for Cortex-M runs on processors of the A profile, which have its instructions, with guard pages as elsewhere.
pub const CORTEX_M4F: Tools = Tools {
    target: "cortex-m4f",
    compiler: "arm-linux-gnueabihf-gcc",
    emulator: Some("qemu-arm"),
    processor: Some("max"),
    word: 4,
    ..HERE
};
pub const CORTEX_M3: Tools = Tools { target: "cortex-m3", ..CORTEX_M4F };
/// Armv8-M, with the extensions of Armv7E-M.
pub const CORTEX_M33: Tools = Tools { target: "cortex-m33", ..CORTEX_M4F };
/// Binary64 in registers.
pub const CORTEX_M7_DP: Tools = Tools { target: "cortex-m7+dp", ..CORTEX_M4F };
/// For programs that trap unaligned accesses.
pub const CORTEX_M4F_STRICT: Tools = Tools { target: "cortex-m4f+strict-align", is_aligned: true, ..CORTEX_M4F };
pub const CORTEX_M7_DP_STRICT: Tools = Tools { target: "cortex-m7+dp+strict-align", ..CORTEX_M4F_STRICT };
/// Integers of Armv6-M, in instructions that every core of Cortex-M has.
pub const CORTEX_M0PLUS: Tools = Tools { target: "cortex-m0plus", is_aligned: true, ..CORTEX_M4F };
/// Vectors of profile M, which only boards have. No page guards their memory.
pub const CORTEX_M55: Tools = Tools {
    target: "cortex-m55",
    compiler: "arm-none-eabi-gcc",
    emulator: Some("qemu-system-arm"),
    bare: Some(Bare {
        arguments: &["-mcpu=cortex-m55", "-mfloat-abi=hard", "-mthumb", "-Wl,--no-warn-execstack"],
        folder: "an547",
        script: "newlib.ld",
        source: "newlib.c",
    }),
    board: Some("mps3-an547"),
    word: 4,
    ..HERE
};
/// Vectors of profile M beside soft floats.
pub const CORTEX_M55_NOFP: Tools = Tools { target: "cortex-m55+nofp", ..CORTEX_M55 };
/// Vectors for programs that trap unaligned accesses.
pub const CORTEX_M55_STRICT: Tools = Tools { target: "cortex-m55+strict-align", ..CORTEX_M55 };
/// Linux for a compiler of RV32 with picolibc.
const fn rv32(arguments: &'static [&'static str]) -> Bare {
    Bare { arguments, folder: "riscv32", script: "program.ld", source: "linux.c" }
}
/// Floats by functions of the object, on a processor without instructions for them.
pub const RV32IMC: Tools = Tools {
    target: "rv32imc",
    compiler: "riscv64-unknown-elf-gcc",
    emulator: Some("qemu-riscv32"),
    processor: Some("rv32,f=false,d=false"),
    is_aligned: true,
    bare: Some(rv32(&["-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs", "-D__linux__"])),
    word: 4,
    ..HERE
};
pub const RV32IMAFC: Tools = Tools {
    target: "rv32imafc",
    processor: Some("rv32,d=false"),
    bare: Some(rv32(&["-march=rv32imafc", "-mabi=ilp32f", "--specs=picolibc.specs", "-D__linux__"])),
    ..RV32IMC
};

/// Wine is large, so its tests run only if it is installed.
pub const WINDOWS: Tools = Tools { target: "x86_64-w64-mingw32", compiler: "x86_64-w64-mingw32-gcc", emulator: Some("wine"), ..HERE };
