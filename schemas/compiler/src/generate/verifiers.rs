//! Verifiers: each table checks its fields and the targets of their offsets, once, before anything is read.
//!
//! Numbers may be unaligned: readers copy them byte by byte. The verifier of the crate requires alignment, which files of other writers do not
//! have. So only its checks of ranges and of single bytes are used, which also limit how often bytes may be shared.

use super::{path, push, slot};
use crate::model::{Element, FieldKind, Module, Reference, Scalar, Table, UnionMember};
use crate::names;

/// Helpers that the verifiers of all tables share. A field is checked by a call with a function for its target, so that the compiler's work
/// stays small.
const HELPERS: &str = "
type Verified<T> = ::core::result::Result<T, ::flatbuffers::InvalidFlatbuffer>;

/// A check of the table at a position, with its nesting depth.
type Check = fn(&mut ::flatbuffers::Verifier<'_, '_>, usize, u32) -> Verified<()>;

/// Limit of the nesting of tables.
const MOST_NESTED: u32 = 64;

/// A table that is being checked: where it is, where its slots are, and their bytes.
struct Fields {
    position: usize,
    slots: usize,
    bytes: usize,
    depth: u32,
}

impl Fields {
    fn of(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize, depth: u32) -> Verified<Self> {
        if depth >= MOST_NESTED {
            return ::core::result::Result::Err(::flatbuffers::InvalidFlatbuffer::DepthLimitReached);
        }
        let back = i32::from_le_bytes(bytes_at(verifier, position)?);
        let slots = (position as u64).checked_add_signed(-i64::from(back)).and_then(|slots| usize::try_from(slots).ok());
        let slots = slots.ok_or(::flatbuffers::InvalidFlatbuffer::SignedOffsetOutOfBounds {
            soffset: back,
            position,
            error_trace: ::core::default::Default::default(),
        })?;
        let bytes = usize::from(u16::from_le_bytes(bytes_at(verifier, slots)?));
        verifier.range_in_buffer(slots, bytes)?;
        ::core::result::Result::Ok(Self { position, slots, bytes, depth })
    }

    /// Returns the position of a field, if the table has it.
    fn find(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT) -> Verified<::core::option::Option<usize>> {
        let slot = usize::from(slot);
        if slot + 2 > self.bytes {
            return ::core::result::Result::Ok(::core::option::Option::None);
        }
        let offset = u16::from_le_bytes(bytes_at(verifier, self.slots + slot)?);
        ::core::result::Result::Ok((offset != 0).then(|| self.position.saturating_add(usize::from(offset))))
    }

    fn scalar(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT, size: usize) -> Verified<()> {
        match self.find(verifier, slot)? {
            ::core::option::Option::Some(place) => verifier.range_in_buffer(place, size),
            ::core::option::Option::None => ::core::result::Result::Ok(()),
        }
    }

    /// A field that is an offset, and what it leads to.
    fn behind(
        &self,
        verifier: &mut ::flatbuffers::Verifier<'_, '_>,
        slot: ::flatbuffers::VOffsetT,
        check: impl ::core::ops::Fn(&mut ::flatbuffers::Verifier<'_, '_>, usize) -> Verified<()>,
    ) -> Verified<()> {
        let ::core::option::Option::Some(place) = self.find(verifier, slot)? else { return ::core::result::Result::Ok(()) };
        let place = target(verifier, place)?;
        check(verifier, place)
    }

    fn numbers(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT, size: usize) -> Verified<()> {
        self.behind(verifier, slot, |verifier, vector| elements(verifier, vector, size).map(|_| ()))
    }

    fn string(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT) -> Verified<()> {
        self.behind(verifier, slot, text)
    }

    fn strings(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT) -> Verified<()> {
        self.behind(verifier, slot, |verifier, vector| each(verifier, vector, text))
    }

    fn table(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT, check: Check) -> Verified<()> {
        self.behind(verifier, slot, |verifier, table| check(verifier, table, self.depth + 1))
    }

