//! Models as objects in a C program, here and under emulators. Outputs match the record, and the JIT bit for bit.

mod linked;
mod support;

use linked::tools::*;
use linked::{Call, Linked, Outputs, Tools, Way, weights_of};
use modelc::diagnostic::{Diagnostics, Kind};
use modelc::emit::{TopologyRecord, weights_for};
use modelc::frontend::given::Number;
use modelc::ir::{ElementType, Scalar};
use modelc::jit::Jit;
use modelc::lower::{self, Lowered};
use modelc::machine::machine;
use modelc::npz;
use modelc::program::{Level, Method};
use modelc::target::{host_features, host_machines, required_features};
use modelc::{Compiled, Model, Settings, compile as compiling, pipeline};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::harness::{self, Needs};

/// Tolerance as for the interpreter: sums have another order than the reference's.
const FLOAT_TOLERANCE: f64 = 1e-5;

/// A sample of each kind, because emulators are slow: dense layers, convolutions, depthwise convolutions; int8 and f32; variables, recurrence,
/// resizing.
const SAMPLE: &[&str] = &[
    "dtln-model_quant_1",
    "esphome-v2-vad",
    "mlperftiny-ad01_int8",
    "mlperftiny-kws_ref_model",
    "mlperftiny-pretrainedResnet_quant",
    "tflm-hello_world_float",
    "tflm-hello_world_int8",
    "tflm-keyword_scrambled",
    "tflm-micro_speech_quantized",
    "tflm-mnist_lstm_int8",
];

/// Models of unsigned bytes for emulators. Their weights fit signed bytes or are shifted, and their images have few or many channels.
const UNSIGNED: &[&str] = &["coral-mobilenet_quant_v1_224_head_layers", "coral-mobilenet_v1_0.5_160_quant", "tflm-person_detect"];

/// Limit of the bytes of code of a CPU level of a model.
const MOST_CODE: u64 = 512 << 10;

/// Largest arena in bytes that a microcontroller may have.
const MOST_MEMORY: u64 = 16 << 20;

/// Number of single operators in one program: enough to make linking cheap.
const OPERATORS_A_PROGRAM: usize = 40;

fn runs_here() -> bool {
    cfg!(all(target_arch = "x86_64", target_os = "linux"))
}

