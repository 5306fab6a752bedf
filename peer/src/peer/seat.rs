//! The controllers of the seats: the start, changes, the loss of the own seat and the way back.

use rollback::ChangeError;

use super::*;

impl<W: World> Peer<W> {
    /// Everyone is ready.
    pub(super) fn start(&mut self, now: Now, t0_us: u64, input_delay: u8) {
        let Some(world) = self.take_world() else {
            return;
        };
        if self.is_hosted() {
            return self.begin_hosted(now, world, t0_us, Tick(0));
        }
        let config = self.config(t0_us, input_delay);
        let partners = self.plan.controllers.iter();
        let partners = partners.map(|controller| partner(&self.partners, controller, world.spec()));
        match partners.collect() {
            Ok(partners) => self.play(now, Session::new(config, world, partners)),
            Err(message) => self.stop(message),
        }
    }

    /// The running episode takes this page in again.
    pub(super) fn come_back(&mut self, now: Now, mut back: Return) {
        let Some(world) = self.take_world() else {
            return;
        };
        if self.is_hosted() {
            return self.come_back_hosted(now, world, &back);
        }
        self.parts.append(&mut back.state);
        back.state = std::mem::take(&mut self.parts);
        let config = self.config(back.t0_us, back.input_delay);
        let spec = world.spec().clone();
        let make = |policy: &str| self.partners.open(policy, &spec);
        match Session::resume(config, world, make, &back) {
            Ok(session) => {
                for (k, change) in back.changes.iter().enumerate() {
                    // What was so in between is no reason to tear down a connection.
                    let later = &back.changes[k + 1..];
                    if later.iter().all(|later| later.seat != change.seat) {
                        self.seat_changes(now, change);
                    }
                    if change.seat == self.plan.seat {
                        (self.plays_from, self.plan.life) = (change.tick, change.life);
                    }
                }
                let mut recorder = self.recorder.lock();
                recorder.begin_at(self.plays_from, self.plan.life);
                self.seals.begin_at(self.plays_from, self.plan.life);
                drop(recorder);
                self.play(now, session);
            }
            Err(error) => {
                self.give_up(now, &error);
                // The next attempt may fail too.
                self.take_back_us = now.page_us + TAKE_BACK_US;
            }
        }
    }

    fn come_back_hosted(&mut self, now: Now, world: W, back: &Return) {
        let mut changes = back.changes.iter();
        if let Some(change) = changes.rfind(|change| change.seat == self.plan.seat) {
            (self.plays_from, self.plan.life) = (change.tick, change.life);
        }
        let (first, life) = (self.plays_from, self.plan.life);
        self.recorder.lock().begin_at(first, life);
        self.begin_hosted(now, world, back.t0_us, back.tick);
    }

    /// The world, if it waits for the start.
    fn take_world(&mut self) -> Option<W> {
        match std::mem::replace(&mut self.stage, Stage::Stopped) {
            Stage::Linking(world, _) => Some(world),
            stage => {
                self.stage = stage;
                None
            }
        }
    }

    fn play(&mut self, now: Now, session: Session<W>) {
        self.t0_us = session.config().t0_us;
        self.may_upload = self.net.is_connected();
        // Nobody sends before tick 0 is due.
        self.net
            .listen_from(now.page_us.max(now.page_us_of(self.t0_us)));
        if self.is_hidden {
            // Nobody listened before.
            self.tell_hidden();
            self.person
                .record_hidden(&mut self.recorder.lock(), session.current());
        }
        self.stage = Stage::Playing(Box::new(session));
        self.begin_handed_over(now);
    }

    fn config(&self, t0_us: u64, input_delay: u8) -> Config {
        Config {
            era: self.plan.era,
            local: Some(self.plan.seat),
            controllers: self.plan.controllers.clone(),
            seed: self.plan.seed,
            tick_hz: self.plan.tick_hz,
            input_delay,
            window: self.plan.window,
            t0_us,
            rules: self.plan.rules.clone(),
        }
    }

