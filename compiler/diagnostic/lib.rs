//! Diagnostics: an error, its location in the model, the expected input, and advice.

#[cfg(test)]
#[path = "../../tests/support/bless.rs"]
mod bless;
pub mod codes;
mod kind;
mod suggest;

pub use codes::Code;
pub use kind::Kind;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
pub use suggest::nearest;

/// A place in a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Location {
    /// Path of the file as the user wrote it.
    pub file: Option<String>,
    /// Method or subgraph.
    pub function: Option<String>,
    /// The operator's position, and its name in the file's vocabulary.
    pub operator: Option<(u32, String)>,
    /// The tensor's name.
    pub tensor: Option<String>,
}

/// One diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Code of the error, which tells whose fault it is.
    pub code: Code,
    /// The error in one sentence without a full stop.
    pub message: String,
    /// Location in the model.
    pub location: Box<Location>,
    /// Expected input.
    pub expected: Option<String>,
    /// Actual input.
    pub found: Option<String>,
    /// Advice: the next step.
    pub help: Option<String>,
    /// Number of places with the same error; the location is the first of them.
    pub places: u32,
}

impl Diagnostic {
    /// Makes a diagnostic without a location.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), location: Box::default(), expected: None, found: None, help: None, places: 1 }
    }

    /// Returns whose fault it is.
    pub fn kind(&self) -> Kind {
        self.code.kind()
    }

    /// Adds expected and actual input.
    pub fn expected(mut self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self.found = Some(found.into());
        self
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the file, if there is none.
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.location.file.get_or_insert(file.into());
        self
    }

    /// Sets the method or subgraph, if there is none.
    pub fn in_function(mut self, function: impl Into<String>) -> Self {
        self.location.function.get_or_insert(function.into());
        self
    }

    /// Sets the operator, if there is none.
    pub fn at_operator(mut self, index: u32, name: impl Into<String>) -> Self {
        self.location.operator.get_or_insert((index, name.into()));
        self
    }

    /// Sets the tensor, if there is none.
    pub fn about_tensor(mut self, tensor: impl Into<String>) -> Self {
        self.location.tensor.get_or_insert(tensor.into());
        self
    }
}

/// Adds the most similar name to a diagnostic about an unknown word.
pub fn did_you_mean<'a>(error: Diagnostic, word: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    match nearest(word, names) {
        Some(name) => error.help(format!("did you mean {name}?")),
        None => error,
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code, self.message)?;
        let mut place = Vec::new();
        place.extend(self.location.file.clone());
        place.extend(self.location.function.as_ref().map(|function| format!("in {function}")));
        place.extend(self.location.operator.as_ref().map(|(index, name)| format!("operator {index} {name}")));
        place.extend(self.location.tensor.as_ref().map(|tensor| format!("tensor {tensor:?}")));
        if !place.is_empty() {
            write!(f, "\n  --> {}", place.join(", "))?;
        }
        if self.places > 1 {
            write!(f, "\n  and at {} more place{}", self.places - 1, if self.places > 2 { "s" } else { "" })?;
        }
        for (label, text) in [("expected", &self.expected), ("found", &self.found), ("help", &self.help)] {
            if let Some(text) = text {
                // Further lines are indented to the start of the text.
                write!(f, "\n  {label:>8}: {}", text.replace('\n', "\n            "))?;
            }
        }
        Ok(())
    }
}

/// One or more diagnostics; all unsupported operators of a model are reported together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostics(pub Vec<Diagnostic>);

/// Key of equal diagnostics: code, message, operator's name, expected and actual input.
type Same = (Code, String, [Option<String>; 3]);

impl Diagnostics {
    /// Merges equal errors about unsupported operators of one name. The first one stays and counts them.
    pub fn grouped(self) -> Self {
        let mut groups: Vec<Diagnostic> = Vec::new();
        let mut known: HashMap<Same, usize> = HashMap::new();
        for diagnostic in self.0 {
            if diagnostic.kind() != Kind::Unsupported {
                groups.push(diagnostic);
                continue;
            }
            let operator = diagnostic.location.operator.as_ref().map(|(_, name)| name.clone());
            let Diagnostic { code, message, expected, found, .. } = &diagnostic;
            match known.entry((*code, message.clone(), [operator, expected.clone(), found.clone()])) {
                Entry::Occupied(first) => groups[*first.get()].places += diagnostic.places,
                Entry::Vacant(entry) => {
                    entry.insert(groups.len());
                    groups.push(diagnostic);
                }
            }
        }
        Self(groups)
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
impl std::error::Error for Diagnostics {}
