//! Tests that every operation has code, and that saturating conversions are right.

use super::*;
use crate::ir::{ExpressionBuilder, Node};
use crate::kernel::BufferKind;
use crate::kernel::interpret::interpret;
use crate::schedule::elementwise::expression::Evaluator;
use rustc_hash::FxHashMap;

/// Returns the types that kernels compute with and that have the operation.
fn types_of(op: ScalarOp) -> Vec<Vec<ElementType>> {
    let each = ElementType::ALL.iter().map(|(ty, _)| *ty).filter(|&ty| register_lane(ty).is_ok());
    let operands = |ty: ElementType| if op == ScalarOp::Select { vec![ElementType::Bool, ty, ty] } else { vec![ty; op.arity()] };
    let convert = matches!(op, ScalarOp::Convert | ScalarOp::ConvertSaturating);
    each.map(operands).filter(|types| convert || op.result_type(types).is_some()).collect()
}

/// Tests whether an operation becomes kernel code.
fn is_lowered(op: ScalarOp, types: &[ElementType]) -> bool {
    let mut builder = ExpressionBuilder::new(types);
    let operands: Vec<Node> = (0..types.len()).map(|i| builder.input(i)).collect();
    let node = match op.result_type(types) {
        Some(ty) => builder.node(op, &operands, ty),
        None => builder.node(op, &operands, ElementType::I32),
    };
    let expression = builder.finish(vec![node]);
    let mut b = KernelBuilder::new("operation");
    let inputs: Vec<Value> = types.iter().map(|&ty| zero(&mut b, ty)).collect();
    let (requantizers, as_stored, ranges) = (FxHashMap::default(), FxHashMap::default(), vec![None; types.len()]);
    let tables = |_| unreachable!("no table");
    let evaluator = Evaluator {
        expression: &expression,
        lanes: 4,
        input_ranges: &ranges,
        tables: &tables,
        requantizers: &requantizers,
        as_stored: &as_stored,
        fma: true,
        quotients: Quotients::Floats,
        arithmetic: Arithmetic::PLAIN,
    };
    let is_lowered = evaluator.run(&mut b, &inputs).is_ok();
    if is_lowered {
        crate::kernel::verify::verify(&b.finish()).unwrap_or_else(|error| panic!("{} on {types:?}: {error}", op.name()));
    }
    is_lowered
}

fn zero(b: &mut KernelBuilder, ty: ElementType) -> Value {
    match Type::vector(register_lane(ty).expect("a type that kernels compute with"), 4) {
        Type { lane: Lane::Mask, .. } => b.mask(4, false),
        ty if matches!(ty.lane, Lane::F32 | Lane::F64) => b.float(ty, 0.0),
        ty => b.int(ty, 0),
    }
}

#[test]
fn every_operation_has_code_for_every_type_that_it_takes() {
    let missing =
        |&op: &ScalarOp| types_of(op).into_iter().filter(move |types| !is_lowered(op, types)).map(move |types| (op.name(), types[0]));
    let missing: Vec<(&str, ElementType)> = ScalarOp::PLAIN.iter().flat_map(missing).collect();
    assert_eq!(missing, []);
}

/// Returns the expected result of a saturating conversion, in its lane.
fn saturated_number(from: ElementType, to: ElementType, number: i64) -> i64 {
    let mut b = KernelBuilder::new("saturate");
    let lane = register_lane(to).expect("an integer");
    let out = b.buffer("out", BufferKind::Output, lane, 1, 8);
    let value = b.int(Type::scalar(register_lane(from).expect("an integer")), number);
    let call = Call {
        lanes: 1,
        fma: false,
        quotients: Quotients::Floats,
        arithmetic: Arithmetic::PLAIN,
        ty: to,
        types: &[from],
        ranges: &[type_range(from)],
        clamped: None,
        arguments: &[value],
    };
    let value = call.emit(&mut b, ScalarOp::ConvertSaturating).expect("integers");
    let zero = b.index(0);
    b.store(out, zero, 0, value);
    let mut buffers = vec![vec![0; lane.bytes() as usize]];
    interpret(&b.finish(), &mut buffers, &[]).expect("the kernel runs");
    let bits = buffers[0].iter().rev().fold(0i64, |bits, &byte| bits << 8 | i64::from(byte));
    if lane == Lane::I64 { bits } else { i64::from(bits as i32) }
}

#[test]
fn saturating_conversions_give_the_nearest_integer() {
    use ElementType::{I8, I16, I32, I64, U8, U16, U32, U64};
    let types = [I8, I16, I32, I64, U8, U16, U32, U64];
    for (from, to) in types.into_iter().flat_map(|from| types.map(|to| (from, to))) {
        let range = type_range(from);
        for number in
            [range.low, -1, 0, 1, 100, 40_000, 3_000_000_000, range.high].into_iter().filter(|&n| within(Range::exactly(n), range))
        {
            let wanted = type_range(to);
            let wanted = number.clamp(wanted.low, wanted.high);
            let lane = if to.bits() == 64 { wanted as i64 } else { i64::from(wanted as i32) };
            let given = if from.bits() == 64 { number as i64 } else { i64::from(number as i32) };
            assert_eq!(saturated_number(from, to, given), lane, "{number} of {from} as {to}");
        }
    }
}
