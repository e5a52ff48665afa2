//! Tests of rows that go through shared memory.

use super::*;

/// Bytes that a workgroup shares.
const SHARED: u64 = 32 << 10;

/// A matrix product.
#[derive(Clone, Copy)]
struct Product {
    /// Number of rows, in tiles of four.
    pixels: u64,
    /// Inner dimension. A round takes `group` elements, which are bytes if there are several.
    depth: u64,
    group: u64,
    /// Number of columns, in panels of `vectors` vectors of four.
    outputs: u64,
    vectors: u64,
    /// Distance between rows, in elements.
    stride: u64,
}

const FLOATS: Product = Product { pixels: 2048, depth: 16, group: 1, outputs: 32, vectors: 4, stride: 16 };

impl Product {
    /// Returns the text of a kernel with four rows and a panel per round. Each value has its own number.
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

    /// Returns the only launch, and the same launch with copied rows if that is better.
    fn launched(self) -> (Launch, Option<Kernel>) {
        of(&self.text())
    }
}

/// Returns the launch of a kernel, and the same launch with copied rows if that is better.
fn of(text: &str) -> (Launch, Option<Kernel>) {
    let kernel = parse_kernel(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let launches = launches_of(&kernel);
    let [launch] = &launches[..] else { panic!("one launch") };
    let shared = with_shared_rows(&launch.kernel, &apart(launch.kernel.pointer_params().count()), SHARED);
    (launch.clone(), shared)
}

fn leaves_the_same(launch: &Launch, shared: &Kernel) {
    let number = |i: u64| ((i * 37 % 101) as f32 - 50.0) * 0.37;
    let of = |data: &BufferData| match data.lane {
        Lane::F32 => (0..data.elements).flat_map(|i| number(i).to_le_bytes()).collect(),
        lane => (0..data.elements * u64::from(lane.bytes())).map(|i| (i * 7 % 251) as u8).collect(),
    };
    let mut alone = memory(&launch.kernel, of);
    interpret_grid(&launch.kernel, &mut alone, 1).unwrap();
    for seed in 0..2 {
        let mut together = memory(&launch.kernel, of);
        interpret_grid(shared, &mut together, seed).unwrap_or_else(|error| panic!("{error}\n{shared}"));
        assert!(alone == together, "other bits\n{shared}");
    }
}

/// Returns the shared arrays of a kernel with their numbers of elements.
fn shared_arrays(kernel: &Kernel) -> Vec<(&str, u64)> {
    let arrays = kernel.buffers.iter().filter(|data| data.kind == BufferKind::Shared);
    arrays.map(|data| (data.name.as_str(), data.elements)).collect()
}

#[test]
fn workgroups_copy_chunks_of_their_rows() {
    // There are two panels with 512 positions each.
    let (launch, shared) = FLOATS.launched();
    let shared = shared.expect("lanes are rows apart");
    leaves_the_same(&launch, &shared);
    assert_eq!(shared.grid, launch.kernel.grid);
    // Each lane copies eight words of four rows. A ninth word makes the distance odd.
    assert_eq!(shared_arrays(&shared), [("places0", 64), ("rows0", 64 * 4 * 9)]);
}

#[test]
fn bytes_are_copied_as_words() {
    let (launch, shared) = Product { depth: 32, group: 4, stride: 48, ..FLOATS }.launched();
    let shared = shared.expect("lanes are rows apart");
    leaves_the_same(&launch, &shared);
    // The eight words of a row are one chunk.
    assert_eq!(shared_arrays(&shared), [("places0", 64), ("rows0", 64 * 4 * 36)]);
}

#[test]
fn positions_beyond_the_end_go_along() {
    let (launch, shared) = Product { pixels: 1100, depth: 8, outputs: 64, ..FLOATS }.launched();
    let shared = shared.expect("lanes are rows apart");
    leaves_the_same(&launch, &shared);
    assert!(launch.kernel.grid.is_some_and(|grid| grid.positions > 275 * 4));
}

/// The rule: lanes that copy together touch at most half the lines and make at most half the loads, and they use the copies often.
#[test]
fn rows_are_copied_where_lanes_are_apart() {
    let is_copied = |product: Product| product.launched().1.is_some();
    assert!(is_copied(FLOATS));
    // The four rows of a lane are contiguous: their 16 words are a line that only this lane reads.
    assert!(is_copied(Product { stride: 4, depth: 4, ..FLOATS }));
    // All lanes read the same row.
    assert!(!is_copied(Product { stride: 0, ..FLOATS }));
    // No divisor of the number of rounds has room.
    assert!(!is_copied(Product { depth: 37, stride: 40, ..FLOATS }));
    // Bytes follow the same rule.
    assert!(!is_copied(Product { depth: 32, group: 4, stride: 36, ..FLOATS }));
    // Each load contributes to eight products, then to only four.
    assert!(is_copied(Product { vectors: 2, ..FLOATS }));
    assert!(!is_copied(Product { vectors: 1, ..FLOATS }));
    // Rows do not begin at multiples of 16 bytes, so they are copied word by word.
    assert!(!is_copied(Product { stride: 17, ..FLOATS }));
    // There are few positions.
    assert!(!is_copied(Product { pixels: 64, ..FLOATS }));
}

/// Buffers that the kernel writes, or that share memory with such a buffer, are not copied.
#[test]
fn what_is_written_is_not_copied() {
    let (launch, _) = FLOATS.launched();
    let with = |places: [(usize, u64); 3]| with_shared_rows(&launch.kernel, &places.to_vec(), SHARED).is_some();
    let bytes = (2048 * 16 + 16) * 4;
    assert!(with([(0, 0), (1, 0), (0, bytes)]));
    assert!(!with([(0, 0), (1, 0), (0, bytes - 4)]));
    assert!(
        with_shared_rows(&launch.kernel, &apart(3), 4 << 10).is_none_or(|kernel| shared_arrays(&kernel).is_empty()),
        "there is no room"
    );
}

/// Workgroups of the kernel's other loops do not change.
#[test]
fn one_chain_of_several_is_copied() {
    let text = FLOATS.text();
    let end = text.rfind('}').expect("a kernel");
    let more = "for %80 in 0..64 step 1 { %81: f32 = load w[%80] store z[%80], %81 }";
    let text = format!("{}{more} }}", &text[..end]).replace("y: output", "z: output f32[64] align 64, y: output");
    let (launch, shared) = of(&text);
    leaves_the_same(&launch, &shared.expect("lanes are rows apart"));
}
