//! The generated header: C99 and C++17, with two standard headers, and one of the operating system on aarch64. No name of a model can end a comment.

use super::c_text::{c_type, comment, string};
use super::constants;
use super::features;
use super::gpu;
use super::info::{ModelRecord, abi_hash};
use super::notes;
use super::options::ModelInfo;
use super::ports;
use super::quantization;
use crate::codegen::CompiledModel;
use crate::codegen::driver::{Import, ImportKind};
use crate::codegen::weights::WeightsHeader;
use crate::interface::{ABI, CONFIG, ELEMENTS, Interface, MethodInterface, STATUSES, TENSOR, has_shape};
use crate::ir::{ElementType, Scalar};
use crate::program::{Method, Port, PortExtent, Program};
use crate::target::FEATURES;
use std::fmt::Write;

/// The beginning of every header, for every version of modelc.
pub const BEGINNING: &str = "/* Made by modelc ";

/// Returns the header of a compiled program. Names of kernels are in it if the object has hooks.
pub fn header(program: &Program, model: &ModelInfo, compiled: &CompiledModel, record: &ModelRecord, has_hooks: bool) -> String {
    let interface = &compiled.interface;
    let upper = interface.name.to_ascii_uppercase();
    let mut text = introduction(model, record);
    let asks_system = features::are_asked_for(record);
    let _ = write!(
        text,
        "#ifndef {upper}_MODELC_H\n#define {upper}_MODELC_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n{}{}\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
        shared_types(),
        if asks_system { features::SHARED } else { "" }
    );
    text.push_str(&ports::shared());
    if program.device.is_some() {
        text.push_str(&gpu::shared());
    }
    sizes(&mut text, &upper, record, program);
    if let Some((header, _)) = &compiled.external {
        external_weights(&mut text, &upper, header);
    }
    renames(&mut text, interface, Entries { has_gpu: program.device.is_some(), has_own_init: asks_system });
    let name = &interface.name;
    let init = if asks_system { features::init(interface) } else { format!("int {name}_init({};\n", features::PARAMETERS) };
    let _ = write!(
        text,
        "/* Always first. Without a configuration the defaults hold. With less than {upper}_ARENA_BYTES, but at least\n   \
         {upper}_STATE_BYTES, only the _split entries work. */\n\
         {init}\
         /* The initial state again. */\nint {name}_reset(void *arena);\n\
         /* Every later call says MODELC_E_STATE, until the next {name}_init. */\nvoid {name}_deinit(void *arena);\n\n"
    );
    if program.device.is_some() {
        gpu::declare(&mut text, name);
    }
    custom_operators(&mut text, compiled);
    notes::about(&mut text, &upper, &model.about);
    if let Some((file, list)) = &model.labels {
        labels(&mut text, &upper, file, list);
    }
    for (method, names) in program.methods.iter().zip(&interface.methods) {
        declare_method(&mut text, interface, method, names);
    }
    ports::ports(&mut text, &upper, program);
    if has_hooks {
        ports::kernels(&mut text, interface, program);
    }
    let _ = write!(text, "#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {upper}_MODELC_H */\n");
    text
}

fn introduction(model: &ModelInfo, record: &ModelRecord) -> String {
    format!(
        "{BEGINNING}{} from {}, for {} ({}). Do not edit.\n\n   \
         What modelc writes is yours, without conditions.\n\n   \
         Results hold for rounding to nearest with denormal numbers on. Arguments of a call must not overlap each other, except\n   \
         inputs with inputs; outputs may hold anything until it returns. An instance serves one call at a time; different instances\n   \
         are independent. */\n",
        record.version,
        comment(model.file_name()),
        record.target,
        record.levels
    )
}