fn objects_answer_as_recorded_and_as_the_jit_does() {
    let models = models("tflite", |_| true);
    let refused = check_all(&models, 1, HERE);
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Shared libraries of modelc's writer, loaded on three instruction sets.
fn shared_libraries_answer_as_recorded_and_as_the_jit_does() {
    for tools in [HERE, AARCH64, RISCV64].into_iter().filter(|tools| tools.emulator.is_some() || runs_here()) {
        check_sample(Tools { is_shared: true, ..tools });
    }
}

/// Objects with all levels on a processor of each: the best level runs, on weights that all of them read.
fn aarch64_objects_of_all_levels_answer_as_recorded() {
    for tools in [AARCH64, AARCH64_DOTPROD, AARCH64_I8MM] {
        check_sample(Tools { level: None, ..tools });
    }
}

fn aarch64_objects_of_unsigned_bytes_answer_as_recorded() {
    let models = models("tflite", |name| UNSIGNED.contains(&name));
    harness::at_least(models.len(), UNSIGNED.len(), "models of unsigned bytes");
    for tools in [AARCH64, AARCH64_DOTPROD, AARCH64_I8MM, AARCH64_LEVELS] {
        let refused = check_all(&models, 1, tools);
        assert!(refused.is_empty(), "{refused:#?}");
    }
}

/// Programs of ExecuTorch for emulators. They have a kernel with ten parameters and a frame of 7 KB, a branch, a run-time extent, several methods,
/// and a state. They also have tensors in another file, another order of dimensions, and a delegate.
const PROGRAMS: &[&str] = &[
    "accum_mutable.portable",
    "chlast_conv.portable",
    "cond.portable",
    "dyn_seq.portable",
    "lenet_q8.xnnpack",
    "math.portable",
    "mlp_external.portable",
    "multi_method.portable",
];

/// Checks programs of ExecuTorch, or every recorded one if `MODELC_WHOLE_CORPUS` is set.
fn check_programs(tools: Tools) {
    let is_whole = std::env::var_os("MODELC_WHOLE_CORPUS").is_some();
    let mut programs = support::models("executorch", "pte");
    programs.retain(|path| {
        let name = support::stem(path);
        let is_wanted = if is_whole { !name.ends_with(".vulkan") } else { PROGRAMS.contains(&&name[..]) };
        is_wanted && path.with_extension("expected.npz").exists()
    });
    harness::at_least(programs.len(), PROGRAMS.len(), "programs of ExecuTorch");
    let refused = check_all(&programs, 1, tools);
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Checks programs of ExecuTorch's Cortex-M back end, which give the results of its Python kernels to the bit.
fn check_cortex_m_programs(tools: Tools) {
    for is_small in [false, true] {
        let refused = check_all(&support::cortex_m_programs(), 1, Tools { is_small, ..tools });
        assert!(refused.is_empty(), "{refused:#?}");
    }
}

/// Message of qemu 7.2 when it stops at the first instruction of a translation block, independent of the program's results: see
/// `docs/cranelift.md`.
const EMULATOR_FAULT: &str = "decode_save_opc: Assertion";

/// The other level of riscv64 runs the whole sample and every eighth operator, because other instruction sets run all operators. Few operators
/// share a program, since a fault of the emulator ends all of them.
fn riscv64_vectors_answer_as_recorded() {
    let operators: Vec<_> = models("tflite_ops", |_| true).into_iter().step_by(8).collect();
    for (models, in_one_program) in [(sample(), 1), (operators, 4)] {
        let (failures, refused) = outcomes(&models, in_one_program, RISCV64_VECTORS);
        let (stopped, failures): (Vec<_>, Vec<_>) = failures.into_iter().partition(|failure| failure.contains(EMULATOR_FAULT));
        let programs = models.len().div_ceil(in_one_program);
        harness::progress(|| format!("{} of {programs} programs stopped by the emulator", stopped.len()));
        assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
        assert!(stopped.len() * in_one_program * 4 <= models.len(), "{stopped:#?}");
        assert!(refused.is_empty(), "{refused:#?}");
    }
}

fn sample() -> Vec<PathBuf> {
    let models = models("tflite", |name| SAMPLE.contains(&name));
    harness::at_least(models.len(), SAMPLE.len(), "models of the sample");
    models
}

/// Checks the sample, or every recorded model if `MODELC_WHOLE_CORPUS` is set, which takes minutes under an emulator.
fn check_sample(tools: Tools) {
    if std::env::var_os("MODELC_WHOLE_CORPUS").is_some() {
        return check_whole_corpus(tools);
    }
    let refused = check_all(&sample(), 1, tools);
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Networks of microcontrollers: the largest frames of convolutions, of dense layers and of a state.
const IN_THEIR_STACKS: &[&str] = &[
    "esphome-v2-okay_nabu",
    "mlperftiny-ad01_int8",
    "mlperftiny-kws_ref_model",
    "mlperftiny-pretrainedResnet_quant",
    "mlperftiny-vww_96_int8",
];

/// Fast and small code of microcontrollers. Their programs call on a painted stack, and no call takes more than the header says.
fn calls_stay_in_their_stacks() {
    let models = models("tflite", |name| IN_THEIR_STACKS.contains(&name));
    harness::at_least(models.len(), IN_THEIR_STACKS.len(), "models with a bound of the stack");
    for tools in [CORTEX_M0PLUS, CORTEX_M3, CORTEX_M4F, RV32IMC] {
        for is_small in [false, true] {
            let refused = check_all(&models, 1, Tools { is_small, ..tools });
            assert!(refused.is_empty(), "{refused:#?}");
        }
    }
}

/// Checks every recorded model of TFLite, the small ones first.
fn check_whole_corpus(tools: Tools) {
    let mut models = models("tflite", |_| true);
    models.sort_by_key(|path| fs::metadata(path).map_or(0, |file| file.len()));
    let refused = check_all(&models, 1, tools);
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Other calling conventions, and another object format.
fn windows_objects_answer_as_recorded() {
    check_sample(WINDOWS);
    check_operators(WINDOWS);
}

fn check_operators(tools: Tools) {
    let refused = check_all(&models("tflite_ops", |_| true), OPERATORS_A_PROGRAM, tools);
    assert!(refused.is_empty(), "{refused:#?}");
}

/// ExecuTorch programs with run-time extents: one object serves all recorded sizes.
fn executorch_programs_answer_at_every_recorded_size() {
    let Some(folder) = support::corpus("executorch") else { return };
    let names = ["dyn_batch", "dyn_seq", "etllama_dyn", "llama_tiny_dyn"];
    let programs: Vec<PathBuf> = names.iter().map(|name| folder.join(format!("{name}.portable.pte"))).collect();
    for tools in [HERE, AARCH64, RISCV64].into_iter().filter(|tools| tools.emulator.is_some() || runs_here()) {
        let refused = check_all(&programs, 1, tools);
        assert!(refused.is_empty(), "{refused:#?}");
    }
}

/// Returns the models of a folder with recorded outputs.
fn models(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut models = support::models(folder, "tflite");
    models.retain(|path| path.with_extension("expected.npz").exists() && wanted(&support::stem(path)));
    models
}

/// Checks models, `in_one_program` in each program, on all cores. Returns the unsupported models with the reasons.
fn check_all(models: &[PathBuf], in_one_program: usize, tools: Tools) -> Vec<String> {
    let (failures, refused) = outcomes(models, in_one_program, tools);
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    refused
}

/// Returns the failures, and the unsupported models.
fn outcomes(models: &[PathBuf], in_one_program: usize, tools: Tools) -> (Vec<String>, Vec<String>) {
    let programs: Vec<&[PathBuf]> = models.chunks(in_one_program).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut outcome = (Vec::new(), Vec::new());
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(program, tools, &mut outcome);
        }
        outcome
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect()
    });
    let (mut failures, mut refused) = (Vec::new(), Vec::new());
    for (failed, unsupported) in outcomes {
        failures.extend(failed);
        refused.extend(unsupported);
    }
    (failures, refused)
}

fn text(error: &dyn std::fmt::Display) -> String {
    error.to_string()
}

/// A compiled model with its recorded inputs.
struct Case<'p> {
    model: &'p Path,
    compiled: Compiled,
    calls: Vec<Call>,
    /// The shared library, if the model is not linked as an object.
    library: Option<Vec<u8>>,
}

