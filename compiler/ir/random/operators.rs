//! Random operands and attributes for each operator of the table.

use super::Generator;
use crate::ir::*;

/// Operands and attributes that probably fit an operator.
pub(super) type Proposal = Option<(Vec<Value>, Vec<Attribute>)>;

/// The word of the product among [`op::REDUCTIONS`].
const PRODUCT: u8 = 3;
/// Factors of magnitudes up to ten stay within the range of binary32.
const MOST_FACTORS: u64 = 32;

pub(super) fn word(index: usize) -> Attribute {
    Attribute::Word(index as u8)
}

pub(super) fn extents(numbers: &[u64]) -> Attribute {
    Attribute::Extents(numbers.iter().map(|&n| Extent::Static(n)).collect())
}

pub(super) fn is_static(ty: &TensorType) -> bool {
    ty.static_shape().is_some()
}

impl Generator<'_> {
    /// Something for an operator to do. Every row of the table has its arm.
    pub(super) fn propose(&mut self, op: Op) -> Proposal {
        match op {
            Op::Constant => self.constant(),
            Op::Map => self.map(),
            Op::Conv => self.conv(),
            Op::Matmul => self.matmul(),
            Op::Fourier => self.fourier(2),
            Op::RealFourier => self.fourier(1),
            Op::Window => self.window(),
            Op::Reduce => self.reduce(),
            Op::ArgReduce => self.arg_reduce(),
            Op::Reshape => self.reshape(),
            Op::Bitcast => self.bitcast(),
            Op::Transpose => self.transpose(),
            Op::Broadcast => self.broadcast(),
            Op::Slice => self.slice(),
            Op::Pad => self.pad(),
            Op::MirrorPad => self.mirror_pad(),
            Op::Concat => self.concat(),
            Op::Gather => self.gather(),
            Op::Scatter => self.scatter(),
            Op::Scan => self.scan(),
            Op::TopK => self.top_k(),
            Op::NonMaxSuppression => self.non_max_suppression(),
            Op::Iota => self.iota(),
            Op::ExtentOf => self.extent_of(),
            Op::IndexConstant => Some((vec![], vec![Attribute::Int(self.random.between(0, 6))])),
            Op::IndexBinary => self.index_binary(),
            Op::IndexLoad => self.index_load(),
            Op::IndexTensor => self.index_tensor(),
            Op::If => self.if_else(),
            Op::While => self.while_loop(),
            Op::Call => self.call(),
            Op::LoadState => self.load_state(),
            Op::StoreState => self.store_state(),
            // Nobody but an application knows what it computes.
            Op::External => None,
        }
    }

    pub(super) fn shape_of(&self, value: Value) -> Vec<u64> {
        self.b.tensor(value).static_shape().unwrap_or_default()
    }

    fn constant(&mut self) -> Proposal {
        let (element, shape) = (self.element(), self.shape());
        let tensor = self.tensor(element, &shape);
        let constant = self.b.module.add_constant(TensorType::of(element, &shape), tensor.bytes.into());
        Some((vec![], vec![Attribute::Constant(constant)]))
    }

    /// One to three operands: of the pool, or leaves that broadcast to the first.
    fn map(&mut self) -> Proposal {
        let first = self.tensor_where(|_| true)?;
        let shape = self.b.tensor(first).shape.clone();
        let mut operands = vec![first];
        for _ in 0..self.random.below(3) {
            let same = self.tensor_where(|ty| ty.shape == shape);
            match (self.random.below(3), same) {
                (0, Some(value)) => operands.push(value),
                _ => {
                    let element = self.element();
                    let shape = self.narrowed(&shape);
                    operands.push(self.leaf(element, &shape)?);
                }
            }
        }
        let elements: Vec<ElementType> = operands.iter().map(|&v| self.b.tensor(v).element).collect();
        let expression = self.expression(&elements);
        Some((operands, vec![Attribute::Expression(Box::new(expression))]))
    }

    /// A shape that broadcasts to another.
    fn narrowed(&mut self, shape: &[Extent]) -> Vec<u64> {
        let skip = if self.random.one_in(2) { self.random.below(shape.len() + 1) } else { 0 };
        shape[skip..].iter().map(|e| e.as_static().filter(|_| !self.random.one_in(3)).unwrap_or(1)).collect()
    }

    fn accumulator(&mut self, element: ElementType) -> Option<ElementType> {
        match element {
            ElementType::F64 => Some(ElementType::F64),
            e if e.is_float() => Some(ElementType::F32),
            ElementType::I64 => Some(ElementType::I64),
            e if e.is_integer() => Some(ElementType::I32),
            _ => None,
        }
    }

    fn zero_point(&mut self, element: ElementType) -> i64 {
        let low = if element.is_signed_integer() { -5 } else { 0 };
        if element.is_integer() { self.random.between(low, 5) } else { 0 }
    }

    pub(super) fn ints(&mut self, count: usize, low: i64, high: i64) -> Vec<i64> {
        (0..count).map(|_| self.random.between(low, high)).collect()
    }

    /// A tensor of rank 3 or 4 with no extent of 0, whose last one is known.
    fn image(&mut self) -> Option<Value> {
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

    fn conv(&mut self) -> Proposal {
        let input = self.image()?;
        let (element, spatial) = (self.b.tensor(input).element, self.b.tensor(input).rank() - 2);
        let channels = self.b.tensor(input).shape[spatial + 1].as_static()?;
        if self.random.one_in(8) {
            return self.one_tap(input, channels);
        }
        let groups = if self.random.one_in(2) { channels } else { 1 };
        let mut filter_shape = vec![groups * self.random.between(1, 3) as u64];
        filter_shape.extend(self.ints(spatial, 1, 3).iter().map(|&n| n as u64));
        filter_shape.push(channels / groups);
        // A rewrite takes a border of zeros for padding, which only an infinite weight tells apart.
        self.finite = true;
        let filter = self.weights(element, &filter_shape);
        self.finite = false;
        let filter = filter?;
        let zero_points = [self.zero_point(element), self.zero_point(element)];
        let input = if self.random.one_in(2) { self.bordered(input, zero_points[0])? } else { input };
        let mut attributes = self.geometry(input)?;
        let is_counted = !matches!(&attributes[4], Attribute::Extents(positions) if positions.is_empty());
        let input_dilation = if !is_counted && self.random.one_in(3) { self.ints(spatial, 1, 3) } else { vec![1; spatial] };
        if input_dilation.iter().any(|&n| n != 1) {
            attributes[0] = Attribute::Ints(vec![1; spatial]);
        }
        attributes.push(Attribute::Ints(input_dilation));
        attributes.push(Attribute::Int(groups as i64));
        attributes.extend(zero_points.map(Attribute::Int));
        attributes.push(Attribute::Element(self.accumulator(element)?));
        Some((vec![input, filter], attributes))
    }

    /// A depthwise convolution of a single tap.
    fn one_tap(&mut self, input: Value, channels: u64) -> Proposal {
        let (element, spatial) = (self.b.tensor(input).element, self.b.tensor(input).rank() - 2);
        let filter_shape = [vec![channels], vec![1; spatial + 1]].concat();
        self.finite = true;
        let filter = self.weights(element, &filter_shape);
        self.finite = false;
        let [ones, zeros] = [1, 0].map(|n| Attribute::Ints(vec![n; spatial]));
        let mut attributes = vec![ones.clone(), ones.clone(), zeros.clone(), zeros];
        attributes.extend([Attribute::Extents(vec![]), Attribute::Extents(vec![]), ones]);
        attributes.extend([channels as i64, 0, 0].map(Attribute::Int));
        attributes.push(Attribute::Element(self.accumulator(element)?));
        Some((vec![input, filter?], attributes))
    }

    /// The right operand of a contraction: mostly constant.
    fn weights(&mut self, element: ElementType, shape: &[u64]) -> Option<Value> {
        if self.random.one_in(3) {
            return self.leaf(element, shape);
        }
        if self.random.one_in(3) {
            return self.widened(element, shape);
        }
        let mut tensor = self.tensor(element, shape);
        if !self.random.one_in(4) {
            return self.b.literal(TensorType::of(element, shape), tensor.bytes).ok();
        }
        // A file may leave out what is zero.
        for element in tensor.bytes.chunks_mut((element.bits() as usize).div_ceil(8)) {
            if !self.random.one_in(6) {
                element.fill(0);
            }
        }
        let constant = self.b.module.add_constant(TensorType::of(element, shape), Data::sparse(tensor.bytes));
        self.b.constant(constant).ok()
    }

    /// Weights as some formats store them: narrow, and with their dimensions in another order.
    fn widened(&mut self, element: ElementType, shape: &[u64]) -> Option<Value> {
        let stored: Vec<u64> = shape.iter().rev().copied().collect();
        let tensor = self.tensor(ElementType::I8, &stored);
        let narrow = self.b.literal(TensorType::of(ElementType::I8, &stored), tensor.bytes).ok()?;
        let mut e = ExpressionBuilder::new(&[ElementType::I8]);
        let x = e.input(0);
        let wide = e.convert(x, element);
        let wide = self.b.map(&[narrow], e.finish(vec![wide])).ok()?;
        self.b.transpose(wide, (0..shape.len() as i64).rev().collect()).ok()
    }

    /// An image with a spatial border, often of its zero point.
    fn bordered(&mut self, image: Value, zero_point: i64) -> Option<Value> {
        let (element, rank) = (self.b.tensor(image).element, self.b.tensor(image).rank());
        let mut amounts = [self.ints(rank, 0, 2), self.ints(rank, 0, 2)];
        for list in &mut amounts {
            (list[0], list[rank - 1]) = (0, 0);
        }
        let zero = Scalar::int(element, zero_point);
        let value = if self.random.one_in(3) { self.scalar(element) } else { zero };
        let [low, high] = amounts;
        self.b.pad(image, low, high, value).ok()
    }

    /// The geometry of windows over an image. Their number is given where it does not follow from the image's extents, and sometimes
    /// where it does: any number is as good.
    fn geometry(&mut self, image: Value) -> Option<Vec<Attribute>> {
        let shape = self.b.tensor(image).shape.clone();
        let spatial = shape.len() - 2;
        let lists = [(1, 2), (1, 2), (0, 2), (0, 2)].map(|(low, high)| self.ints(spatial, low, high));
        let (mut positions, mut shift) = (Vec::new(), Vec::new());
        if shape[1..=spatial].iter().any(|extent| extent.as_static().is_none()) || self.random.one_in(8) {
            for (extent, &low) in shape[1..=spatial].iter().zip(&lists[2]) {
                positions.push(match self.random.below(4) {
                    0 if self.options.dynamic => Extent::Value(self.dynamic_index(6)?),
                    1 => Extent::Static(self.random.below(7) as u64),
                    _ => *extent,
                });
                let is_dynamic = self.options.dynamic && self.random.one_in(3);
                let n = self.random.between(0, low) as u64;
                shift.push(if is_dynamic { Extent::Value(self.dynamic_index(low)?) } else { Extent::Static(n) });
            }
        }
        let numbers = lists.map(Attribute::Ints).into_iter();
        Some(numbers.chain([positions, shift].map(Attribute::Extents)).collect())
    }

    fn matmul(&mut self) -> Proposal {
        let left = self.tensor_where(|ty| is_static(ty) && ty.rank() >= 2)?;
        let (element, shape) = (self.b.tensor(left).element, self.shape_of(left));
        let rows = self.random.between(1, 5) as u64;
        let mut other: Vec<u64> = if self.random.one_in(2) { shape[..shape.len() - 2].to_vec() } else { vec![] };
        other.extend([rows, shape[shape.len() - 1]]);
        let right = self.weights(element, &other)?;
        let zero_points = [self.zero_point(element), self.zero_point(element)];
        let mut attributes = zero_points.map(Attribute::Int).to_vec();
        attributes.push(Attribute::Element(self.accumulator(element)?));
        Some((vec![left, right], attributes))
    }

    fn reduction(&mut self, element: ElementType) -> Attribute {
        let all = if element == ElementType::C64 { vec![0, 3] } else { (0..op::REDUCTIONS.len()).collect() };
        word(*self.random.pick(&all))
    }

    fn window(&mut self) -> Proposal {
        let input = self.image()?;
        let (element, spatial) = (self.b.tensor(input).element, self.b.tensor(input).rank() - 2);
        let mut attributes = vec![self.reduction(element), Attribute::Ints(self.ints(spatial, 1, 3))];
        attributes.extend(self.geometry(input)?);
        Some((vec![input], attributes))
    }

    fn reduce(&mut self) -> Proposal {
        let input = self.tensor_where(|_| true)?;
        let (element, rank) = (self.b.tensor(input).element, self.b.tensor(input).rank());
        let axes: Vec<i64> = (0..rank as i64).filter(|_| self.random.one_in(2)).collect();
        let reduction = match self.reduction(element) {
            // In one order many factors overflow before the zero among them, and in another they do not.
            Attribute::Word(PRODUCT) if element.is_float() && self.elements_along(input, &axes) > MOST_FACTORS => word(0),
            other => other,
        };
        Some((vec![input], vec![reduction, Attribute::Ints(axes)]))
    }

    /// How many elements a reduction over axes takes together; many, where that is known only later.
    fn elements_along(&self, value: Value, axes: &[i64]) -> u64 {
        let shape = self.b.tensor(value).static_shape();
        shape.map_or(u64::MAX, |shape| axes.iter().filter_map(|&axis| shape.get(axis as usize)).product())
    }

    fn arg_reduce(&mut self) -> Proposal {
        let input = self.tensor_where(|ty| ty.rank() > 0)?;
        let axis = self.random.below(self.b.tensor(input).rank());
        let element = *self.random.pick(&[ElementType::I32, ElementType::I64]);
        let search = word(self.random.below(op::SEARCHES.len()));
        Some((vec![input], vec![search, Attribute::Int(axis as i64), Attribute::Element(element)]))
    }

    /// Floats of which a multiple of `parts` are a row of a power of two.
    fn fourier(&mut self, parts: u64) -> Proposal {
        let mut shape = if self.random.one_in(2) { vec![self.random.between(1, 3) as u64] } else { vec![] };
        shape.push(1 << self.random.below(7));
        if parts == 2 {
            shape.push(2);
        }
        // An infinite number makes all of its transform unknown.
        self.finite = true;
        let input = self.leaf(ElementType::F32, &shape);
        self.finite = false;
        Some((vec![input?], vec![]))
    }

    fn bitcast(&mut self) -> Proposal {
        // Not of floats: which NaN an operation gives is nobody's promise.
        let input = self.tensor_where(|ty| ty.element.is_integer() && ty.element.bits() >= 8)?;
        Some((vec![input], vec![Attribute::Element(self.element())]))
    }

    fn extent_of(&mut self) -> Proposal {
        let dynamic = self.tensor_where(|ty| !is_static(ty));
        let input = dynamic.or_else(|| self.tensor_where(|ty| ty.rank() > 0))?;
        let axis = self.random.below(self.b.tensor(input).rank());
        Some((vec![input], vec![Attribute::Int(axis as i64)]))
    }

    fn index(&mut self) -> Option<Value> {
        let is_index = |v: &&Value| matches!(self.b.function.values[**v].ty, Type::Index(_));
        let values: Vec<Value> = self.pool.iter().filter(is_index).copied().collect();
        if values.is_empty() { self.dynamic_index(5) } else { Some(*self.random.pick(&values)) }
    }

    fn index_binary(&mut self) -> Proposal {
        let (a, b) = (self.index()?, self.index()?);
        Some((vec![a, b], vec![word(self.random.below(op::INDEX_OPERATIONS.len()))]))
    }

    fn index_load(&mut self) -> Proposal {
        let n = self.random.between(-3, 9);
        let tensor = Tensor { element: ElementType::I64, shape: vec![1], bytes: n.to_le_bytes().to_vec() };
        let interval = Interval { low: n - self.random.between(0, 3), high: n + self.random.between(0, 3) };
        let value = self.parameter(tensor);
        Some((vec![value], vec![Attribute::Interval(interval)]))
    }

    fn index_tensor(&mut self) -> Proposal {
        let index = self.index()?;
        Some((vec![index], vec![Attribute::Element(*self.random.pick(&[ElementType::I32, ElementType::I64]))]))
    }
}
