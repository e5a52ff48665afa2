//! Tests of loads, stores, splats and gathers.

use super::engines::check;
use super::{Case, Random, bytes};
use modelc_kernel::{Active, Bounds, BufferKind, ConvertOp, KernelBuilder, Lane};

const LANES: [u16; 6] = [1, 2, 4, 8, 16, 32];
const ALL: [Lane; 6] = [Lane::I8, Lane::I16, Lane::I32, Lane::I64, Lane::F32, Lane::F64];

/// Tests partial accesses at the very end of buffers. Inactive lanes are zero after a load, and not written by a store.
#[test]
fn partial_accesses() {
    let mut random = Random(11);
    let mut cases = vec![];
    for lane in ALL {
        for lanes in LANES {
            for active in 1..=lanes {
                let data = random.elements(lane, usize::from(active) + 1);
                let mut b = KernelBuilder::new(format!("partial_{lane:?}_{active}_of_{lanes}"));
                let input = b.buffer("in", BufferKind::Input, lane, u64::from(active) + 1, lane.bytes());
                let whole = b.buffer("whole", BufferKind::Output, lane, u64::from(lanes), lane.bytes());
                let out = b.buffer("out", BufferKind::Output, lane, u64::from(active), lane.bytes());
                let zero = b.index(0);
                let value = b.load_active(input, zero, 1, lanes, active);
                b.store(whole, zero, 0, value);
                b.store_active(out, zero, 0, value, active);
                let mut padded = data[1..].to_vec();
                padded.resize(usize::from(lanes), 0);
                let mut case = Case::new(
                    b.finish(),
                    vec![bytes(lane, &data), vec![0; usize::from(lanes) * lane.bytes() as usize]],
                    bytes(lane, &data[1..]),
                );
                case.after[1] = Some(bytes(lane, &padded));
                cases.push(case);
            }
        }
    }
    check(&cases);
}

/// Tests work on the first lanes of vectors, at the very end of buffers: each is doubled.
#[test]
fn work_on_parts() {
    let mut random = Random(12);
    let mut cases = vec![];
    for (lane, bits) in [(Lane::I8, 7), (Lane::I16, 15), (Lane::I32, 30)] {
        for lanes in [4, 8, 16] {
            for active in 1..=lanes {
                let numbers: Vec<i32> = (0..active).map(|_| random.below(1 << bits) as i32 - (1 << (bits - 1))).collect();
                let of = |numbers: &mut dyn Iterator<Item = i32>| {
                    numbers.flat_map(|n| n.to_le_bytes()[..lane.bytes() as usize].to_vec()).collect()
                };
                let mut b = KernelBuilder::new(format!("double_{lane:?}_{active}_of_{lanes}"));
                let [input, out] = [("in", BufferKind::Input), ("out", BufferKind::Output)]
                    .map(|(name, kind)| b.buffer(name, kind, lane, active.into(), lane.bytes()));
                let zero = b.index(0);
                let value = b.load_active(input, zero, 0, lanes, active);
                let value = if lane == Lane::I32 { value } else { b.convert(ConvertOp::SignExtend, value, Lane::I32) };
                let sum = b.add(value, value);
                let sum = if lane == Lane::I32 { sum } else { b.convert(ConvertOp::NarrowSigned, sum, lane) };
                b.store_active(out, zero, 0, sum, active);
                let [data, doubled] = [1, 2].map(|times| of(&mut numbers.iter().map(|n| n * times)));
                cases.push(Case::new(b.finish(), vec![data], doubled));
            }
        }
    }
    check(&cases);
}

