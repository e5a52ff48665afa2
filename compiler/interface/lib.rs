//! The C interface of a compiled model: names, layouts of argument structs and of the state, and their hash.
//!
//! The driver generates code for it, the header declares it, and the JIT calls through it. So it is computed in one place.

mod argument;
pub mod device;
mod footprint;
pub mod limits;
mod method_memory;
mod state;
mod structs;

pub use argument::{Taken, extents_of};
pub use footprint::Footprint;
pub use method_memory::MethodMemory;
pub use state::{ABI, Part, RECORD, RECORD_BYTES, Record, StateParts};
pub use structs::{CONFIG, Config, GPU_INFO, GpuInfo, HOST, Host, Layout, Member, PORT, Places, PortMember, Struct, TENSOR, Tensor};

use modelc_ir::ElementType;
use modelc_program::{E_INDEX, Method, Port, Program};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Status codes of ABI 1, never renumbered.
pub const STATUSES: &[(&str, i32, &str)] = &[
    ("MODELC_OK", 0, "good"),
    ("MODELC_E_NULL", E_NULL, "a required pointer is NULL"),
    ("MODELC_E_ALIGN", E_ALIGN, "memory is not aligned as the header asks"),
    ("MODELC_E_ARENA", E_ARENA, "the arena is too small"),
    ("MODELC_E_SHAPE", E_SHAPE, "a shape is beyond its bound, or shapes disagree"),
    ("MODELC_E_CPU", E_CPU, "the CPU lacks what the code needs"),
    ("MODELC_E_WEIGHTS", E_WEIGHTS, "the weights are not those of this model"),
    ("MODELC_E_STATE", E_STATE, "not initialised, or another model's arena"),
    ("MODELC_E_ABI", E_ABI, "the configuration is of another ABI"),
    ("MODELC_E_GPU", E_GPU, "the GPU failed"),
    ("MODELC_E_CUSTOM", E_CUSTOM, "a custom operator failed"),
    ("MODELC_E_ABORTED", E_ABORTED, "a callback asked to stop"),
    ("MODELC_E_INDEX", E_INDEX, "a data-dependent index or count is out of range"),
];
/// `MODELC_E_NULL`.
pub const E_NULL: i32 = -1;
/// `MODELC_E_ALIGN`.
pub const E_ALIGN: i32 = -2;
/// `MODELC_E_ARENA`.
pub const E_ARENA: i32 = -3;
/// `MODELC_E_SHAPE`.
pub const E_SHAPE: i32 = -4;
/// `MODELC_E_CPU`.
pub const E_CPU: i32 = -5;
/// `MODELC_E_WEIGHTS`.
pub const E_WEIGHTS: i32 = -6;
/// `MODELC_E_STATE`.
pub const E_STATE: i32 = -7;
/// `MODELC_E_ABI`.
pub const E_ABI: i32 = -8;
/// `MODELC_E_GPU`.
pub const E_GPU: i32 = -9;
/// `MODELC_E_CUSTOM`.
pub const E_CUSTOM: i32 = -10;
/// `MODELC_E_ABORTED`.
pub const E_ABORTED: i32 = -11;

/// The element types of ABI 1 in `modelc_tensor`, never renumbered.
pub const ELEMENTS: &[(&str, ElementType, u32)] = &[
    ("MODELC_BOOL", ElementType::Bool, 1),
    ("MODELC_I4", ElementType::I4, 2),
    ("MODELC_I8", ElementType::I8, 3),
    ("MODELC_U8", ElementType::U8, 4),
    ("MODELC_I16", ElementType::I16, 5),
    ("MODELC_U16", ElementType::U16, 6),
    ("MODELC_I32", ElementType::I32, 7),
    ("MODELC_U32", ElementType::U32, 8),
    ("MODELC_I64", ElementType::I64, 9),
    ("MODELC_U64", ElementType::U64, 10),
    ("MODELC_F16", ElementType::F16, 11),
    ("MODELC_BF16", ElementType::Bf16, 12),
    ("MODELC_F32", ElementType::F32, 13),
    ("MODELC_F64", ElementType::F64, 14),
    ("MODELC_C64", ElementType::C64, 15),
];

