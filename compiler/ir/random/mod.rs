//! Random modules over the whole operator table, for tests: every engine must compute the same results on them.
//!
//! Equal seeds and options give equal modules and inputs. The modules verify, and run without an error: indices stay in range
//! and loops end. A few numbers are infinite or NaN, and sums of floats may depend on their order.

mod building;
mod draft;
mod expression;
mod functions;
mod numbers;
mod shapes;
mod supply;
mod values;

pub use numbers::Random;
pub(crate) use supply::Generator;

use super::builder::FunctionBuilder;
use super::entities::{Func, Value};
use super::module::{Function, Method, Module, Port};
use super::operators::{OPS, Op, Operation};
use super::scalar::{Exactness, ScalarOp};
use super::tensor::Tensor;
use super::types::{ElementType, Extent, Interval, Type};
use super::value::Definition;
use supply::Supply;

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
    /// The scalar operations that every engine rounds alike. Random chains of the others can turn one unit in the last place into any error. Examples
    /// are the sine of a large product, and the power of a power.
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
    let mut making = Making {
        supply: Supply {
            random: Random::new(seed),
            elements: options.elements.clone(),
            scalar_operations: options.scalar_operations.clone(),
            dynamic: options.dynamic,
            pool: Vec::new(),
            inputs: Vec::new(),
            token: None,
            finite: false,
            draft: FunctionBuilder::new(&mut module, "main"),
        },
        measured: Vec::new(),
    };
    let count = making.supply.random.between(1, 3);
    for _ in 0..count {
        let element = making.supply.element();
        let shape = making.supply.shape();
        making.input(element, &shape);
    }
    if options.operators.contains(&Op::LoadState) || options.operators.contains(&Op::StoreState) {
        making.supply.token = Some(making.supply.draft.param(Type::Effect, None));
    }
    let mut left = options.instructions * 20;
    let mut made = 0;
    let mut op = *making.supply.random.pick(&options.operators);
    while made < options.instructions && left > 0 {
        left -= 1;
        // Now and then the same again, as rewrites look for two in a row.
        if !making.supply.random.one_in(4) {
            op = *making.supply.random.pick(&options.operators);
        }
        made += usize::from(making.instruction(op).is_some());
    }
    let (function, inputs, ports) = making.finish();
    module.methods.push(Method { name: "main".into(), function, inputs: ports.0, outputs: ports.1 });
    (module, inputs)
}

/// A module in the making.
struct Making<'m> {
    supply: Supply<FunctionBuilder<'m>>,
    /// Run-time extents of parameters, and their values in this run.
    measured: Vec<(Value, u64)>,
}

type Ports = (Vec<Port>, Vec<Port>);

impl Making<'_> {
    fn input(&mut self, element: ElementType, shape: &[u64]) -> Value {
        let tensor = self.supply.tensor(element, shape);
        let value = self.supply.parameter(tensor);
        if self.supply.dynamic {
            for (d, &extent) in shape.iter().enumerate() {
                if extent > 0 && self.supply.random.one_in(3) {
                    self.measure(value, d, extent);
                }
            }
        }
        self.supply.pool.push(value);
        value
    }

    /// Turns an extent of a parameter into a run-time extent: its own, or another parameter's.
    fn measure(&mut self, param: Value, dimension: usize, extent: u64) {
        let same: Vec<Value> = self.measured.iter().filter(|(_, n)| *n == extent).map(|(index, _)| *index).collect();
        let index = if !same.is_empty() && self.supply.random.one_in(2) {
            *self.supply.random.pick(&same)
        } else {
            let interval =
                Interval { low: self.supply.random.between(0, extent as i64), high: extent as i64 + self.supply.random.between(0, 3) };
            self.supply.draft.measure(param, dimension, interval)
        };
        self.measured.push((index, extent));
        if let Type::Tensor(ty) = &mut self.supply.draft.function.values[param].ty {
            ty.shape[dimension] = Extent::Value(index);
        }
    }

    /// One more instruction, and its results into the pool; `None` when nothing fits the operator.
    fn instruction(&mut self, op: Op) -> Option<()> {
        let (operands, operation) = Operation::propose(op, &mut self.supply)?;
        let results = self.supply.draft.inst(operation, &operands).ok()?;
        let small = |ty: &Type| match ty {
            Type::Tensor(t) => self.supply.draft.function.bound_bytes(t).is_some_and(|bytes| bytes <= 1 << 14),
            _ => true,
        };
        // A tensor that grew too large is computed all the same, but nothing grows from it.
        let types: Vec<Type> = results.iter().map(|&v| self.supply.draft.function.values[v].ty.clone()).collect();
        for (value, ty) in results.into_iter().zip(types) {
            match ty {
                Type::Effect => self.supply.token = Some(value),
                ty if small(&ty) => self.supply.pool.push(value),
                _ => {}
            }
        }
        Some(())
    }

    /// Ends the function with some results. Tokens stand last among parameters and results.
    fn finish(mut self) -> (Func, Vec<Tensor>, Ports) {
        let mut results = Vec::new();
        for value in self.supply.pool.clone().into_iter().rev() {
            let is_tensor = self.supply.draft.function.values[value].ty.as_tensor().is_some();
            if is_tensor && (results.len() < 2 || self.supply.random.one_in(3)) && !results.contains(&value) {
                results.push(value);
            }
        }
        let port = |i: usize, what: &str| Port { name: format!("{what}{i}"), ..Port::default() };
        let inputs = (0..self.supply.inputs.len()).map(|i| port(i, "in")).collect();
        let outputs = (0..results.len()).map(|i| port(i, "out")).collect();
        results.extend(self.supply.token);
        token_last(&mut self.supply.draft.function);
        (self.supply.draft.finish(results), self.supply.inputs, (inputs, outputs))
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
