//! Firmware of Cortex-M and RV32, linked and run on boards that QEMU emulates. It is objects in programs of each float ABI, with and without a C
//! library, and packages of `modelc export`.
//!
//! A missing tool is a failure; `cargo xtask setup` installs the tools.

#[path = "firmware/boards.rs"]
mod boards;
#[path = "firmware/packages.rs"]
mod packages;
#[path = "firmware/page.rs"]
mod page;
#[path = "firmware/placed.rs"]
mod placed;
mod support;

use boards::{Board, C, M0, M3, M4F, M7, M7_DP, M33, M55, RV32IMC, compile, compile_model, done, folder};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::harness::{self, Needs};
use xtask::process::find;

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

/// Origin and bytes of flash and RAM of a board, for picolibc's linker script.
const AN385: [u32; 4] = [0, 1 << 20, 0x2000_0000, 1 << 20];
const MICROBIT: [u32; 4] = [0, 256 << 10, 0x2000_0000, 16 << 10];
const AN505: [u32; 4] = [0x1000_0000, 1 << 20, 0x3800_0000, 1 << 20];
const AN547: [u32; 4] = [0x1000_0000, 512 << 10, 0x3000_0000, 512 << 10];

/// Programs with start-up code, `puts` and linker script of picolibc, in each float ABI: the object is all else that is linked.
fn objects_run_in_programs_with_picolibc() {
    let boards = [
        (M0, "-mcpu=cortex-m0", MICROBIT),
        (M3, "-mcpu=cortex-m3", AN385),
        (M4F, "-mcpu=cortex-m4 -mfloat-abi=soft", AN385),
        (M4F, "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=softfp", AN385),
        (M4F, "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard", AN385),
        (M7_DP, "-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard", AN385),
        (M33, "-mcpu=cortex-m33 -mfloat-abi=soft", AN505),
        (M33, "-mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard", AN505),
        (M55, "-mcpu=cortex-m55 -mfloat-abi=hard", AN547),
    ];
    let folder = folder();
    for (board, options, [flash, flash_bytes, ram, ram_bytes]) in boards {
        compile(board.core, "", folder.path());
        let memory = format!(
            "-Wl,--defsym=__flash={flash},--defsym=__flash_size={flash_bytes},--defsym=__ram={ram},--defsym=__ram_size={ram_bytes}"
        );
        let library = "--specs=picolibc.specs --crt0=semihost --oslib=semihost -Dmodelc_puts=puts";
        let words = format!("{options} -O2 -static -Wl,--gc-sections,--fatal-warnings,-z,noexecstack {memory} {library} t.c digits.o");
        done(board.kit.compiler, &format!("{words} -o program.elf"), folder.path());
        board.agrees(&format!("digits with picolibc, {options}"), folder.path());
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

const ARDUINO: Needs = Needs::Tool("arduino-builder: `cargo xtask setup` installs it", || find("arduino-builder").is_some());
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
        ("objects_run_in_programs_with_picolibc", ON_LINUX, objects_run_in_programs_with_picolibc),
        (
            "objects_link_with_lld",
            Needs::Both(&Needs::Tool("LLD: `cargo xtask setup` installs it", || lld().is_some()), &ON_LINUX),
            objects_link_with_lld,
        ),
        ("kernels_run_from_ram", ON_LINUX, placed::kernels_run_from_ram),
        ("weights_lie_where_rules_say", ON_LINUX, placed::weights_lie_where_rules_say),
        ("blocks_of_c_compile", ON_LINUX, page::blocks_of_c_compile),
        ("areas_lie_where_rules_say", ON_LINUX, page::areas_lie_where_rules_say),
        ("a_project_of_cmake_runs_on_a_board", ON_LINUX, packages::a_project_of_cmake_runs_on_a_board),
        (
            "a_module_of_zephyr_fits_its_boards",
            Needs::Tool("Kconfig's library: `cargo xtask setup` installs it", || packages::python_with_kconfig().is_some()),
            packages::a_module_of_zephyr_fits_its_boards,
        ),
        ("a_component_of_esp_idf_fits_its_chips", Needs::Nothing, packages::a_component_of_esp_idf_fits_its_chips),
        (
            "a_pack_names_its_files_and_conditions",
            Needs::Tool("xmllint: `cargo xtask setup` installs it", || find("xmllint").is_some()),
            packages::a_pack_names_its_files_and_conditions,
        ),
        ("a_sketch_of_arduino_runs_on_boards", Needs::Both(&ARDUINO, &ON_LINUX), packages::a_sketch_of_arduino_runs_on_boards),
    ])
}
