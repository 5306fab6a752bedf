//! From a study folder and a data folder to a running server, and back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use env_core::World;
use env_core::contract::ParamError;
use module::ModuleError;
use study::media::{FOLDER, Media};
use study::recruitment::{Provider, RecruiterAction};
use study::stage::{CompiledModel, Env, Model};
use study::{
    DraftStudy, EnvFacts, EnvFactsByStage, EnvFault, HostFacts, Outcome, Problem, StageKind, Study,
};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::app::{App, Module};
use crate::assets::Assets;
use crate::changed::Changed;
use crate::clock::Clock;
use crate::config::Limits;
use crate::data::{self, DataDir};
use crate::driver::{self, Executor};
use crate::http::build_handler;
use crate::hub::{EnvStage, EnvStages, Event, Hub};
use crate::memory::Memory;
use crate::networks;
use crate::socket::Connections;
use crate::turn::{self, Issuer, Secret, Turn};

/// Messages of pages that may wait for the hub.
const EVENTS: usize = 1_024;

/// What Prolific fills in for every participant.
const PROLIFIC_QUERY: &str =
    "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}";

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Study folder.
    pub study: PathBuf,
    /// Data folder.
    pub data: PathBuf,
    /// Participant links to have that nobody has finished.
    pub links: usize,
    /// Whether people are let in without a link.
    pub open: bool,
    /// The front end.
    pub assets: Assets,
    /// Limits.
    pub limits: Limits,
    /// The STUN and TURN server; none if there is to be none.
    pub turn: Option<turn::Options>,
    /// What becomes of participants who are on their way through another version of the study.
    pub changed: Changed,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The study file is wrong.
    #[error("the study has {} problem(s)", .0.len())]
    Study(Vec<Problem>),
    /// Anything else.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

/// A server that runs, whether or not anything listens for it.
pub struct Server {
    /// What its handlers share.
    pub app: Arc<App>,
    /// Tokens of the participant links that nobody has finished.
    pub links: Vec<String>,
    /// What each outcome tells the recruiter, and its completion code; none without recruitment.
    pub codes: Vec<(Outcome, RecruiterAction, String)>,
    /// The query of the address that the recruiter is given, if it has one of its own.
    pub query: Option<&'static str>,
    driver: JoinHandle<anyhow::Result<()>>,
    data: DataDir,
    turn: Option<Turn>,
    wrap: Option<Wrap>,
}

/// Adds routes to those of the server.
type Wrap = Box<dyn FnOnce(Router) -> Router + Send>;

impl Server {
    /// Reads the study, opens the data folder, takes up what was running, and starts the hub.
    ///
    /// # Errors
    /// [`StartError`]; nothing runs then.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        Self::start_by(options, Clock::start()).await
    }

    /// The same, by a clock that may run at another pace than the machine's.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_by(options: Options, clock: Clock) -> Result<Self, StartError> {
        let (study, facts) = read_study(&options.study).map_err(StartError::Study)?;
        if study.net.needs_turn() && options.turn.is_none() {
            return Err(anyhow::anyhow!(
                "the study has pages meet through TURN alone (`net: {{ice: relay, fallback: none}}`), and none is to \
                 run, so nobody could play; leave --no-turn out, or write `fallback: websocket`"
            )
            .into());
        }
        let data = DataDir::open(&options.data).map_err(anyhow::Error::from)?;
        data.keep_study(&study).map_err(anyhow::Error::from)?;
        let modules = keep_modules(&study, &data, &options.assets)?;
        for network in &study.models {
            data.keep_network(network).map_err(anyhow::Error::from)?;
        }
        let stages = env_stages(&study, facts, &modules);
        let (turn, issuer) = start_turn(options.turn, &data, clock.clone())
            .await?
            .unzip();
        let (events, incoming) = mpsc::channel(EVENTS);
        let (results, reported) = mpsc::unbounded_channel();
        let media = media(&study);
        let provider = study.recruitment.provider;
        let study = Arc::new(study);
        let memory = Memory::open(&data, Arc::clone(&study)).await?;
        let (mut restored, keepers) = memory.restore(&data, &results, options.changed).await?;
        let links = memory.links(&data, &mut restored, options.links).await?;
        let limits = options.limits;
        let connections = Arc::new(Connections::default());
        let hub = Hub::new(
            clock.now_us(),
            study,
            limits.clone(),
            stages,
            options.open,
            Box::new(os_random),
            restored,
        );
        let codes = hub.codes();
        let hub = match issuer {
            Some(issuer) => hub.with_ice(Box::new(move |now_us, episode, seat| {
                issuer.ice_servers(now_us, episode, seat)
            })),
            None => hub,
        };
        let executor = Executor {
            memory,
            connections: Arc::clone(&connections),
            episodes: data.episodes(),
            keepers,
            results,
        };
        let driver = tokio::spawn(driver::run(
            hub,
            clock.clone(),
            incoming,
            reported,
            executor,
            limits.outgoing_relay,
        ));
        let slots = Arc::new(Semaphore::new(limits.connections));
        let (modules_dir, networks_dir) = (data.modules(), data.networks());
        let app = Arc::new(App {
            limits,
            clock,
            assets: options.assets,
            modules,
            media,
            modules_dir,
            networks_dir,
            provider,
            connections,
            slots,
            events,
        });
        Ok(Self {
            app,
            links,
            codes,
            query: match provider {
                Provider::Prolific => Some(PROLIFIC_QUERY),
                // It adds its parameters by itself.
                Provider::Mturk => Some(""),
                Provider::None | Provider::Parameters | Provider::Kiosk => None,
            },
            driver,
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

    /// The port of the STUN and TURN server.
    pub fn turn_port(&self) -> Option<u16> {
        self.turn.as_ref().map(|turn| turn.port)
    }

    /// Serves until `stop`, and then stops: nobody new is let in, everything is kept, pages are told to come back.
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
            data,
            turn,
            wrap,
            ..
        } = self;
        let (shut, shutting) = tokio::sync::oneshot::channel::<()>();
        let handler = build_handler(Arc::clone(&app));
        let handler = match wrap {
            Some(wrap) => wrap(handler),
            None => handler,
        };
        let serving = axum::serve(listener, handler).with_graceful_shutdown(async {
            // A sender that is gone means the same.
            let _ = shutting.await;
        });
        let serving = tokio::spawn(serving.into_future());
        let kept = tokio::select! {
            () = stop => {
                // If the driver is gone already, its own result tells.
                let _ = app.events.send(Event::Stop).await;
                (&mut driver).await
            }
            ended = &mut driver => ended,
        };
        app.connections.close_all();
        drop(shut);
        let patience = Duration::from_secs(5);
        let sockets = u32::try_from(app.limits.connections).unwrap_or(u32::MAX);
        // Close frames leave with the last permit; a page that does not answer is not waited for.
        let _ = tokio::time::timeout(patience, app.slots.acquire_many(sockets)).await;
        serving.abort();
        drop((data, turn));
        kept?
    }
}

