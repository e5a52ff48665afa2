//! Positions of a schema's values in a buffer, so that tests can damage them one at a time.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::error::Error;
use crate::model::{Element, FieldKind, Module, Reference, Scalar, Table};
use crate::{check, load};

/// Kind of value at a [`Site`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// An integer or an enum.
    Integer,
    /// A binary floating-point number.
    Float,
    /// The tag of a union.
    Tag,
    /// The distance to a string, vector or table.
    Offset,
    /// The number of elements of a vector or string.
    Length,
    /// The offset of a field in its table; 0 if it is absent.
    Slot,
}

/// One value in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Position of the first byte.
    pub at: usize,
    /// Number of bytes, at most 8; all of them are in the buffer.
    pub width: usize,
    /// Kind of value.
    pub kind: SiteKind,
    /// Number of the field; equal for all values of one field of a table type.
    pub field: u32,
}

/// A schema with everything it includes.
#[derive(Debug)]
pub struct Schema {
    tables: HashMap<(String, String), Table>,
    enums: HashMap<(String, String), Scalar>,
    root: Option<Reference>,
}

impl Schema {
    /// Reads the schema at `path`.
    ///
    /// # Errors
    /// The errors of [`crate::compile_file`].
    pub fn read(path: &Path) -> Result<Schema, Error> {
        let modules = check::check(&load::load(path, &|file| std::fs::read_to_string(file))?)?;
        Ok(Schema::new(modules))
    }

    fn new(modules: Vec<Module>) -> Schema {
        let root = modules.first().and_then(|first| Some(Reference { module: first.name.clone(), name: first.root.clone()? }));
        let (mut tables, mut enums) = (HashMap::new(), HashMap::new());
        for module in modules {
            for table in module.tables {
                tables.insert((module.name.clone(), table.name.clone()), table);
            }
            for item in module.enums {
                enums.insert((module.name.clone(), item.name), item.base);
            }
        }
        Schema { tables, enums, root }
    }

    /// Returns the values of a buffer, in the order in which they are reached from its root. There are at most `most`, and at most the first sixteen
    /// of each vector of numbers. The buffer may be damaged: values outside it are left out.
    pub fn sites(&self, buffer: &[u8], most: usize) -> Vec<Site> {
        let mut walk =
            Walk { schema: self, buffer, most, sites: Vec::new(), fields: HashMap::new(), seen: HashSet::new(), left: Vec::new() };
        if let Some(root) = &self.root
            && let Some(table) = walk.follow(0, 0)
        {
            walk.left.push((root, table));
        }
        while let Some((reference, at)) = walk.left.pop() {
            walk.table(reference, at);
        }
        walk.sites
    }
}

/// Limit of sites in a vector of numbers, whose other elements are usually weights.
const MOST_ELEMENTS: usize = 16;

struct Walk<'a> {
    schema: &'a Schema,
    buffer: &'a [u8],
    most: usize,
    sites: Vec<Site>,
    /// Numbers of fields, by address in the schema.
    fields: HashMap<(*const Table, u16), u32>,
    /// Tables visited; several may refer to one.
    seen: HashSet<usize>,
    left: Vec<(&'a Reference, usize)>,
}

impl<'a> Walk<'a> {
    fn word(&self, at: usize) -> Option<usize> {
        let bytes = self.buffer.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    }

    fn add(&mut self, at: usize, width: usize, kind: SiteKind, field: u32) {
        let inside = at.checked_add(width).is_some_and(|end| end <= self.buffer.len());
        if inside && self.sites.len() < self.most {
            self.sites.push(Site { at, width, kind, field });
        }
    }

    /// Adds an offset and returns its target.
    fn follow(&mut self, at: usize, field: u32) -> Option<usize> {
        let target = at.checked_add(self.word(at)?)?;
        self.add(at, 4, SiteKind::Offset, field);
        (target < self.buffer.len()).then_some(target)
    }

    /// Adds the length of a vector and returns the positions of its elements.
    fn elements(&mut self, at: usize, width: usize, field: u32) -> impl Iterator<Item = usize> + use<> {
        self.add(at, 4, SiteKind::Length, field);
        let count = self.word(at).unwrap_or(0).min((self.buffer.len() - at) / width);
        (0..count).map(move |i| at + 4 + i * width)
    }

    fn table(&mut self, reference: &Reference, at: usize) {
        if !self.seen.insert(at) || self.sites.len() >= self.most {
            return;
        }
        let schema = self.schema;
        let Some(table) = schema.tables.get(&(reference.module.clone(), reference.name.clone())) else { return };
        // A table starts with the signed distance back to its vtable.
        let Some(vtable) = self.word(at).and_then(|distance| at.checked_add_signed(-(distance as u32 as i32 as isize))) else { return };
        let size = self.half(vtable).unwrap_or(0);
        for field in &table.fields {
            let next = self.fields.len() as u32;
            let number = *self.fields.entry((std::ptr::from_ref(table), field.vtable_offset)).or_insert(next);
            let slot = vtable + usize::from(field.vtable_offset);
            if usize::from(field.vtable_offset) + 2 > size {
                continue;
            }
            self.add(slot, 2, SiteKind::Slot, number);
            match self.half(slot) {
                Some(distance) if distance != 0 => self.field(&field.kind, at + distance, at, slot, number),
                _ => {}
            }
        }
    }

