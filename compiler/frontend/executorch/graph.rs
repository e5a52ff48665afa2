//! Removal of unused instructions from functions.

use crate::ir::{Extent, Function, Op, Value};
use std::collections::HashSet;

/// Removes unused instructions from a function's body, such as transposed weights whose transpose was cancelled by another. Returns the values that
/// stay.
pub fn sweep(function: &mut Function) -> HashSet<Value> {
    let mut live: HashSet<Value> = function.params.iter().chain(&function.results).copied().collect();
    let types = function.params.iter().filter_map(|&param| function.values[param].ty.as_tensor());
    live.extend(types.flat_map(|ty| &ty.shape).filter_map(|extent| if let Extent::Value(index) = extent { Some(*index) } else { None }));
    let mut kept = Vec::with_capacity(function.body.len());
    for &inst in function.body.iter().rev() {
        let data = &function.insts[inst];
        let acts = matches!(data.op(), Op::StoreState | Op::IndexLoad | Op::While);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Module, TensorType, Type};
    use crate::operators::{Graph, extents};

    #[test]
    fn what_nothing_uses_is_swept() {
        let mut module = Module::default();
        let mut g = Graph::new(&mut module, "f");
        let x = g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[2, 3])), None);
        let unused = g.transpose(x, &[1, 0]).unwrap();
        let used = g.reshape(x, &extents(&[6])).unwrap();
        g.builder.function.results = vec![used];
        let live = sweep(&mut g.builder.function);
        assert_eq!(g.function().body.len(), 1);
        assert!(live.contains(&used) && live.contains(&x) && !live.contains(&unused));
    }
}
