//! Text to functions: parameters, instructions, fields of operators, expressions.

use super::lexer::Token;
use super::parse::{Parsed, Parser};
use crate::attribute::{Attribute, AttributeKind};
use crate::entities::{Constant, Func, Source, State, Value};
use crate::module::Function;
use crate::operators::{Context, Op, Operation};
use crate::scalar::{Expression, Node, NodeData, ScalarOp};
use crate::types::{ElementType, Extent, Interval, TensorType, Type};
use cranelift_entity::EntityRef;

/// A value as it is defined: its type, unless left out, and its name.
type Definitions = Vec<(Option<Type>, Option<String>)>;

impl Parser {
    /// `(v0: f32[2]) { … return v1 }` of a function that is declared already.
    pub(super) fn function_body(&mut self, func: Func) -> Parsed<()> {
        let mut function = std::mem::take(&mut self.module.functions[func]);
        let result = self.fill(&mut function);
        self.module.functions[func] = function;
        result
    }

    fn fill(&mut self, function: &mut Function) -> Parsed<()> {
        self.mark("(")?;
        while !self.accept(")") {
            if !function.params.is_empty() {
                self.mark(",")?;
            }
            self.next_in_order("v", function.values.len())?;
            self.mark(":")?;
            let ty = self.ty()?;
            let name = self.name()?;
            function.add_param(ty, name);
        }
        self.mark("{")?;
        while !self.accept_word("return") {
            self.instruction(function)?;
        }
        function.results = self.until("}", &mut |p| p.value(function))?;
        Ok(())
    }

    fn name(&mut self) -> Parsed<Option<String>> {
        if matches!(self.peek(), Token::Text(_)) { Ok(Some(self.text()?)) } else { Ok(None) }
    }

    /// A value that is defined already.
    fn value(&mut self, function: &Function) -> Parsed<Value> {
        let place = self.place();
        let value = Value::new(self.numbered("v", "a value")?);
        if function.values.is_valid(value) { Ok(value) } else { Err(place.error(format!("{value} is not defined here"))) }
    }

    /// An extent; that it names an index value is for the verifier, as a parameter may name a later one.
    fn extent(&mut self) -> Parsed<Extent> {
        if matches!(self.peek(), Token::Number(_)) {
            return Ok(Extent::Static(self.integer()?));
        }
        Ok(Extent::Value(Value::new(self.numbered("v", "an extent")?)))
    }

    fn ty(&mut self) -> Parsed<Type> {
        if self.accept_word("effect") {
            return Ok(Type::Effect);
        }
        if self.accept_word("index") {
            return Ok(Type::Index(self.interval()?));
        }
        let element = self.element()?;
        let shape = self.bracketed(Self::extent)?;
        Ok(Type::Tensor(TensorType { element, shape, layout: self.layout()? }))
    }

    fn interval(&mut self) -> Parsed<Interval> {
        let low = self.integer()?;
        if self.accept("..") {
            return Ok(Interval { low, high: i64::MAX });
        }
        self.mark("..=")?;
        Ok(Interval { low, high: self.integer()? })
    }

    fn instruction(&mut self, function: &mut Function) -> Parsed<()> {
        let definitions = self.definitions(function.values.len())?;
        let place = self.place();
        let word = self.word("an operator")?;
        let Some(op) = Op::from_name(&word) else { return Err(place.error(format!("`{word}` is no operator"))) };
        let mut operands = Vec::new();
        if matches!(self.peek(), Token::Word(w) if is_value(w)) {
            operands.push(self.value(function)?);
            while self.accept(",") {
                operands.push(self.value(function)?);
            }
        }
        let operation = self.operation(op)?;
        let source = if self.accept("@") { Some(Source::new(self.numbered("src", "a source")?)) } else { None };
        if !op.row().operands.allows(operands.len()) {
            return Err(place.error(format!("{word} does not take {} operands", operands.len())));
        }
        let inferred = if definitions.iter().any(|(ty, _)| ty.is_none()) {
            self.require_known_extents(function, &operands, &operation)?;
            let context = Context { module: &self.module, function, operands: &operands };
            operation.infer(&context).map_err(|e| place.error(e.to_string()))?
        } else {
            vec![]
        };
        let types: Option<Vec<Type>> =
            definitions.iter().enumerate().map(|(i, (ty, _))| ty.clone().or_else(|| inferred.get(i).cloned())).collect();
        let Some(types) = types else { return Err(place.error(format!("{word} has {} results", inferred.len()))) };
        let inst = function.append(operation, operands, types, source);
        let results = function.insts[inst].results.clone();
        for (result, (_, name)) in results.into_iter().zip(definitions) {
            function.values[result].name = name;
        }
        Ok(())
    }

    /// Requires that extents are defined before a type rule looks them up. A parameter's extents may not be.
    fn require_known_extents(&self, function: &Function, operands: &[Value], operation: &Operation) -> Parsed<()> {
        let shapes = operands.iter().filter_map(|&v| function.values[v].ty.as_tensor()).flat_map(|ty| ty.shape.iter().copied());
        let mut named = operation.extents().chain(shapes);
        let unknown = named.find(|e| matches!(e, Extent::Value(v) if !function.values.is_valid(*v)));
        if unknown.is_some() { self.error("an extent is not defined yet, so the result's type must be written") } else { Ok(()) }
    }

