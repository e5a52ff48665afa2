//! Tensors of a call, and operations on them that note extents which must be equal.

use super::super::fault::Fault;
use super::call::Call;
use crate::ir::{ElementType, ExpressionBuilder, Extent, Node, Value};
use crate::operators::complex::{from_pairs, from_real, is_complex, pairs, parts};
use crate::operators::extents;
use crate::operators::promotion::{self, Operand};

impl Call<'_, '_, '_> {
    /// The element type of a value.
    pub fn element(&self, value: Value) -> ElementType {
        self.translator.graph.element(value)
    }

    /// The shape of a value.
    ///
    /// # Errors
    /// When it is not known at compile time.
    pub fn shape(&self, value: Value) -> Result<Vec<u64>, Fault> {
        Ok(self.translator.graph.shape(value)?)
    }

    /// The extents of a value.
    pub fn extents(&self, value: Value) -> Vec<Extent> {
        self.translator.graph.extents(value)
    }

    /// The number of dimensions of a value.
    pub fn rank(&self, value: Value) -> usize {
        self.translator.graph.rank(value)
    }

    /// A dimension argument: negative ones count from the end. A scalar has dimension 0 too.
    ///
    /// # Errors
    /// When it is outside.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, Fault> {
        let count = rank.max(1) as i64;
        if !(-count..count).contains(&axis) {
            return Err(Fault::invalid("a dimension is out of range").expected(format!("{} to {}", -count, count - 1), axis.to_string()));
        }
        Ok(axis.rem_euclid(count) as usize)
    }

    /// An element-wise expression of one result over broadcast operands.
    ///
    /// # Errors
    /// When operand types or shapes do not fit.
    pub fn map(
        &mut self,
        operands: &[Value],
        build: impl FnOnce(&mut ExpressionBuilder, &[Node]) -> Result<Node, Fault>,
    ) -> Result<Value, Fault> {
        self.graph().compute(operands, |terms, x| build(terms.builder(), x))
    }

    /// A value converted to another element type: integers wrap, floats truncate, to bool whether it is not zero. Other types take the real part of
    /// complex numbers.
    ///
    /// # Errors
    /// Never for the element types that files have.
    pub fn cast(&mut self, value: Value, element: ElementType) -> Result<Value, Fault> {
        let from = self.element(value);
        match (is_complex(from), is_complex(element)) {
            (true, true) if from != element => {
                let pairs = pairs(self.graph(), value)?;
                let pairs = self.graph().convert(pairs, element.part())?;
                return Ok(from_pairs(self.graph(), pairs)?);
            }
            (true, false) => {
                let [real, _] = parts(self.graph(), value)?;
                return self.cast(real, element);
            }
            (false, true) => return Ok(from_real(self.graph(), value, element)?),
            _ => {}
        }
        let wraps = matches!(element, ElementType::I8 | ElementType::U8 | ElementType::I16 | ElementType::U16);
        if wraps && self.element(value).is_float() {
            // As C++ converts in practice: to an integer of a register, whose low bits are taken.
            return self.map(&[value], |b, n| {
                let whole = b.convert(n[0], ElementType::I32);
                Ok(b.convert(whole, element))
            });
        }
        self.map(&[value], |b, n| Ok(b.convert(n[0], element)))
    }

    /// A reshape: the elements in the same row-major order under another shape.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn reshape(&mut self, value: Value, shape: &[u64]) -> Result<Value, Fault> {
        Ok(self.graph().reshape(value, &extents(shape))?)
    }

    /// A reshape to a shape with run-time extents.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn reshape_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Fault> {
        let from = self.extents(value);
        if from.iter().chain(shape).any(|extent| extent.as_static().is_none()) {
            self.translator.fill(&from, shape)?;
        }
        Ok(self.graph().reshape(value, shape)?)
    }

    /// Repetition along new leading dimensions and dimensions of extent 1. Other extents must equal the shape's.
    ///
    /// # Errors
    /// Extents that are not known to be equal.
    pub fn expand_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Fault> {
        Ok(self.graph().expand(value, shape)?)
    }

    /// Fixes some extents of a value to numbers: run-time extents are fixed to their bounds.
    ///
    /// # Errors
    /// [`Fault::Consequence`] if this is new, and holds from the next translation on.
    pub fn settle(&mut self, value: Value, axes: impl IntoIterator<Item = usize>) -> Result<(), Fault> {
        let shape = self.extents(value);
        for extent in axes.into_iter().filter_map(|axis| shape.get(axis).copied()) {
            if extent.as_static().is_none() {
                let most = Extent::Static(self.graph().bound(extent));
                self.translator.equate(extent, most)?;
            }
        }
        Ok(())
    }

    /// Permuted dimensions.
    ///
    /// # Errors
    /// When the permutation does not fit.
    pub fn transpose(&mut self, value: Value, permutation: &[usize]) -> Result<Value, Fault> {
        Ok(self.graph().transpose(value, permutation)?)
    }

    /// The common type of operands.
    ///
    /// # Errors
    /// When there is none.
    pub fn common_type(&self, operands: &[Operand]) -> Result<ElementType, Fault> {
        promotion::common_type(&self.translator.graph, operands)?.ok_or_else(|| Fault::invalid("no operands"))
    }

    /// An element-wise expression over tensors and numbers, all converted to one type first. Without any tensor the result is of
    /// shape `[]`.
    ///
    /// # Errors
    /// When types or shapes do not fit.
    pub fn map_operands(
        &mut self,
        operands: &[Operand],
        ty: ElementType,
        build: impl FnOnce(&mut ExpressionBuilder, &[Node]) -> Result<Node, Fault>,
    ) -> Result<Value, Fault> {
        promotion::compute(self.graph(), operands, ty, |terms, x| build(terms.builder(), x))
    }
}
