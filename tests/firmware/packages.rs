//! Packages of `modelc export`, read by the tools of their frameworks.

use super::boards::{C, LINK, M4F, RV32IMC, compile, done, folder, run};
use super::support;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Exports the digits for targets, to a folder.
fn export(framework: &str, output: &str, targets: &[&str], folder: &Path) {
    let model = support::own("examples/digits/digits_int8.tflite");
    let targets: String = targets.iter().map(|target| format!(" --target {target}")).collect();
    let words = format!("export {} --as {framework} -o {output} --name digits{targets}", model.display());
    done(env!("CARGO_BIN_EXE_modelc"), &words, folder);
}

const PROJECT: &str = "\
cmake_minimum_required(VERSION 3.16)
project(firmware C ASM)
find_package(digits REQUIRED CONFIG)
add_executable(program.elf startup.S board.c t.c)
target_link_libraries(program.elf PRIVATE digits::digits gcc)
";

/// A project of CMake with the exported package chooses the machine by the processor.
pub fn a_project_of_cmake_runs_on_a_board() {
    let folder = folder();
    compile(M4F.core, "", folder.path());
    export("cmake", "package", &["cortex-m33", "cortex-m4f"], folder.path());
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
    M4F.agrees("a project of CMake", folder.path());
    // Without a processor that is known, the project says which variant it wants.
    let other = configure.replace("-B build", "-B other") + " -DCMAKE_SYSTEM_PROCESSOR=arm";
    fs::write(folder.path().join("toolchain.cmake"), format!("{}{flags}{linker}", machine.replace("cortex-m4f", "arm"))).expect("a file");
    let refused = run("cmake", &other, folder.path());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("digits_VARIANT"), "{said}");
    done("cmake", &format!("{other} -Ddigits_VARIANT=cortex-m4f"), folder.path());
}

/// Returns the variant that a script of CMake prints.
fn variant(said: &str) -> Option<&str> {
    said.lines().find_map(|line| line.strip_prefix("-- variant "))
}

/// Zephyr's names of units and settings that a module may depend on.
const OPTIONS: &str = "CPU_CORTEX_M0PLUS CPU_CORTEX_M3 CPU_CORTEX_M4 CPU_CORTEX_M7 CPU_CORTEX_M33 CPU_CORTEX_M55 TRAP_UNALIGNED_ACCESS \
                       FPU CPU_HAS_FPU_DOUBLE_PRECISION ARMV8_M_DSP ARMV8_1_M_MVEI ARMV8_1_M_MVEF ARM64 RISCV_ISA_RV32I RISCV_ISA_RV32E \
                       RISCV_ISA_RV64I RISCV_ISA_EXT_M RISCV_ISA_EXT_A RISCV_ISA_EXT_F RISCV_ISA_EXT_D RISCV_ISA_EXT_C FLOAT_HARD";

const ZEPHYR_TARGETS: &[&str] = &[
    "cortex-m3",
    "cortex-m4",
    "cortex-m4f",
    "cortex-m33",
    "cortex-m33+nodsp",
    "cortex-m55",
    "rv32imc",
    "rv32imafc",
    "riscv64-none-elf",
    "aarch64-none-elf",
];

