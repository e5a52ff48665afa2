//! `modelc --version --verbose`: identification of a build, and the levels that this computer can run.

use crate::interface::ABI;
use crate::target;
use std::ffi::OsString;

/// The commit of the build: given to the build, recorded in the package, or from git in an optimized build.
const COMMIT: Option<&str> = option_env!("MODELC_COMMIT");

/// Recognizes a command line that only asks for the long version.
pub fn is_asked(given: &[OsString]) -> bool {
    let words: Vec<&str> = given.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).collect();
    matches!(words[..], ["--version" | "-V", "--verbose"] | ["--verbose", "--version" | "-V"])
}

/// Returns the long version, with a name and a value in each line.
pub fn text() -> String {
    let target = target::host().map_or("none", |target| target.name);
    let level = target::host_machine().map_or("none", |machine| machine.level);
    let rows = [("commit", COMMIT.unwrap_or("unknown")), ("ABI", &ABI.to_string()), ("target", target), ("CPU level", level)];
    let lines: String = rows.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    format!("modelc {}\n{lines}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_is_asked_for_in_either_order_and_alone() {
        let asked = |words: &[&str]| is_asked(&[&["modelc"], words].concat().iter().map(OsString::from).collect::<Vec<_>>());
        assert!(asked(&["--version", "--verbose"]) && asked(&["--verbose", "--version"]) && asked(&["-V", "--verbose"]));
        assert!(!asked(&["--version"]) && !asked(&["--verbose"]) && !asked(&["m.tflite", "--version", "--verbose"]));
    }

    #[test]
    fn the_long_version_names_commit_abi_target_and_level() {
        let text = text();
        let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split_once(": ")).map(|(name, _)| name).collect();
        assert_eq!(names, ["commit", "ABI", "target", "CPU level"]);
        assert!(text.starts_with(concat!("modelc ", env!("CARGO_PKG_VERSION"), "\n")) && text.contains(&format!("ABI: {ABI}\n")), "{text}");
    }
}
