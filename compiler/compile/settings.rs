//! Settings: the command line's options, for programs.

use super::gpu::{GpuMode, GpuSettings};
use crate::diagnostic::{Diagnostic, codes};
use crate::emit::RiscvAbi;
use crate::frontend::given::Number;
use crate::frontend::{Bound, CustomSymbol, GpuOperators, LoadOptions, PortName, Reference};
use crate::input;
use crate::ir::{Data, Module};
use crate::lower::{self, Goal, PlanSource, TECHNIQUES, Techniques, Threads};
use crate::machine::CpuMachine;
use crate::plan::Effort;
use crate::target::{self, Board, Target};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Options for compiling and loading a model. Methods have the names and meanings of the command line's options.
///
/// ```
/// let settings = modelc::Settings::new().target("aarch64-none-elf").name("net").optimize_size();
/// # assert_ne!(settings, modelc::Settings::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Target triple; this computer's by default.
    #[doc(hidden)]
    pub target: Option<String>,
    /// CPU levels, separated by commas; the target's default levels by default.
    #[doc(hidden)]
    pub cpu: Option<String>,
    /// `lp64`, `lp64f` or `lp64d`, for riscv64.
    #[doc(hidden)]
    pub abi: Option<String>,
    /// Prefix of every symbol; the model's stem by default.
    #[doc(hidden)]
    pub name: Option<String>,
    /// `true` for external weights.
    #[doc(hidden)]
    pub external_weights: bool,
    /// Section of embedded weights.
    #[doc(hidden)]
    pub weights_section: Option<String>,
    /// `true` to keep the memory plan of the file.
    #[doc(hidden)]
    pub keep_plan: bool,
    /// `true` for a longer search of the planner.
    #[doc(hidden)]
    pub search_longer: bool,
    /// `true` for small code instead of fast code.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[doc(hidden)]
    pub small: bool,
    /// The runtime whose results a TFLite model gives.
    #[serde(skip_serializing_if = "is_litert")]
    #[doc(hidden)]
    pub reference: Reference,
    /// Memory areas, as `--memory` lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub memory: Option<String>,
    /// The area that gets copies of weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub copy_weights: Option<String>,
    /// Number of threads for which scratch memory is planned; 0 and 1 mean the caller's thread alone.
    #[serde(skip_serializing_if = "is_alone")]
    #[doc(hidden)]
    pub threads: u32,
    /// Shapes that replace the file's, by input number.
    #[doc(hidden)]
    pub shapes: Vec<(usize, Vec<u64>)>,
    /// Dynamic dimensions with their bounds.
    #[doc(hidden)]
    pub bounds: Vec<Bound>,
    /// Constant values of inputs, by input number. Shapes, axes and other values computed from them are then known.
    #[doc(hidden)]
    pub values: Vec<(usize, Vec<Number>)>,
    /// Custom operators with C functions of the application: names in the file, and symbols.
    #[doc(hidden)]
    pub customs: Vec<(String, String)>,
    /// Names of inputs and outputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[doc(hidden)]
    pub port_names: Vec<PortName>,
    /// Tensor files of an ExecuTorch program (`.ptd`). Outputs do not contain these paths.
    #[serde(skip)]
    #[doc(hidden)]
    pub data: Vec<String>,
    /// `true` to call `on_kernel` around every kernel.
    #[doc(hidden)]
    pub profile_hooks: bool,
    /// Iterations after which a loop ends the call with `MODELC_E_ABORTED`; no limit by default.
    #[doc(hidden)]
    pub max_iterations: Option<u64>,
    /// Techniques that schedules do without, as `--without` lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub without: Option<String>,
    /// Settings for GPUs.
    #[serde(skip_serializing_if = "GpuSettings::is_default")]
    #[doc(hidden)]
    pub gpu: GpuSettings,
    /// `true` if a session measures its kernels.
    #[serde(skip)]
    #[doc(hidden)]
    pub profile: bool,
    /// `true` to list the schedules that were possible.
    #[serde(skip)]
    #[doc(hidden)]
    pub lists_schedules: bool,
}

/// Tests whether the caller's thread works alone.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_alone(threads: &u32) -> bool {
    *threads < 2
}

/// Tests whether results are those of LiteRT.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_litert(reference: &Reference) -> bool {
    *reference == Reference::Litert
}

impl Settings {
    /// Makes the default settings: this computer, its CPU levels, fast code.
    ///
    /// ```
    /// assert_eq!(modelc::Settings::new(), modelc::Settings::default());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// `--target`: a triple in the spelling of GCC, Rust or the Android NDK. A session always runs on this computer.
    #[must_use]
    pub fn target(mut self, triple: &str) -> Self {
        self.target = Some(triple.into());
        self
    }

