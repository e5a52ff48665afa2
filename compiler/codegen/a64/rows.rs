//! The instructions that kernels become, one row each, with their encoding. Names are those of Arm's manual. Loads, stores, jumps and constants that
//! need several instructions are not here.

use crate::own::rows;

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

rows! {
    ADD = same("add", 0, 0b10000, ALL_SIZES);
    SUB = same("sub", 1, 0b10000, ALL_SIZES);
    MUL = same("mul", 0, 0b10011, TO_WORDS);
    SQADD = same("sqadd", 0, 0b00001, ALL_SIZES);
    SQSUB = same("sqsub", 0, 0b00101, ALL_SIZES);
    SMAX = same("smax", 0, 0b01100, TO_WORDS);
    SMIN = same("smin", 0, 0b01101, TO_WORDS);
    UMAX = same("umax", 1, 0b01100, TO_WORDS);
    UMIN = same("umin", 1, 0b01101, TO_WORDS);
    CMGT = same("cmgt", 0, 0b00110, ALL_SIZES);
    CMGE = same("cmge", 0, 0b00111, ALL_SIZES);
    CMHI = same("cmhi", 1, 0b00110, ALL_SIZES);
    CMHS = same("cmhs", 1, 0b00111, ALL_SIZES);
    CMEQ = same("cmeq", 1, 0b10001, ALL_SIZES);
    SSHL = same("sshl", 0, 0b01000, ALL_SIZES);
    USHL = same("ushl", 1, 0b01000, ALL_SIZES);
    SRSHL = same("srshl", 0, 0b01010, ALL_SIZES);
    SQRDMULH = same("sqrdmulh", 1, 0b10110, WORDS);
    ADDP = same("addp", 0, 0b10111, ALL_SIZES);
    AND = bits("and", 0, 0);
    ORR = bits("orr", 0, 2);
    EOR = bits("eor", 1, 0);
    BSL = reading(bits("bsl", 1, 1));

    FADD = floats("fadd", 0, 0, 0b11010);
    FSUB = floats("fsub", 0, 1, 0b11010);
    FMUL = floats("fmul", 1, 0, 0b11011);
    FDIV = floats("fdiv", 1, 0, 0b11111);
    FMLA = reading(floats("fmla", 0, 0, 0b11001));
    FMIN = floats("fmin", 0, 1, 0b11110);
    FMAX = floats("fmax", 0, 0, 0b11110);
    FCMEQ = floats("fcmeq", 0, 0, 0b11100);
    FCMGE = floats("fcmge", 1, 0, 0b11100);
    FCMGT = floats("fcmgt", 1, 1, 0b11100);

    ABS = one("abs", 0, 0b01011, ALL_SIZES);
    NEG = one("neg", 1, 0b01011, ALL_SIZES);
    CLZ = one("clz", 1, 0b00100, TO_WORDS);
    SADDLP = one("saddlp", 0, 0b00010, TO_WORDS);
    SADALP = reading(one("sadalp", 0, 0b00110, TO_WORDS));
    NOT = row("not", 0x6E20_5800, Sized::Fixed, ALL_SIZES, V_V);
    FABS = float("fabs", 0, 1, 0b01111);
    FNEG = float("fneg", 1, 1, 0b01111);
    FSQRT = float("fsqrt", 1, 1, 0b11111);
    FRINTN = float("frintn", 0, 0, 0b11000);
    FRINTM = float("frintm", 0, 0, 0b11001);
    FRINTP = float("frintp", 0, 1, 0b11000);
    FRINTZ = float("frintz", 0, 1, 0b11001);
    SCVTF = float("scvtf", 0, 0, 0b11101);
    UCVTF = float("ucvtf", 1, 0, 0b11101);
    FCVTZS = float("fcvtzs", 0, 1, 0b11011);
    FCVTZU = float("fcvtzu", 1, 1, 0b11011);
    FCVTL = row("fcvtl", 0x0E21_7800, Sized::Narrow, WORDS, V_V);
    FCVTL2 = row("fcvtl2", 0x4E21_7800, Sized::Narrow, WORDS, V_V);
    FCVTN = row("fcvtn", 0x0E21_6800, Sized::Narrow, WORDS, V_V);
    FCVTN2 = reading(row("fcvtn2", 0x4E21_6800, Sized::Narrow, WORDS, V_V));
    /// Division of the lowest lane only.
    FDIV_ONE = row("fdiv", 0x1E20_1800, Sized::Float, FLOATS, V_V_V);
    /// Square root of the lowest lane only.
    FSQRT_ONE = row("fsqrt", 0x1E21_C000, Sized::Float, FLOATS, V_V);

    SQXTN = narrow("sqxtn", 0, 0b10100, 0);
    SQXTN2 = narrow("sqxtn2", 0, 0b10100, 1);
    SQXTUN = narrow("sqxtun", 1, 0b10010, 0);
    SQXTUN2 = narrow("sqxtun2", 1, 0b10010, 1);
    UQXTN = narrow("uqxtn", 1, 0b10100, 0);
    UQXTN2 = narrow("uqxtn2", 1, 0b10100, 1);

    SMULL = long("smull", 0, 0b1100, 0);
    SMULL2 = long("smull2", 0, 0b1100, 1);
    SMLAL = reading(long("smlal", 0, 0b1000, 0));
    SMLAL2 = reading(long("smlal2", 0, 0b1000, 1));
    SADDW = long("saddw", 0, 0b0001, 0);
    SADDW2 = long("saddw2", 0, 0b0001, 1);
    UMULL = long("umull", 1, 0b1100, 0);
    UMULL2 = long("umull2", 1, 0b1100, 1);

    SHL = shift("shl", 0, 0b01010, true);
    SSHR = shift("sshr", 0, 0b00000, false);
    USHR = shift("ushr", 1, 0b00000, false);
    SRSHR = shift("srshr", 0, 0b00100, false);
    SSRA = reading(shift("ssra", 0, 0b00010, false));
    SSHLL = shift_long("sshll", 0, 0);
    SSHLL2 = shift_long("sshll2", 0, 1);
    USHLL = shift_long("ushll", 1, 0);
    USHLL2 = shift_long("ushll2", 1, 1);
    /// Lanes of twice the size, shifted by all bits of the shorter ones.
    SHLL = row("shll", 0x2E21_3800, Sized::Integer, TO_WORDS, V_V);
    SHLL2 = row("shll2", 0x6E21_3800, Sized::Integer, TO_WORDS, V_V);

    UZP1 = permute("uzp1", 1);
    TRN1 = permute("trn1", 2);
    ZIP1 = permute("zip1", 3);
    UZP2 = permute("uzp2", 5);
    TRN2 = permute("trn2", 6);
    ZIP2 = permute("zip2", 7);
    REV64 = one("rev64", 0, 0b00000, TO_WORDS);
    EXT = row("ext", 0x6E00_0000, Sized::Fixed, ALL_SIZES, &[V(D), V(N), V(M), Slot::Number(Number::Byte)]);
    TBL = row("tbl", 0x4E00_0000, Sized::Fixed, ALL_SIZES, V_V_V);
    TBX = reading(row("tbx", 0x4E00_1000, Sized::Fixed, ALL_SIZES, V_V_V));
    DUP = row("dup", 0x4E00_0400, Sized::Numbered, ALL_SIZES, &[V(D), V(N), Slot::Number(Number::Lane)]);
    DUP_GENERAL = row("dup", 0x4E00_0C00, Sized::Numbered, ALL_SIZES, V_X);
    INS_GENERAL = reading(row("mov", 0x4E00_1C00, Sized::Numbered, ALL_SIZES, &[V(D), Slot::Number(Number::Lane), X(N)]));
    UMOV = row("umov", 0x0E00_3C00, Sized::Numbered, ALL_SIZES, &[X(D), V(N), Slot::Number(Number::Lane)]);
    SMOV = row("smov", 0x4E00_2C00, Sized::Numbered, TO_WORDS, &[X(D), V(N), Slot::Number(Number::Lane)]);

    SDOT = Row { feature: Feature::DotProduct, ..reading(row("sdot", 0x4E80_9400, Sized::Fixed, ALL_SIZES, V_V_V)) };
    SDOT_ELEMENT = Row {
        feature: Feature::DotProduct,
        ..reading(row("sdot", 0x4F80_E000, Sized::Fixed, [Size::S, Size::S], &[V(D), V(N), V(M), Slot::Number(Number::Element)]))
    };
    USDOT = matrix(row("usdot", 0x4E80_9C00, Sized::Fixed, ALL_SIZES, V_V_V));
    SMMLA = matrix(row("smmla", 0x4E80_A400, Sized::Fixed, ALL_SIZES, V_V_V));
    USMMLA = matrix(row("usmmla", 0x4E80_AC00, Sized::Fixed, ALL_SIZES, V_V_V));
    FMLA_ELEMENT = reading(row("fmla", 0x4F80_1000, Sized::Float, FLOATS, &[V(D), V(N), V(M), Slot::Number(Number::Element)]));
    FMUL_ELEMENT = row("fmul", 0x4F80_9000, Sized::Float, FLOATS, &[V(D), V(N), V(M), Slot::Number(Number::Element)]);

    /// Moves a general-purpose register to the low bits of a vector register, with zeros above.
    FMOV_TO_D = general("fmov", 0x9E67_0000, V_X);
    FMOV_FROM_D = general("fmov", 0x9E66_0000, X_V);
    SCVTF_S = general("scvtf", 0x9E22_0000, V_X);
    UCVTF_S = general("ucvtf", 0x9E23_0000, V_X);

    ADD_X = general("add", 0x8B00_0000, &[X(D), X(N), X(M), Slot::Number(Number::Shift)]);
    ADD_NUMBER = general("add", 0x9100_0000, &[X(D), X(N), Slot::Number(Number::Twelve)]);
    SUB_NUMBER = general("sub", 0xD100_0000, &[X(D), X(N), Slot::Number(Number::Twelve)]);
    ADD_FAR = general("add", 0x9140_0000, &[X(D), X(N), Slot::Number(Number::Twelve)]);
    SUB_FAR = general("sub", 0xD140_0000, &[X(D), X(N), Slot::Number(Number::Twelve)]);
    SUB_X = general("sub", 0xCB00_0000, X_X_X);
    AND_X = general("and", 0x8A00_0000, X_X_X);
    ORR_X = general("orr", 0xAA00_0000, &[X(D), X(N), X(M), Slot::Number(Number::Shift)]);
    EOR_X = general("eor", 0xCA00_0000, X_X_X);
    MSUB_X = general("msub", 0x9B00_8000, &[X(D), X(N), X(M), X(A)]);
    MUL_X = general("mul", 0x9B00_7C00, X_X_X);
    SDIV_X = general("sdiv", 0x9AC0_0C00, X_X_X);
    UDIV_X = general("udiv", 0x9AC0_0800, X_X_X);
    LSL_X = general("lsl", 0x9AC0_2000, X_X_X);
    LSR_X = general("lsr", 0x9AC0_2400, X_X_X);
    ASR_X = general("asr", 0x9AC0_2800, X_X_X);
    CLZ_X = general("clz", 0xDAC0_1000, X_X);
    NEG_X = general("neg", 0xCB00_03E0, &[X(D), X(M)]);
    MVN_X = general("mvn", 0xAA20_03E0, &[X(D), X(M)]);
    /// Bit-field moves: shifts by constants, and extensions.
    UBFM = general("ubfm", 0xD340_0000, &[X(D), X(N), Slot::Number(Number::FieldStart), Slot::Number(Number::FieldEnd)]);
    SBFM = general("sbfm", 0x9340_0000, &[X(D), X(N), Slot::Number(Number::FieldStart), Slot::Number(Number::FieldEnd)]);
    /// Bitwise and, exclusive or with 1.
    AND_ONE = general("and", 0x9240_0000, X_X);
    EOR_ONE = general("eor", 0xD240_0000, X_X);
}
