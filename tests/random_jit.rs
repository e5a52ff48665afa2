//! Random modules: the JIT computes what the interpreter computes.

#[allow(dead_code, reason = "other tests use the rest")]
mod chains;
mod support;

use modelc::diagnostic::Kind;
use modelc::ir::interpret::Interpreter;
use modelc::ir::random::{Options, module};
use modelc::ir::text::{Constants, print_module};
use modelc::ir::{ElementType, Module, Tensor};
use modelc::jit::memory::Placement;
use modelc::jit::{Jit, JitOptions};
use modelc::lower::{self, Goal, Lowered, PlanSource, Threads};
use modelc::machine::CpuMachine;
use modelc::program::calls_in_streams;
use modelc::{passes, pipeline, target};
use support::harness;

/// Only sums of floats are inexact here, because their order may differ; their terms are small numbers. The worst case is a difference of large
/// terms, which leaves a few units in the last place.
const TOLERANCE: f64 = 1e-5;

/// Modules that are drawn for a seed until one compiles. About three of four do, and half of those with dynamic extents.
const MOST_DRAWS: u64 = 256;

/// Returns the number of seeds: `MODELC_SEEDS`. `MODELC_FIRST_SEED` selects the first one.
fn seeds() -> u64 {
    harness::variable("MODELC_SEEDS").unwrap_or(250)
}

/// Returns the results of the JIT for two calls of each method, in turn, on one instance; `None` if the module has something unsupported. With
/// guard pages and with dead memory overwritten, the bits must be the same.
fn compiled(module: &Module, inputs: &[Tensor], options: lower::Options) -> Result<Option<Vec<Tensor>>, String> {
    let machine = options.machine;
    let lowered = match pipeline::lower(module, "random", options) {
        Ok(lowered) => lowered,
        Err(diagnostics) if diagnostics.0.iter().all(|d| d.kind() == Kind::Unsupported) => {
            if std::env::var_os("MODELC_VERBOSE").is_some() {
                eprintln!("not compiled: {diagnostics}");
            }
            return Ok(None);
        }
        Err(diagnostics) => return Err(diagnostics.to_string()),
    };
    let results = called(&lowered, inputs, machine, JitOptions::default())?;
    let checking = JitOptions { placement: Placement::AgainstGuard, live: Some(lowered.live.clone()), ..JitOptions::default() };
    if called(&lowered, inputs, machine, checking)? != results {
        return Err("other results with dead memory overwritten".into());
    }
    support::ranges::check_in_ranges(module, options, inputs, &results)?;
    Ok(Some(results.concat()))
}

fn called(lowered: &Lowered, inputs: &[Tensor], machine: &'static CpuMachine, options: JitOptions) -> Result<Vec<Vec<Tensor>>, String> {
    let jit = Jit::with_options(&lowered.program, machine, options).map_err(|e| e.to_string())?;
    let mut instance = jit.instance().map_err(|e| e.to_string())?;
    let mut results = Vec::new();
    for method in (0..lowered.program.methods.len()).cycle().take(2 * lowered.program.methods.len()) {
        results.push(instance.call_tensors(method, inputs).map_err(|e| e.to_string())?);
    }
    Ok(results)
}

