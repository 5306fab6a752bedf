//! Episodes: from a match over the start to the end, and what passes between their pages.

use protocol::control::{EndReason, Plan, Refusal, ServerMessage, Upload};
use protocol::log::{Ending, Header};
use protocol::{Controller, Era, Seat};
use study::Kind;

use super::group::{Group, Phase, Play};
use super::{Absorbed, Effect, EpisodeRow, Hub, Place, SessionId, Work, Write};

impl Hub {
    /// Bounds of the input delay of an env stage, ticks, and how long a person may be away, microseconds.
    pub(super) fn env_terms(&self, stage: u16) -> ((u8, u8), u64) {
        match self.kind(stage) {
            Kind::Env(env) => {
                let grace_us = u64::from(env.on_disconnect.grace_s) * 1_000_000;
                ((env.input_delay.min, env.input_delay.max), grace_us)
            }
            _ => ((0, 0), 0),
        }
    }

    /// Makes an episode for people who were matched; AI partners take the seats that are left over.
    pub(super) fn form(&mut self, now_us: u64, stage: u16, people: Vec<SessionId>) {
        let era = self.fresh_era();
        let Some(plan) = self.plan(era, stage, people.len()) else {
            tracing::error!(stage, "an env stage has no environment");
            return people
                .into_iter()
                .for_each(|who| self.leave_episode(now_us, who, EndReason::Technical));
        };
        let (delay, grace_us) = self.env_terms(stage);
        let seats = plan.controllers.len();
        let mut members: Vec<_> = people.iter().copied().map(Some).collect();
        members.resize(seats, None);
        let until_us = now_us + self.limits.ready.as_micros() as u64;
        let phase = Phase::Linking {
            until_us,
            ready: vec![None; seats],
        };
        let id = format!("G-{}", self.random_name(8));
        let group = Group {
            id,
            stage,
            plan,
            members,
            delay,
            grace_us,
            phase,
        };
        for (seat, who) in group.people() {
            self.sessions[who.0].place = Place::Episode(era, true);
            let shown = self.stage_message(who, stage);
            self.tell(who, shown);
            self.tell(who, ServerMessage::Match(group.plan_for(seat)));
        }
        self.groups.insert(era.0, group);
    }

    /// An era that no running episode has.
    fn fresh_era(&mut self) -> Era {
        while self.groups.contains_key(&self.next_era) {
            self.next_era = self.next_era.wrapping_add(1);
        }
        let era = Era(self.next_era);
        self.next_era = self.next_era.wrapping_add(1);
        self.effects
            .push_back(Effect::Store(Write::NextEra(Era(self.next_era))));
        era
    }

    fn plan(&mut self, era: Era, stage: u16, people: usize) -> Option<Plan> {
        let seed = self.random_u64();
        let episode = format!("E-{}", self.random_name(10));
        let Kind::Env(env) = self.kind(stage) else {
            return None;
        };
        let playing = self.stages.get(&stage)?;
        let bot = stage
            .checked_sub(1)
            .and_then(|lobby| match self.kind(lobby) {
                Kind::Lobby(lobby) => lobby.bot.as_ref(),
                _ => None,
            });
        let controller = |seat: usize| match bot {
            _ if seat < people => Some(Controller::Human),
            Some(bot) => Some(Controller::Ai {
                policy: bot.policy.clone(),
            }),
            None => None,
        };
        Some(Plan {
            era,
            episode,
            seat: Seat(0),
            controllers: (0..usize::from(playing.facts.seats))
                .map(controller)
                .collect::<Option<_>>()?,
            env: env.env.clone(),
            env_version: env.version.clone(),
            module: playing.module.clone(),
            params: env.config.to_string(),
            seed,
            tick_hz: playing.facts.tick_hz,
            window: env.window(&playing.facts),
            keys: env.key_map(&playing.facts),
            disclose_ai: bot.is_none_or(|bot| bot.disclose),
            ice: Vec::new(),
            relay_only: false,
            life: protocol::Life(0),
            running: false,
        })
    }

    /// A group comes to nothing before its start; `unready` are those who kept it waiting.
    /// Everyone goes back to the lobby with the time already waited; who fails too often moves on.
    pub(super) fn unmatch(&mut self, now_us: u64, era: Era, unready: &[SessionId]) {
        let Some(group) = self.groups.remove(&era.0) else {
            return;
        };
        let people: Vec<SessionId> = group.people().map(|(_, who)| who).collect();
        for &who in &people {
            self.sessions[who.0].place = Place::Page;
        }
        for who in people {
            if unready.contains(&who) {
                self.sessions[who.0].failed += 1;
            }
            self.put_back(now_us, who);
        }
    }

    /// Puts a person whose match came to nothing back to where they were, or past the episode in the end.
    fn put_back(&mut self, now_us: u64, who: SessionId) {
        if self.sessions[who.0].failed < self.limits.attempts {
            self.show(now_us, who);
        } else {
            self.leave_episode(now_us, who, EndReason::Technical);
        }
    }

