//! Due payments, as they were computed when sessions ended; and the files that recruiters take.
//!
//! Nothing is paid here, and no payment is ever marked as paid twice: a payment is one row, and only due rows are
//! written into a file and marked.

mod altered;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;
use store::beside::open_beside_server;
use store::{Identifier, PayState, Payment, StudyStore};
use study::payment::{decimals_of, write_money};
use study::plural::count;

use crate::cells::write_cells;
use altered::{ensure_unaltered, name_sessions, name_unknown};
use study::recruitment::{is_mturk_entity, is_mturk_worker, is_prolific_id, usual_floor_per_hour};

/// The reader of a payment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentFormat {
    /// Prolific's bulk bonuses: participant id and amount.
    Prolific,
    /// Mechanical Turk's bonuses: worker, assignment, amount and reason.
    Mturk,
    /// Total amounts by reference number, for payment by hand.
    Plain,
}

/// A payment file to write.
#[derive(Clone, Debug)]
pub struct PaymentOrder {
    /// The reader of the file.
    pub format: PaymentFormat,
    /// The path of the file, which must not exist yet.
    pub out: PathBuf,
    /// True if the payments in it count as paid from now on.
    pub mark: bool,
}

/// The payments of a data folder, due and paid.
#[derive(Clone, Debug, Serialize)]
pub struct Ledger {
    /// Every session that has ended, the oldest first.
    pub payments: Vec<Payment>,
    /// The sum of the payments due, by currency, in its smallest unit.
    pub due: BTreeMap<String, u64>,
    /// The median wage an hour of those who completed, by currency, in its smallest unit.
    pub median_per_hour: BTreeMap<String, u64>,
    /// Warnings for the researcher.
    pub warnings: Vec<String>,
    /// The rows that decide payments and were changed after they were stored: a sentence for each. As long as there is
    /// one, nothing is written or marked.
    pub altered: Vec<String>,
    /// The file that was written, and its lines.
    pub file: Option<(PathBuf, usize)>,
    /// The sum of the amounts in the file, by currency, in its smallest unit.
    pub in_file: BTreeMap<String, u64>,
    /// The sum that the recruiter pays the same people by its own approval.
    pub by_approval: BTreeMap<String, u64>,
    /// True if the study defines the pay of its outcomes.
    #[serde(skip)]
    has_recruitment: bool,
    /// Payments that were marked as paid.
    pub marked: usize,
}

/// Reads the payments of a data folder, and writes a file of the due ones if `order` asks for it. A server may run.
///
/// # Errors
/// There is no data folder, the database or the disk fails, the file exists already, or rows were changed after they
/// were stored; nothing is written or marked then.
pub async fn pay(data: &Path, order: Option<&PaymentOrder>) -> anyhow::Result<Ledger> {
    let store = open(data, order.is_some_and(|order| order.mark)).await?;
    let payments = store.list_payments().await?;
    let studies = store.list_studies().await?;
    let altered = store.read_ledger().await?.altered;
    let episodes = store.episodes().await?.into_iter();
    let known: BTreeSet<String> = episodes.map(|episode| episode.id).collect();
    let mut ledger = Ledger::of(payments, studies.last().map(String::as_str));
    ledger.altered = name_sessions(altered, &ledger.payments);
    ledger.altered.extend(name_unknown(data, &known)?);
    if let Some(order) = order {
        ensure_unaltered(&ledger.altered)?;
        write(&store, order, &mut ledger).await?;
    }
    store.close().await;
    Ok(ledger)
}

async fn open(data: &Path, write: bool) -> anyhow::Result<StudyStore> {
    anyhow::ensure!(
        store::has_database(data)?,
        "there is no data folder {}; name the one that the server had with --data",
        data.display()
    );
    Ok(match write {
        true => open_beside_server(data).await?,
        false => StudyStore::read(data).await?,
    })
}

/// The meaning of a completion code or reference number.
#[derive(Clone, Debug, Serialize)]
pub struct Meaning {
    /// The code or number.
    pub code: String,
    /// The outcome whose code it is by the study file.
    pub outcome: Option<String>,
    /// The payments of the sessions that have it.
    pub payments: Vec<Payment>,
}

/// Finds the meaning of a completion code or of a reference number.
///
/// # Errors
/// There is no data folder, or the database fails.
pub async fn verify_code(data: &Path, code: &str) -> anyhow::Result<Meaning> {
    let store = open(data, false).await?;
    let mut payments = store.list_payments().await?;
    let studies = store.list_studies().await?;
    store.close().await;
    let code = code.trim().to_owned();
    let is_code = |known: &str| known.eq_ignore_ascii_case(&code);
    payments.retain(|payment| {
        is_code(&payment.what.receipt) || payment.what.code.as_deref().is_some_and(is_code)
    });
    Ok(Meaning {
        outcome: studies.last().and_then(|study| declared(study, &code)),
        payments,
        code,
    })
}

