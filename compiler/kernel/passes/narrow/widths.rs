//! Which 64-bit scalars need 32 bits.

use crate::kernel::indices::Indices;
use crate::kernel::intervals::{Assumed, Interval};
use crate::kernel::*;
use cranelift_entity::EntityRef;

/// What an operand is wanted as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// Its low 32 bits; they are all of it, or all that counts.
    Low,
    /// All 64 bits.
    Full,
}

/// What is known of each value.
#[derive(Clone, Copy)]
struct Width {
    /// It lies in 32 bits.
    fits: bool,
    /// Its definition can give 32 bits.
    can: bool,
    /// Only its low half is wanted.
    is_low: bool,
}

/// The widths of a kernel's scalars.
pub(super) struct Widths<'k> {
    kernel: &'k Kernel,
    widths: Vec<Width>,
}

impl<'k> Widths<'k> {
    /// Of a verified kernel whose callers keep what is assumed.
    pub fn of(kernel: &'k Kernel, assumed: &Assumed) -> Self {
        let indices = Indices::assuming(kernel, assumed, usize::MAX);
        let width = |(i, ty): (usize, &Type)| {
            let fits = *ty == Type::INDEX && indices.interval(Value::new(i)).fits(Lane::I32);
            Width { fits, can: false, is_low: *ty == Type::INDEX }
        };
        let widths = kernel.types.iter().enumerate().map(width).collect();
        let mut widths = Self { kernel, widths };
        if kernel.grid.is_some() {
            // Unlike a parameter, which callers pass with 64 bits.
            kernel.body.params.iter().for_each(|position| widths.widths[position.index()].can = true);
        }
        widths.definitions(&kernel.body, &indices);
        while widths.uses(&kernel.body, &[]) {}
        widths
    }

    /// Whether a value has 32 bits instead of 64.
    pub fn is_narrow(&self, value: Value) -> bool {
        let Width { fits, can, is_low } = self.widths[value.index()];
        can && (fits || is_low)
    }

    fn fits(&self, value: Value) -> bool {
        self.widths[value.index()].fits
    }

    /// Finds what can be computed with 32 bits.
    fn definitions(&mut self, region: &Region, indices: &Indices) {
        for Statement { results, inst } in &region.statements {
            match inst {
                Inst::For { start, end, step, body, .. } => {
                    if let Some(&counter) = body.params.first() {
                        // Beyond the end by a step is the last number that is counted to.
                        let last = indices.interval(*end).high.checked_add(*step);
                        let counts = last.is_some_and(|last| Interval::number(last).fits(Lane::I32));
                        let can = counts && self.fits(*start) && self.fits(*end);
                        self.widths[counter.index()] = Width { fits: can, can, is_low: can };
                    }
                    self.carried(body.params.get(1..).unwrap_or_default(), results);
                }
                Inst::Loop { body, .. } => self.carried(&body.params, results),
                Inst::If { .. } => results.iter().for_each(|result| self.widths[result.index()].can = true),
                inst => {
                    if let &[result] = &results[..] {
                        self.widths[result.index()].can = self.computes(inst, result);
                    }
                }
            }
            inst.regions().into_iter().for_each(|inner| self.definitions(inner, indices));
        }
    }

    /// A carried value and its last are of one width.
    fn carried(&mut self, params: &[Value], results: &[Value]) {
        for (param, result) in params.iter().zip(results) {
            let fits = self.fits(*param) && self.fits(*result);
            for value in [param, result] {
                self.widths[value.index()].can = true;
                self.widths[value.index()].fits = fits;
            }
        }
    }

    /// Whether an instruction gives 32 bits of its result when it gets its operands as [`Widths::wants`] says.
    fn computes(&self, inst: &Inst, result: Value) -> bool {
        match inst {
            Inst::Constant { .. } | Inst::Select { .. } => true,
            Inst::Binary { op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, .. } => true,
            Inst::Unary { op: UnaryOp::Neg | UnaryOp::Not, .. } => true,
            Inst::ShiftConstant { op: BinaryOp::ShiftLeft, count, .. } => *count < 32,
            Inst::ShiftConstant { a, .. } => self.fits(*a) && self.fits(result),
            Inst::Binary { op: BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned, .. } => false,
            Inst::Binary { a, b, .. } => self.fits(*a) && self.fits(*b) && self.fits(result),
            Inst::Convert { op, .. } => matches!(op, ConvertOp::SignExtend | ConvertOp::ZeroExtend | ConvertOp::MaskToInteger),
            _ => false,
        }
    }

    /// Whether an operand is an index of 64 bits.
    fn is_index(&self, value: Value) -> bool {
        self.kernel.ty(value) == Type::INDEX
    }

