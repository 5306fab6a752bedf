//! The views of a participant's page beside episodes.

use serde::{Deserialize, Serialize};

use crate::Seat;

/// The view of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum StageView {
    /// Pages of sanitised HTML, back and next.
    Instructions {
        /// The pages.
        pages: Vec<String>,
        /// Seconds for which each is shown at least.
        min_s: u32,
    },
    /// Waiting for partners.
    Lobby {
        /// Seconds until the study's choice at timeout.
        timeout_s: u32,
    },
    /// An episode; [`super::ServerMessage::Match`] follows.
    Env,
    /// Waiting for others of the group, who are still at a stage before; [`super::ServerMessage::Missing`] follows.
    Regroup,
    /// The rest between two episodes of a visit. Done without answers once the person continues. Then they wait for the
    /// others ([`super::ServerMessage::Waiting`]), and the next episode begins once all continue, or when the time is
    /// up.
    Rest {
        /// Sanitised HTML.
        page: String,
        /// How many episodes were played, and how many there are at most.
        round: (u16, u16),
        /// Score of the last one.
        score: i64,
        /// Milliseconds until the person may continue.
        min_ms: u32,
        /// Milliseconds until the next episode begins by itself; `None` for never.
        max_ms: Option<u32>,
    },
    /// A form: a SurveyJS document, as JSON.
    Survey {
        /// The document.
        surveyjs: String,
    },
    /// A text to agree to: done with an answer named `agreed`, whose value is `sha256`, or without an answer by those
    /// who do not agree.
    Consent {
        /// Sanitised HTML.
        page: String,
        /// SHA-256 of the text, lower-case hex.
        sha256: String,
    },
    /// A form with right answers, which the page does not have.
    Quiz {
        /// The document.
        surveyjs: String,
        /// The attempt, from 1.
        attempt: u8,
        /// Attempts in all.
        attempts: u8,
    },
    /// A page of another site, which opens beside this one. Done with an answer named `code` if there is one, with one
    /// named `cannot` by those who give up, if they can continue that way, or without any if it is enough to go there.
    External {
        /// Its address; `{{return}}` stands for the way back, whose ticket is `ticket`.
        url: String,
        /// For [`super::Entry::Return`].
        ticket: String,
        /// True if the other page gives a code.
        code: bool,
        /// True if only the way back or the code leads on.
        must_return: bool,
        /// True if those who cannot do it have a way on.
        can_give_up: bool,
    },
    /// The debriefing at the end. Done without an answer, or with one named `withdraw`.
    Debrief {
        /// Sanitised HTML.
        page: String,
        /// True if they may withdraw their data.
        allow_withdraw: bool,
    },
    /// Asks to measure the device and the connection. Done with the measurements as answers, or without any by those
    /// who give up.
    Screening {
        /// The environments of the study, to measure how long a step takes.
        trials: Vec<Trial>,
        /// The requirements that the attempt before did not meet; empty at the first one.
        lacks: Vec<Lack>,
        /// Attempts that are left.
        attempts: u8,
    },
    /// The last page.
    End {
        /// The declared outcome, such as `completed`.
        outcome: String,
        /// Sanitised HTML.
        page: String,
        /// The codes that the participant takes along: everything of theirs is durable.
        farewell: Farewell,
    },
    /// Time in which the group writes to each other; [`super::ServerMessage::Chat`] follows. Done without answers once
    /// the person continues, or when the time is up.
    Chat {
        /// The text above it, sanitised HTML; may be empty.
        page: String,
    },
    /// Recordings of episodes, which the page fetches: to be watched, rated, marked, or compared. Done with the answers
    /// that the task asks for, or with one named `missing` if a recording cannot be shown.
    Watch {
        /// The text above them, sanitised HTML; may be empty.
        page: String,
        /// The task, as JSON.
        task: String,
    },
}

