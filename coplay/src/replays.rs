//! `coplay replay`: an episode as a page, in a file, on this machine, or under a link of a running server. Videos are in
//! [`videos`].

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use axum::Router;
use axum::routing::get;
use catalog::agent::{self, ActionChoice};
use clock::Clock;
use coplay::cli::ReplayArgs;
use replay::{Adviser, read_spec, write_page};
use serde_json::json;
use signaling_server::http::secure_alone;
use signaling_server::replays::{
    ReplayKey, ReplayOrder, compute_replay, open_log, page_response, stored_files,
};

use crate::serving::bind_socket;
use crate::{stopped, videos};

/// Runs `coplay replay`.
pub(crate) async fn run(args: ReplayArgs) -> anyhow::Result<ExitCode> {
    page_python::add_folder(args.data.clone());
    if args.link {
        return print_link(&args);
    }
    if args.video.gif.is_some() || args.video.mp4.is_some() {
        return videos::run(&args).await;
    }
    let mut replays = Vec::new();
    for episode in &args.episodes {
        // A file that is given away names no episode.
        let name = args.html.is_none().then(|| episode.clone());
        let order = ReplayOrder {
            name,
            with_chat: args.with_chat,
            advisers: read_advisers(&args, episode)?,
        };
        replays.push(compute_replay(&args.data, episode, order).await?);
    }
    let page = write_page(&replays);
    let Some(file) = &args.html else {
        return serve(&args, page).await;
    };
    std::fs::write(file, &page).with_context(|| format!("cannot write {}", file.display()))?;
    let ticks: Vec<u32> = replays.iter().map(replay::Replay::ticks).collect();
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(
            out,
            "{}",
            json!({ "file": file, "bytes": page.len(), "ticks": ticks })
        )?,
        false => writeln!(
            out,
            "{} has {} kB; open it in a browser",
            file.display(),
            page.len().div_ceil(1_000)
        )?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the controllers that are asked, for the environment of an episode.
fn read_advisers(args: &ReplayArgs, episode: &str) -> anyhow::Result<Vec<Adviser>> {
    let mut advisers = Vec::new();
    for name in &args.ask {
        let log = open_log(&args.data, episode)?;
        let spec = read_spec(&log, &stored_files(&args.data))?;
        let adviser = if name.ends_with(".onnx") {
            let choice = ActionChoice::default();
            let (name, model) = agent::compile_file(Path::new(name), &spec, choice)?;
            let model = Some(model);
            Adviser { name, model }
        } else {
            let adviser = Adviser::find_policy(name, &spec);
            adviser.with_context(|| format!("--ask {name}"))?
        };
        advisers.push(adviser);
    }
    Ok(advisers)
}

/// Prints a link under which a server shows the episode.
fn print_link(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let [episode] = &args.episodes[..] else {
        anyhow::bail!("a link opens one episode; give one id");
    };
    let log = open_log(&args.data, episode)?;
    ensure!(
        log.ending.is_some(),
        "episode {episode} has no end yet; the server shows it once it is over"
    );
    let server = args.server.as_deref().unwrap_or_default();
    let until_s = Clock::start().now_us() / 1_000_000 + u64::from(args.expires_h) * 3_600;
    let key = ReplayKey::open(&args.data).context("the data folder")?;
    let link = format!("{server}{}", key.link(episode, until_s, args.with_chat));
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", json!({ "link": link, "expires_s": until_s }))?,
        false => writeln!(out, "{link}\n\nIt opens for {} hours.", args.expires_h)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves the page on this machine, under an address that no other user of it can guess.
async fn serve(args: &ReplayArgs, page: String) -> anyhow::Result<ExitCode> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let secret = format!("{:032x}", u128::from_be_bytes(secret));
    let listener = bind_socket(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port))).await?;
    let link = format!("http://{}/replay/{secret}", listener.local_addr()?);
    let show = async move || page_response(page.clone());
    let handler = Router::new()
        .route(&format!("/replay/{secret}"), get(show))
        .layer(axum::middleware::map_response(secure_alone));
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", json!({ "link": link }))?,
        false => writeln!(out, "{link}\n\nOpen it in a browser. Ctrl-C stops.")?,
    }
    out.flush()?;
    drop(out);
    tokio::select! {
        served = async { axum::serve(listener, handler).await } => served?,
        () = stopped() => {}
    }
    Ok(ExitCode::SUCCESS)
}
