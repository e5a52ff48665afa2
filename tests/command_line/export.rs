//! `modelc export`: packages for build systems and frameworks.

use super::folder::{Folder, MODEL, text};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the paths of all files below a folder, relative to it.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).expect("it is inside").display().to_string());
            }
        }
    }
    found
}

/// Exports the model for cores, and returns the text of one of the package's files.
fn exported(folder: &Folder, framework: &str, targets: &[&str], shown: &str) -> String {
    let targets = targets.iter().flat_map(|target| ["--target", *target]);
    let command: Vec<&str> =
        ["export", "m.tflite", "--as", framework, "-o", framework, "--name", "net"].into_iter().chain(targets).collect();
    folder.done(&command);
    fs::read_to_string(folder.at(framework).join(shown)).expect("a text")
}

#[test]
fn packages_have_all_files_that_they_name() {
    let folder = Folder::new();
    let cores = ["cortex-m4f", "stm32f407", "cortex-m33"];
    let both = |place: &str| ["cortex-m33", "cortex-m4f"].map(|core| format!("{place}/{core}"));
    let of_cores: BTreeSet<String> = both("include")
        .map(|folder| format!("{folder}/net.h"))
        .into_iter()
        .chain(both("lib").map(|folder| format!("{folder}/libnet.a")))
        .collect();
    for (framework, own) in [
        ("cmake", &["CMakeLists.txt", "net-config.cmake"][..]),
        ("zephyr", &["CMakeLists.txt", "Kconfig", "zephyr/module.yml"]),
        ("cmsis-pack", &["modelc.net.pdsc"]),
    ] {
        exported(&folder, framework, &cores, own[0]);
        let expected: BTreeSet<String> = own.iter().map(|&name| name.to_owned()).chain(of_cores.iter().cloned()).collect();
        assert_eq!(files(&folder.at(framework)), expected, "{framework}");
    }
    let pack = exported(&folder, "cmsis-pack", &cores, "modelc.net.pdsc");
    for name in pack.split(" name=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()) {
        assert!(of_cores.contains(name), "{name}");
    }
    let component = exported(&folder, "esp-idf", &["esp32c3", "esp32c6"], "CMakeLists.txt");
    assert!(component.contains("MATCHES \"^(esp32c2|esp32c3)$\""), "{component}");
    assert!(files(&folder.at("esp-idf")).contains("lib/rv32imac/libnet.a"));
    let arduino = exported(&folder, "arduino", &["cortex-m4f", "cortex-m7"], "src/net.h");
    for core in ["cortex-m4", "cortex-m7"] {
        assert!(arduino.contains(&format!("#include \"{core}/net.h\"")), "{arduino}");
        assert!(files(&folder.at("arduino")).contains(&format!("src/{core}/libnet.a")));
    }
    // Files of XML have the brackets that they open, as far as a test can tell without a parser.
    assert_eq!(pack.matches("<condition ").count(), pack.matches("</condition>").count());
}

#[test]
fn a_package_replaces_its_own_files_and_no_others() {
    let folder = Folder::new();
    let command = ["export", "m.tflite", "--as", "zephyr", "-o", "a/b", "--name", "net", "--target", "cortex-m3"];
    folder.done(&command);
    let before = files(&folder.at("a/b"));
    folder.done(&command);
    assert_eq!(files(&folder.at("a/b")), before);
    fs::create_dir(folder.at("mine")).expect("a folder");
    folder.put("mine/Kconfig", "config MINE\n");
    let said = folder.refused(&["export", "m.tflite", "--as", "zephyr", "-o", "mine", "--name", "net", "--target", "cortex-m3"]);
    assert!(said.contains("MC0714") && said.contains("Kconfig"), "{said}");
    assert_eq!(files(&folder.at("mine")).into_iter().collect::<Vec<_>>(), ["Kconfig"]);
    // A folder that cannot be made leaves none behind.
    folder.put("new", "a file, not a folder");
    let said = folder.fails(1, &["export", "m.tflite", "--as", "cmake", "-o", "new/package", "--name", "net", "--target", "cortex-m3"]);
    assert!(said.contains("MC0710"), "{said}");
    // The model inside a package is never replaced.
    fs::create_dir_all(folder.at("own/lib/cortex-m3")).expect("a folder");
    fs::copy(MODEL, folder.at("own/lib/cortex-m3/libnet.a")).expect("it is copied");
    let model = "own/lib/cortex-m3/libnet.a";
    let said = folder.refused(&["export", model, "--name", "net", "--as", "cmake", "-o", "own", "--target", "cortex-m3"]);
    assert!(said.contains("MC0712"), "{said}");
}

#[test]
fn frameworks_refuse_what_they_do_not_take() {
    let folder = Folder::new();
    let refused = |arguments: &[&str]| folder.refused(&[&["export", "m.tflite", "-o", "p"], arguments].concat());
    for (arguments, says) in [
        (&["--as", "zephir"][..], "did you mean zephyr?"),
        (&["--as", "cmake", "--target", "cortex-m3"], "does not take the name m"),
        (&["--as", "arduino", "--name", "net", "--target", "x86_64"], "arduino does not run on x86_64-unknown-linux-gnu"),
        (&["--as", "esp-idf", "--name", "net", "--target", "cortex-m4f"], "esp-idf does not run on cortex-m4f"),
        (&["--as", "cmake", "--target", "cortex-m5"], "cortex-m4"),
        (&["--as", "zephyr", "--target", "cortex-m3", "--name", "string"], "does not take the name string"),
        (&["--as", "arduino", "--name", "net", "--target", "cortex-m4", "--target", "cortex-m4f"], "cannot tell"),
        (&["--as", "cmake", "-o", "-"], "standard output"),
    ] {
        let said =
            if arguments.contains(&"-o") { folder.refused(&[&["export", "m.tflite"], arguments].concat()) } else { refused(arguments) };
        assert!(said.contains(says), "{arguments:?}: {said}");
        assert!(!folder.at("p").exists());
    }
    let said = folder
        .fails(1, &["export", "m.tflite", "--as", "cmake", "-o", "p", "--name", "net", "--target", "cortex-m3", "--require", "flash<=1K"]);
    assert!(said.contains("flash") && !folder.at("p").exists(), "{said}");
}

/// External weights lie beside the library.
#[test]
fn packages_have_external_weights() {
    let folder = Folder::new();
    folder.done(&["export", "m.tflite", "--as", "cmake", "-o", "p", "--name", "net", "--weights", "external", "--target", "cortex-m3"]);
    assert!(files(&folder.at("p")).contains("lib/cortex-m3/net.bin"));
    let said = text(&folder.run(&["export", "m.tflite", "--as", "cmake", "-o", "q", "--name", "net", "--target", "cortex-m3"]).stderr);
    assert!(said.contains("q for cmake\n  cortex-m3: arena "), "{said}");
}
