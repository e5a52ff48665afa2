//! Times of kernels.

use super::engine::Engine;
use crate::program::calls;

/// A kernel call of a method and its times since the session was loaded.
///
/// ```
/// # fn main() -> Result<(), modelc::Error> {
/// let model = modelc::Model::open("tests/models/softmax_untrained_i8.tflite")?;
/// let session = model.load(&modelc::Settings::new().profile())?;
/// let kernels = session.profile();
/// assert!(!kernels.is_empty() && kernels[0].runs == 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelTime {
    /// The method that calls it.
    pub method: String,
    /// Symbol of the kernel.
    pub kernel: String,
    /// Operators that the kernel computes: positions and names in the file.
    pub operators: Vec<(u32, String)>,
    /// Name of the schedule.
    pub schedule: String,
    /// Multiply-accumulate operations of one run.
    pub multiply_accumulates: u64,
    /// Bytes read and written in one run.
    pub bytes: u64,
    /// Number of runs.
    pub runs: u64,
    /// Total time of all runs.
    pub total_ns: u64,
    /// Median time of a run.
    pub median_ns: u64,
}

impl KernelTime {
    /// Returns the kernel calls of all methods, in order.
    pub(super) fn all(engine: &Engine) -> Vec<Self> {
        let program = engine.program();
        let calls = program.methods.iter().flat_map(|method| calls(&method.steps).into_iter().map(move |call| (method, call)));
        let row = |((method, call), time): ((&crate::program::Method, &crate::program::Call), &crate::jit::hooks::KernelTime)| Self {
            method: method.name.clone(),
            kernel: program.kernels[call.kernel].name.clone(),
            operators: call.origin.operators.clone(),
            schedule: call.origin.schedule.clone(),
            multiply_accumulates: call.origin.multiply_accumulates,
            bytes: call.origin.bytes,
            runs: time.runs,
            total_ns: time.nanoseconds,
            median_ns: time.median(),
        };
        calls.zip(engine.instance.kernel_times()).map(row).collect()
    }
}
