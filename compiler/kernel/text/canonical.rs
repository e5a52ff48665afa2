//! The canonical form of kernels. Kernels with the same text have equal canonical forms.

use super::names::buffer_names;
use crate::types::signed;
use crate::*;
use cranelift_entity::EntityRef;
use smallvec::smallvec;
use std::collections::BTreeMap;

/// Puts a kernel into canonical form. Used constants come first, each once, sorted by type and bits. Constant indices are added to offsets. Values are
/// numbered in the order of the text. Arrays come after parameters.
///
/// The kernel must be verified or parsed.
pub fn canonical(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    let zero = Value::new(kernel.types.len());
    kernel.types.push(Type::INDEX);
    let mut bits = vec![None; kernel.types.len()];
    bits[zero.index()] = Some(0);
    for statement in kernel.statements() {
        if let (Inst::Constant { bits: number }, &[result]) = (&statement.inst, &statement.results[..]) {
            bits[result.index()] = Some(*number);
        }
    }
    merge_indices(&mut kernel, &bits, zero);
    order_buffers(&mut kernel);
    let body = std::mem::take(&mut kernel.body);
    let mut renaming =
        Renaming { kernel: &kernel, bits, constants: BTreeMap::new(), values: vec![None; kernel.types.len()], types: vec![] };
    let body = renaming.body(body);
    let types = renaming.types;
    Kernel { types, body, proof: Proof::Alone, ..kernel }
}

/// Adds constant scalar indices to offsets, and replaces the indices by 0.
fn merge_indices(kernel: &mut Kernel, bits: &[Option<u64>], zero: Value) {
    let types = &kernel.types;
    kernel.body.for_each_statement_mut(&mut |statement| {
        let Some((index, offset)) = statement.inst.place_mut() else { return };
        let (ty, Some(constant)) = (types[index.index()], bits[index.index()]) else { return };
        if let (1, Some(sum)) = (ty.lanes, offset.checked_add(signed(ty.lane, constant))) {
            (*index, *offset) = (zero, sum);
        }
    });
}

/// Orders buffers: parameters, then arrays. Gives them distinct names.
fn order_buffers(kernel: &mut Kernel) {
    let mut order: Vec<usize> = (0..kernel.buffers.len()).collect();
    order.sort_by_key(|&i| !kernel.buffers[i].kind.is_parameter());
    let mut places = vec![Buffer::new(0); order.len()];
    for (new, &old) in order.iter().enumerate() {
        places[old] = Buffer::new(new);
    }
    kernel.body.for_each_statement_mut(&mut |statement| {
        statement.inst.buffers_mut().into_iter().for_each(|buffer| *buffer = places[buffer.index()]);
    });
    let names = buffer_names(&kernel.buffers);
    kernel.buffers.iter_mut().zip(names).for_each(|(data, name)| data.name = name);
    kernel.buffers = order.into_iter().map(|i| kernel.buffers[i].clone()).collect();
}

/// Key of a constant: its type and its bits.
type Key = (Lane, u16, u64);

struct Renaming<'k> {
    /// The kernel without its body.
    kernel: &'k Kernel,
    bits: Vec<Option<u64>>,
    /// New numbers of used constants.
    constants: BTreeMap<Key, Value>,
    /// New numbers of other values.
    values: Vec<Option<Value>>,
    types: Vec<Type>,
}

impl Renaming<'_> {
    fn body(&mut self, mut body: Region) -> Region {
        self.note(&body);
        let mut definitions = Vec::new();
        for (&(lane, lanes, bits), value) in &mut self.constants {
            *value = Value::new(self.types.len());
            self.types.push(Type::vector(lane, lanes));
            definitions.push(Statement { results: smallvec![*value], inst: Inst::Constant { bits } });
        }
        self.region(&mut body);
        body.statements.splice(0..0, definitions);
        body
    }

    fn key(&self, value: Value) -> Option<Key> {
        let Type { lane, lanes } = self.kernel.ty(value);
        self.bits[value.index()].map(|bits| (lane, lanes, bits))
    }

    /// Notes the constants that are used.
    fn note(&mut self, region: &Region) {
        let operands = region.statements.iter().flat_map(|statement| statement.inst.operands());
        for value in operands.chain(region.yields.iter().copied()) {
            if let Some(key) = self.key(value) {
                self.constants.insert(key, value);
            }
        }
        region.statements.iter().flat_map(|statement| statement.inst.regions()).for_each(|inner| self.note(inner));
    }

    fn define(&mut self, value: &mut Value) {
        let new = Value::new(self.types.len());
        self.types.push(self.kernel.ty(*value));
        self.values[value.index()] = Some(new);
        *value = new;
    }

    fn rename(&self, value: Value) -> Value {
        let constant = self.key(value).and_then(|key| self.constants.get(&key).copied());
        constant.or(self.values[value.index()]).unwrap_or(value)
    }

    fn region(&mut self, region: &mut Region) {
        region.statements.retain(|statement| !matches!(statement.inst, Inst::Constant { .. }));
        region.params.iter_mut().for_each(|param| self.define(param));
        for statement in &mut region.statements {
            statement.inst.operands_mut().into_iter().for_each(|operand| *operand = self.rename(*operand));
            statement.inst.regions_mut().into_iter().for_each(|inner| self.region(inner));
            statement.results.iter_mut().for_each(|result| self.define(result));
        }
        region.yields.iter_mut().for_each(|value| *value = self.rename(*value));
    }
}
