//! `modelc runtime -o modelc_runtime.o`

use super::console::{message, note};
use super::files::Files;
use super::gpu::VulkanLoader;
use super::messages::{MessageFormat, Messages};
use super::outcome::Outcome;
use super::output::grouped;
use crate::diagnostic::Diagnostics;
use crate::emit::{Output, OutputKind, RiscvAbi, runtime_header, runtime_object, runtime_options};
use crate::target;
use clap::Args;
use serde_json::json;

#[derive(Args)]
pub struct Arguments {
    /// Object file to write. `-` is standard output
    #[arg(short, long, value_name = "RUNTIME.o")]
    output: String,
    /// Header to write: the types that all models share
    #[arg(long, value_name = "PATH.h")]
    header: Option<String>,
    /// Triple, core or board [default: this computer]
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Float ABI of RISC-V: lp64, lp64f, lp64d, ilp32 or ilp32f
    #[arg(long, value_name = "ABI")]
    abi: Option<String>,
    /// Vulkan from the system (dlopen) or the application (host)
    #[arg(
        long = "vk-loader",
        value_enum,
        value_name = "LOADER",
        default_value = "dlopen",
        hide_default_value = true,
        hide_possible_values = true
    )]
    loader: VulkanLoader,
    /// Messages.
    #[command(flatten)]
    pub messages: Messages,
}

/// Writes the GPU runtime for objects made with `--runtime link`.
///
/// # Errors
/// A diagnostic if the target is unknown, or if the file cannot be written.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let target = arguments.target.as_deref().map_or_else(target::host, target::target)?;
    // All levels call the runtime, so it is compiled for the lowest.
    let machine = target::levels(target, None)?.pop().unwrap_or(target::level(target, None)?);
    let mut options = runtime_options(target, machine, arguments.loader.into());
    if let Some(abi) = &arguments.abi {
        options.riscv_abi = RiscvAbi::for_target(abi, target)?;
    }
    let files = Files::new([]);
    let header = arguments.header.as_deref();
    files.check([(arguments.output.as_str(), OutputKind::Object)].into_iter().chain(header.map(|path| (path, OutputKind::Header))))?;
    let object = runtime_object(target, machine, &options)?;
    let bytes = object.len();
    let header = header.map(|path| Output { path: path.into(), kind: OutputKind::Header, contents: runtime_header().into_bytes().into() });
    let object = Output { path: arguments.output.as_str().into(), kind: OutputKind::Object, contents: object };
    files.write_all(std::iter::once(object).chain(header).collect())?;
    if arguments.output != "-" && arguments.messages.format == MessageFormat::Json {
        let json = json!({ "schema": "modelc.runtime/1", "target": target.name, "path": arguments.output, "bytes": bytes });
        message(&json.to_string());
    } else if arguments.output != "-" {
        note(&format!("{} for {}: {} B", arguments.output, target.name, grouped(bytes)));
    }
    Ok(Outcome::Done)
}
