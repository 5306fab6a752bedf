//! Hosted worlds: when the archive steps one, and which pages get a view of it.
//!
//! The world follows the server's clock. A page gets the newest view, and only as many views as it takes: the number
//! under way to a slow page never grows. It must not know what a world is.

use std::collections::VecDeque;

use protocol::control::{EndReason, ServerMessage};
use protocol::{EnvWay, Era, Seat};
use study::StageKind;
use study::stage::Env;

use super::episode::{EpisodeState, Phase, Play};
use super::seats::{Page, Seats};
use super::{Arbiter, Effect, HostWork, HostedReport, PointOrder, SessionId, ViewOrder, Work};

/// Everything is durable so much later at the latest, microseconds.
const FLUSH_US: u64 = 250_000;
/// Ticks that are late by more than this are not made up for, microseconds.
const LATE_US: u64 = 100_000;
/// Time that views may wait on their way beyond what the fastest took, microseconds.
const QUEUE_US: u64 = 100_000;
/// The most views that are under way to a page.
const MAX_UNDER_WAY: u64 = 60;

/// The ticks over which it is found that a world is too slow, microseconds at its own pace.
const LOAD_US: u64 = 5_000_000;

/// The most questions of a page about points that wait for an answer; older ones get none.
const MAX_POINTS: usize = 8;

/// The pace of a hosted world, and the pages that look at it.
#[derive(Debug)]
pub(super) struct Hosting {
    turns: bool,
    period_us: u64,
    /// The time at which the next tick is due, server clock, microseconds; 0 if none was played since a restart.
    due_us: u64,
    /// True while the archive has work.
    is_busy: bool,
    /// True if somebody may have chosen since it was stepped.
    is_asked: bool,
    is_over: bool,
    /// The time at which the latest inputs must become durable.
    flush_us: Option<u64>,
    audience: Vec<Audience>,
    load: StepLoad,
}

/// The time that the steps of a world take, with the views of pages.
#[derive(Debug, Default)]
struct StepLoad {
    /// True while the world makes a step.
    is_stepping: bool,
    steps: u64,
    busy_us: u64,
    /// The mean time of a step, once it is much too long, microseconds.
    slow_step_us: Option<u64>,
}

impl StepLoad {
    /// Takes the time of a step, of which `most_us` may pass on average.
    fn finish_step(&mut self, took_us: u64, period_us: u64, most_us: u64) {
        if !std::mem::take(&mut self.is_stepping) {
            return;
        }
        self.steps += 1;
        self.busy_us += took_us;
        if self.steps * period_us >= LOAD_US {
            let mean_us = self.busy_us / self.steps;
            self.slow_step_us = (mean_us > most_us).then_some(mean_us);
            (self.steps, self.busy_us) = (0, 0);
        }
    }
}

/// The page of a seat, as far as views go.
#[derive(Clone, Debug)]
struct Audience {
    /// True if it has no view, or has lost one.
    is_new: bool,
    /// True if there is a newer view than it has.
    is_stale: bool,
    /// Width and height of the picture there, pixels of the screen; 0 if they are not known.
    size: [u16; 2],
    /// The points whose meaning it asks for, and the numbers of the questions.
    points: VecDeque<(u32, [u16; 2])>,
    /// The number of the next view.
    next: u32,
    /// The times at which the views were sent that it has not taken yet, server clock, microseconds.
    under_way: VecDeque<u64>,
    /// The shortest time that a view took, with its answer, microseconds.
    fastest_us: u64,
}

impl Default for Audience {
    fn default() -> Self {
        Self {
            is_new: true,
            is_stale: true,
            size: [0; 2],
            points: VecDeque::new(),
            next: 0,
            under_way: VecDeque::new(),
            fastest_us: QUEUE_US,
        }
    }
}

impl Audience {
    fn has_room(&self, period_us: u64) -> bool {
        let most = (self.fastest_us + QUEUE_US) / period_us.max(1) + 1;
        (self.under_way.len() as u64) < most.clamp(2, MAX_UNDER_WAY)
    }

    /// The number of a view that is sent now.
    fn send(&mut self, now_us: u64) -> u32 {
        if std::mem::take(&mut self.is_new) {
            (self.next, self.is_stale) = (0, false);
            self.under_way.clear();
        }
        self.under_way.push_back(now_us);
        self.next += 1;
        self.next - 1
    }

    /// The page has taken the views up to this one. Since when the oldest is under way that it has not.
    fn take(&mut self, now_us: u64, number: u32) -> Option<u64> {
        let first = self.next - self.under_way.len() as u32;
        for _ in first..=number.min(self.next.saturating_sub(1)) {
            if let Some(sent_us) = self.under_way.pop_front() {
                self.fastest_us = self.fastest_us.min(now_us.saturating_sub(sent_us));
            }
        }
        self.under_way.front().copied()
    }
}

