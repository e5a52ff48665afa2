//! What is said of GPUs, in the spellings of the command line.

use crate::codegen::vulkan::{GpuOptions, LoaderChoice, RuntimePlace};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Module;
use crate::lower::{self, Lowered};
use crate::machine::{GPUS, Machine};
use crate::program::HostReason;
use crate::target::{Platform, Target};
use serde::{Deserialize, Serialize};

/// Use of a GPU for what the program gives to one.
///
/// ```
/// let settings = modelc::Settings::new().gpu(modelc::GpuMode::Off);
/// # assert_ne!(settings, modelc::Settings::new());
/// ```
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
    /// What [`GpuSettings::mode`] says when absent.
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
    /// Whether a GPU runs what the program gives to one: where nothing is said, `auto` where the target has a system, which may have a device,
    /// and `off` on bare targets.
    pub fn mode(&self, target: &Target) -> GpuMode {
        let default = if target.platform == Platform::None { GpuMode::Off } else { GpuMode::Auto };
        self.mode.unwrap_or(default)
    }

    /// The profile that is compiled for on a target; nothing where nothing is.
    ///
    /// # Errors
    /// A usage diagnostic when there is no such profile, or the target has no system on which a library could be found.
    pub fn machine(&self, target: &Target) -> Result<Option<&'static Machine>, Diagnostic> {
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

    /// What lowering is asked for on a target, with what a GPU does of it.
    ///
    /// # Errors
    /// As [`GpuSettings::machine`].
    pub fn lowering(&self, target: &Target, options: lower::Options) -> Result<lower::Options, Diagnostic> {
        Ok(lower::Options { gpu: self.machine(target)?, needs_device: self.mode == Some(GpuMode::Require), ..options })
    }

    /// Whether some of what a module gives to a GPU has code for one, where it is required.
    ///
    /// # Errors
    /// A usage diagnostic with the reasons why nothing has.
    pub fn check(&self, module: &Module, lowered: &Lowered) -> Result<(), Diagnostic> {
        let is_required = self.mode == Some(GpuMode::Require) && module.is_for_gpu();
        if !is_required || lowered.program.device.is_some() {
            return Ok(());
        }
        let message = format!("no part of the model has code for a GPU{}", HostReason::all(&lowered.not_on_device));
        Err(Diagnostic::new(codes::OPTION, message).help("`--gpu auto`: the CPU runs it"))
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
    use crate::Settings;
    use crate::compile::compile;
    use crate::target::target;
    use std::path::Path;

    /// The object of one of the repository's models.
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
