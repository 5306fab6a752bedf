//! The study's rules for people who are away.

use study::disconnect::{IcePolicy, Meanwhile, Then};
use study::stage::{AiPartner, Player};

use super::*;

fn stage(meanwhile: Meanwhile, then: Then) -> Stage {
    Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.meanwhile = meanwhile;
        (env.on_disconnect.first_half, env.on_disconnect.second_half) = (then, then);
        env.on_disconnect.bot = Some(AiPartner {
            policy: "cook".into(),
            disclose: false,
            model: None,
            ..AiPartner::default()
        });
    })
}

/// Page 2 is gone, and page 1 says so.
fn lose(stage: &mut Stage, era: Era) {
    stage.close(2);
    stage.miss(1, era, 1);
}

/// Lets everybody who is there continue for this many seconds.
fn play_on(stage: &mut Stage, era: Era, seconds: u32) {
    let from = stage.shelf(era).through.0 / HZ;
    for second in from + 1..=from + seconds {
        stage.wait(SECOND);
        stage.archive_all(era, second * HZ);
    }
}

#[test]
fn an_ai_partner_plays_in_the_meantime_and_after() {
    let mut stage = stage(Meanwhile::Bot, Then::Bot);
    let (era, ..) = stage.playing();
    lose(&mut stage, era);
    let heard = stage.hear(1);
    assert_eq!(changes(&heard)[0].controller, cook());
    play_on(&mut stage, era, 20);
    assert!(stage.ended.is_empty());
    assert_eq!(stage.shelf(era).changes.len(), 1, "it plays already");
}

#[test]
fn people_partners_and_vacant_seats_mix() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        let bot = AiPartner {
            policy: "cook".into(),
            disclose: false,
            model: None,
            ..AiPartner::default()
        };
        env.players = vec![
            Player::Bot(bot),
            Player::Own,
            Player::Vacant,
            Player::Partner,
        ];
    });
    let _tokens = (stage.queue(1), stage.queue(2));
    let (first, second) = (stage.plan(1).unwrap(), stage.plan(2).unwrap());
    assert_eq!((first.seat, second.seat), (Seat(1), Seat(3)));
    let mixed = [
        cook(),
        Controller::Human,
        Controller::Vacant,
        Controller::Human,
    ];
    assert_eq!(first.controllers, mixed);
    assert_eq!(second.controllers, mixed);
    assert!(!first.disclose_ai);
}

#[test]
fn a_seat_stands_still_until_the_ai_partner_comes() {
    let mut stage = stage(Meanwhile::Stand, Then::Bot);
    let (era, _, token) = stage.playing();
    lose(&mut stage, era);
    assert_eq!(changes(&stage.hear(1))[0].controller, Controller::Vacant);
    play_on(&mut stage, era, 14);
    assert_eq!(changes(&stage.hear(1)), []);
    play_on(&mut stage, era, 1);
    let heard = stage.hear(1);
    let change = &changes(&heard)[0];
    assert_eq!((&change.controller, change.life), (&cook(), Life(2)));
    assert_eq!(
        change.tick,
        Tick(140 + 10),
        "a second beyond what others have said"
    );
    // The person may come back even then.
    stage.resume(3, &token, None);
    assert_eq!(stage.plan(3).unwrap().life, Life(3));
    stage.ready(3, era, 0);
    assert!(stage.back(3).is_some());
}

#[test]
fn the_others_wait_for_the_person_who_then_plays_on() {
    let mut stage = stage(Meanwhile::Hold, Then::Bot);
    let (era, _, token) = stage.playing();
    lose(&mut stage, era);
    let heard = stage.hear(1);
    assert_eq!(presence(&heard), [(1, Presence::Gone, 15_000)]);
    stage.wait(14 * SECOND);
    stage.resume(3, &token, Some((era, 0)));
    assert_eq!(presence(&stage.hear(1)), [(1, Presence::Here, 0)]);
    assert!(stage.shelf(era).changes.is_empty());
}

#[test]
fn the_others_wait_for_the_person_who_comes_back_without_the_episode() {
    let mut stage = stage(Meanwhile::Hold, Then::Bot);
    let (era, _, token) = stage.playing();
    lose(&mut stage, era);
    stage.resume(3, &token, None);
    assert_eq!(changes(&stage.hear(1))[0].controller, Controller::Vacant);
    assert!(stage.plan(3).unwrap().running);
    stage.ready(3, era, 0);
    assert!(stage.back(3).is_some());
}

#[test]
fn the_ai_partner_comes_when_the_wait_is_over() {
    let mut stage = stage(Meanwhile::Hold, Then::Bot);
    let (era, ..) = stage.playing();
    lose(&mut stage, era);
    stage.wait(15 * SECOND);
    assert_eq!(changes(&stage.hear(1))[0].controller, cook());
}

