//! The door: pages come in with an entry, and go when their connection closes.

use std::collections::BTreeSet;

use protocol::control::{Entry, Refusal, ServerMessage};
use protocol::{Era, Life, Seat};

use super::bucket::Bucket;
use super::matches::Phase;
use super::restore::RestoredSession;
use super::{
    Arbiter, Attendance, ConnId, Effect, Identity, Place, Session, SessionId, WaitedFor, Write,
};
use crate::token::token_hash;

/// The most languages that a page's browser reports; further ones are ignored.
const MOST_LANGUAGES: usize = 20;

impl Arbiter {
    /// Adds a session to the tables.
    pub(super) fn keep(&mut self, stored: RestoredSession) -> SessionId {
        let who = SessionId(self.sessions.len());
        let RestoredSession {
            participant,
            token_hash,
            link_hash,
            progress,
            attendance,
            payment,
            identity,
            is_erased,
        } = stored;
        let is_open_door = link_hash.is_none();
        self.by_token.insert(token_hash.clone(), who);
        let ticket = progress.ticket().map(str::to_owned);
        self.by_ticket.extend(ticket.map(|ticket| (ticket, who)));
        // A crash may have come between the two writes of a withdrawal.
        if let Some(receipt) = progress.receipt() {
            let write = Write::Withdrawal {
                participant: participant.clone(),
                receipt: receipt.to_owned(),
            };
            self.effects.push_back(Effect::Store(write));
        }
        self.links.extend(link_hash.map(|link| (link, Some(who))));
        let place = Place::Page;
        self.sessions.push(Session {
            participant,
            token_hash,
            progress,
            conn: None,
            place,
            group: None,
            since_us: None,
            rest_us: None,
            away_us: None,
            wait: None,
            failed: 0,
            attendance,
            payment,
            shown_us: None,
            drafts: Bucket::default(),
            leaves: false,
            says: Bucket::default(),
            identity,
            is_erased,
            is_open_door,
        });
        self.keep_identity(who);
        self.will_expire(who);
        who
    }

    /// Takes the first message of a page.
    pub(super) fn handle_hello(
        &mut self,
        now_us: u64,
        conn: ConnId,
        entry: Entry,
        language: Option<String>,
        mut reads: Vec<String>,
    ) {
        if self.stopping {
            return self.refuse(conn, Refusal::Stopping);
        }
        let found = match entry {
            _ if self.by_conn.contains_key(&conn) => Err(Refusal::Malformed),
            Entry::Open => self.walk_in().map(|(who, token)| (who, token, None)),
            Entry::Sent(parameters) => match self.handle_sent(conn, parameters) {
                Ok(Some((who, token))) => Ok((who, token, None)),
                Ok(None) => return,
                Err(why) => Err(why),
            },
            Entry::Return(ticket) => self
                .come_back(&ticket)
                .map(|(who, token)| (who, token, None)),
            Entry::Invite(link) => self.invite(link).map(|(who, token)| (who, token, None)),
            Entry::Resume { token, playing } => match self.by_token.get(&token_hash(&token)) {
                None => Err(Refusal::UnknownLink),
                Some(&who) => Ok((who, token, playing)),
            },
        };
        match found {
            Ok((who, token, playing)) => {
                reads.truncate(MOST_LANGUAGES);
                let progress = &mut self.sessions[who.0].progress;
                if progress.choose_language(&self.study, language.as_ref(), &reads) {
                    self.store_place(who, None);
                }
                self.attach(now_us, conn, who, token, playing);
            }
            Err(why) => self.refuse(conn, why),
        }
    }

    /// A participant link: its first use makes the session; a later one brings it to a newer page, under a new token.
    fn invite(&mut self, link: String) -> Result<(SessionId, String), Refusal> {
        match self.links.get(&token_hash(&link)).copied() {
            None => Err(Refusal::UnknownLink),
            Some(None) => self.admit(Some(link), None),
            Some(Some(who)) => Ok((who, self.new_token(who))),
        }
    }

    /// A page comes by the way back from a page of another site: its first use leads on, and a later one only back.
    fn come_back(&mut self, ticket: &str) -> Result<(SessionId, String), Refusal> {
        let who = self.by_ticket.get(ticket).copied();
        let who = who.ok_or(Refusal::UnknownLink)?;
        let progress = &self.sessions[who.0].progress;
        if progress.ticket() == Some(ticket) && !progress.wants_ticket(&self.study) {
            self.advance(who, study::ProgressEvent::Returned);
        }
        Ok((who, self.new_token(who)))
    }

    /// Gives a session another token, as it comes to a page that cannot know the one before.
    pub(super) fn new_token(&mut self, who: SessionId) -> String {
        let token = self.random_token();
        let session = &mut self.sessions[who.0];
        let old = std::mem::replace(&mut session.token_hash, token_hash(&token));
        self.by_token.remove(&old);
        self.by_token.insert(session.token_hash.clone(), who);
        let write = Write::Token {
            participant: session.participant.clone(),
            token: token.clone(),
        };
        self.effects.push_back(Effect::Store(write));
        token
    }

