//! SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: blocks of pixels moved into another dimension and back.

use super::convolution::missing_options;
use super::operator::{Lowered, Operand, Operator, extents, invalid};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, Scalar};

fn image_and_block(operator: &mut Operator<'_, '_, '_>, block: i32) -> Result<(Operand, u64), Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let input = operator.any_input(0)?;
    operator.require_known(&input, 1)?;
    if input.rank() != 4 {
        return Err(invalid(314, "the input must have four dimensions")
            .about_tensor(&input.info.name)
            .expected("rank 4", format!("{:?}", input.shape)));
    }
    let block = u64::try_from(block)
        .ok()
        .filter(|&b| b >= 1)
        .ok_or_else(|| invalid(312, "the block size must be positive").expected("1 or more", block.to_string()))?;
    Ok((input, block))
}

/// The shape of as many images as the input has, each of a shape.
fn images(input: &Operand, shape: &[u64]) -> Vec<Extent> {
    [vec![input.extents[0]], extents(shape)].concat()
}

fn misfit(what: &str, extent: u64, divisor: u64) -> Diagnostic {
    invalid(311, format!("{what} does not divide into blocks")).expected(format!("a multiple of {divisor}"), extent.to_string())
}

/// SPACE_TO_DEPTH: pixels of a block become channels, row by row.
pub(super) fn space_to_depth(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_space_to_depth_options().ok_or_else(missing_options)?;
    let (input, block) = image_and_block(operator, options.block_size())?;
    let [_, h, w, c] = input.shape[..] else { return Err(missing_options()) };
    for extent in [h, w] {
        if extent % block != 0 {
            return Err(misfit("a height or width", extent, block));
        }
    }
    let depth = c.checked_mul(block).and_then(|d| d.checked_mul(block)).ok_or_else(|| misfit("the depth", c, block))?;
    let value = operator.reshape_to(input.value, &images(&input, &[h / block, block, w / block, block, c]))?;
    let value = operator.builder().transpose(value, vec![0, 1, 3, 2, 4, 5])?;
    let value = operator.reshape_to(value, &images(&input, &[h / block, w / block, depth]))?;
    operator.bind(0, value)
}

/// DEPTH_TO_SPACE, the other way.
pub(super) fn depth_to_space(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_depth_to_space_options().ok_or_else(missing_options)?;
    let (input, block) = image_and_block(operator, options.block_size())?;
    let [_, h, w, c] = input.shape[..] else { return Err(missing_options()) };
    let square = block.checked_mul(block).filter(|&square| c % square == 0).ok_or_else(|| misfit("the depth", c, block))?;
    let (Some(height), Some(width)) = (h.checked_mul(block), w.checked_mul(block)) else { return Err(misfit("the image", h, block)) };
    let value = operator.reshape_to(input.value, &images(&input, &[h, w, block, block, c / square]))?;
    let value = operator.builder().transpose(value, vec![0, 1, 3, 2, 4, 5])?;
    let value = operator.reshape_to(value, &images(&input, &[height, width, c / square]))?;
    operator.bind(0, value)
}

/// The blocks of each spatial dimension and the amounts before and after it.
struct Blocks {
    input: Operand,
    blocks: Vec<u64>,
    before: Vec<i64>,
    after: Vec<i64>,
}

