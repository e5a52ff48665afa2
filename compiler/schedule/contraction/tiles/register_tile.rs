//! The register tile of a direct convolution or a matrix product: its number of pixels, and of vectors of output channels.

use super::squares;
use crate::machine::Machine;
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::windows::Geometry;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::panels::strips::{COMMON, NARROWEST};
use crate::schedule::contraction::operands::weights::Weights;
use crate::schedule::contraction::table::rounds::ONE_ROUND;
use crate::schedule::contraction::table::tiles::{
    ENOUGH_POSITIONS, FAR_WEIGHTS, FEWEST_OF_TWO, MOST_PANEL, SMALL, TALL, TILES_OF_POSITIONS, Tile, Words, copied_pixels, limits,
    names_elements, other_registers, words,
};
use crate::schedule::technique::Technique;

/// Chooses the register tile. If another kernel computes more pixels with the same weights, these have the same layout for both.
pub(in crate::schedule::contraction) fn choose_tile(cx: &Context<'_>, work: &Contraction, form: Form) -> Tile {
    let machine = cx.machine;
    let lanes = lanes_of(machine, form);
    let wanted = Wanted::of(cx, work, form);
    let Wanted { outputs, width, in_blocks, .. } = wanted;
    if let Some(pairs) = words(machine, form).filter(|_| form == Form::PixelPairs) {
        let tile = if cx.goal == Goal::Speed { pairs.tile } else { SMALL };
        let most = match (work.geometry.pixels(), cx.goal) {
            (1, Goal::Speed) => pairs.alone,
            // A single pixel has a short epilogue, and loads its operands for each tile again.
            (1, Goal::Size) => pairs.tile.vectors,
            _ => tile.vectors,
        };
        return Tile { pixels: tile.pixels.min(width), vectors: most.min(outputs.max(NARROWEST).next_power_of_two()) };
    }
    if !machine.has_vectors() {
        // Two pixels share each load of a weight. Without this, small code executes a quarter to a third more, and saves 100 to 200 bytes a kernel.
        let tile = Tile { pixels: width.min(SMALL.pixels), vectors: NARROWEST.div_ceil(lanes) };
        // Four channels are a vector of sums, which small code scales at once, too.
        let is_of_table = cx.goal == Goal::Speed || form == Form::Sixteens;
        let of_words = words(machine, form).filter(|_| is_of_table && !form.is_of_floats());
        return of_words.map_or(tile, |words| words.tile(tile, &wanted));
    }
    if cx.goal == Goal::Size {
        return small_tile(outputs.max(NARROWEST).div_ceil(lanes), width);
    }
    if machine.holds_lanes() {
        return tile_of_position(rows_of_all(&work.geometry), width, outputs.max(NARROWEST).div_ceil(lanes));
    }
    if machine.sums_in_place {
        if matches!(form, Form::In16Bits { .. }) {
            return tile_in_16_bits(machine, form, outputs, width, in_blocks);
        }
        if let Form::Squares { group, .. } = form {
            return squares::tile(group, outputs, width);
        }
        let tile = in_place_tile(machine, form, &wanted);
        return if in_blocks || !cx.uses(Technique::TallTiles) { tile } else { taller_tile(machine, form, tile, &wanted) };
    }
    let needed = outputs.max(NARROWEST).div_ceil(lanes).next_power_of_two();
    let limits = limits(machine, form);
    let vectors = needed.min(if width == 1 && !in_blocks { limits.alone } else { limits.vectors });
    let pixels = copied_pixels(machine, form, vectors);
    Tile { pixels: pixels.min(width), vectors }
}

/// Numbers of a contraction that its tile depends on.
#[derive(Clone, Copy)]
struct Wanted {
    /// Pixels of a row.
    width: u64,
    /// Output channels of a group.
    outputs: u64,
    /// Products of a sum.
    depth: u64,
    /// `true` if another kernel computes more pixels with the same panels.
    in_blocks: bool,
    /// `true` if the image is a single row.
    is_one_row: bool,
    /// `true` if output channels that fill no vector are one panel.
    joins_rests: bool,
}

