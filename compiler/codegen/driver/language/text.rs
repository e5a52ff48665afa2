//! Text form of driver functions, for people and for tests.
//!
//! ```text
//! function f(%0: word, %1: word) -> single {
//!   %2: byte = differs [%0], 0x0153636c65646f6d
//!   leave -7 if %2
//!   repeat %3: word = 0 {
//!     %4: byte = less %3, %1
//!     while %4
//!     %5: single = call kernel 3(%3, 64)
//!     leave %5 if not 0
//!     %6: word = add %3, 1
//!     yield %6
//!   }
//!   leave 0
//! }
//! ```
//!
//! A loop prints its head, then `while` with the operand that the head yields, then its body. `leave 0` ends the function; `leave %5 if not 0` ends
//! it if the status is not 0.

use super::types::{BinaryOp, Callee, CompareOp, End, Function, Inst, KernelConvention, Operand, Region, Signature, Value, Width};
use std::fmt;

/// Names of functions and data in texts. Functions and data without a name print their number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// Names of functions and kernels.
    pub functions: &'a [String],
    /// Names of imported functions.
    pub imports: &'a [String],
    /// Names of data sections.
    pub data: &'a [String],
}

impl Function {
    /// Prints the function under a name.
    pub fn text(&self, name: &str, names: Names<'_>) -> String {
        let mut printer = Printer { function: self, names, depth: 1, text: String::new() };
        printer.region(&self.body);
        let parameters: Vec<String> = self.parameters.iter().map(|&value| printer.typed(value)).collect();
        let result = self.signature.result.map_or(String::new(), |width| format!(" -> {width}"));
        format!("function {name}({}){result} {{\n{}}}\n", parameters.join(", "), printer.text)
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Byte => "byte",
            Self::Half => "half",
            Self::Single => "single",
            Self::Word => "word",
            Self::Cell => "cell",
        })
    }
}

/// Prints a number: large numbers (hashes, letters) in hexadecimal, others in decimal, with a sign near 0.
fn number(number: u64) -> String {
    match number as i64 {
        small @ -0xffff..=0xffff_ffff => small.to_string(),
        _ => format!("{number:#018x}"),
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value}"),
            Self::Number(n) => f.write_str(&number(*n)),
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters: Vec<String> = self.parameters.iter().map(Width::to_string).collect();
        write!(f, "({})", parameters.join(", "))?;
        self.result.map_or(Ok(()), |width| write!(f, " -> {width}"))
    }
}

