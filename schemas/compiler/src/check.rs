//! Conversion of syntax to the model: resolves names, assigns slots and values, and rejects what generated readers cannot support.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Position};
use crate::load::Source;
use crate::model::{Element, Enum, Field, FieldKind, Module, Reference, Scalar, Table, Union, UnionMember};
use crate::names;
use crate::syntax::{self, Attribute, Declaration, DeclarationKind, Literal, Name, TypeName};
use crate::values;

/// Limit of slots: a vtable has at most 65,535 bytes, 4 of sizes and 2 for each slot.
const MAX_SLOTS: usize = (u16::MAX as usize - 4) / 2;

/// Checks every file and returns its module, in the order of the files.
pub(crate) fn check(sources: &[Source]) -> Result<Vec<Module>, Error> {
    let scope = Scope::new(sources)?;
    sources.iter().map(|source| Checker { source, scope: &scope }.module()).collect()
}

/// Declarations of all files by full name.
struct Scope<'a> {
    declared: HashMap<String, (&'a Source, &'a Declaration)>,
}

impl<'a> Scope<'a> {
    fn new(sources: &'a [Source]) -> Result<Self, Error> {
        let mut declared = HashMap::new();
        for source in sources {
            let mut in_module = HashSet::new();
            for declaration in &source.file.declarations {
                let name = &declaration.name;
                let full = qualified(&declaration.namespace, &name.text);
                // A module has one flat set of names, whatever the namespaces in its file.
                let new = in_module.insert(name.text.as_str());
                if declared.insert(full, (source, declaration)).is_some() || !new {
                    let message = format!("`{}` is declared twice", name.text);
                    return Err(Error::new(&source.path, name.position, message));
                }
            }
        }
        Ok(Scope { declared })
    }

    /// Searches for `name` in `namespace`, then in each enclosing namespace.
    fn find(&self, namespace: &str, name: &str) -> Option<(&'a Source, &'a Declaration)> {
        let mut namespace = namespace;
        loop {
            if let Some(found) = self.declared.get(&qualified(namespace, name)) {
                return Some(*found);
            }
            if namespace.is_empty() {
                return None;
            }
            namespace = namespace.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }
}

fn qualified(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_string() } else { format!("{namespace}.{name}") }
}

/// The checker of one file.
struct Checker<'a> {
    source: &'a Source,
    scope: &'a Scope<'a>,
}

