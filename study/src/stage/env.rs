//! Episodes of an environment.

use std::collections::BTreeMap;

use protocol::EnvWay;
use serde::Serialize;
use serde_json::Value;

use super::chat::{self, Writing};
use super::course::{self, EnvCourse};
use super::environment::{self, CONFIG, ENV, Environment, MODULE, merge_over, read_config};
use super::module_file::{self, ModuleFile};
use super::players::{self, Player, SeatChoice};
use super::python::PythonWorld;
use super::shared_seat::{self, SharedSeat};
use super::world::WorldFile;
use crate::disconnect::{self, HiddenTab, InputDelay, OnDisconnect};
use crate::folder::Source;
use crate::formula::TextTemplate;
use crate::keys;
use crate::language_model::LanguageModel;
use crate::page::{self, TextPage};
use crate::partners::NamedPartner;
use crate::read::{Cursor, Fields};
use crate::text::{self, Text};

/// Episodes of an environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Env {
    /// Environment id.
    pub env: String,
    /// Environment version.
    pub version: String,
    /// The module of the researcher's own environment; `None` for a built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleFile>,
    /// The file of a grid world, whose contents are parameters; `None` for an environment that is a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world: Option<WorldFile>,
    /// An environment in Python; `None` for any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<PythonWorld>,
    /// The place where it is stepped.
    #[serde(skip_serializing_if = "RunOn::is_page")]
    pub run: RunOn,
    /// The players, one entry a seat.
    pub players: Vec<Player>,
    /// The seat of the participant, if it is not the place of `self` among the players.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<SeatChoice>,
    /// Parameters, as JSON; the environment knows them.
    pub config: Value,
    /// The number of episodes, and what ends them.
    #[serde(flatten)]
    pub course: EnvCourse,
    /// The longest prediction, ticks; `None` for the default of [`Env::window`] by the tick rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u8>,
    /// Bounds of the input delay.
    pub input_delay: InputDelay,
    /// Key codes by action name; empty for the environment's own.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Controls and displays around the picture.
    #[serde(flatten)]
    pub screen: Screen,
    /// The rules for a person who is gone.
    pub on_disconnect: OnDisconnect,
    /// The rules for hidden tabs.
    pub hidden_tab: HiddenTab,
    /// The language model that writes to the person and has no seat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assistant: Option<Box<LanguageModel>>,
    /// How people share their seats with AI partners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_seat: Option<SharedSeat>,
    /// True if its episodes are demonstrations, for data sets from which policies learn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub demonstration: bool,
    /// True if a host keeps the observations of every step in the record.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub record_observations: bool,
}

/// The place where an environment is stepped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOn {
    /// Every page.
    #[default]
    Page,
    /// A host beside the server.
    Host,
}

impl RunOn {
    fn is_page(&self) -> bool {
        *self == Self::Page
    }
}

/// Controls and displays around the picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Screen {
    /// The effect of a held key.
    pub capture: Capture,
    /// True if there are buttons to touch.
    pub touch: bool,
    /// Seconds of the countdown before tick 0; `None` for a short one, or no countdown in turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub countdown_s: Option<u8>,
    /// The numbers beside the picture.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hud: Vec<HudGauge>,
    /// The rest between episodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// True if the page asks for the whole screen.
    pub fullscreen: bool,
    /// The terms on which people write to each other while they play; `None` if they do not write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<Writing>,
}

/// The effect of a held key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Capture {
    /// Its action again on every tick.
    Hold,
    /// Its action once.
    Press,
}

/// A number beside the picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HudGauge {
    /// The description.
    pub label: Text,
    /// The text or number that it shows.
    pub value: TextTemplate,
}

/// The rest between episodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rest {
    /// The text that participants read.
    #[serde(rename = "file")]
    pub page: TextPage,
    /// Seconds for which it is shown at least.
    pub min_s: u32,
    /// Seconds after which the next episode begins by itself; `None` for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_s: Option<u32>,
}

