//! What the methods of a program have in common: the file, its constants, names already taken.

use super::graph;
use super::program::Form;
use super::reader::File;
use crate::diagnostic::Diagnostic;
use crate::ir::{Constant, ConstantData, Data, Module, TensorType};
use std::collections::{HashMap, HashSet};

/// State of loading a program.
pub struct Shared {
    /// The file.
    pub file: File,
    /// Shapes that users give inputs of dynamic shape, by input number.
    pub shapes: Vec<(usize, Vec<u64>)>,
    constants: HashMap<(u32, u64), Vec<(Form, Constant)>>,
    names: HashSet<String>,
}

impl Shared {
    /// Nothing loaded yet.
    pub fn new(file: File, shapes: Vec<(usize, Vec<u64>)>) -> Self {
        Self { file, shapes, constants: HashMap::new(), names: HashSet::new() }
    }

    /// The constant in a buffer of the file, in row-major order.
    ///
    /// # Errors
    /// When the file has no such bytes.
    pub fn constant(&mut self, module: &mut Module, buffer: u32, form: &Form) -> Result<Constant, Diagnostic> {
        let known = self.constants.entry((buffer, form.bytes())).or_default();
        if let Some((_, constant)) = known.iter().find(|(have, _)| have == form) {
            return Ok(*constant);
        }
        let data = self.file.constant(buffer, form.bytes())?;
        let constant = add_row_major(module, form, data);
        known.push((form.clone(), constant));
        Ok(constant)
    }

    /// A name for a function that no other has, close to the one wanted.
    pub fn function_name(&mut self, wanted: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '_' };
        let wanted: String = wanted.chars().map(plain).collect();
        let wanted = if wanted.is_empty() { "method".to_owned() } else { wanted };
        let mut name = wanted.clone();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    }
}

/// Adds a constant whose bytes lie in the order of a form.
pub fn add_row_major(module: &mut Module, form: &Form, data: Data) -> Constant {
    let physical = ConstantData { ty: TensorType::of(form.element, &form.physical_shape()), data };
    if form.layout.order().is_none() {
        return module.add_constant(physical.ty, physical.data);
    }
    match graph::transposed(&physical, &graph::inverse(&graph::order(form))) {
        Some(logical) => module.add_constant(logical.ty, logical.data),
        None => module.add_constant(physical.ty, physical.data),
    }
}
