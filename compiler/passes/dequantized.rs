//! Floats that are integers on a scale: `scale × (integer − zero)`, seen through movement of elements.

use super::edit::Edit;
use crate::ir::*;

/// A float factor.
#[derive(Clone, Copy)]
pub(super) enum Amount {
    /// A number for all elements.
    Number(f32),
    /// A tensor of floats, of any width, that broadcasts over the integers.
    Tensor(Value),
}

/// The integer that stands for zero.
#[derive(Clone, Copy)]
pub(super) enum Zero {
    /// A static integer.
    Known(i64),
    /// A tensor of integers that broadcasts over the others, each in their range.
    Tensor(Value),
}

impl Zero {
    pub fn known(self) -> Option<i64> {
        if let Self::Known(zero) = self { Some(zero) } else { None }
    }
}

/// A value that is `scale × (integers − zero)`, where integers have eight bits or fewer.
#[derive(Clone, Copy)]
pub(super) struct Dequantized {
    pub integers: Value,
    pub scale: Amount,
    pub zero: Zero,
}

impl Dequantized {
    /// The largest magnitude of `integer − zero`.
    pub fn largest_difference(&self, edit: &Edit<'_>) -> u64 {
        let (low, high) = edit.function.tensor(self.integers).element.integer_range().unwrap_or((0, 0));
        let zeros = self.zero.known().map_or([low, high], |zero| [zero.into(); 2]);
        (high - zeros[0]).unsigned_abs().max((low - zeros[1]).unsigned_abs()) as u64
    }

    /// Tests whether all elements share one scale and one zero point.
    fn is_uniform(&self, edit: &Edit<'_>) -> bool {
        let single = |value| edit.static_shape(value).is_some_and(|shape| shape.iter().all(|&n| n == 1));
        let scale = if let Amount::Tensor(scale) = self.scale { single(scale) } else { true };
        let zero = if let Zero::Tensor(zero) = self.zero { single(zero) } else { true };
        scale && zero
    }
}

/// Returns a value as integers on a scale, or `None`. Movement is repeated on the integers. The instructions added for it are left for the caller to
/// remove.
pub(super) fn dequantized(edit: &mut Edit<'_>, value: Value) -> Option<Dequantized> {
    let data = edit.definition(value)?.clone();
    let moved = match &data.operation {
        Operation::Map(map) => return of_map(edit, &data, &map.expression, value),
        Operation::Reshape(_) | Operation::Transpose(_) | Operation::Slice(_) | Operation::Broadcast(_) => data.operation.clone(),
        Operation::Pad(pad) if pad.value.bits() == 0 => Operation::Pad(pad.clone()),
        _ => return None,
    };
    let inner = dequantized(edit, data.operands[0])?;
    if !inner.is_uniform(edit) {
        return None;
    }
    let moved = match moved {
        // The zero point pads the integers.
        Operation::Pad(pad) => {
            let element = edit.function.tensor(inner.integers).element;
            operators::Pad { value: Scalar::int(element, inner.zero.known()?), ..pad }.into()
        }
        moved => moved,
    };
    Some(Dequantized { integers: edit.insert_one(moved, &[inner.integers])?, ..inner })
}

/// `(convert(q) − zero) × scale`, the difference in binary32 or in integers of 32 bits: either is exact.
fn of_map(edit: &Edit<'_>, data: &InstData, expression: &Expression, value: Value) -> Option<Dequantized> {
    let [result] = expression.results[..] else { return None };
    let product = &expression.nodes[result];
    if product.op != ScalarOp::Mul || product.ty != ElementType::F32 {
        return None;
    }
    let (difference, scale) = match (difference(edit, data, product.operands[0]), difference(edit, data, product.operands[1])) {
        (Some(difference), None) => (difference, product.operands[1]),
        (None, Some(difference)) => (difference, product.operands[0]),
        _ => return None,
    };
    let unconverted = if expression.nodes[scale].op == ScalarOp::Convert { expression.nodes[scale].operands[0] } else { scale };
    let scale = match expression.nodes[unconverted].op {
        ScalarOp::Constant(number) => Amount::Number(number.as_f64() as f32),
        ScalarOp::Input(i) if expression.nodes[unconverted].ty.is_float() => Amount::Tensor(data.operands[i as usize]),
        _ => return None,
    };
    let (integers, zero) = difference;
    let same_shape = edit.function.tensor(integers).shape == edit.function.tensor(value).shape;
    same_shape.then_some(Dequantized { integers, scale, zero })
}

