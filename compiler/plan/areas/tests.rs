//! Placements by hand, and random ones against brute force.

use super::{Area, AreaPlan, PlaceError, Placement};
use crate::request::{Effort, Place, Request, Scratch, Step, Tensor, TensorId};
use crate::{check_areas, place, plan};

fn tensor(bytes: u64, name: &str) -> Tensor {
    Tensor { bytes, alignment: 16, place: Place::Arena, view_of: None, takes_over: false, fixed: None, name: name.into() }
}

fn step(reads: &[u32], writes: &[u32], scratch: u64) -> Step {
    let ids = |list: &[u32]| list.iter().map(|&id| TensorId(id)).collect();
    let scratch = (scratch > 0).then_some(Scratch { bytes: scratch, alignment: 64 }).into_iter().collect();
    Step { reads: ids(reads), writes: ids(writes), scratch, ..Step::default() }
}

fn areas(list: &[(u64, u64)]) -> Vec<Area> {
    list.iter().map(|&(bytes, cost)| Area { bytes, cost }).collect()
}

fn placed(request: &Request, areas: &[Area]) -> Placement {
    let placement = place(request, areas).expect("areas with room");
    check_areas(request, areas, &placement).expect("a sound placement");
    for (own, area) in placement.areas.iter().zip(areas) {
        assert!(own.plan.arena_bytes <= area.bytes);
    }
    assert!(placement.lower_bound <= placement.cost);
    placement
}

/// Names of what lies in an area.
fn names(area: &AreaPlan) -> Vec<String> {
    let tensors = area.storages().map(|(id, _)| area.request.tensors[id.index()].name.clone());
    tensors.chain(area.scratch().map(|(step, _, _)| format!("scratch {step}"))).collect()
}

/// Makes a chain of layers: each reads the result of the one before. The last one only reads.
fn chain(bytes: &[u64], scratch: u64) -> Request {
    let tensors = bytes.iter().enumerate().map(|(number, &bytes)| tensor(bytes, &format!("t{number}"))).collect();
    let mut steps = vec![step(&[], &[0], scratch)];
    steps.extend((1..bytes.len() as u32).map(|number| step(&[number - 1], &[number], scratch)));
    steps.push(step(&[bytes.len() as u32 - 1], &[], 0));
    Request { tensors, steps, effort: Effort::Normal }
}

#[test]
fn what_moves_most_lies_in_the_fast_area() {
    // The second tensor is read four times.
    let tensors = vec![tensor(512, "once"), tensor(512, "often"), tensor(64, "small")];
    let steps = vec![step(&[], &[0, 1], 0), step(&[1], &[2], 64), step(&[0, 1, 2], &[], 0), step(&[1], &[], 0), step(&[1], &[], 0)];
    let request = Request { tensors, steps, effort: Effort::Normal };
    let found = placed(&request, &areas(&[(640, 1), (4096, 8)]));
    assert_eq!(names(&found.areas[0]), ["often", "small", "scratch 1"]);
    assert_eq!((found.areas[0].moved, found.areas[1].moved), (5 * 512 + 2 * 64 + 2 * 64, 2 * 512));
    assert!(found.optimal && found.cost == found.areas[0].moved + 8 * found.areas[1].moved);
    // The order of the areas does not matter, only their costs.
    let other = placed(&request, &areas(&[(4096, 8), (640, 1)]));
    assert_eq!((other.cost, names(&other.areas[1])), (found.cost, names(&found.areas[0])));
}

#[test]
fn a_single_area_has_the_plan_of_an_arena() {
    let request = chain(&[512, 256, 1024, 64], 128);
    let whole = plan(&request).expect("a chain");
    let found = placed(&request, &areas(&[(1 << 20, 2)]));
    assert_eq!((found.areas[0].plan.arena_bytes, found.optimal), (whole.arena_bytes, true));
}

