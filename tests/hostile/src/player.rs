//! A dishonest page in an episode: it keeps up appearances as far as its manners say, and the attack does the rest.

use std::time::Duration;

use anyhow::{Context as _, bail};
use env_core::World as _;
use tokio::time::Instant;

use crate::page::{PATIENCE, Page};
use crate::wire::datagram::{Datagram, Layout, MAX_INPUTS, decode_datagram, encode_datagram};
use crate::wire::messages::{
    ClientMessage, Controller, EndReason, Link, Plan, Report, ServerMessage, StageView, Upload,
};

/// How often it looks at the clock.
const BEAT: Duration = Duration::from_millis(20);

/// The part of an honest page's conduct that a page shows in an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manners {
    /// It sends datagrams at all.
    pub sends: bool,
    /// Its datagrams have its inputs.
    pub says_inputs: bool,
    /// It acknowledges the inputs of others.
    pub has_receipts: bool,
    /// It uploads what was confirmed.
    pub uploads: bool,
    /// It answers fences.
    pub reports: bool,
}

impl Manners {
    /// Everything.
    pub(crate) const HONEST: Self = Self {
        sends: true,
        says_inputs: true,
        has_receipts: true,
        uploads: true,
        reports: true,
    };
}

/// The end of an episode, as the server says it.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "reports show it whole")]
pub(crate) struct Ended {
    reason: EndReason,
    ticks: u32,
    score: i64,
}

/// The inputs that a person's own page said, from tick 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Testimony {
    pub seat: usize,
    pub inputs: Vec<u16>,
    /// Later ones were not heard.
    pub until: u32,
}

/// A page in an episode.
pub(crate) struct Player {
    pub page: Page,
    pub plan: Plan,
    pub manners: Manners,
    /// The zero of the episode by the server's clock, microseconds, and the input delay; none before it starts.
    pub start: Option<(u64, u8)>,
    /// The inputs of each seat from tick 0, as far as they are known here; its own as far as they were said.
    pub inputs: Vec<Vec<u16>>,
    /// Changes of seats, in order.
    pub changes: Vec<(u8, Controller)>,
    /// Ticks that were durable when it lost its seat, and heard nothing of the others from then on.
    pub lost: Option<u32>,
    /// Fences that it did not answer: seat and life.
    pub fences: Vec<(u8, u8)>,
    /// The delay that its datagrams tell of, milliseconds.
    pub delay_ms: u32,
    /// Ticks that the server says are durable.
    pub durable: u32,
    pub ended: Option<Ended>,
    /// The last page, if it is shown: outcome and pay.
    pub end: Option<(String, String)>,
    /// True once the server has closed the connection.
    pub is_closed: bool,
    spec: env_core::Spec,
    offset_us: i64,
    began: Instant,
    known: Vec<u32>,
    echo: Vec<Option<(u16, Instant)>>,
    uploaded: u32,
}

impl Player {
    /// Waits for a match on a page that is on its way there, gets ready, and waits for the start.
    pub(crate) async fn await_start(page: Page) -> anyhow::Result<Self> {
        let mut player = Self::await_match(page, Duration::from_secs(60)).await?;
        player.get_ready().await?;
        player
            .run_until(PATIENCE, |player| player.start.is_some())
            .await?;
        Ok(player)
    }

    /// Waits for a match.
    pub(crate) async fn await_match(mut page: Page, patience: Duration) -> anyhow::Result<Self> {
        let plan = page
            .await_within(patience, |message| match message {
                ServerMessage::Match(plan) => Some(*plan),
                _ => None,
            })
            .await
            .context("no match was made")?;
        let began = Instant::now();
        page.send(&ClientMessage::Clock { sent_us: 0 }).await?;
        let server_us = page
            .await_message(|message| match message {
                ServerMessage::Clock { server_us, .. } => Some(server_us),
                _ => None,
            })
            .await?;
        let world = env_core::envs::open(&plan.env, &plan.params)
            .map_err(|error| anyhow::anyhow!("the environment does not open: {error}"))?;
        let seats = plan.controllers.len();
        Ok(Self {
            page,
            manners: Manners::HONEST,
            start: None,
            inputs: vec![Vec::new(); seats],
            changes: Vec::new(),
            lost: None,
            fences: Vec::new(),
            delay_ms: 0,
            durable: 0,
            ended: None,
            end: None,
            is_closed: false,
            spec: world.spec().clone(),
            offset_us: server_us as i64 - (began.elapsed().as_micros() / 2) as i64,
            began,
            known: vec![0; seats],
            echo: vec![None; seats],
            uploaded: 0,
            plan,
        })
    }

