//! Running a graph at compile time: its nodes become values of the function that calls the delegate.

use super::subgraph::{Datatype, Node, Quantization, Subgraph, Tensor, UNBOUNDED, Work};
use crate::frontend::delegates::caller::Caller;
use crate::frontend::delegates::graph::register;
use crate::frontend::executorch::fault::Fault;
use crate::ir::{ElementType, Extent, Interval, Scalar, Source, SourceData, Value};
use crate::operators::activation::Activation;
use crate::operators::contraction::IntegerOutput;
use crate::operators::contraction::rows::Rows;
use crate::operators::graph::movement::inverse;
use crate::operators::quantization::{Affine, integer_range};
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use crate::operators::{Error, Graph, extents};
use ElementType::F32;

/// A graph while it runs.
pub(super) struct Run<'r, 'm> {
    /// The method that calls the delegate.
    pub(super) caller: &'r mut dyn Caller<'m>,
    /// The graph.
    pub(super) subgraph: &'r Subgraph,
    /// The values of tensors computed so far.
    values: Vec<Option<Datum>>,
    /// The tensors that were read.
    read: Vec<bool>,
}

/// The value of a tensor of the graph.
#[derive(Clone, Copy, Debug)]
pub(super) enum Datum {
    /// A tensor: floats, or integers of the scale that the graph gives.
    Tensor(Value),
    /// Integers with a scale for each row, and the floats that they are quantized from.
    Rows { rows: Rows, floats: Value },
}

/// Translates a call of a delegate: its arguments are registers.
///
/// # Errors
/// When an argument does not fit the graph, or a node cannot be built.
pub fn call(caller: &mut dyn Caller<'_>, subgraph: &Subgraph, args: &[usize]) -> Result<(), Fault> {
    let values = vec![None; subgraph.tensors.len()];
    let read = vec![false; subgraph.tensors.len()];
    let mut run = Run { caller, subgraph, values, read };
    for external in &subgraph.inputs {
        let value = run.argument(args, external.argument, &subgraph.tensors[external.tensor])?;
        run.values[external.tensor] = Some(Datum::Tensor(value));
    }
    let call = run.graph().builder.source;
    for (i, node) in subgraph.nodes.iter().enumerate() {
        run.graph().builder.source = call.map(|call| run.source(call, i, node));
        run.node(node).map_err(|fault| fault.at_node(i, node.name))?;
    }
    run.graph().builder.source = call;
    for external in &subgraph.outputs {
        let value = run.tensor(external.tensor)?;
        run.result(args, external.argument, value)?;
    }
    run.unmarked_results(args)
}

