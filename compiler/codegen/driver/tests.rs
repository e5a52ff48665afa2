//! The driver's functions, run by the interpreter of their language with pointers of 32 and of 64 bits.

use super::addresses::Addresses;
use super::context::{Context, DriverOptions, LevelKernels, Numbers};
use super::gpu::bytes_there;
use super::language::interpret::{Answer, FUNCTIONS, Machine, START};
use super::language::text::Names;
use super::language::verify::verify;
use super::language::{Callee, Function, KernelConvention, Operand, Signature, Width, function};
use super::lifecycle::{self, init};
use super::rows::{self, Rows};
use super::tasks::InTasks;
use super::{Callees, split, whole};
use crate::constants::ConstantLayout;
use crate::section::Contents;
use crate::{RelocationKind, RelocationTarget};
use modelc_interface::{CONFIG, Config, E_ABI, E_ALIGN, E_ARENA, E_CPU, E_NULL, E_SHAPE, E_STATE, Interface, Layout, Record};
use modelc_ir::{Data, ElementType, PortNotes};
use modelc_machine::machine;
use modelc_program::{
    Address, Blob, Blocks, Call, Crossing, Division, End, Level, Method, Moving, MovingPlace, Origin, Parallel, Port, PortExtent, Private,
    Program, Ranges, Size, Step, Tasks, Variable,
};

const LAYOUTS: [Layout; 2] = [Layout { pointer: 4 }, Layout { pointer: 8 }];
const HASH: u64 = 0x1122_3344_5566_7788;
/// Addresses of the arena, of a configuration and of the weights in tests.
const ARENA: u64 = START;
const CONFIGURATION: u64 = START + 0x1000;
const WEIGHTS: u64 = START + 0x2000;
/// Addresses of the structs of arguments, and of a buffer.
const INPUTS: u64 = START + 0x3000;
const OUTPUTS: u64 = START + 0x3100;
const BUFFER: u64 = START + 0x3200;

/// Makes a program with one method, whose input has a dynamic extent. The first call gets blocks of four slices. Both calls may be divided.
fn program() -> Program {
    let port = Port {
        name: "x".into(),
        element: ElementType::F32,
        shape: vec![16, 2],
        dynamic: vec![true, false],
        bytes: 128,
        quantization: None,
        scalar: false,
        value: None,
        notes: PortNotes::default(),
    };
    let extent = PortExtent { port: 0, dimension: 0, low: 2, multiple: 1, cell: Address::Scratch(0) };
    let ranges = Some(Ranges { rounds: 6, most: 2, ..Ranges::default() });
    let blocks = Blocks { extents: vec![(Address::Scratch(0), [0, 16])], most: 16, block: 4, after: None, strides: vec![8, 8], ranges };
    let call = Call {
        kernel: 0,
        arguments: vec![Address::Input(0, 0), Address::Output(0, 0)],
        bounds: vec![],
        division: Division::Blocks(blocks),
        origin: Origin::default(),
    };
    let private = vec![Private { argument: 1, second: Address::Scratch(192), step: 64 }];
    let cut = Call {
        kernel: 1,
        arguments: vec![Address::Constant(1, 8), Address::Scratch(64)],
        bounds: vec![],
        division: Division::Ranges(Ranges { rounds: 100, most: 3, private, bytes: vec![] }),
        origin: Origin::default(),
    };
    let method = Method {
        name: "run".into(),
        inputs: vec![port.clone()],
        outputs: vec![port],
        input_extents: vec![extent.clone()],
        output_extents: vec![extent],
        steps: vec![Step::Call(call), Step::Call(cut)],
        scratch_bytes: 320,
        optimal: true,
        ..Method::default()
    };
    let blob = |bytes: Vec<u8>| Blob { name: String::new(), data: Data::from(bytes) };
    let variable = |offset, bytes, initial| Variable { name: String::new(), offset, bytes, initial, is_copy: false };
    Program {
        constants: vec![blob((1..=75).collect()), blob(vec![0; 16])],
        variables: vec![variable(0, 75, Some(0)), variable(80, 9, None)],
        variable_bytes: 89,
        methods: vec![method],
        ..Program::default()
    }
}

/// Calls `test` for each pointer size, with the driver's context and a machine that has its memory.
fn on_each(levels: &[&str], answer: &Answer, test: impl Fn(&Context<'_>, &mut Machine<'_>)) {
    on_each_of(&program(), levels, answer, test);
}

