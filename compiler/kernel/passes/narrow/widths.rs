//! Analysis of which 64-bit scalars need only 32 bits.

use crate::indices::Indices;
use crate::intervals::{Assumed, Interval};
use crate::*;
use cranelift_entity::EntityRef;

/// The width in which an operand is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// The low 32 bits. They are the whole value, or the only bits that matter.
    Low,
    /// All 64 bits.
    Full,
}

/// Facts about the width of a value.
#[derive(Clone, Copy)]
struct Width {
    /// `true` if the value fits 32 bits.
    fits: bool,
    /// `true` if the definition can compute 32 bits.
    can: bool,
    /// `true` if only the low half is used.
    is_low: bool,
}

/// The widths of a kernel's scalars.
pub(super) struct Widths<'k> {
    kernel: &'k Kernel,
    widths: Vec<Width>,
}

impl<'k> Widths<'k> {
    /// Analyses a verified kernel whose callers keep what is assumed.
    pub fn of(kernel: &'k Kernel, assumed: &Assumed) -> Self {
        let indices = Indices::assuming(kernel, assumed, usize::MAX);
        let width = |(i, ty): (usize, &Type)| {
            let fits = *ty == Type::INDEX && indices.interval(Value::new(i)).fits(Lane::I32);
            Width { fits, can: false, is_low: *ty == Type::INDEX }
        };
        let widths = kernel.types.iter().enumerate().map(width).collect();
        let mut widths = Self { kernel, widths };
        if kernel.grid.is_some() {
            // Callers pass parameters as 64 bits. The position is not passed by a caller.
            kernel.body.params.iter().for_each(|position| widths.widths[position.index()].can = true);
        }
        widths.definitions(&kernel.body, &indices);
        while widths.uses(&kernel.body, &[]) {}
        widths
    }

    /// Tests whether a value gets 32 bits instead of 64.
    pub fn is_narrow(&self, value: Value) -> bool {
        let Width { fits, can, is_low } = self.widths[value.index()];
        can && (fits || is_low)
    }

    fn fits(&self, value: Value) -> bool {
        self.widths[value.index()].fits
    }

    /// Finds values that can be computed in 32 bits.
    fn definitions(&mut self, region: &Region, indices: &Indices) {
        for Statement { results, inst } in &region.statements {
            match inst {
                Inst::For { start, end, step, body, .. } => {
                    if let Some(&counter) = body.params.first() {
                        // The counter's last value may be one step beyond the end.
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

    /// Gives a carried value and its last value the same width.
    fn carried(&mut self, params: &[Value], results: &[Value]) {
        for (param, result) in params.iter().zip(results) {
            let fits = self.fits(*param) && self.fits(*result);
            for value in [param, result] {
                self.widths[value.index()].can = true;
                self.widths[value.index()].fits = fits;
            }
        }
    }

    /// Tests whether an instruction can compute a 32-bit result from operands as [`Widths::wants`] requires.
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

    /// Tests whether a value is a 64-bit index.
    fn is_index(&self, value: Value) -> bool {
        self.kernel.ty(value) == Type::INDEX
    }

    /// Finds values whose upper half is used. Returns true if a fact changed; callers then repeat.
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

    /// Gives a carried value the same width inside and after the loop.
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

    /// Returns the width in which each yield of a statement's regions is used.
    pub fn yields(&self, Statement { results, inst }: &Statement) -> Vec<Vec<Want>> {
        let of_results: Vec<Want> = results.iter().map(|&result| self.like(result)).collect();
        match inst {
            Inst::For { .. } => vec![of_results],
            Inst::Loop { .. } => vec![[&[Want::Full], &of_results[..]].concat()],
            Inst::If { .. } => vec![of_results.clone(), of_results],
            _ => vec![],
        }
    }

    /// Returns the width in which each operand of a statement is used. It matters only for indices.
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

    /// Returns the width for the operand of a truncation: a value that can be narrow is taken as it is.
    fn wrapped(&self, value: Value) -> Want {
        if self.is_index(value) && self.widths[value.index()].can { Want::Low } else { Want::Full }
    }

    /// Returns the width of an access's index. The low half is enough if all possible values of the index fit 32 bits.
    fn of_place(&self, buffer: Buffer, offset: i64) -> Want {
        let elements = i64::try_from(self.kernel.buffer(buffer).elements).unwrap_or(i64::MAX);
        let ends = offset.checked_neg().map(|first| (first, first.saturating_add(elements)));
        let fits = ends.is_some_and(|(low, high)| Interval { low, high }.fits(Lane::I32));
        if fits { Want::Low } else { Want::Full }
    }
}
