//! A study's rules: an end by a formula, and turns.

use env_core::tally::TalliedWorld;
use formula::{Expr, Op};
use protocol::control::Return;
use protocol::rules::Rules;

use super::*;

/// A comparison of a variable with a number.
fn compare(op: Op, name: &str, number: f64) -> Expr {
    let leaf = |op| Expr::new(op, Vec::new()).expect("well-formed");
    let args = [Op::Variable(name.to_owned()), Op::Number(number)];
    Expr::new(op, args.map(leaf).into()).expect("well-formed")
}

fn until(formula: Expr) -> Config {
    Config {
        rules: Rules {
            until: Some(formula),
            ..Rules::default()
        },
        ..config(0)
    }
}

#[test]
fn an_end_by_a_formula_is_waited_at_until_it_is_confirmed() {
    let after = compare(Op::GreaterEqual, "elapsed_s", 0.3);
    let none = compare(Op::Less, "score", 1.0);
    let mut session = session(until(Expr::new(Op::And, vec![after, none]).unwrap()));
    (0..8).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!((session.current(), session.ended()), (Tick(3), None));
    // The peer did what is never predicted: there is a score, and the episode continues.
    let packet = packet(0, &[NOOP, PRESS, NOOP]);
    session.handle_datagram(due(8), Seat(1), &packet).unwrap();
    session.handle_timeout(due(8));
    assert_eq!((session.current() > Tick(3), session.ended()), (true, None));
}

#[test]
fn all_end_on_the_first_tick_on_which_the_formula_holds() {
    let mut peers = [0, 1].map(|seat| {
        let rules = until(compare(Op::GreaterEqual, "score", 2.0)).rules;
        session(Config {
            rules,
            ..config(seat)
        })
    });
    for tick in 0..10 {
        let who = usize::from(tick >= 4);
        if tick == 2 || tick == 4 {
            peers[who].handle_action(due(tick) - 5_000, PRESS);
        }
        run(&mut peers, tick..tick + 1);
    }
    assert_eq!(peers.each_ref().map(Session::ended), [Some(Tick(5)); 2]);
    assert_eq!(peers[0].digests().last(), peers[1].digests().last());
    assert_eq!(peers[0].rows().len(), 10);
}

#[test]
fn a_formula_may_ask_for_the_score_of_a_seat() {
    let leaf = |op| Expr::new(op, Vec::new()).unwrap();
    let scores = leaf(Op::Variable("scores".to_owned()));
    let second = Expr::new(Op::Index, vec![scores, leaf(Op::Number(1.0))]).unwrap();
    let reached = Expr::new(Op::GreaterEqual, vec![second, leaf(Op::Number(1.0))]).unwrap();
    let config = Config {
        controllers: vec![Controller::Human, Controller::Vacant],
        ..until(reached)
    };
    let mut session = Session::new(config, Toy::new(2, 9, 1_000), Vec::new());
    session.handle_action(due(1), PRESS);
    (2..6).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!(
        session.ended(),
        Some(Tick(1)),
        "the toy counts for the group"
    );
}

