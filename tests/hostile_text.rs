//! Damaged modules: parser, verifier, rewrites and interpreter answer with an error or go on, and never panic.

use modelc::ir::interpret::Interpreter;
use modelc::ir::random::{Options, module};
use modelc::ir::text::{Constants, parse_module, print_module};
use modelc::ir::{Module, Tensor, verify};
use modelc::passes;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `MODELC_SEEDS` runs more of them.
fn seeds() -> u64 {
    std::env::var("MODELC_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500)
}

/// Numbers that replace others: small ones that may fit, and ones that overflow.
const NUMBERS: &[&str] = &["0", "1", "2", "3", "4", "7", "-1", "-2", "255", "65536", "2147483647", "4294967296", "-9223372036854775808"];

/// A text with one to three words changed. `random` gives numbers below its argument.
fn damage(text: &str, random: &mut dyn FnMut(usize) -> usize) -> String {
    let mut words: Vec<String> = text.split_inclusive([' ', ',', '[', ']', '\n', '=', '(', ')']).map(str::to_owned).collect();
    for _ in 0..1 + random(3) {
        let at = random(words.len());
        let core = words[at].trim_end_matches([' ', ',', '[', ']', '\n', '=', '(', ')']).to_owned();
        let rest = words[at][core.len()..].to_owned();
        let other = words[random(words.len())].clone();
        words[at] = match random(4) {
            0 => other,
            1 => rest,
            _ if core.parse::<f64>().is_ok() => NUMBERS[random(NUMBERS.len())].to_owned() + &rest,
            _ => {
                // A value, node or constant in the place of another.
                let digits = core.trim_start_matches(|c: char| !c.is_ascii_digit());
                let number: usize = digits.parse().unwrap_or(0);
                format!("{}{}{rest}", &core[..core.len() - digits.len()], (number + 4).saturating_sub(random(8)))
            }
        };
    }
    words.concat()
}

fn exercise(text: &str, inputs: &[Tensor]) -> bool {
    let Ok(mut module) = parse_module(text) else { return false };
    if verify(&module).is_err() || too_large(&module) {
        return false;
    }
    let run = |module: &Module| {
        if module.methods.is_empty() {
            return;
        }
        let mut interpreter = Interpreter::new(module);
        interpreter.limits.iterations = 20;
        let _ = interpreter.run(0, inputs);
    };
    run(&module);
    passes::run_all(&mut module);
    let verdict = verify(&module).map(|_| ());
    assert_eq!(verdict, Ok(()), "rewrites break the module:\n{}", print_module(&module, Constants::Elided));
    run(&module);
    print_module(&module, Constants::Elided);
    true
}

/// Whether any tensor, or the taps of any window, would take long.
fn too_large(module: &Module) -> bool {
    let large = |ints: &[i64]| ints.iter().any(|&n| n > 1 << 12);
    module.functions.values().any(|function| {
        let values = function.values.values().filter_map(|value| value.ty.as_tensor());
        let windows = function.insts.values().filter(|data| data.op.row().name == "window");
        values.into_iter().any(|ty| function.bound_bytes(ty).is_none_or(|bytes| bytes > 1 << 22))
            || windows.into_iter().any(|data| large(data.ints("size")))
    })
}

#[test]
fn damaged_modules_never_panic() {
    let mut state = 0x1234_5678_9abc_def0u64;
    let mut random = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let mut sound = 0;
    for seed in 0..seeds() {
        let (module, inputs) = module(seed % 500, &Options { instructions: 8, ..Options::default() });
        let text = damage(&print_module(&module, Constants::Whole), &mut random);
        match catch_unwind(AssertUnwindSafe(|| exercise(&text, &inputs))) {
            Ok(passed) => sound += u64::from(passed),
            Err(_) => panic!("seed {seed} panics:\n{text}"),
        }
    }
    assert!(sound > seeds() / 20, "hardly any damaged module is sound: {sound}");
}
