//! The translator as the caller of a delegate.

use super::fault::Fault;
use super::program::Form;
use super::translate::Translator;
use crate::diagnostic::Diagnostic;
use crate::frontend::delegates::caller::Caller;
use crate::frontend::delegates::container::Source;
use crate::ir::{Data, Extent, Value};
use crate::operators::Graph;

impl<'m> Caller<'m> for Translator<'_, 'm> {
    fn graph(&mut self) -> &mut Graph<'m> {
        &mut self.graph
    }

    fn form(&self, register: usize) -> Result<&Form<Extent>, Fault> {
        Ok(&self.handle(register)?.form)
    }

    fn read(&mut self, register: usize) -> Result<Value, Fault> {
        Translator::read(self, register)
    }

    fn define(&mut self, register: usize, value: Value) -> Result<(), Fault> {
        Translator::define(self, register, value)
    }

    fn withdraw(&mut self, register: usize, fault: Fault) {
        Translator::withdraw(self, register, fault);
    }

    fn bytes_of(&self, source: &Source) -> Result<Data, Diagnostic> {
        self.shared.bytes_of(source)
    }

    fn fill(&mut self, from: &[Extent], to: &[Extent]) -> Result<(), Fault> {
        Translator::fill(self, from, to)
    }

    fn agree_beside_open(&mut self, from: &[Extent], to: &[Extent], open: usize) -> Result<(), Fault> {
        Translator::agree_beside_open(self, from, to, open)
    }
}
