//! Changes of seats: pages report their state and the seats that they hear, the seats decide what follows, and
//! everybody learns what the archive has made durable.

use protocol::change::{Change, Presence};
use protocol::control::{EndReason, MAX_PART, Return, ServerMessage};
use protocol::log::Record;
use protocol::{Controller, Era, Life, Seat};

use super::episode::{Phase, Play};
use super::seat_transfer::SeatEffect;
use super::seats::Page;
use super::{
    Arbiter, Effect, Ice, KnownInputs, Place, Recheck, RecordWork, SessionId, Snapshot, Work,
};

impl Arbiter {
    /// Has the ICE servers of every plan from `ice`.
    pub fn with_ice(mut self, ice: Ice) -> Self {
        self.ice = ice;
        self
    }

    fn tell_seat(&mut self, era: Era, seat: Seat, message: ServerMessage) {
        if let Some(who) = self.episodes.session_at(era, seat) {
            self.tell_session(who, message);
        }
    }

    /// Tells a page that plays its seat.
    pub(super) fn tell_player(&mut self, era: Era, seat: Seat, message: ServerMessage) {
        let plays = |play: &mut Play| play.seats.list[seat.index()].page == Page::Plays;
        if self.episodes.play_mut(era).is_some_and(plays) {
            self.tell_seat(era, seat, message);
        }
    }

    /// Sends a message to every page that plays, except for one seat.
    pub(super) fn tell_players(&mut self, era: Era, but: Option<Seat>, message: &ServerMessage) {
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        let seats: Vec<Seat> = play.seats.people().map(|(seat, _)| seat).collect();
        for seat in seats.into_iter().filter(|seat| Some(*seat) != but) {
            self.tell_player(era, seat, message.clone());
        }
    }

    /// Does what is due for the seats of a running episode.
    pub(super) fn settle_seats(&mut self, now_us: u64, era: Era) {
        loop {
            let Some(play) = self.episodes.play_mut(era) else {
                return;
            };
            let at = play.moment_at(now_us);
            play.seats.handle_timeout(at);
            if !play.open || play.closing_us.is_some() {
                return;
            }
            let Some(next) = play.seats.poll_effect() else {
                break;
            };
            self.carry_out(now_us, era, next);
        }
        self.help(now_us, era);
        self.tell_presence(now_us, era);
    }

    /// Pages that wait for inputs which the server has get them from it.
    fn help(&mut self, now_us: u64, era: Era) {
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        let due = play.seats.poll_help(now_us);
        if due.is_empty() {
            return;
        }
        let played: Vec<Seat> = play.seats.playing().collect();
        for of in played {
            let to = due.iter().copied().filter(|to| *to != of).collect();
            self.read_inputs(era, of, to);
        }
    }

    fn read_inputs(&mut self, era: Era, of: Seat, to: Vec<Seat>) {
        if !to.is_empty() {
            let work = Work::Read { of, to };
            self.effects.push_back(Effect::Archive(era, work));
        }
    }

    /// The inputs of a seat have grown: pages that are helped get them.
    pub(super) fn pass_inputs(&mut self, now_us: u64, era: Era, of: Seat) {
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        let to = play.seats.helped_with(now_us, of);
        self.read_inputs(era, of, to);
    }

    /// Handles that the digests of a page differ: it gets the inputs that count, and must send the digests again.
    pub(super) fn ask_again(&mut self, era: Era, seat: Seat, recheck: Recheck) {
        let Recheck {
            number,
            agreed,
            inputs,
        } = recheck;
        for known in inputs {
            self.tell_inputs(era, seat, known);
        }
        let message = ServerMessage::Recheck {
            era,
            number,
            agreed,
        };
        self.tell_player(era, seat, message);
    }

    /// The archive has the inputs of a seat for the page of another.
    pub(super) fn tell_inputs(&mut self, era: Era, to: Seat, known: KnownInputs) {
        let KnownInputs {
            seat,
            life,
            first,
            inputs,
        } = known;
        let message = ServerMessage::Inputs {
            era,
            seat,
            life,
            first,
            inputs,
        };
        self.tell_player(era, to, message);
    }

