//! Needs of schedules, found once for each group however many plans of a method are made.

use crate::fuse::Group;
use crate::parallel::Memo;
use crate::schedule::{Requirements, Unsupported};

/// The needs of the groups of one flow so far. Merging makes new groups and leaves all values as they are, so a group over the same values needs
/// the same in every plan.
#[derive(Default)]
pub(in crate::lower) struct KnownNeeds(Memo<Group, Result<Requirements, Unsupported>>);

impl KnownNeeds {
    /// The needs of a group: known, or found by `choose`.
    pub fn of(&self, group: &Group, choose: impl FnOnce() -> Result<Requirements, Unsupported>) -> Result<Requirements, Unsupported> {
        // Copies may write values that a plan has added.
        if group.copied.is_some() { choose() } else { self.0.get(group, choose) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::{Fusions, Node, group, unroll};
    use crate::ir::builder::FunctionBuilder;
    use crate::ir::{ElementType, ExpressionBuilder, Module, Reduction, ScalarOp, TensorType, Type, verify};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A sum of rows, a negation of what it reads, and their product.
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
        // One group of rows, which is another one than those it was made of.
        let (merged, groups) = needs(&Fusions::All);
        assert_eq!((groups, merged.len()), (1, 1));
        assert_eq!((needs(&Fusions::none()), needs(&Fusions::All)), ((apart, 0), (merged, 0)));
    }
}
