//! Data shared by the methods of a program: the file, its constants, and names already taken.

use super::data_file::DataFile;
use super::layouts::Layouts;
use super::program::{Form, Plan};
use super::reader::File;
use super::states::SharedStates;
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::delegates::container::Source;
use crate::frontend::{Bound, LoadOptions};
use crate::ir::{Constant, ConstantData, Data, Module, TensorType};
use crate::operators::graph::facts::Facts;
use crate::operators::graph::movement::inverse;
use std::collections::{BTreeMap, HashMap, HashSet};

/// See [`Shared::most_steps`].
const MOST_STEPS: usize = 1 << 18;

/// State of loading a program.
pub struct Shared {
    /// The file.
    pub file: File,
    /// Shapes that users give inputs of dynamic shape, by input number.
    pub shapes: Vec<(usize, Vec<u64>)>,
    /// Bounds that users give dimensions of inputs of dynamic shape.
    pub bounds: Vec<Bound>,
    /// The facts about inputs' extents that were found so far, by method. Registers number the integers that are read from tensors.
    pub facts: BTreeMap<String, Facts>,
    /// `true` if extents had to be equal that are not known to be.
    pub unrelated: bool,
    /// `true` if such extents are compared at run time.
    pub checks_extents: bool,
    /// The maximum number of instructions and operands that a method unfolds to. It limits loops that never end.
    pub most_steps: usize,
    /// The states that several methods share.
    pub states: SharedStates,
    /// The layouts of constants.
    layouts: Layouts,
    /// Files of tensors beside the program.
    data: Vec<DataFile>,
    constants: HashMap<(u32, u64), Vec<(Form, Constant)>>,
    /// The constants of these files, by name.
    external: HashMap<String, Vec<(Form, Constant)>>,
    /// The constants of delegates, by name.
    parts: HashMap<String, Vec<(Form, Constant)>>,
    names: HashSet<String>,
}

impl Shared {
    /// Creates an empty state.
    pub fn new(file: File, options: &LoadOptions, data: Vec<DataFile>, plans: &[Plan]) -> Self {
        Self {
            file,
            shapes: options.shapes.clone(),
            bounds: options.bounds.clone(),
            facts: BTreeMap::new(),
            unrelated: false,
            checks_extents: false,
            most_steps: options.most_steps.unwrap_or(MOST_STEPS),
            states: SharedStates::default(),
            layouts: Layouts::of(plans),
            data,
            constants: HashMap::new(),
            external: HashMap::new(),
            parts: HashMap::new(),
            names: HashSet::new(),
        }
    }

    /// Restarts the translation in an empty module, and keeps the facts found so far.
    pub fn begin_again(&mut self) {
        self.facts.values_mut().for_each(Facts::begin_again);
        self.unrelated = false;
        self.constants.clear();
        self.external.clear();
        self.parts.clear();
        self.names.clear();
        self.states.begin_again();
    }

    /// Tests whether new facts were found since the translation began, so that it must be repeated.
    pub fn is_renewed(&self) -> bool {
        self.facts.values().any(Facts::is_renewed)
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
        let constant = add_view(module, &self.layouts.of_buffer(buffer, form), &form.shape, data);
        known.push((form.clone(), constant));
        Ok(constant)
    }

    /// The constant of a name in a file beside the program, in row-major order.
    ///
    /// # Errors
    /// When no file has it, or has another.
    pub fn external(&mut self, module: &mut Module, name: &str, form: &Form) -> Result<Constant, Diagnostic> {
        let known = self.external.entry(name.to_owned()).or_default();
        if let Some((_, constant)) = known.iter().find(|(have, _)| have == form) {
            return Ok(*constant);
        }
        for file in &self.data {
            if let Some((lies, data)) = file.tensor(name, &self.layouts.of_name(name, form))? {
                let constant = add_view(module, lies, &form.shape, data);
                known.push((form.clone(), constant));
                return Ok(constant);
            }
        }
        Err(elsewhere(name))
    }

    /// The bytes of a delegate's constant: its own, or the named ones of the program or of a file beside it.
    ///
    /// # Errors
    /// A name that nothing has.
    pub fn bytes_of(&self, source: &Source) -> Result<Data, Diagnostic> {
        let name = match source {
            Source::Bytes(data) => return Ok(data.clone()),
            Source::Named(name) => name,
        };
        let beside = || self.data.iter().find_map(|file| file.bytes(name));
        match self.file.named(name)?.or_else(beside) {
            Some(data) => Ok(data),
            None => Err(elsewhere(name)),
        }
    }

    /// A delegate's constant as a row-major tensor.
    ///
    /// # Errors
    /// When nobody has its bytes, or they are too few.
    pub fn part(&mut self, module: &mut Module, source: &Source, form: &Form) -> Result<Constant, Diagnostic> {
        let name = if let Source::Named(name) = source { Some(name) } else { None };
        let known = name.and_then(|name| self.parts.get(name)).into_iter().flatten().find(|(have, _)| have == form);
        if let Some((_, constant)) = known {
            return Ok(*constant);
        }
        let data = self.bytes_of(source)?;
        let found = data.bytes().len();
        let data = usize::try_from(form.bytes()).ok().and_then(|length| data.slice(0..length)).ok_or_else(|| {
            Diagnostic::new(codes::PROGRAM_STRUCTURE, "a constant of a delegate is shorter than its tensor")
                .expected(format!("{} bytes", form.bytes()), found.to_string())
        })?;
        let constant = add_row_major(module, form, data);
        if let Some(name) = name {
            self.parts.entry(name.clone()).or_default().push((form.clone(), constant));
        }
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

fn elsewhere(name: &str) -> Diagnostic {
    let message = format!("the constant {name:?} is in another file (.ptd)");
    Diagnostic::new(codes::CONSTANT_ELSEWHERE, message).help("name the file that has it: --data W.ptd")
}

/// Adds a constant whose bytes lie in the order of a form.
pub fn add_row_major(module: &mut Module, form: &Form, data: Data) -> Constant {
    add_view(module, form, &form.shape, data)
}

/// Adds a constant of shape `shape` with the elements of a tensor that lies in the form `lies`.
fn add_view(module: &mut Module, lies: &Form, shape: &[u64], data: Data) -> Constant {
    let physical = ConstantData { ty: TensorType::of(lies.element, &lies.physical_shape()), data };
    let ordered = lies.layout.order().and_then(|_| physical.permuted(&inverse(&lies.order())));
    module.add_constant(TensorType::of(lies.element, shape), ordered.unwrap_or(physical).data)
}
