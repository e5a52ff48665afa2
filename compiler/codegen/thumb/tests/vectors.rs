//! Tests of vector instructions, and of loops with them.

use super::ARCHITECTURE;
use super::decoder::decode_for;
use crate::own::words::Element;
use crate::thumb::KERNELS;
use crate::thumb::access::Place;
use crate::thumb::encode::{Assembler, Flags, Operand};
use crate::thumb::rows::*;
use crate::thumb::vectors::{Part, Vector, access_vector, choose_lanes, predicate, step_vector};
use modelc_kernel::intervals::Assumed;
use modelc_kernel::passes::narrow;
use modelc_kernel::text::parse_kernel;
use modelc_machine::machine;

#[test]
fn vectors_decode_to_themselves() {
    let (load, store) = (|element| moved(element, false), |element| moved(element, true));
    let mut code = Assembler::default();
    let near = [
        (load(Element::Byte), 0, 1, 16, "vldrb.u8 q0, [r1, #16]"),
        (load(Element::Byte), 7, 9, -127, "vldrb.u8 q7, [r9, #-127]"),
        (load(Element::Word), 3, 2, -508, "vldrw.u32 q3, [r2, #-508]"),
        (store(Element::Byte), 5, 3, 127, "vstrb.8 q5, [r3, #127]"),
        (store(Element::Word), 5, 13, 16, "vstrw.32 q5, [sp, #16]"),
    ];
    near.iter().for_each(|&(moved, register, base, at, _)| access_vector(moved, register, Place::Near(base, at), &mut code).unwrap());
    let steps = [
        (load(Element::Byte), 3, 2, 16, "vldrb.u8 q3, [r2], #16"),
        (load(Element::Word), 3, 2, 128, "vldrw.u32 q3, [r2], #128"),
        (store(Element::Byte), 5, 3, -16, "vstrb.8 q5, [r3], #-16"),
        (load(Element::ByteOfLane), 0, 7, 4, "vldrb.s32 q0, [r7], #4"),
        (store(Element::HalfOfLane), 3, 2, 254, "vstrh.32 q3, [r2], #254"),
    ];
    steps.iter().for_each(|&(moved, register, base, by, _)| step_vector(moved, register, (base, by), &mut code).unwrap());
    let of_lanes = [
        (load(Element::ByteOfLane), 7, 5, -127, "vldrb.s32 q7, [r5, #-127]"),
        (load(Element::HalfOfLane), 3, 2, 254, "vldrh.s32 q3, [r2, #254]"),
        (store(Element::ByteOfLane), 7, 5, 5, "vstrb.32 q7, [r5, #5]"),
        (store(Element::HalfOfLane), 0, 7, -10, "vstrh.32 q0, [r7, #-10]"),
    ];
    of_lanes.iter().for_each(|&(moved, register, base, at, _)| access_vector(moved, register, Place::Near(base, at), &mut code).unwrap());
    for (sum, a, b) in [(0, 0, 0), (2, 1, 2), (14, 7, 7)] {
        code.row(&VMLADAVA, &[Operand::Word(sum), Operand::Vector(a), Operand::Vector(b)]).unwrap();
    }
    code.copy_vector(3, 7);
    let Some(found) = decode_for(ARCHITECTURE, &code.bytes) else { return eprintln!("skipped: no decoder") };
    let accesses = near.iter().map(|case| case.4).chain(steps.iter().map(|case| case.4)).chain(of_lanes.iter().map(|case| case.4));
    let others = ["vmlava.s8 r0, q0, q0", "vmlava.s8 r2, q1, q2", "vmlava.s8 lr, q7, q7", "vmov q3, q7"];
    assert_eq!(found, accesses.chain(others).collect::<Vec<_>>());
    assert!(access_vector(load(Element::Byte), 0, Place::Near(1, 128), &mut code).is_err());
    assert!(access_vector(load(Element::Word), 0, Place::Near(1, 2), &mut code).is_err());
    assert!(access_vector(load(Element::ByteOfLane), 0, Place::Near(8, 0), &mut code).is_err(), "a high base");
    assert!(step_vector(load(Element::HalfOfLane), 0, (8, 2), &mut code).is_err(), "a high base");
    assert!(access_vector(load(Element::Byte), 0, Place::Indexed(1, 2, 0), &mut code).is_err());
    assert!(code.row(&VMLADAVA, &[Operand::Word(1), Operand::Vector(0), Operand::Vector(0)]).is_err(), "an odd register");
}

