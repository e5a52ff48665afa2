//! Indices as a root plus a constant, and addresses that fit the machine's addressing modes.

use super::lower::Lowering;
use super::scope::{Address, Index, LOCAL_ALIGNMENT_SHIFT};
use crate::CodegenError;
use crate::bug::{Form, Mistake, Route};
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_entity::EntityRef;
use modelc_kernel::indices::exponent;
use modelc_kernel::{BinaryOp, Buffer, BufferKind, Inst, Type, Value};

impl Lowering<'_> {
    /// Returns a scalar 64-bit integer as a root plus a constant.
    pub fn index(&self, value: Value) -> Result<Index, CodegenError> {
        let Some(sum) = self.indices.composed(value) else { return Ok(Index { root: Some(self.get_scalar(value)?), constant: 0 }) };
        let root = if sum.terms.is_empty() { None } else { Some(self.root(value)?) };
        Ok(Index { root, constant: sum.constant })
    }

    /// Returns the root of an affine index whose instruction has been lowered.
    fn root(&self, value: Value) -> Result<ir::Value, CodegenError> {
        self.roots.get(&value).map_or_else(|| self.bug(Mistake::Form { value, wanted: Form::Index }), |&root| Ok(root))
    }

    /// Computes the root of an index that has just been lowered: its terms without its constant. Roots with equal terms are shared in a scope.
    pub fn note_index(&mut self, inst: &Inst, result: Value) -> Result<(), CodegenError> {
        if self.ty(result) != Type::INDEX {
            return Ok(());
        }
        let Some(sum) = self.indices.composed(result).filter(|sum| !sum.terms.is_empty()) else { return Ok(()) };
        let terms = sum.terms.clone();
        let known = self.scopes.iter().find_map(|scope| scope.roots.get(&terms)).copied();
        let root = match (known, &terms[..]) {
            (Some(known), _) => known,
            (None, &[(term, 1)]) => self.get_scalar(term)?,
            (None, _) => {
                let root = self.combine(inst)?;
                self.scope().roots.insert(terms, root);
                root
            }
        };
        self.roots.insert(result, root);
        Ok(())
    }

    /// Combines the roots of the operands to the root of an instruction's result.
    fn combine(&mut self, inst: &Inst) -> Result<ir::Value, CodegenError> {
        match *inst {
            Inst::Binary { op, a, b } => {
                let (a, b) = (self.index(a)?, self.index(b)?);
                match (op, a.root, b.root) {
                    (BinaryOp::Add, Some(x), Some(y)) => Ok(self.builder.ins().iadd(x, y)),
                    (BinaryOp::Add, Some(x), None) | (BinaryOp::Add, None, Some(x)) | (BinaryOp::Sub, Some(x), None) => Ok(x),
                    (BinaryOp::Sub, Some(x), Some(y)) => Ok(self.builder.ins().isub(x, y)),
                    (BinaryOp::Sub, None, Some(y)) => Ok(self.builder.ins().ineg(y)),
                    (BinaryOp::Mul, Some(x), None) => Ok(self.scaled(x, b.constant)),
                    (BinaryOp::Mul, None, Some(y)) => Ok(self.scaled(y, a.constant)),
                    _ => self.bug(Mistake::Route(Route::Sum)),
                }
            }
            Inst::ShiftConstant { op: BinaryOp::ShiftLeft, a, count } => match self.index(a)?.root {
                Some(root) => Ok(self.scaled(root, 1 << count)),
                None => self.bug(Mistake::Form { value: a, wanted: Form::Index }),
            },
            _ => self.bug(Mistake::Route(Route::Sum)),
        }
    }

    fn scaled(&mut self, root: ir::Value, factor: i64) -> ir::Value {
        // A shift by up to three fits x86 addressing modes; a multiplication never does.
        if factor > 0 && factor & (factor - 1) == 0 {
            self.builder.ins().ishl_imm_u(root, i64::from(factor.trailing_zeros()))
        } else {
            self.builder.ins().imul_imm_s(root, factor)
        }
    }

    fn scope(&mut self) -> &mut super::scope::Scope {
        self.scopes.last_mut().expect("the kernel's own scope")
    }

    /// Computes the address of `buffer[index + offset]`.
    pub fn address(&mut self, buffer: Buffer, index: Value, offset: i64) -> Result<Address, CodegenError> {
        let multiple = self.indices.multiple_of_terms(index);
        let index = self.index(index)?;
        let data = self.kernel.buffer(buffer);
        let bytes = i64::from(data.lane.bytes());
        let local = data.kind == BufferKind::Local;
        let readonly = data.kind == BufferKind::Input;
        let element = bytes.trailing_zeros();
        let buffer_alignment = if local { u32::from(LOCAL_ALIGNMENT_SHIFT) } else { exponent(i64::from(data.alignment.max(1))) };
        let constant = index.constant.checked_add(offset).and_then(|elements| elements.checked_mul(bytes));
        let Some(constant) = constant else { return self.bug(Mistake::Offset { offset, buffer: data.name.clone() }) };
        let root_multiple = multiple.saturating_add(element);
        let alignment = buffer_alignment.min(root_multiple).min(exponent(constant)).max(element.min(buffer_alignment));
        let mut base = self.root_address(buffer, index.root, element);
        let displacement = match i32::try_from(constant) {
            Ok(displacement) => displacement,
            Err(_) => {
                let far = self.builder.ins().iconst(types::I64, constant);
                base = self.builder.ins().iadd(base, far);
                0
            }
        };
        Ok(Address { base, displacement, alignment, readonly })
    }

    /// Computes the address of a buffer's element at a root, once in a scope.
    fn root_address(&mut self, buffer: Buffer, root: Option<ir::Value>, element: u32) -> ir::Value {
        let base = self.bases[buffer.index()];
        let Some(root) = root else { return base };
        if let Some(&known) = self.scopes.iter().find_map(|s| s.addresses.get(&(buffer, Some(root)))) {
            return known;
        }
        let scaled = if element == 0 { root } else { self.builder.ins().ishl_imm_u(root, i64::from(element)) };
        let address = self.builder.ins().iadd(base, scaled);
        self.scope().addresses.insert((buffer, Some(root)), address);
        address
    }

    /// Computes the address of one element by a Cranelift index.
    pub fn element_address(&mut self, buffer: Buffer, index: ir::Value) -> Address {
        let data = self.kernel.buffer(buffer);
        let element = data.lane.bytes().trailing_zeros();
        let readonly = data.kind == BufferKind::Input;
        let scaled = if element == 0 { index } else { self.builder.ins().ishl_imm_u(index, i64::from(element)) };
        let base = self.builder.ins().iadd(self.bases[buffer.index()], scaled);
        Address { base, displacement: 0, alignment: 0, readonly }
    }
}
