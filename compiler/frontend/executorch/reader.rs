//! The container of a `.pte` file: a FlatBuffer, an extended header inside it, and segments of data after it.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | position of the root table |
//! | 4 | 4 | `ET` and two more characters |
//! | 8 | 4 | `eh00` if there is an extended header: only files with segment data have one |
//! | 12 | 4 | length of the extended header, at least 24 |
//! | 16 | 8 | length of the FlatBuffer from the file's start |
//! | 24 | 8 | position of the first segment, 0 for none |
//! | 32 | 8 | bytes of all segments, if the header is longer than 24 |

use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Data;
use crate::ir::data::Bytes;
use crate::schema::{flatbuffer_part, program as schema, range_in, verifier_options};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::DAMAGED_MODEL, message)
}

/// The contents of the extended header, checked against the file's length.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// The FlatBuffer.
    pub program: Range<usize>,
    /// The segments together.
    pub segments: Range<usize>,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn long(bytes: &[u8], at: usize) -> Result<u64, Diagnostic> {
    number(bytes, at).map(u64::from_le_bytes).ok_or_else(|| invalid("the file ends inside its header"))
}

impl Header {
    /// Tests whether the bytes begin like an ExecuTorch program.
    pub fn recognizes(bytes: &[u8]) -> bool {
        bytes.get(4..6) == Some(b"ET") && bytes.get(6..8).is_some_and(|version| version.iter().all(u8::is_ascii_alphanumeric))
    }

    /// Reads the header.
    ///
    /// # Errors
    /// When the file is no ExecuTorch program or a range reaches past its end.
    pub fn parse(bytes: &[u8]) -> Result<Self, Diagnostic> {
        if !Self::recognizes(bytes) {
            let found = bytes.get(4..8).map_or_else(|| format!("{} bytes", bytes.len()), |id| format!("{:?}", String::from_utf8_lossy(id)));
            return Err(invalid("not an ExecuTorch program").expected("identifier ET12 at byte 4", found));
        }
        if bytes.get(8..12) != Some(b"eh00") {
            return Ok(Self { program: 0..bytes.len(), segments: bytes.len()..bytes.len() });
        }
        let length = number(bytes, 12).map(u32::from_le_bytes).ok_or_else(|| invalid("the file ends inside its header"))?;
        if length < 24 {
            return Err(invalid("the extended header is too short").expected("24 bytes or more", length.to_string()));
        }
        let program = Self::inside(bytes, 0, long(bytes, 16)?, "the program's length in the extended header")?;
        if program.end < 8 + length as usize {
            return Err(invalid("the program ends inside its extended header"));
        }
        let base = long(bytes, 24)?;
        let size = if length >= 32 { long(bytes, 32)? } else { (bytes.len() as u64).saturating_sub(base) };
        let segments = if base == 0 { bytes.len()..bytes.len() } else { Self::inside(bytes, base, size, "the segments")? };
        Ok(Self { program, segments })
    }

    fn inside(bytes: &[u8], start: u64, length: u64, what: &str) -> Result<Range<usize>, Diagnostic> {
        let end = start.checked_add(length).filter(|&end| end <= bytes.len() as u64).ok_or_else(|| {
            invalid(format!("{what} extends beyond the end of the file"))
                .expected(format!("at most {} bytes", bytes.len()), format!("{length} bytes from {start}"))
                .help("the file may be cut short")
        })?;
        Ok(start as usize..end as usize)
    }
}

/// Offsets into one segment; entry 0 is not used.
#[derive(Clone, Debug, Default)]
struct Subsegment {
    segment: usize,
    offsets: Vec<u64>,
}

/// The bytes of a file and where its data lie. The FlatBuffer in it has been verified.
pub struct File {
    bytes: Arc<dyn Bytes>,
    header: Header,
    segments: Vec<Range<usize>>,
    constants: Option<Subsegment>,
    inline_constants: Vec<Range<usize>>,
    mutable: Vec<Subsegment>,
    named: HashMap<String, usize>,
    delegates: Vec<Range<usize>>,
}

