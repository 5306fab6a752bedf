//! Whence participants come, what each way out tells the recruiter, and what it pays. In the file: `recruitment`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::page::{self, Page, Source};
use crate::problem::hint;
use crate::read::{Fields, Place};
use crate::stage::Outcome;

/// Whence participants come, and what they are paid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recruitment {
    /// Whence they come.
    pub provider: Provider,
    /// Names of the parameters of a participant's link, by what they mean.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// What they are paid with.
    #[serde(flatten)]
    pub wage: Wage,
    /// The ways out that the file says something of.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<Outcome, WayOut>,
}

/// Whence participants come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// By links that the researcher hands out.
    #[default]
    None,
    /// From Prolific.
    Prolific,
    /// From Amazon Mechanical Turk.
    Mturk,
    /// From anywhere that adds parameters to the link.
    Parameters,
    /// One after the other at the same computer.
    Kiosk,
}

/// What participants are paid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Wage {
    /// The currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// What all get who come to a way out that pays it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<f64>,
    /// Minutes that the study takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
    /// What an hour of waiting, or of a study that was cut short, is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_rate_per_hour: Option<f64>,
    /// The median wage under which the researcher is warned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_per_hour: Option<f64>,
}

/// What a way out tells the recruiter, and what it pays.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WayOut {
    /// What the recruiter is told.
    #[serde(rename = "do")]
    pub deed: Deed,
    /// What is paid: `none`, `time`, `base`, or a formula over `base`, `bonus` and `time`.
    pub pay: String,
    /// The completion code; none for one that the server draws once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What participants read; none for the page that the program brings.
    #[serde(rename = "file", skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
}

/// What the recruiter is told of a way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// The submission is approved.
    Approve,
    /// The participant is asked to return it.
    Return,
    /// The same, and the pay follows as a bonus.
    ReturnThenPay,
    /// The participant is screened out within the study.
    ScreenOut,
}

const PROVIDERS: [(&str, Provider); 5] = [
    ("none", Provider::None),
    ("prolific", Provider::Prolific),
    ("mturk", Provider::Mturk),
    ("parameters", Provider::Parameters),
    ("kiosk", Provider::Kiosk),
];

const DEEDS: [(&str, Deed); 4] = [
    ("approve", Deed::Approve),
    ("return", Deed::Return),
    ("return_then_pay", Deed::ReturnThenPay),
    ("screen_out", Deed::ScreenOut),
];

/// The greatest amount of money, in any currency.
const MAX_MONEY: f64 = 100_000.0;

/// Reads the block.
pub(crate) fn read(source: Source<'_>, place: &Place<'_>) -> Option<Recruitment> {
    let mut fields = place.fields("whence participants come")?;
    let doc = "Whence participants come. `none`: by links that are handed out. `prolific`: reads `PROLIFIC_PID`, `STUDY_ID` \
               and `SESSION_ID`. `mturk`: reads `workerId`, `assignmentId` and `hitId`. `parameters`: reads those below. \
               `kiosk`: one after the other at the same computer.";
    let provider = fields.key("provider", doc);
    let provider = provider.or(Provider::None, |place| place.word("provider", &PROVIDERS));
    let doc = "By what it means, the name of a parameter of the link; `participant` is the one that names the person.";
    let parameters = fields
        .key("parameters", doc)
        .maybe(|place| parameters(&place).map(|parameters| (parameters, place)));
    let wage = wage(&mut fields);
    let doc = "Every way out that is not as usual: what the recruiter is told, and what is paid.";
    let outcomes = fields
        .key("outcomes", doc)
        .or(BTreeMap::new(), |place| outcomes(source, &place));
    fields.done();
    let (provider, wage, outcomes) = (provider?, wage?, outcomes?);
    let parameters = match (provider, parameters?) {
        (Provider::Parameters, None) => {
            let message = "missing, but `provider: parameters` needs them; write for example `parameters: {participant: id}`";
            place.wrong_at("parameters", message);
            return None;
        }
        (Provider::Parameters, Some((parameters, _))) => parameters,
        (_, None) => BTreeMap::new(),
        (_, Some((_, place))) => {
            place.wrong("never used, as `provider` is not `parameters`; remove them, or write `provider: parameters`");
            return None;
        }
    };
    check_pay(place, &wage, &outcomes)?;
    Some(Recruitment {
        provider,
        parameters,
        wage,
        outcomes,
    })
}

fn parameters(place: &Place<'_>) -> Option<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    for (meaning, place) in place.entries("parameters")? {
        names.insert(meaning.to_owned(), place.text(100)?);
    }
    if !names.contains_key("participant") {
        place.wrong(
            "no `participant`, so nobody would be known again; write for example `participant: id`",
        );
        return None;
    }
    Some(names)
}

