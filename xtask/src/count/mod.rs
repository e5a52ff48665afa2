//! `cargo xtask count`: the instructions that one call of a model executes on aarch64, Cortex-M and RISC-V, by class.
//!
//! Objects are linked with a C program that runs under an emulator of programs; a plugin counts between two marks. A count is exact, and the
//! same on every computer, but it is not a time. Each of [`machines::MACHINES`] has a record with the counts of some models, with which later ones are compared.

mod litert;
pub mod machines;
mod program;
pub mod table;

use crate::Outcome;
use crate::process::{self, cargo, root};
use program::Counter;
use std::path::{Path, PathBuf};
use table::{Counts, Row};

const FLAGS: &str = "[MODEL.tflite|MODEL.pte ...] [--cpu LEVEL] [--peer LIBRARY] [--head BINARY]";

/// Largest accepted difference from a recorded count, in thousandths.
pub const TOLERANCE: u64 = 20;

/// Options of the command line.
struct Options {
    models: Vec<PathBuf>,
    levels: Vec<&'static str>,
    /// LiteRT for aarch64: the library, or its folder.
    peer: Option<PathBuf>,
    /// The compiler; by default the release build of this checkout.
    head: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { models: vec![], levels: vec![], peer: None, head: None };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("`{argument}` needs a value: {FLAGS}"));
            match argument.as_str() {
                "--cpu" => options.levels.push(machines::level(value()?)?.1),
                "--peer" => options.peer = Some(value()?.into()),
                "--head" => options.head = Some(value()?.into()),
                flag if flag.starts_with('-') => return Err(format!("`{flag}` is no option: {FLAGS}")),
                model => options.models.push(model.into()),
            }
        }
        if options.levels.is_empty() {
            options.levels = machines::levels().map(|(_, level, _)| level).collect();
        }
        Ok(options)
    }
}

/// Returns the tools for counting that are missing.
pub fn missing() -> Vec<&'static str> {
    machines::missing()
}

/// Reads the recorded counts.
///
/// # Errors
/// A message if the file cannot be read or is malformed.
pub fn recorded() -> Result<Vec<Row>, String> {
    let mut rows = vec![];
    for machine in &machines::MACHINES {
        let path = root().join(machine.record);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        rows.extend(table::parse(&text)?);
    }
    Ok(rows)
}

