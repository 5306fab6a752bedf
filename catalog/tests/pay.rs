//! The pay that lint promises against the pay of sessions that are drawn at random: no session is paid more than the
//! greatest or less than the least pay of its outcome, and none ends otherwise than lint says.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the helpers of a test only inside its function"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use catalog::read_study;
use proptest::prelude::*;
use protocol::control::{Answer, EndReason, StageView};
use serde_json::{Value, json};
use study::{
    EnvFactsByStage, Episode, EventRefusal, Outcome, Outline, PartnerKind, Payment, Progress,
    ProgressEvent, ProgressStep, SeatTotals, StageKind, Study, UnitAssignment,
};

/// Rules of a bonus; `PLAY` stands for an env stage.
const BONUSES: [&str; 12] = [
    "round2(clamp(0.02 * sum(PLAY.episodes.map(e, e.score)), 0.5, 5.0))",
    "clamp(0.01 * sum(PLAY.episodes.map(e, e.own_score)), 0.0, 3.0)",
    "max(0, sum(PLAY.episodes.map(e, e.own_reward))) / (1 + sum(PLAY.episodes.map(e, abs(min(e.rewards)))))",
    "0.335 * size(PLAY.episodes)",
    "clamp(3, 0, 0.5 * size(PLAY.episodes))",
    "clamp(size(PLAY.episodes), 1.5, 4 - size(PLAY.episodes))",
    "2 / size(PLAY.episodes)",
    "1 + sum(PLAY.episodes.map(e, e.success ? 1 : 0)) / size(PLAY.episodes)",
    "max(PLAY.episodes.map(e, e.ticks)) * 0.01 + 0.1",
    "size(PLAY.episodes) > 0 ? clamp(PLAY.episodes[0].score, 1, 3) : 0.7",
    "1 + size(PLAY.episodes.filter(e, e.reason == \"played\" && e.ticks % 7 < 3)) * 0.105",
    "PLAY.episodes.exists(e, e.score > 5) ? 1.5 : min(PLAY.episodes.map(e, -e.score))",
];

const PAY: &str =
    "recruitment: {currency: EUR, base: 2.505, time_rate_per_hour: 7.3, minutes: 10}\n";

/// A quiz that sends people back to what they have played, in a loop and before it, with groups that are drawn a wage.
const RETRIED: &str = r#"format: 1
study: {id: retried, version: 1.0.0, title: Retried, contact: lab@example.edu}
recruitment:
  currency: JPY
  base: 250.5
  minutes: 5
  time_rate_per_hour: 900
  outcomes:
    left_early: {do: return_then_pay, pay: time + bonus}
    timed_out: {do: return_then_pay, pay: 100 / wage}
    ineligible: {do: return_then_pay, pay: base - 3 * bonus}
design:
  unit: group
  between:
    wage: {levels: [30, 70]}
timeline:
  - {id: how, type: instructions, pages: [how.md]}
  - id: practice
    type: env
    env: overcooked@2.0.0
    players: [self]
    config: {layout: ["CCUCC", "O + O", "C   C", "C=C@C"], seats: 1, horizon: 100, tick_hz: 10}
  - {id: first, type: quiz, attempts: 3, retry_from: practice, items: [{name: a, ask: A?, choices: [1, 2], answer: 1}]}
  - id: rounds
    repeat: 2
    block:
      - id: inner
        type: env
        env: overcooked@2.0.0
        players: [self]
        repeat: 2
        config: {layout: ["CCUCC", "O + O", "C   C", "C=C@C"], seats: 1, horizon: 50, tick_hz: 10}
      - {id: second, type: quiz, attempts: 2, retry_from: inner, items: [{name: b, ask: B?, choices: [1, 2], answer: 1}]}
      - {id: third, type: quiz, attempts: 2, retry_from: how, items: [{name: c, ask: C?, choices: [1, 2], answer: 1}]}
  - {id: form, type: external, url: "https://forms.example.edu/?back={{return}}", else: ineligible}
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 30, on_timeout: leave}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 60, tick_hz: 10}
  - {id: debrief, type: debrief, file: how.md, allow_withdraw: true}
  - {id: thanks, type: end, outcome: completed, file: how.md}
