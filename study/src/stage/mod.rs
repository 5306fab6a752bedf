//! The stage types: one module each, with its data, the reader of its fields, and their meanings.

use protocol::control::{Answer, Draft, Farewell, StageView};
use serde::Serialize;

use crate::folder::Source;
use crate::page::TextPage;
use crate::read::Fields;
use crate::refusal::EventRefusal;
use crate::screening::Screening;
use crate::survey::read::read_stage;
use crate::survey::{self, Mark, Survey};

pub(crate) mod ai_partner;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod consent;
pub(crate) mod course;
pub(crate) mod debrief;
pub(crate) mod directive_buttons;
pub(crate) mod drawn_partner;
pub(crate) mod end;
pub(crate) mod env;
mod environment;
pub(crate) mod external;
pub(crate) mod instructions;
pub(crate) mod live;
pub(crate) mod lobby;
mod module_file;
pub(crate) mod players;
mod python;
pub(crate) mod quiz;
mod shared_seat;
pub(crate) mod watch;
mod world;

pub use self::ai_partner::{
    AiPartner, CERTIFICATE, CompiledModel, DEMONSTRATION, Model, PARTNER_AT, PartnerOrigin,
    is_demonstration,
};
pub use self::chat::{Chat, Writing};
pub use self::consent::{AGREED, Consent};
pub use self::course::{EnvCourse, Mode, Until};
pub use self::debrief::Debrief;
pub use self::directive_buttons::{DirectiveButton, DirectiveButtons};
pub use self::drawn_partner::DrawnPartner;
pub use self::end::EndStage;
pub use self::env::{Capture, Env, HudGauge, Rest, RunOn, Screen};
pub use self::external::{External, ExternalExit};
pub use self::instructions::Instructions;
pub use self::live::{HudFacts, live_types, names};
pub use self::lobby::{Lobby, MatchOrder, Matching, OnTimeout, PresenceCheck};
pub use self::module_file::ModuleFile;
pub use self::players::{AnySeat, Player, SeatChoice};
pub use self::python::{PythonFile, PythonWorld};
pub use self::quiz::{Quiz, QuizChoice, QuizQuestion};
pub use self::shared_seat::{SharedSeat, Sharing};
pub use self::watch::{
    ChooseTask, ClipSource, ClipView, MarkLabel, MarkTask, MarkedSpan, PartnerEpisode, RateTask,
    RatingSamples, Watch, WatchClip,
};
pub use self::world::WorldFile;

/// One node of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Its id, unique in the study.
    pub id: String,
    /// The description.
    #[serde(flatten)]
    pub kind: StageKind,
}

/// The type of a stage. In the file: `type`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a study has few stages")]
pub enum StageKind {
    /// The check of device and connection: the first stage of a study that asks for it. No stage of the file.
    Screening(Screening),
    /// A text to agree to.
    Consent(Consent),
    /// Pages to read.
    Instructions(Instructions),
    /// Questions that have right answers.
    Quiz(Quiz),
    /// A form.
    Survey(Survey),
    /// The waiting room that makes a group.
    Lobby(Lobby),
    /// Episodes of an environment.
    Env(Env),
    /// Time in which a group writes to each other.
    Chat(Chat),
    /// A page of another site.
    External(External),
    /// Episodes that are watched again.
    Watch(Watch),
    /// The debriefing at the end.
    Debrief(Debrief),
    /// The last page.
    End(EndStage),
}

