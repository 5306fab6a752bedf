//! The study of a run, as a study file.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use server_core::arbiter::{EnvStage, EnvStages};
use study::Study;

use crate::agent;
use crate::rng::SeededRng;
use crate::tab::ITEM;

/// The longest pause between two actions of anybody, microseconds.
pub const THINKS_US: u64 = 1_020_000;

/// Seconds that people who play in turns together have for a choice.
pub const TURN_S: u64 = 2;

/// Everybody is paid, except people who leave on purpose and people whose page failed.
const PAY: &str = "recruitment:
  currency: GBP
  base: 1.00
  outcomes: {timed_out: {do: approve, pay: base}}
";

/// The stages around an episode at which people read, type and write to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// True if there is a text of two pages before.
    pub text: bool,
    /// True if there is a form after it.
    pub form: bool,
    /// True if there is time before it in which the group writes to each other.
    pub chat: bool,
    /// True if the group writes to each other beside it.
    pub beside: bool,
}

impl Pages {
    /// The longest that a person who is not disturbed spends on them, microseconds.
    pub fn lasts_us(self) -> u64 {
        let us = |is_there: bool, us: u64| if is_there { us } else { 0 };
        us(self.text, 8_000_000) + us(self.form, 20_000_000) + us(self.chat, 8_000_000)
    }
}

/// How people share their seats with AI partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedDraw {
    /// The part of a person, as the study file says it.
    pub mode: &'static str,
    /// The player from the start, `person` or `partner`; not said where the person chooses.
    pub starts: &'static str,
}

/// The terms of a study: lobby and episode, once or twice, and the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyDraw {
    /// True if the environment is the kitchen rather than the search for goals.
    pub kitchen: bool,
    /// Seats of the environment.
    pub seats: u8,
    /// True if a tick goes by once everybody who acts has chosen.
    pub turns: bool,
    /// True if a person plays alone, with AI partners in the other seats.
    pub alone: bool,
    /// The number of rounds of lobby and episode.
    pub rounds: u8,
    /// The number of episodes of each.
    pub episodes: u8,
    /// True if there is a rest between them.
    pub rests: bool,
    /// The pages between the episodes.
    pub pages: Pages,
    /// The formula that ends an episode before its last tick.
    pub until: Option<String>,
    /// Ticks per second.
    pub tick_hz: u16,
    /// Ticks of an episode, at most.
    pub horizon: u32,
    /// The longest prediction, ticks.
    pub window: u8,
    /// Bounds of the input delay, ticks.
    pub input_delay: (u8, u8),
    /// How long a person may be away, seconds.
    pub grace_s: u32,
    /// The study's choice meanwhile.
    pub meanwhile: &'static str,
    /// The study's choice after that.
    pub then: &'static str,
    /// The AI partner.
    pub policy: &'static str,
    /// Seconds until a hidden page is reported, and until its person counts as gone.
    pub hidden_tab: (u32, u32),
    /// How people share their seats with AI partners; `None` if they do not.
    pub shared: Option<SharedDraw>,
}

impl StudyDraw {
    /// StudyDraw drawn from a seed.
    pub fn new(rng: &mut SeededRng) -> Self {
        let kitchen = rng.one_in(8);
        let tick_hz = rng.draw_item(&[10, 10, 20, 30, 60]);
        let seconds = rng.draw_between(3, 8) as u32;
        let least = rng.draw_below(3) as u8;
        Self {
            kitchen,
            seats: if kitchen {
                2
            } else {
                rng.draw_item(&[2, 2, 2, 3, 3, 4, 5, 6, 8])
            },
            turns: false,
            alone: false,
            rounds: rng.draw_item(&[1, 1, 2]),
            episodes: 1,
            rests: false,
            pages: Pages::default(),
            until: None,
            tick_hz,
            horizon: seconds * u32::from(tick_hz) + rng.draw_below(30) as u32,
            window: rng.draw_item(&[1, 2, 4, 8, 16, 16, 24]),
            input_delay: (least, least + rng.draw_below(4) as u8),
            grace_s: rng.draw_between(1, 6) as u32,
            meanwhile: rng.draw_item(&["stand", "bot", "hold"]),
            then: rng.draw_item(&["bot", "bot", "partner_left", "technical"]),
            policy: match (kitchen, seconds % 2) {
                (true, 0) => agent::CALL,
                (true, _) => "cook",
                (false, _) => "random",
            },
            hidden_tab: (1, rng.draw_between(2, 8) as u32),
            shared: None,
        }
    }

