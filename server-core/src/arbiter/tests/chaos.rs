//! Pages, the archive and the server do anything in any order: nothing panics, and every episode plays or ends.

use proptest::prelude::*;
use study::disconnect::{Meanwhile, Then};
use study::stage::AiPartner;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Close(usize),
    Reload(usize),
    Reconnect(usize),
    Say(usize, Box<ClientMessage>),
    /// The page answers the question.
    Answer(usize),
    Upload(usize),
    Work,
    Restart,
    Slow(bool),
    Wait(u64),
}

/// A scripted page: what it knows about its seat.
#[derive(Clone, Debug, Default)]
struct Actor {
    conn: u64,
    open: bool,
    life: Option<Life>,
    loading: bool,
    /// Changes that it knows.
    changes: usize,
    lost: bool,
}

struct Play {
    stage: Stage,
    era: Era,
    tokens: Vec<String>,
    actors: Vec<Actor>,
    conns: u64,
}

impl Play {
    fn new(people: u8, meanwhile: Meanwhile, then: Then) -> Self {
        let mut stage = Stage::of(people, Limits::default(), |env| {
            env.on_disconnect.meanwhile = meanwhile;
            (env.on_disconnect.first_half, env.on_disconnect.second_half) = (then, then);
            env.on_disconnect.bot = Some(AiPartner {
                policy: "cook".into(),
                disclose: true,
                model: None,
                ..AiPartner::default()
            });
        });
        let (era, tokens) = stage.crowd(u64::from(people));
        let actor = |conn| Actor {
            conn,
            open: true,
            life: Some(Life(0)),
            ..Actor::default()
        };
        let actors = (1..=u64::from(people)).map(actor).collect();
        let conns = u64::from(people);
        Self {
            stage,
            era,
            tokens,
            actors,
            conns,
        }
    }

    /// Lets every page take in the messages that it was sent.
    fn listen(&mut self) {
        for seat in 0..self.actors.len() {
            for message in self.stage.hear(self.actors[seat].conn) {
                self.actors[seat].hear(Seat(seat as u8), message);
            }
            let conn = ConnId(self.actors[seat].conn);
            self.actors[seat].open &= !self.stage.closed.contains(&conn);
        }
    }

    fn enter(&mut self, at: usize, playing: Option<(Era, Life)>) {
        self.conns += 1;
        self.actors[at].conn = self.conns;
        self.actors[at].open = true;
        let token = self.tokens[at].clone();
        let entry = Entry::Resume { token, playing };
        self.stage.say(self.conns, ClientMessage::make_hello(entry));
    }

    fn step(&mut self, step: Step) {
        let count = self.actors.len();
        match step {
            Step::Close(at) => {
                let actor = &mut self.actors[at % count];
                actor.open = false;
                let conn = actor.conn;
                self.stage.close(conn);
            }
            Step::Reload(at) => {
                let (conn, open) = (0, false);
                self.actors[at % count] = Actor {
                    conn,
                    open,
                    ..Actor::default()
                };
                self.enter(at % count, None);
            }
            Step::Reconnect(at) => {
                let life = self.actors[at % count].life;
                self.enter(at % count, life.map(|life| (self.era, life)));
            }
            Step::Say(at, message) => self.stage.say(self.actors[at % count].conn, *message),
            Step::Answer(at) => self.answer(at % count),
            Step::Upload(at) => self.upload(at % count),
            Step::Work => drop(self.stage.work_once()),
            Step::Restart => {
                self.stage.restart();
                self.actors.iter_mut().for_each(|actor| actor.open = false);
            }
            Step::Slow(slow) => self.stage.slow = slow,
            Step::Wait(us) => self.stage.wait(us),
        }
        self.stage.drain();
        self.listen();
    }

    fn answer(&mut self, at: usize) {
        let (era, actor) = (self.era, &mut self.actors[at]);
        let conn = actor.conn;
        if std::mem::take(&mut actor.loading) {
            self.stage.ready(conn, era, 0);
        } else if std::mem::take(&mut actor.lost) {
            self.stage.say(conn, ClientMessage::TakeBack { era });
        }
    }

    /// Lets a page that plays upload what is due.
    fn upload(&mut self, at: usize) {
        let actor = &self.actors[at];
        let due = self.stage.now_us.saturating_sub(3_500_000) / (SECOND / u64::from(HZ));
        if let Some(life) = actor.life.filter(|_| actor.open) {
            let (era, conn) = (self.era, actor.conn);
            let ticks = (due as u32).min(890);
            self.stage.archive(conn, era, life.0, ticks);
        }
    }

