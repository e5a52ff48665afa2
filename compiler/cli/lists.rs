//! `modelc ops` and `modelc targets`.

use super::console::print;
use super::messages::Messages;
use super::outcome::Outcome;
use super::output::{fitted, table, usage};
use crate::diagnostic::{Diagnostics, did_you_mean};
use crate::frontend;
use crate::jit::devices::{Found, FoundDevice, devices};
use crate::target::{CHIPS, CORES, Chip, TARGETS, Target};
use clap::Args;
use serde_json::{Value, json};

#[derive(Args)]
pub struct OpsArguments {
    /// Format: tflite, executorch or vulkan [default: all]
    #[arg(value_name = "FORMAT")]
    vocabulary: Option<String>,
    /// Print JSON (schema modelc.ops/1)
    #[arg(long)]
    json: bool,
    /// Messages.
    #[command(flatten)]
    pub messages: Messages,
}

#[derive(Args)]
pub struct TargetsArguments {
    /// Print JSON (schema modelc.targets/1)
    #[arg(long)]
    json: bool,
    /// Messages.
    #[command(flatten)]
    pub messages: Messages,
}

/// Lists the operators that front ends support.
///
/// # Errors
/// A usage diagnostic if the format is unknown.
pub fn ops(arguments: &OpsArguments) -> Result<Outcome, Diagnostics> {
    let formats = frontend::operators();
    let wanted = arguments.vocabulary.as_deref();
    if let Some(name) = wanted
        && formats.iter().all(|(format, _)| *format != name)
    {
        let known: Vec<&str> = formats.iter().map(|(format, _)| *format).collect();
        return Err(did_you_mean(usage(format!("there is no format {name}")).expected(known.join(", "), name), name, known).into());
    }
    let formats = formats.iter().filter(|(format, _)| wanted.is_none_or(|w| w == *format));
    if arguments.json || arguments.messages.are_json() {
        let list: Vec<Value> = formats.map(|(format, operators)| json!({ "format": format, "operators": operators })).collect();
        print(&format!("{:#}\n", json!({ "schema": "modelc.ops/1", "formats": list })))?;
        return Ok(Outcome::Done);
    }
    let mut text = String::new();
    for (format, operators) in formats {
        text.push_str(&format!("{format}: {} operators\n", operators.len()));
        text.extend(operators.iter().map(|operator| format!("  {operator}\n")));
    }
    print(&text)?;
    Ok(Outcome::Done)
}

/// Lists targets with their spellings and CPU levels, then this computer's Vulkan devices with the profiles that they meet.
///
/// # Errors
/// A diagnostic if standard output cannot be written.
pub fn targets(arguments: &TargetsArguments) -> Result<Outcome, Diagnostics> {
    if arguments.json || arguments.messages.are_json() {
        print(&format!("{:#}\n", targets_json()))?;
        return Ok(Outcome::Done);
    }
    let mut rows = vec![["target", "objects", "CPU levels", "other spellings"].map(String::from).to_vec()];
    for target in TARGETS {
        rows.push(vec![target.name.to_owned(), target.format.name().to_owned(), target.levels.join(" "), target.aliases.join(" ")]);
    }
    let devices = devices().map_or_else(|_| "No code for Vulkan can be made for this computer.\n".into(), |found| devices_text(&found));
    let cores = CORES
        .iter()
        .map(|(cores, target)| format!("{}\n", fitted(&format!("{target} is meant by names that begin with {}", cores.join(", ")))));
    let levels = "By default an object has all levels of x86-64, elsewhere the first.\n";
    print(&format!("{}\n{levels}\n{}\n{}\n{devices}", table(&rows, &[]), cores.collect::<String>(), chips()))?;
    Ok(Outcome::Done)
}

/// Returns a table of cores, chips and boards with their memory, and one of chips with several banks of RAM.
fn chips() -> String {
    let size = |bytes: Option<u64>| bytes.map_or(String::new(), |bytes| format!("{} KiB", bytes >> 10));
    let mut rows = vec![["core, chip or board", "target", "CPU level", "flash", "RAM"].map(String::from).to_vec()];
    rows.extend(CHIPS.iter().map(|chip| {
        let flash = size(chip.memory.map(|memory| memory.flash));
        let ram = size(chip.memory.map(|memory| memory.ram));
        vec![chip.names.join(" "), chip.target.name.into(), chip.target.levels[0].into(), flash, ram]
    }));
    let banks = CHIPS.iter().filter_map(|chip| Some(vec![chip.names.join(" "), chip.memory?.areas()?]));
    let head = vec!["chip or board".to_owned(), "RAM, as --memory takes it".to_owned()];
    let banks: Vec<Vec<String>> = std::iter::once(head).chain(banks).collect();
    format!("{}\n{}", table(&rows, &[3, 4]), table(&banks, &[]))
}

/// Returns targets and devices as JSON, schema `modelc.targets/1`.
fn targets_json() -> Value {
    let target = |target: &Target| json!({ "name": target.name, "format": target.format.name(), "cpu_levels": target.levels, "aliases": target.aliases });
    let cores = |(prefixes, target): &(&[&str], &str)| json!({ "prefixes": prefixes, "target": target });
    let chip = |chip: &Chip| {
        let (flash, ram) = chip.memory.map(|memory| (memory.flash, memory.ram)).unzip();
        let level = chip.target.levels[0];
        let areas = chip.memory.and_then(|memory| memory.areas());
        json!({ "prefixes": chip.names, "target": chip.target.name, "cpu_level": level, "flash_bytes": flash, "ram_bytes": ram, "memory": areas })
    };
    json!({
        "schema": "modelc.targets/1",
        "targets": TARGETS.iter().map(target).collect::<Vec<_>>(),
        "cores": CORES.iter().map(cores).collect::<Vec<_>>(),
        "chips": CHIPS.iter().map(chip).collect::<Vec<_>>(),
        "vulkan_devices": devices_json(),
    })
}

/// Returns this computer's Vulkan devices.
pub fn devices_json() -> Vec<Value> {
    let Ok(Found::Devices(list)) = devices() else { return vec![] };
    let device = |device: &FoundDevice| json!({ "name": device.name, "kind": kind(device), "version": version(device), "profiles": device.profiles });
    list.iter().map(device).collect()
}

/// Formats the Vulkan devices, or the reason why there are none.
fn devices_text(found: &Found) -> String {
    let list = match found {
        Found::Failed(None, _) => return "There is no library of Vulkan here, so no device.\n".into(),
        Found::Failed(Some(call), result) => return format!("There is no device of Vulkan here: {call} gave {result}.\n"),
        Found::Devices(list) if list.is_empty() => return "There is no device of Vulkan here.\n".into(),
        Found::Devices(list) => list,
    };
    let row = |device: &FoundDevice| vec![device.name.clone(), kind(device).to_owned(), version(device), device.profiles.join(" ")];
    let head = ["device of Vulkan here", "kind", "version", "profiles"].map(String::from).to_vec();
    table(&std::iter::once(head).chain(list.iter().map(row)).collect::<Vec<_>>(), &[])
}

fn kind(device: &FoundDevice) -> &'static str {
    match device.device_type {
        1 => "GPU in the processor",
        2 => "GPU",
        3 => "GPU of a virtual machine",
        4 => "CPU, for --gpu require only",
        _ => "other",
    }
}

fn version(device: &FoundDevice) -> String {
    let version = device.api_version;
    format!("{}.{}.{}", version >> 22 & 0x7f, version >> 12 & 0x3ff, version & 0xfff)
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
