//! An episode whose world a host steps: this page sends each choice of its person immediately, and shows the views that
//! it gets.
//!
//! Choices are signed and kept like the inputs of other episodes. They are numbered instead of bound to ticks, because
//! only the host knows which tick a choice enters. Views say it, so key events have their ticks as in other episodes.

use std::collections::VecDeque;

use env_core::Action;
use protocol::control::{HostView, KeyEvent};
use protocol::seen::Frame;

use super::*;

/// The page's part in an episode on a host.
pub(super) struct HostedPlay<W> {
    pub(super) world: W,
    /// Ticks played, as of the last view.
    pub(super) tick: Tick,
    /// Views so far.
    views: u64,
    /// The number of the next view; `None` before the first.
    next: Option<u32>,
    /// True if the page has asked for a complete view.
    has_asked: bool,
    /// Ticks played, once the episode is over.
    pub(super) over: Option<Tick>,
    /// The lasting action that the person wants.
    held: Action,
    /// In turns, the tick that the person has chosen for.
    chosen: Option<Tick>,
    /// Key events whose tick is in no view yet, with the numbers of their choices.
    unplaced: VecDeque<(u32, KeyEvent)>,
    pointing: Pointing,
}

/// The pointer of the person here: one question is under way at a time, and the next one is about the newest point.
#[derive(Default)]
struct Pointing {
    /// The number of the last question.
    asked: u32,
    /// The point that it is about, while it is not answered.
    waiting: Option<[u16; 2]>,
    /// The point to ask about next.
    next: Option<[u16; 2]>,
    /// The answers that were not taken: the number of the question, and the action.
    answers: VecDeque<(u32, Option<Action>)>,
}

impl Pointing {
    /// Returns the number and the point of the next question, if one may be sent.
    fn poll_question(&mut self) -> Option<(u32, [u16; 2])> {
        if self.waiting.is_some() {
            return None;
        }
        let at = self.next.take()?;
        (self.asked, self.waiting) = (self.asked + 1, Some(at));
        Some((self.asked, at))
    }

    /// A question from before the connection was lost has no answer, and is asked once more.
    fn begin_again(&mut self) {
        self.next = self.next.or(self.waiting);
        self.waiting = None;
    }
}

/// The view that stands on the page of an episode on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownView {
    /// Ticks played.
    pub tick: Tick,
    /// Views so far.
    pub views: u64,
}

impl<W: World> HostedPlay<W> {
    fn new(world: W, tick: Tick) -> Self {
        Self {
            tick,
            views: 0,
            next: None,
            has_asked: true,
            over: None,
            held: world.spec().noop,
            chosen: None,
            unplaced: VecDeque::new(),
            pointing: Pointing::default(),
            world,
        }
    }

    fn frame(&self, hidden: bool) -> Frame {
        let seats = usize::from(self.world.spec().seats);
        Frame {
            tick: self.tick,
            have: vec![Tick(0); seats],
            fresh: vec![Vec::new(); seats],
            hidden,
            ..Frame::default()
        }
    }
}

impl<W: World> Peer<W> {
    /// The view that stands on the page; `None` unless the episode is on a host and runs.
    pub fn shown_view(&self) -> Option<ShownView> {
        match &self.stage {
            Stage::Hosted(host) => Some(ShownView {
                tick: host.tick,
                views: host.views,
            }),
            _ => None,
        }
    }

    /// Ticks that the page shows; `None` before the episode runs here.
    pub fn shown_tick(&self) -> Option<Tick> {
        let simulated = self.session().map(Session::current);
        simulated.or(self.shown_view().map(|shown| shown.tick))
    }

    /// True if a host steps the world.
    pub fn is_hosted(&self) -> bool {
        self.plan.way == EnvWay::Host
    }

