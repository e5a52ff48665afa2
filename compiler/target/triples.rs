//! The table of targets, and parts of spellings that do not matter.

use super::chips;
use super::row::{Platform, Target, row};
use modelc_machine::Isa;

/// Every target; those with an operating system come first.
pub const TARGETS: &[Target] = &[
    row(
        "x86_64-unknown-linux-gnu",
        Isa::X86_64,
        Platform::Linux,
        &["x86_64-linux-gnu", "x86_64-linux", "x86_64-linux-musl", "x86_64-linux-android", "amd64-linux-gnu", "x86_64"],
    ),
    row(
        "aarch64-unknown-linux-gnu",
        Isa::Aarch64,
        Platform::Linux,
        &[
            "aarch64-linux-gnu",
            "aarch64-linux",
            "aarch64-linux-musl",
            "aarch64-linux-android",
            "arm64-linux-gnu",
            "arm64-v8a",
            "aarch64",
            "arm64",
        ],
    ),
    row(
        "riscv64gc-unknown-linux-gnu",
        Isa::Riscv64,
        Platform::Linux,
        &[
            "riscv64-linux-gnu",
            "riscv64gc-linux-gnu",
            "riscv64-linux",
            "riscv64-linux-musl",
            "riscv64gc-linux-musl",
            "riscv64-linux-android",
            "riscv64gc",
            "riscv64",
        ],
    ),
    row("x86_64-unknown-none-elf", Isa::X86_64, Platform::None, &["x86_64-none-elf", "x86_64-none", "x86_64-elf"]),
    row("aarch64-unknown-none-elf", Isa::Aarch64, Platform::None, &["aarch64-none-elf", "aarch64-none", "aarch64-elf", "arm64-none-elf"]),
    row(
        "riscv64gc-unknown-none-elf",
        Isa::Riscv64,
        Platform::None,
        &["riscv64-none-elf", "riscv64gc-none-elf", "riscv64-none", "riscv64-elf", "riscv64imafdc-none-elf"],
    ),
    row(
        "x86_64-pc-windows-msvc",
        Isa::X86_64,
        Platform::Windows,
        &["x86_64-windows-msvc", "x86_64-windows-gnu", "x86_64-windows-gnullvm", "x86_64-windows", "x86_64-w64-mingw32", "x86_64-uefi"],
    ),
    row(
        "x86_64-apple-darwin",
        Isa::X86_64,
        Platform::MacOs,
        &["x86_64-apple-macos", "x86_64-apple-macosx", "x86_64-darwin", "x86_64-macos"],
    ),
    row(
        "aarch64-apple-darwin",
        Isa::Aarch64,
        Platform::MacOs,
        &[
            "aarch64-apple-macos",
            "arm64-apple-macos",
            "arm64-apple-macosx",
            "arm64-apple-darwin",
            "aarch64-darwin",
            "arm64-darwin",
            "aarch64-macos",
        ],
    ),
    row("aarch64-apple-ios", Isa::Aarch64, Platform::Ios, &["arm64-apple-ios", "aarch64-ios"]),
    chips::V6M,
    chips::V7M,
    chips::V7EM,
    chips::V7EM_FLOAT,
    chips::V8M_BASE,
    chips::V8M,
    chips::V8M_FLOAT,
    chips::V81M,
    chips::RV32IMC,
    chips::RV32IMAC,
    chips::RV32IMAFC,
];

/// Vendors, the second word of a spelling, which are ignored.
const VENDORS: &[&str] = &["unknown", "pc", "redhat", "suse", "alpine", "poky", "oe", "buildroot", "cros", "gentoo", "elementary"];

/// Removes a version from a spelling: the API level of `aarch64-linux-android24`, or the version of `arm64-apple-macos13.1`.
pub(super) fn without_api_level(spelling: &str) -> String {
    let trimmed = spelling.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let versioned = ["android", "macos", "macosx", "darwin", "ios"].iter().any(|system| trimmed.ends_with(system));
    if versioned { trimmed.to_string() } else { spelling.to_string() }
}

/// Removes a vendor from a spelling, its second word.
pub(super) fn without_vendor(spelling: &str) -> String {
    let words: Vec<_> = spelling.split('-').collect();
    match words.as_slice() {
        // Arm's toolchains and the NDK say `aarch64-none-linux-gnu`: a vendor that is no system, since one follows.
        [architecture, "none", "linux", rest @ ..] => [&[*architecture, "linux"], rest].concat().join("-"),
        // `aarch64-unknown-none` has a vendor; in `riscv64-unknown-elf` it is one too.
        [architecture, vendor, rest @ ..] if VENDORS.contains(vendor) && !rest.is_empty() => {
            format!("{architecture}-{}", rest.join("-"))
        }
        _ => spelling.to_string(),
    }
}
