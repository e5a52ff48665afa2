//! `cargo xtask replay BASE`: compares the objects of two compilers for the same models, byte by byte.
//!
//! Both compile the corpus for the configurations of [`matrix`]. Equal objects and headers prove that a refactoring kept its promise;
//! differences are listed by kernel. A table shows changed sizes of arena, code and constants.

mod base;
pub mod compare;
pub mod compile;
pub mod matrix;
mod object;

use crate::Outcome;
use crate::process::{self, cargo, root};
use compare::Comparison;
use compile::Compiler;
use matrix::Configuration;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const FLAGS: &str = "BASE|--claimed [--head BINARY] [--sample N|--all] [--only TEXT] [MODEL ...]";

/// Default number of configurations for each model: enough for the corpus to cover all of them.
const SAMPLE: usize = 8;

/// Options of the command line.
struct Options {
    /// The compiler to compare with: a program, or a revision to build. `None` means the last commit that does not claim unchanged objects.
    base: Option<String>,
    /// The new compiler; by default the release build of this checkout.
    head: Option<PathBuf>,
    /// Number of configurations for each model; `None` for all of them.
    sample: Option<usize>,
    /// Text that a configuration's options must contain.
    only: Option<String>,
    models: Vec<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { base: None, head: None, sample: Some(SAMPLE), only: None, models: vec![] };
        let (mut names, mut claimed, mut rest) = (vec![], false, arguments.iter());
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("`{argument}` needs a value: {FLAGS}"));
            match argument.as_str() {
                "--claimed" => claimed = true,
                "--all" => options.sample = None,
                "--head" => options.head = Some(value()?.into()),
                "--only" => options.only = Some(value()?.clone()),
                "--sample" => options.sample = Some(value()?.parse().map_err(|_| format!("`--sample` takes a number: {FLAGS}"))?),
                flag if flag.starts_with('-') => return Err(format!("`{flag}` is no option: {FLAGS}")),
                name => names.push(name),
            }
        }
        let mut names = names.into_iter();
        if !claimed {
            options.base = Some(names.next().ok_or_else(|| format!("which compiler is the base? {FLAGS}"))?.to_owned());
        }
        options.models = names.map(PathBuf::from).collect();
        Ok(options)
    }
}

/// Compares, prints the differences and the table of sizes.
///
/// # Errors
/// A message if an argument is not understood, if a compiler does not build, if there is no model, or if something differs.
pub fn run(arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    let models = if options.models.is_empty() { corpus() } else { options.models.clone() };
    if models.is_empty() {
        return without_models(options.base.is_none());
    }
    let base = match &options.base {
        Some(name) => base::compiler(name)?,
        None => match base::claimed()? {
            Some(revision) => base::compiler(&revision)?,
            None => {
                println!("replay: skipped, the last commit does not say `{}`", base::CLAIM);
                return Ok(());
            }
        },
    };
    let head = match options.head {
        Some(head) => head,
        None => {
            process::run(cargo().args(["build", "--release", "--bin", "modelc"]))?;
            process::target().join("release/modelc")
        }
    };
    let all = matrix::configurations(&compile::targets(&base)?, options.only.as_deref());
    let comparison = between([&base, &head], &models, &all, options.sample)?;
    print!("{}", comparison.text());
    if comparison.differences() == 0 { Ok(()) } else { Err(format!("{} compilations differ", comparison.differences())) }
}

/// Ends a comparison without models. What commits claim is then not checked, since a checkout alone has no corpus.
fn without_models(is_claim: bool) -> Outcome {
    const REASON: &str = "there is no corpus beside the project, and MODELC_CORPUS names none";
    if !is_claim {
        return Err(format!("{REASON}; name models"));
    }
    println!("replay: skipped, {REASON}");
    Ok(())
}

/// Returns the models of the corpus, in order.
fn corpus() -> Vec<PathBuf> {
    let folder = std::env::var_os("MODELC_CORPUS").map_or_else(|| root().join("../shared/models"), PathBuf::from);
    let files = ["tflite", "executorch"].into_iter().filter_map(|part| folder.join(part).read_dir().ok()).flatten();
    let mut models: Vec<PathBuf> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
    models.retain(|path| path.extension().is_some_and(|extension| extension == "tflite" || extension == "pte"));
    models.sort();
    models
}

/// Compiles every model with both compilers, on all processors.
///
/// # Errors
/// A message if a compiler cannot be run, or if its output is no object.
pub fn between(compilers: [&Path; 2], models: &[PathBuf], all: &[Configuration], sample: Option<usize>) -> Result<Comparison, String> {
    let jobs: Vec<(&PathBuf, &Configuration)> =
        models.iter().enumerate().flat_map(|(number, model)| matrix::spread(all, sample, number).map(move |one| (model, one))).collect();
    let (next, comparison) = (AtomicUsize::new(0), Mutex::new(Comparison::default()));
    let work = || -> Outcome {
        let [base, head] = [Compiler::new(compilers[0])?, Compiler::new(compilers[1])?];
        while let Some((model, configuration)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let row = compare::row(model, configuration, &base.compile(model, configuration)?, &head.compile(model, configuration)?)?;
            comparison.lock().map_err(|_| "another thread failed")?.rows.push(row);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().try_for_each(|handle| handle.join().map_err(|_| "a thread failed".to_owned())?)
    })?;
    let mut comparison = comparison.into_inner().map_err(|_| "a thread failed")?;
    comparison.rows.sort_by(|a, b| (&a.model, &a.options).cmp(&(&b.model, &b.options)));
    Ok(comparison)
}

#[cfg(test)]
mod tests {
    use super::without_models;

    #[test]
    fn a_claim_is_not_checked_without_models() {
        assert_eq!(without_models(true), Ok(()));
        assert!(without_models(false).is_err_and(|error| error.contains("name models")));
    }
}
