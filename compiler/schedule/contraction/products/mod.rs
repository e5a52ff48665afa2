//! Matrix products with run-time extents: rows, columns and the inner dimension alike. The inner dimension of both operands is contiguous. The
//! right operand may be transposed instead, with contiguous columns. The rests of whole tiles and whole vectors are computed one by one.

mod dots;
mod outer;

use crate::fuse::View;
use crate::ir::{Accumulation, ElementType, Inst, Operation, Value as Tensor};
use crate::kernel::{Buffer, CompareOp, KernelBuilder, Lane, Value};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::contraction::geometry::contraction::fuses;
use crate::schedule::contraction::operands::types::Operand;
use crate::schedule::contraction::table::dynamic::{TRANSPOSED, dots};
use crate::schedule::elementwise::lanes::memory_lane;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::Hoisted;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::loops::{for_values, if_then};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, product, strides};
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// Schedule of a `matmul` with run-time extents.
pub struct ProductsSchedule<'a> {
    cx: Context<'a>,
    left: Tensor,
    right: Tensor,
    /// Element-wise work on the sums.
    writer: ElementWise<'a>,
    zero_points: [i64; 2],
    accumulator: ElementType,
    /// Loops over matrices: their number, and the strides of the left and right operand. `extents` are rows, columns and inner dimension.
    matrices: Vec<[Quantity; 3]>,
    extents: [Quantity; 3],
    /// Stride of the inner dimension in the right operand.
    right_step: Quantity,
    /// Rows and columns of a tile of dot products.
    tile: [i64; 2],
    way: Way,
}

/// The way in which sums are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Dot products: see [`dots`].
    Dots,
    /// Sums of the rows of a transposed right operand: see [`outer`].
    Rows,
    /// Dot products for few rows, and otherwise sums of the rows of a panel with this number of elements.
    Panels(u64),
}

impl<'a> ProductsSchedule<'a> {
    /// Makes the schedule of a `matmul`.
    ///
    /// # Errors
    /// [`Unsupported`] if types have no schedule, or extents may differ.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Matmul(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let (left, accumulator) = (data.operands[0], operator.accumulator);
        let turned = if let Some(View::Transposed(turned)) = cx.group.right() { Some(turned) } else { None };
        let right = turned.map_or(data.operands[1], |turned| turned.source);
        let elements = [cx.element(left), cx.element(right)];
        let sound = elements.iter().all(|&e| Operand::of(e).is_some_and(|operand| operand.is_summed_in(accumulator)));
        if !sound {
            let [left, right] = elements;
            return Err(Unsupported::Products { op: data.op(), left, right, sum: accumulator });
        }
        let (l, r, output) = (cx.quantities(left), cx.quantities(data.operands[1]), cx.quantities(data.results[0]));
        let (ll, lm) = l.split_at(l.len() - 2);
        let (rl, rm) = r.split_at(r.len() - 2);
        if lm[1] != rm[1] {
            return Err(Unsupported::ExtentsMayDiffer);
        }
        let writer = ElementWise::new(cx, None)?;
        let right_strides = match turned {
            Some(turned) => {
                let strides = strides(&cx.quantities(turned.source));
                turned.permutation.iter().map(|&dimension| strides[dimension].clone()).collect()
            }
            None => strides(&r),
        };
        let steps = [(ll, strides(&l)), (rl, right_strides)];
        let mut matrices = Vec::new();
        for (d, extent) in output[..output.len() - 2].iter().enumerate() {
            let mut steps_here = Vec::new();
            for (leading, strides) in &steps {
                let own = (d + leading.len()).checked_sub(output.len() - 2);
                steps_here.push(match own {
                    Some(own) if leading[own] == *extent => strides[own].clone(),
                    Some(own) if !leading[own].is(1) => {
                        return Err(Unsupported::ExtentsMayDiffer);
                    }
                    _ => Quantity::known(0),
                });
            }
            matrices.push([extent.clone(), steps_here.remove(0), steps_here.remove(0)]);
        }
        let extents = [lm[0].clone(), rm[0].clone(), lm[1].clone()];
        let tile = dots(cx.machine);
        let zero_points = [operator.left_zero_point, operator.right_zero_point];
        let right_step = steps[1].1[r.len() - 1].clone();
        let way = match turned {
            Some(_) => Way::Rows,
            None if elements == [ElementType::F32; 2] => way(&cx, &extents),
            None => Way::Dots,
        };
        Ok(Self { cx, left, right, writer, zero_points, accumulator, matrices, extents, right_step, tile, way })
    }
}

