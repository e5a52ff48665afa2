//! Result types: for each operator, a rule from operand types and attributes to the types of its results.
//!
//! The rules are the first line of defence against hostile models: every product and sum of extents is checked, and a
//! rule never allocates in proportion to a shape.

mod control;
mod indexed;
mod window;

use super::attribute::Attribute;
use super::module::{Function, Module, Value};
use super::op::Op;
use super::scalar::{Expression, Scalar};
use super::types::{ElementType, Extent, Interval, TensorType, Type};
pub use control::{call, external, if_else, load_state, store_state, while_loop};
pub use indexed::{gather, non_max_suppression, scan, scatter, top_k};
pub use window::{conv, window};

/// Tensors have at most this many dimensions; formats stop at 8 to 16.
pub const MAX_RANK: usize = 16;
/// The most elements of a tensor: more than any memory holds, and few enough that sizes of what is made of several tensors, windows and
/// padding fit 64 bits.
pub const MAX_ELEMENTS: u64 = 1 << 40;

/// What a rule sees.
pub struct Context<'a> {
    /// The module, for constants, states and called functions.
    pub module: &'a Module,
    /// The function that will hold the instruction.
    pub function: &'a Function,
    /// The operator.
    pub op: Op,
    /// Operands.
    pub operands: &'a [Value],
    /// Attributes, already checked to be of the row's kinds.
    pub attributes: &'a [Attribute],
}

/// Why an instruction cannot be typed: operands and attributes do not fit each other.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{op}: {message}")]
pub struct TypeError {
    /// The operator's name.
    pub op: &'static str,
    /// What does not fit.
    pub message: String,
}

/// A rule.
pub type Infer = fn(&Context<'_>) -> Result<Vec<Type>, TypeError>;
type Types = Result<Vec<Type>, TypeError>;

impl<'a> Context<'a> {
    fn error(&self, message: impl Into<String>) -> TypeError {
        TypeError { op: self.op.row().name, message: message.into() }
    }

    fn require(&self, condition: bool, message: impl FnOnce() -> String) -> Result<(), TypeError> {
        if condition { Ok(()) } else { Err(self.error(message())) }
    }

    fn tensor(&self, index: usize) -> Result<&'a TensorType, TypeError> {
        let ty = &self.function.values[self.operands[index]].ty;
        ty.as_tensor().ok_or_else(|| self.error(format!("operand {index} must be a tensor")))
    }

    fn index(&self, index: usize) -> Result<Interval, TypeError> {
        match self.function.values[self.operands[index]].ty {
            Type::Index(interval) => Ok(interval),
            _ => Err(self.error(format!("operand {index} must be an index"))),
        }
    }

    fn effect(&self, index: usize) -> Result<(), TypeError> {
        let ok = self.function.values[self.operands[index]].ty == Type::Effect;
        self.require(ok, || format!("operand {index} must be an effect token"))
    }

    fn attribute(&self, name: &str) -> &'a Attribute {
        &self.attributes[self.op.attribute_index(name)]
    }

    fn int(&self, name: &str) -> i64 {
        if let Attribute::Int(n) = self.attribute(name) { *n } else { 0 }
    }

    fn ints(&self, name: &str) -> &'a [i64] {
        if let Attribute::Ints(list) = self.attribute(name) { list } else { &[] }
    }

    fn extents(&self, name: &str) -> &'a [Extent] {
        if let Attribute::Extents(list) = self.attribute(name) { list } else { &[] }
    }

    fn element(&self, name: &str) -> ElementType {
        if let Attribute::Element(e) = self.attribute(name) { *e } else { ElementType::I32 }
    }

    fn axis(&self, axis: i64, rank: usize) -> Result<usize, TypeError> {
        let found = usize::try_from(axis).ok().filter(|&a| a < rank);
        found.ok_or_else(|| self.error(format!("axis {axis} is outside rank {rank}")))
    }

    fn shape(&self, shape: &[Extent]) -> Result<Vec<Extent>, TypeError> {
        self.require(shape.len() <= MAX_RANK, || format!("rank {} is above {MAX_RANK}", shape.len()))?;
        for extent in shape {
            if let Extent::Value(v) = extent {
                let ok = self.function.values.get(*v).is_some_and(|d| matches!(d.ty, Type::Index(_)));
                self.require(ok, || "an extent is no index value".into())?;
            }
        }
        let product = shape.iter().filter_map(|e| e.as_static()).filter(|&n| n != 0).try_fold(1u64, u64::checked_mul);
        self.require(product.is_some_and(|n| n <= MAX_ELEMENTS), || "the shape has too many elements".into())?;
        Ok(shape.to_vec())
    }

    fn one(&self, element: ElementType, shape: Vec<Extent>) -> Types {
        Ok(vec![Type::Tensor(TensorType::new(element, self.shape(&shape)?))])
    }

    fn same_extent(&self, a: Extent, b: Extent) -> bool {
        match (a, b) {
            (Extent::Static(x), Extent::Static(y)) => x == y,
            (Extent::Value(x), Extent::Value(y)) if x == y => true,
            // Different expressions may be equal when the program runs; intervals that cannot meet are an error.
            _ => {
                let (x, y) = (self.function.interval(a), self.function.interval(b));
                x.low <= y.high && y.low <= x.high
            }
        }
    }
}

