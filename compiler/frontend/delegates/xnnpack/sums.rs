//! Convolutions, products of matrices, softmax and attention.

use super::run::{Datum, Run};
use super::subgraph::{ConvolutionKind, Node, Quantization, Window, Work};
use crate::frontend::executorch::fault::Fault;
use crate::ir::{ElementType, Extent, Value, ZeroPoints};
use crate::operators::activation::Activation;
use crate::operators::contraction::dynamic_range::{Order, image_products, row_products, transposed_products};
use crate::operators::contraction::products::{as_rows, linear, matmul, swapped};
use crate::operators::contraction::rows::{Rows, spanning_rows};
use crate::operators::contraction::{Convolution, Matrix, Numerics, Scaling, Transposed, blockwise, depthwise_filter};
use crate::operators::softmax::softmax;
use crate::operators::terms::Terms;
use crate::operators::windows::{Padding, Windows};
use crate::operators::{Error, Graph};
use ElementType::{F32, I32};

/// A number of the file as the library counts.
fn signed(n: [u64; 2]) -> Vec<i64> {
    n.iter().map(|&n| n as i64).collect()
}

/// The geometry of windows.
pub(super) fn windows(window: &Window) -> Windows {
    let padding = if window.same { Padding::Same } else { Padding::Sides { before: signed(window.before), after: signed(window.after) } };
    Windows { size: window.size.to_vec(), strides: signed(window.strides), dilation: signed(window.dilation), padding }
}

impl Run<'_, '_> {
    /// The numerics of a contraction, from the graph's types and scales.
    fn numerics(&self, node: &Node, [input, filter]: [usize; 2]) -> Result<Numerics, Fault> {
        let Some(from) = self.affine(input) else {
            return Ok(Numerics::plain(F32, Activation::NONE));
        };
        let (to, output) = self.integer_output(node)?;
        let filter_zero_point = self.affine(filter).map_or(0, |affine| i64::from(affine.zero_point));
        let scales = self.scales(self.info(filter))?;
        Ok(Numerics::Integer {
            zero_points: ZeroPoints { left: from.zero_point.into(), right: filter_zero_point },
            accumulator: I32,
            scaling: Scaling::binary32(from.scale, &scales, to.scale)?,
            output,
        })
    }

    /// The result of a contraction: integers are clamped already.
    fn finish_sums(&mut self, node: &Node, value: Value, numerics: &Numerics) -> Result<(), Fault> {
        match numerics {
            Numerics::Integer { .. } => self.set(node.output, Datum::Tensor(value)),
            Numerics::Plain { .. } => self.finish_real(node, value)?,
        }
        Ok(())
    }

    /// The input of a contraction: integers as they are, floats in binary32.
    fn left(&mut self, input: usize) -> Result<Value, Fault> {
        if self.affine(input).is_some() { self.tensor(input) } else { self.real(input) }
    }

    /// A filter: integers for integers as they are, floats in binary32. Constants stay as narrow as they are stored; kernels widen them.
    fn right(&mut self, filter: usize, is_real: bool) -> Result<Value, Fault> {
        let value = self.tensor(filter)?;
        match (is_real, self.graph().element(value).is_float()) {
            (true, true) => Ok(self.graph().convert(value, F32)?),
            (true, false) => Err(Fault::unsupported("a filter of integers for an input of floats that are not quantized is not supported")),
            (false, _) => Ok(value),
        }
    }

    pub(super) fn convolution(&mut self, node: &Node) -> Result<(), Fault> {
        let &Work::Convolution { kind, ref window, groups, input, filter, bias } = &node.work else { return Err(Fault::Consequence) };
        let bias = bias.map(|bias| self.tensor(bias)).transpose()?;
        if let Datum::Rows { rows, floats } = self.datum(input)? {
            if kind == ConvolutionKind::Plain && groups == 1 && is_pointwise(window) {
                let value = self.pixel_products(window, floats, filter, bias)?;
                return self.finish_real(node, value);
            }
            let (weights, scales) = (self.tensor(filter)?, self.scales(self.info(filter))?);
            let rule = (&scales[..], Order::RowFirst);
            let value = if let ConvolutionKind::Transposed(more) = kind {
                let transposed = transposed(self.graph(), window, groups, more, [rows.integers, weights])?;
                transposed_products(self.graph(), &transposed, &rows, bias, rule, Activation::NONE)?
            } else {
                let convolution = self.forward(kind, window, groups, [rows.integers, weights])?;
                image_products(self.graph(), &convolution, &rows, bias, rule, Activation::NONE)?
            };
            return self.finish_real(node, value);
        }
        let numerics = self.numerics(node, [input, filter])?;
        let image = self.left(input)?;
        let weights = self.right(filter, self.affine(input).is_none())?;
        let value = match kind {
            ConvolutionKind::Transposed(more) => {
                let transposed = transposed(self.graph(), window, groups, more, [image, weights])?;
                transposed.build(self.graph(), bias, &numerics)?
            }
            _ => {
                let convolution = self.forward(kind, window, groups, [image, weights])?;
                convolution.build(self.graph(), bias, &numerics)?
            }
        };
        self.finish_sums(node, value, &numerics)
    }

