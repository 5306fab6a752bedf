//! A clip: a part of an episode of the participant, or of one that AI partners play by themselves.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::folder::Source;
use crate::limits::{MAX_EPISODES, MAX_SEATS};
use crate::read::{Cursor, Fields};
use crate::stage::ai_partner::{self, AiPartner};
use crate::stage::env::{Env, RunOn};
use crate::stage::environment::{environment_of, is_python, merge_over, read_config};
use crate::stage::module_file::{self, ModuleFile};
use crate::stage::players::Player;
use crate::stage::world::WorldFile;
use crate::timeline::fill;

/// A part of an episode that is watched.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WatchClip {
    /// The episode.
    #[serde(flatten)]
    pub source: ClipSource,
    /// The picture.
    pub view: ClipView,
    /// The second of the episode at which it begins.
    pub from_s: u32,
    /// The second at which it ends; `None` for the end of the episode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_s: Option<u32>,
}

/// The episode of a clip.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ClipSource {
    /// One that the participant played.
    Own {
        /// The env stage.
        stage: String,
        /// The number of the episode in the last visit to the stage, from 1; `None` for the last one.
        #[serde(skip_serializing_if = "Option::is_none")]
        episode: Option<u16>,
    },
    /// One that AI partners play by themselves.
    Partners(Box<PartnerEpisode>),
}

/// An episode that AI partners play by themselves: the same for everybody who watches it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartnerEpisode {
    /// Environment id.
    pub env: String,
    /// Environment version.
    pub version: String,
    /// The module of the researcher's own environment; `None` for a built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleFile>,
    /// The file of a grid world; `None` for an environment that is a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world: Option<WorldFile>,
    /// Parameters, as JSON.
    pub config: Value,
    /// The players, one entry a seat.
    pub players: Vec<AiPartner>,
    /// The seed of the episode.
    pub seed: u32,
}

impl PartnerEpisode {
    /// Its environment, as an env stage has it. The server alone steps it, so it may keep secrets.
    pub fn env(&self) -> Env {
        let players = self.players.iter().cloned().map(Player::Bot).collect();
        Env {
            module: self.module.clone(),
            world: self.world.clone(),
            run: RunOn::Host,
            ..Env::plain(
                [&self.env, &self.version].map(Clone::clone),
                self.config.clone(),
                players,
            )
        }
    }
}

/// The picture of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClipView {
    /// As the participant's seat could see the world.
    #[default]
    Own,
    /// The whole world.
    Whole,
}

/// The message about an environment in Python.
const IN_PYTHON: &str = "a clip of AI partners needs a built-in environment, a grid world or a module; an environment in Python \
                         can be shown as an episode of the participant";

/// The keys of an episode of AI partners, beside `env`.
const OF_PARTNERS: [&str; 4] = ["module", "config", "players", "seed"];

pub(super) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<WatchClip> {
    let mut fields = place.fields("a clip")?;
    let doc = "The env stage of an episode of the participant. It comes before this stage.";
    let stage = fields.key("stage", doc).maybe(|place| place.id());
    let doc = "The number of the episode among those of the participant's last visit to the stage, from 1. By \
               default, the last one.";
    let episode =
        (fields.key("episode", doc)).maybe(|place| place.read_whole(1..=MAX_EPISODES, ""));
    let partners = partner_episode(source, &mut fields);
    let doc = "The picture: as the participant's seat could see the world (`own`), or the whole world (`whole`). By default \
               `own`. An episode of AI partners is always shown whole.";
    let view = fields.key("view", doc).maybe(|place| {
        let views = [("own", ClipView::Own), ("whole", ClipView::Whole)];
        place.read_word("view", &views)
    });
    let doc = "The second of the episode at which the clip begins.";
    let from_s = (fields.key("from_s", doc)).or(0, |place| place.read_whole(0..=86_400, "seconds"));
    let doc =
        "The second of the episode at which the clip ends. By default, the end of the episode.";
    let to_s = (fields.key("to_s", doc)).maybe(|place| place.read_whole(1..=86_400, "seconds"));
    let (from_s, to_s) = (from_s?, to_s?);
    if let Some(to_s) = to_s.filter(|to_s| *to_s <= from_s) {
        let message = format!("`from_s` is {from_s} and `to_s` is {to_s}; `to_s` must be greater");
        fields.whole.wrong_at("to_s", message);
        return None;
    }
    fields.done();
    let (stage, episode, partners, view) = (stage?, episode?, partners?, view?);
    let usual = match partners {
        Some(_) => ClipView::Whole,
        None => ClipView::Own,
    };
    let clip_source = match (stage, partners) {
        (Some(stage), None) => ClipSource::Own { stage, episode },
        (None, Some(partners)) if episode.is_none() && view != Some(ClipView::Own) => {
            ClipSource::Partners(Box::new(partners))
        }
        (stage, partners) => {
            let (key, message) = fault(stage.is_some(), partners.is_some(), episode.is_some());
            place.wrong_at(key, message);
            return None;
        }
    };
    Some(WatchClip {
        source: clip_source,
        view: view.unwrap_or(usual),
        from_s,
        to_s,
    })
}