fn on_each_of(program: &Program, levels: &[&str], answer: &Answer, test: impl Fn(&Context<'_>, &mut Machine<'_>)) {
    for layout in LAYOUTS {
        let interface = Interface::new(program, "net", layout);
        let constants = ConstantLayout::new(program);
        let level = |name: &&str| LevelKernels {
            level: Level { machine: machine(name).unwrap(), program },
            convention: KernelConvention::Target,
            first: 0,
        };
        let detects = levels.len() > 1;
        let levels: Vec<LevelKernels<'_>> = levels.iter().map(level).collect();
        let context = Context {
            program,
            levels: &levels,
            interface: &interface,
            constants: &constants,
            options: &DriverOptions::default(),
            model_hash: HASH,
            weights_file: None,
            numbers: Numbers { cpu: detects.then_some(9) },
            imports: &[],
            gpu: None,
        };
        let mut memory = vec![0x5a; 0x4000];
        memory[(WEIGHTS - START) as usize..][..75].copy_from_slice(program.constants[0].data.bytes());
        let mut machine = Machine { layout, memory, data: vec![WEIGHTS], calls: vec![], answer };
        test(&context, &mut machine);
    }
}

/// Calls `test` with the context of the same driver, but other steps in the method.
fn with_steps(context: &Context<'_>, steps: Vec<Step>, test: &mut dyn FnMut(&Context<'_>)) {
    with_options(context, (steps, context.options), test);
}

fn with_options(context: &Context<'_>, (steps, options): (Vec<Step>, &DriverOptions), test: &mut dyn FnMut(&Context<'_>)) {
    let mut program = context.program.clone();
    program.methods[0].steps = steps;
    let level = &context.levels[0];
    let levels = [LevelKernels { level: Level { program: &program, ..level.level }, convention: level.convention, first: level.first }];
    let Context { interface, constants, .. } = *context;
    let (numbers, imports) = (Numbers { cpu: None }, &[]);
    test(&Context {
        program: &program,
        levels: &levels,
        interface,
        constants,
        options,
        model_hash: HASH,
        weights_file: None,
        numbers,
        imports,
        gpu: None,
    });
}

/// Writes a configuration: its size, the members in `set`, and zeros.
fn configure(machine: &mut Machine<'_>, set: &[(Config, u64)]) {
    let layout = machine.layout;
    let start = (CONFIGURATION - START) as usize;
    machine.memory[start..start + 256].fill(0);
    machine.write(CONFIGURATION, 4, CONFIG.bytes(layout));
    for &(member, number) in set {
        machine.write(CONFIGURATION + CONFIG.offset(member, layout) as u64, 4, number);
    }
}

fn check(function: &Function, layout: Layout) {
    verify(function, layout).unwrap_or_else(|error| panic!("{error}\n{}", function.text("f", Names::default())));
}

/// Writes the split entry of the method, with functions for its tasks.
fn split_with(context: &Context<'_>, tasks: &[u32]) -> Function {
    split(context, 0, 0, 0, &Callees { tasks, rows: None }).0
}

#[test]
fn init_writes_the_record_and_the_variables() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let init = init(context);
        check(&init, machine.layout);
        let (state_bytes, arena_bytes) = (context.interface.state_bytes, context.interface.arena_bytes());
        assert_eq!(machine.status(&init, &[0, arena_bytes, 0]), E_NULL);
        assert_eq!(machine.status(&init, &[ARENA + 32, arena_bytes, 0]), E_ALIGN);
        assert_eq!(machine.status(&init, &[ARENA, state_bytes - 1, 0]), E_ARENA);
        assert_eq!(machine.read(ARENA, 8), 0x5a5a_5a5a_5a5a_5a5a, "nothing is written by a call that fails");
        assert_eq!(machine.status(&init, &[ARENA, state_bytes, 0]), 0);
        assert_eq!(machine.read(ARENA + Record::Whole.offset() as u64, 2), 0);
        configure(machine, &[(Config::Threads, 3), (Config::User, 0x7000)]);
        assert_eq!(machine.status(&init, &[ARENA, arena_bytes, CONFIGURATION]), 0);
        let field = |offset: i32, bytes| machine.read(ARENA + offset as u64, bytes);
        assert_eq!((field(Record::Magic.offset(), 8), field(Record::Hash.offset(), 8)), (Record::INITIALISED, HASH));
        assert_eq!((field(Record::Whole.offset(), 2), field(Record::Level.offset(), 2), field(Record::Threads.offset(), 4)), (1, 0, 3));
        assert_eq!((field(Record::User.offset(), 8), field(Record::Weights.offset(), 8)), (0x7000, 0));
        let variables = (ARENA + context.interface.state.variables.offset - START) as usize;
        let initial = context.program.constants[0].data.bytes();
        assert_eq!(&machine.memory[variables..][..75], initial);
        assert_eq!(machine.memory[variables + 80..][..9], [0; 9]);
        assert_eq!(machine.memory[variables + 89], 0x5a);
    });
}

