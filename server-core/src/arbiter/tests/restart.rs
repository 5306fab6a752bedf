//! The server stops in the middle of a change, and another takes up what is durable.

use study::Progress;
use study::disconnect::Meanwhile;

use super::*;

impl Stage {
    /// Another server on the same data. What the archive had not yet done is lost.
    pub(super) fn restart(&mut self) {
        self.work.clear();
        self.sent.clear();
        let mut restored = Restored {
            next_era: 7,
            ..Restored::default()
        };
        let mut rows = Vec::new();
        for write in &self.writes {
            match write.clone() {
                Write::NewSession {
                    number,
                    participant,
                    token,
                    progress,
                    attendance,
                    payment,
                    identity,
                    ..
                } => restored.sessions.push(RestoredSession {
                    number,
                    participant,
                    token_hash: crate::token::token_hash(&token),
                    link_hash: None,
                    progress: stored(&progress),
                    attendance,
                    payment: payment.map(|payment| *payment),
                    identity,
                    is_erased: false,
                }),
                Write::Place {
                    participant,
                    progress,
                    attendance,
                    payment,
                    ..
                } => {
                    let mut sessions = restored.sessions.iter_mut();
                    let session = sessions.find(|session| session.participant == participant);
                    let session = session.unwrap();
                    (session.progress, session.attendance) = (stored(&progress), attendance);
                    session.payment = session.payment.take().or(payment.map(|payment| *payment));
                }
                Write::Reopen {
                    participant,
                    progress,
                    attendance,
                } => {
                    let mut sessions = restored.sessions.iter_mut();
                    let session = sessions.find(|session| session.participant == participant);
                    let session = session.unwrap();
                    (session.progress, session.attendance) = (stored(&progress), attendance);
                    session.payment = None;
                }
                Write::Attendance {
                    participant,
                    attendance,
                } => {
                    let mut sessions = restored.sessions.iter_mut();
                    let session = sessions.find(|session| session.participant == participant);
                    session.unwrap().attendance = attendance;
                }
                Write::Forget { participant } => {
                    (restored.sessions).retain(|session| session.participant != participant);
                }
                Write::Erase { participant } => {
                    let mut sessions = restored.sessions.iter_mut();
                    let session = sessions.find(|session| session.participant == participant);
                    let session = session.unwrap();
                    (session.identity, session.is_erased) = (None, true);
                }
                Write::Group(row) => {
                    restored.groups.retain(|known| known.id != row.id);
                    restored.groups.push(row);
                }
                Write::Message(row) => restored.messages.push(row),
                Write::ModelCall(row) => {
                    let cost = crate::arbiter::ModelCallCost {
                        episode: row.episode.clone(),
                        number: row.number,
                        participant: row.participant.clone(),
                        partner: row.partner.clone(),
                        cost_micro: row.cost_micro,
                        asked_us: row.asked_us,
                        is_press: crate::arbiter::ModelCallCost::is_press(&row.asked_for),
                    };
                    let is_it = |known: &crate::arbiter::ModelCallCost| {
                        (&known.episode, known.number) == (&cost.episode, cost.number)
                    };
                    restored.model_calls.retain(|known| !is_it(known));
                    restored.model_calls.push(cost);
                }
                Write::Episode(row) => rows.push(row),
                Write::EpisodeEnded { episode, .. } => rows.retain(|row| row.episode != episode),
                Write::Seed(seed) => restored.seed = Some(seed),
                Write::Recruitment(state) => restored.recruitment = state,
                Write::Places(places) => restored.places = places,
                Write::Correction {
                    participant,
                    payment,
                } => {
                    let mut sessions = restored.sessions.iter_mut();
                    let session = sessions.find(|session| session.participant == participant);
                    session.unwrap().payment = Some(*payment);
                }
                Write::Token { participant, token } => {
                    let mut sessions = restored.sessions.iter_mut();
                    let session = sessions.find(|session| session.participant == participant);
                    session.unwrap().token_hash = crate::token::token_hash(&token);
                }
                Write::DeskMessage(row) => restored.desk_messages.push(*row),
                Write::ForgetDeskMessages { participant } => {
                    (restored.desk_messages).retain(|row| row.participant != participant);
                }
                Write::DeskMessagesRead {
                    participant,
                    own,
                    before,
                    at_us,
                } => {
                    let rows = restored.desk_messages.iter_mut().filter(|row| {
                        row.participant == participant && row.is_own() == own && row.number < before
                    });
                    rows.for_each(|row| row.read_us = row.read_us.or(Some(at_us)));
                }
                Write::CheckAnswer {
                    participant,
                    number,
                    answer,
                    at_us,
                } => {
                    let mut rows = restored.desk_messages.iter_mut();
                    let row =
                        rows.find(|row| row.participant == participant && row.number == number);
                    row.unwrap().check.as_mut().unwrap().answer = Some((answer, at_us));
                }
                Write::Withdrawal { .. }
                | Write::Identity { .. }
                | Write::Intervention { .. }
                | Write::NextEra(_)
                | Write::Wait(_) => {}
            }
        }
        restored.episodes = rows.into_iter().map(|row| self.recover(row)).collect();
        self.now_us = restored.begin_clock(self.now_us);
        self.arbiter = Arbiter::new(
            self.now_us,
            Arc::clone(&self.study),
            self.limits.clone(),
            self.stages.clone(),
            true,
            random(self.writes.len()),
            restored,
        );
        self.drain();
    }