#[test]
fn subtensors_and_what_takes_a_place_over_stay_with_their_storage() {
    let mut request = chain(&[256, 256, 512], 0);
    request.tensors[0].view_of = Some((TensorId(2), 0));
    request.tensors[1].view_of = Some((TensorId(2), 256));
    request.steps[2] = step(&[0, 1], &[], 0);
    let found = placed(&request, &areas(&[(256, 1), (512, 4)]));
    assert_eq!((names(&found.areas[0]).len(), names(&found.areas[1])), (0, vec!["t2".to_owned()]));
    assert_eq!(found.areas[1].plan.offset[1], Some(256));
}

#[test]
fn what_does_not_fit_is_named_with_the_bytes_that_lack() {
    let request = chain(&[512, 2048, 512], 0);
    let error = place(&request, &areas(&[(600, 1), (1024, 2)])).expect_err("too small");
    let PlaceError::Shortage(found) = error else { panic!("{error:?}") };
    assert_eq!((found.left, found.area, found.missing), (vec![("t1".to_owned(), 2048)], 1, 1024));
    assert!((1..=2).contains(&found.step), "{}", found.step);
}

#[test]
fn a_check_finds_what_lies_twice_nowhere_or_outside() {
    let request = chain(&[512, 256, 512], 64);
    let areas = areas(&[(1024, 1), (1024, 4)]);
    let good = placed(&request, &areas);
    let broken = |change: &dyn Fn(&mut Placement)| {
        let mut other = good.clone();
        change(&mut other);
        check_areas(&request, &areas, &other).is_err()
    };
    let first = good.areas[0].storages().next().expect("a tensor in the fast area").0.index();
    assert!(broken(&|other| other.areas[0].plan.offset[first] = None));
    assert!(broken(&|other| other.areas[0].plan.offset[first] = Some(1024)));
    assert!(broken(&|other| other.areas[1].plan.offset[first] = Some(0)));
    assert!(broken(&|other| other.areas[0].plan.arena_bytes = 1025));
    assert!(broken(&|other| drop(other.areas.pop())));
    let (step, number, _) = good.areas.iter().flat_map(AreaPlan::scratch).next().expect("scratch memory");
    assert!(broken(&|other| other.areas.iter_mut().for_each(|area| area.request.steps[step].scratch[number].bytes = 0)));
}

/// Returns the least cost of all placements of chains, by brute force over the areas of each tensor.
fn brute(request: &Request, areas: &[Area]) -> Option<u64> {
    let count = request.tensors.len();
    let moved = |tensor: u32| {
        let uses = request.steps.iter().flat_map(|step| step.reads.iter().chain(&step.writes));
        uses.filter(|id| id.0 == tensor).count() as u64 * request.tensors[tensor as usize].bytes
    };
    (0..1usize << count)
        .filter_map(|choice| {
            let of = |tensor: usize| choice >> tensor & 1;
            let fits = (0..2).all(|area| {
                let mut alone = request.clone();
                alone.tensors.iter_mut().enumerate().filter(|(t, _)| of(*t) != area).for_each(|(_, t)| t.place = Place::State);
                plan(&alone).is_ok_and(|plan| plan.arena_bytes <= areas[area].bytes)
            });
            fits.then(|| (0..count).map(|tensor| moved(tensor as u32) * areas[of(tensor)].cost).sum())
        })
        .min()
}

#[test]
fn few_tensors_have_the_least_cost() {
    let mut random = 7u64;
    let mut below = |limit: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % limit
    };
    let mut compared = 0;
    for _ in 0..60 {
        let mut request = chain(&(0..7).map(|_| 16 * (1 + below(20))).collect::<Vec<_>>(), 0);
        let again = 1 + below(6) as u32;
        request.steps[7].reads.push(TensorId(again));
        let areas = areas(&[(16 * (5 + below(30)), 1 + below(3)), (16 * (20 + below(40)), 4)]);
        match (place(&request, &areas), brute(&request, &areas)) {
            (Ok(found), Some(least)) => {
                check_areas(&request, &areas, &found).expect("a sound placement");
                assert!(found.optimal && found.lower_bound <= least, "{found:?}");
                assert_eq!(found.cost, least);
                compared += 1;
            }
            (Err(PlaceError::Shortage(_)), None) => {}
            (found, least) => panic!("{found:?}\n{least:?}"),
        }
    }
    assert!(compared > 20, "{compared}");
}
