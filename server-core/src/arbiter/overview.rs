//! A researcher's view of the study: a function of the arbiter's state, which changes nothing and informs no page.

use std::collections::BTreeMap;

use protocol::{Controller, Seat};
use study::design::Quota;
use study::payment::decimals_of;
use study::{Outcome, Payment, assign};

use super::assignment::Counted;
use super::episode::{EpisodeState, Phase, Play};
use super::room_orders::RoomChoices;
use super::seats::{Page, SeatState};
use super::session::Session;
use super::{Arbiter, Place, SessionId};
use crate::lobby::WaitState;
use crate::overview::{
    OutcomeCount, PayOverview, PlacesOverview, PresenceCount, RunningEpisode, SeatOverview,
    SessionOverview, StageFunnel, StagePeople, StudyFacts, StudyOverview, TreatmentCell,
    WaitingPerson,
};

/// The most sessions under way that are listed.
const MOST_OPEN: usize = 1_000;
/// The most ended sessions that are listed.
const MOST_ENDED: usize = 200;

impl Arbiter {
    /// The view of a researcher on the study now.
    pub fn make_overview(&self, now_us: u64) -> StudyOverview {
        let study = &self.study;
        let outcomes = self.list_cut_outcomes();
        let places = self.list_places();
        StudyOverview {
            at_us: now_us,
            study: StudyFacts {
                id: study.id.clone(),
                version: study.version.clone(),
                title: study.title.usual_text().to_owned(),
                hash: study.hash.clone(),
                outcomes: outcomes.iter().map(|outcome| outcome.name()).collect(),
            },
            recruitment: self.recruitment,
            stages: self.list_funnel(),
            waiting: self.list_waiting(),
            episodes: self.list_episodes(),
            outcomes: self.count_outcomes(),
            pay: self.sum_payments(&places),
            places,
            present: self.count_present(),
            exchanges: self.list_exchanges(),
            sessions: self.list_sessions(),
            sessions_in_all: self.sessions.iter().count(),
        }
    }

    fn list_places(&self) -> PlacesOverview {
        let own = self.design.of(self.design.unit);
        let counts = self.counts(self.design.unit, Counted::Places, None);
        let (wanted, each) = match &own.quota {
            Quota::None => (None, None),
            Quota::Total(total) => (Some(*total), None),
            Quota::Each(each) => (Some(each.iter().sum()), Some(each)),
        };
        let cell = |(at, treatment): (usize, Vec<usize>)| {
            let levels = own.between.iter().zip(&treatment);
            let levels = levels.map(|(factor, level)| factor.levels[*level].name.clone());
            let fill = counts.fill_of(&levels.collect::<Vec<_>>());
            TreatmentCell {
                treatment: own.treatment_name(&treatment),
                wanted: each.and_then(|each| each.get(at).copied()),
                completed: fill.completed,
                under_way: fill.under_way,
            }
        };
        PlacesOverview {
            unit: self.unit_name(),
            wanted,
            left: assign::places_left(&self.design, &counts),
            is_per_treatment: each.is_some(),
            cells: own
                .list_treatments()
                .into_iter()
                .enumerate()
                .map(cell)
                .collect(),
        }
    }

    /// Returns somebody's treatment: their own levels and those of their last group, in the order of the factors.
    fn treatment_of(&self, session: &Session) -> String {
        let assignment = session.progress.assignment();
        let group = assignment.groups.values().next_back();
        let level = |name: &String| {
            let own = assignment.own.levels.get(name);
            own.or_else(|| group?.levels.get(name))
        };
        let factors = self.study.design.between.iter();
        let levels = factors.filter_map(|factor| level(&factor.name));
        levels.map(String::as_str).collect::<Vec<_>>().join("/")
    }

    fn outcome_of(&self, session: &Session) -> Option<Outcome> {
        session.progress.outcome(&self.study)
    }

