//! Seats that people share with AI partners: who decided, stretch by stretch, and the proposals.

use std::collections::BTreeSet;

use env_core::Action;
use env_core::shared::count_own_actions;
use protocol::change::Change;
use protocol::log::{Log, Record};
use protocol::rules::{SharedSeats, SharingMode};
use protocol::{Controller, Seat, Tick};

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, SimulatedEpisode, Step, controller_name};
use super::table::{EpisodeKeys, Table};

row! {
    /// One row per stretch of ticks of a shared seat in which the same one decided.
    struct SeatControlRow<'a> {
        /// The first tick of the stretch.
        tick: u32,
        /// The first tick after it.
        until_tick: u32,
        /// The controller that decided: `human`, `vacant` (nobody), or the policy of the AI partner, as in `steps`.
        controller: &'a str,
        /// True if an AI partner decided.
        is_bot: bool,
        /// The reason of the change. `start`: the episode begins. `handed_over` and `taken_back`: by the person.
        /// `override`: the person corrects the partner, until `override_end`. `proposal`: the person chose this
        /// partner's proposal. `no_choice`: it was not the person's turn, or time was up. `left`: the person lost the
        /// seat, until `returned`.
        reason: &'static str,
    }
}

row! {
    /// One row per decision in which an AI partner of a shared seat wanted something and the person chose: each turn of a
    /// stage with proposals, and each tick in which the person corrected the partner.
    struct ProposalRow<'a> {
        /// The tick of the decision.
        tick: u32,
        /// The number of the partner, from 1, in the order of the study file.
        number: usize,
        /// The policy of the partner.
        policy: &'a str,
        /// The action that it proposed.
        proposed: u16,
        /// Its name.
        proposed_name: &'a str,
        /// The action that the seat took.
        action: u16,
        /// Its name.
        action_name: &'a str,
        /// True if the person chose this partner's proposal.
        is_chosen: bool,
    }
}

/// The one that decided in a tick of a shared seat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decider<'a> {
    /// The person, who had the seat.
    Person,
    /// The person, while the partner had the seat.
    Correction,
    /// The partner with whom the person shares the seat, by its number from 0.
    Partner(usize),
    /// The controller of a seat that the person does not have.
    Other(&'a Controller),
}

/// The tables of shared seats.
pub(super) struct SeatControlTables {
    control: Table,
    proposals: Table,
}

impl SeatControlTables {
    pub(super) fn create(output: &Output) -> anyhow::Result<Self> {
        Ok(Self {
            control: Table::create::<(EpisodeKeys<'_>, SeatControlRow<'_>)>(
                output,
                "seat_control",
            )?,
            proposals: Table::create::<(EpisodeKeys<'_>, ProposalRow<'_>)>(output, "proposals")?,
        })
    }

    fn add_seat(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        shared: &SharedSeats,
        seat: Seat,
    ) -> anyhow::Result<()> {
        let changes: Vec<Change> = episode.log.changes().cloned().collect();
        let steps = episode.steps.iter().filter(|step| step.seat == seat);
        let steps: Vec<&Step> = steps.collect();
        let deciders = list_deciders(episode, &changes, &steps);
        let mut stretches: Vec<SeatControlRow<'_>> = Vec::new();
        let mut before = None;
        for (step, now) in steps.iter().zip(&deciders) {
            let (tick, until_tick) = (step.tick.0, step.tick.0 + 1);
            match stretches.last_mut() {
                Some(last) if before == Some(*now) => last.until_tick = until_tick,
                _ => {
                    let reason = before.map_or("start", |before| reason(before, *now, shared.mode));
                    stretches.push(stretch(*now, shared, (tick, until_tick, reason)));
                }
            }
            before = Some(*now);
        }
        for row in stretches {
            self.control.add(&(episode.keys(seat), row))?;
        }
        let is_decision = |decider: &Decider<'_>| match shared.mode {
            SharingMode::Handover => false,
            SharingMode::Override => *decider == Decider::Correction,
            SharingMode::Choose => matches!(decider, Decider::Partner(_)),
        };
        let decisions = steps.iter().zip(&deciders);
        let mut decisions = decisions.filter(|(_, decider)| is_decision(decider));
        decisions.try_for_each(|(step, _)| {
            let mut proposals = step.proposals.iter().enumerate();
            proposals.try_for_each(|(at, proposed)| {
                let row = proposal(episode, shared, step, (at, *proposed));
                self.proposals.add(&(episode.keys(seat), row))
            })
        })
    }
}