fn blocks(operator: &mut Operator<'_, '_, '_>) -> Result<Blocks, Diagnostic> {
    operator.arity(3..=3, 1..=1)?;
    let (input, sizes, amounts) = (operator.input(0)?, operator.input(1)?, operator.input(2)?);
    let (sizes, amounts) = (operator.integers(&sizes, "sizes")?, operator.integers(&amounts, "paddings")?);
    let spatial = sizes.len();
    if !(3..=4).contains(&input.rank()) || spatial + 2 != input.rank() || amounts.len() != 2 * spatial {
        let found = format!("{spatial} sizes, {} amounts, {:?}", amounts.len(), input.shape);
        return Err(invalid(311, "blocks and amounts do not fit the input").expected("one size and two amounts a spatial dimension", found));
    }
    let small = |n: &i64| (0..=i64::from(i32::MAX)).contains(n);
    if !sizes.iter().all(|n| small(n) && *n > 0) || !amounts.iter().all(small) {
        return Err(invalid(312, "a block size or an amount is out of range")
            .expected("sizes above 0, amounts not negative", format!("{sizes:?}, {amounts:?}")));
    }
    let blocks = sizes.iter().map(|&n| n as u64).collect();
    let (before, after) = (amounts.iter().step_by(2).copied().collect(), amounts.iter().skip(1).step_by(2).copied().collect());
    Ok(Blocks { input, blocks, before, after })
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
    let around = |amounts: &[i64]| [&[0], amounts, &[0]].concat();
    let padded = operator.builder().pad(input.value, around(&before), around(&after), zero)?;
    let shape = operator.shape(padded)?;
    let (batch, channels, spatial) = (shape[0], shape[shape.len() - 1], &shape[1..shape.len() - 1]);
    let (mut apart, mut result) = (vec![batch], vec![batch]);
    for (&extent, &block) in spatial.iter().zip(&blocks) {
        if extent % block != 0 {
            return Err(misfit("a padded dimension", extent, block));
        }
        apart.extend([extent / block, block]);
        result[0] = result[0].checked_mul(block).ok_or_else(|| misfit("the batch", batch, block))?;
        result.push(extent / block);
    }
    apart.push(channels);
    result.push(channels);
    let count = blocks.len() as i64;
    let mut order: Vec<i64> = (0..count).map(|d| 2 * d + 2).collect();
    order.push(0);
    order.extend((0..count).map(|d| 2 * d + 1));
    order.push(2 * count + 1);
    let value = operator.reshape(padded, &apart)?;
    let value = operator.builder().transpose(value, order)?;
    let value = operator.reshape(value, &result)?;
    operator.bind(0, value)
}

/// BATCH_TO_SPACE_ND, the other way, cropped.
pub(super) fn batch_to_space(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let Blocks { input, blocks, before, after } = blocks(operator)?;
    let (batch, channels) = (input.shape[0], input.shape[input.rank() - 1]);
    let product = blocks.iter().try_fold(1u64, |product, &block| product.checked_mul(block)).filter(|&product| batch % product == 0);
    let images = batch / product.ok_or_else(|| misfit("the batch", batch, blocks[0]))?;
    let spatial = &input.shape[1..input.rank() - 1];
    let mut apart = blocks.clone();
    apart.push(images);
    apart.extend(spatial);
    apart.push(channels);
    let (mut joined, mut starts, mut sizes) = (vec![images], vec![0], vec![images]);
    for (d, (&extent, &block)) in spatial.iter().zip(&blocks).enumerate() {
        let whole = extent.checked_mul(block).ok_or_else(|| misfit("the image", extent, block))?;
        let kept = whole.checked_sub(before[d] as u64).and_then(|rest| rest.checked_sub(after[d] as u64));
        joined.push(whole);
        starts.push(before[d] as u64);
        sizes.push(kept.ok_or_else(|| {
            invalid(315, "the crops leave nothing").expected(format!("at most {whole}"), format!("{} and {}", before[d], after[d]))
        })?);
    }
    for list in [&mut joined, &mut sizes] {
        list.push(channels);
    }
    starts.push(0);
    let count = blocks.len() as i64;
    let mut order = vec![count];
    order.extend((0..count).flat_map(|d| [count + 1 + d, d]));
    order.push(2 * count + 1);
    let value = operator.reshape(input.value, &apart)?;
    let value = operator.builder().transpose(value, order)?;
    let value = operator.reshape(value, &joined)?;
    let starts: Vec<Extent> = extents(&starts);
    let strides = vec![1; sizes.len()];
    let value = if joined == sizes { value } else { operator.builder().slice(value, starts, extents(&sizes), strides)? };
    operator.bind(0, value)
}