    pub(super) fn tell_others(&mut self, era: Era, who: SessionId, message: &ServerMessage) {
        let Some(group) = self.groups.get(&era.0) else {
            return;
        };
        let others: Vec<SessionId> = group
            .people()
            .map(|(_, other)| other)
            .filter(|other| *other != who)
            .collect();
        others
            .into_iter()
            .for_each(|other| self.tell(other, message.clone()));
    }

    /// The group that a session is in, its own seat, and who has the seat `to`.
    fn peers(&self, who: SessionId, to: Seat) -> Option<(Seat, super::ConnId)> {
        let Place::Episode(era, _) = self.sessions[who.0].place else {
            return None;
        };
        let group = self.groups.get(&era.0)?;
        let peer = group.at(to).filter(|peer| *peer != who)?;
        Some((group.seat_of(who)?, self.sessions[peer.0].conn?))
    }

    pub(super) fn handle_signal(&mut self, who: SessionId, to: Seat, data: String) {
        if data.len() > self.limits.signal_bytes {
            return;
        }
        if let Some((from, conn)) = self.peers(who, to) {
            self.send(conn, ServerMessage::Signal { from, data });
        }
    }

    pub(super) fn handle_relay(&mut self, who: SessionId, to: Seat, bytes: Vec<u8>) {
        if bytes.len() > self.limits.datagram_bytes {
            return;
        }
        if let Some((from, conn)) = self.peers(who, to) {
            self.effects
                .push_back(Effect::Relay(conn, ServerMessage::Relay { from, bytes }));
        }
    }

    /// A page is ready; once all are, the episode gets its delay, its time and its file.
    pub(super) fn handle_ready(&mut self, now_us: u64, who: SessionId, era: Era, rtt_us: Vec<u32>) {
        let Some(group) = self.groups.get_mut(&era.0) else {
            return;
        };
        let Some(seat) = group.seat_of(who) else {
            return;
        };
        if rtt_us.len() > protocol::MAX_SEATS || !group.ready(seat, rtt_us) {
            return;
        }
        let input_delay = group.input_delay();
        let t0_us = now_us + self.limits.countdown.as_micros() as u64;
        group.phase = Phase::Playing(Play::new(t0_us, input_delay, group.members.len()));
        let header = self.header(era, t0_us, input_delay);
        self.effects
            .extend(header.map(|header| Effect::Archive(era, Work::Open(Box::new(header)))));
    }

    fn header(&self, era: Era, t0_us: u64, input_delay: u8) -> Option<Header> {
        let group = self.groups.get(&era.0)?;
        let plan = &group.plan;
        Some(Header {
            episode: plan.episode.clone(),
            study: self.study.id.clone(),
            study_version: self.study.version.clone(),
            study_hash: self.study.hash.clone(),
            stage: self.study.timeline[usize::from(group.stage)].id.clone(),
            group: group.id.clone(),
            participants: self.participants(group),
            module: plan.module.clone(),
            env: plan.env.clone(),
            env_version: plan.env_version.clone(),
            params: plan.params.clone(),
            seed: plan.seed,
            controllers: plan.controllers.clone(),
            tick_hz: plan.tick_hz,
            input_delay,
            t0_us,
        })
    }

    fn participants(&self, group: &Group) -> Vec<String> {
        let name = |who: &Option<SessionId>| {
            who.map_or(String::new(), |who| {
                self.sessions[who.0].participant.clone()
            })
        };
        group.members.iter().map(name).collect()
    }

    /// The file of an episode is durable: people may start.
    pub(super) fn handle_opened(&mut self, era: Era, ok: bool) {
        let Some(group) = self.groups.get_mut(&era.0) else {
            return;
        };
        let Phase::Playing(play) = &mut group.phase else {
            return;
        };
        if !ok {
            return self.end_episode(era, EndReason::Technical);
        }
        play.open = true;
        let (t0_us, input_delay) = (play.t0_us, play.input_delay);
        let group = &self.groups[&era.0];
        let row = EpisodeRow {
            episode: group.plan.episode.clone(),
            era,
            group: group.id.clone(),
            stage: group.stage,
            participants: self.participants(group),
        };
        let people: Vec<SessionId> = group.people().map(|(_, who)| who).collect();
        self.effects.push_back(Effect::Store(Write::Episode(row)));
        for &who in &people {
            // A solo stage has no lobby before it: its participant is there already.
            self.advance(who, study::Event::Matched);
        }
        for who in people {
            self.tell(
                who,
                ServerMessage::Start {
                    era,
                    t0_us,
                    input_delay,
                },
            );
        }
    }