/// Returns the number of an element type in `modelc_tensor`; 0 if it has none.
pub fn element_number(element: ElementType) -> u32 {
    ELEMENTS.iter().find(|(_, e, _)| *e == element).map_or(0, |(_, _, number)| *number)
}

/// The C interface of a compiled model.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// Prefix of every name: `net`.
    pub name: String,
    /// The methods, in the program's order.
    pub methods: Vec<MethodInterface>,
    /// The target's layout of structs.
    pub layout: Layout,
    /// Layout of the state.
    pub state: StateParts,
    /// Size of the state, a multiple of the alignment.
    pub state_bytes: u64,
    /// Largest scratch memory of any method, a multiple of the alignment.
    pub scratch_bytes: u64,
    /// Bytes of each memory area that the application provides beside the arena.
    pub area_bytes: Vec<u64>,
    /// Names of all areas, with the arena's first; empty unless the application has named them.
    pub area_names: Vec<String>,
    /// Hash of names, types, shapes, arena bytes and ABI number.
    pub abi_hash: u32,
}

/// The C interface of one method.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodInterface {
    /// The method's name as an identifier: `forward`.
    pub identifier: String,
    /// Fields of the struct of inputs.
    pub inputs: Vec<Field>,
    /// Fields of the struct of outputs.
    pub outputs: Vec<Field>,
}

/// Offsets of a port's fields in its struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Offset of the pointer, or of the value of a scalar.
    pub offset: u64,
    /// Offset of the array of extents, if one is dynamic.
    pub shape_offset: Option<u64>,
}

impl Interface {
    /// Computes the interface of a program. The name is converted to an identifier.
    pub fn new(program: &Program, name: &str, layout: Layout) -> Self {
        let mut taken: BTreeSet<String> = ["init", "reset", "deinit", "info", "gpu", "ports", "kernels"].map(String::from).into();
        let methods = program.methods.iter().map(|method| MethodInterface::new(method, &mut taken, layout)).collect();
        let scratch = program.methods.iter().map(|m| m.scratch_bytes).max().unwrap_or(0);
        let state = StateParts::new(program);
        let mut interface = Self {
            name: identifier(name),
            methods,
            layout,
            state,
            state_bytes: state.device.end(program.alignment),
            scratch_bytes: program.alignment.up(scratch),
            area_bytes: program.area_bytes(),
            area_names: program.area_names(),
            abi_hash: 0,
        };
        interface.abi_hash = interface.hash(program);
        interface
    }

    /// Returns the size of the arena: state, then scratch memory.
    pub fn arena_bytes(&self) -> u64 {
        self.state_bytes + self.scratch_bytes
    }

    /// Returns the plain name of an entry: `net_init` for `init`.
    pub fn plain(&self, entry: &str) -> String {
        format!("{}_{entry}", self.name)
    }

    /// Returns the name that an object defines and its header uses: `net_init_1_3fa9c1d2` for `init`.
    pub fn versioned(&self, entry: &str) -> String {
        format!("{}_{entry}_{ABI}_{:08x}", self.name, self.abi_hash)
    }

    fn hash(&self, program: &Program) -> u32 {
        let mut hash = Sha256::new();
        let mut text = |s: &str| {
            hash.update((s.len() as u64).to_le_bytes());
            hash.update(s.as_bytes());
        };
        text(&format!("{ABI} {} {} {}", self.state_bytes, self.scratch_bytes, self.methods.len()));
        text(&self.name);
        if !self.area_bytes.is_empty() {
            text(&format!("areas {:?}", self.area_bytes));
        }
        for (method, interface) in program.methods.iter().zip(&self.methods) {
            text(&interface.identifier);
            for (direction, ports) in [("in", &method.inputs), ("out", &method.outputs)] {
                text(&format!("{direction} {}", ports.len()));
                for port in ports {
                    text(&port.name);
                    text(&format!("{} {:?} {:?} {}", port.element, port.shape, port.dynamic, port.scalar));
                }
            }
        }
        let digest = hash.finalize();
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
    }
}

