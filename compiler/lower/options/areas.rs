//! Memory areas of the application, as `--memory` lists them.

use crate::machine::Alignment;
use crate::plan;

/// Maximum number of areas.
pub const MOST_AREAS: usize = 8;
/// Maximum length of an area's name.
pub const MOST_LETTERS: usize = 16;

/// Speed of an area's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rank {
    /// Memory next to the core: `dtcm=64K:fast`.
    Fast,
    /// Other memory on the chip.
    #[default]
    Plain,
    /// Memory behind a narrow bus: `psram=8M:slow`.
    Slow,
}

impl Rank {
    /// Returns the rank's word in options and reports; empty for the plain one.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Plain => "",
            Self::Slow => "slow",
        }
    }

    /// Returns the cost of a byte that a kernel reads or writes there, in bytes of fast memory.
    pub fn cost(self) -> u64 {
        match self {
            Self::Fast => 1,
            Self::Plain => 2,
            Self::Slow => 8,
        }
    }
}

/// A memory area.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Area {
    name: [u8; MOST_LETTERS],
    /// Size.
    pub bytes: u64,
    /// Speed of its memory.
    pub rank: Rank,
}

impl Area {
    /// Makes an area. `None` if the name has more than [`MOST_LETTERS`] letters.
    pub fn new(name: &str, bytes: u64, rank: Rank) -> Option<Self> {
        let mut letters = [0; MOST_LETTERS];
        letters.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        Some(Self { name: letters, bytes, rank })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        std::str::from_utf8(&self.name).unwrap_or_default().trim_end_matches('\0')
    }
}

/// The areas of an object, in order. The first one is the arena; the application passes the others by `modelc_config.areas`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Areas {
    list: [Area; MOST_AREAS],
    count: usize,
    /// The area that gets copies of weights, if any.
    pub(in crate::lower) weights: Option<usize>,
}

impl Areas {
    /// Makes a list of areas. `None` if there are more than [`MOST_AREAS`].
    pub fn new(areas: &[Area]) -> Option<Self> {
        let mut list = [Area::default(); MOST_AREAS];
        list.get_mut(..areas.len())?.copy_from_slice(areas);
        Some(Self { list, count: areas.len(), weights: None })
    }

    /// Sets the area that gets copies of weights.
    #[must_use]
    pub fn with_weights(self, weights: Option<usize>) -> Self {
        Self { weights, ..self }
    }

    /// Returns the areas.
    pub fn list(&self) -> &[Area] {
        &self.list[..self.count]
    }

    /// Returns the planner's areas. The first one has `taken` bytes less, for the state.
    pub(in crate::lower) fn for_plan(&self, taken: u64, alignment: Alignment) -> Vec<plan::Area> {
        let area = |(number, area): (usize, &Area)| {
            // The scratch memory of the arena has whole multiples of the alignment.
            let bytes = if number == 0 { alignment.down(area.bytes.saturating_sub(taken)) } else { area.bytes };
            plan::Area { bytes, cost: area.rank.cost() }
        };
        self.list().iter().enumerate().map(area).collect()
    }
}
