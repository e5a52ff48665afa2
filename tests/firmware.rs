//! Firmware of Cortex-M and RV32: objects in programs of each float ABI, with and without a C library, and packages of `modelc export`, linked and
//! run on boards that QEMU emulates.
//!
//! A missing tool is a failure; `cargo xtask setup` installs the tools.

#[path = "firmware/boards.rs"]
mod boards;
mod support;

use boards::{Board, C, LINK, M0, M3, M4F, M7, M7_DP, M33, M55, RV32IMC, compile, compile_model, done, folder, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::harness::{self, Needs};

fn tests_pass_on_boards() {
    for board in [M0, M3, M4F, M7, M33, M55, RV32IMC] {
        let folder = folder();
        compile(board.core, "", folder.path());
        board.test("link.ld", "digits", folder.path());
    }
}

/// Runs the test of a model while an interrupt that uses the floating-point unit changes each register that it may.
fn check_with_interrupts(board: &Board, model: &Path) {
    let folder = folder();
    let startup = fs::read_to_string(folder.path().join("startup.S")).expect("start-up code");
    let ticking = startup.replace(
        ".rept   14\n        .word   fault\n        .endr",
        ".rept   13\n        .word   fault\n        .endr\n        .word   tick",
    );
    assert_ne!(ticking, startup);
    fs::write(folder.path().join("startup.S"), ticking).expect("it is written");
    compile_model(model, board.core, "", folder.path());
    // The timer counts 25 million times a second, an instruction takes 16 ns.
    let ticking = Board { options: &format!("{} -DTICKS=200", board.options), ..*board };
    let objects = ticking.objects("interrupts.c", folder.path());
    done(board.kit.compiler, &format!("{} {C} -Dmain=test_main -c t.c", board.options), folder.path());
    board.link_objects(&format!("{objects} t.o"), "link.ld", folder.path());
    board.agrees(&support::stem(model), folder.path());
}

fn interrupts_change_no_output() {
    for (board, model) in
        [(M3, "digits_int8"), (M4F, "digits_int8"), (M4F, "digits_f32"), (M7, "digits_int8"), (M7, "digits_f32"), (M33, "digits_int8")]
    {
        check_with_interrupts(&board, &support::own("examples/digits").join(model).with_extension("tflite"));
    }
}

/// A wake word, whose state is the sound before.
fn interrupts_change_no_state() {
    for board in [M3, M4F, M7, M33] {
        check_with_interrupts(&board, &recorded("esphome-v2-okay_nabu"));
    }
}

/// Returns the path of a recorded model.
fn recorded(name: &str) -> PathBuf {
    support::corpus("tflite").expect("the corpus").join(format!("{name}.tflite"))
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

fn recorded_models_agree_on_the_board_with_vectors() {
    let folder = folder();
    fs::copy(support::own("tests/firmware/memory-an547.ld"), folder.path().join("large.ld")).expect("it is copied");
    let board = Board { memory: "large.ld", ..M55 };
    for (name, options) in RECORDED.iter().flat_map(|name| ["--optimize speed", "--optimize size"].map(|options| (name, options))) {
        compile_model(&recorded(name), board.core, options, folder.path());
        board.test("link.ld", &format!("{name} {options}"), folder.path());
    }
}

/// Models for a board with 16 KB of RAM: dense layers, convolutions of every kind, state, recurrence.
const SMALL: [&str; 4] = ["tflm-hello_world_int8", "tflm-micro_speech_quantized", "tflm-mnist_lstm_int8", "esphome-v2-okay_nabu"];
/// Models that need more.
const LARGER: [&str; 2] = ["mlperftiny-kws_ref_model", "tflm-person_detect"];

/// Each board runs each model that it has memory for. The goals take turns.
fn recorded_models_agree_on_boards() {
    for (turn, board) in [M0, M3, M4F, M7, M33, RV32IMC].iter().enumerate() {
        let folder = folder();
        let larger = if board.machine == M0.machine { &[][..] } else { &LARGER };
        for (number, name) in SMALL.iter().chain(larger).enumerate() {
            let options = ["--optimize speed", "--optimize size"][(turn + number) % 2];
            compile_model(&recorded(name), board.core, options, folder.path());
            board.test("link.ld", &format!("{name} {options}"), folder.path());
        }
    }
}

/// Operators whose kernels compute binary64.
const OF_DOUBLES: [&str; 4] = ["cast.11", "sin.0", "pow.9", "floor_mod.12"];

fn doubles_in_registers_agree_on_boards() {
    let corpus = support::corpus("tflite_ops").expect("the corpus");
    let folder = folder();
    // These models have no weights.
    let script = fs::read_to_string(folder.path().join("link.ld")).expect("a script");
    let checked = |line: &&str| !line.contains("weights were not found");
    fs::write(folder.path().join("operators.ld"), script.lines().filter(checked).collect::<Vec<_>>().join("\n")).expect("it is written");
    for (board, name) in [M7_DP, M55].iter().flat_map(|board| OF_DOUBLES.iter().map(move |name| (board, name))) {
        compile_model(&corpus.join(format!("{name}.tflite")), board.core, "", folder.path());
        let attributes = done("arm-none-eabi-readelf", "-A digits.o", folder.path());
        assert!(attributes.contains("Tag_FP_arch: FPv5/FP-D16 for ARMv8") && !attributes.contains("Tag_ABI_HardFP_use"), "{attributes}");
        board.test("operators.ld", name, folder.path());
    }
}

/// Sums of vectors take subnormal numbers as 0, and sums of single registers do not. So no kernel computes floats in vectors.
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
        let board = Board { core, options, machine: "", ..M3 };
        board.link("t.c", "link.ld", folder.path());
        let newlib = "-static -Wl,--gc-sections,--fatal-warnings,-z,noexecstack --specs=rdimon.specs -Dmodelc_puts=puts";
        done("arm-none-eabi-gcc", &format!("{options} -O2 {newlib} t.c digits.o -o newlib.elf"), folder.path());
    }
}

