//! What there is to say of a scalar operation: one [`Row`] each, and the rows are in `operations.rs`.

use super::float::Reals;
use super::integer::Integers;
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
    /// Where an integer result lies, before it wraps to its type; nothing is known without a rule.
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

/// The interval of an exact result from those of the operands.
pub type IntervalRule = fn(&Operands<'_>) -> Option<Range>;

/// An interval of integers, both ends in it.
pub type Range = (i128, i128);

/// What is known of an operation's operands, and its type.
pub struct Operands<'a> {
    /// The type of the result, an integer.
    pub ty: ElementType,
    /// Types of the operands.
    pub types: &'a [ElementType],
    /// Intervals of the operands.
    pub ranges: &'a [Range],
}

impl Operands<'_> {
    /// The interval of the corners of a function that is monotone in each of two operands; nothing beyond 128 bits.
    fn corners(&self, function: impl Fn(i128, i128) -> Option<i128>) -> Option<Range> {
        let (a, b) = (self.ranges[0], self.ranges[1]);
        let corners = [function(a.0, b.0)?, function(a.0, b.1)?, function(a.1, b.0)?, function(a.1, b.1)?];
        Some((*corners.iter().min()?, *corners.iter().max()?))
    }
}

/// All numbers of an integer type; of other types, more than any integer.
pub fn type_range(ty: ElementType) -> Range {
    ty.integer_range().unwrap_or((i128::MIN / 4, i128::MAX / 4))
}

/// Whether one interval lies in another.
pub fn within(inner: Range, outer: Range) -> bool {
    inner.0 >= outer.0 && inner.1 <= outer.1
}

/// Rules of intervals that rows name.
pub mod intervals {
    use super::{Operands, Range, type_range, within};

    /// a + b.
    pub fn sum(x: &Operands<'_>) -> Option<Range> {
        Some((x.ranges[0].0 + x.ranges[1].0, x.ranges[0].1 + x.ranges[1].1))
    }

    /// a − b.
    pub fn difference(x: &Operands<'_>) -> Option<Range> {
        Some((x.ranges[0].0 - x.ranges[1].1, x.ranges[0].1 - x.ranges[1].0))
    }

    /// a × b. Two numbers of 64 bits without a sign can leave 128 with one.
    pub fn product(x: &Operands<'_>) -> Option<Range> {
        x.corners(i128::checked_mul)
    }

    /// −a.
    pub fn negative(x: &Operands<'_>) -> Option<Range> {
        Some((-x.ranges[0].1, -x.ranges[0].0))
    }

    /// The smaller.
    pub fn smaller(x: &Operands<'_>) -> Option<Range> {
        Some((x.ranges[0].0.min(x.ranges[1].0), x.ranges[0].1.min(x.ranges[1].1)))
    }

    /// The larger.
    pub fn larger(x: &Operands<'_>) -> Option<Range> {
        Some((x.ranges[0].0.max(x.ranges[1].0), x.ranges[0].1.max(x.ranges[1].1)))
    }

    /// One of two.
    pub fn either(x: &Operands<'_>) -> Option<Range> {
        Some((x.ranges[1].0.min(x.ranges[2].0), x.ranges[1].1.max(x.ranges[2].1)))
    }

    /// The same integer, where the type holds it.
    pub fn kept(x: &Operands<'_>) -> Option<Range> {
        (x.types[0].is_integer() && within(x.ranges[0], type_range(x.ty))).then_some(x.ranges[0])
    }

    /// The nearest integer that the type holds.
    pub fn clamped(x: &Operands<'_>) -> Option<Range> {
        let (low, high) = type_range(x.ty);
        x.types[0].is_integer().then(|| (x.ranges[0].0.clamp(low, high), x.ranges[0].1.clamp(low, high)))
    }

    /// A count of bits.
    pub fn bits(x: &Operands<'_>) -> Option<Range> {
        Some((0, i128::from(x.ty.bits())))
    }
}

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
    /// An operation whose type, and what it does, come with the node or from its operands alone.
    pub const fn new(name: &'static str, takes: Takes, exactness: Exactness) -> Self {
        let (integers, singles, doubles) = (Integers::Undefined, Reals::Undefined, Reals::Undefined);
        Self { name, takes, exactness, interval: None, integers, singles, doubles, complex: None }
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
