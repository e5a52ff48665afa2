//! The rounding of the sums of contractions. It is decided before contractions are cut into bands or batches, so that all parts agree, and sums do
//! not depend on the cut.

use crate::ir::{Accumulation, Extent, Function, InstData, Operation};

/// Decides the rounding of each contraction with static extents.
pub(super) fn decide(function: &mut Function) {
    for inst in function.insts.keys() {
        let Some(decided) = of_extents(function, &function.insts[inst]) else { continue };
        match &mut function.insts[inst].operation {
            Operation::Conv(conv) => conv.accumulation = decided,
            Operation::Matmul(matmul) => matmul.accumulation = decided,
            _ => {}
        }
    }
}

/// Returns the rounding for a contraction's number of products. `None` for other operators and for dynamic extents.
fn of_extents(function: &Function, data: &InstData) -> Option<Accumulation> {
    let of_right = |first: usize| function.tensor(data.operands[1]).shape.get(first..);
    let summed = match &data.operation {
        Operation::Conv(_) => of_right(1)?,
        Operation::Matmul(_) => of_right(function.tensor(data.operands[1]).rank().checked_sub(1)?)?,
        _ => return None,
    };
    let each = product(summed)?;
    let results = product(&function.tensor(*data.results.first()?).shape)?;
    Some(Accumulation::of_products(results.saturating_mul(each)))
}

/// Returns the saturated product of static extents.
fn product(extents: &[Extent]) -> Option<u64> {
    extents.iter().try_fold(1u64, |product, extent| Some(product.saturating_mul(extent.as_static()?)))
}

#[cfg(test)]
mod tests {
    use crate::fuse::unroll::unroll;
    use crate::ir::builder::FunctionBuilder;
    use crate::ir::{Accumulation, ElementType, Module, Operation, TensorType, Type, ZeroPoints, verify};

    #[test]
    fn products_of_the_whole_contraction_count() {
        for (rows, expected) in [(15, Accumulation::Separate), (16, Accumulation::Fused)] {
            let mut module = Module::default();
            let mut builder = FunctionBuilder::new(&mut module, "main");
            let [left, right] =
                [[rows, 16], [16, 16]].map(|shape| builder.param(Type::Tensor(TensorType::of(ElementType::F32, &shape)), None));
            let product = builder.matmul(left, right, ZeroPoints::NONE, ElementType::F32).expect("one depth");
            let function = builder.finish_method("main", vec![product]);
            let flow = unroll(verify(&module).expect("sound"), function).expect("no control flow");
            let of_matmul =
                |operation: &Operation| if let Operation::Matmul(matmul) = operation { Some(matmul.accumulation) } else { None };
            let found = flow.function.insts.values().find_map(|data| of_matmul(&data.operation));
            assert_eq!(found, Some(expected));
        }
    }
}