#[test]
fn configurations_of_another_abi_are_refused() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let init = init(context);
        let (arena, bytes) = ([ARENA, context.interface.arena_bytes(), CONFIGURATION], CONFIG.bytes(machine.layout));
        for (size, status) in [(bytes - 4, E_ABI), (bytes, 0), (bytes + 8, 0), (5000, E_ABI), (0, E_ABI)] {
            configure(machine, &[(Config::StructSize, size)]);
            assert_eq!(machine.status(&init, &arena), status, "{size} bytes");
        }
        configure(machine, &[(Config::Flags, 1)]);
        assert_eq!(machine.status(&init, &arena), E_ABI);
        configure(machine, &[(Config::StructSize, bytes + 8)]);
        machine.write(CONFIGURATION + bytes + 7, 1, 1);
        assert_eq!(machine.status(&init, &arena), E_ABI, "there is something after the members that are known");
    });
}

#[test]
fn the_first_level_that_the_cpu_has_is_chosen() {
    let detect = |_: &mut Vec<u8>, callee: Callee, _: &[u64]| if callee == Callee::Function(9) { 1 } else { 0 };
    on_each(&["x86-64-v4", "x86-64-v3", "x86-64-v2"], &detect, |context, machine| {
        let init = init(context);
        check(&init, machine.layout);
        let arena = [ARENA, context.interface.arena_bytes(), CONFIGURATION];
        for (features, level) in [(0, 2), (1, 2), (3, 1), (7, 1), (15, 0), (31, 0)] {
            configure(machine, &[(Config::CpuFeatures, features)]);
            assert_eq!(machine.status(&init, &arena), 0);
            assert_eq!(machine.read(ARENA + Record::Level.offset() as u64, 2), level, "features {features}");
        }
        configure(machine, &[(Config::CpuFeatures, 2)]);
        assert_eq!(machine.status(&init, &arena), E_CPU);
    });
}

#[test]
fn a_state_is_that_of_its_model_until_it_ends() {
    on_each(&["aarch64"], &|_, _, _| 7, |context, machine| {
        let [(_, init), (_, reset), (_, deinit)] = lifecycle::lifecycle(context);
        let whole = whole(context, 5);
        for function in [&init, &reset, &deinit, &whole] {
            check(function, machine.layout);
        }
        assert_eq!(machine.status(&reset, &[ARENA]), E_STATE);
        assert_eq!(machine.status(&init, &[ARENA, context.interface.state_bytes, 0]), 0);
        assert_eq!(machine.status(&reset, &[ARENA]), 0);
        assert_eq!(machine.status(&whole, &[ARENA, INPUTS, OUTPUTS]), E_ARENA, "the scratch memory does not follow");
        assert_eq!(machine.status(&init, &[ARENA, context.interface.arena_bytes(), 0]), 0);
        assert_eq!(machine.status(&whole, &[ARENA, INPUTS, OUTPUTS]), 7);
        let (callee, arguments) = machine.calls.last().unwrap();
        assert_eq!((*callee, &arguments[..]), (Callee::Function(5), &[ARENA, ARENA + context.interface.state_bytes, INPUTS, OUTPUTS][..]));
        machine.write(ARENA + Record::Hash.offset() as u64 + 7, 1, 0);
        assert_eq!(machine.status(&reset, &[ARENA]), E_STATE, "the hash is compared to its last byte");
        machine.write(ARENA + Record::Hash.offset() as u64, 8, HASH);
        assert_eq!(machine.run(&deinit, &[ARENA]), None);
        assert_eq!(machine.status(&reset, &[ARENA]), E_STATE);
        assert_eq!(machine.run(&deinit, &[0]), None);
    });
}

