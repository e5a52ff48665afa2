//! Tensors in callers' result buffers.

use super::*;

/// Plans a request in which all outputs lend their buffers, and checks the plan. Buffers and tensors are aligned to 16 bytes.
fn lent(draft: &Draft) -> Option<Lent> {
    let outputs = (0..).zip(&draft.0.tensors).filter(|(_, tensor)| tensor.place == Place::Output);
    let lenders: Vec<Lender> = outputs.map(|(number, _)| Lender { output: TensorId(number), alignment: 16 }).collect();
    let lent = plan_lent(&draft.0, &draft.plan(), &lenders, &vec![16; draft.0.tensors.len()]).unwrap()?;
    check(&lent.request, &lent.plan).unwrap();
    Some(lent)
}

/// Makes `input` → a → b → c → `output`.
fn chain() -> (Draft, [TensorId; 3], TensorId) {
    let mut draft = Draft::default();
    let (input, output) = (draft.placed(Place::Input, 100), draft.placed(Place::Output, 448));
    let [a, b, c] = [300, 208, 400].map(|bytes| draft.tensor(bytes, 16));
    draft.step(&[input], &[a]);
    draft.step(&[a], &[b]);
    draft.step(&[b], &[c]);
    draft.step(&[c], &[output]);
    (draft, [a, b, c], output)
}

#[test]
fn a_buffer_holds_tensors_until_its_result_is_written() {
    let (draft, [a, b, c], output) = chain();
    assert_eq!(draft.plan().arena_bytes, 608);
    // The step that writes the result reads `c`, so it cannot lie there; `a` and `b` are there at the same time.
    let Lent { request, plan } = lent(&draft).unwrap();
    let views = [a, b, c].map(|tensor| request.tensors[tensor.index()].view_of);
    assert_eq!(views, [None, Some((output, 0)), None]);
    assert_eq!((plan.arena_bytes, plan.lower_bound, plan.optimal, plan.lent_bytes), (400, 400, true, 208));
}

#[test]
fn a_result_may_be_computed_in_place() {
    let (mut draft, [a, b, c], output) = chain();
    draft.0.steps[3].may_share = vec![(c, output)];
    let Lent { request, plan } = lent(&draft).unwrap();
    let views = [a, b, c].map(|tensor| request.tensors[tensor.index()].view_of);
    assert_eq!(views, [Some((output, 0)), None, Some((output, 0))], "both of 300 bytes and more; `b` is there with each of them");
    // The bound only counts bytes: the 160 bytes of `b` and `c` that exceed the buffer.
    assert_eq!((plan.arena_bytes, plan.lower_bound), (208, 160));
}

#[test]
fn tensors_share_a_buffer_one_after_another_and_side_by_side() {
    let mut draft = Draft::default();
    let output = draft.placed(Place::Output, 256);
    let list = [128, 128, 96, 64, 64].map(|bytes| draft.tensor(bytes, 16));
    let [a, b, c, d, e] = list;
    draft.step(&[], &[a, b]);
    draft.step(&[a, b], &[c]);
    draft.step(&[c], &[d]);
    draft.step(&[d], &[e]);
    draft.step(&[e], &[output]);
    let Lent { request, plan } = lent(&draft).unwrap();
    let views = list.map(|tensor| request.tensors[tensor.index()].view_of.map(|(_, at)| at));
    assert_eq!(views, [Some(0), Some(128), None, Some(0), None], "c, and e beside d, stay in the arena");
    assert_eq!((plan.arena_bytes, plan.lower_bound), (96, 96));
}

#[test]
fn nothing_is_lent_that_needs_more_or_helps_nobody() {
    let (draft, ..) = chain();
    let request = &draft.0;
    let (plan, needs) = (draft.plan(), vec![16; request.tensors.len()]);
    let narrow = [Lender { output: TensorId(1), alignment: 8 }];
    assert_eq!(plan_lent(request, &plan, &narrow, &needs).unwrap(), None, "elements of 16 bytes at multiples of 8");
    assert_eq!(plan_lent(request, &plan, &[], &needs).unwrap(), None);
    let (mut small, [_, b, _], _) = chain();
    small.0.tensors[b.index()].bytes = 449;
    assert_eq!(lent(&small).map(|lent| lent.request.tensors[b.index()].view_of), None, "longer than the buffer");
    let (mut read, [_, b, _], _) = chain();
    read.0.steps[3].reads.push(b);
    let views = lent(&read).map(|lent| lent.request.tensors[b.index()].view_of);
    assert_eq!(views, None, "needed with the result");
}

#[test]
fn the_check_finds_what_a_result_overwrites() {
    let (mut draft, [_, b, c], output) = chain();
    let view = &mut draft.0.tensors[c.index()];
    (view.view_of, view.takes_over) = (Some((output, 0)), true);
    let found = plan(&draft.0).unwrap();
    assert!(matches!(check(&draft.0, &found), Err(CheckError::Overlap { .. })), "read and overwritten by one step");
    let (mut draft, ..) = chain();
    draft.0.steps.swap(2, 3);
    draft.0.steps[2].reads = vec![];
    let view = &mut draft.0.tensors[b.index()];
    (view.view_of, view.takes_over) = (Some((output, 0)), true);
    let found = plan(&draft.0).unwrap();
    assert!(matches!(check(&draft.0, &found), Err(CheckError::Clobbered { .. })), "overwritten before it is read");
}

#[test]
fn random_requests_are_right_and_need_no_more() {
    let mut random = Random(7);
    let mut smaller = 0;
    for case in 0..600 {
        let mut draft = Draft(random_request(&mut random, 3 + case % 12));
        for index in 0..draft.0.tensors.len() {
            let is_root = draft.0.tensors[index].view_of.is_none();
            if is_root && random.below(4) == 0 {
                draft.0.tensors[index].place = Place::Output;
            }
        }
        let Some(lent) = lent(&draft) else { continue };
        assert!(lent.plan.arena_bytes < draft.plan().arena_bytes, "case {case}");
        assert!(lent.plan.lower_bound <= lent.plan.arena_bytes, "case {case}");
        smaller += 1;
    }
    assert!(smaller > 100, "only {smaller} of 600 arenas are smaller");
}
