//! Tests of the number of passes and of the values that are kept between them.

use super::RowwiseSchedule;
use super::passes::{Keeper, Passes};
use crate::fuse::{Fusions, Node, group, unroll};
use crate::ir::builder::FunctionBuilder;
use crate::ir::{ElementType, ExpressionBuilder, Module, Reduction, ScalarOp, TensorType, Type, Value, verify};
use crate::kernel::BufferKind;
use crate::kernel::dependence::apart;
use crate::kernel::intervals::Assumed;
use crate::kernel::passes::{grid, with_copies};
use crate::machine::{GPUS, Isa, MACHINES, Machine};
use crate::schedule::context::Context;
use crate::schedule::contraction::operands::panels::packing::PackedWeights;
use crate::schedule::interface::Schedule;

/// Checks the schedule of a graph of floats. `build` returns the graph's results, and `check` gets the first one.
fn check(build: impl FnOnce(&mut FunctionBuilder<'_>, Value) -> Vec<Value>, check: impl FnOnce(&RowwiseSchedule<'_>, Value)) {
    check_for(&MACHINES[0], build, check);
}

/// Checks the schedule of a graph of floats on a machine.
fn check_for(
    machine: &'static Machine,
    build: impl FnOnce(&mut FunctionBuilder<'_>, Value) -> Vec<Value>,
    check: impl FnOnce(&RowwiseSchedule<'_>, Value),
) {
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let x = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[3, 100])), None);
    let results = build(&mut builder, x);
    let function = builder.finish_method("main", results);
    let grouped = group(unroll::unroll(verify(&module).expect("sound"), function).expect("no control flow"), &module, &Fusions::All);
    let [Node::Group(group)] = &grouped.nodes[..] else { panic!("one group: {:?}", grouped.nodes) };
    let rows = group.rowwise().expect("rows");
    let packed = PackedWeights::default();
    let (levels, function) = (&[machine][..], &grouped.function);
    let cx = Context {
        module: &module,
        function,
        group,
        machine,
        isa: Isa::X86_64,
        levels,
        packed: &packed,
        goal: crate::schedule::Goal::Speed,
        sharing: crate::schedule::Sharing::among(crate::schedule::Threads::ALONE),
        stages: false,
        in_short_sections: false,
        techniques: crate::schedule::Techniques::ALL,
    };
    check(&RowwiseSchedule::new(cx, rows).expect("floats"), function.results[0]);
}

fn map(builder: &mut FunctionBuilder<'_>, op: ScalarOp, operands: &[Value]) -> Value {
    let types: Vec<ElementType> = operands.iter().map(|&operand| builder.tensor(operand).element).collect();
    let mut e = ExpressionBuilder::new(&types);
    let inputs: Vec<_> = (0..operands.len()).map(|i| e.input(i)).collect();
    let result = e.op(op, &inputs).expect("floats");
    builder.map(operands, e.finish(vec![result])).expect("shapes that broadcast")
}

fn reduced(builder: &mut FunctionBuilder<'_>, kind: Reduction, value: Value) -> Value {
    builder.reduce(value, kind, vec![1]).expect("two dimensions")
}

fn softmax(builder: &mut FunctionBuilder<'_>, x: Value) -> Value {
    let greatest = reduced(builder, Reduction::Max, x);
    let x = map(builder, ScalarOp::Sub, &[x, greatest]);
    let x = map(builder, ScalarOp::Exp, &[x]);
    let sum = reduced(builder, Reduction::Sum, x);
    map(builder, ScalarOp::Div, &[x, sum])
}

#[test]
fn a_softmax_keeps_its_powers_where_the_result_is_to_be() {
    let build = |builder: &mut FunctionBuilder<'_>, x: Value| vec![softmax(builder, x)];
    check(build, |schedule, result| {
        let Passes { list, kept, .. } = &schedule.passes;
        assert_eq!(list.len(), 3);
        assert_eq!(kept.iter().map(|(_, keeper)| *keeper).collect::<Vec<_>>(), [Keeper::Output(result)]);
        assert_eq!((schedule.passes.first_write(result), list[2].reductions.len()), (1, 0));
        // The first two passes read the input. The second one reads each element before it writes there.
        let needs = schedule.requirements();
        assert!(needs.scratch.is_empty() && needs.may_share.len() == 1, "{needs:?}");
    });
}

