//! The terms of an episode: prediction and delay, what happens when a person is away, and how pages reach each other.

use serde::{Serialize, Serializer};

use crate::folder::Source;
use crate::limits::MAX_SPECULATION;
use crate::read::{Cursor, Fields};
use crate::stage::ai_partner::{self, AiPartner};

/// Bounds between which the input delay is fixed when an episode starts, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InputDelay {
    /// The least.
    pub min: u8,
    /// The most.
    pub max: u8,
}

/// The rules for a person who is gone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnDisconnect {
    /// Seconds in which the person may come back before the others learn what follows.
    pub grace_s: u32,
    /// The rule during these seconds.
    pub meanwhile: Meanwhile,
    /// The consequence if they run out in the first half of the episode's ticks.
    pub first_half: Then,
    /// The consequence if they run out in the second half.
    pub second_half: Then,
    /// The AI partner that takes the seat, there if one of the above is `bot`: the stage's own, else the lobby's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bot: Option<AiPartner>,
}

/// The rule while a person may still come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meanwhile {
    /// The seat does nothing, and the others play on.
    Stand,
    /// An AI partner plays the seat.
    Bot,
    /// The others wait.
    Hold,
}

/// The consequence when a person did not come back in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// An AI partner plays the seat.
    Bot,
    /// The episode ends, because a partner left.
    PartnerLeft,
    /// The episode ends for a technical reason.
    Technical,
}

/// The rules for hidden tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenTab {
    /// Seconds until the others learn of it.
    pub warn_s: u32,
    /// Seconds until the person counts as gone.
    pub drop_s: u32,
}

/// How pages reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Net {
    /// Which ways WebRTC may take.
    pub ice: IcePolicy,
    /// True if the WebSocket carries what WebRTC cannot. In the file: `websocket` or `none`.
    #[serde(serialize_with = "fallback")]
    pub fallback: bool,
}

/// Which ways WebRTC may take from page to page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IcePolicy {
    /// Every way, the direct one first.
    All,
    /// Through a TURN server alone, so that no person learns the address of another.
    Relay,
}

impl Default for OnDisconnect {
    fn default() -> Self {
        Self {
            grace_s: 15,
            meanwhile: Meanwhile::Stand,
            first_half: Then::PartnerLeft,
            second_half: Then::PartnerLeft,
            bot: None,
        }
    }
}

impl Default for HiddenTab {
    fn default() -> Self {
        Self {
            warn_s: 3,
            drop_s: 20,
        }
    }
}

impl Default for Net {
    fn default() -> Self {
        Self {
            ice: IcePolicy::All,
            fallback: true,
        }
    }
}

impl Net {
    /// Returns whether only a TURN server can carry a match: without one, nobody could play.
    pub fn needs_turn(self) -> bool {
        self.ice == IcePolicy::Relay && !self.fallback
    }
}

/// The words of [`Net::fallback`].
const FALLBACKS: [(&str, bool); 2] = [("websocket", true), ("none", false)];

fn fallback<S: Serializer>(fallback: &bool, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(FALLBACKS[usize::from(!fallback)].0)
}

impl OnDisconnect {
    /// The keys that call an AI partner, with the words that do.
    pub(crate) fn list_calls(&self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        if self.meanwhile == Meanwhile::Bot {
            keys.push("meanwhile");
        }
        match (self.first_half == Then::Bot, self.second_half == Then::Bot) {
            (true, true) => keys.push("then"),
            (true, false) => keys.push("first_half"),
            (false, true) => keys.push("second_half"),
            (false, false) => {}
        }
        keys
    }
}

pub(crate) fn read_window(place: &Cursor<'_>, greatest_delay: u8) -> Option<u8> {
    let window = place.read_whole(1..=MAX_SPECULATION, "ticks")?;
    let most = MAX_SPECULATION - greatest_delay;
    if window > most {
        place.report_problem(format!(
            "a window of {window} and an input delay of up to {greatest_delay} are more than {MAX_SPECULATION} ticks together; \
             write a window of at most {most}"
        ));
        return None;
    }
    Some(window)
}

pub(crate) fn input_delay(place: &Cursor<'_>) -> Option<InputDelay> {
    let mut fields = place.fields("bounds of the input delay")?;
    let min = fields.key("min", "The least input delay, in ticks.");
    let min = min.or(0, |place| place.read_whole(0..=15, "ticks"));
    let max = fields
        .key("max", "The greatest input delay, in ticks.")
        .or(3, |place| place.read_whole(0..=15, "ticks"));
    fields.done();
    let (min, max) = (min?, max?);
    if min > max {
        place.report_problem(format!(
            "`min` is {min} and `max` is {max}; `min` must not be above `max`"
        ));
        return None;
    }
    Some(InputDelay { min, max })
}

