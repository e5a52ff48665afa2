//! Options for GPUs.

use crate::GpuMode;
use crate::codegen::vulkan::LoaderChoice;
use crate::compile::GpuSettings;
use crate::ir::Module;
use crate::program::{Device, DeviceRegion, Estimate, HostReason};
use crate::target::Target;
use clap::{Args, ValueEnum};

/// Values of `--gpu`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum GpuArgument {
    Auto,
    Require,
    Off,
}

/// Values of `--vk-loader`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum VulkanLoader {
    /// The system's library loader.
    Dlopen,
    /// The application provides it.
    Host,
}

impl From<VulkanLoader> for LoaderChoice {
    fn from(loader: VulkanLoader) -> Self {
        match loader {
            VulkanLoader::Dlopen => Self::System,
            VulkanLoader::Host => Self::Host,
        }
    }
}

/// Values of `--runtime`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RuntimeArgument {
    Embed,
    Link,
}

/// Options for GPUs.
#[derive(Args)]
#[command(next_help_heading = "GPU")]
pub struct GpuArguments {
    /// Use of a GPU: auto (if estimated to be faster), require or off
    #[arg(long = "gpu", value_enum, value_name = "USE", hide_possible_values = true)]
    gpu: Option<GpuArgument>,
    /// Operators for the GPU: all, a pattern (CONV*), positions (3-17)
    #[arg(long = "gpu-ops", value_name = "PATTERN")]
    gpu_operators: Option<String>,
    /// vulkan1.1, vulkan1.1+bytes or vulkan1.3 [default: vulkan1.1]
    #[arg(long = "vk-profile", value_name = "PROFILE")]
    vk_profile: Option<String>,
    /// Vulkan from the system (dlopen) or the application (host)
    #[arg(long = "vk-loader", value_enum, value_name = "LOADER", hide_possible_values = true)]
    vk_loader: Option<VulkanLoader>,
    /// GPU runtime in the object (embed) or by `modelc runtime` (link)
    #[arg(long = "runtime", value_enum, value_name = "PLACE", hide_possible_values = true)]
    runtime: Option<RuntimeArgument>,
}

impl GpuArguments {
    /// Returns the options as settings of the compiler.
    pub fn settings(&self) -> GpuSettings {
        let mode = |argument| match argument {
            GpuArgument::Auto => GpuMode::Auto,
            GpuArgument::Require => GpuMode::Require,
            GpuArgument::Off => GpuMode::Off,
        };
        GpuSettings {
            mode: self.gpu.map(mode),
            operators: self.gpu_operators.clone(),
            profile: self.vk_profile.clone(),
            library_of_host: self.vk_loader == Some(VulkanLoader::Host),
            linked_runtime: self.runtime == Some(RuntimeArgument::Link),
        }
    }

    /// Returns a remark about the GPU part of a program: its size, or the reason why there is none. `None` if the model has no GPU marks.
    pub fn remark(&self, module: &Module, target: &Target, (device, not_on_device): (Option<&Device>, &[HostReason])) -> Option<String> {
        if let Some(device) = device {
            let regions = device.regions_of_calls();
            let dispatches = regions.iter().flat_map(DeviceRegion::dispatches).count();
            let (profile, regions) = (device.machine.level, regions.len());
            let estimate = device.estimate.as_ref().map_or_else(String::new, estimated);
            return Some(format!("  gpu     {profile}; regions: {regions}; dispatches: {dispatches}{estimate}"));
        }
        if !module.is_for_gpu() {
            return None;
        }
        let remark = match (self.gpu, self.settings().mode(target)) {
            (None, GpuMode::Off) => {
                "part of the program is for a GPU and runs on the CPU; --gpu auto --vk-loader host compiles it for both".into()
            }
            (Some(_), GpuMode::Off) => return None,
            _ => format!("the CPU runs what is for a GPU: no part of it has code for one{}", HostReason::all(not_on_device)),
        };
        Some(format!("  gpu     {remark}"))
    }
}

/// Formats an estimate: both times for the first level, and the decision to open a device.
fn estimated(estimate: &Estimate) -> String {
    let opened = if estimate.device_is_faster().next() == Some(true) { "" } else { ", so no GPU is opened" };
    let host = estimate.host_ns.first().map_or(0, |host| host.div_ceil(1000));
    format!("; estimated {} µs a call, on the CPU {host} µs{opened}", estimate.device_ns.div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::SourceData;
    use crate::target::target;

    #[test]
    fn what_stays_on_the_cpu_is_told_where_nobody_said_so() {
        let [system, bare] = ["x86_64-linux-gnu", "riscv64-none-elf"].map(|name| target(name).unwrap());
        let said = |gpu| GpuArguments { gpu, gpu_operators: None, vk_profile: None, vk_loader: None, runtime: None };
        let mut module = Module::default();
        assert_eq!(said(None).remark(&module, bare, (None, &[])), None);
        let (function, operator_name, tensor) = ("forward".into(), "ADD".into(), "sum".into());
        module.sources.push(SourceData { function, operator: 0, operator_name, tensor, gpu: true });
        let told = |gpu, target| said(gpu).remark(&module, target, (None, &[HostReason::Rounding])).unwrap_or_default();
        assert!(told(None, bare).contains("--vk-loader host"));
        assert!(told(None, system).ends_with("no part of it has code for one: it rounds towards zero"));
        assert_eq!(told(Some(GpuArgument::Off), system), "");
    }
}
