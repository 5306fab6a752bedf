//! The module form of an environment: version 2 of the binary interface that `docs/environment-abi.md` describes.
//!
//! [`export_env!`](crate::export_env) gives a `cdylib` the exports; [`Host`] has the state behind them.
//! Rust hosts of modules read outcomes with [`decode_outcome`].

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::cell::UnsafeCell;

use crate::contract::{Action, Environment, MAX_SEATS, StepEvent, StepOutcome, World};
use crate::draw::DrawList;
use crate::envs::build_environment;
use crate::instance::Instance;

/// Version of the interface.
pub const VERSION: u32 = 2;
/// The oldest version whose modules still run: missing parts are optional.
pub const OLDEST_VERSION: u32 = 1;
/// Number of slots of a module.
pub const SLOTS: u32 = 64;
/// The longest message that a module takes, bytes.
pub const INBOX_LIMIT: u32 = 1 << 20;

/// Writes an outcome for this many seats, each with this many components of its reward: rewards `f32` per seat,
/// terminated `u16`, truncated `u16`, over `u32`, number of events `u32`, then each event: kind `u16`, seat `u8`, 0 or
/// one more than the seat to which it happened `u8`, value `f32`; then components `f32`, seat by seat; little-endian.
pub fn encode_outcome(outcome: &StepOutcome, seats: usize, components: usize, out: &mut Vec<u8>) {
    // Reserves all the room in one go: bytes that are added one by one are most of the cost of a step in a module.
    let rewards = outcome.rewards.iter().take(seats);
    let start = out.len();
    let parts = seats * components;
    out.resize(
        start + 4 * (rewards.len() + parts) + 12 + 8 * outcome.events.len(),
        0,
    );
    let mut rest = &mut out[start..];
    for reward in rewards {
        put(&mut rest, reward.to_le_bytes());
    }
    put(&mut rest, outcome.terminated.to_le_bytes());
    put(&mut rest, outcome.truncated.to_le_bytes());
    put(&mut rest, u32::from(outcome.over).to_le_bytes());
    put(&mut rest, (outcome.events.len() as u32).to_le_bytes());
    for event in &outcome.events {
        put(&mut rest, event.kind.to_le_bytes());
        let to = event.to.map_or(0, |seat| seat.saturating_add(1));
        put(&mut rest, [event.seat, to]);
        put(&mut rest, event.value.to_le_bytes());
    }
    // Components of seats that earned nothing stay zero.
    for part in outcome.components.iter().take(parts) {
        put(&mut rest, part.to_le_bytes());
    }
}

/// Writes some bytes and leaves the place after them.
#[inline]
fn put<const N: usize>(rest: &mut &mut [u8], bytes: [u8; N]) {
    if let Some((here, after)) = core::mem::take(rest).split_first_chunk_mut::<N>() {
        *here = bytes;
        *rest = after;
    }
}

/// Reads what [`encode_outcome`] wrote into `outcome`, whose memory is reused; `None` if the bytes are malformed,
/// and then `outcome` holds nothing of use.
pub fn decode_outcome(
    mut bytes: &[u8],
    seats: usize,
    components: usize,
    outcome: &mut StepOutcome,
) -> Option<()> {
    fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (first, rest) = bytes.split_first_chunk::<N>()?;
        *bytes = rest;
        Some(*first)
    }
    outcome.clear();
    for reward in outcome.rewards.get_mut(..seats)? {
        *reward = f32::from_le_bytes(take(&mut bytes)?);
    }
    outcome.terminated = u16::from_le_bytes(take(&mut bytes)?);
    outcome.truncated = u16::from_le_bytes(take(&mut bytes)?);
    outcome.over = u32::from_le_bytes(take(&mut bytes)?) != 0;
    for _ in 0..u32::from_le_bytes(take(&mut bytes)?) {
        let kind = u16::from_le_bytes(take(&mut bytes)?);
        let [seat, to] = take(&mut bytes)?;
        outcome.events.push(StepEvent {
            kind,
            seat,
            to: to.checked_sub(1),
            value: f32::from_le_bytes(take(&mut bytes)?),
        });
    }
    for _ in 0..seats * components {
        outcome
            .components
            .push(f32::from_le_bytes(take(&mut bytes)?));
    }
    bytes.is_empty().then_some(())
}

