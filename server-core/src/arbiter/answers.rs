//! Input of participants to a stage: drafts while it is shown, and answers when it is done.

use protocol::control::{Answer, Draft, ServerMessage};
use study::{OnWithdraw, ProgressStep, StageKind};

use super::{Arbiter, Effect, Place, SessionId, StageAnswers, Write};

/// The most pages of a stage.
const PAGES: usize = 50;

/// Time from draft to draft, microseconds.
const DRAFT_EACH_US: u64 = 500_000;

impl Arbiter {
    /// A page is done with a stage: answers are durable, then the place, then the next stage is shown.
    pub(super) fn handle_stage_done(
        &mut self,
        now_us: u64,
        who: SessionId,
        at: u16,
        answers: Vec<Answer>,
        pages_ms: Vec<u32>,
    ) {
        let session = &self.sessions[who];
        if session.rests_too_short(&self.study, now_us) || self.chats_too_short(now_us, who) {
            return self.show_stage(now_us, who);
        }
        if let StageKind::Debrief(debrief) = self.stage_kind(self.stage_of(who))
            && matches!(debrief.has_withdrawn(&answers), Ok(true))
        {
            return self.withdraw(now_us, who, at);
        }
        let is_too_soon = match self.stage_kind(self.stage_of(who)) {
            StageKind::Instructions(it) => self.sessions[who].reads_too_fast(now_us, it, &pages_ms),
            _ => false,
        };
        let refused = is_too_soon || self.is_too_much(&answers, &pages_ms);
        let event = match self.is_time_up(now_us, who, &pages_ms) {
            true => study::ProgressEvent::TimeUp {
                at,
                answers: &answers,
            },
            false => study::ProgressEvent::StageDone {
                at,
                answers: &answers,
            },
        };
        let stage = self.stage_of(who);
        let counts_us = self.sign_counts_us(who);
        let had_place = self.holds_place(&self.sessions[who]);
        let session = &mut self.sessions[who];
        let visit = session.progress.visit();
        let shown = session.progress.shown_orders(&self.study);
        let moves = |step| matches!(step, Ok(ProgressStep::Enter(_)));
        if !refused && moves(session.progress.handle(&self.study, event)) {
            session.shown_us = Some(0);
            session.leave_chat();
            self.count_time(now_us, who, counts_us);
            if !had_place {
                self.claim_place(who);
            }
            // People who do not agree give no data, and nothing about them is kept.
            let gives = match self.stage_kind(stage) {
                StageKind::Consent(_) => !answers.is_empty(),
                // What was measured is kept with the place, once it may be.
                StageKind::Env(_) | StageKind::Chat(_) | StageKind::Screening(_) => false,
                _ => self.study.may_record(stage),
            };
            let given = gives.then_some(StageAnswers {
                stage,
                visit,
                answers,
                shown,
                pages_ms,
            });
            self.store_place(who, given);
            self.forget_unconsented(who);
            self.show_stage(now_us, who);
        } else if matches!(self.sessions[who].place, Place::Page | Place::Chat(_)) {
            // Sent twice, for example after a reconnect, or with answers that the form does not take: show the stage
            // again. The page then knows that they were not taken, says so, and keeps what was typed.
            self.show_stage(now_us, who);
        }
    }

    /// True if a session is at a form of which the time is up, by its page and by the clock of the server.
    fn is_time_up(&self, now_us: u64, who: SessionId, pages_ms: &[u32]) -> bool {
        match self.stage_kind(self.stage_of(who)) {
            StageKind::Survey(form) => form
                .time_limit_s()
                .is_some_and(|limit_s| self.sessions[who].is_time_up(now_us, limit_s, pages_ms)),
            _ => false,
        }
    }

