//! Element-wise work on a root's result.

use crate::fuse::Epilogue;
use crate::ir::{ExpressionBuilder, Value};
use crate::schedule::context::Context;

/// Returns the epilogue of a group, or the identity on the root's result.
pub fn epilogue_of(cx: &Context<'_>) -> Epilogue {
    if let Some(epilogue) = cx.group.epilogue() {
        return epilogue.clone();
    }
    identity(cx, cx.group.outputs[0])
}

/// Returns the expression that copies a tensor.
pub fn identity(cx: &Context<'_>, tensor: Value) -> Epilogue {
    let mut builder = ExpressionBuilder::new(&[cx.element(tensor)]);
    let input = builder.input(0);
    Epilogue { operands: vec![tensor], expression: builder.finish(vec![input]) }
}
