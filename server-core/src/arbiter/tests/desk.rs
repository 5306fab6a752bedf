//! The dashboard: what it shows of the study, and the effects of its orders.

use protocol::control::Refusal;
use study::Outcome;

use super::*;
use crate::desk::{DeskOrder, OrderRefused, RecruitmentState};

/// People who only read and are paid, with these further lines.
fn reading(lines: &str) -> Stage {
    Stage::read(
        &format!(
            "recruitment: {{currency: GBP, base: 4.50, minutes: 10}}
{lines}timeline:
  - {{id: first, type: instructions, pages: [page.md]}}
  - {{id: read, type: instructions, pages: [page.md]}}
  - {{id: thanks, type: end, file: page.md}}
"
        ),
        Limits::default(),
    )
}

/// A lobby of two with these lines, and a round.
fn lobby(lines: &str) -> Stage {
    Stage::read(
        &format!(
            "timeline:
  - {{id: how, type: instructions, pages: [page.md]}}
  - {{id: lobby, type: lobby, group_size: 2, {lines}}}
  - {{id: play, type: env, env: overcooked@2.0.0, players: [self, partner]}}
"
        ),
        Limits::default(),
    )
}

impl Stage {
    fn order(&mut self, order: DeskOrder) -> Result<(), OrderRefused> {
        let done = self.arbiter.handle_order(self.now_us, "Ada", order);
        self.drain();
        done
    }

    fn name(&self, number: usize) -> String {
        let mut sessions = self.arbiter.sessions.iter();
        sessions.nth(number).unwrap().participant.clone()
    }

    fn interventions(&self) -> Vec<(&'static str, String)> {
        let writes = self.writes.iter();
        let done = writes.filter_map(|write| match write {
            Write::Intervention { order, detail, .. } => Some((*order, detail.clone())),
            _ => None,
        });
        done.collect()
    }

    fn read_on(&mut self, conn: u64, stage: u16) {
        self.say(
            conn,
            ClientMessage::StageDone {
                stage,
                answers: Vec::new(),
                pages_ms: vec![1],
            },
        );
    }

    /// Lets a page come back with its token; returns what it reads.
    fn come_back(&mut self, conn: u64, token: &str) -> Vec<ServerMessage> {
        let entry = Entry::Resume {
            token: token.to_owned(),
            playing: None,
        };
        self.say(conn, ClientMessage::make_hello(entry));
        self.hear(conn)
    }

    /// Lets a page enter without a link; returns what it reads.
    fn walk_in(&mut self, conn: u64) -> Vec<ServerMessage> {
        self.say(conn, ClientMessage::make_hello(Entry::Open));
        self.hear(conn)
    }
}