impl Hosting {
    /// The pace of an episode that begins at `due_us`, or, if that is 0, as soon as it may after a restart.
    pub(super) fn new(episode: &EpisodeState, due_us: u64) -> Option<Self> {
        let header = &episode.header;
        (header.way == EnvWay::Host).then(|| Self {
            turns: header.rules.turns,
            period_us: 1_000_000 / u64::from(header.tick_hz.max(1)),
            due_us,
            is_busy: false,
            is_asked: true,
            is_over: false,
            flush_us: None,
            load: StepLoad::default(),
            audience: vec![Audience::default(); header.controllers.len()],
        })
    }

    /// Begins the views of a page that comes to a seat.
    pub(super) fn begin_page(&mut self, seat: Seat) {
        self.audience[seat.index()] = Audience::default();
        self.is_asked = true;
    }

    /// Notes an input that must soon become durable, and that in turns may be a choice.
    pub(super) fn note_input(&mut self, now_us: u64) {
        self.flush_us.get_or_insert(now_us + FLUSH_US);
        self.is_asked = true;
    }

    /// True if the world may continue: it waits for nobody.
    fn may_step(&self, seats: &Seats) -> bool {
        let is_there = |seat| seats.list[Seat::index(seat)].page == Page::Plays;
        let mut playing = seats.playing();
        !self.is_over && seats.playing().next().is_some() && playing.all(is_there)
    }

    /// The work that is due.
    fn poll_work(&mut self, now_us: u64, seats: &Seats) -> Option<HostWork> {
        if self.is_busy {
            return None;
        }
        if let Some(mean_us) = self.load.slow_step_us.take() {
            self.is_busy = true;
            return Some(HostWork {
                slow_step_us: Some(mean_us),
                ..HostWork::default()
            });
        }
        let is_due = now_us >= self.due_us && (self.is_asked || !self.turns);
        let steps = is_due && self.may_step(seats);
        let mut work = HostWork {
            steps,
            flushes: self.flush_us.is_some_and(|at_us| at_us <= now_us),
            ..HostWork::default()
        };
        if steps {
            let is_late = now_us > self.due_us + LATE_US.max(2 * self.period_us);
            if is_late && !self.turns {
                work.paced_us = Some(now_us);
                self.due_us = now_us;
            }
            if !self.turns {
                self.due_us += self.period_us;
            }
            self.is_asked = false;
            self.load.is_stepping = !self.turns;
            self.audience
                .iter_mut()
                .for_each(|page| page.is_stale = true);
            self.flush_us.get_or_insert(now_us + FLUSH_US);
        }
        for (seat, page) in (0..).map(Seat).zip(&mut self.audience) {
            let looks = seats.list[seat.index()].page == Page::Plays;
            if looks && (page.is_new || page.is_stale && page.has_room(self.period_us)) {
                let (is_new, size) = (page.is_new, page.size);
                work.views.push(ViewOrder { seat, is_new, size });
            }
            // A question about a picture that must be sent again waits for the picture.
            if !page.is_new || !looks {
                let asked = page.points.drain(..).filter(|_| looks);
                let order = |(number, at)| PointOrder { seat, number, at };
                work.points.extend(asked.map(order));
            }
        }
        if !work.views.is_empty() {
            self.flush_us.get_or_insert(now_us + FLUSH_US);
        }
        if work.flushes {
            self.flush_us = None;
        }
        (work != HostWork::default()).then(|| {
            self.is_busy = true;
            work
        })
    }

    /// The time at which something is due.
    pub(super) fn poll_timeout(&self, seats: &Seats) -> Option<(u64, &'static str)> {
        if self.is_busy {
            return None;
        }
        let waits = self.turns && !self.is_asked;
        let due = (!waits && self.may_step(seats)).then_some((self.due_us, "tick of a host"));
        let flush = self.flush_us.map(|at_us| (at_us, "choices to store"));
        due.into_iter().chain(flush).min()
    }
}

impl Play {
    /// True if its pages get what they see, not what others do.
    pub(super) fn is_hosted(&self) -> bool {
        self.hosting.is_some()
    }
}

impl Arbiter {
    /// Lets the archive do what is due for a hosted world.
    pub(super) fn settle_hosting(&mut self, now_us: u64, era: Era) {
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        if !play.open {
            return;
        }
        let work = (play.hosting.as_mut()).and_then(|host| host.poll_work(now_us, &play.seats));
        if let Some(mut work) = work {
            let env = self.find_env(era);
            work.tells_rewards = env.is_some_and(Env::shows_rewards);
            work.keeps_observations = env.is_some_and(|env| env.record_observations);
            self.effects
                .push_back(Effect::Archive(era, Work::Host(work)));
        }
    }

