//! The recordings: gzip, one JSON object a line; a header for each episode, then one line a step.
//!
//! Source: the description that comes with the recordings of CoGrid 0.3.2.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

/// A state as recorded, and what the agents observed of it.
#[derive(Clone, Debug, Deserialize)]
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
    /// Indexes and values of the observation that are not zero, of each agent; of some records only.
    pub obs: Option<Vec<(Vec<usize>, Vec<f32>)>>,
}

/// A component of the reward.
#[derive(Clone, Debug, Deserialize)]
pub struct Reward {
    /// Name of the class.
    pub class: String,
    /// Its coefficient.
    pub coefficient: f32,
    /// Whether every agent gets the sum.
    #[serde(default)]
    pub common_reward: bool,
}

/// The first line of an episode.
#[derive(Clone, Debug, Deserialize)]
#[expect(non_snake_case, reason = "names of the format")]
pub struct Header {
    /// Name of the recorded environment.
    pub env: String,
    /// Number of the episode.
    pub episode: u32,
    /// Its seed.
    pub seed: u64,
    /// Number of agents.
    pub n_agents: usize,
    /// Rows of the grid.
    pub H: usize,
    /// Columns of the grid.
    pub W: usize,
    /// Family of the environment.
    pub scope: String,
    /// The plan of the grid.
    pub layout: Vec<String>,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// The horizon.
    pub max_steps: u32,
    /// Features of the observation, in order.
    pub features: Vec<String>,
    /// Components of the reward, in order.
    pub rewards: Vec<Reward>,
    /// What else was configured.
    pub config: BTreeMap<String, Value>,
    /// Names of the object types, by id.
    pub types: Vec<String>,
    /// The first state.
    pub reset: Record,
}

/// A line of a step.
#[derive(Clone, Debug, Deserialize)]
pub struct Step {
    /// Number of the step, from 1.
    pub t: u32,
    /// The joint action.
    pub a: Vec<u16>,
    /// Rank of each agent in the movement.
    pub prio: Vec<u32>,
    /// The state after the step.
    #[serde(flatten)]
    pub record: Record,
    /// Reward of each agent.
    pub r: Vec<f32>,
    /// Components of the reward, `[component, agent]`; absent if all are zero.
    pub rc: Option<Vec<Vec<f32>>>,
    /// Whether each agent reached a terminal state.
    pub te: Vec<u8>,
    /// Whether the horizon cut each agent off.
    pub tr: Vec<u8>,
    /// Whether each agent is done.
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

/// The episodes of a file, one after the other.
pub struct Episodes<R> {
    lines: std::iter::Enumerate<std::io::Lines<BufReader<GzDecoder<R>>>>,
    next: Option<Header>,
}

impl<R: Read> Episodes<R> {
    /// Opens the compressed bytes of a file.
    pub fn new(bytes: R) -> Self {
        Self {
            lines: BufReader::new(GzDecoder::new(bytes)).lines().enumerate(),
            next: None,
        }
    }

    fn read(&mut self) -> Result<Option<Recorded>> {
        let mut steps = Vec::new();
        for (index, line) in self.lines.by_ref() {
            let number = index + 1;
            let line = line.with_context(|| format!("line {number}: cannot be unpacked"))?;
            let malformed = || format!("line {number}: not what the format says");
            if !line.contains("\"type\"") {
                let step = serde_json::from_str::<Step>(&line).with_context(malformed)?;
                if self.next.is_none() {
                    bail!("line {number}: a step before any episode");
                }
                steps.push(step);
                continue;
            }
            let header = serde_json::from_str::<Header>(&line).with_context(malformed)?;
            if let Some(header) = self.next.replace(header) {
                return Ok(Some(Recorded { header, steps }));
            }
        }
        Ok(self.next.take().map(|header| Recorded { header, steps }))
    }
}

impl<R: Read> Iterator for Episodes<R> {
    type Item = Result<Recorded>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}
