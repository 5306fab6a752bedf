//! All sessions, and how they are found: by token, participant link, ticket, recruiter's identifier and connection; and
//! the times at which a session ends, fades, or ends its rest.
//!
//! Each of these tables names a session that has the key itself, so they are changed here alone. It must not know of
//! stages, groups, episodes and messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Index, IndexMut};

use study::Study;

use super::bucket::Bucket;
use super::recruiter_identity::{Identity, Proof};
use super::restore::RestoredSession;
use super::session::{ConnId, Place, Session, SessionId};
use crate::limits::{Limits, as_us};
use crate::token::token_hash;

const HOUR_US: u64 = 3_600_000_000;
const DAY_US: u64 = 24 * HOUR_US;

/// Tokens of earlier pages of a session that stay good.
const EARLIER_TOKENS: usize = 8;

/// The sessions of a study.
#[derive(Debug)]
pub(super) struct Sessions {
    by_id: BTreeMap<SessionId, Session>,
    /// The number of the next session: no two of a study have the same.
    next: usize,
    /// By the hash of the token.
    by_token: BTreeMap<String, SessionId>,
    /// Participant links by the hash of their token, and the session of each once it was used.
    links: BTreeMap<String, Option<SessionId>>,
    by_conn: BTreeMap<ConnId, SessionId>,
    /// By the ticket of the way back from a page of another site.
    by_ticket: BTreeMap<String, SessionId>,
    /// By the recruiter's identifier.
    by_identity: BTreeMap<(String, String), SessionId>,
    /// The times at which sessions are forgotten that nobody has begun.
    forgetting: BTreeSet<(u64, SessionId)>,
    /// The times at which sessions without a page end.
    expiring: BTreeSet<(u64, SessionId)>,
    /// The times at which the recorded data of sessions are erased.
    fading: BTreeSet<(u64, SessionId)>,
    /// The time at which the rest of a session is over, microseconds.
    rests: BTreeMap<SessionId, u64>,
    /// A session ends so long after somebody was last there, microseconds.
    expires_us: Option<u64>,
    /// True if that also ends sessions that have not passed their first stage.
    expires_unbegun: bool,
    /// Recorded data are erased so long after that, microseconds.
    retention_us: Option<u64>,
    /// By how much the clock is ahead of the machine's, microseconds.
    ahead_us: u64,
    /// A session that has not begun is forgotten so long after somebody was last there, microseconds; one that has something
    /// of its participant, or sent them to a page of another site, after the second time.
    unbegun_us: (u64, u64),
}

impl Index<SessionId> for Sessions {
    type Output = Session;

    fn index(&self, who: SessionId) -> &Session {
        &self.by_id[&who]
    }
}

impl IndexMut<SessionId> for Sessions {
    fn index_mut(&mut self, who: SessionId) -> &mut Session {
        let session = self.by_id.get_mut(&who);
        session.expect("nobody names a session that is forgotten")
    }
}

impl Sessions {
    /// Creates a table without sessions, with the participant links by the hash of their token; the clock is this far
    /// ahead of the machine's.
    pub(super) fn new(study: &Study, limits: &Limits, links: Vec<String>, ahead_us: u64) -> Self {
        let days = study.keeping.retention_days;
        Self {
            by_id: BTreeMap::new(),
            next: 0,
            by_token: BTreeMap::new(),
            links: links.into_iter().map(|link| (link, None)).collect(),
            by_conn: BTreeMap::new(),
            by_ticket: BTreeMap::new(),
            by_identity: BTreeMap::new(),
            forgetting: BTreeSet::new(),
            expiring: BTreeSet::new(),
            fading: BTreeSet::new(),
            rests: BTreeMap::new(),
            expires_us: study.expires_s().map(|after_s| after_s * 1_000_000),
            expires_unbegun: study.keeping.expires_h.is_some(),
            retention_us: days.map(|days| u64::from(days) * DAY_US),
            ahead_us,
            unbegun_us: (as_us(limits.entering), as_us(limits.drafting)),
        }
    }

    /// The number of the next session.
    pub(super) fn next_number(&self) -> usize {
        self.next
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.by_id.keys().copied()
    }

