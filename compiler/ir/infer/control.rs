//! Result types of branches, loops, calls, states, and functions outside the model.

use super::{Context, TypeError, Types};
use crate::ir::attribute::Attribute;
use crate::ir::module::{Function, Value};
use crate::ir::types::{ElementType, Extent, TensorType, Type};

fn callee<'a>(cx: &Context<'a>, name: &str) -> Result<&'a Function, TypeError> {
    let Attribute::Function(function) = cx.attribute(name) else { return Err(cx.error("needs a function")) };
    cx.module.functions.get(*function).ok_or_else(|| cx.error("names no function"))
}

/// Checks operands against a callee's parameters; only element types and ranks must agree where extents are dynamic.
fn check_arguments(cx: &Context<'_>, callee: &Function, operands: &[Value]) -> Result<(), TypeError> {
    cx.require(callee.params.len() == operands.len(), || {
        format!("@{} takes {} operands, {} are given", callee.name, callee.params.len(), operands.len())
    })?;
    for (i, (&param, &operand)) in callee.params.iter().zip(operands).enumerate() {
        let (want, have) = (&callee.values[param].ty, &cx.function.values[operand].ty);
        cx.require(compatible(want, have), || format!("operand {i} of @{} is {have:?}, it takes {want:?}", callee.name))?;
    }
    Ok(())
}

/// Whether a value of one type may stand where the other is declared, in another function.
fn compatible(want: &Type, have: &Type) -> bool {
    match (want, have) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            let extents = |(x, y): (&Extent, &Extent)| x.as_static().zip(y.as_static()).is_none_or(|(x, y)| x == y);
            a.element == b.element && a.rank() == b.rank() && a.shape.iter().zip(&b.shape).all(extents)
        }
        (Type::Index(_), Type::Index(_)) | (Type::Effect, Type::Effect) => true,
        _ => false,
    }
}

/// The result types of a callee as the caller sees them; the callee's operands are those behind the first `skip`. An extent that is an index
/// parameter is the operand given for it; extents that are other index values of the callee are not visible outside.
fn results_of(cx: &Context<'_>, callee: &Function, skip: usize) -> Types {
    let outside = |extent: &Extent| match callee.resolved(*extent) {
        Extent::Static(n) => Some(Extent::Static(n)),
        Extent::Value(index) => {
            let position = callee.params.iter().position(|&param| param == index)?;
            Some(cx.function.resolved(Extent::Value(*cx.operands.get(skip + position)?)))
        }
    };
    let typed = |&value: &Value| match &callee.values[value].ty {
        Type::Tensor(t) if t.static_shape().is_none() => {
            let shape = t.shape.iter().map(outside).collect::<Option<Vec<Extent>>>();
            let shape = shape.ok_or_else(|| cx.error(format!("@{} returns a tensor whose shape only it knows", callee.name)))?;
            Ok(Type::Tensor(TensorType { shape, ..t.clone() }))
        }
        ty => Ok(ty.clone()),
    };
    callee.results.iter().map(typed).collect()
}

/// Whether every index parameter of a loop's body that is an extent stays what it is from round to round.
fn keeps_extents(body: &Function) -> bool {
    let types = body.params.iter().chain(&body.results).filter_map(|&v| body.values[v].ty.as_tensor());
    let indices =
        types.flat_map(|ty| &ty.shape).filter_map(|&e| if let Extent::Value(index) = body.resolved(e) { Some(index) } else { None });
    let kept = |index: Value| body.params.iter().position(|&param| param == index).is_none_or(|at| body.results.get(at) == Some(&index));
    indices.into_iter().all(kept)
}

/// `if`
pub fn if_else(cx: &Context<'_>) -> Types {
    let condition = cx.tensor(0)?;
    cx.require(condition.element == ElementType::Bool && condition.static_elements() == Some(1), || {
        "the condition must be one truth value".into()
    })?;
    let (then, otherwise) = (callee(cx, "then")?, callee(cx, "otherwise")?);
    check_arguments(cx, then, &cx.operands[1..])?;
    check_arguments(cx, otherwise, &cx.operands[1..])?;
    let types = results_of(cx, then, 1)?;
    cx.require(types == results_of(cx, otherwise, 1)?, || format!("@{} and @{} return different types", then.name, otherwise.name))?;
    Ok(types)
}

