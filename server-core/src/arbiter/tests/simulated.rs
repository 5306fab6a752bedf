//! Waiting rooms in which somebody waits for an AI partner as if for a person.

use super::*;

/// A study in which half of the participants wait for a person, and half for an AI partner.
fn study() -> Stage {
    let timeline = "partners:
  maria: {policy: person}
  fcp_3: {policy: cook, disclose: false, algorithm: fictitious, training_seed: 4711, checkpoint: middle}
design:
  between: {other: {levels: [maria, fcp_3]}}
timeline:
  - {id: how, type: instructions, pages: [page.md]}
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 60
    on_timeout: leave
    partner: \"{{ other }}\"
    simulated_wait_s: [8, 20]
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 900, tick_hz: 10}
    on_disconnect: {grace_s: 15}
  - {id: debrief, type: debrief, file: page.md, reveals: [lobby]}
";
    Stage::read(timeline, Limits::default())
}

/// The level of the participant of a page.
fn level_of(stage: &Stage, conn: u64) -> String {
    let mut sessions = stage.arbiter.sessions.iter();
    let session = sessions.find(|session| session.conn == Some(ConnId(conn)));
    let session = session.expect("a session");
    session.progress.assignment().own.levels["other"].clone()
}

/// The messages that a page has got, as text without what names the session.
fn told(stage: &mut Stage, conn: u64) -> Vec<String> {
    let heard = stage.hear(conn).into_iter();
    let heard = heard.filter(|message| !matches!(message, ServerMessage::Welcome { .. }));
    heard.map(|message| format!("{message:?}")).collect()
}

#[test]
fn who_waits_for_an_ai_partner_is_told_what_one_is_told_who_waits_for_a_person() {
    let mut stage = study();
    stage.queue(1);
    stage.queue(2);
    let levels = [1, 2].map(|conn| level_of(&stage, conn));
    assert_ne!(levels[0], levels[1]);
    stage.wait(7 * SECOND);
    let (one, other) = (told(&mut stage, 1), told(&mut stage, 2));
    assert!(
        one.iter().any(|message| message.starts_with("Waiting")),
        "{one:?}"
    );
    assert_eq!(one, other);
    // Within the bounds of the study, the AI partner comes; for the other, nobody.
    stage.wait(14 * SECOND);
    let (ai, person) = if levels[0] == "fcp_3" { (1, 2) } else { (2, 1) };
    assert!(stage.plan(person).is_none());
    let heard = stage.hear(ai);
    let plan = heard.iter().find_map(|message| match message {
        ServerMessage::Match(plan) => Some(plan.clone()),
        _ => None,
    });
    let plan = plan.expect("a match");
    assert!(!plan.disclose_ai);
    let all = format!("{heard:?}");
    for secret in ["fcp_3", "fictitious", "4711", "middle", "maria"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    stage.ready(ai, plan.era, 0);
    let names = stage.shelf(plan.era).header.course.clone().unwrap().names;
    let (_, origin) = names
        .iter()
        .find(|(name, _)| name == "partner@1")
        .expect("its partner");
    assert!(origin.contains("\"training_seed\":4711"), "{origin}");
}

#[test]
fn after_five_matches_the_waits_of_people_are_drawn() {
    let mut stage = study();
    let mut conn = 0;
    let mut people = Vec::new();
    // Pairs of people, each of whom has waited for 3 s.
    while people.len() < 12 {
        conn += 1;
        stage.queue(conn);
        if level_of(&stage, conn) != "maria" {
            continue;
        }
        people.push(conn);
        if let [.., one, other] = people.as_slice()
            && people.len() % 2 == 0
        {
            let era = stage.plan(*one).expect("a match").era;
            stage.ready(*one, era, 0);
            stage.ready(*other, era, 0);
        }
        stage.wait(3 * SECOND);
    }
    let alone = loop {
        conn += 1;
        stage.queue(conn);
        if level_of(&stage, conn) == "fcp_3" {
            break conn;
        }
    };
    stage.hear(alone);
    stage.wait(4 * SECOND);
    assert!(
        stage.plan(alone).is_some(),
        "an AI partner before the least that the study names"
    );
}
