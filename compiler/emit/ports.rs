//! Tables in the header for programs that handle any model: `NET_ports`, and `NET_kernels` of objects with hooks.

use super::c_text::string;
use super::quantization::writable;
use crate::interface::{ABI, ELEMENTS, Interface, PORT, PortMember};
use crate::program::{Call, Method, Port, Program, calls};
use std::fmt::Write;

/// Returns the shared block with the type of a port. It is the same, byte for byte, in every header of this ABI.
pub fn shared() -> String {
    let port = PORT.c_type();
    format!("#ifndef MODELC_ABI_{ABI}_PORTS\n#define MODELC_ABI_{ABI}_PORTS\n/* An input or output of a method. */\n{port}#endif\n\n")
}

/// Writes the table of a program's inputs and outputs, if it has any. `upper` is `NET`.
pub fn ports(text: &mut String, upper: &str, program: &Program) {
    let ports: Vec<Place<'_>> = program.methods.iter().flat_map(all).collect();
    if ports.is_empty() {
        return;
    }
    let extents: Vec<String> = ports.iter().flat_map(|place| &place.port.shape).map(ToString::to_string).collect();
    let _ = writeln!(text, "/* The inputs and outputs of all methods. */\n#define {upper}_PORTS_COUNT {}", ports.len());
    if !extents.is_empty() {
        let _ = writeln!(text, "static const size_t {upper}_ports_extents[{}] = {{ {} }};", extents.len(), extents.join(", "));
    }
    let _ = writeln!(text, "static const modelc_port {upper}_ports[{upper}_PORTS_COUNT] = {{");
    let mut first = 0;
    for place in ports {
        let port = place.port;
        let shape = if port.shape.is_empty() { "NULL".into() } else { format!("&{upper}_ports_extents[{first}]") };
        first += port.shape.len();
        let _ = writeln!(text, "  {},", row(place, &shape));
    }
    text.push_str("};\n\n");
}

/// A port with its place in a method.
#[derive(Clone, Copy)]
struct Place<'a> {
    method: &'a Method,
    is_output: bool,
    /// The number among the inputs or the outputs.
    index: usize,
    port: &'a Port,
}

/// Returns the ports of a method.
fn all(method: &Method) -> impl Iterator<Item = Place<'_>> {
    let place = move |is_output| move |(index, port)| Place { method, is_output, index, port };
    let inputs = method.inputs.iter().enumerate().map(place(false));
    inputs.chain(method.outputs.iter().enumerate().map(place(true)))
}

fn row(Place { method, is_output, index, port }: Place<'_>, shape: &str) -> String {
    let number = ELEMENTS.iter().find(|(_, element, _)| *element == port.element).map_or("0", |(name, ..)| name);
    let one = writable(port).and_then(|(quantization, _)| match (&quantization.scales[..], &quantization.zero_points[..]) {
        ([scale], [zero_point]) => Some((format!("{scale:?}f"), *zero_point)),
        _ => None,
    });
    let (scale, zero_point) = one.unwrap_or_else(|| ("0".into(), 0));
    PORT.c_initializer(|member| match member {
        PortMember::Method => string(&method.name),
        PortMember::Name => string(&port.name),
        PortMember::IsOutput => u8::from(is_output).to_string(),
        PortMember::IsValue => u8::from(port.scalar).to_string(),
        PortMember::Index => index.to_string(),
        PortMember::Type => number.to_owned(),
        PortMember::Rank => port.shape.len().to_string(),
        PortMember::Shape => shape.to_owned(),
        PortMember::Bytes => port.bytes.to_string(),
        PortMember::Scale => scale.clone(),
        PortMember::ZeroPoint => zero_point.to_string(),
    })
}

/// Writes the names of kernel calls, by the number that `on_kernel` gets. A name has the call's first operator.
pub fn kernels(text: &mut String, interface: &Interface, program: &Program) {
    let upper = interface.name.to_ascii_uppercase();
    let calls: Vec<&Call> = program.methods.iter().flat_map(|method| calls(&method.steps)).collect();
    if calls.is_empty() {
        return;
    }
    let _ = write!(
        text,
        "/* The kernels, by the number that on_kernel gets: position and name of the first operator, and how many others it computes. */\n\
         #define {upper}_KERNELS_COUNT {}\nstatic const char *const {upper}_kernels[{upper}_KERNELS_COUNT] = {{\n",
        calls.len()
    );
    for call in calls {
        let name = match &call.origin.operators[..] {
            [] => call.origin.schedule.clone(),
            [(index, name)] => format!("op{index:03} {name}"),
            [(index, name), others @ ..] => format!("op{index:03} {name} +{}", others.len()),
        };
        let _ = writeln!(text, "  {},", string(&name));
    }
    text.push_str("};\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Layout;
    use crate::ir::{ElementType, PortNotes, Quantization};
    use crate::program::{Division, Origin, Step};

    fn port(name: &str, element: ElementType, shape: &[u64], quantization: Option<Quantization>) -> Port {
        Port {
            name: name.into(),
            element,
            shape: shape.to_vec(),
            dynamic: vec![false; shape.len()],
            bytes: element.bytes_for(shape.iter().product()).unwrap_or_default(),
            quantization,
            scalar: shape.is_empty(),
            value: None,
            notes: PortNotes::default(),
        }
    }

    #[test]
    fn tables_list_ports_and_kernels() {
        let quantization = |scales: &[f32]| Some(Quantization { scales: scales.to_vec(), zero_points: vec![-3; scales.len()], axis: 0 });
        let inputs = vec![port("x", ElementType::I8, &[1, 4], quantization(&[0.5])), port("n", ElementType::I64, &[], None)];
        let outputs = vec![port("a\"b", ElementType::I8, &[2], quantization(&[0.5, 0.25])), port("z", ElementType::I2, &[8], None)];
        let call = |operators: &[(u32, &str)]| {
            let operators = operators.iter().map(|(index, name)| (*index, (*name).to_owned())).collect();
            let origin = Origin { operators, schedule: "copy".into(), ..Origin::default() };
            Step::Call(Call { kernel: 0, arguments: vec![], bounds: vec![], division: Division::Whole, origin })
        };
        let steps = vec![call(&[(3, "CONV_2D"), (4, "RELU")]), call(&[(5, "ADD")]), call(&[])];
        let method = Method { name: "forward".into(), inputs, outputs, steps, ..Method::default() };
        let program = Program { methods: vec![method], ..Program::default() };
        let mut text = String::new();
        ports(&mut text, "NET", &program);
        kernels(&mut text, &Interface::new(&program, "net", Layout { pointer: 8 }), &program);
        crate::bless::text("compiler/emit/snapshots/tables_of_a_header.txt", &text);
        let mut none = String::new();
        ports(&mut none, "NET", &Program::default());
        assert_eq!(none, "");
    }
}
