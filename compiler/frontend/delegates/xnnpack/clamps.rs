//! Clamps that become part of the contraction before them.
//!
//! XNNPACK writes the sums of a contraction on the scale of the clamp after it, if nothing else reads the sums. They are then rounded once, and not
//! limited to the range of the scale between the two.

use super::subgraph::{Function, Node, Quantization, Subgraph, UNBOUNDED, Work};
use crate::ir::Interval;

/// Merges clamps with another scale into the contractions before them. With the same scale this makes no difference.
pub(super) fn fold(subgraph: &mut Subgraph) {
    let is_read_once = read_once(subgraph);
    let mut producers: Vec<Option<usize>> = vec![None; subgraph.tensors.len()];
    let mut kept: Vec<Node> = Vec::with_capacity(subgraph.nodes.len());
    for node in std::mem::take(&mut subgraph.nodes) {
        let sums = clamped(&node).filter(|&sums| is_read_once[sums] && is_rescaled(subgraph, sums, node.output));
        let producer = sums.and_then(|sums| producers[sums]).filter(|&producer| is_contraction(&kept[producer]));
        let bounds = producer.and_then(|producer| both(kept[producer].clamp, node.clamp));
        if let (Some(producer), Some(bounds)) = (producer, bounds) {
            (kept[producer].output, kept[producer].clamp) = (node.output, Some(bounds));
            producers[node.output] = Some(producer);
            continue;
        }
        producers[node.output] = Some(kept.len());
        kept.push(node);
    }
    subgraph.nodes = kept;
}

/// Tests for each tensor whether exactly one node reads it, and not the caller.
fn read_once(subgraph: &Subgraph) -> Vec<bool> {
    let mut readers = vec![0u32; subgraph.tensors.len()];
    let by_nodes = subgraph.nodes.iter().flat_map(|node| node.work.operands());
    for tensor in by_nodes.chain(subgraph.outputs.iter().map(|external| external.tensor)) {
        readers[tensor] = readers[tensor].saturating_add(1);
    }
    readers.into_iter().map(|count| count == 1).collect()
}

/// The operand of a clamp; `None` for other nodes.
fn clamped(node: &Node) -> Option<usize> {
    if let Work::Unary { function: Function::Clamp, input } = node.work { Some(input) } else { None }
}

fn is_contraction(node: &Node) -> bool {
    matches!(node.work, Work::Convolution { .. } | Work::Product { .. })
}

fn is_rescaled(subgraph: &Subgraph, from: usize, to: usize) -> bool {
    let [from, to] = [from, to].map(|tensor| &subgraph.tensors[tensor]);
    let are_integers = [from, to].iter().all(|tensor| matches!(tensor.quantization, Quantization::Tensor(_)));
    are_integers && from.datatype == to.datatype && from.quantization != to.quantization
}

/// The bounds of two clamps together; `None` if no number is within both.
fn both(first: Option<Interval<f32>>, second: Option<Interval<f32>>) -> Option<Interval<f32>> {
    let [first, second] = [first, second].map(|clamp| clamp.unwrap_or(UNBOUNDED));
    let (low, high) = (first.low.max(second.low), first.high.min(second.high));
    (low <= high).then_some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::super::subgraph::{Datatype, External, Tensor};
    use super::*;
    use crate::ir::ElementType;
    use crate::operators::quantization::Affine;

    /// A product of tensors 0 and 1 with scale 1 in tensor 2, and a clamp of that scale in tensor 3.
    fn product_and_clamp(scale: f32) -> Subgraph {
        let tensor = |scale| Tensor {
            datatype: Datatype::Element(ElementType::I8),
            dims: vec![2, 2],
            quantization: Quantization::Tensor(Affine { scale, zero_point: 0 }),
            constant: None,
        };
        let product = Work::Product { input: 0, filter: 1, bias: None, turned: false };
        let clamp = Work::Unary { function: Function::Clamp, input: 2 };
        let nodes = vec![
            Node { name: "product", work: product, clamp: Some(Interval::new(-3.0, 4.0)), output: 2 },
            Node { name: "clamp", work: clamp, clamp: Some(Interval::new(0.0, 6.0)), output: 3 },
        ];
        let tensors = [1.0, 1.0, 1.0, scale].map(tensor).to_vec();
        Subgraph { tensors, nodes, inputs: vec![], outputs: vec![External { argument: 0, tensor: 3 }], constants: vec![] }
    }

    fn folded(mut subgraph: Subgraph) -> Vec<(usize, Option<Interval<f32>>)> {
        fold(&mut subgraph);
        subgraph.nodes.iter().map(|node| (node.output, node.clamp)).collect()
    }

    #[test]
    fn a_clamp_of_another_scale_is_the_products() {
        assert_eq!(folded(product_and_clamp(0.5)), [(3, Some(Interval::new(0.0, 4.0)))]);
    }

    #[test]
    fn a_clamp_of_the_same_scale_stays() {
        assert_eq!(folded(product_and_clamp(1.0)).len(), 2);
    }

    #[test]
    fn sums_that_somebody_else_reads_stay() {
        let mut subgraph = product_and_clamp(0.5);
        subgraph.outputs.push(External { argument: 1, tensor: 2 });
        assert_eq!(folded(subgraph).len(), 2);
        let mut subgraph = product_and_clamp(0.5);
        let work = Work::Binary { combination: super::super::subgraph::Combination::Add, inputs: [2, 3] };
        subgraph.nodes.push(Node { name: "add", work, clamp: None, output: 0 });
        assert_eq!(folded(subgraph).len(), 3);
    }

    #[test]
    fn bounds_that_leave_nothing_stay() {
        let mut subgraph = product_and_clamp(0.5);
        subgraph.nodes[1].clamp = Some(Interval::new(5.0, 6.0));
        assert_eq!(folded(subgraph).len(), 2);
    }
}
