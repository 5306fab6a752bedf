//! The source of participants, and for each outcome the action of the recruiter and the pay. In the file: `recruitment`.

mod defaults;
mod identifier;
mod pay_terms;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

pub use identifier::{
    IdentifierPattern, is_mturk_entity, is_mturk_worker, is_printable, is_prolific_id,
};
pub use pay_terms::{PayTerms, usual_floor_per_hour};

use crate::folder::Source;
use crate::formula::{Formula, Type, Types};
use crate::outcome::Outcome;
use crate::page::{self, TextPage};
use crate::problem::make_hint;
use crate::read::Cursor;

/// The source of participants, and their pay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recruitment {
    /// The provider.
    pub provider: Provider,
    /// Names of the parameters of a participant's link, by their meaning.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The pattern of a whole identifier of a participant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<IdentifierPattern>,
    /// The name of the parameter that signs the identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Currency, base, rates and duration.
    #[serde(flatten)]
    pub pay_terms: PayTerms,
    /// Every outcome, with defaults for those that the file does not mention; empty without the block. `withdrew` is
    /// there only if the file has it: otherwise, a withdrawal does not change the pay.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<Outcome, WayOut>,
}

/// The source of participants.
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

/// The rule of one outcome: the action of the recruiter, and the pay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WayOut {
    /// The action of the recruiter.
    #[serde(rename = "do")]
    pub deed: RecruiterAction,
    /// The pay: a formula over `base`, `bonus`, `time`, episodes and answers; `None` for `none`.
    #[serde(serialize_with = "pay")]
    pub pay: Option<Formula>,
    /// The completion code; `None` for a code that the server draws once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The page; `None` for the built-in one.
    #[serde(rename = "file", skip_serializing_if = "Option::is_none")]
    pub page: Option<TextPage>,
}

impl Recruitment {
    /// Returns the outcome whose rule decides the pay of an outcome. `otherwise` is the outcome without the withdrawal.
    pub fn paid_as(&self, outcome: Outcome, otherwise: Option<Outcome>) -> Outcome {
        let follows = outcome == Outcome::Withdrew && !self.outcomes.contains_key(&outcome);
        match otherwise.filter(|other| *other != Outcome::Withdrew) {
            _ if !follows => outcome,
            Some(other) => other,
            // Earlier programs did not distinguish a withdrawal from leaving early.
            None => Outcome::LeftEarly,
        }
    }
}

impl WayOut {
    /// Returns the pay as it is written: `none` or a formula.
    pub fn rule(&self) -> &str {
        self.pay.as_ref().map_or(NOTHING, Formula::source)
    }

    /// Returns whether its pay names one of `base`, `bonus` and `time`.
    pub fn is_paid(&self, name: &str) -> bool {
        let mut words = self
            .rule()
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.any(|word| word == name)
    }
}

fn pay<S: Serializer>(pay: &Option<Formula>, to: S) -> Result<S::Ok, S::Error> {
    match pay {
        Some(formula) => formula.serialize(to),
        None => to.serialize_str(NOTHING),
    }
}

/// The pay of a way out that pays nothing.
const NOTHING: &str = "none";

/// The action of the recruiter for an outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecruiterAction {
    /// The submission is approved.
    #[default]
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

const DEEDS: [(&str, RecruiterAction); 4] = [
    ("approve", RecruiterAction::Approve),
    ("return", RecruiterAction::Return),
    ("return_then_pay", RecruiterAction::ReturnThenPay),
    ("screen_out", RecruiterAction::ScreenOut),
];

