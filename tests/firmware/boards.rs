//! Boards that QEMU emulates: their compilers and memories, and programs with the start-up code of the example.

use crate::support;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A compiler with an emulator of its boards, and the start-up code of the cores.
#[derive(Clone, Copy)]
pub struct Kit {
    pub compiler: &'static str,
    emulator: &'static str,
    startup: &'static str,
}

const ARM: Kit = Kit { compiler: "arm-none-eabi-gcc", emulator: "qemu-system-arm", startup: "startup.S" };
const RISCV: Kit = Kit { compiler: "riscv64-unknown-elf-gcc", emulator: "qemu-system-riscv32 -bios none", startup: "startup-riscv.S" };

/// A board: the core's name for modelc, options of GCC, QEMU's machine, and the map of its memory.
pub struct Board<'a> {
    pub core: &'static str,
    pub options: &'a str,
    pub machine: &'static str,
    pub memory: &'static str,
    pub kit: Kit,
    /// Bytes of RAM for the stack.
    pub stack: u32,
}

pub const M0: Board<'static> =
    Board { core: "cortex-m0", options: "-mcpu=cortex-m0", machine: "microbit", memory: "memory-microbit.ld", kit: ARM, stack: 2048 };
pub const M3: Board<'static> =
    Board { core: "cortex-m3", options: "-mcpu=cortex-m3", machine: "mps2-an385", memory: "memory.ld", kit: ARM, stack: 8192 };
pub const M4F: Board<'static> =
    Board { core: "cortex-m4f", options: "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard", machine: "mps2-an386", ..M3 };
pub const M7: Board<'static> =
    Board { core: "cortex-m7", options: "-mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=softfp", machine: "mps2-an500", ..M3 };
/// A core whose FPU has binary64.
pub const M7_DP: Board<'static> = Board { core: "cortex-m7+dp", options: "-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard", ..M7 };
pub const M33: Board<'static> =
    Board { core: "cortex-m33", options: "-mcpu=cortex-m33 -mfloat-abi=soft", machine: "mps2-an505", memory: "memory-an505.ld", ..M3 };
pub const M55: Board<'static> =
    Board { core: "cortex-m55", options: "-mcpu=cortex-m55 -mfloat-abi=hard", machine: "mps3-an547", memory: "memory-an547.ld", ..M3 };
pub const RV32IMC: Board<'static> =
    Board { core: "rv32imc", options: "-march=rv32imc -mabi=ilp32", machine: "virt", memory: "memory-riscv.ld", kit: RISCV, stack: 8192 };

/// Files of the example, and their names in the folder of a program.
const COPIED: [(&str, &str); 8] = [
    ("link.ld", "link.ld"),
    ("cortex-m/startup.S", "startup.S"),
    ("cortex-m/memory.ld", "memory.ld"),
    ("cortex-m/memory-an505.ld", "memory-an505.ld"),
    ("cortex-m/memory-an547.ld", "memory-an547.ld"),
    ("cortex-m/memory-microbit.ld", "memory-microbit.ld"),
    ("riscv/startup.S", "startup-riscv.S"),
    ("riscv/memory.ld", "memory-riscv.ld"),
];

/// Makes a folder with the example's start-up code.
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = support::own("examples/baremetal");
    for (name, copy) in COPIED {
        fs::copy(examples.join(name), folder.path().join(copy)).expect("it is copied");
    }
    for name in ["board.c", "interrupts.c"] {
        fs::copy(support::own("tests/firmware").join(name), folder.path().join(name)).expect("it is copied");
    }
    folder
}

/// Runs a program in a folder.
pub fn run(program: &str, words: &str, folder: &Path) -> Output {
    let output = Command::new(program).args(words.split_whitespace()).current_dir(folder).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask setup` installs what the tests use"))
}

/// Runs a program that must succeed. Returns its output.
pub fn done(program: &str, words: &str, folder: &Path) -> String {
    let output = run(program, words, folder);
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {words}\n{said}");
    said
}

/// Compiles the digits.
pub fn compile(core: &str, options: &str, folder: &Path) {
    compile_model(&support::own("examples/digits/digits_int8.tflite"), core, options, folder);
}

/// Compiles a model, with a test and a benchmark of its recorded calls.
pub fn compile_model(model: &Path, core: &str, options: &str, folder: &Path) {
    let (inputs, expected) = (model.with_extension("inputs.npz"), model.with_extension("expected.npz"));
    let recorded = format!("--inputs {} --expected {}", inputs.display(), expected.display());
    let words =
        format!("{} -o digits.o --name digits --target {core} --emit test=t.c --emit bench=b.c {recorded} {options}", model.display());
    done(env!("CARGO_BIN_EXE_modelc"), &words, folder);
}

/// Options of GCC for the C files of a program.
pub const C: &str =
    "-O2 -std=c99 -Wall -Wextra -Wpedantic -Werror -ffreestanding -fno-tree-loop-distribute-patterns -ffunction-sections -I.";
/// Options of GCC for linking.
pub const LINK: &str = "-nostdlib -static -Wl,--build-id=none,--gc-sections,--fatal-warnings,-z,noexecstack";

impl Board<'_> {
    /// Compiles a source, the functions of the board, and the start-up code. Returns the names of the objects with that of the model.
    pub fn objects(&self, source: &str, folder: &Path) -> String {
        let Self { options, kit: Kit { compiler, startup, .. }, .. } = self;
        done(compiler, &format!("{options} {C} -c {source} board.c {startup}"), folder);
        format!("{} {} board.o digits.o", startup.replace(".S", ".o"), source.replace(".c", ".o"))
    }

    /// Links objects with libgcc and nothing else.
    pub fn link_objects(&self, objects: &str, script: &str, folder: &Path) {
        let Self { options, memory, kit, stack, .. } = self;
        let words = format!("{options} {LINK},--defsym=STACK_BYTES={stack} -T {memory} -T {script} {objects} -lgcc -o program.elf");
        done(kit.compiler, &words, folder);
    }

    /// Links a program with the start-up code and the object, and nothing else.
    pub fn link(&self, source: &str, script: &str, folder: &Path) {
        self.link_objects(&self.objects(source, folder), script, folder);
    }

    /// Runs the linked program. Returns what it prints; time is the number of instructions.
    pub fn run(&self, folder: &Path) -> String {
        let words = format!("60 {} -M {} -icount shift=4", self.kit.emulator, self.machine);
        done("timeout", &format!("{words} -semihosting -display none -monitor none -serial none -kernel program.elf"), folder)
    }

    /// Links and runs the test of the compiled model, which must agree.
    pub fn test(&self, script: &str, what: &str, folder: &Path) {
        self.link("t.c", script, folder);
        self.agrees(what, folder);
    }

    /// Runs the linked test, which must agree.
    pub fn agrees(&self, what: &str, folder: &Path) {
        let said = self.run(folder);
        assert!(said.trim_end().ends_with("agree"), "{what} on {}: {said}", self.core);
    }
}
