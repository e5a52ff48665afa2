//! Indices as a root plus a number, and addresses that fold into the machine's addressing modes.

use super::lower::Lowering;
use super::scope::{Address, Index, LOCAL_ALIGNMENT_SHIFT};
use crate::codegen::CodegenError;
use crate::kernel::{BinaryOp, Buffer, BufferKind, Inst, Type, Value};
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_entity::EntityRef;

/// The largest power of two that divides a number, as an exponent.
fn exponent(value: i64) -> u32 {
    if value == 0 { 32 } else { value.trailing_zeros() }
}

impl Lowering<'_> {
    /// A scalar 64-bit integer as a root plus a number.
    pub fn index(&self, value: Value) -> Result<Index, CodegenError> {
        match self.indices.get(&value) {
            Some(&index) => Ok(index),
            None => Ok(Index { root: Some(self.get_scalar(value)?), constant: 0 }),
        }
    }

    /// Records how an index that has just been lowered is composed.
    pub fn note_index(&mut self, inst: &Inst, result: Value) {
        if self.ty(result) != Type::INDEX {
            return;
        }
        let known = match *inst {
            Inst::Constant { bits } => Some(Index { root: None, constant: bits as i64 }),
            Inst::Binary { op, a, b } => self.combine(op, a, b),
            Inst::ShiftConstant { op: BinaryOp::ShiftLeft, a, count } => self.index(a).ok().and_then(|a| self.scaled(a, 1 << count)),
            _ => None,
        };
        if let Some(index) = known {
            self.indices.insert(result, index);
        }
    }

    fn combine(&mut self, op: BinaryOp, a: Value, b: Value) -> Option<Index> {
        let (a, b) = (self.index(a).ok()?, self.index(b).ok()?);
        match op {
            BinaryOp::Add => self.sum(a, b),
            BinaryOp::Sub if b.root.is_none() => Some(Index { root: a.root, constant: a.constant.checked_sub(b.constant)? }),
            BinaryOp::Mul if b.root.is_none() => self.scaled(a, b.constant),
            BinaryOp::Mul if a.root.is_none() => self.scaled(b, a.constant),
            _ => None,
        }
    }

    fn sum(&mut self, a: Index, b: Index) -> Option<Index> {
        let constant = a.constant.checked_add(b.constant)?;
        let root = match (a.root, b.root) {
            (Some(x), Some(y)) => Some(self.root_sum(x, y)),
            (x, y) => x.or(y),
        };
        Some(Index { root, constant })
    }

    fn scaled(&mut self, a: Index, factor: i64) -> Option<Index> {
        let constant = a.constant.checked_mul(factor)?;
        let root = match a.root {
            Some(root) if factor != 0 => Some(self.root_product(root, factor)),
            _ => None,
        };
        Some(Index { root, constant })
    }

    fn root_sum(&mut self, x: ir::Value, y: ir::Value) -> ir::Value {
        if let Some(&known) = self.scopes.iter().find_map(|s| s.sums.get(&(x, y))) {
            return known;
        }
        let sum = self.builder.ins().iadd(x, y);
        let multiple = self.multiple(x).min(self.multiple(y));
        self.multiples.insert(sum, multiple);
        self.scope().sums.insert((x, y), sum);
        sum
    }

    fn root_product(&mut self, root: ir::Value, factor: i64) -> ir::Value {
        if factor == 1 {
            return root;
        }
        if let Some(&known) = self.scopes.iter().find_map(|s| s.products.get(&(root, factor))) {
            return known;
        }
        // A shift by up to three folds into x86 addressing modes; a multiplication never does.
        let product = if factor > 0 && factor & (factor - 1) == 0 {
            self.builder.ins().ishl_imm_u(root, i64::from(factor.trailing_zeros()))
        } else {
            self.builder.ins().imul_imm_s(root, factor)
        };
        let multiple = self.multiple(root).saturating_add(exponent(factor));
        self.multiples.insert(product, multiple);
        self.scope().products.insert((root, factor), product);
        product
    }

    /// The power of two known to divide a root, as an exponent.
    fn multiple(&self, root: ir::Value) -> u32 {
        self.multiples.get(&root).copied().unwrap_or(0)
    }

    /// The same for an index.
    pub fn index_multiple(&self, index: Index) -> u32 {
        let root = index.root.map_or(32, |root| self.multiple(root));
        root.min(exponent(index.constant))
    }

    fn scope(&mut self) -> &mut super::scope::Scope {
        self.scopes.last_mut().expect("the kernel's own scope")
    }

    /// The address of `buffer[index + offset]`.
    pub fn address(&mut self, buffer: Buffer, index: Value, offset: i64) -> Result<Address, CodegenError> {
        let index = self.index(index)?;
        let data = self.kernel.buffer(buffer);
        let bytes = i64::from(data.lane.bytes());
        let local = data.kind == BufferKind::Local;
        let readonly = data.kind == BufferKind::Input;
        let element = bytes.trailing_zeros();
        let buffer_alignment = if local { u32::from(LOCAL_ALIGNMENT_SHIFT) } else { exponent(i64::from(data.alignment.max(1))) };
        let constant = index.constant.checked_add(offset).and_then(|elements| elements.checked_mul(bytes));
        let Some(constant) = constant else { return self.bug(format_args!("offset {offset} in {}", self.kernel.buffer(buffer).name)) };
        let root_multiple = index.root.map_or(32, |root| self.multiple(root).saturating_add(element));
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

    /// The address of a buffer's element at a root, computed once a scope.
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

    /// The address of one element by a Cranelift index.
    pub fn element_address(&mut self, buffer: Buffer, index: ir::Value) -> Address {
        let data = self.kernel.buffer(buffer);
        let element = data.lane.bytes().trailing_zeros();
        let readonly = data.kind == BufferKind::Input;
        let scaled = if element == 0 { index } else { self.builder.ins().ishl_imm_u(index, i64::from(element)) };
        let base = self.builder.ins().iadd(self.bases[buffer.index()], scaled);
        Address { base, displacement: 0, alignment: 0, readonly }
    }
}