/// The codes that a participant takes along from the last page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Farewell {
    /// The completion code of the outcome; empty for none.
    pub code: String,
    /// Their reference number, by which they can name their session; empty for none.
    pub receipt: String,
    /// Their pay, such as `GBP 4.87`; empty for nothing.
    pub pay: String,
    /// The receipt of those who withdrew their data; empty for others.
    pub withdrawal: String,
    /// The reasons why they could not take part; empty for others.
    pub lacks: Vec<Lack>,
    /// The place where they go from there.
    pub onward: Onward,
}

/// A world of the study, to measure how long its step takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Trial {
    /// SHA-256 of the module, lower-case hex.
    pub module: String,
    /// Parameters, as JSON.
    pub params: String,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// A computer with a desk or a lap.
    Desktop,
    /// A large screen that is touched.
    Tablet,
    /// A small screen that is touched.
    Phone,
}

/// A capability of a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
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

/// A requirement of a study that a device or connection does not meet. The page has measured the actual value itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// One of these devices.
    Device(Vec<Device>),
    /// A browser that can do this.
    Ability(Ability),
    /// A window of this size, CSS pixels.
    Window {
        /// From left to right.
        width: u16,
        /// From top to bottom.
        height: u16,
    },
    /// A round trip to the server of at most this many milliseconds.
    Rtt(u16),
    /// At least this many frames per second.
    Fps(u16),
    /// Steps of the worlds of at most this many microseconds.
    Step(u32),
    /// Something that the study names in its own words; empty if it says nothing.
    Other(String),
}

impl Lack {
    /// Its name in tables: the key of the study file that asks for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Device(_) => "device",
            Self::Ability(_) => "browser",
            Self::Window { .. } => "min_window",
            Self::Rtt(_) => "max_rtt_ms",
            Self::Fps(_) => "min_fps",
            Self::Step(_) => "max_step_ms",
            Self::Other(_) => "formula",
        }
    }
}

/// The place where a participant goes from the last page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Onward {
    /// Nowhere.
    #[default]
    Nowhere,
    /// To an address of the provider, which has the code in it.
    To {
        /// The address.
        url: String,
        /// The provider's usual name.
        name: String,
    },
    /// Back to the provider by a form.
    Form {
        /// The address to which it is sent.
        url: String,
        /// Names and values.
        fields: Vec<(String, String)>,
    },
    /// The next person begins at this computer.
    Again,
}

/// The state of somebody's wait in a lobby.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Waiting {
    /// People here, this one counted.
    pub here: u16,
    /// People needed.
    pub needed: u16,
    /// The time that this person has waited, milliseconds.
    pub waited_ms: u32,
    /// Milliseconds until the study's choice at timeout.
    pub left_ms: u32,
    /// The median time that people recently waited until they were matched, milliseconds, if anybody was.
    pub usual_ms: Option<u32>,
    /// The study's choice.
    pub then: AtTimeout,
    /// True if people who leave without a group are paid for their time.
    pub paid: bool,
    /// The question to the person.
    pub ask: Ask,
}

/// The consequence when nobody has come in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum AtTimeout {
    /// The person continues; the page does not say with whom.
    GoOn,
    /// The person plays with an AI partner.
    Ai,
    /// The person leaves.
    Leave,
    /// The person is asked.
    Ask,
    /// The person waits on.
    Wait,
}

/// The question to somebody who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum Ask {
    /// Nothing.
    Nothing,
    /// Asks whether they are there: answered by [`super::ClientMessage::Here`].
    Presence {
        /// Milliseconds until the person loses the place.
        left_ms: u32,
    },
    /// Asks whether they come back, because they lost their place: answered by [`super::ClientMessage::Here`].
    Return,
    /// The question when the time is up: answered by [`super::ClientMessage::Choose`].
    Choice,
}

/// The choice of somebody whose time in a lobby is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub enum LobbyChoice {
    /// They wait on.
    Wait,
    /// They play with an AI partner.
    Ai,
    /// They leave.
    Leave,
}

/// A person of the group who has not arrived yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(proptest_derive::Arbitrary))]
pub struct Absent {
    /// Their place among the people of the group.
    pub seat: Seat,
    /// True if their page is connected: they are busy with a stage before.
    pub connected: bool,
}
