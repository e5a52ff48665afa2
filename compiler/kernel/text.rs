//! The text of kernels, for people and for tests: [`Kernel`] and its parts print themselves.
//!
//! ```text
//! kernel @relu(x: input f32[10] align 4, y: output f32[10] align 64) {
//!   for %2 in 0..8 step 4 {
//!     %3: f32x4 = load x[%2]
//!     %5: f32x4 = float_max_first %3, 0.0
//!     store y[%2], %5
//!   }
//!   %7: f32x4 = load x[8] active 2
//!   %9: f32x4 = float_max_first %7, 0.0
//!   store y[8], %9 active 2
//! }
//! ```
//!
//! Values keep their numbers. Constants stand where they are used and have no line of their own; a float shows the fewest digits that
//! give it back. An element is written `buffer[index + offset]`, with a constant index added to the offset.

use super::types::*;
use cranelift_entity::EntityRef;
use std::fmt::{self, Display};

impl Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Printer::new(self).kernel())
    }
}

/// The line of a statement, or the first line if it holds regions.
pub(super) fn statement_line(kernel: &Kernel, statement: &Statement) -> String {
    let mut printer = Printer::new(kernel);
    printer.statement(statement);
    printer.text.lines().next().unwrap_or_default().to_owned()
}

struct Printer<'k> {
    kernel: &'k Kernel,
    /// The numbers that constants are, by value.
    constants: Vec<Option<u64>>,
    depth: usize,
    text: String,
}

