//! The cheapest way to give nodes one of two labels: a minimum cut, by Dinic's algorithm (E. A. Dinic, 1970).

use std::collections::VecDeque;

/// A network of nodes and edges with capacities. An edge costs its capacity if its start has the source's label and its end has the sink's.
pub struct Network {
    edges: Vec<Edge>,
    /// The edges that leave each node; an edge and its opposite have neighbouring numbers.
    leaving: Vec<Vec<usize>>,
}

struct Edge {
    to: usize,
    /// The remaining capacity.
    left: u64,
}

/// An edge that is never cut.
pub const NEVER: u64 = u64::MAX / 4;

impl Network {
    pub const SOURCE: usize = 0;
    pub const SINK: usize = 1;

    /// Creates a network of only the source and the sink.
    pub fn new() -> Self {
        Self { edges: vec![], leaving: vec![vec![], vec![]] }
    }

    pub fn node(&mut self) -> usize {
        self.leaving.push(vec![]);
        self.leaving.len() - 1
    }

    pub fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        for (from, to, left) in [(from, to, capacity), (to, from, 0)] {
            self.leaving[from].push(self.edges.len());
            self.edges.push(Edge { to, left });
        }
    }

    /// Returns `true` for each node that has the source's label in a cheapest labelling. Among several, the labelling with the most such nodes is
    /// taken.
    pub fn most_like_source(mut self) -> Vec<bool> {
        loop {
            let levels = self.levels();
            if levels[Self::SINK].is_none() {
                break;
            }
            let mut next = vec![0; self.leaving.len()];
            while self.augment(&levels, &mut next) {}
        }
        self.cannot_reach_sink()
    }

    /// Returns each node's distance from the source along edges with remaining capacity.
    fn levels(&self) -> Vec<Option<u32>> {
        let mut levels = vec![None; self.leaving.len()];
        levels[Self::SOURCE] = Some(0);
        let mut open = VecDeque::from([Self::SOURCE]);
        while let Some(node) = open.pop_front() {
            let level = levels[node].map(|level| level + 1);
            for &edge in &self.leaving[node] {
                let Edge { to, left } = self.edges[edge];
                if left > 0 && levels[to].is_none() {
                    levels[to] = level;
                    open.push_back(to);
                }
            }
        }
        levels
    }

    /// Sends flow along one shortest path; false if there is none. `next` holds the first edge of each node that may lead on.
    fn augment(&mut self, levels: &[Option<u32>], next: &mut [usize]) -> bool {
        let mut path: Vec<usize> = vec![];
        let mut node = Self::SOURCE;
        while node != Self::SINK {
            let is_next = |edge: &usize| {
                let Edge { to, left } = self.edges[*edge];
                left > 0 && levels[to] == levels[node].map(|level| level + 1)
            };
            match self.leaving[node][next[node]..].iter().position(is_next) {
                Some(more) => {
                    next[node] += more;
                    let edge = self.leaving[node][next[node]];
                    path.push(edge);
                    node = self.edges[edge].to;
                }
                None => {
                    // Nothing leads on from here: its edge into this node is no use either.
                    next[node] = self.leaving[node].len();
                    let Some(edge) = path.pop() else { return false };
                    node = self.edges[edge ^ 1].to;
                    next[node] += 1;
                }
            }
        }
        let amount = path.iter().map(|&edge| self.edges[edge].left).min().unwrap_or(0);
        for edge in path {
            self.edges[edge].left -= amount;
            self.edges[edge ^ 1].left = self.edges[edge ^ 1].left.saturating_add(amount);
        }
        true
    }

    /// The nodes from which no edge that is not full leads to the sink.
    fn cannot_reach_sink(&self) -> Vec<bool> {
        let mut cannot = vec![true; self.leaving.len()];
        cannot[Self::SINK] = false;
        let mut open = vec![Self::SINK];
        while let Some(node) = open.pop() {
            for &edge in &self.leaving[node] {
                let from = self.edges[edge].to;
                if self.edges[edge ^ 1].left > 0 && cannot[from] {
                    cannot[from] = false;
                    open.push(from);
                }
            }
        }
        cannot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::Random;

    #[test]
    fn ties_go_to_the_source() {
        let mut network = Network::new();
        let [a, b] = [network.node(), network.node()];
        network.edge(Network::SOURCE, a, 5);
        network.edge(a, b, 5);
        network.edge(b, Network::SINK, 5);
        assert_eq!(network.most_like_source(), [true, false, true, true]);
    }

    /// The cost of a labelling.
    fn cost(edges: &[(usize, usize, u64)], labels: &[bool]) -> u64 {
        edges.iter().filter(|(from, to, _)| labels[*from] && !labels[*to]).map(|edge| edge.2).sum()
    }

    #[test]
    fn small_networks_are_cut_as_trying_all_cuts_says() {
        let mut random = Random::new(3);
        for _ in 0..300 {
            let inner = 1 + random.below(6);
            let count = 2 + random.below(16);
            let edges: Vec<_> = (0..count)
                .map(|_| (random.below(inner + 2), random.below(inner + 2), random.below(9) as u64))
                .filter(|(from, to, _)| from != to)
                .collect();
            let mut network = Network::new();
            (0..inner).for_each(|_| {
                network.node();
            });
            edges.iter().for_each(|&(from, to, capacity)| network.edge(from, to, capacity));
            let labelling =
                |bits: usize| -> Vec<bool> { [true, false].into_iter().chain((0..inner).map(|i| bits >> i & 1 == 1)).collect() };
            let all: Vec<Vec<bool>> = (0..1usize << inner).map(labelling).collect();
            let least = all.iter().map(|labels| cost(&edges, labels)).min().unwrap();
            let most = all.iter().filter(|labels| cost(&edges, labels) == least).map(|labels| labels.iter().filter(|l| **l).count()).max();
            let found = network.most_like_source();
            assert_eq!((cost(&edges, &found), Some(found.iter().filter(|l| **l).count())), (least, most), "{edges:?}");
        }
    }
}
