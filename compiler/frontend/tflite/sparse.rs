//! Sparse constants, made dense.
//!
//! A sparse constant lists its elements level by level: one level a dimension, in the order of traversal, then one for each block. A block is a part
//! of a dimension. A dense level has every index. A compressed one has only the indices that occur, as in the CSR format. They are cut into segments,
//! one for each position of the level before.

use crate::diagnostic::{Diagnostic, codes};
use crate::schema::tflite as schema;

/// Larger dense forms are refused: a small file could ask for any amount of memory.
const LARGEST_DENSE: u64 = 256 << 20;
/// A level of a sound constant has no more positions than it has elements, or than this.
const SMALL: usize = 1 << 20;

fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::SPARSE_CONSTANT, message)
}

fn unsupported(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::TENSOR_UNSUPPORTED, message)
}

/// A level of the traversal.
struct Level {
    /// Elements of the dense tensor from one index to the next.
    step: u64,
    /// Indices are below this.
    size: u64,
    /// Segments and indices of a compressed level.
    compressed: Option<(Vec<u64>, Vec<u64>)>,
}

/// The dense bytes of a sparse constant: its shape, the bytes of an element, and the stored elements.
///
/// # Errors
/// When the levels contradict each other, the shape or the stored elements.
pub(super) fn dense(record: &schema::SparsityParameters<'_>, shape: &[u64], size: usize, stored: &[u8]) -> Result<Vec<u8>, Diagnostic> {
    let elements: u64 = shape.iter().product();
    let bytes = elements.checked_mul(size as u64).filter(|&n| n <= LARGEST_DENSE);
    let bytes = bytes.ok_or_else(|| unsupported(format!("sparse constants of more than {LARGEST_DENSE} bytes are not supported")))?;
    let levels = levels(record, shape)?;
    let mut offsets = vec![0];
    for level in &levels {
        if level.compressed.is_none() && offsets.len() as u64 * level.size > (stored.len() / size).max(SMALL) as u64 {
            return Err(invalid("the sparse constant lacks elements"));
        }
        offsets = descend(&offsets, level)?;
    }
    if offsets.len().checked_mul(size).is_none_or(|n| n > stored.len()) {
        let found = format!("{} bytes", stored.len());
        return Err(invalid("the sparse constant lacks elements").expected(format!("{} elements", offsets.len()), found));
    }
    let mut dense = vec![0; bytes as usize];
    for (&offset, element) in offsets.iter().zip(stored.chunks_exact(size)) {
        let start = offset as usize * size;
        dense[start..start + size].copy_from_slice(element);
    }
    Ok(dense)
}

/// The positions of a level below the positions of the level above.
fn descend(above: &[u64], level: &Level) -> Result<Vec<u64>, Diagnostic> {
    let Some((segments, indices)) = &level.compressed else {
        return Ok(above.iter().flat_map(|offset| (0..level.size).map(move |i| offset + i * level.step)).collect());
    };
    if segments.len() != above.len() + 1 {
        let found = segments.len().to_string();
        return Err(invalid("a compressed dimension has the wrong number of segments").expected((above.len() + 1).to_string(), found));
    }
    let mut below = Vec::new();
    for (offset, ends) in above.iter().zip(segments.windows(2)) {
        let range = usize::try_from(ends[0]).ok().zip(usize::try_from(ends[1]).ok());
        let segment = range.and_then(|(start, end)| indices.get(start..end));
        let segment = segment.ok_or_else(|| invalid("a segment of a compressed dimension is out of range"))?;
        if segment.windows(2).any(|pair| pair[0] >= pair[1]) || segment.last().is_some_and(|&last| last >= level.size) {
            return Err(invalid("the indices of a compressed dimension must increase and fit it"));
        }
        below.extend(segment.iter().map(|i| offset + i * level.step));
    }
    Ok(below)
}

