//! Tests of every row with every size of lanes: `fARM64` decodes the words.

use crate::a64::encode::{Assembler, Moved, Operand, Place, access, access_pair, encode};
use crate::a64::listing::instruction;
use crate::a64::number::modified;
use crate::a64::rows::{ALL, Field, Number, Row, Size, Slot};
use crate::own::testing::each_choice;

const SIZES: [Size; 4] = [Size::B, Size::H, Size::S, Size::D];

/// Returns one of two registers for each field; the two differ in all bits.
fn register(field: Field, second: bool) -> u8 {
    let first = match field {
        Field::D => 3,
        Field::N => 21,
        Field::M => 10,
        Field::A => 6,
    };
    if second { first ^ 31 } else { first }
}

fn numbers(kind: Number, size: Size) -> Vec<i64> {
    let bits = i64::from(size.bits());
    match kind {
        Number::Left => vec![0, 1, bits - 1],
        Number::Right => vec![1, 2, bits],
        Number::Lane => vec![0, 1, 128 / bits - 1],
        Number::Element => {
            if size == Size::D {
                vec![0, 1]
            } else {
                vec![0, 1, 2, 3]
            }
        }
        Number::Byte => vec![1, 8, 15],
        Number::Twelve => vec![0, 1, 4095],
        Number::Shift => vec![0, 3],
        Number::FieldStart => vec![0, 7, 63],
        Number::FieldEnd => vec![63],
    }
}

/// Lists the operands of a row that the test tries.
fn operands(row: &Row, size: Size) -> Vec<Vec<Operand>> {
    let mut lists = vec![];
    for second in [false, true] {
        lists.extend(each_choice(row.slots.iter().map(|slot| match *slot {
            Slot::Vector(field) => vec![Operand::Vector(register(field, second))],
            Slot::General(field) => vec![Operand::General(register(field, second))],
            Slot::Number(kind) => numbers(kind, size).into_iter().map(Operand::Number).collect(),
        })));
    }
    lists
}

/// Splits a text into the name and the numbers of its registers, in order.
fn parse(text: &str) -> (&str, Vec<u8>) {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let register = |operand: &str| {
        let operand = operand.trim().trim_matches(['[', ']', '{', '}']);
        let digits: String = operand.get(1..)?.chars().take_while(char::is_ascii_digit).collect();
        let file = operand.starts_with(['v', 'x', 'w', 'd', 's', 'q', 'b', 'h']);
        if operand == "xzr" || operand == "sp" { Some(31) } else { digits.parse().ok().filter(|_| file) }
    };
    (name, rest.split(',').filter_map(register).collect())
}

/// Returns the names that the decoder may print for an instruction.
fn names(row: &Row) -> Vec<&'static str> {
    match row.name {
        "ubfm" => vec!["lsr", "lsl", "ubfx", "uxtb", "ubfiz", "ubfm"],
        "sbfm" => vec!["asr", "sbfx", "sxtb", "sbfiz", "sbfm"],
        "sshll" => vec!["sshll", "sxtl"],
        "sshll2" => vec!["sshll2", "sxtl2"],
        "ushll" => vec!["ushll", "uxtl"],
        "ushll2" => vec!["ushll2", "uxtl2"],
        "not" => vec!["not", "mvn"],
        "umov" => vec!["umov", "mov"],
        "dup" => vec!["dup", "mov"],
        "add" => vec!["add", "mov"],
        "mvn" => vec!["mvn", "orn"],
        "lsl" => vec!["lsl", "lslv"],
        "lsr" => vec!["lsr", "lsrv"],
        "asr" => vec!["asr", "asrv"],
        name => vec![name],
    }
}

