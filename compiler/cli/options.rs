//! Options that several commands share.

use crate::Settings;
use crate::diagnostic::{Diagnostic, Diagnostics, Kind};
use crate::frontend::given::Number;
use crate::frontend::{Bound, LoadOptions};
use crate::lower::{self, PlanSource};
use crate::machine::Machine;
use crate::plan::Effort;
use clap::{Args, ValueEnum};

/// How messages are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MessageFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PlanArgument {
    Own,
    Program,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EffortArgument {
    Normal,
    Max,
}

/// Options of every command that compiles.
#[derive(Args)]
pub struct Common {
    /// CPU level, e.g. x86-64-v3, for objects also several with commas between; `modelc targets` lists them
    #[arg(long, value_name = "LEVEL[,LEVEL]")]
    pub cpu: Option<String>,
    /// Whose memory plan to use
    #[arg(long, value_enum, default_value = "own")]
    plan: PlanArgument,
    /// How far to search for a smaller plan
    #[arg(long = "plan-effort", value_enum, default_value = "normal")]
    plan_effort: EffortArgument,
    /// Give an input another shape: in0=1x224x224x3
    #[arg(long = "shape", value_name = "INPUT=SHAPE")]
    shapes: Vec<String>,
    /// Let an extent be known only when the model runs, up to a bound: in0.1=128
    #[arg(long = "bound", value_name = "PORT.DIMENSION=N")]
    bounds: Vec<String>,
    /// Give the value that an input has in every call, where shapes or axes depend on it: in1=2,3
    #[arg(long = "value", value_name = "INPUT=NUMBERS")]
    values: Vec<String>,
    /// A file of tensors beside an ExecuTorch program
    #[arg(long = "data", value_name = "W.ptd")]
    data: Vec<String>,
    /// Leave a custom operator to a function of the application, which has its name unless another is given
    #[arg(long = "custom", value_name = "NAME[=SYMBOL]")]
    customs: Vec<String>,
    /// End a call with MODELC_E_ABORTED after so many rounds of a loop
    #[arg(long = "max-iterations", value_name = "N")]
    pub max_iterations: Option<u64>,
    /// How messages are printed
    #[arg(long = "message-format", value_enum, default_value = "text")]
    pub message_format: MessageFormat,
}

impl Common {
    /// The files that it reads beside the model.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.data.iter().map(String::as_str)
    }

    /// What the front end is told.
    ///
    /// # Errors
    /// When an option is malformed.
    pub fn load_options(&self) -> Result<LoadOptions, Diagnostics> {
        Ok(self.settings()?.load_options()?)
    }

    /// The same as settings of the compiler.
    ///
    /// # Errors
    /// When an option is malformed.
    pub fn settings(&self) -> Result<Settings, Diagnostics> {
        Ok(Settings {
            cpu: self.cpu.clone(),
            keep_plan: self.plan == PlanArgument::Program,
            search_longer: self.plan_effort == EffortArgument::Max,
            max_iterations: self.max_iterations,
            shapes: self.shapes.iter().map(|text| parse_shape(text)).collect::<Result<_, _>>()?,
            bounds: self.bounds.iter().map(|text| parse_bound(text)).collect::<Result<_, _>>()?,
            values: self.values.iter().map(|text| parse_value(text)).collect::<Result<_, _>>()?,
            data: self.data.clone(),
            customs: self.customs.iter().map(|text| parse_custom(text)).collect::<Result<_, _>>()?,
            ..Settings::default()
        })
    }

    /// What lowering is told, for a machine.
    pub fn lower_options(&self, machine: &'static Machine) -> lower::Options {
        let plan = if self.plan == PlanArgument::Program { PlanSource::Program } else { PlanSource::Own };
        let effort = if self.plan_effort == EffortArgument::Max { Effort::Max } else { Effort::Normal };
        lower::Options { machine, effort, plan }
    }
}

/// A mistake on the command line.
pub fn usage(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(801, Kind::Usage, message)
}

fn parse_shape(text: &str) -> Result<(usize, Vec<u64>), Diagnostic> {
    let parse = || {
        let (input, shape) = text.split_once('=')?;
        let input = input.strip_prefix("in")?.parse().ok()?;
        let shape = if shape.is_empty() { Some(vec![]) } else { shape.split('x').map(|n| n.parse().ok()).collect() };
        Some((input, shape?))
    };
    parse().ok_or_else(|| usage(format!("--shape {text} is not understood")).expected("in0=1x224x224x3", text))
}

