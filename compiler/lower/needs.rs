//! What schedules need of the planner, found once for each group however many plans of a method are made.

use super::method::choose;
use super::work::Work;
use crate::fuse::Group;
use crate::machine::Machine;
use crate::parallel::{self, Memo};
use crate::schedule::{Context, Requirements, Unsupported};

/// What each piece of work needs; only groups need anything.
pub(super) type Needs = Vec<Option<Requirements>>;

/// The needs of the groups of one flow so far. Merging makes new groups and leaves all values as they are, so a group over the same values needs
/// the same in every plan.
#[derive(Default)]
pub(super) struct KnownNeeds(Memo<Group, Result<Requirements, Unsupported>>);

impl KnownNeeds {
    /// What the schedules of groups need on any of the machines, or all groups without one. A schedule holds the weights of its group, so
    /// it is dropped here and chosen anew when its kernel is written: one is alive at a time, or two on two threads.
    pub fn of<'a>(
        &self,
        work: &[Work<'a>],
        machines: &[&'static Machine],
        context: impl Fn(&'a Group, &'static Machine) -> Context<'a> + Sync,
    ) -> Result<Needs, Vec<(Unsupported, &'a Group)>> {
        let found = parallel::map(work, |item| {
            let Work::Group(group) = *item else { return Ok(None) };
            let of_machine = |&machine| choose(context(group, machine)).map(|schedule| schedule.requirements());
            let compute = || {
                let all = machines.iter().map(of_machine).collect::<Result<Vec<_>, _>>().map_err(|(error, _)| error)?;
                Ok(all.into_iter().reduce(Requirements::of_both).unwrap_or_default())
            };
            // Copies may write values that a plan has added.
            let needs = if group.copied.is_some() { compute() } else { self.0.get(group, compute) };
            needs.map(Some).map_err(|error| (error, group))
        });
        let (mut needs, mut failures) = (Vec::new(), Vec::new());
        for result in found {
            match result {
                Ok(needed) => needs.push(needed),
                Err(failure) => failures.push(failure),
            }
        }
        if failures.is_empty() { Ok(needs) } else { Err(failures) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::{Fusions, flow, group};
    use crate::ir::builder::FunctionBuilder;
    use crate::ir::{ElementType, ExpressionBuilder, Method, Module, Port, Reduction, ScalarOp, TensorType, Type, verify};
    use crate::lower::work::of_method;
    use crate::machine::MACHINES;
    use crate::schedule::PackedWeights;
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
        let function = builder.finish(vec![negative, product]);
        module.methods.push(Method { name: "main".into(), function, inputs: vec![Port::default()], outputs: vec![Port::default(); 2] });
        module
    }

    #[test]
    fn what_is_known_of_a_group_is_not_found_again() {
        let module = module();
        let flow = flow::unroll(verify(&module).expect("sound"), module.methods[0].function).expect("no control flow");
        let (known, packed, machines) = (KnownNeeds::default(), PackedWeights::default(), [&MACHINES[0]]);
        let chosen = AtomicUsize::new(0);
        let needs = |fusions: &Fusions| {
            let grouped = group(flow.clone(), &module, fusions);
            let function = &grouped.function;
            let context = |group, machine| {
                chosen.fetch_add(1, Ordering::Relaxed);
                Context {
                    module: &module,
                    function,
                    group,
                    machine,
                    block: None,
                    levels: &machines,
                    packed: &packed,
                    goal: crate::schedule::Goal::Speed,
                }
            };
            let needs = known.of(&of_method(function, &grouped.nodes), &machines, context).expect("floats");
            (needs, chosen.swap(0, Ordering::Relaxed))
        };
        let (apart, groups) = needs(&Fusions::none());
        assert_eq!(groups, 3);
        // One group of rows, which is another one than those it was made of.
        let (merged, groups) = needs(&Fusions::All);
        assert_eq!((groups, merged.iter().flatten().count()), (1, 1));
        assert_eq!((needs(&Fusions::none()), needs(&Fusions::All)), ((apart, 0), (merged, 0)));
    }
}
