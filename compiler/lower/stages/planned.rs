//! The fourth stage: the order of the steps and all addresses.

use super::chosen::{Item, Purpose};
use super::frame::{Frame, bug};
use super::placed::Placed;
use super::work::Work;
use crate::diagnostic::Diagnostics;
use crate::fuse::band::Bands;
use crate::ir::Value;
use crate::lower::division::held::held;
use crate::lower::division::lists::{self, Stream, Streamed, streamed};
use crate::lower::division::ranges;
use crate::lower::memory::addresses::Addresses;
use crate::lower::memory::areas::Areas;
use crate::lower::memory::checked::{PlanFault, checked};
use crate::lower::memory::imported::{self, InFile};
use crate::lower::memory::lending::{self, Loans};
use crate::lower::memory::moving::MovingPlaces;
use crate::lower::memory::split::{Split, split};
use crate::lower::memory::steps;
use crate::lower::memory::tensors::Tensors;
use crate::lower::options::PlanSource;
use crate::plan::{self, Effort, Lent, Place, Plan, Request, TensorId};
use crate::program::InAreas;
use rustc_hash::FxHashMap;

/// A method with its memory plan: see the module.
pub(in crate::lower) struct Planned<'a> {
    placed: &'a Placed<'a>,
    /// The items in the order of the plan.
    pub items: Vec<Item<'a>>,
    /// The stream of each item, if it runs in one.
    pub streams: Vec<Option<Stream>>,
    pub request: Request,
    pub plan: Plan,
    /// The planner's tensor of each root.
    ids: FxHashMap<Value, TensorId>,
    /// Places that depend on run-time extents.
    pub moving: MovingPlaces,
    /// The tensors in callers' memory.
    loans: Loans,
    /// Bytes of the areas beside the arena.
    pub area_bytes: Vec<u64>,
    /// Figures of the application's areas, if it has named some.
    pub in_areas: Option<InAreas>,
}

impl<'a> Planned<'a> {
    /// Plans the memory of a method. `bands` are the values that are bands of others.
    ///
    /// # Errors
    /// A bug if the planner refuses or its plan does not pass the checker. A diagnostic if a copy has no schedule.
    pub fn new(
        frame: &Frame<'a>,
        placed: &'a Placed<'a>,
        items: Vec<Item<'a>>,
        bands: &Bands,
        purpose: Purpose<'_>,
    ) -> Result<Self, Diagnostics> {
        let items = placed.with_copies(frame, items, purpose)?;
        let (mut request, ids) = asked(frame, placed, &items);
        let mut areas = Areas::default();
        let found = match frame.options.plan {
            PlanSource::Own | PlanSource::Smallest => frame.plans.get(&request, || own_plan(frame, &request)),
            PlanSource::Program => plan_of_file(frame, placed, &items, &ids, (&mut request, &mut areas)),
        };
        let (order, plan) = found.map_err(|fault| bug(fault.to_string()))?;
        let has_areas = !frame.options.areas.list().is_empty();
        let may_join =
            ranges::takes(frame.options) && placed.ends.entered.is_empty() && frame.options.plan == PlanSource::Own && !has_areas;
        let alone = Streamed { streams: vec![None; order.len()], order, plan };
        let Streamed { order, plan, streams } = if matches!(purpose, Purpose::Kernels) && may_join {
            let streams = lists::of_work(&items, bands, frame.options.threads.count);
            for_threads(&request, &streams, alone).map_err(|fault| bug(fault.to_string()))?
        } else {
            alone
        };
        let request = request.reordered(&order);
        let mut left: Vec<Option<Item<'a>>> = items.into_iter().map(Some).collect();
        let items: Vec<Item<'a>> = order.iter().filter_map(|&i| left[i].take()).collect();
        let on_device = items.iter().flat_map(|item| &item.schedules).any(|s| s.is_on_device);
        let (request, plan, loans, in_areas) = match purpose {
            Purpose::Kernels if has_areas => {
                let Split { request, plan, places, scratch, bytes, in_areas } = split(frame, placed.resolver.grouped, &items, &request)?;
                areas.bytes = bytes;
                let loans = Loans::new(&request, &places)?.with_scratch(scratch);
                (request, plan, loans, Some(in_areas))
            }
            _ => {
                let lends = matches!(purpose, Purpose::Kernels) && !on_device;
                let (request, plan, loans) = in_outputs(frame, placed, &ids, (request, plan), &areas, lends)?;
                (request, plan, loans, None)
            }
        };
        // A plan of the file does not move, and a device binds the places of the plan.
        let stays = frame.options.plan == PlanSource::Program || on_device;
        let moving = match purpose {
            Purpose::Kernels if !stays => {
                MovingPlaces::new(&placed.resolver, &placed.ends.entered, &ids, &request, &plan, frame.variables.alignment)
            }
            _ => MovingPlaces::default(),
        };
        Ok(Self { placed, items, streams, request, plan, ids, moving, loans, area_bytes: areas.bytes, in_areas })
    }

