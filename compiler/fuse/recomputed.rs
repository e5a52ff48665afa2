//! Recomputation: readers compute cheap element-wise work themselves. A result is recomputed if its operands have fewer bytes than storing and
//! loading the result moves.

use super::compose::composed;
use super::fusions::Merge;
use super::line::{Line, Number};
use super::{Epilogue, Group, Kind, MAX_NODES, Root};
use crate::ir::{ElementType, ExpressionBuilder, Inst, InstData, Node, Op, ScalarOp, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Limit of scalar operations that each reader repeats.
const MOST_OPERATIONS: u64 = 6;

/// Readers of a result, each with the work merged into it.
type Readers = Vec<(Number, Group)>;

impl Line<'_> {
    /// Merges cheap work into all its readers, if all of them can take it and fewer bytes are moved.
    pub(super) fn recompute(&mut self) -> Vec<Merge> {
        let mut merges = Vec::new();
        for maker in self.in_order() {
            for result in self.group(maker).outputs.clone() {
                let Some((list, joined)) = self.recomputed(maker, result) else { continue };
                merges.extend(list);
                if !self.replace(maker, result, joined) {
                    break;
                }
            }
        }
        merges
    }

    /// Returns the readers of a group's result, each with the work merged into it, if that is allowed and saves memory traffic.
    fn recomputed(&self, maker: Number, result: Value) -> Option<(Vec<Merge>, Readers)> {
        let group = self.group(maker);
        let copy = cheap_part(group, result).filter(|_| !group.picks())?;
        let mut readers = self.readers_of(result);
        readers.retain(|&reader| reader != maker);
        // Copies of one instruction may be in several groups.
        let insts: FxHashSet<Inst> = readers.iter().chain([&maker]).flat_map(|&number| &self.group(number).insts).copied().collect();
        let all = insts.iter().flat_map(|&inst| self.function.uses(inst)).filter(|&v| v == result).count();
        if readers.is_empty() || self.method.uses.get(&result) != Some(&all) {
            return None;
        }
        let bytes = |value: Value| self.function.bound_bytes(self.function.stored_type(value)).unwrap_or(u64::MAX);
        let read = copy.inputs(self.function).into_iter().map(bytes).fold(0, u64::saturating_add);
        let count = readers.len() as u64;
        // The group that would store it reads all this anyway, if it has another result.
        let own = if group.outputs.len() == 1 { read } else { 0 };
        if read.saturating_mul(count) >= bytes(result).saturating_mul(count + 1).saturating_add(own) {
            return None;
        }
        let merge = |&reader: &Number| Some(Merge { first: *group.insts.first()?, second: *self.group(reader).insts.first()? });
        let merges: Vec<Merge> = readers.iter().map(merge).collect::<Option<_>>()?;
        let joined = readers.iter().map(|&reader| Some((reader, self.with_copy_of(&copy, reader)?))).collect::<Option<_>>()?;
        merges.iter().all(|&merge| self.method.fusions.allow(merge)).then_some((merges, joined))
    }

    /// Merges the work of one group into a reader of its result; `None` if the reader cannot take it.
    fn with_copy_of(&self, one: &Group, reader: Number) -> Option<Group> {
        let other = self.group(reader);
        let (result, insts) = (one.outputs[0], [&other.insts[..], &one.insts].concat());
        let nodes = |group: &Group| group.epilogue().map_or(0, |work| work.expression.nodes.len());
        if other.picks() || nodes(one) + nodes(other) > MAX_NODES {
            return None;
        }
        let kind = match &other.kind {
            Kind::Elements(_) => {
                let is_alike = self.function.tensor(other.outputs[0]).shape == self.function.tensor(result).shape;
                is_alike.then(|| Kind::Elements(composed(self.function, one, other, &other.outputs)))?
            }
            Kind::Root(root) => Kind::Root(Root { prologue: Some(self.as_prologue(one, root)?), ..root.clone() }),
            Kind::Copy(_) | Kind::Rows(_) => return None,
        };
        Some(Group { kind, insts, ..other.clone() })
    }

    /// Returns the work of a group as the prologue of a reduction of its result; `None` if the reduction cannot take it. A reduction reads each
    /// element once. Sums of floats depend on the vectors, and these on what is read.
    fn as_prologue(&self, one: &Group, root: &Root) -> Option<Epilogue> {
        let (result, data) = (one.outputs[0], &self.function.insts[root.inst]);
        let takes = data.op() == Op::Reduce && root.prologue.is_none() && data.operands == [result] && self.has_one_result(data);
        let in_epilogue = root.epilogue.iter().any(|work| work.operands.contains(&result));
        one.epilogue().filter(|_| takes && !in_epilogue).cloned()
    }

    /// Tests whether a reduction gives the same result in any order: its elements are not floats.
    fn has_one_result(&self, data: &InstData) -> bool {
        !self.function.tensor(data.operands[0]).element.is_float()
    }
}

/// Returns the part of an element-wise group that computes `result`, if it is cheap.
fn cheap_part(group: &Group, result: Value) -> Option<Group> {
    let Kind::Elements(work) = &group.kind else { return None };
    let expression = &work.expression;
    let wanted = *expression.results.get(group.outputs.iter().position(|&v| v == result)?)?;
    let mut needed = FxHashSet::from_iter([wanted]);
    for (node, data) in expression.nodes.iter().rev() {
        if needed.contains(&node) {
            needed.extend(&data.operands);
        }
    }
    let operations = || expression.nodes.iter().filter(|(node, _)| needed.contains(node)).map(|(_, data)| data.op);
    // Every operation costs at most as much as an addition.
    let (dearest, whole) = operations().map(|op| op.row().cost).fold((0, 0), |(most, sum), cost| (cost.max(most), sum + cost));
    if dearest > 1 || whole > MOST_OPERATIONS {
        return None;
    }
    // Only operands of the remaining operations stay.
    let mut operands = Vec::new();
    for op in operations() {
        if let ScalarOp::Input(i) = op {
            operands.push(work.operands[i as usize]);
        }
    }
    let types: Vec<ElementType> =
        operations().filter_map(|op| if let ScalarOp::Input(i) = op { Some(expression.inputs[i as usize]) } else { None }).collect();
    let mut builder = ExpressionBuilder::new(&types);
    let mut moved: FxHashMap<Node, Node> = FxHashMap::default();
    let mut input = 0;
    for (node, data) in expression.nodes.iter().filter(|(node, _)| needed.contains(node)) {
        let new = match data.op {
            ScalarOp::Input(_) => {
                input += 1;
                builder.input(input - 1)
            }
            op => builder.raw(op, data.operands.iter().map(|n| moved[n]).collect(), data.ty),
        };
        moved.insert(node, new);
    }
    let expression = builder.finish(vec![moved[&wanted]]);
    let kind = Kind::Elements(Epilogue { operands, expression });
    Some(Group { kind, insts: group.insts.clone(), reads: vec![], outputs: vec![result] })
}