/// Chooses how products of binary32 are summed, for contiguous columns.
fn way(cx: &Context<'_>, [rows, _, inner]: &[Quantity; 3]) -> Way {
    let lanes = cx.machine.lanes(4);
    let are_many = rows.most(cx.function).is_ok_and(|rows| rows >= TRANSPOSED.fewest_rows as u64);
    match inner.most(cx.function) {
        Ok(inner)
            if cx.uses(Technique::TurnedColumns)
                && are_many
                && inner <= TRANSPOSED.longest
                && TRANSPOSED.lanes.contains(&lanes)
                && cx.writes_out()
                && cx.machine.combines_lanes() =>
        {
            Way::Panels(inner.next_multiple_of(lanes.into()) * u64::from(lanes))
        }
        _ => Way::Dots,
    }
}

impl Schedule for ProductsSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let panel = if let Way::Panels(elements) = self.way { vec![elements * 4] } else { vec![] };
        Requirements { private_rounds: !panel.is_empty(), scratch: panel, ..Requirements::default() }
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let mut b = KernelBuilder::new(format!("matmul_{}", self.cx.element(self.left).name()));
        let mut arguments = Arguments::default();
        let operands = [self.left, self.right].map(|tensor| (tensor, self.cx.element(tensor)));
        let mut buffers = Vec::new();
        for (tensor, element) in operands {
            let elements = Elements::new(memory_lane(element)?, self.cx.most_elements(tensor)?);
            buffers.push(arguments.input(&mut b, format!("operand{}", buffers.len()), tensor, elements));
        }
        let mut writer = self.writer.clone();
        writer.declare(&mut b, &mut arguments, shared)?;
        let hoisted = writer.hoist(&mut b, 1);
        let wide = if self.way == Way::Dots { vec![] } else { writer.hoist(&mut b, self.cx.machine.lanes(4)) };
        let panel = match self.way {
            Way::Panels(elements) => Some(arguments.scratch(&mut b, "panel", 0, Lane::F32, elements)),
            Way::Dots | Way::Rows => None,
        };
        let mut cells = Cells::default();
        let quantities = self.matrices.iter().flatten().chain(&self.extents).chain([&self.right_step]);
        cells.load(&mut b, &mut arguments, quantities.flat_map(Quantity::extents));
        let matrices: Vec<[Number; 3]> = self.matrices.iter().map(|m| [&m[0], &m[1], &m[2]].map(|q| cells.number(&mut b, q))).collect();
        let [rows, columns, inner] = [0, 1, 2].map(|i| cells.number(&mut b, &self.extents[i]));
        let right_step = cells.number(&mut b, &self.right_step);
        let most = self.matrices.iter().map(|m| &m[0]).chain(&self.extents).cloned().collect::<Vec<_>>();
        let multiply_accumulates = product(&most).most(self.cx.function).unwrap_or(u64::MAX);
        let fuses = fuses(self.cx.machine, Accumulation::of_products(multiply_accumulates));
        let buffers = [buffers[0], buffers[1]];
        let lowering = Lowering { schedule: self, buffers, panel, writer, hoisted, wide, rows, columns, inner, right_step, fuses };
        let zero = b.index(0);
        // A panel is filled for one block of columns at a time.
        b.independent_with(lowering.panel.into_iter().collect());
        nest(&mut b, &matrices, [zero; 3], &mut |b, bases| lowering.matrix(b, bases))?;
        let description = match self.way {
            Way::Dots => format!("products with run-time extents, {}x{} at a time", self.tile[0], self.tile[1]),
            Way::Rows => "products with run-time extents, by rows".into(),
            Way::Panels(_) => "products with run-time extents, by panels".into(),
        };
        Ok(vec![Lowered { multiply_accumulates, ..Lowered::new(b.finish(), arguments, description) }])
    }
}

