//! Tests of register tiles of matrix products. Their hot loops have no spill and the expected number of multiply-adds. `cargo test tiles::measure --
//! --ignored --nocapture` measures their speed.

use super::engines::{load, on_host, triple};
use crate::clif::{Optimise, compile_kernel, isa_for, listing};
use modelc_kernel::{BufferKind, DotOp, Kernel, KernelBuilder, Lane, Type, Value};
use modelc_machine::{CpuMachine, MACHINES};
use std::time::Instant;

/// Extents of the measured products.
const SIZE: i64 = 256;

/// The types of the factors.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Product {
    /// f32, fused.
    F32,
    /// Pairs of i16 into i32; both operands are widened in memory.
    Signed16,
    /// Pairs of i8 that are widened when loaded: the weights. The activations are i16 in memory.
    Widened8,
    /// u8 × i8 in groups of four.
    Dot8(DotOp),
}

/// The form of the operands of a multiply-add.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    /// A row's splat is the first operand.
    SplatFirst,
    /// The vector of columns is the first operand.
    VectorFirst,
    /// All splats are loaded first; then the order is column by column.
    ColumnMajor,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Tile {
    product: Product,
    rows: u16,
    vectors: u16,
    unroll: i64,
    form: Form,
}

impl Product {
    fn lane(self) -> Lane {
        match self {
            Self::F32 => Lane::F32,
            Self::Signed16 | Self::Widened8 => Lane::I16,
            Self::Dot8(_) => Lane::I8,
        }
    }

    /// Returns the depth of one multiply-add.
    fn group(self) -> i64 {
        match self {
            Self::F32 => 1,
            Self::Signed16 | Self::Widened8 => 2,
            Self::Dot8(_) => 4,
        }
    }

    fn accumulator(self) -> Type {
        Type::vector(if self == Self::F32 { Lane::F32 } else { Lane::I32 }, 4)
    }
}

impl Tile {
    fn panel(self) -> i64 {
        4 * i64::from(self.vectors)
    }

    fn panels(self) -> i64 {
        (SIZE + self.panel() - 1) / self.panel()
    }

    fn row_tiles(self) -> i64 {
        (SIZE + i64::from(self.rows) - 1) / i64::from(self.rows)
    }

    /// Makes the kernel C = A · B. A is in rows, B is packed in panels of columns, and the depth is grouped for the multiply-add.
    fn kernel(self) -> Kernel {
        let product = self.product;
        let group = product.group();
        let (rows, panel) = (i64::from(self.rows), self.panel());
        let mut b = KernelBuilder::new(format!("{self:?}"));
        let a = b.buffer("a", BufferKind::Input, product.lane(), (self.row_tiles() * rows * SIZE) as u64, 16);
        let weight = if product == Product::Widened8 { Lane::I8 } else { product.lane() };
        let w = b.buffer("b", BufferKind::Input, weight, (self.panels() * panel * SIZE) as u64, 16);
        let ty = product.accumulator();
        let c = b.buffer("c", BufferKind::Output, ty.lane, (self.row_tiles() * rows * self.panels() * panel) as u64, 16);
        b.for_range(0, self.panels(), 1, |b, j| {
            let w_start = b.scale_index(j, panel * SIZE, 0);
            let c_start = b.scale_index(j, panel, 0);
            b.for_range(0, self.row_tiles(), 1, |b, i| {
                let a_start = b.scale_index(i, rows * SIZE, 0);
                let zero = if ty.lane == Lane::F32 { b.float(ty, 0.0) } else { b.int(ty, 0) };
                let accumulators = vec![zero; usize::from(self.rows * self.vectors)];
                let (first, last) = (b.index(0), b.index(SIZE));
                let sums = b.for_carry(first, last, self.unroll * group, &accumulators, |b, k, sums| {
                    let mut sums = sums.to_vec();
                    let a_index = b.add(a_start, k);
                    let columns = b.scale_index(k, panel, 0);
                    let w_index = b.add(w_start, columns);
                    for u in 0..self.unroll {
                        self.step(b, &mut sums, u * group, (a, a_index), (w, w_index));
                    }
                    sums
                });
                let c_row = b.scale_index(i, rows * self.panels() * panel, 0);
                let c_index = b.add(c_row, c_start);
                for (n, &sum) in sums.iter().enumerate() {
                    let (r, v) = (n as i64 / i64::from(self.vectors), n as i64 % i64::from(self.vectors));
                    b.store(c, c_index, r * self.panels() * panel + 4 * v, sum);
                }
            });
        });
        b.finish()
    }

