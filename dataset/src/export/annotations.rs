//! The table of what people annotated in replays of episodes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use protocol::hash::sha256_hex;
use serde_json::Value;
use store::Response;
use study::stage::{MarkedSpan, RatingSamples};

use super::clips::{PartnerClip, PartnerClips};
use super::column::{Typed, row};
use super::known::KnownData;
use super::responses::VisitKeys;
use super::table::Table;

row! {
    /// One row per sample of a rating, per marked span, and per choice between two replays.
    pub(super) struct AnnotationRow<'a> {
        /// The number of the replay in the stage, from 1; for a choice, the chosen one, missing if there is no
        /// difference.
        clip: Option<u16>,
        /// The episode of the replay; missing if the data folder has none.
        clip_episode_id: &'a str,
        /// The person's seat in that episode.
        clip_seat: Option<u8>,
        /// For a clip of AI partners, the seed of the episode.
        clip_seed: Option<u64>,
        /// For a clip of AI partners, the policies by seat, with a space between; models with their SHA-256.
        clip_policies: &'a str,
        /// For a clip of AI partners, the first tick that is shown.
        clip_first_tick: Option<u32>,
        /// For a clip of AI partners, the last tick that is shown.
        clip_end_tick: Option<u32>,
        /// `rating`, `mark`, `choice`, or `missing` if the page could not show a replay.
        kind: &'a str,
        /// The tick of the episode: of the sample, or the first one of the span.
        first_tick: Option<u32>,
        /// The last tick for which the sample stands, up to the next one, or of the span.
        end_tick: Option<u32>,
        /// The rating, from 0 to 100.
        value: Option<u8>,
        /// The label of the span.
        label: &'a str,
        /// The person's words about the span.
        text: Option<Typed<'a>>,
        /// For a choice, the number of the replay on the left.
        left: Option<u16>,
        /// When the answer arrived, microseconds since the Unix epoch.
        at_unix_us: Option<u64>,
    }
}

/// The stage of a clip, and the number of its episode, from 1; `None` for the last one. The stage is empty for a clip of
/// AI partners.
type Clip = (String, Option<usize>);

/// The clips of the watch stages of the studies of a data folder.
#[derive(Default)]
pub(super) struct WatchStages {
    /// By the hash of the study and the stage.
    clips: BTreeMap<(String, String), Vec<Clip>>,
    /// The study of each session.
    sessions: BTreeMap<String, String>,
    /// The clips of AI partners.
    partner_clips: PartnerClips,
}

impl WatchStages {
    pub(super) fn new(data: &Path, studies: &[String], known: &KnownData) -> anyhow::Result<Self> {
        let mut stages = Self {
            partner_clips: PartnerClips::read(data, studies)?,
            ..Self::default()
        };
        for canonical in studies {
            let study: Value =
                serde_json::from_str(canonical).context("a stored study is damaged")?;
            let hash = sha256_hex(canonical.as_bytes());
            for stage in study["timeline"].as_array().into_iter().flatten() {
                if stage["type"] != "watch" {
                    continue;
                }
                let clips = stage["clips"].as_array().into_iter().flatten();
                let clip = |clip: &Value| {
                    let stage = clip["stage"].as_str().unwrap_or_default().to_owned();
                    (
                        stage,
                        clip["episode"].as_u64().map(|number| number as usize),
                    )
                };
                let id = stage["id"].as_str().unwrap_or_default().to_owned();
                stages
                    .clips
                    .insert((hash.clone(), id), clips.map(clip).collect());
            }
        }
        let sessions = known.sessions.iter();
        let sessions = sessions.map(|of| (of.id.clone(), of.study_hash.clone()));
        stages.sessions = sessions.collect();
        Ok(stages)
    }

    /// The clips of the stage of an answer; `None` if it is no watch stage.
    fn find(&self, response: &Response) -> Option<&[Clip]> {
        let study = self.sessions.get(&response.session)?.clone();
        let clips = self.clips.get(&(study, response.stage.clone()))?;
        Some(clips)
    }

    /// The clips of AI partners.
    pub(super) fn partner_clips(&self) -> &PartnerClips {
        &self.partner_clips
    }

    /// The clip of AI partners with this number in the stage of an answer.
    fn find_partner_clip(&self, response: &Response, number: u16) -> Option<&PartnerClip> {
        let study = self.sessions.get(&response.session)?;
        self.partner_clips.find(study, &response.stage, number)
    }