    /// The episode begins, or takes this page in again at a tick.
    pub(super) fn begin_hosted(&mut self, now: Now, world: W, t0_us: u64, tick: Tick) {
        self.t0_us = t0_us;
        self.may_upload = self.net.is_connected();
        if self.is_hidden {
            self.tell_hidden();
            self.person.record_hidden(&mut self.recorder.lock(), tick);
        }
        self.stage = Stage::Hosted(Box::new(HostedPlay::new(world, tick)));
        // A view may have come before this page could show it.
        self.tell_taken(u32::MAX);
        self.settle(now);
    }

    fn tell_taken(&mut self, number: u32) {
        let (era, size) = (self.plan.era, self.picture_size);
        self.net
            .send_to_server(ClientMessage::ViewTaken { era, number, size });
    }

    /// The picture has this many pixels of the screen, width and height: a host makes none that are finer.
    pub fn set_picture_size(&mut self, size: [u16; 2]) {
        self.picture_size = size;
    }

    /// The person points at a place of the picture of a hosted world, given by the parts of its width and height before it
    /// in 65,536ths. Gives the number that the answer will have, of a point that is pressed; one that is only pointed at may
    /// have none, if the person points elsewhere before it is asked about.
    pub fn ask_point(&mut self, at: [u16; 2], is_pressed: bool) -> u32 {
        let Stage::Hosted(host) = &mut self.stage else {
            return 0;
        };
        host.pointing.next = Some(at);
        // A press does not wait for the answer to a question before.
        host.pointing.waiting = host.pointing.waiting.filter(|_| !is_pressed);
        self.ask_next_point();
        match &self.stage {
            Stage::Hosted(host) => host.pointing.asked,
            _ => 0,
        }
    }

    fn ask_next_point(&mut self) {
        let era = self.plan.era;
        if let Stage::Hosted(host) = &mut self.stage
            && let Some((number, at)) = host.pointing.poll_question()
        {
            self.net
                .send_to_server(ClientMessage::Point { era, number, at });
        }
    }

    /// Takes the host's answer on the meaning of a point.
    pub(super) fn take_pointed(&mut self, number: u32, action: Option<Action>) {
        if let Stage::Hosted(host) = &mut self.stage {
            let is_last = number == host.pointing.asked;
            host.pointing.waiting = host.pointing.waiting.filter(|_| !is_last);
            host.pointing.answers.push_back((number, action));
        }
        self.ask_next_point();
    }

    /// Returns the next answer about a point that the person chose: its number, and the action that the point means.
    pub fn poll_pointed(&mut self) -> Option<(u32, Option<Action>)> {
        match &mut self.stage {
            Stage::Hosted(host) => host.pointing.answers.pop_front(),
            _ => None,
        }
    }

    /// A view has come.
    pub(super) fn take_view(&mut self, now: Now, view: HostView) {
        let Stage::Hosted(host) = &mut self.stage else {
            return;
        };
        let follows = view.number == 0 || host.next == Some(view.number);
        if !follows || host.world.restore(&view.bytes).is_err() {
            if !std::mem::replace(&mut host.has_asked, true) {
                self.tell_taken(u32::MAX);
            }
            return;
        }
        (host.next, host.has_asked) = (Some(view.number + 1), false);
        if view.number == 0 {
            host.pointing.begin_again();
        }
        (host.tick, host.views) = (view.tick, host.views + 1);
        let mut placed = Vec::new();
        for (number, tick) in (view.first..).zip(&view.entered) {
            while let Some((_, event)) = host.unplaced.pop_front_if(|(of, _)| *of <= number) {
                let tick = Some(*tick);
                placed.push(KeyEvent { tick, ..event });
            }
        }
        if view.over && host.over.is_none() {
            host.over = Some(view.tick);
            self.over_us = Some(now.page_us);
            self.person
                .record_shown(&mut self.recorder.lock(), view.tick);
        }
        let mut recorder = self.recorder.lock();
        for event in placed {
            self.person.press(&mut recorder, event);
        }
        drop(recorder);
        self.tell_taken(view.number);
        self.ask_next_point();
    }