    fn step(
        self,
        b: &mut KernelBuilder,
        sums: &mut [Value],
        depth: i64,
        (a, a_index): (modelc_kernel::Buffer, Value),
        (w, w_index): (modelc_kernel::Buffer, Value),
    ) {
        let group = self.product.group();
        let lanes = 4 * group as u16;
        let splat = |b: &mut KernelBuilder, r: u16| match self.product {
            Product::F32 => b.load_splat(a, a_index, i64::from(r) * SIZE + depth, 4),
            _ => b.load_splat_group(a, a_index, i64::from(r) * SIZE + depth, group as u16, lanes),
        };
        let vector = |b: &mut KernelBuilder, v: u16| {
            let value = b.load(w, w_index, depth * self.panel() + i64::from(v) * 4 * group, lanes);
            if self.product == Product::Widened8 { b.convert(modelc_kernel::ConvertOp::SignExtend, value, Lane::I16) } else { value }
        };
        let multiply_add = |b: &mut KernelBuilder, x: Value, y: Value, z: Value| match (self.product, self.form) {
            (Product::F32, Form::VectorFirst) => b.fma(y, x, z),
            (Product::F32, _) => b.fma(x, y, z),
            (Product::Dot8(op), _) => b.dot(op, z, x, y),
            _ => b.dot(DotOp::Signed16, z, x, y),
        };
        if self.form == Form::ColumnMajor {
            let splats: Vec<_> = (0..self.rows).map(|r| splat(b, r)).collect();
            for v in 0..self.vectors {
                let y = vector(b, v);
                for r in 0..self.rows {
                    let sum = &mut sums[usize::from(r * self.vectors + v)];
                    *sum = multiply_add(b, splats[usize::from(r)], y, *sum);
                }
            }
            return;
        }
        let vectors: Vec<_> = (0..self.vectors).map(|v| vector(b, v)).collect();
        for r in 0..self.rows {
            let x = splat(b, r);
            for v in 0..self.vectors {
                let y = vectors[usize::from(v)];
                let sum = &mut sums[usize::from(r * self.vectors + v)];
                *sum = multiply_add(b, x, y, *sum);
            }
        }
    }

    /// Returns the number of useful operations of one product.
    fn operations(self) -> f64 {
        2.0 * (SIZE * SIZE * SIZE) as f64
    }
}

fn machine(level: &str) -> &'static CpuMachine {
    MACHINES.iter().find(|m| m.level == level).unwrap()
}

/// Measures the speed in 10⁹ operations a second, the best of several runs.
fn speed(tile: Tile, machine: &'static CpuMachine) -> f64 {
    let isa = isa_for(&triple(machine), machine, Optimise::Kernel).unwrap();
    let kernel = tile.kernel();
    let code = compile_kernel(&kernel, &*isa, machine).unwrap();
    let function = load(machine, &[code])[0];
    let mut buffers: Vec<Vec<u128>> =
        kernel.pointer_params().map(|(_, b)| vec![0; (b.elements * u64::from(b.lane.bytes())).div_ceil(16) as usize + 4]).collect();
    let [a, b, c] = [0, 1, 2].map(|i| buffers[i].as_mut_ptr() as u64);
    let mut best = f64::MAX;
    for _ in 0..6 {
        let start = Instant::now();
        for _ in 0..4 {
            assert_eq!(function(a, b, c, 0, 0, 0), 0);
        }
        best = best.min(start.elapsed().as_secs_f64() / 4.0);
    }
    tile.operations() / best / 1e9
}

