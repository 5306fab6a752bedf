//! Messages between participants and researchers: each is durable before anybody sees it, and stays for a page that comes
//! back. A participant's page has the whole exchange again whenever something of it changes, which is seldom.

use protocol::control::{MessageRefusal, ServerMessage};
use study::StageKind;

use super::rows::DeskMessageRow;
use super::{Arbiter, DeskCheckRow, Effect, Place, SessionId, Write};
use crate::desk::{Audience, DeskMessageText, OrderRefused, clean_desk_text};
use crate::overview::ExchangeOverview;

/// Time between messages of one participant, microseconds; a few may come together.
const WRITE_EACH_US: u64 = 3_000_000;

/// The most exchanges that the dashboard lists.
const MOST_LISTED: usize = 500;

impl Arbiter {
    /// Adds a dashboard, from which researchers write to participants, and to which participants write.
    pub fn with_desk(mut self) -> Self {
        self.has_desk = true;
        self
    }

    /// True if somebody can write to the researchers. If the study has no help button, they can only answer.
    fn can_write_to_desk(&self, who: SessionId) -> bool {
        let is_begun = self.exchanges.get(who).is_some_and(|it| !it.is_empty());
        self.has_desk && !self.is_taken_back(who) && (self.study.help_button || is_begun)
    }

    /// True if nothing may be recorded of somebody any more.
    fn is_taken_back(&self, who: SessionId) -> bool {
        let session = &self.sessions[who];
        session.is_erased || session.progress.receipt().is_some()
    }

    /// Sends a page the messages of its participant and the researchers, if there are any.
    pub(super) fn tell_exchange(&mut self, who: SessionId) {
        let is_open = self.can_write_to_desk(who);
        let exchange = self.exchanges.get(who);
        if is_open || exchange.is_some() {
            let view = exchange.map(|exchange| exchange.view(is_open));
            let view =
                view.unwrap_or_else(|| super::exchanges::DeskExchange::default().view(is_open));
            self.tell_session(who, ServerMessage::Exchange(view));
        }
    }

    /// Forgets the exchange with somebody whose data are taken back or erased.
    pub(super) fn forget_exchange(&mut self, who: SessionId) {
        if self.has_desk {
            self.exchanges.forget(who);
            let closed = protocol::control::Exchange::default();
            self.tell_session(who, ServerMessage::Exchange(closed));
        }
    }

    /// Erases the messages of somebody who left at the consent: only their outcome is recorded.
    pub(super) fn forget_unconsented(&mut self, who: SessionId) {
        let cut_at = self.sessions[who].progress.cut_at();
        let is_consent =
            cut_at.is_some_and(|stage| matches!(self.stage_kind(stage), StageKind::Consent(_)));
        if is_consent && self.is_finished(who) && self.exchanges.get(who).is_some() {
            let participant = self.sessions[who].participant.clone();
            let write = Write::ForgetDeskMessages { participant };
            self.effects.push_back(Effect::Store(write));
            self.forget_exchange(who);
        }
    }

    /// A participant writes to the researchers.
    pub(super) fn handle_write_to_desk(
        &mut self,
        now_us: u64,
        who: SessionId,
        number: u32,
        text: &str,
    ) {
        match self.write_to_desk(now_us, who, number, text) {
            Ok(()) => self.tell_exchange(who),
            Err(why) => self.tell_session(who, ServerMessage::NotWritten { number, why }),
        }
    }

    fn write_to_desk(
        &mut self,
        now_us: u64,
        who: SessionId,
        number: u32,
        text: &str,
    ) -> Result<(), MessageRefusal> {
        if !self.can_write_to_desk(who) {
            return Err(MessageRefusal::Closed);
        }
        let limit = self.limits.desk_messages;
        let exchange = self.exchanges.get_mut(who);
        // A message that is stored already is acknowledged again.
        if number != exchange.own_count() {
            return Ok(());
        }
        let text = clean_desk_text(text).ok_or(MessageRefusal::NotTaken)?;
        if number >= limit {
            return Err(MessageRefusal::NotTaken);
        }
        if !exchange.writes.take_token(now_us, WRITE_EACH_US) {
            return Err(MessageRefusal::TooFast);
        }
        let message = DeskMessageText { text, check: None };
        self.add_desk_message(now_us, who, "", "researchers", &message);
        Ok(())
    }

    /// Notes that a participant has read the researchers' messages before a number.
    pub(super) fn handle_read_from_desk(&mut self, now_us: u64, who: SessionId, before: u32) {
        self.mark_exchange_read(now_us, who, false, before);
    }

    /// A participant answers a question.
    pub(super) fn handle_check_answer(
        &mut self,
        now_us: u64,
        who: SessionId,
        number: u32,
        answer: &str,
    ) {
        let Some(answer) = clean_desk_text(answer).filter(|_| !self.is_taken_back(who)) else {
            return self.tell_exchange(who);
        };
        let exchange = self.exchanges.get_mut(who);
        if exchange.take_answer(now_us, number, &answer) {
            let participant = self.sessions[who].participant.clone();
            self.effects.push_back(Effect::Store(Write::CheckAnswer {
                participant,
                number,
                answer,
                at_us: now_us,
            }));
            self.mark_exchange_read(now_us, who, false, number + 1);
        }
        self.tell_exchange(who);
    }