    /// Adds a session, which has no page yet.
    pub(super) fn add_session(&mut self, stored: RestoredSession) -> SessionId {
        let who = SessionId(stored.number);
        self.next = self.next.max(stored.number + 1);
        let ticket = stored.progress.ticket().map(str::to_owned);
        let key = stored.identity.as_ref().map(Identity::unique_key);
        self.by_token.insert(stored.token_hash.clone(), who);
        self.by_ticket.extend(ticket.map(|ticket| (ticket, who)));
        self.by_identity.extend(key.map(|key| (key, who)));
        let is_open_door = stored.link_hash.is_none();
        let link = stored.link_hash.clone();
        self.links.extend(link.map(|link| (link, Some(who))));
        let session = Session {
            participant: stored.participant,
            token_hash: stored.token_hash,
            link_hash: stored.link_hash,
            line: 0,
            earlier_tokens: VecDeque::new(),
            progress: stored.progress,
            conn: None,
            key: [0; 32],
            place: Place::Page,
            group: None,
            since_us: None,
            rest_us: None,
            came_us: None,
            away_us: None,
            granted_us: None,
            open_factors: Vec::new(),
            wait: None,
            failed: 0,
            lost_links: 0,
            faults: 0,
            attendance: stored.attendance,
            payment: stored.payment,
            active_us: 0,
            shown_us: None,
            drafts: Bucket::default(),
            leaves: false,
            says: Bucket::default(),
            presses: Bucket::default(),
            identity: stored.identity,
            is_erased: stored.is_erased,
            is_open_door,
            forgotten_us: None,
        };
        self.by_id.insert(who, session);
        self.schedule_end(who);
        who
    }

    /// Adds a participant link that nobody has used.
    #[cfg(test)]
    pub(super) fn add_link(&mut self, link: &str) {
        self.links.insert(token_hash(link), None);
    }

    pub(super) fn find_by_token(&self, token: &str) -> Option<SessionId> {
        self.by_token.get(&token_hash(token)).copied()
    }

    /// The session of a participant link: the outer `None` is an unknown link, the inner one an unused link.
    pub(super) fn find_by_link(&self, link: &str) -> Option<Option<SessionId>> {
        self.links.get(&token_hash(link)).copied()
    }

    pub(super) fn find_by_ticket(&self, ticket: &str) -> Option<SessionId> {
        self.by_ticket.get(ticket).copied()
    }

    pub(super) fn find_by_identity(&self, identity: &Identity) -> Option<SessionId> {
        self.by_identity.get(&identity.unique_key()).copied()
    }

    pub(super) fn find_by_conn(&self, conn: ConnId) -> Option<SessionId> {
        self.by_conn.get(&conn).copied()
    }

    pub(super) fn find_by_pseudonym(&self, participant: &str) -> Option<SessionId> {
        let mut sessions = self.by_id.iter();
        let found = sessions.find(|(_, session)| session.participant == participant);
        found.map(|(who, _)| *who)
    }

    /// Makes a token that of the newest page; earlier ones stay valid, up to a number. Returns `None` if the session
    /// has this token already; otherwise whether the draft has another reader now: it stays with the line of pages that
    /// wrote it.
    pub(super) fn set_token(&mut self, who: SessionId, token: &str, proof: Proof) -> Option<bool> {
        let latest = token_hash(token);
        let session = self.by_id.get_mut(&who)?;
        if session.token_hash == latest {
            return None;
        }
        let known = session
            .earlier_tokens
            .iter()
            .position(|(hash, _)| *hash == latest);
        let known = known.and_then(|at| session.earlier_tokens.remove(at));
        let lines = session.earlier_tokens.iter().map(|(_, line)| *line);
        let new_line = lines.chain([session.line]).max().unwrap_or(0) + 1;
        let line = match (known, proof) {
            (Some((_, line)), _) => line,
            (None, Proof::Secret) => session.line,
            (None, Proof::Identifier) => new_line,
        };
        let old = std::mem::replace(&mut session.token_hash, latest.clone());
        session
            .earlier_tokens
            .push_back((old.clone(), session.line));
        session.line = line;
        let reader = session.progress.draft_reader().unwrap_or(&old);
        let mut earlier = session.earlier_tokens.iter();
        let is_own = earlier.any(|(hash, of)| hash == reader && *of == line);
        let next_reader = if is_own {
            latest.clone()
        } else {
            reader.to_owned()
        };
        let has_changed = session.progress.draft().is_some()
            && session.progress.draft_reader() != Some(&next_reader);
        if has_changed {
            session.progress.set_draft_reader(&next_reader);
        }
        if session.earlier_tokens.len() > EARLIER_TOKENS
            && let Some((void, _)) = session.earlier_tokens.pop_front()
        {
            self.by_token.remove(&void);
        }
        self.by_token.insert(latest, who);
        Some(has_changed)
    }

    /// Gives a session the ticket of the way back from a page of another site.
    pub(super) fn set_ticket(&mut self, who: SessionId, ticket: String) {
        self.by_ticket.insert(ticket.clone(), who);
        self[who].progress.set_ticket(ticket);
    }

