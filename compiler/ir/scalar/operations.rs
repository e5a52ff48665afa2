//! Scalar operations, and the row of each. Except for its lowering to kernels, a new operation is a variant and a row in this file.

use super::float::{self, Reals};
use super::integer::{self, Integers};
use super::interval::IntervalRule as Interval;
use super::number::Scalar;
use super::row::{Class, Exactness, Neutral, Row, Takes};
use super::rules::{Comparison, NanRule, RequantizeRule};
use crate::entities::Constant;
use crate::types::ElementType;

/// A scalar operation. Integers wrap unless the operation says otherwise; shifts of a signed value are arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarOp {
    /// The element of map operand number *n* at this position.
    Input(u32),
    /// A number.
    Constant(Scalar),
    /// a + b.
    Add,
    /// a − b.
    Sub,
    /// a × b.
    Mul,
    /// a ÷ b: IEEE for floats; integers truncate, and a zero divisor gives zero.
    Div,
    /// The remainder of truncating division (C's `%`, `fmod`); an integer zero divisor gives zero.
    Rem,
    /// −a.
    Neg,
    /// |a|; the smallest integer stays itself.
    Abs,
    /// The smaller.
    Min(NanRule),
    /// The larger.
    Max(NanRule),
    /// Bitwise and; logical on truth values.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise complement; negation of a truth value.
    Not,
    /// a << b; counts outside the width give zero.
    ShiftLeft,
    /// a >> b, arithmetic when signed; counts beyond the width fill with the sign (or zero).
    ShiftRight,
    /// A truth value.
    Compare(Comparison),
    /// c ? a : b.
    Select,
    /// Conversion: integers wrap, floats truncate towards zero and saturate (NaN becomes 0), integers to float round to nearest
    /// even; to bool: not equal to zero.
    Convert,
    /// Conversion to a narrower integer that saturates; float sources truncate first.
    ConvertSaturating,
    /// Rounding towards −∞.
    Floor,
    /// Rounding towards +∞.
    Ceil,
    /// Rounding towards zero.
    Trunc,
    /// Rounding to the nearest integer, ties to even.
    RoundEven,
    /// Rounding to the nearest integer, ties away from zero (C's `round`).
    RoundAway,
    /// Square root, correctly rounded.
    Sqrt,
    /// 1 ÷ √a.
    Rsqrt,
    /// eᵃ.
    Exp,
    /// Natural logarithm.
    Log,
    /// Hyperbolic tangent.
    Tanh,
    /// 1 ÷ (1 + e⁻ᵃ).
    Logistic,
    /// Error function.
    Erf,
    /// 1 − the error function, accurate where the subtraction would cancel.
    Erfc,
    /// ½ (1 + erf(a ÷ √2)): the share of the normal distribution below a, with an absolute error.
    NormalCdf,
    /// Sine, radians.
    Sin,
    /// Cosine, radians.
    Cos,
    /// aᵇ.
    Pow,
    /// The angle of the point (b, a), in −π..=π (C's `atan2`).
    Atan2,
    /// a × b + c with one rounding.
    Fma,
    /// Count of leading zero bits.
    CountLeadingZeros,
    /// The element of a one-dimensional constant at index a; the index is clamped into the table.
    Lut(Constant),
    /// Saturating rounding doubling high multiplication of two i32: `(a·b + 2³⁰) >> 31` in 64 bits; −2³¹ × −2³¹ gives 2³¹ − 1 (gemmlowp).
    SaturatingRoundingDoublingHighMul,
    /// a ÷ 2ᵇ rounded to nearest, ties away from zero (gemmlowp); b in 0..=31.
    RoundingDivideByPowerOfTwo,
    /// (acc i32, multiplier i32, shift i32; a positive shift is to the left) → i32.
    Requantize(RequantizeRule),
    /// An f32 rounded to the precision of a narrower type, still f32; never elided.
    RoundTo(ElementType),
}

