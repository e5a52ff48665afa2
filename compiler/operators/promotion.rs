//! Element-wise work on tensors and numbers of different types. Types promote as in PyTorch. A higher category (truth value, integer, float) always
//! wins. Within a category, tensors with dimensions decide, then tensors without, then numbers.

use super::terms::Terms;
use super::{Error, Graph};
use crate::ir::{ElementType, Node, Scalar, Value};

/// A number known at compile time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A float.
    Double(f64),
}

impl Number {
    /// The number as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Bool(b) => f64::from(u8::from(b)),
            Self::Double(x) => x,
        }
    }

    /// The number in a type: integers wrap, floats are rounded.
    pub fn to_scalar(self, element: ElementType) -> Scalar {
        match self {
            Self::Double(x) if element == ElementType::Bool => Scalar::bool(x != 0.0),
            Self::Int(n) if element == ElementType::Bool => Scalar::bool(n != 0),
            Self::Int(n) => Scalar::int(element, n),
            Self::Bool(b) => Scalar::int(element, i64::from(b)),
            Self::Double(x) => Scalar::float(element, x),
        }
    }

    /// The type of the number beside tensors of a lower category.
    fn element(self) -> ElementType {
        match self {
            Self::Int(_) => ElementType::I64,
            Self::Bool(_) => ElementType::Bool,
            Self::Double(_) => ElementType::F32,
        }
    }
}

/// A tensor or a number.
#[derive(Clone, Copy)]
pub enum Operand {
    /// A tensor.
    Tensor(Value),
    /// A number known at compile time.
    Number(Number),
}

fn category(element: ElementType) -> u8 {
    if element.is_float() { 2 } else { u8::from(element.is_integer()) }
}

/// The smallest type that both fit, by PyTorch's table.
///
/// # Errors
/// [`Error::NoCommonType`] for 16- to 64-bit unsigned integers beside other integers, which PyTorch has no rule for.
fn promote(a: ElementType, b: ElementType) -> Result<ElementType, Error> {
    use ElementType as E;
    if a == b {
        return Ok(a);
    }
    let (low, high) = if (category(a), a.bits()) <= (category(b), b.bits()) { (a, b) } else { (b, a) };
    match (category(low), category(high)) {
        (x, y) if x < y => Ok(high),
        (2, _) if low.bits() == high.bits() => Ok(E::F32),
        (2, _) => Ok(high),
        _ if low.is_signed_integer() && high.is_signed_integer() => Ok(high),
        _ if [low, high].contains(&E::U8) && (low.is_signed_integer() || high.is_signed_integer()) => {
            let signed = if low == E::U8 { high } else { low };
            Ok(if signed == E::I8 { E::I16 } else { signed })
        }
        _ => Err(Error::NoCommonType { a, b }),
    }
}

/// The type of a kind of operands that decides, and of one that yields within its category.
fn combine(decides: Option<ElementType>, yields: Option<ElementType>) -> Result<Option<ElementType>, Error> {
    match (decides, yields) {
        (Some(a), Some(b)) if category(a) < category(b) => promote(a, b).map(Some),
        (Some(a), _) => Ok(Some(a)),
        (None, b) => Ok(b),
    }
}

/// The common type of operands; `None` without operands.
///
/// # Errors
/// [`Error::NoCommonType`].
pub fn common_type(g: &Graph<'_>, operands: &[Operand]) -> Result<Option<ElementType>, Error> {
    let mut kinds: [Option<ElementType>; 3] = [None; 3];
    for operand in operands {
        let (kind, element) = match *operand {
            Operand::Tensor(value) => (usize::from(g.rank(value) == 0), g.element(value)),
            Operand::Number(number) => (2, number.element()),
        };
        kinds[kind] = Some(kinds[kind].map_or(Ok(element), |known| promote(known, element))?);
    }
    combine(kinds[0], combine(kinds[1], kinds[2])?)
}

/// The type that arithmetic on an element type is done in: half precision computes in single.
pub fn compute_type(element: ElementType) -> ElementType {
    match element {
        ElementType::F16 | ElementType::Bf16 => ElementType::F32,
        other => other,
    }
}

/// The floating-point type that functions of real numbers compute in: integers become single precision.
pub fn float_type(element: ElementType) -> ElementType {
    if element.is_float() { compute_type(element) } else { ElementType::F32 }
}