    /// Handles that the connection is back; the server takes uploads from the end of its records.
    pub(super) fn handle_running(
        &mut self,
        now: Now,
        through: Tick,
        own: Tick,
        changes: &[Change],
    ) {
        if !matches!(self.stage, Stage::Playing(_) | Stage::Hosted(_)) {
            return;
        }
        self.recorder.lock().resume(own);
        self.may_upload = true;
        changes
            .iter()
            .for_each(|change| self.handle_change(now, change));
        // Only now: no change comes before final ticks, and these changes may not have been known.
        if let Some(session) = self.session_mut() {
            session.handle_durable(through, Tick(0));
        }
    }

    /// Applies a change of a seat. After a lost connection, all changes arrive again: a known change has no effect.
    pub(super) fn handle_change(&mut self, now: Now, change: &Change) {
        let Stage::Playing(session) = &mut self.stage else {
            return self.change_hosted(now, change);
        };
        if change.number < session.changes() {
            return;
        }
        let partner = match partner(&self.partners, &change.controller, session.world().spec()) {
            Ok(partner) => partner,
            Err(message) => return self.stop(message),
        };
        let first = change.tick.0.saturating_sub(change.inputs.len() as u32);
        if change.seat.index() < self.plan.controllers.len() {
            let before = session.life(change.seat);
            self.seals
                .compare(change.seat, before, Tick(first), &change.inputs);
        }
        match session.handle_change(now.server_us, change, partner) {
            Ok(()) => self.seat_changes(now, change),
            // The message with the missing change is on the way.
            Err(ChangeError::Order { .. }) => {}
            Err(error) => self.give_up(now, &error),
        }
    }

    /// Gives this state up, because it does not fit the server's: the seat continues from the server's state.
    fn give_up(&mut self, now: Now, error: &dyn std::error::Error) {
        let message = error.to_string();
        self.net.send_to_server(ClientMessage::Trouble { message });
        self.handle_seat_lost(now);
    }

    /// The page of a seat is another one, or none.
    fn seat_changes(&mut self, now: Now, change: &Change) {
        if change.seat == self.plan.seat {
            return;
        }
        match change.controller {
            Controller::Human => self.net.handle_seat_given(now.page_us, change.seat),
            Controller::Ai { .. } | Controller::Vacant => {
                self.net.handle_seat_taken(now.page_us, change.seat);
            }
        }
    }

    /// Handles that somebody else has this page's seat: the page stops to simulate, reports what it saw, and asks for
    /// the seat.
    pub fn handle_seat_lost(&mut self, now: Now) {
        let mut recorder = self.recorder.lock();
        if let Some(tick) = self.shown_tick() {
            self.person.record_over(&mut recorder, tick);
        }
        // While the seat was being taken, and until the connection was back, nothing was heard of this page.
        recorder.resume(Tick(0));
        drop(recorder);
        self.may_upload = true;
        self.flush(now);
        self.stage = Stage::Lost;
        self.held_us = None;
        self.take_back_us = now.page_us;
    }

    /// Asks for the lost seat, once the person can play.
    pub(super) fn take_back(&mut self, now: Now) {
        if now.page_us >= self.take_back_us && self.net.is_connected() && !self.is_hidden {
            self.take_back_us = now.page_us + TAKE_BACK_US;
            let era = self.plan.era;
            self.net.send_to_server(ClientMessage::TakeBack { era });
        }
    }
}

/// Returns the policy that plays a seat inside the simulation; `None` for a person or a vacant seat.
fn partner(
    partners: &Partners,
    controller: &Controller,
    spec: &Spec,
) -> Result<Option<Box<dyn Policy>>, String> {
    match controller {
        Controller::Human | Controller::Vacant => Ok(None),
        Controller::Ai { policy } => partners
            .open(policy, spec)
            .map(Some)
            .ok_or_else(|| format!("there is no policy {policy} here")),
    }
}