/// The state behind the exports of a module: one instance, and the two buffers of its messages.
///
/// It trusts no number of its caller: numbers out of range are ignored, clamped or answered by an error.
#[derive(Debug)]
pub struct Host<E: Environment> {
    /// `None` as long as nothing opened: the environment refuses its own defaults.
    instance: Option<Instance<E>>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    observation: Vec<f32>,
    text: String,
    picture: DrawList,
}

impl<E: Environment> Host<E> {
    /// Creates a module that was just loaded: open with the default parameters, at the first state of seed 0.
    ///
    /// An environment that refuses its own defaults is not open: [`Host::open`] says why, and until it opens with
    /// others, every other call returns an empty answer.
    pub fn new() -> Self {
        Self {
            instance: E::new(E::Params::default()).ok().map(Instance::new),
            inbox: Vec::new(),
            outbox: Vec::new(),
            observation: Vec::new(),
            text: String::new(),
            picture: DrawList::default(),
        }
    }

    /// Makes room for a message of this many bytes and returns its place; null over [`INBOX_LIMIT`].
    pub fn inbox(&mut self, len: u32) -> *mut u8 {
        if len > INBOX_LIMIT {
            return core::ptr::null_mut();
        }
        if self.inbox.len() < len as usize {
            self.inbox.resize(len as usize, 0);
        }
        self.inbox.as_mut_ptr()
    }

    /// The last message of the module.
    pub fn outbox(&self) -> &[u8] {
        &self.outbox
    }

    /// Returns the last message of the caller; cut to the room that it made.
    fn message(&self, len: u32) -> &[u8] {
        cut(&self.inbox, len)
    }

    fn answer(&mut self, bytes: &[u8]) -> u32 {
        self.outbox.clear();
        self.outbox.extend_from_slice(bytes);
        self.outbox.len() as u32
    }

    /// Opens the environment with the parameters in the inbox: 0, or minus the length of the reason.
    pub fn open(&mut self, len: u32) -> i32 {
        match build_environment::<E>(self.message(len)) {
            Ok(env) => {
                self.instance = Some(Instance::new(env));
                0
            }
            Err(error) => -(self.answer(error.to_string().as_bytes()) as i32),
        }
    }

