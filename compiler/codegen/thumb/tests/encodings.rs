//! Tests of encodings with the decoder of GNU binutils: every row in 32 and 16 bits, and the instructions without rows.

use super::decoder::{decode, lines};
use crate::own::InstructionSet;
use crate::own::testing::each_choice;
use crate::thumb::access::{Moved, Place, access, access_and_step, access_double, access_float, access_pair};
use crate::thumb::encode::{Assembler, Flags, Operand, encode, shorten};
use crate::thumb::rows::{ALL, Feature, Field, Number, PKHBT_LOWER, PKHTB_UPPER, Row, SXTB16_ODD, Short, Single, Slot};
use crate::thumb::set::{Condition, Thumb2};
use modelc_machine::machine;

/// General-purpose registers for the fields D, N, M and A.
const WORDS: [[u8; 4]; 5] = [[3, 5, 7, 2], [12, 10, 9, 11], [3, 3, 7, 2], [4, 6, 4, 1], [9, 9, 2, 3]];
/// Binary32 registers for the fields D, N and M.
const SINGLES: [[u8; 3]; 5] = [[3, 5, 7], [12, 10, 9], [31, 30, 29], [0, 1, 2], [17, 18, 16]];

fn numbers(kind: Number) -> Vec<i32> {
    match kind {
        Number::Modified => vec![1, 0xFF, 0x100, 0x3FC, 0x00FF_00FF, 0x1200_1200, 0x5A5A_5A5A, i32::MIN],
        Number::Twelve => vec![1, 7, 200, 0x800, 4095],
        Number::Shift => vec![1, 4, 31],
        Number::Five | Number::Left | Number::Right => vec![1, 7, 31],
    }
}

/// Returns all operands that are tried for a row.
fn operands(row: &Row) -> Vec<Vec<Operand>> {
    let mut lists = vec![];
    for (words, singles) in WORDS.iter().zip(SINGLES) {
        let word = |field: Field| words[[Field::D, Field::N, Field::M, Field::A].iter().position(|&f| f == field).unwrap()];
        let single = |field: Single| singles[[Single::D, Single::N, Single::M].iter().position(|&f| f == field).unwrap()];
        lists.extend(each_choice(row.slots.iter().map(|slot| match *slot {
            Slot::Word(field) | Slot::Twice(field, _) => vec![Operand::Word(word(field))],
            Slot::Even(field) => vec![Operand::Word(word(field) & !1)],
            Slot::Single(field) => vec![Operand::Single(single(field))],
            Slot::Double(field) => vec![Operand::Double(single(field) / 2)],
            Slot::Vector(field) => vec![Operand::Vector(single(field) / 4)],
            Slot::Number(kind) => numbers(kind).into_iter().map(Operand::Number).collect(),
        })));
    }
    lists
}

/// Rows whose encoding has a shift of the last operand, as the decoder writes it.
const SHIFTS: [(&Row, &str); 3] = [(&SXTB16_ODD, "ror #8"), (&PKHBT_LOWER, "lsl #16"), (&PKHTB_UPPER, "asr #16")];

/// Returns the decoder's text of operands.
fn texts(row: &Row, operands: &[Operand], short: bool) -> Vec<String> {
    let is_shift = row.slots.last() == Some(&Slot::Number(Number::Shift));
    let names = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "sl", "fp", "ip", "sp", "lr", "pc"];
    let saturates = row.name.ends_with("sat");
    let text = |(i, operand): (usize, &Operand)| {
        let is_last = i + 1 == operands.len();
        match operand {
            Operand::Word(n) => names[usize::from(*n)].to_string(),
            Operand::Single(n) => format!("s{n}"),
            Operand::Double(n) => format!("d{n}"),
            Operand::Vector(n) => format!("q{n}"),
            Operand::Number(n) if is_shift && is_last && saturates => format!("asr #{n}"),
            Operand::Number(n) if row.name == "ssat" => format!("#{}", n + 1),
            Operand::Number(n) if is_shift && row.slots.len() == 4 && !saturates => {
                format!("{} #{n}", ["lsl", "lsr", "asr"][(row.word >> 4 & 3) as usize])
            }
            Operand::Number(n) if is_shift && is_last && !short => format!("{} #{n}", row.name),
            Operand::Number(n) => format!("#{}", *n as u32),
        }
    };
    let shift = SHIFTS.iter().find(|(shifted, _)| shifted.word == row.word).map(|(_, shift)| (*shift).into());
    operands.iter().enumerate().map(text).chain(shift).collect()
}

