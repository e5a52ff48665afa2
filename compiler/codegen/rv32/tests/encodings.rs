//! Every row in 32 bits and in 16, and what has no row, decoded by GNU binutils.

use super::decoder::decode;
use crate::own::testing::each_choice;
use crate::rv32::encode::{Assembler, Operand, encode, shorten};
use crate::rv32::jump::{Condition, Relation, jump, reaches};
use crate::rv32::rows::{ALL, Field, Number, Row, Short, Slot};

/// Registers of the fields D, A, B and C, of words and of floats: different ones, equal ones, and those that short instructions have.
const REGISTERS: [[u8; 4]; 7] =
    [[3, 5, 7, 12], [10, 11, 9, 8], [31, 1, 30, 29], [8, 8, 15, 14], [12, 13, 12, 9], [17, 17, 20, 2], [2, 2, 9, 1]];

fn numbers(kind: Number) -> Vec<i32> {
    match kind {
        Number::Twelve => vec![0, 1, 4, 16, 31, -32, 64, 124, 128, 252, 256, 496, 1020, -512, 2047, -2048],
        Number::Store => vec![0, 4, 124, 128, 252, 256, 2047, -2048],
        Number::Shift => vec![1, 4, 31],
        Number::Upper => vec![0x1000, 0x1F000, -0x1000, -0x20000, 0x1234_5000, i32::MIN],
    }
}

/// All operands of a row that are tried.
fn operands(row: &Row) -> Vec<Vec<Operand>> {
    let mut lists = vec![];
    for registers in REGISTERS {
        let register = |field: Field| registers[[Field::D, Field::A, Field::B, Field::C].iter().position(|&f| f == field).unwrap()];
        lists.extend(each_choice(row.slots.iter().map(|slot| match *slot {
            Slot::Word(field) => vec![Operand::Word(register(field))],
            Slot::Single(field) => vec![Operand::Single(register(field))],
            Slot::Number(kind) => numbers(kind).into_iter().map(Operand::Number).collect(),
        })));
    }
    // x0 in the place of the first operand.
    let from_zero = lists.iter().filter(|_| row.slots.get(1) == Some(&Slot::Word(Field::A))).map(|list| {
        let mut list = list.clone();
        list[1] = Operand::Number(0);
        list
    });
    let more: Vec<_> = from_zero.collect();
    lists.extend(more);
    lists
}

/// Text of operands as the decoder prints them.
fn texts(row: &Row, operands: &[Operand]) -> Vec<String> {
    let text = |(slot, operand): (&Slot, &Operand)| match (slot, operand) {
        (_, Operand::Word(n)) => format!("x{n}"),
        (_, Operand::Single(n)) => format!("f{n}"),
        (Slot::Word(_), Operand::Number(_)) => "x0".into(),
        (Slot::Number(Number::Upper), Operand::Number(n)) => format!("{:#x}", *n as u32 >> 12),
        (Slot::Number(Number::Shift), Operand::Number(n)) => format!("{n:#x}"),
        (_, Operand::Number(n)) => n.to_string(),
    };
    let texts: Vec<String> = row.slots.iter().zip(operands).map(text).collect();
    match (&row.slots[1..], &texts[..]) {
        ([Slot::Number(_), Slot::Word(_)], [register, number, base]) => vec![register.clone(), format!("{number}({base})")],
        _ => texts,
    }
}

/// Tells whether a line is a row's instruction in 32 bits.
fn is(line: &str, row: &Row, operands: &[Operand]) -> bool {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest: Vec<&str> = rest.split(',').filter(|part| !matches!(*part, "rne" | "rtz")).collect();
    name == row.name && rest == texts(row, operands)
}

/// Tells whether a line is a row's instruction in 16 bits: a name after `c.`, and operands, of which the first may stand for two.
fn is_short(line: &str, row: &Row, operands: &[Operand]) -> bool {
    let Some((name, rest)) = line.strip_prefix("c.").and_then(|line| line.split_once(' ')) else { return false };
    let found: Vec<&str> = rest.split(',').collect();
    let wanted = texts(row, operands);
    match (name, &wanted[..]) {
        ("mv", [d, a, _]) => found == [d, a],
        ("li", [d, zero, n]) => zero == "x0" && found == [d, n],
        ("addi16sp", [d, a, n]) => d == "x2" && a == "x2" && found == ["x2", n],
        ("addi4spn", [d, a, n]) => a == "x2" && found == [d, "x2", n],
        ("lui", [d, n]) => found == [d, n],
        ("lwsp" | "swsp" | "flwsp" | "fswsp", [register, place]) => name.trim_end_matches("sp") == row.name && found == [register, place],
        ("lw" | "sw" | "flw" | "fsw", [register, place]) => name == row.name && found == [register, place],
        (_, [d, a, b]) => name == row.name && (a == d && found == [d, b] || b == d && found == [d, a]),
        _ => false,
    }
}

