//! Orders of lanes for [`Inst::Shuffle`](super::Inst::Shuffle) that schedules use and back ends have instructions for.

/// Interleaves two vectors: lane 0 of the first, lane 0 of the second, lane 1 of the first, and so on.
pub fn interleaved(lanes: u16) -> Vec<u16> {
    (0..lanes).flat_map(|lane| [lane, lane + lanes]).collect()
}

/// Interleaves the lower or the upper halves of each block of two vectors.
pub fn unpacked(lanes: u16, block: u16, upper: bool) -> Vec<u16> {
    let starts = (0..lanes).step_by(block.into()).map(|start| if upper { start + block / 2 } else { start });
    starts.flat_map(|start| (start..start + block / 2).flat_map(|lane| [lane, lanes + lane])).collect()
}

/// Returns the order of four lanes of the lower half, four of the upper half, the next four of the lower half, and so on. Instructions interleave
/// within 16 bytes. Applied to vectors of 16-bit lanes in this order, they give [`interleaved`] of the original vectors.
pub fn spread(lanes: u16) -> Vec<u16> {
    let half = lanes / 2;
    (0..half / 4).flat_map(|four| (4 * four..4 * four + 4).chain(half + 4 * four..half + 4 * four + 4)).collect()
}

/// Returns [`interleaved`] for two vectors whose lanes are in the order of [`spread`].
pub fn interleaved_of_spread(lanes: u16) -> Vec<u16> {
    let order = spread(lanes);
    let place = |lane: u16| order.iter().position(|&l| l == lane).unwrap_or(0) as u16;
    (0..lanes).map(place).flat_map(|lane| [lane, lane + lanes]).collect()
}

/// Returns the order of [`spread`] for bytes: eight of the lower half, eight of the upper half, and so on.
pub fn spread_bytes(lanes: u16) -> Vec<u16> {
    spread(lanes / 2).into_iter().flat_map(|pair| [2 * pair, 2 * pair + 1]).collect()
}

/// Returns [`interleaved`] for two vectors of bytes in the order of [`spread_bytes`].
pub fn interleaved_of_spread_bytes(lanes: u16) -> Vec<u16> {
    let order = spread_bytes(lanes);
    let place = |lane: u16| order.iter().position(|&l| l == lane).unwrap_or(0) as u16;
    (0..lanes).map(place).flat_map(|lane| [lane, lane + lanes]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_vectors_interleave_within_16_bytes() {
        for lanes in [8u16, 16, 32] {
            let x = spread(lanes);
            let both: Vec<u16> = x.iter().copied().chain(x.iter().map(|lane| lane + lanes)).collect();
            let picked: Vec<u16> = interleaved_of_spread(lanes).iter().map(|&lane| both[usize::from(lane)]).collect();
            assert_eq!(picked, interleaved(lanes));
            // The lower lanes of each 16 bytes come first.
            let within = interleaved_of_spread(lanes).iter().map(|lane| lane % lanes % 8 / 4).collect::<Vec<_>>();
            assert!(
                within[..usize::from(lanes)].iter().all(|&half| half == 0) && within[usize::from(lanes)..].iter().all(|&half| half == 1)
            );
        }
        assert_eq!(spread(16), [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]);
    }
}
