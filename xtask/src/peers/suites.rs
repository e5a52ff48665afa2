//! The peers: each runs the models of one format, and brings what it needs.

use super::environment;
use crate::Outcome;
use crate::process::{self, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Models of one format and who runs them.
pub struct Suite {
    /// The name of its table and of its environment.
    pub name: &'static str,
    /// Where the corpus has its models.
    pub folder: &'static str,
    pub extension: &'static str,
    /// How the names of models end that no peer here runs.
    pub left_out: &'static str,
    /// In the order of a round; modelc is the first.
    pub contenders: &'static [Contender],
    /// What the Python environment holds. Figures are only comparable where these are the same; the first one is the peer.
    pub packages: &'static [&'static str],
    /// Below this, what a peer's caller takes is no longer small beside the model: such rows are in no mean.
    pub least_nanoseconds: f64,
}

/// Who runs a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    Modelc,
    /// LiteRT with its default delegate.
    Xnnpack,
    /// LiteRT without it.
    Builtin,
    /// ExecuTorch's runtime, called from C++.
    ExecuTorch,
}

impl Contender {
    pub fn name(self) -> &'static str {
        match self {
            Contender::Modelc => "modelc",
            Contender::Xnnpack => "xnnpack",
            Contender::Builtin => "builtin",
            Contender::ExecuTorch => "executorch",
        }
    }
}

pub const SUITES: &[Suite] = &[
    Suite {
        name: "litert",
        folder: "tflite",
        extension: "tflite",
        left_out: "",
        contenders: &[Contender::Modelc, Contender::Xnnpack, Contender::Builtin],
        packages: &["ai-edge-litert==2.3.0", "numpy==2.4.6"],
        // A call from Python takes about a microsecond.
        least_nanoseconds: 20_000.0,
    },
    Suite {
        name: "executorch",
        folder: "executorch",
        extension: "pte",
        left_out: ".vulkan.pte",
        contenders: &[Contender::Modelc, Contender::ExecuTorch],
        packages: &["executorch==1.5.1", "numpy==2.4.6"],
        // A call of a method that does nothing takes 0.13 µs.
        least_nanoseconds: 2_000.0,
    },
];

/// What the suite's peers are run with.
pub struct Tools {
    pub python: PathBuf,
    /// The compiled `benches/executorch.cpp`.
    pub executorch: PathBuf,
}

impl Suite {
    pub fn runs(&self, model: &Path) -> bool {
        model.extension().is_some_and(|extension| extension == self.extension)
    }

    /// Makes the environment, once.
    ///
    /// # Errors
    /// When a package cannot be installed, or there is no C++ compiler.
    pub fn tools(&self, folder: &Path) -> Result<Tools, String> {
        let is_called_from_cpp = self.contenders.contains(&Contender::ExecuTorch);
        let python = environment::python(&folder.join(self.name), self.packages, is_called_from_cpp)?;
        let executorch = folder.join("executorch-bench");
        if is_called_from_cpp {
            build(&python, &executorch)?;
        }
        Ok(Tools { python, executorch })
    }
}

/// Builds `benches/executorch.cpp` with the libraries of the package.
fn build(python: &Path, program: &Path) -> Outcome {
    let place = "import importlib.util; print(importlib.util.find_spec('executorch').submodule_search_locations[0])";
    let output = Command::new(python).args(["-c", place]).output().map_err(|error| format!("cannot run {}: {error}", python.display()))?;
    let package = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let (headers, libraries) = (package.join("include"), package.join("lib"));
    let mut command = Command::new("c++");
    // Types of PyTorch lie in the package too; this definition is for those who have no PyTorch. One function is deprecated.
    command.args(["-std=c++17", "-O2", "-DC10_USING_CUSTOM_GENERATED_MACROS", "-Wno-deprecated-declarations"]);
    command.arg("-I").arg(&headers).arg("-I").arg(headers.join("executorch/runtime/core/portable_type/c10"));
    command.arg(root().join("benches/executorch.cpp")).arg("-o").arg(program).arg("-L").arg(&libraries);
    command.args(["-lexecutorch", "-lexecutorch_threadpool", "-Wl,--no-as-needed"]);
    // These register kernels when they are loaded: nothing names them.
    command.args(["-lexecutorch_backend_xnnpack", "-lexecutorch_kernels_optimized", "-lexecutorch_kernels_quantized"]);
    command.arg(format!("-Wl,-rpath,{}", libraries.display()));
    process::run(&mut command)
}
