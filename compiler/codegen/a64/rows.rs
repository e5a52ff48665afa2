//! The instructions that kernels become, one row each, with their encoding. Names are those of Arm's manual. Loads, stores, jumps and constants that
//! need several instructions are not here.

/// Bytes of a lane as an exponent. For instructions that change the width, the lane of the row's encoding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Size {
    /// One byte.
    B,
    /// Two bytes.
    H,
    /// Four bytes.
    S,
    /// Eight bytes.
    D,
}

impl Size {
    /// Returns the size of a power of two of bytes, up to 8.
    pub fn of(bytes: u32) -> Self {
        match bytes {
            1 => Self::B,
            2 => Self::H,
            4 => Self::S,
            _ => Self::D,
        }
    }

    /// Returns the bits of a lane.
    pub fn bits(self) -> u32 {
        8 << self as u32
    }
}

/// The field of a register; the discriminant is its lowest bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    /// The result.
    D = 0,
    /// The first operand.
    N = 5,
    /// The second operand.
    M = 16,
    /// The third operand.
    A = 10,
}

/// An immediate in an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    /// Left shift of lanes, encoded with their size.
    Left,
    /// Right shift of lanes, encoded with their size.
    Right,
    /// Number of a lane, encoded with its size.
    Lane,
    /// Lane of an element operand.
    Element,
    /// Position of a vector's first byte.
    Byte,
    /// Unsigned number of twelve bits.
    Twelve,
    /// Left shift of the second operand.
    Shift,
    /// First immediate of a bit-field instruction (immr).
    FieldStart,
    /// Second immediate of a bit-field instruction (imms).
    FieldEnd,
}

/// An operand in its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A vector register.
    Vector(Field),
    /// A general-purpose register.
    General(Field),
    /// An immediate.
    Number(Number),
}

/// The encoding of the lane size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sized {
    /// None: the word contains the size, or the instruction has none.
    Fixed,
    /// Bits 22 and 23.
    Integer,
    /// Bit 22: binary32 or binary64.
    Float,
    /// Bit 22: lanes of two or of four bytes.
    Narrow,
    /// Together with an immediate.
    Numbered,
}

/// The extension of Armv8.0-A that defines an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    /// Armv8.0-A itself.
    Base,
    /// Dot products of four bytes.
    DotProduct,
    /// Products of matrices of bytes.
    Matrix,
}

/// An instruction.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The manual's name, in lower case.
    pub name: &'static str,
    /// The word, with zeros in all fields.
    pub word: u32,
    /// Encoding of the lane size.
    pub sized: Sized,
    /// Smallest and largest lane size.
    pub sizes: [Size; 2],
    /// Operands in the manual's order.
    pub slots: &'static [Slot],
    /// `true` if the result register is also read.
    pub reads_result: bool,
    /// `true` if the instruction has no effect besides its result.
    pub pure: bool,
    /// Extension that defines the instruction.
    pub feature: Feature,
}

impl Row {
    /// Tests whether the instruction has lanes of a size.
    pub fn has(&self, size: Size) -> bool {
        self.sized == Sized::Fixed || (self.sizes[0]..=self.sizes[1]).contains(&size)
    }
}

use Field::{A, D, M, N};
use Slot::{General as X, Vector as V};

const V_V: &[Slot] = &[V(D), V(N)];
const V_V_V: &[Slot] = &[V(D), V(N), V(M)];
const X_X: &[Slot] = &[X(D), X(N)];
const X_X_X: &[Slot] = &[X(D), X(N), X(M)];
const X_V: &[Slot] = &[X(D), V(N)];
const V_X: &[Slot] = &[V(D), X(N)];

const fn row(name: &'static str, word: u32, sized: Sized, sizes: [Size; 2], slots: &'static [Slot]) -> Row {
    Row { name, word, sized, sizes, slots, reads_result: false, pure: true, feature: Feature::Base }
}

/// Marks the result register as also read.
const fn reading(row: Row) -> Row {
    Row { reads_result: true, ..row }
}

/// Marks an instruction of the extension for matrices of bytes, which adds to its result register.
const fn matrix(row: Row) -> Row {
    Row { feature: Feature::Matrix, ..reading(row) }
}

