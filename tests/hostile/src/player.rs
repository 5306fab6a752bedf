//! A dishonest page in an episode: it keeps up appearances as far as its manners say, and the attack does the rest.

mod datagrams;
mod pace;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use env_core::World as _;
use tokio::time::Instant;

use crate::conduct::{Ended, Manners, Receipts, Testimony, Words};
use crate::page::{PATIENCE, Page};
use crate::wire::chain::Chain;
use crate::wire::datagram::Layout;
use crate::wire::messages::{
    Block, Change, ClientMessage, Controller, EnvWay, Link, Plan, Refusal, ServerMessage,
    StageView, Upload,
};

/// How often it looks at the clock.
const BEAT: Duration = Duration::from_millis(20);

/// How often it asks for the server's time.
const CLOCK_EACH: Duration = Duration::from_millis(250);

/// More choices than a person makes on a host.
const MAX_CHOICES: u32 = 100_000;

/// A page in an episode.
pub(crate) struct Player {
    pub page: Page,
    pub plan: Plan,
    pub manners: Manners,
    pub words: Words,
    /// The own inputs from tick 0; the no-op beyond.
    pub skill: Vec<u16>,
    /// The own inputs that the server was told, by tick.
    pub told: BTreeMap<u32, u16>,
    /// The chain of the present life.
    pub chain: Chain,
    /// The zero of the episode by the server's clock, microseconds, and the input delay; none before it starts.
    pub start: Option<(u64, u8)>,
    /// The inputs of each seat from tick 0, as far as they are known here; its own as far as they were said.
    pub inputs: Vec<Vec<u16>>,
    /// Changes of seats, in order.
    pub changes: Vec<(u8, Controller)>,
    /// Ticks that were durable when it lost its seat, and heard nothing of the others from then on.
    pub lost: Option<u32>,
    /// The delay that its datagrams tell of, milliseconds.
    pub delay_ms: u32,
    /// Ticks that the server says are final.
    pub durable: u32,
    /// Own inputs that the server says are durable.
    pub own: u32,
    /// Notes that the server says are durable.
    pub notes: u32,
    /// The last request to say digests anew.
    pub recheck: u16,
    /// The last seal of a partner: the tick after its last input, and the signature.
    pub seal: Option<(u32, [[u8; 32]; 2])>,
    /// Messages with inputs of others from the server.
    pub helped: u32,
    /// Why the server has closed the connection, if it said so.
    pub refused: Option<Refusal>,
    pub ended: Option<Ended>,
    /// The last page, if it is shown: outcome and pay.
    pub end: Option<(String, String)>,
    /// True once the server has closed the connection.
    pub is_closed: bool,
    pub spec: env_core::Spec,
    /// Ticks of a hosted world that were shown here.
    pub shown: u32,
    offset_us: i64,
    began: Instant,
    known: Vec<u32>,
    echo: Vec<Option<(u16, Instant)>>,
    /// The first tick of the present life, and how often the server has brought it back.
    pub entered: u32,
    pub returns: u32,
    has_ended: bool,
    salts: u64,
    /// When it last asked for the time, and the longest wait for an answer or for its own turn: a machine that stands
    /// still is not the program's fault.
    asked: Instant,
    pub stall: Duration,
    /// For each seat, the tick before which what was heard is its page's first life.
    pub words_until: Vec<u32>,
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
        let spec = read_spec(&plan)?;
        let seats = plan.controllers.len();
        Ok(Self {
            page,
            manners: Manners::HONEST,
            words: Words::HONEST,
            skill: Vec::new(),
            told: BTreeMap::new(),
            chain: Chain::new(&plan.episode, plan.seat, plan.life, 0),
            start: None,
            inputs: vec![Vec::new(); seats],
            changes: Vec::new(),
            lost: None,
            delay_ms: 0,
            durable: 0,
            own: 0,
            notes: 0,
            recheck: 0,
            seal: None,
            helped: 0,
            refused: None,
            ended: None,
            end: None,
            is_closed: false,
            spec,
            shown: 0,
            offset_us: server_us as i64 - (began.elapsed().as_micros() / 2) as i64,
            began,
            known: vec![0; seats],
            echo: vec![None; seats],
            entered: 0,
            returns: 0,
            has_ended: false,
            salts: 0,
            asked: began,
            stall: Duration::ZERO,
            words_until: vec![u32::MAX; seats],
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

    /// The server's time, microseconds.
    pub(crate) fn server_us(&self) -> u64 {
        (self.offset_us + self.began.elapsed().as_micros() as i64).max(0) as u64
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

    /// Sends the inputs that are due, and listens for a moment.
    async fn beat(&mut self, until: Instant) -> anyhow::Result<()> {
        self.say_due().await?;
        if self.asked.elapsed() > CLOCK_EACH {
            self.asked = Instant::now();
            let sent_us = self.began.elapsed().as_micros() as u64;
            self.page.send(&ClientMessage::Clock { sent_us }).await?;
        }
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
            ServerMessage::Archived {
                through,
                own,
                notes,
                ..
            } => {
                (self.durable, self.own, self.notes) = (through, own, notes);
            }
            ServerMessage::Running {
                through,
                own,
                changes,
                ..
            } => {
                (self.durable, self.own) = (through, own);
                let known = self.changes.len();
                changes
                    .iter()
                    .skip(known)
                    .for_each(|change| self.hear_change(change));
            }
            ServerMessage::Clock { sent_us, .. } => {
                let waited = self
                    .began
                    .elapsed()
                    .saturating_sub(Duration::from_micros(sent_us));
                self.stall = self.stall.max(waited);
            }
            ServerMessage::Refused { why } => self.refused = Some(why),
            ServerMessage::Recheck { number, .. } => self.recheck = number,
            ServerMessage::Inputs { .. } => self.helped += 1,
            ServerMessage::Return(back) => self.come_back(&back),
            ServerMessage::Change { change, .. } => self.hear_change(&change),
            ServerMessage::View(view) => self.hear_view(&view).await?,
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
            _ => {}
        }
        Ok(())
    }

    /// A seat changes hands.
    fn hear_change(&mut self, change: &Change) {
        if change.seat == self.plan.seat && change.controller != Controller::Human {
            self.lost = self.lost.or(Some(self.durable));
        }
        let until = &mut self.words_until[usize::from(change.seat)];
        *until = (*until).min(change.tick);
        self.changes.push((change.seat, change.controller.clone()));
    }

    /// Begins a life of its seat at a tick.
    pub(crate) fn begin_life(&mut self, life: u8, first: u32) {
        let (me, noop) = (self.me(), self.spec.noop);
        (self.plan.life, self.entered) = (life, first);
        self.chain = Chain::new(&self.plan.episode, self.plan.seat, life, first);
        (self.recheck, self.own) = (0, first);
        self.inputs[me].resize(first as usize, noop);
        for known in &mut self.known {
            *known = (*known).max(first);
        }
    }

    fn layout(&self) -> Layout {
        Layout {
            seats: self.plan.controllers.len() as u8,
            actions: self.spec.actions.len() as u16,
        }
    }

    /// Sends datagrams and uploads that are due.
    async fn say_due(&mut self) -> anyhow::Result<()> {
        if self.ended.is_some() {
            return Ok(());
        }
        if let Some(due) = self.due() {
            let me = self.me();
            for tick in self.inputs[me].len()..due as usize {
                let input = self.own_input(tick);
                self.inputs[me].push(input);
            }
        }
        if self.manners.sends && !self.is_hosted() {
            for seat in 0..self.plan.controllers.len() {
                let is_other = seat != self.me();
                if is_other && self.plan.controllers[seat] == Controller::Human {
                    self.send_datagram(seat).await?;
                }
            }
        }
        if self.manners.uploads && self.tick().is_some() && self.is_seated() {
            self.upload_words().await?;
        }
        Ok(())
    }

    fn own_input(&self, tick: usize) -> u16 {
        self.skill.get(tick).copied().unwrap_or(self.spec.noop)
    }

    /// Tells the server the next inputs, if it is time for them.
    async fn upload_words(&mut self) -> anyhow::Result<()> {
        let horizon = self.spec.horizon;
        // In a new life, inputs before its first tick are not needed, and inputs after it are not due immediately.
        let made = self.inputs[self.me()].len() as u32;
        let due = self.due().unwrap_or(0).min(made);
        let end = due.saturating_add_signed(self.words.ahead);
        let mut end = end.min(horizon).min(self.words.until);
        if self.words.is_level {
            end = end.min(self.heard());
        }
        let each = match self.words.is_level {
            // What is left of a part would be behind.
            true => 1,
            false => self.ticks_each(),
        };
        let from = self.chain.next;
        if end >= from + each || (from < end && end == horizon) {
            self.upload_until(end).await?;
        }
        if self.manners.ends && !self.has_ended && self.confirmed() >= horizon {
            self.has_ended = true;
            let upload = Upload {
                ended: Some(horizon),
                ..self.upload()
            };
            self.send_upload(upload).await?;
        }
        Ok(())
    }

    /// Signs the next words, and tells the server.
    pub(crate) async fn upload_until(&mut self, end: u32) -> anyhow::Result<()> {
        let actions = self.layout().actions;
        let inputs: Vec<u16> = (self.chain.next..end)
            .map(|tick| {
                let own = &self.inputs[self.me()];
                let made = own.get(tick as usize).copied();
                let input = made.unwrap_or_else(|| self.own_input(tick as usize));
                match self.words.lies_to {
                    None => (self.words.twist)(tick, input, actions),
                    Some(_) => input,
                }
            })
            .collect();
        if inputs.is_empty() {
            return Ok(());
        }
        self.told
            .extend((self.chain.next..).zip(inputs.iter().copied()));
        let block = self.sign(inputs);
        let upload = Upload {
            block: Some(block),
            ..self.upload()
        };
        self.send_upload(upload).await
    }

    /// Signs the next block of its chain.
    pub(crate) fn sign(&mut self, inputs: Vec<u16>) -> Block {
        let salt = self.salt();
        self.chain.sign(&self.page.key, inputs, salt)
    }

    /// A salt that was not used before.
    pub(crate) fn salt(&mut self) -> [u8; 16] {
        self.salts += 1;
        let mut salt = [0x5a; 16];
        salt[..8].copy_from_slice(&self.salts.to_le_bytes());
        salt
    }

    /// An upload that says nothing yet.
    pub(crate) fn upload(&self) -> Upload {
        Upload {
            era: self.plan.era,
            life: self.plan.life,
            changes: self.changes.len() as u16,
            recheck: self.recheck,
            ..Upload::default()
        }
    }

    /// Sends an upload, true or not.
    pub(crate) async fn send_upload(&mut self, upload: Upload) -> anyhow::Result<()> {
        self.page.send(&ClientMessage::Upload(upload)).await
    }

    /// The inputs that the page of a seat said, and the tick before which all of them were heard here.
    pub(crate) fn testimony(&self, seat: usize) -> Testimony {
        let inputs = self.inputs[seat].clone();
        let heard = inputs.len() as u32;
        // Not all is sent to a page that goes, that acknowledges nothing or too much, or that was away for a while.
        let is_to_the_end = self.ended.is_some() || self.lost.is_some();
        let hears_all = is_to_the_end
            && self.manners.sends
            && self.manners.receipts == Receipts::True
            && self.entered == 0
            && !self.is_hosted()
            && self.words_until[seat] == u32::MAX;
        let until = match self.lost {
            None if hears_all => u32::MAX,
            Some(lost) if hears_all => lost.max(heard),
            _ => heard.min(self.words_until[seat]),
        };
        Testimony {
            seat,
            inputs,
            until,
        }
    }

    /// The inputs that the server was told of the own seat, as its testimony.
    pub(crate) fn own_testimony(&self) -> Testimony {
        let told = |tick: u32| self.told.get(&tick).copied().unwrap_or(u16::MAX);
        let end = self.told.last_key_value().map_or(0, |(tick, _)| tick + 1);
        Testimony {
            seat: self.me(),
            inputs: (0..end).map(told).collect(),
            // On a host, only the log knows which tick a choice entered.
            until: if self.is_hosted() { 0 } else { u32::MAX },
        }
    }

    /// Uploads digests, true or not.
    pub(crate) async fn upload_digests(&mut self, digests: Vec<(u32, u64)>) -> anyhow::Result<()> {
        let upload = Upload {
            digests,
            ..self.upload()
        };
        self.send_upload(upload).await
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
}

/// The spec of an environment; of one on a host, whose parameters no page gets, with the greatest number of ticks.
fn read_spec(plan: &Plan) -> anyhow::Result<env_core::Spec> {
    let is_hosted = plan.way == EnvWay::Host;
    let params = if is_hosted { "{}" } else { &plan.params };
    let world = env_core::envs::open(&plan.env, params)
        .map_err(|error| anyhow::anyhow!("the environment does not open: {error}"))?;
    let mut spec = world.spec().clone();
    if is_hosted {
        spec.horizon = MAX_CHOICES;
    }
    Ok(spec)
}
