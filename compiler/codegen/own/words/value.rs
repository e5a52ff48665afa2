//! Dispatch of kernel instructions to the functions that lower them.

use super::fixed;
use super::held::Held;
use super::ops::{Ops, Words};
use super::permute::repeated;
use super::vector_ops::VectorOps;
use crate::bug::{Mistake, Route};
use crate::own::{Lowering, Select};
use crate::{CodegenError, Operation};
use modelc_kernel::{Inst, Lane, Value};

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Lowers an instruction with one result.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] if the kernel breaks a rule of its language. [`CodegenError::Unsupported`] if the machine cannot do the instruction.
    pub fn word_value(&mut self, inst: &Inst, result: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(result);
        if self.holds_lanes(result) {
            return self.lane_value(inst, result);
        }
        if let Inst::Binary { op, a, b } = *inst
            && self.holds_bytes(result)
        {
            return self.byte_value(op, a, b);
        }
        let range = |first: u16, lanes: u16| (first..first + lanes).map(usize::from);
        match inst {
            Inst::Binary { op, a, b } if ty.lane == Lane::Mask => self.of_masks(*op, *a, *b),
            Inst::Binary { op, a, b } => self.binary(*op, *a, *b),
            Inst::Unary { op, a } => self.unary(*op, *a),
            Inst::ShiftConstant { op, a, count } => self.shift_lanes(*op, *a, u32::from(*count)),
            Inst::Fma { a, b, c, rounding } => self.fused([*a, *b, *c], *rounding),
            Inst::Compare { op, a, b } => self.compare(*op, *a, *b),
            Inst::Select { mask, a, b } => self.select(*mask, *a, *b),
            Inst::Convert { op, a } => self.convert(*op, *a, ty),
            Inst::Splat { a } => Ok(repeated(&self.get(*a)?, ty.lanes)),
            Inst::Extract { a, lane } => self.lanes(*a, range(*lane, 1)),
            Inst::Join { a, b } => self.join(*a, *b).map(|held| self.joined_if_shared(result, held)),
            Inst::Part { a, first } => self.lanes(*a, range(*first, ty.lanes)),
            Inst::Shuffle { a, b, lanes } => self.shuffle(*a, *b, lanes).map(|held| self.joined_if_shared(result, held)),
            Inst::MulHigh { signed, a, b } => self.fixed(*a, *b, |s, x, y| s.high_product(*signed, x, y)),
            Inst::SaturatingRoundingDoublingHighMul { a, b, saturates } => {
                self.fixed(*a, *b, |s, x, y| fixed::doubling_high_product(s, x, y, *saturates))
            }
            Inst::RoundingDivideByPowerOfTwo { a, b } => self.rounding_divide(*a, *b),
            Inst::Dot { op, accumulator, a, b } => self.dot(*op, *accumulator, *a, *b),
            Inst::Horizontal { op, a } => self.horizontal(*op, *a),
            Inst::Load { buffer, index, offset, active, mask: None } => self.load(*buffer, (*index, *offset), *active, (result, ty)),
            Inst::LoadSplat { buffer, index, offset } => self.load_splat(*buffer, (*index, *offset), 1, (result, ty)),
            Inst::LoadSplatGroup { buffer, index, offset, group } => self.load_splat(*buffer, (*index, *offset), *group, (result, ty)),
            Inst::Gather { buffer, indices, offset, bounds } => self.gather(*buffer, (*indices, *offset), *bounds, ty),
            Inst::FirstLanes { .. } => self.unsupported(Operation::FirstLanes, ty),
            Inst::Load { .. } => self.unsupported(Operation::MaskedLoad, ty),
            _ => self.bug(Mistake::Route(Route::Value)),
        }
    }

    /// Lowers a store.
    ///
    /// # Errors
    /// The errors of [`Self::word_value`].
    pub fn word_store(&mut self, inst: &Inst) -> Result<(), CodegenError> {
        match inst {
            Inst::Store { buffer, index, offset, active, value, mask: None } => {
                self.store_lanes(*buffer, (*index, *offset), *active, *value)
            }
            Inst::Store { value, .. } => self.unsupported(Operation::MaskedStore, self.ty(*value)),
            _ => self.bug(Mistake::Route(Route::Store)),
        }
    }
}
