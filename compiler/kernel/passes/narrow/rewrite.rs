//! Rewrites the kernel with the widths that the analysis found.

use super::widths::{Want, Widths};
use crate::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// A scalar of 32 bits.
const NARROW: Type = Type::scalar(Lane::I32);

/// Returns the kernel with narrow values, and with conversions between narrow and wide values.
pub(super) fn rewrite(kernel: &Kernel, widths: &Widths<'_>) -> Kernel {
    let values = (0..kernel.types.len()).map(Value::new);
    let narrow = |value: Value| if widths.is_narrow(value) { NARROW } else { kernel.ty(value) };
    let types = values.clone().map(narrow).collect();
    let mut rewriting = Rewriting { kernel, widths, types, renamed: values.collect(), constants: FxHashMap::default() };
    let body = rewriting.region(&kernel.body, &[]);
    let types = rewriting.types;
    Kernel {
        name: kernel.name.clone(),
        buffers: kernel.buffers.clone(),
        integers: kernel.integers,
        grid: kernel.grid,
        types,
        body,
        proof: kernel.proof.clone(),
    }
}

struct Rewriting<'k> {
    kernel: &'k Kernel,
    widths: &'k Widths<'k>,
    types: Vec<Type>,
    /// Replacement of each value.
    renamed: Vec<Value>,
    /// Bits of constant indices.
    constants: FxHashMap<Value, u64>,
}

impl Rewriting<'_> {
    fn region(&mut self, region: &Region, yields: &[Want]) -> Region {
        let mut statements = Vec::with_capacity(region.statements.len());
        for statement in &region.statements {
            self.statement(statement, &mut statements);
        }
        let yields = region.yields.iter().zip(yields).map(|(&value, &want)| self.operand(value, want, &mut statements)).collect();
        Region { params: region.params.clone(), statements, yields }
    }

    fn statement(&mut self, statement: &Statement, to: &mut Vec<Statement>) {
        let Statement { results, inst } = statement;
        let mut inst = inst.clone();
        for (operand, want) in inst.operands_mut().into_iter().zip(self.widths.wants(statement)) {
            *operand = self.operand(*operand, want, to);
        }
        let yields = self.widths.yields(statement);
        for (region, yields) in inst.regions_mut().into_iter().zip(yields) {
            *region = self.region(region, &yields);
        }
        if let &[result] = &results[..] {
            if let Inst::Constant { bits } = &mut inst {
                self.constants.insert(result, *bits);
                *bits = if self.widths.is_narrow(result) { u64::from(*bits as u32) } else { *bits };
            }
            if let Inst::ShiftConstant { op: BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned, count, .. } = &mut inst
                && self.widths.is_narrow(result)
            {
                // The operand fits 32 bits. For unsigned shifts it is not negative. So a count above 31 leaves only the sign, as 31 does.
                *count = (*count).min(31);
            }
            // A conversion between values of equal width is dropped.
            if let Inst::Convert { op: ConvertOp::SignExtend | ConvertOp::ZeroExtend | ConvertOp::Wrap, a } = inst
                && self.types[a.index()] == self.types[result.index()]
            {
                self.renamed[result.index()] = a;
                return;
            }
        }
        to.push(Statement { results: results.clone(), inst });
    }

    /// Returns a value in the wanted width, converted if necessary.
    fn operand(&mut self, value: Value, want: Want, to: &mut Vec<Statement>) -> Value {
        let is_narrow = self.widths.is_narrow(value);
        let renamed = self.renamed[value.index()];
        if self.kernel.ty(value) != Type::INDEX || is_narrow == (want == Want::Low) {
            return renamed;
        }
        let ty = if want == Want::Low { NARROW } else { Type::INDEX };
        let inst = match (self.constants.get(&value), want) {
            (Some(&bits), Want::Low) => Inst::Constant { bits: u64::from(bits as u32) },
            (Some(&bits), Want::Full) => Inst::Constant { bits },
            (None, Want::Low) => Inst::Convert { op: ConvertOp::Wrap, a: renamed },
            (None, Want::Full) => Inst::Convert { op: ConvertOp::SignExtend, a: renamed },
        };
        let converted = Value::new(self.types.len());
        self.types.push(ty);
        to.push(Statement { results: smallvec![converted], inst });
        converted
    }
}