/// `constant`
pub fn constant(cx: &Context<'_>) -> Types {
    let Attribute::Constant(constant) = cx.attribute("data") else { return Err(cx.error("needs a constant")) };
    let data = cx.module.constants.get(*constant).ok_or_else(|| cx.error("names no constant"))?;
    Ok(vec![Type::Tensor(data.ty.clone())])
}

/// The shape that operands broadcast to as NumPy does, trailing dimensions aligned.
pub fn broadcast_shapes(shapes: &[&[Extent]]) -> Option<Vec<Extent>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut result = vec![Extent::Static(1); rank];
    for shape in shapes {
        for (slot, &extent) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*slot, extent) {
                (_, Extent::Static(1)) => {}
                (Extent::Static(1), _) => *slot = extent,
                (a, b) if a == b => {}
                (Extent::Static(_), Extent::Static(_)) => return None,
                // A dynamic extent that meets another one is taken to be equal to it: front ends say when it may be 1.
                (Extent::Value(_), Extent::Static(_)) => *slot = extent,
                (_, Extent::Value(_)) => {}
            }
        }
    }
    Some(result)
}

fn expression_of<'a>(cx: &Context<'a>) -> Result<&'a Expression, TypeError> {
    match cx.attribute("expression") {
        Attribute::Expression(expression) => Ok(expression),
        _ => Err(cx.error("needs an expression")),
    }
}

/// `map`
pub fn map(cx: &Context<'_>) -> Types {
    let expression = expression_of(cx)?;
    cx.require(expression.inputs.len() == cx.operands.len(), || {
        format!("the expression has {} inputs, there are {} operands", expression.inputs.len(), cx.operands.len())
    })?;
    let mut shapes = Vec::with_capacity(cx.operands.len());
    for (i, &want) in expression.inputs.iter().enumerate() {
        let ty = cx.tensor(i)?;
        cx.require(ty.element == want, || format!("operand {i} is {}, the expression wants {want}", ty.element))?;
        cx.require(want != ElementType::C128, || "expressions do not compute with c128".into())?;
        shapes.push(ty.shape.as_slice());
    }
    let shape = broadcast_shapes(&shapes).ok_or_else(|| cx.error("operand shapes do not broadcast"))?;
    let shape = cx.shape(&shape)?;
    cx.require(!expression.results.is_empty(), || "the expression has no result".into())?;
    Ok(expression.results.iter().map(|&n| Type::Tensor(TensorType::new(expression.nodes[n].ty, shape.clone()))).collect())
}

/// The types that products may be summed in, for operands of these types.
fn check_accumulator(cx: &Context<'_>, left: ElementType, right: ElementType, accumulator: ElementType) -> Result<(), TypeError> {
    let ok = if left.is_float() {
        left == right && accumulator.is_float()
    } else {
        left.is_integer() && right.is_integer() && matches!(accumulator, ElementType::I32 | ElementType::I64)
    };
    cx.require(ok, || format!("{left} × {right} cannot be summed in {accumulator}"))
}

