//! Resolution of views: every tensor becomes a byte range in the storage of the tensor at the root of its chain of views.

use super::request::{Place, PlanError, Request, Tensor, TensorId};

/// Position of a tensor's bytes: in the storage of `root`, from `offset` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// The tensor that owns the storage and is not a view.
    pub root: TensorId,
    /// Byte offset of the tensor in the storage.
    pub offset: u64,
}

/// Combined requirements of all tensors of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Demand {
    /// Alignment of the storage's offset.
    pub alignment: u64,
    /// The offset by an imported plan.
    pub fixed: Option<u64>,
}

/// Returns the home of every tensor. Checks ids, bounds and places.
pub fn homes(request: &Request) -> Result<Vec<Home>, PlanError> {
    let mut homes: Vec<Option<Home>> = vec![None; request.tensors.len()];
    let mut chain = Vec::new();
    for start in 0..request.tensors.len() {
        // Walk to a tensor whose home is known, or to a root; then back.
        let mut index = start;
        chain.clear();
        let mut home = loop {
            if let Some(home) = homes[index] {
                break home;
            }
            let Some((host, _)) = request.tensors[index].view_of else {
                let home = Home { root: TensorId(index as u32), offset: 0 };
                homes[index] = Some(home);
                break home;
            };
            chain.push(index);
            if chain.len() > request.tensors.len() {
                return Err(PlanError::ViewCycle { name: request.tensors[index].name.clone() });
            }
            index = request.tensor(host).map(|_| host.index())?;
        };
        while let Some(view) = chain.pop() {
            let tensor = &request.tensors[view];
            if let Some((host, offset)) = tensor.view_of {
                check_view(tensor, &request.tensors[host.index()], offset, &request.tensors[home.root.index()])?;
                home.offset += offset;
            }
            homes[view] = Some(home);
        }
    }
    Ok(homes.into_iter().flatten().collect())
}

/// Checks that a view lies within its host and has the root's place. A view of a caller's buffer may also say `Arena`.
fn check_view(view: &Tensor, host: &Tensor, offset: u64, root: &Tensor) -> Result<(), PlanError> {
    let name = view.name.clone();
    if offset.checked_add(view.bytes).is_none_or(|end| end > host.bytes) {
        return Err(PlanError::ViewBounds { name, host: host.name.clone() });
    }
    if view.place != Place::Arena && view.place != root.place {
        return Err(PlanError::ViewPlace { name, host: root.name.clone() });
    }
    Ok(())
}

/// Returns the requirements of each storage in the arena, by the index of its root. Also checks that sums of sizes cannot overflow later.
pub(super) fn demands(request: &Request, homes: &[Home]) -> Result<Vec<Demand>, PlanError> {
    const MOST: u64 = 1 << 62;
    let mut demands = vec![Demand { alignment: 1, fixed: None }; request.tensors.len()];
    let mut sum = 0u64;
    let mut add = |bytes: u64, alignment: u64| {
        sum = sum.checked_add(bytes).and_then(|sum| sum.checked_add(alignment)).filter(|sum| *sum <= MOST).ok_or(PlanError::TooLarge)?;
        Ok(())
    };
    for (tensor, home) in request.tensors.iter().zip(homes) {
        check_alignment(&tensor.name, tensor.alignment)?;
        let root = home.root.index();
        if request.tensors[root].place != Place::Arena {
            continue;
        }
        if tensor.view_of.is_none() {
            add(tensor.bytes, tensor.alignment)?;
        }
        let (name, alignment) = (tensor.name.clone(), tensor.alignment);
        if home.offset % alignment != 0 {
            return Err(PlanError::ViewAlignment { name, offset: home.offset, alignment });
        }
        demands[root].alignment = demands[root].alignment.max(alignment);
        if let Some(offset) = tensor.fixed {
            let start = offset.checked_sub(home.offset).filter(|start| *start <= MOST);
            let agrees = demands[root].fixed.is_none_or(|fixed| Some(fixed) == start);
            if start.is_none() || !agrees {
                return Err(PlanError::FixedOffset { name, offset });
            }
            demands[root].fixed = start;
        }
    }
    for step in &request.steps {
        for scratch in &step.scratch {
            check_alignment(&step.name, scratch.alignment)?;
            add(scratch.bytes, scratch.alignment)?;
        }
    }
    for (tensor, demand) in request.tensors.iter().zip(&demands) {
        if let Some(offset) = demand.fixed.filter(|fixed| fixed % demand.alignment != 0 || fixed + tensor.bytes > MOST) {
            return Err(PlanError::FixedOffset { name: tensor.name.clone(), offset });
        }
    }
    Ok(demands)
}

fn check_alignment(name: &str, alignment: u64) -> Result<(), PlanError> {
    if alignment.is_power_of_two() {
        return Ok(());
    }
    Err(PlanError::Alignment { name: name.to_string(), alignment })
}

impl Request {
    /// Returns a tensor by its id.
    pub fn tensor(&self, id: TensorId) -> Result<&Tensor, PlanError> {
        self.tensors.get(id.index()).ok_or(PlanError::UnknownTensor { tensor: id })
    }
}
