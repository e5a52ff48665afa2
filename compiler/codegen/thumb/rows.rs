//! Table of instructions. Each row has the name in Arm's manual and the encodings in 32 and 16 bits. Loads, stores, jumps and sequences are elsewhere.
//! The encodings are from the Armv7-M Architecture Reference Manual, chapter A7.

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

pub(super) const ADD: Row = row("add", 0xEB00_0000, Short::Three(0x1800), THREE);
pub(super) const SUB: Row = row("sub", 0xEBA0_0000, Short::Three(0x1A00), THREE);
pub(super) const ADDS: Row = flags(row("adds", 0xEB10_0000, Short::Three(0x1800), THREE));
pub(super) const SUBS: Row = flags(row("subs", 0xEBB0_0000, Short::Three(0x1A00), THREE));
pub(super) const ADC: Row = flags(row("adc", 0xEB40_0000, Short::Either(0x4140), THREE));
pub(super) const SBC: Row = flags(row("sbc", 0xEB60_0000, Short::Same(0x4180), THREE));
pub(super) const AND: Row = row("and", 0xEA00_0000, Short::Either(0x4000), THREE);
pub(super) const ORR: Row = row("orr", 0xEA40_0000, Short::Either(0x4300), THREE);
pub(super) const EOR: Row = row("eor", 0xEA80_0000, Short::Either(0x4040), THREE);
pub(super) const MVN: Row = row("mvn", 0xEA6F_0000, Short::Two(0x43C0), TWO);
pub(super) const LSL: Row = row("lsl", 0xFA00_F000, Short::Same(0x4080), THREE);
pub(super) const LSR: Row = row("lsr", 0xFA20_F000, Short::Same(0x40C0), THREE);
pub(super) const ASR: Row = row("asr", 0xFA40_F000, Short::Same(0x4100), THREE);
pub(super) const LSL_NUMBER: Row = shift("lsl", 0, 0x0000);
pub(super) const LSR_NUMBER: Row = shift("lsr", 1, 0x0800);
pub(super) const ASR_NUMBER: Row = shift("asr", 2, 0x1000);
pub(super) const ADD_LSL: Row = shifted("add", 0xEB00_0000, 0);
pub(super) const ADD_LSR: Row = shifted("add", 0xEB00_0000, 1);
pub(super) const ADD_ASR: Row = shifted("add", 0xEB00_0000, 2);
pub(super) const SUB_LSL: Row = shifted("sub", 0xEBA0_0000, 0);
pub(super) const SUB_LSR: Row = shifted("sub", 0xEBA0_0000, 1);
pub(super) const SUB_ASR: Row = shifted("sub", 0xEBA0_0000, 2);
pub(super) const ORR_LSL: Row = shifted("orr", 0xEA40_0000, 0);
pub(super) const ORR_LSR: Row = shifted("orr", 0xEA40_0000, 1);
pub(super) const ORR_ASR: Row = shifted("orr", 0xEA40_0000, 2);
pub(super) const EOR_LSL: Row = shifted("eor", 0xEA80_0000, 0);
pub(super) const EOR_LSR: Row = shifted("eor", 0xEA80_0000, 1);
pub(super) const EOR_ASR: Row = shifted("eor", 0xEA80_0000, 2);

pub(super) const ADD_TWELVE: Row = row("add", 0xF200_0000, Short::Small(0x1C00, 0x3000), TWELVE);
pub(super) const SUB_TWELVE: Row = row("sub", 0xF2A0_0000, Short::Small(0x1E00, 0x3800), TWELVE);
pub(super) const ADD_NUMBER: Row = row("add", 0xF100_0000, Short::None, MODIFIED);
pub(super) const SUB_NUMBER: Row = row("sub", 0xF1A0_0000, Short::None, MODIFIED);
pub(super) const AND_NUMBER: Row = row("and", 0xF000_0000, Short::None, MODIFIED);
pub(super) const BIC_NUMBER: Row = row("bic", 0xF020_0000, Short::None, MODIFIED);
pub(super) const ORR_NUMBER: Row = row("orr", 0xF040_0000, Short::None, MODIFIED);
pub(super) const EOR_NUMBER: Row = row("eor", 0xF080_0000, Short::None, MODIFIED);

