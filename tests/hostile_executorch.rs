//! Damaged ExecuTorch files with arbitrary bytes. Loading returns a module or diagnostics within a short time, and never panics.

mod support;

use modelc::diagnostic::Diagnostics;
use modelc::frontend::{self, LoadOptions};
use modelc::ir::Module;
use modelc::ir::random::Random;
use modelc::lower::Options;
use modelc::machine::{GPUS, MACHINES};
use modelc::pipeline;
use modelc_damage::FlatBuffer;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Small files that cover the front end: branches, loops, states, dimension orders, several methods, quantization.
const FILES: [&str; 21] = [
    "addmul.portable.pte",
    "cond.portable.pte",
    "map.portable.pte",
    "accum_mutable.portable.pte",
    "chlast_conv.portable.pte",
    "mixed_io.portable.pte",
    "multi_method.portable.pte",
    "intbool.portable.pte",
    "math.portable.pte",
    "addmul_q8.portable.pte",
    "dyn_seq.portable.pte",
    "addmul_q8.xnnpack.pte",
    "chlast_simple.xnnpack.pte",
    "dyn_seq.xnnpack.pte",
    "math.xnnpack.pte",
    "mlp_8da4w.xnnpack.pte",
    "addmul.vulkan.pte",
    "addmul_q8.vulkan.pte",
    "chlast_conv.vulkan.pte",
    "index_ops.vulkan.pte",
    "dyn_batch.vulkan.pte",
];

/// Programs of this repository, which are always present.
const OWN: [&str; 19] = [
    "branch.pte",
    "choices.pte",
    "running.pte",
    "counter.pte",
    "indices.pte",
    "image.pte",
    "delegated_image.pte",
    "delegated_int8.pte",
    "delegated_rows.pte",
    "vulkan_image.pte",
    "vulkan_int8.pte",
    "vulkan_rows.pte",
    "vulkan_former.pte",
    "cortex_m_elements.pte",
    "cortex_m_former.pte",
    "cortex_m_image.pte",
    "cortex_m_last.pte",
    "cortex_m_pools.pte",
    "cortex_m_up.pte",
];

fn files(names: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
    let own = OWN.iter().map(|name| support::own("tests/models/executorch").join(name));
    let recorded = support::corpus("executorch").into_iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    own.chain(recorded).map(|path| (path.clone(), std::fs::read(path).expect("the file can be read"))).collect()
}

/// Returns every eighth single-operator program, so that each family of operators gets damaged arguments.
fn operator_files() -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = support::models("executorch_ops", "pte");
    paths.retain(|path| !support::stem(path).ends_with(".vulkan"));
    let chosen = paths.into_iter().step_by(8);
    chosen.map(|path| (path.clone(), std::fs::read(path).expect("the file can be read"))).collect()
}

fn load(bytes: Vec<u8>) -> Result<Module, Diagnostics> {
    frontend::load(Arc::new(bytes), "damaged.pte", &LoadOptions::default())
}

