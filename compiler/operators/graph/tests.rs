//! Graphs: folding, movement that changes nothing, extents that must be equal.

use super::elements::{Elements, ListItem};
use super::facts::{InputExtent, Measured};
use super::movement::inverse;
use super::{Graph, extents};
use crate::ir::{ConstantData, ElementType, Extent, IndexOperation, Interval, Module, Op, ScalarOp, TensorType, Type, Value};
use crate::operators::Error;

fn parameter(g: &mut Graph<'_>, shape: &[u64]) -> Value {
    g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, shape)), None)
}

/// A parameter whose first extent is 1 to `most`.
fn dynamic(g: &mut Graph<'_>, most: u64, shape: &[u64]) -> Value {
    let value = parameter(g, &[&[most], shape].concat());
    g.measure(value, 0, Interval { low: 1, high: most as i64 });
    value
}

fn count(g: &Graph<'_>, op: Op) -> usize {
    g.function().body.iter().filter(|&&inst| g.function().insts[inst].op() == op).count()
}

#[test]
fn transposed_constants_hold_the_same_elements() {
    let ty = TensorType::of(ElementType::I16, &[2, 3]);
    let bytes: Vec<u8> = [1i16, 2, 3, 4, 5, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
    let moved = ConstantData { ty, data: bytes.into() }.permuted(&[1, 0]).unwrap();
    assert_eq!(moved.ty, TensorType::of(ElementType::I16, &[3, 2]));
    let expected: Vec<u8> = [1i16, 4, 2, 5, 3, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(moved.data.bytes(), expected);
}

#[test]
fn transposes_that_cancel_leave_the_operand() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = parameter(&mut g, &[2, 3, 4]);
    let y = g.transpose(x, &[2, 0, 1]).unwrap();
    assert_eq!(g.shape(y).unwrap(), [4, 2, 3]);
    assert_eq!(g.transpose(y, &inverse(&[2, 0, 1])).unwrap(), x);
    assert_eq!(g.transpose(y, &[0, 1, 7]), Err(Error::Permutation));
}

#[test]
fn what_changes_nothing_is_no_instruction() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = dynamic(&mut g, 8, &[3]);
    let shape = g.extents(x);
    let before = g.function().body.len();
    assert_eq!(g.reshape(x, &shape), Ok(x));
    assert_eq!(g.broadcast(x, &shape), Ok(x));
    assert_eq!(g.slice(x, &extents(&[0, 0]), &shape, &[1, 1]), Ok(x));
    assert_eq!(g.pad(x, &[0, 0], &[0, 0], crate::ir::Scalar::f32(0.0)), Ok(x));
    assert_eq!(g.concat(&[x], 1), Ok(x));
    assert_eq!(g.convert(x, ElementType::F32), Ok(x));
    assert_eq!(g.function().body.len(), before);
}

#[test]
fn reshapes_of_reshapes_are_one() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = parameter(&mut g, &[2, 6]);
    let y = g.reshape(x, &extents(&[3, 4])).unwrap();
    assert_eq!(g.reshape(y, &extents(&[2, 6])), Ok(x));
}

#[test]
fn arithmetic_on_known_extents_is_folded() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let n = Extent::Static;
    assert_eq!(g.add(n(2), n(3)), Ok(n(5)));
    assert_eq!(g.sub(n(2), n(3)), Ok(n(0)), "no extent is below 0");
    assert_eq!(g.mul(n(2), n(3)), Ok(n(6)));
    assert_eq!(g.floor_div(n(7), n(2)), Ok(n(3)));
    assert_eq!(g.ceil_div(n(7), n(2)), Ok(n(4)));
    assert_eq!(g.min(n(7), n(2)), Ok(n(2)));
    assert_eq!(g.max(n(7), n(2)), Ok(n(7)));
    assert_eq!(g.product(&[n(u64::MAX), n(2)]), Err(Error::TooManyElements));
    assert_eq!(g.add(n(u64::MAX), n(2)), Err(Error::DimensionTooLarge));
    assert!(g.function().body.is_empty());
}

