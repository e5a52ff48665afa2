//! Places of matrix products, rows of windows, output rows, panels and tiles in the loops of a direct convolution.

use crate::kernel::{Buffer, Value};
use crate::schedule::contraction::direct::PhasePanels;
use crate::schedule::contraction::geometry::places::RowPlace;
use crate::schedule::contraction::operands::panels::cuts::{Cut, Width};
use crate::schedule::quantity::Number;
use crate::schedule::unsupported::Unsupported;

/// Result of writing code of the kernel.
pub(in crate::schedule::contraction) type Built = Result<(), Unsupported>;

/// Place of a matrix product: first elements of the left and right operand, and the first output pixel.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct Bases {
    pub left: Value,
    pub right: Value,
    pub pixel: Value,
    /// Number of the product.
    pub number: Value,
}

/// The segments of a window, for the first pixel of a row.
pub(in crate::schedule::contraction) enum Segments {
    /// First element of each window row.
    Rows(Vec<Value>),
    /// Table with the first element of each segment.
    Table(Buffer),
}

/// A row of windows.
pub(in crate::schedule::contraction) struct WindowRow {
    pub place: RowPlace,
    /// Number of the matrix product.
    pub product: Value,
    /// First pixel of the image in the output.
    pub pixel: Value,
}

/// An output row of a phase.
pub(in crate::schedule::contraction) struct OutputRow {
    pub segments: Segments,
    /// Number of the matrix product.
    pub(in crate::schedule::contraction) product: Value,
    /// First pixel in the output.
    pub(in crate::schedule::contraction) pixel: Value,
    /// Number of pixels.
    pub width: Number,
}

/// Start of a tile in a row.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct TileStart {
    /// Number of its first output pixel.
    pub x: Value,
    /// Element of the row of the input at which the window of that pixel starts.
    pub offset: Value,
}

/// A panel of a group.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct PanelPlace {
    pub group: Value,
    pub cut: Cut,
}

/// First output channel of a panel, its first element in the packed weights, and its first lane in the initial sums.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct PanelOperands {
    pub channel: Value,
    pub weights: Value,
    pub initial: Value,
}

/// Place of a tile.
pub(in crate::schedule::contraction) struct TilePlace<'a> {
    pub phase: &'a PhasePanels,
    /// Width of the panel.
    pub width: Width,
    /// Number of output channels in the panel.
    pub active: u64,
    pub segments: &'a Segments,
    /// Distance from the first elements of the segments.
    pub offset: Value,
    /// Number of the first pixel, if the pixels of a tile may be in several rows of the image.
    pub first: u64,
    /// Number of the first pixel in its row. `pixel` is its number in the output.
    pub x: Value,
    pub pixel: Value,
    /// First output channel of the panel. `weights` is the panel's first element in the packed weights.
    pub channel: Value,
    pub weights: Value,
    /// First lane of the panel in the initial sums.
    pub initial: Value,
    /// Panel that is computed together with this one.
    pub beside: Option<Box<TilePlace<'a>>>,
}
