//! A module as a [`World`]: the calling side of the interface that `docs/environment-abi.md` describes.
//!
//! It trusts nothing that a module says: lengths, places, numbers and texts are checked before they are used. The first
//! lie or failure is the [`World::fault`], and from then on the world stands still. An [`Engine`] runs the code (an
//! interpreter, the browser); this module must not know which.

mod export;
mod world;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::abi::{self, INBOX_LIMIT};
use crate::conformance::{Violation, sane};
use crate::contract::{Action, MAX_SEATS, Spec, StepOutcome};
use crate::digest::Fnv1a;
use crate::draw::DrawList;

pub use export::{Export, Type};

/// Runs the code of one module instance.
pub trait Engine {
    /// Checks whether the module has this export. It has all that are not optional.
    fn has(&self, export: Export) -> bool;
    /// Calls an export: the argument is cut to its type, the result is widened with its sign; 0 if there is none.
    ///
    /// # Errors
    /// The reason why the call did not return, as a text after its name: "trapped: ...".
    fn call(&mut self, export: Export, argument: i64) -> Result<i64, String>;
    /// Replaces `out` by bytes of the module's memory; `None` if they are not all inside it.
    fn read(&mut self, at: u32, len: u32, out: &mut Vec<u8>) -> Option<()>;
    /// Puts bytes into the module's memory; `None` if they would not all be inside it.
    fn write(&mut self, at: u32, bytes: &[u8]) -> Option<()>;
}

/// The reason why a module cannot be used, or is no longer used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// It is no module of this interface.
    #[error("{0}")]
    Unfit(String),
    /// It refuses the parameters: `field: what is wrong`.
    #[error("{0}")]
    Params(String),
    /// A call broke down or broke a rule of the interface.
    #[error("`{call}` {what}")]
    Fault {
        /// The export that was called.
        call: &'static str,
        /// The fault, and how to fix it.
        what: String,
    },
}

impl ModuleError {
    fn fault(export: Export, what: impl Into<String>) -> Self {
        Self::Fault {
            call: export.name(),
            what: what.into(),
        }
    }

    fn unlawful(export: Export, violation: &Violation) -> Self {
        let Violation { law, detail } = violation;
        Self::fault(export, format!("broke the law that {law}: {detail}"))
    }
}

/// The bounds within which a host accepts a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLimits {
    /// The longest message of a module except its facts, bytes.
    pub message_bytes: u32,
    /// The longest facts (spec, schema and sprites as JSON), bytes.
    pub facts_bytes: u32,
}

impl Default for MessageLimits {
    /// 1 MiB, which is also the longest message to a module; facts of 4 MiB.
    fn default() -> Self {
        Self {
            message_bytes: INBOX_LIMIT,
            facts_bytes: 4 << 20,
        }
    }
}

/// A picture that a module ships.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sprite {
    /// Name, such as `chef_down_blue`.
    pub name: String,
    /// A self-contained SVG document with a `viewBox`.
    pub svg: String,
}

/// A module's facts about itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ModuleFacts {
    /// The facts that the parameters fix.
    pub spec: Spec,
    /// JSON Schema of the parameters.
    pub params_schema: serde_json::Value,
    /// The pictures that its draw lists name.
    pub sprites: Vec<Sprite>,
}

/// A running environment inside a module.
#[derive(Debug)]
pub struct Guest<E> {
    engine: E,
    limits: MessageLimits,
    version: u32,
    facts: ModuleFacts,
    outcome: StepOutcome,
    /// The last message of the module.
    message: Vec<u8>,
    fault: Option<ModuleError>,
}

/// Stands for the facts until the module has said them.
fn unknown() -> ModuleFacts {
    ModuleFacts {
        spec: Spec::default(),
        params_schema: serde_json::Value::Null,
        sprites: Vec::new(),
    }
}

impl<E: Engine> Guest<E> {
    /// Opens an environment with these parameters, a JSON object, or nothing for the defaults.
    ///
    /// # Errors
    /// [`ModuleError`]; the engine is then dropped.
    pub fn open(engine: E, params: &str, limits: MessageLimits) -> Result<Self, ModuleError> {
        let mut guest = Self {
            engine,
            limits,
            version: 0,
            facts: unknown(),
            outcome: StepOutcome::default(),
            message: Vec::new(),
            fault: None,
        };
        let version = guest.call(Export::Abi, 0)? as u32;
        if !(abi::OLDEST_VERSION..=abi::VERSION).contains(&version) {
            return Err(ModuleError::Unfit(format!(
                "the module speaks version {version} of the interface, and versions {} to {} are spoken here: \
                 build it with the `env-core` or the header of this release",
                abi::OLDEST_VERSION,
                abi::VERSION
            )));
        }
        guest.version = version;
        guest.send_params(params)?;
        guest.facts = guest.ask_facts()?;
        Ok(guest)
    }