const ALL_SIZES: [Size; 2] = [Size::B, Size::D];
const TO_WORDS: [Size; 2] = [Size::B, Size::S];
const WORDS: [Size; 2] = [Size::H, Size::S];
const FLOATS: [Size; 2] = [Size::S, Size::D];

/// Makes a row of integer lanes: two vectors of one size.
const fn same(name: &'static str, unsigned: u32, opcode: u32, sizes: [Size; 2]) -> Row {
    row(name, 0x4E20_0400 | unsigned << 29 | opcode << 11, Sized::Integer, sizes, V_V_V)
}

/// Makes a row of float lanes: two vectors.
const fn floats(name: &'static str, unsigned: u32, high: u32, opcode: u32) -> Row {
    row(name, 0x4E20_0400 | unsigned << 29 | high << 23 | opcode << 11, Sized::Float, FLOATS, V_V_V)
}

/// Makes a row of bitwise operations: two vectors.
const fn bits(name: &'static str, unsigned: u32, size: u32) -> Row {
    row(name, 0x4E20_1C00 | unsigned << 29 | size << 22, Sized::Fixed, ALL_SIZES, V_V_V)
}

/// Makes a row of integer lanes: one vector.
const fn one(name: &'static str, unsigned: u32, opcode: u32, sizes: [Size; 2]) -> Row {
    row(name, 0x4E20_0800 | unsigned << 29 | opcode << 12, Sized::Integer, sizes, V_V)
}

/// Makes a row of float lanes: one vector.
const fn float(name: &'static str, unsigned: u32, high: u32, opcode: u32) -> Row {
    row(name, 0x4E20_0800 | unsigned << 29 | high << 23 | opcode << 12, Sized::Float, FLOATS, V_V)
}

/// Makes a row from half a register, the upper half if `upper`, to lanes of twice the size.
const fn long(name: &'static str, unsigned: u32, opcode: u32, upper: u32) -> Row {
    row(name, 0x0E20_0000 | upper << 30 | unsigned << 29 | opcode << 12, Sized::Integer, TO_WORDS, V_V_V)
}

/// Makes a row from a register to half a register, the upper half if `upper`.
const fn narrow(name: &'static str, unsigned: u32, opcode: u32, upper: u32) -> Row {
    let row = row(name, 0x0E20_0800 | upper << 30 | unsigned << 29 | opcode << 12, Sized::Integer, TO_WORDS, V_V);
    if upper == 1 { reading(row) } else { row }
}

/// Makes a row that shifts lanes by a constant.
const fn shift(name: &'static str, unsigned: u32, opcode: u32, left: bool) -> Row {
    let word = 0x4F00_0400 | unsigned << 29 | opcode << 11;
    row(
        name,
        word,
        Sized::Numbered,
        ALL_SIZES,
        if left { &[V(D), V(N), Slot::Number(Number::Left)] } else { &[V(D), V(N), Slot::Number(Number::Right)] },
    )
}

/// Makes a row from the lower or the upper half of a register to lanes of twice the size, shifted to the left.
const fn shift_long(name: &'static str, unsigned: u32, upper: u32) -> Row {
    let word = 0x0F00_A400 | upper << 30 | unsigned << 29;
    row(name, word, Sized::Numbered, TO_WORDS, &[V(D), V(N), Slot::Number(Number::Left)])
}

/// Makes a row that permutes the lanes of two vectors.
const fn permute(name: &'static str, opcode: u32) -> Row {
    row(name, 0x4E00_0800 | opcode << 12, Sized::Integer, ALL_SIZES, V_V_V)
}

/// Makes a row on general-purpose registers.
const fn general(name: &'static str, word: u32, slots: &'static [Slot]) -> Row {
    row(name, word, Sized::Fixed, ALL_SIZES, slots)
}