    /// A short episode of two people.
    pub fn draw_short(rng: &mut SeededRng) -> Self {
        Self {
            kitchen: false,
            seats: 2,
            turns: false,
            alone: false,
            rounds: 1,
            episodes: 1,
            rests: false,
            pages: Pages::default(),
            until: None,
            tick_hz: 10,
            horizon: 25,
            window: 8,
            input_delay: (0, 2),
            grace_s: 2,
            meanwhile: rng.draw_item(&["stand", "bot", "hold"]),
            then: rng.draw_item(&["bot", "partner_left"]),
            policy: "random",
            hidden_tab: (1, 4),
            shared: None,
        }
    }

    /// Draws several episodes in a stage, and what ends them early. These draws are separate, so that the other
    /// meanings of a seed do not change.
    pub fn vary_terms(&mut self, rng: &mut SeededRng) {
        if rng.one_in(4) {
            self.episodes = rng.draw_between(2, 3) as u8;
            self.rests = rng.one_in(2);
        }
        let early = rng.draw_between(1, u64::from(self.horizon));
        let seconds = early as f64 / f64::from(self.tick_hz);
        self.until = match rng.draw_below(6) {
            0 => Some(format!("ticks >= {early}")),
            1 => Some("score >= 1".to_owned()),
            2 => Some(format!("score >= 2 || elapsed_s >= {seconds}")),
            // What is guessed of others makes this hold and not hold again and again.
            3 => Some(format!("ticks % 7 == score % 7 && left_s < {seconds}")),
            _ => None,
        };
    }

    /// Draws the pages between the episodes, apart from the rest for the same reason.
    pub fn fill_pages(&mut self, rng: &mut SeededRng) {
        let mut pages = Pages {
            text: rng.one_in(5),
            form: rng.one_in(3),
            chat: rng.one_in(6),
            beside: rng.one_in(5),
        };
        // There is no group that could write.
        if self.alone {
            (pages.chat, pages.beside) = (false, false);
        }
        self.pages = pages;
    }

    /// Draws whether people play in turns, alone or together, apart from the rest for the same reason.
    pub fn slow_down(&mut self, rng: &mut SeededRng, together: &mut SeededRng) {
        self.turns = rng.one_in(8);
        self.alone = self.turns;
        if !self.turns && together.one_in(8) {
            self.turns = true;
        }
        if self.turns {
            let rng = if self.alone { rng } else { together };
            self.horizon = rng.draw_between(4, 40) as u32;
            // In turns no time passes that a formula could ask for.
            self.until = self.until.take().filter(|until| !until.contains("_s"));
        }
    }

    /// Draws how people share their seats, apart from the rest for the same reason. In turns they can only choose.
    pub fn share(&mut self, rng: &mut SeededRng) {
        self.shared = Some(SharedDraw {
            mode: match self.turns {
                true => "choose",
                false => rng.draw_item(&["handover", "override"]),
            },
            starts: rng.draw_item(&["person", "partner"]),
        });
    }

    /// The key of a stage whose seats are shared, on its own line.
    fn sharing(&self) -> String {
        let policy = self.policy;
        match self.shared {
            None => String::new(),
            Some(SharedDraw { mode: "choose", .. }) => format!(
                "\n    shared_seat: {{mode: choose, proposals: [{{policy: {policy}}}, {{policy: random}}]}}"
            ),
            Some(SharedDraw { mode, starts }) => format!(
                "\n    shared_seat: {{mode: {mode}, partner: {{policy: {policy}}}, starts: {starts}}}"
            ),
        }
    }

    /// The longest time that an episode takes when nothing goes wrong, microseconds.
    pub fn playing_us(&self) -> u64 {
        if self.turns {
            return u64::from(self.horizon) * self.choice_us();
        }
        u64::from(self.horizon) * 1_000_000 / u64::from(self.tick_hz)
    }

    /// The longest time between two turns when nothing goes wrong, microseconds: together, people wait for the person
    /// who needs all of it.
    pub fn choice_us(&self) -> u64 {
        match (self.turns, self.alone) {
            (false, _) => 0,
            (true, true) => THINKS_US,
            (true, false) => TURN_S * 1_000_000,
        }
    }

    fn yaml(&self) -> String {
        // No other person ends the turns of somebody who is gone.
        let expires = if self.alone { ", expires_h: 1" } else { "" };
        let mut text = format!(
            "format: 1\nstudy: {{id: simulated, version: 1.0.0, title: Simulated, contact: lab@example.edu{expires}}}\n{PAY}timeline:\n",
        );
        for round in 0..self.rounds {
            self.round(round, &mut text);
        }
        text.push_str("  - {id: thanks, type: end, file: thanks.md}\n");
        text
    }