impl Wanted {
    fn of(cx: &Context<'_>, work: &Contraction, form: Form) -> Self {
        let geometry = &work.geometry;
        Self {
            width: geometry.windows(2).max(1),
            outputs: geometry.outputs / geometry.groups,
            depth: geometry.per_output(),
            in_blocks: !cx.sharing.is_whole(),
            is_one_row: geometry.output_size[0] * geometry.planes.output == 1,
            joins_rests: joins_rests(cx, work, form),
        }
    }
}

impl Words {
    /// The tile for a contraction, beside the one that has two of all.
    fn tile(&self, two: Tile, wanted: &Wanted) -> Tile {
        let most = wanted.outputs.max(NARROWEST).next_power_of_two();
        let width = wanted.width;
        match width {
            1 if !wanted.in_blocks => Tile { vectors: self.alone.min(most), ..two },
            _ => Tile { pixels: self.tile.pixels.min(width), vectors: self.tile.vectors.min(most) },
        }
    }
}

/// Returns the maximum pixels of a tile on a machine. `tile` is the chosen one.
pub(in crate::schedule::contraction) fn most_pixels(machine: &Machine, tile: Tile) -> u64 {
    if machine.holds_lanes() { TILES_OF_POSITIONS[0].pixels } else { tile.pixels }
}

/// Returns the number of output rows, of all matrix products, groups and images.
fn rows_of_all(geometry: &Geometry) -> u64 {
    let matrices = geometry.matrices.iter().map(|matrices| matrices.count);
    [geometry.groups, geometry.batch, geometry.planes.output, geometry.output_size[0]]
        .into_iter()
        .chain(matrices)
        .fold(1, u64::saturating_mul)
}

/// Returns the largest tile that leaves enough tiles, for rows of this width and this number of vectors of output channels.
fn tile_of_position(rows: u64, width: u64, vectors: u64) -> Tile {
    let most = vectors.next_power_of_two();
    let within = |tile: Tile| Tile { pixels: tile.pixels.min(width), vectors: tile.vectors.min(most) };
    let count = |tile: &Tile| rows.saturating_mul(width.div_ceil(tile.pixels) * vectors.div_ceil(tile.vectors));
    let [.., last] = TILES_OF_POSITIONS;
    TILES_OF_POSITIONS.into_iter().map(within).find(|tile| count(tile) >= ENOUGH_POSITIONS).unwrap_or(last)
}

/// Returns the tile of small code. Each pixel and each vector has its own epilogue, and so have the remaining pixels of a row.
fn small_tile(vectors: u64, width: u64) -> Tile {
    let pixels = if width.is_multiple_of(SMALL.pixels) { SMALL.pixels } else { 1 };
    Tile { pixels, vectors: vectors.min(SMALL.vectors) }
}

/// Returns the tile of a machine whose products add in place. Registers hold sums, the weights of a step, one pixel's operand, and the product
/// itself if the addition is a separate instruction.
fn in_place_tile(machine: &Machine, form: Form, wanted: &Wanted) -> Tile {
    let &Wanted { width, outputs, in_blocks, joins_rests, .. } = wanted;
    // Sums outside a loop leave some registers to others.
    let is_one_round = wanted.depth.div_ceil(form.group()) <= ONE_ROUND;
    let registers = u64::from(machine.registers.count());
    // Output channels are whole vectors, and perhaps a part of one.
    let full = outputs / lanes_of(machine, form);
    let others = other_registers(machine, form, is_one_round);
    let limits = limits(machine, form);
    let most = if width == 1 && !in_blocks { limits.alone } else { limits.vectors };
    let vectors = [8, 4, 2].into_iter().find(|&v| v <= most && v <= full).unwrap_or(1);
    let is_tall = vectors == 1 && registers >= 32 && (full > 0 || joins_rests || outputs.is_power_of_two());
    let enough = if is_tall && !names_elements(machine, form) { TALL } else { limits.sums };
    let most_pixels = ((registers - vectors - 1 - others) / vectors).min(enough);
    Tile { pixels: width.div_ceil(width.div_ceil(most_pixels)), vectors }
}

