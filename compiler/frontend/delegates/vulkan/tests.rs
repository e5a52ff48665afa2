//! Graphs as their files have them: containers, values, constants, calls.

use super::{Graph, read};
use crate::diagnostic::Diagnostic;
use crate::frontend::delegates::container::Source;
use crate::frontend::delegates::graph::Buffer;
use crate::frontend::executorch::program::{EValue, Instruction};
use crate::schema::vulkan::{
    Double, DoubleArgs, GraphTypes, Int, IntArgs, IntList, IntListArgs, Null, NullArgs, OperatorCall, OperatorCallArgs, ValueList,
    ValueListArgs, VkBytes, VkBytesArgs, VkDataType, VkGraph, VkGraphArgs, VkTensor, VkTensorArgs, VkValue, VkValueArgs,
};
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

/// A value of a graph.
enum V<'a> {
    Null,
    Int(i64),
    Double(f64),
    Tensor(VkDataType, &'a [u32], i32),
    Ints(&'a [i64]),
    /// No integers, after that many other empty lists: where no integer could lie, one time of two.
    NoInts(usize),
    List(&'a [i32]),
}

/// The contents of a graph.
struct Said<'a> {
    values: Vec<V<'a>>,
    inputs: &'a [u32],
    outputs: &'a [u32],
    calls: Vec<(&'a str, &'a [i32])>,
    /// Offset, length and key.
    constants: Vec<(u64, u64, Option<&'a str>)>,
    identifier: Option<&'a str>,
}

const F32: VkDataType = VkDataType::FLOAT32;

/// The sum of an input and a constant of four floats, the constant doubled.
fn sum<'a>() -> Said<'a> {
    Said {
        values: vec![V::Tensor(F32, &[4], 0), V::Tensor(F32, &[4], -1), V::Double(2.0), V::Tensor(F32, &[4], -1)],
        inputs: &[1],
        outputs: &[3],
        calls: vec![("aten.add.Tensor", &[1, 0, 2, 3])],
        constants: vec![(16, 16, None)],
        identifier: Some("VK00"),
    }
}

fn value<'b>(b: &mut FlatBufferBuilder<'b>, value: &V<'_>) -> WIPOffset<VkValue<'b>> {
    let (value_type, value): (GraphTypes, WIPOffset<UnionWIPOffset>) = match value {
        V::Null => (GraphTypes::Null, Null::create(b, &NullArgs {}).as_union_value()),
        V::Int(n) => (GraphTypes::Int, Int::create(b, &IntArgs { int_val: *n }).as_union_value()),
        V::Double(x) => (GraphTypes::Double, Double::create(b, &DoubleArgs { double_val: *x }).as_union_value()),
        V::Tensor(datatype, dims, constant_id) => {
            let dims = Some(b.create_vector(dims));
            let args = VkTensorArgs { datatype: *datatype, dims, constant_id: *constant_id, mem_obj_id: -1, ..Default::default() };
            (GraphTypes::VkTensor, VkTensor::create(b, &args).as_union_value())
        }
        V::Ints(items) => {
            let items = Some(b.create_vector(items));
            (GraphTypes::IntList, IntList::create(b, &IntListArgs { items }).as_union_value())
        }
        V::NoInts(before) => {
            let lists: Vec<_> = (0..=*before).map(|_| b.create_vector::<i32>(&[])).collect();
            let items = lists.last().map(|list| WIPOffset::new(list.value()));
            (GraphTypes::IntList, IntList::create(b, &IntListArgs { items }).as_union_value())
        }
        V::List(items) => {
            let items = Some(b.create_vector(items));
            (GraphTypes::ValueList, ValueList::create(b, &ValueListArgs { items }).as_union_value())
        }
    };
    VkValue::create(b, &VkValueArgs { value_type, value: Some(value) })
}

fn tables(said: &Said<'_>) -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let values: Vec<_> = said.values.iter().map(|v| value(&mut b, v)).collect();
    let mut calls = Vec::new();
    for (name, args) in &said.calls {
        let (name, args) = (Some(b.create_string(name)), Some(b.create_vector(args)));
        calls.push(OperatorCall::create(&mut b, &OperatorCallArgs { node_id: 0, name, args }));
    }
    let mut constants = Vec::new();
    for (offset, length, key) in &said.constants {
        let named_key = key.map(|key| b.create_string(key));
        constants.push(VkBytes::create(&mut b, &VkBytesArgs { offset: *offset, length: *length, named_key }));
    }
    let args = VkGraphArgs {
        values: Some(b.create_vector(&values)),
        chain: Some(b.create_vector(&calls)),
        input_ids: Some(b.create_vector(said.inputs)),
        output_ids: Some(b.create_vector(said.outputs)),
        constants: Some(b.create_vector(&constants)),
        ..Default::default()
    };
    let graph = VkGraph::create(&mut b, &args);
    b.finish(graph, said.identifier);
    b.finished_data().to_vec()
}

/// The tables after a header, and bytes of constants after them.
fn with_header(tables: &[u8], constants: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[4..8].copy_from_slice(b"VH00");
    bytes[8..10].copy_from_slice(&30u16.to_le_bytes());
    bytes[10..14].copy_from_slice(&32u32.to_le_bytes());
    bytes[14..18].copy_from_slice(&(tables.len() as u32).to_le_bytes());
    bytes[18..22].copy_from_slice(&(32 + tables.len() as u32).to_le_bytes());
    bytes[22..30].copy_from_slice(&(constants.len() as u64).to_le_bytes());
    bytes.extend_from_slice(tables);
    bytes.extend_from_slice(constants);
    bytes
}

/// A graph with 32 bytes of constants.
fn graph(said: &Said<'_>) -> Result<Graph, Diagnostic> {
    read(&with_header(&tables(said), &(0..32).collect::<Vec<u8>>()).into(), 0, "forward")
}

#[test]
fn a_graph_becomes_registers_and_kernels() {
    let graph = graph(&sum()).expect("the graph is sound");
    assert_eq!((&graph.plan.inputs[..], &graph.plan.outputs[..]), (&[1][..], &[3][..]));
    let [Instruction::Kernel { args, .. }] = &graph.plan.instructions[..] else { panic!("one kernel") };
    assert_eq!(args[..], [1, 0, 2, 3, 3], "the result once more, as calls of programs have it");
    assert_eq!(graph.operators().collect::<Vec<_>>(), [("aten.add.Tensor", true)]);
    let [(0, Source::Bytes(data))] = &graph.constants[..] else { panic!("a constant of the delegate") };
    assert_eq!(data.bytes(), (16..32).collect::<Vec<u8>>());
    assert_eq!(graph.plan.values[2], EValue::Int(2), "equal numbers are one value, whatever their type");
}

#[test]
fn constants_may_lie_elsewhere() {
    let graph = graph(&Said { constants: vec![(u64::MAX, 16, Some("weights"))], ..sum() }).expect("the graph is sound");
    assert!(matches!(&graph.constants[..], [(0, Source::Named(name))] if name == "weights"));
}

/// A tensor that is filled from a constant and then written keeps its contents between calls. One that is only read stays a constant.
#[test]
fn filled_tensors_that_are_written_are_buffers() {
    let buffers = |result: i32| {
        let mut said = sum();
        said.values.extend([V::Tensor(F32, &[4], -1), V::Tensor(F32, &[4], -1)]);
        let args = [1, 4, 2, result];
        said.calls = vec![("et_vk.prepack.default", &[0, 4]), ("et_vk.prepack.default", &[0, 5]), ("aten.add.Tensor", &args)];
        let graph = graph(&said).expect("the graph is sound");
        graph.buffers.iter().map(|buffer| buffer.register).collect::<Vec<_>>()
    };
    assert_eq!(buffers(3), [0; 0]);
    assert_eq!(buffers(4), [4]);
    assert_eq!(buffers(5), [5]);
}

/// Operators on caches write an argument, which is no result.
#[test]
fn caches_that_are_written_are_buffers() {
    let mut said = sum();
    said.values.extend([V::Tensor(F32, &[4], -1), V::Int(0)]);
    said.calls = vec![("et_vk.prepack.default", &[0, 4]), ("update_cache.default", &[1, 4, 5, 3])];
    let graph = graph(&said).expect("the graph is sound");
    assert!(matches!(&graph.buffers[..], [buffer] if buffer.register == 4));
}

/// A constant that operators write to is filled like a buffer: with its data, once.
#[test]
fn constants_that_are_written_are_buffers() {
    let mut said = sum();
    said.values.push(V::Int(0));
    said.calls = vec![("update_cache.default", &[1, 0, 4, 3])];
    let graph = graph(&said).expect("the graph is sound");
    assert!(graph.constants.is_empty());
    let [Buffer { register: 0, initial: Source::Bytes(data), .. }] = &graph.buffers[..] else { panic!("a buffer") };
    assert_eq!(data.bytes(), (16..32).collect::<Vec<u8>>());
}

#[test]
fn members_of_lists_have_registers_of_their_own() {
    let mut said = sum();
    said.values.extend([V::Ints(&[7, -1, 7]), V::Int(9), V::List(&[5, 2]), V::Null, V::List(&[1, 7])]);
    said.values[2] = V::Int(3);
    let graph = graph(&said).expect("the graph is sound");
    assert_eq!(graph.plan.values[4], EValue::Ints(vec![9, 10, 9]));
    assert_eq!(graph.plan.values[9..], [EValue::Int(7), EValue::Int(-1)]);
    assert_eq!(graph.plan.values[6], EValue::Ints(vec![5, 2]));
    assert_eq!(graph.plan.values[8], EValue::OptionalTensors(vec![Some(1), None]));
}

/// Exporters align the numbers of lists, and so do not align empty ones.
#[test]
fn empty_lists_may_lie_anywhere() {
    let mut said = sum();
    said.values.extend([V::NoInts(0), V::NoInts(1), V::NoInts(2), V::NoInts(3)]);
    let graph = graph(&said).expect("the graph is sound");
    assert!(graph.plan.values[4..8].iter().all(|value| *value == EValue::Ints(Vec::new())));
}

/// Arguments for element types are the functions' alone, and a list of results is as many results.
#[test]
fn arguments_are_those_of_kernels() {
    let args = |name: &str, args: &[i32]| {
        let mut said = sum();
        said.values.extend([V::Null, V::List(&[3, 1])]);
        said.calls = vec![(name, args)];
        let graph = graph(&said).expect("the graph is sound");
        match &graph.plan.instructions[..] {
            [Instruction::Kernel { args, .. }] => args.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(args("aten.full.default", &[4, 2, 4, 4, 4, 4, 3]), [4, 2, 3, 3]);
    assert_eq!(args("aten.max_pool2d_with_indices.default", &[1, 4, 4, 4, 4, 4, 5]), [1, 4, 4, 4, 4, 4, 3, 1, 5]);
    assert_eq!(args("aten.split_with_sizes_copy.default", &[1, 4, 2, 5]), [1, 4, 2, 5, 5]);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let with = |change: &dyn Fn(&mut Said<'_>)| {
        let mut said = sum();
        change(&mut said);
        graph(&said).map(|_| ()).expect_err("the graph contradicts itself").message
    };
    assert!(with(&|said| said.inputs = &[4]).contains("input 4 does not exist"));
    assert!(with(&|said| said.outputs = &[9]).contains("output 9 does not exist"));
    assert!(with(&|said| said.calls = vec![("aten.add.Tensor", &[1, 0, 2, 7])]).contains("value 7 does not exist"));
    assert!(with(&|said| said.calls = vec![("aten.add.Tensor", &[-1, 0, 2, 3])]).contains("value -1 does not exist"));
    assert!(with(&|said| said.calls = vec![("aten.add.Tensor", &[])]).contains("no result"));
    assert!(with(&|said| said.calls = vec![("aten.full.default", &[1, 3])]).contains("too few arguments"));
    assert!(with(&|said| said.values[0] = V::Tensor(F32, &[4], 1)).contains("constant 1 does not exist"));
    assert!(with(&|said| said.values[0] = V::Tensor(VkDataType(99), &[4], 0)).contains("element type 99"));
    assert!(with(&|said| said.values[0] = V::Tensor(F32, &[u32::MAX], 0)).contains("too large"));
    assert!(with(&|said| said.values[2] = V::List(&[5])).contains("value 5 does not exist"));
    assert!(with(&|said| said.constants = vec![(17, 16, None)]).contains("extends beyond its end"));
    assert!(with(&|said| said.identifier = Some("VK01")).contains("unknown version"));
    assert!(with(&|said| said.identifier = None).contains("unknown version"));
}

#[test]
fn ranges_of_the_header_stay_inside_the_delegate() {
    let sound = with_header(&tables(&sum()), &[0; 32]);
    let read = |bytes: Vec<u8>| read(&bytes.into(), 0, "forward").map(|_| ());
    assert!(read(sound.clone()).is_ok());
    for (at, number) in [(10, u32::MAX), (14, u32::MAX), (14, sound.len() as u32), (18, u32::MAX), (22, 33), (26, 1)] {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        assert!(read(bytes).is_err(), "{number} at {at}");
    }
    for length in 0..sound.len() {
        let _ = read(sound[..length].to_vec());
    }
}
