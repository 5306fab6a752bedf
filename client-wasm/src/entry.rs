//! How this page comes in: the participant link of its address, and the session that the tab remembers.

use protocol::control::Entry;
use protocol::{Era, Life};
use wasm_bindgen::JsValue;
use web_sys::{Storage, UrlSearchParams};

use crate::dom;

const SESSION: &str = "coplay.session";
const LINK: &str = "coplay.link";

/// What lets this page in.
#[derive(Debug, Default)]
pub(crate) struct Door {
    session: Option<String>,
    link: Option<String>,
}

impl Door {
    /// Reads address and storage. The link leaves the address bar at once, so that it is not shared by accident;
    /// it begins a new session here even if the tab remembers another.
    pub(crate) fn read() -> Self {
        if let Some(link) = take_link() {
            keep(SESSION, None);
            keep(LINK, Some(&link));
            return Self {
                session: None,
                link: Some(link),
            };
        }
        Self {
            session: kept(SESSION),
            link: kept(LINK),
        }
    }

    /// The first message of a connection; `playing` is the episode that this page still simulates.
    pub(crate) fn entry(&self, playing: Option<(Era, Life)>) -> Entry {
        match (&self.session, &self.link) {
            (Some(token), _) => Entry::Resume {
                token: token.clone(),
                playing,
            },
            (None, Some(link)) => Entry::Invite(link.clone()),
            (None, None) => Entry::Open,
        }
    }

    /// The server gave this session.
    pub(crate) fn welcomed(&mut self, token: String) {
        keep(SESSION, Some(&token));
        self.session = Some(token);
    }

    /// The server does not know the session: whether there is another way in to try.
    pub(crate) fn forget(&mut self) -> bool {
        keep(SESSION, None);
        self.session.take().is_some()
    }
}

fn take_link() -> Option<String> {
    let location = dom::window().location();
    let link = UrlSearchParams::new_with_str(&location.search().ok()?)
        .ok()?
        .get("s")?;
    let history = dom::window().history().ok()?;
    history
        .replace_state_with_url(&JsValue::NULL, "", Some(&location.pathname().ok()?))
        .ok();
    Some(link)
}

/// Storage may be forbidden; the page then works until it is reloaded.
fn storage() -> Option<Storage> {
    dom::window().session_storage().ok().flatten()
}

fn kept(name: &str) -> Option<String> {
    storage()?.get_item(name).ok().flatten()
}

fn keep(name: &str, value: Option<&str>) {
    if let Some(storage) = storage() {
        match value {
            Some(value) => storage.set_item(name, value).ok(),
            None => storage.remove_item(name).ok(),
        };
    }
}
