//! The longest times that things may take once nothing goes wrong any more, by the promises of protocol, server and
//! page.

use std::time::Duration;

use client_core::OUTCOME_US;
use client_core::connection::PAUSES_US;
use protocol::control::SILENT_MS;

use crate::network_conditions::End;
use crate::scenario::{Fault, Scenario};
use crate::server;

/// The longest that a module takes to load, microseconds.
pub const LOADS_WITHIN_US: u64 = 1_200_000;
/// Within what time the server's pings find that a machine is gone, microseconds: the least and the most.
pub const MISSED_WITHIN_US: [u64; 2] = [15_000_000, 20_000_000];
/// The time that a lobby waits before it calls AI partners, microseconds.
const LOBBY_US: u64 = 5_000_000;

impl Fault {
    /// Returns its duration, microseconds; 0 for faults that are immediate, or permanent.
    fn lasts_us(self) -> u64 {
        match self {
            Self::Reload { away_us, .. } | Self::Restart { away_us } => away_us,
            Self::Crash { away_us, .. } => away_us.unwrap_or(0),
            Self::Freeze { for_us, .. } | Self::Hide { for_us, .. } => for_us,
            Self::SecondTab { .. }
            | Self::DropSocket { .. }
            | Self::DropChannels { .. }
            | Self::Leave { .. } => 0,
        }
    }
}

impl Scenario {
    /// From when on nothing is wrong any more, microseconds.
    pub fn calm_us(&self) -> u64 {
        let faults = self.faults.iter();
        let ends = faults.map(|(at_us, fault)| at_us + fault.lasts_us());
        ends.fold(self.heals_us, u64::max)
    }

    /// The longest that a packet goes from one person to another and back, by whatever way, microseconds.
    fn rtt_us(&self) -> u64 {
        let slowest = |between: fn(&(End, End)) -> bool| {
            let ways = self.ways.iter().filter(|(ends, _)| between(ends));
            let longest = ways.map(|(_, way)| way.delay_us + way.jitter_us).max();
            longest.unwrap_or(0)
        };
        let direct_us = slowest(|(from, to)| *from != End::Server && *to != End::Server);
        let server_us = slowest(|(from, to)| *from == End::Server || *to == End::Server);
        (2 * direct_us).max(4 * server_us)
    }

    /// The longest time that a page which is connected, in sight and awake may confirm nothing.
    ///
    /// If somebody is missed, the server learns it after `SILENT_MS` and believes it after
    /// `Limits::no_progress_page_gone_after` at the latest. Then everybody needs a round trip. With `meanwhile: hold`,
    /// they first wait for as long as the study grants.
    pub fn moves_within_us(&self) -> u64 {
        let limits = server::test_limits();
        let noticed_us = u64::from(SILENT_MS) * 1_000 + us(limits.no_progress_page_gone_after);
        let cut_us = 2 * self.rtt_us();
        let held_us = match self.terms.meanwhile {
            "hold" => u64::from(self.terms.grace_s) * 1_000_000,
            _ => 0,
        };
        self.terms.choice_us()
            + noticed_us
            + cut_us
            + held_us
            + self.unnoticed_us()
            + self.restarting_us()
    }

    /// A machine that dies without a farewell just after its page has said that it does not hear another: the server
    /// takes that for a broken network between the two, and finds out by its pings.
    fn unnoticed_us(&self) -> u64 {
        let dies = |fault: &Fault| matches!(fault, Fault::Crash { told: false, .. });
        match self.faults.iter().any(|(_, fault)| dies(fault)) {
            true => MISSED_WITHIN_US[1],
            false => 0,
        }
    }

    /// The time after a restart: pages come back when their pause is over. With `meanwhile: hold`, the server waits for
    /// missing pages as long as it grants: it cannot know how long they have been away.
    fn restarting_us(&self) -> u64 {
        let restarts = |fault: &Fault| matches!(fault, Fault::Restart { .. });
        if !self.faults.iter().any(|(_, fault)| restarts(fault)) {
            return 0;
        }
        let held_us = match self.terms.meanwhile {
            "hold" => us(server::test_limits().restart),
            _ => 0,
        };
        PAUSES_US[PAUSES_US.len() - 1] * 5 / 4 + held_us
    }

    /// The longest time until everybody is at the end of the study. Each round has the lobby, the time to get ready,
    /// the countdown, and an episode in which a slow machine sets the pace or every window waits for a round trip. It
    /// also has the time that an episode may stand still, including missing people and the archive's end; then its
    /// outcome is read.
    pub fn ends_within_us(&self) -> u64 {
        let (limits, terms) = (server::test_limits(), &self.terms);
        let windows = u64::from(terms.horizon) / u64::from(terms.window) + 1;
        let played_us = terms.playing_us() * 130 / 100 + windows * self.rtt_us();
        let begun_us = LOBBY_US + us(limits.ready) + us(limits.countdown);
        let stands_us =
            self.moves_within_us() + us(limits.restart) + us(limits.final_upload_window);
        // A rest of two seconds at most, and a wait for somebody after it.
        let rested_us = if terms.rests { 2_000_000 } else { 0 } + 5_000_000;
        let each_us = begun_us + played_us + stands_us + rested_us + OUTCOME_US;
        u64::from(terms.rounds) * (u64::from(terms.episodes) * each_us + terms.pages.lasts_us())
    }
}

fn us(time: Duration) -> u64 {
    time.as_micros() as u64
}
