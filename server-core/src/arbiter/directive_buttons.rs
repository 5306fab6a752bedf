//! The buttons by which people tell AI partners of their episode what to do.
//!
//! A press becomes a change of the log at a tick that all pages agree on, as a directive of a language model does, and
//! a row in the table of language models. This module must not know what a directive means.

use protocol::control::{ServerMessage, ShownButtons};
use protocol::log::Header;
use protocol::{Controller, Era, Seat, Tick};
use study::StageKind;
use study::stage::PartnerOrigin;

use super::button_play::{ButtonPlay, Press};
use super::episode::{EpisodeState, Phase, Play};
use super::rows::BUTTON;
use super::{Arbiter, Effect, ModelCallRow, Place, RecordWork, SessionId, Write};

/// The most directives of an episode: its log has room for these, and for the changes of people who come and go.
pub(super) const MAX_DIRECTIVES: usize = 250;

/// Time between presses of one person, microseconds; a few may come together.
const PRESS_EACH_US: u64 = 500_000;

/// The furthest tick for which the page of somebody who plays has said an input.
pub(super) fn find_due_tick(play: &Play) -> Option<Tick> {
    let playing = play.seats.playing();
    playing.map(|seat| play.seats.list[seat.index()].own).max()
}

/// The directive that an AI partner follows, by the name under which it plays.
fn directive_of(controller: &Controller) -> Option<&str> {
    let Controller::Ai { policy } = controller else {
        return None;
    };
    let script = policy.split('~').next()?;
    script.split_once(':').map(|(_, word)| word)
}

impl Arbiter {
    /// The buttons of an episode, by the header of its file.
    pub(super) fn open_buttons(&self, stage: u16, header: &Header) -> ButtonPlay {
        let StageKind::Env(env) = self.stage_kind(stage) else {
            return ButtonPlay::default();
        };
        let names = header.course.as_ref();
        let names = names.map_or(&[][..], |course| course.names.as_slice());
        let seats = (0..).map(Seat).take(header.controllers.len());
        let told = seats.filter_map(|seat| {
            let origin = PartnerOrigin::of_seat(seat.index(), names)?;
            let is_it = |of: &PartnerOrigin| of.name == origin.name;
            let mut bots = env.ai_partners();
            let bot = bots.find(|bot| bot.origin.as_ref().is_some_and(is_it))?;
            Some((seat, origin.name, bot.buttons.as_deref()?.clone()))
        });
        ButtonPlay::new(told.collect())
    }

    /// Sends the page of a session the buttons of its running episode.
    pub(super) fn tell_buttons(&mut self, who: SessionId) {
        let Place::Episode(era, _) = self.sessions[who].place else {
            return;
        };
        let episode = self.episodes.get(era);
        let seats = episode.map(|episode| episode.buttons.list_seats());
        let seats = seats.unwrap_or_default();
        for seat in seats {
            self.tell_buttons_of(who, era, seat, None);
        }
    }

    fn tell_buttons_of(&mut self, who: SessionId, era: Era, seat: Seat, refused: Option<u8>) {
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        let Phase::Playing(play) = &episode.phase else {
            return;
        };
        let Some((_, buttons)) = episode.buttons.find(seat) else {
            return;
        };
        let language = self.sessions[who].progress.language(&self.study);
        let label = |of: &study::stage::DirectiveButton| of.label.in_language(language).to_owned();
        let state = play.seats.list.get(seat.index());
        let word = state.and_then(|state| directive_of(&state.controller));
        let mut list = buttons.list.iter();
        let followed = list.position(|of| Some(of.directive.as_str()) == word);
        let shown = ShownButtons {
            era,
            seat,
            name: buttons.shown_as.clone(),
            labels: buttons.list.iter().map(label).collect(),
            followed: followed.map(|at| at as u8),
            refused,
        };
        self.tell_session(who, ServerMessage::Buttons(shown));
    }