impl Case<'_> {
    fn methods(&self) -> &[Method] {
        &self.compiled.lowered.program.methods
    }

    fn arena_bytes(&self) -> u64 {
        self.compiled.files.record.footprint.arena_bytes()
    }

    fn linked(&self) -> Linked<'_> {
        let Compiled { options, files, .. } = &self.compiled;
        Linked {
            name: options.name.clone(),
            files,
            methods: self.methods(),
            library: self.library.clone(),
            weights: weights_of(files),
            calls: &self.calls,
        }
    }
}

/// Compiles models and runs them in one program. Adds failures and unsupported models to the outcome.
fn check(models: &[PathBuf], tools: Tools, (failures, refused): &mut (Vec<String>, Vec<String>)) {
    let mut cases = Vec::new();
    for (number, model) in models.iter().enumerate() {
        match compile(model, &format!("m{number}"), tools) {
            Ok(case) if tools.word < 8 && case.arena_bytes() > MOST_MEMORY => {
                harness::progress(|| format!("{}: an arena of {} B", model.display(), case.arena_bytes()));
            }
            Ok(case) => {
                failures.extend(too_much_code(&case));
                cases.push(case);
            }
            Err(error) if error.0.iter().all(|d| d.kind() == Kind::Unsupported) => refused.push(format!("{}: {error}", model.display())),
            Err(error) => failures.push(format!("{}: {error}", model.display())),
        }
    }
    if cases.is_empty() {
        return;
    }
    let linked: Vec<Linked<'_>> = cases.iter().map(Case::linked).collect();
    let ways = ways(&cases, tools);
    let begin = std::time::Instant::now();
    match linked::run_each_way(&linked, tools, &ways) {
        Ok(runs) => {
            harness::progress(|| format!("{}: {} in {:?}", tools.target, models[0].display(), begin.elapsed()));
            for (way, outputs) in ways.iter().zip(&runs) {
                for ((case, outputs), usual) in cases.iter().zip(outputs).zip(&runs[0]) {
                    let checked = compare(case, outputs).and_then(|()| match way.threads {
                        Some(threads) if outputs != usual => Err(format!("other outputs on {threads} threads")),
                        Some(_) => Ok(()),
                        None => equal_to_jit(case, outputs, tools, *way),
                    });
                    failures.extend(checked.err().map(|error| format!("{}: {error}", case.model.display())));
                }
            }
        }
        Err(error) => {
            let names: Vec<String> =
                cases.iter().map(|case| format!("{} is {}", case.compiled.options.name, case.model.display())).collect();
            failures.push(format!("{error}\nwhere {}", names.join(", ")));
        }
    }
}

