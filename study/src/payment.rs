//! The payment of a participant, and their codes at the end: base, bonus and time by the rule of their outcome, the
//! completion code and the reference number.
//!
//! Pure: the same study, facts, time and seed give the same payment, on every machine. It is computed once, when a
//! session ends, and stored. Amounts are whole numbers of the smallest unit of the currency, such as pence.

use std::collections::BTreeMap;

use formula::Value;
use serde::Serialize;

use crate::assign::{self, Rng};
use crate::formula::Formula;
use crate::limits::MAX_AMOUNT;
use crate::money::SCALES;
pub use crate::money::{amount_in_language, decimals_of, units_in_language, write_money};
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::recruitment::{Provider, RecruiterAction};
use crate::study::Study;

/// The payment of a participant, and the codes that they take along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Payment {
    /// Their outcome.
    pub outcome: Outcome,
    /// The action of the recruiter.
    pub deed: RecruiterAction,
    /// The completion code of that outcome; `None` in a study without recruitment.
    pub code: Option<String>,
    /// Their reference number, by which they can name their session without saying who they are.
    pub receipt: String,
    /// The currency of the amounts; `None` if nothing is paid.
    pub currency: Option<String>,
    /// Time with signs of life, as the server heard them, milliseconds; including the part beyond the paid time.
    pub time_ms: u64,
    /// The base, as far as the rule names it.
    pub base: u64,
    /// The bonus, as far as the rule names it.
    pub bonus: u64,
    /// The pay for the time, as far as the rule names it.
    pub time: u64,
    /// All of it, by the rule of the outcome.
    pub total: u64,
    /// The part that the provider does not pay by itself: a provider that approves pays the base.
    pub extra: u64,
    /// A note for the researcher: a rule that had no value.
    pub note: Option<String>,
}

/// Returns the completion code of an outcome: the code of the file, else a drawn one; `None` in a study without
/// recruitment, and for an outcome without its own rule.
pub fn code(study: &Study, outcome: Outcome, seed: u64) -> Option<String> {
    let way = study.recruitment.outcomes.get(&outcome)?;
    let drawn = || format!("C{}", name(seed, assign::CODES, outcome as u64));
    Some(way.code.clone().unwrap_or_else(drawn))
}

/// Seven characters that people can read to each other, drawn from a seed: no I, L, O, U.
fn name(seed: u64, purpose: u64, number: u64) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut rng = Rng::of(seed, &[purpose, number]);
    let letter = |_| char::from(ALPHABET[rng.draw_below(ALPHABET.len())]);
    (0..7).map(letter).collect()
}

impl Payment {
    /// The payment of the `number`-th session of the study, which has ended after `time_ms` with signs of life.
    pub fn of(
        study: &Study,
        progress: &Progress,
        outcome: Outcome,
        time_ms: u64,
        seed: u64,
        number: u64,
    ) -> Self {
        let receipt = format!("R{}", name(seed, assign::RECEIPTS, number));
        let paid_as = (study.recruitment).paid_as(outcome, progress.outcome_otherwise());
        let mut payment = Self {
            outcome,
            deed: RecruiterAction::Approve,
            code: code(study, paid_as, seed),
            receipt,
            currency: None,
            time_ms,
            base: 0,
            bonus: 0,
            time: 0,
            total: 0,
            extra: 0,
            note: None,
        };
        if let Some(way) = study.recruitment.outcomes.get(&paid_as) {
            payment.deed = way.deed;
            let currency = study.recruitment.pay_terms.currency.as_deref();
            if let (Some(pay), Some(currency)) = (&way.pay, currency) {
                let paid = |name: &str| way.is_paid(name);
                payment.settle(study, progress, pay, currency, paid);
            }
        }
        payment
    }

    /// Computes the amounts.
    fn settle(
        &mut self,
        study: &Study,
        progress: &Progress,
        pay: &Formula,
        currency: &str,
        paid: impl Fn(&str) -> bool,
    ) {
        let pay_terms = &study.recruitment.pay_terms;
        let scale = SCALES[decimals_of(currency)] as f64;
        let units = |amount: f64| (amount.clamp(0.0, MAX_AMOUNT) * scale).round() as u64;
        let mut scope = progress.facts().scope(study, &progress.bindings(study));
        let minutes = (self.time_ms as f64 / 60_000.0).min(pay_terms.most_time_minutes());
        self.currency = Some(currency.to_owned());
        if paid("base") {
            self.base = units(pay_terms.base.unwrap_or(0.0));
        }
        if paid("time") {
            self.time = units(pay_terms.time_rate_per_hour.unwrap_or(0.0) * minutes / 60.0);
        }
        if let Some(bonus) = study.bonus.as_ref().filter(|_| paid("bonus")) {
            self.bonus = units(self.number("bonus", bonus, &scope));
        }
        let amounts = [
            ("base", self.base),
            ("bonus", self.bonus),
            ("time", self.time),
        ];
        let amounts = amounts.map(|(name, units)| (name.to_owned(), (units as f64 / scale).into()));
        scope.extend(amounts);
        self.total = units(self.number("pay", pay, &scope));
        let approves = self.deed == RecruiterAction::Approve;
        let by_provider = match study.recruitment.provider {
            Provider::Prolific | Provider::Mturk if approves => self.base,
            _ => 0,
        };
        self.extra = self.total.saturating_sub(by_provider);
    }

    /// The value of a rule; 0 and a note if it has none.
    fn number(&mut self, what: &str, rule: &Formula, scope: &BTreeMap<String, Value>) -> f64 {
        let why = match rule.eval(scope) {
            Ok(Value::Number(number)) => return number,
            Ok(other) => format!("it gives {}", other.kind()),
            Err(error) => error.to_string(),
        };
        let told = format!(
            "`{what}: {}` has no value and counts as 0: {why}",
            rule.source()
        );
        self.note = Some(match self.note.take() {
            Some(before) => format!("{before}; {told}"),
            None => told,
        });
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_codes_never_change() {
        assert_eq!(name(7, assign::CODES, 0), name(7, assign::CODES, 0));
        assert_ne!(name(7, assign::CODES, 0), name(7, assign::CODES, 1));
        assert_ne!(name(7, assign::CODES, 0), name(7, assign::RECEIPTS, 0));
        assert_ne!(name(7, assign::CODES, 0), name(8, assign::CODES, 0));
    }
}
