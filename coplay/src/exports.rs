//! `coplay export` and `coplay crate`: tables, data sets of other formats, and the study as one archive.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use catalog::{StartError, read_study};
use coplay::cli::{CrateArgs, ExportArgs, ExportFormat};
use dataset::export::{ChosenMeasure, ExportOptions, StopFlag};
use dataset::lerobot::export_lerobot;
use dataset::minari::export_minari;
use dataset::study_crate::{CrateFacts, write_crate};
use study::exclusion::{ExclusionRule, read_exclusions};

use crate::{USAGE, done_if, report, stopped};

/// Runs `coplay export`.
pub(crate) async fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    page_python::add_folder(args.data.clone());
    let Some(format) = args.format.of_tables() else {
        return export_datasets(args).await;
    };
    let exclusions = match args.exclusions.as_deref().map(read_rules).transpose()? {
        Some(Err(code)) => return Ok(code),
        Some(Ok(rules)) => Some(rules),
        None => None,
    };
    let adherence = args.adherence.as_deref().map(read_measures).transpose()?;
    let options = ExportOptions {
        format,
        seen: args.seen,
        states: args.states,
        decisions: args.decisions,
        observations: args
            .observations
            .iter()
            .map(|kind| (*kind).into())
            .collect(),
        since_us: args.since,
        identifiers: args.with_identifiers,
        demographics: args.demographics,
        exclusions,
        adherence,
        stop: StopFlag::default(),
    };
    let stop = options.stop.clone();
    let work = async move { dataset::export::export(&args.data, &args.out, &options).await };
    let summary = run_until_stopped(work, stop).await?;
    report(&summary, args.json)?;
    Ok(done_if(summary.is_fine()))
}

/// The rules of a file; if it has faults, they are shown, and the exit code is given.
fn read_rules(file: &Path) -> anyhow::Result<Result<Vec<ExclusionRule>, ExitCode>> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    Ok(read_exclusions(&name, &text).map_err(|problems| {
        problems.iter().for_each(|problem| eprintln!("{problem}"));
        ExitCode::FAILURE
    }))
}

/// The measures of adherence of the study in a folder, with the models that they need.
fn read_measures(folder: &Path) -> anyhow::Result<Vec<ChosenMeasure>> {
    let (study, _) = read_study(folder).map_err(StartError::Study)?;
    anyhow::ensure!(
        !study.adherence.is_empty(),
        "the study in {} measures no adherence; write for example `adherence: [{{name: greedy, stage: play, policy: cook}}]` \
         into its study.yaml",
        folder.display()
    );
    let measures = study.adherence.iter();
    let measures = measures.map(|measure| {
        let policy = &measure.policy.policy;
        let mut models = study.models.iter();
        let model = models.find(|model| policy.ends_with(&format!("@{}", model.sha256)));
        ChosenMeasure {
            name: measure.name.clone(),
            stage: measure.stage.clone(),
            policy: policy.clone(),
            model: model.map(|model| model.bytes.clone()),
        }
    });
    Ok(measures.collect())
}

/// Runs `coplay export --format minari` and `lerobot`.
async fn export_datasets(args: ExportArgs) -> anyhow::Result<ExitCode> {
    if let Some(option) = args.list_table_options().first() {
        eprintln!(
            "coplay: {option} is for tables; leave it out, or choose --format csv, parquet or jsonl"
        );
        return Ok(ExitCode::from(USAGE));
    }
    let stop = StopFlag::default();
    let own = stop.clone();
    let work = async move {
        match args.format {
            ExportFormat::Lerobot => export_lerobot(&args.data, &args.out, &own).await,
            _ => export_minari(&args.data, &args.out, &own).await,
        }
    };
    let summary = run_until_stopped(work, stop).await?;
    report(&summary, args.json)?;
    Ok(done_if(summary.skipped.is_empty()))
}

/// Runs `coplay crate`.
pub(crate) async fn run_crate(args: CrateArgs) -> anyhow::Result<ExitCode> {
    page_python::add_folder(args.data.clone());
    let name = args.facts.display().to_string();
    let text = fs::read_to_string(&args.facts).with_context(|| format!("cannot read {name}"))?;
    let facts = CrateFacts::read(&text).with_context(|| name)?;
    let stop = StopFlag::default();
    let own = stop.clone();
    let work = async move { write_crate(&args.data, &args.out, &facts, &own).await };
    let written = run_until_stopped(work, stop).await?;
    report(&written, args.json)?;
    Ok(done_if(written.skipped.is_empty()))
}

/// Runs an export on its own thread, as it computes for long; it cleans up when it is asked to stop.
async fn run_until_stopped<T: Send + 'static>(
    work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
    stop: StopFlag,
) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Handle::current();
    let mut work = tokio::task::spawn_blocking(move || runtime.block_on(work));
    tokio::select! {
        done = &mut work => done?,
        () = stopped() => {
            stop.stop();
            work.await?
        }
    }
}
