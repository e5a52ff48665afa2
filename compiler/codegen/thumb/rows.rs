//! Table of instructions. Each row has the name in Arm's manual and the encodings in 32 and 16 bits. Loads, stores, jumps and sequences are elsewhere.
//! The encodings are from the Armv7-M Architecture Reference Manual, chapter A7.

use crate::own::rows;

/// The field of a general-purpose register in a 32-bit encoding, by its lowest bit. The first halfword is the upper half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    /// The last operand.
    M = 0,
    /// The result.
    D = 8,
    /// An addend, or the low half of a result.
    A = 12,
    /// The first operand.
    N = 16,
}

/// The field of a binary32 register. The lowest bit of its number is in a separate place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Single {
    /// The result.
    D,
    /// The first operand.
    N,
    /// The last operand.
    M,
}

/// Form of a constant in an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    /// A byte, repeated or shifted.
    Modified,
    /// Twelve unsigned bits.
    Twelve,
    /// A shift count below 32.
    Shift,
    /// Five unsigned bits.
    Five,
    /// Shift count below 32 of vectors, to the left.
    Left,
    /// Shift count from 1 to 32 of vectors, to the right.
    Right,
}

/// An operand in its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A general-purpose register.
    Word(Field),
    /// A general-purpose register that is in two fields.
    Twice(Field, Field),
    /// A general-purpose register with an even number.
    Even(Field),
    /// A binary32 register.
    Single(Single),
    /// A binary64 register, in the field of a binary32 register.
    Double(Single),
    /// A vector register.
    Vector(Single),
    /// A constant.
    Number(Number),
}

/// The 16-bit encoding, for r0 to r7. Arithmetic sets flags in this form. This is safe, because flags are only used inside a sequence of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Short {
    /// No 16-bit encoding.
    None,
    /// Two registers: result and operand.
    Two(u16),
    /// Three registers: result and two operands.
    Three(u16),
    /// Two registers: the result is also the first operand.
    Same(u16),
    /// Two registers: the result is also one of the operands.
    Either(u16),
    /// Result, operand and a shift count of five bits.
    Shift(u16),
    /// Two encodings: result, operand and a constant of three bits; or one register and a constant of eight bits.
    Small(u16, u16),
}

/// The part of the architecture that has an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    /// Armv7-M.
    Base,
    /// The DSP extension.
    Dsp,
    /// FPv4-SP.
    Single,
    /// FPv5 with binary64.
    Double,
    /// The vector extension of Armv8.1-M for integers.
    Vectors,
}

/// An instruction.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The manual's name, in lower case.
    pub name: &'static str,
    /// The two halfwords, with zeros in all fields.
    pub word: u32,
    /// The 16-bit encoding.
    pub short: Short,
    /// Operands in the manual's order.
    pub slots: &'static [Slot],
    /// `true` if the result's register is also read.
    pub reads_result: bool,
    /// `true` if the only effect is the result: no flags are set for the next instruction, and none are read.
    pub pure: bool,
    /// The part of the architecture that has it.
    pub feature: Feature,
}

use Field::{A, D, M, N};
use Slot::{Single as S, Vector as V, Word as W};

const TWO: &[Slot] = &[W(D), W(M)];
const THREE: &[Slot] = &[W(D), W(N), W(M)];
/// Operands of a product that is added to a sum.
pub(super) const FOUR: &[Slot] = &[W(D), W(N), W(M), W(A)];
const LONG: &[Slot] = &[W(A), W(D), W(N), W(M)];
const SHIFTED: &[Slot] = &[W(D), W(N), W(M), Slot::Number(Number::Shift)];
const SATURATED: &[Slot] = &[W(D), Slot::Number(Number::Five), W(N), Slot::Number(Number::Shift)];
const MODIFIED: &[Slot] = &[W(D), W(N), Slot::Number(Number::Modified)];
const TWELVE: &[Slot] = &[W(D), W(N), Slot::Number(Number::Twelve)];

const fn row(name: &'static str, word: u32, short: Short, slots: &'static [Slot]) -> Row {
    Row { name, word, short, slots, reads_result: false, pure: true, feature: Feature::Base }
}

/// Marks a row that sets flags for the next instruction, or reads flags of the previous one.
const fn flags(row: Row) -> Row {
    Row { pure: false, ..row }
}