    /// Says that it is ready, over the server's relay.
    pub(crate) async fn get_ready(&mut self) -> anyhow::Result<()> {
        let seats = self.plan.controllers.len();
        let links = (0..seats).map(|seat| match seat == self.me() {
            true => Link::Direct,
            false => Link::Relay,
        });
        let ready = ClientMessage::Ready {
            era: self.plan.era,
            links: links.collect(),
            rtt_us: vec![20_000; seats],
            loss_permille: vec![None; seats],
        };
        self.page.send(&ready).await
    }

    /// Its seat.
    pub(crate) fn me(&self) -> usize {
        usize::from(self.plan.seat)
    }

    /// The first other seat with a person.
    pub(crate) fn partner(&self) -> usize {
        let mut seats = self.plan.controllers.iter().enumerate();
        let other = seats.find(|(seat, by)| *seat != self.me() && **by == Controller::Human);
        other.map_or(self.me(), |(seat, _)| seat)
    }

    /// The facts of the environment.
    pub(crate) fn spec(&self) -> &env_core::Spec {
        &self.spec
    }

    /// The server's time, microseconds.
    pub(crate) fn server_us(&self) -> u64 {
        (self.offset_us + self.began.elapsed().as_micros() as i64).max(0) as u64
    }

    /// The tick that is due now; none before the first.
    pub(crate) fn tick(&self) -> Option<u32> {
        let (t0_us, _) = self.start?;
        let since_us = self.server_us().checked_sub(t0_us)?;
        Some((since_us * u64::from(self.plan.tick_hz) / 1_000_000) as u32)
    }

    /// Takes part for a while, by its manners.
    pub(crate) async fn run(&mut self, time: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.is_closed {
            self.beat(until).await?;
        }
        Ok(())
    }

    /// Takes part until something is so.
    ///
    /// # Errors
    /// It does not become so in time.
    pub(crate) async fn run_until(
        &mut self,
        patience: Duration,
        is_so: impl Fn(&Self) -> bool,
    ) -> anyhow::Result<()> {
        if !self.run_while(patience, |player| !is_so(player)).await? {
            bail!("the episode does not come where the attack begins");
        }
        Ok(())
    }

    /// Takes part while something is so; false if it still is when the time is up.
    pub(crate) async fn run_while(
        &mut self,
        time: Duration,
        is_so: impl Fn(&Self) -> bool,
    ) -> anyhow::Result<bool> {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.is_closed {
            if !is_so(self) {
                return Ok(true);
            }
            self.beat(until).await?;
        }
        Ok(!is_so(self))
    }

    /// Says what is due, and hears for a moment.
    async fn beat(&mut self, until: Instant) -> anyhow::Result<()> {
        self.say_due().await?;
        let until = until.min(Instant::now() + BEAT);
        loop {
            let next = tokio::time::timeout_at(until, self.page.next()).await;
            match next {
                Ok(message) => match message? {
                    Some(message) => self.hear(message).await?,
                    None => {
                        self.is_closed = true;
                        self.lost = self.lost.or(Some(self.durable));
                        return Ok(());
                    }
                },
                Err(_) => return Ok(()),
            }
        }
    }