    /// The version of the interface that the module speaks.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The module's facts about itself.
    pub fn facts(&self) -> &ModuleFacts {
        &self.facts
    }

    /// Returns why the world stands still, if it does.
    pub fn fault(&self) -> Option<&ModuleError> {
        self.fault.as_ref()
    }

    fn send_params(&mut self, params: &str) -> Result<(), ModuleError> {
        if params.len() > INBOX_LIMIT as usize {
            return Err(ModuleError::Params("params: are over 1 MiB".into()));
        }
        self.send(params.as_bytes())?;
        let code = self.call(Export::Open, params.len() as i64)?;
        if code == 0 {
            return Ok(());
        }
        if code > 0 {
            let what = format!("answered {code}: it gives 0, or minus the length of a reason");
            return Err(ModuleError::fault(Export::Open, what));
        }
        self.receive(Export::Open, -code)?;
        let reason = core::str::from_utf8(&self.message);
        Err(match reason {
            Ok(reason) => ModuleError::Params(reason.into()),
            Err(_) => ModuleError::fault(
                Export::Open,
                "refused the parameters with a reason that is not UTF-8",
            ),
        })
    }

    fn ask_facts(&mut self) -> Result<ModuleFacts, ModuleError> {
        let len = self.call(Export::Facts, 0)?;
        self.receive(Export::Facts, len)?;
        let facts: ModuleFacts = serde_json::from_slice(&self.message).map_err(|error| {
            ModuleError::fault(
                Export::Facts,
                format!("gave something else than the JSON of its facts: {error}"),
            )
        })?;
        sane::check_spec(&facts.spec)
            .map_err(|violation| ModuleError::unlawful(Export::Facts, &violation))?;
        if !facts.params_schema.is_object() {
            let what = "gave a `params_schema` that is no JSON object; a module without parameters gives `{}`";
            return Err(ModuleError::fault(Export::Facts, what));
        }
        Ok(facts)
    }

    fn call(&mut self, export: Export, argument: i64) -> Result<i64, ModuleError> {
        let called = self.engine.call(export, argument);
        called.map_err(|what| ModuleError::fault(export, what))
    }

