//! The vector instructions that kernels become, a row each: what Intel's manual calls the instruction, and how it is encoded. Names are
//! those of the manual; where VEX and EVEX differ in the name, there are two rows.

use super::length::Length;

/// Mandatory prefix, by the code that VEX and EVEX have for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prefix {
    /// None.
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

/// How much memory an operand in memory has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tuple {
    /// A vector.
    Full,
    /// Half of one.
    Half,
    /// A quarter.
    Quarter,
    /// An eighth.
    Eighth,
    /// So many bytes.
    Fixed(u8),
}

impl Tuple {
    /// Bytes at a vector length.
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

/// Which field each operand is in, in the order that the manual writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// reg, vvvv, rm.
    Rvm,
    /// reg, rm.
    Rm,
    /// rm, reg.
    Mr,
    /// vvvv, rm; reg says which instruction.
    Vm(u8),
    /// reg, vvvv, rm, register in the last byte.
    Rvmr,
    /// reg, rm, vvvv: general-purpose registers.
    General,
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
    /// Fields.
    pub shape: Shape,
    /// VEX.L is 1 whatever the length is: operations on two mask registers.
    pub long: bool,
    /// Whether the EVEX encoding's name ends in another letter d.
    pub suffix: bool,
}

use Map::{M0F, M3A, M38};
use Prefix::{P66, PF2, PF3};
use Shape::{General, Mr, Rm, Rvm, Rvmr, Vm};
use Tuple::{Eighth, Fixed, Full, Half, Quarter};

/// Both encodings, W of EVEX given; VEX has W 0.
const fn both(name: &'static str, prefix: Prefix, map: Map, opcode: u8, evex: u8, shape: Shape) -> Row {
    Row { name, prefix, map, opcode, vex: Some(false), evex: Some(evex == 1), tuple: Full, shape, long: false, suffix: false }
}

const fn vex(name: &'static str, prefix: Prefix, map: Map, opcode: u8, w: u8, shape: Shape) -> Row {
    Row { name, prefix, map, opcode, vex: Some(w == 1), evex: None, tuple: Full, shape, long: false, suffix: false }
}

const fn evex(name: &'static str, prefix: Prefix, map: Map, opcode: u8, w: u8, shape: Shape) -> Row {
    Row { name, prefix, map, opcode, vex: None, evex: Some(w == 1), tuple: Full, shape, long: false, suffix: false }
}

impl Row {
    const fn tuple(mut self, tuple: Tuple) -> Self {
        self.tuple = tuple;
        self
    }

    /// W of VEX as of EVEX.
    const fn w1(mut self) -> Self {
        self.vex = Some(true);
        self
    }

    const fn suffix(mut self) -> Self {
        self.suffix = true;
        self
    }

    const fn long(mut self) -> Self {
        self.long = true;
        self
    }
}

// Integer sums and products.
pub(super) const VPADDB: Row = both("vpaddb", P66, M0F, 0xFC, 0, Rvm);
pub(super) const VPADDW: Row = both("vpaddw", P66, M0F, 0xFD, 0, Rvm);
pub(super) const VPADDD: Row = both("vpaddd", P66, M0F, 0xFE, 0, Rvm);
pub(super) const VPADDQ: Row = both("vpaddq", P66, M0F, 0xD4, 1, Rvm);
pub(super) const VPSUBB: Row = both("vpsubb", P66, M0F, 0xF8, 0, Rvm);
pub(super) const VPSUBW: Row = both("vpsubw", P66, M0F, 0xF9, 0, Rvm);
pub(super) const VPSUBD: Row = both("vpsubd", P66, M0F, 0xFA, 0, Rvm);
pub(super) const VPSUBQ: Row = both("vpsubq", P66, M0F, 0xFB, 1, Rvm);
pub(super) const VPADDSB: Row = both("vpaddsb", P66, M0F, 0xEC, 0, Rvm);
pub(super) const VPADDSW: Row = both("vpaddsw", P66, M0F, 0xED, 0, Rvm);
pub(super) const VPSUBSB: Row = both("vpsubsb", P66, M0F, 0xE8, 0, Rvm);
pub(super) const VPSUBSW: Row = both("vpsubsw", P66, M0F, 0xE9, 0, Rvm);
pub(super) const VPMULLW: Row = both("vpmullw", P66, M0F, 0xD5, 0, Rvm);
pub(super) const VPMULLD: Row = both("vpmulld", P66, M38, 0x40, 0, Rvm);
pub(super) const VPMULLQ: Row = evex("vpmullq", P66, M38, 0x40, 1, Rvm);
pub(super) const VPMULDQ: Row = both("vpmuldq", P66, M38, 0x28, 1, Rvm);
pub(super) const VPMULUDQ: Row = both("vpmuludq", P66, M0F, 0xF4, 1, Rvm);
pub(super) const VPMADDWD: Row = both("vpmaddwd", P66, M0F, 0xF5, 0, Rvm);
pub(super) const VPDPBUSD: Row = evex("vpdpbusd", P66, M38, 0x50, 0, Rvm);
pub(super) const VPDPWSSD: Row = evex("vpdpwssd", P66, M38, 0x52, 0, Rvm);

