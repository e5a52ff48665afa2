//! A Rust module: safe, without `std` and `alloc`, and without other crates.

use super::gpu;
use super::port::{Method, Passing, Port};
use super::wrapped::Wrapped;
use crate::emit::c_text::comment;
use crate::emit::features;
use crate::emit::quantization;
use crate::interface::{CONFIG, STATUSES, TENSOR};
use crate::ir::ElementType;
use std::fmt::Write;

/// The beginning of every module, for every version of modelc.
pub const BEGINNING: &str = "// Made by modelc ";

/// The part of the module that depends only on numbers and names.
const TEMPLATE: &str = include_str!("template.rs.txt");

/// Reserved names that a method must not have: keywords, types of the prelude, and names of the module itself.
const RESERVED: &str = "abstract as async await become box crate dyn final fn gen impl in let loop macro match mod move mut override priv pub ref \
                        self Self super trait type unsafe unsized use where yield core u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 usize str bool Option \
                        Some None Result Ok Err Default Drop Model Shared Arena State Scratch Snapshot Config Error Tensor ParallelFor OnKernel \
                        with_config within snapshot restore gpu GpuInfo";

/// Returns the module of a compiled model.
pub fn module(wrapped: &Wrapped<'_>) -> String {
    let reserved: Vec<&str> = RESERVED.split_whitespace().collect();
    let methods = wrapped.methods(&reserved);
    let all = |part: &dyn Fn(&Method<'_>) -> String| methods.iter().map(part).collect::<String>();
    let is_quantized = methods.iter().flat_map(Method::ports).any(|port| quantization::writable(port.source).is_some());
    let has_shapes = methods.iter().flat_map(|method| &method.inputs).any(|port| port.passing() == Passing::Shaped);
    let asks_system = features::are_asked_for(wrapped.record);
    let parts = [
        ("labels", labels(wrapped)),
        ("errors", errors()),
        ("known_errors", known_errors()),
        ("customs", customs(wrapped)),
        ("config_members", CONFIG.rust_members()),
        ("config_zeros", CONFIG.rust_zeros("            ", "size_of::<Self>() as u32")),
        ("features", if asks_system { features::RUST.into() } else { String::new() }),
        ("config", if asks_system { "&configured(config)".into() } else { "config".into() }),
        ("gpu_type", gpu::rust_type(wrapped)),
        ("declarations", gpu::rust_declaration(wrapped) + &all(&|method| declaration(wrapped, method))),
        ("gpu", gpu::rust(wrapped)),
        ("new", new(wrapped, "arena", "Arena")),
        ("new_shared", new(wrapped, "state", "State")),
        ("forwarders", all(&|method| forwarder(method, false))),
        ("split_forwarders", all(&|method| forwarder(method, true))),
        ("snapshots", if wrapped.has_snapshots() { SNAPSHOTS.into() } else { String::new() }),
        ("quantize", if is_quantized { QUANTIZE.into() } else { String::new() }),
        ("covers", if has_shapes { COVERS.into() } else { String::new() }),
        ("methods", all(&submodule)),
        ("init", wrapped.interface.versioned("init")),
        ("reset", wrapped.interface.versioned("reset")),
        ("deinit", wrapped.interface.versioned("deinit")),
    ];
    wrapped.filled(TEMPLATE, &parts)
}

/// Returns the variant of a status: `Null` for `MODELC_E_NULL`.
fn variant(status: &str) -> String {
    let name = status.trim_start_matches("MODELC_E_").to_ascii_lowercase();
    name[..1].to_ascii_uppercase() + &name[1..]
}

/// Returns the statuses that are errors.
fn failures() -> impl Iterator<Item = &'static (&'static str, i32, &'static str)> {
    STATUSES.iter().filter(|(_, status, _)| *status != 0)
}

fn errors() -> String {
    failures().map(|(name, _, meaning)| format!("    /// `{name}`: {meaning}.\n    {},\n", variant(name))).collect()
}

