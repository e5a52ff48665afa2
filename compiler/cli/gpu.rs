//! Options for GPUs. There is no code for any yet: what a program gives to one runs on the CPU, and who requires more is told.

use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Module;
use clap::{Args, ValueEnum};

/// `--gpu`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum GpuArgument {
    Auto,
    Require,
    Off,
}

/// What is said of GPUs.
#[derive(Args)]
pub struct GpuArguments {
    /// Whether a GPU runs what the program gives to one. There is no code for GPUs yet: with auto and off it runs on the CPU
    #[arg(long = "gpu", value_enum, default_value = "auto")]
    gpu: GpuArgument,
    #[arg(long = "gpu-ops", value_name = "PATTERN", hide = true)]
    gpu_operators: Option<String>,
    #[arg(long = "vk-profile", value_name = "PROFILE", hide = true)]
    vk_profile: Option<String>,
    #[arg(long = "vk-loader", value_name = "LOADER", hide = true)]
    vk_loader: Option<String>,
    #[arg(long = "runtime", value_name = "PLACE", hide = true)]
    runtime: Option<String>,
}

impl GpuArguments {
    /// Refuses what needs code for a GPU.
    ///
    /// # Errors
    /// When anything is asked for that does.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let given = [
            ("--gpu require", self.gpu == GpuArgument::Require),
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

    /// What is to be said of a module part of which is for a GPU, unless the user has said where it runs.
    pub fn remark(&self, module: &Module) -> Option<&'static str> {
        let is_meant = self.gpu == GpuArgument::Auto && module.sources.values().any(|source| source.gpu);
        is_meant.then_some("  gpu     what the program gives to a GPU runs on the CPU: there is no code for GPUs yet")
    }
}
