//! Machine descriptions: CPU levels and GPU profiles.
//!
//! A [`CpuMachine`] has extensions of its instruction set, which code generation asks for, and a [`GpuMachine`] has limits. Both have the
//! capabilities of a [`Machine`], which schedules ask for. A row describes the hardware together with its back end: a capability is true only if
//! the back end supports it.

use std::ops::Deref;

mod alignment;

pub use alignment::Alignment;

/// An instruction set of CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isa {
    /// x86-64.
    X86_64,
    /// Armv8-A and later, 64-bit state, little-endian.
    Aarch64,
    /// RISC-V, 64-bit, little-endian.
    Riscv64,
    /// Arm's M profile: Thumb-2 of Armv7-M, Armv8-M and Armv8.1-M, 32-bit, little-endian.
    Thumb,
    /// RISC-V, 32-bit, little-endian.
    Riscv32,
}

/// An extension of an instruction set, for code generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extension {
    /// x86-64-v3: AVX2, FMA, F16C and BMI.
    Avx2,
    /// x86-64-v4, with VNNI: AVX-512 F, BW, CD, DQ and VL.
    Avx512,
    /// Products of four bytes of Armv8.2-A.
    DotProd,
    /// Products of matrices of bytes of Armv8.6-A.
    I8mm,
    /// RISC-V's vectors, with registers of at least 128 bits.
    V,
    /// Thumb-2: Armv7-M, or Armv8-M with its main extension.
    Thumb2,
    /// Armv8-M: divisions and constants of 16 bits in its baseline, too.
    Armv8M,
    /// Arm's DSP extension: products and sums of halves of words.
    Dsp,
    /// Arm's M-profile vector extension, for integers.
    Mve,
    /// A unit for binary32, with fused multiply-adds.
    Fpu,
    /// Binary64 in that unit.
    Doubles,
}

/// Guaranteed limits of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gpu {
    /// Limit of invocations of a workgroup.
    pub invocations: u32,
    /// Bytes of shared memory of a workgroup.
    pub shared_bytes: u32,
    /// Limit of storage buffers of a kernel.
    pub bindings: u32,
    /// Limit of bytes of a storage buffer that a kernel sees.
    pub range_bytes: u64,
    /// Alignment of a storage buffer's offset, in bytes.
    pub offset_alignment: u64,
    /// `true` if elements of 8 and 16 bits can be read and written directly; otherwise the words that contain them are.
    pub narrow_storage: bool,
    /// `true` if one instruction adds the products of four bytes.
    pub byte_dots: bool,
    /// `true` if workgroups should copy rows of products to shared memory: for devices with enough of it near their arithmetic.
    pub shares_tiles: bool,
}

impl Gpu {
    /// Limit of bytes of a position's local arrays. Devices have far fewer bytes of registers, and drivers fail with much larger arrays.
    pub const LOCAL_BYTES: u64 = 64 << 10;
}

/// The registers that hold a kernel's vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Registers {
    /// A number of registers with [`Machine::vector_bits`] bits.
    Vectors(u16),
    /// A number of registers with one element each; a vector takes one for each lane.
    Words(u16),
    /// A number of vectors that a position of a GPU holds. Each lane is a register, and no instruction moves elements between lanes.
    Lanes(u16),
}

impl Registers {
    /// Returns the number of registers.
    pub const fn count(self) -> u16 {
        match self {
            Self::Vectors(count) | Self::Words(count) | Self::Lanes(count) => count,
        }
    }
}

/// The owner of scratch memory inside independent loops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scratch {
    /// Rounds run in order on a core. Each finds what the rounds before it left, such as rows in a ring, and may overwrite it.
    OfAllRounds,
    /// Rounds are positions of a grid, and run in any order. No round finds what another one left, and each needs memory of its own.
    OfOneRound,
}

/// The widening dot product that a machine has as one instruction (or its shortest sequence).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DotProduct {
    /// Four unsigned × signed bytes into an i32 lane.
    UnsignedSigned8,
    /// Four signed × signed bytes into an i32 lane.
    Signed8,
    /// Two signed 16-bit products into an i32 lane.
    Signed16,
}

/// Method of scaling the sums of integer products to narrow integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Requantize {
    /// The steps of the rule: doubling high product, then a rounding shift with one count for all lanes.
    ByRule,
    /// A shorter sequence that is proven to give the same integers. It is a fused multiply-add of binary32, or an unsigned high product and shifts
    /// with separate counts for lanes.
    Fitted,
    /// A proven sequence of integer products, sums and shifts alone: for machines without fast floats. Quotients of integers become products,
    /// too.
    Products,
}

