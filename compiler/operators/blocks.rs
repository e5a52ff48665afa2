//! Blocks of pixels moved into another dimension and back. Every order of elements is a reshape, a transpose and a reshape.

use super::{Error, Graph, extents};
use crate::ir::{Extent, Value};

/// An extent divided by a block. A run-time extent that the block does not divide is an error where the elements are given their shape of blocks.
fn divided(g: &mut Graph<'_>, what: &'static str, extent: Extent, divisor: u64) -> Result<Extent, Error> {
    match extent {
        Extent::Static(n) if divisor == 0 || n % divisor != 0 => Err(Error::NoBlocks { what, extent: n, divisor }),
        _ => g.floor_div(extent, Extent::Static(divisor)),
    }
}

fn square(what: &'static str, extent: Extent, block: u64) -> Result<u64, Error> {
    let extent = extent.as_static().unwrap_or(0);
    block.checked_mul(block).ok_or(Error::NoBlocks { what, extent, divisor: block })
}

fn image(g: &Graph<'_>, input: Value) -> Result<[Extent; 4], Error> {
    let shape = g.extents(input);
    shape.try_into().map_err(|shape: Vec<Extent>| Error::NoImage { rank: shape.len() })
}

/// `[N, H, W, C]` to `[N, H ÷ block, W ÷ block, C · block²]`: pixels of a block become channels, row by row.
///
/// # Errors
/// [`Error::NoBlocks`].
pub fn space_to_depth(g: &mut Graph<'_>, input: Value, block: u64) -> Result<Value, Error> {
    let [n, h, w, c] = image(g, input)?;
    let [rows, columns] = [divided(g, "a height or width", h, block)?, divided(g, "a height or width", w, block)?];
    let side = Extent::Static(block);
    let depth = g.product(&[c, side, side])?;
    let value = g.reshape(input, &[n, rows, side, columns, side, c])?;
    let value = g.builder.transpose(value, vec![0, 1, 3, 2, 4, 5])?;
    g.reshape(value, &[n, rows, columns, depth])
}

/// Moves blocks of channels to squares of pixels, the inverse of [`space_to_depth`].
///
/// # Errors
/// [`Error::NoBlocks`].
pub fn depth_to_space(g: &mut Graph<'_>, input: Value, block: u64) -> Result<Value, Error> {
    let [n, h, w, c] = image(g, input)?;
    let square = square("the depth", c, block)?;
    let (depth, side) = (divided(g, "the depth", c, square)?, Extent::Static(block));
    let (height, width) = (g.product(&[h, side])?, g.product(&[w, side])?);
    let value = g.reshape(input, &[n, h, w, side, side, depth])?;
    let value = g.builder.transpose(value, vec![0, 1, 3, 2, 4, 5])?;
    g.reshape(value, &[n, height, width, depth])
}

/// `[… C · factor², H, W]` to `[… C, H · factor, W · factor]`, channels first: a pixel's neighbours follow each other.
///
/// # Errors
/// [`Error::NoBlocks`], and [`Error::DynamicExtent`] of channels.
pub fn pixel_shuffle(g: &mut Graph<'_>, input: Value, factor: u64) -> Result<Value, Error> {
    let shape = g.extents(input);
    let [lead @ .., channels, height, width] = &shape[..] else { return Err(Error::NoImage { rank: shape.len() }) };
    channels.as_static().ok_or(Error::DynamicExtent)?;
    let square = square("the number of channels", *channels, factor)?;
    let (kept, side) = (divided(g, "the number of channels", *channels, square)?, Extent::Static(factor));
    let count = g.product(lead)?;
    let split = g.reshape(input, &[count, kept, side, side, *height, *width])?;
    let moved = g.transpose(split, &[0, 1, 4, 2, 5, 3])?;
    let sides = [g.mul(*height, side)?, g.mul(*width, side)?];
    g.reshape(moved, &[lead, &[kept], &sides].concat())
}

/// Moves squares of pixels to channels, the inverse of [`pixel_shuffle`].
///
/// # Errors
/// [`Error::NoBlocks`].
pub fn pixel_unshuffle(g: &mut Graph<'_>, input: Value, factor: u64) -> Result<Value, Error> {
    let shape = g.extents(input);
    let [lead @ .., channels, height, width] = &shape[..] else { return Err(Error::NoImage { rank: shape.len() }) };
    let sides = [divided(g, "a height or width", *height, factor)?, divided(g, "a height or width", *width, factor)?];
    let (side, square) = (Extent::Static(factor), Extent::Static(square("a height or width", *height, factor)?));
    let count = g.product(lead)?;
    let split = g.reshape(input, &[count, *channels, sides[0], side, sides[1], side])?;
    let moved = g.transpose(split, &[0, 1, 3, 5, 2, 4])?;
    let channels = g.mul(*channels, square)?;
    g.reshape(moved, &[lead, &[channels], &sides].concat())
}

/// The pixels of an image `[N, spatial…, C]` at the same place in their blocks become an image of their own: `[N · blocks…, spatial…, C]`.
///
/// # Errors
/// [`Error::NoBlocks`].
pub fn space_to_batch(g: &mut Graph<'_>, input: Value, blocks: &[u64]) -> Result<Value, Error> {
    let shape = g.extents(input);
    let [batch, spatial @ .., channels] = &shape[..] else { return Err(Error::NoImage { rank: shape.len() }) };
    let (mut apart, mut result) = (vec![*batch], vec![*batch]);
    for (&extent, &block) in spatial.iter().zip(blocks) {
        let count = divided(g, "a padded dimension", extent, block)?;
        apart.extend([count, Extent::Static(block)]);
        result[0] = g.product(&[result[0], Extent::Static(block)])?;
        result.push(count);
    }
    apart.push(*channels);
    result.push(*channels);
    let count = blocks.len();
    let mut order: Vec<usize> = (0..count).map(|d| 2 * d + 2).collect();
    order.push(0);
    order.extend((0..count).map(|d| 2 * d + 1));
    order.push(2 * count + 1);
    let value = g.reshape(input, &apart)?;
    let value = g.builder.transpose(value, order)?;
    g.reshape(value, &result)
}

