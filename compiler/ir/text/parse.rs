//! Parsing of modules: everything outside of functions, and the small parts that all parsers share.

use super::lexer::{Token, tokens};
use super::{ParseError, number};
use crate::allocation::{ImportedMethodPlan, ImportedPlan, Placement};
use crate::entities::{Constant, Func, Value};
use crate::module::{Function, Method, Module, Port, Quantization};
use crate::scalar::Scalar;
use crate::source::SourceData;
use crate::storage::StateData;
use crate::tensor::Tensor;
use crate::types::{ElementType, Layout, TensorType};
use cranelift_entity::EntityRef;
use modelc_cursor::Position;
use std::collections::HashMap;

pub(super) type Parsed<T> = Result<T, ParseError>;

/// Reads a module. Entities are numbered as written; the module is not verified yet.
///
/// # Errors
/// When the text is no module; line and column say where.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser::new(text)?;
    parser.declare_functions()?;
    while !parser.at_end() {
        parser.item()?;
    }
    Ok(parser.module)
}

/// Reads a tensor as [`super::print_tensor`] writes it.
///
/// # Errors
/// When the text is no tensor.
pub fn parse_tensor(text: &str) -> Result<Tensor, ParseError> {
    let mut parser = Parser::new(text)?;
    let (element, shape) = parser.static_type()?;
    parser.mark("=")?;
    let bytes = parser.contents(element, &shape)?;
    if !parser.at_end() {
        return parser.unexpected("the end");
    }
    Ok(Tensor { element, shape, bytes })
}

pub(super) struct Parser {
    tokens: Vec<(Token, Position)>,
    position: usize,
    pub module: Module,
    /// Functions may be named before they are defined, so their names are collected first.
    functions: HashMap<String, Func>,
    defined_functions: usize,
}

impl Parser {
    fn new(text: &str) -> Parsed<Self> {
        Ok(Self { tokens: tokens(text)?, position: 0, module: Module::default(), functions: HashMap::new(), defined_functions: 0 })
    }

    pub fn peek(&self) -> &Token {
        &self.tokens[self.position].0
    }

    pub fn place(&self) -> Position {
        self.tokens[self.position].1
    }

    fn at_end(&self) -> bool {
        *self.peek() == Token::End
    }

