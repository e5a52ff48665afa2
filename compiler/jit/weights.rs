//! Weights of a model in separate memory, with the layout of a weights file.

use super::failure::failed;
use super::memory::no_memory;
use crate::codegen::ConstantLayout;
use crate::codegen::weights::{HEADER_BYTES, WeightsHeader};
use crate::diagnostic::Diagnostic;
use crate::ir::Data;
use crate::ir::data::{PageSize, Pages};
use crate::program::Blob;
use std::sync::Arc;

/// Moves constants to their offsets in a layout, behind a header. If nobody else holds a constant's bytes, they are freed, so that a large
/// model is not in memory twice.
///
/// # Errors
/// A diagnostic if there is no memory.
pub fn gather(constants: &mut [Blob], layout: &ConstantLayout, header: &WeightsHeader) -> Result<Arc<Pages>, Diagnostic> {
    let total = usize::try_from(header.file_bytes()).map_err(|error| failed(&error))?;
    let mut ranges = Vec::with_capacity(constants.len());
    // A row times a matrix is limited by memory bandwidth, and large pages make it faster.
    let weights = Pages::filled(total, PageSize::Large, |memory| {
        memory[..HEADER_BYTES as usize].copy_from_slice(&header.to_bytes());
        for (blob, &offset) in constants.iter_mut().zip(&layout.offsets) {
            let data = std::mem::replace(&mut blob.data, Vec::new().into());
            let start = (HEADER_BYTES + offset) as usize;
            let range = start..start + data.bytes().len();
            copy(&mut memory[range.clone()], &data);
            ranges.push(range);
        }
    });
    let weights = Arc::new(weights.map_err(no_memory)?);
    for (blob, range) in constants.iter_mut().zip(ranges) {
        let moved = Data::range_of(weights.clone(), range);
        blob.data = moved.ok_or_else(|| failed(&"a constant lies outside the weights"))?;
    }
    Ok(weights)
}

/// Copies bytes piece by piece, so that at most one piece of the file is in memory beside the copy.
fn copy(to: &mut [u8], from: &Data) {
    const PIECE: usize = 1 << 23;
    for (number, to) in to.chunks_mut(PIECE).enumerate() {
        let start = number * PIECE;
        if let Some(piece) = from.slice(start..start + to.len()) {
            to.copy_from_slice(piece.bytes());
            piece.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_move_and_stay_what_they_are() {
        let mut constants = [vec![1u8, 2, 3], vec![], vec![4; 70]].map(|bytes| Blob { name: String::new(), data: bytes.into() });
        let before = constants.clone();
        let layout = ConstantLayout { offsets: vec![0, 64, 64], bytes: 134 };
        let header = WeightsHeader { packing: 1, interface: 2, topology: 3, payload_bytes: layout.bytes };
        let weights = gather(&mut constants, &layout, &header).expect("memory");
        assert_eq!(constants, before);
        let bytes = (*weights).as_ref();
        assert_eq!(
            (bytes.len(), &bytes[..64], &bytes[64..67], &bytes[128..198]),
            (198, &header.to_bytes()[..], &[1u8, 2, 3][..], &[4u8; 70][..])
        );
        constants[2].data.release();
        assert_eq!(constants, before);
    }
}
