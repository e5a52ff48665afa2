//! Small steps over the function builder that read well in operators: shapes as numbers, transposes that cancel.

use super::fault::Fault;
use super::program::Form;
use crate::ir::tensor::permute_bytes;
use crate::ir::{Attribute, ConstantData, ElementType, Extent, Function, FunctionBuilder, Op, Scalar, TensorType, Value};
use std::collections::HashSet;

/// Numbers as extents.
pub fn extents(shape: &[u64]) -> Vec<Extent> {
    shape.iter().map(|&n| Extent::Static(n)).collect()
}

/// The static shape of a value.
///
/// # Errors
/// When an extent is only known when the program runs.
pub fn shape_of(builder: &FunctionBuilder<'_>, value: Value) -> Result<Vec<u64>, Fault> {
    builder.tensor(value).static_shape().ok_or_else(|| Fault::unsupported("needs a shape that is known at compile time"))
}

/// The same elements under another shape; nothing if it has that shape, and of a reshape the reshape of its operand.
///
/// # Errors
/// When the number of elements differs.
pub fn reshape(builder: &mut FunctionBuilder<'_>, value: Value, shape: &[u64]) -> Result<Value, Fault> {
    if builder.tensor(value).static_shape().as_deref() == Some(shape) {
        return Ok(value);
    }
    let source = operand_of(builder, value, Op::Reshape).unwrap_or(value);
    if source != value {
        return reshape(builder, source, shape);
    }
    Ok(builder.reshape(value, extents(shape))?)
}

/// Permuted dimensions: result dimension i is operand dimension `permutation[i]`. Transposes of transposes are one.
///
/// # Errors
/// When the permutation does not fit.
pub fn transpose(builder: &mut FunctionBuilder<'_>, value: Value, permutation: &[usize]) -> Result<Value, Fault> {
    if let Some(source) = operand_of(builder, value, Op::Transpose) {
        let inner = permutation_of(builder, value);
        let combined: Option<Vec<usize>> = permutation.iter().map(|&p| inner.get(p).copied()).collect();
        return transpose(builder, source, &combined.ok_or_else(|| Fault::invalid("the permutation does not fit the rank"))?);
    }
    if permutation.len() == builder.tensor(value).rank() && permutation.iter().enumerate().all(|(i, &p)| i == p) {
        return Ok(value);
    }
    Ok(builder.transpose(value, permutation.iter().map(|&p| p as i64).collect())?)
}

fn operand_of(builder: &FunctionBuilder<'_>, value: Value, op: Op) -> Option<Value> {
    let inst = builder.function.defining_inst(value)?;
    let data = &builder.function.insts[inst];
    (data.op == op).then(|| data.operands[0])
}

fn permutation_of(builder: &FunctionBuilder<'_>, value: Value) -> Vec<usize> {
    let inst = builder.function.defining_inst(value).map(|inst| &builder.function.insts[inst]);
    inst.map_or_else(Vec::new, |data| data.ints("permutation").iter().map(|&p| p as usize).collect())
}

/// The permutation that undoes another.
pub fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (i, &p) in permutation.iter().enumerate() {
        inverse[p] = i;
    }
    inverse
}

/// The order of a form's dimensions in memory as a permutation.
pub fn order(form: &Form) -> Vec<usize> {
    match form.layout.order() {
        Some(order) => order.iter().map(|&d| usize::from(d)).collect(),
        None => (0..form.shape.len()).collect(),
    }
}

/// A value of one scalar, of shape `[]`.
pub fn scalar(builder: &mut FunctionBuilder<'_>, value: Scalar) -> Result<Value, Fault> {
    let constant = builder.module.add_scalar(value);
    Ok(builder.constant(constant)?)
}

/// A value of one-dimensional numbers.
pub fn vector(builder: &mut FunctionBuilder<'_>, element: ElementType, numbers: &[Scalar], shape: &[u64]) -> Result<Value, Fault> {
    let bytes = numbers.iter().flat_map(|n| n.to_bytes()).collect();
    Ok(builder.literal(TensorType::of(element, shape), bytes)?)
}

