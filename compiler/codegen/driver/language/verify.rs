//! The verifier of the driver language. Values must be defined and visible where they are used. Widths must match, numbers must fit, and every
//! function must end with a return.

use super::rule::Rule;
use super::types::{Callee, End, Function, Inst, Operand, Region, Signature, Statement, Value, Width};
use cranelift_entity::EntitySet;
use modelc_interface::Layout;

/// Checks a function for a target.
///
/// # Errors
/// The first broken rule.
pub fn verify(function: &Function, layout: Layout) -> Result<(), Rule> {
    let mut verifier = Verifier { function, layout, defined: EntitySet::new() };
    verifier.signature(&function.signature)?;
    let widths: Vec<Width> = function.parameters.iter().map(|&value| function.widths[value]).collect();
    if widths != function.signature.parameters {
        return Err(Rule::Parameters);
    }
    verifier.define(&function.parameters)?;
    let inside = verifier.region(&function.body, None)?;
    if inside.is_some() {
        return Err(Rule::NoLeave);
    }
    Ok(())
}

struct Verifier<'a> {
    function: &'a Function,
    layout: Layout,
    /// Values that are visible at this point.
    defined: EntitySet<Value>,
}

impl Verifier<'_> {
    fn bits(&self, width: Width) -> u32 {
        match width {
            Width::Byte => 8,
            Width::Half => 16,
            Width::Single => 32,
            Width::Word | Width::Cell => 8 * self.layout.pointer as u32,
        }
    }

    fn signature(&self, signature: &Signature) -> Result<(), Rule> {
        let may = |width: &Width| matches!(width, Width::Single | Width::Word);
        let sound = signature.parameters.iter().chain(&signature.result).all(may);
        if sound { Ok(()) } else { Err(Rule::Signature(signature.clone())) }
    }

    fn define(&mut self, values: &[Value]) -> Result<(), Rule> {
        for &value in values {
            if !self.defined.insert(value) {
                return Err(Rule::DefinedTwice(value));
            }
            if self.function.widths[value] == Width::Cell {
                return Err(Rule::Cell(value));
            }
        }
        Ok(())
    }

    fn width(&self, value: Value) -> Result<Width, Rule> {
        if self.defined.contains(value) { Ok(self.function.widths[value]) } else { Err(Rule::NotDefined(value)) }
    }

    fn operand(&self, operand: Operand, width: Width) -> Result<(), Rule> {
        match operand {
            Operand::Value(value) if self.width(value)? == width => Ok(()),
            Operand::Value(value) => Err(Rule::Width { value, width }),
            // The number fits as an unsigned number, or as a small negative one.
            Operand::Number(number) => {
                let bits = self.bits(width);
                let fits = bits == 64 || number >> bits == 0 || (number as i64) >> (bits - 1) == -1;
                if fits { Ok(()) } else { Err(Rule::Number { number: operand, width }) }
            }
        }
    }

    /// Checks that two operands have the same width, and returns it.
    fn pair(&self, a: Operand, b: Operand) -> Result<Width, Rule> {
        let width = match (a, b) {
            (Operand::Value(value), _) | (_, Operand::Value(value)) => self.width(value)?,
            (Operand::Number(_), Operand::Number(_)) => Width::Word,
        };
        self.operand(a, width)?;
        self.operand(b, width)?;
        Ok(width)
    }

    fn address(&self, base: Value) -> Result<(), Rule> {
        self.operand(Operand::Value(base), Width::Word)
    }

    /// Checks a region, whose yields must have the widths `yields`. Returns the number of yields, or `None` if the region ends with a return. Its
    /// definitions are not visible outside.
    fn region(&mut self, region: &Region, yields: Option<&[Width]>) -> Result<Option<usize>, Rule> {
        let outside = self.defined.clone();
        let count = self.open_region(region, yields)?;
        self.defined = outside;
        Ok(count)
    }

    fn open_region(&mut self, region: &Region, yields: Option<&[Width]>) -> Result<Option<usize>, Rule> {
        for statement in &region.statements {
            self.statement(statement)?;
        }
        match &region.end {
            End::Yield(operands) => {
                let widths = yields.unwrap_or_default();
                if operands.len() != widths.len() {
                    return Err(Rule::Yields { found: operands.len(), wanted: widths.len() });
                }
                operands.iter().zip(widths).try_for_each(|(&operand, &width)| self.operand(operand, width))?;
                Ok(Some(operands.len()))
            }
            End::Leave(status) => match (status, self.function.signature.result) {
                (None, None) => Ok(None),
                (Some(status), Some(width)) => self.operand(*status, width).map(|()| None),
                _ => Err(Rule::Leave),
            },
        }
    }

    fn statement(&mut self, Statement { results, inst }: &Statement) -> Result<(), Rule> {
        let widths: Vec<Width> = match inst {
            Inst::Data { .. } | Inst::Function(_) | Inst::Memory { .. } => vec![Width::Word],
            Inst::Load { width, base, .. } => self.address(*base).map(|()| vec![width.of_value()])?,
            Inst::Store { width, value, base, .. } => {
                self.address(*base)?;
                self.operand(*value, width.of_value())?;
                vec![]
            }
            Inst::Binary { a, b, .. } => vec![self.pair(*a, *b)?],
            Inst::Compare { a, b, .. } => self.pair(*a, *b).map(|_| vec![Width::Byte])?,
            Inst::Select { truth, a, b } => {
                self.width(*truth)?;
                vec![self.pair(*a, *b)?]
            }
            Inst::Extend { width, value } => {
                if self.bits(self.width(*value)?) > self.bits(*width) {
                    return Err(Rule::Extend { value: *value, width: *width });
                }
                vec![*width]
            }
            Inst::Differs { base, .. } => self.address(*base).map(|()| vec![Width::Byte])?,
            Inst::Call { callee, signature, arguments } => self.call(*callee, signature, arguments)?,
            Inst::If { truth, then, otherwise } => self.branch(*truth, [then, otherwise], results)?,
            Inst::Repeat { carried, initial, head, body } => self.repeat(carried, initial, head, body)?,
            Inst::LeaveIf { truth, .. } => self.width(*truth).map(|_| vec![])?,
            Inst::LeaveWith { status } => {
                if self.function.signature.result != Some(Width::Single) {
                    return Err(Rule::LeaveWith);
                }
                self.operand(Operand::Value(*status), Width::Single)?;
                vec![]
            }
        };
        let found: Vec<Width> = results.iter().map(|&value| self.function.widths[value]).collect();
        // A caller may ignore the result of a call.
        if found != widths && !(found.is_empty() && matches!(inst, Inst::Call { .. })) {
            return Err(Rule::Results(results.clone()));
        }
        self.define(results)
    }

    fn call(&self, callee: Callee, signature: &Signature, arguments: &[Operand]) -> Result<Vec<Width>, Rule> {
        self.signature(signature)?;
        if let Callee::Pointer(address) | Callee::KernelAt(address, _) = callee {
            self.operand(address, Width::Word)?;
        }
        if arguments.len() != signature.parameters.len() {
            return Err(Rule::Arguments { signature: signature.clone(), arguments: arguments.len() });
        }
        arguments.iter().zip(&signature.parameters).try_for_each(|(&argument, &width)| self.operand(argument, width))?;
        Ok(signature.result.into_iter().collect())
    }

    fn branch(&mut self, truth: Value, regions: [&Region; 2], results: &[Value]) -> Result<Vec<Width>, Rule> {
        self.width(truth)?;
        let widths: Vec<Width> = results.iter().map(|&value| self.function.widths[value]).collect();
        let mut goes_on = false;
        for region in regions {
            goes_on |= self.region(region, Some(&widths))?.is_some();
        }
        if goes_on { Ok(widths) } else { Err(Rule::Unreachable) }
    }

    fn repeat(&mut self, carried: &[Value], initial: &[Operand], head: &Region, body: &Region) -> Result<Vec<Width>, Rule> {
        let widths: Vec<Width> = carried.iter().map(|&value| self.function.widths[value]).collect();
        if initial.len() != carried.len() {
            return Err(Rule::Carried { carried: carried.len(), initial: initial.len() });
        }
        initial.iter().zip(&widths).try_for_each(|(&operand, &width)| self.operand(operand, width))?;
        self.define(carried)?;
        let outside = self.defined.clone();
        let End::Yield(truth) = &head.end else { return Err(Rule::HeadLeaves) };
        let [Operand::Value(truth)] = truth[..] else { return Err(Rule::HeadYields) };
        head.statements.iter().try_for_each(|statement| self.statement(statement))?;
        self.width(truth)?;
        self.region(body, Some(&widths))?;
        self.defined = outside;
        Ok(vec![])
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::{Builder, function};
    use super::super::types::BinaryOp;
    use super::*;

    const LAYOUT: Layout = Layout { pointer: 4 };

    /// Returns the error of a function with one pointer parameter, which `write` gets.
    fn wrong(write: impl FnOnce(&mut Builder, Value)) -> String {
        let function = function(LAYOUT, Signature::status(1), |e, parameters| write(e, parameters[0]));
        verify(&function, LAYOUT).unwrap_err().to_string()
    }

    #[test]
    fn a_function_that_keeps_the_rules_passes() {
        let function = function(LAYOUT, Signature::status(1), |e, parameters| {
            let length = e.load(Width::Cell, parameters[0], 8);
            e.each(length, 4, |e, offset| {
                let at = e.add(parameters[0], offset);
                let bits = e.load(Width::Single, at, 0);
                e.leave_with(bits);
            });
        });
        assert_eq!(verify(&function, LAYOUT), Ok(()));
    }

    #[test]
    fn rules_that_are_broken_are_found() {
        let mixed = wrong(|e, p| {
            let half = e.load(Width::Half, p, 0);
            e.binary(BinaryOp::Add, half, p);
        });
        assert_eq!(mixed, "%0 is no half");
        assert_eq!(wrong(|e, p| e.store(Width::Byte, 300, p, 0)), "300 does not fit a byte");
        assert_eq!(wrong(|e, p| e.store(Width::Word, 1u64 << 32, p, 0)), "0x0000000100000000 does not fit a word");
        assert_eq!(wrong(|e, p| e.leave_with(p)), "%0 is no single");
        let hidden = wrong(|e, p| {
            let mut inside = p;
            e.when(p, |e| inside = e.load(Width::Byte, p, 0));
            e.leave_if(inside, 1);
        });
        assert_eq!(hidden, "%1 is used where it is not defined");
        let unreachable = wrong(|e, p| {
            let regions = [1, 2].map(|status| {
                e.region(|e| {
                    e.leave(status);
                    vec![]
                })
            });
            let [then, otherwise] = regions;
            e.branch(p, &[], then, otherwise);
        });
        assert_eq!(unreachable, "nothing after a branch can be reached");
        let missing = wrong(|e, p| {
            e.call(Callee::Pointer(p.into()), Signature::status(2), vec![p.into()]);
        });
        assert_eq!(missing, "(word, word) -> single is given 1 arguments");
        let short = wrong(|e, p| {
            let then = e.region(|_| vec![]);
            let otherwise = e.region(|_| vec![0.into()]);
            e.branch(p, &[Width::Byte], then, otherwise);
        });
        assert_eq!(short, "0 operands are yielded where 1 are wanted");
    }
}
