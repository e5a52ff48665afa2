//! Counters of loops: inputs of a body that change by the same amount in each round. The condition keeps them between two numbers.

use super::callee::Argument;
use super::counter::{Counter, Operand, dimension_of};
use super::error::unsupported;
use super::file::Subgraph;
use super::operator::Operator;
use super::subgraph::Slot;
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Interval, Scalar};
use crate::operators::graph::elements::Elements;
use crate::schema::tflite::{self as schema, ActivationFunctionType, BuiltinOperator as Code};
use std::collections::HashMap;
use std::rc::Rc;

/// Truth values that are followed at most from a condition's result.
const MOST_FOLLOWED: usize = 16;

/// A subgraph of a loop, with the operator that writes each of its tensors.
struct Half<'a> {
    subgraph: Rc<Subgraph<'a>>,
    codes: HashMap<usize, (Code, schema::Operator<'a>)>,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
}

/// A comparison in the condition: `low` is below `high`, or at most `high`.
struct Comparison {
    low: Operand,
    high: Operand,
    strict: bool,
}

/// A list of tensors. Missing tensors have an index beyond all.
fn tensors(list: Option<flatbuffers::Vector<'_, i32>>) -> Vec<usize> {
    list.into_iter().flatten().map(|tensor| usize::try_from(tensor).unwrap_or(usize::MAX)).collect()
}

impl<'a> Half<'a> {
    fn of(operator: &mut Operator<'_, 'a, '_>, index: usize) -> Result<Self, Diagnostic> {
        let shared = &mut *operator.lowering.shared;
        let subgraph = shared.open(index)?;
        shared.close();
        let (inputs, outputs) = (tensors(subgraph.record.inputs()), tensors(subgraph.record.outputs()));
        let mut codes = HashMap::new();
        for record in subgraph.record.operators().into_iter().flatten() {
            let Some(code) = shared.file.codes.get(record.opcode_index() as usize) else { continue };
            if shared.file.customs.iter().all(|custom| custom.operator != code.name) {
                codes.extend(tensors(record.outputs()).into_iter().map(|tensor| (tensor, (code.code, record))));
            }
        }
        Ok(Self { subgraph, codes, inputs, outputs })
    }

    /// The operator that writes a tensor, and its operands.
    fn writer(&self, tensor: usize) -> Option<(Code, &schema::Operator<'a>, Vec<usize>)> {
        let (code, record) = self.codes.get(&tensor)?;
        let operands = record.inputs().into_iter().flatten().map(|n| usize::try_from(n).ok()).collect::<Option<Vec<usize>>>()?;
        Some((*code, record, operands))
    }

    /// A tensor as an input, a dimension of one, or the integer that it holds.
    fn operand(&self, tensor: usize) -> Option<Operand> {
        if let Some(input) = self.inputs.iter().position(|&input| input == tensor) {
            return Some(Operand::Input(input));
        }
        self.extent(tensor).or_else(|| self.number(tensor).map(Operand::Number))
    }

    /// A tensor that is a single element of an input's shape.
    fn extent(&self, tensor: usize) -> Option<Operand> {
        let (code, record, operands) = self.writer(tensor)?;
        let [shape, position, ..] = operands[..] else { return None };
        let is_element = match code {
            Code::STRIDED_SLICE => record.builtin_options_as_strided_slice_options().is_some_and(|options| {
                options.shrink_axis_mask() == 1 && options.begin_mask() == 0 && options.ellipsis_mask() == 0 && options.new_axis_mask() == 0
            }),
            Code::GATHER => {
                record.builtin_options_as_gather_options().is_none_or(|options| options.axis() == 0 && options.batch_dims() == 0)
            }
            _ => false,
        };
        let (Code::SHAPE, _, shaped) = self.writer(shape).filter(|_| is_element)? else { return None };
        let input = self.inputs.iter().position(|input| shaped.first() == Some(input))?;
        Some(Operand::Extent(input, self.number(position)?))
    }

    /// The integer that a constant of one element holds.
    fn number(&self, tensor: usize) -> Option<i64> {
        let info = self.subgraph.tensors.get(tensor)?.as_ref().ok()?;
        let is_integer = matches!(info.element, ElementType::I32 | ElementType::I64) && !info.is_variable;
        let bytes = info.data.as_ref()?.bytes();
        let is_one = bytes.len() as u64 * 8 == u64::from(info.element.bits());
        (is_integer && is_one).then(|| Scalar::from_bytes(info.element, bytes).as_i64())
    }

