//! A function in the making, as proposals see it: they compute operands in it, and add functions beside it.

use crate::data::Data;
use crate::entities::{Constant, Func, State, Value};
use crate::operators::IndexOperation;
use crate::scalar::{Expression, Scalar};
use crate::storage::StateData;
use crate::surroundings::FunctionTypes;
use crate::types::{ElementType, Interval, TensorType, Type};
use cranelift_entity::PrimaryMap;

/// A function in the making, in a module that it may add to. `None` results say that an operator does not take these operands.
pub(crate) trait Draft {
    /// The function as far as it is built.
    fn types(&self) -> &dyn FunctionTypes;

    /// The type of a value that is a tensor.
    fn tensor_type(&self, value: Value) -> &TensorType;

    /// The states of the module.
    fn states(&self) -> &PrimaryMap<State, StateData>;

    /// Adds a parameter.
    fn param(&mut self, ty: Type) -> Value;

    /// Adds a constant to the module.
    fn add_constant(&mut self, ty: TensorType, data: Data) -> Constant;

    /// Adds a state to the module.
    fn add_state(&mut self, state: StateData) -> State;

    /// Adds a function that computes its results from its parameters.
    fn body(&mut self, body: Body) -> Option<Func>;

    /// Adds a function with a counter and further parameters, which tells if the counter is below `turns`.
    fn condition(&mut self, types: &[Type], turns: i32) -> Option<Func>;

    /// A constant as a value.
    fn constant(&mut self, constant: Constant) -> Option<Value>;

    /// An element-wise expression with one result.
    fn map(&mut self, operands: &[Value], expression: Expression) -> Option<Value>;

    /// Permuted dimensions.
    fn transpose(&mut self, input: Value, permutation: Vec<usize>) -> Option<Value>;

    /// A border of one value.
    fn pad(&mut self, input: Value, low: Vec<i64>, high: Vec<i64>, value: Scalar) -> Option<Value>;

    /// An index number.
    fn index_constant(&mut self, value: i64) -> Option<Value>;

    /// Arithmetic on two index values.
    fn index_binary(&mut self, operation: IndexOperation, left: Value, right: Value) -> Option<Value>;

    /// The index in a one-element integer tensor.
    fn index_load(&mut self, input: Value, interval: Interval) -> Option<Value>;
}

/// A function that computes a value of the same type from each of its parameters.
pub(crate) struct Body {
    /// The types of its parameters.
    pub types: Vec<Type>,
    /// The expression of each result over its parameter; `None` where the parameter is the result.
    pub values: Vec<Option<Expression>>,
    /// The first parameter that control flow handles.
    pub free: usize,
    /// The control flow, if there is any.
    pub inner: Option<Inner>,
    /// The state that is used, if there is one.
    pub state: Option<Exchange>,
    /// `true` if two results of one type change places.
    pub swaps: bool,
}

/// An exchange of a result with the contents of a state.
pub(crate) struct Exchange {
    /// The position of the token among the parameters.
    pub position: usize,
    /// The state.
    pub state: State,
}

/// The control flow that a function applies to its values before it returns.
pub(crate) enum Inner {
    /// One of two functions.
    Choice(bool, Func, Func),
    /// A counted loop: condition and body.
    Loop(Func, Func),
}

/// The type of the counter of a loop.
pub(super) fn counter() -> Type {
    Type::Tensor(TensorType::of(ElementType::I32, &[]))
}
