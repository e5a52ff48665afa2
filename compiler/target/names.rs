//! Users' names of processors: architectures, cores and boards for targets, and features for CPU levels.

/// Prefixes of names, with the target that they mean.
pub const CORES: &[(&[&str], &str)] = &[
    (
        &[
            "armv8",
            "armv9",
            "cortex-a34",
            "cortex-a35",
            "cortex-a53",
            "cortex-a55",
            "cortex-a57",
            "cortex-a510",
            "cortex-a520",
            "cortex-a710",
            "cortex-a715",
            "cortex-a720",
            "cortex-a65",
            "cortex-a72",
            "cortex-a73",
            "cortex-a75",
            "cortex-a76",
            "cortex-a77",
            "cortex-a78",
            "cortex-x",
            "neoverse",
            "rpi3",
            "rpi4",
            "rpi5",
            "raspberrypi3",
            "raspberrypi4",
            "raspberrypi5",
            "jetson",
            "graviton",
            "imx8",
            "rk3588",
        ],
        "aarch64-unknown-linux-gnu",
    ),
    (&["apple-m", "apple-silicon"], "aarch64-apple-darwin"),
];

/// Prefixes of names of 32-bit processors and boards.
const NARROW: &[&str] = &[
    "armv8-m",
    "armv8.1-m",
    "armv8-r",
    "cortex-m",
    "cortex-r",
    "cortex-a5",
    "cortex-a7",
    "cortex-a8",
    "cortex-a9",
    "cortex-a12",
    "cortex-a15",
    "cortex-a17",
    "cortex-a32",
    "stm32",
    "nrf5",
    "nrf9",
    "rp2",
    "pico",
    "esp",
    "sam3",
    "sam4",
    "samc",
    "samd",
    "same",
    "saml",
    "sams7",
    "atsam",
    "feather",
    "adafruit",
    "nucleo",
    "disco",
    "ra2",
    "ra4",
    "ra6",
    "ra8",
    "apollo",
    "max32",
    "max78",
    "psoc",
    "cy8c",
    "xmc",
    "mps2",
    "mps3",
    "lpc",
    "imxrt",
    "mimxrt",
    "efm32",
    "efr32",
    "frdm",
    "lpcxpresso",
    "gd32",
    "ch32",
    "rpi",
    "raspberrypi",
    "arduino",
    "teensy",
    "bl602",
    "msp430",
    "rv32",
];

/// Users' names of CPU levels.
const LEVELS: &[(&[&str], &str)] = &[
    (&["sse4", "sse4.1", "sse4.2", "sse42", "nehalem", "westmere"], "x86-64-v2"),
    (&["avx", "avx2", "fma", "haswell", "broadwell", "skylake", "znver1", "znver2", "znver3", "zen", "zen2", "zen3"], "x86-64-v3"),
    (
        &[
            "avx512",
            "avx512f",
            "avx512vnni",
            "avx-512",
            "vnni",
            "skylake-avx512",
            "icelake",
            "icelake-server",
            "sapphirerapids",
            "znver4",
            "zen4",
        ],
        "x86-64-v4",
    ),
    (&["neon", "armv8", "armv8-a", "arm64", "asimd", "simd"], "aarch64"),
    (
        &[
            "dotprod",
            "sdot",
            "armv8.2-a",
            "armv8.2-a+dotprod",
            "armv8.4-a",
            "cortex-a55",
            "cortex-a75",
            "cortex-a76",
            "cortex-a77",
            "cortex-a78",
            "cortex-x1",
            "neoverse-n1",
            "apple-m1",
        ],
        "aarch64+dotprod",
    ),
    (
        &[
            "i8mm",
            "smmla",
            "armv8.6-a",
            "armv8.2-a+i8mm",
            "armv9-a",
            "cortex-a510",
            "cortex-a520",
            "cortex-a710",
            "cortex-a715",
            "cortex-a720",
            "cortex-x2",
            "cortex-x3",
            "cortex-x4",
            "neoverse-n2",
            "neoverse-v1",
            "neoverse-v2",
            "apple-m2",
            "apple-m3",
            "apple-m4",
        ],
        "aarch64+i8mm",
    ),
    (&["v", "rvv", "rvv1.0", "riscv-v"], "rv64gcv"),
];

/// Returns the target of an architecture, core or board; the name is in lower case.
pub fn target_of(name: &str) -> Option<&'static str> {
    if is_narrow(name) || name.contains("-none") || name.contains("-linux") {
        return None;
    }
    CORES.iter().find(|(cores, _)| cores.iter().any(|core| begins(name, core))).map(|(_, target)| *target)
}

/// Recognizes the name of a 32-bit processor or board.
pub fn is_narrow(name: &str) -> bool {
    let is_wide = CORES.iter().flat_map(|(cores, _)| cores.iter()).filter(|core| begins(name, core)).map(|core| core.len()).max();
    let narrow = NARROW.iter().filter(|core| begins(name, core)).map(|core| core.len()).max();
    narrow > is_wide
}

/// Returns the CPU level that a feature or processor suggests.
pub fn level_meant(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    LEVELS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, level)| *level)
}

/// Tests whether a name has a prefix. A prefix that ends in a digit is not followed by another digit: `cortex-a5` does not match `cortex-a53`.
fn begins(name: &str, start: &str) -> bool {
    let Some(rest) = name.strip_prefix(start) else { return false };
    let is_number = |text: &str, at_end: bool| {
        let byte = if at_end { text.bytes().next_back() } else { text.bytes().next() };
        byte.is_some_and(|byte| byte.is_ascii_digit())
    };
    !(start.starts_with("cortex-a") && is_number(start, true) && is_number(rest, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_and_boards_stand_for_targets() {
        for name in
            ["armv8", "armv8-a", "armv8.2-a", "armv9-a", "cortex-a53", "cortex-a35", "cortex-a78ae", "neoverse-n1", "rpi4", "imx8mp"]
        {
            assert_eq!(target_of(name), Some("aarch64-unknown-linux-gnu"), "{name}");
        }
        assert_eq!(target_of("apple-m1"), Some("aarch64-apple-darwin"));
        for name in
            ["cortex-m52", "cortex-m0", "cortex-a7", "cortex-a5", "armv8-m.main", "esp32", "esp32c3", "stm32q4", "rp2040", "rpi", "rpi2"]
        {
            assert!(is_narrow(name) && target_of(name).is_none(), "{name}");
        }
        assert!(target_of("aarch64").is_none() && !is_narrow("aarch64"));
    }

    #[test]
    fn features_stand_for_levels() {
        assert_eq!(
            [level_meant("avx2"), level_meant("AVX512"), level_meant("neon"), level_meant("x")],
            [Some("x86-64-v3"), Some("x86-64-v4"), Some("aarch64"), None]
        );
        assert_eq!([level_meant("cortex-a78"), level_meant("Neoverse-N2")], [Some("aarch64+dotprod"), Some("aarch64+i8mm")]);
    }
}
