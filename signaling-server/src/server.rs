//! From a study folder and a data folder to a running server, and back.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::middleware::from_fn_with_state;
use catalog::{StartError, read_study};
use clock::Clock;
use server_core::arbiter::{Arbiter, Event};
use server_core::limits::Limits;
use store::StoreError;
use store::data_folder::{DataDir, EnvModule};
use store::persistence::Persistence;
use store::servers::{self, MovingLogs};
use store::study_version::{self, OnStudyChange};
use study::recruitment::{Provider, RecruiterAction};
use study::{EnvFactsByStage, Outcome, Study};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::app::{App, SharedFiles};
use crate::assets::Assets;
use crate::desk::call::{CALLS, DeskCall};
use crate::desk::{Desk, DeskParts};
use crate::disk::DiskRoom;
use crate::driver::{self, Executor};
use crate::episode_writer::{Surroundings, start_writers};
use crate::file_budget::{self, FileBudget};
use crate::films::Films;
use crate::gate::ConnectionGate;
use crate::http::build_handler;
use crate::listener::serve_connections;
use crate::model_client::{ModelAccess, ModelClient};
use crate::origins::{Origins, refuse_foreign};
use crate::replays::SharedReplays;
use crate::sentences::StudySentences;
use crate::site::{hash_site, list_study_files};
use crate::site_rules::{Sites, list_origins};
use crate::socket::Connections;
use crate::study_files::{env_stages, list_media, store_files};
use crate::turn_sockets::{Turn, TurnOptions, start_turn};
use crate::webhook::{self, LAST_POSTS, WebhookOptions};
use crate::world_faults::WorldFaults;

/// Messages of pages that may wait for the arbiter.
const EVENTS: usize = 1_024;

/// Connections that fetch files, in addition to those of pages: as many as pages, but at least this number. A browser
/// opens six.
const FETCHING: usize = 64;

/// The query that Prolific fills in for every participant.
const PROLIFIC_QUERY: &str =
    "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}";

/// The options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Study folder.
    pub study: PathBuf,
    /// Data folder.
    pub data: PathBuf,
    /// Participant links to have that nobody has finished.
    pub links: usize,
    /// True if people are let in without a link.
    pub open: bool,
    /// The front end.
    pub assets: Assets,
    /// Limits.
    pub limits: Limits,
    /// The STUN and TURN server; `None` for none.
    pub turn: Option<TurnOptions>,
    /// The treatment of participants who are in the middle of another version of the study.
    pub changed: OnStudyChange,
    /// The rules for who may enter.
    pub access: AccessRules,
    /// The rule by which language models are asked or not, and the key.
    pub models: ModelAccess,
}

/// The rules for who may enter.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// The secret under which links are signed, for a study that wants signed links.
    pub signature_key: Option<Vec<u8>>,
    /// Addresses of proxies that are trusted about the address of a client.
    pub trusted_proxies: Vec<IpAddr>,
    /// The origins that are answered, for a server for trials; `None` for all.
    pub origins: Option<Origins>,
    /// Addresses at which participants open the study on other hosts, such as `https://lab.example.edu/study`.
    pub sites: Vec<String>,
    /// Addresses of pages that may show the study in a frame, such as `https://lab.qualtrics.com`.
    pub parents: Vec<String>,
}

/// A server that runs, whether or not anything listens for it.
pub struct Server {
    /// The state that its handlers share.
    pub app: Arc<App>,
    /// Tokens of the participant links that nobody has finished.
    pub links: Vec<String>,
    /// The action and the completion code by which the recruiter learns of each outcome; empty without recruitment.
    pub codes: Vec<(Outcome, RecruiterAction, String)>,
    /// The query in the address for the recruiter, if it needs one.
    pub query: Option<&'static str>,
    /// Environments that broke down since the start.
    pub faults: Arc<WorldFaults>,
    desk: mpsc::Sender<DeskCall>,
    driver: JoinHandle<anyhow::Result<()>>,
    /// The task that posts to the webhook, if there is one.
    posting: Option<JoinHandle<()>>,
    /// The task that moves logs of ended episodes into an object store, if there is one.
    moving: Option<MovingLogs>,
    data: DataDir,
    turn: Option<Turn>,
    origins: Option<Origins>,
    wrap: Option<Wrap>,
}

/// Adds routes to those of the server.
type Wrap = Box<dyn FnOnce(Router) -> Router + Send>;

