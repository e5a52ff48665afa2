//! Tests of the runtime's functions and tables: functions keep the rules of their language and are small on every target.

use super::common;
use super::functions::{FUNCTIONS, Source, Vk};
use super::modules::Modules;
use super::runtime::{Loader, Own, Runtime};
use super::tables::{self, Head, Tables, Wishes, constant_row, region_row, step};
use crate::driver::language::verify::verify;
use crate::driver::language::{Callee, Inst, Region, Statement};
use crate::select::back_end;
use modelc_interface::Layout;
use modelc_interface::device::Field;
use modelc_kernel::{BufferKind, Kernel, KernelBuilder, Lane};
use modelc_machine::GPUS;
use modelc_program::{
    Address, Bound, Crossing, Device, DeviceConstant, DeviceKernel, DeviceMemory, DeviceRegion, DeviceStep, Dispatch, Origin,
};
use modelc_target::{TARGETS, level};

/// Makes a kernel with inputs and one output, eight floats each, that does nothing.
fn kernel(name: &str, inputs: usize) -> Kernel {
    let mut b = KernelBuilder::new(name);
    for number in 0..inputs {
        b.buffer(format!("input{number}"), BufferKind::Input, Lane::F32, 8, 4);
    }
    b.buffer("output", BufferKind::Output, Lane::F32, 8, 4);
    b.finish()
}

fn bound(memory: DeviceMemory, offset: u64) -> Bound {
    Bound { memory, offset, bytes: 32 }
}

fn dispatch(kernel: usize, bindings: &[Bound]) -> DeviceStep {
    DeviceStep::Dispatch(Dispatch { kernel, bindings: bindings.to_vec(), counts: None, origin: Origin::default() })
}

/// Makes a device of two dependent kernels. 32 bytes and an extent enter, 30 bytes leave.
pub fn device() -> Device {
    use DeviceMemory::{Area, Constants};
    let crossing = |host, staging, device, bytes, is_extent| Crossing { host, staging, device, bytes, is_extent };
    let region = DeviceRegion {
        enter: vec![crossing(Address::Input(0, 0), 64, 256, 32, false), crossing(Address::Scratch(8), 96, 1024, 8, true)],
        steps: vec![
            dispatch(1, &[bound(Area, 256), bound(Constants, 256), bound(Area, 512)]),
            DeviceStep::Barrier,
            dispatch(0, &[bound(Area, 512), bound(Area, 768)]),
        ],
        leave: vec![crossing(Address::Output(0, 0), 128, 768, 30, false)],
    };
    Device {
        host_calls: vec![],
        machine: &GPUS[0],
        kernels: vec![kernel("one", 1), kernel("two", 2)].into_iter().map(DeviceKernel::alone).collect(),
        constants: vec![DeviceConstant { constant: 3, offset: 256 }],
        constant_bytes: 288,
        area_bytes: 1028,
        staging_bytes: 160,
        regions: vec![region],
        residents: None,
        estimate: None,
    }
}

/// Makes modules that no Vulkan driver sees.
pub fn modules() -> Modules {
    Modules { words: vec![vec![0x0723_0203; 5], vec![0x0723_0203; 8]], groups: vec![[1, 1, 1], [2, 3, 1]] }
}

fn runtime(loader: Option<Loader>) -> Runtime {
    Runtime { layout: Layout { pointer: 8 }, first: 20, data: 1, loader: loader.map(|loader| (loader, [0, 1])), measures: false }
}

#[test]
fn every_function_keeps_the_rules() {
    let loaders = [None, Some(Loader::LINUX), Some(Loader::APPLE), Some(Loader::WINDOWS)];
    for (loader, measures) in loaders.into_iter().flat_map(|loader| [(loader, false), (loader, true)]) {
        for (number, (own, function)) in (Runtime { measures, ..runtime(loader) }).functions().into_iter().enumerate() {
            assert_eq!(own as usize, number);
            assert_eq!(function.signature, own.signature(), "{}", own.name());
            verify(&function, Layout { pointer: 8 }).unwrap_or_else(|error| panic!("{}: {error}", own.name()));
        }
    }
}