/// The integers and the zero of `convert(q) − zero`.
fn difference(edit: &Edit<'_>, data: &InstData, node: Node) -> Option<(Value, Zero)> {
    let nodes = &data.expression().nodes;
    let mut at = node;
    // A difference of integers is converted after it was taken.
    if nodes[at].op == ScalarOp::Convert && nodes[nodes[at].operands[0]].op == ScalarOp::Sub {
        at = nodes[at].operands[0];
    }
    if nodes[at].op != ScalarOp::Sub {
        return Some((bytes(edit, data, at)?, Zero::Known(0)));
    }
    let is_exact = matches!(nodes[at].ty, ElementType::F32 | ElementType::I32);
    let integers = bytes(edit, data, nodes[at].operands[0]).filter(|_| is_exact)?;
    Some((integers, zero(edit, data, nodes[at].operands[1], edit.function.tensor(integers).element)?))
}

/// The operand of at most eight bits that a node converts.
fn bytes(edit: &Edit<'_>, data: &InstData, node: Node) -> Option<Value> {
    let nodes = &data.expression().nodes;
    let ScalarOp::Input(i) = nodes[*nodes[node].operands.first().filter(|_| nodes[node].op == ScalarOp::Convert)?].op else { return None };
    let integers = data.operands[i as usize];
    let element = edit.function.tensor(integers).element;
    (element.is_integer() && element.bits() <= 8).then_some(integers)
}

/// A zero point in the range of the integers: a number, a constant whose elements are all one number, or a tensor.
fn zero(edit: &Edit<'_>, data: &InstData, mut node: Node, element: ElementType) -> Option<Zero> {
    let nodes = &data.expression().nodes;
    let (low, high) = element.integer_range()?;
    let known = |number: f64| (number.fract() == 0.0 && (low as f64..=high as f64).contains(&number)).then_some(Zero::Known(number as i64));
    if let ScalarOp::Constant(number) = nodes[node].op {
        return known(number.as_f64());
    }
    if nodes[node].op == ScalarOp::Convert {
        node = nodes[node].operands[0];
    }
    let ScalarOp::Input(i) = nodes[node].op else { return None };
    let value = data.operands[i as usize];
    match edit.moved_constant(value) {
        Some(constant) => known(the_only_number(edit, constant)?),
        None => is_within(edit, value, Interval::new(low as f64, high as f64)).then_some(Zero::Tensor(value)),
    }
}

/// Tests whether a number computed at run time is an integer within a range: a float clamped to the range and converted.
fn is_within(edit: &Edit<'_>, value: Value, Interval { low, high }: Interval<f64>) -> bool {
    let (mut at_least, mut at_most) = (false, false);
    let mut clamps = Clamps { edit, value, node: None, integral: edit.function.tensor(value).element.is_integer() };
    for (op, bound) in clamps.by_ref() {
        match op {
            // Later clamps win: a lower bound must not lie above the range unless a later upper bound follows.
            ScalarOp::Max(_) if bound >= low => at_least |= at_most || bound <= high,
            ScalarOp::Min(_) if bound <= high => at_most |= at_least || bound >= low,
            _ => {}
        }
    }
    at_least && at_most && clamps.integral
}

/// Iterates over the bounds that a value is clamped to, the last clamp first.
struct Clamps<'e, 'm> {
    edit: &'e Edit<'m>,
    value: Value,
    node: Option<Node>,
    /// `true` if the value is an integer after its clamps.
    integral: bool,
}

impl Iterator for Clamps<'_, '_> {
    type Item = (ScalarOp, f64);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let data = self.edit.definition(self.value)?;
            if data.op() == Op::Reshape {
                self.value = data.operands[0];
                continue;
            }
            let Operation::Map(map) = &data.operation else { return None };
            let nodes = &map.expression.nodes;
            let result = data.results.iter().position(|&v| v == self.value)?;
            let NodeData { op, operands, ty } = &nodes[self.node.unwrap_or(map.expression.results[result])];
            let number = |n: &Node| if let ScalarOp::Constant(number) = nodes[*n].op { Some(number.as_f64()) } else { None };
            match op {
                ScalarOp::Input(i) => (self.value, self.node) = (data.operands[*i as usize], None),
                ScalarOp::Convert => (self.node, self.integral) = (Some(operands[0]), self.integral || ty.is_integer()),
                ScalarOp::Max(_) | ScalarOp::Min(_) => {
                    let bound = operands.iter().find_map(number)?;
                    self.node = operands.iter().copied().find(|n| number(n).is_none());
                    return Some((*op, bound));
                }
                _ => return None,
            }
        }
    }
}

/// The number that every element of a constant is, in whatever order they come.
fn the_only_number(edit: &Edit<'_>, constant: Constant) -> Option<f64> {
    let constant = &edit.module.constants[constant];
    let element = constant.ty.element;
    if edit.module.open_constants || element.bits() < 8 || matches!(element, ElementType::C64 | ElementType::C128) {
        return None;
    }
    let size = element.bits() as usize / 8;
    let bytes = constant.data.bytes();
    let first = bytes.get(..size)?;
    bytes.chunks(size).all(|chunk| chunk == first).then(|| Scalar::from_bytes(element, first).as_f64())
}
