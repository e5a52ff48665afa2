//! `docs/MEMORY.md` lists the memory of the corpus's models, and the types of their products. `MODELC_BLESS=1 cargo test --test memory`
//! rewrites it.
//!
//! Read the difference: it shows products of bytes that become products of floats, and models that need more memory. No output shows this.

mod support;

use modelc::interface::MethodMemory;
use modelc::program::{self, Method};
use modelc::{Model, Settings};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::bless;
use support::harness::{self, Needs};

const HEAD: &str = "# Memory\n\n## Memory of the ExecuTorch corpus\n\n\
     A test writes this page from the programs of the corpus, compiled for x86-64-v3. `bytes needed` is scratch memory, state, inputs and outputs of a \
     method, without the 64 bytes of an instance. `bytes planned` is `non_const_buffer_sizes` of the file. It does not include the memory of \
     delegates. The last two columns count kernels of convolutions and matrix products.\n\n\
     | program | method | bytes needed | bytes planned | kernels | float products | integer products |\n|---|---|--:|--:|--:|--:|--:|\n";

const HEAD_OF_TFLITE: &str = "\n## Memory of the TFLite corpus\n\n\
     A test compiles the models of the corpus for x86-64-v3. The arena is state and scratch memory. The stack is the most that any call takes. \
     The last column is the arena that TFLite Micro takes, where it was measured.\n\n\
     | model | arena | stack | code | TFLite Micro's arena |\n|---|--:|--:|--:|--:|\n";

/// Arenas of TFLite Micro in bytes, by suffix of the model's name.
const MICRO_ARENAS: [(&str, u64); 8] = [
    ("vww_96_int8", 103_680),
    ("pretrainedResnet_quant", 55_984),
    ("kws_ref_model", 24_272),
    ("ad01_int8", 3_984),
    ("str_ww_ref_model", 16_640),
    ("person_detect", 85_264),
    ("v2-okay_nabu", 23_424),
    ("tf2_mobilenet_v2_1.0_224_ptq", 1_665_776),
];

/// Size limit of files; larger ones take long, and have small variants.
const LARGEST_FILE: u64 = 24 << 20;

/// Returns the programs whose file has offsets of inputs and outputs.
fn programs() -> Vec<PathBuf> {
    let mut programs = support::models("executorch", "pte");
    programs.retain(|path| {
        let is_small = std::fs::metadata(path).is_ok_and(|data| data.len() <= LARGEST_FILE);
        is_small && [".portable", ".xnnpack"].iter().any(|form| support::stem(path).ends_with(form))
    });
    programs
}

/// Counts the kernels of products whose first operand is floats, and the others.
fn products(method: &Method, kernels: &[modelc::kernel::Kernel]) -> [usize; 2] {
    let names = program::calls(&method.steps).into_iter().map(|call| kernels[call.kernel].name.as_str());
    let products: Vec<&str> = names.filter(|name| ["conv_", "matmul_"].iter().any(|form| name.contains(form))).collect();
    let is_of_floats = |name: &&&str| ["_f32", "_f16", "_bf16", "_f64"].iter().any(|element| name.contains(element));
    let floats = products.iter().filter(is_of_floats).count();
    [floats, products.len() - floats]
}

/// Returns the rows of a program, one for each method.
fn rows(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut settings = Settings::new().target("x86_64-unknown-linux-gnu").cpu("x86-64-v3");
    let tensors = path.with_extension("ptd");
    if tensors.exists() {
        settings = settings.data(&tensors.to_string_lossy());
    }
    let (module, lowered) = modelc::compile::lower(&settings, Arc::new(bytes), &file).map_err(|error| error.to_string())?;
    let program = &lowered.program;
    let mut text = String::new();
    // Methods without inputs return constants.
    for (number, method) in program.methods.iter().enumerate().filter(|(_, method)| !method.inputs.is_empty()) {
        let planned = module.imported_plan.iter().flat_map(|plan| plan.methods.get(number)).flat_map(|plan| plan.area_bytes.clone());
        let memory = MethodMemory::new(method, program.alignment, program.variable_bytes, &planned.collect::<Vec<_>>());
        let planned = memory.planned_bytes().map_or("–".into(), |bytes| bytes.to_string());
        let [floats, integers] = products(method, &program.kernels);
        let kernels = program::calls(&method.steps).len();
        let row = format!("{} | {} | {} | {planned} | {kernels} | {floats} | {integers}", support::stem(path), method.name, memory.total());
        let _ = writeln!(text, "| {row} |");
    }
    Ok(text)
}

