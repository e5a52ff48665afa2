//! The operators of the tensor language, one file each: fields, type rule, meaning, random instances, and the effect along each axis.
//!
//! The list at the end of this file is the only one. The text form, arity checks, the verifier, the interpreter, the coverage document and the
//! generator of random modules use it.

mod arg_reduce;
mod attention;
mod bitcast;
mod block_matmul;
mod broadcast;
mod call;
mod concat;
mod constant;
mod conv;
mod extent_of;
mod external;
mod field;
mod fourier;
mod gather;
mod if_else;
mod index_binary;
mod index_constant;
mod index_load;
mod index_tensor;
mod iota;
mod load_state;
mod map;
mod matmul;
mod mirror_pad;
mod non_max_suppression;
mod pad;
mod real_fourier;
mod reduce;
mod repack;
mod reshape;
mod rule;
mod scan;
mod scatter;
mod slice;
mod store_state;
mod top_k;
mod transpose;
mod unpack;
mod while_loop;
mod window;
mod words;

pub use arg_reduce::ArgReduce;
pub use attention::Attention;
pub use bitcast::Bitcast;
pub use block_matmul::{BlockMatmul, block_unit};
pub use broadcast::Broadcast;
pub use call::Call;
pub use concat::Concat;
pub use constant::Constant;
pub use conv::Conv;
pub use extent_of::ExtentOf;
pub use external::External;
pub use field::{Field, Reference, ReferenceMut};
pub use fourier::Fourier;
pub use gather::Gather;
pub use if_else::If;
pub use index_binary::IndexBinary;
pub use index_constant::IndexConstant;
pub use index_load::IndexLoad;
pub use index_tensor::IndexTensor;
pub use iota::Iota;
pub use load_state::LoadState;
pub use map::Map;
pub use matmul::Matmul;
pub use mirror_pad::MirrorPad;
pub use non_max_suppression::NonMaxSuppression;
pub use pad::Pad;
pub use real_fourier::RealFourier;
pub use reduce::Reduce;
pub use repack::Repack;
pub use reshape::Reshape;
pub use rule::{Context, MAX_ELEMENTS, MAX_RANK, broadcast_shapes};
pub use scan::Scan;
pub use scatter::Scatter;
pub use slice::Slice;
pub use store_state::StoreState;
pub use top_k::TopK;
pub use transpose::Transpose;
pub use unpack::Unpack;
pub use while_loop::While;
pub use window::{Window, WindowGeometry};
pub use words::{Combination, IndexOperation, Order, Reduction, Search, Summation, Word};

use super::attribute::{Attribute, AttributeKind};
use super::axes::Axes;
use super::fault::{Misfit, TypeError};
use super::interpret::{Evaluation, Slot, Step};
use super::module::{Func, Value};
use super::random::Generator;
use super::scalar::ScalarOp;
use super::types::{Extent, Type};
use std::fmt;

/// The number of operands of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// Exactly this many.
    Exactly(usize),
    /// This many or more.
    AtLeast(usize),
}

impl Arity {
    /// Tests whether a number of operands is allowed.
    pub fn allows(self, count: usize) -> bool {
        match self {
            Self::Exactly(n) => count == n,
            Self::AtLeast(n) => count >= n,
        }
    }
}

impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(n) => write!(f, "{n}"),
            Self::AtLeast(n) => write!(f, "{n} or more"),
        }
    }
}

/// The result types of an instruction.
pub type Types = Result<Vec<Type>, TypeError>;

/// Random operands, and an operator that probably fits them.
pub(super) type Proposal<O> = Option<(Vec<Value>, O)>;

/// The description of an operator, implemented in its file.
pub(super) trait Operator: Clone + Default {
    /// Its name in the text form.
    const NAME: &'static str;
    /// Its operands.
    const OPERANDS: Arity;
    /// Its meaning, in one sentence for the coverage document.
    const MEANING: &'static str;

