//! Tests of every row in each of its forms: `iced-x86` decodes the bytes.

use crate::x86::encode::{Assembler, Fields, MemoryOperand, Rm};
use crate::x86::length::Length;
use crate::x86::rows::{ALL, Feature, File, Memory, Row, Shape};
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};
use smallvec::SmallVec;

fn decode(row: &Row, fields: &Fields) -> Instruction {
    let mut code = Assembler::default();
    code.vector(row, fields);
    let mut decoder = Decoder::new(64, &code.bytes, DecoderOptions::NONE);
    let instruction = decoder.decode();
    assert!(!instruction.is_invalid() && instruction.len() == code.bytes.len(), "{} {fields:?}: {:x?}", row.name, code.bytes);
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    let is_evex = code.bytes[0] == 0x62;
    assert!(name == row.name || is_evex && row.suffix && name == format!("{}d", row.name), "{name}, not {}", row.name);
    instruction
}

/// Returns the numbers of an instruction's register operands, in order.
fn registers(instruction: &Instruction) -> Vec<usize> {
    let operands = (0..instruction.op_count()).filter(|&i| instruction.op_kind(i) == OpKind::Register);
    operands.map(|i| number(instruction.op_register(i))).collect()
}

/// Returns the number of a register in its file.
fn number(register: Register) -> usize {
    let first = [Register::ZMM0, Register::YMM0, Register::XMM0, Register::K0, Register::RAX, Register::EAX];
    let distance = |first: Register| (register as usize).checked_sub(first as usize).filter(|&n| n < 32);
    first.into_iter().find_map(distance).expect("a register of these files")
}

/// Returns the file of a register.
fn file(register: Register) -> File {
    let is_of = |first: Register| (register as usize).checked_sub(first as usize).is_some_and(|n| n < 32);
    match () {
        () if [Register::XMM0, Register::YMM0, Register::ZMM0].into_iter().any(is_of) => File::Vector,
        () if register as usize >= Register::K0 as usize && register as usize <= Register::K7 as usize => File::Mask,
        () => File::General,
    }
}

/// Makes fields with the given registers.
fn fields(row: &Row, length: Length, reg: u8, vvvv: u8, rm: Rm) -> Fields {
    Fields {
        reg: if let Shape::Vm(digit) = row.shape { digit } else { reg },
        vvvv: if matches!(row.shape, Shape::Rm | Shape::Mr) { 0 } else { vvvv },
        rm,
        length,
        mask: 0,
        zeroing: false,
        broadcast: false,
        immediate: if row.shape == Shape::Rvmr { Some(9 << 4) } else { row.number.then_some(1) },
    }
}

fn forms() -> impl Iterator<Item = (&'static Row, Length)> {
    let lengths = [Length::X, Length::Y, Length::Z];
    ALL.iter().flat_map(move |&row| lengths.into_iter().filter(|&length| row.has(length)).map(move |length| (row, length)))
}

/// Sorts the operands' numbers into the order of the manual.
fn ordered(row: &Row, a: usize, b: usize, c: usize) -> Vec<usize> {
    match row.shape {
        Shape::Rvm => vec![a, b, c],
        Shape::Rm => vec![a, c],
        Shape::Mr => vec![c, a],
        Shape::Vm(_) => vec![b, c],
        Shape::Rvmr => vec![a, b, c, 9],
        Shape::General => vec![a, c, b],
    }
}

#[test]
fn rows_decode_to_their_names_and_registers() {
    for (row, length) in forms().filter(|(row, _)| row.memory != Memory::Only) {
        let decoded = decode(row, &fields(row, length, 1, 2, Rm::Register(3)));
        assert_eq!(registers(&decoded), ordered(row, 1, 2, 3), "{}", row.name);
        let operands = (0..decoded.op_count()).filter(|&i| decoded.op_kind(i) == OpKind::Register);
        let files: SmallVec<[File; 4]> = operands.map(|i| file(decoded.op_register(i))).collect();
        assert_eq!(files, row.files(), "{}", row.name);
    }
}

/// Tests registers from 16 on, which AVX-512 has.
#[test]
fn rows_reach_the_second_half_of_the_vector_registers() {
    let high = |file: File, number: u8| if file == File::Vector { number } else { number - 16 };
    for (row, length) in forms().filter(|(row, _)| row.memory != Memory::Only && row.evex.is_some() && row.shape != Shape::Rvmr) {
        let [a, b, c] = [(row.reg, 19), (row.vvvv, 23), (row.rm, 21)].map(|(file, number)| high(file, number));
        let decoded = decode(row, &fields(row, length, a, b, Rm::Register(c)));
        assert_eq!(registers(&decoded), ordered(row, a.into(), b.into(), c.into()), "{}", row.name);
    }
}

/// Tests displacements that are multiples of the unit and others. A high register forces EVEX, in which displacements of one byte count units.
#[test]
fn rows_decode_to_their_memory() {
    for (row, length) in forms().filter(|(row, _)| row.memory != Memory::No) {
        let high = row.evex.is_some() && row.shape != Shape::Rvmr && row.reg == File::Vector;
        let registers = if high { vec![3, 17] } else { vec![3] };
        for (register, displacement) in registers.into_iter().flat_map(|r| [0, 2, 48, 128, 1000].map(|d| (r, d))) {
            let place = MemoryOperand::Sum { base: 13, index: Some((9, 2)), displacement };
            let decoded = decode(row, &fields(row, length, register, 7, Rm::Memory(place)));
            let found = (decoded.memory_base(), decoded.memory_index(), decoded.memory_index_scale());
            assert_eq!(found, (Register::R13, Register::R9, 4), "{}", row.name);
            assert_eq!(decoded.memory_displacement64(), displacement as u64, "{} {length:?}", row.name);
            assert_eq!(decoded.op_kind(row.memory_operand() as u32), OpKind::Memory, "{}", row.name);
        }
    }
}

/// Tests elements of memory that are repeated over the lanes; displacements of one byte then count elements.
#[test]
fn rows_decode_to_elements_that_are_repeated() {
    for (row, length) in forms().filter(|(row, _)| row.repeats) {
        for displacement in [0, 4, 8, 512] {
            let place = MemoryOperand::Sum { base: 13, index: None, displacement };
            let decoded = decode(row, &Fields { broadcast: true, ..fields(row, length, 3, 7, Rm::Memory(place)) });
            assert!(decoded.is_broadcast(), "{}", row.name);
            assert_eq!(decoded.memory_displacement64(), displacement as u64, "{} {length:?}", row.name);
        }
    }
}

/// Tests that instructions without a VEX encoding, and those on mask registers, require AVX-512.
#[test]
fn features_are_those_of_the_encodings() {
    for row in ALL {
        let masks = row.files().contains(&File::Mask);
        assert_eq!(row.feature == Feature::Avx512, row.vex.is_none() || masks, "{}", row.name);
    }
}