    fn carry_out(&mut self, now_us: u64, era: Era, next: SeatEffect) {
        let work = match next {
            SeatEffect::Plan(seat) => return self.send_plan(now_us, era, seat),
            SeatEffect::Take(seat, controller) => RecordWork::Take { seat, controller },
            SeatEffect::Give(seat, controller) => {
                let Some(give) = self.make_give(era, seat, controller) else {
                    return;
                };
                give
            }
        };
        self.effects.push_back(Effect::Archive(era, work.into()));
    }

    /// A seat is given to an AI partner, or to the page that now waits for it.
    fn make_give(&mut self, era: Era, seat: Seat, controller: Controller) -> Option<RecordWork> {
        let who = self.episodes.session_at(era, seat);
        let is_human = controller == Controller::Human;
        let key = who.map(|who| self.sessions[who].key).filter(|_| is_human);
        let play = self.episodes.play_mut(era)?;
        // If nobody else plays, the time stood still.
        let others = play.seats.playing().filter(|other| *other != seat);
        let due = others.map(|other| play.seats.list[other.index()].own).max();
        Some(RecordWork::Give {
            seat,
            controller,
            key,
            due,
        })
    }

    /// Sends the plan of the running episode to a page that comes back. A page that has come back too often has failed:
    /// every return takes room in the log, and the room is limited.
    fn send_plan(&mut self, now_us: u64, era: Era, seat: Seat) {
        let most = self.limits.returns;
        let Some(who) = self.episodes.session_at(era, seat) else {
            return;
        };
        let returns = |play: &mut Play| play.seats.list[seat.index()].returns;
        if self.episodes.play_mut(era).map(returns) >= Some(most) {
            return self.fail_page(now_us, who, "it comes back again and again");
        }
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        let Phase::Playing(play) = &episode.phase else {
            return;
        };
        let life = play.seats.list[seat.index()].life.next();
        let Some(mut plan) = self.make_plan(now_us, era, episode, seat) else {
            return;
        };
        (plan.life, plan.running) = (life, true);
        self.sessions[who].place = Place::Episode(era, true);
        self.tell_session(who, ServerMessage::Match(plan));
    }

    /// Sends everybody the presence of somebody, if it is new, and appends it to the log.
    fn tell_presence(&mut self, now_us: u64, era: Era) {
        let limit = self.limits.presences;
        for seat in (0..protocol::MAX_SEATS as u8).map(Seat) {
            let Some(play) = self.episodes.play_mut(era) else {
                return;
            };
            let at = play.moment_at(now_us);
            let Some((presence, until_us)) = play.seats.poll_presence(at, seat) else {
                continue;
            };
            let told = &mut play.presences[seat.index()];
            *told += 1;
            if *told > limit {
                continue;
            }
            let note = Record::Presence {
                seat,
                at_us: now_us,
                presence,
            };
            let work = RecordWork::Note(Box::new(note));
            self.effects.push_back(Effect::Archive(era, work.into()));
            let message = peer(now_us, era, seat, presence, until_us);
            self.tell_players(era, Some(seat), &message);
        }
    }

    /// Tells a page how the others are, if they are not simply there.
    fn tell_others_presence(&mut self, now_us: u64, era: Era, to: Seat) {
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        let at = play.moment_at(now_us);
        let others = play.seats.all_seats();
        let others = others.filter(|(seat, state)| *seat != to && state.told != Presence::Here);
        let messages: Vec<ServerMessage> = others
            .map(|(seat, state)| {
                let (_, until_us) = play.seats.presence_of(at, seat);
                peer(now_us, era, seat, state.told, until_us)
            })
            .collect();
        for message in messages {
            self.tell_player(era, to, message);
        }
    }

