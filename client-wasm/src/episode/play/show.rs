//! The display of an episode: the picture, the figures, and the state in words.

use client_core::{Now, Status};
use env_core::World;
use protocol::control::{Link, Plan};
use protocol::rules::Gauge;
use protocol::{Controller, Tick};
use rollback::Live;

use super::{EpisodePeer, Play};
use crate::episode::partners::PartnerNotice;
use crate::episode::screen::{Badge, Veil};
use crate::messages;
use crate::shell::dom;

/// The time after which the person sees that the world holds, microseconds.
const HOLD_US: u64 = 300_000;
/// The time of the picture from one turn to the next, microseconds.
const TURN_US: u64 = 120_000;
/// The time for which a person is welcomed back, microseconds.
const BACK_US: u64 = 4_000_000;

impl Play {
    /// Redraws the picture if its content has changed: the next tick as far as it is known, by the time it is due.
    pub(crate) fn update_picture(&mut self, peer: &mut EpisodePeer, now: Now) {
        let Some(view) = &mut self.view else { return };
        let session = peer.session();
        let hosted = peer.shown_view();
        // When a page comes back, the world is not in its first state; and nothing is known about a host's world before
        // a view.
        let is_unknown = match peer.is_hosted() {
            true => hosted.is_none_or(|shown| shown.views == 0),
            false => session.is_none() && peer.plan().running,
        };
        if is_unknown {
            return;
        }
        // The first turn answers the first state, which is therefore noted as shown; else the first tick is on its way.
        let turns = peer.plan().rules.turns;
        let shown = match hosted {
            Some(shown) => (turns, shown.tick, shown.views),
            None => session.map_or((false, Tick(0), 0), |s| {
                (turns, s.current(), s.stats().rollbacks)
            }),
        };
        let period_us = 1_000_000 / u64::from(peer.plan().tick_hz.max(1));
        let of_host = hosted.map(|_| match turns {
            true => now.page_us + TURN_US,
            // The next view is due then.
            false => now.page_us + period_us.min(TURN_US),
        });
        let due_us = of_host.unwrap_or_else(|| {
            session.map_or(now.page_us, |s| match s.config().rules.turns {
                true => now.page_us + TURN_US,
                false => {
                    (s.poll_timeout()).map_or(now.page_us, |(due_us, _)| now.page_us_of(due_us))
                }
            })
        });
        if self.pictured == Some(shown) {
            // What changed within the pause between two descriptions is told after it.
            return self.describe(peer, now);
        }
        let mut live = None;
        let (tick_hz, seat) = (peer.plan().tick_hz, peer.plan().seat.index());
        peer.view(|world| {
            world.draw(Some(seat), view.list_mut());
            live = Some(Live::of(world, shown.1.0, tick_hz));
        });
        // A page that has lost its seat keeps the picture that it had.
        let Some(live) = live else { return };
        self.pictured = Some(shown);
        let now_ms = now.page_us as f64 / 1_000.0;
        view.aim_picture(now_ms, due_us as f64 / 1_000.0);
        self.screen.show_figures(&figures(peer.plan(), live));
        self.describe(peer, now);
    }

    /// Tells in words what the picture shows, unless that was told.
    fn describe(&mut self, peer: &mut EpisodePeer, now: Now) {
        if self.described == self.pictured
            || !self.screen.may_describe(now.page_us as f64 / 1_000.0)
        {
            return;
        }
        self.described = self.pictured;
        let (mut words, seat) = (String::new(), peer.plan().seat.index());
        match peer.session_mut() {
            Some(session) => session.world().describe(seat, &mut words),
            None => peer.view(|world| world.describe(seat, &mut words)),
        }
        self.screen.describe_world(&words);
    }

    /// Shows where things stand around the world.
    pub(crate) fn show_state(&mut self, peer: &mut EpisodePeer, now: Now, is_connected: bool) {
        let status = peer.status(now);
        let mut is_missing = false;
        self.show_screen(peer, &status);
        self.show_seat(peer);
        match &status {
            Status::Over(verdict) => {
                self.screen.show_notices(&[]);
                self.screen.show_badge(Badge::None);
                if self.is_left {
                    return self.veil(messages::current_words().one_moment);
                }
                let sentence = messages::say_outcome(verdict.reason, verdict.score);
                return self.screen.show_outcome(&self.inbox, &sentence);
            }
            Status::Loading => {
                let words = messages::current_words().loading;
                match self.arrived {
                    Some(part) => self.veil(&format!("{words} {:.0} %", part * 100.0)),
                    None => self.veil(words),
                }
            }
            // Only pages of people connect, and wait for each other.
            Status::Linking | Status::Ready if !peer.plan().disclose_ai => {
                self.veil(messages::current_words().loading)
            }
            Status::Linking => self.veil(messages::current_words().linking),
            Status::Ready if is_alone(peer) => self.veil(messages::current_words().loading),
            Status::Ready => self.veil(messages::current_words().ready),
            Status::Returning | Status::Lost => self.show_return(peer, now),
            Status::Stopped => self.veil(messages::current_words().stopped),
            Status::Finished => self.veil(messages::current_words().finished),
            Status::Held { since_us, seats } => {
                is_missing = !seats.is_empty();
                if now.page_us > since_us + HOLD_US {
                    let why = self.partners.waiting_for(now.page_us, seats, is_connected);
                    self.screen
                        .show_overlay(Veil::Dark, &why.sentence, why.left_s);
                } else {
                    self.screen.show_overlay(Veil::None, "", None);
                }
            }
            Status::Playing => self.show_countdown(peer, now),
        }
        self.show_news(peer, now, &status);
        self.screen.show_badge(match peer.link() {
            _ if !is_connected => Badge::Unsaved,
            // An AI partner is never connected.
            _ if !peer.plan().disclose_ai => Badge::None,
            None => Badge::None,
            _ if matches!(status, Status::Loading | Status::Linking) => Badge::None,
            Some(_) if is_missing => Badge::Lost,
            Some(Link::Direct) => Badge::Direct,
            Some(Link::Relay) => Badge::Relay,
        });
    }

