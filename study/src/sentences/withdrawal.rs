//! The sentence about the pay of those who withdraw at a debriefing: it follows from the rules of the study, so that it is
//! true in each.

use super::{BUILT_IN, Sentences};
use crate::outcome::Outcome;
use crate::recruitment::WayOut;
use crate::stage::StageKind;
use crate::study::Study;

/// The sentence about the meaning of a withdrawal.
const MEANS: &str = "withdraw_means";

impl Study {
    /// Returns the sentences for pages of this study: its own, and the meaning of a withdrawal here.
    pub fn page_sentences(&self) -> Sentences {
        let mut all = self.sentences.clone();
        let Some(name) = self.find_withdrawal_pay() else {
            return all;
        };
        for language in BUILT_IN {
            all.0.entry(language.to_owned()).or_default();
        }
        for (language, own) in &mut all.0 {
            // Otherwise, it says about the pay what the researchers want.
            if own.contains_key(name) || !own.contains_key(MEANS) {
                let whole = [MEANS, name].map(|name| self.sentences.find(language, name));
                own.insert(MEANS.to_owned(), whole.join(" ").trim().to_owned());
            }
        }
        all
    }

    /// Returns the sentence about the effect of a withdrawal on the pay; `None` if nobody can withdraw, or nobody who
    /// could is paid.
    fn find_withdrawal_pay(&self) -> Option<&'static str> {
        let may_withdraw = |kind: &StageKind| match kind {
            StageKind::Debrief(debrief) => debrief.allow_withdraw,
            _ => false,
        };
        if !self.timeline.iter().any(|it| may_withdraw(&it.kind)) {
            return None;
        }
        let ways = &self.recruitment.outcomes;
        let otherwise: Vec<&WayOut> = (self.list_outcomes_at_debriefing().into_iter())
            .filter_map(|outcome| ways.get(&outcome))
            .collect();
        let withdrew = ways.get(&Outcome::Withdrew);
        let is_paid = |way: &&WayOut| self.may_pay(way);
        if !otherwise
            .iter()
            .copied()
            .chain(withdrew)
            .any(|way| is_paid(&way))
        {
            return None;
        }
        Some(match withdrew {
            None => "withdraw_same_pay",
            Some(way) if otherwise.iter().all(|other| other.rule() == way.rule()) => {
                "withdraw_same_pay"
            }
            Some(way) if !self.may_pay(way) => "withdraw_no_pay",
            Some(_) => "withdraw_other_pay",
        })
    }

    /// The outcomes that those at a debriefing would have without a withdrawal.
    pub(crate) fn list_outcomes_at_debriefing(&self) -> Vec<Outcome> {
        let possible = self.outcomes();
        let broken = [Outcome::PartnerLeft, Outcome::Technical];
        let broken = broken.into_iter().filter(|it| possible.contains(it));
        self.last_outcome().into_iter().chain(broken).collect()
    }

    /// Returns whether a rule may pay more than nothing: not if everything that it names is nothing.
    fn may_pay(&self, way: &WayOut) -> bool {
        let terms = &self.recruitment.pay_terms;
        if way.pay.is_none() || terms.currency.is_none() {
            return false;
        }
        let is_some = |amount: Option<f64>| amount.is_some_and(|amount| amount > 0.0);
        let money = [
            ("base", is_some(terms.base)),
            ("bonus", self.bonus.is_some()),
            ("time", is_some(terms.time_rate_per_hour)),
        ];
        let mut named = money
            .iter()
            .filter(|(name, _)| way.is_paid(name))
            .peekable();
        named.peek().is_none() || named.any(|(_, is_some)| *is_some)
    }
}
