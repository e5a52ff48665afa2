//! Machines whose instructions are counted: their levels, tools and records.

use crate::process;

/// A system of programs, in the project's folder.
#[derive(PartialEq, Eq, Debug)]
pub struct System {
    /// The folder with the linker script, `program.ld`.
    pub folder: &'static str,
    /// Sources of start-up code and the system's calls.
    pub sources: &'static [&'static str],
}

/// A family of CPU levels.
#[derive(PartialEq, Eq, Debug)]
pub struct Machine {
    /// The target of the compiler, where the name of a level is none.
    pub target: Option<&'static str>,
    /// The recorded counts, in the project's folder.
    pub record: &'static str,
    /// The C compiler that links programs.
    pub compiler: &'static str,
    /// Further arguments of that compiler.
    pub flags: &'static [&'static str],
    /// Parts of programs that stand for a system, where no C library knows it.
    pub system: Option<System>,
    /// Takes the section out of objects by which linkers refuse one profile of the architecture beside another.
    pub without_profile: Option<&'static str>,
    /// The emulator of programs, or of a board.
    pub emulator: &'static str,
    /// Arguments by which the emulator of a board runs a program; none for an emulator of programs.
    pub board: &'static [&'static str],
    /// Argument of the plugin's compiler.
    pub plugin: Option<&'static str>,
    /// The CPU levels, and the oldest of the emulator's processors that has each: another level's instructions stop the program there.
    pub levels: &'static [(&'static str, &'static str)],
}

/// All of them.
pub static MACHINES: [Machine; 4] = [
    Machine {
        target: Some("aarch64-linux-gnu"),
        record: "tests/counts/aarch64.txt",
        compiler: "aarch64-linux-gnu-gcc",
        flags: &[],
        system: None,
        without_profile: None,
        emulator: "qemu-aarch64",
        board: &[],
        plugin: None,
        levels: &[("aarch64", "cortex-a53"), ("aarch64+dotprod", "cortex-a76"), ("aarch64+i8mm", "max,sve=off,sme=off")],
    },
    // The emulator of programs has no processors of profile M, but others execute their instructions.
    Machine {
        target: None,
        record: "tests/counts/cortex-m.txt",
        compiler: "arm-linux-gnueabihf-gcc",
        flags: &["-mthumb"],
        system: None,
        without_profile: Some("arm-linux-gnueabihf-objcopy"),
        emulator: "qemu-arm",
        board: &[],
        plugin: Some("-DTHUMB"),
        levels: &[("cortex-m4f", "max"), ("cortex-m3", "max"), ("cortex-m0plus", "max")],
    },
    // Vectors of profile M run on an emulated board alone.
    Machine {
        target: None,
        record: "tests/counts/cortex-m55.txt",
        compiler: "arm-none-eabi-gcc",
        flags: &["-mcpu=cortex-m55", "-mfloat-abi=hard", "-mthumb", "-DBOARD", "-nostdlib", "-fno-tree-loop-distribute-patterns"],
        system: Some(System { folder: "tests/link/an547", sources: &["examples/baremetal/cortex-m/startup.S"] }),
        without_profile: None,
        emulator: "qemu-system-arm",
        board: &["-M", "mps3-an547", "-semihosting", "-display", "none", "-monitor", "none", "-serial", "none", "-kernel"],
        plugin: Some("-DTHUMB"),
        levels: &[("cortex-m55", "cortex-m55")],
    },
    Machine {
        target: None,
        record: "tests/counts/rv32.txt",
        compiler: "riscv64-unknown-elf-gcc",
        flags: &["-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs", "-nostartfiles"],
        system: Some(System { folder: "tests/link/riscv32", sources: &["tests/link/riscv32/linux.c"] }),
        without_profile: None,
        emulator: "qemu-riscv32",
        board: &[],
        plugin: Some("-DRISCV"),
        levels: &[("rv32imc", "rv32,f=false,d=false")],
    },
];

/// A level's machine, its name and its processor.
///
/// # Errors
/// When no machine has it.
pub fn level(name: &str) -> Result<(&'static Machine, &'static str, &'static str), String> {
    let found = levels().find(|(_, level, _)| *level == name);
    let names = || levels().map(|(_, level, _)| level).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("`{name}` is none of the levels {}", names()))
}

/// All levels.
pub fn levels() -> impl Iterator<Item = (&'static Machine, &'static str, &'static str)> {
    MACHINES.iter().flat_map(|machine| machine.levels.iter().map(move |&(level, processor)| (machine, level, processor)))
}

/// Tools that counting needs and that are missing.
pub fn missing() -> Vec<&'static str> {
    let of_machine = |machine: &Machine| [Some(machine.compiler), machine.without_profile, Some(machine.emulator)];
    let tools = MACHINES.iter().flat_map(of_machine).flatten().chain(["gcc"]);
    tools.filter(|tool| process::find(tool).is_none()).collect()
}
