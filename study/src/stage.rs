//! The stage types: what each holds, and how its fields are read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use protocol::control::StageView;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::sha256;
use crate::keys;
use crate::page::{self, Page};
use crate::read::{Fields, Place};
use crate::survey::{self, Survey};
use crate::terms::{self, HiddenTab, InputDelay, OnDisconnect};

/// One node of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Its id, unique in the study.
    pub id: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What a stage is. In the file: `type`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    /// Pages to read.
    Instructions(Instructions),
    /// The waiting room that makes a group.
    Lobby(Lobby),
    /// An episode of an environment.
    Env(Env),
    /// A form.
    Survey(Survey),
    /// The last page.
    End(End),
}

/// Pages to read, back and next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instructions {
    /// The pages, in order; at least one.
    pub pages: Vec<Page>,
}

/// The waiting room that makes a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lobby {
    /// People of a group.
    pub group_size: u8,
    /// Seconds until `on_timeout`.
    pub timeout_s: u32,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// The AI partner; there if `on_timeout` is `bot`.
    pub bot: Option<Bot>,
}

/// What a lobby does when its time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// AI partners take the places that are empty.
    Bot,
    /// The person waits on.
    Wait,
}

/// An AI partner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bot {
    /// Name of the policy.
    pub policy: String,
    /// Whether people are told.
    pub disclose: bool,
}

/// An episode of an environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Env {
    /// Environment id.
    pub env: String,
    /// Environment version.
    pub version: String,
    /// The module of an environment of one's own; none for one that the program brings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleFile>,
    /// Who plays: one entry a seat.
    pub players: Vec<Player>,
    /// Parameters, as JSON; the environment knows them.
    pub config: Value,
    /// The longest prediction, ticks; none for what [`Env::window`] makes of the tick rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u8>,
    /// Bounds of the input delay.
    pub input_delay: InputDelay,
    /// Key codes by action name; empty for the environment's own.
    pub keys: BTreeMap<String, Vec<String>>,
    /// What happens when a person is gone.
    pub on_disconnect: OnDisconnect,
    /// What happens when the page of a person is out of sight.
    pub hidden_tab: HiddenTab,
}

/// An environment module in the study folder.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ModuleFile {
    /// The file, relative to the study folder.
    pub file: String,
    /// SHA-256 of its bytes, lower-case hex; part of the study's hash.
    pub sha256: String,
    /// Its bytes.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl fmt::Debug for ModuleFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.file, self.sha256)
    }
}

/// Who takes a seat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Player {
    /// The participant.
    #[serde(rename = "self")]
    Own,
    /// Another of the group.
    Partner,
    /// An AI partner.
    Bot(Bot),
    /// Nobody: the seat does nothing.
    Vacant,
}

impl Player {
    /// Whether a person takes the seat.
    pub fn is_person(&self) -> bool {
        matches!(self, Self::Own | Self::Partner)
    }
}

impl Env {
    /// Seats that people take.
    pub fn people(&self) -> usize {
        self.players
            .iter()
            .filter(|player| player.is_person())
            .count()
    }
}

/// The last page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// The outcome of those who come here by the whole way.
    pub outcome: Outcome,
    /// What they read.
    #[serde(rename = "file")]
    pub page: Page,
}

/// How a participant's way through the study ended: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the field's own words")]
pub enum Outcome {
    Completed,
    NoConsent,
    Ineligible,
    FailedQuiz,
    LobbyTimeout,
    PartnerLeft,
    Technical,
    Withdrew,
    TimedOut,
    StudyFull,
}

