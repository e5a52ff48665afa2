//! Machine descriptions: what a schedule may count on.
//!
//! A row describes what code generation makes of the hardware, not the hardware alone. A capability is true where the back end of that
//! machine has it. Schedules read capabilities, never the unit or a level's name.

/// An instruction set of CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isa {
    /// x86-64.
    X86_64,
    /// Armv8-A and later, 64-bit state, little-endian.
    Aarch64,
    /// RISC-V, 64-bit, little-endian.
    Riscv64,
    /// Arm's M profile: Thumb-2 of Armv7-M and Armv8-M, 32-bit, little-endian.
    Thumb,
}

/// What runs the kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// A CPU of an instruction set.
    Cpu(Isa),
    /// A GPU within some limits: a row of [`GPUS`].
    Gpu(Gpu),
}

/// The limits of a GPU that code may count on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gpu {
    /// Invocations of a workgroup at most.
    pub invocations: u32,
    /// Bytes of memory that a workgroup shares.
    pub shared_bytes: u32,
    /// Storage buffers of a kernel at most.
    pub bindings: u32,
    /// Bytes of a storage buffer that a kernel sees at most.
    pub range_bytes: u64,
    /// What the place of a storage buffer is a multiple of, in bytes.
    pub offset_alignment: u64,
    /// Whether elements of 8 and 16 bits are read and written alone; else words that hold them.
    pub narrow_storage: bool,
    /// Whether products of four bytes are added by one instruction.
    pub byte_dots: bool,
    /// Whether workgroups copy rows of products to memory that they share: for devices that have enough of it near their arithmetic.
    pub stages_tiles: bool,
}

impl Gpu {
    /// Bytes that the local arrays of a position take at most. Devices have far less in registers, and drivers fail with much more.
    pub const LOCAL_BYTES: u64 = 64 << 10;
}

/// The registers that hold a kernel's vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Registers {
    /// This many registers of [`Machine::vector_bits`].
    Vectors(u16),
    /// This many registers of one element; a vector takes one for each lane.
    Words(u16),
}

impl Registers {
    /// How many there are.
    pub const fn count(self) -> u16 {
        match self {
            Self::Vectors(count) | Self::Words(count) => count,
        }
    }
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

/// How the sums of integer products are scaled to narrow integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Requantize {
    /// Step by step as the rule says: doubling high product, rounding shift by one count for all lanes.
    ByRule,
    /// By a shorter sequence that is proven to give the same integers: a fused multiply-add of binary32, or an unsigned high product and
    /// shifts whose count may differ from lane to lane.
    Fitted,
    /// By products, sums and shifts of integers alone that are proven likewise: for words, where floats are slow or missing. Quotients of integers are
    /// products, too.
    Products,
}

/// One level of one kind of machine: the code of a level runs wherever what its row promises is there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine {
    /// What runs the code.
    pub unit: Unit,
    /// The level's name on the command line: `x86-64-v3`, `aarch64`, `riscv64`.
    pub level: &'static str,
    /// Bits of the vectors that schedules write. Where vectors are words, they are as short as the widest sum: a longer one would be
    /// written out as several instructions for nothing.
    pub vector_bits: u16,
    /// The registers that hold them.
    pub registers: Registers,
    /// Bits of the registers that hold indices, 64 or 32. Schedules write indices of 64; where registers have fewer they are narrowed.
    pub index_bits: u8,
    /// Whether a fused multiply-add is one instruction.
    pub fma: bool,
    /// The dot product to use for 8-bit products.
    pub dot: DotProduct,
    /// Set if [`Self::dot`] of bytes is one instruction.
    pub byte_fours: bool,
    /// Whether one instruction adds products of signed bytes in 16 bits, and another one neighbours of 16 bits to sums of 32.
    pub adds_in_16_bits: bool,
    /// Whether products of unsigned and signed bytes are added in pairs to 16 bits by one instruction.
    pub byte_pairs: bool,
    /// Whether products of 16 bits are added in pairs to 32 bits by one instruction.
    pub word_pairs: bool,
    /// How sums are scaled.
    pub requantize: Requantize,
    /// Whether a kernel can have its floats rounded towards zero.
    pub rounding_modes: bool,
    /// Whether a product that is added takes its sum's register for the result, overwrites no factor, and reads one factor from memory.
    pub sums_in_place: bool,
    /// Whether a product names one lane of a register as a factor, so that one load has the operands of several products.
    pub by_element: bool,
    /// Whether one instruction shifts each 32-bit lane by a count of its own.
    pub shifts_by_lane: bool,
    /// Whether shifting the even and the odd bytes of a vector apart costs less than a second sum for each output.
    pub splits_bytes: bool,
    /// Whether one instruction multiplies each binary32 by a power of two of its own.
    pub scales_floats: bool,
    /// Whether loading binary16 as binary32 is one instruction.
    pub widens_halves: bool,
    /// Whether rounds of a kernel's loops run at the same time, so that none may use scratch memory that another has used.
    pub at_once: bool,
    /// Whether bytes are looked up in a table of 256 bytes in registers, by far fewer instructions than one by one.
    pub byte_tables: bool,
    /// Whether bytes are looked up likewise in a table of 256 entries of 32 bits.
    pub word_tables: bool,
    /// Instructions that interleave two vectors work within blocks of this many bytes.
    pub interleaved_bytes: u16,
    /// The shortest lanes, in bytes, that one instruction picks from anywhere in two vectors; `None` where there is no such instruction.
    pub picked_lanes: Option<u32>,
    /// The longest vector, in lanes, of which a number that is known when the kernel runs is loaded and stored; 0 where there is no such instruction.
    pub masked_lanes: u16,
    /// Level 1 data cache in bytes.
    pub l1_bytes: u64,
    /// Level 2 cache in bytes.
    pub l2_bytes: u64,
}

