//! Values of a method: which of them have memory of their own, and new ones.

use crate::fuse::is_view;
use crate::ir::{Definition, Extent, Function, InstData, Operation, Value, ValueData, operators};

/// The value whose memory a value has: views share that of their operand, and an extent that is an index is that index.
pub(in crate::lower) fn root_of(function: &Function, mut value: Value) -> Value {
    while let Some(inst) = function.defining_inst(value) {
        let data = &function.insts[inst];
        value = match &data.operation {
            _ if is_view(function, inst) => data.operands[0],
            Operation::ExtentOf(extent) => match extent_of(function, data, extent) {
                Extent::Value(index) if index != value => index,
                _ => break,
            },
            _ => break,
        };
    }
    value
}

/// An extent of one possible value is a number, which nobody measures.
pub(in crate::lower) fn known_extent(function: &Function, data: &InstData, extent: &operators::ExtentOf) -> Option<i64> {
    i64::try_from(function.resolved(extent_of(function, data, extent)).as_static()?).ok()
}

fn extent_of(function: &Function, data: &InstData, extent: &operators::ExtentOf) -> Extent {
    function.tensor(data.operands[0]).shape[extent.axis]
}

/// A value of the type of another, without a definition of its own.
pub(in crate::lower) fn duplicate(function: &mut Function, value: Value) -> Value {
    let data = ValueData { definition: Definition::Param(function.values.len() as u32), ..function.values[value].clone() };
    function.values.push(data)
}
