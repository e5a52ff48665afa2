//! The table of supported operators.

use super::file::OperatorCode;
use super::operator::Lower;
use super::unary::{self, exp_f32};
use super::{
    arithmetic, blocks, branches, comparison, complex, concatenation, convolution, custom, densify, division, fully_connected, indexing,
    loops, matrix, normalization, ordering, padding, pooling, quantize, recurrent, reduce_window, reduction, resize, segments, selection,
    shape, slicing, stablehlo_indexing, tables, transposed_convolution, variables,
};
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::CustomSymbol;
use crate::ir::ElementType::{I8, I16};
use crate::ir::{Combination, Comparison, NanRule, Reduction, ScalarOp, Search};
use crate::operators::activation::Activation;
use crate::schema::tflite::BuiltinOperator as Code;

/// Every operator that is compiled, in the order of the schema's names.
pub(super) const SUPPORTED: &[(Code, Lower)] = &[
    (Code::ABS, |o| unary::signed(o, ScalarOp::Abs)),
    (Code::ADD, arithmetic::add),
    (Code::ADD_N, arithmetic::add_n),
    (Code::ARG_MAX, |o| reduction::arg_extreme(o, Search::Max)),
    (Code::ARG_MIN, |o| reduction::arg_extreme(o, Search::Min)),
    (Code::ASSIGN_VARIABLE, variables::assign),
    (Code::ATAN2, arithmetic::atan2),
    (Code::AVERAGE_POOL_2D, pooling::average_pool_2d),
    (Code::BATCH_MATMUL, matrix::batch_matmul),
    (Code::BATCH_TO_SPACE_ND, blocks::batch_to_space),
    (Code::BITCAST, complex::bitcast_operator),
    (Code::BITWISE_XOR, arithmetic::bitwise_xor),
    (Code::BIDIRECTIONAL_SEQUENCE_LSTM, recurrent::bidirectional_sequence_lstm),
    (Code::BIDIRECTIONAL_SEQUENCE_RNN, recurrent::bidirectional_sequence_rnn),
    (Code::BROADCAST_ARGS, shape::broadcast_args),
    (Code::BROADCAST_TO, shape::broadcast_to),
    (Code::BUCKETIZE, ordering::bucketize),
    (Code::CALL, branches::call),
    (Code::CALL_ONCE, variables::call_once),
    (Code::CAST, quantize::cast),
    (Code::CEIL, |o| unary::float(o, ScalarOp::Ceil)),
    (Code::COMPLEX_ABS, complex::magnitude),
    (Code::CONCATENATION, concatenation::concatenation),
    (Code::CONV_2D, convolution::conv_2d),
    (Code::CONV_3D, convolution::conv_3d),
    (Code::CONV_3D_TRANSPOSE, transposed_convolution::conv_3d_transpose),
    (Code::COS, |o| unary::float(o, ScalarOp::Cos)),
    (Code::CUMSUM, ordering::cumsum),
    (Code::DEPTH_TO_SPACE, blocks::depth_to_space),
    (Code::DENSIFY, densify::densify),
    (Code::DEPTHWISE_CONV_2D, convolution::depthwise_conv_2d),
    (Code::DEQUANTIZE, quantize::dequantize),
    (Code::DILATE, padding::dilate),
    (Code::DIV, division::div),
    (Code::DYNAMIC_UPDATE_SLICE, indexing::dynamic_update_slice),
    (Code::ELU, unary::elu),
    (Code::EMBEDDING_LOOKUP, tables::embedding_lookup),
    (Code::EQUAL, |o| comparison::compare(o, Comparison::Equal)),
    (Code::EXP, |o| unary::by_table(o, ScalarOp::Exp, exp_f32, &[I8, I16])),
    (Code::EXPAND_DIMS, shape::expand_dims),
    (Code::FAKE_QUANT, quantize::fake_quant),
    (Code::FILL, shape::fill),
    (Code::FLOOR, |o| unary::float(o, ScalarOp::Floor)),
    (Code::FLOOR_DIV, division::floor_div),
    (Code::FLOOR_MOD, division::floor_mod),
    (Code::FULLY_CONNECTED, fully_connected::fully_connected),
    (Code::GATHER, slicing::gather),
    (Code::GATHER_ND, indexing::gather_nd),
    (Code::GELU, unary::gelu),
    (Code::GREATER, |o| comparison::compare(o, Comparison::Greater)),
    (Code::GREATER_EQUAL, |o| comparison::compare(o, Comparison::GreaterEqual)),
    (Code::HARD_SWISH, unary::hard_swish),
    (Code::HASHTABLE_LOOKUP, tables::hashtable_lookup),
    (Code::IF, branches::if_else),
    (Code::IMAG, |o| complex::one_part(o, 1)),
    (Code::L2_NORMALIZATION, normalization::l2),
    (Code::L2_POOL_2D, pooling::l2_pool_2d),
    (Code::LEAKY_RELU, unary::leaky_relu),
    (Code::LESS, |o| comparison::compare(o, Comparison::Less)),
    (Code::LESS_EQUAL, |o| comparison::compare(o, Comparison::LessEqual)),
    (Code::LOCAL_RESPONSE_NORMALIZATION, normalization::local_response),
    (Code::LOG, unary::log),
    (Code::LOGICAL_AND, |o| comparison::logical(o, ScalarOp::And)),
    (Code::LOGICAL_NOT, unary::logical_not),
    (Code::LOGICAL_OR, |o| comparison::logical(o, ScalarOp::Or)),
    (Code::LOGISTIC, unary::logistic),
    (Code::LOG_SOFTMAX, normalization::log_softmax),
    (Code::LSTM, recurrent::lstm),
    (Code::MATRIX_DIAG, tables::matrix_diag),
    (Code::MATRIX_SET_DIAG, tables::matrix_set_diag),
    (Code::MAXIMUM, arithmetic::maximum),
    (Code::MAX_POOL_2D, pooling::max_pool_2d),
    (Code::MEAN, reduction::mean),
    (Code::MINIMUM, arithmetic::minimum),
    (Code::MIRROR_PAD, padding::mirror_pad),
    (Code::MUL, arithmetic::mul),
    (Code::NEG, |o| unary::signed(o, ScalarOp::Neg)),
    (Code::NON_MAX_SUPPRESSION_V4, |o| ordering::non_max_suppression(o, false)),
    (Code::NON_MAX_SUPPRESSION_V5, |o| ordering::non_max_suppression(o, true)),
    (Code::NOT_EQUAL, |o| comparison::compare(o, Comparison::NotEqual)),
    (Code::ONE_HOT, tables::one_hot),
    (Code::PACK, concatenation::pack),
    (Code::PAD, padding::pad),
    (Code::PADV2, padding::pad),
    (Code::POW, arithmetic::pow),
    (Code::PRELU, unary::prelu),
    (Code::QUANTIZE, quantize::quantize),
    (Code::RANGE, shape::range),
    (Code::RANK, shape::rank),
    (Code::READ_VARIABLE, variables::read),
    (Code::REAL, |o| complex::one_part(o, 0)),
    (Code::REDUCE_ALL, |o| reduction::reduce(o, Reduction::All)),
    (Code::REDUCE_ANY, |o| reduction::reduce(o, Reduction::Any)),
    (Code::REDUCE_MAX, |o| reduction::reduce(o, Reduction::Max)),
    (Code::REDUCE_MIN, |o| reduction::reduce(o, Reduction::Min)),
    (Code::REDUCE_PROD, |o| reduction::reduce(o, Reduction::Product)),
    (Code::REDUCE_WINDOW, reduce_window::reduce_window),
    (Code::RELU, |o| unary::relu(o, Activation::RELU)),
    (Code::RELU6, |o| unary::relu(o, Activation::RELU6)),
    (Code::RELU_0_TO_1, |o| unary::relu(o, Activation::RELU_0_TO_1)),
    (Code::RELU_N1_TO_1, |o| unary::relu(o, Activation::RELU_N1_TO_1)),
    (Code::RESHAPE, shape::reshape),
    (Code::RESIZE_BILINEAR, resize::bilinear),
    (Code::RESIZE_NEAREST_NEIGHBOR, resize::nearest),
    (Code::REVERSE_SEQUENCE, indexing::reverse_sequence),
    (Code::REVERSE_V2, slicing::reverse),
    (Code::RFFT2D, complex::real_fourier),
    (Code::RIGHT_SHIFT, arithmetic::right_shift),
    (Code::RNN, recurrent::rnn),
    (Code::ROUND, |o| unary::float(o, ScalarOp::RoundEven)),
    (Code::RSQRT, unary::rsqrt),
    (Code::SCATTER_ND, indexing::scatter_nd),
    (Code::SEGMENT_SUM, segments::segment_sum),
    (Code::SELECT, |o| comparison::select(o, true)),
    (Code::SELECT_V2, |o| comparison::select(o, false)),
    (Code::SHAPE, shape::shape),
    (Code::SIGN, unary::sign),
    (Code::SIN, |o| unary::float(o, ScalarOp::Sin)),
    (Code::SLICE, slicing::slice_box),
    (Code::SOFTMAX, normalization::softmax),
    (Code::SPACE_TO_BATCH_ND, blocks::space_to_batch),
    (Code::SPACE_TO_DEPTH, blocks::space_to_depth),
    (Code::SPARSE_TO_DENSE, indexing::sparse_to_dense),
    (Code::SPLIT, slicing::split),
    (Code::SPLIT_V, slicing::split_v),
    (Code::SQRT, |o| unary::float(o, ScalarOp::Sqrt)),
    (Code::SQUARE, unary::square),
    (Code::SQUARED_DIFFERENCE, arithmetic::squared_difference),
    (Code::SQUEEZE, shape::squeeze),
    (Code::STABLEHLO_ADD, |o| arithmetic::plain(o, ScalarOp::Add)),
    (Code::STABLEHLO_COMPOSITE, branches::composite),
    (Code::STABLEHLO_GATHER, stablehlo_indexing::gather),
    (Code::STABLEHLO_MAXIMUM, |o| arithmetic::plain(o, ScalarOp::Max(NanRule::First))),
    (Code::STABLEHLO_MINIMUM, |o| arithmetic::plain(o, ScalarOp::Min(NanRule::First))),
    (Code::STABLEHLO_MULTIPLY, |o| arithmetic::plain(o, ScalarOp::Mul)),
    (Code::STABLEHLO_PAD, padding::stablehlo_pad),
    (Code::STABLEHLO_REDUCE_WINDOW, reduce_window::stablehlo_reduce_window),
    (Code::STABLEHLO_SCATTER, stablehlo_indexing::scatter),
    (Code::STABLEHLO_SHIFT_LEFT, |o| arithmetic::plain(o, ScalarOp::ShiftLeft)),
    (Code::STRIDED_SLICE, slicing::strided_slice),
    (Code::SUB, arithmetic::sub),
    (Code::SUM, |o| reduction::reduce(o, Reduction::Sum)),
    (Code::SVDF, recurrent::svdf),
    (Code::TANH, unary::tanh),
    (Code::TILE, shape::tile),
    (Code::TOPK_V2, ordering::top_k),
    (Code::TRANSPOSE, shape::transpose),
    (Code::TRANSPOSE_CONV, transposed_convolution::transpose_conv),
    (Code::UNIDIRECTIONAL_SEQUENCE_LSTM, recurrent::unidirectional_sequence_lstm),
    (Code::UNIDIRECTIONAL_SEQUENCE_RNN, recurrent::unidirectional_sequence_rnn),
    (Code::UNIQUE, selection::unique),
    (Code::UNPACK, concatenation::unpack),
    (Code::UNSORTED_SEGMENT_MAX, |o| segments::unsorted(o, Combination::Max)),
    (Code::UNSORTED_SEGMENT_MIN, |o| segments::unsorted(o, Combination::Min)),
    (Code::UNSORTED_SEGMENT_PROD, |o| segments::unsorted(o, Combination::Product)),
    (Code::UNSORTED_SEGMENT_SUM, |o| segments::unsorted(o, Combination::Sum)),
    (Code::VAR_HANDLE, variables::handle),
    (Code::WHERE, selection::where_not_zero),
    (Code::WHILE, loops::while_loop),
    (Code::ZEROS_LIKE, unary::zeros_like),
];

