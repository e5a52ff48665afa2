//! Make, Meson and Bazel: their examples, for this computer and for aarch64.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use support::harness::{self, Needs};
use support::own;
use tempfile::TempDir;

const MODELC: &str = env!("CARGO_BIN_EXE_modelc");

const MAKE: Needs = Needs::Tool("make and a C compiler", || is_there("make") && is_there("cc"));
const MESON: Needs = Needs::Tool("meson and ninja", || is_there("meson") && is_there("ninja"));
const BAZEL: Needs = Needs::Tool("bazel-bootstrap, bazel-rules-java and bazel-rules-proto of Debian", || {
    is_there("bazel") && [PLATFORMS, RULES_JAVA, RULES_PROTO].iter().all(|folder| Path::new(folder).exists())
});
const PYTHON: Needs = Needs::Tool("Python 3", || is_there("python3"));
const AARCH64: Needs =
    Needs::Tool("aarch64-linux-gnu-gcc and qemu-aarch64", || is_there("aarch64-linux-gnu-gcc") && is_there("qemu-aarch64"));

/// Debian's folders with the constraints of platforms, and with rules that Bazel's tools need.
const PLATFORMS: &str = "/usr/share/bazel/platforms";
const RULES_JAVA: &str = "/usr/share/bazel/rules/java";
const RULES_PROTO: &str = "/usr/share/bazel/rules/proto";

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs a program that must succeed, and returns its output.
fn done<S: AsRef<OsStr>>(folder: &Path, program: &str, arguments: impl IntoIterator<Item = S>) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("MODELC", MODELC).env_remove("MAKEFLAGS").env_remove("MFLAGS").stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program}: {text}");
    text
}

fn make(folder: &Path, arguments: &[&str]) -> String {
    let build = format!("BUILD={}", folder.join("build").display());
    let modelc = format!("MODELC={MODELC}");
    done(&own("examples/make"), "make", [&["run", &build, &modelc], arguments].concat())
}

fn make_compiles_models_once() {
    let folder = TempDir::new().expect("a folder");
    assert!(make(folder.path(), &[]).contains("20 of 20 right"));
    let again = make(folder.path(), &[]);
    assert!(!again.contains("--name") && again.contains("20 of 20 right"), "{again}");
    let object = folder.path().join("build/digits_int8.o");
    fs::remove_file(&object).expect("the object is there");
    let once_more = make(folder.path(), &[]);
    assert_eq!((once_more.matches("--name").count(), once_more.matches(" -c ").count()), (1, 0), "the header stayed the same: {once_more}");
}

fn make_compiles_for_aarch64() {
    let folder = TempDir::new().expect("a folder");
    let said = make(folder.path(), &["CC=aarch64-linux-gnu-gcc", "LDFLAGS=-static", "RUN=qemu-aarch64"]);
    assert!(said.contains("20 of 20 right"), "{said}");
}

fn meson(arguments: &[&str]) {
    let folder = TempDir::new().expect("a folder");
    let build = folder.path().join("build").display().to_string();
    let modelc = format!("-Dmodelc={MODELC}");
    done(&own("examples/meson"), "meson", [&["setup", &build, &modelc], arguments].concat());
    let said = done(folder.path(), "meson", ["test", "-C", &build]);
    assert!(said.lines().any(|line| line.starts_with("Ok:") && line.trim_end().ends_with('3')), "{said}");
}

fn meson_tests_models() {
    meson(&[]);
}

fn meson_tests_models_for_aarch64() {
    meson(&["--cross-file", "aarch64.ini"]);
}

/// The example beside the rules, with repositories that replace those of the network.
struct Workspace(TempDir);

impl Workspace {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        for (name, text) in [
            ("rules_cc/WORKSPACE", ""),
            ("rules_cc/BUILD", ""),
            ("rules_cc/cc/BUILD", ""),
            ("rules_cc/cc/defs.bzl", &*native()),
            ("coverage/WORKSPACE", ""),
            ("coverage/BUILD", "filegroup(name = \"coverage_report_generator\", visibility = [\"//visibility:public\"])\n"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        copy(&own("examples/bazel"), &folder.path().join("examples/bazel"));
        copy(&own("bazel"), &folder.path().join("bazel"));
        Self(folder)
    }

    /// Runs a command of Bazel without a network.
    fn run(&self, arguments: &[&str]) -> String {
        let at = |name: &str| self.0.path().join(name).display().to_string();
        let repositories = [
            ("rules_cc", at("rules_cc")),
            ("remote_coverage_tools", at("coverage")),
            ("platforms", PLATFORMS.into()),
            ("rules_java", RULES_JAVA.into()),
            ("rules_proto", RULES_PROTO.into()),
        ];
        let mut all = vec![format!("--output_user_root={}", at("out")), arguments[0].to_owned()];
        all.extend(repositories.map(|(name, path)| format!("--override_repository={name}={path}")));
        all.extend(["--host_javabase=@local_jdk//:jdk", "--javabase=@local_jdk//:jdk"].map(String::from));
        all.extend(arguments[1..].iter().map(|argument| (*argument).to_owned()));
        done(&self.0.path().join("examples/bazel"), "bazel", all)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // The server would stay, with files in the folder.
        let root = format!("--output_user_root={}", self.0.path().join("out").display());
        let _ = Command::new("bazel").args([&root, "shutdown"]).current_dir(self.0.path().join("examples/bazel")).output();
        // Bazel makes its outputs read-only.
        let _ = Command::new("chmod").args(["-R", "u+w"]).arg(self.0.path()).status();
    }
}

/// Returns the native rules under the names of rules_cc.
fn native() -> String {
    let rules = ["binary", "import", "library", "proto_library", "test", "toolchain", "toolchain_suite"];
    rules.iter().map(|rule| format!("cc_{rule} = native.cc_{rule}\n")).collect::<String>() + "fdo_profile = native.fdo_profile\n"
}

/// Copies a folder, and the targets of its links.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    done(Path::new("/"), "cp", [OsStr::new("-rL"), from.as_os_str(), to.as_os_str()]);
}

