//! Bots without a driver.

use std::path::Path;

use protocol::Seat;
use protocol::control::ServerMessage;

use super::*;

/// A bot of the study that the rehearsals of the tests use, which has just arrived.
fn bot(fault: Fault) -> Bot {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rehearsal");
    let (study, _) = catalog::read_study(&folder).unwrap();
    let info = StudyInfo {
        study: Arc::new(study),
        partners: Partners::default(),
        hosted: HostedSpecs::new(),
        has_webrtc: false,
    };
    let ticket = Ticket {
        rng: Rng::of(1, &[]),
        way: EntryWay::Link("link".to_owned()),
        arrives_us: 0,
        fault: Some(fault),
        agent: None,
        record: Shared::new(0, false, Some(fault)),
    };
    Bot::new(1_000 * S, Arc::new(info), ticket)
}

/// Opens the connection that a bot asks for.
fn dial(bot: &mut Bot, now_us: u64) -> WireId {
    bot.handle_timeout(now_us);
    let Some(BotEffect::Open(wire)) = bot.poll_effect() else {
        panic!("it wants to connect");
    };
    bot.handle_opened(now_us, wire);
    let hello = bot.poll_effect();
    assert!(
        matches!(hello, Some(BotEffect::Send(by, ClientMessage::Hello { .. })) if by == wire),
        "{hello:?}"
    );
    wire
}

#[test]
fn what_is_late_when_the_connection_is_lost_is_not_said_before_hello_over_the_next_one() {
    let mut bot = bot(Fault::SlowNetwork);
    let now_us = 1_000 * S;
    let wire = dial(&mut bot, now_us);
    while bot.late.due_us().is_none() {
        let (from, bytes) = (Seat(1), vec![1]);
        bot.handle_message(now_us, wire, ServerMessage::Relay { from, bytes });
    }
    bot.handle_closed(now_us, wire);
    assert_eq!(bot.late.due_us(), None);
    let (again_us, _) = bot.poll_timeout(now_us).unwrap();
    assert_ne!(dial(&mut bot, again_us), wire);
}

#[test]
fn who_is_not_let_in_is_overdue_unless_the_server_is_down() {
    let mut bot = bot(Fault::Reload);
    let now_us = 1_000 * S;
    dial(&mut bot, now_us);
    assert_eq!(bot.overdue_stage(now_us + 60 * S), None);
    let (number, what) = bot.overdue_stage(now_us + 61 * S).unwrap();
    assert_eq!(what, "to be let in");
    bot.handle_server(now_us + 61 * S, false);
    assert_eq!(bot.overdue_stage(now_us + 120 * S), None);
    let (later, _) = bot.overdue_stage(now_us + 122 * S).unwrap();
    assert!(later > number, "patience begins anew");
}
