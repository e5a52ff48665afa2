//! FULLY_CONNECTED.

use super::error::{invalid, missing_options, unsupported};
use super::filter::{self, bias, filter_scales, signed_filter, symmetric};
use super::operator::{Lowered, Operand, Operator, extents};
use super::options::activation;
use super::tensor::Blocks;
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::Reference;
use crate::ir::{ElementType, Extent, Scalar, Value, ZeroPoints};
use crate::operators::activation::Activation;
use crate::operators::contraction::dynamic_range::{self, RowRule};
use crate::operators::contraction::products::{as_rows, matmul, rows_of_depth};
use crate::operators::contraction::rows::asymmetric_rows;
use crate::operators::contraction::{IntegerOutput, Numerics, Scaling, blockwise};
use crate::schema::tflite::{FullyConnectedOptionsWeightsFormat as WeightsFormat, TensorType as TypeCode};
use ElementType::{F32, I2, I4, I8, I16, I32, I64, U8};

/// The operator with its input as rows.
struct FullyConnected {
    input: Operand,
    /// The input as `[rows, depth]`.
    rows: Value,
    /// `[units, depth]`
    filter: Operand,
    units: Extent,
    activation: Activation,
    asymmetric: bool,
    bias_type: TypeCode,
}

/// FULLY_CONNECTED: rows of the input times the transposed filter.
pub(super) fn fully_connected(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let options = operator.record.builtin_options_as_fully_connected_options().ok_or_else(missing_options)?;
    if options.weights_format() != WeightsFormat::DEFAULT {
        return Err(unsupported(format!("weights in the format {:?} are not supported", options.weights_format())));
    }
    let (input, mut filter) = (operator.any_input(0)?, operator.any_input(1)?);
    if input.element() == F32 {
        filter = signed_filter(operator, filter)?;
    }
    let [units, depth] = filter.extents[..] else {
        let found = format!("{:?}", filter.shape);
        return Err(invalid(codes::RANK, "the filter must have two dimensions").about_tensor(&filter.info.name).expected("rank 2", found));
    };
    if let (Extent::Static(units), Extent::Static(0), Some(0)) = (units, depth, input.shape.last()) {
        operator.require_known(&input, 0)?;
        return without_depth(operator, &input, units, options.keep_num_dims());
    }
    let rows = rows(operator, &input, &filter)?;
    let shape = match options.keep_num_dims() {
        true => kept_dimensions(&input, [units, depth])?,
        false => vec![operator.extents_of(rows)[0], units],
    };
    let operator_parts = FullyConnected {
        rows,
        units,
        activation: activation(options.fused_activation_function())?,
        asymmetric: options.asymmetric_quantize_inputs(),
        bias_type: options.quantized_bias_type(),
        input,
        filter,
    };
    let result = operator_parts.lower(operator)?;
    let result = operator.reshape_to(result, &shape)?;
    operator.bind(0, result)
}

/// The input as rows with the filter's depth. A run-time depth is the extent of the input's last dimension.
fn rows(operator: &mut Operator<'_, '_, '_>, input: &Operand, filter: &Operand) -> Result<Value, Diagnostic> {
    let rows = match filter.extents[..] {
        [Extent::Static(0), _] => None,
        [_, Extent::Static(depth)] => rows_of_depth(operator.graph(), input.value, depth)?.map(|(_, rows)| rows),
        _ => Some(as_rows(operator.graph(), input.value)?),
    };
    rows.ok_or_else(|| {
        let expected = format!("a multiple of {} elements", filter.shape[1]);
        invalid(codes::SHAPES_DIFFER, "the input does not divide into rows as long as the filter's")
            .expected(expected, format!("{:?}", input.shape))
    })
}

/// The shape of the input with `units` in place of the depth.
fn kept_dimensions(input: &Operand, [units, depth]: [Extent; 2]) -> Result<Vec<Extent>, Diagnostic> {
    let mut shape = input.extents.clone();
    match (shape.pop(), depth) {
        (last, Extent::Static(known)) if last != Some(depth) => {
            let error = invalid(codes::SHAPES_DIFFER, "the input's last dimension does not fit the filter");
            Err(error.expected(known.to_string(), format!("{:?}", input.shape)))
        }
        _ => {
            shape.push(units);
            Ok(shape)
        }
    }
}

/// Rows without elements: the reference fills the output with zero bytes, for any bias.
fn without_depth(operator: &mut Operator<'_, '_, '_>, input: &Operand, units: u64, keep: bool) -> Lowered {
    let output = operator.output(0)?;
    let outer = &input.shape[..input.rank() - 1];
    let mut shape = if keep { outer.to_vec() } else { vec![outer.iter().product()] };
    shape.push(units);
    let zero = operator.constant(output.element, &[], Scalar::int(output.element, 0).to_bytes())?;
    let value = operator.broadcast_to(zero, &extents(&shape))?;
    operator.bind(0, value)
}