/// Loads a file. If it still loads, the module must be valid.
fn survives(bytes: Vec<u8>, what: &dyn std::fmt::Display) {
    let begin = Instant::now();
    match load(bytes) {
        Ok(module) => {
            if let Err(error) = modelc::ir::verify::verify(&module) {
                panic!("{what}: loads, but the IR is wrong: {error}");
            }
        }
        Err(diagnostics) => {
            assert!(!diagnostics.0.is_empty(), "{what}: fails without a reason");
            for diagnostic in diagnostics.0 {
                assert!(diagnostic.location.file.is_some(), "{what}: {diagnostic} names no file");
            }
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{what}: took {:?}", begin.elapsed());
}

#[test]
fn damaged_bytes_never_panic() {
    for (path, bytes) in files(&FILES) {
        let mut numbers = Random::new(bytes.len() as u64);
        for round in 0..1500 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + numbers.below(3) {
                let at = numbers.below(damaged.len());
                damaged[at] = match numbers.below(4) {
                    0 => 0,
                    1 => 0xFF,
                    2 => damaged[at] ^ (1 << numbers.below(8)),
                    _ => numbers.below(256) as u8,
                };
            }
            survives(damaged, &format!("{} round {round}", path.display()));
        }
    }
}

/// Whole fields are replaced by numbers that cause overflow.
#[test]
fn damaged_words_never_panic() {
    const WORDS: [u32; 9] = [0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x0001_0000, 0x7FFF_FF00, 0xFFFF_FF80];
    for (path, bytes) in files(&FILES) {
        let mut numbers = Random::new(!(bytes.len() as u64));
        for round in 0..1500 {
            let mut damaged = bytes.clone();
            let at = numbers.below(damaged.len() / 4 - 1) * 4;
            damaged[at..at + 4].copy_from_slice(&WORDS[numbers.below(WORDS.len())].to_le_bytes());
            if numbers.below(2) == 0 {
                damaged[at + 4..(at + 8).min(bytes.len())].fill(if numbers.below(2) == 0 { 0 } else { 0x7F });
            }
            survives(damaged, &format!("{} round {round}, word at {at}", path.display()));
        }
    }
}

#[test]
fn damaged_arguments_of_operators_never_panic() {
    for (path, bytes) in operator_files() {
        let mut numbers = Random::new(bytes.len() as u64 ^ 0x5555);
        for round in 0..120 {
            let mut damaged = bytes.clone();
            let at = numbers.below(damaged.len());
            if round % 2 == 0 {
                damaged[at] = numbers.below(256) as u8;
            } else {
                // Small changes keep the structure and change the meaning.
                damaged[at] = damaged[at].wrapping_add([1, 2, 0xFF, 4, 0x80][numbers.below(5)]);
            }
            survives(damaged, &format!("{} round {round}", path.display()));
        }
    }
}

/// Values are changed by the schema, so that the file stays a valid program with another meaning.
#[test]
fn damaged_values_never_panic() {
    let schema = FlatBuffer::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/program.fbs")).expect("the schema is sound");
    for (path, bytes) in files(&FILES).into_iter().chain(operator_files()) {
        let mut numbers = Random::new(bytes.len() as u64 ^ 0x1234);
        for round in 0..60 {
            let mut damaged = bytes.clone();
            schema.damage(&mut damaged, &mut |bound| numbers.below(bound));
            survives(damaged, &format!("{} round {round}, values", path.display()));
        }
    }
}

/// Graphs of delegates are changed by their schema, inside valid programs.
#[test]
fn damaged_graphs_of_delegates_never_panic() {
    for (file, header, least) in [("xnnpack", b"XH00", 900), ("vulkan", b"VH00", 900)] {
        let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(file).with_extension("fbs");
        let tried = damage_graphs(&FlatBuffer::new(&schema).expect("the schema is sound"), header);
        assert!(tried >= least, "only {tried} damaged graphs of {file}");
    }
}

/// Damages the graphs with this header. Returns the number of changes.
fn damage_graphs(schema: &FlatBuffer, header: &[u8; 4]) -> usize {
    let mut tried = 0;
    for (path, bytes) in files(&FILES).into_iter().chain(operator_files()) {
        let graphs = graphs_of_delegates(&bytes, header);
        let mut numbers = Random::new(bytes.len() as u64 ^ 0x4321);
        for round in 0..if graphs.is_empty() { 0 } else { 300 } {
            let mut damaged = bytes.clone();
            let graph = graphs[numbers.below(graphs.len())].clone();
            schema.damage(&mut damaged[graph], &mut |bound| numbers.below(bound));
            survives(damaged, &format!("{} round {round}, a delegate", path.display()));
            tried += 1;
        }
    }
    tried
}

/// Changed graphs for a device that still load: the decisions for the device end soon and without a panic, and modules are valid.
#[test]
fn damaged_graphs_that_load_become_programs_of_a_device() {
    let schema = FlatBuffer::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/vulkan.fbs")).expect("the schema is sound");
    let (mut tried, mut made) = (0, 0);
    for (path, bytes) in files(&FILES) {
        let graphs = graphs_of_delegates(&bytes, b"VH00");
        let mut numbers = Random::new(bytes.len() as u64 ^ 0x9876);
        for round in 0..if graphs.is_empty() { 0 } else { rounds(40) } {
            let mut damaged = bytes.clone();
            let graph = graphs[numbers.below(graphs.len())].clone();
            if round % 2 == 0 {
                schema.damage(&mut damaged[graph], &mut |bound| numbers.below(bound));
            } else {
                // Identifiers, numbers and the header before them.
                let at = graph.start - 32 + numbers.below(graph.len() + 32);
                damaged[at] = damaged[at].wrapping_add([1, 2, 0xFF, 4, 0x80][numbers.below(5)]);
            }
            tried += 1;
            let what = format!("{} round {round}, for a device", path.display());
            let Ok(mut module) = load(damaged) else { continue };
            let begin = Instant::now();
            modelc::passes::run_all(&mut module);
            let gpu = &GPUS[round % GPUS.len()];
            let Ok(lowered) = pipeline::lower(&module, "damaged", Options { gpu: Some(gpu), ..Options::new(&MACHINES[0]) }) else {
                continue;
            };
            if let Some(device) = &lowered.program.device {
                for kernel in &device.kernels {
                    modelc::codegen::spirv::module(kernel, &gpu.limits).unwrap_or_else(|error| panic!("{what}: {error}"));
                }
                made += 1;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "{what}: took {:?}", begin.elapsed());
        }
    }
    println!("{tried} graphs, {made} of which are programs of a device");
    assert!(made * 10 > tried, "only {made} of {tried} damaged graphs are for a device");
}

/// Returns the number of rounds: `MODELC_ROUNDS`, or `usual`.
fn rounds(usual: usize) -> usize {
    std::env::var("MODELC_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Returns the ranges of the tables of delegates' graphs, which a header with an identifier locates.
fn graphs_of_delegates(bytes: &[u8], identifier: &[u8; 4]) -> Vec<std::ops::Range<usize>> {
    let number = |at: usize| bytes.get(at..at + 4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")) as usize);
    let headers = bytes.windows(4).enumerate().filter(|(at, word)| *word == identifier && *at >= 4).map(|(at, _)| at - 4);
    let range = |header: usize| {
        let start = header + number(header + 10)?;
        Some(start..start + number(header + 14)?)
    };
    headers.filter_map(range).filter(|range| range.end <= bytes.len()).collect()
}

#[test]
fn truncated_files_are_refused() {
    for (path, bytes) in files(&FILES[..5]) {
        for length in (0..bytes.len()).step_by(37) {
            survives(bytes[..length].to_vec(), &format!("{} cut to {length}", path.display()));
        }
        assert!(load(bytes[..bytes.len() / 2].to_vec()).is_err(), "half of {}", path.display());
    }
}

#[test]
fn damaged_bundles_never_panic() {
    let own = support::own("tests/models/executorch/perceptron.bpte");
    let own = (own.clone(), std::fs::read(own).expect("the bundle can be read"));
    for (path, bytes) in
        files(&["mlp.portable.bpte"]).into_iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "bpte")).chain([own])
    {
        let mut numbers = Random::new(7);
        for round in 0..300 {
            let mut damaged = bytes.clone();
            // Test cases and tables are at both ends; weights fill the middle.
            let at = if round % 2 == 0 {
                numbers.below(damaged.len().min(1024))
            } else {
                damaged.len() - 1 - numbers.below(damaged.len().min(4096))
            };
            damaged[at] = numbers.below(256) as u8;
            let shared: Arc<dyn modelc::ir::data::Bytes> = Arc::new(damaged.clone());
            let _ = modelc::frontend::bundled::load(&shared);
            survives(damaged, &format!("{} round {round}", path.display()));
        }
    }
}

/// Cases are changed by the schema: the command reports that they agree, differ, or do not fit.
#[test]
fn damaged_cases_end_with_a_verdict_or_an_error() {
    let schema = FlatBuffer::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/bundled_program.fbs")).expect("the schema is sound");
    let bundle = std::fs::read(support::own("tests/models/executorch/perceptron.bpte")).expect("the bundle can be read");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged.bpte");
    let mut numbers = Random::new(11);
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..150 {
        let mut damaged = bundle.clone();
        schema.damage(&mut damaged, &mut |bound| numbers.below(bound));
        std::fs::write(&path, damaged).expect("the bundle can be written");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_modelc")).arg("verify").arg(&path).output().expect("the command runs");
        let status = output.status.code();
        assert!(matches!(status, Some(0 | 1 | 3)), "round {round}: {status:?} {}", String::from_utf8_lossy(&output.stderr));
        seen.insert(status);
    }
    assert!(seen.len() == 3, "only {seen:?}");
}