/// Makes a row of the DSP extension.
const fn dsp(name: &'static str, word: u32, slots: &'static [Slot]) -> Row {
    Row { feature: Feature::Dsp, ..row(name, word, Short::None, slots) }
}

/// Makes a row of two binary32 registers.
const fn one(name: &'static str, word: u32) -> Row {
    single(name, word, &[S(Single::D), S(Single::M)])
}

/// Makes a row of three binary32 registers.
const fn two(name: &'static str, word: u32) -> Row {
    single(name, word, &[S(Single::D), S(Single::N), S(Single::M)])
}

const fn single(name: &'static str, word: u32, slots: &'static [Slot]) -> Row {
    Row { feature: Feature::Single, ..row(name, word, Short::None, slots) }
}

/// Makes a row of registers of which some are of binary64.
const fn double(name: &'static str, word: u32, slots: &'static [Slot]) -> Row {
    Row { feature: Feature::Double, ..row(name, word, Short::None, slots) }
}

/// Makes a row of two binary64 registers.
const fn one_double(name: &'static str, word: u32) -> Row {
    double(name, word, &[Slot::Double(Single::D), Slot::Double(Single::M)])
}

/// Makes a row of three binary64 registers.
const fn two_doubles(name: &'static str, word: u32) -> Row {
    double(name, word, &[Slot::Double(Single::D), Slot::Double(Single::N), Slot::Double(Single::M)])
}

/// Makes a row of a shift by a constant.
const fn shift(name: &'static str, kind: u32, short: u16) -> Row {
    row(name, 0xEA4F_0000 | kind << 4, Short::Shift(short), &[W(D), W(M), Slot::Number(Number::Shift)])
}

/// Makes a row with a shifted last operand. Kinds are 0 for left, 1 for logical right and 2 for arithmetic right.
const fn shifted(name: &'static str, word: u32, kind: u32) -> Row {
    row(name, word | kind << 4, Short::None, SHIFTED)
}

const VECTORS: &[Slot] = &[V(Single::D), V(Single::N), V(Single::M)];
const VECTOR_AND_NUMBER: [&[Slot]; 2] =
    [&[V(Single::D), V(Single::M), Slot::Number(Number::Left)], &[V(Single::D), V(Single::M), Slot::Number(Number::Right)]];

/// Makes a row of vectors.
const fn of_vectors(name: &'static str, word: u32, slots: &'static [Slot]) -> Row {
    Row { feature: Feature::Vectors, ..row(name, word, Short::None, slots) }
}

/// Makes a row that changes half of each lane of its result.
const fn narrowing(name: &'static str, word: u32) -> Row {
    Row { reads_result: true, ..of_vectors(name, word, &[V(Single::D), V(Single::M)]) }
}

