//! The properties of a scalar operation: one [`Row`] for each. The rows are in `operations.rs`.

use super::float::Reals;
use super::integer::Integers;
use super::interval::IntervalRule;
use super::number::Scalar;
use crate::types::ElementType;

/// One scalar operation.
#[derive(Clone, Copy)]
pub struct Row {
    /// The name in the text form; parameters follow it.
    pub name: &'static str,
    /// Operands and the type of the result.
    pub takes: Takes,
    /// The accuracy of the result.
    pub exactness: Exactness,
    /// The rough cost, in additions.
    pub cost: u64,
    /// The second operand for which the result is the first.
    pub neutral: Neutral,
    /// The rule for the range of a result, before it is rounded or wrapped to its type. `None` if nothing is known.
    pub interval: Option<IntervalRule>,
    /// The function of integers and truth values.
    pub integers: Integers,
    /// The function of binary32 and narrower floats.
    pub singles: Reals<f32>,
    /// The function of binary64.
    pub doubles: Reals<f64>,
    /// The function of complex numbers.
    pub complex: Option<fn(Complex, Complex) -> Complex>,
}

/// Real and imaginary part.
pub type Complex = (f32, f32);

/// The accuracy of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// The exact result, which is always a number of the type. Nothing is rounded.
    Exact,
    /// The exact result, rounded or wrapped to the type. Every implementation gives the same.
    Rounded,
    /// A result near the exact one. Implementations differ in the last digits.
    Near,
}

/// The second operand for which the result is the first, bit by bit, for all numbers, zeros with a sign and NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neutral {
    /// No such operand.
    None,
    /// 0 of integers and floats, without a sign.
    Zero,
    /// 0 of integers alone: −0 + 0 is 0.
    IntegerZero,
    /// 1 of integers and floats.
    One,
}

impl Neutral {
    /// Tests whether a number is this operand.
    pub fn is(self, number: Scalar) -> bool {
        let (integer, float) = (number.element().is_integer(), number.element().is_float());
        match self {
            Self::None => false,
            Self::Zero => (integer || float) && number.bits() == 0,
            Self::IntegerZero => integer && number.bits() == 0,
            Self::One => (integer || float) && number.as_f64() == 1.0,
        }
    }
}

/// Operands of an operation, and the type of its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// No operands; the type comes with the node.
    Nothing,
    /// One operand of any type; the type comes with the node.
    Any,
    /// This many operands of one type of a class, which is also the result's type.
    Same(usize, Class),
    /// Two operands of one type of a class, with a truth value as result.
    Truth(Class),
    /// A truth value and two operands of one type, which is also the result's type.
    Choice,
}

impl Takes {
    /// Number of operands.
    pub fn arity(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Any => 1,
            Self::Same(count, _) => count,
            Self::Truth(_) => 2,
            Self::Choice => 3,
        }
    }

    /// The type of the result on operands of these types; nothing where it is not defined on them, or the node has it.
    pub fn result(self, operands: &[ElementType]) -> Option<ElementType> {
        if operands.len() != self.arity() {
            return None;
        }
        let all_equal = operands.windows(2).all(|pair| pair[0] == pair[1]);
        let of = |class: Class| operands.first().copied().filter(|&first| all_equal && class.has(first));
        match self {
            Self::Nothing | Self::Any => None,
            Self::Same(_, class) => of(class),
            Self::Truth(class) => of(class).map(|_| ElementType::Bool),
            Self::Choice => (operands[0] == ElementType::Bool && operands[1] == operands[2]).then_some(operands[1]),
        }
    }
}

/// Types that an operation is defined on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// All.
    All,
    /// All but complex numbers.
    Ordered,
    /// Integers, floats and complex numbers of 64 bits.
    Sums,
    /// Integers and floats.
    Numbers,
    /// Integers with a sign, and floats.
    Signed,
    /// Floats.
    Floats,
    /// Integers.
    Integers,
    /// Integers and truth values.
    Bits,
    /// This type alone.
    Only(ElementType),
    /// None.
    None,
}

impl Class {
    fn has(self, ty: ElementType) -> bool {
        match self {
            Self::All => true,
            Self::Ordered => ty != ElementType::C64,
            Self::Sums => ty.is_float() || ty.is_integer() || ty == ElementType::C64,
            Self::Numbers => ty.is_float() || ty.is_integer(),
            Self::Signed => ty.is_float() || ty.is_signed_integer(),
            Self::Floats => ty.is_float(),
            Self::Integers => ty.is_integer(),
            Self::Bits => ty.is_integer() || ty == ElementType::Bool,
            Self::Only(only) => ty == only,
            Self::None => false,
        }
    }
}

impl Row {
    /// Creates a row with the cost of an addition. The type and the function come with the node, or from its operands alone.
    pub const fn new(name: &'static str, takes: Takes, exactness: Exactness) -> Self {
        let (integers, singles, doubles) = (Integers::Undefined, Reals::Undefined, Reals::Undefined);
        Self { name, takes, exactness, cost: 1, neutral: Neutral::None, interval: None, integers, singles, doubles, complex: None }
    }

    /// Sets the cost, in additions.
    pub const fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// Sets the second operand that changes nothing.
    pub const fn neutral(self, neutral: Neutral) -> Self {
        Self { neutral, ..self }
    }

    /// Sets the rule of intervals.
    pub const fn interval(self, rule: IntervalRule) -> Self {
        Self { interval: Some(rule), ..self }
    }

    /// Sets the function of integers.
    pub const fn integers(self, integers: Integers) -> Self {
        Self { integers, ..self }
    }

    /// Sets the functions of floats.
    pub const fn floats(self, singles: Reals<f32>, doubles: Reals<f64>) -> Self {
        Self { singles, doubles, ..self }
    }

    /// Sets the function of complex numbers.
    pub const fn complex(self, complex: fn(Complex, Complex) -> Complex) -> Self {
        Self { complex: Some(complex), ..self }
    }
}
