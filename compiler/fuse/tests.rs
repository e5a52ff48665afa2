//! Tests of merges on small graphs: groups that merge, and groups that must not.

use super::{Fusions, Group, Grouped, Node, group, unroll};
use crate::ir::builder::FunctionBuilder;
use crate::ir::{ElementType, ExpressionBuilder, Module, Op, Reduction, ScalarOp, TensorType, Type, Value, ZeroPoints, verify};

const SHAPE: [u64; 2] = [4, 64];

/// A graph of floats in the making.
struct Graph<'m> {
    builder: FunctionBuilder<'m>,
}

impl Graph<'_> {
    fn input(&mut self, shape: &[u64]) -> Value {
        self.builder.param(Type::Tensor(TensorType::of(ElementType::F32, shape)), None)
    }

    /// Operands combined by an operation, one after the other.
    fn map(&mut self, op: ScalarOp, operands: &[Value]) -> Value {
        let mut e = ExpressionBuilder::new(&vec![ElementType::F32; operands.len()]);
        let inputs: Vec<_> = (0..operands.len()).map(|i| e.input(i)).collect();
        let result = match &inputs[..] {
            [one] => e.op(op, &[*one]),
            [first, rest @ ..] => rest.iter().try_fold(*first, |sum, &n| e.op(op, &[sum, n])),
            [] => unreachable!("maps have operands"),
        };
        let result = result.expect("floats");
        self.builder.map(operands, e.finish(vec![result])).expect("shapes that broadcast")
    }

    fn add(&mut self, operands: &[Value]) -> Value {
        self.map(ScalarOp::Add, operands)
    }

    /// Sums a tensor along its rows.
    fn reduced(&mut self, value: Value) -> Value {
        self.builder.reduce(value, Reduction::Sum, vec![1]).expect("two dimensions")
    }

    fn product(&mut self, value: Value) -> Value {
        let ty = TensorType::of(ElementType::F32, &[SHAPE[1], SHAPE[1]]);
        let weights = self.builder.literal(ty, vec![0; (4 * SHAPE[1] * SHAPE[1]) as usize]).expect("as many bytes");
        self.builder.matmul(value, weights, ZeroPoints::NONE, ElementType::F32).expect("one depth")
    }
}

/// Groups a graph with all merges allowed.
fn grouped(build: impl FnOnce(&mut Graph<'_>) -> Vec<Value>) -> Vec<Group> {
    grouped_with(build, &Fusions::All).nodes.into_iter().map(of_node).collect()
}

fn of_node(node: Node) -> Group {
    let Node::Group(group) = node else { panic!("there is no control flow") };
    *group
}

fn grouped_with(build: impl FnOnce(&mut Graph<'_>) -> Vec<Value>, fusions: &Fusions) -> Grouped {
    let mut module = Module::default();
    let mut graph = Graph { builder: FunctionBuilder::new(&mut module, "main") };
    let results = build(&mut graph);
    let function = graph.builder.finish_method("main", results);
    crate::ir::verify(&module).expect("a sound module");
    group(unroll::unroll(verify(&module).expect("sound"), function).expect("no control flow"), &module, fusions)
}

#[test]
fn a_diamond_is_one_group() {
    let diamond = |graph: &mut Graph<'_>| {
        let x = graph.input(&SHAPE);
        let x = graph.product(x);
        let (a, b) = (graph.map(ScalarOp::Abs, &[x]), graph.map(ScalarOp::Neg, &[x]));
        let b = graph.map(ScalarOp::Exp, &[b]);
        vec![graph.add(&[a, b])]
    };
    let groups = grouped(diamond);
    assert_eq!(groups.len(), 1);
    assert!(groups[0].root().is_some() && groups[0].outputs.len() == 1, "{groups:?}");
    let apart = grouped_with(diamond, &Fusions::none());
    assert!(apart.nodes.len() > 1 && apart.merges.is_empty());
}

#[test]
fn a_residual_is_stored_beside_what_is_added_to_it() {
    let groups = grouped(|graph| {
        let (x, y) = (graph.input(&SHAPE), graph.input(&SHAPE));
        let x = graph.product(x);
        let sum = graph.add(&[x, y]);
        vec![x, sum]
    });
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].outputs.len(), 2);
}

#[test]
fn what_a_product_stands_between_does_not_merge() {
    let groups = grouped(|graph| {
        let x = graph.input(&SHAPE);
        let a = graph.map(ScalarOp::Abs, &[x]);
        let b = graph.product(a);
        let b = graph.product(b);
        vec![graph.add(&[a, b])]
    });
    assert_eq!(groups.len(), 3);
}

