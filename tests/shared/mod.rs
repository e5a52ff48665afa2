//! Shared libraries: those that the C compiler links, and those that modelc writes without a linker.

use super::{ADVICE, Bench, CROSS, Toolchain, build, codes_and_rows, handmade, native, on_each_machine, options};
use modelc::emit::{ModelInfo, ObjectFiles, ObjectOptions, shared_library};
use modelc::ir::Module;
use modelc::program::Program;
use object::read::elf::{Dyn, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, elf};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Options of the linker: no undefined function, no text relocation, and no warning.
const LINKED: [&str; 5] = ["-shared", "-nostdlib", "-Wl,-z,text", "-Wl,-z,defs", "-Wl,--fatal-warnings"];

/// Writes the library of a program and its header into the folder of a bench.
fn written(bench: &Bench, program: &Program, options: &ObjectOptions) -> (PathBuf, ObjectFiles) {
    let files = build(program, options);
    bench.add("net", &files);
    let model = ModelInfo { sha256: [7; 32], file: "made.tflite".into(), ..ModelInfo::default() };
    let library = shared_library((program, &Module::default()), &model, options, &files, "libnet.so");
    let path = bench.path("libnet.so");
    fs::write(&path, library.unwrap_or_else(|error| panic!("{error}")).to_vec()).unwrap();
    (path, files)
}

/// Returns the installed toolchains, the native one first.
fn toolchains() -> impl Iterator<Item = &'static Toolchain> {
    native().into_iter().chain(&CROSS)
}

#[test]
fn a_library_of_the_linker_holds_a_model() {
    let Some(tools) = native() else { return };
    let bench = Bench::new(tools);
    let net = bench.add("net", &build(&handmade::program(), &options("net", tools.triple)));
    let library = bench.compile("", &LINKED, &[&net], "libnet.so");
    let program = bench.compile("shared_library.c", &[], &[], "shared_library");
    bench.run(&program, &[&library]);
    let program = bench.compile("lifecycle.c", &["-Wl,-rpath,$ORIGIN"], &[&library], "lifecycle");
    bench.run(&program, &[]);
}

/// Libraries are opened by name, as scripting languages do, and linked, with both hash tables.
#[test]
fn a_library_without_a_linker_holds_a_model() {
    for (tools, (program, options)) in toolchains().flat_map(|tools| codes_and_rows("net", tools.triple).map(|made| (tools, made))) {
        let bench = Bench::new(tools);
        let (library, _) = written(&bench, &program, &options);
        let program = bench.compile("shared_library.c", &[], &[], "shared_library");
        bench.run(&program, &[&library]);
        let warnings = ["-Wl,-rpath,$ORIGIN", "-Wl,--fatal-warnings"];
        for (number, style) in ["-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv"].iter().enumerate() {
            let program = bench.compile("lifecycle.c", &[warnings[0], warnings[1], style], &[&library], &format!("lifecycle{number}"));
            bench.run(&program, &[]);
        }
    }
}

/// The application defines the function, so it is found through a slot that the loader fills.
#[test]
fn a_library_calls_a_custom_operator_of_the_program() {
    let module = modelc::ir::text::parse_module(include_str!("../files/external.mt").split(";! ---").next().unwrap()).unwrap();
    on_each_machine(&module, |bench, program, options| {
        let (library, _) = written(bench, program, options);
        let program = bench.compile("custom.c", &["-rdynamic", "-Wl,-rpath,$ORIGIN"], &[&library], "custom");
        bench.run(&program, &[]);
    });
}

/// Tables of loaders: no memory is both writable and executable, none is written after loading, and no relocation changes code.
#[test]
fn a_library_needs_no_writable_code() {
    for tools in toolchains() {
        let bench = Bench::new(tools);
        let (path, files) = written(&bench, &handmade::program(), &options("net", tools.triple));
        let bytes = fs::read(&path).unwrap();
        let file = object::read::elf::ElfFile64::<Endianness>::parse(&*bytes).unwrap();
        let little = Endianness::Little;
        for segment in file.elf_program_headers() {
            let flags = segment.p_flags(little);
            assert!(flags & elf::PF_W == 0 || flags & elf::PF_X == 0, "{}", tools.triple);
        }
        let range = |kind: u32| {
            let segment = file.elf_program_headers().iter().find(|segment| segment.p_type(little) == kind).unwrap();
            segment.p_vaddr(little)..segment.p_vaddr(little) + segment.p_memsz(little)
        };
        let (protected, dynamic) = (range(elf::PT_GNU_RELRO), range(elf::PT_DYNAMIC));
        assert!(protected.start <= dynamic.start && dynamic.end <= protected.end && protected.end % 0x1000 == 0, "{}", tools.triple);
        let tags: Vec<i64> = file.elf_dynamic_table().unwrap().dynamics().iter().map(|entry| entry.d_tag(little)).collect();
        assert!(tags.contains(&elf::DT_SONAME) && !tags.contains(&elf::DT_TEXTREL) && !tags.contains(&elf::DT_RELA), "{tags:?}");
        let exported: Vec<&str> = file.dynamic_symbols().map(|symbol| symbol.name().unwrap()).collect();
        assert!(files.symbols.iter().all(|symbol| exported.contains(&symbol.as_str())), "{exported:?}");
        assert_eq!(exported.len(), files.symbols.len() + 1, "the description is the only other one");
        assert!(file.section_by_name(".note.gnu.build-id").is_some_and(|note| note.size() == 36));
    }
}

/// The checker of elfutils, if it is installed, finds no error.
#[test]
fn a_checker_finds_nothing_in_libraries() {
    for tools in toolchains() {
        let bench = Bench::new(tools);
        let (path, _) = written(&bench, &handmade::program(), &options("net", tools.triple));
        match Command::new("eu-elflint").args(["--quiet", "--gnu-ld"]).arg(path).output() {
            Ok(output) => assert!(output.status.success(), "{}: {}", tools.triple, String::from_utf8_lossy(&output.stdout)),
            Err(_) => eprintln!("skipped: no eu-elflint. {ADVICE}"),
        }
    }
}

/// Programs linked with one library do not start with a library of another interface. Retrained weights keep the interface.
#[test]
fn the_version_is_that_of_the_interface() {
    let Some(tools) = native() else { return };
    let bench = Bench::new(tools);
    let (library, _) = written(&bench, &handmade::program(), &options("net", tools.triple));
    let program = bench.compile("lifecycle.c", &["-Wl,-rpath,$ORIGIN"], &[&library], "lifecycle");
    let mut other = handmade::program();
    other.methods[0].inputs[0].name.push('x');
    written(&bench, &other, &options("net", tools.triple));
    let run = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && said.contains("version `NET_1_"), "{said}");
}

#[test]
fn other_systems_have_no_library() {
    let program = handmade::program();
    let options = options("net", "aarch64-none-elf");
    let files = build(&program, &options);
    let error = shared_library((&program, &Module::default()), &ModelInfo::default(), &options, &files, "libnet.so").unwrap_err();
    assert_eq!(error.code.number(), 709, "{error}");
}
