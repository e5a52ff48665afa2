//! Calls of a test.

use crate::ir::Tensor;

/// A call of a test.
#[derive(Clone, Debug)]
pub struct TestCall {
    /// Name in the test's output.
    pub name: String,
    /// Number of the method.
    pub method: usize,
    /// Inputs in the types of the method.
    pub inputs: Vec<Tensor>,
    /// Expected output of each port in the type of the method; `None` if nothing is expected.
    pub expected: Vec<Option<Tensor>>,
}
