//! Objects and headers in C programs: compiled with `cc`, linked in every way, run here and under emulators.

mod handmade;
mod macho;
#[path = "handmade/many_calls.rs"]
mod many_calls;
mod shared;

use modelc::emit::{Image, ModelInfo, ModelRecord, ObjectFiles, ObjectOptions, RiscvAbi, WeightsPlace, archive};
use modelc::program::{Level, Program};
use modelc::target::{ObjectFormat, Platform, TARGETS, level, levels, target};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, elf};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const STRICT: &[&str] = &["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"];

/// A C compiler, and a way to run its programs.
struct Toolchain {
    triple: &'static str,
    compiler: &'static str,
    emulator: Option<&'static str>,
    /// Folder of the C library for the emulator.
    libraries: &'static str,
    /// Name of the processor in the emulator, if it is not the default.
    processor: Option<&'static str>,
}

const NATIVE: Toolchain = Toolchain { triple: "x86_64-linux-gnu", compiler: "cc", emulator: None, libraries: "", processor: None };

/// Toolchains of other machines, with emulators.
static CROSS: [Toolchain; 2] = [
    Toolchain {
        triple: "aarch64-linux-gnu",
        compiler: "aarch64-linux-gnu-gcc",
        emulator: Some("qemu-aarch64"),
        libraries: "/usr/aarch64-linux-gnu",
        processor: None,
    },
    RISCV64,
];

const RISCV64: Toolchain = Toolchain {
    triple: "riscv64-linux-gnu",
    compiler: "riscv64-linux-gnu-gcc",
    emulator: Some("qemu-riscv64"),
    libraries: "/usr/riscv64-linux-gnu",
    processor: None,
};

static RISCV64_VECTORS: Toolchain = Toolchain { processor: Some("rv64,v=true,vlen=128"), ..RISCV64 };

/// A folder with an object and its header, and programs made from them.
struct Bench {
    folder: TempDir,
    tools: &'static Toolchain,
}

fn options(name: &str, triple: &str) -> ObjectOptions {
    let target = target(triple).unwrap();
    let machine = level(target, None).unwrap();
    ObjectOptions::new(name, target, machine)
}

/// Returns programs with their options for a target: one whose calls are code, and one whose calls are rows.
fn codes_and_rows(name: &str, triple: &str) -> [(Program, ObjectOptions); 2] {
    let rows = ObjectOptions { small: true, ..options(name, triple) };
    [(handmade::program(), options(name, triple)), (many_calls::program_of_rows(), rows)]
}

