//! Graphs that are built, run by the interpreter, and compared with sums written out.

use super::{Error, Graph};
use crate::ir::interpret::Interpreter;
use crate::ir::{ElementType, Interval, Module, Tensor, TensorType, Type, Value};

/// A tensor of f32.
#[derive(Clone, PartialEq, Debug)]
pub struct Floats {
    /// The shape.
    pub shape: Vec<u64>,
    /// The elements, row major.
    pub numbers: Vec<f32>,
}

impl Floats {
    /// Elements of a shape.
    pub fn new(shape: &[u64], numbers: Vec<f32>) -> Self {
        assert_eq!(numbers.len() as u64, shape.iter().product::<u64>());
        Self { shape: shape.to_vec(), numbers }
    }

    /// Small whole numbers that differ, some below zero: their sums of products are exact.
    pub fn varied(shape: &[u64]) -> Self {
        let count = shape.iter().product::<u64>();
        Self::new(shape, (0..count).map(|i| ((i * 7 + 3) % 11) as f32 - 5.0).collect())
    }

    fn tensor(&self) -> Tensor {
        let bytes = self.numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        Tensor { element: ElementType::F32, shape: self.shape.clone(), bytes }
    }

    fn of(tensor: &Tensor) -> Self {
        assert_eq!(tensor.element, ElementType::F32);
        let numbers = tensor.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        Self::new(&tensor.shape, numbers)
    }
}

/// A function that builds an operator over parameters.
pub type Build<'b> = &'b dyn Fn(&mut Graph<'_>, &[Value]) -> Result<Value, Error>;

/// The result of a graph over parameters of static extents.
pub fn run(inputs: &[&Floats], build: Build<'_>) -> Floats {
    run_with(inputs, &[], build)
}

/// The number of an input, and one of its dimensions that is a run-time extent.
pub type OpenDimension = [usize; 2];

/// The result of a graph with run-time extents. Their bounds are larger than the extents.
pub fn run_with(inputs: &[&Floats], open: &[OpenDimension], build: Build<'_>) -> Floats {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let mut values = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let mut bound = input.shape.clone();
        open.iter().filter(|[input, _]| *input == i).for_each(|&[_, d]| bound[d] += 3);
        let value = g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &bound)), None);
        for &[_, d] in open.iter().filter(|[input, _]| *input == i) {
            g.measure(value, d, Interval { low: 1, high: bound[d] as i64 });
        }
        values.push(value);
    }
    let result = build(&mut g, &values).expect("the operator can be built");
    let function = g.finish(vec![result]);
    let tensors: Vec<Tensor> = inputs.iter().map(|input| input.tensor()).collect();
    let results = Interpreter::new(&module).run_function(function, &tensors, None).expect("the function runs");
    Floats::of(&results[0])
}