    /// True if somebody plays, and everybody who is there does.
    fn all_play(&self) -> bool {
        let group = self.stage.arbiter.episodes.get(self.era);
        let Some(episode::Phase::Playing(play)) = group.map(|group| &group.phase) else {
            return false;
        };
        let plays = |state: &seats::SeatState| {
            state.page == seats::Page::Plays && state.controller == Controller::Human
        };
        play.seats.people().all(|(_, state)| plays(state))
    }
}

impl Actor {
    fn hear(&mut self, seat: Seat, message: ServerMessage) {
        match message {
            ServerMessage::Running { changes, .. } => {
                for change in changes.iter().skip(self.changes) {
                    self.take(seat, change);
                }
            }
            ServerMessage::Change { change, .. } => self.take(seat, &change),
            ServerMessage::Match(plan) => {
                assert!(plan.running, "the episode runs");
                (self.loading, self.lost, self.life) = (true, false, None);
            }
            ServerMessage::Return(back) => {
                let own = back.changes.iter().rfind(|change| change.seat == seat);
                let own = own.expect("the seat was given");
                assert_eq!(own.controller, Controller::Human);
                (self.life, self.changes) = (Some(own.life), back.changes.len());
            }
            _ => {}
        }
    }

    /// A page whose own seat changes hands has lost it.
    fn take(&mut self, seat: Seat, change: &Change) {
        assert_eq!(usize::from(change.number), self.changes, "none is left out");
        self.changes += 1;
        if change.seat == seat && self.life.is_some_and(|life| life != change.life) {
            (self.life, self.lost) = (None, true);
        }
    }
}

fn message() -> impl Strategy<Value = ClientMessage> {
    let era = Era(0);
    prop_oneof![
        3 => (0..4_u8, any::<bool>()).prop_map(move |(seat, silent)| {
            let seat = Seat(seat);
            ClientMessage::Silent { era, seat, silent }
        }),
        2 => any::<bool>().prop_map(move |hidden| ClientMessage::Hidden { era, hidden }),
        1 => Just(ClientMessage::Unloading),
        1 => Just(ClientMessage::TakeBack { era }),
        1 => Just(ClientMessage::Ready { era, links: Vec::new(), rtt_us: vec![9; 4], loss_permille: vec![Some(9); 4] }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0..4_usize;
    prop_oneof![
        2 => at.clone().prop_map(Step::Close),
        2 => at.clone().prop_map(Step::Reload),
        2 => at.clone().prop_map(Step::Reconnect),
        4 => (at.clone(), message()).prop_map(|(at, message)| Step::Say(at, Box::new(message))),
        8 => at.clone().prop_map(Step::Answer),
        6 => at.prop_map(Step::Upload),
        2 => Just(Step::Work),
        1 => Just(Step::Restart),
        1 => any::<bool>().prop_map(Step::Slow),
        4 => (0..3_000_000_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever happened: once pages and archive behave, everybody plays, or the episode ends.
    #[test]
    fn every_episode_plays_or_ends(
        people in 2..5_u8,
        meanwhile in prop_oneof![Just(Meanwhile::Stand), Just(Meanwhile::Bot), Just(Meanwhile::Hold)],
        then in prop_oneof![2 => Just(Then::Bot), 1 => Just(Then::PartnerLeft)],
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let mut play = Play::new(people, meanwhile, then);
        prop_assert_eq!(play.era, Era(0));
        for step in steps {
            play.step(step);
        }
        play.step(Step::Slow(false));
        for at in 0..usize::from(people) {
            play.step(Step::Reload(at));
        }
        for at in 0..4 {
            for of in 0..4 {
                let (era, seat, silent) = (Era(0), Seat(of), false);
                let message = ClientMessage::Silent { era, seat, silent };
                play.step(Step::Say(at, Box::new(message)));
            }
        }
        for _ in 0..60 {
            for at in 0..usize::from(people) {
                play.step(Step::Answer(at));
                play.step(Step::Upload(at));
            }
            play.step(Step::Wait(SECOND / 4));
        }
        prop_assert!(play.all_play() || play.stage.ended.len() == 1, "neither plays nor ended");
    }

    /// Whatever happened: if nobody does anything any more, the episode ends.
    #[test]
    fn an_episode_that_everybody_leaves_alone_ends(
        people in 2..5_u8,
        steps in prop::collection::vec(step(), 0..60),
        close in any::<bool>(),
    ) {
        let mut play = Play::new(people, Meanwhile::Stand, Then::Bot);
        for step in steps {
            play.step(step);
        }
        play.step(Step::Slow(false));
        for at in 0..usize::from(people) {
            if close {
                play.step(Step::Close(at));
            }
        }
        play.step(Step::Wait(200 * SECOND));
        prop_assert_eq!(play.stage.ended.len(), 1);
        prop_assert!(play.stage.arbiter.episodes.is_empty());
    }
}