    /// The messages of one side before a number are read; the page of the participant learns of it.
    pub(super) fn mark_exchange_read(
        &mut self,
        now_us: u64,
        who: SessionId,
        own: bool,
        before: u32,
    ) {
        if self.exchanges.get(who).is_none()
            || !self.exchanges.get_mut(who).mark_read(now_us, own, before)
        {
            return;
        }
        let participant = self.sessions[who].participant.clone();
        self.effects
            .push_back(Effect::Store(Write::DeskMessagesRead {
                participant,
                own,
                before,
                at_us: now_us,
            }));
        if own {
            self.tell_exchange(who);
        }
    }

    /// Everybody who reads a message of the researchers.
    pub(super) fn list_audience(&self, to: &Audience) -> Result<Vec<SessionId>, OrderRefused> {
        let unknown = |name: &str| OrderRefused::UnknownParticipant(name.to_owned());
        let people: Vec<SessionId> = match to {
            Audience::Participant(name) => {
                let who = self.sessions.find_by_pseudonym(name);
                let who = who.ok_or_else(|| unknown(name))?;
                if self.is_taken_back(who) {
                    return Err(OrderRefused::Erased(name.clone()));
                }
                vec![who]
            }
            Audience::Group(id) => {
                let key = self.groups.find_by_id(id);
                let group = key.and_then(|key| self.groups.get(key));
                let group = group.ok_or_else(|| OrderRefused::UnknownGroup(id.clone()))?;
                let members = group.members().filter(|(_, member)| member.gone.is_none());
                members.map(|(_, member)| member.who).collect()
            }
            Audience::Everybody => {
                let is_there = |who: &SessionId| {
                    let session = &self.sessions[*who];
                    session.conn.is_some() || session.progress.has_begun()
                };
                self.sessions.ids().filter(is_there).collect()
            }
        };
        let is_one = matches!(to, Audience::Participant(_));
        let reads = |who: &SessionId| !self.is_finished(*who) && !self.is_taken_back(*who);
        let people: Vec<SessionId> = people
            .into_iter()
            .filter(|who| is_one || reads(who))
            .collect();
        match people.is_empty() {
            true => Err(OrderRefused::NobodyReads),
            false => Ok(people),
        }
    }

    /// Checks a message of the researchers.
    pub(super) fn check_desk_message(
        &self,
        to: &Audience,
        message: &DeskMessageText,
    ) -> Result<(), OrderRefused> {
        if !self.has_desk {
            return Err(OrderRefused::NoDesk);
        }
        if clean_desk_text(&message.text).as_ref() != Some(&message.text) {
            return Err(OrderRefused::WrongText);
        }
        let people = self.list_audience(to)?;
        let Some(check) = &message.check else {
            return Ok(());
        };
        check.validate()?;
        // Nobody misses a question that was never on their page.
        let absent = people
            .iter()
            .find(|who| self.sessions[**who].conn.is_none());
        match absent {
            Some(who) => Err(OrderRefused::NoPage(
                self.sessions[*who].participant.clone(),
            )),
            None => Ok(()),
        }
    }

    /// Writes a message of the researchers to everybody who reads it.
    pub(super) fn write_from_desk(
        &mut self,
        now_us: u64,
        by: &str,
        to: &Audience,
        message: &DeskMessageText,
    ) {
        for who in self.list_audience(to).unwrap_or_default() {
            self.add_desk_message(now_us, who, by, to.name(), message);
            self.tell_exchange(who);
        }
    }

    fn add_desk_message(
        &mut self,
        now_us: u64,
        who: SessionId,
        by: &str,
        audience: &'static str,
        message: &DeskMessageText,
    ) {
        let session = &self.sessions[who];
        let episode = match session.place {
            Place::Episode(era, _) => self.episodes.get(era),
            _ => None,
        };
        let row = DeskMessageRow {
            participant: session.participant.clone(),
            number: self.exchanges.get(who).map_or(0, |it| it.next_number()),
            by: by.to_owned(),
            audience: audience.to_owned(),
            stage: self.stage_of(who),
            visit: session.progress.visit(),
            episode: episode.map(|episode| episode.header.episode.clone()),
            at_us: now_us,
            text: message.text.clone(),
            read_us: None,
            check: message.check.as_ref().map(|check| DeskCheckRow {
                choices: check.choices.clone(),
                expected: check.expected.clone(),
                within_s: check.within_s,
                answer: None,
            }),
        };
        self.exchanges.push(who, row.clone());
        self.effects
            .push_back(Effect::Store(Write::DeskMessage(Box::new(row))));
    }

    /// Takes the messages of a data folder up again.
    pub(super) fn restore_exchanges(&mut self, rows: Vec<DeskMessageRow>) {
        for row in rows {
            if let Some(who) = self.sessions.find_by_pseudonym(&row.participant)
                && !self.is_taken_back(who)
            {
                self.exchanges.push(who, row);
            }
        }
    }

    /// Lists the exchanges that have messages.
    pub(super) fn list_exchanges(&self) -> Vec<ExchangeOverview> {
        let mut all = self.exchanges.list();
        all.truncate(MOST_LISTED);
        all
    }
}
