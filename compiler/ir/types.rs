//! Types of values: tensors with their element type, extents and layout; index integers with an interval; effect tokens.

use super::entities::Value;
use std::fmt;

/// The type of one tensor element.
///
/// ```
/// # use modelc_ir as modelc;
/// use modelc::ElementType;
/// assert_eq!((ElementType::Bf16.bits(), ElementType::Bf16.numpy_name()), (16, "bfloat16".to_string()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum ElementType {
    /// A truth value, one byte, 0 or 1.
    Bool,
    /// Signed 2-bit integer; four to a byte in memory, the first element in the low bits.
    I2,
    /// Signed 4-bit integer; two to a byte in memory, the even element in the low nibble.
    I4,
    /// Signed 8-bit integer.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 4-bit integer; two to a byte in memory, as [`Self::I4`].
    U4,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// IEEE 754 binary32.
    #[default]
    F32,
    /// IEEE 754 binary64.
    F64,
    /// A complex number of two binary32: real, then imaginary part.
    C64,
    /// A complex number of two binary64. Tensors of it are moved and taken apart by `bitcast`; expressions do not compute with it.
    C128,
}

impl ElementType {
    /// Every element type with its name in the text form.
    pub const ALL: [(Self, &'static str); 18] = [
        (Self::Bool, "bool"),
        (Self::I2, "i2"),
        (Self::I4, "i4"),
        (Self::I8, "i8"),
        (Self::I16, "i16"),
        (Self::I32, "i32"),
        (Self::I64, "i64"),
        (Self::U4, "u4"),
        (Self::U8, "u8"),
        (Self::U16, "u16"),
        (Self::U32, "u32"),
        (Self::U64, "u64"),
        (Self::F16, "f16"),
        (Self::Bf16, "bf16"),
        (Self::F32, "f32"),
        (Self::F64, "f64"),
        (Self::C64, "c64"),
        (Self::C128, "c128"),
    ];

    /// Bits of one element.
    pub fn bits(self) -> u32 {
        match self {
            Self::I2 => 2,
            Self::I4 | Self::U4 => 4,
            Self::Bool | Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 64,
            Self::C128 => 128,
        }
    }

    /// Tests whether several elements share a byte.
    pub fn is_packed(self) -> bool {
        self.bits() < 8
    }

    /// Elements of a byte; 1 for elements of a byte or more.
    pub fn per_byte(self) -> u64 {
        8 / u64::from(self.bits().min(8))
    }

    /// The type of one element on its own: a byte for packed elements, with their sign.
    pub fn unpacked(self) -> Self {
        match self {
            Self::I2 | Self::I4 => Self::I8,
            Self::U4 => Self::U8,
            other => other,
        }
    }

    /// Bytes that `count` elements take, rounded up to whole bytes; `None` on overflow.
    pub fn bytes_for(self, count: u64) -> Option<u64> {
        Some(count.checked_mul(u64::from(self.bits()))?.div_ceil(8))
    }

    /// Alignment of one element in bytes.
    pub fn alignment(self) -> u64 {
        u64::from(self.part().bits()).div_ceil(8)
    }

    /// The type of a complex number's parts; of any other number the type itself.
    pub fn part(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            other => other,
        }
    }

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// NumPy's name, or the one that NumPy would give it: `int8`, `float32`, `bfloat16`, `int4`.
    pub fn numpy_name(self) -> String {
        let family = match self {
            Self::Bool => return "bool".into(),
            Self::Bf16 => "bfloat",
            Self::C64 | Self::C128 => "complex",
            _ if self.is_float() => "float",
            _ if self.is_unsigned_integer() => "uint",
            _ => "int",
        };
        format!("{family}{}", self.bits())
    }

    /// The element type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(e, _)| *e)
    }

    /// Tests whether the type is a floating-point type. Complex types are not.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Tests whether the type is a float of 16 bits.
    pub fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16)
    }

    /// Tests whether the type is a signed integer.
    pub fn is_signed_integer(self) -> bool {
        matches!(self, Self::I2 | Self::I4 | Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Tests whether the type is an unsigned integer.
    pub fn is_unsigned_integer(self) -> bool {
        matches!(self, Self::U4 | Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Tests whether the type is an integer of either sign. Truth values are not.
    pub fn is_integer(self) -> bool {
        self.is_signed_integer() || self.is_unsigned_integer()
    }

    /// The smallest and largest value of an integer type.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        let bits = self.bits();
        if self.is_signed_integer() {
            Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1))
        } else if self.is_unsigned_integer() {
            Some((0, (1i128 << bits) - 1))
        } else {
            None
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One extent of a tensor: a number, or an SSA integer known when the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// A number known at compile time.
    Static(u64),
    /// An index value of the same function; its interval bounds the extent.
    Value(Value),
}

impl Extent {
    /// The number, when it is one.
    pub fn as_static(self) -> Option<u64> {
        match self {
            Self::Static(n) => Some(n),
            Self::Value(_) => None,
        }
    }
}

/// `?` for an extent that is known only when the program runs.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static(n) => write!(f, "{n}"),
            Self::Value(_) => f.write_str("?"),
        }
    }
}

