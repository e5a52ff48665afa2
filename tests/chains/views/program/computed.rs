//! Operators that compute: element-wise ones, reductions, windows, products.

use super::Program;
use crate::chains::narrowed;
use crate::chains::views::numbers;
use modelc::ir::operators::Scan;
use modelc::ir::{
    ElementType, ExpressionBuilder, Extent, NanRule, Reduction, Scalar, ScalarOp, Search, TensorType, Value, WindowGeometry, ZeroPoints,
};

impl Program<'_> {
    /// Combines each element with the index of the greatest element.
    pub fn searched(&mut self, value: Value, axis: usize) -> Value {
        let place = self.builder.arg_reduce(value, Search::Max, axis, ElementType::I32).expect("one of its dimensions");
        let mut e = ExpressionBuilder::new(&[ElementType::I32]);
        let number = e.input(0);
        let number = e.convert_saturating(number, self.element);
        let place = self.builder.map(&[place], e.finish(vec![number])).expect("one number");
        self.map(&[value, place])
    }

    pub fn scanned(&mut self, value: Value, axis: usize) -> Value {
        let reduction = self.one_of(&[Reduction::Max, Reduction::Min]);
        let scan = Scan { reduction, axis, exclusive: false, reverse: self.below(2) == 0 };
        self.builder.scan(value, scan).expect("extremes so far")
    }

    /// Adds a reduction to an extreme, alone or together with its operand.
    pub fn reduced(&mut self, value: Value, axis: usize) -> Value {
        let reduction = self.one_of(&[Reduction::Max, Reduction::Min]);
        let extreme = self.builder.reduce(value, reduction, vec![axis]).expect("one of its dimensions");
        if self.below(2) == 0 {
            return self.map(&[value, extreme]);
        }
        let shape = self.shape_of(value);
        self.builder.broadcast(extreme, shape).expect("one position")
    }

    /// Reshapes the elements to an image, whose extents except the first are the last ones of a shape.
    fn image(&mut self, value: Value) -> Value {
        let mut image = vec![Extent::Static(1); 3];
        image.extend(self.shape_of(value));
        while image.len() > 4 && image[0] == Extent::Static(1) {
            image.remove(0);
        }
        // Surplus dimensions are merged with their neighbours.
        while image.len() > 4 {
            let Some(at) = (1..image.len()).find(|&at| matches!(image[at - 1..=at], [Extent::Static(_), Extent::Static(_)])) else { break };
            let [one, other] = [at - 1, at].map(|d| image[d].as_static().unwrap_or(1));
            image[at] = Extent::Static(one * other);
            image.remove(at - 1);
        }
        self.reshaped(value, &image)
    }

    pub fn window(&mut self, value: Value) -> Value {
        let image = self.image(value);
        let reduction = self.one_of(&[Reduction::Max, Reduction::Min]);
        let opens = self.positions_of(image);
        let made = self.builder.window(image, reduction, vec![3, 3], around(1, opens));
        made.unwrap_or_else(|_| self.map(&[value]))
    }

    /// Returns the number of windows in each dimension, if some of them are run-time extents.
    fn positions_of(&self, image: Value) -> Vec<Extent> {
        let shape = self.shape_of(image);
        if shape[1..shape.len() - 1].iter().all(|n| n.as_static().is_some()) { vec![] } else { shape[1..shape.len() - 1].to_vec() }
    }

    /// Multiplies with a constant, or with another tensor if that is square.
    pub fn product(&mut self, value: Value) -> Value {
        let shape = self.shape_of(value);
        let (Some(accumulator), Some(inner)) = (self.accumulator(), shape[shape.len() - 1].as_static()) else { return self.map(&[value]) };
        let mut rows = shape[..shape.len() - 1].to_vec();
        if self.opens.is_empty() {
            rows = vec![Extent::Static(self.count / inner)];
        } else if rows.len() == 1 && rows[0].as_static().is_some() {
            rows.insert(0, Extent::Static(1));
        }
        let left = self.reshaped(value, &[&rows[..], &[Extent::Static(inner)]].concat());
        let right = if inner * inner == self.count && self.opens.is_empty() {
            let other = self.pick();
            self.reshaped(other, &[Extent::Static(inner); 2])
        } else {
            self.literal(&[inner, inner])
        };
        match self.builder.matmul(left, right, ZeroPoints::NONE, accumulator) {
            Ok(sums) => self.brought_back(sums),
            Err(_) => self.map(&[value]),
        }
    }

    fn literal(&mut self, shape: &[u64]) -> Value {
        let bytes = numbers(&mut self.random, self.element, shape.iter().product());
        self.builder.literal(TensorType::of(self.element, shape), bytes).expect("a literal fits its own type")
    }

    /// Adds a depthwise or a full convolution.
    pub fn convolved(&mut self, value: Value) -> Value {
        let Some(accumulator) = self.accumulator() else { return self.map(&[value]) };
        let image = self.image(value);
        let shape = self.shape_of(image);
        let (4, Some(channels)) = (shape.len(), shape[shape.len() - 1].as_static()) else { return self.map(&[value]) };
        let (groups, depth) = self.one_of(&[(1, channels), (channels, 1)]);
        let size = self.one_of(&[1, 3]);
        let filter = self.literal(&[channels, size, size, depth]);
        let geometry = around(size as i64 / 2, self.positions_of(image));
        match self.builder.conv(image, filter, geometry, groups, ZeroPoints::NONE, accumulator) {
            Ok(sums) => self.brought_back(sums),
            Err(_) => self.map(&[value]),
        }
    }

    /// Returns the type of sums of products; `None` for elements without products.
    fn accumulator(&self) -> Option<ElementType> {
        match self.element {
            ElementType::F32 => Some(ElementType::F32),
            ElementType::I8 => Some(ElementType::I32),
            _ => None,
        }
    }

    /// Converts sums to elements, sometimes combined with another tensor.
    fn brought_back(&mut self, sums: Value) -> Value {
        let mut operands = vec![sums];
        if self.below(2) == 0 {
            operands.push(self.pick_like(sums));
        }
        if self.element == ElementType::I8 { narrowed(&mut self.builder, &operands) } else { self.map(&operands) }
    }

    /// Maps one or two tensors, and a part of one.
    pub fn mapped(&mut self, value: Value, axis: usize) -> Value {
        let mut operands = vec![value];
        if self.below(4) != 0 {
            operands.push(self.pick_like(value));
        }
        if self.below(4) == 0 {
            let other = self.one_of(&operands);
            operands.push(self.one(other, axis));
        }
        self.map(&operands)
    }

    /// Adds an expression in which all operands have different roles.
    pub fn map(&mut self, operands: &[Value]) -> Value {
        let mut e = ExpressionBuilder::new(&vec![self.element; operands.len()]);
        let mut value = e.input(0);
        for i in 1..operands.len() {
            let operand = e.input(i);
            let op = self.one_of(&[ScalarOp::Sub, ScalarOp::Max(NanRule::Propagate), ScalarOp::Min(NanRule::Propagate)]);
            value = e.op(op, &[value, operand]).expect("numbers of one type");
        }
        if self.element == ElementType::F32 {
            let half = e.constant(Scalar::f32(0.5));
            value = e.op(ScalarOp::Mul, &[value, half]).expect("products of floats");
        } else {
            value = e.op(ScalarOp::Neg, &[value]).expect("an integer");
        }
        let expression = e.finish(vec![value]);
        self.builder.map(operands, expression).expect("shapes that broadcast")
    }
}

/// Makes windows around each pixel with a given reach.
fn around(reach: i64, positions: Vec<Extent>) -> WindowGeometry {
    let padding_high = if positions.is_empty() { vec![reach; 2] } else { vec![0; 2] };
    WindowGeometry {
        strides: vec![1; 2],
        dilation: vec![1; 2],
        padding_low: vec![reach; 2],
        padding_high,
        positions,
        ..WindowGeometry::default()
    }
}
