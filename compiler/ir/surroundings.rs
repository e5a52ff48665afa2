//! The part of a function and a module that type rules see: types and extents, but no instructions.

use super::entities::{Constant, Func, State, Value};
use super::size::Size;
use super::storage::{ConstantData, StateData};
use super::types::{Extent, Interval};
use super::value::ValueData;
use cranelift_entity::PrimaryMap;

/// A function without its instructions.
pub trait FunctionTypes {
    /// Its name.
    fn name(&self) -> &str;

    /// Its parameters in order.
    fn params(&self) -> &[Value];

    /// Its results in order.
    fn results(&self) -> &[Value];

    /// Its values with their types.
    fn values(&self) -> &PrimaryMap<Value, ValueData>;

    /// The interval of an extent.
    fn interval(&self, extent: Extent) -> Interval;

    /// An extent with aliases resolved: a number where the index can only be one.
    fn resolved(&self, extent: Extent) -> Extent;

    /// The number of elements of a shape; `None` beyond 64 bits.
    fn size(&self, shape: &[Extent]) -> Option<Size>;
}

/// The constants, states and functions of a module.
pub trait ModuleTypes {
    /// A constant, if there is one of this number.
    fn constant(&self, constant: Constant) -> Option<&ConstantData>;

    /// A state, if there is one of this number.
    fn state(&self, state: State) -> Option<&StateData>;

    /// A function, if there is one of this number.
    fn function(&self, function: Func) -> Option<&dyn FunctionTypes>;
}
