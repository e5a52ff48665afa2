//! Random consecutive convolutions of long rows of pixels, with results that are combined with their operands: sections of rows and of their
//! padding.

use super::{Random, narrowed};
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{ElementType, ExpressionBuilder, Module, Scalar, ScalarOp, Tensor, TensorType, Type, Value, WindowGeometry, ZeroPoints};

/// Makes up to four convolutions of a row, or of a column, of up to 700 pixels; and a row.
pub fn module(seed: u64) -> (Module, Vec<Tensor>) {
    let mut random = Random(seed);
    let element = [ElementType::F32, ElementType::I8, ElementType::I8][random.below(3) as usize];
    let images = [1, 1, 2][random.below(3) as usize];
    let channels = [1, 2, 3, 4, 8, 16, 24, 48][random.below(8) as usize];
    let pixels = [1 + random.below(60), 64 * (1 + random.below(8)), 60 + random.below(640)][random.below(3) as usize];
    let is_column = random.below(3) == 0;
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let shape = if is_column { vec![images, pixels, 1, channels] } else { vec![images, pixels, channels] };
    let row = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
    let bytes = numbers(&mut random, element, shape.iter().product());
    let mut chain = Chain { builder, random, element, is_column };
    let mut values = vec![row];
    for _ in 0..1 + chain.random.below(4) {
        let value = values[values.len() - 1];
        let Some(made) = chain.next(value) else { continue };
        let last = chain.beside(made, &values);
        values.push(last);
    }
    let mut results = vec![values[values.len() - 1]];
    if chain.random.below(3) == 0 && values.len() > 2 {
        results.push(values[values.len() - 2]);
    }
    chain.builder.finish_method("forward", results);
    (module, vec![Tensor { element, shape, bytes }])
}

fn numbers(random: &mut Random, element: ElementType, count: u64) -> Vec<u8> {
    let number = |random: &mut Random| {
        let number = random.next() as i8;
        if element == ElementType::F32 { Scalar::f32(f32::from(number) / 64.0) } else { Scalar::int(element, number.into()) }
    };
    (0..count).flat_map(|_| number(random).to_bytes()).collect()
}

struct Chain<'m> {
    builder: FunctionBuilder<'m>,
    random: Random,
    element: ElementType,
    is_column: bool,
}

impl Chain<'_> {
    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len() as u64) as usize]
    }

    fn shape_of(&self, value: Value) -> Vec<u64> {
        self.builder.tensor(value).static_shape().expect("all is static")
    }

    /// Adds a convolution, unless the row would become empty or too long.
    fn next(&mut self, value: Value) -> Option<Value> {
        let channels = *self.shape_of(value).last()?;
        let dividing: Vec<u64> = [1, 1, 2, channels].into_iter().filter(|&n| channels.is_multiple_of(n)).collect();
        let groups = self.one_of(&dividing);
        let outputs = groups * self.one_of(if groups > 2 { &[1, 1, 2] } else { &[1, 3, 8, 16] });
        let outputs = if self.random.below(2) == 0 { channels } else { outputs };
        let window = self.one_of(&[1, 2, 3, 3, 5, 7, 9, 16]);
        let (geometry, input_dilation) = self.geometry(window as i64);
        let depth = channels / groups;
        let filter = if self.is_column { vec![outputs, window, 1, depth] } else { vec![outputs, window, depth] };
        let weights = numbers(&mut self.random, self.element, filter.iter().product());
        let filter = self.builder.literal(TensorType::of(self.element, &filter), weights).expect("a literal fits its own type");
        let (zero_point, sums) = match self.element {
            ElementType::I8 => (self.one_of(&[0, -3, 100]), ElementType::I32),
            _ => (0, ElementType::F32),
        };
        let sums =
            self.builder.dilated_conv(value, filter, (geometry, input_dilation), groups, ZeroPoints::of_left(zero_point), sums).ok()?;
        let pixels = self.shape_of(sums)[1];
        (1..2000).contains(&pixels).then_some(sums)
    }

    /// Makes stride, dilation and padding along a row, and the dilation of its pixels.
    fn geometry(&mut self, window: i64) -> (WindowGeometry, Vec<i64>) {
        let along = |n: i64, one: i64, is_column: bool| if is_column { vec![n, one] } else { vec![n] };
        let (stride, dilation) = (self.one_of(&[1, 1, 1, 2, 3, 4]), self.one_of(&[1, 1, 1, 2, 3, 16]));
        let reach = dilation * (window - 1);
        let low = self.one_of(&[0, reach / 2, reach / 2, reach, 40, 150]);
        let high = self.one_of(&[0, reach - reach / 2, reach - reach / 2, low, 7, 200]);
        let apart = if self.random.below(6) == 0 { self.one_of(&[2, 3]) } else { 1 };
        let is_column = self.is_column;
        let geometry = WindowGeometry {
            strides: along(stride, 1, is_column),
            dilation: along(dilation, 1, is_column),
            padding_low: along(low, 0, is_column),
            padding_high: along(high, 0, is_column),
            ..WindowGeometry::default()
        };
        (geometry, along(apart, 1, is_column))
    }

    /// Converts sums to elements, and combines them with an earlier tensor of their shape.
    fn beside(&mut self, sums: Value, values: &[Value]) -> Value {
        let shape = self.shape_of(sums);
        let like: Vec<Value> = values.iter().copied().filter(|&value| self.shape_of(value) == shape).collect();
        let mut operands = vec![sums];
        if !like.is_empty() && self.random.below(4) != 0 {
            operands.push(self.one_of(&like));
        }
        if self.element == ElementType::I8 {
            return narrowed(&mut self.builder, &operands);
        }
        let mut e = ExpressionBuilder::new(&vec![ElementType::F32; operands.len()]);
        let terms: Vec<_> = (0..operands.len()).map(|i| e.input(i)).collect();
        let sum = terms[1..].iter().fold(terms[0], |sum, &n| e.op(ScalarOp::Add, &[sum, n]).expect("sums of floats"));
        let part = e.constant(Scalar::f32(0.25));
        let scaled = e.op(ScalarOp::Mul, &[sum, part]).expect("products of floats");
        let expression = e.finish(vec![scaled]);
        self.builder.map(&operands, expression).expect("one shape")
    }
}
