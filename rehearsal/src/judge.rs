//! Compares what the bots saw with the data folder.

mod data;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use study::design::Unit;
use study::payment::{units_in_language, write_money};
use study::{Assignment, Outcome, Progress, Study, UnitAssignment, screening};

use super::played::Played;
use super::quota;
use super::record::{Given, Phase, Record};
use super::report::{Cell, Cost, Figures, RehearsalReport, Stuck};
use dataset::pay;
use store::{Payment, Session};

use data::{Data, Visit};

/// Problems of sessions, by their number.
type Faulty = BTreeMap<usize, Vec<String>>;

/// Compares the two, and writes the report.
///
/// # Errors
/// The data folder cannot be read.
pub(super) async fn judge_sessions(
    played: Played,
    data: &Path,
    out: &Path,
) -> anyhow::Result<RehearsalReport> {
    let mut found = data::read(&played.options, data, out).await?;
    let records: Vec<(String, Record)> = (played.sessions.iter())
        .map(|(key, record)| (key.clone(), record.lock().clone()))
        .collect();
    found.name_withdrawn(&records);
    found.wrong.extend(found.messages.list_wrong(&played.study));
    let gone = records.iter().filter(|(_, record)| record.has_withdrawn);
    found.erased = gone.flat_map(|(_, of)| of.wrote.iter().cloned()).collect();
    let mut faulty = Faulty::new();
    for (link, record) in &records {
        let session = found.sessions.get(link);
        let wrong = faulty.entry(record.number).or_default();
        if let Phase::Stuck(why) = &record.phase {
            wrong.push(why.clone());
        }
        match session {
            Some(session) => wrong.extend(held_against(&played.study, record, session, &found)),
            // One that nobody began may be forgotten.
            None if record.places.len() > 1 || record.outcome.is_some() => {
                wrong.push("the data have no such session".to_owned())
            }
            None => {}
        }
    }
    let drawn = drawn(&found)?;
    let (design, sessions) = (&played.study.design, found.sessions.values());
    let is_forgotten = |(link, _): &&(String, Record)| !found.sessions.contains_key(link);
    let forgotten = records.iter().filter(is_forgotten).count();
    let sessions: Vec<&Session> = sessions.collect();
    let away = quota::turned_away(design, &sessions, forgotten, &found.groups, &drawn);
    for (participant, why) in redrawn(&played.snapshots, &drawn).into_iter().chain(away) {
        let link = found
            .sessions
            .iter()
            .find(|(_, session)| session.participant == participant);
        let number =
            link.and_then(|(link, _)| Some(records.iter().find(|(of, _)| of == link)?.1.number));
        match number {
            Some(number) => faulty.entry(number).or_default().push(why),
            None => found.wrong.push(format!("{participant}: {why}")),
        }
    }
    faulty.retain(|_, wrong| !wrong.is_empty());
    let stuck = records.iter().filter_map(|(_, record)| {
        Some(Stuck {
            session: record.number,
            fault: record.fault,
            because: faulty.get(&record.number)?.clone(),
            trace: record.trace.to_string(),
        })
    });
    let stuck = stuck.collect();
    let cells = cells(&played.study, &found, &drawn);
    let sessions = records.iter().map(|(link, record)| {
        let outcome = found
            .sessions
            .get(link)
            .and_then(|session| session.outcome.clone());
        (record, outcome)
    });
    let figures = Figures {
        verdicts: found.verdicts,
        wrong: found.wrong,
        rows: found.rows,
        stuck,
        cells,
        cost: costs(&found.ledger),
        warnings: found.ledger.warnings,
    };
    Ok(RehearsalReport::new(&played, sessions.collect(), figures))
}