impl File {
    /// Opens a program: checks the header, verifies the FlatBuffer, and checks the range of every segment.
    ///
    /// # Errors
    /// When any of these is broken.
    pub fn open(bytes: Arc<dyn Bytes>) -> Result<Self, Diagnostic> {
        let header = Header::parse((*bytes).as_ref())?;
        let buffer = &(*bytes).as_ref()[header.program.clone()];
        let program = verified(buffer)?;
        let mut segments = Vec::new();
        for (i, segment) in program.segments().into_iter().flatten().enumerate() {
            segments.push(segment_range(&header, i, segment.offset(), segment.size())?);
        }
        let subsegment = |s: schema::SubsegmentOffsets<'_>| Subsegment {
            segment: s.segment_index() as usize,
            offsets: s.offsets().into_iter().flatten().collect(),
        };
        let inside = |storage: Option<flatbuffers::Vector<'_, u8>>| range_in(buffer, storage.map_or(&[], |storage| storage.bytes()));
        let inline_constants = program.constant_buffer().into_iter().flatten().map(|constant| inside(constant.storage())).collect();
        let delegates = program.backend_delegate_data().into_iter().flatten().map(|data| inside(data.data())).collect();
        let constants = program.constant_segment().map(subsegment);
        let mutable = program.mutable_data_segments().into_iter().flatten().map(subsegment).collect();
        let mut named = HashMap::new();
        for data in program.named_data().into_iter().flatten() {
            // The first of two equal names counts.
            named.entry(data.key().unwrap_or_default().to_owned()).or_insert(data.segment_index() as usize);
        }
        Ok(Self { header, segments, constants, inline_constants, mutable, named, delegates, bytes })
    }

    /// Reads the FlatBuffer.
    ///
    /// # Errors
    /// Never for a file that was opened; the structure is verified anew.
    pub fn program(&self) -> Result<schema::Program<'_>, Diagnostic> {
        verified(&(*self.bytes).as_ref()[self.header.program.clone()])
    }

    /// Bytes of the whole file.
    pub fn length(&self) -> usize {
        (*self.bytes).as_ref().len()
    }

    /// The first `length` bytes of constant number `index`.
    ///
    /// # Errors
    /// When there is no such constant or it reaches past its segment.
    pub fn constant(&self, index: u32, length: u64) -> Result<Data, Diagnostic> {
        match &self.constants {
            Some(subsegment) if !subsegment.offsets.is_empty() => self.in_segment(subsegment, u64::from(index), length, "constant"),
            _ => {
                let storage = self.inline_constants.get(index as usize).ok_or_else(|| self.no_such("constant", u64::from(index)))?;
                let fits = usize::try_from(length).ok().filter(|&n| n <= storage.len());
                let length = fits.ok_or_else(|| {
                    invalid(format!("constant {index} is shorter than its tensor"))
                        .expected(format!("{length} bytes"), storage.len().to_string())
                })?;
                self.data(storage.start..storage.start + length)
            }
        }
    }

    /// The initial value of a state: `length` bytes of entry `index` of one of the mutable data segments.
    ///
    /// # Errors
    /// When there is no such segment or entry, or it reaches past its segment.
    pub fn initial_state(&self, mutable_segment: u64, index: u32, length: u64) -> Result<Data, Diagnostic> {
        let found = usize::try_from(mutable_segment).ok().and_then(|i| self.mutable.get(i));
        let subsegment = found.ok_or_else(|| self.no_such("mutable data segment", mutable_segment))?;
        self.in_segment(subsegment, u64::from(index), length, "initial state")
    }

    /// The bytes that delegates know by a name; `None` when the program has no such name.
    ///
    /// # Errors
    /// When their segment does not exist.
    pub fn named(&self, key: &str) -> Result<Option<Data>, Diagnostic> {
        self.named.get(key).map(|&segment| self.segment(segment)).transpose()
    }

    /// The bytes of a delegate that are in the FlatBuffer itself.
    ///
    /// # Errors
    /// When there is no such entry.
    pub fn delegate_data(&self, index: u32) -> Result<Data, Diagnostic> {
        let range = self.delegates.get(index as usize).ok_or_else(|| self.no_such("delegate data", u64::from(index)))?;
        self.data(range.clone())
    }

    /// A whole segment.
    ///
    /// # Errors
    /// When there is no such segment.
    pub fn segment(&self, index: usize) -> Result<Data, Diagnostic> {
        let range = self.segments.get(index).ok_or_else(|| self.no_such("segment", index as u64))?;
        self.data(range.clone())
    }

    fn in_segment(&self, subsegment: &Subsegment, index: u64, length: u64, what: &str) -> Result<Data, Diagnostic> {
        let segment = self.segments.get(subsegment.segment).ok_or_else(|| self.no_such("segment", subsegment.segment as u64))?;
        let offset = usize::try_from(index).ok().and_then(|i| subsegment.offsets.get(i)).ok_or_else(|| self.no_such(what, index))?;
        let room = (segment.end - segment.start) as u64;
        let end = offset.checked_add(length).filter(|&end| end <= room);
        let end = end.ok_or_else(|| {
            invalid(format!("{what} {index} extends beyond the end of its segment"))
                .expected(format!("at most {room} bytes"), format!("{length} bytes from {offset}"))
        })?;
        self.data(segment.start + *offset as usize..segment.start + end as usize)
    }

    fn data(&self, range: Range<usize>) -> Result<Data, Diagnostic> {
        Data::range_of(self.bytes.clone(), range).ok_or_else(|| invalid("data reach past the end of the file"))
    }

    fn no_such(&self, what: &str, index: u64) -> Diagnostic {
        invalid(format!("there is no {what} {index}"))
    }
}

