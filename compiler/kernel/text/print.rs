//! Printer of kernels.

use super::names::{buffer_names, name};
use crate::types::signed;
use crate::*;
use cranelift_entity::EntityRef;
use std::fmt::{self, Display};

impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Printer::new(self).kernel())
    }
}

/// Returns the line of a statement, or the first line of a statement with regions.
pub(crate) fn statement_line(kernel: &Kernel, statement: &Statement) -> String {
    let mut printer = Printer::new(kernel);
    printer.statement(statement);
    printer.text.lines().next().unwrap_or_default().to_owned()
}

struct Printer<'k> {
    kernel: &'k Kernel,
    /// Names of buffers.
    buffers: Vec<String>,
    /// The bits of constants, by value.
    constants: Vec<Option<u64>>,
    depth: usize,
    text: String,
}

impl<'k> Printer<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let mut constants = vec![None; kernel.types.len()];
        find_constants(&kernel.body, &mut constants);
        Self { kernel, buffers: buffer_names(&kernel.buffers), constants, depth: 0, text: String::new() }
    }

    fn kernel(mut self) -> String {
        let pointers =
            self.kernel.pointer_params().map(|(buffer, data)| format!("{}: {}", self.buffers[buffer.index()], buffer_type(data)));
        let integers = self.kernel.body.params.iter().map(|&value| self.typed(value));
        let params: Vec<_> = pointers.chain(integers).collect();
        let grid = self.kernel.grid.map_or_else(String::new, |grid| format!(" grid {} workgroup {}", grid.positions, grid.workgroup));
        self.line(&format!("kernel @{}({}){grid} {{", self.kernel.name, params.join(", ")));
        self.depth += 1;
        for (i, data) in self.kernel.buffers.iter().enumerate().filter(|(_, data)| !data.kind.is_parameter()) {
            self.line(&format!("{}: {}", self.buffers[i], buffer_type(data)));
        }
        self.depth -= 1;
        self.region(&self.kernel.body, &[]);
        self.line("}");
        self.text
    }

    fn line(&mut self, line: &str) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Prints a region. `types` are the types of its yields.
    fn region(&mut self, region: &Region, types: &[Option<Type>]) {
        self.depth += 1;
        for statement in &region.statements {
            // Constants are written at their uses; an unused one is dropped.
            if !matches!(statement.inst, Inst::Constant { .. }) {
                self.statement(statement);
            }
        }
        if !region.yields.is_empty() {
            let yields = region.yields.iter().enumerate().map(|(i, &value)| self.operand(value, types.get(i).copied().flatten()));
            let yields = yields.collect::<Vec<_>>().join(", ");
            self.line(&format!("yield {yields}"));
        }
        self.depth -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        let results: Vec<_> = statement.results.iter().map(|&value| self.typed(value)).collect();
        let results = if results.is_empty() { String::new() } else { format!("{} = ", results.join(", ")) };
        let types: Vec<Option<Type>> = statement.results.iter().map(|&value| self.ty(value)).collect();
        match &statement.inst {
            Inst::For { start, end, step, each, private, carried, body } => {
                let counter = body.params.first().map_or_else(|| "_".into(), |&value| self.counter(value));
                let ty = body.params.first().and_then(|&value| self.ty(value));
                let range = format!("{}..{} step {step}", self.operand(*start, ty), self.operand(*end, ty));
                let carry = self.carry(body.params.get(1..).unwrap_or_default(), carried, &types);
                let each = if *each { "each " } else { "" };
                self.line(&format!("{results}for {each}{counter} in {range}{}{carry} {{", self.private(private)));
                self.region(body, &types);
                self.line("}");
            }
            Inst::Divide { extent, private, body } => {
                let ends: Vec<_> = body.params.iter().map(|&value| self.counter(value)).collect();
                let private = self.private(private);
                let extent = self.operand(*extent, body.params.first().and_then(|&value| self.ty(value)));
                self.line(&format!("{results}divide 0..{extent} as ({}){private} {{", ends.join(", ")));
                self.region(body, &types);
                self.line("}");
            }
            Inst::Loop { carried, body } => {
                let carry = self.carry(&body.params, carried, &types);
                self.line(&format!("{results}loop{carry} {{"));
                self.region(body, &[&[Some(MASK)], &types[..]].concat());
                self.line("}");
            }
            Inst::If { condition, then, otherwise } => {
                self.line(&format!("{results}if {} {{", self.operand(*condition, Some(MASK))));
                self.region(then, &types);
                if !otherwise.statements.is_empty() || !otherwise.yields.is_empty() {
                    self.line("} else {");
                    self.region(otherwise, &types);
                }
                self.line("}");
            }
            inst => self.line(&format!("{results}{}", self.inst(inst, statement.results.first().copied()))),
        }
    }

    /// Returns the text of the buffers of which each round or range has its own copy.
    fn private(&self, buffers: &[Buffer]) -> String {
        let names: Vec<_> = buffers.iter().map(|&buffer| self.buffer(buffer)).collect();
        if names.is_empty() { String::new() } else { format!(" private {}", names.join(", ")) }
    }

    /// Returns the text of a loop's counter, with its type if that is not [`Type::INDEX`].
    fn counter(&self, value: Value) -> String {
        if self.ty(value) == Some(Type::INDEX) { value.to_string() } else { self.typed(value) }
    }

    /// Returns the text of a loop's carried values: the parameters of the body with their initial values.
    fn carry(&self, params: &[Value], carried: &[Value], types: &[Option<Type>]) -> String {
        let pair =
            |(i, (param, &first)): (usize, (&Value, &Value))| format!("{param} = {}", self.operand(first, types.get(i).copied().flatten()));
        let pairs: Vec<_> = params.iter().zip(carried).enumerate().map(pair).collect();
        if pairs.is_empty() { String::new() } else { format!(" carry {}", pairs.join(", ")) }
    }

    /// Returns the text of an instruction without regions. A constant is written with its type if the type does not follow from the rest of the line.
    fn inst(&self, inst: &Inst, result: Option<Value>) -> String {
        let ty = result.and_then(|value| self.ty(value));
        let one = |name: &str, a: Value, ty: Option<Type>| format!("{name} {}", self.operand(a, ty));
        let list = |name: &str, values: &[Value], ty: Option<Type>| {
            let values: Vec<_> = values.iter().map(|&value| self.operand(value, ty)).collect();
            format!("{name} {}", values.join(", "))
        };
        match inst {
            Inst::Constant { bits } => format!("constant {}", number(ty.map_or(Lane::I64, |ty| ty.lane), *bits)),
            // In the text, a shift by a number is a `ShiftConstant`.
            Inst::Binary { op: op @ (BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned), a, b } => {
                format!("{}, {}", one(&name(op), *a, ty), self.operand(*b, None))
            }
            Inst::Binary { op, a, b } => list(&name(op), &[*a, *b], ty),
            Inst::Unary { op, a } => one(&name(op), *a, ty),
            Inst::ShiftConstant { op, a, count } => format!("{}, {count}", one(&name(op), *a, ty)),
            Inst::Fma { a, b, c, rounding: Rounding::Nearest } => list("fma", &[*a, *b, *c], ty),
            Inst::Fma { a, b, c, rounding: Rounding::TowardZero } => list("fma.toward_zero", &[*a, *b, *c], ty),
            Inst::Compare { op, a, b } => {
                format!("{}, {}", one(&name(op), *a, self.known(*b)), self.operand(*b, self.ty(*a)))
            }
            Inst::Select { mask, a, b } => {
                format!("{}, {}", one("select", *mask, ty.map(|ty| ty.with_lane(Lane::Mask))), list("", &[*a, *b], ty).trim_start())
            }
            Inst::Convert { op, a } => one(&name(op), *a, None),
            Inst::Splat { a } => one("splat", *a, ty.map(|ty| Type::scalar(ty.lane))),
            Inst::Extract { a, lane } => format!("{}, {lane}", one("extract", *a, None)),
            Inst::Join { a, b } => list("join", &[*a, *b], ty.map(|ty| Type::vector(ty.lane, ty.lanes / 2))),
            Inst::Part { a, first } => format!("{}, {first}", one("part", *a, None)),
            Inst::Shuffle { a, b, lanes } => {
                format!("{}, {} {lanes:?}", one("shuffle", *a, self.known(*b)), self.operand(*b, self.ty(*a)))
            }
            Inst::MulHigh { signed, a, b } => list(if *signed { "mul_high_signed" } else { "mul_high_unsigned" }, &[*a, *b], ty),
            Inst::SaturatingRoundingDoublingHighMul { a, b, saturates: true } => {
                list("saturating_rounding_doubling_high_mul", &[*a, *b], ty)
            }
            Inst::SaturatingRoundingDoublingHighMul { a, b, saturates: false } => list("rounding_doubling_high_mul", &[*a, *b], ty),
            Inst::RoundingDivideByPowerOfTwo { a, b } => list("rounding_divide_by_power_of_two", &[*a, *b], ty),
            Inst::Dot { op, accumulator, a, b } => {
                let narrow = ty.map(|ty| op.operand_type(ty.lanes));
                format!("{}, {}", one(&format!("dot_{}", name(op)), *accumulator, ty), list("", &[*a, *b], narrow).trim_start())
            }
            Inst::Horizontal { op, a } => one(&format!("horizontal_{}", name(op)), *a, None),
            Inst::FirstLanes { count } => one("first_lanes", *count, Some(Type::INDEX)),
            Inst::FailIf { condition, status } => format!("{}, {status}", one("fail_if", *condition, Some(MASK))),
            Inst::Barrier => "barrier".into(),
            Inst::Load { .. } | Inst::LoadSplat { .. } | Inst::LoadSplatGroup { .. } | Inst::Gather { .. } | Inst::Store { .. } => {
                self.access(inst, result)
            }
            Inst::For { .. } | Inst::Divide { .. } | Inst::Loop { .. } | Inst::If { .. } => String::new(),
        }
    }

    /// Returns the text of a load or a store; empty for other instructions.
    fn access(&self, inst: &Inst, result: Option<Value>) -> String {
        match inst {
            Inst::Load { buffer, index, offset, active, mask } => {
                format!("load {}{}{}", self.element(*buffer, *index, *offset), self.active(result, *active), self.mask(*mask))
            }
            Inst::LoadSplat { buffer, index, offset } => format!("load_splat {}", self.element(*buffer, *index, *offset)),
            Inst::LoadSplatGroup { buffer, index, offset, group } => {
                format!("load_splat_group {} group {group}", self.element(*buffer, *index, *offset))
            }
            Inst::Gather { buffer, indices, offset, bounds } => {
                format!("gather {} {}", self.element(*buffer, *indices, *offset), name(bounds))
            }
            Inst::Store { buffer, index, offset, active, value, mask } => {
                let scalar = self.kernel.buffers.get(buffer.index()).map(|data| Type::scalar(data.lane));
                let (element, value, active) =
                    (self.element(*buffer, *index, *offset), self.operand(*value, scalar), self.active(Some(*value), *active));
                format!("store {element}, {value}{active}{}", self.mask(*mask))
            }
            _ => String::new(),
        }
    }

    fn ty(&self, value: Value) -> Option<Type> {
        self.kernel.types.get(value.index()).copied()
    }

    /// Returns the text of a value at its definition.
    fn typed(&self, value: Value) -> String {
        self.ty(value).map_or_else(|| value.to_string(), |ty| format!("{value}: {ty}"))
    }

    /// Returns the type of a value. `None` for a constant.
    fn known(&self, value: Value) -> Option<Type> {
        if self.constant(value).is_some() { None } else { self.ty(value) }
    }

    fn constant(&self, value: Value) -> Option<u64> {
        self.constants.get(value.index()).copied().flatten()
    }

    /// Returns the text of a value at a use. A constant is written with its type if `follows` is `None`.
    fn operand(&self, value: Value, follows: Option<Type>) -> String {
        match (self.constant(value), self.ty(value)) {
            (Some(bits), Some(ty)) if follows == Some(ty) => number(ty.lane, bits),
            (Some(bits), Some(ty)) => format!("{}: {ty}", number(ty.lane, bits)),
            _ => value.to_string(),
        }
    }

    /// Returns the text of the number of active lanes; empty if all are active.
    fn active(&self, value: Option<Value>, active: u16) -> String {
        let all = value.and_then(|value| self.ty(value)).is_some_and(|ty| ty.lanes == active);
        if all { String::new() } else { format!(" active {active}") }
    }

    /// Returns the text of the mask of an access; empty without a mask.
    fn mask(&self, mask: Option<Value>) -> String {
        mask.map_or(String::new(), |mask| format!(" where {}", self.operand(mask, None)))
    }

    fn buffer(&self, buffer: Buffer) -> String {
        self.buffers.get(buffer.index()).cloned().unwrap_or_else(|| buffer.to_string())
    }

    fn element(&self, buffer: Buffer, index: Value, offset: i64) -> String {
        let buffer = self.buffer(buffer);
        let is_scalar = self.ty(index).is_some_and(Type::is_index);
        let index_bits = self.constant(index).filter(|_| is_scalar);
        match (index_bits, self.ty(index)) {
            (Some(bits), Some(ty)) => format!("{buffer}[{}]", i128::from(signed(ty.lane, bits)) + i128::from(offset)),
            _ if offset == 0 => format!("{buffer}[{}]", self.operand(index, None)),
            _ if offset < 0 => format!("{buffer}[{} - {}]", self.operand(index, None), offset.unsigned_abs()),
            _ => format!("{buffer}[{} + {offset}]", self.operand(index, None)),
        }
    }
}

