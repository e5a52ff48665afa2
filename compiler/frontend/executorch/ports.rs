//! The inputs and outputs of a method.

use super::effects::range_in_file;
use super::fault::Fault;
use super::memory::{Area, ByteRange};
use super::program::{EValue, Form, TensorMeta};
use super::registers::Register;
use super::translate::Translator;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, IndexOperation, Interval, Port, Scalar, TensorType, Type, Value};
use crate::operators::extents;
use crate::operators::graph::facts::{Facts, InputExtent, Measured};
use crate::operators::graph::movement::inverse;
use crate::operators::promotion::Number;

fn port(index: usize, kept: usize, scalar: bool, form: Option<&Form<Extent>>) -> Port {
    Port {
        scalar,
        dim_order: form.map(|form| form.layout.clone()).unwrap_or_default(),
        source_index: (index != kept).then_some(index as u32),
        ..Port::default()
    }
}

/// Turns the inputs into parameters.
///
/// # Errors
/// An input that is a list or a constant, or a user's shape that does not fit.
pub fn inputs(t: &mut Translator<'_, '_>) -> Result<Vec<Port>, Fault> {
    let plan = t.plan;
    let mut ports = Vec::new();
    for (i, &register) in plan.inputs.iter().enumerate() {
        match &plan.values[register] {
            EValue::Tensor(meta) => {
                let form = tensor_input(t, i, register, meta).map_err(|fault| at_port(fault, "input", i))?;
                let multiples = multiples(t, i, &form);
                ports.push(Port { multiples, ..port(i, ports.len(), false, Some(&form)) });
            }
            // A method is exported for one value of each number and takes no other. The value passed has no effect.
            EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) => {
                let element = match &plan.values[register] {
                    EValue::Int(_) => ElementType::I64,
                    EValue::Bool(_) => ElementType::Bool,
                    _ => ElementType::F64,
                };
                t.graph.builder.param(Type::Tensor(TensorType::of(element, &[])), format!("in{i}"));
                ports.push(port(i, ports.len(), true, None));
            }
            // None and strings are not passed.
            EValue::None | EValue::String(_) => {}
            _ => return Err(at_port(Fault::unsupported("lists cannot be inputs"), "input", i)),
        }
    }
    equate_known(t)?;
    Ok(ports)
}

/// The multiples of the dimensions of an input's buffer; empty if all are 1.
fn multiples(t: &Translator<'_, '_>, input: usize, form: &Form<Extent>) -> Vec<u64> {
    let of = |dimension: usize| if form.shape[dimension].as_static().is_some() { 1 } else { t.multiple(input, dimension) as u64 };
    let multiples: Vec<u64> = form.order().into_iter().map(of).collect();
    if multiples.iter().all(|&multiple| multiple == 1) { vec![] } else { multiples }
}

/// Makes extents equal that were found to be always equal.
fn equate_known(t: &mut Translator<'_, '_>) -> Result<(), Fault> {
    let pairs: Vec<[InputExtent; 2]> = t.facts().into_iter().flat_map(Facts::equal).collect();
    for pair in pairs {
        let index = |extent: InputExtent| t.measured.iter().find(|measured| measured.of == extent).map(|measured| measured.index);
        if let [Some(x), Some(y)] = pair.map(index) {
            t.equate(Extent::Value(x), Extent::Value(y))?;
        }
    }
    Ok(())
}

fn at_port(fault: Fault, what: &str, index: usize) -> Fault {
    match fault {
        Fault::Reported(diagnostic) => Fault::Reported(diagnostic.about_tensor(format!("{what} {index}"))),
        other => other,
    }
}

/// The ranges of an input's dimensions: the file's bounds, narrowed by users and by requirements of operators.
fn intervals(t: &Translator<'_, '_>, input: usize, meta: &TensorMeta) -> Result<Vec<Interval>, Fault> {
    let bounds = &meta.form.shape;
    let chosen = t.shared.shapes.iter().find(|(number, _)| *number == input).map(|(_, shape)| shape);
    if let Some(shape) = chosen.filter(|shape| *shape != bounds) {
        let fits = shape.len() == bounds.len() && shape.iter().zip(bounds).all(|(n, bound)| n <= bound);
        if !meta.dynamic || !fits {
            let most = if meta.dynamic { "at most " } else { "" };
            return Err(
                Fault::invalid("the shape chosen does not fit the input").expected(format!("{most}{bounds:?}"), format!("{shape:?}"))
            );
        }
    }
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let mut intervals: Vec<Interval> = match chosen {
        Some(shape) => shape.iter().map(|&n| Interval::exactly(number(n))).collect(),
        None if meta.dynamic => bounds.iter().map(|&n| Interval { low: 1.min(number(n)), high: number(n) }).collect(),
        None => bounds.iter().map(|&n| Interval::exactly(number(n))).collect(),
    };
    for bound in t.shared.bounds.iter().filter(|bound| !bound.is_output && bound.port == input && meta.dynamic) {
        let most = bounds.get(bound.dimension).copied().ok_or_else(|| {
            let message = format!("a bound is given for dimension {} of input {input}", bound.dimension);
            Diagnostic::new(codes::SHAPE_GIVEN, message)
                .expected(format!("a dimension below {}", bounds.len()), bound.dimension.to_string())
        })?;
        if !(1..=most).contains(&bound.most) {
            let message = format!("the bound of dimension {} of input {input} is not within the program's", bound.dimension);
            return Err(Diagnostic::new(codes::SHAPE_GIVEN, message).expected(format!("1 to {most}"), bound.most.to_string()).into());
        }
        intervals[bound.dimension] = Interval { low: 1, high: number(bound.most) };
    }
    for (dimension, interval) in intervals.iter_mut().enumerate() {
        if let Some(narrowed) = t.facts().and_then(|facts| facts.interval(InputExtent { input, dimension })) {
            *interval = narrowed;
        }
        let multiple = t.multiple(input, dimension);
        let whole = Interval { low: (interval.low + multiple - 1) / multiple * multiple, high: interval.high / multiple * multiple };
        if interval.low < interval.high && whole.low <= whole.high {
            *interval = whole;
        }
    }
    Ok(intervals)
}

