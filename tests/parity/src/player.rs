//! One recorded episode, played by an environment of ours.

use anyhow::{Context, Result};
use env_core::Environment;
use env_core::digest::Fnv1a;
use env_core::envs::build_environment;
use env_core::envs::goal_finding::GoalFinding;
use env_core::envs::kitchen::Kitchens;
use env_core::envs::kitchen::params::{First, Second};
use env_core::envs::search_rescue::SearchRescue;
use env_core::grid::random_draws::{MAX_ROLLS, preview_draws};
use env_core::grid::{Grid, State};

use crate::compare::{Check, Tally, bits};
use crate::host::{Episode, Frame, Host};
use crate::recording::{Recorded as Recording, Step};
use crate::translate::{Target, Unsupported, check_types, supported, types};
use crate::world::{self, Recorded};

/// A word that leaves a draw to the generator.
const DRAWN: u32 = u32::MAX;

/// Plays an episode in each mode, and compares every field.
///
/// # Errors
/// [`Unsupported`]; the recording is malformed; the host broke down.
pub(crate) fn play(
    target: &Target,
    recording: &Recording,
    host: &mut dyn Host,
    tally: &mut Tally,
) -> Result<()> {
    match target.id {
        Kitchens::<First>::ID => play_grid(
            build_environment::<Kitchens<First>>,
            target,
            recording,
            host,
            tally,
        ),
        Kitchens::<Second>::ID => play_grid(
            build_environment::<Kitchens<Second>>,
            target,
            recording,
            host,
            tally,
        ),
        GoalFinding::ID => play_grid(
            build_environment::<GoalFinding>,
            target,
            recording,
            host,
            tally,
        ),
        SearchRescue::ID => play_grid(
            build_environment::<SearchRescue>,
            target,
            recording,
            host,
            tally,
        ),
        id => Err(Unsupported(format!("the environment `{id}`")).into()),
    }
}

fn play_grid<W: Recorded, E: std::fmt::Display>(
    build: impl Fn(&[u8]) -> Result<Grid<W, W::Cogrid>, E>,
    target: &Target,
    recording: &Recording,
    host: &mut dyn Host,
    tally: &mut Tally,
) -> Result<()> {
    let grid = supported(build(target.params.as_bytes()))?;
    let kinds = grid.tables().kinds.iter();
    check_types(
        &recording.header,
        &types(kinds.map(|kind| kind.name.as_str())),
    )?;
    let player = Player {
        grid,
        target,
        recording,
    };
    player.play(host, tally)
}

struct Player<'a, W: Recorded> {
    grid: Grid<W, W::Cogrid>,
    target: &'a Target,
    recording: &'a Recording,
}

/// Where the random draws come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Seed,
    Injected,
}