/// A CPU level. Its code runs on every CPU with the extensions in the row. It answers the questions of [`Machine`], too.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CpuMachine {
    /// Instruction set.
    pub isa: Isa,
    /// Name of the level on the command line: `x86-64-v3`, `aarch64`, `riscv64`.
    pub level: &'static str,
    /// Extensions that code may use.
    pub extensions: &'static [Extension],
    /// Capabilities for schedules.
    pub capabilities: Machine,
}

impl CpuMachine {
    /// Tests whether code may use an extension.
    pub fn has(&self, extension: Extension) -> bool {
        self.extensions.contains(&extension)
    }
}

impl Deref for CpuMachine {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.capabilities
    }
}

/// A GPU profile: requirements for the device. It answers the questions of [`Machine`], too.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GpuMachine {
    /// Name of the profile on the command line: `vulkan1.1`.
    pub level: &'static str,
    /// Limits that every device of the profile has.
    pub limits: Gpu,
    /// Capabilities for schedules.
    pub capabilities: Machine,
}

impl Deref for GpuMachine {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.capabilities
    }
}

/// Capabilities of a CPU level or a GPU profile, for schedules.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine {
    /// Bits of the vectors in schedules. With registers of one word, a vector is only as long as the widest sum. Longer vectors would become
    /// several instructions without benefit.
    pub vector_bits: u16,
    /// Registers for vectors.
    pub registers: Registers,
    /// Bits of the registers for indices, 64 or 32. Schedules use 64-bit indices, which are narrowed for shorter registers.
    pub index_bits: u8,
    /// `true` if a fused multiply-add is one instruction.
    pub fma: bool,
    /// Dot product of 8-bit integers.
    pub dot: DotProduct,
    /// `true` if [`Self::dot`] of bytes is one instruction.
    pub byte_fours: bool,
    /// `true` if one instruction multiplies two rows of eight bytes by two others, and adds to four sums.
    pub byte_squares: bool,
    /// `true` if one instruction adds sixteen products of signed bytes to a word. Vector registers hold the bytes, and words the sums.
    pub byte_sixteens: bool,
    /// `true` if one instruction adds products of signed bytes in 16 bits, and another one adds neighbouring 16-bit sums to 32-bit sums.
    pub adds_in_16_bits: bool,
    /// `true` if one instruction adds products of unsigned and signed bytes in pairs to 16 bits.
    pub byte_pairs: bool,
    /// `true` if one instruction adds 16-bit products in pairs to 32 bits.
    pub word_pairs: bool,
    /// `true` if a product has the low 32 bits alone, and is not added by the same instruction. One product of bytes in the halves of a word then
    /// serves two pixels.
    pub pixel_pairs: bool,
    /// Method of scaling sums.
    pub requantize: Requantize,
    /// `true` if floats are rounded by IEEE 754 on every device. Vulkan leaves quotients and fused products to the device.
    pub rounds_floats: bool,
    /// `true` if a kernel can round its floats towards zero.
    pub rounding_modes: bool,
    /// `true` if a multiply-add writes its sum's register, overwrites no factor, and reads one factor from memory.
    pub sums_in_place: bool,
    /// `true` if a product can use one lane of a register as a factor, so that one load serves several products.
    pub by_element: bool,
    /// `true` if one instruction shifts each 32-bit lane by a separate count.
    pub shifts_by_lane: bool,
    /// `true` if one instruction computes a doubling high product, and another one shifts each lane by a separate count and rounds.
    pub doubling_products: bool,
    /// `true` if one instruction gives only the high half of a product of words.
    pub high_products: bool,
    /// `true` if one instruction shifts a word right and saturates it.
    pub clamps: bool,
    /// `true` if loads and stores must be at multiples of their bytes.
    pub only_aligned: bool,
    /// `true` if separating the even and odd bytes of a vector costs less than a second sum for each output.
    pub splits_bytes: bool,
    /// `true` if one instruction multiplies each binary32 by a separate power of two.
    pub scales_floats: bool,
    /// `true` if loading binary16 as binary32 is one instruction.
    pub widens_halves: bool,
    /// Owner of scratch memory inside independent loops.
    pub scratch: Scratch,
    /// `true` if other rounds compute while one waits for its sums. Sums side by side then gain nothing.
    pub hides_latency: bool,
    /// `true` if looking up bytes in a table of 256 bytes in registers takes far fewer instructions than one by one.
    pub byte_tables: bool,
    /// `true` if looking up bytes in a table of 256 entries of 32 bits does, too.
    pub word_tables: bool,
    /// Block size, in bytes, of the instructions that interleave two vectors.
    pub interleaved_bytes: u16,
    /// Shortest lanes, in bytes, for an instruction that selects any lanes of two vectors; `None` without such an instruction.
    pub picked_lanes: Option<u32>,
    /// Longest vector, in lanes, for masked loads and stores with a run-time count; 0 without such instructions.
    pub masked_lanes: u16,
    /// `true` if code fetches elements of streamed buffers before it accesses them.
    pub fetches_ahead: bool,
    /// Level 1 data cache in bytes.
    pub l1_bytes: u64,
    /// Level 2 cache in bytes.
    pub l2_bytes: u64,
}