fn moved(element: Element, store: bool) -> Vector {
    Vector { element, store, part: Part::Whole }
}

#[test]
fn accesses_to_parts_of_vectors_decode_to_themselves() {
    let mut code = Assembler::default();
    let parts = [
        (moved(Element::Byte, false), Part::First, Some(4), ["vctp.8 r4", "vpst", "vldrbt.u8 q1, [r2, #0]"]),
        (moved(Element::Byte, true), Part::SameFirst, None, ["", "vpst", "vstrbt.8 q1, [r2, #0]"]),
        (moved(Element::Word, false), Part::First, Some(14), ["vctp.32 lr", "vpst", "vldrwt.u32 q1, [r2, #0]"]),
        (moved(Element::ByteOfLane, true), Part::First, Some(0), ["vctp.32 r0", "vpst", "vstrbt.32 q1, [r2, #0]"]),
        (moved(Element::HalfOfLane, false), Part::First, Some(9), ["vctp.32 r9", "vpst", "vldrht.s32 q1, [r2, #0]"]),
        (moved(Element::Word, true), Part::Whole, None, ["", "", "vstrw.32 q1, [r2, #0]"]),
    ];
    for (moved, part, count, _) in parts {
        let moved = Vector { part, ..moved };
        predicate(moved, count, &mut code);
        access_vector(moved, 1, Place::Near(2, 0), &mut code).unwrap();
    }
    let Some(found) = decode_for(ARCHITECTURE, &code.bytes) else { return eprintln!("skipped: no decoder") };
    let names = parts.iter().flat_map(|case| case.3).filter(|name| !name.is_empty());
    assert_eq!(found, names.collect::<Vec<_>>());
}

#[test]
fn operations_on_lanes_decode_to_themselves() {
    let mut code = Assembler::default();
    let threes = [&VADD_LANES, &VSUB_LANES, &VMUL_LANES, &VMULH, &VQRDMULH, &VMIN, &VMAX, &VAND, &VORR, &VEOR, &VSHL];
    let of_bytes = [&VMIN_BYTES, &VMAX_BYTES, &VMIN_UNSIGNED_BYTES, &VMAX_UNSIGNED_BYTES];
    let threes: Vec<&Row> = threes.into_iter().chain(of_bytes).collect();
    let q = Operand::Vector;
    threes.iter().for_each(|row| code.row(row, &[q(7), q(2), q(5)]).unwrap());
    let twos = [&VNEG_LANES, &VQMOVN, &VQMOVN_HALVES, &VQMOVUN, &VQMOVN_UNSIGNED_HALVES];
    twos.iter().for_each(|row| code.row(row, &[q(7), q(2)]).unwrap());
    let shifts = [(&VSHL_NUMBER, 1), (&VSHL_NUMBER, 31), (&VSHR_NUMBER, 1), (&VSHR_NUMBER, 31), (&VSHR_UNSIGNED_NUMBER, 31)];
    shifts.iter().for_each(|(row, count)| code.row(row, &[q(7), q(2), Operand::Number(*count)]).unwrap());
    [&VADD_WORD, &VMUL_WORD].iter().for_each(|row| code.row(row, &[q(7), q(2), Operand::Word(9)]).unwrap());
    code.row(&VDUP, &[q(7), Operand::Word(9)]).unwrap();
    code.row(&VDUP_BYTE, &[q(0), Operand::Word(14)]).unwrap();
    code.row(&VMOV_EVEN, &[q(7), Operand::Word(9), Operand::Word(14)]).unwrap();
    code.row(&VMOV_ODD, &[q(1), Operand::Word(0), Operand::Word(3)]).unwrap();
    let comparisons = [
        (Flags::Equal, "vcmp.i32 eq"),
        (Flags::NotEqual, "vcmp.i32 ne"),
        (Flags::GreaterOrEqual, "vcmp.s32 ge"),
        (Flags::Less, "vcmp.s32 lt"),
        (Flags::Greater, "vcmp.s32 gt"),
        (Flags::LessOrEqual, "vcmp.s32 le"),
    ];
    comparisons.iter().for_each(|(flags, _)| choose_lanes(*flags, [7, 2, 5], [1, 6], &mut code).unwrap());
    let Some(found) = decode_for(ARCHITECTURE, &code.bytes) else { return eprintln!("skipped: no decoder") };
    let threes = threes.iter().map(|row| format!("{} q7, q2, q5", row.name));
    let twos = twos.iter().map(|row| format!("{} q7, q2", row.name));
    let shifts = shifts.iter().map(|(row, count)| format!("{} q7, q2, #{count}", row.name));
    let words = ["vadd.i32 q7, q2, r9", "vmul.i32 q7, q2, r9", "vdup.32 q7, r9", "vdup.8 q0, lr"].map(String::from);
    let moves = ["vmov q7[2], q7[0], r9, lr", "vmov q1[3], q1[1], r0, r3"].map(String::from);
    let chosen = comparisons.iter().flat_map(|(_, name)| [format!("{name}, q1, q6"), "vpsel q7, q2, q5".into()]);
    assert_eq!(found, threes.chain(twos).chain(shifts).chain(words).chain(moves).chain(chosen).collect::<Vec<_>>());
    assert!(choose_lanes(Flags::Below, [0, 1, 2], [3, 4], &mut code).is_err(), "unsigned numbers");
}

