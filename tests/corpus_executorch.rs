//! Real ExecuTorch programs in the interpreter, compared with recorded outputs of PyTorch.

mod support;

use modelc::frontend::{self, LoadOptions, bundled};
use modelc::ir::Tensor;
use modelc::ir::data::Bytes;
use modelc::ir::interpret::Interpreter;
use std::path::PathBuf;
use std::sync::Arc;
use support::engines;
use support::harness::{self, Needs};

fn programs(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    support::models(folder, "pte").into_iter().filter(|path| wanted(&support::stem(path))).collect()
}

/// Small programs of this repository, each for a part of the front end.
fn programs_made_for_these_tests_match() {
    engines::all_match(support::models_in(&support::own("tests/models/executorch"), "pte"));
}

/// XNNPACK sums windows of floats in its own order. It gives sums the scale of the clamp after them, and integer factors for any scales. It
/// fuses the last product of scaled rows with the bias, and adds a part of a difference to one of two pixels.
fn what_delegates_round_is_the_runtimes_to_the_bit() {
    let names =
        ["delegated_averages", "delegated_cancelled", "delegated_clamps", "delegated_pixels", "delegated_resizes", "delegated_sizes"];
    engines::all_equal(names.map(|name| support::own(&format!("tests/models/executorch/{name}.pte"))).to_vec());
}

/// Programs of the Cortex-M back end give the results of its Python kernels.
fn operators_of_cortex_m_are_its_kernels_to_the_bit() {
    engines::all_equal(support::cortex_m_programs());
}