/// An element-wise expression over tensors and numbers, all converted to one type first. Without any tensor the result is of shape `[]`.
///
/// # Errors
/// When types or shapes do not fit.
pub fn compute<E: From<Error>>(
    g: &mut Graph<'_>,
    operands: &[Operand],
    ty: ElementType,
    build: impl FnOnce(&mut Terms, &[Node]) -> Result<Node, E>,
) -> Result<Value, E> {
    // A tensor that is several operands is read once.
    let mut values: Vec<Value> = Vec::new();
    for operand in operands {
        match *operand {
            Operand::Tensor(value) if !values.contains(&value) => values.push(value),
            _ => {}
        }
    }
    g.compute(&values, |terms, x| {
        let converted: Vec<Node> = operands
            .iter()
            .map(|operand| match *operand {
                Operand::Number(number) => terms.constant(number.to_scalar(ty)),
                Operand::Tensor(value) => {
                    let input = values.iter().position(|&other| other == value).unwrap_or(0);
                    terms.convert(x[input], ty)
                }
            })
            .collect();
        build(terms, &converted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};
    use ElementType as E;

    #[test]
    fn promotion_follows_the_table() {
        for (a, b, expected) in [
            (E::Bool, E::U8, E::U8),
            (E::U8, E::I8, E::I16),
            (E::U8, E::I32, E::I32),
            (E::I64, E::F16, E::F16),
            (E::F16, E::Bf16, E::F32),
            (E::F32, E::F64, E::F64),
            (E::Bf16, E::F32, E::F32),
            (E::I8, E::I64, E::I64),
        ] {
            assert_eq!(promote(a, b), Ok(expected), "{a} {b}");
            assert_eq!(promote(b, a), Ok(expected), "{b} {a}");
        }
        assert_eq!(promote(E::U32, E::I8), Err(Error::NoCommonType { a: E::U32, b: E::I8 }));
    }

    #[test]
    fn who_decides_keeps_its_type_within_a_category() {
        assert_eq!(combine(Some(E::F16), Some(E::F64)), Ok(Some(E::F16)));
        assert_eq!(combine(Some(E::I8), Some(E::I64)), Ok(Some(E::I8)));
        assert_eq!(combine(Some(E::I8), Some(E::F32)), Ok(Some(E::F32)));
        assert_eq!(combine(None, Some(E::Bool)), Ok(Some(E::Bool)));
    }

    #[test]
    fn tensors_decide_before_numbers() {
        run(&[&Floats::varied(&[2]), &Floats::varied(&[])], &|g, v| {
            let (bytes, number) = (g.convert(v[0], E::I8)?, g.convert(v[1], E::I32)?);
            let common = |operands: &[Operand]| common_type(g, operands);
            let (bytes, number) = (Operand::Tensor(bytes), Operand::Tensor(number));
            assert_eq!(common(&[bytes, number]), Ok(Some(E::I8)));
            assert_eq!(common(&[number, Operand::Number(Number::Int(1))]), Ok(Some(E::I32)));
            assert_eq!(common(&[bytes, Operand::Number(Number::Double(1.0))]), Ok(Some(E::F32)));
            assert_eq!(common(&[]), Ok(None));
            Ok(v[0])
        });
    }

    #[test]
    fn operands_are_converted_and_broadcast() {
        let (x, y) = (Floats::new(&[2, 1], vec![1.5, -2.5]), Floats::new(&[3], vec![1.0, 2.0, 3.0]));
        for open in [&[][..], &[[0, 0]]] {
            let found = run_with(&[&x, &y], open, &|g, v| {
                let operands =
                    [Operand::Tensor(v[0]), Operand::Tensor(v[1]), Operand::Number(Number::Double(10.75)), Operand::Tensor(v[0])];
                let sum = compute::<Error>(g, &operands, E::I32, |terms, x| {
                    let pair = terms.add(x[0], x[1])?;
                    let rest = terms.add(x[2], x[3])?;
                    Ok(terms.add(pair, rest)?)
                })?;
                g.convert(sum, E::F32)
            });
            assert_eq!(found, Floats::new(&[2, 3], vec![13.0, 14.0, 15.0, 7.0, 8.0, 9.0]));
        }
    }
}