// Bits.
pub(super) const VPAND: Row = both("vpand", P66, M0F, 0xDB, 0, Rvm).suffix();
pub(super) const VPOR: Row = both("vpor", P66, M0F, 0xEB, 0, Rvm).suffix();
pub(super) const VPXOR: Row = both("vpxor", P66, M0F, 0xEF, 0, Rvm).suffix();
pub(super) const VPTERNLOGD: Row = evex("vpternlogd", P66, M3A, 0x25, 0, Rvm);

// Shifts.
pub(super) const VPSLLVD: Row = both("vpsllvd", P66, M38, 0x47, 0, Rvm);
pub(super) const VPSLLVQ: Row = both("vpsllvq", P66, M38, 0x47, 1, Rvm).w1();
pub(super) const VPSRLVD: Row = both("vpsrlvd", P66, M38, 0x45, 0, Rvm);
pub(super) const VPSRLVQ: Row = both("vpsrlvq", P66, M38, 0x45, 1, Rvm).w1();
pub(super) const VPSRAVD: Row = both("vpsravd", P66, M38, 0x46, 0, Rvm);
pub(super) const VPSRAVQ: Row = evex("vpsravq", P66, M38, 0x46, 1, Rvm);
pub(super) const VPSLLVW: Row = evex("vpsllvw", P66, M38, 0x12, 1, Rvm);
pub(super) const VPSRLVW: Row = evex("vpsrlvw", P66, M38, 0x10, 1, Rvm);
pub(super) const VPSRAVW: Row = evex("vpsravw", P66, M38, 0x11, 1, Rvm);
pub(super) const VPSLLW: Row = both("vpsllw", P66, M0F, 0x71, 0, Vm(6));
pub(super) const VPSRLW: Row = both("vpsrlw", P66, M0F, 0x71, 0, Vm(2));
pub(super) const VPSRAW: Row = both("vpsraw", P66, M0F, 0x71, 0, Vm(4));
pub(super) const VPSLLD: Row = both("vpslld", P66, M0F, 0x72, 0, Vm(6));
pub(super) const VPSRLD: Row = both("vpsrld", P66, M0F, 0x72, 0, Vm(2));
pub(super) const VPSRAD: Row = both("vpsrad", P66, M0F, 0x72, 0, Vm(4));
pub(super) const VPSRAQ: Row = evex("vpsraq", P66, M0F, 0x72, 1, Vm(4));
pub(super) const VPSLLQ: Row = both("vpsllq", P66, M0F, 0x73, 1, Vm(6));
pub(super) const VPSRLQ: Row = both("vpsrlq", P66, M0F, 0x73, 1, Vm(2));
pub(super) const VPSRLDQ: Row = both("vpsrldq", P66, M0F, 0x73, 0, Vm(3));