    /// The stage of an episode.
    fn find_env(&self, era: Era) -> Option<&Env> {
        let stage = self.episodes.get(era)?.stage;
        match self.stage_kind(stage) {
            StageKind::Env(env) => Some(env),
            _ => None,
        }
    }

    /// A hosted world was stepped or viewed.
    pub(super) fn handle_hosted(&mut self, now_us: u64, era: Era, report: HostedReport) {
        let closing_us = now_us + self.limits.final_upload_window.as_micros() as u64;
        let Some(play) = self.episodes.play_mut(era) else {
            return;
        };
        play.record_through(now_us, report.through);
        let Some(host) = &mut play.hosting else {
            return;
        };
        host.is_busy = false;
        let most_us = match u64::from(self.limits.slow_step_ticks) {
            0 => u64::MAX,
            ticks => ticks * host.period_us,
        };
        host.load
            .finish_step(report.took_us, host.period_us, most_us);
        // One at a time: what is left may have room then. An episode that is over ends as it is.
        if report.over || now_us < self.slow_world_us + LOAD_US {
            host.load.slow_step_us = None;
        } else if host.load.slow_step_us.is_some() {
            self.slow_world_us = now_us;
        }
        if report.failed {
            return self.end_episode(era, EndReason::Technical);
        }
        host.is_over |= report.over;
        if report.over {
            play.closing_us.get_or_insert(closing_us);
        }
        let mut views = Vec::new();
        for (seat, mut view) in report.views {
            let state = &mut play.seats.list[seat.index()];
            let page = &mut host.audience[seat.index()];
            if state.page == Page::Plays {
                view.era = era;
                view.number = page.send(now_us);
                page.is_stale = report.partial.contains(&seat);
                state.lag.since_us.get_or_insert(now_us);
                views.push((seat, view));
            }
        }
        for (state, own) in play.seats.list.iter_mut().zip(report.own) {
            state.own = state.own.max(own);
        }
        for (seat, view) in views {
            self.send_ahead(era, seat, ServerMessage::View(view));
        }
        for (seat, number, action) in report.points {
            let pointed = ServerMessage::Pointed {
                era,
                number,
                action,
            };
            self.send_ahead(era, seat, pointed);
        }
    }

    /// Views wait for no effect, such as a write of the database; neither do meanings of points.
    fn send_ahead(&mut self, era: Era, seat: Seat, message: ServerMessage) {
        let who = self.episodes.session_at(era, seat);
        if let Some(conn) = who.and_then(|who| self.sessions[who].conn) {
            self.relays.push_back((conn, message));
        }
    }

    /// Handles a page's question about a point on its picture.
    pub(super) fn handle_point(&mut self, who: SessionId, era: Era, number: u32, at: [u16; 2]) {
        if let Some((play, seat)) = self.episodes.seat_mut(era, who)
            && let Some(host) = &mut play.hosting
        {
            let points = &mut host.audience[seat.index()].points;
            points.push_back((number, at));
            if points.len() > MAX_POINTS {
                points.pop_front();
            }
        }
    }

    /// Handles that a page has taken a view, or has lost one and asks for a complete view.
    pub(super) fn handle_view_taken(
        &mut self,
        now_us: u64,
        who: SessionId,
        era: Era,
        (number, size): (u32, [u16; 2]),
    ) {
        let Some((play, seat)) = self.episodes.seat_mut(era, who) else {
            return;
        };
        let Some(host) = &mut play.hosting else {
            return;
        };
        let page = &mut host.audience[seat.index()];
        page.size = size;
        match number {
            u32::MAX => page.is_new = true,
            number => play.seats.list[seat.index()].lag.since_us = page.take(now_us, number),
        }
    }
}

impl EpisodeState {
    /// Has a hosted world begin at tick 0, or after a restart.
    pub(super) fn begin_hosting(&mut self, due_us: u64) {
        let hosting = Hosting::new(self, due_us);
        if let Phase::Playing(play) = &mut self.phase {
            play.hosting = hosting;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean time of a step that ends an episode at 10 ticks per second, if one does.
    fn slow_step_us(steps: impl IntoIterator<Item = u64>) -> Option<u64> {
        let mut load = StepLoad::default();
        for took_us in steps {
            load.is_stepping = true;
            load.finish_step(took_us, 100_000, 400_000);
            // Views and flushes between two steps do not count.
            load.finish_step(10_000_000, 100_000, 400_000);
        }
        load.slow_step_us
    }

    #[test]
    fn a_world_whose_steps_take_more_than_four_ticks_is_too_slow() {
        assert_eq!(slow_step_us([410_000; 50]), Some(410_000));
        assert_eq!(slow_step_us([410_000; 49]), None, "it is not known yet");
        assert_eq!(slow_step_us([400_000; 500]), None);
        let once = std::iter::once(10_000_000).chain([100_000; 499]);
        assert_eq!(slow_step_us(once), None, "one long step is none");
    }
}
