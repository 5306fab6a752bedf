//! An environment module: loaded from the server, run by the browser behind `env_core::guest`,
//! which speaks the module ABI (`docs/environment-abi.md`) and trusts nothing that the module says.
//!
//! An archive of an environment in Python is opened by `web/python_world.js`, which gives the same exports.
//! A trap becomes the fault of the world. Nothing on this thread can stop a call that never returns.
//! States stay in the module: save and load name a slot. This module must not know of sessions or views.

use env_core::World;
use env_core::guest::{Engine, Export, Guest, MessageLimits};
use env_core::tally::TalliedWorld;
use env_core::view::{ViewFacts, ViewWorld};
use js_sys::{Object, Reflect, Uint8Array, WebAssembly};
use policy::Partners;
use protocol::EnvWay;
use protocol::rules::SharedSeats;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Response;

use crate::shell::dom;

pub(crate) use env_core::guest::Sprite;

#[wasm_bindgen]
extern "C" {
    /// The exports of a module.
    type Exports;
    #[wasm_bindgen(method, getter)]
    fn memory(this: &Exports) -> WebAssembly::Memory;
    #[wasm_bindgen(method, catch)]
    fn coplay_abi(this: &Exports) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_inbox(this: &Exports, len: i32) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_outbox(this: &Exports) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_open(this: &Exports, len: i32) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_facts(this: &Exports) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_reset(this: &Exports, seed: i64) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_step(this: &Exports, seats: i32) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_observe(this: &Exports, seat: i32) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_describe(this: &Exports, seat: i32) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_draw(this: &Exports) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_save(this: &Exports, slot: i32) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_load(this: &Exports, slot: i32) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_digest(this: &Exports) -> Result<i64, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_score(this: &Exports) -> Result<i64, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_state(this: &Exports) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_restore(this: &Exports, len: i32) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_inject(this: &Exports, words: i32) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_mask(this: &Exports, seat: i32) -> Result<i64, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_acting(this: &Exports) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_seat_score(this: &Exports, seat: i32) -> Result<i64, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_draw_for(this: &Exports, seat: i32) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_point(this: &Exports, seat: i32) -> Result<i32, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn coplay_plain(this: &Exports) -> Result<i32, JsValue>;

    /// Opens an archive in Python: its address, its bytes, the version of Python's release, and a listener for the
    /// part that has arrived.
    #[wasm_bindgen(catch, js_name = coplayOpenPython)]
    async fn open_python(
        url: &str,
        archive: JsValue,
        release: &str,
        told: &Closure<dyn FnMut(f64)>,
    ) -> Result<JsValue, JsValue>;
}

/// The header of an archive in Python, with the version of the release that runs it.
const PYTHON: &str = "coplay-pyodide";

/// A running environment inside a module.
pub(crate) type Module = Guest<Browser>;

/// A world as a session drives it, or as a host shows it, and the pictures that it names.
pub(crate) struct LoadedWorld {
    pub(crate) world: Box<dyn World>,
    pub(crate) sprites: Vec<Sprite>,
}

/// Loads what a plan names: an environment module, or the facts of a world that a host steps. `told` gets the loaded
/// part of a large module.
///
/// # Errors
/// A sentence for the log: what could not be fetched, compiled, opened or read.
pub(crate) async fn load_world(
    way: EnvWay,
    sha256: &str,
    params: &str,
    told: impl FnMut(f64) + 'static,
) -> Result<LoadedWorld, String> {
    match way {
        EnvWay::Module => {
            let module = load_module(&module_url(sha256), params, told).await?;
            let sprites = module.facts().sprites.clone();
            let world = Box::new(module);
            Ok(LoadedWorld { world, sprites })
        }
        EnvWay::Host => {
            let url = format!("modules/{sha256}.facts");
            let bytes = fetch(&url).await;
            let bytes = bytes.map_err(|error| format!("{url}: {error:?}"))?;
            let facts: ViewFacts =
                serde_json::from_slice(&bytes).map_err(|error| format!("{url}: {error}"))?;
            Ok(LoadedWorld {
                world: Box::new(ViewWorld::new(facts.spec)),
                sprites: facts.sprites,
            })
        }
    }
}

