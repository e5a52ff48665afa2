//! Modules to text.

use super::number;
use crate::allocation::ImportedPlan;
use crate::attribute::Attribute;
use crate::entities::{Func, Value};
use crate::module::{Function, InstData, Method, Module, Quantization};
use crate::scalar::{Expression, Scalar, ScalarOp};
use crate::source::SourceData;
use crate::tensor::Tensor;
use crate::types::{ElementType, Extent, Interval, Type};
use cranelift_entity::EntityRef;
use std::collections::HashMap;
use std::fmt::Write;

/// Constants and tensors of up to this many elements are printed as numbers.
const SHORT: usize = 16;

/// The amount of constants' contents that is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constants {
    /// All bytes. The text can be parsed.
    Whole,
    /// A note of the size, for readers. The text cannot be parsed.
    Elided,
}

/// The text of a module.
pub fn print_module(module: &Module, constants: Constants) -> String {
    let mut out = String::new();
    for (id, constant) in module.constants.iter() {
        let ty = static_type(constant.ty.element, &constant.ty.static_shape().unwrap_or_default());
        let contents = contents(constant.ty.element, constant.data.bytes(), constants);
        line(&mut out, format_args!("{id}: {ty} = {contents}"));
    }
    for (id, state) in module.states.iter() {
        let ty = static_type(state.ty.element, &state.ty.static_shape().unwrap_or_default());
        let initial = state.initial.map_or(String::new(), |c| format!(" = {c}"));
        line(&mut out, format_args!("{id} {:?}: {ty}{initial}", state.name));
    }
    for (id, source) in module.sources.iter() {
        let SourceData { function, operator, operator_name, tensor, gpu } = source;
        let gpu = if *gpu { " gpu" } else { "" };
        line(&mut out, format_args!("{id} = {function:?} {operator} {operator_name:?} {tensor:?}{gpu}"));
    }
    for func in module.functions.keys() {
        out.push_str(&print_function(module, func));
    }
    for method in &module.methods {
        print_method(&mut out, module, method);
    }
    if let Some(plan) = &module.imported_plan {
        print_plan(&mut out, module, plan);
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

fn list<T>(items: impl IntoIterator<Item = T>, show: impl FnMut(T) -> String) -> String {
    items.into_iter().map(show).collect::<Vec<_>>().join(", ")
}

fn static_type(element: ElementType, shape: &[u64]) -> String {
    format!("{element}[{}]", list(shape, u64::to_string))
}

fn contents(element: ElementType, bytes: &[u8], constants: Constants) -> String {
    let scalars = if bytes.len() <= SHORT * 8 { number::scalars(element, bytes) } else { vec![] };
    // The spare bits of the last byte make elements too many, and 128 bits are no scalar: these go as bytes.
    let as_bytes = element.is_packed() || element == ElementType::C128;
    if bytes.is_empty() || (!scalars.is_empty() && scalars.len() <= SHORT && !as_bytes) {
        return format!("[{}]", list(scalars, number::print));
    }
    if constants == Constants::Elided {
        return format!("elided {} bytes", bytes.len());
    }
    hexadecimal(bytes)
}

/// Bytes as `hex "0102"`.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2 + 6);
    text.push_str("hex \"");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('"');
    text
}

/// A tensor as `f32[2] = [1.0, 2.0]`, whole.
pub fn print_tensor(tensor: &Tensor) -> String {
    format!("{} = {}", static_type(tensor.element, &tensor.shape), contents(tensor.element, &tensor.bytes, Constants::Whole))
}

/// A function's name after its `@`, quoted unless it is a plain word.
fn function_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(plain);
    if is_word { format!("@{name}") } else { format!("@{name:?}") }
}

/// The numbers that living values of a function get.
fn numbering(function: &Function) -> HashMap<Value, usize> {
    let results = function.body.iter().flat_map(|&inst| &function.insts[inst].results);
    function.params.iter().chain(results).enumerate().map(|(i, &v)| (v, i)).collect()
}

/// The text of one function.
pub fn print_function(module: &Module, func: Func) -> String {
    let function = &module.functions[func];
    let printer = FunctionPrinter { module, function, numbers: numbering(function) };
    let mut out = String::new();
    let params = list(&function.params, |&v| printer.definition(v));
    line(&mut out, format_args!("func {}({params}) {{", function_name(&function.name)));
    for &inst in &function.body {
        printer.inst(&mut out, &function.insts[inst]);
    }
    if function.results.is_empty() {
        out.push_str("  return\n}\n");
    } else {
        line(&mut out, format_args!("  return {}\n}}", list(&function.results, |&v| printer.value(v))));
    }
    out
}

struct FunctionPrinter<'m> {
    module: &'m Module,
    function: &'m Function,
    numbers: HashMap<Value, usize>,
}