/// Returns a tile of bytes with fewer vectors and more pixels, if it reads fewer weights for the same products. An image that is one short row is one
/// tile if its weights come from far away, so that they are one stream. Other tiles get half of the vectors if two things hold. A panel of all
/// vectors leaves the first-level cache, and tiles of all vectors would not be full.
fn taller_tile(machine: &Machine, form: Form, tile: Tile, wanted: &Wanted) -> Tile {
    let &Wanted { width, outputs, depth, is_one_row, .. } = wanted;
    let most = |vectors: u64| (u64::from(machine.registers.count()) - vectors - 1) / vectors;
    if form != Form::Unsigned8 || tile.vectors != 4 {
        return tile;
    }
    let all = [2, 1].into_iter().find(|&vectors| width <= most(vectors));
    if let Some(vectors) = all.filter(|_| is_one_row && width > tile.pixels && depth.saturating_mul(outputs) >= FAR_WEIGHTS) {
        return Tile { pixels: width, vectors };
    }
    let panel = depth.saturating_mul(tile.vectors * u64::from(machine.lanes(4)));
    let pixels = width.div_ceil(width.div_ceil(most(2)));
    let is_full = tile.pixels == most(tile.vectors) && width.is_multiple_of(tile.pixels);
    if panel > MOST_PANEL && !is_full && pixels >= FEWEST_OF_TWO { Tile { pixels, vectors: 2 } } else { tile }
}

/// Returns the number of output channels whose sums are in a vector.
pub(in crate::schedule::contraction) fn lanes_of(machine: &Machine, form: Form) -> u64 {
    // Products that are added in 16 bits have sums in two registers.
    let registers = if matches!(form, Form::In16Bits { .. }) { form.sums() } else { 1 };
    (registers * u64::from(machine.lanes(4)) / form.sums()).max(1)
}

/// Tests whether a machine loads the weights of any number of output channels at once.
pub(in crate::schedule::contraction) fn loads_part(machine: &Machine, form: Form) -> bool {
    u64::from(machine.masked_lanes) >= COMMON * form.group()
}

/// Tests whether the last strips are joined. They are for constants that products load as stored, if a CPU level loads part of a vector. Lanes that
/// are registers of their own are not joined: they are rounds of a loop.
pub(in crate::schedule::contraction) fn joins_rests(cx: &Context<'_>, work: &Contraction, form: Form) -> bool {
    let as_stored =
        work.weights.are_whole_bytes() || matches!(work.weights, Weights::Floats(_)) && work.weights.sparse_elements().is_none();
    cx.uses(Technique::JoinedRests)
        && as_stored
        && !work.open
        && cx.levels.iter().all(|level| !level.holds_lanes())
        && cx.levels.iter().any(|level| loads_part(level, form))
}

/// Returns the tile of products that are added in 16 bits. `in_blocks` states that rows of one pixel have as many vectors as others.
fn tile_in_16_bits(machine: &Machine, form: Form, outputs: u64, width: u64, in_blocks: bool) -> Tile {
    let limits = limits(machine, form);
    let most = if width == 1 && !in_blocks { limits.alone } else { limits.vectors };
    let vectors = [8, 4, 2].into_iter().find(|&v| v <= most && 4 * v <= outputs).unwrap_or(1);
    Tile { pixels: width.div_ceil(width.div_ceil(limits.sums / vectors)), vectors }
}

#[cfg(test)]
mod tests {
    use super::{Form, Tile, Wanted, taller_tile, tile_of_position, words};
    use crate::machine::{MACHINES, machine};