/// Initializes a state with a configuration, and fills the structs of arguments with a first extent.
fn prepare(context: &Context<'_>, machine: &mut Machine<'_>, set: &[(Config, u64)], extent: u64) {
    configure(machine, set);
    assert_eq!(machine.status(&init(context), &[ARENA, context.interface.arena_bytes(), CONFIGURATION]), 0);
    let pointer = machine.layout.pointer;
    for record in [INPUTS, OUTPUTS] {
        for (number, word) in (0..).zip([BUFFER, extent, 2]) {
            machine.write(record + pointer * number, pointer, word);
        }
    }
    machine.calls.clear();
}

#[test]
fn slices_are_given_in_blocks_and_shapes_come_back() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let split = split_with(context, &[19, 20]);
        check(&split, machine.layout);
        let (scratch, pointer) = (ARENA + context.interface.state_bytes, machine.layout.pointer);
        let arguments = [ARENA, scratch, INPUTS, OUTPUTS];
        prepare(context, machine, &[], 11);
        for dimension in [1, 2] {
            machine.write(OUTPUTS + pointer * dimension, pointer, 0);
        }
        assert_eq!(machine.status(&split, &arguments), 0);
        let kernel = |number| Callee::Kernel(number, KernelConvention::Target);
        let constant = WEIGHTS + context.constants.offsets[1] + 8;
        let calls = [
            (kernel(0), vec![BUFFER, BUFFER, 0, 6]),
            (kernel(0), vec![BUFFER + 32, BUFFER + 32, 0, 6]),
            (kernel(1), vec![constant, scratch + 64, 0, 100]),
        ];
        assert_eq!(machine.calls, calls);
        assert_eq!(machine.read(scratch, 8), 11, "the extent is an i64");
        assert_eq!([1, 2].map(|n| machine.read(OUTPUTS + pointer * n, pointer)), [11, 2]);
        for extent in [1, 17, 0] {
            prepare(context, machine, &[], extent);
            assert_eq!(machine.status(&split, &arguments), E_SHAPE, "extent {extent}");
            assert!(machine.calls.is_empty());
        }
        prepare(context, machine, &[], 4);
        machine.write(INPUTS, pointer, BUFFER + 2);
        assert_eq!(machine.status(&split, &arguments), E_ALIGN);
        machine.write(INPUTS, pointer, 0);
        assert_eq!(machine.status(&split, &arguments), E_NULL);
    });
}

/// Makes a call of a whole kernel.
fn whole_call(kernel: usize, arguments: &[Address]) -> Step {
    Step::Call(Call { kernel, arguments: arguments.to_vec(), bounds: vec![], division: Division::Whole, origin: Origin::default() })
}