    /// Takes an action that the person wants, and sends it immediately. Returns the number of the choice, if it is one.
    pub(super) fn choose_hosted(&mut self, now: Now, action: Action) -> Option<u32> {
        let is_own_turn = self.is_own_turn();
        let Stage::Hosted(host) = &mut self.stage else {
            return None;
        };
        let spec = host.world.spec();
        let known = spec.actions.get(usize::from(action))?;
        let rules = &self.plan.rules;
        if host.over.is_some() || rules.turns && !is_own_turn {
            return None;
        }
        if rules.turns {
            host.chosen = Some(host.tick);
        } else if !known.momentary && (!rules.press || action == spec.noop) {
            if action == host.held {
                return None;
            }
            host.held = action;
        }
        let mut recorder = self.recorder.lock();
        let number = recorder.next_needed();
        recorder.add_inputs(std::iter::once(action));
        drop(recorder);
        self.upload_choices();
        self.settle(now);
        Some(number.0)
    }

    /// Sends choices immediately; the notes follow with the next upload.
    fn upload_choices(&mut self) {
        if !self.may_upload || !self.net.is_connected() {
            return;
        }
        while let Some(upload) = self.recorder.lock().upload_inputs() {
            self.net.send_to_server(ClientMessage::Upload(upload));
        }
    }

    /// A key event whose choice enters a tick that only the host knows.
    pub(super) fn place_later(&mut self, number: u32, event: KeyEvent) {
        if let Stage::Hosted(host) = &mut self.stage {
            host.unplaced.push_back((number, event));
        }
    }

    /// In turns: true if the person here has a choice to make.
    pub(super) fn is_own_hosted_turn(&mut self) -> bool {
        let seat = self.plan.seat.0;
        match &mut self.stage {
            Stage::Hosted(host) => {
                let is_open = host.over.is_none() && host.chosen != Some(host.tick);
                is_open && host.views > 0 && host.world.acting() >> seat & 1 == 1
            }
            _ => false,
        }
    }

    /// A seat changes hands; the own one may be taken from here.
    pub(super) fn change_hosted(&mut self, now: Now, change: &Change) {
        let is_own = change.seat == self.plan.seat && change.life != self.plan.life;
        if is_own && change.controller != Controller::Human && change.tick >= self.plays_from {
            self.handle_seat_lost(now);
        }
    }

    /// The frame that is shown, noted as seen.
    pub(super) fn view_hosted(&mut self, show: impl FnOnce(&mut W)) {
        if let Stage::Hosted(host) = &mut self.stage {
            show(&mut host.world);
            if !self.is_hidden {
                self.person.view(host.frame(false));
                self.is_end_viewed = host.over.is_some();
            }
        }
    }

    /// Handles that the page was hidden or shown again. A person who does not see the world plays the no-op.
    pub(super) fn hide_hosted(&mut self, now: Now, hidden: bool, at_ms: u32) {
        let Stage::Hosted(host) = &self.stage else {
            return;
        };
        let (tick, noop) = (host.tick, host.world.spec().noop);
        let frame = Frame {
            at_ms,
            ..host.frame(true)
        };
        if hidden {
            self.person.record_hidden(&mut self.recorder.lock(), tick);
            self.person.lose_sight(&mut self.recorder.lock(), frame);
            if !self.plan.rules.turns {
                self.choose_hosted(now, noop);
            }
        } else {
            self.person.record_shown(&mut self.recorder.lock(), tick);
        }
    }

    /// Lets the end be reported once the last picture was presented.
    pub(super) fn settle_hosted(&mut self, now: Now) {
        let Stage::Hosted(host) = &self.stage else {
            return;
        };
        let told = self.over_us.filter(|over_us| {
            let presented = self.is_hidden || self.is_end_viewed && self.person.has_seen_all();
            presented || now.page_us >= over_us + LAST_FRAME_US
        });
        let mut recorder = self.recorder.lock();
        if let Some(ticks) = host.over.filter(|_| told.is_some())
            && !recorder.has_ended()
        {
            self.person.record_over(&mut recorder, ticks);
            (self.upload_us, self.chunk_us) = ((0, 0), 0);
            recorder.record_confirmed(0, &[], Some(ticks));
        }
    }
}