    async fn hear(&mut self, message: ServerMessage) -> anyhow::Result<()> {
        match message {
            ServerMessage::Start {
                t0_us, input_delay, ..
            } => self.start = Some((t0_us, input_delay)),
            ServerMessage::Relay { from, bytes } => self.hear_datagram(usize::from(from), &bytes),
            ServerMessage::Archived { through, .. } => self.durable = through,
            ServerMessage::Change { change, .. } => {
                match change.controller == Controller::Human {
                    _ if change.seat != self.plan.seat => {}
                    true => self.plan.life = change.life,
                    false => self.lost = self.lost.or(Some(self.durable)),
                }
                self.changes.push((change.seat, change.controller));
            }
            // The way back into an episode that runs.
            ServerMessage::Match(plan) if plan.running => {
                self.plan = *plan;
                self.get_ready().await?;
            }
            ServerMessage::Ended {
                reason,
                ticks,
                score,
                ..
            } => {
                self.ended = Some(Ended {
                    reason,
                    ticks,
                    score,
                });
            }
            ServerMessage::Stage {
                view: StageView::End {
                    outcome, farewell, ..
                },
                ..
            } => self.end = Some((outcome, farewell.pay)),
            ServerMessage::Fence { seat, life, .. } if self.manners.reports => {
                let heard = &self.inputs[usize::from(seat)];
                let from = heard.len().saturating_sub(MAX_INPUTS);
                let report = Report {
                    seat,
                    life,
                    have: heard.len() as u32,
                    inputs: heard[from..].to_vec(),
                };
                self.report(report).await?;
            }
            ServerMessage::Fence { seat, life, .. } => self.fences.push((seat, life)),
            _ => {}
        }
        Ok(())
    }

    /// Answers a fence.
    pub(crate) async fn report(&mut self, report: Report) -> anyhow::Result<()> {
        let era = self.plan.era;
        self.page.send(&ClientMessage::Report { era, report }).await
    }

    fn layout(&self) -> Layout {
        Layout {
            seats: self.plan.controllers.len() as u8,
            actions: self.spec.actions.len() as u16,
        }
    }

    fn hear_datagram(&mut self, from: usize, bytes: &[u8]) {
        let Some(datagram) = decode_datagram(bytes, self.layout()) else {
            return;
        };
        self.echo[from] = Some((datagram.sent_ms, Instant::now()));
        let me = self.me();
        self.known[from] = self.known[from].max(datagram.have[me]);
        let heard = &mut self.inputs[from];
        let skip = heard.len().checked_sub(datagram.first as usize);
        if let Some(skip) = skip {
            heard.extend(datagram.inputs.iter().skip(skip));
        }
    }

    /// Sends datagrams and uploads that are due.
    async fn say_due(&mut self) -> anyhow::Result<()> {
        if self.ended.is_some() {
            return Ok(());
        }
        if let (Some(tick), Some((_, delay))) = (self.tick(), self.start) {
            let most = (tick + u32::from(delay) + 1).min(self.spec.horizon) as usize;
            let (me, noop) = (self.me(), self.spec.noop);
            let own = &mut self.inputs[me];
            if own.len() < most {
                own.resize(most, noop);
            }
        }
        if self.manners.sends {
            for seat in 0..self.plan.controllers.len() {
                let is_other = seat != self.me();
                if is_other && self.plan.controllers[seat] == Controller::Human {
                    self.send_datagram(seat).await?;
                }
            }
        }
        if self.manners.uploads && self.start.is_some() {
            self.upload_confirmed().await?;
        }
        Ok(())
    }

    async fn send_datagram(&mut self, to: usize) -> anyhow::Result<()> {
        let own = &self.inputs[self.me()];
        let says = self.manners.says_inputs && self.start.is_some();
        let first = if says { self.known[to] as usize } else { 0 };
        let last = own.len().min(first + MAX_INPUTS);
        let inputs = if says && first < last {
            own[first..last].to_vec()
        } else {
            Vec::new()
        };
        let have = self.inputs.iter().map(|heard| heard.len() as u32);
        let datagram = Datagram {
            from: self.plan.seat,
            era: self.plan.era,
            life: self.plan.life,
            delay_ms: self.delay_ms,
            changes: self.changes.len() as u8,
            first: first as u32,
            inputs,
            have: match self.manners.has_receipts {
                true => have.collect(),
                false => vec![0; self.inputs.len()],
            },
            sent_ms: (self.began.elapsed().as_millis() % 65_536) as u16,
            echo: self.echo[to]
                .map(|(sent_ms, since)| (sent_ms, since.elapsed().as_millis().min(255) as u8)),
            ..Datagram::default()
        };
        let bytes = encode_datagram(&datagram, self.layout());
        let to = to as u8;
        self.page.send(&ClientMessage::Relay { to, bytes }).await
    }