// Integer minimum, maximum, magnitude, leading zeros.
pub(super) const VPMINSB: Row = both("vpminsb", P66, M38, 0x38, 0, Rvm);
pub(super) const VPMINSW: Row = both("vpminsw", P66, M0F, 0xEA, 0, Rvm);
pub(super) const VPMINSD: Row = both("vpminsd", P66, M38, 0x39, 0, Rvm);
pub(super) const VPMINSQ: Row = evex("vpminsq", P66, M38, 0x39, 1, Rvm);
pub(super) const VPMAXSB: Row = both("vpmaxsb", P66, M38, 0x3C, 0, Rvm);
pub(super) const VPMAXSW: Row = both("vpmaxsw", P66, M0F, 0xEE, 0, Rvm);
pub(super) const VPMAXSD: Row = both("vpmaxsd", P66, M38, 0x3D, 0, Rvm);
pub(super) const VPMAXSQ: Row = evex("vpmaxsq", P66, M38, 0x3D, 1, Rvm);
pub(super) const VPMINUB: Row = both("vpminub", P66, M0F, 0xDA, 0, Rvm);
pub(super) const VPMINUW: Row = both("vpminuw", P66, M38, 0x3A, 0, Rvm);
pub(super) const VPMINUD: Row = both("vpminud", P66, M38, 0x3B, 0, Rvm);
pub(super) const VPMINUQ: Row = evex("vpminuq", P66, M38, 0x3B, 1, Rvm);
pub(super) const VPMAXUB: Row = both("vpmaxub", P66, M0F, 0xDE, 0, Rvm);
pub(super) const VPMAXUW: Row = both("vpmaxuw", P66, M38, 0x3E, 0, Rvm);
pub(super) const VPMAXUD: Row = both("vpmaxud", P66, M38, 0x3F, 0, Rvm);
pub(super) const VPMAXUQ: Row = evex("vpmaxuq", P66, M38, 0x3F, 1, Rvm);
pub(super) const VPABSB: Row = both("vpabsb", P66, M38, 0x1C, 0, Rm);
pub(super) const VPABSW: Row = both("vpabsw", P66, M38, 0x1D, 0, Rm);
pub(super) const VPABSD: Row = both("vpabsd", P66, M38, 0x1E, 0, Rm);
pub(super) const VPABSQ: Row = evex("vpabsq", P66, M38, 0x1F, 1, Rm);
pub(super) const VPLZCNTD: Row = evex("vplzcntd", P66, M38, 0x44, 0, Rm);
pub(super) const VPLZCNTQ: Row = evex("vplzcntq", P66, M38, 0x44, 1, Rm);

// Floats.
pub(super) const VADDPS: Row = both("vaddps", Prefix::None, M0F, 0x58, 0, Rvm);
pub(super) const VADDPD: Row = both("vaddpd", P66, M0F, 0x58, 1, Rvm);
pub(super) const VSUBPS: Row = both("vsubps", Prefix::None, M0F, 0x5C, 0, Rvm);
pub(super) const VSUBPD: Row = both("vsubpd", P66, M0F, 0x5C, 1, Rvm);
pub(super) const VMULPS: Row = both("vmulps", Prefix::None, M0F, 0x59, 0, Rvm);
pub(super) const VMULPD: Row = both("vmulpd", P66, M0F, 0x59, 1, Rvm);
pub(super) const VDIVPS: Row = both("vdivps", Prefix::None, M0F, 0x5E, 0, Rvm);
pub(super) const VDIVPD: Row = both("vdivpd", P66, M0F, 0x5E, 1, Rvm);
pub(super) const VMINPS: Row = both("vminps", Prefix::None, M0F, 0x5D, 0, Rvm);
pub(super) const VMINPD: Row = both("vminpd", P66, M0F, 0x5D, 1, Rvm);
pub(super) const VMAXPS: Row = both("vmaxps", Prefix::None, M0F, 0x5F, 0, Rvm);
pub(super) const VMAXPD: Row = both("vmaxpd", P66, M0F, 0x5F, 1, Rvm);
pub(super) const VSQRTPS: Row = both("vsqrtps", Prefix::None, M0F, 0x51, 0, Rm);
pub(super) const VSQRTPD: Row = both("vsqrtpd", P66, M0F, 0x51, 1, Rm);
pub(super) const VFMADD231PS: Row = both("vfmadd231ps", P66, M38, 0xB8, 0, Rvm);
pub(super) const VFMADD231PD: Row = both("vfmadd231pd", P66, M38, 0xB8, 1, Rvm).w1();
pub(super) const VROUNDPS: Row = vex("vroundps", P66, M3A, 0x08, 0, Rm);
pub(super) const VROUNDPD: Row = vex("vroundpd", P66, M3A, 0x09, 0, Rm);
pub(super) const VRNDSCALEPS: Row = evex("vrndscaleps", P66, M3A, 0x08, 0, Rm);
pub(super) const VRNDSCALEPD: Row = evex("vrndscalepd", P66, M3A, 0x09, 1, Rm);

