//! A table of the members of a struct, and what follows from it: offsets and size.

use super::layout::{Layout, Member, Places};

/// Struct of C, or a record of the state.
#[derive(Debug)]
pub struct Struct<F: 'static> {
    /// Name in C; empty for a record.
    pub(super) name: &'static str,
    /// The declarations in their order.
    pub(super) rows: &'static [Row<F>],
}

/// Declaration of one or several members of one kind.
#[derive(Debug)]
pub struct Row<F: 'static> {
    pub(super) kind: Member,
    pub(super) members: &'static [F],
    /// Declaration in C, without the semicolon; empty in a record.
    pub(super) c: &'static str,
    /// Comment on the declaration in C, or empty.
    pub(super) comment: &'static str,
    /// Lines that declare the members in the Rust wrapper; empty if it lacks the struct.
    pub(super) rust: &'static [&'static str],
}

impl<F> Row<F> {
    /// Makes a row of members of one kind.
    pub(crate) const fn new(kind: Member, members: &'static [F]) -> Self {
        Self { kind, members, c: "", comment: "", rust: &[] }
    }

    /// Adds the declaration in C.
    pub(super) const fn c(mut self, declaration: &'static str) -> Self {
        self.c = declaration;
        self
    }

    /// Adds the comment on the declaration in C.
    pub(super) const fn comment(mut self, comment: &'static str) -> Self {
        self.comment = comment;
        self
    }

    /// Adds the lines of the Rust wrapper.
    pub(super) const fn rust(mut self, lines: &'static [&'static str]) -> Self {
        self.rust = lines;
        self
    }
}

impl<F: Copy + PartialEq> Struct<F> {
    /// Makes a record that C does not declare.
    pub(crate) const fn record(rows: &'static [Row<F>]) -> Self {
        Self { name: "", rows }
    }

    /// Lists the members with their kinds.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (F, Member)> {
        self.rows.iter().flat_map(|row| row.members.iter().map(|&member| (member, row.kind)))
    }

    /// Lists the members with their kinds and offsets.
    pub fn members(&self, layout: Layout) -> impl Iterator<Item = (F, Member, u64)> {
        let mut places = Places::default();
        self.kinds().map(move |(member, kind)| (member, kind, places.member(kind, layout)))
    }

    /// Returns the size in bytes.
    pub fn bytes(&self, layout: Layout) -> u64 {
        let mut places = Places::default();
        for (_, kind) in self.kinds() {
            places.member(kind, layout);
        }
        places.bytes()
    }

    /// Returns the offset of a member.
    pub fn offset(&self, member: F, layout: Layout) -> i32 {
        self.place(member, layout).1
    }

    /// Returns the kind and the offset of a member.
    ///
    /// # Panics
    /// Never; a test covers every member.
    pub fn place(&self, member: F, layout: Layout) -> (Member, i32) {
        let place = self.members(layout).find(|place| place.0 == member);
        place.map_or_else(|| unreachable!("each member has a row"), |(_, kind, offset)| (kind, offset as i32))
    }
}