fn known_errors() -> String {
    failures().map(|(name, status, meaning)| format!("        ({status}, Self::{}, {meaning:?}),\n", variant(name))).collect()
}

fn labels(wrapped: &Wrapped<'_>) -> String {
    let Some((file, labels)) = &wrapped.model.labels else { return String::new() };
    let list: String = labels.iter().map(|label| format!("    {label:?},\n")).collect();
    format!(
        "/// Labels, from {} in the model file.\n#[allow(dead_code)]\npub const LABELS: [&str; {}] = [\n{list}];\n",
        comment(file),
        labels.len()
    )
}

/// Returns the types of the functions that the application defines.
fn customs(wrapped: &Wrapped<'_>) -> String {
    if wrapped.customs.is_empty() {
        return String::new();
    }
    let list: String = wrapped.customs.iter().map(|name| format!("/// - `{name}`\n")).collect();
    CUSTOM.replace("{{list}}", &list).replace("{{tensor_members}}", &TENSOR.rust_members())
}

const CUSTOM: &str = "
/// `modelc_tensor`: a tensor as a custom operator sees it, dense and row major.
#[repr(C)]
#[allow(dead_code)]
pub struct Tensor {
{{tensor_members}}}

/// A custom operator, which your program defines with `#[unsafe(no_mangle)] extern \"C\"`. It returns 0, or what ends the call with
/// [`Error::Custom`]. The model calls:
{{list}}#[allow(dead_code)]
pub type CustomOperator = unsafe extern \"C\" fn(
    user: *mut core::ffi::c_void,
    inputs: *const Tensor,
    n_inputs: u32,
    outputs: *mut Tensor,
    n_outputs: u32,
    options: *const core::ffi::c_void,
    options_bytes: usize,
) -> i32;
";

/// Returns the declarations of the C functions of a method.
fn declaration(wrapped: &Wrapped<'_>, method: &Method<'_>) -> String {
    let entries = [("call", method.c_name.to_owned(), "arena"), ("split", format!("{}_split", method.c_name), "state")];
    let declare = |(prefix, entry, memory): (&str, String, &str)| {
        let name = &method.name;
        let scratch = if memory == "state" { "scratch: *mut core::ffi::c_void, " } else { "" };
        format!(
            "    #[link_name = \"{}\"]\n    fn {prefix}_{name}({memory}: *mut core::ffi::c_void, {scratch}inputs: *const {name}::RawInputs, outputs: *mut \
             {name}::RawOutputs) -> i32;\n",
            wrapped.interface.versioned(&entry)
        )
    };
    entries.into_iter().map(declare).collect()
}

/// Returns a constructor that needs no unsafe code; empty if memory areas are needed.
fn new(wrapped: &Wrapped<'_>, memory: &str, ty: &str) -> String {
    if !wrapped.record.footprint.area_bytes.is_empty() {
        return String::new();
    }
    let (parameter, config, what) = match wrapped.has_external_weights {
        false => ("", "Config::new()", ""),
        true => (
            ", weights: &'a [u8]",
            "Config { weights: weights.as_ptr().cast(), weights_bytes: weights.len(), ..Config::new() }",
            " The weights are the contents of the weights file, aligned as an arena is.",
        ),
    };
    format!(
        "    /// An instance with the default configuration.{what}
    ///
    /// # Errors
    /// An error if this computer or the weights do not suit the model.
    pub fn new({memory}: &'a mut {ty}{parameter}) -> Result<Self, Error> {{
        // SAFETY: the configuration points to nothing but weights, which are borrowed for as long.
        unsafe {{ Self::with_config({memory}, &{config}) }}
    }}
"
    )
}

