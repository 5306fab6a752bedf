//! Replays of episodes of a data folder: read, computed, and shown for some time to everybody who has a signed link.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Path as Part, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clock::Clock;
use protocol::Seat;
use protocol::hash::{sha256, sha256_hex};
use protocol::log::{self, Log};
use replay::{Adviser, Replay, ReplayChatMessage, ReplayOptions, write_page};
use store::StudyStore;
use store::data_folder::{is_there, read_secret};
use study::stage::PartnerOrigin;
use tokio::sync::Semaphore;

use crate::http::secure_alone;

/// The policy of the page of a replay, which narrows it further to its own script.
pub const PAGE_POLICY: &str = "default-src 'none'; img-src blob: data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Reads the log of an episode.
///
/// # Errors
/// There is no such folder or episode, or its file is damaged.
pub fn open_log(data: &Path, episode: &str) -> anyhow::Result<Log> {
    anyhow::ensure!(
        is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    let folder = data.join(archive::FOLDER);
    let path = archive::path(&folder, episode)?;
    let bytes = std::fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!(
            "there is no episode {episode} in {}: the tables of `coplay export` name them in the column episode_id",
            data.display()
        ),
        _ => anyhow::Error::new(error).context(format!("cannot read {}", path.display())),
    })?;
    log::read_log(&bytes).with_context(|| path.display().to_string())
}

/// Reads modules and models of a data folder by their SHA-256.
pub fn stored_files(data: &Path) -> impl Fn(&str) -> io::Result<Vec<u8>> + Send + Clone + use<> {
    archive::open_stored(&data.join(archive::FOLDER))
}

/// The choices of a request for a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOrder {
    /// The heading; without one it is the title of the environment.
    pub name: Option<String>,
    /// True to show what people wrote to each other.
    pub with_chat: bool,
    /// Policies whose choices are computed, beside the AI partners of the episode.
    pub advisers: Vec<Adviser>,
}

/// Computes the replay of an episode, as far as it was played, without what people withdrew.
///
/// # Errors
/// As [`open_log`]; the database failed; somebody of the group withdrew the whole episode; or this program cannot
/// simulate the episode.
pub async fn compute_replay(
    data: &Path,
    episode: &str,
    order: ReplayOrder,
) -> anyhow::Result<Replay> {
    let (replay, ()) = compute_with(data, episode, order, ()).await?;
    Ok(replay)
}

/// Does the same; `held` is released only when the computation is over, even if nobody waits for it any more.
async fn compute_with<T: Send + 'static>(
    data: &Path,
    episode: &str,
    order: ReplayOrder,
    held: T,
) -> anyhow::Result<(Replay, T)> {
    let (log, stored) = (open_log(data, episode)?, stored_files(data));
    let withdrawn = store::read_withdrawn(data).await?;
    anyhow::ensure!(
        !withdrawn.groups.contains(&log.header.group),
        "somebody of the group of episode {episode} withdrew what was recorded"
    );
    let seats = (0..).map(Seat).zip(&log.header.participants);
    let gone = seats.filter(|(_, who)| withdrawn.participants.contains(*who));
    let left_out: BTreeSet<Seat> = gone.map(|(seat, _)| seat).collect();
    let chat = match order.with_chat {
        true => read_chat(data, &log, &left_out).await?,
        false => Vec::new(),
    };
    let options = ReplayOptions {
        name: order.name,
        left_out,
        chat,
        advisers: order.advisers,
    };
    let work = move || (Replay::compute_replay(&log, stored, options), held);
    let computed = tokio::task::spawn_blocking(work).await;
    let (computed, held) = computed.context("the simulation")?;
    let computed = computed.with_context(|| format!("episode {episode} cannot be shown"))?;
    Ok((computed, held))
}

/// Reads the chat messages of an episode, except those of omitted seats and a language model's messages to them.
async fn read_chat(
    data: &Path,
    log: &Log,
    left_out: &BTreeSet<Seat>,
) -> anyhow::Result<Vec<ReplayChatMessage>> {
    let Some(store) = StudyStore::find(data).await? else {
        return Ok(Vec::new());
    };
    let messages = store.messages().await;
    store.close().await;
    let own = messages?.into_iter().filter(|said| {
        let is_left_out = said.seat.is_some_and(|seat| left_out.contains(&Seat(seat)));
        said.message.episode.as_deref() == Some(&log.header.episode) && !is_left_out
    });
    let line = |said: store::StoredChatMessage| ReplayChatMessage {
        tick: said.message.tick,
        seat: match said.message.partner.as_str() {
            "" => said.seat,
            partner => find_partner(log, partner),
        },
        text: said.message.text,
    };
    Ok(own.map(line).collect())
}

