//! Who is to be paid what, by the payments that were computed when sessions ended; and the files that recruiters take.
//!
//! Nothing is paid here, and nothing is ever marked as paid twice: a payment is one row, and only rows that are due are
//! written into a file and marked.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;
use study::payment::{decimals, written};

use crate::store::{self, Identifier, PayState, Payment, SqliteStore};

/// What a file is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Bulk bonuses of Prolific: participant id and amount.
    Prolific,
    /// Bonuses of Mechanical Turk: worker, assignment, amount, reason.
    Mturk,
    /// Whole amounts by the number of the visit, for payment by hand.
    Plain,
}

/// A file to write.
#[derive(Clone, Debug)]
pub struct Order {
    /// For whom.
    pub format: Format,
    /// Where; there must be no such file yet.
    pub out: PathBuf,
    /// Whether what is in it counts as paid from now on.
    pub mark: bool,
}

/// What is paid, and what is to be paid.
#[derive(Clone, Debug, Serialize)]
pub struct Ledger {
    /// Every session that has ended, the oldest first.
    pub payments: Vec<Payment>,
    /// What is due in all, by currency, in its smallest unit.
    pub due: BTreeMap<String, u64>,
    /// The median wage an hour of those who completed, by currency, in its smallest unit.
    pub median_per_hour: BTreeMap<String, u64>,
    /// What a person should look at.
    pub warnings: Vec<String>,
    /// The file that was written, and its lines.
    pub file: Option<(PathBuf, usize)>,
    /// Payments that were marked as paid.
    pub marked: usize,
}

/// Reads the payments of a data folder, and writes a file of those that are due if one is asked for. A server may run.
///
/// # Errors
/// There is no data folder, the database or the disk fails, or the file is there already; nothing is marked then.
pub async fn pay(data: &Path, order: Option<&Order>) -> anyhow::Result<Ledger> {
    let store = open(data, order.is_some_and(|order| order.mark)).await?;
    let payments = store.payments().await?;
    let studies = store.studies().await?;
    let mut ledger = Ledger::of(payments, studies.last().map(String::as_str));
    if let Some(order) = order {
        write(&store, order, &mut ledger).await?;
    }
    store.close().await;
    Ok(ledger)
}

async fn open(data: &Path, write: bool) -> anyhow::Result<SqliteStore> {
    anyhow::ensure!(
        data.join(store::FILE).is_file(),
        "there is no data folder {}; name the one that the server had with --data",
        data.display()
    );
    Ok(match write {
        true => SqliteStore::open(data).await?,
        false => SqliteStore::read(data).await?,
    })
}

/// What a completion code, or the number of a visit, stands for; none if it is unknown.
///
/// # Errors
/// There is no data folder, or the database fails.
pub async fn verify(data: &Path, code: &str) -> anyhow::Result<Vec<Payment>> {
    let store = open(data, false).await?;
    let mut payments = store.payments().await?;
    store.close().await;
    let code = code.trim();
    let is_code = |known: &str| known.eq_ignore_ascii_case(code);
    payments.retain(|payment| {
        is_code(&payment.what.receipt) || payment.what.code.as_deref().is_some_and(is_code)
    });
    Ok(payments)
}

impl Ledger {
    fn of(payments: Vec<Payment>, study: Option<&str>) -> Self {
        let mut due: BTreeMap<String, u64> = BTreeMap::new();
        let mut wages: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut warnings = Vec::new();
        for payment in &payments {
            let what = &payment.what;
            let Some(currency) = &what.currency else {
                continue;
            };
            if payment.state == PayState::Due {
                *due.entry(currency.clone()).or_default() += what.total;
            }
            if what.outcome == study::Outcome::Completed && what.time_ms > 0 {
                let wage = u128::from(what.total) * 3_600_000 / u128::from(what.time_ms);
                let wage = u64::try_from(wage).unwrap_or(u64::MAX);
                wages.entry(currency.clone()).or_default().push(wage);
            }
            if let Some(note) = &what.note {
                warnings.push(format!("{}: {note}", payment.participant));
            }
        }
        let median = |mut all: Vec<u64>| {
            all.sort_unstable();
            let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
            low.midpoint(high)
        };
        let medians = wages
            .into_iter()
            .map(|(currency, all)| (currency, median(all)));
        let median_per_hour: BTreeMap<String, u64> = medians.collect();
        for (currency, wage) in &median_per_hour {
            if let Some(floor) = study.and_then(|study| floor(study, currency))
                && *wage < floor
            {
                warnings.push(format!(
                    "the median wage is {currency} {} an hour, under the floor of {}; raise `base`, or shorten the study",
                    written(*wage, currency),
                    written(floor, currency)
                ));
            }
        }
        Self {
            payments,
            due,
            median_per_hour,
            warnings,
            file: None,
            marked: 0,
        }
    }
}

