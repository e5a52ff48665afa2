//! Random modules: they verify, their text can be read back, and no rewrite changes their results.

use modelc::ir::random::{Options, module};
use modelc::ir::text::{Constants, parse_module, print_module};
use modelc::ir::{ElementType, Module, OPS, Tensor, interpret::Interpreter, verify};
use modelc::passes;
use std::collections::HashSet;

/// Returns the seeds; `MODELC_SEEDS` sets their number.
fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("MODELC_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(600)
}

/// Seeds of modules in which rare rewrites apply: `shifted` in one of 300, `epilogues` in one of 10,000.
const RARE: [u64; 2] = [718, 16606];

fn text(module: &Module) -> String {
    print_module(module, Constants::Whole)
}

/// Runs a module twice in a row, so that states have an effect.
fn run(module: &Module, inputs: &[Tensor]) -> Vec<Tensor> {
    let mut interpreter = Interpreter::new(module);
    let mut run = || interpreter.run(0, inputs).unwrap_or_else(|e| panic!("{e}\n{}", text(module)));
    let mut outputs = run();
    outputs.extend(run());
    outputs
}

/// Returns the bits, with a single pattern for all NaNs: rewrites may change which of two NaN operands a result has.
fn comparable(tensors: &[Tensor]) -> Vec<(ElementType, Vec<u64>, Vec<u8>)> {
    tensors.iter().map(|t| (t.element, t.shape.clone(), canonical(t))).collect()
}

fn canonical(tensor: &Tensor) -> Vec<u8> {
    let (width, is_nan): (usize, fn(u64) -> bool) = match tensor.element {
        ElementType::F16 => (2, |b| b & 0x7fff > 0x7c00),
        ElementType::Bf16 => (2, |b| b & 0x7fff > 0x7f80),
        ElementType::F32 | ElementType::C64 => (4, |b| b & 0x7fff_ffff > 0x7f80_0000),
        ElementType::F64 | ElementType::C128 => (8, |b| b & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000),
        _ => return tensor.bytes.clone(),
    };
    let number = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |bits, &b| bits << 8 | u64::from(b));
    tensor.bytes.chunks(width).flat_map(|c| if is_nan(number(c)) { vec![255; width] } else { c.to_vec() }).collect()
}

#[test]
fn every_operator_occurs_and_texts_read_back() {
    let mut seen = HashSet::new();
    for seed in seeds() {
        let (module, inputs) = module(seed, &Options::default());
        let written = text(&module);
        verify(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{written}"));
        let read = parse_module(&written).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{written}"));
        assert_eq!(text(&read), written, "seed {seed}");
        assert_eq!(run(&read, &inputs).len(), run(&module, &inputs).len());
        seen.extend(module.functions.values().flat_map(|f| f.body.iter().map(|&i| f.insts[i].op())));
    }
    let chosen = Options::default().operators;
    for row in OPS.iter().filter(|row| chosen.contains(&row.op)) {
        assert!(seen.contains(&row.op), "{} never occurs", row.name);
    }
}

#[test]
fn rewrites_change_no_result() {
    let mut effective = HashSet::new();
    for seed in seeds().chain(RARE) {
        let (mut module, inputs) = module(seed, &Options::default());
        let expected = comparable(&run(&module, &inputs));
        for round in 0..2 {
            for pass in passes::PASSES.iter().filter(|pass| pass.exact) {
                let before = text(&module);
                let name = pass.name;
                if (pass.run)(&mut module) {
                    effective.insert(name);
                }
                verify(&module).unwrap_or_else(|e| panic!("seed {seed}, {name}, round {round}: {e}\n{before}\nbecame\n{}", text(&module)));
                let found = comparable(&run(&module, &inputs));
                assert!(found == expected, "seed {seed}: {name} changes results:\n{before}\nbecame\n{}", text(&module));
            }
        }
    }
    for seed in seeds() {
        let (mut module, inputs) = module(seed, &Options::default());
        let expected = comparable(&run(&module, &inputs));
        passes::LAST_PASSES.iter().for_each(|pass| _ = pass.apply(&mut module));
        assert!(comparable(&run(&module, &inputs)) == expected, "seed {seed}: what comes last changes results:\n{}", text(&module));
    }
    assert_eq!(
        effective.len(),
        passes::PASSES.iter().filter(|pass| pass.exact).count(),
        "some rewrite finds nothing at all: {effective:?}"
    );
}

#[test]
fn rewriting_ends_and_is_deterministic() {
    for seed in 0..60 {
        let options = Options { instructions: 40, ..Options::default() };
        let (mut first, inputs) = module(seed, &options);
        let (mut second, _) = module(seed, &options);
        passes::run_all(&mut first);
        passes::run_all(&mut second);
        verify(&first).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(text(&first), text(&second), "seed {seed}");
        let settled = text(&first);
        for pass in passes::PASSES {
            assert!(
                !(pass.run)(&mut first),
                "seed {seed}: {} finds something after the end:\n{settled}\nbecame\n{}",
                pass.name,
                text(&first)
            );
        }
        run(&first, &inputs);
    }
}