/// Returns a method of an instance; with `is_split`, the caller provides scratch memory.
fn forwarder(method: &Method<'_>, is_split: bool) -> String {
    let name = &method.name;
    let (parameter, call) = match is_split {
        false => ("", format!("call_{name}((&raw mut self.0.0).cast(), inputs, outputs)")),
        true => {
            (", scratch: &mut Scratch", format!("split_{name}((&raw mut self.0.0).cast(), (&raw mut scratch.0).cast(), inputs, outputs)"))
        }
    };
    format!(
        "
    /// Method {source}.
    ///
    /// # Errors
    /// An error if shapes, indices or the memory of the instance do not suit the model.
    pub fn {name}(&mut self{parameter}, inputs: &{inputs}, outputs: &mut {outputs}) -> Result<(), Error> {{
        // SAFETY: the memory is initialised. The buffers are as large as their shapes, and live until the call returns.
        {name}::call(inputs, outputs, |inputs, outputs| unsafe {{ {call} }})
    }}
",
        source = comment(method.source),
        inputs = struct_type(name, "Inputs", &method.inputs, "'_"),
        outputs = struct_type(name, "Outputs", &method.outputs, "'_"),
    )
}

/// Returns the type of the inputs or outputs. It has a lifetime if some port is in memory.
fn struct_type(module: &str, name: &str, ports: &[Port<'_>], lifetime: &str) -> String {
    let prefix = if module.is_empty() { String::new() } else { format!("{module}::") };
    let borrows = ports.iter().any(|port| port.passing() != Passing::Number);
    format!("{prefix}{name}{}", if borrows { format!("<{lifetime}>") } else { String::new() })
}

/// Returns the module of a method, with its ports.
fn submodule(method: &Method<'_>) -> String {
    let mut text = format!(
        "\n/// Ports of method {}.\npub mod {} {{\n    #![allow(dead_code)]\n    use super::Error;\n\n",
        comment(method.source),
        method.name
    );
    for port in method.ports() {
        constants(&mut text, port);
    }
    for (name, ports, is_input) in [("Inputs", &method.inputs, true), ("Outputs", &method.outputs, false)] {
        let lifetime = struct_type("", name, ports, "'a");
        let _ = writeln!(text, "    /// {name}.\n    pub struct {lifetime} {{");
        ports.iter().for_each(|port| field(&mut text, port, is_input));
        let _ = writeln!(text, "    }}\n\n    #[repr(C)]\n    pub(super) struct Raw{name} {{");
        ports.iter().for_each(|port| raw_field(&mut text, port, is_input));
        text.push_str(if ports.is_empty() { "        reserved: u32,\n    }\n\n" } else { "    }\n\n" });
    }
    call(&mut text, method);
    text.push_str("}\n");
    text
}

/// Writes name, shape, count and quantization of a port.
fn constants(text: &mut String, port: &Port<'_>) {
    let upper = port.field.to_ascii_uppercase();
    let _ = writeln!(text, "    pub const {upper}_NAME: &str = {:?};", port.source.name);
    if port.passing() != Passing::Number {
        let count = if port.passing() == Passing::Shaped { "MAX_ELEMENTS" } else { "ELEMENTS" };
        let _ = writeln!(text, "    pub const {upper}_SHAPE: [usize; {}] = {:?};", port.source.shape.len(), port.source.shape);
        let _ = writeln!(text, "    pub const {upper}_{count}: usize = {};", port.elements());
    }
    let Some((parameters, (low, high))) = quantization::writable(port.source) else { return };
    let (ty, field) = (rust_type(port.source.element), &port.field);
    let (scales, points) = (&parameters.scales, &parameters.zero_points);
    let (more, index) = match scales.len() {
        1 => {
            let _ = writeln!(text, "    pub const {upper}_SCALE: f32 = {:?};", scales[0]);
            let _ = writeln!(text, "    pub const {upper}_ZERO_POINT: i32 = {};", points[0]);
            ("", "")
        }
        count => {
            let _ = writeln!(text, "    pub const {upper}_SCALE: [f32; {count}] = {scales:?};");
            let _ = writeln!(text, "    pub const {upper}_ZERO_POINT: [i32; {count}] = {points:?};");
            (", channel: usize", "[channel]")
        }
    };
    let _ = writeln!(
        text,
        "    pub fn {field}_quantize(value: f32{more}) -> {ty} {{
        super::quantize(value, {upper}_SCALE{index}, {upper}_ZERO_POINT{index}, {low}, {high}) as {ty}
    }}
    pub fn {field}_dequantize(value: {ty}{more}) -> f32 {{
        {upper}_SCALE{index} * (i32::from(value) - {upper}_ZERO_POINT{index}) as f32
    }}"
    );
}