    /// Handles that a page comes to its seat in a running episode, with the life that it plays or without any.
    pub(super) fn sit_down(&mut self, now_us: u64, era: Era, seat: Seat, life: Option<Life>) {
        let who = self.episodes.session_at(era, seat);
        let key = who.map_or([0; 32], |who| self.sessions[who].key);
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        play.recovered = false;
        let open = play.open;
        let at = play.moment_at(now_us);
        if play.seats.handle_page(at, seat, life, key) {
            if open {
                self.resume(now_us, era, seat);
            }
        } else if life.is_none() {
            let episode = self.episodes.get(era);
            let stage =
                episode.and_then(|episode| Some((episode.session_at(seat)?, episode.stage)));
            if let Some((who, stage)) = stage {
                let shown = self.stage_message(who, stage, None);
                self.tell_session(who, shown);
            }
        }
    }

    /// Tells a page that plays, or played until just now, where everything stands.
    fn resume(&mut self, now_us: u64, era: Era, seat: Seat) {
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        if let Some(host) = &mut play.hosting {
            host.begin_page(seat);
        }
        let (t0_us, input_delay) = (play.t0_us, play.input_delay);
        let (through, own) = (play.through, play.seats.list[seat.index()].own);
        let changes = play.seats.changes.clone();
        let messages = [
            ServerMessage::Start {
                era,
                t0_us,
                input_delay,
            },
            ServerMessage::Running {
                era,
                through,
                own,
                changes,
            },
        ];
        for message in messages {
            self.tell_seat(era, seat, message);
        }
        self.tell_others_presence(now_us, era, seat);
    }

    /// Tells a page from where to upload.
    pub(super) fn tell_running(&mut self, era: Era, seat: Seat) {
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        let message = ServerMessage::Running {
            era,
            through: play.through,
            own: play.seats.list[seat.index()].own,
            changes: play.seats.changes.clone(),
        };
        self.tell_player(era, seat, message);
    }

    /// A change is durable: everybody is informed. With `snapshot`, the page of the seat begins there.
    pub(super) fn handle_changed(
        &mut self,
        now_us: u64,
        era: Era,
        change: Option<Change>,
        snapshot: Option<Snapshot>,
    ) {
        let limit = self.limits.changes;
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        if change.is_none() && play.closing_us.is_some() {
            // The archive has the end, and the others still upload their notes.
            play.seats.step = None;
            return;
        }
        let Some(change) = change.filter(|_| play.seats.changes.len() < limit) else {
            return self.end_episode(era, EndReason::Technical);
        };
        let seat = change.seat;
        let is_ai = matches!(change.controller, Controller::Ai { .. });
        let others = play.seats.people();
        let others = others.filter(|(_, state)| state.page == Page::Plays);
        let told: Vec<Seat> = others.map(|(other, _)| other).collect();
        play.seats.handle_change(now_us, change.clone());
        if let Some(host) = &mut play.hosting {
            host.begin_page(seat);
        }
        play.dropped[seat.index()] = false;
        if let Some(episode) = self.episodes.get_mut(era).filter(|_| is_ai) {
            episode.aided.insert(seat);
        }
        for other in told {
            let change = change.clone();
            self.tell_seat(era, other, ServerMessage::Change { era, change });
        }
        if let Some(snapshot) = snapshot {
            self.send_state(now_us, era, seat, snapshot);
        }
    }

    /// A page that was given its seat begins at the replica's state.
    fn send_state(&mut self, now_us: u64, era: Era, seat: Seat, snapshot: Snapshot) {
        let episode = self.episodes.get(era);
        let tick_hz = episode.map_or(0, |episode| episode.header.tick_hz);
        let plan = episode.and_then(|episode| self.make_plan(now_us, era, episode, seat));
        let asks_rewards = plan.is_some_and(|plan| plan.asks_rewards());
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        let mut state = snapshot.state;
        if asks_rewards {
            state.extend(snapshot.rewards);
        }
        let mut parts = Vec::new();
        while state.len() > MAX_PART {
            let rest = state.split_off(MAX_PART);
            parts.push(std::mem::replace(&mut state, rest));
        }
        let back = Return {
            era,
            t0_us: play.t0_us,
            delay_ms: play.delay_for(now_us, seat, tick_hz),
            input_delay: play.input_delay,
            changes: play.seats.changes.clone(),
            tick: snapshot.tick,
            digest: snapshot.digest,
            state,
            partners: snapshot.partners,
        };
        for bytes in parts {
            self.tell_player(era, seat, ServerMessage::Part { era, bytes });
        }
        self.tell_player(era, seat, ServerMessage::Return(back));
        self.tell_others_presence(now_us, era, seat);
    }

