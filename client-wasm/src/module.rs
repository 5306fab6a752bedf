//! An environment module: loaded from the server, driven through the module ABI, version 1
//! (`docs/environment-abi.md`).
//!
//! States stay in the module: save and load name a slot. This module must not know of sessions or views.

use env_core::abi;
use env_core::contract::StateError;
use env_core::draw::DrawList;
use env_core::{Action, Outcome, Spec, World};
use js_sys::{Object, Reflect, Uint8Array, WebAssembly};
use serde::Deserialize;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Response;

use crate::dom;

/// The exports that a module must have.
const EXPORTS: [&str; 18] = [
    "memory",
    "coplay_abi",
    "coplay_inbox",
    "coplay_outbox",
    "coplay_open",
    "coplay_facts",
    "coplay_reset",
    "coplay_step",
    "coplay_observe",
    "coplay_describe",
    "coplay_draw",
    "coplay_save",
    "coplay_load",
    "coplay_digest",
    "coplay_score",
    "coplay_state",
    "coplay_restore",
    "coplay_inject",
];

#[wasm_bindgen]
extern "C" {
    /// The exports of a module.
    type Exports;
    #[wasm_bindgen(method, getter)]
    fn memory(this: &Exports) -> WebAssembly::Memory;
    #[wasm_bindgen(method)]
    fn coplay_abi(this: &Exports) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_inbox(this: &Exports, len: u32) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_outbox(this: &Exports) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_open(this: &Exports, len: u32) -> i32;
    #[wasm_bindgen(method)]
    fn coplay_facts(this: &Exports) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_reset(this: &Exports, seed: i64);
    #[wasm_bindgen(method)]
    fn coplay_step(this: &Exports, seats: u32) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_observe(this: &Exports, seat: u32) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_describe(this: &Exports, seat: u32) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_draw(this: &Exports) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_save(this: &Exports, slot: u32);
    #[wasm_bindgen(method)]
    fn coplay_load(this: &Exports, slot: u32);
    #[wasm_bindgen(method)]
    fn coplay_digest(this: &Exports) -> i64;
    #[wasm_bindgen(method)]
    fn coplay_score(this: &Exports) -> i64;
    #[wasm_bindgen(method)]
    fn coplay_state(this: &Exports) -> u32;
    #[wasm_bindgen(method)]
    fn coplay_restore(this: &Exports, len: u32) -> i32;
    #[wasm_bindgen(method)]
    fn coplay_inject(this: &Exports, words: u32);
}

/// A picture of an environment.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Sprite {
    /// A self-contained SVG document.
    pub(crate) svg: String,
}

#[derive(Deserialize)]
struct Facts {
    spec: Spec,
    sprites: Vec<Sprite>,
}

/// A running environment inside a module.
pub(crate) struct Module {
    exports: Exports,
    memory: WebAssembly::Memory,
    /// All of the module's memory; void once the memory has grown.
    bytes: Uint8Array,
    spec: Spec,
    sprites: Vec<Sprite>,
    outcome: Outcome,
    scratch: Vec<u8>,
}

impl Module {
    /// Loads a module and opens an environment in it with these parameters.
    ///
    /// # Errors
    /// A sentence for the log: what could not be fetched, compiled, opened or read.
    pub(crate) async fn load(url: &str, params: &str) -> Result<Self, String> {
        let exports = instantiate(url)
            .await
            .map_err(|error| format!("{url}: {error:?}"))?;
        if let Some(missing) = EXPORTS
            .iter()
            .find(|name| !Reflect::has(&exports, &(**name).into()).unwrap_or(false))
        {
            return Err(format!("{url} does not export {missing}"));
        }
        let exports: Exports = exports.unchecked_into();
        if exports.coplay_abi() != abi::VERSION {
            return Err(format!(
                "{url} speaks version {} of the module ABI",
                exports.coplay_abi()
            ));
        }
        let memory = exports.memory();
        let bytes = Uint8Array::new(&memory.buffer());
        let spec = Spec {
            id: String::new(),
            version: String::new(),
            title: String::new(),
            seats: 0,
            actions: Vec::new(),
            noop: 0,
            observation: Vec::new(),
            tick_hz: 0,
            horizon: 0,
            events: Vec::new(),
            compact: false,
        };
        let (outcome, scratch) = (Outcome::default(), Vec::new());
        let mut module = Self {
            exports,
            memory,
            bytes,
            spec,
            sprites: Vec::new(),
            outcome,
            scratch,
        };
        module.open(params)?;
        Ok(module)
    }

    /// The pictures that its draw lists name.
    pub(crate) fn sprites(&self) -> &[Sprite] {
        &self.sprites
    }

