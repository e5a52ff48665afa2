//! STABLEHLO_GATHER and STABLEHLO_SCATTER: boxes of a tensor at places that vectors of indices name.

use super::error::{invalid, missing_options, unsupported};
use super::operator::{Lowered, Operand, Operator};
use super::regions::computation;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Combination, ElementType, Extent};
use crate::operators::indexing::boxes::{self, Corners, others};
use crate::schema::tflite::ReduceWindowFunction as Function;
use ElementType::{Bool, C64, C128, I32, I64};

type List<'a> = Option<flatbuffers::Vector<'a, i64>>;

/// The error for options that do not fit the operands.
fn misfit(what: &str, expected: impl Into<String>, found: &impl std::fmt::Debug) -> Diagnostic {
    invalid(codes::OPTION_RANGE, format!("{what} do not fit")).expected(expected, format!("{found:?}"))
}

/// Distinct dimension numbers below `rank`, in rising order if `rising`.
fn dimensions(what: &str, list: List<'_>, rank: usize, rising: bool) -> Result<Vec<usize>, Diagnostic> {
    let numbers: Vec<i64> = list.into_iter().flatten().collect();
    let found: Vec<usize> = numbers.iter().filter_map(|&n| usize::try_from(n).ok().filter(|&n| n < rank)).collect();
    let distinct = (0..found.len()).all(|i| !found[..i].contains(&found[i]));
    if found.len() == numbers.len() && distinct && (!rising || found.is_sorted()) {
        return Ok(found);
    }
    Err(misfit(what, format!("dimensions below {rank}, each once"), &numbers))
}

/// The dimension along which the numbers of a vector lie, after the last one if each vector is a single number. A vector must have as many numbers as
/// the dimensions that it indexes.
fn vector_dimension(indices: &Operand, dimension: i64, numbers: usize) -> Result<usize, Diagnostic> {
    let found = usize::try_from(dimension).ok().filter(|&d| d <= indices.rank());
    let found = found.ok_or_else(|| misfit("the vectors of indices", format!("0 to {}", indices.rank()), &dimension))?;
    let length = indices.extents.get(found).copied().unwrap_or(Extent::Static(1));
    if length != Extent::Static(numbers as u64) {
        return Err(misfit("the vectors of indices", format!("{numbers} numbers each"), &length));
    }
    Ok(found)
}

/// The tensor and its indices, of types that can be moved and counted.
fn tensor_and_indices(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Operand), Diagnostic> {
    let (tensor, indices) = (operator.any_input(0)?, operator.any_input(1)?);
    let moved = tensor.element().bits() >= 8 && tensor.element() != C128;
    if !moved || !matches!(indices.element(), I32 | I64) {
        return Err(operator.type_error(&[tensor.element(), indices.element()]));
    }
    Ok((tensor, indices))
}

/// STABLEHLO_GATHER: boxes that reach out of the tensor are moved inside.
pub(super) fn gather(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_2_as_stablehlo_gather_options().ok_or_else(missing_options)?;
    let (tensor, indices) = tensor_and_indices(operator)?;
    let rank = tensor.rank();
    let size: Vec<i64> = options.slice_sizes().into_iter().flatten().collect();
    // A run-time extent must hold a slice for every value.
    let fits = size.len() == rank && size.iter().zip(&tensor.extents).all(|(n, &extent)| (0..=operator.interval(extent).low).contains(n));
    if !fits {
        return Err(misfit("the sizes of slices", format!("at most {:?}", tensor.shape), &size));
    }
    let size: Vec<u64> = size.iter().map(|&n| n as u64).collect();
    let collapsed = dimensions("the collapsed dimensions", options.collapsed_slice_dims(), rank, false)?;
    if collapsed.iter().any(|&d| size[d] != 1) {
        return Err(misfit("the collapsed dimensions", "sizes of 1", &size));
    }
    let indexed = dimensions("the indexed dimensions", options.start_index_map(), rank, false)?;
    let vector = vector_dimension(&indices, options.index_vector_dim(), indexed.len())?;
    let vectors = indices.rank() - usize::from(vector < indices.rank());
    let kept = others(rank, &collapsed);
    let offsets = dimensions("the dimensions of slices", options.offset_dims(), vectors + kept.len(), true)?;
    if offsets.len() != kept.len() {
        return Err(misfit("the dimensions of slices", format!("{} of them", kept.len()), &offsets));
    }
    let corners = Corners { indices: indices.value, vector, indexed: &indexed };
    let value = boxes::picked(operator.graph(), tensor.value, corners, &size, [&collapsed, &offsets])?;
    operator.bind(0, value)
}

/// STABLEHLO_SCATTER: elements of updates that would be outside of the tensor are left out.
pub(super) fn scatter(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let options = operator.record.builtin_options_2_as_stablehlo_scatter_options().ok_or_else(missing_options)?;
    let combination = match computation(operator, options.update_computation_subgraph_index())? {
        None => Combination::Set,
        Some(Function::ADD) => Combination::Sum,
        Some(Function::MUL) => Combination::Product,
        Some(Function::MAXIMUM) => Combination::Max,
        Some(Function::MINIMUM) => Combination::Min,
        Some(function) => return Err(unsupported(format!("updates by {function:?} are not supported"))),
    };
    let ((tensor, indices), mut updates) = (tensor_and_indices(operator)?, operator.any_input(2)?);
    let element = tensor.element();
    if updates.element() != element || combination != Combination::Set && matches!(element, Bool | C64) {
        return Err(operator.type_error(&[element, updates.element()]));
    }
    let rank = tensor.rank();
    let inserted = dimensions("the inserted dimensions", options.inserted_window_dims(), rank, false)?;
    let windows = dimensions("the dimensions of windows", options.update_window_dims(), updates.rank(), true)?;
    let indexed = dimensions("the indexed dimensions", options.scatter_dims_to_operand_dims(), rank, false)?;
    let vector = vector_dimension(&indices, options.index_vector_dim(), indexed.len())?;
    let kept = others(rank, &inserted);
    let vectors = others(updates.rank(), &windows);
    let numbered: Vec<Extent> = (0..indices.rank()).filter(|&d| d != vector).map(|d| indices.extents[d]).collect();
    let least = |extent: Extent| operator.interval(extent).low;
    let inside = |(&along, &d): (&usize, &usize)| {
        let (window, whole) = (updates.extents[along], tensor.extents[d]);
        window == whole || operator.interval(window).high <= least(whole)
    };
    let fits = windows.len() == kept.len()
        && windows.iter().zip(&kept).all(inside)
        && inserted.iter().all(|&d| least(tensor.extents[d]) >= 1)
        && vectors.len() == numbered.len();
    let mut wanted = updates.extents.clone();
    vectors.iter().zip(&numbered).for_each(|(&d, &extent)| wanted[d] = extent);
    if !fits || !operator.require_first(&mut updates, &wanted)? {
        let found = format!("tensor {:?}, indices {:?}, updates {:?}", tensor.shape, indices.shape, updates.shape);
        return Err(misfit("the updates", "a window of the tensor for each vector of indices", &found));
    }
    let corners = Corners { indices: indices.value, vector, indexed: &indexed };
    let operands = [tensor.value, updates.value];
    let value = boxes::placed(operator.graph(), operands, corners, [&inserted, &windows], combination)?;
    operator.bind(0, value)
}
