//! What a file holds, whether or not it can be compiled: its methods with the names of their tensors, and its operators.

/// The contents of a model file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// What users call.
    pub methods: Vec<MethodNames>,
    /// The operators in the order of their first use.
    pub operators: Vec<OperatorCount>,
}

/// A method, and how the file calls its inputs and outputs. Names may be empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodNames {
    /// Its name.
    pub name: String,
    /// Names of its inputs.
    pub inputs: Vec<String>,
    /// Names of its outputs.
    pub outputs: Vec<String>,
}

/// An operator of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorCount {
    /// Its name in the file's vocabulary.
    pub name: String,
    /// How often it is used.
    pub count: usize,
    /// Whether there is a lowering for it at all.
    pub is_known: bool,
}

impl Survey {
    /// Counts one use of an operator.
    pub(super) fn count(&mut self, name: &str, is_known: bool) {
        match self.operators.iter_mut().find(|operator| operator.name == name) {
            Some(operator) => operator.count += 1,
            None => self.operators.push(OperatorCount { name: name.to_owned(), count: 1, is_known }),
        }
    }
}