/// Programs of both linkers, without unused parts and without a warning: secure ones of Armv8-M, too.
fn objects_link_with_lld() {
    let lld = lld().expect("LLD");
    let m0_plus = Board { core: "cortex-m0plus", options: "-mcpu=cortex-m0plus", ..M0 };
    let secure = Board { options: "-mcpu=cortex-m33 -mfloat-abi=soft -mcmse", ..M33 };
    // LLD 14 does not relax code of RISC-V, and refuses what GCC made for that.
    let unrelaxed = Board { options: "-march=rv32imc -mabi=ilp32 -mno-relax", ..RV32IMC };
    for board in [m0_plus, M3, M4F, secure, M55, unrelaxed] {
        let folder = folder();
        compile(board.core, "", folder.path());
        board.test("link.ld", "digits", folder.path());
        fs::remove_file(folder.path().join("program.elf")).expect("GNU's linker made it");
        let libgcc = done(board.kit.compiler, &format!("{} -print-libgcc-file-name", board.options), folder.path());
        let (objects, Board { memory, stack, .. }) = (board.objects("t.c", folder.path()), &board);
        let words = format!("--gc-sections --fatal-warnings -z noexecstack --build-id=none --defsym=STACK_BYTES={stack} -T {memory}");
        done(&lld, &format!("{words} -T link.ld {objects} {} -o program.elf", libgcc.trim()), folder.path());
        board.agrees("digits, linked by LLD", folder.path());
    }
}

/// Splits the RAM of a memory's map into halves: the second one is for code. Returns the map, and the address of that half.
fn with_ram_for_code(map: &str) -> (String, u64) {
    let line = map.lines().find(|line| line.trim_start().starts_with("ram ")).expect("a region of RAM");
    let word = |name: &str| line.split_once(name).and_then(|(_, rest)| rest.split([',', ' ']).next()).expect("a number");
    let origin = u64::from_str_radix(word("ORIGIN = 0x"), 16).expect("an address");
    let kilobytes = match word("LENGTH = ").split_at(word("LENGTH = ").len() - 1) {
        (count, "K") => count.parse::<u64>().expect("a length"),
        (count, _) => 1024 * count.parse::<u64>().expect("a length"),
    };
    let code = origin + 512 * kilobytes;
    let halves =
        format!("    ram (rw) : ORIGIN = {origin:#x}, LENGTH = {0}\n    kernels (rx) : ORIGIN = {code:#x}, LENGTH = {0}", 512 * kilobytes);
    (map.replace(line, &halves), code)
}

