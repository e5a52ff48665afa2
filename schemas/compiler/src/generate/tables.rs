//! Tables: the view, its accessors, and its `Debug` form.

use super::{default_value, path, push, slot, value_type, verifiers};
use crate::model::{Element, Field, FieldKind, Module, Reference, Scalar, Table, UnionMember};
use crate::names;

/// Writes the reader of `table`.
pub(super) fn table(text: &mut String, module: &Module, table: &Table) {
    view(text, table);
    push(text, 0, &format!("\nimpl<'a> {}<'a> {{", names::identifier(&table.name)));
    slots(text, table);
    push(
        text,
        1,
        "
/// The view of `table`.
///
/// # Safety
/// `table` has been verified as a table of this type.
#[inline]
pub unsafe fn init_from_table(table: ::flatbuffers::Table<'a>) -> Self {
    Self { table }
}",
    );
    for field in &table.fields {
        match &field.kind {
            FieldKind::Union { name, members } => union(text, module, field, name, members),
            _ => accessor(text, module, field),
        }
    }
    push(text, 0, "}");
    verifiers::table(text, module, table);
    debug(text, module, table);
}

fn view(text: &mut String, table: &Table) {
    push(
        text,
        0,
        &format!(
            "
/// Table `{schema_name}`.
#[derive(Clone, Copy)]
pub struct {name}<'a> {{
    table: ::flatbuffers::Table<'a>,
}}

impl<'a> ::flatbuffers::Follow<'a> for {name}<'a> {{
    type Inner = Self;
    #[inline]
    unsafe fn follow(buffer: &'a [u8], location: usize) -> Self {{
        Self {{ table: unsafe {{ ::flatbuffers::Table::new(buffer, location) }} }}
    }}
}}",
            schema_name = table.name,
            name = names::identifier(&table.name),
        ),
    );
}

fn slots(text: &mut String, table: &Table) {
    for Field { name, vtable_offset, kind } in &table.fields {
        let constant = "pub const";
        let offset_type = "::flatbuffers::VOffsetT";
        if let FieldKind::Union { .. } = kind {
            let tag = slot(&format!("{name}_type"));
            push(text, 1, &format!("{constant} {tag}: {offset_type} = {};", vtable_offset - 2));
        }
        push(text, 1, &format!("{constant} {}: {offset_type} = {vtable_offset};", slot(name)));
    }
}

fn accessor(text: &mut String, module: &Module, field: &Field) {
    let name = names::identifier(&field.name);
    let slot = slot(&field.name);
    let value = value_type(module, &field.kind);
    let body = match default_value(module, &field.kind) {
        Some(default) => format!(
            "
#[inline]
pub fn {name}(&self) -> {value} {{
    unsafe {{ self.table.get::<{value}>(Self::{slot}, ::core::option::Option::None) }}.unwrap_or({default})
}}"
        ),
        None => format!(
            "
#[inline]
pub fn {name}(&self) -> ::core::option::Option<{value}> {{
    unsafe {{ self.table.get::<::flatbuffers::ForwardsUOffset<{value}>>(Self::{slot}, ::core::option::Option::None) }}
}}"
        ),
    };
    push(text, 1, &body);
}

/// Writes accessors of the tag, of the bare value, and of the value as each of the possible tables.
fn union(text: &mut String, module: &Module, field: &Field, union: &Reference, members: &[UnionMember]) {
    let tag = path(module, union);
    let name = names::identifier(&field.name);
    let tag_slot = slot(&format!("{}_type", field.name));
    push(
        text,
        1,
        &format!(
            "
#[inline]
pub fn {field}_type(&self) -> {tag} {{
    unsafe {{ self.table.get::<{tag}>(Self::{tag_slot}, ::core::option::Option::None) }}.unwrap_or_default()
}}

#[inline]
pub fn {name}(&self) -> ::core::option::Option<::flatbuffers::Table<'a>> {{
    unsafe {{ self.table.get::<::flatbuffers::ForwardsUOffset<::flatbuffers::Table<'a>>>(Self::{slot}, ::core::option::Option::None) }}
}}",
            field = field.name,
            slot = slot(&field.name),
        ),
    );
    for member in members {
        push(
            text,
            1,
            &format!(
                "
#[inline]
pub fn {field}_as_{snake}(&self) -> ::core::option::Option<{table}<'a>> {{
    if self.{field}_type() != {tag}::{member} {{
        return ::core::option::Option::None;
    }}
    self.{name}().map(|table| unsafe {{ {table}::init_from_table(table) }})
}}",
                field = field.name,
                snake = names::snake_case(&member.name),
                table = path(module, &member.table),
                member = names::identifier(&member.name),
            ),
        );
    }
}

fn debug(text: &mut String, module: &Module, table: &Table) {
    push(
        text,
        0,
        &format!(
            "
impl<'a> ::core::fmt::Debug for {}<'a> {{
    #[inline]
    fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {{
        let mut fields = formatter.debug_struct({:?});",
            names::identifier(&table.name),
            table.name
        ),
    );
    for field in &table.fields {
        push(text, 2, &debug_field(module, field));
    }
    push(text, 0, "        fields.finish()\n    }\n}");
}

/// Returns a statement that adds a field to the `Debug` form. Only the number of bytes is shown, because they are usually weights.
fn debug_field(module: &Module, field: &Field) -> String {
    let label = &field.name;
    let name = names::identifier(label);
    match &field.kind {
        FieldKind::Vector(Element::Scalar(Scalar::U8)) => {
            format!("fields.field({label:?}, &self.{name}().map(|bytes| ::std::format!(\"{{}} bytes\", bytes.len())));")
        }
        FieldKind::Union { name: union, members } => {
            let tag = path(module, union);
            let mut statement = format!("match self.{label}_type() {{\n");
            for member in members {
                let snake = names::snake_case(&member.name);
                let member = names::identifier(&member.name);
                statement.push_str(&format!("    {tag}::{member} => fields.field({label:?}, &self.{label}_as_{snake}()),\n"));
            }
            statement.push_str(&format!("    tag => fields.field(\"{label}_type\", &tag),\n}};"));
            statement
        }
        _ => format!("fields.field({label:?}, &self.{name}());"),
    }
}
