//! Instructions that cannot be typed.

use super::fault::Misfit;
use super::operators::Op;

/// An operator whose operands and fields do not fit each other.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{operator}: {misfit}")]
pub struct TypeError {
    /// The operator.
    pub operator: Op,
    /// The mismatch.
    pub misfit: Box<Misfit>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Ranks, Subject};
    use crate::{ElementType, Extent, FunctionBuilder, Module, TensorType, Type};

    #[test]
    fn an_error_says_which_operator_what_is_wrong_and_what_must_be() {
        let mut module = Module::default();
        let mut b = FunctionBuilder::new(&mut module, "main");
        let x = b.param(Type::Tensor(TensorType::of(ElementType::F32, &[2, 3])), None);
        let error = b.transpose(x, vec![0]).expect_err("the permutation is too short");
        let expected = Misfit::Rank { subject: Subject::Field("permutation"), expected: Ranks::Exactly(2), found: 1 };
        assert_eq!(error, TypeError { operator: Op::Transpose, misfit: Box::new(expected) });
        assert_eq!(error.to_string(), "transpose: permutation has 1 numbers for 2 dimensions");
        let error = b.concat(&[], 0).expect_err("there is nothing to join");
        assert_eq!(error.to_string(), "concat: takes 1 or more operands, 0 are given");
        let error = b.reshape(x, vec![Extent::Static(7)]).expect_err("there are six elements");
        assert_eq!(error.to_string(), "reshape: operand 0 has 6 elements, there must be 7");
    }
}
