//! One person in front of a real page: looks at what it shows, clicks, types and presses keys, as people do.
//!
//! Clicks follow from what is visible, and the page is not asked for anything that a person cannot see, except for the
//! key that a scripted cook would press. Messages of the page are recorded ([`Watch`]) for the judge.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use protocol::control::StageView;
use serde::Deserialize;
use serde_json::{Value, json};
use study::StageKind;
use study::assign::Rng;
use tokio::sync::mpsc;

use super::devtools::DevTools;
use super::tab::{Tab, encode_text, text};
use super::watch::{Told, Watch};
use crate::bot::Ticket;
use crate::entry::EntryWay;
use crate::fault::Fault;
use crate::process::shared_state::SharedState;
use crate::record::{Phase, Shared};

/// How often a person looks.
const LOOKS: Duration = Duration::from_millis(60);

/// The time without any event after which a stage counts as stuck, unless it says how long it takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// The time after which a page that shows nothing of the study is loaded again.
const BLANK: Duration = Duration::from_secs(15);

/// The script with which a person looks.
const LOOK: &str = include_str!("look.js");

/// A question, as the page shows it.
#[derive(Debug, Deserialize)]
pub(super) struct Field {
    pub(super) shown: bool,
    pub(super) required: bool,
    pub(super) missing: bool,
    pub(super) answered: bool,
    /// Choices of which exactly one is chosen: the index of its label, and its value.
    pub(super) groups: Vec<Vec<(usize, String)>>,
    /// Labels of which any number is chosen, list by list, for lists without a choice yet.
    pub(super) checks: Vec<Vec<usize>>,
    /// Number of buttons that reorder a list.
    pub(super) moves: usize,
    /// The kind of each field that is typed into.
    pub(super) typed: Vec<String>,
}

/// The state of the page that a person sees.
#[derive(Debug, Deserialize)]
pub(super) struct Seen {
    pub(super) kind: Option<String>,
    pub(super) index: Option<u16>,
    pub(super) plays: bool,
    /// True if the outcome of an episode waits to be read.
    pub(super) outcome: bool,
    /// Number of answers that a lobby offers.
    pub(super) asked: usize,
    pub(super) fields: Vec<Field>,
    pub(super) code: String,
}

/// A person and their page.
pub(super) struct Person {
    pub(super) around: Arc<SharedState>,
    pub(super) tools: DevTools,
    pub(super) rng: Rng,
    pub(super) way: EntryWay,
    pub(super) fault: Option<Fault>,
    pub(super) record: Shared,
    pub(super) watch: Watch,
    pub(super) context: String,
    pub(super) tab: Tab,
    /// The page that another one has superseded, and since when.
    pub(super) old: Option<(Tab, Instant)>,
    /// The stage that the person saw last, and its episode.
    pub(super) met: Option<(Told, String)>,
    /// The address that the server listens on.
    pub(super) server: String,
    /// Since when the page has shown nothing of the study.
    pub(super) blank: Option<Instant>,
    /// The time before which the person does nothing.
    pub(super) next: Instant,
    /// When the fault happens.
    pub(super) mishap: Option<Instant>,
    pub(super) mishaps: u32,
    pub(super) deadline: Instant,
    pub(super) is_skilled: bool,
    pub(super) is_idle: bool,
}

/// Makes a person with a real page take part, from arrival to end.
pub(crate) async fn take_part(around: Arc<SharedState>, tools: DevTools, ticket: Ticket) {
    let record = ticket.record.clone();
    around.clock.sleep_until(ticket.arrives_us).await;
    record.lock().phase = Phase::Here("coming in");
    let end = match Person::come(around, tools, ticket).await {
        Ok(mut person) => {
            let end = person.run().await;
            if end.is_err() {
                person.describe().await;
            }
            person.leave_browser().await;
            end
        }
        Err(error) => Err(error),
    };
    let mut record = record.lock();
    record.phase = match end {
        Ok(phase) => phase,
        Err(error) => Phase::Stuck(format!("{error:#}")),
    };
}

impl Person {
    async fn come(
        around: Arc<SharedState>,
        tools: DevTools,
        ticket: Ticket,
    ) -> anyhow::Result<Self> {
        let Ticket {
            mut rng,
            way,
            fault,
            record,
            ..
        } = ticket;
        // The server may be down just now.
        let mut address = around.address.clone();
        let server = address
            .wait_for(Option::is_some)
            .await?
            .clone()
            .unwrap_or_default();
        let made = tools.call(None, "Target.createBrowserContext", json!({}));
        let context = text(&made.await?, "browserContextId")?;
        // Without them Chromium hides the addresses that WebRTC needs where there is only a loopback interface.
        let granted =
            json!({ "permissions": ["audioCapture", "videoCapture"], "browserContextId": context });
        tools
            .call(None, "Browser.grantPermissions", granted)
            .await?;
        let tab = Tab::open(&tools, &context).await?;
        let mut person = Self {
            around,
            tools,
            is_skilled: rng.draw_below(2) == 1,
            rng,
            way,
            fault,
            watch: Watch::new(record.clone()),
            record,
            context,
            tab,
            old: None,
            met: None,
            server,
            blank: None,
            next: Instant::now(),
            mishap: None,
            mishaps: 0,
            deadline: Instant::now() + PATIENCE,
            is_idle: false,
        };
        if fault == Some(Fault::SlowNetwork) {
            person.slow_down().await?;
        }
        let address = person.address(&person.way.entry_query());
        person.go_to(&address).await?;
        Ok(person)
    }

