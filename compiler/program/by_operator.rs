//! Kernel calls by the operators that they compute.
//!
//! Operators of one kernel form one row. So do all calls that share an operator: the bands of a chain, the gates of an LSTM.

use super::call::Call;
use modelc_ir::{Source, SourceData};
use std::collections::HashMap;

/// The calls that compute some operators of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByOperator {
    /// Positions and names of the operators, in the order in which calls first compute them.
    pub operators: Vec<(u32, String)>,
    /// Indices of the calls in the list.
    pub calls: Vec<usize>,
}

/// Groups the calls of a method by operator, in the order of their first call. Calls of one kernel without operators form a row, too.
pub fn by_operator<'a>(calls: &[&'a Call], place: impl Fn(Source) -> &'a SourceData) -> Vec<ByOperator> {
    let mut sets = Sets { parents: (0..calls.len()).collect() };
    let mut first: HashMap<Key<'a>, usize> = HashMap::new();
    for (number, call) in calls.iter().enumerate() {
        let sources = call.origin.sources.iter().map(|&source| Key::Place(place(source)));
        let operators = call.origin.operators.iter().map(|(index, name)| Key::Operator(*index, name));
        let own = if call.origin.operators.is_empty() { Some(Key::Kernel(call.kernel)) } else { None };
        // Programs without positions in a file have only the numbers of operators.
        let keys: Vec<Key<'a>> = if call.origin.sources.is_empty() { operators.chain(own).collect() } else { sources.collect() };
        for key in keys {
            let other = *first.entry(key).or_insert(number);
            sets.join(other, number);
        }
    }
    let mut rows: Vec<ByOperator> = Vec::new();
    let mut row_of: HashMap<usize, usize> = HashMap::new();
    for (number, call) in calls.iter().enumerate() {
        let row = *row_of.entry(sets.root(number)).or_insert_with(|| {
            rows.push(ByOperator { operators: vec![], calls: vec![] });
            rows.len() - 1
        });
        rows[row].calls.push(number);
        for operator in &call.origin.operators {
            if !rows[row].operators.contains(operator) {
                rows[row].operators.push(operator.clone());
            }
        }
    }
    rows
}

/// A key that calls of one row share.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Place(&'a SourceData),
    Operator(u32, &'a str),
    Kernel(usize),
}

/// Disjoint sets of calls, each represented by its first call.
struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    fn root(&mut self, mut member: usize) -> usize {
        while self.parents[member] != member {
            self.parents[member] = self.parents[self.parents[member]];
            member = self.parents[member];
        }
        member
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Division, Origin};
    use modelc_ir::Module;

    fn call(kernel: usize, operators: &[u32], sources: &[Source]) -> Call {
        let operators = operators.iter().map(|&index| (index, format!("OP{index}"))).collect();
        let origin = Origin { operators, sources: sources.to_vec(), ..Origin::default() };
        Call { kernel, arguments: vec![], bounds: vec![], division: Division::Whole, origin }
    }

    fn rows(module: &Module, calls: &[Call]) -> Vec<(Vec<u32>, Vec<usize>)> {
        let rows = by_operator(&calls.iter().collect::<Vec<_>>(), |source| &module.sources[source]);
        rows.into_iter().map(|row| (row.operators.iter().map(|(index, _)| *index).collect(), row.calls)).collect()
    }

    #[test]
    fn bands_are_one_row_and_so_are_operators_that_share_a_kernel() {
        let calls =
            [call(0, &[0], &[]), call(1, &[1, 2], &[]), call(2, &[0], &[]), call(3, &[2, 3], &[]), call(9, &[], &[]), call(9, &[], &[])];
        let expected = vec![(vec![0], vec![0, 2]), (vec![1, 2, 3], vec![1, 3]), (vec![], vec![4, 5])];
        assert_eq!(rows(&Module::default(), &calls), expected);
    }

    /// A delegate is one instruction of the file, and its nodes share its number.
    #[test]
    fn nodes_of_a_delegate_are_rows_of_their_own() {
        let mut module = Module::default();
        let mut place = |tensor: &str| {
            let (function, operator_name, tensor) = ("forward".into(), "Convolution2d".into(), tensor.into());
            module.sources.push(SourceData { function, operator: 0, operator_name, tensor, gpu: false })
        };
        let (first, second, again) = (place("node 0"), place("node 1"), place("node 0"));
        let calls = [call(0, &[0], &[first]), call(0, &[0], &[second]), call(0, &[0], &[again])];
        assert_eq!(rows(&module, &calls), [(vec![0], vec![0, 2]), (vec![0], vec![1])]);
    }
}