fn build(program: &Program, options: &ObjectOptions) -> ObjectFiles {
    let model = ModelInfo { sha256: [7; 32], file: "models/hand */ made.tflite".into(), ..ModelInfo::default() };
    modelc::emit::object(program, &model, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the host's toolchain, if its programs run on this computer. Otherwise only emulated ones are tested.
fn native() -> Option<&'static Toolchain> {
    cfg!(all(target_arch = "x86_64", target_os = "linux")).then_some(&NATIVE)
}

impl Bench {
    fn new(tools: &'static Toolchain) -> Self {
        Self { folder: TempDir::new().unwrap(), tools }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn add(&self, name: &str, files: &ObjectFiles) -> PathBuf {
        let path = self.path(&format!("{name}.o"));
        fs::write(&path, files.object.to_vec()).unwrap();
        fs::write(self.path(&format!("{name}.h")), &files.header).unwrap();
        path
    }

    /// Runs the compiler. Returns its messages if it fails.
    fn try_compile(&self, source: &str, flags: &[&str], objects: &[&Path], output: &str) -> Result<PathBuf, String> {
        let output = self.path(output);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link");
        let mut command = Command::new(self.tools.compiler);
        command.args(flags).arg("-I").arg(self.folder.path()).arg("-I").arg(&sources);
        if !source.is_empty() {
            command.arg(sources.join(source));
        }
        command.args(objects).arg("-o").arg(&output);
        let run = command.output().unwrap_or_else(|error| panic!("{} ({error}): {ADVICE}", self.tools.compiler));
        if run.status.success() { Ok(output) } else { Err(String::from_utf8_lossy(&run.stderr).into_owned()) }
    }

    fn compile(&self, source: &str, flags: &[&str], objects: &[&Path], output: &str) -> PathBuf {
        let flags: Vec<_> = STRICT.iter().chain(flags).copied().collect();
        self.try_compile(source, &flags, objects, output).unwrap_or_else(|error| panic!("{source} with {flags:?}: {error}"))
    }

    fn run(&self, program: &Path, arguments: &[&Path]) {
        let mut command = match self.tools.emulator {
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.env("QEMU_LD_PREFIX", self.tools.libraries).envs(self.tools.processor.map(|name| ("QEMU_CPU", name)));
                command.arg(program);
                command
            }
            None => Command::new(program),
        };
        let run = command.args(arguments).output().unwrap_or_else(|error| panic!("{:?} ({error}): {ADVICE}", self.tools.emulator));
        assert!(run.status.success(), "{}: {}\n{}", program.display(), run.status, String::from_utf8_lossy(&run.stderr));
    }
}

const ADVICE: &str = "`cargo xtask setup` installs what the tests use";

#[test]
fn a_model_lives_its_life_linked_in_every_way() {
    let Some(tools) = native() else { return };
    let ways: &[&[&str]] = &[
        &["-fPIE", "-pie", "-Wl,-z,text"],
        &["-fno-pie", "-no-pie"],
        &["-static"],
        &["-Wl,--gc-sections", "-ffunction-sections", "-s"],
        &["-fsanitize=undefined", "-fno-sanitize-recover"],
    ];
    for (program, options) in codes_and_rows("net", tools.triple) {
        let bench = Bench::new(tools);
        let net = bench.add("net", &build(&program, &options));
        for (number, way) in ways.iter().enumerate() {
            let flags: Vec<_> = way.iter().chain(&["-DLACKING_FEATURES=1", "-Wl,--fatal-warnings"]).copied().collect();
            let program = bench.compile("lifecycle.c", &flags, &[&net], &format!("lifecycle{number}"));
            bench.run(&program, &[]);
            // The record stays, even if no code refers to it and names are stripped.
            let records = ModelRecord::find_all(&fs::read(program).unwrap());
            assert_eq!(records.iter().map(|r| (r.name.as_str(), r.model_sha256)).collect::<Vec<_>>(), [("net", [7; 32])], "{way:?}");
        }
    }
}

#[test]
fn an_object_holds_several_levels_and_uses_one() {
    let Some(tools) = native() else { return };
    for (program, options) in codes_and_rows("net", tools.triple) {
        let bench = Bench::new(tools);
        let machines = levels(target(tools.triple).unwrap(), Some("x86-64-v2,x86-64-v3,x86-64-v4")).unwrap();
        let object_levels: Vec<Level> = machines.iter().map(|machine| Level { machine, program: &program }).collect();
        let model = ModelInfo { sha256: [7; 32], file: "model".into(), ..ModelInfo::default() };
        let files = modelc::emit::object_of_levels(&object_levels, &model, &options).unwrap();
        let net = bench.add("net", &files);
        let lifecycle = bench.compile("lifecycle.c", &[], &[&net], "lifecycle");
        bench.run(&lifecycle, &[]);
        let mut names: Vec<&str> = files.record.levels.split(',').collect();
        names.sort_unstable();
        assert_eq!(names, ["x86-64-v2", "x86-64-v3", "x86-64-v4"]);
        let footprint = &files.record.footprint;
        assert!(footprint.level_code_bytes.len() == 3 && footprint.level_code_bytes.iter().all(|&bytes| bytes > 500));
        // Only functions that all levels share belong to no level.
        let of_levels: u64 = footprint.level_code_bytes.iter().sum();
        let all = files.report["memory"]["code_bytes"].as_u64().unwrap();
        assert!(of_levels < all && all < of_levels + 4096, "{of_levels} of {all}");
    }
}

#[test]
fn an_archive_links_as_its_object_does() {
    let Some(tools) = native() else { return };
    let bench = Bench::new(tools);
    let files = build(&handmade::program(), &options("net", tools.triple));
    bench.add("net", &files);
    fs::write(bench.path("libnet.a"), archive(ObjectFormat::Elf, "net.o", &files.object, &files.symbols).to_vec()).unwrap();
    let program = bench.compile("lifecycle.c", &[], &[&bench.path("libnet.a")], "lifecycle");
    bench.run(&program, &[]);
}

#[test]
fn cross_objects_run_under_emulators() {
    for (tools, (program, options)) in CROSS.iter().flat_map(|tools| codes_and_rows("net", tools.triple).map(|made| (tools, made))) {
        let bench = Bench::new(tools);
        let files = build(&program, &options);
        let net = bench.add("net", &files);
        for (number, way) in [["-static", "-Wl,--gc-sections"], ["-pie", "-fPIE"]].iter().enumerate() {
            let flags = [way[0], way[1], "-Wl,--fatal-warnings"];
            let program = bench.compile("lifecycle.c", &flags, &[&net], &format!("lifecycle{number}"));
            bench.run(&program, &[]);
            assert_eq!(ModelRecord::find_all(&fs::read(program).unwrap()), std::slice::from_ref(&files.record));
        }
        bench.compile("", &["-shared", "-nostdlib", "-Wl,-z,text", "-Wl,-z,defs", "-Wl,--fatal-warnings"], &[&net], "libnet.so");
        assert_self_contained(&files);
    }
}

/// riscv64 with vectors, alone and beside the level without them: features in `cpu_features` are used.
#[test]
fn riscv64_vectors_are_a_level() {
    let tools = &RISCV64_VECTORS;
    let bench = Bench::new(tools);
    let program = handmade::program();
    let model = ModelInfo { sha256: [7; 32], file: "model".into(), ..ModelInfo::default() };
    for (list, needs_vectors) in [("rv64gcv", true), ("rv64gc,rv64gcv", false)] {
        let machines = levels(target(tools.triple).unwrap(), Some(list)).unwrap();
        let object_levels: Vec<Level> = machines.iter().map(|machine| Level { machine, program: &program }).collect();
        let files = modelc::emit::object_of_levels(&object_levels, &model, &options("net", tools.triple)).unwrap();
        let net = bench.add("net", &files);
        let flags: &[&str] = if needs_vectors { &["-static", "-DLACKING_FEATURES=1"] } else { &["-static"] };
        let lifecycle = bench.compile("lifecycle.c", &[flags, &["-Wl,--fatal-warnings"]].concat(), &[&net], "lifecycle");
        bench.run(&lifecycle, &[]);
        let file = files.object.to_vec();
        let attributes = object::File::parse(&*file).unwrap();
        let attributes = object::Object::section_by_name(&attributes, ".riscv.attributes");
        assert_eq!(attributes.is_some(), needs_vectors, "{list}");
        let says_so = attributes.is_some_and(|a| object::ObjectSection::data(&a).unwrap().windows(6).any(|part| part == b"_v1p0_"));
        assert_eq!(says_so, needs_vectors, "{list}");
    }
}

/// Processors of aarch64: the best level on each, by its number in the object, and the feature bits of levels.
static AARCH64_PROCESSORS: [(Toolchain, &str, &str); 3] = [
    (Toolchain { processor: Some("cortex-a53"), ..CROSS[0] }, "-DLEVEL=2", "-DFEATURES=0"),
    (Toolchain { processor: Some("cortex-a76"), ..CROSS[0] }, "-DLEVEL=1", "-DFEATURES=256"),
    (Toolchain { processor: Some("max,sve=off,sme=off"), ..CROSS[0] }, "-DLEVEL=0", "-DFEATURES=1280"),
];

/// All levels of aarch64 in an object: the header finds the features, and the object calls nothing.
#[test]
fn aarch64_objects_use_the_best_level() {
    for (tools, best, features) in &AARCH64_PROCESSORS {
        let bench = Bench::new(tools);
        let program = handmade::program();
        let machines = levels(target(tools.triple).unwrap(), None).unwrap();
        let object_levels: Vec<Level> = machines.iter().map(|machine| Level { machine, program: &program }).collect();
        let model = ModelInfo { sha256: [7; 32], file: "model".into(), ..ModelInfo::default() };
        let files = modelc::emit::object_of_levels(&object_levels, &model, &options("net", tools.triple)).unwrap();
        assert_self_contained(&files);
        let net = bench.add("net", &files);
        let at = format!("-DLEVEL_AT={}", modelc::interface::Record::Level.offset());
        let program = bench.compile("levels.c", &["-static", *best, *features, &at], &[&net], "levels");
        bench.run(&program, &[]);
        let lifecycle = bench.compile("lifecycle.c", &["-static"], &[&net], "lifecycle");
        bench.run(&lifecycle, &[]);
    }
}

#[test]
fn bare_metal_objects_are_those_of_their_instruction_set() {
    for triple in ["aarch64-none-elf", "riscv64-unknown-elf", "x86_64-unknown-none"] {
        assert_self_contained(&build(&handmade::program(), &options("net", triple)));
    }
    let soft = ObjectOptions { riscv_abi: RiscvAbi::Lp64, ..options("net", "riscv64-unknown-elf") };
    let file = build(&handmade::program(), &soft).object.to_vec();
    let header = elf::FileHeader64::<Endianness>::parse(&*file).unwrap();
    assert_eq!(header.e_flags(Endianness::Little) & elf::EF_RISCV_FLOAT_ABI, elf::EF_RISCV_FLOAT_ABI_SOFT);
    assert_eq!(header.e_flags(Endianness::Little) & elf::EF_RISCV_RVC, elf::EF_RISCV_RVC);
}

/// Every target's object, read back: its format and machine, no undefined symbol, the entries, code and weights.
#[test]
fn objects_of_every_target_are_sound() {
    use object::{Architecture, BinaryFormat, Object, ObjectSection, ObjectSymbol};
    for target in TARGETS {
        for machine in target.machines() {
            let files = build(&handmade::program(), &ObjectOptions::new("net", target, machine));
            let bytes = files.object.to_vec();
            let file = object::File::parse(&*bytes).unwrap_or_else(|error| panic!("{}: {error}", target.name));
            let format = match target.format {
                ObjectFormat::Elf => BinaryFormat::Elf,
                ObjectFormat::Coff => BinaryFormat::Coff,
                ObjectFormat::MachO => BinaryFormat::MachO,
            };
            let architecture = match target.isa {
                modelc::machine::Isa::X86_64 => Architecture::X86_64,
                modelc::machine::Isa::Aarch64 => Architecture::Aarch64,
                modelc::machine::Isa::Riscv64 => Architecture::Riscv64,
                modelc::machine::Isa::Riscv32 => Architecture::Riscv32,
                modelc::machine::Isa::Thumb => Architecture::Arm,
            };
            assert_eq!((file.format(), file.architecture()), (format, architecture), "{}", target.name);
            let prefix = if format == BinaryFormat::MachO { "_" } else { "" };
            for name in &files.symbols {
                let name = format!("{prefix}{name}");
                let symbol = file.symbols().find(|symbol| symbol.name() == Ok(&name) && symbol.is_global());
                assert!(symbol.is_some_and(|symbol| symbol.is_definition()), "{}: {name}", target.name);
            }
            assert!(file.symbols().skip(1).all(|symbol| !symbol.is_undefined()), "{} leaves a symbol undefined", target.name);
            // All references of the code are to symbols in the file, and their number is the code's.
            let relocations: usize = file.sections().map(|section| section.relocations().count()).sum();
            assert!(relocations > 20, "{}: {relocations} relocations", target.name);
            // The weights in the file are the program's.
            let weights = file.sections().find(|section| section.name().is_ok_and(|name| name.contains("weights"))).unwrap();
            assert_eq!(&weights.data().unwrap()[128..128 + 83], (0..83).collect::<Vec<u8>>(), "{}", target.name);
            assert_eq!(ModelRecord::find_all(&bytes), std::slice::from_ref(&files.record));
        }
    }
}

/// Returns the addend that a relocation of a distance has in an object, for a distance from its own place.
fn addend_of_distance(format: ObjectFormat, row: u64) -> i64 {
    match format {
        ObjectFormat::Elf => 0,
        // The distance counts from the end of the field.
        ObjectFormat::Coff => 4,
        // The distance counts from the start of the rows.
        ObjectFormat::MachO => -(row as i64),
    }
}

/// Rows of calls in the objects of every target. Each names its kernel by a distance, and there is a list of rows for each method.
#[test]
fn calls_of_small_code_are_rows_on_every_target() {
    use object::{Object, ObjectSection, ObjectSymbol};
    for target in TARGETS {
        let program = many_calls::program_of_rows();
        let options = ObjectOptions { small: true, ..options("net", target.name) };
        let bytes = build(&program, &options).object.to_vec();
        let file = object::File::parse(&*bytes).unwrap();
        let find = |name: &str| file.symbols().find(|symbol| symbol.name().is_ok_and(|found| found.trim_start_matches('_') == name));
        assert!(find("net_call_rows").is_some() || find("net_call_rows_sysv").is_some(), "{}: no function walks rows", target.name);
        let rows = find("net_rows_forward").unwrap_or_else(|| panic!("{}: no rows", target.name));
        let section = file.section_by_index(rows.section_index().unwrap()).unwrap();
        let start = rows.address() - section.address();
        let data = section.data().unwrap();
        // Each row of the repeated call has a distance and three arguments.
        for row in (0..many_calls::MORE_CALLS as u64).map(|number| 16 * number) {
            let (_, distance) = section.relocations().find(|(offset, _)| *offset == start + row).unwrap();
            let stored = i32::from_le_bytes(data[(start + row) as usize..][..4].try_into().unwrap());
            let addend = if distance.has_implicit_addend() { i64::from(stored) } else { distance.addend() };
            assert_eq!(addend, addend_of_distance(target.format, row), "{}: row at {row}", target.name);
        }
        assert!(find("net_rows_check").is_some(), "{}: no rows of a second method", target.name);
    }
}

/// The code of Mach-O objects, linked by LLVM's linker without unused parts, runs in a program of this system. Apple's aarch64 code runs in the
/// emulator.
#[test]
fn linked_mach_o_code_runs() {
    let Some(linker) = macho::linker() else {
        eprintln!("skipped: no ld64.lld");
        return;
    };
    for target in TARGETS.iter().filter(|target| target.format == ObjectFormat::MachO) {
        let (architecture, tools) = match target.isa {
            modelc::machine::Isa::X86_64 => ("x86_64", native()),
            _ => ("arm64", Some(&CROSS[0])),
        };
        let Some(tools) = tools else { continue };
        for (program, options) in codes_and_rows("net", target.name) {
            let bench = Bench::new(tools);
            let files = build(&program, &options);
            let object = bench.add("net", &files);
            let platform = if target.platform == Platform::Ios { ["ios", "14.0", "14.0"] } else { ["macos", "11.0", "11.0"] };
            let library =
                macho::library(&linker, architecture, platform, &object).unwrap_or_else(|error| panic!("{}: {error}", target.name));
            assert_eq!(ModelRecord::find_all(&library), std::slice::from_ref(&files.record), "{}", target.name);
            let source = macho::as_assembler(&library, bench.folder.path()).unwrap_or_else(|error| panic!("{}: {error}", target.name));
            let include = format!("-Wa,-I{}", bench.folder.path().display());
            let program = bench.compile("lifecycle.c", &["-static", &include], &[&source], "lifecycle");
            bench.run(&program, &[]);
        }
    }
}

/// Lowers a module for each machine with installed tools, and calls `check`.
fn on_each_machine(module: &modelc::ir::Module, check: impl Fn(&Bench, &Program, &ObjectOptions)) {
    let tools = [("x86_64-linux-gnu", native()), ("aarch64-linux-gnu", Some(&CROSS[0])), ("riscv64-linux-gnu", Some(&CROSS[1]))];
    for (triple, tools) in tools {
        let Some(tools) = tools else { continue };
        let options = options("net", triple);
        let plan = modelc::lower::Options::new(options.machine);
        let program = modelc::pipeline::lower(module, "net", plan).unwrap().program;
        check(&Bench::new(tools), &program, &options);
    }
}

#[test]
fn a_custom_operator_is_a_function_of_the_program() {
    let module = modelc::ir::text::parse_module(include_str!("files/external.mt").split(";! ---").next().unwrap()).unwrap();
    on_each_machine(&module, |bench, program, options| {
        let files = build(program, options);
        let net = bench.add("net", &files);
        for way in [["-static", "-Wl,--gc-sections"], ["-pie", "-fPIE"]] {
            let program = bench.compile("custom.c", &way, &[&net], "custom");
            bench.run(&program, &[]);
        }
        assert_eq!(files.report["custom_operators"][0], "app_scale");
        // The object's own names are taken.
        let error = build_error(program, &ObjectOptions { name: "app".into(), ..options.clone() }, "app_init");
        assert_eq!(error.code.number(), 708, "{error}");
    });
}

#[test]
fn a_dynamic_batch_and_sequence_are_as_the_caller_says() {
    let module = modelc::ir::text::parse_module(include_str!("link/sequence.mt")).unwrap();
    on_each_machine(&module, |bench, program, options| {
        let net = bench.add("net", &build(program, options));
        let program = bench.compile("dynamic.c", &["-static"], &[&net], "dynamic");
        bench.run(&program, &[]);
    });
}

/// Returns the error for a program whose custom operator has another symbol.
fn build_error(program: &Program, options: &ObjectOptions, symbol: &str) -> modelc::diagnostic::Diagnostic {
    let mut program = program.clone();
    for step in &mut program.methods[0].steps {
        if let modelc::program::Step::External(external) = step {
            external.symbol = symbol.into();
        }
    }
    let model = ModelInfo { sha256: [7; 32], file: String::new(), ..ModelInfo::default() };
    modelc::emit::object(&program, &model, options).unwrap_err().0.remove(0)
}

#[test]
fn weights_of_a_file_are_checked_and_used() {
    let Some(tools) = native() else { return };
    let bench = Bench::new(tools);
    let options = ObjectOptions { weights: WeightsPlace::External, ..options("net", tools.triple) };
    let files = build(&handmade::program(), &options);
    let net = bench.add("net", &files);
    let write = |name: &str, weights: &Image| fs::write(bench.path(name), weights.to_vec()).unwrap();
    write("weights", files.weights.as_ref().unwrap());
    let level_of = |program| Level { machine: options.machine, program };
    // Other weights for the same code: three more in each element of the table that `forward` adds.
    let mut other = handmade::program();
    let table: Vec<u8> = other.constants[1].data.bytes().iter().map(|byte| byte + 3).collect();
    other.constants[1].data = table.into();
    let record = modelc::emit::TopologyRecord::find(&files.object.to_vec()).unwrap();
    let new = modelc::emit::weights_for(&[level_of(&other)], &record).unwrap();
    assert!(new.rescaled.is_empty());
    write("other", &new.file);
    let program = bench.compile("external.c", &[], &[&net], "external");
    bench.run(&program, &[&bench.path("weights"), &bench.path("other")]);
    assert!(!files.object.to_vec().windows(83).any(|bytes| bytes.iter().copied().eq(0..83)), "the object holds weights");

    // Another program is rejected, and the message names the first difference.
    let mut changed = handmade::program();
    changed.kernels[1] = changed.kernels[8].clone();
    let error = modelc::emit::weights_for(&[level_of(&changed)], &record).unwrap_err();
    assert_eq!((error.code.number(), error.location.operator), (605, Some((1, "OP_1".into()))));
    let mut rescaled = handmade::program();
    rescaled.methods[0].inputs[0].quantization.as_mut().unwrap().scales[0] = 0.25;
    let new = modelc::emit::weights_for(&[level_of(&rescaled)], &record).unwrap();
    assert_eq!(new.rescaled, ["in0 of forward"]);
}

#[test]
fn headers_are_clean_in_c_and_cpp_two_models_to_a_file() {
    let Some(tools) = native() else { return };
    let bench = Bench::new(tools);
    let net = bench.add("net", &build(&handmade::program(), &options("net", tools.triple)));
    let other = bench.add("other", &build(&handmade::program(), &options("other", tools.triple)));
    let program = bench.compile("two_models.c", &[], &[&net, &other], "two_models");
    bench.run(&program, &[]);
    let flags = ["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"];
    let compiled = bench.try_compile("two_models.c", &flags, &[], "two_models.o").unwrap_or_else(|error| panic!("{error}"));
    // The header itself contains no C casts.
    let strict = [&flags[..], &["-Wold-style-cast"]].concat();
    bench.try_compile("headers_only.c", &strict, &[], "headers_only.o").unwrap_or_else(|error| panic!("{error}"));
    let cpp = Bench { tools: &Toolchain { triple: "", compiler: "c++", ..NATIVE }, ..bench };
    let program = cpp.try_compile("", &[], &[&compiled, &net, &other], "two_models_cpp").unwrap_or_else(|error| panic!("{error}"));
    cpp.run(&program, &[]);
}

#[test]
fn instances_on_threads_share_scratch_in_turn_within_the_stack_bound() {
    let Some(tools) = native() else { return };
    let bench = Bench::new(tools);
    let net = bench.add("net", &build(&handmade::program(), &options("net", tools.triple)));
    let program = bench.compile("threads.c", &["-pthread"], &[&net], "threads");
    bench.run(&program, &[]);
}

#[test]
fn hooks_are_called_where_asked_for_and_leave_no_trace_elsewhere() {
    let Some(tools) = native() else { return };
    let program = handmade::program();
    let kernels = format!("-DFORWARD_KERNELS={}", program.methods[0].steps.len());
    for (profile_hooks, flag) in [(true, kernels.as_str()), (false, "-DWITHOUT_HOOKS")] {
        let bench = Bench::new(tools);
        let files = build(&program, &ObjectOptions { profile_hooks, ..options("net", tools.triple) });
        let net = bench.add("net", &files);
        let program = bench.compile("hooks.c", &[flag], &[&net], "hooks");
        bench.run(&program, &[]);
    }
}

#[test]
fn a_stale_header_does_not_link() {
    let Some(tools) = native() else { return };
    let bench = Bench::new(tools);
    let net = bench.add("net", &build(&handmade::program(), &options("net", tools.triple)));
    let mut changed = handmade::program();
    changed.methods[0].outputs[1].shape = vec![1, 3];
    bench.add("net_new", &build(&changed, &options("net", tools.triple)));
    fs::copy(bench.path("net_new.h"), bench.path("net.h")).unwrap();
    let error = bench.try_compile("lifecycle.c", STRICT, &[&net], "lifecycle").unwrap_err();
    assert!(error.contains("undefined reference to `net_init_1_"), "{error}");
}

#[test]
fn equal_programs_give_equal_bytes_and_weights_do_not_change_the_interface() {
    let first = build(&handmade::program(), &options("net", "x86_64-linux-gnu"));
    let second = build(&handmade::program(), &options("net", "x86_64-pc-linux-gnu"));
    assert_eq!(first.object, second.object);
    assert_eq!(first.header, second.header);
    assert_eq!(first.report, second.report);
    let mut other = handmade::program();
    other.constants[1].data = vec![1; handmade::LENGTH as usize].into();
    let other = build(&other, &options("net", "x86_64-linux-gnu"));
    assert!(other.object != first.object && other.symbols == first.symbols);
    assert_self_contained(&first);
    assert!(!first.header.contains("models/") && !String::from_utf8_lossy(&first.object.to_vec()).contains("models/"));
}

#[test]
fn the_report_names_what_the_object_holds() {
    let files = build(&handmade::program(), &options("net", "x86_64-linux-gnu"));
    let report = &files.report;
    assert_eq!(report["memory"]["arena_bytes"], files.record.footprint.arena_bytes());
    assert_eq!(report["memory"]["object_bytes"], files.object.len());
    assert_eq!(report["kernels"][2]["symbol"], "net_op1_double");
    assert_eq!(report["kernels"][2]["operators"][0]["name"], "OP_1");
    assert_eq!(report["kernels"].as_array().unwrap().len(), 4 + 4 + 3 + 1 + 1);
    assert_eq!(report["methods"][1]["identifier"], "count_to");
}

#[test]
fn a_mistake_in_a_program_is_an_error_that_names_the_operator() {
    use modelc::diagnostic::Kind;
    use modelc::program::{Address, Division, Ranges, Step};
    let break_call = |edit: fn(&mut modelc::program::Call)| {
        let mut program = handmade::program();
        let Step::Call(call) = &mut program.methods[0].steps[2] else { panic!("the third step is a call") };
        edit(call);
        let model = ModelInfo { sha256: [0; 32], file: String::new(), ..ModelInfo::default() };
        modelc::emit::object(&program, &model, &options("net", "x86_64-linux-gnu")).unwrap_err().0.remove(0)
    };
    for edit in [
        (|call| call.arguments[0] = Address::Scratch(1)) as fn(&mut modelc::program::Call),
        |call| call.arguments[0] = Address::Scratch(u64::MAX),
        |call| call.arguments[0] = Address::Constant(9, 0),
        |call| call.arguments[1] = Address::Input(0, 0),
        |call| call.arguments[1] = Address::Output(7, 0),
        |call| call.division = Division::Ranges(Ranges::default()),
        |call| call.kernel = 99,
    ] {
        let error = break_call(edit);
        assert_eq!(error.kind(), Kind::Bug, "{error}");
        assert_eq!(error.location.operator, Some((1, "OP_1".into())), "{error}");
    }
}

/// Checks for no undefined symbol, no writable data, no global offset table, and the mark of the stack.
fn assert_self_contained(files: &ObjectFiles) {
    let data = &*files.object.to_vec();
    let endian = Endianness::Little;
    let header = elf::FileHeader64::<Endianness>::parse(data).unwrap();
    let sections = header.sections(endian, data).unwrap();
    let mut names = vec![];
    for section in sections.iter() {
        let name = String::from_utf8_lossy(sections.section_name(endian, section).unwrap()).into_owned();
        let flags = section.sh_flags(endian);
        assert_eq!(flags & u64::from(elf::SHF_WRITE), 0, "{name} is writable");
        if name.starts_with(".note.GNU-stack") {
            assert_eq!(flags & u64::from(elf::SHF_EXECINSTR), 0);
        }
        names.push(name);
    }
    // If there are several levels, the name of a kernel ends in its level.
    for name in [".note.GNU-stack", ".text.net_init", ".text.net_op0_add", ".rodata.net_weights", ".rodata.net_info"] {
        assert!(names.iter().any(|n| n.starts_with(name)), "{name} is not among {names:?}");
    }
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB).unwrap();
    for symbol in symbols.iter().skip(1) {
        let name = String::from_utf8_lossy(symbol.name(endian, symbols.strings()).unwrap()).into_owned();
        assert!(!symbol.is_undefined(endian), "{name} is undefined");
        assert!(symbol.st_bind() == elf::STB_LOCAL || files.symbols.contains(&name), "{name} is global");
    }
}