/// Longest elements, in bytes, that are transposed faster in squares side by side. Longer ones take as long, or longer in large matrices.
const MOST_UNPACKED: u32 = 2;

impl Machine {
    /// Tests whether instructions can combine the lanes of a vector, because a register holds it.
    pub fn combines_lanes(&self) -> bool {
        matches!(self.registers, Registers::Vectors(_))
    }

    /// Tests whether work on a vector costs less than work on each of its elements. This holds on GPUs, too, which do not combine lanes.
    pub fn has_vectors(&self) -> bool {
        !matches!(self.registers, Registers::Words(_))
    }

    /// Returns true if products of bytes take words apart first, into halves.
    pub fn takes_words_apart(&self) -> bool {
        matches!(self.registers, Registers::Words(_)) && self.dot == DotProduct::Signed8
    }

    /// Returns the alignment of the memory that callers provide, and of constants.
    pub fn alignment(&self) -> Alignment {
        match self.registers {
            Registers::Words(FEW_WORDS) if self.index_bits == 32 => Alignment::PAIR,
            Registers::Words(_) if self.index_bits == 32 => Alignment::WORDS,
            _ => Alignment::LINE,
        }
    }

    /// Tests whether rounds of independent loops may use the same scratch memory.
    pub fn shares_scratch(&self) -> bool {
        self.scratch == Scratch::OfAllRounds
    }

    /// Tests whether every lane of a vector is a register of its own.
    pub fn holds_lanes(&self) -> bool {
        matches!(self.registers, Registers::Lanes(_))
    }

    /// Tests whether work on operands pays if products of bytes then take them: flipped signs, and weights that are moved to signed bytes. On GPUs
    /// this gain is not measured.
    pub fn converts_operands(&self) -> bool {
        !self.holds_lanes()
    }

    /// Returns the bytes of a vector.
    pub fn vector_bytes(&self) -> u16 {
        self.vector_bits / 8
    }

    /// Returns the lanes of `bytes` bytes in vectors that few instructions can transpose or interleave. With an instruction that selects any
    /// lanes, this is a whole vector; otherwise 16 bytes.
    pub fn turned_lanes(&self, bytes: u32) -> u16 {
        match self.picked_lanes {
            Some(least) if bytes >= least => self.lanes(bytes),
            _ => (16 / bytes).max(1) as u16,
        }
    }

    /// Returns the number of 16-byte squares of `bytes`-byte elements that instructions transpose side by side in a vector.
    pub fn squares(&self, bytes: u32) -> u16 {
        let within = self.interleaved_bytes == 16 && bytes <= MOST_UNPACKED;
        if within { self.vector_bytes() / self.interleaved_bytes } else { 1 }
    }

    /// Returns the lanes of `bytes` bytes in a register that a copy goes through. Vector registers that hold bytes alone serve copies, too.
    pub fn copied_lanes(&self, bytes: u32) -> u16 {
        if self.byte_sixteens { (16 / bytes as u16).max(1) } else { self.lanes(bytes) }
    }

    /// Returns the lanes of `bytes` bytes in a vector; one if an element is longer.
    pub fn lanes(&self, bytes: u32) -> u16 {
        (self.vector_bits / (8 * bytes as u16)).max(1)
    }
}

