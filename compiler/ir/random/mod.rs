//! Random modules over the whole operator table, for tests: every engine must compute the same results on them.
//!
//! Equal seeds and options give equal modules and inputs. The modules verify, and run without an error: indices stay in range
//! and loops end. A few numbers are infinite or NaN, and sums of floats may depend on their order.

mod expression;
mod functions;
mod numbers;
mod shapes;
mod values;

pub use numbers::Random;

use super::*;

/// The contents that random modules may have.
#[derive(Clone, Debug)]
pub struct Options {
    /// Instructions in the main function, roughly.
    pub instructions: usize,
    /// Operators to choose from.
    pub operators: Vec<Op>,
    /// Element types to choose from; indices are `i32` and conditions `bool` whatever stands here.
    pub elements: Vec<ElementType>,
    /// Scalar operations without parameters to choose from.
    pub scalar_operations: Vec<ScalarOp>,
    /// `true` if some extents may be run-time extents.
    pub dynamic: bool,
}

impl Default for Options {
    /// All operators, element types and scalar operations that have arithmetic.
    fn default() -> Self {
        Self {
            instructions: 12,
            operators: OPS.iter().map(|row| row.op).filter(|op| !matches!(op, Op::External | Op::Repack)).collect(),
            // Element types without arithmetic would only be in the way.
            elements: ElementType::ALL.iter().map(|(e, _)| *e).filter(|&e| e != ElementType::C128).collect(),
            scalar_operations: ScalarOp::PLAIN.to_vec(),
            dynamic: true,
        }
    }
}

impl Options {
    /// The scalar operations that every engine rounds alike. Random chains of the others can turn one unit in the last place into any error: the sine
    /// of a large product, the power of a power.
    pub fn exact_operations() -> Vec<ScalarOp> {
        ScalarOp::PLAIN.iter().copied().filter(|op| op.row().exactness != Exactness::Near).collect()
    }

    /// All operators but transforms and attention. Engines may round these differently or sum in another order, and integers made of their results
    /// would show it.
    pub fn exact_operators() -> Vec<Op> {
        let left_out = [Op::External, Op::Repack, Op::Attention, Op::Fourier, Op::RealFourier];
        OPS.iter().map(|row| row.op).filter(|op| !left_out.contains(op)).collect()
    }
}

/// A random module with one method, and inputs for it.
pub fn module(seed: u64, options: &Options) -> (Module, Vec<Tensor>) {
    let mut module = Module::default();
    let mut generator = Generator {
        random: Random::new(seed),
        options,
        b: FunctionBuilder::new(&mut module, "main"),
        pool: Vec::new(),
        inputs: Vec::new(),
        token: None,
        finite: false,
        outputs: Vec::new(),
        measured: Vec::new(),
    };
    let count = generator.random.between(1, 3);
    for _ in 0..count {
        let element = generator.element();
        let shape = generator.shape();
        generator.input(element, &shape);
    }
    if options.operators.contains(&Op::LoadState) || options.operators.contains(&Op::StoreState) {
        generator.token = Some(generator.b.param(Type::Effect, None));
    }
    let mut left = options.instructions * 20;
    let mut made = 0;
    let mut op = *generator.random.pick(&options.operators);
    while made < options.instructions && left > 0 {
        left -= 1;
        // Now and then the same again, as rewrites look for two in a row.
        if !generator.random.one_in(4) {
            op = *generator.random.pick(&options.operators);
        }
        made += usize::from(generator.instruction(op).is_some());
    }
    let (function, inputs, ports) = generator.finish();
    module.methods.push(Method { name: "main".into(), function, inputs: ports.0, outputs: ports.1 });
    (module, inputs)
}

/// A module in the making.
pub(in crate::ir) struct Generator<'m> {
    pub(in crate::ir) random: Random,
    pub(in crate::ir) options: &'m Options,
    pub(in crate::ir) b: FunctionBuilder<'m>,
    /// Values to compute with: tensors and indices.
    pool: Vec<Value>,
    /// Inputs so far, one a parameter that is no token.
    inputs: Vec<Tensor>,
    pub(in crate::ir) token: Option<Value>,
    /// `true` while numbers must be finite.
    pub(in crate::ir) finite: bool,
    /// Results that must be returned in any case.
    outputs: Vec<Value>,
    /// Run-time extents of parameters, and their values in this run.
    measured: Vec<(Value, u64)>,
}

type Ports = (Vec<Port>, Vec<Port>);