    pub fn next(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.position += 1;
        }
        token
    }

    pub fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(self.place().error(message))
    }

    pub fn unexpected<T>(&self, wanted: &str) -> Parsed<T> {
        self.error(format!("expected {wanted}, found {}", self.peek().shown()))
    }

    /// Takes a mark if it is next.
    pub fn accept(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Token::Mark(m) if *m == mark);
        if found {
            self.position += 1;
        }
        found
    }

    pub fn mark(&mut self, mark: &str) -> Parsed<()> {
        if self.accept(mark) { Ok(()) } else { self.unexpected(&format!("`{mark}`")) }
    }

    /// Takes a word if it is next.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if w == word);
        if found {
            self.position += 1;
        }
        found
    }

    pub fn word(&mut self, wanted: &str) -> Parsed<String> {
        match self.peek() {
            Token::Word(_) => match self.next() {
                Token::Word(word) => Ok(word),
                _ => self.unexpected(wanted),
            },
            _ => self.unexpected(wanted),
        }
    }

    pub fn text(&mut self) -> Parsed<String> {
        let Token::Text(text) = self.peek().clone() else { return self.unexpected("a string") };
        self.next();
        Ok(text)
    }

    /// A decimal integer of any type that holds it.
    pub fn integer<T: std::str::FromStr>(&mut self) -> Parsed<T> {
        let Token::Number(digits) = self.peek() else { return self.unexpected("an integer") };
        let Ok(value) = digits.parse() else { return self.unexpected("an integer in range") };
        self.next();
        Ok(value)
    }

    /// A word made of a prefix and a number: `const3`.
    pub fn numbered(&mut self, prefix: &str, wanted: &str) -> Parsed<usize> {
        let number = match self.peek() {
            Token::Word(word) => word.strip_prefix(prefix).and_then(|digits| digits.parse::<u32>().ok()),
            _ => None,
        };
        let Some(number) = number.filter(|&n| n < u32::MAX) else { return self.unexpected(wanted) };
        self.next();
        Ok(number as usize)
    }

    /// Items in square brackets.
    pub fn bracketed<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.mark("[")?;
        self.until("]", &mut item)
    }

    /// Items with commas in between, up to and with a closing mark.
    pub fn until<T>(&mut self, close: &str, item: &mut dyn FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.accept(close) {
            if !items.is_empty() {
                self.mark(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub fn element(&mut self) -> Parsed<ElementType> {
        let found = if let Token::Word(word) = self.peek() { ElementType::from_name(word) } else { None };
        let Some(element) = found else { return self.unexpected("an element type") };
        self.next();
        Ok(element)
    }

    /// A number of a type.
    pub fn scalar_of(&mut self, element: ElementType) -> Parsed<Scalar> {
        let found = match self.peek() {
            Token::Word(text) | Token::Number(text) => number::parse(element, text),
            _ => None,
        };
        let Some(scalar) = found else { return self.unexpected(&format!("a number of type {element}")) };
        self.next();
        Ok(scalar)
    }

    fn static_type(&mut self) -> Parsed<(ElementType, Vec<u64>)> {
        let element = self.element()?;
        let shape = self.bracketed(Self::integer)?;
        Ok((element, shape))
    }

    /// `[1, 2]` or `hex "0102"`, filling a static type.
    fn contents(&mut self, element: ElementType, shape: &[u64]) -> Parsed<Vec<u8>> {
        let place = self.place();
        let bytes =
            if self.accept_word("hex") { self.hexadecimal()? } else { number::bytes(element, &self.bracketed(|p| p.scalar_of(element))?) };
        let want = TensorType::of(element, shape).static_bytes();
        if want != Some(bytes.len() as u64) {
            return Err(place.error(format!("{} bytes do not fill {element}{shape:?}", bytes.len())));
        }
        Ok(bytes)
    }

    /// The bytes after `hex`.
    fn hexadecimal(&mut self) -> Parsed<Vec<u8>> {
        let place = self.place();
        let digits = self.text()?;
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
        bytes.filter(|_| digits.len() % 2 == 0).ok_or_else(|| place.error("these are no hexadecimal bytes"))
    }

    /// Collects the names of all functions.
    fn declare_functions(&mut self) -> Parsed<()> {
        for i in 0..self.tokens.len().saturating_sub(2) {
            let named = match (&self.tokens[i].0, &self.tokens[i + 1].0, &self.tokens[i + 2].0) {
                (Token::Word(word), Token::Mark("@"), Token::Word(name) | Token::Text(name)) if word == "func" => name.clone(),
                _ => continue,
            };
            let func = self.module.functions.push(Function { name: named.clone(), ..Function::default() });
            if self.functions.insert(named, func).is_some() {
                return Err(self.tokens[i + 2].1.error("two functions have this name"));
            }
        }
        Ok(())
    }

    /// A function by name.
    pub fn function(&mut self) -> Parsed<Func> {
        self.mark("@")?;
        let found = match self.peek() {
            Token::Word(name) | Token::Text(name) => self.functions.get(name).copied(),
            _ => None,
        };
        let Some(func) = found else { return self.unexpected("the name of a function") };
        self.next();
        Ok(func)
    }

    fn item(&mut self) -> Parsed<()> {
        if self.accept_word("func") {
            let func = self.function()?;
            debug_assert_eq!(func.index(), self.defined_functions, "functions are declared in order");
            self.defined_functions += 1;
            return self.function_body(func);
        }
        if self.accept_word("method") {
            return self.method();
        }
        if self.accept_word("plan") {
            return self.plan();
        }
        match self.peek() {
            Token::Word(word) if word.starts_with("const") => self.constant(),
            Token::Word(word) if word.starts_with("state") => self.state(),
            Token::Word(word) if word.starts_with("src") => self.source(),
            _ => self.unexpected("a constant, state, source, function, method or plan"),
        }
    }

    /// The number of an entity that is being defined, which must be the next one.
    pub fn next_in_order(&mut self, prefix: &str, count: usize) -> Parsed<()> {
        let place = self.place();
        let number = self.numbered(prefix, &format!("`{prefix}{count}`"))?;
        if number == count { Ok(()) } else { Err(place.error(format!("numbers must be in order: expected `{prefix}{count}`"))) }
    }

    fn constant(&mut self) -> Parsed<()> {
        self.next_in_order("const", self.module.constants.len())?;
        self.mark(":")?;
        let (element, shape) = self.static_type()?;
        self.mark("=")?;
        let bytes = self.contents(element, &shape)?;
        self.module.add_constant(TensorType::of(element, &shape), bytes.into());
        Ok(())
    }

    fn state(&mut self) -> Parsed<()> {
        self.next_in_order("state", self.module.states.len())?;
        let name = self.text()?;
        self.mark(":")?;
        let (element, shape) = self.static_type()?;
        let initial = if self.accept("=") { Some(Constant::new(self.numbered("const", "a constant")?)) } else { None };
        self.module.states.push(StateData { name, ty: TensorType::of(element, &shape), initial });
        Ok(())
    }

    fn source(&mut self) -> Parsed<()> {
        self.next_in_order("src", self.module.sources.len())?;
        self.mark("=")?;
        let function = self.text()?;
        let operator = self.integer()?;
        let (operator_name, tensor) = (self.text()?, self.text()?);
        let gpu = self.accept_word("gpu");
        self.module.sources.push(SourceData { function, operator, operator_name, tensor, gpu });
        Ok(())
    }

    fn method(&mut self) -> Parsed<()> {
        let name = self.text()?;
        self.mark("=")?;
        let function = self.function()?;
        let mut method = Method { name, function, inputs: vec![], outputs: vec![] };
        self.mark("{")?;
        while !self.accept("}") {
            if self.accept_word("input") {
                method.inputs.push(self.port()?);
            } else if self.accept_word("output") {
                method.outputs.push(self.port()?);
            } else {
                return self.unexpected("`input`, `output` or `}`");
            }
        }
        self.module.methods.push(method);
        Ok(())
    }

    fn port(&mut self) -> Parsed<Port> {
        let mut port = Port { name: self.text()?, ..Port::default() };
        if self.accept_word("scales") {
            let scales = self.bracketed(|p| p.scalar_of(ElementType::F32))?;
            let scales = scales.into_iter().map(|s| f32::from_bits(s.bits() as u32)).collect();
            self.keyword("zero_points")?;
            let zero_points = self.bracketed(Self::integer)?;
            self.keyword("axis")?;
            port.quantization = Some(Quantization { scales, zero_points, axis: self.integer()? });
        }
        port.scalar = self.accept_word("scalar");
        port.dim_order = self.layout()?;
        if self.accept_word("source") {
            port.source_index = Some(self.integer()?);
        }
        if self.accept_word("value") {
            self.keyword("hex")?;
            port.value = Some(self.hexadecimal()?.into());
        }
        if self.accept_word("multiples") {
            port.multiples = self.bracketed(Self::integer)?;
        }
        Ok(port)
    }

    pub fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.accept_word(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }

    /// `order [1, 0]`, or nothing for row major.
    pub fn layout(&mut self) -> Parsed<Layout> {
        if !self.accept_word("order") {
            return Ok(Layout::ROW_MAJOR);
        }
        let place = self.place();
        let order: Vec<u8> = self.bracketed(Self::integer)?;
        Layout::from_order(&order).ok_or_else(|| place.error("this is no permutation"))
    }

    fn plan(&mut self) -> Parsed<()> {
        let mut plan = ImportedPlan { methods: vec![] };
        self.mark("{")?;
        while self.accept_word("areas") {
            let function = self.function()?;
            let area_bytes = self.bracketed(Self::integer)?;
            let mut placements = Vec::new();
            self.mark("{")?;
            while !self.accept("}") {
                let function = self.function()?;
                let value = Value::new(self.numbered("v", "a value")?);
                self.mark("[")?;
                let memory_id = self.integer()?;
                self.mark(",")?;
                let offset = self.integer()?;
                self.mark(",")?;
                let bytes = self.integer()?;
                self.mark("]")?;
                placements.push(Placement { function, value, memory_id, offset, bytes });
            }
            plan.methods.push(ImportedMethodPlan { function, area_bytes, placements });
        }
        self.mark("}")?;
        self.module.imported_plan = Some(plan);
        Ok(())
    }
}
