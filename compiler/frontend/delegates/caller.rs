//! The method that calls a delegate, as a graph sees it: arguments of the call are registers.

use super::container::Source;
use crate::diagnostic::Diagnostic;
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::program::Form;
use crate::ir::{Data, Extent, Value};
use crate::operators::Graph;

/// Services that a graph needs of the method that calls its delegate.
pub trait Caller<'m> {
    /// Returns the function that is built.
    fn graph(&mut self) -> &mut Graph<'m>;

    /// Returns the form of the tensor in a register.
    ///
    /// # Errors
    /// The register holds no tensor.
    fn form(&self, register: usize) -> Result<&Form<Extent>, Fault>;

    /// Returns the tensor in a register, with its dimensions in logical order.
    ///
    /// # Errors
    /// The register holds no tensor, or its bytes are unknown.
    fn read(&mut self, register: usize) -> Result<Value, Fault>;

    /// Gives a register its tensor.
    ///
    /// # Errors
    /// The tensor does not have the register's element type or shape.
    fn define(&mut self, register: usize, value: Value) -> Result<(), Fault>;

    /// Makes a register unavailable; the fault is reported if something reads it.
    fn withdraw(&mut self, register: usize, fault: Fault);

    /// Returns the bytes of a constant.
    ///
    /// # Errors
    /// No file has a constant of this name.
    fn bytes_of(&self, source: &Source) -> Result<Data, Diagnostic>;

    /// Notes that two shapes have the same number of elements.
    ///
    /// # Errors
    /// They cannot have.
    fn fill(&mut self, from: &[Extent], to: &[Extent]) -> Result<(), Fault>;

    /// Notes that the extents of a shape equal those of another one, except for the dimension `open` of the second.
    ///
    /// # Errors
    /// They cannot be equal.
    fn agree_beside_open(&mut self, from: &[Extent], to: &[Extent], open: usize) -> Result<(), Fault>;
}
