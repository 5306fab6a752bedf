//! The person's actions and frames: wishes, keys with the tick that they enter and the frame that answers them,
//! and spans out of sight.

use env_core::Action;
use env_core::shared::count_own_actions;
use protocol::control::KeyEvent;
use protocol::seen::Frame;

use super::*;

/// A key event whose frame was not presented within this time is reported without one, microseconds.
const FRAME_WITHIN_US: i64 = 2_000_000;

/// A key event whose answer is not on the screen yet.
#[derive(Debug)]
struct Unseen {
    event: KeyEvent,
    frame_us: Option<i64>,
    drawn: bool,
}

/// The person at the page.
#[derive(Debug, Default)]
pub(super) struct Person {
    /// The tick at which the page went out of sight.
    hidden: Option<Tick>,
    /// True if the page has the whole screen, as noted last.
    screen: Option<bool>,
    /// The mark by which the seat was given to an AI partner, until the person takes it back.
    handed_over: Option<Action>,
    unseen: Vec<Unseen>,
    /// The tick that is on the screen; since when, and since when the one before was, newest first.
    on_screen: Option<u32>,
    since_us: [Option<i64>; 2],
    /// The frame that was viewed and is not being drawn, and the one that is being drawn and was not presented.
    viewed: Option<Frame>,
    drawn: Option<Frame>,
}

impl Person {
    /// Handles that the page was hidden: no frame will answer the pressed keys.
    pub(super) fn record_hidden(&mut self, recorder: &mut Recorder, current: Tick) {
        self.hidden.get_or_insert(current);
        self.tell_unseen(recorder);
    }

    /// Reports the pressed keys without a frame, because no frame may answer them.
    pub(super) fn tell_unseen(&mut self, recorder: &mut Recorder) {
        self.unseen
            .drain(..)
            .for_each(|unseen| recorder.key(unseen.event, unseen.frame_us));
    }

    /// The page came back into sight, or there is nothing more to see.
    pub(super) fn record_shown(&mut self, recorder: &mut Recorder, current: Tick) {
        let hidden = self.hidden.take().map(|first| (first, current));
        recorder.timing().hidden.extend(hidden);
    }

    /// Nothing more will be played here.
    pub(super) fn record_over(&mut self, recorder: &mut Recorder, current: Tick) {
        self.record_shown(recorder, current);
        self.tell_unseen(recorder);
    }

    /// True if everything that was viewed has been presented.
    pub(super) fn has_seen_all(&self) -> bool {
        self.viewed.is_none() && self.drawn.is_none()
    }

    pub(super) fn press(&mut self, recorder: &mut Recorder, event: KeyEvent) {
        // An event may be older than the newest frame.
        let mut frames = self.since_us.into_iter().flatten();
        let frame_us = frames.find(|since_us| *since_us <= event.at_us);
        if event.tick.is_none() {
            // Nothing will answer it.
            return recorder.key(event, frame_us);
        }
        self.unseen.retain(|unseen| {
            let late = event.at_us - unseen.event.at_us > FRAME_WITHIN_US;
            if late {
                recorder.key(unseen.event, unseen.frame_us);
            }
            !late
        });
        self.unseen.push(Unseen {
            event,
            frame_us,
            drawn: false,
        });
    }

    /// Something new was viewed. What it replaces was never presented, but the inputs that came with it count.
    pub(super) fn view(&mut self, mut frame: Frame) {
        if let Some(before) = self.viewed.take() {
            join(before, &mut frame);
        }
        self.viewed = Some(frame);
    }

    /// Notes that nothing is presented from this frame on, including earlier views.
    pub(super) fn lose_sight(&mut self, recorder: &mut Recorder, mut frame: Frame) {
        for before in [self.viewed.take(), self.drawn.take()]
            .into_iter()
            .flatten()
        {
            join(before, &mut frame);
        }
        recorder.record_frame(frame);
    }

    fn frame(&mut self, recorder: &mut Recorder, shown_us: i64) {
        let drawn = std::mem::replace(&mut self.drawn, self.viewed.take());
        if let Some(frame) = drawn {
            let tick = frame.ticks_shown();
            if self.on_screen.replace(tick) != Some(tick) {
                self.since_us = [Some(shown_us), self.since_us[0]];
            }
            let at_ms = milliseconds(shown_us);
            recorder.record_frame(Frame { at_ms, ..frame });
        }
        // A frame answers a press if it shows the tick that the press entered.
        let shows = self.drawn.as_ref().map_or(0, Frame::ticks_shown);
        self.unseen.retain_mut(|unseen| {
            if unseen.drawn {
                let event = KeyEvent {
                    shown_us,
                    ..unseen.event
                };
                recorder.key(event, unseen.frame_us);
            }
            let was_drawn = unseen.drawn;
            unseen.drawn = unseen.event.tick < Some(Tick(shows));
            !was_drawn
        });
    }
}

