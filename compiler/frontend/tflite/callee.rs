//! Subgraphs as separate functions: the ways of a branch, the condition and the body of a loop.
//!
//! A function takes the run-time extents that it needs of the function around it (`operators/graph/captured.rs`), then tensors, then an effect token if
//! it has effects. Integers that are computed from such extents are computed again inside, so that they are known there.

use super::counter::Counter;
use super::error::{invalid, unsupported};
use super::lengths::{Change, Grown, changes};
use super::subgraph::{Lowering, Slot};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Constant, Definition, ElementType, Extent, Func, Function, Module, Op, TensorType, Type, Value, ValueData};
use crate::operators::Graph;
use crate::operators::graph::Compared;
use crate::operators::graph::captured::{self, Captures};
use crate::operators::graph::elements::{Elements, ListItem};

/// The maximum number of a tensor's integers that are known inside if they follow from run-time extents. Longer tensors are parameters.
const MOST_SIZES: u64 = 32;

/// The argument for an input of a subgraph that becomes a function.
#[derive(Clone)]
pub(super) enum Argument {
    /// A tensor of the outer function, which becomes a parameter.
    Tensor(Value),
    /// A constant, known inside.
    Constant(Constant),
    /// Integers that follow from extents of the outer function, in a tensor of this type; known inside.
    Sizes(Vec<ListItem>, TensorType),
    /// A tensor whose length changes in each iteration: two parameters.
    Grown(Grown),
    /// A handle of a variable, known inside.
    Variable(usize),
}

/// One output of a subgraph that became a function.
pub(super) enum Returned {
    /// The next result of the function.
    Value,
    /// A handle of a variable.
    Variable(usize),
}

/// The role of a subgraph for which it is translated.
#[derive(Clone, Copy)]
pub(super) enum Part<'c> {
    /// A branch. Extents of its results are the outer function's.
    Way,
    /// The condition.
    Condition,
    /// The body of a loop, with its counters. Extents of its results are the parameters'.
    Round(&'c [Counter]),
}

/// A subgraph translated to a function that has no parameter list yet.
pub(super) struct Callee {
    pub function: Function,
    captures: Captures,
    /// The parameters that are tensors, in the order of the arguments.
    tensors: Vec<Value>,
    pub outputs: Vec<Returned>,
    /// Extents of an iteration's results that differ from the ones before.
    pub changes: Vec<Change>,
    /// Extents of a branch's results, and by how much each exceeds an extent of the outer function at most.
    increases: Vec<(Extent, Value, i64)>,
    pub has_effect: bool,
}