/// The least wage an hour: that of the study, else the one that Prolific wants.
///
/// Source: Prolific's payment principles, at least GBP 6 or USD 8 an hour.
fn floor(study: &str, currency: &str) -> Option<u64> {
    let study: Value = serde_json::from_str(study).ok()?;
    let recruitment = study.get("recruitment")?;
    let said = recruitment.get("floor_per_hour").and_then(Value::as_f64);
    let is_prolific = recruitment.get("provider")?.as_str() == Some("prolific");
    let usual = match currency {
        "GBP" if is_prolific => Some(6.0),
        "USD" if is_prolific => Some(8.0),
        _ => None,
    };
    let scale = f64::from(10_u32.pow(decimals(currency) as u32));
    Some((said.or(usual)? * scale) as u64)
}

/// Writes the file, whole, before anything is marked; it takes its name after that.
async fn write(store: &SqliteStore, order: &Order, ledger: &mut Ledger) -> anyhow::Result<()> {
    let identifiers = store.identifiers().await?;
    let known: BTreeMap<&str, &Identifier> = identifiers
        .iter()
        .map(|identifier| (identifier.session.as_str(), identifier))
        .collect();
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut paid: Vec<String> = Vec::new();
    let mut unknown = 0;
    for payment in &ledger.payments {
        if payment.state != PayState::Due {
            continue;
        }
        match line(order.format, payment, known.get(payment.session.as_str())) {
            Ok(line) => {
                lines.extend(line);
                paid.push(payment.session.clone());
            }
            Err(Stranger) => unknown += 1,
        }
    }
    if unknown > 0 {
        ledger.warnings.push(format!(
            "{unknown} due payments are not in the file, as those people did not come from there; pay them by `--csv plain`"
        ));
    }
    let part = PathBuf::from(format!("{}.part", order.out.display()));
    for path in [&order.out, &part] {
        anyhow::ensure!(
            !path.exists(),
            "{} is there already, and may hold payments of an earlier run; name another file with --out",
            path.display()
        );
    }
    let failed = || format!("cannot write {}", part.display());
    let file = OpenOptions::new().write(true).create_new(true).open(&part);
    let mut writer = csv::Writer::from_writer(file.with_context(failed)?);
    for line in heading(order.format)
        .into_iter()
        .chain(lines.iter().cloned())
    {
        writer.write_record(line).with_context(failed)?;
    }
    let file = writer.into_inner().map_err(csv::IntoInnerError::into_error);
    file.with_context(failed)?.sync_all().with_context(failed)?;
    if order.mark {
        ledger.marked = store.mark_paid(&paid).await.with_context(|| {
            format!(
                "nothing was marked as paid; remove {} and try again",
                part.display()
            )
        })?;
        ledger.payments = store.payments().await?;
    }
    fs::rename(&part, &order.out).with_context(failed)?;
    ledger.file = Some((order.out.clone(), lines.len()));
    Ok(())
}

/// Somebody who did not come from there.
struct Stranger;

