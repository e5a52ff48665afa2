//! A C++17 header: the instance is a class, and ports are spans.

use super::gpu;
use super::port::{Method, Passing, Port};
use super::wrapped::Wrapped;
use crate::emit::c_text::{c_type, comment};
use crate::interface::STATUSES;
use crate::ir::ElementType;
use std::fmt::Write;

/// Placeholder for the C header's name.
pub(super) const HEADER: &str = "{{HEADER}}";

/// The part of the header that depends only on numbers and names.
const TEMPLATE: &str = include_str!("template.hpp.txt");

/// Reserved names that a method must not have, because the header defines them.
const RESERVED: &[&str] = &[
    "arena",
    "state",
    "scratch",
    "model",
    "shared_model",
    "status",
    "reset",
    "gpu",
    "state_bytes",
    "scratch_bytes",
    "arena_bytes",
    "stack_bytes",
];

/// Returns the header of a compiled model, with [`HEADER`] for the C header's name.
pub fn header(wrapped: &Wrapped<'_>) -> String {
    let methods = wrapped.methods(RESERVED);
    let name = &wrapped.interface.name;
    let space = if name == "std" { "std_" } else { name };
    let all = |part: &dyn Fn(&Method<'_>) -> String| methods.iter().map(part).collect::<String>();
    let parts = [
        ("GUARD", name.to_ascii_uppercase()),
        ("statuses", STATUSES.iter().map(|(name, _, meaning)| status(name, meaning)).collect()),
        ("methods", all(&|method| namespace(name, method))),
        ("forwarders", all(&|method| forwarder(Names { model: name, space }, method, false))),
        ("split_forwarders", all(&|method| forwarder(Names { model: name, space }, method, true))),
        ("gpu", gpu::cpp(wrapped)),
        ("space", space.into()),
    ];
    wrapped.filled(TEMPLATE, &parts)
}

/// Returns a status as an enumerator: `null` for `MODELC_E_NULL`.
fn status(name: &str, meaning: &str) -> String {
    let short = name.trim_start_matches("MODELC_").trim_start_matches("E_").to_ascii_lowercase();
    format!("  {short} = {name}, /* {meaning} */\n")
}

/// Returns the ports of a method, and a function that passes them to C.
fn namespace(model: &str, method: &Method<'_>) -> String {
    let mut text = format!("\n/* Ports of method {}. */\nnamespace {} {{\n", comment(method.source), method.name);
    method.ports().for_each(|port| constants(&mut text, port));
    for (name, ports, is_input) in [("inputs", &method.inputs, true), ("outputs", &method.outputs, false)] {
        let _ = writeln!(text, "struct {name} {{");
        ports.iter().for_each(|port| field(&mut text, port, is_input));
        text.push_str("};\n");
    }
    call(&mut text, model, method);
    let _ = writeln!(text, "}}  // namespace {}", method.name);
    text
}

/// Returns the elements in a span: a complex number has two.
fn elements(port: &Port<'_>) -> u64 {
    if is_complex(port) { 2 * port.elements() } else { port.elements() }
}

fn is_complex(port: &Port<'_>) -> bool {
    matches!(port.source.element, ElementType::C64 | ElementType::C128)
}

fn constants(text: &mut String, port: &Port<'_>) {
    let count = match port.passing() {
        Passing::Number => return,
        Passing::Fixed => "elements",
        Passing::Shaped => "max_elements",
    };
    let _ = writeln!(text, "inline constexpr std::size_t {}_{count} = {};", port.field, elements(port));
}

fn field(text: &mut String, port: &Port<'_>, is_input: bool) {
    let (ty, name, note) = (c_type(port.source.element), &port.field, port.description());
    let constant = if is_input { "const " } else { "" };
    let _ = match port.passing() {
        Passing::Number if is_complex(port) => writeln!(text, "  {ty} {name}[2]; /* {note} */"),
        Passing::Number => writeln!(text, "  {ty} {name}; /* {note} */"),
        _ => writeln!(text, "  modelc::span<{constant}{ty}> {name}; /* {note} */"),
    };
    if port.passing() == Passing::Shaped {
        let _ = writeln!(text, "  std::size_t {name}_shape[{}];", port.source.shape.len());
    }
}

/// Writes the function that checks spans, and calls a C entry.
fn call(text: &mut String, model: &str, method: &Method<'_>) {
    let c_name = method.c_name;
    let parameter = |ports: &[Port<'_>], name: &'static str| if ports.is_empty() { "" } else { name };
    let _ = writeln!(
        text,
        "template <class Entry>
modelc::status call(const inputs &{}, outputs &{}, Entry entry) noexcept {{
  {model}_{c_name}_inputs c_in{{}};
  {model}_{c_name}_outputs c_out{{}};",
        parameter(&method.inputs, "in"),
        parameter(&method.outputs, "out")
    );
    method.inputs.iter().for_each(|port| hand_over(text, port, "in"));
    method.outputs.iter().for_each(|port| hand_over(text, port, "out"));
    text.push_str("  const modelc::status result = static_cast<modelc::status>(entry(&c_in, &c_out));\n");
    let returned = |port: &&Port<'_>| port.passing() != Passing::Fixed;
    if method.outputs.iter().any(|port| returned(&port)) {
        text.push_str("  if (result != modelc::status::ok) return result;\n");
    }
    method.outputs.iter().filter(returned).for_each(|port| take_back(text, port));
    text.push_str("  return result;\n}\n");
}

/// Writes code that checks a port, and puts it into the C struct.
fn hand_over(text: &mut String, port: &Port<'_>, from: &str) {
    let name = &port.field;
    let ty = c_type(port.source.element);
    let is_input = from == "in";
    let pointer = match (is_complex(port), is_input) {
        (false, _) => format!("{from}.{name}.data()"),
        (true, true) => format!("reinterpret_cast<const {ty} (*)[2]>({from}.{name}.data())"),
        (true, false) => format!("reinterpret_cast<{ty} (*)[2]>({from}.{name}.data())"),
    };
    let size = if is_complex(port) { format!("{from}.{name}.size() / 2") } else { format!("{from}.{name}.size()") };
    let _ = match port.passing() {
        Passing::Number if !is_input => Ok(()),
        Passing::Number if is_complex(port) => writeln!(text, "  c_in.{name}[0] = in.{name}[0];\n  c_in.{name}[1] = in.{name}[1];"),
        Passing::Number => writeln!(text, "  c_in.{name} = in.{name};"),
        Passing::Fixed => {
            writeln!(text, "  if ({from}.{name}.size() < {name}_elements) return modelc::status::shape;\n  c_{from}.{name} = {pointer};")
        }
        Passing::Shaped if is_input => writeln!(
            text,
            "  if (!modelc::covers({size}, in.{name}_shape)) return modelc::status::shape;\n  c_in.{name} = {pointer};\n  {}",
            copied("c_in", "in", port)
        ),
        Passing::Shaped => {
            writeln!(text, "  if (out.{name}.size() < {name}_max_elements) return modelc::status::shape;\n  c_out.{name} = {pointer};")
        }
    };
}

/// Returns code that copies a shape.
fn copied(to: &str, from: &str, port: &Port<'_>) -> String {
    let (name, rank) = (&port.field, port.source.shape.len());
    format!("for (std::size_t i = 0; i < {rank}; i++) {to}.{name}_shape[i] = {from}.{name}_shape[i];")
}

/// Writes code that takes a number or a shape from the C struct.
fn take_back(text: &mut String, port: &Port<'_>) {
    let name = &port.field;
    let _ = match port.passing() {
        Passing::Shaped => writeln!(text, "  {}", copied("out", "c_out", port)),
        _ if is_complex(port) => writeln!(text, "  out.{name}[0] = c_out.{name}[0];\n  out.{name}[1] = c_out.{name}[1];"),
        _ => writeln!(text, "  out.{name} = c_out.{name};"),
    };
}

/// The names of a model.
#[derive(Clone, Copy)]
struct Names<'a> {
    /// The prefix of its functions in C.
    model: &'a str,
    /// Its namespace.
    space: &'a str,
}

/// Returns a method of an instance; with `is_split`, the caller provides scratch memory.
fn forwarder(Names { model, space }: Names<'_>, method: &Method<'_>, is_split: bool) -> String {
    let (name, c_name) = (&method.name, method.c_name);
    let (entry, parameter, capture, more) = match is_split {
        false => (format!("{model}_{c_name}"), "", "this", ""),
        true => (format!("{model}_{c_name}_split"), "scratch &work, ", "this, &work", ", work.bytes"),
    };
    format!(
        "  /* Method {source}. */
  [[nodiscard]] modelc::status {name}({parameter}const ::{space}::{name}::inputs &in, ::{space}::{name}::outputs &out) noexcept {{
    return ::{space}::{name}::call(in, out, [{capture}](const {model}_{c_name}_inputs *c_in, {model}_{c_name}_outputs *c_out) {{
      return {entry}(memory_{more}, c_in, c_out);
    }});
  }}
",
        source = comment(method.source)
    )
}