/// The longest elements, in bytes, that are turned faster in squares side by side: longer ones took as long, or longer for large matrices.
const MOST_UNPACKED: u32 = 2;

impl Machine {
    /// The instruction set, of a CPU.
    pub fn isa(&self) -> Option<Isa> {
        match self.unit {
            Unit::Cpu(isa) => Some(isa),
            Unit::Gpu(_) => None,
        }
    }

    /// Tells whether floats are rounded as IEEE 754 has it wherever the code runs. Vulkan leaves quotients and fused products to the device.
    pub fn rounds_floats(&self) -> bool {
        self.isa().is_some()
    }

    /// Whether vectors are in registers of their own.
    pub fn has_vector_registers(&self) -> bool {
        matches!(self.registers, Registers::Vectors(_))
    }

    /// Bytes of a vector.
    pub fn vector_bytes(&self) -> u16 {
        self.vector_bits / 8
    }

    /// Lanes of `bytes` bytes in vectors that few instructions turn around or interleave: any order is one where lanes are picked from anywhere, else
    /// instructions work within 16 bytes.
    pub fn turned_lanes(&self, bytes: u32) -> u16 {
        match self.picked_lanes {
            Some(least) if bytes >= least => self.lanes(bytes),
            _ => (16 / bytes).max(1) as u16,
        }
    }

    /// Squares of elements of `bytes` bytes, 16 bytes wide, that instructions turn side by side in a vector.
    pub fn squares(&self, bytes: u32) -> u16 {
        let within = self.interleaved_bytes == 16 && bytes <= MOST_UNPACKED;
        if within { self.vector_bytes() / self.interleaved_bytes } else { 1 }
    }

    /// Lanes of `bytes` bytes in a vector; one where an element is longer than that.
    pub fn lanes(&self, bytes: u32) -> u16 {
        (self.vector_bits / (8 * bytes as u16)).max(1)
    }
}

/// A level with the least that those of vectors of 128 bits have, in 32 registers. Cranelift compiles most of them.
const fn cranelift(isa: Isa, level: &'static str) -> Machine {
    Machine {
        unit: Unit::Cpu(isa),
        level,
        vector_bits: 128,
        registers: Registers::Vectors(32),
        index_bits: 64,
        fma: true,
        dot: DotProduct::Signed16,
        byte_fours: false,
        adds_in_16_bits: false,
        byte_pairs: false,
        word_pairs: false,
        requantize: Requantize::ByRule,
        rounding_modes: false,
        sums_in_place: false,
        by_element: false,
        shifts_by_lane: false,
        splits_bytes: false,
        scales_floats: false,
        widens_halves: false,
        at_once: false,
        byte_tables: false,
        word_tables: false,
        interleaved_bytes: 16,
        picked_lanes: None,
        masked_lanes: 0,
        l1_bytes: 32 << 10,
        l2_bytes: 256 << 10,
    }
}

/// x86-64-v3: AVX2, FMA, F16C.
const X86_64_V3: Machine = Machine {
    unit: Unit::Cpu(Isa::X86_64),
    level: "x86-64-v3",
    vector_bits: 256,
    registers: Registers::Vectors(16),
    index_bits: 64,
    fma: true,
    dot: DotProduct::Signed16,
    byte_fours: false,
    adds_in_16_bits: false,
    byte_pairs: true,
    word_pairs: true,
    requantize: Requantize::Fitted,
    rounding_modes: true,
    sums_in_place: true,
    by_element: false,
    shifts_by_lane: true,
    splits_bytes: true,
    scales_floats: false,
    widens_halves: true,
    at_once: false,
    byte_tables: true,
    word_tables: false,
    interleaved_bytes: 16,
    picked_lanes: None,
    masked_lanes: 0,
    l1_bytes: 32 << 10,
    l2_bytes: 512 << 10,
};

/// Armv8.0-A. Products of bytes fit 16 bits, and so do sums of two: three instructions for 16, and eight if the factors have 16 bits.
const AARCH64: Machine = Machine {
    dot: DotProduct::Signed8,
    adds_in_16_bits: true,
    requantize: Requantize::Fitted,
    sums_in_place: true,
    by_element: true,
    shifts_by_lane: true,
    ..cranelift(Isa::Aarch64, "aarch64")
};

