//! `cargo xtask setup`: installs the programs that the tests call, from Debian's packages.

use crate::Outcome;
use crate::process::{self, find};
use std::path::Path;
use std::process::Command;

/// A test for an installed package. It looks for the files in use, not for package names, so that other systems can provide the tools in
/// another way.
enum Probe {
    Program(&'static str),
    File(&'static str),
}

/// A requirement of the tests, and the packages that provide it, in the order to try them: Debian has moved some.
struct Need {
    probe: Probe,
    packages: &'static [&'static str],
}

const fn program(name: &'static str, packages: &'static [&'static str]) -> Need {
    Need { probe: Probe::Program(name), packages }
}

const fn file(path: &'static str, packages: &'static [&'static str]) -> Need {
    Need { probe: Probe::File(path), packages }
}

/// The requirements. `qemu-utils` must not be here. If it was installed from backports, naming it beside the system emulators makes the set
/// unsatisfiable, and apt removes it by itself.
const NEEDS: &[Need] = &[
    program("gcc", &["gcc"]),
    program("g++", &["g++"]),
    file("/usr/include/stdio.h", &["libc6-dev"]),
    program("make", &["make"]),
    program("cmake", &["cmake"]),
    // Terminals of tests.
    program("script", &["bsdutils"]),
    program("ninja", &["ninja-build"]),
    program("aarch64-linux-gnu-gcc", &["gcc-aarch64-linux-gnu"]),
    file("/usr/aarch64-linux-gnu/include/stdio.h", &["libc6-dev-arm64-cross"]),
    program("riscv64-linux-gnu-gcc", &["gcc-riscv64-linux-gnu"]),
    file("/usr/riscv64-linux-gnu/include/stdio.h", &["libc6-dev-riscv64-cross"]),
    program("riscv64-unknown-elf-gcc", &["gcc-riscv64-unknown-elf"]),
    file("/usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs", &["picolibc-riscv64-unknown-elf"]),
    program("arm-linux-gnueabihf-gcc", &["gcc-arm-linux-gnueabihf"]),
    file("/usr/arm-linux-gnueabihf/include/stdio.h", &["libc6-dev-armhf-cross"]),
    program("arm-none-eabi-gcc", &["gcc-arm-none-eabi"]),
    file("/usr/lib/arm-none-eabi/newlib/rdimon.specs", &["libnewlib-arm-none-eabi"]),
    file("/usr/lib/picolibc/arm-none-eabi/picolibc.specs", &["picolibc-arm-none-eabi"]),
    // Readers of exported packages: Arduino's build, Zephyr's language of options, and XML.
    program("arduino-builder", &["arduino-builder"]),
    file("/usr/lib/python3/dist-packages/kconfiglib.py", &["python3-kconfiglib"]),
    program("xmllint", &["libxml2-utils"]),
    // The linker of LLVM, which firmware may use, too.
    program("ld.lld", &["lld"]),
    program("qemu-arm", &["qemu-user"]),
    program("qemu-aarch64", &["qemu-user"]),
    program("qemu-riscv64", &["qemu-user"]),
    program("qemu-riscv32", &["qemu-user"]),
    program("qemu-system-aarch64", &["qemu-system-arm"]),
    program("qemu-system-riscv64", &["qemu-system-misc", "qemu-system-riscv"]),
    program("qemu-system-riscv32", &["qemu-system-misc", "qemu-system-riscv"]),
    program("chromium", &["chromium"]),
    // A software GPU, its validation layer, and the validator of its code.
    file("/usr/share/doc/mesa-vulkan-drivers/copyright", &["mesa-vulkan-drivers"]),
    file("/usr/share/doc/libvulkan1/copyright", &["libvulkan1"]),
    file("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json", &["vulkan-validationlayers"]),
    program("spirv-val", &["spirv-tools"]),
];

impl Need {
    fn is_met(&self) -> bool {
        match self.probe {
            Probe::Program(name) => find(name).is_some(),
            Probe::File(path) => Path::new(path).exists(),
        }
    }

    fn name(&self) -> &'static str {
        match self.probe {
            Probe::Program(name) | Probe::File(name) => name,
        }
    }
}

fn unmet() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !need.is_met()).collect()
}

/// Returns the programs and files of the tests that this machine lacks.
pub fn missing() -> Vec<&'static str> {
    unmet().iter().map(|need| need.name()).collect()
}

/// Installs missing packages. If none is missing, it only prints that, and needs neither network nor root.
///
/// # Errors
/// A message if apt fails or is missing, or if something is still missing afterwards. It lists what to install by hand.
pub fn run() -> Outcome {
    if unmet().is_empty() {
        println!("setup: everything is here");
        return Ok(());
    }
    if find("apt-get").is_none() {
        return Err(format!("no apt-get here; install by hand: {}", missing().join(", ")));
    }
    apt(&["update"])?;
    let attempts = NEEDS.iter().map(|need| need.packages.len()).max().unwrap_or(0);
    for attempt in 0..attempts {
        let mut packages: Vec<_> = unmet().iter().filter_map(|need| need.packages.get(attempt)).copied().collect();
        packages.dedup();
        if packages.is_empty() {
            break;
        }
        let mut words = vec!["install", "--yes", "--no-install-recommends"];
        words.extend(packages);
        apt(&words)?;
    }
    match missing() {
        left if left.is_empty() => {
            println!("setup: everything is here");
            Ok(())
        }
        left => Err(format!("apt installed its packages, yet these are missing: {}", left.join(", "))),
    }
}

/// Runs apt-get as root, with sudo if necessary. It waits for another apt instead of failing.
fn apt(words: &[&str]) -> Outcome {
    let mut command = if is_root() { Command::new("env") } else { Command::new("sudo") };
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--option", "DPkg::Lock::Timeout=300"]);
    process::run(command.args(words))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
