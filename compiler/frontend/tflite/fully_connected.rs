//! FULLY_CONNECTED.

use super::activation::Activation;
use super::blockwise::{self, Blocks};
use super::convolution::missing_options;
use super::operator::{Lowered, Operand, Operator, extents, invalid, unsupported};
use super::requantize::{IntegerOutput, Scaling, bias, filter_scales, float_output, integer_output};
use super::{convolution, hybrid};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, Reduction, Scalar, Value};
use crate::operators::terms::Terms;
use crate::schema::tflite::{FullyConnectedOptionsWeightsFormat as WeightsFormat, TensorType as TypeCode};
use ElementType::{F32, I4, I8, I16, I32, I64, U8};

/// The operator with its input as rows.
struct FullyConnected {
    input: Operand,
    /// The input as `[rows, depth]`.
    rows: Value,
    /// `[units, depth]`
    filter: Operand,
    units: u64,
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
    let (input, mut filter) = (operator.any_input(0)?, operator.input(1)?);
    if input.element() == F32 {
        filter = hybrid::signed_filter(operator, filter)?;
    }
    let [units, depth] = filter.shape[..] else {
        let found = format!("{:?}", filter.shape);
        return Err(invalid(314, "the filter must have two dimensions").about_tensor(&filter.info.name).expected("rank 2", found));
    };
    if depth == 0 && input.shape.last() == Some(&0) {
        operator.require_known(&input, 0)?;
        return without_depth(operator, &input, units, options.keep_num_dims());
    }
    let known: u64 = input.extents.iter().filter_map(|e| e.as_static()).product();
    if depth == 0 || units == 0 || !known.is_multiple_of(depth) {
        let message = "the input does not divide into rows as long as the filter's";
        return Err(invalid(311, message).expected(format!("a multiple of {depth} elements"), format!("{:?}", input.shape)));
    }
    let mut rows: Vec<Extent> = input.extents.iter().copied().filter(|e| e.as_static().is_none()).collect();
    rows.push(Extent::Static(known / depth));
    let count = operator.graph().product(&rows)?;
    let mut shape = vec![count, Extent::Static(units)];
    if options.keep_num_dims() {
        if input.extents.last() != Some(&Extent::Static(depth)) {
            return Err(invalid(311, "the input's last dimension does not fit the filter")
                .expected(depth.to_string(), format!("{:?}", input.shape)));
        }
        shape = input.extents.clone();
        shape.pop();
        shape.push(Extent::Static(units));
    }
    let operator_parts = FullyConnected {
        rows: operator.reshape_to(input.value, &[count, Extent::Static(depth)])?,
        units,
        activation: Activation::from_code(options.fused_activation_function())?,
        asymmetric: options.asymmetric_quantize_inputs(),
        bias_type: options.quantized_bias_type(),
        input,
        filter,
    };
    let result = operator_parts.lower(operator)?;
    let result = operator.reshape_to(result, &shape)?;
    operator.bind(0, result)
}

/// Rows without elements: the reference fills the output with zero bytes, whatever the bias.
fn without_depth(operator: &mut Operator<'_, '_, '_>, input: &Operand, units: u64, keep: bool) -> Lowered {
    let output = operator.output(0)?;
    let outer = &input.shape[..input.rank() - 1];
    let mut shape = if keep { outer.to_vec() } else { vec![outer.iter().product()] };
    shape.push(units);
    let zero = operator.constant(output.element, &[], Scalar::int(output.element, 0).to_bytes())?;
    let value = operator.builder().broadcast(zero, extents(&shape))?;
    operator.bind(0, value)
}

impl FullyConnected {
    fn lower(&self, operator: &mut Operator<'_, '_, '_>) -> Result<Value, Diagnostic> {
        let output = operator.output(0)?;
        let types = [self.input.element(), self.filter.element(), output.element];
        if let Some(blocks) = self.filter.info.blocks
            && types == [F32, I4, F32]
        {
            return self.blockwise(operator, blocks);
        }
        match types {
            [F32, F32, F32] => {
                let bias = bias(operator, 2, self.units, &[F32])?.map(|(value, _)| value);
                let sums = self.sums(operator, self.rows, (0, 0), F32)?;
                float_output(operator, sums, bias, self.activation)
            }
            [F32, I8 | I4, F32] => self.hybrid(operator),
            [I8, I8 | I4, I8] | [U8, U8, U8 | I16] => self.integer(operator, I32),
            [I16, I8, I16] => self.integer(operator, I64),
            _ => Err(operator.type_error(&types)),
        }
    }

    fn sums(
        &self,
        operator: &mut Operator<'_, '_, '_>,
        rows: Value,
        zero_points: (i64, i64),
        accumulator: ElementType,
    ) -> Result<Value, Diagnostic> {
        Ok(operator.builder().matmul(rows, self.filter.value, zero_points, accumulator)?)
    }

