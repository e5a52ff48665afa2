//! Mistakes in the operands of an operator: variants with their data, from which a front end makes its diagnostic.

use crate::ir::scalar::ExpressionError;
use crate::ir::{ElementType, Extent, TypeError};

/// The reason why an operator cannot be built.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// A rule of the tensor language.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// A scalar operation that is not defined on its operand's types.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// An extent, or a number computed from extents, that 64 bits do not hold.
    #[error("the dimension is too large")]
    DimensionTooLarge,
    /// A number of elements that 64 bits do not hold.
    #[error("the result has too many elements")]
    TooManyElements,
    /// An axis that a tensor does not have.
    #[error("the tensor has no such dimension")]
    NoAxis,
    /// A position that an axis does not have.
    #[error("an index is out of range")]
    OutsideAxis {
        /// The position.
        index: i64,
        /// Elements along the axis.
        extent: u64,
    },
    /// Indices of a type that holds no positions.
    #[error("an index is no integer")]
    NoIndex {
        /// The type.
        element: ElementType,
    },
    /// Vectors of more numbers than a tensor has dimensions.
    #[error("the indices do not fit the rank")]
    Coordinates {
        /// Dimensions of the tensor.
        rank: usize,
        /// Numbers of a vector.
        found: u64,
    },
    /// A list of more indices than a tensor has dimensions.
    #[error("there are more indices than dimensions")]
    TooManyIndices {
        /// Dimensions of the tensor.
        rank: usize,
    },
    /// An operand of another rank than the one it goes with.
    #[error("an operand has another rank")]
    RanksDiffer {
        /// The rank that it must have.
        expected: usize,
        /// Its rank.
        found: usize,
    },
    /// Positions that are stored one by one, and are too many for it.
    #[error("too many elements to pick one by one")]
    TooManyPositions {
        /// The maximum number of elements.
        most: u64,
        /// The shape of the positions.
        shape: Vec<u64>,
    },
    /// Types without a common type that holds all numbers of both.
    #[error("there is no common type of {a} and {b}")]
    NoCommonType {
        /// One.
        a: ElementType,
        /// The other one.
        b: ElementType,
    },
    /// A permutation that does not fit the operand's dimensions.
    #[error("the permutation does not fit the rank")]
    Permutation,
    /// A run-time extent where it must be known at compile time.
    #[error("a shape that is known only when the model runs is not supported here")]
    DynamicExtent,
    /// An extent that is known only at run time would always have to be one number.
    #[error("an extent that is known only when the model runs would always have to be {must_be}")]
    FixedExtent {
        /// The extent.
        extent: Extent,
        /// The required number.
        must_be: u64,
    },
    /// Two run-time extents that must be equal, but are not known to be.
    #[error("two extents that are known only when the model runs have to be equal, which is not known")]
    UnrelatedExtents {
        /// One.
        a: Extent,
        /// The other one.
        b: Extent,
    },
    /// A step between windows or their taps that is not positive.
    #[error("strides and dilation must be positive")]
    WindowStep {
        /// The step.
        step: i64,
    },
    /// A window, or its padding, that does not fit the image.
    #[error("the window does not fit the input")]
    WindowMisfit {
        /// Elements of the image.
        extent: u64,
        /// Taps of the window.
        size: u64,
    },
    /// A border that cuts off more elements than there are, or is wider than its source.
    #[error("the border does not fit what lies inside")]
    BorderTooWide {
        /// Elements inside.
        extent: u64,
        /// Elements before them.
        before: i64,
        /// Elements after them.
        after: i64,
    },
    /// A window that reaches further than 64 bits count.
    #[error("the window is too large")]
    WindowTooLarge,
    /// A window without a tap in the image.
    #[error("a window of the pool lies outside the image")]
    WindowOutside,
    /// Windows that are counted one by one, and are too many for it.
    #[error("there are too many windows")]
    TooManyWindows {
        /// The maximum number.
        most: u64,
    },
    /// A mean whose sum is to be divided by zero.
    #[error("the divisor is zero")]
    ZeroDivisor,
    /// An image or a filter of a transposed convolution with positions beyond 64 bits.
    #[error("the image or the filter is too large")]
    ImageTooLarge,
    /// A transposed convolution of this many phases.
    #[error("strides so large are not supported where the image is known only when the model runs")]
    TooManyPhases {
        /// The product of the strides.
        phases: u64,
        /// The maximum number of phases.
        most: u64,
    },
    /// A transposed convolution in which no tap reaches some results.
    #[error("a stride beyond the filter is not supported where the image is known only when the model runs")]
    PhaseWithoutTaps {
        /// The distance between the results of neighbouring taps.
        stride: u64,
        /// Taps.
        size: u64,
    },
    /// A ratio of scales that is no finite number.
    #[error("the ratio of the scales is out of range")]
    ScaleRatio {
        /// The ratio.
        ratio: f64,
    },
    /// A scale on which the bounds of an activation are no integers of 32 bits.
    #[error("the output's scale is too small for its activation")]
    ActivationScale {
        /// The scale.
        scale: f32,
    },
    /// A product of this many quantized elements.
    #[error("products of so many quantized elements are not supported")]
    TooManyFactors {
        /// The maximum number of factors.
        most: u64,
        /// The number of factors.
        factors: u64,
    },
    /// A scale of a softmax's operand whose product with beta is negative or not finite.
    #[error("the input's scale times beta is out of range")]
    ScaleTimesBeta {
        /// The scale.
        scale: f32,
        /// The factor.
        beta: f32,
    },
    /// A type that holds no quantized numbers.
    #[error("{element} is no quantized output")]
    NotQuantized {
        /// The type.
        element: ElementType,
    },
    /// A tensor that is to be a matrix, or several.
    #[error("the tensor must be a matrix")]
    NoMatrix {
        /// Its dimensions.
        rank: usize,
    },
    /// An extent that blocks do not divide.
    #[error("{what} does not divide into blocks")]
    NoBlocks {
        /// The name of the extent in the message.
        what: &'static str,
        /// The extent.
        extent: u64,
        /// The number that must divide it.
        divisor: u64,
    },
    /// A tensor that is no image.
    #[error("the tensor must be an image")]
    NoImage {
        /// Its dimensions.
        rank: usize,
    },
    /// Crops that leave nothing.
    #[error("the crops leave nothing")]
    Crops {
        /// The minimum number of elements cut off.
        least: i64,
        /// The maximum number of elements present.
        most: i64,
    },
    /// A transform whose length has a factor that there is no butterfly for.
    #[error("a transform whose length has other prime factors than 2, 3 and 5 is not supported")]
    Radix {
        /// The factor.
        radix: u64,
    },
    /// A transform of a type that it is not defined on.
    #[error("transforms of {element} are not supported")]
    NotTransformed {
        /// The type.
        element: ElementType,
    },
    /// A sequence without steps.
    #[error("a sequence without steps is not supported")]
    NoSteps,
    /// A sequence of more steps than 32 bits count.
    #[error("a sequence of so many steps is not supported")]
    TooManySteps {
        /// The number of steps.
        steps: u64,
    },
    /// Gates whose weights have different zero points.
    #[error("gates whose weights have different zero points are not supported")]
    GateZeroPoints,
    /// A factor of a gate that leaves its range.
    #[error("the scales are too large for a gate")]
    GateScale {
        /// The factor.
        scale: f64,
    },
    /// A scale of a cell state that is no power of two, or none within bounds.
    #[error("the scale of the cell state must be a power of two")]
    CellScale {
        /// The scale.
        scale: f32,
        /// The least exponent.
        least: i32,
        /// The largest exponent.
        most: i32,
    },
    /// A scale of a layer normalization that leaves its range.
    #[error("the scale of the normalization is out of range")]
    NormScale {
        /// The scale.
        scale: f32,
    },
    /// Groups of channels where activations are quantized by their images.
    #[error("grouped convolutions of floats with one int8 filter scale are not supported")]
    DynamicRangeGroups,
    /// Groups that do not divide the channels.
    #[error("{channels} channels do not divide into {groups} groups")]
    Groups {
        /// Channels.
        channels: u64,
        /// Groups.
        groups: u64,
    },
}

