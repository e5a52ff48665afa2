use super::*;
use crate::KernelBuilder;
use crate::verify::verify;
use crate::*;

/// Makes a kernel with every form of the text.
fn sample() -> Kernel {
    let mut b = KernelBuilder::new("sample");
    let x = b.buffer("x", BufferKind::Input, Lane::F32, 10, 4);
    let y = b.buffer("y", BufferKind::Output, Lane::F32, 10, 64);
    let table = b.buffer("table", BufferKind::Local, Lane::I8, 16, 16);
    let count = b.integer();
    let negative = b.index(-1);
    let broken = b.compare(CompareOp::LessEqual, count, negative);
    b.fail_if(broken, -12);
    let vector = Type::vector(Lane::F32, 4);
    let none = b.float(vector, 0.0);
    let first = b.index(0);
    let sum = b.for_carry(first, count, 4, &[none], |b, i, carried| {
        let loaded = b.load(x, i, -3, 4);
        let sum = b.add(carried[0], loaded);
        b.store(y, i, 2, sum);
        vec![sum]
    })[0];
    let tail = b.load_active(x, first, 8, 4, 2);
    let is_less = b.compare(CompareOp::Less, tail, sum);
    let chosen = b.select(is_less, tail, sum);
    b.store_active(y, first, 8, chosen, 2);
    let group = b.load_splat_group(table, first, 4, 4, 16);
    let words = b.int(Type::vector(Lane::I32, 4), 7);
    b.dot(DotOp::UnsignedSigned8, words, group, group);
    b.gather(x, words, 1, Bounds::Clamp);
    b.shuffle(tail, sum, vec![0, 4]);
    let last = b.loop_while(&[count], |b, carried| {
        let one = b.index(1);
        let next = b.sub(carried[0], one);
        (b.compare(CompareOp::Greater, next, one), vec![next])
    })[0];
    b.if_else(broken, |_| vec![last], |b| vec![b.index(5)]);
    b.if_else(
        broken,
        |b| {
            let number = b.float(Type::scalar(Lane::F32), 0.1);
            b.store(y, last, 0, number);
            vec![]
        },
        |_| vec![],
    );
    b.finish()
}

#[test]
fn independent_rounds_and_ranges_print_and_parse() {
    let mut b = KernelBuilder::new("ranges");
    let y = b.buffer("y", BufferKind::Output, Lane::I8, 64, 1);
    let [ring, panel] = ["ring", "panel"].map(|name| b.buffer(name, BufferKind::Scratch, Lane::I8, 8, 1));
    let extent = b.index(8);
    b.divide(extent, &[ring, panel], |b, first, end| {
        b.for_each(0, 8, 4, |b, i| {
            let four = b.int(Type::vector(Lane::I8, 4), 4);
            b.store(ring, i, 0, four);
        });
        b.independent_with(vec![panel]);
        b.for_values(first, end, 1, |b, row| {
            let value = b.load(ring, row, 0, 1);
            b.store(y, row, 0, value);
        });
    });
    let kernel = b.finish();
    let text = "kernel @ranges(y: output i8[64] align 1, ring: scratch i8[8] align 1, panel: scratch i8[8] align 1) {
  divide 0..8 as (%1, %2) private ring, panel {
    for each %5 in 0..8 step 4 {
      store ring[%5], 4: i8x4
    }
    for each %7 in %1..%2 step 1 private panel {
      %8: i8 = load ring[%7]
      store y[%7], %8
    }
  }
}
";
    assert_eq!(kernel.to_string(), text);
    let parsed = parse_kernel(text).unwrap();
    assert_eq!(canonical(&parsed), canonical(&kernel));
    assert_eq!(verify(&parsed), Ok(()));
    let narrow = text.replace("(%1, %2)", "(%1: i32, %2: i32)");
    assert_eq!(parse_kernel(&narrow).unwrap().to_string().lines().nth(1), narrow.lines().nth(1));
    for (broken, message) in [
        ("divide 1..8 as (%1, %2) { }", "`1` instead of `0`"),
        ("divide 0..8 as (%1) { }", "`)` instead of `,`"),
        ("divide 0..8 as (%1, %2) private { }", "`{` instead of a buffer"),
        ("for each %1 in 0..8 { }", "`{` instead of `step`"),
        ("for each %1 in 0..8 step 1 private { }", "`{` instead of a buffer"),
        ("for %1 in 0..8 step 1 private x { }", "`private` instead of `{`"),
    ] {
        let error = parse_kernel(&format!("kernel @k() {{ {broken} }}")).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
}