/// A zero point is a number of the operand's own type, so that padding can hold it; floats have none but 0.
fn check_zero_point(cx: &Context<'_>, element: ElementType, name: &str) -> Result<(), TypeError> {
    let zero = i128::from(cx.int(name));
    let ok = element.integer_range().map_or(zero == 0, |(low, high)| (low..=high).contains(&zero));
    cx.require(ok, || format!("{name} {zero} is no {element}"))
}

/// `matmul`
pub fn matmul(cx: &Context<'_>) -> Types {
    let (left, right) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require(left.rank() >= 2 && right.rank() >= 2, || "operands need two dimensions".into())?;
    let (l, r) = (left.shape.split_at(left.rank() - 2), right.shape.split_at(right.rank() - 2));
    cx.require(cx.same_extent(l.1[1], r.1[1]), || format!("inner dimensions differ: {:?} and {:?}", l.1[1], r.1[1]))?;
    let accumulator = cx.element("accumulator");
    check_accumulator(cx, left.element, right.element, accumulator)?;
    check_zero_point(cx, left.element, "left_zero_point")?;
    check_zero_point(cx, right.element, "right_zero_point")?;
    let mut shape = broadcast_shapes(&[l.0, r.0]).ok_or_else(|| cx.error("batch dimensions do not broadcast"))?;
    shape.extend([l.1[0], r.1[0]]);
    cx.one(accumulator, shape)
}

fn transformed(cx: &Context<'_>, extent: Option<&Extent>) -> Result<u64, TypeError> {
    let element = cx.tensor(0)?.element;
    cx.require(matches!(element, ElementType::F32 | ElementType::F64), || format!("{element} is not transformed"))?;
    match extent {
        Some(Extent::Static(n)) if n.is_power_of_two() => Ok(*n),
        _ => Err(cx.error("the length must be a power of two")),
    }
}

/// `fft`
pub fn fourier(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    cx.require(input.rank() >= 2 && input.shape.last() == Some(&Extent::Static(2)), || "the last dimension must be the two parts".into())?;
    transformed(cx, input.shape.get(input.rank() - 2))?;
    cx.one(input.element, input.shape.clone())
}

/// `rfft`
pub fn real_fourier(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    let length = transformed(cx, input.shape.last())?;
    let mut shape = input.shape.clone();
    shape.pop();
    shape.extend([Extent::Static(length / 2 + 1), Extent::Static(2)]);
    cx.one(input.element, shape)
}

/// `reduce`
pub fn reduce(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    cx.require(input.element != ElementType::C128, || "c128 is not reduced".into())?;
    let mut shape = input.shape.clone();
    for &axis in cx.ints("axes") {
        shape[cx.axis(axis, input.rank())?] = Extent::Static(1);
    }
    cx.one(input.element, shape)
}

/// `arg_reduce`
pub fn arg_reduce(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    cx.require(input.element != ElementType::C128, || "c128 has no order".into())?;
    let mut shape = input.shape.clone();
    shape[cx.axis(cx.int("axis"), input.rank())?] = Extent::Static(1);
    cx.require(cx.element("element").is_integer(), || "positions must be integers".into())?;
    cx.one(cx.element("element"), shape)
}

/// `reshape`
pub fn reshape(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    let shape = cx.shape(cx.extents("shape"))?;
    let result = TensorType::new(input.element, shape);
    if let (Some(a), Some(b)) = (input.static_elements(), result.static_elements()) {
        cx.require(a == b, || format!("{a} elements do not fill a shape of {b}"))?;
    }
    Ok(vec![Type::Tensor(result)])
}

/// `bitcast`
pub fn bitcast(cx: &Context<'_>) -> Types {
    let (input, element) = (cx.tensor(0)?, cx.element("element"));
    let (from, to) = (u64::from(input.element.bits()), u64::from(element.bits()));
    cx.require(from >= 8 && to >= 8, || "elements below a byte have no bytes of their own".into())?;
    cx.require(element != ElementType::Bool, || "a byte may be no truth value".into())?;
    let mut shape = input.shape.clone();
    if from > to {
        shape.push(Extent::Static(from / to));
    } else if from < to {
        let last = shape.pop();
        cx.require(last == Some(Extent::Static(to / from)), || format!("the last dimension must have {} elements", to / from))?;
    }
    cx.one(element, shape)
}