/// Checks the tiles that the measurement below found best: the multiply-adds of one loop round, and no stack access.
#[test]
fn listings() {
    let tile = |product, rows, vectors, unroll, form| Tile { product, rows, vectors, unroll, form };
    let unsigned = Product::Dot8(DotOp::UnsignedSigned8);
    let cases = [
        ("x86-64-v3", "vfmadd", tile(Product::F32, 5, 2, 4, Form::VectorFirst)),
        ("x86-64-v4", "vfmadd", tile(Product::F32, 3, 3, 4, Form::ColumnMajor)),
        ("x86-64-v3", "vpmaddwd", tile(Product::Signed16, 2, 4, 2, Form::ColumnMajor)),
        ("x86-64-v3", "vpmaddwd", tile(Product::Widened8, 6, 2, 2, Form::SplatFirst)),
        ("x86-64-v2", "pmaddwd", tile(Product::Widened8, 4, 2, 1, Form::SplatFirst)),
        ("x86-64-v4", "vpdpbusd", tile(unsigned, 6, 2, 2, Form::SplatFirst)),
        ("x86-64-v4", "vpdpbusd", tile(unsigned, 3, 4, 2, Form::ColumnMajor)),
    ];
    for (level, instruction, tile) in cases {
        let machine = machine(level);
        let isa = isa_for(&triple(machine), machine, Optimise::Kernel).unwrap();
        let text = listing(&tile.kernel(), &*isa, machine).unwrap();
        let hot = text.split("block").max_by_key(|block| block.matches(instruction).count()).unwrap();
        let wanted = usize::from(tile.rows * tile.vectors) * tile.unroll as usize;
        assert_eq!(hot.matches(instruction).count(), wanted, "{tile:?} on {level}:\n{hot}");
        assert!(!hot.contains("(%rsp"), "{tile:?} on {level} spills:\n{hot}");
    }
}

/// Prints the speed of many tiles, the best first, in 10⁹ operations a second.
#[test]
#[ignore = "a measurement"]
fn measure() {
    let forms = [Form::SplatFirst, Form::VectorFirst, Form::ColumnMajor];
    let products = [
        (Product::F32, "x86-64-v3"),
        (Product::Signed16, "x86-64-v3"),
        (Product::Widened8, "x86-64-v3"),
        (Product::Dot8(DotOp::UnsignedSigned8), "x86-64-v4"),
    ];
    for (product, level) in products.into_iter().filter(|p| on_host(machine(p.1))) {
        let mut table = vec![];
        let shapes = (2..=8).flat_map(|rows| (1..=4).map(move |vectors| (rows, vectors))).filter(|(r, v)| (6..=13).contains(&(r * v)));
        for (rows, vectors) in shapes {
            for (unroll, form) in [1, 2, 4].into_iter().flat_map(|unroll| forms.map(|form| (unroll, form))) {
                let tile = Tile { product, rows, vectors, unroll, form };
                table.push((speed(tile, machine(level)), tile));
            }
        }
        table.sort_by(|x, y| y.0.total_cmp(&x.0));
        for (speed, t) in table.iter().take(12) {
            println!("{speed:6.1}  {:?} {}x{} u{} {:?}", t.product, t.rows, 4 * t.vectors, t.unroll, t.form);
        }
    }
}

/// Checks that unused loads leave no trace, and that a load that is only widened is one instruction.
#[test]
fn loads_are_folded() {
    let mut b = KernelBuilder::new("loads");
    let input = b.buffer("in", BufferKind::Input, Lane::I8, 64, 16);
    let out = b.buffer("out", BufferKind::Output, Lane::I16, 8, 16);
    let zero = b.index(0);
    b.load(input, zero, 16, 16);
    b.load_splat(input, zero, 3, 16);
    let narrow = b.load(input, zero, 0, 8);
    let wide = b.convert(modelc_kernel::ConvertOp::SignExtend, narrow, Lane::I16);
    b.store(out, zero, 0, wide);
    let kernel = b.finish();
    let machine = machine("x86-64-v3");
    let isa = isa_for(&triple(machine), machine, Optimise::Kernel).unwrap();
    let text = listing(&kernel, &*isa, machine).unwrap();
    assert_eq!(text.matches("(%rdi").count(), 1, "{text}");
    assert!(text.contains("vpmovsxbw (%rdi)"), "{text}");
}