    fn open(&mut self, params: &str) -> Result<(), String> {
        self.write(params.as_bytes());
        let code = self.exports.coplay_open(params.len() as u32);
        if code != 0 {
            self.read(code.unsigned_abs());
            return Err(String::from_utf8_lossy(&self.scratch).into_owned());
        }
        let len = self.exports.coplay_facts();
        self.read(len);
        let facts: Facts =
            serde_json::from_slice(&self.scratch).map_err(|error| format!("facts: {error}"))?;
        (self.spec, self.sprites) = (facts.spec, facts.sprites);
        Ok(())
    }

    /// The memory as it is now: growing it makes earlier views void.
    fn view(&mut self) -> &Uint8Array {
        if self.bytes.byte_length() == 0 {
            self.bytes = Uint8Array::new(&self.memory.buffer());
        }
        &self.bytes
    }

    /// Puts bytes into the inbox.
    fn write(&mut self, bytes: &[u8]) {
        let start = self.exports.coplay_inbox(bytes.len() as u32);
        self.view()
            .subarray(start, start + bytes.len() as u32)
            .copy_from(bytes);
    }

    /// Takes `len` bytes from the outbox into the scratch buffer.
    fn read(&mut self, len: u32) {
        let start = self.exports.coplay_outbox();
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(len as usize, 0);
        self.view()
            .subarray(start, start + len)
            .copy_to(&mut scratch);
        self.scratch = scratch;
    }
}

/// Where the module with this SHA-256 is served, for good.
pub(crate) fn url(sha256: &str) -> String {
    format!("/modules/{sha256}.wasm")
}

/// Brings a module into the browser's cache. If that fails, it is fetched when it is needed.
pub(crate) fn fetch_ahead(sha256: String) {
    spawn_local(async move {
        let response = JsFuture::from(dom::window().fetch_with_str(&url(&sha256))).await;
        // A body that nobody reads may not be fetched to its end.
        if let Ok(response) = response.map(JsCast::unchecked_into::<Response>)
            && let Ok(body) = response.array_buffer()
        {
            JsFuture::from(body).await.ok();
        }
    });
}

async fn instantiate(url: &str) -> Result<JsValue, JsValue> {
    let response = dom::window().fetch_with_str(url);
    let module = JsFuture::from(WebAssembly::compile_streaming(&response)).await?;
    let instance = JsFuture::from(WebAssembly::instantiate_module(
        module.unchecked_ref(),
        &Object::new(),
    ))
    .await?;
    Ok(instance
        .unchecked_into::<WebAssembly::Instance>()
        .exports()
        .into())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map_or(0, u32::from_le_bytes)
}

impl World for Module {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset(&mut self, seed: u64) {
        self.exports.coplay_reset(seed.cast_signed());
    }

    fn step(&mut self, actions: &[Action]) -> &Outcome {
        let bytes: Vec<u8> = actions
            .iter()
            .flat_map(|action| action.to_le_bytes())
            .collect();
        self.write(&bytes);
        self.exports.coplay_step(actions.len() as u32);
        let seats = actions.len();
        let head = 4 * seats as u32 + 12;
        self.read(head);
        let events = word(&self.scratch, head as usize - 4);
        if events > 0 {
            self.read(head + 8 * events);
        }
        // The page asks for the end alone; what a module garbles ends nothing.
        if abi::decode_outcome(&self.scratch, seats, &mut self.outcome).is_none() {
            self.outcome.clear();
        }
        &self.outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        let len = self.exports.coplay_observe(seat as u32);
        self.read(len);
        out.clear();
        out.extend((0..self.scratch.len() / 4).map(|k| f32::from_bits(word(&self.scratch, 4 * k))));
    }

    fn save(&mut self, slot: usize) {
        self.exports.coplay_save(slot as u32);
    }

    fn load(&mut self, slot: usize) {
        self.exports.coplay_load(slot as u32);
    }

    fn digest(&mut self) -> u64 {
        self.exports.coplay_digest().cast_unsigned()
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        let len = self.exports.coplay_state();
        self.read(len);
        out.clone_from(&self.scratch);
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.write(bytes);
        if self.exports.coplay_restore(bytes.len() as u32) == 0 {
            Ok(())
        } else {
            Err(StateError)
        }
    }

    fn score(&mut self) -> i64 {
        self.exports.coplay_score()
    }

    fn draw(&mut self, out: &mut DrawList) {
        let len = self.exports.coplay_draw();
        self.read(len);
        // A picture that cannot be read leaves the one before in place.
        if let Ok(list) = postcard::from_bytes(&self.scratch) {
            *out = list;
        }
    }

    fn describe(&mut self, seat: usize, out: &mut String) {
        let len = self.exports.coplay_describe(seat as u32);
        self.read(len);
        out.clear();
        out.push_str(&String::from_utf8_lossy(&self.scratch));
    }

    fn inject(&mut self, draws: &[u32]) {
        let bytes: Vec<u8> = draws.iter().flat_map(|draw| draw.to_le_bytes()).collect();
        self.write(&bytes);
        self.exports.coplay_inject(draws.len() as u32);
    }
}