impl<'k> Printer<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let mut constants = vec![None; kernel.types.len()];
        find_constants(&kernel.body, &mut constants);
        Self { kernel, constants, depth: 0, text: String::new() }
    }

    fn kernel(mut self) -> String {
        let pointers = self.kernel.pointer_params().map(|(_, data)| format!("{}: {}", data.name, buffer_type(data)));
        let integers = self.kernel.body.params.iter().map(|&value| self.typed(value));
        let params: Vec<_> = pointers.chain(integers).collect();
        self.line(&format!("kernel @{}({}) {{", self.kernel.name, params.join(", ")));
        self.depth += 1;
        for data in self.kernel.buffers.iter().filter(|data| data.kind == BufferKind::Local) {
            self.line(&format!("{}: {}", data.name, buffer_type(data)));
        }
        self.depth -= 1;
        self.region(&self.kernel.body);
        self.line("}");
        self.text
    }

    fn line(&mut self, line: &str) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn region(&mut self, region: &Region) {
        self.depth += 1;
        for statement in &region.statements {
            // Constants are written where they are used; one without a use is not missed.
            if !matches!(statement.inst, Inst::Constant { .. }) {
                self.statement(statement);
            }
        }
        if !region.yields.is_empty() {
            self.line(&format!("yield {}", self.list(&region.yields)));
        }
        self.depth -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        let results: Vec<_> = statement.results.iter().map(|&value| self.typed(value)).collect();
        let results = if results.is_empty() { String::new() } else { format!("{} = ", results.join(", ")) };
        match &statement.inst {
            Inst::For { start, end, step, carried, body } => {
                let counter = body.params.first().map_or_else(|| "_".into(), Value::to_string);
                let range = format!("{}..{} step {step}", self.value(*start), self.value(*end));
                let carry = self.carry(body.params.get(1..).unwrap_or_default(), carried);
                self.line(&format!("{results}for {counter} in {range}{carry} {{"));
                self.region(body);
                self.line("}");
            }
            Inst::Loop { carried, body } => {
                let carry = self.carry(&body.params, carried);
                self.line(&format!("{results}loop{carry} {{"));
                self.region(body);
                self.line("}");
            }
            Inst::If { condition, then, otherwise } => {
                self.line(&format!("{results}if {} {{", self.value(*condition)));
                self.region(then);
                if !otherwise.statements.is_empty() || !otherwise.yields.is_empty() {
                    self.line("} else {");
                    self.region(otherwise);
                }
                self.line("}");
            }
            inst => self.line(&format!("{results}{}", self.inst(inst, statement.results.first().copied()))),
        }
    }

    /// The carried values of a loop: what they are called inside, and what they begin with.
    fn carry(&self, params: &[Value], carried: &[Value]) -> String {
        let pairs: Vec<_> = params.iter().zip(carried).map(|(param, &first)| format!("{param} = {}", self.value(first))).collect();
        if pairs.is_empty() { String::new() } else { format!(" carry {}", pairs.join(", ")) }
    }

    /// An instruction without regions.
    fn inst(&self, inst: &Inst, result: Option<Value>) -> String {
        let two = |name: &str, a: &Value, b: &Value| format!("{name} {}, {}", self.value(*a), self.value(*b));
        match inst {
            Inst::Constant { bits } => {
                let lane = result.and_then(|value| self.ty(value)).map_or(Lane::I64, |ty| ty.lane);
                format!("constant {}", number(lane, *bits))
            }
            Inst::Binary { op, a, b } => two(&name(op), a, b),
            Inst::Unary { op, a } => format!("{} {}", name(op), self.value(*a)),
            Inst::ShiftConstant { op, a, count } => format!("{} {}, {count}", name(op), self.value(*a)),
            Inst::Fma { a, b, c, rounding: Rounding::Nearest } => format!("fma {}", self.list(&[*a, *b, *c])),
            Inst::Fma { a, b, c, rounding: Rounding::TowardZero } => format!("fma.toward_zero {}", self.list(&[*a, *b, *c])),
            Inst::Compare { op, a, b } => two(&name(op), a, b),
            Inst::Select { mask, a, b } => format!("select {}", self.list(&[*mask, *a, *b])),
            Inst::Convert { op, a } => format!("{} {}", name(op), self.value(*a)),
            Inst::Splat { a } => format!("splat {}", self.value(*a)),
            Inst::Extract { a, lane } => format!("extract {}, {lane}", self.value(*a)),
            Inst::Join { a, b } => two("join", a, b),
            Inst::Part { a, first } => format!("part {}, {first}", self.value(*a)),
            Inst::Shuffle { a, b, lanes } => format!("{} {lanes:?}", two("shuffle", a, b)),
            Inst::MulHighUnsigned { a, b } => two("mul_high_unsigned", a, b),
            Inst::SaturatingRoundingDoublingHighMul { a, b, saturates } => {
                two(if *saturates { "saturating_rounding_doubling_high_mul" } else { "rounding_doubling_high_mul" }, a, b)
            }
            Inst::RoundingDivideByPowerOfTwo { a, b } => two("rounding_divide_by_power_of_two", a, b),
            Inst::Dot { op, accumulator, a, b } => format!("dot_{} {}", name(op), self.list(&[*accumulator, *a, *b])),
            Inst::Horizontal { op, a } => format!("horizontal_{} {}", name(op), self.value(*a)),
            Inst::Load { buffer, index, offset, active } => {
                format!("load {}{}", self.element(*buffer, *index, *offset), self.active(result, *active))
            }
            Inst::LoadSplat { buffer, index, offset } => format!("load_splat {}", self.element(*buffer, *index, *offset)),
            Inst::LoadSplatGroup { buffer, index, offset, group } => {
                format!("load_splat_group {} group {group}", self.element(*buffer, *index, *offset))
            }
            Inst::Gather { buffer, indices, offset, bounds } => {
                format!("gather {} {}", self.element(*buffer, *indices, *offset), name(bounds))
            }
            Inst::Store { buffer, index, offset, active, value } => {
                let active = self.active(Some(*value), *active);
                format!("store {}, {}{active}", self.element(*buffer, *index, *offset), self.value(*value))
            }
            Inst::FailIf { condition, status } => format!("fail_if {}, {status}", self.value(*condition)),
            Inst::For { .. } | Inst::Loop { .. } | Inst::If { .. } => String::new(),
        }
    }

    fn ty(&self, value: Value) -> Option<Type> {
        self.kernel.types.get(value.index()).copied()
    }

    /// A value where it is defined.
    fn typed(&self, value: Value) -> String {
        self.ty(value).map_or_else(|| value.to_string(), |ty| format!("{value}: {ty}"))
    }

    /// A value where it is used.
    fn value(&self, value: Value) -> String {
        let constant = self.constants.get(value.index()).copied().flatten();
        match (constant, self.ty(value)) {
            (Some(bits), Some(ty)) => number(ty.lane, bits),
            _ => value.to_string(),
        }
    }

    fn list(&self, values: &[Value]) -> String {
        values.iter().map(|&value| self.value(value)).collect::<Vec<_>>().join(", ")
    }

    /// How many lanes are loaded or stored, if not all.
    fn active(&self, value: Option<Value>, active: u16) -> String {
        let all = value.and_then(|value| self.ty(value)).is_some_and(|ty| ty.lanes == active);
        if all { String::new() } else { format!(" active {active}") }
    }

    fn element(&self, buffer: Buffer, index: Value, offset: i64) -> String {
        let buffer = self.kernel.buffers.get(buffer.index()).map_or_else(|| buffer.to_string(), |data| data.name.clone());
        let scalar = self.ty(index) == Some(Type::INDEX);
        match self.constants.get(index.index()).copied().flatten() {
            Some(bits) if scalar => format!("{buffer}[{}]", i128::from(bits as i64) + i128::from(offset)),
            _ if offset == 0 => format!("{buffer}[{}]", self.value(index)),
            _ if offset < 0 => format!("{buffer}[{} - {}]", self.value(index), offset.unsigned_abs()),
            _ => format!("{buffer}[{} + {offset}]", self.value(index)),
        }
    }
}

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
            Inst::For { body, .. } | Inst::Loop { body, .. } => find_constants(body, constants),
            Inst::If { then, otherwise, .. } => {
                find_constants(then, constants);
                find_constants(otherwise, constants);
            }
            _ => {}
        }
    }
}

