//! Buttons by which a person tells an AI partner what to do.

use protocol::control::ShownButtons;

use super::*;

/// Somebody plays alone in a kitchen on connection 1, with a helper that has three buttons.
fn playing() -> (Stage, Era, String) {
    let mut stage = Stage::read(
        "partners:
  helper:
    policy: cook:wait
    shown_as: Help
    buttons:
      - {do: fetch_plate, label: \"A plate, please\"}
      - {do: serve_soup, label: Serve}
      - {do: wait, label: Wait}
timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, helper], config: {horizon: 900, tick_hz: 10}}
",
        Limits::default(),
    );
    let token = stage.queue(1);
    let era = stage.plan(1).unwrap().era;
    stage.ready(1, era, 0);
    stage.wait(3_500_000);
    (stage, era, token)
}

fn press(stage: &mut Stage, conn: u64, era: Era, (seat, button): (u8, u8)) {
    let message = ClientMessage::Direct {
        era,
        seat: Seat(seat),
        button,
        tick: Some(Tick(19)),
    };
    stage.say(conn, message);
}

/// The buttons as the page last got them.
fn shown(messages: &[ServerMessage]) -> Option<&ShownButtons> {
    messages.iter().rev().find_map(|message| match message {
        ServerMessage::Buttons(shown) => Some(shown),
        _ => None,
    })
}

fn rows(stage: &Stage) -> Vec<&ModelCallRow> {
    let rows = stage.writes.iter().filter_map(|write| match write {
        Write::ModelCall(row) => Some(&**row),
        _ => None,
    });
    rows.collect()
}

#[test]
fn a_press_becomes_a_directive_at_a_tick_and_a_row() {
    let (mut stage, era, _) = playing();
    let told = stage.hear(1);
    let buttons = shown(&told).expect("the page is told the buttons once the episode runs");
    assert_eq!((buttons.seat, buttons.name.as_str()), (Seat(1), "Help"));
    assert_eq!(buttons.labels, ["A plate, please", "Serve", "Wait"]);
    assert_eq!((buttons.followed, buttons.refused), (Some(2), None));
    stage.archive(1, era, 0, 20);
    press(&mut stage, 1, era, (1, 0));
    let told = stage.hear(1);
    let all = changes(&told);
    let [change] = &all[..] else {
        panic!("the page learns of the directive: {told:?}")
    };
    let policy = "cook:fetch_plate".to_owned();
    assert_eq!(
        (change.seat, &change.controller),
        (Seat(1), &Controller::Ai { policy })
    );
    assert_eq!(change.tick, Tick(20 + LEAD_S * HZ));
    assert_eq!(shown(&told).unwrap().followed, Some(0));
    let [row] = rows(&stage)[..] else {
        panic!("one row for a press")
    };
    let words = [&row.asked_for, &row.outcome, &row.directive, &row.partner];
    assert_eq!(words, ["button", "followed", "fetch_plate", "helper"]);
    assert_eq!(
        (row.number, row.tick_asked, row.tick_applied),
        (0, Some(Tick(19)), Some(change.tick))
    );
}

#[test]
fn a_press_in_vain_is_told_and_changes_nothing() {
    let (mut stage, era, _) = playing();
    stage.archive(1, era, 0, 20);
    stage.hear(1);
    press(&mut stage, 1, era, (1, 1));
    let told = stage.hear(1);
    assert!(changes(&told).is_empty());
    let buttons = shown(&told).unwrap();
    assert_eq!((buttons.followed, buttons.refused), (Some(2), Some(1)));
    let row = rows(&stage).pop().unwrap();
    assert_eq!(
        [&row.outcome, &row.refusal],
        ["refused", "it cannot be done"]
    );
    // Of presses that come too fast nothing is stored, and nothing that is no button means anything.
    for _ in 0..20 {
        press(&mut stage, 1, era, (1, 1));
    }
    assert_eq!(shown(&stage.hear(1)).unwrap().refused, Some(1));
    let stored = rows(&stage).len();
    assert!((2..10).contains(&stored), "{stored}");
    stage.wait(3_000_000);
    for (seat, button) in [(0, 0), (1, 3), (9, 0)] {
        press(&mut stage, 1, era, (seat, button));
    }
    press(&mut stage, 1, Era(era.0 + 1), (1, 0));
    assert_eq!((shown(&stage.hear(1)), rows(&stage).len()), (None, stored));
}

#[test]
fn buttons_are_there_again_after_a_reload_and_a_restart() {
    let (mut stage, era, token) = playing();
    stage.archive(1, era, 0, 20);
    press(&mut stage, 1, era, (1, 0));
    stage.resume(2, &token, Some((era, 0)));
    assert_eq!(shown(&stage.hear(2)).unwrap().followed, Some(0));
    stage.restart();
    stage.resume(3, &token, Some((era, 0)));
    assert_eq!(shown(&stage.hear(3)).unwrap().followed, Some(0));
    press(&mut stage, 3, era, (1, 0));
    stage.wait(100_000);
    let numbers: Vec<u32> = rows(&stage).iter().map(|row| row.number).collect();
    assert_eq!(numbers, [0, 1], "no row takes the place of one before");
}