/// Tests run-time lane counts at the very end of buffers. Inactive lanes are zero after a load, and not written by a store. A count above the number
/// of lanes means all lanes.
#[test]
fn counted_lanes() {
    let mut random = Random(13);
    let mut cases = vec![];
    for lane in ALL {
        for lanes in LANES.into_iter().chain([64]).filter(|&lanes| lanes > 1) {
            for count in 0..=lanes + 1 {
                let active = count.min(lanes);
                let data = random.elements(lane, usize::from(active));
                let mut b = KernelBuilder::new(format!("counted_{lane:?}_{count}_of_{lanes}"));
                let number = b.integer();
                let input = b.buffer("in", BufferKind::Input, lane, active.into(), lane.bytes());
                let whole = b.buffer("whole", BufferKind::Output, lane, lanes.into(), lane.bytes());
                let out = b.buffer("out", BufferKind::Output, lane, active.into(), lane.bytes());
                let zero = b.index(0);
                let mask = b.first_lanes(number, lanes);
                let value = b.load_active(input, zero, 0, lanes, Active::Where(mask));
                b.store(whole, zero, 0, value);
                b.store_active(out, zero, 0, value, Active::Where(mask));
                let mut padded = data.clone();
                padded.resize(usize::from(lanes), 0);
                let inputs = vec![bytes(lane, &data), vec![0; usize::from(lanes) * lane.bytes() as usize]];
                let mut case = Case::new(b.finish(), inputs, bytes(lane, &data));
                case.integers = vec![count.into()];
                case.after[1] = Some(bytes(lane, &padded));
                cases.push(case);
            }
        }
    }
    check(&cases);
}

/// Tests splats of one element and of groups, at unaligned places.
#[test]
fn splats() {
    let mut random = Random(12);
    let mut cases = vec![];
    for lane in ALL {
        let data = random.elements(lane, 40);
        let mut b = KernelBuilder::new(format!("splats_{lane:?}"));
        let input = b.buffer("in", BufferKind::Input, lane, 40, lane.bytes());
        let out = b.buffer("out", BufferKind::Output, lane, 4096, lane.bytes());
        let zero = b.index(0);
        let mut wanted: Vec<u64> = vec![];
        for lanes in LANES {
            let value = b.load_splat(input, zero, 3, lanes);
            b.store(out, zero, wanted.len() as i64, value);
            wanted.extend(vec![data[3]; usize::from(lanes)]);
            let scalar = b.load(input, zero, 5, 1);
            let value = b.splat(scalar, lanes);
            b.store(out, zero, wanted.len() as i64, value);
            wanted.extend(vec![data[5]; usize::from(lanes)]);
            for group in [1, 2, 4, 8, 16] {
                if group <= lanes && u32::from(group) * lane.bytes() <= 16 && lanes > 1 {
                    let value = b.load_splat_group(input, zero, 7, group, lanes);
                    b.store(out, zero, wanted.len() as i64, value);
                    wanted.extend((0..usize::from(lanes)).map(|i| data[7 + i % usize::from(group)]));
                }
            }
        }
        wanted.resize(4096, 0);
        let mut case = Case::new(b.finish(), vec![bytes(lane, &data)], bytes(lane, &wanted));
        case.before[1] = vec![0; 4096 * lane.bytes() as usize];
        cases.push(case);
    }
    check(&cases);
}

/// Tests gathers with both widths of indices, proven and clamped.
#[test]
fn gathers() {
    let mut random = Random(13);
    let mut cases = vec![];
    for lane in ALL {
        for (index_lane, bounds) in
            [(Lane::I32, Bounds::Proven), (Lane::I64, Bounds::Clamp), (Lane::I32, Bounds::Clamp), (Lane::I64, Bounds::Proven)]
        {
            let data = random.elements(lane, 50);
            let indices = (0..63).map(|_| match bounds {
                Bounds::Proven => random.below(48) as i64 - 2,
                Bounds::Clamp => match random.below(6) {
                    0 => i64::from(i32::MIN),
                    1 => i64::from(i32::MAX),
                    _ => random.below(100) as i64 - 30,
                },
            });
            let indices: Vec<i64> = indices.into_iter().collect();
            let wanted: Vec<u64> = indices.iter().map(|&i| data[(i + 2).clamp(0, 49) as usize]).collect();
            let mut b = KernelBuilder::new(format!("gather_{lane:?}_{index_lane:?}_{bounds:?}"));
            let table = b.buffer("table", BufferKind::Input, lane, 50, lane.bytes());
            let places = b.buffer("indices", BufferKind::Input, index_lane, 63, 4);
            let out = b.buffer("out", BufferKind::Output, lane, 63, lane.bytes());
            let zero = b.index(0);
            for lanes in LANES {
                let offset = i64::from(lanes) - 1;
                let index = b.load(places, zero, offset, lanes);
                let value = b.gather(table, index, 2, bounds);
                b.store(out, zero, offset, value);
            }
            let indices: Vec<u64> = indices.iter().map(|&i| i as u64).collect();
            cases.push(Case::new(b.finish(), vec![bytes(lane, &data), bytes(index_lane, &indices)], bytes(lane, &wanted)));
        }
    }
    check(&cases);
}

