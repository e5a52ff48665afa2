//! Needs of schedules, computed once for each group and shared by all plans of a method.

use crate::fuse::Group;
use crate::parallel::Memo;
use crate::schedule::{Requirements, Unsupported};

/// The known needs of the groups of one flow. A merge makes new groups and does not change values. So equal groups have equal needs in every plan.
#[derive(Default)]
pub(in crate::lower) struct KnownNeeds(Memo<Group, Result<Requirements, Unsupported>>);

impl KnownNeeds {
    /// Returns the needs of a group. `choose` computes them if they are not known.
    pub fn of(&self, group: &Group, choose: impl FnOnce() -> Result<Requirements, Unsupported>) -> Result<Requirements, Unsupported> {
        // The results of copies may be values that one plan has added, so they are not kept.
        if group.copied().is_some() { choose() } else { self.0.get(group, choose) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::{Fusions, Node, group, unroll};
    use crate::ir::builder::FunctionBuilder;
    use crate::ir::{ElementType, ExpressionBuilder, Module, Reduction, ScalarOp, TensorType, Type, verify};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Makes a method: the sums of rows, the negation of the same rows, and the product of both.
    fn module() -> Module {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let x = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[4, 32])), None);
        let sum = builder.reduce(x, Reduction::Sum, vec![1]).expect("two dimensions");
        let mut map = |op, operands: &[_]| {
            let mut e = ExpressionBuilder::new(&vec![ElementType::F32; operands.len()]);
            let inputs: Vec<_> = (0..operands.len()).map(|i| e.input(i)).collect();
            let result = e.op(op, &inputs).expect("floats");
            builder.map(operands, e.finish(vec![result])).expect("shapes that broadcast")
        };
        let negative = map(ScalarOp::Neg, &[x]);
        let product = map(ScalarOp::Mul, &[negative, sum]);
        builder.finish_method("main", vec![negative, product]);
        module
    }

    #[test]
    fn what_is_known_of_a_group_is_not_found_again() {
        let module = module();
        let flow = unroll::unroll(verify(&module).expect("sound"), module.methods[0].function).expect("no control flow");
        let (known, chosen) = (KnownNeeds::default(), AtomicUsize::new(0));
        let needs = |fusions: &Fusions| {
            let grouped = group(flow.clone(), &module, fusions);
            let mut needs = vec![];
            for node in &grouped.nodes {
                let Node::Group(group) = node else { continue };
                let choose = || {
                    chosen.fetch_add(1, Ordering::Relaxed);
                    Ok(Requirements { scratch: vec![group.insts.len() as u64], ..Requirements::default() })
                };
                needs.push(known.of(group, choose));
            }
            (needs, chosen.swap(0, Ordering::Relaxed))
        };
        let (apart, groups) = needs(&Fusions::none());
        assert_eq!(groups, 3);
        // The merged group differs from the groups that it was made of.
        let (merged, groups) = needs(&Fusions::All);
        assert_eq!((groups, merged.len()), (1, 1));
        assert_eq!((needs(&Fusions::none()), needs(&Fusions::All)), ((apart, 0), (merged, 0)));
    }
}