/// `transpose`
pub fn transpose(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    let permutation = cx.ints("permutation");
    cx.require(permutation.len() == input.rank(), || "the permutation does not fit the rank".into())?;
    let mut seen = vec![false; input.rank()];
    let mut shape = Vec::with_capacity(input.rank());
    for &p in permutation {
        let axis = cx.axis(p, input.rank())?;
        cx.require(!std::mem::replace(&mut seen[axis], true), || format!("axis {axis} comes twice"))?;
        shape.push(input.shape[axis]);
    }
    cx.one(input.element, shape)
}

/// `broadcast`
pub fn broadcast(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    let shape = cx.extents("shape");
    cx.require(shape.len() >= input.rank(), || "the shape has fewer dimensions than the operand".into())?;
    for (&from, &to) in input.shape.iter().zip(&shape[shape.len() - input.rank()..]) {
        cx.require(from == Extent::Static(1) || cx.same_extent(from, to), || format!("{from:?} does not broadcast to {to:?}"))?;
    }
    cx.one(input.element, shape.to_vec())
}

/// `slice`
pub fn slice(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    let (start, size, stride) = (cx.shape(cx.extents("start"))?, cx.extents("size"), cx.ints("stride"));
    let rank = input.rank();
    cx.require(start.len() == rank && size.len() == rank && stride.len() == rank, || "start, size and stride do not fit the rank".into())?;
    for d in 0..rank {
        cx.require(stride[d] != 0, || "a stride is zero".into())?;
        let (Extent::Static(first), Extent::Static(count), Extent::Static(extent)) = (start[d], size[d], input.shape[d]) else { continue };
        let last = i128::from(first) + (i128::from(count) - 1) * i128::from(stride[d]);
        let inside = count == 0 || (first < extent && (0..i128::from(extent)).contains(&last));
        cx.require(inside, || format!("dimension {d}: {count} elements from {first} by {} leave {extent}", stride[d]))?;
    }
    cx.one(input.element, size.to_vec())
}

fn padded_shape(cx: &Context<'_>, input: &TensorType) -> Result<Vec<Extent>, TypeError> {
    let (low, high, given) = (cx.ints("low"), cx.ints("high"), cx.shape(cx.extents("padded"))?);
    let rank = input.rank();
    cx.require(low.len() == rank && high.len() == rank, || "the padding does not fit the rank".into())?;
    cx.require(given.is_empty() || given.len() == rank, || "the padded extents do not fit the rank".into())?;
    let mut shape = input.shape.clone();
    for d in 0..rank {
        if (low[d], high[d]) == (0, 0) {
            continue;
        }
        let Extent::Static(n) = shape[d] else {
            let given = given.get(d).ok_or_else(|| cx.error(format!("padded dimension {d} is dynamic, and its extent is not given")))?;
            cx.require(low[d] >= 0 && high[d] >= 0, || format!("dimension {d}, which is dynamic, is cropped"))?;
            shape[d] = cx.function.resolved(*given);
            continue;
        };
        let padded = i128::from(n) + i128::from(low[d]) + i128::from(high[d]);
        let padded = u64::try_from(padded).map_err(|_| cx.error(format!("dimension {d} would have {padded} elements")))?;
        shape[d] = Extent::Static(padded);
        let fits = given.get(d).is_none_or(|given| cx.same_extent(*given, shape[d]));
        cx.require(fits, || format!("dimension {d} has {padded} elements, not what is given"))?;
    }
    Ok(shape)
}

/// `pad`
pub fn pad(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    let Attribute::Scalar(value) = cx.attribute("value") else { return Err(cx.error("needs a value")) };
    let value: &Scalar = value;
    cx.require(input.element != ElementType::C128, || "c128 is not padded".into())?;
    cx.require(value.element() == input.element, || format!("{} padded with {}", input.element, value.element()))?;
    cx.one(input.element, padded_shape(cx, input)?)
}