    /// `--cpu`: a CPU level, or several separated by commas, of which `init` chooses one.
    #[must_use]
    pub fn cpu(mut self, level: &str) -> Self {
        self.cpu = Some(level.into());
        self
    }

    /// `--abi`: the float ABI in the header of riscv64 objects.
    #[must_use]
    pub fn abi(mut self, abi: &str) -> Self {
        self.abi = Some(abi.into());
        self
    }

    /// `--name`: the prefix of every symbol; it is converted to an identifier.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// `--weights external`: weights in a separate file, which the program loads and passes to `init`.
    #[must_use]
    pub fn weights_external(mut self) -> Self {
        self.external_weights = true;
        self
    }

    /// `--weights-section`: the section that contains the weights.
    #[must_use]
    pub fn weights_section(mut self, section: &str) -> Self {
        self.weights_section = Some(section.into());
        self
    }

    /// `--plan program`: the memory plan in the ExecuTorch program.
    #[must_use]
    pub fn plan_program(mut self) -> Self {
        self.keep_plan = true;
        self
    }

    /// `--plan-effort max`: a longer search for a smaller memory plan.
    #[must_use]
    pub fn plan_effort_max(mut self) -> Self {
        self.search_longer = true;
        self
    }

    /// `--optimize size`: small code, which is slower.
    #[must_use]
    pub fn optimize_size(mut self) -> Self {
        self.small = true;
        self
    }

    /// `--reference tflm`: results of TFLite Micro where they differ from LiteRT's.
    ///
    /// ```
    /// let settings = modelc::Settings::new().target("cortex-m4f").reference_tflm();
    /// # assert_ne!(settings, modelc::Settings::new().target("cortex-m4f"));
    /// ```
    #[must_use]
    pub fn reference_tflm(mut self) -> Self {
        self.reference = Reference::Tflm;
        self
    }

    /// `--memory`: the memory areas of the application. The first one is the arena, the configuration has the others.
    ///
    /// ```
    /// let settings = modelc::Settings::new().memory("dtcm=64K:fast,sram=256K").copy_weights("dtcm");
    /// # assert_ne!(settings, modelc::Settings::new());
    /// ```
    #[must_use]
    pub fn memory(mut self, areas: &str) -> Self {
        self.memory = Some(areas.into());
        self
    }

    /// `--copy-weights`: an area to which `init` copies weights.
    #[must_use]
    pub fn copy_weights(mut self, area: &str) -> Self {
        self.copy_weights = Some(area.into());
        self
    }

    /// `--threads`: scratch memory for kernels on this number of threads. A session uses this number of threads, too.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// `--shape`: another shape for an input.
    #[must_use]
    pub fn shape(mut self, input: usize, shape: &[u64]) -> Self {
        self.shapes.push((input, shape.to_vec()));
        self
    }

    /// `--bound`: a dynamic dimension of an input, with its upper bound.
    #[must_use]
    pub fn bound(mut self, input: usize, dimension: usize, most: u64) -> Self {
        self.bounds.push(Bound { is_output: false, port: input, dimension, most });
        self
    }

    /// `--value`: the constant value of an input, in row-major order.
    ///
    /// ```
    /// let settings = modelc::Settings::new().value(1, &[2, -1]).value(2, &[0.5]);
    /// # assert_ne!(settings, modelc::Settings::new());
    /// ```
    #[must_use]
    pub fn value<N: Into<Number> + Copy>(mut self, input: usize, numbers: &[N]) -> Self {
        self.values.push((input, numbers.iter().map(|&number| number.into()).collect()));
        self
    }

    /// `--data`: a tensor file of an ExecuTorch program.
    #[must_use]
    pub fn data(mut self, path: &str) -> Self {
        self.data.push(path.into());
        self
    }

    /// `--custom`: a custom operator that a C function of the application computes.
    #[must_use]
    pub fn custom(mut self, operator: &str, symbol: &str) -> Self {
        self.customs.push((operator.into(), symbol.into()));
        self
    }

    /// `--max-iterations`: the iterations of a loop after which a call ends with an error.
    #[must_use]
    pub fn max_iterations(mut self, most: u64) -> Self {
        self.max_iterations = Some(most);
        self
    }

    /// `--profile-hooks`: calls of the configuration's `on_kernel` around every kernel.
    #[must_use]
    pub fn profile_hooks(mut self) -> Self {
        self.profile_hooks = true;
        self
    }

    /// Measures the kernels of a session, for [`Session::profile`](crate::Session::profile).
    #[must_use]
    pub fn profile(mut self) -> Self {
        self.profile = true;
        self
    }

    /// `--gpu`: use of a GPU.
    #[must_use]
    pub fn gpu(mut self, mode: GpuMode) -> Self {
        self.gpu.mode = Some(mode);
        self
    }

