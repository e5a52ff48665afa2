//! Generation of Rust from the model.
//!
//! The text is included in a module by `include!`, so it has no inner attributes; the module allows what generated code needs (see
//! `compiler/schema.rs`). All items from elsewhere have their full path, because a schema may declare a table named `String` or `Vector`.

mod enums;
mod roots;
mod tables;
mod verifiers;
mod writers;

use crate::model::{Element, FieldKind, Module, Reference};
use crate::names;

/// Returns the text of the module.
pub(crate) fn generate(module: &Module) -> String {
    let mut text = format!("// Generated from {}.fbs; edits are lost.\n", module.name);
    for declared in &module.enums {
        enums::enumeration(&mut text, declared);
    }
    for declared in &module.unions {
        enums::union(&mut text, module, declared);
    }
    if !module.tables.is_empty() {
        verifiers::helpers(&mut text);
    }
    for table in &module.tables {
        tables::table(&mut text, module, table);
        writers::writer(&mut text, module, table);
    }
    if let Some(root) = &module.root {
        roots::root(&mut text, root, module.identifier.as_deref());
    }
    text
}

/// Adds `lines`, each indented by `depth` steps; empty lines stay empty.
fn push(text: &mut String, depth: usize, lines: &str) {
    for line in lines.lines() {
        if !line.is_empty() {
            text.extend(std::iter::repeat_n("    ", depth));
            text.push_str(line);
        }
        text.push('\n');
    }
}

/// Returns the path of a type from within `module`.
fn path(module: &Module, reference: &Reference) -> String {
    let name = names::identifier(&reference.name);
    if reference.module == module.name { name } else { format!("super::{}::{name}", names::identifier(&reference.module)) }
}

/// Returns the Rust type of a vector's elements: the parameter of `flatbuffers::Vector`.
fn element_type(module: &Module, element: &Element) -> String {
    match element {
        Element::Scalar(scalar) => scalar.rust().to_string(),
        Element::Enum(name) => path(module, name),
        Element::String => "::flatbuffers::ForwardsUOffset<&'a str>".to_string(),
        Element::Table(name) => {
            format!("::flatbuffers::ForwardsUOffset<{}<'a>>", path(module, name))
        }
    }
}

/// Returns the Rust type of a field's value: a scalar or enum, or the target of the field's offset.
fn value_type(module: &Module, kind: &FieldKind) -> String {
    match kind {
        FieldKind::Scalar { scalar, .. } => scalar.rust().to_string(),
        FieldKind::Enum { name, .. } => path(module, name),
        FieldKind::String => "&'a str".to_string(),
        FieldKind::Table(name) => format!("{}<'a>", path(module, name)),
        FieldKind::Union { .. } => "::flatbuffers::Table<'a>".to_string(),
        FieldKind::Vector(element) => {
            format!("::flatbuffers::Vector<'a, {}>", element_type(module, element))
        }
    }
}

/// Returns the default of a scalar or enum field; `None` for a field behind an offset.
fn default_value(module: &Module, kind: &FieldKind) -> Option<String> {
    match kind {
        FieldKind::Scalar { default, .. } => Some(default.clone()),
        FieldKind::Enum { name, default, .. } => Some(format!("{}({default})", path(module, name))),
        _ => None,
    }
}

/// Returns the name of the constant with the vtable offset of field `name`.
fn slot(name: &str) -> String {
    format!("VT_{}", names::upper_snake_case(name))
}
