//! The vector instructions that kernels become, one row each, with their encoding. Names are those of Intel's manual. If VEX and EVEX have different
//! names, there are two rows.

use super::length::Length;
use crate::own::rows;
use smallvec::{SmallVec, smallvec};

/// Mandatory prefix; the discriminant is its code in VEX and EVEX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prefix {
    /// No prefix.
    None,
    /// 66.
    P66,
    /// F3.
    PF3,
    /// F2.
    PF2,
}

/// Opcode map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Map {
    /// 0F.
    M0F = 1,
    /// 0F 38.
    M38 = 2,
    /// 0F 3A.
    M3A = 3,
}

/// Size of an operand in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tuple {
    /// A vector.
    Full,
    /// Half a vector.
    Half,
    /// A quarter of a vector.
    Quarter,
    /// An eighth of a vector.
    Eighth,
    /// A fixed number of bytes.
    Fixed(u8),
}

impl Tuple {
    /// Returns the bytes at a vector length.
    pub fn bytes(self, length: Length) -> u32 {
        match self {
            Self::Full => length.bytes(),
            Self::Half => length.bytes() / 2,
            Self::Quarter => length.bytes() / 4,
            Self::Eighth => length.bytes() / 8,
            Self::Fixed(bytes) => u32::from(bytes),
        }
    }
}

/// Field of each operand, in the order of the manual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// reg, vvvv, rm.
    Rvm,
    /// reg, rm.
    Rm,
    /// rm, reg.
    Mr,
    /// vvvv, rm; reg holds the digit of the instruction.
    Vm(u8),
    /// reg, vvvv, rm, register in the last byte.
    Rvmr,
    /// reg, rm, vvvv: general-purpose registers.
    General,
}

/// A file of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum File {
    /// Vector registers.
    Vector,
    /// Mask registers.
    Mask,
    /// General-purpose registers.
    General,
}

/// The kinds of operand that ModRM.rm accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Memory {
    /// A register only.
    No,
    /// Memory or a register.
    Yes,
    /// Memory only.
    Only,
}

/// Vector lengths of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lengths {
    /// All lengths.
    All,
    /// 128 bits: operations on one element, on masks, on general-purpose registers.
    Shortest,
    /// All but 128 bits: moves of lanes across 128 bits.
    Long,
    /// 512 bits only.
    Longest,
}

/// The extension of x86-64 that defines the shortest encoding of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    /// AVX or AVX2.
    Avx2,
    /// FMA3.
    Fma,
    /// F16C.
    F16c,
    /// BMI2.
    Bmi2,
    /// AVX-512 F, BW, DQ, CD, VL or VNNI.
    Avx512,
}

/// An instruction.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The manual's name, in lower case.
    pub name: &'static str,
    /// Mandatory prefix.
    pub prefix: Prefix,
    /// Opcode map.
    pub map: Map,
    /// Opcode.
    pub opcode: u8,
    /// W of the VEX encoding, if there is one.
    pub vex: Option<bool>,
    /// W of the EVEX encoding, if there is one.
    pub evex: Option<bool>,
    /// Bytes of the operand in memory.
    pub tuple: Tuple,
    /// Fields of the operands.
    pub shape: Shape,
    /// Register file of ModRM.reg.
    pub reg: File,
    /// Register file of VEX.vvvv.
    pub vvvv: File,
    /// Register file of ModRM.rm.
    pub rm: File,
    /// Kinds of operand in ModRM.rm.
    pub memory: Memory,
    /// `true` if the last operand is an immediate.
    pub number: bool,
    /// `true` if the result register is also read: as an accumulator, or as indices.
    pub reads_result: bool,
    /// Vector lengths.
    pub lengths: Lengths,
    /// Extension that defines the instruction.
    pub feature: Feature,
    /// `true` if VEX.L is 1 at every length: operations on two mask registers.
    pub long: bool,
    /// `true` if the name of the EVEX encoding has an additional letter d at its end.
    pub suffix: bool,
    /// `true` if the EVEX encoding can repeat one element of memory over the lanes. Set only where a kernel benefits.
    pub repeats: bool,
    /// `true` if the last two operands can be exchanged.
    pub commutes: bool,
}

impl Row {
    /// Tests whether the instruction has a vector length.
    pub fn has(&self, length: Length) -> bool {
        match (self.lengths, length) {
            (Lengths::All, Length::Z) => self.evex.is_some(),
            (Lengths::All, _) => true,
            (Lengths::Shortest, length) => length == Length::X,
            (Lengths::Long, Length::Z) => self.evex.is_some(),
            (Lengths::Long, length) => length == Length::Y,
            (Lengths::Longest, length) => length == Length::Z,
        }
    }

