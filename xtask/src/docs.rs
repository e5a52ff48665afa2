//! `cargo xtask docs`: the documentation as a site of HTML, by mdBook, from README.md and `docs/`.

pub mod page;
pub mod site;

use crate::Outcome;
use crate::process::{self, cargo, root};
use site::Site;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of mdBook: what `cargo install` takes, and how what it prints begins.
const VERSION: (&str, &str) = ("~0.5", "mdbook v0.5.");

/// Arguments of the command line.
struct Options {
    out: PathBuf,
    repository: Option<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options { out: process::target().join("docs"), repository: None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} wants a value"));
            match argument.as_str() {
                "--out" => options.out = std::path::absolute(value()?).map_err(|error| error.to_string())?,
                "--repository" => options.repository = Some(value()?.clone()),
                _ => return Err(format!("`{argument}` is not understood: [--out DIR] [--repository URL]")),
            }
        }
        Ok(options)
    }
}

/// Builds the site. mdBook is installed into `target/mdbook` if it is not there.
///
/// # Errors
/// When an argument is not understood, mdBook cannot be installed or refuses a page, or a file cannot be read or written.
pub fn run(arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    let mdbook = installed().map_or_else(install, Ok)?;
    build(&mdbook, &options.out, options.repository.as_deref())?;
    println!("wrote {}", options.out.join("index.html").display());
    Ok(())
}

/// mdBook 0.5, from an earlier run or on `PATH`.
pub fn installed() -> Option<PathBuf> {
    let is_right = |path: &PathBuf| process::output(Command::new(path).arg("--version")).is_ok_and(|said| said.starts_with(VERSION.1));
    [Some(place().join("bin/mdbook")), process::find("mdbook")].into_iter().flatten().find(is_right)
}

fn place() -> PathBuf {
    process::target().join("mdbook")
}

fn install() -> Result<PathBuf, String> {
    // Neither its server nor its watcher: the search is all that a site needs.
    let features = ["--no-default-features", "--features", "search"];
    let mut command = cargo();
    command.args(["install", "mdbook", "--locked", "--version", VERSION.0]).args(features).arg("--root").arg(place());
    process::run(&mut command)?;
    Ok(place().join("bin/mdbook"))
}

/// Builds the site into a folder, whose earlier contents go.
///
/// # Errors
/// When mdBook refuses a page, or a file cannot be read or written.
pub fn build(mdbook: &Path, out: &Path, repository: Option<&str>) -> Outcome {
    let book = process::target().join(format!("docs-source-{}", std::process::id()));
    let pages = Site::new(root(), repository).files()?;
    // An earlier process of this number may have left pages that are gone.
    let _ = fs::remove_dir_all(&book);
    write(&book.join("book.toml"), &fs::read(root().join("docs/book.toml")).map_err(|error| format!("docs/book.toml: {error}"))?)?;
    for (path, bytes) in &pages {
        write(&book.join("src").join(path), bytes)?;
    }
    let mut command = Command::new(mdbook);
    command.arg("build").arg(&book).arg("--dest-dir").arg(out);
    if let Some(address) = repository {
        command.env("MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL", address);
    }
    process::run_then_print(&mut command)?;
    // Language models read the sources, to which llms.txt leads.
    for (path, bytes) in pages.iter().filter(|(path, _)| path.extension().is_some_and(|suffix| suffix == "md")) {
        write(&out.join(path), bytes)?;
    }
    fs::remove_dir_all(&book).map_err(|error| format!("{}: {error}", book.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    fs::write(path, bytes).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let parse = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let options = parse(&["--out", "/site", "--repository", "https://code"]).expect("all is well");
        assert_eq!((options.out, options.repository.as_deref()), (PathBuf::from("/site"), Some("https://code")));
        assert_eq!(parse(&[]).map(|options| options.out), Ok(process::target().join("docs")));
        assert!(parse(&["--out"]).is_err() && parse(&["site"]).is_err());
    }
}
