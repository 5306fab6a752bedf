//! Two pages in an episode, each around a native session.

use std::time::Duration;

use env_core::envs::overcooked::Overcooked;
use env_core::{Instance, Spec, World as _};
use protocol::chain::Chain;
use protocol::change::Change;
use protocol::control::{
    Answer, Block, ClientMessage, EndReason, Entry, Link, Plan, ServerMessage, StageView, Upload,
};
use protocol::{Controller, Era, Life, Seat, Tick};
use rollback::{Config, Session};
use tokio::time::timeout;

use super::host::{HORIZON, Running};
use super::page::{Page, page_key};

/// Two pages in an episode.
pub(crate) struct Match {
    pub(crate) pages: [Page; 2],
    pub(crate) era: Era,
    pub(crate) sessions: [Session<Instance<Overcooked>>; 2],
    pub(crate) lives: [Life; 2],
    pub(crate) now_us: u64,
    chains: [Chain; 2],
    spec: Spec,
}

/// The next block of the own inputs of a session.
pub(crate) fn signed(chain: &mut Chain, session: &Session<Instance<Overcooked>>) -> Option<Block> {
    let (first, inputs) = session.own_inputs(chain.next());
    let inputs: Vec<_> = inputs.collect();
    assert!(
        inputs.is_empty() || first == chain.next(),
        "a gap before {first:?}"
    );
    (!inputs.is_empty()).then(|| chain.sign(&page_key(), inputs, [9; 16]))
}

/// The session and the world that a page opens for its plan.
pub(crate) fn opened(plan: &Plan, t0_us: u64, input_delay: u8) -> (Config, Instance<Overcooked>) {
    let world = Instance::new(
        env_core::envs::build_environment::<Overcooked>(plan.params.as_bytes()).unwrap(),
    );
    let config = Config {
        era: plan.era,
        local: Some(plan.seat),
        controllers: plan.controllers.clone(),
        seed: plan.seed,
        tick_hz: plan.tick_hz,
        input_delay,
        window: plan.window,
        t0_us,
        rules: plan.rules.clone(),
    };
    (config, world)
}

/// Two people read, are matched, and get ready.
pub(crate) async fn meet(host: &Running) -> Match {
    let mut pages = [
        Page::enter(host, Entry::Invite(host.links[0].clone())).await,
        Page::enter(host, Entry::Invite(host.links[1].clone())).await,
    ];
    for page in &mut pages {
        assert!(matches!(page.stage().await, StageView::Instructions { .. }));
        page.done(0, Vec::new()).await;
        // The second only comes once the first waits, so that the seats are known.
        assert!(matches!(page.stage().await, StageView::Lobby { .. }));
    }
    let mut plans: Vec<Plan> = Vec::new();
    for page in &mut pages {
        let plan = page
            .until(|message| {
                if let ServerMessage::Match(plan) = message {
                    Some(plan)
                } else {
                    None
                }
            })
            .await;
        let (era, links) = (plan.era, vec![Link::Relay; 2]);
        plans.push(plan);
        page.say(&ClientMessage::Ready {
            era,
            links,
            rtt_us: vec![0, 0],
            loss_permille: Vec::new(),
        })
        .await;
    }
    assert!(
        plans
            .iter()
            .all(|plan| plan.controllers == [Controller::Human, Controller::Human])
    );
    let mut starts = Vec::new();
    for page in &mut pages {
        starts.push(
            page.until(|message| match message {
                ServerMessage::Start {
                    t0_us, input_delay, ..
                } => Some((t0_us, input_delay)),
                _ => None,
            })
            .await,
        );
    }
    assert_eq!(starts[0], starts[1]);
    let session = |plan: &Plan| {
        let (config, world) = opened(plan, starts[0].0, starts[0].1);
        Session::new(config, world, vec![None, None])
    };
    assert!(plans[0].seat < plans[1].seat);
    let (_, world) = opened(&plans[0], starts[0].0, starts[0].1);
    let sessions = [session(&plans[0]), session(&plans[1])];
    Match {
        pages,
        era: plans[0].era,
        sessions,
        lives: [Life(0); 2],
        now_us: starts[0].0,
        chains: [Seat(0), Seat(1)]
            .map(|seat| Chain::new(&plans[0].episode, seat, Life(0), Tick(0))),
        spec: world.spec().clone(),
    }
}

impl Match {
    /// Plays through the relay until this many ticks are confirmed on both pages.
    pub(crate) async fn play(&mut self, ticks: u32) {
        while self
            .sessions
            .iter()
            .any(|session| session.confirmed().0 < ticks)
        {
            self.now_us += 50_000;
            for from in 0..2 {
                let action = ((self.now_us / 50_000 + from as u64 * 3) % 5) as u16;
                self.sessions[from].handle_action(self.now_us, action);
                self.sessions[from].handle_timeout(self.now_us);
                self.pass_on(from).await;
            }
        }
    }

    /// Sends the packets of a session through the server, and gives them to the other session.
    pub(crate) async fn pass_on(&mut self, from: usize) {
        let mut sent = 0;
        while let Some(transmit) = self.sessions[from].poll_transmit() {
            let message = ClientMessage::Relay {
                to: transmit.to,
                bytes: transmit.bytes.to_vec(),
            };
            self.pages[from].say(&message).await;
            sent += 1;
        }
        for _ in 0..sent {
            let relayed = |message| {
                if let ServerMessage::Relay { bytes, .. } = message {
                    Some(bytes)
                } else {
                    None
                }
            };
            let bytes = self.pages[1 - from].until(relayed).await;
            self.sessions[1 - from]
                .handle_datagram(self.now_us, Seat(from as u8), &bytes)
                .unwrap();
        }
    }