/// Returns the levels of a model whose code exceeds the limit.
fn too_much_code(case: &Case<'_>) -> Vec<String> {
    let levels = case.compiled.files.record.levels.split(',').zip(&case.compiled.files.record.footprint.level_code_bytes);
    let large = levels.filter(|(_, bytes)| **bytes > MOST_CODE);
    large.map(|(level, bytes)| format!("{}: {bytes} B of code for {level}", case.model.display())).collect()
}

fn compile<'p>(model: &'p Path, name: &str, tools: Tools) -> Result<Case<'p>, Diagnostics> {
    let inputs = support::recorded(model, "inputs.npz")?;
    // ExecuTorch programs contain the bounds of their inputs.
    let is_open = model.extension().is_some_and(|extension| extension == "tflite");
    let shapes = (0..).map_while(|index| Some((index, inputs.input(0, index)?.shape.clone()))).take_while(|_| is_open).collect();
    let (target, cpu) = (Some(tools.target.into()), tools.level.map(Into::into));
    let values = decided_values(model)?;
    let tensors = model.with_extension("ptd");
    let data = tensors.exists().then(|| tensors.display().to_string()).into_iter().collect();
    let settings = Settings { target, cpu, name: Some(name.into()), shapes, values, data, small: tools.is_small, ..Settings::default() };
    let compiled = Model::open(model)?.compile(&settings)?;
    let calls = recorded_calls(model, &inputs, &compiled);
    let library = if tools.is_shared { Some(compiled.shared(&format!("{name}.so"))?.to_vec()) } else { None };
    Ok(Case { model, compiled, calls, library })
}

/// Returns the recorded values of inputs whose values operators must know, as for `--value`.
fn decided_values(model: &Path) -> Result<Vec<(usize, Vec<Number>)>, Diagnostics> {
    let module = support::load(model)?;
    let Some(method) = module.methods.first() else { return Ok(vec![]) };
    let types = &module.functions[method.function];
    let inputs = method.inputs.iter().zip(&types.params).enumerate();
    let decided = inputs.filter_map(|(index, (port, &param))| {
        let element = types.tensor(param).element;
        let bytes = port.value.as_ref()?.bytes();
        Some((index, bytes.chunks_exact(element.bits() as usize / 8).map(|bytes| number(bytes, element)).collect()))
    });
    Ok(decided.collect())
}

