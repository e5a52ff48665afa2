//! The driver's functions in the driver language, printed on request.

use super::compile::CompiledModel;
use super::driver::language::Function;
use super::driver::language::text::Names;
use std::fmt;

/// The driver's functions in the driver language, and the names of their symbols.
#[derive(Clone, Debug)]
pub struct WrittenDriver {
    /// The driver's functions, each with its number.
    written: Vec<(usize, Function)>,
    functions: Vec<String>,
    imports: Vec<String>,
    data: Vec<String>,
}

impl From<&CompiledModel> for WrittenDriver {
    fn from(model: &CompiledModel) -> Self {
        let mut driver = Self {
            written: vec![],
            functions: Vec::with_capacity(model.functions.len()),
            imports: model.imports.iter().map(|import| import.symbol.clone()).collect(),
            data: model.data.iter().map(|section| section.name.to_string()).collect(),
        };
        for (number, function) in model.functions.iter().enumerate() {
            driver.functions.push(function.name.clone());
            driver.written.extend(function.written.clone().map(|written| (number, written)));
        }
        driver
    }
}

/// Prints the functions in the driver language.
impl fmt::Display for WrittenDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names { functions: &self.functions, imports: &self.imports, data: &self.data };
        for (position, (number, function)) in self.written.iter().enumerate() {
            let between = if position == 0 { "" } else { "\n" };
            write!(f, "{between}{}", function.text(&self.functions[*number], names))?;
        }
        Ok(())
    }
}
