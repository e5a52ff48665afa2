//! Rows by way of memory that a workgroup shares.

use super::*;

/// Bytes that workgroups share.
const SHARED: u64 = 32 << 10;

/// A product of matrices.
#[derive(Clone, Copy)]
struct Product {
    /// Rows, in tiles of four.
    pixels: u64,
    /// The inner dimension, and what a round of it takes: elements that are bytes where they are several.
    depth: u64,
    group: u64,
    /// Columns, in panels of so many vectors of four.
    outputs: u64,
    vectors: u64,
    /// Elements from one row to the next.
    stride: u64,
}

const FLOATS: Product = Product { pixels: 2048, depth: 16, group: 1, outputs: 32, vectors: 4, stride: 16 };

impl Product {
    /// As a kernel of four rows and a panel in a round. Each value has its number.
    fn text(self) -> String {
        let Self { pixels, depth, group, outputs, vectors, stride } = self;
        let (lane, sum) = if group == 1 { ("f32", "f32x4") } else { ("i8", "i32x4") };
        let list = |first: u64, after: &str| (first..first + 4 * vectors).map(|i| format!("%{i}{after}")).collect::<Vec<_>>().join(", ");
        let x = |row: u64| match group {
            1 => format!("%{}: f32x4 = load_splat x[%12 + {}]\n", 50 + row, row * stride),
            _ => format!("%{}: i8x16 = load_splat_group x[%12 + {}] group {group}\n", 50 + row, row * stride),
        };
        let w = |v: u64| format!("%{}: {lane}x{} = load w[%14 + {}]\n", 60 + v, 4 * group, 4 * group * v);
        let product = |i: u64| {
            let (x, w, before, after) = (50 + i / vectors, 60 + i % vectors, 300 + i, 400 + i);
            match group {
                1 => format!("%{after}: {sum} = fma %{x}, %{w}, %{before}\n"),
                _ => format!("%{after}: {sum} = dot_signed8 %{before}, %{x}, %{w}\n"),
            }
        };
        let store = |i: u64| format!("store y[%9 + {}], %{}\n", i / vectors * outputs + 4 * (i % vectors), 200 + i);
        let round = [(0..4).map(x).collect::<String>(), (0..vectors).map(w).collect(), (0..4 * vectors).map(product).collect()].concat();
        let zero = if group == 1 { " = 0.0" } else { " = 0" };
        format!(
            "kernel @k(x: input {lane}[{}] align 64, w: input {lane}[{}] align 64, y: output {}[{}] align 64) {{
              for %1 in 0..{outputs} step {panel} {{
                %2: i64 = mul %1, {depth}
                for %3 in 0..{pixels} step 4 {{
                  %4: i64 = mul %3, {stride}
                  %7: i64 = mul %3, {outputs}
                  %9: i64 = add %7, %1
                  {} = for %11 in 0..{depth} step {group} carry {} {{
                    %12: i64 = add %4, %11
                    %13: i64 = mul %11, {panel}
                    %14: i64 = add %2, %13
                    {round}
                    yield {}
                  }}
                  {}
                }}
              }}
            }}",
            pixels * stride + depth,
            depth * outputs,
            &sum[..3],
            pixels * outputs,
            list(200, &format!(": {sum}")),
            list(300, zero),
            list(400, ""),
            (0..4 * vectors).map(store).collect::<String>(),
            panel = 4 * vectors,
        )
    }

    /// The only stage, and the same with rows copied if that is better.
    fn staged(self) -> (Stage, Option<Kernel>) {
        of(&self.text())
    }
}