#[test]
fn kernels_print() {
    assert_eq!(
        sample().to_string(),
        "\
kernel @sample(x: input f32[10] align 4, y: output f32[10] align 64, %0: i64) {
  table: local i8[16] align 16
  %2: mask = less_equal %0, -1
  fail_if %2, -12
  %9: f32x4 = for %5 in 0..%0 step 4 carry %6 = 0.0 {
    %7: f32x4 = load x[%5 - 3]
    %8: f32x4 = add %6, %7
    store y[%5 + 2], %8
    yield %8
  }
  %10: f32x4 = load x[8] active 2
  %11: maskx4 = less %10, %9
  %12: f32x4 = select %11, %10, %9
  store y[8], %12 active 2
  %13: i8x16 = load_splat_group table[4] group 4
  %15: i32x4 = dot_unsigned_signed8 7, %13, %13
  %16: f32x4 = gather x[7: i32x4 + 1] clamp
  %17: f32x2 = shuffle %10, %9 [0, 4]
  %22: i64 = loop carry %18 = %0 {
    %20: i64 = sub %18, 1
    %21: mask = greater %20, 1
    yield %21, %20
  }
  %24: i64 = if %2 {
    yield %22
  } else {
    yield 5
  }
  if %2 {
    store y[%22], 0.1
  }
}
"
    );
}

/// Checks that the parsed text of a kernel prints the same text, and that both kernels have equal canonical forms.
fn check(kernel: &Kernel) {
    let text = kernel.to_string();
    let parsed = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(parsed.to_string(), text);
    assert_eq!(canonical(&parsed), canonical(kernel), "{text}");
    assert_eq!(canonical(&canonical(kernel)), canonical(kernel), "{text}");
}

#[test]
fn kernels_parse() {
    check(&sample());
}

/// Makes a kernel with every instruction on constants only, so that no type follows from a value.
fn constants_everywhere() -> Kernel {
    let mut b = KernelBuilder::new("constants");
    let bytes = b.buffer("bytes", BufferKind::Output, Lane::I8, 64, 1);
    let words = b.buffer("words", BufferKind::Scratch, Lane::I32, 64, 4);
    let (word, float) = (Type::vector(Lane::I32, 4), Type::vector(Lane::F32, 4));
    let (number, three) = (b.int(word, -5), b.int(word, 3));
    for op in [BinaryOp::ShiftLeft, BinaryOp::SignedMax, BinaryOp::UnsignedRem] {
        b.binary(op, number, three);
    }
    b.shift(BinaryOp::ShiftRightSigned, number, 3);
    b.compare(CompareOp::UnsignedLess, number, three);
    b.saturating_rounding_doubling_high_mul(number, three, true);
    b.saturating_rounding_doubling_high_mul(number, three, false);
    b.rounding_divide_by_power_of_two(number, three);
    b.mul_high(false, number, three);
    b.mul_high(true, number, three);
    b.horizontal(HorizontalOp::Max, number);
    b.extract(number, 3);
    b.part(number, 2, 2);
    b.join(number, three);
    b.shuffle(number, three, vec![7, 0]);
    let mask = b.mask(4, true);
    b.select(mask, number, three);
    b.unary(UnaryOp::Not, mask);
    b.convert(ConvertOp::MaskToInteger, mask, Lane::I16);
    let narrow = b.int(Type::vector(Lane::I16, 8), -300);
    b.dot(DotOp::Signed16, number, narrow, narrow);
    b.convert(ConvertOp::NarrowUnsigned, number, Lane::I8);
    for bits in [0x7fc0_0000u64, 0xffc0_0001, 0x7f80_0001, 0xff80_0000, 1, 0x8000_0000] {
        let number = b.float_bits(float, bits);
        b.fma(number, number, number);
        b.unary(UnaryOp::Floor, number);
    }
    for bits in [f64::NAN.to_bits(), u64::MAX, (1e-310f64).to_bits()] {
        let number = b.float_bits(Type::scalar(Lane::F64), bits);
        b.splat(number, 2);
    }
    let (index, far) = (b.index(7), b.index(i64::MIN));
    b.store_active(words, index, -3, number, 2);
    let eight = b.int(Type::scalar(Lane::I8), -128);
    b.store(bytes, index, 0, eight);
    b.gather(words, number, -2, Bounds::Proven);
    b.add(far, index);
    b.finish()
}

#[test]
fn constants_of_every_type_parse() {
    let kernel = constants_everywhere();
    check(&kernel);
    let lines: Vec<String> = kernel.to_string().lines().map(|line| line.trim_start().to_owned()).collect();
    for line in [
        "%2: i32x4 = shift_left -5, 3: i32x4",
        "%5: i32x4 = shift_right_signed -5, 3",
        "%6: maskx4 = unsigned_less -5: i32x4, 3",
        "store words[4], -5: i32x4 active 2",
        "store bytes[7], -128",
    ] {
        assert!(lines.iter().any(|found| found == line), "{line} in {lines:#?}");
    }
}

