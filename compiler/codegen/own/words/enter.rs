//! Parameters of kernels, and their stack arrays.

use super::held::Held;
use super::inst::{Op, Operations};
use super::ops::{Ops, WordOp, Words};
use super::set::WordSet;
use crate::CodegenError;
use crate::bug::Mistake;
use crate::own::{Base, Lowering, Select};
use modelc_kernel::{BufferKind, Lane};
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
        let count = self.kernel.pointer_params().count() + self.kernel.integers;
        let mut registers = self.parameters(count).into_iter();
        let mut local_bytes: u64 = 0;
        for buffer in &self.kernel.buffers {
            let base = if buffer.kind == BufferKind::Local {
                let base = (Base::Locals, local_bytes as i32);
                local_bytes = (local_bytes + buffer.bytes()).next_multiple_of(4);
                if local_bytes > 1 << 20 {
                    return self.bug(Mistake::StackArrays(local_bytes));
                }
                Some(base)
            } else {
                registers.next().map(|register| (Base::Register(register), 0))
            };
            match base {
                Some(base) => self.bases.push(base),
                None => return self.bug(Mistake::NoParameter(buffer.name.clone())),
            }
        }
        self.function.local_bytes = local_bytes as u32;
        for (&value, low) in self.kernel.body.params.iter().zip(registers) {
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