    /// Puts a message of at most [`INBOX_LIMIT`] bytes into the inbox.
    fn send(&mut self, bytes: &[u8]) -> Result<(), ModuleError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let at = self.call(Export::Inbox, bytes.len() as i64)? as u32;
        let written = (at != 0).then(|| self.engine.write(at, bytes)).flatten();
        written.ok_or_else(|| {
            let len = bytes.len();
            let what = format!(
                "gave the place {at} for a message of {len} bytes, which is not inside the memory: \
                 it makes room for any message of up to {INBOX_LIMIT} bytes"
            );
            ModuleError::fault(Export::Inbox, what)
        })
    }

    /// Takes a message of this length, which an export gave, from the outbox.
    fn receive(&mut self, export: Export, len: i64) -> Result<(), ModuleError> {
        let limit = match export == Export::Facts {
            true => self.limits.facts_bytes,
            false => self.limits.message_bytes,
        };
        let len = u32::try_from(len).unwrap_or(len as u32);
        if len > limit {
            let what = format!("gave a message of {len} bytes; at most {limit} are taken");
            return Err(ModuleError::fault(export, what));
        }
        let at = self.call(Export::Outbox, 0)? as u32;
        self.engine.read(at, len, &mut self.message).ok_or_else(|| {
            let what = format!("gave {len} bytes, and `coplay_outbox` the place {at}: they are not inside the memory");
            ModuleError::fault(export, what)
        })
    }

    /// Asks for a message.
    fn ask(&mut self, export: Export, argument: i64) -> Result<(), ModuleError> {
        let len = self.call(export, argument)? as u32;
        self.receive(export, len.into())
    }

    /// Works with the module unless it failed; then returns `idle`.
    fn attempt<T>(&mut self, idle: T, work: impl FnOnce(&mut Self) -> Result<T, ModuleError>) -> T {
        if self.fault.is_some() {
            return idle;
        }
        work(self).unwrap_or_else(|fault| {
            self.fault = Some(fault);
            idle
        })
    }

    fn try_step(&mut self, actions: &[Action]) -> Result<(), ModuleError> {
        let seats = usize::from(self.facts.spec.seats);
        let mut row = [0; 2 * MAX_SEATS];
        let padded = actions
            .iter()
            .chain(core::iter::repeat(&self.facts.spec.noop));
        for (bytes, action) in row.chunks_exact_mut(2).zip(padded.take(seats)) {
            bytes.copy_from_slice(&action.to_le_bytes());
        }
        self.send(&row[..2 * seats])?;
        let over = self.call(Export::Step, seats as i64)?;
        let head = 4 * seats as i64 + 12;
        self.receive(Export::Step, head)?;
        let count = self
            .message
            .last_chunk()
            .copied()
            .map_or(0, u32::from_le_bytes);
        let components = self.facts.spec.components.len();
        let parts = (seats * components) as i64;
        if count > 0 || parts > 0 {
            let len = head + 8 * i64::from(count) + 4 * parts;
            self.receive(Export::Step, len.min(u32::MAX.into()))?;
        }
        abi::decode_outcome(&self.message, seats, components, &mut self.outcome).ok_or_else(
            || ModuleError::fault(Export::Step, "gave an outcome that cannot be read"),
        )?;
        if over != i64::from(self.outcome.over) {
            let what = format!(
                "returned {over}, and its outcome says over: {}",
                self.outcome.over
            );
            return Err(ModuleError::fault(Export::Step, what));
        }
        sane::check_outcome(&self.outcome, &self.facts.spec)
            .map_err(|violation| ModuleError::unlawful(Export::Step, &violation))
    }

    fn try_digest(&mut self) -> Result<u64, ModuleError> {
        if self.engine.has(Export::Plain) {
            self.ask(Export::Plain, 0)?;
            return Ok(Fnv1a::EMPTY.with(&self.message).value());
        }
        let digest = self.call(Export::Digest, 0)?.cast_unsigned();
        self.ask(Export::State, 0)?;
        let hash = Fnv1a::EMPTY.with(&self.message).value();
        if digest != hash {
            let what = format!(
                "gave {digest:016x}, and the hash of the {} bytes of `coplay_state` is {hash:016x}: \
                 the digest is FNV-1a, 64 bits, of these bytes",
                self.message.len()
            );
            return Err(ModuleError::fault(Export::Digest, what));
        }
        Ok(digest)
    }

    fn try_observe(&mut self, seat: usize, out: &mut Vec<f32>) -> Result<(), ModuleError> {
        self.ask(Export::Observe, seat as i64)?;
        let odd = self.message.len() % 4;
        if odd != 0 {
            return Err(ModuleError::fault(
                Export::Observe,
                "gave a length that is no multiple of 4",
            ));
        }
        out.clear();
        let values = self.message.chunks_exact(4);
        out.extend(values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        sane::check_observation(out, &self.facts.spec)
            .map_err(|violation| ModuleError::unlawful(Export::Observe, &violation))
    }

    fn try_draw(&mut self, seat: Option<usize>) -> Result<DrawList, ModuleError> {
        let (export, argument) = match seat.filter(|_| self.engine.has(Export::DrawFor)) {
            Some(seat) => (Export::DrawFor, seat as i64),
            None => (Export::Draw, 0),
        };
        self.ask(export, argument)?;
        match postcard::take_from_bytes(&self.message) {
            Ok((list, [])) => Ok(list),
            Ok((_, rest)) => Err(ModuleError::fault(
                export,
                format!("gave a picture with {} bytes too many", rest.len()),
            )),
            Err(error) => Err(ModuleError::fault(
                export,
                format!("gave a picture that cannot be read: {error}"),
            )),
        }
    }

    fn try_point(&mut self, seat: usize, [x, y]: [f32; 2]) -> Result<Option<Action>, ModuleError> {
        let mut place = [0; 8];
        place[..4].copy_from_slice(&x.to_le_bytes());
        place[4..].copy_from_slice(&y.to_le_bytes());
        self.send(&place)?;
        let answer = self.call(Export::Point, seat as i64)?;
        if answer == -1 {
            return Ok(None);
        }
        let action = Action::try_from(answer)
            .ok()
            .filter(|&action| self.facts.spec.has_action(seat, action));
        action.map(Some).ok_or_else(|| {
            let what = format!("answered {answer}: it gives an action that the seat has, or -1");
            ModuleError::fault(Export::Point, what)
        })
    }

    fn try_describe(&mut self, seat: usize, out: &mut String) -> Result<(), ModuleError> {
        self.ask(Export::Describe, seat as i64)?;
        let text = core::str::from_utf8(&self.message)
            .map_err(|_| ModuleError::fault(Export::Describe, "gave a text that is not UTF-8"))?;
        out.clear();
        out.push_str(text);
        Ok(())
    }
}