#[test]
fn calls_become_rows_that_one_function_walks() {
    const ROWS: u64 = START + 0x3400;
    // Distances are signed: with pointers of 64 bits, the functions lie below the rows.
    let kernel = |layout: Layout, number: u64| {
        let address = if layout.pointer == 4 { FUNCTIONS } else { i64::from(FUNCTIONS as u32 as i32).cast_unsigned() };
        Callee::KernelAt(Operand::Number(address + number), KernelConvention::SystemV)
    };
    let fails = LAYOUTS.map(|layout| kernel(layout, 29));
    let answer = move |_: &mut Vec<u8>, callee: Callee, _: &[u64]| u64::from(fails.contains(&callee)) * 5;
    on_each(&["aarch64"], &answer, |context, machine| {
        let long = [Address::Input(0, 4), Address::Constant(1, 8), Address::Scratch(64), Address::Variable(80), Address::Output(0, 0)];
        let long = [&long[..], &[Address::Scratch(0); 3]].concat();
        let steps = (0..30).flat_map(|kernel| [whole_call(kernel, &long), whole_call(kernel, &[Address::Constant(0, 3)])]).collect();
        let options = DriverOptions { small: true, ..DriverOptions::default() };
        with_options(context, (steps, &options), &mut |context| {
            let arguments = rows::longest(context).expect("rows save much");
            let rows = Rows { function: 40, arguments, convention: KernelConvention::SystemV, distance: RelocationKind::ThumbDistance };
            let (split, section) = split(context, 0, 0, 0, &Callees { tasks: &[], rows: Some((rows, 1)) });
            check(&split, machine.layout);
            let section = section.expect("there are rows");
            let Contents::Bytes(bytes) = &section.contents else { panic!("rows are bytes") };
            prepare(context, machine, &[], 4);
            machine.data = vec![WEIGHTS, ROWS];
            machine.memory[(ROWS - START) as usize..][..bytes.len()].copy_from_slice(bytes);
            for relocation in &section.relocations {
                let RelocationTarget::Function(kernel) = relocation.target else { panic!("a row names a kernel") };
                let at = ROWS + u64::from(relocation.offset);
                machine.write(at, 4, (FUNCTIONS + u64::from(kernel)).wrapping_sub(at));
            }
            let scratch = ARENA + context.interface.state_bytes;
            assert_eq!(machine.status(&split, &[ARENA, scratch, INPUTS, OUTPUTS]), 0);
            let (callee, arguments) = machine.calls.pop().expect("rows are walked");
            assert_eq!((callee, machine.calls.len()), (Callee::Function(40), 0));
            let walk = rows::walk_rows(context, rows);
            check(&walk, machine.layout);
            assert_eq!(machine.status(&walk, &arguments), 5, "the status of a kernel that fails");
            assert_eq!(machine.calls.len(), 59, "no kernel is called after it");
            let variable = ARENA + context.interface.state.variables.offset + 80;
            let constant = WEIGHTS + context.constants.offsets[1] + 8;
            let wanted = vec![BUFFER + 4, constant, scratch + 64, variable, BUFFER, scratch, scratch, scratch];
            assert_eq!(machine.calls[56], (kernel(machine.layout, 28), wanted));
            assert_eq!((machine.calls[57].0, machine.calls[57].1[0]), (kernel(machine.layout, 28), WEIGHTS + 3));
        });
    });
}

#[test]
fn few_calls_are_no_rows() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, _| {
        let options = DriverOptions { small: true, ..DriverOptions::default() };
        let steps = vec![whole_call(0, &[Address::Scratch(64); 8]); 8];
        with_options(context, (steps, &options), &mut |context| assert_eq!(rows::longest(context), None));
    });
}

#[test]
fn a_run_of_few_calls_is_code_with_pointers_of_64_bits() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let calls = vec![whole_call(0, &[Address::Scratch(64); 8]); 3];
        let branch = |then: &[Step]| Step::If { condition: Address::Scratch(0), then: then.to_vec(), otherwise: vec![] };
        let count = |steps: &[Step]| rows::rows_of(context, steps).len();
        let is_narrow = machine.layout.pointer == 4;
        assert_eq!((count(&calls[..2]), count(&calls)), (if is_narrow { 2 } else { 0 }, 3));
        assert_eq!(count(&[branch(&calls), calls[0].clone(), branch(&[]), calls[1].clone()]), if is_narrow { 5 } else { 3 });
    });
}

#[test]
fn constants_that_are_near_share_an_address() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let constants = [Address::Constant(0, 0), Address::Constant(1, 0)];
        with_steps(context, vec![whole_call(0, &constants), whole_call(1, &constants)], &mut |context| {
            let split = split_with(context, &[]);
            check(&split, machine.layout);
            let addresses = split.text("f", Names::default()).matches("= data ").count();
            assert_eq!(addresses, if machine.layout.pointer == 4 { 1 } else { 4 });
            prepare(context, machine, &[], 4);
            assert_eq!(machine.status(&split, &[ARENA, ARENA + context.interface.state_bytes, INPUTS, OUTPUTS]), 0);
            let wanted = vec![WEIGHTS, WEIGHTS + context.constants.offsets[1]];
            assert!(machine.calls.iter().all(|(_, arguments)| *arguments == wanted), "{:?}", machine.calls);
        });
    });
}

#[test]
fn extents_are_multiples_of_what_the_method_says() {
    let mut program = program();
    program.methods[0].input_extents[0].multiple = 4;
    on_each_of(&program, &["aarch64"], &|_, _, _| 0, |context, machine| {
        let split = split_with(context, &[19, 20]);
        let arguments = [ARENA, ARENA + context.interface.state_bytes, INPUTS, OUTPUTS];
        for (extent, status) in [(4, 0), (5, E_SHAPE), (6, E_SHAPE), (12, 0), (16, 0)] {
            prepare(context, machine, &[], extent);
            assert_eq!(machine.status(&split, &arguments), status, "extent {extent}");
        }
    });
}