#[test]
fn rows_decode_to_themselves() {
    let mut wrong = vec![];
    for (row, size) in ALL.iter().flat_map(|row| SIZES.map(|size| (*row, size))).filter(|(row, size)| row.has(*size)) {
        for operands in operands(row, size) {
            let word = encode(row, size, &operands).unwrap();
            let text = instruction(word.to_le_bytes());
            let Some(text) = text else {
                wrong.push(format!("{} {size:?} {operands:?}: {word:08x} is no instruction", row.name));
                continue;
            };
            let wanted: Vec<u8> = operands
                .iter()
                .filter_map(|operand| match operand {
                    Operand::Vector(n) | Operand::General(n) => Some(*n),
                    Operand::Number(_) => None,
                })
                .collect();
            let (name, registers) = parse(&text);
            if !names(row).contains(&name) || registers != wanted {
                wrong.push(format!("{} {size:?} {operands:?}: {word:08x} is {text}", row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn loads_and_stores_decode_to_themselves() {
    let moved = |vector, bytes, store, signed| Moved { vector, bytes, store, signed };
    let cases = [
        (moved(true, 16, false, false), Place::Near(1, 32), "ldr q7, [x1, #0x20]"),
        (moved(true, 16, true, false), Place::Near(31, -16), "stur q7, [sp, #-0x10]"),
        (moved(true, 4, false, false), Place::Near(1, 3), "ldur s7, [x1, #0x3]"),
        (moved(true, 8, true, false), Place::Near(1, 32760), "str d7, [x1, #0x7ff8]"),
        (moved(true, 1, false, false), Place::Near(1, 4095), "ldr b7, [x1, #0xfff]"),
        (moved(true, 2, false, false), Place::Indexed(1, 2, 1), "ldr h7, [x1, x2, lsl #0x1]"),
        (moved(false, 8, false, false), Place::Indexed(1, 2, 3), "ldr x7, [x1, x2, lsl #0x3]"),
        (moved(false, 8, true, false), Place::Near(1, 8), "str x7, [x1, #0x8]"),
        (moved(false, 4, false, false), Place::Near(1, 8), "ldr w7, [x1, #0x8]"),
        (moved(false, 2, false, false), Place::Near(1, 8), "ldrh w7, [x1, #0x8]"),
        (moved(false, 1, true, false), Place::Near(1, 8), "strb w7, [x1, #0x8]"),
        (moved(false, 1, false, true), Place::Near(1, 8), "ldrsb x7, [x1, #0x8]"),
    ];
    for (moved, place, wanted) in cases {
        let mut code = Assembler::default();
        access(moved, 7, place, &mut code).unwrap();
        let word: [u8; 4] = code.bytes[..].try_into().unwrap();
        assert_eq!(instruction(word).as_deref(), Some(wanted), "{moved:?} {place:?}");
    }
    for (store, wanted) in [(false, "ldp q7, q9, [x1, #-0x20]"), (true, "stp q7, q9, [x1, #-0x20]")] {
        let mut code = Assembler::default();
        access_pair([7, 9], Place::Near(1, -32), store, &mut code).unwrap();
        assert_eq!(instruction(code.bytes[..].try_into().unwrap()).as_deref(), Some(wanted));
        assert!(access_pair([7, 9], Place::Near(1, 1024), store, &mut code).is_err());
    }
    let mut code = Assembler::default();
    assert!(access(moved(true, 16, false, false), 7, Place::Near(1, 65552), &mut code).is_err());
    assert!(access(moved(true, 16, false, false), 7, Place::Indexed(1, 2, 3), &mut code).is_err());
}

#[test]
fn numbers_that_instructions_make_decode_to_themselves() {
    let text = |bits: u64| modified(bits).and_then(|word| instruction((word | 5).to_le_bytes()));
    let cases = [
        (0, "movi v5.16b, #0x0"),
        (0x8080_8080_8080_8080, "movi v5.16b, #0x80"),
        (0x00FF_0000_00FF_0000, "movi v5.4s, #0xff, lsl #0x10"),
        (0xFFFF_FF00_FFFF_FF00, "mvni v5.4s, #0xff"),
        (0x3F80_0000_3F80_0000, "fmov v5.4s, #1.0"),
        (0x7FFF_FFFF_7FFF_FFFF, "mvni v5.4s, #0x80, lsl #0x18"),
    ];
    for (bits, wanted) in cases {
        assert_eq!(text(bits).as_deref(), Some(wanted), "{bits:#x}");
    }
    assert_eq!(modified(0x1234_5678_1234_5678), None);
    assert_eq!(modified(0x3F80_0001_3F80_0001), None);
}