#[test]
fn what_a_group_needs_runs_before_it() {
    let groups = grouped(|graph| {
        let (x, y) = (graph.input(&SHAPE), graph.input(&SHAPE));
        let x = graph.product(x);
        let y = graph.builder.transpose(y, vec![1, 0]).expect("a permutation");
        let y = graph.builder.transpose(y, vec![1, 0]).expect("a permutation");
        let sum = graph.add(&[x, y]);
        vec![x, sum]
    });
    let is_product = |group: &Group| group.outputs.len() == 2;
    assert_eq!(groups.iter().position(is_product), Some(2), "{groups:?}");
}

#[test]
fn views_of_a_result_are_not_read_in_registers() {
    let groups = grouped(|graph| {
        let x = graph.input(&[4, 4]);
        let a = graph.map(ScalarOp::Abs, &[x]);
        let turned = graph.builder.reshape(a, vec![2, 8].into_iter().map(crate::ir::Extent::Static).collect()).expect("as many");
        vec![a, graph.map(ScalarOp::Exp, &[turned])]
    });
    assert_eq!(groups.len(), 2);
}

#[test]
fn readers_of_one_tensor_merge() {
    let groups = grouped(|graph| {
        let x = graph.input(&SHAPE);
        vec![graph.map(ScalarOp::Abs, &[x]), graph.map(ScalarOp::Exp, &[x])]
    });
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].outputs.len(), 2);
}

#[test]
fn a_softmax_and_a_normalisation_are_one_group_each() {
    let groups = grouped(|graph| {
        let x = graph.input(&SHAPE);
        let greatest = graph.builder.reduce(x, Reduction::Max, vec![1]).expect("two dimensions");
        let x = graph.map(ScalarOp::Sub, &[x, greatest]);
        let x = graph.map(ScalarOp::Exp, &[x]);
        let sum = graph.reduced(x);
        vec![graph.map(ScalarOp::Div, &[x, sum])]
    });
    assert!(groups.len() == 1 && groups[0].rowwise().is_some(), "{groups:?}");
    let groups = grouped(|graph| {
        let (x, scale) = (graph.input(&SHAPE), graph.input(&[1, SHAPE[1]]));
        let mean = graph.reduced(x);
        let x = graph.map(ScalarOp::Sub, &[x, mean]);
        let squares = graph.map(ScalarOp::Mul, &[x, x]);
        let variance = graph.reduced(squares);
        let deviation = graph.map(ScalarOp::Sqrt, &[variance]);
        let x = graph.map(ScalarOp::Div, &[x, deviation]);
        vec![graph.map(ScalarOp::Mul, &[x, scale])]
    });
    assert!(groups.len() == 1 && groups[0].rowwise().is_some(), "{groups:?}");
    assert_eq!(groups[0].outputs.len(), 1);
}

#[test]
fn reductions_of_columns_are_kernels_of_their_own() {
    let groups = grouped(|graph| {
        let x = graph.input(&SHAPE);
        let (rows, columns) = (graph.reduced(x), graph.builder.reduce(x, Reduction::Sum, vec![0]).expect("two dimensions"));
        vec![graph.add(&[x, rows]), graph.add(&[x, columns])]
    });
    let rowwise = groups.iter().filter(|group| group.rowwise().is_some()).count();
    assert_eq!((groups.len(), rowwise), (2, 1), "{groups:?}");
}

#[test]
fn cheap_work_is_computed_anew_rather_than_stored() {
    // A transposed result stands between the two readers.
    let build = |op: ScalarOp| {
        move |graph: &mut Graph<'_>| {
            let x = graph.input(&[8, 8]);
            let a = graph.map(op, &[x]);
            let b = graph.map(ScalarOp::Exp, &[a]);
            let b = graph.builder.transpose(b, vec![1, 0]).expect("a permutation");
            vec![graph.add(&[a, b])]
        }
    };
    let (cheap, dear) = (grouped(build(ScalarOp::Abs)), grouped(build(ScalarOp::Tanh)));
    let written = |groups: &[Group]| groups.iter().map(|group| group.outputs.len()).sum::<usize>();
    assert_eq!((written(&cheap), written(&dear)), (3, 4), "{cheap:?}");
}

#[test]
fn some_merges_are_made_alone() {
    let build = |graph: &mut Graph<'_>| {
        let x = graph.input(&SHAPE);
        let (a, b) = (graph.product(x), graph.product(x));
        let (c, d) = (graph.map(ScalarOp::Abs, &[a]), graph.map(ScalarOp::Abs, &[b]));
        vec![a, b, c, d]
    };
    let all = grouped_with(build, &Fusions::All);
    assert_eq!((all.nodes.len(), all.merges.len()), (2, 2));
    let one = grouped_with(build, &Fusions::These([all.merges[1]].into_iter().collect()));
    assert_eq!((one.nodes.len(), one.merges), (3, vec![all.merges[1]]));
    let merged: Vec<Group> = one.nodes.into_iter().map(of_node).filter(|group| group.outputs.len() == 2).collect();
    assert_eq!(merged.len(), 1);
    assert_eq!(one.function.insts[merged[0].insts[0]].op(), Op::Matmul);
}