/// Starts the STUN and TURN server, if there is to be one.
async fn start_turn(
    options: Option<turn::Options>,
    data: &DataDir,
    clock: Clock,
) -> anyhow::Result<Option<(Turn, Issuer)>> {
    let Some(turn::Options { listen, host }) = options else {
        return Ok(None);
    };
    let secret = data::secret(data.path(), "turn.secret").context("the secret of TURN")?;
    let secret = Secret::new(secret);
    let turn = turn::start(listen, secret.clone(), clock, turn::Limits::default()).await;
    let turn = turn.with_context(|| {
        format!("STUN and TURN cannot listen on {listen}; choose another port with --turn-port, or none with --no-turn")
    })?;
    let issuer = Issuer::new(secret, &host, turn.port);
    Ok(Some((turn, issuer)))
}

fn os_random(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the system gives random numbers");
}

/// Reads a study and checks it against the environments and AI partners of this program.
///
/// # Errors
/// Every [`Problem`].
pub fn read_study(dir: &Path) -> Result<(Study, EnvFactsByStage), Vec<Problem>> {
    DraftStudy::read(dir).check(&Build)
}

/// The environments, scripts and models of this build.
struct Build;

impl HostFacts for Build {
    fn env_facts(&self, env: &Env) -> Result<EnvFacts, EnvFault> {
        let world = open_world(env)?;
        let spec = world.spec();
        let actions = spec
            .actions
            .iter()
            .map(|action| action.name.clone())
            .collect();
        Ok(EnvFacts {
            seats: spec.seats,
            tick_hz: spec.tick_hz,
            horizon: spec.horizon,
            actions,
        })
    }

    fn policies(&self) -> Vec<&str> {
        policy::NAMES.to_vec()
    }

    fn policies_for(&self, env: &Env) -> Option<Vec<&str>> {
        let world = open_world(env).ok()?;
        let mut names = policy::NAMES.to_vec();
        names.retain(|name| policy::by_name(name, world.spec()).is_some());
        Some(names)
    }

    fn compile_model(
        &self,
        file: &str,
        model: &Model,
        env: &Env,
    ) -> Result<Option<(String, CompiledModel)>, String> {
        networks::lower(file, model, env)
    }
}

pub(crate) fn open_world(env: &Env) -> Result<Box<dyn World>, EnvFault> {
    let refused = |error: ParamError| EnvFault::Config {
        field: error.field,
        reason: error.reason,
    };
    let is_ours = env_core::envs::IDS.contains(&env.env.as_str());
    let world: Box<dyn World> = match &env.module {
        Some(file) => open_module(env, file, is_ours)?,
        None if is_ours => {
            env_core::envs::open(&env.env, &env.config.to_string()).map_err(refused)?
        }
        None => return Err(EnvFault::Unknown { known: known() }),
    };
    let spec = world.spec();
    if spec.version != env.version {
        return Err(EnvFault::Version {
            found: spec.version.clone(),
        });
    }
    Ok(world)
}

