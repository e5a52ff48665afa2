//! What there is to say of a scalar operation: one [`Row`] each, and the rows are in `operations.rs`.

use super::float::Reals;
use super::integer::Integers;
use super::interval::IntervalRule;
use super::number::Scalar;
use crate::ir::types::ElementType;

/// One scalar operation.
#[derive(Clone, Copy)]
pub struct Row {
    /// The name in the text form; parameters follow it.
    pub name: &'static str,
    /// Operands and the type of the result.
    pub takes: Takes,
    /// How near the result is to the exact one.
    pub exactness: Exactness,
    /// What it takes, in additions, roughly.
    pub cost: u64,
    /// The second operand that gives back the first.
    pub neutral: Neutral,
    /// Where a result lies, before it is rounded or wrapped to its type; nothing is known without a rule.
    pub interval: Option<IntervalRule>,
    /// What it does to integers and truth values.
    pub integers: Integers,
    /// What it does to binary32, and to what is narrower.
    pub singles: Reals<f32>,
    /// What it does to binary64.
    pub doubles: Reals<f64>,
    /// What it does to complex numbers.
    pub complex: Option<fn(Complex, Complex) -> Complex>,
}

/// Real and imaginary part.
pub type Complex = (f32, f32);

/// How near a result is to the exact one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// It is the exact one: of numbers of a type it is one of that type, and nothing is rounded.
    Exact,
    /// It is the exact one, rounded or wrapped to the type: every implementation gives the same.
    Rounded,
    /// It is near: implementations differ in the last digits.
    Near,
}

/// The number that, as second operand, gives back the first: down to the sign of a zero, and the bits of a NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neutral {
    /// There is none.
    None,
    /// 0 of integers and floats, without a sign.
    Zero,
    /// 0 of integers alone: −0 + 0 is 0.
    IntegerZero,
    /// 1 of integers and floats.
    One,
}

impl Neutral {
    /// Whether a number is it.
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
    /// That many operands of one type of a class, which is the result's too.
    Same(usize, Class),
    /// Two operands of one type of a class; a truth value.
    Truth(Class),
    /// A truth value and two operands of one type, which is the result's too.
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
    /// An operation whose type, and what it does, come with the node or from its operands alone; it takes as long as an addition.
    pub const fn new(name: &'static str, takes: Takes, exactness: Exactness) -> Self {
        let (integers, singles, doubles) = (Integers::Undefined, Reals::Undefined, Reals::Undefined);
        Self { name, takes, exactness, cost: 1, neutral: Neutral::None, interval: None, integers, singles, doubles, complex: None }
    }

    /// That takes as long as some additions.
    pub const fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// With a second operand that changes nothing.
    pub const fn neutral(self, neutral: Neutral) -> Self {
        Self { neutral, ..self }
    }

    /// With a rule of intervals.
    pub const fn interval(self, rule: IntervalRule) -> Self {
        Self { interval: Some(rule), ..self }
    }

    /// With what it does to integers.
    pub const fn integers(self, integers: Integers) -> Self {
        Self { integers, ..self }
    }

    /// With what it does to floats.
    pub const fn floats(self, singles: Reals<f32>, doubles: Reals<f64>) -> Self {
        Self { singles, doubles, ..self }
    }

    /// With what it does to complex numbers.
    pub const fn complex(self, complex: fn(Complex, Complex) -> Complex) -> Self {
        Self { complex: Some(complex), ..self }
    }
}
