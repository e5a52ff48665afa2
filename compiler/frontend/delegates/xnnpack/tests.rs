//! Graphs as their files have them: containers old and new, ids, constants inside.

use super::read;
use super::subgraph::{Combination, External, Subgraph, Work};
use crate::diagnostic::Diagnostic;
use crate::frontend::delegates::container::Source;
use crate::ir::Interval;
use crate::schema::xnnpack::{
    Binary, BinaryArgs, Buffer, BufferArgs, OutputMinMax, OutputMinMaxArgs, XNNDatatype, XNNGraph, XNNGraphArgs, XNNTensorValue,
    XNNTensorValueArgs, XNode, XNodeArgs, XNodeUnion, XValue, XValueArgs, XValueUnion,
};
use flatbuffers::FlatBufferBuilder;

/// The variable parts of a graph that adds two tensors of four floats: input (id 7), constant (id 8), output (id 9).
struct Sum {
    operands: [u32; 2],
    clamp: (f32, f32),
    constant: u32,
    output: u32,
    datatype: XNNDatatype,
}

const SOUND: Sum = Sum { operands: [7, 8], clamp: (0.0, 6.0), constant: 1, output: 9, datatype: XNNDatatype::xnn_datatype_fp32 };

/// The tables of the graph with its constant, in the first version of the format.
fn tables(sum: &Sum, identifier: Option<&str>) -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let mut values = Vec::new();
    for (id, flags, constant_buffer_idx, external_id) in [(7, 1, 0, 0), (8, 0, sum.constant, u32::MAX), (sum.output, 2, 0, 1)] {
        let dims = Some(b.create_vector(&[4u32]));
        let arguments = XNNTensorValueArgs {
            datatype: sum.datatype,
            num_dims: 1,
            dims,
            constant_buffer_idx,
            external_id,
            flags,
            id_out: id,
            ..Default::default()
        };
        let tensor = XNNTensorValue::create(&mut b, &arguments);
        let (xvalue_union_type, xvalue_union) = (XValueUnion::XNNTensorValue, Some(tensor.as_union_value()));
        values.push(XValue::create(&mut b, &XValueArgs { xvalue_union_type, xvalue_union }));
    }
    let [input1_id, input2_id] = sum.operands;
    let node = Binary::create(&mut b, &BinaryArgs { input1_id, input2_id, output_id: 9, flags: 0 });
    let clamp = OutputMinMax::create(&mut b, &OutputMinMaxArgs { output_min: sum.clamp.0, output_max: sum.clamp.1 });
    let (xnode_union_type, xnode_union) = (XNodeUnion::XNNAdd, Some(node.as_union_value()));
    let node = XNode::create(&mut b, &XNodeArgs { xnode_union_type, xnode_union, debug_handle: 0, output_min_max: Some(clamp) });
    let empty = Buffer::create(&mut b, &BufferArgs::default());
    let bytes = b.create_vector(&[0u8, 0, 128, 63].repeat(4));
    let storage = Buffer::create(&mut b, &BufferArgs { storage: Some(bytes) });
    let (xnodes, xvalues) = (Some(b.create_vector(&[node])), Some(b.create_vector(&values)));
    let constant_buffer = Some(b.create_vector(&[empty, storage]));
    let graph = XNNGraph::create(&mut b, &XNNGraphArgs { xnodes, xvalues, constant_buffer, ..Default::default() });
    b.finish(graph, identifier);
    b.finished_data().to_vec()
}

/// The tables after a header.
fn with_header(tables: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[4..8].copy_from_slice(b"XH00");
    bytes[8..10].copy_from_slice(&30u16.to_le_bytes());
    bytes[10..14].copy_from_slice(&32u32.to_le_bytes());
    bytes[14..18].copy_from_slice(&(tables.len() as u32).to_le_bytes());
    bytes[18..22].copy_from_slice(&(32 + tables.len() as u32).to_le_bytes());
    bytes.extend_from_slice(tables);
    bytes
}

fn graph(bytes: Vec<u8>) -> Result<Subgraph, Diagnostic> {
    read(&bytes.into())
}

#[test]
fn old_and_new_containers_hold_the_same_graph() {
    for bytes in [tables(&SOUND, None), tables(&SOUND, Some("XN00")), with_header(&tables(&SOUND, Some("XN01")))] {
        let graph = graph(bytes).expect("the graph is sound");
        assert_eq!(
            (&graph.inputs[..], &graph.outputs[..]),
            (&[External { argument: 0, tensor: 0 }][..], &[External { argument: 1, tensor: 2 }][..])
        );
        let [node] = &graph.nodes[..] else { panic!("one node") };
        assert!(matches!(node.work, Work::Binary { combination: Combination::Add, inputs: [0, 1] }), "{node:?}");
        assert_eq!((node.clamp, node.output), (Some(Interval::new(0.0, 6.0)), 2));
        let Source::Bytes(data) = &graph.constants[graph.tensors[1].constant.expect("a constant")] else { panic!("bytes") };
        assert_eq!(data.bytes(), [0u8, 0, 128, 63].repeat(4));
    }
}

#[test]
fn results_that_a_graph_does_not_give_are_found() {
    let graph = graph(with_header(&tables(&SOUND, Some("XN01")))).expect("the graph is sound");
    assert_eq!(graph.missing(2).count(), 0);
    assert_eq!(graph.missing(4).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let cases = [
        ("no tensor of id 3", Sum { operands: [7, 3], ..SOUND }),
        ("no tensor of id 9", Sum { output: 5, ..SOUND }),
        ("two tensors", Sum { output: 7, ..SOUND }),
        ("constant 2 does not exist", Sum { constant: 2, ..SOUND }),
        ("out of order", Sum { clamp: (1.0, 0.0), ..SOUND }),
        ("out of order", Sum { clamp: (f32::NAN, 0.0), ..SOUND }),
        ("elements of type", Sum { datatype: XNNDatatype(99), ..SOUND }),
    ];
    for (message, sum) in cases {
        let error = graph(with_header(&tables(&sum, Some("XN01")))).expect_err(message);
        assert!(error.message.contains(message), "{error} instead of {message}");
    }
    assert!(graph(tables(&SOUND, Some("XN07"))).is_err_and(|error| error.message.contains("version")));
}

#[test]
fn ranges_of_the_header_stay_inside_the_blob() {
    let sound = with_header(&tables(&SOUND, Some("XN01")));
    for (at, number) in [(10, u32::MAX), (14, u32::MAX), (14, sound.len() as u32), (18, u32::MAX), (22, 1), (26, 1)] {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        assert!(graph(bytes).is_err(), "{number} at {at}");
    }
    for length in 0..sound.len() {
        let _ = graph(sound[..length].to_vec());
    }
    assert!(graph(Vec::new()).is_err());
}

/// The first version counted 32-bit integers where later ones have unsigned bytes.
#[test]
fn the_first_version_numbers_its_types_otherwise() {
    use super::subgraph::Datatype;
    use crate::ir::ElementType;
    let sum = Sum { datatype: XNNDatatype(4), ..SOUND };
    let element = |bytes| graph(bytes).expect("the graph is sound").tensors[0].datatype;
    assert_eq!(element(tables(&sum, None)), Datatype::Element(ElementType::I32));
    assert_eq!(element(tables(&sum, Some("XN01"))), Datatype::Element(ElementType::U8));
}
