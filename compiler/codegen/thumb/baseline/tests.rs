//! Tests of encodings with the decoder of GNU binutils, as a processor of Armv6-M decodes them.

use super::frame::Frame;
use super::level::Level;
use super::place::{access, compute};
use super::set::Thumb1;
use crate::own::{InstructionSet, Need, StackFrame};
use crate::thumb::access::{Moved, Place};
use crate::thumb::encode::{Assembler, Flags, Operand};
use crate::thumb::registers::GENERAL;
use crate::thumb::rows;
use crate::thumb::tests::decoder::{decode, lines};
use regalloc2::{PReg, PRegSet};

#[test]
fn loads_and_stores_decode_to_themselves() {
    let moved = |bytes, store, signed| Moved { bytes, store, signed };
    let cases: [(Moved, u8, Place, &[&str]); 8] = [
        (moved(4, false, false), 7, Place::Near(1, 124), &["ldr r7, [r1, #124]"]),
        (moved(2, true, false), 3, Place::Near(4, 62), &["strh r3, [r4, #62]"]),
        (moved(1, false, true), 3, Place::Near(4, 31), &["ldrb r3, [r4, #31]", "sxtb r3, r3"]),
        (moved(2, false, true), 3, Place::Near(4, 0), &["ldrh r3, [r4, #0]", "sxth r3, r3"]),
        (moved(1, false, true), 3, Place::Indexed(4, 5, 0), &["ldrsb r3, [r4, r5]"]),
        (moved(4, false, false), 2, Place::Near(13, 1020), &["ldr r2, [sp, #1020]"]),
        (moved(4, false, false), 2, Place::Near(13, 1024), &["movs r2, #1", "lsls r2, r2, #10", "add r2, sp", "ldr r2, [r2, #0]"]),
        (moved(4, true, false), 2, Place::Near(13, 8), &["str r2, [sp, #8]"]),
    ];
    for (moved, register, place, wanted) in cases {
        let Some(found) = lines(|code| access(moved, register, place, code).unwrap()) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, wanted, "{moved:?} {place:?}");
    }
    let mut code = Assembler::default();
    for (moved, register, place) in [
        (moved(4, false, false), 8, Place::Near(1, 0)),
        (moved(4, true, false), 1, Place::Near(1, 128)),
        (moved(4, false, false), 1, Place::Near(1, 2)),
        (moved(4, false, false), 1, Place::Near(9, 0)),
        (moved(4, false, false), 1, Place::Indexed(2, 3, 2)),
        (moved(1, true, false), 1, Place::Near(2, -1)),
    ] {
        assert!(access(moved, register, place, &mut code).is_err(), "{moved:?} {place:?}");
    }
}

#[test]
fn addresses_decode_to_themselves() {
    let cases: [((Place, i32), &[&str]); 7] = [
        ((Place::Near(3, 7), 0), &["adds r2, r3, #7"]),
        ((Place::Near(9, -200), 0), &["mov r2, r9", "subs r2, #200"]),
        ((Place::Near(9, 0x101), 0), &["movs r2, #255", "adds r2, #2", "add r2, r9"]),
        ((Place::Near(13, 40), 0), &["add r2, sp, #40"]),
        ((Place::Indexed(13, 5, 0), 40), &["add r2, sp, #40", "add r2, r5"]),
        ((Place::Indexed(4, 5, 0), 0), &["adds r2, r4, r5"]),
        ((Place::Indexed(9, 5, 2), 0), &["lsls r2, r5, #2", "add r2, r9"]),
    ];
    for (place, wanted) in cases {
        let Some(found) = lines(|code| compute(2, place, code).unwrap()) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, wanted, "{place:?}");
    }
}

#[test]
fn jumps_reach_their_targets() {
    for (condition, reach, distance, wanted) in [
        (None, 0, -2044, &["b 0xfffff804"][..]),
        (Some(Flags::Less), 0, 258, &["blt 0x102"]),
        (Some(Flags::Less), 1, 2052, &["bge 0x4", "b 0x804"]),
    ] {
        let mut bytes = vec![0; Thumb1(Level::Armv6).reaches(condition)[reach].bytes];
        assert!(Thumb1(Level::Armv6).reaches(condition)[reach].holds(distance), "{condition:?} {distance}");
        Thumb1(Level::Armv6).jump(condition, reach, distance, &mut bytes);
        let Some(found) = decode(&bytes) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, wanted);
    }
    for distance in [-0x12_3456, 0x12_3456, 4096] {
        let mut bytes = vec![0; Thumb1(Level::Armv6).reaches(None)[1].bytes];
        Thumb1(Level::Armv6).jump(None, 1, distance, &mut bytes);
        let Some(found) = decode(&bytes) else { return eprintln!("skipped: no decoder") };
        let byte = |line: usize| found[line].rsplit('#').next().unwrap().parse::<i64>().unwrap();
        let number = byte(1) << 16 | byte(3) << 8 | byte(5);
        let number = if found[6] == "mvns r0, r0" { !number } else { number };
        assert_eq!((number + 18, &found[7][..], &found[9][..]), (distance + 1, "add r0, pc", "pop {r0, pc}"));
    }
}

#[test]
fn frames_save_what_is_used() {
    let need = |registers: &[usize], slots| Need {
        registers: PRegSet::from_iter(registers.iter().map(|&n| PReg::new(n, GENERAL))),
        slots,
        local_bytes: 0,
        outgoing: None,
        toward_zero: false,
    };
    let cases: [(&[usize], u32, &[&str]); 4] = [
        (&[0, 3], 0, &["bx lr"]),
        (&[5, 14], 2, &["push {r5, lr}", "sub sp, #8", "add sp, #8", "pop {r5, pc}"]),
        (
            &[8, 11],
            0,
            &[
                "push {r4, r5, lr}",
                "mov r4, r8",
                "mov r5, fp",
                "push {r4, r5}",
                "pop {r4, r5}",
                "mov r8, r4",
                "mov fp, r5",
                "pop {r4, r5, pc}",
            ],
        ),
        (
            &[1],
            300,
            &[
                "push {r4, lr}",
                "movs r4, #1",
                "lsls r4, r4, #10",
                "adds r4, #175",
                "mvns r4, r4",
                "add sp, r4",
                "movs r4, #75",
                "lsls r4, r4, #4",
                "add sp, r4",
                "pop {r4, pc}",
            ],
        ),
    ];
    for (registers, slots, wanted) in cases {
        let frame = Frame::new(&need(registers, slots));
        let write = |code: &mut Assembler| {
            frame.enter(code).unwrap();
            frame.leave(code).unwrap();
        };
        let Some(found) = lines(write) else { return eprintln!("skipped: no decoder") };
        assert_eq!(found, wanted, "{registers:?}");
    }
}

#[test]
fn instructions_without_a_short_form_are_refused() {
    let mut code = Assembler::default();
    for (row, operands) in
        [(&rows::MLA, vec![0, 1, 2, 3]), (&rows::SDIV, vec![0, 1, 2]), (&rows::UXTB, vec![8, 1]), (&rows::AND, vec![0, 1, 2])]
    {
        let operands: Vec<Operand> = operands.into_iter().map(Operand::Word).collect();
        let error = code.short(row, &operands).unwrap_err();
        assert!(error.to_string().contains(row.name) && code.bytes.is_empty(), "{error}");
    }
}
