//! WHILE. A loop stays a loop if an iteration keeps the shapes of its inputs. Otherwise it is unrolled, if its condition can be computed at compile
//! time.
//!
//! A loop is tried in several ways ([`Way`]), and the first that succeeds is taken.

use super::callee::{Argument, Callee, Part, Returned};
use super::counter::Counter;
use super::counters::counters;
use super::error::{invalid, missing_options, unsupported};
use super::growth::with_buffers;
use super::lengths::changes;
use super::operator::{Lowered, Operator};
use super::subgraph::Slot;
use crate::diagnostic::{Diagnostic, Kind, codes};

/// The maximum number of iterations of an unrolled loop.
const MAX_ROUNDS: usize = 1024;
/// The maximum number of instructions of a function after loops are unrolled.
const MAX_INSTRUCTIONS: usize = 1 << 16;

/// The translation of a loop: a loop of the tensor language, or several iterations.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// A loop that only needs its types.
    Plain,
    /// A loop with an analysis of its iterations: its counters are indices, and an element of a list is written in place.
    Followed,
    /// The iterations, one after the other.
    WrittenOut,
    /// An analysed loop, with room for tensors that grow.
    Grown,
}

impl Way {
    fn is_followed(self) -> bool {
        matches!(self, Self::Followed | Self::Grown)
    }
}

/// The results of a loop; `None` if the diagnostics say why there are none.
type Attempt = Result<Option<Vec<Slot>>, Diagnostic>;

/// A loop in the file.
struct Loop<'o> {
    condition: usize,
    body: usize,
    operands: &'o [Slot],
}

/// WHILE
pub(super) fn while_loop(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_while_options().ok_or_else(missing_options)?;
    let index = super::branches::subgraph_index;
    let (condition, body) = (index(options.cond_subgraph_index())?, index(options.body_subgraph_index())?);
    let operands = operator.slots(0)?;
    if operator.output_count() != operands.len() {
        let expected = operands.len().to_string();
        return Err(
            invalid(codes::OPERAND_COUNT, "a loop has as many outputs as inputs").expected(expected, operator.output_count().to_string())
        );
    }
    let found = Loop { condition, body, operands: &operands };
    match found.attempt(operator)? {
        Some(slots) => operator.bind_slots(&slots),
        None => {
            operator.poison();
            Ok(())
        }
    }
}