fn bazel_builds_tests_and_measures() {
    let workspace = Workspace::new();
    let page = fs::read_to_string(own("docs/build-systems.md")).expect("a page is text");
    let commands = page.lines().filter_map(|line| line.strip_prefix("bazel "));
    let said: Vec<String> = commands.map(|command| workspace.run(&command.split(' ').collect::<Vec<_>>())).collect();
    let [tested, measured, _built_for_aarch64] = &said[..] else { panic!("three commands stand on the page") };
    assert!(tested.contains("2 tests pass") && measured.contains("steady"), "{tested}{measured}");
    let object = fs::read(workspace.0.path().join("examples/bazel/bazel-bin/digits_int8_files/digits_int8.o")).expect("the object");
    assert_eq!(object[18..20], 183u16.to_le_bytes(), "the machine of the object");
}

/// A call in a MODULE.bazel: the function, its values, and its named values.
type Declaration = (String, Vec<String>, BTreeMap<String, Value>);

/// Debian's Bazel reads WORKSPACE alone, so the files of bzlmod run as Python, and must say the same.
fn bazel_modules_say_what_workspaces_say() {
    let folders = ["bazel", "examples/bazel"].map(own);
    let arguments = std::iter::once(own("tests/support/bzlmod.py")).chain(folders.iter().cloned());
    let said = done(Path::new("/"), "python3", arguments);
    let modules: Vec<Vec<Declaration>> = serde_json::from_str(&said).expect("JSON");
    let named = |module: usize, function: &str, key: &str| {
        let calls = modules[module].iter().filter(|(name, ..)| name == function);
        calls.filter_map(|(.., named)| named.get(key)?.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!((named(0, "module", "name"), named(0, "module", "version")), (vec!["rules_modelc".into()], vec![version.into()]));
    let workspaces = folders.each_ref().map(|folder| fs::read_to_string(folder.join("WORKSPACE")).expect("a workspace"));
    for (number, workspace) in workspaces.iter().enumerate() {
        let name = &named(number, "module", "name")[0];
        assert!(workspace.contains(&format!("workspace(name = \"{name}\")")) && workspace.contains("modelc_compiler(name = \"modelc\")"));
    }
    assert!(modules[0].iter().any(|(name, values, _)| name == "use_repo" && values[..] == ["modelc"]), "{said}");
    let needed = modules[1].iter().find(|(.., named)| named.get("name").is_some_and(|name| name == "rules_modelc")).expect("a dependency");
    assert_eq!(needed.2["version"], version);
    for (number, files) in [&["BUILD", "defs.bzl", "compiler.bzl", "targets/BUILD"][..], &["BUILD"]].into_iter().enumerate() {
        // A module sees only repositories that it declares.
        let mut seen = named(number, "bazel_dep", "name");
        seen.extend(modules[number].iter().filter(|(name, ..)| name == "use_repo").flat_map(|(_, names, _)| names.clone()));
        for file in files {
            let text = fs::read_to_string(folders[number].join(file)).expect("a file of Bazel");
            let used = text.split('@').skip(1).filter_map(|rest| rest.split_once("//")).map(|(name, _)| name);
            let unseen: Vec<&str> =
                used.filter(|name| !name.contains(char::is_whitespace) && !seen.iter().any(|seen| seen == name)).collect();
            assert_eq!(unseen, Vec::<&str>::new(), "{file} uses repositories that MODULE.bazel does not declare");
        }
    }
    let path = &named(1, "local_path_override", "path")[0];
    assert!(workspaces[1].contains(&format!("path = \"{path}\"")) && own("examples/bazel").join(path).join("MODULE.bazel").exists());
}

fn main() -> ExitCode {
    harness::run(&[
        ("make_compiles_models_once", MAKE, make_compiles_models_once),
        ("make_compiles_for_aarch64", Needs::Both(&MAKE, &AARCH64), make_compiles_for_aarch64),
        ("meson_tests_models", MESON, meson_tests_models),
        ("meson_tests_models_for_aarch64", Needs::Both(&MESON, &AARCH64), meson_tests_models_for_aarch64),
        ("bazel_modules_say_what_workspaces_say", PYTHON, bazel_modules_say_what_workspaces_say),
        ("bazel_builds_tests_and_measures", BAZEL, bazel_builds_tests_and_measures),
    ])
}
