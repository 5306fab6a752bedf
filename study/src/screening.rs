//! Requirements on device and connection. In the file: `screening`.
//!
//! The page measures and the server judges. It is the first stage of a study, before a consent. So the measurements are
//! kept only once they may be recorded ([`crate::Progress`]), and for people who cannot take part, only what they lack
//! is kept.

use std::collections::BTreeMap;

use protocol::control::{Ability, Answer, Device, Lack, StageView};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::formula::{Formula, Type, Types};
use crate::limits::MAX_MEASURED;
use crate::outcome::{self, Outcome};
use crate::read::Cursor;
use crate::refusal::EventRefusal;
use crate::text::{self, Languages, Text};

/// The id of the stage; no stage of a file can have it.
pub const ID: &str = "_screening";

/// The requirements on device and connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Screening {
    /// Which devices; empty for any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device: Vec<Device>,
    /// The required abilities of the browser.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub browser: Vec<Ability>,
    /// The smallest window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_window: Option<WindowSize>,
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
    pub formula: Option<Formula>,
    /// The explanation for participants for whom the formula does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Text>,
    /// The number of attempts.
    pub attempts: u8,
    /// The outcome of those who cannot take part.
    #[serde(rename = "else")]
    pub or_else: Outcome,
}

/// The size of a window, CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WindowSize {
    /// From left to right.
    pub width: u16,
    /// From top to bottom.
    pub height: u16,
}

/// The measurements of a page; `None` for a missing measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// StageKind of device.
    pub device: Device,
    /// True if the browser can connect to other pages.
    pub webrtc: bool,
    /// True if it can fill the screen.
    pub fullscreen: bool,
    /// True if it can play sound.
    pub audio: bool,
    /// True if it takes keys, as far as browsers report it.
    pub keyboard: bool,
    /// True if it takes touches.
    pub touch: bool,
    /// Width of the window, CSS pixels.
    pub width: u16,
    /// Height of the window, CSS pixels.
    pub height: u16,
    /// Round trip to the server, the median of several, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// Frames per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fps: Option<f64>,
    /// A step of the slowest environment, the median of several, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_ms: Option<f64>,
}

impl Measured {
    /// The names of the measurements, in the order of tables.
    pub const NAMES: [&str; 11] = [
        "device",
        "webrtc",
        "fullscreen",
        "audio",
        "keyboard",
        "touch",
        "width",
        "height",
        "rtt_ms",
        "fps",
        "step_ms",
    ];

    /// The types of the measurements, for formulas.
    pub(crate) fn types() -> Types {
        let of = |name| match name {
            "device" => Type::Text,
            "width" | "height" | "rtt_ms" | "fps" | "step_ms" => Type::Number,
            _ => Type::Bool,
        };
        Self::NAMES.map(|name| (name.to_owned(), of(name))).into()
    }

    /// Reads the measurements that a page sends.
    ///
    /// # Errors
    /// A [`EventRefusal`] if something is missing, or is not something that a page can measure.
    pub(crate) fn read(answers: &[Answer]) -> Result<Self, EventRefusal> {
        let mut all = Map::new();
        for answer in answers {
            let name: String = answer.name.chars().take(60).collect();
            if !Self::NAMES.contains(&name.as_str()) {
                return Err(EventRefusal::UnknownItem { name });
            }
            let value: Value = serde_json::from_str(&answer.value).unwrap_or_default();
            let is_possible = match value.as_f64() {
                Some(number) => (0.0..=MAX_MEASURED).contains(&number),
                // What was not measured is left out.
                None => !value.is_null(),
            };
            if !is_possible {
                return Err(EventRefusal::BadAnswer { name });
            }
            if all.insert(name.clone(), value).is_some() {
                return Err(EventRefusal::Twice { name });
            }
        }
        serde_json::from_value(Value::Object(all)).map_err(|error| EventRefusal::BadAnswer {
            name: error.to_string().chars().take(60).collect(),
        })
    }

    /// Returns the measurements as a page sends them.
    pub fn answers(&self) -> Vec<Answer> {
        let Value::Object(all) = json!(self) else {
            return Vec::new();
        };
        let answer = |(name, value): (String, Value)| Answer {
            name,
            value: value.to_string(),
        };
        all.into_iter().map(answer).collect()
    }

