//! `coplay lint`: everything that is wrong or odd about a study, in one run, and its figures.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use study::design::LevelOrder;
use study::outline::{LobbyOutline, OutcomePay, PayBounds};
use study::plural::count;
use study::stage::RunOn;
use study::{EnvFactsByStage, Outcome, Outline, Problem, Stage, StageKind, Study, payment};

use crate::hosted_worlds::check_hosts;
use crate::odd_worlds::warn_of_worlds;
use crate::partner_models::{PartnerModelOutline, outline_models, warn_of_certificates};
use crate::training_rules::warn_of_training_rules;
use crate::{python, read_study};

/// The longest line that is shown, characters.
const WIDTH: usize = 100;

/// The faults, warnings and outline of a study folder.
#[derive(Debug, Serialize)]
pub struct Linted {
    /// Errors: the study cannot run.
    pub faults: Vec<Found>,
    /// Oddities: the study can run.
    pub warnings: Vec<Found>,
    /// The outline of a study without faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outline: Option<Outline>,
    /// The models of its AI partners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<PartnerModelOutline>,
}

/// A problem, and the line that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The problem: its place, its cause and its fix.
    #[serde(flatten)]
    pub problem: Problem,
    /// The line as it is in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Reads and checks a study folder.
pub fn lint_study(dir: &Path) -> Linted {
    match read_study(dir) {
        Ok((study, playable)) => {
            let mut broken = list_broken_laws(&study);
            let hosts = check_hosts(&study, &playable);
            broken.extend(hosts.faults);
            if study.offline.is_some() {
                broken.extend(study.list_server_needs());
            }
            let is_fine = broken.is_empty();
            let models = outline_models(&study, &playable);
            let mut warnings = list_warnings(&study, &playable);
            warnings.extend(hosts.warnings);
            warnings.extend(warn_of_certificates(&study, &models));
            Linted {
                faults: list_found(dir, broken),
                warnings: list_found(dir, warnings),
                outline: is_fine.then(|| study.make_outline(&playable)),
                models,
            }
        }
        Err(problems) => Linted {
            faults: list_found(dir, problems),
            warnings: Vec::new(),
            outline: None,
            models: Vec::new(),
        },
    }
}

/// Environments in Python that pages cannot step, though they can be opened.
fn list_broken_laws(study: &Study) -> Vec<Problem> {
    let stages = (0..).zip(&study.timeline);
    let check = |(index, stage): (u16, &Stage)| {
        let StageKind::Env(env) = &stage.kind else {
            return None;
        };
        let python = env.python.as_ref().filter(|_| env.run == RunOn::Page)?;
        let reason = python::check_page(python).err()?;
        Some(study.env_problem(index, &reason))
    };
    stages.filter_map(check).collect()
}

fn list_warnings(study: &Study, playable: &EnvFactsByStage) -> Vec<Problem> {
    let mut warnings = study.list_warnings(playable);
    warnings.extend(warn_of_worlds(study, playable));
    warnings.extend(warn_of_training_rules(study, playable));
    warnings
}

/// Returns problems with their lines, as they are in the files now.
pub fn list_found(dir: &Path, problems: Vec<Problem>) -> Vec<Found> {
    let with_line = |problem: Problem| Found {
        text: line(dir, &problem),
        problem,
    };
    problems.into_iter().map(with_line).collect()
}

fn line(dir: &Path, problem: &Problem) -> Option<String> {
    let number = usize::try_from(problem.line).ok()?.checked_sub(1)?;
    let text = std::fs::read_to_string(dir.join(&problem.file)).ok()?;
    Some(text.lines().nth(number)?.to_owned())
}

impl Linted {
    /// Tells if the study can run.
    pub fn is_fine(&self) -> bool {
        self.faults.is_empty()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.problem)?;
        let Some(text) = &self.text else {
            return Ok(());
        };
        let column = (self.problem.column as usize).saturating_sub(1);
        let skipped = column.saturating_sub(WIDTH / 2);
        let is_long = text.chars().count() > WIDTH;
        let skipped = if is_long { skipped } else { 0 };
        let shown: String = text
            .chars()
            .skip(skipped)
            .take(WIDTH)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let number = self.problem.line.to_string();
        let gap = " ".repeat(number.len());
        let before = " ".repeat(column - skipped);
        write!(
            f,
            "\n  {number} | {}\n  {gap} | {before}^",
            shown.trim_end()
        )
    }
}

impl fmt::Display for Linted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            writeln!(f, "{fault}\n")?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}\n")?;
        }
        if let Some(outline) = &self.outline {
            told(f, outline, &self.models)?;
        }
        write!(
            f,
            "{}, {}",
            count(self.faults.len(), "fault"),
            count(self.warnings.len(), "warning")
        )
    }
}

