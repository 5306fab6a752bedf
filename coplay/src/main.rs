//! The `coplay` command.

#![forbid(unsafe_code)]

mod agents;
mod branches;
mod desk;
mod exports;
mod privacy;
mod replays;
mod serving;
mod videos;

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use catalog::StartError;
use catalog::env;
use catalog::lint;
use clap::Parser as _;
use clock::Clock;
use coplay::cli::{
    Cli, Command, EnvCommand, Language, NewCommand, PayArgs, PyodideCommand, RehearseArgs,
    RetainArgs,
};
use coplay::{import, manual, pyodide, python_env, retain, site, template};
use dataset::pay;
use dataset::pay::PaymentOrder;
use mimalloc::MiMalloc;
use rehearsal::RehearsalMode;
use serde::Serialize;
use server_core::limits::Limits;
use signaling_server::assets::Assets;
use signaling_server::model_client::ModelAccess;
use signaling_server::server::{AccessRules, ServerOptions};
use store::backup::restore::restore_backup;
use store::backup::write_backup;
use store::identifier_key::{KeyPlace, choose_place};
use store::study_version::OnStudyChange;
use study::plural::count;
use tracing_subscriber::EnvFilter;

/// Many threads ask for memory here, and the allocator of musl, with which the released program is linked, is slow then.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The command line or the study file is wrong.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr();
    if let Some(file) = cli.key {
        choose_place(KeyPlace::File(file));
    }
    match run(cli.command) {
        Ok(code) => code,
        // Who reads the output, such as `head`, has enough of it.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("coplay: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Logs go to the standard error; `RUST_LOG` chooses, such as `RUST_LOG=debug`.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,coplay=info,server_core=info,signaling_server=info,store=info,archive=info,rehearsal=info"));
    // These would write down what strangers send, and from where; or complain of a busy disk, in words for programmers.
    let silent = [
        "stun_types=off",
        "stun_proto=off",
        "turn_types=off",
        "sqlx=error",
    ];
    let filter = silent.iter().fold(filter, |filter, directive| {
        filter.add_directive(directive.parse().expect("it is well-formed"))
    });
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .init();
}