    /// Returns the register file of each operand, in the order of the manual. An operand that may be memory has the file of its register form.
    pub fn files(&self) -> SmallVec<[File; 4]> {
        match self.shape {
            Shape::Rvm => smallvec![self.reg, self.vvvv, self.rm],
            Shape::Rm => smallvec![self.reg, self.rm],
            Shape::Mr => smallvec![self.rm, self.reg],
            Shape::Vm(_) => smallvec![self.vvvv, self.rm],
            Shape::Rvmr => smallvec![self.reg, self.vvvv, self.rm, File::Vector],
            Shape::General => smallvec![self.reg, self.rm, self.vvvv],
        }
    }

    /// Returns the position of the operand that may be memory.
    pub fn memory_operand(&self) -> usize {
        match self.shape {
            Shape::Mr => 0,
            Shape::Rm | Shape::Vm(_) | Shape::General => 1,
            Shape::Rvm | Shape::Rvmr => 2,
        }
    }
}

use File::{General as G, Mask as K};
use Lengths::{Long, Longest, Shortest};
use Map::{M0F, M3A, M38};
use Prefix::{P66, PF2, PF3};
use Shape::{General, Mr, Rm, Rvm, Rvmr, Vm};
use Tuple::{Eighth, Fixed, Full, Half, Quarter};

const fn row(name: &'static str, prefix: Prefix, map: Map, opcode: u8, shape: Shape) -> Row {
    let general = matches!(shape, General);
    let file = if general { G } else { File::Vector };
    Row {
        name,
        prefix,
        map,
        opcode,
        vex: None,
        evex: None,
        tuple: Full,
        shape,
        reg: file,
        vvvv: file,
        rm: file,
        memory: Memory::Yes,
        number: matches!(shape, Vm(_)),
        reads_result: false,
        lengths: if general { Shortest } else { Lengths::All },
        feature: Feature::Avx2,
        long: false,
        suffix: false,
        repeats: false,
        commutes: false,
    }
}

/// Makes a row with both encodings; `evex` is W of EVEX, and VEX has W 0.
const fn both(name: &'static str, prefix: Prefix, map: Map, opcode: u8, evex: u8, shape: Shape) -> Row {
    Row { vex: Some(false), evex: Some(evex == 1), ..row(name, prefix, map, opcode, shape) }
}

const fn vex(name: &'static str, prefix: Prefix, map: Map, opcode: u8, w: u8, shape: Shape) -> Row {
    Row { vex: Some(w == 1), ..row(name, prefix, map, opcode, shape) }
}

const fn evex(name: &'static str, prefix: Prefix, map: Map, opcode: u8, w: u8, shape: Shape) -> Row {
    Row { evex: Some(w == 1), feature: Feature::Avx512, ..row(name, prefix, map, opcode, shape) }
}

impl Row {
    const fn tuple(self, tuple: Tuple) -> Self {
        Self { tuple, ..self }
    }

    /// Sets W of VEX to 1.
    const fn w1(self) -> Self {
        Self { vex: Some(true), ..self }
    }

    const fn suffix(self) -> Self {
        Self { suffix: true, ..self }
    }

    const fn long(self) -> Self {
        Self { long: true, ..self }
    }

    const fn repeats(self) -> Self {
        Self { repeats: true, ..self }
    }

    const fn commutes(self) -> Self {
        Self { commutes: true, ..self }
    }

    const fn reg(self, reg: File) -> Self {
        Self { reg, ..self }
    }

    const fn rm(self, rm: File) -> Self {
        Self { rm, ..self }
    }

    /// Puts all operands into mask registers.
    const fn masks(self) -> Self {
        Self { reg: K, vvvv: K, rm: K, lengths: Shortest, feature: Feature::Avx512, ..self }
    }

    const fn memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// Adds an immediate as the last operand.
    const fn number(self) -> Self {
        Self { number: true, ..self }
    }

    const fn reads_result(self) -> Self {
        Self { reads_result: true, ..self }
    }

    const fn lengths(self, lengths: Lengths) -> Self {
        Self { lengths, ..self }
    }

    const fn feature(self, feature: Feature) -> Self {
        Self { feature, ..self }
    }
}

