//! Seats that people share with AI partners.

use env_core::World as _;
use env_core::shared::{HAND_OVER, count_own_actions};
use protocol::log::Header;
use protocol::rules::{SharedSeats, SharingMode};
use protocol::{Seat, Tick};

use crate::fixtures::{PERSON, header, no_modules, two_pages};
use crate::replica::{Replica, open_world};

fn shared() -> Header {
    let shared = SharedSeats {
        policies: vec!["cook~d2n100".into()],
        keys: vec!["KeyH".into()],
        mode: SharingMode::Override,
        begins_with_partner: true,
    };
    Header {
        shared: Some(shared),
        ..header([PERSON, PERSON], 200)
    }
}

#[test]
fn what_partners_choose_for_people_is_the_same_on_every_page_and_in_the_replica() {
    let header = shared();
    let mut replica = Replica::open(&header, no_modules).unwrap();
    let mark = count_own_actions(replica.spec()) as u16;
    assert_eq!(replica.spec().actions[usize::from(mark)].name, HAND_OVER);
    let pages = two_pages(&header);
    let inputs = pages.each_ref().map(|page| {
        let block = page.upload.block.as_ref().unwrap();
        block.inputs.clone()
    });
    let ended = pages[0].upload.ended.unwrap();
    let (mut given, mut corrected) = (0, 0);
    for tick in 0..ended.0 as usize {
        let row = inputs.each_ref().map(|own| own[tick]);
        replica.step(&row).unwrap();
        let played = replica.world().played().unwrap().to_vec();
        assert!(played.iter().all(|action| *action < mark), "{played:?}");
        for (input, played) in row.iter().zip(&played) {
            assert!(*input == mark || input == played);
            given += u32::from(*input == mark);
            corrected += u32::from(*input != mark);
        }
    }
    assert!(given > 50 && corrected > 50, "{given}, {corrected}");
    for (seat, page) in pages.iter().enumerate() {
        let digests = &page.upload.digests;
        assert!(digests.len() > 10);
        for (tick, digest) in digests {
            assert_eq!(
                replica.digest(*tick),
                Some(*digest),
                "page {seat}, {tick:?}"
            );
        }
    }
}

#[test]
fn a_page_that_comes_back_takes_up_what_the_partners_know() {
    let header = shared();
    let mut replica = Replica::open(&header, no_modules).unwrap();
    let mark = count_own_actions(replica.spec()) as u16;
    (0..33).for_each(|_| replica.step(&[mark, 0]).unwrap());
    let snapshot = replica.snapshot();
    let (mut world, _) = open_world(&header, &no_modules).unwrap();
    world.restore(&snapshot.state).unwrap();
    assert_eq!(world.digest(), snapshot.digest);
    for _ in 0..20 {
        replica.step(&[mark, mark]).unwrap();
        world.step(&[mark, mark]);
        assert_eq!(world.played(), replica.world().played());
    }
    let (digest, at) = (world.digest(), replica.ticks());
    assert_eq!((replica.digest(at), at), (Some(digest), Tick(53)));

    // A state that is no such state changes nothing.
    let bytes = &snapshot.state;
    for bad in [&[][..], &bytes[..bytes.len() - 1], &bytes[4..]] {
        assert!(world.restore(bad).is_err());
        assert_eq!(world.digest(), digest);
    }
}

#[test]
fn a_policy_that_cannot_play_is_refused_with_its_name() {
    let mut header = shared();
    header.shared.as_mut().unwrap().policies = vec!["nobody".into()];
    let error = Replica::open(&header, no_modules).err().unwrap();
    assert!(error.to_string().contains("nobody"), "{error}");
    // Seats without a person are not shared.
    let seats = SharedSeats::list_seats(&header.controllers);
    assert_eq!(seats, [Seat(0).index(), Seat(1).index()]);
}
