//! Gathers from packed tables before the elements become floats.
//!
//! Contract: a gather of whole slices from a map reads the map's packed operand instead, and the map comes after it. Operands that broadcast along
//! the axis stay.

use super::edit::{Edit, replace};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    replace(module, |edit, inst| Some(vec![picked_first(edit, inst)?]))
}

fn picked_first(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = edit.function.insts[inst].clone();
    let Operation::Gather(operators::Gather { axis: 0, batch: 0 }) = data.operation else { return None };
    let map = edit.defined_by(data.operands[0], Op::Map)?.clone();
    let is_packed = |&value: &Value| edit.function.tensor(value).element.is_packed();
    if map.results.len() != 1 || !map.operands.iter().any(is_packed) {
        return None;
    }
    let rank = edit.function.tensor(data.operands[0]).rank();
    let operands: Option<Vec<Value>> = map.operands.iter().map(|&value| rows(edit, value, data.operands[1], rank)).collect();
    edit.insert_one(map.operation, &operands?)
}

/// The picked slices of an operand that broadcasts to tensors of a rank.
fn rows(edit: &mut Edit<'_>, value: Value, picks: Value, rank: usize) -> Option<Value> {
    let shape = edit.function.tensor(value).shape.clone();
    match shape.split_first() {
        Some((Extent::Static(1), inner)) if shape.len() == rank => edit.insert_one(operators::Reshape { shape: inner.to_vec() }, &[value]),
        Some(_) if shape.len() == rank => edit.insert_one(operators::Gather { axis: 0, batch: 0 }, &[value, picks]),
        _ => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::{Constants, parse_module, print_module};

    #[test]
    fn scales_are_picked_beside_their_rows() {
        let text = "const0: i4[3, 4] = hex \"214365870f1e\"\nconst1: f32[3, 1] = [0.5, 0.25, 2.0]\nfunc @main(v0: i32[2]) {\n  v1 = constant { data = const0 }\n  \
             v2 = constant { data = const1 }\n  v3 = map v1, v2 {\n    expression = (i4, f32) {\n      n0: i4 = input 0\n      n1: f32 = convert n0\n      \
             n2: f32 = input 1\n      n3: f32 = mul n1, n2\n      return n3\n    }\n  }\n  v4 = gather v3, v0 { axis = 0, batch = 0 }\n  return v4\n}\n\
             method \"main\" = @main {\n  input \"x\"\n  output \"y\"\n}\n";
        let mut module = parse_module(text).unwrap();
        let before = interpreted(&module);
        assert!(run(&mut module));
        super::super::dead_code::run(&mut module);
        assert_eq!(interpreted(&module), before);
        let text = print_module(&module, Constants::Elided);
        assert_eq!(text.matches("gather").count(), 2, "{text}");
    }

    fn interpreted(module: &Module) -> Vec<Tensor> {
        let picks = Tensor { element: ElementType::I32, shape: vec![2], bytes: [2i32, 0].iter().flat_map(|n| n.to_le_bytes()).collect() };
        let function = module.functions.keys().next().unwrap();
        interpret::Interpreter::new(module).run_function(function, &[picks], None).unwrap()
    }
}