    /// A person has pressed a button.
    pub(super) fn handle_press(
        &mut self,
        now_us: u64,
        who: SessionId,
        (era, seat, button): (Era, Seat, u8),
        tick: Option<Tick>,
    ) {
        if !matches!(self.sessions[who].place, Place::Episode(of, _) if of == era) {
            return;
        }
        let Some(episode) = self.episodes.get(era) else {
            return;
        };
        let Phase::Playing(play) = &episode.phase else {
            return;
        };
        let found = episode.buttons.find(seat);
        let pressed = found.and_then(|(name, buttons)| {
            let button = buttons.list.get(usize::from(button))?;
            Some((name.to_owned(), button.directive.clone()))
        });
        let Some((partner, directive)) = pressed.filter(|_| play.open) else {
            return;
        };
        let due = find_due_tick(play);
        let is_full = play.seats.changes.len() >= MAX_DIRECTIVES || play.closing_us.is_some();
        if is_full || !self.sessions[who].presses.take_token(now_us, PRESS_EACH_US) {
            return self.tell_buttons_of(who, era, seat, Some(button));
        }
        let row = ModelCallRow {
            partner,
            seat: Some(seat),
            directive: directive.clone(),
            tick_asked: tick,
            asked_us: now_us,
            ..self.press_row(era, who)
        };
        let Some(episode) = self.episodes.get_mut(era) else {
            return;
        };
        let press = Press { row, who, button };
        episode.buttons.note_press(press);
        let work = RecordWork::Direct {
            seat,
            directive,
            due,
        };
        self.effects.push_back(Effect::Archive(era, work.into()));
    }

    /// The row of a press of a person, under the next number of the episode.
    fn press_row(&mut self, era: Era, who: SessionId) -> ModelCallRow {
        let session = &self.sessions[who];
        let mut row = ModelCallRow {
            participant: session.participant.clone(),
            visit: session.progress.visit(),
            provider: BUTTON.to_owned(),
            asked_for: BUTTON.to_owned(),
            ..ModelCallRow::default()
        };
        if let Some(episode) = self.episodes.get_mut(era) {
            row.episode.clone_from(&episode.header.episode);
            row.stage = episode.stage;
            row.number = episode.take_call_number();
        }
        row
    }

    /// The press whose directive the archive has dealt with; `None` if the directive was a language model's.
    pub(super) fn take_press(&mut self, era: Era) -> Option<Press> {
        self.episodes.get_mut(era)?.buttons.take_directive()
    }

    /// Stores the result of a press, and tells its page if the press had no effect.
    pub(super) fn finish_press(&mut self, era: Era, press: Press, applied: Result<Tick, String>) {
        let Press {
            mut row,
            who,
            button,
        } = press;
        let seat = row.seat;
        let refused = applied.is_err().then_some(button);
        match applied {
            Ok(tick) => row.tick_applied = Some(tick),
            Err(why) => row.refusal = why,
        }
        row.outcome = match refused {
            None => "followed".to_owned(),
            Some(_) => "refused".to_owned(),
        };
        let episode = self.episodes.get(era);
        // Nothing is stored about somebody who has left and whose data may be erased.
        if episode.is_none_or(|episode| episode.seat_of(who).is_none()) {
            return;
        }
        let write = Write::ModelCall(Box::new(row));
        self.effects.push_back(Effect::Store(write));
        if let Some(seat) = seat.filter(|_| refused.is_some()) {
            self.tell_buttons_of(who, era, seat, refused);
        }
    }

    /// An AI partner follows another directive: all pages learn which button that is.
    pub(super) fn tell_followed(&mut self, era: Era, seat: Seat) {
        let people = self.episodes.get(era).map(EpisodeState::people);
        let people: Vec<SessionId> = people.into_iter().flatten().map(|(_, who)| who).collect();
        for who in people {
            self.tell_buttons_of(who, era, seat, None);
        }
    }
}