    /// A convolution with a filter of one tap, which XNNPACK treats as a matrix: each pixel is a row with its own scale.
    fn pixel_products(&mut self, window: &Window, image: Value, filter: usize, bias: Option<Value>) -> Result<Value, Fault> {
        let weights = self.tensor(filter)?;
        check_images(self.graph(), window, [image, weights])?;
        let rows = spanning_rows(self.graph(), image, &[3])?;
        let shape = self.extents(weights);
        let matrix = self.graph().reshape(weights, &[shape[0], shape[3]])?;
        self.quantized_rows(rows, matrix.into(), filter, bias)
    }

    fn forward(&mut self, kind: ConvolutionKind, window: &Window, groups: u64, [image, weights]: [Value; 2]) -> Result<Convolution, Fault> {
        let g = self.graph();
        let filter = if kind == ConvolutionKind::Depthwise { depthwise_filter(g, weights)? } else { weights };
        check_images(g, window, [image, filter])?;
        let spatial = g.extents(image)[1..3].to_vec();
        let geometry = windows(window).geometry(g, &spatial)?;
        Ok(Convolution::new(image, filter, groups, geometry))
    }

    /// Rows times a matrix.
    pub(super) fn product(&mut self, node: &Node, [input, filter]: [usize; 2], bias: Option<usize>, turned: bool) -> Result<(), Fault> {
        let bias = bias.map(|bias| self.tensor(bias)).transpose()?;
        if let Datum::Rows { rows, .. } = self.datum(input)? {
            if turned {
                return Err(Fault::unsupported("a filter of integers whose columns are its outputs is not supported"));
            }
            let weights = self.matrix(filter)?;
            let value = self.quantized_rows(rows, weights, filter, bias)?;
            return self.finish_real(node, value);
        }
        let numerics = self.numerics(node, [input, filter])?;
        let rows = self.left(input)?;
        let weights = self.right(filter, self.affine(input).is_none())?;
        let weights = if turned { swapped(self.graph(), weights)? } else { weights };
        let value = linear(self.graph(), rows, weights, bias, &numerics)?;
        self.finish_sums(node, value, &numerics)
    }

    /// Products of rows with a scale of their own and a matrix `[O, K]`, whose scales are the filter's, in binary32.
    fn quantized_rows(&mut self, rows: Rows, weights: Matrix, filter: usize, bias: Option<Value>) -> Result<Value, Fault> {
        let g = self.graph();
        let mut shape = g.extents(rows.integers);
        let offsets = rows.offsets.map(|offsets| as_rows(g, offsets)).transpose()?;
        let rows = Rows { integers: as_rows(g, rows.integers)?, scales: as_rows(g, rows.scales)?, offsets };
        let value = match self.info(filter).quantization {
            Quantization::Groups { size, .. } => {
                if !size.is_multiple_of(2) || self.graph().element(weights.value) != ElementType::I4 {
                    return Err(Fault::unsupported("the groups of a filter are not pairs of 4-bit integers"));
                }
                let scales = self.scales_of_groups(filter, size)?;
                let g = self.graph();
                let filter = blockwise::Filter::new(g, weights, scales, size);
                let filter =
                    filter.ok_or_else(|| Fault::unsupported("a filter with groups is not constant, or its scales do not match it"))?;
                let sums = blockwise::products(g, rows, filter)?;
                with_bias(g, sums, bias)?
            }
            _ => {
                let scales = self.scales(self.info(filter))?;
                row_products(self.graph(), &rows, weights, bias, (&scales, Order::RowFirst), Activation::NONE)?
            }
        };
        let g = self.graph();
        shape.pop();
        shape.extend(g.extents(value).last().copied());
        Ok(g.reshape(value, &shape)?)
    }

    pub(super) fn batch_product(&mut self, node: &Node, inputs: [usize; 2], turned: [bool; 2]) -> Result<(), Fault> {
        let [left, right] = [self.real(inputs[0])?, self.real(inputs[1])?];
        let g = self.graph();
        let rank = g.rank(left).max(g.rank(right));
        let (left, right) = (widened(g, left, rank)?, widened(g, right, rank)?);
        let left = if turned[0] { swapped(g, left)? } else { left };
        let right = if turned[1] { right } else { swapped(g, right)? };
        let value = matmul(g, left, right, None, &Numerics::plain(F32, Activation::NONE))?;
        self.finish_real(node, value)
    }

