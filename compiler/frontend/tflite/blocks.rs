//! SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: blocks of pixels moved into another dimension and back.

use super::borders::around;
use super::error::{invalid, missing_options};
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Scalar};
use crate::operators::blocks as library;
use crate::operators::joins;

fn image_and_block(operator: &mut Operator<'_, '_, '_>, block: i32) -> Result<(Operand, u64), Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let input = operator.any_input(0)?;
    if input.rank() != 4 {
        return Err(invalid(codes::RANK, "the input must have four dimensions")
            .about_tensor(&input.info.name)
            .expected("rank 4", format!("{:?}", input.shape)));
    }
    let block = u64::try_from(block)
        .ok()
        .filter(|&b| b >= 1)
        .ok_or_else(|| invalid(codes::OPTION_RANGE, "the block size must be positive").expected("1 or more", block.to_string()))?;
    Ok((input, block))
}

/// SPACE_TO_DEPTH: pixels of a block become channels, row by row.
pub(super) fn space_to_depth(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_space_to_depth_options().ok_or_else(missing_options)?;
    let (input, block) = image_and_block(operator, options.block_size())?;
    let value = library::space_to_depth(operator.graph(), input.value, block)?;
    operator.bind(0, value)
}

/// DEPTH_TO_SPACE, the inverse of SPACE_TO_DEPTH.
pub(super) fn depth_to_space(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_depth_to_space_options().ok_or_else(missing_options)?;
    let (input, block) = image_and_block(operator, options.block_size())?;
    let value = library::depth_to_space(operator.graph(), input.value, block)?;
    operator.bind(0, value)
}

/// The blocks of each spatial dimension and the amounts before and after it.
struct Blocks {
    input: Operand,
    blocks: Vec<u64>,
    before: Vec<Extent>,
    after: Vec<Extent>,
}

fn read_blocks(operator: &mut Operator<'_, '_, '_>) -> Result<Blocks, Diagnostic> {
    operator.arity(3..=3, 1..=1)?;
    let (input, sizes, amounts) = (operator.any_input(0)?, operator.input(1)?, operator.input(2)?);
    let sizes = operator.integers(&sizes, "sizes")?;
    let spatial = sizes.len();
    if !(3..=4).contains(&input.rank()) || spatial + 2 != input.rank() {
        let found = format!("{spatial} sizes, {:?}", input.shape);
        return Err(invalid(codes::SHAPES_DIFFER, "the blocks do not fit the input").expected("one size a spatial dimension", found));
    }
    if !sizes.iter().all(|n| (1..=i64::from(i32::MAX)).contains(n)) {
        return Err(invalid(codes::OPTION_RANGE, "a block size is out of range").expected("1 to 2147483647", format!("{sizes:?}")));
    }
    let [before, after] = operator.amounts(&amounts, spatial)?;
    Ok(Blocks { input, blocks: sizes.iter().map(|&n| n as u64).collect(), before, after })
}

/// SPACE_TO_BATCH_ND: the padded image's pixels at the same place in their blocks become an image of their own.
pub(super) fn space_to_batch(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let Blocks { input, blocks, before, after } = read_blocks(operator)?;
    let output = operator.output(0)?;
    let element = input.element();
    if element.bits() < 8 || element == ElementType::C128 {
        return Err(operator.type_error(&[element]));
    }
    let zero = Scalar::int(element, output.quantization.as_ref().map_or(0, |q| q.zero_points[0]));
    let padded = joins::bordered(operator.graph(), input.value, &around(&before), &around(&after), zero)?;
    let value = library::space_to_batch(operator.graph(), padded, &blocks)?;
    operator.bind(0, value)
}

/// BATCH_TO_SPACE_ND, the inverse of SPACE_TO_BATCH_ND, with crops.
pub(super) fn batch_to_space(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let Blocks { input, blocks, before, after } = read_blocks(operator)?;
    let value = library::batch_to_space(operator.graph(), input.value, &blocks, &before, &after)?;
    operator.bind(0, value)
}
