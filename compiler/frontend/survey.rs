//! The contents of a file, even if it cannot be compiled: its methods with the names of their tensors, and its operators.

/// The contents of a model file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// The methods that users call.
    pub methods: Vec<MethodNames>,
    /// The operators in the order of their first use.
    pub operators: Vec<OperatorCount>,
    /// Lists of labels of inputs and outputs.
    pub labels: Vec<LabelFile>,
    /// The description of the model as a whole.
    pub about: About,
    /// Further contents of each method, in formats that have them.
    pub contents: Vec<MethodContents>,
}

/// A file's description of its model. Missing entries are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// The purpose of the model.
    pub description: String,
    /// The author.
    pub author: String,
    /// The licence.
    pub license: String,
}

impl About {
    /// The entries that are not empty, with their names.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("description", &self.description), ("author", &self.author), ("license", &self.license)];
        all.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.as_str()))
    }
}

/// A method's memory, its delegates, and the sources of its instructions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodContents {
    /// Bytes of each memory area that the file plans.
    pub area_bytes: Vec<u64>,
    /// Parts of the method that were given to back ends.
    pub delegates: Vec<DelegateContents>,
    /// The instructions for which the file has source lines.
    pub sources: Vec<InstructionSource>,
}

/// A part of a method that was given to a back end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelegateContents {
    /// The back end.
    pub name: String,
    /// The nodes of its graph, if it is one that is read.
    pub nodes: Vec<NodeContents>,
}

/// A node of a back end's graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeContents {
    /// Its name in the back end's format.
    pub name: String,
    /// Type and shape of its result: `i8[1, 8, 8, 16]`.
    pub result: String,
}

/// The source of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstructionSource {
    /// Its position in the method.
    pub index: usize,
    /// Its operator.
    pub name: String,
    /// The lines that made it, the innermost first.
    pub frames: Vec<Frame>,
}

/// A line of the program that a model was exported from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The file.
    pub file: String,
    /// The line's number.
    pub line: i64,
    /// The function.
    pub function: String,
    /// The line itself.
    pub text: String,
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

/// A list of labels, mostly for the elements of an output.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LabelFile {
    /// Set for an output.
    pub is_output: bool,
    /// The number of the input or output.
    pub port: usize,
    /// The name of the list.
    pub file: String,
    /// Its language; empty for none.
    pub locale: String,
    /// The labels in order.
    pub labels: Vec<String>,
}

/// An operator of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorCount {
    /// Its name in the file's vocabulary.
    pub name: String,
    /// The number of uses.
    pub count: usize,
    /// `true` if the operator is supported at all.
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
