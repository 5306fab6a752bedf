//! The options of a server, from the command line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::Context as _;
use server_core::limits::Limits;
use signaling_server::assets::Assets;
use signaling_server::origins::Origins;
use signaling_server::server::{AccessRules, ServerOptions};
use signaling_server::turn_sockets::{self, TurnOptions};
use store::study_version::OnStudyChange;

use crate::cli::{AccessArgs, StudyArgs, TurnArgs};

/// The address of TURN, and its name for pages; `None` if it is not wanted.
pub fn find_turn_address(
    args: &TurnArgs,
    listen: SocketAddr,
    ip: IpAddr,
    port: u16,
    url: Option<&str>,
) -> Option<TurnOptions> {
    let named = || {
        let uri: axum::http::Uri = url?.parse().ok()?;
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
        Some(host.to_owned())
    };
    let host = args.turn_host.clone().or_else(named);
    (!args.no_turn).then(|| TurnOptions {
        listen: (ip, args.turn_port.unwrap_or(port)).into(),
        host: host.unwrap_or_else(|| turn_sockets::own_address(listen.ip()).to_string()),
    })
}

/// The options of a server, from the command line.
pub fn make_options(
    args: StudyArgs,
    usual: &str,
    open: bool,
    turn: Option<TurnOptions>,
    changed: OnStudyChange,
    access: AccessRules,
) -> ServerOptions {
    let data = args.data.unwrap_or_else(|| usual.into());
    // The Python of pages, and packages of environments, may lie there.
    page_python::add_folder(data.clone());
    ServerOptions {
        study: args.study,
        data,
        links: args.links,
        open,
        assets: args.dist.map_or(Assets::Embedded, Assets::Folder),
        limits: Limits::default(),
        turn,
        changed,
        access,
        models: Default::default(),
    }
}

/// The rules for who may enter, from the command line.
///
/// # Errors
/// The file of the secret cannot be read, or is too short.
pub fn read_access_rules(
    args: &AccessArgs,
    trusted_proxies: Vec<IpAddr>,
    origins: Option<Origins>,
) -> anyhow::Result<AccessRules> {
    let read = |path: &PathBuf| {
        let text = std::fs::read(path)
            .with_context(|| format!("cannot read {} (--signature-key)", path.display()))?;
        let key = text.trim_ascii().to_vec();
        anyhow::ensure!(
            key.len() >= 16,
            "{} (--signature-key) is too short for a secret; write at least 16 characters into it",
            path.display()
        );
        Ok(key)
    };
    Ok(AccessRules {
        signature_key: args.signature_key.as_ref().map(read).transpose()?,
        trusted_proxies,
        origins,
        sites: args.site.clone(),
        parents: args.parent.clone(),
    })
}
