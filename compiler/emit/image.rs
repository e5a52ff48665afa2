//! The bytes of a file, in pieces. Weights stay in the model file until they are written, so that there is no second copy in memory.

use crate::ir::Data;
use std::io::{self, Write};

/// The contents of a file.
#[derive(Clone, Debug, Default)]
pub struct Image {
    pieces: Vec<Data>,
}

impl Image {
    /// Appends bytes.
    pub fn push(&mut self, bytes: impl Into<Data>) {
        let data = bytes.into();
        if !data.is_empty() {
            self.pieces.push(data);
        }
    }

    /// Appends everything of another image.
    pub fn append(&mut self, other: &Self) {
        self.pieces.extend(other.pieces.iter().cloned());
    }

    /// Appends zeros up to an alignment relative to the first byte.
    pub fn align(&mut self, alignment: u64) {
        let length = self.len();
        self.push(vec![0; (length.next_multiple_of(alignment) - length) as usize]);
    }

    /// Returns the total number of bytes.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Tests whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Writes all pieces in order.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_to(&self, writer: &mut dyn Write) -> io::Result<()> {
        self.pieces.iter().try_for_each(|piece| {
            writer.write_all(piece.bytes())?;
            piece.release();
            Ok(())
        })
    }

    /// Returns a copy in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| piece.bytes()).copied().collect()
    }
}

impl<T: Into<Data>> From<T> for Image {
    fn from(bytes: T) -> Self {
        let mut image = Self::default();
        image.push(bytes);
        image
    }
}

/// Equality of bytes; boundaries of pieces do not matter.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.to_vec() == other.to_vec()
    }
}
