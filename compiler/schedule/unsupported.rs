//! Work that has no kernel.

use crate::diagnostic::{Code, codes};
use crate::ir::{ElementType, Op, Reduction, ScalarOp, Word};

/// Work that cannot be lowered, for example on a type that the back ends do not compute with. Its text names the work.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsupported {
    /// An operator in a place where no schedule takes it.
    #[error("operator {0}")]
    Operator(Op),
    /// An operator on elements that its schedule does not take.
    #[error("{op} of {element}")]
    OperatorOf {
        /// The operator.
        op: Op,
        /// The element type.
        element: ElementType,
    },
    /// An operation on scalars that has no code for these types.
    #[error("scalar operation {} on ({}) to {to}", op.name(), names(from))]
    ScalarOperation {
        /// The operation.
        op: ScalarOp,
        /// The types of its operands.
        from: Vec<ElementType>,
        /// The type of its result.
        to: ElementType,
    },
    /// Arithmetic on packed integers or complex numbers.
    #[error("arithmetic on {0}")]
    Arithmetic(ElementType),
    /// A copy of elements that no lane holds.
    #[error("moving elements of {0}")]
    Move(ElementType),
    /// A copy of elements of a width that no lane has.
    #[error("moving elements of {0} bits")]
    MoveBits(u32),
    /// A copy of packed integers whose number has no value at compile time.
    #[error("copies of 4-bit integers whose number is known only when the program runs")]
    PackedCopy,

    /// A tensor whose size has no upper bound.
    #[error("a tensor without a bound on its size")]
    UnboundedTensor,
    /// A run-time extent that has no upper bound.
    #[error("an extent without a bound")]
    UnboundedExtent,
    /// A tensor with more bytes than an address counts.
    #[error("a tensor beyond all memory")]
    BeyondMemory,
    /// A run-time extent where a schedule needs a static shape.
    #[error("a tensor of dynamic shape")]
    DynamicShape,
    /// Run-time extents that the operator requires to be equal, which is not proven.
    #[error("extents that are known only when the program runs, and may differ")]
    ExtentsMayDiffer,
    /// Positions along an axis that 32-bit indices cannot count.
    #[error("positions beyond 31 bits")]
    Positions,
    /// Slices of a tensor that begin inside a byte.
    #[error("slices that do not begin at whole bytes")]
    SlicesInBytes,
    /// Slices whose work takes several kernels.
    #[error("slices that take a kernel after another one")]
    SlicesOfKernels,

    /// A reduction that is not defined for a type.
    #[error("{} over {element}", reduction.word())]
    Reduction {
        /// The reduction.
        reduction: Reduction,
        /// The element type.
        element: ElementType,
    },
    /// An operator in a row that is expected to be a reduction.
    #[error("reductions by {0}")]
    ReductionBy(Op),
    /// A pooling window of a number of dimensions.
    #[error("a window over {0} dimensions")]
    Window(usize),
    /// Attention with run-time heads or depth.
    #[error("attention whose heads or depth are known only when the program runs")]
    AttentionExtents,
    /// A Fourier transform of a run-time length.
    #[error("a transform of a length that is known only when the program runs")]
    TransformLength,
    /// A search for the largest elements of a scalar.
    #[error("top_k without a dimension")]
    TopKOfScalar,
    /// A suppression of boxes whose scores have no rows.
    #[error("scores without rows")]
    ScoresWithoutRows,
    /// A scatter with another number of operands.
    #[error("a scatter of other operands")]
    ScatterOperands,

    /// A convolution over a number of dimensions.
    #[error("convolution over {0} dimensions")]
    Convolution(usize),
    /// A convolution with too many taps.
    #[error("a convolution with a window of {0:?}")]
    Taps([u64; 3]),
    /// A convolution whose input is dilated by too much.
    #[error("convolution of an input dilated by {0:?}")]
    InputDilation([u64; 3]),
    /// A convolution of a dilated input with run-time extents.
    #[error("convolution of a dilated input whose extents are known only when the program runs")]
    OpenInputDilation,
    /// A convolution over a number of dimensions with run-time extents.
    #[error("windows over {0} dimensions whose extents are known only when the program runs")]
    OpenWindows(usize),
    /// A window with more rows than a kernel has pointers.
    #[error("a window of {0} rows")]
    WindowRows(u64),
    /// Staged rows with too many elements.
    #[error("windows over {0} elements of input and padding")]
    StagedElements(u128),
    /// A contraction whose types have no product or no sum.
    #[error("{op} of {left} and {right} summed in {sum}")]
    Products {
        /// The operator.
        op: Op,
        /// The element type of the left operand.
        left: ElementType,
        /// The element type of the right operand.
        right: ElementType,
        /// The type of the sums.
        sum: ElementType,
    },
    /// A right operand of an element type that no weights have.
    #[error("a contraction with a {0} right operand")]
    RightOperand(ElementType),
    /// A computed right operand of a type that only constants may have.
    #[error("a contraction with a {0} right operand that is no constant")]
    ComputedRightOperand(ElementType),
    /// A computed right operand of integers, while the weights are external.
    #[error("a contraction with a computed {0} right operand, with weights in a file of their own,")]
    ComputedBesideExternal(ElementType),
    /// A zero point of weights that leaves 16 bits.
    #[error("a filter zero point outside its type")]
    FilterZeroPoint,
    /// A product in blocks with computed weights.
    #[error("products in blocks with weights that are no constants")]
    ComputedBlocks,
    /// A sparse product of pixels that fill no block.
    #[error("sparse weights of so few pixels")]
    SparsePixels,
    /// A sparse product with weights that are stored whole.
    #[error("weights whose zeros are stored")]
    StoredZeros,
    /// A depthwise convolution in rows on a machine without products of bytes.
    #[error("products of bytes in rows")]
    ByteProducts,

    /// A custom operator that has no function.
    #[error("a custom operator without a function")]
    CustomWithoutFunction,
    /// A custom operator on a run-time extent.
    #[error("a custom operator on a tensor of dynamic shape")]
    CustomDynamicShape,
}