fn outcome(messages: &[ServerMessage]) -> Option<String> {
    match view(messages) {
        Some(StageView::End { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    }
}

fn token(messages: &[ServerMessage]) -> String {
    match messages.first() {
        Some(ServerMessage::Welcome { session, .. }) => session.clone(),
        other => panic!("not let in: {other:?}"),
    }
}

fn is_full(messages: &[ServerMessage]) -> bool {
    let full = ServerMessage::Refused { why: Refusal::Full };
    messages.contains(&full)
}

#[test]
fn a_pause_turns_new_people_away_and_lets_those_inside_go_on() {
    let mut stage = reading("");
    stage.walk_in(1);
    let paused = DeskOrder::SetRecruitment(RecruitmentState::Paused);
    stage.order(paused).unwrap();
    assert!(is_full(&stage.walk_in(2)));
    stage.read_on(1, 0);
    stage.read_on(1, 1);
    assert_eq!(outcome(&stage.hear(1)).as_deref(), Some("completed"));
    stage.restart();
    assert!(is_full(&stage.walk_in(3)), "a restart opens nothing");
    let open = DeskOrder::SetRecruitment(RecruitmentState::Open);
    stage.order(open).unwrap();
    assert_eq!(outcome(&stage.walk_in(4)), None);
    let told = [("set_recruitment", "paused"), ("set_recruitment", "open")];
    assert_eq!(
        stage.interventions(),
        told.map(|(order, detail)| (order, detail.to_owned()))
    );
}

#[test]
fn closed_recruitment_is_a_full_study_until_it_opens_again() {
    let mut stage = reading("");
    let closed = DeskOrder::SetRecruitment(RecruitmentState::Closed);
    stage.order(closed).unwrap();
    let turned_away = stage.walk_in(1);
    assert_eq!(outcome(&turned_away).as_deref(), Some("study_full"));
    let token = token(&turned_away);
    let again = stage.come_back(2, &token);
    assert_eq!(outcome(&again).as_deref(), Some("study_full"));
    let open = DeskOrder::SetRecruitment(RecruitmentState::Open);
    stage.order(open).unwrap();
    let begun = stage.come_back(3, &token);
    assert_eq!(outcome(&begun), None, "they begin after all");
}

#[test]
fn places_change_and_stay_changed_after_a_restart() {
    let mut stage = reading("design: {quota: 1}\n");
    stage.walk_in(1);
    stage.read_on(1, 0);
    assert_eq!(outcome(&stage.walk_in(2)).as_deref(), Some("study_full"));
    stage.order(DeskOrder::SetPlaces(vec![2])).unwrap();
    let places = stage.arbiter.make_overview(stage.now_us).places;
    assert_eq!((places.wanted, places.left), (Some(2), Some(1)));
    stage.restart();
    let places = stage.arbiter.make_overview(stage.now_us).places;
    assert_eq!((places.wanted, places.left), (Some(2), Some(1)));
    assert_eq!(outcome(&stage.walk_in(3)), None);
    stage.read_on(3, 0);
    assert_eq!(outcome(&stage.walk_in(4)).as_deref(), Some("study_full"));
    for wrong in [vec![], vec![1, 2], vec![u32::MAX]] {
        let refused = stage.order(DeskOrder::SetPlaces(wrong.clone()));
        let is_wrong = matches!(refused, Err(OrderRefused::WrongPlaces { .. }));
        assert!(is_wrong, "{wrong:?}: {refused:?}");
    }
}

#[test]
fn a_quota_for_each_treatment_takes_a_number_for_each() {
    let mut stage = Stage::read(
        "design: {between: {tone: {levels: [warm, cool]}}, quota: {warm: 1, cool: 1}}
timeline:
  - {id: first, type: instructions, pages: [page.md]}
  - {id: more, type: instructions, pages: [page.md], when: tone == 'warm'}
  - {id: read, type: instructions, pages: [page.md]}
  - {id: thanks, type: end, file: page.md}
",
        Limits::default(),
    );
    stage.walk_in(1);
    stage.read_on(1, 0);
    let refused = stage.order(DeskOrder::SetPlaces(vec![5]));
    assert!(matches!(refused, Err(OrderRefused::WrongPlaces { .. })));
    stage.order(DeskOrder::SetPlaces(vec![3, 4])).unwrap();
    let places = stage.arbiter.make_overview(stage.now_us).places;
    let cells = places.cells.iter();
    let cells: Vec<_> = cells
        .map(|cell| (cell.treatment.as_str(), cell.wanted))
        .collect();
    assert_eq!(cells, [("warm", Some(3)), ("cool", Some(4))]);
    let taken: u32 = places.cells.iter().map(|cell| cell.under_way).sum();
    assert_eq!((taken, places.left), (1, Some(6)));
}

#[test]
fn somebody_in_a_lobby_waits_longer_or_goes_on_alone() {
    let mut stage = lobby("timeout_s: 30, on_timeout: ask, bot: {policy: cook}, else: timed_out");
    stage.queue(1);
    let participant = stage.name(0);
    let seen = stage.arbiter.make_overview(stage.now_us);
    let waiting = &seen.waiting[0];
    assert_eq!(
        (
            waiting.participant.as_str(),
            waiting.stage.as_str(),
            waiting.more
        ),
        (participant.as_str(), "lobby", 1)
    );
    assert!(waiting.may_wait_longer && waiting.may_continue_alone);
    let longer = DeskOrder::WaitLonger {
        participant: participant.clone(),
    };
    stage.wait(20 * SECOND);
    stage.order(longer.clone()).unwrap();
    stage.wait(39 * SECOND);
    let state = |stage: &Stage| stage.arbiter.make_overview(stage.now_us).waiting[0].state;
    assert_eq!(state(&stage), "here");
    stage.wait(SECOND);
    assert_eq!(state(&stage), "asked");
    stage.order(longer).unwrap();
    assert_eq!(state(&stage), "here");
    let alone = DeskOrder::ContinueAlone { participant };
    stage.order(alone.clone()).unwrap();
    let plan = stage.plan(1).unwrap();
    assert_eq!(plan.controllers, [Controller::Human, cook()]);
    let again = stage.order(alone);
    assert!(
        matches!(again, Err(OrderRefused::NotWaiting(_))),
        "{again:?}"
    );
}

#[test]
fn an_order_that_a_lobby_has_no_way_for_is_refused_and_not_written_down() {
    let mut stage = lobby("timeout_s: 30, on_timeout: wait");
    stage.queue(1);
    let participant = stage.name(0);
    let longer = stage.order(DeskOrder::WaitLonger {
        participant: participant.clone(),
    });
    assert_eq!(longer, Err(OrderRefused::EndlessLobby("lobby".to_owned())));
    let alone = stage.order(DeskOrder::ContinueAlone { participant });
    assert_eq!(alone, Err(OrderRefused::NoPartner("lobby".to_owned())));
    let nobody = stage.order(DeskOrder::WaitLonger {
        participant: "P-NOBODY".to_owned(),
    });
    assert!(matches!(nobody, Err(OrderRefused::UnknownParticipant(_))));
    assert_eq!(stage.interventions(), []);
}

#[test]
fn a_session_that_is_ended_in_an_episode_is_as_if_its_person_had_left() {
    let mut stage = Stage::new(Limits::default());
    let (era, ..) = stage.playing();
    let seen = stage.arbiter.make_overview(stage.now_us);
    let [episode] = &seen.episodes[..] else {
        panic!("{:?}", seen.episodes)
    };
    assert_eq!(episode.episode, stage.shelf(era).header.episode);
    let seats: Vec<_> = episode.seats.iter().map(|seat| seat.page).collect();
    assert_eq!((episode.phase, &seats[..]), ("playing", &["plays"; 2][..]));
    stage.archive_all(era, 10);
    let participant = stage.name(0);
    let end = |outcome| DeskOrder::EndSession {
        participant: participant.clone(),
        outcome,
    };
    let completed = stage.order(end(Outcome::Completed));
    assert!(matches!(completed, Err(OrderRefused::WrongOutcome(..))));
    stage.order(end(Outcome::Technical)).unwrap();
    assert_eq!(outcome(&stage.hear(1)).as_deref(), Some("technical"));
    let again = stage.order(end(Outcome::Technical));
    assert_eq!(
        again,
        Err(OrderRefused::Ended(participant.clone(), "technical"))
    );
    // The intervention is stored before its consequences.
    let at = |is: &dyn Fn(&Write) -> bool| stage.writes.iter().rposition(is).unwrap();
    let written = at(&|write| matches!(write, Write::Intervention { .. }));
    let followed = at(
        &|write| matches!(write, Write::Place { participant: who, payment: Some(_), .. } if *who == participant),
    );
    assert!(written < followed);
    let seen = stage.arbiter.make_overview(stage.now_us);
    let dropped = seen
        .stages
        .iter()
        .map(|it| it.people.iter().map(|it| it.dropped).sum());
    let dropped: Vec<u32> = dropped.collect();
    assert_eq!(dropped.iter().sum::<u32>(), 1, "{dropped:?}");
    assert_eq!(dropped[2], 1, "at the stage of the episode");
}

#[test]
fn a_corrected_bonus_changes_the_total_and_the_last_page() {
    let mut stage = reading("");
    stage.walk_in(1);
    let participant = stage.name(0);
    let correct = |bonus| DeskOrder::CorrectBonus {
        participant: participant.clone(),
        bonus,
        reason: "the server was slow".to_owned(),
    };
    let early = stage.order(correct(50));
    assert_eq!(early, Err(OrderRefused::UnderWay(participant.clone())));
    stage.read_on(1, 0);
    stage.read_on(1, 1);
    stage.hear(1);
    stage.order(correct(50)).unwrap();
    let shown = stage.hear(1);
    let Some(StageView::End { farewell, .. }) = view(&shown) else {
        panic!("the last page")
    };
    assert!(farewell.pay.contains("5.00"), "{}", farewell.pay);
    let payment = stage.writes.iter().find_map(|write| match write {
        Write::Correction { payment, .. } => Some(payment.clone()),
        _ => None,
    });
    let payment = payment.unwrap();
    assert_eq!((payment.base, payment.bonus, payment.total), (450, 50, 500));
    let note = payment.note.unwrap();
    assert!(note.contains("was 0.00"), "{note}");
    assert!(note.contains("0.50: the server was slow"), "{note}");
    stage.order(correct(20)).unwrap();
    let seen = stage.arbiter.make_overview(stage.now_us).pay;
    assert_eq!((seen.so_far, seen.mean_completed), (470, Some(470)));
    let too_much = stage.order(correct(u64::MAX));
    assert!(matches!(too_much, Err(OrderRefused::TooMuch(_))));
    stage.restart();
    let seen = stage.arbiter.make_overview(stage.now_us).pay;
    assert_eq!(seen.so_far, 470);
}

#[test]
fn the_funnel_counts_who_came_who_is_there_and_who_was_lost() {
    let mut stage = reading("");
    for conn in 1..=3 {
        stage.walk_in(conn);
    }
    stage.read_on(1, 0);
    stage.read_on(1, 1);
    stage.read_on(2, 0);
    stage.say(2, ClientMessage::Leave);
    let seen = stage.arbiter.make_overview(stage.now_us);
    let stages = seen.stages.iter();
    let counts: Vec<(&str, u32, u32, u32)> = stages
        .map(|stage| {
            let people = &stage.people;
            let sum =
                |of: fn(&crate::overview::StagePeople) -> u32| people.iter().map(of).sum::<u32>();
            (
                stage.stage.as_str(),
                sum(|it| it.reached),
                sum(|it| it.here),
                sum(|it| it.dropped),
            )
        })
        .collect();
    assert_eq!(
        counts,
        [("first", 3, 1, 0), ("read", 2, 0, 1), ("thanks", 1, 0, 0)]
    );
    assert_eq!(seen.present.under_way, 1);
    // A look changes nothing.
    assert!(stage.arbiter.poll_effect().is_none());
    let again = stage.arbiter.make_overview(stage.now_us);
    assert_eq!(again, seen);
}