fn field(text: &mut String, port: &Port<'_>, is_input: bool) {
    let (ty, name) = (rust_type(port.source.element), &port.field);
    let reference = if is_input { "&'a" } else { "&'a mut" };
    let _ = writeln!(text, "        /// {}", port.description());
    let _ = match port.passing() {
        Passing::Number => writeln!(text, "        pub {name}: {ty},"),
        Passing::Fixed => writeln!(text, "        pub {name}: {reference} [{ty}; {}],", port.elements()),
        Passing::Shaped => {
            writeln!(text, "        pub {name}: {reference} [{ty}],\n        pub {name}_shape: [usize; {}],", port.source.shape.len())
        }
    };
}

fn raw_field(text: &mut String, port: &Port<'_>, is_input: bool) {
    let (ty, name) = (rust_type(port.source.element), &port.field);
    let pointer = if is_input { "*const" } else { "*mut" };
    let _ = match port.passing() {
        Passing::Number => writeln!(text, "        {name}: {ty},"),
        Passing::Fixed => writeln!(text, "        {name}: {pointer} {ty},"),
        Passing::Shaped => {
            writeln!(text, "        {name}: {pointer} {ty},\n        {name}_shape: [usize; {}],", port.source.shape.len())
        }
    };
}

/// Writes the function that checks slices and calls an entry.
fn call(text: &mut String, method: &Method<'_>) {
    let (inputs, outputs) = (struct_type("", "Inputs", &method.inputs, "'_"), struct_type("", "Outputs", &method.outputs, "'_"));
    let (used_inputs, used_outputs) = (unused(&method.inputs), unused(&method.outputs));
    let _ = writeln!(
        text,
        "    pub(super) fn call(
        {used_inputs}inputs: &{inputs},
        {used_outputs}outputs: &mut {outputs},
        entry: impl FnOnce(&RawInputs, &mut RawOutputs) -> i32,
    ) -> Result<(), Error> {{"
    );
    let shaped = |ports: &'_ [Port<'_>]| {
        ports.iter().filter(|port| port.passing() == Passing::Shaped).map(|port| port.field.clone()).collect::<Vec<_>>()
    };
    for name in shaped(&method.inputs) {
        let _ = writeln!(text, "        super::covers(inputs.{name}.len(), &inputs.{name}_shape)?;");
    }
    for name in shaped(&method.outputs) {
        let _ = writeln!(
            text,
            "        if outputs.{name}.len() < {}_MAX_ELEMENTS {{\n            return Err(Error::Shape);\n        }}",
            name.to_ascii_uppercase()
        );
    }
    let _ = writeln!(text, "        let raw_inputs = RawInputs {{{}}};", raw_values(&method.inputs, "inputs", "as_ptr"));
    let _ = writeln!(text, "        let mut raw_outputs = RawOutputs {{{}}};", raw_values(&method.outputs, "outputs", "as_mut_ptr"));
    text.push_str("        Error::check(entry(&raw_inputs, &mut raw_outputs))?;\n");
    for port in &method.outputs {
        let name = &port.field;
        let _ = match port.passing() {
            Passing::Number => writeln!(text, "        outputs.{name} = raw_outputs.{name};"),
            Passing::Fixed => Ok(()),
            Passing::Shaped => writeln!(text, "        outputs.{name}_shape = raw_outputs.{name}_shape;"),
        };
    }
    text.push_str("        Ok(())\n    }\n");
}

