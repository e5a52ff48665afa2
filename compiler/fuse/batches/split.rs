//! The instructions of a region batch by batch.

use super::Region;
use crate::fuse::band::{Band, Bands};
use crate::fuse::flow::{Flow, Item};
use crate::ir::operators::{Concat, Slice};
use crate::ir::{Definition, Extent, Function, Inst, InstData, Operation, Type, Value, ValueData};
use rustc_hash::{FxHashMap, FxHashSet};

/// Computes disjoint regions batch by batch, each with the number of its cut. Their outputs become concatenations. Returns the values that are
/// parts of others.
pub fn apply(flow: &mut Flow, regions: &[(usize, &Region)]) -> Bands {
    let mut parts = Bands::default();
    for &(cut, region) in regions {
        let mut writer = Writer { function: &mut flow.function, region, cut, inserted: vec![], parts: Bands::default() };
        writer.write();
        parts.extend(writer.parts);
        let mut inserted = Some(writer.inserted);
        let gone: FxHashSet<Inst> = region.insts.iter().copied().collect();
        for item in std::mem::take(&mut flow.items) {
            match item {
                Item::Inst(inst) if region.insts.last() == Some(&inst) => flow.items.extend(inserted.take().into_iter().flatten()),
                Item::Inst(inst) if gone.contains(&inst) => {}
                item => flow.items.push(item),
            }
        }
    }
    parts
}

struct Writer<'a> {
    function: &'a mut Function,
    region: &'a Region,
    /// The number of the cut.
    cut: usize,
    inserted: Vec<Item>,
    parts: Bands,
}

impl Writer<'_> {
    fn write(&mut self) {
        let region = self.region;
        let mut batches: Vec<Vec<Value>> = vec![vec![]; region.outputs.len()];
        for number in 0..region.count {
            let mut computed: FxHashMap<Value, Value> = FxHashMap::default();
            for &inst in &region.insts {
                let whole = self.function.insts[inst].results[0];
                let part = self.compute(inst, number, &computed);
                computed.insert(whole, part);
            }
            for (list, output) in batches.iter_mut().zip(&region.outputs) {
                list.push(computed[output]);
            }
        }
        for (&output, list) in region.outputs.iter().zip(batches) {
            self.join(output, list);
        }
    }

    /// Computes an operator's result for one batch.
    fn compute(&mut self, inst: Inst, number: u64, computed: &FxHashMap<Value, Value>) -> Value {
        let mut data = InstData { results: vec![], ..self.function.insts[inst].clone() };
        let whole = self.function.insts[inst].results[0];
        let position = self.position(whole, number);
        for operand in &mut data.operands {
            *operand = match computed.get(operand) {
                Some(&part) => part,
                None => self.slice(*operand, whole, &position, number),
            };
        }
        let shape = self.part_shape(whole, position.len());
        if let Operation::Reshape(reshape) = &mut data.operation {
            reshape.shape = shape.clone();
        }
        self.part(data, whole, shape, number)
    }

    /// Returns the index of a batch in each of the leading dimensions of a result.
    fn position(&self, whole: Value, mut number: u64) -> Vec<u64> {
        let extents = &self.function.tensor(whole).shape[..self.region.leading[&whole]];
        let mut position: Vec<u64> = extents
            .iter()
            .rev()
            .map(|extent| {
                let extent = extent.as_static().unwrap_or(1);
                let digit = number % extent;
                number /= extent;
                digit
            })
            .collect();
        position.reverse();
        position
    }

    /// Returns a tensor's shape with extent 1 in each of the first dimensions.
    fn part_shape(&self, whole: Value, dimensions: usize) -> Vec<Extent> {
        let shape = &self.function.tensor(whole).shape;
        shape.iter().enumerate().map(|(d, &extent)| if d < dimensions { Extent::Static(1) } else { extent }).collect()
    }

    /// Slices an outside operand at a position of the result's leading dimensions. Returns the operand itself if it does not vary along them.
    fn slice(&mut self, operand: Value, result: Value, position: &[u64], number: u64) -> Value {
        let shape = self.function.tensor(operand).shape.clone();
        let new = self.function.tensor(result).shape.len() - shape.len();
        let follows = |d: usize| d + new < position.len() && shape[d] != Extent::Static(1);
        if !(0..shape.len()).any(follows) {
            return operand;
        }
        let start = (0..shape.len()).map(|d| Extent::Static(if follows(d) { position[d + new] } else { 0 })).collect();
        let size: Vec<Extent> = (0..shape.len()).map(|d| if follows(d) { Extent::Static(1) } else { shape[d] }).collect();
        let operation = Slice { start, size: size.clone(), stride: vec![1; shape.len()] }.into();
        let source = self.function.insts[self.region.insts[0]].source;
        let data = InstData { operation, operands: vec![operand], results: vec![], source };
        self.part(data, operand, size, number)
    }

    /// Adds an instruction whose result is a part of a tensor.
    fn part(&mut self, data: InstData, whole: Value, shape: Vec<Extent>, number: u64) -> Value {
        let function = &mut *self.function;
        let inst = function.insts.push(data);
        let mut ty = function.tensor(whole).clone();
        ty.shape = shape;
        let name = function.values[whole].name.as_ref().map(|name| format!("{name} batch {number}"));
        let value = function.values.push(ValueData { ty: Type::Tensor(ty), definition: Definition::Result(inst, 0), name });
        function.insts[inst].results.push(value);
        self.inserted.push(Item::Inst(inst));
        self.parts.insert(value, Band { cut: self.cut, number, count: self.region.count });
        value
    }

    /// Makes an output the concatenation of its batches. The innermost leading dimension is joined first, so that parts are contiguous.
    fn join(&mut self, output: Value, mut list: Vec<Value>) {
        let extents = self.function.tensor(output).shape.clone();
        let Definition::Result(last, _) = self.function.values[output].definition else { return };
        let source = self.function.insts[last].source;
        for axis in (0..self.region.leading[&output]).rev() {
            let Some(extent) = extents[axis].as_static().filter(|&extent| extent > 1) else { continue };
            if list.len() as u64 == extent {
                let data = &mut self.function.insts[last];
                (data.operation, data.operands) = (Concat::along(axis).into(), list);
                self.inserted.push(Item::Inst(last));
                return;
            }
            let joined = list.chunks(extent as usize).zip(0..).map(|(run, number)| {
                let data = InstData { operation: Concat::along(axis).into(), operands: run.to_vec(), results: vec![], source };
                let shape = self.part_shape(output, axis);
                self.part(data, output, shape, number)
            });
            list = joined.collect();
        }
    }
}
