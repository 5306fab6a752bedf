//! `coplay desk`: who may open the dashboard of a data folder. It works while a server runs, and a revoked key is void at
//! once.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::ensure;
use clock::Clock;
use coplay::cli::{DeskCommand, DeskLinkArgs, DeskTokenArgs};
use serde_json::json;
use signaling_server::desk::link_path;
use store::beside::open_beside_server;
use store::data_folder::is_there;
use store::desk_keys::{DeskKey, DeskKeys, KeyKind};

/// The command that the audit trail names.
const COMMAND: &str = "desk";

/// Runs `coplay desk`.
pub(crate) async fn run(command: DeskCommand) -> anyhow::Result<ExitCode> {
    match command {
        DeskCommand::Link(args) => make_link(args).await,
        DeskCommand::Token(args) => make_token(args).await,
        DeskCommand::List { data, json } => list(&data, json).await,
        DeskCommand::Revoke { id, data } => revoke(&data, id).await,
    }
}

fn now_s() -> u64 {
    Clock::start().now_us() / 1_000_000
}

async fn open(data: &Path) -> anyhow::Result<DeskKeys> {
    ensure!(
        is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    Ok(DeskKeys::open(data).await?)
}

/// Makes a key, and enters that into the audit trail.
async fn issue(
    data: &Path,
    kind: KeyKind,
    name: &str,
    role: coplay::cli::RoleArg,
) -> anyhow::Result<(DeskKey, String)> {
    let keys = open(data).await?;
    // Before a key is made: without the audit trail, no key is made.
    let trail = open_beside_server(data).await?;
    let (key, secret) = keys.issue(kind, name, role.into(), now_s()).await?;
    keys.close().await;
    let deed = format!(
        "the command line made a {} ({}), key {}",
        key.kind.name(),
        key.role.name(),
        key.id
    );
    trail.append_audit(COMMAND, &deed).await?;
    trail.close().await;
    Ok((key, secret))
}

async fn make_link(args: DeskLinkArgs) -> anyhow::Result<ExitCode> {
    let (key, secret) = issue(&args.data, KeyKind::Link, &args.name, args.role).await?;
    let link = format!("{}{}", args.url.trim_end_matches('/'), link_path(&secret));
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", json!({ "link": link, "key": key }))?,
        false => writeln!(out, "{link}\n\nIt opens once, within 24 hours.")?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn make_token(args: DeskTokenArgs) -> anyhow::Result<ExitCode> {
    let (key, token) = issue(&args.data, KeyKind::Token, &args.name, args.role).await?;
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", json!({ "token": token, "key": key }))?,
        false => writeln!(
            out,
            "{token}\n\nIt is shown only once. `coplay desk revoke {}` revokes it.",
            key.id
        )?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(data: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let keys = open(data).await?;
    let found = keys.list(now_s()).await?;
    keys.close().await;
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&found)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !found.is_empty() {
        writeln!(out, "{:>4}  {:<8} {:<11} name", "id", "kind", "role")?;
    }
    for key in &found {
        let name = if key.name.is_empty() { "-" } else { &key.name };
        let (kind, role) = (key.kind.name(), key.role.name());
        writeln!(out, "{:>4}  {kind:<8} {role:<11} {name}", key.id)?;
    }
    if found.is_empty() {
        writeln!(out, "There is no valid link, browser or token.")?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn revoke(data: &Path, id: i64) -> anyhow::Result<ExitCode> {
    let keys = open(data).await?;
    let trail = open_beside_server(data).await?;
    let is_done = keys.revoke(id, now_s()).await?;
    keys.close().await;
    ensure!(
        is_done,
        "there is no valid link, browser or token with the number {id}; `coplay desk list --data {}` shows them",
        data.display()
    );
    let deed = format!("the command line revoked key {id}");
    trail.append_audit(COMMAND, &deed).await?;
    trail.close().await;
    println!("Number {id} is revoked.");
    Ok(ExitCode::SUCCESS)
}