    fn list_funnel(&self) -> Vec<StageFunnel> {
        let mut people: Vec<BTreeMap<String, StagePeople>> =
            vec![BTreeMap::new(); self.study.timeline.len()];
        for session in self.sessions.iter() {
            let outcome = self.outcome_of(session);
            // Nobody was kept out of the study by what happened in it.
            if outcome == Some(Outcome::StudyFull) {
                continue;
            }
            let treatment = self.treatment_of(session);
            let progress = &session.progress;
            let dropped = progress.cut_at().filter(|_| outcome.is_some());
            let end = progress.index();
            for (index, stage) in (0..).zip(&mut people) {
                let is_end = outcome.is_some() && index == end;
                // Everybody who ends reaches a last page.
                let reached =
                    progress.entered_stages().contains(&index) && !(is_end && dropped.is_some());
                let here = outcome.is_none() && index == end;
                let drops = dropped == Some(index);
                if reached || here || drops {
                    let found = stage.entry(treatment.clone()).or_default();
                    found.reached += 1;
                    found.here += u32::from(here);
                    found.dropped += u32::from(drops);
                }
            }
        }
        let stages = self.study.timeline.iter().zip(people);
        let funnel = stages.map(|(stage, people)| StageFunnel {
            stage: stage.id.clone(),
            kind: stage.kind.name(),
            people: (people.into_iter())
                .map(|(treatment, people)| StagePeople {
                    treatment,
                    ..people
                })
                .collect(),
        });
        funnel.collect()
    }

    fn list_waiting(&self) -> Vec<WaitingPerson> {
        let people = self.sessions.ids();
        let mut rooms = RoomChoices::new();
        let mut waiting: Vec<WaitingPerson> = people
            .filter_map(|who| self.describe_wait(who, &mut rooms))
            .collect();
        waiting.sort_by_key(|waiting| waiting.since_us);
        waiting
    }

    fn describe_wait(&self, who: SessionId, rooms: &mut RoomChoices) -> Option<WaitingPerson> {
        let session = &self.sessions[who];
        let participant = session.participant.clone();
        let stage = self.stage_of(who);
        let id = self.study.timeline[usize::from(stage)].id.clone();
        match session.place {
            Place::Lobby(room) => {
                let lobby = self.lobbies.get(room)?;
                let mut people = lobby.waiting_people();
                let (_, since_us, until_us, state) = people.find(|(known, ..)| *known == who)?;
                let here = lobby.waiting_people().count();
                let size = usize::from(lobby.rules().group_size);
                let rules = self.study.lobby(stage)?;
                Some(WaitingPerson {
                    participant,
                    stage: id,
                    waits_for: "lobby",
                    since_us,
                    until_us: lobby.ends_waits().then_some(until_us),
                    state: match state {
                        WaitState::Here => "here",
                        WaitState::Prompted(_) => "prompted",
                        WaitState::Asked => "asked",
                    },
                    more: size.saturating_sub(here).max(1) as u32,
                    missing: Vec::new(),
                    may_wait_longer: lobby.ends_waits(),
                    may_continue_alone: rules.bot.is_some()
                        || self.awaited_ai_partner(who).is_some(),
                    room: self.lobbies.company_of(room)?.name(),
                    rooms: self.list_room_choices(who, room, rooms),
                })
            }
            Place::Group(key) => {
                let group = self.groups.get(key)?;
                let is_missing =
                    |who: SessionId| !matches!(self.sessions[who].place, Place::Group(_));
                let members = group.members();
                let missing: Vec<String> = members
                    .filter(|(_, member)| member.gone.is_none() && is_missing(member.who))
                    .map(|(_, member)| self.sessions[member.who].participant.clone())
                    .collect();
                Some(WaitingPerson {
                    participant,
                    stage: id,
                    waits_for: "group",
                    since_us: session.came_us.unwrap_or(self.now_us),
                    until_us: group.wait.map(|wait| wait.until_us),
                    state: if session.conn.is_some() {
                        "here"
                    } else {
                        "away"
                    },
                    more: missing.len() as u32,
                    missing,
                    may_wait_longer: false,
                    may_continue_alone: false,
                    room: String::new(),
                    rooms: Vec::new(),
                })
            }
            Place::Page | Place::Aside | Place::Chat(_) | Place::Episode(..) => None,
        }
    }