/// The outcome for which a study declares a code.
fn declared(study: &str, code: &str) -> Option<String> {
    let study: Value = serde_json::from_str(study).ok()?;
    let outcomes = study.get("recruitment")?.get("outcomes")?.as_object()?;
    let has = |terms: &Value| terms.get("code").and_then(Value::as_str) == Some(code);
    let found = outcomes.iter().find(|(_, terms)| has(terms));
    found.map(|(name, _)| name.clone())
}

impl Ledger {
    fn of(payments: Vec<Payment>, study: Option<&str>) -> Self {
        let due = due(&payments);
        let mut wages: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut warnings = Vec::new();
        for payment in &payments {
            let what = &payment.what;
            let Some(currency) = &what.currency else {
                continue;
            };
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
                    write_money(*wage, currency),
                    write_money(floor, currency)
                ));
            }
        }
        Self {
            payments,
            due,
            median_per_hour,
            warnings,
            altered: Vec::new(),
            file: None,
            in_file: BTreeMap::new(),
            by_approval: BTreeMap::new(),
            has_recruitment: study.is_none_or(has_recruitment),
            marked: 0,
        }
    }
}

/// Tells if a study in canonical form has a block `recruitment`: with it, every outcome is listed.
fn has_recruitment(study: &str) -> bool {
    let study: Result<Value, _> = serde_json::from_str(study);
    study.is_ok_and(|study| study["recruitment"]["outcomes"].is_object())
}

/// The sum of the payments due, by currency, in its smallest unit.
fn due(payments: &[Payment]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for payment in payments.iter().filter(|it| it.state == PayState::Due) {
        if let Some(currency) = &payment.what.currency {
            *all.entry(currency.clone()).or_default() += payment.what.total;
        }
    }
    all
}

/// The minimum hourly wage of a study, in the smallest unit of the currency.
fn floor(study: &str, currency: &str) -> Option<u64> {
    let study: Value = serde_json::from_str(study).ok()?;
    let recruitment = study.get("recruitment")?;
    let said = recruitment.get("floor_per_hour").and_then(Value::as_f64);
    let is_prolific = recruitment.get("provider")?.as_str() == Some("prolific");
    let usual = usual_floor_per_hour(is_prolific, currency);
    let scale = f64::from(10_u32.pow(decimals_of(currency) as u32));
    Some((said.or(usual)? * scale) as u64)
}

