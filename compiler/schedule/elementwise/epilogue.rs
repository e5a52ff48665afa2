//! What is done with a root's result.

use crate::fuse::Epilogue;
use crate::ir::{ExpressionBuilder, Value};
use crate::schedule::context::Context;

/// The epilogue of a group, or the identity on the root's result.
pub fn epilogue_of(cx: &Context<'_>) -> Epilogue {
    if let Some(epilogue) = &cx.group.epilogue {
        return epilogue.clone();
    }
    identity(cx, cx.group.outputs[0])
}

/// The expression that gives a tensor as it is.
pub fn identity(cx: &Context<'_>, tensor: Value) -> Epilogue {
    let mut builder = ExpressionBuilder::new(&[cx.element(tensor)]);
    let input = builder.input(0);
    Epilogue { operands: vec![tensor], expression: builder.finish(vec![input]) }
}
