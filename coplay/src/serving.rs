//! `coplay dev` and `coplay serve`: from the arguments to a running server, and its output at the start.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clock::Clock;
use coplay::cli::{DevArgs, ServeArgs};
use coplay::dev;
use coplay::downloads::make_table_writer;
use coplay::options::{find_turn_address, make_options, read_access_rules};
use coplay::rehearsal_clock::{self, Stop};
use serde_json::json;
use signaling_server::model_client::{ModelAccess, ModelKey};
use signaling_server::origins::Origins;
use signaling_server::server::{Server, ServerOptions};
use signaling_server::site_rules::find_origin;
use signaling_server::webhook::WebhookOptions;
use store::data_folder::{self, DataDir};
use store::identifier_key::{KeyPlace, choose_place};
use store::servers;
use store::study_version::OnStudyChange;
use tokio::net::TcpListener;

use super::{refused, stopped};

/// Source: RFC 8656 §5, the registered port of STUN and TURN.
const TURN_PORT: u16 = 3_478;

/// `coplay dev`.
pub(crate) async fn try_out(args: DevArgs) -> anyhow::Result<ExitCode> {
    choose_place(KeyPlace::Trial);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let sites = args.access.site.iter().filter_map(|it| find_origin(it));
    let origins = args.origin.into_iter().chain(sites).collect();
    let turn = find_turn_address(&args.turn, listen, listen.ip(), 0, None);
    let model_key = ModelKey::read(args.study.model_key.as_deref())?;
    let options = make_options(
        args.study,
        "coplay-dev-data",
        true,
        turn,
        OnStudyChange::Carry,
        read_access_rules(&args.access, Vec::new(), Some(Origins::new(origins)))?,
    );
    let options = ServerOptions {
        models: ModelAccess::Ask(model_key),
        ..options
    };
    let listener = bind_socket(listen).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let (study, data) = (options.study.clone(), options.data.clone());
    let site = args.access.site.first();
    let told = |server: &Server, desk: &str| announce(&url, site, server, &data, desk, args.json);
    let stop = Box::pin(stopped());
    match dev::run(options, !args.no_reload, args.fresh, listener, stop, told).await {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => refused(&study, error),
    }
}

/// `coplay serve`.
pub(crate) async fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let (listen, url) = (args.listen, args.url);
    // What listens for a web server on the same machine is not what pages reach for TURN.
    let ip = match listen.ip() {
        ip if !ip.is_loopback() => ip,
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let turn = find_turn_address(&args.turn, listen, ip, TURN_PORT, url.as_deref());
    let model_key = ModelKey::read(args.study.model_key.as_deref())?;
    let options = make_options(
        args.study,
        "coplay-data",
        args.open,
        turn,
        args.changed.into(),
        read_access_rules(&args.access, args.trusted_proxy, None)?,
    );
    let mut options = ServerOptions {
        limits: args.limits.limits(),
        models: match args.paced {
            // A rehearsal costs nothing.
            true => ModelAccess::Refuse,
            false => ModelAccess::Ask(model_key),
        },
        ..options
    };
    if !options.access.sites.is_empty() {
        // A web server in front may name another host than the one that browsers know.
        options.access.sites.extend(url.clone());
    }
    let has_tls = url.as_ref().is_some_and(|url| url.starts_with("https"));
    if has_tls && listen.ip().is_loopback() && options.access.trusted_proxies.is_empty() {
        tracing::warn!(
            "without --trusted-proxy, all visitors through the web server count as one address; if it sets \
             X-Forwarded-For, add --trusted-proxy {}",
            listen.ip()
        );
    }
    let (study, data) = (options.study.clone(), options.data.clone());
    anyhow::ensure!(
        !dev::is_trial(&data),
        "{} has data of `coplay dev`, which can be deleted at any time; choose another folder with --data",
        data.display()
    );
    if !args.paced {
        data_folder::refuse_rehearsal(&data)?;
    }
    let is_shared = names_database(&data, args.database.as_deref())?;
    if let Some(address) = args.object_store.as_deref() {
        servers::choose_object_store(&DataDir::open(&data)?, address)?;
    }
    // The port first: if it is taken, nothing in the data folder changes. If there are several servers, only the server
    // that has the study listens, so that a web server in front finds it.
    let listener = Some(bind_socket(listen).await?).filter(|_| !is_shared);
    if args.paced {
        choose_place(KeyPlace::Trial);
    }
    let (clock, stop) = match args.paced {
        true => rehearsal_clock::read().await?,
        false => (Clock::start(), Box::pin(stopped()) as Stop),
    };
    let webhook = args.webhook.as_ref().zip(args.webhook_secret.as_ref());
    let webhook = webhook.map(|(url, secret)| WebhookOptions::read(url, secret));
    let webhook = webhook.transpose()?;
    let server = match Server::start_with(options, clock, webhook).await {
        Ok(server) => server,
        Err(error) => return refused(&study, error),
    };
    let listener = match listener {
        Some(listener) => Ok(listener),
        None => bind_socket(listen).await,
    };
    let listener = match listener {
        Ok(listener) => listener,
        Err(error) => {
            server.give_up().await?;
            return Err(error);
        }
    };
    if url.is_none() && listen.ip().is_unspecified() {
        tracing::warn!(
            "the printed links begin with http://{listen}, which other machines cannot open; add --url with the public address"
        );
    }
    let url = url.unwrap_or(format!("http://{}", listener.local_addr()?));
    let url = url.trim_end_matches('/');
    let site = args.access.site.first();
    let desk = server.open_desk(has_tls).await?;
    desk.offer_tables(make_table_writer());
    let link = desk.make_link().await?;
    announce(url, site, &server, &data, &link, args.json).context("the standard output")?;
    let replays = server.replays().context("the data folder")?;
    let replays = signaling_server::replays::router(replays.for_desk(desk.clone()));
    let server = server.wrapped(|router| {
        router
            .merge(signaling_server::desk::router(desk))
            .merge(replays)
    });
    server.serve(listener, stop).await?;
    Ok(ExitCode::SUCCESS)
}