    /// Its fields by their names in the text form, in its order.
    fn fields(&self) -> Vec<(&'static str, &dyn Field)>;

    /// Its fields, mutable.
    fn fields_mut(&mut self) -> Vec<(&'static str, &mut dyn Field)>;

    /// The types of the results. The number of operands is checked before.
    fn infer(&self, cx: &Context<'_>) -> Types;

    /// Its results for some operands.
    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>>;

    /// A random instance; `None` if no value at hand fits.
    fn propose(generator: &mut Generator<'_>) -> Proposal<Self>;

    /// The effect along each axis of its operands, in an instruction that its type rule accepts.
    fn axes(&self, cx: &Context<'_>) -> Axes {
        Axes::opaque(cx)
    }

    /// The equivalent operator for permuted operands: dimension `i` of its operands is dimension `permutation[i]` of the original ones. Its result is
    /// the original result with dimensions permuted likewise. `None` if there is no such operator.
    fn permuted(&self, _permutation: &[usize]) -> Option<Self> {
        None
    }

    /// The operator that computes a part of the result along an axis. It reads the needed part of operand 0, with `low` and `high` positions of
    /// border. `None` if fields depend on extents in another way.
    fn part(&self, _axis: usize, _low: i64, _high: i64) -> Option<Self> {
        None
    }

    /// The axis of operand 0 from which the integers of operand 1 pick slices, if the operator does only that; `None` otherwise.
    fn picked_along(&self) -> Option<usize> {
        None
    }

    /// A rough number of scalar operations, or of elements visited, for each element of the results, beside reading the operands once. `None` if it
    /// depends on run-time extents.
    fn work(&self, _cx: &Context<'_>) -> Option<u64> {
        Some(1)
    }
}

/// One row of the table of operators.
pub struct OpRow {
    /// The operator.
    pub op: Op,
    /// Its name in the text form.
    pub name: &'static str,
    /// Operands.
    pub operands: Arity,
    /// Its meaning, in one sentence for the coverage document.
    pub meaning: &'static str,
}

impl Op {
    /// The operator's row.
    pub fn row(self) -> &'static OpRow {
        &OPS[self as usize]
    }

    /// The operator's name in the text form.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The operator of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        OPS.iter().find(|row| row.name == name).map(|row| row.op)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Operation {
    /// The types of the results on these operands.
    ///
    /// # Errors
    /// When operands and fields do not fit each other.
    pub fn infer(&self, cx: &Context<'_>) -> Types {
        let (expected, found) = (self.op().row().operands, cx.operands.len());
        cx.require(expected.allows(found), || Misfit::Operands { expected, found })?;
        self.infer_unchecked(cx)
    }

    /// The fields by their names and kinds.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, AttributeKind, Attribute)> {
        self.field_list().into_iter().map(|(name, field)| (name, field.kind(), field.attribute())).collect::<Vec<_>>().into_iter()
    }

    /// Everything that the fields name outside of the instruction.
    pub fn references(&self) -> impl Iterator<Item = (&'static str, Reference<'_>)> {
        self.field_list().into_iter().map(|(name, field)| (name, field.reference()))
    }

    /// The extents in the fields.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        let lists = self.references().map(|(_, reference)| if let Reference::Extents(list) = reference { list } else { &[] });
        lists.flat_map(<[Extent]>::iter).copied()
    }

    /// The index values in the fields.
    pub fn index_values(&self) -> impl Iterator<Item = Value> {
        self.extents().filter_map(|extent| if let Extent::Value(value) = extent { Some(value) } else { None })
    }

    /// The functions that the fields name.
    pub fn functions(&self) -> impl Iterator<Item = Func> {
        self.references().filter_map(|(_, reference)| if let Reference::Function(function) = reference { Some(function) } else { None })
    }

    /// Visits every extent in the fields.
    pub fn each_extent(&mut self, mut visit: impl FnMut(&mut Extent)) {
        for (_, field) in self.field_list_mut() {
            if let ReferenceMut::Extents(list) = field.reference_mut() {
                list.iter_mut().for_each(&mut visit);
            }
        }
    }

    /// Visits every constant that the fields name, tables of expressions among them.
    pub fn each_constant(&mut self, mut visit: impl FnMut(&mut super::Constant)) {
        for (_, field) in self.field_list_mut() {
            match field.reference_mut() {
                ReferenceMut::Constant(constant) => visit(constant),
                ReferenceMut::Expression(expression) => {
                    for node in expression.nodes.values_mut() {
                        if let ScalarOp::Lut(table) = &mut node.op {
                            visit(table);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Tests whether the operator has control flow or state, or is the application's. Equal instructions must then not be merged.
    pub fn has_effect(&self) -> bool {
        matches!(self, Self::If(_) | Self::While(_) | Self::Call(_) | Self::LoadState(_) | Self::StoreState(_) | Self::External(_))
    }
}

macro_rules! operators {
    ($($kind:ident),* $(,)?) => {
        /// An operator of the tensor language, without its fields.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Op {
            $(
                #[doc = concat!("See [`", stringify!($kind), "`](struct@", stringify!($kind), ").")]
                $kind,
            )*
        }

        /// An operator of the tensor language with its fields.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Operation {
            $(
                #[doc = concat!("See [`", stringify!($kind), "`](struct@", stringify!($kind), ").")]
                $kind($kind),
            )*
        }

        /// The table, in the order of [`Op`].
        pub const OPS: &[OpRow] = &[$(
            OpRow { op: Op::$kind, name: <$kind as Operator>::NAME, operands: <$kind as Operator>::OPERANDS, meaning: <$kind as Operator>::MEANING },
        )*];

        $(
            impl From<$kind> for Operation {
                fn from(operator: $kind) -> Self {
                    Self::$kind(operator)
                }
            }
        )*

        impl Operation {
            /// The operator without its fields.
            pub fn op(&self) -> Op {
                match self {
                    $(Self::$kind(_) => Op::$kind,)*
                }
            }

            /// An operator whose fields are yet to be set.
            pub(super) fn blank(op: Op) -> Self {
                match op {
                    $(Op::$kind => Self::$kind($kind::default()),)*
                }
            }

            pub(super) fn field_list(&self) -> Vec<(&'static str, &dyn Field)> {
                match self {
                    $(Self::$kind(operator) => operator.fields(),)*
                }
            }

            pub(super) fn field_list_mut(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
                match self {
                    $(Self::$kind(operator) => operator.fields_mut(),)*
                }
            }

            fn infer_unchecked(&self, cx: &Context<'_>) -> Types {
                match self {
                    $(Self::$kind(operator) => operator.infer(cx),)*
                }
            }

            /// Its results for some operands.
            pub(super) fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
                match self {
                    $(Self::$kind(operator) => operator.evaluate(cx),)*
                }
            }

            /// A random instance of an operator.
            pub(super) fn propose(op: Op, generator: &mut Generator<'_>) -> Proposal<Self> {
                match op {
                    $(Op::$kind => $kind::propose(generator).map(|(operands, operator)| (operands, operator.into())),)*
                }
            }

            /// The effect along each axis of its operands, in an instruction that its type rule accepts.
            pub fn axes(&self, cx: &Context<'_>) -> Axes {
                match self {
                    $(Self::$kind(operator) => operator.axes(cx),)*
                }
            }

            /// The equivalent operator for operands permuted by `permutation`, whose result is permuted likewise. `None` if there is no such
            /// operator.
            pub fn permuted(&self, permutation: &[usize]) -> Option<Self> {
                match self {
                    $(Self::$kind(operator) => operator.permuted(permutation).map(Self::$kind),)*
                }
            }

            /// The axis of operand 0 from which the integers of operand 1 pick slices, if the operator does only that; `None` otherwise.
            pub fn picked_along(&self) -> Option<usize> {
                match self {
                    $(Self::$kind(operator) => operator.picked_along(),)*
                }
            }

            /// A rough number of scalar operations, or of elements visited, for each element of the results, beside reading the operands once.
            /// `None` if it depends on run-time extents.
            pub fn work(&self, cx: &Context<'_>) -> Option<u64> {
                match self {
                    $(Self::$kind(operator) => operator.work(cx),)*
                }
            }

            /// The operator that computes a part of the result along an axis. It reads the needed part of operand 0, with `low` and `high` positions
            /// of border.
            /// `None` if fields depend on extents in another way.
            pub fn part(&self, axis: usize, low: i64, high: i64) -> Option<Self> {
                match self {
                    $(Self::$kind(operator) => operator.part(axis, low, high).map(Self::$kind),)*
                }
            }
        }
    };
}

operators! {
    Constant,
    Map,
    Conv,
    Matmul,
    BlockMatmul,
    Attention,
    Fourier,
    RealFourier,
    Window,
    Reduce,
    ArgReduce,
    Reshape,
    Bitcast,
    Unpack,
    Repack,
    Transpose,
    Broadcast,
    Slice,
    Pad,
    MirrorPad,
    Concat,
    Gather,
    Scatter,
    Scan,
    TopK,
    NonMaxSuppression,
    Iota,
    ExtentOf,
    IndexConstant,
    IndexBinary,
    IndexLoad,
    IndexTensor,
    If,
    While,
    Call,
    LoadState,
    StoreState,
    External,
}
