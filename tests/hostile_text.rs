//! Damaged modules: parser, verifier, rewrites and interpreter return an error or continue, and never panic.

use modelc::ir::interpret::Interpreter;
use modelc::ir::random::{Options, Random, module};
use modelc::ir::text::{Constants, parse_module, print_module};
use modelc::ir::{InstData, Module, Operation, Tensor, verify};
use modelc::passes;
use modelc_damage::damage_text;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the number of seeds: `MODELC_SEEDS`.
fn seeds() -> u64 {
    std::env::var("MODELC_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500)
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

/// Tests whether a tensor, or a window's number of taps, is too large to compute in a short time.
fn too_large(module: &Module) -> bool {
    let large = |ints: &[i64]| ints.iter().any(|&n| n > 1 << 12);
    module.functions.values().any(|function| {
        let values = function.values.values().filter_map(|value| value.ty.as_tensor());
        let size = |data: &InstData| if let Operation::Window(window) = &data.operation { window.size.clone() } else { vec![] };
        values.into_iter().any(|ty| function.bound_bytes(ty).is_none_or(|bytes| bytes > 1 << 22))
            || function.insts.values().any(|data| large(&size(data)))
    })
}

#[test]
fn damaged_modules_never_panic() {
    let mut numbers = Random::new(0x1234_5678_9abc_def0);
    let mut sound = 0;
    for seed in 0..seeds() {
        let (module, inputs) = module(seed % 500, &Options { instructions: 8, ..Options::default() });
        let text = damage_text(&print_module(&module, Constants::Whole), &mut |bound| numbers.below(bound));
        match catch_unwind(AssertUnwindSafe(|| exercise(&text, &inputs))) {
            Ok(passed) => sound += u64::from(passed),
            Err(_) => panic!("seed {seed} panics:\n{text}"),
        }
    }
    assert!(sound > seeds() / 20, "hardly any damaged module is sound: {sound}");
}
