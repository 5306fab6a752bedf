//! The door: pages come in with an entry, and go when their connection closes.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use protocol::change::Presence;
use protocol::control::{EndReason, Entry, Plan, Refusal, ServerMessage};
use protocol::log::Ending;
use protocol::{Era, Life, Tick};
use study::Study;

use super::group::{Group, Phase, Play};
use super::{ConnId, Effect, EnvStages, EpisodeRow, Hub, Place, Random, Session, SessionId, Write};
use crate::config::Limits;
use crate::store::token_hash;

/// What a data folder remembers.
#[derive(Debug, Default)]
pub struct Restored {
    /// Hashes of the participant links.
    pub links: Vec<String>,
    /// Sessions.
    pub sessions: Vec<RestoredSession>,
    /// Episodes that were running.
    pub episodes: Vec<RestoredEpisode>,
    /// The next era.
    pub next_era: u16,
}

/// A session as it was stored.
#[derive(Debug)]
pub struct RestoredSession {
    /// Pseudonym.
    pub participant: String,
    /// Hash of its token.
    pub token_hash: String,
    /// Hash of the participant link through which it came.
    pub link_hash: Option<String>,
    /// Its place in the study.
    pub progress: study::Progress,
}

/// An episode that was running when the server stopped.
#[derive(Debug)]
pub struct RestoredEpisode {
    /// Its row.
    pub row: EpisodeRow,
    /// Its plan, rebuilt from the header of its file.
    pub plan: Plan,
    /// When tick 0 was due, microseconds.
    pub t0_us: u64,
    /// Input delay, ticks.
    pub input_delay: u8,
    /// Ticks that are durable.
    pub through: Tick,
    /// The end, if the file has it already.
    pub ending: Option<Ending>,
}

impl Hub {
    /// Opens the hub with what the data folder remembers. `open` lets people in without a link.
    /// `stages` has one entry for each env stage.
    pub fn new(
        now_us: u64,
        study: Arc<Study>,
        limits: Limits,
        stages: EnvStages,
        open: bool,
        random: Random,
        restored: Restored,
    ) -> Self {
        let mut hub = Self {
            study,
            limits,
            stages,
            random,
            open,
            stopping: false,
            next_era: restored.next_era,
            sessions: Vec::new(),
            by_token: HashMap::new(),
            links: restored
                .links
                .into_iter()
                .map(|link| (link, None))
                .collect(),
            by_conn: HashMap::new(),
            lobbies: BTreeMap::new(),
            crowd_changed: BTreeSet::new(),
            groups: BTreeMap::new(),
            effects: VecDeque::new(),
        };
        hub.open_lobbies();
        for session in restored.sessions {
            hub.keep(session);
        }
        for episode in restored.episodes {
            hub.restore_episode(now_us, episode);
        }
        hub
    }

    /// Adds a session to the tables.
    fn keep(&mut self, stored: RestoredSession) -> SessionId {
        let who = SessionId(self.sessions.len());
        let RestoredSession {
            participant,
            token_hash,
            link_hash,
            progress,
        } = stored;
        self.by_token.insert(token_hash.clone(), who);
        self.links.extend(link_hash.map(|link| (link, Some(who))));
        let place = Place::Page;
        self.sessions.push(Session {
            participant,
            token_hash,
            progress,
            conn: None,
            place,
            since_us: None,
            failed: 0,
        });
        who
    }

    fn restore_episode(&mut self, now_us: u64, episode: RestoredEpisode) {
        let RestoredEpisode {
            row,
            plan,
            t0_us,
            input_delay,
            through,
            ending,
        } = episode;
        let find = |name: &String| {
            self.sessions
                .iter()
                .position(|s| &s.participant == name)
                .map(SessionId)
        };
        let members: Vec<_> = row.participants.iter().map(find).collect();
        let until_us = now_us + self.limits.restart.as_micros() as u64;
        let mut play = Play::new(t0_us, input_delay, members.len());
        play.through = through;
        play.moved_us = now_us.max(t0_us);
        play.away = members.iter().map(|who| who.map(|_| until_us)).collect();
        (play.open, play.recovered) = (true, true);
        for who in members.iter().flatten() {
            self.sessions[who.0].place = Place::Episode(row.era, true);
            // Does nothing to those whose place was stored before the stop.
            self.advance(*who, study::Event::Matched);
        }
        let (delay, grace_us) = self.env_terms(row.stage);
        let phase = match ending {
            Some(ending) => Phase::Ending {
                reason: ending.reason,
                open: true,
            },
            None => Phase::Playing(play),
        };
        let group = Group {
            id: row.group,
            stage: row.stage,
            plan,
            members,
            delay,
            grace_us,
            phase,
        };
        self.groups.insert(row.era.0, group);
        if ending.is_some() {
            self.handle_ended(now_us, row.era, ending);
        }
    }

    /// Takes the first message of a page.
    pub(super) fn handle_hello(&mut self, now_us: u64, conn: ConnId, entry: Entry) {
        if self.stopping {
            return self.refuse(conn, Refusal::Stopping);
        }
        let found = match entry {
            _ if self.by_conn.contains_key(&conn) => Err(Refusal::Malformed),
            Entry::Open if self.open => self.admit(None).map(|(who, token)| (who, token, None)),
            Entry::Open => Err(Refusal::UnknownLink),
            Entry::Invite(link) => self.invite(link).map(|(who, token)| (who, token, None)),
            Entry::Resume { token, playing } => match self.by_token.get(&token_hash(&token)) {
                None => Err(Refusal::UnknownLink),
                Some(&who) => Ok((who, token, playing)),
            },
        };
        match found {
            Ok((who, token, playing)) => self.attach(now_us, conn, who, token, playing),
            Err(why) => self.refuse(conn, why),
        }
    }

