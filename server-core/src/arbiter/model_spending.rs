//! The cost of language models so far, and whether a request may be made.

use std::collections::BTreeMap;

use study::language_model::{LanguageModel, SpendingLimits};

/// Costs by partner, and by partner and participant, millionths of the unit of the currency.
#[derive(Debug, Default)]
pub(super) struct ModelSpending {
    of_study: BTreeMap<String, u64>,
    of_session: BTreeMap<(String, String), u64>,
}

impl ModelSpending {
    /// Replaces one cost by another: the most that a request could cost by its real cost.
    pub(super) fn correct_spending(
        &mut self,
        partner: &str,
        participant: &str,
        before: u64,
        after: u64,
    ) {
        let session = (partner.to_owned(), participant.to_owned());
        let study = self.of_study.entry(partner.to_owned()).or_default();
        *study = study.saturating_sub(before).saturating_add(after);
        let session = self.of_session.entry(session).or_default();
        *session = session.saturating_sub(before).saturating_add(after);
    }

    /// Returns whether a request that may cost so much stays within the limits of a language model.
    pub(super) fn may_spend(&self, model: &LanguageModel, participant: &str, cost: u64) -> bool {
        let session = (model.name.clone(), participant.to_owned());
        let stays = |spent: Option<&u64>, limit: Option<f64>| {
            let spent = spent.copied().unwrap_or(0);
            SpendingLimits::as_micro(limit).is_none_or(|limit| spent.saturating_add(cost) <= limit)
        };
        stays(self.of_study.get(&model.name), model.limits.study_cost)
            && stays(self.of_session.get(&session), model.limits.session_cost)
    }
}
