//! Values and numbers that the proposals of several operators need.

use super::supply::Generator;
use crate::data::Data;
use crate::entities::Value;
use crate::operators::{Reduction, WindowGeometry, Word};
use crate::scalar::{ExpressionBuilder, Scalar, ScalarOp};
use crate::tensor::Tensor;
use crate::types::{ElementType, Extent, Interval, TensorType, Type};

impl Generator<'_> {
    pub(crate) fn shape_of(&self, value: Value) -> Vec<u64> {
        self.tensor_type(value).static_shape().unwrap_or_default()
    }

    /// A shape that broadcasts to another.
    pub(crate) fn narrowed(&mut self, shape: &[Extent]) -> Vec<u64> {
        let skip = if self.random.one_in(2) { self.random.below(shape.len() + 1) } else { 0 };
        shape[skip..].iter().map(|e| e.as_static().filter(|_| !self.random.one_in(3)).unwrap_or(1)).collect()
    }

    pub(crate) fn accumulator(&mut self, element: ElementType) -> Option<ElementType> {
        match element {
            ElementType::F64 => Some(ElementType::F64),
            e if e.is_float() => Some(ElementType::F32),
            ElementType::I64 => Some(ElementType::I64),
            e if e.is_integer() => Some(ElementType::I32),
            _ => None,
        }
    }

    pub(crate) fn zero_point(&mut self, element: ElementType) -> i64 {
        let low = if element.is_signed_integer() { -5 } else { 0 };
        if element.is_integer() { self.random.between(low, 5) } else { 0 }
    }

    pub(crate) fn ints(&mut self, count: usize, low: i64, high: i64) -> Vec<i64> {
        (0..count).map(|_| self.random.between(low, high)).collect()
    }

    /// A tensor of rank 3 or 4 with no extent of 0, whose last one is known.
    pub(crate) fn image(&mut self) -> Option<Value> {
        let channels = |ty: &TensorType| ty.shape.last().and_then(|extent| extent.as_static());
        let fits = |ty: &TensorType| {
            (3..=4).contains(&ty.rank()) && channels(ty).is_some() && ty.shape.iter().all(|extent| *extent != Extent::Static(0))
        };
        match self.tensor_where(fits) {
            Some(value) if !self.random.one_in(3) => Some(value),
            _ => {
                let element = self.element();
                let rank = self.random.between(3, 4);
                let shape: Vec<u64> = (0..rank).map(|_| self.random.between(1, 5) as u64).collect();
                self.leaf(element, &shape)
            }
        }
    }

    /// The right operand of a contraction: mostly constant.
    pub(crate) fn weights(&mut self, element: ElementType, shape: &[u64]) -> Option<Value> {
        if self.random.one_in(3) {
            return self.leaf(element, shape);
        }
        if self.random.one_in(3) {
            return self.widened(element, shape);
        }
        let mut tensor = self.tensor(element, shape);
        if !self.random.one_in(4) {
            return self.constant(TensorType::of(element, shape), tensor.bytes.into());
        }
        // A file may leave out zeros.
        for element in tensor.bytes.chunks_mut((element.bits() as usize).div_ceil(8)) {
            if !self.random.one_in(6) {
                element.fill(0);
            }
        }
        self.constant(TensorType::of(element, shape), Data::sparse(tensor.bytes))
    }

    /// Weights as some formats store them: narrow, and with their dimensions in another order.
    pub(crate) fn widened(&mut self, element: ElementType, shape: &[u64]) -> Option<Value> {
        let stored: Vec<u64> = shape.iter().rev().copied().collect();
        let tensor = self.tensor(ElementType::I8, &stored);
        let narrow = self.constant(TensorType::of(ElementType::I8, &stored), tensor.bytes.into())?;
        let mut e = ExpressionBuilder::new(&[ElementType::I8]);
        let x = e.input(0);
        let wide = e.convert(x, element);
        let wide = self.draft.map(&[narrow], e.finish(vec![wide]))?;
        self.draft.transpose(wide, (0..shape.len()).rev().collect())
    }

    /// An image with a spatial border, often of its zero point.
    pub(crate) fn bordered(&mut self, image: Value, zero_point: i64) -> Option<Value> {
        let (element, rank) = (self.tensor_type(image).element, self.tensor_type(image).rank());
        let mut amounts = [self.ints(rank, 0, 2), self.ints(rank, 0, 2)];
        for list in &mut amounts {
            (list[0], list[rank - 1]) = (0, 0);
        }
        let zero = Scalar::int(element, zero_point);
        let value = if self.random.one_in(3) { self.scalar(element) } else { zero };
        let [low, high] = amounts;
        self.draft.pad(image, low, high, value)
    }

    /// A tensor of bytes with the other signedness, each with the same distance from the least byte.
    pub(crate) fn shifted(&mut self, value: Value) -> Option<Value> {
        let (from, to, number) = match self.tensor_type(value).element {
            ElementType::I8 => (ElementType::I8, ElementType::U8, 128),
            ElementType::U8 => (ElementType::U8, ElementType::I8, -128),
            _ => return Some(value),
        };
        let mut expression = ExpressionBuilder::new(&[from]);
        let byte = expression.input(0);
        let (byte, number) = (expression.convert(byte, ElementType::I32), expression.constant(Scalar::i32(number)));
        let sum = expression.op(ScalarOp::Add, &[byte, number]).ok()?;
        let sum = expression.convert(sum, to);
        self.draft.map(&[value], expression.finish(vec![sum]))
    }

    /// The geometry of windows over an image. Their number is given if it does not follow from the image's extents, and sometimes
    /// even if it does: any number is valid.
    pub(crate) fn geometry(&mut self, image: Value) -> Option<WindowGeometry> {
        let shape = self.tensor_type(image).shape.clone();
        let spatial = shape.len() - 2;
        let [strides, dilation, padding_low, padding_high] =
            [(1, 2), (1, 2), (0, 2), (0, 2)].map(|(low, high)| self.ints(spatial, low, high));
        let (mut positions, mut shift) = (Vec::new(), Vec::new());
        if shape[1..=spatial].iter().any(|extent| extent.as_static().is_none()) || self.random.one_in(8) {
            for (extent, &low) in shape[1..=spatial].iter().zip(&padding_low) {
                positions.push(match self.random.below(4) {
                    0 if self.dynamic => Extent::Value(self.dynamic_index(6)?),
                    1 => Extent::Static(self.random.below(7) as u64),
                    _ => *extent,
                });
                let is_dynamic = self.dynamic && self.random.one_in(3);
                let n = self.random.between(0, low) as u64;
                shift.push(if is_dynamic { Extent::Value(self.dynamic_index(low)?) } else { Extent::Static(n) });
            }
        }
        Some(WindowGeometry { strides, dilation, padding_low, padding_high, positions, shift })
    }

    pub(crate) fn reduction(&mut self, element: ElementType) -> Reduction {
        let all = if element == ElementType::C64 { &[Reduction::Sum, Reduction::Product][..] } else { Reduction::ALL };
        *self.random.pick(all)
    }

    /// The operand of a Fourier transform: rows of floats whose length is a power of two. Each number has `parts` floats.
    pub(crate) fn transformed(&mut self, parts: u64) -> Option<Value> {
        let mut shape = if self.random.one_in(2) { vec![self.random.between(1, 3) as u64] } else { vec![] };
        shape.push(1 << self.random.below(7));
        if parts == 2 {
            shape.push(2);
        }
        // An infinite number makes all of its transform unknown.
        self.finite = true;
        let input = self.leaf(ElementType::F32, &shape);
        self.finite = false;
        input
    }

    pub(crate) fn index(&mut self) -> Option<Value> {
        let is_index = |v: &&Value| matches!(self.draft.types().values()[**v].ty, Type::Index(_));
        let values: Vec<Value> = self.pool.iter().filter(is_index).copied().collect();
        if values.is_empty() { self.dynamic_index(5) } else { Some(*self.random.pick(&values)) }
    }

    /// An index from 0 to `bound` that is known only when the program runs.
    pub(crate) fn dynamic_index(&mut self, bound: i64) -> Option<Value> {
        let n = self.random.between(0, bound);
        let tensor = Tensor { element: ElementType::I32, shape: vec![], bytes: (n as i32).to_le_bytes().to_vec() };
        let value = self.parameter(tensor);
        self.draft.index_load(value, Interval { low: 0, high: bound })
    }
}
