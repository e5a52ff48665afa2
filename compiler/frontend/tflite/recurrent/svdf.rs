//! SVDF: a layer in two small factors. Each filter turns the input into one feature, remembers its last features, and weighs them
//! over time; the filters of a unit are added.

use super::super::convolution::missing_options;
use super::super::operator::{Lowered, Operand, Operator, extents, invalid};
use super::matrix::Matrix;
use super::{CellActivation, expect_shape};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Node, Reduction, Value};
use crate::operators::quantization::multiplier;
use crate::operators::terms::{Term, Terms};
use ElementType::{F32, I8, I16, I32};

/// The operands and how they fit.
struct Svdf {
    input: Operand,
    /// `[filters, inputs]`
    feature_weights: Operand,
    /// `[filters, memory]`
    time_weights: Operand,
    /// `[units]`
    bias: Option<Operand>,
    state: Operand,
    batch: u64,
    filters: u64,
    memory: u64,
    units: u64,
}

impl Svdf {
    fn read(operator: &mut Operator<'_, '_, '_>, rank: i32) -> Result<Self, Diagnostic> {
        let (input, feature_weights, time_weights) = (operator.input(0)?, operator.input(1)?, operator.input(2)?);
        let bias = operator.optional_input(3)?;
        let ([batch, depth], [filters, memory]) = (two(&input)?, two(&time_weights)?);
        expect_shape(&feature_weights, &[filters, depth])?;
        let rank = u64::try_from(rank).ok().filter(|&rank| rank > 0 && filters % rank == 0);
        let rank = rank.ok_or_else(|| {
            invalid(codes::OPTION_RANGE, "the rank does not divide the filters").expected("a divisor", filters.to_string())
        })?;
        if memory == 0 || filters == 0 {
            return Err(
                invalid(codes::SHAPES_DIFFER, "there are no filters, or they remember nothing").about_tensor(&time_weights.info.name)
            );
        }
        let units = filters / rank;
        bias.iter().try_for_each(|bias| expect_shape(bias, &[units]))?;
        let error = || invalid(codes::TOO_MANY_ELEMENTS, "the state has too many elements");
        let elements = batch.checked_mul(filters).and_then(|n| n.checked_mul(memory)).ok_or_else(error)?;
        let state = operator.variable_input(4, elements)?;
        Ok(Self { input, feature_weights, time_weights, bias, state, batch, filters, memory, units })
    }

    /// The memory with the features `[batch, filters]` behind the others and the oldest gone, `[batch, filters, memory]`.
    fn remember(&self, operator: &mut Operator<'_, '_, '_>, features: Value) -> Result<Value, Diagnostic> {
        let shape = [self.batch, self.filters, self.memory];
        let newest = operator.reshape(features, &[self.batch, self.filters, 1])?;
        if self.memory == 1 {
            return Ok(newest);
        }
        let state = operator.reshape(self.state.value, &shape)?;
        let start = [0, 0, 1].map(Extent::Static).to_vec();
        let g = operator.graph();
        let kept = g.builder.slice(state, start, extents(&[self.batch, self.filters, self.memory - 1]), vec![1; 3])?;
        Ok(g.builder.concat(&[kept, newest], 2)?)
    }

    /// The products of memory and weights over time, added over time and over the filters of a unit: `[batch, units]`.
    fn weigh(
        &self,
        operator: &mut Operator<'_, '_, '_>,
        memory: Value,
        types: [ElementType; 2],
        product: impl FnOnce(&mut Terms, Node, Node) -> Term,
    ) -> Result<Value, Diagnostic> {
        let mut terms = Terms::new(&types);
        let (state, weight) = (terms.input(0), terms.input(1));
        let product = product(&mut terms, state, weight)?;
        let products = operator.map(&[memory, self.time_weights.value], terms.finish(product))?;
        let sums = operator.builder().reduce(products, Reduction::Sum, vec![2])?;
        let rank = self.filters / self.units;
        let sums = operator.reshape(sums, &[self.batch, self.units, rank])?;
        let sums = if rank == 1 { sums } else { operator.builder().reduce(sums, Reduction::Sum, vec![2])? };
        operator.reshape(sums, &[self.batch, self.units])
    }