/// Returns the prefix of the name of an unused parameter.
fn unused(ports: &[Port<'_>]) -> &'static str {
    if ports.is_empty() { "_" } else { "" }
}

fn raw_values(ports: &[Port<'_>], from: &str, pointer: &str) -> String {
    let value = |port: &Port<'_>| {
        let name = &port.field;
        match port.passing() {
            Passing::Number => format!(" {name}: {from}.{name},"),
            Passing::Fixed => format!(" {name}: {from}.{name}.{pointer}(),"),
            Passing::Shaped => format!(" {name}: {from}.{name}.{pointer}(), {name}_shape: {from}.{name}_shape,"),
        }
    };
    if ports.is_empty() { " reserved: 0 ".into() } else { format!("{} ", ports.iter().map(value).collect::<String>()) }
}

/// Returns the type of an element in memory: bits for half floats, bytes for packed integers.
fn rust_type(element: ElementType) -> &'static str {
    match element {
        ElementType::Bool | ElementType::I2 | ElementType::I4 | ElementType::U4 | ElementType::U8 => "u8",
        ElementType::I8 => "i8",
        ElementType::I16 => "i16",
        ElementType::I32 => "i32",
        ElementType::I64 => "i64",
        ElementType::U16 | ElementType::F16 | ElementType::Bf16 => "u16",
        ElementType::U32 => "u32",
        ElementType::U64 => "u64",
        ElementType::F32 => "f32",
        ElementType::F64 => "f64",
        ElementType::C64 => "[f32; 2]",
        ElementType::C128 => "[f64; 2]",
    }
}

const COVERS: &str = "
/// Checks that a slice has all elements of a shape.
fn covers(elements: usize, shape: &[usize]) -> Result<(), Error> {
    let needed = shape.iter().try_fold(1usize, |count, &extent| count.checked_mul(extent));
    if needed.is_some_and(|needed| needed <= elements) { Ok(()) } else { Err(Error::Shape) }
}
";

const QUANTIZE: &str = "
/// An element for a number, rounded as TFLite does: to nearest, halves away from zero.
#[allow(dead_code)]
fn quantize(value: f32, scale: f32, zero_point: i32, low: i32, high: i32) -> i32 {
    let scaled = value / scale;
    if scaled.is_nan() {
        return zero_point;
    }
    if scaled.abs() >= 16_777_216.0 {
        return if scaled > 0.0 { high } else { low };
    }
    let whole = scaled as i32;
    let rest = scaled - whole as f32;
    let rounded = whole + i32::from(rest >= 0.5) - i32::from(rest <= -0.5);
    (rounded + zero_point).clamp(low, high)
}
";

const SNAPSHOTS: &str = "
/// A copy of what an instance keeps between calls.
#[derive(Clone)]
#[allow(dead_code)]
pub struct Snapshot<'a>([u8; STATE_BYTES], core::marker::PhantomData<&'a u8>);

#[allow(dead_code)]
impl<'a> Model<'a> {
    /// A copy of the state.
    pub fn snapshot(&self) -> Snapshot<'a> {
        let mut bytes = [0; STATE_BYTES];
        bytes.copy_from_slice(&self.0.0[..STATE_BYTES]);
        Snapshot(bytes, core::marker::PhantomData)
    }

    /// Goes back to a copy of the state.
    pub fn restore(&mut self, snapshot: &Snapshot<'a>) {
        self.0.0[..STATE_BYTES].copy_from_slice(&snapshot.0);
    }
}

#[allow(dead_code)]
impl<'a> Shared<'a> {
    /// A copy of the state.
    pub fn snapshot(&self) -> Snapshot<'a> {
        Snapshot(self.0.0, core::marker::PhantomData)
    }

    /// Goes back to a copy of the state.
    pub fn restore(&mut self, snapshot: &Snapshot<'a>) {
        self.0.0 = snapshot.0;
    }
}
";