    fn tables(&self, verifier: &mut ::flatbuffers::Verifier<'_, '_>, slot: ::flatbuffers::VOffsetT, check: Check) -> Verified<()> {
        self.behind(verifier, slot, |verifier, vector| each(verifier, vector, |verifier, table| check(verifier, table, self.depth + 1)))
    }

    /// A union: the tag says which table the value is. That of an unknown tag is never read, and so not looked at.
    fn union(
        &self,
        verifier: &mut ::flatbuffers::Verifier<'_, '_>,
        name: &'static str,
        [tag, slot]: [::flatbuffers::VOffsetT; 2],
        check: fn(u8) -> ::core::option::Option<Check>,
    ) -> Verified<()> {
        match (self.find(verifier, tag)?, self.find(verifier, slot)?) {
            (::core::option::Option::None, ::core::option::Option::None) => ::core::result::Result::Ok(()),
            (::core::option::Option::Some(tag), ::core::option::Option::Some(_)) => match check(verifier.get_u8(tag)?) {
                ::core::option::Option::Some(check) => self.table(verifier, slot, check),
                ::core::option::Option::None => self.scalar(verifier, slot, ::flatbuffers::SIZE_UOFFSET),
            },
            _ => ::flatbuffers::InvalidFlatbuffer::new_inconsistent_union(\"the tag of a union\", name),
        }
    }
}

fn bytes_at<const N: usize>(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<[u8; N]> {
    let mut bytes = [0; N];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = verifier.get_u8(position.saturating_add(i))?;
    }
    ::core::result::Result::Ok(bytes)
}

/// Returns the target of the offset at a position.
fn target(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<usize> {
    ::core::result::Result::Ok(position.saturating_add(u32::from_le_bytes(bytes_at(verifier, position)?) as usize))
}

/// The first element of a vector, and how many it has.
fn elements(verifier: &mut ::flatbuffers::Verifier<'_, '_>, vector: usize, size: usize) -> Verified<(usize, usize)> {
    let count = u32::from_le_bytes(bytes_at(verifier, vector)?) as usize;
    let first = vector.saturating_add(::flatbuffers::SIZE_UOFFSET);
    verifier.range_in_buffer(first, count.saturating_mul(size))?;
    ::core::result::Result::Ok((first, count))
}

/// A vector of offsets, and what each leads to.
fn each(
    verifier: &mut ::flatbuffers::Verifier<'_, '_>,
    vector: usize,
    check: impl ::core::ops::Fn(&mut ::flatbuffers::Verifier<'_, '_>, usize) -> Verified<()>,
) -> Verified<()> {
    let (first, count) = elements(verifier, vector, ::flatbuffers::SIZE_UOFFSET)?;
    for i in 0..count {
        let place = target(verifier, first + i * ::flatbuffers::SIZE_UOFFSET)?;
        check(verifier, place)?;
    }
    ::core::result::Result::Ok(())
}

/// A string: UTF-8 with a zero after it.
fn text(verifier: &mut ::flatbuffers::Verifier<'_, '_>, vector: usize) -> Verified<()> {
    let count = u32::from_le_bytes(bytes_at(verifier, vector)?) as usize;
    let range = vector.saturating_add(::flatbuffers::SIZE_UOFFSET)..vector.saturating_add(::flatbuffers::SIZE_UOFFSET).saturating_add(count);
    let mut bytes = ::std::vec::Vec::new();
    for position in range.clone() {
        bytes.push(verifier.get_u8(position)?);
    }
    if let ::core::result::Result::Err(error) = ::core::str::from_utf8(&bytes) {
        return ::core::result::Result::Err(::flatbuffers::InvalidFlatbuffer::Utf8Error {
            error,
            range,
            error_trace: ::core::default::Default::default(),
        });
    }
    match verifier.get_u8(range.end) {
        ::core::result::Result::Ok(0) => ::core::result::Result::Ok(()),
        _ => ::core::result::Result::Err(::flatbuffers::InvalidFlatbuffer::MissingNullTerminator {
            range,
            error_trace: ::core::default::Default::default(),
        }),
    }
}";

pub(super) fn helpers(text: &mut String) {
    push(text, 0, HELPERS);
}

/// Writes the verifier of `table`.
pub(super) fn table(text: &mut String, module: &Module, table: &Table) {
    let name = names::identifier(&table.name);
    push(
        text,
        0,
        &format!(
            "
impl {name}<'_> {{
    /// Checks the table at `position`, which `depth` tables are around.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn verify(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize, depth: u32) -> Verified<()> {{
        let table = Fields::of(verifier, position, depth)?;"
        ),
    );
    if table.fields.is_empty() {
        push(text, 2, "let _ = table;");
    }
    for field in &table.fields {
        let slot = slot(&field.name);
        let check = check(module, &field.kind, &field.name, &slot);
        push(text, 2, &format!("table.{check}?;"));
    }
    push(text, 0, "        ::core::result::Result::Ok(())\n    }\n}");
    verifiable(text, &name);
}

/// Writes the crate's verifier for a table at the root.
fn verifiable(text: &mut String, name: &str) {
    push(
        text,
        0,
        &format!(
            "
impl ::flatbuffers::Verifiable for {name}<'_> {{
    fn run_verifier(verifier: &mut ::flatbuffers::Verifier<'_, '_>, position: usize) -> Verified<()> {{
        Self::verify(verifier, position, 0)
    }}
}}"
        ),
    );
}

