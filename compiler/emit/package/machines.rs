//! Names of machines in build systems and frameworks.
//!
//! A row is of a CPU level, for microcontrollers, or of a target.

use crate::machine::Isa;
use crate::target::Target;

/// Names of one machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// CPU level without modifiers, or name of the target.
    of: &'static str,
    /// Regular expressions of CMake's names of the system and the processor; empty for microcontrollers.
    pub cmake: (&'static str, &'static str),
    /// Options of Zephyr's Kconfig that the machine sets; empty if Zephyr does not run there.
    pub zephyr: &'static [&'static str],
    /// CMSIS's name of the core; empty if there is none.
    pub cmsis: &'static str,
    /// ESP-IDF's names of chips with this core.
    pub chips: &'static [&'static str],
    /// Values of `build.mcu` of Arduino's boards with this core.
    pub arduino: &'static [&'static str],
    /// A condition of the preprocessor that is true on these boards; `@` stands for the prefix of macros in `header.h`.
    pub macros: &'static str,
    /// The floating-point unit that code may use.
    pub fpu: Fpu,
    /// `true` if code uses DSP instructions, which not all chips with the core have.
    pub dsp: bool,
    /// `true` if code uses MVE, which not all chips with the core have.
    pub mve: bool,
}

/// A floating-point unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fpu {
    /// No unit.
    Absent,
    /// A unit that may have no binary64.
    Single,
    /// A unit with binary64, which not all chips with the core have.
    Double,
}

/// The option of Zephyr that code with unaligned accesses needs off.
pub const UNTRAPPED: &str = "!TRAP_UNALIGNED_ACCESS";

const NONE: Machine = Machine {
    of: "",
    cmake: ("", ""),
    zephyr: &[],
    cmsis: "",
    chips: &[],
    arduino: &[],
    macros: "",
    fpu: Fpu::Absent,
    dsp: false,
    mve: false,
};

