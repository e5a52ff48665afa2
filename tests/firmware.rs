//! Firmware of Cortex-M: objects in programs of each float ABI, with and without a C library, and packages of `modelc export`, linked and run on
//! boards that QEMU emulates.
//!
//! A missing tool is a failure; `cargo xtask setup` installs the tools.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A board: the core's name for modelc, options of GCC, QEMU's machine, and the map of its memory.
struct Board {
    core: &'static str,
    options: &'static str,
    machine: &'static str,
    memory: &'static str,
}

const M0: Board = Board { core: "cortex-m0", options: "-mcpu=cortex-m0", machine: "microbit", memory: "memory-microbit.ld" };
const M3: Board = Board { core: "cortex-m3", options: "-mcpu=cortex-m3", machine: "mps2-an385", memory: "memory.ld" };
const M4F: Board =
    Board { core: "cortex-m4f", options: "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard", machine: "mps2-an386", memory: "memory.ld" };
const M7: Board = Board {
    core: "cortex-m7",
    options: "-mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=softfp",
    machine: "mps2-an500",
    memory: "memory.ld",
};
/// A core whose FPU has binary64.
const M7_DP: Board = Board { core: "cortex-m7+dp", options: "-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard", ..M7 };
const M33: Board =
    Board { core: "cortex-m33", options: "-mcpu=cortex-m33 -mfloat-abi=soft", machine: "mps2-an505", memory: "memory-an505.ld" };
const M55: Board =
    Board { core: "cortex-m55", options: "-mcpu=cortex-m55 -mfloat-abi=hard", machine: "mps3-an547", memory: "memory-an547.ld" };

/// A folder with the example's start-up code.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = support::own("examples/baremetal");
    let maps = ["memory.ld", "memory-an505.ld", "memory-an547.ld", "memory-microbit.ld"];
    let copied = maps.map(|name| format!("cortex-m/{name}")).into_iter().chain(["link.ld", "cortex-m/startup.S"].map(String::from));
    for name in copied {
        let place = folder.path().join(Path::new(&name).file_name().expect("a name"));
        fs::copy(examples.join(name), place).expect("it is copied");
    }
    for name in ["board.c", "interrupts.c"] {
        fs::copy(support::own("tests/firmware").join(name), folder.path().join(name)).expect("it is copied");
    }
    folder
}

