//! Declarations, imports and names of a source file, read from its tokens. Comments and strings are ignored, and arguments of macros are read
//! as code. Code for tests alone is left out.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// The segments of a path.
pub type Path = Vec<String>;

/// A module: a file, or `mod x { … }` in one.
#[derive(Default, Debug)]
pub struct Scope {
    /// Modules in separate files: `mod x;`.
    pub declared: Vec<String>,
    /// Modules written in place.
    pub inline: Vec<(String, Scope)>,
    /// Names of functions, types, constants, macros; `impl` for implementations.
    pub items: BTreeSet<String>,
    /// Imports, including those inside functions.
    pub uses: Vec<Use>,
    /// Paths of two segments or more elsewhere in the code.
    pub paths: BTreeSet<Path>,
}

/// One name of an import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// The name in this module; `None` for `*`.
    pub name: Option<String>,
    /// The path of the import; for `*`, of the module.
    pub path: Path,
}

/// Reads a file.
///
/// # Errors
/// The message of the lexer if the text is not Rust.
pub fn parse(text: &str) -> Result<Scope, String> {
    let tokens: TokenStream = text.parse().map_err(|error| format!("{error}"))?;
    let mut scope = Scope::default();
    walk(&tokens.into_iter().collect::<Vec<_>>(), &mut scope, true);
    Ok(scope)
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<Vec<TokenTree>> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group.stream().into_iter().collect()),
        _ => None,
    }
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

/// Reads the tokens of a scope. At the `top` are its items; elsewhere are bodies, types and arguments of macros.
fn walk(tokens: &[TokenTree], scope: &mut Scope, top: bool) {
    let mut at = 0;
    while at < tokens.len() {
        if is_punct(tokens.get(at), '#')
            && let Some(attribute) = group(tokens.get(at + 1), Delimiter::Bracket)
        {
            at += 2;
            if is_for_tests(&attribute) {
                at = behind_item(tokens, at);
            } else {
                walk(&attribute, scope, false);
            }
            continue;
        }
        at = match ident(tokens.get(at)).as_deref() {
            // A visibility is not a use of its path.
            Some("pub") => at + 1 + usize::from(group(tokens.get(at + 1), Delimiter::Parenthesis).is_some()),
            Some("use") => read_use(tokens, at + 1, scope),
            Some("mod") if top => read_module(tokens, at + 1, scope),
            Some("macro_rules") if top => {
                scope.items.extend(ident(tokens.get(at + 2)));
                at + 3
            }
            Some("impl") if top => {
                scope.items.insert("impl".into());
                at + 1
            }
            Some("fn" | "struct" | "enum" | "union" | "trait" | "type" | "static" | "const") if top => {
                let modifies = ["fn", "unsafe", "mut", "extern"];
                scope.items.extend(ident(tokens.get(at + 1)).filter(|name| !modifies.contains(&name.as_str())));
                at + 1
            }
            Some(_) => read_path(tokens, at, scope),
            None => {
                if let Some(TokenTree::Group(inner)) = tokens.get(at) {
                    walk(&inner.stream().into_iter().collect::<Vec<_>>(), scope, false);
                }
                at + 1
            }
        };
    }
}

/// Tests whether an attribute is `cfg(test)`, or requires that and more.
fn is_for_tests(attribute: &[TokenTree]) -> bool {
    let named = |name| ident(attribute.first()).as_deref() == Some(name);
    let inside = group(attribute.get(1), Delimiter::Parenthesis).unwrap_or_default();
    named("cfg") && mentions(&inside, "test") && !mentions(&inside, "not")
}

fn mentions(tokens: &[TokenTree], name: &str) -> bool {
    tokens.iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => mentions(&group.stream().into_iter().collect::<Vec<_>>(), name),
        _ => false,
    })
}

/// Returns the index after an item: after the first `;` or `{ … }`.
fn behind_item(tokens: &[TokenTree], from: usize) -> usize {
    let ends = |at: &usize| is_punct(tokens.get(*at), ';') || group(tokens.get(*at), Delimiter::Brace).is_some();
    (from..tokens.len()).find(ends).map_or(tokens.len(), |at| at + 1)
}

fn read_module(tokens: &[TokenTree], at: usize, scope: &mut Scope) -> usize {
    let Some(name) = ident(tokens.get(at)) else { return at };
    match group(tokens.get(at + 1), Delimiter::Brace) {
        Some(inner) => {
            let mut module = Scope::default();
            walk(&inner, &mut module, true);
            scope.inline.push((name, module));
        }
        None => scope.declared.push(name),
    }
    at + 2
}

