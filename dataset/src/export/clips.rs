//! The table of clips of AI partners: what they show, and who plays.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use protocol::Controller;
use protocol::hash::{model_sha256, sha256_hex};
use protocol::log::{Log, read_log};
use serde::Deserialize as _;
use serde_json::Value;
use store::data_folder::clip_file;
use study::stage::PartnerOrigin;

use super::column::row;
use super::output::Output;
use super::report::WrittenTable;
use super::table::Table;

row! {
    /// One row per seat of a clip that AI partners play by themselves.
    struct ClipRow<'a> {
        /// The study.
        study_id: &'a str,
        /// The version of the study.
        version: &'a str,
        /// The watch stage.
        stage_id: &'a str,
        /// The number of the clip in the stage, from 1.
        clip: u16,
        /// The environment and its version.
        environment: &'a str,
        /// The parameters of the environment, as JSON.
        config: &'a str,
        /// The seed of the episode.
        seed: u64,
        /// The first tick that is shown.
        clip_first_tick: u32,
        /// The last tick that is shown.
        clip_end_tick: u32,
        /// Ticks per second; 0 for turns, of which one is shown each second.
        tick_hz: u16,
        /// The seat.
        seat: u8,
        /// The name of the AI partner in `partners`; missing for one without a name.
        partner: &'a str,
        /// The policy: a script, or the name of a model.
        policy: &'a str,
        /// SHA-256 of the compiled model, the name of its file in `networks/`.
        model_sha256: &'a str,
        /// The algorithm that trained it.
        algorithm: &'a str,
        /// The seed of the training.
        training_seed: Option<i64>,
        /// The checkpoint of the training.
        checkpoint: &'a str,
    }
}

/// A clip of AI partners.
pub(super) struct PartnerClip {
    log: Log,
    /// The origins of the AI partners, as far as `partners` names them.
    origins: Vec<Option<PartnerOrigin>>,
    /// The first tick that is shown.
    pub(super) first: u32,
    /// The last one.
    pub(super) end: u32,
}

impl PartnerClip {
    /// Reads a clip of a stored study; `None` if it shows an episode of the participant, or was never made here.
    fn read(
        data: &Path,
        hash: &str,
        (stage, number): (&str, usize),
        clip: &Value,
    ) -> anyhow::Result<Option<Self>> {
        let Some(partners) = clip["players"].as_array() else {
            return Ok(None);
        };
        let path = clip_file(data, hash, stage, number);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let log = read_log(&bytes).with_context(|| path.display().to_string())?;
        let origin = |partner: &Value| PartnerOrigin::deserialize(&partner["origin"]).ok();
        let hz = u64::from(log.header.tick_hz.max(1));
        let last = log.through.0;
        let tick_at = |second: u64| u32::try_from(second * hz).unwrap_or(last).min(last);
        Ok(Some(Self {
            first: tick_at(clip["from_s"].as_u64().unwrap_or(0)),
            end: clip["to_s"].as_u64().map_or(last, tick_at),
            origins: partners.iter().map(origin).collect(),
            log,
        }))
    }

    /// The seed of the episode.
    pub(super) fn seed(&self) -> u64 {
        self.log.header.seed
    }

    /// The policies of the seats, with a space between.
    pub(super) fn policies(&self) -> String {
        let policies: Vec<&str> = self.log.header.controllers.iter().map(policy_of).collect();
        policies.join(" ")
    }

    fn add_rows(&self, (stage, number): (&str, u16), table: &mut Table) -> anyhow::Result<()> {
        let header = &self.log.header;
        let environment = format!("{}@{}", header.env, header.env_version);
        let seats = (0..).zip(&header.controllers).zip(&self.origins);
        for ((seat, controller), origin) in seats {
            let origin = origin.clone().unwrap_or_default();
            let policy = policy_of(controller);
            table.add(&ClipRow {
                study_id: &header.study,
                version: &header.study_version,
                stage_id: stage,
                clip: number,
                environment: &environment,
                config: &header.params,
                seed: header.seed,
                clip_first_tick: self.first,
                clip_end_tick: self.end,
                tick_hz: header.tick_hz,
                seat,
                partner: &origin.name,
                policy,
                model_sha256: model_sha256(policy).unwrap_or_default(),
                algorithm: origin.algorithm.as_deref().unwrap_or_default(),
                training_seed: origin.training_seed,
                checkpoint: origin.checkpoint.as_deref().unwrap_or_default(),
            })?;
        }
        Ok(())
    }
}

fn policy_of(controller: &Controller) -> &str {
    match controller {
        Controller::Ai { policy } => policy,
        Controller::Human | Controller::Vacant => "",
    }
}

/// The clips of AI partners of all studies of a data folder, by the hash of the study, the stage, and the number there.
#[derive(Default)]
pub(super) struct PartnerClips(BTreeMap<(String, String, u16), PartnerClip>);

impl PartnerClips {
    /// Reads the clips of studies in canonical form.
    pub(super) fn read(data: &Path, studies: &[String]) -> anyhow::Result<Self> {
        let mut all = BTreeMap::new();
        for canonical in studies {
            let study: Value =
                serde_json::from_str(canonical).context("a stored study is damaged")?;
            let hash = sha256_hex(canonical.as_bytes());
            for stage in study["timeline"].as_array().into_iter().flatten() {
                let id = stage["id"].as_str().unwrap_or_default();
                let clips = stage["clips"].as_array().into_iter().flatten();
                for (number, clip) in (1_u16..).zip(clips) {
                    let place = (id, usize::from(number));
                    if let Some(clip) = PartnerClip::read(data, &hash, place, clip)? {
                        all.insert((hash.clone(), id.to_owned(), number), clip);
                    }
                }
            }
        }
        Ok(Self(all))
    }

    /// The clip of a number in a stage.
    pub(super) fn find(&self, study: &str, stage: &str, number: u16) -> Option<&PartnerClip> {
        self.0.get(&(study.to_owned(), stage.to_owned(), number))
    }

    /// Writes the table.
    pub(super) fn write(&self, output: &Output) -> anyhow::Result<WrittenTable> {
        let mut table = Table::create::<ClipRow<'_>>(output, "clips")?;
        for ((_, stage, number), clip) in &self.0 {
            clip.add_rows((stage, *number), &mut table)?;
        }
        table.finish()
    }
}
