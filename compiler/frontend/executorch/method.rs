//! A method as a whole: parameters, states, instructions, results.

use super::effects::{effects, range_in_file};
use super::fault::Fault;
use super::graph;
use super::memory::{Area, ByteRange, Content, Definition};
use super::program::{EValue, Form, Plan, Storage, TensorMeta};
use super::shared::{Shared, add_row_major};
use super::translate::{Number, Register, Translator};
use crate::diagnostic::Diagnostic;
use crate::ir::{
    Attribute, Constant, ElementType, ImportedMethodPlan, Method, Module, Op, Placement, Port, Scalar, State, StateData, TensorType, Type,
    Value,
};
use crate::operators::graph::movement::inverse;
use std::rc::Rc;

/// A method and the plan that came with it.
pub type Translated = (Method, ImportedMethodPlan);

/// A state while its method is translated.
struct Variable {
    register: usize,
    form: Form,
    range: ByteRange,
    state: State,
    loaded: Rc<Definition>,
}

/// Translates a method and adds its functions to the module.
///
/// # Errors
/// Everything that is wrong in it.
pub fn translate(shared: &mut Shared, module: &mut Module, plan: &Plan) -> Result<Translated, Vec<Diagnostic>> {
    let mut translator = Translator::new(shared, module, plan);
    match whole(&mut translator) {
        Ok((inputs, results, outputs)) if translator.faults.is_empty() => {
            let mut placements = translator.placements;
            let own = translator.scope.placements;
            translator.graph.builder.function.results = results.clone();
            let live = graph::sweep(&mut translator.graph.builder.function);
            let function = translator.graph.finish(results);
            for (value, (memory_id, offset, bytes)) in own.into_iter().filter(|(value, _)| live.contains(value)) {
                placements.push(Placement { function, value, memory_id, offset, bytes });
            }
            let method = Method { name: plan.name.clone(), function, inputs, outputs };
            Ok((method, ImportedMethodPlan { function, area_bytes: plan.area_bytes.clone(), placements }))
        }
        Ok(_) => Err(translator.faults),
        Err(fault) => {
            if let Fault::Reported(diagnostic) = fault {
                translator.faults.push(diagnostic.in_function(&plan.name));
            }
            Err(translator.faults)
        }
    }
}

/// Inputs, results, outputs.
type Interface = (Vec<Port>, Vec<Value>, Vec<Port>);

fn whole(t: &mut Translator<'_, '_>) -> Result<Interface, Fault> {
    let inputs = inputs(t)?;
    let registers = state_registers(t.plan)?;
    t.kept.extend(&registers);
    let mut effect = None;
    let mut variables = Vec::new();
    if !registers.is_empty() {
        effect = Some(t.graph.builder.param(Type::Effect, None));
    }
    for register in registers {
        if let Some(token) = effect {
            let (variable, next) = load_state(t, register, token)?;
            effect = Some(next);
            variables.push(variable);
        }
    }
    t.run(0, t.plan.instructions.len())?;
    t.graph.builder.source = None;
    let (mut results, outputs) = outputs(t)?;
    for variable in &variables {
        if let Some(token) = effect {
            effect = Some(store_state(t, variable, token)?);
        }
    }
    results.extend(effect);
    Ok((inputs, results, outputs))
}

fn port(index: usize, kept: usize, scalar: bool, form: Option<&Form>) -> Port {
    Port {
        scalar,
        dim_order: form.map(|form| form.layout.clone()).unwrap_or_default(),
        source_index: (index != kept).then_some(index as u32),
        ..Port::default()
    }
}

fn inputs(t: &mut Translator<'_, '_>) -> Result<Vec<Port>, Fault> {
    let plan = t.plan;
    let mut ports = Vec::new();
    for (i, &register) in plan.inputs.iter().enumerate() {
        match &plan.values[register] {
            EValue::Tensor(meta) => {
                let form = input_form(&t.shared.shapes, i, meta).map_err(|fault| at_port(fault, "input", i))?;
                tensor_input(t, register, &form).map_err(|fault| at_port(fault, "input", i))?;
                ports.push(port(i, ports.len(), false, Some(&form)));
            }
            // A method is exported for one value of each number and takes no other; what is passed has no effect.
            EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) => {
                let element = match &plan.values[register] {
                    EValue::Int(_) => ElementType::I64,
                    EValue::Bool(_) => ElementType::Bool,
                    _ => ElementType::F64,
                };
                t.graph.builder.param(Type::Tensor(TensorType::of(element, &[])), format!("in{i}"));
                ports.push(port(i, ports.len(), true, None));
            }
            // None and strings are not passed.
            EValue::None | EValue::String(_) => {}
            _ => return Err(at_port(Fault::unsupported("lists are no inputs"), "input", i)),
        }
    }
    Ok(ports)
}