impl<'a> Lowering<'a, '_> {
    /// Lowers subgraph number `index` as a function; `None` when that failed, and the diagnostics are kept.
    pub fn callee(&mut self, index: usize, arguments: &[Argument], part: Part<'_>) -> Result<Option<Callee>, Diagnostic> {
        let subgraph = self.shared.open(index)?;
        let name = subgraph.name.clone();
        let limits = if matches!(part, Part::Way) { self.graph.limits() } else { vec![] };
        let mut inner = Lowering::new(subgraph, &mut *self.shared, &mut *self.graph.builder.module, self.is_initialising);
        inner.graph.compares = Compared::All;
        inner.graph.follows_rounds = self.graph.follows_rounds;
        let outcome = inner.function_of(&mut self.graph.builder.function, arguments, (part, &limits));
        let found = std::mem::take(&mut inner.diagnostics);
        self.shared.close();
        let failed = !found.is_empty();
        self.diagnostics.extend(found.into_iter().map(|diagnostic| diagnostic.in_function(&name)));
        if failed { Ok(None) } else { outcome.map(Some).map_err(|diagnostic| diagnostic.in_function(name)) }
    }

    /// Lowers everything of this subgraph and ends its function. `limits` are known in the function around.
    fn function_of(
        &mut self,
        around: &mut Function,
        arguments: &[Argument],
        (part, limits): (Part<'_>, &[(Value, Extent)]),
    ) -> Result<Callee, Diagnostic> {
        let (mut captures, mut tensors, mut given) = (Captures::new(), Vec::new(), Vec::new());
        for argument in arguments {
            given.push(self.argument(around, &mut captures, &mut tensors, argument)?);
        }
        self.graph.inherit(around, &captures, limits);
        if let Part::Round(counters) = part {
            counters.iter().try_for_each(|counter| self.count(counter, &given))?;
        }
        self.give(&given)?;
        self.operators();
        let (mut values, mut outputs, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        for (position, slot) in self.outputs()?.into_iter().enumerate() {
            outputs.push(match slot {
                Slot::Value(value) => {
                    match (part, arguments.get(position), given.get(position)) {
                        (Part::Round(_), Some(argument), Some(&Slot::Value(before))) => {
                            changes.extend(self.handed_on(position, argument, [before, value], &mut values)?);
                        }
                        // The other branch may compute a value that is a packed constant here.
                        _ => values.push(self.graph.unpacked(value)?),
                    }
                    Returned::Value
                }
                Slot::Variable(variable) => Returned::Variable(variable),
                Slot::Unwritten | Slot::Poisoned => return Err(unsupported("an output depends on what is not supported")),
            });
        }
        let mut increases = vec![];
        if matches!(part, Part::Way) {
            self.lift(around, &mut captures, &values);
            increases = self.increases(&captures, &values);
        }
        let has_effect = self.effect.is_some();
        values.extend(self.effect);
        let mut function = std::mem::take(&mut self.graph.builder.function);
        captured::settle(&captures, &mut function);
        function.results = values;
        Ok(Callee { function, captures, tensors, outputs, changes, increases, has_effect })
    }

    /// Adds the parts of an output that an iteration hands on to the results. Returns the change of its extent, if any.
    fn handed_on(
        &mut self,
        output: usize,
        argument: &Argument,
        [before, after]: [Value; 2],
        results: &mut Vec<Value>,
    ) -> Result<Option<Change>, Diagnostic> {
        match argument {
            Argument::Tensor(_) => {
                let (value, change) = self.kept(output, [after, before], None)?;
                results.push(value);
                Ok(change)
            }
            Argument::Grown(grown) => {
                let (after, change) = self.kept(output, [after, before], Some(grown.axis))?;
                let (written, longer) = grown.written(&mut self.graph, [before, after], output)?;
                results.extend(written);
                Ok(change.or(longer))
            }
            // The next iteration knows known inputs anyway.
            Argument::Constant(_) | Argument::Sizes(..) | Argument::Variable(_) => Ok(None),
        }
    }

    /// Returns a parameter for a tensor of the outer function.
    fn parameter(&mut self, around: &Function, captures: &mut Captures, value: Value) -> Value {
        let mut ty = around.tensor(value).clone();
        for extent in &mut ty.shape {
            *extent = captured::capture_extent(captures, around, &mut self.graph.builder.function, *extent);
        }
        self.graph.builder.param(Type::Tensor(ty), None)
    }

    fn argument(
        &mut self,
        around: &Function,
        captures: &mut Captures,
        tensors: &mut Vec<Value>,
        argument: &Argument,
    ) -> Result<Slot, Diagnostic> {
        Ok(match argument {
            Argument::Tensor(value) => {
                tensors.push(self.parameter(around, captures, *value));
                Slot::Value(tensors[tensors.len() - 1])
            }
            Argument::Grown(grown) => {
                let [buffer, length] = [grown.buffer, grown.length].map(|value| self.parameter(around, captures, value));
                tensors.extend([buffer, length]);
                Slot::Value(grown.tensor(&mut self.graph, buffer, length)?)
            }
            Argument::Constant(constant) => Slot::Value(self.graph.builder.constant(*constant)?),
            Argument::Sizes(list, ty) => {
                let mut inside = |item: &ListItem, function: &mut Function| match *item {
                    ListItem::Index(index) => ListItem::Index(captured::capture(captures, around, function, index)),
                    known @ ListItem::Number(_) => known,
                };
                let mut items = Vec::new();
                for item in list {
                    items.push(inside(item, &mut self.graph.builder.function));
                }
                let value = self.graph.list(&items, ty.element)?;
                Slot::Value(self.graph.reshape(value, &ty.shape)?)
            }
            Argument::Variable(variable) => Slot::Variable(*variable),
        })
    }

    /// Makes a number that counts rounds an index.
    fn count(&mut self, counter: &Counter, given: &[Slot]) -> Result<(), Diagnostic> {
        let Some(Slot::Value(tensor)) = given.get(counter.input) else { return Ok(()) };
        let limit = match counter.below {
            Some(operand) => operand.extent(&mut self.graph, given)?,
            None => None,
        };
        Ok(self.graph.count(*tensor, counter.interval, limit)?)
    }

    /// A result of a round with the extents that the next one begins with, except along the axis that may change. Says which axis changes.
    fn kept(&mut self, output: usize, [after, before]: [Value; 2], free: Option<usize>) -> Result<(Value, Option<Change>), Diagnostic> {
        let [(element, shape), (wanted, extents)] = [after, before].map(|value| (self.graph.element(value), self.graph.extents(value)));
        if element != wanted || shape.len() != extents.len() {
            return Err(changes(output));
        }
        let info = self.indices(self.subgraph.record.outputs())?.get(output).copied().flatten().map(|tensor| self.info(tensor));
        let mut value = after;
        for axis in (0..shape.len()).filter(|&axis| Some(axis) != free) {
            let claimed = matches!(&info, Some(Ok(info)) if info.open.get(axis) == Some(&false));
            let Some(kept) = self.graph.kept(value, axis, extents[axis], claimed)? else {
                let by = self.graph.most_increase(shape[axis], extents[axis]);
                return Ok((after, Some(Change { output, axis, by, most: self.graph.interval(shape[axis]).high })));
            };
            value = kept;
        }
        Ok((value, None))
    }

    /// The differences between extents of results and extents that the function shares with the outer one, as far as they are bounded.
    fn increases(&self, captures: &Captures, results: &[Value]) -> Vec<(Extent, Value, i64)> {
        let open = results.iter().flat_map(|&value| self.graph.extents(value)).filter(|extent| extent.as_static().is_none());
        let more = |extent, inner| self.graph.most_increase(extent, Extent::Value(inner));
        open.flat_map(|extent| captures.iter().filter_map(move |&(outer, inner)| Some((extent, outer, more(extent, inner)?)))).collect()
    }

    /// Makes the extents of results known in the outer function, where they follow from its indices.
    fn lift(&mut self, around: &mut Function, captures: &mut Captures, results: &[Value]) {
        for &value in results {
            let extents = self.graph.extents(value);
            for extent in &extents {
                if let Extent::Value(index) = *extent {
                    captured::lift(captures, around, self.graph.function(), index);
                }
            }
            if let Type::Tensor(ty) = &mut self.graph.builder.function.values[value].ty {
                ty.shape = extents;
            }
        }
    }
}

impl Argument {
    /// Chooses the argument for an operand. Constants are known inside if every call gives the same. So are integers that follow from extents, if
    /// `with_sizes` is set.
    pub fn of(graph: &mut Graph<'_>, slot: Slot, same_in_every_call: bool, with_sizes: bool) -> Result<Self, Diagnostic> {
        let value = match slot {
            Slot::Value(value) if same_in_every_call => value,
            Slot::Value(value) => return Ok(Self::Tensor(value)),
            Slot::Variable(variable) => return Ok(Self::Variable(variable)),
            Slot::Unwritten | Slot::Poisoned => return Err(invalid(codes::READ_BEFORE_WRITTEN, "an operand has no contents")),
        };
        if let Some(constant) = graph.constant_of(value) {
            return Ok(Self::Constant(constant));
        }
        let sizes = if with_sizes { sizes(graph, value)? } else { None };
        Ok(sizes.map_or(Self::Tensor(value), |list| Self::Sizes(list, graph.function().tensor(value).clone())))
    }

    /// The tensors among arguments.
    pub fn tensors(arguments: &[Self]) -> impl Iterator<Item = Value> + '_ {
        let values = |argument: &Self| match argument {
            Self::Tensor(value) => vec![*value],
            Self::Grown(grown) => vec![grown.buffer, grown.length],
            Self::Constant(_) | Self::Sizes(..) | Self::Variable(_) => vec![],
        };
        arguments.iter().flat_map(values)
    }
}