rows! {
    // Integer sums and products.
    VPADDB = both("vpaddb", P66, M0F, 0xFC, 0, Rvm);
    VPADDW = both("vpaddw", P66, M0F, 0xFD, 0, Rvm);
    VPADDD = both("vpaddd", P66, M0F, 0xFE, 0, Rvm).repeats().commutes();
    VPADDQ = both("vpaddq", P66, M0F, 0xD4, 1, Rvm);
    VPADDUSB = both("vpaddusb", P66, M0F, 0xDC, 0, Rvm);
    VPSUBB = both("vpsubb", P66, M0F, 0xF8, 0, Rvm);
    VPSUBW = both("vpsubw", P66, M0F, 0xF9, 0, Rvm);
    VPSUBD = both("vpsubd", P66, M0F, 0xFA, 0, Rvm).repeats();
    VPSUBQ = both("vpsubq", P66, M0F, 0xFB, 1, Rvm);
    VPADDSB = both("vpaddsb", P66, M0F, 0xEC, 0, Rvm);
    VPADDSW = both("vpaddsw", P66, M0F, 0xED, 0, Rvm);
    VPSUBSB = both("vpsubsb", P66, M0F, 0xE8, 0, Rvm);
    VPSUBSW = both("vpsubsw", P66, M0F, 0xE9, 0, Rvm);
    VPMULLW = both("vpmullw", P66, M0F, 0xD5, 0, Rvm);
    VPMULLD = both("vpmulld", P66, M38, 0x40, 0, Rvm).repeats().commutes();
    VPMULLQ = evex("vpmullq", P66, M38, 0x40, 1, Rvm);
    VPMULDQ = both("vpmuldq", P66, M38, 0x28, 1, Rvm);
    VPMULUDQ = both("vpmuludq", P66, M0F, 0xF4, 1, Rvm);
    VPMADDWD = both("vpmaddwd", P66, M0F, 0xF5, 0, Rvm);
    VPMADDUBSW = both("vpmaddubsw", P66, M38, 0x04, 0, Rvm);
    VPDPBUSD = evex("vpdpbusd", P66, M38, 0x50, 0, Rvm).reads_result().repeats();
    VPDPWSSD = evex("vpdpwssd", P66, M38, 0x52, 0, Rvm).reads_result().repeats().commutes();

    // Bits.
    VPAND = both("vpand", P66, M0F, 0xDB, 0, Rvm).suffix();
    VPOR = both("vpor", P66, M0F, 0xEB, 0, Rvm).suffix();
    VPXOR = both("vpxor", P66, M0F, 0xEF, 0, Rvm).suffix();
    VPTERNLOGD = evex("vpternlogd", P66, M3A, 0x25, 0, Rvm).reads_result().number();

    // Shifts.
    VPSLLVD = both("vpsllvd", P66, M38, 0x47, 0, Rvm);
    VPSLLVQ = both("vpsllvq", P66, M38, 0x47, 1, Rvm).w1();
    VPSRLVD = both("vpsrlvd", P66, M38, 0x45, 0, Rvm);
    VPSRLVQ = both("vpsrlvq", P66, M38, 0x45, 1, Rvm).w1();
    VPSRAVD = both("vpsravd", P66, M38, 0x46, 0, Rvm);
    VPSRAVQ = evex("vpsravq", P66, M38, 0x46, 1, Rvm);
    VPSLLVW = evex("vpsllvw", P66, M38, 0x12, 1, Rvm);
    VPSRLVW = evex("vpsrlvw", P66, M38, 0x10, 1, Rvm);
    VPSRAVW = evex("vpsravw", P66, M38, 0x11, 1, Rvm);
    VPSLLW = both("vpsllw", P66, M0F, 0x71, 0, Vm(6)).memory(Memory::No);
    VPSRLW = both("vpsrlw", P66, M0F, 0x71, 0, Vm(2)).memory(Memory::No);
    VPSRAW = both("vpsraw", P66, M0F, 0x71, 0, Vm(4)).memory(Memory::No);
    VPSLLD = both("vpslld", P66, M0F, 0x72, 0, Vm(6)).memory(Memory::No);
    VPSRLD = both("vpsrld", P66, M0F, 0x72, 0, Vm(2)).memory(Memory::No);
    VPSRAD = both("vpsrad", P66, M0F, 0x72, 0, Vm(4)).memory(Memory::No);
    VPSRAQ = evex("vpsraq", P66, M0F, 0x72, 1, Vm(4)).memory(Memory::No);
    VPSLLQ = both("vpsllq", P66, M0F, 0x73, 1, Vm(6)).memory(Memory::No);
    VPSRLQ = both("vpsrlq", P66, M0F, 0x73, 1, Vm(2)).memory(Memory::No);
    VPSRLDQ = both("vpsrldq", P66, M0F, 0x73, 0, Vm(3)).memory(Memory::No);

    // Integer minimum, maximum, magnitude, leading zeros.
    VPMINSB = both("vpminsb", P66, M38, 0x38, 0, Rvm);
    VPMINSW = both("vpminsw", P66, M0F, 0xEA, 0, Rvm);
    VPMINSD = both("vpminsd", P66, M38, 0x39, 0, Rvm).repeats();
    VPMINSQ = evex("vpminsq", P66, M38, 0x39, 1, Rvm);
    VPMAXSB = both("vpmaxsb", P66, M38, 0x3C, 0, Rvm);
    VPMAXSW = both("vpmaxsw", P66, M0F, 0xEE, 0, Rvm);
    VPMAXSD = both("vpmaxsd", P66, M38, 0x3D, 0, Rvm).repeats();
    VPMAXSQ = evex("vpmaxsq", P66, M38, 0x3D, 1, Rvm);
    VPMINUB = both("vpminub", P66, M0F, 0xDA, 0, Rvm);
    VPMINUW = both("vpminuw", P66, M38, 0x3A, 0, Rvm);
    VPMINUD = both("vpminud", P66, M38, 0x3B, 0, Rvm);
    VPMINUQ = evex("vpminuq", P66, M38, 0x3B, 1, Rvm);
    VPMAXUB = both("vpmaxub", P66, M0F, 0xDE, 0, Rvm);
    VPMAXUW = both("vpmaxuw", P66, M38, 0x3E, 0, Rvm);
    VPMAXUD = both("vpmaxud", P66, M38, 0x3F, 0, Rvm);
    VPMAXUQ = evex("vpmaxuq", P66, M38, 0x3F, 1, Rvm);
    VPABSB = both("vpabsb", P66, M38, 0x1C, 0, Rm);
    VPABSW = both("vpabsw", P66, M38, 0x1D, 0, Rm);
    VPABSD = both("vpabsd", P66, M38, 0x1E, 0, Rm);
    VPABSQ = evex("vpabsq", P66, M38, 0x1F, 1, Rm);
    VPLZCNTD = evex("vplzcntd", P66, M38, 0x44, 0, Rm);
    VPLZCNTQ = evex("vplzcntq", P66, M38, 0x44, 1, Rm);

    // Floats.
    VADDPS = both("vaddps", Prefix::None, M0F, 0x58, 0, Rvm).repeats().commutes();
    VADDPD = both("vaddpd", P66, M0F, 0x58, 1, Rvm).repeats().commutes();
    VSUBPS = both("vsubps", Prefix::None, M0F, 0x5C, 0, Rvm).repeats();
    VSUBPD = both("vsubpd", P66, M0F, 0x5C, 1, Rvm);
    VMULPS = both("vmulps", Prefix::None, M0F, 0x59, 0, Rvm).repeats().commutes();
    VMULPD = both("vmulpd", P66, M0F, 0x59, 1, Rvm).repeats().commutes();
    VDIVPS = both("vdivps", Prefix::None, M0F, 0x5E, 0, Rvm).repeats();
    VDIVPD = both("vdivpd", P66, M0F, 0x5E, 1, Rvm);
    VMINPS = both("vminps", Prefix::None, M0F, 0x5D, 0, Rvm).repeats();
    VMINPD = both("vminpd", P66, M0F, 0x5D, 1, Rvm);
    VMAXPS = both("vmaxps", Prefix::None, M0F, 0x5F, 0, Rvm).repeats();
    VMAXPD = both("vmaxpd", P66, M0F, 0x5F, 1, Rvm);
    VSCALEFPS = evex("vscalefps", P66, M38, 0x2C, 0, Rvm).repeats();
    VSQRTPS = both("vsqrtps", Prefix::None, M0F, 0x51, 0, Rm);
    VSQRTPD = both("vsqrtpd", P66, M0F, 0x51, 1, Rm);
    VFMADD213PS = both("vfmadd213ps", P66, M38, 0xA8, 0, Rvm).reads_result().feature(Feature::Fma).repeats();
    VFMADD231PS = both("vfmadd231ps", P66, M38, 0xB8, 0, Rvm).reads_result().feature(Feature::Fma).repeats().commutes();
    VFMADD231PD = both("vfmadd231pd", P66, M38, 0xB8, 1, Rvm).w1().reads_result().feature(Feature::Fma).repeats().commutes();
    VROUNDPS = vex("vroundps", P66, M3A, 0x08, 0, Rm).number();
    VROUNDPD = vex("vroundpd", P66, M3A, 0x09, 0, Rm).number();
    VRNDSCALEPS = evex("vrndscaleps", P66, M3A, 0x08, 0, Rm).number();
    VRNDSCALEPD = evex("vrndscalepd", P66, M3A, 0x09, 1, Rm).number();

    // Comparisons to lanes of ones.
    VPCMPEQB = vex("vpcmpeqb", P66, M0F, 0x74, 0, Rvm);
    VPCMPEQW = vex("vpcmpeqw", P66, M0F, 0x75, 0, Rvm);
    VPCMPEQD = vex("vpcmpeqd", P66, M0F, 0x76, 0, Rvm);
    VPCMPEQQ = vex("vpcmpeqq", P66, M38, 0x29, 0, Rvm);
    VPCMPGTB = vex("vpcmpgtb", P66, M0F, 0x64, 0, Rvm);
    VPCMPGTW = vex("vpcmpgtw", P66, M0F, 0x65, 0, Rvm);
    VPCMPGTD = vex("vpcmpgtd", P66, M0F, 0x66, 0, Rvm);
    VPCMPGTQ = vex("vpcmpgtq", P66, M38, 0x37, 0, Rvm);
    VCMPPS = vex("vcmpps", Prefix::None, M0F, 0xC2, 0, Rvm).number();
    VCMPPD = vex("vcmppd", P66, M0F, 0xC2, 0, Rvm).number();
    VPBLENDVB = vex("vpblendvb", P66, M3A, 0x4C, 0, Rvmr);
    VPBLENDD = vex("vpblendd", P66, M3A, 0x02, 0, Rvm).number();
    VBLENDVPS = vex("vblendvps", P66, M3A, 0x4A, 0, Rvmr);
    VBLENDVPD = vex("vblendvpd", P66, M3A, 0x4B, 0, Rvmr);

    // Comparisons to mask registers, and operations on masks.
    VPCMPB = evex("vpcmpb", P66, M3A, 0x3F, 0, Rvm).reg(K).number();
    VPCMPW = evex("vpcmpw", P66, M3A, 0x3F, 1, Rvm).reg(K).number();
    VPCMPD = evex("vpcmpd", P66, M3A, 0x1F, 0, Rvm).reg(K).number();
    VPCMPQ = evex("vpcmpq", P66, M3A, 0x1F, 1, Rvm).reg(K).number();
    VPCMPUB = evex("vpcmpub", P66, M3A, 0x3E, 0, Rvm).reg(K).number();
    VPCMPUW = evex("vpcmpuw", P66, M3A, 0x3E, 1, Rvm).reg(K).number();
    VPCMPUD = evex("vpcmpud", P66, M3A, 0x1E, 0, Rvm).reg(K).number();
    VPCMPUQ = evex("vpcmpuq", P66, M3A, 0x1E, 1, Rvm).reg(K).number();
    VCMPPS_K = evex("vcmpps", Prefix::None, M0F, 0xC2, 0, Rvm).reg(K).number();
    VCMPPD_K = evex("vcmppd", P66, M0F, 0xC2, 1, Rvm).reg(K).number();
    VPTESTMB = evex("vptestmb", P66, M38, 0x26, 0, Rvm).reg(K);
    VPTESTMW = evex("vptestmw", P66, M38, 0x26, 1, Rvm).reg(K);
    VPTESTMD = evex("vptestmd", P66, M38, 0x27, 0, Rvm).reg(K);
    VPMOVW2M = evex("vpmovw2m", PF3, M38, 0x29, 1, Rm).reg(K).memory(Memory::No);
    VPBLENDMB = evex("vpblendmb", P66, M38, 0x66, 0, Rvm);
    VPBLENDMW = evex("vpblendmw", P66, M38, 0x66, 1, Rvm);
    VPBLENDMD = evex("vpblendmd", P66, M38, 0x64, 0, Rvm);
    VPBLENDMQ = evex("vpblendmq", P66, M38, 0x64, 1, Rvm);
    VPMOVM2B = evex("vpmovm2b", PF3, M38, 0x28, 0, Rm).rm(K).memory(Memory::No);
    VPMOVM2W = evex("vpmovm2w", PF3, M38, 0x28, 1, Rm).rm(K).memory(Memory::No);
    VPMOVM2D = evex("vpmovm2d", PF3, M38, 0x38, 0, Rm).rm(K).memory(Memory::No);
    VPMOVM2Q = evex("vpmovm2q", PF3, M38, 0x38, 1, Rm).rm(K).memory(Memory::No);
    KMOVQ_LOAD = vex("kmovq", PF2, M0F, 0x92, 1, Rm).masks().rm(G).memory(Memory::No);
    KMOVQ_STORE = vex("kmovq", PF2, M0F, 0x93, 1, Rm).masks().reg(G).memory(Memory::No);
    KMOVQ = vex("kmovq", Prefix::None, M0F, 0x90, 1, Rm).tuple(Fixed(8)).masks();
    KMOVQ_MEMORY = vex("kmovq", Prefix::None, M0F, 0x91, 1, Mr).tuple(Fixed(8)).masks().memory(Memory::Only);
    KANDQ = vex("kandq", Prefix::None, M0F, 0x41, 1, Rvm).long().masks().memory(Memory::No);
    KORQ = vex("korq", Prefix::None, M0F, 0x45, 1, Rvm).long().masks().memory(Memory::No);
    KXORQ = vex("kxorq", Prefix::None, M0F, 0x47, 1, Rvm).long().masks().memory(Memory::No);
    KNOTQ = vex("knotq", Prefix::None, M0F, 0x44, 1, Rm).masks().memory(Memory::No);
    KSHIFTLQ = vex("kshiftlq", P66, M3A, 0x33, 1, Rm).masks().memory(Memory::No).number();
    KSHIFTRQ = vex("kshiftrq", P66, M3A, 0x31, 1, Rm).masks().memory(Memory::No).number();

    // Moves.
    VMOVAPS = both("vmovaps", Prefix::None, M0F, 0x28, 0, Rm);
    VMOVUPS = both("vmovups", Prefix::None, M0F, 0x10, 0, Rm);
    VMOVUPS_STORE = both("vmovups", Prefix::None, M0F, 0x11, 0, Mr);
    VMOVDQU8 = evex("vmovdqu8", PF2, M0F, 0x6F, 0, Rm);
    VMOVDQU16 = evex("vmovdqu16", PF2, M0F, 0x6F, 1, Rm);
    VMOVDQU32 = evex("vmovdqu32", PF3, M0F, 0x6F, 0, Rm);
    VMOVDQU64 = evex("vmovdqu64", PF3, M0F, 0x6F, 1, Rm);
    VMOVDQU8_STORE = evex("vmovdqu8", PF2, M0F, 0x7F, 0, Mr);
    VMOVDQU16_STORE = evex("vmovdqu16", PF2, M0F, 0x7F, 1, Mr);
    VMOVDQU32_STORE = evex("vmovdqu32", PF3, M0F, 0x7F, 0, Mr);
    VMOVDQU64_STORE = evex("vmovdqu64", PF3, M0F, 0x7F, 1, Mr);
    VMOVSS = both("vmovss", PF3, M0F, 0x10, 0, Rm).tuple(Fixed(4)).memory(Memory::Only).lengths(Shortest);
    VMOVSS_STORE = both("vmovss", PF3, M0F, 0x11, 0, Mr).tuple(Fixed(4)).memory(Memory::Only).lengths(Shortest);
    VMOVSD = both("vmovsd", PF2, M0F, 0x10, 1, Rm).tuple(Fixed(8)).memory(Memory::Only).lengths(Shortest);
    VMOVSD_STORE = both("vmovsd", PF2, M0F, 0x11, 1, Mr).tuple(Fixed(8)).memory(Memory::Only).lengths(Shortest);
    VMOVD = both("vmovd", P66, M0F, 0x6E, 0, Rm).tuple(Fixed(4)).rm(G).lengths(Shortest);
    VMOVQ = both("vmovq", P66, M0F, 0x6E, 1, Rm).w1().tuple(Fixed(8)).rm(G).lengths(Shortest);
    VMOVD_STORE = both("vmovd", P66, M0F, 0x7E, 0, Mr).tuple(Fixed(4)).rm(G).lengths(Shortest);
    VMOVQ_STORE = both("vmovq", P66, M0F, 0x7E, 1, Mr).w1().tuple(Fixed(8)).rm(G).lengths(Shortest);
    VPEXTRB = both("vpextrb", P66, M3A, 0x14, 0, Mr).tuple(Fixed(1)).rm(G).lengths(Shortest).number();
    VPEXTRW = both("vpextrw", P66, M3A, 0x15, 0, Mr).tuple(Fixed(2)).rm(G).lengths(Shortest).number();
    VPINSRB = both("vpinsrb", P66, M3A, 0x20, 0, Rvm).tuple(Fixed(1)).rm(G).lengths(Shortest).number();
    VPINSRW = both("vpinsrw", P66, M0F, 0xC4, 0, Rvm).tuple(Fixed(2)).rm(G).lengths(Shortest).number();
    VPINSRD = both("vpinsrd", P66, M3A, 0x22, 0, Rvm).tuple(Fixed(4)).rm(G).lengths(Shortest).number();
    VPINSRQ = both("vpinsrq", P66, M3A, 0x22, 1, Rvm).w1().tuple(Fixed(8)).rm(G).lengths(Shortest).number();
    VPBROADCASTB = both("vpbroadcastb", P66, M38, 0x78, 0, Rm).tuple(Fixed(1));
    VPBROADCASTW = both("vpbroadcastw", P66, M38, 0x79, 0, Rm).tuple(Fixed(2));
    // Not `vbroadcastss`, which a Zen 4 loads half as often.
    VPBROADCASTD = both("vpbroadcastd", P66, M38, 0x58, 0, Rm).tuple(Fixed(4));
    VPBROADCASTQ = both("vpbroadcastq", P66, M38, 0x59, 1, Rm).tuple(Fixed(8));
    VBROADCASTI128 = vex("vbroadcasti128", P66, M38, 0x5A, 0, Rm).tuple(Fixed(16)).memory(Memory::Only).lengths(Long);
    VBROADCASTI32X4 = evex("vbroadcasti32x4", P66, M38, 0x5A, 0, Rm).tuple(Fixed(16)).memory(Memory::Only).lengths(Long);

    // Pieces of registers.
    VEXTRACTI128 = vex("vextracti128", P66, M3A, 0x39, 0, Mr).tuple(Fixed(16)).lengths(Long).number();
    VEXTRACTI32X4 = evex("vextracti32x4", P66, M3A, 0x39, 0, Mr).tuple(Fixed(16)).lengths(Long).number();
    VEXTRACTI64X4 = evex("vextracti64x4", P66, M3A, 0x3B, 1, Mr).tuple(Fixed(32)).lengths(Longest).number();
    VINSERTI128 = vex("vinserti128", P66, M3A, 0x38, 0, Rvm).tuple(Fixed(16)).lengths(Long).number();
    VINSERTI32X4 = evex("vinserti32x4", P66, M3A, 0x38, 0, Rvm).tuple(Fixed(16)).lengths(Long).number();
    VINSERTI64X4 = evex("vinserti64x4", P66, M3A, 0x3A, 1, Rvm).tuple(Fixed(32)).lengths(Longest).number();

    // Permutations.
    VPSHUFB = both("vpshufb", P66, M38, 0x00, 0, Rvm);
    VSHUFPS = both("vshufps", Prefix::None, M0F, 0xC6, 0, Rvm).number();
    VPERMQ = both("vpermq", P66, M3A, 0x00, 1, Rm).w1().lengths(Long).number();
    VPERMD = both("vpermd", P66, M38, 0x36, 0, Rvm).lengths(Long);
    VPERMT2W = evex("vpermt2w", P66, M38, 0x7D, 1, Rvm).reads_result();
    VPERMI2W = evex("vpermi2w", P66, M38, 0x75, 1, Rvm).reads_result();
    VPERMI2D = evex("vpermi2d", P66, M38, 0x76, 0, Rvm).reads_result();
    VPERMT2D = evex("vpermt2d", P66, M38, 0x7E, 0, Rvm).reads_result();
    VPERMI2Q = evex("vpermi2q", P66, M38, 0x76, 1, Rvm).reads_result();
    VMOVSHDUP = both("vmovshdup", PF3, M0F, 0x16, 0, Rm);
    VPERMQ_LANES = evex("vpermq", P66, M38, 0x36, 1, Rvm).lengths(Long);
    VPUNPCKLBW = both("vpunpcklbw", P66, M0F, 0x60, 0, Rvm);
    VPUNPCKHBW = both("vpunpckhbw", P66, M0F, 0x68, 0, Rvm);
    VPUNPCKLWD = both("vpunpcklwd", P66, M0F, 0x61, 0, Rvm);
    VPUNPCKHWD = both("vpunpckhwd", P66, M0F, 0x69, 0, Rvm);
    VPUNPCKLDQ = both("vpunpckldq", P66, M0F, 0x62, 0, Rvm);
    VPUNPCKHDQ = both("vpunpckhdq", P66, M0F, 0x6A, 0, Rvm);
    VPUNPCKLQDQ = both("vpunpcklqdq", P66, M0F, 0x6C, 1, Rvm);
    VPUNPCKHQDQ = both("vpunpckhqdq", P66, M0F, 0x6D, 1, Rvm);
    VPACKSSWB = both("vpacksswb", P66, M0F, 0x63, 0, Rvm);
    VPACKUSWB = both("vpackuswb", P66, M0F, 0x67, 0, Rvm);
    VPACKSSDW = both("vpackssdw", P66, M0F, 0x6B, 0, Rvm);
    VPACKUSDW = both("vpackusdw", P66, M38, 0x2B, 0, Rvm);

    // Conversions.
    VPMOVSXBW = both("vpmovsxbw", P66, M38, 0x20, 0, Rm).tuple(Half);
    VPMOVSXBD = both("vpmovsxbd", P66, M38, 0x21, 0, Rm).tuple(Quarter);
    VPMOVSXBQ = both("vpmovsxbq", P66, M38, 0x22, 0, Rm).tuple(Eighth);
    VPMOVSXWD = both("vpmovsxwd", P66, M38, 0x23, 0, Rm).tuple(Half);
    VPMOVSXWQ = both("vpmovsxwq", P66, M38, 0x24, 0, Rm).tuple(Quarter);
    VPMOVSXDQ = both("vpmovsxdq", P66, M38, 0x25, 0, Rm).tuple(Half);
    VPMOVZXBW = both("vpmovzxbw", P66, M38, 0x30, 0, Rm).tuple(Half);
    VPMOVZXBD = both("vpmovzxbd", P66, M38, 0x31, 0, Rm).tuple(Quarter);
    VPMOVZXBQ = both("vpmovzxbq", P66, M38, 0x32, 0, Rm).tuple(Eighth);
    VPMOVZXWD = both("vpmovzxwd", P66, M38, 0x33, 0, Rm).tuple(Half);
    VPMOVZXWQ = both("vpmovzxwq", P66, M38, 0x34, 0, Rm).tuple(Quarter);
    VPMOVZXDQ = both("vpmovzxdq", P66, M38, 0x35, 0, Rm).tuple(Half);
    VCVTDQ2PS = both("vcvtdq2ps", Prefix::None, M0F, 0x5B, 0, Rm);
    VCVTUDQ2PS = evex("vcvtudq2ps", PF2, M0F, 0x7A, 0, Rm);
    VCVTDQ2PD = both("vcvtdq2pd", PF3, M0F, 0xE6, 0, Rm).tuple(Half);
    VCVTTPS2DQ = both("vcvttps2dq", PF3, M0F, 0x5B, 0, Rm);
    VCVTTPD2DQ = both("vcvttpd2dq", P66, M0F, 0xE6, 1, Rm);
    VCVTPS2PD = both("vcvtps2pd", Prefix::None, M0F, 0x5A, 0, Rm).tuple(Half);
    VPMOVSDB = evex("vpmovsdb", PF3, M38, 0x21, 0, Mr).tuple(Quarter);
    VPMOVUSDB = evex("vpmovusdb", PF3, M38, 0x11, 0, Mr).tuple(Quarter);
    VPMOVDW = evex("vpmovdw", PF3, M38, 0x33, 0, Mr).tuple(Half);
    VPMOVWB = evex("vpmovwb", PF3, M38, 0x30, 0, Mr).tuple(Half);
    VPMOVSWB = evex("vpmovswb", PF3, M38, 0x20, 0, Mr).tuple(Half);
    VPMOVUSWB = evex("vpmovuswb", PF3, M38, 0x10, 0, Mr).tuple(Half);
    VCVTPD2PS = both("vcvtpd2ps", P66, M0F, 0x5A, 1, Rm);
    VCVTPH2PS = both("vcvtph2ps", P66, M38, 0x13, 0, Rm).tuple(Half).feature(Feature::F16c);
    VCVTPS2PH = both("vcvtps2ph", P66, M3A, 0x1D, 0, Mr).tuple(Half).feature(Feature::F16c).number();
    VCVTQQ2PD = evex("vcvtqq2pd", PF3, M0F, 0xE6, 1, Rm);
    VCVTQQ2PS = evex("vcvtqq2ps", Prefix::None, M0F, 0x5B, 1, Rm);
    VCVTUQQ2PD = evex("vcvtuqq2pd", PF3, M0F, 0x7A, 1, Rm);
    VCVTUQQ2PS = evex("vcvtuqq2ps", PF2, M0F, 0x7A, 1, Rm);
    VCVTTPD2QQ = evex("vcvttpd2qq", P66, M0F, 0x7A, 1, Rm);
    VCVTSI2SS = both("vcvtsi2ss", PF3, M0F, 0x2A, 1, Rvm).w1().tuple(Fixed(8)).rm(G).lengths(Shortest);
    VCVTSI2SD = both("vcvtsi2sd", PF2, M0F, 0x2A, 1, Rvm).w1().tuple(Fixed(8)).rm(G).lengths(Shortest);
    VCVTTSD2SI = both("vcvttsd2si", PF2, M0F, 0x2C, 1, Rm).w1().tuple(Fixed(8)).reg(G).lengths(Shortest);

    // General-purpose registers, shifted by a register, without flags.
    BZHI = vex("bzhi", Prefix::None, M38, 0xF5, 1, General).feature(Feature::Bmi2);
    SHLX = vex("shlx", P66, M38, 0xF7, 1, General).feature(Feature::Bmi2);
    SARX = vex("sarx", PF3, M38, 0xF7, 1, General).feature(Feature::Bmi2);
    SHRX = vex("shrx", PF2, M38, 0xF7, 1, General).feature(Feature::Bmi2);
}