impl FullyConnected {
    fn lower(&self, operator: &mut Operator<'_, '_, '_>) -> Result<Value, Diagnostic> {
        let output = operator.output(0)?;
        let types = [self.input.element(), self.filter.element(), output.element];
        if let Some(blocks) = self.filter.info.blocks
            && matches!(types, [F32, I4 | I2, F32])
        {
            return self.blockwise(operator, blocks);
        }
        match types {
            [F32, F32, F32] => {
                let bias = bias(operator, 2, self.units, &[F32])?.map(|(value, _)| value);
                Ok(matmul(operator.graph(), self.rows, self.filter.value, bias, &Numerics::plain(F32, self.activation))?)
            }
            [F32, I8 | I4 | I2, F32] => self.hybrid(operator),
            [I8, I8 | I4 | I2, I8] | [U8, U8, U8 | I16] => self.integer(operator, I32),
            [I16, I8 | I4 | I2, I16] => self.integer(operator, I64),
            _ => Err(operator.type_error(&types)),
        }
    }

    /// The scales of the filter. One for each unit needs a known number of units.
    fn scales(&self, operator: &Operator<'_, '_, '_>) -> Result<Vec<f32>, Diagnostic> {
        let is_one = self.filter.info.quantization.as_ref().is_some_and(|quantization| quantization.scales.len() == 1);
        if !is_one {
            operator.require_known(&self.filter, 0)?;
        }
        filter_scales(&self.filter, 0, self.filter.shape[0])
    }

    /// Integer input, filter and output. LiteRT scales the sums in binary64 here, unlike in convolutions. TFLite Micro scales int8 as convolutions
    /// do.
    fn integer(&self, operator: &mut Operator<'_, '_, '_>, widest: ElementType) -> Result<Value, Diagnostic> {
        let output = operator.output(0)?;
        let (input_affine, output_affine) = (operator.affine(&self.input.info)?, operator.affine(&output)?);
        let scales = self.scales(operator)?;
        let filter_zero_point = self.filter.info.quantization.as_ref().map_or(0, |q| q.zero_points[0]);
        let is_micro = operator.lowering.shared.file.reference == Reference::Tflm && output.element == I8;
        let scaling = match scales.len() {
            1 if is_micro => Scaling::fixed_point_of_product(input_affine.scale, &scales, output_affine.scale)?,
            _ if is_micro => Scaling::fixed_point(input_affine.scale, &scales, output_affine.scale)?,
            _ => Scaling::binary64(input_affine.scale, &scales, output_affine.scale),
        };
        let bias = if widest == I64 {
            symmetric(input_affine, output_affine)?;
            bias(operator, 2, self.units, &[I32, I64])?
        } else {
            bias(operator, 2, self.units, &[I32])?
        };
        let accumulator = bias.map_or(widest, |(_, element)| element);
        if widest == I64 && accumulator == I32 && self.bias_type != TypeCode::INT32 {
            return Err(unsupported("a 32-bit bias of a 16-bit operator needs quantized_bias_type INT32"));
        }
        let numerics = Numerics::Integer {
            zero_points: ZeroPoints { left: input_affine.zero_point.into(), right: filter_zero_point },
            accumulator,
            scaling,
            output: IntegerOutput::new(output.element, output_affine, self.activation)?,
        };
        Ok(matmul(operator.graph(), self.rows, self.filter.value, bias.map(|(value, _)| value), &numerics)?)
    }

    /// Float input and output with an integer filter: each row is quantized on its own.
    fn hybrid(&self, operator: &mut Operator<'_, '_, '_>) -> Result<Value, Diagnostic> {
        let scales = self.scales(operator)?;
        let bias = bias(operator, 2, self.units, &[F32])?.map(|(value, _)| value);
        let rule = RowRule { scales: &scales, asymmetric: self.asymmetric, activation: self.activation };
        Ok(dynamic_range::linear(operator.graph(), self.rows, self.filter.value, bias, &rule)?)
    }

    /// Float input and output with an int4 or int2 filter in blocks.
    fn blockwise(&self, operator: &mut Operator<'_, '_, '_>, blocks: Blocks) -> Result<Value, Diagnostic> {
        let bias = bias(operator, 2, self.units, &[F32])?.map(|(value, _)| value);
        let scales = filter::block_scales(operator, &self.filter, blocks)?;
        let filter = blockwise::Filter::new(operator.graph(), self.filter.value.into(), scales, blocks.size);
        let rows = asymmetric_rows(operator.graph(), self.rows, &[1])?;
        let products = match filter {
            Some(filter) => blockwise::products(operator.graph(), rows, filter)?,
            None => blockwise::products_of_computed(operator.graph(), rows, self.filter.value, scales)?,
        };
        Ok(Numerics::plain(F32, self.activation).output(operator.graph(), products, bias)?)
    }
}
