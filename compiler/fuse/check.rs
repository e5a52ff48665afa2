//! Rules of the tensor language for a method as one body: the verifier for passes that change a flow.

use super::flow::{Flow, Item};
use crate::ir::fault::Misfit;
use crate::ir::operators::Context;
use crate::ir::{Extent, Function, Inst, Module, Type, TypeError, Value};
use rustc_hash::FxHashSet;

/// A broken rule of a flow.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FlowMistake {
    /// A value that is read before anything defines it.
    #[error("{value} is read before it is defined")]
    Undefined {
        /// The value.
        value: Value,
    },
    /// Operands and fields that do not fit each other.
    #[error("{inst}: {error}")]
    Misfit {
        /// The instruction.
        inst: Inst,
        /// The error of the type rule.
        error: TypeError,
    },
    /// A result whose type differs from the operator's type rule.
    #[error("{value} is {found:?}, the rule gives {expected:?}")]
    Type {
        /// The result.
        value: Value,
        /// The type by the rule.
        expected: Type,
        /// The actual type.
        found: Type,
    },
}

/// Checks that every value is defined before it is read, and has the type that its operator's rule gives.
///
/// # Errors
/// The first broken rule.
pub fn check(module: &Module, flow: &Flow) -> Result<(), FlowMistake> {
    let entries = flow.states.iter().map(|state| state.entry);
    let mut checker = Checker { module, function: &flow.function, defined: flow.function.params.iter().copied().chain(entries).collect() };
    checker.items(&flow.items)?;
    let exits = flow.states.iter().map(|state| state.exit);
    flow.function.results.iter().copied().chain(exits).try_for_each(|value| checker.require(value))
}

/// Runs [`check`] in builds with debug assertions; does nothing in others.
///
/// # Panics
/// When a rule is broken by the pass `who`.
pub fn assert_sound(module: &Module, flow: &Flow, who: &str) {
    if cfg!(debug_assertions) {
        check(module, flow).unwrap_or_else(|mistake| panic!("{who} breaks the rules of the tensor language: {mistake}"));
    }
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    defined: FxHashSet<Value>,
}

impl Checker<'_> {
    fn require(&self, value: Value) -> Result<(), FlowMistake> {
        if self.defined.contains(&value) { Ok(()) } else { Err(FlowMistake::Undefined { value }) }
    }

    fn items(&mut self, items: &[Item]) -> Result<(), FlowMistake> {
        items.iter().try_for_each(|item| self.item(item))
    }

    fn item(&mut self, item: &Item) -> Result<(), FlowMistake> {
        match item {
            Item::Inst(inst) => self.inst(*inst),
            Item::If { condition, results, then, otherwise } => {
                self.require(*condition)?;
                for (items, handed) in [then, otherwise] {
                    self.items(items)?;
                    handed.iter().try_for_each(|&value| self.require(value))?;
                }
                self.defined.extend(results);
                Ok(())
            }
            Item::While { carried, head, condition, body } => {
                carried.iter().try_for_each(|carried| self.require(carried.initial))?;
                self.defined.extend(carried.iter().map(|carried| carried.value));
                self.items(head)?;
                self.require(*condition)?;
                self.items(body)?;
                carried.iter().try_for_each(|carried| self.require(carried.next))
            }
        }
    }

    fn inst(&mut self, inst: Inst) -> Result<(), FlowMistake> {
        let data = &self.function.insts[inst];
        // Extents of a parameter stand in its type, which comes first.
        data.operands.iter().try_for_each(|&value| self.require(value))?;
        let context = Context { module: self.module, function: self.function, operands: &data.operands };
        match data.operation.infer(&context) {
            Ok(types) => {
                for (&value, expected) in data.results.iter().zip(&types) {
                    self.fits(value, expected)?;
                }
            }
            // The range of a loop-carried index is not known here; it is checked at run time.
            Err(error) if matches!(*error.misfit, Misfit::Interval { .. }) => {}
            Err(error) => return Err(FlowMistake::Misfit { inst, error }),
        }
        self.defined.extend(&data.results);
        Ok(())
    }

    /// Checks that a value has the type that a rule gives; run-time extents may be different values.
    fn fits(&self, value: Value, expected: &Type) -> Result<(), FlowMistake> {
        let found = &self.function.values[value].ty;
        let same = |(a, b): (&Extent, &Extent)| a.as_static().zip(b.as_static()).is_none_or(|(a, b)| a == b);
        let fits = match (found, expected) {
            (Type::Tensor(a), Type::Tensor(b)) => a.element == b.element && a.rank() == b.rank() && a.shape.iter().zip(&b.shape).all(same),
            (Type::Index(_), Type::Index(_)) => true,
            _ => found == expected,
        };
        if fits { Ok(()) } else { Err(FlowMistake::Type { value, expected: expected.clone(), found: found.clone() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::unroll::unroll;
    use crate::ir::text::parse_module;
    use crate::ir::{ElementType, TensorType, verify};

    const TEXT: &str = r#"
func @main(v0: f32[2]) {
  v1 = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  v2 = reshape v1 { shape = [2, 1] }
  return v2
}
"#;

    fn flow() -> (Module, Flow) {
        let module = parse_module(TEXT).expect("the text is sound");
        let function = module.functions.keys().next().expect("there is one");
        let flow = unroll(verify(&module).expect("the module is sound"), function).expect("there are no calls");
        (module, flow)
    }

    #[test]
    fn what_is_unrolled_is_sound() {
        let (module, flow) = flow();
        assert_eq!(check(&module, &flow), Ok(()));
    }

    #[test]
    fn a_value_must_be_defined_before_it_is_read() {
        let (module, mut flow) = flow();
        flow.items.reverse();
        assert!(matches!(check(&module, &flow), Err(FlowMistake::Undefined { .. })));
    }

    #[test]
    fn a_result_has_the_type_of_the_rule() {
        let (module, mut flow) = flow();
        let result = flow.function.results[0];
        flow.function.values[result].ty = Type::Tensor(TensorType::of(ElementType::F32, &[1, 2]));
        assert!(matches!(check(&module, &flow), Err(FlowMistake::Type { .. })));
    }
}