/// Returns the machine of a seed: the host's level for half of the seeds, and every other level that the host supports in turn.
fn machine_of(seed: u64, host: &'static CpuMachine) -> &'static CpuMachine {
    let others: Vec<&'static CpuMachine> = target::host_machines().into_iter().filter(|machine| machine.level != host.level).collect();
    match others.len() as u64 {
        0 => host,
        _ if seed.is_multiple_of(2) => host,
        count => others[(seed / 2 % count) as usize],
    }
}

/// Returns the results of the interpreter for two calls of each method, in turn.
fn interpreted(module: &Module, inputs: &[Tensor]) -> Vec<Tensor> {
    let mut interpreter = Interpreter::new(module);
    let methods = (0..module.methods.len()).cycle().take(2 * module.methods.len());
    methods.flat_map(|method| interpreter.run(method, inputs).unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Returns an error for a difference of one seed, and `false` if the module cannot be compared.
fn check(seed: u64, options: &Options, machine: &'static CpuMachine) -> Result<bool, String> {
    let (module, inputs) = module(seed, options);
    compare_module(seed, module, &inputs, machine)
}

/// Returns an error for a difference of a module, and `false` if the module cannot be compared.
fn compare_module(seed: u64, mut module: Module, inputs: &[Tensor], machine: &'static CpuMachine) -> Result<bool, String> {
    passes::run_all(&mut module);
    let explain = |error: String| format!("seed {seed} on {}: {error}\n{}", machine.level, print_module(&module, Constants::Whole));
    // Every fourth module is compiled for small code; a quarter is planned for little memory, and a quarter without merges.
    let goal = if seed % 4 == 3 { Goal::Size } else { Goal::Speed };
    let plan = [PlanSource::Own, PlanSource::Own, PlanSource::Smallest, PlanSource::Program][(seed / 4 % 4) as usize];
    let areas = if plan == PlanSource::Own && seed.is_multiple_of(3) { areas(seed) } else { lower::Areas::default() };
    let options = lower::Options { goal, plan, areas, ..lower::Options::new(machine) };
    let Some(found) = compiled(&module, inputs, options).map_err(explain)? else { return Ok(false) };
    for (index, (found, expected)) in found.iter().zip(&interpreted(&module, inputs)).enumerate() {
        support::compare(found, expected, TOLERANCE).map_err(|error| explain(format!("output {index}: {error}")))?;
    }
    Ok(true)
}

/// Returns memory areas: small fast ones, and one for the rest. The first one, the arena, has room for the state.
fn areas(seed: u64) -> lower::Areas {
    let area = |name, bytes, rank| lower::Area::new(name, bytes, rank).expect("a short name");
    let small = 64 << (seed / 3 % 6);
    let list = [
        area("sram", (1 << 20) + small, lower::Rank::Plain),
        area("dtcm", small, lower::Rank::Fast),
        area("tiny", 64, lower::Rank::Fast),
        area("psram", 1 << 30, lower::Rank::Slow),
    ];
    // For every second seed, the arena is the slowest of all, and only copies of weights lie there.
    let list = if seed.is_multiple_of(2) { list } else { [list[3], list[1], list[2], list[0]] };
    let areas = lower::Areas::new(&list).expect("few areas");
    areas.with_weights(Some((seed / 2 % 4) as usize))
}

/// Tests whether some input has a run-time extent.
fn is_dynamic(module: &Module) -> bool {
    let function = &module.functions[module.methods[0].function];
    function.params.iter().filter_map(|&v| function.values[v].ty.as_tensor()).any(|ty| ty.static_shape().is_none())
}

#[test]
fn the_jit_computes_what_the_interpreter_computes() {
    compare(false);
}

#[test]
fn the_jit_computes_what_the_interpreter_computes_where_extents_are_dynamic() {
    compare(true);
}

fn compare(dynamic: bool) {
    use ElementType::*;
    let options = Options {
        instructions: 10,
        operators: Options::exact_operators(),
        elements: vec![F32, I8, I32, U8, Bool, I16],
        scalar_operations: Options::exact_operations(),
        dynamic,
    };
    let host = target::host_machine().expect("the host has a machine description");
    let mut failures = Vec::new();
    let first = harness::variable("MODELC_FIRST_SEED").unwrap_or(0);
    for number in first..first + seeds() {
        // The first module of the seed that compiles.
        let drawn = (0..MOST_DRAWS).map(|draw| number + (draw << 40)).filter(|&seed| !dynamic || is_dynamic(&module(seed, &options).0));
        let mut outcomes = drawn.map(|seed| check(seed, &options, machine_of(seed, host)));
        match outcomes.find(|outcome| *outcome != Ok(false)) {
            Some(Ok(_)) => {}
            Some(Err(error)) => failures.push(error),
            None => failures.push(format!("seed {number}: none of {MOST_DRAWS} modules is compiled")),
        }
    }
    println!("{} compared", seeds());
    assert!(failures.is_empty(), "{} of {} fail; the first:\n{}", failures.len(), seeds(), failures[0]);
}

/// Chains are cut into bands if that makes the arena smaller, and threads compute bands at the same time.
#[test]
fn chains_in_bands_compute_what_the_interpreter_computes() {
    let (smaller, in_streams) = compare_cut(|seed| {
        let (module, image) = chains::module(seed);
        (module, vec![image])
    });
    // More than half were when this was written.
    assert!(smaller * 4 > seeds(), "hardly any chain is cut: {smaller}");
    // A sixth were when this was written.
    assert!(in_streams * 16 > seeds(), "hardly any chain is in streams: {in_streams}");
}

/// Batches of matrices are computed one after the other if that makes the arena smaller, and at the same time on several threads.
#[test]
fn batches_one_by_one_compute_what_the_interpreter_computes() {
    let (smaller, in_streams) = compare_cut(chains::batches::module);
    // Four of ten were when this was written.
    assert!(smaller * 8 > seeds(), "hardly any batch is computed alone: {smaller}");
    // A twelfth were when this was written.
    assert!(in_streams * 25 > seeds(), "hardly any batch is in a stream: {in_streams}");
}

/// Gathers with constant positions are read in place.
#[test]
fn picked_images_compute_what_the_interpreter_computes() {
    let machine = target::host_machine().expect("the host has a machine description");
    let options = lower::Options::new(machine);
    let mut unwritten = 0;
    let first = harness::variable("MODELC_FIRST_SEED").unwrap_or(0);
    for seed in first..first + seeds() {
        let (mut module, inputs) = chains::picked::module(seed);
        modelc::ir::verify(&module).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        passes::run_all(&mut module);
        let explain = |error: String| format!("seed {seed}: {error}\n{}", print_module(&module, Constants::Whole));
        let found = compiled(&module, &inputs, options).unwrap_or_else(|error| panic!("{}", explain(error)));
        assert_eq!(found, Some(interpreted(&module, &inputs)), "{}", explain("other outputs".into()));
        let program = pipeline::lower(&module, "random", options).unwrap_or_else(|e| panic!("{e}")).program;
        unwritten += u64::from(program.kernels.iter().all(|kernel| !kernel.name.contains("gather")));
    }
    println!("{unwritten} of {} write none", seeds());
    // Almost four of ten were when this was written.
    assert!(unwritten * 4 > seeds(), "hardly anything is read where it lies: {unwritten}");
}

/// Programs that read tensors through views, and overwrite variables whose old contents are still read.
#[test]
fn programs_of_views_compute_what_the_interpreter_computes() {
    let compared = compare_all(chains::views::module);
    assert_eq!(compared, seeds(), "some are not compiled");
}

/// Such programs with run-time extents.
#[test]
fn programs_of_views_compute_what_the_interpreter_computes_where_extents_are_dynamic() {
    let compared = compare_all(chains::views::open);
    assert!(compared * 2 > seeds(), "only {compared} are compiled");
}

/// Consecutive convolutions of long rows, which overwrite their operands.
#[test]
fn long_rows_compute_what_the_interpreter_computes() {
    let compared = compare_all(chains::rows::module);
    assert_eq!(compared, seeds(), "some are not compiled");
}

/// Compares all programs that compile with the interpreter. Returns their number.
fn compare_all(generate: impl Fn(u64) -> (Module, Vec<Tensor>)) -> u64 {
    let host = target::host_machine().expect("the host has a machine description");
    let first = harness::variable("MODELC_FIRST_SEED").unwrap_or(0);
    let (mut compared, mut failures) = (0, Vec::new());
    for seed in first..first + seeds() {
        let (module, inputs) = generate(seed);
        modelc::ir::verify(&module).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        match compare_module(seed, module, &inputs, machine_of(seed, host)) {
            Ok(is_compiled) => compared += u64::from(is_compiled),
            Err(error) => failures.push(error),
        }
    }
    println!("{compared} of {} compared", seeds());
    assert!(failures.is_empty(), "{} of {} fail; the first:\n{}", failures.len(), seeds(), failures[0]);
    compared
}

/// Extremes of saturated values are the same whether the values are stored or not.
#[test]
fn extremes_of_what_saturates_are_those_of_the_interpreter() {
    let machine = target::host_machine().expect("the host has a machine description");
    let options = lower::Options::new(machine);
    for (name, module, input) in chains::extremes::modules() {
        let inputs = [input];
        let found = compiled(&module, &inputs, options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found, Some(interpreted(&module, &inputs)), "{name}");
    }
}

/// Graphs of element-wise work are merged into few kernels, with the bits of the unmerged chains.
#[test]
fn merged_graphs_compute_what_the_interpreter_computes() {
    let host = target::host_machine().expect("the host has a machine description");
    let (mut fewer, mut rows) = (0, 0);
    let first = harness::variable("MODELC_FIRST_SEED").unwrap_or(0);
    for seed in first..first + seeds() {
        let (mut module, inputs) = chains::graphs::module(seed);
        modelc::ir::verify(&module).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        passes::run_all(&mut module);
        let explain = |error: String| format!("seed {seed}: {error}\n{}", print_module(&module, Constants::Whole));
        let machine = machine_of(seed, host);
        let own = lower::Options::new(machine);
        // A plan of the file allows no merges; this file has no plan.
        let apart = lower::Options { plan: PlanSource::Program, ..own };
        let found = compiled(&module, &inputs, own).unwrap_or_else(|error| panic!("{}", explain(error)));
        let expected = compiled(&module, &inputs, apart).unwrap_or_else(|error| panic!("{}", explain(error)));
        assert_eq!(found, expected, "{}", explain("other outputs than without merges".into()));
        for (found, expected) in found.iter().flatten().zip(&interpreted(&module, &inputs)) {
            support::compare(found, expected, TOLERANCE).unwrap_or_else(|error| panic!("{}", explain(error)));
        }
        let lowered = |options| pipeline::lower(&module, "random", options).unwrap_or_else(|e| panic!("{e}"));
        let (merged, chains) = (lowered(own), lowered(apart));
        assert!(merged.plans[0].arena_bytes <= chains.plans[0].arena_bytes, "{}", explain("a larger arena".into()));
        let calls = |lowered: &Lowered| modelc::program::calls(&lowered.program.methods[0].steps).len();
        fewer += u64::from(calls(&merged) < calls(&chains));
        rows += u64::from(merged.program.kernels.iter().any(|kernel| kernel.name.contains("rows")));
    }
    println!("{fewer} of {} have fewer kernels, {rows} work row by row", seeds());
    assert!(fewer * 2 > seeds() && rows * 4 > seeds(), "hardly anything is merged: {fewer} have fewer kernels, {rows} work row by row");
}

/// Compares modules computed in bands or batches with the interpreter, on one thread and on several. Returns the number with a smaller arena, and the
/// number with streams.
fn compare_cut(generate: impl Fn(u64) -> (Module, Vec<Tensor>)) -> (u64, u64) {
    let machine = target::host_machine().expect("the host has a machine description");
    let own = lower::Options { plan: PlanSource::Smallest, ..lower::Options::new(machine) };
    // A plan of the file allows no cuts; this file has no plan.
    let whole = lower::Options { plan: PlanSource::Program, ..own };
    let side_by_side = lower::Options { plan: PlanSource::Own, ..own };
    let threads = Threads { count: 3, least_instructions: 0 };
    let (mut smaller, mut in_streams) = (0, 0);
    let first = harness::variable("MODELC_FIRST_SEED").unwrap_or(0);
    let count = seeds();
    for seed in first..first + count {
        let (mut module, inputs) = generate(seed);
        modelc::ir::verify(&module).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        passes::run_all(&mut module);
        let explain = |error: String| format!("seed {seed}: {error}\n{}", print_module(&module, Constants::Whole));
        let found = compiled(&module, &inputs, own).unwrap_or_else(|error| panic!("{}", explain(error)));
        let expected = interpreted(&module, &inputs);
        assert_eq!(found.as_ref(), Some(&expected), "{}", explain("other outputs".into()));
        let found = compiled(&module, &inputs, side_by_side).unwrap_or_else(|error| panic!("{}", explain(error)));
        assert_eq!(found.as_ref(), Some(&expected), "{}", explain("other outputs where speed is dear".into()));
        let lowered = |options| pipeline::lower(&module, "random", options).unwrap_or_else(|e| panic!("{e}"));
        smaller += u64::from(lowered(own).plans[0].arena_bytes < lowered(whole).plans[0].arena_bytes);
        let threaded = lowered(lower::Options { threads, ..side_by_side });
        in_streams += u64::from(!calls_in_streams(&threaded.program.methods[0].steps).is_empty());
    }
    println!("{smaller} of {count} are smaller, {in_streams} have streams");
    (smaller, in_streams)
}