fn buffer_type(data: &BufferData) -> String {
    format!("{} {}[{}] align {}", name(&data.kind), Type::scalar(data.lane), data.elements, data.alignment)
}

/// The number that some bits are in a lane.
fn number(lane: Lane, bits: u64) -> String {
    match lane {
        Lane::Mask => (bits != 0).to_string(),
        Lane::I8 => (bits as i8).to_string(),
        Lane::I16 => (bits as i16).to_string(),
        Lane::I32 => (bits as i32).to_string(),
        Lane::I64 => (bits as i64).to_string(),
        Lane::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Lane::F64 => format!("{:?}", f64::from_bits(bits)),
    }
}

/// The name of an operation: that of its variant, in lower case with underscores.
fn name(variant: &impl fmt::Debug) -> String {
    let mut name = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelBuilder;

    /// A kernel with every form that prints in a way of its own.
    fn sample() -> Kernel {
        let mut b = KernelBuilder::new("sample");
        let x = b.buffer("x", BufferKind::Input, Lane::F32, 10, 4);
        let y = b.buffer("y", BufferKind::Output, Lane::F32, 10, 64);
        let table = b.buffer("table", BufferKind::Local, Lane::I8, 16, 16);
        let count = b.integer();
        let negative = b.index(-1);
        let broken = b.compare(CompareOp::LessEqual, count, negative);
        b.fail_if(broken, -12);
        let vector = Type::vector(Lane::F32, 4);
        let none = b.float(vector, 0.0);
        let first = b.index(0);
        let sum = b.for_carry(first, count, 4, &[none], |b, i, carried| {
            let loaded = b.load(x, i, -3, 4);
            let sum = b.add(carried[0], loaded);
            b.store(y, i, 2, sum);
            vec![sum]
        })[0];
        let tail = b.load_active(x, first, 8, 4, 2);
        let is_less = b.compare(CompareOp::Less, tail, sum);
        let chosen = b.select(is_less, tail, sum);
        b.store_active(y, first, 8, chosen, 2);
        let group = b.load_splat_group(table, first, 4, 4, 16);
        let words = b.int(Type::vector(Lane::I32, 4), 7);
        b.dot(DotOp::UnsignedSigned8, words, group, group);
        b.gather(x, words, 1, Bounds::Clamp);
        b.shuffle(tail, sum, vec![0, 4]);
        let last = b.loop_while(&[count], |b, carried| {
            let one = b.index(1);
            let next = b.sub(carried[0], one);
            (b.compare(CompareOp::Greater, next, one), vec![next])
        })[0];
        b.if_else(broken, |_| vec![last], |b| vec![b.index(5)]);
        b.if_else(
            broken,
            |b| {
                let number = b.float(Type::scalar(Lane::F32), 0.1);
                b.store(y, last, 0, number);
                vec![]
            },
            |_| vec![],
        );
        b.finish()
    }

    #[test]
    fn kernels_print() {
        insta::assert_snapshot!(sample(), @r"
        kernel @sample(x: input f32[10] align 4, y: output f32[10] align 64, %0: i64) {
          table: local i8[16] align 16
          %2: mask = less_equal %0, -1
          fail_if %2, -12
          %9: f32x4 = for %5 in 0..%0 step 4 carry %6 = 0.0 {
            %7: f32x4 = load x[%5 - 3]
            %8: f32x4 = add %6, %7
            store y[%5 + 2], %8
            yield %8
          }
          %10: f32x4 = load x[8] active 2
          %11: maskx4 = less %10, %9
          %12: f32x4 = select %11, %10, %9
          store y[8], %12 active 2
          %13: i8x16 = load_splat_group table[4] group 4
          %15: i32x4 = dot_unsigned_signed8 7, %13, %13
          %16: f32x4 = gather x[7 + 1] clamp
          %17: f32x2 = shuffle %10, %9 [0, 4]
          %22: i64 = loop carry %18 = %0 {
            %20: i64 = sub %18, 1
            %21: mask = greater %20, 1
            yield %21, %20
          }
          %24: i64 = if %2 {
            yield %22
          } else {
            yield 5
          }
          if %2 {
            store y[%22], 0.1
          }
        }
        ");
    }
}