/// The last products of a row that is no multiple of sixteen, and a copy of its end: one count for both accesses.
#[test]
fn rests_are_counted_lanes() {
    let text = "kernel @k(x: input i8[27] align 1, w: input i8[16] align 4, y: output i32[1] align 4, z: output i8[11] align 1) {
      %1: i8x16 = load x[16] active 11
      %2: i8x16 = load w[0]
      %3: i32 = dot_signed_sixteens 0, %1, %2
      store y[0], %3
      store z[0], %1 active 11
    }";
    let kernel = narrow(&parse_kernel(text).unwrap(), &Assumed::default());
    let code = KERNELS.code(&kernel, machine("cortex-m55").unwrap()).unwrap();
    let Some(lines) = decode_for(ARCHITECTURE, &code.bytes) else { return eprintln!("skipped: no decoder") };
    let count = |name: &str| lines.iter().filter(|line| line.starts_with(name)).count();
    assert_eq!([count("vctp"), count("vldrbt"), count("vstrbt"), count("vmlava"), count("ldrb")], [1, 1, 1, 1, 0], "{lines:?}");
}

/// Two rows of bytes by two others: four loads and four products.
#[test]
fn products_of_vectors_load_and_multiply() {
    let text = "kernel @k(x: input i8[288] align 1, w: input i8[288] align 4, y: output i32[4] align 4) {
      %1: i32, %2: i32, %3: i32, %4: i32 = for %5 in 0..128 step 16 carry %6 = 0, %7 = 0, %8 = 0, %9 = 0 {
        %10: i64 = mul %5, 2
        %11: i8x16 = load x[%5]
        %12: i8x16 = load x[%5 + 144]
        %13: i8x16 = load w[%10]
        %14: i32 = dot_signed_sixteens %6, %11, %13
        %15: i32 = dot_signed_sixteens %7, %12, %13
        %16: i8x16 = load w[%10 + 16]
        %17: i32 = dot_signed_sixteens %8, %11, %16
        %18: i32 = dot_signed_sixteens %9, %12, %16
        yield %14, %15, %17, %18
      }
      store y[0], %1
      store y[1], %2
      store y[2], %3
      store y[3], %4
    }";
    let kernel = narrow(&parse_kernel(text).unwrap(), &Assumed::default());
    let code = KERNELS.code(&kernel, machine("cortex-m55").unwrap()).unwrap();
    let Some(lines) = decode_for(ARCHITECTURE, &code.bytes) else { return eprintln!("skipped: no decoder") };
    let count = |name: &str| lines.iter().filter(|line| line.starts_with(name)).count();
    assert_eq!([count("vldrb"), count("vldrw"), count("vmlava")], [2, 2, 4], "{lines:?}");
}