impl Checker<'_> {
    fn module(&self) -> Result<Module, Error> {
        let file = &self.source.file;
        let mut module = Module {
            name: self.source.module.clone(),
            enums: Vec::new(),
            unions: Vec::new(),
            tables: Vec::new(),
            root: None,
            identifier: None,
        };
        for declaration in &file.declarations {
            let name = declaration.name.text.clone();
            match &declaration.kind {
                DeclarationKind::Enum { base, members } => {
                    let (base, members) = self.enumeration(base, members)?;
                    module.enums.push(Enum { name, base, members });
                }
                DeclarationKind::Union(members) => {
                    let members = self.union_members(&declaration.namespace, members)?;
                    module.unions.push(Union { name, members });
                }
                DeclarationKind::Table(fields) => {
                    let fields = self.fields(&declaration.namespace, fields)?;
                    module.tables.push(Table { name, fields });
                }
            }
        }
        if let Some(root) = &file.root {
            module.root = Some(self.root(root)?);
        }
        if let Some(identifier) = &file.identifier {
            if identifier.text.len() != 4 {
                return self.error(identifier.position, "expected four characters");
            }
            module.identifier = Some(identifier.text.clone());
        }
        Ok(module)
    }

    fn root(&self, root: &syntax::Root) -> Result<String, Error> {
        let table = self.table(&root.namespace, &root.name)?;
        if table.module != self.source.module {
            let message = format!("the root `{}` must be declared in this file", root.name.text);
            return self.error(root.name.position, message);
        }
        Ok(table.name)
    }

    /// Returns the base type of an enum, and its values: each is the one before plus 1 unless given.
    fn enumeration(&self, base: &Name, members: &[syntax::EnumMember]) -> Result<(Scalar, Vec<(String, i128)>), Error> {
        let scalar = Scalar::from_schema(&base.text).filter(|scalar| scalar.range().is_some());
        let Some(scalar) = scalar else {
            let message = format!("expected an integer type, found `{}`", base.text);
            return self.error(base.position, message);
        };
        let mut values: Vec<(String, i128)> = Vec::new();
        for member in members {
            let next = values.last().map_or(0, |(_, value)| value + 1);
            let literal = member.value.clone().unwrap_or_else(|| Literal {
                negative: next < 0,
                text: next.unsigned_abs().to_string(),
                position: member.name.position,
            });
            let value = values::integer(&literal, scalar).or_else(|message| self.error(literal.position, message))?;
            let name = member.name.text.clone();
            if name == "KNOWN" || values.iter().any(|(other, _)| *other == name) {
                let message = format!("the name `{}` is taken", member.name.text);
                return self.error(member.name.position, message);
            }
            if let Some((other, _)) = values.iter().find(|(_, other)| *other == value) {
                return self.error(literal.position, format!("{value} is already `{other}`"));
            }
            values.push((name, value));
        }
        Ok((scalar, values))
    }

    fn union_members(&self, namespace: &str, members: &[syntax::UnionMember]) -> Result<Vec<UnionMember>, Error> {
        let mut checked: Vec<UnionMember> = Vec::new();
        for member in members {
            let name = member.name.text.clone();
            let taken = checked.iter().any(|other| other.name == name);
            if taken || name == "NONE" || name == "KNOWN" {
                let message = format!("the name `{}` is taken", member.name.text);
                return self.error(member.name.position, message);
            }
            if checked.len() == u8::MAX as usize {
                let message = "a union has at most 255 members";
                return self.error(member.name.position, message);
            }
            checked.push(UnionMember { name, table: self.table(namespace, &member.table)? });
        }
        Ok(checked)
    }

    fn fields(&self, namespace: &str, fields: &[syntax::Field]) -> Result<Vec<Field>, Error> {
        let mut checked = Vec::new();
        let mut taken = HashSet::new();
        let mut slots = 0;
        for field in fields {
            let name = names::snake_case(&field.name.text);
            let kind = self.field_kind(namespace, field)?;
            let deprecated = self.attributes(field)?;
            let is_union = matches!(kind, FieldKind::Union { .. });
            slots += 1 + usize::from(is_union);
            if slots > MAX_SLOTS {
                let message = format!("a table has at most {MAX_SLOTS} slots");
                return self.error(field.name.position, message);
            }
            let clash = is_union && !taken.insert(format!("{name}_type"));
            if !taken.insert(name.clone()) || clash {
                let message = format!("the name `{}` is taken", field.name.text);
                return self.error(field.name.position, message);
            }
            if !deprecated {
                // It fits u16, because slots is at most MAX_SLOTS.
                let vtable_offset = (4 + 2 * (slots - 1)) as u16;
                checked.push(Field { name, vtable_offset, kind });
            }
        }
        Ok(checked)
    }

    fn field_kind(&self, namespace: &str, field: &syntax::Field) -> Result<FieldKind, Error> {
        let name = match &field.kind {
            TypeName::Plain(name) => name,
            TypeName::Vector(element) => {
                self.no_default(field)?;
                return Ok(FieldKind::Vector(self.element(namespace, element)?));
            }
        };
        if let Some(scalar) = Scalar::from_schema(&name.text) {
            let default = match &field.default {
                None => values::zero(scalar).to_string(),
                Some(literal) => values::scalar_default(literal, scalar).or_else(|message| self.error(literal.position, message))?,
            };
            return Ok(FieldKind::Scalar { scalar, default });
        }
        if name.text == "string" {
            self.no_default(field)?;
            return Ok(FieldKind::String);
        }
        let (source, declaration) = self.find(namespace, name)?;
        let reference = reference(source, declaration);
        match &declaration.kind {
            DeclarationKind::Enum { base, members } => {
                let (base, members) = Checker { source, scope: self.scope }.enumeration(base, members)?;
                let default = self.enum_default(field, base, &members)?;
                Ok(FieldKind::Enum { name: reference, base, default })
            }
            DeclarationKind::Table(_) => {
                self.no_default(field)?;
                Ok(FieldKind::Table(reference))
            }
            DeclarationKind::Union(members) => {
                self.no_default(field)?;
                let checker = Checker { source, scope: self.scope };
                let members = checker.union_members(&declaration.namespace, members)?;
                Ok(FieldKind::Union { name: reference, members })
            }
        }
    }

    /// Returns the value of an absent enum field: one of the enum's values, given by name or by number.
    fn enum_default(&self, field: &syntax::Field, base: Scalar, members: &[(String, i128)]) -> Result<i128, Error> {
        let Some(literal) = &field.default else {
            if members.iter().any(|(_, value)| *value == 0) {
                return Ok(0);
            }
            let message = "0 is not a value of the enum: expected `=` and a default";
            return self.error(field.name.position, message);
        };
        if let Some((_, value)) = members.iter().find(|(member, _)| *member == literal.text) {
            return Ok(*value);
        }
        let value = values::integer(literal, base).ok();
        match value.filter(|value| members.iter().any(|(_, member)| member == value)) {
            Some(value) => Ok(value),
            None => {
                let message = format!("expected a value of the enum, found `{}`", literal.text);
                self.error(literal.position, message)
            }
        }
    }

    fn element(&self, namespace: &str, name: &Name) -> Result<Element, Error> {
        if let Some(scalar) = Scalar::from_schema(&name.text) {
            return Ok(Element::Scalar(scalar));
        }
        if name.text == "string" {
            return Ok(Element::String);
        }
        let (source, declaration) = self.find(namespace, name)?;
        match declaration.kind {
            DeclarationKind::Enum { .. } => Ok(Element::Enum(reference(source, declaration))),
            DeclarationKind::Table(_) => Ok(Element::Table(reference(source, declaration))),
            DeclarationKind::Union(_) => self.error(name.position, "vectors of unions are not supported"),
        }
    }

    /// Returns `true` if the field is deprecated. Alignment is for writers; a reader accepts unaligned bytes.
    fn attributes(&self, field: &syntax::Field) -> Result<bool, Error> {
        let mut deprecated = false;
        for attribute in &field.attributes {
            match attribute.name.text.as_str() {
                "deprecated" => deprecated = true,
                "force_align" => self.alignment(field, attribute)?,
                other => {
                    let message = format!("attribute `{other}` is not supported: expected `deprecated` or `force_align`");
                    return self.error(attribute.name.position, message);
                }
            }
        }
        Ok(deprecated)
    }

    fn alignment(&self, field: &syntax::Field, attribute: &Attribute) -> Result<(), Error> {
        if !matches!(field.kind, TypeName::Vector(_)) {
            return self.error(attribute.name.position, "only a vector can be aligned");
        }
        let value = attribute.value.as_ref().map(|value| values::integer(value, Scalar::U16));
        match value {
            Some(Ok(value)) if value.count_ones() == 1 => Ok(()),
            _ => self.error(attribute.name.position, "expected `force_align:` and a power of two"),
        }
    }

    fn no_default(&self, field: &syntax::Field) -> Result<(), Error> {
        match &field.default {
            None => Ok(()),
            Some(literal) => self.error(literal.position, "only scalars and enums can have a default"),
        }
    }

    fn table(&self, namespace: &str, name: &Name) -> Result<Reference, Error> {
        let (source, declaration) = self.find(namespace, name)?;
        if !matches!(declaration.kind, DeclarationKind::Table(_)) {
            return self.error(name.position, format!("`{}` is not a table", name.text));
        }
        Ok(reference(source, declaration))
    }

    fn find(&self, namespace: &str, name: &Name) -> Result<(&Source, &Declaration), Error> {
        match self.scope.find(namespace, &name.text) {
            Some(found) => Ok(found),
            None => self.error(name.position, format!("nothing is called `{}`", name.text)),
        }
    }

    fn error<T>(&self, position: Position, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::new(&self.source.path, position, message))
    }
}

