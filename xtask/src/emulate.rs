//! `cargo xtask emulate`: a program in an emulated computer whose CPU has AVX-512 with VNNI, for a computer that has not got it.
//!
//! Bochs starts a Linux kernel of Debian's that lies in its memory already, with a file system in memory that holds the
//! program, the libraries it is linked with and the files that were named. What the program prints comes over a serial line.

mod memory;

use crate::Outcome;
use crate::process::{find, root, run, run_then_print};
use memory::{CYLINDER, FILE_SYSTEM, FileSystem, KERNEL, Kernel, PARAMETERS};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How the command is called.
pub const USAGE: &str = "cargo xtask emulate [--with FILE-OR-FOLDER]... [--seconds N] -- PROGRAM [ARGUMENT]...";

/// Bochs 2.7's newest CPU; it has all of x86-64-v4 and VNNI.
const CPU: &str = "tigerlake";
const MEMORY_BYTES: u64 = 2 << 30;

/// Acceleration that Bochs's devices have not got, and time that passes by instructions, are not to be waited for.
const COMMAND_LINE: &str =
    "console=ttyS0,115200 earlyprintk=ttyS0,115200 idle=poll highres=off nohz=off nolapic_timer hpet=disable clearcpuid=321,323,515,516 nokaslr mitigations=off tsc=reliable panic=-1 rdinit=/init";

/// The line with which the emulated computer says that the program has ended.
const END: &str = "emulated program ended with ";

struct Arguments {
    with: Vec<PathBuf>,
    limit: Duration,
    command: Vec<String>,
}

impl Arguments {
    fn read(words: &[String]) -> Result<Self, String> {
        let (options, command) = match words.iter().position(|word| word == "--") {
            Some(at) if at + 1 < words.len() => (&words[..at], words[at + 1..].to_vec()),
            _ => return Err(format!("which program?\n{USAGE}")),
        };
        let mut arguments = Self { with: vec![], limit: Duration::from_secs(3600), command };
        for option in options.chunks(2) {
            match option {
                [name, path] if name == "--with" => arguments.with.push(absolute(path)?),
                [name, seconds] if name == "--seconds" => {
                    let seconds = seconds.parse().map_err(|_| format!("{seconds} is no number of seconds"))?;
                    arguments.limit = Duration::from_secs(seconds);
                }
                _ => return Err(format!("{} is no option\n{USAGE}", option.join(" "))),
            }
        }
        Ok(arguments)
    }
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|error| format!("cannot find {path}: {error}"))
}

/// Runs a program in the emulated computer and prints what it prints. Its folder is the one that is current here, its environment has
/// the variables whose names begin with `MODELC_` and `RUST_`.
///
/// # Errors
/// When tools are missing, when the program ends with another status than 0, or not in time.
pub fn emulate(words: &[String]) -> Outcome {
    let arguments = Arguments::read(words)?;
    if find("bochs-bin").is_none() {
        return Err("Bochs is not here: install Debian's packages bochs and bochsbios".into());
    }
    let folder = root().join("target/emulate");
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let kernel = debian_file(&folder, "linux-image-cloud-amd64", "boot", "vmlinuz-")?;
    let shell = debian_file(&folder, "busybox-static", "bin", "busybox")?;
    let session = folder.join(format!("session-{}", std::process::id()));
    std::fs::create_dir_all(&session).map_err(|error| format!("cannot make {}: {error}", session.display()))?;
    write_session(&session, &kernel, &file_system(&arguments, &shell)?)?;
    let outcome = start(&session, arguments.limit);
    // The disk is large and can be made again; what Bochs says may be of use after a failure.
    let _ = std::fs::remove_file(session.join("disk"));
    if outcome.is_ok() {
        let _ = std::fs::remove_dir_all(&session);
    }
    outcome
}

/// A file of a Debian package, or of the package that it stands for, downloaded once.
fn debian_file(folder: &Path, package: &str, inside: &str, prefix: &str) -> Result<PathBuf, String> {
    let unpacked = folder.join(package);
    let present = || {
        let entries = std::fs::read_dir(unpacked.join(inside)).ok()?;
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix)))
    };
    if let Some(file) = present() {
        return Ok(file);
    }
    let depends =
        Command::new("apt-cache").args(["depends", package]).output().map_err(|error| format!("cannot run apt-cache: {error}"))?;
    let text = String::from_utf8_lossy(&depends.stdout).into_owned();
    let versioned = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).find(|name| name.starts_with("linux-image"));
    let download = folder.join("download");
    let _ = std::fs::remove_dir_all(&download);
    std::fs::create_dir_all(&download).map_err(|error| format!("cannot make {}: {error}", download.display()))?;
    run(Command::new("apt-get").current_dir(&download).arg("download").arg(versioned.unwrap_or(package)))?;
    let entries = std::fs::read_dir(&download).map_err(|error| error.to_string())?;
    for archive in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(&unpacked))?;
    }
    present().ok_or_else(|| format!("the package {package} has no {inside}/{prefix}"))
}

/// The program, its libraries, what was named, and what starts it.
fn file_system(arguments: &Arguments, shell: &Path) -> Result<Vec<u8>, String> {
    let program = match find(&arguments.command[0]) {
        Some(program) => program,
        None => absolute(&arguments.command[0])?,
    };
    let mut files = FileSystem::default();
    for folder in ["/dev", "/proc", "/sys", "/tmp"] {
        files.folder(folder);
    }
    let here = std::env::current_dir().map_err(|error| format!("no current folder: {error}"))?.to_string_lossy().into_owned();
    files.file("/bin/busybox", &std::fs::read(shell).map_err(|error| format!("cannot read {}: {error}", shell.display()))?);
    files.file(&format!("{here}/.keep"), &[]);
    files.file("/init", first_process(&here, &program, &arguments.command[1..]).as_bytes());
    for path in libraries(&program)?.iter().chain([&program]).chain(&arguments.with) {
        files.copy(path)?;
    }
    Ok(files.finish())
}