pub(super) const ADD: Row = same("add", 0, 0b10000, ALL_SIZES);
pub(super) const SUB: Row = same("sub", 1, 0b10000, ALL_SIZES);
pub(super) const MUL: Row = same("mul", 0, 0b10011, TO_WORDS);
pub(super) const SQADD: Row = same("sqadd", 0, 0b00001, ALL_SIZES);
pub(super) const SQSUB: Row = same("sqsub", 0, 0b00101, ALL_SIZES);
pub(super) const SMAX: Row = same("smax", 0, 0b01100, TO_WORDS);
pub(super) const SMIN: Row = same("smin", 0, 0b01101, TO_WORDS);
pub(super) const UMAX: Row = same("umax", 1, 0b01100, TO_WORDS);
pub(super) const UMIN: Row = same("umin", 1, 0b01101, TO_WORDS);
pub(super) const CMGT: Row = same("cmgt", 0, 0b00110, ALL_SIZES);
pub(super) const CMGE: Row = same("cmge", 0, 0b00111, ALL_SIZES);
pub(super) const CMHI: Row = same("cmhi", 1, 0b00110, ALL_SIZES);
pub(super) const CMHS: Row = same("cmhs", 1, 0b00111, ALL_SIZES);
pub(super) const CMEQ: Row = same("cmeq", 1, 0b10001, ALL_SIZES);
pub(super) const SSHL: Row = same("sshl", 0, 0b01000, ALL_SIZES);
pub(super) const USHL: Row = same("ushl", 1, 0b01000, ALL_SIZES);
pub(super) const SRSHL: Row = same("srshl", 0, 0b01010, ALL_SIZES);
pub(super) const SQRDMULH: Row = same("sqrdmulh", 1, 0b10110, WORDS);
pub(super) const ADDP: Row = same("addp", 0, 0b10111, ALL_SIZES);
pub(super) const AND: Row = bits("and", 0, 0);
pub(super) const ORR: Row = bits("orr", 0, 2);
pub(super) const EOR: Row = bits("eor", 1, 0);
pub(super) const BSL: Row = reading(bits("bsl", 1, 1));

pub(super) const FADD: Row = floats("fadd", 0, 0, 0b11010);
pub(super) const FSUB: Row = floats("fsub", 0, 1, 0b11010);
pub(super) const FMUL: Row = floats("fmul", 1, 0, 0b11011);
pub(super) const FDIV: Row = floats("fdiv", 1, 0, 0b11111);
pub(super) const FMLA: Row = reading(floats("fmla", 0, 0, 0b11001));
pub(super) const FMIN: Row = floats("fmin", 0, 1, 0b11110);
pub(super) const FMAX: Row = floats("fmax", 0, 0, 0b11110);
pub(super) const FCMEQ: Row = floats("fcmeq", 0, 0, 0b11100);
pub(super) const FCMGE: Row = floats("fcmge", 1, 0, 0b11100);
pub(super) const FCMGT: Row = floats("fcmgt", 1, 1, 0b11100);

pub(super) const ABS: Row = one("abs", 0, 0b01011, ALL_SIZES);
pub(super) const NEG: Row = one("neg", 1, 0b01011, ALL_SIZES);
pub(super) const CLZ: Row = one("clz", 1, 0b00100, TO_WORDS);
pub(super) const SADDLP: Row = one("saddlp", 0, 0b00010, TO_WORDS);
pub(super) const SADALP: Row = reading(one("sadalp", 0, 0b00110, TO_WORDS));
pub(super) const NOT: Row = row("not", 0x6E20_5800, Sized::Fixed, ALL_SIZES, V_V);
pub(super) const FABS: Row = float("fabs", 0, 1, 0b01111);
pub(super) const FNEG: Row = float("fneg", 1, 1, 0b01111);
pub(super) const FSQRT: Row = float("fsqrt", 1, 1, 0b11111);
pub(super) const FRINTN: Row = float("frintn", 0, 0, 0b11000);
pub(super) const FRINTM: Row = float("frintm", 0, 0, 0b11001);
pub(super) const FRINTP: Row = float("frintp", 0, 1, 0b11000);
pub(super) const FRINTZ: Row = float("frintz", 0, 1, 0b11001);
pub(super) const SCVTF: Row = float("scvtf", 0, 0, 0b11101);
pub(super) const UCVTF: Row = float("ucvtf", 1, 0, 0b11101);
pub(super) const FCVTZS: Row = float("fcvtzs", 0, 1, 0b11011);
pub(super) const FCVTZU: Row = float("fcvtzu", 1, 1, 0b11011);
pub(super) const FCVTL: Row = row("fcvtl", 0x0E21_7800, Sized::Narrow, WORDS, V_V);
pub(super) const FCVTL2: Row = row("fcvtl2", 0x4E21_7800, Sized::Narrow, WORDS, V_V);
pub(super) const FCVTN: Row = row("fcvtn", 0x0E21_6800, Sized::Narrow, WORDS, V_V);
pub(super) const FCVTN2: Row = reading(row("fcvtn2", 0x4E21_6800, Sized::Narrow, WORDS, V_V));
/// Division of the lowest lane only.
pub(super) const FDIV_ONE: Row = row("fdiv", 0x1E20_1800, Sized::Float, FLOATS, V_V_V);
/// Square root of the lowest lane only.
pub(super) const FSQRT_ONE: Row = row("fsqrt", 0x1E21_C000, Sized::Float, FLOATS, V_V);