    fn recover(&self, row: EpisodeRow) -> RestoredEpisode {
        let shelf = self.shelf(row.era);
        let mut stages = self.stages.iter();
        let played = stages.find(|((stage, _), _)| *stage == row.stage);
        let facts = played.expect("an env stage").1.facts.clone();
        RestoredEpisode {
            row,
            header: shelf.header.clone(),
            facts,
            changes: shelf.changes.clone(),
            own: shelf.own(),
            through: shelf.through,
            end: shelf.end(),
        }
    }
}

/// A place as the database gives it back.
fn stored(progress: &Progress) -> Progress {
    serde_json::from_str(&serde_json::to_string(progress).unwrap()).unwrap()
}

/// A page without the episode gets its seat.
fn come_back(stage: &mut Stage, conn: u64, era: Era) -> Return {
    super::changes::ready_again(stage, conn, era);
    stage.back(conn).expect("the seat")
}

#[test]
fn pages_that_play_on_through_a_restart_only_upload_again() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, two) = stage.playing();
    stage.archive(1, era, 0, 7);
    stage.archive(2, era, 0, 5);
    stage.restart();
    stage.resume(1, &one, Some((era, 0)));
    stage.resume(2, &two, Some((era, 0)));
    for (conn, own) in [(1, Tick(7)), (2, Tick(5))] {
        let through = Tick(5);
        let changes = Vec::new();
        assert!(stage.hear(conn).contains(&ServerMessage::Running {
            era,
            through,
            own,
            changes
        }));
    }
    assert!(stage.shelf(era).changes.is_empty());
    stage.archive(1, era, 0, 9);
    stage.archive(2, era, 0, 9);
    assert_eq!(stage.shelf(era).through, Tick(9));
}

/// A page reloads after a restart of the server, before which `change` is done, and gets its plan.
fn assert_plan_after_restart(change: impl FnOnce(&mut Stage)) {
    let mut stage = Stage::new(Limits::default());
    stage.queue(1);
    stage.queue(2);
    let first = stage.plan(2).unwrap();
    let era = first.era;
    let token = stage.writes.iter().filter_map(|write| match write {
        Write::NewSession { token, .. } => Some(token.clone()),
        _ => None,
    });
    let tokens: Vec<String> = token.collect();
    stage.ready(1, era, 0);
    stage.ready(2, era, 0);
    stage.wait(4 * SECOND);
    change(&mut stage);
    stage.restart();
    stage.resume(1, &tokens[0], Some((era, 0)));
    stage.resume(3, &tokens[1], None);
    let plan = stage.plan(3).unwrap();
    assert!(plan.window > 0);
    let expected = Plan {
        life: Life(2),
        running: true,
        ..first
    };
    assert_eq!(plan, expected);
}