/// Collects the numbers of functions that a region calls.
fn called(region: &Region, numbers: &mut Vec<u32>) {
    for Statement { inst, .. } in &region.statements {
        match inst {
            Inst::Call { callee: Callee::Function(number), .. } => numbers.push(*number),
            Inst::If { then: first, otherwise: second, .. } | Inst::Repeat { head: first, body: second, .. } => {
                called(first, numbers);
                called(second, numbers);
            }
            _ => {}
        }
    }
}

#[test]
fn functions_call_the_helpers_that_their_stack_counts() {
    let runtime = runtime(Some(Loader::LINUX));
    for (own, function) in runtime.functions() {
        let mut numbers = vec![];
        called(&function.body, &mut numbers);
        let found: Vec<Own> = Own::all().filter(|other| numbers.contains(&(runtime.first + *other as u32))).collect();
        let counted: Vec<Own> = Own::all().filter(|other| own.helpers().contains(other)).collect();
        assert_eq!(found, counted, "{}", own.name());
    }
    assert_eq!(Own::Open.stack_bytes(&|_| 100), 300, "through the upload or the choice of a device");
}

#[test]
fn the_runtime_is_small_on_every_target() {
    for target in TARGETS {
        let back_end = back_end(level(target, None).unwrap(), target).unwrap();
        let bytes = |(own, function): (Own, _)| {
            let code = back_end.driver(&function).unwrap_or_else(|error| panic!("{} on {}: {error}", own.name(), target.name));
            assert!(code.stack_bytes < 4096, "{} on {} takes {} bytes of stack", own.name(), target.name, code.stack_bytes);
            code.bytes.len()
        };
        let bytes: usize = runtime(Some(Loader::LINUX)).functions().into_iter().map(bytes).sum();
        assert!(bytes <= 24 << 10, "{bytes} bytes on {}", target.name);
        println!("{bytes} bytes on {}", target.name);
    }
}

#[test]
fn tables_hold_what_the_runtime_reads() {
    let found =
        tables::tables(&device(), &modules(), &|number| (number == 3).then_some((640, 30)), Wishes { takes_cpus: true, measures: false })
            .unwrap();
    let word = |offset: u64| u64::from_le_bytes(found.bytes[offset as usize..][..8].try_into().unwrap());
    let head = |field: Head| word(field.offset() as u64);
    assert_eq!([head(Head::AreaBytes), head(Head::ConstantBytes), head(Head::StagingBytes)], [1028, 288, 288]);
    assert_eq!([head(Head::Sets), head(Head::Descriptors), head(Head::TakesCpus), head(Head::Narrow)], [2, 5, 1, 0]);
    assert_eq!(head(Head::LayoutsEnd) - head(Head::Layouts), 16, "two and three operands");
    let constants = head(Head::Constants);
    let fields = [constant_row::TO, constant_row::END, constant_row::FROM];
    assert_eq!(fields.map(|field| word(constants + field as u64)), [256, 286, 640]);
    let row = found.regions[0];
    assert_eq!(row, head(Head::Regions));
    let field = |offset: i32| word(row + offset as u64);
    let steps = field(region_row::STEPS);
    assert_eq!(word(steps + step::PIPELINE as u64), 8);
    assert_eq!(word(steps + step::GROUPS as u64), 2 | 3 << 32);
    assert_eq!(word(steps + step::GROUPS as u64 + 8), 1 | 3 << 32);
    let second = steps + step::BYTES + 24;
    assert_eq!([word(second), word(second + 8), word(second + 16)], [Field::Constants.offset() as u64, 256, 32]);
    assert_eq!(word(steps + step::BYTES + 72), step::BARRIER);
    assert_eq!(word(steps + step::BYTES + 80), 0x800 | 0x60 << 32, "kernels read and write after it");
    let copies = field(region_row::COPIES_IN);
    assert_eq!((field(region_row::COPIES_IN_COUNT), field(region_row::COPIES_OUT_COUNT)), (2, 2));
    assert_eq!([0, 8, 16, 24, 32, 40].map(|offset| word(copies + offset)), [64, 256, 32, 96, 1024, 4]);
    let copies = field(region_row::COPIES_OUT);
    assert_eq!([0, 8, 16, 24, 32, 40].map(|offset| word(copies + offset)), [0, 0, 4, 768, 128, 32]);
    let enter = field(region_row::ENTER);
    assert_eq!([0, 8, 16, 24].map(|offset| word(enter + offset)), [64, 32, 96, 0]);
    assert_eq!(field(region_row::COMMANDS), found.arrays.commands);
    let missing = tables::tables(&device(), &modules(), &|_| None, Wishes::default());
    assert!(missing.is_err_and(|error| error.to_string().contains("nowhere")));
}

