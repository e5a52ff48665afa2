//! Reader of a delegate's bytes: a graph with its constants.

use super::names;
use super::values::{self, invalid};
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::delegates::container::{Container, Source, damaged};
use crate::frontend::delegates::graph::Buffer;
use crate::frontend::executorch::program::{EValue, Instruction, Plan, index};
use crate::ir::{Data, ElementType};
use crate::schema::{flatbuffer_part, verifier_options, vulkan as schema};
use std::collections::{BTreeMap, HashSet};

/// A graph of one delegate.
#[derive(Debug)]
pub struct Graph {
    /// Its registers and instructions: kernels alone, with the names of the graph.
    pub plan: Plan,
    /// The registers that are constants, and which.
    pub constants: Vec<(usize, Source)>,
    /// The element types that callers pass, for registers for which the graph has one.
    pub staged: BTreeMap<usize, ElementType>,
    /// The tensors that persist between calls.
    pub buffers: Vec<Buffer>,
}

impl Graph {
    /// The operators in the order in which they run, with `true` for supported ones.
    pub fn operators(&self) -> impl Iterator<Item = (&str, bool)> {
        (0..self.plan.instructions.len()).map(|pc| self.plan.instruction_name(pc)).map(|name| (name, names::find(name).is_some()))
    }
}

/// Reads the bytes of a delegate that a method calls.
///
/// # Errors
/// When they are damaged, or the graph in them contradicts itself.
pub fn read(blob: &Data, number: usize, method: &str) -> Result<Graph, Diagnostic> {
    let container = Container::parse(blob.bytes(), b"VH00", "Vulkan")?;
    let buffer = flatbuffer_part(&blob.bytes()[container.graph.clone()]);
    let identifier = buffer.get(4..8).unwrap_or_default();
    if identifier != b"VK00" {
        let found = String::from_utf8_lossy(identifier).into_owned();
        return Err(Diagnostic::new(codes::PROGRAM_UNSUPPORTED, "the Vulkan graph is of an unknown version").expected("VK00", found));
    }
    let graph = schema::root_as_vk_graph_with_opts(&verifier_options(buffer.len()), buffer)
        .map_err(|error| damaged(format!("the Vulkan graph is damaged: {}", error.to_string().lines().next().unwrap_or_default())))?;
    let sources = constants(&graph, blob, &container)?;
    let table: Vec<_> = graph.values().into_iter().flatten().collect();
    let count = table.len();
    let values = values::read(table, &sources, &format!("delegate{number}"))?;
    let ids = |list: Option<flatbuffers::Vector<'_, u32>>, what: &str| {
        list.into_iter().flatten().map(|i| index(i, count, what)).collect::<Result<Vec<_>, _>>()
    };
    let (inputs, outputs) = (ids(graph.input_ids(), "input")?, ids(graph.output_ids(), "output")?);
    let mut plan = Plan {
        name: method.to_owned(),
        values: values.registers,
        inputs,
        outputs,
        operators: Vec::new(),
        delegates: Vec::new(),
        instructions: Vec::new(),
        area_bytes: Vec::new(),
        drawn: None,
        traced: vec![],
    };
    for (i, call) in graph.chain().into_iter().flatten().enumerate() {
        let name = call.name().unwrap_or_default();
        let arguments = call.args().into_iter().flatten().map(|i| index(i, count, "value")).collect::<Result<Vec<_>, _>>();
        let args = arguments.and_then(|arguments| arranged(name, &arguments, &plan.values));
        let args = args.map_err(|fault| fault.at_operator(i as u32, name))?;
        let known = plan.operators.iter().position(|known| known == name);
        if known.is_none() {
            plan.operators.push(name.to_owned());
        }
        plan.instructions.push(Instruction::Kernel { operator: known.unwrap_or(plan.operators.len() - 1), args });
    }
    let (buffers, constants) = buffers(&plan, values.constants);
    Ok(Graph { plan, constants, staged: values.staged, buffers })
}