/// Kernels in RAM, further from what calls them than a branch reaches: the linker reaches them because calls name functions. A branch reaches 16 MB
/// on Cortex-M, and 1 MB on RISC-V.
fn kernels_run_from_ram() {
    let m0_plus = Board { core: "cortex-m0plus", options: "-mcpu=cortex-m0plus", ..M0 };
    // Half of 16 KB holds small code.
    for (board, options) in [(m0_plus, "--optimize size"), (M3, ""), (RV32IMC, "")] {
        let folder = folder();
        let script = fs::read_to_string(folder.path().join("link.ld")).expect("a script");
        let moved = script.replace("    .digits_text ", "    .kernels        : { *(.text.digits_op*) } > kernels\n    .digits_text ");
        assert_ne!(moved, script);
        fs::write(folder.path().join("ram.ld"), moved).expect("it is written");
        let (map, ram) = with_ram_for_code(&fs::read_to_string(folder.path().join(board.memory)).expect("a map"));
        fs::write(folder.path().join("halves.ld"), map).expect("it is written");
        let board = Board { memory: "halves.ld", ..board };
        compile(board.core, options, folder.path());
        board.link("t.c", "ram.ld", folder.path());
        let symbols = done("arm-none-eabi-nm", "program.elf", folder.path());
        let is_in_ram = |line: &str| u64::from_str_radix(&line[..8], 16).is_ok_and(|address| address >= ram);
        let is_kernel = |line: &&str| line.contains(" digits_op") && !line.contains("veneer");
        let kernels: Vec<&str> = symbols.lines().filter(is_kernel).collect();
        assert!(!kernels.is_empty() && kernels.iter().all(|line| is_in_ram(line)), "{}: {symbols}", board.core);
        assert!(symbols.lines().any(|line| line.ends_with(" digits_forward") && !is_in_ram(line)), "{}: {symbols}", board.core);
        board.agrees("digits in RAM", folder.path());
    }
}

const PROJECT: &str = "\
cmake_minimum_required(VERSION 3.16)
project(firmware C ASM)
find_package(digits REQUIRED CONFIG)
add_executable(program.elf startup.S board.c t.c)
target_link_libraries(program.elf PRIVATE digits::digits gcc)
";

/// A project of CMake with the exported package chooses the machine by the processor.
fn an_exported_package_runs_on_a_board() {
    let folder = folder();
    compile(M4F.core, "", folder.path());
    let model = support::own("examples/digits/digits_int8.tflite").display().to_string();
    let words = format!("export {model} --as cmake -o package --name digits --target cortex-m33 --target cortex-m4f");
    done(env!("CARGO_BIN_EXE_modelc"), &words, folder.path());
    fs::remove_file(folder.path().join("digits.h")).expect("the package has the header");
    fs::write(folder.path().join("CMakeLists.txt"), PROJECT).expect("it is written");
    let flags = format!("set(CMAKE_C_FLAGS \"{} {C}\")\nset(CMAKE_ASM_FLAGS \"{}\")\n", M4F.options, M4F.options);
    let linker = format!(
        "set(CMAKE_EXE_LINKER_FLAGS \"{LINK},--defsym=STACK_BYTES=8192 -T {0}/memory.ld -T {0}/link.ld\")\n",
        folder.path().display()
    );
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

const ON_LINUX: Needs = Needs::Tool("x86-64 with Linux", || cfg!(all(target_arch = "x86_64", target_os = "linux")));

fn main() -> std::process::ExitCode {
    let recorded = Needs::Both(&Needs::Corpus("tflite"), &ON_LINUX);
    harness::run(&[
        ("tests_pass_on_boards", ON_LINUX, tests_pass_on_boards),
        ("interrupts_change_no_output", ON_LINUX, interrupts_change_no_output),
        ("interrupts_change_no_state", recorded, interrupts_change_no_state),
        ("recorded_models_agree_on_the_board_with_vectors", recorded, recorded_models_agree_on_the_board_with_vectors),
        ("recorded_models_agree_on_boards", recorded, recorded_models_agree_on_boards),
        (
            "doubles_in_registers_agree_on_boards",
            Needs::Both(&Needs::Corpus("tflite_ops"), &ON_LINUX),
            doubles_in_registers_agree_on_boards,
        ),
        ("vectors_of_floats_lose_subnormal_numbers", ON_LINUX, vectors_of_floats_lose_subnormal_numbers),
        ("benchmarks_name_the_longest_kernel", ON_LINUX, benchmarks_name_the_longest_kernel),
        ("objects_link_in_programs_of_every_kind", ON_LINUX, objects_link_in_programs_of_every_kind),
        (
            "objects_link_with_lld",
            Needs::Both(&Needs::Tool("LLD: `cargo xtask setup` installs it", || lld().is_some()), &ON_LINUX),
            objects_link_with_lld,
        ),
        ("kernels_run_from_ram", ON_LINUX, kernels_run_from_ram),
        ("an_exported_package_runs_on_a_board", ON_LINUX, an_exported_package_runs_on_a_board),
    ])
}
