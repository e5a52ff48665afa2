//! Options that several commands share.

use super::gpu::GpuArguments;
use super::messages::Messages;
use super::output::usage;
use super::ports::{PortNumber, Ports};
use crate::Settings;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::emit::WeightsPlace;
use crate::frontend::given::Number;
use crate::frontend::{Bound, PortName, Reference};
use crate::input::STANDARD;
use clap::{Args, ValueEnum};
use std::path::Path;

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

/// Values of `--optimize`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum GoalArgument {
    Speed,
    Size,
}

/// Values of `--reference`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ReferenceArgument {
    Litert,
    Tflm,
}

/// Options of every command that compiles.
#[derive(Args)]
pub struct Common {
    /// CPU levels: x86-64-v3,x86-64-v4 (see `modelc targets`)
    #[arg(long, value_name = "LEVEL[,LEVEL]", help_heading = "Target")]
    pub cpu: Option<String>,
    /// Optimize for speed or size [default: speed]
    #[arg(long, value_enum, value_name = "GOAL", default_value = "speed", hide_default_value = true, help_heading = "Target")]
    #[arg(hide_possible_values = true)]
    optimize: GoalArgument,
    /// Memory plan: own, or program for the file's [default: own]
    #[arg(long, value_enum, value_name = "PLAN", default_value = "own", hide_default_value = true, help_heading = "Memory")]
    #[arg(hide_possible_values = true)]
    plan: PlanArgument,
    /// Search for a smaller plan: normal or max [default: normal]
    #[arg(long = "plan-effort", value_enum, value_name = "EFFORT", default_value = "normal", hide_default_value = true)]
    #[arg(hide_possible_values = true, help_heading = "Memory")]
    plan_effort: EffortArgument,
    /// Memory areas, arena first: dtcm=64K:fast,sram=256K,psram=8M:slow
    #[arg(long, value_name = "AREAS", help_heading = "Memory")]
    memory: Option<String>,
    /// Copy weights to an area of --memory
    #[arg(long = "copy-weights", value_name = "AREA", help_heading = "Memory")]
    copy_weights: Option<String>,
    /// Plan memory for N threads [default: --num-threads, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Memory")]
    pub threads: Option<u32>,
    /// Change the shape of an input: in0=1x224x224x3
    #[arg(long = "shape", value_name = "INPUT=SHAPE", help_heading = "Shapes (inputs by number or name)")]
    shapes: Vec<String>,
    /// Make a dimension dynamic, up to a bound: in0.1=128
    #[arg(long = "bound", value_name = "PORT.DIM=N", help_heading = "Shapes (inputs by number or name)")]
    bounds: Vec<String>,
    /// Fix an input to a constant, for shapes computed from it: in1=2,3
    #[arg(long = "value", value_name = "INPUT=NUMBERS", help_heading = "Shapes (inputs by number or name)")]
    values: Vec<String>,
    /// Name an input or output: in0=image
    #[arg(long = "port-name", value_name = "PORT=NAME", help_heading = "Model")]
    port_names: Vec<String>,
    /// Give the results of litert or tflm (TFLite Micro) [default: litert]
    #[arg(long, value_enum, value_name = "RUNTIME", default_value = "litert", hide_default_value = true, help_heading = "Model")]
    #[arg(hide_possible_values = true)]
    reference: ReferenceArgument,
    /// Tensor file of an ExecuTorch program (.ptd)
    #[arg(long = "data", value_name = "W.ptd", help_heading = "Model")]
    data: Vec<String>,
    /// Call a C function for a custom operator [default symbol: NAME]
    #[arg(long = "custom", value_name = "NAME[=SYMBOL]", help_heading = "Model")]
    customs: Vec<String>,
    /// Stop a call after N iterations of a loop
    #[arg(long = "max-iterations", value_name = "N", help_heading = "Model")]
    pub max_iterations: Option<u64>,
    /// Compile without some techniques of schedules, to measure them
    #[arg(long, value_name = "TECHNIQUE[,TECHNIQUE]", hide = true)]
    without: Option<String>,
    /// GPUs.
    #[command(flatten)]
    pub gpu: GpuArguments,
    /// Messages.
    #[command(flatten)]
    pub messages: Messages,
}