impl<'m> Run<'_, 'm> {
    pub(super) fn graph(&mut self) -> &mut Graph<'m> {
        self.caller.graph()
    }

    /// The source of a node's values: the call of the delegate, and the number of the node.
    fn source(&mut self, call: Source, index: usize, node: &Node) -> Source {
        let sources = &mut self.graph().builder.module.sources;
        let data = SourceData { operator_name: node.name.to_owned(), tensor: format!("node {index}"), ..sources[call].clone() };
        sources.push(data)
    }

    /// An argument of the call, with its dimensions in memory order, which is the graph's order.
    fn argument(&mut self, args: &[usize], argument: usize, tensor: &Tensor) -> Result<Value, Fault> {
        let register = register(args, argument)?;
        let value = self.caller.read(register)?;
        let (found, rank) = (self.graph().element(value), self.graph().rank(value));
        // These graphs have no tensors without dimensions.
        if rank == 0 && tensor.dims == [1] && tensor.datatype == Datatype::Element(found) {
            return Ok(self.graph().reshape(value, &extents(&[1]))?);
        }
        if tensor.datatype != Datatype::Element(found) || tensor.dims.len() != rank {
            return Err(Fault::invalid("an argument of the delegate is not what its graph takes")
                .expected(format!("{} of {} dimensions", tensor.datatype, tensor.dims.len()), format!("{found} of {rank} dimensions")));
        }
        let order = self.caller.form(register)?.order();
        Ok(self.graph().transpose(value, &order)?)
    }

    /// Defines a result of the call. Positions have 32 bits in the graph, and 64 outside.
    fn result(&mut self, args: &[usize], argument: usize, value: Value) -> Result<(), Fault> {
        let register = register(args, argument)?;
        let form = self.caller.form(register)?.clone();
        let value = if form.shape.is_empty() { self.graph().reshape(value, &[])? } else { value };
        if form.shape.len() != self.graph().rank(value) {
            return Err(Fault::invalid("the number of dimensions of a delegate's result does not match the program")
                .expected(form.shape.len().to_string(), self.graph().rank(value).to_string()));
        }
        let logical = self.graph().transpose(value, &inverse(&form.order()))?;
        let are_integers = self.graph().element(logical) == ElementType::I32 && form.element == ElementType::I64;
        let logical = if are_integers { self.graph().convert(logical, form.element)? } else { logical };
        self.caller.define(register, logical)
    }

    /// Finds results that the graph does not mark. Exporters lose the mark together with the conversion of a quantized result to floats. The results
    /// are the tensors that no node reads, if their number fits. Otherwise there are none.
    fn unmarked_results(&mut self, args: &[usize]) -> Result<(), Fault> {
        // Numbers that the graph does not take are no results.
        let is_tensor = |&argument: &usize| register(args, argument).is_ok_and(|register| self.caller.form(register).is_ok());
        let missing: Vec<usize> = self.subgraph.missing(args.len()).filter(is_tensor).collect();
        let unread: Vec<usize> = self.subgraph.nodes.iter().map(|node| node.output).filter(|&tensor| !self.read[tensor]).collect();
        for (i, &argument) in missing.iter().enumerate() {
            if missing.len() != unread.len() {
                let what = "a delegate does not give a result that the program reads, and its graph does not say which tensor that is";
                self.caller.withdraw(args[argument], Fault::invalid(what).help("export the operators at its end without the delegate"));
                continue;
            }
            let is_float = self.caller.form(register(args, argument)?)?.element.is_float();
            let value = if is_float { self.real(unread[i])? } else { self.tensor(unread[i])? };
            self.result(args, argument, value)?;
        }
        Ok(())
    }

    pub(super) fn info(&self, tensor: usize) -> &'_ Tensor {
        &self.subgraph.tensors[tensor]
    }

    /// Returns the value of a tensor.
    pub(super) fn datum(&mut self, tensor: usize) -> Result<Datum, Fault> {
        self.read[tensor] = true;
        if let Some(datum) = self.values[tensor] {
            return Ok(datum);
        }
        let info = &self.subgraph.tensors[tensor];
        let number = info.constant.ok_or_else(|| Fault::invalid("a node of the XNNPACK graph reads a tensor before it is computed"))?;
        let datum = Datum::Tensor(self.constant(info, number)?);
        self.values[tensor] = Some(datum);
        Ok(datum)
    }

    /// A tensor as it is stored.
    pub(super) fn tensor(&mut self, tensor: usize) -> Result<Value, Fault> {
        match self.datum(tensor)? {
            Datum::Tensor(value) => Ok(value),
            Datum::Rows { .. } => Err(Fault::unsupported("a tensor with a scale for each row is used by something else than a product")),
        }
    }

    /// A tensor as binary32.
    pub(super) fn real(&mut self, tensor: usize) -> Result<Value, Fault> {
        let value = self.tensor(tensor)?;
        match self.affine(tensor) {
            Some(affine) => Ok(quantize::dequantize(self.graph(), value, &scale(affine), Rounding::Even, F32)?),
            None if self.graph().element(value).is_float() => Ok(self.graph().convert(value, F32)?),
            None => Err(Fault::unsupported("integers without a scale are used as real numbers")),
        }
    }

    /// The scale and zero point of a tensor that has one of each.
    pub(super) fn affine(&self, tensor: usize) -> Option<Affine> {
        match self.info(tensor).quantization {
            Quantization::Tensor(affine) => Some(affine),
            _ => None,
        }
    }

    /// Sets the value of a tensor.
    pub(super) fn set(&mut self, tensor: usize, datum: Datum) {
        self.values[tensor] = Some(datum);
    }

    /// The element type of a tensor that is stored as one.
    pub(super) fn element(&self, tensor: usize) -> Result<ElementType, Fault> {
        match self.info(tensor).datatype {
            Datatype::Element(element) => Ok(element),
            other => Err(Fault::unsupported(format!("{other} are not results of this node"))),
        }
    }

    /// Sets the result of a node in binary32: clamped, and converted to the graph's type.
    pub(super) fn finish_real(&mut self, node: &Node, value: Value) -> Result<(), Fault> {
        let (element, affine) = (self.element(node.output)?, self.affine(node.output));
        let value = match affine {
            Some(affine) => quantized(self.graph(), value, affine, element, bounds(node, element, affine)?)?,
            None => {
                let Interval { low, high } = node.clamp.unwrap_or(UNBOUNDED);
                self.graph().compute::<Error>(&[value], |terms, x| {
                    let x = Activation::between(low, high).clamp_float(terms, x[0])?;
                    Ok(terms.convert(x, element))
                })?
            }
        };
        self.set(node.output, Datum::Tensor(value));
        Ok(())
    }

    /// The result of a node that moves or picks elements of one of its inputs.
    pub(super) fn finish_moved(&mut self, node: &Node, value: Value, input: usize) -> Result<(), Fault> {
        let value = self.stored_as(value, input, node.output)?;
        self.finish_stored(node, value)
    }

    /// Sets the result of a node that keeps its operand's scale: only its clamp is applied.
    pub(super) fn finish_stored(&mut self, node: &Node, value: Value) -> Result<(), Fault> {
        let element = self.element(node.output)?;
        let value = match self.affine(node.output) {
            Some(affine) => clamped(self.graph(), value, bounds(node, element, affine)?)?,
            None if node.clamp.is_none() => value,
            None => {
                let real = self.graph().convert(value, F32)?;
                return self.finish_real(node, real);
            }
        };
        self.set(node.output, Datum::Tensor(value));
        Ok(())
    }

    /// Elements of one tensor as another one stores them.
    pub(super) fn stored_as(&mut self, value: Value, from: usize, to: usize) -> Result<Value, Fault> {
        let (element, found) = (self.element(to)?, self.graph().element(value));
        Ok(match (self.affine(from), self.affine(to)) {
            (from, to) if from == to && found == element => value,
            (Some(from), Some(to)) => quantize::rescale(self.graph(), value, from, to, element)?,
            (Some(from), None) => quantize::dequantize(self.graph(), value, &scale(from), Rounding::Even, element)?,
            (None, Some(to)) => {
                let range = integer_range(element).ok_or(Error::NotQuantized { element })?;
                quantized(self.graph(), value, to, element, range)?
            }
            (None, None) if element.is_float() => self.graph().convert(value, element)?,
            (None, None) => {
                return Err(Fault::unsupported("the element type of the result is wrong").expected(found.to_string(), element.to_string()));
            }
        })
    }

    /// The integers that a node with quantized operands gives.
    pub(super) fn integer_output(&self, node: &Node) -> Result<(Affine, IntegerOutput), Fault> {
        let element = self.element(node.output)?;
        let affine = self.affine(node.output);
        let affine = affine.ok_or_else(|| Fault::unsupported("a node of integers gives no integers of one scale"))?;
        Ok((affine, IntegerOutput { element, zero_point: affine.zero_point, bounds: bounds(node, element, affine)? }))
    }

    /// The extents of a value.
    pub(super) fn extents(&mut self, value: Value) -> Vec<Extent> {
        self.graph().extents(value)
    }

    fn node(&mut self, node: &Node) -> Result<(), Fault> {
        match &node.work {
            Work::Unary { function, input } => self.unary(node, *function, *input),
            Work::Binary { combination, inputs } => self.binary(node, *combination, *inputs),
            Work::Convolution { .. } => self.convolution(node),
            Work::Product { input, filter, bias, turned } => self.product(node, [*input, *filter], *bias, *turned),
            Work::BatchProduct { inputs, turned } => self.batch_product(node, *inputs, *turned),
            Work::Softmax { input } => self.softmax(node, *input),
            Work::Attention { .. } => self.attention(node),
            Work::Pool { pooling, window, input } => self.pool(node, *pooling, window, *input),
            Work::LargestOf { size, input, index } => self.largest_of(node, *size, *input, *index),
            Work::Mean { input, keeps_dimensions } => self.mean(node, *input, *keeps_dimensions),
            Work::Resize { size, aligned, input } => self.resize(node, *size, *aligned, *input),
            Work::Transpose { permutation, input } => self.transpose(node, permutation, *input),
            Work::Reshape { shape, input } => self.reshape(node, shape, *input),
            Work::Slice { offsets, sizes, input } => self.slice(node, offsets, sizes, *input),
            Work::Pad { before, after, number, input } => self.pad(node, [before, after], *number, *input),
            Work::Join { axis, inputs } => self.join(node, *axis, inputs),
        }
    }
}