/// The minimum for 128-bit vectors in 32 registers.
const LEAST: Machine = Machine {
    vector_bits: 128,
    registers: Registers::Vectors(32),
    index_bits: 64,
    fma: true,
    dot: DotProduct::Signed16,
    byte_fours: false,
    byte_squares: false,
    byte_sixteens: false,
    adds_in_16_bits: false,
    byte_pairs: false,
    word_pairs: false,
    pixel_pairs: false,
    requantize: Requantize::ByRule,
    rounds_floats: true,
    rounding_modes: false,
    sums_in_place: false,
    by_element: false,
    shifts_by_lane: false,
    doubling_products: false,
    high_products: false,
    clamps: false,
    only_aligned: false,
    splits_bytes: false,
    scales_floats: false,
    widens_halves: false,
    scratch: Scratch::OfAllRounds,
    hides_latency: false,
    byte_tables: false,
    word_tables: false,
    interleaved_bytes: 16,
    picked_lanes: None,
    masked_lanes: 0,
    fetches_ahead: false,
    l1_bytes: 32 << 10,
    l2_bytes: 256 << 10,
};

/// x86-64-v3: AVX2, FMA, F16C.
const X86_64_V3: CpuMachine = CpuMachine {
    isa: Isa::X86_64,
    level: "x86-64-v3",
    extensions: &[Extension::Avx2],
    capabilities: Machine {
        vector_bits: 256,
        registers: Registers::Vectors(16),
        byte_pairs: true,
        word_pairs: true,
        requantize: Requantize::Fitted,
        rounding_modes: true,
        sums_in_place: true,
        shifts_by_lane: true,
        splits_bytes: true,
        widens_halves: true,
        byte_tables: true,
        fetches_ahead: true,
        l2_bytes: 512 << 10,
        ..LEAST
    },
};

/// Armv8.0-A. Products of bytes fit 16 bits, and so do sums of two. So 16 products take three instructions, and eight if the factors have 16
/// bits.
const AARCH64: CpuMachine = CpuMachine {
    isa: Isa::Aarch64,
    level: "aarch64",
    extensions: &[],
    capabilities: Machine {
        dot: DotProduct::Signed8,
        adds_in_16_bits: true,
        requantize: Requantize::Fitted,
        sums_in_place: true,
        by_element: true,
        shifts_by_lane: true,
        doubling_products: true,
        ..LEAST
    },
};

/// Armv8.2-A with products of four bytes.
const DOTPROD: CpuMachine = CpuMachine {
    level: "aarch64+dotprod",
    extensions: &[Extension::DotProd],
    capabilities: Machine { byte_fours: true, ..AARCH64.capabilities },
    ..AARCH64
};

/// All machines, the default level of each instruction set first.
pub const MACHINES: &[CpuMachine] = &[
    X86_64_V3,
    CpuMachine {
        isa: Isa::X86_64,
        level: "x86-64-v2",
        extensions: &[],
        capabilities: Machine { registers: Registers::Vectors(16), fma: false, byte_pairs: true, word_pairs: true, ..LEAST },
    },
    CpuMachine {
        level: "x86-64-v4",
        extensions: &[Extension::Avx2, Extension::Avx512],
        capabilities: Machine {
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
            ..X86_64_V3.capabilities
        },
        ..X86_64_V3
    },
    AARCH64,
    DOTPROD,
    CpuMachine {
        level: "aarch64+i8mm",
        extensions: &[Extension::DotProd, Extension::I8mm],
        capabilities: Machine { byte_squares: true, ..DOTPROD.capabilities },
        ..DOTPROD
    },
    CpuMachine {
        isa: Isa::Riscv64,
        level: "riscv64",
        extensions: &[],
        capabilities: Machine { registers: Registers::Words(32), vector_bits: 32, interleaved_bytes: 4, ..LEAST },
    },
    // Registers may be longer than 128 bits. Code uses only these lanes, and no instruction depends on further ones.
    CpuMachine { isa: Isa::Riscv64, level: "rv64gcv", extensions: &[Extension::V], capabilities: LEAST },
];

/// A core of Arm's M profile with DSP instructions and binary32. A vector is one word, and fourteen registers hold words.
const WITH_FPU: Machine = Machine {
    registers: Registers::Words(14),
    vector_bits: 32,
    // Two instructions widen four bytes, and two multiply and add them.
    dot: DotProduct::Signed8,
    index_bits: 32,
    requantize: Requantize::Products,
    shifts_by_lane: true,
    high_products: true,
    clamps: true,
    interleaved_bytes: 4,
    l1_bytes: 1 << 10,
    l2_bytes: 1 << 10,
    ..LEAST
};

