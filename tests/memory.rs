//! `docs/MEMORY.md` is what the programs of the corpus need and how their products are taken. `MODELC_BLESS=1 cargo test --test memory` writes it anew.
//!
//! Read the difference: a product of bytes that becomes one of floats, or a program that needs more than its file plans, is seen here and in no output.

mod support;

use modelc::Compiler;
use modelc::interface::MethodMemory;
use modelc::program::{self, Method};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::harness::{self, Needs};

const HEAD: &str = "# Memory of the ExecuTorch corpus\n\n\
     A test writes this page from the programs of the corpus, compiled for x86-64-v3. `bytes needed` is scratch memory, state, inputs and outputs of a \
     method, without the 64 bytes of an instance. `bytes planned` is `non_const_buffer_sizes` of the file. It does not include the memory of \
     delegates. The last two columns count kernels of convolutions and matrix products.\n\n\
     | program | method | bytes needed | bytes planned | kernels | float products | integer products |\n|---|---|--:|--:|--:|--:|--:|\n";

/// Larger files take long, and have small twins.
const LARGEST_FILE: u64 = 24 << 20;

/// Programs that say where their inputs and outputs are.
fn programs() -> Vec<PathBuf> {
    let mut programs = support::models("executorch", "pte");
    programs.retain(|path| {
        let is_small = std::fs::metadata(path).is_ok_and(|data| data.len() <= LARGEST_FILE);
        is_small && [".portable", ".xnnpack"].iter().any(|form| support::stem(path).ends_with(form))
    });
    programs
}

/// Kernels of products whose first operand is floats, and of others.
fn products(method: &Method, kernels: &[modelc::kernel::Kernel]) -> [usize; 2] {
    let names = program::calls(&method.steps).into_iter().map(|call| kernels[call.kernel].name.as_str());
    let products: Vec<&str> = names.filter(|name| ["conv_", "matmul_"].iter().any(|form| name.contains(form))).collect();
    let is_of_floats = |name: &&&str| ["_f32", "_f16", "_bf16", "_f64"].iter().any(|element| name.contains(element));
    let floats = products.iter().filter(is_of_floats).count();
    [floats, products.len() - floats]
}

/// The rows of a program, one a method.
fn rows(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut compiler = Compiler::new().target("x86_64-unknown-linux-gnu").cpu("x86-64-v3");
    let tensors = path.with_extension("ptd");
    if tensors.exists() {
        compiler = compiler.data(&tensors.to_string_lossy());
    }
    let (module, lowered) = compiler.lower(Arc::new(bytes), &file).map_err(|error| error.to_string())?;
    let program = &lowered.program;
    let mut text = String::new();
    // Others give constants.
    for (number, method) in program.methods.iter().enumerate().filter(|(_, method)| !method.inputs.is_empty()) {
        let planned = module.imported_plan.iter().flat_map(|plan| plan.methods.get(number)).flat_map(|plan| plan.area_bytes.clone());
        let memory = MethodMemory::new(method, program.variable_bytes, &planned.collect::<Vec<_>>());
        let planned = memory.planned_bytes().map_or("–".into(), |bytes| bytes.to_string());
        let [floats, integers] = products(method, &program.kernels);
        let kernels = program::calls(&method.steps).len();
        let row = format!("{} | {} | {} | {planned} | {kernels} | {floats} | {integers}", support::stem(path), method.name, memory.total());
        let _ = writeln!(text, "| {row} |");
    }
    Ok(text)
}

fn the_table_of_memory_holds() {
    let mut wanted = String::from(HEAD);
    let mut count = 0;
    for path in programs() {
        match rows(&path) {
            Ok(rows) => {
                wanted.push_str(&rows);
                count += 1;
            }
            Err(error) => harness::progress(|| format!("{}: {error}", path.display())),
        }
    }
    let path = support::own("docs/MEMORY.md");
    if std::env::var_os("MODELC_BLESS").is_some() {
        std::fs::write(&path, &wanted).expect("the document can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let others = wanted.lines().filter(|line| !found.lines().any(|other| other == *line)).collect::<Vec<_>>().join("\n");
    assert!(found == wanted, "docs/MEMORY.md is another: read what changed, then run MODELC_BLESS=1 cargo test --test memory\n{others}");
    harness::at_least(count, 60, "programs");
}

fn main() -> std::process::ExitCode {
    harness::run(&[("the_table_of_memory_holds", Needs::Corpus("executorch"), the_table_of_memory_holds)])
}
