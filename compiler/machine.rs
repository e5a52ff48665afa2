//! Machine descriptions: what a schedule may count on.

/// An instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isa {
    /// x86-64.
    X86_64,
    /// Armv8-A and later, 64-bit state, little-endian.
    Aarch64,
    /// RISC-V, 64-bit, little-endian.
    Riscv64,
}

/// The widening dot product that a machine does in one instruction (or the shortest sequence it has).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DotProduct {
    /// Four unsigned × signed bytes into an i32 lane.
    UnsignedSigned8,
    /// Four signed × signed bytes into an i32 lane.
    Signed8,
    /// Two signed 16-bit products into an i32 lane.
    Signed16,
}

/// One CPU level of one instruction set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine {
    /// Instruction set.
    pub isa: Isa,
    /// The level's name on the command line: `x86-64-v3`, `aarch64`, `riscv64`.
    pub level: &'static str,
    /// Bits of the vector registers that the back end uses.
    pub vector_bits: u16,
    /// Number of vector registers.
    pub vector_registers: u16,
    /// Whether a fused multiply-add is one instruction.
    pub fma: bool,
    /// The dot product to use for 8-bit products.
    pub dot: DotProduct,
    /// Level 1 data cache in bytes.
    pub l1_bytes: u64,
    /// Level 2 cache in bytes.
    pub l2_bytes: u64,
}

impl Machine {
    /// Whether vectors are in registers of their own. Where there are none, a kernel's vectors are so many scalars.
    pub fn has_vector_registers(&self) -> bool {
        self.level != RISCV64
    }

    /// Whether binary16 is widened by an instruction: the back end of long vectors has it, Cranelift's kernels take a dozen.
    pub fn widens_halves(&self) -> bool {
        self.vector_bits > 128
    }

    /// Lanes of `bytes` bytes in a vector register.
    pub fn lanes(&self, bytes: u32) -> u16 {
        self.vector_bits / (8 * bytes as u16)
    }
}

/// The level of riscv64 without the V extension.
const RISCV64: &str = "riscv64";

/// All machines, the default level of each instruction set first.
pub const MACHINES: &[Machine] = &[
    Machine {
        isa: Isa::X86_64,
        level: "x86-64-v3",
        vector_bits: 256,
        vector_registers: 16,
        fma: true,
        dot: DotProduct::Signed16,
        l1_bytes: 32 << 10,
        l2_bytes: 512 << 10,
    },
    Machine {
        isa: Isa::X86_64,
        level: "x86-64-v2",
        vector_bits: 128,
        vector_registers: 16,
        fma: false,
        dot: DotProduct::Signed16,
        l1_bytes: 32 << 10,
        l2_bytes: 256 << 10,
    },
    // AVX-512 F, BW, CD, DQ, VL and VNNI.
    Machine {
        isa: Isa::X86_64,
        level: "x86-64-v4",
        vector_bits: 512,
        vector_registers: 32,
        fma: true,
        dot: DotProduct::UnsignedSigned8,
        l1_bytes: 32 << 10,
        l2_bytes: 1 << 20,
    },
    Machine {
        isa: Isa::Aarch64,
        level: "aarch64",
        vector_bits: 128,
        vector_registers: 32,
        fma: true,
        dot: DotProduct::Signed16,
        l1_bytes: 32 << 10,
        l2_bytes: 256 << 10,
    },
    Machine {
        isa: Isa::Aarch64,
        level: "aarch64+dotprod",
        vector_bits: 128,
        vector_registers: 32,
        fma: true,
        dot: DotProduct::Signed8,
        l1_bytes: 32 << 10,
        l2_bytes: 256 << 10,
    },
    Machine {
        isa: Isa::Riscv64,
        level: RISCV64,
        vector_bits: 128,
        vector_registers: 32,
        fma: true,
        dot: DotProduct::Signed16,
        l1_bytes: 32 << 10,
        l2_bytes: 256 << 10,
    },
    // Registers may be longer than 128 bits: code asks for so many lanes, and no instruction depends on what lies behind them.
    Machine {
        isa: Isa::Riscv64,
        level: "rv64gcv",
        vector_bits: 128,
        vector_registers: 32,
        fma: true,
        dot: DotProduct::Signed16,
        l1_bytes: 32 << 10,
        l2_bytes: 256 << 10,
    },
];

/// The machine of a level's name.
pub fn machine(level: &str) -> Option<&'static Machine> {
    MACHINES.iter().find(|m| m.level == level)
}

/// The default machine of an instruction set.
///
/// # Panics
/// Never: each instruction set has a row.
pub fn default_machine(isa: Isa) -> &'static Machine {
    MACHINES.iter().find(|m| m.isa == isa).expect("each instruction set has a row")
}
