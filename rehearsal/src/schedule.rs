//! The people of a rehearsal and what happens to its server: who arrives when, with which fault, and when it is killed.
//!
//! The same seed has the same people, faults and deaths, however the rehearsal is run.

use std::sync::Arc;

use study::Study;
use study::assign::Rng;

use super::agent::Agent;
use super::bot::Ticket;
use super::browser;
use super::entry::EntryWay;
use super::fault::Fault;
use super::options::RehearsalOptions;
use super::record::Shared;

/// A second, microseconds.
const S: u64 = 1_000_000;

/// Stream of random numbers for the rehearsal itself.
const OF_REHEARSAL: u64 = 1;

/// Stream of random numbers for each session.
const OF_SESSION: u64 = 2;

/// The time after the last arrival in which the server may still be killed, seconds.
const KILLS_AFTER_S: u64 = 90;

/// The people of a rehearsal, and the deaths of its server.
pub(super) struct Schedule {
    /// The participants, in the order of their arrival.
    pub(super) tickets: Vec<Ticket>,
    /// When the server is killed, the last time first, microseconds.
    pub(super) kills_us: Vec<u64>,
}

impl Schedule {
    /// Draws it; people arrive from `began_us` on, by `links` if the study has them.
    pub(super) fn new(
        options: &RehearsalOptions,
        study: &Study,
        links: &[String],
        began_us: u64,
    ) -> Self {
        let mut rng = Rng::of(options.seed, &[OF_REHEARSAL]);
        let tickets = tickets(options, study, links, began_us, &mut rng);
        let last_us = tickets.last().map_or(began_us, |ticket| ticket.arrives_us);
        let span_s = (last_us - began_us) / S + KILLS_AFTER_S;
        let kills = options
            .faults
            .includes_fault(Fault::Server)
            .then_some(options.kills);
        let mut kills_us: Vec<u64> = (0..kills.unwrap_or(0))
            .map(|_| began_us + rng.draw_below((span_s * S) as usize) as u64)
            .collect();
        kills_us.sort_unstable_by(|one, other| other.cmp(one));
        Self { tickets, kills_us }
    }

    /// Gives the sessions to agents, one after the other; without agents, people keep them.
    pub(super) fn give_to(&mut self, agents: &[Arc<Agent>]) {
        let agents = agents.iter().cycle();
        for (ticket, agent) in self.tickets.iter_mut().zip(agents) {
            ticket.agent = Some(Arc::clone(agent));
        }
    }

    /// The key of each session in the data, and its record.
    pub(super) fn sessions(&self) -> Vec<(String, Shared)> {
        let sessions = self.tickets.iter();
        let sessions = sessions.map(|ticket| (ticket.way.key(), ticket.record.clone()));
        sessions.collect()
    }
}

/// The arrival of each person, and the fault of each.
fn tickets(
    options: &RehearsalOptions,
    study: &Study,
    links: &[String],
    began_us: u64,
    rng: &mut Rng,
) -> Vec<Ticket> {
    let scripts = options.faults.draw_scripts(study, options.sessions, rng);
    let mean_us = 60e6 / options.arrivals_per_min;
    let mut at_us = began_us;
    let ticket = |(number, fault): (usize, Option<Fault>)| {
        // Source: arrivals of a Poisson process have exponential gaps.
        let even = (rng.draw_bits() >> 11) as f64 / (1_u64 << 53) as f64;
        at_us += (-(1.0 - even).ln() * mean_us) as u64;
        let is_real = number < options.browsers;
        let fault = fault.filter(|fault| !is_real || browser::can_have(*fault));
        Some(Ticket {
            rng: Rng::of(options.seed, &[OF_SESSION, number as u64]),
            way: EntryWay::of(study, number, links.get(number))?,
            arrives_us: at_us,
            fault,
            agent: None,
            record: Shared::new(number, is_real, fault),
        })
    };
    scripts.into_iter().enumerate().filter_map(ticket).collect()
}