    /// Makes the upload with everything that a page has not yet sent.
    pub(crate) fn upload(&mut self, seat: usize) -> Upload {
        let session = &self.sessions[seat];
        Upload {
            era: self.era,
            life: self.lives[seat],
            block: signed(&mut self.chains[seat], session),
            changes: session.changes(),
            recheck: 0,
            digests: session.digests().to_vec(),
            timing: None,
            ended: session.ended(),
        }
    }

    /// The first page hears that nobody has the second seat.
    pub(crate) async fn lose_second(&mut self) {
        // A page says something each second: a page that says nothing is not a witness.
        let change = loop {
            let (era, seat, silent) = (self.era, Seat(1), true);
            let claim = ClientMessage::Silent { era, seat, silent };
            self.pages[0].say(&claim).await;
            if let Ok(change) = timeout(Duration::from_millis(300), self.change(0)).await {
                break change;
            }
        };
        assert_eq!(
            (change.seat, change.controller),
            (Seat(1), Controller::Vacant)
        );
    }

    /// A page hears of a change.
    pub(crate) async fn change(&mut self, page: usize) -> Change {
        let changed = |message| match message {
            ServerMessage::Change { change, .. } => Some(change),
            _ => None,
        };
        let change = self.pages[page].until(changed).await;
        let partner = match &change.controller {
            Controller::Ai { policy } => policy::by_name(policy, &self.spec),
            Controller::Human | Controller::Vacant => None,
        };
        self.sessions[page]
            .handle_change(self.now_us, &change, partner)
            .unwrap();
        change
    }

    /// Lets the first page play to the end, whoever or whatever has the other seat.
    pub(crate) async fn play_alone(&mut self) {
        while self.sessions[0].ended().is_none() {
            let before = self.sessions[0].confirmed();
            for _ in 0..40 {
                self.now_us += 50_000;
                self.sessions[0].handle_timeout(self.now_us);
                while self.sessions[0].poll_transmit().is_some() {}
            }
            assert!(
                self.sessions[0].confirmed() > before,
                "nobody is waited for"
            );
            self.archive(0).await;
        }
    }

    /// The end of the episode, as the first page receives it.
    pub(crate) async fn ended(&mut self) -> EndReason {
        let ended = |message| match message {
            ServerMessage::Ended { reason, .. } => Some(reason),
            _ => None,
        };
        self.pages[0].until(ended).await
    }

    /// The second page gets its seat back from the server's state.
    pub(crate) async fn come_back(&mut self) {
        let page = &mut self.pages[1];
        let planned = |message| match message {
            ServerMessage::Match(plan) => Some(plan),
            _ => None,
        };
        let plan = page.until(planned).await;
        assert!(plan.running && plan.window > 0 && plan.seat == Seat(1));
        let ready = ClientMessage::Ready {
            era: plan.era,
            links: vec![Link::Relay; 2],
            rtt_us: vec![0, 0],
            loss_permille: Vec::new(),
        };
        page.say(&ready).await;
        let returned = |message| match message {
            ServerMessage::Return(back) => Some(back),
            _ => None,
        };
        let back = page.until(returned).await;
        let (config, world) = opened(&plan, back.t0_us, back.input_delay);
        let partner = |name: &str| policy::by_name(name, &self.spec);
        self.sessions[1] = Session::resume(config, world, partner, &back).unwrap();
        self.lives[1] = plan.life;
        let change = self.change(0).await;
        self.chains[1] = Chain::new(&plan.episode, Seat(1), plan.life, change.tick);
        assert_eq!(
            (&change.controller, change.life),
            (&Controller::Human, plan.life)
        );
        assert_eq!(Some(&change), back.changes.last());
    }

    /// Plays to the end.
    pub(crate) async fn play_out(&mut self) {
        self.play(HORIZON).await;
        self.finish().await;
    }

    /// Lets a page upload its new inputs; returns the final ticks.
    pub(crate) async fn archive(&mut self, seat: usize) -> Tick {
        let upload = self.upload(seat);
        self.pages[seat].say(&ClientMessage::Upload(upload)).await;
        let archived = |message| {
            if let ServerMessage::Archived { through, .. } = message {
                Some(through)
            } else {
                None
            }
        };
        self.pages[seat].until(archived).await
    }

    /// Lets both pages upload their new inputs; returns the final ticks.
    pub(crate) async fn archive_both(&mut self) -> Tick {
        self.archive(0).await;
        self.archive(1).await
    }

    /// Both pages upload the rest, see the same end, answer, and reach the last page.
    pub(crate) async fn finish(&mut self) {
        assert_eq!(self.archive_both().await, Tick(HORIZON));
        for (page, session) in self.pages.iter_mut().zip(&mut self.sessions) {
            let ended = page
                .until(|message| match message {
                    ServerMessage::Ended {
                        reason,
                        ticks,
                        digest,
                        ..
                    } => Some((reason, ticks, digest)),
                    _ => None,
                })
                .await;
            let own = session.digests().last().copied().unwrap();
            assert_eq!(
                (ended.1, ended.2),
                own,
                "the replica ends where the page ends"
            );
            assert_eq!(ended.0, EndReason::Played);
            assert!(matches!(page.stage().await, StageView::Survey { .. }));
            page.done(
                3,
                vec![Answer {
                    name: "fluency".into(),
                    value: "5".into(),
                }],
            )
            .await;
            let StageView::End { outcome, .. } = page.stage().await else {
                panic!("the last page")
            };
            assert_eq!(outcome, "completed");
        }
    }
}