fn read_use(tokens: &[TokenTree], at: usize, scope: &mut Scope) -> usize {
    let end = (at..tokens.len()).find(|&i| is_punct(tokens.get(i), ';')).unwrap_or(tokens.len());
    // `impl Fn() + use<'a>` is not an import.
    if !is_punct(tokens.get(at), '<') {
        read_tree(&tokens[at..end], &[], &mut scope.uses);
    }
    end
}

/// Reads a tree of imports after a prefix: `a::{self, b::c as d, e::*}`.
fn read_tree(tokens: &[TokenTree], prefix: &[String], uses: &mut Vec<Use>) {
    let mut path = prefix.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        if is_separator(tokens, at) {
            at += 2;
        } else if let Some(inner) = group(tokens.get(at), Delimiter::Brace) {
            let trees = inner.split(|token| is_punct(Some(token), ','));
            return trees.filter(|tree| !tree.is_empty()).for_each(|tree| read_tree(tree, &path, uses));
        } else if is_punct(tokens.get(at), '*') {
            return uses.push(Use { name: None, path });
        } else {
            match ident(tokens.get(at)).as_deref() {
                Some("as") => return uses.push(Use { name: ident(tokens.get(at + 1)), path }),
                Some("self") if !path.is_empty() => {}
                Some(name) => path.push(name.into()),
                None => {}
            }
            at += 1;
        }
    }
    let name = path.last().cloned();
    uses.push(Use { name, path });
}

fn read_path(tokens: &[TokenTree], at: usize, scope: &mut Scope) -> usize {
    let mut path: Path = ident(tokens.get(at)).into_iter().collect();
    let mut at = at + 1;
    while is_separator(tokens, at) {
        let Some(name) = ident(tokens.get(at + 2)) else { break };
        path.push(name);
        at += 3;
    }
    if path.len() > 1 {
        scope.paths.insert(path);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(text: &str) -> Vec<(Option<String>, String)> {
        parse(text).unwrap().uses.into_iter().map(|each| (each.name, each.path.join("::"))).collect()
    }

    fn named(name: &str, path: &str) -> (Option<String>, String) {
        (Some(name.into()), path.into())
    }

    #[test]
    fn imports_of_every_form() {
        assert_eq!(imported("use super::a::B;"), [named("B", "super::a::B")]);
        assert_eq!(imported("pub(crate) use crate::a::B as C;"), [named("C", "crate::a::B")]);
        let nested = "pub use self::a::{self, b::{C, d::*}, E as F};";
        let all = (None, "self::a::b::d".into());
        assert_eq!(imported(nested), [named("a", "self::a"), named("C", "self::a::b::C"), all, named("F", "self::a::E")]);
        assert_eq!(imported("fn f() { use super::a::B; }"), [named("B", "super::a::B")]);
        assert_eq!(imported("fn f<'a>() -> impl Fn() + use<'a> {}"), []);
    }

    #[test]
    fn paths_in_code_and_in_macros() {
        let text = r#"
            // super::comment::is_none
            fn f(x: super::a::Type) -> Vec<crate::b::Other> {
                let text = "super::string::is_none";
                assert!(rows::ALL.iter().all(|row| super::c::holds::<u8>(row)));
            }
            pub(in crate::d) const N: u32 = <u8 as super::e::Trait>::N;
        "#;
        let paths: Vec<String> = parse(text).unwrap().paths.into_iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["crate::b::Other", "rows::ALL", "super::a::Type", "super::c::holds", "super::e::Trait"]);
    }

    #[test]
    fn items_and_modules_without_those_for_tests() {
        let text = "
            mod a; pub mod b { pub mod c; pub const fn f() {} }
            #[cfg(test)] mod tests { use super::gone; }
            #[cfg(all(test, unix))] fn gone() { super::x::y() }
            #[cfg(not(test))] struct Kept;
            const N: u8 = 1; enum E {} impl E { #[cfg(test)] fn g() { super::x::y() } } macro_rules! m { () => {} }
        ";
        let scope = parse(text).unwrap();
        assert_eq!(scope.declared, ["a"]);
        assert_eq!((scope.inline[0].0.as_str(), &scope.inline[0].1.declared[..]), ("b", &["c".to_string()][..]));
        assert!(scope.inline[0].1.items.contains("f"));
        assert_eq!(scope.items.iter().map(String::as_str).collect::<Vec<_>>(), ["E", "Kept", "N", "impl", "m"]);
        assert!(scope.paths.is_empty() && scope.uses.is_empty(), "{scope:?}");
    }
}