/// The seat of an AI partner by its name; `None` of one that has no seat, as an assistant.
fn find_partner(log: &Log, partner: &str) -> Option<u8> {
    let names = log.header.course.as_ref();
    let names = names.map_or(&[][..], |course| course.names.as_slice());
    (0..log.header.controllers.len())
        .find(|seat| {
            PartnerOrigin::of_seat(*seat, names).is_some_and(|origin| origin.name == partner)
        })
        .and_then(|seat| u8::try_from(seat).ok())
}

/// The secret of a data folder that signs links to replays.
#[derive(Debug)]
pub struct ReplayKey([u8; 32]);

/// The part of a link behind the episode.
#[derive(Debug)]
struct SignedQuery {
    /// When it expires, seconds since the Unix epoch.
    until: u64,
    /// True if the page has the chat.
    chat: bool,
    key: String,
}

impl SignedQuery {
    /// Reads the part of an address behind its question mark.
    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut pairs = text.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find_map(|(key, value)| (key == name).then_some(value))
        };
        Some(Self {
            until: value("until")?.parse().ok()?,
            chat: value("chat")?.parse().ok()?,
            key: value("key")?.to_owned(),
        })
    }
}

impl ReplayKey {
    /// Reads the secret, and makes it if it is not there.
    ///
    /// # Errors
    /// The disk refused, or the file is not a secret of ours.
    pub fn open(data: &Path) -> io::Result<Self> {
        read_secret(data, "replay.key").map(Self)
    }

    /// The link to one episode below the address of the server, which opens until then: seconds since the Unix epoch.
    pub fn link(&self, episode: &str, until_s: u64, with_chat: bool) -> String {
        let key = self.sign(episode, until_s, with_chat);
        format!("/replay/{episode}?until={until_s}&chat={with_chat}&key={key}")
    }

    /// The signature: the hash of the secret and of a hash, so that nobody can make another from one.
    fn sign(&self, episode: &str, until_s: u64, with_chat: bool) -> String {
        let signed = sha256(format!("{episode} {until_s} {with_chat}").as_bytes());
        sha256_hex(&[self.0, signed].concat())
    }

    /// Compares every digit, so that the time reveals nothing.
    fn fits(&self, episode: &str, query: &SignedQuery) -> bool {
        let right = self.sign(episode, query.until, query.chat);
        let pairs = right.bytes().zip(query.key.bytes());
        let differing = pairs.fold(0, |sum, (one, other)| sum | (one ^ other));
        right.len() == query.key.len() && differing == 0
    }
}

/// Knows who is signed in at the dashboard.
pub trait SignIns: fmt::Debug + Send + Sync {
    /// Returns whether these are the headers of somebody who is.
    fn is_signed_in<'a>(
        &'a self,
        headers: &'a HeaderMap,
    ) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>;
}

/// The replays that a server shows.
#[derive(Debug)]
pub struct SharedReplays {
    data: PathBuf,
    key: ReplayKey,
    clock: Clock,
    /// The dashboard: people who are signed in there see every episode with its chat, and a running one as far as it is
    /// stored.
    desk: Option<Arc<dyn SignIns>>,
    /// Only one is computed at a time.
    slot: Arc<Semaphore>,
}

impl SharedReplays {
    /// The replays of a data folder.
    ///
    /// # Errors
    /// The disk refused.
    pub fn open(data: &Path, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            data: data.to_owned(),
            key: ReplayKey::open(data)?,
            clock,
            desk: None,
            slot: Arc::new(Semaphore::new(1)),
        })
    }

    /// Shows every episode to those who are signed in at the dashboard.
    #[must_use]
    pub fn for_desk(self, desk: Arc<dyn SignIns>) -> Self {
        Self {
            desk: Some(desk),
            ..self
        }
    }

    /// Tells if a researcher asks.
    async fn is_for_researcher(&self, headers: &HeaderMap) -> bool {
        match &self.desk {
            Some(desk) => desk.is_signed_in(headers).await,
            None => false,
        }
    }
}

