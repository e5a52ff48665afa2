//! Options about messages.

use clap::{Args, ValueEnum};

/// Format of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MessageFormat {
    /// Text for people.
    Text,
    /// One JSON object for each message, one line each.
    Json,
}

/// Format and amount of messages.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Messages")]
pub struct Messages {
    /// Print errors only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print what is done, with times
    #[arg(short, long)]
    pub verbose: bool,
    /// Format of messages: text or json [default: text]
    #[arg(long = "message-format", value_enum, value_name = "FORMAT", default_value = "text", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub format: MessageFormat,
}

impl Messages {
    /// Defaults for commands without these options.
    pub const USUAL: Self = Self { quiet: false, verbose: false, format: MessageFormat::Text };

    /// Tests whether messages are JSON.
    pub fn are_json(self) -> bool {
        self.format == MessageFormat::Json
    }
}