impl Common {
    /// Returns the files that are read beside the model.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.data.iter().map(String::as_str)
    }

    /// Returns the settings for a model.
    ///
    /// # Errors
    /// Diagnostics if an option is malformed, or names something that the model does not have.
    pub fn settings(&self, model: &str) -> Result<Settings, Diagnostics> {
        self.settings_for(Ports::of(model))
    }

    /// Returns the settings for a model whose ports options may name.
    ///
    /// # Errors
    /// The errors of [`Self::settings`].
    pub fn settings_for(&self, ports: Ports<'_>) -> Result<Settings, Diagnostics> {
        let port_names = self.port_names.iter().map(|text| port_name(text, ports)).collect::<Result<Vec<_>, _>>()?;
        let ports = Ports { given: &port_names, ..ports };
        let shape = |text: &String| -> Result<_, Diagnostics> {
            let (input, shape) = parse_shape(text)?;
            Ok((ports.input(input)?, shape))
        };
        let bound = |text: &String| -> Result<_, Diagnostics> {
            let (port, dimension, most) = parse_bound(text)?;
            let PortNumber { is_output, number } = ports.port(port)?;
            Ok(Bound { is_output, port: number, dimension, most })
        };
        let value = |text: &String| -> Result<_, Diagnostics> {
            let (input, numbers) = parse_value(text)?;
            Ok((ports.input(input)?, numbers))
        };
        Ok(Settings {
            shapes: self.shapes.iter().map(shape).collect::<Result<_, Diagnostics>>()?,
            bounds: self.bounds.iter().map(bound).collect::<Result<_, Diagnostics>>()?,
            values: self.values.iter().map(value).collect::<Result<_, Diagnostics>>()?,
            port_names: port_names.clone(),
            data: self.data.clone(),
            customs: self.customs.iter().map(|text| parse_custom(text)).collect::<Result<_, _>>()?,
            ..self.general_settings()
        })
    }

    /// Returns the settings that do not depend on the model.
    pub fn general_settings(&self) -> Settings {
        Settings {
            cpu: self.cpu.clone(),
            keep_plan: self.plan == PlanArgument::Program,
            search_longer: self.plan_effort == EffortArgument::Max,
            small: self.optimize == GoalArgument::Size,
            reference: match self.reference {
                ReferenceArgument::Litert => Reference::Litert,
                ReferenceArgument::Tflm => Reference::Tflm,
            },
            memory: self.memory.clone(),
            copy_weights: self.copy_weights.clone(),
            threads: self.threads.unwrap_or(0),
            max_iterations: self.max_iterations,
            without: self.without.clone(),
            gpu: self.gpu.settings(),
            ..Settings::default()
        }
    }
}

/// Layout of an object.
#[derive(Args)]
pub struct ObjectArguments {
    /// Prefix of symbols [default: the output's name without suffix]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    name: Option<String>,
    /// Float ABI of RISC-V: lp64, lp64f, lp64d, ilp32 or ilp32f
    #[arg(long, value_name = "ABI", help_heading = "Target")]
    abi: Option<String>,
    /// Weights: embed, or external in OUT.bin [default: embed]
    #[arg(long, value_name = "PLACE", default_value = "embed", hide_default_value = true, help_heading = "Memory")]
    weights: String,
    /// Name of the section with the weights
    #[arg(long = "weights-section", value_name = "NAME", help_heading = "Memory")]
    weights_section: Option<String>,
    /// Call modelc_config's on_kernel before and after every kernel
    #[arg(long = "profile-hooks", help_heading = "Output")]
    profile_hooks: bool,
}

impl ObjectArguments {
    /// Returns the settings of the compiler for a model and a target. The prefix of symbols is `--name`, or the stem of `named_after`.
    ///
    /// # Errors
    /// Diagnostics if an option is malformed, or names something that the model does not have.
    pub fn settings(&self, common: &Common, target: Option<&str>, model: &str, named_after: &str) -> Result<Settings, Diagnostics> {
        let stem = || match Path::new(named_after).file_stem() {
            Some(stem) if named_after != STANDARD => stem.to_string_lossy().into_owned(),
            _ => "net".into(),
        };
        Ok(Settings {
            target: target.map(str::to_owned),
            abi: self.abi.clone(),
            name: Some(self.name.clone().unwrap_or_else(stem)),
            external_weights: self.has_external_weights()?,
            weights_section: self.weights_section.clone(),
            profile_hooks: self.profile_hooks,
            ..common.settings(model)?
        })
    }

    /// Tests whether weights are external.
    ///
    /// # Errors
    /// A diagnostic if options contradict each other.
    pub fn has_external_weights(&self) -> Result<bool, Diagnostic> {
        let external = WeightsPlace::from_name(&self.weights)? == WeightsPlace::External;
        if external && self.weights_section.is_some() {
            return Err(usage("--weights-section has no effect with --weights external: the object contains no weights"));
        }
        Ok(external)
    }
}

/// Parses an input and a shape. Names may contain any character, so the last `=` separates.
fn parse_shape(text: &str) -> Result<(&str, Vec<u64>), Diagnostic> {
    let parse = || {
        let (input, shape) = named(text)?;
        let shape = if shape.is_empty() { Some(vec![]) } else { shape.split('x').map(|n| n.parse().ok()).collect() };
        Some((input, shape?))
    };
    parse().ok_or_else(|| usage(format!("--shape {text} is not understood")).expected("in0=1x224x224x3", text))
}

