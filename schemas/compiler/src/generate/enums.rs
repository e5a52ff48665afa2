//! Open enums, and tags of unions, which are open enums too.

use super::{push, verifiers};
use crate::model::{Enum, Module, Scalar, Union};
use crate::names;

/// Writes the newtype of `declared`.
pub(super) fn enumeration(text: &mut String, declared: &Enum) {
    let base = declared.base.rust();
    let doc = format!("Enum `{}`: any `{base}`, with the values that the schema knows.", declared.name);
    let members: Vec<_> = declared.members.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    newtype(text, &doc, &declared.name, declared.base, &members);
}

/// Writes the tag of `declared`, with the check of its value.
pub(super) fn union(text: &mut String, module: &Module, declared: &Union) {
    let doc = format!("The tag of union `{}`: any `u8`, with those that the schema knows.", declared.name);
    let mut members = vec![("NONE", 0)];
    members.extend((1..).zip(&declared.members).map(|(tag, member)| (member.name.as_str(), tag)));
    newtype(text, &doc, &declared.name, Scalar::U8, &members);

    verifiers::union(text, module, &names::identifier(&declared.name), &declared.members);
}

fn newtype(text: &mut String, doc: &str, name: &str, base: Scalar, members: &[(&str, i128)]) {
    let schema_name = name;
    let name = names::identifier(name);
    let base = base.rust();
    push(
        text,
        0,
        &format!(
            "
/// {doc}
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct {name}(pub {base});

impl {name} {{"
        ),
    );
    for (member, value) in members {
        push(text, 1, &format!("pub const {}: Self = Self({value});", names::identifier(member)));
    }
    push(text, 1, "\n/// Every known value with its name.");
    push(text, 1, "pub const KNOWN: &'static [(Self, &'static str)] = &[");
    for (member, _) in members {
        push(text, 2, &format!("(Self::{}, {member:?}),", names::identifier(member)));
    }
    push(
        text,
        0,
        &format!(
            "    ];

    /// The name of this value, if the schema knows it.
    pub fn variant_name(self) -> ::core::option::Option<&'static str> {{
        Self::KNOWN.iter().find(|known| known.0 == self).map(|known| known.1)
    }}
}}

impl ::core::fmt::Debug for {name} {{
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {{
        match self.variant_name() {{
            ::core::option::Option::Some(name) => formatter.write_str(name),
            ::core::option::Option::None => ::core::write!(formatter, \"{schema_name}({{}})\", self.0),
        }}
    }}
}}

impl<'a> ::flatbuffers::Follow<'a> for {name} {{
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {{
        Self(unsafe {{ ::flatbuffers::read_scalar_at::<{base}>(buffer, location) }})
    }}
}}

impl ::flatbuffers::Push for {name} {{
    type Output = Self;
    #[inline]
    unsafe fn push(&self, destination: &mut [u8], _written: usize) {{
        unsafe {{ ::flatbuffers::emplace_scalar::<{base}>(destination, self.0) }}
    }}
}}"
        ),
    );
}
