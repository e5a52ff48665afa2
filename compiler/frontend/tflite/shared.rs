//! The state that a file's subgraphs share during lowering, and limits of their nesting.

use super::error::{invalid, unsupported};
use super::file::{File, Subgraph};
use super::given::{Found, Input};
use super::states::Variables;

use crate::diagnostic::{Diagnostic, codes};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// The maximum depth of calls between subgraphs. Each level costs native stack.
const MAX_DEPTH: usize = 48;
/// The maximum number of operators that a file expands to. Subgraphs are lowered at each call, so a small hostile file could grow without limit.
const MAX_OPERATORS: usize = 1 << 20;

/// The state of reading one file.
pub(super) struct Shared<'a> {
    pub file: &'a File<'a>,
    /// Its resource variables.
    pub variables: Variables,
    /// Requirements of inputs.
    pub found: Found,
    /// Inputs whose values operators read at run time, but would better know.
    pub wished: BTreeSet<Input>,
    subgraphs: Vec<Option<Rc<Subgraph<'a>>>>,
    /// The subgraphs that are being lowered, outermost first.
    open: Vec<usize>,
    /// Names of functions that are taken.
    names: HashSet<String>,
    operators_left: usize,
}

impl<'a> Shared<'a> {
    /// Creates the state before any subgraph is lowered.
    pub fn new(file: &'a File<'a>) -> Self {
        let subgraphs = vec![None; file.records.len()];
        Self {
            file,
            variables: Variables::default(),
            found: Found::default(),
            wished: BTreeSet::new(),
            subgraphs,
            open: Vec::new(),
            names: HashSet::new(),
            operators_left: MAX_OPERATORS,
        }
    }

    /// Begins to lower subgraph number `index`; [`Self::close`] ends it.
    pub fn open(&mut self, index: usize) -> Result<Rc<Subgraph<'a>>, Diagnostic> {
        let count = self.subgraphs.len();
        if index >= count {
            return Err(invalid(codes::SUBGRAPH_INDEX, "there is no such subgraph").expected(format!("below {count}"), index.to_string()));
        }
        if self.open.contains(&index) {
            return Err(invalid(codes::RECURSION, "a subgraph calls itself")
                .expected("an order of calls without circles", format!("subgraph {index}")));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(unsupported("subgraphs call each other too deeply").expected(format!("at most {MAX_DEPTH} levels"), "more"));
        }
        let subgraph = match &self.subgraphs[index] {
            Some(subgraph) => subgraph.clone(),
            None => self.subgraphs[index].insert(Rc::new(self.file.subgraph(index)?)).clone(),
        };
        self.open.push(index);
        Ok(subgraph)
    }

    /// Ends the subgraph that was opened last.
    pub fn close(&mut self) {
        self.open.pop();
    }

    /// Counts an operator. It is an error beyond the limit.
    pub fn spend(&mut self) -> Result<(), Diagnostic> {
        let error = || unsupported("the model expands to too many operators").expected(format!("at most {MAX_OPERATORS}"), "more");
        self.operators_left = self.operators_left.checked_sub(1).ok_or_else(error)?;
        Ok(())
    }

    /// A name that no function of the module has yet.
    pub fn function_name(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        let mut number = 1u64;
        while !self.names.insert(free.clone()) {
            number += 1;
            free = format!("{name}.{number}");
        }
        free
    }
}
