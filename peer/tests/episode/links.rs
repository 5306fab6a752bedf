//! Ways between pages: channels that do not come up, or die.

use super::*;

#[test]
fn play_starts_through_the_server_if_channels_do_not_come_up() {
    let mut rig = Rig::two(5 * HZ);
    rig.channels_open = false;
    rig.run_s(12);
    assert_eq!(rig.tab(0).page.link(), Some(Link::Relay));
    assert_eq!(rig.server.ended, Some(Tick(5 * HZ)));
    rig.server.verify();
}

#[test]
fn a_channel_that_dies_without_a_word_stalls_nobody_for_half_a_second() {
    for ways in [&[(0, 1), (1, 0)][..], &[(0, 1)], &[(1, 0)]] {
        let mut rig = Rig::two(20 * HZ);
        rig.run_s(6);
        assert_eq!(rig.tab(0).page.link(), Some(Link::Direct));
        for &(from, to) in ways {
            rig.dead.insert((Seat(from), Seat(to)));
        }
        rig.channels_open = false;
        rig.run_s(20);
        for seat in [0, 1] {
            let stall_ms = rig.tab(seat).stall_us / 1_000;
            assert!(stall_ms < 500, "{ways:?}: {stall_ms} ms");
            assert!(longest_hold(&rig, seat) < 500);
        }
        assert_eq!(rig.server.ended, Some(Tick(20 * HZ)));
        rig.server.verify();
    }
}

#[test]
fn a_dead_channel_is_built_anew_and_used_again() {
    let mut rig = Rig::two(30 * HZ);
    rig.run_s(6);
    let dead_us = rig.now_us;
    rig.dead.extend([(Seat(0), Seat(1)), (Seat(1), Seat(0))]);
    rig.connects.clear();
    rig.run_ms(1_000);
    assert_eq!(rig.tab(0).page.link(), Some(Link::Relay));
    rig.run_ms(5_500 + OPENS_US / 1_000);
    let (at_us, ..) = rig.connects[0];
    assert!((5_000_000..5_600_000).contains(&(at_us - dead_us)));
    assert_eq!(rig.tab(0).page.link(), Some(Link::Direct));
    assert_eq!(rig.tab(1).page.link(), Some(Link::Direct));
    let told = rig.heard(|message| match message {
        ClientMessage::LinkChanged { link, .. } => Some(*link),
        _ => None,
    });
    let of_first: Vec<Link> = told
        .into_iter()
        .filter(|(_, seat, _)| *seat == Seat(0))
        .map(|(.., link)| link)
        .collect();
    assert_eq!(of_first, [Link::Relay, Link::Direct]);
    rig.run_s(30);
    rig.server.verify();
}

/// The links that a page reported.
fn ways_told(rig: &Rig) -> Vec<Link> {
    let told = rig.heard(|message| match message {
        ClientMessage::LinkChanged { link, .. } => Some(*link),
        _ => None,
    });
    told.into_iter().map(|(.., link)| link).collect()
}

#[test]
fn a_page_that_a_busy_machine_does_not_run_has_lost_no_way() {
    for asleep in [&[0][..], &[1], &[0, 1]] {
        for ms in [260, 400, 900] {
            let mut rig = Rig::two(20 * HZ);
            rig.run_s(6);
            for _ in 0..5 {
                asleep.iter().for_each(|&seat| rig.put_to_sleep(seat, ms));
                rig.run_s(2);
                for seat in [0, 1] {
                    let link = rig.tab(seat).page.link();
                    assert_eq!(link, Some(Link::Direct), "{asleep:?}, {ms} ms");
                }
            }
            assert_eq!(ways_told(&rig), [], "{asleep:?}, {ms} ms");
            rig.run_s(20);
            rig.server.verify();
        }
    }
}