/// Configurations of boards, and the variant that each takes. The module is off where there is none.
const CONFIGURATIONS: &[(&str, Option<&str>)] = &[
    ("CPU_CORTEX_M0PLUS", None),
    ("CPU_CORTEX_M3", Some("cortex-m3")),
    ("CPU_CORTEX_M3 TRAP_UNALIGNED_ACCESS", None),
    ("CPU_CORTEX_M4", Some("cortex-m4")),
    ("CPU_CORTEX_M4 FPU", Some("cortex-m4f")),
    ("CPU_CORTEX_M7 FPU", None),
    ("CPU_CORTEX_M33", Some("cortex-m33-nodsp")),
    ("CPU_CORTEX_M33 ARMV8_M_DSP", Some("cortex-m33")),
    // Without the unit, Zephyr leaves the registers of vectors off.
    ("CPU_CORTEX_M55 ARMV8_M_DSP ARMV8_1_M_MVEI", None),
    ("CPU_CORTEX_M55 ARMV8_M_DSP FPU", None),
    ("CPU_CORTEX_M55 ARMV8_M_DSP ARMV8_1_M_MVEI FPU", Some("cortex-m55")),
    ("RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_C", Some("rv32imc")),
    ("RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_A", None),
    ("RISCV_ISA_RV32I RISCV_ISA_EXT_C", None),
    ("RISCV_ISA_RV32E RISCV_ISA_EXT_M RISCV_ISA_EXT_C", None),
    ("RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_F RISCV_ISA_EXT_C FPU FLOAT_HARD", Some("rv32imafc")),
    ("RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_F RISCV_ISA_EXT_C FPU", Some("rv32imc")),
    // Objects for these ABIs do not link with one another.
    ("RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_F RISCV_ISA_EXT_D RISCV_ISA_EXT_C FPU CPU_HAS_FPU_DOUBLE_PRECISION FLOAT_HARD", None),
    (
        "RISCV_ISA_RV64I RISCV_ISA_EXT_M RISCV_ISA_EXT_F RISCV_ISA_EXT_D RISCV_ISA_EXT_C FPU CPU_HAS_FPU_DOUBLE_PRECISION FLOAT_HARD",
        Some("riscv64gc-unknown-none-elf"),
    ),
    ("RISCV_ISA_RV64I RISCV_ISA_EXT_M RISCV_ISA_EXT_C", None),
    ("ARM64 FPU", Some("aarch64-unknown-none-elf")),
    ("ARM64", None),
];

/// Reads Kconfig and a configuration, completes that, and fails at any warning: an option without a declaration is one.
const COMPLETE: &str = "\
import kconfiglib, sys
kconfig = kconfiglib.Kconfig('Kconfig', warn_to_stderr=False)
kconfig.load_config('.config')
kconfig.write_config('.config')
sys.exit('\\n'.join(kconfig.warnings) or None)
";