/// Tests whether a line is a row's instruction. The 16-bit form may set flags. If the result is also an operand, it may be printed once.
fn is(line: &str, row: &Row, operands: &[Operand], short: bool) -> bool {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let found: Vec<&str> = rest.split(", ").collect();
    let wanted = texts(row, operands, short);
    let same = |wanted: &[String]| found.iter().copied().eq(wanted.iter().map(String::as_str));
    let named = name == if matches!(row.short, Short::Shift(_)) && !short { "mov" } else { row.name }
        || name == format!("{}w", row.name)
        || short && name == format!("{}s", row.name);
    let once = short && wanted.len() == 3 && (wanted[0] == wanted[1] && same(&wanted[1..]) || wanted[0] == wanted[2] && same(&wanted[..2]));
    named && (same(&wanted) || once)
}

/// Tests all rows but those of vectors, which another architecture of the decoder has.
#[test]
fn rows_decode_to_themselves() {
    let (mut code, mut wanted) = (Assembler::default(), vec![]);
    for row in ALL.iter().filter(|row| row.feature != Feature::Vectors) {
        for operands in operands(row) {
            code.word(encode(row, &operands).unwrap());
            wanted.push((row, operands.clone(), false));
            if let Some(half) = shorten(row, &operands) {
                code.half(half);
                wanted.push((row, operands, true));
            }
        }
    }
    let Some(lines) = decode(&code.bytes) else { return eprintln!("skipped: no decoder") };
    assert_eq!(lines.len(), wanted.len());
    let wrong = lines.iter().zip(&wanted).filter(|(line, (row, operands, short))| !is(line, row, operands, *short));
    let wrong: Vec<String> = wrong.map(|(line, (row, operands, short))| format!("{} {operands:?} {short}: {line}", row.name)).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn loads_and_stores_decode_to_themselves() {
    let moved = |bytes, store, signed| Moved { bytes, store, signed };
    let cases = [
        (moved(4, false, false), 7, Place::Near(1, 32), "ldr r7, [r1, #32]"),
        (moved(4, true, false), 7, Place::Near(13, 16), "str r7, [sp, #16]"),
        (moved(4, false, false), 9, Place::Near(1, 4095), "ldr r9, [r1, #4095]"),
        (moved(4, false, true), 3, Place::Near(10, -255), "ldr r3, [sl, #-255]"),
        (moved(2, false, false), 3, Place::Near(4, 62), "ldrh r3, [r4, #62]"),
        (moved(2, false, true), 3, Place::Near(4, 62), "ldrsh r3, [r4, #62]"),
        (moved(2, true, false), 3, Place::Near(4, 64), "strh r3, [r4, #64]"),
        (moved(1, false, true), 3, Place::Near(4, 0), "ldrsb r3, [r4]"),
        (moved(1, false, false), 3, Place::Near(4, 31), "ldrb r3, [r4, #31]"),
        (moved(1, true, false), 12, Place::Near(4, 31), "strb ip, [r4, #31]"),
        (moved(4, false, false), 3, Place::Indexed(1, 2, 0), "ldr r3, [r1, r2]"),
        (moved(2, false, true), 3, Place::Indexed(1, 2, 0), "ldrsh r3, [r1, r2]"),
        (moved(2, false, false), 3, Place::Indexed(1, 2, 1), "ldrh r3, [r1, r2, lsl #1]"),
        (moved(1, false, true), 3, Place::Indexed(1, 2, 0), "ldrsb r3, [r1, r2]"),
        (moved(1, true, false), 3, Place::Indexed(1, 9, 0), "strb r3, [r1, r9]"),
    ];
    for (moved, register, place, wanted) in cases {
        let Some(found) = lines(|code| access(moved, register, place, code).unwrap()) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, [wanted], "{moved:?} {place:?}");
    }
    let floats = [(false, 7, 1020, "vldr s7, [r3, #1020]"), (true, 30, -8, "vstr s30, [r3, #-8]")];
    for (store, register, displacement, wanted) in floats {
        let found = lines(|code| access_float(store, register, Place::Near(3, displacement), code).unwrap());
        assert_eq!(found.unwrap(), [wanted]);
    }
    let doubles = [(false, 7, 1020, "vldr d7, [r3, #1020]"), (true, 15, -8, "vstr d15, [r3, #-8]")];
    for (store, register, displacement, wanted) in doubles {
        let found = lines(|code| access_double(store, register, Place::Near(3, displacement), code).unwrap());
        assert_eq!(found.unwrap(), [wanted]);
    }
    let mut code = Assembler::default();
    assert!(access(moved(4, false, false), 7, Place::Near(1, 4096), &mut code).is_err());
    assert!(access(moved(4, false, false), 7, Place::Indexed(1, 2, 4), &mut code).is_err());
    assert!(access_float(false, 7, Place::Near(1, 1024), &mut code).is_err());
}