/// Has a data folder name a database that several servers share, if one is given. True if it names one now.
fn names_database(data: &Path, address: Option<&str>) -> anyhow::Result<bool> {
    if let Some(address) = address {
        servers::choose_database(&DataDir::open(data)?, address)?;
    }
    Ok(servers::read_address(data)?.is_some())
}

pub(crate) async fn bind_socket(listen: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(listen)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => anyhow::anyhow!(
                "port {0} is in use by another program; stop that program, or choose another port \
             (0 takes a free one, for dev: `--port 0`)",
                listen.port()
            ),
            io::ErrorKind::PermissionDenied => {
                anyhow::anyhow!(
                    "port {} needs more rights; choose one above 1023",
                    listen.port()
                )
            }
            _ => anyhow::Error::new(error).context(format!("cannot listen on {listen}")),
        })
}

/// Says where participants come in and where the data goes.
fn announce(
    url: &str,
    site: Option<&String>,
    server: &Server,
    data: &Path,
    desk: &str,
    json: bool,
) -> io::Result<()> {
    let desk = format!("{url}{desk}");
    // Participants open the site, where there is one.
    let opened = match site {
        Some(file) if file.ends_with(".html") => file.clone(),
        Some(folder) => format!("{folder}/"),
        None => format!("{url}/"),
    };
    let links = server.links.iter();
    let links: Vec<String> = links.map(|token| format!("{opened}?s={token}")).collect();
    let data = std::path::absolute(data)?;
    let mut out = io::stdout().lock();
    let turn_port = server.turn_port();
    if json {
        let url = format!("{url}/");
        let codes: Vec<_> = (server.codes.iter())
            .map(|(outcome, deed, code)| json!({ "outcome": outcome, "do": deed, "code": code }))
            .collect();
        let told = json!({ "url": url, "links": links, "data": data, "turn_port": turn_port, "codes": codes, "desk": desk });
        return writeln!(out, "{told}");
    }
    writeln!(out, "The study runs at {opened}\n")?;
    match links.as_slice() {
        [] => writeln!(out, "No participant links were asked for.")?,
        links => {
            writeln!(out, "Participant links, one for each person:")?;
            links
                .iter()
                .try_for_each(|link| writeln!(out, "  {link}"))?;
        }
    }
    writeln!(
        out,
        "\nThe dashboard, for you alone. The link opens once, within 24 hours:\n  {desk}"
    )?;
    if !server.codes.is_empty() {
        writeln!(out, "\nCompletion codes, one for each outcome:")?;
        for (outcome, deed, code) in &server.codes {
            let (outcome, deed) = (outcome.name(), deed.name());
            writeln!(out, "  {outcome:<14} {deed:<16} {code}")?;
        }
        if let Some(query) = server.query {
            let mark = if query.is_empty() { "" } else { "?" };
            writeln!(
                out,
                "\nThe address of the study for the recruiter:\n  {opened}{mark}{query}"
            )?;
        }
    }
    if let Some(port) = turn_port {
        writeln!(out, "\nSTUN and TURN answer on port {port}, UDP and TCP.")?;
    }
    writeln!(
        out,
        "\nThe data goes to {}\nCtrl-C stops; nothing that was acknowledged is lost.",
        data.display()
    )
}