    /// A participant link: its first use makes the session; a later one brings it to a newer page, under a new token.
    fn invite(&mut self, link: String) -> Result<(SessionId, String), Refusal> {
        match self.links.get(&token_hash(&link)).copied() {
            None => Err(Refusal::UnknownLink),
            Some(None) => self.admit(Some(link)),
            Some(Some(who)) if self.is_finished(who) => Err(Refusal::Finished),
            Some(Some(who)) => {
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
                Ok((who, token))
            }
        }
    }

    /// Makes a session.
    fn admit(&mut self, link: Option<String>) -> Result<(SessionId, String), Refusal> {
        let live = (0..self.sessions.len())
            .filter(|&who| !self.is_finished(SessionId(who)))
            .count();
        if live >= self.limits.sessions {
            return Err(Refusal::Full);
        }
        let token = self.random_token();
        let session = RestoredSession {
            participant: format!("P-{}", self.random_name(8)),
            token_hash: token_hash(&token),
            link_hash: link.as_deref().map(token_hash),
            progress: study::Progress::new(),
        };
        let write = Write::NewSession {
            participant: session.participant.clone(),
            token: token.clone(),
            link,
        };
        self.effects.push_back(Effect::Store(write));
        Ok((self.keep(session), token))
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
        if let Some(old) = self.sessions[who.0].conn.replace(conn) {
            self.by_conn.remove(&old);
            self.send(old, ServerMessage::Superseded);
            self.effects.push_back(Effect::Close(old));
        }
        self.by_conn.insert(conn, who);
        let (title, language) = (self.study.title.clone(), self.study.language.clone());
        let stages = self.stages.values().map(|stage| stage.module.clone());
        let modules: BTreeSet<_> = stages.filter(|module| !module.is_empty()).collect();
        self.send(
            conn,
            ServerMessage::Welcome {
                session,
                title,
                language,
                modules: modules.into_iter().collect(),
            },
        );
        match self.sessions[who.0].place {
            Place::Episode(era, _) => {
                self.rejoin(now_us, who, era, playing == Some((era, Life(0))))
            }
            Place::Page | Place::Lobby(_) => self.show(now_us, who),
        }
    }

    /// A page comes back to the episode of its session: with the episode in memory, or without.
    fn rejoin(&mut self, now_us: u64, who: SessionId, era: Era, holds: bool) {
        self.sessions[who.0].place = Place::Episode(era, holds);
        let Some(group) = self.groups.get_mut(&era.0) else {
            return;
        };
        let seat = group.seat_of(who);
        match (&mut group.phase, seat) {
            (Phase::Linking { .. }, _) if !holds => self.unmatch(now_us, era, &[]),
            (Phase::Playing(play), Some(seat)) if holds => {
                play.away[seat.index()] = None;
                play.recovered = false;
                let (t0_us, input_delay, through) = (play.t0_us, play.input_delay, play.through);
                if play.open {
                    self.tell(
                        who,
                        ServerMessage::Start {
                            era,
                            t0_us,
                            input_delay,
                        },
                    );
                    self.tell(
                        who,
                        ServerMessage::Running {
                            era,
                            through,
                            changes: Vec::new(),
                        },
                    );
                }
                self.tell_others(
                    era,
                    who,
                    &ServerMessage::Peer {
                        era,
                        seat,
                        presence: Presence::Here,
                        left_ms: 0,
                    },
                );
            }
            (Phase::Playing(_), _) => self.end_episode(era, EndReason::PartnerLeft),
            // The end is on its way to the disk; `Ended` follows.
            (Phase::Ending { .. } | Phase::Linking { .. }, _) => {}
        }
    }

    /// A connection is gone.
    pub(super) fn handle_closed(&mut self, now_us: u64, conn: ConnId) {
        let Some(who) = self.by_conn.remove(&conn) else {
            return;
        };
        self.sessions[who.0].conn = None;
        match self.sessions[who.0].place {
            Place::Page => {}
            Place::Lobby(stage) => {
                self.leave_lobby(stage, who);
                self.sessions[who.0].since_us = None;
            }
            Place::Episode(era, _) => self.miss(now_us, who, era),
        }
    }

    /// The page of a member is away.
    fn miss(&mut self, now_us: u64, who: SessionId, era: Era) {
        let Some(group) = self.groups.get_mut(&era.0) else {
            return;
        };
        let (seat, grace_us) = (group.seat_of(who), group.grace_us);
        match (&mut group.phase, seat) {
            (Phase::Linking { .. }, _) => self.unmatch(now_us, era, &[]),
            (Phase::Playing(play), Some(seat)) => {
                play.away[seat.index()] = Some(now_us + grace_us);
                self.tell_others(
                    era,
                    who,
                    &ServerMessage::Peer {
                        era,
                        seat,
                        presence: Presence::Gone,
                        left_ms: 0,
                    },
                );
            }
            _ => {}
        }
    }
}
