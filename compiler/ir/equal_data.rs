//! Data with equal bytes, found among data that are given one after another.

use super::data::Data;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of bytes at the start that are hashed first. They mostly differ, so no others are read.
const START: usize = 4096;

/// A set of data with a value for each, which finds earlier data that are equal.
pub struct EqualData<T> {
    /// `true` if data count as equal only if they are the same bytes of the same owner.
    by_place: bool,
    /// Data whose start has a hash that no others share, by this hash (or by place). `None` where several share it.
    alone: FxHashMap<u64, Option<(Data, T)>>,
    /// The other data, by the hash of all bytes (or by place).
    others: FxHashMap<u64, Vec<(Data, T)>>,
}

impl<T: Copy> EqualData<T> {
    /// Creates an empty set. Open data count as equal only if they are the same bytes of the same owner. Other equality may be chance, and the bytes
    /// that replace them may differ.
    pub fn new(are_open: bool) -> Self {
        Self { by_place: are_open, alone: FxHashMap::default(), others: FxHashMap::default() }
    }

    /// Returns the value of the first data that equal these. If there are none, keeps `value` for these and returns it.
    pub fn first(&mut self, data: &Data, value: T) -> T {
        let before = match self.alone.entry(self.key(data, START)) {
            Entry::Vacant(entry) => {
                entry.insert(Some((data.clone(), value)));
                return value;
            }
            Entry::Occupied(mut entry) => entry.insert(None),
        };
        if let Some((other, its)) = before {
            let key = self.key(&other, usize::MAX);
            self.others.entry(key).or_default().push((other, its));
        }
        let known = self.others.entry(self.key(data, usize::MAX)).or_default();
        let by_place = self.by_place;
        let equal = |other: &Data| if by_place { other.is_same(data) } else { other == data };
        if let Some((_, first)) = known.iter().find(|(other, _)| equal(other)) {
            return *first;
        }
        known.push((data.clone(), value));
        value
    }

    /// A hash of the length and at most `most` bytes. It is never written anywhere. A file can choose its bytes, and could force collisions of a
    /// simple hasher.
    fn key(&self, data: &Data, most: usize) -> u64 {
        if self.by_place {
            return data.place() as u64;
        }
        let mut hasher = DefaultHasher::new();
        let start = data.slice(0..data.len().min(most)).unwrap_or_else(|| data.clone());
        (data.len(), &*start.read()).hash(&mut hasher);
        data.release();
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(bytes: &[u8]) -> Data {
        bytes.to_vec().into()
    }

    #[test]
    fn equal_bytes_are_one_however_far_they_are_alike() {
        let mut long = vec![7; 3 * START];
        let first = data(&long);
        long[2 * START] = 8;
        let second = data(&long);
        let list = [&first, &data(&[7; START]), &second, &data(&long), &first.clone(), &data(&[]), &data(&[7; START]), &data(&[])];
        let mut equal = EqualData::new(false);
        let found: Vec<usize> = list.into_iter().enumerate().map(|(number, data)| equal.first(data, number)).collect();
        assert_eq!(found, [0, 1, 2, 2, 0, 5, 1, 5]);
    }

    #[test]
    fn open_data_are_equal_where_they_are_the_same() {
        let whole = data(&[7; 100]);
        let list = [&whole, &data(&[7; 100]), &whole.slice(0..50).unwrap(), &whole.slice(0..50).unwrap(), &whole.clone()];
        let mut equal = EqualData::new(true);
        let found: Vec<usize> = list.into_iter().enumerate().map(|(number, data)| equal.first(data, number)).collect();
        assert_eq!(found, [0, 1, 2, 2, 0]);
    }
}
