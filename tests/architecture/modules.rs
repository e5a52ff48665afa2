//! The compiler's modules, and the file that defines a path: through imports and re-exports of other modules.

use super::source::{Path, Scope, Use, parse};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};

/// Limit of the imports of imports that are followed.
const MOST_STEPS: usize = 16;

/// Beginning of the names of the workspace's crates that are floors.
const CRATES: &str = "modelc_";

/// All modules of a crate, by path from its root. A crate that the root re-exports, as in `pub use modelc_x as x`, is a module, too.
pub struct Modules {
    scopes: BTreeMap<Path, Module>,
    /// Names of the modules that are crates.
    crates: BTreeSet<String>,
}

struct Module {
    /// Path relative to the folder of the root.
    file: PathBuf,
    scope: Scope,
}

/// A file, with the names by which it uses other files.
pub struct File {
    /// Path relative to the folder of the root.
    pub path: PathBuf,
    /// Files that are used, each with a path that uses it.
    pub uses: BTreeMap<PathBuf, String>,
    /// `true` if the file only declares modules and re-exports from them.
    pub is_index: bool,
}

impl Modules {
    /// Loads the modules below the root file of a crate. `read` returns the text of a file, if it exists.
    ///
    /// # Errors
    /// A message if a file is missing or is not Rust.
    pub fn load(root: &str, read: &impl Fn(&FilePath) -> Option<String>) -> Result<Self, String> {
        let mut modules = Self { scopes: BTreeMap::new(), crates: BTreeSet::new() };
        modules.add_file(vec![], root.into(), PathBuf::new(), read)?;
        let crates: Vec<String> = modules.scopes[&vec![]].scope.uses.iter().filter_map(Use::of_crate).collect();
        for name in crates {
            let folder = PathBuf::from(&name);
            let file = ["lib.rs", "mod.rs"].map(|file| folder.join(file)).into_iter().find(|file| read(file).is_some());
            let file = file.ok_or_else(|| format!("there is no root file of {CRATES}{name}"))?;
            modules.crates.insert(name.clone());
            modules.add_file(vec![name], file, folder, read)?;
        }
        Ok(modules)
    }

    /// Adds a file whose modules are in `folder`.
    fn add_file(&mut self, path: Path, file: PathBuf, folder: PathBuf, read: &impl Fn(&FilePath) -> Option<String>) -> Result<(), String> {
        let text = read(&file).ok_or_else(|| format!("there is no {}", file.display()))?;
        let scope = parse(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        self.add(path, &file, &folder, scope, read)
    }

    fn add(
        &mut self,
        path: Path,
        file: &FilePath,
        folder: &FilePath,
        mut scope: Scope,
        read: &impl Fn(&FilePath) -> Option<String>,
    ) -> Result<(), String> {
        for name in &scope.declared {
            let (path, folder) = (child(&path, name), folder.join(name));
            let beside = folder.with_extension("rs");
            let own = if read(&beside).is_some() { beside } else { folder.join("mod.rs") };
            self.add_file(path, own, folder, read)?;
        }
        for (name, inner) in std::mem::take(&mut scope.inline) {
            self.add(child(&path, &name), file, &folder.join(&name), inner, read)?;
        }
        self.scopes.insert(path, Module { file: file.into(), scope });
        Ok(())
    }

    /// Returns every file with its uses, sorted by path.
    pub fn files(&self) -> Vec<File> {
        let mut files: BTreeMap<&FilePath, File> = BTreeMap::new();
        for (path, module) in &self.scopes {
            let fresh = || File { path: module.file.clone(), uses: BTreeMap::new(), is_index: true };
            let file = files.entry(&module.file).or_insert_with(fresh);
            file.is_index &= module.scope.items.is_empty();
            let imported = module.scope.uses.iter().map(|each| &each.path);
            for used in imported.chain(&module.scope.paths) {
                if let Some(target) = self.file_of(path, used)
                    && target != module.file
                {
                    file.uses.entry(target.into()).or_insert_with(|| used.join("::"));
                }
            }
        }
        files.into_values().collect()
    }

    /// Returns the file that defines a path in a module; `None` for other crates.
    fn file_of(&self, module: &[String], path: &[String]) -> Option<&FilePath> {
        let (Found::Module(target) | Found::ItemOf(target)) = self.resolve(module, path, MOST_STEPS)?;
        self.scopes.get(&target).map(|module| &*module.file)
    }

    /// Resolves a path in a module.
    fn resolve(&self, module: &[String], path: &[String], steps: usize) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        let mut found = match first.as_str() {
            "crate" => Found::Module(module.iter().take(1).filter(|name| self.crates.contains(*name)).cloned().collect()),
            "self" => Found::Module(module.to_vec()),
            "super" => Found::Module(parent(module)?),
            name => match name.strip_prefix(CRATES).filter(|name| self.crates.contains(*name)) {
                Some(name) => Found::Module(vec![name.into()]),
                None => self.member(module, name, steps)?,
            },
        };
        for name in rest {
            let Found::Module(at) = found else { break };
            found = match name.as_str() {
                "super" => Found::Module(parent(&at)?),
                name => self.member(&at, name, steps).unwrap_or(Found::ItemOf(at)),
            };
        }
        Some(found)
    }

