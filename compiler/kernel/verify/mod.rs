//! Verifier of the kernel language. A kernel that breaks a rule is a bug of a schedule. Back ends and the interpreter rely on verified kernels.
//!
//! The verifier checks:
//! - buffers,
//! - that every value is defined once, and before its uses, in the same region or one around it,
//! - the types of operands and results, and the parameters and yields of regions,
//! - that a kernel rounds in one way,
//! - the rules of grids and of independent rounds,
//! - that a joined kernel is sound for each of its members,
//! - that accesses stay inside their buffers, if their indices are sums of constants and multiples of counters with constant bounds.

mod division;
mod grid;
mod rounding;
mod rule;
mod typing;

#[cfg(test)]
mod tests;

use super::indices::Indices;
use super::text::statement_line;
use super::*;
use cranelift_entity::EntityRef;
pub use rounding::is_toward_zero;
pub use rule::{List, Rule};

/// A broken rule with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel {kernel}: {rule}{}", place.as_ref().map(|line| format!(", in `{line}`")).unwrap_or_default())]
pub struct VerifyError {
    /// The kernel's name.
    pub kernel: String,
    /// The text of the statement. `None` if the rule concerns the whole kernel.
    pub place: Option<String>,
    /// The rule.
    pub rule: Rule,
}

/// Result of a check.
type Check<T = ()> = Result<T, Rule>;

/// Checks a kernel.
///
/// # Errors
/// The first broken rule.
pub fn verify(kernel: &Kernel) -> Result<(), VerifyError> {
    if let Some(members) = kernel.members() {
        members.list.iter().try_for_each(|member| verify(&kernel.of_member(members.buffer, member)))?;
    }
    let states = vec![State::Unknown; kernel.types.len()];
    let mut verifier = Verifier { kernel, states, indices: Indices::new(&kernel.types, usize::MAX), loops: 0 };
    verifier.kernel().map_err(|mistake| VerifyError { kernel: kernel.name.clone(), place: mistake.place, rule: mistake.rule })
}

struct Mistake {
    place: Option<String>,
    rule: Rule,
}

impl From<Rule> for Mistake {
    fn from(rule: Rule) -> Self {
        Self { place: None, rule }
    }
}

/// State of a value so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    InScope,
    OutOfScope,
}

struct Verifier<'k> {
    kernel: &'k Kernel,
    states: Vec<State>,
    indices: Indices,
    /// The number of loops around the statement.
    loops: usize,
}

