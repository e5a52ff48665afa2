//! Random products of batches of matrices, with operators of attention on their results.

use super::{Random, narrowed};
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{ElementType, ExpressionBuilder, Extent, Module, Reduction, Scalar, Tensor, TensorType, Type, Value, ZeroPoints};

/// Makes a batched matrix product, up to six operators on its result, and another product, all of bytes; and inputs for it.
pub fn module(seed: u64) -> (Module, Vec<Tensor>) {
    let mut random = Random(seed);
    let [batches, heads] = [1 + random.below(4), 1 + random.below(5)];
    let [rows, columns, depth] = [20, 20, 9].map(|limit| 1 + random.below(limit));
    let mut module = Module::default();
    let builder = FunctionBuilder::new(&mut module, "main");
    let mut attention = Attention { builder, random, inputs: vec![], batches, heads };
    let queries = attention.input(&[batches, heads, rows, depth]);
    let keys = attention.broadcast(&[columns, depth]);
    let mut results = vec![];
    let mut value = attention.product(queries, keys);
    for _ in 0..attention.random.below(7) {
        value = attention.next(value);
        if attention.random.below(12) == 0 {
            results.push(value);
        }
    }
    let shape = attention.shape(value);
    let outputs = 1 + attention.random.below(12);
    let values = if shape.len() == 4 { attention.broadcast(&[outputs, shape[3]]) } else { attention.input(&[shape[0], outputs, shape[2]]) };
    results.push(attention.product(value, values));
    let Attention { builder, inputs, .. } = attention;
    builder.finish_method("forward", results);
    (module, inputs)
}

struct Attention<'m> {
    builder: FunctionBuilder<'m>,
    random: Random,
    inputs: Vec<Tensor>,
    batches: u64,
    heads: u64,
}

impl Attention<'_> {
    fn shape(&self, value: Value) -> Vec<u64> {
        self.builder.tensor(value).static_shape().expect("all is static")
    }

    /// Adds an input.
    fn input(&mut self, shape: &[u64]) -> Value {
        let bytes = self.random.bytes(shape.iter().product());
        self.inputs.push(Tensor { element: ElementType::I8, shape: shape.to_vec(), bytes });
        self.builder.param(Type::Tensor(TensorType::of(ElementType::I8, shape)), format!("input {}", self.inputs.len()))
    }

    /// Adds an input with matrices or rows for each batch and head, or broadcast over some.
    fn broadcast(&mut self, shape: &[u64]) -> Value {
        let all = [self.batches, self.heads];
        let mut leading = all.map(|extent| if self.random.below(3) == 0 { 1 } else { extent }).to_vec();
        if leading == [1, 1] && self.random.below(2) == 0 {
            leading.clear();
        }
        self.input(&[&leading, shape].concat())
    }

    fn product(&mut self, left: Value, right: Value) -> Value {
        let zero_points = ZeroPoints::of_left(self.random.below(5) as i64 - 2);
        let sums = self.builder.matmul(left, right, zero_points, ElementType::I32).expect("both have one depth");
        narrowed(&mut self.builder, &[sums])
    }

    fn widened(&mut self, value: Value) -> Value {
        let mut e = ExpressionBuilder::new(&[ElementType::I8]);
        let input = e.input(0);
        let wide = e.convert(input, ElementType::I32);
        self.builder.map(&[value], e.finish(vec![wide])).expect("bytes")
    }

    /// Adds an operator.
    fn next(&mut self, value: Value) -> Value {
        let shape = self.shape(value);
        let last = shape.len() - 1;
        match self.random.below(7) {
            0 | 1 if shape.len() == 4 => {
                let rows = if self.random.below(2) == 0 { 1 } else { shape[2] };
                let mask = self.broadcast(&[rows, shape[3]]);
                narrowed(&mut self.builder, &[value, mask])
            }
            2 => {
                let kind = [Reduction::Max, Reduction::Min, Reduction::Sum][self.random.below(3) as usize];
                // Bytes are summed in 32 bits.
                let terms = if kind == Reduction::Sum { self.widened(value) } else { value };
                let reduced = self.builder.reduce(terms, kind, vec![last]).expect("there is a last dimension");
                narrowed(&mut self.builder, &[value, reduced])
            }
            3 => {
                let merged = [self.batches * self.heads, shape[last - 1], shape[last]];
                let apart = [self.batches, self.heads, shape[last - 1], shape[last]];
                let other = if shape.len() == 4 { &merged[..] } else { &apart[..] };
                self.builder.reshape(value, other.iter().map(|&n| Extent::Static(n)).collect()).expect("as many elements")
            }
            4 => {
                let mut permutation: Vec<usize> = (0..shape.len()).collect();
                permutation.swap(last - 1, last);
                self.builder.transpose(value, permutation).expect("a permutation")
            }
            // An operator that does not work matrix by matrix.
            5 => {
                let mut low = vec![0; shape.len()];
                low[last] = self.random.below(3) as i64;
                self.builder.pad(value, low, vec![0; shape.len()], Scalar::int(ElementType::I8, -7)).expect("a border")
            }
            _ => narrowed(&mut self.builder, &[value, value]),
        }
    }
}