pub(super) const SQXTN: Row = narrow("sqxtn", 0, 0b10100, 0);
pub(super) const SQXTN2: Row = narrow("sqxtn2", 0, 0b10100, 1);
pub(super) const SQXTUN: Row = narrow("sqxtun", 1, 0b10010, 0);
pub(super) const SQXTUN2: Row = narrow("sqxtun2", 1, 0b10010, 1);
pub(super) const UQXTN: Row = narrow("uqxtn", 1, 0b10100, 0);
pub(super) const UQXTN2: Row = narrow("uqxtn2", 1, 0b10100, 1);

pub(super) const SMULL: Row = long("smull", 0, 0b1100, 0);
pub(super) const SMULL2: Row = long("smull2", 0, 0b1100, 1);
pub(super) const SMLAL: Row = reading(long("smlal", 0, 0b1000, 0));
pub(super) const SMLAL2: Row = reading(long("smlal2", 0, 0b1000, 1));
pub(super) const SADDW: Row = long("saddw", 0, 0b0001, 0);
pub(super) const SADDW2: Row = long("saddw2", 0, 0b0001, 1);
pub(super) const UMULL: Row = long("umull", 1, 0b1100, 0);
pub(super) const UMULL2: Row = long("umull2", 1, 0b1100, 1);

pub(super) const SHL: Row = shift("shl", 0, 0b01010, true);
pub(super) const SSHR: Row = shift("sshr", 0, 0b00000, false);
pub(super) const USHR: Row = shift("ushr", 1, 0b00000, false);
pub(super) const SRSHR: Row = shift("srshr", 0, 0b00100, false);
pub(super) const SSRA: Row = reading(shift("ssra", 0, 0b00010, false));
pub(super) const SSHLL: Row = shift_long("sshll", 0, 0);
pub(super) const SSHLL2: Row = shift_long("sshll2", 0, 1);
pub(super) const USHLL: Row = shift_long("ushll", 1, 0);
pub(super) const USHLL2: Row = shift_long("ushll2", 1, 1);
/// Lanes of twice the size, shifted by all bits of the shorter ones.
pub(super) const SHLL: Row = row("shll", 0x2E21_3800, Sized::Integer, TO_WORDS, V_V);
pub(super) const SHLL2: Row = row("shll2", 0x6E21_3800, Sized::Integer, TO_WORDS, V_V);

pub(super) const UZP1: Row = permute("uzp1", 1);
pub(super) const TRN1: Row = permute("trn1", 2);
pub(super) const ZIP1: Row = permute("zip1", 3);
pub(super) const UZP2: Row = permute("uzp2", 5);
pub(super) const TRN2: Row = permute("trn2", 6);
pub(super) const ZIP2: Row = permute("zip2", 7);
pub(super) const REV64: Row = one("rev64", 0, 0b00000, TO_WORDS);
pub(super) const EXT: Row = row("ext", 0x6E00_0000, Sized::Fixed, ALL_SIZES, &[V(D), V(N), V(M), Slot::Number(Number::Byte)]);
pub(super) const TBL: Row = row("tbl", 0x4E00_0000, Sized::Fixed, ALL_SIZES, V_V_V);
pub(super) const TBX: Row = reading(row("tbx", 0x4E00_1000, Sized::Fixed, ALL_SIZES, V_V_V));
pub(super) const DUP: Row = row("dup", 0x4E00_0400, Sized::Numbered, ALL_SIZES, &[V(D), V(N), Slot::Number(Number::Lane)]);
pub(super) const DUP_GENERAL: Row = row("dup", 0x4E00_0C00, Sized::Numbered, ALL_SIZES, V_X);
pub(super) const INS_GENERAL: Row = reading(row("mov", 0x4E00_1C00, Sized::Numbered, ALL_SIZES, &[V(D), Slot::Number(Number::Lane), X(N)]));
pub(super) const UMOV: Row = row("umov", 0x0E00_3C00, Sized::Numbered, ALL_SIZES, &[X(D), V(N), Slot::Number(Number::Lane)]);
pub(super) const SMOV: Row = row("smov", 0x4E00_2C00, Sized::Numbered, TO_WORDS, &[X(D), V(N), Slot::Number(Number::Lane)]);

