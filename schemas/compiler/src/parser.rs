//! Parsing of tokens to syntax.

use std::path::Path;

use crate::error::{Error, Position};
use crate::lexer::{self, Located, Token};
use crate::syntax::{Attribute, Declaration, DeclarationKind, EnumMember, Field, File, Literal, Name, Root, TypeName, UnionMember};

/// Parses one schema. `file` is only for errors.
pub(crate) fn parse(file: &Path, source: &str) -> Result<File, Error> {
    let tokens = lexer::tokens(file, source)?;
    let mut parser = Parser { file, tokens, next: 0, namespace: String::new() };
    let mut schema = File::default();
    while parser.peek() != &Token::End {
        parser.statement(&mut schema)?;
    }
    Ok(schema)
}

struct Parser<'a> {
    file: &'a Path,
    /// Tokens with [`Token::End`] at the end, which is never skipped.
    tokens: Vec<Located>,
    next: usize,
    namespace: String,
}

impl Parser<'_> {
    fn statement(&mut self, schema: &mut File) -> Result<(), Error> {
        let expected = "`table`, `enum`, `union`, `namespace`, `include`, `root_type`, \
                        `file_identifier` or `file_extension`";
        let keyword = self.name(expected)?;
        match keyword.text.as_str() {
            "include" => schema.includes.push(self.text_statement("the file to include")?),
            "namespace" => self.namespace_statement()?,
            "table" => schema.declarations.push(self.table()?),
            "enum" => schema.declarations.push(self.enumeration()?),
            "union" => schema.declarations.push(self.union()?),
            "root_type" => {
                let name = self.path("the table that is the root")?;
                self.symbol(';', "after the root type")?;
                schema.root = Some(Root { namespace: self.namespace.clone(), name });
            }
            "file_identifier" => {
                schema.identifier = Some(self.text_statement("a string of four characters")?);
            }
            "file_extension" => {
                self.text_statement("the extension of written files")?;
            }
            "struct" | "rpc_service" | "attribute" | "native_include" => {
                let message = format!("`{}` is not supported: expected {expected}", keyword.text);
                return self.error(keyword.position, message);
            }
            other => {
                let message = format!("expected {expected}, found `{other}`");
                return self.error(keyword.position, message);
            }
        }
        Ok(())
    }

    fn namespace_statement(&mut self) -> Result<(), Error> {
        self.namespace = if self.peek() == &Token::Symbol(';') { String::new() } else { self.path("a namespace")?.text };
        self.symbol(';', "after the namespace")
    }

    fn table(&mut self) -> Result<Declaration, Error> {
        let name = self.name("the name of the table")?;
        self.attributes()?;
        self.symbol('{', "to open the table")?;
        let mut fields = Vec::new();
        while !self.accept('}') {
            fields.push(self.field()?);
        }
        Ok(self.declaration(name, DeclarationKind::Table(fields)))
    }

    fn field(&mut self) -> Result<Field, Error> {
        let name = self.name("the name of a field or `}`")?;
        self.symbol(':', "after the name of the field")?;
        let kind = self.field_type()?;
        let default = if self.accept('=') { Some(self.literal("a default value")?) } else { None };
        let attributes = self.attributes()?;
        self.symbol(';', "after the field")?;
        Ok(Field { name, kind, default, attributes })
    }

    fn field_type(&mut self) -> Result<TypeName, Error> {
        if !self.accept('[') {
            return Ok(TypeName::Plain(self.path("a type")?));
        }
        if self.peek() == &Token::Symbol('[') {
            return self.error(self.position(), "vectors of vectors are not supported");
        }
        let element = self.path("the type of the elements")?;
        if self.peek() == &Token::Symbol(':') {
            return self.error(self.position(), "fixed arrays are not supported: expected `]`");
        }
        self.symbol(']', "after the type of the elements")?;
        Ok(TypeName::Vector(element))
    }

    fn enumeration(&mut self) -> Result<Declaration, Error> {
        let name = self.name("the name of the enum")?;
        self.symbol(':', "and the integer type of the enum")?;
        let base = self.path("an integer type")?;
        self.attributes()?;
        self.symbol('{', "to open the enum")?;
        let mut members = Vec::new();
        while !self.accept('}') {
            let name = self.name("the name of a value or `}`")?;
            let value = if self.accept('=') { Some(self.literal("an integer")?) } else { None };
            self.attributes()?;
            members.push(EnumMember { name, value });
            self.comma_or_close()?;
        }
        Ok(self.declaration(name, DeclarationKind::Enum { base, members }))
    }

    fn union(&mut self) -> Result<Declaration, Error> {
        let name = self.name("the name of the union")?;
        self.attributes()?;
        self.symbol('{', "to open the union")?;
        let mut members = Vec::new();
        while !self.accept('}') {
            let path = self.path("a table or `}`")?;
            let (name, table) = if self.accept(':') {
                (path, self.path("the table of this member")?)
            } else {
                let last = path.text.rsplit('.').next().unwrap_or_default().to_string();
                (Name { text: last, position: path.position }, path)
            };
            self.attributes()?;
            members.push(UnionMember { name, table });
            self.comma_or_close()?;
        }
        Ok(self.declaration(name, DeclarationKind::Union(members)))
    }

    fn declaration(&self, name: Name, kind: DeclarationKind) -> Declaration {
        Declaration { namespace: self.namespace.clone(), name, kind }
    }

    /// Parses `(name, name: value, …)`, or nothing.
    fn attributes(&mut self) -> Result<Vec<Attribute>, Error> {
        let mut attributes = Vec::new();
        if !self.accept('(') {
            return Ok(attributes);
        }
        loop {
            let name = self.name("the name of an attribute")?;
            let value = if self.accept(':') { Some(self.literal("its value")?) } else { None };
            attributes.push(Attribute { name, value });
            if self.accept(')') {
                return Ok(attributes);
            }
            self.symbol(',', "or `)` after the attribute")?;
        }
    }

    /// Parses a comma, which may be missing before the closing brace.
    fn comma_or_close(&mut self) -> Result<(), Error> {
        if self.peek() == &Token::Symbol('}') {
            return Ok(());
        }
        self.symbol(',', "or `}` after the member")
    }

    fn literal(&mut self, expected: &str) -> Result<Literal, Error> {
        let position = self.position();
        let negative = self.accept('-');
        if !negative {
            self.accept('+');
        }
        match self.peek().clone() {
            Token::Number(text) | Token::Identifier(text) => {
                self.step();
                Ok(Literal { negative, text, position })
            }
            _ => self.unexpected(expected),
        }
    }

    fn text_statement(&mut self, expected: &str) -> Result<Name, Error> {
        let position = self.position();
        let Token::Text(text) = self.peek().clone() else {
            return self.unexpected(&format!("{expected}, in quotes"));
        };
        self.step();
        self.symbol(';', "after the string")?;
        Ok(Name { text, position })
    }

    /// Parses a name without points.
    fn name(&mut self, expected: &str) -> Result<Name, Error> {
        let position = self.position();
        let Token::Identifier(text) = self.peek().clone() else {
            return self.unexpected(expected);
        };
        self.step();
        Ok(Name { text, position })
    }

    /// Parses a name, possibly qualified.
    fn path(&mut self, expected: &str) -> Result<Name, Error> {
        let mut path = self.name(expected)?;
        while self.accept('.') {
            path.text.push('.');
            path.text.push_str(&self.name("a name after `.`")?.text);
        }
        Ok(path)
    }

    fn symbol(&mut self, symbol: char, purpose: &str) -> Result<(), Error> {
        if self.accept(symbol) {
            return Ok(());
        }
        self.unexpected(&format!("`{symbol}` {purpose}"))
    }

    fn accept(&mut self, symbol: char) -> bool {
        let accepted = self.peek() == &Token::Symbol(symbol);
        if accepted {
            self.step();
        }
        accepted
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, Error> {
        self.error(self.position(), format!("expected {expected}, found {}", self.peek()))
    }

    fn error<T>(&self, position: Position, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::new(self.file, position, message))
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.next].token
    }

    fn position(&self) -> Position {
        self.tokens[self.next].position
    }

    fn step(&mut self) {
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(source: &str) -> String {
        parse(Path::new("t.fbs"), source).unwrap_err().to_string()
    }

    #[test]
    fn reads_every_kind_of_statement() {
        let schema = parse(
            Path::new("t.fbs"),
            "include \"other.fbs\"; namespace a.b; file_identifier \"ABCD\"; file_extension \"x\";\n\
             enum E : byte { P, Q = -1, } union U { T, Alias: c.T }\n\
             table T (deprecated) { f: [int] (force_align: 16); g: E = Q; h: float = 1.5e3; }\n\
             root_type T;",
        )
        .unwrap();
        assert_eq!(schema.includes[0].text, "other.fbs");
        assert_eq!(schema.identifier.unwrap().text, "ABCD");
        assert_eq!(schema.root.unwrap().namespace, "a.b");
        let [enumeration, union, table] = schema.declarations.as_slice() else { panic!() };
        assert_eq!(enumeration.namespace, "a.b");
        let DeclarationKind::Enum { base, members } = &enumeration.kind else { panic!() };
        assert_eq!((base.text.as_str(), members.len()), ("byte", 2));
        assert!(members[1].value.as_ref().unwrap().negative);
        let DeclarationKind::Union(members) = &union.kind else { panic!() };
        assert_eq!((members[1].name.text.as_str(), members[1].table.text.as_str()), ("Alias", "c.T"));
        let DeclarationKind::Table(fields) = &table.kind else { panic!() };
        assert!(matches!(&fields[0].kind, TypeName::Vector(name) if name.text == "int"));
        assert_eq!(fields[0].attributes[0].value.as_ref().unwrap().text, "16");
        assert_eq!(fields[2].default.as_ref().unwrap().text, "1.5e3");
    }

    #[test]
    fn says_where_and_what_was_expected() {
        assert_eq!(refusal("table T {\n  a int;\n}"), "t.fbs:2:5: expected `:` after the name of the field, found `int`");
        assert_eq!(refusal("table T { a: int }"), "t.fbs:1:18: expected `;` after the field, found `}`");
        assert_eq!(refusal("table T { a: int;"), "t.fbs:1:18: expected the name of a field or `}`, found the end of the file");
        assert_eq!(refusal("enum E { A }"), "t.fbs:1:8: expected `:` and the integer type of the enum, found `{`");
        assert_eq!(refusal("enum E : int { A B }"), "t.fbs:1:18: expected `,` or `}` after the member, found `B`");
        assert_eq!(refusal("table T { a: int (deprecated; }"), "t.fbs:1:29: expected `,` or `)` after the attribute, found `;`");
        assert_eq!(refusal("table T { a: [int:3]; }"), "t.fbs:1:18: fixed arrays are not supported: expected `]`");
        assert_eq!(refusal("table T { a: [[int]]; }"), "t.fbs:1:15: vectors of vectors are not supported");
        assert!(refusal("struct S { a: int; }").starts_with("t.fbs:1:1: `struct` is not supported"));
        assert!(refusal("tabel T {}").starts_with("t.fbs:1:1: expected `table`, `enum`"));
        assert!(refusal("; ").ends_with("found `;`"));
    }
}
