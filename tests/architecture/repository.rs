//! Files of the repository.

use std::path::{Path, PathBuf};

/// Returns the folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files whose names have a suffix, in order. Hidden folders and those of builds are left out.
pub fn files_ending_with(suffix: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository can be read").flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap_or_default());
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(suffix) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