    /// Makes a session.
    pub(super) fn admit(
        &mut self,
        link: Option<String>,
        identity: Option<Identity>,
    ) -> Result<(SessionId, String), Refusal> {
        let live = (0..self.sessions.len())
            .filter(|&who| !self.is_finished(SessionId(who)))
            .count();
        if live >= self.limits.sessions {
            return Err(Refusal::Full);
        }
        let token = self.random_token();
        let seen_us = self.now_us;
        let session = RestoredSession {
            participant: format!("P-{}", self.random_name(8)),
            token_hash: token_hash(&token),
            link_hash: link.as_deref().map(token_hash),
            progress: self.new_progress(),
            attendance: Attendance {
                spent_us: 0,
                seen_us,
            },
            payment: None,
            identity,
            is_erased: false,
        };
        let who = self.keep(session);
        self.settle_payment(who);
        let session = &self.sessions[who.0];
        let write = Write::NewSession {
            participant: session.participant.clone(),
            token: token.clone(),
            link,
            identity: session.identity.clone(),
            progress: session.progress.clone(),
            attendance: session.attendance,
            payment: session.payment.clone().map(Box::new),
        };
        self.effects.push_back(Effect::Store(write));
        self.sessions[who.0].shown_us = Some(0);
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
        let pause_us = self.pause_us();
        self.sessions[who.0].see(now_us, pause_us);
        if let Some(old) = self.sessions[who.0].conn.replace(conn) {
            self.by_conn.remove(&old);
            self.send(old, ServerMessage::Superseded);
            self.effects.push_back(Effect::Close(old));
        }
        self.by_conn.insert(conn, who);
        self.touch_group(who);
        let study = &self.study;
        let language = self.sessions[who.0].progress.language(study).to_owned();
        let title = study.title.in_language(&language).to_owned();
        let languages = study.languages.clone();
        let contact = study.contact.clone();
        let stages = self.stages.values().map(|stage| stage.module.clone());
        let modules: BTreeSet<_> = stages.filter(|module| !module.is_empty()).collect();
        self.send(
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
        match self.sessions[who.0].place {
            Place::Episode(era, _) => {
                let playing = playing.filter(|(of, _)| *of == era);
                self.rejoin(now_us, who, era, playing.map(|(_, life)| life));
                self.tell_talk(now_us, who);
            }
            Place::Page | Place::Lobby(_) | Place::Aside | Place::Group(_) | Place::Chat(_) => {
                self.show(now_us, who);
            }
        }
    }

    /// A page comes back to the episode of its session: with the episode in memory, or without.
    fn rejoin(&mut self, now_us: u64, who: SessionId, era: Era, life: Option<Life>) {
        self.sessions[who.0].place = Place::Episode(era, life.is_some());
        let Some(game) = self.matches.get(&era.0) else {
            return;
        };
        match (&game.phase, game.seat_of(who)) {
            (Phase::Linking { .. }, _) if life.is_none() => self.unmatch(now_us, era, &[]),
            (Phase::Playing(_), Some(seat)) => self.sit_down(now_us, era, seat, life),
            // The end is on its way to the disk; `Ended` follows.
            _ => {}
        }
    }

    /// A connection is gone.
    pub(super) fn handle_closed(&mut self, now_us: u64, conn: ConnId) {
        let Some(who) = self.by_conn.remove(&conn) else {
            return;
        };
        let pause_us = self.pause_us();
        self.sessions[who.0].see(now_us, pause_us);
        self.sessions[who.0].conn = None;
        self.will_expire(who);
        self.touch_group(who);
        if self.sessions[who.0].leaves {
            // Nothing more comes from there.
            return self.depart(now_us, who, study::ProgressEvent::Left);
        }
        match self.sessions[who.0].place {
            Place::Page | Place::Group(_) | Place::Chat(_) | Place::Aside => {}
            Place::Lobby(room) => {
                self.leave_lobby(room, who);
                self.sessions[who.0].away_us = Some(now_us);
                self.end_wait(now_us, who, WaitedFor::Closed, None);
            }
            Place::Episode(era, _) => self.miss(now_us, who, era),
        }
    }

    /// The page of a member is away.
    fn miss(&mut self, now_us: u64, who: SessionId, era: Era) {
        let Some(game) = self.matches.get_mut(&era.0) else {
            return;
        };
        match (
            &mut game.phase,
            game.members.iter().position(|member| *member == Some(who)),
        ) {
            (Phase::Linking { .. }, _) => self.unmatch(now_us, era, &[]),
            (Phase::Playing(play), Some(seat)) => play.seats.handle_away(Seat(seat as u8)),
            _ => {}
        }
    }
}
