//! `cargo xtask emulate`: runs a C program in an emulated computer whose CPU has AVX-512 with VNNI, for computers without it.
//!
//! The program runs on Bochs without an operating system, so it starts within seconds. `emulated.h` declares the functions that it can call.
//! Objects of `modelc` need no others. Floating-point exceptions stay masked, as after a reset.

mod disk;

use crate::Outcome;
use crate::process::{find, root, run, target};
use disk::CYLINDER;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Usage of the command.
const USAGE: &str = "cargo xtask emulate [--data FILE] [-I FOLDER]... FILE.c|FILE.o ...";

/// The newest CPU of Bochs 2.7; it has all of x86-64-v4 and VNNI.
const CPU: &str = "tigerlake";

/// Addresses of program and data in memory, which `boot.S` and `emulated.h` also define.
const PROGRAM: u32 = 0x100_0000;
const DATA: u32 = 0x1000_0000;
/// Bytes before the data, for its size.
const DATA_HEADER: usize = 64;
const MEMORY_MEBIBYTES: u64 = 1024;

/// Marks the program's message at its end.
const END: &str = "ended with ";

/// Builds a program from its arguments, runs it, and prints its output.
///
/// # Errors
/// A message if tools are missing, if the program cannot be built, or if `main` does not return 0.
pub fn emulate(words: &[String]) -> Outcome {
    let (data, sources) = arguments(words)?;
    if find("bochs-bin").is_none() {
        return Err("Bochs is not here: install Debian's packages bochs and bochsbios".into());
    }
    let session = target().join(format!("emulate/{}", std::process::id()));
    std::fs::create_dir_all(&session).map_err(|error| format!("cannot make {}: {error}", session.display()))?;
    let outcome = prepare(&session, data.as_deref(), &sources).and_then(|()| execute(&session));
    // Messages of Bochs may help after a failure. The disk is large and can be made again.
    let _ = std::fs::remove_file(session.join("disk"));
    if outcome.is_ok() {
        let _ = std::fs::remove_dir_all(&session);
    }
    outcome
}

/// Parses the file of data, and the arguments of the compiler.
fn arguments(words: &[String]) -> Result<(Option<PathBuf>, Vec<String>), String> {
    let (mut data, mut sources) = (None, Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--data" => data = Some(rest.next().ok_or_else(|| format!("--data wants a file\n{USAGE}"))?.into()),
            _ => sources.push(word.clone()),
        }
    }
    if sources.is_empty() { Err(format!("which program?\n{USAGE}")) } else { Ok((data, sources)) }
}

/// Writes the disk from which Bochs starts, and its settings.
fn prepare(session: &Path, data: Option<&Path>, sources: &[String]) -> Outcome {
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let own = root().join("xtask/src/emulate");
    let (sector, program) = (session.join("boot"), session.join("program"));
    // The firmware loads the first sector of a disk to this address.
    link(&sector, "-Wl,-Ttext=0x7c00", &[own.join("boot.S").to_string_lossy().into_owned()])?;
    let [folder, start] = [own.clone(), own.join("start.c")].map(|path| path.to_string_lossy().into_owned());
    let words = ["-O1", "-ffreestanding", "-fno-pie", "-mno-red-zone", "-I", &folder, &start].map(str::to_owned);
    let inputs: Vec<String> = words.iter().chain(sources).cloned().collect();
    link(&program, &format!("-Wl,-T,{}", own.join("program.ld").display()), &inputs)?;
    let mut parts = vec![(PROGRAM, read(&program)?)];
    if let Some(path) = data {
        let file = read(path)?;
        let mut part = (file.len() as u64).to_le_bytes().to_vec();
        part.resize(DATA_HEADER, 0);
        part.extend(file);
        parts.push((DATA, part));
    }
    let parts: Vec<(u32, &[u8])> = parts.iter().map(|(address, bytes)| (*address, bytes.as_slice())).collect();
    let disk = disk::disk(&read(&sector)?, &parts);
    let write = |name: &str, contents: &[u8]| {
        let path = session.join(name);
        std::fs::write(&path, contents).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    write("settings", settings(disk.len() / CYLINDER).as_bytes())?;
    write("disk", &disk)
}

/// Links a flat image of some inputs, without libraries.
fn link(to: &Path, layout: &str, inputs: &[String]) -> Outcome {
    const FLAT: [&str; 3] = ["-nostdlib", "-static", "-Wl,--oformat=binary,--build-id=none"];
    run(Command::new("gcc").args(FLAT).arg(layout).arg("-o").arg(to).args(inputs))
}

/// Returns the settings of Bochs. File names are relative to the session's folder, because Bochs has no room for long ones.
fn settings(cylinders: usize) -> String {
    format!(
        "megs: {MEMORY_MEBIBYTES}\n\
         cpu: model={CPU}, count=1, ips=300000000, reset_on_triple_fault=0\n\
         romimage: file=/usr/share/bochs/BIOS-bochs-legacy\n\
         vgaromimage: file=/usr/share/vgabios/vgabios.bin\n\
         ata0-master: type=disk, path=disk, mode=flat, cylinders={cylinders}, heads=16, spt=63\n\
         boot: disk\n\
         sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy\n\
         display_library: rfb, options=\"timeout=0\"\n\
         port_e9_hack: enabled=1\n\
         log: log\n\
         panic: action=fatal\n\
         error: action=report\n\
         info: action=ignore\n\
         clock: sync=none\n"
    )
}

/// Runs the emulated computer to its end and prints the program's output, which starts after the debugger's prompt.
fn execute(session: &Path) -> Outcome {
    let mut command = Command::new("bochs-bin");
    command.current_dir(session).args(["-q", "-f", "settings"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut bochs = command.spawn().map_err(|error| format!("cannot run Bochs: {error}"))?;
    if let Some(mut input) = bochs.stdin.take() {
        // Debian's Bochs stops in its debugger at the start and at the end.
        let _ = input.write_all(b"c\nq\n");
    }
    let mut status = None;
    if let Some(output) = bochs.stdout.take() {
        let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
        for line in lines.map(|line| String::from_utf8_lossy(&line).into_owned()) {
            status = status.or(line.strip_prefix(END).and_then(|number| number.trim().parse::<i64>().ok()));
            println!("{line}");
        }
    }
    let _ = bochs.wait();
    match status {
        Some(0) => Ok(()),
        Some(number) => Err(format!("the program ended with {number}")),
        None => Err(format!("the program did not end; see {}", session.join("log").display())),
    }
}
