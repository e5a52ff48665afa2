//! `docs/MICROCONTROLLERS.md`: instructions, flash and RAM of models on microcontrollers. `MODELC_BLESS=1 cargo test --test counts` rewrites it.

use crate::layers::LAYERS;
use crate::support::bless;
use modelc::interface::Footprint;
use modelc::{Model, Settings};
use std::fmt::Write;
use std::path::Path;
use xtask::count::table::Row;
use xtask::count::{Session, model};

const HEAD: &str = "\
# Models on microcontrollers

A test writes this page: `MODELC_BLESS=1 cargo test --test counts`. The models are of int8. TFLite Micro of August 2026 with CMSIS-NN was counted on
`mps2-an386`, and for Cortex-M0+ in the same way. No time is measured: there was no board.
";

/// Sections of the page: title, text, and what a cell holds.
const SECTIONS: [(&str, &str, Cell); 4] = [
    (
        "Instructions",
        "The instructions of a whole call, in thousands. [Benchmarks](benchmarks.md#instructions-on-aarch64) says how they are counted.",
        Cell::Instructions,
    ),
    (
        "Flash",
        "Bytes of code and of tables of calls with `--optimize speed`, and after the stroke with `--optimize size`. TFLite Micro's \
         code has the kernels of the model alone.",
        Cell::Code,
    ),
    ("Weights", "Bytes of all constants with `--optimize speed`. The last column is the model's file.", Cell::Weights),
    ("RAM", "Bytes of the arena and of the stack. TFLite Micro's arena is without its statics.", Cell::Ram),
];

/// Content of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Instructions,
    Code,
    Weights,
    Ram,
}

/// Figures of TFLite Micro: name of the model, thousands of instructions on Cortex-M4F and M0+, bytes of code, arena, stack. A dash is no figure.
const TFLITE_MICRO: [(&str, [&str; 5]); 8] = [
    ("esphome-v2-okay_nabu", ["194", "–", "60,264", "19,460", "1,140"]),
    ("mlperftiny-ad01_int8", ["583", "1,760", "27,724", "2,580", "556"]),
    ("mlperftiny-kws_ref_model", ["7,700", "29,000", "52,884", "22,820", "844"]),
    ("mlperftiny-pretrainedResnet_quant", ["29,900", "97,600", "50,688", "54,996", "844"]),
    ("mlperftiny-str_ww_ref_model", ["2,230", "9,550", "–", "16,596", "1,024"]),
    ("mlperftiny-vww_96_int8", ["24,100", "86,900", "52,884", "100,708", "844"]),
    ("tflm-hello_world_int8", ["3.52", "7.09", "27,724", "772", "748"]),
    ("tflm-person_detect", ["22,900", "–", "70,180", "82,308", "1,236"]),
];

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

/// Formats a number of instructions in thousands, with three digits.
fn thousands(count: u64) -> String {
    match count {
        0..10_000 => format!("{:.2}", count as f64 / 1e3),
        10_000..100_000 => format!("{:.1}", count as f64 / 1e3),
        _ => grouped((count + 500) / 1000),
    }
}

/// A model on a core.
struct Figures<'r> {
    row: &'r Row,
    fast: Footprint,
    small: Footprint,
}

impl<'r> Figures<'r> {
    /// Compiles the model of a record's row for its core.
    fn new(row: &'r Row) -> Result<Self, String> {
        let Row { model: name, level, .. } = row;
        let source = Model::open(model(name)).map_err(|error| format!("{name}: {error}"))?;
        let compile = |settings: Settings| {
            let compiled = source.compile(&settings).map_err(|error| format!("{name} for {level}: {error}"))?;
            Ok::<_, String>(compiled.files.record.footprint)
        };
        let settings = Settings::new().target(level).name("net");
        Ok(Self { row, fast: compile(settings.clone())?, small: compile(settings.optimize_size())? })
    }

    /// Formats a cell.
    fn cell(&self, what: Cell) -> String {
        let Self { row, fast, small } = self;
        match what {
            Cell::Instructions => thousands(row.counts.all()),
            Cell::Code => format!("{} / {}", grouped(fast.code_bytes + fast.table_bytes), grouped(small.code_bytes + small.table_bytes)),
            Cell::Weights => grouped(fast.weights_bytes),
            Cell::Ram => format!("{} + {}", grouped(fast.arena_bytes()), grouped(fast.stack_bytes)),
        }
    }
}

