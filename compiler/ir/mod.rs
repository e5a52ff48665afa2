//! The tensor language: SSA over tensors.
//!
//! A [`Module`] holds functions, constants, states and methods. A [`Function`] is straight-line SSA in dense entity maps;
//! control flow is instructions (`if`, `while`, `call`) that name other functions. The operators are the closed set of
//! [`operators::OPS`]; element-wise work is not an operator each but a `map` over a [`scalar::Expression`].

mod accumulation;
pub mod allocation;
pub mod attribute;
pub mod axes;
pub mod builder;
pub mod data;
mod diagnostics;
mod drawing;
pub mod element_order;
mod entities;
mod equal_data;
mod extents;
pub mod fault;
pub mod interpret;
pub mod interval;
pub mod module;
pub mod operators;
mod outline;
pub mod packed;
mod port_notes;
pub mod random;
pub mod scalar;
pub mod size;
mod source;
mod storage;
mod stored;
mod surroundings;
pub mod tensor;
pub mod text;
mod type_error;
pub mod types;
mod value;
pub mod verify;
pub mod view;

pub use accumulation::Accumulation;
pub use allocation::{ImportedMethodPlan, ImportedPlan, Placement};
pub use attribute::{Attribute, AttributeKind};
pub use axes::{Axes, Axis};
pub use builder::FunctionBuilder;
pub use data::Data;
pub use entities::{Constant, Func, Inst, Source, State, Value};
pub use equal_data::EqualData;
pub use module::{Function, InstData, Method, Module, Port, Quantization};
pub use operators::{
    Combination, External, IndexOperation, OPS, Op, OpRow, Operation, Order, Reduction, Scan, Scatter, Search, Summation, WindowGeometry,
    Word,
};
pub use outline::{End, Outline, OutlineOperator, Wire};
pub use port_notes::{Normalization, PortNotes};
pub use scalar::{Comparison, Exactness, Expression, ExpressionBuilder, NanRule, Node, NodeData, RequantizeRule, Scalar, ScalarOp};
pub use source::SourceData;
pub use storage::{ConstantData, StateData};
pub use stored::stored_right;
pub use surroundings::{FunctionTypes, ModuleTypes};
pub use tensor::{Tensor, has_room};
pub use type_error::TypeError;
pub use types::{ElementType, Extent, Interval, Layout, TensorType, Type, ZeroPoints, list_text};
pub use value::{Definition, ValueData};
pub use verify::{Verified, VerifyError, verify};
