//! The credentials of this page: the link of its address, and the session that the tab remembers.

use client_core::Credentials;
use wasm_bindgen::JsValue;
use web_sys::Storage;

use crate::shell::{dom, iframe, offline_data, parent_page};

const SESSION: &str = "coplay.session";
const LINK: &str = "coplay.link";

/// The parameter of a participant link.
const TOKEN: &str = "s";

/// The parameter of the way back from a page of another site.
pub(crate) const TICKET: &str = "coplay_return";

/// The parameter that asks for a language.
const LANGUAGE: &str = "lang";

/// Reads address and storage. The contents of a link leave the address bar immediately, so that they are neither shared
/// by accident nor seen; a link begins a new session here even if the tab remembers one.
pub(crate) fn read_credentials() -> Credentials {
    let mut parameters = take_parameters();
    let language = parameters.iter().find(|(name, _)| name == LANGUAGE);
    let language = language.map(|(_, language)| language.clone());
    parameters.retain(|(name, _)| name != LANGUAGE);
    Credentials {
        language,
        reads: dom::read_languages(),
        ..read_entry(parameters)
    }
}

/// The entry that the parameters of the address name, or else the one that the tab remembers.
fn read_entry(parameters: Vec<(String, String)>) -> Credentials {
    if let Some((_, ticket)) = parameters.iter().find(|(name, _)| name == TICKET) {
        return Credentials {
            session: kept(SESSION),
            link: kept(LINK),
            ticket: Some(ticket.clone()),
            ..Credentials::default()
        };
    }
    if let Some((_, link)) = parameters.iter().find(|(name, _)| name == TOKEN) {
        keep(SESSION, None);
        keep(LINK, Some(link));
        return Credentials {
            link: Some(link.clone()),
            ..Credentials::default()
        };
    }
    if !parameters.is_empty() {
        forget_session();
        return Credentials {
            parameters,
            ..Credentials::default()
        };
    }
    Credentials {
        session: kept(SESSION),
        link: kept(LINK),
        ..Credentials::default()
    }
}

/// The address of the study in its own window, for a page that a recruiter shows in a frame. A page that the
/// researcher declares has made room for it.
pub(crate) fn window_address(credentials: &Credentials) -> Option<String> {
    let stays = !iframe::is_framed() || !parent_page::list_origins().is_empty();
    if credentials.parameters.is_empty() || stays {
        return None;
    }
    let encoded = |text: &str| String::from(js_sys::encode_uri_component(text));
    let pairs = credentials.parameters.iter();
    let pairs = pairs.map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    Some(format!(
        "{}?{}",
        read_path(),
        pairs.collect::<Vec<_>>().join("&")
    ))
}

/// Has the tab remember this session for its next page, or none.
pub(crate) fn remember_session(session: Option<&str>) {
    keep(SESSION, session);
}

/// Makes the tab forget who was here, so that the next person begins a new session.
pub(crate) fn forget_session() {
    keep(SESSION, None);
    keep(LINK, None);
}

/// The address of this page in another language. A tab that remembers nothing would lose its session on the way.
pub(crate) fn address_in_language(language: &str) -> Option<String> {
    storage().map(|_| format!("?{LANGUAGE}={language}"))
}

/// The parameters of the address, which has none from then on.
fn take_parameters() -> Vec<(String, String)> {
    let location = dom::window().location();
    let search = location.search().unwrap_or_default();
    if search.is_empty() {
        return Vec::new();
    }
    if let (Ok(history), Ok(path)) = (dom::window().history(), location.pathname()) {
        history
            .replace_state_with_url(&JsValue::NULL, "", Some(&path))
            .ok();
    }
    let pairs = search.trim_start_matches('?').split('&');
    let pairs = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((decoded(name)?, decoded(value)?))
    });
    pairs.collect()
}

fn decoded(text: &str) -> Option<String> {
    let text = js_sys::decode_uri_component(&text.replace('+', " ")).ok()?;
    Some(text.into())
}

/// Storage may be forbidden; the page then works until it is reloaded. A study without a server lives in the browser, so
/// its session outlives the tab.
fn storage() -> Option<Storage> {
    let storage = match offline_data::is_offline() {
        true => dom::window().local_storage(),
        false => dom::window().session_storage(),
    };
    storage.ok().flatten()
}

/// The path of this page: `/` on its own server, longer on a host of many sites.
pub(crate) fn read_path() -> String {
    let path = dom::window().location().pathname();
    path.unwrap_or_else(|_| "/".to_owned())
}

/// Returns the name under which the tab remembers something: sites on one host share its storage.
fn key(name: &str) -> String {
    match read_path().as_str() {
        "/" => name.to_owned(),
        path => format!("{name} {path}"),
    }
}

fn kept(name: &str) -> Option<String> {
    storage()?.get_item(&key(name)).ok().flatten()
}

fn keep(name: &str, value: Option<&str>) {
    if let Some(storage) = storage() {
        let key = key(name);
        match value {
            Some(value) => storage.set_item(&key, value).ok(),
            None => storage.remove_item(&key).ok(),
        };
    }
}