fn number(bytes: &[u8], element: ElementType) -> Number {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    let scalar = Scalar::from_bits(element, u64::from_le_bytes(bits));
    if element.is_float() { Number::Float(scalar.as_f64()) } else { Number::Integer(scalar.as_i64()) }
}

/// Returns the recorded calls of a model.
fn recorded_calls(model: &Path, inputs: &npz::Archive, compiled: &Compiled) -> Vec<Call> {
    let named = support::methods_of_calls(model);
    let mut calls = Vec::new();
    for number in 0..inputs.calls().max(named.len()).max(1) {
        let name = named.get(number);
        let found = compiled.module.methods.iter().position(|method| name.is_none_or(|name| *name == method.name));
        let method = found.unwrap_or_else(|| panic!("{}: there is no method {name:?}", model.display()));
        let inputs = support::arguments(&compiled.module, &compiled.module.methods[method], inputs, number);
        let inputs = inputs.unwrap_or_else(|error| panic!("{}: {error}", model.display()));
        calls.push(Call { method, inputs });
    }
    calls
}

/// Networks that a delegate quantizes. Their record is PyTorch's, which rounds otherwise, so no level gives it. A difference is a step of a row, up
/// to 6e-2 of the largest output. They must give what this computer gives.
const ROUNDED_OTHERWISE: &[&str] = &["llm_tiny_8da4w.xnnpack", "llm_tiny_methods.xnnpack", "swin_small_q8.xnnpack"];

/// Compares the outputs of a network with those of this computer, at a level that fuses no products, as microcontrollers do.
fn compare_with_this_computer(case: &Case<'_>, outputs: &Outputs) -> Result<(), String> {
    let machine = host_machines().into_iter().find(|machine| !machine.fma).ok_or("this computer has no level without fused products")?;
    let lowered = pipeline::lower(&case.compiled.module, "model", lower::Options::new(machine)).map_err(|e| text(&e))?;
    let jit = Jit::new(&lowered.program, machine).map_err(|e| text(&e))?;
    let mut instance = jit.instance().map_err(|e| text(&e))?;
    for (number, (call, outputs)) in case.calls.iter().zip(outputs).enumerate() {
        let expected = instance.call_tensors(call.method, &call.inputs).map_err(|e| text(&e))?;
        for (index, (found, expected)) in outputs.iter().zip(&expected).enumerate() {
            support::compare(found, expected, FLOAT_TOLERANCE).map_err(|e| format!("output {index} of call {number}: {e}"))?;
        }
    }
    Ok(())
}

fn compare(case: &Case<'_>, outputs: &Outputs) -> Result<(), String> {
    if ROUNDED_OTHERWISE.contains(&&support::stem(case.model)[..]) {
        return compare_with_this_computer(case, outputs);
    }
    let expected = support::answers(case.model).map_err(|e| text(&e))?;
    let is_delegated =
        !support::stem(case.model).ends_with(".portable") && case.model.extension().is_some_and(|extension| extension == "pte");
    let usual = if is_delegated { support::delegate_tolerance(case.model) } else { FLOAT_TOLERANCE };
    let tolerance = support::tolerance_on(case.compiled.lowered.levels()[0].machine, case.model, usual);
    for (number, (call, outputs)) in case.calls.iter().zip(outputs).enumerate() {
        let ports = &case.compiled.module.methods[call.method].outputs;
        for (index, (found, port)) in outputs.iter().zip(ports).enumerate() {
            let index = port.position(index);
            let found = port.from_buffer(found).ok_or("an output has another rank than its port")?;
            let array = expected.output(number, index).ok_or("an output is not recorded")?;
            support::compare(&found, array, tolerance).map_err(|e| format!("output {index} of call {number}: {e}"))?;
        }
    }
    Ok(())
}