/// The outline of a study, for people.
fn told(
    f: &mut fmt::Formatter<'_>,
    outline: &Outline,
    models: &[PartnerModelOutline],
) -> fmt::Result {
    let Outline {
        id, version, title, ..
    } = outline;
    writeln!(f, "{id} {version}: {title}")?;
    let row =
        |f: &mut fmt::Formatter<'_>, name: &str, text: String| writeln!(f, "  {name:<11} {text}");
    row(f, "hash", outline.hash.clone())?;
    for (index, part) in outline.stages.iter().enumerate() {
        let seats = part.seats.map_or(String::new(), |seats| {
            let people = part.people.unwrap_or(seats);
            let people = if people == 1 {
                "1 person".to_owned()
            } else {
                format!("{people} people")
            };
            format!(", {}, {people}", count(seats, "seat"))
        });
        let visits = match part.visits {
            1 => String::new(),
            visits => format!(", up to {visits} visits"),
        };
        let name = if index == 0 { "stages" } else { "" };
        row(
            f,
            name,
            format!("{} ({}{seats}{visits})", part.id, part.kind),
        )?;
    }
    row(
        f,
        "route",
        format!("{} at most", count(outline.visits, "visit")),
    )?;
    if let Some(quota) = outline.quota {
        row(f, "quota", quota.to_string())?;
    }
    if !outline.treatments.is_empty() {
        let names = outline.treatments.join(", ");
        row(
            f,
            "treatments",
            format!("{}: {names}", outline.treatments.len()),
        )?;
    }
    for orders in &outline.orders {
        let number = count(orders.sequences.unwrap_or(0).into(), "order");
        let sequences = match orders.order {
            LevelOrder::Fixed => "in the order of the file".to_owned(),
            LevelOrder::Random => "in random order".to_owned(),
            LevelOrder::Latin => format!("in {number} (Latin square)"),
            LevelOrder::Williams => format!("in {number} (Williams design)"),
        };
        row(
            f,
            "orders",
            format!(
                "{}: {} {sequences}",
                orders.factor,
                count(orders.levels, "level")
            ),
        )?;
    }
    for lobby in &outline.lobbies {
        row(f, "lobby", of_lobby(lobby))?;
    }
    for model in models {
        row(f, "model", of_model(model))?;
    }
    outcomes(f, &outline.outcomes)?;
    let minutes = outline.minutes;
    let declared = minutes
        .declared
        .map_or(String::new(), |minutes| format!("{minutes} min promised; "));
    let chats = minutes.chat.map_or(String::new(), |chats| {
        format!("chats {:.1} to {:.1} min, ", chats.least, chats.most)
    });
    let rest = format!(
        "episodes last {:.1} min at most, {chats}waiting {:.1} min",
        minutes.play, minutes.wait
    );
    row(f, "time", declared + &rest)?;
    writeln!(f)
}

/// The stages and the observation of a model.
fn of_model(model: &PartnerModelOutline) -> String {
    let mask = if model.is_masked {
        ", by the action mask"
    } else {
        ""
    };
    let certificate = match &model.certificate {
        Some(certificate) => format!("certificate: {certificate}"),
        None => "without a certificate".to_owned(),
    };
    let taken = match &model.observation[..] {
        [one, other, .., _, _] => {
            let more = count(model.observation.len() - 2, "other field");
            format!("{one}, {other} and {more}")
        }
        few => few.join(", "),
    };
    let stages = model.stages.join(", ");
    format!(
        "{} ({stages}) takes {taken}{mask}; {certificate}",
        model.model
    )
}

/// The rooms of a lobby, and the wait in it.
fn of_lobby(lobby: &LobbyOutline) -> String {
    let LobbyOutline {
        id,
        cells,
        same,
        wait_min,
        timeout_min,
    } = lobby;
    let by = match same.is_empty() {
        true => String::new(),
        false => format!(" (same {})", same.join(", ")),
    };
    let cells = count(*cells, "waiting room");
    let limit = match timeout_min.filter(|limit| limit < wait_min) {
        Some(limit) => format!(", longer than its limit of {limit:.1} min"),
        None => String::new(),
    };
    format!(
        "{id}: {cells}{by}; if one person arrives per minute, the average wait is {wait_min:.1} min{limit}"
    )
}