/// Gives the people of an episode the AI partners with which they share their seats, if the study says so.
///
/// # Errors
/// A sentence for the log: a partner that is not here, or cannot play.
pub(crate) fn share_seats(
    loaded: LoadedWorld,
    partners: &Partners,
    shared: Option<&(SharedSeats, Vec<usize>)>,
) -> Result<LoadedWorld, String> {
    let Some((shared, seats)) = shared else {
        return Ok(loaded);
    };
    let world = partners.share(loaded.world, seats, (&shared.policies, &shared.keys));
    let unknown = || {
        format!(
            "a policy of {} cannot play here",
            shared.policies.join(", ")
        )
    };
    let world: Box<dyn World> = Box::new(world.ok_or_else(unknown)?);
    Ok(LoadedWorld { world, ..loaded })
}

/// Makes a world keep the sums of its rewards, if the formulas of the plan use them; on a host, views have them.
pub(crate) fn tally_rewards(loaded: LoadedWorld, is_asked: bool) -> LoadedWorld {
    if !is_asked {
        return loaded;
    }
    LoadedWorld {
        world: Box::new(TalliedWorld::new(loaded.world)),
        ..loaded
    }
}

/// Loads a module and opens an environment in it with these parameters.
///
/// # Errors
/// A sentence for the log: what could not be fetched, compiled, opened or read.
pub(crate) async fn load_module(
    url: &str,
    params: &str,
    told: impl FnMut(f64) + 'static,
) -> Result<Module, String> {
    let exports = instantiate(url, told)
        .await
        .map_err(|error| format!("{url}: {error:?}"))?;
    let has = |name: &str| Reflect::has(&exports, &name.into()).unwrap_or(false);
    let wanted = Export::ALL.iter().filter(|export| !export.is_optional());
    let mut names = std::iter::once("memory").chain(wanted.map(|export| export.name()));
    if let Some(missing) = names.find(|name| !has(name)) {
        return Err(format!("{url} does not export {missing}"));
    }
    let has = Export::ALL.map(|export| has(export.name()));
    let exports: Exports = exports.unchecked_into();
    let memory = exports.memory();
    let bytes = Uint8Array::new(&memory.buffer());
    let browser = Browser {
        exports,
        memory,
        bytes,
        has,
    };
    Guest::open(browser, params, MessageLimits::default())
        .map_err(|error| format!("{url}: {error}"))
}

/// The browser as the engine of one module instance.
pub(crate) struct Browser {
    exports: Exports,
    memory: WebAssembly::Memory,
    /// All of the module's memory; void once the memory has grown.
    bytes: Uint8Array,
    /// The exports that it has, in the order of [`Export::ALL`].
    has: [bool; Export::ALL.len()],
}

impl Browser {
    /// The part of the memory from `at` on, as the memory is now: growing it makes earlier views void.
    fn view(&mut self, at: u32, len: u32) -> Option<Uint8Array> {
        if self.bytes.byte_length() == 0 {
            self.bytes = Uint8Array::new(&self.memory.buffer());
        }
        let end = at.checked_add(len)?;
        (end <= self.bytes.byte_length()).then(|| self.bytes.subarray(at, end))
    }