// Comparisons to lanes of ones.
pub(super) const VPCMPEQB: Row = vex("vpcmpeqb", P66, M0F, 0x74, 0, Rvm);
pub(super) const VPCMPEQW: Row = vex("vpcmpeqw", P66, M0F, 0x75, 0, Rvm);
pub(super) const VPCMPEQD: Row = vex("vpcmpeqd", P66, M0F, 0x76, 0, Rvm);
pub(super) const VPCMPEQQ: Row = vex("vpcmpeqq", P66, M38, 0x29, 0, Rvm);
pub(super) const VPCMPGTB: Row = vex("vpcmpgtb", P66, M0F, 0x64, 0, Rvm);
pub(super) const VPCMPGTW: Row = vex("vpcmpgtw", P66, M0F, 0x65, 0, Rvm);
pub(super) const VPCMPGTD: Row = vex("vpcmpgtd", P66, M0F, 0x66, 0, Rvm);
pub(super) const VPCMPGTQ: Row = vex("vpcmpgtq", P66, M38, 0x37, 0, Rvm);
pub(super) const VCMPPS: Row = vex("vcmpps", Prefix::None, M0F, 0xC2, 0, Rvm);
pub(super) const VCMPPD: Row = vex("vcmppd", P66, M0F, 0xC2, 0, Rvm);
pub(super) const VPBLENDVB: Row = vex("vpblendvb", P66, M3A, 0x4C, 0, Rvmr);
pub(super) const VPBLENDD: Row = vex("vpblendd", P66, M3A, 0x02, 0, Rvm);
pub(super) const VBLENDVPS: Row = vex("vblendvps", P66, M3A, 0x4A, 0, Rvmr);
pub(super) const VBLENDVPD: Row = vex("vblendvpd", P66, M3A, 0x4B, 0, Rvmr);

// Comparisons to mask registers, and what these do.
pub(super) const VPCMPB: Row = evex("vpcmpb", P66, M3A, 0x3F, 0, Rvm);
pub(super) const VPCMPW: Row = evex("vpcmpw", P66, M3A, 0x3F, 1, Rvm);
pub(super) const VPCMPD: Row = evex("vpcmpd", P66, M3A, 0x1F, 0, Rvm);
pub(super) const VPCMPQ: Row = evex("vpcmpq", P66, M3A, 0x1F, 1, Rvm);
pub(super) const VPCMPUB: Row = evex("vpcmpub", P66, M3A, 0x3E, 0, Rvm);
pub(super) const VPCMPUW: Row = evex("vpcmpuw", P66, M3A, 0x3E, 1, Rvm);
pub(super) const VPCMPUD: Row = evex("vpcmpud", P66, M3A, 0x1E, 0, Rvm);
pub(super) const VPCMPUQ: Row = evex("vpcmpuq", P66, M3A, 0x1E, 1, Rvm);
pub(super) const VCMPPS_K: Row = evex("vcmpps", Prefix::None, M0F, 0xC2, 0, Rvm);
pub(super) const VCMPPD_K: Row = evex("vcmppd", P66, M0F, 0xC2, 1, Rvm);
pub(super) const VPBLENDMB: Row = evex("vpblendmb", P66, M38, 0x66, 0, Rvm);
pub(super) const VPBLENDMW: Row = evex("vpblendmw", P66, M38, 0x66, 1, Rvm);
pub(super) const VPBLENDMD: Row = evex("vpblendmd", P66, M38, 0x64, 0, Rvm);
pub(super) const VPBLENDMQ: Row = evex("vpblendmq", P66, M38, 0x64, 1, Rvm);
pub(super) const VPMOVM2B: Row = evex("vpmovm2b", PF3, M38, 0x28, 0, Rm);
pub(super) const VPMOVM2W: Row = evex("vpmovm2w", PF3, M38, 0x28, 1, Rm);
pub(super) const VPMOVM2D: Row = evex("vpmovm2d", PF3, M38, 0x38, 0, Rm);
pub(super) const VPMOVM2Q: Row = evex("vpmovm2q", PF3, M38, 0x38, 1, Rm);
pub(super) const KMOVQ_LOAD: Row = vex("kmovq", PF2, M0F, 0x92, 1, Rm);
pub(super) const KMOVQ_STORE: Row = vex("kmovq", PF2, M0F, 0x93, 1, Rm);
pub(super) const KMOVQ: Row = vex("kmovq", Prefix::None, M0F, 0x90, 1, Rm).tuple(Fixed(8));
pub(super) const KMOVQ_MEMORY: Row = vex("kmovq", Prefix::None, M0F, 0x91, 1, Mr).tuple(Fixed(8));
pub(super) const KANDQ: Row = vex("kandq", Prefix::None, M0F, 0x41, 1, Rvm).long();
pub(super) const KORQ: Row = vex("korq", Prefix::None, M0F, 0x45, 1, Rvm).long();
pub(super) const KXORQ: Row = vex("kxorq", Prefix::None, M0F, 0x47, 1, Rvm).long();
pub(super) const KNOTQ: Row = vex("knotq", Prefix::None, M0F, 0x44, 1, Rm);
pub(super) const KSHIFTLQ: Row = vex("kshiftlq", P66, M3A, 0x33, 1, Rm);
pub(super) const KSHIFTRQ: Row = vex("kshiftrq", P66, M3A, 0x31, 1, Rm);

