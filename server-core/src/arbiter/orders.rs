//! Orders of a researcher at the dashboard: each is checked first, written into the audit trail, and then carried out like
//! any other event. So a refused order changes nothing, and nothing is done that is not written down.

use study::design::{Quota, Unit};
use study::payment::{decimals_of, write_money};
use study::{Outcome, Payment, ProgressEvent};

use super::{Arbiter, Effect, Place, SessionId, Write};
use crate::desk::{DeskOrder, OrderRefused, RecruitmentState};

/// The most units that may be wanted of a treatment, or in all.
const MOST_PLACES: u32 = 1_000_000;

/// The largest bonus, whole units of the currency.
const MOST_BONUS: u64 = 10_000;

/// The outcomes with which a researcher may end a session. Nobody completes a study without going through it, only the
/// person withdraws or refuses, and a full study is a state of recruitment.
const OUTCOMES: [Outcome; 8] = [
    Outcome::Technical,
    Outcome::PartnerLeft,
    Outcome::TimedOut,
    Outcome::LeftEarly,
    Outcome::PageFailed,
    Outcome::Ineligible,
    Outcome::FailedQuiz,
    Outcome::LobbyTimeout,
];

impl Arbiter {
    /// Carries out a researcher's order; the audit trail names the researcher. Everything that follows is in the
    /// effects.
    ///
    /// # Errors
    /// [`OrderRefused`]; nothing has changed then.
    pub fn handle_order(
        &mut self,
        now_us: u64,
        by: &str,
        order: DeskOrder,
    ) -> Result<(), OrderRefused> {
        self.now_us = now_us;
        self.end_expired(now_us);
        let done = self.check_order(&order);
        if done.is_ok() {
            if order.is_intervention() {
                tracing::info!(order = order.name(), "a researcher gives an order");
                self.effects.push_back(Effect::Store(Write::Intervention {
                    by: by.to_owned(),
                    order: order.name(),
                    participant: order.participant().map(str::to_owned),
                    detail: self.describe_order(&order),
                }));
            }
            self.apply_order(now_us, by, order);
        }
        self.settle_all(now_us);
        self.save_attendance(now_us);
        done
    }

    /// Lists the outcomes with which a researcher may end a session of this study: those that have a rule.
    pub(super) fn list_cut_outcomes(&self) -> Vec<Outcome> {
        let ways = &self.study.recruitment.outcomes;
        let mut outcomes = OUTCOMES.to_vec();
        outcomes.retain(|outcome| ways.is_empty() || ways.contains_key(outcome));
        outcomes
    }

    /// Describes the new value of an order, in words for the tables, and the old one if the order does not say it.
    fn describe_order(&self, order: &DeskOrder) -> String {
        let who = order.participant();
        let who = who.and_then(|name| self.sessions.find_by_pseudonym(name));
        match (order, who) {
            (DeskOrder::MoveToRoom { room, .. }, Some(who)) => self.describe_move(who, room),
            _ => order.detail(),
        }
    }

    fn check_order(&self, order: &DeskOrder) -> Result<(), OrderRefused> {
        if self.stopping {
            return Err(OrderRefused::Stopping);
        }
        let named = order.participant().map(|name| {
            let who = self.sessions.find_by_pseudonym(name);
            who.ok_or_else(|| OrderRefused::UnknownParticipant(name.to_owned()))
        });
        let who = named.transpose()?;
        match (order, who) {
            (DeskOrder::SetPlaces(places), _) => self.check_places(places),
            (DeskOrder::WaitLonger { .. }, Some(who)) => {
                let (stage, can_wait, _) = self.find_lobby_choices(who)?;
                can_wait
                    .then_some(())
                    .ok_or(OrderRefused::EndlessLobby(stage))
            }
            (DeskOrder::ContinueAlone { .. }, Some(who)) => {
                let (stage, _, has_partner) = self.find_lobby_choices(who)?;
                has_partner
                    .then_some(())
                    .ok_or(OrderRefused::NoPartner(stage))
            }
            (DeskOrder::MoveToRoom { room, .. }, Some(who)) => self.check_move(who, room),
            (DeskOrder::EndSession { outcome, .. }, Some(who)) => self.check_end(who, *outcome),
            (DeskOrder::CorrectBonus { bonus, .. }, Some(who)) => self.check_bonus(who, *bonus),
            (DeskOrder::GiveSeat { outcome, bonus, .. }, Some(who)) => {
                self.check_give_seat(who, *outcome, bonus.as_ref())
            }
            (DeskOrder::WriteMessage { to, message }, _) => self.check_desk_message(to, message),
            _ => Ok(()),
        }
    }