impl FunctionPrinter<'_> {
    /// A value; one that is not defined any more keeps its own number, marked.
    fn value(&self, value: Value) -> String {
        match self.numbers.get(&value) {
            Some(number) => format!("v{number}"),
            None => format!("undefined_{value}"),
        }
    }

    fn extent(&self, extent: Extent) -> String {
        match extent {
            Extent::Static(n) => n.to_string(),
            Extent::Value(v) => self.value(v),
        }
    }

    fn definition(&self, value: Value) -> String {
        let data = &self.function.values[value];
        let name = data.name.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
        format!("{}: {}{name}", self.value(value), self.ty(&data.ty))
    }

    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Tensor(t) => {
                let order = t.layout.order().map_or(String::new(), |order| format!(" order [{}]", list(order, u8::to_string)));
                format!("{}[{}]{order}", t.element, list(&t.shape, |&e| self.extent(e)))
            }
            Type::Index(interval) => format!("index {}", print_interval(*interval)),
            Type::Effect => "effect".into(),
        }
    }

    fn inst(&self, out: &mut String, data: &InstData) {
        let mut text = String::from("  ");
        if !data.results.is_empty() {
            text.push_str(&list(&data.results, |&v| self.definition(v)));
            text.push_str(" = ");
        }
        text.push_str(data.op().name());
        if !data.operands.is_empty() {
            text.push(' ');
            text.push_str(&list(&data.operands, |&v| self.value(v)));
        }
        let fields = data.operation.fields();
        if let [(name, Attribute::Expression(expression))] = &fields[..] {
            text.push_str(&format!(" {{\n{}  }}", print_expression(name, expression)));
        } else if !fields.is_empty() {
            let fields = list(&fields, |(name, attribute)| format!("{name} = {}", self.attribute(attribute)));
            text.push_str(&format!(" {{ {fields} }}"));
        }
        if let Some(source) = data.source {
            text.push_str(&format!(" @ {source}"));
        }
        line(out, format_args!("{text}"));
    }

    fn attribute(&self, attribute: &Attribute) -> String {
        match attribute {
            Attribute::Int(n) => n.to_string(),
            Attribute::Ints(numbers) => format!("[{}]", list(numbers, i64::to_string)),
            Attribute::Bool(truth) => truth.to_string(),
            Attribute::Scalar(scalar) => print_scalar(*scalar),
            Attribute::Element(element) => element.to_string(),
            Attribute::Extents(extents) => format!("[{}]", list(extents, |&e| self.extent(e))),
            Attribute::Word(word) => (*word).to_owned(),
            Attribute::Expression(expression) => print_expression("expression", expression),
            Attribute::Constant(constant) => constant.to_string(),
            Attribute::State(state) => state.to_string(),
            Attribute::Function(func) => function_name(&self.module.functions[*func].name),
            Attribute::Interval(interval) => print_interval(*interval),
            Attribute::Text(text) => format!("{text:?}"),
            Attribute::Types(types) => format!("[{}]", list(types, |ty| self.ty(ty))),
        }
    }
}

fn print_interval(interval: Interval) -> String {
    if interval.is_bounded() { format!("{}..={}", interval.low, interval.high) } else { format!("{}..", interval.low) }
}

fn print_scalar(scalar: Scalar) -> String {
    format!("{} {}", scalar.element(), number::print(scalar))
}

/// An expression, one node a line.
fn print_expression(name: &str, expression: &Expression) -> String {
    let mut out = format!("    {name} = ({}) {{\n", list(&expression.inputs, |e| e.to_string()));
    for (node, data) in expression.nodes.iter() {
        let mut parts: Vec<String> = match data.op {
            ScalarOp::Input(i) => vec![i.to_string()],
            ScalarOp::Constant(value) => vec![number::print(value)],
            ScalarOp::Lut(table) => vec![table.to_string()],
            ScalarOp::RoundTo(narrow) => vec![narrow.to_string()],
            _ => vec![],
        };
        parts.extend(data.operands.iter().map(|n| n.to_string()));
        line(&mut out, format_args!("      {node}: {} = {} {}", data.ty, data.op.name(), parts.join(", ")));
    }
    line(&mut out, format_args!("      return {}\n    }}", list(&expression.results, |n| n.to_string())));
    out
}

fn print_method(out: &mut String, module: &Module, method: &Method) {
    let function = function_name(&module.functions[method.function].name);
    line(out, format_args!("method {:?} = {function} {{", method.name));
    for (what, ports) in [("input", &method.inputs), ("output", &method.outputs)] {
        for port in ports {
            let mut text = format!("  {what} {:?}", port.name);
            if let Some(Quantization { scales, zero_points, axis }) = &port.quantization {
                let (scales, zeros) = (list(scales, |&s| number::print(Scalar::f32(s))), list(zero_points, i64::to_string));
                text.push_str(&format!(" scales [{scales}] zero_points [{zeros}] axis {axis}"));
            }
            if port.scalar {
                text.push_str(" scalar");
            }
            if let Some(order) = port.dim_order.order() {
                text.push_str(&format!(" order [{}]", list(order, u8::to_string)));
            }
            if let Some(index) = port.source_index {
                text.push_str(&format!(" source {index}"));
            }
            if let Some(value) = &port.value {
                text.push_str(&format!(" value {}", hexadecimal(value.bytes())));
            }
            if !port.multiples.is_empty() {
                text.push_str(&format!(" multiples [{}]", list(&port.multiples, u64::to_string)));
            }
            line(out, format_args!("{text}"));
        }
    }
    out.push_str("}\n");
}

/// An imported plan; placements of values that are gone are left out.
fn print_plan(out: &mut String, module: &Module, plan: &ImportedPlan) {
    out.push_str("plan {\n");
    for method in &plan.methods {
        let name = function_name(&module.functions[method.function].name);
        line(out, format_args!("  areas {name} [{}] {{", list(&method.area_bytes, u64::to_string)));
        let mut numberings: HashMap<usize, HashMap<Value, usize>> = HashMap::new();
        for p in &method.placements {
            let function = &module.functions[p.function];
            let numbers = numberings.entry(p.function.index()).or_insert_with(|| numbering(function));
            if let Some(number) = numbers.get(&p.value) {
                let name = function_name(&function.name);
                line(out, format_args!("    {name} v{number} [{}, {}, {}]", p.memory_id, p.offset, p.bytes));
            }
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
}