fn at_port(fault: Fault, what: &str, index: usize) -> Fault {
    match fault {
        Fault::Reported(diagnostic) => Fault::Reported(diagnostic.about_tensor(format!("{what} {index}"))),
        Fault::Consequence => Fault::Consequence,
    }
}

/// The form of an input: of a dynamic one, the shape that the user chose within its bound.
fn input_form(shapes: &[(usize, Vec<u64>)], index: usize, meta: &TensorMeta) -> Result<Form, Fault> {
    let chosen = shapes.iter().find(|(number, _)| *number == index).map(|(_, shape)| shape);
    let Some(shape) = chosen.filter(|shape| **shape != meta.form.shape) else {
        return match meta.dynamic && chosen.is_none() {
            true => Err(Fault::unsupported("inputs of dynamic shape are not supported yet")
                .help(format!("choose a shape of at most {:?}: --shape in{index}=…", meta.form.shape))),
            false => Ok(meta.form.clone()),
        };
    };
    let fits = shape.len() == meta.form.shape.len() && shape.iter().zip(&meta.form.shape).all(|(n, bound)| n <= bound);
    if !meta.dynamic || !fits {
        let bound = if meta.dynamic { "at most " } else { "" };
        return Err(Fault::invalid("the shape chosen does not fit the input")
            .expected(format!("{bound}{:?}", meta.form.shape), format!("{shape:?}")));
    }
    Ok(Form { shape: shape.clone(), ..meta.form.clone() })
}

fn tensor_input(t: &mut Translator<'_, '_>, register: usize, form: &Form) -> Result<(), Fault> {
    let Some(range) = range_in_file(t.plan, register) else { return Err(Fault::invalid("an input is a constant")) };
    let range = ByteRange { end: range.start + form.bytes(), ..range };
    if let Register::Tensor(handle) = &mut t.environment.registers[register] {
        handle.form = form.clone();
    }
    let physical = TensorType::of(form.element, &form.physical_shape());
    let name = format!("in{}", t.graph.builder.function.params.len());
    let param = t.graph.builder.param(Type::Tensor(physical), name);
    if let Area::Planned(memory_id) = range.area {
        t.place(param, memory_id, range.start, range.end - range.start);
    }
    let logical = t.graph.transpose(param, &inverse(&graph::order(form)))?;
    let content = t.content(logical, form.clone());
    t.environment.memory.write(range, content);
    Ok(())
}

fn outputs(t: &mut Translator<'_, '_>) -> Result<(Vec<Value>, Vec<Port>), Fault> {
    let mut values = Vec::new();
    let mut ports = Vec::new();
    for (i, &register) in t.plan.outputs.iter().enumerate() {
        let (value, scalar, form) = match t.environment.registers[register].clone() {
            Register::Tensor(handle) => {
                let logical = t.read(register).map_err(|fault| at_port(fault, "output", i))?;
                (t.graph.transpose(logical, &graph::order(&handle.form))?, false, Some(handle.form))
            }
            Register::Number(number) => (number_value(t, number)?, true, None),
            Register::Loaded(definition) => (t.localize(&definition), true, None),
            Register::Unavailable(fault) => return Err(at_port(fault, "output", i)),
            Register::AsInFile(origin) => match t.plan.values[origin] {
                EValue::None => continue,
                _ => return Err(at_port(Fault::unsupported("strings and lists are no outputs"), "output", i)),
            },
        };
        values.push(value);
        ports.push(port(i, ports.len(), scalar, form.as_ref()));
    }
    Ok((values, ports))
}

fn number_value(t: &mut Translator<'_, '_>, number: Number) -> Result<Value, Fault> {
    let scalar = match number {
        Number::Int(n) => Scalar::int(ElementType::I64, n),
        Number::Bool(b) => Scalar::bool(b),
        Number::Double(x) => Scalar::float(ElementType::F64, x),
    };
    Ok(t.graph.scalar(scalar)?)
}