#[tokio::main]
async fn run(command: Command) -> anyhow::Result<ExitCode> {
    if let Some(data) = command.find_data_to_read() {
        store::servers::fetch_for_reading(data).await?;
    }
    match command {
        Command::Dev(args) => serving::try_out(args).await,
        Command::Serve(args) => serving::serve(*args).await,
        Command::Site(args) => match site::write_site(&args) {
            Ok(written) => report(&written, args.json).map(|()| ExitCode::SUCCESS),
            Err(error) => refused(&args.study, error),
        },
        Command::Import(args) => match import::import_files(&args).await {
            Ok(imported) => {
                report(&imported, args.json)?;
                imported.tell_problems();
                Ok(done_if(imported.faults.is_empty()))
            }
            Err(error) => refused(&args.study, error),
        },
        Command::Rehearse(args) => rehearsal(args).await,
        Command::Export(args) => exports::run(args).await,
        Command::Crate(args) => exports::run_crate(args).await,
        Command::Who { id, data, json } => {
            let found = dataset::who::find_people(&data, &id).await?;
            report(&found, json)?;
            Ok(done_if(!found.people.is_empty()))
        }
        Command::Verify {
            published: Some(published),
            json,
            ..
        } => {
            let found = dataset::study_crate::check_crate(&published)?;
            report(&found, json)?;
            Ok(done_if(found.is_fine()))
        }
        Command::Verify {
            published: None,
            data,
            ledger_hash,
            json,
        } => {
            page_python::add_folder(data.clone());
            let mut found = dataset::verify::verify_data(&data).await?;
            if let Some(noted) = ledger_hash {
                found.require_hash(&noted);
            }
            report(&found, json)?;
            Ok(done_if(found.is_fine()))
        }
        Command::Lint { study, json } => {
            let linted = lint::lint_study(&study);
            report(&linted, json)?;
            Ok(if linted.is_fine() {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(USAGE)
            })
        }
        Command::Schema => {
            let mut out = io::stdout().lock();
            writeln!(out, "{}", serde_json::to_string_pretty(&study::schema())?)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Replay(args) => replays::run(args).await,
        Command::Branch(args) => branches::run(args),
        Command::Pay(args) => payments(args).await,
        Command::Retain(args) => erase(args).await,
        Command::Erase(args) => {
            report(&privacy::erase(&args).await?, args.json)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Backup(args) => {
            let written = write_backup(&args.data, &args.out).await?;
            report(&written, args.json)?;
            Ok(done_if(written.missing.is_empty()))
        }
        Command::Restore(args) => {
            let (data, database) = (&args.data, args.database.as_deref());
            let restored = restore_backup(&args.file, data, database).await?;
            report(&restored, args.json)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Desk { command } => desk::run(command).await,
        Command::Env { command } => environments(command),
        Command::Pyodide { command } => python_of_pages(command),
        Command::Agent { command } => agents::run(command).await,
        Command::Completions { shell } => {
            manual::write_completions(shell, &mut io::stdout().lock())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Manual { out } => {
            let pages = manual::write_manual(&out)?;
            println!("{} in {}", count(pages.len(), "manual page"), out.display());
            Ok(ExitCode::SUCCESS)
        }
        Command::New { what } => start(what),
    }
}

/// `coplay pay`.
async fn payments(args: PayArgs) -> anyhow::Result<ExitCode> {
    if let Some(code) = args.verify {
        let meaning = pay::verify_code(&args.data, &code).await?;
        report(&meaning, args.json)?;
        return Ok(done_if(!meaning.payments.is_empty()));
    }
    let order = args.csv.zip(args.out).map(|(format, out)| PaymentOrder {
        format: format.into(),
        out,
        mark: args.mark_paid,
    });
    let ledger = pay::pay(&args.data, order.as_ref()).await?;
    report(&ledger, args.json)?;
    Ok(done_if(ledger.altered.is_empty()))
}

/// `coplay retain`.
async fn erase(args: RetainArgs) -> anyhow::Result<ExitCode> {
    let options = ServerOptions {
        study: args.study.clone(),
        data: args.data,
        links: 0,
        open: false,
        assets: Assets::Embedded,
        limits: Limits {
            // Who erases by hand says that the clock is right.
            clock_ahead: Duration::MAX,
            ..Limits::default()
        },
        turn: None,
        access: AccessRules::default(),
        models: ModelAccess::Refuse,
        changed: OnStudyChange::Refuse,
    };
    match retain::delete_old_data(options, Clock::start(), args.dry_run).await {
        Ok(due) => report(&due, args.json).map(|()| ExitCode::SUCCESS),
        Err(error) => refused(&args.study, error),
    }
}

/// Installs the Python of pages, or shows it.
fn python_of_pages(command: PyodideCommand) -> anyhow::Result<ExitCode> {
    let (found, json) = match command {
        PyodideCommand::Install { from, data, json } => (
            Some(pyodide::install(from.as_deref(), data.as_deref())?),
            json,
        ),
        PyodideCommand::Show { data, json } => (pyodide::find(data), json),
    };
    let Some(found) = found else {
        eprintln!("Pyodide is not installed: `coplay pyodide install` installs it");
        return Ok(ExitCode::FAILURE);
    };
    if json {
        println!("{}", serde_json::to_string(&found)?);
    } else {
        println!("Pyodide {} in {}", found.version, found.folder.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn environments(command: EnvCommand) -> anyhow::Result<ExitCode> {
    match command {
        EnvCommand::List { json } => report(&env::list()?, json)?,
        EnvCommand::Show {
            environment,
            params,
            json,
        } => report(&env::describe_environment(&environment, &params)?, json)?,
        EnvCommand::Check {
            environment,
            params,
            episodes,
            seed,
            python,
            json,
        } => {
            if python_env::is_python(&environment) {
                let checked = python_env::check(&environment, &params, &python, seed)?;
                report(&checked, json)?;
                return Ok(done_if(checked.is_fine()));
            }
            let checked = env::check(&environment, &params, episodes, seed)?;
            report(&checked, json)?;
            return Ok(done_if(checked.is_fine()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn start(what: Option<NewCommand>) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let (name, dir) = match what {
        None => {
            writeln!(out, "{}", template::study::list())?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(NewCommand::Environment {
            dir,
            name,
            language,
            python,
            coplay,
        }) => {
            let language = if python { Language::Python } else { language };
            let written =
                template::write_environment(&dir, name.as_deref(), language, coplay.as_deref())?;
            writeln!(out, "{written}")?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(NewCommand::HumanAi {
            dir,
            agents,
            layouts,
            rules,
            params,
        }) => {
            let order = template::human_ai::HumanAiOrder {
                agents: &agents,
                layouts: &layouts,
                rules: rules.as_deref(),
                params: params.as_deref(),
            };
            let written = template::human_ai::write_human_ai(&dir, &order)?;
            writeln!(out, "{written}")?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(NewCommand::Overcooked { dir }) => ("overcooked", dir),
        Some(NewCommand::Solo { dir }) => ("solo", dir),
        Some(NewCommand::Survey { dir }) => ("survey", dir),
    };
    let mut known = template::study::STUDIES.iter();
    let template = known.find(|template| template.name == name);
    let template = template.context("this program has no such template")?;
    writeln!(out, "{}", template::study::write_study(template, &dir)?)?;
    Ok(ExitCode::SUCCESS)
}

fn done_if(fine: bool) -> ExitCode {
    if fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Says what is wrong with a study.
fn refused(study: &Path, error: StartError) -> anyhow::Result<ExitCode> {
    match error {
        StartError::Study(problems) => {
            let file = study.display();
            eprintln!(
                "coplay: the study in {file} has {}:",
                count(problems.len(), "problem")
            );
            let problems = lint::list_found(study, problems);
            problems.iter().for_each(|problem| eprintln!("{problem}\n"));
            Ok(ExitCode::from(USAGE))
        }
        StartError::Other(error) => Err(error),
    }
}

/// `coplay rehearse`.
async fn rehearsal(args: RehearseArgs) -> anyhow::Result<ExitCode> {
    if let Some(why) = args.refusal() {
        eprintln!("coplay: {why}");
        return Ok(ExitCode::from(USAGE));
    }
    let (study, json) = (args.study.clone(), args.json);
    let options = rehearsal::RehearsalOptions {
        mode: match args.is_process() {
            true => RehearsalMode::Process,
            false => RehearsalMode::Virtual,
        },
        program: std::env::current_exe().context("where this program is")?,
        study: args.study,
        data: args.data,
        sessions: args.sessions as usize,
        faults: args.faults,
        kills: args.kills as usize,
        arrivals_per_min: args.arrivals_per_min,
        seed: args.seed,
        speed: args.speed.unwrap_or(60.0),
        browsers: args.browsers as usize,
        chromium: args.chromium,
        has_webrtc: args.webrtc,
        has_pages: Assets::Embedded.read("index.html").is_some(),
    };
    let rehearsed = tokio::select! {
        rehearsed = rehearsal::rehearse(&options) => rehearsed,
        // The server, if there is one, and the folder go with what is dropped here.
        () = stopped() => anyhow::bail!("stopped before the end; nothing is left behind"),
    };
    match rehearsed {
        Ok(found) => {
            report(&found, json)?;
            Ok(done_if(found.is_fine()))
        }
        Err(error) => refused(&study, error),
    }
}

/// Prints a result, as text for people or as one JSON object.
fn report(what: &(impl Display + Serialize), json: bool) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match json {
        true => writeln!(out, "{}", serde_json::to_string(what)?)?,
        false => writeln!(out, "{what}")?,
    }
    Ok(())
}

/// Waits for Ctrl-C or a request to end.
async fn stopped() {
    let ctrl_c = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let asked = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let asked = std::future::pending::<()>();
    tokio::select! {
        () = ctrl_c => {}
        () = asked => {}
    }
    tracing::info!("stopping");
}
