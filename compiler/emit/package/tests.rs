use super::*;
use crate::diagnostic::codes;
use crate::target::{level, target};

/// Returns the variants of targets in the spellings of `--target`.
fn of(spellings: &[&str]) -> Vec<Variant> {
    let one = |spelling: &&str| {
        let target = target(spelling).unwrap();
        (target, level(target, None).unwrap().level)
    };
    variants(spellings.iter().map(one))
}

fn built(spellings: &[&str], uses_floats: bool) -> Vec<Built> {
    let one = |variant| Built {
        variant,
        library_name: "libnet.a".into(),
        library: Image::default(),
        header: String::new(),
        weights: None,
        uses_floats,
    };
    of(spellings).into_iter().map(one).collect()
}

/// Prints the texts of a package and the places of its other files.
fn printed(framework: Framework, built: &[Built]) -> String {
    let mut text = String::new();
    for output in package(framework, "net", Path::new("net"), built) {
        let contents = String::from_utf8(output.contents.to_vec()).unwrap();
        text += &format!("--- {}\n{contents}", output.path.display());
    }
    text
}

#[test]
fn texts_of_each_framework() {
    insta::assert_snapshot!("package_cmake", printed(Framework::CMake, &built(&["cortex-m4f", "x86_64-linux-gnu"], true)));
    insta::assert_snapshot!("package_zephyr", printed(Framework::Zephyr, &built(&["cortex-m4", "nrf52840", "cortex-m33"], false)));
    insta::assert_snapshot!("package_cmsis", printed(Framework::CmsisPack, &built(&["cortex-m3", "cortex-m4", "cortex-m4f"], true)));
    insta::assert_snapshot!("package_esp_idf", printed(Framework::EspIdf, &built(&["esp32c3", "esp32c6"], false)));
    insta::assert_snapshot!("package_arduino", printed(Framework::Arduino, &built(&["cortex-m4f", "cortex-m7"], true)));
}

#[test]
fn equal_machines_are_one_variant() {
    let names: Vec<String> = of(&["stm32f407", "nrf52840", "cortex-m4f", "x86_64"]).into_iter().map(|variant| variant.name).collect();
    assert_eq!(names, ["cortex-m4f", "x86_64-unknown-linux-gnu"]);
}

#[test]
fn frameworks_say_what_they_do_not_take() {
    let refused = |framework: Framework, name: &str, targets: &[&str]| {
        let error = framework.check(name, &of(targets)).unwrap_err();
        assert_eq!(error.code, codes::EXPORT);
        error.message
    };
    assert!(refused(Framework::Arduino, "net", &["x86_64"]).contains("does not run on x86_64"));
    assert!(refused(Framework::EspIdf, "net", &["cortex-m4f"]).contains("does not run on cortex-m4f"));
    assert!(refused(Framework::CmsisPack, "net", &["aarch64-none-elf"]).contains("does not run"));
    assert!(refused(Framework::Zephyr, "net", &["aarch64-linux-gnu"]).contains("does not run"));
    assert!(refused(Framework::Arduino, "net", &["cortex-m4", "cortex-m4f"]).contains("cannot tell cortex-m4 and cortex-m4f apart"));
    for (framework, name) in [
        (Framework::CMake, "string"),
        (Framework::Zephyr, "Math"),
        (Framework::CMake, "m"),
        (Framework::Arduino, "arduino_net"),
        (Framework::Arduino, "_1net"),
        (Framework::EspIdf, "main"),
    ] {
        assert!(refused(framework, name, &["cortex-m4f"]).contains(&format!("does not take the name {name}")));
    }
    assert!(Framework::Zephyr.check("net", &of(&["cortex-m4", "cortex-m4f", "cortex-m33"])).is_ok());
    assert_eq!(Framework::from_name("zephir").unwrap_err().help.as_deref(), Some("did you mean zephyr?"));
    assert!(Framework::ALL.iter().all(|framework| Framework::from_name(framework.name()) == Ok(*framework)));
}
