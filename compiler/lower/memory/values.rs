//! Roots of values, extents known at compile time, and new values.

use crate::fuse::is_view;
use crate::ir::{Definition, Extent, Function, InstData, Operation, Value, ValueData, operators};

/// Returns the root of a value. The root of a view is that of its operand. The root of an extent that is an index value is this index.
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

/// Returns the value of an extent instruction, if it is known at compile time.
pub(in crate::lower) fn known_extent(function: &Function, data: &InstData, extent: &operators::ExtentOf) -> Option<i64> {
    i64::try_from(function.resolved(extent_of(function, data, extent)).as_static()?).ok()
}

fn extent_of(function: &Function, data: &InstData, extent: &operators::ExtentOf) -> Extent {
    function.tensor(data.operands[0]).shape[extent.axis]
}

/// Adds a value with the type of another value. No instruction defines it.
pub(in crate::lower) fn duplicate(function: &mut Function, value: Value) -> Value {
    let data = ValueData { definition: Definition::Param(function.values.len() as u32), ..function.values[value].clone() };
    function.values.push(data)
}
