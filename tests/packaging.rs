//! Installation and release: the scripts of `packaging/`, the lists of dependencies, the workflows.
//!
//! `packaging/check.sh` does the same with the optimized program, and installs the packages in a fresh system, which takes half an hour.

mod support;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use support::harness::{self, Needs};
use support::own;
use tempfile::TempDir;

const MODELC: &str = env!("CARGO_BIN_EXE_modelc");
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Crates that compile or link C.
const BUILDERS_OF_C: [&str; 6] = ["cc", "cmake", "bindgen", "pkg-config", "pyo3", "openssl-sys"];
/// Limit of the external crates in Cargo.lock.
const MOST_CRATES: usize = 130;

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

const PYTHON: Needs = Needs::Tool("Python 3.11", || {
    Command::new("python3").args(["-c", "import tomllib"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
});
const CURL: Needs = Needs::Tool("curl", || is_there("curl"));
const MAN: Needs = Needs::Tool("man", || is_there("man"));
const GIT: Needs = Needs::Tool("checkout of git", || own(".git").exists() && is_there("git"));
const DENY: Needs = Needs::Tool("cargo-deny", || is_there("cargo-deny"));
const DEBIAN: Needs = Needs::Tool("cargo-deb and lintian", || is_there("cargo-deb") && is_there("lintian") && is_there("strip"));
const SCHEMAS: Needs = Needs::Tool("check-jsonschema", || is_there("check-jsonschema"));
const SHELLCHECK: Needs = Needs::Tool("shellcheck", || is_there("shellcheck"));

const MDBOOK: Needs = Needs::Tool("mdBook 0.5 (cargo xtask docs installs it)", || xtask::docs::installed().is_some());

fn output(program: impl AsRef<Path>, arguments: &[&str]) -> Output {
    let program = program.as_ref();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(own(".")).env("MODELC", MODELC).stdin(Stdio::null());
    command.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

/// Runs a program that must succeed, and returns its output.
fn done(program: impl AsRef<Path>, arguments: &[&str]) -> String {
    let output = output(&program, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {}\n{said}", program.as_ref().display(), arguments.join(" "));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a program that must fail, and returns its messages.
fn refused(program: impl AsRef<Path>, arguments: &[&str]) -> String {
    let output = output(&program, arguments);
    assert!(!output.status.success(), "{} {} succeeds", program.as_ref().display(), arguments.join(" "));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn script(name: &str) -> PathBuf {
    own("packaging").join(name)
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// Makes a folder with the tree of an installation in `tree`.
fn installed() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    done(script("tree.sh"), &[MODELC, shown(&folder.path().join("tree"))]);
    folder
}

fn the_tree_has_all_that_is_installed() {
    let folder = installed();
    let tree = folder.path().join("tree");
    let help = done(MODELC, &["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(commands.contains(&"run") && commands.contains(&"man"), "{commands:?}");
    for name in commands.iter().map(|name| format!("modelc-{name}")).chain(["modelc".into()]) {
        assert!(text(tree.join(format!("share/man/man1/{name}.1"))).contains(&format!(".TH {name} 1")), "{name}");
    }
    done("bash", &["-n", shown(&tree.join("share/bash-completion/completions/modelc"))]);
    let config = "lib/cmake/modelc/modelc-config.cmake";
    let rules = ["share/modelc/modelc.mk", "share/modelc/bazel/defs.bzl", "share/modelc/bazel/targets/BUILD"];
    assert!(rules.iter().all(|file| tree.join(file).is_file()));
    for file in ["bin/modelc", "lib/modelc/modelc_runtime.o", "share/zsh/site-functions/_modelc", "share/doc/modelc/LICENSE-MIT", config] {
        assert!(tree.join(file).is_file(), "{file}");
    }
    assert!(done(tree.join("bin/modelc"), &["--version"]).starts_with("modelc "));
}

fn pages_of_the_manual_have_no_mistake() {
    let folder = installed();
    for entry in fs::read_dir(folder.path().join("tree/share/man/man1")).expect("pages").flatten() {
        let output = output("man", &["--warnings", "-l", shown(&entry.path())]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", entry.path().display());
        assert!(String::from_utf8_lossy(&output.stdout).contains("EXIT STATUS"));
    }
}

/// The runtime's header and a model's header can be included in either order, in C and C++.
fn the_common_header_goes_with_a_model_s() {
    let folder = installed();
    let include = folder.path().join("tree/include");
    done(MODELC, &["examples/digits/digits_int8.tflite", "-o", shown(&folder.path().join("digits.o")), "--quiet"]);
    for (compiler, standard, name) in [("gcc", "-std=c99", "t.c"), ("g++", "-std=c++17", "t.cc")] {
        for headers in [["modelc.h", "digits.h"], ["digits.h", "modelc.h"]] {
            let source = folder.path().join(name);
            fs::write(&source, headers.map(|header| format!("#include \"{header}\"\n")).concat()).expect("a source file");
            let folders = ["-I", shown(&include), "-I", shown(folder.path())];
            done(
                compiler,
                &[&["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", standard], &folders[..], &[shown(&source)]].concat(),
            );
        }
    }
}

fn what_modelc_writes_is_yours() {
    let folder = installed();
    let (object, test) = (folder.path().join("digits.o"), folder.path().join("t.c"));
    let emit = format!("test={}", shown(&test));
    let wrappers = ["--emit", "rust", "--emit", "hpp"];
    done(MODELC, &[&["examples/digits/digits_int8.tflite", "-o", shown(&object), "--emit", &emit, "--quiet"][..], &wrappers].concat());
    let header = folder.path().join("tree/include/modelc.h");
    for file in [
        object.with_extension("h"),
        object.with_extension("rs"),
        object.with_extension("hpp"),
        test,
        header,
        own("README.md"),
        own("LICENSE.md"),
    ] {
        assert!(text(&file).contains("What modelc writes is yours, without conditions."), "{}", file.display());
    }
}

fn archives_are_installed_and_checked() {
    let folder = installed();
    let [tree, files, there] = ["tree", "files", "there"].map(|name| folder.path().join(name));
    let archive = done(script("archive.sh"), &[shown(&tree), TARGET, shown(&files)]);
    let first = fs::read(archive.trim()).expect("an archive");
    done("touch", &[shown(&tree.join("bin/modelc"))]);
    done(script("archive.sh"), &[shown(&tree), TARGET, shown(&files)]);
    assert!(fs::read(archive.trim()).expect("an archive") == first, "equal trees give different archives");
    done(script("checksums.sh"), &[shown(&files)]);
    let (base, version) = (format!("file://{}", shown(&files)), env!("CARGO_PKG_VERSION"));
    let programs = done(script("install.sh"), &[&base, version, shown(&there)]);
    assert!(done(Path::new(programs.trim()).join("modelc"), &["--version"]).contains(version));
    fs::write(archive.trim(), "damaged").expect("an archive");
    let said = refused(script("install.sh"), &[&base, version, shown(&folder.path().join("not"))]);
    assert!(said.contains("checksum") && !folder.path().join("not").exists(), "{said}");
}

fn the_formula_names_every_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let targets = ["aarch64-apple-darwin", "x86_64-apple-darwin", "aarch64-unknown-linux-gnu", TARGET];
    let archive = |target: &str| format!("modelc-{}-{target}.tar.gz", env!("CARGO_PKG_VERSION"));
    for target in targets {
        fs::write(folder.path().join(archive(target)), target).expect("a file");
    }
    done(script("checksums.sh"), &[shown(folder.path())]);
    let sums = folder.path().join("SHA256SUMS");
    let formula = done(script("homebrew.sh"), &["https://release", shown(&sums)]);
    for (target, line) in targets.iter().flat_map(|target| text(&sums).lines().map(|line| (*target, line.to_owned())).collect::<Vec<_>>()) {
        let (sum, name) = line.split_once("  ").expect("a sum and a name");
        if name == archive(target) {
            assert!(formula.contains(&format!("url \"https://release/{name}\"\n      sha256 \"{sum}\"")), "{formula}");
        }
    }
    assert!(!formula.contains('@'), "{formula}");
    fs::write(&sums, "").expect("no sums");
    assert!(refused(script("homebrew.sh"), &["https://release", shown(&sums)]).contains("has no modelc-"));
}

fn the_hook_inspects_each_model() {
    let hook = script("pre-commit.sh");
    let models = ["examples/digits/digits_int8.tflite", "examples/digits/digits_f32.tflite"];
    done(&hook, &[&["--require", "arena<=64K"], &models[..]].concat());
    let said = refused(&hook, &[&["--require", "arena<=1"], &models[..]].concat());
    assert_eq!(said.matches("the model needs more arena than it may").count(), 2, "{said}");
    assert!(text(own(".pre-commit-hooks.yaml")).contains("entry: packaging/pre-commit.sh"));
}

fn a_tag_names_the_version() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(done(script("version.sh"), &[&format!("v{version}")]).trim(), version);
    assert!(refused(script("version.sh"), &["v99.0.0"]).contains(version));
    for file in ["python/Cargo.toml", "CMakeLists.txt"] {
        let [cargo, cmake] = [format!("\nversion = \"{version}\"\n"), format!("VERSION {version} ")];
        assert!(text(own(file)).contains(&cargo) || text(own(file)).contains(&cmake), "{file}");
    }
}

/// Returns the packages of Cargo.lock.
fn locked() -> Vec<String> {
    let lock = text(own("Cargo.lock"));
    lock.lines().filter_map(|line| line.strip_prefix("name = \"")).map(|name| name.trim_end_matches('"').to_owned()).collect()
}

fn dependencies_are_few_and_none_builds_c() {
    let of_others = text(own("Cargo.lock")).lines().filter(|line| line.starts_with("source = ")).count();
    assert!(of_others <= MOST_CRATES, "{of_others} crates");
    for name in locked() {
        assert!(!BUILDERS_OF_C.contains(&name.as_str()), "{name}");
    }
}

fn the_list_of_dependencies_is_that_of_the_program() {
    let bom: Value = serde_json::from_str(&done("python3", &[shown(&script("sbom.py"))])).expect("JSON");
    let components = bom["components"].as_array().expect("components");
    let names: BTreeSet<&str> = components.iter().filter_map(|component| component["name"].as_str()).collect();
    let locked: BTreeSet<String> = locked().into_iter().collect();
    assert!(names.iter().all(|name| locked.contains(*name)) && names.contains("cranelift-codegen"));
    assert!(
        ["modelc-codegen", "modelc-ir", "modelc-kernel", "modelc-schema"].iter().all(|name| names.contains(name)),
        "the workspace's own crates are missing"
    );
    assert!(!names.contains("insta") && !names.contains("xtask"), "tests are not a part of the program");
    // Crates of the workspace come from no registry, so they have no checksum.
    let is_own = |component: &&Value| component["name"].as_str().is_some_and(|name| name.starts_with("modelc-"));
    for component in components.iter().filter(|component| !is_own(component)) {
        assert!(component["licenses"][0]["expression"].is_string() && component["hashes"][0]["content"].is_string(), "{component}");
    }
    assert!(bom["dependencies"].as_array().is_some_and(|list| list.len() == components.len() + 1));
}

fn dependencies_are_allowed() {
    // The list of advisories needs a network, so `cargo deny check` in the workflow uses it.
    done("cargo-deny", &["--offline", "--locked", "check", "licenses", "bans", "sources"]);
}

/// The package for a registry has no tests.
fn the_crate_leaves_tests_out() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let listed = done(cargo, &["package", "--package", "modelc", "--list", "--allow-dirty", "--offline"]);
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for path in listed.lines() {
        *folders.entry(path.split('/').next().unwrap_or_default()).or_default() += 1;
    }
    assert!(["compiler", "schemas", "cmake", "README.md", "LICENSE.md"].iter().all(|name| folders.contains_key(name)), "{folders:?}");
    assert!(["tests", "examples", "python", "fuzz", "docs", "xtask"].iter().all(|name| !folders.contains_key(name)), "{folders:?}");
}

fn workflow_files() -> Vec<PathBuf> {
    let workflows = ["test", "release", "site"].map(|name| format!(".github/workflows/{name}.yml"));
    workflows.iter().map(|name| own(name)).chain([own(".github/actions/setup-modelc/action.yml")]).collect()
}

/// Scripts that workflows call exist, and are tested here or by `packaging/check.sh`.
fn workflows_call_scripts_that_are_tested() {
    let tested = text(own("tests/packaging.rs")) + &text(script("check.sh"));
    let mut called = BTreeSet::new();
    for file in workflow_files() {
        let workflow = text(&file);
        let words = workflow.split(|c: char| c.is_whitespace() || "\"()".contains(c)).map(|word| word.trim_start_matches('$'));
        called.extend(
            words
                .filter(|word| word.contains("packaging/") && word.ends_with(".sh"))
                .filter_map(|word| word.rsplit('/').next())
                .map(str::to_owned),
        );
    }
    assert!(called.len() >= 6, "{called:?}");
    for name in called {
        assert!(script(&name).is_file() && tested.contains(&name), "{name}");
    }
}

fn workflows_follow_their_schemas() {
    let files = workflow_files();
    let (action, workflows) = files.split_last().expect("there are files");
    for (schema, files) in [("vendor.github-workflows", workflows), ("vendor.github-actions", std::slice::from_ref(action))] {
        let paths: Vec<&str> = files.iter().map(|path| shown(path)).collect();
        done("check-jsonschema", &[&["--builtin-schema", schema], &paths[..]].concat());
    }
}

fn scripts_have_no_mistake() {
    let entries = fs::read_dir(own("packaging")).expect("scripts").flatten().map(|entry| entry.path());
    let scripts: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|suffix| suffix == "sh")).collect();
    done("shellcheck", &scripts.iter().map(|path| shown(path)).collect::<Vec<_>>());
}

/// Packages of the program under test, which is large, have no errors according to the tools.
fn debian_s_packages_have_no_error() {
    let folder = installed();
    let [tree, packages] = ["tree", "packages"].map(|name| folder.path().join(name));
    done("strip", &[shown(&tree.join("bin/modelc"))]);
    done(script("deb.sh"), &[shown(&tree), shown(&packages), TARGET]);
    let made: Vec<PathBuf> = fs::read_dir(&packages).expect("packages").flatten().map(|entry| entry.path()).collect();
    assert_eq!(made.len(), 2, "{made:?}");
    done("lintian", &[&["--fail-on", "error", "--allow-root"], &made.iter().map(|path| shown(path)).collect::<Vec<_>>()[..]].concat());
}

/// The pages of HTML below a folder.
fn html(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            html(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "html") {
            found.insert(path.clone(), text(&path));
        }
    }
}

/// The values of an attribute in HTML.
fn attributes<'p>(page: &'p str, name: &'p str) -> impl Iterator<Item = &'p str> {
    page.split(name).skip(1).filter_map(|rest| rest.strip_prefix("=\"")?.split('"').next())
}

fn the_site_is_built_and_its_links_lead_somewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = folder.path().join("site");
    xtask::docs::build(&xtask::docs::installed().expect("mdBook is there"), &site, Some("https://code/modelc")).expect("the site is built");
    let mut pages = BTreeMap::new();
    html(&site, &mut pages);
    let mut broken = vec![];
    for (path, page) in &pages {
        for link in [" href", " src"].into_iter().flat_map(|name| attributes(page, name)) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if file.contains(':') || file.starts_with('/') {
                continue;
            }
            let leads_to = if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            let has_anchor = |page: &String| anchor.is_empty() || attributes(page, " id").any(|id| id == anchor);
            if !leads_to.exists() || !pages.get(&leads_to).is_none_or(has_anchor) {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
    assert!(pages.len() >= 20 && text(site.join("llms.txt")).starts_with("# modelc\n") && site.join("firmware.md").is_file());
    assert!(pages[&site.join("cargo.html")].contains("https://code/modelc/blob/HEAD/examples/cargo/build.rs"));
}

fn main() -> ExitCode {
    harness::run(&[
        ("the_tree_has_all_that_is_installed", Needs::Nothing, the_tree_has_all_that_is_installed),
        ("pages_of_the_manual_have_no_mistake", MAN, pages_of_the_manual_have_no_mistake),
        ("the_common_header_goes_with_a_model_s", Needs::Nothing, the_common_header_goes_with_a_model_s),
        ("what_modelc_writes_is_yours", Needs::Nothing, what_modelc_writes_is_yours),
        ("archives_are_installed_and_checked", Needs::Both(&CURL, &PYTHON), archives_are_installed_and_checked),
        ("the_formula_names_every_archive", Needs::Nothing, the_formula_names_every_archive),
        ("the_hook_inspects_each_model", Needs::Nothing, the_hook_inspects_each_model),
        ("a_tag_names_the_version", Needs::Nothing, a_tag_names_the_version),
        ("dependencies_are_few_and_none_builds_c", Needs::Nothing, dependencies_are_few_and_none_builds_c),
        ("the_list_of_dependencies_is_that_of_the_program", PYTHON, the_list_of_dependencies_is_that_of_the_program),
        ("dependencies_are_allowed", DENY, dependencies_are_allowed),
        ("the_crate_leaves_tests_out", GIT, the_crate_leaves_tests_out),
        ("workflows_call_scripts_that_are_tested", Needs::Nothing, workflows_call_scripts_that_are_tested),
        ("workflows_follow_their_schemas", SCHEMAS, workflows_follow_their_schemas),
        ("scripts_have_no_mistake", SHELLCHECK, scripts_have_no_mistake),
        ("the_site_is_built_and_its_links_lead_somewhere", MDBOOK, the_site_is_built_and_its_links_lead_somewhere),
        ("debian_s_packages_have_no_error", DEBIAN, debian_s_packages_have_no_error),
    ])
}
