//! Queries on operators with their fields.

use super::field::{Reference, ReferenceMut};
use super::rule::Context;
use super::table::Operation;
use crate::attribute::Attribute;
use crate::entities::{Constant, Func, Value};
use crate::fault::Misfit;
use crate::scalar::ScalarOp;
use crate::type_error::TypeError;
use crate::types::{Extent, Type};

impl Operation {
    /// The types of the results on these operands.
    ///
    /// # Errors
    /// When operands and fields do not fit each other.
    pub fn infer(&self, cx: &Context<'_>) -> Result<Vec<Type>, TypeError> {
        let (expected, found) = (self.op().row().operands, cx.operands.len());
        let counted = cx.require(expected.allows(found), || Misfit::Operands { expected, found });
        counted.and_then(|()| self.infer_unchecked(cx)).map_err(|misfit| TypeError { operator: self.op(), misfit })
    }

    /// The fields of the text form by their names.
    pub fn fields(&self) -> Vec<(&'static str, Attribute)> {
        let written = self.field_list().into_iter().filter(|(_, field)| !field.is_left_out());
        written.map(|(name, field)| (name, field.attribute())).collect()
    }

    /// Everything that the fields name outside of the instruction.
    pub fn references(&self) -> impl Iterator<Item = (&'static str, Reference<'_>)> {
        self.field_list().into_iter().map(|(name, field)| (name, field.reference()))
    }

    /// The extents in the fields.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        let lists = self.references().map(|(_, reference)| if let Reference::Extents(list) = reference { list } else { &[] });
        lists.flat_map(<[Extent]>::iter).copied()
    }

    /// The index values in the fields.
    pub fn index_values(&self) -> impl Iterator<Item = Value> {
        self.extents().filter_map(|extent| if let Extent::Value(value) = extent { Some(value) } else { None })
    }

    /// The functions that the fields name.
    pub fn functions(&self) -> impl Iterator<Item = Func> {
        self.references().filter_map(|(_, reference)| if let Reference::Function(function) = reference { Some(function) } else { None })
    }

    /// Visits every extent in the fields.
    pub fn each_extent(&mut self, mut visit: impl FnMut(&mut Extent)) {
        for (_, field) in self.field_list_mut() {
            if let ReferenceMut::Extents(list) = field.reference_mut() {
                list.iter_mut().for_each(&mut visit);
            }
        }
    }

    /// Visits every constant that the fields name, tables of expressions among them.
    pub fn each_constant(&mut self, mut visit: impl FnMut(&mut Constant)) {
        for (_, field) in self.field_list_mut() {
            match field.reference_mut() {
                ReferenceMut::Constant(constant) => visit(constant),
                ReferenceMut::Expression(expression) => {
                    for node in expression.nodes.values_mut() {
                        if let ScalarOp::Lut(table) = &mut node.op {
                            visit(table);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Tests whether the operator has control flow or state, or is the application's. Equal instructions must then not be merged.
    pub fn has_effect(&self) -> bool {
        matches!(self, Self::If(_) | Self::While(_) | Self::Call(_) | Self::LoadState(_) | Self::StoreState(_) | Self::External(_))
    }
}