    #[test]
    fn tiles_of_many_weights_are_taller() {
        let machine = MACHINES.iter().find(|machine| machine.level == "x86-64-v4").expect("a level");
        let tile = Tile { pixels: 6, vectors: 4 };
        let of_row = |form, width, depth, is_one_row| {
            let wanted = Wanted { width, outputs: 128, depth, in_blocks: false, is_one_row, joins_rests: false };
            taller_tile(machine, form, tile, &wanted)
        };
        let of = |width, depth| of_row(Form::Unsigned8, width, depth, width < 32);
        assert_eq!(of(64, 9 * 64), Tile { pixels: 13, vectors: 2 });
        assert_eq!(of(64, 9 * 32), tile, "the panel stays in the first-level cache");
        assert_eq!(of(48, 9 * 64), tile, "all tiles are full");
        assert_eq!(of(6, 9 * 64), tile, "a tile has all pixels");
        assert_eq!([of(12, 9 * 64), of(16, 9 * 64)], [(12, 2), (16, 1)].map(|(pixels, vectors)| Tile { pixels, vectors }));
        assert_eq!(of_row(Form::Unsigned8, 16, 9 * 64, false), tile, "rows of an image");
        assert_eq!(of_row(Form::Float, 32, 9 * 64, true), tile);
    }

    #[test]
    fn tiles_of_words_fill_registers() {
        let of_form = |level, form, width, outputs| {
            let machine = machine(level).expect("a level");
            let two = Tile { pixels: u64::min(width, 2), vectors: 2 };
            let wanted = Wanted { width, outputs, depth: 9, in_blocks: false, is_one_row: false, joins_rests: false };
            let Tile { pixels, vectors } = words(machine, form).expect("a machine of words").tile(two, &wanted);
            (pixels, vectors)
        };
        let of = |level, width, outputs| of_form(level, Form::Signed16, width, outputs);
        let sixteens = |width, outputs| of_form("cortex-m55", Form::Sixteens, width, outputs);
        assert_eq!([sixteens(25, 64), sixteens(1, 64), sixteens(25, 2)], [(2, 4), (1, 8), (2, 2)]);
        assert_eq!([of("cortex-m4f", 25, 64), of("cortex-m4f", 1, 64), of("cortex-m4f", 2, 64)], [(3, 2), (1, 4), (2, 2)]);
        assert_eq!([of("rv32imc", 25, 64), of("rv32imc", 1, 64), of("rv32imc", 25, 2)], [(3, 4), (1, 4), (3, 2)]);
    }

    #[test]
    fn tiles_are_as_large_as_leaves_enough_of_them() {
        let of = |rows, width, vectors| {
            let Tile { pixels, vectors } = tile_of_position(rows, width, vectors);
            (pixels, vectors)
        };
        assert_eq!([of(48, 48, 24), of(24, 24, 36), of(12, 12, 48)], [(4, 4), (4, 2), (2, 1)]);
        assert_eq!([of(1, 65, 96), of(1, 1, 250), of(1, 1, 2048), of(1, 1, 8192)], [(2, 1), (1, 1), (1, 1), (1, 4)]);
        assert_eq!([of(224, 224, 1), of(3, 3, 3)], [(4, 1), (1, 1)], "no more vectors than there are");
    }

    #[test]
    fn tiles_of_products_in_16_bits_fill_registers() {
        use super::tile_in_16_bits;

        let of = |outputs, width| {
            let machine = machine("aarch64").expect("a level");
            let form = Form::In16Bits { fours: 2 };
            let Tile { pixels, vectors } = tile_in_16_bits(machine, form, outputs, width, false);
            (pixels, vectors)
        };
        assert_eq!([of(96, 49), of(24, 56), of(8, 56), of(2, 9)], [(2, 4), (2, 4), (4, 2), (5, 1)]);
        assert_eq!([of(96, 1), of(10, 1)], [(1, 8), (1, 2)], "a row of one pixel");
    }
}
