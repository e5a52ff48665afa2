//! TRANSPOSE_CONV of images whose rows and columns are known only when the model runs.
//!
//! Element i of the input reaches elements i·stride + tap of the result before padding is cut off. So what is there equal modulo the
//! stride is a plain convolution with a part of the filter. These are computed, and their elements put in turns.

use super::activation::Activation;
use super::convolution::{self, Convolution, Kind, Spatial};
use super::operator::{Operand, Operator, extents, unsupported};
use super::run_time_windows::padding_before;
use crate::diagnostic::Diagnostic;
use crate::ir::{Extent, Value, WindowGeometry};
use crate::schema::tflite::TensorType as TypeCode;

/// Phases are kernels of their own.
const MOST_PHASES: u64 = 64;

/// The operands and options of the operator.
pub(super) struct RunTime {
    pub input: Operand,
    /// `[O, height, width, C]`
    pub filter: Operand,
    /// The result's extents.
    pub wanted: Vec<Extent>,
    pub activation: Activation,
    pub bias_type: TypeCode,
}

/// The taps of a phase along one dimension: `first`, `first` + stride, …
#[derive(Clone, Copy)]
struct Taps {
    first: u64,
    count: u64,
}

impl RunTime {
    /// The result; `spatial` is that of the convolution that this one is the transpose of, and its numbers have been checked.
    pub fn computed(&self, operator: &mut Operator<'_, '_, '_>, spatial: &Spatial) -> Result<Value, Diagnostic> {
        let strides = spatial.strides.map(|stride| u64::try_from(stride).unwrap_or(1));
        if strides[0].saturating_mul(strides[1]) > MOST_PHASES {
            let message = "strides so large are not supported where the image is known only when the model runs";
            return Err(unsupported(message).expected(format!("a product of at most {MOST_PHASES}"), format!("{strides:?}")));
        }
        let (mut before, mut positions) = (Vec::new(), Vec::new());
        for (d, &stride) in strides.iter().enumerate() {
            let (window, wanted) = (self.filter.shape[d + 1], self.wanted[d + 1]);
            if stride > window {
                let message = "a stride beyond the filter is not supported where the image is known only when the model runs";
                return Err(unsupported(message).expected(format!("at most {window}"), stride.to_string()));
            }
            let cut = padding_before(operator, spatial.padding, stride, wanted, window)?;
            let end = operator.graph().add(wanted, cut)?;
            positions.push(operator.graph().ceil_div(end, Extent::Static(stride))?);
            before.push(cut);
        }
        let taps = |d: usize, first: u64| Taps { first, count: (self.filter.shape[d + 1] - first).div_ceil(strides[d]) };
        let mut phases = Vec::new();
        for row in 0..strides[0] {
            for column in 0..strides[1] {
                phases.push(self.phase(operator, [taps(0, row), taps(1, column)], strides, &positions)?);
            }
        }
        let value = self.in_turns(operator, &phases, strides, &positions)?;
        let start = vec![Extent::Static(0), before[0], before[1], Extent::Static(0)];
        Ok(operator.builder().slice(value, start, self.wanted.clone(), vec![1; 4])?)
    }

    /// The convolution of one phase.
    fn phase(
        &self,
        operator: &mut Operator<'_, '_, '_>,
        taps: [Taps; 2],
        strides: [u64; 2],
        positions: &[Extent],
    ) -> Result<Value, Diagnostic> {
        let shape = &self.filter.shape;
        // The filter is turned around: the last tap meets the first element.
        let last = |d: usize| taps[d].first + (taps[d].count - 1) * strides[d];
        let backwards = |d: usize| -(strides[d] as i64);
        let (start, size) = ([0, last(0), last(1), 0], [shape[0], taps[0].count, taps[1].count, shape[3]]);
        let stride = vec![1, backwards(0), backwards(1), 1];
        let filter_value = operator.builder().slice(self.filter.value, extents(&start), extents(&size), stride)?;
        let geometry = WindowGeometry {
            strides: vec![1; 2],
            dilation: vec![1; 2],
            padding_low: taps.iter().map(|taps| taps.count as i64 - 1).collect(),
            padding_high: vec![0; 2],
            positions: positions.to_vec(),
            shift: vec![Extent::Static(0); 2],
        };
        let convolution = Convolution {
            filter_value,
            channel_axis: 0,
            channels: shape[0],
            groups: 1,
            geometry,
            activation: self.activation,
            bias_type: self.bias_type,
            kind: Kind::Transposed,
            input_dilation: [1; 2],
            size: None,
            bias_operand: 3,
            input: self.input.clone(),
            filter: self.filter.clone(),
        };
        convolution::computed(operator, &convolution)
    }

    /// Rows and columns of the phases in turns.
    fn in_turns(
        &self,
        operator: &mut Operator<'_, '_, '_>,
        phases: &[Value],
        strides: [u64; 2],
        positions: &[Extent],
    ) -> Result<Value, Diagnostic> {
        if let [whole] = phases {
            return Ok(*whole);
        }
        let side_by_side = operator.builder().concat(phases, 3)?;
        let (batch, channels) = (self.wanted[0], self.wanted[3]);
        let [rows, columns] = [positions[0], positions[1]];
        let turns = strides.map(Extent::Static);
        let apart = operator.reshape_to(side_by_side, &[batch, rows, columns, turns[0], turns[1], channels])?;
        let value = operator.builder().transpose(apart, vec![0, 1, 3, 2, 4, 5])?;
        let (rows, columns) = (operator.graph().product(&[rows, turns[0]])?, operator.graph().product(&[columns, turns[1]])?);
        operator.reshape_to(value, &[batch, rows, columns, channels])
    }
}