impl ScalarOp {
    /// Everything that there is to say of the operation.
    pub fn row(self) -> Row {
        use Exactness::{Exact, Near, Rounded};
        use ScalarOp::*;
        use Takes::{Any, Choice, Nothing, Same, Truth};
        match self {
            Input(_) => Row::new("input", Nothing, Exact).cost(0),
            Constant(_) => Row::new("constant", Nothing, Exact).cost(0),
            Add => Row::new("add", Same(2, Class::Sums), Rounded)
                .neutral(Neutral::IntegerZero)
                .interval(Interval::Sum)
                .integers(Integers::Binary(|_, a, b| a.wrapping_add(b)))
                .floats(Reals::Binary(|a, b| a + b), Reals::Binary(|a, b| a + b))
                .complex(|(a, b), (c, d)| (a + c, b + d)),
            Sub => Row::new("sub", Same(2, Class::Sums), Rounded)
                .neutral(Neutral::Zero)
                .interval(Interval::Difference)
                .integers(Integers::Binary(|_, a, b| a.wrapping_sub(b)))
                .floats(Reals::Binary(|a, b| a - b), Reals::Binary(|a, b| a - b))
                .complex(|(a, b), (c, d)| (a - c, b - d)),
            Mul => Row::new("mul", Same(2, Class::Sums), Rounded)
                .neutral(Neutral::One)
                .interval(Interval::Product)
                .integers(Integers::Binary(|_, a, b| a.wrapping_mul(b)))
                .floats(Reals::Binary(|a, b| a * b), Reals::Binary(|a, b| a * b))
                .complex(|(a, b), (c, d)| (a * c - b * d, a * d + b * c)),
            Div => Row::new("div", Same(2, Class::Numbers), Rounded)
                .neutral(Neutral::One)
                .interval(Interval::Quotient)
                .cost(5)
                .integers(Integers::Binary(integer::quotient))
                .floats(Reals::Binary(|a, b| a / b), Reals::Binary(|a, b| a / b)),
            Rem => Row::new("rem", Same(2, Class::Numbers), Exact)
                .interval(Interval::Remainder)
                .cost(20)
                .integers(Integers::Binary(integer::remainder))
                .floats(Reals::Binary(|a, b| a % b), Reals::Binary(|a, b| a % b)),
            Neg => Row::new("neg", Same(1, Class::Signed), Exact)
                .interval(Interval::Negative)
                .integers(Integers::Unary(|_, a| a.wrapping_neg()))
                .floats(Reals::Unary(|a| -a), Reals::Unary(|a| -a)),
            Abs => Row::new("abs", Same(1, Class::Signed), Exact)
                .integers(Integers::Unary(|_, a| a.wrapping_abs()))
                .floats(Reals::Unary(f32::abs), Reals::Unary(f64::abs)),
            Min(rule) => {
                let pick = Integers::Binary(|ty, a, b| if integer::compare(Comparison::Less, ty, b, a) { b } else { a });
                let row = |name| Row::new(name, Same(2, Class::Numbers), Exact).interval(Interval::Smaller).integers(pick);
                match rule {
                    NanRule::Propagate => {
                        row("min.propagate").floats(Reals::Binary(float::min_propagate), Reals::Binary(float::min_propagate))
                    }
                    NanRule::Ignore => row("min.ignore").floats(Reals::Binary(float::min_ignore), Reals::Binary(float::min_ignore)),
                    NanRule::First => row("min.first").floats(Reals::Binary(float::min_first), Reals::Binary(float::min_first)),
                }
            }
            Max(rule) => {
                let pick = Integers::Binary(|ty, a, b| if integer::compare(Comparison::Less, ty, a, b) { b } else { a });
                let row = |name| Row::new(name, Same(2, Class::Numbers), Exact).interval(Interval::Larger).integers(pick);
                match rule {
                    NanRule::Propagate => {
                        row("max.propagate").floats(Reals::Binary(float::max_propagate), Reals::Binary(float::max_propagate))
                    }
                    NanRule::Ignore => row("max.ignore").floats(Reals::Binary(float::max_ignore), Reals::Binary(float::max_ignore)),
                    NanRule::First => row("max.first").floats(Reals::Binary(float::max_first), Reals::Binary(float::max_first)),
                }
            }
            And => Row::new("and", Same(2, Class::Bits), Exact).interval(Interval::Both).integers(Integers::Binary(|_, a, b| a & b)),
            Or => Row::new("or", Same(2, Class::Bits), Exact)
                .neutral(Neutral::IntegerZero)
                .interval(Interval::OneOf)
                .integers(Integers::Binary(|_, a, b| a | b)),
            Xor => Row::new("xor", Same(2, Class::Bits), Exact).neutral(Neutral::IntegerZero).integers(Integers::Binary(|_, a, b| a ^ b)),
            Not => Row::new("not", Same(1, Class::Bits), Exact)
                .interval(Interval::Opposite)
                .integers(Integers::Unary(|ty, a| if ty == ElementType::Bool { a ^ 1 } else { !a })),
            ShiftLeft => Row::new("shl", Same(2, Class::Integers), Rounded)
                .neutral(Neutral::IntegerZero)
                .cost(2)
                .integers(Integers::Binary(integer::shift_left)),
            ShiftRight => Row::new("shr", Same(2, Class::Integers), Rounded)
                .neutral(Neutral::IntegerZero)
                .interval(Interval::Halved)
                .cost(2)
                .integers(Integers::Binary(integer::shift_right)),
            Compare(comparison) => {
                let (name, class) = match comparison {
                    Comparison::Equal => ("eq", Class::All),
                    Comparison::NotEqual => ("ne", Class::All),
                    Comparison::Less => ("lt", Class::Ordered),
                    Comparison::LessEqual => ("le", Class::Ordered),
                    Comparison::Greater => ("gt", Class::Ordered),
                    Comparison::GreaterEqual => ("ge", Class::Ordered),
                };
                Row::new(name, Truth(class), Exact).interval(Interval::Compared(comparison))
            }
            Select => Row::new("select", Choice, Exact).interval(Interval::Chosen),
            Convert => Row::new("convert", Any, Rounded).interval(Interval::Kept),
            ConvertSaturating => Row::new("convert.saturating", Any, Rounded).interval(Interval::Clamped),
            Floor => Row::new("floor", Same(1, Class::Floats), Exact)
                .interval(Interval::Floor)
                .cost(2)
                .floats(Reals::Unary(f32::floor), Reals::Unary(f64::floor)),
            Ceil => Row::new("ceil", Same(1, Class::Floats), Exact)
                .interval(Interval::Ceil)
                .cost(2)
                .floats(Reals::Unary(f32::ceil), Reals::Unary(f64::ceil)),
            Trunc => Row::new("trunc", Same(1, Class::Floats), Exact)
                .interval(Interval::Trunc)
                .cost(2)
                .floats(Reals::Unary(f32::trunc), Reals::Unary(f64::trunc)),
            RoundEven => Row::new("round_even", Same(1, Class::Floats), Exact)
                .interval(Interval::Nearest)
                .cost(2)
                .floats(Reals::Unary(f32::round_ties_even), Reals::Unary(f64::round_ties_even)),
            RoundAway => Row::new("round_away", Same(1, Class::Floats), Exact)
                .interval(Interval::Nearest)
                .cost(3)
                .floats(Reals::Unary(f32::round), Reals::Unary(f64::round)),
            Sqrt => Row::new("sqrt", Same(1, Class::Floats), Rounded).cost(5).floats(Reals::Unary(f32::sqrt), Reals::Unary(f64::sqrt)),
            Rsqrt => Row::new("rsqrt", Same(1, Class::Floats), Near)
                .cost(5)
                .floats(Reals::Unary(|a| 1.0 / a.sqrt()), Reals::Unary(|a| 1.0 / a.sqrt())),
            Exp => Row::new("exp", Same(1, Class::Floats), Near).cost(20).floats(Reals::Unary(libm::expf), Reals::Unary(libm::exp)),
            Log => Row::new("log", Same(1, Class::Floats), Near).cost(20).floats(Reals::Unary(libm::logf), Reals::Unary(libm::log)),
            Tanh => Row::new("tanh", Same(1, Class::Floats), Near).cost(20).floats(Reals::Unary(libm::tanhf), Reals::Unary(libm::tanh)),
            Logistic => Row::new("logistic", Same(1, Class::Floats), Near)
                .cost(20)
                .floats(Reals::Unary(|a| 1.0 / (1.0 + libm::expf(-a))), Reals::Unary(|a| 1.0 / (1.0 + libm::exp(-a)))),
            Erf => Row::new("erf", Same(1, Class::Floats), Near).cost(20).floats(Reals::Unary(libm::erff), Reals::Unary(libm::erf)),
            Erfc => Row::new("erfc", Same(1, Class::Floats), Near).cost(20).floats(Reals::Unary(libm::erfcf), Reals::Unary(libm::erfc)),
            NormalCdf => Row::new("normal_cdf", Same(1, Class::Floats), Near).cost(20).floats(
                Reals::Unary(|a| 0.5 * (1.0 + libm::erff(a * std::f32::consts::FRAC_1_SQRT_2))),
                Reals::Unary(|a| 0.5 * (1.0 + libm::erf(a * std::f64::consts::FRAC_1_SQRT_2))),
            ),
            Sin => Row::new("sin", Same(1, Class::Floats), Near).cost(20).floats(Reals::Unary(libm::sinf), Reals::Unary(libm::sin)),
            Cos => Row::new("cos", Same(1, Class::Floats), Near).cost(20).floats(Reals::Unary(libm::cosf), Reals::Unary(libm::cos)),
            Pow => Row::new("pow", Same(2, Class::Numbers), Near)
                .cost(20)
                .integers(Integers::Binary(|_, a, b| integer::power(a, b)))
                .floats(Reals::Binary(libm::powf), Reals::Binary(libm::pow)),
            Atan2 => {
                Row::new("atan2", Same(2, Class::Floats), Near).cost(20).floats(Reals::Binary(libm::atan2f), Reals::Binary(libm::atan2))
            }
            Fma => Row::new("fma", Same(3, Class::Floats), Rounded).cost(2).floats(Reals::Ternary(libm::fmaf), Reals::Ternary(libm::fma)),
            CountLeadingZeros => Row::new("clz", Same(1, Class::Integers), Exact)
                .cost(3)
                .interval(Interval::Bits)
                .integers(Integers::Unary(integer::leading_zeros)),
            Lut(_) => Row::new("lut", Any, Exact).cost(3),
            SaturatingRoundingDoublingHighMul => Row::new("srdhm", Same(2, Class::Only(ElementType::I32)), Rounded)
                .cost(5)
                .integers(Integers::Binary(|_, a, b| i64::from(integer::saturating_rounding_doubling_high_mul(a as i32, b as i32)))),
            RoundingDivideByPowerOfTwo => Row::new("rdivpot", Same(2, Class::Only(ElementType::I32)), Rounded)
                .cost(5)
                .integers(Integers::Binary(|_, a, b| i64::from(integer::rounding_divide_by_power_of_two(a as i32, b)))),
            Requantize(RequantizeRule::TfliteDouble) => {
                Row::new("requant.tflite_double", Same(3, Class::Only(ElementType::I32)), Rounded).cost(5).integers(Integers::Ternary(
                    |_, a, b, c| i64::from(integer::requantize(RequantizeRule::TfliteDouble, a as i32, b as i32, c as i32)),
                ))
            }
            Requantize(RequantizeRule::TfliteSingle) => {
                Row::new("requant.tflite_single", Same(3, Class::Only(ElementType::I32)), Rounded).cost(5).integers(Integers::Ternary(
                    |_, a, b, c| i64::from(integer::requantize(RequantizeRule::TfliteSingle, a as i32, b as i32, c as i32)),
                ))
            }
            RoundTo(ElementType::F16) => Row::new("round_to", Same(1, Class::Only(ElementType::F32)), Rounded)
                .cost(3)
                .floats(Reals::Unary(|a| float::round_storage(ElementType::F16, a)), Reals::Undefined),
            RoundTo(ElementType::Bf16) => Row::new("round_to", Same(1, Class::Only(ElementType::F32)), Rounded)
                .cost(3)
                .floats(Reals::Unary(|a| float::round_storage(ElementType::Bf16, a)), Reals::Undefined),
            RoundTo(ElementType::I8) => Row::new("round_to", Same(1, Class::Only(ElementType::F32)), Rounded)
                .cost(3)
                .floats(Reals::Unary(|a| f32::from(a.round_ties_even() as i8)), Reals::Undefined),
            RoundTo(_) => Row::new("round_to", Same(1, Class::None), Rounded).cost(3),
        }
    }