    /// True if the answer is to a watch stage.
    pub(super) fn has_response(&self, response: &Response) -> bool {
        self.find(response).is_some()
    }

    /// Adds the rows of an answer to a watch stage; `others` are all answers of the same visit.
    pub(super) fn add_rows<'k>(
        &self,
        (response, others): (&Response, &[&Response]),
        keys: impl Fn() -> VisitKeys<'k>,
        known: &KnownData,
        at_unix_us: Option<u64>,
        table: &mut Table,
    ) -> anyhow::Result<()> {
        let Some(clips) = self.find(response) else {
            return Ok(());
        };
        let shown = |clip: usize| {
            let clip = clip.checked_sub(1).and_then(|at| clips.get(at));
            clip.and_then(|clip| find_episode(response, clip, known))
        };
        let played = |clip: Option<u16>| self.find_partner_clip(response, clip?);
        // Two clips at most: a row borrows the policies of its clip.
        let policies = [1, 2].map(|number| {
            let clip = played(Some(number));
            clip.map_or(String::new(), PartnerClip::policies)
        });
        let row = |clip: Option<u16>, kind: &'static str| {
            let (episode, seat) = clip.and_then(|clip| shown(clip.into())).unzip();
            let own = played(clip);
            let at = clip.and_then(|clip| usize::from(clip).checked_sub(1));
            let policies = at.and_then(|at| policies.get(at));
            AnnotationRow {
                clip_seed: own.map(PartnerClip::seed),
                clip_policies: policies.map_or("", String::as_str),
                clip_first_tick: own.map(|clip| clip.first),
                clip_end_tick: own.map(|clip| clip.end),
                clip,
                clip_episode_id: episode.unwrap_or_default(),
                clip_seat: seat,
                kind,
                first_tick: None,
                end_tick: None,
                value: None,
                label: "",
                text: None,
                left: None,
                at_unix_us,
            }
        };
        match response.item.as_str() {
            "rating" => {
                let samples: RatingSamples = serde_json::from_str(&response.value)?;
                for (at, value) in (0..).zip(&samples.values) {
                    let tick = samples
                        .first
                        .saturating_add(samples.every_ticks.saturating_mul(at));
                    let Some(value) = *value else { continue };
                    table.add(&(
                        keys(),
                        AnnotationRow {
                            first_tick: Some(tick),
                            end_tick: Some(tick.saturating_add(samples.every_ticks.max(1) - 1)),
                            value: Some(value),
                            ..row(Some(1), "rating")
                        },
                    ))?;
                }
            }
            "marks" => {
                let spans: Vec<MarkedSpan> = serde_json::from_str(&response.value)?;
                for span in &spans {
                    table.add(&(
                        keys(),
                        AnnotationRow {
                            first_tick: Some(span.first),
                            end_tick: Some(span.end),
                            label: &span.label,
                            text: Some(Typed(&span.text)),
                            ..row(Some(1), "mark")
                        },
                    ))?;
                }
            }
            "choice" => {
                let left = others.iter().find(|other| other.item == "left");
                let left = left.and_then(|left| left.value.parse().ok());
                let chosen = response.value.parse().ok();
                table.add(&(
                    keys(),
                    AnnotationRow {
                        left,
                        ..row(chosen, "choice")
                    },
                ))?;
            }
            "missing" => table.add(&(keys(), row(None, "missing")))?,
            _ => {}
        }
        Ok(())
    }
}

/// The episode of a clip, and the person's seat in it: among the ended episodes of their last visit to the stage before.
fn find_episode<'a>(
    response: &Response,
    (stage, number): &Clip,
    known: &'a KnownData,
) -> Option<(&'a str, u8)> {
    let played = known.episodes.iter().filter_map(|episode| {
        let people = episode
            .participants
            .iter()
            .position(|who| *who == response.participant);
        let seat = people.filter(|_| episode.stage == *stage && episode.ended_at.is_some())?;
        let visit = *episode.visits.get(seat)?;
        (visit < response.visit).then_some((visit, episode, seat as u8))
    });
    let played: Vec<_> = played.collect();
    let last = played.iter().map(|(visit, ..)| *visit).max()?;
    let mut of_visit = played.into_iter().filter(|(visit, ..)| *visit == last);
    let (_, episode, seat) = match number {
        None => of_visit.next_back()?,
        Some(number) => of_visit.nth(number.checked_sub(1)?)?,
    };
    Some((episode.id.as_str(), seat))
}