#[test]
fn a_page_that_reloads_after_a_restart_gets_a_whole_plan() {
    assert_plan_after_restart(|_| {});
}

#[test]
fn an_episode_is_played_on_although_the_study_has_other_parameters_by_now() {
    assert_plan_after_restart(|stage| {
        let stages = std::mem::take(&mut stage.stages).into_iter();
        let changed = stages.map(|((stage, _), played)| {
            let params = r#"{"layout":"another"}"#.to_owned();
            ((stage, params), played)
        });
        stage.stages = changed.collect();
    });
}

#[test]
fn a_restart_while_a_seat_is_taken_takes_it_again() {
    let mut stage = Stage::new(Limits::default());
    let (era, one, two) = stage.playing();
    stage.slow = true;
    stage.say(2, ClientMessage::Unloading);
    stage.slow = false;
    stage.restart();
    stage.resume(1, &one, Some((era, 0)));
    stage.resume(3, &two, None);
    assert_eq!(come_back(&mut stage, 3, era).changes.len(), 2);
}

#[test]
fn a_restart_after_the_cut_was_written_finds_it() {
    for durable in [false, true] {
        let mut stage = Stage::new(Limits::default());
        let (era, one, two) = stage.playing();
        stage.slow = true;
        stage.say(2, ClientMessage::Unloading);
        if durable {
            // The notes of presence come after it.
            while stage.shelf(era).changes.is_empty() {
                assert!(stage.work_once());
            }
        }
        stage.slow = false;
        stage.restart();
        stage.resume(1, &one, Some((era, 0)));
        let heard = stage.hear(1);
        let told = heard.iter().find_map(|message| match message {
            ServerMessage::Running { changes, .. } => Some(changes.len()),
            _ => None,
        });
        assert_eq!(told, Some(usize::from(durable)));
        stage.resume(3, &two, None);
        assert_eq!(come_back(&mut stage, 3, era).changes.len(), 2);
    }
}

#[test]
fn a_restart_while_a_seat_is_given_takes_and_gives_it_again() {
    for durable in [false, true] {
        let mut stage = Stage::new(Limits::default());
        let (era, one, two) = stage.playing();
        stage.say(2, ClientMessage::Unloading);
        stage.resume(3, &two, None);
        stage.slow = true;
        stage.ready(3, era, 0);
        while durable && stage.work_once() {}
        stage.slow = false;
        stage.restart();
        stage.resume(1, &one, Some((era, 0)));
        stage.resume(4, &two, None);
        let back = come_back(&mut stage, 4, era);
        assert_eq!(back.changes.len(), if durable { 4 } else { 2 });
        let numbers: Vec<u16> = back.changes.iter().map(|change| change.number).collect();
        assert!(numbers.iter().copied().eq(0..numbers.len() as u16));
    }
}

#[test]
fn nobody_who_has_left_is_waited_for_after_a_restart() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.first_half = study::disconnect::Then::Bot;
        env.on_disconnect.bot = Some(study::stage::AiPartner {
            policy: "cook".into(),
            disclose: true,
            model: None,
            ..study::stage::AiPartner::default()
        });
    });
    let (era, one, two) = stage.playing();
    stage.say(2, ClientMessage::Leave);
    stage.restart();
    stage.resume(1, &one, Some((era, 0)));
    for second in 1..80 {
        stage.wait(SECOND);
        stage.archive_all(era, second * HZ);
    }
    assert!(stage.ended.is_empty());
    stage.resume(3, &two, None);
    assert!(matches!(view(&stage.hear(3)), Some(StageView::End { .. })));
}