/// The script that the kernel runs.
fn first_process(here: &str, program: &Path, rest: &[String]) -> String {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    let is_ours = |name: &str| name.starts_with("MODELC_") || name.starts_with("RUST_");
    let variables = std::env::vars().filter(|(name, _)| is_ours(name)).map(|(name, value)| format!("export {name}={}\n", quoted(&value)));
    let words: Vec<String> = std::iter::once(&*program.to_string_lossy()).chain(rest.iter().map(|w| w.as_str())).map(quoted).collect();
    format!(
        "#!/bin/busybox sh\n\
         /bin/busybox mount -t devtmpfs none /dev\n/bin/busybox mount -t proc none /proc\n/bin/busybox mount -t sysfs none /sys\n\
         exec < /dev/null > /dev/ttyS0 2>&1\n\
         {}cd {}\n{}\necho \"{END}$?\"\n/bin/busybox sleep 100000\n",
        variables.collect::<String>(),
        quoted(here),
        words.join(" ")
    )
}

/// The files that a program is linked with at run time; none for a static one.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, String> {
    let output = Command::new("ldd").arg(program).output().map_err(|error| format!("cannot run ldd: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).filter(|path| path.is_file()).collect())
}

/// The disk that Bochs starts from, and its settings.
fn write_session(session: &Path, kernel: &Path, files: &[u8]) -> Outcome {
    let write = |name: &str, contents: &[u8]| {
        let path = session.join(name);
        std::fs::write(&path, contents).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    let kernel = std::fs::read(kernel).map_err(|error| format!("cannot read {}: {error}", kernel.display()))?;
    let kernel = Kernel::read(&kernel)?;
    let parameters = kernel.parameters(COMMAND_LINE, files.len() as u32, MEMORY_BYTES)?;
    let source = root().join("xtask/src/emulate/boot.S");
    let sector = session.join("boot");
    // Where the firmware puts the first sector of a disk.
    const LAYOUT: &str = "-Wl,-Ttext=0x7c00,--oformat=binary,--build-id=none";
    run_then_print(Command::new("gcc").args(["-nostdlib", "-static", LAYOUT, "-o"]).arg(&sector).arg(source))?;
    let sector = std::fs::read(&sector).map_err(|error| format!("cannot read {}: {error}", sector.display()))?;
    let disk = memory::disk(&sector, &[(PARAMETERS, &parameters), (KERNEL, kernel.code), (FILE_SYSTEM, files)]);
    write("settings", settings(disk.len() / CYLINDER).as_bytes())?;
    write("disk", &disk)
}

/// File names are those in the session's folder: Bochs has not got room for long ones.
fn settings(cylinders: usize) -> String {
    let megabytes = MEMORY_BYTES >> 20;
    format!(
        "megs: {megabytes}\n\
         cpu: model={CPU}, count=1, ips=300000000, reset_on_triple_fault=0\n\
         romimage: file=/usr/share/bochs/BIOS-bochs-latest\n\
         vgaromimage: file=/usr/share/vgabios/vgabios.bin\n\
         ata0-master: type=disk, path=disk, mode=flat, cylinders={cylinders}, heads=16, spt=63\n\
         boot: disk\n\
         sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy\n\
         display_library: rfb, options=\"timeout=0\"\n\
         com1: enabled=1, mode=file, dev=serial\n\
         log: log\n\
         panic: action=fatal\n\
         error: action=report\n\
         info: action=ignore\n\
         clock: sync=none, time0=utc\n"
    )
}

/// Starts the emulated computer and prints its serial line, to the end of the program in it.
fn start(session: &Path, limit: Duration) -> Outcome {
    let mut command = Command::new("bochs-bin");
    command.current_dir(session).args(["-q", "-f", "settings"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut bochs = command.spawn().map_err(|error| format!("cannot run Bochs: {error}"))?;
    // Debian's Bochs stops in its debugger first.
    if let Some(mut input) = bochs.stdin.take() {
        let _ = input.write_all(b"c\n");
        let outcome = watch(&mut bochs, session, limit);
        let _ = bochs.kill();
        let _ = bochs.wait();
        return outcome;
    }
    Err("no way to talk to Bochs".into())
}

fn watch(bochs: &mut Child, session: &Path, limit: Duration) -> Outcome {
    let began = Instant::now();
    let (mut read, mut line) = (0, Vec::new());
    while began.elapsed() < limit {
        let ended = bochs.try_wait().ok().flatten().is_some();
        let mut more = Vec::new();
        if let Ok(mut serial) = std::fs::File::open(session.join("serial")) {
            let _ = serial.seek(SeekFrom::Start(read)).and_then(|_| serial.read_to_end(&mut more));
        }
        read += more.len() as u64;
        for byte in more.into_iter().filter(|&byte| byte != b'\r') {
            line.push(byte);
            if byte == b'\n' {
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                if let Some(status) = text.strip_prefix(END) {
                    println!("{:.0} s in the emulator", began.elapsed().as_secs_f64());
                    return if status.trim() == "0" { Ok(()) } else { Err(format!("the program ended with status {}", status.trim())) };
                }
                print!("{text}");
            }
        }
        if ended {
            return Err(format!("Bochs ended before the program; see {}", session.join("log").display()));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(format!("not done after {} s", limit.as_secs()))
}