#[test]
fn what_is_cheap_is_computed_anew() {
    let build = |builder: &mut FunctionBuilder<'_>, x: Value| {
        let mean = reduced(builder, Reduction::Sum, x);
        let x = map(builder, ScalarOp::Sub, &[x, mean]);
        let squares = map(builder, ScalarOp::Mul, &[x, x]);
        let variance = reduced(builder, Reduction::Sum, squares);
        let deviation = map(builder, ScalarOp::Sqrt, &[variance]);
        vec![map(builder, ScalarOp::Div, &[x, deviation])]
    };
    check(build, |schedule, result| {
        assert_eq!((schedule.passes.list.len(), schedule.passes.kept.len()), (3, 0));
        assert_eq!(schedule.passes.first_write(result), 2);
        assert!(schedule.passes.list[2].numbers.is_some());
        assert_eq!(schedule.requirements().may_share.len(), 1);
    });
}

#[test]
fn an_input_that_is_read_again_keeps_its_memory() {
    let build = |builder: &mut FunctionBuilder<'_>, x: Value| {
        let shares = softmax(builder, x);
        vec![map(builder, ScalarOp::Add, &[shares, x])]
    };
    check(build, |schedule, _| {
        assert_eq!(schedule.passes.list.len(), 3);
        assert!(schedule.requirements().may_share.is_empty());
    });
}

#[test]
fn results_of_a_row_are_written_behind_its_last_reduction() {
    let build = |builder: &mut FunctionBuilder<'_>, x: Value| {
        let (greatest, least) = (reduced(builder, Reduction::Max, x), reduced(builder, Reduction::Min, x));
        vec![map(builder, ScalarOp::Sub, &[greatest, least]), greatest]
    };
    check(build, |schedule, _| {
        let list = &schedule.passes.list;
        assert_eq!((list.len(), list[0].reductions.len()), (2, 2));
        assert_eq!(list[1].numbers.as_ref().map(|(_, results)| results.len()), Some(2));
        assert!(list[1].elements.is_empty());
    });
}

#[test]
fn rows_that_run_at_the_same_time_keep_rows_of_their_own() {
    let build = |builder: &mut FunctionBuilder<'_>, x: Value| {
        let x = map(builder, ScalarOp::Exp, &[x]);
        vec![softmax(builder, x)]
    };
    for (machine, positions) in [(&MACHINES[0].capabilities, 1), (&GPUS[0].capabilities, 3)] {
        check_for(machine, build, |schedule, _| {
            assert_eq!(schedule.requirements().scratch, [4 * 100]);
            let mut kernel = schedule.kernels(&[]).expect("floats").remove(0).kernel;
            if positions > 1 {
                with_copies(&mut kernel, &[], &Assumed::default());
                assert!(kernel.buffers.iter().any(|buffer| buffer.kind == BufferKind::Scratch && buffer.elements == 300));
            }
            let places = apart(kernel.pointer_params().count());
            let launches = grid::launches(&kernel, &[], &Assumed::default(), &places).expect("few positions");
            assert_eq!(launches.iter().map(|launch| launch.kernel.grid.map(|grid| grid.positions)).collect::<Vec<_>>(), [Some(positions)]);
        });
    }
}

/// Tests a group with complex numbers in its work, which no kernel computes.
#[test]
fn what_has_no_lowering_is_said() {
    let build = |builder: &mut FunctionBuilder<'_>, x: Value| {
        let mut e = ExpressionBuilder::new(&[ElementType::F32]);
        let real = e.input(0);
        let complex = e.convert(real, ElementType::C64);
        let real = e.convert(complex, ElementType::F32);
        let x = builder.map(&[x], e.finish(vec![real])).expect("one shape");
        vec![softmax(builder, x)]
    };
    check(build, |schedule, _| assert!(schedule.kernels(&[]).is_err()));
}
