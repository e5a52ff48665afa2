//! Extents that are known only when the model runs: of inputs that `--bound` makes so, and what operators make of them.
//!
//! Operators that were written for known shapes ask for their operands by `input`, which refuses others. Those that ask by `any_input`
//! work on the extents, or on dimensions that they have required to be known.

use super::elements::Elements;
use super::operator::{Operand, Operator, invalid, unsupported};
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, Kind};
use crate::frontend::Bound;
use crate::ir::{Attribute, Definition, ElementType, Extent, Function, Interval, Op, Type, Value, interval};
use std::rc::Rc;

/// Lists of sizes and positions are no longer where they are computed when the model runs.
const MOST_ITEMS: u64 = 256;

/// An operation on two indices, by its position in [`crate::ir::op::INDEX_OPERATIONS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IndexOperation {
    Add = 0,
    Subtract = 1,
    Multiply = 2,
    FloorDivide = 3,
    CeilingDivide = 4,
    Minimum = 6,
    Maximum = 7,
}

/// Makes the bounded extents of an input dynamic. `bounds` are those of this input.
///
/// # Errors
/// When it has no such dimension.
pub(super) fn bound_input(builder: &mut crate::ir::FunctionBuilder<'_>, input: Value, bounds: &[Bound]) -> Result<(), Diagnostic> {
    for bound in bounds {
        let rank = builder.tensor(input).rank();
        if bound.dimension >= rank {
            let message = format!("a bound is given for dimension {} of input {}", bound.dimension, bound.port);
            return Err(
                Diagnostic::new(320, Kind::Usage, message).expected(format!("a dimension below {rank}"), bound.dimension.to_string())
            );
        }
        let most = i64::try_from(bound.most).map_err(|_| invalid(302, "the shape has too many dimensions or elements"))?;
        let (function, axis) = (&mut builder.function, Attribute::Int(bound.dimension as i64));
        let inst = function.append(Op::ExtentOf, vec![input], vec![axis], vec![Type::Index(Interval { low: 1, high: most })], None);
        let index = function.insts[inst].results[0];
        if let Type::Tensor(ty) = &mut function.values[input].ty {
            ty.shape[bound.dimension] = Extent::Value(index);
        }
    }
    Ok(())
}

/// Whether an index is an extent of a parameter.
fn is_measured(function: &Function, index: Value) -> bool {
    let Some(inst) = function.defining_inst(index) else { return false };
    let data = &function.insts[inst];
    data.op == Op::ExtentOf && matches!(function.values[data.operands[0]].definition, Definition::Param(_))
}

/// Makes one index another one wherever a function names it.
fn replace_index(function: &mut Function, from: Value, to: Value) {
    let replace = |extent: &mut Extent| {
        if *extent == Extent::Value(from) {
            *extent = Extent::Value(to);
        }
    };
    for data in function.values.values_mut() {
        if let Type::Tensor(ty) = &mut data.ty {
            ty.shape.iter_mut().for_each(replace);
        }
    }
    for inst in function.body.clone() {
        let data = &mut function.insts[inst];
        for operand in &mut data.operands {
            if *operand == from {
                *operand = to;
            }
        }
        for attribute in &mut data.attributes {
            if let Attribute::Extents(extents) = attribute {
                extents.iter_mut().for_each(replace);
            }
        }
    }
}

