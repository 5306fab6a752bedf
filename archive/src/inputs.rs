//! The inputs of a seat that wait for their row, from the pages that play it: each signed by its page.
//!
//! A row is played once the inputs of all people for its tick are here. What others say about somebody's inputs is not
//! used.

use std::collections::VecDeque;

use env_core::Action;
use protocol::chain::{Chain, ChainError, PageKey};
use protocol::control::Block;
use protocol::{Life, Seat, Tick};

/// The inputs of a person in one life of a seat.
#[derive(Clone, Debug)]
pub(crate) struct SeatInputs {
    key: PageKey,
    chain: Chain,
    /// Inputs that are in no row yet; the last one is that of the tick before `chain.next()`.
    ahead: VecDeque<Action>,
}

impl SeatInputs {
    /// No inputs yet, from tick `first` on, of the page with this key.
    pub(crate) fn new(episode: &str, seat: Seat, life: Life, first: Tick, key: [u8; 32]) -> Self {
        Self {
            key: PageKey::new(&key),
            chain: Chain::new(episode, seat, life, first),
            ahead: VecDeque::new(),
        }
    }

    /// The first tick that the page has not said anything of.
    pub(crate) fn next(&self) -> Tick {
        self.chain.next()
    }

    /// Checks the next block, and returns the inputs with it.
    ///
    /// # Errors
    /// [`ChainError`].
    pub(crate) fn with_block(&self, block: &Block) -> Result<Self, ChainError> {
        let mut more = self.clone();
        more.chain.accept_block(&self.key, block)?;
        more.ahead.extend(&block.inputs);
        Ok(more)
    }

    /// The tick of the first input that is in no row.
    fn first(&self) -> u32 {
        self.next().0 - self.ahead.len() as u32
    }

    /// The input for a tick that is in no row yet, if the page has said it.
    pub(crate) fn action_at(&self, tick: Tick) -> Option<Action> {
        let index = tick.0.checked_sub(self.first())?;
        self.ahead.get(index as usize).copied()
    }

    /// All inputs from a tick on that are in no row yet.
    pub(crate) fn actions_from(&self, tick: Tick) -> impl Iterator<Item = Action> + '_ {
        let known = tick.0.saturating_sub(self.first()) as usize;
        self.ahead.iter().copied().skip(known)
    }

    /// Forgets the inputs before a tick: they are in rows.
    pub(crate) fn forget_before(&mut self, tick: Tick) {
        let known = tick.0.saturating_sub(self.first()) as usize;
        self.ahead.drain(..known.min(self.ahead.len()));
    }
}