    fn half(&self, at: usize) -> Option<usize> {
        let bytes = self.buffer.get(at..at.checked_add(2)?)?;
        Some(usize::from(u16::from_le_bytes(bytes.try_into().ok()?)))
    }

    fn field(&mut self, kind: &'a FieldKind, at: usize, table: usize, slot: usize, number: u32) {
        match kind {
            FieldKind::Scalar { scalar, .. } => self.add(at, scalar.size(), kind_of(*scalar), number),
            FieldKind::Enum { base, .. } => self.add(at, base.size(), SiteKind::Integer, number),
            FieldKind::String => {
                if let Some(target) = self.follow(at, number) {
                    self.add(target, 4, SiteKind::Length, number);
                }
            }
            FieldKind::Table(reference) => {
                if let Some(target) = self.follow(at, number) {
                    self.left.push((reference, target));
                }
            }
            FieldKind::Union { members, .. } => {
                // The slot before has the tag.
                let Some(distance) = self.half(slot - 2).filter(|distance| *distance != 0) else { return };
                self.add(table + distance, 1, SiteKind::Tag, number);
                let tag = self.buffer.get(table + distance).copied().unwrap_or(0);
                let member = usize::from(tag).checked_sub(1).and_then(|i| members.get(i));
                if let (Some(target), Some(member)) = (self.follow(at, number), member) {
                    self.left.push((&member.table, target));
                }
            }
            FieldKind::Vector(element) => {
                if let Some(target) = self.follow(at, number) {
                    self.vector(element, target, number);
                }
            }
        }
    }

    fn vector(&mut self, element: &'a Element, at: usize, number: u32) {
        let scalar = match element {
            Element::Scalar(scalar) => *scalar,
            Element::Enum(reference) => match self.schema.enums.get(&(reference.module.clone(), reference.name.clone())) {
                Some(base) => *base,
                None => return,
            },
            Element::String | Element::Table(_) => {
                for place in self.elements(at, 4, number).take(self.most) {
                    let target = self.follow(place, number);
                    if let (Element::Table(reference), Some(target)) = (element, target) {
                        self.left.push((reference, target));
                    }
                }
                return;
            }
        };
        for place in self.elements(at, scalar.size(), number).take(MOST_ELEMENTS) {
            self.add(place, scalar.size(), kind_of(scalar), number);
        }
    }
}

fn kind_of(scalar: Scalar) -> SiteKind {
    if matches!(scalar, Scalar::F32 | Scalar::F64) { SiteKind::Float } else { SiteKind::Integer }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Schema {
        let read = |_: &Path| Ok(text.to_owned());
        Schema::new(check::check(&load::load(Path::new("main.fbs"), &read).unwrap()).unwrap())
    }

    /// A buffer whose root has one integer of −2, one vector of two shorts, and one absent field.
    const BUFFER: [u8; 40] = [
        16, 0, 0, 0, 0, 0, // the root is at 16
        10, 0, 12, 0, 8, 0, 4, 0, 0, 0, // vtable at 6
        10, 0, 0, 0, 8, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, // table: vtable 10 back, vector 8 on, −2
        2, 0, 0, 0, 7, 0, 9, 0, // two elements
        0, 0, 0, 0,
    ];
    const TEXT: &str = "table T { number: int; list: [short]; absent: float; } root_type T;";

    #[test]
    fn every_value_is_found_once() {
        let sites = schema(TEXT).sites(&BUFFER, 100);
        let found: Vec<_> = sites.iter().map(|site| (site.at, site.width, site.kind)).collect();
        use SiteKind::*;
        assert_eq!(
            found,
            [
                (0, 4, Offset),
                (10, 2, Slot),
                (24, 4, Integer),
                (12, 2, Slot),
                (20, 4, Offset),
                (28, 4, Length),
                (32, 2, Integer),
                (34, 2, Integer),
                (14, 2, Slot),
            ]
        );
        assert_eq!(schema(TEXT).sites(&BUFFER, 3).len(), 3);
    }

    #[test]
    fn damaged_buffers_have_sites_inside_only() {
        let schema = schema(TEXT);
        for at in 0..BUFFER.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut buffer = BUFFER;
                buffer[at] = value;
                let end = at.max(1);
                for buffer in [&buffer[..], &buffer[..end]] {
                    assert!(schema.sites(buffer, 100).iter().all(|site| site.at + site.width <= buffer.len()));
                }
            }
        }
    }
}