    fn round(&self, round: u8, text: &mut String) {
        let Self {
            seats,
            tick_hz,
            horizon,
            policy,
            ..
        } = self;
        let partner = match self.alone {
            true => format!(", {{policy: {policy}}}"),
            false => ", partner".to_owned(),
        };
        let partners = partner.repeat(usize::from(seats - 1));
        let (env, config) = if self.kitchen {
            let config = format!(
                "{{layout: cramped_room, rules: corrected, horizon: {horizon}, tick_hz: {tick_hz}}}"
            );
            ("overcooked@2.0.0", config)
        } else {
            let config = format!(
                "{{seats: {seats}, horizon: {horizon}, tick_hz: {tick_hz}, map: {{rows: 9, cols: 9, walls: 8}}}}"
            );
            ("goal_seeking@2.0.0", config)
        };
        let calls = self.meanwhile == "bot" || self.then == "bot";
        let bot = if calls {
            format!(", bot: {{policy: {policy}}}")
        } else {
            String::new()
        };
        let (least, most) = self.input_delay;
        let (warn_s, drop_s) = self.hidden_tab;
        let shared = self.sharing();
        let episodes = self.episodes;
        let rest = if self.rests {
            "\n    rest: {file: thanks.md, max_s: 2}"
        } else {
            ""
        };
        let until = self.until.as_ref();
        let until = until.map_or(String::new(), |until| format!("\n    until: '{until}'"));
        let (grace_s, meanwhile, then, window) =
            (self.grace_s, self.meanwhile, self.then, self.window);
        let lobby = match self.alone {
            true => String::new(),
            false => format!(
                "  - {{id: lobby{round}, type: lobby, group_size: {seats}, timeout_s: 5, regroup_s: 5, on_timeout: bot, bot: {{policy: {policy}}}}}\n"
            ),
        };
        let mode = match (self.turns, self.alone) {
            (false, _) => "ticks".to_owned(),
            (true, true) => "turns".to_owned(),
            (true, false) => format!("turns\n    turn_limit_s: {TURN_S}"),
        };
        let Pages {
            text: reads,
            form,
            chat,
            beside,
        } = self.pages;
        if reads {
            writeln!(
                text,
                "  - {{id: text{round}, type: instructions, pages: [thanks.md, thanks.md], min_s: 1}}"
            )
            .expect("a string takes everything");
        }
        let chat = match chat {
            true => format!("  - {{id: chat{round}, type: chat, min_s: 1, max_s: 5}}\n"),
            false => String::new(),
        };
        let beside = if beside { "\n    chat: true" } else { "" };
        let form = match form {
            true => format!(
                "  - id: form{round}\n    type: survey\n    surveyjs: {{elements: [{{type: comment, name: {ITEM}, title: Words}}]}}\n"
            ),
            false => String::new(),
        };
        write!(
            text,
            "{lobby}{chat}  - id: play{round}
    type: env
    env: {env}
    mode: {mode}
    players: [self{partners}]
    config: {config}
    episodes: {episodes}{rest}{until}{beside}{shared}
    window: {window}
    input_delay: {{min: {least}, max: {most}}}
    on_disconnect: {{grace_s: {grace_s}, meanwhile: {meanwhile}, then: {then}{bot}}}
    hidden_tab: {{warn_s: {warn_s}, drop_s: {drop_s}}}
{form}"
        )
        .expect("a string takes everything");
    }

    /// Reads the study as the server does.
    ///
    /// # Panics
    /// The study file is refused: these terms are wrong.
    pub fn load(&self) -> (Arc<Study>, EnvStages) {
        let folder = Folder::new();
        let write = |name: &str, text: &[u8]| {
            std::fs::write(folder.0.join(name), text)
                .expect("the folder of temporary files can be written");
        };
        write("study.yaml", self.yaml().as_bytes());
        write("thanks.md", b"Thank you.\n");
        write(agent::FILE, agent::MODEL);
        let (study, facts) = catalog::read_study(&folder.0).unwrap_or_else(|problems| {
            panic!("the study is refused: {problems:?}\n{}", self.yaml())
        });
        let stages = facts.into_iter().map(|(stage, facts)| {
            let module = String::new();
            (stage, EnvStage { facts, module })
        });
        (Arc::new(study), stages.collect())
    }
}

/// A folder that goes away with its value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("coplay-simulation-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the folder of temporary files can be written");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