pub(crate) fn on_disconnect(source: Source<'_>, place: &Cursor<'_>) -> Option<OnDisconnect> {
    let mut fields = place.fields("what happens when a person is gone")?;
    let usual = OnDisconnect::default();
    let doc = "The time in which the person can come back before `then` applies, in seconds.";
    let grace_s = fields
        .key("grace_s", doc)
        .or(usual.grace_s, |p| p.read_whole(1..=600, "seconds"));
    let choices = [
        ("stand", Meanwhile::Stand),
        ("bot", Meanwhile::Bot),
        ("hold", Meanwhile::Hold),
    ];
    let doc = "What happens during `grace_s`. `stand`: the seat does nothing, and the others keep playing. `bot`: \
               an AI partner plays the seat. `hold`: the game pauses for all, with a countdown.";
    let meanwhile = fields.key("meanwhile", doc);
    let meanwhile = meanwhile.or(usual.meanwhile, |p| p.read_word("choice", &choices));
    let halves = halves(&mut fields);
    let bot = fields.key(
        "bot",
        "The AI partner that takes over. By default that of the lobby.",
    );
    let bot = bot.maybe(|place| ai_partner::read(source, &place));
    fields.done();
    let (first_half, second_half) = halves?;
    let terms = OnDisconnect {
        grace_s: grace_s?,
        meanwhile: meanwhile?,
        first_half,
        second_half,
        bot: bot?,
    };
    if terms.bot.is_some() && terms.list_calls().is_empty() {
        place.wrong_at("bot", "never used, as no AI partner takes the seat; remove it, or write `then: bot` or `meanwhile: bot`");
        return None;
    }
    Some(terms)
}

/// Reads the consequence by half of the episode: `then` for both, or each by its own key.
fn halves(fields: &mut Fields<'_>) -> Option<(Then, Then)> {
    let choices = [
        ("bot", Then::Bot),
        ("partner_left", Then::PartnerLeft),
        ("technical", Then::Technical),
    ];
    let mut read = |key, doc| {
        let key = fields.key(key, doc);
        key.place.map(|place| place.read_word("choice", &choices))
    };
    let whole = read(
        "then",
        "What happens after `grace_s`. `bot`: an AI partner plays the seat. `partner_left`, `technical`: the \
         episode ends for the group, with this reason. By default `partner_left`.",
    );
    let first = read(
        "first_half",
        "Replaces `then` in the first half of the episode's maximum length.",
    );
    let second = read("second_half", "Replaces `then` in the second half.");
    let missing = |key, other, example| {
        let message = format!(
            "missing, as `{other}` says what follows in the other half; write for example `{key}: {example}`"
        );
        fields.whole.wrong_at(key, message);
        None
    };
    match (whole, first, second) {
        (Some(_), None, None) => whole?.map(|then| (then, then)),
        (None, None, None) => {
            let usual = OnDisconnect::default();
            Some((usual.first_half, usual.second_half))
        }
        (None, Some(first), Some(second)) => first.zip(second),
        (None, Some(_), None) => missing("second_half", "first_half", "bot"),
        (None, None, Some(_)) => missing("first_half", "second_half", "partner_left"),
        (Some(_), ..) => {
            fields.whole.wrong_at(
                "then",
                "says what follows in the whole episode, and a half says it again; \
                 keep `then`, or `first_half` and `second_half`",
            );
            None
        }
    }
}

pub(crate) fn hidden_tab(place: &Cursor<'_>) -> Option<HiddenTab> {
    let mut fields = place.fields("what happens when a page is out of sight")?;
    let usual = HiddenTab::default();
    let doc = "Seconds in a hidden tab until the partners see a message about it.";
    let warn_s = fields
        .key("warn_s", doc)
        .or(usual.warn_s, |p| p.read_whole(1..=600, "seconds"));
    let doc = "The time in a hidden tab until the person counts as gone for good and `on_disconnect` decides, in seconds. \
         At least `warn_s`.";
    let drop_s = fields
        .key("drop_s", doc)
        .or(usual.drop_s, |p| p.read_whole(1..=600, "seconds"));
    fields.done();
    let (warn_s, drop_s) = (warn_s?, drop_s?);
    if drop_s < warn_s {
        place.report_problem(format!(
            "`drop_s` is {drop_s} and `warn_s` is {warn_s}; the others must be told before the person counts as gone, \
             so `drop_s` must not be below `warn_s`"
        ));
        return None;
    }
    Some(HiddenTab { warn_s, drop_s })
}

pub(crate) fn read_net(place: &Cursor<'_>) -> Option<Net> {
    let mut fields = place.fields("how pages reach each other")?;
    let usual = Net::default();
    let ways = [("all", IcePolicy::All), ("relay", IcePolicy::Relay)];
    let doc = "`all`: pages connect directly if possible, otherwise through the server's TURN. `relay`: only \
               through TURN, so that no participant learns another's IP address.";
    let ice = fields
        .key("ice", doc)
        .or(usual.ice, |place| place.read_word("choice", &ways));
    let doc = "The path when WebRTC fails. `websocket`: through the server's WebSocket. `none`: no path; with `ice: \
               relay` on a server without TURN, nobody can play. By default `websocket`.";
    let fallback = fields
        .key("fallback", doc)
        .maybe(|place| place.read_word("choice", &FALLBACKS));
    let fallback = fallback.map(|fallback| fallback.unwrap_or(usual.fallback));
    fields.done();
    Some(Net {
        ice: ice?,
        fallback: fallback?,
    })
}