bonus: size(practice.episodes) * 7 + size(inner.episodes) * 11 + wage * size(play.episodes)
"#;

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// A study with what its environments say.
type Checked = (Study, EnvFactsByStage);

/// Studies with one timeline and different rules of pay: who walks through one, walks through all.
struct Family {
    facts: EnvFactsByStage,
    studies: Vec<(Study, Outline)>,
}

impl Family {
    fn new(studies: Vec<Checked>) -> Self {
        let facts = studies[0].1.clone();
        let with_outline = |(study, facts): Checked| {
            let outline = study.make_outline(&facts);
            (study, outline)
        };
        let studies = studies.into_iter().map(with_outline).collect();
        Self { facts, studies }
    }
}

fn read(dir: &Path) -> Checked {
    let told = |problems: Vec<study::Problem>| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}: {}", dir.display(), lines.join("\n"))
    };
    read_study(dir).unwrap_or_else(told)
}

/// Every example, as it is and with every rule of [`BONUSES`]; and [`RETRIED`].
fn list_studies() -> Vec<Family> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let folders = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let folders = folders.filter(|folder| folder.join("study.yaml").is_file());
    let mut folders: Vec<PathBuf> = folders.collect();
    folders.sort();
    assert!(folders.len() >= 5);
    let mut families = Vec::new();
    let dir = tempfile::tempdir().unwrap();
    for folder in folders {
        let (study, facts) = read(&folder);
        let is_env = |stage: &&study::Stage| matches!(stage.kind, StageKind::Env(_));
        let last = study.timeline.iter().rfind(is_env);
        let play = last.unwrap().id.clone();
        let copy = dir.path().join(folder.file_name().unwrap());
        copy_folder(&folder, &copy);
        let text = fs::read_to_string(folder.join("study.yaml")).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("bonus:"));
        let mut text: String = lines.map(|line| format!("{line}\n")).collect();
        if !text.contains("\nrecruitment:") {
            text.push_str(PAY);
        }
        let mut studies = vec![(study, facts)];
        for bonus in BONUSES {
            let bonus = bonus.replace("PLAY", &play);
            let text = format!("{text}bonus: '{bonus}'\n");
            fs::write(copy.join("study.yaml"), text).unwrap();
            studies.push(read(&copy));
        }
        families.push(Family::new(studies));
    }
    let retried = dir.path().join("retried");
    fs::create_dir(&retried).unwrap();
    fs::write(retried.join("study.yaml"), RETRIED).unwrap();
    fs::write(retried.join("how.md"), "# How\n").unwrap();
    families.push(Family::new(vec![read(&retried)]));
    families
}

/// Draws that a test gives.
struct Draws(Vec<u32>);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0.pop().unwrap_or_default() as usize % bound.max(1)
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 1
    }
}

/// A session under way.
struct Walker<'a> {
    study: &'a Study,
    facts: &'a EnvFactsByStage,
    draws: Draws,
}