fn reference(source: &Source, declaration: &Declaration) -> Reference {
    Reference { module: source.module.clone(), name: declaration.name.text.clone() }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::*;
    use crate::load;

    /// Checks `main.fbs` with `other.fbs` beside it.
    fn check_both(main: &str, other: &str) -> Result<Module, Error> {
        let read = |path: &Path| match path.to_str() {
            Some("main.fbs") => Ok(main.to_string()),
            Some("other.fbs") => Ok(other.to_string()),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
        };
        Ok(check(&load::load(Path::new("main.fbs"), &read)?)?.swap_remove(0))
    }

    fn refusal(source: &str) -> String {
        check_both(source, "").unwrap_err().to_string()
    }

    #[test]
    fn slots_count_unions_twice_and_deprecated_fields_once() {
        let module = check_both("table T { a: int; old: int (deprecated); u: U; last: [T]; } union U { T }", "").unwrap();
        let offsets: Vec<_> = module.tables[0].fields.iter().map(|field| (field.name.as_str(), field.vtable_offset)).collect();
        assert_eq!(offsets, [("a", 4), ("u", 10), ("last", 12)]);
    }

    #[test]
    fn enum_values_continue_from_the_one_before() {
        let module = check_both("enum E : byte { A, B, C = 7, D }", "").unwrap();
        let values: Vec<_> = module.enums[0].members.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [0, 1, 7, 8]);
    }

    #[test]
    fn names_are_found_in_includes_and_outer_namespaces() {
        let module = check_both(
            "include \"other.fbs\"; namespace a.b; table T { e: a.E; f: E = Y; }",
            "include \"main.fbs\"; namespace a; enum E : ubyte { X, Y }",
        )
        .unwrap();
        let expected = Reference { module: "other".to_string(), name: "E".to_string() };
        for (field, default) in module.tables[0].fields.iter().zip([0, 1]) {
            let kind = FieldKind::Enum { name: expected.clone(), base: Scalar::U8, default };
            assert_eq!(field.kind, kind);
        }
    }

    #[test]
    fn refuses_what_has_no_meaning() {
        for (source, message) in [
            ("table T { a: Q; }", "1:14: nothing is called `Q`"),
            ("table T {} table T {}", "1:18: `T` is declared twice"),
            ("table T { a: int; a: int; }", "1:19: the name `a` is taken"),
            ("table T { u_type: int; u: U; } union U { T }", "1:24: the name `u` is taken"),
            ("enum E : float { A }", "1:10: expected an integer type, found `float`"),
            ("enum E : byte { A = 128 }", "1:21: 128 does not fit i8: expected -128 to 127"),
            ("enum E : byte { A = 127, B }", "1:26: 128 does not fit i8: expected -128 to 127"),
            ("enum E : byte { A, B = 0 }", "1:24: 0 is already `A`"),
            ("enum E : byte { A, A }", "1:20: the name `A` is taken"),
            ("enum E : byte { A } union U { E }", "1:31: `E` is not a table"),
            ("table T {} union U { T, T }", "1:25: the name `T` is taken"),
            ("table T { a: [U]; } union U { T }", "1:15: vectors of unions are not supported"),
            ("table T { a: string = x; }", "1:23: only scalars and enums can have a default"),
            ("table T { a: bool = 2; }", "1:21: expected `true` or `false`, found `2`"),
            ("enum E : byte { A } table T { e: E = B; }", "1:38: expected a value of the enum, found `B`"),
            ("enum E : byte { A = 1 } table T { e: E; }", "1:35: 0 is not a value of the enum: expected `=` and a default"),
            ("table T { a: int (id: 1); }", "1:19: attribute `id` is not supported: expected `deprecated` or `force_align`"),
            ("table T { a: int (force_align: 4); }", "1:19: only a vector can be aligned"),
            ("table T { a: [int] (force_align: 3); }", "1:21: expected `force_align:` and a power of two"),
            ("root_type T;", "1:11: nothing is called `T`"),
            ("file_identifier \"ABC\";", "1:17: expected four characters"),
            ("include \"gone.fbs\";", "1:9: cannot read gone.fbs: no such file"),
        ] {
            assert_eq!(refusal(source), format!("main.fbs:{message}"), "{source}");
        }
    }

    #[test]
    fn an_error_names_the_file_it_is_in() {
        let error = check_both("include \"other.fbs\";", "\n table").unwrap_err();
        let message = "other.fbs:2:7: expected the name of the table, found the end of the file";
        assert_eq!(error.to_string(), message);
    }
}