impl RecruiterAction {
    /// Every deed and its name.
    pub const ALL: [(&'static str, Self); 4] = DEEDS;

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        DEEDS[self as usize].0
    }
}

/// Returns the variables of payments, in addition to those of play and answers.
fn money(facts: &Types) -> Types {
    let mut types = facts.clone();
    types.extend(["base", "bonus", "time"].map(|name| (name.to_owned(), Type::Number)));
    types
}

/// Reads the block. `facts` are the variables of play and answers; `bonus` says whether there is a bonus.
pub(crate) fn read(
    source: Source<'_>,
    place: &Cursor<'_>,
    facts: &Types,
    bonus: bool,
) -> Option<Recruitment> {
    let types = money(facts);
    let mut fields = place.fields("where participants come from")?;
    let doc = "Where participants come from. `none`: participant links that you hand out. `prolific`: reads \
               `PROLIFIC_PID`, `STUDY_ID` and `SESSION_ID`. `mturk`: reads `workerId`, `assignmentId` and `hitId`. \
               `parameters`: reads the URL parameters below. `kiosk`: one participant after another at the same \
               computer.";
    let provider = fields.key("provider", doc);
    let provider = provider.or(Provider::None, |place| {
        place.read_word("provider", &PROVIDERS)
    });
    let doc = "Maps our names to the URL parameters of your recruiter: `{participant: pid}` reads `?pid=…`. \
               `participant` is the one that identifies the person.";
    let parameters = fields
        .key("parameters", doc)
        .maybe(|place| parameters(&place).map(|parameters| (parameters, place)));
    let doc = "With `provider: parameters`: a regular expression that the whole identifier of a participant must \
               match, such as `[A-Z]{3}[0-9]{4}`. Other links are refused.";
    let pattern = (fields.key("pattern", doc))
        .maybe(|place| of_parameters(provider, &place, IdentifierPattern::read));
    let doc = "With `provider: parameters`: the URL parameter that signs the identifier of the participant. Its value is \
               the HMAC-SHA256 of the identifier in hexadecimal digits, under the secret of `coplay serve \
               --signature-key FILE`. Other links are refused.";
    let signature = (fields.key("signature", doc))
        .maybe(|place| of_parameters(provider, &place, |place| place.text(100)));
    let pay_terms = pay_terms::read(&mut fields);
    let doc = "Outcomes that differ from the default: what Coplay reports to the recruiter, and what it pays.";
    let outcomes = fields
        .key("outcomes", doc)
        .or(BTreeMap::new(), |place| outcomes(source, &place, &types));
    fields.done();
    let (provider, pay_terms, outcomes) = (provider?, pay_terms?, outcomes?);
    let (pattern, signature) = (pattern?, signature?);
    let parameters = match (provider, parameters?) {
        (Provider::Parameters, None) => {
            let message = "missing, but `provider: parameters` needs them; write for example `parameters: {participant: id}`";
            place.wrong_at("parameters", message);
            return None;
        }
        (Provider::Parameters, Some((parameters, _))) => parameters,
        (_, None) => BTreeMap::new(),
        (_, Some((_, place))) => {
            place.report_problem("never used, as `provider` is not `parameters`; remove them, or write `provider: parameters`");
            return None;
        }
    };
    check_pay(place, &pay_terms, &outcomes, bonus)?;
    let outcomes = defaults::fill_in(outcomes, &pay_terms, bonus, &types);
    Some(Recruitment {
        provider,
        parameters,
        pattern,
        signature,
        pay_terms,
        outcomes,
    })
}

/// Reads a key that only links with their own parameters have.
fn of_parameters<T>(
    provider: Option<Provider>,
    place: &Cursor<'_>,
    read: impl FnOnce(&Cursor<'_>) -> Option<T>,
) -> Option<T> {
    if provider.is_some_and(|provider| provider != Provider::Parameters) {
        place.report_problem("never used, as `provider` is not `parameters`; remove it, or write `provider: parameters`");
        return None;
    }
    read(place)
}

fn parameters(place: &Cursor<'_>) -> Option<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    for (meaning, place) in place.read_entries("parameters")? {
        names.insert(meaning.to_owned(), place.text(100)?);
    }
    if !names.contains_key("participant") {
        place.report_problem(
            "no `participant`, so nobody would be known again; write for example `participant: id`",
        );
        return None;
    }
    Some(names)
}

fn outcomes(
    source: Source<'_>,
    place: &Cursor<'_>,
    types: &Types,
) -> Option<BTreeMap<Outcome, WayOut>> {
    let mut ways = BTreeMap::new();
    let mut whole = true;
    for (name, place) in place.read_entries("outcomes")? {
        let outcome = Outcome::ALL.iter().find(|(known, _)| *known == name);
        let way = way_out(source, &place, types);
        match (outcome, way) {
            (Some((_, outcome)), Some(way)) => drop(ways.insert(*outcome, way)),
            (None, _) => {
                place.report_problem(format!(
                    "unknown outcome `{name}`; {}",
                    make_hint(name, &Outcome::ALL.map(|(name, _)| name))
                ));
                whole = false;
            }
            (_, None) => whole = false,
        }
    }
    whole.then_some(ways)
}

fn way_out(source: Source<'_>, place: &Cursor<'_>, types: &Types) -> Option<WayOut> {
    let mut fields = place.fields("a way out")?;
    let doc = "What happens to the submission. `approve`: it is approved. `return`: the participant is asked to \
               return it. `return_then_pay`: the same, and the pay follows as a bonus. `screen_out`: the \
               participant is screened out within the study.";
    let deed = fields
        .key("do", doc)
        .require_key("approve", |place| place.read_word("deed", &DEEDS));
    let doc = "The pay: `none`, or a formula over `base`, `bonus` and `time`, such as `base + bonus`. `time` is the \
               time with signs of life at `time_rate_per_hour`.";
    let pay = fields
        .key("pay", doc)
        .require_key("base + bonus", |place| pay_of(&place, types));
    let doc = "The completion code. By default the server derives one from the seed of the study.";
    let code = fields.key("code", doc).maybe(|place| code_of(&place));
    let doc = "The last page for this outcome. By default a built-in page.";
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

fn pay_of(place: &Cursor<'_>, types: &Types) -> Option<Option<Formula>> {
    match place.node.is_text(NOTHING) {
        true => Some(None),
        false => Formula::read(place, types, &Type::Number).map(Some),
    }
}

/// A code travels in a link.
fn code_of(place: &Cursor<'_>) -> Option<String> {
    let text = place.text(60)?;
    let good = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if !good {
        place.report_problem(format!(
            "`{text}` is not a completion code; use letters, digits, `-` and `_`"
        ));
    }
    good.then_some(text)
}

/// Reports outcomes that pay something undefined, and a code of two outcomes about which the recruiter gets different
/// instructions.
fn check_pay(
    place: &Cursor<'_>,
    pay_terms: &PayTerms,
    outcomes: &BTreeMap<Outcome, WayOut>,
    bonus: bool,
) -> Option<()> {
    let mut whole = Some(());
    let mut wrong = |key: &str, message: &str| {
        place.wrong_at(key, message);
        whole = None;
    };
    for (outcome, way) in outcomes {
        let key = format!("outcomes.{outcome}.pay");
        let lacking = [
            (
                "base",
                pay_terms.base.is_none(),
                "write for example `base: 4.50` in this block",
            ),
            (
                "time",
                pay_terms.time_rate_per_hour.is_none(),
                "write for example `time_rate_per_hour: 9.00` in this block",
            ),
            (
                "bonus",
                !bonus,
                "write for example `bonus: 0.5` at the top of the file",
            ),
        ];
        for (name, _, mend) in lacking
            .iter()
            .filter(|(name, lacks, _)| *lacks && way.is_paid(name))
        {
            wrong(&key, &format!("pays `{name}`, which is not said; {mend}"));
        }
        if pay_terms.currency.is_none() && way.pay.is_some() {
            wrong(
                &key,
                "pays something, but in which currency is not said; write for example `currency: GBP` in this block",
            );
        }
        let is_twin = |(_, other): &(&Outcome, &WayOut)| {
            way.code.is_some() && other.code == way.code && other.deed != way.deed
        };
        if let Some((other, _)) = outcomes.range(..outcome).find(is_twin) {
            let message = format!(
                "`{other}` has this code too, and tells the recruiter something else; give each its own"
            );
            wrong(&format!("outcomes.{outcome}.code"), &message);
        }
    }
    whole
}