/// A scale as the library takes it.
fn scale(affine: Affine) -> Scale {
    Scale { scale: Parameter::Number(f64::from(affine.scale)), zero_point: Parameter::Number(f64::from(affine.zero_point)) }
}

/// The range of integers of a node's result: its clamp on the scale.
fn bounds(node: &Node, element: ElementType, affine: Affine) -> Result<Interval<i32>, Fault> {
    let Interval { low, high } = node.clamp.unwrap_or(UNBOUNDED);
    Ok(Interval::new(on_scale(low, affine, element)?, on_scale(high, affine, element)?))
}

/// A number on a quantized scale: halves to even, within the type's range.
pub(super) fn on_scale(real: f32, affine: Affine, element: ElementType) -> Result<i32, Fault> {
    let range = integer_range(element).ok_or(Error::NotQuantized { element })?;
    let steps = libm::rintf(real / affine.scale).clamp(-1e6, 1e6) as i32;
    Ok((steps + affine.zero_point).clamp(range.low, range.high))
}

/// Floats as integers of a scale, between two of them.
fn quantized(g: &mut Graph<'_>, value: Value, affine: Affine, element: ElementType, bounds: Interval<i32>) -> Result<Value, Error> {
    quantize::quantize(g, value, &scale(affine), Interval::new(bounds.low.into(), bounds.high.into()), Rounding::Even, element)
}

/// Clamps integers to bounds, unless these are the type's ends.
fn clamped(g: &mut Graph<'_>, value: Value, bounds: Interval<i32>) -> Result<Value, Error> {
    let element = g.element(value);
    if Some(bounds) == integer_range(element) {
        return Ok(value);
    }
    g.compute(&[value], |terms, x| {
        let [low, high] = [bounds.low, bounds.high].map(|n| terms.constant(Scalar::int(element, i64::from(n))));
        let x = terms.max(x[0], low)?;
        Ok::<_, Error>(terms.min(x, high)?)
    })
}