fn segment_range(header: &Header, index: usize, offset: u64, size: u64) -> Result<Range<usize>, Diagnostic> {
    let room = (header.segments.end - header.segments.start) as u64;
    match offset.checked_add(size) {
        _ if size == 0 => Ok(header.segments.start..header.segments.start),
        Some(end) if end <= room => Ok(header.segments.start + offset as usize..header.segments.start + end as usize),
        _ => Err(invalid(format!("segment {index} extends beyond the end of the file"))
            .expected(format!("at most {room} bytes of segments"), format!("{size} bytes from {offset}"))
            .help("the file may be cut short")),
    }
}

fn verified(buffer: &[u8]) -> Result<schema::Program<'_>, Diagnostic> {
    let buffer = flatbuffer_part(buffer);
    let options = verifier_options(buffer.len());
    schema::root_as_program_with_opts(&options, buffer).map_err(|error| invalid(format!("the program is damaged: {}", first_line(&error))))
}

fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(length: usize, program: u64, base: u64, size: u64) -> Vec<u8> {
        let mut bytes = vec![0; length];
        bytes[4..8].copy_from_slice(b"ET12");
        bytes[8..12].copy_from_slice(b"eh00");
        bytes[12..16].copy_from_slice(&32u32.to_le_bytes());
        bytes[16..24].copy_from_slice(&program.to_le_bytes());
        bytes[24..32].copy_from_slice(&base.to_le_bytes());
        bytes[32..40].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    #[test]
    fn ranges_of_the_header_stay_inside_the_file() {
        assert_eq!(Header::parse(&file(256, 100, 128, 128)), Ok(Header { program: 0..100, segments: 128..256 }));
        for (program, base, size) in [(257, 128, 0), (100, 128, 129), (100, u64::MAX, 2), (39, 128, 128), (100, 300, 0)] {
            assert!(Header::parse(&file(256, program, base, size)).is_err(), "{program} {base} {size}");
        }
    }

    #[test]
    fn short_and_foreign_files_are_refused() {
        for bytes in [&b""[..], b"ET12", b"\0\0\0\0TFL3\0\0\0\0", b"\0\0\0\0ET12eh00", b"\0\0\0\0ET12eh00\x08\0\0\0"] {
            assert!(Header::parse(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_file_without_segments_has_no_extended_header() {
        let header = Header::parse(b"\0\0\0\0ET12\0\0\0\0\0\0\0\0").unwrap();
        assert_eq!((header.program, header.segments), (0..16, 16..16));
    }
}
