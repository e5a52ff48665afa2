//! Result types of operators whose windows slide over an input.

use super::{Context, TypeError, Types, check_accumulator, check_zero_point};
use crate::ir::types::{ElementType, Extent};

struct Geometry<'a> {
    size: Vec<u64>,
    strides: &'a [i64],
    dilation: &'a [i64],
    low: &'a [i64],
    high: &'a [i64],
    positions: &'a [Extent],
    shift: &'a [Extent],
}

impl<'a> Geometry<'a> {
    fn new(cx: &Context<'a>, size: Vec<u64>) -> Result<Self, TypeError> {
        let geometry = Self {
            size,
            strides: cx.ints("strides"),
            dilation: cx.ints("dilation"),
            low: cx.ints("padding_low"),
            high: cx.ints("padding_high"),
            positions: cx.extents("positions"),
            shift: cx.extents("shift"),
        };
        let n = geometry.size.len();
        for (name, list) in
            [("strides", geometry.strides), ("dilation", geometry.dilation), ("padding_low", geometry.low), ("padding_high", geometry.high)]
        {
            cx.require(list.len() == n, || format!("{name} has {} numbers for {n} spatial dimensions", list.len()))?;
        }
        let positive = |list: &[i64]| list.iter().all(|&x| x >= 1 && x <= i64::from(i32::MAX));
        cx.require(positive(geometry.strides) && positive(geometry.dilation), || "strides and dilation must be positive".into())?;
        let padding = |list: &[i64]| list.iter().all(|&x| (0..=i64::from(i32::MAX)).contains(&x));
        cx.require(padding(geometry.low) && padding(geometry.high), || "padding must not be negative".into())?;
        cx.require(geometry.size.iter().all(|&x| x >= 1 && x <= i32::MAX as u64), || "the window must not be empty".into())?;
        geometry.check_run_time(cx)?;
        Ok(geometry)
    }

    /// What is known only when the program runs: a number of windows and a shift for each dimension, or none.
    fn check_run_time(&self, cx: &Context<'_>) -> Result<(), TypeError> {
        let (n, counts) = (self.size.len(), [self.positions.len(), self.shift.len()]);
        cx.require(counts == [0, 0] || counts == [n, n], || format!("{counts:?} positions and shifts for {n} spatial dimensions"))?;
        cx.shape(self.positions)?;
        cx.shape(self.shift)?;
        let within = |(shift, low): (&Extent, &i64)| {
            let interval = cx.function.interval(*shift);
            interval.low >= 0 && interval.high <= *low
        };
        cx.require(self.shift.iter().zip(self.low).all(within), || "a shift is not known to be within the padding".into())
    }

    /// Positions of the window along dimension `d` of an input of `extent`.
    fn positions(&self, cx: &Context<'_>, d: usize, extent: Extent) -> Result<Extent, TypeError> {
        let reach = (self.size[d] - 1)
            .checked_mul(self.dilation[d] as u64)
            .and_then(|n| n.checked_add(1))
            .ok_or_else(|| cx.error("the dilated window is too large"))?;
        if let Some(&positions) = self.positions.get(d) {
            return Ok(cx.function.resolved(positions));
        }
        let Extent::Static(n) = extent else {
            return Err(cx.error(format!("spatial dimension {d} is dynamic, and the number of windows is not given")));
        };
        let padded = n.checked_add(self.low[d] as u64 + self.high[d] as u64).ok_or_else(|| cx.error("padding is too large"))?;
        let room = padded.checked_sub(reach);
        Ok(Extent::Static(room.map_or(0, |room| room / self.strides[d] as u64 + 1)))
    }
}

fn static_extents(cx: &Context<'_>, shape: &[Extent], what: &str) -> Result<Vec<u64>, TypeError> {
    shape.iter().map(|e| e.as_static().ok_or_else(|| cx.error(format!("{what} must be static")))).collect()
}

/// `conv`
pub fn conv(cx: &Context<'_>) -> Types {
    let (input, filter) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require(input.rank() >= 3 && input.rank() == filter.rank(), || {
        format!("input of rank {} and filter of rank {}", input.rank(), filter.rank())
    })?;
    let last = input.rank() - 1;
    let window = static_extents(cx, &filter.shape, "the filter's shape")?;
    let channels = input.shape[last].as_static().ok_or_else(|| cx.error("the number of channels must be static"))?;
    let groups = u64::try_from(cx.int("groups")).ok().filter(|&g| g >= 1).ok_or_else(|| cx.error("groups must be positive"))?;
    cx.require(channels >= 1 && window[last].checked_mul(groups) == Some(channels), || {
        format!("{channels} input channels are not {groups} groups of {}", window[last])
    })?;
    cx.require(window[0] % groups == 0, || format!("{} output channels do not divide into {groups} groups", window[0]))?;
    let accumulator = cx.element("accumulator");
    check_accumulator(cx, input.element, filter.element, accumulator)?;
    check_zero_point(cx, input.element, "input_zero_point")?;
    check_zero_point(cx, filter.element, "filter_zero_point")?;
    let geometry = Geometry::new(cx, window[1..last].to_vec())?;
    let input_dilation = cx.ints("input_dilation");
    cx.require(input_dilation.len() == last - 1, || format!("input_dilation has {} numbers", input_dilation.len()))?;
    let mut shape = vec![input.shape[0]];
    for (d, &dilation) in input_dilation.iter().enumerate() {
        let allowed = dilation == 1 || geometry.strides[d] == 1 && (1..=i64::from(i32::MAX)).contains(&dilation);
        cx.require(allowed, || "an input is dilated by a positive number, and then the stride is 1".into())?;
        let extent = match input.shape[d + 1] {
            Extent::Static(n) if n > 0 => (n - 1).checked_mul(dilation as u64).and_then(|n| n.checked_add(1)).map(Extent::Static),
            other => Some(other),
        };
        let extent = extent.ok_or_else(|| cx.error("the dilated input is too large"))?;
        shape.push(geometry.positions(cx, d, extent)?);
    }
    shape.push(Extent::Static(window[0]));
    cx.one(accumulator, shape)
}

/// `window`
pub fn window(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    cx.require(input.element != ElementType::C128, || "c128 is not reduced".into())?;
    let size: Result<Vec<u64>, _> = cx.ints("size").iter().map(|&n| u64::try_from(n)).collect();
    let geometry = Geometry::new(cx, size.map_err(|_| cx.error("the window must not be empty"))?)?;
    cx.require(input.rank() == geometry.size.len() + 2, || "the window does not fit the rank".into())?;
    let mut shape = input.shape.clone();
    for d in 0..geometry.size.len() {
        shape[d + 1] = geometry.positions(cx, d, input.shape[d + 1])?;
    }
    cx.one(input.element, shape)
}
