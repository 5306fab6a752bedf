//! The terms of pay: currency, base, rates, and the time that counts.

use serde::Serialize;

use crate::limits::MAX_MONEY;
use crate::read::{Cursor, Fields};

/// The time that a sign of life counts if the file does not say it, seconds: about the time for a page of 700 words.
const USUAL_IDLE_S: u32 = 180;

/// The most minutes of time that are paid, if the file says neither this nor how long the study takes.
const USUAL_MOST_MINUTES: f64 = 120.0;

/// The terms of pay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PayTerms {
    /// The currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The base pay, for outcomes whose rule names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<f64>,
    /// Minutes that the study takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
    /// The rate an hour for time, for outcomes whose rule names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_rate_per_hour: Option<f64>,
    /// The most minutes of time that are paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_minutes: Option<f64>,
    /// Seconds for which a sign of life counts as time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_after_s: Option<u32>,
    /// The median wage an hour under which the researcher is warned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_per_hour: Option<f64>,
}

impl PayTerms {
    /// Returns the most minutes of time that are paid: as the file says, or twice the minutes that the study takes.
    pub fn most_time_minutes(&self) -> f64 {
        let twice = self.minutes.map(|minutes| 2.0 * minutes);
        let most = self.max_time_minutes.or(twice);
        most.unwrap_or(USUAL_MOST_MINUTES)
    }

    /// Returns whether the file limits the paid time, in one way or the other.
    pub fn has_time_limit(&self) -> bool {
        self.max_time_minutes.or(self.minutes).is_some()
    }

    /// For how long a sign of life counts as time, seconds.
    pub fn idle_s(&self) -> u32 {
        self.idle_after_s.unwrap_or(USUAL_IDLE_S)
    }
}

/// Reads them.
pub(super) fn read(fields: &mut Fields<'_>) -> Option<PayTerms> {
    let currency = fields.key("currency", "The currency as three letters, such as `GBP`.");
    let currency = currency.maybe(|place| currency_of(&place));
    let mut money = |key, doc| {
        fields
            .key(key, doc)
            .maybe(|place| place.read_number(0.0..=MAX_MONEY, ""))
    };
    let base = money(
        "base",
        "The base payment, for outcomes whose `pay` includes `base`.",
    );
    let rate = money(
        "time_rate_per_hour",
        "The hourly rate, for outcomes whose `pay` includes `time`.",
    );
    let floor = money(
        "floor_per_hour",
        "The minimum hourly wage. By default GBP 6 or USD 8 with `provider: prolific`, and none otherwise. \
         `coplay lint` warns if `base` for `minutes` is lower. `coplay pay` and `coplay rehearse` warn if the median \
         wage of completed sessions is lower.",
    );
    let minutes = fields.key(
        "minutes",
        "The duration that you promise to participants, in minutes. `coplay lint` warns if the study can last \
         longer.",
    );
    let minutes = minutes.maybe(|place| place.read_number(0.5..=1_440.0, "minutes"));
    let doc = "The most time that is paid at `time_rate_per_hour`, in minutes. By default twice `minutes`; without \
               `minutes`, 120.";
    let most = fields.key("max_time_minutes", doc);
    let most = most.maybe(|place| place.read_number(0.5..=1_440.0, "minutes"));
    let doc = "How long a sign of life counts as time, in seconds: a key, an answer, a message, a new page. A page on \
               which nobody does anything for longer earns nothing more. By default 180.";
    let idle = fields.key("idle_after_s", doc);
    let idle = idle.maybe(|place| place.read_whole(30..=3_600, "seconds"));
    Some(PayTerms {
        currency: currency?,
        base: base?,
        minutes: minutes?,
        time_rate_per_hour: rate?,
        max_time_minutes: most?,
        idle_after_s: idle?,
        floor_per_hour: floor?,
    })
}

/// The minimum hourly wage of a study that names none: Prolific's, in the currencies that it states.
///
/// Source: Prolific's payment principles, at least GBP 6 or USD 8 an hour.
pub fn usual_floor_per_hour(is_prolific: bool, currency: &str) -> Option<f64> {
    match currency {
        "GBP" if is_prolific => Some(6.0),
        "USD" if is_prolific => Some(8.0),
        _ => None,
    }
}

/// Source: ISO 4217; only the shape is checked.
fn currency_of(place: &Cursor<'_>) -> Option<String> {
    let text = place.text(40)?;
    let good = text.len() == 3 && text.chars().all(|c| c.is_ascii_uppercase());
    if !good {
        place.report_problem(format!(
            "`{text}` is not a currency; write its three letters, such as GBP, EUR or USD"
        ));
    }
    good.then_some(text)
}
