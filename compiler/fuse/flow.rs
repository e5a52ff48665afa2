//! A method as one body: calls and branches are unrolled into one function's value space, so that everything behind this
//! point sees a tree of straight-line pieces over one set of values.

use crate::ir::{self, Attribute, Definition, Extent, Function, Inst, InstData, Module, Op, Type, Value, ValueData};
use std::collections::HashMap;

/// A method's body.
#[derive(Debug)]
pub struct Flow {
    /// Holds every value and instruction of the method and of what it calls.
    pub function: Function,
    /// What happens, in order.
    pub items: Vec<Item>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Item {
    /// An instruction that is no control flow.
    Inst(Inst),
    /// One of two bodies. Result *i* of the branch taken becomes value *i* of `results`.
    If {
        /// One truth value.
        condition: Value,
        /// The values that stand for the results behind it.
        results: Vec<Value>,
        /// Body when true, and the values it hands on.
        then: (Vec<Item>, Vec<Value>),
        /// Body when false, and the values it hands on.
        otherwise: (Vec<Item>, Vec<Value>),
        /// The instruction it was.
        inst: Inst,
    },
}

/// Functions call each other at most this deep; the verifier has ruled out recursion.
const MAX_DEPTH: usize = 64;

/// What the unroller cannot do, with the instruction at fault in the method's own function.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// Calls nest too deeply.
    #[error("functions call each other more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A loop.
    #[error("`while` is not compiled yet")]
    While(Option<ir::Source>),
}

/// Unrolls the body of a method's function.
///
/// # Errors
/// [`FlowError`].
pub fn unroll(module: &Module, function: ir::Func) -> Result<Flow, FlowError> {
    let callee = &module.functions[function];
    let mut flow = Flow { function: Function { name: callee.name.clone(), ..Function::default() }, items: Vec::new() };
    let mut values = HashMap::new();
    for &param in &callee.params {
        let data = &callee.values[param];
        let ty = rename_type(&data.ty, &values);
        let copy = flow.function.add_param(ty, data.name.clone());
        values.insert(param, copy);
    }
    let (items, results) = unroll_body(module, function, &mut flow.function, values, 0)?;
    flow.items = items;
    flow.function.results = results;
    Ok(flow)
}

type Names = HashMap<Value, Value>;

fn rename_type(ty: &Type, values: &Names) -> Type {
    let mut ty = ty.clone();
    if let Type::Tensor(tensor) = &mut ty {
        for extent in &mut tensor.shape {
            if let Extent::Value(v) = extent {
                *v = *values.get(v).unwrap_or(v);
            }
        }
    }
    ty
}

fn unroll_body(
    module: &Module,
    function: ir::Func,
    into: &mut Function,
    mut values: Names,
    depth: usize,
) -> Result<(Vec<Item>, Vec<Value>), FlowError> {
    if depth > MAX_DEPTH {
        return Err(FlowError::TooDeep);
    }
    let callee = &module.functions[function];
    let mut items = Vec::new();
    for &inst in &callee.body {
        let data = &callee.insts[inst];
        match data.op {
            Op::Call => {
                let (body, results) = unroll_callee(module, data, "function", 0, into, &values, depth)?;
                items.extend(body);
                values.extend(data.results.iter().copied().zip(results));
            }
            Op::If => {
                let then = unroll_callee(module, data, "then", 1, into, &values, depth)?;
                let otherwise = unroll_callee(module, data, "otherwise", 1, into, &values, depth)?;
                let copy = copy_inst(callee, inst, into, &mut values);
                let condition = into.insts[copy].operands[0];
                items.push(Item::If { condition, results: into.insts[copy].results.clone(), then, otherwise, inst: copy });
            }
            Op::While => return Err(FlowError::While(data.source)),
            _ => items.push(Item::Inst(copy_inst(callee, inst, into, &mut values))),
        }
    }
    let results = callee.results.iter().map(|v| values[v]).collect();
    Ok((items, results))
}

fn unroll_callee(
    module: &Module,
    data: &InstData,
    attribute: &str,
    skip: usize,
    into: &mut Function,
    values: &Names,
    depth: usize,
) -> Result<(Vec<Item>, Vec<Value>), FlowError> {
    let Attribute::Function(callee) = *data.attribute(attribute) else { unreachable!("the table says function") };
    let params = &module.functions[callee].params;
    let names = params.iter().copied().zip(data.operands[skip..].iter().map(|v| values[v])).collect();
    unroll_body(module, callee, into, names, depth + 1)
}

fn copy_inst(from: &Function, inst: Inst, into: &mut Function, values: &mut Names) -> Inst {
    let data = &from.insts[inst];
    let operands = data.operands.iter().map(|v| values[v]).collect();
    let mut attributes = data.attributes.clone();
    for attribute in &mut attributes {
        if let Attribute::Extents(extents) = attribute {
            for extent in extents {
                if let Extent::Value(v) = extent {
                    *v = values[v];
                }
            }
        }
    }
    let copy = into.insts.push(InstData { op: data.op, operands, attributes, results: vec![], source: data.source });
    for (i, &result) in data.results.iter().enumerate() {
        let old = &from.values[result];
        let ty = rename_type(&old.ty, values);
        let new = into.values.push(ValueData { ty, definition: Definition::Result(copy, i as u32), name: old.name.clone() });
        into.insts[copy].results.push(new);
        values.insert(result, new);
    }
    copy
}