fn run(program: &str, words: &str, folder: &Path) -> Output {
    let output = Command::new(program).args(words.split_whitespace()).current_dir(folder).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask setup` installs what the tests use"))
}

/// Runs a program that must succeed. Returns its output.
fn done(program: &str, words: &str, folder: &Path) -> String {
    let output = run(program, words, folder);
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {words}\n{said}");
    said
}

fn compile(core: &str, options: &str, folder: &Path) {
    compile_model(&support::own("examples/digits/digits_int8.tflite"), core, options, folder);
}

fn compile_model(model: &Path, core: &str, options: &str, folder: &Path) {
    let (inputs, expected) = (model.with_extension("inputs.npz"), model.with_extension("expected.npz"));
    let recorded = format!("--inputs {} --expected {}", inputs.display(), expected.display());
    let words =
        format!("{} -o digits.o --name digits --target {core} --emit test=t.c --emit bench=b.c {recorded} {options}", model.display());
    done(env!("CARGO_BIN_EXE_modelc"), &words, folder);
}

const C: &str = "-O2 -std=c99 -Wall -Wextra -Wpedantic -Werror -ffreestanding -fno-tree-loop-distribute-patterns -ffunction-sections -I.";
const LINK: &str = "-nostdlib -static -Wl,--build-id=none,--gc-sections,--fatal-warnings,-z,noexecstack,--defsym=STACK_BYTES=8192";

impl Board {
    /// Links a program with the start-up code and the object, and nothing else.
    fn link(&self, source: &str, script: &str, folder: &Path) {
        let Self { options, memory, .. } = self;
        done("arm-none-eabi-gcc", &format!("{options} {C} -c {source} board.c startup.S"), folder);
        let object = source.replace(".c", ".o");
        let words = format!("{options} {LINK} -T {memory} -T {script} startup.o {object} board.o digits.o -lgcc -o program.elf");
        done("arm-none-eabi-gcc", &words, folder);
    }

    /// Runs the linked program. Returns what it prints; time is the number of instructions.
    fn run(&self, folder: &Path) -> String {
        let words = format!("60 qemu-system-arm -M {} -icount shift=4 -semihosting -display none -monitor none -serial none", self.machine);
        done("timeout", &format!("{words} -kernel program.elf"), folder)
    }
}

#[test]
fn tests_pass_on_boards() {
    for board in [M0, M3, M4F, M7, M33, M55] {
        let folder = folder();
        compile(board.core, "", folder.path());
        board.link("t.c", "link.ld", folder.path());
        let said = board.run(folder.path());
        assert!(said.trim_end().ends_with("agree"), "{}: {said}", board.core);
    }
}

/// An interrupt that uses the floating-point unit changes no output.
#[test]
fn interrupts_change_no_output() {
    for (board, model) in [(M3, "digits_int8"), (M4F, "digits_int8"), (M4F, "digits_f32"), (M7, "digits_int8"), (M7, "digits_f32")] {
        let folder = folder();
        let startup = fs::read_to_string(folder.path().join("startup.S")).expect("start-up code");
        let ticking = startup.replace(
            ".rept   14\n        .word   fault\n        .endr",
            ".rept   13\n        .word   fault\n        .endr\n        .word   tick",
        );
        assert_ne!(ticking, startup);
        fs::write(folder.path().join("startup.S"), ticking).expect("it is written");
        compile_model(&support::own("examples/digits").join(model).with_extension("tflite"), board.core, "", folder.path());
        let Board { options, memory, .. } = board;
        // The timer counts 25 million times a second, an instruction takes 16 ns.
        done("arm-none-eabi-gcc", &format!("{options} {C} -DTICKS=200 -c interrupts.c board.c startup.S"), folder.path());
        done("arm-none-eabi-gcc", &format!("{options} {C} -Dmain=test_main -c t.c"), folder.path());
        let objects = "startup.o interrupts.o t.o board.o digits.o";
        done("arm-none-eabi-gcc", &format!("{options} {LINK} -T {memory} -T link.ld {objects} -lgcc -o program.elf"), folder.path());
        let said = board.run(folder.path());
        assert!(said.trim_end().ends_with("agree"), "{model} on {}: {said}", board.core);
    }
}

/// Models with dense layers, convolutions of every kind, state and floats, in registers of words and vectors.
const RECORDED: [&str; 10] = [
    "tflm-hello_world_int8",
    "mlperftiny-kws_ref_model",
    "mlperftiny-ad01_int8",
    "mlperftiny-pretrainedResnet_quant",
    "mlperftiny-vww_96_int8",
    "mlperftiny-str_ww_ref_model",
    "tflm-person_detect",
    "esphome-v2-okay_nabu",
    "tflm-hello_world_float",
    "mlperftiny-kws_ref_model_float32",
];

#[test]
fn recorded_models_agree_on_the_board_with_vectors() {
    let Some(corpus) = support::corpus("tflite") else { return eprintln!("skipped: no recorded models") };
    let folder = folder();
    fs::copy(support::own("tests/firmware/memory-an547.ld"), folder.path().join("large.ld")).expect("it is copied");
    let board = Board { memory: "large.ld", ..M55 };
    for (name, options) in RECORDED.iter().flat_map(|name| ["--optimize speed", "--optimize size"].map(|options| (name, options))) {
        compile_model(&corpus.join(format!("{name}.tflite")), board.core, options, folder.path());
        board.link("t.c", "link.ld", folder.path());
        let said = board.run(folder.path());
        assert!(said.trim_end().ends_with("agree"), "{name} {options}: {said}");
    }
}

/// Operators whose kernels compute binary64.
const OF_DOUBLES: [&str; 4] = ["cast.11", "sin.0", "pow.9", "floor_mod.12"];

#[test]
fn doubles_in_registers_agree_on_boards() {
    let Some(corpus) = support::corpus("tflite_ops") else { return eprintln!("skipped: no recorded models") };
    let folder = folder();
    // These models have no weights.
    let script = fs::read_to_string(folder.path().join("link.ld")).expect("a script");
    let checked = |line: &&str| !line.contains("weights were not found");
    fs::write(folder.path().join("operators.ld"), script.lines().filter(checked).collect::<Vec<_>>().join("\n")).expect("it is written");
    for (board, name) in [M7_DP, M55].iter().flat_map(|board| OF_DOUBLES.iter().map(move |name| (board, name))) {
        compile_model(&corpus.join(format!("{name}.tflite")), board.core, "", folder.path());
        let attributes = done("arm-none-eabi-readelf", "-A digits.o", folder.path());
        assert!(attributes.contains("Tag_FP_arch: FPv5/FP-D16 for ARMv8") && !attributes.contains("Tag_ABI_HardFP_use"), "{attributes}");
        board.link("t.c", "operators.ld", folder.path());
        let said = board.run(folder.path());
        assert!(said.trim_end().ends_with("agree"), "{name} on {}: {said}", board.core);
    }
}

/// Sums of vectors take subnormal numbers as 0, and sums of single registers do not. So no kernel computes floats in vectors.
#[test]
fn vectors_of_floats_lose_subnormal_numbers() {
    let folder = folder();
    fs::copy(support::own("tests/firmware/subnormals.c"), folder.path().join("subnormals.c")).expect("it is copied");
    let Board { options, .. } = M55;
    let (system, sources) = (support::own("tests/link/an547"), "startup.S subnormals.c -lgcc -o program.elf");
    let flags = "-O1 -std=c99 -Wall -Wextra -Werror -nostdlib -static";
    done("arm-none-eabi-gcc", &format!("{options} {flags} -I{0} -T{0}/program.ld {sources}", system.display()), folder.path());
    M55.run(folder.path());
}

/// The number before ` ticks` in the first line that has a word.
fn ticks(said: &str, word: &str) -> u64 {
    let line = said.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("no {word}: {said}"));
    let before = line.split(" ticks").next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn benchmarks_name_the_longest_kernel() {
    let folder = folder();
    compile(M4F.core, "--profile-hooks", folder.path());
    M4F.link("b.c", "link.ld", folder.path());
    let said = M4F.run(folder.path());
    let kernels: Vec<&str> = said.lines().skip(1).take_while(|line| line.starts_with("  op")).collect();
    let header = fs::read_to_string(folder.path().join("digits.h")).expect("a header");
    assert!(header.contains(&format!("#define DIGITS_KERNELS_COUNT {}\n", kernels.len())), "{said}");
    let longest = kernels.iter().map(|line| ticks(line, "op")).max().expect("there are kernels");
    assert!(ticks(&said, "longest kernel: op") >= longest && longest > 0, "{said}");
    assert!(ticks(&said, "call 0: ") > kernels.iter().map(|line| ticks(line, "op")).sum::<u64>(), "{said}");
    // Without hooks there are no kernels.
    compile(M4F.core, "", folder.path());
    M4F.link("b.c", "link.ld", folder.path());
    let said = M4F.run(folder.path());
    assert!(ticks(&said, "call 0: ") > 0 && !said.contains("kernel"), "{said}");
}

/// Returns LLD of the path, or the one that comes with Rust.
fn lld() -> Option<String> {
    let sysroot = String::from_utf8(Command::new("rustc").args(["--print", "sysroot"]).output().ok()?.stdout).ok()?;
    let own = format!("{}/lib/rustlib/x86_64-unknown-linux-gnu/bin/gcc-ld/ld.lld", sysroot.trim());
    ["ld.lld".to_owned(), own].into_iter().find(|program| Command::new(program).arg("--version").output().is_ok())
}

/// Float ABIs, secure programs, newlib, and no library at all.
#[test]
fn objects_link_in_programs_of_every_kind() {
    let kinds = [
        ("cortex-m0plus", "-mcpu=cortex-m0plus"),
        ("cortex-m23", "-mcpu=cortex-m23"),
        ("cortex-m23", "-mcpu=cortex-m23 -mcmse"),
        ("cortex-m3", "-mcpu=cortex-m3"),
        ("cortex-m4f", "-mcpu=cortex-m4 -mfloat-abi=soft"),
        ("cortex-m4f", "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=softfp"),
        ("cortex-m4f", "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard"),
        ("cortex-m7", "-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard"),
        ("cortex-m7+dp", "-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard"),
        ("cortex-m33", "-mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard"),
        ("cortex-m33", "-mcpu=cortex-m33 -mfloat-abi=soft -mcmse"),
        ("cortex-m55", "-mcpu=cortex-m55 -mfloat-abi=hard"),
        ("cortex-m55", "-mcpu=cortex-m55 -mfloat-abi=soft -mcmse"),
    ];
    let folder = folder();
    for (core, options) in kinds {
        compile(core, "", folder.path());
        let undefined = done("arm-none-eabi-nm", "-u digits.o", folder.path());
        assert_eq!(undefined.trim(), "", "{core}");
        let board = Board { core, options, machine: "", memory: "memory.ld" };
        board.link("t.c", "link.ld", folder.path());
        let newlib = "-static -Wl,--gc-sections,--fatal-warnings,-z,noexecstack --specs=rdimon.specs -Dmodelc_puts=puts";
        done("arm-none-eabi-gcc", &format!("{options} -O2 {newlib} t.c digits.o -o newlib.elf"), folder.path());
    }
}

#[test]
fn objects_link_with_lld() {
    let Some(lld) = lld() else { return eprintln!("skipped: no ld.lld") };
    let folder = folder();
    compile(M3.core, "", folder.path());
    M3.link("t.c", "link.ld", folder.path());
    let libgcc = done("arm-none-eabi-gcc", &format!("{} -print-libgcc-file-name", M3.options), folder.path());
    let words = "--gc-sections --fatal-warnings -z noexecstack --build-id=none --defsym=STACK_BYTES=8192 -T memory.ld -T link.ld";
    done(&lld, &format!("{words} startup.o t.o board.o digits.o {} -o program.elf", libgcc.trim()), folder.path());
    assert!(M3.run(folder.path()).trim_end().ends_with("agree"));
}

/// Kernels in RAM, far from what calls them: the linker reaches them because calls name functions.
#[test]
fn kernels_run_from_ram() {
    let folder = folder();
    let script = fs::read_to_string(folder.path().join("link.ld")).expect("a script");
    let moved = script.replace("    .digits_text ", "    .kernels        : { *(.text.digits_op*) } > ram\n    .digits_text ");
    assert_ne!(moved, script);
    fs::write(folder.path().join("ram.ld"), moved).expect("it is written");
    compile(M3.core, "", folder.path());
    M3.link("t.c", "ram.ld", folder.path());
    let symbols = done("arm-none-eabi-nm", "program.elf", folder.path());
    let is_kernel = |line: &&str| line.contains(" digits_op") && !line.contains("veneer");
    let kernels: Vec<&str> = symbols.lines().filter(is_kernel).collect();
    assert!(!kernels.is_empty() && kernels.iter().all(|line| line.starts_with('2')), "{symbols}");
    assert!(symbols.lines().any(|line| line.starts_with('0') && line.contains("digits_forward")), "{symbols}");
    assert!(M3.run(folder.path()).trim_end().ends_with("agree"));
}

const PROJECT: &str = "\
cmake_minimum_required(VERSION 3.16)
project(firmware C ASM)
find_package(digits REQUIRED CONFIG)
add_executable(program.elf startup.S board.c t.c)
target_link_libraries(program.elf PRIVATE digits::digits gcc)
";

/// A project of CMake with the exported package chooses the machine by the processor.
#[test]
fn an_exported_package_runs_on_a_board() {
    let folder = folder();
    compile(M4F.core, "", folder.path());
    let model = support::own("examples/digits/digits_int8.tflite").display().to_string();
    let words = format!("export {model} --as cmake -o package --name digits --target cortex-m33 --target cortex-m4f");
    done(env!("CARGO_BIN_EXE_modelc"), &words, folder.path());
    fs::remove_file(folder.path().join("digits.h")).expect("the package has the header");
    fs::write(folder.path().join("CMakeLists.txt"), PROJECT).expect("it is written");
    let flags = format!("set(CMAKE_C_FLAGS \"{} {C}\")\nset(CMAKE_ASM_FLAGS \"{}\")\n", M4F.options, M4F.options);
    let linker = format!("set(CMAKE_EXE_LINKER_FLAGS \"{LINK} -T {0}/memory.ld -T {0}/link.ld\")\n", folder.path().display());
    let machine = "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_SYSTEM_PROCESSOR cortex-m4f)\nset(CMAKE_C_COMPILER arm-none-eabi-gcc)\n\
                   set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)\nset(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n";
    fs::write(folder.path().join("toolchain.cmake"), format!("{machine}{flags}{linker}")).expect("it is written");
    let configure = format!("-S . -B build --toolchain={0}/toolchain.cmake -Ddigits_DIR={0}/package", folder.path().display());
    done("cmake", &configure, folder.path());
    done("cmake", "--build build", folder.path());
    fs::copy(folder.path().join("build/program.elf"), folder.path().join("program.elf")).expect("it is copied");
    assert!(M4F.run(folder.path()).trim_end().ends_with("agree"));
    // Without a processor that is known, the project says which variant it wants.
    let other = configure.replace("-B build", "-B other") + " -DCMAKE_SYSTEM_PROCESSOR=arm";
    fs::write(folder.path().join("toolchain.cmake"), format!("{}{flags}{linker}", machine.replace("cortex-m4f", "arm"))).expect("a file");
    let refused = run("cmake", &other, folder.path());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("digits_VARIANT"), "{said}");
    done("cmake", &format!("{other} -Ddigits_VARIANT=cortex-m4f"), folder.path());
}
