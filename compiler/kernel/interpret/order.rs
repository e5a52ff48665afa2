//! Orders of positions, workgroups and rounds.

/// Returns the numbers below `count` in an order drawn from a seed. In a verified kernel, `count` is below 2³¹.
pub fn shuffled(count: u64, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    let mut state = seed;
    for last in (1..numbers.len()).rev() {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let drawn = (mixed ^ (mixed >> 31)) % (last as u64 + 1);
        numbers.swap(last, drawn as usize);
    }
    numbers
}