pub(super) const MUL: Row = row("mul", 0xFB00_F000, Short::Either(0x4340), THREE);
pub(super) const MLA: Row = row("mla", 0xFB00_0000, Short::None, FOUR);
pub(super) const MLS: Row = row("mls", 0xFB00_0010, Short::None, FOUR);
pub(super) const SMULL: Row = row("smull", 0xFB80_0000, Short::None, LONG);
pub(super) const UMULL: Row = row("umull", 0xFBA0_0000, Short::None, LONG);
pub(super) const SDIV: Row = row("sdiv", 0xFB90_F0F0, Short::None, THREE);
pub(super) const UDIV: Row = row("udiv", 0xFBB0_F0F0, Short::None, THREE);
pub(super) const CLZ: Row = row("clz", 0xFAB0_F080, Short::None, &[W(D), Slot::Twice(N, M)]);
pub(super) const SXTB: Row = row("sxtb", 0xFA4F_F080, Short::Two(0xB240), TWO);
pub(super) const SXTH: Row = row("sxth", 0xFA0F_F080, Short::Two(0xB200), TWO);
pub(super) const UXTB: Row = row("uxtb", 0xFA5F_F080, Short::Two(0xB2C0), TWO);
pub(super) const UXTH: Row = row("uxth", 0xFA1F_F080, Short::Two(0xB280), TWO);
/// Signed saturation. The field is the number of bits minus one.
pub(super) const SSAT: Row = row("ssat", 0xF300_0000, Short::None, &[W(D), Slot::Number(Number::Five), W(N)]);
pub(super) const USAT: Row = row("usat", 0xF380_0000, Short::None, &[W(D), Slot::Number(Number::Five), W(N)]);

/// Saturation of a word after an arithmetic right shift by at least one.
pub(super) const SSAT_ASR: Row = row("ssat", 0xF320_0000, Short::None, SATURATED);
pub(super) const USAT_ASR: Row = row("usat", 0xF3A0_0000, Short::None, SATURATED);

pub(super) const SMMUL: Row = dsp("smmul", 0xFB50_F000, THREE);
pub(super) const SMMLA: Row = dsp("smmla", 0xFB50_0000, FOUR);
pub(super) const SXTB16: Row = dsp("sxtb16", 0xFA2F_F080, TWO);
/// Sign extension of the second and the fourth byte.
pub(super) const SXTB16_ODD: Row = dsp("sxtb16", 0xFA2F_F090, TWO);
/// The lower halves of two words, the second one above.
pub(super) const PKHBT_LOWER: Row = dsp("pkhbt", 0xEAC0_4000, THREE);
/// The lower half of a word, and above it the upper half of another one.
pub(super) const PKHBT: Row = dsp("pkhbt", 0xEAC0_0000, THREE);
/// The upper half of a word, and below it the upper half of another one.
pub(super) const PKHTB_UPPER: Row = dsp("pkhtb", 0xEAC0_4020, THREE);
pub(super) const SMLAD: Row = dsp("smlad", 0xFB20_0000, FOUR);
pub(super) const SMLABB: Row = dsp("smlabb", 0xFB10_0000, FOUR);
pub(super) const SMLABT: Row = dsp("smlabt", 0xFB10_0010, FOUR);
pub(super) const SMLATB: Row = dsp("smlatb", 0xFB10_0020, FOUR);
pub(super) const SMLATT: Row = dsp("smlatt", 0xFB10_0030, FOUR);