#[test]
fn rows_decode_to_themselves() {
    let (mut code, mut wanted) = (Assembler::default(), vec![]);
    for row in ALL {
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
    let is_wanted =
        |line: &str, row: &Row, operands: &[Operand], short| if short { is_short(line, row, operands) } else { is(line, row, operands) };
    let wrong = lines.iter().zip(&wanted).filter(|(line, (row, operands, short))| !is_wanted(line, row, operands, *short));
    let wrong: Vec<String> = wrong.map(|(line, (row, operands, short))| format!("{} {operands:?} {short}: {line}", row.name)).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let short: Vec<&str> = wanted.iter().filter(|(_, _, short)| *short).map(|(row, ..)| row.name).collect();
    let missing = ALL.iter().filter(|row| row.short != Short::None && !short.contains(&row.name));
    assert_eq!(missing.map(|row| row.name).collect::<Vec<_>>(), [""; 0], "rows that nothing shortens");
}

#[test]
fn numbers_beyond_their_fields_are_refused() {
    let word = Operand::Word(9);
    for (row, operands) in [
        ("addi", vec![word, word, Operand::Number(2048)]),
        ("sw", vec![word, Operand::Number(-2049), word]),
        ("slli", vec![word, word, Operand::Number(32)]),
        ("lui", vec![word, Operand::Number(0x800)]),
        ("add", vec![word, word, Operand::Single(3)]),
        ("add", vec![word, word]),
    ] {
        let row = ALL.iter().find(|other| other.name == row).unwrap();
        assert!(encode(row, &operands).is_err(), "{} {operands:?}", row.name);
    }
}

fn lines(write: impl Fn(&mut Assembler)) -> Option<Vec<String>> {
    let mut code = Assembler::default();
    write(&mut code);
    decode(&code.bytes)
}

#[test]
fn numbers_and_far_places_decode_to_themselves() {
    let cases: [(i32, &[&str]); 6] = [
        (-7, &["c.li x10,-7"]),
        (200, &["addi x10,x0,200"]),
        (0x1000, &["c.lui x10,0x1"]),
        (0x1234_5678, &["lui x10,0x12345", "addi x10,x10,1656"]),
        (0x7FFF_FFFF, &["lui x10,0x80000", "c.addi x10,-1"]),
        (-2049, &["c.lui x10,0xfffff", "addi x10,x10,2047"]),
    ];
    for (number, wanted) in cases {
        let Some(found) = lines(|code| code.constant(10, number).unwrap()) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, wanted);
    }
    assert_eq!(lines(|code| code.add_number(2, 2, -64).unwrap()).unwrap(), ["c.addi16sp x2,-64"]);
    let far = lines(|code| code.add_number(10, 11, 5000).unwrap()).unwrap();
    assert_eq!(far, ["c.lui x31,0x1", "addi x31,x31,904", "add x10,x11,x31"]);
    let far = lines(|code| code.stack_word(Operand::Word(9), 4100, true).unwrap()).unwrap();
    assert_eq!(far, ["c.lui x31,0x1", "c.add x31,x2", "sw x9,4(x31)"]);
}

#[test]
fn jumps_decode_to_themselves() {
    let on = |relation, a, b| Some(Condition { relation, a, b });
    let cases: [(Option<Condition>, usize, i64, &[&str]); 12] = [
        (None, 0, -2048, &["c.j 0xfffff800"]),
        (None, 0, 2046, &["c.j 0x7fe"]),
        (None, 1, 0x000F_FFFE, &["jal x0,0xffffe"]),
        (None, 1, -0x0010_0000, &["jal x0,0xfff00000"]),
        (on(Relation::Equal, 9, 0), 0, -256, &["c.beqz x9,0xffffff00"]),
        (on(Relation::NotEqual, 0, 15), 0, 254, &["c.bnez x15,0xfe"]),
        (on(Relation::Equal, 9, 0), 1, 4094, &["beq x9,x0,0xffe"]),
        (on(Relation::NotEqual, 9, 0), 2, 0x1_0000, &["beq x9,x0,0x8", "jal x0,0x10000"]),
        (on(Relation::Less, 9, 20), 0, -4096, &["blt x9,x20,0xfffff000"]),
        (on(Relation::AtLeast, 9, 20), 0, 2048, &["bge x9,x20,0x800"]),
        (on(Relation::Below, 31, 1), 1, -0xF_FFFC, &["bgeu x31,x1,0x8", "jal x0,0xfff00004"]),
        (on(Relation::NotBelow, 31, 1), 0, 1366, &["bgeu x31,x1,0x556"]),
    ];
    for (condition, encoding, distance, wanted) in cases {
        let reach = reaches(condition)[encoding];
        assert!(reach.holds(distance), "{condition:?} {distance}");
        let mut code = Assembler::default();
        jump(condition, reach.bytes, distance, &mut code);
        assert_eq!(code.bytes.len(), reach.bytes);
        let Some(found) = decode(&code.bytes) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, wanted);
    }
}