/// `mirror_pad`
pub fn mirror_pad(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    let shape = padded_shape(cx, input)?;
    let edge = *cx.attribute("edge") == Attribute::Bool(true);
    for d in 0..input.rank() {
        let (low, high) = (cx.ints("low")[d], cx.ints("high")[d]);
        let room = cx.function.interval(input.shape[d]).high.saturating_sub(i64::from(!edge));
        cx.require((low, high) == (0, 0) || (0..=room).contains(&low) && (0..=room).contains(&high), || {
            format!("dimension {d}: padding {low} and {high} reaches past the mirrored side")
        })?;
    }
    cx.one(input.element, shape)
}

/// `concat`
pub fn concat(cx: &Context<'_>) -> Types {
    let first = cx.tensor(0)?;
    let axis = cx.axis(cx.int("axis"), first.rank())?;
    let mut shape = first.shape.clone();
    let given = match cx.extents("extent") {
        [] => None,
        [extent] => Some(*extent),
        _ => return Err(cx.error("there is one joined dimension")),
    };
    for i in 1..cx.operands.len() {
        let ty = cx.tensor(i)?;
        cx.require(ty.element == first.element && ty.rank() == first.rank(), || format!("operand {i} differs in type or rank"))?;
        for (d, joined) in shape.iter_mut().enumerate() {
            if d != axis {
                cx.require(cx.same_extent(ty.shape[d], first.shape[d]), || format!("operand {i} differs in dimension {d}"))?;
                continue;
            }
            if given.is_some() {
                continue;
            }
            let (Extent::Static(a), Extent::Static(b)) = (*joined, ty.shape[d]) else {
                return Err(cx.error("the joined dimension is dynamic"));
            };
            *joined = Extent::Static(a.checked_add(b).ok_or_else(|| cx.error("the joined dimension is too large"))?);
        }
    }
    if let Some(given) = given {
        let operands = (0..cx.operands.len()).map(|i| cx.tensor(i).ok()?.shape.get(axis)?.as_static());
        let known: Option<Vec<u64>> = operands.collect();
        let wrong = |n: u64| known.is_some_and(|known| known.iter().try_fold(0u64, |sum, &m| sum.checked_add(m)) != Some(n));
        cx.require(!given.as_static().is_some_and(wrong), || format!("the joined dimension is not {given:?}"))?;
        shape[axis] = given;
    }
    cx.one(first.element, shape)
}

/// `iota`
pub fn iota(cx: &Context<'_>) -> Types {
    let shape = cx.extents("shape");
    cx.axis(cx.int("axis"), shape.len())?;
    cx.require(cx.element("element").is_integer() || cx.element("element").is_float(), || "positions must be numbers".into())?;
    cx.one(cx.element("element"), shape.to_vec())
}

/// `extent_of`
pub fn extent_of(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    let axis = cx.axis(cx.int("axis"), input.rank())?;
    Ok(vec![Type::Index(cx.function.interval(input.shape[axis]))])
}

/// `index`
pub fn index_constant(cx: &Context<'_>) -> Types {
    Ok(vec![Type::Index(Interval::exactly(cx.int("value")))])
}

/// `index_binary`
pub fn index_binary(cx: &Context<'_>) -> Types {
    let (a, b) = (cx.index(0)?, cx.index(1)?);
    let Attribute::Word(word) = cx.attribute("operation") else { return Err(cx.error("needs an operation")) };
    Ok(vec![Type::Index(super::interval::apply(*word, a, b))])
}

/// `index_load`
pub fn index_load(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    cx.require(input.element.is_integer() && input.static_elements() == Some(1), || "the operand must be one integer".into())?;
    let Attribute::Interval(interval) = cx.attribute("interval") else { return Err(cx.error("needs an interval")) };
    cx.require(interval.low <= interval.high, || "the interval is empty".into())?;
    Ok(vec![Type::Index(*interval)])
}

/// `index_tensor`
pub fn index_tensor(cx: &Context<'_>) -> Types {
    cx.index(0)?;
    let element = cx.element("element");
    cx.require(matches!(element, ElementType::I32 | ElementType::I64), || "the element must be i32 or i64".into())?;
    cx.one(element, vec![])
}
