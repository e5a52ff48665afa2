//! Random graphs of element-wise work: diamonds, siblings, reductions along rows with results that are used on the same rows, several results.

use super::{Random, filter, narrowed, pointwise};
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{ElementType, ExpressionBuilder, Module, Reduction, Scalar, ScalarOp, Tensor, TensorType, Type, Value};

/// Makes a graph of up to twelve operators on an image of bytes or floats, with up to four results, and an image.
pub fn module(seed: u64) -> (Module, Vec<Tensor>) {
    let mut random = Random(seed);
    let is_float = random.below(2) == 0;
    let element = if is_float { ElementType::F32 } else { ElementType::I8 };
    let channels = [1, 2, 3, 8, 17, 33, 70][random.below(7) as usize];
    let shape = [1, 1 + random.below(4), 1 + random.below(5), channels];
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let image = builder.param(Type::Tensor(TensorType::of(element, &shape)), "image".to_owned());
    let mut graph = Graph { builder, random, is_float, channels, elements: vec![image], numbers: vec![] };
    for _ in 0..3 + graph.random.below(10) {
        graph.next();
    }
    let Graph { builder, mut random, elements, numbers, .. } = graph;
    let mut results = vec![elements[elements.len() - 1]];
    for &value in elements[1..].iter().chain(&numbers).rev() {
        if results.len() < 4 && random.below(5) == 0 && !results.contains(&value) {
            results.push(value);
        }
    }
    builder.finish_method("forward", results);
    let count = shape.iter().product();
    let floats = |random: &mut Random| (0..count).flat_map(|_| (random.next() as i8 as f32 / 16.0).to_le_bytes()).collect();
    let bytes = if is_float { floats(&mut random) } else { random.bytes(count) };
    (module, vec![Tensor { element, shape: shape.to_vec(), bytes }])
}

struct Graph<'m> {
    builder: FunctionBuilder<'m>,
    random: Random,
    is_float: bool,
    channels: u64,
    /// Tensors of the image's size, and tensors with one number a row.
    elements: Vec<Value>,
    numbers: Vec<Value>,
}

impl Graph<'_> {
    /// Selects a value, often a recent one.
    fn pick(&mut self, list: &[Value]) -> Value {
        let first = if self.random.below(2) == 0 { list.len().saturating_sub(3) } else { 0 };
        list[first + self.random.below((list.len() - first) as u64) as usize]
    }

    /// Adds an operator.
    fn next(&mut self) {
        let elements = self.elements.clone();
        let numbers = self.numbers.clone();
        match self.random.below(8) {
            0 | 1 => {
                let operand = self.pick(&elements);
                let reduced = self.reduced(operand);
                self.numbers.push(reduced);
            }
            2 if !numbers.is_empty() => {
                let operands = [self.pick(&numbers), self.pick(&numbers)];
                let number = self.map(&operands);
                self.numbers.push(number);
            }
            3 if !self.is_float => {
                let operand = self.pick(&elements);
                let convolved = pointwise(&mut self.builder, &mut self.random, operand, self.channels);
                self.elements.push(convolved);
            }
            kind => {
                let mut operands = vec![self.pick(&elements)];
                if kind % 2 == 0 {
                    operands.push(self.pick(&elements));
                }
                if !numbers.is_empty() && self.random.below(2) == 0 {
                    operands.push(self.pick(&numbers));
                }
                if !self.is_float && self.random.below(4) == 0 {
                    operands.push(filter(&mut self.builder, &mut self.random, [1, 1, 1, self.channels]));
                }
                let made = self.map(&operands);
                self.elements.push(made);
            }
        }
    }

    /// Reduces the last dimension; bytes are summed in 32 bits.
    fn reduced(&mut self, operand: Value) -> Value {
        let kind = [Reduction::Max, Reduction::Min, Reduction::Sum][self.random.below(3) as usize];
        if self.is_float || kind != Reduction::Sum {
            return self.builder.reduce(operand, kind, vec![3]).expect("images have channels");
        }
        let mut e = ExpressionBuilder::new(&[ElementType::I8]);
        let input = e.input(0);
        let wide = e.convert(input, ElementType::I32);
        let terms = self.builder.map(&[operand], e.finish(vec![wide])).expect("bytes");
        let sums = self.builder.reduce(terms, kind, vec![3]).expect("images have channels");
        narrowed(&mut self.builder, &[sums])
    }

    /// Adds the mean of some tensors; for floats, sometimes after an expensive operation.
    fn map(&mut self, operands: &[Value]) -> Value {
        if !self.is_float {
            return narrowed(&mut self.builder, operands);
        }
        let mut e = ExpressionBuilder::new(&vec![ElementType::F32; operands.len()]);
        let terms: Vec<_> = (0..operands.len()).map(|i| e.input(i)).collect();
        let sum = terms[1..].iter().fold(terms[0], |sum, &n| e.op(ScalarOp::Add, &[sum, n]).expect("sums of floats"));
        let share = e.constant(Scalar::f32(1.0 / (operands.len() + 1) as f32));
        let mut value = e.op(ScalarOp::Mul, &[sum, share]).expect("products of floats");
        if self.random.below(3) == 0 {
            value = e.op(ScalarOp::Tanh, &[value]).expect("a float");
        }
        let expression = e.finish(vec![value]);
        self.builder.map(operands, expression).expect("shapes that broadcast")
    }
}
