//! The instructions that kernels become, a row each: what the manual calls the instruction, and how it is encoded, in 32 bits and in 16. Jumps and
//! sequences are not here. The encodings are those of the RISC-V Instruction Set Manual, Volume I, with the extensions M, F and C.

use crate::own::rows;

/// The field of a register in 32 bits: its lowest bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    /// The result, rd.
    D = 7,
    /// The first operand, rs1.
    A = 15,
    /// The second operand, rs2.
    B = 20,
    /// The third operand, rs3.
    C = 27,
}

/// A number in an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    /// Twelve bits with a sign.
    Twelve,
    /// Twelve bits with a sign, in the two fields of stores.
    Store,
    /// Count of a shift, less than 32.
    Shift,
    /// The upper twenty bits of a word, as that word.
    Upper,
}

/// An operand in its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A general-purpose register; the number 0 stands for x0.
    Word(Field),
    /// A register of binary32.
    Single(Field),
    /// A number.
    Number(Number),
}

/// The encoding in 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Short {
    /// There is none.
    None,
    /// C.ADD and C.MV.
    Add,
    /// Two registers x8 to x15: the result is the first operand.
    Same(u16),
    /// Two registers x8 to x15: either operand is the result.
    Either(u16),
    /// C.ADDI, C.LI, C.MV, C.ADDI16SP and C.ADDI4SPN.
    AddNumber,
    /// C.SLLI.
    ShiftLeft,
    /// C.SRLI, C.SRAI and C.ANDI, of registers x8 to x15.
    Number(u16),
    /// C.LUI.
    Upper,
    /// Words at a register x8 to x15, and at the stack pointer.
    Memory([u16; 2]),
}

/// The part of the architecture that has an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    /// RV32I with M and C.
    Base,
    /// The extension F.
    Single,
}

/// An instruction.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The manual's name, in lower case.
    pub name: &'static str,
    /// The instruction with zeros in all fields.
    pub word: u32,
    /// Its encoding in 16 bits.
    pub short: Short,
    /// Operands in the manual's order.
    pub slots: &'static [Slot],
    /// Extension that has it.
    pub feature: Feature,
}

use Field::{A, B, C, D};
use Slot::{Single as S, Word as W};

const THREE: &[Slot] = &[W(D), W(A), W(B)];
const TWELVE: &[Slot] = &[W(D), W(A), Slot::Number(Number::Twelve)];
const LOAD: &[Slot] = &[W(D), Slot::Number(Number::Twelve), W(A)];
const STORE: &[Slot] = &[W(B), Slot::Number(Number::Store), W(A)];

const fn row(name: &'static str, word: u32, short: Short, slots: &'static [Slot]) -> Row {
    Row { name, word, short, slots, feature: Feature::Base }
}

/// Row of three registers: the fields funct7 and funct3.
const fn three(name: &'static str, seven: u32, three: u32, short: Short) -> Row {
    row(name, 0x33 | seven << 25 | three << 12, short, THREE)
}

/// Row of a register and a number.
const fn number(name: &'static str, three: u32, short: Short) -> Row {
    row(name, 0x13 | three << 12, short, TWELVE)
}

/// Shift by a number.
const fn shift(name: &'static str, seven: u32, three: u32, short: Short) -> Row {
    row(name, 0x13 | seven << 25 | three << 12, short, &[W(D), W(A), Slot::Number(Number::Shift)])
}

const fn load(name: &'static str, three: u32, short: Short) -> Row {
    row(name, 0x03 | three << 12, short, LOAD)
}

const fn store(name: &'static str, three: u32, short: Short) -> Row {
    row(name, 0x23 | three << 12, short, STORE)
}

const fn single(name: &'static str, word: u32, slots: &'static [Slot]) -> Row {
    Row { feature: Feature::Single, ..row(name, word, Short::None, slots) }
}

/// Three registers of binary32: the fields funct7 and funct3, which is 0 for rounding to nearest.
const fn floats(name: &'static str, seven: u32, three: u32) -> Row {
    single(name, 0x53 | seven << 25 | three << 12, &[S(D), S(A), S(B)])
}

/// A comparison of two registers of binary32.
const fn compared(name: &'static str, three: u32) -> Row {
    single(name, 0x53 | 0x50 << 25 | three << 12, &[W(D), S(A), S(B)])
}

/// Two registers of which one holds binary32: the fields funct7, rs2 and funct3.
const fn converted(name: &'static str, seven: u32, two: u32, three: u32, slots: &'static [Slot]) -> Row {
    single(name, 0x53 | seven << 25 | two << 20 | three << 12, slots)
}