#[test]
fn counts_in_the_area_stand_in_the_place_of_workgroups() {
    let mut device = device();
    let region = &mut device.regions[0];
    region.steps[1] = DeviceStep::CountBarrier;
    if let DeviceStep::Dispatch(dispatch) = &mut region.steps[2] {
        dispatch.counts = Some(1016);
    }
    let found = tables::tables(&device, &modules(), &|_| Some((640, 30)), Wishes::default()).unwrap();
    let word = |offset: u64| u64::from_le_bytes(found.bytes[offset as usize..][..8].try_into().unwrap());
    let barrier = word(found.regions[0] + region_row::STEPS as u64) + step::BYTES + 72;
    assert_eq!([word(barrier), word(barrier + step::WAITING as u64)], [step::BARRIER, 0x2 | 0x1 << 32]);
    let counted = barrier + step::BYTES + step::GROUPS as u64;
    assert_eq!([word(counted), word(counted + 8)], [1016, 2 << 32]);
}

#[test]
fn timestamps_have_room_in_staging_memory() {
    let table = |measures| {
        let wishes = Wishes { takes_cpus: true, measures };
        tables::tables(&device(), &modules(), &|number| (number == 3).then_some((640, 30)), wishes).unwrap()
    };
    let [without, with] = [false, true].map(table);
    let word = |table: &Tables, offset: u64| u64::from_le_bytes(table.bytes[offset as usize..][..8].try_into().unwrap());
    let head = |table: &Tables, field: Head| word(table, field.offset() as u64);
    assert_eq!(head(&with, Head::Timestamps), 5, "two dispatches, and three more");
    let place = word(&with, with.regions[0] + region_row::TIMES as u64);
    assert_eq!((place % 8, place >= device().staging_bytes), (0, true));
    assert!(head(&with, Head::StagingBytes) >= place + 8 * 5);
    assert!(head(&without, Head::StagingBytes) <= head(&with, Head::StagingBytes));
    assert_eq!(word(&with, with.regions[0] + region_row::TIMESTAMPS as u64), 5);
}

#[test]
fn the_common_data_has_every_name() {
    for measures in [false, true] {
        let runtime = Runtime { measures, ..runtime(Some(Loader::LINUX)) };
        let data = runtime.data();
        let name = |offset: u64| {
            let bytes = &data[offset as usize..][..common::NAME_BYTES as usize];
            assert_eq!(bytes.last(), Some(&0));
            String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
        };
        let rows = FUNCTIONS.iter().filter(|row| measures || row.source != Source::Measuring);
        for (number, row) in (0..).zip(rows.clone()) {
            let expected = if row.function == Vk::OpenLibrary { "dlopen" } else { row.name };
            assert_eq!(name(common::NAMES + common::NAME_BYTES * number), expected);
        }
        assert_eq!(name(common::EXTENSIONS), "VK_KHR_8bit_storage");
        assert_eq!(name(common::LIBRARIES), "libvulkan.so.1");
        assert_eq!(data[common::ENTRY as usize..][..5], *b"main\0");
        assert_eq!(data.len() as u64, common::NAMES + common::NAME_BYTES * rows.count() as u64);
    }
}
