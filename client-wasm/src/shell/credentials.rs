//! How this page comes in: the link of its address, and the session that the tab remembers.

use protocol::control::{ClientMessage, Entry};
use protocol::{Era, Life};
use wasm_bindgen::JsValue;
use web_sys::Storage;

use crate::shell::{dom, iframe};

const SESSION: &str = "coplay.session";
const LINK: &str = "coplay.link";

/// The parameter of a participant link.
const TOKEN: &str = "s";

/// The parameter of the way back from a page of another site.
pub(crate) const TICKET: &str = "coplay_return";

/// The parameter that asks for a language.
const LANGUAGE: &str = "lang";

/// What lets this page in.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    session: Option<String>,
    link: Option<String>,
    /// Of the way back from a page of another site, until it has let this page in.
    ticket: Option<String>,
    /// What a recruiter's link says. It is kept nowhere.
    sent: Vec<(String, String)>,
    /// Whether the person takes part in the frame of another site.
    stays_in_frame: bool,
    /// The language that the address asks for.
    language: Option<String>,
    /// The languages that the person reads, best first, as the browser tells.
    reads: Vec<String>,
}

impl Credentials {
    /// Reads address and storage. What a link says leaves the address bar at once, so that it is neither shared by
    /// accident nor seen; a link begins anew here even if the tab remembers a session.
    pub(crate) fn read() -> Self {
        let mut sent = take_parameters();
        let language = sent.iter().find(|(name, _)| name == LANGUAGE);
        let language = language.map(|(_, language)| language.clone());
        sent.retain(|(name, _)| name != LANGUAGE);
        Self {
            language,
            reads: dom::languages(),
            ..Self::by(sent)
        }
    }

    /// What the parameters of the address say, or else what the tab remembers.
    fn by(sent: Vec<(String, String)>) -> Self {
        if let Some((_, ticket)) = sent.iter().find(|(name, _)| name == TICKET) {
            return Self {
                session: kept(SESSION),
                link: kept(LINK),
                ticket: Some(ticket.clone()),
                ..Self::default()
            };
        }
        if let Some((_, link)) = sent.iter().find(|(name, _)| name == TOKEN) {
            keep(SESSION, None);
            keep(LINK, Some(link));
            return Self {
                link: Some(link.clone()),
                ..Self::default()
            };
        }
        if !sent.is_empty() {
            keep(SESSION, None);
            keep(LINK, None);
            return Self {
                sent,
                ..Self::default()
            };
        }
        Self {
            session: kept(SESSION),
            link: kept(LINK),
            ..Self::default()
        }
    }

    /// What the person may read, best first.
    pub(crate) fn languages(&self) -> impl Iterator<Item = &str> {
        let all = self.language.iter().chain(&self.reads);
        all.map(String::as_str)
    }

    /// The first message of a connection; `playing` is the episode that this page still simulates.
    pub(crate) fn hello(&self, playing: Option<(Era, Life)>) -> ClientMessage {
        ClientMessage::Hello {
            entry: self.entry(playing),
            language: self.language.clone(),
            reads: self.reads.clone(),
        }
    }

    fn entry(&self, playing: Option<(Era, Life)>) -> Entry {
        if let Some(ticket) = &self.ticket {
            return Entry::Return(ticket.clone());
        }
        match (&self.session, &self.link) {
            (Some(token), _) => Entry::Resume {
                token: token.clone(),
                playing,
            },
            (None, Some(link)) => Entry::Invite(link.clone()),
            (None, None) if self.sent.is_empty() => Entry::Open,
            (None, None) => Entry::Sent(self.sent.clone()),
        }
    }

    /// The server gave this session.
    pub(crate) fn welcomed(&mut self, token: String) {
        self.ticket = None;
        keep(SESSION, Some(&token));
        self.session = Some(token);
    }

    /// The address of the study in a window of its own, for a page that a recruiter shows in a frame.
    pub(crate) fn window(&self) -> Option<String> {
        if self.stays_in_frame || self.sent.is_empty() || !iframe::is_framed() {
            return None;
        }
        let encoded = |text: &str| String::from(js_sys::encode_uri_component(text));
        let pairs = self.sent.iter();
        let pairs = pairs.map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        Some(format!("/?{}", pairs.collect::<Vec<_>>().join("&")))
    }

    /// The person takes part in the frame.
    pub(crate) fn stay(&mut self) {
        self.stays_in_frame = true;
    }

    /// The server does not know the session: whether there is another way in to try.
    pub(crate) fn forget(&mut self) -> bool {
        if self.ticket.take().is_some() {
            return self.session.is_some() || self.link.is_some();
        }
        keep(SESSION, None);
        self.session.take().is_some()
    }
}

/// Has the tab forget who was here, so that the next person begins anew.
pub(crate) fn forget() {
    keep(SESSION, None);
    keep(LINK, None);
}

/// Where this page is in another language. A tab that remembers nothing would lose its session on the way.
pub(crate) fn in_language(language: &str) -> Option<String> {
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