    /// Returns the addresses of the method's values.
    pub fn addresses(&'a self, frame: &Frame<'a>) -> Addresses<'a> {
        let Self { placed, ids, plan, moving, loans, .. } = self;
        Addresses { resolver: &placed.resolver, variables: frame.variables, ids, plan, moving, loans }
    }
}

/// Plans a method again with tensors in callers' output buffers, if `lends` is set and this makes its arena smaller. `areas` are those of the file.
fn in_outputs(
    frame: &Frame<'_>,
    placed: &Placed<'_>,
    ids: &FxHashMap<Value, TensorId>,
    (request, plan): (Request, Plan),
    areas: &Areas,
    lends: bool,
) -> Result<(Request, Plan, Loans), Diagnostics> {
    let lent = if lends { lending::lent(frame, placed, ids, (&request, &plan))? } else { None };
    match lent {
        Some((Lent { request, plan }, loans)) => {
            plan::check(&request, &plan).map_err(PlanFault::from).map_err(|fault| bug(fault.to_string()))?;
            Ok((request, plan, loans))
        }
        None => {
            let loans = Loans::new(&request, &areas.places)?;
            Ok((request, plan, loans))
        }
    }
}

/// Makes the request to the planner. Returns it with the planner's tensor of each root.
fn asked(frame: &Frame<'_>, placed: &Placed<'_>, items: &[Item<'_>]) -> (Request, FxHashMap<Value, TensorId>) {
    let mut tensors = Tensors::new(&placed.resolver, frame.variables.alignment);
    let steps = steps::of_list(items, &mut tensors, &placed.ends);
    let Tensors { list, ids, .. } = tensors;
    (Request { tensors: list, steps, effort: frame.options.effort }, ids)
}

/// Makes the request of a trial to the planner.
///
/// # Errors
/// A diagnostic if a copy has no schedule.
pub(in crate::lower) fn trial<'a>(
    frame: &Frame<'a>,
    placed: &'a Placed<'a>,
    items: Vec<Item<'a>>,
    purpose: Purpose<'_>,
) -> Result<Request, Diagnostics> {
    Ok(asked(frame, placed, &placed.with_copies(frame, items, purpose)?).0)
}

/// Returns the arena size of our own plan of a request.
///
/// # Errors
/// The planner's errors: see [`Planned::new`].
pub(in crate::lower) fn own_arena(frame: &Frame<'_>, request: &Request) -> Result<u64, Diagnostics> {
    let found = frame.plans.get(request, || own_plan(frame, request));
    Ok(found.map_err(|fault| bug(fault.to_string()))?.1.arena_bytes)
}

/// Returns a plan for several threads, if it costs little memory. Else returns the plan for one thread.
fn for_threads(request: &Request, streams: &[Option<Stream>], alone: Streamed) -> Result<Streamed, PlanFault> {
    if let Some(streamed) = streamed(request, streams, &alone.plan) {
        return Ok(streamed);
    }
    let reordered = request.reordered(&alone.order);
    let plan = held(&reordered, &alone.plan, &|_| false).unwrap_or(alone.plan);
    let (order, plan) = checked(&reordered, alone.order, plan)?;
    Ok(Streamed { order, plan, ..alone })
}

/// Plans a request. Returns the plan with the order of its steps.
fn own_plan(frame: &Frame<'_>, request: &Request) -> Result<(Vec<usize>, Plan), PlanFault> {
    let order = |request: &Request| match request.effort {
        // The final plan uses the order of the trial.
        Effort::Trial | Effort::Normal => {
            let trial = Request { effort: Effort::Trial, ..request.clone() };
            frame.orders.get(&trial, || plan::order(&trial))
        }
        Effort::Max => plan::order(request),
    };
    let (order, plan) = plan::plan_reordered_by(request, order)?;
    checked(&request.reordered(&order), order, plan)
}

/// Plans a request with the places of the file. The steps keep their order.
fn plan_of_file(
    frame: &Frame<'_>,
    placed: &Placed<'_>,
    items: &[Item<'_>],
    ids: &FxHashMap<Value, TensorId>,
    (request, areas): (&mut Request, &mut Areas),
) -> Result<(Vec<usize>, Plan), PlanFault> {
    let groups = items.iter().filter_map(|item| if let Work::Group(group) = item.work { Some(group) } else { None });
    let places = imported::places(frame.module, frame.method, placed.resolver.function(), groups);
    let mut wanted: Vec<(TensorId, InFile)> = places.iter().filter_map(|(root, &place)| Some((*ids.get(root)?, place))).collect();
    wanted.sort_unstable_by_key(|(id, _)| *id);
    *areas = Areas::new(request, &wanted)?;
    for (id, place) in wanted.into_iter().filter(|(_, place)| place.memory_id == imported::FIRST_AREA) {
        let tensor = &mut request.tensors[id.index()];
        tensor.fixed = Some(place.offset).filter(|_| tensor.place == Place::Arena && place.fits(tensor));
    }
    let plan = imported::plan_with_places(request)?;
    checked(request, (0..items.len()).collect(), plan)
}