/// The deciders of a seat's steps.
fn list_deciders<'a>(
    episode: &'a SimulatedEpisode<'_>,
    changes: &'a [Change],
    steps: &[&Step],
) -> Vec<Decider<'a>> {
    let header = &episode.log.header;
    let mark = count_own_actions(&episode.spec) as Action;
    let pressed = list_presses(&episode.log, steps.first().map(|step| step.seat), mark);
    let (mut is_given, mut was_own) = (false, false);
    let decider = |step: &&Step| {
        let controller = archive::controller_at(header, changes, step.seat, step.tick);
        let is_person = *controller == Controller::Human;
        // Pages begin as the study says, including pages that come back.
        let begins = is_person && !was_own;
        was_own = is_person;
        match (is_person, step.partner) {
            (false, _) => Decider::Other(controller),
            (true, Some(partner)) => {
                is_given = true;
                Decider::Partner(partner)
            }
            (true, None) => {
                is_given &= !begins && !pressed.contains(&step.tick);
                if is_given {
                    Decider::Correction
                } else {
                    Decider::Person
                }
            }
        }
    };
    let mut deciders: Vec<_> = steps.iter().map(decider).collect();
    // The ticks of the input delay come before anything that a person could say.
    let delay = usize::from(header.input_delay);
    if let Some(first) = deciders.get(delay).copied() {
        deciders[..delay].fill(first);
    }
    deciders
}

/// The ticks that presses of the key of a mark have entered, as the page noted.
fn list_presses(log: &Log, seat: Option<Seat>, mark: Action) -> BTreeSet<Tick> {
    let notes = log.records.iter().filter_map(|record| match record {
        Record::Timing {
            seat: of, timing, ..
        } if Some(*of) == seat => Some(&timing.keys),
        _ => None,
    });
    let keys = notes.flatten();
    keys.filter(|key| key.down && key.action == mark)
        .filter_map(|key| key.tick)
        .collect()
}

fn stretch<'a>(
    now: Decider<'a>,
    shared: &'a SharedSeats,
    (tick, until_tick, reason): (u32, u32, &'static str),
) -> SeatControlRow<'a> {
    let (controller, is_bot) = match now {
        Decider::Person | Decider::Correction => (controller_name(&Controller::Human), false),
        Decider::Partner(at) => (shared.policies.get(at).map_or("", String::as_str), true),
        Decider::Other(other) => (
            controller_name(other),
            matches!(other, Controller::Ai { .. }),
        ),
    };
    SeatControlRow {
        tick,
        until_tick,
        controller,
        is_bot,
        reason,
    }
}

fn reason(before: Decider<'_>, now: Decider<'_>, mode: SharingMode) -> &'static str {
    let chooses = mode == SharingMode::Choose;
    match (before, now) {
        (_, Decider::Other(_)) => "left",
        (Decider::Other(_), _) => "returned",
        (_, Decider::Partner(_)) if chooses => "proposal",
        (_, Decider::Person | Decider::Correction) if chooses => "no_choice",
        (Decider::Correction, Decider::Partner(_)) => "override_end",
        (_, Decider::Partner(_)) => "handed_over",
        (_, Decider::Correction) => "override",
        (_, Decider::Person) => "taken_back",
    }
}

fn proposal<'a>(
    episode: &'a SimulatedEpisode<'_>,
    shared: &'a SharedSeats,
    step: &Step,
    (at, proposed): (usize, Action),
) -> ProposalRow<'a> {
    let name = |action: Action| {
        let of = episode.spec.actions.get(usize::from(action));
        of.map_or("", |of| of.name.as_str())
    };
    ProposalRow {
        tick: step.tick.0,
        number: at + 1,
        policy: shared.policies.get(at).map_or("", String::as_str),
        proposed,
        proposed_name: name(proposed),
        action: step.action,
        action_name: name(step.action),
        is_chosen: step.partner == Some(at),
    }
}

impl EpisodeTable for SeatControlTables {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        _: &mut ExportReport,
    ) -> anyhow::Result<()> {
        let header = &episode.log.header;
        let Some(shared) = &header.shared else {
            return Ok(());
        };
        let seats = SharedSeats::list_seats(&header.controllers).into_iter();
        let mut seats = seats.map(|seat| Seat(seat as u8));
        seats.try_for_each(|seat| match episode.left_out.contains(&seat) {
            true => Ok(()),
            false => self.add_seat(episode, shared, seat),
        })
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        for table in [self.control, self.proposals] {
            report.tables.push(table.finish()?);
        }
        Ok(())
    }
}
