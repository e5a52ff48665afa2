//! What is said of GPUs, in the spellings of the command line.

use crate::codegen::vulkan::{GpuOptions, LoaderChoice, RuntimePlace};
use crate::diagnostic::{Diagnostic, codes};
use crate::machine::{GPUS, Machine};
use crate::target::{Platform, Target};
use serde::{Deserialize, Serialize};

/// Whether a GPU runs what the program gives to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuMode {
    /// Where there is one when the program runs; else the CPU does the work.
    Auto,
    /// Always.
    Require,
    /// Never: nothing is compiled for it.
    Off,
}

/// What is said of GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuSettings {
    /// `auto` where the target has a system, else `off`, when absent.
    pub mode: Option<GpuMode>,
    /// Operators that are for a GPU beside those that the file gives to one.
    pub operators: Option<String>,
    /// The profile of Vulkan, the least one when absent.
    pub profile: Option<String>,
    /// Whether the application brings Vulkan's library.
    pub library_of_host: bool,
    /// Whether the runtime stands in an object of its own.
    pub linked_runtime: bool,
}

impl GpuSettings {
    /// Whether anything is compiled for a GPU on a target.
    pub fn mode(&self, target: &Target) -> GpuMode {
        let usual = if target.platform == Platform::None { GpuMode::Off } else { GpuMode::Auto };
        self.mode.unwrap_or(usual)
    }

    /// The profile that is compiled for on a target; nothing where nothing is.
    ///
    /// # Errors
    /// A usage diagnostic when there is no such profile.
    pub fn machine(&self, target: &Target) -> Result<Option<&'static Machine>, Diagnostic> {
        let name = self.profile.as_deref().unwrap_or(GPUS[0].level);
        let machine = GPUS.iter().find(|machine| machine.level == name);
        let machine = machine.ok_or_else(|| {
            let known: Vec<&str> = GPUS.iter().map(|machine| machine.level).collect();
            Diagnostic::new(codes::OPTION, format!("unknown profile of Vulkan {name}")).expected(known.join(", "), name)
        })?;
        Ok(Some(machine).filter(|_| self.mode(target) != GpuMode::Off))
    }

    /// What the runtime is to be like.
    pub fn options(&self) -> GpuOptions {
        GpuOptions {
            required: self.mode == Some(GpuMode::Require),
            loader: if self.library_of_host { LoaderChoice::Host } else { LoaderChoice::System },
            runtime: if self.linked_runtime { RuntimePlace::Linked } else { RuntimePlace::Embedded },
            ..GpuOptions::default()
        }
    }

    /// Whether nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::target;

    #[test]
    fn bare_targets_have_no_gpu_unless_one_is_asked_for() {
        let [system, bare] = ["aarch64-linux-gnu", "aarch64-none-elf"].map(|name| target(name).unwrap());
        let usual = GpuSettings::default();
        assert_eq!([usual.mode(system), usual.mode(bare)], [GpuMode::Auto, GpuMode::Off]);
        assert_eq!(usual.machine(system).unwrap().map(|machine| machine.level), Some("vulkan1.1"));
        assert_eq!(usual.machine(bare).unwrap(), None);
        let asked = GpuSettings { mode: Some(GpuMode::Require), profile: Some("vulkan1.3".into()), ..usual.clone() };
        assert_eq!(asked.machine(bare).unwrap().map(|machine| machine.level), Some("vulkan1.3"));
        assert!(asked.options().required && !usual.options().required);
        let wrong = GpuSettings { profile: Some("vulkan2".into()), ..usual };
        assert!(wrong.machine(system).unwrap_err().message.contains("vulkan2"));
    }
}