/// A core without an FPU.
const WITHOUT_FPU: Machine = Machine { fma: false, ..WITH_FPU };

/// A core without DSP instructions: bytes are widened one by one, and once for all products is best.
const WITHOUT_DSP: Machine = Machine { dot: DotProduct::Signed16, high_products: false, ..WITH_FPU };

/// Registers that most instructions of Armv6-M use.
const FEW_WORDS: u16 = 8;

/// Armv6-M. Most instructions only use eight registers, and products have 32 bits.
const BASELINE: Machine = Machine {
    registers: Registers::Words(FEW_WORDS),
    fma: false,
    // Bytes are loaded with their signs, and multiplied one by one.
    dot: DotProduct::Signed16,
    pixel_pairs: true,
    high_products: false,
    clamps: false,
    only_aligned: true,
    ..WITH_FPU
};

/// Makes a core of Arm's M profile.
const fn cortex(level: &'static str, extensions: &'static [Extension], capabilities: Machine) -> CpuMachine {
    CpuMachine { isa: Isa::Thumb, level, extensions, capabilities }
}

const CORTEX_M0PLUS: CpuMachine = cortex("cortex-m0plus", &[], BASELINE);
const CORTEX_M3: CpuMachine = cortex("cortex-m3", &[Extension::Thumb2], Machine { fma: false, ..WITHOUT_DSP });
const CORTEX_M4: CpuMachine = cortex("cortex-m4", &[Extension::Thumb2, Extension::Dsp], WITHOUT_FPU);
const CORTEX_M4F: CpuMachine = cortex("cortex-m4f", &[Extension::Thumb2, Extension::Dsp, Extension::Fpu], WITH_FPU);
const CORTEX_M7_DP: CpuMachine = cortex("cortex-m7+dp", &[Extension::Thumb2, Extension::Dsp, Extension::Fpu, Extension::Doubles], WITH_FPU);
const CORTEX_M33: CpuMachine = cortex("cortex-m33", &[Extension::Thumb2, Extension::Armv8M, Extension::Dsp, Extension::Fpu], WITH_FPU);
const CORTEX_M33_NOFP: CpuMachine = cortex("cortex-m33+nofp", &[Extension::Thumb2, Extension::Armv8M, Extension::Dsp], WITHOUT_FPU);
const CORTEX_M33_NODSP: CpuMachine = cortex("cortex-m33+nodsp", &[Extension::Thumb2, Extension::Armv8M, Extension::Fpu], WITHOUT_DSP);
const CORTEX_M33_LEAST: CpuMachine =
    cortex("cortex-m33+nodsp+nofp", &[Extension::Thumb2, Extension::Armv8M], Machine { fma: false, ..WITHOUT_DSP });
const CORTEX_M55: CpuMachine = cortex(
    "cortex-m55",
    &[Extension::Thumb2, Extension::Armv8M, Extension::Dsp, Extension::Fpu, Extension::Doubles, Extension::Mve],
    Machine { byte_sixteens: true, ..WITH_FPU },
);
/// Vectors are those of integers in any case, since vectors of floats lose subnormal numbers.
const CORTEX_M55_NOFP: CpuMachine = cortex(
    "cortex-m55+nofp",
    &[Extension::Thumb2, Extension::Armv8M, Extension::Dsp, Extension::Mve],
    Machine { byte_sixteens: true, ..WITHOUT_FPU },
);

/// RV32IMC: a core of RISC-V without floats. All but the zero register, the pointers that programs keep, and one for sequences hold words.
const RV32IMC: CpuMachine = CpuMachine {
    isa: Isa::Riscv32,
    level: "rv32imc",
    extensions: &[],
    capabilities: Machine {
        registers: Registers::Words(27),
        fma: false,
        clamps: false,
        only_aligned: true,
        // Bytes are loaded with their signs, and multiplied one by one.
        dot: DotProduct::Signed16,
        pixel_pairs: true,
        l1_bytes: 16 << 10,
        l2_bytes: 16 << 10,
        ..WITH_FPU
    },
};

/// Makes a core for programs that trap unaligned accesses.
const fn strict(level: &'static str, of: CpuMachine) -> CpuMachine {
    CpuMachine { level, capabilities: Machine { only_aligned: true, ..of.capabilities }, ..of }
}