impl StageKind {
    /// The AI partners that it calls, also those that play in clips.
    pub(crate) fn ai_partners_mut(&mut self) -> Vec<&mut AiPartner> {
        match self {
            Self::Watch(watch) => {
                let episodes = watch.clips.iter_mut();
                let episodes = episodes.filter_map(|clip| match &mut clip.source {
                    ClipSource::Partners(episode) => Some(&mut episode.players),
                    ClipSource::Own { .. } => None,
                });
                episodes.flatten().collect()
            }
            Self::Lobby(lobby) => {
                let drawn = lobby.partner.iter_mut();
                let drawn = drawn.flat_map(|drawn| drawn.choices.values_mut());
                lobby.bot.iter_mut().chain(drawn).collect()
            }
            Self::Env(env) => {
                let seated = env.players.iter_mut().flat_map(|player| match player {
                    Player::Bot(bot) => vec![bot],
                    Player::Drawn(drawn) => drawn.choices.values_mut().collect(),
                    Player::Own | Player::Partner | Player::Vacant => Vec::new(),
                });
                let shared = env.shared_seat.iter_mut();
                let shared = shared.flat_map(|shared| &mut shared.partners);
                let called = env.on_disconnect.bot.iter_mut().chain(seated);
                called.chain(shared).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The AI partners that it may call for an episode with people.
    pub fn ai_partners(&self) -> Vec<&AiPartner> {
        match self {
            Self::Lobby(lobby) => {
                let drawn = lobby.partner.iter();
                let drawn = drawn.flat_map(|drawn| drawn.choices.values());
                lobby.bot.iter().chain(drawn).collect()
            }
            Self::Env(env) => {
                let shared = env.shared_seat.iter();
                let shared = shared.flat_map(|shared| &shared.partners);
                let called = env.on_disconnect.bot.iter().chain(env.ai_partners());
                called.chain(shared).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The partners that the study draws for it.
    pub(crate) fn drawn_partners(&self) -> Vec<&DrawnPartner> {
        match self {
            Self::Lobby(lobby) => lobby.partner.iter().collect(),
            Self::Env(env) => {
                let players = env.players.iter();
                let drawn = players.filter_map(|player| match player {
                    Player::Drawn(drawn) => Some(drawn),
                    _ => None,
                });
                drawn.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Its name in the file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Screening(_) => "screening",
            Self::Consent(_) => "consent",
            Self::Instructions(_) => "instructions",
            Self::Quiz(_) => "quiz",
            Self::Survey(_) => "survey",
            Self::Lobby(_) => "lobby",
            Self::Env(_) => "env",
            Self::Chat(_) => "chat",
            Self::External(_) => "external",
            Self::Watch(_) => "watch",
            Self::Debrief(_) => "debrief",
            Self::End(_) => "end",
        }
    }

    /// Returns whether a group is there together.
    pub fn is_together(&self) -> bool {
        match self {
            Self::Env(env) => env.people() > 1,
            Self::Chat(_) => true,
            _ => false,
        }
    }

    /// Returns the terms on which people write to each other there, if they do.
    pub fn writing(&self) -> Option<&Writing> {
        match self {
            Self::Env(env) => env.screen.chat.as_ref(),
            Self::Chat(chat) => Some(&chat.writing),
            _ => None,
        }
    }

    /// The pages that it shows.
    pub(crate) fn pages(&self) -> Vec<&TextPage> {
        match self {
            Self::Consent(it) => vec![&it.page],
            Self::Instructions(it) => it.pages.iter().collect(),
            Self::Debrief(it) => vec![&it.page],
            Self::End(it) => vec![&it.page],
            Self::Chat(it) => it.page.iter().collect(),
            Self::Watch(it) => it.page.iter().collect(),
            Self::Env(it) => it.screen.rest.iter().map(|rest| &rest.page).collect(),
            Self::Screening(_)
            | Self::Quiz(_)
            | Self::Survey(_)
            | Self::Lobby(_)
            | Self::External(_) => Vec::new(),
        }
    }

    /// The pages into which values can be set.
    pub(crate) fn pages_mut(&mut self) -> Vec<&mut TextPage> {
        match self {
            Self::Instructions(it) => it.pages.iter_mut().collect(),
            Self::Debrief(it) => vec![&mut it.page],
            Self::End(it) => vec![&mut it.page],
            Self::Chat(it) => it.page.iter_mut().collect(),
            Self::Watch(it) => it.page.iter_mut().collect(),
            Self::Env(it) => it.screen.rest.iter_mut().map(|it| &mut it.page).collect(),
            _ => Vec::new(),
        }
    }

    /// The marks of the items that have a right answer.
    pub fn mark_answers(&self, answers: &[Answer]) -> Vec<Mark> {
        match self {
            Self::Survey(it) => it.mark_answers(answers),
            Self::Quiz(it) => it.form("").mark_answers(answers),
            _ => Vec::new(),
        }
    }

    /// Checks a draft: that its stage can be half done, and that it has only items of the stage.
    ///
    /// # Errors
    /// A [`EventRefusal`] with the name of the item, or of the kind of stage.
    pub(crate) fn check_draft(&self, draft: &Draft) -> Result<(), EventRefusal> {
        match self {
            Self::Instructions(_) => {
                survey::check_names(&Default::default(), &draft.answers).map(drop)
            }
            Self::Survey(it) => survey::check_names(&it.form, &draft.answers).map(drop),
            Self::Quiz(it) => survey::check_names(&it.form("").form, &draft.answers).map(drop),
            Self::Watch(it) => it.check_draft(&draft.answers),
            Self::Env(_) | Self::Chat(_) if self.writing().is_some_and(|it| it.may_keep(draft)) => {
                Ok(())
            }
            _ => Err(EventRefusal::NotByPage {
                stage: self.name().to_owned(),
            }),
        }
    }
}

impl Stage {
    /// Returns the view of the participant's page, in a language. [`crate::Progress::view`] adds what depends on the
    /// participant, such as the outcome of an end stage and the attempts at a quiz; the server adds codes and pay.
    pub fn view(&self, language: &str) -> StageView {
        self.view_with(language, &|page| page.html_in(language).to_owned())
    }

    /// The view of the participant's page, with pages as `show` writes them.
    pub(crate) fn view_with(
        &self,
        language: &str,
        show: &dyn Fn(&TextPage) -> String,
    ) -> StageView {
        match &self.kind {
            StageKind::Screening(it) => it.view(),
            StageKind::Consent(it) => StageView::Consent {
                page: show(&it.page),
                sha256: it.page.sha256(language),
            },
            StageKind::Instructions(it) => StageView::Instructions {
                pages: it.pages.iter().map(show).collect(),
                min_s: it.min_s,
            },
            StageKind::Quiz(it) => StageView::Quiz {
                surveyjs: it.form(language).surveyjs.to_string(),
                attempt: 1,
                attempts: it.attempts,
            },
            StageKind::Lobby(it) => StageView::Lobby {
                timeout_s: it.timeout_s,
            },
            StageKind::Env(_) => StageView::Env,
            StageKind::Chat(it) => StageView::Chat {
                page: it.page.as_ref().map_or(String::new(), show),
            },
            StageKind::Survey(it) => StageView::Survey {
                surveyjs: it.in_language(language).to_string(),
            },
            StageKind::External(it) => StageView::External {
                url: it.url.clone(),
                ticket: String::new(),
                code: it.code.is_some(),
                must_return: it.must_return,
                can_give_up: it.or_else.is_some(),
            },
            StageKind::Watch(it) => StageView::Watch {
                page: it.page.as_ref().map_or(String::new(), show),
                task: it.describe_task(language, false),
            },
            StageKind::Debrief(it) => StageView::Debrief {
                page: show(&it.page),
                allow_withdraw: it.allow_withdraw,
            },
            StageKind::End(it) => StageView::End {
                outcome: it.outcome.name().to_owned(),
                page: show(&it.page),
                farewell: Farewell::default(),
            },
        }
    }
}

/// The stage types.
#[derive(Clone, Copy)]
enum Type {
    Consent,
    Instructions,
    Quiz,
    Survey,
    Lobby,
    Env,
    Chat,
    Debrief,
    External,
    Watch,
    End,
}

const TYPES: [(&str, Type); 11] = [
    ("consent", Type::Consent),
    ("instructions", Type::Instructions),
    ("quiz", Type::Quiz),
    ("survey", Type::Survey),
    ("lobby", Type::Lobby),
    ("env", Type::Env),
    ("chat", Type::Chat),
    ("debrief", Type::Debrief),
    ("external", Type::External),
    ("watch", Type::Watch),
    ("end", Type::End),
];

/// Reads a stage, except how it is walked. Also returns its id, as far as it has one, so that ids are compared even if
/// there are other faults.
pub(crate) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> (Option<String>, Option<Stage>) {
    let doc = "The name of the stage in the data. Unique in the study.";
    let id = fields.key("id", doc).require_key("how", |place| place.id());
    let doc = "The type of the stage. It decides which other keys exist.";
    let kind = fields.variants("type", doc, "stage type", &TYPES, |kind, fields| {
        kind_of(source, kind, fields)
    });
    let stage = id.clone().zip(kind).map(|(id, kind)| Stage { id, kind });
    (id, stage)
}

fn kind_of(source: Source<'_>, kind: Type, fields: &mut Fields<'_>) -> Option<StageKind> {
    match kind {
        Type::Consent => consent::read(source, fields).map(StageKind::Consent),
        Type::Instructions => instructions::read(source, fields).map(StageKind::Instructions),
        Type::Quiz => quiz::read(source, fields).map(StageKind::Quiz),
        Type::Survey => read_stage(source, fields).map(StageKind::Survey),
        Type::Lobby => lobby::read(source, fields).map(StageKind::Lobby),
        Type::Env => env::read(source, fields).map(StageKind::Env),
        Type::Chat => chat::read(source, fields).map(StageKind::Chat),
        Type::Debrief => debrief::read(source, fields).map(StageKind::Debrief),
        Type::External => external::read(fields).map(StageKind::External),
        Type::Watch => watch::read(source, fields).map(StageKind::Watch),
        Type::End => end::read(source, fields).map(StageKind::End),
    }
}