impl Walker<'_> {
    fn assignment(&mut self) -> UnitAssignment {
        let design = &self.study.design;
        let level = |draws: &mut Draws, levels: &[study::design::Level]| {
            levels[draws.below(levels.len())].name.clone()
        };
        let levels = design.between.iter();
        let levels = levels.map(|it| (it.name.clone(), level(&mut self.draws, &it.levels)));
        let levels: BTreeMap<_, _> = levels.collect();
        let order = |it: &study::design::Within| {
            let names = it.levels.iter().map(|level| level.name.clone());
            (it.name.clone(), names.collect::<Vec<_>>())
        };
        UnitAssignment {
            seed: self.draws.below(9) as u64,
            levels,
            orders: design.within.iter().map(order).collect(),
            ..UnitAssignment::default()
        }
    }

    /// Takes one step; false if the study refuses it.
    fn step(&mut self, progress: &mut Progress) -> Result<ProgressStep, EventRefusal> {
        let study = self.study;
        if self.draws.one_in(40) {
            let cuts = [Outcome::TimedOut, Outcome::PageFailed];
            let cut = ProgressEvent::Cut(cuts[self.draws.below(2)]);
            let possible = study.outcomes();
            let event = match cut {
                ProgressEvent::Cut(outcome) if possible.contains(&outcome) => cut,
                _ => ProgressEvent::Left,
            };
            return progress.handle(study, event);
        }
        let at = progress.position();
        match &progress.stage(study).kind {
            StageKind::Lobby(lobby) => {
                if self.draws.one_in(6) {
                    return progress.handle(study, ProgressEvent::Cut(lobby.or_else));
                }
                let draw = self.assignment();
                let seat = Some(self.draws.below(2) as u8);
                progress.handle(study, ProgressEvent::Matched { draw: &draw, seat })
            }
            StageKind::Env(_) if progress.rest(study).is_none() => {
                let ended = self.episode(progress);
                let event = ended.as_ref().map(ProgressEvent::EpisodeEnded);
                progress.handle(study, event.unwrap_or(ProgressEvent::Rematched))
            }
            StageKind::Debrief(debrief) if debrief.allow_withdraw && self.draws.one_in(2) => {
                progress.handle(study, ProgressEvent::Withdrawn { at })
            }
            StageKind::External(external) => {
                match external.or_else.filter(|_| self.draws.one_in(3)) {
                    Some(outcome) => progress.handle(study, ProgressEvent::Cut(outcome)),
                    None => progress.handle(study, ProgressEvent::Returned),
                }
            }
            _ => {
                let answers = self.answers(&progress.view(study));
                let answers = &answers;
                progress.handle(study, ProgressEvent::StageDone { at, answers })
            }
        }
    }

    /// Returns an episode that is over, or `None` if the server sends the person back to the lobby.
    fn episode(&mut self, progress: &Progress) -> Option<Episode> {
        let stage = progress.index();
        let horizons = self
            .facts
            .range((stage, String::new())..(stage + 1, String::new()));
        let most = horizons.map(|(_, facts)| facts.horizon).max().unwrap_or(0);
        let has_partner = match &progress.stage(self.study).kind {
            StageKind::Env(env) => env.people() > 1,
            _ => false,
        };
        // The server sends back from the first episode of a group alone.
        let stage = &progress.stage(self.study).id;
        let is_first = !progress.facts().episodes.contains_key(stage);
        if has_partner && is_first && self.draws.one_in(9) {
            return None;
        }
        let reason = match self.draws.below(12) {
            0 if has_partner => EndReason::PartnerLeft,
            1 => EndReason::Technical,
            _ => EndReason::Played,
        };
        let scores = [0, 1, 7, 20, 100, 999, i64::MAX, -3, i64::MIN];
        let rewards = [0.0, 1.0, -0.5, 3.25, f64::from(f32::MAX)];
        let seats = SeatTotals {
            scores: [(); 2]
                .map(|()| scores[self.draws.below(scores.len())])
                .to_vec(),
            rewards: [(); 2]
                .map(|()| rewards[self.draws.below(rewards.len())])
                .to_vec(),
        };
        Some(Episode {
            reason,
            score: scores[self.draws.below(scores.len())],
            seats,
            seat: self.draws.below(2) as u8,
            ticks: match self.draws.below(3) {
                0 => 0,
                1 => most,
                _ => self.draws.below(most as usize + 1) as u32,
            },
            partners: PartnerKind::Mixed,
            success: None,
        })
    }

    /// Answers to what a page shows.
    fn answers(&mut self, view: &StageView) -> Vec<Answer> {
        let answer = |name: &str, value: Value| Answer {
            name: name.to_owned(),
            value: value.to_string(),
        };
        match view {
            StageView::Consent { sha256, .. } if !self.draws.one_in(9) => {
                vec![answer("agreed", json!(sha256))]
            }
            StageView::Survey { surveyjs } | StageView::Quiz { surveyjs, .. } => {
                let form: Value = serde_json::from_str(surveyjs).unwrap();
                let mut elements = Vec::new();
                find_elements(&form, &mut elements);
                let mut all = Vec::new();
                for element in elements {
                    let name = element["name"].as_str().unwrap();
                    all.extend(self.value_of(element).map(|value| answer(name, value)));
                }
                all
            }
            StageView::Watch { task, .. } => {
                let task: Value = serde_json::from_str(task).unwrap();
                let mut all = Vec::new();
                if task["rate"].is_object() {
                    let samples = json!({ "first": 0, "every_ticks": 5, "values": [50] });
                    all.push(answer("rating", samples));
                }
                if task["mark"].is_object() {
                    let label = task["mark"]["labels"][0]["value"].as_str();
                    let span =
                        json!({ "first": 0, "end": 1, "label": label.unwrap_or(""), "text": "a" });
                    let least = task["mark"]["least"].as_u64().unwrap_or_default();
                    all.push(answer("marks", vec![span; least as usize].into()));
                }
                if let (true, Some(first)) = (task["choose"].is_object(), task["order"].get(0)) {
                    all.push(answer("choice", first.clone()));
                    all.push(answer("left", first.clone()));
                }
                all
            }
            _ => Vec::new(),
        }
    }

    fn value_of(&mut self, element: &Value) -> Option<Value> {
        let mut pick = |key: &str| {
            let all = element.get(key)?.as_array()?;
            let one = &all[self.draws.below(all.len())];
            Some(one.get("value").unwrap_or(one).clone())
        };
        match element["type"].as_str()? {
            "radiogroup" | "dropdown" => pick("choices"),
            "checkbox" => pick("choices").map(|value| json!([value])),
            "rating" => Some(json!(
                element.get("rateMin").and_then(Value::as_i64).unwrap_or(1)
            )),
            "boolean" => Some(json!(true)),
            "matrix" => {
                let column = pick("columns")?;
                let rows = element["rows"].as_array()?.iter();
                let rows = rows.map(|row| row.get("value").unwrap_or(row).as_str().unwrap());
                Some(rows.map(|row| (row.to_owned(), column.clone())).collect())
            }
            _ => None,
        }
    }
}

