//! Hosted worlds: their pace, their views, and what a plan hides from pages.

use protocol::EnvWay;
use study::disconnect::Meanwhile;
use study::stage::RunOn;

use super::*;

/// Two people in an episode on a host, 10 ticks per second.
fn hosted(terms: impl FnOnce(&mut Env)) -> (Stage, Era, [String; 2]) {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.run = RunOn::Host;
        terms(env);
    });
    let (era, one, two) = stage.playing_hosted();
    (stage, era, [one, two])
}

impl Stage {
    fn playing_hosted(&mut self) -> (Era, String, String) {
        let tokens = (self.queue(1), self.queue(2));
        let era = self.plan(1).unwrap().era;
        for conn in [1, 2] {
            self.say(
                conn,
                ClientMessage::Ready {
                    era,
                    links: Vec::new(),
                    rtt_us: Vec::new(),
                    loss_permille: Vec::new(),
                },
            );
        }
        (era, tokens.0, tokens.1)
    }

    /// The views that a page has got since it was asked last.
    fn views(&mut self, conn: u64) -> Vec<(u32, u32)> {
        let view = |message| match message {
            ServerMessage::View(view) => Some((view.number, view.tick.0)),
            _ => None,
        };
        self.hear(conn).into_iter().filter_map(view).collect()
    }

    fn take_view(&mut self, conn: u64, era: Era, number: u32) {
        let size = [800, 600];
        self.say(conn, ClientMessage::ViewTaken { era, number, size });
    }

    /// The page takes every view as soon as it comes, for so long.
    fn look(&mut self, conn: u64, era: Era, seconds: u64) -> Vec<(u32, u32)> {
        let mut seen = Vec::new();
        for _ in 0..seconds * 50 {
            self.wait(20_000);
            for view in self.views(conn) {
                let number = view.0;
                self.take_view(conn, era, number);
                seen.push(view);
            }
        }
        seen
    }

    fn ticks(&self, era: Era) -> u32 {
        self.shelf(era).through.0
    }
}

#[test]
fn a_hosted_world_goes_by_the_servers_clock_from_tick_0_on() {
    let (mut stage, era, _) = hosted(|_| {});
    assert_eq!(stage.shelf(era).header.way, EnvWay::Host);
    // The first picture is there before the countdown is over.
    assert_eq!(stage.views(1), [(0, 0)]);
    stage.wait(3_400_000);
    assert_eq!(stage.ticks(era), 0);
    stage.take_view(1, era, 0);
    stage.take_view(2, era, 0);
    let seen = stage.look(1, era, 2);
    let ticks = stage.ticks(era);
    assert!((19..=20).contains(&ticks), "{ticks}");
    let expected: Vec<_> = (1..=ticks).map(|tick| (tick, tick)).collect();
    assert_eq!(seen, expected, "every state is shown, one after the other");
}

/// The end of an episode whose world takes so long for each step, and the ticks that it played.
fn end_with_steps_of(step_us: u64, limits: Limits) -> (Option<EndReason>, u32) {
    let mut stage = Stage::of(2, limits, |env| env.run = RunOn::Host);
    let (era, ..) = stage.playing_hosted();
    stage.wait(3_400_000);
    stage.shelf_mut(era).step_us = step_us;
    for _ in 0..100 {
        stage.wait(100_000);
        for conn in [1, 2] {
            if let Some((number, _)) = stage.views(conn).pop() {
                stage.take_view(conn, era, number);
            }
        }
    }
    let shelf = stage.shelf(era);
    (shelf.ending.map(|ending| ending.reason), shelf.through.0)
}

#[test]
fn a_world_that_is_much_slower_than_its_ticks_ends_its_episode() {
    let slow = end_with_steps_of(450_000, Limits::default());
    assert_eq!(slow, (Some(EndReason::Technical), 50));
    assert_eq!(end_with_steps_of(300_000, Limits::default()).0, None);
    let unlimited = Limits {
        slow_step_ticks: 0,
        ..Limits::default()
    };
    assert_eq!(end_with_steps_of(450_000, unlimited).0, None);
}

