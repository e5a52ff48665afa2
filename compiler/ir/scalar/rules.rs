//! Parameters of scalar operations: the treatment of NaN, the rounding of requantization, comparisons.

/// The treatment of NaN by minimum and maximum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NanRule {
    /// A NaN operand makes the result NaN (PyTorch).
    Propagate,
    /// A NaN operand loses against a number (IEEE `minNum`).
    Ignore,
    /// `b < a ? b : a` for the minimum and `a < b ? b : a` for the maximum (C++ `std::min(a, b)` and `std::max(a, b)`):
    /// a comparison with NaN is false, so the first operand is the result.
    First,
}

/// The scaling of a 32-bit accumulator to the output's integer scale.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequantizeRule {
    /// TFLite's `MultiplyByQuantizedMultiplier` with double rounding. It shifts left by `max(shift, 0)` (wrapping). A saturating rounding doubling
    /// high multiplication follows, then a rounding division by `2^max(-shift, 0)`, ties away from zero.
    TfliteDouble,
    /// TFLite's single-rounding form: `(acc * multiplier + 2^(30 - shift)) >> (31 - shift)` in 64 bits.
    TfliteSingle,
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal (true for NaN).
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterEqual,
}
