//! Loading of a schema and everything it includes.

use std::path::{Path, PathBuf};

use crate::error::{Error, Position};
use crate::parser;
use crate::syntax::File;

/// One parsed file.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    /// The file's stem: the name of its module.
    pub(crate) module: String,
    pub(crate) file: File,
}

/// Reads and parses `path`, then its includes, each once; `path` comes first. Files may include each other, because only names are taken from
/// an include.
pub(crate) fn load(path: &Path, read: &dyn Fn(&Path) -> std::io::Result<String>) -> Result<Vec<Source>, Error> {
    let mut sources = vec![source(path, path, Position::START, read)?];
    let mut done = 0;
    while done < sources.len() {
        let from = sources[done].path.clone();
        for include in sources[done].file.includes.clone() {
            let path = from.with_file_name(&include.text);
            if !sources.iter().any(|source| source.path == path) {
                sources.push(source(&path, &from, include.position, read)?);
            }
        }
        done += 1;
    }
    Ok(sources)
}

/// Reads one file; a failure is an error at `position` of `from`.
fn source(path: &Path, from: &Path, position: Position, read: &dyn Fn(&Path) -> std::io::Result<String>) -> Result<Source, Error> {
    let text = read(path).map_err(|error| Error::new(from, position, format!("cannot read {}: {error}", path.display())))?;
    let module = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_string();
    Ok(Source { path: path.to_path_buf(), module, file: parser::parse(path, &text)? })
}