// Moves.
pub(super) const VMOVAPS: Row = both("vmovaps", Prefix::None, M0F, 0x28, 0, Rm);
pub(super) const VMOVUPS: Row = both("vmovups", Prefix::None, M0F, 0x10, 0, Rm);
pub(super) const VMOVUPS_STORE: Row = both("vmovups", Prefix::None, M0F, 0x11, 0, Mr);
pub(super) const VMOVDQU8: Row = evex("vmovdqu8", PF2, M0F, 0x6F, 0, Rm);
pub(super) const VMOVDQU16: Row = evex("vmovdqu16", PF2, M0F, 0x6F, 1, Rm);
pub(super) const VMOVDQU32: Row = evex("vmovdqu32", PF3, M0F, 0x6F, 0, Rm);
pub(super) const VMOVDQU64: Row = evex("vmovdqu64", PF3, M0F, 0x6F, 1, Rm);
pub(super) const VMOVDQU8_STORE: Row = evex("vmovdqu8", PF2, M0F, 0x7F, 0, Mr);
pub(super) const VMOVDQU16_STORE: Row = evex("vmovdqu16", PF2, M0F, 0x7F, 1, Mr);
pub(super) const VMOVDQU32_STORE: Row = evex("vmovdqu32", PF3, M0F, 0x7F, 0, Mr);
pub(super) const VMOVDQU64_STORE: Row = evex("vmovdqu64", PF3, M0F, 0x7F, 1, Mr);
pub(super) const VMOVSS: Row = both("vmovss", PF3, M0F, 0x10, 0, Rm).tuple(Fixed(4));
pub(super) const VMOVSS_STORE: Row = both("vmovss", PF3, M0F, 0x11, 0, Mr).tuple(Fixed(4));
pub(super) const VMOVSD: Row = both("vmovsd", PF2, M0F, 0x10, 1, Rm).tuple(Fixed(8));
pub(super) const VMOVSD_STORE: Row = both("vmovsd", PF2, M0F, 0x11, 1, Mr).tuple(Fixed(8));
pub(super) const VMOVD: Row = both("vmovd", P66, M0F, 0x6E, 0, Rm).tuple(Fixed(4));
pub(super) const VMOVQ: Row = both("vmovq", P66, M0F, 0x6E, 1, Rm).w1().tuple(Fixed(8));
pub(super) const VMOVD_STORE: Row = both("vmovd", P66, M0F, 0x7E, 0, Mr).tuple(Fixed(4));
pub(super) const VMOVQ_STORE: Row = both("vmovq", P66, M0F, 0x7E, 1, Mr).w1().tuple(Fixed(8));
pub(super) const VPEXTRB: Row = both("vpextrb", P66, M3A, 0x14, 0, Mr).tuple(Fixed(1));
pub(super) const VPEXTRW: Row = both("vpextrw", P66, M3A, 0x15, 0, Mr).tuple(Fixed(2));
pub(super) const VPINSRB: Row = both("vpinsrb", P66, M3A, 0x20, 0, Rvm).tuple(Fixed(1));
pub(super) const VPINSRW: Row = both("vpinsrw", P66, M0F, 0xC4, 0, Rvm).tuple(Fixed(2));
pub(super) const VPINSRD: Row = both("vpinsrd", P66, M3A, 0x22, 0, Rvm).tuple(Fixed(4));
pub(super) const VPINSRQ: Row = both("vpinsrq", P66, M3A, 0x22, 1, Rvm).w1().tuple(Fixed(8));
pub(super) const VPBROADCASTB: Row = both("vpbroadcastb", P66, M38, 0x78, 0, Rm).tuple(Fixed(1));
pub(super) const VPBROADCASTW: Row = both("vpbroadcastw", P66, M38, 0x79, 0, Rm).tuple(Fixed(2));
pub(super) const VBROADCASTSS: Row = both("vbroadcastss", P66, M38, 0x18, 0, Rm).tuple(Fixed(4));
pub(super) const VPBROADCASTQ: Row = both("vpbroadcastq", P66, M38, 0x59, 1, Rm).tuple(Fixed(8));
pub(super) const VBROADCASTI128: Row = vex("vbroadcasti128", P66, M38, 0x5A, 0, Rm).tuple(Fixed(16));
pub(super) const VBROADCASTI32X4: Row = evex("vbroadcasti32x4", P66, M38, 0x5A, 0, Rm).tuple(Fixed(16));

