//! Places of a model file.

/// The origin of an instruction, for errors and profiles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceData {
    /// The subgraph or method.
    pub function: String,
    /// The operator's position in it.
    pub operator: u32,
    /// The operator's name in the file's own vocabulary.
    pub operator_name: String,
    /// The name of the tensor it computes.
    pub tensor: String,
    /// `true` if the file gives the operator to a GPU.
    pub gpu: bool,
}
