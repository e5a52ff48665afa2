//! Parser of instructions without regions. The types of constants follow from their contexts, as in `print.rs`.

use super::ParseError;
use super::lexer::Token;
use super::names::{BINARY, BOUNDS, COMPARE, CONVERT, DOT, HORIZONTAL, UNARY, named};
use super::parse::{MASK, Operand, Parser};
use crate::*;
use modelc_cursor::Position;

impl Parser<'_> {
    /// Reads an instruction without a result, after its name.
    pub(super) fn effect(&mut self, word: &str, place: Position) -> Result<Inst, ParseError> {
        match word {
            "store" => {
                let (buffer, index, offset) = self.element()?;
                self.mark(",")?;
                let value = self.value(Some(Type::scalar(self.lane_of(buffer))))?;
                let active = self.active(self.type_of(value).lanes)?;
                let mask = self.mask()?;
                Ok(Inst::Store { buffer, index, offset, active, value, mask })
            }
            "fail_if" => {
                let condition = self.value(Some(MASK))?;
                self.mark(",")?;
                Ok(Inst::FailIf { condition, status: self.number("a status")? })
            }
            "barrier" => Ok(Inst::Barrier),
            _ => Err(place.error(format!("`{word}` is no instruction without results"))),
        }
    }

    /// Reads an instruction with a result of type `ty`, after its name.
    pub(super) fn computed(&mut self, word: &str, place: Position, ty: Type) -> Result<Inst, ParseError> {
        if let Some(op) = named(&BINARY, word) {
            return self.binary(op, ty);
        }
        if let Some(op) = named(&UNARY, word) {
            return Ok(Inst::Unary { op, a: self.value(Some(ty))? });
        }
        if let Some(op) = named(&CONVERT, word) {
            return Ok(Inst::Convert { op, a: self.value(None)? });
        }
        if let Some(op) = named(&COMPARE, word) {
            let (a, b) = self.alike()?;
            return Ok(Inst::Compare { op, a, b });
        }
        if let Some(op) = word.strip_prefix("dot_").and_then(|word| named(&DOT, word)) {
            let accumulator = self.value(Some(ty))?;
            self.mark(",")?;
            let [a, b] = self.values(op.operand_type(ty.lanes))?;
            return Ok(Inst::Dot { op, accumulator, a, b });
        }
        if let Some(op) = word.strip_prefix("horizontal_").and_then(|word| named(&HORIZONTAL, word)) {
            return Ok(Inst::Horizontal { op, a: self.value(None)? });
        }
        match word {
            "fma" | "fma.toward_zero" => {
                let [a, b, c] = self.values(ty)?;
                let rounding = if word == "fma" { Rounding::Nearest } else { Rounding::TowardZero };
                Ok(Inst::Fma { a, b, c, rounding })
            }
            "select" => {
                let mask = self.value(Some(ty.with_lane(Lane::Mask)))?;
                self.mark(",")?;
                let [a, b] = self.values(ty)?;
                Ok(Inst::Select { mask, a, b })
            }
            "mul_high_signed" | "mul_high_unsigned" => {
                let [a, b] = self.values(ty)?;
                Ok(Inst::MulHigh { signed: word == "mul_high_signed", a, b })
            }
            "saturating_rounding_doubling_high_mul" | "rounding_doubling_high_mul" => {
                let [a, b] = self.values(ty)?;
                Ok(Inst::SaturatingRoundingDoublingHighMul { a, b, saturates: word.starts_with("saturating") })
            }
            "rounding_divide_by_power_of_two" => {
                let [a, b] = self.values(ty)?;
                Ok(Inst::RoundingDivideByPowerOfTwo { a, b })
            }
            "first_lanes" => Ok(Inst::FirstLanes { count: self.value(Some(Type::INDEX))? }),
            "splat" | "extract" | "join" | "part" | "shuffle" => self.permutation(word, ty),
            "load" | "load_splat" | "load_splat_group" | "gather" => self.load(word, ty),
            _ => Err(place.error(format!("`{word}` is no instruction with a result"))),
        }
    }

    fn binary(&mut self, op: BinaryOp, ty: Type) -> Result<Inst, ParseError> {
        let a = self.value(Some(ty))?;
        self.mark(",")?;
        let is_shift = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned);
        if !is_shift {
            return Ok(Inst::Binary { op, a, b: self.value(Some(ty))? });
        }
        let place = self.place();
        match self.operand()? {
            Operand::Number { written, ty: None, .. } => {
                let count = written.parse().map_err(|_| place.error(format!("`{written}` instead of a count")))?;
                Ok(Inst::ShiftConstant { op, a, count })
            }
            operand => Ok(Inst::Binary { op, a, b: self.resolve(operand, None)? }),
        }
    }

    /// Reads two operands of the same type. At least one of them defines the type.
    fn alike(&mut self) -> Result<(Value, Value), ParseError> {
        let a = self.operand()?;
        self.mark(",")?;
        let b = self.operand()?;
        let follows = if let Operand::Value(value) = b { Some(self.type_of(value)) } else { None };
        let a = self.resolve(a, follows)?;
        let b = self.resolve(b, Some(self.type_of(a)))?;
        Ok((a, b))
    }

    /// Reads operands of a type.
    fn values<const N: usize>(&mut self, ty: Type) -> Result<[Value; N], ParseError> {
        let mut values = Vec::with_capacity(N);
        for i in 0..N {
            if i > 0 {
                self.mark(",")?;
            }
            values.push(self.value(Some(ty))?);
        }
        let place = self.place();
        values.try_into().map_err(|_| place.error(format!("not {N} operands")))
    }

    fn permutation(&mut self, word: &str, ty: Type) -> Result<Inst, ParseError> {
        match word {
            "splat" => Ok(Inst::Splat { a: self.value(Some(Type::scalar(ty.lane)))? }),
            "extract" | "part" => {
                let a = self.value(None)?;
                self.mark(",")?;
                let lane = self.number("a lane")?;
                Ok(if word == "part" { Inst::Part { a, first: lane } } else { Inst::Extract { a, lane } })
            }
            "join" => {
                let [a, b] = self.values(Type::vector(ty.lane, ty.lanes / 2))?;
                Ok(Inst::Join { a, b })
            }
            _ => {
                let (a, b) = self.alike()?;
                self.mark("[")?;
                let mut lanes = Vec::new();
                while !self.take_mark("]") {
                    lanes.push(self.number("a lane")?);
                    if !self.is_mark("]") {
                        self.mark(",")?;
                    }
                }
                Ok(Inst::Shuffle { a, b, lanes })
            }
        }
    }

    fn load(&mut self, word: &str, ty: Type) -> Result<Inst, ParseError> {
        let (buffer, index, offset) = self.element()?;
        match word {
            "load" => Ok(Inst::Load { buffer, index, offset, active: self.active(ty.lanes)?, mask: self.mask()? }),
            "load_splat" => Ok(Inst::LoadSplat { buffer, index, offset }),
            "load_splat_group" => {
                if !self.take_word("group") {
                    return self.unexpected("`group`");
                }
                Ok(Inst::LoadSplatGroup { buffer, index, offset, group: self.number("a number of elements")? })
            }
            _ => {
                let place = self.place();
                let bounds = self.word("`proven` or `clamp`")?;
                let bounds = named(&BOUNDS, bounds).ok_or_else(|| place.error(format!("`{bounds}` instead of `proven` or `clamp`")))?;
                Ok(Inst::Gather { buffer, indices: index, offset, bounds })
            }
        }
    }

    /// Reads `buffer[index + offset]`. A single number is the offset, with the index 0.
    fn element(&mut self) -> Result<(Buffer, Value, i64), ParseError> {
        let buffer = self.buffer()?;
        self.mark("[")?;
        let place = self.place();
        let (index, mut offset) = match self.operand()? {
            Operand::Number { written, ty: None, .. } => {
                let offset: i64 = written.parse().map_err(|_| place.error(format!("`{written}` is no index")))?;
                (self.constant(Type::INDEX, 0), offset)
            }
            operand => (self.resolve(operand, None)?, 0),
        };
        let place = self.place();
        let is_negative = self.is_mark("-");
        if self.take_mark("-") || self.take_mark("+") {
            let distance: u64 = self.number("an offset")?;
            let further = if is_negative { -i128::from(distance) } else { i128::from(distance) };
            offset = i64::try_from(i128::from(offset) + further).map_err(|_| place.error("an offset beyond 64 bits"))?;
        }
        self.mark("]")?;
        Ok((buffer, index, offset))
    }

    /// Reads the number of lanes that are loaded or stored; all lanes if it is not written.
    fn active(&mut self, lanes: u16) -> Result<u16, ParseError> {
        let says = matches!(self.peek(), Token::Word(word) if word == "active");
        if says && self.take_word("active") { self.number("a number of lanes") } else { Ok(lanes) }
    }

    /// Reads the mask of the lanes that are loaded or stored, if there is one.
    fn mask(&mut self) -> Result<Option<Value>, ParseError> {
        let says = matches!(self.peek(), Token::Word(word) if word == "where");
        if says && self.take_word("where") { self.value(None).map(Some) } else { Ok(None) }
    }
}
