//! A method as a whole: parameters, states, instructions, results.

use super::effects::{effects, range_in_file};
use super::fault::Fault;
use super::graph;
use super::memory::{Area, ByteRange, Content, Definition};
use super::ports::{inputs, outputs};
use super::program::{EValue, Form, Initial, Plan, Storage, TensorMeta};
use super::registers::{Handle, Register, TensorPlace};
use super::shared::{Shared, add_row_major};
use super::states::{SharedStates, may_be_shared};
use super::translate::Translator;
use crate::diagnostic::Diagnostic;
use crate::ir::{Constant, ImportedMethodPlan, Method, Module, Placement, Port, State, StateData, TensorType, Type, Value};
use std::rc::Rc;

/// A method and the plan that came with it.
pub type Translated = (Method, ImportedMethodPlan);

/// Notes the states of all methods. A state of one method is a state in every method that has it.
pub fn note_states(states: &mut SharedStates, plans: &[Plan]) {
    for plan in plans {
        // Faults of a method's states are reported when the method is translated.
        for register in state_registers(plan, states).unwrap_or_default() {
            states.note(plan, register);
        }
    }
}

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
/// All errors in the method. The list is empty if it must be translated again, with narrower extents ([`Shared::is_renewed`]).
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
            if let Fault::Reported(diagnostic) = translator.settled(fault) {
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
    let registers = state_registers(t.plan, &t.shared.states)?;
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

/// The registers whose bytes outlive a call: registers with an initial value, and buffers of delegates. So does planned memory that is read before
/// anything in the method writes it, or that is a state in another method. One register stands for each piece of memory.
fn state_registers(plan: &Plan, shared: &SharedStates) -> Result<Vec<usize>, Fault> {
    let mut written = Written::default();
    for &input in &plan.inputs {
        written.add(range_in_file(plan, input));
    }
    let mut found: Vec<(ByteRange, usize)> = Vec::new();
    for (register, value) in plan.values.iter().enumerate() {
        let is_kept = matches!(
            value,
            EValue::Tensor(TensorMeta { storage: Storage::Planned { initial: Some(_), .. } | Storage::Buffer { .. } | Storage::Drawn, .. })
        );
        if is_kept || shared.is_one(plan, register) {
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
    // Views of a state are row major: the tensor that they are views of says how its first value lies.
    let is_row_major = |register: usize| !matches!(&plan.values[register], EValue::Tensor(meta) if meta.form.layout.order().is_some());
    let key = |register: usize| (is_row_major(register), register);
    found.sort_unstable_by_key(|(range, register)| (range.area, range.start, std::cmp::Reverse(range.end), key(*register)));
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
    let state = match t.shared.states.find(t.plan, register, &meta.form)? {
        Some(state) => state,
        None => new_state(t, register, meta)?,
    };
    let results = t.graph.builder.load_state(effect, state)?;
    let loaded = Rc::new(Definition { depth: 0, value: results[1], form: meta.form.on_extents(), bytes: meta.form.bytes() });
    t.environment.memory.write(range, Content::Defined(loaded.clone()));
    Ok((Variable { register, form: meta.form.clone(), range, state, loaded }, results[0]))
}

fn new_state(t: &mut Translator<'_, '_>, register: usize, meta: &TensorMeta) -> Result<State, Fault> {
    let initial = initial_value(t, meta)?;
    let name = t.shared.function_name(&format!("{}.{}", t.plan.name, meta.name.clone().unwrap_or_else(|| format!("state{register}"))));
    let ty = TensorType::of(meta.form.element, &meta.form.shape);
    let state = t.graph.builder.module.states.push(StateData { name, ty, initial });
    t.shared.states.add(t.plan, register, &meta.form, state);
    Ok(state)
}

fn initial_value(t: &mut Translator<'_, '_>, meta: &TensorMeta) -> Result<Option<Constant>, Fault> {
    match &meta.storage {
        Storage::Planned { initial: Some(Initial::Segment { segment, entry }), .. } => {
            let data = t.shared.file.initial_state(*segment, *entry, meta.form.bytes())?;
            Ok(Some(add_row_major(t.graph.builder.module, &meta.form, data)))
        }
        Storage::Planned { initial: Some(Initial::External(name)), .. } => {
            Ok(Some(t.shared.external(t.graph.builder.module, name, &meta.form)?))
        }
        &Storage::Buffer { delegate, buffer } => {
            let buffer = &t.plan.delegates[delegate].graph_buffers()[buffer];
            Ok(Some(t.shared.part(t.graph.builder.module, &buffer.initial, &meta.form)?))
        }
        _ => Ok(None),
    }
}

/// Stores the contents of a state's bytes at the end, unless they are the loaded ones.
fn store_state(t: &mut Translator<'_, '_>, variable: &Variable, effect: Value) -> Result<Value, Fault> {
    let pieces = t.environment.memory.pieces(variable.range)?;
    let unchanged = matches!(&pieces[..], [piece] if piece.first == 0 && piece.content == Content::Defined(variable.loaded.clone()));
    if unchanged {
        return Ok(effect);
    }
    t.environment.registers[variable.register] = Register::Tensor(Handle {
        place: TensorPlace::Memory(variable.range.area, variable.range.start),
        form: variable.form.on_extents(),
        bytes: variable.form.bytes(),
    });
    let value = match t.read(variable.register) {
        Ok(value) => value,
        Err(Fault::Reported(_)) if is_never_read(t, variable) => return Ok(effect),
        Err(Fault::Reported(_)) => return Err(Fault::unsupported("memory that outlives the call is overwritten by something else")),
        Err(fault) => return Err(fault),
    };
    Ok(t.graph.builder.store_state(effect, value, variable.state)?)
}

/// Tests whether no instruction reads a state that belongs to this method alone, so that its final contents do not matter. The carried tensors of
/// `scan` are such states, since their initialization seems to read them.
fn is_never_read(t: &Translator<'_, '_>, variable: &Variable) -> bool {
    let function = t.graph.function();
    let is_read = function.body.iter().any(|&inst| function.uses(inst).any(|value| value == variable.loaded.value));
    !is_read && !may_be_shared(t.plan, variable.register)
}
