//! Extents that are known only when the model runs: of inputs that `--bound` makes so, and what operators make of them.
//!
//! Operators that were written for known shapes ask for their operands by `input`, which refuses others. Those that ask by `any_input`
//! work on the extents, or on dimensions that they have required to be known.

use super::error::{invalid, unsupported};
use super::operator::{Operand, Operator};
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::Bound;
use crate::ir::{ElementType, Extent, Interval, Value};
use crate::operators::graph::elements::Elements;
pub(super) use crate::operators::graph::elements::ListItem;
use crate::operators::{Error, Graph};
use std::rc::Rc;

/// Lists of sizes and positions are no longer where they are computed when the model runs.
const MOST_ITEMS: u64 = 256;

/// Makes the bounded extents of an input dynamic. `bounds` are those of this input.
///
/// # Errors
/// When it has no such dimension.
pub(super) fn bound_input(graph: &mut Graph<'_>, input: Value, bounds: &[Bound]) -> Result<(), Diagnostic> {
    for bound in bounds {
        let rank = graph.rank(input);
        if bound.dimension >= rank {
            let message = format!("a bound is given for dimension {} of input {}", bound.dimension, bound.port);
            return Err(
                Diagnostic::new(codes::SHAPE_GIVEN, message).expected(format!("a dimension below {rank}"), bound.dimension.to_string())
            );
        }
        let most =
            i64::try_from(bound.most).map_err(|_| invalid(codes::TOO_MANY_ELEMENTS, "the shape has too many dimensions or elements"))?;
        graph.measure(input, bound.dimension, Interval { low: 1, high: most });
    }
    Ok(())
}