fn heading(format: Format) -> Option<Vec<String>> {
    let names: &[&str] = match format {
        Format::Prolific => return None,
        Format::Mturk => &["WorkerId", "AssignmentId", "BonusAmount", "Reason"],
        Format::Plain => &["receipt", "participant_id", "outcome", "currency", "amount"],
    };
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

/// The line of a payment; none if the provider pays all of it by itself.
fn line(
    format: Format,
    payment: &Payment,
    known: Option<&&Identifier>,
) -> Result<Option<Vec<String>>, Stranger> {
    let what = &payment.what;
    let currency = what.currency.clone().unwrap_or_default();
    let extra = written(what.extra, &currency);
    let from = |provider: &str| {
        let known = known.map(|known| &known.identity);
        known
            .filter(|known| known.provider == provider)
            .ok_or(Stranger)
    };
    let line = match format {
        Format::Prolific => vec![from("prolific")?.participant.clone(), extra],
        Format::Mturk => {
            let known = from("mturk")?;
            let assignment = known.parameters.get("assignmentId");
            let assignment = assignment.cloned().unwrap_or_default();
            let reason = format!("Your pay for taking part ({}).", what.receipt);
            vec![known.participant.clone(), assignment, extra, reason]
        }
        Format::Plain => {
            let amount = written(what.total, &currency);
            let outcome = what.outcome.name().to_owned();
            let (receipt, participant) = (what.receipt.clone(), payment.participant.clone());
            return Ok(Some(vec![receipt, participant, outcome, currency, amount]));
        }
    };
    Ok((what.extra > 0).then_some(line))
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.payments.is_empty() {
            writeln!(f, "Nobody has come to an end yet.")?;
        } else {
            writeln!(
                f,
                "{:<11} {:<14} {:<15} {:>8} {:>8} {:>8} {:>8} {:>9} {:<4} {:<7}",
                "participant",
                "outcome",
                "do",
                "minutes",
                "base",
                "bonus",
                "time",
                "total",
                "",
                "state"
            )?;
        }
        for payment in &self.payments {
            let what = &payment.what;
            let currency = what.currency.as_deref().unwrap_or_default();
            let minutes = what.time_ms as f64 / 60_000.0;
            let [base, bonus, time, total] = [what.base, what.bonus, what.time, what.total]
                .map(|units| written(units, currency));
            writeln!(
                f,
                "{:<11} {:<14} {:<15} {minutes:>8.1} {base:>8} {bonus:>8} {time:>8} {total:>9} {currency:<4} {:<7}",
                payment.participant,
                what.outcome.name(),
                what.deed.name(),
                payment.state.name(),
            )?;
        }
        for (currency, due) in &self.due {
            writeln!(f, "due in all: {currency} {}", written(*due, currency))?;
        }
        for (currency, wage) in &self.median_per_hour {
            let wage = written(*wage, currency);
            writeln!(
                f,
                "median wage of those who completed: {currency} {wage} an hour"
            )?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        match &self.file {
            None => write!(
                f,
                "Nothing was written or marked; `--csv` writes what is due."
            ),
            Some((path, lines)) if self.marked == 0 => write!(
                f,
                "{}: {lines} lines; nothing is marked as paid, `--mark-paid` does that in the run that writes the file",
                path.display()
            ),
            Some((path, lines)) => write!(
                f,
                "{}: {lines} lines; {} payments are marked as paid",
                path.display(),
                self.marked
            ),
        }
    }
}

/// What a code stands for, in words.
pub fn told(code: &str, found: &[Payment]) -> String {
    let receipt = found
        .iter()
        .find(|payment| payment.what.receipt.eq_ignore_ascii_case(code.trim()));
    match (receipt, found.first()) {
        (Some(payment), _) => {
            let what = &payment.what;
            let currency = what.currency.as_deref().unwrap_or_default();
            let total = written(what.total, currency);
            let total = format!("{currency} {total}");
            format!(
                "{} is the visit of {}, which ended as {}; {}, {}",
                what.receipt,
                payment.participant,
                what.outcome.name(),
                total.trim_start(),
                payment.state.name()
            )
        }
        (None, Some(first)) => {
            let outcome = first.what.outcome.name();
            format!(
                "{} is the code of `{outcome}`, which {} {}",
                code.trim(),
                found.len(),
                if found.len() == 1 {
                    "person has"
                } else {
                    "people have"
                }
            )
        }
        (None, None) => format!("nobody has the code {}", code.trim()),
    }
}
