//! Tests of hot loops: they hold the expected instructions only, without moves and without spills.

use crate::x86::KERNELS;
use modelc_kernel::text::parse_kernel;
use modelc_kernel::{BufferKind, ConvertOp, DotOp, Kernel, KernelBuilder, Lane, Type, Value};
use modelc_machine::{CpuMachine, machine};

/// Makes a matrix product in the form that schedules write: sums of `rows` × `vectors`. A step loads the weights, then each row's operand, and
/// multiplies them.
fn tile(machine: &CpuMachine, dot: Option<DotOp>, rows: u16, vectors: u16, unroll: i64) -> Kernel {
    const DEPTH: i64 = 240;
    let lanes = machine.lanes(4);
    let (lane, group) = match dot {
        None => (Lane::F32, 1),
        Some(DotOp::Signed16) => (Lane::I16, 2),
        Some(_) => (Lane::I8, 4),
    };
    let sums_lane = if dot.is_none() { Lane::F32 } else { Lane::I32 };
    let panel = i64::from(vectors * lanes);
    let mut b = KernelBuilder::new("tile");
    let x = b.buffer("x", BufferKind::Input, lane, (i64::from(rows) * DEPTH * group) as u64, 4);
    let w = b.buffer("w", BufferKind::Input, lane, (DEPTH * panel * group) as u64, 64);
    let out = b.buffer("out", BufferKind::Output, sums_lane, u64::from(rows) * panel as u64, 4);
    let ty = Type::vector(sums_lane, lanes);
    let zero = if dot.is_none() { b.float(ty, 0.0) } else { b.int(ty, 0) };
    let (first, last) = (b.index(0), b.index(DEPTH * group));
    let sums = b.for_carry(first, last, unroll * group, &vec![zero; usize::from(rows * vectors)], |b, k, sums| {
        let mut sums = sums.to_vec();
        let w_index = b.scale_index(k, panel, 0);
        for u in 0..unroll {
            let step = u * group;
            let narrow = lanes * group as u16;
            let ws: Vec<Value> = (0..vectors).map(|v| b.load(w, w_index, step * panel + i64::from(v * narrow), narrow)).collect();
            for row in 0..rows {
                let offset = i64::from(row) * DEPTH * group + step;
                let splat =
                    if dot.is_none() { b.load_splat(x, k, offset, lanes) } else { b.load_splat_group(x, k, offset, group as u16, narrow) };
                for (v, &w) in ws.iter().enumerate() {
                    let sum = &mut sums[usize::from(row * vectors) + v];
                    *sum = match dot {
                        None => b.fma(splat, w, *sum),
                        Some(op) => b.dot(op, *sum, splat, w),
                    };
                }
            }
        }
        sums
    });
    let start = b.index(0);
    for (i, &sum) in sums.iter().enumerate() {
        b.store(out, start, i as i64 * i64::from(lanes), sum);
    }
    b.finish()
}

/// Returns the block with the most occurrences of an instruction.
fn hottest<'a>(text: &'a str, instruction: &str) -> &'a str {
    text.split("block_").max_by_key(|block| block.matches(instruction).count()).unwrap_or_default()
}

#[test]
fn tiles_stay_in_registers() {
    let unsigned = Some(DotOp::UnsignedSigned8);
    let signed = Some(DotOp::Signed16);
    let cases = [
        ("x86-64-v3", None, "vfmadd231ps", 6, 2, 1),
        ("x86-64-v3", None, "vfmadd231ps", 6, 2, 4),
        ("x86-64-v3", signed, "vpmaddwd", 6, 2, 2),
        ("x86-64-v4", None, "vfmadd231ps", 14, 2, 2),
        ("x86-64-v4", None, "vfmadd231ps", 8, 2, 4),
        ("x86-64-v4", None, "vfmadd231ps", 6, 4, 2),
        ("x86-64-v4", unsigned, "vpdpbusd", 14, 2, 2),
        ("x86-64-v4", unsigned, "vpdpbusd", 6, 4, 4),
        ("x86-64-v4", unsigned, "vpdpbusd", 8, 2, 4),
    ];
    for (level, dot, instruction, rows, vectors, unroll) in cases {
        let machine = machine(level).expect("a level");
        let text = KERNELS.text(&tile(machine, dot, rows, vectors, unroll), machine).unwrap();
        let hot = hottest(&text, instruction);
        let products = usize::from(rows * vectors) * unroll as usize;
        assert_eq!(hot.matches(instruction).count(), products, "{level} {rows}x{vectors}:\n{hot}");
        assert!(!hot.contains("rsp") && !hot.contains("vmovaps"), "{level} {rows}x{vectors} moves registers:\n{hot}");
        // The other instructions: the counter, the end, and a product for the index.
        let loads = usize::from(rows + vectors) * unroll as usize;
        let sums = if instruction == "vpmaddwd" { products } else { 0 };
        let rest = hot.lines().filter(|line| line.starts_with("  ")).take_while(|line| !line.trim().starts_with('j')).count();
        assert!(rest <= products + sums + loads + 5, "{level} {rows}x{vectors} has {rest} instructions:\n{hot}");
    }
}