    /// Tells spec, schema of the parameters and sprites, as JSON.
    pub fn facts(&mut self) -> u32 {
        let Some(instance) = &self.instance else {
            return self.answer(b"");
        };
        let spec = serde_json::to_string(instance.spec()).expect("a spec has string keys only");
        let sprites = serde_json::to_string(E::sprites()).expect("a sprite has string keys only");
        let schema = E::params_schema();
        self.answer(
            alloc::format!(r#"{{"spec":{spec},"params_schema":{schema},"sprites":{sprites}}}"#)
                .as_bytes(),
        )
    }

    /// Starts the episode of a seed.
    pub fn reset(&mut self, seed: i64) {
        if let Some(instance) = &mut self.instance {
            instance.reset(seed.cast_unsigned());
        }
    }

    /// Steps with the actions in the inbox, one `u16` a seat; 1 if the episode is over.
    pub fn step(&mut self, seats: u32) -> u32 {
        let seats = MAX_SEATS.min(seats as usize);
        self.outbox.clear();
        let Some(instance) = &mut self.instance else {
            let over = StepOutcome {
                over: true,
                ..StepOutcome::default()
            };
            encode_outcome(&over, seats, 0, &mut self.outbox);
            return 1;
        };
        let mut actions = [instance.spec().noop; MAX_SEATS];
        for (action, bytes) in actions
            .iter_mut()
            .zip(cut(&self.inbox, 2 * seats as u32).chunks_exact(2))
        {
            *action = Action::from_le_bytes([bytes[0], bytes[1]]);
        }
        let components = instance.spec().components.len();
        let outcome = instance.step(&actions[..seats]);
        encode_outcome(outcome, seats, components, &mut self.outbox);
        u32::from(outcome.over)
    }

    /// Observes as a seat; 0 bytes for a seat that does not exist.
    pub fn observe(&mut self, seat: u32) -> u32 {
        self.outbox.clear();
        if let Some(instance) = seated(&mut self.instance, seat) {
            instance.observe(seat as usize, &mut self.observation);
            self.outbox.resize(4 * self.observation.len(), 0);
            let mut rest = self.outbox.as_mut_slice();
            for value in &self.observation {
                put(&mut rest, value.to_le_bytes());
            }
        }
        self.outbox.len() as u32
    }

    /// Describes the state to a seat; 0 bytes for a seat that does not exist.
    pub fn describe(&mut self, seat: u32) -> u32 {
        self.outbox.clear();
        if let Some(instance) = seated(&mut self.instance, seat) {
            instance.describe(seat as usize, &mut self.text);
            self.outbox.extend_from_slice(self.text.as_bytes());
        }
        self.outbox.len() as u32
    }

    /// Returns the actions that may have an effect for a seat, one bit each; no bits for a seat that does not exist.
    pub fn mask(&mut self, seat: u32) -> i64 {
        seated(&mut self.instance, seat)
            .map_or(0, |instance| instance.mask(seat as usize).cast_signed())
    }

    /// The seats whose actions count in the next step, a bit each.
    pub fn acting(&mut self) -> u32 {
        let acting = self.instance.as_mut().map_or(0, World::acting);
        acting.into()
    }

    /// The score of a seat; 0 for one that does not exist.
    pub fn seat_score(&mut self, seat: u32) -> i64 {
        seated(&mut self.instance, seat).map_or(0, |instance| instance.seat_score(seat as usize))
    }

    /// The action that the point in the inbox, two `f32`, means on a seat's picture; -1 for none.
    pub fn point(&mut self, seat: u32) -> i32 {
        let mut at = [0.0; 2];
        for (value, bytes) in at.iter_mut().zip(cut(&self.inbox, 8).chunks_exact(4)) {
            *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        let action = seated(&mut self.instance, seat).and_then(|one| one.point(seat as usize, at));
        action.map_or(-1, i32::from)
    }

    /// Draws all of the state.
    pub fn draw(&mut self) -> u32 {
        self.picture_of(None)
    }

    /// Draws the state as a seat sees it; 0 bytes for a seat that does not exist.
    pub fn draw_for(&mut self, seat: u32) -> u32 {
        match seated(&mut self.instance, seat) {
            Some(_) => self.picture_of(Some(seat as usize)),
            None => self.answer(b""),
        }
    }

    fn picture_of(&mut self, seat: Option<usize>) -> u32 {
        let Some(instance) = &mut self.instance else {
            return self.answer(b"");
        };
        instance.draw(seat, &mut self.picture);
        self.outbox.clear();
        let outbox = core::mem::take(&mut self.outbox);
        self.outbox =
            postcard::to_extend(&self.picture, outbox).expect("plain data serialises into memory");
        self.outbox.len() as u32
    }

    /// Keeps the state in a slot; a slot that does not exist keeps nothing.
    pub fn save(&mut self, slot: u32) {
        if let Some(instance) = self.instance.as_mut().filter(|_| slot < SLOTS) {
            instance.save(slot as usize);
        }
    }

    /// Brings back the state of a slot; without one the state stays.
    pub fn load(&mut self, slot: u32) {
        if let Some(instance) = &mut self.instance {
            instance.load(slot as usize);
        }
    }

    /// Digest of the state.
    pub fn digest(&mut self) -> i64 {
        let digest = self.instance.as_mut().map_or(0, World::digest);
        digest.cast_signed()
    }

    /// The score.
    pub fn score(&mut self) -> i64 {
        self.instance.as_mut().map_or(0, World::score)
    }

    /// Gives the canonical bytes of the state.
    pub fn state(&mut self) -> u32 {
        self.outbox.clear();
        if let Some(instance) = &mut self.instance {
            instance.state(&mut self.outbox);
        }
        self.outbox.len() as u32
    }

    /// Takes up the state in the inbox: 0, or -1 and the state stays.
    pub fn restore(&mut self, len: u32) -> i32 {
        let bytes = cut(&self.inbox, len);
        let restore = |instance: &mut Instance<E>| instance.restore(bytes).is_ok();
        match self.instance.as_mut().is_some_and(restore) {
            true => 0,
            false => -1,
        }
    }

    /// Replaces the random draws of the next step by the `u32` words in the inbox.
    pub fn inject(&mut self, words: u32) {
        let bytes = self.message(words.saturating_mul(4)).chunks_exact(4);
        let words: Vec<u32> = bytes
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        if let Some(instance) = &mut self.instance {
            instance.inject(&words);
        }
    }
}

/// The first bytes of a message, as many as there is room for.
fn cut(inbox: &[u8], len: u32) -> &[u8] {
    &inbox[..inbox.len().min(len as usize)]
}

/// The environment, if it is open and has this seat.
fn seated<E: Environment>(
    instance: &mut Option<Instance<E>>,
    seat: u32,
) -> Option<&mut Instance<E>> {
    let instance = instance.as_mut()?;
    (seat < u32::from(instance.spec().seats)).then_some(instance)
}

impl<E: Environment> Default for Host<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// The one host of a module, made by the first call.
#[derive(Debug)]
pub struct ModuleHost<E: Environment>(UnsafeCell<Option<Host<E>>>);

// SAFETY: a module of WebAssembly without threads has one; elsewhere `with` is unsafe and says so.
#[allow(unsafe_code, reason = "the exports of a module share one instance")]
unsafe impl<E: Environment> Sync for ModuleHost<E> {}

impl<E: Environment> ModuleHost<E> {
    /// A module that nobody called yet.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// Calls the host.
    ///
    /// # Safety
    /// One thread only, and `call` must not call back into the same module.
    #[allow(unsafe_code, reason = "the exports of a module share one instance")]
    pub unsafe fn with<T>(&self, call: impl FnOnce(&mut Host<E>) -> T) -> T {
        // SAFETY: by the contract above, no other reference to the host lives while `call` runs.
        let host = unsafe { &mut *self.0.get() };
        call(host.get_or_insert_default())
    }
}

impl<E: Environment> Default for ModuleHost<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// Exports an environment from a `cdylib` by the interface of `docs/environment-abi.md`:
/// `env_core::export_env!(MyEnvironment);`.
#[macro_export]
macro_rules! export_env {
    ($environment:ty) => {
        static MODULE: $crate::abi::ModuleHost<$environment> = $crate::abi::ModuleHost::new();

        $crate::export_env! { @exports
            coplay_inbox(len: u32) -> *mut u8 = |host| host.inbox(len);
            coplay_outbox() -> *const u8 = |host| host.outbox().as_ptr();
            coplay_open(len: u32) -> i32 = |host| host.open(len);
            coplay_facts() -> u32 = |host| host.facts();
            coplay_reset(seed: i64) -> () = |host| host.reset(seed);
            coplay_step(seats: u32) -> u32 = |host| host.step(seats);
            coplay_observe(seat: u32) -> u32 = |host| host.observe(seat);
            coplay_describe(seat: u32) -> u32 = |host| host.describe(seat);
            coplay_draw() -> u32 = |host| host.draw();
            coplay_save(slot: u32) -> () = |host| host.save(slot);
            coplay_load(slot: u32) -> () = |host| host.load(slot);
            coplay_digest() -> i64 = |host| host.digest();
            coplay_score() -> i64 = |host| host.score();
            coplay_state() -> u32 = |host| host.state();
            coplay_restore(len: u32) -> i32 = |host| host.restore(len);
            coplay_inject(words: u32) -> () = |host| host.inject(words);
            coplay_mask(seat: u32) -> i64 = |host| host.mask(seat);
            coplay_acting() -> u32 = |host| host.acting();
            coplay_seat_score(seat: u32) -> i64 = |host| host.seat_score(seat);
            coplay_draw_for(seat: u32) -> u32 = |host| host.draw_for(seat);
            coplay_point(seat: u32) -> i32 = |host| host.point(seat);
        }

        /// The version of the interface.
        #[unsafe(no_mangle)]
        pub extern "C" fn coplay_abi() -> u32 {
            $crate::abi::VERSION
        }
    };
    (@exports $($name:ident($($argument:ident: $type:ty)?) -> $result:ty = |$host:ident| $call:expr;)*) => {
        $(
            #[doc = concat!("See `", stringify!($name), "` in `docs/environment-abi.md`.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $type)?) -> $result {
                // SAFETY: a module has one thread, and it imports nothing that could call it back.
                unsafe { MODULE.with(|$host| $call) }
            }
        )*
    };
}

#[cfg(test)]
mod tests;