fn portable_programs_match_their_recorded_outputs() {
    let names = ["addmul", "mlp", "lenet", "cond"].map(|name| format!("{name}.portable"));
    let mut failures = Vec::new();
    for program in programs("executorch", |name| names.iter().any(|wanted| wanted == name)) {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match support::check_interpreted(&program, support::FLOAT_TOLERANCE) {
            Ok(worst) => harness::progress(|| format!("{name}: {worst:.1e}")),
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn constants_of_a_file_beside_the_program_are_found() {
    let Some(folder) = support::corpus("executorch") else { return };
    let (program, tensors) = (folder.join("mlp_external.portable.pte"), folder.join("mlp_external.portable.ptd"));
    let load = |data: Vec<(String, modelc::ir::Data)>| {
        let bytes: Arc<dyn Bytes> = Arc::new(std::fs::read(&program).expect("the program can be read"));
        frontend::load(bytes, "mlp", &LoadOptions { data, ..LoadOptions::default() })
    };
    let error = load(vec![]).expect_err("constants are missing");
    assert!(error.0.iter().all(|d| d.code.number() == 413 && d.help.as_deref().is_some_and(|help| help.contains("--data"))), "{error}");
    let bytes = std::fs::read(&tensors).expect("the tensors can be read");
    let module = load(vec![("mlp.ptd".into(), bytes.clone().into())]).unwrap_or_else(|error| panic!("{error}"));
    let (inputs, expected) = (support::recorded(&program, "inputs.npz").unwrap(), support::recorded(&program, "expected.npz").unwrap());
    let mut interpreter = Interpreter::new(&module);
    for call in 0..inputs.calls() {
        let arguments = support::arguments(&module, &module.methods[0], &inputs, call).unwrap();
        let outputs = interpreter.run(0, &arguments).unwrap();
        support::compare(&outputs[0], expected.output(call, 0).unwrap(), support::FLOAT_TOLERANCE).unwrap();
    }
    // A cut or damaged file gives an error or other numbers, and no panic.
    for cut in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        let _ = load(vec![("cut.ptd".into(), bytes[..cut].to_vec().into())]);
    }
    for at in 0..0x290 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        let _ = load(vec![("damaged.ptd".into(), damaged.into())]);
    }
}

fn bundles_hold_a_program_and_cases_that_it_passes() {
    let Some(folder) = support::corpus("executorch") else { return };
    for name in ["mlp", "lenet", "dscnn_kws"] {
        let path = folder.join(format!("{name}.portable.bpte"));
        let bytes: Arc<dyn Bytes> = Arc::new(std::fs::read(&path).expect("the bundle can be read"));
        let (program, suites) = bundled::load(&bytes).expect("the bundle is sound");
        let beside = std::fs::read(path.with_extension("pte")).expect("the program can be read");
        assert_eq!(program.bytes(), beside, "{name}: the program inside");
        let module = support::load(&path).expect("the program loads");
        let cases: Vec<_> = suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (&suite.method, case))).collect();
        assert!(!cases.is_empty(), "{name} has test cases");
        for (method, case) in cases {
            let number = module.methods.iter().position(|m| m.name == *method).expect("the method exists");
            let inputs: Vec<Tensor> = case.inputs.iter().flatten().cloned().collect();
            let outputs = Interpreter::new(&module).run(number, &inputs).expect("the method runs");
            for (output, expected) in outputs.iter().zip(case.outputs.iter().flatten()) {
                support::compare(output, expected, support::FLOAT_TOLERANCE).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
}

/// Unsupported features of the front end. Every other portable program of the corpus loads and matches.
const UNSUPPORTED: [&str; 2] = ["constants in another file", "a loop that ends depending on data"];

fn every_other_portable_program_matches_or_names_what_is_missing() {
    for (folder, least) in [("executorch", 32), ("executorch_ops", 601)] {
        let programs = programs(folder, |name| name.ends_with(".portable"));
        let (mut matching, mut failures, count) = (0, Vec::new(), programs.len());
        for program in programs {
            // Deep networks accumulate differences in the order of sums: MobileNet, with 52 convolutions, is at 1.1e-5.
            match support::check_interpreted(&program, 2.0 * support::FLOAT_TOLERANCE) {
                Ok(_) => matching += 1,
                Err(error) if UNSUPPORTED.iter().any(|missing| error.contains(missing)) => {}
                Err(error) => failures.push(format!("{}: {error}", program.display())),
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        harness::at_least(matching, least, &format!("of {count} programs that match"));
    }
}

/// Size limit of files; larger ones are networks, which the JIT runs.
const SMALL: u64 = 120_000;

/// Graphs of XNNPACK, compared with the recorded runtime: integers without float functions between them are equal.
fn small_xnnpack_programs_match_or_name_what_is_missing() {
    for (folder, least) in [("executorch", 18), ("executorch_ops", 103)] {
        let programs = programs(folder, |name| name.ends_with(".xnnpack"));
        let is_small = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|data| data.len() < SMALL);
        let (mut matching, mut failures, mut count) = (0, Vec::new(), 0);
        for program in programs.into_iter().filter(is_small) {
            count += 1;
            match support::check_interpreted(&program, support::delegate_tolerance(&program)) {
                Ok(_) => matching += 1,
                Err(error) => failures.push(format!("{}: {error}", program.display())),
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        harness::at_least(matching, least, &format!("of {count} programs that match"));
    }
}

/// Graphs of the Vulkan back end, compared with PyTorch.
fn small_vulkan_programs_match() {
    let is_small = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|data| data.len() < SMALL);
    let (mut matching, mut failures) = (0, Vec::new());
    for program in programs("executorch", |name| name.ends_with(".vulkan")).into_iter().filter(is_small) {
        match support::check_interpreted(&program, support::delegate_tolerance(&program)) {
            Ok(worst) => {
                matching += 1;
                harness::progress(|| format!("{}: {worst:.1e}", program.display()));
            }
            Err(error) => failures.push(format!("{}: {error}", program.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    harness::at_least(matching, 15, "programs that match");
}

/// Dynamic inputs can get a shape at compile time; one module gets a recorded shape.
fn a_dynamic_program_compiles_for_each_shape_chosen() {
    for program in programs("executorch", |name| name == "dyn_batch.portable") {
        let recorded = |what| support::recorded(&program, what).expect("the outputs are recorded");
        let (inputs, expected) = (recorded("inputs.npz"), recorded("expected.npz"));
        for call in 0..inputs.calls() {
            let input = inputs.input(call, 0).expect("the input is recorded");
            let options = LoadOptions { shapes: vec![(0, input.shape.clone())], ..LoadOptions::default() };
            let bytes = std::fs::read(&program).expect("the program can be read");
            let module = frontend::load(Arc::new(bytes), "dyn_batch.pte", &options).unwrap_or_else(|error| panic!("{error}"));
            let outputs = Interpreter::new(&module).run(0, std::slice::from_ref(input)).expect("the method runs");
            let expected = expected.output(call, 0).expect("the output is recorded");
            support::compare(&outputs[0], expected, support::FLOAT_TOLERANCE).unwrap_or_else(|error| panic!("call {call}: {error}"));
        }
        let too_large = LoadOptions { shapes: vec![(0, vec![9, 3, 16, 16])], ..LoadOptions::default() };
        let bytes = std::fs::read(&program).expect("the program can be read");
        assert!(frontend::load(Arc::new(bytes), "dyn_batch.pte", &too_large).is_err(), "the bound is a batch of 8");
    }
}

/// The module contains the file's memory plan: every value is inside its area, with the size of its tensor.
fn the_plan_of_the_file_is_imported() {
    for program in programs("executorch", |name| matches!(name, "lenet.portable" | "cond.portable" | "mlp.portable" | "addmul.portable")) {
        let module = support::load(&program).expect("the program loads");
        let plan = module.imported_plan.as_ref().expect("the file has a plan");
        assert_eq!(plan.methods.len(), module.methods.len());
        for (method, memory) in module.methods.iter().zip(&plan.methods) {
            assert_eq!(method.function, memory.function);
            let mut seen = std::collections::HashSet::new();
            for placement in &memory.placements {
                let ty = module.functions[placement.function].tensor(placement.value);
                assert_eq!(ty.static_bytes(), Some(placement.bytes), "{}", program.display());
                assert!(placement.offset + placement.bytes <= memory.area_bytes[placement.memory_id as usize]);
                assert!(seen.insert((placement.function, placement.value)), "no value has two places");
            }
            let inputs = module.functions[method.function].params.iter();
            assert!(inputs.clone().all(|&input| seen.contains(&(method.function, input))), "inputs are planned too");
        }
    }
    for program in programs("executorch", |name| name == "lenet.portable") {
        let module = support::load(&program).expect("the program loads");
        let memory = &module.imported_plan.as_ref().expect("the file has a plan").methods[0];
        assert_eq!(memory.area_bytes, [0, 194_080]);
        // The first convolution's result, as the file says: 6 × 28 × 28 floats from byte 18,816.
        assert!(memory.placements.iter().any(|p| (p.memory_id, p.offset, p.bytes) == (1, 18_816, 18_816)));
    }
}

fn main() -> std::process::ExitCode {
    harness::run(&[
        ("programs_made_for_these_tests_match", Needs::Nothing, programs_made_for_these_tests_match),
        ("what_delegates_round_is_the_runtimes_to_the_bit", Needs::Nothing, what_delegates_round_is_the_runtimes_to_the_bit),
        ("operators_of_cortex_m_are_its_kernels_to_the_bit", Needs::Nothing, operators_of_cortex_m_are_its_kernels_to_the_bit),
        ("portable_programs_match_their_recorded_outputs", Needs::Corpus("executorch"), portable_programs_match_their_recorded_outputs),
        ("constants_of_a_file_beside_the_program_are_found", Needs::Corpus("executorch"), constants_of_a_file_beside_the_program_are_found),
        ("bundles_hold_a_program_and_cases_that_it_passes", Needs::Corpus("executorch"), bundles_hold_a_program_and_cases_that_it_passes),
        (
            "small_xnnpack_programs_match_or_name_what_is_missing",
            Needs::Corpus("executorch"),
            small_xnnpack_programs_match_or_name_what_is_missing,
        ),
        ("small_vulkan_programs_match", Needs::Corpus("executorch"), small_vulkan_programs_match),
        (
            "every_other_portable_program_matches_or_names_what_is_missing",
            Needs::Both(&Needs::Corpus("executorch"), &Needs::Corpus("executorch_ops")),
            every_other_portable_program_matches_or_names_what_is_missing,
        ),
        ("a_dynamic_program_compiles_for_each_shape_chosen", Needs::Corpus("executorch"), a_dynamic_program_compiles_for_each_shape_chosen),
        ("the_plan_of_the_file_is_imported", Needs::Corpus("executorch"), the_plan_of_the_file_is_imported),
    ])
}