impl MethodInterface {
    fn new(method: &Method, taken: &mut BTreeSet<String>, layout: Layout) -> Self {
        let [inputs, outputs] = [&method.inputs, &method.outputs].map(|ports| fields(ports, layout));
        Self { identifier: unique(&identifier(&method.name), taken), inputs, outputs }
    }

    /// Tests whether the method has a function for its scratch memory: some input has dynamic extents.
    pub fn gives_scratch(&self) -> bool {
        self.inputs.iter().any(|field| field.shape_offset.is_some())
    }
}

/// Computes offsets in the layout of C.
fn fields(ports: &[Port], Layout { pointer }: Layout) -> Vec<Field> {
    let mut places = Places::default();
    ports
        .iter()
        .map(|port| {
            let bytes = if port.scalar { element_bytes(port.element) } else { pointer };
            let alignment = if port.scalar { port.element.alignment() } else { pointer };
            let offset = places.place(bytes, alignment);
            let shape_offset = has_shape(port).then(|| places.place(pointer * port.shape.len() as u64, pointer));
            Field { offset, shape_offset }
        })
        .collect()
}

/// Tests whether a port's struct has run-time extents.
pub fn has_shape(port: &Port) -> bool {
    !port.scalar && port.dynamic.contains(&true)
}

fn element_bytes(element: ElementType) -> u64 {
    u64::from(element.bits()).div_ceil(8)
}

/// Keywords of C and C++, which must not be identifiers.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "concept",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "const_cast",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// Converts a name to an identifier of C and C++: other characters become `_`, and a keyword gets a trailing `_`.
pub fn identifier(name: &str) -> String {
    let mut result: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if result.is_empty() || result.starts_with(|c: char| c.is_ascii_digit()) {
        result.insert(0, '_');
    }
    if KEYWORDS.contains(&result.as_str()) {
        result.push('_');
    }
    result
}

/// Adds a number to a name that is taken. A method also takes the names derived from its own.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    // Macros are in capitals, so names that differ only in case would clash.
    let derived =
        |name: &str| ["", "_split", "_scratch", "_inputs", "_outputs"].map(|suffix| format!("{name}{suffix}").to_ascii_lowercase());
    let free = |candidate: &String| derived(candidate).iter().all(|n| !taken.contains(n));
    let chosen = std::iter::once(name.to_string())
        .chain((2..).map(|n: u64| format!("{name}{n}")))
        .find(free)
        .expect("some number is free, for finitely many names are taken");
    taken.extend(derived(&chosen));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(element: ElementType, scalar: bool, dynamic: bool) -> Port {
        Port {
            name: "x".into(),
            element,
            shape: vec![2, 3],
            dynamic: vec![dynamic, false],
            bytes: 0,
            quantization: None,
            scalar,
            value: None,
            notes: modelc_ir::PortNotes::default(),
        }
    }

    #[test]
    fn names_become_identifiers_of_their_own() {
        assert_eq!(identifier("my-model.v2"), "my_model_v2");
        assert_eq!(identifier("2nd"), "_2nd");
        assert_eq!(identifier("int"), "int_");
        assert_eq!(identifier(""), "_");
        assert_eq!(identifier("größe"), "gr__e");
        let mut taken = BTreeSet::from(["init".to_string()]);
        let names = ["init", "forward", "Forward", "forward_split", "a-b", "a_b"].map(|n| unique(&identifier(n), &mut taken));
        assert_eq!(names, ["init2", "forward", "Forward2", "forward_split2", "a_b", "a_b2"]);
    }

    #[test]
    fn fields_are_laid_out_as_c_does() {
        let ports = [
            port(ElementType::Bool, true, false),
            port(ElementType::F32, false, true),
            port(ElementType::Bool, true, false),
            port(ElementType::I64, true, false),
            port(ElementType::I8, false, false),
        ];
        let offsets = |pointer| fields(&ports, Layout { pointer }).iter().map(|f| (f.offset, f.shape_offset)).collect::<Vec<_>>();
        assert_eq!(offsets(8), [(0, None), (8, Some(16)), (32, None), (40, None), (48, None)]);
        assert_eq!(offsets(4), [(0, None), (4, Some(8)), (16, None), (24, None), (32, None)]);
    }
}
