//! Kernels in parallel ranges: all possible kernels are divided. Tasks run on any number of threads, or one after the other in any order.

use modelc::diagnostic::Kind;
use modelc::ir::{Module, Tensor};
use modelc::jit::{Jit, JitOptions, Order};
use modelc::lower::{Options, Threads};
use modelc::pipeline;

/// Number of threads for which memory is planned.
const PLANNED: u32 = 3;

/// Compares a module in ranges with the expected outputs, bit for bit. Every method is called several times with the same inputs. Returns the
/// number of kernel calls that may be divided.
pub fn check_in_ranges(module: &Module, options: Options, inputs: &[Tensor], expected: &[Vec<Tensor>]) -> Result<usize, String> {
    let threads = Threads { count: PLANNED, least_instructions: 0 };
    let lowered = match pipeline::lower(module, "model", Options { threads, ..options }) {
        Ok(lowered) => lowered,
        Err(error) if error.0.iter().all(|d| d.kind() == Kind::Unsupported) => return Ok(0),
        Err(error) => return Err(error.to_string()),
    };
    // If dead memory is overwritten after each call, calls run separately; otherwise some run together.
    let live = Some(lowered.live.clone());
    for live in [live, None] {
        let calls = if live.is_some() { "each call by itself" } else { "calls together" };
        let alone = Jit::with_options(&lowered.program, options.machine, JitOptions { live, ..JitOptions::default() });
        let alone = alone.map_err(|e| e.to_string())?;
        for (threads, order) in [(1, Order::Any), (2, Order::Any), (7, Order::Any), (PLANNED, Order::Shuffled(1)), (7, Order::Shuffled(2))]
        {
            let mut instance = alone.instance_in_order(threads, order).map_err(|e| e.to_string())?;
            for (call, expected) in expected.iter().enumerate() {
                let found = instance.call_tensors(call % module.methods.len(), inputs).map_err(|e| e.to_string())?;
                if found != *expected {
                    return Err(format!("other outputs in ranges on {threads} threads, {order:?}, {calls}"));
                }
            }
        }
    }
    let cut = |step: &&modelc::program::Call| step.division.divided().is_some();
    Ok(lowered.program.methods.iter().map(|method| modelc::program::calls(&method.steps).iter().filter(|call| cut(call)).count()).sum())
}
