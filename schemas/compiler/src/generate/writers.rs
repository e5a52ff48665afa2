//! Writers of tables, for tests and for tools that make models.

use super::{default_value, path, push, slot, value_type};
use crate::model::{Field, FieldKind, Module, Table};
use crate::names;

/// Writes the arguments of `table`, their defaults, and `create`.
pub(super) fn writer(text: &mut String, module: &Module, table: &Table) {
    let name = names::identifier(&table.name);
    let has_lifetime =
        table.fields.iter().any(|field| matches!(field.kind, FieldKind::String | FieldKind::Table(_) | FieldKind::Vector(_)));
    let lifetime = if has_lifetime { "<'a>" } else { "" };
    arguments(text, module, table, lifetime);
    push(
        text,
        0,
        &format!(
            "
impl<'a> {name}<'a> {{
    /// Writes a table; fields at their default are left out.
    #[inline]
    pub fn create(
        builder: &mut ::flatbuffers::FlatBufferBuilder<'a>,
        arguments: &{name}Args{lifetime},
    ) -> ::flatbuffers::WIPOffset<{name}<'a>> {{
        let start = builder.start_table();"
        ),
    );
    // The widest fields come first, so that no padding is needed between fields.
    let mut fields: Vec<&Field> = table.fields.iter().collect();
    fields.sort_by_key(|field| std::cmp::Reverse(width(&field.kind)));
    for field in &fields {
        push(text, 2, &store(module, field));
    }
    // Tags are the narrowest.
    for field in &fields {
        if let FieldKind::Union { name: union, .. } = &field.kind {
            let tag = format!("{}_type", field.name);
            push(text, 2, &format!("builder.push_slot(Self::{}, arguments.{tag}, {}::NONE);", slot(&tag), path(module, union)));
        }
    }
    let unused = if fields.is_empty() { "let _ = arguments;\n" } else { "" };
    push(text, 2, &format!("{unused}let end = builder.end_table(start);\n::flatbuffers::WIPOffset::new(end.value())"));
    push(text, 0, "    }\n}");
}

fn arguments(text: &mut String, module: &Module, table: &Table, lifetime: &str) {
    let name = names::identifier(&table.name);
    push(text, 0, &format!("\n/// Fields for [`{name}::create`].\n#[derive(Clone, Copy)]\npub struct {name}Args{lifetime} {{"));
    let mut defaults = String::new();
    for field in &table.fields {
        let argument = names::identifier(&field.name);
        let value = value_type(module, &field.kind);
        if let FieldKind::Union { name: union, .. } = &field.kind {
            let tag = path(module, union);
            push(text, 1, &format!("pub {}_type: {tag},", field.name));
            push(&mut defaults, 3, &format!("{}_type: {tag}::NONE,", field.name));
        }
        let (value, default) = match (&field.kind, default_value(module, &field.kind)) {
            (_, Some(default)) => (value, default),
            (FieldKind::Union { .. }, None) => (offset("::flatbuffers::UnionWIPOffset"), "::core::option::Option::None".to_string()),
            (_, None) => (offset(&value), "::core::option::Option::None".to_string()),
        };
        push(text, 1, &format!("pub {argument}: {value},"));
        push(&mut defaults, 3, &format!("{argument}: {default},"));
    }
    push(
        text,
        0,
        &format!(
            "}}

impl{lifetime} ::core::default::Default for {name}Args{lifetime} {{
    #[inline]
    fn default() -> Self {{
        Self {{
{defaults}        }}
    }}
}}"
        ),
    );
}

fn offset(value: &str) -> String {
    format!("::core::option::Option<::flatbuffers::WIPOffset<{value}>>")
}

fn store(module: &Module, field: &Field) -> String {
    let argument = names::identifier(&field.name);
    let slot = slot(&field.name);
    match default_value(module, &field.kind) {
        Some(default) => {
            let value = value_type(module, &field.kind);
            format!("builder.push_slot::<{value}>(Self::{slot}, arguments.{argument}, {default});")
        }
        None => format!(
            "if let ::core::option::Option::Some(offset) = arguments.{argument} {{\n    builder.push_slot_always(Self::{slot}, offset);\n}}"
        ),
    }
}

/// Returns the bytes of a field in its table.
fn width(kind: &FieldKind) -> usize {
    match kind {
        FieldKind::Scalar { scalar, .. } => scalar.size(),
        FieldKind::Enum { base, .. } => base.size(),
        _ => 4,
    }
}
