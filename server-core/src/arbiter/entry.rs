//! The door: pages come in with an entry, and go when their connection closes.

use std::collections::BTreeSet;

use protocol::control::{Entry, Refusal, ServerMessage};
use protocol::{Era, Life, Seat};

use super::clients::LimitedAction;
use super::episode::Phase;
use super::recruiter_identity::Proof;
use super::restore::RestoredSession;
use super::{Arbiter, Attendance, ConnId, Effect, Identity, Place, SessionId, WaitedFor, Write};
use crate::desk::RecruitmentState;
use crate::token::token_hash;

/// The most languages that a page's browser reports; further ones are ignored.
const MOST_LANGUAGES: usize = 20;

impl Arbiter {
    /// Adds a session to the tables.
    pub(super) fn add_session(&mut self, stored: RestoredSession) -> SessionId {
        let receipt = stored.progress.receipt().map(str::to_owned);
        // A crash may have come between the two writes of a withdrawal.
        if let Some(receipt) = receipt {
            let participant = stored.participant.clone();
            let write = Write::Withdrawal {
                participant,
                receipt,
            };
            self.effects.push_back(Effect::Store(write));
        }
        self.sessions.add_session(stored)
    }

    /// Takes the first message of a page: how it enters, the language that it asks for and those that the browser
    /// reads, and the key that signs the inputs made there.
    pub(super) fn handle_hello(
        &mut self,
        now_us: u64,
        conn: ConnId,
        entry: Entry,
        (language, mut reads): (Option<String>, Vec<String>),
        key: [u8; 32],
    ) {
        if self.stopping {
            return self.refuse_page(conn, Refusal::Stopping);
        }
        if self.has_come_again(conn, &entry, key) {
            return self.effects.push_back(Effect::Close(conn));
        }
        let found = match entry {
            _ if self.sessions.find_by_conn(conn).is_some() => Err(Refusal::Malformed),
            Entry::Open => self.walk_in(conn).map(|(who, token)| (who, token, None)),
            Entry::Sent(parameters) => match self.handle_sent(conn, parameters) {
                Ok(Some((who, token))) => Ok((who, token, None)),
                Ok(None) => return,
                Err(why) => Err(why),
            },
            Entry::Return(ticket) => self
                .come_back(&ticket)
                .map(|(who, token)| (who, token, None)),
            Entry::Invite(link) => self
                .invite(conn, link)
                .map(|(who, token)| (who, token, None)),
            Entry::Resume { token, playing } => match self.sessions.find_by_token(&token) {
                None => Err(Refusal::UnknownLink),
                Some(who) => {
                    self.use_token(who, &token, Proof::Secret);
                    Ok((who, token, playing))
                }
            },
        };
        match found {
            Ok((who, token, playing)) => {
                self.begin_again(who);
                self.sessions[who].key = key;
                reads.truncate(MOST_LANGUAGES);
                let progress = &mut self.sessions[who].progress;
                if progress.choose_language(&self.study, language.as_ref(), &reads) {
                    self.store_place(who, None);
                }
                self.attach(now_us, conn, who, token, playing);
            }
            Err(why @ (Refusal::UnknownLink | Refusal::Incomplete))
                if !self.may_do(now_us, conn, LimitedAction::WrongCode) =>
            {
                tracing::debug!(?why, "a client tries too many codes");
                self.effects.push_back(Effect::Close(conn));
            }
            Err(why) => self.refuse_page(conn, why),
        }
    }

    /// True if a page is there over a newer connection already: its first message over an older one, which it has given
    /// up, came late. A page is known by its key.
    fn has_come_again(&self, conn: ConnId, entry: &Entry, key: [u8; 32]) -> bool {
        let who = match entry {
            Entry::Resume { token, .. } => self.sessions.find_by_token(token),
            Entry::Invite(link) => self.sessions.find_by_link(link).flatten(),
            Entry::Open | Entry::Sent(_) | Entry::Return(_) => None,
        };
        let session = who.map(|who| &self.sessions[who]);
        session.is_some_and(|session| {
            let is_newer = session.conn.is_some_and(|present| present > conn);
            is_newer && session.key == key && key != [0; 32]
        })
    }

    /// A participant link: its first use makes the session; a later one brings it to a newer page, under a new token.
    fn invite(&mut self, conn: ConnId, link: String) -> Result<(SessionId, String), Refusal> {
        match self.sessions.find_by_link(&link) {
            None => Err(Refusal::UnknownLink),
            Some(None) => self.admit_session(conn, Some(link), None),
            Some(Some(who)) => Ok((who, self.new_token(who, Proof::Secret))),
        }
    }

    /// A page comes by the way back from a page of another site: its first use leads on, and a later one only back.
    fn come_back(&mut self, ticket: &str) -> Result<(SessionId, String), Refusal> {
        let who = self.sessions.find_by_ticket(ticket);
        let who = who.ok_or(Refusal::UnknownLink)?;
        let progress = &self.sessions[who].progress;
        if progress.ticket() == Some(ticket) && !progress.wants_ticket(&self.study) {
            self.note_sign(self.now_us, who);
            self.advance_session(who, study::ProgressEvent::Returned);
        }
        Ok((who, self.new_token(who, Proof::Secret)))
    }

    /// Gives a session another token, because its page cannot know the one before. Only somebody who knows a secret of
    /// the session can see what was typed there and not submitted.
    pub(super) fn new_token(&mut self, who: SessionId, proof: Proof) -> String {
        let token = self.random_token();
        self.use_token(who, &token, proof);
        token
    }