/// The questions of a form.
fn find_elements<'a>(form: &'a Value, found: &mut Vec<&'a Value>) {
    for part in ["pages", "elements"] {
        for element in form
            .get(part)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if element.get("name").is_some() && element.get("type").is_some() {
                found.push(element);
            }
            find_elements(element, found);
        }
    }
}

/// Walks a session to its end; returns it, and its outcome.
fn walk(study: &Study, facts: &EnvFactsByStage, draws: Vec<u32>) -> (Progress, Outcome) {
    let draws = Draws(draws);
    let mut walker = Walker {
        study,
        facts,
        draws,
    };
    let own = walker.assignment();
    let mut progress = Progress::new(study, own);
    for _ in 0..400 {
        if let Some(outcome) = progress.outcome(study) {
            return (progress, outcome);
        }
        if let Err(refusal) = walker.step(&mut progress) {
            panic!("{}: {}: {refusal}", study.id, progress.stage(study).id);
        }
    }
    progress.handle(study, ProgressEvent::Left).unwrap();
    (progress, Outcome::LeftEarly)
}

/// Compares the pay of a session with the outline; returns the faults.
fn compare(study: &Study, outline: &Outline, payment: &Payment) -> Result<(), String> {
    let outcome = payment.outcome;
    let promised = outline.outcomes.iter().find(|it| it.outcome == outcome);
    let promised = promised.ok_or("no such outcome")?;
    let Some(amount) = &promised.amount else {
        return match payment.total {
            0 => Ok(()),
            _ => Err("no pay".to_owned()),
        };
    };
    let currency = amount.currency.as_str();
    let scale = 10_f64.powi(study::payment::decimals_of(currency) as i32);
    let total = payment.total as f64;
    let is_least = (amount.least * scale).round() <= total;
    let is_most = (amount.most).is_none_or(|most| total <= (most * scale).round());
    match is_least && is_most {
        true => Ok(()),
        false => Err(format!("{}: {amount:?}", study.id)),
    }
}

#[test]
fn nobody_is_paid_more_or_less_than_lint_says() {
    let families = list_studies();
    let draws = prop::collection::vec(any::<u32>(), 0..300);
    let config = ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(draws in draws, time_ms in 0_u64..4_000_000)| {
        for Family { facts, studies } in &families {
            let (progress, outcome) = walk(&studies[0].0, facts, draws.clone());
            for (study, outline) in studies {
                let payment = Payment::of(study, &progress, outcome, time_ms, 7, 0);
                let compared = compare(study, outline, &payment);
                let bonus = study.bonus.as_ref().map(|bonus| bonus.source());
                prop_assert!(compared.is_ok(), "{:?}: {:?}, {:?}", compared, bonus, payment);
            }
        }
    });
}
