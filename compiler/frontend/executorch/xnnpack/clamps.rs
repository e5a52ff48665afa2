//! Clamps that become part of the contraction before them.
//!
//! XNNPACK writes the sums of a contraction on the scale of the clamp after it where nothing else reads them. So they are rounded once, and are not
//! cut to what the scale between the two can hold.

use super::subgraph::{Function, Node, Quantization, Subgraph, Work};

/// Gives contractions the clamps after them that have another scale. With the same one it makes no difference: bytes are clamped as they are.
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

/// Which tensors one node reads, and not the caller.
fn read_once(subgraph: &Subgraph) -> Vec<bool> {
    let mut readers = vec![0u32; subgraph.tensors.len()];
    let by_nodes = subgraph.nodes.iter().flat_map(|node| node.work.operands());
    for tensor in by_nodes.chain(subgraph.outputs.iter().map(|external| external.tensor)) {
        readers[tensor] = readers[tensor].saturating_add(1);
    }
    readers.into_iter().map(|count| count == 1).collect()
}

/// What a clamp reads.
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

/// What two clamps leave, if anything.
fn both(first: Option<(f32, f32)>, second: Option<(f32, f32)>) -> Option<(f32, f32)> {
    let [first, second] = [first, second].map(|clamp| clamp.unwrap_or((f32::NEG_INFINITY, f32::INFINITY)));
    let (low, high) = (first.0.max(second.0), first.1.min(second.1));
    (low <= high).then_some((low, high))
}
