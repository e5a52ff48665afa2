//! Every row in every form it has, decoded by `iced-x86`.

use crate::codegen::x86::encode::{Assembler, Fields, Place, Rm};
use crate::codegen::x86::length::Length;
use crate::codegen::x86::rows::{ALL, Row, Shape};
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};

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

/// The numbers of an instruction's register operands in order.
fn registers(instruction: &Instruction) -> Vec<usize> {
    let operands = (0..instruction.op_count()).filter(|&i| instruction.op_kind(i) == OpKind::Register);
    operands.map(|i| number(instruction.op_register(i))).collect()
}

/// The number of a register in its file.
fn number(register: Register) -> usize {
    let first = [Register::ZMM0, Register::YMM0, Register::XMM0, Register::K0, Register::RAX, Register::EAX];
    let distance = |first: Register| (register as usize).checked_sub(first as usize).filter(|&n| n < 32);
    first.into_iter().find_map(distance).expect("a register of these files")
}

fn lengths(row: &Row) -> Vec<Length> {
    let whole = row.name.starts_with("vperm") && !row.name.contains("vpermt2");
    let pieces = row.name.contains("64x4");
    let across = row.name.contains("128") || row.name.contains("32x4");
    // Those that move an element, and those of mask registers, have one length.
    let elements = ["vmovd", "vmovq", "vmovss", "vmovsd", "vpextr", "vpinsr", "vcvtsi2", "vcvttsd2si", "k", "s"];
    if row.shape == Shape::General || elements.iter().any(|start| row.name.starts_with(start)) {
        return vec![Length::X];
    }
    let all = [Length::X, Length::Y, Length::Z];
    let fits = |n: &Length| match n {
        Length::X => !whole && !pieces && !across,
        Length::Y => !pieces,
        Length::Z => row.evex.is_some(),
    };
    all.into_iter().filter(fits).collect()
}

#[test]
fn rows_decode_to_their_names_and_operands() {
    for row in ALL {
        for length in lengths(row) {
            let immediate = matches!(row.shape, Shape::Vm(_)) || takes_immediate(row);
            let fields = |reg: u8, vvvv: u8, rm: Rm| Fields {
                reg: if let Shape::Vm(digit) = row.shape { digit } else { reg },
                vvvv: if matches!(row.shape, Shape::Rvm | Shape::Rvmr | Shape::General | Shape::Vm(_)) { vvvv } else { 0 },
                rm,
                length,
                mask: 0,
                zeroing: false,
                broadcast: false,
                immediate: if row.shape == Shape::Rvmr { Some(9 << 4) } else { immediate.then_some(1) },
            };
            let masks = row.name.starts_with('k');
            let [a, b, c] = if masks { [1, 2, 3] } else { [3, 7, 5] };
            let in_memory = matches!(row.name, "vpmovm2b" | "vpmovm2w" | "vpmovm2d" | "vpmovm2q")
                || masks
                || row.vex.is_some() && matches!(row.shape, Shape::Vm(_));
            // Registers.
            let moves_element = matches!(row.name, "vmovss" | "vmovsd") || row.name == "vbroadcasti128" || row.name == "vbroadcasti32x4";
            let only_memory = moves_element || row.name == "kmovq" && row.opcode == 0x91;
            if !only_memory {
                let decoded = decode(row, &fields(a, b, Rm::Register(c)));
                let wanted: Vec<usize> = match row.shape {
                    Shape::Rvm => vec![a, b, c],
                    Shape::Rm => vec![a, c],
                    Shape::Mr => vec![c, a],
                    Shape::Vm(_) => vec![b, c],
                    Shape::Rvmr => vec![a, b, c, 9],
                    Shape::General => vec![a, c, b],
                }
                .into_iter()
                .map(usize::from)
                .collect();
                assert_eq!(registers(&decoded), wanted, "{}", row.name);
            }
            // The second half of the registers.
            if row.evex.is_some() && !only_memory && !matches!(row.shape, Shape::Rvmr) {
                let to_mask = row.name.starts_with("vpcmp") || row.name.starts_with("vcmp");
                let general = ["vmovd", "vmovq", "vpextr", "vpinsr", "vcvttsd2si", "vcvtsi2", "vpmovm2"];
                let narrow = general.iter().any(|start| row.name.starts_with(start));
                let fields =
                    fields(if to_mask || row.name == "vcvttsd2si" { 3 } else { 19 }, 23, Rm::Register(if narrow { 5 } else { 29 }));
                let decoded = decode(row, &fields);
                if !narrow && matches!(row.shape, Shape::Rvm) {
                    assert_eq!(registers(&decoded)[1..], [23, 29], "{}", row.name);
                }
            }
            // Memory, at a distance that counts units and at one that does not.
            let from_memory = row.name != "kmovq" || matches!(row.opcode, 0x90 | 0x91);
            if !in_memory && from_memory && !matches!(row.shape, Shape::Vm(_)) || masks && matches!(row.opcode, 0x90 | 0x91) {
                // A high register wants EVEX, where displacements of one byte count units.
                let registers = if row.evex.is_some() && row.shape != Shape::Rvmr { vec![a, 17] } else { vec![a] };
                let to_mask = row.name.starts_with("vpcmp") || row.name.starts_with("vcmp") || row.name == "vcvttsd2si";
                let registers = registers.into_iter().filter(|&r| r < 8 || !to_mask);
                for (register, displacement) in registers.flat_map(|r| [0, 2, 48, 128, 1000].map(|d| (r, d))) {
                    let place = Place::Sum { base: 13, index: Some((9, 2)), displacement };
                    let decoded = decode(row, &fields(register, b, Rm::Memory(place)));
                    let found = (decoded.memory_base(), decoded.memory_index(), decoded.memory_index_scale());
                    assert_eq!(found, (Register::R13, Register::R9, 4), "{}", row.name);
                    assert_eq!(decoded.memory_displacement64(), displacement as u64, "{} {length:?}", row.name);
                }
            }
        }
    }
}

/// Rows with a number, beside the shifts.
fn takes_immediate(row: &Row) -> bool {
    let starts = [
        "vcmp",
        "vpcmpb",
        "vpcmpw",
        "vpcmpd",
        "vpcmpq",
        "vpcmpu",
        "vround",
        "vrndscale",
        "vpternlog",
        "vextract",
        "vinsert",
        "vpextr",
        "vpinsr",
        "vshufps",
        "vpblendd",
        "vcvtps2ph",
        "kshift",
    ];
    starts.iter().any(|start| row.name.starts_with(start)) || row.name == "vpermq" && row.opcode == 0
}
