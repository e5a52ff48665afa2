//! Parser of kernels: buffers, values and regions.
//!
//! A parsed kernel defines each value once, before its uses in the text. The verifier checks the other rules.

use super::ParseError;
use super::lexer::{Token, tokens};
use super::names::{KINDS, named, type_named};
use crate::*;
use cranelift_entity::EntityRef;
use modelc_cursor::Position;
use smallvec::smallvec;
use std::collections::HashMap;

/// Parses all kernels of a text.
///
/// # Errors
/// An error at the first unexpected token.
pub fn parse_kernels(text: &str) -> Result<Vec<Kernel>, ParseError> {
    let tokens = tokens(text)?;
    let mut rest = &tokens[..];
    let mut kernels = Vec::new();
    while let [(Token::Word(_), _), ..] = rest {
        let mut parser = Parser::new(rest);
        kernels.push(parser.kernel()?);
        rest = &rest[parser.next..];
    }
    match rest.first() {
        Some((token, place)) if *token != Token::End => Err(place.error(format!("{} instead of `kernel`", token.shown()))),
        _ => Ok(kernels),
    }
}

/// Parses a text with exactly one kernel.
///
/// # Errors
/// The errors of [`parse_kernels`], and an error if the text does not have exactly one kernel.
pub fn parse_kernel(text: &str) -> Result<Kernel, ParseError> {
    let mut kernels = parse_kernels(text)?;
    let wrong = |message: String| Err(ParseError { line: 1, column: 1, message });
    match (kernels.pop(), kernels.len()) {
        (Some(kernel), 0) => Ok(kernel),
        (Some(_), others) => wrong(format!("{} kernels instead of one", others + 1)),
        (None, _) => wrong("no kernel".into()),
    }
}

/// Maximum depth of regions, so that passes over them may recurse.
const DEEPEST: usize = 100;

/// The type of the conditions of `yield`, `if` and `fail_if`.
pub(super) const MASK: Type = Type::scalar(Lane::Mask);

/// An operand in the text: a value, or a number with an optional type.
pub(super) enum Operand {
    Value(Value),
    Number { written: String, ty: Option<Type>, place: Position },
}