    fn check_places(&self, places: &[u32]) -> Result<(), OrderRefused> {
        let wrong = |expected: String, why| {
            let found = places.len();
            Err(OrderRefused::WrongPlaces {
                expected,
                found,
                why,
            })
        };
        if places.iter().any(|places| *places > MOST_PLACES) {
            return wrong(format!("at most {MOST_PLACES}"), "a number is too large");
        }
        match &self.study.design.quota {
            Quota::Each(each) if places.len() != each.len() => {
                let why = "the study has a quota for each treatment, in the order of the dashboard";
                wrong(format!("{} numbers", each.len()), why)
            }
            Quota::None | Quota::Total(_) if places.len() != 1 => wrong(
                "one number".to_owned(),
                "the study has one quota for all treatments",
            ),
            _ => Ok(()),
        }
    }

    /// Returns the id of the lobby in which somebody waits, and whether they can wait longer and continue with an AI
    /// partner there.
    fn find_lobby_choices(&self, who: SessionId) -> Result<(String, bool, bool), OrderRefused> {
        let session = &self.sessions[who];
        let refused = || OrderRefused::NotWaiting(session.participant.clone());
        let Place::Lobby(room) = session.place else {
            return Err(refused());
        };
        let lobby = self.lobbies.get(room).ok_or_else(refused)?;
        let stage = self.lobbies.stage_of(room).ok_or_else(refused)?;
        let rules = self.study.lobby(stage).ok_or_else(refused)?;
        let id = self.study.timeline[usize::from(stage)].id.clone();
        let has_partner = rules.bot.is_some() || self.awaited_ai_partner(who).is_some();
        Ok((id, lobby.ends_waits(), has_partner))
    }

    pub(super) fn check_end(&self, who: SessionId, outcome: Outcome) -> Result<(), OrderRefused> {
        let session = &self.sessions[who];
        if let Some(ended) = session.progress.outcome(&self.study) {
            let name = session.participant.clone();
            return Err(OrderRefused::Ended(name, ended.name()));
        }
        let allowed = self.list_cut_outcomes();
        if allowed.contains(&outcome) {
            return Ok(());
        }
        let names: Vec<&str> = allowed.iter().map(|outcome| outcome.name()).collect();
        Err(OrderRefused::WrongOutcome(outcome.name(), names.join(", ")))
    }

    fn check_bonus(&self, who: SessionId, bonus: u64) -> Result<(), OrderRefused> {
        let session = &self.sessions[who];
        let name = || session.participant.clone();
        let Some(payment) = &session.payment else {
            return Err(OrderRefused::UnderWay(name()));
        };
        // Without a due payment, nothing says any more who must be paid.
        let is_gone = session.progress.receipt().is_some() && payment.total == 0;
        if session.is_erased || is_gone {
            return Err(OrderRefused::Erased(name()));
        }
        self.check_amount(bonus, self.currency_of(payment))
    }

    /// Checks a bonus in a currency, if the study pays in one.
    pub(super) fn check_amount(
        &self,
        bonus: u64,
        currency: Option<String>,
    ) -> Result<(), OrderRefused> {
        let currency = currency.ok_or(OrderRefused::NoPay)?;
        let most = MOST_BONUS * 10_u64.pow(decimals_of(&currency) as u32);
        match bonus > most {
            true => Err(OrderRefused::TooMuch(most)),
            false => Ok(()),
        }
    }

    /// The currency of a payment: that of the study if its outcome paid nothing.
    fn currency_of(&self, payment: &Payment) -> Option<String> {
        let usual = &self.study.recruitment.pay_terms.currency;
        payment.currency.clone().or_else(|| usual.clone())
    }

