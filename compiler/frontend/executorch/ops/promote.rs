//! Type promotion as PyTorch does it: tensors with dimensions decide within a category (truth value, integer, float), then tensors
//! without, then numbers; a higher category always wins.

use super::super::fault::Fault;
use super::super::registers::Number;
use super::call::{Call, Operand};
use crate::ir::ElementType;

fn category(element: ElementType) -> u8 {
    if element.is_float() { 2 } else { u8::from(element.is_integer()) }
}

/// The smallest type that both fit, by PyTorch's table.
///
/// # Errors
/// For 16- to 64-bit unsigned integers beside other integers, which PyTorch has no rule for.
pub fn promote(a: ElementType, b: ElementType) -> Result<ElementType, Fault> {
    use ElementType as E;
    if a == b {
        return Ok(a);
    }
    let (low, high) = if (category(a), a.bits()) <= (category(b), b.bits()) { (a, b) } else { (b, a) };
    match (category(low), category(high)) {
        (x, y) if x < y => Ok(high),
        (2, _) if low.bits() == high.bits() => Ok(E::F32),
        (2, _) => Ok(high),
        _ if low.is_signed_integer() && high.is_signed_integer() => Ok(high),
        _ if [low, high].contains(&E::U8) && (low.is_signed_integer() || high.is_signed_integer()) => {
            let signed = if low == E::U8 { high } else { low };
            Ok(if signed == E::I8 { E::I16 } else { signed })
        }
        _ => Err(Fault::unsupported(format!("there is no common type of {a} and {b}"))),
    }
}

impl Call<'_, '_, '_> {
    /// The common type of operands.
    ///
    /// # Errors
    /// When there is none.
    pub fn common_type(&self, operands: &[Operand]) -> Result<ElementType, Fault> {
        let mut kinds: [Option<ElementType>; 3] = [None; 3];
        for operand in operands {
            let (kind, element) = match *operand {
                Operand::Tensor(value) => (usize::from(self.rank(value) == 0), self.element(value)),
                Operand::Number(Number::Int(_)) => (2, ElementType::I64),
                Operand::Number(Number::Bool(_)) => (2, ElementType::Bool),
                Operand::Number(Number::Double(_)) => (2, ElementType::F32),
            };
            kinds[kind] = Some(kinds[kind].map_or(Ok(element), |known| promote(known, element))?);
        }
        let lower = combine(kinds[1], kinds[2])?;
        combine(kinds[0], lower)?.ok_or_else(|| Fault::invalid("no operands"))
    }
}

/// The type of a kind of operands that decides, and of one that yields within its category.
fn combine(decides: Option<ElementType>, yields: Option<ElementType>) -> Result<Option<ElementType>, Fault> {
    match (decides, yields) {
        (Some(a), Some(b)) if category(a) < category(b) => promote(a, b).map(Some),
        (Some(a), _) => Ok(Some(a)),
        (None, b) => Ok(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType as E;

    #[test]
    fn promotion_follows_the_table() {
        for (a, b, expected) in [
            (E::Bool, E::U8, E::U8),
            (E::U8, E::I8, E::I16),
            (E::U8, E::I32, E::I32),
            (E::I64, E::F16, E::F16),
            (E::F16, E::Bf16, E::F32),
            (E::F32, E::F64, E::F64),
            (E::Bf16, E::F32, E::F32),
            (E::I8, E::I64, E::I64),
        ] {
            assert_eq!(promote(a, b), Ok(expected), "{a} {b}");
            assert_eq!(promote(b, a), Ok(expected), "{b} {a}");
        }
        assert!(promote(E::U32, E::I8).is_err());
    }

    #[test]
    fn who_decides_keeps_its_type_within_a_category() {
        assert_eq!(combine(Some(E::F16), Some(E::F64)), Ok(Some(E::F16)));
        assert_eq!(combine(Some(E::I8), Some(E::I64)), Ok(Some(E::I8)));
        assert_eq!(combine(Some(E::I8), Some(E::F32)), Ok(Some(E::F32)));
        assert_eq!(combine(None, Some(E::Bool)), Ok(Some(E::Bool)));
    }
}