/// Parses an input or output, and its new name. A port's number must not be the name of another port.
fn port_name(text: &str, ports: Ports<'_>) -> Result<PortName, Diagnostics> {
    let wrong = || usage(format!("--port-name {text} is not understood")).expected("in0=NAME, which C can have as a field's name", text);
    let (port, name) = named(text).ok_or_else(wrong)?;
    let is_number =
        ["in", "out"].iter().any(|side| name.strip_prefix(side).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())));
    if is_number || name.ends_with("_shape") || crate::interface::identifier(name) != name {
        return Err(wrong().into());
    }
    let PortNumber { is_output, number } = ports.port(port)?;
    Ok(PortName { is_output, port: number, name: name.to_owned() })
}

/// Parses an input or output, a dimension, and the largest extent.
fn parse_bound(text: &str) -> Result<(&str, usize, u64), Diagnostic> {
    let parse = || {
        let (extent, most) = named(text)?;
        let (port, dimension) = extent.rsplit_once('.').filter(|(port, _)| !port.is_empty())?;
        Some((port, dimension.parse().ok()?, most.parse().ok().filter(|&most| most >= 1)?))
    };
    parse().ok_or_else(|| usage(format!("--bound {text} is not understood")).expected("in0.1=128", text))
}

/// Parses an input and its value.
fn parse_value(text: &str) -> Result<(&str, Vec<Number>), Diagnostic> {
    let number = |text: &str| match text {
        "false" => Some(Number::Integer(0)),
        "true" => Some(Number::Integer(1)),
        _ => text.parse().map(Number::Integer).or_else(|_| text.parse().map(Number::Float)).ok(),
    };
    let parse = || {
        let (input, numbers) = named(text)?;
        let numbers = if numbers.is_empty() { Some(vec![]) } else { numbers.split(',').map(number).collect() };
        Some((input, numbers?))
    };
    parse().ok_or_else(|| usage(format!("--value {text} is not understood")).expected("in1=2,3", text))
}

/// Splits a text at the last `=`.
fn named(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('=').filter(|(name, _)| !name.is_empty())
}

/// Parses the operator's name in the file, and the function's symbol.
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
    use crate::diagnostic::Kind;

    #[test]
    fn custom_operators_have_symbols() {
        assert_eq!(parse_custom("Decode").unwrap(), ("Decode".into(), "Decode".into()));
        assert_eq!(parse_custom("de-code=decode").unwrap(), ("de-code".into(), "decode".into()));
        for wrong in ["de-code", "", "a=", "a=int", "=b"] {
            assert_eq!(parse_custom(wrong).unwrap_err().kind(), Kind::Usage, "{wrong}");
        }
    }

    #[test]
    fn port_names_are_identifiers() {
        let parse = |text: &str| port_name(text, Ports::of("there is no such file"));
        assert_eq!(parse("out1=scores").unwrap(), PortName { is_output: true, port: 1, name: "scores".into() });
        for wrong in ["in0", "in0=", "in0=a b", "in0=int", "in0=in1", "in0=out0_shape", "in0=x_shape", "=x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bounds_are_a_port_a_dimension_and_a_number() {
        assert_eq!(parse_bound("in0.1=128").unwrap(), ("in0", 1, 128));
        assert_eq!(parse_bound("a.b=c:0.2=7").unwrap(), ("a.b=c:0", 2, 7));
        for wrong in ["in0=1", ".1=2", "in0.1", "in0.1=0", "in0.x=1", "out0.-1=1"] {
            assert_eq!(parse_bound(wrong).unwrap_err().kind(), Kind::Usage, "{wrong}");
        }
    }

    #[test]
    fn values_are_an_input_and_numbers() {
        assert_eq!(parse_value("in1=2,-3").unwrap(), ("in1", vec![Number::Integer(2), Number::Integer(-3)]));
        assert_eq!(parse_value("axes:0=0.5,true").unwrap(), ("axes:0", vec![Number::Float(0.5), Number::Integer(1)]));
        assert_eq!(parse_value("in0=").unwrap(), ("in0", vec![]));
        for wrong in ["=2", "in1", "in1=2,,3", "in1=x", "in1=2 3"] {
            assert_eq!(parse_value(wrong).unwrap_err().kind(), Kind::Usage, "{wrong}");
        }
    }

    #[test]
    fn shapes_are_an_input_and_extents() {
        assert_eq!(parse_shape("in2=1x8").unwrap(), ("in2", vec![1, 8]));
        assert_eq!(parse_shape("serving_default_x:0=").unwrap(), ("serving_default_x:0", vec![]));
        for wrong in ["=1x8", "in0", "in0=1xx2", "in0=-1"] {
            assert_eq!(parse_shape(wrong).unwrap_err().kind(), Kind::Usage, "{wrong}");
        }
    }
}
