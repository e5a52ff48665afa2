//! Random programs that read tensors at other positions than they write: views, slices, concatenations, transposes, gathers, windows, products.
//! Variables are overwritten by values computed from them.

mod program;

use super::Random;
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{ElementType, Extent, Func, Interval, Method, Module, Port, Scalar, State, StateData, Tensor, TensorType, Type, Value};
use program::Program;

/// Numbers of elements of a program's tensors: they have many divisors, and give full vectors and tails.
const COUNTS: [u64; 10] = [8, 12, 24, 36, 48, 60, 64, 96, 144, 240];

/// Makes a program of up to twenty operators on tensors with the same number of elements, and its inputs. It has up to two variables and up to
/// four results. Sometimes a second method has the same inputs and variables.
pub fn module(seed: u64) -> (Module, Vec<Tensor>) {
    let mut random = Random(seed);
    let element = element(&mut random);
    let count = COUNTS[random.below(COUNTS.len() as u64) as usize];
    let mut module = Module::default();
    let states: Vec<State> = (0..random.below(3)).map(|_| state(&mut module, &mut random, element, count)).collect();
    let shapes: Vec<Vec<Extent>> = (0..1 + random.below(2)).map(|_| shape(&mut random, count, &[])).collect();
    for name in ["forward", "other"].iter().take(if random.below(3) == 0 { 2 } else { 1 }) {
        let mut builder = FunctionBuilder::new(&mut module, *name);
        let param = |shape: &Vec<Extent>| builder.param(Type::Tensor(TensorType::new(element, shape.clone())), None);
        let values: Vec<Value> = shapes.iter().map(param).collect();
        let token = Some(builder.param(Type::Effect, None));
        let random = Random(random.next());
        let exact = values[0];
        let program = Program { builder, random, element, count, opens: vec![], states: states.clone(), token, exact, values, depth: 0 };
        let finished = program.finished();
        add_method(&mut module, name, shapes.len(), finished);
    }
    let tensors = shapes.into_iter().map(|shape| {
        let shape = shape.iter().map(|n| n.as_static().expect("all is static")).collect();
        Tensor { element, bytes: numbers(&mut random, element, count), shape }
    });
    (module, tensors.collect())
}

/// Makes such a program whose tensors also have one or two run-time extents.
pub fn open(seed: u64) -> (Module, Vec<Tensor>) {
    let mut random = Random(seed);
    let element = element(&mut random);
    let count = COUNTS[random.below(5) as usize];
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "forward");
    let ranges: Vec<Interval> = (0..1 + random.below(2)).map(|_| interval(&mut random)).collect();
    let sizes: Vec<u64> = ranges.iter().map(|range| size_in(&mut random, *range)).collect();
    // The first input determines the extents.
    let known: Vec<Extent> = ranges.iter().map(|range| Extent::Static(range.high as u64)).collect();
    let first = builder.param(Type::Tensor(TensorType::new(element, [&known[..], &[Extent::Static(count)]].concat())), None);
    let opens: Vec<Extent> = ranges.iter().enumerate().map(|(d, range)| Extent::Value(builder.measure(first, d, *range))).collect();
    let mut values = vec![first];
    let mut shapes = vec![[&opens[..], &[Extent::Static(count)]].concat()];
    if random.below(2) == 0 {
        shapes.push(shape(&mut random, count, &opens));
        values.push(builder.param(Type::Tensor(TensorType::new(element, shapes[1].clone())), None));
    }
    let least = opens.iter().zip(&ranges).map(|(extent, range)| (*extent, range.low as u64)).collect();
    let inner = Random(random.next());
    let program =
        Program { builder, random: inner, element, count, opens: least, states: vec![], token: None, exact: first, values, depth: 0 };
    let finished = program.finished();
    add_method(&mut module, "forward", shapes.len(), finished);
    let tensors = shapes.into_iter().map(|shape| {
        let size =
            |extent: &Extent| extent.as_static().unwrap_or_else(|| sizes[opens.iter().position(|n| n == extent).expect("one of them")]);
        let shape: Vec<u64> = shape.iter().map(size).collect();
        Tensor { element, bytes: numbers(&mut random, element, shape.iter().product()), shape }
    });
    (module, tensors.collect())
}

fn add_method(module: &mut Module, name: &str, inputs: usize, (function, outputs): (Func, usize)) {
    let ports = |count: usize| vec![Port::default(); count];
    module.methods.push(Method { name: name.to_owned(), function, inputs: ports(inputs), outputs: ports(outputs) });
}

fn element(random: &mut Random) -> ElementType {
    [ElementType::F32, ElementType::F32, ElementType::I8, ElementType::I32, ElementType::I16][random.below(5) as usize]
}

fn interval(random: &mut Random) -> Interval {
    let low = 1 + random.below(3) as i64;
    Interval { low, high: low + random.below(9) as i64 }
}

/// Selects an extent in an interval, often one of its ends.
fn size_in(random: &mut Random, range: Interval) -> u64 {
    let inside = range.low as u64 + random.below((range.high - range.low) as u64 + 1);
    [range.low as u64, range.high as u64, inside, inside][random.below(4) as usize]
}

/// Adds a variable, with or without initial contents.
fn state(module: &mut Module, random: &mut Random, element: ElementType, count: u64) -> State {
    let ty = TensorType::new(element, shape(random, count, &[]));
    let initial = (random.below(2) == 0).then(|| module.add_constant(ty.clone(), numbers(random, element, count).into()));
    let name = format!("state {}", module.states.len());
    module.states.push(StateData { name, ty, initial })
}

/// Makes small numbers.
fn numbers(random: &mut Random, element: ElementType, count: u64) -> Vec<u8> {
    let number = |random: &mut Random| {
        let number = random.next() as i8;
        match element {
            ElementType::F32 => Scalar::f32(f32::from(number) / 64.0),
            _ => Scalar::int(element, number.into()),
        }
    };
    (0..count).flat_map(|_| number(random).to_bytes()).collect()
}

/// Makes a shape of one to four extents with a given product, with the dynamic extents in between.
fn shape(random: &mut Random, count: u64, opens: &[Extent]) -> Vec<Extent> {
    let mut left = count;
    let mut shape = Vec::new();
    for _ in 0..random.below(4 - opens.len() as u64) {
        let divisors: Vec<u64> = (1..=left).filter(|&n| left.is_multiple_of(n)).collect();
        let extent = divisors[random.below(divisors.len() as u64) as usize];
        shape.push(Extent::Static(extent));
        left /= extent;
    }
    shape.push(Extent::Static(left));
    for &open in opens {
        shape.insert(random.below(shape.len() as u64 + 1) as usize, open);
    }
    shape
}