impl Operator<'_, '_, '_> {
    fn function(&self) -> &Function {
        &self.lowering.builder.function
    }

    /// Operand number `index`, which must be there; its extents may be dynamic.
    pub fn any_input(&mut self, index: usize) -> Result<Operand, Diagnostic> {
        let found = self.any_optional_input(index)?;
        found.ok_or_else(|| invalid(203, format!("input {index} is missing")))
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
        Operand { value, info, shape: self.bounds_of(value), extents: self.extents_of(value) }
    }

    /// The extents of a value.
    pub fn extents_of(&self, value: Value) -> Vec<Extent> {
        self.function().tensor(value).shape.iter().map(|&extent| self.function().resolved(extent)).collect()
    }

    /// The extents of a value, its bound where one is not known.
    pub fn bounds_of(&self, value: Value) -> Vec<u64> {
        let high = |&extent: &Extent| u64::try_from(self.function().interval(extent).high).unwrap_or(0);
        self.extents_of(value).iter().map(high).collect()
    }

    /// What an extent may be.
    pub fn interval(&self, extent: Extent) -> Interval {
        self.function().interval(extent)
    }

    /// Refuses an operand whose extents from dimension `first` on are not all known.
    pub fn require_known(&self, operand: &Operand, first: usize) -> Result<(), Diagnostic> {
        let known = operand.extents.get(first..).unwrap_or_default().iter().all(|extent| extent.as_static().is_some());
        if known { Ok(()) } else { Err(dynamic().about_tensor(&operand.info.name)) }
    }

    /// Appends a change of shape, unless it changes nothing.
    pub fn reshape_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Diagnostic> {
        if self.extents_of(value) == shape {
            return Ok(value);
        }
        Ok(self.lowering.builder.reshape(value, shape.to_vec())?)
    }

    /// Appends a repetition along new dimensions and those of extent 1, unless it changes nothing.
    pub fn broadcast_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Diagnostic> {
        if self.extents_of(value) == shape {
            return Ok(value);
        }
        self.inst(Op::Broadcast, &[value], vec![Attribute::Extents(shape.to_vec())])
    }

    /// An index value of an extent.
    pub fn index(&mut self, extent: Extent) -> Result<Value, Diagnostic> {
        match extent {
            Extent::Value(index) => Ok(index),
            Extent::Static(n) => {
                let n = i64::try_from(n).map_err(|_| invalid(302, "the dimension is too large"))?;
                self.inst(Op::IndexConstant, &[], vec![Attribute::Int(n)])
            }
        }
    }

    /// An operation on two extents; a number where both are. A difference below zero is 0.
    pub fn combine(&mut self, operation: IndexOperation, a: Extent, b: Extent) -> Result<Extent, Diagnostic> {
        use IndexOperation::{Add, CeilingDivide, FloorDivide, Minimum, Multiply, Subtract};
        let word = operation as u8;
        match (operation, a.as_static(), b.as_static()) {
            (_, Some(a), Some(b)) => {
                let numbers = i64::try_from(a).ok().zip(i64::try_from(b).ok());
                let (a, b) = numbers.ok_or_else(|| invalid(302, "the dimension is too large"))?;
                return Ok(Extent::Static(interval::evaluate(word, a, b).max(0) as u64));
            }
            (Add | Subtract, _, Some(0)) | (Multiply | CeilingDivide | FloorDivide, _, Some(1)) => return Ok(a),
            (Minimum | Subtract, _, _) if a == b => return Ok(if operation == Minimum { a } else { Extent::Static(0) }),
            (Minimum, Some(0), _) | (Minimum, _, Some(0)) => return Ok(Extent::Static(0)),
            (Add, Some(0), _) | (Multiply, Some(1), _) => return Ok(b),
            _ => {}
        }
        let (a, b) = (self.index(a)?, self.index(b)?);
        let mut index = self.inst(Op::IndexBinary, &[a, b], vec![Attribute::Word(word)])?;
        if self.function().interval(Extent::Value(index)).low < 0 {
            let zero = self.index(Extent::Static(0))?;
            index = self.inst(Op::IndexBinary, &[index, zero], vec![Attribute::Word(IndexOperation::Maximum as u8)])?;
        }
        Ok(self.function().resolved(Extent::Value(index)))
    }

    /// The product of extents.
    pub fn product(&mut self, extents: &[Extent]) -> Result<Extent, Diagnostic> {
        let known = extents.iter().filter_map(|e| e.as_static()).try_fold(1u64, u64::checked_mul);
        let mut product = Extent::Static(known.ok_or_else(|| invalid(302, "the result has too many elements"))?);
        for &extent in extents.iter().filter(|e| e.as_static().is_none()) {
            product = self.combine(IndexOperation::Multiply, extent, product)?;
        }
        Ok(product)
    }

    /// Makes extents that must be equal for operands to broadcast one extent. Those of inputs are then checked by the compiled code to be
    /// equal when it is called.
    pub fn meet(&mut self, operands: &[Value]) -> Result<(), Diagnostic> {
        self.meet_but(operands, 0)
    }

    /// The same for all but some last dimensions.
    pub fn meet_but(&mut self, operands: &[Value], last: usize) -> Result<(), Diagnostic> {
        let rank = operands.iter().map(|&v| self.function().tensor(v).rank()).max().unwrap_or(0);
        for behind in last + 1..=rank {
            let mut met: Option<Extent> = None;
            for &operand in operands {
                let shape = self.extents_of(operand);
                let Some(&extent) = shape.len().checked_sub(behind).and_then(|d| shape.get(d)) else { continue };
                match met {
                    _ if extent == Extent::Static(1) => {}
                    None => met = Some(extent),
                    Some(other) => self.equate(other, extent)?,
                }
            }
        }
        Ok(())
    }

    /// Makes two extents one, if they are both extents of inputs; known ones that differ are for the type rules.
    pub fn equate(&mut self, a: Extent, b: Extent) -> Result<(), Diagnostic> {
        let (a, b) = match (a, b) {
            (Extent::Value(a), Extent::Value(b)) if a != b => (a, b),
            (Extent::Value(_), Extent::Static(n)) | (Extent::Static(n), Extent::Value(_)) => {
                return Err(unsupported(format!("an extent that is known only when the model runs would always have to be {n}")));
            }
            _ => return Ok(()),
        };
        let function = &mut self.lowering.builder.function;
        let same_bound = function.interval(Extent::Value(a)) == function.interval(Extent::Value(b));
        if !(is_measured(function, a) && is_measured(function, b) && same_bound) {
            let message = "two extents that are known only when the model runs have to be equal, which is not known";
            return Err(unsupported(message).help("extents of inputs that are always equal need the same bound"));
        }
        replace_index(function, b, a);
        Ok(())
    }

    /// The numbers of a list, a shape for instance, that may be computed from extents. Other numbers are read when the model runs, and
    /// are `bounds` at most, position by position, or what follows from the bounds of what they are computed from.
    pub fn extent_list(&mut self, operand: &Operand, what: &str, bounds: &[Option<u64>]) -> Result<Vec<ListItem>, Diagnostic> {
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
            let item = match elements.item(self, operand.value, position)? {
                Some(item) => item,
                None => {
                    let given = bounds.get(position as usize).copied().flatten();
                    let bound = given.or_else(|| elements.most(self, operand.value, position));
                    self.loaded(operand, position, what, bound)?
                }
            };
            list.push(item);
        }
        Ok(list)
    }

    /// A number that is read when the model runs.
    fn loaded(&mut self, operand: &Operand, position: u64, what: &str, bound: Option<u64>) -> Result<ListItem, Diagnostic> {
        if !matches!(operand.element(), ElementType::I16 | ElementType::I32 | ElementType::I64) {
            return Err(invalid(308, format!("{what} must be integers")).about_tensor(&operand.info.name));
        }
        let Some(bound) = bound.and_then(|bound| i64::try_from(bound).ok()) else {
            let message = format!("{what} that are computed when the model runs need a bound");
            let mut help = self.value_help(operand).map_or(String::new(), |help| format!("{help}; or, "));
            help.push_str("if the result is an output, give one with --bound out0.DIMENSION=N");
            return Err(unsupported(message).about_tensor(&operand.info.name).help(help));
        };
        self.lowering.wish(operand.value);
        let flat = self.reshape(operand.value, &[operand.elements()])?;
        let one = self.lowering.builder.slice(flat, vec![Extent::Static(position)], vec![Extent::Static(1)], vec![1])?;
        let index = self.inst(Op::IndexLoad, &[one], vec![Attribute::Interval(Interval { low: 0, high: bound })])?;
        Ok(ListItem::Index(index))
    }
}

/// One number of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListItem {
    /// Known.
    Number(i64),
    /// Known when the model runs; 0 or more.
    Index(Value),
}

impl ListItem {
    /// Of an extent.
    pub fn of(extent: Extent) -> Self {
        match extent {
            Extent::Static(n) => Self::Number(i64::try_from(n).unwrap_or(i64::MAX)),
            Extent::Value(index) => Self::Index(index),
        }
    }

    /// As an extent; `None` for a number below 0.
    pub fn extent(self) -> Option<Extent> {
        match self {
            Self::Number(n) => u64::try_from(n).ok().map(Extent::Static),
            Self::Index(index) => Some(Extent::Value(index)),
        }
    }
}

/// The error for extents that an operator must know.
pub(super) fn dynamic() -> Diagnostic {
    unsupported("a shape that is known only when the model runs is not supported here")
}