/// Machines of 32-bit words: microcontrollers.
pub const MICROCONTROLLERS: &[CpuMachine] = &[
    CORTEX_M4F,
    CORTEX_M4,
    CpuMachine { level: "cortex-m7", ..CORTEX_M4F },
    CORTEX_M7_DP,
    CpuMachine { level: "cortex-m7+nofp", ..CORTEX_M4 },
    CORTEX_M33,
    CORTEX_M55,
    CORTEX_M55_NOFP,
    CpuMachine { level: "cortex-m85", ..CORTEX_M55 },
    CpuMachine { level: "cortex-m85+nofp", ..CORTEX_M55_NOFP },
    CORTEX_M33_NOFP,
    CORTEX_M33_NODSP,
    CORTEX_M33_LEAST,
    CORTEX_M3,
    strict("cortex-m3+strict-align", CORTEX_M3),
    strict("cortex-m4+strict-align", CORTEX_M4),
    strict("cortex-m4f+strict-align", CORTEX_M4F),
    strict("cortex-m7+strict-align", CORTEX_M4F),
    strict("cortex-m7+dp+strict-align", CORTEX_M7_DP),
    strict("cortex-m7+nofp+strict-align", CORTEX_M4),
    strict("cortex-m33+strict-align", CORTEX_M33),
    strict("cortex-m33+nofp+strict-align", CORTEX_M33_NOFP),
    strict("cortex-m33+nodsp+strict-align", CORTEX_M33_NODSP),
    strict("cortex-m33+nodsp+nofp+strict-align", CORTEX_M33_LEAST),
    strict("cortex-m55+strict-align", CORTEX_M55),
    strict("cortex-m55+nofp+strict-align", CORTEX_M55_NOFP),
    strict("cortex-m85+strict-align", CORTEX_M55),
    strict("cortex-m85+nofp+strict-align", CORTEX_M55_NOFP),
    CORTEX_M0PLUS,
    CpuMachine { level: "cortex-m0", ..CORTEX_M0PLUS },
    CpuMachine { level: "cortex-m23", extensions: &[Extension::Armv8M], ..CORTEX_M0PLUS },
    RV32IMC,
    CpuMachine { level: "rv32imac", ..RV32IMC },
    CpuMachine {
        level: "rv32imafc",
        extensions: &[Extension::Fpu],
        capabilities: Machine { fma: true, ..RV32IMC.capabilities },
        ..RV32IMC
    },
];

/// Alignment of a storage buffer's offset, in bytes, for every Vulkan device.
pub const OFFSET_ALIGNMENT: u64 = 256;

/// Limits of every device with Vulkan 1.1.
const VULKAN_1_1: Gpu = Gpu {
    invocations: 128,
    shared_bytes: 16 << 10,
    bindings: 4,
    range_bytes: 128 << 20,
    offset_alignment: OFFSET_ALIGNMENT,
    narrow_storage: false,
    byte_dots: false,
    shares_tiles: false,
};

/// Makes a profile of GPUs, whose vectors are four words. A kernel runs once for each position of a grid.
const fn gpu(level: &'static str, limits: Gpu) -> GpuMachine {
    let capabilities = Machine {
        registers: Registers::Lanes(32),
        index_bits: 32,
        dot: DotProduct::Signed8,
        rounds_floats: false,
        shifts_by_lane: true,
        widens_halves: true,
        scratch: Scratch::OfOneRound,
        hides_latency: true,
        ..LEAST
    };
    GpuMachine { level, limits, capabilities }
}

/// The Vulkan profiles, the default first: requirements for the device.
pub const GPUS: &[GpuMachine] = &[
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
            shares_tiles: true,
            ..VULKAN_1_1
        },
    ),
];

/// Returns the machine of a level's name.
pub fn machine(level: &str) -> Option<&'static CpuMachine> {
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
            if MICROCONTROLLERS.contains(machine) {
                let [has_fpu, has_dsp, has_mve] = [Extension::Fpu, Extension::Dsp, Extension::Mve].map(|extension| machine.has(extension));
                let found = (machine.fma, machine.takes_words_apart(), machine.byte_sixteens);
                assert_eq!(found, (has_fpu, has_dsp, has_mve), "{level} has other instructions");
            }
            let all = MACHINES.iter().chain(MICROCONTROLLERS);
            assert_eq!(all.filter(|other| other.level == level).count(), 1, "{level}");
        }
    }
}
