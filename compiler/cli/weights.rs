//! `modelc weights NEW --like net.o -o net.bin`

use super::console::{message, note};
use super::files::Files;
use super::io::map;
use super::messages::{MessageFormat, Messages};
use super::outcome::Outcome;
use super::output::grouped;
use super::progress;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::emit::{OutputKind, TopologyRecord, weights_for};
use crate::{Settings, compile};
use clap::Args;
use serde_json::json;

#[derive(Args)]
pub struct Arguments {
    /// The retrained model
    model: String,
    /// Object or library, compiled with --weights external
    #[arg(long, value_name = "NET.o")]
    like: String,
    /// Tensor file of an ExecuTorch program (.ptd)
    #[arg(long = "data", value_name = "W.ptd")]
    data: Vec<String>,
    /// Weights file to write. `-` is standard output
    #[arg(short, long, value_name = "NET.bin")]
    output: String,
    /// Messages.
    #[command(flatten)]
    pub messages: Messages,
}

/// Writes weights for an existing object.
///
/// # Errors
/// Diagnostics if the model cannot be compiled, or if it differs from the object's in more than weights.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let inputs = [arguments.model.as_str(), &arguments.like].into_iter().chain(arguments.data.iter().map(String::as_str));
    let files = Files::new(inputs);
    files.check([(arguments.output.as_str(), OutputKind::Weights)])?;
    let object = map(&arguments.like)?;
    let in_object = |diagnostic: Diagnostic| diagnostic.in_file(&arguments.like);
    let record = TopologyRecord::find((*object).as_ref()).ok_or_else(|| {
        let message = "the file says nothing of a model whose weights are a file of their own";
        in_object(Diagnostic::new(codes::NO_RECORD, message).expected("an object made with --weights external", "none"))
    })?;
    if record.version != env!("CARGO_PKG_VERSION") {
        let message = "the object was made by another version of modelc, which may arrange weights otherwise";
        let diagnostic = Diagnostic::new(codes::OTHER_VERSION, message).expected(env!("CARGO_PKG_VERSION"), &record.version);
        return Err(in_object(diagnostic).into());
    }
    let mut settings = settings(&record).ok_or_else(|| in_object(Diagnostic::new(codes::NO_RECORD, "the object's record is damaged")))?;
    settings.data.clone_from(&arguments.data);
    let (_, lowered) = progress::during(&format!("compiling {}", arguments.model), || {
        compile::lower(&settings, map(&arguments.model)?, &arguments.model)
    })?;
    let weights = weights_for(&lowered.levels(), &record).map_err(|diagnostic| diagnostic.in_file(&arguments.model))?;
    let bytes = weights.file.len();
    files.write(&arguments.output, OutputKind::Weights, weights.file)?;
    for port in weights.rescaled {
        note(&format!("note: the scale or zero point of {port} differs from the header of {}", arguments.like));
    }
    if arguments.output != "-" && arguments.messages.format == MessageFormat::Json {
        let json = json!({ "schema": "modelc.weights/1", "model": arguments.model, "like": arguments.like, "path": arguments.output, "bytes": bytes });
        message(&json.to_string());
    } else if arguments.output != "-" {
        note(&format!("{} for {}: {} B", arguments.output, arguments.like, grouped(bytes)));
    }
    Ok(Outcome::Done)
}

/// Returns the settings of the object, with target and levels made explicit.
fn settings(record: &TopologyRecord) -> Option<Settings> {
    let settings: Settings = serde_json::from_value(record.settings.clone()).ok()?;
    let (target, cpu) = (Some(record.target.clone()), Some(record.levels.clone()));
    Some(Settings { target, cpu, external_weights: true, ..settings })
}
