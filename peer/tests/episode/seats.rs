//! Seats that change hands, and pages that come back.

use super::*;

/// Two people; the second one's page vanished, and its seat was taken.
fn taken(horizon: u32, controller: Controller) -> Rig {
    let mut rig = Rig::two(horizon);
    rig.run_s(5);
    rig.vanish(1);
    rig.run_ms(300);
    rig.server.take(Seat(1), controller);
    rig.run_ms(60);
    rig
}

fn random() -> Controller {
    Controller::Ai {
        policy: "random".into(),
    }
}

#[test]
fn the_survivor_plays_on_with_an_ai_and_the_person_comes_back() {
    for controller in [random(), Controller::Vacant] {
        let mut rig = taken(20 * HZ, controller);
        let before = rig.current(0);
        rig.run_s(3);
        assert_eq!(rig.status(0), Status::Playing);
        assert!(rig.current(0) >= before + 3 * HZ - 2);
        assert_eq!(rig.tab(0).page.link(), None, "nobody else is there");

        rig.enter(Seat(1), true);
        assert_eq!(rig.status(1), Status::Returning);
        rig.run_ms(500);
        assert_eq!(rig.status(1), Status::Returning);
        let plays_from = rig.tab(1).page.plays_from();
        assert_eq!(rig.server.changes[1].tick, plays_from);
        rig.run_s(3);
        assert_eq!(rig.status(1), Status::Playing);
        assert_eq!(rig.tab(0).page.link(), Some(Link::Direct));
        rig.run_s(20);
        let stall_ms = rig.tab(0).stall_us / 1_000;
        assert!(stall_ms < 500, "{stall_ms} ms");
        assert_eq!(rig.server.ended, Some(Tick(20 * HZ)));
        assert_eq!(rig.status(1), Status::Finished);
        let mut own = rig.server.rows.chunks(2).skip(plays_from.0 as usize);
        assert!(own.any(|row| row[1] != 0), "the person plays again");
        rig.server.verify();
        let note = |life| rig.server.notes.contains_key(&(Seat(1), life, 0));
        assert!(note(Life(0)) && note(Life(2)));
    }
}

#[test]
fn of_three_people_two_go_on_while_the_third_reloads_its_page() {
    let mut rig = Rig::new(&[HUMAN, random(), HUMAN, HUMAN], 20 * HZ);
    rig.run_s(6);
    rig.vanish(3);
    rig.run_ms(300);
    rig.server.take(Seat(3), Controller::Vacant);
    rig.run_s(2);
    rig.enter(Seat(3), true);
    rig.run_s(24);
    for seat in [0, 2] {
        let stall_ms = rig.tab(seat).stall_us / 1_000;
        assert!(stall_ms < 500, "{stall_ms} ms");
    }
    assert_eq!(rig.server.ended, Some(Tick(20 * HZ)));
    rig.server.verify();
}

#[test]
fn a_page_whose_seat_was_taken_asks_for_it_once_it_is_in_sight() {
    let asked = |rig: &Rig| {
        let asks = rig.heard(|message| match message {
            ClientMessage::TakeBack { .. } => Some(()),
            _ => None,
        });
        asks.len()
    };
    let mut rig = Rig::two(20 * HZ);
    rig.run_s(4);
    rig.with(Seat(1), |page, now| page.handle_hidden(now, true));
    rig.run_s(1);
    rig.server.take(Seat(1), random());
    rig.run_s(3);
    assert_eq!(rig.status(1), Status::Lost);
    assert_eq!(rig.tab(1).page.life_in_play(), None);
    assert_eq!(asked(&rig), 0);
    // It still reports what it saw until then.
    let spans = rig.server.notes_of(Seat(1)).map(|note| note.hidden.len());
    assert_eq!(spans.sum::<usize>(), 1);
    rig.with(Seat(1), |page, now| page.handle_hidden(now, false));
    rig.run_ms(200);
    assert_eq!(asked(&rig), 1);
    rig.enter(Seat(1), true);
    rig.run_s(15);
    assert_eq!(rig.server.ended, Some(Tick(20 * HZ)));
    rig.server.verify();
}

#[test]
fn a_survivor_plays_on_while_the_server_writes_nothing_down() {
    let mut rig = Rig::two(20 * HZ);
    rig.run_s(5);
    rig.vanish(1);
    rig.run_ms(300);
    rig.server.is_archiving = false;
    rig.server.take(Seat(1), random());
    rig.run_s(5);
    let session = rig.tab(0).page.session().unwrap();
    assert!(session.confirmed().0 > 8 * HZ, "{:?}", session.confirmed());
    assert_eq!(rig.status(0), Status::Playing);
    rig.server.is_archiving = true;
    rig.connect(0, false);
    rig.connect(0, true);
    rig.run_s(18);
    assert_eq!(rig.server.ended, Some(Tick(20 * HZ)));
    rig.server.verify();
}

#[test]
fn who_is_beyond_a_cut_goes_back_to_it() {
    let mut rig = Rig::two(20 * HZ);
    rig.run_s(5);
    // Both continue without the server, which then decides by the inputs that it has from the page that is gone.
    rig.connect(0, false);
    rig.connect(1, false);
    rig.run_s(2);
    rig.vanish(1);
    let confirmed = rig.tab(0).page.session().unwrap().confirmed();
    let cut = rig.server.own(Seat(1));
    assert!(confirmed.0 > cut.0 + HZ);
    rig.server.take(Seat(1), random());
    rig.connect(0, true);
    rig.run_ms(200);
    assert_eq!(rig.status(0), Status::Playing);
    rig.run_s(18);
    assert_eq!(rig.server.ended, Some(Tick(20 * HZ)));
    rig.server.verify();
}

#[test]
fn a_change_that_was_missed_is_learnt_when_the_connection_is_back() {
    let mut rig = Rig::new(&[HUMAN, HUMAN, HUMAN], 20 * HZ);
    rig.run_s(6);
    rig.connect(0, false);
    rig.vanish(2);
    rig.run_ms(300);
    rig.server.take(Seat(2), random());
    rig.run_s(1);
    rig.connect(0, true);
    rig.run_s(20);
    assert_eq!(rig.server.ended, Some(Tick(20 * HZ)));
    rig.server.verify();
}

#[test]
fn a_seat_that_was_given_back_meanwhile_waits_for_its_person() {
    let mut rig = Rig::two(20 * HZ);
    rig.run_s(5);
    rig.vanish(1);
    rig.run_ms(300);
    rig.server.take(Seat(1), random());
    rig.run_s(1);
    rig.connect(0, false);
    rig.run_s(3);
    // The seat is given back while the survivor cannot hear of it, and plays on with the partner beyond that tick.
    rig.enter(Seat(1), true);
    rig.run_ms(60);
    let given = rig.server.changes.last().unwrap().tick;
    assert_eq!(rig.server.changes.len(), 2);
    rig.run_s(2);
    assert!(rig.current(0) > given.0);
    rig.connect(0, true);
    rig.run_s(20);
    assert_eq!(rig.server.ended, Some(Tick(20 * HZ)));
    rig.server.verify();
}

#[test]
fn a_partner_that_is_not_known_here_stops_the_page() {
    let controller = Controller::Ai {
        policy: "nobody".into(),
    };
    let mut rig = Rig::new(&[HUMAN, controller], 5 * HZ);
    rig.run_s(2);
    assert_eq!(rig.status(0), Status::Stopped);
    let told = rig.heard(|message| match message {
        ClientMessage::Trouble { message } => Some(message.clone()),
        _ => None,
    });
    assert_eq!(told[0].2, "there is no policy nobody here");
}