/// Returns the block of shared types. It is the same, byte for byte, in every header of this ABI.
pub fn shared_types() -> String {
    let mut text = format!("#ifndef MODELC_ABI_{ABI}_TYPES\n#define MODELC_ABI_{ABI}_TYPES\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n");
    text.push_str("/* What every call returns; never renumbered. */\nenum {\n");
    for (index, (name, value, meaning)) in STATUSES.iter().enumerate() {
        let comma = if index + 1 < STATUSES.len() { "," } else { "" };
        let _ = writeln!(text, "  {name} = {value}{comma} /* {meaning} */");
    }
    text.push_str("};\n/* Bits of modelc_config.cpu_features. */\nenum {\n");
    for (index, (name, value)) in FEATURES.iter().enumerate() {
        let comma = if index + 1 < FEATURES.len() { "," } else { "" };
        let _ = writeln!(text, "  {name} = {value}{comma}");
    }
    text.push_str("};\n/* Element types of modelc_tensor. */\nenum {\n");
    for (index, (name, _, number)) in ELEMENTS.iter().enumerate() {
        let comma = if index + 1 < ELEMENTS.len() { "," } else { "" };
        let _ = writeln!(text, "  {name} = {number}{comma}");
    }
    text.push_str("};\n");
    text.push_str(&shared_declarations());
    text.push_str(quantization::SHARED);
    text.push_str("static inline const char *modelc_strerror(int code)\n{\n  switch (code) {\n");
    for (name, _, meaning) in STATUSES {
        let _ = writeln!(text, "  case {name}: return \"{meaning}\";");
    }
    text.push_str("  default: return \"unknown status\";\n  }\n}\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    text
}

/// Returns the types of callbacks, the configuration, and the argument of custom operators.
fn shared_declarations() -> String {
    format!(
        "/* Runs body(ctx, i) for every i below n, in any order, on any threads, and returns when all have run. */\n\
         typedef void (*modelc_parallel_for_fn)(void *user, uint32_t n, void (*body)(void *ctx, uint32_t i), void *ctx);\n\
         /* Called before (phase 0) and after (phase 1) each kernel of an object made with --profile-hooks; non-zero aborts. */\n\
         typedef int (*modelc_on_kernel_fn)(void *user, uint32_t kernel, uint32_t phase);\n\
         struct modelc_vk_host;\n\
         {}/* A tensor as a custom operator sees it: dense, row major, aligned to its elements. */\n{}",
        CONFIG.c_type(),
        TENSOR.c_type()
    )
}

fn sizes(text: &mut String, upper: &str, record: &ModelRecord, program: &Program) {
    let footprint = &record.footprint;
    let has_copies = !program.copies.is_empty();
    let but = program.device.as_deref().map_or(String::new(), gpu::not_in_a_snapshot);
    let _ = write!(
        text,
        "/* The arena is the state, then the scratch memory. A copy of the state is a snapshot{but}; instances may share scratch\n   \
         memory, one call at a time. Both begin at multiples of {upper}_ARENA_ALIGN. */\n\
         #define {upper}_STATE_BYTES {}\n#define {upper}_SCRATCH_BYTES {}\n#define {upper}_ARENA_BYTES {}\n\
         #define {upper}_ARENA_ALIGN {}\n/* The most stack that any call takes, callbacks not counted. */\n\
         #define {upper}_STACK_BYTES {}\n/* What is only read: the code of all CPU levels, and the constants, wherever they are. */\n\
         #define {upper}_FLASH_BYTES {}\n#define {upper}_ABI_HASH 0x{}u\n\n",
        footprint.state_bytes,
        footprint.scratch_bytes,
        footprint.arena_bytes(),
        program.alignment.bytes(),
        footprint.stack_bytes,
        footprint.flash_bytes(),
        abi_hash(record.abi_hash)
    );
    if footprint.area_bytes.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "/* Memory areas beside the arena, as {}: modelc_config.areas has the address of each, a multiple of\n   \
         {upper}_ARENA_ALIGN, in this order. They are scratch memory, and stay where they are as long as an instance lives.{} */",
        if footprint.area_names.is_empty() { "the model's file plans them" } else { "--memory lists them" },
        if has_copies { "\n   One also holds copies of weights, which init makes: other models must not use it." } else { "" }
    );
    for (number, bytes) in footprint.area_bytes.iter().enumerate() {
        let name = footprint.area_names.get(number + 1).map_or(String::new(), |name| format!(" /* {name} */"));
        let _ = writeln!(text, "#define {upper}_AREA{number}_BYTES {bytes}{name}");
    }
    text.push('\n');
}