    fn try_call(&self, export: Export, argument: i64) -> Result<i64, JsValue> {
        let (module, short) = (&self.exports, argument as i32);
        let nothing = |()| 0;
        match export {
            Export::Abi => module.coplay_abi().map(i64::from),
            Export::Inbox => module.coplay_inbox(short).map(i64::from),
            Export::Outbox => module.coplay_outbox().map(i64::from),
            Export::Open => module.coplay_open(short).map(i64::from),
            Export::Facts => module.coplay_facts().map(i64::from),
            Export::Reset => module.coplay_reset(argument).map(nothing),
            Export::Step => module.coplay_step(short).map(i64::from),
            Export::Observe => module.coplay_observe(short).map(i64::from),
            Export::Describe => module.coplay_describe(short).map(i64::from),
            Export::Draw => module.coplay_draw().map(i64::from),
            Export::Save => module.coplay_save(short).map(nothing),
            Export::Load => module.coplay_load(short).map(nothing),
            Export::Digest => module.coplay_digest(),
            Export::Score => module.coplay_score(),
            Export::State => module.coplay_state().map(i64::from),
            Export::Restore => module.coplay_restore(short).map(i64::from),
            Export::Inject => module.coplay_inject(short).map(nothing),
            Export::Mask => module.coplay_mask(short),
            Export::Acting => module.coplay_acting().map(i64::from),
            Export::SeatScore => module.coplay_seat_score(short),
            Export::DrawFor => module.coplay_draw_for(short).map(i64::from),
            Export::Point => module.coplay_point(short).map(i64::from),
            Export::Plain => module.coplay_plain().map(i64::from),
        }
    }
}

impl Engine for Browser {
    fn has(&self, export: Export) -> bool {
        self.has[export as usize]
    }

    fn call(&mut self, export: Export, argument: i64) -> Result<i64, String> {
        self.try_call(export, argument).map_err(|error| {
            format!(
                "broke down: {}",
                String::from(Object::from(error).to_string())
            )
        })
    }

    fn read(&mut self, at: u32, len: u32, out: &mut Vec<u8>) -> Option<()> {
        let view = self.view(at, len)?;
        out.resize(len as usize, 0);
        view.copy_to(out);
        Some(())
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Option<()> {
        let view = self.view(at, u32::try_from(bytes.len()).ok()?)?;
        view.copy_from(bytes);
        Some(())
    }
}

/// The lasting address of the module with this SHA-256, beside the page.
pub(crate) fn module_url(sha256: &str) -> String {
    format!("modules/{sha256}.wasm")
}

/// Loads the networks of AI partners by their SHA-256.
///
/// # Errors
/// A sentence for the log: what could not be fetched or read.
pub(crate) async fn load_partners(networks: &[String]) -> Result<Partners, String> {
    let mut partners = Partners::default();
    for sha256 in networks {
        let url = format!("networks/{sha256}.network");
        let bytes = fetch(&url).await;
        let bytes = bytes.map_err(|error| format!("{url}: {error:?}"))?;
        let added = partners.add_model(sha256, &bytes);
        added.map_err(|error| format!("{url}: {error}"))?;
    }
    Ok(partners)
}

async fn fetch(url: &str) -> Result<Vec<u8>, JsValue> {
    let response = JsFuture::from(dom::window().fetch_with_str(url)).await?;
    let response: Response = response.unchecked_into();
    if !response.ok() {
        return Err(response.status_text().into());
    }
    let body = JsFuture::from(response.array_buffer()?).await?;
    Ok(Uint8Array::new(&body).to_vec())
}

/// Brings a module into the browser's cache. If that fails, it is fetched when it is needed.
pub(crate) fn fetch_ahead(sha256: String) {
    spawn_local(async move {
        let response = JsFuture::from(dom::window().fetch_with_str(&module_url(&sha256))).await;
        // A body that nobody reads may not be fetched to its end.
        if let Ok(response) = response.map(JsCast::unchecked_into::<Response>)
            && let Ok(body) = response.array_buffer()
        {
            JsFuture::from(body).await.ok();
        }
    });
}

async fn instantiate(url: &str, told: impl FnMut(f64) + 'static) -> Result<JsValue, JsValue> {
    let response = JsFuture::from(dom::window().fetch_with_str(url)).await?;
    let response: Response = response.unchecked_into();
    if let Some(release) = response.headers().get(PYTHON)? {
        let archive = JsFuture::from(response.array_buffer()?).await?;
        return open_python(url, archive, &release, &Closure::new(told)).await;
    }
    let response = js_sys::Promise::resolve(&JsValue::from(response));
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
