//! Memory that a call of a method needs, including its arguments, beside the memory that the file plans.

use modelc_machine::Alignment;
use modelc_program::{Method, Port};
use serde_json::{Value, json};

/// Bytes that a method needs. Every output that compares such figures uses this type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodMemory {
    /// The state, which all methods share.
    pub state_bytes: u64,
    /// Scratch memory, and the areas beside the arena.
    pub scratch_bytes: u64,
    /// Buffers of inputs at their bounds.
    pub input_bytes: u64,
    /// Buffers of outputs at their bounds.
    pub output_bytes: u64,
    /// Bytes of each memory area that the file plans; they include inputs, outputs and states. Empty if the file has no plan.
    pub planned: Vec<u64>,
}

impl MethodMemory {
    /// Computes the memory of a method.
    pub fn new(method: &Method, alignment: Alignment, state_bytes: u64, planned: &[u64]) -> Self {
        let bytes = |ports: &[Port]| ports.iter().fold(0u64, |sum, port| sum.saturating_add(port.bytes));
        Self {
            state_bytes,
            scratch_bytes: method.area_bytes.iter().fold(alignment.up(method.scratch_bytes), |sum, &n| sum.saturating_add(n)),
            input_bytes: bytes(&method.inputs),
            output_bytes: bytes(&method.outputs),
            planned: planned.to_vec(),
        }
    }

    /// Returns the sum of state, scratch memory, inputs and outputs.
    pub fn total(&self) -> u64 {
        [self.scratch_bytes, self.input_bytes, self.output_bytes].into_iter().fold(self.state_bytes, u64::saturating_add)
    }

    /// Returns the sum of the file's plan; `None` if it has none.
    pub fn planned_bytes(&self) -> Option<u64> {
        Some(self.planned.iter().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes))).filter(|&bytes| bytes > 0)
    }

    /// Adds the fields of a method in JSON.
    pub fn add_json(&self, method: &mut Value) {
        method["input_bytes"] = json!(self.input_bytes);
        method["output_bytes"] = json!(self.output_bytes);
        method["total_bytes"] = json!(self.total());
        method["planned_bytes"] = json!(self.planned_bytes());
        method["planned_area_bytes"] = json!(self.planned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sums_are_told() {
        let memory = MethodMemory { state_bytes: 64, scratch_bytes: 128, input_bytes: 6, output_bytes: 2, planned: vec![0, 300, 20] };
        assert_eq!((memory.total(), memory.planned_bytes()), (200, Some(320)));
        let mut method = json!({});
        memory.add_json(&mut method);
        assert_eq!((method["total_bytes"].as_u64(), method["planned_bytes"].as_u64()), (Some(200), Some(320)));
        assert_eq!(MethodMemory::default().planned_bytes(), None);
    }
}
