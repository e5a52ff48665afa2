use super::*;
use crate::diagnostic::codes;
use crate::emit::RiscvAbi;
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

fn snapshot(name: &str, text: &str) {
    crate::bless::text(&format!("compiler/emit/package/snapshots/{name}.txt"), text);
}

#[test]
fn texts_of_each_framework() {
    snapshot("package_cmake", &printed(Framework::CMake, &built(&["cortex-m4f", "x86_64-linux-gnu"], true)));
    snapshot("package_zephyr", &printed(Framework::Zephyr, &built(&["cortex-m4", "nrf52840", "cortex-m33"], false)));
    snapshot("package_cmsis", &printed(Framework::CmsisPack, &built(&["cortex-m3", "cortex-m4", "cortex-m4f"], true)));
    snapshot("package_esp_idf", &printed(Framework::EspIdf, &built(&["esp32c3", "esp32c6"], false)));
    snapshot("package_arduino", &printed(Framework::Arduino, &built(&["cortex-m4f", "cortex-m7"], true)));
}

/// Returns the conditions of variants whose code uses floats, or does not.
fn conditions(framework: Framework, spellings: &[&str], uses_floats: bool) -> Vec<String> {
    of(spellings).iter().map(|variant| framework.condition(variant, variant.needs(uses_floats), "NET")).collect()
}

#[test]
fn a_unit_for_binary64_is_asked_for() {
    let accepts = |units: &[&str]| -> String {
        let lines = units.iter().map(|unit| format!("      <accept Dcore=\"Cortex-M7\"{unit}/>"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let double = accepts(&[" Dfpu=\"DP_FPU\""]);
    assert_eq!(conditions(Framework::CmsisPack, &["stm32h743"], true), [&*double]);
    assert_eq!(conditions(Framework::CmsisPack, &["stm32h743"], false), [accepts(&[""])]);
    let single = accepts(&[" Dfpu=\"FPU\"", " Dfpu=\"SP_FPU\""]);
    assert_eq!(conditions(Framework::CmsisPack, &["stm32f746", "stm32h743"], false), [&*single, &*double]);
    let of_core = "CONFIG_CPU_CORTEX_M7 AND NOT CONFIG_TRAP_UNALIGNED_ACCESS AND CONFIG_FPU";
    assert_eq!(
        conditions(Framework::Zephyr, &["stm32f746", "stm32h743"], true),
        [format!("{of_core} AND NOT CONFIG_CPU_HAS_FPU_DOUBLE_PRECISION"), format!("{of_core} AND CONFIG_CPU_HAS_FPU_DOUBLE_PRECISION")]
    );
    assert_eq!(conditions(Framework::Zephyr, &["stm32f746"], true), [of_core]);
    let on_m7 = "defined(__ARM_ARCH_7EM__) && NET_ON_M7";
    assert_eq!(conditions(Framework::Arduino, &["stm32h743"], true), [format!("{on_m7} && defined(__ARM_FP) && (__ARM_FP & 8) != 0")]);
    assert_eq!(conditions(Framework::Arduino, &["stm32f746"], true), [on_m7]);
    // Both libraries would lie in one folder.
    assert!(Framework::Arduino.check("net", &of(&["stm32f746", "stm32h743"])).is_err());
    assert!(Framework::CmsisPack.check("net", &of(&["stm32f746", "stm32h743"])).is_ok());
}

#[test]
fn optional_instructions_are_asked_for() {
    assert_eq!(conditions(Framework::Arduino, &["cortex-m33"], false), ["defined(__ARM_ARCH_8M_MAIN__) && defined(__ARM_FEATURE_DSP)"]);
    assert_eq!(conditions(Framework::Arduino, &["cortex-m33+nodsp"], false), ["defined(__ARM_ARCH_8M_MAIN__)"]);
    let of_core = "CONFIG_CPU_CORTEX_M33 AND NOT CONFIG_TRAP_UNALIGNED_ACCESS";
    assert_eq!(
        conditions(Framework::Zephyr, &["cortex-m33", "cortex-m33+nodsp"], false),
        [format!("{of_core} AND CONFIG_ARMV8_M_DSP"), format!("{of_core} AND NOT CONFIG_ARMV8_M_DSP")]
    );
    let units = |framework, spelling, uses_floats| {
        let condition = conditions(framework, &[spelling], uses_floats).remove(0);
        let of_units = |part: &&str| ["Dfpu", "Ddsp", "Dmve", "CONFIG_ARM", "CONFIG_FPU"].iter().any(|word| part.starts_with(word));
        let parts = condition.split([' ', '/']).filter(of_units);
        parts.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(units(Framework::CmsisPack, "cortex-m33", false), "Ddsp=\"DSP\"");
    assert_eq!(units(Framework::CmsisPack, "cortex-m33+nodsp", false), "");
    assert_eq!(units(Framework::CmsisPack, "cortex-m55", false), "Dmve=\"MVE\" Dmve=\"FP_MVE\"");
    assert_eq!(units(Framework::Zephyr, "cortex-m85", false), "CONFIG_FPU CONFIG_ARMV8_1_M_MVEI");
    assert_eq!(units(Framework::Zephyr, "cortex-m55", true), "CONFIG_FPU CONFIG_ARMV8_1_M_MVEI CONFIG_ARMV8_1_M_MVEF");
    // Vectors need the unit turned on even if the code has no floats, so the other unit tells these apart.
    let of_m55 = "CONFIG_CPU_CORTEX_M55 AND NOT CONFIG_TRAP_UNALIGNED_ACCESS AND CONFIG_FPU AND CONFIG_ARMV8_1_M_MVEI";
    assert_eq!(
        conditions(Framework::Zephyr, &["cortex-m55", "cortex-m55+nofp"], false),
        [format!("{of_m55} AND CONFIG_ARMV8_1_M_MVEF"), format!("{of_m55} AND NOT CONFIG_ARMV8_1_M_MVEF")]
    );
    assert!(units(Framework::CmsisPack, "cortex-m85", true).ends_with("Dfpu=\"DP_FPU\" Dmve=\"FP_MVE\""));
}

#[test]
fn the_float_abi_of_riscv_is_asked_for() {
    let abi = |spelling, abi| {
        let variant = Variant { abi, ..of(&[spelling]).remove(0) };
        let condition = Framework::Zephyr.condition(&variant, variant.needs(false), "NET");
        condition.split_once("CONFIG_RISCV_ISA_EXT_C AND ").unwrap().1.to_owned()
    };
    assert_eq!(abi("rv32imc", RiscvAbi::Ilp32), "NOT CONFIG_FLOAT_HARD");
    assert_eq!(abi("rv32imafc", RiscvAbi::Ilp32), "CONFIG_FPU AND NOT CONFIG_FLOAT_HARD");
    let single = "CONFIG_FPU AND CONFIG_FLOAT_HARD AND NOT CONFIG_CPU_HAS_FPU_DOUBLE_PRECISION";
    assert_eq!(abi("rv32imafc", RiscvAbi::Ilp32f), single);
    let double = "CONFIG_FPU AND CONFIG_FLOAT_HARD AND CONFIG_CPU_HAS_FPU_DOUBLE_PRECISION";
    assert_eq!(abi("riscv64-none-elf", RiscvAbi::Lp64d), double);
    assert!(conditions(Framework::Zephyr, &["cortex-m3", "aarch64-none-elf"], true).iter().all(|text| !text.contains("FLOAT_HARD")));
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
