//! FlexBuffers of one map from names to numbers, the format of custom operators' options.

/// A value of the map.
#[derive(Clone, Copy)]
pub enum Number {
    /// A signed integer.
    Int(i32),
    /// A truth value.
    Bool(bool),
}

/// Kinds of values in a type byte, for values of four bytes.
const INT: u8 = 1 << 2 | 2;
const BOOL: u8 = 26 << 2 | 2;
const MAP: u8 = 9 << 2 | 2;

/// Writes the map of these names and numbers.
pub fn options(entries: &[(&str, Number)]) -> Vec<u8> {
    let mut entries = entries.to_vec();
    entries.sort_by_key(|(name, _)| *name);
    let mut bytes = Vec::new();
    let starts: Vec<usize> = entries
        .iter()
        .map(|(name, _)| {
            let start = bytes.len();
            bytes.extend(name.bytes().chain([0]));
            start
        })
        .collect();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let word = |bytes: &mut Vec<u8>, word: u32| bytes.extend(word.to_le_bytes());
    word(&mut bytes, entries.len() as u32);
    let keys = bytes.len();
    for start in starts {
        let back = bytes.len() - start;
        word(&mut bytes, back as u32);
    }
    let back = bytes.len() - keys;
    word(&mut bytes, back as u32);
    word(&mut bytes, 4);
    word(&mut bytes, entries.len() as u32);
    let values = bytes.len();
    for (_, number) in &entries {
        match *number {
            Number::Int(n) => word(&mut bytes, n as u32),
            Number::Bool(truth) => word(&mut bytes, truth.into()),
        }
    }
    bytes.extend(entries.iter().map(|(_, number)| if matches!(number, Number::Int(_)) { INT } else { BOOL }));
    // The root: the distance back to its values, its kind, and its width.
    let back = bytes.len() - values;
    bytes.extend([u8::try_from(back).expect("few entries"), MAP, 1]);
    bytes
}