    /// The page that came last has this token.
    fn use_token(&mut self, who: SessionId, token: &str, proof: Proof) {
        let Some(has_draft_moved) = self.sessions.set_token(who, token, proof) else {
            return;
        };
        let write = Write::Token {
            participant: self.sessions[who].participant.clone(),
            token: token.to_owned(),
        };
        self.effects.push_back(Effect::Store(write));
        if has_draft_moved {
            self.store_place(who, None);
        }
    }

    /// Makes a session.
    pub(super) fn admit_session(
        &mut self,
        conn: ConnId,
        link: Option<String>,
        identity: Option<Identity>,
    ) -> Result<(SessionId, String), Refusal> {
        if self.recruitment == RecruitmentState::Paused {
            return Err(Refusal::Full);
        }
        let is_live = |who: &SessionId| {
            let session = &self.sessions[*who];
            // A person who has passed no stage and left does not count as a participant.
            let is_there = session.progress.has_begun() || session.conn.is_some();
            is_there && !self.is_finished(*who)
        };
        let live = self.sessions.ids().filter(is_live).count();
        // Nobody can invent a participant link.
        let may_begin = link.is_some() || self.may_do(self.now_us, conn, LimitedAction::Begin);
        if live >= self.limits.sessions || !may_begin {
            return Err(Refusal::Full);
        }
        let token = self.random_token();
        let number = self.sessions.next_number();
        let session = RestoredSession {
            number,
            participant: format!("P-{}", self.random_name(8)),
            token_hash: token_hash(&token),
            link_hash: link.as_deref().map(token_hash),
            progress: self.new_progress(number as u64),
            attendance: Attendance::begin(self.now_us),
            payment: None,
            identity,
            is_erased: false,
        };
        let who = self.add_session(session);
        self.settle_payment(who);
        let session = &self.sessions[who];
        let write = Write::NewSession {
            number,
            participant: session.participant.clone(),
            token: token.clone(),
            link,
            identity: session.identity.clone(),
            progress: session.progress.clone(),
            attendance: session.attendance,
            payment: session.payment.clone().map(Box::new),
        };
        self.effects.push_back(Effect::Store(write));
        self.sessions[who].shown_us = Some(0);
        Ok((who, token))
    }

    /// Gives a session to a page; an older page of it stops.
    fn attach(
        &mut self,
        now_us: u64,
        conn: ConnId,
        who: SessionId,
        session: String,
        playing: Option<(Era, Life)>,
    ) {
        if let Some(old) = self.sessions.attach_page(now_us, conn, who) {
            self.send_message(old, ServerMessage::Superseded);
            self.effects.push_back(Effect::Close(old));
        }
        self.touch_group(who);
        let study = &self.study;
        let language = self.sessions[who].progress.language(study).to_owned();
        let title = study.title.in_language(&language).to_owned();
        let languages = study.languages.clone();
        let contact = study.contact.clone();
        // What a host steps is not for pages.
        let stages = self.stages.values();
        let stages = stages.filter(|stage| stage.facts.page_facts.is_none());
        let stages = stages.map(|stage| stage.module.clone());
        let modules: BTreeSet<_> = stages.filter(|module| !module.is_empty()).collect();
        self.send_message(
            conn,
            ServerMessage::Welcome {
                session,
                title,
                language,
                languages,
                contact,
                modules: modules.into_iter().collect(),
            },
        );
        self.tell_exchange(who);
        match self.sessions[who].place {
            Place::Episode(era, _) => {
                let playing = playing.filter(|(of, _)| *of == era);
                self.rejoin(now_us, who, era, playing.map(|(_, life)| life));
                self.show_chat_messages(now_us, who);
                self.tell_buttons(who);
            }
            Place::Page | Place::Lobby(_) | Place::Aside | Place::Group(_) | Place::Chat(_) => {
                self.show_stage(now_us, who);
            }
        }
    }

    /// A page comes back to the episode of its session: with the episode in memory, or without.
    fn rejoin(&mut self, now_us: u64, who: SessionId, era: Era, life: Option<Life>) {
        self.sessions[who].place = Place::Episode(era, life.is_some());
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        match (&episode.phase, episode.seat_of(who)) {
            (Phase::Linking { .. }, _) if life.is_none() => self.lose_link(now_us, who, era),
            (Phase::Playing(_), Some(seat)) => self.sit_down(now_us, era, seat, life),
            // The end is on its way to the disk; `Ended` follows.
            _ => {}
        }
    }

    /// A connection is gone.
    pub(super) fn handle_closed(&mut self, now_us: u64, conn: ConnId) {
        let Some(who) = self.sessions.detach_page(now_us, conn) else {
            return;
        };
        self.touch_group(who);
        if self.sessions[who].leaves {
            // Nothing more comes from there.
            return self.end_session(now_us, who, study::ProgressEvent::Left);
        }
        match self.sessions[who].place {
            Place::Page | Place::Group(_) | Place::Chat(_) | Place::Aside => {}
            Place::Lobby(room) => {
                self.leave_lobby(room, who);
                self.sessions[who].away_us = Some(now_us);
                self.end_wait(now_us, who, WaitedFor::Closed, None);
            }
            Place::Episode(era, _) => self.miss(now_us, who, era),
        }
        self.save_attendance_of(who);
    }

    /// The page of a member is away.
    fn miss(&mut self, now_us: u64, who: SessionId, era: Era) {
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        match (
            &mut episode.phase,
            episode
                .members
                .iter()
                .position(|member| *member == Some(who)),
        ) {
            (Phase::Linking { .. }, _) => self.lose_link(now_us, who, era),
            (Phase::Playing(play), Some(seat)) => play.seats.handle_away(Seat(seat as u8)),
            _ => {}
        }
    }
}
