//! People who write to each other: at a chat stage, and beside an episode.

use protocol::control::{ChatMember, ChatMessage, ChatView, MessageRefusal};

use super::*;

/// A chat of ten seconds to a minute, then an episode with a chat beside it, then one more chat.
fn talks(lobby: &str) -> Stage {
    let timeline = format!(
        "timeline:
  - {{id: how, type: instructions, pages: [page.md]}}
  - {{id: lobby, type: lobby, group_size: 2, timeout_s: 30, regroup_s: 60, {lobby}}}
  - {{id: plan, type: chat, min_s: 10, max_s: 60, max_length: 20, names: [Red, Blue], file: page.md}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    episodes: 2
    chat: {{max_length: 9}}
    config: {{horizon: 900, tick_hz: 10}}
  - {{id: look-back, type: chat, max_s: 60}}
"
    );
    Stage::read(&timeline, Limits::default())
}

fn pair() -> (Stage, [String; 2]) {
    let mut stage = talks("on_timeout: wait");
    let tokens = [stage.queue(1), stage.queue(2)];
    (stage, tokens)
}

fn chat_view(messages: &[ServerMessage]) -> Option<ChatView> {
    messages.iter().rev().find_map(|message| match message {
        ServerMessage::Chat(view) => Some(view.clone()),
        _ => None,
    })
}

fn chat_messages(messages: &[ServerMessage]) -> Vec<(u8, u32, String)> {
    let line = |message: &ServerMessage| match message {
        ServerMessage::ChatMessage { message, .. } => {
            Some((message.place.0, message.number, message.text.clone()))
        }
        _ => None,
    };
    messages.iter().filter_map(line).collect()
}

fn refusals(messages: &[ServerMessage]) -> Vec<(u32, MessageRefusal)> {
    let unsaid = |message: &ServerMessage| match message {
        ServerMessage::ChatRefused { number, why, .. } => Some((*number, *why)),
        _ => None,
    };
    messages.iter().filter_map(unsaid).collect()
}

fn chat_members(messages: &[ServerMessage]) -> Option<Vec<ChatMember>> {
    messages.iter().rev().find_map(|message| match message {
        ServerMessage::ChatMembers { members, .. } => Some(members.clone()),
        ServerMessage::Chat(view) => Some(view.members.clone()),
        _ => None,
    })
}

fn stage_id(messages: &[ServerMessage]) -> Option<String> {
    messages.iter().rev().find_map(|message| match message {
        ServerMessage::Stage { id, .. } => Some(id.clone()),
        _ => None,
    })
}

impl Stage {
    fn write_to(&mut self, conn: u64, (group_visit, number): (u16, u32), text: &str) {
        let sent_us = self.now_us + 5;
        self.say(
            conn,
            ClientMessage::WriteToGroup {
                group_visit,
                number,
                sent_us,
                tick: Some(Tick(7)),
                text: text.into(),
            },
        );
    }

    fn go_on(&mut self, conn: u64, at: u16) {
        let done = ClientMessage::StageDone {
            stage: at,
            answers: Vec::new(),
            pages_ms: vec![1],
        };
        self.say(conn, done);
    }

    fn written(&self) -> Vec<&MessageRow> {
        let mut rows = Vec::new();
        for write in &self.writes {
            if let Write::Message(row) = write {
                rows.push(row);
            }
        }
        rows
    }

    /// Lets the two play the episode that they have reached to its end.
    fn cook(&mut self) {
        let era = self.plan(1).expect("an episode").era;
        self.ready(1, era, 0);
        self.ready(2, era, 0);
        self.wait(4 * SECOND);
        self.say(1, upload(era, Some(Tick(7))));
        self.say(2, upload(era, Some(Tick(7))));
    }
}

#[test]
fn a_group_begins_its_chat_together_and_everybody_sees_what_is_written_in_one_order() {
    let (mut stage, _) = pair();
    let (one, two) = (stage.hear(1), stage.hear(2));
    let told = chat_view(&one).expect("a chat");
    assert_eq!((told.place, told.next, told.group_visit), (Seat(0), 0, 0));
    assert_eq!(told.left_ms, Some((10_000, 60_000)));
    assert_eq!(told.names, ["Red", "Blue"]);
    assert_eq!(told.max_length, 20);
    assert_eq!(
        chat_members(&two),
        Some(vec![ChatMember::Here, ChatMember::Here])
    );
    assert!(matches!(view(&two), Some(StageView::Chat { page }) if page.contains("Page")));
    stage.write_to(1, (0, 0), " Hello\u{7} ");
    stage.write_to(2, (0, 0), "Hi");
    stage.write_to(1, (0, 1), "Onions?");
    let seen = [(0, 0, "Hello"), (1, 0, "Hi"), (0, 1, "Onions?")];
    let seen: Vec<_> = seen
        .map(|(place, number, text)| (place, number, text.to_owned()))
        .into();
    assert_eq!(chat_messages(&stage.hear(1)), seen);
    assert_eq!(chat_messages(&stage.hear(2)), seen);
    let rows = stage.written();
    let kept: Vec<_> = rows
        .iter()
        .map(|row| (row.number, row.place, row.turn))
        .collect();
    assert_eq!(kept, [(0, Seat(0), 0), (1, Seat(1), 0), (2, Seat(0), 1)]);
    assert_eq!((rows[0].stage, rows[0].group_visit), (2, 0));
    assert_eq!(
        (&rows[0].episode, rows[0].tick),
        (&None, None),
        "no episode runs"
    );
    assert_eq!(rows[0].sent_us, rows[0].at_us + 5);
}

#[test]
fn what_is_stored_comes_before_what_is_seen() {
    let (mut stage, _) = pair();
    let say = ClientMessage::WriteToGroup {
        group_visit: 0,
        number: 0,
        sent_us: 1,
        tick: None,
        text: "Hello".into(),
    };
    stage
        .arbiter
        .handle_event(1, Event::Message(ConnId(1), say));
    let mut effects = Vec::new();
    while let Some(effect) = stage.arbiter.poll_effect() {
        effects.push(effect);
    }
    let stored = effects
        .iter()
        .position(|effect| matches!(effect, Effect::Store(Write::Message(_))));
    let seen =
        |effect: &Effect| matches!(effect, Effect::Send(_, ServerMessage::ChatMessage { .. }));
    let first = effects.iter().position(seen).expect("it is seen");
    assert!(stored.expect("it is stored") < first);
    assert_eq!(effects.iter().filter(|effect| seen(effect)).count(), 2);
}

#[test]
fn a_message_that_is_sent_again_is_stored_once_also_after_a_restart() {
    let (mut stage, tokens) = pair();
    stage.write_to(1, (0, 0), "Hello");
    stage.hear(1);
    stage.write_to(1, (0, 0), "Hello");
    let told = chat_view(&stage.hear(1)).expect("what there is");
    assert_eq!((told.next, told.messages.len()), (1, 1));
    stage.restart();
    for (conn, token) in [(3, &tokens[0]), (4, &tokens[1])] {
        stage.resume(conn, token, None);
    }
    let told = chat_view(&stage.hear(3)).expect("the chat goes on");
    let texts: Vec<&str> = told
        .messages
        .iter()
        .map(|line| line.text.as_str())
        .collect();
    assert_eq!((told.next, texts), (1, vec!["Hello"]));
    stage.write_to(3, (0, 0), "Hello");
    stage.write_to(3, (0, 1), "again");
    let numbers: Vec<u32> = stage.written().iter().map(|row| row.number).collect();
    assert_eq!(numbers, [0, 1]);
    assert_eq!(chat_messages(&stage.hear(4)).len(), 1);
}

#[test]
fn time_goes_on_through_a_restart_and_ends_the_chat_for_those_who_are_away_too() {
    let (mut stage, tokens) = pair();
    stage.wait(20 * SECOND);
    stage.restart();
    stage.resume(3, &tokens[0], None);
    let told = chat_view(&stage.hear(3)).expect("the chat goes on");
    assert_eq!(told.left_ms, Some((0, 40_000)));
    assert_eq!(told.members, [ChatMember::Here, ChatMember::Away]);
    stage.wait(41 * SECOND);
    assert_eq!(view(&stage.hear(3)), Some(&StageView::Regroup));
    stage.resume(4, &tokens[1], None);
    assert!(stage.plan(4).is_some(), "they are at the next stage");
}

#[test]
fn a_chat_whose_time_was_up_while_the_server_was_down_is_over() {
    let (mut stage, tokens) = pair();
    stage.now_us += 61 * SECOND;
    stage.restart();
    stage.resume(3, &tokens[0], None);
    assert_eq!(view(&stage.hear(3)), Some(&StageView::Regroup));
}

#[test]
fn nobody_goes_on_before_the_least_time_unless_nobody_else_is_there() {
    let (mut stage, _) = pair();
    stage.hear(1);
    stage.go_on(1, 2);
    let heard = stage.hear(1);
    assert_eq!(stage_id(&heard).as_deref(), Some("plan"));
    assert!(chat_view(&heard).is_some(), "the chat is told again");
    stage.say(2, ClientMessage::Leave);
    assert_eq!(
        chat_members(&stage.hear(1)),
        Some(vec![ChatMember::Here, ChatMember::Left])
    );
    stage.go_on(1, 2);
    assert_ne!(stage_id(&stage.hear(1)).as_deref(), Some("plan"));
}

#[test]
fn who_goes_on_is_waited_for_and_the_other_is_told() {
    let (mut stage, _) = pair();
    stage.hear(1);
    stage.wait(11 * SECOND);
    stage.go_on(2, 2);
    assert_eq!(
        chat_members(&stage.hear(1)),
        Some(vec![ChatMember::Here, ChatMember::Left])
    );
    assert_eq!(view(&stage.hear(2)), Some(&StageView::Regroup));
    stage.write_to(2, (0, 0), "Hello?");
    assert_eq!(refusals(&stage.hear(2)), [(0, MessageRefusal::Closed)]);
    stage.write_to(1, (0, 0), "Anybody?");
    assert_eq!(chat_messages(&stage.hear(1)).len(), 1);
    assert!(stage.hear(2).is_empty(), "they are gone");
    stage.wait(50 * SECOND);
    assert!(stage.plan(1).is_some() && stage.plan(2).is_some());
}

#[test]
fn who_is_away_is_told_what_was_written_meanwhile() {
    let (mut stage, tokens) = pair();
    stage.hear(1);
    stage.close(2);
    assert_eq!(
        chat_members(&stage.hear(1)),
        Some(vec![ChatMember::Here, ChatMember::Away])
    );
    stage.write_to(1, (0, 0), "Still here?");
    stage.resume(3, &tokens[1], None);
    assert_eq!(
        chat_members(&stage.hear(1)),
        Some(vec![ChatMember::Here, ChatMember::Here])
    );
    let told = chat_view(&stage.hear(3)).expect("the chat goes on");
    assert_eq!(
        told.messages,
        [ChatMessage {
            place: Seat(0),
            number: 0,
            at_us: stage.now_us,
            text: "Still here?".into()
        }]
    );
}

#[test]
fn what_is_too_much_too_long_or_nothing_is_not_taken() {
    let (mut stage, _) = pair();
    stage.hear(1);
    stage.write_to(1, (0, 0), "twenty-one characters");
    stage.write_to(1, (0, 0), " \n ");
    stage.write_to(1, (0, 0), &"x".repeat(100_000));
    let wanted = [(0, MessageRefusal::NotTaken); 3];
    assert_eq!(refusals(&stage.hear(1)), wanted);
    stage.write_to(1, (3, 0), "another visit");
    assert_eq!(refusals(&stage.hear(1)), [(0, MessageRefusal::Closed)]);
    for number in 0..6 {
        stage.write_to(1, (0, number), "fast");
    }
    let heard = stage.hear(1);
    assert_eq!(chat_messages(&heard).len(), 5);
    assert_eq!(refusals(&heard), [(5, MessageRefusal::TooFast)]);
    stage.wait(2 * SECOND);
    stage.write_to(1, (0, 5), "fast");
    assert_eq!(chat_messages(&stage.hear(1)).len(), 1);
    stage.limits.chat_messages = 6;
    stage.arbiter.limits.chat_messages = 6;
    stage.wait(2 * SECOND);
    stage.write_to(1, (0, 6), "enough");
    assert_eq!(refusals(&stage.hear(1)), [(6, MessageRefusal::NotTaken)]);
}

#[test]
fn only_the_group_sees_what_it_writes() {
    let (mut stage, _) = pair();
    stage.queue(11);
    stage.queue(12);
    for conn in [1, 2, 11, 12] {
        stage.hear(conn);
    }
    stage.write_to(1, (0, 0), "Secret");
    assert_eq!(chat_messages(&stage.hear(2)).len(), 1);
    assert!(chat_messages(&stage.hear(11)).is_empty() && chat_messages(&stage.hear(12)).is_empty());
    stage.queue(13);
    stage.hear(13);
    stage.write_to(13, (0, 0), "In a lobby");
    assert_eq!(refusals(&stage.hear(13)), [(0, MessageRefusal::Closed)]);
}

#[test]
fn an_ai_partner_is_told_and_does_not_keep_anybody_waiting() {
    let mut stage = talks("on_timeout: bot, bot: {policy: cook}");
    stage.queue(1);
    stage.wait(31 * SECOND);
    let heard = stage.hear(1);
    assert_eq!(
        chat_members(&heard),
        Some(vec![ChatMember::Here, ChatMember::Ai])
    );
    stage.go_on(1, 2);
    assert!(stage.plan(1).is_some());
}

#[test]
fn people_write_beside_the_episodes_of_a_stage_with_the_tick_of_the_sender() {
    let (mut stage, tokens) = pair();
    stage.wait(11 * SECOND);
    stage.go_on(1, 2);
    stage.go_on(2, 2);
    let plan = stage.plan(1).expect("an episode");
    assert!(plan.chat);
    stage.write_to(1, (1, 0), "too early");
    assert_eq!(refusals(&stage.hear(1)), [(0, MessageRefusal::Closed)]);
    stage.ready(1, plan.era, 0);
    stage.ready(2, plan.era, 0);
    let told = chat_view(&stage.hear(1)).expect("a chat");
    assert_eq!(
        (told.group_visit, told.left_ms, told.max_length),
        (1, None, 9)
    );
    assert!(told.messages.is_empty(), "that was another visit");
    stage.wait(4 * SECOND);
    stage.write_to(1, (1, 0), "Onions!");
    stage.write_to(1, (1, 1), "ten chars!");
    assert_eq!(refusals(&stage.hear(1)), [(1, MessageRefusal::NotTaken)]);
    let row = stage.written()[0].clone();
    assert_eq!((row.episode, row.tick), (Some(plan.episode), Some(Tick(7))));
    assert_eq!(row.stage, 3);
    // A reloaded page has all messages again.
    stage.close(2);
    stage.resume(3, &tokens[1], None);
    let told = chat_view(&stage.hear(3)).expect("a chat");
    assert_eq!((told.messages.len(), told.place), (1, Seat(1)));
}

#[test]
fn what_was_written_is_there_in_the_next_episode_of_the_stage() {
    let (mut stage, _) = pair();
    stage.wait(11 * SECOND);
    stage.go_on(1, 2);
    stage.go_on(2, 2);
    let era = stage.plan(1).expect("an episode").era;
    stage.ready(1, era, 0);
    stage.ready(2, era, 0);
    stage.wait(4 * SECOND);
    stage.write_to(2, (1, 0), "Well done");
    for conn in [1, 2] {
        stage.say(conn, upload(era, Some(Tick(7))));
    }
    let heard = stage.hear(1);
    let plan = heard.iter().rev().find_map(|message| match message {
        ServerMessage::Match(plan) => Some(plan.era),
        _ => None,
    });
    let next = plan.expect("another episode");
    assert_ne!(next, era);
    stage.ready(1, next, 0);
    stage.ready(2, next, 0);
    let told = chat_view(&stage.hear(1)).expect("a chat");
    assert_eq!((told.group_visit, told.messages.len()), (1, 1));
    assert_eq!(chat_view(&stage.hear(2)).map(|told| told.next), Some(1));
}

#[test]
fn the_last_chat_leads_to_the_end() {
    let (mut stage, _) = pair();
    stage.wait(11 * SECOND);
    stage.go_on(1, 2);
    stage.go_on(2, 2);
    stage.cook();
    stage.cook();
    assert_eq!(stage_id(&stage.hear(1)).as_deref(), Some("look-back"));
    stage.wait(61 * SECOND);
    assert!(matches!(view(&stage.hear(2)), Some(StageView::End { .. })));
    assert_eq!(
        stage.arbiter.poll_timeout(),
        None,
        "nothing is left to be done"
    );
}