#[test]
fn arithmetic_on_run_time_extents_keeps_their_bounds() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = dynamic(&mut g, 8, &[3]);
    let extent = g.extents(x)[0];
    let half = g.ceil_div(extent, Extent::Static(2)).unwrap();
    assert_eq!(g.interval(half), Interval { low: 1, high: 4 });
    let less = g.sub(extent, Extent::Static(5)).unwrap();
    assert_eq!(g.interval(less), Interval { low: 0, high: 3 });
    assert_eq!(g.sub(extent, extent), Ok(Extent::Static(0)));
    assert_eq!(g.shape(x), Err(Error::DynamicExtent));
    assert_eq!(g.bounds(x), [8, 3]);
}

#[test]
fn joined_run_time_extents_are_their_sum() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let (x, y) = (dynamic(&mut g, 8, &[3]), parameter(&mut g, &[2, 3]));
    let joined = g.concat(&[x, y], 0).unwrap();
    assert_eq!(g.bounds(joined), [10, 3]);
    let padded = g.pad(x, &[1, 0], &[2, -1], crate::ir::Scalar::f32(0.0)).unwrap();
    assert_eq!(g.bounds(padded), [11, 2]);
}

#[test]
fn extents_of_inputs_that_meet_become_one() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let (x, y, z) = (dynamic(&mut g, 8, &[3]), dynamic(&mut g, 8, &[3]), dynamic(&mut g, 7, &[3]));
    assert_ne!(g.extents(x), g.extents(y));
    let sum = g.compute(&[x, y], |t, n| Ok::<_, Error>(t.add(n[0], n[1])?)).unwrap();
    assert_eq!(g.extents(x), g.extents(y));
    assert_eq!(g.extents(sum), g.extents(x));
    assert!(matches!(g.meet(&[x, z]), Err(Error::UnrelatedExtents { .. })), "their bounds differ");
    // Only a requirement is a fact, and not the question whether extents stay equal.
    for (input, value) in [x, z].into_iter().enumerate() {
        let Extent::Value(index) = g.extents(value)[0] else { panic!("the extent is dynamic") };
        g.inputs.push(Measured { index, of: InputExtent { input, dimension: 0 } });
    }
    let other = g.extents(z)[0];
    assert_eq!(g.kept(x, 0, other, false), Ok(None));
    assert!(!g.facts.is_renewed());
    assert!(g.meet(&[x, z]).is_err() && g.facts.is_renewed());
    let facts = [0, 1].map(|input| g.facts.interval(InputExtent { input, dimension: 0 }).map(|interval| interval.high));
    assert_eq!(facts, [Some(7); 2]);
    let fixed = parameter(&mut g, &[4, 3]);
    assert!(matches!(g.meet(&[x, fixed]), Err(Error::FixedExtent { must_be: 4, .. })));
}

#[test]
fn what_depends_on_constants_only_is_evaluated() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let (one, x) = (g.constant_i32(&[2], &[1, 2]).unwrap(), parameter(&mut g, &[2]));
    let twice = g.compute(&[one], |t, n| Ok::<_, Error>(t.add(n[0], n[0])?)).unwrap();
    assert_eq!(g.known(twice), None, "it is no constant");
    assert_eq!(g.evaluated(twice), Some(&[2, 0, 0, 0, 4, 0, 0, 0][..]));
    assert_eq!(g.evaluated(x), None);
    let settled = g.settled(twice).unwrap();
    assert!(g.constant_of(settled).is_some());
}

#[test]
fn transposed_constants_are_settled() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let weights = g.constant_i32(&[1, 2], &[1, 2]).unwrap();
    let turned = g.transpose(weights, &[1, 0]).unwrap();
    let settled = g.settle_transpose(turned).unwrap();
    assert_eq!((g.shape(settled), g.constant_of(settled).is_some()), (Ok(vec![2, 1]), true));
    assert_eq!(count(&g, Op::Transpose), 1, "the instruction stays for others");
}