/// A world in which walking against a wall costs, with the sums of the rewards.
fn costly() -> TalliedWorld<Box<dyn World + Send>> {
    TalliedWorld::new(env_core::envs::open("goal_seeking", r#"{"seats":2}"#).unwrap())
}

#[test]
fn a_formula_may_ask_for_the_rewards_of_a_seat_and_a_page_that_comes_back_knows_them() {
    let mut known = costly();
    known.reset(5);
    let noop = known.spec().noop;
    let (mut ticks, mut state) = (0_u32, Vec::new());
    while known.reward_sum(0).unwrap() >= -0.5 {
        if ticks == 8 {
            known.state(&mut state);
        }
        assert!(!known.step(&[0, noop]).over, "it walks against a wall");
        ticks += 1;
    }
    let leaf = |op| Expr::new(op, Vec::new()).unwrap();
    let rewards = leaf(Op::Variable("rewards".to_owned()));
    let own = Expr::new(Op::Index, vec![rewards, leaf(Op::Number(0.0))]).unwrap();
    let poor = Expr::new(Op::Less, vec![own, leaf(Op::Number(-0.5))]).unwrap();
    let config = || Config {
        controllers: vec![Controller::Human, Controller::Vacant],
        ..until(poor.clone())
    };
    let walk = |session: &mut Session<_>| {
        session.handle_action(T0_US - 1, 0);
        (0..ticks + 5).for_each(|tick| session.handle_timeout(due(tick.into())));
        session.ended()
    };
    let mut session = Session::new(config(), costly(), Vec::new());
    assert_eq!(walk(&mut session), Some(Tick(ticks)));
    let mut before = costly();
    before.reset(5);
    before.restore(&state).unwrap();
    let start = Return {
        era: Era(3),
        t0_us: T0_US,
        delay_ms: 0,
        input_delay: 0,
        changes: Vec::new(),
        tick: Tick(8),
        digest: before.digest(),
        state,
        partners: Vec::new(),
    };
    let mut back = Session::resume(config(), costly(), |_| None, &start).unwrap();
    assert_eq!(walk(&mut back), Some(Tick(ticks)));
}

#[test]
fn a_formula_without_a_value_ends_nothing() {
    let ratio = [Op::Number(1.0), Op::Variable("left_s".to_owned())];
    let ratio = ratio.map(|op| Expr::new(op, Vec::new()).unwrap());
    let ratio = Expr::new(Op::Divide, ratio.into()).unwrap();
    let never = Expr::new(Op::Number(-1.0), Vec::new()).unwrap();
    let formula = Expr::new(Op::Less, vec![ratio, never]).unwrap();
    let config = Config {
        controllers: vec![Controller::Human, Controller::Vacant],
        ..until(formula)
    };
    let mut session = Session::new(config, Toy::new(2, 3, 1_000), Vec::new());
    (0..5).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!(session.ended(), Some(Tick(3)), "the horizon ends it");
}

/// Two people in turns: in each step one seat acts, or both.
fn in_turns(alternates: bool) -> [Session<Toy>; 2] {
    [0, 1].map(|seat| {
        let mut world = Toy::new(2, 4, 1_000);
        world.alternates = alternates;
        let rules = Rules {
            turns: true,
            ..Rules::default()
        };
        Session::new(
            Config {
                rules,
                ..config(seat)
            },
            world,
            Vec::new(),
        )
    })
}

#[test]
fn choices_at_the_same_time_are_played_once_both_are_made() {
    let mut peers = in_turns(false);
    run(&mut peers, 0..3);
    assert!(peers.iter_mut().all(Session::is_own_turn));
    assert_eq!(peers[0].handle_action(due(3), UP), Some(Tick(0)));
    assert_eq!(peers[0].handle_action(due(3), DOWN), None, "it is made");
    exchange(&mut peers, due(3));
    run(&mut peers, 4..8);
    for peer in &mut peers {
        let mut shown = 0;
        peer.preview(|world| shown = world.state.steps);
        assert_eq!((shown, peer.current()), (0, Tick(0)), "nobody sees it yet");
    }
    assert_eq!(peers[1].handle_action(due(8), DOWN), Some(Tick(0)));
    exchange(&mut peers, due(8));
    assert_eq!(peers.each_ref().map(Session::current), [Tick(1); 2]);
    assert!(peers.iter_mut().all(Session::is_own_turn));
    run(&mut peers, 9..10);
    assert_eq!(
        peers.each_ref().map(|peer| column(peer, 1)),
        [[DOWN], [DOWN]]
    );
}

#[test]
fn who_does_not_act_is_not_asked() {
    let mut peers = in_turns(true);
    let mut now = 0;
    for turn in 0..4 {
        run(&mut peers, now..now + 3);
        now += 3;
        let own = peers.each_mut().map(Session::is_own_turn);
        assert_eq!(own, [turn % 2 == 0, turn % 2 == 1]);
        let (own, other) = (turn % 2, 1 - turn % 2);
        assert_eq!(peers[other].handle_action(due(now), UP), None);
        let tick = Some(Tick(turn as u32));
        assert_eq!(peers[own].handle_action(due(now), UP), tick);
    }
    run(&mut peers, now..now + 3);
    assert_eq!(peers.each_ref().map(Session::ended), [Some(Tick(4)); 2]);
    assert_eq!(column(&peers[1], 0), [UP, NOOP, UP, NOOP]);
    assert_eq!(peers[0].rows(), peers[1].rows());
}

#[test]
fn in_turns_a_tick_goes_by_with_every_action_and_with_nothing_else() {
    let partner = Controller::Ai {
        policy: "toy".into(),
    };
    let config = Config {
        controllers: vec![Controller::Human, partner],
        input_delay: 3,
        rules: Rules {
            turns: true,
            ..Rules::default()
        },
        ..config(0)
    };
    let partners = vec![
        None,
        Some(Box::new(Partner::new(false)) as Box<dyn env_core::Policy>),
    ];
    let mut session = Session::new(config, Toy::new(2, 3, 1_000), partners);
    assert_eq!(session.handle_action(T0_US - 1, UP), None, "not yet");
    (0..100).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!((session.current(), session.poll_timeout()), (Tick(0), None));
    assert_eq!(session.handle_action(due(100), 77), None, "no such action");
    assert_eq!(session.handle_action(due(100), UP), Some(Tick(0)));
    assert_eq!((session.current(), session.confirmed()), (Tick(1), Tick(1)));
    let mut shown = 0;
    session.preview(|world| shown = world.state.steps);
    assert_eq!(shown, 1, "nothing is guessed");
    session.handle_action(due(100), UP);
    session.handle_action(due(5_000), NOOP);
    assert_eq!(session.ended(), Some(Tick(3)));
    assert_eq!(session.handle_action(due(5_001), UP), None);
    let own: Vec<Action> = session.rows().chunks(2).map(|row| row[0]).collect();
    assert_eq!(own, [UP, UP, NOOP]);
    assert_eq!(session.delay_ms(), 0);
}