#[test]
fn tasks_cover_the_whole_range() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let split = split_with(context, &[19, 20]);
        let scratch = ARENA + context.interface.state_bytes;
        prepare(context, machine, &[(Config::ParallelFor, 0xe000), (Config::User, 0xd000)], 2);
        assert_eq!(machine.status(&split, &[ARENA, scratch, INPUTS, OUTPUTS]), 0);
        let (callee, arguments) = machine.calls.pop().unwrap();
        assert_eq!(callee, Callee::Pointer(Operand::Number(0xe000)));
        let [user, count, task, shared] = arguments[..] else { panic!("{arguments:?}") };
        assert_eq!((user, count, task), (0xd000, 3, FUNCTIONS + 20));
        let Step::Call(call) = &context.program.methods[0].steps[1] else { panic!("a call") };
        let task = super::task(context, 0, InTasks::Call(call));
        check(&task, machine.layout);
        machine.calls.clear();
        for number in 0..count {
            assert_eq!(machine.run(&task, &[shared, number]), None);
        }
        let found: Vec<_> = machine.calls.iter().map(|(_, arguments)| (arguments[1] - scratch, arguments[2], arguments[3])).collect();
        assert_eq!(found, [(64, 0, 33), (192, 33, 66), (256, 66, 100)]);
    });
}

#[test]
fn tasks_of_calls_together_do_their_share_of_each() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let Step::Call(cut) = &context.program.methods[0].steps[1] else { panic!("a call") };
        let division = Division::Ranges(Ranges { rounds: 200, most: 3, ..Ranges::default() });
        let twice = Call { kernel: 0, arguments: vec![Address::Scratch(320), Address::Scratch(384)], division, ..cut.clone() };
        let tasks = Tasks::Ranges { rounds: 100, most: 3 };
        let run = Parallel { calls: vec![Step::Call(cut.clone()), Step::Call(twice)], tasks };
        with_steps(context, vec![Step::Parallel(run.clone())], &mut |context| {
            let split = split_with(context, &[19]);
            check(&split, machine.layout);
            let scratch = ARENA + context.interface.state_bytes;
            let kernel = |number| Callee::Kernel(number, KernelConvention::Target);
            let constant = WEIGHTS + context.constants.offsets[1] + 8;
            prepare(context, machine, &[], 2);
            assert_eq!(machine.status(&split, &[ARENA, scratch, INPUTS, OUTPUTS]), 0);
            let alone = [(kernel(1), vec![constant, scratch + 64, 0, 100]), (kernel(0), vec![scratch + 320, scratch + 384, 0, 200])];
            assert_eq!(machine.calls, alone);
            prepare(context, machine, &[(Config::ParallelFor, 0xe000), (Config::User, 0xd000)], 2);
            assert_eq!(machine.status(&split, &[ARENA, scratch, INPUTS, OUTPUTS]), 0);
            let [(_, arguments)] = &machine.calls[..] else { panic!("{:?}", machine.calls) };
            let [_, 3, task, shared] = arguments[..] else { panic!("{arguments:?}") };
            assert_eq!(task, FUNCTIONS + 19);
            let task = super::task(context, 0, InTasks::Parallel(&run));
            check(&task, machine.layout);
            machine.calls.clear();
            for number in 0..3 {
                assert_eq!(machine.run(&task, &[shared, number]), None);
            }
            let found: Vec<_> = machine.calls.iter().map(|(_, arguments)| (arguments[1] - scratch, arguments[2], arguments[3])).collect();
            assert_eq!(found, [(64, 0, 33), (384, 0, 66), (192, 33, 66), (384, 66, 132), (256, 66, 100), (384, 132, 200)]);
        });
    });
}