/// Writes an input's extents as multiples, so that extents which follow from them are found to be equal. The compiled code checks the callers'
/// shapes.
fn as_multiples(t: &mut Translator<'_, '_>, input: usize, value: Value) -> Result<Value, Fault> {
    let mut shape = t.graph.extents(value);
    for (dimension, extent) in shape.iter_mut().enumerate() {
        let multiple = t.multiple(input, dimension);
        if let (Extent::Value(index), true) = (*extent, multiple > 1) {
            let number = t.graph.builder.index_constant(multiple)?;
            let quotient = t.graph.builder.index_binary(IndexOperation::FloorDivide, index, number)?;
            *extent = Extent::Value(t.graph.builder.index_binary(IndexOperation::Multiply, quotient, number)?);
        }
    }
    Ok(t.graph.reshape(value, &shape)?)
}

fn tensor_input(t: &mut Translator<'_, '_>, input: usize, register: usize, meta: &TensorMeta) -> Result<Form<Extent>, Fault> {
    let intervals = intervals(t, input, meta)?;
    let largest = Form { shape: intervals.iter().map(|interval| interval.high as u64).collect(), ..meta.form.clone() };
    let Some(range) = range_in_file(t.plan, register) else { return Err(Fault::invalid("an input is a constant")) };
    let range = ByteRange { end: range.start + largest.bytes(), ..range };
    let name = format!("in{}", t.graph.builder.function.params.len());
    let param = t.graph.builder.param(Type::Tensor(TensorType::new(meta.form.element, extents(&largest.physical_shape()))), name);
    for (axis, dimension) in largest.order().into_iter().enumerate() {
        let interval = intervals[dimension];
        if interval.low < interval.high {
            let index = t.graph.measure(param, axis, interval);
            t.measured.push(Measured { index, of: InputExtent { input, dimension } });
        }
    }
    if let Area::Planned(memory_id) = range.area {
        t.place(param, memory_id, range.start, range.end - range.start);
    }
    let logical = t.graph.transpose(param, &inverse(&largest.order()))?;
    let logical = as_multiples(t, input, logical)?;
    let form = Form { shape: t.graph.extents(logical), ..largest.on_extents() };
    if let Register::Tensor(handle) = &mut t.environment.registers[register] {
        (handle.form, handle.bytes) = (form.clone(), largest.bytes());
    }
    let content = t.content(logical, form.clone(), largest.bytes());
    t.environment.memory.write(range, content);
    Ok(form)
}

/// The results of the method, and their ports.
///
/// # Errors
/// A result that cannot be read, or that is a string or a list.
pub fn outputs(t: &mut Translator<'_, '_>) -> Result<(Vec<Value>, Vec<Port>), Fault> {
    let mut values = Vec::new();
    let mut ports = Vec::new();
    for (i, &register) in t.plan.outputs.iter().enumerate() {
        let (value, scalar, form) = match t.environment.registers[register].clone() {
            Register::Tensor(handle) => {
                let logical = t.read(register).map_err(|fault| at_port(fault, "output", i))?;
                (t.graph.transpose(logical, &handle.form.order())?, false, Some(handle.form))
            }
            Register::Number(number) => (number_value(t, number)?, true, None),
            Register::Index(depth, index) => {
                let index = t.localize_index(depth, index)?;
                (t.graph.extent_tensor(Extent::Value(index), ElementType::I64)?, true, None)
            }
            Register::Loaded(definition) => (t.localize(&definition), true, None),
            Register::Unavailable(fault) => return Err(at_port(fault, "output", i)),
            Register::AsInFile(origin) => match t.plan.values[origin] {
                EValue::None => continue,
                _ => return Err(at_port(Fault::unsupported("strings and lists cannot be outputs"), "output", i)),
            },
        };
        values.push(value);
        ports.push(port(i, ports.len(), scalar, form.as_ref()));
    }
    Ok((values, ports))
}

fn number_value(t: &mut Translator<'_, '_>, number: Number) -> Result<Value, Fault> {
    let scalar = match number {
        Number::Int(n) => Scalar::int(ElementType::I64, n),
        Number::Bool(b) => Scalar::bool(b),
        Number::Double(x) => Scalar::float(ElementType::F64, x),
    };
    Ok(t.graph.scalar(scalar)?)
}
