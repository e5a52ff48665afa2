//! Tests of innermost loops: their instructions for addresses and counters.

use super::ARCHITECTURE;
use super::decoder::{decode, decode_for};
use crate::own::InstructionSet;
use crate::thumb::KERNELS;
use crate::thumb::set::{Condition, Thumb2};
use modelc_kernel::intervals::Assumed;
use modelc_kernel::passes::narrow;
use modelc_kernel::text::parse_kernel;
use modelc_machine::machine;

/// Compiles a kernel for Cortex-M4F, and returns the names of the instructions of its last loop. `None` without a decoder.
fn last_loop(text: &str) -> Option<Vec<String>> {
    last_loop_of("cortex-m4f", "arm", text)
}

/// Compiles a kernel for a level, and decodes its last loop: see [`last_loop`].
fn last_loop_of(level: &str, architecture: &str, text: &str) -> Option<Vec<String>> {
    let kernel = narrow(&parse_kernel(text).unwrap(), &Assumed::default());
    let code = KERNELS.code(&kernel, machine(level).unwrap()).unwrap();
    let lines = decode_for(architecture, &code.bytes)?;
    let ends = |line: &String| (line.starts_with('b') || line.starts_with("le ")) && line.contains("0x");
    let end = lines.iter().rposition(ends).expect("a branch back");
    let names = ["ld", "st", "vldr"];
    let accesses = |line: &String| names.iter().any(|name| line.starts_with(name)) && !line.starts_with("stmdb");
    let begin = lines[..end].iter().position(accesses).expect("an access");
    Some(lines[begin..=end].iter().map(|line| line.split([' ', '.']).next().unwrap_or_default().to_string()).collect())
}

#[test]
fn products_step_two_pointers_and_count_nothing() {
    let text = "kernel @k(x: input i16[64] align 4, w: input i8[128] align 4, y: output i32[2] align 4) {
      %20: i32, %21: i32 = for %3 in 0..64 step 4 carry %4 = 0, %5 = 0 {
        %6: i64 = mul %3, 2
        %7: i16x4 = load x[%3]
        %8: i8x4 = load w[%6]
        %9: i16x4 = sign_extend %8
        %10: i16x4 = shuffle %9, %9 [0, 2, 1, 3]
        %11: i16x2 = shuffle %7, %7 [0, 1]
        %12: i16x2 = shuffle %10, %10 [0, 1]
        %13: i32 = dot_signed16 %4, %11, %12
        %14: i8x4 = load w[%6 + 4]
        %15: i16x4 = sign_extend %14
        %16: i16x4 = shuffle %15, %15 [0, 2, 1, 3]
        %17: i16x2 = shuffle %7, %7 [2, 3]
        %18: i16x2 = shuffle %16, %16 [2, 3]
        %19: i32 = dot_signed16 %5, %17, %18
        yield %13, %19
      }
      store y[0], %20
      store y[1], %21
    }";
    let Some(found) = last_loop(text) else { return eprintln!("skipped: no decoder") };
    assert_eq!(found, ["ldrd", "ldrd", "sxtb16", "smlad", "sxtb16", "smlad", "cmp", "bcc"]);
}

#[test]
fn halves_that_a_loop_multiplies_are_joined_before_it() {
    let text = "kernel @k(x: input i16[64] align 4, w: input i8[3] align 1, y: output i32[1] align 4) {
      %1: i8 = load w[0]
      %2: i8 = load w[2]
      %3: i16 = sign_extend %1
      %4: i16 = sign_extend %2
      %5: i16x2 = join %3, %4
      %6: i32 = for %7 in 0..64 step 2 carry %8 = 0 {
        %9: i16x2 = load x[%7]
        %10: i32 = dot_signed16 %8, %9, %5
        yield %10
      }
      store y[0], %6
    }";
    let Some(found) = last_loop(text) else { return eprintln!("skipped: no decoder") };
    let joined = found.iter().position(|name| name == "pkhbt").expect("a joined word");
    assert_eq!(found[found.len() - 4..], ["ldr", "smlad", "cmp", "bcc"]);
    assert!(joined < found.len() - 4, "before the loop: {found:?}");
}

/// A kernel whose accesses have different strides.
const STRIDES: &str = "kernel @k(x: input i8[336] align 1, y: output i16[28] align 4) {
      for %1 in 0..28 step 4 {
        %2: i64 = mul %1, 12
        %3: i8 = load x[%2]
        %4: i8 = load x[%2 + 12]
        %5: i16 = sign_extend %3
        %6: i16 = sign_extend %4
        store y[%1], %5
        store y[%1 + 1], %6
      }
    }";

#[test]
fn accesses_with_any_stride_step_pointers() {
    let Some(found) = last_loop(STRIDES) else { return eprintln!("skipped: no decoder") };
    assert_eq!(found, ["ldrsb", "ldrsb", "strh", "strh", "cmp", "bcc"]);
}

#[test]
fn the_link_register_counts_rounds() {
    let Some(found) = last_loop_of("cortex-m55", ARCHITECTURE, STRIDES) else { return eprintln!("skipped: no decoder") };
    assert_eq!(found, ["ldrsb", "ldrsb", "strh", "strh", "le"]);
    // The number of rounds is computed of bounds that are known when the kernel runs, but not divided.
    let to_bound = |step: u32| {
        format!(
            "kernel @k(x: input i8[64] align 1, n: input i32[2] align 4, y: output i8[64] align 1) {{
          %1: i32 = load n[0]
          %2: i32 = signed_min %1, 32
          %3: i32 = signed_max %2, 0
          %4: i64 = sign_extend %3
          %5: i32 = load n[1]
          %6: i32 = signed_min %5, 32
          %7: i32 = signed_max %6, 0
          %8: i64 = sign_extend %7
          for %9 in %4..%8 step {step} {{
            %10: i8 = load x[%9]
            store y[%9], %10
          }}
        }}"
        )
    };
    let last = |step| last_loop_of("cortex-m55", ARCHITECTURE, &to_bound(step)).and_then(|found| found.last().cloned());
    assert_eq!([1, 4, 3].map(last), [Some("le"), Some("le"), Some("bcc")].map(|name| name.map(String::from)));
}

