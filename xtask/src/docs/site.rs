//! The pages of the site: which there are, in which order, and their text with the links that they have there.

use super::page::{self, Relink};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The order of the pages, with the titles of the parts.
pub const SUMMARY: &str = "docs/SUMMARY.md";
/// The first page, and its name in the site.
const FIRST: (&str, &str) = ("README.md", "index.md");
/// The part that only those who change the compiler read.
const LAST_PART: &str = "Internals";

/// A part of the site.
pub struct Part {
    /// Its title; the first page stands in a part that has none.
    pub title: Option<String>,
    /// Titles and paths of its pages.
    pub pages: Vec<(String, PathBuf)>,
}

/// The documents of a repository.
pub struct Site<'r> {
    root: &'r Path,
    /// Address of the repository on the web: links to files that are no pages lead there.
    repository: Option<&'r str>,
}

impl<'r> Site<'r> {
    /// The documents below a folder.
    pub fn new(root: &'r Path, repository: Option<&'r str>) -> Self {
        Self { root, repository: repository.map(|address| address.trim_end_matches('/')) }
    }

    /// The parts in their order, as `docs/SUMMARY.md` has them. Paths are those in the repository.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn parts(&self) -> Result<Vec<Part>, String> {
        let text = self.text(Path::new(SUMMARY))?;
        let mut parts = vec![Part { title: None, pages: vec![] }];
        for line in page::lines(&text).skip(1) {
            if let Some((_, title)) = page::heading(line) {
                parts.push(Part { title: Some(title.into()), pages: vec![] });
            } else if let [target] = page::targets(line)[..] {
                let title = page::summary(line).trim_start_matches("- ").trim().to_owned();
                parts.last_mut().ok_or("no part")?.pages.push((title, resolved(Path::new(SUMMARY), target)));
            }
        }
        Ok(parts)
    }

    /// Every file of the site, by its path there: pages with the links that lead on there, `llms.txt`, and the files of folders of `docs`.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn files(&self) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        let mut files =
            vec![(PathBuf::from("llms.txt"), self.llms()?.into_bytes()), (PathBuf::from("SUMMARY.md"), self.relinked(Path::new(SUMMARY))?)];
        for (_, path) in self.parts()?.iter().flat_map(|part| &part.pages) {
            files.push((there(path), self.relinked(path)?));
        }
        for entry in entries(&self.root.join("docs"))?.iter().filter(|entry| entry.is_dir()) {
            self.add_folder(entry, &mut files)?;
        }
        Ok(files)
    }

    fn add_folder(&self, folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) -> Result<(), String> {
        for entry in entries(folder)? {
            if entry.is_dir() {
                self.add_folder(&entry, files)?;
            } else {
                let bytes = fs::read(&entry).map_err(|error| format!("{}: {error}", entry.display()))?;
                files.push((there(entry.strip_prefix(self.root).unwrap_or(&entry)), bytes));
            }
        }
        Ok(())
    }

    /// The list of pages for language models (llmstxt.org): the first sentences of each beside its link.
    fn llms(&self) -> Result<String, String> {
        let mut text = String::new();
        for Part { title, pages } in self.parts()? {
            match title.as_deref() {
                None => {}
                // A list for language models gives this title to pages that may be left out.
                Some(LAST_PART) => text += "\n## Optional\n\n",
                Some(title) => text += &format!("\n## {title}\n\n"),
            }
            for (name, path) in pages {
                let of_page = page::summary(&self.text(&path)?);
                if title.is_none() {
                    text += &format!("# {name}\n\n> {of_page}\n");
                } else {
                    text += &format!("- [{name}]({}): {of_page}\n", there(&path).display());
                }
            }
        }
        Ok(text)
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        fs::read_to_string(self.root.join(path)).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn relinked(&self, path: &Path) -> Result<Vec<u8>, String> {
        Ok(page::relinked(&self.text(path)?, |target| self.link(path, target)).into_bytes())
    }

    /// The link as the site has it.
    fn link(&self, page: &Path, target: &str) -> Relink {
        let (file, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
        if file.is_empty() || file.contains("://") {
            return Relink::Keep;
        }
        let path = resolved(page, file);
        let is_folder = self.root.join(&path).is_dir();
        if !is_folder && (path.starts_with("docs") || path == Path::new(FIRST.0)) {
            return Relink::To(format!("{}{anchor}", there(&path).display()));
        }
        let kind = if is_folder { "tree" } else { "blob" };
        self.repository.map_or(Relink::Label, |address| Relink::To(format!("{address}/{kind}/HEAD/{}{anchor}", path.display())))
    }
}

/// The entries of a folder in order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// The path in the site of a file of the repository.
fn there(path: &Path) -> PathBuf {
    if path == Path::new(FIRST.0) { FIRST.1.into() } else { path.strip_prefix("docs").unwrap_or(path).into() }
}

/// The path in the repository that a link of a page leads to.
pub fn resolved(page: &Path, target: &str) -> PathBuf {
    let mut path = page.parent().map_or_else(PathBuf::new, Path::to_owned);
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    #[test]
    fn links_lead_on_in_the_site() {
        let site = Site::new(root(), Some("https://code/modelc/"));
        let link = |target: &str| site.link(Path::new("docs/firmware.md"), target);
        assert_eq!(link("objects.md#a-test-of-the-object"), Relink::To("objects.md#a-test-of-the-object".into()));
        assert_eq!(link("../README.md#install"), Relink::To("index.md#install".into()));
        assert_eq!(link("page/roofline.png"), Relink::To("page/roofline.png".into()));
        assert_eq!(link("../examples/c/main.c"), Relink::To("https://code/modelc/blob/HEAD/examples/c/main.c".into()));
        assert_eq!(link("benchmarks"), Relink::To("https://code/modelc/tree/HEAD/docs/benchmarks".into()));
        assert_eq!((link("#time"), link("https://x/y.md")), (Relink::Keep, Relink::Keep));
        assert_eq!(Site::new(root(), None).link(Path::new("README.md"), "LICENSE.md"), Relink::Label);
    }
}
