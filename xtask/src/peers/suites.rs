//! Peers: each runs the models of one format, and has its own requirements.

use super::environment;
use crate::Outcome;
use crate::process::{self, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Models of one format, with the programs that run them.
pub struct Suite {
    /// Name of its table and of its environment.
    pub name: &'static str,
    /// Folder of the models in the corpus.
    pub folder: &'static str,
    pub extension: &'static str,
    /// Ending of the names of models that no peer runs.
    pub left_out: &'static str,
    /// Programs in the order of a round; modelc is the first.
    pub contenders: &'static [Contender],
    /// Packages of the Python environment. Figures are comparable only for equal packages. The first one is the peer.
    pub packages: &'static [&'static str],
    /// Least time of a row in means. Below it, the overhead of the peer's caller is not small.
    pub least_nanoseconds: f64,
}

/// A program that runs a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    Modelc,
    /// LiteRT with its default delegate, XNNPACK.
    Xnnpack,
    /// LiteRT without a delegate.
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

/// Programs that run the suite's peers.
pub struct Tools {
    pub python: PathBuf,
    /// The compiled `benches/executorch.cpp`.
    pub executorch: PathBuf,
}

impl Suite {
    pub fn runs(&self, model: &Path) -> bool {
        model.extension().is_some_and(|extension| extension == self.extension)
    }

    /// Makes the environment once.
    ///
    /// # Errors
    /// A message if a package cannot be installed, or if there is no C++ compiler.
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
    // The package contains types of PyTorch; this definition is for programs without PyTorch. One function is deprecated.
    command.args(["-std=c++17", "-O2", "-DC10_USING_CUSTOM_GENERATED_MACROS", "-Wno-deprecated-declarations"]);
    command.arg("-I").arg(&headers).arg("-I").arg(headers.join("executorch/runtime/core/portable_type/c10"));
    command.arg(root().join("benches/executorch.cpp")).arg("-o").arg(program).arg("-L").arg(&libraries);
    command.args(["-lexecutorch", "-lexecutorch_threadpool", "-Wl,--no-as-needed"]);
    // These libraries register kernels when they are loaded, and no code refers to them.
    command.args(["-lexecutorch_backend_xnnpack", "-lexecutorch_kernels_optimized", "-lexecutorch_kernels_quantized"]);
    command.arg(format!("-Wl,-rpath,{}", libraries.display()));
    process::run(&mut command)
}