/// `while`
pub fn while_loop(cx: &Context<'_>) -> Types {
    let (condition, body) = (callee(cx, "condition")?, callee(cx, "body")?);
    check_arguments(cx, condition, cx.operands)?;
    check_arguments(cx, body, cx.operands)?;
    let verdict = results_of(cx, condition, 0)?;
    let is_truth = matches!(verdict.first(), Some(Type::Tensor(t)) if t.element == ElementType::Bool && t.static_elements() == Some(1));
    cx.require(is_truth, || format!("@{} does not return one truth value", condition.name))?;
    let types = results_of(cx, body, 0)?;
    let params = body.params.iter().map(|&p| &body.values[p].ty);
    cx.require(types.len() == body.params.len() && params.zip(&types).all(|(p, t)| compatible(p, t)), || {
        format!("@{} does not return what it takes", body.name)
    })?;
    cx.require(keeps_extents(body), || format!("@{} changes an extent of what goes round", body.name))?;
    Ok(types)
}

/// `call`
pub fn call(cx: &Context<'_>) -> Types {
    let callee = callee(cx, "function")?;
    check_arguments(cx, callee, cx.operands)?;
    results_of(cx, callee, 0)
}

fn state_type(cx: &Context<'_>) -> Result<TensorType, TypeError> {
    let Attribute::State(state) = cx.attribute("state") else { return Err(cx.error("needs a state")) };
    cx.module.states.get(*state).map(|s| s.ty.clone()).ok_or_else(|| cx.error("names no state"))
}

/// `load_state`
pub fn load_state(cx: &Context<'_>) -> Types {
    cx.effect(0)?;
    Ok(vec![Type::Effect, Type::Tensor(state_type(cx)?)])
}

/// `store_state`
pub fn store_state(cx: &Context<'_>) -> Types {
    cx.effect(0)?;
    let (want, have) = (state_type(cx)?, cx.tensor(1)?);
    cx.require(want.element == have.element && want.static_shape() == have.static_shape(), || {
        format!("a tensor {have:?} does not fit the state's {want:?}")
    })?;
    Ok(vec![Type::Effect])
}

/// `external`: the results are what the file says.
pub fn external(cx: &Context<'_>) -> Types {
    let [Attribute::Text(symbol), options, scales, zero_points, Attribute::Types(results)] = cx.attributes else {
        return Err(cx.error("needs a symbol and the types of results"));
    };
    let identifier = symbol.chars().enumerate().all(|(i, c)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit()));
    cx.require(identifier && (1..=MAX_SYMBOL).contains(&symbol.len()), || format!("{symbol:?} is no name of a function"))?;
    for index in 0..cx.operands.len() {
        cx.require(cx.tensor(index)?.static_shape().is_some(), || format!("operand {index} has a dynamic shape"))?;
    }
    let count = (cx.operands.len() + results.len()) as u64;
    for (what, attribute, element, length) in [
        ("options", options, ElementType::U8, None),
        ("scales", scales, ElementType::F32, Some(count)),
        ("zero points", zero_points, ElementType::I32, Some(count)),
    ] {
        let Attribute::Constant(constant) = attribute else { return Err(cx.error(format!("{what} must be a constant"))) };
        let ty = &cx.module.constants.get(*constant).ok_or_else(|| cx.error(format!("{what} name no constant")))?.ty;
        let fits = ty.element == element && ty.shape.len() == 1 && length.is_none_or(|length| ty.static_elements() == Some(length));
        cx.require(fits, || format!("{what} have another type"))?;
    }
    for ty in results {
        let ty =
            ty.as_tensor().filter(|ty| ty.static_shape().is_some()).ok_or_else(|| cx.error("results must be tensors of static shape"))?;
        cx.shape(&ty.shape)?;
    }
    Ok(results.clone())
}

/// Names of functions are no longer.
const MAX_SYMBOL: usize = 256;