/// The problems of one session.
fn held_against(study: &Study, record: &Record, session: &Session, data: &Data) -> Vec<String> {
    let mut wrong = Vec::new();
    let known = |name: &String| Outcome::ALL.iter().any(|(known, _)| known == name);
    match (&session.outcome, &record.outcome) {
        (Some(kept), _) if !known(kept) => wrong.push(format!("`{kept}` is no declared outcome")),
        (Some(kept), Some(shown)) if kept != shown => {
            wrong.push(format!(
                "was shown the outcome `{shown}`, and the data have `{kept}`"
            ));
        }
        (None, Some(shown)) => {
            wrong.push(format!(
                "was shown the outcome `{shown}`, and the data have none"
            ));
        }
        (None, None) if record.phase == Phase::Over => {
            wrong.push("ended without an outcome".to_owned())
        }
        (None, None) if study.keeping.expires_h.is_some() => {
            wrong.push("nobody came back, and the session did not expire".to_owned())
        }
        _ => {}
    }
    let visits = data.visits.get(&session.participant);
    let kept = visits.map_or(&[][..], Vec::as_slice);
    if record.has_withdrawn && session.outcome.as_deref() == Some(Outcome::Withdrew.name()) {
        let written: Vec<&str> = data.messages.sent_by(&session.participant).collect();
        wrong.extend(still_there(kept, &written));
    } else {
        wrong.extend(lost_answers(&record.given, kept));
        let messages = &data.messages;
        wrong.extend(messages.held_against(record, &session.participant, &data.erased));
    }
    for (id, verdict) in &record.verdicts {
        let kept = data.episodes.iter().find(|episode| episode.id == *id);
        let told = (verdict.reason, verdict.ticks, verdict.score, verdict.digest);
        let ending = kept.and_then(|episode| episode.ending);
        let kept = ending.map(|end| (end.reason, end.ticks, end.score, end.digest));
        // An episode that never began has no file, and gives nobody a score.
        if kept.is_some_and(|kept| kept != told) {
            wrong.push(format!(
                "was told {told:?} of the episode {id}, and the data have {kept:?}"
            ));
        }
    }
    let place: Progress = serde_json::from_str(&session.position).unwrap_or_default();
    let language = place.language(study);
    wrong.extend(unpaid(record, session, language, &data.ledger.payments));
    let known = study.timeline.iter().map(|stage| stage.id.as_str());
    let known: BTreeSet<&str> = known.collect();
    for (stage, _) in visits.into_iter().flatten() {
        if !known.contains(stage.as_str()) {
            wrong.push(format!("the data have answers of a stage `{stage}`"));
        }
    }
    wrong
}

/// Returns the remaining answers and messages of somebody who has withdrawn their data.
fn still_there(kept: &[Visit], written: &[&str]) -> Vec<String> {
    let answers = kept
        .iter()
        .map(|(stage, _)| format!("answers on the stage `{stage}`"));
    let messages = written.iter().map(|text| format!("the message {text:?}"));
    let what = answers.chain(messages);
    what.map(|what| format!("was told that the data are withdrawn, and {what} are there"))
        .collect()
}

/// Answers that were acknowledged and are missing, and answers that were never given.
fn lost_answers(given: &[Given], kept: &[Visit]) -> Vec<String> {
    let as_kept = |given: &Given| {
        let items = given.answers.iter().map(|answer| {
            let text = serde_json::from_str::<String>(&answer.value);
            (
                answer.name.clone(),
                text.unwrap_or_else(|_| answer.value.clone()),
            )
        });
        (given.stage.clone(), items.collect::<BTreeMap<_, _>>())
    };
    let mut wrong = Vec::new();
    let mut left: Vec<&Visit> = kept.iter().collect();
    // Measured capabilities are stored with the position in the study, and only with consent.
    let answered = given.iter().filter(|given| given.stage != screening::ID);
    for given in answered.filter(|given| !given.answers.is_empty()) {
        let wanted = as_kept(given);
        match left.iter().position(|visit| **visit == wanted) {
            Some(at) => drop(left.remove(at)),
            None if given.is_acknowledged => wrong.push(format!(
                "the data lack answers that were acknowledged, on the stage `{}`: {:?}",
                wanted.0, wanted.1
            )),
            None => {}
        }
    }
    let extra = left.into_iter();
    wrong.extend(extra.map(|(stage, items)| {
        format!("the data have answers that were not given, on the stage `{stage}`: {items:?}")
    }));
    wrong
}

/// Problems of the payment of a session: it is paid once, for its outcome, and as the last page said.
fn unpaid(record: &Record, session: &Session, language: &str, payments: &[Payment]) -> Vec<String> {
    let of = payments.iter();
    let paid: Vec<_> = of.filter(|payment| payment.session == session.id).collect();
    let (Some(outcome), [payment]) = (&session.outcome, &paid[..]) else {
        let wanted = usize::from(session.outcome.is_some());
        return match paid.len() == wanted {
            true => Vec::new(),
            false => vec![format!(
                "{} payments for the outcome {:?}",
                paid.len(),
                session.outcome
            )],
        };
    };
    let what = &payment.what;
    let mut wrong = Vec::new();
    if what.outcome.name() != outcome {
        wrong.push(format!(
            "ended with `{outcome}`, and is paid for `{}`",
            what.outcome
        ));
    }
    let (code, told) = (what.code.clone().unwrap_or_default(), &record.farewell);
    let amount = match (&what.currency, what.total) {
        (Some(currency), total) if total > 0 => units_in_language(total, currency, language),
        _ => String::new(),
    };
    let kept = (&code, &what.receipt, &amount);
    // Without a recruiter nobody is shown a code or a number.
    let is_told = record.outcome.is_some() && what.code.is_some();
    if is_told && kept != (&told.code, &told.receipt, &told.pay) {
        wrong.push(format!("was told {told:?}, and the data have {kept:?}"));
    }
    wrong
}