pub(super) const VADD: Row = two("vadd.f32", 0xEE30_0A00);
pub(super) const VSUB: Row = two("vsub.f32", 0xEE30_0A40);
pub(super) const VMUL: Row = two("vmul.f32", 0xEE20_0A00);
pub(super) const VDIV: Row = two("vdiv.f32", 0xEE80_0A00);
pub(super) const VFMA: Row = Row { reads_result: true, ..two("vfma.f32", 0xEEA0_0A00) };
pub(super) const VNEG: Row = one("vneg.f32", 0xEEB1_0A40);
pub(super) const VABS: Row = one("vabs.f32", 0xEEB0_0AC0);
pub(super) const VSQRT: Row = one("vsqrt.f32", 0xEEB1_0AC0);
pub(super) const VCVT_FROM_SIGNED: Row = one("vcvt.f32.s32", 0xEEB8_0AC0);
pub(super) const VCVT_FROM_UNSIGNED: Row = one("vcvt.f32.u32", 0xEEB8_0A40);
pub(super) const VCVT_TO_SIGNED: Row = one("vcvt.s32.f32", 0xEEBD_0AC0);
pub(super) const VCVT_TO_UNSIGNED: Row = one("vcvt.u32.f32", 0xEEBC_0AC0);
pub(super) const VCVT_FROM_HALF: Row = one("vcvtb.f32.f16", 0xEEB2_0A40);
/// Conversion to binary16. The upper half of the result keeps its value.
pub(super) const VCVT_TO_HALF: Row = Row { reads_result: true, ..one("vcvtb.f16.f32", 0xEEB3_0A40) };
pub(super) const VMOV_TO_SINGLE: Row = single("vmov", 0xEE00_0A10, &[S(Single::N), W(A)]);
pub(super) const VMOV_FROM_SINGLE: Row = single("vmov", 0xEE10_0A10, &[W(A), S(Single::N)]);

pub(super) const VADD_DOUBLE: Row = two_doubles("vadd.f64", 0xEE30_0B00);
pub(super) const VSUB_DOUBLE: Row = two_doubles("vsub.f64", 0xEE30_0B40);
pub(super) const VMUL_DOUBLE: Row = two_doubles("vmul.f64", 0xEE20_0B00);
pub(super) const VDIV_DOUBLE: Row = two_doubles("vdiv.f64", 0xEE80_0B00);
pub(super) const VFMA_DOUBLE: Row = Row { reads_result: true, ..two_doubles("vfma.f64", 0xEEA0_0B00) };
pub(super) const VNEG_DOUBLE: Row = one_double("vneg.f64", 0xEEB1_0B40);
pub(super) const VABS_DOUBLE: Row = one_double("vabs.f64", 0xEEB0_0BC0);
pub(super) const VSQRT_DOUBLE: Row = one_double("vsqrt.f64", 0xEEB1_0BC0);
/// Rounding to an integer: towards zero, to the nearest, up, and down.
pub(super) const VRINTZ_DOUBLE: Row = one_double("vrintz.f64", 0xEEB6_0BC0);
pub(super) const VRINTN_DOUBLE: Row = one_double("vrintn.f64", 0xFEB9_0B40);
pub(super) const VRINTP_DOUBLE: Row = one_double("vrintp.f64", 0xFEBA_0B40);
pub(super) const VRINTM_DOUBLE: Row = one_double("vrintm.f64", 0xFEBB_0B40);
pub(super) const VCVT_DOUBLE_FROM_SIGNED: Row = double("vcvt.f64.s32", 0xEEB8_0BC0, &[Slot::Double(Single::D), S(Single::M)]);
pub(super) const VCVT_DOUBLE_FROM_UNSIGNED: Row = double("vcvt.f64.u32", 0xEEB8_0B40, &[Slot::Double(Single::D), S(Single::M)]);
pub(super) const VCVT_DOUBLE_TO_SIGNED: Row = double("vcvt.s32.f64", 0xEEBD_0BC0, &[S(Single::D), Slot::Double(Single::M)]);
pub(super) const VCVT_DOUBLE_TO_UNSIGNED: Row = double("vcvt.u32.f64", 0xEEBC_0BC0, &[S(Single::D), Slot::Double(Single::M)]);
pub(super) const VCVT_TO_DOUBLE: Row = double("vcvt.f64.f32", 0xEEB7_0AC0, &[Slot::Double(Single::D), S(Single::M)]);
pub(super) const VCVT_FROM_DOUBLE: Row = double("vcvt.f32.f64", 0xEEB7_0BC0, &[S(Single::D), Slot::Double(Single::M)]);
pub(super) const VMOV_TO_DOUBLE: Row = double("vmov", 0xEC40_0B10, &[Slot::Double(Single::M), W(A), W(N)]);
pub(super) const VMOV_FROM_DOUBLE: Row = double("vmov", 0xEC50_0B10, &[W(A), W(N), Slot::Double(Single::M)]);