// Pieces of registers.
pub(super) const VEXTRACTI128: Row = vex("vextracti128", P66, M3A, 0x39, 0, Mr).tuple(Fixed(16));
pub(super) const VEXTRACTI32X4: Row = evex("vextracti32x4", P66, M3A, 0x39, 0, Mr).tuple(Fixed(16));
pub(super) const VEXTRACTI64X4: Row = evex("vextracti64x4", P66, M3A, 0x3B, 1, Mr).tuple(Fixed(32));
pub(super) const VINSERTI128: Row = vex("vinserti128", P66, M3A, 0x38, 0, Rvm).tuple(Fixed(16));
pub(super) const VINSERTI32X4: Row = evex("vinserti32x4", P66, M3A, 0x38, 0, Rvm).tuple(Fixed(16));
pub(super) const VINSERTI64X4: Row = evex("vinserti64x4", P66, M3A, 0x3A, 1, Rvm).tuple(Fixed(32));

// Permutations.
pub(super) const VPSHUFB: Row = both("vpshufb", P66, M38, 0x00, 0, Rvm);
pub(super) const VSHUFPS: Row = both("vshufps", Prefix::None, M0F, 0xC6, 0, Rvm);
pub(super) const VPERMQ: Row = both("vpermq", P66, M3A, 0x00, 1, Rm).w1();
pub(super) const VPERMD: Row = both("vpermd", P66, M38, 0x36, 0, Rvm);
pub(super) const VPERMI2D: Row = evex("vpermi2d", P66, M38, 0x76, 0, Rvm);
pub(super) const VMOVSHDUP: Row = both("vmovshdup", PF3, M0F, 0x16, 0, Rm);
pub(super) const VPERMQ_LANES: Row = evex("vpermq", P66, M38, 0x36, 1, Rvm);
pub(super) const VPUNPCKLBW: Row = both("vpunpcklbw", P66, M0F, 0x60, 0, Rvm);
pub(super) const VPUNPCKLWD: Row = both("vpunpcklwd", P66, M0F, 0x61, 0, Rvm);
pub(super) const VPUNPCKHWD: Row = both("vpunpckhwd", P66, M0F, 0x69, 0, Rvm);
pub(super) const VPUNPCKLDQ: Row = both("vpunpckldq", P66, M0F, 0x62, 0, Rvm);
pub(super) const VPUNPCKLQDQ: Row = both("vpunpcklqdq", P66, M0F, 0x6C, 1, Rvm);
pub(super) const VPACKSSWB: Row = both("vpacksswb", P66, M0F, 0x63, 0, Rvm);
pub(super) const VPACKUSWB: Row = both("vpackuswb", P66, M0F, 0x67, 0, Rvm);
pub(super) const VPACKSSDW: Row = both("vpackssdw", P66, M0F, 0x6B, 0, Rvm);
pub(super) const VPACKUSDW: Row = both("vpackusdw", P66, M38, 0x2B, 0, Rvm);

