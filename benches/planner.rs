//! Time to plan memory: MiniMalloc's challenging instances (`MODELC_CORPUS/planner/*.csv`), each at the highest effort.

use modelc::plan::{Effort, csv, pack};
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() {
    let root = std::env::var_os("MODELC_CORPUS").map(PathBuf::from);
    let folder = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models")).join("planner");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("{} is no folder: set MODELC_CORPUS", folder.display());
        return;
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.extension().is_some_and(|e| e == "csv")).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("an instance can be read");
        let blocks: Vec<_> = csv::parse(&text).expect("an instance is sound").into_iter().map(|(_, block)| block).collect();
        let start = Instant::now();
        let packing = pack(&blocks, 1 << 20, Effort::Max);
        println!("{:>8} B  {:>8.2} s  {}", packing.height, start.elapsed().as_secs_f64(), file.display());
    }
}
