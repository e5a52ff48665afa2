//! `modelc doctor`: what this computer can run, measure, link and emulate.

use super::console::print;
use super::lists::devices_json;
use super::messages::Messages;
use super::outcome::Outcome;
use super::output::table;
use crate::diagnostic::Diagnostics;
use crate::target::{self, FEATURES};
use clap::Args;
use serde_json::{Value, json};
use std::process::Command;

#[derive(Args)]
pub struct Arguments {
    /// Print JSON (schema modelc.doctor/1)
    #[arg(long)]
    json: bool,
    /// Messages.
    #[command(flatten)]
    pub messages: Messages,
}

/// A program that works with modelc's outputs.
struct Tool {
    /// Purpose: `link`, `emulate`, `measure`.
    purpose: &'static str,
    program: &'static str,
    /// Work that needs it.
    what: &'static str,
}

const fn tool(purpose: &'static str, program: &'static str, what: &'static str) -> Tool {
    Tool { purpose, program, what }
}

const TOOLS: &[Tool] = &[
    tool("link", "cc", "programs for this computer"),
    tool("link", "c++", "--emit hpp"),
    tool("link", "rustc", "--emit rust"),
    tool("link", "cmake", "modelc_add_model"),
    tool("link", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu"),
    tool("link", "aarch64-none-elf-gcc", "aarch64-none-elf"),
    tool("link", "riscv64-linux-gnu-gcc", "riscv64-linux-gnu"),
    tool("link", "riscv64-unknown-elf-gcc", "riscv64-none-elf"),
    tool("link", "arm-none-eabi-gcc", "Cortex-M"),
    tool("link", "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32"),
    tool("emulate", "qemu-aarch64", "programs of aarch64-linux-gnu"),
    tool("emulate", "qemu-riscv64", "programs of riscv64-linux-gnu"),
    tool("emulate", "qemu-system-arm", "boards of Cortex-M"),
    tool("emulate", "qemu-system-aarch64", "boards of aarch64"),
    tool("emulate", "qemu-system-riscv64", "boards of riscv64"),
    tool("emulate", "qemu-system-riscv32", "boards of RV32"),
    tool("emulate", "wine", "programs of Windows"),
    tool("measure", "perf", "bench --perf-map"),
    tool("measure", "valgrind", "counts of instructions"),
];

impl Tool {
    /// Returns the first line of its version message, if the program exists.
    fn version(&self) -> Option<String> {
        let output = Command::new(self.program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
    }
}

/// Reports what this computer can do.
///
/// # Errors
/// A diagnostic if standard output cannot be written.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let findings = findings();
    print(&if arguments.json || arguments.messages.are_json() { format!("{findings:#}\n") } else { text(&findings) })?;
    Ok(Outcome::Done)
}

/// Findings as JSON, schema `modelc.doctor/1`.
fn findings() -> Value {
    let host = target::host();
    let features = target::host_features();
    let named: Vec<&str> = FEATURES.iter().filter(|(_, bit)| features & bit != 0).map(|(name, _)| *name).collect();
    let found = |tool: &Tool| json!({ "purpose": tool.purpose, "program": tool.program, "for": tool.what, "version": tool.version() });
    json!({
        "schema": "modelc.doctor/1",
        "version": env!("CARGO_PKG_VERSION"),
        "target": host.map(|target| target.name).ok(),
        "cpu_level": target::host_machine().map(|machine| machine.level).ok(),
        "cpu_features": named,
        "processors": std::thread::available_parallelism().map_or(1, usize::from),
        "runs_models": target::in_process().is_ok(),
        "pins_processors": cfg!(target_os = "linux"),
        "vulkan_devices": devices_json(),
        "tools": TOOLS.iter().map(found).collect::<Vec<_>>(),
    })
}

fn text(findings: &Value) -> String {
    let word = |key: &str| findings[key].as_str().unwrap_or("none").to_owned();
    let yes = |key: &str| if findings[key] == true { "yes" } else { "no" }.to_owned();
    let list = |key: &str, name: &dyn Fn(&Value) -> String| {
        let names: Vec<String> = findings[key].as_array().into_iter().flatten().map(name).collect();
        if names.is_empty() { "none".into() } else { names.join(" ") }
    };
    let mut rows = vec![
        ["run".into(), "target".into(), word("target")],
        ["run".into(), "CPU level".into(), word("cpu_level")],
        ["run".into(), "CPU features".into(), list("cpu_features", &|name| name.as_str().unwrap_or_default().to_owned())],
        ["run".into(), "run, bench, verify".into(), yes("runs_models")],
        ["run".into(), "Vulkan devices".into(), list("vulkan_devices", &|device| device["name"].as_str().unwrap_or_default().to_owned())],
        ["measure".into(), "processors".into(), findings["processors"].to_string()],
        ["measure".into(), "bench --pin".into(), yes("pins_processors")],
    ];
    for tool in findings["tools"].as_array().into_iter().flatten() {
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        let version = tool["version"].as_str().map_or_else(|| format!("not found ({})", text("for")), str::to_owned);
        rows.push([text("purpose"), text("program"), version]);
    }
    let order = ["run", "measure", "link", "emulate"];
    rows.sort_by_key(|row| order.iter().position(|purpose| *purpose == row[0]));
    table(&rows.into_iter().map(|row: [String; 3]| row.to_vec()).collect::<Vec<_>>(), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_has_its_lines() {
        let findings = findings();
        let text = text(&findings);
        for purpose in ["run", "measure", "link", "emulate"] {
            assert!(text.lines().any(|line| line.starts_with(purpose)), "{text}");
        }
        assert_eq!(findings["tools"].as_array().map(Vec::len), Some(TOOLS.len()));
        assert_eq!(Tool { purpose: "link", program: "no-such-program", what: "" }.version(), None);
    }
}
