//! Extents of a function, and what type rules see of functions and modules.

use super::entities::{Constant, Func, State, Value};
use super::module::{Function, Module};
use super::operators::{IndexBinary, IndexOperation, Operation};
use super::size::Size;
use super::storage::{ConstantData, StateData};
use super::surroundings::{FunctionTypes, ModuleTypes};
use super::types::{Extent, Interval, Type};
use super::value::ValueData;
use cranelift_entity::PrimaryMap;

/// Products of products are followed so deep.
const MAX_DEPTH: usize = 32;

impl Function {
    /// The index that a value stands for. An extent of a tensor is the index that the tensor's type names. The smaller of an index and itself is this
    /// index.
    pub fn index_root(&self, mut index: Value) -> Value {
        while let Some(inst) = self.defining_inst(index) {
            let data = &self.insts[inst];
            let other = match (&data.operation, &data.operands[..]) {
                (Operation::ExtentOf(extent), &[tensor]) => self.tensor(tensor).shape.get(extent.axis).copied(),
                (Operation::IndexBinary(IndexBinary { operation: IndexOperation::Minimum }), &[a, b]) if a == b => Some(Extent::Value(a)),
                _ => None,
            };
            match other {
                Some(Extent::Value(other)) if other != index => index = other,
                _ => break,
            }
        }
        index
    }

    /// An extent with aliases resolved: a number where the index can only be one.
    pub fn resolved(&self, extent: Extent) -> Extent {
        let Extent::Value(value) = extent else { return extent };
        let root = self.index_root(value);
        match self.values[root].ty {
            Type::Index(interval) if interval.low == interval.high && interval.low >= 0 => Extent::Static(interval.low as u64),
            _ => Extent::Value(root),
        }
    }

    /// The number of elements of a shape in a form that makes equal products of the same factors equal. `None` beyond 64 bits.
    pub fn size(&self, shape: &[Extent]) -> Option<Size> {
        let mut size = Size { known: 1, extents: vec![] };
        for &extent in shape {
            self.multiply(&mut size, extent, 0)?;
        }
        size.extents.sort_unstable();
        if size.known == 0 {
            size.extents.clear();
        }
        Some(size)
    }

    fn multiply(&self, size: &mut Size, extent: Extent, depth: usize) -> Option<()> {
        let value = match self.resolved(extent) {
            Extent::Static(n) => {
                size.known = size.known.checked_mul(n)?;
                return Some(());
            }
            Extent::Value(value) => value,
        };
        let product = self.defining_inst(value).map(|inst| &self.insts[inst]).filter(|data| {
            let is_product = matches!(&data.operation, Operation::IndexBinary(binary) if binary.operation == IndexOperation::Multiply);
            // A saturated result is no product.
            is_product && depth < MAX_DEPTH && self.interval(Extent::Value(value)).is_bounded()
        });
        match product {
            Some(data) => data.operands.iter().try_for_each(|&factor| self.multiply(size, Extent::Value(factor), depth + 1)),
            None => {
                size.extents.push(value);
                Some(())
            }
        }
    }
}

impl FunctionTypes for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> &[Value] {
        &self.params
    }

    fn results(&self) -> &[Value] {
        &self.results
    }

    fn values(&self) -> &PrimaryMap<Value, ValueData> {
        &self.values
    }

    fn interval(&self, extent: Extent) -> Interval {
        Self::interval(self, extent)
    }

    fn resolved(&self, extent: Extent) -> Extent {
        Self::resolved(self, extent)
    }

    fn size(&self, shape: &[Extent]) -> Option<Size> {
        Self::size(self, shape)
    }
}

impl ModuleTypes for Module {
    fn constant(&self, constant: Constant) -> Option<&ConstantData> {
        self.constants.get(constant)
    }

    fn state(&self, state: State) -> Option<&StateData> {
        self.states.get(state)
    }

    fn function(&self, function: Func) -> Option<&dyn FunctionTypes> {
        self.functions.get(function).map(|function| function as &dyn FunctionTypes)
    }
}