/// The integers of a tensor, if all are known and some are run-time extents.
fn sizes(graph: &mut Graph<'_>, value: Value) -> Result<Option<Vec<ListItem>>, Diagnostic> {
    let ty = graph.function().tensor(value);
    let count = ty.static_elements().filter(|&count| count <= MOST_SIZES && matches!(ty.element, ElementType::I32 | ElementType::I64));
    let (mut elements, mut list) = (Elements::default(), Vec::new());
    for position in 0..count.unwrap_or(0) {
        let Some(item) = elements.item(graph, value, position)? else { return Ok(None) };
        list.push(item);
    }
    Ok(Some(list).filter(|list| list.iter().any(|item| matches!(item, ListItem::Index(_)))))
}

impl Callee {
    /// The results that are tensors.
    pub fn values(&self) -> &[Value] {
        &self.function.results[..self.function.results.len() - usize::from(self.has_effect)]
    }

    /// The counterpart of a result's extent in the outer function; `None` if only the subgraph knows it.
    pub fn outside(&self, around: &Function, extent: Extent) -> Option<Extent> {
        match extent {
            Extent::Value(index) => self.outer(index).map(|outer| around.resolved(Extent::Value(outer))),
            known @ Extent::Static(_) => Some(known),
        }
    }

    /// Extents of the outer function, with the maximum by which an extent of a result exceeds each.
    pub fn increases(&self, extent: Extent) -> impl Iterator<Item = (Value, i64)> + '_ {
        self.increases.iter().filter(move |(of, ..)| *of == extent).map(|&(_, outer, more)| (outer, more))
    }

    fn outer(&self, inner: Value) -> Option<Value> {
        self.captures.iter().find(|(_, other)| *other == inner).map(|(outer, _)| *outer)
    }

    /// Adds an effect token as parameter, and as result if `returns`, if the function has none.
    pub fn take_effect(&mut self, returns: bool) {
        match (self.has_effect, returns) {
            (false, _) => {
                let token = self.function.add_param(Type::Effect, None);
                self.function.results.extend(returns.then_some(token));
            }
            (true, false) => {
                self.function.results.pop();
            }
            (true, true) => {}
        }
        self.has_effect = true;
    }

    /// Tests whether the function may write variables, itself or in functions that it calls.
    pub fn may_write(&self) -> bool {
        let insts = self.function.body.iter().map(|&inst| self.function.insts[inst].op());
        self.has_effect && insts.into_iter().any(|op| matches!(op, Op::StoreState | Op::If | Op::While))
    }

    /// The indices of the outer function that at least one of some functions takes, each once.
    pub fn common(callees: &[&Self]) -> Vec<Value> {
        let mut indices = Vec::new();
        for callee in callees {
            let used = captured::used(&callee.function);
            for &(outer, inner) in &callee.captures {
                if used.contains(&inner) && !indices.contains(&outer) {
                    indices.push(outer);
                }
            }
        }
        indices
    }

    /// Sets the function's parameters, with the outer function's indices in front, and adds it to the module. A loop's body also returns the indices.
    pub fn finish(self, module: &mut Module, around: &Function, indices: &[Value], hands_on: bool) -> Func {
        let Self { mut function, captures, mut tensors, .. } = self;
        let mut params = Vec::new();
        for &outer in indices {
            let known = captures.iter().find(|(other, _)| *other == outer).map(|(_, inner)| *inner);
            let ty = around.values[outer].ty.clone();
            params.push(known.unwrap_or_else(|| function.values.push(ValueData { ty, definition: Definition::Param(0), name: None })));
        }
        if hands_on {
            function.results.splice(0..0, params.iter().copied());
        }
        params.append(&mut tensors);
        params.extend(function.params.iter().copied().find(|&param| function.values[param].ty == Type::Effect));
        for (number, &param) in params.iter().enumerate() {
            function.values[param].definition = Definition::Param(number as u32);
        }
        function.params = params;
        module.functions.push(function)
    }
}