/// Entries that depend on the program.
#[derive(Clone, Copy)]
struct Entries {
    /// `true` if there is an entry for the GPU.
    has_gpu: bool,
    /// `true` if the header defines `init` itself.
    has_own_init: bool,
}

fn renames(text: &mut String, interface: &Interface, Entries { has_gpu, has_own_init }: Entries) {
    let mut entries: Vec<String> = ["init", "reset", "deinit"].map(String::from).into();
    entries.retain(|entry| entry != "init" || !has_own_init);
    entries.extend(has_gpu.then(|| "gpu".to_owned()));
    for method in &interface.methods {
        entries.extend([method.identifier.clone(), format!("{}_split", method.identifier)]);
        entries.extend(method.gives_scratch().then(|| format!("{}_scratch", method.identifier)));
    }
    text.push_str("/* With an object of other names, types, shapes or sizes than this header, a program does not link. */\n");
    for entry in entries {
        let _ = writeln!(text, "#define {} {}", interface.plain(&entry), interface.versioned(&entry));
    }
    text.push('\n');
}

/// Writes the comment on external weights.
fn external_weights(text: &mut String, upper: &str, header: &WeightsHeader) {
    let _ = write!(
        text,
        "/* The weights are a file of their own. modelc_config has its contents, aligned to {upper}_ARENA_ALIGN, and their size; they stay\n   \
         where they are as long as an instance lives. Another file must be made for this object: MODELC_E_WEIGHTS. */\n\
         #define {upper}_WEIGHTS_BYTES {}\n\n",
        header.file_bytes()
    );
}

/// Writes the prototypes of functions that the application defines.
fn custom_operators(text: &mut String, compiled: &CompiledModel) {
    let is_custom = |import: &&Import| import.kind == ImportKind::Custom;
    if !compiled.imports.iter().any(|import| is_custom(&import)) {
        return;
    }
    text.push_str(
        "/* Custom operators, which your program defines. They get modelc_config.user and the bytes of their options; what is not 0\n   \
         ends the call with MODELC_E_CUSTOM. */\n",
    );
    for name in compiled.imports.iter().filter(is_custom).map(|import| &import.symbol) {
        let _ = writeln!(
            text,
            "int {name}(void *user, const modelc_tensor *in, uint32_t n_in, modelc_tensor *out, uint32_t n_out, const void *options, size_t \
             options_bytes);"
        );
    }
    text.push('\n');
}

/// Writes the labels of an output from the model file: names of its elements, in most cases.
fn labels(text: &mut String, upper: &str, file: &str, labels: &[String]) {
    let _ = writeln!(
        text,
        "/* Labels, from {} in the model file. */\n#define {upper}_LABELS_COUNT {}\nstatic const char *const {upper}_LABELS[{upper}_LABELS_COUNT] = {{",
        comment(file),
        labels.len()
    );
    for label in labels {
        let _ = writeln!(text, "  {},", string(label));
    }
    text.push_str("};\n\n");
}

fn declare_method(text: &mut String, interface: &Interface, method: &Method, names: &MethodInterface) {
    let (name, identifier) = (&interface.name, &names.identifier);
    let _ = writeln!(text, "/* Method {}. */", comment(&method.name));
    for (direction, ports) in [("in", &method.inputs), ("out", &method.outputs)] {
        for (index, port) in ports.iter().enumerate() {
            let lower = format!("{name}_{identifier}_{direction}{index}");
            port_macros(text, port, &lower.to_ascii_uppercase());
            quantization::declare(text, port, &lower, &lower.to_ascii_uppercase());
            notes::normalization(text, port, &lower.to_ascii_uppercase());
        }
    }
    constants::declare(text, method, &format!("{name}_{identifier}").to_ascii_uppercase());
    for (direction, ports) in [("in", &method.inputs), ("out", &method.outputs)] {
        let _ = writeln!(text, "typedef struct {name}_{identifier}_{direction}puts {{");
        for (index, port) in ports.iter().enumerate() {
            let extents = if direction == "in" { &method.input_extents } else { &method.output_extents };
            field(text, port, direction, index, extents);
        }
        if ports.is_empty() {
            text.push_str("  uint32_t reserved;\n");
        }
        let _ = writeln!(text, "}} {name}_{identifier}_{direction}puts;");
    }
    if names.gives_scratch() {
        let upper = name.to_ascii_uppercase();
        let _ = write!(
            text,
            "/* The scratch memory that a call with inputs of these shapes takes, at most {upper}_SCRATCH_BYTES; the _split entry needs no\n   \
             more. Nothing but shapes is read; a shape beyond its bound counts as the bound, and NULL is all bounds. */\n\
             size_t {name}_{identifier}_scratch(const {name}_{identifier}_inputs *in);\n"
        );
    }
    let parameters = format!("const {name}_{identifier}_inputs *in, {name}_{identifier}_outputs *out");
    let _ = write!(
        text,
        "int {name}_{identifier}(void *arena, {parameters});\nint {name}_{identifier}_split(void *state, void *scratch, {parameters});\n\n"
    );
}