#[test]
fn an_ai_partner_that_plays_for_good_stays_through_a_restart() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.first_half = study::disconnect::Then::Bot;
        env.on_disconnect.bot = Some(study::stage::AiPartner {
            policy: "cook".into(),
            disclose: true,
            model: None,
            ..study::stage::AiPartner::default()
        });
    });
    let (era, one, _) = stage.playing();
    stage.say(2, ClientMessage::Unloading);
    for second in 1..50 {
        stage.wait(SECOND);
        stage.archive_all(era, second * HZ);
    }
    assert_eq!(stage.shelf(era).seats[1].controller, cook());
    stage.restart();
    stage.resume(1, &one, Some((era, 0)));
    for second in 50..89 {
        stage.wait(SECOND);
        stage.archive_all(era, second * HZ);
    }
    assert!(stage.ended.is_empty(), "the second half ends by then");
}

#[test]
fn who_an_ai_partner_played_for_to_the_end_is_known_whatever_was_durable_at_the_crash() {
    for meanwhile in [Meanwhile::Stand, Meanwhile::Bot] {
        let played = |durable: usize| {
            let mut stage = Stage::of(2, Limits::default(), |env| {
                env.on_disconnect.meanwhile = meanwhile;
                env.on_disconnect.first_half = study::disconnect::Then::Bot;
                env.on_disconnect.bot = Some(study::stage::AiPartner {
                    policy: "cook".into(),
                    disclose: true,
                    model: None,
                    ..study::stage::AiPartner::default()
                });
            });
            let (era, ..) = stage.playing();
            stage.say(2, ClientMessage::Unloading);
            stage.close(2);
            for second in 1..40 {
                stage.wait(SECOND);
                stage.archive_all(era, second * HZ);
            }
            assert_eq!(stage.shelf(era).seats[1].controller, cook());
            stage.archive_all(era, 40 * HZ);
            let before = stage.writes.len();
            stage.say(1, upload(era, Some(Tick(40 * HZ))));
            assert_eq!(stage.ended, [EndReason::Played]);
            let after = stage.writes.len();
            stage.writes.truncate(before + durable);
            stage.restart();
            let mut rows = stage.writes.iter().rev().filter_map(|write| match write {
                Write::Group(row) => Some((row.has_ai, row.places[1].gone)),
                _ => None,
            });
            assert_eq!(
                rows.next(),
                Some((true, Some(DepartureReason::Away))),
                "{meanwhile:?}, {durable} writes"
            );
            after - before
        };
        let writes = played(0);
        assert!(writes > 3, "{writes}");
        (1..=writes).for_each(|durable| {
            played(durable);
        });
    }
}

#[test]
fn nobody_comes_back_after_a_restart() {
    let mut stage = Stage::new(Limits::default());
    stage.playing();
    stage.restart();
    stage.wait(60 * SECOND);
    assert_eq!(stage.ended, [EndReason::Technical]);
}

#[test]
fn whoever_played_to_the_end_has_played_whatever_was_durable_at_the_crash() {
    let mut all = Stage::new(Limits::default());
    let (era, ..) = all.playing();
    let before = all.writes.len();
    all.say(1, upload(era, Some(Tick(7))));
    all.say(2, upload(era, Some(Tick(7))));
    assert_eq!(all.ended, [EndReason::Played]);
    for durable in before..=all.writes.len() {
        let mut stage = Stage::new(Limits::default());
        let (era, one, two) = stage.playing();
        stage.say(1, upload(era, Some(Tick(7))));
        stage.say(2, upload(era, Some(Tick(7))));
        stage.writes.truncate(durable);
        stage.restart();
        for (conn, token) in [(5, &one), (6, &two)] {
            stage.resume(conn, token, None);
            let heard = stage.hear(conn);
            assert!(
                matches!(view(&heard), Some(StageView::Survey { .. })),
                "{durable} writes: {heard:?}"
            );
        }
        let technical = |write: &Write| match write {
            Write::Place { progress, .. } => progress.outcome(&stage.arbiter.study).is_some(),
            _ => false,
        };
        assert!(!stage.writes.iter().any(technical), "{:?}", stage.writes);
    }
}