    /// Number of operands.
    pub fn arity(self) -> usize {
        self.row().takes.arity()
    }

    /// The name in the text form; parameters follow it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The type of the result on operands of these types; nothing where it is not defined on them. Conversions and table look-ups carry
    /// their own type and have none here.
    pub fn result_type(self, operands: &[ElementType]) -> Option<ElementType> {
        match self {
            Self::Constant(value) if operands.is_empty() => Some(value.element()),
            _ => self.row().takes.result(operands),
        }
    }

    /// Every operation without parameters of its own, for the parser, the random-graph generator and the coverage table.
    pub const PLAIN: &'static [Self] = {
        use ScalarOp::*;
        &[
            Add,
            Sub,
            Mul,
            Div,
            Rem,
            Neg,
            Abs,
            Min(NanRule::Propagate),
            Min(NanRule::Ignore),
            Min(NanRule::First),
            Max(NanRule::Propagate),
            Max(NanRule::Ignore),
            Max(NanRule::First),
            And,
            Or,
            Xor,
            Not,
            ShiftLeft,
            ShiftRight,
            Compare(Comparison::Equal),
            Compare(Comparison::NotEqual),
            Compare(Comparison::Less),
            Compare(Comparison::LessEqual),
            Compare(Comparison::Greater),
            Compare(Comparison::GreaterEqual),
            Select,
            Convert,
            ConvertSaturating,
            Floor,
            Ceil,
            Trunc,
            RoundEven,
            RoundAway,
            Sqrt,
            Rsqrt,
            Exp,
            Log,
            Tanh,
            Logistic,
            Erf,
            Erfc,
            NormalCdf,
            Sin,
            Cos,
            Pow,
            Atan2,
            Fma,
            CountLeadingZeros,
            SaturatingRoundingDoublingHighMul,
            RoundingDivideByPowerOfTwo,
            Requantize(RequantizeRule::TfliteDouble),
            Requantize(RequantizeRule::TfliteSingle),
        ]
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_operation() {
        for (position, op) in ScalarOp::PLAIN.iter().enumerate() {
            assert!(ScalarOp::PLAIN[..position].iter().all(|other| other.name() != op.name()), "{}", op.name());
        }
    }