fn port_macros(text: &mut String, port: &Port, upper: &str) {
    let _ = writeln!(text, "#define {upper}_NAME {}", string(&port.name));
    if port.scalar {
        return;
    }
    let _ = writeln!(text, "#define {upper}_RANK {}", port.shape.len());
    if !port.shape.is_empty() {
        let extents: Vec<_> = port.shape.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "#define {upper}_SHAPE {{ {} }}", extents.join(", "));
    }
    if has_shape(port) {
        let _ = writeln!(text, "#define {upper}_MAX_BYTES {}", port.bytes);
    } else {
        let elements = port.shape.iter().product::<u64>();
        let _ = writeln!(text, "#define {upper}_ELEMENTS {elements}\n#define {upper}_BYTES {}", port.bytes);
    }
}

fn field(text: &mut String, port: &Port, direction: &str, index: usize, extents: &[PortExtent]) {
    let constant = if direction == "in" { "const " } else { "" };
    let extent = |(dimension, (n, dynamic)): (usize, (&u64, &bool))| {
        let own = extents.iter().find(|x| (x.port as usize, x.dimension as usize) == (index, dimension));
        match own.map(|own| own.multiple) {
            Some(multiple) if multiple > 1 => format!("a multiple of {multiple}, at most {n}"),
            _ if *dynamic => format!("at most {n}"),
            _ => n.to_string(),
        }
    };
    let shape = port.shape.iter().zip(&port.dynamic).enumerate().map(extent).collect::<Vec<_>>().join(", ");
    let only = port.value.as_ref().filter(|_| direction == "in");
    let value = only.map_or_else(String::new, |value| only_value(port.element, value.bytes()));
    let note = format!(" /* {}: {}[{shape}]{value} */", comment(&port.name), port.element);
    let declare = |field: &str, note: &str| {
        let ty = c_type(port.element);
        let mut text = match (port.scalar, port.element) {
            (true, ElementType::C64 | ElementType::C128) => format!("  {ty} {field}[2];{note}\n"),
            (true, _) => format!("  {ty} {field};{note}\n"),
            (false, ElementType::C64 | ElementType::C128) => format!("  {constant}{ty} (*{field})[2];{note}\n"),
            (false, _) => format!("  {constant}{ty} *{field};{note}\n"),
        };
        if has_shape(port) {
            let _ = writeln!(text, "  size_t {field}_shape[{}];", port.shape.len());
        }
        text
    };
    let own = declare(&format!("{direction}{index}"), &note);
    match &port.notes.alias {
        Some(alias) => notes::aliased(text, &own, &declare(alias, "")),
        None => text.push_str(&own),
    }
}

/// Returns the comment on an input that has the same value in every call.
fn only_value(element: ElementType, bytes: &[u8]) -> String {
    const SHOWN: usize = 16;
    let element = element.part();
    let size = (element.bits() / 8).max(1) as usize;
    let number = |bytes: &[u8]| {
        let scalar = Scalar::from_bytes(element, bytes);
        if element.is_float() { scalar.as_f64().to_string() } else { scalar.as_i64().to_string() }
    };
    let numbers: Vec<String> = bytes.chunks(size).take(SHOWN).map(number).collect();
    let more = if bytes.len() > SHOWN * size { ", ..." } else { "" };
    format!(", always {{ {}{more} }}: any other value is MODELC_E_SHAPE", numbers.join(", "))
}