/// Makes the row of a level of Cortex-M.
const fn cortex(of: &'static str, zephyr: &'static [&'static str], cmsis: &'static str, macros: &'static str) -> Machine {
    Machine { of, zephyr, cmsis, macros, ..NONE }
}

const M4: Machine = Machine {
    arduino: &["cortex-m4"],
    ..cortex("cortex-m4", &["CPU_CORTEX_M4", UNTRAPPED], "Cortex-M4", "defined(__ARM_ARCH_7EM__) && !@_ON_M7")
};

/// Makes a row for CMake alone.
const fn hosted(of: &'static str, system: &'static str, processor: &'static str) -> Machine {
    Machine { of, cmake: (system, processor), ..NONE }
}

const X86: &str = "x86_64|AMD64|amd64";
const ARM: &str = "aarch64|arm64|ARM64";
const RISCV: &str = "riscv64";

const MACHINES: &[Machine] = &[
    cortex("cortex-m0", &["CPU_CORTEX_M0"], "Cortex-M0", "defined(__ARM_ARCH_6M__)"),
    Machine { arduino: &["cortex-m0plus"], ..cortex("cortex-m0plus", &["CPU_CORTEX_M0PLUS"], "Cortex-M0+", "defined(__ARM_ARCH_6M__)") },
    Machine { arduino: &["cortex-m23"], ..cortex("cortex-m23", &["CPU_CORTEX_M23"], "Cortex-M23", "defined(__ARM_ARCH_8M_BASE__)") },
    Machine { arduino: &["cortex-m3"], ..cortex("cortex-m3", &["CPU_CORTEX_M3", UNTRAPPED], "Cortex-M3", "defined(__ARM_ARCH_7M__)") },
    M4,
    Machine { of: "cortex-m4f", fpu: Fpu::Single, ..M4 },
    Machine {
        arduino: &["cortex-m7"],
        fpu: Fpu::Single,
        ..cortex("cortex-m7", &["CPU_CORTEX_M7", UNTRAPPED], "Cortex-M7", "defined(__ARM_ARCH_7EM__) && @_ON_M7")
    },
    Machine {
        arduino: &["cortex-m33"],
        fpu: Fpu::Single,
        dsp: true,
        ..cortex("cortex-m33", &["CPU_CORTEX_M33", UNTRAPPED], "Cortex-M33", "defined(__ARM_ARCH_8M_MAIN__)")
    },
    Machine { fpu: Fpu::Single, mve: true, ..cortex("cortex-m55", &["CPU_CORTEX_M55", UNTRAPPED], "Cortex-M55", "") },
    Machine { fpu: Fpu::Single, mve: true, ..cortex("cortex-m85", &["CPU_CORTEX_M85", UNTRAPPED], "Cortex-M85", "") },
    Machine {
        zephyr: &["RISCV_ISA_RV32I", "RISCV_ISA_EXT_M", "RISCV_ISA_EXT_C"],
        chips: &["esp32c2", "esp32c3"],
        arduino: &["esp32c3"],
        macros: "defined(__riscv) && __riscv_xlen == 32 && !defined(__riscv_atomic)",
        ..NONE
    }
    .named("rv32imc"),
    Machine {
        zephyr: &["RISCV_ISA_RV32I", "RISCV_ISA_EXT_M", "RISCV_ISA_EXT_C"],
        chips: &["esp32c5", "esp32c6", "esp32c61", "esp32h2"],
        arduino: &["esp32c6", "esp32h2"],
        macros: "defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_atomic) && !defined(__riscv_flen)",
        ..NONE
    }
    .named("rv32imac"),
    Machine {
        zephyr: &["RISCV_ISA_RV32I", "RISCV_ISA_EXT_M", "RISCV_ISA_EXT_F", "RISCV_ISA_EXT_C", "FPU"],
        chips: &["esp32p4"],
        arduino: &["esp32p4"],
        macros: "defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_flen)",
        ..NONE
    }
    .named("rv32imafc"),
    hosted("x86_64-unknown-linux-gnu", "Linux|Android", X86),
    hosted("aarch64-unknown-linux-gnu", "Linux|Android", ARM),
    hosted("riscv64gc-unknown-linux-gnu", "Linux|Android", RISCV),
    hosted("x86_64-pc-windows-msvc", "Windows", X86),
    hosted("x86_64-apple-darwin", "Darwin", X86),
    hosted("aarch64-apple-darwin", "Darwin", ARM),
    hosted("aarch64-apple-ios", "iOS", ARM),
    Machine { zephyr: &["X86_64"], ..hosted("x86_64-unknown-none-elf", "Generic", X86) },
    Machine { zephyr: &["ARM64", "FPU"], ..hosted("aarch64-unknown-none-elf", "Generic", ARM) },
    Machine {
        zephyr: &["RISCV_ISA_RV64I", "RISCV_ISA_EXT_M", "RISCV_ISA_EXT_D", "RISCV_ISA_EXT_C", "FPU"],
        ..hosted("riscv64gc-unknown-none-elf", "Generic", RISCV)
    },
];

impl Machine {
    const fn named(self, of: &'static str) -> Self {
        Self { of, ..self }
    }

    /// Returns the row of a target and its default level. Targets without a row are for CMake, which then cannot choose them by itself.
    pub fn of(target: &Target, level: &str) -> Self {
        let plain = level.split('+').next().unwrap_or(level);
        let row = MACHINES.iter().find(|row| row.of == plain).or_else(|| MACHINES.iter().find(|row| row.of == target.name));
        let row = row.copied().unwrap_or(NONE);
        let fpu = match row.fpu {
            _ if level.contains("+nofp") => Fpu::Absent,
            Fpu::Single if level.contains("+dp") => Fpu::Double,
            fpu => fpu,
        };
        Self { fpu, dsp: row.dsp && !level.contains("+nodsp"), ..row }
    }
}

/// Returns the name of a machine's variant and folder: the CPU level of a microcontroller, or the target.
pub fn variant_name(target: &Target, level: &str) -> String {
    if matches!(target.isa, Isa::X86_64 | Isa::Aarch64 | Isa::Riscv64) { target.name.into() } else { level.replace('+', "-") }
}