/// The body of a loop over pairs of matrices.
type ForMatrices<'m> = dyn FnMut(&mut KernelBuilder, [Value; 3]) -> Result<(), Unsupported> + 'm;

/// Writes loops over matrices. The body gets the first elements of both operands, and the number of the output matrix.
fn nest(b: &mut KernelBuilder, matrices: &[[Number; 3]], bases: [Value; 3], body: &mut ForMatrices<'_>) -> Result<(), Unsupported> {
    let Some(([count, left, right], rest)) = matrices.split_first() else { return body(b, bases) };
    count.repeat(b, |b, i| {
        let [left, right] = [(left, bases[0]), (right, bases[1])].map(|(step, base)| {
            let offset = step.scale(b, i);
            b.add(base, offset)
        });
        let number = count.scale(b, bases[2]);
        let number = b.add(number, i);
        nest(b, rest, [left, right, number], body)
    })
}

struct Lowering<'a> {
    schedule: &'a ProductsSchedule<'a>,
    buffers: [Buffer; 2],
    writer: ElementWise<'a>,
    /// Panel of transposed columns.
    panel: Option<Buffer>,
    /// Values loaded before the loops, for an element of the output, and for a vector.
    hoisted: Vec<Option<Hoisted>>,
    wide: Vec<Option<Hoisted>>,
    rows: Number,
    columns: Number,
    inner: Number,
    right_step: Number,
    fuses: bool,
}

impl Lowering<'_> {
    /// Returns the starts of consecutive rows with the length of the inner dimension.
    fn starts(&self, b: &mut KernelBuilder, first: Value, count: i64) -> Vec<Value> {
        let start = |i| {
            let skipped = self.inner.scale_known(b, i);
            b.add(first, skipped)
        };
        (0..count).map(start).collect()
    }

    /// Computes the product of two matrices. `bases` are their first elements, and the number of the product.
    fn matrix(&self, b: &mut KernelBuilder, bases: [Value; 3]) -> Result<(), Unsupported> {
        let few = TRANSPOSED.fewest_rows;
        match (self.schedule.way, self.panel, self.rows) {
            (Way::Rows, _, _) => self.by_rows(b, bases),
            (Way::Panels(_), Some(panel), Number::Known(n)) if n >= few => self.by_panels(b, panel, bases),
            (Way::Panels(_), Some(panel), Number::Computed(rows)) => {
                let [most, few] = [few - 1, few].map(|n| b.index(n));
                let [many, few] = [(most, rows), (rows, few)].map(|(less, more)| b.compare(CompareOp::Less, less, more));
                if_then(b, many, |b| self.by_panels(b, panel, bases))?;
                if_then(b, few, |b| b.rounds(true, |b| self.by_dots(b, bases)))
            }
            _ => b.rounds(true, |b| self.by_dots(b, bases)),
        }
    }
}

/// The body of a loop over tiles. It gets the first element of a tile, and the number of elements.
type Body<'t> = dyn FnMut(&mut KernelBuilder, Value, i64) -> Result<(), Unsupported> + 't;

/// Repeats a body for a range: for whole tiles, then one by one.
fn tiles(b: &mut KernelBuilder, count: Number, size: i64, body: &mut Body<'_>) -> Result<(), Unsupported> {
    let (zero, whole, end) = (b.index(0), count.whole(b, size as u16), count.value(b));
    for_values(b, zero..whole, size, |b, i| body(b, i, size))?;
    for_values(b, whole..end, 1, |b, i| body(b, i, 1))
}
