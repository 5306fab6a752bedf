//! The recordings: gzip, one JSON object a line; a header for each episode, then one line a step.
//!
//! Source: the description that comes with the recordings of CoGrid 0.3.2.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, Result, bail, ensure};
use env_core::MAX_SEATS;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The observation of an agent, without what is zero: indexes, and the values there.
pub type Sparse = (Vec<usize>, Vec<f32>);

/// A state as recorded, and what the agents observed of it.
#[derive(Clone, Debug)]
pub struct Record {
    /// `[row, column]` of each agent.
    pub pos: Vec<[i64; 2]>,
    /// Direction of each agent: right, down, left, up.
    pub dir: Vec<i64>,
    /// Type id of what each agent holds, -1 for nothing.
    pub inv: Vec<i64>,
    /// Type id of each cell, row-major.
    pub otm: Vec<i64>,
    /// State number of each cell, row-major.
    pub osm: Vec<i64>,
    /// Further state by name.
    pub x: BTreeMap<String, Vec<i64>>,
    /// Hash of the observation of each agent.
    pub oh: Vec<String>,
    /// The observations; of some records only.
    pub obs: Option<Vec<Sparse>>,
}

/// A component of the reward.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reward {
    /// Name of the class.
    pub class: String,
    /// Its coefficient.
    pub coefficient: f32,
    /// True if every agent gets the sum, if the class has a choice.
    pub common_reward: Option<bool>,
    /// True if the wrong soup costs as much.
    pub penalize_incorrect: Option<bool>,
    /// For tips, which CoGrid never pays.
    pub order_time_limit: Option<u32>,
    /// The soups of which one is wanted at a time.
    pub target_recipes: Option<Vec<String>>,
}

/// The first line of an episode.
#[derive(Clone, Debug)]
pub struct Header {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Name of the recorded environment.
    pub env: String,
    /// Number of the episode.
    pub episode: u32,
    /// Its seed.
    pub seed: u64,
    /// Number of agents.
    pub agents: usize,
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub cols: usize,
    /// Family of the environment.
    pub scope: String,
    /// Name of the layout.
    pub layout_id: String,
    /// The plan of the grid.
    pub layout: Vec<String>,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// The horizon.
    pub max_steps: u32,
    /// Features of the observation, in order.
    pub features: Vec<String>,
    /// Length of an observation.
    pub obs_dim: usize,
    /// Components of the reward, in order.
    pub rewards: Vec<Reward>,
    /// Other settings.
    pub config: BTreeMap<String, Value>,
    /// Names of the object types, by id.
    pub types: Vec<String>,
    /// The walls, row-major.
    pub wall_map: Vec<u8>,
    /// The first state.
    pub reset: Record,
}

/// A line of a step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its line in the file, from 1.
    pub line: usize,
    /// The joint action.
    pub actions: Vec<u16>,
    /// The key from which the draws of the step came.
    pub key: Option<u64>,
    /// Rank of each agent in the movement.
    pub prio: Vec<u32>,
    /// A uniform number for each place of an order.
    pub rolls: Option<Vec<f32>>,
    /// The state after the step.
    pub record: Record,
    /// Reward of each agent.
    pub r: Vec<f32>,
    /// Components of the reward, `[component, agent]`; absent if all are zero.
    pub rc: Option<Vec<Vec<f32>>>,
    /// Flags by agent: 1 if it reached a terminal state.
    pub te: Vec<u8>,
    /// Flags by agent: 1 if the horizon cut it off.
    pub tr: Vec<u8>,
    /// Flags by agent: 1 if it is done.
    pub done: Vec<u8>,
}

/// An episode as recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its header.
    pub header: Header,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// The fields of a line that are not read yet.
struct Fields(Map<String, Value>);

impl Fields {
    fn of(value: Value) -> Result<Self> {
        match value {
            Value::Object(map) => Ok(Self(map)),
            _ => bail!("is no JSON object"),
        }
    }

    fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>> {
        self.0
            .remove(name)
            .map(|value| serde_json::from_value(value).with_context(|| format!("field `{name}`")))
            .transpose()
    }

    fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        self.optional(name)?
            .with_context(|| format!("field `{name}` is missing"))
    }

    /// A list that has as many entries as it should.
    fn list<T: DeserializeOwned>(&mut self, name: &str, len: usize) -> Result<Vec<T>> {
        let list: Vec<T> = self.take(name)?;
        check_len(name, list.len(), len)?;
        Ok(list)
    }

    fn record(&mut self, shape: Shape) -> Result<Record> {
        let Shape { agents, cells, .. } = shape;
        let record = Record {
            pos: self.list("pos", agents)?,
            dir: self.list("dir", agents)?,
            inv: self.list("inv", agents)?,
            otm: self.list("otm", cells)?,
            osm: self.list("osm", cells)?,
            x: self.take("x")?,
            oh: self.list("oh", agents)?,
            obs: self.optional("obs")?,
        };
        if let Some(obs) = &record.obs {
            check_len("obs", obs.len(), agents)?;
        }
        Ok(record)
    }

    /// Nothing is left that would go unread.
    fn end(self) -> Result<()> {
        match self.0.keys().next() {
            Some(name) => bail!("field `{name}` is not one of the format"),
            None => Ok(()),
        }
    }
}

fn check_len(name: &str, len: usize, expected: usize) -> Result<()> {
    ensure!(
        len == expected,
        "field `{name}` has {len} entries and needs {expected}"
    );
    Ok(())
}

/// Numbers that fix the lengths of lists.
#[derive(Clone, Copy)]
struct Shape {
    agents: usize,
    cells: usize,
    actions: usize,
    rewards: usize,
}