/// Returns the configurations of a program. The first is the default. Others limit the CPU to each lower level that runs here. A program with
/// one model also runs kernels in parallel ranges.
fn ways(cases: &[Case<'_>], tools: Tools) -> Vec<Way> {
    let mut ways = vec![Way::default()];
    let Some(case) = cases.first().filter(|_| tools.emulator.is_none()) else { return ways };
    let levels = case.compiled.lowered.levels();
    let lesser = levels.iter().filter(|level| runs(level)).skip(1);
    ways.extend(lesser.map(|level| Way { features: required_features(level.machine), ..Way::default() }));
    if cases.len() == 1 {
        ways.extend([0, 5].map(|threads| Way { threads: Some(threads), ..Way::default() }));
    }
    ways
}

/// Tests whether this computer has a level.
fn runs(level: &Level) -> bool {
    required_features(level.machine) & !host_features() == 0
}

/// Returns the level that `init` chooses on this computer for given features.
fn chosen(lowered: &Lowered, features: u64) -> Level<'_> {
    let told = |level: &Level| features == 0 || required_features(level.machine) & !features == 0;
    lowered.levels().into_iter().find(|level| runs(level) && told(level)).expect("this computer has one of the levels")
}

/// Checks that the program matches the JIT on the same level alone, where weights may have another layout.
fn equal_to_jit(case: &Case<'_>, outputs: &Outputs, tools: Tools, way: Way) -> Result<(), String> {
    if tools.emulator.is_some() {
        return Ok(());
    }
    let Compiled { lowered, module, .. } = &case.compiled;
    let machine = machine(chosen(lowered, way.features).machine.level).expect("every level has a machine");
    let options = lower::Options::new(machine);
    let alone = pipeline::lower(module, "model", options).map_err(|e| text(&e))?;
    let jit = Jit::new(&alone.program, machine).map_err(|e| text(&e))?;
    same_as_jit(&jit, &case.calls, outputs).map_err(|error| format!("{}: {error}", machine.level))
}

fn same_as_jit(jit: &Jit, calls: &[Call], outputs: &Outputs) -> Result<(), String> {
    let mut instance = jit.instance().map_err(|e| text(&e))?;
    for (call, expected) in calls.iter().zip(outputs) {
        if instance.call_tensors(call.method, &call.inputs).map_err(|e| text(&e))? != *expected {
            return Err("the JIT and the object differ".into());
        }
    }
    Ok(())
}

/// A model that TFLite runs with TensorFlow's operators chooses its moves with a function of the program.
fn a_game_draws_with_an_operator_of_the_program() {
    let Some(folder) = support::corpus("tflite") else { return };
    let model = folder.join("tfex-planestrike_tf_agents.tflite");
    for tools in [HERE, AARCH64, RISCV64].into_iter().filter(|tools| tools.emulator.is_some() || runs_here()) {
        let settings = Settings::new().target(tools.target).name("net").custom("FlexMultinomial", "app_multinomial");
        let compiled = Model::open(&model).and_then(|model| model.compile(&settings)).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().expect("a folder");
        let object = folder.path().join("net.o");
        compiled.write(&object).unwrap_or_else(|error| panic!("{error}"));
        let program = linked::compile(folder.path(), "multinomial.c", &[object], tools);
        let run = program.and_then(|program| linked::execute(&program, &[], tools));
        run.unwrap_or_else(|error| panic!("{}: {error}", tools.target));
    }
}

/// Objects with external weights of a retrained model: other weights, other scales, other zero points.
fn weights_of_a_retrained_model_fit_the_object() {
    let Some(folder) = support::corpus("tflite") else { return };
    for model in ["mlperftiny-kws_ref_model.tflite", "mlperftiny-pretrainedResnet_quant.tflite", "tflm-person_detect.tflite"] {
        retrain(&folder.join(model)).unwrap_or_else(|error| panic!("{model}: {error}"));
    }
}

