//! SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: blocks of pixels moved into another dimension and back.

use super::borders::around;
use super::convolution::missing_options;
use super::operator::{Lowered, Operand, Operator, extents, invalid};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Scalar};

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

fn misfit(what: &str, extent: u64, divisor: u64) -> Diagnostic {
    invalid(codes::SHAPES_DIFFER, format!("{what} does not divide into blocks"))
        .expected(format!("a multiple of {divisor}"), extent.to_string())
}

/// An extent divided by a block. One that is known only when the model runs, and then does not divide, is an error where the elements are
/// given their shape of blocks.
fn divided(operator: &mut Operator<'_, '_, '_>, what: &str, extent: Extent, block: u64) -> Result<Extent, Diagnostic> {
    match extent {
        Extent::Static(n) if n % block != 0 => Err(misfit(what, n, block)),
        _ => Ok(operator.graph().floor_div(extent, Extent::Static(block))?),
    }
}

/// SPACE_TO_DEPTH: pixels of a block become channels, row by row.
pub(super) fn space_to_depth(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_space_to_depth_options().ok_or_else(missing_options)?;
    let (input, block) = image_and_block(operator, options.block_size())?;
    let [n, h, w, c] = input.extents[..] else { return Err(missing_options()) };
    let [rows, columns] = [divided(operator, "a height or width", h, block)?, divided(operator, "a height or width", w, block)?];
    let side = Extent::Static(block);
    let depth = operator.graph().product(&[c, side, side])?;
    let value = operator.reshape_to(input.value, &[n, rows, side, columns, side, c])?;
    let value = operator.builder().transpose(value, vec![0, 1, 3, 2, 4, 5])?;
    let value = operator.reshape_to(value, &[n, rows, columns, depth])?;
    operator.bind(0, value)
}

/// DEPTH_TO_SPACE, the other way.
pub(super) fn depth_to_space(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_depth_to_space_options().ok_or_else(missing_options)?;
    let (input, block) = image_and_block(operator, options.block_size())?;
    let [n, h, w, c] = input.extents[..] else { return Err(missing_options()) };
    let square = block.checked_mul(block).ok_or_else(|| misfit("the depth", input.shape[3], block))?;
    let (depth, side) = (divided(operator, "the depth", c, square)?, Extent::Static(block));
    let (height, width) = (operator.graph().product(&[h, side])?, operator.graph().product(&[w, side])?);
    let value = operator.reshape_to(input.value, &[n, h, w, side, side, depth])?;
    let value = operator.builder().transpose(value, vec![0, 1, 3, 2, 4, 5])?;
    let value = operator.reshape_to(value, &[n, height, width, depth])?;
    operator.bind(0, value)
}

/// The blocks of each spatial dimension and the amounts before and after it.
struct Blocks {
    input: Operand,
    blocks: Vec<u64>,
    before: Vec<Extent>,
    after: Vec<Extent>,
}

fn blocks(operator: &mut Operator<'_, '_, '_>) -> Result<Blocks, Diagnostic> {
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
    let Blocks { input, blocks, before, after } = blocks(operator)?;
    let output = operator.output(0)?;
    let element = input.element();
    if element.bits() < 8 || element == ElementType::C128 {
        return Err(operator.type_error(&[element]));
    }
    let zero = Scalar::int(element, output.quantization.as_ref().map_or(0, |q| q.zero_points[0]));
    let padded = operator.border(input.value, &around(&before), &around(&after), zero)?;
    let shape = operator.extents_of(padded);
    let (channels, spatial) = (shape[shape.len() - 1], &shape[1..shape.len() - 1]);
    let (mut apart, mut result) = (vec![shape[0]], vec![shape[0]]);
    for (&extent, &block) in spatial.iter().zip(&blocks) {
        let count = divided(operator, "a padded dimension", extent, block)?;
        apart.extend([count, Extent::Static(block)]);
        result[0] = operator.graph().product(&[result[0], Extent::Static(block)])?;
        result.push(count);
    }
    apart.push(channels);
    result.push(channels);
    let count = blocks.len();
    let mut order: Vec<usize> = (0..count).map(|d| 2 * d + 2).collect();
    order.push(0);
    order.extend((0..count).map(|d| 2 * d + 1));
    order.push(2 * count + 1);
    let value = operator.reshape_to(padded, &apart)?;
    let value = operator.builder().transpose(value, order)?;
    let value = operator.reshape_to(value, &result)?;
    operator.bind(0, value)
}

/// BATCH_TO_SPACE_ND, the other way, cropped.
pub(super) fn batch_to_space(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let Blocks { input, blocks, before, after } = blocks(operator)?;
    let (batch, channels) = (input.extents[0], input.extents[input.rank() - 1]);
    let product = blocks.iter().try_fold(1u64, |product, &block| product.checked_mul(block));
    let product = product.ok_or_else(|| misfit("the batch", input.shape[0], blocks[0]))?;
    let images = divided(operator, "the batch", batch, product)?;
    let spatial = &input.extents[1..input.rank() - 1];
    let mut apart = extents(&blocks);
    apart.push(images);
    apart.extend(spatial);
    apart.push(channels);
    let (mut joined, mut starts, mut sizes) = (vec![images], vec![Extent::Static(0)], vec![images]);
    for (d, (&extent, &block)) in spatial.iter().zip(&blocks).enumerate() {
        let whole = operator.graph().product(&[extent, Extent::Static(block)])?;
        let cropped = operator.graph().add(before[d], after[d])?;
        let (least, most) = (operator.interval(cropped).low, operator.interval(whole).high);
        if least > most {
            return Err(invalid(codes::SLICE_RANGE, "the crops leave nothing").expected(format!("at most {most}"), least.to_string()));
        }
        joined.push(whole);
        starts.push(before[d]);
        sizes.push(operator.graph().sub(whole, cropped)?);
    }
    for list in [&mut joined, &mut sizes] {
        list.push(channels);
    }
    starts.push(Extent::Static(0));
    let count = blocks.len();
    let mut order = vec![count];
    order.extend((0..count).flat_map(|d| [count + 1 + d, d]));
    order.push(2 * count + 1);
    let value = operator.reshape_to(input.value, &apart)?;
    let value = operator.builder().transpose(value, order)?;
    let mut value = operator.reshape_to(value, &joined)?;
    if joined != sizes {
        let strides = vec![1; sizes.len()];
        value = operator.builder().slice(value, starts, sizes, strides)?;
    }
    operator.bind(0, value)
}