    /// A page simulates something else than the replica: it loses its seat, and comes back by the replica's
    /// state. One that does so too often has failed.
    pub(super) fn handle_diverged(&mut self, now_us: u64, era: Era, seat: Seat) {
        let limit = self.limits.divergences;
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        let state = &mut play.seats.list[seat.index()];
        if state.doomed || state.controller != Controller::Human {
            return;
        }
        state.doomed = true;
        let times = &mut play.diverged[seat.index()];
        *times += 1;
        let is_hopeless = *times > limit;
        tracing::warn!(
            era = era.0,
            seat = seat.0,
            "a page has diverged from the replica"
        );
        if let Some(who) = (self.episodes.session_at(era, seat)).filter(|_| is_hopeless) {
            self.fail_page(now_us, who, "it diverges again and again");
        }
    }

    /// Handles that a page that may play has sent something. This may decide the absence of somebody else.
    pub(super) fn note_heard(&mut self, now_us: u64, who: SessionId) {
        let Place::Episode(era, _) = self.sessions[who].place else {
            return;
        };
        let Some((play, seat)) = self.episodes.seat_mut(era, who) else {
            return;
        };
        let at = play.moment_at(now_us);
        if play.seats.handle_heard(at, seat) {
            self.episodes.touch_episode(era);
        }
    }

    /// A page does not hear somebody, or does again.
    pub(super) fn handle_silent(
        &mut self,
        now_us: u64,
        who: SessionId,
        era: Era,
        seat: Seat,
        silent: bool,
    ) {
        let Some((play, by)) = self.episodes.seat_mut(era, who) else {
            return;
        };
        play.seats.handle_silent(now_us, by, seat, silent);
    }

    /// A page went out of sight, or came back.
    pub(super) fn handle_hidden(&mut self, now_us: u64, who: SessionId, era: Era, hidden: bool) {
        if !hidden && self.episodes.seat_mut(era, who).is_some() {
            self.note_sign(now_us, who);
        }
        if let Some((play, seat)) = self.episodes.seat_mut(era, who) {
            let state = &mut play.seats.list[seat.index()];
            state.hidden_us = hidden.then(|| state.hidden_us.unwrap_or(now_us));
        }
    }

    /// A page is being closed or reloaded.
    pub(super) fn handle_unloading(&mut self, who: SessionId) {
        let Place::Episode(era, _) = self.sessions[who].place else {
            return;
        };
        if let Some((play, seat)) = self.episodes.seat_mut(era, who) {
            play.seats.list[seat.index()].unloading = true;
        }
    }

    /// A page that has lost its seat wants it back.
    pub(super) fn handle_take_back(&mut self, now_us: u64, who: SessionId, era: Era) {
        if let Some((play, seat)) = self.episodes.seat_mut(era, who)
            && matches!(play.seats.list[seat.index()].page, Page::Plays | Page::Lost)
        {
            let at = play.moment_at(now_us);
            play.seats.handle_take_back(at, seat);
        }
    }
}

fn peer(
    now_us: u64,
    era: Era,
    seat: Seat,
    presence: Presence,
    until_us: Option<u64>,
) -> ServerMessage {
    let left_ms = until_us.map_or(0, |until_us| until_us.saturating_sub(now_us) / 1_000);
    ServerMessage::Peer {
        era,
        seat,
        presence,
        left_ms: u32::try_from(left_ms).unwrap_or(u32::MAX),
    }
}