/// All machines, the default level of each instruction set first.
pub const MACHINES: &[Machine] = &[
    X86_64_V3,
    Machine { registers: Registers::Vectors(16), fma: false, byte_pairs: true, word_pairs: true, ..cranelift(Isa::X86_64, "x86-64-v2") },
    // AVX-512 F, BW, CD, DQ, VL and VNNI.
    Machine {
        level: "x86-64-v4",
        vector_bits: 512,
        registers: Registers::Vectors(32),
        dot: DotProduct::UnsignedSigned8,
        byte_fours: true,
        byte_pairs: false,
        scales_floats: true,
        word_tables: true,
        picked_lanes: Some(2),
        masked_lanes: 64,
        l2_bytes: 1 << 20,
        ..X86_64_V3
    },
    AARCH64,
    Machine { level: "aarch64+dotprod", byte_fours: true, ..AARCH64 },
    Machine { registers: Registers::Words(32), vector_bits: 32, interleaved_bytes: 4, ..cranelift(Isa::Riscv64, "riscv64") },
    // Registers may be longer than 128 bits: code asks for this many lanes, and no instruction depends on what lies after them.
    cranelift(Isa::Riscv64, "rv64gcv"),
];

/// A core of Arm's M profile with DSP instructions and binary32: Cortex-M4 with its FPU. A vector is one word, and fourteen registers hold words.
const CORTEX_M4F: Machine = Machine {
    registers: Registers::Words(14),
    vector_bits: 32,
    // Two instructions widen four bytes, and two multiply and add them.
    dot: DotProduct::Signed8,
    index_bits: 32,
    requantize: Requantize::Products,
    shifts_by_lane: true,
    interleaved_bytes: 4,
    l1_bytes: 1 << 10,
    l2_bytes: 1 << 10,
    ..cranelift(Isa::Thumb, "cortex-m4f")
};

/// Machines of 32-bit words: microcontrollers.
pub const MICROCONTROLLERS: &[Machine] = &[
    CORTEX_M4F,
    Machine { level: "cortex-m4", fma: false, ..CORTEX_M4F },
    Machine { level: "cortex-m7", ..CORTEX_M4F },
    Machine { level: "cortex-m33", ..CORTEX_M4F },
    // Without instructions for halves, bytes are widened one by one, and once for all products is best.
    Machine { level: "cortex-m3", fma: false, dot: DotProduct::Signed16, ..CORTEX_M4F },
];

/// What the place of a storage buffer is a multiple of, in bytes, on every device with Vulkan.
pub const OFFSET_ALIGNMENT: u64 = 256;

/// What every device with Vulkan 1.1 has.
const VULKAN_1_1: Gpu = Gpu {
    invocations: 128,
    shared_bytes: 16 << 10,
    bindings: 4,
    range_bytes: 128 << 20,
    offset_alignment: OFFSET_ALIGNMENT,
    narrow_storage: false,
    byte_dots: false,
    stages_tiles: false,
};

/// A GPU, whose vectors are four words. A kernel is one position of a grid there.
const fn gpu(level: &'static str, limits: Gpu) -> Machine {
    Machine {
        unit: Unit::Gpu(limits),
        level,
        registers: Registers::Vectors(32),
        index_bits: 32,
        dot: DotProduct::Signed8,
        shifts_by_lane: true,
        widens_halves: true,
        at_once: true,
        ..cranelift(Isa::X86_64, "")
    }
}

/// The profiles of Vulkan, the default first: what a device has that runs the code.
pub const GPUS: &[Machine] = &[
    gpu("vulkan1.1", VULKAN_1_1),
    gpu("vulkan1.1+bytes", Gpu { bindings: 8, narrow_storage: true, ..VULKAN_1_1 }),
    gpu(
        "vulkan1.3",
        Gpu {
            invocations: 256,
            shared_bytes: 32 << 10,
            bindings: 8,
            narrow_storage: true,
            byte_dots: true,
            stages_tiles: true,
            ..VULKAN_1_1
        },
    ),
];

/// The machine of a level's name.
pub fn machine(level: &str) -> Option<&'static Machine> {
    MACHINES.iter().chain(MICROCONTROLLERS).find(|m| m.level == level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_of_rows_fit_together() {
        for machine in MACHINES.iter().chain(MICROCONTROLLERS) {
            let level = machine.level;
            assert!(machine.vector_bits.is_power_of_two() && machine.lanes(8) >= 1, "{level}");
            assert!(
                machine.requantize != Requantize::Fitted || machine.shifts_by_lane && machine.fma,
                "{level} fits what it cannot compute"
            );
            assert!(!machine.rounding_modes || machine.requantize == Requantize::Fitted, "{level} has a mode that nothing asks for");
            assert!(!machine.by_element || machine.sums_in_place, "{level} names elements where sums move");
            assert!(machine.interleaved_bytes <= machine.vector_bytes(), "{level}");
            assert!(!machine.byte_fours || machine.dot != DotProduct::Signed16, "{level} has no products of bytes");
            let all = MACHINES.iter().chain(MICROCONTROLLERS);
            assert_eq!(all.filter(|other| other.level == level).count(), 1, "{level}");
        }
    }
}