impl Server {
    /// Reads the study, opens the data folder, resumes running episodes, and starts the arbiter.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub async fn start(options: ServerOptions) -> Result<Self, StartError> {
        Self::start_by(options, Clock::start()).await
    }

    /// The same, by a clock that may run at another pace than the machine's.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_by(options: ServerOptions, clock: Clock) -> Result<Self, StartError> {
        Self::start_with(options, clock, None).await
    }

    /// The same, with a webhook if there is one.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_with(
        options: ServerOptions,
        clock: Clock,
        webhook: Option<WebhookOptions>,
    ) -> Result<Self, StartError> {
        let (study, facts) = read_study(&options.study).map_err(StartError::Study)?;
        if study.net.needs_turn() && options.turn.is_none() {
            return Err(anyhow::anyhow!(
                "the study has pages meet through TURN alone (`net: {{ice: relay, fallback: none}}`), and none is to \
                 run, so nobody could play; leave --no-turn out, or write `fallback: websocket`"
            )
            .into());
        }
        // Before anything of this study is in the folder.
        study_version::refuse_other(&study, &options.data)?;
        let data = DataDir::open(&options.data).map_err(anyhow::Error::from)?;
        let modules = store_files(&study, &facts, &data, &options.assets)?;
        let data = servers::join(data).await?;
        let sites = declare_sites(&options, &study, &facts, &modules);
        let stages = env_stages(&study, facts, &modules);
        let sockets =
            FileBudget::divide_files(file_budget::raise_limit(), options.limits.reserved_files);
        let (turn, issuer) = start_turn(options.turn, data.path(), clock.clone(), sockets.turn)
            .await?
            .unzip();
        let disk = Arc::new(DiskRoom::new(data.path()));
        let (events, incoming) = mpsc::channel(EVENTS);
        let (results, reported) = mpsc::unbounded_channel();
        let (desk, calls) = mpsc::channel(CALLS);
        let media = list_media(&study);
        let provider = study.recruitment.provider;
        let wants_signature = study.recruitment.signature.is_some();
        let sentences = StudySentences::of(&study);
        let films = Films::new(&study, data.path());
        let study = Arc::new(study);
        let persistence = Persistence::open(&data, Arc::clone(&study)).await?;
        let (mut restored, logs) = persistence.restore(&data, options.changed).await?;
        let moving = match data.lease() {
            Some(lease) => lease.move_logs().await.context("the database")?,
            None => None,
        };
        if let Some(turn) = &turn {
            let running = logs.values().map(|log| log.header().episode.as_str());
            turn.episodes.tell_running(running);
        }
        let faults = Arc::new(WorldFaults::default());
        let freed = Arc::new(Notify::new());
        let writers = start_writers(
            logs,
            Surroundings {
                files: data.episode_files(),
                disk: Arc::clone(&disk),
                faults: Arc::clone(&faults),
                results: results.clone(),
                freed: Arc::clone(&freed),
            },
        )
        .context("the threads for running episodes")?;
        let links = persistence
            .restore_links(&data, &mut restored, options.links)
            .await?;
        let limits = options.limits;
        let connections = Arc::new(Connections::default());
        clock.advance_to(restored.begin_clock(clock.now_us()));
        let webhook =
            webhook.map(|options| webhook::start(options, &study, clock.clone(), make_run_id()));
        let (feed, posting) = webhook.unzip();
        let arbiter = Arbiter::new(
            clock.now_us(),
            study,
            limits.clone(),
            stages,
            options.open,
            Box::new(os_random),
            restored,
        );
        if wants_signature && options.access.signature_key.is_none() {
            tracing::warn!(
                "the study wants signed links, and there is no --signature-key: people enter by participant links alone"
            );
        }
        let arbiter = arbiter.with_signature_key(options.access.signature_key);
        let arbiter = arbiter.with_desk();
        let arbiter = arbiter.with_relay_address(turn.as_ref().map(|turn| turn.address));
        let codes = arbiter.list_codes();
        let arbiter = match issuer {
            Some(issuer) => arbiter.with_ice(Box::new(move |now_us, episode, seat| {
                issuer.ice_servers(now_us, episode, seat)
            })),
            None => arbiter,
        };
        let executor = Executor {
            persistence,
            connections: Arc::clone(&connections),
            disk: Arc::clone(&disk),
            notifier: turn.as_ref().map(|turn| turn.episodes.clone()),
            writers,
            models: Arc::new(ModelClient::new(options.models)),
            results,
            feed,
            freed,
        };
        let driver = tokio::spawn(driver::run(
            arbiter,
            clock.clone(),
            incoming,
            reported,
            executor,
            limits.outgoing_relay,
            calls,
        ));
        let slots = Arc::new(Semaphore::new(limits.connections));
        let connections_max = limits.connections + limits.connections.max(FETCHING);
        let gate = ConnectionGate::new(sockets.web.min(connections_max), &limits);
        let (modules_dir, networks_dir) = (data.modules_folder(), data.models_folder());
        let app = Arc::new(App {
            limits,
            clock,
            assets: options.assets,
            modules,
            media,
            modules_dir,
            networks_dir,
            sending: SharedFiles::default(),
            films,
            sentences,
            provider,
            connections,
            disk,
            gate,
            trusted_proxies: options.access.trusted_proxies,
            slots,
            sites,
            parents: list_origins(&options.access.parents),
            events,
        });
        Ok(Self {
            app,
            origins: options.access.origins,
            links,
            codes,
            faults,
            desk,
            query: match provider {
                Provider::Prolific => Some(PROLIFIC_QUERY),
                // It adds its parameters by itself.
                Provider::Mturk => Some(""),
                Provider::None | Provider::Parameters | Provider::Kiosk => None,
            },
            driver,
            posting,
            moving,
            data,
            turn,
            wrap: None,
        })
    }

    /// Adds routes to those of the server, or changes what they answer.
    #[must_use]
    pub fn wrapped(mut self, wrap: impl FnOnce(Router) -> Router + Send + 'static) -> Self {
        self.wrap = Some(Box::new(wrap));
        self
    }

    /// The replays of its data folder, for those who have a link to one.
    ///
    /// # Errors
    /// The disk refused.
    pub fn replays(&self) -> std::io::Result<SharedReplays> {
        SharedReplays::open(self.data.path(), self.app.clock.clone())
    }

    /// Opens the dashboard; `is_secure` if browsers reach it by HTTPS.
    ///
    /// # Errors
    /// The database or the file of keys failed.
    pub async fn open_desk(&self, is_secure: bool) -> anyhow::Result<Arc<Desk>> {
        let parts = DeskParts {
            calls: self.desk.clone(),
            clock: self.app.clock.clone(),
            disk: Arc::clone(&self.app.disk),
            faults: Arc::clone(&self.faults),
        };
        Desk::open(&self.data, parts, is_secure).await
    }

    /// The port of the STUN and TURN server.
    pub fn turn_port(&self) -> Option<u16> {
        self.turn.as_ref().map(|turn| turn.port)
    }

    /// Gives the study up, where several servers share it: nothing listens for this one, and another is not to wait until
    /// it is missed.
    ///
    /// # Errors
    /// The database failed; the lease then ends by itself.
    pub async fn give_up(&self) -> anyhow::Result<()> {
        match self.data.lease() {
            Some(lease) => Ok(lease.give_up().await?),
            None => Ok(()),
        }
    }

    /// Serves until `stop`, and then stops: nobody new is let in, everything is stored, and pages are asked to reconnect.
    ///
    /// # Errors
    /// The listener or the database failed.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let Self {
            app,
            mut driver,
            posting,
            moving,
            data,
            turn,
            origins,
            wrap,
            ..
        } = self;
        let (shut, shutting) = tokio::sync::oneshot::channel::<()>();
        let handler = build_handler(Arc::clone(&app));
        let handler = match wrap {
            Some(wrap) => wrap(handler),
            None => handler,
        };
        let handler = match origins {
            Some(origins) => handler.layer(from_fn_with_state(Arc::new(origins), refuse_foreign)),
            None => handler,
        };
        let serving = serve_connections(listener, handler, Arc::clone(&app), shutting);
        let serving = tokio::spawn(serving);
        let kept = tokio::select! {
            () = stop => {
                app.disk.give_up();
                // If the driver is gone already, its own result says why.
                let _ = app.events.send(Event::Stop).await;
                (&mut driver).await
            }
            ended = &mut driver => ended,
            why = lose_study(&data) => {
                // Everything else that it would store is refused, so there is nothing to wait for.
                app.connections.close_all();
                return Err(why.into());
            }
        };
        app.connections.close_all();
        drop(moving);
        if let (Ok(Ok(())), Some(lease)) = (&kept, data.lease()) {
            lease.give_up().await?;
            // The server that has taken over does it as well, but perhaps none will for long.
            if let Err(error) = lease.delete_erased().await
                && !matches!(error.downcast_ref(), Some(StoreError::Fenced))
            {
                tracing::warn!("the object store may still have what was erased: {error:#}");
            }
        }
        drop(shut);
        if let Some(posting) = posting {
            let _ = tokio::time::timeout(LAST_POSTS, posting).await;
        }
        let patience = Duration::from_secs(5);
        let sockets = u32::try_from(app.limits.connections).unwrap_or(u32::MAX);
        // Close frames leave with the last permit; a page that does not answer is not waited for.
        let _ = tokio::time::timeout(patience, app.slots.acquire_many(sockets)).await;
        serving.abort();
        drop((data, turn));
        kept?
    }
}

/// Waits until another server has the study; for ever if there is none.
async fn lose_study(data: &DataDir) -> StoreError {
    match data.lease() {
        Some(lease) => lease.wait_for_loss().await,
        None => std::future::pending().await,
    }
}

/// Declares the sites that are answered. The files of a site are hashed only if there are sites.
fn declare_sites(
    options: &ServerOptions,
    study: &Study,
    facts: &EnvFactsByStage,
    modules: &[EnvModule],
) -> Sites {
    if options.access.sites.is_empty() {
        return Sites::default();
    }
    let files = list_study_files(study, facts, modules);
    let built = hash_site(&options.assets, &files, study);
    Sites::new(&options.access.sites, built)
}

/// Makes a name for one run of the server, which shows receivers of its events that their count starts again.
fn make_run_id() -> String {
    let mut bytes = [0; 8];
    os_random(&mut bytes);
    protocol::hash::to_hex(&bytes)
}

fn os_random(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the system gives random numbers");
}