struct Printer<'a> {
    function: &'a Function,
    names: Names<'a>,
    depth: usize,
    text: String,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn typed(&self, value: Value) -> String {
        format!("{value}: {}", self.function.widths[value])
    }

    fn region(&mut self, region: &Region) {
        self.statements(region);
        match &region.end {
            End::Yield(yields) if yields.is_empty() => {}
            End::Yield(yields) => self.line(&format!("yield {}", list(yields))),
            End::Leave(None) => self.line("leave"),
            End::Leave(Some(Operand::Number(status))) => self.line(&format!("leave {}", *status as i32)),
            End::Leave(Some(status)) => self.line(&format!("leave {status}")),
        }
    }

    fn inside(&mut self, region: &Region) {
        self.depth += 1;
        self.region(region);
        self.depth -= 1;
    }

    fn statements(&mut self, region: &Region) {
        for statement in &region.statements {
            let results: Vec<String> = statement.results.iter().map(|&value| self.typed(value)).collect();
            let results = if results.is_empty() { String::new() } else { format!("{} = ", results.join(", ")) };
            match &statement.inst {
                Inst::If { truth, then, otherwise } => {
                    self.line(&format!("{results}if {truth} {{"));
                    self.inside(then);
                    if !otherwise.statements.is_empty() || otherwise.end != End::Yield(vec![]) {
                        self.line("} else {");
                        self.inside(otherwise);
                    }
                    self.line("}");
                }
                Inst::Repeat { carried, initial, head, body } => {
                    let pairs: Vec<String> =
                        carried.iter().zip(initial).map(|(&value, first)| format!("{} = {first}", self.typed(value))).collect();
                    self.line(&format!("repeat {} {{", pairs.join(", ")).replace("  {", " {"));
                    self.depth += 1;
                    self.statements(head);
                    if let End::Yield(yields) = &head.end {
                        self.line(&format!("while {}", list(yields)));
                    }
                    self.region(body);
                    self.depth -= 1;
                    self.line("}");
                }
                inst => self.line(&format!("{results}{}", self.inst(inst))),
            }
        }
    }

    fn inst(&self, inst: &Inst) -> String {
        match inst {
            Inst::Data { data, offset } => format!("data {}{}", named(self.names.data, *data), sum(*offset as i64)),
            Inst::Function(function) => format!("function {}", named(self.names.functions, *function)),
            Inst::Memory { bytes } => format!("memory {bytes}"),
            Inst::Load { width, base, offset } => format!("load {width} {}", place(*base, *offset)),
            Inst::Store { width, value, base, offset } => format!("store {width} {}, {value}", place(*base, *offset)),
            Inst::Binary { op, a, b } => format!("{} {a}, {b}", binary_name(*op)),
            Inst::Compare { op, a, b } => format!("{} {a}, {b}", compare_name(*op)),
            Inst::Select { truth, a, b } => format!("select {truth}, {a}, {b}"),
            Inst::Extend { value, .. } => format!("extend {value}"),
            Inst::Differs { base, offset, bits } => format!("differs {}, {bits:#018x}", place(*base, *offset)),
            Inst::Call { callee, signature, arguments } => self.call(*callee, signature, arguments),
            Inst::LeaveIf { truth, status } => match self.function.signature.result {
                Some(_) => format!("leave {status} if {truth}"),
                None => format!("leave if {truth}"),
            },
            Inst::LeaveWith { status } => format!("leave {status} if not 0"),
            // Printed by `statements`.
            Inst::If { .. } | Inst::Repeat { .. } => String::new(),
        }
    }

    fn call(&self, callee: Callee, signature: &Signature, arguments: &[Operand]) -> String {
        let callee = match callee {
            Callee::Kernel(number, convention) => format!("kernel {}{}", prefix(convention), named(self.names.functions, number)),
            Callee::KernelAt(address, convention) => format!("kernel {}at {address} as {signature}", prefix(convention)),
            Callee::Function(number) => format!("function {}", named(self.names.functions, number)),
            Callee::Import(number) => format!("import {}", named(self.names.imports, number)),
            Callee::Pointer(address) => format!("pointer {address} as {signature}"),
        };
        format!("call {callee}({})", list(arguments))
    }
}

fn prefix(convention: KernelConvention) -> &'static str {
    match convention {
        KernelConvention::Target => "",
        KernelConvention::SystemV => "sysv ",
    }
}

fn list(operands: &[Operand]) -> String {
    operands.iter().map(Operand::to_string).collect::<Vec<_>>().join(", ")
}

fn named(names: &[String], number: u32) -> String {
    names.get(number as usize).cloned().unwrap_or_else(|| number.to_string())
}

fn sum(offset: i64) -> String {
    match offset {
        0 => String::new(),
        below @ ..0 => format!(" - {}", -below),
        above => format!(" + {above}"),
    }
}

fn place(base: Value, offset: i32) -> String {
    format!("[{base}{}]", sum(offset.into()))
}

fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Xor => "xor",
    }
}

fn compare_name(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "equal",
        CompareOp::NotEqual => "not_equal",
        CompareOp::Less => "less",
        CompareOp::Greater => "greater",
        CompareOp::GreaterOrEqual => "greater_or_equal",
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::function;
    use super::*;
    use modelc_interface::Layout;

    #[test]
    fn functions_print_as_the_documentation_says() {
        let function = function(Layout { pointer: 8 }, Signature::status(2), |e, parameters| {
            let wrong = e.differs(parameters[0], 0, 0x0153_636c_6564_6f6d);
            e.leave_if(wrong, -7);
            e.each(parameters[1], 1, |e, index| {
                let callee = Callee::Kernel(3, KernelConvention::Target);
                let status = e.call(callee, Signature::status(2), vec![index.into(), 64.into()]);
                e.leave_with(status);
            });
        });
        let documented = include_str!("text.rs").lines().map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or_default());
        let documented: Vec<&str> = documented.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```").collect();
        assert_eq!(function.text("f", Names::default()).lines().collect::<Vec<_>>(), documented);
        let names = Names { functions: &["a", "b", "c", "net_add"].map(String::from), ..Names::default() };
        assert!(function.text("f", names).contains("call kernel net_add(%3, 64)"));
    }
}