/// The reason why the keys of a clip do not fit together.
fn fault(has_stage: bool, has_env: bool, has_episode: bool) -> (&'static str, &'static str) {
    match (has_stage, has_env) {
        (true, true) => (
            "env",
            "a clip shows an episode of the participant (`stage`) or one of AI partners (`env`); remove one of the two",
        ),
        (false, true) if has_episode => (
            "episode",
            "AI partners play one episode, by its `seed`; remove this key",
        ),
        (false, true) => (
            "view",
            "the participant has no seat in an episode of AI partners; remove this key, or write `view: whole`",
        ),
        _ => (
            "",
            "which episode? Write `stage: play` for one that the participant played, or `env`, `players` and `seed` for one \
             that AI partners play",
        ),
    }
}

/// Reads the episode of AI partners, if there is one.
fn partner_episode(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Option<PartnerEpisode>> {
    let doc = "The environment and its exact version, for an episode that AI partners play by themselves; as in an env stage, \
               but not in Python.";
    let environment = fields.key("env", doc).maybe(|place| {
        if is_python(&place) {
            place.report_problem(IN_PYTHON);
            return None;
        }
        environment_of(source, &place, false)
    });
    let doc = "The file of your own environment module in the study folder, as in an env stage.";
    let module = fields
        .key("module", doc)
        .maybe(|place| module_file::read(source, &place));
    let doc = "The parameters of the environment, without names in `{{ }}`: the clip is the same for everybody.";
    let config = fields.key("config", doc);
    let config = config.or(Value::Object(Map::new()), |place| read_config(&place));
    let doc = "The AI partners of the episode, one entry per seat: a block such as `{policy: agent.onnx}`, or the name of \
               one of `partners`.";
    let players = fields.key("players", doc).maybe(|place| {
        let places = place.list_of("players", 1..=usize::from(MAX_SEATS))?;
        let read = places.iter().map(|place| ai_partner::read(source, place));
        let read: Vec<Option<AiPartner>> = read.collect();
        read.into_iter().collect::<Option<Vec<_>>>()
    });
    let doc = "The seed of the episode. With the same seed, environment and players, the episode is the same.";
    let seed = (fields.key("seed", doc)).or(0, |place| place.read_whole(0..=u32::MAX, ""));
    let place = &fields.whole;
    let (environment, module, config) = (environment?, module?, config?);
    let (players, seed) = (players?, seed?);
    let Some(environment) = environment else {
        let stray = OF_PARTNERS.iter().find(|key| place.child_at(key).is_some());
        let message = "belongs to an episode of AI partners; name its `env`, such as `env: overcooked@2.0.0`, or remove this key";
        return match stray {
            Some(key) => {
                place.wrong_at(key, message);
                None
            }
            None => Some(None),
        };
    };
    let Some(players) = players else {
        place.wrong_at("", "who plays? Write one AI partner a seat, such as `players: [{policy: cook}, {policy: agent.onnx}]`");
        return None;
    };
    let (world, file) = environment.world.unzip();
    let config = merge_over(file.unwrap_or_default(), config);
    if let Some((at, _)) = fill::list_references(&config, "config").first() {
        place.wrong_at(at, "a clip is the same for everybody, so a name in `{{ }}` stands for nothing here; write a stage for each \
                            value, and let a block around them shuffle or choose");
        return None;
    }
    let [env, version] = environment.id;
    Some(Some(PartnerEpisode {
        env,
        version,
        module,
        world,
        config,
        players,
        seed,
    }))
}