fn outcomes(f: &mut fmt::Formatter<'_>, endings: &[OutcomePay]) -> fmt::Result {
    for (index, ending) in endings.iter().enumerate() {
        let name = if index == 0 { "outcomes" } else { "" };
        let amount = ending.amount.as_ref().map_or(String::new(), of_amount);
        match &ending.pay {
            Some(pay) => writeln!(
                f,
                "  {name:<11} {:<14} pays {pay}{amount}",
                ending.outcome.name()
            )?,
            None => writeln!(f, "  {name:<11} {}", ending.outcome.name())?,
        }
    }
    let amounts = || endings.iter().filter_map(|ending| ending.amount.as_ref());
    let Some(currency) = amounts().map(|amount| &amount.currency).next() else {
        return Ok(());
    };
    let done = endings.iter().find(|it| it.outcome == Outcome::Completed);
    let least = done
        .and_then(|it| it.amount.as_ref())
        .map_or(0.0, |it| it.least);
    let most = amounts().map(|amount| amount.most);
    let most = most.reduce(|one, other| Some(one?.max(other?))).flatten();
    let least = written(least, currency);
    let text = match most {
        Some(most) => format!(
            "at least {currency} {least} for those who complete; at most {} for anybody",
            written(most, currency)
        ),
        None => {
            format!("at least {currency} {least} for those who complete, without an upper limit")
        }
    };
    writeln!(f, "  {:<11} {text}", "pay")
}

/// Describes the possible amounts of a rule.
fn of_amount(amount: &PayBounds) -> String {
    let PayBounds {
        currency,
        least,
        most,
    } = amount;
    let from = written(*least, currency);
    match most {
        Some(most) if most > least => {
            format!(": {currency} {from} to {}", written(*most, currency))
        }
        Some(_) => format!(": {currency} {from}"),
        None => format!(": {currency} {from} or more, without an upper limit"),
    }
}

/// An amount with the decimals of its currency.
fn written(amount: f64, currency: &str) -> String {
    format!("{amount:.0$}", payment::decimals_of(currency))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: u32, column: u32) -> Problem {
        Problem {
            file: "study.yaml".into(),
            line,
            column,
            path: "study.id".into(),
            message: "wrong".into(),
        }
    }

    #[test]
    fn a_problem_is_shown_with_its_line_and_a_caret_under_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("{}x: y", " ".repeat(150));
        std::fs::write(
            dir.path().join("study.yaml"),
            format!("a: 1\n\tb: \u{e9}c\n{long}\n"),
        )
        .unwrap();
        let shown =
            |line, column| list_found(dir.path(), vec![problem(line, column)])[0].to_string();
        assert_eq!(
            shown(2, 5),
            "study.yaml:2:5: study.id: wrong\n  2 |  b: \u{e9}c\n    |     ^"
        );
        let text = shown(3, 151);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].find('x'), lines[2].find('^'), "{text}");
        assert!(lines[1].len() < 120, "{text}");
        assert_eq!(shown(0, 0), "study.yaml: study.id: wrong");
        assert_eq!(shown(9, 1), "study.yaml:9:1: study.id: wrong");
    }

    #[test]
    fn the_time_of_chats_is_counted() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/rehearsal");
        let text = lint_study(&dir).to_string();
        let part = "episodes last 0.7 min at most, chats 0.1 to 0.5 min, waiting 1.7 min";
        assert!(text.contains(part), "{part} in {text}");
    }

    #[test]
    fn the_least_and_the_most_that_anybody_is_paid_are_said() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-coord");
        let linted = lint_study(&dir);
        let text = linted.to_string();
        // A base of 4.50 and a bonus of 5 at most; 40 minutes at 9 an hour at most.
        for part in [
            "completed      pays base + bonus: GBP 4.50 to 9.50",
            "left_early     pays time: GBP 0.00 to 6.00",
            "withdrew       pays as without the withdrawal",
            "pay         at least GBP 4.50 for those who complete; at most 9.50 for anybody",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let json = serde_json::to_value(&linted).unwrap();
        let all = json["outline"]["outcomes"].as_array().unwrap();
        let done = all.iter().find(|it| it["outcome"] == "completed").unwrap();
        assert_eq!(
            (&done["amount"]["least"], &done["amount"]["most"]),
            (&4.5.into(), &9.5.into())
        );
    }

    #[test]
    fn a_clean_study_says_what_it_is() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
        let linted = lint_study(&dir);
        assert!(linted.is_fine(), "{linted}");
        let text = linted.to_string();
        for part in [
            "play (env, 2 seats, 2 people)",
            "5 visits at most",
            "lobby       lobby: 1 waiting room; if one person arrives per minute, the average wait is 0.5 min",
            "outcomes    completed",
            "episodes last 1.5 min at most, waiting 0.5 min",
            "no faults, no warnings",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
