//! Options for GPUs. There is no code for any yet: what a program gives to one runs on the CPU, and who requires more is told.

use crate::codegen::vulkan::LoaderChoice;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Module;
use crate::{GpuMode, GpuSettings};
use clap::{Args, ValueEnum};

/// `--gpu`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum GpuArgument {
    Auto,
    Require,
    Off,
}

/// `--vk-loader`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum VulkanLoader {
    /// The system's loader of libraries.
    Dlopen,
    /// The application.
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

/// `--runtime`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RuntimeArgument {
    Embed,
    Link,
}

/// What is said of GPUs.
#[derive(Args)]
pub struct GpuArguments {
    /// Whether a GPU runs what the program gives to one. There is no code for GPUs yet: with auto and off it runs on the CPU
    #[arg(long = "gpu", value_enum)]
    gpu: Option<GpuArgument>,
    #[arg(long = "gpu-ops", value_name = "PATTERN", hide = true)]
    gpu_operators: Option<String>,
    #[arg(long = "vk-profile", value_name = "PROFILE", hide = true)]
    vk_profile: Option<String>,
    #[arg(long = "vk-loader", value_enum, hide = true)]
    vk_loader: Option<VulkanLoader>,
    #[arg(long = "runtime", value_enum, hide = true)]
    runtime: Option<RuntimeArgument>,
}

impl GpuArguments {
    /// Refuses what needs code for a GPU.
    ///
    /// # Errors
    /// When anything is asked for that does.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let given = [
            ("--gpu require", self.gpu == Some(GpuArgument::Require)),
            ("--gpu-ops", self.gpu_operators.is_some()),
            ("--vk-profile", self.vk_profile.is_some()),
            ("--vk-loader", self.vk_loader.is_some()),
            ("--runtime", self.runtime.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                let message = format!("{option} is not there yet: nothing is compiled for GPUs");
                Err(Diagnostic::new(codes::GPU_NOT_YET, message).help("leave it out: what the program gives to a GPU runs on the CPU"))
            }
            None => Ok(()),
        }
    }

    /// The same as settings of the compiler.
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

    /// What is to be said of a module part of which is for a GPU, unless the user has said where it runs.
    pub fn remark(&self, module: &Module) -> Option<&'static str> {
        let is_meant = !matches!(self.gpu, Some(GpuArgument::Off)) && module.sources.values().any(|source| source.gpu);
        is_meant.then_some("  gpu     what the program gives to a GPU runs on the CPU: there is no code for GPUs yet")
    }
}