    /// The difference of an input from one iteration to the next; `None` if it changes otherwise.
    fn step(&self, input: usize) -> Option<i64> {
        let (code, record, operands) = self.writer(*self.outputs.get(input)?)?;
        let [a, b] = operands[..] else { return None };
        let (a, b) = (self.operand(a)?, self.operand(b)?);
        let activation = match code {
            Code::ADD => record.builtin_options_as_add_options().map(|options| options.fused_activation_function()),
            Code::SUB => record.builtin_options_as_sub_options().map(|options| options.fused_activation_function()),
            _ => return None,
        };
        if activation.is_some_and(|activation| activation != ActivationFunctionType::NONE) {
            return None;
        }
        match (code, a, b) {
            (Code::ADD, Operand::Input(counted), Operand::Number(n)) | (Code::ADD, Operand::Number(n), Operand::Input(counted)) => {
                (counted == input).then_some(n)
            }
            (_, Operand::Input(counted), Operand::Number(n)) if counted == input => n.checked_neg(),
            _ => None,
        }
    }

    /// Tests whether an iteration hands on an input unchanged.
    fn keeps(&self, input: usize) -> bool {
        self.inputs.get(input) == self.outputs.get(input)
    }

    /// The comparisons that hold if the first output is true.
    fn comparisons(&self) -> Vec<Comparison> {
        let (mut found, mut open) = (Vec::new(), self.outputs.first().copied().into_iter().collect::<Vec<usize>>());
        for _ in 0..MOST_FOLLOWED {
            let Some(tensor) = open.pop() else { break };
            let Some((code, _, operands)) = self.writer(tensor) else { continue };
            let [a, b] = operands[..] else { continue };
            let (low, high, strict) = match code {
                Code::LOGICAL_AND => {
                    open.extend([a, b]);
                    continue;
                }
                Code::LESS => (a, b, true),
                Code::LESS_EQUAL => (a, b, false),
                Code::GREATER => (b, a, true),
                Code::GREATER_EQUAL => (b, a, false),
                _ => continue,
            };
            if let (Some(low), Some(high)) = (self.operand(low), self.operand(high)) {
                found.push(Comparison { low, high, strict });
            }
        }
        found
    }
}

/// The counters of a loop over these operands.
///
/// # Errors
/// When there are no such subgraphs.
pub(super) fn counters(
    operator: &mut Operator<'_, '_, '_>,
    condition: usize,
    body: usize,
    (operands, arguments): (&[Slot], &[Argument]),
) -> Result<Vec<Counter>, Diagnostic> {
    let (condition, body) = (Half::of(operator, condition)?, Half::of(operator, body)?);
    if condition.inputs.len() != operands.len() || body.inputs.len() != operands.len() {
        return Err(unsupported("the condition or the body of a loop takes another number of inputs"));
    }
    let comparisons = condition.comparisons();
    let mut found = Vec::new();
    for input in (0..operands.len()).filter(|&input| matches!(arguments[input], Argument::Tensor(_))) {
        let Some(step) = body.step(input) else { continue };
        // Numbers that no iteration changes are known from before the loop.
        let before = |operator: &Operator<'_, '_, '_>, operand: Operand| match operand {
            Operand::Number(n) => Some(Interval::exactly(n)),
            Operand::Input(other) if other == input || body.keeps(other) => within(operator, operands[other]),
            Operand::Extent(other, dimension) if body.keeps(other) => {
                let graph = &operator.lowering.graph;
                dimension_of(graph, operands, other, dimension).map(|extent| graph.interval(extent))
            }
            Operand::Input(_) | Operand::Extent(..) => None,
        };
        let Some(mut interval) = before(operator, Operand::Input(input)) else { continue };
        if step > 0 {
            interval.high = i64::MAX
        } else {
            interval.low = i64::MIN
        }
        let mut below = None;
        for comparison in &comparisons {
            let least = i64::from(comparison.strict);
            if comparison.low == Operand::Input(input)
                && let Some(limit) = before(operator, comparison.high)
            {
                interval.high = interval.high.min(limit.high.saturating_sub(least));
                below = below.or(Some(comparison.high).filter(|high| comparison.strict && !matches!(high, Operand::Number(_))));
            }
            if comparison.high == Operand::Input(input)
                && let Some(limit) = before(operator, comparison.low)
            {
                interval.low = interval.low.max(limit.low.saturating_add(least));
            }
        }
        let is_limited = interval.high < i64::MAX;
        interval.high = interval.high.min(i64::from(i32::MAX));
        if interval.low >= 0 && interval.low <= interval.high {
            found.push(Counter { input, interval, step, below, is_limited });
        }
    }
    Ok(found)
}

/// The range of an operand of one integer before the loop.
fn within(operator: &Operator<'_, '_, '_>, slot: Slot) -> Option<Interval> {
    let Slot::Value(value) = slot else { return None };
    let graph = &operator.lowering.graph;
    let ty = graph.function().tensor(value);
    let is_integer = matches!(ty.element, ElementType::I32 | ElementType::I64) && ty.static_elements() == Some(1);
    Elements::default().interval(graph, value, 0).filter(|_| is_integer)
}
