//! State, threads and times of sessions.

use super::{inputs, model, session, support};
use modelc::{Settings, State};

const VARIABLES: &str = "svdf_f32_r2.tflite";

#[test]
fn state_is_saved_and_put_back() {
    let call = &inputs(&support::own("tests/models").join(VARIABLES))[0];
    let mut first = session(VARIABLES);
    let fresh = first.state();
    let answers: Vec<_> = (0..3).map(|_| first.call(call).unwrap_or_else(|error| panic!("{error}"))).collect();
    assert_ne!(answers[0], answers[1], "the model keeps state");
    first.set_state(&fresh).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(first.call(call).as_ref(), Ok(&answers[0]));
    // A state moves to another session, through bytes.
    let saved = State::from_bytes(first.state().as_bytes().to_vec());
    let mut second = session(VARIABLES);
    second.set_state(&saved).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(second.call(call).as_ref(), Ok(&answers[1]));
    second.reset().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(second.call(call).as_ref(), Ok(&answers[0]));
    for wrong in [session("while_var.tflite").state(), State::from_bytes(vec![]), State::from_bytes(vec![0; 9])] {
        assert_eq!(second.set_state(&wrong).unwrap_err().code(), "MC0513");
    }
}

#[test]
fn sessions_on_several_threads_are_independent() {
    let call = inputs(&support::own("tests/models").join(VARIABLES)).remove(0);
    let model = model(VARIABLES);
    let work = || {
        let mut session = model.load(&Settings::new().threads(2)).unwrap_or_else(|error| panic!("{error}"));
        let call = call.clone();
        move || (0..20).map(|_| session.call(&call).unwrap_or_else(|error| panic!("{error}"))).collect::<Vec<_>>()
    };
    let threads = [(); 2].map(|()| std::thread::spawn(work()));
    let [first, second] = threads.map(|thread| thread.join().expect("no panic"));
    assert_eq!(first, second);
}

#[test]
fn kernels_are_measured() {
    let call = &inputs(&support::own("tests/models").join(VARIABLES))[0];
    let mut session = model(VARIABLES).load(&Settings::new().profile()).unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..3 {
        session.call(call).unwrap_or_else(|error| panic!("{error}"));
    }
    let profile = session.profile();
    assert!(!profile.is_empty() && profile.iter().all(|row| row.runs == 3 && row.total_ns > 0), "{profile:?}");
    assert!(profile.iter().any(|row| row.operators.iter().any(|(_, name)| name == "SVDF")));
    assert!(super::session(VARIABLES).profile().is_empty(), "nothing is measured unless it is asked for");
}