pub(super) const SDOT: Row = Row { feature: Feature::DotProduct, ..reading(row("sdot", 0x4E80_9400, Sized::Fixed, ALL_SIZES, V_V_V)) };
pub(super) const SDOT_ELEMENT: Row = Row {
    feature: Feature::DotProduct,
    ..reading(row("sdot", 0x4F80_E000, Sized::Fixed, [Size::S, Size::S], &[V(D), V(N), V(M), Slot::Number(Number::Element)]))
};
pub(super) const USDOT: Row = matrix(row("usdot", 0x4E80_9C00, Sized::Fixed, ALL_SIZES, V_V_V));
pub(super) const SMMLA: Row = matrix(row("smmla", 0x4E80_A400, Sized::Fixed, ALL_SIZES, V_V_V));
pub(super) const USMMLA: Row = matrix(row("usmmla", 0x4E80_AC00, Sized::Fixed, ALL_SIZES, V_V_V));
pub(super) const FMLA_ELEMENT: Row =
    reading(row("fmla", 0x4F80_1000, Sized::Float, FLOATS, &[V(D), V(N), V(M), Slot::Number(Number::Element)]));
pub(super) const FMUL_ELEMENT: Row = row("fmul", 0x4F80_9000, Sized::Float, FLOATS, &[V(D), V(N), V(M), Slot::Number(Number::Element)]);

/// Moves a general-purpose register to the low bits of a vector register, with zeros above.
pub(super) const FMOV_TO_D: Row = general("fmov", 0x9E67_0000, V_X);
pub(super) const FMOV_FROM_D: Row = general("fmov", 0x9E66_0000, X_V);
pub(super) const SCVTF_S: Row = general("scvtf", 0x9E22_0000, V_X);
pub(super) const UCVTF_S: Row = general("ucvtf", 0x9E23_0000, V_X);

pub(super) const ADD_X: Row = general("add", 0x8B00_0000, &[X(D), X(N), X(M), Slot::Number(Number::Shift)]);
pub(super) const ADD_NUMBER: Row = general("add", 0x9100_0000, &[X(D), X(N), Slot::Number(Number::Twelve)]);
pub(super) const SUB_NUMBER: Row = general("sub", 0xD100_0000, &[X(D), X(N), Slot::Number(Number::Twelve)]);
pub(super) const ADD_FAR: Row = general("add", 0x9140_0000, &[X(D), X(N), Slot::Number(Number::Twelve)]);
pub(super) const SUB_FAR: Row = general("sub", 0xD140_0000, &[X(D), X(N), Slot::Number(Number::Twelve)]);
pub(super) const SUB_X: Row = general("sub", 0xCB00_0000, X_X_X);
pub(super) const AND_X: Row = general("and", 0x8A00_0000, X_X_X);
pub(super) const ORR_X: Row = general("orr", 0xAA00_0000, &[X(D), X(N), X(M), Slot::Number(Number::Shift)]);
pub(super) const EOR_X: Row = general("eor", 0xCA00_0000, X_X_X);
pub(super) const MSUB_X: Row = general("msub", 0x9B00_8000, &[X(D), X(N), X(M), X(A)]);
pub(super) const MUL_X: Row = general("mul", 0x9B00_7C00, X_X_X);
pub(super) const SDIV_X: Row = general("sdiv", 0x9AC0_0C00, X_X_X);
pub(super) const UDIV_X: Row = general("udiv", 0x9AC0_0800, X_X_X);
pub(super) const LSL_X: Row = general("lsl", 0x9AC0_2000, X_X_X);
pub(super) const LSR_X: Row = general("lsr", 0x9AC0_2400, X_X_X);
pub(super) const ASR_X: Row = general("asr", 0x9AC0_2800, X_X_X);
pub(super) const CLZ_X: Row = general("clz", 0xDAC0_1000, X_X);
pub(super) const NEG_X: Row = general("neg", 0xCB00_03E0, &[X(D), X(M)]);
pub(super) const MVN_X: Row = general("mvn", 0xAA20_03E0, &[X(D), X(M)]);
/// Bit-field moves: shifts by constants, and extensions.
pub(super) const UBFM: Row = general("ubfm", 0xD340_0000, &[X(D), X(N), Slot::Number(Number::FieldStart), Slot::Number(Number::FieldEnd)]);
pub(super) const SBFM: Row = general("sbfm", 0x9340_0000, &[X(D), X(N), Slot::Number(Number::FieldStart), Slot::Number(Number::FieldEnd)]);
/// Bitwise and, exclusive or with 1.
pub(super) const AND_ONE: Row = general("and", 0x9240_0000, X_X);
pub(super) const EOR_ONE: Row = general("eor", 0xD240_0000, X_X);

