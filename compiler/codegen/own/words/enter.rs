//! Parameters of kernels, and their stack arrays.

use super::held::Held;
use super::inst::{Op, Operations};
use super::memory::widened;
use super::ops::{Ops, WordOp, Words};
use super::set::WordSet;
use crate::CodegenError;
use crate::own::{Base, Lowering, Select};
use modelc_kernel::Lane;
use regalloc2::VReg;

impl<S: WordSet + Select<Op = Op<<S as WordSet>::Own>, Held = Held>> Lowering<'_, S>
where
    Self: Words<Relation = <S::Own as Operations>::Relation>,
{
    /// Parameters and stack arrays.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] when the kernel breaks a rule of its language.
    pub fn enter_words(&mut self) -> Result<(), CodegenError> {
        self.zeros = widened(self.kernel);
        let parameters = self.parameters(self.parameter_count());
        let integers = self.enter_buffers(parameters, 4, |_, offset| (Base::Locals, offset))?;
        for (&value, low) in self.kernel.body.params.iter().zip(integers) {
            let held = if self.ty(value).lane == Lane::I64 { self.with_sign(low) } else { Held::word(low) };
            self.define(value, held);
        }
        Ok(())
    }

    /// A word and its sign in a second one.
    fn with_sign(&mut self, low: VReg) -> Held {
        Held::Pairs(vec![[low, self.shift(WordOp::RightSigned, low, 31)]])
    }
}