    /// Asks for the whole screen where the study does and the page has it not, and notes whether it has.
    fn show_screen(&mut self, peer: &mut EpisodePeer, status: &Status) {
        let (is_whole, can_be) = dom::read_screen();
        let wants = peer.plan().fullscreen;
        if wants {
            peer.handle_screen(is_whole);
        }
        let is_over = matches!(status, Status::Over(_) | Status::Finished | Status::Stopped);
        let runs = peer.shown_tick() > Some(Tick(0));
        self.screen
            .ask_for_screen(wants && can_be && !is_whole && !is_over, runs);
    }

    fn veil(&mut self, sentence: &str) {
        self.screen.show_overlay(Veil::Dark, sentence, None);
    }

    /// Shows the return into the episode: the world is visible as soon as it is there.
    fn show_return(&mut self, peer: &mut EpisodePeer, now: Now) {
        let left_s = until_own_s(peer, now);
        let veil = match left_s {
            Some(_) => Veil::Light,
            None => Veil::Dark,
        };
        self.screen
            .show_overlay(veil, messages::current_words().coming_back, left_s);
    }

    /// Shows good and bad news while the world continues.
    fn show_news(&mut self, peer: &mut EpisodePeer, now: Now, status: &Status) {
        if !self.is_back && *status == Status::Playing {
            self.is_back = true;
            self.returns += 1;
            self.back_until_us = now.page_us + BACK_US;
        }
        let mut lines = Vec::new();
        if now.page_us < self.back_until_us {
            let sentence = self.partners.welcome_back().to_owned();
            lines.push(PartnerNotice {
                sentence,
                left_s: None,
            });
        }
        let has_begun = peer.t0_us().is_some_and(|t0_us| t0_us <= now.server_us);
        if *status == Status::Playing && peer.plan().rules.turns && has_begun {
            let words = messages::current_words();
            let (sentence, left_us) = match peer.is_own_turn() {
                true => (words.your_move, peer.turn_left_us(now)),
                false => (words.others_move, None),
            };
            lines.push(PartnerNotice {
                sentence: sentence.to_owned(),
                left_s: left_us.map(|left_us| left_us.div_ceil(1_000_000)),
            });
        }
        // A veil itself says for whom it waits.
        if *status == Status::Playing {
            lines.extend(self.partners.lines(now.page_us));
        }
        self.screen.show_notices(&lines);
    }

    /// Counts down to the first tick: the number of seconds in the study, or three.
    fn show_countdown(&mut self, peer: &mut EpisodePeer, now: Now) {
        let counted = u64::from(peer.plan().countdown_s.unwrap_or(3));
        match until_start_s(peer, now) {
            0 => self.screen.show_overlay(Veil::None, "", None),
            left_s if left_s > counted && !peer.plan().disclose_ai => {
                self.veil(messages::current_words().loading)
            }
            left_s if left_s > counted => self.veil(messages::current_words().get_ready),
            left_s => self.screen.show_overlay(
                Veil::Dark,
                messages::current_words().get_ready,
                Some(left_s),
            ),
        }
    }
}

/// Whole seconds until tick 0 is due.
fn until_start_s(peer: &EpisodePeer, now: Now) -> u64 {
    let t0_us = peer.t0_us().unwrap_or(0);
    t0_us.saturating_sub(now.server_us).div_ceil(1_000_000)
}

/// Returns the whole seconds until the person plays again; `None` while that is not known.
fn until_own_s(peer: &EpisodePeer, now: Now) -> Option<u64> {
    let session = peer.session()?;
    let ticks = peer.plays_from().0.saturating_sub(session.current().0);
    let left_us = u64::from(ticks) * 1_000_000 / u64::from(session.config().tick_hz);
    let is_due = |(due_us, _): (u64, &str)| due_us <= now.server_us;
    let waits = !session.poll_timeout().is_some_and(is_due);
    waits.then(|| left_us.div_ceil(1_000_000))
}

/// Returns the figures beside the picture: those of the study, or else the round if there are several, the score, and
/// the time left if the episode runs by the clock.
fn figures(plan: &Plan, live: Live) -> Vec<(String, String)> {
    let of_study = |gauge: &Gauge| (gauge.label.clone(), gauge.value.render(&live));
    if !plan.hud.is_empty() {
        return plan.hud.iter().map(of_study).collect();
    }
    let (round, rounds) = plan.round;
    let left_ms = u64::from(live.horizon.saturating_sub(live.ticks)) * 1_000;
    let left = messages::format_clock(left_ms / u64::from(live.tick_hz));
    let own = [
        (rounds > 1).then(|| {
            let of = messages::say_round(round + 1, rounds);
            (messages::current_words().round, of)
        }),
        Some((messages::current_words().score, live.score.to_string())),
        (!plan.rules.turns).then_some((messages::current_words().time, left)),
    ];
    let own = own.into_iter().flatten();
    own.map(|(label, value)| (label.to_owned(), value))
        .collect()
}

/// True if no other person plays.
fn is_alone(peer: &EpisodePeer) -> bool {
    let controllers = peer.plan().controllers.iter();
    controllers.filter(|of| **of == Controller::Human).count() < 2
}