impl Outcome {
    /// Every outcome and its name.
    pub const ALL: [(&'static str, Self); 10] = [
        ("completed", Self::Completed),
        ("no_consent", Self::NoConsent),
        ("ineligible", Self::Ineligible),
        ("failed_quiz", Self::FailedQuiz),
        ("lobby_timeout", Self::LobbyTimeout),
        ("partner_left", Self::PartnerLeft),
        ("technical", Self::Technical),
        ("withdrew", Self::Withdrew),
        ("timed_out", Self::TimedOut),
        ("study_full", Self::StudyFull),
    ];

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl Stage {
    /// What the participant's page shows. The outcome of an end stage is the participant's own:
    /// [`crate::Progress::view`] puts it in.
    pub fn view(&self) -> StageView {
        match &self.kind {
            Kind::Instructions(it) => StageView::Instructions {
                pages: it.pages.iter().map(|page| page.html.clone()).collect(),
            },
            Kind::Lobby(it) => StageView::Lobby {
                timeout_s: it.timeout_s,
            },
            Kind::Env(_) => StageView::Env,
            Kind::Survey(it) => StageView::Survey {
                surveyjs: it.surveyjs.to_string(),
            },
            Kind::End(it) => StageView::End {
                outcome: it.outcome.name().to_owned(),
                page: it.page.html.clone(),
            },
        }
    }
}

/// The stage types that this version knows.
#[derive(Clone, Copy)]
enum Type {
    Instructions,
    Lobby,
    Env,
    Survey,
    End,
}

const TYPES: [(&str, Type); 5] = [
    ("instructions", Type::Instructions),
    ("lobby", Type::Lobby),
    ("env", Type::Env),
    ("survey", Type::Survey),
    ("end", Type::End),
];

/// Reads a stage, but for how it is walked. Its id comes too, as far as it is one, so that ids are compared even beside
/// other faults.
pub(crate) fn read(
    dir: &Path,
    language: &str,
    fields: &mut Fields<'_>,
) -> (Option<String>, Option<Stage>) {
    let id = fields.need("id", "how").and_then(|place| place.id());
    let kind = fields
        .need("type", "instructions")
        .and_then(|place| place.word("stage type", &TYPES));
    let Some(kind) = kind else {
        fields.forgive();
        return (id, None);
    };
    let kind = match kind {
        Type::Instructions => instructions(dir, fields).map(Kind::Instructions),
        Type::Lobby => lobby(fields).map(Kind::Lobby),
        Type::Env => env(dir, fields).map(Kind::Env),
        Type::Survey => survey::read_stage(dir, language, fields).map(Kind::Survey),
        Type::End => end(dir, fields).map(Kind::End),
    };
    let stage = id.clone().zip(kind).map(|(id, kind)| Stage { id, kind });
    (id, stage)
}

fn instructions(dir: &Path, fields: &mut Fields<'_>) -> Option<Instructions> {
    let places = fields
        .need("pages", "[how.md]")?
        .list("Markdown files", 50)?;
    let pages: Vec<Option<Page>> = places.iter().map(|place| page::read(dir, place)).collect();
    let pages: Vec<Page> = pages.into_iter().collect::<Option<_>>()?;
    let size: usize = pages.iter().map(|page| page.html.len()).sum();
    if size > MAX_VIEW {
        fields.whole.wrong(format!(
            "the pages have {size} bytes as HTML; the limit of a stage is {MAX_VIEW}, so split it"
        ));
        return None;
    }
    Some(Instructions { pages })
}

/// The most bytes of a stage's view, so that it fits a message.
pub(crate) const MAX_VIEW: usize = protocol::control::MAX_MESSAGE - 4096;

fn lobby(fields: &mut Fields<'_>) -> Option<Lobby> {
    let group_size = fields
        .need("group_size", "2")
        .and_then(|p| p.whole(2..=MAX_SEATS, "people"));
    let timeout_s = fields
        .need("timeout_s", "60")
        .and_then(|p| p.whole(5..=3600, "seconds"));
    let choices = [("bot", OnTimeout::Bot), ("wait", OnTimeout::Wait)];
    let on_timeout = fields
        .need("on_timeout", "bot")
        .and_then(|p| p.word("choice", &choices));
    let place = fields.get("bot");
    let there = place.is_some();
    let bot = place.and_then(|place| bot(&place));
    match on_timeout {
        Some(OnTimeout::Bot) if !there => {
            let path = format!("{}.bot", fields.whole.path);
            let message = "missing, but `on_timeout: bot` needs it; write for example `bot: {policy: cook, disclose: true}`";
            fields.whole.report.add(fields.at(), &path, message);
            None
        }
        Some(OnTimeout::Wait) if there => {
            let path = format!("{}.bot", fields.whole.path);
            let message =
                "never used, as `on_timeout` is `wait`; remove it or write `on_timeout: bot`";
            fields
                .whole
                .report
                .add(fields.whole.node.locate("bot"), &path, message);
            None
        }
        Some(OnTimeout::Bot) if bot.is_none() => None,
        on_timeout => Some(Lobby {
            group_size: group_size?,
            timeout_s: timeout_s?,
            on_timeout: on_timeout?,
            bot,
        }),
    }
}

/// The most seats of an episode.
#[allow(clippy::cast_possible_truncation, reason = "16")]
const MAX_SEATS: u8 = protocol::MAX_SEATS as u8;

pub(crate) fn bot(place: &Place<'_>) -> Option<Bot> {
    let mut fields = place.fields("an AI partner")?;
    let policy = fields
        .need("policy", "cook")
        .and_then(|place| place.text(100));
    let disclose = fields.or("disclose", true, |place| place.flag());
    fields.done();
    Some(Bot {
        policy: policy?,
        disclose: disclose?,
    })
}

fn env(dir: &Path, fields: &mut Fields<'_>) -> Option<Env> {
    let id = fields
        .need("env", "overcooked@2.0.0")
        .and_then(|place| env_id(&place));
    let module = fields.or("module", None, |place| module(dir, &place).map(Some));
    let players = fields.or("players", vec![Player::Own], |place| players(&place));
    let config = fields.or("config", Value::Object(Default::default()), |place| {
        place.entries("the environment's parameters")?;
        Some(place.json())
    });
    let input_delay = fields.or("input_delay", InputDelay { min: 0, max: 3 }, |place| {
        terms::input_delay(&place)
    });
    let greatest = input_delay.map_or(0, |delay| delay.max);
    let window = fields.or("window", None, |place| {
        terms::window(&place, greatest).map(Some)
    });
    let keys = fields.or("keys", BTreeMap::new(), |place| keys::read(&place));
    let on_disconnect = fields.or("on_disconnect", OnDisconnect::default(), |place| {
        terms::on_disconnect(&place)
    });
    let hidden_tab = fields.or("hidden_tab", HiddenTab::default(), |place| {
        terms::hidden_tab(&place)
    });
    let (env, version) = id?;
    Some(Env {
        env,
        version,
        module: module?,
        players: players?,
        config: config?,
        window: window?,
        input_delay: input_delay?,
        keys: keys?,
        on_disconnect: on_disconnect?,
        hidden_tab: hidden_tab?,
    })
}

/// The largest environment module, bytes; `module::Limits` of the host has the same bound.
const MAX_MODULE: u64 = 16 << 20;

fn module(dir: &Path, place: &Place<'_>) -> Option<ModuleFile> {
    let file = place.text(200)?;
    let bytes = page::bytes(dir, place, &file, MAX_MODULE, "my_env.wasm")?;
    Some(ModuleFile {
        sha256: sha256(&bytes),
        file,
        bytes,
    })
}

fn env_id(place: &Place<'_>) -> Option<(String, String)> {
    let text = place.text(100)?;
    let split = text
        .split_once('@')
        .filter(|(id, version)| !id.is_empty() && is_version(version));
    if split.is_none() {
        place.wrong(format!("`{text}` names no version; write `id@version` with three numbers, such as `overcooked@2.0.0`"));
    }
    split.map(|(id, version)| (id.to_owned(), version.to_owned()))
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3
        && parts
            .iter()
            .all(|part| part.len() < 10 && part.parse::<u32>().is_ok())
}

fn players(place: &Place<'_>) -> Option<Vec<Player>> {
    let places = place.list("players", usize::from(MAX_SEATS))?;
    let players: Vec<Option<Player>> = places.iter().map(player).collect();
    let players: Vec<Player> = players.into_iter().collect::<Option<_>>()?;
    let own = players
        .iter()
        .filter(|player| **player == Player::Own)
        .count();
    if own != 1 {
        place.wrong(format!("`self` is there {own} times; write it once, and for each other seat `partner`, an AI such as `{{policy: cook}}`, or `vacant`: `[self, partner]`"));
        return None;
    }
    Some(players)
}

fn player(place: &Place<'_>) -> Option<Player> {
    if place.is_block() {
        return bot(place).map(Player::Bot);
    }
    let words = ["self", "partner", "vacant"];
    let word = place.word("player", &words.map(|word| (word, word)))?;
    Some(match word {
        "self" => Player::Own,
        "partner" => Player::Partner,
        _ => Player::Vacant,
    })
}

fn end(dir: &Path, fields: &mut Fields<'_>) -> Option<End> {
    let outcome = fields.or("outcome", Outcome::Completed, |place| {
        place.word("outcome", &Outcome::ALL)
    });
    let page = fields
        .need("file", "thanks.md")
        .and_then(|place| page::read(dir, &place));
    Some(End {
        outcome: outcome?,
        page: page?,
    })
}
