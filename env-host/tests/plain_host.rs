//! A host that somebody wrote from `docs/host-protocol.md` alone.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;

use env_host::{
    HostCommand, HostFault, HostLimits, HostedWorld as _, Picture, ProcessHost, find_interpreter,
};
use serde_json::json;

fn open() -> ProcessHost {
    let command = HostCommand {
        program: find_interpreter(None).unwrap(),
        arguments: vec!["plain_host.py".into()],
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/worlds"),
        variables: Vec::new(),
    };
    ProcessHost::open(&command, &json!({}), HostLimits::default()).unwrap()
}

#[test]
fn a_host_from_the_page_alone_is_played() {
    let mut host = open();
    assert_eq!(host.spec().seats, 2);
    let first = host.reset(3).unwrap();
    assert_eq!((first.acting, first.score), (0b01, 3));
    assert_eq!(first.masks[..2], [0b11, 0b01]);
    let mut turn = 0_usize;
    for sum in 4..=20 {
        let mut actions = [0, 0];
        actions[turn] = 1;
        let step = host.step(&actions).unwrap();
        assert_eq!((step.score, step.seat_scores[1]), (sum, sum));
        assert_eq!(usize::from(step.outcome.events[0].seat), turn);
        assert_eq!(step.outcome.over, sum == 20);
        assert_eq!(step.outcome.terminated, if sum == 20 { 0b11 } else { 0 });
        turn = 1 - turn;
    }
    let (mut values, mut words, mut picture) = (Vec::new(), String::new(), Picture::None);
    host.observe(0, &mut values).unwrap();
    host.describe(1, &mut words).unwrap();
    host.picture(0, &mut picture).unwrap();
    assert_eq!(
        (values.as_slice(), words.as_str()),
        (&[20.0][..], "The sum is 20.")
    );
    assert!(matches!(picture, Picture::List(list) if list.items.len() == 1));
}

#[test]
fn what_it_does_not_know_it_refuses() {
    let mut host = open();
    host.reset(0).unwrap();
    let fault = host.check_page(10, 1).unwrap_err();
    assert_eq!(fault, HostFault::Refused("no request 9".into()));
}