#[test]
fn the_half_of_the_episode_decides() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.first_half = Then::Technical;
        env.on_disconnect.second_half = Then::PartnerLeft;
    });
    let (era, ..) = stage.playing();
    play_on(&mut stage, era, 44);
    lose(&mut stage, era);
    play_on(&mut stage, era, 15);
    assert_eq!(stage.ended, [EndReason::PartnerLeft], "at tick 590 of 900");

    let mut early = self::stage(Meanwhile::Stand, Then::Technical);
    let (era, ..) = early.playing();
    lose(&mut early, era);
    early.wait(15 * SECOND);
    assert_eq!(early.ended, [EndReason::Technical]);
}

#[test]
fn an_ai_partner_of_the_first_half_stays_for_the_second() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.first_half = Then::Bot;
        env.on_disconnect.bot = Some(AiPartner {
            policy: "cook".into(),
            disclose: true,
            model: None,
            ..AiPartner::default()
        });
    });
    let (era, ..) = stage.playing();
    lose(&mut stage, era);
    play_on(&mut stage, era, 60);
    assert!(stage.ended.is_empty());
    assert_eq!(stage.shelf(era).seats[1].controller, cook());
}

#[test]
fn nobody_is_left_when_everybody_is_gone_for_the_grace() {
    let mut stage = stage(Meanwhile::Bot, Then::Bot);
    let (era, ..) = stage.playing();
    lose(&mut stage, era);
    stage.wait(5 * SECOND);
    stage.close(1);
    stage.wait(15 * SECOND - 1);
    assert!(stage.ended.is_empty());
    stage.wait(1);
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
}

#[test]
fn who_leaves_on_purpose_is_not_waited_for() {
    let mut stage = stage(Meanwhile::Hold, Then::Bot);
    stage.playing();
    stage.say(2, ClientMessage::Leave);
    assert!(matches!(view(&stage.hear(2)), Some(StageView::End { .. })));
    let heard = stage.hear(1);
    assert_eq!(presence(&heard), [(1, Presence::Gone, 0)]);
    assert_eq!(changes(&heard)[0].controller, cook());
    stage.say(1, ClientMessage::Leave);
    assert_eq!(stage.ended, [EndReason::PartnerLeft], "nobody is left");

    let mut stage = self::stage(Meanwhile::Stand, Then::PartnerLeft);
    stage.playing();
    stage.say(2, ClientMessage::Leave);
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);
}

#[test]
fn a_hidden_page_is_told_and_then_counts_as_gone() {
    let mut stage = stage(Meanwhile::Hold, Then::Bot);
    let (era, ..) = stage.playing();
    let hide = |hidden| ClientMessage::Hidden { era, hidden };
    stage.say(2, hide(true));
    play_on(&mut stage, era, 2);
    assert_eq!(presence(&stage.hear(1)), []);
    play_on(&mut stage, era, 1);
    assert_eq!(presence(&stage.hear(1)), [(1, Presence::Hidden, 17_000)]);
    stage.say(2, hide(false));
    assert_eq!(presence(&stage.hear(1)), [(1, Presence::Here, 0)]);
    stage.say(2, hide(true));
    play_on(&mut stage, era, 19);
    assert_eq!(changes(&stage.hear(1)), []);
    play_on(&mut stage, era, 1);
    let heard = stage.hear(2);
    assert_eq!(changes(&heard)[0].controller, cook());
    assert_eq!(changes(&stage.hear(1)).len(), 1);
    // In sight again, it asks for its seat.
    stage.say(2, ClientMessage::TakeBack { era });
    assert!(stage.plan(2).unwrap().running);
    stage.ready(2, era, 0);
    assert!(stage.back(2).is_some());
    stage.hear(1);
    play_on(&mut stage, era, 5);
    assert_eq!(changes(&stage.hear(1)), [], "it is not hidden any more");
}

#[test]
fn a_hidden_page_ends_the_episode_if_the_study_says_so_unless_it_is_alone() {
    let mut stage = stage(Meanwhile::Stand, Then::PartnerLeft);
    let (era, ..) = stage.playing();
    stage.say(2, ClientMessage::Hidden { era, hidden: true });
    play_on(&mut stage, era, 20);
    assert_eq!(stage.ended, [EndReason::PartnerLeft]);

    let mut alone = self::stage(Meanwhile::Stand, Then::PartnerLeft);
    alone.queue(1);
    alone.wait(30 * SECOND);
    let era = alone.plan(1).unwrap().era;
    alone.ready(1, era, 0);
    alone.wait(4 * SECOND);
    alone.say(1, ClientMessage::Hidden { era, hidden: true });
    play_on(&mut alone, era, 25);
    assert!(alone.ended.is_empty());
}