impl Error {
    /// Tests whether the operands are sound, and only the compiler does not support them.
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::Expression(_)
                | Self::DynamicExtent
                | Self::FixedExtent { .. }
                | Self::UnrelatedExtents { .. }
                | Self::TooManyWindows { .. }
                | Self::TooManyPositions { .. }
                | Self::NoCommonType { .. }
                | Self::TooManyFactors { .. }
                | Self::TooManyPhases { .. }
                | Self::PhaseWithoutTaps { .. }
                | Self::NotQuantized { .. }
                | Self::DynamicRangeGroups
                | Self::NoSteps
                | Self::Radix { .. }
                | Self::NotTransformed { .. }
                | Self::TooManySteps { .. }
                | Self::GateZeroPoints
        )
    }

    /// The expected and the actual operand, if a number or a word describes them.
    pub fn expectation(&self) -> Option<(String, String)> {
        let pair = |expected: String, found: String| Some((expected, found));
        match self {
            Self::WindowStep { step } => pair("1 or more".into(), step.to_string()),
            Self::WindowMisfit { extent, size } => pair(format!("1 to {extent}"), size.to_string()),
            Self::BorderTooWide { extent, before, after } => {
                pair(format!("a border of {extent} elements"), format!("{before} and {after}"))
            }
            Self::OutsideAxis { index, extent } => pair(format!("less than {extent}"), index.to_string()),
            Self::NoIndex { element } => pair("integers".into(), element.to_string()),
            Self::Coordinates { rank, found } => pair(format!("a last dimension of at most {rank}"), found.to_string()),
            Self::TooManyIndices { rank } => pair(format!("at most {rank}"), "more".into()),
            Self::RanksDiffer { expected, found } => pair(expected.to_string(), found.to_string()),
            Self::TooManyPositions { most, shape } => pair(format!("at most {most}"), format!("{shape:?}")),
            Self::ScaleTimesBeta { scale, beta } => pair("a finite number, 0 or more".into(), format!("{scale} × {beta}")),
            Self::TooManyFactors { most, factors } => pair(format!("1 to {most}"), factors.to_string()),
            Self::TooManyWindows { most } => pair(format!("at most {most}"), "more".into()),
            Self::TooManyPhases { phases, most } => pair(format!("a product of at most {most}"), phases.to_string()),
            Self::PhaseWithoutTaps { stride, size } => pair(format!("at most {size}"), stride.to_string()),
            Self::ScaleRatio { ratio } => pair("a finite number".into(), ratio.to_string()),
            Self::ActivationScale { scale } => pair("a larger one".into(), scale.to_string()),
            Self::NoBlocks { extent, divisor, .. } => pair(format!("a multiple of {divisor}"), extent.to_string()),
            Self::NoImage { rank } => pair("rank 3 or more".into(), rank.to_string()),
            Self::Crops { least, most } => pair(format!("at most {most}"), least.to_string()),
            Self::Radix { radix } => pair("factors of 2, 3, 4 and 5".into(), format!("a factor of {radix}")),
            Self::GateScale { scale } => pair("below 2^14".into(), scale.to_string()),
            Self::CellScale { scale, least, most } => pair(format!("2^{least} to 2^{most}"), scale.to_string()),
            Self::NoMatrix { rank } => pair("rank 2 or more".into(), rank.to_string()),
            _ => None,
        }
    }

    /// Advice to the user.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::UnrelatedExtents { .. } => Some("extents of inputs that are always equal need a common bound"),
            _ => None,
        }
    }
}
