//! Translation of a graph, which runs it at compile time like a method: with its own registers, in the function that calls the delegate.

use super::names;
use super::read::{Graph, members, prepacked};
use crate::frontend::delegates::graph::register;
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::memory::{Definition, Memory};
use crate::frontend::executorch::ops::Call;
use crate::frontend::executorch::program::{EValue, Instruction, Plan};
use crate::frontend::executorch::registers::{Environment, Register, TensorPlace, initial_register};
use crate::frontend::executorch::tensors::shape_text;
use crate::frontend::executorch::translate::Translator;
use crate::ir::{ElementType, Extent, Source, SourceData, Value};
use std::rc::Rc;

/// An input or output of a graph.
enum Passed {
    /// A tensor.
    Tensor(Value),
    /// A number, in its register's form.
    Number(Register),
}

/// The method's state that is set aside while a graph runs in its place.
struct Caller<'a> {
    plan: &'a Plan,
    kept: Vec<usize>,
    environment: Environment,
}

/// Translates a call of a delegate: its arguments are registers, inputs and then outputs. `buffers` are the registers of its buffers.
///
/// # Errors
/// When an argument does not fit the graph, or an operator cannot be translated.
pub fn call<'a>(t: &mut Translator<'a, '_>, graph: &'a Graph, args: &[usize], buffers: &[usize]) -> Result<(), Fault> {
    let plan = &graph.plan;
    let mut passed = Vec::with_capacity(plan.inputs.len());
    for i in 0..plan.inputs.len() {
        passed.push(argument(t, register(args, i)?)?);
    }
    let kept = buffers.iter().map(|&register| t.read(register)).collect::<Result<Vec<_>, _>>()?;
    let caller = enter(t, graph);
    let outcome = inside(t, graph, passed, &kept);
    (t.plan, t.kept, t.environment) = (caller.plan, caller.kept, caller.environment);
    let ((results, kept), registers) = (outcome?, args.get(plan.inputs.len()..).unwrap_or_default());
    for (&register, result) in registers.iter().zip(assigned(t, graph, registers)?) {
        match &results[result] {
            Passed::Tensor(value) => {
                let element = t.handle(register)?.form.element;
                let value = converted(t, *value, element)?;
                t.define(register, value)?;
            }
            Passed::Number(number) => t.environment.registers[register] = number.clone(),
        }
    }
    for (&register, value) in buffers.iter().zip(kept) {
        t.define(register, value)?;
    }
    Ok(())
}

/// Returns the result of a graph for each register of its caller.
fn assigned(t: &Translator<'_, '_>, graph: &Graph, registers: &[usize]) -> Result<Vec<usize>, Fault> {
    let outputs = &graph.plan.outputs;
    let fits = |place: usize, result: usize| match (&t.plan.values[registers[place]], &graph.plan.values[outputs[result]]) {
        (EValue::Tensor(wanted), EValue::Tensor(given)) => {
            let element = graph.staged.get(&outputs[result]).copied().unwrap_or(given.form.element);
            wanted.form.shape == given.form.shape && (wanted.form.element == element || is_halved(wanted.form.element, element))
        }
        (EValue::Tensor(_), _) | (_, EValue::Tensor(_)) => false,
        _ => true,
    };
    assignment(registers.len(), outputs.len(), fits).ok_or_else(|| {
        let fault = Fault::invalid("the program takes other results of the delegate than its graph gives")
            .expected(outputs.len().to_string(), registers.len().to_string());
        // Exporters leave a changed buffer among the results, although nothing takes it there: no runtime runs such a program.
        let is_left = registers.len() < outputs.len();
        if is_left {
            fault.help("where the model changes a buffer, export it with the partitioner's option alias_buffer_mutations")
        } else {
            fault
        }
    })
}

/// Exporters write a result once, which the program may want in several places: the results in the order of their first places. A place that does not
/// take the next result gets an earlier one; where that leaves a choice there is no assignment.
fn assignment(wanted: usize, given: usize, fits: impl Fn(usize, usize) -> bool) -> Option<Vec<usize>> {
    if wanted == given {
        return Some((0..given).collect());
    }
    let mut places = Vec::with_capacity(wanted);
    let mut seen = 0;
    for place in 0..wanted {
        let is_next = seen < given && fits(place, seen);
        let earlier: Vec<usize> = (0..seen).filter(|&result| fits(place, result)).collect();
        let must_be_next = wanted - place == given - seen;
        places.push(match (&earlier[..], is_next) {
            (_, true) if must_be_next => seen,
            ([], true) => seen,
            (&[result], false) => result,
            _ => return None,
        });
        seen += usize::from(places[place] == seen);
    }
    (seen == given).then_some(places)
}

