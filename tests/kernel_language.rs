//! What holds for every kernel that schedules write, of the models of this repository and of random modules, for every machine: its text
//! is read back.

mod support;

use modelc::ir::Module;
use modelc::ir::random::{self, Options};
use modelc::kernel::Kernel;
use modelc::kernel::text::{canonical, parse_kernel, parse_kernels};
use modelc::lower;
use modelc::machine::MACHINES;
use modelc::{passes, pipeline};
use std::collections::HashSet;

/// The different kernels that modules become.
fn kernels(modules: impl Iterator<Item = (String, Module)>) -> Vec<Kernel> {
    let mut known = HashSet::new();
    for (name, module) in modules {
        for machine in MACHINES {
            let Ok(lowered) = pipeline::lower(&module, &name, lower::Options::new(machine)) else { continue };
            known.extend(lowered.program.kernels);
        }
    }
    known.into_iter().collect()
}

/// The models of this repository.
fn models() -> impl Iterator<Item = (String, Module)> {
    let folders = [("tests/models", "tflite"), ("tests/models/executorch", "pte"), ("examples/digits", "tflite")];
    let paths = folders.into_iter().flat_map(|(folder, extension)| support::models_in(&support::own(folder), extension));
    paths.filter_map(|path| Some((support::stem(&path), support::load(&path).ok()?))).map(|(name, mut module)| {
        passes::run_all(&mut module);
        (name, module)
    })
}

/// `MODELC_SEEDS` runs more of them.
fn random_modules() -> impl Iterator<Item = (String, Module)> {
    let seeds = std::env::var("MODELC_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    (0..seeds).map(|seed| (format!("seed {seed}"), random::module(seed, &Options::default()).0))
}

/// The text is read back to what prints the same, and is equal but for what no text says.
fn check_text(kernel: &Kernel) {
    let text = kernel.to_string();
    let parsed = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(parsed.to_string() == text, "{text}\n---\n{parsed}");
    assert!(canonical(&parsed) == canonical(kernel), "{text}");
}

#[test]
fn kernels_of_models_parse() {
    let kernels = kernels(models());
    assert!(kernels.len() > 200, "{} kernels", kernels.len());
    kernels.iter().for_each(check_text);
    let text: String = kernels.iter().map(|kernel| format!("{kernel}\n")).collect();
    assert_eq!(parse_kernels(&text).map(|parsed| parsed.len()), Ok(kernels.len()));
}

#[test]
fn kernels_of_random_modules_parse() {
    let kernels = kernels(random_modules());
    assert!(kernels.len() > 200, "{} kernels", kernels.len());
    kernels.iter().for_each(check_text);
}