    /// `--gpu-ops`: operators to run on the GPU.
    #[must_use]
    pub fn gpu_ops(mut self, pattern: &str) -> Self {
        self.gpu.operators = Some(pattern.into());
        self
    }

    /// `--vk-profile`: capabilities of the GPU.
    #[must_use]
    pub fn vk_profile(mut self, profile: &str) -> Self {
        self.gpu.profile = Some(profile.into());
        self
    }

    /// `--vk-loader host`: the application provides the Vulkan library.
    #[must_use]
    pub fn vk_loader_host(mut self) -> Self {
        self.gpu.library_of_host = true;
        self
    }

    /// `--runtime link`: the GPU runtime in a separate object.
    #[must_use]
    pub fn runtime_link(mut self) -> Self {
        self.gpu.linked_runtime = true;
        self
    }
}

#[doc(hidden)]
impl Settings {
    /// Returns the target and the machines of its CPU levels: at least one, the preferred one first.
    ///
    /// # Errors
    /// A usage diagnostic if there is no such target or level.
    pub fn machines(&self) -> Result<(&'static Target, Vec<&'static CpuMachine>), Diagnostic> {
        let target = match &self.target {
            Some(spelling) => target::target(spelling)?,
            None => target::host()?,
        };
        Ok((target, target::levels(target, self.cpu.as_deref())?))
    }

    /// Returns the chip or board of the target, if its memory is known.
    pub fn board(&self) -> Option<Board> {
        Board::of(self.target.as_deref()?)
    }

    /// Returns the float ABI of a target.
    ///
    /// # Errors
    /// A diagnostic if the target has no ABI of this name.
    pub(super) fn riscv_abi(&self, target: &Target) -> Result<RiscvAbi, Diagnostic> {
        self.abi.as_deref().map_or(Ok(RiscvAbi::of(target)), |name| RiscvAbi::for_target(name, target))
    }

    /// Returns the settings that affect a module. GPU settings are kept only for a module with a GPU part, so that other objects do not depend
    /// on them.
    pub(super) fn of_module(&self, module: &Module) -> Self {
        let gpu = if module.is_for_gpu() { self.gpu.clone() } else { GpuSettings::default() };
        Self { gpu, ..self.clone() }
    }

    /// Returns the custom operators with their functions.
    pub fn custom_symbols(&self) -> Vec<CustomSymbol> {
        self.customs.iter().map(|(operator, symbol)| CustomSymbol { operator: operator.clone(), symbol: symbol.clone() }).collect()
    }

    /// Returns the options of the front end.
    ///
    /// # Errors
    /// A diagnostic if a tensor file cannot be read.
    pub fn load_options(&self) -> Result<LoadOptions, Diagnostic> {
        let data = |path: &String| Ok((path.clone(), Data::all_of(input::map(Path::new(path))?)));
        Ok(LoadOptions {
            shapes: self.shapes.clone(),
            bounds: self.bounds.clone(),
            values: self.values.clone(),
            samples: vec![],
            open_constants: self.external_weights,
            customs: self.custom_symbols(),
            data: self.data.iter().map(data).collect::<Result<_, Diagnostic>>()?,
            port_names: self.port_names.clone(),
            gpu_operators: self.gpu.operators.as_deref().map(GpuOperators::parse).transpose()?,
            most_steps: None,
            reference: self.reference,
        })
    }

    /// Returns the options of lowering.
    ///
    /// # Errors
    /// A usage diagnostic if memory areas are malformed, if another option excludes them, or if a technique is unknown.
    pub fn lower_options(&self, machine: &'static CpuMachine) -> Result<lower::Options, Diagnostic> {
        let areas = self.areas(machine)?;
        let plan = if self.keep_plan { PlanSource::Program } else { PlanSource::Own };
        let effort = if self.search_longer { Effort::Max } else { Effort::Normal };
        let goal = if self.small { Goal::Size } else { Goal::Speed };
        let (techniques, threads) = (self.techniques()?, Threads::new(self.threads.max(1)));
        Ok(lower::Options {
            effort,
            plan,
            goal,
            areas,
            threads,
            techniques,
            lists_schedules: self.lists_schedules,
            ..lower::Options::new(machine)
        })
    }

    /// Returns the techniques that schedules may use.
    fn techniques(&self) -> Result<Techniques, Diagnostic> {
        let Some(list) = &self.without else { return Ok(Techniques::ALL) };
        Techniques::ALL.without_named(list).map_err(|error| {
            let names: Vec<&str> = TECHNIQUES.iter().map(|row| row.name).collect();
            let message = format!("--without {list} is not understood: {error}");
            Diagnostic::new(codes::OPTION, message).expected(names.join(","), error.name)
        })
    }
}