    /// Finds values of which more than the low half is wanted. Returns whether there was one, after which others may be.
    fn uses(&mut self, region: &Region, yields: &[Want]) -> bool {
        let mut changed = false;
        for (&value, &want) in region.yields.iter().zip(yields) {
            changed |= self.used(value, want);
        }
        for statement in region.statements.iter().rev() {
            for (region, yields) in statement.inst.regions().into_iter().zip(self.yields(statement)) {
                changed |= self.uses(region, &yields);
            }
            changed |= self.agree(statement);
            for (value, want) in statement.inst.operands().into_iter().zip(self.wants(statement)) {
                changed |= self.used(value, want);
            }
        }
        changed
    }

    fn used(&mut self, value: Value, want: Want) -> bool {
        let is_low = &mut self.widths[value.index()].is_low;
        want == Want::Full && std::mem::replace(is_low, false)
    }

    /// What a loop carries has one width inside and after it.
    fn agree(&mut self, Statement { results, inst }: &Statement) -> bool {
        let params = match inst {
            Inst::For { body, .. } => body.params.get(1..).unwrap_or_default(),
            Inst::Loop { body, .. } => &body.params[..],
            _ => return false,
        };
        let mut changed = false;
        for (&param, &result) in params.iter().zip(results) {
            let (inside, after) = (self.widths[param.index()].is_low, self.widths[result.index()].is_low);
            if inside != after {
                changed |= self.used(param, Want::Full) | self.used(result, Want::Full);
            }
        }
        changed
    }

    fn like(&self, value: Value) -> Want {
        if self.is_narrow(value) { Want::Low } else { Want::Full }
    }

    /// What the yields of a statement's regions are wanted as.
    pub fn yields(&self, Statement { results, inst }: &Statement) -> Vec<Vec<Want>> {
        let of_results: Vec<Want> = results.iter().map(|&result| self.like(result)).collect();
        match inst {
            Inst::For { .. } => vec![of_results],
            Inst::Loop { .. } => vec![[&[Want::Full], &of_results[..]].concat()],
            Inst::If { .. } => vec![of_results.clone(), of_results],
            _ => vec![],
        }
    }

    /// What the operands of a statement are wanted as, in their order. It matters for indices only.
    pub fn wants(&self, statement: &Statement) -> Vec<Want> {
        let Statement { results, inst } = statement;
        let count = inst.operands().len();
        match inst {
            Inst::LoadSplat { buffer, offset, .. } | Inst::LoadSplatGroup { buffer, offset, .. } => vec![self.of_place(*buffer, *offset)],
            Inst::Load { buffer, offset, .. } => [&[self.of_place(*buffer, *offset)], &vec![Want::Full; count - 1][..]].concat(),
            Inst::Gather { buffer, offset, bounds: Bounds::Proven, .. } => vec![self.of_place(*buffer, *offset)],
            Inst::Gather { indices, .. } => vec![if self.fits(*indices) { Want::Low } else { Want::Full }],
            Inst::Store { buffer, offset, .. } => [&[self.of_place(*buffer, *offset)], &vec![Want::Full; count - 1][..]].concat(),
            Inst::Compare { a, b, .. } => vec![if self.fits(*a) && self.fits(*b) { Want::Low } else { Want::Full }; 2],
            Inst::Convert { op: ConvertOp::Wrap, a } => vec![self.wrapped(*a)],
            Inst::For { body, .. } => {
                let counter = body.params.first().map_or(Want::Full, |&counter| self.like(counter));
                [counter, counter].into_iter().chain(results.iter().map(|&result| self.like(result))).collect()
            }
            Inst::Loop { .. } => results.iter().map(|&result| self.like(result)).collect(),
            Inst::Select { .. } | Inst::Binary { .. } | Inst::Unary { .. } | Inst::ShiftConstant { .. } => {
                vec![results.first().map_or(Want::Full, |&result| self.like(result)); count]
            }
            _ => vec![Want::Full; count],
        }
    }

    /// A conversion to fewer bits takes a value as it is.
    fn wrapped(&self, value: Value) -> Want {
        if self.is_index(value) && self.widths[value.index()].can { Want::Low } else { Want::Full }
    }

    /// The low half of an index says all where the elements of the buffer, less the offset, lie in 32 bits.
    fn of_place(&self, buffer: Buffer, offset: i64) -> Want {
        let elements = i64::try_from(self.kernel.buffer(buffer).elements).unwrap_or(i64::MAX);
        let ends = offset.checked_neg().map(|first| (first, first.saturating_add(elements)));
        let fits = ends.is_some_and(|(low, high)| Interval { low, high }.fits(Lane::I32));
        if fits { Want::Low } else { Want::Full }
    }
}