fn retrain(model: &Path) -> Result<(), String> {
    let old = fs::read(model).map_err(|e| text(&e))?;
    let new = Arc::new(support::retrained(&old));
    let settings = Settings { external_weights: true, target: Some(HERE.target.into()), name: Some("net".into()), ..Settings::default() };
    let compiled = compiling::compile(&settings, Arc::new(old), "old").map_err(|e| text(&e))?;
    let inputs = support::recorded(model, "inputs.npz").map_err(|e| text(&e))?;
    let calls = recorded_calls(model, &inputs, &compiled);
    let case = Case { model, compiled, calls, library: None };
    let outputs = linked::run(&[case.linked()], HERE)?.remove(0);
    compare(&case, &outputs)?;

    let (_, lowered) = compiling::lower(&settings, new.clone(), "new").map_err(|e| text(&e))?;
    let record = TopologyRecord::find(&case.compiled.files.object.to_vec()).ok_or("the object has no record")?;
    let weights = weights_for(&lowered.levels(), &record).map_err(|e| text(&e))?;
    if weights.rescaled.is_empty() {
        return Err("the scales are the same".into());
    }
    let retrained = linked::run(&[Linked { weights: Some(weights.file.to_vec()), ..case.linked() }], HERE)?.remove(0);
    if retrained == outputs {
        return Err("the outputs are the same".into());
    }
    // The retrained model alone, with weights known at compile time.
    let (_, lowered) = compiling::lower(&Settings::new(), new, "new").map_err(|e| text(&e))?;
    let level = chosen(&lowered, 0);
    same_as_jit(&Jit::new(level.program, level.machine).map_err(|e| text(&e))?, &case.calls, &retrained)
}

/// Requirement: objects for this kind of computer.
const ON_LINUX: Needs = Needs::Tool("x86-64 with Linux", runs_here);
/// Requirement: objects for Windows, and an emulator.
const ON_WINE: Needs = Needs::Tool("wine with its C compiler", || cfg!(target_arch = "x86_64") && WINDOWS.present());