/// Returns the call that checks a field.
fn check(module: &Module, kind: &FieldKind, name: &str, slot: &str) -> String {
    let of = |table: &Reference| format!("{}::verify", path(module, table));
    match kind {
        FieldKind::Scalar { scalar, .. } | FieldKind::Enum { base: scalar, .. } => {
            format!("scalar(verifier, Self::{slot}, {})", scalar.bytes())
        }
        FieldKind::String => format!("string(verifier, Self::{slot})"),
        FieldKind::Table(table) => format!("table(verifier, Self::{slot}, {})", of(table)),
        FieldKind::Vector(Element::Scalar(scalar)) => format!("numbers(verifier, Self::{slot}, {})", scalar.bytes()),
        FieldKind::Vector(Element::Enum(name)) => {
            format!("numbers(verifier, Self::{slot}, ::core::mem::size_of::<{}>())", path(module, name))
        }
        FieldKind::Vector(Element::String) => format!("strings(verifier, Self::{slot})"),
        FieldKind::Vector(Element::Table(table)) => format!("tables(verifier, Self::{slot}, {})", of(table)),
        FieldKind::Union { name: union, .. } => {
            let tag = super::slot(&format!("{name}_type"));
            format!("union(verifier, {name:?}, [Self::{tag}, Self::{slot}], {}::table_verifier)", path(module, union))
        }
    }
}

/// Writes the function that selects the verifier of a union's value by its tag.
pub(super) fn union(text: &mut String, module: &Module, name: &str, members: &[UnionMember]) {
    push(
        text,
        0,
        &format!(
            "
impl {name} {{
    /// The verifier of the table that a tag announces; none of an unknown one.
    pub fn table_verifier(tag: u8) -> ::core::option::Option<fn(&mut ::flatbuffers::Verifier<'_, '_>, usize, u32) -> ::core::result::Result<(), ::flatbuffers::InvalidFlatbuffer>> {{
        match Self(tag) {{"
        ),
    );
    for member in members {
        let table = path(module, &member.table);
        push(text, 3, &format!("Self::{} => ::core::option::Option::Some({table}::verify),", names::identifier(&member.name)));
    }
    push(text, 0, "            _ => ::core::option::Option::None,\n        }\n    }\n}");
}

impl Scalar {
    /// Bytes that one takes.
    fn bytes(self) -> usize {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }
}