fn levels(record: &schema::SparsityParameters<'_>, shape: &[u64]) -> Result<Vec<Level>, Diagnostic> {
    let rank = shape.len();
    let metadata: Vec<_> = record.dim_metadata().into_iter().flatten().collect();
    let numbers = |list: Option<flatbuffers::Vector<'_, i32>>| -> Option<Vec<usize>> {
        list.into_iter().flatten().map(|n| usize::try_from(n).ok()).collect()
    };
    let (order, blocks) = (numbers(record.traversal_order()), numbers(record.block_map()));
    let (Some(order), Some(blocks)) = (order, blocks) else { return Err(invalid("a sparse dimension is negative")) };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let is_permutation = sorted.iter().copied().eq(0..rank + blocks.len());
    let blocks_come_last = order.iter().take(rank).all(|&d| d < rank);
    if !is_permutation || !blocks_come_last || metadata.len() != order.len() {
        return Err(invalid("the traversal of a sparse constant does not name each dimension once, blocks last"));
    }
    // How large the block of each dimension is, by the block's own level.
    let mut block_sizes = vec![1; rank];
    for (block, &dimension) in blocks.iter().enumerate() {
        let level = order.iter().position(|&d| d == rank + block).unwrap_or(0);
        let size = u64::try_from(metadata[level].dense_size()).ok().filter(|&n| n > 0);
        let divides = |n: &u64, extent: u64| *n <= extent && extent.is_multiple_of(*n);
        let fits = size.filter(|n| dimension < rank && block_sizes[dimension] == 1 && divides(n, shape[dimension]));
        block_sizes[dimension.min(rank.saturating_sub(1))] =
            fits.ok_or_else(|| invalid("a block of a sparse constant does not divide its dimension, or contains another block"))?;
    }
    let strides: Vec<u64> = (0..rank).map(|d| shape[d + 1..].iter().product()).collect();
    let level = |(&dimension, metadata): (&usize, &schema::DimensionMetadata<'_>)| {
        let (step, size) = match dimension.checked_sub(rank) {
            Some(block) => (strides[blocks[block]], block_sizes[blocks[block]]),
            None => (strides[dimension] * block_sizes[dimension], shape[dimension] / block_sizes[dimension]),
        };
        let compressed = match metadata.format() {
            schema::DimensionType::DENSE if u64::try_from(metadata.dense_size()) == Ok(size) => None,
            schema::DimensionType::DENSE => {
                let found = metadata.dense_size().to_string();
                return Err(invalid("the size of a dense dimension of a sparse constant is wrong").expected(size.to_string(), found));
            }
            schema::DimensionType::SPARSE_CSR => Some((segments(metadata)?, indices(metadata)?)),
            other => return Err(invalid(format!("unknown kind of sparse dimension {other:?}"))),
        };
        Ok(Level { step, size, compressed })
    };
    order.iter().zip(&metadata).map(level).collect()
}

fn missing() -> Diagnostic {
    invalid("a compressed dimension has no segments or indices, or negative ones")
}

fn segments(metadata: &schema::DimensionMetadata<'_>) -> Result<Vec<u64>, Diagnostic> {
    let list = metadata.array_segments_as_int32_vector().map(|v| signed(v.values()));
    let list = list.or_else(|| metadata.array_segments_as_uint16_vector().map(|v| Some(unsigned(v.values()))));
    let list = list.or_else(|| metadata.array_segments_as_uint8_vector().map(|v| Some(unsigned(v.values()))));
    list.flatten().ok_or_else(missing)
}

fn indices(metadata: &schema::DimensionMetadata<'_>) -> Result<Vec<u64>, Diagnostic> {
    let list = metadata.array_indices_as_int32_vector().map(|v| signed(v.values()));
    let list = list.or_else(|| metadata.array_indices_as_uint16_vector().map(|v| Some(unsigned(v.values()))));
    let list = list.or_else(|| metadata.array_indices_as_uint8_vector().map(|v| Some(unsigned(v.values()))));
    list.flatten().ok_or_else(missing)
}

fn signed(list: Option<flatbuffers::Vector<'_, i32>>) -> Option<Vec<u64>> {
    list.into_iter().flatten().map(|n| u64::try_from(n).ok()).collect()
}

fn unsigned<'a, T: flatbuffers::Follow<'a> + 'a>(list: Option<flatbuffers::Vector<'a, T>>) -> Vec<u64>
where
    u64: From<T::Inner>,
{
    list.into_iter().flatten().map(u64::from).collect()
}