#[test]
fn presence_is_in_the_log() {
    let mut stage = stage(Meanwhile::Hold, Then::Bot);
    let (era, _, token) = stage.playing();
    lose(&mut stage, era);
    stage.resume(3, &token, Some((era, 0)));
    let noted = noted_presence(&stage, era);
    assert_eq!(noted, [(1, Presence::Gone), (1, Presence::Here)]);
}

#[test]
fn hidden_time_is_in_the_log() {
    let mut stage = stage(Meanwhile::Hold, Then::Bot);
    let (era, ..) = stage.playing();
    let hide = |hidden| ClientMessage::Hidden { era, hidden };
    stage.say(2, hide(true));
    play_on(&mut stage, era, 3);
    assert_eq!(noted_presence(&stage, era), [(1, Presence::Hidden)]);
    stage.say(2, hide(false));
    let noted = noted_presence(&stage, era);
    assert_eq!(noted, [(1, Presence::Hidden), (1, Presence::Here)]);
}

/// The presence of people in the log.
fn noted_presence(stage: &Stage, era: Era) -> Vec<(u8, Presence)> {
    let notes = stage.shelf(era).notes.iter().map(|note| match note {
        Record::Presence { seat, presence, .. } => (seat.0, *presence),
        other => panic!("{other:?}"),
    });
    notes.collect()
}

#[test]
fn a_study_that_hides_addresses_says_so_in_the_plan() {
    let mut stage = Stage::new(Limits::default());
    let mut study = (*stage.study).clone();
    (study.net.ice, study.net.fallback) = (IcePolicy::Relay, false);
    stage.arbiter.study = Arc::new(study);
    stage.arbiter.ice = Box::new(|now_us, episode, seat| {
        let username = Some(format!("{now_us}:{episode}:{}", seat.0));
        vec![IceServer {
            urls: vec!["turn:here".into()],
            username,
            credential: None,
        }]
    });
    stage.queue(1);
    stage.queue(2);
    let (one, two) = (stage.plan(1).unwrap(), stage.plan(2).unwrap());
    assert!(one.relay_only);
    assert_ne!(one.ice[0].username, two.ice[0].username, "each has its own");
    stage.ready(1, one.era, 0);
    stage.ready(2, one.era, 0);
    let bytes = vec![1];
    stage.hear(2);
    stage.say(1, ClientMessage::Relay { to: Seat(1), bytes });
    assert_eq!(stage.hear(2), [], "the server carries nothing");
}

#[test]
fn a_long_wait_that_the_study_wants_is_no_standstill() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.on_disconnect.meanwhile = Meanwhile::Hold;
        env.on_disconnect.grace_s = 300;
    });
    let (era, _, token) = stage.playing();
    lose(&mut stage, era);
    stage.wait(299 * SECOND);
    assert!(stage.ended.is_empty());
    stage.resume(3, &token, Some((era, 0)));
    stage.silent(1, era, 1, false);
    stage.archive(1, era, 0, 9);
    stage.wait(60 * SECOND);
    assert_eq!(stage.ended, [EndReason::Technical], "nobody is waited for");
}

#[test]
fn a_page_that_was_hidden_is_not_hidden_over_its_next_connection_unless_it_says_so() {
    let mut stage = Stage::new(Limits::default());
    let (era, _, two) = stage.playing();
    let hidden = true;
    stage.say(2, ClientMessage::Hidden { era, hidden });
    stage.wait(5 * SECOND);
    // The connection before is dead, and not closed yet; that the page is in sight again was lost with it.
    stage.resume(3, &two, Some((era, 0)));
    for second in 1..40 {
        stage.wait(SECOND);
        stage.archive_all(era, second * HZ);
    }
    assert_eq!(stage.ended, []);
    stage.say(3, ClientMessage::Hidden { era, hidden });
    stage.hear(1);
    stage.wait(4 * SECOND);
    let told = presence(&stage.hear(1));
    assert!(
        told.iter()
            .any(|(_, presence, _)| *presence == Presence::Hidden),
        "{told:?}"
    );
}

#[test]
fn an_ai_partner_of_somebody_who_left_in_the_first_half_stays_after_a_restart_in_the_second() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        let terms = &mut env.on_disconnect;
        (terms.meanwhile, terms.first_half, terms.second_half) =
            (Meanwhile::Bot, Then::Bot, Then::PartnerLeft);
        let (policy, disclose) = ("cook".to_owned(), true);
        terms.bot = Some(AiPartner {
            policy,
            disclose,
            model: None,
            ..AiPartner::default()
        });
    });
    let (era, one, _) = stage.playing();
    stage.say(2, ClientMessage::Leave);
    for second in 1..70 {
        stage.wait(SECOND);
        stage.archive_all(era, second * HZ);
    }
    assert_eq!(stage.ended, []);
    stage.restart();
    stage.resume(1, &one, Some((era, 0)));
    stage.wait(SECOND);
    assert_eq!(stage.ended, []);
}