    /// Integer input, filter and output. The reference scales the sums in binary64 here, unlike in convolutions.
    fn integer(&self, operator: &mut Operator<'_, '_, '_>, widest: ElementType) -> Result<Value, Diagnostic> {
        let output = operator.output(0)?;
        let (input_affine, output_affine) = (operator.affine(&self.input.info)?, operator.affine(&output)?);
        let scales = filter_scales(&self.filter, 0, self.units)?;
        let filter_zero_point = self.filter.info.quantization.as_ref().map_or(0, |q| q.zero_points[0]);
        let factors = scales.iter().map(|&scale| f64::from(input_affine.scale) * f64::from(scale) / f64::from(output_affine.scale));
        let bias = if widest == I64 {
            convolution::symmetric(input_affine, output_affine)?;
            bias(operator, 2, self.units, &[I32, I64])?
        } else {
            bias(operator, 2, self.units, &[I32])?
        };
        let accumulator = bias.map_or(widest, |(_, element)| element);
        if widest == I64 && accumulator == I32 && self.bias_type != TypeCode::INT32 {
            return Err(unsupported("a 32-bit bias of a 16-bit operator needs quantized_bias_type INT32"));
        }
        let scaling = Scaling::Binary64(factors.collect());
        let sums = self.sums(operator, self.rows, (i64::from(input_affine.zero_point), filter_zero_point), accumulator)?;
        let output = IntegerOutput { element: output.element, affine: output_affine, activation: self.activation };
        integer_output(operator, sums, bias.map(|(value, _)| value), self.units, &scaling, &output)
    }

    /// Float input and output with an int8 filter: each row is quantized on its own.
    fn hybrid(&self, operator: &mut Operator<'_, '_, '_>) -> Result<Value, Diagnostic> {
        let scales = filter_scales(&self.filter, 0, self.units)?;
        let bias = bias(operator, 2, self.units, &[F32])?.map(|(value, _)| value);
        let rows = if self.asymmetric {
            hybrid::asymmetric_rows(operator.builder(), self.rows, &[1])?
        } else {
            hybrid::symmetric_rows(operator.builder(), self.rows, &[1])?
        };
        let sums = self.sums(operator, rows.integers, (0, 0), I32)?;
        let varying = scales.len() > 1;
        let mut operands = vec![sums, rows.scales];
        let mut types = vec![I32, F32];
        let mut operand = |value: Value, element: ElementType| {
            operands.push(value);
            types.push(element);
            operands.len() - 1
        };
        let scale_input = if varying { Some(operand(operator.constant_f32(&[self.units], &scales)?, F32)) } else { None };
        let bias_input = bias.map(|bias| operand(bias, F32));
        let offset_inputs = match rows.offsets {
            Some(offsets) => Some((operand(offsets, I32), operand(self.filter_sums(operator)?, I32))),
            None => None,
        };
        let mut terms = Terms::new(&types);
        let mut sum = terms.input(0);
        if let Some((offset, filter_sum)) = offset_inputs {
            let (offset, filter_sum) = (terms.input(offset), terms.input(filter_sum));
            let excess = terms.mul(offset, filter_sum)?;
            sum = terms.sub(sum, excess)?;
        }
        let sum = terms.convert(sum, F32);
        let row_scale = terms.input(1);
        let filter_scale = match scale_input {
            Some(input) => terms.input(input),
            None => terms.f32(scales[0]),
        };
        let factor = terms.mul(row_scale, filter_scale)?;
        let mut x = terms.mul(sum, factor)?;
        if let Some(bias) = bias_input {
            let bias = terms.input(bias);
            x = terms.add(bias, x)?;
        }
        let x = self.activation.clamp_float(&mut terms, x)?;
        operator.map(&operands, terms.finish(x))
    }

    /// Float input and output with an int4 filter in blocks.
    fn blockwise(&self, operator: &mut Operator<'_, '_, '_>, blocks: Blocks) -> Result<Value, Diagnostic> {
        let bias = bias(operator, 2, self.units, &[F32])?.map(|(value, _)| value);
        let products = blockwise::products(operator, self.rows, &self.filter, blocks)?;
        float_output(operator, products, bias, self.activation)
    }

    /// The sum of each row of the filter.
    fn filter_sums(&self, operator: &mut Operator<'_, '_, '_>) -> Result<Value, Diagnostic> {
        let depth = self.filter.shape[1] as usize;
        let Some(bytes) = operator.constant_bytes(&self.filter) else {
            let wide = super::pooling::widen(operator, self.filter.value, I32)?;
            let sums = operator.builder().reduce(wide, Reduction::Sum, vec![1])?;
            return operator.reshape(sums, &[self.units]);
        };
        let weights = hybrid::weights(self.filter.element(), bytes);
        let sums: Vec<i32> = weights.chunks_exact(depth).take(self.units as usize).map(|row| row.iter().sum()).collect();
        operator.constant_i32(&[self.units], &sums)
    }
}