#[test]
fn what_cancels_in_a_difference_is_no_instruction() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = dynamic(&mut g, 8, &[]);
    let s = g.extents(x)[0];
    let three = Extent::Static(3);
    let more = g.add(s, three).unwrap();
    assert_eq!(g.sub(more, s).unwrap(), three);
    assert_eq!(g.sub(more, three).unwrap(), s);
    let twice = g.mul(s, Extent::Static(2)).unwrap();
    assert_eq!(g.sub(twice, s).unwrap(), s);
    assert_eq!(g.add(s, three).unwrap(), more, "what was computed before");
    // A position that a tensor holds, and as much after it as there is.
    let at = parameter(&mut g, &[]);
    let at = g.convert(at, ElementType::I64).unwrap();
    let at = g.load_integer(at, Interval { low: i64::MIN, high: i64::MAX }).unwrap();
    let Extent::Value(extent) = s else { panic!("the extent is known") };
    let end = g.compute_integer(IndexOperation::Add, at, extent).unwrap();
    assert_eq!(g.compute_integer(IndexOperation::Subtract, end, at).unwrap(), extent);
}

#[test]
fn bounds_decide_between_two_extents() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = dynamic(&mut g, 8, &[]);
    let s = g.extents(x)[0];
    assert_eq!(g.min(s, Extent::Static(8)).unwrap(), s);
    assert_eq!(g.min(Extent::Static(1), s).unwrap(), Extent::Static(1));
    assert_eq!(g.max(s, Extent::Static(9)).unwrap(), Extent::Static(9));
    assert!(g.min(s, Extent::Static(5)).unwrap().as_static().is_none());
}

#[test]
fn quotients_of_products_cancel() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = dynamic(&mut g, 8, &[6]);
    let shape = g.extents(x);
    assert_eq!(g.quotient(&shape, &extents(&[3])).unwrap(), g.mul(shape[0], Extent::Static(2)).unwrap());
    assert_eq!(g.quotient(&shape, &shape[..1]).unwrap(), Extent::Static(6));
    let open = g.quotient(&shape, &extents(&[4])).unwrap();
    assert_eq!(g.interval(open), Interval { low: 1, high: 12 });
}

#[test]
fn sizes_times_exact_factors_are_extents() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = dynamic(&mut g, 9, &[]);
    let rows = g.extents(x)[0];
    let tensor = g.extent_tensor(rows, ElementType::I64).unwrap();
    let mut size = |factor: f64, rounding: ScalarOp| {
        let float = g.convert(tensor, ElementType::F64).unwrap();
        let product = g.compute::<Error>(&[float], |terms, x| {
            let factor = terms.f64(factor);
            let product = terms.mul(factor, x[0])?;
            Ok(terms.op(rounding, &[product])?)
        });
        let size = g.convert(product.unwrap(), ElementType::I64).unwrap();
        let mut elements = Elements::default();
        (elements.item(&mut g, size, 0).unwrap().and_then(ListItem::extent), elements.most(&g, size, 0))
    };
    let (double, half, above) = (size(2.0, ScalarOp::Floor), size(0.5, ScalarOp::Trunc), size(1.25, ScalarOp::Ceil));
    // The product with a number that is no fraction of a power of two is rounded: its bound is known.
    assert_eq!(size(1.7, ScalarOp::Trunc), (None, Some(15)));
    assert_eq!(double, (Some(g.mul(rows, Extent::Static(2)).unwrap()), Some(18)));
    assert_eq!(half, (Some(g.floor_div(rows, Extent::Static(2)).unwrap()), Some(4)));
    let product = g.mul(rows, Extent::Static(5)).unwrap();
    assert_eq!(above, (Some(g.ceil_div(product, Extent::Static(4)).unwrap()), Some(12)));
}