/// Returns the cells of TFLite Micro.
fn of_tflite_micro(what: Cell, name: &str) -> Vec<String> {
    let [m4f, m0, code, arena, stack] = TFLITE_MICRO.iter().find(|(other, _)| *other == name).map_or(["–"; 5], |(_, figures)| *figures);
    match what {
        Cell::Instructions => vec![m4f.into(), m0.into()],
        Cell::Code => vec![code.into()],
        Cell::Weights => vec![std::fs::metadata(model(name)).map_or("–".into(), |file| grouped(file.len()))],
        Cell::Ram => vec![format!("{arena} + {stack}")],
    }
}

/// Returns the page for the recorded models and cores.
fn page(record: &[Row]) -> Result<String, String> {
    let mut cores: Vec<&str> = record.iter().map(|row| row.level.as_str()).collect();
    cores.sort_unstable();
    cores.dedup();
    let mut names: Vec<&str> = record.iter().map(|row| row.model.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let all = record.iter().map(Figures::new).collect::<Result<Vec<_>, _>>()?;
    let cell = |what, name: &str, core: &str| {
        let figures = all.iter().find(|figures| figures.row.model == name && figures.row.level == core);
        figures.map_or("–".into(), |figures| figures.cell(what))
    };
    let mut text = HEAD.to_owned();
    for (title, about, what) in SECTIONS {
        let peers: &[&str] = match what {
            Cell::Instructions => &["TFLite Micro, M4F", "TFLite Micro, M0+"],
            Cell::Weights => &["file"],
            _ => &["TFLite Micro, M4F"],
        };
        let _ = writeln!(text, "\n## {title}\n\n{about}\n\n| model | {} | {} |", cores.join(" | "), peers.join(" | "));
        let _ = writeln!(text, "|---|{}", "--:|".repeat(cores.len() + peers.len()));
        for name in &names {
            let own: Vec<String> = cores.iter().map(|core| cell(what, name, core)).collect();
            let _ = writeln!(text, "| {name} | {} |", [own, of_tflite_micro(what, name)].concat().join(" | "));
        }
    }
    Ok(text)
}

/// Cores on which layers are counted, each beside CMSIS-NN.
const CORES_OF_LAYERS: [&str; 3] = ["cortex-m4f", "cortex-m55", "rv32imc"];

/// Largest ratio to CMSIS-NN that is accepted for a layer on each core.
const MOST_OF_CMSIS_NN: [f64; 3] = [0.8, 0.8, 1.0];

/// Returns the section of single layers. Counts each of them.
fn layers() -> Result<String, String> {
    let mut text = String::from(
        "\n## Layers\n\nInstructions for 1000 multiply-accumulates of models of one layer, with the call and requantization. All but the last have a ReLU.\nAfter the \
         stroke: CMSIS-NN of July 2026, with DSP on M4 and MVE on M55.\n\n| layer | cortex-m4f | cortex-m55 | rv32imc |\n|---|--:|--:|--:|\n",
    );
    let session = Session::new(Path::new(env!("CARGO_BIN_EXE_modelc")))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("layer.tflite");
    for layer in &LAYERS {
        std::fs::write(&path, layer.model()).map_err(|error| error.to_string())?;
        let mut cells = Vec::new();
        for ((core, theirs), most) in CORES_OF_LAYERS.iter().zip(layer.cmsis_nn).zip(MOST_OF_CMSIS_NN) {
            let ours = session.count(&path, core, "speed")?.all() * 1000 / layer.multiply_accumulates();
            if ours as f64 > theirs as f64 * most {
                return Err(format!("{} on {core}: {ours} instructions are more than {most} of {theirs}", layer.name));
            }
            cells.push(format!("{} / {}", grouped(ours), grouped(theirs)));
        }
        let _ = writeln!(text, "| {} | {} |", layer.name, cells.join(" | "));
    }
    Ok(text)
}

/// Compares the page with the recorded counts, with objects compiled now, and with layers counted now.
pub fn the_page_of_microcontrollers_holds() {
    let mut record = xtask::count::recorded().unwrap_or_else(|error| panic!("{error}"));
    record.retain(|row| !row.level.starts_with("aarch64"));
    let tables = page(&record).and_then(|page| Ok(page + &layers()?));
    let wanted = tables.unwrap_or_else(|error| panic!("{error}"));
    bless::text("docs/MICROCONTROLLERS.md", &wanted);
    bless::text("README.md", &crate::readme::with_figures(&wanted));
}