    /// `v3: f32[2] "name", v4 =`, or nothing.
    fn definitions(&mut self, mut count: usize) -> Parsed<Definitions> {
        let mut definitions = Vec::new();
        if !matches!(self.peek(), Token::Word(w) if is_value(w)) {
            return Ok(definitions);
        }
        loop {
            self.next_in_order("v", count)?;
            count += 1;
            let ty = if self.accept(":") { Some(self.ty()?) } else { None };
            definitions.push((ty, self.name()?));
            if !self.accept(",") {
                self.mark("=")?;
                return Ok(definitions);
            }
        }
    }

    /// An operator with its fields in braces, in their order. Fields that may be left out are the last ones.
    fn operation(&mut self, op: Op) -> Parsed<Operation> {
        let mut operation = Operation::blank(op);
        let mut begins = true;
        for (name, field) in operation.field_list_mut() {
            let before = if begins { "{" } else { "," };
            if field.is_left_out() {
                if !self.accept(before) {
                    break;
                }
            } else {
                self.mark(before)?;
            }
            begins = false;
            self.keyword(name)?;
            self.mark("=")?;
            let place = self.place();
            let attribute = self.attribute(field.kind())?;
            if !field.set(attribute) {
                return Err(place.error(format!("{} takes no such {name}", op.name())));
            }
        }
        if !begins {
            self.mark("}")?;
        }
        Ok(operation)
    }

    fn attribute(&mut self, kind: AttributeKind) -> Parsed<Attribute> {
        Ok(match kind {
            AttributeKind::Int => Attribute::Int(self.integer()?),
            AttributeKind::Ints => Attribute::Ints(self.bracketed(Self::integer)?),
            AttributeKind::Bool => Attribute::Bool(self.scalar_of(ElementType::Bool)?.bits() == 1),
            AttributeKind::Scalar => {
                let element = self.element()?;
                Attribute::Scalar(self.scalar_of(element)?)
            }
            AttributeKind::Element => Attribute::Element(self.element()?),
            AttributeKind::Extents => Attribute::Extents(self.bracketed(Self::extent)?),
            AttributeKind::Word(words) => {
                let place = self.place();
                let word = self.word("a word")?;
                let Some(&word) = words.iter().find(|w| **w == word) else {
                    return Err(place.error(format!("expected one of {words:?}, found `{word}`")));
                };
                Attribute::Word(word)
            }
            AttributeKind::Expression => Attribute::Expression(Box::new(self.expression()?)),
            AttributeKind::Constant => Attribute::Constant(Constant::new(self.numbered("const", "a constant")?)),
            AttributeKind::State => Attribute::State(State::new(self.numbered("state", "a state")?)),
            AttributeKind::Function => Attribute::Function(self.function()?),
            AttributeKind::Interval => Attribute::Interval(self.interval()?),
            AttributeKind::Text => Attribute::Text(self.text()?),
            AttributeKind::Types => Attribute::Types(self.bracketed(Self::ty)?),
        })
    }

    fn expression(&mut self) -> Parsed<Expression> {
        let mut expression = Expression::default();
        self.mark("(")?;
        expression.inputs = self.until(")", &mut Self::element)?;
        self.mark("{")?;
        while !self.accept_word("return") {
            self.next_in_order("n", expression.nodes.len())?;
            self.mark(":")?;
            let ty = self.element()?;
            self.mark("=")?;
            let data = self.node(&expression, ty)?;
            expression.nodes.push(data);
        }
        expression.results = self.until("}", &mut |p| p.node_reference(&expression))?;
        Ok(expression)
    }

    fn node_reference(&mut self, expression: &Expression) -> Parsed<Node> {
        let place = self.place();
        let node = Node::new(self.numbered("n", "a node")?);
        if expression.nodes.is_valid(node) { Ok(node) } else { Err(place.error(format!("{node} is not defined here"))) }
    }

    fn node(&mut self, expression: &Expression, ty: ElementType) -> Parsed<NodeData> {
        let place = self.place();
        let word = self.word("a scalar operation")?;
        let op = match word.as_str() {
            "input" => ScalarOp::Input(self.integer()?),
            "constant" => ScalarOp::Constant(self.scalar_of(ty)?),
            "lut" => ScalarOp::Lut(Constant::new(self.numbered("const", "a constant")?)),
            "round_to" => ScalarOp::RoundTo(self.element()?),
            _ => match ScalarOp::PLAIN.iter().find(|op| op.name() == word) {
                Some(op) => *op,
                None => return Err(place.error(format!("`{word}` is no scalar operation"))),
            },
        };
        let has_parameter = matches!(op, ScalarOp::Lut(_) | ScalarOp::RoundTo(_));
        let mut operands = Vec::new();
        for i in 0..op.arity() {
            if i > 0 || has_parameter {
                self.mark(",")?;
            }
            operands.push(self.node_reference(expression)?);
        }
        Ok(NodeData { op, operands, ty })
    }
}

/// `v` and digits.
fn is_value(word: &str) -> bool {
    word.strip_prefix('v').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