    /// Carries out an order that was checked.
    fn apply_order(&mut self, now_us: u64, by: &str, order: DeskOrder) {
        let who = order.participant();
        let who = who.and_then(|name| self.sessions.find_by_pseudonym(name));
        match (order, who) {
            (DeskOrder::SetRecruitment(state), _) => self.set_recruitment(state),
            (DeskOrder::SetPlaces(places), _) => self.set_places(places),
            (DeskOrder::WaitLonger { .. }, Some(who)) => self.change_wait(who, |lobby| {
                lobby.extend_wait(now_us, who);
            }),
            (DeskOrder::ContinueAlone { .. }, Some(who)) => self.change_wait(who, |lobby| {
                lobby.form_alone(who);
            }),
            (DeskOrder::MoveToRoom { room, .. }, Some(who)) => self.move_to_room(who, &room),
            (DeskOrder::EndSession { outcome, .. }, Some(who)) => {
                self.end_session(now_us, who, ProgressEvent::Cut(outcome));
            }
            (DeskOrder::CorrectBonus { bonus, reason, .. }, Some(who)) => {
                self.correct_bonus(now_us, who, bonus, &reason);
            }
            (DeskOrder::GiveSeat { outcome, bonus, .. }, Some(who)) => {
                self.give_seat(now_us, who, outcome, bonus.as_ref());
            }
            (DeskOrder::WriteMessage { to, message }, _) => {
                self.write_from_desk(now_us, by, &to, &message);
            }
            (DeskOrder::ReadMessages { before, .. }, Some(who)) => {
                self.mark_exchange_read(now_us, who, true, before);
            }
            _ => {}
        }
    }

    fn set_recruitment(&mut self, state: RecruitmentState) {
        self.recruitment = state;
        self.effects
            .push_back(Effect::Store(Write::Recruitment(state)));
    }

    fn set_places(&mut self, places: Vec<u32>) {
        self.want_places(&places);
        self.effects.push_back(Effect::Store(Write::Places(places)));
    }

    /// Has the study want as many units: one number in all, or one for each treatment.
    pub(super) fn want_places(&mut self, places: &[u32]) {
        self.design.quota = match (&self.study.design.quota, places) {
            (Quota::Each(each), places) if each.len() == places.len() => {
                Quota::Each(places.to_vec())
            }
            (Quota::None | Quota::Total(_), [total]) => Quota::Total(*total),
            // The study has other treatments by now.
            (own, _) => own.clone(),
        };
    }

    fn change_wait(
        &mut self,
        who: SessionId,
        change: impl FnOnce(&mut crate::lobby::Lobby<SessionId>),
    ) {
        let Place::Lobby(room) = self.sessions[who].place else {
            return;
        };
        if let Some(lobby) = self.lobbies.get_mut(room) {
            change(lobby);
            self.lobbies.touch_room(room);
        }
    }

    /// Changes a bonus, and the total by as much; the person's last page shows it.
    pub(super) fn correct_bonus(&mut self, now_us: u64, who: SessionId, bonus: u64, reason: &str) {
        let Some(mut payment) = self.sessions[who].payment.clone() else {
            return;
        };
        let Some(currency) = self.currency_of(&payment) else {
            return;
        };
        let changed = |amount: u64| (amount + bonus).saturating_sub(payment.bonus);
        let (total, extra) = (changed(payment.total), changed(payment.extra));
        let told = format!(
            "the bonus was {}, and a researcher corrected it to {}: {reason}",
            write_money(payment.bonus, &currency),
            write_money(bonus, &currency)
        );
        payment.note = Some(match payment.note.take() {
            Some(before) => format!("{before}; {told}"),
            None => told,
        });
        (payment.total, payment.extra, payment.bonus) = (total, extra, bonus);
        payment.currency = Some(currency);
        let participant = self.sessions[who].participant.clone();
        self.sessions[who].payment = Some(payment.clone());
        self.effects.push_back(Effect::Store(Write::Correction {
            participant,
            payment: Box::new(payment),
        }));
        self.show_stage(now_us, who);
    }

    /// Takes back a correction that came too late: the money was paid, so the payment stays as it was.
    pub(super) fn take_correction_back(
        &mut self,
        now_us: u64,
        participant: &str,
        payment: Payment,
    ) {
        let Some(who) = self.sessions.find_by_pseudonym(participant) else {
            return;
        };
        tracing::warn!("a bonus was corrected after it was paid, so it stays as it was");
        self.sessions[who].payment = Some(payment);
        self.show_stage(now_us, who);
    }

    /// The name of the unit that places are counted in.
    pub(super) fn unit_name(&self) -> &'static str {
        match self.design.unit {
            Unit::Participant => "participant",
            Unit::Group => "group",
        }
    }
}