#[test]
fn streams_are_parts_or_one_after_the_other() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let Step::Call(cut) = &context.program.methods[0].steps[1] else { panic!("a call") };
        let call = |kernel: usize, from: u64, to: u64| {
            let arguments = vec![Address::Scratch(from), Address::Scratch(to)];
            Step::Call(Call { kernel, arguments, division: cut.division.clone().undivided(), ..cut.clone() })
        };
        let tasks = Tasks::Lists { starts: vec![0, 2] };
        let streams = Parallel { calls: vec![call(0, 0, 64), call(1, 64, 128), call(0, 192, 256)], tasks };
        with_steps(context, vec![Step::Parallel(streams.clone())], &mut |context| {
            let split = split_with(context, &[19]);
            check(&split, machine.layout);
            let scratch = ARENA + context.interface.state_bytes;
            prepare(context, machine, &[], 2);
            assert_eq!(machine.status(&split, &[ARENA, scratch, INPUTS, OUTPUTS]), 0);
            let numbers: Vec<_> = machine.calls.iter().map(|(callee, arguments)| (*callee, arguments[1])).collect();
            assert_eq!(numbers, [(Callee::Function(19), 0), (Callee::Function(19), 1)]);
            let set = [(Config::ParallelFor, 0xe000), (Config::Threads, 1), (Config::User, 0xd000)];
            prepare(context, machine, &set, 2);
            assert_eq!(machine.status(&split, &[ARENA, scratch, INPUTS, OUTPUTS]), 0);
            let [(_, arguments)] = &machine.calls[..] else { panic!("{:?}", machine.calls) };
            let [_, 2, task, shared] = arguments[..] else { panic!("{arguments:?}") };
            assert_eq!(task, FUNCTIONS + 19);
            let task = super::task(context, 0, InTasks::Parallel(&streams));
            check(&task, machine.layout);
            let mut calls = |number: u64| {
                machine.calls.clear();
                assert_eq!(machine.run(&task, &[shared, number]), None);
                machine
                    .calls
                    .iter()
                    .map(|(_, arguments)| [arguments[0] - scratch, arguments[1] - scratch, arguments[3]])
                    .collect::<Vec<_>>()
            };
            assert_eq!(calls(1), [[192, 256, 100]]);
            assert_eq!(calls(0), [[0, 64, 100], [64, 128, 100]]);
        });
    });
}

#[test]
fn a_stream_ends_with_the_first_status() {
    let first_fails: &Answer = &|_, callee, _| if callee == Callee::Kernel(0, KernelConvention::Target) { 12 } else { 0 };
    on_each(&["aarch64"], first_fails, |context, machine| {
        let Step::Call(cut) = &context.program.methods[0].steps[1] else { panic!("a call") };
        let call = |kernel: usize| Step::Call(Call { kernel, division: cut.division.clone().undivided(), ..cut.clone() });
        let streams = Parallel { calls: vec![call(0), call(1), call(1)], tasks: Tasks::Lists { starts: vec![0, 2] } };
        let task = super::task(context, 0, InTasks::Parallel(&streams));
        machine.write(BUFFER, 4, 0);
        machine.run(&task, &[BUFFER, 1]);
        assert_eq!((machine.calls.len(), machine.read(BUFFER, 4)), (1, 0));
        machine.run(&task, &[BUFFER, 0]);
        assert_eq!((machine.calls.len(), machine.read(BUFFER, 4)), (2, 12), "the second call of the first stream does not run");
    });
}

#[test]
fn what_crosses_is_as_much_as_shapes_have() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let method = &context.program.methods[0];
        let crossing = |host, bytes| Crossing { host, staging: 64, device: 256, bytes, is_extent: false };
        let mut bytes = |crossing: Crossing| {
            let found = function(context.interface.layout, Signature::new(&[Width::Word; 2], None), |e, arguments| {
                let &[memory, result] = arguments else { unreachable!("two parameters") };
                let (inputs, outputs) = (vec![memory], vec![memory]);
                let addresses = Addresses {
                    context,
                    method,
                    state: memory,
                    scratch: memory,
                    areas: vec![],
                    moving: vec![],
                    weights: None,
                    inputs,
                    outputs,
                };
                let bytes = bytes_there(&addresses, e, &crossing);
                e.store(Width::Word, bytes, result, 0);
            });
            check(&found, machine.layout);
            // The extent is 3 of at most 16; a row has two floats.
            machine.write(BUFFER, 8, 3);
            machine.run(&found, &[BUFFER, OUTPUTS]);
            machine.read(OUTPUTS, machine.layout.pointer)
        };
        assert_eq!([0, 8, 24, 64].map(|offset| bytes(crossing(Address::Input(0, offset), 128 - offset))), [24, 16, 0, 0]);
        assert_eq!(bytes(crossing(Address::Input(0, 0), 16)), 16, "a part of it");
        assert_eq!(bytes(crossing(Address::Output(0, 0), 128)), 24);
        assert_eq!(bytes(crossing(Address::Scratch(64), 128)), 128);
    });
}