/// Writes new counts into the records.
fn bless(record: Vec<Row>, rows: Vec<Row>) -> Outcome {
    for machine in &machines::MACHINES {
        let is_own = |row: &&Row| machine.levels.iter().any(|(level, _)| *level == row.level);
        let own = |rows: &[Row]| rows.iter().filter(is_own).cloned().collect();
        let path = root().join(machine.record);
        std::fs::write(&path, table::written(own(&record), own(&rows))).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Returns the file of a recorded model, in the corpus or among the examples.
pub fn model(name: &str) -> PathBuf {
    let corpus = std::env::var_os("MODELC_CORPUS").map_or_else(|| root().join("../shared/models"), PathBuf::from);
    let folders = [corpus.join("tflite"), root().join("examples/digits")];
    let paths = folders.map(|folder| folder.join(format!("{name}.tflite")));
    paths.iter().find(|path| path.is_file()).unwrap_or(&paths[0]).clone()
}

/// Counts models that one compiler compiles, one after the other.
pub struct Session {
    modelc: PathBuf,
    counter: Counter,
}

impl Session {
    /// Makes a session with a compiler.
    ///
    /// # Errors
    /// A message if a tool is missing, or if the plugin does not compile.
    pub fn new(modelc: &Path) -> Result<Self, String> {
        let missing = missing();
        if !missing.is_empty() {
            return Err(format!("{} not found; `cargo xtask setup` installs what is needed", missing.join(", ")));
        }
        Ok(Self { modelc: modelc.into(), counter: Counter::new()? })
    }

    /// Counts the instructions of one call of a model's first method. `goal` is what `--optimize` names.
    ///
    /// # Errors
    /// A message if the model is not compiled, if its inputs are not known before it runs, or if the call fails.
    pub fn count(&self, model: &Path, level_name: &str, goal: &str) -> Result<Counts, String> {
        let (machine, level, processor) = machines::level(level_name)?;
        let program = self.counter.build(&self.modelc, model, (machine, level), goal)?;
        self.counter.run((machine, processor), &[program.as_os_str()])
    }
}

/// Counts, prints a table, and compares it with the recorded one. `MODELC_BLESS=1` records it.
///
/// # Errors
/// A message if an argument is not understood, if a tool is missing, or if a model cannot be counted. Also if a count differs from the recorded one.
pub fn run(arguments: &[String]) -> Outcome {
    let mut options = Options::parse(arguments)?;
    let record = recorded()?;
    let modelc = match options.head.take() {
        Some(program) => program,
        None => {
            process::run(cargo().args(["build", "--release", "--bin", "modelc"]))?;
            process::target().join("release/modelc")
        }
    };
    let session = Session::new(&modelc)?;
    let (rows, mut failures) = count_all(&options, &session, &record)?;
    if crate::bless::is_wanted() {
        bless(record, rows)?;
    } else {
        failures.extend(table::differences(&record, &rows, TOLERANCE));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// The models and levels that are asked for; those of the record where no model is named.
fn wanted(options: &Options, record: &[Row]) -> Vec<(PathBuf, &'static str)> {
    let levels = options.levels.iter().copied();
    if !options.models.is_empty() {
        return options.models.iter().flat_map(|model| levels.clone().map(move |level| (model.clone(), level))).collect();
    }
    let of_record = |row: &Row| levels.clone().find(|level| *level == row.level).map(|level| (model(&row.model), level));
    record.iter().filter_map(of_record).collect()
}

/// Counts models at levels, and the peer's on its processors; prints each count. Gives ours, and what failed.
fn count_all(options: &Options, session: &Session, record: &[Row]) -> Result<(Vec<Row>, Vec<String>), String> {
    let peer = options.peer.as_deref().map(|library| litert::Peer::new(&session.counter, library)).transpose()?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    println!("{}", table::HEAD);
    for (model, level) in wanted(options, record) {
        let name = model.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let counts = match session.count(&model, level, "speed") {
            Ok(counts) => counts,
            Err(error) => {
                failures.push(format!("{name} at {level}: {error}"));
                continue;
            }
        };
        println!("{}", table::line(&name, level, &counts, None));
        for core in peer.iter().flat_map(|_| litert::cores_of(level)) {
            let Some(peer) = &peer else { continue };
            match peer.count(&session.counter, &model, core) {
                Ok(theirs) => println!("{}", table::line("  LiteRT", core.name, &theirs, Some(&counts))),
                Err(error) => println!("  LiteRT on {}: {error}", core.name),
            }
        }
        rows.push(Row { model: name, level: level.into(), counts });
    }
    Ok((rows, failures))
}

#[cfg(test)]
mod tests {
    use super::{Options, Row, missing, recorded, table};

    #[test]
    fn options_are_read_and_mistakes_refused() {
        let parse = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let options = parse(&["m.tflite", "--cpu", "aarch64+dotprod", "--peer", "l.so"]).expect("all is well");
        assert_eq!((options.models.len(), options.levels, options.peer.is_some()), (1, vec!["aarch64+dotprod"], true));
        assert_eq!(parse(&[]).expect("all is well").levels.len(), 8);
        for wrong in [&["--cpu", "x86-64-v3"][..], &["--cpu"], &["--fast"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_record_is_read_and_written_alike() {
        let record: Vec<Row> = recorded().expect("a record").into_iter().filter(|row| row.level.starts_with("aarch64")).collect();
        let mut models: Vec<&str> = record.iter().map(|row| row.model.as_str()).collect();
        models.dedup();
        assert!(models.len() >= 10, "{models:?}");
        assert_eq!(table::parse(&table::written(record.clone(), vec![])).expect("a record"), record);
    }

    #[test]
    fn what_is_missing_has_a_name() {
        assert!(missing().iter().all(|tool| !tool.is_empty()));
    }
}