    pub(super) fn softmax(&mut self, node: &Node, input: usize) -> Result<(), Fault> {
        let value = self.real(input)?;
        let rank = self.graph().rank(value);
        let axis = rank.checked_sub(1).ok_or_else(|| Fault::invalid("softmax of a scalar"))?;
        let value = softmax(self.graph(), value, &[axis], 1.0, F32)?;
        self.finish_real(node, value)
    }

    /// Queries `[… T, C]`, keys `[… U, C]`, values `[… U, D]`; a scale for each channel of the queries, and a mask `[T, U]`.
    pub(super) fn attention(&mut self, node: &Node) -> Result<(), Fault> {
        let &Work::Attention { query, key, value, scale, mask } = &node.work else { return Err(Fault::Consequence) };
        let [query, key, value] = [self.real(query)?, self.real(key)?, self.real(value)?];
        let [scale, mask] = [self.real(scale)?, self.real(mask)?];
        let g = self.graph();
        let scaled = g.compute::<Error>(&[query, scale], |terms, x| Ok(terms.mul(x[0], x[1])?))?;
        let numerics = Numerics::plain(F32, Activation::NONE);
        let scores = matmul(g, scaled, key, None, &numerics)?;
        let masked = g.compute::<Error>(&[scores, mask], |terms, x| Ok(terms.add(x[0], x[1])?))?;
        let last = g.rank(masked) - 1;
        let shares = softmax(g, masked, &[last], 1.0, F32)?;
        let columns = swapped(g, value)?;
        let value = matmul(g, shares, columns, None, &numerics)?;
        self.finish_real(node, value)
    }
}

/// Tests whether windows and pixels correspond one to one.
fn is_pointwise(window: &Window) -> bool {
    window.size == [1; 2] && window.strides == [1; 2] && window.before == [0; 2] && window.after == [0; 2]
}

/// Sums plus a bias for each unit.
fn with_bias(g: &mut Graph<'_>, sums: Value, bias: Option<Value>) -> Result<Value, Error> {
    let Some(bias) = bias else { return Ok(sums) };
    let mut terms = Terms::new(&[F32, g.element(bias)]);
    let (sum, bias_term) = (terms.input(0), terms.input_as(1, F32));
    let sum = terms.add(sum, bias_term)?;
    g.map(&[sums, bias], terms.finish(sum))
}

/// A tensor with leading dimensions of extent 1 up to a rank.
fn widened(g: &mut Graph<'_>, value: Value, rank: usize) -> Result<Value, Error> {
    let shape = g.extents(value);
    let mut wide = vec![Extent::Static(1); rank.saturating_sub(shape.len())];
    wide.extend(shape);
    g.reshape(value, &wide)
}

/// Checks the dimensions of an image and a filter.
fn check_images(g: &Graph<'_>, window: &Window, [image, filter]: [Value; 2]) -> Result<(), Fault> {
    if g.rank(image) != 4 || g.rank(filter) != 4 {
        return Err(Fault::invalid("a convolution needs images").expected("4 dimensions", g.rank(image).to_string()));
    }
    let shape = g.shape(filter)?;
    if shape[1..3] != window.size || shape.contains(&0) {
        return Err(
            Fault::invalid("the size of the filter does not match the window").expected(format!("{:?}", window.size), format!("{shape:?}"))
        );
    }
    Ok(())
}

/// The transpose of a convolution. Its result ends `more` rows and columns after the last window.
fn transposed(g: &mut Graph<'_>, window: &Window, groups: u64, more: [u64; 2], [input, filter]: [Value; 2]) -> Result<Transposed, Fault> {
    check_images(g, window, [input, filter])?;
    if window.same {
        return Err(Fault::unsupported("a transposed convolution whose padding follows from its size"));
    }
    let mut wanted = Vec::with_capacity(2);
    let shape = g.extents(input);
    for d in 0..2 {
        let too_large = || Fault::invalid("the window is too large");
        let reach = window.size[d].checked_sub(1).and_then(|taps| taps.checked_mul(window.dilation[d])?.checked_add(1 + more[d]));
        let cut = window.before[d] + window.after[d];
        let steps = g.sub(shape[d + 1], Extent::Static(1))?;
        let last = g.mul(steps, Extent::Static(window.strides[d]))?;
        let full = g.add(last, Extent::Static(reach.ok_or_else(too_large)?))?;
        if full.as_static().is_some_and(|full| full < cut) {
            return Err(Fault::invalid("nothing is left of a transposed convolution"));
        }
        wanted.push(g.sub(full, Extent::Static(cut))?);
    }
    let cut = window.before.iter().map(|&n| Extent::Static(n)).collect();
    Ok(Transposed { input, filter, groups, strides: signed(window.strides), dilation: signed(window.dilation), cut, wanted })
}