pub(super) struct Parser<'t> {
    tokens: &'t [(Token, Position)],
    next: usize,
    kernel: Kernel,
    /// `true` for each value that is defined already.
    defined: Vec<bool>,
    /// Value numbers that the text does not use, for constants. The next one is last.
    free: Vec<u32>,
    /// Constants by type and bits.
    constants: HashMap<(Type, u64), Value>,
    definitions: Vec<Statement>,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn new(tokens: &'t [(Token, Position)]) -> Self {
        let starts = |token: &Token| matches!(token, Token::Kernel(_));
        let own = tokens.iter().scan(0, |kernels, (token, _)| {
            *kernels += usize::from(starts(token));
            (*kernels < 2).then_some(token)
        });
        let mut named: Vec<u32> = own.filter_map(|token| if let Token::Value(number) = token { Some(*number) } else { None }).collect();
        named.sort_unstable();
        named.dedup();
        let all = named.last().map_or(0, |last| last + 1);
        let free = (0..all).rev().filter(|number| named.binary_search(number).is_err()).collect();
        let kernel = Kernel { types: vec![Type::INDEX; all as usize], ..Kernel::default() };
        let defined = vec![false; all as usize];
        Self { tokens, next: 0, kernel, defined, free, constants: HashMap::new(), definitions: vec![], depth: 0 }
    }

    // Tokens.

    pub(super) fn place(&self) -> Position {
        self.tokens[self.next.min(self.tokens.len() - 1)].1
    }

    pub(super) fn peek(&self) -> &'t Token {
        &self.tokens[self.next.min(self.tokens.len() - 1)].0
    }

    fn advance(&mut self) -> &'t Token {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Returns an error at the next token, which is not the wanted one.
    pub(super) fn unexpected<T>(&self, wanted: &str) -> Result<T, ParseError> {
        Err(self.place().error(format!("{} instead of {wanted}", self.peek().shown())))
    }

    pub(super) fn is_mark(&self, mark: &str) -> bool {
        matches!(self.peek(), Token::Mark(found) if *found == mark)
    }

    pub(super) fn take_mark(&mut self, mark: &str) -> bool {
        let found = self.is_mark(mark);
        self.next += usize::from(found);
        found
    }

    pub(super) fn mark(&mut self, mark: &str) -> Result<(), ParseError> {
        if self.take_mark(mark) { Ok(()) } else { self.unexpected(&format!("`{mark}`")) }
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found == word);
        self.next += usize::from(found);
        found
    }

    fn keyword(&mut self, word: &str) -> Result<(), ParseError> {
        if self.take_word(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }

    pub(super) fn word(&mut self, wanted: &str) -> Result<&'t str, ParseError> {
        match self.peek() {
            Token::Word(word) => {
                self.next += 1;
                Ok(word)
            }
            _ => self.unexpected(wanted),
        }
    }

    /// Reads a number that is not a value of the kernel.
    pub(super) fn number<T: std::str::FromStr>(&mut self, wanted: &str) -> Result<T, ParseError> {
        let place = self.place();
        let word = self.word(wanted)?;
        word.parse().map_err(|_| place.error(format!("`{word}` instead of {wanted}")))
    }

    pub(super) fn ty(&mut self) -> Result<Type, ParseError> {
        let place = self.place();
        let word = self.word("a type")?;
        type_named(word).ok_or_else(|| place.error(format!("`{word}` is no type")))
    }

    // Values.

    /// Reads a value that is defined here.
    fn define(&mut self) -> Result<Value, ParseError> {
        match *self.peek() {
            Token::Value(number) if !self.defined[number as usize] => {
                self.next += 1;
                self.defined[number as usize] = true;
                Ok(Value::new(number as usize))
            }
            Token::Value(number) => Err(self.place().error(format!("%{number} is defined twice"))),
            _ => self.unexpected("a value"),
        }
    }

    fn define_as(&mut self, ty: Type) -> Result<Value, ParseError> {
        let value = self.define()?;
        self.kernel.types[value.index()] = ty;
        Ok(value)
    }

    /// Reads a value that is defined here, with its type.
    fn typed(&mut self) -> Result<Value, ParseError> {
        let value = self.define()?;
        self.mark(":")?;
        self.kernel.types[value.index()] = self.ty()?;
        Ok(value)
    }

    pub(super) fn type_of(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    pub(super) fn operand(&mut self) -> Result<Operand, ParseError> {
        let place = self.place();
        match self.peek() {
            Token::Value(number) if self.defined[*number as usize] => {
                self.next += 1;
                Ok(Operand::Value(Value::new(*number as usize)))
            }
            Token::Value(number) => Err(place.error(format!("%{number} is used before it is defined"))),
            Token::Word(written) => {
                self.next += 1;
                let ty = if self.take_mark(":") { Some(self.ty()?) } else { None };
                Ok(Operand::Number { written: written.clone(), ty, place })
            }
            _ => self.unexpected("a value or a number"),
        }
    }

    /// Returns the value of an operand. A constant has its written type, else the type `follows` of its context.
    pub(super) fn resolve(&mut self, operand: Operand, follows: Option<Type>) -> Result<Value, ParseError> {
        match operand {
            Operand::Value(value) => Ok(value),
            Operand::Number { written, ty, place } => {
                let ty = ty.or(follows).ok_or_else(|| place.error(format!("`{written}` without a type")))?;
                let bits = bits_of(ty.lane, &written).ok_or_else(|| place.error(format!("`{written}` is no {}", Type::scalar(ty.lane))))?;
                Ok(self.constant(ty, bits))
            }
        }
    }

    /// Reads a value, or a constant of a type.
    pub(super) fn value(&mut self, follows: Option<Type>) -> Result<Value, ParseError> {
        let operand = self.operand()?;
        self.resolve(operand, follows)
    }

    pub(super) fn constant(&mut self, ty: Type, bits: u64) -> Value {
        if let Some(&known) = self.constants.get(&(ty, bits)) {
            return known;
        }
        let value = match self.free.pop() {
            Some(number) => Value::new(number as usize),
            None => {
                self.kernel.types.push(ty);
                self.defined.push(true);
                Value::new(self.kernel.types.len() - 1)
            }
        };
        self.kernel.types[value.index()] = ty;
        self.constants.insert((ty, bits), value);
        self.definitions.push(Statement { results: smallvec![value], inst: Inst::Constant { bits } });
        value
    }

    // Kernels.

    fn kernel(&mut self) -> Result<Kernel, ParseError> {
        self.keyword("kernel")?;
        let Token::Kernel(name) = self.peek() else { return self.unexpected("`@` and a name") };
        self.next += 1;
        self.kernel.name.clone_from(name);
        self.mark("(")?;
        let mut params = Vec::new();
        while !self.take_mark(")") {
            match self.peek() {
                Token::Word(_) if params.is_empty() => self.declaration()?,
                _ => params.push(self.typed()?),
            }
            if !self.is_mark(")") {
                self.mark(",")?;
            }
        }
        self.kernel.integers = params.len();
        if self.take_word("grid") {
            let positions = self.number("a number of positions")?;
            self.keyword("workgroup")?;
            self.kernel.grid = Some(Grid { positions, workgroup: self.number("a number of positions")? });
        }
        self.mark("{")?;
        while matches!((self.peek(), self.tokens.get(self.next + 1)), (Token::Word(_), Some((Token::Mark(":"), _)))) {
            self.declaration()?;
        }
        let mut body = self.rest_of_region(params, &[])?;
        body.statements.splice(0..0, std::mem::take(&mut self.definitions));
        Ok(Kernel { body, ..std::mem::take(&mut self.kernel) })
    }

    fn declaration(&mut self) -> Result<(), ParseError> {
        let place = self.place();
        let name = self.word("the name of a buffer")?.to_owned();
        if self.kernel.buffers.iter().any(|data| data.name == name) {
            return Err(place.error(format!("two buffers are called {name}")));
        }
        self.mark(":")?;
        let place = self.place();
        let kind = self.word("a kind of buffer")?;
        let kind = named(&KINDS, kind).ok_or_else(|| place.error(format!("`{kind}` is no kind of buffer")))?;
        let place = self.place();
        let Type { lane, lanes: 1 } = self.ty()? else { return Err(place.error("a buffer of vectors")) };
        self.mark("[")?;
        let elements = self.number("a number of elements")?;
        self.mark("]")?;
        self.keyword("align")?;
        let alignment = self.number("an alignment")?;
        let streamed = self.take_word("streamed");
        self.kernel.buffers.push(BufferData { name, kind, lane, elements, alignment, streamed });
        Ok(())
    }

    pub(super) fn buffer(&mut self) -> Result<Buffer, ParseError> {
        let place = self.place();
        let name = self.word("a buffer")?;
        let position = self.kernel.buffers.iter().position(|data| data.name == name);
        position.map(Buffer::new).ok_or_else(|| place.error(format!("there is no buffer {name}")))
    }

    pub(super) fn lane_of(&self, buffer: Buffer) -> Lane {
        self.kernel.buffer(buffer).lane
    }

    // Regions.

    /// Reads a region after its `{`, up to its `}`. `types` are the types of its yields.
    fn rest_of_region(&mut self, params: Vec<Value>, types: &[Type]) -> Result<Region, ParseError> {
        if self.depth == DEEPEST {
            return Err(self.place().error(format!("more than {DEEPEST} regions in each other")));
        }
        self.depth += 1;
        let mut region = Region { params, ..Region::default() };
        while !self.is_mark("}") && !self.take_word("yield") {
            region.statements.push(self.statement()?);
        }
        if !self.is_mark("}") {
            let place = self.place();
            loop {
                let ty = types.get(region.yields.len()).copied();
                region.yields.push(self.value(ty)?);
                if !self.take_mark(",") {
                    break;
                }
            }
            if region.yields.len() > types.len() {
                return Err(place.error(format!("{} yields instead of {}", region.yields.len(), types.len())));
            }
        }
        self.mark("}")?;
        self.depth -= 1;
        Ok(region)
    }

    fn region(&mut self, params: Vec<Value>, types: &[Type]) -> Result<Region, ParseError> {
        self.mark("{")?;
        self.rest_of_region(params, types)
    }

    fn statement(&mut self) -> Result<Statement, ParseError> {
        let start = self.next;
        let types = self.result_types()?;
        let place = self.place();
        let word = self.word("an instruction")?;
        let inst = match word {
            "for" => self.counted_loop(&types)?,
            "divide" => self.divide(&types)?,
            "loop" => self.repeated_loop(&types)?,
            "if" => {
                let condition = self.value(Some(MASK))?;
                let then = self.region(vec![], &types)?;
                let otherwise = if self.take_word("else") { self.region(vec![], &types)? } else { Region::default() };
                Inst::If { condition, then, otherwise }
            }
            _ => match types[..] {
                [] => self.effect(word, place)?,
                [ty] => self.computed(word, place, ty)?,
                _ => return Err(place.error(format!("{} results of {word}", types.len()))),
            },
        };
        // Results are visible only after the instruction.
        let end = std::mem::replace(&mut self.next, start);
        let mut results = Values::new();
        while results.len() < types.len() {
            results.push(self.typed()?);
            self.take_mark(",");
        }
        self.next = end;
        Ok(Statement { results, inst })
    }

    /// Reads the types of a statement's results, and the `=`. The results are defined after the rest of the statement.
    fn result_types(&mut self) -> Result<Vec<Type>, ParseError> {
        let mut types = Vec::new();
        if !matches!(self.peek(), Token::Value(_)) {
            return Ok(types);
        }
        while matches!(self.advance(), Token::Value(_)) {
            self.mark(":")?;
            types.push(self.ty()?);
            if !self.take_mark(",") {
                self.mark("=")?;
                return Ok(types);
            }
        }
        self.next -= 1;
        self.unexpected("a value")
    }

    fn counted_loop(&mut self, types: &[Type]) -> Result<Inst, ParseError> {
        let each = self.take_word("each");
        let counter = self.index()?;
        let ty = self.type_of(counter);
        self.keyword("in")?;
        let start = self.value(Some(ty))?;
        self.mark("..")?;
        let end = self.value(Some(ty))?;
        self.keyword("step")?;
        let step = self.number("a step")?;
        let private = if each { self.private()? } else { vec![] };
        let (params, carried) = self.carry(types)?;
        let body = self.region([&[counter], &params[..]].concat(), types)?;
        Ok(Inst::For { start, end, step, each, private, carried, body })
    }

    fn divide(&mut self, types: &[Type]) -> Result<Inst, ParseError> {
        self.keyword("0")?;
        self.mark("..")?;
        let extent = self.operand()?;
        self.keyword("as")?;
        self.mark("(")?;
        let first = self.index()?;
        self.mark(",")?;
        let end = self.index()?;
        self.mark(")")?;
        let ty = self.type_of(first);
        let extent = self.resolve(extent, Some(ty))?;
        let private = self.private()?;
        let body = self.region(vec![first, end], types)?;
        Ok(Inst::Divide { extent, private, body })
    }

    /// Reads the buffers of which each round or range has its own copy, if there are any.
    fn private(&mut self) -> Result<Vec<Buffer>, ParseError> {
        let mut private = Vec::new();
        if self.take_word("private") {
            private.push(self.buffer()?);
            while self.take_mark(",") {
                private.push(self.buffer()?);
            }
        }
        Ok(private)
    }

    /// Reads an index that is defined here. Its type is only written if it is not [`Type::INDEX`].
    fn index(&mut self) -> Result<Value, ParseError> {
        let index = self.define()?;
        self.kernel.types[index.index()] = if self.take_mark(":") { self.ty()? } else { Type::INDEX };
        Ok(index)
    }

    fn repeated_loop(&mut self, types: &[Type]) -> Result<Inst, ParseError> {
        let (params, carried) = self.carry(types)?;
        let body = self.region(params, &[&[MASK], types].concat())?;
        Ok(Inst::Loop { carried, body })
    }

    /// Reads the carried values of a loop, one for each result: the parameter of the body, and the initial value.
    fn carry(&mut self, types: &[Type]) -> Result<(Vec<Value>, Vec<Value>), ParseError> {
        let (mut params, mut carried) = (Vec::new(), Vec::new());
        if types.is_empty() {
            return Ok((params, carried));
        }
        self.keyword("carry")?;
        for (i, &ty) in types.iter().enumerate() {
            if i > 0 {
                self.mark(",")?;
            }
            params.push(self.define_as(ty)?);
            self.mark("=")?;
            carried.push(self.value(Some(ty))?);
        }
        Ok((params, carried))
    }
}

/// Returns the bits of a written number in a lane type.
fn bits_of(lane: Lane, written: &str) -> Option<u64> {
    let by_bits = || u64::from_str_radix(written.strip_prefix("0x")?, 16).ok();
    match lane {
        Lane::Mask => written.parse::<bool>().ok().map(u64::from),
        Lane::F32 => by_bits().filter(|&bits| bits <= u32::MAX.into()).or_else(|| written.parse().ok().map(|n: f32| n.to_bits().into())),
        Lane::F64 => by_bits().or_else(|| written.parse().ok().map(f64::to_bits)),
        Lane::I8 | Lane::I16 | Lane::I32 | Lane::I64 => {
            let unused = 64 - 8 * lane.bytes();
            let number: i64 = written.parse().ok()?;
            (number << unused >> unused == number).then_some((number as u64) << unused >> unused)
        }
    }
}