/// Reads an input or output from its register.
fn argument(t: &mut Translator<'_, '_>, register: usize) -> Result<Passed, Fault> {
    match &t.environment.registers[register] {
        Register::Tensor(_) => Ok(Passed::Tensor(t.read(register)?)),
        Register::Unavailable(fault) => Err(fault.clone()),
        // The register is a list, which both sides have in different forms.
        Register::AsInFile(_) => Err(Fault::invalid("what goes in or out of the delegate is neither a tensor nor a number")),
        number => Ok(Passed::Number(number.clone())),
    }
}

/// Replaces the registers of the method by the registers of a graph.
fn enter<'a>(t: &mut Translator<'a, '_>, graph: &'a Graph) -> Caller<'a> {
    let plan = &graph.plan;
    let mut registers = Vec::with_capacity(plan.values.len());
    for (i, value) in plan.values.iter().enumerate() {
        registers.push(initial_register(t.shared, t.graph.builder.module, i, value));
    }
    for (register, source) in &graph.constants {
        if let (EValue::Tensor(meta), Register::Tensor(handle)) = (&plan.values[*register], &mut registers[*register]) {
            handle.place = match t.shared.part(t.graph.builder.module, source, &meta.form) {
                Ok(constant) => TensorPlace::Constant(constant),
                Err(diagnostic) => TensorPlace::Missing(diagnostic.about_tensor(plan.register_name(*register)).into()),
            };
        }
    }
    let environment = Environment { registers, memory: Memory::default() };
    let kept = plan.outputs.iter().copied().chain(graph.buffers.iter().map(|buffer| buffer.register)).collect();
    Caller {
        plan: std::mem::replace(&mut t.plan, plan),
        kept: std::mem::replace(&mut t.kept, kept),
        environment: std::mem::replace(&mut t.environment, environment),
    }
}

/// Runs a graph whose registers are the translator's, with the contents of its buffers. Returns its results, and the buffers' new contents.
fn inside(t: &mut Translator<'_, '_>, graph: &Graph, passed: Vec<Passed>, kept: &[Value]) -> Result<(Vec<Passed>, Vec<Value>), Fault> {
    let plan = &graph.plan;
    let mut is_whole = true;
    for (buffer, &value) in graph.buffers.iter().zip(kept) {
        t.define(buffer.register, value)?;
    }
    for (&register, passed) in plan.inputs.iter().zip(passed) {
        is_whole &= take(t, register, passed)?;
    }
    let call = t.graph.builder.source;
    for (i, instruction) in plan.instructions.iter().enumerate() {
        let Instruction::Kernel { args, .. } = instruction else { return Err(Fault::Consequence) };
        // A buffer was filled when the graph was loaded.
        if prepacked(plan, instruction).is_some_and(|(_, to)| graph.buffers.iter().any(|buffer| buffer.register == to)) {
            continue;
        }
        let name = plan.instruction_name(i);
        t.graph.builder.source = call.map(|call| source(t, call, i, name));
        step(t, name, args, is_whole).map_err(|fault| fault.at_node(i, name))?;
    }
    t.graph.builder.source = call;
    let kept = graph.buffers.iter().map(|buffer| t.read(buffer.register)).collect::<Result<Vec<_>, _>>()?;
    let results = plan.outputs.iter().map(|&register| argument(t, register)).collect::<Result<Vec<_>, _>>()?;
    Ok((results, kept))
}

/// The source of an operator's values: the call of the delegate, and the number of the operator.
fn source(t: &mut Translator<'_, '_>, call: Source, index: usize, name: &str) -> Source {
    let sources = &mut t.graph.builder.module.sources;
    let data = SourceData { operator_name: name.to_owned(), tensor: format!("node {index}"), gpu: true, ..sources[call].clone() };
    sources.push(data)
}

fn step(t: &mut Translator<'_, '_>, name: &str, args: &[usize], is_whole: bool) -> Result<(), Fault> {
    // Unknown operators are reported once a program, before any method is translated.
    let operator = names::find(name).ok_or(Fault::Consequence)?;
    (operator.translate)(&mut Call { translator: t, args })?;
    if is_whole {
        let results = args.last().map(|&whole| members(t.plan, whole));
        results.into_iter().flatten().try_for_each(|register| check_shape(t, register))?;
    }
    Ok(())
}

