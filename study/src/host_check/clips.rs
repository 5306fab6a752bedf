//! Checks of clips beside the facts of the host: whole worlds with secrets, and episodes that AI partners play.

use super::{CalledPartner, HostCheck, PlayedAt};
use crate::host::{EnvFactsByStage, HostFacts};
use crate::limits::MAX_CLIP_TICKS;
use crate::plural::count;
use crate::stage::env::Env;
use crate::stage::{ClipSource, ClipView, PartnerEpisode, StageKind, WatchClip};
use crate::timeline::tree::Bindings;

/// A clip of AI partners, with its place and its path.
struct PartnerClip<'a> {
    at: PlayedAt,
    path: String,
    clip: &'a WatchClip,
    episode: &'a PartnerEpisode,
}

impl HostCheck<'_> {
    /// Every clip, with the index of its stage and its number.
    fn clips(&self) -> impl Iterator<Item = (u16, usize, &WatchClip)> {
        let stages = (0..).zip(self.stages);
        let watched = stages.filter_map(|(index, stage)| match &stage.as_ref()?.kind {
            StageKind::Watch(watch) => Some((index, watch)),
            _ => None,
        });
        watched.flat_map(|(index, watch)| {
            let clips = watch.clips.iter().enumerate();
            clips.map(move |(number, clip)| (index, number, clip))
        })
    }

    fn partner_clips(&self) -> impl Iterator<Item = PartnerClip<'_>> {
        self.clips().filter_map(|(stage, number, clip)| {
            let ClipSource::Partners(episode) = &clip.source else {
                return None;
            };
            let path = format!("{}.clips[{number}]", self.paths[usize::from(stage)]);
            let clip_number = Some(number);
            let at = PlayedAt {
                stage,
                clip: clip_number,
            };
            Some(PartnerClip {
                at,
                path,
                clip,
                episode,
            })
        })
    }

    /// The environments that an AI partner plays: those of an env stage, or that of a clip.
    pub(super) fn variants_at(&self, at: PlayedAt) -> Vec<(Env, Bindings)> {
        let Some(number) = at.clip else {
            return self.variants(at.stage);
        };
        let found = self
            .partner_clips()
            .find(|it| it.at.stage == at.stage && it.at.clip == Some(number));
        let env = found.map(|it| (it.episode.env(), Bindings::new()));
        env.into_iter().collect()
    }

    /// The AI partners of clips.
    pub(super) fn clip_partners(&self) -> Vec<CalledPartner<'_>> {
        let all = self.partner_clips().flat_map(
            |PartnerClip {
                 at, path, episode, ..
             }| {
                let players = episode.players.iter().enumerate();
                players.map(move |(seat, partner)| {
                    let path = format!("{path}.players[{seat}].policy");
                    (path, partner, at, "of this clip")
                })
            },
        );
        all.collect()
    }

    /// Reports clips that would show a whole world with secrets: a viewer may continue to play with that knowledge.
    pub(super) fn check_own_clips(&self, facts: &EnvFactsByStage) {
        let keeps_secrets = |name: &str| {
            let is_one = |index: u16| self.stage(index).is_some_and(|stage| stage.id == name);
            facts
                .iter()
                .any(|((index, _), facts)| facts.is_secret && is_one(*index))
        };
        for (index, number, clip) in self.clips() {
            if let ClipSource::Own { stage, .. } = &clip.source
                && clip.view == ClipView::Whole
                && keeps_secrets(stage)
            {
                let message = format!(
                    "the environment of `{stage}` keeps secrets from players, and the whole world would show them to \
                     participants; write `view: own`"
                );
                let path = &self.paths[usize::from(index)];
                self.fault(&format!("{path}.clips[{number}].view"), message);
            }
        }
    }

    /// Reports clips of AI partners whose environment cannot be opened, whose seats are not those of the environment, or
    /// that never end.
    pub(super) fn check_partner_clips(&self, host: &impl HostFacts) {
        for PartnerClip {
            at,
            path,
            clip,
            episode,
        } in self.partner_clips()
        {
            let env = episode.env();
            let facts = match host.env_facts(&env) {
                Ok(facts) => facts,
                Err(fault) => {
                    self.report_env_fault((at.stage, &path), &env, &fault, &Bindings::new());
                    continue;
                }
            };
            let (players, seats) = (episode.players.len(), usize::from(facts.seats));
            if players != seats {
                let message = format!(
                    "{} here, but `{}@{}` with this config has {}; write one AI partner a seat",
                    count(players, "player"),
                    env.env,
                    env.version,
                    count(seats, "seat"),
                );
                self.fault(&format!("{path}.players"), message);
            }
            let hz = u32::from(facts.tick_hz.max(1));
            let until = clip.to_s.map(|to_s| to_s.saturating_mul(hz));
            let horizon = Some(facts.horizon).filter(|horizon| *horizon > 0);
            let ticks = until.into_iter().chain(horizon).min();
            if ticks.is_none_or(|ticks| ticks > MAX_CLIP_TICKS) {
                let message = format!(
                    "the episode can last longer than {MAX_CLIP_TICKS} ticks, the most of a clip; write `to_s: {}` or less",
                    MAX_CLIP_TICKS / hz
                );
                self.fault(&path, message);
            }
        }
    }
}
