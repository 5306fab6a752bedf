//! A module that follows the interface keeps the laws, and is what its own code says.

use env_core::World;
use env_core::conformance::{self, SEEDS};
use env_core::contract::StateError;
use env_core::draw::DrawList;

use crate::counter;

#[test]
fn a_sound_module_keeps_the_laws() {
    let code = counter::sound();
    let mut open = || {
        let world = code.open("").map_err(|error| error.to_string())?;
        Ok(Box::new(world) as Box<dyn World>)
    };
    let mut episodes = 0;
    let report = conformance::check_world(&mut open, 0, &SEEDS, &mut |_| episodes += 1);
    assert_eq!(report.findings, []);
    assert_eq!((episodes, report.episodes), (4, 4));
    assert_eq!(report.steps, 4 * (20 + 5));
    let least = report.laws.iter().map(|law| law.times).min();
    assert!(least >= Some(1) && report.laws.len() > 20, "{report:?}");
}

#[test]
fn a_module_is_played_as_a_world() {
    let mut world = counter::sound().open("{}").unwrap();
    assert_eq!(world.spec().actions[1].name, "count");
    assert_eq!(world.facts().sprites, []);
    world.reset(7);
    world.save(63);
    assert_eq!(world.step(&[1]).rewards[0], 1.0);
    assert_eq!(
        world.step(&[]).rewards[0],
        0.0,
        "a missing action is the no-op"
    );
    assert_eq!(
        world.step(&[1, 1, 1]).rewards[0],
        1.0,
        "a seat too many is ignored"
    );
    let (mut values, mut text, mut state) = (Vec::new(), String::new(), Vec::new());
    world.observe(0, &mut values);
    world.describe(0, &mut text);
    world.state(&mut state);
    assert_eq!(
        (values.as_slice(), text.as_str()),
        (&[2.0][..], "A counter.")
    );
    assert_eq!(state, [3, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!((world.score(), world.mask(0)), (2, u64::MAX));
    let mut picture = DrawList::default();
    world.draw(Some(0), &mut picture);
    assert_eq!((picture.width, picture.height), (1.0, 1.0));
    world.load(63);
    world.load(64);
    assert_eq!(world.score(), 0);
    assert_eq!(world.restore(&state), Ok(()));
    assert_eq!(world.restore(&[0; 9]), Err(StateError));
    assert_eq!(world.restore(&vec![0; 2 << 20]), Err(StateError));
    world.inject(&vec![0; 1 << 19]);
    assert_eq!((world.score(), world.fault()), (2, None));
}

#[test]
fn worlds_of_one_module_are_apart() {
    let code = counter::sound();
    let (mut one, mut two) = (code.open("").unwrap(), code.open("").unwrap());
    one.step(&[1]);
    assert_eq!((one.score(), two.score()), (1, 0));
    std::thread::spawn(move || two.step(&[1]).over)
        .join()
        .unwrap();
}
