//! The peer: LiteRT for aarch64, which selects kernels by the core that it detects.
//!
//! The emulator provides the processor's features. XNNPACK identifies cores by part number, which the program reads from a substitute for
//! `/proc/cpuinfo`.

use super::machines::MACHINES;
use super::program::{Counter, source};
use super::table::Counts;
use crate::process::output;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library's file.
const LIBRARY: &str = "libLiteRt.so";

/// The C library for aarch64, of Debian's package `libc6-arm64-cross`.
const SYSTEM: &str = "/usr/aarch64-linux-gnu/lib";

/// A core that is presented to the library.
pub struct Core {
    pub name: &'static str,
    /// Arm's part number.
    part: u32,
    /// The emulator's processor with its features.
    processor: &'static str,
    /// Our level for the core.
    level: &'static str,
}

/// Cores for which XNNPACK has kernels. The last one multiplies matrices of bytes (`i8mm`).
const CORES: [Core; 5] = [
    Core { name: "Cortex-A53", part: 0xd03, processor: "cortex-a53", level: "aarch64" },
    Core { name: "Cortex-A72", part: 0xd08, processor: "cortex-a72", level: "aarch64" },
    Core { name: "Cortex-A55", part: 0xd05, processor: "cortex-a76", level: "aarch64+dotprod" },
    Core { name: "Cortex-A76", part: 0xd0b, processor: "cortex-a76", level: "aarch64+dotprod" },
    Core { name: "Cortex-X2", part: 0xd48, processor: "max,sve=off,sme=off", level: "aarch64+i8mm" },
];

/// Returns the cores that run our code of a level.
pub fn cores_of(level: &str) -> impl Iterator<Item = &'static Core> + '_ {
    CORES.iter().filter(move |core| core.level == level)
}

/// The peer's program.
pub struct Peer {
    program: PathBuf,
    folder: PathBuf,
}

impl Peer {
    /// Builds the program with a library: its file, or its folder. The library is copied, because accelerators beside it would end the program
    /// on older cores.
    ///
    /// # Errors
    /// A message if there is no such library, or if the program does not link with it.
    pub fn new(counter: &Counter, library: &Path) -> Result<Self, String> {
        let library = if library.is_dir() { library.join(LIBRARY) } else { library.into() };
        let folder = counter.folder.clone();
        let (copy, program) = (folder.join(LIBRARY), folder.join("litert"));
        std::fs::copy(&library, &copy).map_err(|error| format!("{}: {error}", library.display()))?;
        let mut command = Command::new(MACHINES[0].compiler);
        command.args(["-std=c11", "-O1", "-Wl,--allow-shlib-undefined"]).arg(source("litert.c")).arg(copy).arg("-o").arg(&program);
        output(&mut command)?;
        Ok(Self { program, folder })
    }

    /// Counts the instructions of a call on a core.
    ///
    /// # Errors
    /// A message if the library rejects the model, or if the program fails.
    pub fn count(&self, counter: &Counter, model: &Path, core: &Core) -> Result<Counts, String> {
        let system = self.system(core).map_err(|error| format!("a system for {}: {error}", core.name))?;
        let libraries = format!("LD_LIBRARY_PATH={}", self.folder.display());
        let words = [OsStr::new("-L"), system.as_os_str(), OsStr::new("-E"), OsStr::new(&libraries)];
        let program = [self.program.as_os_str(), model.as_os_str()];
        counter.run((&MACHINES[0], core.processor), &[&words[..], &program].concat())
    }

    /// Makes the folder in which the emulator first looks for the program's files.
    fn system(&self, core: &Core) -> std::io::Result<PathBuf> {
        let system = self.folder.join(core.name);
        if !system.is_dir() {
            std::fs::create_dir_all(system.join("proc"))?;
            std::fs::write(system.join("proc/cpuinfo"), description(core))?;
            std::os::unix::fs::symlink(SYSTEM, system.join("lib"))?;
        }
        Ok(system)
    }
}

/// Returns the text of `/proc/cpuinfo` for a core, with an entry for each of this computer's processors.
fn description(core: &Core) -> String {
    let mut text = String::new();
    for number in 0..std::thread::available_parallelism().map_or(1, usize::from) {
        let _ = writeln!(
            text,
            "processor\t: {number}\nBogoMIPS\t: 100.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n\
             CPU variant\t: 0x1\nCPU part\t: {:#x}\nCPU revision\t: 0\n",
            core.part
        );
    }
    text
}