    async fn run(&mut self) -> anyhow::Result<Phase> {
        loop {
            self.handle_events()?;
            if self.mishap.take_if(|at| *at <= Instant::now()).is_some() {
                // The next view is met before anything is clicked.
                self.pause_for(500, 1_500);
                if let Some(end) = self.go_wrong().await? {
                    return Ok(end);
                }
            }
            // A page that is being loaded shows nothing.
            match self.look().await {
                Ok(seen) if seen.kind.is_some() => {
                    self.blank = None;
                    if let Some(end) = self.act(&seen).await? {
                        return Ok(end);
                    }
                }
                _ => self.load_again().await?,
            }
            tokio::time::sleep(LOOKS).await;
        }
    }

    /// Takes in the messages of the page, and fails if nothing has happened for long.
    pub(super) fn handle_events(&mut self) -> anyhow::Result<()> {
        let before = self.watch.steps;
        let now_us = self.around.clock.now_us();
        loop {
            match self.tab.events.try_recv() {
                Ok(event) => (self.watch.event(now_us, &event)).map_err(|why| anyhow!(why))?,
                Err(mpsc::error::TryRecvError::Empty) => break,
                Err(mpsc::error::TryRecvError::Disconnected) => bail!("the browser is gone"),
            }
        }
        if let Phase::Stuck(why) = &self.record.lock().phase {
            bail!("{why}");
        }
        if self.watch.steps != before || self.around.address.borrow().is_none() {
            self.deadline = Instant::now() + self.patience();
        }
        let is_told = |(tab, _): &mut (Tab, Instant)| {
            std::iter::from_fn(|| tab.events.try_recv().ok()).any(|event| Watch::supersedes(&event))
        };
        if self.old.as_mut().is_some_and(is_told) {
            self.add_note("< Superseded, in the first tab");
            self.old = None;
        }
        match &self.old {
            Some((_, since)) if since.elapsed() > PATIENCE => {
                bail!("the first tab was not told that a second one plays on")
            }
            _ if Instant::now() > self.deadline => {
                let stage = self.watch.stage.as_ref().map_or("first", |stage| &stage.id);
                bail!("waited in vain for what comes after the stage `{stage}`")
            }
            _ => Ok(()),
        }
    }

    /// Reloads a page that did not load while the server was away, as people do.
    async fn load_again(&mut self) -> anyhow::Result<()> {
        let since = *self.blank.get_or_insert_with(Instant::now);
        if since.elapsed() > BLANK && self.around.address.borrow().is_some() {
            self.blank = None;
            self.add_note("loads the page again, which shows nothing");
            self.tab.page("Page.reload", json!({})).await?;
        }
        Ok(())
    }

    /// Records the view of the page, for the reader of a session that is stuck.
    async fn describe(&self) {
        let shows = "`${window.coplay ? JSON.parse(coplay.report()).status : 'no study'}: ${document.body.innerText}`";
        if let Ok(Value::String(shows)) = self.tab.evaluate_script(shows).await {
            self.add_note(&format!("the page shows, {}", shows.replace('\n', " ")));
        }
    }

    /// The longest time that the current view may take.
    fn patience(&self) -> Duration {
        let stage = self.watch.stage.as_ref().map(|stage| &stage.view);
        let study = &self.around.study.timeline;
        let lobbies = study.iter().filter_map(|stage| match &stage.kind {
            StageKind::Lobby(lobby) => Some(lobby.regroup_s),
            _ => None,
        });
        let s = match stage {
            Some(StageView::Lobby { timeout_s }) => 4 * timeout_s + 120,
            Some(StageView::Regroup | StageView::Rest { .. }) => lobbies.max().unwrap_or(0) + 600,
            Some(StageView::Env) => self.play_s(),
            // Ends by itself.
            Some(StageView::Chat { .. }) => 3_600,
            Some(StageView::Instructions { pages, min_s }) => pages.len() as u32 * min_s,
            _ => 0,
        };
        PATIENCE + Duration::from_secs(s.into())
    }

    /// The longest time that the last episode may take.
    fn play_s(&self) -> u32 {
        let Some(plan) = &self.watch.plan else {
            return 0;
        };
        let params: Value = serde_json::from_str(&plan.params).unwrap_or_default();
        let horizon = params["horizon"].as_u64().unwrap_or(0);
        let hz = if plan.rules.turns {
            1
        } else {
            plan.tick_hz.max(1)
        };
        2 * (horizon / u64::from(hz)) as u32 + 300
    }

    async fn look(&self) -> anyhow::Result<Seen> {
        Ok(serde_json::from_value(
            self.tab.evaluate_script(LOOK).await?,
        )?)
    }