    fn list_episodes(&self) -> Vec<RunningEpisode> {
        let episodes = self.episodes.iter();
        episodes
            .map(|episode| self.describe_episode(episode))
            .collect()
    }

    fn describe_episode(&self, episode: &EpisodeState) -> RunningEpisode {
        let header = &episode.header;
        let play = match &episode.phase {
            Phase::Playing(play) => Some(play),
            Phase::Linking { .. } | Phase::Ending { .. } => None,
        };
        let seats = (0..).map(Seat).zip(&header.controllers);
        let seats = seats.map(|(seat, planned)| {
            let who = episode.session_at(seat);
            let participant = who.map(|who| self.sessions[who].participant.clone());
            SeatOverview {
                may_be_given: episode.may_give_seat(seat),
                ..describe_seat(seat, participant, planned, play.map(|play| &**play))
            }
        });
        RunningEpisode {
            episode: header.episode.clone(),
            group: header.group.clone(),
            stage: header.stage.clone(),
            phase: match &episode.phase {
                Phase::Linking { .. } => "linking",
                Phase::Playing(_) => "playing",
                Phase::Ending { .. } => "ending",
            },
            began_us: play.map(|play| play.t0_us),
            ticks: play.map_or(0, |play| play.through.0),
            tick_hz: if header.rules.turns {
                0
            } else {
                header.tick_hz
            },
            input_delay: play.map_or(0, |play| play.input_delay),
            is_hosted: play.is_some_and(|play| play.is_hosted()),
            seats: seats.collect(),
        }
    }

    fn count_outcomes(&self) -> Vec<OutcomeCount> {
        let mut counts: BTreeMap<(Outcome, String), u32> = BTreeMap::new();
        for session in self.sessions.iter() {
            if let Some(outcome) = self.outcome_of(session) {
                let key = (outcome, self.treatment_of(session));
                *counts.entry(key).or_default() += 1;
            }
        }
        let counts = counts.into_iter();
        let count = |((outcome, treatment), count): ((Outcome, String), u32)| OutcomeCount {
            outcome: outcome.name(),
            treatment,
            count,
        };
        counts.map(count).collect()
    }

    fn count_present(&self) -> PresenceCount {
        let mut present = PresenceCount::default();
        let open = self.sessions.iter();
        for session in open.filter(|session| self.outcome_of(session).is_none()) {
            let (is_there, has_begun) = (session.conn.is_some(), session.progress.has_begun());
            present.under_way += u32::from(is_there || has_begun);
            present.connected += u32::from(is_there);
            present.absent += u32::from(!is_there && has_begun);
        }
        present
    }