rows! {
    ADD = three("add", 0x00, 0, Short::Add);
    SUB = three("sub", 0x20, 0, Short::Same(0x8C01));
    XOR = three("xor", 0x00, 4, Short::Either(0x8C21));
    OR = three("or", 0x00, 6, Short::Either(0x8C41));
    AND = three("and", 0x00, 7, Short::Either(0x8C61));
    SLL = three("sll", 0x00, 1, Short::None);
    SRL = three("srl", 0x00, 5, Short::None);
    SRA = three("sra", 0x20, 5, Short::None);
    SLT = three("slt", 0x00, 2, Short::None);
    SLTU = three("sltu", 0x00, 3, Short::None);

    ADD_NUMBER = number("addi", 0, Short::AddNumber);
    XOR_NUMBER = number("xori", 4, Short::None);
    OR_NUMBER = number("ori", 6, Short::None);
    AND_NUMBER = number("andi", 7, Short::Number(0x8801));
    SLT_NUMBER = number("slti", 2, Short::None);
    SLTU_NUMBER = number("sltiu", 3, Short::None);
    SLL_NUMBER = shift("slli", 0x00, 1, Short::ShiftLeft);
    SRL_NUMBER = shift("srli", 0x00, 5, Short::Number(0x8001));
    SRA_NUMBER = shift("srai", 0x20, 5, Short::Number(0x8401));
    LUI = row("lui", 0x37, Short::Upper, &[W(D), Slot::Number(Number::Upper)]);
    AUIPC = row("auipc", 0x17, Short::None, &[W(D), Slot::Number(Number::Upper)]);

    MUL = three("mul", 0x01, 0, Short::None);
    MULH = three("mulh", 0x01, 1, Short::None);
    MULHU = three("mulhu", 0x01, 3, Short::None);
    DIV = three("div", 0x01, 4, Short::None);
    DIVU = three("divu", 0x01, 5, Short::None);

    LB = load("lb", 0, Short::None);
    LH = load("lh", 1, Short::None);
    LW = load("lw", 2, Short::Memory([0x4000, 0x4002]));
    LBU = load("lbu", 4, Short::None);
    LHU = load("lhu", 5, Short::None);
    SB = store("sb", 0, Short::None);
    SH = store("sh", 1, Short::None);
    SW = store("sw", 2, Short::Memory([0xC000, 0xC002]));
    JALR = row("jalr", 0x67, Short::None, LOAD);

    FLW = Row { short: Short::Memory([0x6000, 0x6002]), ..single("flw", 0x2007, &[S(D), Slot::Number(Number::Twelve), W(A)]) };
    FSW = Row { short: Short::Memory([0xE000, 0xE002]), ..single("fsw", 0x2027, &[S(B), Slot::Number(Number::Store), W(A)]) };
    FADD = floats("fadd.s", 0x00, 0);
    FSUB = floats("fsub.s", 0x04, 0);
    FMUL = floats("fmul.s", 0x08, 0);
    FDIV = floats("fdiv.s", 0x0C, 0);
    FSQRT = converted("fsqrt.s", 0x2C, 0, 0, &[S(D), S(A)]);
    /// The first operand with the sign of the second.
    FSGNJ = floats("fsgnj.s", 0x10, 0);
    /// First operand with the opposite sign of the second.
    FSGNJN = floats("fsgnjn.s", 0x10, 1);
    /// First operand with the exclusive or of both signs.
    FSGNJX = floats("fsgnjx.s", 0x10, 2);
    FMADD = single("fmadd.s", 0x43, &[S(D), S(A), S(B), S(C)]);
    FEQ = compared("feq.s", 2);
    FLT = compared("flt.s", 1);
    FLE = compared("fle.s", 0);
    /// Rounded towards zero.
    FCVT_TO_SIGNED = converted("fcvt.w.s", 0x60, 0, 1, &[W(D), S(A)]);
    /// Rounded towards zero.
    FCVT_TO_UNSIGNED = converted("fcvt.wu.s", 0x60, 1, 1, &[W(D), S(A)]);
    FCVT_FROM_SIGNED = converted("fcvt.s.w", 0x68, 0, 0, &[S(D), W(A)]);
    FCVT_FROM_UNSIGNED = converted("fcvt.s.wu", 0x68, 1, 0, &[S(D), W(A)]);
    FMV_TO_SINGLE = converted("fmv.w.x", 0x78, 0, 0, &[S(D), W(A)]);
    FMV_FROM_SINGLE = converted("fmv.x.w", 0x70, 0, 0, &[W(D), S(A)]);
}