/// Moves blocks of the batch to spatial dimensions, the inverse of [`space_to_batch`]. `before` and `after` are cut off each spatial dimension.
///
/// # Errors
/// [`Error::NoBlocks`], and [`Error::Crops`] that leave nothing.
pub fn batch_to_space(g: &mut Graph<'_>, input: Value, blocks: &[u64], before: &[Extent], after: &[Extent]) -> Result<Value, Error> {
    let shape = g.extents(input);
    let [batch, spatial @ .., channels] = &shape[..] else { return Err(Error::NoImage { rank: shape.len() }) };
    let product = blocks.iter().try_fold(1u64, |product, &block| product.checked_mul(block));
    let product = product.ok_or(Error::NoBlocks { what: "the batch", extent: g.bound(*batch), divisor: u64::MAX })?;
    let images = divided(g, "the batch", *batch, product)?;
    let apart = [&extents(blocks)[..], &[images], spatial, &[*channels]].concat();
    let (mut joined, mut starts, mut sizes) = (vec![images], vec![Extent::Static(0)], vec![images]);
    for (d, (&extent, &block)) in spatial.iter().zip(blocks).enumerate() {
        let whole = g.product(&[extent, Extent::Static(block)])?;
        let cropped = g.add(before[d], after[d])?;
        let (least, most) = (g.interval(cropped).low, g.interval(whole).high);
        if least > most {
            return Err(Error::Crops { least, most });
        }
        joined.push(whole);
        starts.push(before[d]);
        sizes.push(g.sub(whole, cropped)?);
    }
    joined.push(*channels);
    sizes.push(*channels);
    starts.push(Extent::Static(0));
    let count = blocks.len();
    let mut order = vec![count];
    order.extend((0..count).flat_map(|d| [count + 1 + d, d]));
    order.push(2 * count + 1);
    let value = g.reshape(input, &apart)?;
    let value = g.builder.transpose(value, order)?;
    let value = g.reshape(value, &joined)?;
    if joined == sizes {
        return Ok(value);
    }
    let strides = vec![1; sizes.len()];
    Ok(g.builder.slice(value, starts, sizes, strides)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};

    fn counted(shape: &[u64]) -> Floats {
        Floats::new(shape, (0..shape.iter().product::<u64>()).map(|i| i as f32).collect())
    }

    #[test]
    fn pixels_of_a_block_become_channels_and_come_back() {
        let x = counted(&[1, 4, 2, 1]);
        for open in [&[][..], &[[0, 1]]] {
            let found = run_with(&[&x], open, &|g, v| space_to_depth(g, v[0], 2));
            assert_eq!((found.shape, found.numbers), (vec![1, 2, 1, 4], x.numbers.clone()));
        }
        let wide = counted(&[2, 4, 6, 3]);
        let back = run(&[&wide], &|g, v| {
            let deep = space_to_depth(g, v[0], 2)?;
            depth_to_space(g, deep, 2)
        });
        assert_eq!(back, wide);
    }

    #[test]
    fn channels_become_neighbours_and_come_back() {
        let x = counted(&[4, 1, 2]);
        let found = run(&[&x], &|g, v| pixel_shuffle(g, v[0], 2));
        assert_eq!((found.shape, found.numbers), (vec![1, 2, 4], vec![0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]));
        let wide = counted(&[2, 8, 3, 2]);
        let back = run_with(&[&wide], &[[0, 2]], &|g, v| {
            let large = pixel_shuffle(g, v[0], 2)?;
            pixel_unshuffle(g, large, 2)
        });
        assert_eq!(back, wide);
    }

    #[test]
    fn images_are_taken_apart_into_batches_and_cut() {
        let x = counted(&[1, 4, 4, 1]);
        let found = run(&[&x], &|g, v| space_to_batch(g, v[0], &[2, 2]));
        assert_eq!((found.shape, &found.numbers[..8]), (vec![4, 2, 2, 1], &[0.0, 2.0, 8.0, 10.0, 1.0, 3.0, 9.0, 11.0][..]));
        let back = run(&[&x], &|g, v| {
            let apart = space_to_batch(g, v[0], &[2, 2])?;
            batch_to_space(g, apart, &[2, 2], &extents(&[1, 0]), &extents(&[0, 2]))
        });
        assert_eq!((back.shape, back.numbers), (vec![1, 3, 2, 1], vec![4.0, 5.0, 8.0, 9.0, 12.0, 13.0]));
    }

    #[test]
    fn what_does_not_divide_is_refused() {
        let mut module = crate::ir::Module::default();
        let mut g = Graph::new(&mut module, "f");
        let x = g.constant_f32(&[1, 3, 2, 1], &[0.0; 6]).unwrap();
        assert_eq!(space_to_depth(&mut g, x, 2), Err(Error::NoBlocks { what: "a height or width", extent: 3, divisor: 2 }));
        assert_eq!(depth_to_space(&mut g, x, 2), Err(Error::NoBlocks { what: "the depth", extent: 1, divisor: 4 }));
        let none = extents(&[0]);
        assert_eq!(batch_to_space(&mut g, x, &[1], &extents(&[4]), &none), Err(Error::Crops { least: 4, most: 3 }));
    }
}