    /// Ticks that everybody has everybody's input for, as far as is known here.
    pub(crate) fn confirmed(&self) -> u32 {
        let has = self.inputs.iter().map(|inputs| inputs.len() as u32);
        let others = (0..self.inputs.len()).filter(|seat| *seat != self.me());
        let known = others.map(|seat| self.known[seat]);
        has.chain(known).min().unwrap_or(0)
    }

    async fn upload_confirmed(&mut self) -> anyhow::Result<()> {
        let through = self.confirmed();
        // An honest page uploads four times a second.
        let each = u32::from(self.plan.tick_hz / 4).max(1);
        let is_last = through == self.spec.horizon;
        if through < self.uploaded + each && !(is_last && self.uploaded < through) {
            return Ok(());
        }
        let row = |tick: u32| self.inputs.iter().map(move |inputs| inputs[tick as usize]);
        let rows = (self.uploaded..through).flat_map(row).collect();
        let first = std::mem::replace(&mut self.uploaded, through);
        let ended = is_last.then_some(through);
        self.upload(first, rows, Vec::new(), ended).await
    }

    /// The inputs that the page of a seat said, and the tick before which all of them were heard here.
    pub(crate) fn testimony(&self, seat: usize) -> Testimony {
        let inputs = self.inputs[seat].clone();
        let until = self
            .lost
            .map_or(u32::MAX, |lost| lost.max(inputs.len() as u32));
        Testimony {
            seat,
            inputs,
            until,
        }
    }

    /// Uploads rows, digests and an end, true or not.
    pub(crate) async fn upload(
        &mut self,
        first: u32,
        rows: Vec<u16>,
        digests: Vec<(u32, u64)>,
        ended: Option<u32>,
    ) -> anyhow::Result<()> {
        let upload = Upload {
            era: self.plan.era,
            life: self.plan.life,
            first,
            rows,
            digests,
            ended,
            timing: None,
        };
        self.page.send(&ClientMessage::Upload(upload)).await
    }

    /// Asks for its seat, which it has lost.
    pub(crate) async fn take_back(&mut self) -> anyhow::Result<()> {
        let era = self.plan.era;
        self.page.send(&ClientMessage::TakeBack { era }).await
    }

    /// True if it has its seat.
    pub(crate) fn is_seated(&self) -> bool {
        let mut changes = self.changes.iter().rev();
        let last = changes.find(|(seat, _)| *seat == self.plan.seat);
        last.is_none_or(|(_, by)| *by == Controller::Human)
    }

    /// Says that a seat is silent, or is heard again.
    pub(crate) async fn claim_silence(&mut self, seat: usize, silent: bool) -> anyhow::Result<()> {
        let claim = ClientMessage::Silent {
            era: self.plan.era,
            seat: seat as u8,
            silent,
        };
        self.page.send(&claim).await
    }

    /// A whole episode of skilled people, whom nobody has seen: the action of every seat in every tick, and the score.
    pub(crate) fn invent(&self, policy: &str) -> anyhow::Result<(Vec<u16>, i64)> {
        let opened = env_core::envs::open(&self.plan.env, &self.plan.params);
        let mut world = opened.map_err(|error| anyhow::anyhow!("{error}"))?;
        world.reset(self.plan.seed);
        let seats = self.plan.controllers.len();
        let mut people = Vec::new();
        for seat in 0..seats {
            let mut hand = policy::by_name(policy, world.spec()).context("no such policy")?;
            hand.reset(seat, self.plan.seed);
            people.push(hand);
        }
        let (mut rows, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..self.spec.horizon {
            let row: Vec<u16> = (people.iter_mut().enumerate())
                .map(|(seat, hand)| {
                    world.observe(seat, &mut seen);
                    hand.act(&seen)
                })
                .collect();
            world.step(&row);
            rows.extend(row);
        }
        Ok((rows, world.score()))
    }
}