#[test]
fn calls_together_are_told_one_by_one() {
    let program = program();
    let run = Parallel { calls: vec![program.methods[0].steps[1].clone()], tasks: Tasks::Ranges { rounds: 100, most: 3 } };
    let steps = [program.methods[0].steps[0].clone(), Step::Parallel(run)];
    let of = |are_told| super::in_tasks(&steps, are_told).into_iter().map(|work| matches!(work, InTasks::Parallel(_))).collect::<Vec<_>>();
    assert_eq!((of(true), of(false)), (vec![false, false], vec![false, true]));
}

#[test]
fn calls_that_differ_in_addresses_have_one_function_for_their_tasks() {
    let program = program();
    let Step::Call(call) = &program.methods[0].steps[1] else { panic!("a call") };
    let outline = |call: &Call| InTasks::Call(call).outline();
    let mut other = call.clone();
    other.arguments[1] = Address::Scratch(1024);
    other.division.ranges_mut().unwrap().private[0].second = Address::Scratch(2048);
    assert_eq!(outline(&other), outline(call));
    other.division.ranges_mut().unwrap().rounds = 99;
    assert_ne!(outline(&other), outline(call));
    other.clone_from(call);
    other.division.ranges_mut().unwrap().private[0].step = 128;
    assert_ne!(outline(&other), outline(call));
}

#[test]
fn each_block_of_slices_is_done_in_tasks() {
    on_each(&["aarch64"], &|_, _, _| 0, |context, machine| {
        let split = split_with(context, &[19, 20]);
        let scratch = ARENA + context.interface.state_bytes;
        prepare(context, machine, &[(Config::ParallelFor, 0xe000), (Config::User, 0xd000)], 11);
        assert_eq!(machine.status(&split, &[ARENA, scratch, INPUTS, OUTPUTS]), 0);
        let calls: Vec<_> = machine.calls.iter().map(|(_, arguments)| (arguments[1], arguments[2])).collect();
        assert_eq!(calls, [(2, FUNCTIONS + 19), (2, FUNCTIONS + 19), (3, FUNCTIONS + 20)]);
        let shared = machine.calls[0].1[3];
        let Step::Call(call) = &context.program.methods[0].steps[0] else { panic!("a call") };
        let task = super::task(context, 0, InTasks::Call(call));
        // The shared data has the addresses of a block.
        machine.write(shared + 4, 4, 2);
        for (number, place) in [BUFFER + 32, BUFFER + 32].into_iter().enumerate() {
            machine.write(shared + 8 + number as u64 * machine.layout.pointer, machine.layout.pointer, place);
        }
        machine.calls.clear();
        for number in 0..2 {
            assert_eq!(machine.run(&task, &[shared, number]), None);
        }
        let found: Vec<_> = machine.calls.iter().map(|(_, arguments)| arguments.clone()).collect();
        assert_eq!(found, [[BUFFER + 32, BUFFER + 32, 0, 3], [BUFFER + 32, BUFFER + 32, 3, 6]]);
    });
}

#[test]
fn places_are_where_the_program_says() {
    let rows = |factor| Size { extents: vec![0], factor };
    let end = |place, size, plus| End { place, size, plus };
    let moving = Moving {
        places: vec![
            MovingPlace { bound: 1024, after: vec![end(None, rows(10), 0), end(None, Size::known(0), 40)] },
            MovingPlace { bound: 2064, after: vec![end(Some(0), rows(10), 0), end(Some(0), Size::known(0), -100)] },
        ],
        ..Moving::default()
    };
    on_each(&["aarch64"], &|_, _, _| 0, |_, machine| {
        for place in 0..2 {
            let function = function(machine.layout, Signature::new(&[Width::Word], Some(Width::Word)), |e, extents| {
                let offsets = super::moving::offsets(e, &moving, extents);
                e.leave_always(offsets[place]);
            });
            check(&function, machine.layout);
            for extent in [0, 1, 5, 99, 100] {
                assert_eq!(machine.run(&function, &[extent]), Some(moving.offsets(&[extent])[place]));
            }
        }
    });
}