    /// Sums the payments, and estimates them at the mean payment of those who completed; before the first of them, at
    /// the pay of somebody who completes now.
    fn sum_payments(&self, places: &PlacesOverview) -> PayOverview {
        let Some(currency) = self.study.recruitment.pay_terms.currency.clone() else {
            return PayOverview::default();
        };
        let payments = self.sessions.iter().filter_map(|it| it.payment.as_ref());
        let (mut pay, mut completed) = (PayOverview::default(), (0_u64, 0_u64));
        for payment in payments {
            pay.sessions += u32::from(payment.total > 0);
            pay.so_far = pay.so_far.saturating_add(payment.total);
            if payment.outcome == Outcome::Completed {
                completed = (completed.0.saturating_add(payment.total), completed.1 + 1);
            }
        }
        pay.mean_completed = completed.0.checked_div(completed.1);
        let open = self.sessions.ids().filter(|who| {
            let session = &self.sessions[*who];
            session.payment.is_none() && session.progress.has_begun()
        });
        let expected = |who: SessionId| match pay.mean_completed {
            Some(mean) => mean,
            None => {
                let session = &self.sessions[who];
                let time_ms = session.attendance.spent_us / 1_000;
                let (study, progress) = (&self.study, &session.progress);
                let number = who.0 as u64;
                Payment::of(
                    study,
                    progress,
                    Outcome::Completed,
                    time_ms,
                    self.seed,
                    number,
                )
                .total
            }
        };
        let open: Vec<u64> = open.map(expected).collect();
        pay.with_under_way = open.iter().fold(pay.so_far, |sum, one| sum + one);
        let each = pay.mean_completed.or_else(|| open.iter().copied().max());
        let people = match self.design.unit {
            study::design::Unit::Participant => 1,
            study::design::Unit::Group => self.group_size() as u64,
        };
        let to_come = |left: u32| u64::from(left) * people * each.unwrap_or(0);
        let has_estimate = each.is_some();
        pay.when_full = (places.left.filter(|_| has_estimate))
            .map(|left| pay.with_under_way.saturating_add(to_come(left)));
        pay.decimals = decimals_of(&currency) as u8;
        pay.currency = Some(currency);
        pay
    }

    fn list_sessions(&self) -> Vec<SessionOverview> {
        let ids: Vec<SessionId> = self.sessions.ids().collect();
        let newest = ids.into_iter().rev();
        let (ended, open): (Vec<_>, Vec<_>) = newest.partition(|who| self.is_finished(*who));
        let open = open.into_iter().take(MOST_OPEN);
        let listed = open.chain(ended.into_iter().take(MOST_ENDED));
        listed.map(|who| self.describe_session(who)).collect()
    }

    fn describe_session(&self, who: SessionId) -> SessionOverview {
        let session = &self.sessions[who];
        let progress = &session.progress;
        let outcome = self.outcome_of(session);
        let cut_at = progress.cut_at().filter(|_| outcome.is_some());
        let stage = usize::from(cut_at.unwrap_or_else(|| self.stage_of(who)));
        let stage = self.study.timeline.get(stage);
        let payment = session.payment.as_ref();
        SessionOverview {
            participant: session.participant.clone(),
            treatment: self.treatment_of(session),
            stage: stage.map_or(String::new(), |stage| stage.id.clone()),
            outcome: outcome.map(Outcome::name),
            is_connected: session.conn.is_some(),
            seen_us: session.attendance.seen_us,
            worked_ms: session.attendance.spent_us / 1_000,
            total: payment.map(|payment| payment.total),
            bonus: payment.map(|payment| payment.bonus),
        }
    }
}

fn describe_seat(
    seat: Seat,
    participant: Option<String>,
    planned: &Controller,
    play: Option<&Play>,
) -> SeatOverview {
    let state = play.and_then(|play| play.seats.list.get(seat.index()));
    let network = play.and_then(|play| play.network.get(seat.index()));
    let network = network.cloned().unwrap_or_default();
    let controller = state.map_or(planned, |state| &state.controller);
    SeatOverview {
        seat: seat.0,
        controller: match controller {
            Controller::Human => "person".to_owned(),
            Controller::Ai { policy } => policy.clone(),
            Controller::Vacant => "vacant".to_owned(),
        },
        page: match (&participant, state) {
            (None, _) => "",
            (Some(_), None) => "linking",
            (Some(_), Some(state)) => page_name(state),
        },
        participant,
        rtt_us: network.rtt_us,
        loss_permille: network.loss_permille,
        rollbacks: network.rollbacks,
        deepest_rollback: network.deepest_rollback,
        holds: network.holds,
        held_ms: network.held_ms,
        may_be_given: false,
    }
}

fn page_name(state: &SeatState) -> &'static str {
    match state.page {
        Page::Plays if state.hidden_us.is_some() => "hidden",
        Page::Plays => "plays",
        Page::Away => "away",
        Page::Lost => "lost",
        Page::Waiting | Page::Loading | Page::Ready => "returns",
    }
}
