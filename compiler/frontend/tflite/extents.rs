//! Run-time extents: extents of inputs that `--bound` makes dynamic, and extents that operators compute from them.
//!
//! Operators that were written for static shapes get their operands from `input`, which rejects others. Operators that use `any_input` work on
//! extents, or first require certain dimensions to be static.

use super::error::{invalid, unsupported};
use super::operator::{Operand, Operator};
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::Bound;
use crate::ir::{ElementType, Extent, Interval, Value};
use crate::operators::graph::elements::Elements;
pub(super) use crate::operators::graph::elements::ListItem;
use crate::operators::graph::facts::{InputExtent, Measured};
use crate::operators::{Error, Graph};
use std::rc::Rc;

/// The maximum length of lists of sizes and positions that are computed at run time.
const MOST_ITEMS: u64 = 256;

/// Makes the bounded extents of an input dynamic. `bounds` are the bounds of input number `number`. Facts of the method may narrow them.
///
/// # Errors
/// A bound of a dimension that the input does not have.
pub(super) fn bound_input(graph: &mut Graph<'_>, input: Value, number: usize, bounds: &[Bound]) -> Result<(), Diagnostic> {
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
        let of = InputExtent { input: number, dimension: bound.dimension };
        let interval = graph.facts.interval(of).unwrap_or(Interval { low: 1, high: most });
        let index = graph.measure(input, bound.dimension, interval);
        graph.inputs.push(Measured { index, of });
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

    /// Returns a value as an operand, with the file's description.
    pub fn operand(&self, value: Value, info: Rc<TensorInfo>) -> Operand {
        Operand { value, info, shape: self.lowering.graph.bounds(value), extents: self.lowering.graph.extents(value) }
    }

    /// The extents of a value.
    pub fn extents_of(&self, value: Value) -> Vec<Extent> {
        self.lowering.graph.extents(value)
    }

    /// The range of an extent.
    pub fn interval(&self, extent: Extent) -> Interval {
        self.lowering.graph.interval(extent)
    }

    /// Checks that an operand's extents from dimension `first` on are static.
    pub fn require_known(&self, operand: &Operand, first: usize) -> Result<(), Diagnostic> {
        let known = operand.extents.get(first..).unwrap_or_default().iter().all(|extent| extent.as_static().is_some());
        if known { Ok(()) } else { Err(dynamic().about_tensor(&operand.info.name)) }
    }

    /// Requires that the first extents of an operand equal other ones. Returns `false` if they cannot be equal. Extents of inputs are merged, so
    /// other tensors' extents must be read again afterwards.
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

    /// Requires that an operand has the shape of another one. Extents of inputs are merged, and others are compared when the model runs.
    ///
    /// # Errors
    /// Shapes that are never equal.
    pub fn require_shape_of(&mut self, operand: &mut Operand, first: &Operand) -> Result<(), Diagnostic> {
        let wanted = self.extents_of(first.value);
        if operand.rank() == wanted.len() && self.require_first(operand, &wanted)? {
            return Ok(());
        }
        let error = invalid(codes::SHAPES_DIFFER, "the operands must have one shape").about_tensor(&operand.info.name);
        Err(error.expected(format!("{:?}", first.shape), format!("{:?}", operand.shape)))
    }

    /// Appends a change of shape, unless it changes nothing.
    pub fn reshape_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Diagnostic> {
        Ok(self.graph().reshape(value, shape)?)
    }

    /// Appends a repetition along new dimensions and dimensions of extent 1, unless it changes nothing.
    pub fn broadcast_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Diagnostic> {
        Ok(self.graph().broadcast(value, shape)?)
    }

    /// The numbers of a list such as a shape, which may be computed from extents. Other numbers are read at run time. Their maxima are `bounds`,
    /// position by position, or follow from the bounds of the numbers they are computed from.
    pub fn extent_list(&mut self, operand: &Operand, what: &str, bounds: &[Option<u64>]) -> Result<Vec<ListItem>, Diagnostic> {
        self.index_list(operand, what, Some(0), bounds)
    }

    /// The numbers of a list, which are at least `least`. Without `least`, they may be negative if the numbers they are computed from allow it.
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