/// Sixteen products of signed bytes, added to a general-purpose register. The manual's other name is VMLADAVA.
pub(super) const VMLADAVA: Row = Row {
    reads_result: true,
    feature: Feature::Vectors,
    ..row("vmlava.s8", 0xEEF0_0F20, Short::None, &[Slot::Even(A), Slot::Vector(Single::N), Slot::Vector(Single::M)])
};

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

pub(super) const VADD_LANES: Row = of_vectors("vadd.i32", 0xEF20_0840, VECTORS);
pub(super) const VSUB_LANES: Row = of_vectors("vsub.i32", 0xFF20_0840, VECTORS);
pub(super) const VMUL_LANES: Row = of_vectors("vmul.i32", 0xEF20_0950, VECTORS);
pub(super) const VMULH: Row = of_vectors("vmulh.s32", 0xEE21_0E01, VECTORS);
pub(super) const VQRDMULH: Row = of_vectors("vqrdmulh.s32", 0xFF20_0B40, VECTORS);
pub(super) const VADD_WORD: Row = of_vectors("vadd.i32", 0xEE21_0F40, &[V(Single::D), V(Single::N), W(M)]);
pub(super) const VMUL_WORD: Row = of_vectors("vmul.i32", 0xEE21_1E60, &[V(Single::D), V(Single::N), W(M)]);
pub(super) const VMIN: Row = of_vectors("vmin.s32", 0xEF20_0650, VECTORS);
pub(super) const VMAX: Row = of_vectors("vmax.s32", 0xEF20_0640, VECTORS);
pub(super) const VMIN_BYTES: Row = of_vectors("vmin.s8", 0xEF00_0650, VECTORS);
pub(super) const VMAX_BYTES: Row = of_vectors("vmax.s8", 0xEF00_0640, VECTORS);
pub(super) const VMIN_UNSIGNED_BYTES: Row = of_vectors("vmin.u8", 0xFF00_0650, VECTORS);
pub(super) const VMAX_UNSIGNED_BYTES: Row = of_vectors("vmax.u8", 0xFF00_0640, VECTORS);
pub(super) const VAND: Row = of_vectors("vand", 0xEF00_0150, VECTORS);
pub(super) const VORR: Row = of_vectors("vorr", 0xEF20_0150, VECTORS);
pub(super) const VEOR: Row = of_vectors("veor", 0xFF00_0150, VECTORS);
/// Shift of the lanes of the second operand by those of the third one. The manual writes them so, but their fields are the other way round.
pub(super) const VSHL: Row = of_vectors("vshl.s32", 0xEF20_0440, &[V(Single::D), V(Single::M), V(Single::N)]);
pub(super) const VSHL_NUMBER: Row = of_vectors("vshl.i32", 0xEFA0_0550, VECTOR_AND_NUMBER[0]);
pub(super) const VSHR_NUMBER: Row = of_vectors("vshr.s32", 0xEFA0_0050, VECTOR_AND_NUMBER[1]);
pub(super) const VSHR_UNSIGNED_NUMBER: Row = of_vectors("vshr.u32", 0xFFA0_0050, VECTOR_AND_NUMBER[1]);
pub(super) const VNEG_LANES: Row = of_vectors("vneg.s32", 0xFFB9_03C0, &[V(Single::D), V(Single::M)]);
/// Saturation of lanes to their lower halves. Upper halves keep their values.
pub(super) const VQMOVN: Row = narrowing("vqmovnb.s32", 0xEE37_0E01);
pub(super) const VQMOVN_HALVES: Row = narrowing("vqmovnb.s16", 0xEE33_0E01);
pub(super) const VQMOVUN: Row = narrowing("vqmovunb.s32", 0xEE35_0E81);
pub(super) const VQMOVN_UNSIGNED_HALVES: Row = narrowing("vqmovnb.u16", 0xFE33_0E01);
pub(super) const VDUP: Row = of_vectors("vdup.32", 0xEEA0_0B10, &[V(Single::N), W(A)]);
pub(super) const VDUP_BYTE: Row = of_vectors("vdup.8", 0xEEE0_0B10, &[V(Single::N), W(A)]);
/// Words to the first and the third lane. The others are undefined before.
pub(super) const VMOV_EVEN: Row = of_vectors("vmov", 0xEC10_0F00, &[V(Single::D), W(M), W(N)]);
/// Words to the second and the fourth lane. The others keep their values.
pub(super) const VMOV_ODD: Row = Row { reads_result: true, ..of_vectors("vmov", 0xEC10_0F10, &[V(Single::D), W(M), W(N)]) };