    /// Floats, with weights of f32 or int8.
    fn float(&self, operator: &mut Operator<'_, '_, '_>, activation: CellActivation, asymmetric: bool) -> Result<Value, Diagnostic> {
        let matrix = Matrix::new(operator, &[&self.feature_weights], asymmetric)?;
        let features = matrix.product(operator.graph(), self.input.value)?;
        let memory = self.remember(operator, features)?;
        operator.update_variable(4, memory)?;
        let weights_element = self.time_weights.element();
        let scale = if weights_element == I8 { Some(operator.affine(&self.time_weights.info)?) } else { None };
        let sums = self.weigh(operator, memory, [F32, weights_element], |terms, state, weight| {
            let mut weight = weight;
            if let Some(affine) = scale {
                let (wide, zero_point, scale) = (terms.convert(weight, I32), terms.i32(affine.zero_point), terms.f32(affine.scale));
                let difference = terms.sub(wide, zero_point)?;
                let real = terms.convert(difference, F32);
                weight = terms.mul(real, scale)?;
            }
            terms.mul(weight, state)
        })?;
        let mut operands = vec![sums];
        operands.extend(self.bias.as_ref().map(|bias| bias.value));
        let mut terms = Terms::new(&vec![F32; operands.len()]);
        let mut sum = terms.input(0);
        if operands.len() == 2 {
            let bias = terms.input(1);
            sum = terms.add(bias, sum)?;
        }
        let result = activation.apply(&mut terms, sum)?;
        operator.map(&operands, terms.finish(result))
    }

    /// Integers: int8 with a memory of int16, or of int8 with a zero point.
    fn integer(&self, operator: &mut Operator<'_, '_, '_>) -> Result<Value, Diagnostic> {
        let output = operator.output(0)?;
        let infos = [&self.input, &self.feature_weights, &self.state, &self.time_weights].map(|operand| operator.affine(&operand.info));
        let [input, feature, state, time] = infos;
        let (input, feature, state, time) = (input?, feature?, state?, time?);
        let affine = operator.affine(&output)?;
        let element = self.state.element();
        let bounds = crate::operators::quantization::integer_range(element).unwrap_or((0, 0));

        let to_state = multiplier(f64::from(input.scale * feature.scale / state.scale))?;
        let zero_points = (i64::from(input.zero_point), 0);
        let sums = operator.builder().matmul(self.input.value, self.feature_weights.value, zero_points, I32)?;
        let mut terms = Terms::new(&[I32]);
        let sum = terms.input(0);
        let x = terms.requantize_by(sum, to_state)?;
        let zero_point = terms.i32(state.zero_point);
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, bounds)?;
        let x = terms.convert(x, element);
        let features = operator.map(&[sums], terms.finish(x))?;
        let memory = self.remember(operator, features)?;
        operator.update_variable(4, memory)?;

        let sums = self.weigh(operator, memory, [element, self.time_weights.element()], |terms, value, weight| {
            let (value, weight, zero_point) = (terms.convert(value, I32), terms.convert(weight, I32), terms.i32(state.zero_point));
            let value = terms.sub(value, zero_point)?;
            terms.mul(weight, value)
        })?;
        let to_output = multiplier(f64::from(state.scale * time.scale / affine.scale))?;
        let mut operands = vec![sums];
        operands.extend(self.bias.as_ref().map(|bias| bias.value));
        let mut terms = Terms::new(&vec![I32; operands.len()]);
        let mut sum = terms.input(0);
        if operands.len() == 2 {
            let bias = terms.input(1);
            sum = terms.add(sum, bias)?;
        }
        let x = terms.requantize_by(sum, to_output)?;
        let zero_point = terms.i32(affine.zero_point);
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, (-128, 127))?;
        let x = terms.convert(x, I8);
        operator.map(&operands, terms.finish(x))
    }
}

fn two(operand: &Operand) -> Result<[u64; 2], Diagnostic> {
    let error = || invalid(codes::RANK, "the operand must be a matrix").about_tensor(&operand.info.name);
    <[u64; 2]>::try_from(operand.shape.clone()).map_err(|_| error().expected("rank 2", format!("{:?}", operand.shape)))
}

/// SVDF. Integers know no activation but their range, as in the reference.
pub(in super::super) fn svdf(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(5..=5, 1..=1)?;
    let options = operator.record.builtin_options_as_svdf_options().ok_or_else(missing_options)?;
    let activation = CellActivation::from_code(options.fused_activation_function())?;
    let svdf = Svdf::read(operator, options.rank())?;
    let bias = svdf.bias.as_ref().map(Operand::element);
    let elements = [&svdf.input, &svdf.feature_weights, &svdf.time_weights, &svdf.state].map(Operand::element);
    let result = match (elements, bias) {
        ([F32, F32, F32, F32] | [F32, I8, F32 | I8, F32], None | Some(F32)) => {
            svdf.float(operator, activation, options.asymmetric_quantize_inputs())?
        }
        ([I8, I8, I16, I16] | [I8, I8, I8, I8], None | Some(I32)) => svdf.integer(operator)?,
        _ => return Err(operator.type_error(&elements)),
    };
    operator.bind(0, result)
}