    /// The names of the variants of an enum in this file or the file of the operations' parameters.
    fn variants(name: &str) -> Vec<&'static str> {
        let source = concat!(include_str!("operations.rs"), include_str!("rules.rs"));
        let body =
            source.split_once(&format!("pub enum {name} {{")).and_then(|(_, rest)| rest.split_once("\n}")).map_or("", |(body, _)| body);
        let lines = body.lines().map(str::trim).filter(|line| line.starts_with(char::is_uppercase));
        lines.map(|line| line.split(['(', ',']).next().unwrap_or(line)).collect()
    }

    #[test]
    fn the_list_has_every_operation_without_parameters() {
        let listed: Vec<String> = ScalarOp::PLAIN.iter().map(|op| format!("{op:?}")).collect();
        let wanted = variants("ScalarOp").into_iter().flat_map(|op| match op {
            // Numbers, inputs, tables and types come with the node.
            "Input" | "Constant" | "Lut" | "RoundTo" => vec![],
            "Min" | "Max" => variants("NanRule").into_iter().map(|rule| format!("{op}({rule})")).collect(),
            "Compare" => variants("Comparison").into_iter().map(|comparison| format!("{op}({comparison})")).collect(),
            "Requantize" => variants("RequantizeRule").into_iter().map(|rule| format!("{op}({rule})")).collect(),
            _ => vec![op.to_owned()],
        });
        let wanted: Vec<String> = wanted.collect();
        assert!(wanted.len() > 50, "{wanted:?}");
        assert_eq!(listed, wanted);
    }

    #[test]
    fn a_neutral_number_gives_back_the_first_operand() {
        for op in ScalarOp::PLAIN {
            let (row, ty) = (op.row(), ElementType::F32);
            let numbers = [0.0, -0.0, 1.0].map(|n| Scalar::float(ty, n)).into_iter().filter(|&n| row.neutral.is(n));
            for number in numbers {
                let Reals::Binary(function) = row.singles else { panic!("{} has no second operand", row.name) };
                for x in [0.0f32, -0.0, 3.5, f32::NEG_INFINITY] {
                    assert_eq!(function(x, number.as_f64() as f32).to_bits(), x.to_bits(), "{} of {x} and {number:?}", row.name);
                }
            }
            for n in (0..2).filter(|&n| row.neutral.is(Scalar::i32(n))) {
                let Integers::Binary(function) = row.integers else { panic!("{} has no second operand", row.name) };
                assert_eq!([-9, 0, 7].map(|x| function(ElementType::I32, x, n.into())), [-9, 0, 7], "{}", row.name);
            }
        }
    }

    #[test]
    fn every_operation_has_a_meaning_for_each_type_that_it_takes() {
        let types = [ElementType::I32, ElementType::F32, ElementType::F64];
        for op in ScalarOp::PLAIN {
            let row = op.row();
            let Takes::Same(count, _) = row.takes else { continue };
            for ty in types.into_iter().filter(|&ty| op.result_type(&vec![ty; count]).is_some()) {
                let arity = match ty {
                    ElementType::F32 => row.singles.arity(),
                    ElementType::F64 => row.doubles.arity(),
                    _ => row.integers.arity(),
                };
                assert_eq!(arity, Some(count), "{} on {ty}", op.name());
            }
        }
    }

    #[test]
    fn types_that_an_operation_does_not_take_have_no_result() {
        use ElementType::{Bool, C64, F32, I8, I32, U8};
        assert_eq!(ScalarOp::Add.result_type(&[C64, C64]), Some(C64));
        assert_eq!(ScalarOp::Add.result_type(&[I8, I32]), None);
        assert_eq!(ScalarOp::Add.result_type(&[Bool, Bool]), None);
        assert_eq!(ScalarOp::Neg.result_type(&[U8]), None);
        assert_eq!(ScalarOp::Compare(Comparison::Less).result_type(&[C64, C64]), None);
        assert_eq!(ScalarOp::Compare(Comparison::Equal).result_type(&[C64, C64]), Some(Bool));
        assert_eq!(ScalarOp::Select.result_type(&[Bool, F32, F32]), Some(F32));
        assert_eq!(ScalarOp::Select.result_type(&[F32, F32, F32]), None);
        assert_eq!(ScalarOp::RoundTo(F32).result_type(&[F32]), None);
        assert_eq!(ScalarOp::Sqrt.result_type(&[F32, F32]), None);
    }
}