impl Env {
    /// Episodes of an environment, with the usual value of everything else.
    pub(crate) fn plain([env, version]: [String; 2], config: Value, players: Vec<Player>) -> Self {
        Self {
            env,
            version,
            module: None,
            world: None,
            python: None,
            run: RunOn::Page,
            players,
            seat: None,
            config,
            course: EnvCourse::one(),
            window: None,
            input_delay: USUAL_DELAY,
            keys: BTreeMap::new(),
            screen: Screen {
                capture: Capture::Hold,
                touch: true,
                countdown_s: None,
                hud: Vec::new(),
                rest: None,
                fullscreen: false,
                chat: None,
            },
            on_disconnect: OnDisconnect::default(),
            hidden_tab: HiddenTab::default(),
            assistant: None,
            shared_seat: None,
            demonstration: false,
            record_observations: false,
        }
    }

    /// Returns where its world is stepped.
    pub fn env_way(&self) -> EnvWay {
        match self.run {
            RunOn::Page => EnvWay::Module,
            RunOn::Host => EnvWay::Host,
        }
    }

    /// Seats that people take.
    pub fn people(&self) -> usize {
        self.players
            .iter()
            .filter(|player| player.is_person())
            .count()
    }
}

const DOC: &str = "Episodes of an environment.";

/// The bounds of the input delay if the study names none.
const USUAL_DELAY: InputDelay = InputDelay { min: 0, max: 3 };