/// The tests, with what each requires.
const TESTS: &[harness::Test] = &[
    (
        "objects_answer_as_recorded_and_as_the_jit_does",
        Needs::Both(&Needs::Corpus("tflite"), &ON_LINUX),
        objects_answer_as_recorded_and_as_the_jit_does,
    ),
    (
        "shared_libraries_answer_as_recorded_and_as_the_jit_does",
        Needs::Corpus("tflite"),
        shared_libraries_answer_as_recorded_and_as_the_jit_does,
    ),
    ("aarch64_objects_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(AARCH64)),
    ("aarch64_dot_products_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(AARCH64_DOTPROD)),
    ("aarch64_products_of_matrices_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(AARCH64_I8MM)),
    ("aarch64_objects_of_all_levels_answer_as_recorded", Needs::Corpus("tflite"), aarch64_objects_of_all_levels_answer_as_recorded),
    ("aarch64_objects_of_unsigned_bytes_answer_as_recorded", Needs::Corpus("tflite"), aarch64_objects_of_unsigned_bytes_answer_as_recorded),
    ("cortex_m4f_objects_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(CORTEX_M4F)),
    ("executorch_programs_answer_at_every_recorded_size", Needs::Corpus("executorch"), executorch_programs_answer_at_every_recorded_size),
    ("cortex_m4f_programs_of_executorch_answer_as_recorded", Needs::Corpus("executorch"), || check_programs(CORTEX_M4F)),
    ("cortex_m0plus_programs_of_executorch_answer_as_recorded", Needs::Corpus("executorch"), || check_programs(CORTEX_M0PLUS)),
    ("cortex_m3_programs_of_executorch_answer_as_recorded", Needs::Corpus("executorch"), || check_programs(CORTEX_M3)),
    ("cortex_m33_programs_of_executorch_answer_as_recorded", Needs::Corpus("executorch"), || check_programs(CORTEX_M33)),
    ("cortex_m7_programs_of_executorch_with_doubles_answer_as_recorded", Needs::Corpus("executorch"), || check_programs(CORTEX_M7_DP)),
    ("rv32imc_programs_of_executorch_answer_as_recorded", Needs::Corpus("executorch"), || check_programs(RV32IMC)),
    ("programs_of_the_cortex_m_back_end_answer_on_m0plus", Needs::Nothing, || check_cortex_m_programs(CORTEX_M0PLUS)),
    ("programs_of_the_cortex_m_back_end_answer_on_m4f", Needs::Nothing, || check_cortex_m_programs(CORTEX_M4F)),
    ("programs_of_the_cortex_m_back_end_answer_on_m33", Needs::Nothing, || check_cortex_m_programs(CORTEX_M33)),
    ("programs_of_the_cortex_m_back_end_answer_on_rv32imc", Needs::Nothing, || check_cortex_m_programs(RV32IMC)),
    ("rv32imafc_programs_of_executorch_answer_as_recorded", Needs::Corpus("executorch"), || check_programs(RV32IMAFC)),
    ("cortex_m4f_objects_with_aligned_accesses_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(CORTEX_M4F_STRICT)),
    ("cortex_m3_objects_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(CORTEX_M3)),
    ("cortex_m33_objects_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(CORTEX_M33)),
    ("cortex_m7_objects_with_doubles_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(CORTEX_M7_DP)),
    ("cortex_m0plus_objects_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(CORTEX_M0PLUS)),
    ("cortex_m4f_objects_of_single_operators_answer_as_recorded", Needs::Corpus("tflite_ops"), || check_operators(CORTEX_M4F)),
    ("calls_stay_in_their_stacks", Needs::Corpus("tflite"), calls_stay_in_their_stacks),
    ("rv32imc_objects_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(RV32IMC)),
    ("rv32imafc_objects_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(RV32IMAFC)),
    ("rv32imc_objects_of_single_operators_answer_as_recorded", Needs::Corpus("tflite_ops"), || check_operators(RV32IMC)),
    ("rv32imafc_objects_of_single_operators_answer_as_recorded", Needs::Corpus("tflite_ops"), || check_operators(RV32IMAFC)),
    ("riscv64_objects_answer_as_recorded", Needs::Corpus("tflite"), || check_sample(RISCV64)),
    ("riscv64_vectors_answer_as_recorded", Needs::Corpus("tflite"), riscv64_vectors_answer_as_recorded),
    ("objects_of_single_operators_answer_as_recorded_and_as_the_jit_does", Needs::Both(&Needs::Corpus("tflite_ops"), &ON_LINUX), || {
        check_operators(HERE)
    }),
    ("aarch64_objects_of_single_operators_answer_as_recorded", Needs::Corpus("tflite_ops"), || check_operators(AARCH64)),
    ("aarch64_dot_products_of_single_operators_answer_as_recorded", Needs::Corpus("tflite_ops"), || check_operators(AARCH64_DOTPROD)),
    ("aarch64_products_of_matrices_of_single_operators_answer_as_recorded", Needs::Corpus("tflite_ops"), || check_operators(AARCH64_I8MM)),
    ("riscv64_objects_of_single_operators_answer_as_recorded", Needs::Corpus("tflite_ops"), || check_operators(RISCV64)),
    ("windows_objects_answer_as_recorded", Needs::Both(&Needs::Corpus("tflite"), &ON_WINE), windows_objects_answer_as_recorded),
    ("a_game_draws_with_an_operator_of_the_program", Needs::Corpus("tflite"), a_game_draws_with_an_operator_of_the_program),
    (
        "weights_of_a_retrained_model_fit_the_object",
        Needs::Both(&Needs::Corpus("tflite"), &ON_LINUX),
        weights_of_a_retrained_model_fit_the_object,
    ),
];

fn main() -> std::process::ExitCode {
    harness::run(TESTS)
}
