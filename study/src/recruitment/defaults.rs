//! The rules of outcomes that the file does not mention.

use std::collections::BTreeMap;

use super::{NOTHING, PayTerms, RecruiterAction, WayOut};
use crate::formula::{Formula, Types};
use crate::outcome::Outcome;

/// Adds the rules of outcomes that the file does not mention. People who reached the end, or whom a partner left, are
/// paid in full; people who could not continue are paid the time; others return the submission. A withdrawal has no
/// separate rule.
pub(super) fn fill_in(
    mut outcomes: BTreeMap<Outcome, WayOut>,
    pay_terms: &PayTerms,
    bonus: bool,
    types: &Types,
) -> BTreeMap<Outcome, WayOut> {
    let said = pay_terms.currency.is_some();
    let full = match (pay_terms.base.is_some(), bonus) {
        (true, true) => "base + bonus",
        (true, false) => "base",
        (false, true) => "bonus",
        (false, false) => NOTHING,
    };
    let by_time = said && pay_terms.time_rate_per_hour.is_some();
    for (_, outcome) in Outcome::ALL {
        let (deed, pay) = match outcome {
            Outcome::Withdrew => continue,
            Outcome::Completed | Outcome::PartnerLeft => (RecruiterAction::Approve, full),
            Outcome::LobbyTimeout
            | Outcome::Technical
            | Outcome::FailedQuiz
            | Outcome::LeftEarly
            | Outcome::TimedOut
                if by_time =>
            {
                (RecruiterAction::ReturnThenPay, "time")
            }
            Outcome::LobbyTimeout | Outcome::Technical if pay_terms.base.is_some() => {
                (RecruiterAction::Approve, "base")
            }
            _ => (RecruiterAction::Return, NOTHING),
        };
        let pay = (said && pay != NOTHING).then(|| Formula::known(pay, types));
        outcomes.entry(outcome).or_insert(WayOut {
            deed,
            pay,
            code: None,
            page: None,
        });
    }
    outcomes
}