/// Operators that the runtime has and modelc does not compile, and the reasons. Operators in neither list have no reference kernel, and so no
/// definition of their results.
pub(super) const REFUSED: &[(Code, &str)] = &[
    (Code::EMBEDDING_LOOKUP_SPARSE, "the shape of its result depends on the data"),
    (Code::LSH_PROJECTION, "its hashes are the runtime's own"),
    (Code::MULTINOMIAL, "its random numbers are the runtime's own"),
    (Code::RANDOM_STANDARD_NORMAL, "its random numbers are the runtime's own"),
    (Code::RANDOM_UNIFORM, "its random numbers are the runtime's own"),
    (Code::SKIP_GRAM, "it works on strings"),
    (Code::STABLEHLO_RNG_BIT_GENERATOR, "its random numbers are the runtime's own"),
];

/// The lowering of an operator.
///
/// # Errors
/// When there is none.
pub(super) fn lowering(code: &OperatorCode) -> Result<Lower, Diagnostic> {
    let custom = code.name.strip_prefix(CUSTOM).and_then(|name| custom::SUPPORTED.iter().find(|(supported, _)| *supported == name));
    if let Some((_, lower)) = custom {
        return Ok(*lower);
    }
    let found = SUPPORTED.iter().find(|(supported, _)| *supported == code.code);
    let error = || {
        let reason = REFUSED.iter().find(|(refused, _)| *refused == code.code).map_or(String::new(), |(_, reason)| format!(": {reason}"));
        let message = format!("the operator {} is not supported{reason}", code.name);
        let diagnostic = Diagnostic::new(codes::OPERATOR_UNSUPPORTED, message);
        match code.name.strip_prefix(CUSTOM) {
            Some(name) => diagnostic.help(custom::help(name)),
            None => diagnostic.help("`modelc ops tflite` lists the supported operators"),
        }
    };
    Ok(found.ok_or_else(error)?.1)
}

/// The prefix of custom operators' names.
const CUSTOM: &str = "CUSTOM:";

/// The symbol of the function that implements a custom operator, if the user names one.
pub(super) fn symbol<'a>(code: &OperatorCode, customs: &'a [CustomSymbol]) -> Option<&'a str> {
    let name = code.name.strip_prefix(CUSTOM)?;
    customs.iter().find(|custom| custom.operator == name).map(|custom| custom.symbol.as_str())
}