/// The type of the conditions of `yield`, `if` and `fail_if`.
const MASK: Type = Type::scalar(Lane::Mask);

fn find_constants(region: &Region, constants: &mut [Option<u64>]) {
    for statement in &region.statements {
        match &statement.inst {
            Inst::Constant { bits } => {
                for value in &statement.results {
                    if let Some(constant) = constants.get_mut(value.index()) {
                        *constant = Some(*bits);
                    }
                }
            }
            inst => inst.regions().into_iter().for_each(|inner| find_constants(inner, constants)),
        }
    }
}

fn buffer_type(data: &BufferData) -> String {
    let streamed = if data.streamed { " streamed" } else { "" };
    format!("{} {}[{}] align {}{streamed}", name(&data.kind), Type::scalar(data.lane), data.elements, data.alignment)
}

/// Returns the text of a number by its bits in a lane type. Only the default NaN is written `NaN`; other NaNs are written as bits.
fn number(lane: Lane, bits: u64) -> String {
    match lane {
        Lane::Mask => (bits != 0).to_string(),
        Lane::I8 | Lane::I16 | Lane::I32 | Lane::I64 => signed(lane, bits).to_string(),
        Lane::F32 if f32::from_bits(bits as u32).is_nan() && bits as u32 != f32::NAN.to_bits() => format!("{bits:#x}"),
        Lane::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Lane::F64 if f64::from_bits(bits).is_nan() && bits != f64::NAN.to_bits() => format!("{bits:#x}"),
        Lane::F64 => format!("{:?}", f64::from_bits(bits)),
    }
}