/// `[1, ?, 3]`: a list as messages show it.
pub fn list_text<T: fmt::Display>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

/// A closed interval of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Interval<N = i64> {
    /// The smallest value.
    pub low: N,
    /// The largest value; `i64::MAX` when no bound of an extent is known.
    pub high: N,
}

impl<N: Copy> Interval<N> {
    /// The interval between two numbers.
    pub const fn new(low: N, high: N) -> Self {
        Self { low, high }
    }

    /// The interval of one number.
    pub const fn exactly(n: N) -> Self {
        Self { low: n, high: n }
    }
}

impl Interval {
    /// Any extent at all.
    pub const UNBOUNDED: Self = Self { low: 0, high: i64::MAX };

    /// Tests whether an upper bound is known.
    pub fn is_bounded(self) -> bool {
        self.high != i64::MAX
    }
}

/// The integers that stand for zero in the two operands of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZeroPoints {
    /// Subtracted from each element of the left operand, or of an image.
    pub left: i64,
    /// Subtracted from each element of the right operand, or of a filter.
    pub right: i64,
}

impl ZeroPoints {
    /// Operands in which 0 stands for zero.
    pub const NONE: Self = Self::of_left(0);

    /// A zero point of the left operand alone.
    pub const fn of_left(left: i64) -> Self {
        Self { left, right: 0 }
    }
}

/// The order of the dimensions in memory, outermost first. Shapes are always logical.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Layout(Option<Box<[u8]>>);

impl Layout {
    /// Dimension 0 outermost, the last one contiguous.
    pub const ROW_MAJOR: Self = Self(None);

    /// The layout of a dimension order, outermost first; row major when it is the identity.
    /// `None` when `order` is no permutation.
    pub fn from_order(order: &[u8]) -> Option<Self> {
        let mut seen = vec![false; order.len()];
        for &d in order {
            let slot = seen.get_mut(usize::from(d))?;
            if std::mem::replace(slot, true) {
                return None;
            }
        }
        let identity = order.iter().enumerate().all(|(i, &d)| i == usize::from(d));
        Some(if identity { Self::ROW_MAJOR } else { Self(Some(order.into())) })
    }

    /// The order outermost first, or `None` for row major.
    pub fn order(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }
}

/// The type of a tensor: element, logical shape, layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    /// The type of each element.
    pub element: ElementType,
    /// The logical shape; a scalar has none.
    pub shape: Vec<Extent>,
    /// The order of dimensions in memory.
    pub layout: Layout,
}

/// `f32[1, ?, 3]`: a type as messages show it.
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.element, list_text(&self.shape))
    }
}

impl TensorType {
    /// A row-major tensor of a static shape.
    pub fn of(element: ElementType, shape: &[u64]) -> Self {
        Self::new(element, shape.iter().map(|&n| Extent::Static(n)).collect())
    }

    /// A row-major tensor.
    pub fn new(element: ElementType, shape: Vec<Extent>) -> Self {
        Self { element, shape, layout: Layout::ROW_MAJOR }
    }

    /// Returns this shape with another element type.
    pub fn with_element(&self, element: ElementType) -> Self {
        Self { element, ..self.clone() }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The shape, when every extent is known.
    pub fn static_shape(&self) -> Option<Vec<u64>> {
        self.shape.iter().map(|e| e.as_static()).collect()
    }

    /// The number of elements, when every extent is known and the product fits 64 bits.
    pub fn static_elements(&self) -> Option<u64> {
        self.static_shape()?.into_iter().try_fold(1u64, u64::checked_mul)
    }

    /// Bytes of the dense tensor, when every extent is known.
    pub fn static_bytes(&self) -> Option<u64> {
        self.element.bytes_for(self.static_elements()?)
    }
}

/// The type of an SSA value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A tensor.
    Tensor(TensorType),
    /// A 64-bit integer used for extents, counts and positions.
    Index(Interval),
    /// The token that orders loads and stores of state.
    Effect,
}

impl Type {
    /// The tensor type, when it is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Self::Tensor(t) => Some(t),
            _ => None,
        }
    }
}