impl Loop<'_> {
    /// Returns the results of the first way that succeeds. If none does, the first way's diagnostics are reported.
    fn attempt(&self, operator: &mut Operator<'_, '_, '_>) -> Attempt {
        let ways: &[Way] = if self.is_dynamic(operator) {
            &[Way::Followed, Way::WrittenOut, Way::Grown]
        } else {
            &[Way::Plain, Way::WrittenOut, Way::Followed, Way::Grown]
        };
        let start = operator.lowering.diagnostics.len();
        let mut told = None;
        for &way in ways {
            let outcome = self.try_way(operator, way);
            let found = operator.lowering.diagnostics.split_off(start);
            if let Ok(Some(slots)) = outcome {
                return Ok(Some(slots));
            }
            let is_unsupported = found.iter().chain(outcome.as_ref().err()).all(|diagnostic| diagnostic.kind() == Kind::Unsupported);
            // Errors of lengths are reported by the way that analysed them.
            if told.is_none() || way == Way::Grown && outcome.is_err() {
                told = Some((found, outcome));
            }
            if !is_unsupported && way != Way::WrittenOut {
                break;
            }
        }
        let (found, outcome) = told.unwrap_or((vec![], Ok(None)));
        operator.lowering.diagnostics.extend(found);
        outcome
    }

    /// Tests whether some operand has a run-time extent.
    fn is_dynamic(&self, operator: &Operator<'_, '_, '_>) -> bool {
        let function = operator.lowering.graph.function();
        let is_open = |slot: &Slot| match *slot {
            Slot::Value(value) => function.tensor(value).shape.iter().any(|&extent| function.resolved(extent).as_static().is_none()),
            _ => false,
        };
        operator.lowering.graph.follows_rounds || self.operands.iter().any(is_open)
    }

    fn try_way(&self, operator: &mut Operator<'_, '_, '_>, way: Way) -> Attempt {
        let before = operator.lowering.graph.follows_rounds;
        operator.lowering.graph.follows_rounds |= way.is_followed();
        let outcome = if way == Way::WrittenOut { self.written_out(operator) } else { self.repeated(operator, way) };
        operator.lowering.graph.follows_rounds = before;
        outcome
    }

    /// The arguments of the condition and the body for the operands. Inputs that the body hands on unchanged are the same in every iteration.
    fn arguments(&self, operator: &mut Operator<'_, '_, '_>, way: Way) -> Result<Vec<Argument>, Diagnostic> {
        let lowering = &mut *operator.lowering;
        let subgraph = lowering.shared.open(self.body)?;
        lowering.shared.close();
        let list = |list: Option<flatbuffers::Vector<'_, i32>>| list.into_iter().flatten().collect::<Vec<i32>>();
        let (inputs, outputs) = (list(subgraph.record.inputs()), list(subgraph.record.outputs()));
        let is_same = |index: usize| inputs.get(index).is_some_and(|input| outputs.get(index) == Some(input));
        let mut arguments = Vec::new();
        for (index, &slot) in self.operands.iter().enumerate() {
            arguments.push(Argument::of(&mut lowering.graph, slot, is_same(index), way.is_followed())?);
        }
        Ok(arguments)
    }

    /// A loop of the tensor language.
    fn repeated(&self, operator: &mut Operator<'_, '_, '_>, way: Way) -> Attempt {
        let arguments = self.arguments(operator, way)?;
        let counters = match way.is_followed() {
            true => counters(operator, self.condition, self.body, (self.operands, &arguments))?,
            false => vec![],
        };
        let look = |operator: &mut Operator<'_, '_, '_>, arguments: &[Argument]| self.functions(operator, arguments, &counters);
        let found = match way {
            Way::Grown => with_buffers(operator, &arguments, &counters, look)?,
            _ => look(operator, &arguments)?.map(|callees| (arguments, callees)),
        };
        let Some((arguments, [mut condition, mut body])) = found else { return Ok(None) };
        hands_on(&arguments, &body)?;
        let lowering = &mut *operator.lowering;
        let indices = Callee::common(&[&condition, &body]);
        let mut values = indices.clone();
        values.extend(Argument::tensors(&arguments));
        let has_effect = condition.has_effect || body.has_effect;
        if has_effect {
            values.push(lowering.effect()?);
            if condition.may_write() {
                return Err(unsupported("a loop's condition that may write variables is not supported"));
            }
            condition.take_effect(false);
            body.take_effect(true);
        }
        let builder = &mut lowering.graph.builder;
        let condition = condition.finish(builder.module, &builder.function, &indices, false);
        let body = body.finish(builder.module, &builder.function, &indices, true);
        let results = builder.while_loop(&values, condition, body)?;
        if has_effect {
            lowering.effect = results.last().copied();
        }
        let mut results = results[indices.len()..].iter().copied();
        let mut slots = Vec::new();
        for (argument, &slot) in arguments.iter().zip(self.operands) {
            slots.push(match argument {
                Argument::Tensor(_) => results.next().map_or(slot, Slot::Value),
                Argument::Grown(grown) => match (results.next(), results.next()) {
                    (Some(buffer), Some(length)) => Slot::Value(grown.tensor(&mut lowering.graph, buffer, length)?),
                    _ => slot,
                },
                Argument::Constant(_) | Argument::Sizes(..) | Argument::Variable(_) => slot,
            });
        }
        Ok(Some(slots))
    }

    /// The condition and a round as functions.
    fn functions(
        &self,
        operator: &mut Operator<'_, '_, '_>,
        arguments: &[Argument],
        counters: &[Counter],
    ) -> Result<Option<[Callee; 2]>, Diagnostic> {
        let condition = operator.lowering.callee(self.condition, arguments, Part::Condition)?;
        let body = operator.lowering.callee(self.body, arguments, Part::Round(counters))?;
        Ok(condition.zip(body).map(|(condition, body)| [condition, body]))
    }

    /// Unrolls the loop; `None` or an error if this is not possible.
    fn written_out(&self, operator: &mut Operator<'_, '_, '_>) -> Attempt {
        let mut carried = self.operands.to_vec();
        for _ in 0..MAX_ROUNDS {
            let Some(verdict) = operator.lowering.inline(self.condition, &carried)? else { return Ok(None) };
            let known = match verdict.first() {
                Some(Slot::Value(value)) => operator.graph().constant_of(*value),
                _ => None,
            };
            let Some(known) = known else { return Ok(None) };
            if operator.lowering.graph.builder.module.constants[known].data.bytes().iter().all(|&byte| byte == 0) {
                return Ok(Some(carried));
            }
            match operator.lowering.inline(self.body, &carried)? {
                Some(next) if next.len() == carried.len() => carried = next,
                _ => return Ok(None),
            }
            if operator.lowering.graph.builder.function.body.len() > MAX_INSTRUCTIONS {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

/// Each output of the body is one for the input of the next round.
fn hands_on(arguments: &[Argument], body: &Callee) -> Result<(), Diagnostic> {
    if body.outputs.len() != arguments.len() {
        let found = body.outputs.len().to_string();
        return Err(
            invalid(codes::OPERAND_COUNT, "a loop's body has as many outputs as inputs").expected(arguments.len().to_string(), found)
        );
    }
    for (index, (argument, output)) in arguments.iter().zip(&body.outputs).enumerate() {
        let fits = match (argument, output) {
            (Argument::Variable(before), Returned::Variable(after)) => before == after,
            (Argument::Variable(_), Returned::Value) | (_, Returned::Variable(_)) => false,
            (_, Returned::Value) => body.changes.iter().all(|change| change.output != index),
        };
        if !fits {
            return Err(changes(index));
        }
    }
    Ok(())
}
