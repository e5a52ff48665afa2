//! The CMake package in `cmake/`: external projects configure, build, test, install, and find the installed package.
//!
//! A missing tool is a failure; `cargo xtask setup` installs the tools.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A way to build: the generator, the configuration for generators with several, and the toolchain file.
#[derive(Clone, Copy)]
struct Way<'a> {
    generator: &'a str,
    configuration: Option<&'a str>,
    toolchain: Option<&'a str>,
}

const MAKE: Way = Way { generator: "Unix Makefiles", configuration: None, toolchain: None };
const NINJA: Way = Way { generator: "Ninja", configuration: None, toolchain: None };
const MULTI: Way = Way { generator: "Ninja Multi-Config", configuration: Some("Debug"), toolchain: None };
/// A project for aarch64 whose toolchain file does not mention modelc.
const AARCH64: Way = Way { generator: "Ninja", configuration: None, toolchain: Some("aarch64.cmake") };

fn source(name: &str) -> String {
    support::own("tests/cmake").join(name).display().to_string()
}

fn model() -> String {
    support::own("examples/digits/digits_int8.tflite").display().to_string()
}

fn define(variable: &str, value: &str) -> String {
    format!("-D{variable}={value}")
}

fn tool(program: &str, arguments: &[String], folder: &Path) -> Output {
    // An installed compiler is not the one under test.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("modelc").exists());
    let path = std::env::join_paths(folders).expect("a part of PATH");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("PATH", path).env_remove("MAKEFLAGS").env_remove("MFLAGS");
    let output = command.output();
    output.unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask setup` installs what the tests use"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Returns the output of a tool as one line, because CMake wraps its messages.
fn line(output: &Output) -> String {
    text(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a tool that must succeed, and returns its output.
fn done(program: &str, arguments: &[String], folder: &Path) -> String {
    let output = tool(program, arguments, folder);
    assert!(output.status.success(), "{program} {}\n{}", arguments.join(" "), text(&output));
    text(&output)
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Way<'_> {
    /// Configures the project `source` in the folder `build` with CMake definitions.
    fn configure(self, source: &str, build: &str, definitions: &[String], folder: &Path) -> Output {
        let mut arguments = words(&format!("-S {source} -B {build}"));
        arguments.extend(["-G".into(), self.generator.into()]);
        arguments.extend(self.toolchain.map(|file| format!("--toolchain={}", self::source(file))));
        arguments.extend_from_slice(definitions);
        tool("cmake", &arguments, folder)
    }

    /// Configures, builds and tests a project.
    fn passes(self, source: &str, build: &str, definitions: &[String], folder: &Path) {
        let configured = self.configure(source, build, definitions, folder);
        assert!(configured.status.success(), "{}", text(&configured));
        let configuration = |option: &str| words(&self.configuration.map_or(String::new(), |name| format!("{option} {name}")));
        done("cmake", &[words(&format!("--build {build}")), configuration("--config")].concat(), folder);
        let tested = done("ctest", &[words(&format!("--test-dir {build} --output-on-failure")), configuration("-C")].concat(), folder);
        assert!(!tested.contains("No tests were found"), "{tested}");
    }
}

/// Returns the definitions with which a project finds the package in this checkout.
fn package() -> Vec<String> {
    vec![
        define("modelc_DIR", &support::own("cmake").display().to_string()),
        define("MODELC_EXECUTABLE", env!("CARGO_BIN_EXE_modelc")),
        define("MODEL", &model()),
    ]
}

/// Builds, tests and installs the library project, which another project then finds.
fn is_found_by_another_project(way: Way) {
    let folder = TempDir::new().expect("a folder");
    let root = folder.path().join("root").display().to_string();
    let definitions = [package(), vec![define("CMAKE_INSTALL_PREFIX", &root)]].concat();
    way.passes(&source("library"), "library", &definitions, folder.path());
    let configuration = way.configuration.map_or(String::new(), |name| format!("--config {name}"));
    done("cmake", &words(&format!("--install library {configuration}")), folder.path());
    let found = ["CMAKE_PREFIX_PATH", "CMAKE_FIND_ROOT_PATH"].map(|variable| define(variable, &root));
    way.passes(&source("consumer"), "consumer", &found, folder.path());
}

#[test]
fn a_library_is_installed_and_found_under_make() {
    is_found_by_another_project(MAKE);
}

#[test]
fn a_library_is_installed_and_found_under_ninja() {
    is_found_by_another_project(NINJA);
}

#[test]
fn a_library_is_installed_and_found_with_several_configurations() {
    is_found_by_another_project(MULTI);
}

#[test]
fn a_toolchain_file_alone_chooses_the_target_and_the_emulator() {
    is_found_by_another_project(AARCH64);
}

#[test]
fn the_repository_is_taken_into_a_project() {
    let folder = TempDir::new().expect("a folder");
    let repository = define("MODELC_SOURCE", env!("CARGO_MANIFEST_DIR"));
    for (build, fetch) in [("fetched", "ON"), ("added", "OFF")] {
        let definitions = [&package()[1..], &[repository.clone(), define("FETCH", fetch)]].concat();
        let configured = NINJA.configure(&source("inside"), build, &definitions, folder.path());
        assert!(configured.status.success(), "{}", text(&configured));
        done("cmake", &words(&format!("--build {build}")), folder.path());
        done(&format!("{build}/main"), &[], folder.path());
    }
}

#[test]
fn a_model_is_compiled_again_only_when_something_changed() {
    let folder = TempDir::new().expect("a folder");
    let copy = folder.path().join("digits.tflite");
    fs::copy(model(), &copy).expect("a copy of the model");
    let definitions = [&package()[..2], &[define("MODEL", &copy.display().to_string())]].concat();
    for way in [MAKE, NINJA] {
        let build = way.generator.replace(' ', "_");
        way.passes(&source("library"), &build, &definitions, folder.path());
        let again = words(&format!("--build {build}"));
        assert!(!done("cmake", &again, folder.path()).contains("Compiling model"), "nothing changed under {build}");
        fs::write(&copy, fs::read(&copy).expect("the model")).expect("the model again");
        let rebuilt = done("cmake", &again, folder.path());
        assert!(rebuilt.contains("Compiling model"), "{rebuilt}");
        assert!(!rebuilt.contains("flash"), "a build prints no sizes: {rebuilt}");
    }
}

#[test]
fn several_machines_give_one_object_and_one_header() {
    let folder = TempDir::new().expect("a folder");
    let machines = [define("MODELC_TARGET", "aarch64-apple-darwin;x86_64-apple-darwin"), define("MODELC_LIPO", &source("lipo.sh"))];
    let configured = NINJA.configure(&source("library"), "fat", &[package(), machines.to_vec()].concat(), folder.path());
    assert!(configured.status.success(), "{}", text(&configured));
    done("cmake", &words("--build fat --target digits"), folder.path());
    let made = folder.path().join("fat/modelc/digits");
    let parts = ["aarch64", "x86_64"].map(|machine| fs::read(made.join(format!("{machine}-apple-darwin/digits.o"))).expect("an object"));
    assert_eq!(fs::read(made.join("digits.o")).expect("the joined object"), parts.concat());
    let header = fs::read_to_string(made.join("digits.h")).expect("a header");
    for machine in ["aarch64", "x86_64"] {
        let own = fs::read_to_string(made.join(format!("{machine}-apple-darwin/digits.h"))).expect("a header");
        assert!(header.contains(&format!("#ifdef __{machine}__\n{own}#endif\n")), "{header}");
    }
}

/// Returns the result of ModelcTarget.cmake for some variables.
fn target_of(settings: &str) -> (bool, String) {
    let arguments = [define("SETTINGS", settings), "-P".into(), source("targets.cmake")];
    let output = tool("cmake", &arguments, Path::new("."));
    (output.status.success(), line(&output))
}

#[test]
fn the_target_follows_from_what_cmake_knows() {
    let cases = [
        ("CMAKE_SYSTEM_NAME=Linux;CMAKE_SYSTEM_PROCESSOR=x86_64", "x86_64-linux-gnu"),
        ("CMAKE_SYSTEM_NAME=Linux;CMAKE_SYSTEM_PROCESSOR=aarch64", "aarch64-linux-gnu"),
        ("CMAKE_SYSTEM_NAME=Linux;CMAKE_SYSTEM_PROCESSOR=riscv64", "riscv64-linux-gnu"),
        ("CMAKE_SYSTEM_NAME=Linux;CMAKE_C_LIBRARY_ARCHITECTURE=aarch64-linux-gnu", "aarch64-linux-gnu"),
        ("CMAKE_SYSTEM_NAME=FreeBSD;CMAKE_SYSTEM_PROCESSOR=amd64", "x86_64-linux-gnu"),
        ("CMAKE_SYSTEM_NAME=Darwin;CMAKE_SYSTEM_PROCESSOR=arm64", "aarch64-apple-darwin"),
        ("APPLE=1;CMAKE_SYSTEM_NAME=Darwin;CMAKE_OSX_ARCHITECTURES=arm64+x86_64", "aarch64-apple-darwin;x86_64-apple-darwin"),
        ("APPLE=1;CMAKE_SYSTEM_NAME=iOS;CMAKE_OSX_ARCHITECTURES=arm64", "aarch64-apple-ios"),
        ("CMAKE_SYSTEM_NAME=Windows;CMAKE_SYSTEM_PROCESSOR=AMD64", "x86_64-pc-windows-msvc"),
        ("MSVC=1;CMAKE_SYSTEM_NAME=Windows;CMAKE_SYSTEM_PROCESSOR=ARM64;CMAKE_C_COMPILER_ARCHITECTURE_ID=x64", "x86_64-pc-windows-msvc"),
        ("CMAKE_SYSTEM_NAME=Generic;CMAKE_SYSTEM_PROCESSOR=aarch64", "aarch64-none-elf"),
        ("CMAKE_SYSTEM_NAME=Generic;CMAKE_SYSTEM_PROCESSOR=cortex-m33", "cortex-m33"),
        ("CMAKE_SYSTEM_NAME=Generic;CMAKE_SYSTEM_PROCESSOR=arm;CMAKE_C_FLAGS=-mcpu=cortex-m55", "cortex-m55"),
        ("CMAKE_SYSTEM_NAME=Generic;CMAKE_SYSTEM_PROCESSOR=cortex-m4;CMAKE_C_FLAGS=-mfloat-abi=hard", "cortex-m4f"),
        ("CMAKE_SYSTEM_NAME=Generic;CMAKE_SYSTEM_PROCESSOR=arm;CMAKE_C_FLAGS=-mcpu=cortex-m7 -mthumb", "cortex-m7"),
        ("CMAKE_SYSTEM_NAME=Generic-ELF;CMAKE_SYSTEM_PROCESSOR=armv7-m", "cortex-m3"),
        ("CMAKE_SYSTEM_NAME=Generic-ELF;CMAKE_SYSTEM_PROCESSOR=armv6-m", "cortex-m0plus"),
        ("CMAKE_SYSTEM_NAME=Generic;CMAKE_SYSTEM_PROCESSOR=cortex-m0plus", "cortex-m0plus"),
        ("ANDROID=1;CMAKE_SYSTEM_NAME=Android;ANDROID_ABI=arm64-v8a", "aarch64-linux-android"),
        ("ANDROID=1;CMAKE_SYSTEM_NAME=Android;CMAKE_ANDROID_ARCH_ABI=x86_64", "x86_64-linux-android"),
        ("CMAKE_SYSTEM_NAME=Linux;CMAKE_CXX_COMPILER_TARGET=aarch64-none-linux-gnu", "aarch64-none-linux-gnu"),
        ("MODELC_TARGET=rpi4;CMAKE_SYSTEM_NAME=Linux;CMAKE_SYSTEM_PROCESSOR=x86_64", "rpi4"),
    ];
    for (settings, right) in cases {
        assert_eq!(target_of(settings), (true, format!("targets: {right}")), "{settings}");
        for name in right.split(';') {
            assert!(modelc::target::target(name).is_ok(), "modelc knows {name}");
        }
    }
}

#[test]
fn a_machine_that_cannot_be_told_names_the_variable() {
    let cases = [
        ("CMAKE_SYSTEM_NAME=Linux", "CMAKE_SYSTEM_PROCESSOR is empty"),
        ("CMAKE_SYSTEM_NAME=Linux;CMAKE_SYSTEM_PROCESSOR=armv7l", "CMAKE_SYSTEM_PROCESSOR is `armv7l`"),
        ("CMAKE_SYSTEM_NAME=Generic;CMAKE_SYSTEM_PROCESSOR=arm", "does not tell the core"),
        ("CMAKE_SYSTEM_NAME=Generic;CMAKE_SYSTEM_PROCESSOR=avr", "CMAKE_SYSTEM_PROCESSOR is `avr`"),
        ("CMAKE_SYSTEM_NAME=Linux;CMAKE_SYSTEM_PROCESSOR=x86_64;CMAKE_SIZEOF_VOID_P=4", "CMAKE_SIZEOF_VOID_P is 4"),
        ("CMAKE_SYSTEM_NAME=Plan9;CMAKE_SYSTEM_PROCESSOR=x86_64", "CMAKE_SYSTEM_NAME is `Plan9`"),
        ("ANDROID=1;CMAKE_SYSTEM_NAME=Android;ANDROID_ABI=armeabi-v7a", "ANDROID_ABI is `armeabi-v7a`"),
        ("APPLE=1;CMAKE_SYSTEM_NAME=Darwin;CMAKE_OSX_ARCHITECTURES=arm64+ppc", "CMAKE_OSX_ARCHITECTURES is `ppc`"),
        ("APPLE=1;CMAKE_SYSTEM_NAME=iOS;CMAKE_OSX_ARCHITECTURES=arm64;CMAKE_OSX_SYSROOT=iphonesimulator", "CMAKE_OSX_SYSROOT"),
    ];
    for (settings, message) in cases {
        let (passed, said) = target_of(settings);
        assert!(!passed && said.contains(message), "{settings}: {said}");
    }
}

#[test]
fn a_missing_compiler_is_an_error_that_names_the_variable() {
    let folder = TempDir::new().expect("a folder");
    let nothing = define("MODELC_EXECUTABLE", "MODELC_EXECUTABLE-NOTFOUND");
    // The package is copied, because a compiler may be beside it in the checkout.
    fs::create_dir(folder.path().join("cmake")).expect("a folder");
    for file in fs::read_dir(support::own("cmake")).expect("the package").flatten() {
        fs::copy(file.path(), folder.path().join("cmake").join(file.file_name())).expect("a copy");
    }
    let copied = define("modelc_DIR", &folder.path().join("cmake").display().to_string());
    let output = MAKE.configure(&source("library"), "none", &[copied, nothing, define("MODEL", &model())], folder.path());
    assert!(!output.status.success() && line(&output).contains("Set MODELC_EXECUTABLE"), "{}", text(&output));
}

#[test]
fn the_package_has_the_version_of_the_compiler() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [("cmake/modelc-config-version.cmake", "set(PACKAGE_VERSION "), ("CMakeLists.txt", "project(modelc VERSION ")] {
        let text = fs::read_to_string(support::own(file)).expect("a file of the package");
        assert!(text.contains(&format!("{line}{version}")), "{file} has another version than {version}");
    }
}
