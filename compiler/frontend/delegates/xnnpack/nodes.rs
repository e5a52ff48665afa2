//! The nodes of a graph, read from their tables.

use super::subgraph::{Combination, ConvolutionKind, Function, Node, Pooling, Window, Work};
use super::tensors::{Tensors, invalid};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Interval;
use crate::schema::xnnpack as schema;
use schema::XNode;

/// Flags of nodes. Their meaning depends on the node.
const TRANSPOSE_WEIGHTS: u32 = 1;
const TRANSPOSE_B: u32 = 1;
const TRANSPOSE_A: u32 = 2;
const TENSORFLOW_SAME_PADDING: u32 = 4;
const ALIGN_CORNERS: u32 = 8;
const KEEP_DIMENSIONS: u32 = 64;

/// The name of a node in the format.
pub(super) fn name(node: &XNode<'_>) -> &'static str {
    node.xnode_union_type().variant_name().unwrap_or("an unknown node")
}

/// Reads a node.
///
/// # Errors
/// An unknown node, or one that names a tensor that does not exist.
pub(super) fn read(tensors: &Tensors, node: &XNode<'_>) -> Result<Node, Diagnostic> {
    let clamp = node.output_min_max().map(|clamp| Interval::new(clamp.output_min(), clamp.output_max()));
    if clamp.is_some_and(|Interval { low, high }| low.is_nan() || high.is_nan() || low > high) {
        return Err(invalid("the bounds of a result are out of order"));
    }
    for reading in [elementwise, sums, images, movement] {
        if let Some((work, output)) = reading(tensors, node)? {
            return Ok(Node { name: name(node), work, clamp, output });
        }
    }
    let message = format!("unknown node {} in the XNNPACK graph", node.xnode_union_type().0);
    Err(Diagnostic::new(codes::PROGRAM_UNSUPPORTED, message))
}

type Found = Result<Option<(Work, usize)>, Diagnostic>;

fn elementwise(tensors: &Tensors, node: &XNode<'_>) -> Found {
    use Function as F;
    if let Some(table) = node.xnode_union_as_xnn_leaky_re_lu() {
        let work = Work::Unary { function: F::LeakyRelu(table.negative_slope()), input: tensors.tensor_of(table.input_id())? };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnnelu() {
        let work = Work::Unary { function: F::Elu(table.alpha()), input: tensors.tensor_of(table.input_id())? };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some((table, function)) = unary(node) {
        let work = Work::Unary { function, input: tensors.tensor_of(table.input_id())? };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some((table, combination)) = binary(node) {
        let inputs = [tensors.tensor_of(table.input1_id())?, tensors.tensor_of(table.input2_id())?];
        return Ok(Some((Work::Binary { combination, inputs }, tensors.tensor_of(table.output_id())?)));
    }
    Ok(None)
}

/// The nodes that are a function of one number.
fn unary<'b>(node: &XNode<'b>) -> Option<(schema::Unary<'b>, Function)> {
    use Function as F;
    use schema::XNodeUnion as U;
    let (table, function) = match node.xnode_union_type() {
        U::XNNAbs => (node.xnode_union_as_xnn_abs(), F::Abs),
        U::XNNCeiling => (node.xnode_union_as_xnn_ceiling(), F::Ceiling),
        U::XNNClamp => (node.xnode_union_as_xnn_clamp(), F::Clamp),
        U::XNNConvert => (node.xnode_union_as_xnn_convert(), F::Convert),
        U::XNNCopy => (node.xnode_union_as_xnn_copy(), F::Copy),
        U::XNNCos => (node.xnode_union_as_xnn_cos(), F::Cos),
        U::XNNExp => (node.xnode_union_as_xnn_exp(), F::Exp),
        U::XNNFloor => (node.xnode_union_as_xnn_floor(), F::Floor),
        U::XNNGelu => (node.xnode_union_as_xnn_gelu(), F::Gelu),
        U::XNNHardswish => (node.xnode_union_as_xnn_hardswish(), F::HardSwish),
        U::XNNLog => (node.xnode_union_as_xnn_log(), F::Log),
        U::XNNNegate => (node.xnode_union_as_xnn_negate(), F::Negate),
        U::XNNReciprocalSquareRoot => (node.xnode_union_as_xnn_reciprocal_square_root(), F::ReciprocalSquareRoot),
        U::XNNSigmoid => (node.xnode_union_as_xnn_sigmoid(), F::Sigmoid),
        U::XNNSin => (node.xnode_union_as_xnn_sin(), F::Sin),
        U::XNNSquare => (node.xnode_union_as_xnn_square(), F::Square),
        U::XNNSquareRoot => (node.xnode_union_as_xnn_square_root(), F::SquareRoot),
        U::XNNTanh => (node.xnode_union_as_xnn_tanh(), F::Tanh),
        _ => return None,
    };
    Some((table?, function))
}

/// The nodes that are a function of two numbers.
fn binary<'b>(node: &XNode<'b>) -> Option<(schema::Binary<'b>, Combination)> {
    use Combination as C;
    use schema::XNodeUnion as U;
    let (table, combination) = match node.xnode_union_type() {
        U::XNNAdd => (node.xnode_union_as_xnn_add(), C::Add),
        U::XNNDiv => (node.xnode_union_as_xnn_div(), C::Divide),
        U::XNNMaximum => (node.xnode_union_as_xnn_maximum(), C::Maximum),
        U::XNNMinimum => (node.xnode_union_as_xnn_minimum(), C::Minimum),
        U::XNNMultiply => (node.xnode_union_as_xnn_multiply(), C::Multiply),
        U::XNNPReLU => (node.xnode_union_as_xnnp_re_lu(), C::Prelu),
        U::XNNSubtract => (node.xnode_union_as_xnn_subtract(), C::Subtract),
        _ => return None,
    };
    Some((table?, combination))
}

/// Reads convolutions, products, and nodes that contain them.
fn sums(tensors: &Tensors, node: &XNode<'_>) -> Found {
    let convolutions = [(node.xnode_union_as_xnn_conv2d(), false), (node.xnode_union_as_xnn_depthwise_conv2d(), true)];
    for (table, is_depthwise) in convolutions {
        if let Some(table) = table {
            let kind = if is_depthwise { ConvolutionKind::Depthwise } else { ConvolutionKind::Plain };
            return convolution(tensors, &table, kind).map(Some);
        }
    }
    if let Some(table) = node.xnode_union_as_xnn_conv_transpose2d() {
        let more = [table.adjustment_height(), table.adjustment_width()].map(u64::from);
        return convolution(tensors, &table, ConvolutionKind::Transposed(more)).map(Some);
    }
    if let Some(table) = node.xnode_union_as_xnn_fully_connected() {
        let work = Work::Product {
            input: tensors.tensor_of(table.input1_id())?,
            filter: tensors.tensor_of(table.filter_id())?,
            bias: tensors.optional(table.bias_id())?,
            turned: table.flags() & TRANSPOSE_WEIGHTS != 0,
        };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_batch_matrix_multiply() {
        let inputs = [tensors.tensor_of(table.input1_id())?, tensors.tensor_of(table.input2_id())?];
        let turned = [table.flags() & TRANSPOSE_A != 0, table.flags() & TRANSPOSE_B != 0];
        return Ok(Some((Work::BatchProduct { inputs, turned }, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_softmax() {
        return Ok(Some((Work::Softmax { input: tensors.tensor_of(table.input_id())? }, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_scaled_dot_product_attention() {
        let work = Work::Attention {
            query: tensors.tensor_of(table.query_id())?,
            key: tensors.tensor_of(table.key_id())?,
            value: tensors.tensor_of(table.value_id())?,
            scale: tensors.tensor_of(table.scale_id())?,
            mask: tensors.tensor_of(table.mask_id())?,
        };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    Ok(None)
}

fn convolution(tensors: &Tensors, table: &schema::Convolution<'_>, kind: ConvolutionKind) -> Result<(Work, usize), Diagnostic> {
    let window = Window {
        size: [table.kernel_height(), table.kernel_width()].map(u64::from),
        strides: [table.subsampling_height(), table.subsampling_width()].map(u64::from),
        dilation: [table.dilation_height(), table.dilation_width()].map(u64::from),
        before: [table.padding_top(), table.padding_left()].map(u64::from),
        after: [table.padding_bottom(), table.padding_right()].map(u64::from),
        same: table.flags() & TENSORFLOW_SAME_PADDING != 0,
    };
    let work = Work::Convolution {
        kind,
        window,
        groups: u64::from(table.groups()),
        input: tensors.tensor_of(table.input1_id())?,
        filter: tensors.tensor_of(table.filter_id())?,
        bias: tensors.optional(table.bias_id())?,
    };
    Ok((work, tensors.tensor_of(table.output_id())?))
}

/// Pooling and resizing.
fn images(tensors: &Tensors, node: &XNode<'_>) -> Found {
    for (table, pooling) in
        [(node.xnode_union_as_xnn_avg_pooling2d(), Pooling::Average), (node.xnode_union_as_xnn_max_pooling2d(), Pooling::Max)]
    {
        let Some(table) = table else { continue };
        let window = Window {
            size: [table.pooling_height(), table.pooling_width()].map(u64::from),
            strides: [table.stride_height(), table.stride_width()].map(u64::from),
            // Averages are written without one.
            dilation: [table.dilation_height(), table.dilation_width()].map(|n| u64::from(n.max(1))),
            before: [table.padding_top(), table.padding_left()].map(u64::from),
            after: [table.padding_bottom(), table.padding_right()].map(u64::from),
            same: table.flags() & TENSORFLOW_SAME_PADDING != 0,
        };
        let work = Work::Pool { pooling, window, input: tensors.tensor_of(table.input_id())? };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_arg_max_pooling2d() {
        let padding = [table.padding_top(), table.padding_right(), table.padding_bottom(), table.padding_left()];
        if padding != [0; 4] {
            let message = "a node that finds the largest element of windows has padding";
            return Err(Diagnostic::new(codes::PROGRAM_UNSUPPORTED, message));
        }
        let work = Work::LargestOf {
            size: [table.pooling_height(), table.pooling_width()].map(u64::from),
            input: tensors.tensor_of(table.input_id())?,
            index: tensors.tensor_of(table.output_index_id())?,
        };
        return Ok(Some((work, tensors.tensor_of(table.output_value_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_global_avg_pooling2d() {
        let work = Work::Mean { input: tensors.tensor_of(table.input_id())?, keeps_dimensions: table.flags() & KEEP_DIMENSIONS != 0 };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_static_resize_bilinear2d() {
        let work = Work::Resize {
            size: [table.new_height(), table.new_width()].map(u64::from),
            aligned: table.flags() & ALIGN_CORNERS != 0,
            input: tensors.tensor_of(table.input_id())?,
        };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    Ok(None)
}

/// Reads nodes that move elements.
fn movement(tensors: &Tensors, node: &XNode<'_>) -> Found {
    let longs = |list: Option<flatbuffers::Vector<'_, u32>>| list.into_iter().flatten().map(u64::from).collect::<Vec<u64>>();
    if let Some(table) = node.xnode_union_as_xnn_static_transpose() {
        let permutation = table.perm().into_iter().flatten().map(|d| d as usize).collect();
        let work = Work::Transpose { permutation, input: tensors.tensor_of(table.input_id())? };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_static_reshape() {
        let work = Work::Reshape { shape: longs(table.new_shape()), input: tensors.tensor_of(table.input_id())? };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_static_slice() {
        let (offsets, sizes) = (longs(table.offsets()), longs(table.sizes()));
        let work = Work::Slice { offsets, sizes, input: tensors.tensor_of(table.input_id())? };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    if let Some(table) = node.xnode_union_as_xnn_static_constant_pad() {
        let work = Work::Pad {
            before: longs(table.pre_paddings()),
            after: longs(table.post_paddings()),
            number: table.padding_value(),
            input: tensors.tensor_of(table.input_id())?,
        };
        return Ok(Some((work, tensors.tensor_of(table.output_id())?)));
    }
    let joins = [
        (node.xnode_union_as_xnn_concatenate2(), 2),
        (node.xnode_union_as_xnn_concatenate3(), 3),
        (node.xnode_union_as_xnn_concatenate4(), 4),
        (node.xnode_union_as_xnn_concatenate5(), 5),
    ];
    for (table, count) in joins {
        let Some(table) = table else { continue };
        let ids = [table.input1_id(), table.input2_id(), table.input3_id(), table.input4_id(), table.input5_id()];
        let inputs = ids[..count].iter().map(|&id| tensors.tensor_of(id)).collect::<Result<_, _>>()?;
        return Ok(Some((Work::Join { axis: table.axis() as usize, inputs }, tensors.tensor_of(table.output_id())?)));
    }
    Ok(None)
}
