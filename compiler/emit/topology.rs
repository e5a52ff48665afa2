//! The topology record: facts in an object with external weights, so that other weights can be made for it later.
//!
//! The record is JSON after a magic number, in a section that is not loaded. It holds the settings of the compilation, and the kernel calls
//! with a hash of each. It also holds the scales of inputs and outputs, which the object's header contains.

use super::image::Image;
use super::options::ObjectOptions;
use super::writer::constants;
use crate::codegen::ConstantLayout;
use crate::codegen::weights::{CallTopology, Topology, WeightsHeader};
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::{Interface, Layout};
use crate::program::{Level, Port, Program};
use serde::{Deserialize, Serialize};

/// The bytes that mark a record.
const MAGIC: &[u8] = b"modelc topology\0";

/// The record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TopologyRecord {
    /// The version of modelc that wrote the object. Another version may lay out weights in another way.
    pub version: String,
    /// Prefix of the symbols.
    pub name: String,
    /// The target's name.
    pub target: String,
    /// CPU levels, separated by commas.
    pub levels: String,
    /// Settings of the compilation.
    pub settings: serde_json::Value,
    /// Hash of the interface, as in versioned symbols.
    pub interface: u32,
    /// Hash of everything that the code computes.
    pub topology: u64,
    /// Hash of the layout of constants.
    pub packing: u64,
    calls: Vec<CallRecord>,
    ports: Vec<PortRecord>,
}

/// A kernel call: method, source operator, hash.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct CallRecord(String, Option<(u32, String)>, u64);

/// The quantization of an input or output.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct PortRecord {
    name: String,
    scales: Vec<f32>,
    zero_points: Vec<i64>,
}

impl TopologyRecord {
    /// Makes the record of a program; `levels` are the object's, separated by commas.
    pub fn new(program: &Program, options: &ObjectOptions, levels: String, (header, topology): &(WeightsHeader, Topology)) -> Self {
        let call = |call: &CallTopology| CallRecord(call.method.clone(), call.operator.clone(), call.hash);
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            name: options.name.clone(),
            target: options.target.name.into(),
            levels,
            settings: options.settings.clone(),
            interface: header.interface,
            topology: header.topology,
            packing: header.packing,
            calls: topology.calls.iter().map(call).collect(),
            ports: ports(program),
        }
    }

    /// Returns the record as in an object: the magic number, the length of the text, the text.
    pub fn to_bytes(&self) -> Vec<u8> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = MAGIC.to_vec();
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text);
        bytes
    }

    /// Returns the first record in the bytes of an object, or of an archive with one.
    pub fn find(file: &[u8]) -> Option<Self> {
        let mut from = 0;
        while let Some(at) = file.get(from..)?.windows(MAGIC.len()).position(|window| window == MAGIC) {
            from += at + MAGIC.len();
            if let Some(found) = Self::parse(&file[from..]) {
                return Some(found);
            }
        }
        None
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        let text = bytes.get(8..)?.get(..usize::try_from(length).ok()?)?;
        serde_json::from_slice(text).ok()
    }
}

/// Returns the quantized inputs and outputs of all methods, by their names in the header.
fn ports(program: &Program) -> Vec<PortRecord> {
    let mut list = Vec::new();
    for method in &program.methods {
        for (direction, ports) in [("in", &method.inputs), ("out", &method.outputs)] {
            let record = |(index, port): (usize, &Port)| {
                let quantization = port.quantization.as_ref()?;
                let name = format!("{direction}{index} of {}", method.name);
                Some(PortRecord { name, scales: quantization.scales.clone(), zero_points: quantization.zero_points.clone() })
            };
            list.extend(ports.iter().enumerate().filter_map(record));
        }
    }
    list
}

/// A file of weights, and the inputs and outputs whose scales differ from the object's header.
#[derive(Debug)]
pub struct NewWeights {
    /// The file.
    pub file: Image,
    /// Names such as `in0 of forward`.
    pub rescaled: Vec<String>,
}

/// Makes the weights of a model for the object of a record. `levels` has a program for each level of the object.
///
/// # Errors
/// A diagnostic if the programs differ from the object in anything but weights; it names the first operator that differs.
pub fn weights_for(levels: &[Level<'_>], record: &TopologyRecord) -> Result<NewWeights, Diagnostic> {
    let Some(&Level { program, .. }) = levels.first() else { return Err(differs("CPU levels")) };
    // The comparison does not depend on the layout of structs.
    let interface = Interface::new(program, &record.name, Layout { pointer: 8 });
    let (topology, layout) = (Topology::new(levels), ConstantLayout::new(program));
    let header = WeightsHeader::new(&topology, &interface, &layout);
    if let Some(diagnostic) = difference(&topology, record) {
        return Err(diagnostic);
    }
    if header.interface != record.interface {
        return Err(differs("inputs, outputs or memory")
            .expected(format!("interface {:08x}", record.interface), format!("{:08x}", header.interface)));
    }
    if (header.topology, header.packing) != (record.topology, record.packing) {
        return Err(differs("control flow, variables or constants"));
    }
    let mut file = Image::from(header.to_bytes().to_vec());
    file.append(&constants(&layout, program));
    let rescaled = ports(program).iter().filter(|port| !record.ports.contains(port)).map(|port| port.name.clone()).collect();
    Ok(NewWeights { file, rescaled })
}

/// Returns an error for the first kernel call that differs.
fn difference(topology: &Topology, record: &TopologyRecord) -> Option<Diagnostic> {
    let same = |(new, old): (&CallTopology, &CallRecord)| new.method == old.0 && new.hash == old.2;
    let common = topology.calls.iter().zip(&record.calls).take_while(|pair| same(*pair)).count();
    if common == topology.calls.len() && common == record.calls.len() {
        return None;
    }
    let describe =
        |operator: Option<&(u32, String)>| operator.map_or_else(|| "none".into(), |(index, name)| format!("operator {index} {name}"));
    let (new, old) = (topology.calls.get(common), record.calls.get(common));
    let same_operator = new.and_then(|call| call.operator.as_ref()) == old.and_then(|call| call.1.as_ref());
    let mut diagnostic = differs(if same_operator { "shapes, types or attributes" } else { "operators" })
        .expected(describe(old.and_then(|call| call.1.as_ref())), describe(new.and_then(|call| call.operator.as_ref())));
    if let Some(method) = new.map(|call| &call.method).or(old.map(|call| &call.0)) {
        diagnostic = diagnostic.in_function(method);
    }
    if let Some((index, name)) = new.and_then(|call| call.operator.as_ref()).or(old.and_then(|call| call.1.as_ref())) {
        diagnostic = diagnostic.at_operator(*index, name);
    }
    Some(diagnostic)
}

fn differs(what: &str) -> Diagnostic {
    Diagnostic::new(
        codes::OTHER_MODEL,
        format!("the weights do not fit the object: the model has other {what} than the one it was made of"),
    )
    .help("compile the model to an object of its own")
}