pub(super) fn read(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Env> {
    fields.about(DOC);
    let environment = fields.key("env", ENV);
    let environment = environment.require_key("overcooked@2.0.0", |place| {
        environment::environment_of(source, &place, true)
    });
    let module = fields
        .key("module", MODULE)
        .maybe(|place| module_file::read(source, &place));
    let ways = [("page", RunOn::Page), ("host", RunOn::Host)];
    let doc = "Where the environment is stepped. `page`: on every participant's page, so that one's own action is shown at \
               once. `host`: on the server alone, which sends each page what its seat sees; one's own action is shown after a \
               round trip, and no page can know what its seat must not see ([hosts.md](study-file/hosts.md)).";
    let run = fields
        .key("run", doc)
        .maybe(|place| place.read_word("place", &ways));
    let doc = "One entry per seat. `self` (exactly once) and `partner` are the people of the group from the lobby \
               before, in order of their places. A block such as `{policy: cook}` is an AI partner, and so is the name of \
               one of `partners`, or of a pool. `\"{{ factor }}\"` stands for the level of a factor, which is such a \
               name. A `vacant` seat does nothing.";
    let players = fields.key("players", doc).or(vec![Player::Own], |place| {
        players::read_players(source, &place)
    });
    let doc = "The seat of `self`, from 0; the other players keep their order in the seats that are left. A number, or \
               `\"{{ factor }}\"` for the level of a factor, so that sides are balanced; `random` draws it at each visit. By \
               default the place of `self` in `players`.";
    let seat = fields
        .key("seat", doc)
        .maybe(|place| players::read_seat(&place));
    let config = fields.key("config", CONFIG);
    let config = config.or(Value::Object(Default::default()), |place| {
        read_config(&place)
    });
    let course = course::read(fields);
    let doc = "The bounds of the input delay. The delay follows from the round trip when an episode starts, and is \
               the same for all seats.";
    let input_delay = fields.key("input_delay", doc);
    let input_delay = input_delay.or(USUAL_DELAY, |place| disconnect::input_delay(&place));
    let greatest = input_delay.map_or(0, |delay| delay.max);
    let doc = "The prediction window: how many ticks a page can run ahead of a partner's last known input. When it \
               is used up, the game freezes until input arrives. At most 40 minus `input_delay.max`. By default 16 \
               ticks at 60 ticks per second, in proportion at other rates, between 8 and 16.";
    let window = fields
        .key("window", doc)
        .maybe(|place| disconnect::read_window(&place, greatest));
    let doc = "The keyboard keys of each action. They replace all keys of the environment. Codes are those of \
               `KeyboardEvent.code`, such as `KeyW`, `ArrowUp`, `Space`. A chord joins up to three keys with `+`: \
               `ShiftLeft+KeyW`. The longest chord that is held wins. Buttons of a gamepad are keys, too: `GamepadSouth`, \
               `GamepadUp`.";
    let keys = fields
        .key("keys", doc)
        .or(BTreeMap::new(), |place| keys::read(&place));
    let screen = screen(source, fields);
    let doc = "The rules for people who are gone: their page is closed, reloaded, frozen or unreachable, or hidden \
               for `hidden_tab.drop_s`.";
    let on_disconnect = fields.key("on_disconnect", doc);
    let on_disconnect = on_disconnect.or(OnDisconnect::default(), |place| {
        disconnect::on_disconnect(source, &place)
    });
    let hidden_tab = fields.key("hidden_tab", "The rules for hidden tabs.");
    let hidden_tab = hidden_tab.or(HiddenTab::default(), |place| disconnect::hidden_tab(&place));
    let doc = "The partner with a language model and without a policy that writes to the participant, who must play alone \
               ([language-models.md](language-models.md)).";
    let assistant = fields
        .key("assistant", doc)
        .maybe(|place| assistant(source, &place));
    let doc = "The people of this stage share their seats with an AI partner: they give it away and take it back, correct \
               it, or choose among proposals ([shared-seats.md](shared-seats.md)).";
    let shared_seat = fields
        .key("shared_seat", doc)
        .maybe(|place| shared_seat::read(source, &place));
    let doc = "Marks the episodes of this stage as demonstrations: `episodes.csv` and `seats.csv` have it, and Python can make data \
               sets of them alone ([shared-seats.md](shared-seats.md#demonstrations)).";
    let demonstration = fields
        .key("demonstration", doc)
        .or(false, |place| place.read_flag());
    let doc = "Keeps what every seat observes in the record of the episode, for environments on a host that do not repeat \
               themselves: `coplay export --observations` then has it. Observations of other environments are computed again \
               from the record, and need no place in it ([hosts.md](study-file/hosts.md#what-is-recorded)).";
    let record_observations = fields
        .key("record_observations", doc)
        .or(false, |place| place.read_flag());
    // The way in which a stage is walked is read with the blocks.
    let doc = "A stage or block that follows every repetition of this stage.";
    let _ = fields
        .key("after_each", doc)
        .maybe(|place| place.named("node", |_| Some(())));
    let Environment {
        id: [env, version],
        world,
        python,
    } = environment?;
    let (world, file) = world.unzip();
    // Most environments in Python need more than a page has.
    let usual = if python.is_some() {
        RunOn::Host
    } else {
        RunOn::Page
    };
    let env = Env {
        env,
        version,
        module: module?,
        world,
        python,
        run: run?.unwrap_or(usual),
        players: players?,
        seat: seat?,
        config: merge_over(file.unwrap_or_default(), config?),
        course: course?,
        window: window?,
        input_delay: input_delay?,
        keys: keys?,
        screen: screen?,
        on_disconnect: on_disconnect?,
        hidden_tab: hidden_tab?,
        assistant: assistant?,
        shared_seat: shared_seat?,
        demonstration: demonstration?,
        record_observations: record_observations?,
    };
    if env.record_observations && env.run == RunOn::Page {
        let message = "`record_observations` is for `run: host`; remove it here: `coplay export --observations` computes the \
                       observations of this environment again";
        fields.whole.wrong_at("record_observations", message);
    }
    shared_seat::check(&env, &fields.whole).then_some(env)
}

/// A language model without a seat, by the name of its partner.
fn assistant(source: Source<'_>, place: &Cursor<'_>) -> Option<Box<LanguageModel>> {
    let name = place.text(40)?;
    let message = match source.partners.get(&name) {
        Some(NamedPartner::Assistant(model)) => return Some(model.clone()),
        Some(NamedPartner::Ai(partner)) if partner.language_model.is_some() => {
            format!(
                "`{name}` has a policy, so it takes a seat; name it in `players`, or remove its `policy`"
            )
        }
        Some(_) => format!(
            "`{name}` has no language model; give it one, such as `language_model: {{provider: mock, …}}`"
        ),
        None => source.partners.describe_unknown(&name)?,
    };
    place.report_problem(message);
    None
}

fn screen(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Screen> {
    let ways = [("hold", Capture::Hold), ("press", Capture::Press)];
    let doc = "The effect of a held key or touch button. `hold`: its action on every tick. `press`: its action \
               once, in one tick. Actions that the environment calls momentary count once in both cases.";
    let capture = fields
        .key("capture", doc)
        .or(Capture::Hold, |place| place.read_word("choice", &ways));
    let doc = "Whether touchscreens show a button for every action that has a key.";
    let touch = fields.key("touch", doc).or(true, |place| place.read_flag());
    let doc =
        "The countdown before the first tick, in seconds. By default 3.5; with `mode: turns` none.";
    let countdown_s = fields
        .key("countdown_s", doc)
        .maybe(|place| place.read_whole(0..=10, "seconds"));
    let doc = "The numbers shown beside the game.";
    let hud = fields.key("hud", doc).or(Vec::new(), |place| {
        let places = place.list("numbers", 8)?;
        let read: Vec<_> = places.iter().map(|place| gauge(source, place)).collect();
        read.into_iter().collect()
    });
    let doc = "A page between the episodes of the stage.";
    let rest = fields.key("rest", doc).maybe(|place| rest(source, &place));
    let doc = "Whether the page asks for full screen. Browsers require a click for it, so the page shows a button; \
               participants can play without it. The data record when a page was in full screen.";
    let fullscreen = fields
        .key("fullscreen", doc)
        .or(false, |place| place.read_flag());
    let doc = "Whether the members of the group can chat during the episodes. A block sets `max_length` and \
               `names`, as in a `chat` stage.";
    let chat = fields
        .key("chat", doc)
        .maybe(|place| chat::read_beside(source, &place));
    Some(Screen {
        capture: capture?,
        touch: touch?,
        countdown_s: countdown_s?,
        hud: hud?,
        rest: rest?,
        fullscreen: fullscreen?,
        chat: chat?.flatten(),
    })
}

fn gauge(source: Source<'_>, place: &Cursor<'_>) -> Option<HudGauge> {
    let mut fields = place.fields("a number beside the picture")?;
    let label = fields.key("label", "The label.");
    let label = label.require_key("Score", |place| text::read(&place, source.languages, 60));
    let doc = "The value: a formula, or a text with formulas in double braces.";
    let value = fields.key("value", doc);
    let value = value.require_key("score", |place| place.text(1_000));
    fields.done();
    value?;
    // It is read once the meanings of names are known.
    Some(HudGauge {
        label: label?,
        value: TextTemplate::default(),
    })
}

fn rest(source: Source<'_>, place: &Cursor<'_>) -> Option<Rest> {
    let mut fields = place.fields("what is shown between episodes")?;
    let page = fields.key("file", "The text that participants read.");
    let page = page.require_key("rest.md", |place| page::read(source, &place));
    let min_s = fields.key("min_s", "The minimum time on the page, in seconds.");
    let min_s = min_s.or(0, |place| place.read_whole(0..=600, "seconds"));
    let max_s = fields.key(
        "max_s",
        "The time after which the next episode starts automatically, in seconds.",
    );
    let max_s = max_s.maybe(|place| place.read_whole(1..=3600, "seconds"));
    fields.done();
    Some(Rest {
        page: page?,
        min_s: min_s?,
        max_s: max_s?,
    })
}
