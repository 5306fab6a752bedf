//! Who can take part, as far as their device and connection say. In the file: `screening`.

use serde::Serialize;

use crate::read::Place;
use crate::stage::Outcome;
use crate::stage::outcome;

/// What a device and a connection must be able to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Screening {
    /// Which devices; empty for any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device: Vec<Device>,
    /// What the browser must be able to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub browser: Vec<Ability>,
    /// The smallest window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_window: Option<Window>,
    /// The longest round trip to the server, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rtt_ms: Option<u16>,
    /// The lowest frame rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_fps: Option<u16>,
    /// The longest step of the slowest environment, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_step_ms: Option<f64>,
    /// A formula over all that is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// The outcome of those who cannot take part.
    #[serde(rename = "else")]
    pub or_else: Outcome,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Device {
    Desktop,
    Tablet,
    Phone,
}

/// What a browser must be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// Connect to other pages.
    Webrtc,
    /// Fill the screen.
    Fullscreen,
    /// Play sound.
    Audio,
    /// Take keys.
    Keyboard,
    /// Take touches.
    Touch,
}

/// The size of a window, CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// From left to right.
    pub width: u16,
    /// From top to bottom.
    pub height: u16,
}

const DEVICES: [(&str, Device); 3] = [
    ("desktop", Device::Desktop),
    ("tablet", Device::Tablet),
    ("phone", Device::Phone),
];

const ABILITIES: [(&str, Ability); 5] = [
    ("webrtc", Ability::Webrtc),
    ("fullscreen", Ability::Fullscreen),
    ("audio", Ability::Audio),
    ("keyboard", Ability::Keyboard),
    ("touch", Ability::Touch),
];

/// Reads the block.
pub(crate) fn read(place: &Place<'_>) -> Option<Screening> {
    let mut fields = place.fields("who can take part")?;
    let device = fields.key("device", "Which devices; without it any.");
    let device = device.or(Vec::new(), |place| words(&place, "device", &DEVICES));
    let browser = fields.key("browser", "What the browser must be able to do.");
    let browser = browser.or(Vec::new(), |place| words(&place, "ability", &ABILITIES));
    let window = fields.key("min_window", "The smallest window, in CSS pixels.");
    let window = window.maybe(|place| window_of(&place));
    let rtt = fields.key(
        "max_rtt_ms",
        "The longest round trip to the server, the median of several, in milliseconds.",
    );
    let rtt = rtt.maybe(|place| place.whole(1..=5_000, "milliseconds"));
    let fps = fields.key("min_fps", "The lowest frame rate, in frames per second.");
    let fps = fps.maybe(|place| place.whole(1..=240, "frames per second"));
    let doc = "The longest step of the slowest environment of the study, the median of many, in milliseconds.";
    let step = fields
        .key("max_step_ms", doc)
        .maybe(|place| place.number(0.01..=1_000.0, "milliseconds"));
    let doc = "A formula over `device`, `width`, `height`, `rtt_ms`, `fps` and `step_ms` that holds for those who can take part.";
    let formula = fields.key("formula", doc).maybe(|place| place.text(1_000));
    let doc = "How the way of those ended who cannot take part; they are told why.";
    let or_else = fields
        .key("else", doc)
        .or(Outcome::Ineligible, |place| outcome::read(&place));
    fields.done();
    Some(Screening {
        device: device?,
        browser: browser?,
        min_window: window?,
        max_rtt_ms: rtt?,
        min_fps: fps?,
        max_step_ms: step?,
        formula: formula?,
        or_else: or_else?,
    })
}

fn words<T: Copy>(place: &Place<'_>, what: &str, known: &[(&str, T)]) -> Option<Vec<T>> {
    let places = place.list(&format!("words for a {what}"), known.len())?;
    let read: Vec<Option<T>> = places.iter().map(|place| place.word(what, known)).collect();
    read.into_iter().collect()
}

fn window_of(place: &Place<'_>) -> Option<Window> {
    let mut fields = place.fields("the size of a window")?;
    let pixels = |place: Place<'_>| place.whole(100..=10_000, "pixels");
    let width = fields
        .key("width", "From left to right.")
        .need("1024", pixels);
    let height = fields
        .key("height", "From top to bottom.")
        .need("640", pixels);
    fields.done();
    Some(Window {
        width: width?,
        height: height?,
    })
}