#[test]
fn a_page_that_takes_no_views_gets_few_and_then_the_newest() {
    let (mut stage, era, _) = hosted(|_| {});
    stage.wait(3_500_000);
    stage.take_view(2, era, 0);
    stage.views(1);
    stage.look(2, era, 2);
    let under_way = stage.views(1);
    assert!((1..=4).contains(&under_way.len()), "{under_way:?}");
    let ticks = stage.ticks(era);
    let (last, _) = *under_way.last().unwrap();
    stage.take_view(1, era, last);
    let newest = stage.views(1);
    assert_eq!(newest, [(last + 1, ticks)]);
}

#[test]
fn a_page_that_has_lost_a_view_is_told_everything_anew() {
    let (mut stage, era, _) = hosted(|_| {});
    stage.wait(3_500_000);
    stage.look(1, era, 1);
    let number = u32::MAX;
    stage.take_view(1, era, number);
    let (first, _) = stage.views(1)[0];
    assert_eq!(first, 0);
    let last = stage.shelf(era).hosted.last().unwrap();
    assert_eq!(
        last.views,
        [ViewOrder {
            seat: Seat(0),
            is_new: true,
            size: [800, 600]
        }]
    );
}

#[test]
fn the_world_stands_still_while_somebody_is_waited_for() {
    let (mut stage, era, tokens) = hosted(|env| env.on_disconnect.meanwhile = Meanwhile::Hold);
    stage.wait(3_500_000);
    stage.look(1, era, 1);
    stage.close(2);
    let ticks = stage.ticks(era);
    stage.look(1, era, 2);
    assert_eq!(stage.ticks(era), ticks);
    stage.resume(3, &tokens[1], Some((era, 0)));
    assert_eq!(
        stage.views(3)[0].0,
        0,
        "a new connection sees everything anew"
    );
    stage.look(1, era, 1);
    assert!(stage.ticks(era) > ticks + 5);
    let paced = stage.shelf(era).hosted.iter();
    assert_eq!(paced.filter(|work| work.paced_us.is_some()).count(), 1);
}

#[test]
fn an_episode_of_two_goes_on_with_a_partner_while_one_is_away() {
    let (mut stage, era, tokens) = hosted(|env| env.on_disconnect.meanwhile = Meanwhile::Stand);
    stage.wait(3_500_000);
    stage.look(1, era, 1);
    stage.close(2);
    let ticks = stage.ticks(era);
    stage.look(1, era, 1);
    assert!(stage.ticks(era) > ticks + 5);
    let seat = &stage.shelf(era).seats[1];
    assert_eq!(seat.controller, Controller::Vacant);
    // The person comes back on another computer.
    stage.resume(4, &tokens[1], None);
    assert!(stage.plan(4).is_some_and(|plan| plan.running));
    stage.say(
        4,
        ClientMessage::Ready {
            era,
            links: Vec::new(),
            rtt_us: Vec::new(),
            loss_permille: Vec::new(),
        },
    );
    stage.look(1, era, 1);
    assert_eq!(stage.shelf(era).seats[1].controller, Controller::Human);
}

#[test]
fn a_page_that_answers_no_view_for_long_counts_as_gone() {
    let (mut stage, era, _) = hosted(|env| env.on_disconnect.meanwhile = Meanwhile::Stand);
    stage.wait(3_500_000);
    stage.look(1, era, 6);
    assert_eq!(stage.shelf(era).seats[1].controller, Controller::Vacant);
    assert_eq!(stage.shelf(era).seats[0].controller, Controller::Human);
}

#[test]
fn a_world_that_breaks_down_ends_its_own_episode() {
    let (mut stage, era, _) = hosted(|_| {});
    stage.wait(3_600_000);
    stage.shelves.remove(&era.0);
    stage.wait(200_000);
    assert_eq!(stage.ended, [EndReason::Technical]);
}

/// True if bytes stand anywhere in others.
fn contains(all: &[u8], part: &[u8]) -> bool {
    all.windows(part.len()).any(|window| window == part)
}

