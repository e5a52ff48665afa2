//! Runs of one compiler.

use super::matrix::{Configuration, Target};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Result of a compilation.
pub enum Made {
    /// The written files.
    Files {
        /// The bytes of the object.
        object: Vec<u8>,
        /// The bytes of the header.
        header: Vec<u8>,
    },
    /// The compiler's exit status, if it refuses the model, for example because the target lacks something.
    Refused(String),
}

/// A compiler, with a folder for its files.
pub struct Compiler {
    program: PathBuf,
    folder: PathBuf,
}

static FOLDERS: AtomicUsize = AtomicUsize::new(0);

impl Compiler {
    /// Makes a compiler with a temporary folder.
    ///
    /// # Errors
    /// A message if the program is missing, or if its folder cannot be made.
    pub fn new(program: &Path) -> Result<Self, String> {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("modelc-replay-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = std::fs::canonicalize(program).map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(Self { program, folder })
    }

    /// Compiles a model. Both compilers get the same words, so that no path makes a difference.
    ///
    /// # Errors
    /// A message if the compiler cannot be run, or if its files cannot be read.
    pub fn compile(&self, model: &Path, configuration: &Configuration) -> Result<Made, String> {
        let model = std::fs::canonicalize(model).map_err(|error| format!("{}: {error}", model.display()))?;
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).arg(&model).args(["-o", "net.o"]).args(&configuration.options);
        let tensors = model.with_extension("ptd");
        if tensors.is_file() {
            command.arg("--data").arg(tensors);
        }
        let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run {}: {error}", self.program.display()))?;
        if !output.status.success() {
            return Ok(Made::Refused(output.status.to_string()));
        }
        let read = |name: &str| std::fs::read(self.folder.join(name)).map_err(|error| format!("{name} of {}: {error}", model.display()));
        Ok(Made::Files { object: read("net.o")?, header: read("net.h")? })
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        // Leftover files in a temporary folder do no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the targets of a compiler.
///
/// # Errors
/// A message if it cannot be run, or if its table is not understood.
pub fn targets(program: &Path) -> Result<Vec<Target>, String> {
    let output = Command::new(program).arg("targets").output().map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let targets = rows(&table);
    if targets.is_empty() { Err(format!("`{} targets` lists nothing", program.display())) } else { Ok(targets) }
}

/// Parses the rows of the table: triple, kind of object, CPU levels, other spellings, separated by two or more spaces.
fn rows(table: &str) -> Vec<Target> {
    let rows = table.lines().skip(1).take_while(|line| !line.is_empty());
    rows.filter_map(|line| {
        let mut columns = line.split("  ").filter(|column| !column.is_empty());
        let (triple, _, levels) = (columns.next()?, columns.next()?, columns.next()?);
        Some(Target { triple: triple.trim().into(), levels: levels.split_whitespace().map(str::to_owned).collect() })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn targets_are_read_from_the_table() {
        let table = "target  objects  CPU levels (by default all)  other spellings\n\
                     x86_64-linux  ELF      v3 v2   x86_64 amd64\n\
                     riscv64       Mach-O   riscv64  \n\nNo device.\n";
        let found: Vec<(String, String)> = rows(table).into_iter().map(|target| (target.triple, target.levels.join("+"))).collect();
        assert_eq!(found, [("x86_64-linux".into(), "v3+v2".into()), ("riscv64".into(), "riscv64".into())]);
    }
}
