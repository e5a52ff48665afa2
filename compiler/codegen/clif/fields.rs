//! Dot products on machines without an instruction that adds neighbouring lanes (V on riscv64). The narrow lanes of a register, its *fields*, are
//! widened to several registers of 32-bit lanes. Each of these is then one multiply-add. Operands that the rows or columns of a tile share are
//! widened once.

use super::held::Held;
use super::lower::Lowering;
use super::scope::FieldsOf;
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::DotOp;

impl Lowering<'_> {
    /// Computes c plus the products of the fields of each 32-bit lane.
    pub fn dot_by_fields(&mut self, op: DotOp, c: ir::Value, x: ir::Value, y: ir::Value) -> ir::Value {
        let bits = if op == DotOp::Signed16 { 16 } else { 8 };
        let xs = self.fields(FieldsOf { register: x, bits, signed: op != DotOp::UnsignedSigned8 });
        let ys = self.fields(FieldsOf { register: y, bits, signed: true });
        xs.into_iter().zip(ys).fold(c, |sum, (x, y)| {
            let product = self.builder.ins().imul(y, x);
            self.builder.ins().iadd(sum, product)
        })
    }

    /// Returns one register for each field number i: field i of every 32-bit lane.
    fn fields(&mut self, of: FieldsOf) -> Vec<ir::Value> {
        if let Some(known) = self.scopes.iter().find_map(|scope| scope.fields.get(&of)) {
            return known.clone();
        }
        let lanes = self.bits_as(types::I32X4, of.register);
        let unused = i64::from(32 - of.bits);
        let fields = (0..32 / of.bits).map(|i| {
            let left = unused - i64::from(i * of.bits);
            let high = if left == 0 { lanes } else { self.builder.ins().ishl_imm_u(lanes, left) };
            match of.signed {
                true => self.builder.ins().sshr_imm_u(high, unused),
                false => self.builder.ins().ushr_imm_u(high, unused),
            }
        });
        let fields: Vec<_> = fields.collect();
        self.know_fields(of, fields.clone());
        fields
    }

    fn know_fields(&mut self, of: FieldsOf, fields: Vec<ir::Value>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.fields.insert(of, fields);
        }
    }

    /// Repeats a group of numbers, `bits` bits each, over the 32-bit lanes of a register of type `ty`. Their sign-extended copies are noted as
    /// fields, so products use these.
    pub fn splat_fields(&mut self, ty: ir::Type, bits: u32, signed: Vec<ir::Value>) -> ir::Value {
        let field = (1 << bits) - 1;
        let unsigned: Vec<_> = signed.iter().map(|&number| self.builder.ins().band_imm_u(number, field)).collect();
        let mut word = unsigned[0];
        for (&number, i) in unsigned.iter().zip(0..).skip(1) {
            let placed = self.builder.ins().ishl_imm_u(number, i64::from(bits * i));
            word = self.builder.ins().bor(word, placed);
        }
        let splat = self.builder.ins().splat(types::I32X4, word);
        let register = self.bits_as(ty, splat);
        for (numbers, signed) in [(signed, true), (unsigned, false)] {
            let fields = numbers.into_iter().map(|number| self.builder.ins().splat(types::I32X4, number)).collect();
            self.know_fields(FieldsOf { register, bits, signed }, fields);
        }
        register
    }

    /// Notes the fields of a register that interleaves the lanes of `a` and `b`: the widened lanes of `a`, and those of `b`.
    pub fn know_interleaved(&mut self, a: &Held, b: &Held, interleaved: &Held) {
        if a.lane != types::I16 {
            return;
        }
        let (wide_a, wide_b) = (self.widen(a, true), self.widen(b, true));
        let parts = interleaved.parts.iter().zip(wide_a.parts.iter().zip(&wide_b.parts));
        for (&register, (&x, &y)) in parts {
            self.know_fields(FieldsOf { register, bits: 16, signed: true }, vec![x, y]);
        }
    }
}