impl Verifier<'_> {
    fn kernel(&mut self) -> Result<(), Mistake> {
        let kernel = self.kernel;
        kernel.buffers.iter().try_for_each(check_buffer)?;
        kernel.types.iter().enumerate().try_for_each(|(i, ty)| check_type(Value::new(i), *ty))?;
        if kernel.body.params.len() != kernel.integers {
            return Err(Rule::IntegerParameters { declared: kernel.integers, found: kernel.body.params.len() }.into());
        }
        if !kernel.body.yields.is_empty() {
            return Err(Rule::BodyYields.into());
        }
        match kernel.grid {
            Some(grid) => {
                let (position, ty) = grid::check(kernel, grid)?;
                self.define(position, ty)?;
                self.indices.count_positions(position, grid);
            }
            None => kernel.body.params.iter().try_for_each(|&param| self.define(param, Type::INDEX))?,
        }
        self.statements(&kernel.body, true)?;
        grid::check_barriers(kernel)?;
        division::check(kernel)?;
        Ok(rounding::check(kernel)?)
    }

    /// Makes a value visible.
    fn define(&mut self, value: Value, ty: Type) -> Check {
        let state = self.states.get_mut(value.index()).ok_or(Rule::NoType(value))?;
        if *state != State::Unknown {
            return Err(Rule::DefinedTwice(value));
        }
        *state = State::InScope;
        expect(value, self.kernel.ty(value), ty)
    }

    /// Returns the type of a value at a use. An error if the value is not visible.
    fn ty(&self, value: Value) -> Check<Type> {
        match self.states.get(value.index()) {
            Some(State::InScope) => Ok(self.kernel.ty(value)),
            Some(State::OutOfScope) => Err(Rule::OutsideRegion(value)),
            _ => Err(Rule::NotYetDefined(value)),
        }
    }

    fn is(&self, value: Value, ty: Type) -> Check {
        expect(value, self.ty(value)?, ty)
    }

    fn yields(&self, values: &[Value], types: &[Type]) -> Check {
        same_length(List::Yields, values, types)?;
        values.iter().zip(types).try_for_each(|(&value, &ty)| self.is(value, ty))
    }

    /// Checks the statements of a region. `certain` is `true` if the region runs for all values of the counters around it.
    fn statements(&mut self, region: &Region, mut certain: bool) -> Result<(), Mistake> {
        for statement in &region.statements {
            let place = |rule| Mistake { place: Some(statement_line(self.kernel, statement)), rule };
            match &statement.inst {
                Inst::For { .. } | Inst::Divide { .. } | Inst::Loop { .. } | Inst::If { .. } => self.nest(statement, certain)?,
                inst => {
                    let computed = self.plain(statement, certain);
                    computed.map_err(place)?;
                    // After a possible failure, the next accesses may not run for every value of a counter or every position.
                    certain &= !(matches!(inst, Inst::FailIf { .. }) && (self.loops > 0 || self.kernel.grid.is_some()));
                }
            }
        }
        Ok(())
    }

    /// Checks a statement without regions.
    fn plain(&mut self, statement: &Statement, certain: bool) -> Check {
        let result = match statement.results[..] {
            [] => None,
            [result] => Some(result),
            _ => return Err(Rule::ManyResults),
        };
        let declared = match result {
            Some(value) => Some(*self.kernel.types.get(value.index()).ok_or(Rule::NoType(value))?),
            None => None,
        };
        self.typing(&statement.inst, declared)?;
        self.inside(&statement.inst, declared, certain)?;
        if let (Some(value), Some(ty)) = (result, declared) {
            self.define(value, ty)?;
            self.indices.define(value, ty, &statement.inst);
        }
        Ok(())
    }

    /// Checks a statement with regions.
    fn nest(&mut self, statement: &Statement, certain: bool) -> Result<(), Mistake> {
        let kernel = self.kernel;
        let at = |rule: Rule| Mistake { place: Some(statement_line(kernel, statement)), rule };
        match &statement.inst {
            Inst::For { start, end, step, each, carried, body, .. } => {
                let index = self.index(*start).map_err(at)?;
                self.is(*end, index).map_err(at)?;
                if *step < 1 {
                    return Err(at(Rule::Step(*step)));
                }
                if *each && !carried.is_empty() {
                    return Err(at(Rule::RoundsCarry));
                }
                let types = self.types(carried).map_err(at)?;
                let params = [&[index], &types[..]].concat();
                // If a loop may have no round or its end is unknown, accesses inside are not certain to run.
                let counter = body.params.first().filter(|param| param.index() < kernel.types.len());
                if let Some(&counter) = counter {
                    self.indices.count(counter, *start, *end, *step);
                }
                let certain = certain && counter.is_some_and(|&counter| self.indices.takes_ends(counter));
                self.loops += 1;
                self.region(body, &params, &types, certain, &at)?;
                self.loops -= 1;
                self.results(statement, &types).map_err(at)?;
            }
            Inst::Divide { extent, body, .. } => {
                let index = self.index(*extent).map_err(at)?;
                self.indices.divide(body.params.get(..2).unwrap_or_default(), *extent);
                self.region(body, &[index; 2], &[], certain, &at)?;
                self.results(statement, &[]).map_err(at)?;
            }
            Inst::Loop { carried, body } => {
                let types = self.types(carried).map_err(at)?;
                let yields = [&[Type::scalar(Lane::Mask)], &types[..]].concat();
                self.loops += 1;
                self.region(body, &types, &yields, certain, &at)?;
                self.loops -= 1;
                self.results(statement, &types).map_err(at)?;
            }
            Inst::If { condition, then, otherwise } => {
                self.is(*condition, Type::scalar(Lane::Mask)).map_err(at)?;
                let results = statement.results.iter();
                let types = results.map(|&value| kernel.types.get(value.index()).copied().ok_or(Rule::NoType(value)));
                let types = types.collect::<Check<Vec<_>>>().map_err(at)?;
                self.region(then, &[], &types, false, &at)?;
                self.region(otherwise, &[], &types, false, &at)?;
                self.results(statement, &types).map_err(at)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn types(&self, values: &[Value]) -> Check<Vec<Type>> {
        values.iter().map(|&value| self.ty(value)).collect()
    }

    /// Checks a nested region with parameters and yields of given types.
    fn region(
        &mut self,
        region: &Region,
        params: &[Type],
        yields: &[Type],
        certain: bool,
        at: &impl Fn(Rule) -> Mistake,
    ) -> Result<(), Mistake> {
        same_length(List::Parameters, &region.params, params).map_err(at)?;
        for (&param, &ty) in region.params.iter().zip(params) {
            self.define(param, ty).map_err(at)?;
        }
        self.statements(region, certain)?;
        self.yields(&region.yields, yields).map_err(at)?;
        let inside = region.statements.iter().flat_map(|statement| &statement.results);
        for value in region.params.iter().chain(inside) {
            self.states[value.index()] = State::OutOfScope;
        }
        Ok(())
    }

    fn results(&mut self, statement: &Statement, types: &[Type]) -> Check {
        same_length(List::Results, &statement.results, types)?;
        statement.results.iter().zip(types).try_for_each(|(&value, &ty)| self.define(value, ty))
    }

    /// Checks that an access at a known place stays inside its buffer, and that inputs are not written. Masked accesses may be out of range, because the
    /// mask may exclude those lanes.
    fn inside(&self, inst: &Inst, result: Option<Type>, certain: bool) -> Check {
        let (buffer, index, offset, count) = match inst {
            Inst::Load { buffer, index, offset, active, .. } => (*buffer, *index, *offset, *active),
            Inst::Store { buffer, index, offset, active, .. } => (*buffer, *index, *offset, *active),
            Inst::LoadSplat { buffer, index, offset } => (*buffer, *index, *offset, 1),
            Inst::LoadSplatGroup { buffer, index, offset, group } => (*buffer, *index, *offset, *group),
            _ => return Ok(()),
        };
        let data = self.kernel.buffer(buffer);
        if result.is_none() && data.kind == BufferKind::Input {
            return Err(Rule::StoreToInput(data.name.clone()));
        }
        if matches!(inst, Inst::Load { mask: Some(_), .. } | Inst::Store { mask: Some(_), .. }) {
            return Ok(());
        }
        // The index takes both ends of its interval. So if the interval leaves the buffer, the access does.
        if !self.indices.takes_ends(index) || !certain && self.indices.number(index).is_none() {
            return Ok(());
        }
        let (first, offset) = (self.indices.interval(index), i128::from(offset));
        let (low, high) = (i128::from(first.low) + offset, i128::from(first.high) + offset + i128::from(count) - 1);
        let outside = if low < 0 { low } else { high };
        if low < 0 || high >= i128::from(data.elements) {
            return Err(Rule::Outside { element: outside, buffer: data.name.clone(), elements: data.elements });
        }
        Ok(())
    }
}

fn expect(value: Value, found: Type, wanted: Type) -> Check {
    if found == wanted { Ok(()) } else { Err(Rule::WrongType { value, found, wanted }) }
}

fn same_length(list: List, values: &[Value], types: &[Type]) -> Check {
    if values.len() == types.len() { Ok(()) } else { Err(Rule::Count { list, found: values.len(), wanted: types.len() }) }
}

fn check_buffer(data: &BufferData) -> Check {
    let buffer = || data.name.clone();
    if data.lane == Lane::Mask {
        return Err(Rule::BufferOfMasks(buffer()));
    }
    if !data.alignment.is_power_of_two() {
        return Err(Rule::Alignment { buffer: buffer(), alignment: data.alignment });
    }
    if data.elements.checked_mul(data.lane.bytes().into()).is_none_or(|bytes| i64::try_from(bytes).is_err()) {
        return Err(Rule::BufferLength { buffer: buffer(), elements: data.elements });
    }
    Ok(())
}

fn check_type(value: Value, ty: Type) -> Check {
    if ty.lanes.is_power_of_two() { Ok(()) } else { Err(Rule::Lanes { value, lanes: ty.lanes }) }
}
