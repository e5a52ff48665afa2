//! `block_matmul`: products with packed weights that have a scale for each block of the inner dimension.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::contract;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::ElementType;
use ElementType::{Bf16, F32, I2, I4, I8};

/// The product of rows with weights of two or four bits in blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockMatmul {
    /// `true` if weights are in excess code: unsigned bits, 8 more than the weight for four bits. Otherwise they are in two's complement.
    pub excess: bool,
}

/// The number of weights that divides every block of packed weights: four bytes of them. Kernels thus never cut a block within a vector of bytes.
pub fn block_unit(element: ElementType) -> u64 {
    4 * element.per_byte()
}

impl Operator for BlockMatmul {
    const NAME: &'static str = "block_matmul";
    const OPERANDS: Arity = Arity::Exactly(3);
    const MEANING: &'static str = "Product of i8 or f32 [… M, K] with the transpose of i4 or i2 [N, K], which are in excess code if `excess`, and whose rows are cut into equal blocks, multiples of 8 of i4 and of 16 of i2; f32 or bf16 scales [N, blocks]. Each block is summed, bytes in i32 that is brought to f32, floats in f32, and multiplied by its scale; these products are added in order. Result f32 [… M, N].";

    fields! { "excess" => excess }

    fn infer(&self, cx: &Context<'_>) -> Types {
        for (operand, elements) in [vec![I8, F32], vec![I4, I2], vec![F32, Bf16]].into_iter().enumerate() {
            cx.operand_element(operand, Elements::Among(elements))?;
        }
        let left = cx.tensor(0)?;
        cx.rank(Subject::Operand(0), left.rank(), Ranks::AtLeast(1))?;
        for operand in [1, 2] {
            cx.rank(Subject::Operand(operand), cx.tensor(operand)?.rank(), Ranks::Exactly(2))?;
        }
        let (right, depth, blocks) = (cx.tensor(1)?, cx.known(1, 1)?, cx.known(2, 1)?);
        let last = left.rank() - 1;
        cx.extent(Subject::Operand(0), last, left.shape[last], right.shape[1])?;
        cx.extent(Subject::Operand(2), 0, cx.tensor(2)?.shape[0], right.shape[0])?;
        let of = blocks.checked_mul(block_unit(right.element)).filter(|&of| of > 0);
        let fits = of.is_some_and(|of| depth > 0 && depth.is_multiple_of(of));
        cx.require(fits, || Misfit::Multiple { operand: 1, dimension: 1, of, found: right.shape[1] })?;
        let mut shape = left.shape[..last].to_vec();
        shape.push(right.shape[0]);
        cx.one(F32, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        contract::block_matmul(cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, self.excess).map(Slot::one)
    }

    fn work(&self, cx: &Context<'_>) -> Option<u64> {
        cx.known_shape(0)?.last().copied()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let packed = if generator.random.one_in(3) { I2 } else { I4 };
        let (blocks, size) = (generator.random.between(1, 3) as u64, block_unit(packed) * generator.random.between(1, 5) as u64);
        let [rows, units] = [generator.random.between(1, 6), generator.random.between(1, 20)].map(|n| n as u64);
        let shape = if generator.random.one_in(3) { vec![2, rows, blocks * size] } else { vec![rows, blocks * size] };
        let rows = if generator.random.one_in(3) { F32 } else { I8 };
        let left = generator.leaf(rows, &shape)?;
        let weights = generator.literal(packed, &[units, blocks * size])?;
        let element = if generator.random.one_in(3) { Bf16 } else { F32 };
        let scales = generator.literal(element, &[units, blocks])?;
        Some((vec![left, weights, scales], Self { excess: generator.random.one_in(2) }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let Ok(left) = cx.tensor(0) else { return Axes::opaque(cx) };
        let last = left.rank() - 1;
        let rows = (0..last).map(Axis::Kept).chain([Axis::Reduced]).collect();
        Axes::of(vec![rows, vec![Axis::Kept(last), Axis::Reduced], vec![Axis::Kept(last), Axis::Reduced]])
    }
}
