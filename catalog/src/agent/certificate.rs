//! The parity certificate: a recording from an agent's own Python, played again here and compared number by number.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use env_core::{Action, Spec, World};
use policy::Network;
use protocol::hash::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use study::stage::CERTIFICATE;

use super::places::{check_axes, is_exchanged, name_place};
use super::rules::{Played, check_package, check_recorded, find_played, rules_of};
use super::trace::Trace;

/// The two sides of a comparison.
#[derive(Clone, Debug)]
pub struct CheckOrder {
    /// The model.
    pub agent: PathBuf,
    /// The environment, as `coplay env show` takes it; `overcooked` with the rules of any original of the game.
    pub env: String,
    /// Its parameters as JSON, over those in the trace.
    pub params: String,
    /// The rules of its original, over the parameter `rules`.
    pub rules: Option<String>,
    /// The recording.
    pub trace: PathBuf,
    /// True to take the observations of the trace as they are, and compare only the actions.
    pub actions_only: bool,
    /// True if the agent chooses only among actions that the mask allows.
    pub is_masked: bool,
}

/// The number of comparisons, and of equal ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Comparisons.
    pub compared: u64,
    /// Those without a difference.
    pub equal: u64,
}

/// A place where recording and replay differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Step of the trace, from 0.
    pub step: usize,
    /// Episode of the trace, from 0.
    pub episode: usize,
    /// Step of the episode, from 0.
    pub episode_step: usize,
    /// The seat.
    pub seat: usize,
    /// The differing value: `action`, or a field of the observation with its place.
    pub what: String,
    /// As recorded.
    pub recorded: f64,
    /// As it is here.
    pub here: f64,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Version of this format.
    pub format: u32,
    /// Version of the program that compared.
    pub coplay: String,
    /// SHA-256 of the model.
    pub agent_sha256: String,
    /// SHA-256 of the compiled model, greedy.
    pub network_sha256: String,
    /// Id and version of the environment.
    pub env: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// Name and version of the package that recorded, if the recording says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// SHA-256 of the recording.
    pub trace_sha256: String,
    /// Episodes of the recording.
    pub episodes: usize,
    /// Steps of the recording.
    pub steps: usize,
    /// Observations; none were compared without a replay.
    pub observations: Tally,
    /// The actions that the agent takes without drawing.
    pub actions: Tally,
    /// The greatest difference of the values of actions, if they were recorded.
    pub greatest_value_difference: Option<f64>,
    /// The first difference of an observation.
    pub first_observation_difference: Option<Difference>,
    /// The first difference of an action.
    pub first_action_difference: Option<Difference>,
}

/// The version of the format of certificates.
const FORMAT: u32 = 1;

impl Certificate {
    /// Reads the certificate that lies beside a model.
    ///
    /// # Errors
    /// It is none, or that of another model; with the fix.
    pub fn read(model: &str, model_sha256: &str, bytes: &[u8]) -> Result<Self, String> {
        let fix = format!(
            "make it again with `coplay agent check {model} --env ENV --against trace.npz --out {model}{CERTIFICATE}`, or \
             remove the file"
        );
        let read: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("{model}{CERTIFICATE} is no certificate ({error}); {fix}"))?;
        if read.format != FORMAT {
            return Err(format!(
                "{model}{CERTIFICATE} has the format {}, and this version of Coplay reads {FORMAT}; {fix}",
                read.format
            ));
        }
        if read.agent_sha256 != model_sha256 {
            return Err(format!(
                "{model}{CERTIFICATE} is the certificate of another model, with the SHA-256 {}…, and that of {model} is \
                 {}…; {fix}",
                read.agent_sha256.get(..12).unwrap_or(&read.agent_sha256),
                &model_sha256[..12]
            ));
        }
        Ok(read)
    }

    /// True if something was compared, and everything was equal.
    pub fn is_fine(&self) -> bool {
        let all = [self.observations, self.actions];
        all.iter().all(|it| it.equal == it.compared) && all.iter().any(|it| it.compared > 0)
    }
}

