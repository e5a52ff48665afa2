//! Settings for GPUs, as on the command line.

use crate::codegen::vulkan::{GpuOptions, LoaderChoice, RuntimePlace};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Module;
use crate::lower::{self, Lowered};
use crate::machine::{GPUS, GpuMachine};
use crate::program::HostReason;
use crate::target::{Platform, Target};
use serde::{Deserialize, Serialize};

/// Use of a GPU for the GPU part of a program.
///
/// ```
/// let settings = modelc::Settings::new().gpu(modelc::GpuMode::Off);
/// # assert_ne!(settings, modelc::Settings::new());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuMode {
    /// Use of a GPU if there is one at run time; otherwise the CPU does the work.
    Auto,
    /// A GPU is required.
    Require,
    /// No code for a GPU.
    Off,
}

/// Settings for GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuSettings {
    /// Use of a GPU; see [`GpuSettings::mode`] for the default.
    pub mode: Option<GpuMode>,
    /// Additional operators for the GPU, beside those that the file assigns to it.
    pub operators: Option<String>,
    /// The Vulkan profile; the lowest one by default.
    pub profile: Option<String>,
    /// `true` if the application provides Vulkan's library.
    pub library_of_host: bool,
    /// `true` if the runtime is in a separate object.
    pub linked_runtime: bool,
}

impl GpuSettings {
    /// Returns the use of a GPU. The default is `auto` on targets with an operating system, and `off` on bare targets.
    pub fn mode(&self, target: &Target) -> GpuMode {
        let default = if target.platform == Platform::None { GpuMode::Off } else { GpuMode::Auto };
        self.mode.unwrap_or(default)
    }