    /// The draft of a session's stage for its page. The time of a form that has a limit does not stop while no page
    /// shows it, so the draft has all of it.
    pub(super) fn draft_for_page(&self, who: SessionId) -> Option<Draft> {
        let session = &self.sessions[who];
        let draft = session.progress.draft_for(&session.token_hash).cloned();
        let form = match self.stage_kind(self.stage_of(who)) {
            StageKind::Survey(form) if form.time_limit_s().is_some() => form,
            _ => return draft,
        };
        let since_us = session.shown_us.filter(|shown_us| *shown_us > 0);
        let seen_ms = since_us.map_or(0, |since_us| self.now_us.saturating_sub(since_us) / 1_000);
        let stored_ms = session.progress.draft().map_or(0, total_ms);
        let spent_ms = seen_ms.max(stored_ms);
        if spent_ms == 0 {
            return draft;
        }
        let mut draft = draft.unwrap_or_else(|| Draft {
            answers: form.default_answers(),
            ..Draft::default()
        });
        let missing_ms = spent_ms.saturating_sub(total_ms(&draft));
        let page = usize::from(draft.page).min(PAGES - 1);
        let pages = draft.pages_ms.len().max(page + 1);
        draft.pages_ms.resize(pages, 0);
        let missing_ms = u32::try_from(missing_ms).unwrap_or(u32::MAX);
        draft.pages_ms[page] = draft.pages_ms[page].saturating_add(missing_ms);
        Some(draft)
    }

    /// A participant withdraws their recorded data.
    fn withdraw(&mut self, now_us: u64, who: SessionId, at: u16) {
        self.note_sign(now_us, who);
        self.advance_session(who, study::ProgressEvent::Withdrawn { at });
        self.show_stage(now_us, who);
    }

    /// Erases the data of a participant whose session has ended: the payment is computed from the data, and from then
    /// on none of them are stored.
    pub(super) fn take_data_back(&mut self, who: SessionId) {
        let receipt = format!("W-{}", self.random_name(8));
        self.settle_payment(who);
        self.sessions[who].progress.withdraw_given(&receipt);
        self.store_place(who, None);
        let participant = self.sessions[who].participant.clone();
        let write = Write::Withdrawal {
            participant,
            receipt,
        };
        self.effects.push_back(Effect::Store(write));
        tracing::info!("the data of a participant who withdraws are erased");
        let all = self.study.keeping.on_withdraw == Some(OnWithdraw::EraseGroup);
        self.groups.forget_messages(who, all);
        self.forget_exchange(who);
    }

    /// Gives a page of another site its way back, which is durable before anybody is sent there.
    pub(super) fn give_ticket(&mut self, who: SessionId) {
        if self.sessions[who].progress.wants_ticket(&self.study) {
            let ticket = self.random_token();
            self.sessions.set_ticket(who, ticket);
            self.store_place(who, None);
        }
    }

    /// Takes a draft of a stage from a page: makes it durable and then acknowledges it. A draft that comes too soon
    /// after others is dropped: the page repeats drafts that were not acknowledged.
    pub(super) fn handle_draft(
        &mut self,
        now_us: u64,
        who: SessionId,
        number: u32,
        at: u16,
        draft: &Draft,
    ) {
        let too_much = self.is_too_much(&draft.answers, &draft.pages_ms)
            || usize::from(draft.page) >= PAGES
            || draft.answers.iter().map(size).sum::<usize>() > self.limits.draft_bytes;
        let session = &mut self.sessions[who];
        if too_much || !session.drafts.take_token(now_us, DRAFT_EACH_US) {
            return;
        }
        let event = study::ProgressEvent::Drafted { at, draft };
        let before = session.progress.draft();
        let before = before.map_or((&[][..], 0), |it| (it.answers.as_slice(), it.page));
        let is_new = before != (draft.answers.as_slice(), draft.page);
        if matches!(
            session.progress.handle(&self.study, event),
            Ok(ProgressStep::Keep)
        ) {
            session.progress.set_draft_reader(&session.token_hash);
            if is_new {
                self.note_sign(now_us, who);
            }
            self.store_place(who, None);
            self.tell_session(who, ServerMessage::DraftKept { number });
        }
    }

    fn is_too_much(&self, answers: &[Answer], pages_ms: &[u32]) -> bool {
        let is_long = |answer: &Answer| size(answer) > self.limits.answer_bytes;
        answers.len() > self.limits.answers || answers.iter().any(is_long) || pages_ms.len() > PAGES
    }
}

/// The time on all pages of a draft, milliseconds.
fn total_ms(draft: &Draft) -> u64 {
    draft.pages_ms.iter().copied().map(u64::from).sum()
}

fn size(answer: &Answer) -> usize {
    answer.name.len() + answer.value.len()
}