/// Tests bytes as indices of a table with an entry for each byte, in vectors of every length. The table may be inside a longer buffer.
#[test]
fn gathers_by_bytes() {
    const ALL_LANES: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    let mut random = Random(15);
    let mut cases = vec![];
    for (lane, before) in [(Lane::I8, 0), (Lane::I8, 3), (Lane::I16, 0), (Lane::I32, 0), (Lane::F32, 5)] {
        let elements = 256 + 2 * before;
        let data = random.elements(lane, elements);
        // First every byte, then random ones.
        let indices: Vec<u64> = (0..512).map(|i| if i < 256 { i } else { random.below(256) }).collect();
        let entry = |&byte: &u64| data[(i64::from(byte as i8) + 128) as usize + before];
        let mut b = KernelBuilder::new(format!("gather_by_bytes_{lane:?}_{before}"));
        let table = b.buffer("table", BufferKind::Input, lane, elements as u64, lane.bytes());
        let places = b.buffer("indices", BufferKind::Input, Lane::I8, 512, 1);
        let out = b.buffer("out", BufferKind::Output, lane, 512, lane.bytes());
        let zero = b.index(0);
        let look_up = |b: &mut KernelBuilder, offset: i64, lanes: u16| {
            let index = b.load(places, zero, offset, lanes);
            let value = b.gather(table, index, 128 + before as i64, Bounds::Proven);
            b.store(out, zero, offset, value);
        };
        for (offset, lanes) in [(0, 128), (128, 64), (192, 64), (256, 1)].into_iter().chain(ALL_LANES.map(|n| (256 + i64::from(n), n))) {
            look_up(&mut b, offset, lanes);
        }
        cases.push(Case::new(b.finish(), vec![bytes(lane, &data), bytes(Lane::I8, &indices)], {
            bytes(lane, &indices.iter().map(entry).collect::<Vec<u64>>())
        }));
    }
    check(&cases);
}

/// Tests index arithmetic: sums, products, differences, shifts, negative strides, offsets beyond the range of a displacement.
#[test]
fn addresses() {
    let mut random = Random(14);
    let mut cases = vec![];
    for lane in ALL {
        let (rows, columns) = (6i64, 10i64);
        let data = random.elements(lane, (rows * columns) as usize);
        let mut b = KernelBuilder::new(format!("addresses_{lane:?}"));
        let input = b.buffer("in", BufferKind::Input, lane, (rows * columns) as u64, lane.bytes());
        let out = b.buffer("out", BufferKind::Output, lane, (rows * columns) as u64, lane.bytes());
        let n = b.integer();
        // out[r][c] = in[rows - 1 - r][c] for c below 8; columns 8 and 9 by single elements with far offsets that cancel.
        let zero = b.index(0);
        b.for_values(zero, n, 1, |b, r| {
            let last = b.index(rows - 1);
            let mirrored = b.sub(last, r);
            let from = b.scale_index(mirrored, columns, 0);
            let to = b.scale_index(r, 5, 7);
            let two = b.index(1);
            let to = b.binary(modelc_kernel::BinaryOp::ShiftLeft, to, two);
            b.for_range(0, 8, 4, |b, c| {
                let (from, to) = (b.add(from, c), b.add(to, c));
                let value = b.load(input, from, 0, 4);
                b.store(out, to, -14, value);
            });
            let far = b.index(1 << 40);
            let beyond = b.add(from, far);
            for c in 8..columns {
                let value = b.load(input, beyond, c - (1 << 40), 1);
                b.store(out, to, c - 14, value);
            }
        });
        let at = |r: i64, c: i64| data[(r * columns + c) as usize];
        let wanted: Vec<u64> = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))).map(|(r, c)| at(rows - 1 - r, c)).collect();
        let mut case = Case::new(b.finish(), vec![bytes(lane, &data)], bytes(lane, &wanted));
        case.integers = vec![rows];
        cases.push(case);
    }
    check(&cases);
}