fn wage(fields: &mut Fields<'_>) -> Option<Wage> {
    let currency = fields.key("currency", "The currency, by its three letters: `GBP`.");
    let currency = currency.maybe(|place| currency_of(&place));
    let mut money = |key, doc| {
        fields
            .key(key, doc)
            .maybe(|place| place.number(0.0..=MAX_MONEY, ""))
    };
    let base = money("base", "What all get who come to a way out that pays it.");
    let rate = money(
        "time_rate_per_hour",
        "What an hour is paid to those whose way out pays the time.",
    );
    let floor = money(
        "floor_per_hour",
        "The median wage an hour under which lint, rehearsal and server warn.",
    );
    let minutes = fields.key(
        "minutes",
        "Minutes that the study takes, as people are told before.",
    );
    let minutes = minutes.maybe(|place| place.number(0.5..=1_440.0, "minutes"));
    Some(Wage {
        currency: currency?,
        base: base?,
        minutes: minutes?,
        time_rate_per_hour: rate?,
        floor_per_hour: floor?,
    })
}

/// Source: ISO 4217; only the shape is checked.
fn currency_of(place: &Place<'_>) -> Option<String> {
    let text = place.text(40)?;
    let good = text.len() == 3 && text.chars().all(|c| c.is_ascii_uppercase());
    if !good {
        place.wrong(format!(
            "`{text}` is not a currency; write its three letters, such as GBP, EUR or USD"
        ));
    }
    good.then_some(text)
}

fn outcomes(source: Source<'_>, place: &Place<'_>) -> Option<BTreeMap<Outcome, WayOut>> {
    let mut ways = BTreeMap::new();
    let mut whole = true;
    for (name, place) in place.entries("outcomes")? {
        let outcome = Outcome::ALL.iter().find(|(known, _)| *known == name);
        let way = way_out(source, &place);
        match (outcome, way) {
            (Some((_, outcome)), Some(way)) => drop(ways.insert(*outcome, way)),
            (None, _) => {
                place.wrong(format!(
                    "unknown outcome `{name}`; {}",
                    hint(name, &Outcome::ALL.map(|(name, _)| name))
                ));
                whole = false;
            }
            (_, None) => whole = false,
        }
    }
    whole.then_some(ways)
}

fn way_out(source: Source<'_>, place: &Place<'_>) -> Option<WayOut> {
    let mut fields = place.fields("a way out")?;
    let doc = "What the recruiter is told. `approve`: the submission is approved. `return`: the participant is asked to \
               return it. `return_then_pay`: the same, and the pay follows as a bonus. `screen_out`: the participant is \
               screened out within the study.";
    let deed = fields
        .key("do", doc)
        .need("approve", |place| place.word("deed", &DEEDS));
    let doc = "What is paid: `none`; `base`; `time`, by the rate an hour; or a formula over `base`, `bonus` and `time`.";
    let pay = fields
        .key("pay", doc)
        .need("base + bonus", |place| place.text(1_000));
    let doc = "The completion code, if the recruiter has given one; otherwise the server draws one and keeps it.";
    let code = fields.key("code", doc).maybe(|place| place.text(60));
    let doc =
        "What participants read who come to this way out; otherwise the program brings a page.";
    let page = fields
        .key("file", doc)
        .maybe(|place| page::read(source, &place));
    fields.done();
    Some(WayOut {
        deed: deed?,
        pay: pay?,
        code: code?,
        page: page?,
    })
}

/// Reports ways out that pay what is not said.
fn check_pay(place: &Place<'_>, wage: &Wage, outcomes: &BTreeMap<Outcome, WayOut>) -> Option<()> {
    let mut whole = Some(());
    for (outcome, way) in outcomes {
        let names = |name: &str| {
            let words = way
                .pay
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.into_iter().any(|word| word == name)
        };
        let lacking = [
            ("base", wage.base.is_none()),
            ("time", wage.time_rate_per_hour.is_none()),
        ];
        for (name, _) in lacking.iter().filter(|(name, lacks)| *lacks && names(name)) {
            let key = if *name == "base" {
                "base: 4.50"
            } else {
                "time_rate_per_hour: 9.00"
            };
            let message = format!(
                "pays `{name}`, which is not said; write for example `{key}` in this block"
            );
            place.wrong_at(&format!("outcomes.{outcome}.pay"), message);
            whole = None;
        }
        if wage.currency.is_none() && way.pay != "none" {
            place.wrong_at(&format!("outcomes.{outcome}.pay"), "pays something, but in which currency is not said; write for example `currency: GBP` in this block");
            whole = None;
        }
    }
    whole
}
