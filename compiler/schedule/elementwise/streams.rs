//! Operands and outputs that leave the second-level cache before the next kernel reads them. Code fetches their elements ahead.

use super::access::Access;
use super::operands::ElementWise;
use super::specialise::Source;
use crate::ir::Value as Tensor;
use crate::kernel::{Buffer, KernelBuilder};
use crate::schedule::pair::Pair;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

impl ElementWise<'_> {
    /// Marks buffers that the kernel walks through in order, if they exceed the second-level cache together. `shared` are pairs of an operand and an
    /// output in the same memory. The operand of such a pair is marked.
    ///
    /// # Errors
    /// [`Unsupported`] if a dynamic dimension has no bound.
    pub fn stream(&self, b: &mut KernelBuilder, shared: &[Pair]) -> Result<(), Unsupported> {
        let machine = self.cx.machine;
        let walked = self.walked(shared);
        let mut bytes: u64 = 0;
        for &(tensor, _) in &walked {
            let bits = u64::from(self.cx.element(tensor).bits());
            bytes = bytes.saturating_add(self.cx.most_elements(tensor)?.saturating_mul(bits).div_ceil(8));
        }
        if self.cx.uses(Technique::Streams) && machine.fetches_ahead && bytes > machine.l2_bytes {
            walked.into_iter().for_each(|(_, buffer)| b.stream(buffer));
        }
        Ok(())
    }

    /// Returns the tensors with one element for each position of the output, and their buffers.
    fn walked(&self, shared: &[Pair]) -> Vec<(Tensor, Buffer)> {
        let of_operand = |i: usize| match &self.operands[i] {
            operand if operand.access != Access::Same => None,
            operand => {
                if let Source::Tensor(tensor) = operand.source {
                    Some((tensor, operand.buffer?))
                } else {
                    None
                }
            }
        };
        let operands: Vec<(Tensor, Buffer)> = self.used().filter_map(of_operand).collect();
        let is_read = |output: Tensor| shared.iter().any(|pair| pair.written == output && operands.iter().any(|(t, _)| *t == pair.read));
        let outputs = self.outputs.iter().filter(|(output, _)| !is_read(*output)).filter_map(|&(output, buffer)| Some((output, buffer?)));
        operands.iter().copied().chain(outputs).collect()
    }
}