fn parse_bound(text: &str) -> Result<Bound, Diagnostic> {
    let parse = || {
        let (extent, most) = text.split_once('=')?;
        let (port, dimension) = extent.split_once('.')?;
        let (is_output, port) = match port.strip_prefix("in") {
            Some(port) => (false, port),
            None => (true, port.strip_prefix("out")?),
        };
        let most = most.parse().ok().filter(|&most| most >= 1)?;
        Some(Bound { is_output, port: port.parse().ok()?, dimension: dimension.parse().ok()?, most })
    };
    parse().ok_or_else(|| usage(format!("--bound {text} is not understood")).expected("in0.1=128", text))
}

fn parse_value(text: &str) -> Result<(usize, Vec<Number>), Diagnostic> {
    let number = |text: &str| match text {
        "false" => Some(Number::Integer(0)),
        "true" => Some(Number::Integer(1)),
        _ => text.parse().map(Number::Integer).or_else(|_| text.parse().map(Number::Float)).ok(),
    };
    let parse = || {
        let (input, numbers) = text.split_once('=')?;
        let input = input.strip_prefix("in")?.parse().ok()?;
        let numbers = if numbers.is_empty() { Some(vec![]) } else { numbers.split(',').map(number).collect() };
        Some((input, numbers?))
    };
    parse().ok_or_else(|| usage(format!("--value {text} is not understood")).expected("in1=2,3", text))
}

/// The operator's name in the file, and the function's symbol.
fn parse_custom(text: &str) -> Result<(String, String), Diagnostic> {
    let (name, symbol) = text.split_once('=').unwrap_or((text, text));
    if name.is_empty() || crate::interface::identifier(symbol) != symbol {
        return Err(usage(format!("--custom {text} is not understood"))
            .expected("the operator's name, which C could have as a function's, or NAME=SYMBOL", text));
    }
    Ok((name.to_owned(), symbol.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_operators_have_symbols() {
        assert_eq!(parse_custom("Decode").unwrap(), ("Decode".into(), "Decode".into()));
        assert_eq!(parse_custom("de-code=decode").unwrap(), ("de-code".into(), "decode".into()));
        for wrong in ["de-code", "", "a=", "a=int", "=b"] {
            assert_eq!(parse_custom(wrong).unwrap_err().kind, Kind::Usage, "{wrong}");
        }
    }

    #[test]
    fn bounds_are_a_port_a_dimension_and_a_number() {
        let bound = |is_output, port, dimension, most| Bound { is_output, port, dimension, most };
        assert_eq!(parse_bound("in0.1=128").unwrap(), bound(false, 0, 1, 128));
        assert_eq!(parse_bound("out2.0=7").unwrap(), bound(true, 2, 0, 7));
        for wrong in ["in0=1", "0.1=2", "in0.1", "in0.1=0", "in0.x=1", "in.1=1", "out0.-1=1"] {
            assert_eq!(parse_bound(wrong).unwrap_err().kind, Kind::Usage, "{wrong}");
        }
    }

    #[test]
    fn values_are_an_input_and_numbers() {
        assert_eq!(parse_value("in1=2,-3").unwrap(), (1, vec![Number::Integer(2), Number::Integer(-3)]));
        assert_eq!(parse_value("in0=0.5,true").unwrap(), (0, vec![Number::Float(0.5), Number::Integer(1)]));
        assert_eq!(parse_value("in0=").unwrap(), (0, vec![]));
        for wrong in ["1=2", "in1", "in1=2,,3", "in1=x", "in1=2 3"] {
            assert_eq!(parse_value(wrong).unwrap_err().kind, Kind::Usage, "{wrong}");
        }
    }

    #[test]
    fn shapes_are_an_input_and_extents() {
        assert_eq!(parse_shape("in2=1x8").unwrap(), (2, vec![1, 8]));
        assert_eq!(parse_shape("in0=").unwrap(), (0, vec![]));
        for wrong in ["0=1x8", "in0", "in0=1xx2", "inx=1", "in0=-1"] {
            assert_eq!(parse_shape(wrong).unwrap_err().kind, Kind::Usage, "{wrong}");
        }
    }
}