    /// Carries out the next act, if it is time.
    async fn act(&mut self, seen: &Seen) -> anyhow::Result<Option<Phase>> {
        let Some(stage) = self.watch.stage.clone() else {
            return Ok(None);
        };
        if seen.plays && !seen.outcome {
            self.doing("playing");
        }
        if Instant::now() < self.next || self.is_idle {
            return Ok(None);
        }
        if seen.outcome {
            self.pause_for(300, 1_500);
            self.tab
                .click_element("section.play .overlay button.primary")
                .await?;
            return Ok(None);
        }
        if seen.index != Some(stage.index) || self.watch.is_done() {
            return Ok(None);
        }
        let plan = self.watch.plan.as_ref().filter(|_| seen.plays);
        let meets = (stage, plan.map_or("", |plan| &plan.episode).to_owned());
        if self.met.as_ref() != Some(&meets) {
            self.meet(&meets.0.view, &meets.0.id, seen);
            self.met = Some(meets);
            return Ok(None);
        }
        let (stage, _) = meets;
        match &stage.view {
            StageView::Consent { .. } => self.give_consent().await?,
            StageView::Instructions { .. } => {
                self.find_element(
                    "section.instructions .actions button.primary:not([aria-disabled])",
                )
                .await?
            }
            StageView::Quiz { .. } | StageView::Survey { .. } => {
                self.form(&stage.id, &stage.view, seen).await?
            }
            StageView::Debrief { .. } => {
                self.find_element("section.debrief .actions button.primary")
                    .await?
            }
            StageView::External { .. } => self.visit_external(&stage.id, &stage.view).await?,
            StageView::Watch { .. } => self.watch_film().await?,
            StageView::Lobby { .. } => self.lobby(seen).await?,
            StageView::Rest { .. } => {
                self.find_element("section.rest .actions button:not([disabled])")
                    .await?
            }
            StageView::Chat { .. } => self.chat(&stage.id).await?,
            StageView::Screening { .. } => {
                self.find_element("section.screening .actions button:not([disabled])")
                    .await?
            }
            StageView::Env if seen.plays => self.play().await?,
            StageView::Env | StageView::Regroup => {}
            StageView::End { .. } => return self.end(seen),
        }
        Ok(None)
    }

    /// Reacts to a stage, or to an episode.
    fn meet(&mut self, view: &StageView, id: &str, seen: &Seen) {
        self.doing(match view {
            StageView::Lobby { .. } => "in a lobby",
            StageView::Env => "before an episode",
            StageView::Regroup => "waiting for the group",
            StageView::End { .. } => "on the last page",
            _ => "reading",
        });
        self.pause_for(300, 1_500);
        let study = &self.around.study;
        let Some(fault) = self.fault else { return };
        let in_play = matches!(view, StageView::Env) && seen.plays;
        let chance = match in_play {
            true => fault.chance_in_play(id, study, self.mishaps),
            false => fault.chance_at(view, id, study, self.mishaps),
        };
        if fault == Fault::SlowNetwork && in_play {
            self.record.lock().happened = true;
        }
        if self.rng.draw_below(100) >= chance {
            return;
        }
        let after_ms = self.rng.draw_below(if in_play { 5_000 } else { 1_500 });
        self.mishap = Some(Instant::now() + Duration::from_millis(after_ms as u64));
        if fault == Fault::Idle {
            self.add_note("does nothing any more");
            self.is_idle = true;
        }
    }

    /// Removes everything of the person from the browser.
    async fn leave_browser(&self) {
        let context = json!({ "browserContextId": self.context });
        // A browser that is gone has nothing of it.
        let _ = self
            .tools
            .call(None, "Target.disposeBrowserContext", context)
            .await;
    }

    pub(super) fn address(&self, query: &[(String, String)]) -> String {
        let pairs: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{}={}", encode_text(name), encode_text(value)))
            .collect();
        format!("http://{}/?{}", self.server, pairs.join("&"))
    }

    /// Opens an address, and retries if the server is not there just now.
    pub(super) async fn go_to(&mut self, address: &str) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let went = self
                .tab
                .page("Page.navigate", json!({ "url": address }))
                .await?;
            match went["errorText"].as_str() {
                None => return Ok(()),
                Some(why) if Instant::now() > until => bail!("the page does not load: {why}"),
                Some(_) => tokio::time::sleep(LOOKS).await,
            }
        }
    }

    /// Clicks on the element that continues, after which the person waits for a moment.
    pub(super) async fn find_element(&mut self, selector: &str) -> anyhow::Result<()> {
        self.pause_for(200, 700);
        self.tab.click_element(selector).await
    }

    pub(super) fn pause_for(&mut self, least_ms: u64, most_ms: u64) {
        let ms = least_ms + self.rng.draw_below((most_ms - least_ms) as usize) as u64;
        self.next = Instant::now() + Duration::from_millis(ms);
    }

    fn doing(&self, what: &'static str) {
        self.record.lock().phase = Phase::Here(what);
    }

    pub(super) fn add_note(&self, what: &str) {
        let now_us = self.around.clock.now_us();
        self.record.lock().trace.add_note(now_us, what);
    }
}