/// All rows.
#[cfg(test)]
pub(super) const EVERY: &[&Row] = &[
    &ADD,
    &SUB,
    &MUL,
    &SQADD,
    &SQSUB,
    &SMAX,
    &SMIN,
    &UMAX,
    &UMIN,
    &CMGT,
    &CMGE,
    &CMHI,
    &CMHS,
    &CMEQ,
    &SSHL,
    &USHL,
    &SRSHL,
    &SQRDMULH,
    &ADDP,
    &AND,
    &ORR,
    &EOR,
    &BSL,
    &FADD,
    &FSUB,
    &FMUL,
    &FDIV,
    &FMLA,
    &FMIN,
    &FMAX,
    &FCMEQ,
    &FCMGE,
    &FCMGT,
    &ABS,
    &NEG,
    &CLZ,
    &SADDLP,
    &SADALP,
    &NOT,
    &FABS,
    &FNEG,
    &FSQRT,
    &FRINTN,
    &FRINTM,
    &FRINTP,
    &FRINTZ,
    &SCVTF,
    &UCVTF,
    &FCVTZS,
    &FCVTZU,
    &FCVTL,
    &FCVTL2,
    &FCVTN,
    &FCVTN2,
    &FDIV_ONE,
    &FSQRT_ONE,
    &SQXTN,
    &SQXTN2,
    &SQXTUN,
    &SQXTUN2,
    &UQXTN,
    &UQXTN2,
    &SMULL,
    &SMULL2,
    &SMLAL,
    &SMLAL2,
    &SADDW,
    &SADDW2,
    &UMULL,
    &UMULL2,
    &SHL,
    &SSHR,
    &USHR,
    &SRSHR,
    &SSRA,
    &SSHLL,
    &SSHLL2,
    &USHLL,
    &USHLL2,
    &SHLL,
    &SHLL2,
    &UZP1,
    &TRN1,
    &ZIP1,
    &UZP2,
    &TRN2,
    &ZIP2,
    &REV64,
    &EXT,
    &TBL,
    &TBX,
    &DUP,
    &DUP_GENERAL,
    &INS_GENERAL,
    &UMOV,
    &SMOV,
    &SDOT,
    &SDOT_ELEMENT,
    &USDOT,
    &SMMLA,
    &USMMLA,
    &FMLA_ELEMENT,
    &FMUL_ELEMENT,
    &FMOV_TO_D,
    &FMOV_FROM_D,
    &SCVTF_S,
    &UCVTF_S,
    &ADD_X,
    &ADD_NUMBER,
    &SUB_NUMBER,
    &ADD_FAR,
    &SUB_FAR,
    &SUB_X,
    &AND_X,
    &ORR_X,
    &EOR_X,
    &MSUB_X,
    &MUL_X,
    &SDIV_X,
    &UDIV_X,
    &LSL_X,
    &LSR_X,
    &ASR_X,
    &CLZ_X,
    &NEG_X,
    &MVN_X,
    &UBFM,
    &SBFM,
    &AND_ONE,
    &EOR_ONE,
];
