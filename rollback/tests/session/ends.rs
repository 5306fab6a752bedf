//! Ends: predicted, wrong, agreed.

use super::*;

#[test]
fn a_predicted_end_waits_and_goes_on_if_it_was_wrong() {
    let mut session = Session::new(config(0), Ends::on_noop(), Vec::new());
    (0..8).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!((session.current(), session.ended()), (Tick(3), None));
    assert_eq!(std::iter::from_fn(|| session.poll_event()).count(), 0);
    // The peer did not do what was predicted: the world continues.
    session
        .handle_datagram(due(8), Seat(1), &packet(0, &[NOOP, NOOP, UP]))
        .unwrap();
    session.handle_timeout(due(8));
    assert_eq!((session.current() > Tick(3), session.ended()), (true, None));
}

#[test]
fn a_tick_that_runs_again_after_a_wrong_end_keeps_its_own_input() {
    let mut session = Session::new(config(0), Ends::on_noop(), Vec::new());
    session
        .handle_datagram(due(0), Seat(1), &packet(0, &[UP]))
        .unwrap();
    (0..4).for_each(|tick| session.handle_timeout(due(tick)));
    assert_eq!(
        (session.current(), session.input_tick()),
        (Tick(4), Tick(4))
    );
    session
        .handle_datagram(due(3), Seat(1), &packet(0, &[UP, NOOP]))
        .unwrap();
    assert_eq!(session.current(), Tick(3), "an end was found on the way");
    session
        .handle_datagram(due(3), Seat(1), &packet(0, &[UP, NOOP, UP]))
        .unwrap();
    session.handle_timeout(due(3));
    assert_eq!(
        (session.current(), session.input_tick()),
        (Tick(4), Tick(4))
    );
}

#[test]
fn a_guess_beyond_a_predicted_end_counts_as_long_as_it_was_shown() {
    let mut session = Session::new(config(0), Ends::on_noop(), Vec::new());
    session
        .handle_datagram(due(0), Seat(1), &packet(0, &[UP]))
        .unwrap();
    (0..4).for_each(|tick| session.handle_timeout(due(tick)));
    session
        .handle_datagram(due(3) + 10, Seat(1), &packet(0, &[UP, NOOP]))
        .unwrap();
    assert_eq!(session.current(), Tick(3), "an end was found on the way");
    session
        .handle_datagram(due(3) + 30, Seat(1), &packet(0, &[UP, NOOP, UP, DOWN]))
        .unwrap();
    let [.., last] = mispredictions(&mut session)[..] else {
        panic!("nothing was wrong");
    };
    assert_eq!(last, (3, UP, DOWN, 10), "not the 20 us of the end");
    let stats = session.stats();
    assert_eq!((stats.predicted[1], stats.mispredicted[1]), (3, 2));
}

/// The toy, but it ends after a third step in which seat 1 does nothing.
struct Ends {
    toy: Toy,
    outcome: env_core::StepOutcome,
}

impl Ends {
    fn on_noop() -> Self {
        Self {
            toy: Toy::new(2, 1_000, 1_000),
            outcome: env_core::StepOutcome::default(),
        }
    }
}

impl World for Ends {
    fn spec(&self) -> &Spec {
        self.toy.spec()
    }
    fn reset(&mut self, seed: u64) {
        self.toy.reset(seed);
    }
    fn step(&mut self, actions: &[Action]) -> &env_core::StepOutcome {
        self.toy.step(actions);
        self.outcome.over = self.toy.state.steps == 3 && actions[1] == NOOP;
        &self.outcome
    }
    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        self.toy.observe(seat, out);
    }
    fn save(&mut self, slot: usize) {
        self.toy.save(slot);
    }
    fn load(&mut self, slot: usize) {
        self.toy.load(slot);
    }
    fn digest(&mut self) -> u64 {
        self.toy.digest()
    }
    fn state(&mut self, out: &mut Vec<u8>) {
        self.toy.state(out);
    }
    fn restore(&mut self, bytes: &[u8]) -> Result<(), env_core::contract::StateError> {
        self.toy.restore(bytes)
    }
    fn score(&mut self) -> i64 {
        self.toy.score()
    }
    fn draw(&mut self, seat: Option<usize>, out: &mut env_core::draw::DrawList) {
        self.toy.draw(seat, out);
    }
    fn describe(&mut self, seat: usize, out: &mut String) {
        self.toy.describe(seat, out);
    }
    fn inject(&mut self, draws: &[u32]) {
        self.toy.inject(draws);
    }
}

#[test]
fn two_finished_sessions_fall_silent() {
    let mut peers = [0, 1].map(|seat| Session::new(config(seat), Toy::new(2, 20, 20), Vec::new()));
    run(&mut peers, 0..20);
    exchange(&mut peers, due(20));
    for tick in 20..24 {
        peers
            .iter_mut()
            .for_each(|peer| peer.handle_timeout(due(tick)));
        exchange(&mut peers, due(tick));
    }
    for peer in &mut peers {
        assert!(peer.finished());
        assert_eq!(peer.ended(), Some(Tick(20)));
        assert_eq!(peer.poll_timeout(), None);
        peer.handle_timeout(due(30));
        assert_eq!(packets(peer).len(), 0);
    }
}

#[test]
fn a_finished_session_answers_a_peer_that_has_not_heard() {
    let mut peers = [0, 1].map(|seat| Session::new(config(seat), Toy::new(2, 20, 20), Vec::new()));
    run(&mut peers, 0..20);
    // Seat 1 hears that seat 0 is done; what it says itself from then on is lost.
    for tick in 20..24 {
        peers
            .iter_mut()
            .for_each(|peer| peer.handle_timeout(due(tick)));
        let [left, right] = &mut peers;
        packets(right);
        hand_over(left, right, due(tick));
        packets(right);
    }
    assert!(peers[1].finished() && !peers[0].finished());
    assert_eq!(peers[1].poll_timeout(), None);
    peers[0].handle_timeout(due(24));
    exchange(&mut peers, due(24));
    assert!(peers[0].finished());
    exchange(&mut peers, due(25));
    assert_eq!(peers.each_mut().map(|peer| packets(peer).len()), [0, 0]);
}