    /// Gives a session to a page; returns the older page of it.
    pub(super) fn attach_page(
        &mut self,
        now_us: u64,
        conn: ConnId,
        who: SessionId,
    ) -> Option<ConnId> {
        self.note_presence(now_us, who);
        self[who].granted_us = None;
        self.note_activity(now_us, who);
        let old = self[who].conn.replace(conn);
        old.map(|old| self.by_conn.remove(&old));
        self.by_conn.insert(conn, who);
        self.schedule_forgetting(who, None);
        old
    }

    /// Takes the session from a page that is gone; `None` if it had none.
    pub(super) fn detach_page(&mut self, now_us: u64, conn: ConnId) -> Option<SessionId> {
        let who = self.by_conn.remove(&conn)?;
        self.note_presence(now_us, who);
        self[who].conn = None;
        self.schedule_end(who);
        Some(who)
    }

    /// Takes the session from its page, which is refused.
    pub(super) fn turn_page_away(&mut self, who: SessionId) -> Option<ConnId> {
        let conn = self[who].conn.take()?;
        self.by_conn.remove(&conn);
        self.schedule_end(who);
        Some(conn)
    }

    /// Takes note that somebody is there, or was until now.
    pub(super) fn note_presence(&mut self, now_us: u64, who: SessionId) {
        self[who].note_presence(now_us);
    }

    /// Takes note that somebody did something on their page.
    pub(super) fn note_activity(&mut self, now_us: u64, who: SessionId) {
        self[who].active_us = now_us;
    }

    /// Forgets the recorded data of a participant; their attendance and payment stay.
    pub(super) fn erase_session(&mut self, who: SessionId) {
        let session = &mut self[who];
        session.is_erased = true;
        let ticket = session.progress.ticket().map(str::to_owned);
        session.progress.erase();
        let key = session.identity.take().as_ref().map(Identity::unique_key);
        ticket.map(|ticket| self.by_ticket.remove(&ticket));
        key.map(|key| self.by_identity.remove(&key));
    }

    /// Returns when a session ends if nobody comes back to it, or if nobody does anything on its open page, if the
    /// study says so.
    fn end_us(&self, who: SessionId) -> Option<u64> {
        let session = self.by_id.get(&who)?;
        let after_us = self.expires_us.filter(|_| session.payment.is_none())?;
        let has_begun = session.progress.has_begun();
        let last_us = match session.conn {
            // Before the first stage is passed, an open page keeps nothing from anybody.
            Some(_) => has_begun.then_some(session.active_us)?,
            None if has_begun || self.expires_unbegun => session.attendance.seen_us,
            None => return None,
        };
        (last_us > 0).then(|| last_us + after_us)
    }

    /// Returns when a session that has not begun is forgotten: nobody is there, and nothing in it was answered or
    /// played.
    fn forget_us(&self, who: SessionId) -> Option<u64> {
        let session = self.by_id.get(&who)?;
        // A first stage may have several episodes.
        let has_played = !session.progress.facts().episodes.is_empty();
        let has_begun = session.progress.has_begun() || has_played;
        let is_new = !has_begun && session.payment.is_none();
        if session.conn.is_some() || !is_new || session.is_erased {
            return None;
        }
        let is_used = session.progress.draft().is_some() || session.progress.ticket().is_some();
        let after_us = match is_used {
            true => self.unbegun_us.1,
            false => self.unbegun_us.0,
        };
        Some(session.attendance.seen_us.saturating_add(after_us))
    }

    fn schedule_forgetting(&mut self, who: SessionId, at_us: Option<u64>) {
        let before = std::mem::replace(&mut self[who].forgotten_us, at_us);
        before.map(|at_us| self.forgetting.remove(&(at_us, who)));
        self.forgetting.extend(at_us.map(|at_us| (at_us, who)));
    }

    /// Forgets the next session that nobody has begun, and returns it: a person who comes back begins again.
    pub(super) fn poll_forgotten(&mut self, now_us: u64) -> Option<(SessionId, Session)> {
        while let Some(&(_, who)) = self.forgetting.first().filter(|due| due.0 <= now_us) {
            let is_due = self.forget_us(who).is_some_and(|at_us| at_us <= now_us);
            let session = &self[who];
            let is_idle = matches!(session.place, Place::Page | Place::Aside);
            if is_due && is_idle && session.group.is_none() {
                return self.remove_session(who).map(|session| (who, session));
            }
            // An episode may fail to start without them.
            let later_us = now_us.saturating_add(self.unbegun_us.0);
            let again_us = self.forget_us(who).map(|at_us| at_us.max(later_us));
            self.schedule_forgetting(who, again_us);
        }
        None
    }

