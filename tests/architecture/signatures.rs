//! Parameters of functions. A tuple with a `bool`, or with two elements of one type, does not say what its elements are; a struct has names for them.

use super::repository::{files_ending_with, root};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::path::Path;

/// The numbers of functions that still have such a parameter, by folder. A change may only lower them.
const NOT_YET: &[(&str, usize)] = &[];

/// Splits tokens at the commas outside of `<…>`.
fn elements(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
    let (mut depth, mut start, mut found) = (0usize, 0, vec![]);
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Punct(punct) = token else { continue };
        let is_arrow = at > 0 && matches!(&tokens[at - 1], TokenTree::Punct(before) if matches!(before.as_char(), '-' | '='));
        match punct.as_char() {
            '<' => depth += 1,
            '>' if !is_arrow => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&tokens[start..]);
    found.retain(|element| !element.is_empty());
    found
}

/// Tests whether a type has a tuple whose elements need names. Arguments of function types are not looked at.
fn is_unclear(ty: &[TokenTree]) -> bool {
    ty.iter().enumerate().any(|(at, token)| {
        let TokenTree::Group(group) = token else { return false };
        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
        match group.delimiter() {
            Delimiter::Parenthesis if at > 0 && matches!(ty[at - 1], TokenTree::Ident(_)) => false,
            Delimiter::Parenthesis => {
                let texts: Vec<String> = elements(&inner).into_iter().map(text).collect();
                let is_repeated = |(at, text): (usize, &String)| texts[..at].contains(text);
                texts.len() > 1 && (texts.iter().any(|text| text == "bool") || texts.iter().enumerate().any(is_repeated))
                    || is_unclear(&inner)
            }
            _ => is_unclear(&inner),
        }
    })
}

/// The text of a type without its lifetimes, so that `&'a str` and `&str` are one type.
fn text(tokens: &[TokenTree]) -> String {
    let lifetime = |at: usize| matches!(&tokens[at], TokenTree::Punct(punct) if punct.as_char() == '\'');
    let kept = (0..tokens.len()).filter(|&at| !(lifetime(at) || at > 0 && lifetime(at - 1)));
    kept.map(|at| tokens[at].to_string()).collect::<Vec<_>>().join(" ")
}

/// The type of a parameter: what follows its first colon that is not part of a path.
fn type_of(parameter: &[TokenTree]) -> &[TokenTree] {
    let colon = |at: usize| matches!(parameter.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let at = (0..parameter.len()).find(|&at| colon(at) && !colon(at + 1) && !(at > 0 && colon(at - 1)));
    at.map_or(&[], |at| &parameter[at + 1..])
}

/// The names of functions with an unclear tuple among their parameters, at any depth. Modules of tests are left out.
fn unclear_functions(tokens: TokenStream, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_tests = |at: usize| at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(name) if name == "tests");
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token
            && !is_tests(at)
        {
            unclear_functions(group.stream(), found);
        }
        let (TokenTree::Ident(word), Some(TokenTree::Ident(name))) = (token, tokens.get(at + 1)) else { continue };
        if word != "fn" {
            continue;
        }
        let list = tokens[at + 2..].iter().find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(group.stream()),
            _ => None,
        });
        let parameters: Vec<TokenTree> = list.into_iter().flatten().collect();
        if elements(&parameters).into_iter().any(|parameter| is_unclear(type_of(parameter))) {
            found.push(name.to_string());
        }
    }
}

/// The folder below `compiler/` of a file, or `.`. `None` for tests, and for files elsewhere.
fn folder(path: &Path) -> Option<String> {
    let below = path.strip_prefix(root().join("compiler")).ok()?;
    let is_test = below.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs")));
    if is_test {
        return None;
    }
    let first = below.components().next()?.as_os_str().to_string_lossy().into_owned();
    Some(if below.components().count() > 1 { first } else { ".".into() })
}

#[test]
fn parameters_that_need_names_have_them() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files_ending_with(".rs") {
        let Some(folder) = folder(&path) else { continue };
        let text = std::fs::read_to_string(&path).expect("a source file can be read");
        let mut names = vec![];
        unclear_functions(text.parse().expect("sources are Rust"), &mut names);
        found.entry(folder).or_default().extend(names.into_iter().map(|name| format!("{}: {name}", path.display())));
    }
    found.retain(|_, names| !names.is_empty());
    let counts: Vec<(&str, usize)> = found.iter().map(|(folder, names)| (folder.as_str(), names.len())).collect();
    let changed: Vec<&String> =
        found.iter().filter(|(folder, names)| !NOT_YET.contains(&(folder.as_str(), names.len()))).flat_map(|(_, names)| names).collect();
    assert!(counts == NOT_YET, "NOT_YET is another list: {counts:?}. Tuples of one type or with a bool need a struct:\n{changed:#?}");
}

#[test]
fn unclear_tuples_are_found() {
    let names = |text: &str| {
        let mut found = vec![];
        unclear_functions(text.parse().unwrap(), &mut found);
        found
    };
    assert_eq!(names("fn a(x: (u32, bool)) {} fn b((x, y): (u32, i32)) {}"), ["a"]);
    assert_eq!(names("impl X { fn c<'a>(&self, list: &[(&'a str, &str)]) {} }"), ["c"]);
    assert_eq!(names("fn d(f: impl Fn(u32, u32) -> (u8, u8), map: Map<u8, u8>) {}"), ["d"]);
    assert_eq!(names("fn e(f: &dyn Fn(u32, u32), a: [u32; 2], n: std::ops::Range<u64>) -> (u8, u8) {}"), Vec::<String>::new());
    assert_eq!(names("mod tests { fn a(x: (u32, u32)) {} }"), Vec::<String>::new());
    assert_eq!(names("fn f(pair: Option<(Vec<u8>, Vec<u8>)>, f: fn(bool, bool)) {}"), ["f"]);
}