    /// Resolves a name in a module: a child module, an item, an import, or a name that `*` imports.
    fn member(&self, module: &[String], name: &str, steps: usize) -> Option<Found> {
        let own = child(module, name);
        if self.scopes.contains_key(&own) {
            return Some(Found::Module(own));
        }
        let scope = &self.scopes.get(module)?.scope;
        if scope.items.contains(name) {
            return Some(Found::ItemOf(module.to_vec()));
        }
        let steps = steps.checked_sub(1)?;
        if let Some(import) = scope.uses.iter().find(|each| each.name.as_deref() == Some(name)) {
            return self.resolve(module, &import.path, steps);
        }
        scope.uses.iter().filter(|each| each.name.is_none()).find_map(|each| match self.resolve(module, &each.path, steps)? {
            Found::Module(of) => self.member(&of, name, steps),
            Found::ItemOf(_) => None,
        })
    }
}

impl Use {
    /// Returns the name of the floor that `use modelc_x as x` imports.
    fn of_crate(&self) -> Option<String> {
        let [name] = &self.path[..] else { return None };
        name.strip_prefix(CRATES).filter(|name| self.name.as_deref() == Some(name)).map(str::to_owned)
    }
}

/// Target of a path.
enum Found {
    /// A module.
    Module(Path),
    /// An item that this module defines.
    ItemOf(Path),
}

fn child(module: &[String], name: &str) -> Path {
    module.iter().cloned().chain([name.to_string()]).collect()
}

fn parent(module: &[String]) -> Option<Path> {
    module.split_last().map(|(_, parent)| parent.to_vec())
}

/// Returns the floor of a file: its first folder, or its name.
pub fn floor(file: &FilePath) -> String {
    file.components().next().map(|first| first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_string()).unwrap_or_default()
}

/// Cycles among the files of a rule.
pub struct Circles<'a> {
    uses: BTreeMap<&'a FilePath, Vec<(&'a FilePath, &'a str)>>,
}

