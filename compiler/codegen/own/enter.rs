//! Parameters of kernels, and their stack arrays.

use super::address::{Address, Base};
use super::arg::Arg;
use super::inst::Opcode;
use super::lowering::{Lowering, Select};
use crate::CodegenError;
use crate::bug::Mistake;
use modelc_kernel::BufferKind;
use regalloc2::{PReg, VReg};

/// The most bytes of a kernel's stack arrays.
const MOST_LOCAL_BYTES: u64 = 1 << 20;

impl<S: Select> Lowering<'_, S> {
    /// Defines parameters of 64 bits, and the bases of buffers. The first parameters arrive in `fixed` registers, and `load` loads the others.
    /// `alignment` and `local` are for [`Self::enter_buffers`].
    ///
    /// # Errors
    /// [`CodegenError::Bug`] if the kernel breaks a rule of its language.
    pub fn enter_long(
        &mut self,
        fixed: &[PReg],
        load: S::Op,
        alignment: u64,
        local: impl Fn(&mut Self, i32) -> (Base, i32),
    ) -> Result<(), CodegenError> {
        let parameters: Vec<VReg> = (0..self.parameter_count()).map(|_| self.scalar()).collect();
        let arriving = parameters.iter().zip(fixed).map(|(&v, &p)| Arg::FixedDef(v, p)).collect();
        self.emit(S::Op::PARAMETERS, arriving);
        for (&register, i) in parameters.iter().skip(fixed.len()).zip(0..) {
            let address = Address { base: Base::Arguments, index: None, displacement: 8 * i };
            self.emit(load, vec![Arg::Def(register), Arg::Memory(address)]);
        }
        let integers = self.enter_buffers(parameters, alignment, local)?;
        for (&value, register) in self.kernel.body.params.iter().zip(integers) {
            self.define(value, S::held_scalar(register));
        }
        Ok(())
    }

    /// Returns the number of parameters: pointers, then integers.
    pub(super) fn parameter_count(&self) -> usize {
        self.kernel.pointer_params().count() + self.kernel.integers
    }

    /// Defines the bases of buffers, and returns the parameters that are left: integers. Stack arrays are aligned to `alignment` bytes, and `local`
    /// makes the base of one by its offset.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] if the kernel breaks a rule of its language.
    pub(super) fn enter_buffers(
        &mut self,
        parameters: Vec<VReg>,
        alignment: u64,
        local: impl Fn(&mut Self, i32) -> (Base, i32),
    ) -> Result<Vec<VReg>, CodegenError> {
        let mut parameters = parameters.into_iter();
        let mut local_bytes: u64 = 0;
        for buffer in &self.kernel.buffers {
            let base = if buffer.kind == BufferKind::Local {
                let offset = local_bytes as i32;
                local_bytes = (local_bytes + buffer.bytes()).next_multiple_of(alignment);
                if local_bytes > MOST_LOCAL_BYTES {
                    return self.bug(Mistake::StackArrays(local_bytes));
                }
                local(self, offset)
            } else {
                let Some(register) = parameters.next() else { return self.bug(Mistake::NoParameter(buffer.name.clone())) };
                (Base::Register(register), 0)
            };
            self.bases.push(base);
        }
        self.function.local_bytes = local_bytes as u32;
        Ok(parameters.collect())
    }
}