    fn remove_session(&mut self, who: SessionId) -> Option<Session> {
        self.schedule_forgetting(who, None);
        let session = self.by_id.remove(&who)?;
        let earlier = session.earlier_tokens.iter().map(|(token, _)| token);
        for token in earlier.chain([&session.token_hash]) {
            self.by_token.remove(token);
        }
        let ticket = session.progress.ticket();
        ticket.map(|ticket| self.by_ticket.remove(ticket));
        let key = session.identity.as_ref().map(Identity::unique_key);
        key.map(|key| self.by_identity.remove(&key));
        // A participant link is as if nobody had used it.
        let link = session.link_hash.clone();
        link.map(|link| self.links.insert(link, None));
        self.rests.remove(&who);
        Some(session)
    }

    /// Returns when the recorded data of a session are erased, if the study says so: some time after somebody was last
    /// there.
    fn fading_us(&self, who: SessionId) -> Option<u64> {
        let session = self.by_id.get(&who)?;
        let after_us = self.retention_us?;
        let is_away = session.conn.is_none() && !session.is_erased;
        is_away.then(|| session.attendance.seen_us + after_us)
    }

    /// Takes note that a session may end by itself: it has no page, or has begun.
    pub(super) fn schedule_end(&mut self, who: SessionId) {
        let (end_us, fading_us) = (self.end_us(who), self.fading_us(who));
        self.schedule_forgetting(who, self.forget_us(who));
        self.expiring.extend(end_us.map(|at_us| (at_us, who)));
        self.fading.extend(fading_us.map(|at_us| (at_us, who)));
    }

    /// Takes the next session whose time has come; one that somebody came back to meanwhile has another time.
    pub(super) fn poll_expired(&mut self, now_us: u64) -> Option<SessionId> {
        while let Some(&(at_us, who)) = self.expiring.first().filter(|due| due.0 <= now_us) {
            self.expiring.pop_first();
            match self.end_us(who) {
                Some(end_us) if end_us <= at_us => return Some(who),
                // Somebody was there meanwhile.
                Some(end_us) => drop(self.expiring.insert((end_us, who))),
                None => {}
            }
        }
        None
    }

    /// The time of the machine's clock.
    pub(super) fn machine_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.ahead_us)
    }

    /// Takes the next session whose recorded data must be erased, by the machine's clock too.
    pub(super) fn poll_faded(&mut self, now_us: u64) -> Option<SessionId> {
        let machine_us = self.machine_us(now_us);
        while let Some(&(at_us, who)) = self.fading.first().filter(|due| due.0 <= machine_us) {
            self.fading.pop_first();
            if self.fading_us(who) == Some(at_us) {
                return Some(who);
            }
        }
        None
    }

    /// Keeps the recorded data of all sessions from now on.
    pub(super) fn keep_all(&mut self) {
        self.retention_us = None;
        self.fading.clear();
    }

    /// Schedules the end of a rest.
    pub(super) fn schedule_rest(&mut self, who: SessionId, until_us: u64) {
        self.rests.insert(who, until_us);
    }

    /// Takes the sessions whose rest is over.
    pub(super) fn poll_rested(&mut self, now_us: u64) -> Vec<SessionId> {
        let is_due = |(who, at_us): (&SessionId, &u64)| (*at_us <= now_us).then_some(*who);
        let due = self.rests.iter().filter_map(is_due).collect();
        self.rests.retain(|_, at_us| *at_us > now_us);
        due
    }

    /// The time at which something is due, microseconds, and its reason. Retention is looked after every day.
    pub(super) fn poll_timeout(&self, now_us: u64) -> Option<(u64, &'static str)> {
        let rests = self.rests.values().map(|at_us| (*at_us, "end of a rest"));
        let end_us = self.expiring.first().map(|(at_us, _)| *at_us);
        let fading_us = self.fading.first().map(|(at_us, _)| *at_us + self.ahead_us);
        let forget_us = self.forgetting.first().map(|(at_us, _)| *at_us);
        let look_us = fading_us.map(|at_us| at_us.min(now_us + DAY_US));
        rests
            .chain(end_us.map(|at_us| (at_us, "end of an absent session")))
            .chain(look_us.map(|at_us| (at_us, "retention")))
            .chain(forget_us.map(|at_us| (at_us, "a session that nobody began")))
            .min()
    }
}

#[cfg(test)]
mod tests;
