//! Further deeds of a dishonest page in an episode: it comes back over another connection, seals what it wants, and computes
//! the digests that the server has.

use anyhow::Context as _;
use env_core::World as _;
use tokio::time::Instant;

use crate::page::{PATIENCE, Page};
use crate::player::Player;
use crate::wire::chain::{encode_seal, sign_seal};
use crate::wire::messages::{ClientMessage, Entry, Return};

/// The episode that a page says it still simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Simulates {
    /// That of its present life.
    Still,
    /// None: it was reloaded.
    Nothing,
    /// That of its present life, but it has another key.
    WithOtherKey,
}

impl Player {
    /// Comes back to its session over a new connection. The one before stays open until the server closes it.
    pub(crate) async fn come_again(
        &mut self,
        address: &str,
        simulates: Simulates,
    ) -> anyhow::Result<()> {
        let mut page = Page::connect(address).await?;
        page.key = match simulates {
            Simulates::WithOtherKey => self.page.other_key(),
            Simulates::Still | Simulates::Nothing => self.page.key.clone(),
        };
        let token = self.page.token.clone().context("it has no session")?;
        let playing = (self.plan.era, self.plan.life);
        let playing = (simulates != Simulates::Nothing).then_some(playing);
        let refused = page.say_hello(Entry::Resume { token, playing }).await?;
        anyhow::ensure!(refused.is_none(), "its way back is refused: {refused:?}");
        (self.page, self.is_closed) = (page, false);
        Ok(())
    }

    /// The same after an outage of the server, again and again until it is let in.
    pub(crate) async fn come_again_soon(&mut self, address: &str) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.come_again(address, Simulates::Still).await {
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Sends a partner a seal over inputs from the first tick of its present life on.
    pub(crate) async fn send_seal(&mut self, to: usize, inputs: &[u16]) -> anyhow::Result<()> {
        let (plan, first) = (&self.plan, self.entered);
        let signature = sign_seal(
            &self.page.key,
            &plan.episode,
            (plan.seat, plan.life),
            first,
            inputs,
        );
        let through = first + inputs.len() as u32;
        let bytes = encode_seal((plan.seat, plan.life), plan.era, through, &signature);
        let to = to as u8;
        self.page.send(&ClientMessage::Relay { to, bytes }).await
    }

    /// The inputs of its present life that a partner was told.
    pub(crate) fn said(&self) -> Vec<u16> {
        let all = &self.inputs[self.me()];
        all.get(self.entered as usize..)
            .unwrap_or_default()
            .to_vec()
    }

    /// The digests that the server has, after each quarter of a second of ticks, as far as it is final and all inputs of
    /// everybody's first life were heard. Everybody must be a person, and have told everybody the same.
    pub(crate) fn true_digests(&self) -> anyhow::Result<Vec<(u32, u64)>> {
        let opened = env_core::envs::open(&self.plan.env, &self.plan.params);
        let mut world = opened.map_err(|error| anyhow::anyhow!("{error}"))?;
        world.reset(self.plan.seed);
        let each = u32::from(self.plan.tick_hz / 4).max(1);
        let heard = self.inputs.iter().map(|inputs| inputs.len() as u32);
        let known = heard.chain(self.words_until.iter().copied()).min();
        let mut digests = Vec::new();
        for tick in 0..self.durable.min(known.unwrap_or(0)) {
            let row: Vec<u16> = (self.inputs.iter())
                .map(|inputs| inputs[tick as usize])
                .collect();
            world.step(&row);
            if (tick + 1) % each == 0 {
                digests.push((tick + 1, world.digest()));
            }
        }
        Ok(digests)
    }

    /// Plays on from where the server says.
    pub(crate) fn come_back(&mut self, back: &Return) {
        self.returns += 1;
        self.start = Some((back.t0_us, back.input_delay));
        self.changes = (back.changes.iter())
            .map(|change| (change.seat, change.controller.clone()))
            .collect();
        let me = self.plan.seat;
        let last = back.changes.iter().rfind(|change| change.seat == me);
        if let Some(last) = last {
            self.begin_life(last.life, last.tick);
        }
    }
}