/// Programs of Python that may have Kconfig's library: a distribution's packages are for its own.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// Returns the Python that has Kconfig's library.
pub fn python_with_kconfig() -> Option<&'static str> {
    let has_library = |python: &&str| {
        let output = Command::new(python).args(["-c", "import kconfiglib"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    PYTHONS.into_iter().find(has_library)
}

/// A module of Zephyr is on where one of its variants fits, and the build takes that one.
pub fn a_module_of_zephyr_fits_its_boards() {
    let folder = folder();
    export("zephyr", "module", ZEPHYR_TARGETS, folder.path());
    let declared: String = OPTIONS.split_whitespace().map(|option| format!("config {option}\n\tbool \"{option}\"\n\n")).collect();
    // Zephyr's build includes modules like this.
    fs::write(folder.path().join("Kconfig"), format!("{declared}menu \"digits\"\nosource \"module/Kconfig\"\nendmenu\n")).expect("a file");
    fs::write(folder.path().join("complete.py"), COMPLETE).expect("it is written");
    let python = python_with_kconfig().expect("Kconfig's library");
    let script = support::own("tests/firmware/zephyr.cmake");
    for &(options, expected) in CONFIGURATIONS {
        let lines: String = options.split_whitespace().map(|option| format!("CONFIG_{option}=y\n")).collect();
        fs::write(folder.path().join(".config"), lines).expect("it is written");
        done("env", &format!("KCONFIG_WARN_UNDEF=y {python} complete.py"), folder.path());
        let completed = fs::read_to_string(folder.path().join(".config")).expect("a configuration");
        assert_eq!(completed.contains("CONFIG_MODELC_DIGITS=y\n"), expected.is_some(), "{options}");
        let words = format!("-DMODULE={0}/module -DCONFIG={0}/.config -P {1}", folder.path().display(), script.display());
        assert_eq!(variant(&done("cmake", &words, folder.path())), expected, "{options}");
    }
}

/// A component of ESP-IDF takes the variant of a chip, and names the chips that it has.
pub fn a_component_of_esp_idf_fits_its_chips() {
    let folder = folder();
    export("esp-idf", "digits", &["esp32c3", "esp32c6", "esp32p4"], folder.path());
    let script = support::own("tests/firmware/esp-idf.cmake");
    for (chip, expected) in [
        ("esp32c2", Some("rv32imc")),
        ("esp32c3", Some("rv32imc")),
        ("esp32c6", Some("rv32imac")),
        ("esp32h2", Some("rv32imac")),
        ("esp32p4", Some("rv32imafc")),
        ("esp32s3", None),
    ] {
        let words = format!("-DCOMPONENT={}/digits -DCHIP={chip} -P {}", folder.path().display(), script.display());
        let output = run("cmake", &words, folder.path());
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.success(), expected.is_some(), "{chip}: {said}");
        assert_eq!(variant(&said), expected, "{chip}: {said}");
        assert!(expected.is_some() || said.contains("not for esp32s3"), "{chip}: {said}");
    }
}

/// A pack is a document of XML whose files are there and whose conditions are defined.
pub fn a_pack_names_its_files_and_conditions() {
    let folder = folder();
    export("cmsis-pack", "pack", &["cortex-m0plus", "cortex-m4", "cortex-m4f", "cortex-m33", "cortex-m55"], folder.path());
    let pack = folder.path().join("pack");
    let count = |what: &str| done("xmllint", &format!("--xpath count({what}) modelc.digits.pdsc"), &pack).trim().to_owned();
    assert_eq!(count("/package/components/component/files/file"), "10");
    assert_eq!(count("/package/conditions/condition[accept]"), "6");
    assert_eq!(count("//@condition[not(.=/package/conditions/condition/@id)]"), "0");
    let names = done("xmllint", "--xpath //file/@name modelc.digits.pdsc", &pack);
    for name in names.split('"').filter(|part| part.contains('/')) {
        assert!(pack.join(name).is_file(), "{name}");
    }
}

/// The platform of a board for Arduino: recipes, linker scripts, and the functions that a sketch needs.
fn platform(folder: &Path) {
    let platform = folder.join("hardware/modelc/qemu");
    for (core, startup) in [("cortex-m", "startup.S"), ("riscv", "startup-riscv.S")] {
        let core = platform.join("cores").join(core);
        fs::create_dir_all(&core).expect("a folder");
        for name in [startup, "board.c"] {
            fs::copy(folder.join(name), core.join(name)).expect("it is copied");
        }
        for name in ["Arduino.h", "main.cpp"] {
            fs::copy(support::own("tests/firmware/arduino").join(name), core.join(name)).expect("it is copied");
        }
    }
    for name in ["link.ld", "memory.ld", "memory-riscv.ld"] {
        fs::copy(folder.join(name), platform.join(name)).expect("it is copied");
    }
    for name in ["boards.txt", "platform.txt"] {
        fs::copy(support::own("tests/firmware/arduino").join(name), platform.join(name)).expect("it is copied");
    }
}

/// A sketch with an exported library, built by Arduino's own program, runs on boards.
pub fn a_sketch_of_arduino_runs_on_boards() {
    let folder = folder();
    platform(folder.path());
    let sketch = folder.path().join("sketch");
    fs::create_dir_all(&sketch).expect("a folder");
    fs::create_dir_all(folder.path().join("build")).expect("a folder");
    fs::copy(support::own("tests/firmware/arduino/sketch.ino"), sketch.join("sketch.ino")).expect("it is copied");
    export("arduino", "libraries/digits", &["cortex-m4f", "esp32c3"], folder.path());
    let words = |board: &str| {
        let path = folder.path().display();
        format!(
            "-compile -hardware {path}/hardware -hardware /usr/share/arduino-builder -tools /usr/share/arduino-builder \
             -libraries {path}/libraries -prefs=libraries.path={path}/libraries -build-path {path}/build -warnings all -fqbn modelc:qemu:{board} {path}/sketch/sketch.ino"
        )
    };
    for (name, board) in [("m4", M4F), ("c3", RV32IMC)] {
        compile(board.core, "", folder.path());
        let test = fs::read_to_string(folder.path().join("t.c")).expect("a test");
        fs::write(sketch.join("test.c"), format!("#define main test_main\n{test}")).expect("it is written");
        done("arduino-builder", &words(name), folder.path());
        fs::copy(folder.path().join("build/sketch.ino.elf"), folder.path().join("program.elf")).expect("it is copied");
        board.agrees("a sketch of Arduino", folder.path());
    }
    let refused = run("arduino-builder", &words("m3"), folder.path());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("export it for this board"), "{said}");
}