impl Header {
    fn shape(&self) -> Shape {
        Shape {
            agents: self.agents,
            cells: self.rows * self.cols,
            actions: self.actions.len(),
            rewards: self.rewards.len(),
        }
    }

    fn read(mut fields: Fields, line: usize) -> Result<Self> {
        let format: u32 = fields.optional("format")?.unwrap_or(1);
        ensure!(format == 1, "field `format` is {format}; known is 1");
        let (agents, rows, cols): (usize, usize, usize) = (
            fields.take("n_agents")?,
            fields.take("H")?,
            fields.take("W")?,
        );
        ensure!(
            (1..=MAX_SEATS).contains(&agents),
            "field `n_agents` is {agents}; there can be 1 to {MAX_SEATS}"
        );
        ensure!(
            (1..=64).contains(&rows) && (1..=64).contains(&cols),
            "fields `H` and `W` are {rows} and {cols}; each can be 1 to 64"
        );
        let rewards: Vec<Reward> = fields.take("rewards")?;
        let actions: Vec<String> = fields.take("actions")?;
        let shape = Shape {
            agents,
            cells: rows * cols,
            actions: actions.len(),
            rewards: rewards.len(),
        };
        let mut reset = Fields::of(fields.take("reset")?).context("field `reset`")?;
        let record = reset.record(shape).context("field `reset`")?;
        // The directions as drawn are those of the record.
        let drawn: Option<Vec<i64>> = reset.optional("dir_draw").context("field `reset`")?;
        ensure!(
            drawn.is_none_or(|drawn| drawn == record.dir),
            "field `reset`: fields `dir` and `dir_draw` differ"
        );
        reset.end().context("field `reset`")?;
        Ok(Self {
            line,
            env: fields.take("env")?,
            episode: fields.take("episode")?,
            seed: fields.take("seed")?,
            agents,
            rows,
            cols,
            scope: fields.take("scope")?,
            layout_id: fields.optional("layout_id")?.unwrap_or_default(),
            layout: fields.list("layout", rows)?,
            actions,
            max_steps: fields.take("max_steps")?,
            features: fields.take("features")?,
            obs_dim: fields.take("obs_dim")?,
            rewards,
            config: fields.take("config")?,
            types: fields.take("types")?,
            wall_map: fields.list("wall_map", rows * cols)?,
            reset: record,
        })
    }
}

impl Step {
    fn read(mut fields: Fields, line: usize, number: usize, shape: Shape) -> Result<Self> {
        let Shape {
            agents, actions, ..
        } = shape;
        let t: usize = fields.take("t")?;
        ensure!(t == number, "field `t` is {t}, and this is step {number}");
        let joint: Vec<u16> = fields.list("a", agents)?;
        ensure!(
            joint.iter().all(|&action| usize::from(action) < actions),
            "field `a` has an action over {}, the last",
            actions.saturating_sub(1)
        );
        let prio: Vec<u32> = fields.list("prio", agents)?;
        let mut ranks = prio.clone();
        ranks.sort_unstable();
        ensure!(
            ranks.iter().zip(0..).all(|(&rank, at)| rank == at),
            "field `prio` is no order of {agents} agents"
        );
        let rc: Option<Vec<Vec<f32>>> = fields.optional("rc")?;
        if let Some(rc) = &rc {
            check_len("rc", rc.len(), shape.rewards)?;
            rc.iter()
                .try_for_each(|values| check_len("rc", values.len(), agents))?;
        }
        let step = Self {
            line,
            actions: joint,
            key: fields.optional("key")?,
            prio,
            rolls: fields.optional("rolls")?,
            record: fields.record(shape)?,
            r: fields.list("r", agents)?,
            rc,
            te: fields.list("te", agents)?,
            tr: fields.list("tr", agents)?,
            done: fields.list("done", agents)?,
        };
        fields.end()?;
        Ok(step)
    }
}

/// The episodes of a file, one after the other.
pub struct Episodes<R> {
    lines: std::iter::Enumerate<std::io::Split<BufReader<GzDecoder<R>>>>,
    next: Option<Header>,
    ended: bool,
}

impl<R: Read> Episodes<R> {
    /// Opens the compressed bytes of a file.
    pub fn new(bytes: R) -> Self {
        Self {
            lines: BufReader::new(GzDecoder::new(bytes))
                .split(b'\n')
                .enumerate(),
            next: None,
            ended: false,
        }
    }

    fn read(&mut self) -> Result<Option<Recorded>> {
        let mut steps = Vec::new();
        for (index, line) in self.lines.by_ref() {
            let number = index + 1;
            let at = || format!("line {number}");
            let line = line.with_context(|| format!("line {number}: cannot be unpacked"))?;
            let value: Value = serde_json::from_slice(&line)
                .with_context(|| format!("line {number}: is no JSON"))?;
            let mut fields = Fields::of(value).with_context(at)?;
            let kind: Option<String> = fields.optional("type").with_context(at)?;
            match (kind.as_deref(), &self.next) {
                (None, None) => bail!("line {number}: a step before any episode"),
                (None, Some(header)) => {
                    let step = Step::read(fields, number, steps.len() + 1, header.shape());
                    steps.push(step.with_context(at)?);
                }
                (Some("episode"), _) => {
                    let header = Header::read(fields, number).with_context(at)?;
                    if let Some(header) = self.next.replace(header) {
                        return Ok(Some(Recorded { header, steps }));
                    }
                }
                (Some(other), _) => {
                    bail!("line {number}: field `type` is `{other}`; known is `episode`")
                }
            }
        }
        Ok(self.next.take().map(|header| Recorded { header, steps }))
    }
}

impl<R: Read> Iterator for Episodes<R> {
    type Item = Result<Recorded>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read().transpose();
        self.ended = !matches!(read, Some(Ok(_)));
        read
    }
}