/// Returns the row of a TFLite model.
fn row_of_tflite(path: &Path) -> Result<String, String> {
    let settings = Settings::new().target("x86_64-unknown-linux-gnu").cpu("x86-64-v3");
    let compiled = Model::open(path).and_then(|model| model.compile(&settings)).map_err(|error| error.to_string())?;
    let (name, footprint) = (support::stem(path), &compiled.files.record.footprint);
    let micro = MICRO_ARENAS.iter().find(|(end, _)| name.ends_with(end)).map_or("–".into(), |(_, bytes)| bytes.to_string());
    let [arena, stack, code] = [footprint.arena_bytes(), footprint.stack_bytes, footprint.code_bytes];
    Ok(format!("| {name} | {arena} | {stack} | {code} | {micro} |\n"))
}

/// Appends the rows of some models. Returns their number.
fn append(text: &mut String, models: Vec<PathBuf>, rows: impl Fn(&Path) -> Result<String, String>) -> usize {
    let mut count = 0;
    for path in models {
        match rows(&path) {
            Ok(rows) => {
                text.push_str(&rows);
                count += 1;
            }
            Err(error) => harness::progress(|| format!("{}: {error}", path.display())),
        }
    }
    count
}

/// Parses the rows of a text into names, which are the cells before the first number, and numbers.
fn figures(text: &str) -> Vec<(String, Vec<u64>)> {
    let of = |line: &str| {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let names = cells.iter().take_while(|cell| cell.parse::<u64>().is_err()).count();
        (cells[..names].join(" "), cells[names..].iter().filter_map(|cell| cell.parse().ok()).collect())
    };
    text.lines().filter(|line| line.starts_with("| ")).map(of).collect()
}

/// Returns the rows in which a figure increased.
fn grown(found: &str, wanted: &str) -> Vec<String> {
    let before = figures(found);
    let is_larger = |(name, now): &(String, Vec<u64>)| {
        let then = before.iter().find(|(other, _)| other == name).map(|(_, then)| then);
        then.is_some_and(|then| now.iter().zip(then).any(|(now, then)| now > then))
    };
    figures(wanted).into_iter().filter(is_larger).map(|(name, _)| name).collect()
}

fn a_figure_that_grows_is_named() {
    let row = |arena: u64| format!("| model | method | bytes |\n|---|---|--:|\n| kws | forward | {arena} | 8 |\n");
    assert_eq!(grown(&row(100), &row(101)), ["kws forward"]);
    assert!(grown(&row(100), &row(99)).is_empty());
}

fn the_table_of_memory_holds() {
    let mut wanted = String::from(HEAD);
    let count = append(&mut wanted, programs(), rows);
    wanted.push_str(HEAD_OF_TFLITE);
    let models = append(&mut wanted, support::models("tflite", "tflite"), row_of_tflite);
    let larger = grown(&std::fs::read_to_string(support::own("docs/MEMORY.md")).unwrap_or_default(), &wanted);
    if !larger.is_empty() {
        println!("larger: {}", larger.join(", "));
    }
    bless::text("docs/MEMORY.md", &wanted);
    harness::at_least(count, 60, "programs");
    harness::at_least(models, 45, "models");
}

/// Layers of one kind share a kernel in small code, at least where they do in fast code.
fn small_code_has_no_more_kernels_than_fast_code() {
    let Some(corpus) = support::corpus("tflite") else { return };
    for (name, level) in
        [("mlperftiny-ad01_int8", "x86-64-v3"), ("esphome-v2-okay_nabu", "x86-64-v4"), ("mlperftiny-vww_96_int8", "x86-64-v3")]
    {
        let model = Model::open(corpus.join(name).with_extension("tflite")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let fast = Settings::new().target("x86_64-unknown-linux-gnu").cpu(level);
        let [fast, small] = [fast.clone(), fast.optimize_size()].map(|settings| {
            let compiled = model.compile(&settings).unwrap_or_else(|error| panic!("{name}: {error}"));
            compiled.lowered.program.kernels.len()
        });
        assert!(small <= fast, "{name} at {level}: {small} kernels, and {fast} in fast code");
    }
}

fn main() -> std::process::ExitCode {
    harness::run(&[
        ("small_code_has_no_more_kernels_than_fast_code", Needs::Corpus("tflite"), small_code_has_no_more_kernels_than_fast_code),
        ("a_figure_that_grows_is_named", Needs::Nothing, a_figure_that_grows_is_named),
        ("the_table_of_memory_holds", Needs::Corpus("executorch"), the_table_of_memory_holds),
    ])
}
