//! The bytes of a file, in pieces: the weights stay where they are until the file is written, so that no second copy of them is made.

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

    /// Appends zeros up to a multiple of an alignment of its own first byte.
    pub fn align(&mut self, alignment: u64) {
        let length = self.len();
        self.push(vec![0; (length.next_multiple_of(alignment) - length) as usize]);
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Writes everything in order.
    ///
    /// # Errors
    /// As the writer.
    pub fn write_to(&self, writer: &mut dyn Write) -> io::Result<()> {
        self.pieces.iter().try_for_each(|piece| {
            writer.write_all(piece.bytes())?;
            piece.release();
            Ok(())
        })
    }

    /// A copy in one piece.
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

/// Equal bytes, however they are cut.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.to_vec() == other.to_vec()
    }
}