/// Vectors reach few bytes. A pointer serves taps on both sides, and an access steps it; if none can, the pointer is between its taps.
#[test]
fn taps_of_vectors_share_pointers() {
    let found = |rounds: u32, step: u32| {
        let mut body = String::new();
        for tap in 0..4 {
            body += &format!("%{0}: i8x4 = load x[%1 + {1}]\n %{2}: i32x4 = sign_extend %{0}\n", 10 + tap, 64 * tap, 20 + tap);
        }
        for (sum, other) in [(20, 21), (30, 22), (31, 23)] {
            body += &format!("%{}: i32x4 = add %{sum}, %{other}\n", if sum == 20 { 30 } else { sum + 1 });
        }
        let last = rounds * step;
        let text = format!(
            "kernel @k(x: input i8[{0}] align 1, y: output i8[{0}] align 1) {{
               for %1 in 0..{last} step {step} {{ {body} %40: i8x4 = narrow_signed %32\n store y[%1], %40 }}
             }}",
            last + 256
        );
        last_loop_of("cortex-m55", ARCHITECTURE, &text)
    };
    let (Some(near), Some(far)) = (found(16, 4), found(4, 128)) else { return eprintln!("skipped: no decoder") };
    let count = |names: &[String], name: &str| names.iter().filter(|other| other.starts_with(name)).count();
    assert_eq!(
        [count(&near, "vldrb"), count(&near, "vstrb"), count(&near, "add")],
        [4, 1, 0],
        "two pointers and that of the store: {near:?}"
    );
    assert_eq!([count(&far, "vldrb"), count(&far, "vstrb"), count(&far, "add")], [4, 1, 2], "a pointer and that of the store: {far:?}");
}

#[test]
fn ends_of_counted_loops_decode_to_themselves() {
    let set = Thumb2::new(machine("cortex-m55").unwrap());
    for (more, reach, distance, expected) in [
        (true, 0, -4090, &["le lr, 0x0"][..]),
        (true, 0, -4, &["le lr, 0x0"]),
        (true, 1, -8, &["subs lr, lr, #1", "bne 0x0"]),
        (true, 2, -5000, &["subs lr, lr, #1", "bne 0x0"]),
        (false, 0, -8, &["subs lr, lr, #1", "beq 0x0"]),
        (false, 1, -5000, &["subs lr, lr, #1", "beq 0x0"]),
    ] {
        let condition = Some(Condition::Rounds(more));
        let kind = set.reaches(condition)[reach];
        assert!(kind.holds(distance), "{more} {reach} {distance}");
        let mut code = vec![0; (-distance) as usize + kind.bytes];
        let (before, end) = code.split_at_mut((-distance) as usize);
        before.as_chunks_mut::<2>().0.iter_mut().for_each(|nop| *nop = [0x00, 0xBF]);
        set.jump(condition, reach, distance, end);
        let Some(lines) = decode_for(ARCHITECTURE, &code) else { return eprintln!("skipped: no decoder") };
        assert!(lines.ends_with(&expected.iter().map(|&line| line.to_owned()).collect::<Vec<_>>()), "{:?}", &lines[lines.len() - 2..]);
    }
    assert!(!set.reaches(Some(Condition::Rounds(true)))[0].holds(-4092));
    assert!(!set.reaches(Some(Condition::Rounds(true)))[0].holds(4), "LE only jumps back");
}

#[test]
fn a_single_product_of_halves_takes_one_instruction() {
    let text = "kernel @k(x: input i16[32] align 4, w: input i8[4] align 4, y: output i32[1] align 4) {
      %1: i8x4 = load w[0]
      %2: i16x4 = sign_extend %1
      %3: i16x2 = shuffle %2, %2 [0, 2]
      %4: i16x2 = shuffle %3, 0: i16x2 [1, 2]
      %9: i32 = for %5 in 0..32 step 2 carry %6 = 0 {
        %7: i16x2 = load x[%5]
        %8: i16x2 = shuffle %7, %7 [0, 0]
        %10: i32 = dot_signed16 %6, %8, %4
        yield %10
      }
      store y[0], %9
    }";
    let Some(found) = last_loop(text) else { return eprintln!("skipped: no decoder") };
    // The weight is loaded and unpacked before the loop.
    assert!(found.ends_with(&["ldr", "smlabt", "cmp", "bcc"].map(String::from)), "{found:?}");
}

/// Only the core for programs that trap unaligned accesses reads a word in pieces, if nothing is known of its place.
#[test]
fn unaligned_words_are_read_in_pieces_where_they_trap() {
    let text = "kernel @k(x: input i32[8] align 1, y: output i32[8] align 4) {
      for %1 in 0..8 step 1 {
        %2: i32 = load x[%1]
        store y[%1], %2
      }
    }";
    let kernel = narrow(&parse_kernel(text).unwrap(), &Assumed::default());
    for (level, bytes) in [("cortex-m4f", 0), ("cortex-m4f+strict-align", 4)] {
        let Some(lines) = decode(&KERNELS.code(&kernel, machine(level).unwrap()).unwrap().bytes) else {
            return eprintln!("skipped: no decoder");
        };
        assert_eq!(lines.iter().filter(|line| line.starts_with("ldrb") || line.starts_with("ldrsb")).count(), bytes, "{level}: {lines:#?}");
    }
}