impl Unsupported {
    /// Returns the code of its diagnostic, which says what the user can change: types, options, dynamic dimensions, weights or sizes.
    pub fn code(&self) -> Code {
        match self {
            Self::Operator(_) | Self::CustomWithoutFunction => codes::OPERATOR_UNSUPPORTED,
            Self::OperatorOf { .. }
            | Self::ScalarOperation { .. }
            | Self::Arithmetic(_)
            | Self::Move(_)
            | Self::MoveBits(_)
            | Self::Reduction { .. }
            | Self::Products { .. }
            | Self::RightOperand(_) => codes::ARITHMETIC_UNSUPPORTED,
            Self::UnboundedTensor | Self::UnboundedExtent => codes::SHAPE_WITHOUT_BOUND,
            Self::PackedCopy
            | Self::DynamicShape
            | Self::ExtentsMayDiffer
            | Self::AttentionExtents
            | Self::TransformLength
            | Self::OpenInputDilation
            | Self::OpenWindows(_)
            | Self::CustomDynamicShape => codes::DYNAMIC_UNSUPPORTED,
            Self::ComputedRightOperand(_) | Self::ComputedBesideExternal(_) | Self::ComputedBlocks => codes::COMPUTED_WEIGHTS,
            Self::BeyondMemory | Self::Positions | Self::Taps(_) | Self::WindowRows(_) | Self::StagedElements(_) => codes::TENSOR_TOO_LARGE,
            Self::SlicesInBytes
            | Self::SlicesOfKernels
            | Self::ReductionBy(_)
            | Self::Window(_)
            | Self::TopKOfScalar
            | Self::ScoresWithoutRows
            | Self::ScatterOperands
            | Self::Convolution(_)
            | Self::InputDilation(_)
            | Self::FilterZeroPoint
            | Self::SparsePixels
            | Self::StoredZeros
            | Self::ByteProducts => codes::USE_UNSUPPORTED,
        }
    }
}

fn names(types: &[ElementType]) -> String {
    types.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_the_operator_and_its_types() {
        let types = vec![ElementType::C64, ElementType::F32];
        let scalar = Unsupported::ScalarOperation { op: ScalarOp::Add, from: types, to: ElementType::C64 };
        assert_eq!(scalar.to_string(), "scalar operation add on (c64, f32) to c64");
        let [left, right, sum] = [ElementType::I16, ElementType::F32, ElementType::I32];
        let products = Unsupported::Products { op: Op::Matmul, left, right, sum };
        assert_eq!(products.to_string(), "matmul of i16 and f32 summed in i32");
        let reduction = Unsupported::Reduction { reduction: Reduction::Sum, element: ElementType::I8 };
        assert_eq!(reduction.to_string(), "sum over i8");
    }

    #[test]
    fn codes_say_what_to_change() {
        let reduction = Unsupported::Reduction { reduction: Reduction::Sum, element: ElementType::I8 };
        let errors = [
            (Unsupported::Operator(Op::Matmul), codes::OPERATOR_UNSUPPORTED),
            (Unsupported::Convolution(4), codes::USE_UNSUPPORTED),
            (reduction, codes::ARITHMETIC_UNSUPPORTED),
            (Unsupported::TransformLength, codes::DYNAMIC_UNSUPPORTED),
            (Unsupported::ComputedBlocks, codes::COMPUTED_WEIGHTS),
            (Unsupported::WindowRows(1200), codes::TENSOR_TOO_LARGE),
            (Unsupported::UnboundedExtent, codes::SHAPE_WITHOUT_BOUND),
        ];
        for (error, code) in errors {
            assert_eq!(error.code(), code, "{error}");
        }
    }
}