#[test]
fn masked_accesses_print_and_parse() {
    let text = "kernel @k(x: input i8[8] align 1, y: output i8[8] align 1, %0: i64) {
  %1: maskx8 = first_lanes %0
  %2: i8x8 = load x[%0 + 1] where %1
  store y[%0], %2 active 7 where %1
}
";
    assert_eq!(parse_kernel(text).unwrap().to_string(), text);
}

#[test]
fn counters_and_indices_may_have_other_types() {
    let text = "kernel @k(x: input i8[8] align 1, %0: i64) {
  for %1: i32 in 0..8 step 1 {
    %2: i8 = load x[%1]
    %4: i64 = sign_extend 3: i32
    %3: i8 = load x[%0 - 1]
  }
}
";
    let kernel = parse_kernel(text).unwrap();
    assert_eq!(kernel.to_string(), text);
    assert_eq!(kernel.ty(cranelift_entity::EntityRef::new(1)), Type::scalar(Lane::I32));
}

#[test]
fn errors_name_their_place() {
    let error = |body: &str| {
        let text = format!("kernel @k(x: input f32[8] align 4, %0: i64) {{\n{body}\n}}\n");
        parse_kernel(&text).map_or_else(|error| error.to_string(), |_| "good".into())
    };
    assert_eq!(error("  %1: f32 = load x[%0]"), "good");
    assert_eq!(error("  %1: f32 = lood x[%0]"), "2:13: `lood` is no instruction with a result");
    assert_eq!(error("  %1: f32 = load y[%0]"), "2:18: there is no buffer y");
    assert_eq!(error("  %1: f32 = load x[%2]"), "2:20: %2 is used before it is defined");
    assert_eq!(error("  %0: f32 = load x[0]"), "2:3: %0 is defined twice");
    assert_eq!(error("  %1: i8 = add 1, 200"), "2:19: `200` is no i8");
    assert_eq!(error("  %1: f32 = horizontal_add 1.0"), "2:28: `1.0` without a type");
    assert_eq!(error("  for %1 in 0..8 step x {}"), "2:23: `x` instead of a step");
    assert_eq!(error("  %1: f32 = loop {}"), "2:18: `{` instead of `carry`");
    assert_eq!(error("  for %1 in 0..8 step 1 { yield 1 }"), "2:33: `1` without a type");
    assert_eq!(error("  }"), "3:1: `}` instead of `kernel`");
    let deep = "if true {".repeat(1000);
    assert!(error(&deep).ends_with("more than 100 regions in each other"));
    assert_eq!(parse_kernel(" ").unwrap_err().message, "no kernel");
}

/// Tests that damaged texts, with cuts or changed lines and characters, parse to kernels or give errors.
#[test]
fn damaged_texts_never_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = move |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let mut parsed = 0;
    for kernel in [sample(), constants_everywhere()] {
        let text = kernel.to_string();
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            assert!(end + 2 > text.len() || parse_kernel(&text[..end]).is_err(), "{end}");
        }
        for _ in 0..300 {
            let mut letters: Vec<char> = text.chars().collect();
            for _ in 0..=below(3) {
                let place = below(letters.len());
                match below(4) {
                    0 => letters[place] = ['%', '0', '9', '-', '.', ':', '{', '}', '[', 'x', ' ', 'é'][below(12)],
                    1 => drop(letters.remove(place)),
                    2 => letters.insert(place, letters[below(letters.len())]),
                    _ => {
                        let end = (place + below(40)).min(letters.len());
                        let copy: Vec<char> = letters[place..end].to_vec();
                        letters.splice(place..place, copy);
                    }
                }
            }
            let text: String = letters.into_iter().collect();
            if let Ok(kernel) = parse_kernel(&text) {
                let _ = crate::verify::verify(&kernel);
                let printed = kernel.to_string();
                assert_eq!(parse_kernel(&printed).map(|again| again.to_string()), Ok(printed), "{text}");
                parsed += 1;
            }
        }
    }
    assert!(parsed > 20, "{parsed} texts are still kernels");
}

#[test]
fn grids_are_read_and_printed() {
    let text = "kernel @k(y: output i8[4] align 1, %0: i64) grid 4 workgroup 64 {\n  store y[%0], 1\n}\n";
    let kernel = parse_kernel(text).unwrap();
    assert_eq!(kernel.grid, Some(Grid { positions: 4, workgroup: 64 }));
    assert_eq!(kernel.to_string(), text);
    check(&kernel);
    let error = parse_kernel("kernel @k(%0: i64) grid 4 {}").unwrap_err().to_string();
    assert!(error.contains("`{` instead of `workgroup`"), "{error}");
}