/// Checks that the certificate beside a model, if there is one, is its own.
///
/// # Errors
/// It is not, or a file cannot be read.
pub fn check_beside(model: &Path) -> anyhow::Result<()> {
    let name = model.display().to_string();
    let certificate = PathBuf::from(format!("{name}{CERTIFICATE}"));
    if certificate.is_file() {
        let (sha256, bytes) = (sha256_hex(&super::read(model)?), super::read(&certificate)?);
        Certificate::read(&name, &sha256, &bytes).map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

/// Plays a recording again, and compares observations and actions.
///
/// # Errors
/// A file cannot be read, the model does not play the environment, or the recording does not fit it.
pub fn check(order: &CheckOrder) -> anyhow::Result<Certificate> {
    let model = super::read(&order.agent)?;
    let trace_bytes = super::read(&order.trace)?;
    let trace = Trace::open(&order.trace)?;
    let Played { env, params } = find_env(order, &trace)?;
    let mut world = super::open(&env, &Value::Object(params.clone()).to_string())?;
    if !order.actions_only {
        let axes = check_axes(world.spec(), &trace.shape);
        axes.with_context(|| order.trace.display().to_string())?;
    }
    let compiled = super::compile(&model, &*world, order.is_masked);
    let (network, encoded) = compiled.with_context(|| order.agent.display().to_string())?;
    let spec = world.spec().clone();
    fits(&trace, &spec, &network, order).with_context(|| order.trace.display().to_string())?;
    let mut certificate = Certificate {
        format: FORMAT,
        coplay: env!("CARGO_PKG_VERSION").into(),
        agent_sha256: sha256_hex(&model),
        network_sha256: sha256_hex(&encoded),
        env: format!("{}@{}", spec.id, spec.version),
        params: params.clone(),
        package: trace.package.clone(),
        trace_sha256: sha256_hex(&trace_bytes),
        episodes: trace.starts.len(),
        steps: trace.steps,
        observations: Tally::default(),
        actions: Tally::default(),
        greatest_value_difference: None,
        first_observation_difference: None,
        first_action_difference: None,
    };
    let mut run = Run {
        memory: vec![vec![0.0; network.memory_len()]; trace.seats.len()],
        trace: &trace,
        network: &network,
        spec: &spec,
        episode: 0,
        start: 0,
        certificate: &mut certificate,
    };
    for step in 0..trace.steps {
        if let Some(episode) = trace.episode_at(step) {
            (run.episode, run.start) = (episode, step);
            run.memory.iter_mut().for_each(|it| it.fill(0.0));
            if let Some(own) = trace.episode_params.get(episode) {
                let mut all = params.clone();
                all.extend(own.clone());
                world = super::open(&env, &Value::Object(all).to_string())?;
            }
            world.reset(trace.seeds[episode]);
        }
        run.step(step, (!order.actions_only).then_some(&mut *world));
    }
    Ok(certificate)
}

/// The environment that was asked for, with the parameters of the trace, and those of the command line over them.
fn find_env(order: &CheckOrder, trace: &Trace) -> anyhow::Result<Played> {
    let mut asked = Map::new();
    if !order.params.is_empty() {
        match serde_json::from_str(&order.params) {
            Ok(Value::Object(own)) => asked = own,
            _ => bail!("--params: write a JSON object, such as '{{\"layout\": \"cramped_room\"}}'"),
        }
    }
    if let Some(rules) = &order.rules {
        asked.insert("rules".into(), rules.clone().into());
    }
    let recorded = rules_of(&trace.params);
    check_recorded(&order.trace, recorded, rules_of(&asked))?;
    let mut params = trace.params.clone();
    params.extend(asked);
    check_package(&order.trace, trace.package.as_deref(), rules_of(&params))?;
    find_played(&order.env, params)
}

/// Refuses a recording of another environment, with the shapes of both.
fn fits(trace: &Trace, spec: &Spec, network: &Network, order: &CheckOrder) -> anyhow::Result<()> {
    let (seats, actions) = (usize::from(spec.seats), spec.actions.len());
    if let Some(seat) = trace.seats.iter().find(|seat| **seat >= seats) {
        bail!(
            "the trace names seat {seat}; `{}` has seats 0 to {}: choose the layout with --params",
            spec.id,
            seats - 1
        );
    }
    let (observed, taken) = (spec.observation_len(), network.inputs());
    ensure!(
        trace.observed == taken || trace.observed == observed,
        "an observation of the trace has {} values; `{}` gives {observed}, and the agent takes {taken}: choose layout, rules \
         and encodings with --params and --rules as they were for the trace",
        trace.observed,
        spec.id
    );
    let by_seat = [
        ("chosen", &trace.chosen, 1),
        ("logits", &trace.logits, actions),
        ("masks", &trace.masks, actions),
    ];
    for (name, table, width) in by_seat {
        let wanted = width * trace.seats.len();
        if let Some(table) = table {
            ensure!(
                table.width == wanted,
                "`{name}` has {} values for each step, and {wanted} are needed: record one row for each seat of `seats`",
                table.width
            );
        }
    }
    if let Some(table) = &trace.actions {
        ensure!(
            table.width == seats,
            "`actions` has {} values for each step; `{}` has {seats} seats, and each needs its action",
            table.width,
            spec.id
        );
    }
    if !order.actions_only {
        ensure!(
            trace.actions.is_some(),
            "the trace has no `actions`, so it cannot be played again; record the actions of all seats, or add --actions-only"
        );
        ensure!(
            trace.seeds.len() >= trace.starts.len(),
            "{} episodes, and `seeds` has {}; record one for each episode",
            trace.starts.len(),
            trace.seeds.len()
        );
    }
    Ok(())
}

/// A comparison on its way.
struct Run<'a> {
    trace: &'a Trace,
    network: &'a Network,
    spec: &'a Spec,
    /// The agent's memory in each recorded seat.
    memory: Vec<Vec<f32>>,
    episode: usize,
    start: usize,
    certificate: &'a mut Certificate,
}

impl Run<'_> {
    fn step(&mut self, step: usize, world: Option<&mut (dyn World + 'static)>) {
        let mut world = world;
        for place in 0..self.trace.seats.len() {
            let seat = self.trace.seats[place];
            let recorded = self.trace.observation(step, place).to_vec();
            let mut mask = self.trace.mask(step, place);
            if let Some(world) = &mut world {
                let mut here = Vec::new();
                world.observe(seat, &mut here);
                if recorded.len() != here.len() {
                    here = self.network.take_values(self.spec, &here);
                }
                self.compare_observation(step, seat, &recorded, &here);
                if self.trace.masks.is_none() {
                    mask = world.mask(seat);
                }
            }
            self.compare_action(step, place, &recorded, mask);
        }
        if let (Some(world), Some(actions)) = (world, &self.trace.actions) {
            let noop = self.spec.noop;
            let action = |it: &f64| match *it {
                it if it >= 0.0 && it < self.spec.actions.len() as f64 => it as Action,
                _ => noop,
            };
            let row: Vec<Action> = actions.row(step).iter().map(action).collect();
            world.step(&row);
        }
    }

    fn difference(
        &self,
        step: usize,
        seat: usize,
        what: String,
        recorded: f64,
        here: f64,
    ) -> Difference {
        Difference {
            step,
            episode: self.episode,
            episode_step: step - self.start,
            seat,
            what,
            recorded,
            here,
        }
    }

    fn compare_observation(&mut self, step: usize, seat: usize, recorded: &[f32], here: &[f32]) {
        let first = recorded.iter().zip(here).position(|(a, b)| a != b);
        self.certificate.observations.compared += 1;
        match first {
            None => self.certificate.observations.equal += 1,
            Some(at) if self.certificate.first_observation_difference.is_none() => {
                let mut what = self.place_of(at, here.len());
                if is_exchanged(self.spec, recorded, here) {
                    what += " (equal once rows and columns are exchanged)";
                }
                let (recorded, here) = (f64::from(recorded[at]), f64::from(here[at]));
                let difference = self.difference(step, seat, what, recorded, here);
                self.certificate.first_observation_difference = Some(difference);
            }
            Some(_) => {}
        }
    }

    /// The field of a value of the observation, and its place in there.
    fn place_of(&self, at: usize, len: usize) -> String {
        match len == self.spec.observation_len() {
            true => name_place(self.spec, at),
            false => format!("value {at} of what the agent takes"),
        }
    }

    fn compare_action(&mut self, step: usize, place: usize, recorded: &[f32], mask: u64) {
        let seat = self.trace.seats[place];
        let seen = match recorded.len() == self.network.inputs() {
            true => recorded.to_vec(),
            false => self.network.take_values(self.spec, recorded),
        };
        let values = self.network.values(&seen, mask, &mut self.memory[place]);
        if let Some(logits) = &self.trace.logits {
            let logits = self.trace.part(logits, step, place).iter();
            let apart = logits.zip(&values).map(|(a, b)| (a - f64::from(*b)).abs());
            let greatest = self.certificate.greatest_value_difference.unwrap_or(0.0);
            self.certificate.greatest_value_difference = Some(apart.fold(greatest, f64::max));
        }
        let wanted = match (&self.trace.chosen, &self.trace.actions) {
            (Some(chosen), _) => self.trace.part(chosen, step, place)[0],
            (None, Some(actions)) => actions.row(step)[seat],
            (None, None) => return,
        };
        let here = self.network.best_action(&values, mask) as f64;
        self.certificate.actions.compared += 1;
        if wanted == here {
            self.certificate.actions.equal += 1;
        } else if self.certificate.first_action_difference.is_none() {
            let difference = self.difference(step, seat, "action".into(), wanted, here);
            self.certificate.first_action_difference = Some(difference);
        }
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            episodes, steps, ..
        } = self;
        let rules = rules_of(&self.params);
        let rules = rules.map_or_else(String::new, |rules| format!(" with the rules `{rules}`"));
        writeln!(
            f,
            "{}{rules}: {steps} steps of {episodes} episodes",
            self.env
        )?;
        let rows = [
            (
                "observations",
                self.observations,
                &self.first_observation_difference,
            ),
            ("actions", self.actions, &self.first_action_difference),
        ];
        for (name, Tally { compared, equal }, first) in rows {
            match compared {
                0 => writeln!(f, "  {name:<13} not compared")?,
                _ => writeln!(f, "  {name:<13} {equal} of {compared} equal")?,
            }
            if let Some(first) = first {
                writeln!(f, "    first difference: {first}")?;
            }
        }
        if let Some(greatest) = self.greatest_value_difference {
            writeln!(f, "  values        differ by at most {greatest:.1e}")?;
        }
        write!(
            f,
            "{}",
            if self.is_fine() {
                "everything compared is equal"
            } else {
                "there are differences"
            }
        )
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            episode,
            episode_step,
            seat,
            what,
            recorded,
            here,
            ..
        } = self;
        write!(
            f,
            "episode {episode}, step {episode_step}, seat {seat}, {what}: {recorded} in the trace, {here} here"
        )
    }
}
