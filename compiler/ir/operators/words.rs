//! The choices that operators offer, each with its word in the text form.

/// A choice whose values have words in the text form.
pub trait Word: Copy + PartialEq + 'static {
    /// Every value, in the order of the declaration.
    const ALL: &'static [Self];
    /// The words, in the same order.
    const WORDS: &'static [&'static str];
    /// The value that the text form leaves out. It is the value before the field is set.
    const LEFT_OUT: Option<Self> = None;

    /// The word of a value.
    fn word(self) -> &'static str {
        Self::WORDS[self.position()]
    }

    /// The position of a value among all.
    fn position(self) -> usize {
        // Every value is in the list: a test of this module checks each choice.
        Self::ALL.iter().position(|other| *other == self).unwrap_or_default()
    }

    /// The value of a word.
    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().position(|other| *other == word).map(|position| Self::ALL[position])
    }
}

/// The operation that combines elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reduction {
    /// Their sum; integers wrap.
    #[default]
    Sum,
    /// The largest; NaN is left out.
    Max,
    /// The smallest; NaN is left out.
    Min,
    /// The largest; NaN if one of them is.
    MaxOrNan,
    /// The smallest; NaN if one of them is.
    MinOrNan,
    /// Their product; integers wrap.
    Product,
    /// `true` if any element is not zero.
    Any,
    /// `true` if no element is zero.
    All,
}

impl Reduction {
    /// The equivalent reduction of integers, for which there is no NaN.
    pub fn of_integers(self) -> Self {
        match self {
            Self::MaxOrNan => Self::Max,
            Self::MinOrNan => Self::Min,
            other => other,
        }
    }
}

impl Word for Reduction {
    const ALL: &'static [Self] = &[Self::Sum, Self::Max, Self::Min, Self::MaxOrNan, Self::MinOrNan, Self::Product, Self::Any, Self::All];
    const WORDS: &'static [&'static str] = &["sum", "max", "min", "max_or_nan", "min_or_nan", "product", "any", "all"];
}

/// The order in which the elements of a window are combined, if it makes a difference.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Summation {
    /// One after another, row by row.
    #[default]
    Rows,
    /// XNNPACK's order for averages: down the columns, nine at a time. Nine elements i0 to i8 give
    /// `((i2 + i3) + (i4 + i5)) + (((i0 + i1) + i8) + (i6 + i7))`, which is added to the sum of the groups before. Padding is +0 at its place. Maxima
    /// go the same way by x86's instruction: if one of two is NaN, the second is the result. An incomplete group repeats its first element, and
    /// padding is the nearest element. If the first group gives NaN, it is left out; if a later one does, the result is +∞.
    Nines,
}

impl Word for Summation {
    const ALL: &'static [Self] = &[Self::Rows, Self::Nines];
    const WORDS: &'static [&'static str] = &["rows", "nines"];
}

/// The effect of `scatter` on an element and its update.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Combination {
    /// The update takes the element's place.
    #[default]
    Set,
    /// Their sum; integers wrap.
    Sum,
    /// Their product; integers wrap.
    Product,
    /// The larger.
    Max,
    /// The smaller.
    Min,
}

impl Combination {
    /// The reduction of an element and its update; `None` if the update replaces the element.
    pub fn reduction(self) -> Option<Reduction> {
        match self {
            Self::Set => None,
            Self::Sum => Some(Reduction::Sum),
            Self::Product => Some(Reduction::Product),
            Self::Max => Some(Reduction::Max),
            Self::Min => Some(Reduction::Min),
        }
    }
}

impl Word for Combination {
    const ALL: &'static [Self] = &[Self::Set, Self::Sum, Self::Product, Self::Max, Self::Min];
    const WORDS: &'static [&'static str] = &["set", "sum", "product", "max", "min"];
}

/// The extreme that `arg_reduce` searches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Search {
    /// The largest element; NaN is worse than every number.
    #[default]
    Max,
    /// The smallest element; NaN is worse than every number.
    Min,
    /// The first NaN, else the largest element.
    MaxOrNan,
    /// The first NaN, else the smallest element.
    MinOrNan,
}

impl Search {
    /// Tests whether the search is for the largest element.
    pub fn finds_largest(self) -> bool {
        matches!(self, Self::Max | Self::MaxOrNan)
    }

    /// Tests whether NaN is better than every number.
    pub fn finds_nan(self) -> bool {
        matches!(self, Self::MaxOrNan | Self::MinOrNan)
    }

    /// The equivalent search among integers, for which there is no NaN.
    pub fn of_integers(self) -> Self {
        if self.finds_largest() { Self::Max } else { Self::Min }
    }

    /// The reduction that gives the found element.
    pub fn reduction(self) -> Reduction {
        match self {
            Self::Max => Reduction::Max,
            Self::Min => Reduction::Min,
            Self::MaxOrNan => Reduction::MaxOrNan,
            Self::MinOrNan => Reduction::MinOrNan,
        }
    }
}

impl Word for Search {
    const ALL: &'static [Self] = &[Self::Max, Self::Min, Self::MaxOrNan, Self::MinOrNan];
    const WORDS: &'static [&'static str] = &["max", "min", "max_or_nan", "min_or_nan"];
}

/// The elements that `top_k` returns first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// The largest.
    #[default]
    Largest,
    /// The smallest.
    Smallest,
}

impl Word for Order {
    const ALL: &'static [Self] = &[Self::Largest, Self::Smallest];
    const WORDS: &'static [&'static str] = &["largest", "smallest"];
}

/// Arithmetic on index values. Sums, differences and products saturate; division and remainder floor, and a zero divisor gives zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IndexOperation {
    /// a + b.
    #[default]
    Add,
    /// a − b.
    Subtract,
    /// a × b.
    Multiply,
    /// a ÷ b, towards −∞.
    FloorDivide,
    /// a ÷ b, towards +∞.
    CeilingDivide,
    /// a − ⌊a ÷ b⌋ × b.
    Remainder,
    /// The smaller.
    Minimum,
    /// The larger.
    Maximum,
}

impl Word for IndexOperation {
    const ALL: &'static [Self] =
        &[Self::Add, Self::Subtract, Self::Multiply, Self::FloorDivide, Self::CeilingDivide, Self::Remainder, Self::Minimum, Self::Maximum];
    const WORDS: &'static [&'static str] = &["add", "sub", "mul", "floordiv", "ceildiv", "mod", "min", "max"];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<W: Word + std::fmt::Debug>(last: W) {
        assert_eq!(W::ALL.len(), W::WORDS.len());
        assert_eq!(W::ALL.last(), Some(&last), "a value of the declaration is missing");
        for (position, &value) in W::ALL.iter().enumerate() {
            assert_eq!(value.position(), position);
            assert_eq!(W::from_word(value.word()), Some(value));
        }
        assert_eq!(W::from_word("nothing"), None);
    }

    #[test]
    fn every_value_has_a_word_of_its_own() {
        check(Reduction::All);
        check(Summation::Nines);
        check(Combination::Min);
        check(Search::MinOrNan);
        check(Order::Smallest);
        check(IndexOperation::Maximum);
        check(crate::Accumulation::Separate);
    }
}
