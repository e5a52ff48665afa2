//! `modelc ops` and `modelc targets`.

use super::Outcome;
use super::console::print;
use super::output::{table, usage};
use crate::diagnostic::{Diagnostics, did_you_mean};
use crate::frontend;
use crate::jit::devices::{Found, FoundDevice, devices};
use crate::machine::MACHINES;
use crate::target::{CORES, TARGETS};
use clap::Args;

#[derive(Args)]
pub struct OpsArguments {
    /// Format: tflite, executorch or vulkan [default: all]
    format: Option<String>,
}

/// Lists the operators that front ends know.
///
/// # Errors
/// When there is no such format.
pub fn ops(arguments: &OpsArguments) -> Result<Outcome, Diagnostics> {
    let formats = frontend::operators();
    let wanted = arguments.format.as_deref();
    if let Some(name) = wanted
        && formats.iter().all(|(format, _)| *format != name)
    {
        let known: Vec<&str> = formats.iter().map(|(format, _)| *format).collect();
        return Err(did_you_mean(usage(format!("there is no format {name}")).expected(known.join(", "), name), name, known).into());
    }
    let mut text = String::new();
    for (format, operators) in formats.iter().filter(|(format, _)| wanted.is_none_or(|w| w == *format)) {
        text.push_str(&format!("{format}: {} operators\n", operators.len()));
        text.extend(operators.iter().map(|operator| format!("  {operator}\n")));
    }
    print(&text)?;
    Ok(Outcome::Done)
}

/// Lists targets, their spellings and CPU levels; then the devices of Vulkan that this computer has, with the profiles that they meet.
///
/// # Errors
/// When standard output cannot be written to.
pub fn targets() -> Result<Outcome, Diagnostics> {
    let mut rows =
        vec![["target", "objects", "CPU levels (by default all on x86-64, else the first)", "other spellings"].map(String::from).to_vec()];
    for target in TARGETS {
        let levels: Vec<&str> = MACHINES.iter().filter(|m| m.isa() == Some(target.isa)).map(|m| m.level).collect();
        rows.push(vec![target.name.to_owned(), target.format.name().to_owned(), levels.join(" "), target.aliases.join(" ")]);
    }
    let devices = devices().map_or_else(|_| "No code for Vulkan can be made for this computer.\n".into(), |found| devices_text(&found));
    let cores = CORES.iter().map(|(cores, target)| format!("{target} is meant by names that begin with {}\n", cores.join(", ")));
    print(&format!("{}\n{}\n{devices}", table(&rows, &[]), cores.collect::<String>()))?;
    Ok(Outcome::Done)
}

/// The devices of Vulkan, or why there are none.
fn devices_text(found: &Found) -> String {
    let list = match found {
        Found::Failed(None, _) => return "There is no library of Vulkan here, so no device.\n".into(),
        Found::Failed(Some(call), result) => return format!("There is no device of Vulkan here: {call} gave {result}.\n"),
        Found::Devices(list) if list.is_empty() => return "There is no device of Vulkan here.\n".into(),
        Found::Devices(list) => list,
    };
    let row = |device: &FoundDevice| {
        let kind = match device.device_type {
            1 => "GPU in the processor",
            2 => "GPU",
            3 => "GPU of a virtual machine",
            4 => "CPU, for --gpu require only",
            _ => "other",
        };
        let version = device.api_version;
        let version = format!("{}.{}.{}", version >> 22 & 0x7f, version >> 12 & 0x3ff, version & 0xfff);
        vec![device.name.clone(), kind.to_owned(), version, device.profiles.join(" ")]
    };
    let head = ["device of Vulkan here", "kind", "version", "profiles"].map(String::from).to_vec();
    table(&std::iter::once(head).chain(list.iter().map(row)).collect::<Vec<_>>(), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_with_their_profiles_or_why_there_are_none() {
        let device = FoundDevice {
            name: "llvmpipe".into(),
            device_type: 4,
            api_version: 1 << 22 | 3 << 12 | 255,
            profiles: vec!["vulkan1.1", "vulkan1.3"],
        };
        let text = devices_text(&Found::Devices(vec![device]));
        assert!(text.contains("llvmpipe") && text.contains("1.3.255") && text.contains("vulkan1.1 vulkan1.3"), "{text}");
        assert!(devices_text(&Found::Failed(None, -3)).contains("no library"));
        assert!(devices_text(&Found::Failed(Some("vkCreateInstance"), -9)).contains("vkCreateInstance gave -9"));
        assert!(devices_text(&Found::Devices(vec![])).contains("no device"));
    }
}