    pub(super) fn handle_upload(&mut self, who: SessionId, upload: Upload) {
        let era = upload.era;
        let Some(group) = self.groups.get_mut(&era.0) else {
            return;
        };
        let seat = group.seat_of(who);
        let (Phase::Playing(play), Some(seat)) = (&mut group.phase, seat) else {
            return;
        };
        let (flying, dropped) = (
            &mut play.flying[seat.index()],
            &mut play.dropped[seat.index()],
        );
        *dropped |= *flying >= self.limits.uploads;
        if play.open && !*dropped {
            *flying += 1;
            let work = Work::Absorb(seat, Box::new(upload));
            self.effects.push_back(Effect::Archive(era, work));
        }
    }

    /// The archive has seen an upload.
    pub(super) fn handle_absorbed(
        &mut self,
        now_us: u64,
        era: Era,
        seat: Seat,
        absorbed: Absorbed,
    ) {
        let Some(group) = self.groups.get_mut(&era.0) else {
            return;
        };
        let Some(who) = group.at(seat) else { return };
        let Phase::Playing(play) = &mut group.phase else {
            return;
        };
        let flying = &mut play.flying[seat.index()];
        *flying = flying.saturating_sub(1);
        let again = *flying == 0 && std::mem::take(&mut play.dropped[seat.index()]);
        match absorbed {
            Absorbed::Durable {
                through,
                over,
                last,
                ..
            } => {
                play.absorbed(now_us, through);
                play.finished[seat.index()] |= last;
                if over {
                    play.closing_us
                        .get_or_insert(now_us + self.limits.closing.as_micros() as u64);
                }
                self.tell(
                    who,
                    if again {
                        ServerMessage::Running {
                            era,
                            through,
                            changes: Vec::new(),
                        }
                    } else {
                        ServerMessage::Archived {
                            era,
                            through,
                            notes: 0,
                        }
                    },
                );
            }
            Absorbed::Gap(through) => self.tell(
                who,
                ServerMessage::Running {
                    era,
                    through,
                    changes: Vec::new(),
                },
            ),
            Absorbed::Malformed => {
                tracing::warn!(era = era.0, seat = seat.0, "an upload is malformed");
                if let Some(conn) = self.sessions[who.0].conn {
                    self.handle_closed(now_us, conn);
                    self.refuse(conn, Refusal::Malformed);
                }
            }
            Absorbed::Disagreed | Absorbed::Failed => self.end_episode(era, EndReason::Technical),
        }
    }

    /// Ends a running episode: the archive closes its file, then everyone is told.
    pub(super) fn end_episode(&mut self, era: Era, reason: EndReason) {
        let Some(group) = self.groups.get_mut(&era.0) else {
            return;
        };
        if let Phase::Playing(play) = &group.phase {
            let open = play.open;
            group.phase = Phase::Ending { reason, open };
            self.effects
                .push_back(Effect::Archive(era, Work::End(reason)));
        }
    }

    /// A member leaves on purpose.
    pub(super) fn quit(&mut self, now_us: u64, era: Era, who: SessionId) {
        let Some(group) = self.groups.get_mut(&era.0) else {
            return;
        };
        for member in group
            .members
            .iter_mut()
            .filter(|member| **member == Some(who))
        {
            *member = None;
        }
        match group.phase {
            Phase::Linking { .. } => self.unmatch(now_us, era, &[]),
            _ => self.end_episode(era, EndReason::PartnerLeft),
        }
    }

    /// The end of an episode is durable: everyone is told, and moves on.
    pub(super) fn handle_ended(&mut self, now_us: u64, era: Era, ending: Option<Ending>) {
        let Some(group) = self.groups.remove(&era.0) else {
            return;
        };
        let Phase::Ending { reason, open } = group.phase else {
            return;
        };
        // The replica has the last word: an episode that was over when its end was asked for was played.
        let reason = ending.map_or(reason, |ending| ending.reason);
        let episode = group.plan.episode.clone();
        if open {
            self.effects.push_back(Effect::Store(Write::EpisodeEnded {
                episode,
                reason,
                ending,
            }));
        }
        let (ticks, score, digest) = ending
            .map(|end| (end.ticks, end.score, end.digest))
            .unwrap_or_default();
        for (_, who) in group.people() {
            if self.sessions[who.0].place == Place::Episode(era, true) {
                self.tell(
                    who,
                    ServerMessage::Ended {
                        era,
                        reason,
                        ticks,
                        score,
                        digest,
                    },
                );
            }
        }
        for (_, who) in group.people() {
            self.leave_episode(now_us, who, reason);
        }
    }

    /// Does what is due, until nothing is.
    pub(super) fn settle(&mut self, now_us: u64) {
        let stalled_us = self.limits.stalled.as_micros() as u64;
        let eras: Vec<u16> = self.groups.keys().copied().collect();
        for era in eras.into_iter().map(Era) {
            let Some(group) = self.groups.get(&era.0) else {
                continue;
            };
            if matches!(group.phase, Phase::Linking { until_us, .. } if until_us <= now_us) {
                let unready = group.unready();
                self.unmatch(now_us, era, &unready);
            } else if let Some(reason) = group.due(now_us, stalled_us) {
                self.end_episode(era, reason);
            }
        }
        self.settle_lobbies(now_us);
    }
}