// Conversions.
pub(super) const VPMOVSXBW: Row = both("vpmovsxbw", P66, M38, 0x20, 0, Rm).tuple(Half);
pub(super) const VPMOVSXBD: Row = both("vpmovsxbd", P66, M38, 0x21, 0, Rm).tuple(Quarter);
pub(super) const VPMOVSXBQ: Row = both("vpmovsxbq", P66, M38, 0x22, 0, Rm).tuple(Eighth);
pub(super) const VPMOVSXWD: Row = both("vpmovsxwd", P66, M38, 0x23, 0, Rm).tuple(Half);
pub(super) const VPMOVSXWQ: Row = both("vpmovsxwq", P66, M38, 0x24, 0, Rm).tuple(Quarter);
pub(super) const VPMOVSXDQ: Row = both("vpmovsxdq", P66, M38, 0x25, 0, Rm).tuple(Half);
pub(super) const VPMOVZXBW: Row = both("vpmovzxbw", P66, M38, 0x30, 0, Rm).tuple(Half);
pub(super) const VPMOVZXBD: Row = both("vpmovzxbd", P66, M38, 0x31, 0, Rm).tuple(Quarter);
pub(super) const VPMOVZXBQ: Row = both("vpmovzxbq", P66, M38, 0x32, 0, Rm).tuple(Eighth);
pub(super) const VPMOVZXWD: Row = both("vpmovzxwd", P66, M38, 0x33, 0, Rm).tuple(Half);
pub(super) const VPMOVZXWQ: Row = both("vpmovzxwq", P66, M38, 0x34, 0, Rm).tuple(Quarter);
pub(super) const VPMOVZXDQ: Row = both("vpmovzxdq", P66, M38, 0x35, 0, Rm).tuple(Half);
pub(super) const VCVTDQ2PS: Row = both("vcvtdq2ps", Prefix::None, M0F, 0x5B, 0, Rm);
pub(super) const VCVTUDQ2PS: Row = evex("vcvtudq2ps", PF2, M0F, 0x7A, 0, Rm);
pub(super) const VCVTDQ2PD: Row = both("vcvtdq2pd", PF3, M0F, 0xE6, 0, Rm).tuple(Half);
pub(super) const VCVTTPS2DQ: Row = both("vcvttps2dq", PF3, M0F, 0x5B, 0, Rm);
pub(super) const VCVTTPD2DQ: Row = both("vcvttpd2dq", P66, M0F, 0xE6, 1, Rm);
pub(super) const VCVTPS2PD: Row = both("vcvtps2pd", Prefix::None, M0F, 0x5A, 0, Rm).tuple(Half);
pub(super) const VCVTPD2PS: Row = both("vcvtpd2ps", P66, M0F, 0x5A, 1, Rm);
pub(super) const VCVTPH2PS: Row = both("vcvtph2ps", P66, M38, 0x13, 0, Rm).tuple(Half);
pub(super) const VCVTPS2PH: Row = both("vcvtps2ph", P66, M3A, 0x1D, 0, Mr).tuple(Half);
pub(super) const VCVTQQ2PD: Row = evex("vcvtqq2pd", PF3, M0F, 0xE6, 1, Rm);
pub(super) const VCVTQQ2PS: Row = evex("vcvtqq2ps", Prefix::None, M0F, 0x5B, 1, Rm);
pub(super) const VCVTUQQ2PD: Row = evex("vcvtuqq2pd", PF3, M0F, 0x7A, 1, Rm);
pub(super) const VCVTUQQ2PS: Row = evex("vcvtuqq2ps", PF2, M0F, 0x7A, 1, Rm);
pub(super) const VCVTTPD2QQ: Row = evex("vcvttpd2qq", P66, M0F, 0x7A, 1, Rm);
pub(super) const VCVTSI2SS: Row = both("vcvtsi2ss", PF3, M0F, 0x2A, 1, Rvm).w1().tuple(Fixed(8));
pub(super) const VCVTSI2SD: Row = both("vcvtsi2sd", PF2, M0F, 0x2A, 1, Rvm).w1().tuple(Fixed(8));
pub(super) const VCVTTSD2SI: Row = both("vcvttsd2si", PF2, M0F, 0x2C, 1, Rm).w1().tuple(Fixed(8));

// General-purpose registers, shifted by a register, without flags.
pub(super) const SHLX: Row = vex("shlx", P66, M38, 0xF7, 1, General);
pub(super) const SARX: Row = vex("sarx", PF3, M38, 0xF7, 1, General);
pub(super) const SHRX: Row = vex("shrx", PF2, M38, 0xF7, 1, General);