impl Operator<'_, '_, '_> {
    /// Operand number `index`, which must be there; its extents may be dynamic.
    pub fn any_input(&mut self, index: usize) -> Result<Operand, Diagnostic> {
        let found = self.any_optional_input(index)?;
        found.ok_or_else(|| invalid(codes::OPERAND_COUNT, format!("input {index} is missing")))
    }

    /// Operand number `index`, if it is there; its extents may be dynamic.
    pub fn any_optional_input(&mut self, index: usize) -> Result<Option<Operand>, Diagnostic> {
        let Some(&Some(tensor)) = self.inputs.get(index) else { return Ok(None) };
        let info = self.lowering.info(tensor)?;
        let value = self.lowering.read(tensor)?;
        Ok(Some(self.operand(value, info)))
    }

    /// A value as an operand of which the file says so much.
    pub fn operand(&self, value: Value, info: Rc<TensorInfo>) -> Operand {
        Operand { value, info, shape: self.lowering.graph.bounds(value), extents: self.lowering.graph.extents(value) }
    }

    /// The extents of a value.
    pub fn extents_of(&self, value: Value) -> Vec<Extent> {
        self.lowering.graph.extents(value)
    }

    /// What an extent may be.
    pub fn interval(&self, extent: Extent) -> Interval {
        self.lowering.graph.interval(extent)
    }

    /// Refuses an operand whose extents from dimension `first` on are not all known.
    pub fn require_known(&self, operand: &Operand, first: usize) -> Result<(), Diagnostic> {
        let known = operand.extents.get(first..).unwrap_or_default().iter().all(|extent| extent.as_static().is_some());
        if known { Ok(()) } else { Err(dynamic().about_tensor(&operand.info.name)) }
    }

    /// Makes the first extents of an operand others that they have to be, and says whether they can be these. Extents of inputs become one; those of
    /// other tensors are to be asked for again afterwards.
    pub fn require_first(&mut self, operand: &mut Operand, wanted: &[Extent]) -> Result<bool, Diagnostic> {
        if operand.rank() < wanted.len() {
            return Ok(false);
        }
        for (axis, &extent) in wanted.iter().enumerate() {
            if matches!((operand.extents[axis], extent), (Extent::Static(a), Extent::Static(b)) if a != b) {
                return Ok(false);
            }
            operand.value = self.graph().agree(operand.value, axis, extent)?;
        }
        *operand = self.operand(operand.value, operand.info.clone());
        Ok(true)
    }

    /// Appends a change of shape, unless it changes nothing.
    pub fn reshape_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Diagnostic> {
        Ok(self.graph().reshape(value, shape)?)
    }

    /// Appends a repetition along new dimensions and those of extent 1, unless it changes nothing.
    pub fn broadcast_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Diagnostic> {
        Ok(self.graph().broadcast(value, shape)?)
    }

    /// The numbers of a list, a shape for instance, that may be computed from extents. Other numbers are read when the model runs, and
    /// are `bounds` at most, position by position, or what follows from the bounds of what they are computed from.
    pub fn extent_list(&mut self, operand: &Operand, what: &str, bounds: &[Option<u64>]) -> Result<Vec<ListItem>, Diagnostic> {
        self.index_list(operand, what, Some(0), bounds)
    }

    /// The same for numbers that are `least` or more; without it for numbers that may be below 0 where what they are computed from says so.
    pub fn index_list(
        &mut self,
        operand: &Operand,
        what: &str,
        least: Option<i64>,
        bounds: &[Option<u64>],
    ) -> Result<Vec<ListItem>, Diagnostic> {
        if self.evaluated(operand).is_some() {
            return Ok(self.integers(operand, what)?.into_iter().map(ListItem::Number).collect());
        }
        self.require_known(operand, 0)?;
        if operand.elements() > MOST_ITEMS {
            let error = unsupported(format!("so many {what} that are computed when the model runs are not supported"));
            return Err(error.about_tensor(&operand.info.name).expected(format!("at most {MOST_ITEMS}"), operand.elements().to_string()));
        }
        let (mut list, mut elements) = (Vec::new(), Elements::default());
        for position in 0..operand.elements() {
            let item = match elements.item(self.graph(), operand.value, position)? {
                Some(item) => item,
                None => {
                    let range = elements.interval(self.graph(), operand.value, position);
                    let (least, bound) = match (least, range) {
                        (None, Some(range)) if range.low < 0 => (range.low, Some(u64::try_from(range.high).unwrap_or(0))),
                        _ => {
                            let given = bounds.get(position as usize).copied().flatten();
                            (least.unwrap_or(0), given.or_else(|| elements.most(self.graph(), operand.value, position)))
                        }
                    };
                    self.loaded(operand, position, what, (least, bound))?
                }
            };
            list.push(item);
        }
        Ok(list)
    }

    /// A number from `least` to `bound` that is read when the model runs.
    fn loaded(&mut self, operand: &Operand, position: u64, what: &str, (least, bound): (i64, Option<u64>)) -> Result<ListItem, Diagnostic> {
        if !matches!(operand.element(), ElementType::I16 | ElementType::I32 | ElementType::I64) {
            return Err(invalid(codes::ELEMENT_TYPE, format!("{what} must be integers")).about_tensor(&operand.info.name));
        }
        let Some(bound) = bound.and_then(|bound| i64::try_from(bound).ok()) else {
            let message = format!("{what} that are computed when the model runs need a bound");
            let mut help = self.value_help(operand).map_or(String::new(), |help| format!("{help}; or, "));
            help.push_str("if the result is an output, give one with --bound out0.DIMENSION=N");
            return Err(unsupported(message).about_tensor(&operand.info.name).help(help));
        };
        self.lowering.wish(operand.value);
        let flat = self.reshape(operand.value, &[operand.elements()])?;
        let one = self.lowering.graph.builder.slice(flat, vec![Extent::Static(position)], vec![Extent::Static(1)], vec![1])?;
        let index = self.builder().index_load(one, Interval { low: least, high: bound })?;
        Ok(ListItem::Index(index))
    }
}

/// The error for extents that an operator must know.
pub(super) fn dynamic() -> Diagnostic {
    Error::DynamicExtent.into()
}
