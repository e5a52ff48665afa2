//! Extremes of narrow integers that are computed before they are stored, in work that ends with saturation, and the work that reads them.

use super::Random;
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{ElementType, ExpressionBuilder, Module, Reduction, Scalar, ScalarOp, Tensor, TensorType, Type, Value, WindowGeometry};

/// Region of an extreme.
#[derive(Clone, Copy, Debug)]
enum Over {
    Windows,
    Rows,
    Columns,
    Image,
}

/// Returns modules of the greatest and least elements of each narrow type over every region, alone and with work after them. Inputs are 32-bit
/// integers, most of which saturate.
pub fn modules() -> impl Iterator<Item = (String, Module, Tensor)> {
    use ElementType as E;
    let kinds = [Over::Windows, Over::Rows, Over::Columns, Over::Image]
        .into_iter()
        .flat_map(|over| [Reduction::Max, Reduction::Min].map(|reduction| (over, reduction)));
    let cases = kinds.flat_map(|kind| [E::I8, E::U8, E::I16, E::U16].map(|element| (kind, element)));
    cases.flat_map(|(kind, element)| [false, true].map(|goes_on| module(kind, element, goes_on)))
}

fn module((over, reduction): (Over, Reduction), element: ElementType, goes_on: bool) -> (String, Module, Tensor) {
    let shape = [2, 4, 6, 19];
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let input = builder.param(Type::Tensor(TensorType::of(ElementType::I32, &shape)), None);
    let moved = map(&mut builder, input, ElementType::I32, |e, x| {
        let seven = e.constant(Scalar::i32(7));
        let sum = e.op(ScalarOp::Add, &[x, seven]).expect("numbers of 32 bits");
        e.node(ScalarOp::ConvertSaturating, &[sum], element)
    });
    let geometry = || WindowGeometry {
        strides: vec![2; 2],
        dilation: vec![1; 2],
        padding_low: vec![1, 0],
        padding_high: vec![1, 0],
        positions: vec![],
        shift: vec![],
    };
    let extreme = match over {
        Over::Windows => builder.window(moved, reduction, vec![2, 2], geometry()),
        Over::Rows => builder.reduce(moved, reduction, vec![3]),
        Over::Columns => builder.reduce(moved, reduction, vec![1]),
        Over::Image => builder.reduce(moved, reduction, vec![1, 2, 3]),
    };
    let mut result = extreme.expect("four dimensions");
    if goes_on {
        result = map(&mut builder, result, element, |e, x| {
            let wide = e.convert(x, ElementType::I32);
            let hundred = e.constant(Scalar::i32(100));
            e.op(ScalarOp::Mul, &[wide, hundred]).expect("numbers of 32 bits")
        });
    }
    builder.finish_method("forward", vec![result]);
    let mut random = Random(u64::from(element.bits()));
    let reach = 1 << (element.bits() + 2);
    let bytes = (0..shape.iter().product::<u64>()).flat_map(|_| (random.below(reach) as i32 - (reach / 2) as i32).to_le_bytes()).collect();
    let name = format!("{reduction:?} of {element} over {over:?}, {}", if goes_on { "which goes on" } else { "alone" });
    (name, module, Tensor { element: ElementType::I32, shape: shape.to_vec(), bytes })
}

/// Adds element-wise work on one tensor.
fn map(
    builder: &mut FunctionBuilder<'_>,
    operand: Value,
    element: ElementType,
    work: impl FnOnce(&mut ExpressionBuilder, modelc::ir::Node) -> modelc::ir::Node,
) -> Value {
    let mut expression = ExpressionBuilder::new(&[element]);
    let x = expression.input(0);
    let result = work(&mut expression, x);
    builder.map(&[operand], expression.finish(vec![result])).expect("work on one tensor")
}