/// The environments of this program, as a study names them.
fn known() -> Vec<String> {
    let open = |id: &&str| Some(env_core::envs::open(id, "").ok()?.spec().version.clone());
    env_core::envs::IDS
        .iter()
        .filter_map(|id| Some(format!("{id}@{}", open(id)?)))
        .collect()
}

/// Opens an environment of the study's own.
fn open_module(
    env: &Env,
    file: &study::ModuleFile,
    is_ours: bool,
) -> Result<Box<dyn World>, EnvFault> {
    let unfit = |reason: String| EnvFault::Module { reason };
    if is_ours {
        return Err(unfit(format!(
            "the program has an environment `{}` of its own; give the one in `{}` another id",
            env.env, file.file
        )));
    }
    let world = module::load(
        &file.bytes,
        &env.config.to_string(),
        module::Limits::default(),
    );
    let world = world.map_err(|error| match error {
        ModuleError::Params(text) => {
            let (field, reason) = text.split_once(": ").unwrap_or(("", &text));
            EnvFault::Config {
                field: if field == "params" { "" } else { field }.into(),
                reason: reason.into(),
            }
        }
        error => unfit(format!("`{}` cannot be played: {error}", file.file)),
    })?;
    if world.spec().id != env.env {
        let id = &world.spec().id;
        return Err(unfit(format!(
            "`{}` holds the environment `{id}`; write `env: {id}@{}`",
            file.file,
            world.spec().version
        )));
    }
    Ok(Box::new(world))
}

/// The pictures and videos of a study, by the end of their path.
fn media(study: &Study) -> HashMap<String, Media> {
    let name = |media: &Media| {
        let path = media.path();
        path.trim_start_matches(FOLDER).to_owned()
    };
    let all = study.media().map(|media| (name(media), media.clone()));
    all.collect()
}

/// What each env stage of a study plays, with the module of its environment.
fn env_stages(study: &Study, facts: EnvFactsByStage, modules: &[Module]) -> EnvStages {
    let stage = |((index, params), facts): ((u16, String), EnvFacts)| {
        let StageKind::Env(env) = &study.timeline[usize::from(index)].kind else {
            return None;
        };
        let module = kept(env, modules);
        let module = module.map_or(String::new(), |module| module.hash.clone());
        Some(((index, params), EnvStage { facts, module }))
    };
    facts.into_iter().filter_map(stage).collect()
}

/// The module of an environment among those that are kept. Two stages may play two modules of one id.
fn kept<'a>(env: &Env, modules: &'a [Module]) -> Option<&'a Module> {
    modules.iter().find(|module| match &env.module {
        Some(file) => module.hash == file.sha256,
        None => module.env == env.env,
    })
}

/// Keeps the modules of the study's environments. A program without a front end has none; its page says so.
fn keep_modules(study: &Study, data: &DataDir, assets: &Assets) -> anyhow::Result<Vec<Module>> {
    let mut modules: Vec<Module> = Vec::new();
    for stage in &study.timeline {
        let StageKind::Env(env) = &stage.kind else {
            continue;
        };
        if kept(env, &modules).is_some() {
            continue;
        }
        if let Some(file) = &env.module {
            modules.push(data.keep_own_module(&env.env, &file.bytes)?);
            continue;
        }
        match data.keep_module(assets, &env.env)? {
            Some(module) => modules.push(module),
            None if assets.read("index.html").is_none() => {
                tracing::warn!(
                    env = env.env,
                    "built without its front end: pages cannot play"
                );
            }
            None => anyhow::bail!(
                "the front end has no module of `{0}` (modules/{0}.wasm); build it with `cargo xtask build`",
                env.env
            ),
        }
    }
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_plays_its_own_module() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = "format: 1\nstudy: {id: own, version: 1.0.0, title: Own, contact: lab@example.edu}\ntimeline:\n".to_owned();
        for name in ["one", "two", "again"] {
            let file = if name == "two" { "b" } else { "a" };
            text +=
                &format!("  - {{id: {name}, type: env, env: mine@1.0.0, module: {file}.wasm}}\n");
            std::fs::write(dir.path().join(format!("{file}.wasm")), file).unwrap();
        }
        text += "  - {id: thanks, type: end, file: thanks.md}\n";
        std::fs::write(dir.path().join("study.yaml"), text).unwrap();
        std::fs::write(dir.path().join("thanks.md"), "# Thanks\n").unwrap();
        let study = study::load(dir.path()).unwrap();

        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(home.path()).unwrap();
        let modules = keep_modules(&study, &data, &Assets::Folder(home.path().into())).unwrap();
        assert_eq!(modules.len(), 2);
        let facts = EnvFacts {
            seats: 1,
            tick_hz: 10,
            horizon: 900,
            actions: Vec::new(),
        };
        let facts = (0..3)
            .map(|stage| ((stage, "{}".to_owned()), facts.clone()))
            .collect();
        let stages = env_stages(&study, facts, &modules);
        let hash = |stage: u16| &stages[&(stage, "{}".to_owned())].module;
        assert_ne!(hash(0), hash(1));
        assert_eq!(hash(0), hash(2));
    }
}