/// The registers whose bytes outlive a call: those with an initial value, and planned memory that is read before anything in the
/// method has written it. One register stands for each piece of memory.
fn state_registers(plan: &Plan) -> Result<Vec<usize>, Fault> {
    let mut written = Written::default();
    for &input in &plan.inputs {
        written.add(range_in_file(plan, input));
    }
    let mut found: Vec<(ByteRange, usize)> = Vec::new();
    for (register, value) in plan.values.iter().enumerate() {
        if let EValue::Tensor(TensorMeta { storage: Storage::Planned { initial: Some(_), .. }, .. }) = value {
            found.extend(range_in_file(plan, register).map(|range| (range, register)));
            written.add(range_in_file(plan, register));
        }
    }
    let mut read = |register: usize, written: &mut Written| {
        let Some(range) = range_in_file(plan, register).filter(|range| range.start < range.end) else { return };
        if matches!(range.area, Area::Planned(_)) && !written.covers(range) {
            found.push((range, register));
            written.add(Some(range));
        }
    };
    for instruction in &plan.instructions {
        let effects = effects(plan, instruction);
        for register in effects.uses {
            read(register, &mut written);
        }
        for register in effects.defines.into_iter().chain(effects.updates) {
            written.add(range_in_file(plan, register));
        }
    }
    for &output in &plan.outputs {
        read(output, &mut written);
    }
    found.sort_unstable_by_key(|(range, register)| (range.area, range.start, std::cmp::Reverse(range.end), *register));
    let mut states: Vec<(ByteRange, usize)> = Vec::new();
    for (range, register) in found {
        match states.last() {
            Some((last, _)) if last.overlaps(&range) && range.end <= last.end => {}
            Some((last, _)) if last.overlaps(&range) => {
                return Err(Fault::unsupported("two states overlap in memory without one holding the other"));
            }
            _ => states.push((range, register)),
        }
    }
    Ok(states.into_iter().map(|(_, register)| register).collect())
}

/// The bytes written so far.
#[derive(Default)]
struct Written(super::memory::Memory);

impl Written {
    fn add(&mut self, range: Option<ByteRange>) {
        if let Some(range) = range {
            self.0.write(range, Content::Unavailable(Fault::Consequence));
        }
    }

    fn covers(&self, range: ByteRange) -> bool {
        self.0.pieces(range).is_ok()
    }
}

fn load_state(t: &mut Translator<'_, '_>, register: usize, effect: Value) -> Result<(Variable, Value), Fault> {
    let EValue::Tensor(meta) = &t.plan.values[register] else { return Err(Fault::Consequence) };
    let Some(range) = range_in_file(t.plan, register) else { return Err(Fault::Consequence) };
    let initial = initial_value(t, meta)?;
    let name = t.shared.function_name(&format!("{}.{}", t.plan.name, meta.name.clone().unwrap_or_else(|| format!("state{register}"))));
    let ty = TensorType::of(meta.form.element, &meta.form.shape);
    let state = t.graph.builder.module.states.push(StateData { name, ty, initial });
    let results = t.graph.builder.inst(Op::LoadState, &[effect], vec![Attribute::State(state)])?;
    let loaded = Rc::new(Definition { depth: 0, value: results[1], form: meta.form.clone() });
    t.environment.memory.write(range, Content::Defined(loaded.clone()));
    Ok((Variable { register, form: meta.form.clone(), range, state, loaded }, results[0]))
}

fn initial_value(t: &mut Translator<'_, '_>, meta: &TensorMeta) -> Result<Option<Constant>, Fault> {
    let Storage::Planned { initial: Some((segment, index)), .. } = meta.storage else { return Ok(None) };
    let data = t.shared.file.initial_state(segment, index, meta.form.bytes())?;
    Ok(Some(add_row_major(t.graph.builder.module, &meta.form, data)))
}

/// Stores what a state's bytes hold at the end, unless it is what was loaded.
fn store_state(t: &mut Translator<'_, '_>, variable: &Variable, effect: Value) -> Result<Value, Fault> {
    let pieces = t.environment.memory.pieces(variable.range)?;
    let unchanged = matches!(&pieces[..], [piece] if piece.first == 0 && piece.content == Content::Defined(variable.loaded.clone()));
    if unchanged {
        return Ok(effect);
    }
    t.environment.registers[variable.register] = Register::Tensor(super::translate::Handle {
        place: super::translate::Place::Memory(variable.range.area, variable.range.start),
        form: variable.form.clone(),
    });
    let value = t.read(variable.register).map_err(|fault| match fault {
        Fault::Reported(_) => Fault::unsupported("memory that outlives the call is overwritten by something else"),
        Fault::Consequence => Fault::Consequence,
    })?;
    Ok(t.graph.builder.inst(Op::StoreState, &[effect, value], vec![Attribute::State(variable.state)])?[0])
}
