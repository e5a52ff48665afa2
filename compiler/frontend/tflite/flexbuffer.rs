//! The options of custom operators: a FlexBuffer whose root is a map from names to numbers. Every offset is checked; a value of another
//! kind than a number is as if it were not there.
//!
//! A FlexBuffer is read from its end. The last byte is the width of the root, the byte before it is the root's type, and the root stands before both.
//! A type byte holds the kind in its high six bits and the logarithm of the width after an offset in its low two. Offsets count backwards from where
//! they stand. A map is a vector of values, followed by their types, with its size in front. The width and the offset of the vector of its keys stand
//! before the size. Keys are texts that end with a zero.

/// A map of options.
pub(super) struct Options<'a> {
    bytes: &'a [u8],
    /// The start of the values, the width of each, and their number.
    values: usize,
    width: usize,
    count: usize,
    /// The start of the offsets of the keys, and the width of each.
    keys: usize,
    key_width: usize,
}

/// Kinds of values, by the number in a type byte.
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const INDIRECT_INT: u8 = 6;
const INDIRECT_UINT: u8 = 7;
const INDIRECT_FLOAT: u8 = 8;
const MAP: u8 = 9;
const BOOL: u8 = 26;

fn unsigned(bytes: &[u8], position: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(position..position.checked_add(width)?)?;
    matches!(width, 1 | 2 | 4 | 8).then(|| bytes.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte)))
}

/// The place that an offset at a position names.
fn follow(bytes: &[u8], position: usize, width: usize) -> Option<usize> {
    position.checked_sub(usize::try_from(unsigned(bytes, position, width)?).ok()?)
}

impl<'a> Options<'a> {
    /// The map at the root; none when the bytes are no such FlexBuffer.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let [.., kind, width] = *bytes else { return None };
        let root = (bytes.len() - 2).checked_sub(width.into())?;
        if kind >> 2 != MAP {
            return None;
        }
        let (values, width) = (follow(bytes, root, width.into())?, 1 << (kind & 3));
        let count = usize::try_from(unsigned(bytes, values.checked_sub(width)?, width)?).ok()?;
        let key_width = usize::try_from(unsigned(bytes, values.checked_sub(2 * width)?, width)?).ok()?;
        let keys = follow(bytes, values.checked_sub(3 * width)?, width)?;
        // Values, and a byte of type for each, lie inside; so the count is no larger than the buffer.
        let end = values.checked_add(count.checked_mul(width + 1)?)?;
        (end <= bytes.len()).then_some(Self { bytes, values, width, count, keys, key_width })
    }

    /// The number of a name.
    pub fn number(&self, name: &str) -> Option<f64> {
        let index = (0..self.count).find(|&i| self.key(i) == Some(name.as_bytes()))?;
        let position = self.values + index * self.width;
        let kind = *self.bytes.get(self.values + self.count * self.width + index)?;
        match kind >> 2 {
            INDIRECT_INT | INDIRECT_UINT | INDIRECT_FLOAT => {
                self.at(follow(self.bytes, position, self.width)?, 1 << (kind & 3), (kind >> 2) - INDIRECT_INT + INT)
            }
            kind => self.at(position, self.width, kind),
        }
    }

    fn at(&self, position: usize, width: usize, kind: u8) -> Option<f64> {
        let bits = unsigned(self.bytes, position, width)?;
        match (kind, width) {
            (UINT | BOOL, _) => Some(bits as f64),
            (INT, _) => {
                let above = 64 - 8 * width as u32;
                Some(((bits << above) as i64 >> above) as f64)
            }
            (FLOAT, 4) => Some(f32::from_bits(bits as u32).into()),
            (FLOAT, 8) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn key(&self, index: usize) -> Option<&'a [u8]> {
        let position = self.keys.checked_add(index.checked_mul(self.key_width)?)?;
        let start = follow(self.bytes, position, self.key_width)?;
        let text = self.bytes.get(start..)?;
        text.get(..text.iter().position(|&byte| byte == 0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    /// `{"a": -2, "b": 0.5, "c": true}` as the format's own library writes it.
    const MAP: &[u8] = &[
        b'a', 0, b'b', 0, b'c', 0, 3, 7, 6, 5, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 254, 255, 255, 255, 0, 0, 0, 63, 1, 0, 0, 0, 6,
        14, 106, 15, 38, 1,
    ];

    #[test]
    fn numbers_are_found_by_name() {
        let options = Options::read(MAP).expect("a map");
        assert_eq!(["a", "b", "c", "d"].map(|name| options.number(name)), [Some(-2.0), Some(0.5), Some(1.0), None]);
    }

    #[test]
    fn no_byte_makes_it_read_outside() {
        for position in 0..MAP.len() {
            for byte in 0..=255 {
                let mut bytes = MAP.to_vec();
                bytes[position] = byte;
                for length in [bytes.len(), bytes.len() / 2, position] {
                    if let Some(options) = Options::read(&bytes[bytes.len() - length..]) {
                        let _ = ["a", "b", "c"].map(|name| options.number(name));
                    }
                }
            }
        }
    }
}