/// Time since `T0` as a frame has it; 0 before.
fn milliseconds(since_us: i64) -> u32 {
    u32::try_from(since_us / 1_000).unwrap_or(0)
}

/// Puts the inputs that came before a frame in front of those that came with it.
fn join(before: Frame, frame: &mut Frame) {
    let ends = before.have.iter().zip(&frame.have);
    let inputs = before.fresh.into_iter().zip(&mut frame.fresh);
    for ((mut fresh, later), (end, have)) in inputs.zip(ends) {
        let begin = have.0.saturating_sub(later.len() as u32);
        if begin > end.0 {
            // The seat was given to somebody who plays from a later tick on.
            continue;
        }
        // A change of the seat may have taken the last ones back.
        fresh.truncate(fresh.len().saturating_sub((end.0 - begin) as usize));
        fresh.append(later);
        *later = fresh;
    }
}

impl<W: World> Peer<W> {
    /// True if keys belong to the world now: to one out of sight they do not.
    pub fn takes_keys(&self) -> bool {
        let runs = match &self.stage {
            Stage::Hosted(host) => host.over.is_none(),
            _ => self.session().is_some_and(|s| s.ended().is_none()),
        };
        runs && self.verdict.is_none() && !self.is_hidden
    }

    /// The person now wants this action; one out of sight wants nothing.
    pub fn handle_action(&mut self, now: Now, action: Action) {
        match self.is_hosted() {
            true if self.is_hidden => {}
            true => drop(self.choose_hosted(now, action)),
            false => drop(self.act(now, action)),
        }
    }

    /// The tick that the action enters, if any.
    fn act(&mut self, now: Now, action: Action) -> Option<Tick> {
        if self.is_hidden {
            return None;
        }
        let Stage::Playing(session) = &mut self.stage else {
            return None;
        };
        let tick = session.handle_action(now.server_us, action);
        self.settle(now);
        tick
    }

    /// A key or button that means this action went down or up at `at_us`, page clock, microseconds, and the person
    /// wants `wanted` by it, if that is another action than before.
    pub fn handle_key(
        &mut self,
        now: Now,
        action: Action,
        down: bool,
        at_us: u64,
        wanted: Option<Action>,
    ) {
        if !self.takes_keys() {
            return;
        }
        // Letting go is no turn.
        let wanted = wanted.filter(|_| down || !self.plan.rules.turns);
        self.note_handover(action, wanted);
        let at_us = now.since_us(self.t0_us, at_us);
        let hosted = wanted.filter(|_| self.is_hosted());
        let number = hosted.and_then(|wanted| self.choose_hosted(now, wanted));
        let event = KeyEvent {
            tick: wanted.and_then(|wanted| self.act(now, wanted)),
            action,
            down,
            at_us,
            shown_us: 0,
        };
        if let Some(number) = number {
            return self.place_later(number, event);
        }
        let mut recorder = self.recorder.lock();
        self.person.press(&mut recorder, event);
    }

    /// Notes that the person gave the seat to an AI partner, or took it back.
    fn note_handover(&mut self, action: Action, wanted: Option<Action>) {
        if let (Stage::Playing(session), false) = (&self.stage, self.plan.rules.turns) {
            let given = wanted.filter(|wanted| session.is_mark(*wanted));
            if given.is_some() || wanted.is_some() && session.is_mark(action) {
                self.person.handed_over = given;
            }
        }
    }

    /// Gives the seat to the AI partner with which the study begins.
    pub(super) fn begin_handed_over(&mut self, now: Now) {
        let shared = self.plan.shared.as_ref();
        let begins = shared.is_some_and(|shared| shared.begins_with_partner);
        if let (Stage::Playing(session), true) = (&mut self.stage, begins) {
            let mark = count_own_actions(session.world().spec()) as Action;
            session.handle_action(now.server_us, mark);
            self.person.handed_over = Some(mark);
        }
    }

    /// True if the person has given the seat to an AI partner, and not taken it back.
    pub fn is_handed_over(&self) -> bool {
        self.person.handed_over.is_some()
    }