/// Repetition to a shape, as `broadcast` does; nothing if it has that shape.
///
/// # Errors
/// When the shape does not fit.
pub fn broadcast(builder: &mut FunctionBuilder<'_>, value: Value, shape: &[u64]) -> Result<Value, Fault> {
    if builder.tensor(value).static_shape().as_deref() == Some(shape) {
        return Ok(value);
    }
    Ok(builder.inst(Op::Broadcast, &[value], vec![Attribute::Extents(extents(shape))])?[0])
}

/// A value that is a transpose of a constant becomes a constant with its elements in the new order, so that filters are
/// transposed once, when the model is loaded. Other values stay.
///
/// # Errors
/// Never for sound constants.
pub fn settle(builder: &mut FunctionBuilder<'_>, value: Value) -> Result<Value, Fault> {
    let Some(source) = operand_of(builder, value, Op::Transpose) else { return Ok(value) };
    let Some(inst) = builder.function.defining_inst(source) else { return Ok(value) };
    let Attribute::Constant(constant) = (match builder.function.insts[inst].op {
        Op::Constant => builder.function.insts[inst].attribute("data").clone(),
        _ => return Ok(value),
    }) else {
        return Ok(value);
    };
    let permutation = permutation_of(builder, value);
    let Some(moved) = transposed(&builder.module.constants[constant], &permutation) else { return Ok(value) };
    let constant = builder.module.add_constant(moved.ty, moved.data);
    Ok(builder.constant(constant)?)
}

/// Leaves out of a function's body what nothing uses: transposed weights above all, whose transpose has met another. Gives the values
/// that stay.
pub fn sweep(function: &mut Function) -> HashSet<Value> {
    let mut live: HashSet<Value> = function.params.iter().chain(&function.results).copied().collect();
    let mut kept = Vec::with_capacity(function.body.len());
    for &inst in function.body.iter().rev() {
        let data = &function.insts[inst];
        let acts = matches!(data.op, Op::StoreState | Op::IndexLoad | Op::While);
        if acts || data.results.iter().any(|result| live.contains(result)) {
            live.extend(function.uses(inst));
            live.extend(&data.results);
            kept.push(inst);
        }
    }
    kept.reverse();
    function.body = kept;
    live
}

/// A constant with permuted dimensions; `None` for elements of less than a byte.
pub fn transposed(constant: &ConstantData, permutation: &[usize]) -> Option<ConstantData> {
    let shape = constant.ty.static_shape()?;
    let bytes = permute_bytes(constant.data.bytes(), constant.ty.element, &shape, permutation)?;
    let shape: Vec<u64> = permutation.iter().map(|&p| shape[p]).collect();
    Some(ConstantData { ty: TensorType::of(constant.ty.element, &shape), data: bytes.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Module;

    #[test]
    fn transposed_constants_hold_the_same_elements() {
        let ty = TensorType::of(ElementType::I16, &[2, 3]);
        let bytes: Vec<u8> = [1i16, 2, 3, 4, 5, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
        let moved = transposed(&ConstantData { ty, data: bytes.into() }, &[1, 0]).unwrap();
        assert_eq!(moved.ty, TensorType::of(ElementType::I16, &[3, 2]));
        let expected: Vec<u8> = [1i16, 4, 2, 5, 3, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(moved.data.bytes(), expected);
    }

    #[test]
    fn what_nothing_uses_is_swept() {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "f");
        let x = builder.param(crate::ir::Type::Tensor(TensorType::of(ElementType::F32, &[2, 3])), None);
        let unused = transpose(&mut builder, x, &[1, 0]).unwrap();
        let used = reshape(&mut builder, x, &[6]).unwrap();
        builder.function.results = vec![used];
        let live = sweep(&mut builder.function);
        assert_eq!(builder.function.body.len(), 1);
        assert!(live.contains(&used) && live.contains(&x) && !live.contains(&unused));
    }

    #[test]
    fn transposes_that_cancel_leave_the_operand() {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "f");
        let x = builder.param(crate::ir::Type::Tensor(TensorType::of(ElementType::F32, &[2, 3, 4])), None);
        let y = transpose(&mut builder, x, &[2, 0, 1]).unwrap();
        assert_eq!(shape_of(&builder, y).unwrap(), [4, 2, 3]);
        assert_eq!(transpose(&mut builder, y, &inverse(&[2, 0, 1])).unwrap(), x);
        assert!(transpose(&mut builder, y, &[0, 1, 7]).is_err());
    }
}