#[test]
fn pairs_and_steps_decode_to_themselves() {
    let moved = |bytes, store, signed| Moved { bytes, store, signed };
    let steps: [(Moved, &[u8], u8, i32, &str); 6] = [
        (moved(4, false, false), &[3], 1, 8, "ldr r3, [r1], #8"),
        (moved(1, false, true), &[12], 9, 255, "ldrsb ip, [r9], #255"),
        (moved(2, false, false), &[3], 1, 2, "ldrh r3, [r1], #2"),
        (moved(1, true, false), &[12], 4, 1, "strb ip, [r4], #1"),
        (moved(4, false, false), &[3, 9], 1, 1020, "ldrd r3, r9, [r1], #1020"),
        (moved(4, true, false), &[2, 7], 10, 8, "strd r2, r7, [sl], #8"),
    ];
    for (moved, registers, base, by, wanted) in steps {
        let Some(found) = lines(|code| access_and_step(moved, registers, (base, by), code).unwrap()) else {
            return eprintln!("skipped: no decoder");
        };
        assert_eq!(found, [wanted]);
    }
    let pairs = [(false, -8, "ldrd r3, r4, [r1, #-8]"), (false, 16, "ldrd r3, r4, [r1, #16]"), (true, 1020, "strd r3, r4, [r1, #1020]")];
    for (store, displacement, wanted) in pairs {
        assert_eq!(lines(|code| access_pair(store, [3, 4], Place::Near(1, displacement), code).unwrap()).unwrap(), [wanted]);
    }
    let mut code = Assembler::default();
    assert!(access_pair(false, [3, 4], Place::Near(1, 6), &mut code).is_err());
    assert!(access_and_step(moved(4, false, false), &[3, 4], (1, 6), &mut code).is_err());
    assert!(access_and_step(moved(4, false, false), &[3], (1, 256), &mut code).is_err());
}

#[test]
fn numbers_and_sums_decode_to_themselves() {
    let cases: [(u8, i32, &[&str]); 5] = [
        (3, 200, &["movs r3, #200"]),
        (9, 200, &["mov r9, #200"]),
        (3, -2, &["mvn r3, #1"]),
        (3, 0x1234, &["movw r3, #4660"]),
        (3, 0x1234_5678, &["movw r3, #22136", "movt r3, #4660"]),
    ];
    for (to, number, wanted) in cases {
        let Some(found) = lines(|code| code.constant(to, number)) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, wanted);
    }
    let sums: [(u8, u8, i32, &[&str]); 6] = [
        (13, 13, -16, &["sub sp, #16"]),
        (13, 13, 600, &["addw sp, sp, #600"]),
        (3, 13, 8, &["add r3, sp, #8"]),
        (3, 3, 255, &["adds r3, #255"]),
        (3, 4, -0x1000, &["sub r3, r4, #4096"]),
        (3, 4, 0x12345, &["add r3, r4, #65536", "add r3, r3, #8960", "add r3, r3, #69"]),
    ];
    for (to, from, number, wanted) in sums {
        assert_eq!(lines(|code| code.add_number(to, from, number)).unwrap(), wanted);
    }
}

#[test]
fn jumps_decode_to_themselves() {
    let set = Thumb2::new(machine("cortex-m4f").unwrap());
    let (less, zero, high) = (Condition::Flags(Flags::Less), Condition::Zero(3, true), Condition::Zero(9, false));
    let cases: [(Option<Condition>, usize, i64, &[&str]); 9] = [
        (None, 0, -2044, &["b 0xfffff804"]),
        (None, 1, 0x0012_3456, &["b 0x123456"]),
        (Some(less), 0, 258, &["blt 0x102"]),
        (Some(less), 1, -4096, &["blt 0xfffff000"]),
        (Some(zero), 0, 130, &["cbz r3, 0x82"]),
        (Some(zero), 1, -32, &["cmp r3, #0", "beq 0xffffffe0"]),
        (Some(zero), 2, 4096, &["cmp r3, #0", "beq 0x1000"]),
        (Some(high), 0, -32, &["cmp r9, #0", "bne 0xffffffe0"]),
        (Some(high), 1, 4096, &["cmp r9, #0", "bne 0x1000"]),
    ];
    for (condition, reach, distance, wanted) in cases {
        let mut bytes = vec![0; set.reaches(condition)[reach].bytes];
        assert!(set.reaches(condition)[reach].holds(distance), "{condition:?} {distance}");
        set.jump(condition, reach, distance, &mut bytes);
        let Some(found) = decode(&bytes) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, wanted);
    }
}
