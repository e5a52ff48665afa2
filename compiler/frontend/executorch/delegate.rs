//! Parts of programs that were given to back ends, whichever these are.

use super::fault::Fault;
use super::reader::File;
use crate::diagnostic::Diagnostic;
use crate::schema::program as schema;
use std::any::Any;
use std::fmt::Debug;
use std::rc::Rc;

/// A part of the program that was given to a back end.
#[derive(Clone, Debug)]
pub struct Delegate {
    /// The name of the back end.
    pub name: String,
    /// What it computes, if it is one whose graphs are read.
    pub graph: Option<Rc<dyn Graph>>,
}

/// What a delegate computes.
pub trait Graph: Any + Debug {
    /// The arguments of a call that the graph reads, and those that it writes.
    fn parted(&self, args: &[usize]) -> (Vec<usize>, Vec<usize>);

    /// The operators of the graph by their names, and whether each is one that is translated; nothing of graphs of which all are.
    fn operators(&self) -> Vec<(&str, bool)>;
}

/// Reads a delegate of a method, which comes with its number: programs do not know their back ends.
pub type Read = fn(&File, &str, (usize, schema::BackendDelegate<'_>)) -> Result<Delegate, Diagnostic>;

/// The register of an argument of a delegate's call.
///
/// # Errors
/// When there are fewer.
pub fn register(args: &[usize], argument: usize) -> Result<usize, Fault> {
    args.get(argument).copied().ok_or_else(|| {
        Fault::invalid("the delegate is called with too few arguments")
            .expected(format!("at least {}", argument + 1), args.len().to_string())
    })
}