/// Checks that a result has the shape that the graph declares. Results have it if inputs are at their bounds.
fn check_shape(t: &Translator<'_, '_>, register: usize) -> Result<(), Fault> {
    let (EValue::Tensor(meta), Register::Tensor(handle)) = (&t.plan.values[register], &t.environment.registers[register]) else {
        return Ok(());
    };
    let found = t.resolved(&handle.form).shape;
    if found == meta.form.on_extents().shape {
        return Ok(());
    }
    Err(Fault::invalid("the shape of the result does not match the graph").expected(format!("{:?}", meta.form.shape), shape_text(&found)))
}

/// Sets an input of a graph to its value. Returns `true` if it has the size that the graph declares.
fn take(t: &mut Translator<'_, '_>, register: usize, passed: Passed) -> Result<bool, Fault> {
    let fault = |what: &str, found: &str| {
        Fault::invalid("an argument of the delegate is not what its graph takes").expected(what.to_owned(), found.to_owned())
    };
    match (&t.plan.values[register], passed) {
        (EValue::Tensor(meta), Passed::Tensor(value)) => {
            let (element, shape) = (meta.form.element, meta.form.on_extents().shape);
            let value = converted(t, value, element)?;
            let found: Vec<Extent> = t.graph.extents(value);
            t.define(register, value)?;
            Ok(found == shape)
        }
        (EValue::Int(_), Passed::Number(number)) => {
            t.environment.registers[register] = number;
            Ok(false)
        }
        // An integer that the program has in a tensor.
        (EValue::Int(_), Passed::Tensor(value)) => {
            let value = t.graph.reshape(value, &[])?;
            let form = crate::frontend::executorch::program::Form::row_major(t.graph.element(value), Vec::new());
            let definition = Definition { depth: t.outer.len(), value, form, bytes: 8 };
            t.environment.registers[register] = Register::Loaded(Rc::new(definition));
            Ok(false)
        }
        (EValue::Tensor(_), Passed::Number(_)) => Err(fault("a tensor", "a number")),
        (_, Passed::Tensor(_)) => Err(fault("what the graph says", "a tensor")),
        (_, Passed::Number(_)) => Err(fault("what the graph says", "a number")),
    }
}

/// Converts a tensor at the edge of a graph: 64 bits to 32, single precision to half, and the reverse.
fn converted(t: &mut Translator<'_, '_>, value: Value, element: ElementType) -> Result<Value, Fault> {
    let found = t.graph.element(value);
    if found == element {
        return Ok(value);
    }
    if narrows(found, element) || narrows(element, found) {
        return Ok(t.graph.convert(value, element)?);
    }
    Err(Fault::invalid("an argument of the delegate is not what its graph takes").expected(element.to_string(), found.to_string()))
}

/// Tests whether a graph may have type `narrow` for type `wide` of a program.
fn narrows(wide: ElementType, narrow: ElementType) -> bool {
    is_halved(wide, narrow) || matches!((wide, narrow), (ElementType::F32 | ElementType::F64, ElementType::F16))
}

/// Tests whether a graph has 32 bits for 64 bits of a program.
fn is_halved(wide: ElementType, narrow: ElementType) -> bool {
    matches!((wide, narrow), (ElementType::I64, ElementType::I32) | (ElementType::F64, ElementType::F32))
}

#[cfg(test)]
mod tests {
    use super::assignment;

    #[test]
    fn a_result_that_is_wanted_twice_is_found_by_its_type() {
        // The types of the results, and the types of the places.
        let assigned = |given: &str, wanted: &str| {
            let (given, wanted) = (given.as_bytes(), wanted.as_bytes());
            assignment(wanted.len(), given.len(), |place, result| wanted[place] == given[result])
        };
        assert_eq!(assigned("ab", "ab"), Some(vec![0, 1]));
        assert_eq!(assigned("ab", "aab"), Some(vec![0, 0, 1]));
        assert_eq!(assigned("ab", "aba"), Some(vec![0, 1, 0]));
        assert_eq!(assigned("aa", "aaa"), None, "either of the first two may stand twice");
        assert_eq!(assigned("ab", "aa"), Some(vec![0, 1]), "as many as there are: types are checked when they are written");
        assert_eq!(assigned("abc", "ab"), None);
        assert_eq!(assigned("a", "ab"), None);
    }
}