/// The random assignment of each participant.
fn drawn(data: &Data) -> anyhow::Result<BTreeMap<String, Assignment>> {
    let drawn = data.sessions.values().map(|session| {
        let progress: Progress = serde_json::from_str(&session.position)?;
        Ok((session.participant.clone(), progress.assignment().clone()))
    });
    drawn.collect()
}

/// Finds participants whose assignment differs from the one before the server was killed.
fn redrawn(
    before: &[BTreeMap<String, Assignment>],
    now: &BTreeMap<String, Assignment>,
) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    for (participant, old) in before.iter().flatten() {
        let Some(new) = now.get(participant) else {
            wrong.push((
                participant.clone(),
                "was forgotten when the server was killed".to_owned(),
            ));
            continue;
        };
        let keeps_groups = old
            .groups
            .iter()
            .all(|(at, draw)| new.groups.get(at) == Some(draw));
        if old.own != new.own || !keeps_groups {
            let why = format!("the assignment has changed from {old:?} to {new:?}");
            wrong.push((participant.clone(), why));
        }
    }
    wrong.sort();
    wrong.dedup();
    wrong
}

/// Units by treatment and balanced sequence, and how many of them completed the study.
fn cells(
    study: &Study,
    data: &Data,
    drawn: &BTreeMap<String, Assignment>,
) -> BTreeMap<String, Cell> {
    let seeds = data.groups.iter().filter(|group| group.is_replaced());
    let with_ai: BTreeSet<u64> = seeds.map(quota::seed).collect();
    let mut units: BTreeMap<String, (String, bool, bool)> = BTreeMap::new();
    for session in data.sessions.values() {
        let Some(assignment) = drawn.get(&session.participant) else {
            continue;
        };
        let completed = session.outcome.as_deref() == Some(Outcome::Completed.name());
        let own = [(session.participant.clone(), &assignment.own, false)];
        let groups = assignment.groups.values();
        let of_groups = groups.map(|draw| {
            let has_ai = with_ai.contains(&draw.seed);
            (draw.seed.to_string(), draw, has_ai)
        });
        let of_unit: Vec<(String, &UnitAssignment, bool)> = match study.design.unit {
            Unit::Participant => own.into(),
            Unit::Group => of_groups.collect(),
        };
        for (unit, draw, has_ai) in of_unit {
            if let Some(cell) = cell(study, draw) {
                let (_, all, _) = units.entry(unit).or_insert((cell, true, has_ai));
                *all &= completed;
            }
        }
    }
    let mut cells: BTreeMap<String, Cell> = BTreeMap::new();
    for (name, completed, has_ai) in units.into_values() {
        let cell = cells.entry(name).or_default();
        cell.assigned += 1;
        cell.completed += usize::from(completed && !has_ai);
        cell.with_ai += usize::from(has_ai);
    }
    cells
}

/// Sums of the payments, by currency.
fn costs(ledger: &pay::Ledger) -> BTreeMap<String, Cost> {
    let cost = |(currency, total): (&String, &u64)| {
        let paid = ledger.payments.iter().filter(|payment| {
            payment.what.currency.as_ref() == Some(currency) && payment.what.total > 0
        });
        let median = ledger.median_per_hour.get(currency);
        let cost = Cost {
            total: write_money(*total, currency),
            payments: paid.count(),
            median_per_hour: median.map(|median| write_money(*median, currency)),
        };
        (currency.clone(), cost)
    };
    ledger.due.iter().map(cost).collect()
}

/// The name of a unit's treatment and sequences; `None` if nothing varies.
fn cell(study: &Study, draw: &UnitAssignment) -> Option<String> {
    let factors = study.design.between.iter().map(|it| it.name.as_str());
    let treatment = Some(draw.treatment_name(factors)).filter(|name| !name.is_empty());
    let sequences = draw.sequences.iter();
    // Who has which member of a pool first splits no treatment.
    let sequences = sequences.filter(|(name, _)| study.design.pool(name).is_none());
    let sequences = sequences.map(|(factor, row)| format!("order {} of {factor}", row + 1));
    let names: Vec<String> = treatment.into_iter().chain(sequences).collect();
    (!names.is_empty()).then(|| names.join("/"))
}

#[cfg(test)]
mod tests;