/// The arguments of a call in the order of programs: arguments of the program's operator, each result, and the result as a whole. Calls of graphs
/// have further arguments for element types and devices, and only the result as a whole.
fn arranged(name: &str, arguments: &[usize], values: &[EValue]) -> Result<Vec<usize>, Diagnostic> {
    let (&whole, arguments) = arguments.split_last().ok_or_else(|| invalid("the call has no result"))?;
    let operator = names::find(name);
    let mut args = match operator.and_then(|operator| operator.picked) {
        Some(picked) => {
            let pick = |&i: &usize| {
                let wanted = || invalid("too few arguments").expected(format!("at least {}", i + 1), arguments.len().to_string());
                arguments.get(i).copied().ok_or_else(wanted)
            };
            picked.iter().map(pick).collect::<Result<Vec<_>, _>>()?
        }
        None => arguments.to_vec(),
    };
    match &values[whole] {
        EValue::Tensors(results) if operator.is_some_and(|operator| !operator.gives_list) => args.extend(results),
        _ => args.push(whole),
    }
    args.push(whole);
    Ok(args)
}

/// The operator that fills a tensor of the device from a constant, once, when the graph is loaded.
const PREPACK: &str = "et_vk.prepack.default";

/// Returns the buffers of a graph, and its other constants. A buffer is a tensor that is filled when the graph is loaded, and written when it runs.
/// An operator fills it from a constant, or it is a constant that an operator writes. A call finds the contents that the previous call left.
fn buffers(plan: &Plan, constants: Vec<(usize, Source)>) -> (Vec<Buffer>, Vec<(usize, Source)>) {
    let written: HashSet<usize> = plan.instructions.iter().filter_map(|instruction| written(plan, instruction)).flatten().collect();
    let filled = plan.instructions.iter().filter_map(|instruction| prepacked(plan, instruction));
    let filled = filled.filter_map(|(from, to)| Some((to, &constants.iter().find(|(constant, _)| *constant == from)?.1)));
    let own = constants.iter().map(|(constant, source)| (*constant, source));
    let buffers: Vec<Buffer> = filled
        .chain(own)
        .filter(|(register, _)| written.contains(register))
        .filter_map(|(register, source)| {
            let EValue::Tensor(meta) = &plan.values[register] else { return None };
            Some(Buffer { register, element: meta.form.element, shape: meta.form.shape.clone(), initial: source.clone() })
        })
        .collect();
    let constants = constants.into_iter().filter(|(constant, _)| !buffers.iter().any(|buffer| buffer.register == *constant)).collect();
    (buffers, constants)
}

/// The constant and the tensor of an instruction that fills one from the other.
pub(super) fn prepacked(plan: &Plan, instruction: &Instruction) -> Option<(usize, usize)> {
    match instruction {
        Instruction::Kernel { operator, args } if plan.operators[*operator] == PREPACK => Some((*args.first()?, *args.last()?)),
        _ => None,
    }
}

/// The registers that an instruction writes each time the graph runs.
fn written(plan: &Plan, instruction: &Instruction) -> Option<Vec<usize>> {
    let Instruction::Kernel { operator, args } = instruction else { return None };
    let (name, &whole) = (&plan.operators[*operator], args.last()?);
    let mut registers = members(plan, whole);
    registers.extend(names::find(name)?.caches.iter().filter_map(|&argument| args.get(argument)));
    (name != PREPACK).then_some(registers)
}

/// The register, or the members of its list.
pub(super) fn members(plan: &Plan, register: usize) -> Vec<usize> {
    if let EValue::Tensors(items) = &plan.values[register] { items.clone() } else { vec![register] }
}

/// The constants of the graph.
fn constants(graph: &schema::VkGraph<'_>, blob: &Data, container: &Container) -> Result<Vec<Source>, Diagnostic> {
    let mut sources = Vec::new();
    for (i, constant) in graph.constants().into_iter().flatten().enumerate() {
        if let Some(name) = constant.named_key().filter(|name| !name.is_empty()) {
            sources.push(Source::Named(name.to_owned()));
            continue;
        }
        let source = container.constant(blob, constant.offset(), constant.length());
        sources.push(source.ok_or_else(|| damaged(format!("constant {i} of the Vulkan graph extends beyond its end")))?);
    }
    Ok(sources)
}