/// The route of replays: one page, found by nobody without a signed link or a session of the dashboard.
pub fn router(replays: SharedReplays) -> Router {
    Router::new()
        .route("/replay/{episode}", get(show))
        .layer(axum::middleware::map_response(secure_alone))
        .with_state(Arc::new(replays))
}

async fn show(
    State(replays): State<Arc<SharedReplays>>,
    Part(episode): Part<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let query = uri.query().and_then(SignedQuery::parse);
    let query = query.filter(|query| replays.key.fits(&episode, query));
    let is_researcher = query.is_none() && replays.is_for_researcher(&headers).await;
    let with_chat = match query {
        _ if is_researcher => true,
        None => return (StatusCode::NOT_FOUND, "There is nothing here.\n").into_response(),
        Some(query) if replays.clock.now_us() / 1_000_000 >= query.until => {
            let told = "This link has expired. Ask for a new one.\n";
            return (StatusCode::GONE, told).into_response();
        }
        Some(query) => query.chat,
    };
    let Ok(permit) = Arc::clone(&replays.slot).acquire_owned().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let order = ReplayOrder {
        with_chat,
        ..ReplayOrder::default()
    };
    // The permit is held until the page is written.
    match compute_with(&replays.data, &episode, order, permit).await {
        Ok((replay, _)) if !replay.is_ended() && !is_researcher => {
            let told = "The episode is not over yet.\n";
            (StatusCode::CONFLICT, told).into_response()
        }
        Ok((replay, _permit)) => page_response(write_page(&[replay])),
        Err(error) => {
            tracing::warn!("a replay cannot be shown: {error:#}");
            let told = "This episode cannot be shown any more.\n";
            (StatusCode::NOT_FOUND, told).into_response()
        }
    }
}

/// The page of a replay as it is sent.
pub fn page_response(page: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
    ];
    (headers, page).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_language_model_are_at_its_own_seat() {
        let origin = PartnerOrigin {
            name: "helper".to_owned(),
            ..PartnerOrigin::default()
        };
        let mut header = archive::fixtures::header(
            [
                archive::fixtures::PERSON,
                archive::fixtures::ai_controller("cook:wait"),
            ],
            12,
        );
        let name = format!("{}1", study::stage::PARTNER_AT);
        header.course = Some(protocol::rules::Course {
            visits: vec![0; 2],
            episode: 0,
            episodes: 1,
            names: vec![(name, origin.to_json())],
        });
        let dir = tempfile::tempdir().unwrap();
        let mut episode = archive::Episode::create(dir.path(), header).unwrap();
        let log = archive::fixtures::log_of(&mut episode);
        assert_eq!(find_partner(&log, "helper"), Some(1));
        assert_eq!(find_partner(&log, "assistant"), None);
    }

    #[test]
    fn a_key_opens_its_episode_its_time_and_its_chat_alone() {
        let dir = tempfile::tempdir().unwrap();
        let key = ReplayKey::open(dir.path()).unwrap();
        let query = |until, chat, key: &str| SignedQuery {
            until,
            chat,
            key: key.to_owned(),
        };
        let right = key.sign("E-1", 500, false);
        assert!(key.fits("E-1", &query(500, false, &right)));
        assert!(!key.fits("E-2", &query(500, false, &right)));
        assert!(!key.fits("E-1", &query(501, false, &right)));
        assert!(!key.fits("E-1", &query(500, true, &right)));
        assert!(!key.fits("E-1", &query(500, false, "")));
        let other = ReplayKey::open(tempfile::tempdir().unwrap().path()).unwrap();
        assert!(!other.fits("E-1", &query(500, false, &right)));
        let link = key.link("E-1", 500, false);
        let (_, asked) = link.split_once('?').unwrap();
        assert!(key.fits("E-1", &SignedQuery::parse(asked).unwrap()));
        for asked in ["", "until=x&chat=true&key=a", "until=5&key=a", "until"] {
            assert!(SignedQuery::parse(asked).is_none(), "{asked}");
        }
    }
}