/// Offset of the weights of [`large_model`], and their bytes.
const LARGE: (u64, u64) = (4096, 9216 * 8192 * 4);

/// Makes a fully connected layer of 300 MB. The weights are after the FlatBuffer, as in large models.
fn large_model(path: &Path) {
    use flatbuffers::FlatBufferBuilder;
    use modelc::schema::tflite::*;
    let mut b = FlatBufferBuilder::new();
    let empty = Buffer::create(&mut b, &BufferArgs::default());
    let weights = Buffer::create(&mut b, &BufferArgs { offset: LARGE.0, size: LARGE.1, ..Default::default() });
    let mut tensor = |name: &str, shape: &[i32], buffer: u32| {
        let (name, shape) = (b.create_string(name), b.create_vector(shape));
        Tensor::create(&mut b, &TensorArgs { name: Some(name), shape: Some(shape), buffer, ..Default::default() })
    };
    let tensors = [tensor("x", &[1, 8192], 0), tensor("weights", &[9216, 8192], 1), tensor("y", &[1, 9216], 0)];
    let options = FullyConnectedOptions::create(&mut b, &FullyConnectedOptionsArgs::default());
    let operator = OperatorArgs {
        inputs: Some(b.create_vector(&[0, 1, -1])),
        outputs: Some(b.create_vector(&[2])),
        builtin_options_type: BuiltinOptions::FullyConnectedOptions,
        builtin_options: Some(options.as_union_value()),
        ..Default::default()
    };
    let operator = Operator::create(&mut b, &operator);
    let code = OperatorCode::create(&mut b, &OperatorCodeArgs { builtin_code: BuiltinOperator::FULLY_CONNECTED, ..Default::default() });
    let subgraph = SubGraphArgs {
        tensors: Some(b.create_vector(&tensors)),
        inputs: Some(b.create_vector(&[0])),
        outputs: Some(b.create_vector(&[2])),
        operators: Some(b.create_vector(&[operator])),
        ..Default::default()
    };
    let subgraph = SubGraph::create(&mut b, &subgraph);
    let model = ModelArgs {
        version: 3,
        operator_codes: Some(b.create_vector(&[code])),
        subgraphs: Some(b.create_vector(&[subgraph])),
        buffers: Some(b.create_vector(&[empty, weights])),
        ..Default::default()
    };
    let model = Model::create(&mut b, &model);
    finish_model_buffer(&mut b, model);
    assert!((b.finished_data().len() as u64) < LARGE.0);
    fs::write(path, b.finished_data()).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_len(LARGE.0 + LARGE.1).unwrap();
}

/// Compilation needs the mapped model, one copy of the packed weights, and at most 200 MB, for any place of the weights.
#[test]
fn compiling_a_large_model_holds_its_weights_once() {
    if native().is_none() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let model = folder.path().join("large.tflite");
    large_model(&model);
    for place in ["embed", "external"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_modelc"));
        command.arg(&model).args(["--weights", place, "-o"]).arg(folder.path().join("large.o")).stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut peak = 0;
        let status = loop {
            // The high-water mark only grows, so its last value is close to the final one.
            let text = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let kilobytes = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
            peak = kilobytes.unwrap_or(0).max(peak);
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        };
        let allowed = (LARGE.0 + 2 * LARGE.1 + (200 << 20)) >> 10;
        println!("{place}: {peak} kB of {allowed} kB");
        assert!(status.success() && peak > LARGE.1 >> 10, "{place}: {status}, {peak} kB");
        assert!(peak <= allowed, "{place}: {peak} kB, and at most {allowed} kB were to be held");
    }
}