impl<'a> Circles<'a> {
    /// Collects some files and their uses of each other. A file that only declares and re-exports is in no cycle.
    pub fn new(files: impl Iterator<Item = &'a File> + Clone) -> Self {
        let nodes: BTreeSet<&FilePath> = files.clone().filter(|file| !file.is_index).map(|file| &*file.path).collect();
        let uses_of = |file: &'a File| {
            let uses = file.uses.iter().map(|(to, by)| (&**to, by.as_str()));
            (&*file.path, uses.filter(|(to, _)| nodes.contains(to)).collect())
        };
        Self { uses: files.filter(|file| nodes.contains(&*file.path)).map(uses_of).collect() }
    }

    /// Returns a shortest cycle through a file: each file, with the path by which it uses the next one.
    pub fn through(&self, start: &'a FilePath) -> Option<Vec<(&'a FilePath, &'a str)>> {
        let mut from: BTreeMap<&FilePath, (&FilePath, &str)> = BTreeMap::new();
        let mut next = vec![start];
        while !next.is_empty() {
            let mut reached = vec![];
            for file in next {
                for &(to, by) in self.uses.get(file).into_iter().flatten() {
                    if let Entry::Vacant(place) = from.entry(to) {
                        place.insert((file, by));
                        reached.push(to);
                    }
                }
            }
            if from.contains_key(start) {
                break;
            }
            next = reached;
        }
        let mut circle = vec![*from.get(start)?];
        while let Some(&(file, _)) = circle.last()
            && file != start
        {
            circle.push(*from.get(file)?);
        }
        circle.reverse();
        Some(circle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Vec<File> {
        let texts: BTreeMap<&FilePath, &str> = texts.iter().map(|(path, text)| (FilePath::new(*path), *text)).collect();
        Modules::load("lib.rs", &|path| texts.get(path).map(ToString::to_string)).unwrap().files()
    }

    fn uses_of(files: &[File], path: &str) -> Vec<String> {
        let file = files.iter().find(|file| file.path == FilePath::new(path)).unwrap();
        file.uses.keys().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn paths_lead_to_files() {
        let files = files(&[
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod one; mod two; pub use one::Item; pub use two::*;"),
            ("a/one.rs", "pub struct Item; fn f() { super::two::g(); std::mem::take(x) } mod inner { use super::super::two::H; }"),
            ("a/two.rs", "use crate::b as other; pub fn g() { other::deep::k() } pub struct H;"),
            ("b.rs", "pub mod deep; use crate::a::{self, Item}; fn f() { a::H::new(); }"),
            ("b/deep.rs", "use super::super::a::one as renamed; pub fn k() { renamed::Item }"),
        ]);
        assert_eq!(uses_of(&files, "a/one.rs"), ["a/two.rs"]);
        assert_eq!(uses_of(&files, "a/two.rs"), ["b/deep.rs", "b.rs"]);
        assert_eq!(uses_of(&files, "b.rs"), ["a/mod.rs", "a/one.rs", "a/two.rs"]);
        assert_eq!(uses_of(&files, "b/deep.rs"), ["a/one.rs"]);
        let index: Vec<bool> = files.iter().map(|file| file.is_index).collect();
        assert_eq!(index, [true, false, false, false, false, true], "{:?}", files.iter().map(|file| &file.path).collect::<Vec<_>>());
    }

    #[test]
    fn crates_are_modules() {
        let files = files(&[
            ("lib.rs", "pub use modelc_a as a; pub use modelc_b as b; mod c; use modelc_other::X;"),
            ("a/lib.rs", "pub struct Item;"),
            ("b/mod.rs", "mod inner; pub use inner::g;"),
            ("b/inner.rs", "use modelc_a::Item; mod deep; pub fn g() { deep::k() }"),
            ("b/inner/deep.rs", "pub fn k() { crate::inner::g() }"),
            ("c.rs", "use crate::b::g; fn f() { g(); crate::a::Item }"),
        ]);
        assert_eq!(uses_of(&files, "b/inner.rs"), ["a/lib.rs", "b/inner/deep.rs"]);
        assert_eq!(uses_of(&files, "b/inner/deep.rs"), ["b/inner.rs"]);
        assert_eq!(uses_of(&files, "c.rs"), ["a/lib.rs", "b/inner.rs"]);
    }

    #[test]
    fn a_child_that_uses_its_parent_is_a_circle() {
        let texts = [("lib.rs", "mod a;"), ("a.rs", "mod b; fn f() { b::g() }"), ("a/b.rs", "pub fn g() { super::f() }")];
        let all = files(&texts);
        let circle = Circles::new(all.iter()).through(FilePath::new("a.rs")).unwrap();
        let by: Vec<(String, &str)> = circle.iter().map(|(file, by)| (file.display().to_string(), *by)).collect();
        assert_eq!(by, [("a.rs".to_string(), "b::g"), ("a/b.rs".to_string(), "super::f")]);
        // If the parent only declares and re-exports, the child does not use it.
        let texts = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; mod c; pub use c::f;"),
            ("a/b.rs", "fn g() { super::f() }"),
            ("a/c.rs", "pub fn f() {}"),
        ];
        let all = files(&texts);
        assert_eq!(uses_of(&all, "a/b.rs"), ["a/c.rs"]);
        assert!(all.iter().all(|file| Circles::new(all.iter()).through(&file.path).is_none()));
    }

    #[test]
    fn circles_of_three() {
        let texts = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use super::b::X; fn f() {}"),
            ("b.rs", "pub struct X; use super::c::Y;"),
            ("c.rs", "pub struct Y; fn f() { crate::a::f() }"),
            ("d.rs", "use crate::a::f; struct Z;"),
        ];
        let all = files(&texts);
        let circles = Circles::new(all.iter());
        assert_eq!(circles.through(FilePath::new("a.rs")).map(|circle| circle.len()), Some(3));
        assert_eq!(circles.through(FilePath::new("d.rs")), None);
    }
}
