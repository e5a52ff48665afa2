//! Words of the text. The word of a variant is its name in lower case with underscores.

use crate::*;
use std::collections::HashSet;
use std::fmt::Debug;

/// Returns the word of a variant.
pub fn name(variant: &impl Debug) -> String {
    let mut name = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Returns the variant of a list with a given word.
pub(super) fn named<T: Debug + Copy>(list: &[T], word: &str) -> Option<T> {
    list.iter().copied().find(|variant| name(variant) == word)
}

/// Returns distinct names of buffers for the text. Further buffers of one name get a number after it. Parameters are numbered before arrays, as in the
/// text.
pub(super) fn buffer_names(buffers: &[BufferData]) -> Vec<String> {
    let mut names = vec![String::new(); buffers.len()];
    let mut taken = HashSet::new();
    for is_local in [false, true] {
        for (i, data) in buffers.iter().enumerate().filter(|(_, data)| data.kind.is_parameter() != is_local) {
            let others = (2..).map(|number: u32| format!("{}.{number}", data.name));
            let free = std::iter::once(data.name.clone()).chain(others).find(|name| !taken.contains(name));
            names[i] = free.unwrap_or_default();
            taken.insert(names[i].clone());
        }
    }
    names
}

/// Returns the type of a word: a lane type, then `x` and the number of lanes if it is not 1.
pub(super) fn type_named(word: &str) -> Option<Type> {
    let (lane, lanes) = match word.split_once('x') {
        Some((lane, lanes)) => (lane, lanes.parse().ok().filter(|&lanes| lanes > 0)?),
        None => (word, 1),
    };
    let lane = LANES.into_iter().find(|&candidate| Type::scalar(candidate).to_string() == lane)?;
    Some(Type::vector(lane, lanes))
}

const LANES: [Lane; 7] = [Lane::Mask, Lane::I8, Lane::I16, Lane::I32, Lane::I64, Lane::F32, Lane::F64];

/// All kinds of buffers.
pub(super) const KINDS: [BufferKind; 5] =
    [BufferKind::Input, BufferKind::Output, BufferKind::Scratch, BufferKind::Local, BufferKind::Shared];

/// All bounds of gathers.
pub(super) const BOUNDS: [Bounds; 2] = [Bounds::Proven, Bounds::Clamp];

/// All operations on two values.
pub(super) const BINARY: [BinaryOp; 29] = {
    use BinaryOp::*;
    [
        Add,
        Sub,
        Mul,
        FloatDiv,
        SignedDiv,
        UnsignedDiv,
        SignedRem,
        UnsignedRem,
        And,
        Or,
        Xor,
        ShiftLeft,
        ShiftRightSigned,
        ShiftRightUnsigned,
        SignedMin,
        SignedMax,
        UnsignedMin,
        UnsignedMax,
        FloatMinFirst,
        FloatMaxFirst,
        FloatMinPropagate,
        FloatMaxPropagate,
        FloatMinIgnore,
        FloatMaxIgnore,
        FloatScale,
        ShiftNearest,
        SignedAddInRange,
        SignedAddSaturating,
        SignedSubSaturating,
    ]
};

/// All operations on one value.
pub(super) const UNARY: [UnaryOp; 9] = {
    use UnaryOp::*;
    [Neg, Abs, Not, Sqrt, Floor, Ceil, Trunc, Nearest, CountLeadingZeros]
};

/// All conversions.
pub(super) const CONVERT: [ConvertOp; 16] = {
    use ConvertOp::*;
    [
        SignExtend,
        ZeroExtend,
        Wrap,
        NarrowSigned,
        NarrowUnsigned,
        SignedToFloat,
        UnsignedToFloat,
        FloatToSigned,
        FloatToUnsigned,
        FloatToSignedInRange,
        Promote,
        Demote,
        HalfToFloat,
        FloatToHalf,
        Bitcast,
        MaskToInteger,
    ]
};

/// All comparisons.
pub(super) const COMPARE: [CompareOp; 8] = {
    use CompareOp::*;
    [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, UnsignedLess, UnsignedLessEqual]
};

/// All dot products.
pub(super) const DOT: [DotOp; 7] = {
    use DotOp::*;
    [UnsignedSigned8, Signed8, Signed16, UnsignedSigned8To16, SignedSquares, UnsignedSignedSquares, SignedSixteens]
};

/// All horizontal reductions.
pub(super) const HORIZONTAL: [HorizontalOp; 3] = [HorizontalOp::Add, HorizontalOp::Max, HorizontalOp::Min];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_whole_and_in_order() {
        assert!(BINARY.iter().enumerate().all(|(i, &op)| op as usize == i));
        assert!(UNARY.iter().enumerate().all(|(i, &op)| op as usize == i));
        assert!(CONVERT.iter().enumerate().all(|(i, &op)| op as usize == i));
        assert!(COMPARE.iter().enumerate().all(|(i, &op)| op as usize == i));
        assert_eq!(named(&BINARY, "signed_sub_saturating"), Some(BinaryOp::SignedSubSaturating));
        assert_eq!(named(&DOT, "unsigned_signed8"), Some(DotOp::UnsignedSigned8));
    }

    #[test]
    fn buffers_of_one_name_are_told_apart() {
        let buffer = |name: &str, kind| BufferData::new(name, kind, Lane::I8, 1, 1);
        let (local, input) = (BufferKind::Local, BufferKind::Input);
        let buffers = [buffer("x", local), buffer("x", input), buffer("x.2", input), buffer("x", input), buffer("y", input)];
        assert_eq!(buffer_names(&buffers), ["x.4", "x", "x.2", "x.3", "y"]);
    }

    #[test]
    fn types_are_named() {
        assert_eq!(type_named("maskx4"), Some(Type::vector(Lane::Mask, 4)));
        assert_eq!(type_named("i64"), Some(Type::INDEX));
        assert_eq!([type_named("f32x0"), type_named("f16"), type_named("i8x")], [None; 3]);
    }
}