/// Writes the file, whole, before anything is marked; it takes its name after that.
async fn write(
    store: &StudyStore,
    order: &PaymentOrder,
    ledger: &mut Ledger,
) -> anyhow::Result<()> {
    let identifiers = match order.format {
        // It names nobody.
        PaymentFormat::Plain => Vec::new(),
        PaymentFormat::Prolific | PaymentFormat::Mturk => store.list_identifiers().await?,
    };
    let known: BTreeMap<&str, &Identifier> = identifiers
        .iter()
        .map(|identifier| (identifier.session.as_str(), identifier))
        .collect();
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut paid: Vec<(String, u64)> = Vec::new();
    let mut unknown = 0;
    for payment in &ledger.payments {
        if payment.state != PayState::Due {
            continue;
        }
        match line(order.format, payment, known.get(payment.session.as_str())) {
            Ok(line) => {
                let what = &payment.what;
                let amount = match order.format {
                    PaymentFormat::Plain => what.total,
                    PaymentFormat::Prolific | PaymentFormat::Mturk => what.extra,
                };
                if let Some(currency) = &what.currency {
                    *ledger.in_file.entry(currency.clone()).or_default() += amount;
                    let rest = ledger.by_approval.entry(currency.clone()).or_default();
                    *rest += what.total - amount.min(what.total);
                }
                lines.extend(line);
                paid.push((payment.session.clone(), what.total));
            }
            Err(Stranger) => unknown += 1,
        }
    }
    if unknown > 0 {
        let form = match order.format {
            PaymentFormat::Mturk => "the id of a worker and of their assignment",
            _ => "an id of Prolific (24 digits and letters from a to f)",
        };
        ledger.warnings.push(format!(
            "not in the file: due payments of {unknown} whose link did not give {form}; pay them by `--csv plain`"
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
        write_cells(&mut writer, line).with_context(failed)?;
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
        ledger.payments = store.list_payments().await?;
        ledger.due = due(&ledger.payments);
    }
    fs::rename(&part, &order.out).with_context(failed)?;
    ledger.file = Some((order.out.clone(), lines.len()));
    Ok(())
}

/// Somebody who did not come from there, by the form of the identifier.
struct Stranger;

fn heading(format: PaymentFormat) -> Option<Vec<String>> {
    let names: &[&str] = match format {
        PaymentFormat::Prolific => return None,
        PaymentFormat::Mturk => &["WorkerId", "AssignmentId", "BonusAmount", "Reason"],
        PaymentFormat::Plain => &["receipt", "participant_id", "outcome", "currency", "amount"],
    };
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

/// The line of a payment; `None` if the recruiter pays all of it with the approval.
fn line(
    format: PaymentFormat,
    payment: &Payment,
    known: Option<&&Identifier>,
) -> Result<Option<Vec<String>>, Stranger> {
    let what = &payment.what;
    let currency = what.currency.clone().unwrap_or_default();
    let extra = write_money(what.extra, &currency);
    let from = |provider: &str| {
        let known = known.map(|known| &known.identity);
        known
            .filter(|known| known.provider == provider)
            .ok_or(Stranger)
    };
    let line = match format {
        PaymentFormat::Prolific => match from("prolific")?.participant.clone() {
            // It refuses a whole list for one line of another form.
            participant if is_prolific_id(&participant) => vec![participant, extra],
            _ => return Err(Stranger),
        },
        PaymentFormat::Mturk => {
            let known = from("mturk")?;
            let assignment = known.parameters.get("assignmentId").cloned();
            let assignment = assignment.filter(|assignment| is_mturk_entity(assignment));
            let assignment = assignment.ok_or(Stranger)?;
            if !is_mturk_worker(&known.participant) {
                return Err(Stranger);
            }
            let reason = format!("Your pay for taking part ({}).", what.receipt);
            vec![known.participant.clone(), assignment, extra, reason]
        }
        PaymentFormat::Plain => {
            let amount = write_money(what.total, &currency);
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
                .map(|units| write_money(units, currency));
            writeln!(
                f,
                "{:<11} {:<14} {:<15} {minutes:>8.1} {base:>8} {bonus:>8} {time:>8} {total:>9} {currency:<4} {:<7}",
                payment.participant,
                what.outcome.name(),
                // Without `recruitment`, there is no recruiter to inform.
                what.code.as_ref().map_or("-", |_| what.deed.name()),
                payment.state.name(),
            )?;
        }
        for (currency, due) in &self.due {
            writeln!(f, "due in all: {currency} {}", write_money(*due, currency))?;
        }
        for (currency, wage) in &self.median_per_hour {
            let wage = write_money(*wage, currency);
            writeln!(
                f,
                "median wage of those who completed: {currency} {wage} an hour"
            )?;
        }
        let parts = [
            ("in the file", &self.in_file),
            ("paid by the provider's own approval", &self.by_approval),
        ];
        for (name, amounts) in parts {
            for (currency, amount) in amounts.iter().filter(|(_, amount)| **amount > 0) {
                writeln!(f, "{name}: {currency} {}", write_money(*amount, currency))?;
            }
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        for altered in &self.altered {
            writeln!(
                f,
                "ALTERED: {altered}; nothing can be written or marked as paid until that is as it was stored"
            )?;
        }
        if let Some((path, lines)) = &self.file {
            write!(f, "{}: {}. ", path.display(), count(*lines, "line"))?;
        }
        let is_due = self.due.values().any(|due| *due > 0);
        f.write_str(match (&self.file, self.marked) {
            (_, 1) => "1 payment is marked as paid.",
            (_, marked) if marked > 0 => return write!(f, "{marked} payments are marked as paid."),
            _ if !self.has_recruitment => {
                "Nothing is due: the study file has no `recruitment`, so no outcome pays anything."
            }
            _ if !is_due => "Nothing is due.",
            (None, _) => "Nothing was written or marked; `--csv` writes what is due.",
            (Some((_, 0)), _) => "Nothing is marked as paid.",
            (Some(_), _) => {
                "Nothing is marked as paid; `--mark-paid` does that in the run that writes the file."
            }
        })
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            outcome,
            payments,
        } = self;
        let mut all = payments.iter();
        let visit = all.find(|payment| payment.what.receipt.eq_ignore_ascii_case(code));
        if let Some(payment) = visit {
            let what = &payment.what;
            let currency = what.currency.as_deref().unwrap_or_default();
            let total = format!("{currency} {}", write_money(what.total, currency));
            let (receipt, participant) = (&what.receipt, &payment.participant);
            let (outcome, state) = (what.outcome.name(), payment.state.name());
            let total = total.trim_start();
            return write!(
                f,
                "{receipt} is the visit of {participant}, which ended as {outcome}; {total}, {state}"
            );
        }
        match (payments.as_slice(), outcome) {
            ([], None) => write!(f, "nobody has the code {code}"),
            ([], Some(outcome)) => {
                write!(f, "{code} is the code of `{outcome}`, which nobody has yet")
            }
            ([one], _) => {
                let outcome = one.what.outcome.name();
                write!(f, "{code} is the code of `{outcome}`, which 1 person has")
            }
            ([first, ..], _) => {
                let (outcome, count) = (first.what.outcome.name(), payments.len());
                write!(
                    f,
                    "{code} is the code of `{outcome}`, which {count} people have"
                )
            }
        }
    }
}