impl Generator<'_> {
    pub(in crate::ir) fn element(&mut self) -> ElementType {
        *self.random.pick(&self.options.elements)
    }

    /// A shape of a few hundred elements at most; sometimes without any.
    pub(in crate::ir) fn shape(&mut self) -> Vec<u64> {
        let rank = self.random.between(0, 4);
        (0..rank).map(|_| if self.random.one_in(60) { 0 } else { self.random.between(1, 5) as u64 }).collect()
    }

    /// A number that is usually small.
    pub(in crate::ir) fn scalar(&mut self, element: ElementType) -> Scalar {
        let small = self.random.between(-12, 12);
        match element {
            ElementType::Bool => Scalar::bool(self.random.one_in(2)),
            ElementType::C64 => {
                let imaginary = u64::from((self.random.between(-4, 4) as f32).to_bits());
                Scalar::from_bits(element, imaginary << 32 | u64::from((small as f32).to_bits()))
            }
            e if e.is_float() => match self.random.below(40) {
                0 if !self.finite => Scalar::float(e, f64::NAN),
                1 if !self.finite => Scalar::float(e, f64::INFINITY),
                2 => Scalar::float(e, -0.0),
                3 => Scalar::float(e, small as f64 * 1e3),
                4..20 => Scalar::float(e, small as f64 / 8.0),
                _ => Scalar::float(e, small as f64),
            },
            e if self.random.one_in(4) => Scalar::from_bits(e, self.random.bits()),
            e => Scalar::int(e, small),
        }
    }

    pub(in crate::ir) fn tensor(&mut self, element: ElementType, shape: &[u64]) -> Tensor {
        let count = shape.iter().product::<u64>() as usize;
        let numbers: Vec<Scalar> = (0..count).map(|_| self.scalar(element)).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|s| s.to_bytes()).collect();
        let bytes = if element.is_packed() { packed::pack(element, &bytes) } else { bytes };
        Tensor { element, shape: shape.to_vec(), bytes }
    }

    /// A new parameter with contents.
    pub(in crate::ir) fn parameter(&mut self, tensor: Tensor) -> Value {
        let value = self.b.param(Type::Tensor(TensorType::of(tensor.element, &tensor.shape)), None);
        self.inputs.push(tensor);
        value
    }

    fn input(&mut self, element: ElementType, shape: &[u64]) -> Value {
        let tensor = self.tensor(element, shape);
        let value = self.parameter(tensor);
        if self.options.dynamic {
            for (d, &extent) in shape.iter().enumerate() {
                if extent > 0 && self.random.one_in(3) {
                    self.measure(value, d, extent);
                }
            }
        }
        self.pool.push(value);
        value
    }

    /// Turns an extent of a parameter into a run-time extent: its own, or another parameter's.
    fn measure(&mut self, param: Value, dimension: usize, extent: u64) {
        let same: Vec<Value> = self.measured.iter().filter(|(_, n)| *n == extent).map(|(index, _)| *index).collect();
        let index = if !same.is_empty() && self.random.one_in(2) {
            *self.random.pick(&same)
        } else {
            let interval = Interval { low: self.random.between(0, extent as i64), high: extent as i64 + self.random.between(0, 3) };
            self.b.measure(param, dimension, interval)
        };
        self.measured.push((index, extent));
        if let Type::Tensor(ty) = &mut self.b.function.values[param].ty {
            ty.shape[dimension] = Extent::Value(index);
        }
    }

    /// A new constant or, sometimes, a parameter; not in the pool.
    pub(in crate::ir) fn leaf(&mut self, element: ElementType, shape: &[u64]) -> Option<Value> {
        let tensor = self.tensor(element, shape);
        if self.random.one_in(3) {
            return Some(self.parameter(tensor));
        }
        self.b.literal(TensorType::of(element, shape), tensor.bytes).ok()
    }

    /// A constant of finite numbers.
    pub(in crate::ir) fn literal(&mut self, element: ElementType, shape: &[u64]) -> Option<Value> {
        self.finite = true;
        let tensor = self.tensor(element, shape);
        self.finite = false;
        self.b.literal(TensorType::of(element, shape), tensor.bytes).ok()
    }

    /// A tensor of the pool that passes a test; often a recent one, so that chains grow.
    pub(in crate::ir) fn tensor_where(&mut self, accept: impl Fn(&TensorType) -> bool) -> Option<Value> {
        let fits = |&&v: &&Value| self.b.function.values[v].ty.as_tensor().is_some_and(&accept);
        let values: Vec<Value> = self.pool.iter().filter(fits).copied().collect();
        let recent = if self.random.one_in(2) { values.len().saturating_sub(2) } else { 0 };
        if values.is_empty() { None } else { Some(*self.random.pick(&values[recent..])) }
    }

    /// One more instruction, and its results into the pool; `None` when nothing fits the operator.
    fn instruction(&mut self, op: Op) -> Option<()> {
        let (operands, operation) = Operation::propose(op, self)?;
        let results = self.b.inst(operation, &operands).ok()?;
        let small = |ty: &Type| match ty {
            Type::Tensor(t) => self.b.function.bound_bytes(t).is_some_and(|bytes| bytes <= 1 << 14),
            _ => true,
        };
        // A tensor that grew too large is computed all the same, but nothing grows from it.
        let types: Vec<Type> = results.iter().map(|&v| self.b.function.values[v].ty.clone()).collect();
        for (value, ty) in results.into_iter().zip(types) {
            match ty {
                Type::Effect => self.token = Some(value),
                ty if small(&ty) => self.pool.push(value),
                _ => {}
            }
        }
        Some(())
    }

    /// Ends the function with some results: all values that must be returned, and a few others. Tokens stand last among parameters and results.
    fn finish(mut self) -> (Func, Vec<Tensor>, Ports) {
        let mut results = std::mem::take(&mut self.outputs);
        for value in self.pool.clone().into_iter().rev() {
            let is_tensor = self.b.function.values[value].ty.as_tensor().is_some();
            if is_tensor && (results.len() < 2 || self.random.one_in(3)) && !results.contains(&value) {
                results.push(value);
            }
        }
        let port = |i: usize, what: &str| Port { name: format!("{what}{i}"), ..Port::default() };
        let inputs = (0..self.inputs.len()).map(|i| port(i, "in")).collect();
        let outputs = (0..results.len()).map(|i| port(i, "out")).collect();
        results.extend(self.token);
        token_last(&mut self.b.function);
        (self.b.finish(results), self.inputs, (inputs, outputs))
    }
}

/// Moves the effect token after all other parameters.
fn token_last(function: &mut Function) {
    let values = &mut function.values;
    function.params.sort_by_key(|&v| values[v].ty == Type::Effect);
    for (i, &param) in function.params.iter().enumerate() {
        values[param].definition = Definition::Param(i as u32);
    }
}