/// All rows but those of vectors, which the decoder of the tests does not know.
#[cfg(test)]
pub(super) const EVERY: &[&Row] = &[
    &ADD,
    &SUB,
    &ADDS,
    &SUBS,
    &ADC,
    &SBC,
    &AND,
    &ORR,
    &EOR,
    &MVN,
    &LSL,
    &LSR,
    &ASR,
    &LSL_NUMBER,
    &LSR_NUMBER,
    &ASR_NUMBER,
    &ADD_LSL,
    &ADD_LSR,
    &ADD_ASR,
    &SUB_LSL,
    &SUB_LSR,
    &SUB_ASR,
    &ORR_LSL,
    &ORR_LSR,
    &ORR_ASR,
    &EOR_LSL,
    &EOR_LSR,
    &EOR_ASR,
    &ADD_TWELVE,
    &SUB_TWELVE,
    &ADD_NUMBER,
    &SUB_NUMBER,
    &AND_NUMBER,
    &BIC_NUMBER,
    &ORR_NUMBER,
    &EOR_NUMBER,
    &MUL,
    &MLA,
    &MLS,
    &SMULL,
    &UMULL,
    &SDIV,
    &UDIV,
    &CLZ,
    &SXTB,
    &SXTH,
    &UXTB,
    &UXTH,
    &SSAT,
    &USAT,
    &SSAT_ASR,
    &USAT_ASR,
    &SMMUL,
    &SMMLA,
    &SXTB16,
    &SXTB16_ODD,
    &PKHBT_LOWER,
    &PKHBT,
    &PKHTB_UPPER,
    &SMLAD,
    &SMLABB,
    &SMLABT,
    &SMLATB,
    &SMLATT,
    &VADD,
    &VSUB,
    &VMUL,
    &VDIV,
    &VFMA,
    &VNEG,
    &VABS,
    &VSQRT,
    &VCVT_FROM_SIGNED,
    &VCVT_FROM_UNSIGNED,
    &VCVT_TO_SIGNED,
    &VCVT_TO_UNSIGNED,
    &VCVT_FROM_HALF,
    &VCVT_TO_HALF,
    &VMOV_TO_SINGLE,
    &VMOV_FROM_SINGLE,
    &VADD_DOUBLE,
    &VSUB_DOUBLE,
    &VMUL_DOUBLE,
    &VDIV_DOUBLE,
    &VFMA_DOUBLE,
    &VNEG_DOUBLE,
    &VABS_DOUBLE,
    &VSQRT_DOUBLE,
    &VRINTZ_DOUBLE,
    &VRINTN_DOUBLE,
    &VRINTP_DOUBLE,
    &VRINTM_DOUBLE,
    &VCVT_DOUBLE_FROM_SIGNED,
    &VCVT_DOUBLE_FROM_UNSIGNED,
    &VCVT_DOUBLE_TO_SIGNED,
    &VCVT_DOUBLE_TO_UNSIGNED,
    &VCVT_TO_DOUBLE,
    &VCVT_FROM_DOUBLE,
    &VMOV_TO_DOUBLE,
    &VMOV_FROM_DOUBLE,
];