/// The stage of a kernel with rows copied, if that is better, and whether it leaves the bits that the stage leaves, in any order.
fn of(text: &str) -> (Stage, Option<Kernel>) {
    let kernel = parse_kernel(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let stages = stages_of(&kernel);
    let [stage] = &stages[..] else { panic!("one stage") };
    let staged = staged(&stage.kernel, &apart(stage.kernel.pointer_params().count()), SHARED);
    (stage.clone(), staged)
}

fn leaves_the_same(stage: &Stage, staged: &Kernel) {
    let number = |i: u64| ((i * 37 % 101) as f32 - 50.0) * 0.37;
    let of = |data: &BufferData| match data.lane {
        Lane::F32 => (0..data.elements).flat_map(|i| number(i).to_le_bytes()).collect(),
        lane => (0..data.elements * u64::from(lane.bytes())).map(|i| (i * 7 % 251) as u8).collect(),
    };
    let mut alone = memory(&stage.kernel, of);
    interpret_grid(&stage.kernel, &mut alone, 1).unwrap();
    for seed in 0..2 {
        let mut together = memory(&stage.kernel, of);
        interpret_grid(staged, &mut together, seed).unwrap_or_else(|error| panic!("{error}\n{staged}"));
        assert!(alone == together, "other bits\n{staged}");
    }
}

/// The arrays that a workgroup shares, with their elements.
fn shared(kernel: &Kernel) -> Vec<(&str, u64)> {
    let arrays = kernel.buffers.iter().filter(|data| data.kind == BufferKind::Shared);
    arrays.map(|data| (data.name.as_str(), data.elements)).collect()
}

#[test]
fn workgroups_copy_chunks_of_their_rows() {
    // 512 positions in each of two panels.
    let (stage, staged) = FLOATS.staged();
    let staged = staged.expect("lanes are rows apart");
    leaves_the_same(&stage, &staged);
    assert_eq!(staged.grid, stage.kernel.grid);
    // Of four rows a lane eight words, and one so that their number is odd.
    assert_eq!(shared(&staged), [("places0", 64), ("rows0", 64 * 4 * 9)]);
}

#[test]
fn bytes_are_copied_as_words() {
    let (stage, staged) = Product { depth: 32, group: 4, stride: 48, ..FLOATS }.staged();
    let staged = staged.expect("lanes are rows apart");
    leaves_the_same(&stage, &staged);
    // All of the eight words that a row has are one chunk.
    assert_eq!(shared(&staged), [("places0", 64), ("rows0", 64 * 4 * 36)]);
}

#[test]
fn positions_beyond_the_end_go_along() {
    let (stage, staged) = Product { pixels: 1100, depth: 8, outputs: 64, ..FLOATS }.staged();
    let staged = staged.expect("lanes are rows apart");
    leaves_the_same(&stage, &staged);
    assert!(stage.kernel.grid.is_some_and(|grid| grid.positions > 275 * 4));
}

/// The rule: lanes that copy together touch at most half the lines and make half the loads, and what they copy is used often.
#[test]
fn rows_are_copied_where_lanes_are_apart() {
    let is_staged = |product: Product| product.staged().1.is_some();
    assert!(is_staged(FLOATS));
    // Four rows of a lane follow each other: their 16 words are a line that the lane reads alone.
    assert!(is_staged(Product { stride: 4, depth: 4, ..FLOATS }));
    // All lanes read the same row.
    assert!(!is_staged(Product { stride: 0, ..FLOATS }));
    // Rounds whose number has no part that has room.
    assert!(!is_staged(Product { depth: 37, stride: 40, ..FLOATS }));
    // Of bytes too.
    assert!(!is_staged(Product { depth: 32, group: 4, stride: 36, ..FLOATS }));
    // Four products for each load.
    assert!(is_staged(Product { vectors: 2, ..FLOATS }));
    assert!(!is_staged(Product { vectors: 1, ..FLOATS }));
    // Rows that do not begin at multiples of 16 bytes: they are copied word by word.
    assert!(!is_staged(Product { stride: 17, ..FLOATS }));
    // Few positions.
    assert!(!is_staged(Product { pixels: 64, ..FLOATS }));
}

/// What the kernel writes, or what lies in the same memory, is not copied.
#[test]
fn what_is_written_is_not_copied() {
    let (stage, _) = FLOATS.staged();
    let with = |places: [(usize, u64); 3]| staged(&stage.kernel, &places.to_vec(), SHARED).is_some();
    let bytes = (2048 * 16 + 16) * 4;
    assert!(with([(0, 0), (1, 0), (0, bytes)]));
    assert!(!with([(0, 0), (1, 0), (0, bytes - 4)]));
    assert!(staged(&stage.kernel, &apart(3), 4 << 10).is_none_or(|kernel| shared(&kernel).is_empty()), "there is no room");
}

/// Workgroups of other loops of the kernel do as before.
#[test]
fn one_chain_of_several_is_staged() {
    let text = FLOATS.text();
    let end = text.rfind('}').expect("a kernel");
    let more = "for %80 in 0..64 step 1 { %81: f32 = load w[%80] store z[%80], %81 }";
    let text = format!("{}{more} }}", &text[..end]).replace("y: output", "z: output f32[64] align 64, y: output");
    let (stage, staged) = of(&text);
    leaves_the_same(&stage, &staged.expect("lanes are rows apart"));
}