#[test]
fn no_byte_to_a_page_tells_the_seed_or_the_parameters() {
    let mut stage = Stage::of(2, Limits::default(), |env| {
        env.run = RunOn::Host;
        env.on_disconnect.meanwhile = Meanwhile::Stand;
    });
    let (mut told, mut plans) = (Vec::new(), 0);
    let tokens = [stage.queue(1), stage.queue(2)];
    let mut gather = |stage: &mut Stage| {
        for conn in [1, 2, 4] {
            for message in stage.hear(conn) {
                plans += u32::from(matches!(message, ServerMessage::Match(_)));
                told.extend(protocol::control::encode(&message));
            }
        }
    };
    gather(&mut stage);
    // The first episode of the server.
    let era = Era(0);
    for conn in [1, 2] {
        stage.ready(conn, era, 0);
    }
    stage.wait(4_500_000);
    gather(&mut stage);
    stage.close(2);
    stage.wait(1_000_000);
    stage.resume(4, &tokens[1], None);
    stage.ready(4, era, 0);
    stage.wait(2_000_000);
    gather(&mut stage);
    assert_eq!(
        (plans, stage.shelf(era).seats[1].controller.clone()),
        (3, Controller::Human)
    );
    let header = &stage.shelf(era).header;
    assert!(told.len() > 200);
    assert!(!contains(&told, header.params.as_bytes()), "the parameters");
    // As a number on the wire, as bytes in memory, and as text.
    let written = &protocol::control::encode(&header.seed)[1..];
    for bytes in [
        written,
        &header.seed.to_le_bytes(),
        header.seed.to_string().as_bytes(),
    ] {
        assert!(!contains(&told, bytes), "the seed as {bytes:?}");
    }
}

#[test]
fn a_plan_tells_nothing_from_which_the_world_could_be_computed() {
    let timeline = "timeline:
  - {id: play, type: env, env: overcooked@2.0.0, run: host, until: score > 3, players: [self, {policy: cook}], config: {horizon: 77}}
  - {id: thanks, type: end, file: page.md}
";
    let mut stage = Stage::read(timeline, Limits::default());
    stage.say(1, ClientMessage::make_hello(Entry::Open));
    let told = stage.hear(1);
    let modules = told.iter().find_map(|message| match message {
        ServerMessage::Welcome { modules, .. } => Some(modules.len()),
        _ => None,
    });
    assert_eq!(modules, Some(0));
    let plan = told.into_iter().find_map(|message| match message {
        ServerMessage::Match(plan) => Some(plan),
        _ => None,
    });
    let plan = plan.unwrap();
    assert_eq!(
        (plan.way, plan.seed, &plan.params[..]),
        (EnvWay::Host, 0, "")
    );
    assert!(plan.networks.is_empty() && plan.rules.until.is_none() && plan.ice.is_empty());
    let facts = stage
        .stages
        .values()
        .next()
        .unwrap()
        .facts
        .page_facts
        .clone();
    let facts = facts.unwrap();
    assert_eq!(plan.module, protocol::hash::sha256_hex(facts.as_bytes()));
    assert!(facts.contains("\"horizon\":77"));
}

#[test]
fn a_page_is_told_what_each_point_means_that_it_asks_about() {
    let (mut stage, era, _) = hosted(|_| {});
    stage.wait(3_500_000);
    stage.look(1, era, 1);
    let told = |stage: &mut Stage| -> Vec<(u32, Option<u16>)> {
        let pointed = |message| match message {
            ServerMessage::Pointed { number, action, .. } => Some((number, action)),
            _ => None,
        };
        stage.hear(1).into_iter().filter_map(pointed).collect()
    };
    for number in [1, 2] {
        let at = [10 + number as u16, 9];
        stage.say(1, ClientMessage::Point { era, number, at });
    }
    // The shelf returns the first part of the point as the action.
    assert_eq!(told(&mut stage), [(1, Some(11)), (2, Some(12))]);
    let mut orders = stage.shelf(era).hosted.iter().flat_map(|work| &work.points);
    let (seat, number, at) = (Seat(0), 2, [12, 9]);
    assert_eq!(orders.next_back(), Some(&PointOrder { seat, number, at }));
    // The page asks for the whole picture and about a point of it, while the host is at work.
    stage.slow = true;
    stage.wait(SECOND);
    stage.take_view(1, era, u32::MAX);
    let (number, at) = (3, [13, 9]);
    stage.say(1, ClientMessage::Point { era, number, at });
    stage.slow = false;
    stage.drain();
    assert_eq!(told(&mut stage), [(3, Some(13))]);
}