    /// Handles that the page was hidden or shown again. A person who does not see the world plays the no-op.
    pub fn handle_hidden(&mut self, now: Now, hidden: bool) {
        if hidden == std::mem::replace(&mut self.is_hidden, hidden) {
            return;
        }
        self.tell_hidden();
        let at_ms = milliseconds(now.since_us(self.t0_us, now.page_us));
        self.hide_hosted(now, hidden, at_ms);
        if let Stage::Playing(session) = &mut self.stage {
            let mut recorder = self.recorder.lock();
            if hidden {
                if !self.plan.rules.turns {
                    // An AI partner that has the seat needs nobody who sees the world.
                    let noop = session.world().spec().noop;
                    let wanted = self.person.handed_over.unwrap_or(noop);
                    session.handle_action(now.server_us, wanted);
                }
                self.person.record_hidden(&mut recorder, session.current());
                self.person
                    .lose_sight(&mut recorder, session.record_frame(at_ms, true));
            } else {
                self.person.record_shown(&mut recorder, session.current());
            }
        }
        self.settle(now);
    }

    /// A page that asks for the whole screen has it now, or has it not. It is noted if it is news.
    pub fn handle_screen(&mut self, is_whole: bool) {
        if let Some(tick) = self.shown_tick()
            && self.person.screen != Some(is_whole)
        {
            self.person.screen = Some(is_whole);
            let mut recorder = self.recorder.lock();
            let screens = &mut recorder.timing().screens;
            screens.push((tick, is_whole));
        }
    }

    pub(super) fn tell_hidden(&mut self) {
        let (era, hidden) = (self.plan.era, self.is_hidden);
        self.net
            .send_to_server(ClientMessage::Hidden { era, hidden });
    }

    /// Shows the next state as far as it is known: see [`Session::preview`]. Before the start, it is the first state. A
    /// page that has lost its seat, or cannot play, shows nothing.
    pub fn view(&mut self, show: impl FnOnce(&mut W)) {
        match &mut self.stage {
            Stage::Linking(world, _) => show(world),
            Stage::Playing(session) => {
                session.preview(show);
                if !self.is_hidden {
                    self.person.view(session.record_frame(0, false));
                    self.is_end_viewed = session.ended().is_some();
                }
            }
            Stage::Hosted(_) => self.view_hosted(show),
            Stage::Loading | Stage::Lost | Stage::Stopped => {}
        }
    }

    /// Handles the start of a frame at `at_us`, page clock, microseconds: views before the last such call are on the
    /// screen, and views since then are being drawn.
    pub fn handle_shown(&mut self, now: Now, at_us: u64) {
        let shown_us = now.since_us(self.t0_us, at_us);
        let mut recorder = self.recorder.lock();
        self.person.frame(&mut recorder, shown_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(have: u32, fresh: &[u16]) -> Frame {
        Frame {
            have: vec![Tick(have)],
            fresh: vec![fresh.to_vec()],
            ..Frame::default()
        }
    }

    #[test]
    fn a_key_responds_to_what_was_on_the_screen_when_it_went_down() {
        let mut person = Person::default();
        let mut recorder = Recorder::for_testing();
        let tick = |tick| Frame {
            tick: Tick(tick),
            ..frame(0, &[])
        };
        // Viewed, drawn in the next frame, and presented in the one after it; the same tick again is nothing new.
        for (viewed, at_us) in [(0, 0), (0, 10_000), (1, 20_000), (1, 30_000), (1, 40_000)] {
            person.view(tick(viewed));
            person.frame(&mut recorder, at_us);
        }
        for (at_us, since_us) in [
            (5_000, None),
            (29_000, Some(10_000)),
            (90_000, Some(30_000)),
        ] {
            let event = KeyEvent {
                tick: None,
                action: 1,
                down: true,
                at_us,
                shown_us: 0,
            };
            person.press(&mut recorder, event);
            assert_eq!(
                recorder.timing().frames_us.last(),
                Some(&since_us),
                "{at_us}"
            );
        }
    }

    #[test]
    fn a_page_that_goes_tells_what_was_pressed_before_a_frame_answers_it() {
        let mut person = Person::default();
        let mut recorder = Recorder::for_testing();
        let event = KeyEvent {
            tick: Some(Tick(1)),
            action: 1,
            down: true,
            at_us: 5_000,
            shown_us: 0,
        };
        person.press(&mut recorder, event);
        assert!(recorder.timing().keys.is_empty());
        person.tell_unseen(&mut recorder);
        assert_eq!(recorder.timing().keys, [event]);
    }

    #[test]
    fn frames_that_were_not_presented_leave_their_inputs_to_the_next_one() {
        for (later, joined) in [
            (frame(12, &[3, 4]), &[1, 2, 3, 4][..]),
            (frame(10, &[]), &[1, 2]),
            (frame(10, &[7]), &[1, 7]),
            (frame(8, &[]), &[]),
            (frame(20, &[8]), &[8]),
        ] {
            let mut shown = later.clone();
            join(frame(10, &[1, 2]), &mut shown);
            assert_eq!((&shown.fresh[0][..], &shown.have), (joined, &later.have));
        }
    }
}
