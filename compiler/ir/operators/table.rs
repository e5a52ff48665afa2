//! The table of operators: the only file that names them all.
//!
//! The list at its end is the only one. The text form, arity checks, the verifier, the interpreter, the coverage document and the generator of random
//! modules use it.

use super::arg_reduce::ArgReduce;
use super::arity::Arity;
use super::attention::Attention;
use super::bitcast::Bitcast;
use super::block_matmul::BlockMatmul;
use super::broadcast::Broadcast;
use super::call::Call;
use super::concat::Concat;
use super::constant::Constant;
use super::conv::Conv;
use super::extent_of::ExtentOf;
use super::external::External;
use super::field::Field;
use super::fourier::Fourier;
use super::gather::Gather;
use super::if_else::If;
use super::index_binary::IndexBinary;
use super::index_constant::IndexConstant;
use super::index_load::IndexLoad;
use super::index_tensor::IndexTensor;
use super::iota::Iota;
use super::load_state::LoadState;
use super::map::Map;
use super::matmul::Matmul;
use super::mirror_pad::MirrorPad;
use super::non_max_suppression::NonMaxSuppression;
use super::operator::{Operator, Proposal};
use super::pad::Pad;
use super::real_fourier::RealFourier;
use super::reduce::Reduce;
use super::repack::Repack;
use super::reshape::Reshape;
use super::rule::{Context, Types};
use super::scan::Scan;
use super::scatter::Scatter;
use super::slice::Slice;
use super::store_state::StoreState;
use super::top_k::TopK;
use super::transpose::Transpose;
use super::unpack::Unpack;
use super::while_loop::While;
use super::window::Window;
use crate::axes::Axes;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use std::fmt;

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
            pub(crate) fn blank(op: Op) -> Self {
                match op {
                    $(Op::$kind => Self::$kind($kind::default()),)*
                }
            }

            pub(crate) fn field_list(&self) -> Vec<(&'static str, &dyn Field)> {
                match self {
                    $(Self::$kind(operator) => operator.fields(),)*
                }
            }

            pub(crate) fn field_list_mut(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
                match self {
                    $(Self::$kind(operator) => operator.fields_mut(),)*
                }
            }

            pub(super) fn infer_unchecked(&self, cx: &Context<'_>) -> Types {
                match self {
                    $(Self::$kind(operator) => operator.infer(cx),)*
                }
            }

            /// Its results for some operands.
            pub(crate) fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
                match self {
                    $(Self::$kind(operator) => operator.evaluate(cx),)*
                }
            }

            /// A random instance of an operator.
            pub(crate) fn propose(op: Op, generator: &mut Generator<'_>) -> Proposal<Self> {
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