#[test]
fn products_repeat_an_element_of_memory_that_no_other_reads() {
    let machine = machine("x86-64-v4").expect("a level");
    let text = KERNELS.text(&tile(machine, None, 14, 1, 2), machine).unwrap();
    let hot = hottest(&text, "vfmadd231ps");
    assert_eq!(hot.matches("{1to16}").count() + hot.matches("bcst").count(), 28, "{hot}");
    assert!(!hot.contains("vpbroadcastd"), "{hot}");
}

#[test]
fn loads_that_one_instruction_uses_are_part_of_it() {
    let machine = machine("x86-64-v3").expect("a level");
    let mut b = KernelBuilder::new("sum");
    let [x, y] = ["x", "y"].map(|name| b.buffer(name, BufferKind::Input, Lane::F32, 64, 4));
    let out = b.buffer("out", BufferKind::Output, Lane::F32, 64, 4);
    b.for_range(0, 64, 8, |b, i| {
        let (p, q) = (b.load(x, i, 0, 8), b.load(y, i, 0, 8));
        let sum = b.add(p, q);
        let ty = b.ty(sum);
        let half = b.float(ty, 0.5);
        let result = b.mul(sum, half);
        b.store(out, i, 0, result);
    });
    let text = KERNELS.text(&b.finish(), machine).unwrap();
    let hot = hottest(&text, "vaddps");
    let lines: Vec<&str> = hot.lines().skip(1).map(str::trim).collect();
    let names: Vec<&str> = lines.iter().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(names[..7], ["vmovups", "vaddps", "vmulps", "vmovups", "add", "cmp", "jl"], "{hot}");
    assert!(lines[1].contains('[') && lines[2].contains('['), "{hot}");
}

#[test]
fn sums_are_scaled_in_place_and_narrowed_as_they_are_stored() {
    let machine = machine("x86-64-v4").expect("a level");
    let mut b = KernelBuilder::new("scaled");
    let sums = b.buffer("sums", BufferKind::Input, Lane::I32, 64, 4);
    let [scales, offsets] = ["scales", "offsets"].map(|name| b.buffer(name, BufferKind::Input, Lane::F32, 16, 4));
    let out = b.buffer("out", BufferKind::Output, Lane::I8, 64, 1);
    let zero = b.index(0);
    let (scale, offset) = (b.load(scales, zero, 0, 16), b.load(offsets, zero, 0, 16));
    b.for_range(0, 64, 32, |b, i| {
        for k in [0, 16] {
            let sum = b.load(sums, i, k, 16);
            let x = b.convert(ConvertOp::SignedToFloat, sum, Lane::F32);
            let scaled = b.fma(x, scale, offset);
            let whole = b.convert(ConvertOp::FloatToSignedInRange, scaled, Lane::I32);
            let bytes = b.convert(ConvertOp::NarrowSigned, whole, Lane::I8);
            b.store(out, i, k, bytes);
        }
    });
    let text = KERNELS.text(&b.finish(), machine).unwrap();
    let hot = hottest(&text, "vcvttps2dq");
    let names: Vec<&str> = hot.lines().skip(1).map(|line| line.trim().split(' ').next().unwrap_or_default()).collect();
    // The addend of both is not copied, and no separate store exists.
    assert_eq!(names[..8], ["vcvtdq2ps", "vfmadd213ps", "vcvttps2dq", "vpmovsdb"].repeat(2), "{hot}");
    assert_eq!(hot.matches("vpmovsdb [").count(), 2, "{hot}");
}

#[test]
fn elements_of_streamed_buffers_are_fetched_before_their_access() {
    let text = |streamed: &str| {
        format!(
            "kernel @k(x: input f32[1024] align 4{streamed}, y: output f32[1024] align 4{streamed}) {{
              for %0 in 0..1024 step 32 {{
                %1: f32x32 = load x[%0]
                %2: f32x32 = add %1, %1
                store y[%0], %2
              }}
            }}"
        )
    };
    for (level, lines) in [("x86-64-v3", 2), ("x86-64-v4", 2)] {
        let machine = machine(level).expect("a level");
        let [plain, fetched] = ["", " streamed"].map(|streamed| {
            let kernel = parse_kernel(&text(streamed)).expect("a kernel");
            KERNELS.text(&kernel, machine).unwrap()
        });
        assert!(!plain.contains("prefetch"), "{plain}");
        let hot = hottest(&fetched, "prefetch");
        assert_eq!([hot.matches("prefetcht0").count(), hot.matches("prefetchw").count()], [lines; 2], "{level}:\n{hot}");
        assert_eq!(hot.matches("+800h]").count() + hot.matches("+840h]").count(), 4, "{level}:\n{hot}");
    }
}