impl<W: Recorded> Player<'_, W> {
    fn play(&self, host: &mut dyn Host, tally: &mut Tally) -> Result<()> {
        let Recording { header, steps } = self.recording;
        for (mode, words) in [
            (Mode::Seed, "from the seed"),
            (Mode::Injected, "with injected draws"),
        ] {
            let frames = host.play(&self.episode(mode)?)?;
            let place = |at: usize| format!("episode {}, step {at}, {words}", header.episode);
            let mut check = Check {
                place: place(0),
                tally,
            };
            check.field("steps", steps.len() + 1, frames.len());
            check.field(
                "obs_dim",
                header.obs_dim,
                self.grid.spec().observation_len(),
            );
            let mut before = None;
            for (at, frame) in frames.iter().enumerate() {
                check.place = place(at);
                let step = at.checked_sub(1).and_then(|at| steps.get(at));
                let state = self.compare(&mut check, frame, step)?;
                if let (Mode::Seed, Some(before), Some(step)) = (mode, &before, step) {
                    self.compare_draws(&mut check, before, step);
                }
                before = Some(state);
            }
        }
        tally.episodes += 1;
        tally.steps += steps.len() as u64;
        Ok(())
    }

    fn episode(&self, mode: Mode) -> Result<Episode> {
        let Recording { header, steps } = self.recording;
        let world = self.grid.world();
        let choice = world.choice(&header.reset);
        let (seed, start) = match mode {
            Mode::Seed => {
                // What CoGrid draws without a seed is the only thing that the record must say.
                let mut state = self.grid.reset(header.seed);
                let said = choice.map(|choice| world.choose(&mut state.extra, choice));
                (header.seed, said.map(|()| state))
            }
            Mode::Injected => {
                let state = world::read(&self.grid, &header.reset)
                    .with_context(|| format!("line {}: field `reset`", header.line))?;
                // Another seed, so that nothing but the injected draws can give the recorded course.
                (!header.seed, Some(state))
            }
        };
        let start = start
            .map(|state| postcard::to_allocvec(&state))
            .transpose()?;
        Ok(Episode {
            environment: self.target.id.into(),
            params: self.target.params.clone(),
            seats: header.agents,
            seed,
            start,
            actions: steps.iter().map(|step| step.actions.clone()).collect(),
            draws: steps.iter().map(|step| self.draws(mode, step)).collect(),
        })
    }

    /// The words to inject before a step.
    fn draws(&self, mode: Mode, step: &Step) -> Vec<u32> {
        let choice = self.grid.world().choice(&step.record);
        let mut words = vec![DRAWN; step.prio.len() + MAX_ROLLS];
        if mode == Mode::Injected {
            words[..step.prio.len()].copy_from_slice(&step.prio);
            let rolls = step.rolls.iter().flatten();
            let no_matter = std::iter::repeat(&0.0);
            for (word, roll) in words[step.prio.len()..]
                .iter_mut()
                .zip(rolls.chain(no_matter))
            {
                *word = roll.to_bits();
            }
        } else if choice.is_none() {
            return Vec::new();
        }
        words.extend(choice);
        words
    }

    fn compare(
        &self,
        check: &mut Check<'_>,
        frame: &Frame,
        step: Option<&Step>,
    ) -> Result<State<W::Extra>> {
        let header = &self.recording.header;
        let record = step.map_or(&header.reset, |step| &step.record);
        let state: State<W::Extra> =
            postcard::from_bytes(&frame.state).context("the state cannot be read back")?;
        check.field(
            "digest",
            Fnv1a::EMPTY.with(&frame.state).value(),
            frame.digest,
        );
        let mut ours = world::show(&self.grid, &state, header);
        for (name, recorded) in world::recorded(record) {
            check.field(&name, Some(recorded), ours.remove(&name));
        }
        for (name, more) in ours {
            check.field(&name, None, Some(more));
        }
        let walls = self.grid.tables().walls;
        let kinds = state.kinds(self.grid.tables()).iter();
        let walls: Vec<u8> = kinds.map(|&kind| walls.has(kind).into()).collect();
        check.field("wall_map", &header.wall_map, &walls);
        check.observations(record, frame);
        if let Some(step) = step {
            check.outcome(header.agents, step, &self.target.common, frame);
            check.field("done", &step.done, &bits(state.done, header.agents));
        }
        Ok(state)
    }

    /// Compares the draws of a step, from the state before it.
    fn compare_draws(&self, check: &mut Check<'_>, before: &State<W::Extra>, step: &Step) {
        let seats = step.prio.len();
        let mut rolls = vec![0.0; self.grid.world().rolls()];
        let (key, ranks) = preview_draws(&before.draws, seats, &mut rolls);
        if let Some(recorded) = step.key {
            check.field("key", recorded, key);
        }
        let ranks: Vec<u32> = ranks[..seats].iter().map(|&rank| rank.into()).collect();
        check.field("prio", &step.prio, &ranks);
        check.field(
            "rolls",
            step.rolls.as_ref(),
            Some(&rolls).filter(|rolls| !rolls.is_empty()),
        );
    }
}