/// Every row.
#[cfg(test)]
pub(super) const ALL: &[&Row] = &[
    &VPADDB,
    &VPADDW,
    &VPADDD,
    &VPADDQ,
    &VPSUBB,
    &VPSUBW,
    &VPSUBD,
    &VPSUBQ,
    &VPADDSB,
    &VPADDSW,
    &VPSUBSB,
    &VPSUBSW,
    &VPMULLW,
    &VPMULLD,
    &VPMULLQ,
    &VPMULDQ,
    &VPMULUDQ,
    &VPMADDWD,
    &VPDPBUSD,
    &VPDPWSSD,
    &VPAND,
    &VPOR,
    &VPXOR,
    &VPTERNLOGD,
    &VPSLLVD,
    &VPSLLVQ,
    &VPSRLVD,
    &VPSRLVQ,
    &VPSRAVD,
    &VPSRAVQ,
    &VPSLLVW,
    &VPSRLVW,
    &VPSRAVW,
    &VPSLLW,
    &VPSRLW,
    &VPSRAW,
    &VPSLLD,
    &VPSRLD,
    &VPSRAD,
    &VPSRAQ,
    &VPSLLQ,
    &VPSRLQ,
    &VPSRLDQ,
    &VPMINSB,
    &VPMINSW,
    &VPMINSD,
    &VPMINSQ,
    &VPMAXSB,
    &VPMAXSW,
    &VPMAXSD,
    &VPMAXSQ,
    &VPMINUB,
    &VPMINUW,
    &VPMINUD,
    &VPMINUQ,
    &VPMAXUB,
    &VPMAXUW,
    &VPMAXUD,
    &VPMAXUQ,
    &VPABSB,
    &VPABSW,
    &VPABSD,
    &VPABSQ,
    &VPLZCNTD,
    &VPLZCNTQ,
    &VADDPS,
    &VADDPD,
    &VSUBPS,
    &VSUBPD,
    &VMULPS,
    &VMULPD,
    &VDIVPS,
    &VDIVPD,
    &VMINPS,
    &VMINPD,
    &VMAXPS,
    &VMAXPD,
    &VSQRTPS,
    &VSQRTPD,
    &VFMADD231PS,
    &VFMADD231PD,
    &VROUNDPS,
    &VROUNDPD,
    &VRNDSCALEPS,
    &VRNDSCALEPD,
    &VPCMPEQB,
    &VPCMPEQW,
    &VPCMPEQD,
    &VPCMPEQQ,
    &VPCMPGTB,
    &VPCMPGTW,
    &VPCMPGTD,
    &VPCMPGTQ,
    &VCMPPS,
    &VCMPPD,
    &VPBLENDVB,
    &VPBLENDD,
    &VBLENDVPS,
    &VBLENDVPD,
    &VPCMPB,
    &VPCMPW,
    &VPCMPD,
    &VPCMPQ,
    &VPCMPUB,
    &VPCMPUW,
    &VPCMPUD,
    &VPCMPUQ,
    &VCMPPS_K,
    &VCMPPD_K,
    &VPBLENDMB,
    &VPBLENDMW,
    &VPBLENDMD,
    &VPBLENDMQ,
    &VPMOVM2B,
    &VPMOVM2W,
    &VPMOVM2D,
    &VPMOVM2Q,
    &KMOVQ_LOAD,
    &KMOVQ_STORE,
    &KMOVQ,
    &KMOVQ_MEMORY,
    &KANDQ,
    &KORQ,
    &KXORQ,
    &KNOTQ,
    &KSHIFTLQ,
    &KSHIFTRQ,
    &VMOVAPS,
    &VMOVUPS,
    &VMOVUPS_STORE,
    &VMOVDQU8,
    &VMOVDQU16,
    &VMOVDQU32,
    &VMOVDQU64,
    &VMOVDQU8_STORE,
    &VMOVDQU16_STORE,
    &VMOVDQU32_STORE,
    &VMOVDQU64_STORE,
    &VMOVSS,
    &VMOVSS_STORE,
    &VMOVSD,
    &VMOVSD_STORE,
    &VMOVD,
    &VMOVQ,
    &VMOVD_STORE,
    &VMOVQ_STORE,
    &VPEXTRB,
    &VPEXTRW,
    &VPINSRB,
    &VPINSRW,
    &VPINSRD,
    &VPINSRQ,
    &VPBROADCASTB,
    &VPBROADCASTW,
    &VBROADCASTSS,
    &VPBROADCASTQ,
    &VBROADCASTI128,
    &VBROADCASTI32X4,
    &VEXTRACTI128,
    &VEXTRACTI32X4,
    &VEXTRACTI64X4,
    &VINSERTI128,
    &VINSERTI32X4,
    &VINSERTI64X4,
    &VPSHUFB,
    &VSHUFPS,
    &VPERMQ,
    &VPERMD,
    &VPERMI2D,
    &VMOVSHDUP,
    &VPERMQ_LANES,
    &VPUNPCKLBW,
    &VPUNPCKLWD,
    &VPUNPCKHWD,
    &VPUNPCKLDQ,
    &VPUNPCKLQDQ,
    &VPACKSSWB,
    &VPACKUSWB,
    &VPACKSSDW,
    &VPACKUSDW,
    &VPMOVSXBW,
    &VPMOVSXBD,
    &VPMOVSXBQ,
    &VPMOVSXWD,
    &VPMOVSXWQ,
    &VPMOVSXDQ,
    &VPMOVZXBW,
    &VPMOVZXBD,
    &VPMOVZXBQ,
    &VPMOVZXWD,
    &VPMOVZXWQ,
    &VPMOVZXDQ,
    &VCVTDQ2PS,
    &VCVTUDQ2PS,
    &VCVTDQ2PD,
    &VCVTTPS2DQ,
    &VCVTTPD2DQ,
    &VCVTPS2PD,
    &VCVTPD2PS,
    &VCVTPH2PS,
    &VCVTPS2PH,
    &VCVTQQ2PD,
    &VCVTQQ2PS,
    &VCVTUQQ2PD,
    &VCVTUQQ2PS,
    &VCVTTPD2QQ,
    &VCVTSI2SS,
    &VCVTSI2SD,
    &VCVTTSD2SI,
    &SHLX,
    &SARX,
    &SHRX,
];