rows! {
    ADD = row("add", 0xEB00_0000, Short::Three(0x1800), THREE);
    SUB = row("sub", 0xEBA0_0000, Short::Three(0x1A00), THREE);
    ADDS = flags(row("adds", 0xEB10_0000, Short::Three(0x1800), THREE));
    SUBS = flags(row("subs", 0xEBB0_0000, Short::Three(0x1A00), THREE));
    ADC = flags(row("adc", 0xEB40_0000, Short::Either(0x4140), THREE));
    SBC = flags(row("sbc", 0xEB60_0000, Short::Same(0x4180), THREE));
    AND = row("and", 0xEA00_0000, Short::Either(0x4000), THREE);
    ORR = row("orr", 0xEA40_0000, Short::Either(0x4300), THREE);
    EOR = row("eor", 0xEA80_0000, Short::Either(0x4040), THREE);
    MVN = row("mvn", 0xEA6F_0000, Short::Two(0x43C0), TWO);
    LSL = row("lsl", 0xFA00_F000, Short::Same(0x4080), THREE);
    LSR = row("lsr", 0xFA20_F000, Short::Same(0x40C0), THREE);
    ASR = row("asr", 0xFA40_F000, Short::Same(0x4100), THREE);
    LSL_NUMBER = shift("lsl", 0, 0x0000);
    LSR_NUMBER = shift("lsr", 1, 0x0800);
    ASR_NUMBER = shift("asr", 2, 0x1000);
    ADD_LSL = shifted("add", 0xEB00_0000, 0);
    ADD_LSR = shifted("add", 0xEB00_0000, 1);
    ADD_ASR = shifted("add", 0xEB00_0000, 2);
    SUB_LSL = shifted("sub", 0xEBA0_0000, 0);
    SUB_LSR = shifted("sub", 0xEBA0_0000, 1);
    SUB_ASR = shifted("sub", 0xEBA0_0000, 2);
    ORR_LSL = shifted("orr", 0xEA40_0000, 0);
    ORR_LSR = shifted("orr", 0xEA40_0000, 1);
    ORR_ASR = shifted("orr", 0xEA40_0000, 2);
    EOR_LSL = shifted("eor", 0xEA80_0000, 0);
    EOR_LSR = shifted("eor", 0xEA80_0000, 1);
    EOR_ASR = shifted("eor", 0xEA80_0000, 2);

    ADD_TWELVE = row("add", 0xF200_0000, Short::Small(0x1C00, 0x3000), TWELVE);
    SUB_TWELVE = row("sub", 0xF2A0_0000, Short::Small(0x1E00, 0x3800), TWELVE);
    ADD_NUMBER = row("add", 0xF100_0000, Short::None, MODIFIED);
    SUB_NUMBER = row("sub", 0xF1A0_0000, Short::None, MODIFIED);
    AND_NUMBER = row("and", 0xF000_0000, Short::None, MODIFIED);
    BIC_NUMBER = row("bic", 0xF020_0000, Short::None, MODIFIED);
    ORR_NUMBER = row("orr", 0xF040_0000, Short::None, MODIFIED);
    EOR_NUMBER = row("eor", 0xF080_0000, Short::None, MODIFIED);

    MUL = row("mul", 0xFB00_F000, Short::Either(0x4340), THREE);
    MLA = row("mla", 0xFB00_0000, Short::None, FOUR);
    MLS = row("mls", 0xFB00_0010, Short::None, FOUR);
    SMULL = row("smull", 0xFB80_0000, Short::None, LONG);
    UMULL = row("umull", 0xFBA0_0000, Short::None, LONG);
    SDIV = row("sdiv", 0xFB90_F0F0, Short::None, THREE);
    UDIV = row("udiv", 0xFBB0_F0F0, Short::None, THREE);
    CLZ = row("clz", 0xFAB0_F080, Short::None, &[W(D), Slot::Twice(N, M)]);
    SXTB = row("sxtb", 0xFA4F_F080, Short::Two(0xB240), TWO);
    SXTH = row("sxth", 0xFA0F_F080, Short::Two(0xB200), TWO);
    UXTB = row("uxtb", 0xFA5F_F080, Short::Two(0xB2C0), TWO);
    UXTH = row("uxth", 0xFA1F_F080, Short::Two(0xB280), TWO);
    /// Signed saturation. The field is the number of bits minus one.
    SSAT = row("ssat", 0xF300_0000, Short::None, &[W(D), Slot::Number(Number::Five), W(N)]);
    USAT = row("usat", 0xF380_0000, Short::None, &[W(D), Slot::Number(Number::Five), W(N)]);

    /// Saturation of a word after an arithmetic right shift by at least one.
    SSAT_ASR = row("ssat", 0xF320_0000, Short::None, SATURATED);
    USAT_ASR = row("usat", 0xF3A0_0000, Short::None, SATURATED);

    SMMUL = dsp("smmul", 0xFB50_F000, THREE);
    SMMLA = dsp("smmla", 0xFB50_0000, FOUR);
    SXTB16 = dsp("sxtb16", 0xFA2F_F080, TWO);
    /// Sign extension of the second and the fourth byte.
    SXTB16_ODD = dsp("sxtb16", 0xFA2F_F090, TWO);
    /// The lower halves of two words, the second one above.
    PKHBT_LOWER = dsp("pkhbt", 0xEAC0_4000, THREE);
    /// The lower half of a word, and above it the upper half of another one.
    PKHBT = dsp("pkhbt", 0xEAC0_0000, THREE);
    /// The upper half of a word, and below it the upper half of another one.
    PKHTB_UPPER = dsp("pkhtb", 0xEAC0_4020, THREE);
    SMLAD = dsp("smlad", 0xFB20_0000, FOUR);
    SMLABB = dsp("smlabb", 0xFB10_0000, FOUR);
    SMLABT = dsp("smlabt", 0xFB10_0010, FOUR);
    SMLATB = dsp("smlatb", 0xFB10_0020, FOUR);
    SMLATT = dsp("smlatt", 0xFB10_0030, FOUR);

    VADD = two("vadd.f32", 0xEE30_0A00);
    VSUB = two("vsub.f32", 0xEE30_0A40);
    VMUL = two("vmul.f32", 0xEE20_0A00);
    VDIV = two("vdiv.f32", 0xEE80_0A00);
    VFMA = Row { reads_result: true, ..two("vfma.f32", 0xEEA0_0A00) };
    VNEG = one("vneg.f32", 0xEEB1_0A40);
    VABS = one("vabs.f32", 0xEEB0_0AC0);
    VSQRT = one("vsqrt.f32", 0xEEB1_0AC0);
    VCVT_FROM_SIGNED = one("vcvt.f32.s32", 0xEEB8_0AC0);
    VCVT_FROM_UNSIGNED = one("vcvt.f32.u32", 0xEEB8_0A40);
    VCVT_TO_SIGNED = one("vcvt.s32.f32", 0xEEBD_0AC0);
    VCVT_TO_UNSIGNED = one("vcvt.u32.f32", 0xEEBC_0AC0);
    VCVT_FROM_HALF = one("vcvtb.f32.f16", 0xEEB2_0A40);
    /// Conversion to binary16. The upper half of the result keeps its value.
    VCVT_TO_HALF = Row { reads_result: true, ..one("vcvtb.f16.f32", 0xEEB3_0A40) };
    VMOV_TO_SINGLE = single("vmov", 0xEE00_0A10, &[S(Single::N), W(A)]);
    VMOV_FROM_SINGLE = single("vmov", 0xEE10_0A10, &[W(A), S(Single::N)]);

    VADD_DOUBLE = two_doubles("vadd.f64", 0xEE30_0B00);
    VSUB_DOUBLE = two_doubles("vsub.f64", 0xEE30_0B40);
    VMUL_DOUBLE = two_doubles("vmul.f64", 0xEE20_0B00);
    VDIV_DOUBLE = two_doubles("vdiv.f64", 0xEE80_0B00);
    VFMA_DOUBLE = Row { reads_result: true, ..two_doubles("vfma.f64", 0xEEA0_0B00) };
    VNEG_DOUBLE = one_double("vneg.f64", 0xEEB1_0B40);
    VABS_DOUBLE = one_double("vabs.f64", 0xEEB0_0BC0);
    VSQRT_DOUBLE = one_double("vsqrt.f64", 0xEEB1_0BC0);
    /// Rounding to an integer: towards zero, to the nearest, up, and down.
    VRINTZ_DOUBLE = one_double("vrintz.f64", 0xEEB6_0BC0);
    VRINTN_DOUBLE = one_double("vrintn.f64", 0xFEB9_0B40);
    VRINTP_DOUBLE = one_double("vrintp.f64", 0xFEBA_0B40);
    VRINTM_DOUBLE = one_double("vrintm.f64", 0xFEBB_0B40);
    VCVT_DOUBLE_FROM_SIGNED = double("vcvt.f64.s32", 0xEEB8_0BC0, &[Slot::Double(Single::D), S(Single::M)]);
    VCVT_DOUBLE_FROM_UNSIGNED = double("vcvt.f64.u32", 0xEEB8_0B40, &[Slot::Double(Single::D), S(Single::M)]);
    VCVT_DOUBLE_TO_SIGNED = double("vcvt.s32.f64", 0xEEBD_0BC0, &[S(Single::D), Slot::Double(Single::M)]);
    VCVT_DOUBLE_TO_UNSIGNED = double("vcvt.u32.f64", 0xEEBC_0BC0, &[S(Single::D), Slot::Double(Single::M)]);
    VCVT_TO_DOUBLE = double("vcvt.f64.f32", 0xEEB7_0AC0, &[Slot::Double(Single::D), S(Single::M)]);
    VCVT_FROM_DOUBLE = double("vcvt.f32.f64", 0xEEB7_0BC0, &[S(Single::D), Slot::Double(Single::M)]);
    VMOV_TO_DOUBLE = double("vmov", 0xEC40_0B10, &[Slot::Double(Single::M), W(A), W(N)]);
    VMOV_FROM_DOUBLE = double("vmov", 0xEC50_0B10, &[W(A), W(N), Slot::Double(Single::M)]);

    /// Sixteen products of signed bytes, added to a general-purpose register. The manual's other name is VMLADAVA.
    VMLADAVA = Row {
        reads_result: true,
        feature: Feature::Vectors,
        ..row("vmlava.s8", 0xEEF0_0F20, Short::None, &[Slot::Even(A), Slot::Vector(Single::N), Slot::Vector(Single::M)])
    };

    VADD_LANES = of_vectors("vadd.i32", 0xEF20_0840, VECTORS);
    VSUB_LANES = of_vectors("vsub.i32", 0xFF20_0840, VECTORS);
    VMUL_LANES = of_vectors("vmul.i32", 0xEF20_0950, VECTORS);
    VMULH = of_vectors("vmulh.s32", 0xEE21_0E01, VECTORS);
    VQRDMULH = of_vectors("vqrdmulh.s32", 0xFF20_0B40, VECTORS);
    VADD_WORD = of_vectors("vadd.i32", 0xEE21_0F40, &[V(Single::D), V(Single::N), W(M)]);
    VMUL_WORD = of_vectors("vmul.i32", 0xEE21_1E60, &[V(Single::D), V(Single::N), W(M)]);
    VMIN = of_vectors("vmin.s32", 0xEF20_0650, VECTORS);
    VMAX = of_vectors("vmax.s32", 0xEF20_0640, VECTORS);
    VMIN_BYTES = of_vectors("vmin.s8", 0xEF00_0650, VECTORS);
    VMAX_BYTES = of_vectors("vmax.s8", 0xEF00_0640, VECTORS);
    VMIN_UNSIGNED_BYTES = of_vectors("vmin.u8", 0xFF00_0650, VECTORS);
    VMAX_UNSIGNED_BYTES = of_vectors("vmax.u8", 0xFF00_0640, VECTORS);
    VAND = of_vectors("vand", 0xEF00_0150, VECTORS);
    VORR = of_vectors("vorr", 0xEF20_0150, VECTORS);
    VEOR = of_vectors("veor", 0xFF00_0150, VECTORS);
    /// Shift of the lanes of the second operand by those of the third one. The manual writes them so, but their fields are the other way round.
    VSHL = of_vectors("vshl.s32", 0xEF20_0440, &[V(Single::D), V(Single::M), V(Single::N)]);
    VSHL_NUMBER = of_vectors("vshl.i32", 0xEFA0_0550, VECTOR_AND_NUMBER[0]);
    VSHR_NUMBER = of_vectors("vshr.s32", 0xEFA0_0050, VECTOR_AND_NUMBER[1]);
    VSHR_UNSIGNED_NUMBER = of_vectors("vshr.u32", 0xFFA0_0050, VECTOR_AND_NUMBER[1]);
    VNEG_LANES = of_vectors("vneg.s32", 0xFFB9_03C0, &[V(Single::D), V(Single::M)]);
    /// Saturation of lanes to their lower halves. Upper halves keep their values.
    VQMOVN = narrowing("vqmovnb.s32", 0xEE37_0E01);
    VQMOVN_HALVES = narrowing("vqmovnb.s16", 0xEE33_0E01);
    VQMOVUN = narrowing("vqmovunb.s32", 0xEE35_0E81);
    VQMOVN_UNSIGNED_HALVES = narrowing("vqmovnb.u16", 0xFE33_0E01);
    VDUP = of_vectors("vdup.32", 0xEEA0_0B10, &[V(Single::N), W(A)]);
    VDUP_BYTE = of_vectors("vdup.8", 0xEEE0_0B10, &[V(Single::N), W(A)]);
    /// Words to the first and the third lane. The others are undefined before.
    VMOV_EVEN = of_vectors("vmov", 0xEC10_0F00, &[V(Single::D), W(M), W(N)]);
    /// Words to the second and the fourth lane. The others keep their values.
    VMOV_ODD = Row { reads_result: true, ..of_vectors("vmov", 0xEC10_0F10, &[V(Single::D), W(M), W(N)]) };
}