    /// Returns the profile for a target; `None` if nothing is compiled for a GPU.
    ///
    /// # Errors
    /// A usage diagnostic if there is no such profile, or if the target has no operating system that could load a library.
    pub fn machine(&self, target: &Target) -> Result<Option<&'static GpuMachine>, Diagnostic> {
        let name = self.profile.as_deref().unwrap_or(GPUS[0].level);
        let machine = GPUS.iter().find(|machine| machine.level == name);
        let machine = machine.ok_or_else(|| {
            let known: Vec<&str> = GPUS.iter().map(|machine| machine.level).collect();
            Diagnostic::new(codes::OPTION, format!("unknown profile of Vulkan {name}")).expected(known.join(", "), name)
        })?;
        if self.mode(target) == GpuMode::Off {
            return Ok(None);
        }
        if target.platform == Platform::None && !self.library_of_host {
            let message = format!("{} has no system that could find Vulkan's library", target.name);
            return Err(Diagnostic::new(codes::OPTION, message).help("`--vk-loader host`: the application brings it"));
        }
        Ok(Some(machine))
    }

    /// Returns the lowering options of a target, with the GPU's.
    ///
    /// # Errors
    /// The errors of [`GpuSettings::machine`].
    pub fn lowering(&self, target: &Target, options: lower::Options) -> Result<lower::Options, Diagnostic> {
        // A GPU uses one arena.
        let gpu = if options.areas.list().is_empty() { self.machine(target)? } else { None };
        Ok(lower::Options { gpu, needs_device: self.mode == Some(GpuMode::Require), ..options })
    }

    /// Checks that some of a module's GPU part has GPU code, if a GPU is required.
    ///
    /// # Errors
    /// A usage diagnostic with the reasons if there is none.
    pub fn check(&self, module: &Module, lowered: &Lowered) -> Result<(), Diagnostic> {
        let is_required = self.mode == Some(GpuMode::Require) && module.is_for_gpu();
        if !is_required || lowered.program.device.is_some() {
            return Ok(());
        }
        let message = format!("no part of the model has code for a GPU{}", HostReason::all(&lowered.not_on_device));
        Err(Diagnostic::new(codes::OPTION, message).help("`--gpu auto`: the CPU runs it"))
    }

    /// Returns the options of the GPU runtime.
    pub fn options(&self) -> GpuOptions {
        GpuOptions {
            required: self.mode == Some(GpuMode::Require),
            loader: if self.library_of_host { LoaderChoice::Host } else { LoaderChoice::System },
            runtime: if self.linked_runtime { RuntimePlace::Linked } else { RuntimePlace::Embedded },
            ..GpuOptions::default()
        }
    }

    /// Tests whether all settings have their defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::compile::compile;
    use crate::target::target;
    use std::path::Path;

    /// Compiles one of the repository's models to an object.
    fn object(model: &str, mode: Option<GpuMode>, external_weights: bool) -> Vec<u8> {
        let gpu = GpuSettings { mode, ..GpuSettings::default() };
        let (target, name) = (Some("aarch64-linux-gnu".into()), Some("net".into()));
        let settings = Settings { target, name, external_weights, gpu, ..Settings::default() };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(model);
        compile(&settings, crate::input::map(&path).unwrap(), model).unwrap().files.object.to_vec()
    }

    #[test]
    fn the_mode_matters_only_where_something_is_for_a_gpu() {
        let modes = [None, Some(GpuMode::Auto), Some(GpuMode::Require), Some(GpuMode::Off)];
        let objects = modes.map(|mode| object("composite.tflite", mode, true));
        assert!(objects.iter().all(|object| *object == objects[0]));
        let [unsaid, auto, require, off] = modes.map(|mode| object("executorch/vulkan_int8.pte", mode, false));
        assert!(unsaid == auto && auto != require, "auto is the default");
        let has_device = |object: &[u8]| object.windows(b"net_device".len()).any(|bytes| bytes == b"net_device");
        assert_eq!([&unsaid, &off].map(|object| has_device(object)), [true, false]);
    }

    #[test]
    fn where_nothing_has_code_for_a_gpu_that_is_required_says_why() {
        let text = r#"src0 = "main" 0 "NEG" "y"
func @main(v0: f64[4]) {
  v1 = map v0 {
    expression = (f64) {
      n0: f64 = input 0
      n1: f64 = neg n0
      return n1
    }
  } @ src0
  return v1
}
method "main" = @main {
  input "x"
  output "y"
}
"#;
        let mut module = crate::ir::text::parse_module(text).expect("a module");
        crate::frontend::GpuOperators::All.mark(&mut module).expect("an operator");
        let options = crate::lower::Options { gpu: Some(&GPUS[0]), ..crate::lower::Options::new(&crate::machine::MACHINES[0]) };
        let lowered = crate::pipeline::lower(&module, "text", options).expect("floats");
        let check = |mode| GpuSettings { mode: Some(mode), ..GpuSettings::default() }.check(&module, &lowered);
        assert_eq!(check(GpuMode::Auto), Ok(()));
        assert!(check(GpuMode::Require).unwrap_err().message.ends_with("it has a tensor of f64"), "{:?}", lowered.not_on_device);
    }

    #[test]
    fn profiles_are_those_of_the_mode_and_the_target() {
        let [system, bare] = ["aarch64-linux-gnu", "aarch64-none-elf"].map(|name| target(name).unwrap());
        let level = |settings: &GpuSettings, target| settings.machine(target).map(|machine| machine.map(|machine| machine.level));
        let unsaid = GpuSettings::default();
        assert_eq!(level(&unsaid, system), Ok(Some("vulkan1.1")));
        assert_eq!(level(&unsaid, bare), Ok(None));
        let off = GpuSettings { mode: Some(GpuMode::Off), ..unsaid };
        assert_eq!(level(&off, system), Ok(None));
        let auto = GpuSettings { mode: Some(GpuMode::Auto), ..off };
        assert_eq!(level(&auto, system), Ok(Some("vulkan1.1")));
        assert!(level(&auto, bare).unwrap_err().message.contains("no system"));
        let host = GpuSettings { library_of_host: true, profile: Some("vulkan1.3".into()), ..auto.clone() };
        assert_eq!(level(&host, bare), Ok(Some("vulkan1.3")));
        let required = GpuSettings { mode: Some(GpuMode::Require), ..auto.clone() };
        assert!(required.options().required && !auto.options().required);
        let wrong = GpuSettings { profile: Some("vulkan2".into()), ..auto };
        assert!(level(&wrong, system).unwrap_err().message.contains("vulkan2"));
    }
}
