//! An area while it is filled: the request with the items that lie there.

use super::items::{Item, Items, Of};
use super::placement::{Area, AreaPlan, Planner};
use crate::request::{Effort, Place, Plan, PlanError, Request, Scratch};

/// An area with the items that it has so far.
#[derive(Clone)]
pub struct Room {
    pub area: Area,
    planner: Planner,
    /// The request with only these items in its arena.
    request: Request,
    /// Sum of their bytes, with padding. Any plan needs at most this.
    sum: u64,
    /// Their live bytes at each step.
    live: Vec<u64>,
    /// Their last plan, if there was need of one.
    plan: Option<Plan>,
}

/// The answer of an area to an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The item lies there now.
    Taken,
    /// No plan with the item fits.
    TooSmall,
    /// The planner found no plan with the item that fits, but there may be one.
    NotFound,
}

impl Room {
    /// Makes an empty area.
    pub fn new((request, planner): (&Request, Planner), area: Area) -> Self {
        let mut request = request.clone();
        for tensor in request.tensors.iter_mut().filter(|tensor| tensor.view_of.is_none() && tensor.place == Place::Arena) {
            tensor.place = if tensor.bytes > 0 { Place::State } else { tensor.place };
        }
        for scratch in request.steps.iter_mut().flat_map(|step| &mut step.scratch) {
            *scratch = Scratch { bytes: 0, ..*scratch };
        }
        let live = vec![0; request.steps.len()];
        Self { area, planner, request, sum: 0, live, plan: None }
    }

    /// Adds an item if the area has room for it. `effort` limits the planner.
    ///
    /// # Errors
    /// A fault in the request.
    pub fn add(&mut self, items: &Items, item: &Item, effort: Effort) -> Result<Answer, PlanError> {
        let sum = self.sum.saturating_add(item.padded);
        let kept = self.plan.take();
        self.switch(item, true);
        if sum <= self.area.bytes {
            return Ok(Answer::Taken);
        }
        let mut steps = item.live.iter().flat_map(|segment| segment.start as usize..segment.end as usize);
        let answer = if steps.any(|step| self.live[step] > self.area.bytes.saturating_add(items.shared[step])) {
            Answer::TooSmall
        } else {
            let found = self.planned(effort)?;
            let answer = match &found {
                found if found.arena_bytes <= self.area.bytes => Answer::Taken,
                found if found.lower_bound > self.area.bytes || found.optimal => Answer::TooSmall,
                _ => Answer::NotFound,
            };
            self.plan = Some(found);
            answer
        };
        if answer != Answer::Taken {
            self.switch(item, false);
            self.plan = kept;
        }
        Ok(answer)
    }

    /// Takes an item out.
    pub fn remove(&mut self, item: &Item) {
        self.switch(item, false);
        self.plan = None;
    }

    /// Returns the plan with one more item, however large it is.
    ///
    /// # Errors
    /// A fault in the request.
    pub fn with(&self, item: &Item) -> Result<Plan, PlanError> {
        let mut room = self.clone();
        room.switch(item, true);
        room.planned(Effort::Normal)
    }

    /// Returns the area's final plan.
    ///
    /// # Errors
    /// A fault in the request.
    pub fn of_area(self, moved: u64) -> Result<AreaPlan, PlanError> {
        let found = self.planned(self.request.effort)?;
        let plan = self.plan.filter(|kept| kept.arena_bytes < found.arena_bytes).unwrap_or(found);
        Ok(AreaPlan { request: self.request, plan, moved })
    }

    fn planned(&self, effort: Effort) -> Result<Plan, PlanError> {
        if effort == self.request.effort {
            return (self.planner)(&self.request);
        }
        (self.planner)(&Request { effort, ..self.request.clone() })
    }

    /// Puts an item there, or takes it out.
    fn switch(&mut self, item: &Item, is_there: bool) {
        match item.of {
            Of::Tensor(id) => self.request.tensors[id.index()].place = if is_there { Place::Arena } else { Place::State },
            Of::Scratch(step, number) => self.request.steps[step].scratch[number].bytes = if is_there { item.bytes } else { 0 },
        }
        self.sum = if is_there { self.sum.saturating_add(item.padded) } else { self.sum.saturating_sub(item.padded) };
        for segment in &item.live {
            for live in &mut self.live[segment.start as usize..segment.end as usize] {
                *live = if is_there { live.saturating_add(segment.bytes) } else { live.saturating_sub(segment.bytes) };
            }
        }
    }
}