    /// The values that formulas ask for.
    pub fn value(&self) -> BTreeMap<String, formula::Value> {
        serde_json::from_value(json!(self)).expect("it has numbers, texts, and true or false")
    }

    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Webrtc => self.webrtc,
            Ability::Fullscreen => self.fullscreen,
            Ability::Audio => self.audio,
            Ability::Keyboard => self.keyboard,
            Ability::Touch => self.touch,
        }
    }
}

impl Screening {
    /// The first view of the page.
    pub(crate) fn view(&self) -> StageView {
        StageView::Screening {
            trials: Vec::new(),
            lacks: Vec::new(),
            attempts: self.attempts,
        }
    }

    /// Returns the unmet requirements, in the order of the study file; empty if the participant can take part. A
    /// required value that could not be measured is lacking, and so is a formula without a value. The study's own
    /// explanations are in a language.
    pub fn list_lacks(&self, measured: &Measured, language: &str) -> Vec<Lack> {
        let mut lacks = Vec::new();
        if !self.device.is_empty() && !self.device.contains(&measured.device) {
            lacks.push(Lack::Device(self.device.clone()));
        }
        let cannot = self.browser.iter().filter(|need| !measured.can(**need));
        lacks.extend(cannot.map(|need| Lack::Ability(*need)));
        let is_small =
            |need: &WindowSize| measured.width < need.width || measured.height < need.height;
        lacks.extend((self.min_window.filter(is_small)).map(|need| Lack::Window {
            width: need.width,
            height: need.height,
        }));
        let is_above = |found: Option<f64>, most: f64| found.is_none_or(|found| found > most);
        let slow = |most: &u16| is_above(measured.rtt_ms, f64::from(*most));
        lacks.extend(self.max_rtt_ms.filter(slow).map(Lack::Rtt));
        let few = |least: &u16| measured.fps.is_none_or(|fps| fps < f64::from(*least));
        lacks.extend(self.min_fps.filter(few).map(Lack::Fps));
        let long = |most: &f64| is_above(measured.step_ms, *most);
        // Read as at most a second.
        let step = self.max_step_ms.filter(long);
        lacks.extend(step.map(|most| Lack::Step((most * 1_000.0) as u32)));
        let holds =
            |formula: &Formula| formula.eval(&measured.value()) == Ok(formula::Value::Bool(true));
        if self.formula.as_ref().is_some_and(|formula| !holds(formula)) {
            let said = self.explain.as_ref().map(|text| text.in_language(language));
            lacks.push(Lack::Other(said.unwrap_or_default().to_owned()));
        }
        lacks
    }
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
pub(crate) fn read(place: &Cursor<'_>, languages: Languages<'_>) -> Option<Screening> {
    let mut fields = place.fields("who can take part")?;
    let device = fields.key("device", "The allowed devices. By default all.");
    let device = device.or(Vec::new(), |place| words(&place, "device", &DEVICES));
    let browser = fields.key("browser", "Required abilities of the browser.");
    let browser = browser.or(Vec::new(), |place| words(&place, "ability", &ABILITIES));
    let window = fields.key("min_window", "The smallest window, in CSS pixels.");
    let window = window.maybe(|place| window_of(&place));
    let rtt = fields.key(
        "max_rtt_ms",
        "The longest round trip to the server, in milliseconds. The page measures a median.",
    );
    let rtt = rtt.maybe(|place| place.read_whole(1..=5_000, "milliseconds"));
    let fps = fields.key("min_fps", "The lowest frame rate, in frames per second.");
    let fps = fps.maybe(|place| place.read_whole(1..=240, "frames per second"));
    let doc = "The longest computing time of one step of the study's slowest environment, in milliseconds. The page \
               measures a median.";
    let step = fields
        .key("max_step_ms", doc)
        .maybe(|place| place.read_number(0.01..=1_000.0, "milliseconds"));
    let doc = "A formula over all measured values. Participants can take part only if it holds.";
    let formula = fields.key("formula", doc);
    let has_formula = formula.place.is_some();
    let formula = formula.maybe(|place| Formula::read(&place, &Measured::types(), &Type::Bool));
    let doc =
        "The message for participants who do not meet the condition: what they can do about it.";
    let explain = fields
        .key("explain", doc)
        .maybe(|place| text::read(&place, languages, 500));
    let attempts = fields.key("attempts", "The number of attempts.");
    let attempts = attempts.or(3, |place| place.read_whole(1..=20, "attempts"));
    let doc =
        "The outcome of participants who do not meet the requirements. The page tells them why.";
    let or_else = fields
        .key("else", doc)
        .or(Outcome::Ineligible, |place| outcome::read(&place));
    fields.done();
    if !has_formula && matches!(explain, Some(Some(_))) {
        place.wrong_at("explain", "never told, as there is no `formula`; all else is explained by the page itself, so remove it");
        return None;
    }
    Some(Screening {
        device: device?,
        browser: browser?,
        min_window: window?,
        max_rtt_ms: rtt?,
        min_fps: fps?,
        max_step_ms: step?,
        formula: formula?,
        explain: explain?,
        attempts: attempts?,
        or_else: or_else?,
    })
}

/// Reports a limit on the steps of environments in a study that has none.
pub(crate) fn check(place: &Cursor<'_>, has_env: bool) {
    if !has_env && place.node.has("max_step_ms") {
        let message = "the study has no env stage whose steps could be measured; remove it";
        place.wrong_at("max_step_ms", message);
    }
}

fn words<T: Copy>(place: &Cursor<'_>, what: &str, known: &[(&str, T)]) -> Option<Vec<T>> {
    let places = place.list(&format!("words for a {what}"), known.len())?;
    let read: Vec<Option<T>> = places
        .iter()
        .map(|place| place.read_word(what, known))
        .collect();
    read.into_iter().collect()
}

fn window_of(place: &Cursor<'_>) -> Option<WindowSize> {
    let mut fields = place.fields("the size of a window")?;
    let pixels = |place: Cursor<'_>| place.read_whole(100..=10_000, "pixels");
    let width = fields
        .key("width", "The width.")
        .require_key("1024", pixels);
    let height = fields
        .key("height", "The height.")
        .require_key("640", pixels);
    fields.done();
    Some(WindowSize {
        width: width?,
        height: height?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        Measured {
            device: Device::Desktop,
            webrtc: true,
            fullscreen: true,
            audio: true,
            keyboard: true,
            touch: false,
            width: 1_280,
            height: 800,
            rtt_ms: Some(40.0),
            fps: Some(59.9),
            step_ms: Some(0.02),
        }
    }

    #[test]
    fn what_a_page_measured_comes_back_as_it_was_said() {
        assert_eq!(Measured::read(&measured().answers()), Ok(measured()));
        let some = Measured {
            rtt_ms: None,
            fps: None,
            step_ms: None,
            ..measured()
        };
        assert_eq!(some.answers().len(), 8);
        assert_eq!(Measured::read(&some.answers()), Ok(some));
    }

    #[test]
    fn what_no_page_can_have_measured_is_refused() {
        let with = |name: &str, value: &str| {
            let mut answers = measured().answers();
            answers.retain(|answer| answer.name != name);
            let (name, value) = (name.to_owned(), value.to_owned());
            answers.push(Answer { name, value });
            Measured::read(&answers)
        };
        assert!(with("fps", "60").is_ok());
        for (name, value) in [
            ("fps", "-1"),
            ("fps", "1e9"),
            ("fps", "\"60\""),
            ("fps", "null"),
            ("width", "99999"),
            ("width", "1.5"),
            ("device", "\"watch\""),
            ("webrtc", "1"),
            ("camera", "true"),
            ("touch", "tr"),
        ] {
            assert!(with(name, value).is_err(), "{name}: {value}");
        }
        let mut twice = measured().answers();
        twice.push(twice[0].clone());
        assert!(matches!(
            Measured::read(&twice),
            Err(EventRefusal::Twice { .. })
        ));
        twice.truncate(4);
        assert!(Measured::read(&twice).is_err(), "most is missing");
    }
}
