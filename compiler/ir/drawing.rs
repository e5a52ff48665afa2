//! Outlines of modules whose functions are as the front end made them.

use super::entities::{Source, Value};
use super::module::{Function, InstData, Module};
use super::outline::{End, Outline, OutlineOperator, Wire};
use super::source::SourceData;
use super::value::Definition;
use std::collections::HashMap;

impl Outline {
    /// The graphs of all functions of a module that no rewrite has changed, in the order of the functions.
    pub fn all(module: &Module) -> Vec<Self> {
        module.functions.values().map(|function| Drawing::of(module, function).outline).collect()
    }
}

/// A graph that is being drawn.
struct Drawing<'m> {
    module: &'m Module,
    function: &'m Function,
    outline: Outline,
    numbers: HashMap<&'m SourceData, usize>,
    ends: HashMap<Value, End>,
}

impl<'m> Drawing<'m> {
    fn of(module: &'m Module, function: &'m Function) -> Self {
        let outline = Outline { name: function.name.clone(), ..Outline::default() };
        let mut drawing = Self { module, function, outline, numbers: HashMap::new(), ends: HashMap::new() };
        for &param in &function.params {
            if let Some(ty) = function.values[param].ty.as_tensor() {
                drawing.ends.insert(param, End::Input(drawing.outline.inputs.len()));
                drawing.outline.inputs.push((function.values[param].name.clone().unwrap_or_default(), ty.to_string()));
            }
        }
        for &inst in &function.body {
            drawing.add(&function.insts[inst]);
        }
        drawing.outline.outputs = function.results.iter().filter_map(|&value| drawing.wire(value)).collect();
        drawing
    }

    fn add(&mut self, data: &'m InstData) {
        if data.constant().is_some() {
            return;
        }
        let Some(source) = data.source else {
            // An instruction without an operator of the file passes its operand's origin on.
            let end = data.operands.iter().find_map(|operand| self.ends.get(operand).copied());
            self.ends.extend(data.results.iter().filter_map(|&result| Some((result, end?))));
            return;
        };
        let number = self.number(source);
        let wires: Vec<Wire> = data.operands.iter().filter_map(|&operand| self.wire(operand)).collect();
        let parameters: u64 = data.operands.iter().map(|&operand| self.parameters(operand)).sum();
        let ty = data.results.iter().find_map(|&result| self.function.values[result].ty.as_tensor()).map(ToString::to_string);
        let operator = &mut self.outline.operators[number];
        for wire in wires {
            if wire.from != End::Operator(number) && !operator.inputs.contains(&wire) {
                operator.inputs.push(wire);
            }
        }
        operator.parameters += parameters;
        operator.functions.extend(data.operation.functions());
        operator.ty = ty.unwrap_or_default();
        self.ends.extend(data.results.iter().map(|&result| (result, End::Operator(number))));
    }

    /// The number of a place in the file. Instructions of one operator have equal places.
    fn number(&mut self, source: Source) -> usize {
        let operators = &mut self.outline.operators;
        *self.numbers.entry(&self.module.sources[source]).or_insert_with(|| {
            operators.push(OutlineOperator { source, inputs: vec![], ty: String::new(), parameters: 0, functions: vec![] });
            operators.len() - 1
        })
    }

    fn wire(&self, value: Value) -> Option<Wire> {
        let data = &self.function.values[value];
        let (from, ty) = (*self.ends.get(&value)?, data.ty.as_tensor()?.to_string());
        let own = || match from {
            End::Operator(number) => self.module.sources[self.outline.operators[number].source].tensor.clone(),
            End::Input(number) => self.outline.inputs[number].0.clone(),
        };
        Some(Wire { from, tensor: data.name.clone().unwrap_or_else(own), ty })
    }

    /// The number of elements of a constant of the file. Constants that the front end makes have no name, unless they rearrange one of the file.
    fn parameters(&self, value: Value) -> u64 {
        let data = &self.function.values[value];
        let Definition::Result(inst, _) = data.definition else { return 0 };
        let constant = self.function.insts[inst].constant().map(|constant| &self.module.constants[constant]);
        let of_file = constant.filter(|constant| data.name.is_some() || constant.data.is_of_file());
        of_file.and_then(|constant| constant.ty.static_elements()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_module;

    const TEXT: &str = r#"
const0: i32[] = [3]
src0 = "main" 0 "RELU" "a"
src1 = "main" 1 "ADD" "b"
src2 = "main" 1 "ADD" "b"
func @main(v0: i32[] "x") {
  v1 = map v0 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = add n0, n0
      return n1
    }
  } @ src0
  v2 = reshape v1 { shape = [1] }
  v3 = reshape v2 { shape = [] } @ src1
  v4 "sum" = map v3, v0 {
    expression = (i32, i32) {
      n0: i32 = input 0
      n1: i32 = input 1
      n2: i32 = add n0, n1
      return n2
    }
  } @ src2
  return v4
}
"#;

    /// Instructions without an operator pass their operand on, and the instructions of one operator are one node.
    #[test]
    fn operators_are_joined_by_tensors() {
        let module = parse_module(TEXT).expect("a module");
        let outline = &Outline::all(&module)[0];
        assert_eq!(outline.inputs, [("x".to_owned(), "i32[]".to_owned())]);
        assert_eq!(outline.operators.len(), 2);
        let ends: Vec<End> = outline.operators[1].inputs.iter().map(|wire| wire.from).collect();
        assert_eq!(ends, [End::Operator(0), End::Input(0)]);
        assert_eq!(outline.operators[1].inputs[0].tensor, "a");
        assert_eq!(outline.outputs, [Wire { from: End::Operator(1), tensor: "sum".into(), ty: "i32[]".into() }]);
    }
}
